//! Golden cases: the items and events of a trace are those of its case folder in `testdata/astf`.
//!
//! A case has `expect.items`, `expect.events` and, for the example of the spec, `expect.listing` (figure 1). Its trace is
//! `CASE.astf` beside the folder, or every `.astf` file in it. `TRACKWAY_BLESS=1` rewrites the expectations.

use std::path::{Path, PathBuf};

use trackway_astf::{ReadConfig, Trace};
use trackway_core::{Batch, Input, Item, Items, Source};

fn folder(case: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/astf")).join(case)
}

fn open(path: &Path) -> Trace {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap()
}

/// Compares with the golden file, or rewrites it.
fn expect(path: &Path, found: &str) {
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, found).unwrap();
    }
    let expected =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(expected == found, "{} differs:\n--- expected\n{expected}\n--- found\n{found}", path.display());
}

/// Items as text, each with its note if asked for.
fn items(path: &Path, annotated: bool) -> String {
    let (mut items, mut item, mut text) = (open(path).items(), Item::default(), String::new());
    if annotated {
        items.annotate();
    }
    while items.next(&mut item).unwrap() {
        if annotated {
            text += &format!("{:>2} {}\n", item.offset / 32 + 1, item.note);
        } else {
            text += &format!("{:#06x} {} {}\n", item.offset, item.name, item.text);
        }
    }
    text
}

fn events(path: &Path) -> String {
    let (mut source, mut batch, mut text) = (open(path).events(), Batch::default(), String::new());
    while source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            batch.write_line(event, &mut text);
            text.push('\n');
        }
    }
    text
}

fn case(name: &str) {
    let trace = folder(&format!("{name}.astf"));
    expect(&folder(name).join("expect.items"), &items(&trace, false));
    expect(&folder(name).join("expect.events"), &events(&trace));
}

/// A user program under QEMU: Basic, .xz.
#[test]
fn sort() {
    case("sort");
}

/// A program at EL1 and EL0 with traps: BasicPlus, .xz.
#[test]
fn levels() {
    case("levels");
}

/// Chapter 5 of the spec, in four storages. Items differ in the Header's storage flags only.
#[test]
fn example() {
    let folder = folder("example");
    expect(&folder.join("expect.items"), &items(&folder.join("example.astf"), false));
    expect(&folder.join("expect.listing"), &items(&folder.join("example-lzma.astf"), true));
    for name in ["example.astf", "example-lzma.astf", "example-lzma-alone.astf", "example-zlib.astf"] {
        expect(&folder.join("expect.events"), &events(&folder.join(name)));
    }
}

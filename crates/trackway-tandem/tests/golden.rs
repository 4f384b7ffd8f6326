//! Golden cases in `testdata/tandem`: the trace, its items and its events as text.
//! `TRACKWAY_BLESS=1 cargo test -p trackway-tandem` rewrites the text.

use std::path::PathBuf;

use trackway_core::*;
use trackway_tandem::{Config, Lower, Trace, WriteConfig, recognise};

fn expect(path: PathBuf, found: &str) {
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(wanted == found, "{} differs; TRACKWAY_BLESS=1 rewrites it", path.display());
}

/// The items as `dump --raw` prints them.
fn items(bytes: &[u8], config: &Config) -> String {
    let mut items = Trace::open(Input::from_vec(bytes.to_vec()), *config).unwrap().items();
    let mut item = Item::default();
    let mut out = String::new();
    while items.next(&mut item).unwrap() {
        out += format!("{:#010x} {} {}", item.offset, item.name, item.text).trim_end();
        out.push('\n');
    }
    out
}

/// A run of `programs/riscv/sort.elf`, recorded by `trackway record`.
#[test]
fn sort() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tandem/sort");
    let bytes = std::fs::read(folder.join("trace.tv")).unwrap();
    let config = recognise(&bytes).unwrap();
    assert_eq!(config, Config::default());
    expect(folder.join("expect.items"), &items(&bytes, &config));
    let lift = || Trace::open(Input::from_vec(bytes.clone()), config).unwrap().events();
    expect(folder.join("expect.events"), &trackway_testkit::lines::text(&mut lift()));
    // Lowering the events results in the same bytes.
    let mut source = lift();
    let mut lower = Lower::new(Vec::new(), source.meta(), WriteConfig::default()).unwrap();
    let mut batch = Batch::default();
    while source.fill(&mut batch).unwrap() {
        lower.put(&batch).unwrap();
    }
    let (lowered, _) = lower.into_inner().unwrap();
    assert!(lowered == bytes, "the events lower to other bytes");
}

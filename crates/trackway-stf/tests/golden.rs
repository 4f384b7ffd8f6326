//! Golden cases in `testdata/stf`: the trace, its records and events as text, and what writing them kept.
//! `TRACKWAY_BLESS=1 cargo test -p trackway-stf` rewrites them.

mod common;

use common::*;
use trackway_core::*;
use trackway_stf::{Container, Version, WriteConfig};

fn expect(name: &str, found: &[u8]) {
    let path = testdata(name);
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(wanted == found, "{name} differs; TRACKWAY_BLESS=1 rewrites it");
}

/// The records as `dump --raw` prints them.
fn items(bytes: &[u8]) -> String {
    let mut items = open(bytes).unwrap().items();
    let mut item = Item::default();
    let mut out = String::new();
    while items.next(&mut item).unwrap() {
        out += format!("{:#010x} {} {}", item.offset, item.name, item.text).trim_end();
        out.push('\n');
    }
    out
}

/// The events lower to the trace, and the trace lifts to the events.
fn case(name: &str, meta: Meta) {
    let events = std::fs::read_to_string(testdata(&format!("stf/{name}/expect.events"))).unwrap();
    let (bytes, ledger) = lower(&batch(&events), meta.clone(), plain());
    expect(&format!("stf/{name}/trace.stf"), &bytes);
    expect(&format!("stf/{name}/expect.items"), items(&bytes).as_bytes());
    expect(&format!("stf/{name}/expect.ledger"), ledger.to_string().as_bytes());
    let lifted = lines(&bytes, 1);
    expect(&format!("stf/{name}/expect.events"), (lifted.join("\n") + "\n").as_bytes());
    // A ZSTF file holds the same records.
    let config = WriteConfig { container: Container::Zstf, chunk: 50, ..WriteConfig::default() };
    let (zstf, _) = lower(&batch(&events), meta, config);
    assert_eq!(lines(&zstf, 1), lifted);
    assert_eq!(lines(&zstf, 3), lifted, "the number of threads changes nothing");
}

#[test]
fn sort() {
    case("sort", Meta::new(trackway_stf::ID, Isa::Rv64));
}

/// Every kind of event that STF can hold.
#[test]
fn everything() {
    let meta = Meta { vector_bits: Some(128), ..Meta::new(trackway_stf::ID, Isa::Rv64) };
    case("everything", meta);
}

#[test]
fn losses_are_in_the_ledger() {
    let events = "\
0x0 context privilege=vs security=realm mte=0x1
0x0 time kind=timestamp value=0x10 clock=0x0
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=retired accesses=mem(kind:prefetch,address:0x10,size:0x8,attributes:0x0);reg(reg:x1,role:source,update:set);reg(reg:x2,role:destination,update:add,value:0x1)
0x0 mark kind=halt
0x0 gap reason=overflow from=0x1004
0x0 step pc=0x2000 encoding=0x13 length=0x4 outcome=retired
";
    let (bytes, ledger) = lower(&batch(events), Meta::new(FormatId::new("ete"), Isa::Rv64), plain());
    assert!(ledger.is_lossy());
    assert_eq!(
        ledger.to_string(),
        "\
kept       2  instructions
kept       2  encodings
kept       1  gaps
kept       1  reasons of gaps
kept       1  starts of gaps
dropped    1  register reads
dropped    1  register writes
dropped    1  memory accesses
dropped    1  privilege changes
dropped    1  security states
dropped    1  MTE modes
dropped    1  timestamps
dropped    1  marks
"
    );
    // The gap reads back, and the flow continues after it.
    let back = lines(&bytes, 1);
    assert!(back.iter().any(|line| line.ends_with("gap reason=overflow from=0x1004")), "{back:#?}");
    assert!(back.iter().any(|line| line.contains("step pc=0x2000")));
}

/// The oldest version that supports the content, or the requested one.
#[test]
fn version_by_content() {
    let version = |meta: Meta, config: WriteConfig| {
        let (bytes, _) =
            lower(&batch("0x0 step pc=0x0 encoding=0x13 length=0x4 outcome=retired"), meta, config);
        open(&bytes).unwrap().header.version.unwrap()
    };
    let meta = || Meta::new(trackway_stf::ID, Isa::Rv64);
    assert_eq!(version(meta(), plain()), (1, 3));
    assert_eq!(version(Meta { vector_bits: Some(256), ..meta() }, plain()), (1, 4));
    assert_eq!(version(Meta { isa_string: Some("rv64gc".into()), ..meta() }, plain()), (1, 6));
    assert_eq!(version(meta(), WriteConfig { version: Some(Version(1, 5)), ..plain() }), (1, 5));
    assert_eq!(version(meta(), WriteConfig { version: Some(Version(1, 2)), ..plain() }), (1, 2));
    let refused = trackway_stf::Lower::new(
        Memory::default().output(),
        meta(),
        WriteConfig { version: Some(Version(1, 1)), ..plain() },
    );
    assert!(refused.is_err());
}

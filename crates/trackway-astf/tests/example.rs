//! Chapter 5 of the spec: the 21-record example, errata applied, in raw, LZMA and zlib form.
//!
//! The files are in `testdata/astf/example`; `TRACKWAY_BLESS=1` rewrites them. `golden.rs` has their items and events.

use std::path::PathBuf;

use trackway_astf::{ReadConfig, Record, Storage, Trace, example, example_records, to_bytes};
use trackway_core::{Batch, Input, Source};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/astf/example")).join(name)
}

const FORMS: [(Storage, &str); 4] = [
    (Storage::Raw, "example.astf"),
    (Storage::Xz, "example-lzma.astf"),
    (Storage::LzmaAlone, "example-lzma-alone.astf"),
    (Storage::Zlib, "example-zlib.astf"),
];

fn open(bytes: Vec<u8>) -> Trace {
    Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap()
}

/// All records of a file.
fn read_all(bytes: Vec<u8>) -> Vec<Record> {
    let mut records = open(bytes).records();
    std::iter::from_fn(|| records.next_record().unwrap().map(|(_, record)| record)).collect()
}

#[test]
fn bytes_are_those_of_the_golden_files() {
    for (storage, name) in FORMS {
        if std::env::var_os("TRACKWAY_BLESS").is_some() {
            std::fs::write(golden(name), example(storage)).unwrap();
        }
        assert!(std::fs::read(golden(name)).unwrap() == example(storage), "{name} differs");
    }
}

/// 5.1: bytes of some records, as in the tables, written by hand.
#[test]
fn section_5_1_tables() {
    let bytes = example(Storage::Xz);
    // Table 16: LZMA, BasicPlus, timestamps.
    assert_eq!(bytes[..16], *b"ASTF\x00\x0b\0\0\x01\0\0\0\0\0\0\0");
    assert_eq!(bytes[16..24], 0x40u64.to_le_bytes());
    let raw = example(Storage::Raw);
    let record = |number: usize| &raw[(number - 1) * 32..number * 32];
    let hex = |number| record(number).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    // Tables 17 and 18, erratum 1.
    assert_eq!(&record(2)[..4], b"\x43\0\x2c\0");
    assert_eq!(&record(2)[4..], b"Example ASTF tracefile for t");
    assert_eq!(&record(3)[..17], b"\x44he specification");
    // Table 19.
    assert_eq!(hex(4), "4501000000000000".to_owned() + "6400000000000000" + &"0".repeat(32));
    // Table 20, erratum 2: pid 29192, tid 29197, both valid, SSBS, synchronous tag checks.
    assert_eq!(
        hex(5),
        "08040000000002c0".to_owned() + "0872000000000000" + "0d72000000000000" + &"0".repeat(16)
    );
    // Table 22, erratum 3.
    assert_eq!(hex(7), "01000800e1fdff54".to_owned() + "2ce1360800000000" + &"0".repeat(32));
    // Table 23.
    assert_eq!(
        hex(8),
        "0100500ff35341a9".to_owned() + "30e1360800000000" + "504262e7ffff0000" + &"0".repeat(16)
    );
    // Table 24.
    assert_eq!(
        hex(9),
        "010162009306c01d".to_owned() + "34e1360800000000" + "1050760b33a40000" + "1000000000000000"
    );
    // Table 28, erratum 4.
    assert_eq!(
        hex(13),
        "0100d203cbb04929".to_owned() + "f0b2ff83ffff0000" + "fc5f760b33a40000" + &"0".repeat(16)
    );
    // Table 29.
    assert_eq!(hex(14), "0700600300000000".to_owned() + "0060760b33a40000" + &"0".repeat(32));
    // Table 30.
    assert_eq!(
        hex(15),
        "0100460feb3081a8".to_owned() + "f4b2ff83ffff0000" + "00b0ce95ffff0000" + &"0".repeat(16)
    );
    // Table 31, erratum 5.
    assert_eq!(hex(16), "0500009000000000".to_owned() + "00c47ffeff7dffff" + &"0".repeat(32));
    // Tables 33 and 35, erratum 6.
    assert_eq!(hex(18), "0800000001000621".to_owned() + &"0".repeat(48));
    assert_eq!(hex(20), "0801000003000621".to_owned() + &"0".repeat(48));
    // Table 36, erratum 7.
    assert_eq!(
        hex(21),
        "0102503f040000e1".to_owned() + "04c47ffeff7dffff" + "00d53b050080ffff" + "0500000000000000"
    );
}

#[test]
fn every_form_reads_as_the_same_21_records() {
    let expected = example_records();
    assert_eq!(expected.len(), 21);
    for (storage, name) in FORMS {
        let trace = open(std::fs::read(golden(name)).unwrap());
        assert_eq!(trace.storage, storage);
        assert_eq!(trace.meta.comments, ["Example ASTF tracefile for the specification"]);
        let records = read_all(std::fs::read(golden(name)).unwrap());
        assert_eq!(records[1..], expected[1..], "{name}");
        let Record::Header(header) = records[0] else { panic!("{name}") };
        assert_eq!((header.compressed, header.use_zlib), storage.flags(), "{name}");
    }
}

#[test]
fn check_is_silent() {
    for (storage, _) in FORMS {
        let checked = open(example(storage)).check(&mut |finding| panic!("{finding}"));
        assert_eq!(checked, (21, None));
    }
}

#[test]
fn the_census_has_every_record() {
    let (mut source, mut batch) = (open(example(Storage::Zlib)).events(), Batch::default());
    while source.fill(&mut batch).unwrap() {}
    let census: u64 = source.census().total();
    assert_eq!(census, 21);
}

#[test]
fn records_are_the_words_they_were_made_of() {
    let raw = example(Storage::Raw);
    for (record, bytes) in read_all(raw.clone()).iter().zip(raw.as_chunks::<32>().0) {
        assert_eq!(to_bytes(&record.write()), *bytes);
    }
}

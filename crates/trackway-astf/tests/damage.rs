//! Every truncation and every single-byte corruption of the example: no panic, a placed error or a finding,
//! and the whole records before it.

use trackway_astf::{Config, RECORD, Record, Storage, Trace, example, example_records};
use trackway_core::{Batch, Error, ErrorKind, Finding, Input, Item, Items, Source};

/// Reads all records, and the error that ends them.
fn records(bytes: &[u8]) -> (Vec<Record>, Option<Error>) {
    let mut found = Vec::new();
    let mut records = match Trace::open(Input::from_vec(bytes.to_vec()), Config::default()) {
        Ok(trace) => trace.records(),
        Err(error) => return (found, Some(error)),
    };
    loop {
        match records.next_record() {
            Ok(Some((offset, record))) => {
                assert_eq!(offset, found.len() as u64 * 32);
                found.push(record);
            }
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error)),
        }
    }
}

/// Lifts and shows everything, whatever comes; gives the instructions.
fn walk(bytes: &[u8]) -> u64 {
    let open = || Trace::open(Input::from_vec(bytes.to_vec()), Config::default());
    let (Ok(trace), Ok(shown)) = (open(), open()) else { return 0 };
    let (mut source, mut batch, mut instructions) = (trace.source(), Batch::default(), 0);
    while let Ok(true) = source.fill(&mut batch) {
        instructions += batch.instructions();
        let mut line = String::new();
        for event in &batch.events {
            batch.write_line(event, &mut line);
        }
    }
    let storage = shown.storage;
    let (mut items, mut item) = (shown.items().listing(storage), Item::default());
    while let Ok(true) = items.next(&mut item) {}
    instructions
}

fn findings(bytes: &[u8]) -> Vec<Finding> {
    let Ok(trace) = Trace::open(Input::from_vec(bytes.to_vec()), Config::default()) else {
        return Vec::new();
    };
    let (mut check, mut found) = (trace.check(), Vec::new());
    // An error ends the reading; the checker then says what the end shows.
    loop {
        match check.next_finding() {
            Ok(Some(finding)) => found.push(finding),
            Ok(None) => return found,
            Err(_) => {}
        }
    }
}

const FORMS: [Storage; 4] = [Storage::Raw, Storage::Xz, Storage::LzmaAlone, Storage::Zlib];

#[test]
fn every_truncation_delivers_the_whole_records_before_it() {
    let expected = example_records();
    for storage in FORMS {
        let whole = example(storage);
        for cut in 0..whole.len() {
            let (found, error) = records(&whole[..cut]);
            walk(&whole[..cut]);
            assert!(found.len() <= expected.len());
            assert_eq!(
                found.get(1..).unwrap_or_default(),
                &expected[1..found.len().max(1)],
                "{storage:?} {cut}"
            );
            if storage == Storage::Raw && cut >= RECORD {
                assert_eq!(found.len(), cut / RECORD);
                // Between two records nothing is missing that could be noticed here.
                let error = error.map(|error| (error.kind, error.offset));
                let at = (cut - cut % RECORD) as u64;
                assert_eq!(error, (cut % RECORD != 0).then_some((ErrorKind::Truncated, at)), "{cut}");
            } else if cut == RECORD {
                // No payload at all: an empty trace, of which check says that nothing is in it.
                assert!(
                    findings(&whole[..cut]).iter().any(|found| found.rule.name == "ASTF-3.1-no-instructions")
                );
            } else {
                let error = error.unwrap_or_else(|| panic!("{storage:?} cut at {cut} is not noticed"));
                assert_eq!(error.kind, ErrorKind::Truncated, "{storage:?} {cut}: {error}");
            }
        }
    }
}

#[test]
fn every_corruption_of_a_compressed_example_is_noticed() {
    for storage in [Storage::Xz, Storage::Zlib] {
        let whole = example(storage);
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let (found, error) = records(&bytes);
                walk(&bytes);
                let noticed = error.is_some() || !findings(&bytes).is_empty();
                // Deflate has bits that mean nothing: how hard the compressor tried, codes that are not used.
                let same = found == records(&whole).0;
                // Version 0.10 is known too.
                let version = (at, bit) == (5, 0);
                assert!(noticed || same || version, "{storage:?}: bit {bit} of byte {at} is not noticed");
            }
        }
    }
}

/// Fields of the raw form in which any value, or many, are as legal as the right one.
const FREE: [(&str, &str); 15] = [
    ("String", "size"),
    ("Header", "version_minor"),
    ("String", "string"),
    ("String continuation", "string"),
    ("Timestamp", "value0"),
    ("Context", "pid"),
    ("Context", "tid"),
    ("Context", "mte_tcf"),
    ("Context", "pstate_"),
    ("Context", "evl"),
    ("Context", "secure"),
    ("Context", "handler"),
    ("Instruction", "ea"),
    ("Instruction", "xattr"),
    ("Extra EA", "mem0_"),
];

#[test]
fn every_corruption_of_the_raw_example_is_noticed_or_hits_a_free_field() {
    let whole = example(Storage::Raw);
    let expected = example_records();
    let mut unnoticed = Vec::new();
    for at in 0..whole.len() {
        for value in 1..=255u8 {
            let mut bytes = whole.clone();
            bytes[at] ^= value;
            let (found, error) = records(&bytes);
            walk(&bytes);
            if error.is_none() {
                // The other records are as they were.
                assert_eq!(found.len(), 21);
                for (n, record) in found.iter().enumerate().filter(|(n, _)| *n != at / RECORD) {
                    assert_eq!(*record, expected[n], "byte {at}");
                }
            }
            if error.is_none() && findings(&bytes).is_empty() {
                unnoticed.push((at, value));
            }
        }
    }
    let mut missed = std::collections::BTreeMap::new();
    for (at, value) in &unnoticed {
        let number = at / RECORD;
        let record = expected[number];
        let fields = match record {
            Record::Header(_) => trackway_astf::Header::FIELDS,
            Record::Context(_) => trackway_astf::Context::FIELDS,
            Record::Instruction(_) => trackway_astf::Instruction::FIELDS,
            Record::ExtraEa(_) => trackway_astf::ExtraEa::FIELDS,
            Record::Trap(_) => trackway_astf::Trap::FIELDS,
            Record::StringRecord(_) => trackway_astf::StringRecord::FIELDS,
            Record::StringContinuation(_) => trackway_astf::StringContinuation::FIELDS,
            _ => trackway_astf::Timestamp::FIELDS,
        };
        // Every field that the value touches must be one of them.
        for bit in (0..8).filter(|bit| value >> bit & 1 == 1) {
            let bit = (at % RECORD * 8) as u32 + bit;
            let field = fields.iter().find(|field| (field.low..=field.high).contains(&bit));
            let name = field.map_or("type", |field| field.name);
            // The word of an instruction that accesses nothing may be that of another such one.
            let word = name == "iword";
            let free = FREE.iter().any(|(item, prefix)| *item == record.name() && name.starts_with(prefix));
            if !free && !word {
                let place = format!("record {number}, byte {at} ^ {value:#x}");
                missed.entry((record.name(), name)).or_insert(place);
            }
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:#?}");
    let cases = whole.len() * 255;
    assert!(unnoticed.len() < cases / 3, "{} of {cases} not noticed", unnoticed.len());
}

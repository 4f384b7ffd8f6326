//! Every truncation and every single-byte corruption of the example, in every form: no panic, a placed error
//! or a finding, and the whole records before it.
//!
//! Every byte of every form is tried with all 255 other values.

use std::collections::{BTreeMap, HashSet};

use trackway_astf::{
    Context, ExtraEa, Header, Instruction, StringContinuation, StringRecord, Timestamp, Trap,
};
use trackway_astf::{Lines, RECORD, ReadConfig, Record, Storage, Trace, example, example_records};
use trackway_core::{Batch, Error, ErrorKind, Finding, Input, Source};

fn from_memory(bytes: &[u8]) -> Input {
    Input::from_vec(bytes.to_vec())
}

fn from_stream(bytes: &[u8]) -> Input {
    Input::Stream(Box::new(std::io::Cursor::new(bytes.to_vec())))
}

/// Reads all records, and the error that ends them: it is placed where the next record would be, or names
/// the field of the Header that is wrong.
fn records(input: Input) -> (Vec<Record>, Option<Error>) {
    let mut found = Vec::new();
    let mut records = match Trace::open(input, ReadConfig::default()) {
        Ok(trace) => trace.records(),
        Err(error) => {
            assert!(error.item == "Header" && error.offset < RECORD as u64, "{error}");
            return (found, Some(error));
        }
    };
    loop {
        match records.next_record() {
            Ok(Some((offset, record))) => {
                assert_eq!(offset, (found.len() * RECORD) as u64);
                found.push(record);
            }
            Ok(None) => return (found, None),
            Err(error) => {
                let header = error.item == "Header" && found.len() == 1;
                assert!(header || error.offset == (found.len() * RECORD) as u64, "{error}");
                return (found, Some(error));
            }
        }
    }
}

/// Damage that was tried: what it makes of the records is lifted, shown and checked once.
struct Tried {
    seen: HashSet<Vec<[u64; 4]>>,
    lines: Lines,
}

impl Tried {
    fn new() -> Self {
        Tried { seen: HashSet::new(), lines: Lines::new(Storage::Raw) }
    }

    /// Lifts and shows everything, whatever comes.
    fn walk(&mut self, bytes: &[u8], found: &[Record]) {
        if !self.seen.insert(found.iter().map(Record::write).collect()) {
            return;
        }
        let Ok(trace) = Trace::open(from_memory(bytes), ReadConfig::default()) else { return };
        let (mut source, mut batch, mut text) = (trace.events(), Batch::default(), String::new());
        let mut instructions = 0;
        while let Ok(true) = source.fill(&mut batch) {
            instructions += batch.instructions();
            for event in &batch.events {
                batch.write_line(event, &mut text);
            }
        }
        for record in found {
            trackway_astf::show(record, &mut text);
            self.lines.line(&record.write(), &mut text);
        }
        let expected = found.iter().filter(|record| matches!(record, Record::Instruction(_))).count();
        assert_eq!(instructions, expected as u64, "every whole instruction is lifted");
    }
}

fn findings(bytes: &[u8]) -> Vec<Finding> {
    let Ok(trace) = Trace::open(from_memory(bytes), ReadConfig::default()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    trace.check(&mut |finding| found.push(finding));
    found
}

const FORMS: [Storage; 4] = [Storage::Raw, Storage::Xz, Storage::LzmaAlone, Storage::Zlib];

#[test]
fn every_truncation_delivers_the_whole_records_before_it() {
    let expected = example_records();
    let mut tried = Tried::new();
    for storage in FORMS {
        let whole = example(storage);
        for cut in 0..whole.len() {
            let both = records(from_memory(&whole[..cut]));
            assert_eq!(both, records(from_stream(&whole[..cut])), "{storage:?} {cut}: a stream");
            let (found, error) = both;
            tried.walk(&whole[..cut], &found);
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
                // No payload at all: an empty trace, which check reports as empty.
                assert!(
                    findings(&whole[..cut]).iter().any(|found| found.rule.name == "astf.no-instructions")
                );
            } else {
                let error = error.unwrap_or_else(|| panic!("{storage:?} cut at {cut} is not noticed"));
                assert_eq!(error.kind, ErrorKind::Truncated, "{storage:?} {cut}: {error}");
            }
        }
    }
}

/// A change of one byte that neither an error nor a finding reveals.
struct Unnoticed {
    at: usize,
    xor: u8,
    /// The records that it makes.
    found: Vec<Record>,
}

/// Changes every byte of a form in every way; returns the undetected changes, and how many were tried.
fn corruptions(storage: Storage) -> (Vec<Unnoticed>, usize) {
    let whole = example(storage);
    let mut tried = Tried::new();
    let (mut unnoticed, mut cases) = (Vec::new(), 0);
    for at in 0..whole.len() {
        // Records before this byte must not be lost.
        let (before, _) = records(from_memory(&whole[..at]));
        for xor in 1..=255 {
            let mut bytes = whole.clone();
            bytes[at] ^= xor;
            let both = records(from_memory(&bytes));
            let place = || format!("{storage:?}, byte {at} ^ {xor:#x}");
            // A stream is read in the same way: single bits are enough to see that.
            if xor.is_power_of_two() {
                assert_eq!(both, records(from_stream(&bytes)), "{}: a stream", place());
            }
            let (found, error) = both;
            if at >= RECORD {
                assert!(found.starts_with(&before), "{}: records before the damage are lost", place());
            }
            tried.walk(&bytes, &found);
            cases += 1;
            if error.is_none() && findings(&bytes).is_empty() {
                unnoticed.push(Unnoticed { at, xor, found });
            }
        }
    }
    (unnoticed, cases)
}

/// Undetected changes are harmless: deflate has bits without a meaning (how hard the compressor
/// tried, codes that are not used), and so has the dictionary size of a .lzma header. An .xz stream has none.
fn every_corruption_is_noticed_but(storage: Storage, meaningless: impl Fn(usize) -> bool) {
    let expected = example_records();
    let (unnoticed, cases) = corruptions(storage);
    assert_eq!(cases, example(storage).len() * 255);
    for Unnoticed { at, xor, found } in &unnoticed {
        let place = format!("{storage:?}, byte {at} ^ {xor:#x}");
        assert_eq!(found[1..], expected[1..], "{place} makes other records and is not noticed");
        // Version 0.10 is known too.
        let known = if *at < RECORD { (*at, *xor) == (5, 1) } else { meaningless(*at) };
        assert!(known, "{place} is not noticed");
    }
}

#[test]
fn every_corruption_of_the_xz_example_is_noticed() {
    every_corruption_is_noticed_but(Storage::Xz, |_| false);
}

#[test]
fn every_corruption_of_the_lzma_example_is_noticed() {
    every_corruption_is_noticed_but(Storage::LzmaAlone, |at| (RECORD + 1..RECORD + 5).contains(&at));
}

#[test]
fn every_corruption_of_the_zlib_example_is_noticed() {
    every_corruption_is_noticed_but(Storage::Zlib, |_| true);
}

/// Fields of the raw form in which any value, or many, are as legal as the right one.
const FREE: [(&str, &[&str]); 7] = [
    // 0.10 is known too.
    ("Header", &["version_minor"]),
    // Zeros after the end of a string may belong to it.
    ("String", &["size", "string"]),
    ("String continuation", &["string"]),
    ("Timestamp", &["value0"]),
    (
        "Context",
        &[
            "pstate_sm",
            "pstate_dit",
            "pstate_ssbs",
            "evl",
            "mte_tcf",
            "secure",
            "handler",
            "pid_valid",
            "tid_valid",
            "pid",
            "tid",
        ],
    ),
    // The word may be that of another instruction which does the same; the size is free where the access
    // trapped, the attribute where it is a length or an index, or mode 3, which is as unused as 0.
    ("Instruction", &["iword", "ea", "ea_size", "ea_tagged", "xattr", "xattr_mode"]),
    ("Extra EA", &["mem0_tagged"]),
];

#[test]
fn every_corruption_of_the_raw_example_is_noticed_or_hits_a_free_field() {
    let expected = example_records();
    let (unnoticed, cases) = corruptions(Storage::Raw);
    let mut missed = BTreeMap::new();
    for Unnoticed { at, xor, found } in &unnoticed {
        let number = at / RECORD;
        // The other records are as they were.
        assert_eq!(found.len(), expected.len());
        for (n, record) in found.iter().enumerate().filter(|(n, _)| *n != number) {
            assert_eq!(*record, expected[n], "byte {at}");
        }
        let record = expected[number];
        let fields = match record {
            Record::Header(_) => Header::FIELDS,
            Record::Context(_) => Context::FIELDS,
            Record::Instruction(_) => Instruction::FIELDS,
            Record::ExtraEa(_) => ExtraEa::FIELDS,
            Record::Trap(_) => Trap::FIELDS,
            Record::StringRecord(_) => StringRecord::FIELDS,
            Record::StringContinuation(_) => StringContinuation::FIELDS,
            _ => Timestamp::FIELDS,
        };
        // Every field that the value touches must be one of them.
        for bit in (0..8).filter(|bit| xor >> bit & 1 == 1) {
            let bit = (at % RECORD * 8) as u32 + bit;
            let field = fields.iter().find(|field| (field.low..=field.high).contains(&bit));
            let name = field.map_or("type", |field| field.name);
            let free = FREE.iter().any(|(item, names)| *item == record.name() && names.contains(&name));
            if !free {
                let place = format!("record {number}, byte {at} ^ {xor:#x}");
                missed.entry((record.name(), name)).or_insert(place);
            }
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:#?}");
    assert_eq!(cases, 21 * RECORD * 255);
    assert!(unnoticed.len() < cases / 4, "{} of {cases} not noticed", unnoticed.len());
}

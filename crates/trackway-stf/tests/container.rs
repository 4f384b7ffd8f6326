//! Containers: chunks, index, seeking, threads, and how far damage reaches.

mod common;

use common::*;
use proptest::prelude::*;
use trackway_core::*;
use trackway_stf::{Config, Container, Trace, WriteConfig, Writer};

fn zstf(chunk: u64, threads: usize) -> WriteConfig {
    WriteConfig { container: Container::Zstf, chunk, threads, ..WriteConfig::default() }
}

/// The index of a ZSTF file: where it is, and its entries.
fn index(file: &[u8]) -> (usize, Vec<[u64; 3]>) {
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let at = word(12) as usize;
    let entry = |n: usize| [0, 8, 16].map(|field| word(at + 8 + 24 * n + field));
    (at, (0..word(at) as usize).map(entry).collect())
}

fn put(file: &mut [u8], at: usize, word: u64) {
    file[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

#[test]
fn plain_to_zstf_and_back_is_the_same_bytes() {
    let plain_bytes = busy_trace(1000);
    for (chunk, jobs) in [(1, 1), (7, 3), (100, 2), (1000, 1), (5000, 4)] {
        let packed = rewrite(&plain_bytes, zstf(chunk, jobs));
        assert_eq!(rewrite(&packed, plain()), plain_bytes, "chunks of {chunk}");
        assert_eq!(rewrite(&plain_bytes, plain()), plain_bytes);
        let (_, entries) = index(&packed);
        assert_eq!(entries.len() as u64, 1000u64.div_ceil(chunk));
        assert_eq!(entries[0][1], 0, "the first entry has no address");
        assert_eq!(entries.iter().map(|entry| entry[2]).sum::<u64>(), plain_bytes.len() as u64);
    }
}

#[test]
fn events_do_not_depend_on_container_chunks_or_threads() {
    let plain_bytes = busy_trace(3000);
    let wanted = lines(&plain_bytes, 1);
    for (chunk, jobs) in [(100, 1), (100, 2), (999, 5), (3000, 2)] {
        let packed = rewrite(&plain_bytes, zstf(chunk, 1));
        assert!(lines(&packed, jobs) == wanted, "chunks of {chunk}, {jobs} threads");
    }
}

/// Lifting derives the counts of common records; reading counts them one by one.
#[test]
fn the_census_counts_every_record() {
    let plain_bytes = busy_trace(3000);
    let mut counted = std::collections::BTreeMap::new();
    let mut records = open(&plain_bytes).unwrap().records();
    while records.next(|_, record, _| *counted.entry(record.name()).or_insert(0u64) += 1).unwrap() {}
    let packed = rewrite(&plain_bytes, zstf(100, 1));
    for (bytes, jobs) in [(&plain_bytes, 1), (&packed, 1), (&packed, 3)] {
        let mut source = open(bytes).unwrap().events(jobs);
        while source.observe(&mut Count::default()).unwrap() {}
        assert_eq!(source.census().entries().collect::<std::collections::BTreeMap<_, _>>(), counted);
    }
}

#[test]
fn seeking_finds_the_same_instructions() {
    let packed = rewrite(&busy_trace(3000), zstf(100, 1));
    let all: Vec<String> = lines(&packed, 1);
    for jobs in [1, 2] {
        for n in [0u64, 1, 99, 100, 1234, 2999, 3000, 1 << 40] {
            let mut source = open(&packed).unwrap().events(jobs);
            let first = source.seek(n).unwrap();
            assert!(first <= n && n.min(2999) - first < 100);
            let mut batch = Batch::default();
            assert!(source.fill(&mut batch).unwrap());
            assert_eq!(batch.first_instruction, first);
            let step = |line: &&String| line.contains(" step ");
            let wanted = all.iter().filter(step).nth(first as usize).unwrap();
            let event = batch.events.iter().find(|event| matches!(event.kind, EventKind::Step(_))).unwrap();
            let mut found = String::new();
            batch.write_line(event, &mut found);
            assert_eq!(&found, wanted);
        }
    }
}

/// Seeking is not used if the file declares a wrong number of instructions per chunk.
#[test]
fn a_wrong_number_per_chunk_does_not_mislead() {
    let packed = rewrite(&busy_trace(300), zstf(100, 1));
    let all = lines(&packed, 1);
    for per_chunk in [0, 1, 99, 101, 1 << 60] {
        let mut file = packed.clone();
        put(&mut file, 4, per_chunk);
        let mut source = open(&file).unwrap().events(1);
        assert_eq!(source.seek(150).unwrap(), 0, "{per_chunk}");
        assert!(trackway_testkit::lines::filled(&mut source) == all, "{per_chunk}");
    }
}

/// stf_lib drops the whole chunk when a record follows the last instruction.
#[test]
fn records_after_the_last_instruction_are_kept() {
    let mut bytes = busy_trace(10);
    bytes.extend(b"\x03\x04\0\0\0last");
    for chunk in [3, 5, 10, 100] {
        let packed = rewrite(&bytes, zstf(chunk, 1));
        assert_eq!(index(&packed).1.len() as u64, 10u64.div_ceil(chunk), "no chunk without instructions");
        assert_eq!(rewrite(&packed, plain()), bytes);
        assert!(lines(&packed, 2).last().unwrap().contains("text='last"));
    }
}

/// After any write of a chunk, the file holds the complete chunks before it.
#[test]
fn a_killed_writer_leaves_a_readable_file() {
    let bytes = busy_trace(100);
    let whole = rewrite(&bytes, zstf(10, 1));
    let file = Memory::default();
    let mut writer = Writer::new(file.output(), zstf(10, 1)).unwrap();
    let mut seen = 0;
    // The groups of the plain trace.
    let layout = Default::default();
    let (mut at, mut start) = (0, 0);
    let mut pc = 0u64;
    while at < bytes.len() {
        let (record, len) = trackway_stf::read(&bytes[at..], &layout, 0).unwrap();
        at += len;
        match record {
            trackway_stf::Record::EndHeader {} => writer.header(&bytes[start..at]),
            _ if record.is_marker() => {
                pc += 1;
                writer.group(&bytes[start..at], pc).unwrap();
            }
            _ => continue,
        }
        start = at;
        let left = file.bytes();
        if left.len() > 20 {
            // As if the process were killed now.
            let now = lines(&left, 1);
            assert!(!now.iter().any(|line| line.starts_with("error")), "{now:?}");
            let steps = now.iter().filter(|line| line.contains(" step ")).count();
            assert_eq!(steps % 10, 0);
            assert!(steps >= seen);
            seen = steps;
        }
    }
    assert_eq!(seen, 90);
    writer.finish(&[]).unwrap();
    assert_eq!(lines(&file.bytes(), 1).len(), lines(&whole, 1).len());
}

#[test]
fn an_unusable_index_does_not_lose_the_records() {
    let bytes = busy_trace(100);
    let packed = rewrite(&bytes, zstf(10, 1));
    let (at, entries) = index(&packed);
    let wanted = lines(&packed, 1);
    type Damage = Box<dyn Fn(&mut Vec<u8>)>;
    let damages: Vec<(&str, Damage)> = vec![
        ("index offset", Box::new(|file| put(file, 12, 0))),
        ("index offset", Box::new(|file| put(file, 12, u64::MAX))),
        ("index offset", Box::new(|file| put(file, 12, 3))),
        ("chunk count", Box::new(move |file| put(file, at, 1 << 40))),
        ("chunk count", Box::new(move |file| put(file, at, u64::MAX))),
        ("chunk offset", Box::new(move |file| put(file, at + 8 + 24, 1 << 50))),
        ("chunk offset", Box::new(move |file| put(file, at + 8 + 48, 0))),
        ("uncompressed size", Box::new(move |file| put(file, at + 8 + 16, u64::MAX))),
    ];
    for (field, damage) in damages {
        for jobs in [1, 2] {
            let mut file = packed.clone();
            damage(&mut file);
            let found = lines(&file, jobs);
            let error = found.iter().find(|line| line.starts_with("error")).expect("the damage is reported");
            assert!(error.contains(field) && error.contains("[ZSTF]"), "{error}");
            let events = |lines: &[String]| -> Vec<String> {
                lines.iter().filter(|line| !line.starts_with("error")).cloned().collect()
            };
            assert!(events(&found) == events(&wanted), "{field}: every record is still delivered");
        }
    }
    // A chunk of another length than the index says is read, then the error is returned.
    for size in [0, 1, entries[3][2] - 1, entries[3][2] + 1, 1 << 40] {
        let mut file = packed.clone();
        put(&mut file, at + 8 + 24 * 3 + 16, size);
        let found = lines(&file, 1);
        assert!(found.iter().any(|line| line.contains("ZSTF index.uncompressed size")), "{size}");
        assert_eq!(found.iter().filter(|line| line.contains(" step ")).count(), 100, "{size}");
        assert!(lines(&file, 3) == found);
    }
}

#[test]
fn a_damaged_chunk_costs_that_chunk_only() {
    let packed = rewrite(&busy_trace(1000), zstf(100, 1));
    let (_, entries) = index(&packed);
    let count = |lines: &[String], word: &str| lines.iter().filter(|line| line.contains(word)).count();
    // A frame that cannot be read at all: its instructions are a gap.
    let mut file = packed.clone();
    file[entries[4][0] as usize..][..4].fill(0);
    let found = lines(&file, 1);
    assert_eq!((count(&found, "error "), count(&found, " step ")), (1, 900));
    assert_eq!(count(&found, "gap reason=bad-input"), 1);
    assert!(lines(&file, 2) == found);
    // A copy has a comment for the chunk and all others unchanged, and returns the error.
    for config in [plain(), zstf(64, 2)] {
        let memory = Memory::default();
        let error = open(&file).unwrap().copy_to(memory.output(), config).unwrap_err();
        let before: u64 = entries[..4].iter().map(|entry| entry[2]).sum();
        assert_eq!((error.kind, error.offset), (ErrorKind::Compression, before));
        let again = lines(&memory.bytes(), 1);
        let steps = |lines: &[String]| -> Vec<String> {
            let steps = lines.iter().filter(|line| line.contains(" step "));
            steps.map(|line| without_offset(line).to_string()).collect()
        };
        assert!(steps(&again) == steps(&found));
        assert_eq!((count(&again, "error "), count(&again, "could%20not%20be%20read")), (0, 1));
    }
    // Damaged content: the checksum shows it.
    let mut file = packed;
    let middle = (entries[4][0] + entries[5][0]) as usize / 2;
    file[middle..middle + 8].fill(0xff);
    let found = lines(&file, 1);
    assert_eq!(count(&found, "error "), 1);
    assert!((900..=1000).contains(&count(&found, " step ")));
    assert!(lines(&file, 2) == found);
}

#[test]
fn streams_and_files_have_the_same_events() {
    let plain_bytes = busy_trace(500);
    for file in [plain_bytes.clone(), rewrite(&plain_bytes, zstf(64, 1))] {
        let stream = Input::Stream(Box::new(std::io::Cursor::new(file.clone())));
        let trace = Trace::open(stream, Config::default(), false).unwrap();
        assert_eq!(filled(&mut trace.events(1)), lines(&file, 1));
    }
}

#[test]
fn zstf_needs_an_output_that_seeks() {
    let out = Output::Stream(Box::new(Vec::new()));
    assert!(Writer::new(out, zstf(10, 1)).is_err());
}

/// All truncations and all corruptions of one byte: no panic, and the events before the place are delivered.
#[test]
fn every_truncation_and_every_corrupted_byte() {
    let plain_bytes = busy_trace(12);
    let packed = rewrite(&plain_bytes, zstf(4, 1));
    let whole = lines(&plain_bytes, 1);
    for cut in 0..plain_bytes.len() {
        let found = lines(&plain_bytes[..cut], 1);
        let good = found.iter().filter(|line| !line.starts_with("error")).count();
        let same = found.iter().zip(&whole).take_while(|(found, whole)| found == whole).count();
        // The last group may be incomplete: its records come without their instruction.
        assert!(same + 3 >= good, "cut at {cut}");
    }
    for (file, jobs) in [(&plain_bytes, 1), (&packed, 1), (&packed, 2)] {
        for cut in 0..file.len() {
            lines(&file[..cut], jobs);
        }
        for at in 0..file.len() {
            // All values with one thread, a few with more.
            let flips: Vec<u8> = if jobs == 1 { (1..=255).collect() } else { vec![0x01, 0x80, 0xff] };
            for flip in flips {
                let mut damaged = file.clone();
                damaged[at] ^= flip;
                let events = lines(&damaged, jobs);
                assert!(!events.is_empty());
                if jobs == 1 {
                    if let Ok(trace) = open(&damaged) {
                        let _ = trace.check(&mut |_| {});
                    }
                    if let Ok(trace) = open(&damaged) {
                        let mut items = trace.items();
                        let mut item = Item::default();
                        while items.next(&mut item).unwrap_or(false) {}
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn random_files_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), zstd: bool) {
        let mut file = if zstd { b"ZSTF".to_vec() } else { b"\x01STF\x02\x01\0\0\0\x03\0\0\0".to_vec() };
        file.extend(bytes);
        lines(&file, 1);
    }
}

#[test]
fn a_group_that_never_ends_is_refused() {
    let mut bytes = trackway_stf::example();
    let access = [60, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
    for _ in 0..70_000 {
        bytes.extend(access);
    }
    bytes.extend([241, 1, 0]);
    let found = lines(&bytes, 1);
    assert!(found.last().unwrap().contains("instruction group"), "{:?}", found.last());
}

#[test]
fn versions_that_are_not_supported_are_refused_unless_forced() {
    for (major, minor, good) in
        [(1, 2, true), (1, 6, true), (1, 1, false), (1, 0, false), (1, 7, false), (2, 0, false)]
    {
        let mut bytes = trackway_stf::example();
        bytes[5] = major;
        bytes[9] = minor;
        let opened = open(&bytes);
        assert_eq!(opened.is_ok(), good, "{major}.{minor}");
        if !good {
            assert!(matches!(opened.unwrap_err().kind, ErrorKind::Unsupported { .. }));
            assert!(Trace::open(Input::from_vec(bytes), Config::default(), true).is_ok());
        }
    }
}

#[test]
fn wrong_magic_is_reported() {
    let cases =
        [(&b"\x01STG\x02"[..], 3), (b"\x02\x01\0\0\0\x03\0\0\0", 0), (b"\xc8abc", 0), (b"ZSTD\0\0\0\0", 0)];
    for (bytes, place) in cases {
        let error = open(bytes).unwrap_err();
        assert_eq!((error.item, error.offset), ("IDENTIFIER", place), "{bytes:?}: {error}");
        assert_eq!(error.kind, ErrorKind::Illegal { found: bytes[place as usize].into() });
    }
}

/// An empty file is truncated, and so is one that ends before its first chunk.
#[test]
fn an_empty_file_is_truncated() {
    let packed = rewrite(&busy_trace(10), zstf(5, 1));
    for (bytes, place) in [
        (&[][..], ("IDENTIFIER", 0)),
        (&packed[..20], ("ZSTF chunk", 20)),
        (&packed[..7], ("ZSTF header", 7)),
    ] {
        let error = open(bytes).unwrap_err();
        assert!(error.is_truncated(), "{error}");
        assert_eq!((error.item, error.offset), place, "{error}");
    }
}

/// Decoding continues after damage only if a chunk follows; otherwise the error ends it.
#[test]
fn an_error_without_a_later_chunk_ends_the_trace() {
    let packed = rewrite(&busy_trace(300), zstf(100, 1));
    let (at, entries) = index(&packed);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = packed.clone();
        change(&mut bytes);
        bytes
    };
    let frame = |n: usize| entries[n][0] as usize;
    // The damage, the instructions that are left, and whether it ends the decoding.
    let cases: [(&str, Vec<u8>, u64, bool); 7] = [
        ("a chunk", with(&|bytes| bytes[frame(1)..][..4].fill(0)), 200, false),
        ("the last chunk", with(&|bytes| bytes[frame(2)..][..4].fill(0)), 200, true),
        ("size of a chunk", with(&|bytes| put(bytes, at + 8 + 24 + 16, 5)), 300, false),
        ("size of the last chunk", with(&|bytes| put(bytes, at + 8 + 48 + 16, 5)), 300, true),
        ("count of the index", with(&|bytes| put(bytes, at, 1 << 60)), 300, true),
        ("cut in the index", with(&|bytes| bytes.truncate(at + 20)), 300, true),
        ("cut in a chunk", with(&|bytes| bytes.truncate((frame(1) + frame(2)) / 2)), 100, true),
    ];
    for (what, bytes, instructions, ends) in cases {
        for jobs in [1, 3] {
            let mut source = open(&bytes).unwrap().events(jobs);
            let (mut count, mut ended) = (Count::default(), false);
            loop {
                match source.observe(&mut count) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(_) if source.resync().unwrap() => {}
                    Err(_) => {
                        ended = true;
                        break;
                    }
                }
            }
            // The instructions before the cut of a truncated chunk are delivered.
            assert!((instructions..instructions + 100).contains(&count.0), "{what}: {}", count.0);
            assert_eq!(ended, ends, "{what}, {jobs} threads");
        }
        let mut records = open(&bytes).unwrap().records();
        let mut ended = false;
        while !ended {
            match records.next(|_, _, _| ()) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => ended = records.skip_part().is_none(),
            }
        }
        assert_eq!(ended, ends, "{what}, records");
    }
}

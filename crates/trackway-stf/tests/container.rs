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

/// A file that remembers what was released of it.
struct File(Vec<u8>, std::sync::Mutex<Vec<std::ops::Range<usize>>>);

impl AsRef<[u8]> for File {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Buffer for File {
    fn release(&self, read: std::ops::Range<usize>) {
        self.1.lock().unwrap().push(read);
    }
}

/// Opening looks at every chunk; what it has looked at does not stay in memory, with the index and without.
#[test]
fn opening_releases_the_chunks_it_looked_at() {
    let whole = rewrite(&busy_trace(1000), zstf(3, 1));
    let (at, entries) = index(&whole);
    let mut unfinished = whole.clone();
    put(&mut unfinished, 12, 0);
    for bytes in [whole, unfinished] {
        let file = std::sync::Arc::new(File(bytes, Default::default()));
        Trace::open(Input::Whole(file.clone()), Config::default(), false).unwrap();
        let released = file.1.lock().unwrap().clone();
        let place =
            released.iter().position(|range| range == &(0..0)).expect("the reader is at the start again");
        let mut end = 20;
        for range in &released[..place] {
            assert!(range.start <= end && range.end > end, "{range:?} after {end}");
            end = range.end;
        }
        assert!(end >= entries[entries.len() - 40][0] as usize && end <= at, "{end} of {at}");
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
            // Without an index, which is written when the number of chunks has doubled, that is said last.
            let errors: Vec<_> = now.iter().filter(|line| line.starts_with("error")).collect();
            assert!(errors.iter().all(|line| line.contains("index offset: missing")), "{errors:?}");
            assert_eq!(errors.is_empty(), (left[12..20] != [0; 8]), "{errors:?}");
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

/// A stream that fails once, so that it is not held as a whole.
struct Pipe(std::io::Cursor<Vec<u8>>, bool);

impl std::io::Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if !std::mem::replace(&mut self.1, true) {
            return Err(std::io::Error::other("wait"));
        }
        self.0.read(out)
    }
}

/// Events of the same bytes from a pipe.
fn piped(file: &[u8]) -> Vec<String> {
    let stream = Input::Stream(Box::new(Pipe(std::io::Cursor::new(file.to_vec()), false)));
    match Trace::open(stream, Config::default(), false) {
        Ok(trace) => filled(&mut trace.events(1)),
        Err(error) => vec![format!("error {error}")],
    }
}

/// The index is a hint: whatever it says, file and pipe have the same events, and `check` has a finding.
#[test]
fn a_wrong_index_changes_no_event() {
    let bytes = busy_trace(100);
    let packed = rewrite(&bytes, zstf(10, 1));
    let (at, entries) = index(&packed);
    let wanted = lines(&packed, 1);
    let entry = |n: usize, field: usize| at + 8 + 24 * n + field;
    let mut damages = vec![
        ("stf.chunk-index", 12, u64::MAX),
        ("stf.chunk-index", 12, 3),
        ("stf.chunk-index", at, 1 << 40),
        ("stf.chunk-index", at, 9),
        ("stf.chunk-index", at, u64::MAX),
        ("stf.chunk-index", entry(1, 0), 1 << 50),
        ("stf.chunk-index", entry(2, 0), 0),
        ("stf.chunk-index", entry(0, 16), u64::MAX),
    ];
    for (n, [offset, pc, _]) in entries.iter().enumerate().skip(1) {
        for bit in [0, 1, 5, 63] {
            damages.push(("stf.chunk-index", entry(n, 0), offset ^ 1 << bit));
            damages.push(("stf.chunk-pc", entry(n, 8), pc ^ 1 << bit));
        }
    }
    for size in [0, 1, entries[3][2] - 1, entries[3][2] + 1, 1 << 40] {
        damages.push(("stf.chunk-index", entry(3, 16), size));
    }
    for (rule, place, value) in damages {
        let mut file = packed.clone();
        put(&mut file, place, value);
        for jobs in [1, 2, 3] {
            assert!(lines(&file, jobs) == wanted, "{rule} {place:#x} {value:#x}, {jobs} threads");
        }
        assert!(piped(&file) == wanted, "{rule} {place:#x} {value:#x}, pipe");
        let mut found = Vec::new();
        open(&file).unwrap().check(&mut |finding| found.push(finding.rule.name)).unwrap();
        assert!(found.contains(&rule), "{rule} {place:#x} {value:#x}: {found:?}");
        // Seeking asks the records too.
        let mut source = open(&file).unwrap().events(1);
        let first = source.seek(35).unwrap() as usize;
        let steps = |lines: &[String]| {
            let steps: Vec<_> = lines.iter().filter(|line| line.contains(" step ")).cloned().collect();
            steps
        };
        let mut found = Vec::new();
        let mut batch = Batch::default();
        while source.fill(&mut batch).unwrap() {
            for event in &batch.events {
                let mut line = String::new();
                batch.write_line(event, &mut line);
                found.push(line);
            }
        }
        assert!(steps(&found) == steps(&wanted)[first..], "{rule} {place:#x} {value:#x}, from {first}");
    }
    // A file whose index was never written, or that ends inside it, says so after the records.
    for file in [with_word(&packed, 12, 0), packed[..at + 20].to_vec(), packed[..packed.len() - 1].to_vec()] {
        for found in [lines(&file, 1), lines(&file, 3), piped(&file)] {
            let (last, events) = found.split_last().unwrap();
            assert!(last.starts_with("error") && last.contains("[ZSTF]"), "{last}");
            assert!(events == wanted);
        }
    }
}

fn with_word(file: &[u8], at: usize, word: u64) -> Vec<u8> {
    let mut file = file.to_vec();
    put(&mut file, at, word);
    file
}

/// Everything that decompresses before damage is delivered, and every other chunk; the error names the chunk and both
/// places. A pipe continues at the next chunk.
#[test]
fn damage_costs_what_is_damaged() {
    // Chunks of several blocks, so that some decompress before the damage.
    let bytes = busy_trace(60_000);
    let packed = rewrite(&bytes, zstf(20_000, 1));
    let (_, entries) = index(&packed);
    let wanted = lines(&packed, 1);
    let steps = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|line| line.contains(" step ")).cloned().collect()
    };
    for chunk in 0..entries.len() {
        let [start, _, size] = entries[chunk];
        let end = entries.get(chunk + 1).map_or(index(&packed).0 as u64, |next| next[0]);
        let base: u64 = entries[..chunk].iter().map(|entry| entry[2]).sum();
        let mut file = packed.clone();
        // In the last third, away from the block headers.
        let place = (start + 2 * (end - start) / 3) as usize;
        file[place..place + 4].iter_mut().for_each(|byte| *byte ^= 0x5a);
        let found = lines(&file, 1);
        let errors: Vec<_> = found.iter().filter(|line| line.starts_with("error")).collect();
        let [error] = errors[..] else { panic!("{errors:?}") };
        assert!(error.contains(&format!("of chunk {chunk} is damaged at 0x")), "{error}");
        let offset = u64::from_str_radix(error.split(['x', ':']).nth(1).unwrap(), 16).unwrap();
        assert!((base + size / 3..=base + size).contains(&offset), "{error}");
        let lost = steps(&wanted).len() - steps(&found).len();
        assert!((1..14_000).contains(&lost), "chunk {chunk}: {lost} lost");
        assert_eq!(steps(&found)[..5], steps(&wanted)[..5]);
        assert_eq!(steps(&found).last() == steps(&wanted).last(), chunk + 1 < entries.len());
        for jobs in [2, 3] {
            assert!(lines(&file, jobs) == found, "chunk {chunk}, {jobs} threads");
        }
        // The pipe has no index, so that addresses after the gap are unknown until a jump.
        let pcs = |lines: &[String]| steps(lines).len();
        assert_eq!(pcs(&piped(&file)), pcs(&found), "chunk {chunk}, pipe");
    }
}

/// A first chunk that cannot be read at all leaves the others.
#[test]
fn the_other_chunks_are_read_without_a_header() {
    let packed = rewrite(&busy_trace(100), zstf(10, 1));
    for place in [20, 21, 24, 26] {
        let mut file = packed.clone();
        file[place] ^= 0xff;
        for found in [lines(&file, 1), lines(&file, 2), piped(&file)] {
            let steps = found.iter().filter(|line| line.contains(" step ")).count();
            assert!(steps >= 90, "{place}: {found:?}");
            assert!(found[0].contains("of chunk 0 is damaged"), "{}", found[0]);
        }
    }
}

/// A chunk per instruction takes time and writes that grow with the chunks, not with their square.
#[test]
fn the_index_is_rewritten_when_it_has_doubled() {
    #[derive(Clone, Default)]
    struct Counting(Memory, std::sync::Arc<std::sync::atomic::AtomicUsize>);
    impl std::io::Write for Counting {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.fetch_add(bytes.len(), std::sync::atomic::Ordering::Relaxed);
            self.0.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    impl std::io::Seek for Counting {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            self.0.seek(to)
        }
    }
    let plain_bytes = busy_trace(4000);
    let file = Counting::default();
    open(&plain_bytes).unwrap().copy_to(Output::File(Box::new(file.clone())), zstf(1, 1)).unwrap();
    let (written, size) = (file.1.load(std::sync::atomic::Ordering::Relaxed), file.0.bytes().len());
    assert!(written < 3 * size, "{written} bytes written for {size}");
    assert!(lines(&file.0.bytes(), 1) == lines(&plain_bytes, 1));
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
    // A copy has the same gap and all other chunks unchanged, and returns the error.
    for config in [plain(), zstf(64, 2)] {
        let memory = Memory::default();
        let error = open(&file).unwrap().copy_to(memory.output(), config).unwrap_err();
        let before: u64 = entries[..4].iter().map(|entry| entry[2]).sum();
        let kind = ErrorKind::Chunk { number: 4, at: entries[4][0] };
        assert_eq!((error.kind, error.offset), (kind, before));
        let again = lines(&memory.bytes(), 1);
        let steps = |lines: &[String]| -> Vec<String> {
            let steps = lines.iter().filter(|line| line.contains(" step "));
            steps.map(|line| without_offset(line).to_string()).collect()
        };
        assert!(steps(&again) == steps(&found));
        assert_eq!((count(&again, "error "), count(&again, "gap reason=bad-input")), (0, 1));
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
        assert_eq!(piped(&file), lines(&file, 1));
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
            // Every bit with one thread, a few with more.
            let bits = (0..8).map(|bit| 1 << bit).chain([0xff, 0x55]);
            let flips: Vec<u8> = if jobs == 1 { bits.collect() } else { vec![0x01, 0x80, 0xff] };
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
        ("size of the last chunk", with(&|bytes| put(bytes, at + 8 + 48 + 16, 5)), 300, false),
        ("count of the index", with(&|bytes| put(bytes, at, 1 << 60)), 300, false),
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

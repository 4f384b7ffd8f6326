//! STF: the record loop and lifting, beside decompressing the same chunks alone.
//!
//! The largest trace of the corpus, or a synthetic one where there is no corpus; its chunks repeated ten times.

use std::ops::ControlFlow;

use trackway_bench::{Measure, run};
use trackway_core::{Count, Input, Source};
use trackway_stf::{Config, Layout, Lift, Record, Scan, Text16, Trace, Visit, Writer};

const REPEATS: usize = 10;
const PASSES: usize = 15;

fn main() {
    let (name, file) = input();
    let file: std::sync::Arc<Vec<u8>> = std::sync::Arc::new(repeat(&file));
    let open = || Trace::open(Input::Whole(file.clone()), Config::default(), false).expect("a good trace");
    println!("{name}, {REPEATS} times");

    let frames = frames(&file);
    let mut memory = vec![1; frames.0.len() * frames.1];
    let results = run(
        PASSES,
        vec![
            Measure::new("decompression", "bytes", || decompress(&frames, &mut memory)),
            Measure::new("decompression in the cache", "bytes", || decompress_over(&frames)),
            Measure::new("decompression to new memory", "bytes", || decompress_anew(&frames)),
            Measure::new("record loop", "records", || records(open())),
            Measure::new("lift, 1 thread", "instructions", || lift(open().events(1))),
            Measure::new("lift, 2 threads", "instructions", || lift(open().events(2))),
        ],
    );
    results.rate("decompression in the cache");
    results.rate("decompression to new memory");
    results.slower("record loop", "decompression", Some(2.5));
    results.slower("lift, 1 thread", "decompression", Some(4.5));
    results.faster("lift, 2 threads", "lift, 1 thread", Some(1.6));
}

/// Touches the fields, so that they are really read.
#[derive(Default)]
struct Sum {
    records: u64,
    fields: u64,
}

impl Visit for Sum {
    #[inline(always)]
    fn visit(&mut self, _: u64, record: &Record<'_>, _: &[u8]) -> ControlFlow<()> {
        self.records += 1;
        self.fields = self.fields.wrapping_add(match *record {
            Record::InstOpcode32 { opcode } => opcode.into(),
            Record::InstOpcode16 { opcode } => opcode.into(),
            Record::InstPcTarget { pc } => pc,
            Record::InstMemAccess { address, size, .. } => address ^ u64::from(size),
            Record::InstMemContent { data } => data,
            _ => 0,
        });
        ControlFlow::Continue(())
    }
}

fn records(trace: Trace) -> u64 {
    let mut sum = Sum::default();
    let scanned = trace.records().scan(&mut sum);
    assert_eq!(scanned.expect("a good trace"), Scan::Ended);
    std::hint::black_box(sum.fields);
    sum.records
}

fn lift(mut source: Lift) -> u64 {
    let mut count = Count::default();
    while source.observe(&mut count).expect("a good trace") {}
    count.0
}

/// The chunks of a file several times in one: the first holds the header and stays single.
fn repeat(file: &[u8]) -> Vec<u8> {
    let (frames, _) = frames(file);
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("8 bytes"));
    let index = word(12) as usize;
    let entry = |n: usize| [word(index + 16 + 24 * n), word(index + 24 + 24 * n)];
    let mut out = file[..20].to_vec();
    let mut entries = Vec::new();
    for n in (0..1).chain((0..REPEATS).flat_map(|_| 1..frames.len())) {
        entries.push([out.len() as u64, entry(n)[0], entry(n)[1]]);
        out.extend_from_slice(&frames[n]);
    }
    let at = out.len() as u64;
    out[12..20].copy_from_slice(&at.to_le_bytes());
    out.extend_from_slice(&(entries.len() as u64).to_le_bytes());
    out.extend(entries.as_flattened().iter().flat_map(|word| word.to_le_bytes()));
    out
}

/// The compressed chunks and the size of the largest.
fn frames(file: &[u8]) -> (Vec<Vec<u8>>, usize) {
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("8 bytes"));
    let index = word(12) as usize;
    let count = word(index) as usize;
    let entry = |n: usize, field: usize| word(index + 8 + 24 * n + field) as usize;
    let end = |n: usize| if n + 1 < count { entry(n + 1, 0) } else { index };
    let frames = (0..count).map(|n| file[entry(n, 0)..end(n)].to_vec()).collect();
    (frames, (0..count).map(|n| entry(n, 16)).max().unwrap_or(0))
}

/// All of the trace into memory that is already mapped: the least that reading the records takes.
fn decompress((frames, _): &(Vec<Vec<u8>>, usize), memory: &mut [u8]) -> u64 {
    let mut decompressor = zstd::bulk::Decompressor::new().expect("zstd works");
    let mut at = 0;
    for frame in frames {
        at += decompressor.decompress_to_buffer(frame, &mut memory[at..]).expect("a good frame");
    }
    std::hint::black_box(&memory);
    at as u64
}

/// All of the trace into memory that the system has to map first.
fn decompress_anew((frames, largest): &(Vec<Vec<u8>>, usize)) -> u64 {
    let decompress = |frame: &Vec<u8>| zstd::bulk::decompress(frame, *largest).expect("a good frame");
    let all: Vec<Vec<u8>> = frames.iter().map(decompress).collect();
    std::hint::black_box(&all);
    all.iter().map(|chunk| chunk.len() as u64).sum()
}

/// Each chunk over the one before it: the floor, all of it in the cache.
fn decompress_over((frames, largest): &(Vec<Vec<u8>>, usize)) -> u64 {
    let mut decompressor = zstd::bulk::Decompressor::new().expect("zstd works");
    let mut out = Vec::with_capacity(*largest);
    let mut bytes = 0;
    for frame in frames {
        out.clear();
        bytes += decompressor.decompress_to_buffer(frame, &mut out).expect("a good frame") as u64;
        std::hint::black_box(&out);
    }
    bytes
}

fn input() -> (&'static str, Vec<u8>) {
    match trackway_testkit::corpus_part("stf/dhry_riscv.zstf") {
        Some(path) => ("dhry_riscv.zstf", std::fs::read(path).expect("a readable file")),
        None => ("a synthetic trace", synthetic()),
    }
}

/// A loop of loads, arithmetic and a branch, two million instructions long.
fn synthetic() -> Vec<u8> {
    let layout = Layout::default();
    let path = std::env::temp_dir().join(format!("trackway-bench-{}.zstf", std::process::id()));
    let file = std::fs::File::create(&path).expect("a temporary file");
    let out = trackway_core::Output::File(Box::new(file));
    let mut writer = Writer::new(out, Default::default()).expect("a file");
    let write = |records: &[Record<'_>]| {
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.write(&mut bytes, &layout));
        bytes
    };
    writer.header(&write(&[
        Record::Identifier { magic: *b"STF" },
        Record::Version { major: 1, minor: 3 },
        Record::Isa { isa: 1 },
        Record::InstIem { mode: 2 },
        Record::TraceInfo { generator: 0x54, major: 0, minor: 1, patch: 0, text: Text16(b"bench") },
        Record::TraceInfoFeature { features: 0x20 },
        Record::ForcePc { pc: 0x1000 },
        Record::EndHeader {},
    ]));
    for n in 0..500_000u64 {
        let address = 0x8000 + n * 8 % 4096;
        let load = [
            Record::InstMemAccess { address, size: 8, attributes: 0, access: 1 },
            Record::InstMemContent { data: n },
            Record::InstOpcode16 { opcode: 0x6108 },
        ];
        let groups: [&[Record<'_>]; 4] = [
            &load,
            &[Record::InstOpcode32 { opcode: 0x00b5_0533 }],
            &[Record::InstOpcode16 { opcode: 0x0521 }],
            &[Record::InstPcTarget { pc: 0x1000 }, Record::InstOpcode16 { opcode: 0xb7e5 }],
        ];
        for (records, next) in groups.iter().zip([0x1002, 0x1006, 0x1008, 0x1000]) {
            writer.group(&write(records), next).expect("a file");
        }
    }
    writer.finish(&[]).expect("a file");
    let bytes = std::fs::read(&path).expect("the file just written");
    let _ = std::fs::remove_file(path);
    bytes
}

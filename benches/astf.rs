//! ASTF: scanning and lifting beside summing all u64 of the same bytes (the memory's own speed), observing, and LZMA
//! decoding on one thread and two.
//!
//! bzip2 of the corpus several times over, or the example of the specification where there is no corpus;
//! `TRACKWAY_BENCH_MB` cuts it. Several threads compare checksums by faster code than liblzma's, so their ratio
//! is not that of a second thread alone (docs/design/compression.md).

use std::sync::Arc;

use trackway_astf::{Instruction, Lower, ReadConfig, Storage, Trace, WriteConfig, copy, example, from_bytes};
use trackway_bench::{Measure, row, run};
use trackway_core::{Batch, Count, Input, SharedBytes, Sink, Source};
use trackway_testkit::output::Shared;
use trackway_testkit::qemu::Run;

/// How often the recording is repeated: the trace is larger than any cache, as those of users are.
const REPEATS: usize = 4;

fn main() {
    let mut bytes = trace().expect("a trace");
    if let Some(mb) = std::env::var("TRACKWAY_BENCH_MB").ok().and_then(|mb| mb.parse::<usize>().ok()) {
        bytes.truncate(mb << 20);
    }
    let len = bytes.len() as u64;
    let mut compressed = Vec::new();
    let mut records =
        Trace::open(Input::from_vec(bytes.clone()), ReadConfig::default()).expect("opens").records();
    let config = WriteConfig { storage: Storage::Xz, threads: 2, ..WriteConfig::default() };
    copy(&mut records, &mut compressed, &config).expect("compresses");
    println!("{} records, {:.1} MB raw", len / 32, len as f64 / 1e6);
    let size = format!("{:.2} MB, {}:1", compressed.len() as f64 / 1e6, len / compressed.len() as u64);
    row([&format!("xz in blocks of {} MiB", config.block >> 20), &size, "", "", ""]);

    let bytes: SharedBytes = Arc::new(bytes);
    let compressed: SharedBytes = Arc::new(compressed);
    let mut batch = Batch::default();
    let results = run(
        61,
        vec![
            Measure::new("sum of all u64", "bytes", || {
                std::hint::black_box(sum((*bytes).as_ref()));
                len
            }),
            Measure::new("scan", "bytes", || {
                std::hint::black_box(scan(&bytes));
                len
            }),
            Measure::new("lift", "bytes", || {
                std::hint::black_box(lift(&bytes, &mut batch));
                len
            }),
        ],
    );
    results.faster("scan", "sum of all u64", Some(0.7));
    results.faster("lift", "sum of all u64", Some(0.6));
    let results = run(
        15,
        vec![
            Measure::new("observe, 1 thread", "bytes", || 32 * observe(&bytes, 1)),
            Measure::new("observe, 2 threads", "bytes", || 32 * observe(&bytes, 2)),
        ],
    );
    results.faster("observe, 2 threads", "observe, 1 thread", None);
    let results = run(
        11,
        vec![
            Measure::new("LZMA decoding, 1 thread", "bytes", || 32 * decode(&compressed, 1)),
            Measure::new("LZMA decoding, 2 threads", "bytes", || 32 * decode(&compressed, 2)),
        ],
    );
    results.faster("LZMA decoding, 2 threads", "LZMA decoding, 1 thread", Some(1.6));
}

/// A real execution as a raw trace, or the specification's example over and over.
fn trace() -> trackway_core::Result<Vec<u8>> {
    let Some(run) = Run::corpus("aarch64", "bzip2") else {
        let one = example(Storage::Raw);
        let mut bytes = one.clone();
        while bytes.len() < 256 << 20 {
            // After the Header and the strings.
            bytes.extend_from_slice(&one[3 * 32..]);
        }
        return Ok(bytes);
    };
    let out = Shared::default();
    let config = WriteConfig { storage: Storage::Raw, ..WriteConfig::default() };
    let (mut source, mut batch) = (run.events(), Batch::default());
    let mut sink = Lower::new(Box::new(out.clone()), source.meta().clone(), config)?;
    while source.fill(&mut batch)? {
        sink.put(&batch)?;
    }
    sink.finish()?;
    drop(sink);
    let mut bytes = out.take();
    let once = bytes.len();
    for _ in 1..REPEATS {
        bytes.extend_from_within(32..once);
    }
    Ok(bytes)
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.as_chunks::<8>().0.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// Records by type, and the sum of the instructions' addresses.
fn scan(bytes: &SharedBytes) -> ([u64; 256], u64) {
    let mut records =
        Trace::open(Input::Whole(bytes.clone()), ReadConfig::default()).expect("opens").records();
    let (mut counts, mut pcs, mut instructions) = ([0; 256], 0u64, 0u64);
    while let Some((_, chunk)) = records.chunk().expect("reads") {
        for record in chunk {
            if record[0] == Instruction::ID {
                instructions += 1;
                pcs = pcs.wrapping_add(Instruction::read(&from_bytes(record)).pc);
            } else {
                counts[usize::from(record[0])] += 1;
            }
        }
        let n = chunk.len();
        records.consume(n);
    }
    counts[usize::from(Instruction::ID)] = instructions;
    (counts, pcs)
}

fn lift(bytes: &SharedBytes, batch: &mut Batch) -> u64 {
    let mut source = Trace::open(Input::Whole(bytes.clone()), ReadConfig::default()).expect("opens").events();
    let mut events = 0;
    while source.fill(batch).expect("lifts") {
        events += batch.events.len() as u64;
    }
    events
}

/// Instructions, as an analysis sees them.
fn observe(bytes: &SharedBytes, threads: usize) -> u64 {
    let config = ReadConfig { threads, ..ReadConfig::default() };
    let mut source = Trace::open(Input::Whole(bytes.clone()), config).expect("opens").events();
    let mut count = Count::default();
    while source.observe(&mut count).expect("lifts") {}
    count.0
}

fn decode(bytes: &SharedBytes, threads: usize) -> u64 {
    let config = ReadConfig { threads, ..ReadConfig::default() };
    let mut records = Trace::open(Input::Whole(bytes.clone()), config).expect("opens").records();
    let mut count = 0;
    while let Some((_, chunk)) = records.chunk().expect("decodes") {
        let n = chunk.len();
        count += n as u64;
        records.consume(n);
    }
    count
}

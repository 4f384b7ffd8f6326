//! `cargo bench -p trackway-bench-astf`
//!
//! In one run, over the same warm bytes: summing all u64 (the memory's own speed), scanning records (count
//! by type, sum of pcs), lifting to events; `-- --cpu` counts time on a core, for a busy machine. Then an
//! analysis, and LZMA decoding of a file that we wrote, on one thread and two; several threads compare checks by
//! faster code than liblzma's, so that their ratio is not that of a second thread alone (decision 0155).

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use trackway_astf::{Config, Instruction, Storage, Trace, WriteConfig, from_bytes, recompress};
use trackway_bench_astf::{Clock, medians, trace};
use trackway_core::{Batch, Count, Input, SharedBytes, Source};

fn sum(bytes: &[u8]) -> u64 {
    bytes.as_chunks::<8>().0.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// Records by type, and the sum of the instructions' addresses.
fn scan(bytes: &SharedBytes) -> ([u64; 256], u64) {
    let mut records = Trace::open(Input::Whole(bytes.clone()), Config::default()).expect("opens").records();
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
    let mut source = Trace::open(Input::Whole(bytes.clone()), Config::default()).expect("opens").source();
    let mut events = 0;
    while source.fill(batch).expect("lifts") {
        events += batch.events.len() as u64;
    }
    events
}

/// Instructions, as an analysis sees them.
fn observe(bytes: &SharedBytes, jobs: usize) -> u64 {
    let config = Config { jobs, ..Config::default() };
    let mut source = Trace::open(Input::Whole(bytes.clone()), config).expect("opens").source();
    let mut count = Count::default();
    while source.observe(&mut count).expect("lifts") {}
    count.0
}

fn decode(bytes: &SharedBytes, jobs: usize) -> u64 {
    let config = Config { jobs, ..Config::default() };
    let mut records = Trace::open(Input::Whole(bytes.clone()), config).expect("opens").records();
    let mut count = 0;
    while let Some((_, chunk)) = records.chunk().expect("decodes") {
        let n = chunk.len();
        count += n as u64;
        records.consume(n);
    }
    count
}

fn rate(what: &str, bytes: usize, time: Duration) -> f64 {
    let rate = bytes as f64 / time.as_secs_f64() / 1e9;
    println!("{what:<28} {rate:>7.2} GB/s  {:>8.1} M records/s", rate * 1e3 / 32.0);
    rate
}

/// One contestant over and over, to look at with a profiler: `cargo bench -p trackway-bench-astf -- lift 100`.
fn alone(what: &str, passes: usize, bytes: &SharedBytes) {
    let mut batch = Batch::default();
    for _ in 0..passes {
        match what {
            "sum" => black_box(sum((**bytes).as_ref())),
            "scan" => black_box(scan(bytes).1),
            "decode" => black_box(decode(bytes, 1)),
            "decode2" => black_box(decode(bytes, 2)),
            _ => black_box(lift(bytes, &mut batch)),
        };
    }
}

fn main() {
    let mut bytes = trace().expect("makes a trace");
    if let Some(mb) = std::env::var("TRACKWAY_BENCH_MB").ok().and_then(|mb| mb.parse::<usize>().ok()) {
        bytes.truncate(mb << 20);
    }
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if let [what, passes] = &args[..] {
        if what.starts_with("decode") {
            let mut compressed = Vec::new();
            let mut records =
                Trace::open(Input::from_vec(bytes), Config::default()).expect("opens").records();
            let config = WriteConfig { storage: Storage::Xz, jobs: 2, ..WriteConfig::default() };
            recompress(&mut records, &mut compressed, &config).expect("compresses");
            bytes = compressed;
        }
        let bytes: SharedBytes = Arc::new(bytes);
        return alone(what, passes.parse().unwrap_or(10), &bytes);
    }
    let len = bytes.len();
    println!("{} records, {:.1} MB raw", len / 32, len as f64 / 1e6);

    let mut compressed = Vec::new();
    let mut records =
        Trace::open(Input::from_vec(bytes.clone()), Config::default()).expect("opens").records();
    let config = WriteConfig { storage: Storage::Xz, jobs: 2, ..WriteConfig::default() };
    let start = std::time::Instant::now();
    recompress(&mut records, &mut compressed, &config).expect("compresses");
    let ratio = len as f64 / compressed.len() as f64;
    println!(
        "xz in blocks of {} MiB: {:.2} MB, {ratio:.0}:1, in {:.1?}",
        config.block >> 20,
        compressed.len() as f64 / 1e6,
        start.elapsed()
    );

    let bytes: SharedBytes = Arc::new(bytes);
    let compressed: SharedBytes = Arc::new(compressed);
    let mut batch = Batch::default();
    let clock = if std::env::args().any(|arg| arg == "--cpu") { Clock::Thread } else { Clock::Wall };
    let (times, best) = medians(
        clock,
        61,
        &mut [
            &mut || {
                black_box(sum((*bytes).as_ref()));
            },
            &mut || {
                black_box(scan(&bytes));
            },
            &mut || {
                black_box(lift(&bytes, &mut batch));
            },
        ],
    );
    let limit = rate("summing all u64", len, times[0]);
    let scanned = rate("scanning records", len, times[1]);
    let lifted = rate("lifting to events", len, times[2]);
    println!("scan / sum: {:.0} % (at least 70 %)", 100.0 * scanned / limit);
    println!("lift / sum: {:.0} % (at least 33 %)", 100.0 * lifted / limit);
    println!("lift / scan: {:.0} %", 100.0 * lifted / scanned);
    let share = |n: usize| 100.0 * best[0].as_secs_f64() / best[n].as_secs_f64();
    println!("of the best passes: scan / sum {:.0} %, lift / sum {:.0} %", share(1), share(2));

    let (times, best) = medians(
        Clock::Wall,
        15,
        &mut [
            &mut || {
                black_box(observe(&bytes, 1));
            },
            &mut || {
                black_box(observe(&bytes, 2));
            },
        ],
    );
    rate("observing, 1 thread", len, times[0]);
    rate("observing, 2 threads", len, times[1]);
    let ratio = |times: &[Duration]| times[0].as_secs_f64() / times[1].as_secs_f64();
    println!("2 threads / 1 thread: {:.2}, of the best passes {:.2}", ratio(&times), ratio(&best));

    let (times, best) = medians(
        Clock::Wall,
        11,
        &mut [
            &mut || {
                black_box(decode(&compressed, 1));
            },
            &mut || {
                black_box(decode(&compressed, 2));
            },
        ],
    );
    rate("LZMA decoding, 1 thread", len, times[0]);
    rate("LZMA decoding, 2 threads", len, times[1]);
    println!(
        "2 threads / 1 thread: {:.2} (at least 1.6), of the best passes {:.2}",
        ratio(&times),
        ratio(&best)
    );
}

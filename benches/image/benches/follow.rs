//! Follows real branch sequences through the block table, and builds tables.
//!
//! Prints, per execution, the rate with the table and without one (each instruction decoded as it comes),
//! interleaved in one run, medians; then the time to build the table for 1 MiB of code.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use trackway_bench_image::Sequence;
use trackway_core::Isa;
use trackway_image::{Blocks, Memory, Segment, Waypoints};

const PASSES: usize = 11;

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Processor time of this thread where the system tells it (in steps of some milliseconds), so that other
/// work on the machine does not count; else the time of day.
fn now(start: Instant) -> f64 {
    let running = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = running.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |n| n / 1e9)
}

/// Seconds that one call takes, over enough calls to be measurable.
fn time(calls: u32, mut run: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let start = now(begin);
    for _ in 0..calls {
        run();
    }
    (now(begin) - start) / f64::from(calls)
}

/// One row: instructions, runs, seconds with the table, seconds without.
fn print(name: &str, [instructions, runs, ours, plain]: [f64; 4]) {
    println!(
        "{name:<18} {:>7.2} {:>12.1} {:>14.1} {:>14.1} {:>7.1}",
        instructions / runs,
        runs / ours / 1e6,
        instructions / ours / 1e6,
        instructions / plain / 1e6,
        plain / ours,
    );
}

fn main() {
    println!("following, {PASSES} passes, median, one thread, table warm");
    println!(
        "{:<18} {:>7} {:>12} {:>14} {:>14} {:>7}",
        "execution", "i/run", "M runs/s", "M instr/s", "decoding", "ratio"
    );
    let mut all = [0.0; 4];
    for (folder, waypoints) in [("aarch64", Waypoints::ete(true)), ("rv64gc", Waypoints::ETRACE)] {
        for name in ["qsortmix", "fpmix", "lua", "minigzip", "bzip2"] {
            let Some(sequence) = Sequence::new(folder, name, waypoints) else { return };
            assert_eq!(sequence.follow(), sequence.follow_by_decoding());
            assert_eq!(sequence.follow().0, sequence.instructions);
            let (mut ours, mut plain) = (Vec::new(), Vec::new());
            for _ in 0..PASSES {
                ours.push(time((250e6 / sequence.instructions as f64) as u32, || {
                    _ = black_box(sequence.follow())
                }));
                plain.push(time(4, || _ = black_box(sequence.follow_by_decoding())));
            }
            let (ours, plain) = (median(ours), median(plain));
            let (instructions, runs) = (sequence.instructions as f64, sequence.runs as f64);
            print(&sequence.name, [instructions, runs, ours, plain]);
            all = std::array::from_fn(|n| all[n] + [instructions, runs, ours, plain][n]);
        }
    }
    print("all", all);

    println!("\nbuilding the table for 1 MiB of real code, {PASSES} passes, median");
    for (folder, isa, waypoints) in
        [("aarch64", Isa::A64, Waypoints::ete(true)), ("rv64gc", Isa::Rv64, Waypoints::ETRACE)]
    {
        let Some(sequence) = Sequence::new(folder, "lua", waypoints) else { return };
        let megabyte: Vec<u8> = sequence.text.iter().copied().cycle().take(1 << 20).collect();
        let memory = Segment::new(0x10000, Arc::new(megabyte)).expect("it fits");
        let memory = Arc::new(Memory::new([memory]));
        let seconds = (0..PASSES).map(|_| {
            time(30, || {
                let blocks = Blocks::new(Arc::clone(&memory), isa, waypoints);
                blocks.fill();
                black_box(blocks);
            })
        });
        let seconds = median(seconds.collect());
        println!(
            "{folder:<18} {:.2} ms, {:.0} MB/s of code",
            seconds * 1e3,
            (1 << 20) as f64 / seconds / 1e6
        );
    }
}

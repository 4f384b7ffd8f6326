//! The block table: following the branches of real executions with the table and by decoding each instruction, and
//! building the table for 1 MiB of code. Needs the corpus.

#[path = "sequence.rs"]
mod sequence;

use std::hint::black_box;
use std::sync::Arc;

use sequence::Sequence;
use trackway_bench::{Measure, run};
use trackway_core::Isa;
use trackway_image::{Blocks, Memory, Segment, Waypoints};

const PASSES: usize = 11;

fn main() {
    for (folder, waypoints) in [("aarch64", Waypoints::ete(true)), ("rv64gc", Waypoints::ETRACE)] {
        for name in ["qsortmix", "fpmix", "lua", "minigzip", "bzip2"] {
            let Some(sequence) = Sequence::new(folder, name, waypoints) else { return };
            assert_eq!(sequence.follow(), sequence.follow_by_decoding());
            assert_eq!(sequence.follow().0, sequence.instructions);
            let length = sequence.instructions as f64 / sequence.runs as f64;
            let table = format!("{}: table, {length:.1} instructions per run", sequence.name);
            let decoding = format!("{}: decoding", sequence.name);
            let again = |times: u64, follow: fn(&Sequence) -> (u64, u64)| {
                let sequence = &sequence;
                move || (0..times).map(|_| black_box(follow(sequence)).0).sum()
            };
            // Enough calls to be measurable.
            let calls = 250_000_000 / sequence.instructions;
            let results = run(
                PASSES,
                vec![
                    Measure::new(&table, "instructions", again(calls, Sequence::follow)).on_core(),
                    Measure::new(&decoding, "instructions", again(4, Sequence::follow_by_decoding)).on_core(),
                ],
            );
            results.faster(&table, &decoding, None);
        }
    }

    for (folder, isa, waypoints) in
        [("aarch64", Isa::A64, Waypoints::ete(true)), ("rv64gc", Isa::Rv64, Waypoints::ETRACE)]
    {
        let Some(sequence) = Sequence::new(folder, "lua", waypoints) else { return };
        let megabyte: Vec<u8> = sequence.text.iter().copied().cycle().take(1 << 20).collect();
        let memory = Segment::new(0x10000, Arc::new(megabyte)).expect("it fits");
        let memory = Arc::new(Memory::new([memory]));
        let build = || {
            for _ in 0..30 {
                let blocks = Blocks::new(Arc::clone(&memory), isa, waypoints);
                blocks.fill();
                black_box(blocks);
            }
            30 << 20
        };
        let name = format!("{folder}: building the table");
        run(PASSES, vec![Measure::new(&name, "bytes", build).on_core()]).rate(&name);
    }
}

//! Counting the instructions of a batch.

use trackway_core::*;

/// A batch of events drawn from the first `kinds` of: runs, withdrawn runs, steps, others.
fn batch(random: &mut SplitMix64, len: u64, kinds: u64) -> Batch {
    let mut batch = Batch::default();
    for n in 0..len {
        let run = Run {
            start: 4 * n,
            end: 4 * n + 8,
            count: random.below(1 << 32) as u32,
            accesses: None,
            isa: Isa::Rv64,
            exit: Exit::Branch,
            taken: Some(true),
            attempted: false,
            doubtful: false,
            withdrawn: false,
        };
        match random.below(kinds) {
            0 => batch.push(n, EventKind::Run(run)),
            1 => batch.push(n, EventKind::Run(Run { withdrawn: true, ..run })),
            2 => batch.push(n, EventKind::Step(Step::new(4 * n, 0x13, 4))),
            _ => batch.push_gap(n, Gap::new(GapReason::Filtered)),
        }
    }
    batch
}

#[test]
fn many_at_once_are_counted_as_one_by_one() {
    let mut random = SplitMix64(7);
    for round in 0..2000 {
        let batch = batch(&mut random, round % 37, 1 + round % 4);
        let one_by_one: u64 = batch.events.iter().map(|event| event.kind.instructions()).sum();
        assert_eq!(batch.instructions(), one_by_one, "round {round}");
    }
}

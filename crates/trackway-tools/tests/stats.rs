//! Statistics: counts by hand.

use trackway_core::*;
use trackway_tools::stats::Stats;

fn step(batch: &mut Batch, pc: u64, encoding: u32, length: u8, taken: Option<bool>, mem: &[MemAccess]) {
    let begun = batch.begin_accesses();
    batch.mem.extend_from_slice(mem);
    let accesses = batch.end_accesses(begun).unwrap();
    batch.push(0, EventKind::Step(Step { accesses, taken, ..Step::new(pc, encoding, length) }));
}

/// A loop of three instructions, three times round, then a trap.
fn program() -> Batch {
    let mut batch = Batch::default();
    batch.push_context(0, Context { privilege: Some(Privilege::U), ..Context::default() });
    for round in 0..3 {
        let address = 0x1000 + 64 * round;
        step(&mut batch, 0x8000, 0x0005_3583, 4, None, &[MemAccess::read(address, 8, Value::Word(1))]);
        step(&mut batch, 0x8004, 0x00b5_2023, 4, None, &[MemAccess::write(address, 4, Value::Unknown)]);
        step(&mut batch, 0x8008, 0xfe05_1ce3, 4, Some(round < 2), &[]);
    }
    let extra = MemExtra { stored: Value::Word(2), ..MemExtra::default() };
    let extra = batch.add_mem_extra(extra);
    let atomic = MemAccess { extra, ..MemAccess::new(MemKind::ReadWrite, 0x1000, 4, Value::Word(1)) };
    step(&mut batch, 0x800c, 0x00b5_262f, 4, None, &[atomic]);
    let unplaced = MemAccess { unplaced: true, ..MemAccess::read(0, 2, Value::Word(7)) };
    step(&mut batch, 0x8010, 0x0005_1583, 4, None, &[unplaced]);
    batch.push(0, EventKind::Step(Step { outcome: Outcome::Attempted, ..Step::new(0x8014, 0x73, 4) }));
    batch.push_trap(0, Trap { cause: Some(8), ..Trap::new(TrapKind::Exception) });
    batch
}

#[test]
fn counts_by_hand() {
    let mut stats = Stats::new(Isa::Rv64, &[]);
    stats.observe(&program());
    let stats = stats.finish();
    assert_eq!((stats.retired, stats.attempted, stats.unknown), (11, 1, 0));
    let memory = &stats.memory;
    assert_eq!((memory.loads, memory.stores, memory.atomics, memory.others), (4, 3, 1, 0));
    assert_eq!((memory.bytes_read, memory.bytes_written), (3 * 8 + 4 + 2, 3 * 4 + 4));
    assert_eq!((memory.with_data, memory.unplaced), (5, 1));
    assert_eq!((memory.lines(), memory.pages()), (3, 1));
    assert_eq!(
        memory.sizes().iter().map(|(size, count)| (*size, *count)).collect::<Vec<_>>(),
        [(2, 1), (4, 4), (8, 3)]
    );
    assert_eq!((stats.branches.outcomes, stats.branches.distinct()), ([2, 1, 0], 1));
    let classes: Vec<_> = stats.mix.classes.iter().map(|(class, count)| (*class, *count)).collect();
    assert_eq!(classes, [("atomic", 1), ("branch", 3), ("load", 4), ("store", 3), ("system", 1)]);
    assert_eq!(stats.traps[&(TrapKind::Exception, Some(8), None)], 1);
    assert_eq!(stats.contexts["u"], 12);
    assert_eq!((stats.events["step"], stats.events["trap"], stats.events["context"]), (12, 1, 1));
    let hottest = stats.hottest(1)[0];
    assert_eq!((hottest.0.pc, hottest.1.entries, hottest.1.instructions), (0x8000, 3, 9));
    assert_eq!(stats.block_count(), 2);
}

/// Runs without code are counted as they are, withdrawn ones not at all.
#[test]
fn runs_are_counted() {
    let mut batch = Batch::default();
    let begun = batch.begin_accesses();
    batch.mem.push(MemAccess::read(0x1000, 8, Value::Unknown));
    let accesses = batch.end_accesses(begun).unwrap();
    let run = Run {
        start: 0x8000,
        end: 0x8010,
        count: 4,
        accesses: batch.add_run_accesses(accesses),
        isa: Isa::Rv64,
        exit: Exit::Branch,
        taken: Some(true),
        attempted: false,
        doubtful: false,
        withdrawn: false,
    };
    batch.push(0, EventKind::Run(run));
    batch.push(0, EventKind::Run(Run { withdrawn: true, ..run }));
    let mut stats = Stats::new(Isa::Rv64, &[]);
    stats.observe(&batch);
    let stats = stats.finish();
    assert_eq!((stats.retired, stats.memory.loads, stats.branches.outcomes), (4, 1, [1, 0, 0]));
}

/// Waits and barriers are not jumps.
#[test]
fn barriers_are_no_jumps() {
    let mut batch = Batch::default();
    step(&mut batch, 0x8000, 0xd503_3fdf, 4, None, &[]); // isb
    step(&mut batch, 0x8004, 0xd503_207f, 4, None, &[]); // wfi
    step(&mut batch, 0x8008, 0x1400_0004, 4, None, &[]); // b
    let mut stats = Stats::new(Isa::A64, &[]);
    stats.observe(&batch);
    assert_eq!(Vec::from_iter(stats.finish().mix.classes), [("fence", 1), ("jump", 1), ("system", 1)]);
}

#[test]
fn long_accesses_touch_all_of_their_lines() {
    let mut batch = Batch::default();
    let write = |address, size| MemAccess::write(address, size, Value::Unknown);
    // A copy of two pages, a byte in the middle of it, a block of three lines, and one that is as long as memory.
    step(&mut batch, 0x1000, 0x19c2_0420, 4, None, &[write(0x10_0020, 8192)]);
    step(&mut batch, 0x1004, 0x3900_0020, 4, None, &[write(0x10_1000, 1), write(0x40_0000, 1)]);
    step(&mut batch, 0x1008, 0xd50b_7420, 4, None, &[write(0x20_0000, 192)]);
    // A copy of nothing, and a range of translations that are dropped.
    let nothing = MemAccess { range: true, ..write(0x30_0000, 0) };
    let dropped = MemAccess { range: true, kind: MemKind::Maintenance, ..write(0x50_0000, 1 << 30) };
    step(&mut batch, 0x100c, 0x19c2_0420, 4, None, &[nothing]);
    step(&mut batch, 0x1010, 0xd508_8620, 4, None, &[dropped]);
    let mut stats = Stats::new(Isa::A64, &[]);
    stats.observe(&batch);
    let memory = stats.finish().memory;
    assert_eq!((memory.lines(), memory.pages()), (129 + 1 + 3, 3 + 1 + 1));
    let mut stats = Stats::new(Isa::A64, &[]);
    stats.observe(&batch);
    batch.clear();
    step(&mut batch, 0x100c, 0x19c2_0420, 4, None, &[write(0, u64::MAX)]);
    stats.observe(&batch);
    let memory = stats.finish().memory;
    assert_eq!((memory.lines(), memory.pages()), (1 << 58, 1 << 52));
}

//! Analyses of statistics that are asked for: by hand.

use trackway_core::*;
use trackway_tools::asked::{Analysis, Answers, Asked, Loop, Predicted, Predictor};
use trackway_tools::stats::{By, Stats, Summary};

const NOP: u32 = 0x0000_0013;
const RET: u32 = 0x0000_8067;
const CALL: u32 = 0x0000_00ef; // jal ra, .
const JALR: u32 = 0x0007_8067; // jr a5
const ADD: u32 = 0x00c5_8533; // add a0, a1, a2

/// `bnez a0, . + offset`.
fn branch(offset: i32) -> u32 {
    let n = offset as u32;
    0x0005_1063 | (n >> 12 & 1) << 31 | (n >> 5 & 0x3f) << 25 | (n >> 1 & 0xf) << 8 | (n >> 11 & 1) << 7
}

#[derive(Default)]
struct Script(Batch);

impl Script {
    fn step(&mut self, pc: u64, encoding: u32) -> &mut Self {
        self.0.push(0, EventKind::Step(Step::new(pc, encoding, 4)));
        self
    }

    fn branch(&mut self, pc: u64, offset: i32, taken: bool) -> &mut Self {
        self.0.push(0, EventKind::Step(Step { taken: Some(taken), ..Step::new(pc, branch(offset), 4) }));
        self
    }

    fn access(&mut self, pc: u64, access: MemAccess) -> &mut Self {
        let begun = self.0.begin_accesses();
        self.0.mem.push(access);
        let accesses = self.0.end_accesses(begun).unwrap();
        self.0.push(0, EventKind::Step(Step { accesses, ..Step::new(pc, NOP, 4) }));
        self
    }

    fn gap(&mut self) -> &mut Self {
        self.0.push_gap(0, Gap::new(GapReason::Overflow));
        self
    }
}

fn answers(batches: &[&Batch]) -> (Summary, Answers) {
    let mut asked = Asked::new(Isa::Rv64, &[], &Analysis::ALL);
    batches.iter().for_each(|batch| asked.observe(batch));
    asked.finish()
}

fn predicted(script: &Script, predictor: Predictor) -> Predicted {
    let (_, answers) = answers(&[&script.0]);
    let list = answers.predictors.unwrap().list;
    list.into_iter().find(|predicted| predicted.predictor == predictor).unwrap()
}

#[test]
fn an_empty_trace_has_no_answers() {
    let (_, answers) = answers(&[&Batch::default()]);
    assert!(answers.predictors.is_none() && answers.loops.is_none() && answers.dependences.is_none());
    assert!(answers.reuse.is_none() && answers.strides.is_none() && answers.sharing.is_none());
}

/// A branch that alternates: a counter is wrong at least every second time, histories learn it.
#[test]
fn histories_learn_what_counters_cannot() {
    let mut script = Script::default();
    for n in 0..400 {
        let taken = n % 2 == 0;
        script.branch(0x8000, 8, taken);
        if !taken {
            script.step(0x8004, NOP);
        }
        script.step(0x8008, 0xff9f_f06f); // j 0x8000
    }
    let missed = |predictor| predicted(&script, predictor).counts.unwrap();
    assert_eq!(missed(Predictor::Bimodal)[0], 400);
    assert!(missed(Predictor::Bimodal)[1] >= 200);
    assert!(missed(Predictor::Gshare)[1] < 40);
    assert!(missed(Predictor::Tage)[1] < 40);
    // The counter begins with 1: taken makes it 2, not taken 1, so it is wrong every time.
    assert_eq!(missed(Predictor::Bimodal)[1], 400);
}

/// A pattern longer than the history of gshare.
#[test]
fn long_histories_learn_long_loops() {
    let mut script = Script::default();
    for n in 1..4000 {
        script.branch(0x8000, -4096, n % 40 != 0);
        script.step(if n % 40 == 0 { 0x8004 } else { 0x7000 }, 0x0000_006f);
    }
    let missed = |predictor| predicted(&script, predictor).counts.unwrap()[1];
    assert!(missed(Predictor::Tage) < missed(Predictor::Gshare), "tables with long histories");
}

#[test]
fn returns_and_indirect_jumps() {
    let mut script = Script::default();
    // 20 calls deep: 16 returns are known.
    for n in 0..20 {
        script.step(0x8000 + 0x100 * n, CALL);
    }
    script.step(0x9400, RET);
    for n in (0..20).rev() {
        script.step(0x8004 + 0x100 * n, if n == 0 { NOP } else { RET });
    }
    assert_eq!(predicted(&script, Predictor::ReturnStack).counts, Some([20, 4]));
    assert_eq!(predicted(&script, Predictor::TargetCache).counts, None);
    assert_eq!(predicted(&script, Predictor::Bimodal).counts, None);
    let mut script = Script::default();
    for target in [0x100, 0x100, 0x200, 0x200, 0x200] {
        script.step(0x8000, JALR).step(target, NOP);
    }
    assert_eq!(predicted(&script, Predictor::TargetCache).counts, Some([5, 2]));
}

/// A branch of which the trace does not say whether it was taken is not predicted.
#[test]
fn without_outcomes_there_is_nothing_to_predict() {
    let mut script = Script::default();
    script.step(0x8000, branch(8)).step(0x8008, NOP);
    assert!(answers(&[&script.0]).1.predictors.is_none());
}

/// A return whose call is before a gap is not counted, nor is one whose target is missing.
#[test]
fn a_gap_forgets_histories() {
    let mut script = Script::default();
    script.step(0x8000, CALL).step(0x9000, NOP).gap().step(0x9004, RET).step(0x8004, RET).gap();
    script.step(0x4000, CALL).step(0x9000, RET).step(0x4004, NOP);
    assert_eq!(predicted(&script, Predictor::ReturnStack).counts, Some([1, 0]));
    assert_eq!(answers(&[&script.0]).1.predictors.unwrap().gaps, 2);
}

fn loops(script: &Script) -> Vec<Loop> {
    let mut list = answers(&[&script.0]).1.loops.unwrap().list;
    list.sort_by_key(|row| row.header);
    list
}

/// Two iterations of an outer loop, with 3 and 1 of an inner one.
#[test]
fn nested_loops() {
    let mut script = Script::default();
    script.step(0x0ffc, NOP);
    for inner in [3, 1] {
        script.step(0x1000, NOP);
        for n in 1..=inner {
            script.step(0x1004, NOP).branch(0x1008, -4, n < inner);
        }
        script.branch(0x100c, -12, inner == 3);
    }
    script.step(0x1010, NOP);
    let [outer, inner] = loops(&script)[..] else { panic!("two loops") };
    assert_eq!((outer.header.pc, outer.last, outer.entries, outer.iterations), (0x1000, 0x100c, 1, 2));
    assert_eq!((outer.trips, outer.instructions), ([2, 2], 2 + 8 + 2));
    assert_eq!((inner.header.pc, inner.last, inner.entries, inner.iterations), (0x1004, 0x1008, 2, 4));
    assert_eq!((inner.trips, inner.instructions, inner.cut), ([1, 3], 8, 0));
}

/// A function that calls itself in a loop: each call has its own trip count.
#[test]
fn recursion_enters_a_loop_anew() {
    let mut script = Script::default();
    fn enter(script: &mut Script, depth: u32) {
        script.step(0x2000, NOP);
        for n in 0..3 {
            script.step(0x2004, NOP);
            script.step(0x2008, CALL);
            if depth > 0 {
                enter(script, depth - 1);
            } else {
                script.step(0x3000, RET);
            }
            script.branch(0x200c, -8, n < 2);
        }
        script.step(0x2010, RET);
    }
    script.step(0x1000, CALL);
    enter(&mut script, 2);
    script.step(0x1004, NOP);
    let [row] = loops(&script)[..] else { panic!("one loop") };
    assert_eq!((row.entries, row.iterations, row.trips), (13, 39, [3, 3]));
}

/// An interrupt in a loop does not leave it, nor does a longjmp out of a call keep the loops of frames that are gone.
#[test]
fn traps_and_jumps_out_of_calls() {
    let mut script = Script::default();
    for n in 0..4 {
        script.step(0x1000, NOP);
        if n == 1 {
            let trap =
                Trap { from: Some(0x1004), return_address: Some(0x1004), ..Trap::new(TrapKind::Interrupt) };
            script.0.push_trap(0, trap);
            script.step(0x100, NOP).step(0x104, 0x3020_0073);
        }
        script.branch(0x1004, -4, n < 3);
    }
    let [row] = loops(&script)[..] else { panic!("one loop") };
    assert_eq!((row.entries, row.iterations, row.trips), (1, 4, [4, 4]));
}

/// Two ways back to the header, the first one from the middle.
#[test]
fn back_edges_from_several_places_are_one_loop() {
    let mut script = Script::default();
    for n in 0..6 {
        script.step(0x1000, NOP).branch(0x1004, -4, n % 2 == 0);
        if n % 2 == 1 {
            script.step(0x1008, NOP).branch(0x100c, -12, n < 5);
        }
    }
    script.step(0x1010, NOP);
    let [row] = loops(&script)[..] else { panic!("one loop") };
    assert_eq!((row.last, row.entries, row.iterations, row.trips), (0x100c, 1, 6, [6, 6]));
}

#[test]
fn a_gap_cuts_a_loop() {
    let mut script = Script::default();
    for n in 0..6 {
        script.step(0x1000, NOP);
        if n == 3 {
            script.gap();
        }
        script.branch(0x1004, -4, n < 5);
    }
    let [row] = loops(&script)[..] else { panic!("one loop") };
    // 4 iterations before it; after it the one that was running, and two more.
    assert_eq!((row.entries, row.iterations, row.trips, row.cut), (2, 7, [3, 4], 1));
}

#[test]
fn dependence_distances() {
    let mut script = Script::default();
    // a0 = a1 + a2 twice; then a branch on a0; a1 and a2 were written before the trace.
    script.step(0x1000, ADD).step(0x1004, ADD).step(0x1008, NOP).branch(0x100c, 8, false);
    let found = answers(&[&script.0]).1.dependences.unwrap();
    assert_eq!(found.distances.entries().collect::<Vec<_>>(), [(2, 1)]);
    assert_eq!((found.unknown, found.instructions, found.unseen), (4, 4, 0));
    // Nothing depends on what was before a gap or an instruction that is not known.
    script.step(0x1010, ADD).gap().branch(0x1014, 8, false).step(0x1018, ADD);
    script.0.push(0, EventKind::Step(Step::new(0x101c, 0, 0)));
    script.branch(0x1020, 8, false);
    let found = answers(&[&script.0]).1.dependences.unwrap();
    assert_eq!((found.distances.total(), found.unknown, found.unseen, found.gaps), (1, 4 + 6, 1, 1));
}

fn read(address: u64, size: u64) -> MemAccess {
    MemAccess::read(address, size, Value::Unknown)
}

fn write(address: u64, size: u64) -> MemAccess {
    MemAccess::write(address, size, Value::Unknown)
}

#[test]
fn strides_of_an_instruction() {
    let mut script = Script::default();
    for n in 0..10 {
        script.access(0x1000, read(0x8000 + 16 * n, 8)).access(0x1004, write(0x9000 - 8 * n, 8));
    }
    script.gap().access(0x1000, read(0x100, 8));
    let found = answers(&[&script.0]).1.strides.unwrap();
    assert_eq!((found.list.len(), found.gaps), (2, 1));
    let [load, store] = [found.list[0], found.list[1]];
    assert_eq!((load.address.pc, load.executions, load.strides, load.most), (0x1000, 11, 9, Some((16, 9))));
    assert_eq!((store.most, store.left_out), (Some((-8, 9)), 0));
    // Addresses without a pattern: only some strides are kept, and the others are counted.
    let mut script = Script::default();
    for n in 0..100u64 {
        script.access(0x1000, read(n * n * 8, 8));
    }
    let found = answers(&[&script.0]).1.strides.unwrap().list[0];
    assert_eq!((found.strides, found.left_out), (99, 99 - 32));
}

#[test]
fn false_sharing() {
    let (mut first, mut second) = (Script::default(), Script::default());
    first.access(0x1000, write(0x8000, 8)); // others at other bytes: false sharing
    second.access(0x1000, read(0x8038, 8));
    first.access(0x1000, write(0x8040, 8)); // the same bytes: real sharing
    second.access(0x1000, read(0x8044, 8));
    first.access(0x1000, read(0x8080, 8)); // no source writes
    second.access(0x1000, read(0x8088, 8));
    first.access(0x1000, write(0x80fc, 8)); // over the end of a line
    second.access(0x1000, write(0x8108, 8));
    second.0.source = 1;
    let found = answers(&[&first.0, &second.0]).1.sharing.unwrap();
    assert_eq!((found.lines, found.written), (4, 3));
    let lines: Vec<_> =
        found.falsely.iter().map(|line| (line.address, line.accesses, &line.sources[..])).collect();
    assert_eq!(lines, [(0x8000, 2, &[0, 1][..]), (0x8100, 2, &[0, 1])]);
    assert!(answers(&[&first.0]).1.sharing.is_none(), "one source shares nothing");
}

/// Cycles and time belong to the function of the instruction before them.
#[test]
fn time_by_function() {
    let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/sort.elf");
    let mut image = trackway_image::Image::default();
    let bytes = std::sync::Arc::new(std::fs::read(elf).unwrap());
    image.add_elf("sort", bytes, None, trackway_image::Space::default()).unwrap();
    let [a, b] = [0, 1].map(|n| image.parts()[0].symbols().all()[n].clone());
    let time = |kind, value| EventKind::Time(Time { kind, value: Some(value), clock: 0 });
    let mut script = Script::default();
    script.step(a.address, NOP);
    script.0.push(0, time(TimeKind::Cycles, 10));
    script.0.push(0, time(TimeKind::Timestamp, 100));
    script.step(b.address, NOP);
    script.0.push(0, time(TimeKind::Cycles, 7));
    script.0.push(0, time(TimeKind::Timestamp, 130));
    script.gap();
    script.0.push(0, time(TimeKind::Timestamp, 500));
    script.step(b.address, NOP);
    script.0.push(0, time(TimeKind::Timestamp, 505));
    let programs = [std::sync::Arc::new(image)];
    let whole = |cut: usize| {
        let part =
            |from: usize, to: usize| Batch { events: script.0.events[from..to].to_vec(), ..script.0.clone() };
        let mut stats = Stats::new(Isa::Rv64, &programs);
        let mut later = stats.fork();
        stats.observe(&part(0, cut));
        later.observe(&part(cut, script.0.events.len()));
        stats.merge(later);
        let rows = stats.finish().by(By::Function, &[]).unwrap();
        let row = |address: u64| rows.iter().find(|row| row.address.unwrap().pc == address).unwrap().clone();
        let (a, b) = (row(a.address), row(b.address));
        [(a.cycles, a.time), (b.cycles, b.time)]
    };
    for cut in 0..=script.0.events.len() {
        assert_eq!(whole(cut), [(Some(10), Some(0)), (Some(7), Some(35))], "cut at {cut}");
    }
}

/// A trace without times has none, not 0; a program without symbols has no functions.
#[test]
fn what_is_not_there_is_not_zero() {
    let mut script = Script::default();
    script.step(0x1000, NOP);
    let (stats, _) = answers(&[&script.0]);
    assert_eq!((stats.by(By::Function, &[]), stats.by(By::Line, &[])), (None, None));
}

/// Sources with different programs: the same address is two places.
#[test]
fn sources_with_different_programs() {
    let program = |byte: u8| {
        let mut image = trackway_image::Image::default();
        let bytes = std::sync::Arc::new(vec![byte; 16]);
        image.add_raw("program", 0x1000, bytes, trackway_image::Space::default()).unwrap();
        std::sync::Arc::new(image)
    };
    let mut first = Script::default();
    first.step(0x1000, NOP).branch(0x1004, 8, true).step(0x100c, NOP);
    let second = Batch { source: 1, ..first.0.clone() };
    let count = |programs: &[std::sync::Arc<trackway_image::Image>]| {
        let mut stats = Stats::new(Isa::Rv64, programs);
        [&first.0, &second].into_iter().for_each(|batch| stats.observe(batch));
        let stats = stats.finish();
        (stats.branches.distinct(), stats.block_count(), stats.hottest(1)[0].1.entries)
    };
    assert_eq!(count(&[]), (1, 2, 2));
    assert_eq!(count(&[program(1), program(1)]), (1, 2, 2), "the same program twice");
    assert_eq!(count(&[program(1), program(2)]), (2, 4, 1));
}

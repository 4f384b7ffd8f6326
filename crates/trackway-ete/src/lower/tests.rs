//! Runs and steps taken at once have the same bytes and the same account as instructions one by one.

use proptest::prelude::*;
use trackway_core::{Context, Exit, Gap, GapReason, Privilege, Run, Step, StepExtra, Trap, TrapKind};
use trackway_image::Space;

use super::stretch::Stretches;
use super::*;
use crate::encode::{FifoModel, Implementation, Registers};

/// Instructions that matter in different ways.
const WORDS: [u32; 20] = [
    0xd503_201f, // nop
    0xd503_201f, // nop
    0xd503_201f, // nop
    0x9100_0400, // add x0, x0, #1
    0x5400_0080, // b.eq .+16
    0x5400_0080, // b.eq .+16
    0x17ff_fffc, // b .-16
    0x9400_0005, // bl .+20
    0xd61f_0000, // br x0
    0xd63f_0000, // blr x0
    0xd65f_03c0, // ret
    0xd69f_03e0, // eret
    0xd400_0001, // svc #0
    0xd503_3fdf, // isb
    0xd503_205f, // wfe
    0xd503_225f, // tsb csync
    0xd523_3060, // tstart x0
    0xd503_307f, // tcommit
    0x0000_0000, // udf
    0xd503_201f, // nop
];

const BASE: u64 = 0x1000;

/// The program by indexes into [`WORDS`]; after it there is no code.
fn image(program: &[u8]) -> Arc<Image> {
    let words = program.iter().map(|&n| WORDS[usize::from(n) % WORDS.len()]);
    let mut image = Image::default();
    let bytes = words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    image.add_raw("code", BASE, Arc::new(bytes), Space::default()).unwrap();
    Arc::new(image)
}

/// A unit by a few random bits.
fn config(options: u16) -> EncodeConfig {
    let bit = |n: u32| options >> n & 1 == 1;
    let mut config = EncodeConfig::default();
    let max_spec = if bit(0) { 3 } else { 0 };
    let registers = &mut config.units[0].registers;
    *registers = Registers::new(&Implementation { max_spec, ..Implementation::default() }).everything();
    let mut configr = 0xc1;
    for (n, set) in [(1, 0x1000), (2, 0x10), (3, 0x8), (4, 0x6000)] {
        configr |= if bit(n) { set } else { 0 };
    }
    registers.put(&[("TRCCONFIGR", configr), ("TRCSYNCPR", 8)]);
    match options >> 5 & 7 {
        0 => {
            registers.put(&[("TRCVIIECTLR", 0x1_0000), ("TRCACVR0", BASE + 0x10), ("TRCACVR1", BASE + 0x20)])
        }
        1 => registers.put(&[("TRCRSCTLR2", 0x5_0001), ("TRCEVENTCTL0R", 2), ("TRCEVENTCTL1R", 1)]),
        _ => {}
    }
    config.model.q = if bit(4) { 300 } else { 0 };
    config.model.mispredict = if bit(8) { 100 } else { 0 };
    config.model.halts = bit(9);
    if bit(10) && bit(11) {
        config.model.fifo = Some(FifoModel { bytes: 64, cycles_per_byte: 3 });
    }
    config
}

/// A run of A64.
fn run(start: u64, count: u32, taken: Option<bool>, attempted: bool) -> EventKind {
    EventKind::Run(Run {
        start,
        end: start + 4 * u64::from(count),
        count,
        accesses: None,
        isa: Isa::A64,
        exit: Exit::Branch,
        taken,
        attempted,
        doubtful: false,
        withdrawn: false,
    })
}

/// The same as steps; a branch that is taken leads to a target, which may be left out.
fn steps(batch: &mut Batch, program: &[u8], start: u64, count: u32, taken: Option<Option<u64>>) {
    for n in 0..count {
        let pc = start + 4 * u64::from(n);
        let word = program.get(((pc - BASE) / 4) as usize).copied().unwrap_or(0);
        let mut step = Step::new(pc, WORDS[usize::from(word) % WORDS.len()], 4);
        if n + 1 == count {
            step.taken = Some(taken.is_some());
            let target = taken.flatten();
            step.extra = target.and_then(|_| batch.add_extra(StepExtra { target, ..StepExtra::default() }));
        }
        batch.push(0, EventKind::Step(step));
    }
}

/// The number of instructions from `start` to the next branch of the program, and where that leads if it is taken.
fn block(program: &[u8], start: u64) -> Option<(u32, Option<u64>)> {
    let first = start.checked_sub(BASE)? as usize / 4;
    program.iter().enumerate().skip(first).find_map(|(n, &word)| {
        let flow = trackway_isa::flow(Isa::A64, BASE + 4 * n as u64, WORDS[usize::from(word) % WORDS.len()]);
        flow.control.is_transfer().then_some(((n - first) as u32 + 1, flow.target))
    })
}

/// An event by a few random bits: mostly a run, and mostly one that starts where the last one led to.
fn put(batch: &mut Batch, program: &[u8], at: &mut u64, (kind, a, b): (u8, u8, u8)) {
    let start = BASE + 4 * u64::from(a % 40);
    match kind {
        0..160 => {
            let (from, (count, target)) = match block(program, *at) {
                Some(block) => (*at, block),
                None => (start, block(program, start).unwrap_or((3, None))),
            };
            let taken = b & 3 > 0;
            *at = if taken { target.unwrap_or(start) } else { from + 4 * u64::from(count) };
            match b >> 6 {
                0 => batch.push(0, run(from, count, Some(taken), false)),
                kind => steps(batch, program, from, count, taken.then_some((kind > 1).then_some(*at))),
            }
        }
        160..225 => {
            let taken = [Some(true), Some(true), Some(false), None][usize::from(b >> 3 & 3)];
            batch.push(0, run(start, (b % 7).into(), taken, b & 0xe0 == 0xe0));
        }
        225..240 => {
            let privilege = Some([Privilege::El0, Privilege::El1, Privilege::El2][usize::from(a % 3)]);
            batch.push_context(0, Context { privilege, ..Context::default() });
        }
        240..250 => {
            let kind = [TrapKind::Exception, TrapKind::Interrupt, TrapKind::Return][usize::from(a % 3)];
            let to = (b & 1 == 1).then_some(start);
            batch.push_trap(0, Trap { from: Some(start), to, ..Trap::new(kind) });
        }
        _ => batch.push_gap(0, Gap::new([GapReason::Overflow, GapReason::Filtered][usize::from(a % 2)])),
    }
}

/// The bytes, the account, and what the unit counted.
fn lowered(program: &[u8], options: u16, events: &[(u8, u8, u8)], at_once: bool) -> (Vec<Vec<u8>>, String) {
    let meta = Meta::new(FormatId::new("ete"), Isa::A64);
    let mut lower = Lower::new(&meta, &config(options), vec![image(program)], Vec::new()).unwrap();
    let mut at = BASE;
    for events in events.chunks(if at_once { 1 + 4 * usize::from(options >> 12) } else { 1 }) {
        let mut batch = Batch::default();
        events.iter().for_each(|&event| put(&mut batch, program, &mut at, event));
        if !at_once {
            lower.lanes[0].stretches = Stretches::default();
        }
        lower.put(&batch).unwrap();
    }
    let account = lower.finish().map(|account| format!("{account:?}"));
    let counts = format!("{account:?} {:?}", lower.unit(0).map(|unit| unit.counts));
    (lower.into_inner(), counts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn blocks_at_once_are_instructions_one_by_one(
        program in proptest::collection::vec(any::<u8>(), 48),
        options: u16,
        pieces in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..40),
    ) {
        // Every run comes again.
        let events = pieces.repeat(3);
        prop_assert_eq!(lowered(&program, options, &events, true), lowered(&program, options, &events, false));
    }
}

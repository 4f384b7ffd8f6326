//! Random programs and walks through the trace unit and back, and an independent slow decoder beside ours.

mod slow;
mod unit_support;
mod walks;

use std::sync::Arc;

use proptest::prelude::*;
use slow::Out;
use trackway_core::*;
use trackway_ete::encode::{EncodeConfig, FifoModel, Implementation, Model, Registers, SourceAddresses};
use trackway_ete::{Config, Options};
use trackway_image::Image;
use trackway_testkit::random::Numbers;
use unit_support::*;
use walks::{Habits, Program, Walk, walk};

/// Random options of a unit; Q elements and overflows lose instructions and are not among them.
fn settings(numbers: &mut Numbers) -> EncodeConfig {
    let mut flip = |n: u64| numbers.below(n) == 0;
    let implementation = Implementation {
        minor: 3,
        commopt: flip(2),
        commtrans: flip(2),
        wfx_is_p0: flip(2),
        timestamp_markers: flip(4),
        ..Implementation::default()
    };
    let configr =
        0xc1 | [0x1000, 0x8, 0x10, 0x800].map(|bit| if flip(2) { bit } else { 0 }).iter().sum::<u64>();
    let max_spec = [0, 0, 1, 2, 7, 40][numbers.below(6) as usize];
    let model = Model {
        seed: numbers.draw(),
        mispredict: if max_spec > 0 { [0, 200][numbers.below(2) as usize] } else { 0 },
        run_ahead: 1 + numbers.below(9) as u32,
        late_mispredict: numbers.one_in(2),
        commit_every: numbers.below(12) as u32,
        source_addresses: [SourceAddresses::Never, SourceAddresses::Always, SourceAddresses::Sometimes]
            [numbers.below(3) as usize],
        sync_delay: [0, 0, 1, 5][numbers.below(4) as usize],
        sync_unresolved: numbers.one_in(2),
        ..Model::default()
    };
    let mut settings = EncodeConfig { model, ..EncodeConfig::default() };
    let registers = &mut settings.units[0].registers;
    *registers = Registers::new(&Implementation { max_spec, ..implementation }).everything();
    registers.put(&[("TRCCONFIGR", configr), ("TRCSYNCPR", 8), ("TRCCCCTLR", numbers.below(20))]);
    settings
}

/// Adds Q elements, a small buffer, filters, and leaves out halts, by chance.
fn lose(settings: &mut EncodeConfig, numbers: &mut Numbers) {
    let registers = &mut settings.units[0].registers;
    if numbers.one_in(3) {
        registers
            .set("TRCCONFIGR", registers.get("TRCCONFIGR") | [0x2000, 0x6000][numbers.below(2) as usize]);
        settings.model.q = 300;
    }
    if numbers.one_in(3) {
        let cycles_per_byte = 1 + numbers.below(12) as u32;
        settings.model.fifo = Some(FifoModel { bytes: 64 + numbers.below(100) as u32, cycles_per_byte });
    }
    match numbers.below(4) {
        // Everything but a part of the first piece, or only the kernel.
        0 => registers.put(&[("TRCVIIECTLR", 0x1_0000), ("TRCACVR0", 0x1_0010), ("TRCACVR1", 0x1_0040)]),
        1 => registers.set("TRCVICTLR", 0x201 | 0x0011 << 16),
        _ => {}
    }
    settings.model.halts = numbers.one_in(2);
}

/// Our decoding, in the terms of the slow decoder.
fn ours(config: &Config, bytes: &[u8], image: &Arc<Image>, options: Options) -> Vec<Out> {
    let mut lift = lift(config, bytes, image, options);
    let mut out = Vec::new();
    let mut batch = Batch::default();
    let mut context = Context::default();
    while lift.fill(&mut batch).unwrap_or_else(|error| panic!("{error}")) {
        for event in &batch.events {
            match event.kind {
                EventKind::Run(run) => {
                    assert!(!run.doubtful, "{run:x?}");
                    let memory = image.memory(&context);
                    let mut pc = run.start;
                    for _ in 0..run.count {
                        let el = u8::from(context.privilege != Some(Privilege::El0));
                        out.push(Out::Instruction(pc, el, context.context_id.unwrap_or(0) as u32));
                        pc += u64::from(memory.fetch(run.isa, pc).unwrap().1);
                    }
                }
                EventKind::Context(n) => {
                    let change = &batch.contexts[n as usize];
                    if change.unsupported == Some(true) {
                        out.push(Out::Exception(1, None));
                    }
                    context.update(change);
                }
                EventKind::Trap(n) => {
                    let trap = &batch.traps[n as usize];
                    if trap.kind != TrapKind::Return {
                        out.push(Out::Exception(trap.cause.unwrap() as u8, trap.return_address));
                    }
                }
                EventKind::Time(time) => match time.kind {
                    TimeKind::Cycles => out.push(Out::Cycles(time.value)),
                    TimeKind::Timestamp => out.push(Out::Timestamp(time.value.unwrap())),
                    TimeKind::Offset => {}
                },
                EventKind::Mark(mark) => match mark.kind {
                    MarkKind::TraceEvent => out.push(Out::Event(mark.value.unwrap() as u8)),
                    MarkKind::Instrumentation => out.push(Out::Instrumentation(mark.value.unwrap())),
                    MarkKind::TransactionStart => out.push(Out::Transaction(0)),
                    MarkKind::TransactionCommit => out.push(Out::Transaction(1)),
                    MarkKind::TransactionFail => out.push(Out::Transaction(2)),
                    MarkKind::TraceOn => out.push(Out::TraceOn),
                    _ => {}
                },
                EventKind::Gap(n) => match batch.gaps[n as usize].reason {
                    GapReason::Overflow => out.extend([Out::Discard, Out::Overflow]),
                    GapReason::Discarded => out.push(Out::Discard),
                    GapReason::Filtered => {}
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            }
        }
    }
    out
}

/// Instructions, exceptions and transactions; a core that is halted at a gap is the unit's own doing. TCOMMIT is not a P0
/// instruction: where in its block a transaction was committed is not in the trace (table K10-16).
fn execution(all: &[Out]) -> Vec<Out> {
    let part = |out: &&Out| {
        matches!(out, Out::Instruction(..) | Out::Exception(..) | Out::Transaction(_))
            && !matches!(out, Out::Exception(1, _) | Out::Transaction(1))
    };
    all.iter().filter(part).copied().collect()
}

fn compare(found: &[Out], expected: &[Out], what: &str) {
    let at = found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(found.len().min(expected.len()));
    if at < found.len().max(expected.len()) {
        let near =
            |out: &[Out]| format!("{:x?}", &out[at.saturating_sub(6).min(out.len())..out.len().min(at + 4)]);
        panic!("{what}: place {at}\n found {}\n expected {}", near(found), near(expected));
    }
}

fn made(seed: u64, habits: Habits) -> (Walk, Arc<Image>, EncodeConfig) {
    let mut numbers = Numbers(seed);
    let program = Program::new(&mut numbers);
    let settings = settings(&mut numbers);
    (walk(&program, numbers.draw(), habits), program.image(), settings)
}

fn one(seed: u64, habits: Habits) {
    let (walk, image, settings) = made(seed, habits);
    let encoded = encode(&walk.batches, &walk.meta, &settings, &image);
    let bytes = &encoded.bytes[0];
    let what = format!("seed {seed}");
    let ours = ours(&encoded.config, bytes, &image, Options::default());
    let mut theirs = slow::decode_with(&encoded.config, bytes, &image);
    // A debug halt is a context in ours, without an address.
    for out in &mut theirs {
        if let Out::Exception(1, address) = out {
            *address = None;
        }
    }
    compare(&ours, &theirs, &format!("{what}, ours against the slow decoder"));
    compare(&execution(&ours), &execution(&walk.truth), &format!("{what}, ours against the walk"));
    assert_exact(&encoded, &image, &what);
    let findings = findings(&encoded.config, bytes, &image);
    assert!(findings.is_empty(), "{what}: {findings:#?}");
}

/// 400 of each, or 20,000 with TRACKWAY_SWEEP=1.
fn cases() -> ProptestConfig {
    let cases = if std::env::var("TRACKWAY_SWEEP").is_ok_and(|sweep| sweep == "1") { 20_000 } else { 400 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn walks_come_back_and_the_slow_decoder_agrees(seed: u64) {
        one(seed, Habits::ALL);
    }

    /// With filters, overflows and Q elements: the ledger has what is found.
    #[test]
    fn the_ledger_is_exact(seed: u64) {
        let (walk, image, mut settings) = made(seed, Habits::ALL);
        lose(&mut settings, &mut Numbers(seed ^ 0x1055));
        let encoded = encode(&walk.batches, &walk.meta, &settings, &image);
        assert_exact(&encoded, &image, &format!("seed {seed}"));
    }

    #[test]
    fn long_straight_walks(seed: u64) {
        one(seed, Habits { steps: 1500, interrupts: 0, faults: 0, gaps: 0, marks: 0 });
    }
}

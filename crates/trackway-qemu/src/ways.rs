//! Tests: a stream becomes the same events in each of the ways that lift it.

use std::sync::Arc;

use crate::clock::Clock;
use crate::code::{Code, Table, Usual};
use crate::lift::Out;
use crate::shapes::Shapes;
use crate::short;
use crate::thread::Thread;
use crate::window::{Fate, Options, Position, Sample, Window};
use trackway_core::*;

/// Instructions of each kind, in a row from 0x1000.
const CODE: [(Isa, &[u32]); 2] = [
    // add, ldr, b .+8, cbz x0 .+8, ret, str, ldadd, svc, bl .-4, add, ldp, add, add, str, cbz x0 .+8, an undefined one
    (
        Isa::A64,
        &[
            0x9100_0400,
            0xf940_0000,
            0x1400_0002,
            0xb400_0040,
            0xd65f_03c0,
            0xf900_0020,
            0xf820_0001,
            0xd400_0001,
            0x97ff_ffff,
            0x9100_0400,
            0xa940_0440,
            0x9100_0400,
            0x9100_0400,
            0xf900_0020,
            0xb400_0040,
            0,
        ],
    ),
    // addi, ld, j .+8, beqz a0 .+8, ret, sd, amoadd.d, ecall, jal .-4, addi, ld, addi, addi, sd, beqz a0 .+8, mret
    (
        Isa::Rv64,
        &[
            0x0015_0513,
            0x0005_3503,
            0x0080_006f,
            0x0005_0463,
            0x0000_8067,
            0x00a5_3023,
            0x00a5_352f,
            0x0000_0073,
            0xffdf_f0ef,
            0x0015_0513,
            0x0005_3503,
            0x0015_0513,
            0x0015_0513,
            0x00a5_3023,
            0x0005_0463,
            0x3020_0073,
        ],
    ),
];

/// A plain instruction continues its run.
fn table(isa: Isa, encodings: &[u32]) -> Table {
    let mut table = Table::default();
    for (n, encoding) in encodings.iter().enumerate() {
        let word = |continues: bool| 4 | u32::from(continues) << 9;
        let code = |continues| Code::read([0x1000 + 4 * n as u32, 0, *encoding, word(continues)], isa, isa);
        table.push(code(code(false).usual == Usual::Next && n + 1 < encodings.len()));
    }
    table
}

/// Numbers of instructions by their addresses.
fn place(table: &Table, pc: u64) -> Option<u32> {
    (0..).map_while(|n| table.get(n)).position(|code| code.pc == pc).map(|n| n as u32)
}

/// Frames of an execution that mostly goes where it should, with everything else that the plugin writes in between.
fn stream(table: &Table, count: u32, random: &mut SplitMix64, odd: u64) -> Vec<Vec<u32>> {
    let (mut frames, mut at) = (vec![Vec::new()], 0);
    for _ in 0..1500 {
        if random.below(40) == 0 {
            frames.push(Vec::new());
        }
        let words = frames.last_mut().expect("one");
        words.push(at);
        let first = at;
        let code = loop {
            let code = table.get(at).expect("one");
            let mut bytes = 0;
            if code.needs > 0 && random.below(odd) > 0 || random.below(4 * odd) == 0 {
                for _ in 0..=random.below(2) {
                    let (shift, valued) =
                        (3 - random.below(2) as u32 * random.below(4) as u32, random.below(3) == 0);
                    let shift = if random.below(9) == 0 { 4 } else { shift };
                    let (is_store, low) = (random.below(2) == 0, random.next_u64() as u32);
                    if (shift < 4 || !valued) && random.below(50) > 0 {
                        let mut kind = short::SHORT | shift << short::SIZE | (at - first) << short::POSITION;
                        kind |= if is_store { short::STORE } else { 0 };
                        kind |= if valued { short::VALUED } else { 0 };
                        // Addresses of both halves.
                        words.extend([kind | if random.below(9) == 0 { 0xfff0 } else { 7 }, low]);
                    } else {
                        let kind = 8 << 28 | shift | u32::from(is_store) << 8 | u32::from(valued) << 11;
                        words.extend([kind | (at - first) << 12, low, 7]);
                    }
                    let value = match (valued, shift) {
                        (false, _) => 0,
                        (true, ..4) => 2,
                        (true, _) => 4,
                    };
                    words.extend((0..value).map(|n| n * 0x1111));
                    bytes += 1 << shift;
                }
            }
            // Where it could not make its access the run ends.
            if !code.continues || bytes < u32::from(code.needs) {
                break code;
            }
            at += 1;
        };
        if code.syscall().is_some() {
            words.extend([0x9000_0000, 64, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
            words.extend([0xa000_0000, 64, 0, random.below(9) as u32, 0]);
        }
        if random.below(8 * odd) == 0 {
            words.extend([0xb000_0000 | random.below(31) as u32, random.next_u64() as u32, 0]);
        }
        let usual = match random.below(3) {
            0 => code.target.and_then(|target| place(table, target)),
            _ => place(table, code.end()),
        };
        at = usual.filter(|_| random.below(odd) > 0).unwrap_or(random.below(count.into()) as u32);
    }
    frames
}

/// Events as text: batches may be cut anywhere.
fn take(batch: &Batch, text: &mut String) {
    for event in &batch.events {
        let name = batch.event_fields(event, &mut |name, value| *text += &format!("{name}={value} "));
        *text += &format!("{name} at {}\n", event.offset);
    }
}

/// The stretch of a repeat is that of several runs.
fn joins(folded: &Folded, repeat: &Repeat) -> bool {
    let stretch = folded.stretches.get(repeat.stretch).expect("one");
    let (_, before) = stretch.steps.split_last().expect("one");
    before.iter().any(|step| step.taken.is_some())
}

/// How a stream is lifted.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Plain,
    Usual,
    Folded,
}

fn lifted(
    isa: Isa,
    code: &Table,
    frames: &[Vec<u32>],
    options: Options,
    system: bool,
    way: Way,
) -> (String, u64) {
    let mut out = Out {
        window: Window::new(options),
        system,
        memory: options.memory,
        isa,
        last: None,
        skipped: 0,
        recording: false,
        fate: Fate::Skipped,
        restarted: 0,
        ids: None,
        interrupts: None,
        shortcuts: way != Way::Plain,
        folds: way == Way::Folded,
        stretches: Arc::default(),
        facts: Counts::default(),
        contexts: Contexts::default(),
        clock: if system {
            Clock::new(isa, &["-M", "virt", "-icount", "0,sleep=off"].map(str::to_string))
        } else {
            None
        },
    };
    let (mut threads, mut folded, mut text, mut usual) =
        ([Thread::default(), Thread::default()], Folded::default(), String::new(), 0);
    let (mut facts, mut contexts, mut shapes) = (Counts::default(), Contexts::default(), Shapes::default());
    let mut batch = Batch::default();
    out.begin(&mut folded);
    shapes.enter(&folded.stretches);
    let mut hand_on = |folded: &mut Folded| {
        folded.unfold(&mut batch);
        facts.add_batch(&batch, &mut contexts);
        take(&batch, &mut text);
    };
    // Two threads take turns.
    for (n, words) in frames.iter().enumerate() {
        let (key, thread) = ((1, 0, n as u32 / 4 % 2), &mut threads[n / 4 % 2]);
        let mut at = 0;
        while at < words.len() && !matches!(out.fate, Fate::Over | Fate::Enough) {
            let before = folded.repeats.len();
            let some = out.usual_or_folded(key, thread, (code, &mut shapes), &words[at..], &mut folded);
            usual += match way {
                Way::Folded => {
                    folded.repeats[before..].iter().filter(|repeat| joins(&folded, repeat)).count()
                }
                _ => some,
            };
            at += some;
            if some == 0 {
                let before = folded.batch.events.len();
                at += out.word(key, thread, code, &words[at..], &mut folded.batch).unwrap();
                out.count(&folded.batch, before);
            }
            if folded.is_full() {
                hand_on(&mut folded);
                out.begin(&mut folded);
            }
        }
    }
    hand_on(&mut folded);
    assert_eq!(out.facts, facts);
    (out.shortcuts, out.folds, out.stretches) = (false, false, Arc::default());
    (format!("{text}{out:?} {threads:?}"), usual as u64)
}

/// The same events, and the same state after them, whether usual instructions are taken one by one, at once, or folded.
#[test]
fn usual_instructions_are_lifted_as_all_others() {
    let all = Options::default();
    let windows = [
        all,
        Options { memory: false, ..all },
        Options { from: Some(Position::Instruction(100)), to: Some(Position::Instruction(900)), ..all },
        Options { from: Some(Position::Pc(0x1008)), to: Some(Position::Pc(0x1024)), ..all },
        Options { stop_after: 500, ..all },
        Options { limit: 700, ..all },
        Options { sample: Some(Sample { count: 30, of: 50 }), ..all },
    ];
    let (mut taken, mut repeats) = (0, 0);
    for (seed, (isa, encodings)) in (0..40).flat_map(|seed| CODE.map(|code| (seed, code))) {
        let mut random = SplitMix64(seed);
        let code = table(isa, encodings);
        let count = encodings.len() as u32;
        let frames = stream(&code, count, &mut random, [4, 20, 1000][seed as usize % 3]);
        for options in windows {
            let system = seed % 2 == 1;
            let (expected, _) = lifted(isa, &code, &frames, options, system, Way::Plain);
            let (found, usual) = lifted(isa, &code, &frames, options, system, Way::Usual);
            assert!(found == expected, "{isa:?} {seed} {options:?}");
            taken += usual;
            let (found, folded) = lifted(isa, &code, &frames, options, system, Way::Folded);
            assert!(found == expected, "folded: {isa:?} {seed} {options:?}");
            repeats += folded;
        }
    }
    assert!(taken > 300_000, "{taken} words of usual instructions");
    assert!(repeats > 1_000, "{repeats} repeats of several runs");
}

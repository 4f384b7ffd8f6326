//! Encode, decode, compare.
#![allow(dead_code, unreachable_pub)] // each test uses its part

pub mod round;

use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::{Config, Lower, Plan, lift_by};
use trackway_image::{Image, Space};
use trackway_testkit::random::{Program, Seen};

pub fn image_of(program: &Program) -> Arc<Image> {
    let mut image = Image::default();
    image.add_raw("program", program.slots[0].pc, Arc::new(program.bytes()), Space::default()).unwrap();
    Arc::new(image)
}

/// Encodes a batch; returns the bytes and the ledger.
pub fn encode(batch: &Batch, config: &Config) -> (Vec<u8>, Ledger) {
    let mut lower = Lower::new(Vec::new(), config, Isa::Rv64, None).unwrap();
    lower.put(batch).unwrap();
    let account = lower.finish().unwrap();
    (lower.into_inner(), Ledger::new(&facts_of(batch), &account))
}

/// The facts of a batch.
pub fn facts_of(batch: &Batch) -> Counts {
    let mut facts = Counts::default();
    facts.add_batch(batch, &mut Contexts::default());
    facts
}

/// The facts that a decoder finds, with its runs as single instructions.
pub fn facts_in(bytes: &[u8], config: &Config, image: &Arc<Image>) -> Counts {
    let input = Input::from_vec(bytes.to_vec());
    let mut lift = lift_by(input, config, Arc::clone(image), &Plan::new(1)).unwrap();
    let (mut facts, mut contexts, mut batch) = (Counts::default(), Contexts::default(), Batch::default());
    let mut seen_by = Context::default();
    let mut memory = image.memory(&seen_by);
    while lift.fill(&mut batch).unwrap() {
        for event in &batch.events {
            if let EventKind::Context(n) = event.kind {
                seen_by.update(&batch.contexts[n as usize]);
                memory = image.memory(&seen_by);
            }
            match &event.kind {
                EventKind::Run(run) => {
                    let accesses = batch.accesses_of(run);
                    let put = |step: EventKind| facts.add_event(&batch, &step, &mut contexts);
                    trackway_image::expand(&memory, run, accesses, put);
                }
                other => facts.add_event(&batch, other, &mut contexts),
            }
        }
    }
    facts
}

/// The results of a decoder.
#[derive(Debug, Default)]
pub struct Found {
    pub seen: Vec<Seen>,
    /// The context of each retired instruction.
    pub contexts: Vec<u64>,
    pub notified: Vec<u64>,
    pub gaps: Vec<Gap>,
    pub lines: Vec<String>,
    pub attempted: Vec<u64>,
    pub error: Option<Error>,
}

/// Decodes up to the first error.
pub fn decode(bytes: &[u8], config: &Config, image: &Arc<Image>, jobs: usize) -> Found {
    // Small parts, so that short traces are cut too.
    let input = Input::from_vec(bytes.to_vec());
    let mut lift =
        lift_by(input, config, Arc::clone(image), &Plan { part_bytes: 40, ..Plan::new(jobs) }).unwrap();
    let mut seen_by = Context::default();
    let mut memory = image.memory(&seen_by);
    let (mut found, mut batch) = (Found::default(), Batch::default());
    let (mut privilege, mut context_id) = (Privilege::M, 0);
    loop {
        match lift.fill(&mut batch) {
            Ok(true) => {}
            Ok(false) => return found,
            Err(error) => {
                found.error = Some(error);
                return found;
            }
        }
        for event in &batch.events {
            let mut line = String::new();
            batch.write_line(event, &mut line);
            found.lines.push(line);
            match &event.kind {
                EventKind::Run(run) => {
                    let mut at = run.start;
                    for n in 0..run.count {
                        if n + 1 == run.count && run.attempted {
                            found.attempted.push(at);
                        } else {
                            found.seen.push(Seen::Retired(at, privilege));
                            found.contexts.push(context_id);
                        }
                        let length = memory.fetch(run.isa, at).map_or(4, |(_, length)| length);
                        at += u64::from(length);
                    }
                    assert_eq!(at, run.end, "{run:?}");
                }
                EventKind::Trap(n) => {
                    let Trap { kind, cause, value, from, to, .. } = batch.traps[*n as usize];
                    let interrupt = kind == TrapKind::Interrupt;
                    found.seen.push(Seen::Trap(interrupt, cause.unwrap_or(0), value, from, to));
                }
                EventKind::Context(n) => {
                    let context = &batch.contexts[*n as usize];
                    seen_by.update(context);
                    memory = image.memory(&seen_by);
                    privilege = context.privilege.unwrap_or(privilege);
                    context_id = context.context_id.unwrap_or(context_id);
                }
                EventKind::Mark(Mark { kind: MarkKind::Notify, value, .. }) => found.notified.extend(*value),
                EventKind::Gap(n) => found.gaps.push(batch.gaps[*n as usize]),
                _ => {}
            }
        }
    }
}

/// The packets as text.
pub fn raw(bytes: &[u8], config: &Config) -> String {
    let mut text = trackway_etrace::Text::new(Input::from_vec(bytes.to_vec()), config);
    let (mut out, mut item) = (String::new(), Item::default());
    while text.next(&mut item).is_ok_and(|more| more) {
        out += &format!("{:#x} {} {}\n", item.offset, item.name, item.text);
    }
    out
}

//! The machine at a point, and the instruction there.

use std::ops::ControlFlow;

use trackway::machine::Machine;
use trackway::{Result, Trace};
use trackway_core::{Accesses, Batch, Event, EventKind, Exit, Isa, Run, Source};
use trackway_image::{expand, program};

/// The instruction at a point, which has not been executed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Its address.
    pub pc: Option<u64>,
    /// Its encoding; meaningless where `length` is 0.
    pub encoding: u32,
    /// Its length in bytes; 0 where the encoding is not known.
    pub length: u8,
    /// Its instruction set.
    pub isa: Isa,
}

/// A point of a trace: before an instruction.
#[derive(Clone, Debug)]
pub struct Point {
    /// Number of that instruction.
    pub number: u64,
    /// The state there.
    pub machine: Machine,
    /// The instruction; `None` at the end of the trace.
    pub next: Option<Next>,
    /// The first error that was passed on the way.
    pub passed: Option<trackway_core::Error>,
}

/// The point before instruction `number`; `Err` with the number of instructions where there are fewer.
pub fn at(trace: &mut Trace, number: u64) -> Result<std::result::Result<Point, u64>> {
    let programs = trace.programs()?;
    let (mut source, mut machine) = enter(trace, number)?;
    let mut batch = Batch::default();
    let (mut total, mut passed) = (0, None);
    let mut end = None;
    loop {
        match source.fill(&mut batch) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if !source.resync()? => {
                end = Some(error);
                break;
            }
            Err(error) => {
                passed.get_or_insert(error);
                continue;
            }
        }
        let memory = |machine: &Machine| program(&programs, batch.source).memory(&machine.context);
        match take(&batch, &mut machine, number, &memory) {
            ControlFlow::Continue(()) => total = batch.first_instruction + batch.instructions(),
            ControlFlow::Break(next) => {
                next.pc.into_iter().for_each(|pc| machine.come_to(pc, number));
                return Ok(Ok(Point { number, machine, next: Some(next), passed }));
            }
        }
    }
    match end {
        // Nothing can be read after it, and nothing has to be.
        end if total == number => Ok(Ok(Point { number, machine, next: None, passed: passed.or(end) })),
        Some(error) => Err(error.into()),
        None => Ok(Err(total)),
    }
}

/// The machine at the last checkpoint of the index before instruction `number`, else at the start, and the events after it.
fn enter(trace: &mut Trace, number: u64) -> Result<(Box<dyn Source>, Machine)> {
    let mut source = trace.events()?;
    if let Some((index, name)) = trace.index_part()
        && let Some(part) = index.sources.get(&name)
    {
        if let Some((saved, machine)) = part.known_at_or_before(number)
            && source.restore(&saved)?
        {
            return Ok((source, machine));
        }
        source = trace.events()?;
    }
    let machine = Machine::new(source.meta().isa);
    Ok((source, machine))
}

/// Applies the events of a batch before instruction `to`; breaks with that instruction.
fn take(
    batch: &Batch,
    machine: &mut Machine,
    to: u64,
    memory: &dyn Fn(&Machine) -> std::sync::Arc<trackway_image::Memory>,
) -> ControlFlow<Next> {
    let mut number = batch.first_instruction;
    for event in &batch.events {
        let count = event.kind.instructions();
        if count == 0 || number + count <= to {
            machine.apply(batch, event, number);
            number += count;
            continue;
        }
        return ControlFlow::Break(match event.kind {
            EventKind::Run(run) => inside(batch, event, &run, machine, number, to, &memory(machine)),
            EventKind::Step(step) => Next {
                pc: step.pc,
                encoding: step.encoding,
                length: step.length,
                isa: machine.context.isa.unwrap_or(machine.isa),
            },
            _ => Next { pc: None, encoding: 0, length: 0, isa: machine.isa },
        });
    }
    ControlFlow::Continue(())
}

/// The instruction `to` of a run, after those before it.
fn inside(
    batch: &Batch,
    event: &Event,
    run: &Run,
    machine: &mut Machine,
    number: u64,
    to: u64,
    memory: &trackway_image::Memory,
) -> Next {
    let mut at = number;
    let mut next = Next { pc: (to == number).then_some(run.start), encoding: 0, length: 0, isa: run.isa };
    expand(memory, run, Accesses::default(), |kind| {
        if let EventKind::Step(step) = kind {
            if at == to {
                next = Next { pc: step.pc, encoding: step.encoding, length: step.length, isa: run.isa };
            }
            at += 1;
        }
    });
    if to > number {
        let before = Run {
            count: (to - number) as u32,
            end: next.pc.unwrap_or(run.end),
            exit: Exit::Next,
            taken: None,
            accesses: None,
            attempted: false,
            ..*run
        };
        machine.apply(batch, &Event { kind: EventKind::Run(before), ..*event }, number);
    }
    next
}

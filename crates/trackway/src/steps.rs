//! Instructions one by one, of any format.

use trackway_core::{
    Batch, Context, Event, EventKind, Isa, MemAccess, Meta, Outcome, RegAccess, Source, Step, StepExtra,
};
use trackway_format::{Error, Result};

/// Walks the instructions of a trace; see [`Trace::steps`](crate::Trace::steps).
///
/// Damage ends it with an error; [`resync`](Steps::resync) continues after it. Other events (traps, contexts, gaps) are
/// passed over: [`Trace::events`](crate::Trace::events) has them all.
pub struct Steps {
    source: Box<dyn Source>,
    batch: Batch,
    /// Index of the next event in the batch, and the number of the next instruction.
    next: usize,
    number: u64,
    isa: Isa,
    context: Context,
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Steps(at instruction {})", self.number)
    }
}

/// An instruction of a trace, with views of its accesses.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'s> {
    /// Number, counted per source from 0, attempted instructions included.
    pub number: u64,
    /// Index into [`Meta::sources`].
    pub source: u16,
    /// Byte offset of the item that recorded it.
    pub offset: u64,
    /// Address.
    pub pc: Option<u64>,
    /// Instruction word; 0 where it is unknown.
    pub encoding: u32,
    /// Instruction set.
    pub isa: Isa,
    step: &'s Step,
    batch: &'s Batch,
}

impl Instruction<'_> {
    /// True if it completed; false for system calls, breakpoints and instructions that faulted.
    pub fn is_retired(&self) -> bool {
        self.step.outcome == Outcome::Retired
    }

    /// Outcome of a branch, where known.
    pub fn taken(&self) -> Option<bool> {
        self.step.taken
    }

    /// Memory accesses, in order.
    pub fn memory(&self) -> &[MemAccess] {
        self.batch.mem_of(self.step.accesses)
    }

    /// Register accesses, in order.
    pub fn registers(&self) -> &[RegAccess] {
        self.batch.regs_of(self.step.accesses)
    }

    /// Rare attributes: branch target, vector length and others.
    pub fn extra(&self) -> Option<&StepExtra> {
        self.batch.extra_of(self.step)
    }

    /// Disassembly.
    pub fn text(&self) -> String {
        trackway_isa::Disassembler::default().text(self.isa, self.pc.unwrap_or(0), self.encoding).to_string()
    }
}

impl Steps {
    pub(crate) fn new(source: Box<dyn Source>) -> Self {
        let isa = source.meta().isa;
        Steps { source, batch: Batch::default(), next: 0, number: 0, isa, context: Context::default() }
    }

    /// Facts about the trace as a whole.
    pub fn meta(&self) -> &Meta {
        self.source.meta()
    }

    /// The next instruction; `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "an instruction borrows from the walk")]
    pub fn next(&mut self) -> Result<Option<Instruction<'_>>> {
        if !self.advance()? {
            return Ok(None);
        }
        let number = self.number;
        self.number += 1;
        let Event { offset, ref kind } = self.batch.events[self.next - 1];
        let EventKind::Step(step) = kind else { return Ok(None) };
        Ok(Some(Instruction {
            number,
            source: self.batch.source,
            offset,
            pc: step.pc,
            encoding: step.encoding,
            isa: self.context.isa.unwrap_or(self.isa),
            step,
            batch: &self.batch,
        }))
    }

    /// Moves after the next step; false at the end.
    fn advance(&mut self) -> Result<bool> {
        loop {
            let Some(event) = self.batch.events.get(self.next) else {
                let source = self.batch.source;
                if !self.source.fill(&mut self.batch)? {
                    return Ok(false);
                }
                if self.batch.source != source {
                    self.context = Context::default();
                }
                (self.next, self.number) = (0, self.batch.first_instruction);
                continue;
            };
            self.next += 1;
            match event.kind {
                EventKind::Step(_) => return Ok(true),
                EventKind::Run(run) if !run.withdrawn => return Err(Error::NoProgram { pc: run.start }),
                EventKind::Context(n) => self.context.update(&self.batch.contexts[n as usize]),
                _ => {}
            }
        }
    }

    /// After an error: finds the next place where decoding can continue; false if there is none.
    pub fn resync(&mut self) -> Result<bool> {
        Ok(self.source.resync()?)
    }
}

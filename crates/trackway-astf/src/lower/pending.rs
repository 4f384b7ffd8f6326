//! Items that wait for the next instruction, which settles them.

use trackway_core::{Context, Fact, Gap, MemAccess, Result, Trap, TrapKind};
use trackway_isa::arm::{Class, can_take};

use super::Lower;
use crate::record::Level;

/// A no-op.
const NOP: u32 = 0xd503_201f;
/// Items that wait at most, where no instruction comes.
const LONGEST_WAIT: usize = 1 << 12;

/// An item that waits for the next instruction.
#[derive(Debug)]
pub(super) enum Pending {
    Step(Box<PendingStep>),
    Trap(Trap),
    Context(Context),
    Time(u64),
    Suspended,
    Note(Vec<u8>),
    Gap(Gap),
}

/// An instruction that waits, with its data from the batch.
#[derive(Debug)]
pub(super) struct PendingStep {
    pub(super) pc: u64,
    pub(super) word: u32,
    pub(super) class: Class,
    pub(super) attempted: bool,
    pub(super) taken: Option<bool>,
    pub(super) target: Option<u64>,
    pub(super) index: Option<u8>,
    pub(super) accesses: Vec<MemAccess>,
}

impl PendingStep {
    /// True if it can be written without the next instruction.
    pub(super) fn is_complete(&self) -> bool {
        match self.class {
            Class::Branch { .. } if self.attempted => true,
            Class::Branch { target, .. } => match self.taken {
                Some(true) => self.target.is_some() || target.is_some(),
                Some(false) => true,
                None => false,
            },
            _ => true,
        }
    }

    fn returns(&self) -> bool {
        self.class == Class::ExceptionReturn && !self.attempted
    }

    /// True if it did not take this exception, which was taken before it. Formats whose traps need an instruction put
    /// one there that did not run, or a no-op.
    fn is_placeholder_of(&self, trap: &Trap) -> bool {
        let class = trap.class.map(u64::from).or(trap.cause);
        match (trap.kind, class) {
            _ if !self.attempted || self.class.always_traps() => false,
            (TrapKind::Interrupt, _) | (TrapKind::Exception, Some(0x20..=0x22)) => true,
            (TrapKind::Exception, Some(class @ ..64)) => self.word == NOP && !can_take(NOP, class as u8),
            (TrapKind::Exception, _) => self.word == NOP,
            _ => false,
        }
    }
}

impl Lower {
    /// Writes an item at once if nothing waits, else queues it.
    pub(super) fn queue(&mut self, item: Pending) -> Result<()> {
        let waits = match &item {
            // The class of a flow trace's exception depends on the level after it.
            Pending::Trap(trap) => {
                (trap.to.is_none() || self.meta.flow_only) && self.level == Level::BasicPlus
            }
            Pending::Gap(_) => true,
            _ => false,
        };
        if self.pending.is_empty() && !waits {
            return self.emit(item, None);
        }
        self.pending.push(item);
        if self.pending.len() > LONGEST_WAIT { self.flush(None) } else { Ok(()) }
    }

    /// Writes all pending items; `next` is the address of the next instruction, if there is one.
    pub(super) fn flush(&mut self, next: Option<u64>) -> Result<()> {
        let mut items = std::mem::take(&mut self.pending).into_iter();
        self.state.next_is_guessed = items.as_slice().iter().any(|item| matches!(item, Pending::Gap(_)));
        // The instruction that the next trap may belong to.
        let mut last = None;
        while let Some(item) = items.next() {
            let later = items.as_slice();
            // Times and notes may come before the trap.
            let at = later.iter().position(|item| matches!(item, Pending::Trap(_) | Pending::Gap(_)));
            let (trap, after) = match at.map(|at| (&later[at], &later[at + 1..])) {
                Some((Pending::Trap(trap), after)) => (Some(*trap), after),
                _ => (None, later),
            };
            // A trap records where the flow would have continued.
            let next = trap.map_or(next, |trap| trap.from.or(trap.return_address));
            match item {
                Pending::Step(step) => {
                    last = step.attempted.then_some(step.word);
                    let trap = trap.and_then(|trap| self.classify(trap, last, after));
                    self.flush_step(*step, trap, next)?;
                }
                Pending::Gap(gap) => self.write_gap(&gap, next.filter(|_| at.is_none()))?,
                Pending::Trap(trap) => match self.classify(trap, last.take(), later) {
                    Some(classified) => {
                        let renumbered = classified.cause.is_some() && classified.cause != trap.cause;
                        self.tally.changed[Fact::TrapCauses] += u64::from(renumbered);
                        let trap = classified;
                        self.resume()?;
                        self.emit(Pending::Trap(trap), next)?;
                    }
                    None => {
                        self.state.halted = true;
                        self.write_context(&Context { unsupported: Some(true), ..Context::default() })?;
                    }
                },
                Pending::Context(mut context) if self.state.halted => {
                    self.state.halted = false;
                    self.tally.change(context);
                    context.unsupported.get_or_insert(false);
                    self.write_context(&context)?;
                }
                item => self.emit(item, next)?,
            }
        }
        if next.is_some() { self.resume() } else { Ok(()) }
    }

    /// Writes a step with what it implies; a placeholder of the trap after it is left out.
    fn flush_step(&mut self, step: PendingStep, trap: Option<Trap>, next: Option<u64>) -> Result<()> {
        if trap.is_some_and(|trap| step.is_placeholder_of(&trap)) {
            return Ok(());
        }
        self.resume()?;
        // Some formats have no exception return: derive it from the flow.
        let gap = self.state.next_is_guessed && trap.is_none();
        let recorded = trap.is_some_and(|trap| trap.kind == TrapKind::Return);
        let to = step.target.or(next.filter(|_| !gap));
        let derived = step.returns() && !recorded && to.is_some() && self.level == Level::BasicPlus;
        self.emit(Pending::Step(Box::new(step)), next)?;
        if derived {
            self.emit(Pending::Trap(Trap { to, ..Trap::new(TrapKind::Return) }), to)?;
        }
        Ok(())
    }

    /// Ends a stay in Debug state.
    fn resume(&mut self) -> Result<()> {
        if std::mem::take(&mut self.state.halted) {
            self.write_context(&Context { unsupported: Some(false), ..Context::default() })?;
        }
        Ok(())
    }
}

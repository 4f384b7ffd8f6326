//! Items that wait for the next instruction, which settles them.

use trackway_core::{Context, Fate, MemAccess, Result, Trap, TrapKind};
use trackway_isa::arm::Class;

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
    Gap,
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
}

impl Lower {
    /// Writes an item at once if nothing waits, else queues it.
    pub(super) fn queue(&mut self, item: Pending) -> Result<()> {
        let waits =
            matches!(&item, Pending::Trap(trap) if trap.to.is_none() && self.level == Level::BasicPlus);
        if self.pending.is_empty() && !waits {
            return self.emit(item, None);
        }
        self.pending.push(item);
        if self.pending.len() > LONGEST_WAIT { self.flush(None) } else { Ok(()) }
    }

    /// Writes all pending items; `next` is the address of the next instruction, if there is one.
    pub(super) fn flush(&mut self, next: Option<u64>) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let gap = pending.iter().any(|item| matches!(item, Pending::Gap));
        let mut items = pending.into_iter();
        while let Some(item) = items.next() {
            // Times and notes may come before the trap.
            let mut before_gap = items.as_slice().iter().take_while(|item| !matches!(item, Pending::Gap));
            let trap = before_gap.find_map(|item| match item {
                Pending::Trap(trap) => Some(*trap),
                _ => None,
            });
            // An interrupt records where the flow would have continued.
            let follows = trap.map(|trap| trap.from.or(trap.return_address));
            let eret = matches!(&item, Pending::Step(step) if step.class == Class::ExceptionReturn && !step.attempted);
            if let (Pending::Step(step), Some(trap)) = (&item, &trap)
                && step.attempted
                && (comes_before(trap) || step.word == NOP)
            {
                // A no-op takes no exception: it is a placeholder.
                let what =
                    if step.word == NOP { "placeholder instructions" } else { "interrupted instructions" };
                self.losses.add(Fate::Dropped, what, 1);
                continue;
            }
            self.state.next_is_guessed = gap;
            match follows {
                Some(from) if matches!(item, Pending::Step(_)) => self.emit(item, from)?,
                _ => self.emit(item, next)?,
            }
            if eret && follows.is_none() && !gap && self.level == Level::BasicPlus && next.is_some() {
                // Some formats have no exception return: derive it from the jump.
                self.losses.add(Fate::Derived, "exception returns", 1);
                self.emit(Pending::Trap(Trap { to: next, ..Trap::new(TrapKind::Return) }), next)?;
            }
        }
        Ok(())
    }
}

/// True for traps before an instruction: interrupts, Instruction Aborts, misaligned addresses. Formats whose traps
/// need an instruction put one before them that did not run, or a no-op.
fn comes_before(trap: &Trap) -> bool {
    let class = trap.class.map(u64::from).or(trap.cause);
    match trap.kind {
        TrapKind::Interrupt => true,
        TrapKind::Exception => matches!(class, Some(0x20..=0x22)),
        _ => false,
    }
}

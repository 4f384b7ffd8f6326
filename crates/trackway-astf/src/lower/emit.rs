//! Items to records, through the producer, with an entry in the ledger for each.

use trackway_core::*;
use trackway_isa::arm::{Class, StateWrite, state_write};

use super::context::{apply, arm_level, context_record};
use super::pending::{Pending, PendingStep};
use super::{Lower, refused};
use crate::config::ID;
use crate::gap;
use crate::producer::Completion;
use crate::record::{self, Level};

impl Lower {
    pub(super) fn emit(&mut self, item: Pending, next: Option<u64>) -> Result<()> {
        match item {
            Pending::Step(waiting) => self.write_step(*waiting, next),
            Pending::Trap(trap) => self.write_trap(&trap, next),
            Pending::Context(context) => self.write_context(&context),
            Pending::Time(value) => self.write_time(value),
            Pending::Suspended => {
                self.state.suspended = true;
                Ok(())
            }
            Pending::Note(text) => {
                self.losses.add(Fate::Kept, "notes", 1);
                for part in string_parts(&text) {
                    self.producer()?.string(part)?;
                }
                Ok(())
            }
            Pending::Gap(gap) => self.write_gap(&gap, None),
        }
    }

    /// Writes a gap, unless the reader finds it by itself: where the flow breaks without a reason.
    pub(super) fn write_gap(&mut self, gap: &Gap, next: Option<u64>) -> Result<()> {
        let reason = match self.level {
            Level::Basic => GapReason::Filtered,
            Level::BasicPlus => GapReason::Unexplained,
        };
        let break_here = self.state.expected.filter(|expected| next.is_some_and(|next| next != *expected));
        let found = Gap { from: self.state.last_pc, to: next, ..Gap::new(reason) };
        self.losses.add(Fate::Kept, "gaps", 1);
        self.producer()?.discontinuity();
        if break_here.is_none() || found != *gap {
            self.producer()?.string(gap::text(gap).as_bytes())?;
            self.state.expected = None;
        }
        Ok(())
    }

    pub(super) fn write_step(&mut self, step: PendingStep, next: Option<u64>) -> Result<()> {
        let Some(completion) = self.completion(&step, next) else {
            self.losses.add(Fate::Dropped, "branches to an unknown target", 1);
            return Ok(());
        };
        if self.state.count == 0 {
            self.first_instruction()?;
        }
        let accesses = step.accesses.len() as u64;
        self.producer()?.indexed(step.pc, step.word, completion, &step.accesses, step.index)?;
        self.state.count += 1;
        self.state.last_pc = Some(step.pc);
        self.state.expected = match completion {
            Completion::Taken(target) => Some(target),
            Completion::Trapped if self.level == Level::BasicPlus => None,
            // A system call is completed by the kernel, anything else is tried again.
            Completion::Trapped if !step.class.always_traps() => Some(step.pc),
            _ if step.class == Class::ExceptionReturn => None,
            _ => Some(step.pc.wrapping_add(4)),
        };
        self.losses.add(Fate::Kept, "instructions", 1);
        self.losses.add(Fate::Kept, "memory accesses", accesses);
        match state_write(step.word).filter(|_| !step.attempted && self.meta.format != ID) {
            Some(written) => self.follow_write(written),
            None => Ok(()),
        }
    }

    /// Records state whose new value is in the encoding: the source may not record it.
    fn follow_write(&mut self, written: StateWrite) -> Result<()> {
        let context = &mut self.state.context;
        let (field, set) = match written {
            StateWrite::Streaming(set) => (&mut context.streaming, set),
            StateWrite::Dit(set) => (&mut context.dit, set),
            StateWrite::Ssbs(set) => (&mut context.ssbs, set),
            StateWrite::StackPointer(set) => (&mut context.own_stack, set),
            StateWrite::Register => return Ok(()),
        };
        if field.replace(set) != Some(set) {
            self.losses.add(Fate::Derived, "PSTATE changes", 1);
        }
        let record = self.context_record();
        Ok(self.producer()?.context(record)?)
    }

    /// How an instruction ended; `None` where a branch target is required and unknown.
    fn completion(&mut self, step: &PendingStep, next: Option<u64>) -> Option<Completion> {
        let Class::Branch { conditional, target: direct } = step.class else {
            return Some(if step.attempted { Completion::Trapped } else { Completion::Next });
        };
        if step.attempted {
            return Some(Completion::Trapped);
        }
        let following = step.pc.wrapping_add(4);
        let taken = step.taken.unwrap_or_else(|| {
            let known = !conditional || next.is_some();
            self.losses.add(if known { Fate::Derived } else { Fate::Invented }, "branch outcomes", 1);
            !conditional || (next.is_some() && next != Some(following) && next == direct)
        });
        if !taken {
            return Some(Completion::NotTaken);
        }
        if step.target.is_none() {
            let guessed = direct.is_none() && self.state.next_is_guessed;
            self.losses.add(if guessed { Fate::Invented } else { Fate::Derived }, "branch targets", 1);
        }
        step.target.or(direct).or(next).map(Completion::Taken)
    }

    /// Writes what must precede the first instruction and was not in the events.
    fn first_instruction(&mut self) -> Result<()> {
        if self.meta.timestamps && self.state.time.is_none() {
            self.first_time()?;
        }
        if self.state.context.privilege.is_none() {
            self.losses.add(Fate::Invented, "exception level (EL0)", 1);
            self.state.context.privilege = Some(Privilege::El0);
            self.state.only_level = Some(Privilege::El0);
        }
        if self.state.context.security.is_none() {
            self.losses.add(Fate::Invented, "security state (non-secure)", 1);
        }
        let context = self.context_record();
        Ok(self.producer()?.context(context)?)
    }

    fn write_context(&mut self, change: &Context) -> Result<()> {
        let lost = [
            (change.context_id.is_some(), "context ids"),
            (change.vmid.is_some(), "virtual machine ids"),
            (change.asid.is_some(), "address space ids"),
            (change.hw_thread.is_some(), "hardware threads"),
            (change.change.is_some(), "kinds of context change"),
        ];
        for (there, what) in lost {
            self.losses.add(Fate::Dropped, what, there.into());
        }
        if matches!(change.security, Some(Security::Realm | Security::Root)) {
            if !self.config.allow_nonconforming {
                return Err(refused("Realm and Root states", "ASTF 2.2; --allow-nonconforming writes them"));
            }
            self.losses.add(Fate::Invented, "security states (secure)", 1);
        }
        self.state.foreign_isa = match change.isa {
            None => self.state.foreign_isa,
            Some(isa) => isa != Isa::A64,
        };
        let change = &Context { privilege: change.privilege.map(arm_level), ..*change };
        apply(&mut self.state.context, change, self.meta.format == ID);
        if change.privilege.is_some() && self.state.context.own_stack.is_none() {
            self.losses.add(Fate::Invented, "stack pointer selections (SP_ELx)", 1);
        }
        let other = self.state.only_level.filter(|_| self.level == Level::Basic);
        let privilege = self.state.context.privilege;
        if other.is_some_and(|only| privilege.is_some_and(|privilege| privilege != only)) {
            self.losses.add(Fate::Dropped, "contexts of other exception levels", 1);
            return Ok(());
        }
        let mut record = self.context_record();
        if self.level == Level::Basic && record.unsupported {
            self.losses.add(Fate::Dropped, "unsupported modes", 1);
            return Ok(());
        }
        self.losses.add(Fate::Kept, "contexts", 1);
        if privilege.is_none() {
            return Ok(());
        }
        record.unsupported |= self.state.foreign_isa && self.level == Level::BasicPlus;
        if record.unsupported {
            self.state.expected = None;
        }
        if self.meta.timestamps && self.state.time.is_none() && record.unsupported {
            self.first_time()?;
        }
        Ok(self.producer()?.context(record)?)
    }

    fn context_record(&self) -> record::Context {
        context_record(&self.state.context)
    }

    /// A trace with timestamps begins with one.
    fn first_time(&mut self) -> Result<()> {
        self.losses.add(Fate::Invented, "first timestamp (0)", 1);
        self.state.time = Some(0);
        Ok(self.producer()?.timestamp(0)?)
    }

    fn write_time(&mut self, value: u64) -> Result<()> {
        let suspended = std::mem::take(&mut self.state.suspended);
        let last = self.state.time;
        if value == u64::MAX || last.is_some_and(|last| last >= value) {
            let what = if last == Some(value) { "repeated timestamps" } else { "timestamps that go back" };
            self.losses.add(Fate::Dropped, what, 1);
            return Ok(());
        }
        if self.meta.format != ID && last.is_none() {
            self.losses.add(Fate::Invented, "unit of timestamps (microseconds)", 1);
        }
        self.state.times += 1;
        self.state.time = Some(value);
        let producer = self.producer()?;
        match last.filter(|_| suspended) {
            Some(from) => producer.suspend(from, value)?,
            None => producer.timestamp(value)?,
        }
        Ok(())
    }
}

/// Cuts text into Strings, not inside a character; empty text is one String.
pub(super) fn string_parts(mut bytes: &[u8]) -> Vec<&[u8]> {
    const MOST: usize = u16::MAX as usize;
    let mut parts = Vec::new();
    while bytes.len() > MOST {
        let cut = match std::str::from_utf8(&bytes[..MOST]) {
            // Up to three bytes of an incomplete character.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => MOST,
        };
        let (part, rest) = bytes.split_at(cut);
        parts.push(part);
        bytes = rest;
    }
    parts.push(bytes);
    parts
}

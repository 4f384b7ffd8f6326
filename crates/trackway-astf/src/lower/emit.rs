//! Items to records, through the producer.

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
            Pending::Context(context) => {
                self.tally.change(context);
                self.write_context(&context)
            }
            Pending::Time(value) => self.write_time(value),
            Pending::Suspended => {
                self.state.suspended = true;
                Ok(())
            }
            Pending::Note(text) => {
                self.come_back()?;
                for part in string_parts(&text) {
                    self.producer()?.string(part)?;
                }
                Ok(())
            }
            Pending::Gap(gap) => self.write_gap(&gap, None),
        }
    }

    /// Writes a gap, unless the reader finds it anyway: where the flow breaks without a reason.
    pub(super) fn write_gap(&mut self, gap: &Gap, next: Option<u64>) -> Result<()> {
        self.come_back()?;
        let reason = match self.level {
            Level::Basic => GapReason::Filtered,
            Level::BasicPlus => GapReason::Unexplained,
        };
        let break_here = self.state.expected.filter(|expected| next.is_some_and(|next| next != *expected));
        let found = Gap { from: self.state.last_pc, to: next, ..Gap::new(reason) };
        self.producer()?.discontinuity();
        (self.state.hole, self.state.returns_to) = (false, None);
        if break_here.is_none() || found != *gap {
            self.producer()?.string(gap::text(gap).as_bytes())?;
            self.state.expected = None;
        }
        // Instructions that were left out: only an unsupported mode explains the break in BasicPlus.
        let leaves = self.level == Level::BasicPlus && gap.reason == GapReason::Filtered;
        if leaves && self.state.count > 0 && !self.context_record().unsupported {
            self.state.away = true;
            let record = record::Context { unsupported: true, ..self.context_record() };
            self.producer()?.context(record)?;
        }
        Ok(())
    }

    /// Ends the unsupported mode of a gap.
    pub(super) fn come_back(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.state.away) {
            return Ok(());
        }
        let record = self.context_record();
        Ok(self.producer()?.context(record)?)
    }

    pub(super) fn write_step(&mut self, step: PendingStep, next: Option<u64>) -> Result<()> {
        let Some(completion) = completion(&step, next) else {
            self.state.hole = true;
            return Ok(());
        };
        if std::mem::take(&mut self.state.hole) && self.state.last_pc.is_some() {
            let gap = Gap { from: self.state.last_pc, to: Some(step.pc), ..Gap::new(GapReason::Filtered) };
            self.write_gap(&gap, Some(step.pc))?;
        }
        let shown = self.state.returns_to.take() == Some(step.pc);
        self.tally.shown_targets += u64::from(shown);
        self.state.returns_to = step.target.filter(|_| step.class == Class::ExceptionReturn);
        if self.state.count == 0 {
            self.first_instruction()?;
        }
        self.come_back()?;
        self.producer()?.indexed(step.pc, step.word, completion, &step.accesses, step.index)?;
        self.state.count += 1;
        self.tally.instruction();
        self.state.last_pc = Some(step.pc);
        self.state.expected = match completion {
            Completion::Taken(target) => Some(target),
            Completion::Trapped if self.level == Level::BasicPlus => None,
            // A system call is completed by the kernel, anything else is tried again.
            Completion::Trapped if !step.class.always_traps() => Some(step.pc),
            _ if step.class == Class::ExceptionReturn => None,
            _ => Some(step.pc.wrapping_add(4)),
        };
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
        *field = Some(set);
        let record = self.context_record();
        Ok(self.producer()?.context(record)?)
    }

    /// Writes what must precede the first instruction and was not in the events.
    fn first_instruction(&mut self) -> Result<()> {
        if self.meta.timestamps && self.state.time.is_none() {
            self.first_time()?;
        }
        if self.state.context.privilege.is_none() {
            self.state.context.privilege = Some(Privilege::El0);
            self.state.only_level = Some(Privilege::El0);
        }
        let context = self.context_record();
        Ok(self.producer()?.context(context)?)
    }

    pub(super) fn write_context(&mut self, change: &Context) -> Result<()> {
        let held = !matches!(change.security, Some(Security::Realm | Security::Root));
        if !held && !self.config.allow_nonconforming {
            return Err(refused("ASTF has no Realm and Root states; --allow-nonconforming writes them"));
        }
        self.state.foreign_isa = match change.isa {
            None => self.state.foreign_isa,
            Some(isa) => isa != Isa::A64,
        };
        if self.state.foreign_isa || change.unsupported == Some(true) {
            // It is not the one of the gap.
            self.come_back()?;
        }
        let change = &Context { privilege: change.privilege.map(arm_level), ..*change };
        apply(&mut self.state.context, change, self.meta.format == ID);
        let other = self.state.only_level.filter(|_| self.level == Level::Basic);
        let privilege = self.state.context.privilege;
        if other.is_some_and(|only| privilege.is_some_and(|privilege| privilege != only)) {
            return Ok(());
        }
        let mut record = self.context_record();
        if privilege.is_none() || (self.level == Level::Basic && record.unsupported) {
            return Ok(());
        }
        record.unsupported |= self.state.foreign_isa && self.level == Level::BasicPlus;
        if record.unsupported {
            self.state.expected = None;
        }
        // It is written after the gap.
        if self.state.away {
            return Ok(());
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
        self.state.time = Some(0);
        Ok(self.producer()?.timestamp(0)?)
    }

    fn write_time(&mut self, value: u64) -> Result<()> {
        let suspended = std::mem::take(&mut self.state.suspended);
        let last = self.state.time;
        // Timestamps increase.
        if value == u64::MAX || last.is_some_and(|last| last >= value) {
            return Ok(());
        }
        self.state.time = Some(value);
        let producer = self.producer()?;
        match last.filter(|_| suspended) {
            Some(from) => producer.suspend(from, value)?,
            None => producer.timestamp(value)?,
        }
        Ok(())
    }
}

/// How an instruction ended; `None` where a branch target is required and unknown.
fn completion(step: &PendingStep, next: Option<u64>) -> Option<Completion> {
    let Class::Branch { conditional, target: direct } = step.class else {
        return Some(if step.attempted { Completion::Trapped } else { Completion::Next });
    };
    if step.attempted {
        return Some(Completion::Trapped);
    }
    let falls = next.is_none_or(|next| next == step.pc.wrapping_add(4) || Some(next) != direct);
    if !step.taken.unwrap_or(!conditional || !falls) {
        return Some(Completion::NotTaken);
    }
    step.target.or(direct).or(next).map(Completion::Taken)
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

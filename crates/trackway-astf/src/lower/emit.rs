//! Items to records, through the producer, with an entry in the ledger for each.

use trackway_core::*;
use trackway_isa::arm::{Class, StateWrite, state_write};

use super::context::{apply, arm_level, context_record};
use super::pending::{Pending, PendingStep};
use super::{Lower, refused};
use crate::config::ID;
use crate::producer::{Completion, Producer};
use crate::record::{self, Level, Trap as TrapRecord, TrapType, syscall_codes};

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
            Pending::Gap => {
                self.losses.add(Fate::Kept, "gaps", 1);
                self.producer()?.discontinuity();
                Ok(())
            }
        }
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

    fn write_trap(&mut self, trap: &Trap, next: Option<u64>) -> Result<()> {
        if self.level == Level::Basic {
            // The instruction has its flag; a Context marks the discontinuity.
            let call = trap.syscall == Some(Syscall::Svc);
            let fate = if call { Fate::Derived } else { Fate::Dropped };
            self.losses.add(fate, if call { "system call traps" } else { "traps" }, 1);
            self.producer()?.discontinuity();
            return Ok(());
        }
        if self.state.foreign_isa && trap.to.is_none() {
            self.losses.add(Fate::Dropped, "traps", 1);
            return Ok(());
        }
        let target = trap.to.or(next);
        if target.is_none() {
            self.losses.add(Fate::Invented, "trap targets (0)", 1);
        } else if trap.to.is_none() {
            self.losses.add(Fate::Derived, "trap targets", 1);
        }
        let record = TrapRecord { target_pc: target.unwrap_or(0), ..self.trap_record(trap) };
        self.losses.add(Fate::Dropped, "trap values", trap.value.is_some().into());
        self.losses.add(Fate::Kept, "traps", 1);
        Ok(self.producer()?.trap(record)?)
    }

    fn trap_record(&mut self, trap: &Trap) -> TrapRecord {
        let mut record = TrapRecord { is_virtual: trap.is_virtual, ..TrapRecord::default() };
        let kind = match trap.kind {
            TrapKind::Exception | TrapKind::Unknown => TrapType::SYNCHRONOUS,
            TrapKind::Return => TrapType::RETURN,
            TrapKind::Reset => TrapType::RESET,
            TrapKind::Interrupt => match (trap.cause, trap.class) {
                (Some(1), _) | (_, Some(0x2f)) => TrapType::SERROR,
                (Some(2), _) => TrapType::IRQ,
                (Some(3), _) => TrapType::FIQ,
                _ => {
                    self.losses.add(Fate::Invented, "interrupt types (IRQ)", 1);
                    TrapType::IRQ
                }
            },
        };
        record.trap_type = kind.0;
        record.is_virtual &= matches!(kind, TrapType::SERROR | TrapType::IRQ | TrapType::FIQ);
        if kind == TrapType::SERROR {
            record.ec = 0x2f;
        }
        if kind == TrapType::SYNCHRONOUS {
            let called = trap.syscall.map(syscall_codes);
            if let Some((code, class)) = called {
                record.syscall_type = code;
                record.ec = class;
                record.syscall_index = trap.syscall_index.unwrap_or(0) as u16;
            }
            // Formats with one number for all causes keep the class in it.
            let class = trap.class.map(u64::from).or(trap.cause).filter(|class| *class < 64);
            match class {
                Some(class) => record.ec = class as u8,
                None if called.is_none() => self.losses.add(Fate::Invented, "exception classes (0)", 1),
                None => {}
            }
            self.derive_syscall(&mut record);
        }
        record
    }

    /// Takes the system call from the instruction where the source has only its exception class.
    fn derive_syscall(&mut self, record: &mut TrapRecord) {
        if record.syscall_type == 0
            && let Some(Class::Syscall(syscall, immediate)) =
                self.producer.as_ref().and_then(Producer::last_class)
            && syscall_codes(syscall).1 == record.ec
        {
            record.syscall_type = syscall_codes(syscall).0;
            record.syscall_index = immediate;
            self.losses.add(Fate::Derived, "system call numbers", 1);
        }
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

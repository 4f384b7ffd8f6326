//! From one instruction to the next: contexts, unsupported modes, and the address that follows.

use trackway_core::Syscall;
use trackway_isa::arm::{Class, StateWrite};

use super::checker::{Checker, SinceInstruction};
use super::group::Group;
use crate::record::*;
use crate::rules::*;

impl Checker {
    pub(super) fn take_context(&mut self, context: &Context) {
        self.first_needs_time("Context");
        let Context { el, pid_valid, tid_valid, pid, tid, .. } = *context;
        if context.handler && el == 0 {
            self.report(&STACK_AT_EL0, || "handler is set at EL0".to_string());
        }
        if tid_valid && !pid_valid {
            self.report(&TID_NEEDS_PID, || "tid_valid without pid_valid".to_string());
        }
        if (!pid_valid && pid != 0) || (!tid_valid && tid != 0) {
            self.report(&ID_NOT_VALID, || format!("pid {pid} or tid {tid} is there and not valid"));
        }
        if context.unsupported && self.level == Level::Basic {
            self.report(&UNSUPPORTED_BASIC, || "unsupported is set in a Basic trace".to_string());
        }
        if let Some(before) = self.context {
            self.context_change(&before, context);
        }
        if let Some(group) = self.group
            && self.level == Level::BasicPlus
            && !self.since.answered
            && !self.since.gap
        {
            self.unanswered(&group, "a Context follows");
            self.since.answered = true;
        }
        if context.unsupported {
            if self.unsupported.is_none() {
                self.unsupported = Some((0, false));
            }
            // The exit from the mode does not depend on its entry.
            self.since = SinceInstruction { broken: true, answered: true, ..SinceInstruction::default() };
        } else if self.unsupported.take().is_some() {
            self.since.times = 0;
        }
        self.since.context = Some((self.offset, self.number));
        self.context = Some(*context);
    }

    pub(super) fn context_change(&mut self, before: &Context, context: &Context) {
        let (old, new) = (before.el, context.el);
        self.since.switched |= (before.pid, before.tid) != (context.pid, context.tid);
        match self.level {
            Level::Basic if old != new => {
                self.report(&SINGLE_EL, || format!("EL{new} after EL{old}"));
            }
            Level::BasicPlus => {
                let known = self.since.trap.is_some()
                    || self.since.gap
                    || self.instructions == 0
                    || self.unsupported.is_some();
                if old != new && !known {
                    self.report(&TRAP_BEFORE_CONTEXT, || format!("EL{old} to EL{new} without a Trap"));
                } else if let Some(group) =
                    self.group.filter(|_| !known && !self.since.broken && !context.unsupported)
                    && !may_follow(&group, before, context)
                {
                    let word = group.record.iword;
                    self.report(&CONTEXT_CAUSE, || {
                        format!("the Context changes what {word:#010x} cannot change")
                    });
                }
                let wrote = self.group.is_some_and(|group| group.tracked.is_some() && !group.record.trap);
                if wrote && self.since.trap.is_none() && self.since.context.is_none() && before == context {
                    self.report(&CONTEXT_UNCHANGED, || "the Context repeats the one before".to_string());
                }
            }
            Level::Basic => {}
        }
    }

    /// Checks that `pc` is where the flow continues after `group`.
    pub(super) fn flow(&mut self, group: &Group, pc: u64) {
        let since = self.since;
        if self.level == Level::BasicPlus && !since.gap {
            if !since.answered {
                self.unanswered(group, "an Instruction follows");
            }
            self.level_after_trap();
        }
        self.context_after_write(group, Some(pc));
        let expected = match since.trap {
            Some(trap) => Some(trap.target_pc),
            None if since.broken => None,
            None => group.next(self.level),
        };
        match self.level {
            Level::BasicPlus => {
                if let Some(expected) = expected.filter(|expected| *expected != pc) {
                    self.report(&CONTINUITY, || format!("pc {pc:#x}, expected {expected:#x}"));
                }
            }
            Level::Basic if since.context.is_some() => {}
            Level::Basic => {
                if matches!(group.class, Class::Syscall(Syscall::Svc, _)) {
                    self.report(&SVC_CONTEXT, || "an Instruction directly after SVC".to_string());
                } else if expected != Some(pc) {
                    self.report(&DISCONTINUITY, || format!("pc {pc:#x} without a Context before it"));
                }
            }
        }
    }

    /// Reports a write of a tracked field if no Context follows, or one with another value, up to the instruction at
    /// `pc`, or to the end.
    pub(super) fn context_after_write(&mut self, group: &Group, pc: Option<u64>) {
        let (Some(tracked), Some(context)) = (group.tracked, self.context) else { return };
        let SinceInstruction { trap, broken, gap, .. } = self.since;
        if trap.is_some() || group.record.trap || broken || gap {
            return;
        }
        let differs = match tracked {
            StateWrite::Streaming(set) => context.pstate_sm != set,
            StateWrite::Dit(set) => context.pstate_dit != set,
            StateWrite::Ssbs(set) => context.pstate_ssbs != set,
            StateWrite::StackPointer(set) => context.handler != set,
            StateWrite::Register => false,
        };
        // A Basic trace shows that nothing happened between two instructions only where they follow each other.
        let follows = self.level == Level::BasicPlus
            || (pc == Some(group.record.pc.wrapping_add(4)) && !self.since.switched);
        let word = group.record.iword;
        match self.since.context {
            _ if !differs => {}
            None if pc.is_none() => {}
            None => self.report(&CONTEXT_MISSING, || format!("no Context after {word:#010x}")),
            Some((offset, item)) if follows => {
                let message = || format!("the Context does not have the value that {word:#010x} sets");
                self.report_at(&CONTEXT_CONTRADICTS, offset, item, message);
            }
            Some(_) => {}
        }
    }

    pub(super) fn in_unsupported(&mut self, record: &Record) {
        let Some((times, left)) = &mut self.unsupported else { return };
        let legal = match record {
            Record::Timestamp(_) => {
                *times += 1;
                let n = *times;
                // The Timestamp of the entry may come after its Context.
                if n > 2 {
                    self.report(&UNSUPPORTED_TIMES, || format!("{n} Timestamps in an unsupported mode"));
                }
                true
            }
            Record::Trap(_) => !std::mem::replace(left, true),
            Record::Context(context) => !context.unsupported,
            _ => false,
        };
        if !legal {
            self.report(&UNSUPPORTED_RECORDS, || format!("{} in an unsupported mode", record.name()));
        }
    }
}

/// True if the instruction can lead from one Context to the other, at the same exception level and without a Trap.
fn may_follow(group: &Group, before: &Context, context: &Context) -> bool {
    let word = group.record.iword;
    let mut expected = *before;
    match group.tracked {
        // System registers, and barriers that make their values take effect; Traps that are missing.
        _ if group.record.trap || group.class == Class::ExceptionReturn => return true,
        Some(StateWrite::Register) => return true,
        None if word >> 24 == 0xd5 && word & 0xffff_f01f != 0xd503_201f => return true,
        None => {}
        Some(StateWrite::Streaming(_)) => {
            (expected.pstate_sm, expected.evl) = (context.pstate_sm, context.evl);
        }
        Some(StateWrite::Dit(_)) => expected.pstate_dit = context.pstate_dit,
        Some(StateWrite::Ssbs(_)) => expected.pstate_ssbs = context.pstate_ssbs,
        Some(StateWrite::StackPointer(_)) => expected.handler = context.handler,
    }
    // A kernel changes the process whenever it likes; the format asks for ids at EL0 only.
    if context.el > 0 {
        let Context { pid, tid, pid_valid, tid_valid, .. } = *context;
        expected = Context { pid, tid, pid_valid, tid_valid, ..expected };
    }
    expected == *context
}

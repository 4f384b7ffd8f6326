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
        self.since.context = true;
        self.context = Some(*context);
    }

    pub(super) fn context_change(&mut self, before: &Context, context: &Context) {
        let (old, new) = (before.el, context.el);
        match self.level {
            Level::Basic if old != new => {
                self.report(&SINGLE_EL, || format!("EL{new} after EL{old}"));
            }
            Level::BasicPlus => {
                let known = self.since.trap.is_some() || self.instructions == 0 || self.unsupported.is_some();
                if old != new && !known {
                    self.report(&TRAP_BEFORE_CONTEXT, || format!("EL{old} to EL{new} without a Trap"));
                }
                let wrote = self.group.is_some_and(|group| group.tracked.is_some() && !group.record.trap);
                if wrote && self.since.trap.is_none() && !self.since.context && before == context {
                    self.report(&CONTEXT_UNCHANGED, || "the Context repeats the one before".to_string());
                }
            }
            Level::Basic => {}
        }
    }

    /// Checks that `pc` is where the flow continues after `group`.
    pub(super) fn flow(&mut self, group: &Group, pc: u64) {
        let since = self.since;
        if self.level == Level::BasicPlus && !since.answered {
            self.unanswered(group, "an Instruction follows");
        }
        if self.level == Level::BasicPlus {
            self.level_after_trap();
        }
        self.context_after_write(group);
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
            Level::Basic if since.context => {}
            Level::Basic => {
                if matches!(group.class, Class::Syscall(Syscall::Svc, _)) {
                    self.report(&SVC_CONTEXT, || "an Instruction directly after SVC".to_string());
                } else if expected != Some(pc) {
                    self.report(&DISCONTINUITY, || format!("pc {pc:#x} without a Context before it"));
                }
            }
        }
    }

    /// Reports a write that changed a tracked field without a Context after it.
    pub(super) fn context_after_write(&mut self, group: &Group) {
        let (Some(tracked), Some(context)) = (group.tracked, self.context) else { return };
        if self.since.context || self.since.trap.is_some() || group.record.trap {
            return;
        }
        let changed = match tracked {
            StateWrite::Streaming(set) => context.pstate_sm != set,
            StateWrite::Dit(set) => context.pstate_dit != set,
            StateWrite::Ssbs(set) => context.pstate_ssbs != set,
            StateWrite::StackPointer(set) => context.handler != set,
            StateWrite::Register => false,
        };
        if changed {
            self.report(&CONTEXT_MISSING, || format!("no Context after {:#010x}", group.record.iword));
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

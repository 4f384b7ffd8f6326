//! Trap records against the instruction and the contexts around them.

use trackway_isa::arm::{Class, can_take, exception_class};

use super::checker::Checker;
use crate::record::{Level, Trap, TrapType, syscall_codes};
use crate::rules::*;

/// True for exception classes that only an attempted instruction causes: system calls, Data Aborts, traps of an
/// instruction. Others may come before there is one.
fn needs_instruction(class: u8) -> bool {
    matches!(class, 0x01 | 0x07 | 0x09 | 0x0a | 0x15..=0x1a | 0x1c | 0x1d | 0x24..=0x27 | 0x2c | 0x34 | 0x35 | 0x3c)
}

impl Checker {
    pub(super) fn trap(&mut self, trap: &Trap) {
        if self.level == Level::Basic {
            self.report(&BASIC_TRAP, || "a Trap in a Basic trace".to_string());
        }
        let el = TrapType(trap.trap_type).target_level(self.context.map(|context| context.el));
        self.address_at("target_pc", trap.target_pc, el);
        if trap.trap_type > 5 {
            self.report(&TRAP_TYPE_RESERVED, || format!("trap_type {}", trap.trap_type));
        }
        let trapped = self.group.filter(|group| group.record.trap && !self.since.answered);
        match trapped {
            Some(group) => {
                if trap.trap_type != TrapType::SYNCHRONOUS.0 {
                    let name = TrapType(trap.trap_type).name();
                    self.report(&TRAP_SYNCHRONOUS, || {
                        format!("{name} after an instruction with the trap flag")
                    });
                } else if self.level == Level::BasicPlus {
                    self.abort(&group, trap.ec);
                    let (word, class) = (group.record.iword, trap.ec);
                    // A system call that is named as such has a rule of its own.
                    if trap.syscall_type == 0 && !can_take(word, class) {
                        self.report(&INSTRUCTION_CLASS, || format!("{word:#010x} with class {class:#04x}"));
                    }
                }
                self.since.answered = true;
            }
            None => self.without_instruction(trap),
        }
        let syscall = trapped.and_then(|group| match group.class {
            Class::Syscall(syscall, immediate) => Some((syscall_codes(syscall), immediate)),
            _ => None,
        });
        self.syscall(trap, syscall);
        self.fields_of_type(trap);
        if self.since.trap.is_none() {
            self.since.level_before = self.context.map(|context| context.el);
        }
        self.since.trap = Some(*trap);
        self.since.traps += 1;
    }

    /// ASTF 4.7.1, 4.7.3 to 4.7.5.
    fn without_instruction(&mut self, trap: &Trap) {
        let eret = self.group.filter(|group| group.class == Class::ExceptionReturn);
        if eret.is_some()
            && !self.since.answered
            && !matches!(TrapType(trap.trap_type), TrapType::RETURN | TrapType::RESET)
        {
            self.report(&RETURN_MISSING, || "ERET without its Trap; another Trap follows".to_string());
            self.since.answered = true;
        }
        match TrapType(trap.trap_type) {
            TrapType::SYNCHRONOUS if needs_instruction(trap.ec) && self.unsupported.is_none() => {
                self.report(&NOT_ATTEMPTED, || format!("class {:#04x} without its instruction", trap.ec));
            }
            TrapType::RETURN => {
                if eret.is_none() || self.since.traps > 0 {
                    self.report(&RETURN_ORPHAN, || "an exception return without ERET".to_string());
                }
                self.since.answered = true;
            }
            // A reset may come at any point.
            TrapType::RESET => self.since.answered = true,
            _ => {}
        }
    }

    fn syscall(&mut self, trap: &Trap, call: Option<((u8, u8), u16)>) {
        let Trap { syscall_type, syscall_index, ec, .. } = *trap;
        // A system call that is undefined at its level, or trapped as something else, has another class.
        let call = call.filter(|((_, class), _)| *class == ec || syscall_type != 0);
        let ((code, class), index) = call.unwrap_or_default();
        if syscall_type != code {
            self.report(&SYSCALL_TYPE, || format!("syscall_type {syscall_type}, expected {code}"));
        }
        if syscall_index != index {
            self.report(&SYSCALL_INDEX, || format!("syscall_index {syscall_index}, expected {index}"));
        }
        if call.is_some() && ec != class {
            self.report(&SYSCALL_CLASS, || {
                format!("class {ec:#04x} of a system call, expected {class:#04x}")
            });
        }
    }

    fn fields_of_type(&mut self, trap: &Trap) {
        let Trap { ec, is_virtual, syscall_type, syscall_index, .. } = *trap;
        let others = ec != 0 || is_virtual || syscall_type != 0 || syscall_index != 0;
        match TrapType(trap.trap_type) {
            TrapType::SERROR if ec != 0x2f => {
                self.report(&SERROR_CLASS, || format!("class {ec:#04x} of an SError, expected 0x2f"));
            }
            TrapType::IRQ | TrapType::FIQ if ec != 0 => {
                self.report(&INTERRUPT_CLASS, || format!("class {ec:#04x} of an interrupt"));
            }
            TrapType::SYNCHRONOUS => {
                if is_virtual {
                    self.report(&VIRTUAL, || "is_virtual of a synchronous exception".to_string());
                }
                if exception_class(ec).is_none() {
                    self.report(&EXCEPTION_CLASS, || format!("class {ec:#04x} is not defined"));
                }
            }
            TrapType::RETURN if others => {
                self.report(&RETURN_FIELDS, || "an exception return with other fields".to_string());
            }
            TrapType::RESET if others => {
                self.report(&RESET_FIELDS, || "a reset with other fields".to_string());
            }
            _ => {}
        }
    }

    /// Checks that the first instruction after a single Trap is at a level that the Trap leads to.
    pub(super) fn level_after_trap(&mut self) {
        let (Some(trap), Some(old), Some(context)) = (self.since.trap, self.since.level_before, self.context)
        else {
            return;
        };
        if self.since.traps > 1 {
            return;
        }
        let (kind, new) = (TrapType(trap.trap_type), context.el);
        let legal = match (kind, trap.ec) {
            (TrapType::SYNCHRONOUS, 0x20 | 0x24 | 0x30 | 0x32 | 0x34) => new > old,
            (TrapType::SYNCHRONOUS, 0x21 | 0x25 | 0x31 | 0x33 | 0x35) => new == old,
            // HVC and SMC lead to EL2 or EL3.
            (TrapType::SYNCHRONOUS, 0x16 | 0x17) => new >= old.max(2),
            (TrapType::SYNCHRONOUS | TrapType::SERROR | TrapType::IRQ | TrapType::FIQ, _) => {
                new >= old && new > 0
            }
            (TrapType::RETURN, _) => new <= old,
            _ => true,
        };
        // Every exception, and a reset, selects the stack pointer of its level.
        let stack = context.handler || kind == TrapType::RETURN || trap.trap_type > 5;
        if !legal {
            let name = TrapType(trap.trap_type).name();
            self.report(&TRAP_LEVEL, || format!("EL{old} to EL{new} by {name}, class {:#04x}", trap.ec));
        } else if !stack && new > 0 {
            let name = kind.name();
            self.report(&TRAP_LEVEL, || format!("SP_EL0 at EL{new} directly after {name}"));
        }
    }
}

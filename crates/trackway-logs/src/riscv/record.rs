//! One instruction as a log of a RISC-V core shows it: the meeting point of commit logs, CSV rows and retirement ports.

use trackway_core::*;

/// One instruction, or a trap without one. It is filled again and again, so that a line costs no allocation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Retired {
    /// Byte offset of its first line or packet.
    pub(crate) offset: u64,
    /// Its address.
    pub(crate) pc: Option<u64>,
    /// Its encoding; meaningless where `length` is 0.
    pub(crate) encoding: u32,
    /// Length in bytes; 0 where the encoding is not known.
    pub(crate) length: u8,
    /// Privilege it executed at.
    pub(crate) privilege: Option<Privilege>,
    /// Address of the next instruction, where the record itself has it.
    pub(crate) next: Option<u64>,
    /// Its number, where the record has one.
    pub(crate) order: Option<u64>,
    /// The trap that it took instead of retiring.
    pub(crate) trap: Option<Taken>,
    /// No instruction: only the trap.
    pub(crate) is_trap_only: bool,
    /// The first instruction of a trap handler.
    pub(crate) begins_handler: bool,
    /// The core halted after it.
    pub(crate) halts: bool,
    /// Registers; values wider than 64 bits are spans of `bytes`.
    pub(crate) regs: Vec<RegAccess>,
    /// Memory accesses.
    pub(crate) mem: Vec<Access>,
    /// Wide values.
    pub(crate) bytes: Vec<u8>,
}

/// A trap, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Taken {
    /// Exception, interrupt or unknown.
    pub(crate) kind: TrapKind,
    /// Its number.
    pub(crate) cause: Option<u64>,
    /// Trap value.
    pub(crate) value: Option<u64>,
}

/// A memory access of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Access {
    pub(crate) kind: MemKind,
    pub(crate) address: u64,
    /// Bytes; 0 where the instruction has to say.
    pub(crate) size: u8,
    /// Data read, or written by a plain store.
    pub(crate) data: Option<u64>,
    /// Data written by a read-modify-write.
    pub(crate) stored: Option<u64>,
}

impl Retired {
    /// Forgets everything, keeps the memory.
    pub(crate) fn clear(&mut self, offset: u64) {
        let (mut regs, mut mem, mut bytes) =
            (std::mem::take(&mut self.regs), std::mem::take(&mut self.mem), std::mem::take(&mut self.bytes));
        regs.clear();
        mem.clear();
        bytes.clear();
        *self = Retired { offset, regs, mem, bytes, ..Retired::default() };
    }

    /// Adds a register with its value.
    pub(crate) fn register(&mut self, class: RegClass, number: u16, role: RegRole, value: Value) {
        let reg = Reg { class, number };
        self.regs.push(RegAccess { reg, role, update: RegUpdate::Set, value, known: None });
    }

    /// The value written to a register, where it has one of 64 bits at most.
    pub(crate) fn written(&self, class: RegClass, number: u16) -> Option<u64> {
        self.regs.iter().find_map(|access| match access.value {
            Value::Word(value)
                if access.role == RegRole::Destination && access.reg == (Reg { class, number }) =>
            {
                Some(value)
            }
            _ => None,
        })
    }
}

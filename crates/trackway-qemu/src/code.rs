//! The instructions of a process, with what lifting asks about them.

use trackway_core::{Isa, MemKind, Syscall};
use trackway_isa::{Class, Control, Flow, class, flow, memory, riscv};

/// An instruction that QEMU translated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    pub(crate) pc: u64,
    pub(crate) encoding: u32,
    pub(crate) length: u8,
    pub(crate) isa: Isa,
    pub(crate) control: Control,
    /// It may also lead to the next one in memory.
    pub(crate) conditional: bool,
    /// It always makes an access when it completes.
    pub(crate) accesses: bool,
    /// It only reads memory.
    pub(crate) loads: bool,
    /// It reads and writes at once.
    pub(crate) atomic: bool,
    /// It is one that no decoder knows.
    pub(crate) strange: bool,
    pub(crate) target: Option<u64>,
    pub(crate) usual: Usual,
}

/// The flow after an instruction when nothing special happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usual {
    /// The next one in memory follows.
    Next,
    /// It leads to its target, or to the next one in memory.
    Direct,
    /// It leads anywhere.
    Indirect,
    /// Each time must be looked at.
    Special,
}

impl Code {
    /// From its four words; `before` is the instruction set of the one that was translated before.
    pub(crate) fn read(words: [u32; 4], base: Isa, before: Isa) -> Self {
        let pc = u64::from(words[0]) | u64::from(words[1]) << 32;
        let (encoding, length) = (words[2], (words[3] & 0xff).min(8) as u8);
        let narrow = words[3] >> 8 & 1 == 1;
        let isa = match base {
            Isa::A32 => arm_state(pc, encoding, length, narrow, before),
            isa => isa,
        };
        let Flow { control, target, conditional, .. } = flow(isa, pc, encoding);
        // Within an IT block anything is conditional.
        let conditional = conditional || control == Control::Branch || isa == Isa::T32;
        let memory = memory(isa, encoding);
        let accesses = match isa {
            Isa::A32 | Isa::T32 => matches!(class(isa, encoding), Class::Load | Class::Store),
            _ => memory.is_some_and(|memory| !memory.optional && memory.bytes.is_some()),
        };
        let atomic = memory.is_some_and(|memory| memory.kind == MemKind::ReadWrite);
        let loads = memory.is_some_and(|memory| memory.kind == MemKind::Read);
        let strange = matches!(isa, Isa::Rv32 | Isa::Rv64) && riscv::decode(isa, encoding).is_none();
        let usual = match control {
            // With several threads its access is of another kind.
            _ if atomic => Usual::Special,
            Control::Sequential => Usual::Next,
            Control::TrapReturn => Usual::Special,
            control if control.is_direct() => Usual::Direct,
            control if control.is_indirect() => Usual::Indirect,
            _ => Usual::Special,
        };
        Code {
            pc,
            encoding,
            length,
            isa,
            control,
            conditional,
            accesses,
            loads,
            atomic,
            strange,
            target,
            usual,
        }
    }

    /// The address after it.
    pub(crate) fn end(&self) -> u64 {
        self.pc.wrapping_add(self.length.into())
    }

    /// The instruction of a system call.
    pub(crate) fn syscall(&self) -> Option<Syscall> {
        if self.control != Control::SystemCall {
            return None;
        }
        Some(match (self.isa, self.encoding >> 21, self.encoding & 3) {
            (Isa::Rv32 | Isa::Rv64, ..) => Syscall::Ecall,
            (Isa::A64, 0x6a0, 2) => Syscall::Hvc,
            (Isa::A64, 0x6a0, 3) => Syscall::Smc,
            _ => Syscall::Svc,
        })
    }
}

/// A32 or T32: the plugin API does not say. A translated block has one of them.
fn arm_state(pc: u64, encoding: u32, length: u8, narrow: bool, before: Isa) -> Isa {
    if narrow || length == 2 || pc & 2 == 2 {
        return Isa::T32;
    }
    // The first halfword of a wide T32 instruction; an A32 word seldom looks like one.
    let wide = encoding >> 11 & 31 >= 0x1d;
    if !wide { Isa::A32 } else { before }
}

//! Effects of an A64 instruction: control transfer from [`flow`], memory behaviour from [`memory`].

use trackway_core::Syscall;

use super::a64::flow;
use super::memory::{Memory, memory};
use crate::Control;

/// Effect of an instruction, as far as a trace of instructions and accesses shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Neither control flow nor memory.
    Plain,
    /// A branch.
    Branch {
        /// True if it may fall through.
        conditional: bool,
        /// Its target, if the encoding has it.
        target: Option<u64>,
    },
    /// ERET, ERETAA, ERETAB, DRPS.
    ExceptionReturn,
    /// SVC, HVC or SMC, with its immediate.
    Syscall(Syscall, u16),
    /// BRK: always an exception.
    Breakpoint,
    /// HLT: an exception, or entry to Debug state.
    Halt,
    /// UDF and the reserved encodings: always an exception.
    Undefined,
    /// WFE, WFI and their timed forms.
    Wait,
    /// Accesses memory.
    Memory(Memory),
}

impl Class {
    /// True for instructions that never retire: they always take an exception.
    pub const fn always_traps(self) -> bool {
        matches!(self, Class::Syscall(..) | Class::Breakpoint | Class::Undefined)
    }
}

/// Classifies the instruction `word` at `pc`.
pub fn classify(pc: u64, word: u32) -> Class {
    let flow = flow(pc, word);
    match flow.control {
        Control::TrapReturn => Class::ExceptionReturn,
        Control::SystemCall => {
            let syscall = match word & 3 {
                2 => Syscall::Hvc,
                3 => Syscall::Smc,
                _ => Syscall::Svc,
            };
            Class::Syscall(syscall, (word >> 5) as u16)
        }
        Control::Breakpoint if word & 0xffe0_001f == 0xd420_0000 => Class::Breakpoint,
        Control::Breakpoint => Class::Halt,
        Control::Undefined => Class::Undefined,
        Control::Wait => Class::Wait,
        control if control.is_transfer() => {
            Class::Branch { conditional: flow.conditional, target: flow.target }
        }
        _ => memory(word).map_or(Class::Plain, Class::Memory),
    }
}

/// True in the encoding space of SME.
pub fn is_sme(word: u32) -> bool {
    word >> 31 == 1 && word >> 25 & 0xf == 0
}

/// True if the instruction computes an index into ZA: slices of tiles, vectors and vector groups of the array, of SME
/// and SME2; not outer products, and not operations on whole tiles or on ZT0.
pub fn has_za_index(word: u32) -> bool {
    match word >> 24 {
        // Moves between slices, or the array, and vectors; ZERO of vector groups.
        0xc0 => word >> 19 & 7 == 0 || word & 0xfffc_0000 == 0xc00c_0000,
        // Arithmetic: without an element index (bit 21), bit 15 separates results in vectors from results in the
        // array.
        0xc1 => word >> 21 & 1 == 0 || word >> 15 & 1 == 0,
        // Loads and stores, except LDR and STR of ZT0.
        0xe0 | 0xe1 => word & 0xffdf_fc00 != 0xe11f_8000,
        _ => false,
    }
}

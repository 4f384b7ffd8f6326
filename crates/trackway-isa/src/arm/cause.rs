//! Which synchronous exceptions an A64 instruction can take, and which class an exception type of a trace unit has.

use trackway_core::{Privilege, Syscall};

use super::class::{Class, classify, is_sme};
use super::memory::{Memory, memory};
use crate::Control;

/// True if the instruction can take a synchronous exception of this class (ESR_ELx.EC). The answer is also true where
/// controls decide that are not in the encoding, and for reserved classes.
///
/// ```
/// use trackway_isa::arm::can_take;
/// let (nop, brk) = (0xd503_201f, 0xd420_0000);
/// assert!(can_take(brk, 0x3c) && !can_take(brk, 0x15));
/// assert!(can_take(nop, 0x0d), "a NOP is not a landing pad");
/// assert!(!can_take(nop, 0x20), "a fetch that fails has no instruction");
/// ```
pub fn can_take(word: u32, class: u8) -> bool {
    let kind = classify(0, word);
    let system = word >> 24 == 0xd5;
    match class {
        // Hints are never undefined.
        0x00 => !is_hint(word) && !matches!(kind, Class::Syscall(Syscall::Svc, _) | Class::Breakpoint),
        0x01 => kind == Class::Wait,
        // Of AArch32.
        0x03..=0x06 | 0x08 | 0x0c | 0x11..=0x13 | 0x28 | 0x38 | 0x3a => false,
        0x07 | 0x1d => uses_vectors(word) || system,
        0x09 | 0x1c => authenticates(word),
        0x0d => !matches!(kind, Class::Breakpoint | Class::Halt),
        0x15..=0x17 | 0x3c => own_class(kind) == Some(class),
        0x18 => system && !is_hint(word),
        0x19 => is_scalable(word) || system,
        0x1a => kind == Class::ExceptionReturn,
        0x1b => super::a64::flow(0, word).control == Control::TransactionStart,
        // The fetch failed; SError is not synchronous.
        0x20..=0x22 | 0x2f => false,
        0x24 | 0x25 | 0x34 | 0x35 => may_abort(word),
        0x26 => may_abort(word) && word >> 5 & 0x1f == 31,
        0x27 => matches!(kind, Class::Memory(Memory::Copy | Memory::Set { .. })),
        0x2c => uses_vectors(word) && !may_abort(word),
        _ => true,
    }
}

/// The class of an instruction that is there to take an exception: SVC, HVC, SMC, BRK.
const fn own_class(kind: Class) -> Option<u8> {
    match kind {
        Class::Syscall(syscall, _) => syscall_class(syscall),
        Class::Breakpoint => Some(0x3c),
        _ => None,
    }
}

const fn syscall_class(syscall: Syscall) -> Option<u8> {
    match syscall {
        Syscall::Svc => Some(0x15),
        Syscall::Hvc => Some(0x16),
        Syscall::Smc => Some(0x17),
        Syscall::Ecall => None,
    }
}

/// Meaning of an exception type of ETE and ETMv4 (A profile).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionType {
    /// The PE was reset.
    Reset,
    /// It entered Debug state: not an exception.
    DebugHalt,
    /// Physical or virtual SError.
    SError,
    /// IRQ.
    Irq,
    /// FIQ.
    Fiq,
    /// Synchronous, with its class if that follows from the type, the instruction and the levels.
    Synchronous(Option<u8>),
}

impl ExceptionType {
    /// The meaning of exception type `number`, with the instruction that took it and the exception levels before and
    /// after it, where known.
    pub fn of(number: u64, word: Option<u32>, (from, to): (Option<Privilege>, Option<Privilege>)) -> Self {
        // Classes for a lower level are even, the next one is for the same level.
        let by_level = |class: u8| Some(class + u8::from(to <= from));
        ExceptionType::Synchronous(match number {
            0 => return ExceptionType::Reset,
            1 => return ExceptionType::DebugHalt,
            4 => return ExceptionType::SError,
            14 => return ExceptionType::Irq,
            15 => return ExceptionType::Fiq,
            2 => match word {
                Some(word) => own_class(classify(0, word)),
                None => from.zip(to).and_then(|(from, to)| call_class(from, to)),
            },
            3 => word.and_then(trapped_class),
            6 => match word.map(|word| classify(0, word)) {
                Some(Class::Breakpoint) => Some(0x3c),
                _ => by_level(0x30),
            },
            7 => by_level(0x34),
            10 => Some(if word.is_some_and(|word| can_take(word, 0x26)) { 0x26 } else { 0x22 }),
            11 => by_level(0x20),
            12 => by_level(0x24),
            _ => None,
        })
    }
}

/// The class of a system call by the levels alone: at EL0 there is only SVC, and only SMC leads to EL3.
const fn call_class(from: Privilege, to: Privilege) -> Option<u8> {
    use Privilege::{El0, El1, El2, El3};
    match (from, to) {
        (El0, _) | (El1, El1) => Some(0x15),
        (El1, El2) => Some(0x16),
        (_, El3) => Some(0x17),
        _ => None,
    }
}

/// The class of a trapped instruction, where its encoding leaves one.
fn trapped_class(word: u32) -> Option<u8> {
    match classify(0, word) {
        Class::Undefined => Some(0x00),
        Class::Wait => Some(0x01),
        Class::ExceptionReturn => Some(0x1a),
        Class::Memory(Memory::Copy | Memory::Set { .. }) => Some(0x27),
        _ if is_sme(word) => Some(0x1d),
        _ if is_scalable(word) => Some(0x19),
        _ if uses_vectors(word) => Some(0x07),
        _ if word >> 24 == 0xd5 && !is_hint(word) => Some(0x18),
        _ => None,
    }
}

const fn is_hint(word: u32) -> bool {
    word & 0xffff_f01f == 0xd503_201f
}

const fn is_load_store(word: u32) -> bool {
    word >> 25 & 0b101 == 0b100
}

/// SVE and SME.
fn is_scalable(word: u32) -> bool {
    word >> 25 & 0xf == 0b0010 || is_sme(word)
}

/// Floating point, Advanced SIMD, SVE, SME: with registers that a level may not use.
fn uses_vectors(word: u32) -> bool {
    word >> 25 & 0b111 == 0b111 || (is_load_store(word) && word >> 26 & 1 == 1) || is_scalable(word)
}

/// Accesses to memory that may fault: prefetches and TLB maintenance do not.
fn may_abort(word: u32) -> bool {
    use Memory::{Prefetch, TlbMaintenance, TlbRange, VectorPrefetch};
    match memory(word) {
        Some(Prefetch | VectorPrefetch | TlbMaintenance | TlbRange) => false,
        Some(_) => true,
        // Loads and stores of later architectures.
        None => is_load_store(word),
    }
}

/// Instructions with pointer authentication.
const fn authenticates(word: u32) -> bool {
    // PACIASP and its kind; PACIA and its kind; PACGA; BRAA, RETAA, ERETAA; RETAASPPC; LDRAA.
    matches!(word & 0xffff_ff1f, 0xd503_211f | 0xd503_231f)
        || word & 0xffff_0000 == 0xdac1_0000
        || word & 0xffe0_fc00 == 0x9ac0_3000
        || (word >> 25 == 0x6b && word >> 11 & 1 == 1)
        || word >> 24 == 0x55
        || word & 0xff20_0400 == 0xf820_0400
}

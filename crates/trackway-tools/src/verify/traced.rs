//! The trace's record of one instruction or trap, and of what happened outside instructions.

use trackway_core::{MemKind, Privilege, Reg, RegUpdate, Trap};

/// An instruction that was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracedInstruction {
    /// Virtual address, where recorded.
    pub(super) pc: Option<u64>,
    /// The encoding, zero-extended.
    pub(super) encoding: u32,
    /// Length in bytes.
    pub(super) length: u8,
}

/// One memory access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TracedAccess {
    /// Read, write, both, or an access that did not happen.
    pub(super) kind: MemKind,
    /// Virtual address.
    pub(super) address: u64,
    /// Bytes; 0 where unknown.
    pub(super) size: u64,
    /// Value read, or written by a plain store.
    pub(super) data: Option<u64>,
    /// Value that an atomic stored.
    pub(super) stored: Option<u64>,
    /// Physical address, where recorded.
    pub(super) physical: Option<u64>,
    /// Size or data were inferred from other items.
    pub(super) inferred: bool,
}

/// One register that the trace says was read or written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TracedRegister {
    /// The register.
    pub(super) reg: Reg,
    /// How `value` changes it.
    pub(super) update: RegUpdate,
    /// Value, or the operand of the update.
    pub(super) value: u64,
    /// Mask of the bits that the trace records.
    pub(super) known: u64,
}

/// One instruction or trap.
#[derive(Clone, Debug, Default)]
pub(super) struct TracedStep {
    /// Byte offset of its first event.
    pub(super) offset: u64,
    /// Number of its group, counting those that have events.
    pub(super) group: u64,
    /// Number of the instruction, where it has one.
    pub(super) number: u64,
    /// The instruction; `None` for an interrupt or a fetch that faulted.
    pub(super) instruction: Option<TracedInstruction>,
    /// Address of the step, also if there is no instruction.
    pub(super) pc: Option<u64>,
    /// It did not complete.
    pub(super) attempted: bool,
    /// Physical address of the instruction.
    pub(super) physical_pc: Option<u64>,
    /// The trap it took.
    pub(super) trap: Option<Trap>,
    /// Registers written.
    pub(super) writes: Vec<TracedRegister>,
    /// Registers read, with the values that they had.
    pub(super) reads: Vec<TracedRegister>,
    /// Memory accesses, in order.
    pub(super) accesses: Vec<TracedAccess>,
    /// Privilege after it.
    pub(super) privilege: Option<Privilege>,
    /// Address of the next instruction, where known.
    pub(super) next_pc: Option<u64>,
    /// A trap of its own follows: nothing shows the privilege before that.
    pub(super) is_interrupted: bool,
}

/// State set from outside.
#[derive(Clone, Debug, Default)]
pub(super) struct OutsideState {
    /// Byte offset of the event.
    pub(super) offset: u64,
    /// Registers, the pc among them.
    pub(super) writes: Vec<TracedRegister>,
    /// Memory contents: physical address, bytes, value.
    pub(super) memory: Vec<(u64, u64, u64)>,
    /// Privilege level, where set.
    pub(super) privilege: Option<Privilege>,
}

/// Something that happened outside instructions.
#[derive(Clone, Debug)]
pub(super) enum Outside {
    /// A debugger or loader set state.
    State(OutsideState),
    /// A bus read showed what memory holds: address, bytes, value.
    Learn(u64, u64, u64),
    /// The core was reset.
    Reset,
    /// Real time (`mtime`).
    Time(u64),
    /// Part of the trace is missing, so nothing is known any more: its offset, and the bytes that were skipped.
    Gap(u64, u64),
    /// Another hart continues; the offset.
    OtherHart(u64),
}

/// The meaning of one or more events. Borrowed: the same buffers serve every instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Observation<'a> {
    /// An instruction or trap.
    Step(&'a TracedStep),
    /// Something outside instructions.
    Outside(&'a Outside),
}

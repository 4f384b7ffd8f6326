//! Rows of the pipeline: an instruction as the encoder sees it, and what it keeps of the previous one.

use trackway_core::Trap;

use super::progress::{Hit, Progress, Single};
use crate::port::{Block, Cycle, Itype};

/// A trap at the port.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PortTrap {
    pub(crate) interrupt: bool,
    pub(crate) cause: u64,
    pub(crate) tval: u64,
    /// Address of the instruction that trapped, if known.
    pub(crate) epc: Option<u64>,
    /// That instruction was attempted, and whether the events mark it so.
    pub(crate) attempted: Option<bool>,
    /// That instruction is the target of the jump before it, and the jump's target is in the events.
    pub(crate) at_target: bool,
    /// The trap in the events.
    pub(crate) recorded: Option<Trap>,
}

/// The kind of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RowKind {
    /// No row.
    #[default]
    Empty,
    /// An instruction retires.
    Retire,
    /// A trap without retirement.
    Trap,
    /// Tracing is off from here.
    Off,
}

/// Changes at the port since the previous instruction, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes(pub(super) u8);

impl Changes {
    pub(super) const NONE: Changes = Changes(0);
    /// The privilege changed.
    pub(super) const PRIVILEGE: Changes = Changes(1);
    /// The context changed, and is to be reported precisely.
    pub(super) const CONTEXT: Changes = Changes(2);
    /// The flow breaks before this instruction without an explanation.
    pub(super) const DISCONTINUOUS: Changes = Changes(4);
    /// The context changed, and may be reported later.
    pub(super) const IMPRECISE: Changes = Changes(8);
    /// Changes that a format 3 packet reports.
    pub(super) const REPORTED: Changes = Changes(3);

    /// Is any of `others` in the set?
    #[inline(always)]
    pub(super) fn any(self, others: Changes) -> bool {
        self.0 & others.0 != 0
    }
}

/// A row of the pipeline: an instruction, and plain ones before it that need no packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) kind: RowKind,
    pub(super) itype: Itype,
    pub(super) sijump: bool,
    pub(super) notify: bool,
    /// A decoder attaches data packets sent so far to instructions up to this one only.
    pub(super) cut: bool,
    /// A trap that is not traced itself, before its handler.
    pub(super) untraced: bool,
    /// Changes at the first instruction.
    pub(super) changes: Changes,
    /// Length of the last instruction in bytes.
    pub(super) size: u8,
    pub(super) privilege: u32,
    /// Half-words that retire.
    pub(super) halfwords: u32,
    /// Address of the first instruction.
    pub(super) from: u64,
    /// Address of the last instruction.
    pub(super) address: u64,
    pub(super) context: u64,
    pub(super) time: u64,
    pub(super) cycle: u64,
    /// Number of data accesses up to here, since the start.
    pub(super) data_end: u64,
    /// Instructions up to here, since the start.
    pub(super) end: Progress,
    /// The last instruction alone.
    pub(super) last: Single,
}

impl Row {
    /// Joins one more block to plain ones.
    #[inline(always)]
    pub(super) fn join(&mut self, block: &Block, cycle: &Cycle<'_>) {
        self.address = block.last();
        self.size = 2 << block.ilastsize;
        self.halfwords += block.iretire;
        self.itype = block.itype;
        self.sijump = block.sijump;
        self.time = cycle.time;
        self.cycle = cycle.cycle;
    }

    /// Is it without effect on any decision, so that the next block can be joined to it?
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.itype.0 == 0 && !self.notify && self.changes == Changes::NONE
    }

    /// The address after it.
    #[inline(always)]
    pub(super) fn next(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.size))
    }
}

/// The next row, as far as a pass needs it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    kind: RowKind,
    is_known: bool,
    pub(super) changes: Changes,
    from: u64,
}

impl Ahead {
    /// Tracing is off after this row.
    pub(super) const OFF: Ahead =
        Ahead { kind: RowKind::Off, is_known: false, changes: Changes::NONE, from: 0 };

    /// Instructions retire, the first at `from`.
    #[inline(always)]
    pub(super) fn retire(from: u64, changes: Changes) -> Self {
        Ahead { kind: RowKind::Retire, is_known: true, changes, from }
    }

    /// A trap hits.
    pub(super) fn trap(epc: Option<u64>) -> Self {
        let (is_known, from) = (epc.is_some(), epc.unwrap_or(0));
        Ahead { kind: RowKind::Trap, is_known, changes: Changes::NONE, from }
    }

    #[inline(always)]
    pub(super) fn is(self, kind: RowKind) -> bool {
        self.kind == kind
    }

    /// Address of the first instruction that retires, or of the one that traps, if known.
    #[inline(always)]
    pub(super) fn from(self) -> Option<u64> {
        if self.is_known { Some(self.from) } else { None }
    }

    /// Address of the first instruction that retires; 0 if none does.
    #[inline(always)]
    pub(super) fn start(self) -> u64 {
        if self.is(RowKind::Retire) { self.from } else { 0 }
    }
}

/// How control leaves an instruction, as the decoder will see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Departure {
    #[default]
    Plain,
    Branch,
    /// To an address that the encoding determines.
    Inferred,
    /// To an address that the previous instruction determines (sequentially inferable).
    InferredPair,
    /// To the address on the return stack.
    InferredReturn,
    Updiscon,
    /// A return to another address than the return stack has.
    Mispredicted,
}

/// State of the previous instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Previous {
    pub(super) departure: Departure,
    /// The trap before this instruction.
    pub(super) trap: Option<PortTrap>,
    /// The trap has been reported.
    pub(super) trap_reported: bool,
    /// Another trap came directly before it.
    pub(super) trap_chained: bool,
    /// Where a decoder sees the trap hit by following the program.
    pub(super) hit: Option<Hit>,
    /// Privilege before the trap.
    pub(super) privilege: u32,
    /// Call depth before a mispredicted return.
    pub(super) depth: u32,
    /// The target of an uninferable discontinuity had already been passed since the last report or branch.
    pub(super) target_passed: bool,
}

impl Previous {
    pub(super) fn updiscon(&self) -> bool {
        self.trap.is_none() && matches!(self.departure, Departure::Updiscon | Departure::Mispredicted)
    }
}

/// ReportReason an address is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportReason {
    /// It follows an uninferable discontinuity, or is the last one before a change.
    Flow,
    /// A trigger requested it.
    Notify,
}

//! Rows of the pipeline: what the encoder sees of an instruction, and what it keeps of the one before.

use crate::port::{Block, Cycle, Itype};

/// A trap at the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PortTrap {
    pub(crate) interrupt: bool,
    pub(crate) cause: u64,
    pub(crate) tval: u64,
    /// Where it hit, if known.
    pub(crate) epc: Option<u64>,
}

/// What happens at a place in the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RowKind {
    /// Nothing there.
    #[default]
    Empty,
    /// An instruction retires.
    Retire,
    /// A trap without retirement.
    Trap,
    /// Tracing is off from here.
    Off,
}

/// How an instruction differs from the one before at the port: any of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes(pub(super) u8);

impl Changes {
    pub(super) const NONE: Changes = Changes(0);
    /// Privilege changed here.
    pub(super) const PRIVILEGE: Changes = Changes(1);
    /// Context changed here, to be reported precisely.
    pub(super) const CONTEXT: Changes = Changes(2);
    /// The flow breaks before this one, and nothing tells how.
    pub(super) const DISCONTINUOUS: Changes = Changes(4);
    /// Context changed here, to be reported some time.
    pub(super) const IMPRECISE: Changes = Changes(8);
    /// These are reported by a format 3 packet for their own sake.
    pub(super) const REPORTED: Changes = Changes(3);

    /// Any of `others`?
    #[inline(always)]
    pub(super) fn any(self, others: Changes) -> bool {
        self.0 & others.0 != 0
    }
}

/// One row of the pipeline: an instruction, and plain ones before it that nothing has to be said of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) kind: RowKind,
    pub(super) itype: Itype,
    pub(super) sijump: bool,
    pub(super) notify: bool,
    /// What data packets told of instructions up to here is settled behind this one.
    pub(super) cut: bool,
    /// A trap that was not traced itself, in front of its handler.
    pub(super) quiet: bool,
    /// Of the first instruction.
    pub(super) changes: Changes,
    /// Bytes of the last instruction.
    pub(super) size: u8,
    pub(super) privilege: u32,
    /// Half-words that retire.
    pub(super) halfwords: u32,
    /// First address that retires with it.
    pub(super) from: u64,
    /// Its address.
    pub(super) address: u64,
    pub(super) context: u64,
    pub(super) time: u64,
    pub(super) cycle: u64,
    /// Data accesses up to here, of all that ever came.
    pub(super) data_end: u64,
}

impl Row {
    /// One more block behind plain ones.
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

    /// Nothing that any decision looks at: what follows can be joined to it.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.itype.0 == 0 && !self.notify && self.changes == Changes::NONE
    }

    /// The address behind it.
    #[inline(always)]
    pub(super) fn end(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.size))
    }
}

/// What the pass of a row knows of the one behind it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    kind: RowKind,
    is_known: bool,
    pub(super) changes: Changes,
    from: u64,
}

impl Ahead {
    /// Tracing is off.
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

    /// The first address that retires, or where the trap hits; if known.
    #[inline(always)]
    pub(super) fn from(self) -> Option<u64> {
        if self.is_known { Some(self.from) } else { None }
    }

    /// The first address that retires; 0 where nothing does.
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
    /// To a place that the encoding tells.
    Inferred,
    /// To a place that the instruction before tells (sequentially inferable).
    InferredPair,
    /// To a place that the return stack tells.
    InferredReturn,
    Updiscon,
    /// A return that goes elsewhere than the stack says.
    Mispredicted,
}

/// What is left of the instruction before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Previous {
    pub(super) departure: Departure,
    /// The trap before this instruction, and whether it was reported.
    pub(super) trap: Option<PortTrap>,
    pub(super) trap_reported: bool,
    /// Another trap came right before that one.
    pub(super) trap_chained: bool,
    /// Privilege when it hit.
    pub(super) privilege: u32,
    /// Call depth before a mispredicted return.
    pub(super) depth: u32,
    /// The target of an uninferable discontinuity was passed already since the last report or branch.
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
    /// It follows an uninferable discontinuity, or is the last before something.
    Flow,
    /// It was asked for.
    Notify,
}

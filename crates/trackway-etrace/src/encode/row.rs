//! Rows of the pipeline: what the encoder sees of an instruction, and what it keeps of the one before.

use crate::port::Itype;

/// A trap at the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrapIn {
    pub(crate) interrupt: bool,
    pub(crate) cause: u64,
    pub(crate) tval: u64,
    /// Where it hit, if known.
    pub(crate) epc: Option<u64>,
}

/// What happens at a place in the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum What {
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

/// One row of the pipeline.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inst {
    /// Nothing that any decision looks at.
    pub(super) plain: bool,
    pub(super) what: What,
    pub(super) itype: Itype,
    pub(super) sijump: bool,
    pub(super) notify: bool,
    /// What data packets told of instructions up to here is settled behind this one.
    pub(super) cut: bool,
    /// A trap that was not traced itself, in front of its handler.
    pub(super) quiet: bool,
    /// Privilege changed here.
    pub(super) privilege_changed: bool,
    /// Context changed here, to be reported precisely.
    pub(super) context_changed: bool,
    /// The flow breaks before this one, and nothing tells how.
    pub(super) discontinuous: bool,
    /// Context changed here, to be reported some time.
    pub(super) imprecise: bool,
    pub(super) size: u8,
    pub(super) privilege: u32,
    /// Half-words that retire.
    pub(super) halfwords: u32,
    /// First address that retires with it; plain instructions are joined to the next.
    pub(super) from: u64,
    /// Its address.
    pub(super) address: u64,
    pub(super) context: u64,
    pub(super) time: u64,
    pub(super) cycle: u64,
    /// Data accesses up to here, of all that ever came.
    pub(super) data_end: u64,
}

impl Inst {
    #[inline(always)]
    pub(super) fn settle_plain(mut self) -> Self {
        self.plain = self.is_plain();
        self
    }

    pub(super) fn is_plain(&self) -> bool {
        self.what == What::Retire
            && self.itype.0 == 0
            && !(self.notify
                | self.privilege_changed
                | self.context_changed
                | self.discontinuous
                | self.imprecise)
    }

    /// Will be reported by a format 3 packet for its own sake.
    pub(super) fn changes(&self) -> bool {
        self.privilege_changed || self.context_changed
    }
}

/// How control leaves an instruction, as the decoder will see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Leave {
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
pub(super) struct Past {
    pub(super) leave: Leave,
    /// The trap before this instruction, and whether it was reported.
    pub(super) trap: Option<TrapIn>,
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

impl Past {
    pub(super) fn updiscon(&self) -> bool {
        self.trap.is_none() && matches!(self.leave, Leave::Updiscon | Leave::Mispredicted)
    }
}

/// Why an address is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It follows an uninferable discontinuity, or is the last before something.
    Flow,
    /// It was asked for.
    Notify,
}

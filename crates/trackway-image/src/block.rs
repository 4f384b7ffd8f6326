//! A straight run of instructions, as the block table returns it.

use trackway_core::Exit;
use trackway_isa::{Control, Switch};

use crate::entry::Entry;

/// A straight run of instructions and how it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last one.
    pub end: u64,
    /// How many instructions.
    pub count: u32,
    /// Address of the last one.
    pub last: u64,
    /// Control flow of the last one. [`Control::Sequential`] says that the run is cut for another reason: no code
    /// is known at `end`, or it is longer than 4095 instructions. Then ask again at `end`.
    pub control: Control,
    /// Can it fall through to `end`? A32 and T32 have conditional calls, returns and waits too.
    pub conditional: bool,
    /// Where a direct transfer goes.
    pub target: Option<u64>,
    /// Which instruction set is at the target.
    pub switch: Switch,
}

impl Block {
    /// How the run ends, in the words of the event model.
    pub fn exit(&self) -> Exit {
        self.control.exit()
    }
}

/// A run that stays within its instruction set; what is not asked for is not unpacked.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    pub(crate) pc: u64,
    pub(crate) entry: Entry,
}

impl Near {
    /// Address of the first instruction.
    #[inline(always)]
    pub fn start(self) -> u64 {
        self.pc
    }

    /// Address after the last instruction.
    #[inline(always)]
    pub fn end(self) -> u64 {
        self.pc.wrapping_add(self.entry.length())
    }

    /// Address of the last one.
    #[inline(always)]
    pub fn last(self) -> u64 {
        self.end().wrapping_sub(self.entry.last_length())
    }

    /// Where a direct transfer goes.
    #[inline(always)]
    pub fn target(self) -> u64 {
        self.pc.wrapping_add_signed(self.entry.distance())
    }

    /// How many instructions.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.entry.count()
    }

    /// Control flow of the last one.
    #[inline(always)]
    pub fn control(self) -> Control {
        self.entry.control()
    }

    /// Can it fall through?
    #[inline(always)]
    pub fn conditional(self) -> bool {
        self.entry.conditional()
    }
}

//! The instruction or straight run that waits for its successor.

use trackway_core::Isa;
use trackway_isa::riscv::is_plain;
use trackway_isa::{Control, Flow};

use crate::encode::{Progress, Single};

/// Most instructions in a block without another limit, and most bytes of a straight run that steps are joined to.
pub(super) const LARGEST_BLOCK: u32 = 1 << 20;

/// An instruction that retired, or a straight run that ends with it; its successor is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// First instruction of the run.
    pub(super) start: u64,
    /// The address after it.
    pub(super) end: u64,
    /// Length of the last instruction in bytes.
    pub(super) length: u8,
    /// A plain instruction at `end` can be joined to it.
    pub(super) open: bool,
    pub(super) control: Control,
    pub(super) taken: Option<bool>,
    pub(super) sijump: bool,
    pub(super) notify: bool,
    /// Where the last instruction leads, by its encoding.
    pub(super) target: Target,
    /// Instructions in the run, those at the target of a jump, and those that are other ones in the program.
    pub(super) instructions: u64,
    pub(super) targets: u64,
    pub(super) altered: u64,
    /// The last instruction alone.
    pub(super) last: Single,
}

/// Where an instruction leads by its encoding, unless it is a branch that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The next instruction.
    Next,
    Address(u64),
    /// Known at run time only.
    Unknown,
}

impl Target {
    #[inline(always)]
    pub(super) fn new(flow: &Flow) -> Target {
        match flow.target {
            Some(target) => Target::Address(target),
            None if flow.control.is_indirect() => Target::Unknown,
            None => Target::Next,
        }
    }
}

impl Pending {
    /// Address of the last instruction.
    #[inline(always)]
    pub(super) fn address(&self) -> u64 {
        self.end.wrapping_sub(u64::from(self.length))
    }

    /// Can an instruction at `pc` be joined to it?
    #[inline(always)]
    pub(super) fn takes(&self, pc: u64) -> bool {
        self.open & (self.end == pc) && pc.wrapping_sub(self.start) < u64::from(LARGEST_BLOCK)
    }

    #[inline(always)]
    pub(super) fn halfwords(&self) -> u32 {
        (self.end.wrapping_sub(self.start) / 2) as u32
    }

    #[inline(always)]
    pub(super) fn progress(&self) -> Progress {
        Progress {
            instructions: self.instructions,
            transfers: self.last.transfers.into(),
            outcomes: self.last.outcomes.into(),
            targets: self.targets,
            altered: self.altered,
        }
    }

    /// The next instruction, if it is known already; `taken` is for branches.
    #[inline(always)]
    pub(super) fn successor(&self, taken: Option<bool>) -> Option<u64> {
        successor(self.target, self.control, self.end, taken)
    }
}

/// The instruction after one that ends at `end`, if it is known already; `taken` is for branches.
#[inline(always)]
pub(super) fn successor(target: Target, control: Control, end: u64, taken: Option<bool>) -> Option<u64> {
    match (target, control) {
        (Target::Address(target), Control::Branch) => taken.map(|taken| if taken { target } else { end }),
        (Target::Address(target), _) => Some(target),
        (Target::Unknown, _) => None,
        (Target::Next, _) => Some(end),
    }
}

/// The lower halves of encodings after which the next instruction in memory follows, as bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainHalves(&'static [u32; 2048]);

impl PlainHalves {
    #[inline(always)]
    pub(super) fn of(isa: Isa) -> Self {
        static RV32: [u32; 2048] = plain_halves(false);
        static RV64: [u32; 2048] = plain_halves(true);
        PlainHalves(if isa == Isa::Rv64 { &RV64 } else { &RV32 })
    }

    /// A quick look: true says that the next instruction in memory follows.
    #[inline(always)]
    pub(super) fn has(self, encoding: u32) -> bool {
        self.0[(encoding as u16 / 32) as usize] >> (encoding % 32) & 1 == 1
    }
}

const fn plain_halves(is_rv64: bool) -> [u32; 2048] {
    let mut bits = [0; 2048];
    let mut half = 0;
    while half < 1 << 16 {
        // C.ADDIW of RV64 is C.JAL of RV32.
        let is_addiw = is_rv64 && half & 0xe003 == 0x2001;
        bits[half as usize / 32] |= ((is_plain(half) || is_addiw) as u32) << (half % 32);
        half += 1;
    }
    bits
}

/// Length of a plain instruction in bytes.
pub(super) fn plain_length(encoding: u32) -> u8 {
    if encoding & 3 == 3 { 4 } else { 2 }
}

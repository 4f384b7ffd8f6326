//! The parts of a line, and their text.

use std::fmt::Write;

use trackway_core::{Isa, MemKind};

use super::names::Name;

/// Units of time.
pub(super) const UNITS: [&str; 6] = ["clk", "tic", "cs", "ns", "ps", "cyc"];

/// Kinds of lines, in the order of [`Content::kind`].
pub(super) const KINDS: &[&str] = &[
    "instruction",
    "skipped",
    "register",
    "memory",
    "exception",
    "branch",
    "operation",
    "other",
    "message",
    "header",
    "blank",
];

/// A line of any dialect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parsed<'l> {
    /// Its time; a line without one has that of the line before.
    pub(super) time: Option<u64>,
    /// An index of [`UNITS`].
    pub(super) unit: u8,
    /// The core that it is of; empty where it names none.
    pub(super) core: &'l [u8],
    pub(super) content: Content<'l>,
}

/// The content of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'l> {
    Instruction(Instruction<'l>),
    Register(Register<'l>),
    /// `MR4 ADDR VALUE`, `MW8 …`.
    Memory(Memory<'l>),
    /// `LD ADDR` or `ST ADDR` with the bytes of 16.
    Bytes(Bytes),
    Exception(Exception<'l>),
    /// `BR (ADDR) O`: where a branch went.
    Branch(u64),
    /// `R TLBI ALLE3 …`: a system operation.
    Operation,
    /// An event that is kept as it is: CACHE, TTW, SIGNAL.
    Other,
    /// Text of the simulator between the events.
    Message,
    /// `Tarmac Text Rev …`.
    Header(&'l [u8]),
    Blank,
}

/// An instruction that was executed, or skipped by its condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction<'l> {
    pub(super) pc: u64,
    pub(super) physical: Option<u64>,
    /// Little-endian, as the model has it.
    pub(super) encoding: u32,
    /// 0 where the fetch failed.
    pub(super) length: u8,
    pub(super) isa: Isa,
    pub(super) mode: &'l [u8],
    pub(super) skipped: bool,
    pub(super) text: &'l [u8],
}

/// A register and its new value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register<'l> {
    pub(super) text: &'l [u8],
    pub(super) name: Name,
    /// The value, if it has up to 32 digits.
    pub(super) value: u128,
    pub(super) digits: usize,
    /// The digits with their separators, for wider values.
    pub(super) source: &'l [u8],
    /// Bits that were written: the lowest and how many. None for all.
    pub(super) part: Option<(u16, u16)>,
    /// True if the digits have unknown ones.
    pub(super) unknown: bool,
}

/// One access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory<'l> {
    pub(super) kind: MemKind,
    pub(super) size: u64,
    pub(super) address: u64,
    pub(super) physical: Option<u64>,
    pub(super) value: u128,
    pub(super) digits: usize,
    /// The digits with their separators, for wider values.
    pub(super) source: &'l [u8],
    /// It did not complete.
    pub(super) aborted: bool,
}

/// The bytes of 16 that were accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    /// None for a line that continues the one before.
    pub(super) kind: Option<MemKind>,
    pub(super) address: u64,
    pub(super) data: [u8; 16],
    /// Bytes that were accessed, as bits, the one at `address` lowest.
    pub(super) accessed: u16,
    /// Those whose value is known.
    pub(super) known: u16,
    /// Physical address of the line.
    pub(super) physical: Option<u64>,
}

/// An exception or another event of the core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exception<'l> {
    /// The instruction, or the one that would have been next.
    pub(super) pc: Option<u64>,
    /// Number of the event.
    pub(super) number: Option<u64>,
    /// `CoreEvent_LOWER_64_SYNC`, `Reset`.
    pub(super) name: &'l [u8],
}

impl Content<'_> {
    /// An index of [`KINDS`].
    #[inline(always)]
    pub(super) fn kind(&self) -> usize {
        match self {
            Content::Instruction(instruction) => usize::from(instruction.skipped),
            Content::Register(_) => 2,
            Content::Memory(_) | Content::Bytes(_) => 3,
            Content::Exception(_) => 4,
            Content::Branch(_) => 5,
            Content::Operation => 6,
            Content::Other => 7,
            Content::Message => 8,
            Content::Header(_) => 9,
            Content::Blank => 10,
        }
    }
}

impl Parsed<'_> {
    /// The fields as text.
    pub(super) fn describe(&self, out: &mut String) {
        // Writing to a String cannot fail.
        if let Some(time) = self.time {
            let _ = write!(out, "time={time}{} ", UNITS[usize::from(self.unit)]);
        }
        let text = String::from_utf8_lossy;
        if !self.core.is_empty() {
            let _ = write!(out, "core={} ", text(self.core));
        }
        match &self.content {
            Content::Instruction(i) => {
                let _ = write!(out, "pc={:#x} encoding={:#x} isa={}", i.pc, i.encoding, i.isa);
                if let Some(physical) = i.physical {
                    let _ = write!(out, " physical={physical:#x}");
                }
                let _ = write!(out, " mode={} text={}", text(i.mode), text(i.text.trim_ascii()));
            }
            Content::Register(r) => {
                let _ = write!(out, "name={} value={}", text(r.text), text(r.source));
            }
            Content::Memory(m) => {
                let _ = write!(out, "{} address={:#x} size={}", m.kind, m.address, m.size);
                let _ = match m.aborted {
                    true => write!(out, " aborted"),
                    false => write!(out, " value={}", text(m.source)),
                };
            }
            Content::Bytes(b) => {
                let kind = b.kind.map_or("more", MemKind::as_str);
                let _ = write!(out, "{kind} address={:#x} accessed={:#06x}", b.address, b.accessed);
            }
            Content::Exception(e) => {
                let pc = e.pc.map(|pc| format!("pc={pc:#x} ")).unwrap_or_default();
                let number = e.number.map(|n| format!("number={n:#x} ")).unwrap_or_default();
                let _ = write!(out, "{pc}{number}name={}", text(e.name));
            }
            Content::Branch(target) => {
                let _ = write!(out, "target={target:#x}");
            }
            Content::Header(rest) => {
                let _ = write!(out, "{}", text(rest));
            }
            Content::Operation | Content::Other | Content::Message | Content::Blank => {}
        }
        out.truncate(out.trim_end().len());
    }
}

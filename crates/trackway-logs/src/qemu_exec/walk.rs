//! Where a translated block ends: QEMU logs its start only.
//!
//! A block ends with a transfer of control, a trap, or before the end of its page; other instructions that end one are
//! those after which the next block begins.

use std::ops::Range;
use std::sync::Arc;

use trackway_core::{Isa, Run};
use trackway_image::{Blocks, Cursor, Waypoints};
use trackway_isa::Control;
use trackway_isa::arm;
use trackway_isa::riscv::{self, Class, Op};

/// Instructions that end a block for sure.
pub(super) const WAYPOINTS: Waypoints = Waypoints { isb: true, wait: false, transaction: false, trap: true };

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Most instructions of a block.
const MOST: u32 = 512;

/// A block as it was executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Executed {
    pub(super) run: Run,
    /// Where it leads, where that is certain.
    pub(super) leads: Option<u64>,
    /// Its last instruction.
    pub(super) last: u64,
    pub(super) control: Control,
}

/// Finds the ends of blocks in a program.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    cursor: Cursor,
    isa: Isa,
}

impl Walk {
    pub(super) fn new(blocks: &Arc<Blocks>) -> Self {
        Walk { cursor: blocks.cursor(), isa: blocks.isa() }
    }

    /// The block at `pc`, after which the one at `next` was executed; `None` where the program is not known.
    pub(super) fn block(&mut self, pc: u64, limit: u32, next: Option<u64>) -> Option<Executed> {
        let block = self.cursor.at(pc)?;
        let page = (pc & !(PAGE - 1)).wrapping_add(PAGE);
        let most = if limit == 0 { MOST } else { limit };
        // Where it ends before its last instruction, if it does.
        let crosses = block.end > page || self.is_riscv() && block.end == page;
        let cut = (crosses || block.count > most).then(|| self.cut(pc, page, most, next));
        let cut = cut.filter(|(end, _)| *end != block.end);
        let inside = next.filter(|next| (1..block.end.wrapping_sub(pc)).contains(&next.wrapping_sub(pc)));
        let ends = inside.filter(|next| self.ends_before(pc, *next));
        let (end, count) = match (ends, cut) {
            (Some(next), None) => (next, self.cursor.position(pc, next)?),
            (Some(next), Some((end, _))) if next.wrapping_sub(pc) < end.wrapping_sub(pc) => {
                (next, self.cursor.position(pc, next)?)
            }
            (_, Some((end, count))) => (end, count),
            (None, None) => {
                let leads = self.leads(&block, next);
                // A direct transfer elsewhere: the block was cut where the next one begins, if it is in it.
                let strange = block.control.is_direct() && leads.is_none() && next.is_some();
                match inside
                    .filter(|_| strange)
                    .and_then(|next| Some((next, self.cursor.position(pc, next)?)))
                {
                    Some(cut) => cut,
                    None => return Some(self.executed(&block, leads)),
                }
            }
        };
        let run = run(self.isa, pc..end, count, Control::Sequential, None);
        Some(Executed { run, leads: Some(end), last: pc, control: Control::Sequential })
    }

    fn executed(&self, block: &trackway_image::Block, leads: Option<u64>) -> Executed {
        let branch = block.control == Control::Branch || block.conditional && block.control.is_transfer();
        let taken = leads.filter(|_| branch).map(|to| to != block.end);
        let run = run(self.isa, block.start..block.end, block.count, block.control, taken);
        Executed { run, leads, last: block.last, control: block.control }
    }

    /// Where the block's last instruction leads, by what is next.
    fn leads(&self, block: &trackway_image::Block, next: Option<u64>) -> Option<u64> {
        match block.control {
            Control::Branch => next.filter(|next| *next == block.end || Some(*next) == block.target),
            control if control.is_direct() => {
                block.target.filter(|target| next.is_none_or(|next| next == *target))
            }
            control if control.is_indirect() => next,
            control if !control.retires() => None,
            _ => Some(block.end),
        }
    }

    fn is_riscv(&self) -> bool {
        matches!(self.isa, Isa::Rv32 | Isa::Rv64)
    }

    /// The end of a block that reaches the end of its page, or its most instructions.
    fn cut(&self, pc: u64, page: u64, most: u32, next: Option<u64>) -> (u64, u32) {
        let (mut at, mut count) = (pc, 0);
        while count < most
            && at < page
            && let Some((_, length)) = self.cursor.blocks().memory().fetch(self.isa, at)
        {
            // An instruction of the next page too is in the next block; some versions are early by a narrow one.
            let edge = self.is_riscv() && count > 0 && at == page.wrapping_sub(2);
            if edge && (length == 4 || next == Some(at)) {
                break;
            }
            at = at.wrapping_add(length.into());
            count += 1;
        }
        (at, count)
    }

    /// Is the instruction before `next` one that may end a block, although control falls through it?
    fn ends_before(&mut self, pc: u64, next: u64) -> bool {
        let lengths: &[u64] =
            if matches!(self.isa, Isa::Rv32 | Isa::Rv64 | Isa::T32) { &[4, 2] } else { &[4] };
        lengths.iter().any(|length| {
            let at = next.wrapping_sub(*length);
            let on_path = at == pc || self.cursor.position(pc, at).is_some();
            let fetched = self.cursor.blocks().memory().fetch(self.isa, at);
            on_path && fetched.is_some_and(|(code, n)| u64::from(n) == *length && may_end(self.isa, code))
        })
    }
}

/// A run of `count` instructions that ends with `control`.
pub(super) fn run(isa: Isa, code: Range<u64>, count: u32, control: Control, taken: Option<bool>) -> Run {
    Run {
        start: code.start,
        end: code.end,
        count,
        accesses: None,
        isa,
        exit: control.exit(),
        taken,
        attempted: !control.retires(),
        doubtful: false,
        withdrawn: false,
    }
}

/// May a block end after this instruction, although control falls through it?
fn may_end(isa: Isa, encoding: u32) -> bool {
    let waits = |control| control == Control::Wait;
    match isa {
        Isa::Rv32 | Isa::Rv64 => riscv::decode(isa, encoding).is_some_and(|inst| match inst.op.class() {
            Class::Csr | Class::System | Class::VectorConfig => true,
            Class::Fence => inst.op != Op::Fence,
            _ => false,
        }),
        Isa::A64 => {
            // MSR but for NZCV, FPCR and FPSR; MSR of an immediate; SYS but for caches; YIELD and SB.
            let flags = matches!(encoding & 0xffff_ffe0, 0xd51b_4200 | 0xd51b_4400 | 0xd51b_4420);
            encoding & 0xfff0_0000 == 0xd510_0000 && !flags
                || encoding & 0xfff8_f01f == 0xd500_401f
                || encoding & 0xfff8_0000 == 0xd508_0000 && encoding & 0xf000 != 0x7000
                || matches!(encoding, 0xd503_203f | 0xd503_30ff)
                || waits(arm::flow(isa, 0, encoding).control)
        }
        _ => waits(arm::flow(isa, 0, encoding).control),
    }
}

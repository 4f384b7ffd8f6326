//! A block, and all blocks of a trace.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use trackway_core::{Exit, Isa};

/// An instruction of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Inst {
    /// Its encoding, zero-extended.
    pub encoding: u32,
    /// Length in bytes; 0 where the encoding is not known.
    pub length: u8,
}

/// The number of a block in its table.
pub type BlockId = u32;

/// How a pass through a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum End {
    /// By an instruction after which control can go elsewhere, or at a [`BOUNDARY`].
    Closed,
    /// By an instruction that was attempted and did not retire.
    Attempted,
    /// By something else before its end: an interrupt, a gap, the end of the trace.
    Cut,
}

/// Blocks also end at multiples of this address, so that straight code of any length has blocks of bounded length, at
/// the same places however a trace is cut into parts.
pub const BOUNDARY: u64 = 1 << 16;

/// Straight code that control entered at its first instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Code {
    /// Number of the [space](super::Space) that it was entered in.
    pub space: u32,
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last one.
    pub end: u64,
    /// Instruction set.
    pub isa: Isa,
    /// How passes through it end.
    pub ending: End,
    /// The instructions; empty for a run of a flow trace whose code is not known.
    pub insts: Box<[Inst]>,
    /// Number of instructions and how they end, where they are not known.
    pub opaque: Option<(u32, Exit)>,
}

impl Code {
    /// Number of instructions.
    pub fn count(&self) -> u64 {
        self.opaque.map_or(self.insts.len() as u64, |(count, _)| count.into())
    }

    /// Known instructions with their addresses.
    pub fn insts(&self) -> impl Iterator<Item = (u64, Inst)> + '_ {
        self.insts.iter().scan(self.start, |pc, inst| {
            let at = *pc;
            *pc = pc.wrapping_add(inst.length.into());
            Some((at, *inst))
        })
    }

    /// The last instruction with its address, where it is known.
    pub fn last(&self) -> Option<(u64, Inst)> {
        let inst = *self.insts.last()?;
        Some((self.end.wrapping_sub(inst.length.into()), inst))
    }

    /// Codes that are equal have the same; others are compared whole.
    fn digest(&self) -> u64 {
        let mix =
            |digest: u64, word: u64| (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let place = [u64::from(self.space), self.start, self.end, self.count()].into_iter().fold(0, mix);
        self.insts.iter().fold(place, |digest, inst| mix(digest, inst.encoding.into()))
    }
}

/// A block with its counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Block {
    /// Its code.
    pub code: Code,
    /// Passes through it.
    pub passes: u64,
    /// Passes by what its last instruction did, where that is a conditional branch: taken, not taken, unknown.
    pub outcomes: [u64; 3],
    /// Gaps of the trace right before and right after passes.
    pub gaps: [u64; 2],
    /// The blocks that followed it most often at first, and how often; others are in [`Blocks::more`].
    pub(super) next: [(BlockId, u64); NEAR],
}

/// Followers that a block keeps.
pub(super) const NEAR: usize = 4;

/// All blocks of a trace or a part of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Blocks {
    pub(super) list: Vec<Block>,
    /// Followers of blocks that have many.
    pub(super) more: BTreeMap<(BlockId, BlockId), u64>,
    #[serde(skip)]
    by_digest: HashMap<u64, Vec<BlockId>>,
    /// The closed block that was entered last at an address of a space.
    #[serde(skip)]
    entered: HashMap<(u32, u64), BlockId>,
}

impl Blocks {
    /// The block with this code.
    pub(super) fn place(&mut self, code: Code) -> BlockId {
        let ids = self.by_digest.entry(code.digest()).or_default();
        if let Some(id) = ids.iter().find(|id| self.list[**id as usize].code == code) {
            return *id;
        }
        let id = self.list.len() as BlockId;
        ids.push(id);
        if code.ending != End::Cut && code.opaque.is_none() {
            self.entered.insert((code.space, code.start), id);
        }
        let next = [(BlockId::MAX, 0); NEAR];
        self.list.push(Block { code, passes: 0, outcomes: [0; 3], gaps: [0; 2], next });
        id
    }

    /// A closed block that begins with this instruction, most likely the one that follows.
    #[inline]
    pub(super) fn likely(
        &self,
        after: Option<BlockId>,
        space: u32,
        pc: u64,
        isa: Isa,
        inst: Inst,
    ) -> Option<BlockId> {
        let fits = |id: BlockId| {
            self.list.get(id as usize).is_some_and(|block| {
                let code = &block.code;
                (code.start, code.space, code.isa) == (pc, space, isa)
                    && code.ending != End::Cut
                    && code.insts.first() == Some(&inst)
            })
        };
        let near = after
            .and_then(|after| self.list[after as usize].next.iter().map(|(id, _)| *id).find(|id| fits(*id)));
        near.or_else(|| self.entered.get(&(space, pc)).copied().filter(|id| fits(*id)))
    }

    /// Counts that `to` followed `from`.
    #[inline]
    pub(super) fn follow(&mut self, from: BlockId, to: BlockId, count: u64) {
        for (id, times) in &mut self.list[from as usize].next {
            if *id == to || *times == 0 {
                *id = to;
                *times += count;
                return;
            }
        }
        *self.more.entry((from, to)).or_default() += count;
    }

    /// Every pair of blocks of which one followed the other, and how often.
    pub(super) fn edges(&self) -> impl Iterator<Item = (BlockId, BlockId, u64)> + '_ {
        let near = (0..).zip(&self.list).flat_map(|(from, block)| {
            let next = block.next.iter().filter(|(_, count)| *count > 0);
            next.map(move |(to, count)| (from, *to, *count))
        });
        near.chain(self.more.iter().map(|((from, to), count)| (*from, *to, *count)))
    }

    /// Puts the tables back that are not stored; `None` if the blocks cannot be those of a trace.
    pub(super) fn restore(&mut self) -> Option<()> {
        let blocks = std::mem::take(&mut self.list);
        let count = blocks.len() as BlockId;
        for block in blocks {
            let code = block.code.clone();
            if code.insts.is_empty() != code.opaque.is_some() {
                return None;
            }
            if self.place(code) as usize + 1 != self.list.len() {
                return None;
            }
            *self.list.last_mut()? = block;
        }
        self.edges().all(|(from, to, _)| from < count && to < count).then_some(())
    }
}

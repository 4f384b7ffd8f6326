//! The flow of a part as its followers would have seen it, to show it to them when the part is merged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trackway_core::{Gap, GapReason, Span, Syscall, Trap, TrapKind};

use super::block::BlockId;
use super::follow::{Follow, Pass};
use super::spaces::{Space, Spaces};
use crate::varint;

/// Passes, traps, gaps and changes of space of a part, in order within each source; times are not kept. A pass takes one
/// to three bytes in most programs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FlowLog {
    lanes: BTreeMap<u16, LaneLog>,
    pub(super) spaces: Spaces,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct LaneLog {
    bytes: Vec<u8>,
    traps: Vec<TrapFields>,
    gaps: Vec<GapFields>,
}

/// The fields of a [`Trap`], without its words: they are in the batch, which followers do not see.
type TrapFields = (
    (TrapKind, Option<u64>, Option<u8>, Option<u64>, Option<u64>, Option<u64>, Option<u64>),
    (bool, Option<Syscall>, Option<u64>),
);

/// The fields of a [`Gap`].
type GapFields = (GapReason, [Option<u64>; 4]);

fn trap_fields(trap: &Trap) -> TrapFields {
    let Trap {
        kind,
        cause,
        class,
        value,
        from,
        to,
        return_address,
        is_virtual,
        syscall,
        syscall_index,
        words: _,
    } = *trap;
    ((kind, cause, class, value, from, to, return_address), (is_virtual, syscall, syscall_index))
}

fn trap_of(fields: &TrapFields) -> Trap {
    let ((kind, cause, class, value, from, to, return_address), (is_virtual, syscall, syscall_index)) =
        *fields;
    let words = Span::default();
    Trap { kind, cause, class, value, from, to, return_address, is_virtual, syscall, syscall_index, words }
}

fn gap_fields(gap: &Gap) -> GapFields {
    let Gap { reason, from, to, instructions, bytes } = *gap;
    (reason, [from, to, instructions, bytes])
}

fn gap_of(fields: &GapFields) -> Gap {
    let (reason, [from, to, instructions, bytes]) = *fields;
    Gap { reason, from, to, instructions, bytes }
}

/// One entry of a log.
#[derive(Debug)]
pub(super) enum Entry {
    Pass(BlockId, Option<bool>),
    /// The first pass of the part begins, or has ended.
    Head {
        ended: bool,
    },
    Trap(Trap),
    Gap(Gap),
    Unplaced,
    /// Number of a space of the log.
    Enter(u32),
}

/// Entries other than passes: their number, above the bits that say so.
const OTHER: u64 = 3;
const HEAD_BEGINS: u64 = 0;
const HEAD_ENDED: u64 = 1;
const TRAP: u64 = 2;
const GAP: u64 = 3;
const UNPLACED: u64 = 4;
const ENTER: u64 = 5;

impl FlowLog {
    fn lane(&mut self, source: u16) -> &mut LaneLog {
        self.lanes.entry(source).or_default()
    }

    /// The entries of a source, in order; they end where they are damaged.
    pub(super) fn entries(&self, source: u16) -> impl Iterator<Item = Entry> + '_ {
        let lane = self.lanes.get(&source);
        let mut bytes = lane.map_or(&[][..], |lane| &lane.bytes);
        let mut traps = lane.into_iter().flat_map(|lane| &lane.traps);
        let mut gaps = lane.into_iter().flat_map(|lane| &lane.gaps);
        std::iter::from_fn(move || {
            let entry = varint::take(&mut bytes)?;
            let number = entry >> 2;
            Some(match (entry & 3, number) {
                (OTHER, HEAD_BEGINS) => Entry::Head { ended: false },
                (OTHER, HEAD_ENDED) => Entry::Head { ended: true },
                (OTHER, TRAP) => Entry::Trap(trap_of(traps.next()?)),
                (OTHER, GAP) => Entry::Gap(gap_of(gaps.next()?)),
                (OTHER, UNPLACED) => Entry::Unplaced,
                (OTHER, number) => Entry::Enter((number - ENTER).try_into().ok()?),
                (taken, id) => {
                    Entry::Pass(id.try_into().ok()?, [Some(false), Some(true), None][taken as usize])
                }
            })
        })
    }

    /// Puts the tables back that are not stored.
    pub(crate) fn restore(&mut self) -> Option<()> {
        self.spaces.restore()
    }
}

impl LaneLog {
    fn other(&mut self, number: u64) {
        varint::put(&mut self.bytes, number << 2 | OTHER);
    }
}

impl Follow for FlowLog {
    fn pass(&mut self, pass: &Pass<'_>) {
        let taken = pass.taken.map_or(2, u64::from);
        varint::put(&mut self.lane(pass.source).bytes, u64::from(pass.id) << 2 | taken);
    }

    fn head(&mut self, source: u16, ended: bool) {
        self.lane(source).other(if ended { HEAD_ENDED } else { HEAD_BEGINS });
    }

    fn trap(&mut self, source: u16, trap: &Trap) {
        let lane = self.lane(source);
        lane.other(TRAP);
        lane.traps.push(trap_fields(trap));
    }

    fn gap(&mut self, source: u16, gap: &Gap) {
        let lane = self.lane(source);
        lane.other(GAP);
        lane.gaps.push(gap_fields(gap));
    }

    fn enter(&mut self, space: &Space) {
        let number = self.spaces.place(*space);
        self.lane(space.source).other(ENTER + u64::from(number));
    }

    fn unplaced(&mut self, source: u16) {
        self.lane(source).other(UNPLACED);
    }
}

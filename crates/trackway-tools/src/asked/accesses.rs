//! Loads, stores and atomics of a batch, with the lines that they touch.

use std::ops::RangeInclusive;

use trackway_core::{Accesses, Batch, EventKind, MemAccess, MemKind};

use crate::stats::LINE;

/// Accesses that touch more lines than this are counted apart: ranges that a trace names, not data that is used.
const LONGEST: u64 = 4096;

/// A part of a batch, as memory sees it.
pub(super) enum Part<'b> {
    /// An instruction or a run, with its accesses; the address of the instruction where it is one.
    Executed(Option<u64>, &'b [MemAccess]),
    Gap,
}

/// The instructions of a batch that have accesses, and its gaps.
pub(super) fn parts(batch: &Batch) -> impl Iterator<Item = Part<'_>> {
    batch.events.iter().filter_map(|event| match &event.kind {
        EventKind::Step(step) if step.accesses.mem_len > 0 => {
            Some(Part::Executed(step.pc, batch.mem_of(step.accesses)))
        }
        EventKind::Run(run) if !run.withdrawn && run.accesses.is_some() => {
            let accesses: Accesses = batch.accesses_of(run);
            let pc = (run.count == 1).then_some(run.start);
            Some(Part::Executed(pc, batch.mem_of(accesses)))
        }
        EventKind::Gap(_) => Some(Part::Gap),
        _ => None,
    })
}

/// Is it a load, a store or an atomic whose address is known?
pub(super) fn is_data(access: &MemAccess) -> bool {
    let kind = matches!(access.kind, MemKind::Read | MemKind::Write | MemKind::ReadWrite);
    kind && !access.unplaced && access.size > 0
}

/// The lines that it touches; `None` where there are too many.
pub(super) fn lines(access: &MemAccess) -> Option<RangeInclusive<u64>> {
    let last = access.address.saturating_add(access.size.saturating_sub(1));
    let (first, last) = (access.address / LINE, last / LINE);
    (last - first < LONGEST).then_some(first..=last)
}

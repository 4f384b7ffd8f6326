//! Instructions ahead of the comparison, up to the next gap.

use trackway_core::{Batch, EventKind, GapReason, Result};

use super::super::keys::{Data, strong, weak};
use super::{Cell, Side, is_cell, is_pause};

/// Instructions that are looked at together at the most, and bytes of their batches: both sides, and the tables of the
/// alignment, fit into 200 MB.
pub(in crate::diff) const MOST: usize = 1 << 19;
const MOST_BYTES: usize = 40 << 20;

/// Instructions ahead, with their keys.
#[derive(Debug, Default)]
pub(in crate::diff) struct Window {
    /// Place and length of the search so far.
    batch: usize,
    event: usize,
    bytes: usize,
    pub(in crate::diff) weak: Vec<u64>,
    pub(in crate::diff) strong: Vec<u64>,
    places: Vec<(u32, u32)>,
    /// Instructions before which something is missing.
    gaps: Vec<usize>,
    /// After the last instruction: something is missing; something was lost, not only left out.
    gap: bool,
    lost: bool,
    /// Nothing follows.
    pub(in crate::diff) ended: bool,
    /// It is as large as it may become.
    pub(in crate::diff) full: bool,
}

impl Side<'_> {
    /// Forgets the instructions ahead: the place has changed.
    pub(in crate::diff) fn restart(&mut self) {
        let Window { mut weak, mut strong, mut places, mut gaps, .. } = std::mem::take(&mut self.window);
        weak.clear();
        strong.clear();
        places.clear();
        gaps.clear();
        // What a large search took is not kept for small ones.
        if weak.capacity() > MOST / 8 {
            (weak, strong, places) = Default::default();
        }
        let (batch, event) = (self.batch, self.event);
        self.window = Window { batch, event, weak, strong, places, gaps, ..Window::default() };
        self.window.bytes = self.batches.iter().skip(batch).map(bytes).sum();
    }

    /// Looks at instructions ahead until there are `wanted`, or no more can be.
    pub(in crate::diff) fn collect(&mut self, wanted: usize, data: Data) -> Result<()> {
        while self.window.places.len() < wanted.min(MOST) {
            let Some(batch) = self.batches.get(self.window.batch) else {
                if self.window.bytes > MOST_BYTES {
                    self.window.full = true;
                    return Ok(());
                }
                if !self.fill()? {
                    self.window.ended = true;
                    return Ok(());
                }
                self.window.bytes += self.batches.back().map_or(0, bytes);
                continue;
            };
            let window = &mut self.window;
            let Some(event) = batch.events.get(window.event) else {
                (window.batch, window.event) = (window.batch + 1, 0);
                continue;
            };
            match &event.kind {
                EventKind::Step(step) if is_cell(batch, step) => {
                    if std::mem::take(&mut window.gap) {
                        window.gaps.push(window.places.len());
                    }
                    window.lost = false;
                    window.places.push((window.batch as u32, window.event as u32));
                    let key = weak(step, data);
                    window.weak.push(key);
                    window.strong.push(strong(key, batch, step, data));
                }
                // Every trace is switched on before its first instruction.
                EventKind::Mark(_) if !self.started && window.places.is_empty() => {}
                kind => {
                    window.gap |= is_gap(kind);
                    window.lost |= is_loss(batch, kind);
                }
            }
            window.event += 1;
        }
        self.window.full |= self.window.places.len() >= MOST;
        Ok(())
    }

    /// Is something missing before the next instruction, and not dealt with?
    pub(in crate::diff) fn at_gap(&self) -> bool {
        !self.gap_passed && self.window.gaps.first() == Some(&0)
    }

    /// Is something missing after `count` instructions? At the end of the trace it must have been lost: a trace
    /// that was switched off is shorter.
    pub(in crate::diff) fn loses_after(&self, count: usize) -> bool {
        if count < self.window.places.len() { self.window.gaps.contains(&count) } else { self.window.lost }
    }

    /// Instructions ahead up to the next gap, and whether that is all up to it or to the end.
    pub(in crate::diff) fn stretch(&self, wanted: usize) -> (usize, bool) {
        let length = self.window.places.len();
        match self.window.gaps.iter().find(|gap| **gap > 0) {
            Some(&gap) if gap <= wanted => (gap, true),
            _ if length > wanted => (wanted, false),
            _ => (length, self.window.ended),
        }
    }

    /// The first whole stretches between gaps in the window, by their keys.
    pub(in crate::diff) fn stretches(&self, most: usize) -> Vec<&[u64]> {
        let Window { gaps, strong, .. } = &self.window;
        gaps.windows(2).take(most).map(|ends| &strong[ends[0]..ends[1]]).collect()
    }

    /// Index of the instruction after that gap in the window.
    pub(in crate::diff) fn gap_at(&self, n: usize) -> usize {
        self.window.gaps[n]
    }

    /// The instruction ahead with that index in the window; its number is not known.
    pub(in crate::diff) fn ahead(&self, index: usize) -> Cell {
        let (batch, event) = self.window.places[index];
        Cell { batch: batch as usize, event: event as usize, number: 0 }
    }
}

/// Breaks in tracing are shown as marks or gaps, by the habit of the format.
fn is_gap(kind: &EventKind) -> bool {
    match kind {
        EventKind::Gap(_) => true,
        EventKind::Mark(mark) => is_pause(mark.kind),
        EventKind::Run(run) => !run.withdrawn,
        _ => false,
    }
}

/// The trace had more, which cannot be read or followed.
fn is_loss(batch: &Batch, kind: &EventKind) -> bool {
    match kind {
        EventKind::Gap(n) => batch.gaps[*n as usize].reason != GapReason::Filtered,
        EventKind::Run(run) => !run.withdrawn,
        _ => false,
    }
}

/// Memory that a batch takes.
fn bytes(batch: &Batch) -> usize {
    fn of<T>(items: &Vec<T>) -> usize {
        items.capacity() * size_of::<T>()
    }
    of(&batch.events)
        + of(&batch.mem)
        + of(&batch.regs)
        + of(&batch.bytes)
        + of(&batch.extras)
        + of(&batch.mem_extras)
}

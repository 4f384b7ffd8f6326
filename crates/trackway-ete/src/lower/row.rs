//! Runs as they come most: one after the other, each ended by a branch whose outcome is known.

use trackway_core::{Event, EventKind};

use super::lane::{Expected, Lane};
use super::stretch::Way;
use crate::encode::Branch;

impl Lane {
    /// Executes usual runs from the first of `events` on, and returns their number.
    pub(super) fn row(&mut self, events: &[Event]) -> usize {
        let Some(Event { kind: EventKind::Run(first), .. }) = events.first() else { return 0 };
        let isa = first.isa;
        let waits = self.pending.is_some() || self.timestamp.is_some();
        if waits || !self.unit.is_plain() || !self.unit.begin_row(isa) {
            return 0;
        }
        let (mut expected, mut count, mut instructions) = (self.expected, 0, 0);
        while let Some(Event { kind: EventKind::Run(run), .. }) = events.get(count) {
            let is_expected = match expected {
                Expected::Any => true,
                Expected::At(address) => address == run.start,
            };
            let Some(taken) = run.taken.filter(|_| is_expected && run.isa == isa) else { break };
            if run.attempted || run.withdrawn {
                break;
            }
            let Some(stretch) = self.stretches.find(run, self.space) else {
                if self.learn(run) {
                    continue;
                }
                break;
            };
            let next = match stretch.ways[usize::from(taken)] {
                Way::Unusual => break,
                Way::Open => Expected::Any,
                Way::To(address) => Expected::At(address),
            };
            let branch = Branch { control: stretch.flow.control, taken, end: stretch.end, isa };
            if !self.unit.block(run.start, run.count, &branch) {
                break;
            }
            expected = next;
            count += 1;
            instructions += u64::from(run.count);
        }
        if count > 0 {
            self.unit.end_row(count as u64, instructions);
            (self.isa, self.expected) = (isa, expected);
            (self.call, self.attempted) = (None, None);
        }
        count
    }
}

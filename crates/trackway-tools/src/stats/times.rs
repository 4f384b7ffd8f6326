//! Cycles and time by where they were counted.
//!
//! A cycle count, and the difference of two timestamps, belong to the instruction before them: what a trace says of time
//! says no more. Counts after a gap and before the next instruction belong to no instruction, and no difference is taken
//! over a gap.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, EventKind, Time, TimeKind};

/// Time spent somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spent {
    pub(super) cycles: u64,
    pub(super) ticks: u64,
}

/// The instruction before a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Before {
    /// The last one before this part.
    #[default]
    Part,
    /// It is missing from the trace.
    Gap,
    /// Address of its last byte.
    Pc(u64),
}

/// Cycles and time of a trace or a part of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Times {
    lanes: BTreeMap<u16, Lane>,
    spent: BTreeMap<(u16, Before), Spent>,
    /// There are cycle counts.
    pub(super) has_cycles: bool,
    /// There are timestamps.
    pub(super) has_stamps: bool,
}

/// One source.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Lane {
    before: Before,
    /// The first timestamp, unless a gap came before it.
    first: Option<(Stamp, Before)>,
    last: Option<Stamp>,
    /// There was a gap.
    has_gap: bool,
}

/// A timestamp and its clock.
type Stamp = (u64, u16);

impl Times {
    /// Takes in a batch; most have neither times nor gaps.
    pub(super) fn observe(&mut self, batch: &Batch, has_times_or_gaps: bool) {
        let lane = self.lanes.entry(batch.source).or_default();
        let mut from = 0;
        let events = if has_times_or_gaps { &batch.events[..] } else { &[] };
        for (n, event) in events.iter().enumerate() {
            match &event.kind {
                EventKind::Time(time) => {
                    lane.reach(&batch.events[from..n]);
                    from = n + 1;
                    match time.kind {
                        TimeKind::Cycles => {
                            self.has_cycles = true;
                            let spent = self.spent.entry((batch.source, lane.before)).or_default();
                            spent.cycles = spent.cycles.saturating_add(time.value.unwrap_or(0));
                        }
                        TimeKind::Timestamp => {
                            self.has_stamps = true;
                            lane.stamp(time, batch.source, &mut self.spent);
                        }
                        TimeKind::Offset => {}
                    }
                }
                EventKind::Gap(_) => {
                    from = n + 1;
                    (lane.before, lane.last, lane.has_gap) = (Before::Gap, None, true);
                }
                _ => {}
            }
        }
        lane.reach(&batch.events[from..]);
    }

    /// Adds those of the part that follows.
    pub(super) fn merge(&mut self, later: Times) {
        self.has_cycles |= later.has_cycles;
        self.has_stamps |= later.has_stamps;
        for ((source, before), spent) in later.spent {
            let here = self.lanes.entry(source).or_default().before;
            add(&mut self.spent, source, before.after(here), spent);
        }
        for (source, next) in later.lanes {
            let lane = self.lanes.entry(source).or_default();
            if let Some((stamp, before)) = next.first {
                let before = before.after(lane.before);
                match lane.last {
                    Some(last) => add(&mut self.spent, source, before, passed(last, stamp)),
                    None if !lane.has_gap && lane.first.is_none() => lane.first = Some((stamp, before)),
                    None => {}
                }
            }
            lane.last = next.last.or(lane.last.filter(|_| !next.has_gap));
            lane.before = next.before.after(lane.before);
            lane.has_gap |= next.has_gap;
        }
    }

    /// Time by source and an address in the instruction.
    pub(super) fn places(&self) -> impl Iterator<Item = ((u16, Option<u64>), Spent)> + '_ {
        self.spent.iter().map(|((source, before), spent)| match before {
            Before::Pc(pc) => ((*source, Some(*pc)), *spent),
            Before::Part | Before::Gap => ((*source, None), *spent),
        })
    }
}

impl Lane {
    /// The last instruction of these events is that before the next count.
    fn reach(&mut self, events: &[trackway_core::Event]) {
        let pc = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::Step(step) => {
                Some(step.pc.map(|pc| pc.wrapping_add(u64::from(step.length.max(1)) - 1)))
            }
            // Its last byte: where the last instruction of a run begins is not known without the code.
            EventKind::Run(run) if !run.withdrawn => Some(Some(run.end.wrapping_sub(1))),
            _ => None,
        });
        if let Some(pc) = pc {
            self.before = pc.map_or(Before::Gap, Before::Pc);
        }
    }

    fn stamp(&mut self, time: &Time, source: u16, spent: &mut BTreeMap<(u16, Before), Spent>) {
        let Some(value) = time.value else { return };
        let stamp = (value, time.clock);
        match self.last.replace(stamp) {
            Some(last) => add(spent, source, self.before, passed(last, stamp)),
            None if !self.has_gap => self.first = self.first.or(Some((stamp, self.before))),
            None => {}
        }
    }
}

impl Before {
    /// As it is after `earlier`, with which the part before ended.
    fn after(self, earlier: Before) -> Before {
        if self == Before::Part { earlier } else { self }
    }
}

/// The time between two timestamps; none where they are of different clocks.
fn passed(last: Stamp, stamp: Stamp) -> Spent {
    let ticks = if last.1 == stamp.1 { stamp.0.saturating_sub(last.0) } else { 0 };
    Spent { cycles: 0, ticks }
}

fn add(spent: &mut BTreeMap<(u16, Before), Spent>, source: u16, before: Before, more: Spent) {
    let to = spent.entry((source, before)).or_default();
    to.cycles = to.cycles.saturating_add(more.cycles);
    to.ticks = to.ticks.saturating_add(more.ticks);
}

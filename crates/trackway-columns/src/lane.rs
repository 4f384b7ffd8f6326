//! Facts of a source that later rows depend on: its context, its times, whether something was just missing.

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, Context, Event, EventKind, TimeKind};

/// A source so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// Its context.
    pub context: Context,
    /// Changes of the context so far.
    pub contexts: u64,
    /// The last timestamp.
    pub time: Option<u64>,
    /// Sum of the cycle counts.
    pub cycles: Option<u64>,
    /// Something is missing since the last instruction.
    pub gap: bool,
}

impl Lane {
    /// Takes in an event that is not an instruction.
    pub(crate) fn take(&mut self, batch: &Batch, event: &Event) {
        match &event.kind {
            EventKind::Context(n) => {
                self.context.update(&batch.contexts[*n as usize]);
                self.contexts += 1;
            }
            EventKind::Time(time) => match (time.kind, time.value) {
                (TimeKind::Timestamp, Some(_)) => self.time = time.value,
                (TimeKind::Cycles, Some(cycles)) => {
                    self.cycles = Some(self.cycles.unwrap_or(0).wrapping_add(cycles));
                }
                _ => {}
            },
            EventKind::Gap(_) => self.gap = true,
            _ => {}
        }
    }

    /// The number of its last context change.
    #[inline]
    pub(crate) fn last_context(&self) -> Option<u64> {
        (self.contexts > 0).then_some(self.contexts)
    }
}

/// The lanes of all sources.
pub type Lanes = Vec<Lane>;

/// The lane of a source, which may be new.
pub(crate) fn lane(lanes: &mut Lanes, source: u16) -> &mut Lane {
    let at = usize::from(source);
    if lanes.len() <= at {
        lanes.resize_with(at + 1, Lane::default);
    }
    &mut lanes[at]
}

/// True if an event separates the instructions around it: the later one is then not where the earlier one went.
pub(crate) fn separates(event: &EventKind) -> bool {
    matches!(event, EventKind::Gap(_) | EventKind::Trap(_))
}

/// Follows the lanes without making rows, to learn what is known at a place.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    pub(crate) lanes: Lanes,
    /// A cut waits for the address of the instruction after it, of this source.
    pub(crate) awaits: Option<u16>,
    /// The addresses after each cut, where the instruction before it went there.
    pub(crate) next: Vec<Option<u64>>,
    source: u16,
}

impl Follower {
    pub(crate) fn take(&mut self, batch: &Batch) {
        self.source = batch.source;
        lane(&mut self.lanes, batch.source);
        for event in &batch.events {
            let pc = match &event.kind {
                EventKind::Step(step) => step.pc,
                EventKind::Run(run) if !run.withdrawn => Some(run.start),
                kind => {
                    if separates(kind) && self.awaits.take().is_some() {
                        self.next.push(None);
                    }
                    lane(&mut self.lanes, batch.source).take(batch, event);
                    continue;
                }
            };
            lane(&mut self.lanes, batch.source).gap = false;
            if let Some(source) = self.awaits.take() {
                self.next.push(pc.filter(|_| source == batch.source));
            }
        }
    }

    /// A part ends here.
    pub(crate) fn cut(&mut self) {
        if self.awaits.replace(self.source).is_some() {
            self.next.push(None);
        }
    }
}

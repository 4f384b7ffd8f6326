//! Making an index while a trace is read.

use std::sync::Arc;

use trackway_core::{Batch, Event, EventKind, Meta, Observer, Pool, Saved, State, TimeKind, pack};

use crate::index::{Before, Checkpoint, Index, Part, Sketch};
use crate::machine::{Effects, Machine, Passage};

/// Instructions between two checkpoints, at first.
const DISTANCE: u64 = 1 << 14;
/// Checkpoints of one source; with more, half of them are dropped and the distance is doubled.
const MOST: usize = 1024;

/// Makes an index of the events that it observes.
///
/// It takes checkpoints between two batches, when [`place`](Observer::place) says where. On several threads the parts of
/// a trace add their addresses and counts, and what they do to the machine whose state depends on everything before.
#[derive(Debug)]
pub struct Builder {
    meta: Meta,
    distance: u64,
    follow: Follow,
    sources: Vec<Growing>,
    current: usize,
    /// Of encodings, shared by all parts.
    effects: Arc<Pool<Effects>>,
}

/// How machines are to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    Not,
    Whole,
    Part,
}

/// The index of one source, up to now.
#[derive(Debug)]
struct Growing {
    part: Part,
    /// The stretch since the last checkpoint.
    sketch: Sketch,
    now: Before,
    since: u64,
    distance: u64,
    following: Following,
}

/// How the machine is followed.
#[derive(Debug)]
enum Following {
    Not,
    /// From the start of the trace.
    Machine(Box<Machine>),
    /// In a part: what it does to the machine.
    Passage(Box<Passage>),
}

impl Following {
    /// Takes in the steps that `events` begin with; returns how many they are.
    #[inline]
    fn steps(&mut self, batch: &Batch, events: &[Event], number: u64) -> usize {
        match self {
            Following::Not => {
                events.iter().take_while(|event| matches!(event.kind, EventKind::Step(_))).count()
            }
            Following::Machine(machine) => machine.steps(batch, events, number),
            Following::Passage(passage) => passage.steps(batch, events),
        }
    }

    /// Takes in the runs that `events` begin with, one at least; returns how many they are, and their instructions.
    #[inline]
    fn runs(&mut self, batch: &Batch, events: &[Event], number: u64) -> (usize, u64) {
        let several = match self {
            Following::Machine(machine) => machine.runs(events, number),
            Following::Not => {
                let is_run = |event: &&Event| matches!(event.kind, EventKind::Run(_));
                let runs = events.iter().take_while(is_run).map(|event| event.kind.instructions());
                runs.fold((0, 0), |(count, instructions), more| (count + 1, instructions + more))
            }
            Following::Passage(_) => (0, 0),
        };
        if several.0 > 0 {
            return several;
        }
        self.event(batch, &events[0], number);
        (1, events[0].kind.instructions())
    }

    fn event(&mut self, batch: &Batch, event: &Event, number: u64) {
        match self {
            Following::Not => {}
            Following::Machine(machine) => machine.apply(batch, event, number),
            Following::Passage(passage) => passage.observe(batch, event),
        }
    }

    fn machine(&self) -> Option<&Machine> {
        if let Following::Machine(machine) = self { Some(machine) } else { None }
    }

    /// Follows a part that begins at instruction `number`.
    fn join(&mut self, part: Following, number: u64) {
        let joined = match (&mut *self, part) {
            (Following::Machine(machine), Following::Passage(passage)) => passage.apply(machine, number),
            _ => false,
        };
        if !joined {
            *self = Following::Not;
        }
    }
}

impl Growing {
    fn new(distance: u64, following: Following) -> Self {
        Growing {
            part: Part::default(),
            sketch: Sketch::default(),
            now: Before::default(),
            since: 0,
            distance,
            following,
        }
    }

    fn observe(&mut self, batch: &Batch) {
        let Growing { sketch, now, following, .. } = self;
        let mut number = now.instructions;
        let mut at = 0;
        while let Some(event) = batch.events.get(at) {
            match &event.kind {
                EventKind::Step(_) => {
                    let count = following.steps(batch, &batch.events[at..], number);
                    sketch.add_steps(&batch.events[at..at + count]);
                    number += count as u64;
                    at += count;
                    continue;
                }
                EventKind::Run(_) => {
                    let (count, instructions) = following.runs(batch, &batch.events[at..], number);
                    sketch.add_runs(&batch.events[at..at + count]);
                    number += instructions;
                    at += count;
                    continue;
                }
                EventKind::Time(time) if time.kind == TimeKind::Timestamp => {
                    now.time = time.value.or(now.time);
                    now.latest = now.latest.max(time.value);
                }
                _ => now.tally.add(event),
            }
            following.event(batch, event, number);
            number += event.kind.instructions();
            at += 1;
        }
        sketch.add_accesses(&batch.mem);
        for state in &batch.states {
            if let State::Bus(bus) = state {
                sketch.data.add_range(bus.address..bus.address.saturating_add(bus.size));
            }
        }
        self.since += number - now.instructions;
        now.instructions = number;
    }

    fn checkpoint(&mut self, saved: Saved) {
        self.now.depth = self.depth();
        self.close();
        let machine = self.following.machine().and_then(pack);
        self.part.checkpoints.push(Checkpoint {
            saved,
            before: self.now,
            machine,
            sketch: Sketch::default(),
        });
        self.since = 0;
        if self.part.checkpoints.len() > MOST {
            self.part.thin();
            self.distance = self.distance.saturating_mul(2);
        }
    }

    fn depth(&self) -> Option<u64> {
        self.following.machine().map(|machine| machine.calls.depth())
    }

    /// The stretch so far goes to its checkpoint.
    fn close(&mut self) {
        let last = self.part.checkpoints.last_mut();
        last.map_or(&mut self.part.head, |last| &mut last.sketch).merge(&self.sketch);
        self.sketch = Sketch::default();
    }

    fn merge(&mut self, later: Growing) {
        self.sketch.merge(&later.sketch);
        self.since += later.since;
        self.following.join(later.following, self.now.instructions);
        let (now, more) = (&mut self.now, &later.now);
        now.instructions += more.instructions;
        now.tally.merge(&more.tally);
        now.errors += more.errors;
        now.time = more.time.or(now.time);
        now.latest = now.latest.max(more.latest);
    }
}

impl Builder {
    /// An index of a source with `meta`, with the state of the machine at every checkpoint where events come in order.
    pub fn new(meta: &Meta, with_machine: bool) -> Self {
        let follow = if with_machine { Follow::Whole } else { Follow::Not };
        Builder {
            meta: meta.clone(),
            distance: DISTANCE,
            follow,
            sources: Vec::new(),
            current: 0,
            effects: Arc::default(),
        }
    }

    /// With that many instructions between two checkpoints, at first.
    pub fn with_distance(self, distance: u64) -> Self {
        Builder { distance: distance.max(1), ..self }
    }

    /// Instructions between two checkpoints, at first.
    pub(crate) fn distance(&self) -> u64 {
        self.distance
    }

    /// Continues the index of a single source from its last checkpoint, without the state of the machine.
    pub(crate) fn resume(meta: &Meta, part: &Part) -> Option<Self> {
        let mut builder = Builder::new(meta, false);
        let mut part = part.clone();
        let last = part.checkpoints.last_mut()?;
        let now = Before { depth: None, ..last.before };
        last.sketch = Sketch::default();
        let distance = match &part.checkpoints[..] {
            [.., before, last] => last.saved.instruction - before.saved.instruction,
            _ => DISTANCE,
        };
        builder.sources.push(Growing {
            part,
            sketch: Sketch::default(),
            now,
            since: 0,
            distance: distance.max(DISTANCE),
            following: Following::Not,
        });
        Some(builder)
    }

    fn source(&mut self, source: usize) -> &mut Growing {
        while self.sources.len() <= source {
            let isa = self.meta.isa;
            let following = match self.follow {
                Follow::Not => Following::Not,
                Follow::Whole => Following::Machine(Box::new(Machine::new(isa))),
                Follow::Part => Following::Passage(Box::new(Passage::new(isa, Arc::clone(&self.effects)))),
            };
            self.sources.push(Growing::new(self.distance, following));
        }
        &mut self.sources[source]
    }

    /// The index. `is_complete` says that the trace was read to its end; sources before the current one are complete
    /// anyway.
    pub fn finish(mut self, is_complete: bool) -> Index {
        // A source without an event is complete too.
        if is_complete && !self.meta.sources.is_empty() {
            self.source(self.meta.sources.len() - 1);
        }
        let mut index = Index::default();
        for (n, mut growing) in self.sources.into_iter().enumerate() {
            growing.close();
            growing.part.all = Before { depth: growing.depth(), ..growing.now };
            growing.part.is_complete = is_complete || n < self.current;
            index.sources.insert(self.meta.sources.get(n).cloned().unwrap_or_default(), growing.part);
        }
        index
    }
}

impl Observer for Builder {
    fn observe(&mut self, batch: &Batch) {
        self.current = batch.source.into();
        self.source(batch.source.into()).observe(batch);
    }

    fn error(&mut self) {
        self.source(self.current).now.errors += 1;
    }

    fn fork(&self) -> Box<dyn Observer> {
        let follow = if self.follow == Follow::Not { Follow::Not } else { Follow::Part };
        Box::new(Builder { follow, effects: Arc::clone(&self.effects), ..Builder::new(&self.meta, false) })
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        let sources = later.sources.into_iter().enumerate();
        for (n, more) in sources.filter(|(_, more)| more.now != Before::default()) {
            self.current = n;
            self.source(n).merge(more);
        }
    }

    fn place(&mut self, save: &mut dyn FnMut() -> Option<Saved>) {
        let current = self.current;
        let Some(growing) = self.sources.get_mut(current) else { return };
        let is_due = growing.since >= growing.distance;
        let Some(saved) = is_due.then(save).flatten() else { return };
        // After the end of a source the place is in the next one.
        if usize::from(saved.source) == current && saved.instruction == growing.now.instructions {
            growing.checkpoint(saved);
        }
    }
}

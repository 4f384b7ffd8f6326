//! Perfetto's trace: a timeline of functions, contexts, traps and gaps.
//!
//! One nanosecond is one instruction of the source, or one tick of the [clock](TimeAxis) that the trace recorded. The packets
//! of a source are a sequence of their own, in order of time; nothing of the trace is kept but the stacks and the names that
//! were written.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};

use trackway_core::{Gap, Meta, Time, TimeKind, Trap};

use super::protobuf::{Message, varint};
use crate::calls::{NodeId, NodeKind, Place, Watch};
use crate::contexts;
use crate::executed::{Pass, Space};
use crate::flame::thread_name;

/// `TrackEvent.Type`.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;

/// `TracePacket.SequenceFlags`.
const CLEARED: u64 = 1;
const NEEDED: u64 = 2;

/// The time of a [`Timeline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeAxis {
    /// Instructions of the source.
    Instructions,
    /// Timestamps, from the first one of the trace on. Between two of them no time passes, for nothing says how fast it did.
    Recorded,
}

/// Writes the timeline of the calls that it [watches](Watch).
pub struct Timeline<W: Write> {
    out: W,
    axis: TimeAxis,
    /// The first timestamp.
    first: Option<u64>,
    /// The first error, after which nothing is written.
    failed: Option<io::Error>,
    limit: u64,
    written: u64,
    meta: Meta,
    lanes: HashMap<u16, Lane>,
    threads: HashMap<u32, Thread>,
}

/// A source.
#[derive(Default)]
struct Lane {
    /// The present time.
    now: u64,
    /// Names of events that have a number.
    names: HashMap<String, u64>,
    /// A context is open.
    in_context: bool,
}

/// A thread.
struct Thread {
    source: u16,
    /// The nodes of the open slices.
    open: Vec<NodeId>,
}

/// Numbers of tracks: sources, their contexts, and threads.
fn source_track(source: u16) -> u64 {
    1 << 32 | u64::from(source)
}

fn context_track(source: u16) -> u64 {
    2 << 32 | u64::from(source)
}

fn thread_track(thread: u32) -> u64 {
    3 << 32 | u64::from(thread)
}

impl<W: Write> Timeline<W> {
    /// Writes to `out`, but no more bytes than `limit`.
    pub fn new(out: W, limit: u64, meta: Meta, axis: TimeAxis) -> Self {
        let (lanes, threads) = (HashMap::new(), HashMap::new());
        Timeline { out, axis, first: None, failed: None, limit, written: 0, meta, lanes, threads }
    }

    /// There was no time to show.
    pub fn is_timeless(&self) -> bool {
        self.axis == TimeAxis::Recorded && self.first.is_none()
    }

    /// Did it fail? Then the rest need not be read.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Closes what is open. An error of kind [`FileTooLarge`](io::ErrorKind::FileTooLarge) says that the limit was
    /// reached.
    pub fn finish(mut self) -> io::Result<()> {
        let mut threads: Vec<u32> = self.threads.keys().copied().collect();
        threads.sort_unstable();
        for thread in threads {
            self.unwind(thread, 0);
        }
        let mut sources: Vec<u16> = self.lanes.keys().copied().collect();
        sources.sort_unstable();
        for source in sources {
            self.leave_context(source);
        }
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    /// Writes a packet of a source.
    fn packet(&mut self, source: u16, mut packet: Message, flags: u64) {
        if self.failed.is_some() {
            return;
        }
        packet.number(10, u64::from(source) + 1);
        packet.number(13, flags);
        let mut head = Vec::with_capacity(8);
        head.push(1 << 3 | 2);
        varint(&mut head, packet.0.len() as u64);
        self.written += (head.len() + packet.0.len()) as u64;
        let done = if self.written > self.limit {
            Err(io::ErrorKind::FileTooLarge.into())
        } else {
            self.out.write_all(&head).and_then(|()| self.out.write_all(&packet.0))
        };
        self.failed = done.err();
    }

    /// Declares a track.
    fn track(&mut self, source: u16, uuid: u64, parent: Option<u64>, name: &str, flags: u64) {
        let mut track = Message::default();
        track.number(1, uuid);
        track.bytes(2, name.as_bytes());
        track.number(5, parent.unwrap_or(0));
        let mut packet = Message::default();
        packet.bytes(60, &track.0);
        self.packet(source, packet, flags);
    }

    /// The source, which is declared when it is first met.
    fn lane(&mut self, source: u16) -> &mut Lane {
        if let Entry::Vacant(vacant) = self.lanes.entry(source) {
            vacant.insert(Lane::default());
            let name = self.meta.sources.get(usize::from(source)).cloned();
            let name = name.unwrap_or_else(|| format!("source {source}"));
            self.track(source, source_track(source), None, &name, CLEARED);
            self.track(source, context_track(source), Some(source_track(source)), "context", 0);
        }
        self.lanes.entry(source).or_default()
    }

    /// Writes an event at the present time of the source.
    fn event(&mut self, source: u16, track: u64, kind: u64, name: Option<&str>) {
        let lane = self.lane(source);
        let mut event = Message::default();
        let mut packet = Message::default();
        // Time 0 is a time too.
        packet.required(8, lane.now);
        if let Some(name) = name {
            let next = lane.names.len() as u64 + 1;
            let number = *lane.names.entry(name.to_string()).or_insert(next);
            if number == next {
                let mut entry = Message::default();
                entry.number(1, number);
                entry.bytes(2, name.as_bytes());
                let mut interned = Message::default();
                interned.bytes(2, &entry.0);
                packet.bytes(12, &interned.0);
            }
            event.number(10, number);
        }
        event.number(9, kind);
        event.number(11, track);
        packet.bytes(11, &event.0);
        self.packet(source, packet, NEEDED);
    }

    /// Ends slices of a thread until `depth` are open.
    fn unwind(&mut self, thread: u32, depth: usize) {
        let Some(Thread { source, open }) = self.threads.get_mut(&thread) else { return };
        let (source, ended) = (*source, open.len().saturating_sub(depth));
        open.truncate(depth);
        for _ in 0..ended {
            self.event(source, thread_track(thread), END, None);
        }
    }

    fn leave_context(&mut self, source: u16) {
        if std::mem::take(&mut self.lane(source).in_context) {
            self.event(source, context_track(source), END, None);
        }
    }

    /// Opens and closes slices until those of `node` are open.
    fn go(&mut self, place: &Place<'_>) {
        let Some(Thread { source, open }) = self.threads.get(&place.thread) else { return };
        if open.last() == Some(&place.node) {
            return;
        }
        let (source, nodes) = (*source, place.tree.nodes());
        // Nodes to open, the innermost first. Threads have depth 0 and no slice.
        let mut fresh = Vec::new();
        let mut at = place.node;
        let depth = loop {
            let node = &nodes[at as usize];
            let depth = node.depth as usize;
            match node.parent {
                Some(_) if depth > 0 && open.get(depth - 1) == Some(&at) => break depth,
                Some(parent) => {
                    fresh.push(at);
                    at = parent;
                }
                None => break 0,
            }
        };
        self.unwind(place.thread, depth);
        for node in fresh.into_iter().rev() {
            let name = match nodes[node as usize].kind {
                NodeKind::Thread(_) => continue,
                NodeKind::Function(id) => place.functions.get(id).label(),
                NodeKind::Handler(id) => format!("{} [trap]", place.functions.get(id).label()),
            };
            self.event(source, thread_track(place.thread), BEGIN, Some(&name));
            if let Some(thread) = self.threads.get_mut(&place.thread) {
                thread.open.push(node);
            }
        }
    }
}

impl<W: Write> Watch for Timeline<W> {
    fn pass(&mut self, pass: &Pass<'_>, place: &Place<'_>) {
        self.go(place);
        if self.axis == TimeAxis::Instructions {
            self.lane(pass.source).now += pass.block.code.count();
        }
    }

    fn time(&mut self, source: u16, time: &Time) {
        if let (TimeAxis::Recorded, TimeKind::Timestamp, Some(value)) = (self.axis, time.kind, time.value) {
            let passed = value.saturating_sub(*self.first.get_or_insert(value));
            let lane = self.lane(source);
            // Packets are in order, also where a clock was set back.
            lane.now = lane.now.max(passed);
        }
    }

    fn trap(&mut self, source: u16, thread: u32, trap: &Trap) {
        let name = match trap.cause {
            Some(cause) => format!("{} {cause:#x}", trap.kind.as_str()),
            None => trap.kind.as_str().to_string(),
        };
        self.event(source, thread_track(thread), INSTANT, Some(&name));
    }

    fn gap(&mut self, source: u16, thread: u32, gap: &Gap) {
        self.event(source, thread_track(thread), INSTANT, Some(&format!("gap: {}", gap.reason.as_str())));
    }

    fn enter(&mut self, space: &Space, thread: u32) {
        let source = space.source;
        self.leave_context(source);
        if let Some(name) = contexts::name(&space.context) {
            self.event(source, context_track(source), BEGIN, Some(&name));
            self.lane(source).in_context = true;
        }
        if !self.threads.contains_key(&thread) {
            let name = thread_name(&space.thread(), &self.meta);
            self.track(source, thread_track(thread), Some(source_track(source)), &name, 0);
            self.threads.insert(thread, Thread { source, open: Vec::new() });
        }
    }
}

#[cfg(test)]
mod tests {
    use trackway_core::*;

    use super::*;
    use crate::calls::CallTree;

    /// Times of the packets that have an event.
    fn times(bytes: &[u8]) -> Vec<u64> {
        let take = |at: &mut &[u8]| crate::varint::take(at).unwrap();
        let (mut rest, mut times) = (bytes, Vec::new());
        while !rest.is_empty() {
            assert_eq!(take(&mut rest), 1 << 3 | 2);
            let length = take(&mut rest) as usize;
            let (mut packet, after) = rest.split_at(length);
            rest = after;
            // The time is the first field of a packet with an event.
            if take(&mut packet) == 8 << 3 {
                times.push(take(&mut packet));
            }
        }
        times
    }

    #[test]
    fn recorded_time_is_the_time() {
        let mut batch = Batch::default();
        let at = |value| EventKind::Time(Time { kind: TimeKind::Timestamp, value: Some(value), clock: 0 });
        batch.push(0, EventKind::Step(Step::new(0x1000, 0x0000_00ef, 4))); // jal ra, .
        batch.push(0, at(500));
        batch.push(0, EventKind::Step(Step::new(0x1000, 0x0000_8067, 4))); // ret
        batch.push(0, at(740));
        batch.push(0, at(300));
        batch.push(0, EventKind::Step(Step::new(0x1004, 0x0000_0013, 4)));
        let run = |axis| {
            let meta = Meta::new(FormatId::new("test"), Isa::Rv64);
            let (mut tree, mut bytes) = (CallTree::new(Isa::Rv64, &[]), Vec::new());
            let mut timeline = Timeline::new(&mut bytes, 1 << 20, meta, axis);
            tree.observe_with(&batch, &mut timeline);
            tree.finish_with(&mut timeline);
            assert!(!timeline.is_timeless());
            timeline.finish().unwrap();
            times(&bytes)
        };
        // Both functions begin at the first stamp at the latest; the inner one returns after the second.
        let recorded = run(TimeAxis::Recorded);
        assert_eq!((recorded[0], recorded.last()), (0, Some(&240)), "{recorded:?}");
        assert!(recorded.is_sorted());
        assert_eq!(run(TimeAxis::Instructions).last(), Some(&3));
    }
}

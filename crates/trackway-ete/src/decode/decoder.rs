//! All three stages, over a stretch of bytes.

use std::sync::Arc;

use trackway_core::{Error, ErrorKind, GapReason};

use super::counts::PacketCounts;
use super::element::Element;
use super::elements::{Action, Elements};
use super::flow::{Analyser, Flow, Row};
use super::output::{Output, SavedOutput};
use super::speculation::Speculation;
use crate::config::Config;
use crate::transport::input::Code;
use crate::wire::atoms::Atoms;
use crate::wire::header::{Kind, error_at};
use crate::wire::packet::Packet;
use crate::wire::read::Reader;
use crate::wire::scan::{Stop, Visit, Walk, Window};

/// The state of all stages. Two decoders with equal states produce the same events from the same bytes.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct State {
    elements: Elements,
    speculation: Speculation,
    flow: Flow,
    /// Withdrawn elements that are being followed.
    #[serde(skip)]
    shadows: Vec<(u32, Flow)>,
}

/// Where [`Decoder::run`] stops early, apart from complete batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// Nowhere.
    None,
    /// At this place, if it is the start of a packet other than atoms.
    Place(usize),
    /// At the first place where the state can be compared with that of another decoder.
    Comparable,
}

/// A decoder of one source.
pub(crate) struct Decoder {
    walk: Walk,
    stages: Stages,
}

/// The stages, which take the packets of a [`Walk`].
struct Stages {
    config: Arc<Config>,
    elements: Elements,
    speculation: Speculation,
    flow: Analyser,
    /// Actions of the current packet.
    actions: Vec<Action>,
    /// Bytes before the first Trace Info: the offset of the first, and their number.
    unused: Option<(u64, u64)>,
    goal: Goal,
    counts: PacketCounts,
}

/// The state between two batches: of the stages, and the events that may still change.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct SavedDecoder {
    state: State,
    output: SavedOutput,
}

impl Decoder {
    /// The state between two batches, unless it is large.
    pub(crate) fn save(&self) -> Option<SavedDecoder> {
        let Stages { speculation, flow, unused, .. } = &self.stages;
        if !speculation.is_small() || !flow.shadows.is_empty() || unused.is_some() {
            return None;
        }
        Some(SavedDecoder { output: flow.out.save()?, state: self.state() })
    }

    /// A fresh decoder continues from a state; false if it is not possible.
    pub(crate) fn restore(&mut self, saved: SavedDecoder) -> bool {
        let State { elements, speculation, flow, .. } = &saved.state;
        let is_possible = elements.is_possible() && speculation.is_possible() && flow.is_possible();
        let restored = is_possible && self.output().restore(&saved.output);
        if restored {
            self.set_state(saved.state);
        }
        restored
    }

    pub(crate) fn new(config: &Arc<Config>, program: &Code, show_withdrawn: bool) -> Self {
        let stages = Stages {
            config: Arc::clone(config),
            elements: Elements::default(),
            speculation: Speculation::default(),
            flow: Analyser::new(config, program, show_withdrawn),
            actions: Vec::new(),
            unused: None,
            goal: Goal::None,
            counts: PacketCounts::default(),
        };
        Decoder { walk: Walk::new(Reader::new(&config.dialect)), stages }
    }

    /// Back to the initial state; memory and tables are kept.
    pub(crate) fn reset(&mut self) {
        self.set_state(State::default());
        self.stages.flow.out.clear();
        self.stages.counts = PacketCounts::default();
    }

    /// The events.
    pub(crate) fn output(&mut self) -> &mut Output {
        &mut self.stages.flow.out
    }

    /// Packets read so far.
    pub(crate) fn counts(&self) -> &PacketCounts {
        &self.stages.counts
    }

    pub(crate) fn counts_mut(&mut self) -> &mut PacketCounts {
        &mut self.stages.counts
    }

    /// True if `state` is the state of this decoder.
    pub(crate) fn is_in(&self, state: &State) -> bool {
        let Stages { elements, speculation, flow, .. } = &self.stages;
        *elements == state.elements
            && *speculation == state.speculation
            && flow.flow == state.flow
            && flow.is_comparable()
    }

    /// A copy of the state.
    pub(crate) fn state(&self) -> State {
        let Stages { elements, speculation, flow, .. } = &self.stages;
        State {
            elements: elements.clone(),
            speculation: speculation.clone(),
            flow: flow.flow.clone(),
            shadows: flow.shadows.clone(),
        }
    }

    /// Continues from the state of another decoder.
    pub(crate) fn set_state(&mut self, state: State) {
        (self.stages.elements, self.stages.speculation) = (state.elements, state.speculation);
        self.stages.flow.set_flow(state.flow, state.shadows);
        self.stages.unused = None;
    }

    /// The window changed.
    pub(crate) fn window_changed(&mut self) {
        self.walk.reset();
    }

    /// Continues at another place of the same window.
    pub(crate) fn jump<W: Window>(&mut self, window: &W, at: usize) {
        self.walk.jump(window, at);
    }

    /// Forgets everything that depends on earlier packets: `bytes` were skipped from `offset` on.
    pub(crate) fn lose_sync(&mut self, reason: GapReason, offset: u64, bytes: u64) {
        self.stages.elements = Elements::default();
        self.stages.speculation = Speculation::default();
        self.stages.flow.lose_sync();
        self.stages.unused = None;
        self.walk.reset();
        self.stages.flow.skipped(reason, offset, bytes);
    }

    /// Ends the source: emits all that is left.
    pub(crate) fn end(&mut self) {
        self.stages.report_unused();
        self.stages.speculation.end(&mut self.stages.flow);
        self.stages.flow.out.close();
    }

    /// Decodes from `at` to the end of the stretch, to `goal`, or until a batch is complete; both of the latter are
    /// [`Stop::Visitor`].
    pub(crate) fn run<W: Window>(
        &mut self,
        window: &W,
        stretch: (usize, bool),
        at: &mut usize,
        goal: Goal,
    ) -> Stop {
        self.stages.goal = goal;
        self.walk.run(window, stretch, at, &mut self.stages)
    }
}

impl Stages {
    /// Emits a gap for the bytes before the first Trace Info.
    fn report_unused(&mut self) {
        if let Some((offset, bytes)) = self.unused.take() {
            self.flow.skipped(GapReason::LostSync, offset, bytes);
        }
    }

    /// An atom packet whose atoms wait for a commit; returns the place after it.
    #[inline(always)]
    fn atom_packet<W: Window>(&mut self, header: u8, window: &W, at: usize, cursor: &mut usize) -> usize {
        if header < Kind::Atom.header() {
            return at;
        }
        let offset = window.offset(at, cursor);
        let (count, bits) = Atoms { header }.get();
        for index in 0..count {
            self.speculation.emit_p0(offset, Element::Atom { taken: bits >> index & 1 == 1 });
            let over = self.elements.count_p0(1, &self.config);
            if over > 0 {
                self.speculation.commit(over, &mut self.flow);
            }
        }
        self.counts.add(header);
        at + 1
    }

    /// A packet through all stages.
    fn decode(&mut self, packet: &Packet, first: u8, length: usize, offset: u64) -> Result<(), Error> {
        if !self.elements.is_started() {
            if needs_trace_info(packet) {
                self.unused.get_or_insert((offset, 0)).1 += length as u64;
            } else if matches!(packet, Packet::TraceInfo(_)) {
                self.report_unused();
            }
        }
        self.actions.clear();
        let decoded = self.elements.decode(packet, &self.config, &mut self.actions);
        for action in &self.actions {
            self.speculation.apply(offset, action, &mut self.flow);
        }
        decoded.map_err(|fault| error_at(first, fault, offset))?;
        if self.speculation.is_flooded() {
            let kind = ErrorKind::Impossible { found: u64::from(self.config.max_spec) };
            return Err(error_at(first, (kind, "speculation depth"), offset));
        }
        self.flow.out.turn();
        Ok(())
    }
}

impl Visit for Stages {
    #[inline(always)]
    fn usual<W: Window>(&mut self, window: &W, bytes: &[u8], at: usize, cursor: &mut usize) -> usize {
        if !self.elements.is_started() {
            return at;
        }
        let next = if self.config.max_spec == 0 && self.speculation.is_idle() {
            // Every atom is committed at once, and nothing waits before it.
            let (history, counts) = (self.elements.history(), &mut self.counts);
            let addresses = self.goal == Goal::None;
            self.flow.row(Row { window, bytes, cursor, history, counts, addresses }, at)
        } else {
            self.atom_packet(bytes[at], window, at, cursor)
        };
        self.flow.out.turn();
        next
    }

    #[inline(always)]
    fn packet(&mut self, packet: &Packet, first: u8, length: usize, offset: u64) -> Result<(), Error> {
        match packet {
            Packet::Discard => self.counts.add_discard(),
            Packet::Overflow => self.counts.add_overflow(),
            _ => self.counts.add(first),
        }
        if let Packet::Address(address) = packet
            && self.elements.is_started()
            && self.speculation.is_idle()
        {
            // The most common packet after atoms needs no queue.
            let entry = self.elements.target(address);
            self.flow.target_address(entry);
            return Ok(());
        }
        self.decode(packet, first, length, offset)
    }

    #[inline(always)]
    fn stops_before(&self, at: usize) -> bool {
        match self.goal {
            Goal::None => false,
            Goal::Place(place) => place == at,
            Goal::Comparable => {
                self.elements.is_started() && self.speculation.is_settled() && self.flow.is_comparable()
            }
        }
    }

    #[inline(always)]
    fn stops_after(&self) -> bool {
        self.flow.out.is_ready()
    }
}

/// Packets that have no meaning before the first Trace Info.
fn needs_trace_info(packet: &Packet) -> bool {
    !matches!(packet, Packet::TraceInfo(_) | Packet::Event(_) | Packet::AlignmentSync { .. } | Packet::Ignore)
}

#[cfg(test)]
mod tests;

//! The effect of each packet on the walker.
//!
//! A packet passes through stages, so that a walk can stop when a batch is full. A synchronisation packet has two
//! sides: the *approach* to it belongs to the packets before, and execution *begins* at it. Parallel decoding cuts
//! between the two.

mod loss;
mod paths;
mod saved;
mod sync;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::*;
use trackway_image::Image;

use super::fault::Fault;
use super::walk::{Goal, Pieces, Progress, Walker};
use crate::config::Config;
use crate::port::privilege_of;
use crate::wire::instruction::{self as packet, Branches, Packet, Reported};
use paths::Paths;
pub(crate) use paths::{Short, State};
pub(crate) use saved::{CarriedState, SavedDecoder};
pub(crate) use sync::call_of;

/// Progress of the current packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// The packet is done.
    Idle,
    /// Nothing is done yet.
    First,
    /// Walk to the second occurrence of the address reported before, then continue with the packet.
    Again,
    /// Walk towards the goal; then the packet is done, or execution begins at it.
    Walk(Goal),
    /// The trace was lost before this synchronisation packet.
    Lost,
    /// Execution begins at this synchronisation packet.
    Begin,
}

/// Can execution be followed?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum FlowState {
    /// No: there was no synchronisation yet. The trace may start in mid-stream.
    Fresh,
    /// No: tracing ended.
    Off,
    /// No: it was lost, until the next synchronisation.
    Lost,
    /// Not yet: a trap was reported without its handler.
    Trapped,
    /// Yes.
    On,
}

/// Decodes the packets of one source.
#[derive(Debug)]
pub(crate) struct Decoder {
    config: Arc<Config>,
    walker: Walker,
    flow: Flow,
    packet: Packet,
    paths: Paths,
    /// A trap whose handler is not known yet, with its offset.
    held: Option<(u64, Trap)>,
    /// Synchronisations, and how many of them are at addresses without code.
    pub(crate) synchronised: (u64, u64),
}

/// Ways that were walked before.
#[derive(Debug, Default)]
pub(crate) struct Known {
    paths: Paths,
    pieces: Pieces,
}

/// The state of a decoder between two packets, or in one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Flow {
    state: FlowState,
    stage: Stage,
    /// Length of the frame in bytes.
    len: u32,
    /// Time stamp of the frame.
    stamp: Option<u64>,
    /// Address reported last.
    address: u64,
    /// The last report said that a synchronisation of the next instruction follows.
    sync_follows: bool,
    privilege: Option<u32>,
    context: Option<u64>,
    /// The last known pc before execution was lost, and the reason.
    lost: Option<(Option<u64>, GapReason)>,
    /// Bytes of packets that could not be used since then.
    skipped: u64,
    /// There is no program: only what packets say themselves is shown, after a gap.
    blind: Option<bool>,
}

impl Decoder {
    /// More predicted branches in one packet are doubted.
    fn branch_bound(&self) -> u64 {
        u64::from(self.config.encoder.branch_count_max) + 31
    }

    pub(crate) fn new(config: &Arc<Config>, image: &Arc<Image>, isa: Isa) -> Self {
        Decoder {
            config: Arc::clone(config),
            walker: Walker::new(config, image, isa),
            flow: Flow {
                state: FlowState::Fresh,
                stage: Stage::Idle,
                len: 0,
                stamp: None,
                address: 0,
                sync_follows: false,
                privilege: None,
                context: None,
                lost: None,
                skipped: 0,
                blind: image.is_empty().then_some(false),
            },
            packet: Packet::Address(Reported::default()),
            paths: Paths::default(),
            held: None,
            synchronised: (0, 0),
        }
    }

    /// Exchanges the ways that are known for those of another decoder with the same settings and program.
    pub(crate) fn exchange(&mut self, known: &mut Known) {
        std::mem::swap(&mut self.paths, &mut known.paths);
        std::mem::swap(&mut self.walker.pieces, &mut known.pieces);
    }

    /// Takes the next packet; the one before must be done.
    #[inline]
    pub(crate) fn accept(&mut self, packet: Packet, offset: u64, len: u32, stamp: Option<u64>) {
        self.packet = packet;
        self.walker.offset = offset;
        self.flow.stamp = stamp;
        self.flow.stage = Stage::First;
        self.flow.len = len;
    }

    /// Takes the first packet of a part: the part before has done its approach.
    pub(crate) fn accept_begin(&mut self, packet: Packet, offset: u64, stamp: Option<u64>) {
        self.accept(packet, offset, 0, stamp);
        self.flow.stage = Stage::Begin;
    }

    /// Is the last packet done and execution known, so that [`follow_flow`](Decoder::follow_flow) applies?
    #[inline]
    pub(crate) fn is_following(&self) -> bool {
        self.flow.stage == Stage::Idle && self.flow.state == FlowState::On && !self.walker.inferred
    }

    /// Fast path for packets of format 1 and 2, the most common ones; false if the batch is full. The path of a
    /// short one from `state` is remembered, and `state` is then the one it leads to, if it is known.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // the facts of one packet
    pub(crate) fn follow_flow(
        &mut self,
        packet: Packet,
        short: Option<Short>,
        state: &mut Option<State>,
        offset: u64,
        len: u32,
        out: &mut Batch,
    ) -> Result<bool> {
        let from = state.take();
        self.walker.offset = offset;
        let goal = match packet {
            Packet::Branches(Branches { branches: 0, branch_map, .. }) => {
                self.walker.outcomes.add_map(branch_map, 31);
                self.last_branch()
            }
            Packet::Branches(Branches { branches, branch_map, reported }) => {
                self.walker.outcomes.add_map(branch_map, branches);
                self.reported(reported)
            }
            Packet::Address(reported) => self.reported(reported),
            _ => return Ok(true),
        };
        let (events, instructions) = (out.events.len(), self.walker.instructions);
        if self.walker.can_stride() && self.walker.stride(&goal, out) {
            self.arrived(goal, out);
            if let (Some(from), Some(short)) = (from, short) {
                *state = self.keep_path(
                    from,
                    short,
                    self.walker.instructions - instructions,
                    &out.events[events..],
                );
            }
            return Ok(true);
        }
        if let Goal::Address { target, .. } = goal {
            self.walker.aim_at(target);
        }
        let walked = self.walker.walk(goal, out);
        if let Ok(Progress::Arrived) = walked {
            self.arrived(goal, out);
            return Ok(true);
        }
        self.accept(packet, offset, len, None);
        self.flow.stage = Stage::Walk(goal);
        match walked {
            Err(fault) => self.fail(fault, out).map(|()| true),
            Ok(_) => Ok(false),
        }
    }

    /// Continues with the packet until it is done or the batch is full.
    #[inline]
    pub(crate) fn run(&mut self, out: &mut Batch) -> Result<Progress> {
        self.run_until(false, out)
    }

    /// As [`run`](Decoder::run), for the last packet of a part: execution begins in the next part.
    pub(crate) fn run_approach(&mut self, out: &mut Batch) -> Result<Progress> {
        self.run_until(true, out)
    }

    fn run_until(&mut self, approach: bool, out: &mut Batch) -> Result<Progress> {
        loop {
            let done = match self.flow.stage {
                Stage::Idle => return Ok(Progress::Arrived),
                Stage::Begin if approach => {
                    self.flow.stage = Stage::Idle;
                    return Ok(Progress::Arrived);
                }
                Stage::First => self.first(out),
                Stage::Again => match self.walker.walk(Goal::Again { target: self.flow.address }, out) {
                    Ok(Progress::Full) => return Ok(Progress::Full),
                    Ok(Progress::Arrived) => self.after_again(out),
                    Err(fault) => Err(fault),
                },
                Stage::Walk(goal) => match self.walker.walk(goal, out) {
                    Ok(Progress::Full) => return Ok(Progress::Full),
                    Ok(Progress::Arrived) => {
                        self.arrived(goal, out);
                        Ok(())
                    }
                    Err(fault) => Err(fault),
                },
                Stage::Lost => {
                    self.emit_gap(out);
                    self.flow.stage = Stage::Begin;
                    Ok(())
                }
                Stage::Begin => {
                    self.begin(out);
                    Ok(())
                }
            };
            if let Err(fault) = done {
                self.fail(fault, out)?;
            }
            if self.flow.stage == Stage::Idle
                && let Some(value) = self.flow.stamp.take()
            {
                let time = Time { kind: TimeKind::Timestamp, value: Some(value), clock: 1 };
                out.push(self.walker.offset, EventKind::Time(time));
            }
        }
    }

    /// Instructions emitted since the last call.
    pub(crate) fn take_instructions(&mut self) -> u64 {
        std::mem::take(&mut self.walker.instructions)
    }

    /// Is the current packet done?
    pub(crate) fn is_idle(&self) -> bool {
        self.flow.stage == Stage::Idle
    }

    /// Begins with the packet.
    fn first(&mut self, out: &mut Batch) -> Result<(), Fault> {
        if self.flow.blind.is_some() {
            self.first_blind(out);
            return Ok(());
        }
        if self.packet.is_format_3() {
            self.note_missing_code();
        }
        match self.packet {
            Packet::Start(start) => self.approach_start(&start, out),
            Packet::Trap(trap) => self.approach_trap(&trap, out),
            Packet::Context(context) => {
                self.flow.stage = Stage::Idle;
                // Instructions known to have retired did so before.
                if self.flow.state == FlowState::On {
                    self.walker.emit_through(Exit::Next, false, out);
                }
                self.note_time(context.time, out);
                self.note_context(Some(context.privilege), self.context_field(context.context, true), 1, out);
                Ok(())
            }
            Packet::Support(support) => {
                self.support(&support, out);
                Ok(())
            }
            _ => self.first_flow(),
        }
    }

    /// Without a program: instructions are a gap, and the rest is shown.
    fn first_blind(&mut self, out: &mut Batch) {
        self.flow.stage = Stage::Idle;
        if !matches!(self.packet, Packet::Support(_)) && self.flow.blind.replace(true) == Some(false) {
            out.push_gap(self.walker.offset, Gap::new(GapReason::NoCode));
        }
        match self.packet {
            Packet::Start(start) => {
                self.note_time(start.time, out);
                self.note_context(Some(start.privilege), self.context_field(start.context, false), 2, out);
            }
            Packet::Trap(packet) => {
                self.note_time(packet.time, out);
                self.note_context(Some(packet.privilege), self.context_field(packet.context, false), 2, out);
                let at = self.address_of(packet.address);
                let implied = self.walker.options.implicit_exception;
                let to = Some(at).filter(|_| packet.thaddr && !implied);
                out.push_trap(self.walker.offset, Trap { to, ..self.trap_event(&packet, None) });
            }
            Packet::Context(context) => {
                self.note_time(context.time, out);
                self.note_context(Some(context.privilege), self.context_field(context.context, true), 1, out);
            }
            Packet::Support(support) => self.support(&support, out),
            _ => {}
        }
    }

    /// Formats 0, 1 and 2.
    #[inline]
    fn first_flow(&mut self) -> Result<(), Fault> {
        match self.flow.state {
            FlowState::On => {}
            // The loss is reported already, or the trace starts in mid-stream.
            FlowState::Lost | FlowState::Fresh => {
                self.flow.skipped += u64::from(self.flow.len);
                self.flow.stage = Stage::Idle;
                return Ok(());
            }
            FlowState::Off | FlowState::Trapped => return Err(Fault::NotSynchronised),
        }
        let bound = self.branch_bound();
        let outcomes = &mut self.walker.outcomes;
        match self.packet {
            Packet::Branches(packet) if packet.branches == 0 => outcomes.add_map(packet.branch_map, 31),
            Packet::Branches(packet) => outcomes.add_map(packet.branch_map, packet.branches),
            Packet::JumpTarget(packet) => outcomes.add_map(packet.branch_map, packet.branches),
            Packet::BranchCount(packet) => {
                outcomes.add_predicted(u64::from(packet.branch_count) + 31, packet.branch_fmt != 2, bound);
            }
            _ => {}
        }
        if self.walker.inferred {
            self.flow.stage = Stage::Again;
            self.walker.begin_walk(false);
            return Ok(());
        }
        self.resolve()
    }

    /// Continues after the second occurrence of the address reported before.
    fn after_again(&mut self, out: &mut Batch) -> Result<(), Fault> {
        match self.packet {
            Packet::Support(support) => {
                self.end(&support, out);
                Ok(())
            }
            _ => self.resolve(),
        }
    }

    /// Sets the goal of a format 0, 1 or 2 packet.
    #[inline]
    fn resolve(&mut self) -> Result<(), Fault> {
        let reported = match self.packet {
            Packet::Address(reported) => reported,
            Packet::Branches(packet) if packet.branches != 0 => packet.reported,
            Packet::BranchCount(packet) if packet.branch_fmt != 0 => packet.reported,
            Packet::JumpTarget(packet) => return self.resolve_cached(&packet),
            _ => {
                self.flow.stage = Stage::Walk(self.last_branch());
                return Ok(());
            }
        };
        self.flow.stage = Stage::Walk(self.goal(reported));
        Ok(())
    }

    /// The goal of a packet without an address.
    #[inline]
    fn last_branch(&mut self) -> Goal {
        self.flow.sync_follows = false;
        self.walker.begin_walk(true);
        Goal::LastBranch
    }

    /// The goal of a reported address.
    #[inline]
    fn goal(&mut self, reported: Reported) -> Goal {
        let goal = self.reported(reported);
        self.walker.aim_at(self.flow.address);
        goal
    }

    /// The goal of a reported address, before the walker [aims at it](Walker::aim_at).
    #[inline]
    fn reported(&mut self, reported: Reported) -> Goal {
        let params = &self.config.params;
        let value = reported.address << params.iaddress_lsb;
        let base = if self.walker.options.full_address { 0 } else { self.flow.address };
        self.flow.address = mask(base.wrapping_add(value), params.iaddress_width);
        self.flow.sync_follows = reported.updiscon;
        self.walker.begin_walk(false);
        Goal::Address {
            target: self.flow.address,
            notify: reported.notify,
            updiscon: reported.updiscon,
            depth: reported.irreport.then_some(reported.irdepth),
        }
    }

    fn resolve_cached(&mut self, packet: &packet::JumpTarget) -> Result<(), Fault> {
        let index = packet.index;
        let pc = self.walker.pc;
        self.flow.address = self.walker.cache.get(index).ok_or(Fault::EmptyCacheEntry { index, pc })?;
        self.flow.sync_follows = false;
        self.walker.begin_walk(false);
        self.walker.aim_at(self.flow.address);
        self.flow.stage = Stage::Walk(Goal::Address {
            target: self.flow.address,
            notify: false,
            updiscon: false,
            depth: packet.irreport.then_some(packet.irdepth),
        });
        Ok(())
    }

    #[inline]
    fn arrived(&mut self, goal: Goal, out: &mut Batch) {
        match goal {
            Goal::Sync { target, .. } => {
                self.walker.emit_up_to(target, out);
                self.flow.stage = Stage::Begin;
            }
            _ => {
                self.flow.sync_follows |= self.walker.inferred;
                self.flow.stage = Stage::Idle;
                if self.config.data.enable {
                    // Data packets after this one belong to younger instructions.
                    self.walker.emit_through(Exit::Next, false, out);
                }
            }
        }
    }

    fn address_of(&self, field: u64) -> u64 {
        mask(field << self.config.params.iaddress_lsb, self.config.params.iaddress_width)
    }

    /// The context field, if packets have one.
    fn context_field(&self, context: u64, is_3_2: bool) -> Option<u64> {
        let everywhere = self.config.dialect.nocontext_everywhere();
        (self.config.params.nocontext == 0 || (is_3_2 && !everywhere)).then_some(context)
    }

    fn note_time(&mut self, time: u64, out: &mut Batch) {
        if self.config.has_time() {
            let time = Time { kind: TimeKind::Timestamp, value: Some(time), clock: 0 };
            out.push(self.walker.offset, EventKind::Time(time));
        }
    }

    /// Emits changes of privilege and context.
    fn note_context(&mut self, privilege: Option<u32>, context: Option<u64>, change: u8, out: &mut Batch) {
        let new_privilege = privilege.filter(|_| privilege != self.flow.privilege).and_then(privilege_of);
        let new_context = context.filter(|_| context != self.flow.context);
        if new_privilege.is_some() || new_context.is_some() {
            let event = Context {
                privilege: new_privilege,
                context_id: new_context,
                change: new_context.map(|_| change),
                ..Context::default()
            };
            out.push_context(self.walker.offset, event);
        }
        self.flow.privilege = privilege.or(self.flow.privilege);
        self.flow.context = context.or(self.flow.context);
        self.walker.select_code(self.flow.privilege, self.flow.context);
    }
}

//! The effect of each packet on the walker.
//!
//! A packet passes through stages, so that a walk can stop when a batch is full. A synchronisation packet has two
//! sides: the *approach* to it belongs to the packets before, and execution *begins* at it. Parallel decoding cuts
//! between the two.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::*;
use trackway_image::Image;
use trackway_isa::Control;

use super::fault::Fault;
use super::markers::{self, emit_marker};
use super::walk::{Goal, Progress, SavedWalk, Walker};
use crate::config::Config;
use crate::port::privilege_of;
use crate::wire::instruction::{self as packet, Branches, Packet, Reported, Start, Support, qual_status};

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

/// State before a synchronisation packet that the packet does not replace: it is carried into the next part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CarriedState {
    pub(crate) options: crate::modes::Options,
    pub(crate) privilege: Option<u32>,
    pub(crate) context: Option<u64>,
}

/// Decodes the packets of one source.
#[derive(Debug)]
pub(crate) struct Decoder {
    config: Arc<Config>,
    walker: Walker,
    state: FlowState,
    stage: Stage,
    packet: Packet,
    offset: u64,
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
    /// A trap whose handler is not known yet, with its offset.
    held: Option<(u64, Trap)>,
    /// The last known pc before execution was lost, and the reason.
    lost: Option<(Option<u64>, GapReason)>,
    /// Bytes of packets that could not be used since then.
    skipped: u64,
    /// There is no program: only what packets say themselves is shown, after a gap.
    blind: Option<bool>,
    /// Synchronisations, and how many of them are at addresses without code.
    pub(crate) synchronised: (u64, u64),
}

/// All of a [`Decoder`] that its settings and the program do not determine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedDecoder {
    walk: SavedWalk,
    state: FlowState,
    stage: Stage,
    /// The packet, unless it is done.
    packet: Option<Packet>,
    offset: u64,
    len: u32,
    stamp: Option<u64>,
    address: u64,
    sync_follows: bool,
    privilege: Option<u32>,
    context: Option<u64>,
    lost: Option<(Option<u64>, GapReason)>,
    skipped: u64,
    blind: Option<bool>,
}

impl SavedDecoder {
    /// The state that is carried into the next part, before the packet that is not done.
    pub(crate) fn carried(&self) -> (CarriedState, Option<Packet>) {
        let (privilege, context) = (self.privilege, self.context);
        (CarriedState { options: self.walk.options, privilege, context }, self.packet)
    }
}

impl Decoder {
    /// The state between two batches, if it can be continued from later.
    pub(crate) fn save(&self) -> Option<SavedDecoder> {
        if self.held.is_some() || !matches!(self.stage, Stage::Idle | Stage::Walk(_) | Stage::Again) {
            return None;
        }
        Some(SavedDecoder {
            walk: self.walker.save()?,
            state: self.state,
            stage: self.stage,
            packet: (self.stage != Stage::Idle).then_some(self.packet),
            offset: self.offset,
            len: self.len,
            stamp: self.stamp,
            address: self.address,
            sync_follows: self.sync_follows,
            privilege: self.privilege,
            context: self.context,
            lost: self.lost,
            skipped: self.skipped,
            blind: self.blind,
        })
    }

    /// Continues from a state; false if it is not one of these settings.
    pub(crate) fn restore(&mut self, saved: &SavedDecoder) -> bool {
        let is_idle = saved.stage == Stage::Idle;
        let is_stage = matches!(saved.stage, Stage::Idle | Stage::Walk(_) | Stage::Again);
        if !is_stage
            || saved.packet.is_none() != is_idle
            || saved.skipped > u64::MAX / 2
            || saved.blind.is_some() != self.blind.is_some()
            || !self.walker.restore(&saved.walk, self.branch_bound())
        {
            return false;
        }
        self.packet = saved.packet.unwrap_or(self.packet);
        (self.state, self.stage, self.offset, self.len) = (saved.state, saved.stage, saved.offset, saved.len);
        (self.stamp, self.address, self.sync_follows) = (saved.stamp, saved.address, saved.sync_follows);
        (self.privilege, self.context) = (saved.privilege, saved.context);
        (self.lost, self.skipped, self.blind) = (saved.lost, saved.skipped, saved.blind);
        true
    }

    /// More predicted branches in one packet are doubted.
    fn branch_bound(&self) -> u64 {
        u64::from(self.config.encoder.branch_count_max) + 31
    }

    pub(crate) fn new(config: &Arc<Config>, image: &Arc<Image>, isa: Isa) -> Self {
        Decoder {
            config: Arc::clone(config),
            walker: Walker::new(config, image, isa),
            state: FlowState::Fresh,
            stage: Stage::Idle,
            packet: Packet::Address(Reported::default()),
            offset: 0,
            len: 0,
            stamp: None,
            address: 0,
            sync_follows: false,
            privilege: None,
            context: None,
            held: None,
            lost: None,
            skipped: 0,
            blind: image.is_empty().then_some(false),
            synchronised: (0, 0),
        }
    }

    /// Sets the state at the start of a part.
    pub(crate) fn resume(&mut self, carried: CarriedState) {
        self.walker.options = carried.options;
        self.privilege = carried.privilege;
        self.context = carried.context;
    }

    /// Takes the next packet; the one before must be done.
    #[inline]
    pub(crate) fn accept(&mut self, packet: Packet, offset: u64, len: u32, stamp: Option<u64>) {
        self.packet = packet;
        self.offset = offset;
        self.walker.offset = offset;
        self.stamp = stamp;
        self.stage = Stage::First;
        self.len = len;
    }

    /// Takes the first packet of a part: the part before has done its approach.
    pub(crate) fn accept_begin(&mut self, packet: Packet, offset: u64, stamp: Option<u64>) {
        self.accept(packet, offset, 0, stamp);
        self.stage = Stage::Begin;
    }

    /// Is the last packet done and execution known, so that [`follow_flow`](Decoder::follow_flow) applies?
    #[inline]
    pub(crate) fn is_following(&self) -> bool {
        self.stage == Stage::Idle && self.state == FlowState::On && !self.walker.inferred
    }

    /// Fast path for packets of format 1 and 2, the most common ones; false if the batch is full.
    #[inline(always)]
    pub(crate) fn follow_flow(
        &mut self,
        packet: Packet,
        offset: u64,
        len: u32,
        out: &mut Batch,
    ) -> Result<bool> {
        self.walker.offset = offset;
        let goal = match packet {
            Packet::Branches(Branches { branches: 0, branch_map, .. }) => {
                self.walker.outcomes.add_map(branch_map, 31);
                self.last_branch()
            }
            Packet::Branches(Branches { branches, branch_map, reported }) => {
                self.walker.outcomes.add_map(branch_map, branches);
                self.goal(reported)
            }
            Packet::Address(reported) => self.goal(reported),
            _ => return Ok(true),
        };
        let walked = self.walker.walk(goal, out);
        if let Ok(Progress::Arrived) = walked {
            self.arrived(goal, out);
            return Ok(true);
        }
        self.accept(packet, offset, len, None);
        self.stage = Stage::Walk(goal);
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
            let done = match self.stage {
                Stage::Idle => return Ok(Progress::Arrived),
                Stage::Begin if approach => {
                    self.stage = Stage::Idle;
                    return Ok(Progress::Arrived);
                }
                Stage::First => self.first(out),
                Stage::Again => match self.walker.walk(Goal::Again { target: self.address }, out) {
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
                    self.stage = Stage::Begin;
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
            if self.stage == Stage::Idle
                && let Some(value) = self.stamp.take()
            {
                let time = Time { kind: TimeKind::Timestamp, value: Some(value), clock: 1 };
                out.push(self.offset, EventKind::Time(time));
            }
        }
    }

    /// Instructions emitted since the last call.
    pub(crate) fn take_instructions(&mut self) -> u64 {
        std::mem::take(&mut self.walker.instructions)
    }

    /// Is the current packet done?
    pub(crate) fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }

    /// Ends the source, or the part.
    pub(crate) fn finish(&mut self, out: &mut Batch) {
        self.note_missing_code();
        if self.state == FlowState::On {
            self.walker.emit_through(Exit::End, false, out);
        }
        self.emit_held_trap(None, out);
        self.emit_loss(None, out);
        self.state = FlowState::Off;
    }

    /// If the instruction reported last is not in the program, execution is unknown until the next synchronisation.
    fn note_missing_code(&mut self) {
        if self.state == FlowState::On && self.walker.lacks_code() {
            self.lose_code(self.walker.start);
        }
    }

    fn lose_code(&mut self, pc: u64) {
        self.state = FlowState::Lost;
        self.lost = Some((Some(pc), GapReason::NoCode));
        self.walker.outcomes.clear();
        self.walker.inferred = false;
    }

    /// A packet could not be read: execution is unknown until the next synchronisation.
    pub(crate) fn lose_track(&mut self, out: &mut Batch) {
        self.note_missing_code();
        if matches!(self.state, FlowState::On | FlowState::Off | FlowState::Trapped) {
            let from = (self.state == FlowState::On).then_some(self.walker.pc);
            self.finish(out);
            self.lost = Some((from, GapReason::BadInput));
        }
        self.state = FlowState::Lost;
        self.lost.get_or_insert((None, GapReason::BadInput));
    }

    /// Counts bytes that were skipped to find a frame again.
    pub(crate) fn skip(&mut self, bytes: u64) {
        self.state = FlowState::Lost;
        self.lost.get_or_insert((None, GapReason::BadInput));
        self.skipped += bytes;
    }

    /// Begins with the packet.
    fn first(&mut self, out: &mut Batch) -> Result<(), Fault> {
        if self.blind.is_some() {
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
                self.stage = Stage::Idle;
                // Instructions known to have retired did so before.
                if self.state == FlowState::On {
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
        self.stage = Stage::Idle;
        if !matches!(self.packet, Packet::Support(_)) && self.blind.replace(true) == Some(false) {
            out.push_gap(self.offset, Gap::new(GapReason::NoCode));
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
                out.push_trap(self.offset, Trap { to, ..self.trap_event(&packet, None) });
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
        match self.state {
            FlowState::On => {}
            // The loss is reported already, or the trace starts in mid-stream.
            FlowState::Lost | FlowState::Fresh => {
                self.skipped += u64::from(self.len);
                self.stage = Stage::Idle;
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
            self.stage = Stage::Again;
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
                self.stage = Stage::Walk(self.last_branch());
                return Ok(());
            }
        };
        self.stage = Stage::Walk(self.goal(reported));
        Ok(())
    }

    /// The goal of a packet without an address.
    #[inline]
    fn last_branch(&mut self) -> Goal {
        self.sync_follows = false;
        self.walker.begin_walk(true);
        Goal::LastBranch
    }

    /// The goal of a reported address.
    #[inline]
    fn goal(&mut self, reported: Reported) -> Goal {
        let params = &self.config.params;
        let value = reported.address << params.iaddress_lsb;
        let base = if self.walker.options.full_address { 0 } else { self.address };
        self.address = mask(base.wrapping_add(value), params.iaddress_width);
        self.sync_follows = reported.updiscon;
        let branch = self.walker.is_branch(self.address);
        self.walker.begin_walk(branch);
        Goal::Address {
            target: self.address,
            notify: reported.notify,
            updiscon: reported.updiscon,
            depth: reported.irreport.then_some(reported.irdepth),
        }
    }

    fn resolve_cached(&mut self, packet: &packet::JumpTarget) -> Result<(), Fault> {
        let index = packet.index;
        let pc = self.walker.pc;
        self.address = self.walker.cache.get(index).ok_or(Fault::EmptyCacheEntry { index, pc })?;
        self.sync_follows = false;
        let branch = self.walker.is_branch(self.address);
        self.walker.begin_walk(branch);
        self.stage = Stage::Walk(Goal::Address {
            target: self.address,
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
                self.stage = Stage::Begin;
            }
            _ => {
                self.sync_follows |= self.walker.inferred;
                self.stage = Stage::Idle;
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

    fn approach_start(&mut self, start: &Start, out: &mut Batch) -> Result<(), Fault> {
        let target = self.address_of(start.address);
        if self.state != FlowState::On {
            self.emit_held_trap(Some(target), out);
            self.emit_resumption(target, out);
            self.stage = Stage::Begin;
            return Ok(());
        }
        let context = self.context_field(start.context, false);
        let direct = self.walker.successor() == Some(target);
        let known = self.walker.control().is_some_and(|control| !control.is_indirect());
        if self.sync_follows && !direct && known && context != self.context {
            // The context changed as an asynchronous discontinuity (table 4.4).
            self.walker.emit_through(Exit::End, false, out);
            self.state = FlowState::Trapped;
            self.stage = Stage::Begin;
            return Ok(());
        }
        let branch = self.walker.is_branch_seen(target, Some(start.privilege), context);
        if branch {
            self.walker.outcomes.add_sync(start.branch);
        }
        let other = self.privilege.is_some_and(|privilege| privilege != start.privilege);
        let gated = self.config.dialect.privilege_gates_sync() && other;
        self.walker.inferred = false;
        self.walker.begin_walk(branch);
        self.stage = Stage::Walk(Goal::Sync { target, gated });
        Ok(())
    }

    fn approach_trap(&mut self, packet: &packet::Trap, out: &mut Batch) -> Result<(), Fault> {
        let at = self.address_of(packet.address);
        let epc = self.epc(packet, at);
        let handler = if !packet.thaddr {
            None
        } else if self.walker.options.implicit_exception {
            self.config.handler(privilege_of(packet.privilege), packet.interrupt, packet.ecause)
        } else {
            Some(at)
        };
        // An instruction that could not be fetched was not attempted: instruction access and page faults.
        let attempted = epc.filter(|_| !packet.interrupt && !matches!(packet.ecause, 1 | 12 | 20));
        match (self.state, attempted) {
            (FlowState::On, Some(epc)) => self.walker.emit_attempted(epc, out),
            (FlowState::On, None) => self.walker.emit_through(Exit::Trap, false, out),
            (_, attempted) => {
                self.emit_held_trap(epc, out);
                self.emit_resumption(epc.or(handler).unwrap_or(at), out);
                if !packet.thaddr {
                    self.note_before_trap(packet, out);
                }
                if let Some(epc) = attempted {
                    self.walker.emit_lone_attempt(epc, out);
                }
            }
        }
        if !packet.thaddr {
            self.note_before_trap(packet, out);
        }
        let trap = Trap { to: handler, ..self.trap_event(packet, epc) };
        if !packet.thaddr {
            self.held = Some((self.offset, trap));
            self.state = FlowState::Trapped;
            self.stage = Stage::Idle;
            return Ok(());
        }
        out.push_trap(self.offset, trap);
        self.state = FlowState::Trapped;
        if handler.is_none() {
            return Err(Fault::NoHandler { cause: packet.ecause });
        }
        self.stage = Stage::Begin;
        Ok(())
    }

    /// The trap of a packet, less its handler.
    fn trap_event(&self, packet: &packet::Trap, epc: Option<u64>) -> Trap {
        let is_illegal = packet.ecause == 2 && !packet.interrupt;
        let has_value = if self.config.dialect.has_tvalepc() { !is_illegal } else { !packet.interrupt };
        Trap {
            cause: Some(packet.ecause),
            value: has_value.then_some(packet.tval),
            from: epc,
            return_address: epc,
            syscall: call_of(packet.interrupt, packet.ecause),
            ..Trap::new(if packet.interrupt { TrapKind::Interrupt } else { TrapKind::Exception })
        }
    }

    /// Updates privilege and context from a trap packet without a handler: those before the trap.
    fn note_before_trap(&mut self, packet: &packet::Trap, out: &mut Batch) {
        let context = self.context_field(packet.context, false);
        self.note_context(Some(packet.privilege), context, 2, out);
    }

    /// Address of the instruction that trapped, if it is known.
    fn epc(&mut self, packet: &packet::Trap, at: u64) -> Option<u64> {
        if self.config.dialect.has_tvalepc() && packet.ecause == 2 && !packet.interrupt {
            return Some(packet.tval);
        }
        if self.state != FlowState::On {
            // The first instruction traced, or a trap directly after another.
            return (!packet.thaddr).then_some(at);
        }
        match self.walker.control()? {
            Control::SystemCall | Control::Breakpoint => Some(self.walker.pc),
            control if control.is_indirect() && !packet.thaddr => Some(at),
            // Without thaddr it is unknown whether a return went to the address on the stack.
            control if control.is_indirect() && !self.config.dialect.has_thaddr() => None,
            _ => self.walker.successor(),
        }
    }

    fn support(&mut self, support: &Support, out: &mut Batch) {
        self.stage = Stage::Idle;
        self.walker.options =
            self.config.options_after(support.ioptions, support.doptions, self.walker.options);
        if self.config.data.enable {
            let options = &self.walker.options;
            let bits = u8::from(options.no_address) | u8::from(options.no_data) << 1;
            emit_marker(self.offset, markers::MODES, &[bits], out);
        }
        if support.dloss && self.config.data.enable && support.qual_status != qual_status::TRACE_LOST {
            // Accesses are missing, and no instruction is.
            let on = self.state == FlowState::On;
            if on {
                self.walker.emit_through(Exit::Next, false, out);
            }
            let (from, instructions) = (on.then_some(self.walker.pc), Some(0));
            out.push_gap(self.offset, Gap { from, instructions, ..Gap::new(GapReason::Overflow) });
        }
        if support.qual_status == qual_status::NO_CHANGE {
            return;
        }
        if support.qual_status == qual_status::ENDED_UPD
            && self.walker.inferred
            && self.state == FlowState::On
        {
            self.walker.begin_walk(false);
            self.stage = Stage::Again;
            return;
        }
        self.end(support, out);
    }

    fn end(&mut self, support: &Support, out: &mut Batch) {
        self.stage = Stage::Idle;
        let from = (self.state == FlowState::On).then_some(self.walker.pc);
        // An encoder that continues at once starts again at the handler of the last trap.
        let held = if support.enable { self.held.take() } else { None };
        self.finish(out);
        self.held = held;
        if support.qual_status == qual_status::TRACE_LOST {
            self.state = FlowState::Lost;
            self.lost = Some((from, GapReason::Overflow));
        } else {
            out.push(self.offset, EventKind::Mark(Mark::new(MarkKind::TraceOff)));
        }
        self.skipped = 0;
    }

    /// Emits that tracing continues at `to` after it was off or lost.
    fn emit_resumption(&mut self, to: u64, out: &mut Batch) {
        self.emit_loss(Some(to), out);
        if self.state == FlowState::Off {
            out.push(self.offset, EventKind::Mark(Mark::new(MarkKind::TraceOn)));
        }
    }

    /// Emits a gap if instructions before `to` are lost.
    fn emit_loss(&mut self, to: Option<u64>, out: &mut Batch) {
        if self.state == FlowState::Lost || (self.state == FlowState::Fresh && self.skipped > 0) {
            self.emit_gap_to(to, out);
        }
    }

    fn emit_gap(&mut self, out: &mut Batch) {
        let to = match self.packet {
            Packet::Start(start) => Some(self.address_of(start.address)),
            _ => None,
        };
        self.emit_gap_to(to, out);
    }

    fn emit_gap_to(&mut self, to: Option<u64>, out: &mut Batch) {
        let (from, reason) = self.lost.take().unwrap_or((None, GapReason::LostSync));
        let bytes = Some(std::mem::take(&mut self.skipped)).filter(|bytes| *bytes > 0);
        out.push_gap(self.offset, Gap { from, to, bytes, ..Gap::new(reason) });
    }

    fn emit_held_trap(&mut self, to: Option<u64>, out: &mut Batch) {
        if let Some((offset, trap)) = self.held.take() {
            out.push_trap(offset, Trap { to: trap.to.or(to), ..trap });
        }
    }

    /// Execution continues at the packet's instruction.
    fn begin(&mut self, out: &mut Batch) {
        self.stage = Stage::Idle;
        let (branch, privilege, time, context, target) = match self.packet {
            Packet::Start(start) => {
                (start.branch, start.privilege, start.time, start.context, self.address_of(start.address))
            }
            Packet::Trap(trap) => {
                let implied = self.walker.options.implicit_exception;
                let handler = if implied {
                    self.config.handler(privilege_of(trap.privilege), trap.interrupt, trap.ecause)
                } else {
                    Some(self.address_of(trap.address))
                };
                let Some(handler) = handler else { return };
                (trap.branch, trap.privilege, trap.time, trap.context, handler)
            }
            _ => return,
        };
        if self.config.data.enable {
            emit_marker(self.offset, markers::BEGIN, &[], out);
        }
        let before = match self.packet {
            Packet::Start(_) if self.state == FlowState::On && self.walker.options.sijump => {
                if self.walker.start == target {
                    self.walker.before()
                } else {
                    self.walker.predecessor(target)
                }
            }
            _ => None,
        };
        self.note_time(time, out);
        self.note_context(Some(privilege), self.context_field(context, false), 2, out);
        self.walker.place(target, before);
        self.walker.outcomes.clear();
        if self.walker.is_branch(target) {
            self.walker.outcomes.add_sync(branch);
        }
        self.address = target;
        self.sync_follows = false;
        self.state = FlowState::On;
        self.skipped = 0;
        self.synchronised.0 += 1;
        self.synchronised.1 += u64::from(self.walker.lacks_code());
    }

    fn note_time(&mut self, time: u64, out: &mut Batch) {
        if self.config.has_time() {
            let time = Time { kind: TimeKind::Timestamp, value: Some(time), clock: 0 };
            out.push(self.offset, EventKind::Time(time));
        }
    }

    /// Emits changes of privilege and context.
    fn note_context(&mut self, privilege: Option<u32>, context: Option<u64>, change: u8, out: &mut Batch) {
        let new_privilege = privilege.filter(|_| privilege != self.privilege).and_then(privilege_of);
        let new_context = context.filter(|_| context != self.context);
        if new_privilege.is_some() || new_context.is_some() {
            let event = Context {
                privilege: new_privilege,
                context_id: new_context,
                change: new_context.map(|_| change),
                ..Context::default()
            };
            out.push_context(self.offset, event);
        }
        self.privilege = privilege.or(self.privilege);
        self.context = context.or(self.context);
        self.walker.select_code(self.privilege, self.context);
    }

    /// The packet cannot be followed: emits the reason, and waits for the next synchronisation.
    #[cold]
    fn fail(&mut self, fault: Fault, out: &mut Batch) -> Result<()> {
        let on = self.state == FlowState::On;
        self.stage = match self.packet {
            Packet::Start(_) => Stage::Lost,
            _ => Stage::Idle,
        };
        if let Fault::NoCode { pc } = fault {
            // The trace may be right: the program is not all that ran.
            self.lose_code(pc);
            return Ok(());
        }
        if on {
            self.walker.doubtful = true;
            self.walker.emit_through(Exit::End, false, out);
            self.walker.doubtful = false;
        }
        self.emit_held_trap(None, out);
        let class = self.walker.control().filter(|_| fault.pc().is_some());
        let mut text = format!("{} at {:#x} cannot be followed: {fault}", self.packet.title(), self.offset);
        if let Some(control) = class {
            text += &format!("; the walk reached {:#x}, which is {control:?} in the program", self.walker.pc);
        }
        let span = out.add_bytes(text.as_bytes());
        out.push(self.offset, EventKind::Mark(Mark { text: span, ..Mark::new(MarkKind::Note) }));
        self.lost = Some((on.then_some(self.walker.pc), GapReason::LostSync));
        self.state = FlowState::Lost;
        self.walker.outcomes.clear();
        self.walker.inferred = false;
        Err(fault.kind().at(self.offset, self.packet.title(), fault.field(), self.packet.section()))
    }
}

/// The instruction that makes an environment call (privileged spec, table of causes).
pub(crate) fn call_of(interrupt: bool, cause: u64) -> Option<Syscall> {
    (!interrupt && (8..=11).contains(&cause)).then_some(Syscall::Ecall)
}

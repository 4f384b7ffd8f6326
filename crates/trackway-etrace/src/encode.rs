//! The encoder: figure 8.1 of the draft and its successor in version 2, with the holes closed.
//!
//! One *pass* per retired instruction, or trap without one, sees the instruction before and the one after
//! (chapter 8). First "yes" wins, and a pass sends one packet in almost all cases. What hardware cannot
//! afford and **exact** mode adds (`docs/decisions/0181-etrace-exact-mode.md`): no address is passed twice
//! between a report or branch and the next report, so whatever is reported is found at once.
//!
//! Plain instructions that follow each other are joined to one as they come in, so blocks and single
//! instructions give the same packets by construction.

use trackway_core::{Fate, Losses, Result};

use crate::config::{Config, ConfigError, ResyncMode, privilege_of};
use crate::options::Options;
use crate::packet::{
    BranchCount, Branches, Context, JumpTarget, Packet, Reported, Start, Support, Trap, map_bits, qual_status,
};
use crate::port::{Block, Cycle, Itype, Trigger};
use crate::state::{JumpCache, Predictor, ReturnStack};
use crate::write::{Buffer, Writer};

/// A trap at the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrapIn {
    pub(crate) interrupt: bool,
    pub(crate) cause: u64,
    pub(crate) tval: u64,
    /// Where it hit, if known.
    pub(crate) epc: Option<u64>,
}

/// What happens at a place in the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum What {
    /// Nothing there.
    #[default]
    Empty,
    /// An instruction retires.
    Retire,
    /// A trap without retirement.
    Trap,
    /// Tracing is off from here.
    Off,
}

/// One row of the pipeline.
#[derive(Clone, Copy, Debug, Default)]
struct Inst {
    /// Nothing that any decision looks at.
    plain: bool,
    what: What,
    itype: Itype,
    sijump: bool,
    notify: bool,
    /// Privilege changed here.
    privilege_changed: bool,
    /// Context changed here, to be reported precisely.
    context_changed: bool,
    /// The flow breaks before this one, and nothing tells how.
    discontinuous: bool,
    /// Context changed here, to be reported some time.
    imprecise: bool,
    size: u8,
    privilege: u32,
    /// Half-words that retire.
    halfwords: u32,
    /// First address that retires with it; plain instructions are joined to the next.
    from: u64,
    /// Its address.
    address: u64,
    context: u64,
    time: u64,
    cycle: u64,
}

impl Inst {
    #[inline(always)]
    fn settle_plain(mut self) -> Self {
        self.plain = self.is_plain();
        self
    }

    fn is_plain(&self) -> bool {
        self.what == What::Retire
            && self.itype.0 == 0
            && !(self.notify
                | self.privilege_changed
                | self.context_changed
                | self.discontinuous
                | self.imprecise)
    }

    /// Will be reported by a format 3 packet for its own sake.
    fn changes(&self) -> bool {
        self.privilege_changed || self.context_changed
    }
}

/// How control leaves an instruction, as the decoder will see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Leave {
    #[default]
    Plain,
    Branch,
    /// To a place that the encoding tells.
    Inferred,
    /// To a place that the instruction before tells (sequentially inferable).
    InferredPair,
    /// To a place that the return stack tells.
    InferredReturn,
    Updiscon,
    /// A return that goes elsewhere than the stack says.
    Mispredicted,
}

/// What is left of the instruction before.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    leave: Leave,
    /// The trap before this instruction, and whether it was reported.
    trap: Option<TrapIn>,
    trap_reported: bool,
    /// Another trap came right before that one.
    trap_chained: bool,
    /// Privilege when it hit.
    privilege: u32,
    /// Call depth before a mispredicted return.
    depth: u32,
    /// The target of an uninferable discontinuity was passed already since the last report or branch.
    target_passed: bool,
}

impl Past {
    fn updiscon(&self) -> bool {
        self.trap.is_none() && matches!(self.leave, Leave::Updiscon | Leave::Mispredicted)
    }
}

/// Why an address is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It follows an uninferable discontinuity, or is the last before something.
    Flow,
    /// It was asked for.
    Notify,
}

/// What was walked since the last report or branch, in exact mode.
#[derive(Clone, Debug, Default)]
struct Stretch {
    /// Straight runs walked, first and last instruction.
    runs: Vec<(u64, u64)>,
    /// Start of the run going on.
    start: u64,
    /// The inferred transfer that the run going on began with.
    transfer: Option<u64>,
}

impl Stretch {
    /// Was `address` passed, now that the run going on has come to `here`?
    fn has_passed(&self, address: u64, here: u64) -> bool {
        let within = |&(first, last): &(u64, u64)| first <= address && address <= last;
        within(&(self.start, here)) || self.runs.iter().any(within)
    }
}

/// More runs than this without a branch are cut by a report.
const MAX_RUNS: usize = 32;

/// The trace encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: Config,
    /// Where packets go.
    pub writer: Writer,
    /// What could not be said.
    pub losses: Losses,
    options: Options,
    past: Past,
    cur: Inst,
    next: Inst,
    /// The traps of `cur` and `next`, and of what comes in, where those are traps.
    cur_trap: TrapIn,
    next_trap: TrapIn,
    coming_trap: TrapIn,
    /// Nothing was traced yet since tracing went on.
    first: bool,
    /// Whatever is in `next` now, if plain, its pass sends nothing: it can be joined to what follows it.
    calm: bool,
    /// The next instruction gets a 3/0 for resynchronisation.
    sync_next: bool,
    /// Tracing ends and starts again before the next instruction.
    restart: bool,
    /// The last address packet was due to an uninferable discontinuity.
    ended_by_updiscon: bool,
    /// The last flow packet has two places that fit: what follows it must not be a format 3 packet.
    twofold: bool,
    map: u32,
    branches: u64,
    /// Correctly predicted branches since the last report.
    predicted: u64,
    last_address: u64,
    context_pending: bool,
    /// Packets or half-words since the last synchronisation, or the cycle of it.
    resync: u64,
    predictor: Predictor,
    cache: JumpCache,
    stack: ReturnStack,
    stretch: Stretch,
    /// For call depth reports: a return came after the last call; a branch came after the last return.
    returned: bool,
    branched: bool,
    buffer: Buffer,
    lost: bool,
    /// Cycles that the core was stalled.
    pub stalled: u64,
    enabled: bool,
    /// Last privilege and context at the port.
    port: Option<(u32, u64)>,
    off: bool,
    error: Result<()>,
}

impl Encoder {
    /// An encoder; tracing is on.
    pub fn new(config: &Config) -> Result<Encoder, ConfigError> {
        config.check()?;
        Ok(Encoder {
            config: config.clone(),
            writer: Writer::new(config),
            losses: Losses::default(),
            options: config.options,
            past: Past::default(),
            cur: Inst::default(),
            next: Inst::default(),
            cur_trap: TrapIn::default(),
            next_trap: TrapIn::default(),
            coming_trap: TrapIn::default(),
            first: true,
            calm: false,
            sync_next: false,
            restart: false,
            ended_by_updiscon: false,
            twofold: false,
            map: 0,
            branches: 0,
            predicted: 0,
            last_address: 0,
            context_pending: false,
            resync: 0,
            predictor: Predictor::new(config),
            cache: JumpCache::new(config),
            stack: ReturnStack::new(config),
            stretch: Stretch::default(),
            returned: false,
            branched: false,
            buffer: Buffer::new(config),
            lost: false,
            stalled: 0,
            enabled: false,
            port: None,
            off: false,
            error: Ok(()),
        })
    }

    /// Takes what the port shows in a cycle. A block with `itype` 1 or 2 may retire instructions of `itype` 0
    /// before the trap.
    pub fn cycle(&mut self, cycle: &Cycle<'_>) -> Result<()> {
        if cycle.halted || cycle.reset {
            self.stop(cycle.cycle);
            return self.error;
        }
        for block in cycle.blocks {
            self.block(block, cycle);
        }
        match &self.error {
            Ok(()) => Ok(()),
            Err(error) => Err(*error),
        }
    }

    /// Takes one block.
    #[inline]
    pub(crate) fn block(&mut self, block: &Block, cycle: &Cycle<'_>) {
        // The hot way: one more plain block behind plain ones.
        if self.next.plain
            && self.calm
            && block.itype.0 == 0
            && block.iretire > 0
            && block.iaddr == self.next.address.wrapping_add(u64::from(self.next.size))
            && self.next.size > 0
            && block.trigger == Trigger::default()
            && self.port == Some((cycle.privilege, cycle.context))
        {
            self.next.address = block.last();
            self.next.size = 2 << block.ilastsize;
            self.next.halfwords += block.iretire;
            self.next.cycle = cycle.cycle;
            return;
        }
        self.block_slow(block, cycle);
    }

    fn block_slow(&mut self, block: &Block, cycle: &Cycle<'_>) {
        if block.trigger.on {
            self.off = false;
        }
        let is_trap = matches!(block.itype, Itype::EXCEPTION | Itype::INTERRUPT);
        if !self.off && block.iretire > 0 {
            let last = block.last();
            let itype = if is_trap { Itype::NONE } else { block.itype };
            let mut inst = Inst {
                what: What::Retire,
                sijump: block.sijump,
                privilege: cycle.privilege,
                from: block.iaddr,
                address: block.iaddr,
                context: cycle.context,
                time: cycle.time,
                cycle: cycle.cycle,
                ..Inst::default()
            };
            self.note_changes(&mut inst, cycle.ctype);
            if last != block.iaddr {
                // The first instruction can be told something by itself; the rest goes with the last.
                inst.sijump = false;
                self.push(inst);
                inst = Inst {
                    privilege_changed: false,
                    context_changed: false,
                    discontinuous: false,
                    imprecise: false,
                    from: block.iaddr.wrapping_add(2),
                    sijump: block.sijump,
                    ..inst
                };
            }
            inst.itype = itype;
            inst.address = last;
            inst.size = 2 << block.ilastsize;
            inst.halfwords = block.iretire;
            inst.notify = block.trigger.notify;
            self.push(inst);
        }
        if is_trap && !self.off {
            let trap = TrapIn {
                interrupt: block.itype == Itype::INTERRUPT,
                cause: cycle.cause,
                tval: cycle.tval,
                epc: (block.iretire == 0).then_some(block.iaddr),
            };
            self.trap(trap, cycle.privilege, cycle.context, cycle.time, cycle.cycle);
        }
        if block.trigger.off && !self.off {
            self.stop(cycle.cycle);
            self.off = true;
        }
    }

    /// A trap, of which nothing retires.
    pub(crate) fn trap(&mut self, trap: TrapIn, privilege: u32, context: u64, time: u64, cycle: u64) {
        self.coming_trap = trap;
        self.push(Inst { what: What::Trap, privilege, context, time, cycle, ..Inst::default() });
    }

    /// Tracing stops: filter, trigger, halt, reset, end.
    pub fn stop(&mut self, cycle: u64) {
        if self.next.what != What::Empty && self.next.what != What::Off {
            self.push(Inst { what: What::Off, cycle, ..Inst::default() });
        }
        self.port = None;
    }

    /// The modes change: what was traced so far ends, and a support packet tells the new ones.
    pub fn set_options(&mut self, options: Options, cycle: u64) -> Result<(), ConfigError> {
        let config = Config { options, ..self.config.clone() };
        config.check()?;
        self.stop(cycle);
        self.drain();
        self.config = config;
        self.options = options;
        self.enabled = false;
        Ok(())
    }

    /// Ends the trace and sends what is pending.
    pub fn finish(&mut self, cycle: u64) -> Result<()> {
        self.stop(cycle);
        self.drain();
        self.error
    }

    pub(crate) fn check_error(&self) -> Result<()> {
        self.error
    }

    /// Runs what is in the pipeline.
    fn drain(&mut self) {
        for _ in 0..2 {
            self.push(Inst::default());
        }
        self.cur = Inst::default();
        self.next = Inst::default();
        self.calm = false;
    }

    /// Compares with what the port showed before (table 4.4).
    #[inline]
    fn note_changes(&mut self, inst: &mut Inst, ctype: u8) {
        let now = (inst.privilege, inst.context);
        if let Some((privilege, context)) = self.port
            && self.port != Some(now)
        {
            inst.privilege_changed = privilege != inst.privilege;
            if context != inst.context && self.config.params.nocontext == 0 {
                // A context that changes without a word is the core's own business (ctype 0).
                inst.imprecise = ctype == 1;
                inst.context_changed = ctype == 2;
                inst.discontinuous |= ctype == 3;
                inst.context_changed |= ctype == 3;
            }
        }
        self.port = Some(now);
    }

    #[inline]
    fn push(&mut self, inst: Inst) {
        let inst = inst.settle_plain();
        // A run of plain instructions goes on as one.
        if inst.plain
            && self.next.plain
            && self.calm
            && inst.from == self.next.address.wrapping_add(u64::from(self.next.size.max(2)))
        {
            self.next.address = inst.address;
            self.next.size = inst.size;
            self.next.halfwords += inst.halfwords;
            self.next.cycle = inst.cycle;
            return;
        }
        self.cur = self.next;
        self.next = inst;
        if self.cur.what == What::Trap {
            self.cur_trap = self.next_trap;
        }
        if inst.what == What::Trap {
            self.next_trap = self.coming_trap;
        }
        match self.cur.what {
            What::Empty => {}
            What::Retire => self.pass(),
            What::Trap => self.trap_pass(),
            What::Off => self.off_pass(),
        }
    }

    /// Room again after trace was lost? Then says so and starts over.
    fn recover(&mut self) -> bool {
        if !self.lost {
            return true;
        }
        if !self.buffer.has_room(self.cur.cycle + self.stalled, 48) {
            return false;
        }
        self.lost = false;
        self.send_support(true, qual_status::TRACE_LOST);
        self.begin();
        true
    }

    /// Forgets what was going on: the next instruction is the first.
    fn begin(&mut self) {
        self.first = true;
        self.calm = false;
        self.past = Past::default();
        self.sync_next = false;
        self.restart = false;
        self.clear_branches();
    }

    fn pass(&mut self) {
        if !self.recover() {
            return;
        }
        let cur = self.cur;
        let exact = self.config.encoder.exact;
        if exact && !self.stretch.runs.is_empty() {
            self.avoid_overlap(cur.from, cur.address);
        }
        let mut failed = false;
        let is_branch = cur.itype.is_branch();
        if is_branch {
            failed = self.add_branch(&cur);
        }
        if cur.imprecise {
            self.context_pending = true;
        }

        // A decoder that starts here does not know the instruction before, which a pair needs.
        let fresh = self.first || self.restart || self.past.trap.is_some() || cur.discontinuous;
        // 2 and 3 of the figure: what needs a synchronisation packet.
        let mut reported = false;
        if self.past.trap.is_some() {
            self.report_handler(&cur);
            reported = true;
        } else if self.first || self.restart || self.sync_next || cur.changes() || cur.discontinuous {
            self.report_start(&cur);
            reported = true;
        }
        if self.lost {
            return;
        }
        let synced = reported;

        let leave = self.leave(&cur, fresh);
        let next = self.next;
        let due = !synced && self.is_due(&cur, leave);
        let restart = exact && self.must_restart(&cur, &next, leave);
        let format_3 =
            !restart && (next.what == What::Trap || (next.what == What::Retire && next.changes()) || due);
        // For an Off the codes of the support packet tell the same.
        let after_updiscon = self.past.updiscon();
        // Chapter 11 takes a depth in the packet after a twofold report for that of the first place.
        let twofold_next = exact
            && self.options.implicit_return
            && matches!(leave, Leave::Updiscon | Leave::Mispredicted)
            && next.what == What::Retire
            && self.stretch.has_passed(next.from, cur.address);
        if !reported {
            let pending = self.branches > 0;
            let gate = self.config.dialect.privilege_gates_sync() && next.privilege_changed;
            let wants = after_updiscon
                || cur.notify
                || (due && (pending || leave == Leave::Updiscon))
                || matches!(next.what, What::Trap | What::Off)
                || restart
                || (next.what == What::Retire && next.discontinuous)
                || (next.changes() && pending)
                || (exact && self.twofold && (due || next.changes()))
                || twofold_next
                || (exact && next.changes() && leave == Leave::Updiscon && !gate)
                || (exact && leave == Leave::Mispredicted);
            let full = is_branch && self.predicted >= 31 && self.count_is_full();
            if wants || full {
                // Chapter 11 stops behind a jump of these classes only if asked to.
                let odd = matches!(self.past.leave, Leave::InferredPair | Leave::InferredReturn);
                let asked = cur.notify
                    || full
                    || (exact && odd)
                    || (twofold_next && !format_3 && !restart)
                    || (exact
                        && leave == Leave::Mispredicted
                        && !format_3
                        && !restart
                        && next.what != What::Off);
                let why = if asked { Why::Notify } else { Why::Flow };
                self.report(cur.address, why, format_3, is_branch && failed);
                reported = true;
            }
        }
        if self.lost {
            return;
        }
        // Where a block of the port begins or ends, so that blocks and single instructions agree.
        let is_edge = cur.imprecise || cur.itype.0 != 0;
        if !reported && !self.report_branches(failed) && self.context_pending && is_edge {
            self.send_context(&cur);
        }
        self.sync_next = due && next.what == What::Retire;
        self.restart = restart && next.what == What::Retire;
        self.count_resync(&cur, synced);
        self.follow(&cur, leave, reported);
        self.calm = !(self.sync_next || self.restart || self.past.updiscon());
    }

    /// Adds an outcome to the map; was the prediction wrong?
    #[inline]
    fn add_branch(&mut self, cur: &Inst) -> bool {
        let taken = cur.itype == Itype::TAKEN_BRANCH;
        let mut failed = false;
        if self.options.branch_prediction {
            failed = self.predictor.predict(cur.address) != taken;
            self.predictor.train(cur.address, taken);
            self.predicted += u64::from(!failed);
        }
        if self.branches < 31 {
            self.map |= u32::from(!taken) << self.branches;
        }
        self.branches += 1;
        self.branched = true;
        failed
    }

    fn count_is_full(&self) -> bool {
        self.predicted - 31 >= u64::from(self.config.encoder.branch_count_max)
    }

    fn clear_branches(&mut self) {
        self.map = 0;
        self.branches = 0;
        self.predicted = 0;
    }

    /// How control leaves, as the decoder will see it; after any synchronisation at this instruction.
    #[inline]
    fn leave(&self, cur: &Inst, fresh: bool) -> Leave {
        let itype = cur.itype;
        if itype.0 == 0 {
            let next = &self.next;
            let straight =
                next.what != What::Retire || next.from == cur.address.wrapping_add(u64::from(cur.size));
            return if straight || cur.size == 0 { Leave::Plain } else { Leave::Inferred };
        }
        if itype.is_branch() {
            return Leave::Branch;
        }
        if !itype.is_uninferable() {
            return Leave::Inferred;
        }
        if cur.sijump && self.options.sijump && !fresh {
            return Leave::InferredPair;
        }
        if itype == Itype::RETURN && self.options.implicit_return && self.stack.depth() > 0 {
            let checked = self.config.encoder.exact || self.config.params.return_stack_size > 0;
            let to = match self.next.what {
                What::Retire => Some(self.next.from),
                What::Trap => self.next_trap.epc,
                _ => None,
            };
            return match to {
                Some(to) if checked && self.stack.top() != Some(to) => Leave::Mispredicted,
                _ => Leave::InferredReturn,
            };
        }
        Leave::Updiscon
    }

    /// Is a resynchronisation due behind this instruction (8.2)? It is sent where a block of the port ends,
    /// so that blocks and single instructions agree, and never at the target of a mispredicted return,
    /// which 3/0 cannot tell.
    #[inline]
    fn is_due(&self, cur: &Inst, leave: Leave) -> bool {
        let Some(interval) = self.config.encoder.interval() else { return false };
        if cur.itype.0 == 0
            || leave == Leave::Mispredicted
            || self.next.what != What::Retire
            || self.next.discontinuous
        {
            return false;
        }
        let count = match self.config.encoder.resync_mode {
            ResyncMode::Off => return false,
            ResyncMode::Packets => self.writer.packets.saturating_sub(self.resync),
            ResyncMode::Cycles => (cur.cycle + self.stalled).saturating_sub(self.resync),
            ResyncMode::Halfwords => self.resync + u64::from(cur.halfwords),
        };
        count >= interval
    }

    #[inline]
    fn count_resync(&mut self, cur: &Inst, synced: bool) {
        match self.config.encoder.resync_mode {
            ResyncMode::Halfwords => {
                self.resync = if synced { 0 } else { self.resync } + u64::from(cur.halfwords);
            }
            ResyncMode::Packets if synced => self.resync = self.writer.packets,
            ResyncMode::Cycles if synced => self.resync = cur.cycle + self.stalled,
            _ => {}
        }
    }

    /// Things that no packet can say to a decoder that goes on: tracing ends and starts again instead.
    fn must_restart(&self, cur: &Inst, next: &Inst, leave: Leave) -> bool {
        if next.what != What::Retire {
            return false;
        }
        let gate = self.config.dialect.privilege_gates_sync();
        next.discontinuous
            || (next.changes() && leave == Leave::Mispredicted)
            || (gate && next.privilege_changed && cur.itype != Itype::TRAP_RETURN)
    }

    /// Keeps call stack, stretch and `past` for the next pass.
    #[inline]
    fn follow(&mut self, cur: &Inst, leave: Leave, reported: bool) {
        let depth = self.stack.depth();
        if self.options.implicit_return && cur.itype.0 >= 8 {
            if cur.itype.is_call() {
                self.stack.push(cur.address.wrapping_add(u64::from(cur.size)));
                self.returned = false;
            } else if leave == Leave::InferredReturn {
                self.stack.pop();
                self.returned = true;
                self.branched = false;
            }
        }
        self.past = Past { leave, depth, ..Past::default() };
        if !self.config.encoder.exact {
            return;
        }
        let stretch = &mut self.stretch;
        if reported {
            stretch.runs.clear();
            stretch.transfer = None;
            // The decoder stands on it: to come here again is to come here first.
            stretch.start = cur.address.wrapping_add(1);
        }
        match leave {
            Leave::Plain => {}
            Leave::Branch | Leave::Updiscon | Leave::Mispredicted => {
                self.past.target_passed =
                    leave != Leave::Branch && stretch.has_passed(self.next.from, cur.address);
                stretch.runs.clear();
                stretch.transfer = None;
                stretch.start = self.next.from;
            }
            Leave::Inferred | Leave::InferredPair | Leave::InferredReturn => {
                if stretch.start <= cur.address {
                    stretch.runs.push((stretch.start, cur.address));
                }
                stretch.transfer = Some(cur.address);
                stretch.start = self.next.from;
            }
        }
    }

    /// Exact mode: where the run going on comes to a place walked before, the transfer that it began with is
    /// reported first. Nothing was sent since, so it is not too late.
    fn avoid_overlap(&mut self, from: u64, to: u64) {
        let stretch = &self.stretch;
        let Some(transfer) = stretch.transfer else { return };
        let full = stretch.runs.len() > MAX_RUNS;
        if full || stretch.runs.iter().any(|&(first, last)| from <= last && first <= to) {
            let past = self.past;
            self.past = Past::default();
            self.report(transfer, Why::Notify, false, false);
            self.past = past;
            self.stretch.runs.clear();
        }
    }

    /// Format 0, 1 or 2 with an address (8.1).
    fn report(&mut self, address: u64, why: Why, format_3: bool, failed: bool) {
        let layout = *self.writer.layout();
        let lsb = self.config.params.iaddress_lsb;
        let difference =
            if self.options.full_address { address } else { address.wrapping_sub(self.last_address) };
        let after_updiscon = self.past.updiscon();
        let mispredicted = self.past.leave == Leave::Mispredicted;
        let mut reported = Reported {
            address: trackway_core::mask(difference >> lsb, layout.address),
            notify: why == Why::Notify && !after_updiscon,
            updiscon: after_updiscon && format_3,
            ..Reported::default()
        }
        .without_depth(&layout);
        let depth = if mispredicted { Some(self.past.depth) } else { self.depth_report(format_3) };
        if let Some(depth) = depth {
            reported.irreport = true;
            reported.irdepth = depth & crate::packet::ones(layout.irdepth);
        }
        let packet = if self.predicted >= 31 {
            Packet::BranchCount(BranchCount {
                branch_count: (self.predicted - 31) as u32,
                branch_fmt: if failed { 3 } else { 2 },
                reported,
            })
        } else {
            let branches = self.branches as u32;
            let plain = match branches {
                0 => Packet::Address(reported),
                _ => Packet::Branches(Branches { branches, branch_map: self.spare_map(branches), reported }),
            };
            self.cached(address, plain, reported)
        };
        if after_updiscon && self.options.jump_target_cache {
            self.cache.insert(address);
        }
        self.ended_by_updiscon = after_updiscon && !reported.updiscon;
        self.twofold = self.ended_by_updiscon && self.past.target_passed;
        self.last_address = address;
        self.clear_branches();
        self.send(&packet);
    }

    /// Format 0/1 instead, where the target is in the cache and nothing is lost by it.
    fn cached(&self, address: u64, plain: Packet, reported: Reported) -> Packet {
        let index = self.cache.index(address);
        if !self.options.jump_target_cache
            || !self.past.updiscon()
            || reported.updiscon
            || self.cache.get(index) != Some(address)
        {
            return plain;
        }
        let layout = self.writer.layout();
        let branches = self.branches as u32;
        let mut jump = JumpTarget { index, branches, branch_map: 0, irreport: false, irdepth: 0 };
        // The spare bits of a map that ends a packet go with its highest valid one.
        let width = map_bits(branches);
        let top = branches > 0 && self.map >> (branches - 1) & 1 == 1;
        jump.branch_map = self.map;
        if top && width > branches {
            jump.branch_map |= crate::packet::ones(width) & !crate::packet::ones(branches);
        }
        let mut jump = jump.without_depth(layout);
        if reported.irreport {
            jump.irreport = true;
            jump.irdepth = reported.irdepth;
        }
        let jump = Packet::JumpTarget(jump);
        let compress = self.config.encoder.compress;
        let length = |packet: &Packet| packet.write(layout, compress).bytes().len();
        if self.config.encoder.shortest && length(&plain) < length(&jump) { plain } else { jump }
    }

    /// Spare bits of a map in front of an address are zero.
    fn spare_map(&self, branches: u32) -> u32 {
        self.map & crate::packet::ones(branches)
    }

    /// Hardware-like mode: must the call depth be told (6.6.3)? In exact mode nothing is ambiguous.
    fn depth_report(&self, format_3: bool) -> Option<u32> {
        if self.config.encoder.exact || !format_3 || !self.options.implicit_return {
            return None;
        }
        let depth = self.stack.depth();
        if self.past.leave == Leave::InferredReturn {
            return (depth > 0).then_some(depth);
        }
        let branched = if self.config.dialect.depth_wants_unreported() {
            self.branched && self.branches > 0
        } else {
            self.branched
        };
        (self.returned && !branched).then_some(depth)
    }

    /// Branches without an address: a full map, or a prediction that failed (8.1).
    fn report_branches(&mut self, failed: bool) -> bool {
        let packet = if self.predicted >= 31 {
            if !failed {
                return false;
            }
            let branch_count = (self.predicted - 31) as u32;
            Packet::BranchCount(BranchCount { branch_count, ..BranchCount::default() })
        } else if self.branches >= 31 {
            Packet::Branches(Branches { branches: 0, branch_map: self.map, ..Branches::default() })
        } else {
            return false;
        };
        self.twofold = false;
        self.clear_branches();
        self.send(&packet);
        true
    }

    /// Format 3/0 for this instruction.
    fn report_start(&mut self, cur: &Inst) {
        self.enable();
        if self.restart {
            self.send_end(true);
        }
        if cur.discontinuous
            && !self.first
            && !self.restart
            && cur.context_changed
            && self.config.dialect.discontinuity_is_trap()
        {
            // Like an exception, without one (table 4.4).
            let packet = self.trap_packet(cur, TrapIn::default(), true, cur.address);
            self.synchronise(cur, &packet);
            return;
        }
        let packet = Packet::Start(Start {
            branch: cur.itype != Itype::TAKEN_BRANCH,
            privilege: cur.privilege,
            time: cur.time,
            context: cur.context,
            address: self.address_field(cur.address),
        });
        self.synchronise(cur, &packet);
    }

    fn address_field(&self, address: u64) -> u64 {
        trackway_core::mask(address >> self.config.params.iaddress_lsb, self.writer.layout().address)
    }

    /// Sends a synchronisation packet and clears what it clears.
    fn synchronise(&mut self, cur: &Inst, packet: &Packet) {
        self.send(packet);
        self.first = false;
        self.sync_next = false;
        self.restart = false;
        self.context_pending = false;
        self.ended_by_updiscon = false;
        self.twofold = false;
        self.last_address = cur.address;
        self.clear_branches();
        self.predictor.reset();
        self.cache.reset();
        self.stack.reset();
        self.returned = false;
        self.branched = false;
    }

    /// The first instruction of a handler (2 of the figure).
    fn report_handler(&mut self, cur: &Inst) {
        self.enable();
        let past = self.past;
        let Some(trap) = past.trap else { return };
        let v2 = self.config.dialect.has_thaddr();
        if past.trap_reported {
            if past.leave == Leave::Mispredicted && self.config.encoder.exact {
                // A decoder that walks from the return would follow the stack.
                self.send_end(true);
            }
            return self.report_start(cur);
        }
        let implied = !self.options.implicit_exception
            || self.config.handler(privilege_of(cur.privilege), trap.interrupt, trap.cause)
                == Some(cur.address);
        if v2 && (!implied || (past.trap_chained && self.config.encoder.exact)) {
            self.report_trap_only(trap, past.privilege, cur);
            self.send_end(true);
            if !self.lost {
                self.report_start(cur);
            }
            return;
        }
        if !implied {
            // The draft cannot say it: what is left is where the handler is.
            self.losses.add(Fate::Dropped, "traps whose handler cannot be inferred", 1);
            self.send_end(true);
            return self.report_start(cur);
        }
        let packet = self.trap_packet(cur, trap, true, cur.address);
        self.synchronise(cur, &packet);
    }

    /// The support packet before the first of a trace, or after a change of modes.
    fn enable(&mut self) {
        if !self.enabled {
            self.enabled = true;
            self.writer.set_options(self.options);
            self.send_support(true, qual_status::NO_CHANGE);
        }
    }

    fn trap_packet(&self, at: &Inst, trap: TrapIn, thaddr: bool, address: u64) -> Packet {
        let is_illegal = trap.cause == 2 && !trap.interrupt;
        let epc_instead = self.config.dialect.has_tvalepc() && is_illegal;
        Packet::Trap(Trap {
            branch: !(thaddr && at.itype == Itype::TAKEN_BRANCH),
            privilege: at.privilege,
            time: at.time,
            context: at.context,
            ecause: trackway_core::mask(trap.cause, self.config.params.ecause_width),
            interrupt: trap.interrupt,
            thaddr,
            address: self.address_field(address),
            tval: trackway_core::mask(
                if epc_instead { trap.epc.unwrap_or(0) } else { trap.tval },
                self.config.params.iaddress_width,
            ),
        })
    }

    /// A trap packet that moves nothing (version 2).
    fn report_trap_only(&mut self, trap: TrapIn, privilege: u32, at: &Inst) {
        self.enable();
        let at = Inst { privilege, ..*at };
        let packet = self.trap_packet(&at, trap, false, trap.epc.unwrap_or(0));
        self.send(&packet);
        self.predictor.reset();
        self.cache.reset();
        self.stack.reset();
        self.ended_by_updiscon = false;
    }

    /// A trap without retirement. It never gets to the decisions below those on traps (hole H1).
    fn trap_pass(&mut self) {
        if !self.recover() {
            return;
        }
        let cur = self.cur;
        let v2 = self.config.dialect.has_thaddr();
        let past = self.past;
        let mut now = Past { trap: Some(self.cur_trap), privilege: cur.privilege, ..Past::default() };
        if let Some(before) = past.trap {
            now.trap_chained = true;
            if !past.trap_reported {
                if v2 {
                    self.report_trap_only(before, past.privilege, &cur);
                } else {
                    self.losses.add(Fate::Dropped, "traps followed by another at once", 1);
                }
            }
        } else if v2 && (self.first || past.updiscon()) && self.cur_trap.epc.is_some() {
            self.report_trap_only(self.cur_trap, cur.privilege, &cur);
            now.trap_reported = true;
            now.leave = past.leave;
        }
        self.first = false;
        self.calm = false;
        self.past = now;
        self.stretch.runs.clear();
        self.stretch.transfer = None;
    }

    /// Tracing stops here.
    fn off_pass(&mut self) {
        if !self.recover() {
            return;
        }
        if let Some(trap) = self.past.trap.filter(|_| !self.past.trap_reported) {
            if self.config.dialect.has_thaddr() {
                let at = self.cur;
                self.report_trap_only(trap, self.past.privilege, &at);
            } else {
                self.losses.add(Fate::Dropped, "traps at the end of tracing", 1);
            }
        }
        if self.enabled && !self.first {
            self.send_end(false);
        }
        self.begin();
        self.stretch = Stretch::default();
    }

    fn send_end(&mut self, enable: bool) {
        let code = if self.ended_by_updiscon { qual_status::ENDED_UPD } else { qual_status::ENDED_REP };
        self.send_support(enable, code);
        self.ended_by_updiscon = false;
    }

    fn send_support(&mut self, enable: bool, qual_status: u32) {
        let ioptions = self.config.support.bits(self.options);
        let packet = Support { enable, qual_status, ioptions, ..Support::default() };
        self.send(&Packet::Support(packet));
    }

    fn send_context(&mut self, cur: &Inst) {
        let packet = Context { privilege: cur.privilege, time: cur.time, context: cur.context };
        self.context_pending = false;
        self.send(&Packet::Context(packet));
    }

    /// Sends a packet, or loses it.
    fn send(&mut self, packet: &Packet) {
        if self.lost || self.error.is_err() {
            return;
        }
        let encoder = &self.config.encoder;
        let cycle = self.cur.cycle + self.stalled;
        if encoder.buffer > 0 {
            let bytes = packet.write(self.writer.layout(), encoder.compress).bytes().len() as u64 + 1;
            if !self.buffer.has_room(cycle, bytes) {
                if !encoder.stall {
                    self.lost = true;
                    self.losses.add(Fate::Dropped, "stretches lost to back-pressure", 1);
                    self.begin();
                    self.stretch = Stretch::default();
                    return;
                }
                let wait = self.buffer.wait(bytes);
                self.stalled += wait;
                self.buffer.has_room(cycle + wait, bytes);
            }
            self.buffer.put(bytes);
        }
        let time = encoder.stamps.then_some(self.cur.time);
        if let Err(error) = self.writer.write(packet, time) {
            self.error = Err(error);
        }
    }
}

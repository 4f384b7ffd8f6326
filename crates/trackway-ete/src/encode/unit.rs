//! The trace unit: its state, and inputs other than instructions.

use std::collections::VecDeque;
use std::sync::Arc;

use trackway_core::{GapReason, SplitMix64};
use trackway_image::{Image, Waypoints};

use crate::config::{Config, ConfigError, refuse};
use crate::transport::buffer::{BufferConfig, Mode};
use crate::wire::address::Entry;
use crate::wire::context::ContextState;
use crate::wire::packet::Packet;

use super::account::{Account, Assumed, Logged, Shown, Step, What};
use super::filter::Filter;
use super::model::{Fifo, Model, Random};
use super::pack::Packer;
use super::registers::Registers;

/// Whether an address is traced before the next P0 element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Need {
    /// Not needed: the decoder can infer it from the program.
    #[default]
    No,
    /// Needed, unless it is on top of the return stack.
    UnlessOnStack,
    /// Needed.
    Yes,
}

/// An open Q element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Q {
    /// Number of instructions in it.
    pub(super) count: u64,
    /// The instructions whose path a decoder is certain of, and whether it still is.
    pub(super) shown: Shown,
    pub(super) certain: bool,
    /// The last instruction is a conditional branch: whether its outcome was known. The next address shows it.
    pub(super) branch: Option<bool>,
    /// P0 instructions that it will still take.
    pub(super) left: u64,
}

/// The unit after a P0 element, for a cancel that goes back to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    pub(super) need: Need,
    pub(super) context: Option<ContextState>,
    /// An indirect branch, and the outcome traced.
    pub(super) indirect: bool,
    pub(super) taken: bool,
}

/// The decoded register fields.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) cycle_counting: bool,
    pub(super) threshold: u64,
    /// Maximum of the cycle counter.
    pub(super) most_cycles: u64,
    pub(super) broadcast: bool,
    pub(super) context_ids: bool,
    pub(super) vmids: bool,
    pub(super) timestamps: bool,
    pub(super) timestamp_markers: bool,
    pub(super) timestamp_event: u8,
    pub(super) return_stack: bool,
    /// TRCCONFIGR.QE: Q elements with counts, without counts.
    pub(super) q: (bool, bool),
    /// TRCSYNCPR: bytes between periodic synchronisations.
    pub(super) period: Option<u64>,
    /// TRCEVENTCTL0R, TRCEVENTCTL1R: resource selectors of the events, and which are enabled.
    pub(super) events: [u8; 4],
    pub(super) events_enabled: u8,
    /// TRCVICTLR.TRCRESET, TRCERR: resets and system errors are traced even if filtered.
    pub(super) force_reset: bool,
    pub(super) force_error: bool,
    /// TRCSTALLCTLR.ISTALL: the core waits instead of an overflow.
    pub(super) stalls: bool,
    /// No resource raises an event or a timestamp.
    pub(super) is_silent: bool,
    /// A branch is traced by its atom alone, and by an address after it.
    pub(super) is_simple: bool,
    pub(super) waypoints: Waypoints,
}

impl Program {
    pub(super) fn new(registers: &Registers, config: &Config) -> Self {
        let bit = |name: &str, at: u32| registers.field(name, at, at) == 1;
        let qe = registers.field("TRCCONFIGR", 14, 13);
        let period = registers.field("TRCSYNCPR", 4, 0);
        let events = registers.get("TRCEVENTCTL0R");
        Program {
            cycle_counting: bit("TRCCONFIGR", 4),
            threshold: registers.field("TRCCCCTLR", 11, 0),
            most_cycles: (1 << (12 + registers.field("TRCIDR2", 28, 25).min(8))) - 1,
            broadcast: bit("TRCCONFIGR", 3),
            context_ids: bit("TRCCONFIGR", 6) && config.dialect.context_id_bytes > 0,
            vmids: bit("TRCCONFIGR", 7) && config.dialect.vmid_bytes > 0,
            timestamps: config.timestamps,
            timestamp_markers: bit("TRCIDR0", 23) && config.dialect.minor >= 1,
            timestamp_event: registers.field("TRCTSCTLR", 7, 0) as u8,
            return_stack: config.return_stack,
            q: (qe & 1 == 1, qe == 3),
            // TRCSYNCPR.PERIOD is 8 to 20; smaller values are reserved and treated as 8.
            period: (period != 0).then(|| 1 << period.clamp(8, 20)),
            events: std::array::from_fn(|n| (events >> (8 * n)) as u8),
            events_enabled: registers.field("TRCEVENTCTL1R", 3, 0) as u8,
            force_reset: bit("TRCVICTLR", 10),
            force_error: bit("TRCVICTLR", 11),
            stalls: bit("TRCSTALLCTLR", 8),
            is_simple: !bit("TRCCONFIGR", 4) && !bit("TRCCONFIGR", 3),
            is_silent: events as u32 == 0 && registers.field("TRCTSCTLR", 7, 0) == 0,
            waypoints: Waypoints::ete(config.wfx_is_p0),
        }
    }
}

/// Timestamps that can wait for the next block.
const MOST_TIMES: usize = 64;

/// Statistics of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions for which ViewInst was active.
    pub viewed: u64,
    /// P0 elements on the executed path.
    pub p0: u64,
    /// Cancelled P0 elements.
    pub cancelled: u64,
    /// Mispredicted branches.
    pub mispredicted: u64,
    /// Alignment Syncs with a Trace Info.
    pub synchronisations: u64,
    /// Buffer overflows.
    pub overflows: u64,
    /// Bytes emitted.
    pub bytes: u64,
}

/// A trace unit.
#[derive(Debug)]
pub struct Unit {
    pub(super) registers: Registers,
    pub(super) config: Config,
    pub(super) program: Program,
    pub(super) model: Model,
    pub(super) image: Option<Arc<Image>>,
    pub(super) filter: Filter,
    pub(super) packer: Packer,
    pub(super) fifo: Fifo,
    pub(super) assumed: Assumed,
    pub(super) random: Random,
    /// Statistics so far.
    pub counts: Counts,
    pub(super) account: Account,
    /// TRCPRGCTLR.EN.
    pub(super) enabled: bool,
    /// The PE's OS lock is set: registers can be accessed, nothing is traced.
    pub(super) locked: bool,
    /// In a trace prohibited region (TRFCR_ELx).
    pub(super) prohibited: bool,
    /// Cycles so far, and the difference of the timestamp to their ticks.
    pub(super) cycle: u64,
    pub(super) timestamp_offset: u64,
    /// Bytes of the packer's output that are in the buffer.
    pub(super) accepted: usize,
    /// Bytes of output taken before.
    pub(super) taken: u64,
    /// Trace was lost: tracing restarts once the buffer is empty.
    pub(super) lost: bool,
    /// The last instruction was traced (TRCRSR.TA).
    pub(super) tracing: bool,
    /// TRCRSR.TA was set by software.
    pub(super) was_active: bool,
    /// A Trace Info was traced since the unit was enabled.
    pub(super) synchronised: bool,
    /// An Alignment Sync was traced before that, for events.
    pub(super) aligned: bool,
    /// Output position of the last Trace Info.
    pub(super) last_sync: u64,
    /// P0 elements left before the context and address of the last Trace Info.
    pub(super) sync_delay: Option<u32>,
    /// Start of the current block, if an instruction of it was executed, and its instructions.
    pub(super) block: Option<Entry>,
    pub(super) in_block: Shown,
    /// The last instruction of the current block, if it is a system call.
    pub(super) call: Option<u64>,
    /// The source has a gap since the last instruction.
    pub(super) gap_noted: bool,
    /// The context of the core, and the last one traced.
    pub(super) context: ContextState,
    pub(super) traced_context: Option<ContextState>,
    pub(super) need: Need,
    /// The return stack, oldest first.
    pub(super) stack: Vec<Entry>,
    /// Calls are pushed: an address was traced since the last Trace Info.
    pub(super) may_push: bool,
    /// Branches not taken whose atoms can be omitted if a source address or exception follows: the
    /// instructions up to each.
    pub(super) deferred: Vec<Shown>,
    pub(super) q: Option<Q>,
    /// Number of P0 elements before the open transaction, and the context traced there: it cannot change inside.
    pub(super) transaction_p0: u64,
    pub(super) transaction_context: Option<ContextState>,
    /// Cycle of the last Cycle Count; the next count is unknown after an overflow.
    pub(super) last_count: u64,
    pub(super) count_unknown: bool,
    /// A timestamp was requested.
    pub(super) timestamp_due: bool,
    /// Timestamps that the core reported and that are not traced yet, each with its cycle count.
    pub(super) times: Vec<(u64, Option<u64>)>,
    /// The core reports timestamps, cycles: the unit has none of its own.
    pub(super) is_timed: bool,
    pub(super) is_clocked: bool,
    /// External inputs that are high for the next instruction.
    pub(super) inputs: u8,
    /// Recent targets, for mispredictions.
    pub(super) targets: [Entry; 8],
    /// A trace buffer of limited size, and the steps of a decoder for the bytes in a circular one.
    pub(super) buffer: Option<BufferConfig>,
    pub(super) recent: VecDeque<(Logged, u64)>,
    /// The state after each P0 element that may be cancelled.
    pub(super) past: VecDeque<Past>,
}

impl Unit {
    /// A disabled unit. Speculation needs a program.
    pub fn new(registers: Registers, model: Model, image: Option<Arc<Image>>) -> Result<Self, ConfigError> {
        registers.check()?;
        let config = registers.config("unit")?;
        Ok(Unit {
            program: Program::new(&registers, &config),
            filter: Filter::new(&registers),
            packer: Packer::new(&config),
            fifo: Fifo::new(model.fifo),
            assumed: Assumed::default(),
            random: Random(SplitMix64(model.seed)),
            counts: Counts::default(),
            account: Account::default(),
            enabled: false,
            locked: false,
            prohibited: false,
            cycle: 0,
            timestamp_offset: model.first_timestamp,
            accepted: 0,
            taken: 0,
            lost: false,
            tracing: false,
            was_active: false,
            synchronised: false,
            aligned: false,
            last_sync: 0,
            sync_delay: None,
            block: None,
            in_block: Shown::default(),
            call: None,
            gap_noted: false,
            context: ContextState { security: 1, sixty_four_bit: true, ..ContextState::default() },
            traced_context: None,
            need: Need::Yes,
            stack: Vec::new(),
            may_push: false,
            deferred: Vec::new(),
            q: None,
            transaction_p0: 0,
            transaction_context: None,
            last_count: 0,
            count_unknown: true,
            timestamp_due: false,
            times: Vec::new(),
            is_timed: false,
            is_clocked: false,
            inputs: 0,
            targets: [Entry::default(); 8],
            buffer: None,
            recent: VecDeque::new(),
            past: VecDeque::new(),
            registers,
            config,
            model,
            image,
        })
    }

    /// The configuration for a decoder.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The registers.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Facts that a decoder finds in the bytes emitted so far, without unresolved ones.
    pub fn account(&self) -> &trackway_core::Account {
        &self.account.facts
    }

    /// The bytes go into a trace buffer, which keeps the first or the last of them.
    pub(crate) fn set_buffer(&mut self, buffer: Option<BufferConfig>) {
        self.buffer = buffer;
    }

    /// A decoder of a circular buffer begins at the first Alignment Sync that is not overwritten.
    pub(crate) fn settle_buffer(&mut self) {
        let Some(BufferConfig { bytes, .. }) = self.buffer else { return };
        let oldest = (self.taken + self.accepted as u64).saturating_sub(bytes);
        let max_spec = self.config.max_spec.into();
        // One zero of it is enough.
        let is_there = |logged: &Logged| matches!(logged, Logged::Step(Step::Synchronise { start, .. }) if start + 10 >= oldest);
        let recent = std::mem::take(&mut self.recent);
        for (logged, _) in recent.into_iter().skip_while(|(logged, _)| oldest > 0 && !is_there(logged)) {
            self.account.take(&logged, max_spec);
        }
    }

    /// Number of attempted instructions that a decoder finds.
    pub(crate) fn attempted(&self) -> u64 {
        self.account.attempted
    }

    /// Nothing follows: ends the account. `marks` are the source's marks of starts and timestamps.
    pub(crate) fn end_account(&mut self, loses_attempted: bool, marks: (u64, u64)) {
        self.account.end(loses_attempted, marks);
    }

    /// The source has a gap here, and the core stops. It counts as found where nothing else is missing beside it: in a larger
    /// hole it cannot be distinguished from others.
    pub(crate) fn note_gap(&mut self, reason: GapReason) {
        let discards = matches!(reason, GapReason::Overflow | GapReason::Discarded);
        let whole = if discards {
            self.in_block.instructions == 0 && self.packer.is_settled() && self.packer.depth == 0
        } else {
            self.in_block.instructions == 0 || self.model.halts
        };
        self.gap_noted = self.tracing && !self.lost && self.q.is_none() && whole;
    }

    /// Takes the bytes emitted since the last call; elements that are not packed yet stay.
    pub fn take(&mut self) -> Vec<u8> {
        let rest = self.packer.out.split_off(self.accepted);
        let bytes = std::mem::replace(&mut self.packer.out, rest);
        self.taken += bytes.len() as u64;
        self.packer.base = self.taken;
        self.accepted = 0;
        bytes
    }

    /// The unit is enabled, unlocked, and tracing is not prohibited.
    pub(super) fn is_operative(&self) -> bool {
        self.enabled && !self.locked && !self.prohibited
    }

    /// Sets the core's context from the next instruction on; identifiers that the registers do not enable are ignored.
    pub fn set_context(&mut self, context: ContextState) {
        self.context = ContextState {
            context_id: context.context_id.filter(|_| self.program.context_ids),
            vmid: context.vmid.filter(|_| self.program.vmids),
            ..context
        };
    }

    /// Sets whether the exception level and the security state of the context from here on are assumed.
    pub(crate) fn assume(&mut self, privilege: bool, security: bool) {
        self.assumed = Assumed { privilege, security };
    }

    /// Sets TRCRSR.TA: the instruction before the next one counts as traced, and so does an exception after it.
    pub(crate) fn set_active(&mut self) {
        self.was_active = true;
    }

    /// Lets cycles pass.
    pub fn elapse(&mut self, cycles: u64) {
        self.cycle += cycles;
    }

    /// The core reports its timestamps, or its cycles, itself: the unit traces those and none of its own.
    pub(crate) fn report_time(&mut self, timestamps: bool, cycles: bool) {
        self.is_timed |= timestamps;
        self.is_clocked |= cycles;
    }

    /// Sets the timestamp and traces it if timestamps are enabled; `count` is the number of cycles since the last count.
    pub fn set_timestamp(&mut self, value: u64, count: Option<u64>) {
        self.timestamp_offset = value.wrapping_sub(self.ticks());
        self.is_timed = true;
        if self.program.timestamps && self.times.len() < MOST_TIMES {
            let count =
                count.filter(|&count| self.program.cycle_counting && count <= self.program.most_cycles);
            self.times.push((value, count));
            self.trace_times_now();
        }
    }

    /// Traces a cycle count that the core reports, if cycle counting is enabled and the count fits.
    pub fn set_cycles(&mut self, count: Option<u64>) {
        self.is_clocked = true;
        self.cycle += count.unwrap_or(0);
        let fits = |count: u64| {
            count.checked_sub(self.program.threshold).is_some_and(|above| above <= self.program.most_cycles)
        };
        if self.program.cycle_counting && count.is_none_or(fits) && self.synchronised && !self.lost {
            self.settle();
            self.packer.cycles(0, count, false);
            self.checkpoint();
        }
    }

    pub(super) fn ticks(&self) -> u64 {
        self.cycle / u64::from(self.model.cycles_per_tick.max(1))
    }

    /// Traces a timestamp as soon as tracing is active (TRCTSCTLR, TSB CSYNC, synchronisation).
    pub fn request_timestamp(&mut self) {
        self.timestamp_due |= self.program.timestamps && !self.is_timed;
        self.trace_times_now();
    }

    fn trace_times_now(&mut self) {
        if self.tracing && self.block.is_none() && self.need == Need::No {
            self.trace_times();
            self.checkpoint();
        }
    }

    /// Events from outside: bit n is event n, traced if TRCEVENTCTL1R enables it.
    pub fn events(&mut self, events: u8) {
        self.trace_events(events, false);
    }

    pub(super) fn trace_events(&mut self, events: u8, own: bool) {
        let events = events & self.program.events_enabled;
        if events != 0 && self.is_operative() && !self.lost {
            self.settle();
            if !self.synchronised && !std::mem::replace(&mut self.aligned, true) {
                // Before the first Trace Info only events are traced (K10.5.9).
                self.packer.plain(Packet::AlignmentSync { zeros: 11 }, &[]);
            }
            let elements = [What::Mark { own }; 4];
            self.packer.plain(Packet::Event(events), &elements[..events.count_ones() as usize]);
            self.checkpoint();
        }
    }

    /// Raises external inputs for the next instruction: bit n is input n of the resource selectors.
    pub fn raise_inputs(&mut self, inputs: u8) {
        self.inputs |= inputs;
    }

    /// The instrumentation instruction (TRCIT) wrote `value`. ETE 1.2.
    pub fn instrumentation(&mut self, value: u64) {
        if self.tracing && !self.lost && self.config.dialect.minor >= 3 {
            self.settle();
            let packet = Packet::Instrumentation { el: self.context.el, value };
            self.packer.plain(packet, &[What::Mark { own: false }]);
            self.checkpoint();
        }
    }

    /// TSB CSYNC: resolves all elements, empties the unit and requests a timestamp.
    pub fn tsb_csync(&mut self) {
        self.settle();
        if !self.lost {
            self.commit_all();
            if self.synchronised {
                self.trace_reported();
            }
            self.packer.flush();
        }
        self.checkpoint();
        if let Some(cycles) = self.fifo.cycles_to_empty() {
            self.cycle += cycles;
        }
        if self.enabled {
            self.request_timestamp();
        }
    }

    /// Moves packed bytes into the buffer. If they do not fit, they and all unresolved elements are lost.
    pub(super) fn checkpoint(&mut self) {
        let new = (self.packer.out.len() - self.accepted) as u64;
        if new == 0 {
            return;
        }
        if !self.fifo.push(new, self.cycle) {
            let stalled = self.program.stalls.then(|| self.fifo.cycles_to_empty()).flatten();
            let Some(cycles) = stalled else { return self.overflow() };
            self.cycle += cycles;
            // An empty buffer has room for one instruction, or it is far too small.
            if !self.fifo.push(new, self.cycle) {
                return self.overflow();
            }
        }
        self.accepted = self.packer.out.len();
        self.counts.bytes += new;
        let max_spec = self.config.max_spec.into();
        self.packer.take_log(|logged, end| match self.buffer {
            None => self.account.take(logged, max_spec),
            Some(BufferConfig { mode: Mode::Fill, bytes }) => {
                if end <= bytes {
                    self.account.take(logged, max_spec);
                }
            }
            Some(BufferConfig { bytes, .. }) => {
                self.recent.push_back((*logged, end));
                while self.recent.front().is_some_and(|(_, old)| old + bytes < end) {
                    self.recent.pop_front();
                }
            }
        });
    }

    /// The buffer overflows: tracing restarts once it is empty.
    pub fn overflow(&mut self) {
        if !self.enabled || self.lost {
            return;
        }
        self.packer.lose(self.accepted);
        self.lost = true;
        self.counts.overflows += 1;
        self.forget();
    }

    /// Tracing becomes inactive at once: unresolved elements are discarded (K10.5.2.4).
    pub fn discard(&mut self) {
        if self.enabled && !self.lost && self.synchronised {
            self.settle();
            self.packer.flush();
            self.packer.discard(false, std::mem::take(&mut self.gap_noted));
            self.forget();
            self.checkpoint();
        }
    }

    /// Drops the current block and everything that waits.
    pub(super) fn forget(&mut self) {
        self.tracing = false;
        self.drop_block();
        self.deferred.clear();
        self.q = None;
        self.traced_context = None;
        self.need = Need::Yes;
        self.stack.clear();
    }

    /// The instructions of the current block are not traced.
    pub(super) fn drop_block(&mut self) {
        (self.block, self.in_block, self.call) = (None, Shown::default(), None);
    }

    /// An error unless the condition holds.
    pub(super) fn demand(&self, holds: bool, what: &str) -> Result<(), ConfigError> {
        if holds { Ok(()) } else { refuse(what) }
    }
}

//! The trace unit: its state, and what happens to it from outside.

use std::sync::Arc;

use trackway_core::{Isa, SplitMix64};
use trackway_image::{Image, Waypoints};
use trackway_isa::Flow;

use crate::config::{Config, ConfigError, refuse};
use crate::wire::address::{Entry, SubIsa};
use crate::wire::context::ContextState;
use crate::wire::packet::Packet;

use super::filter::Filter;
use super::model::{Fifo, Model, Random};
use super::pack::Packer;
use super::registers::Registers;

/// An instruction that was executed.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Where it lies.
    pub address: u64,
    /// Its instruction set.
    pub isa: Isa,
    /// What it is.
    pub flow: Flow,
    /// For one that can transfer control: did it? For others that may be conditional: was it executed?
    pub taken: bool,
}

impl Instruction {
    /// By its encoding.
    pub fn new(isa: Isa, address: u64, encoding: u32, taken: bool) -> Self {
        Instruction { address, isa, flow: trackway_isa::flow(isa, address, encoding), taken }
    }

    /// The address behind it.
    pub fn end(&self) -> u64 {
        let end = self.address.wrapping_add(self.flow.length.into());
        if self.isa == Isa::A64 { end } else { end & 0xffff_ffff }
    }

    pub(super) fn entry(&self) -> Entry {
        entry(self.address, self.isa)
    }
}

/// An address as packets give it.
pub(crate) fn entry(address: u64, isa: Isa) -> Entry {
    let sub_isa = if isa == Isa::T32 { SubIsa::Is1 } else { SubIsa::Is0 };
    Entry { address: if isa == Isa::A64 { address } else { address & 0xffff_ffff }, sub_isa }
}

/// Is an address to be traced before the next P0 element?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Need {
    /// No: the program tells.
    #[default]
    No,
    /// Yes, unless the return stack tells it.
    OrStack,
    /// Yes.
    Yes,
}

/// Instructions that a Q element will stand for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Q {
    pub(super) count: u64,
    /// P0 instructions that are still to go into it.
    pub(super) left: u64,
}

/// What the registers say, at hand.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) cycle_counting: bool,
    pub(super) threshold: u64,
    /// Cycles that the counter can hold.
    pub(super) most_cycles: u64,
    pub(super) broadcast: bool,
    pub(super) context_ids: bool,
    pub(super) vmids: bool,
    pub(super) timestamps: bool,
    pub(super) timestamp_markers: bool,
    pub(super) timestamp_event: u8,
    pub(super) return_stack: bool,
    /// TRCCONFIGR.QE: with counts, without counts.
    pub(super) q: (bool, bool),
    /// Bytes between synchronisations.
    pub(super) period: Option<u64>,
    /// TRCEVENTCTL0R and TRCEVENTCTL1R.
    pub(super) events: [u8; 4],
    pub(super) events_enabled: u8,
    /// TRCVICTLR: PE reset and system errors are traced even if filtered.
    pub(super) force_reset: bool,
    pub(super) force_error: bool,
    /// TRCSTALLCTLR: the core waits where the buffer would overflow.
    pub(super) stalls: bool,
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
            // TRCSYNCPR.PERIOD: 8 to 20; smaller values are reserved and read as 8.
            period: (period != 0).then(|| 1 << period.clamp(8, 20)),
            events: std::array::from_fn(|n| (events >> (8 * n)) as u8),
            events_enabled: registers.field("TRCEVENTCTL1R", 3, 0) as u8,
            force_reset: bit("TRCVICTLR", 10),
            force_error: bit("TRCVICTLR", 11),
            stalls: bit("TRCSTALLCTLR", 8),
            waypoints: Waypoints::ete(config.wfx_is_p0),
        }
    }
}

/// What the unit did, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions for which ViewInst was active.
    pub viewed: u64,
    /// P0 elements on the path that was executed.
    pub p0: u64,
    /// P0 elements that were cancelled.
    pub cancelled: u64,
    /// Branches that were predicted wrongly.
    pub mispredicted: u64,
    /// Synchronisations.
    pub synchronisations: u64,
    /// Overflows.
    pub overflows: u64,
    /// Bytes.
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
    pub(super) random: Random,
    /// What it did so far.
    pub counts: Counts,
    /// TRCPRGCTLR.EN.
    pub(super) enabled: bool,
    /// The PE's OS lock: registers can be accessed, nothing is traced.
    pub(super) locked: bool,
    /// In a trace prohibited region (TRFCR_ELx).
    pub(super) prohibited: bool,
    /// Cycles so far, and what the timestamp is ahead of them.
    pub(super) cycle: u64,
    pub(super) timestamp_offset: u64,
    /// Bytes of the packer's output that went into the buffer.
    pub(super) accepted: usize,
    /// Bytes of output taken away before.
    pub(super) taken: u64,
    /// Trace was lost: a start is due once the buffer is empty.
    pub(super) lost: bool,
    /// The last instruction was traced (TRCRSR.TA).
    pub(super) tracing: bool,
    /// A Trace Info was traced since it was enabled.
    pub(super) synchronised: bool,
    /// An alignment synchronisation was written before that, for events.
    pub(super) aligned: bool,
    /// Output position of the last synchronisation.
    pub(super) last_sync: u64,
    /// P0 elements before the context and address of the last synchronisation.
    pub(super) sync_delay: Option<u32>,
    /// Where the current block begins, if an instruction of it was executed.
    pub(super) block: Option<Entry>,
    /// The context of the core, and what was traced of it.
    pub(super) context: ContextState,
    pub(super) told: Option<ContextState>,
    pub(super) need: Need,
    /// The return stack, oldest first.
    pub(super) stack: Vec<Entry>,
    /// Calls are kept: an address was traced since the last Trace Info.
    pub(super) may_push: bool,
    /// Branches not taken whose atoms may be left out, if a source address or exception follows.
    pub(super) deferred: u32,
    pub(super) q: Option<Q>,
    /// P0 elements before the open transaction.
    pub(super) transaction_p0: u64,
    /// Cycle of the last cycle count; unknown after an overflow.
    pub(super) last_count: u64,
    pub(super) count_unknown: bool,
    /// A timestamp is asked for.
    pub(super) timestamp_due: bool,
    /// External inputs that are high, for one instruction.
    pub(super) inputs: u8,
    /// Targets seen, for wrong predictions.
    pub(super) targets: [Entry; 8],
}

impl Unit {
    /// A unit that is not enabled. A program is needed for speculation.
    pub fn new(registers: Registers, model: Model, image: Option<Arc<Image>>) -> Result<Self, ConfigError> {
        registers.check()?;
        let config = registers.config("unit")?;
        Ok(Unit {
            program: Program::new(&registers, &config),
            filter: Filter::new(&registers),
            packer: Packer::new(&config),
            fifo: Fifo::new(model.fifo),
            random: Random(SplitMix64(model.seed)),
            counts: Counts::default(),
            enabled: false,
            locked: false,
            prohibited: false,
            cycle: 0,
            timestamp_offset: model.first_timestamp,
            accepted: 0,
            taken: 0,
            lost: false,
            tracing: false,
            synchronised: false,
            aligned: false,
            last_sync: 0,
            sync_delay: None,
            block: None,
            context: ContextState { security: 1, sixty_four_bit: true, ..ContextState::default() },
            told: None,
            need: Need::Yes,
            stack: Vec::new(),
            may_push: false,
            deferred: 0,
            q: None,
            transaction_p0: 0,
            last_count: 0,
            count_unknown: true,
            timestamp_due: false,
            inputs: 0,
            targets: [Entry::default(); 8],
            registers,
            config,
            model,
            image,
        })
    }

    /// What a decoder has to know of it.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its registers.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Takes the bytes that came out since the last time. What is not packed yet stays.
    pub fn take(&mut self) -> Vec<u8> {
        let rest = self.packer.out.split_off(self.accepted);
        let bytes = std::mem::replace(&mut self.packer.out, rest);
        self.taken += bytes.len() as u64;
        self.accepted = 0;
        bytes
    }

    /// Is something traced at all?
    pub(super) fn is_operative(&self) -> bool {
        self.enabled && !self.locked && !self.prohibited
    }

    /// The core's context from the next instruction on. What the registers do not ask for is left out.
    pub fn set_context(&mut self, context: ContextState) {
        self.context = ContextState {
            context_id: context.context_id.or(Some(0)).filter(|_| self.program.context_ids),
            vmid: context.vmid.or(Some(0)).filter(|_| self.program.vmids),
            ..context
        };
    }

    /// So many cycles pass.
    pub fn elapse(&mut self, cycles: u64) {
        self.cycle += cycles;
    }

    /// What an instruction takes; a core that tells its cycles wants 0.
    pub fn set_cycles_per_instruction(&mut self, cycles: u32) {
        self.model.cycles_per_instruction = cycles;
    }

    /// The timestamp is this now, and is traced where timestamps are on.
    pub fn set_timestamp(&mut self, value: u64) {
        self.timestamp_offset = value.wrapping_sub(self.ticks());
        self.request_timestamp();
    }

    pub(super) fn ticks(&self) -> u64 {
        self.cycle / u64::from(self.model.cycles_per_tick.max(1))
    }

    /// A timestamp is traced as soon as tracing is active (TRCTSCTLR, TSB CSYNC, synchronisation).
    pub fn request_timestamp(&mut self) {
        self.timestamp_due = self.program.timestamps;
        if self.tracing && self.block.is_none() && self.need == Need::No {
            self.trace_timestamp();
            self.checkpoint();
        }
    }

    /// Trace events that a core or system raises: bit n is event n, traced where TRCEVENTCTL1R enables it.
    pub fn events(&mut self, events: u8) {
        let events = events & self.program.events_enabled;
        if events != 0 && self.is_operative() && !self.lost {
            self.settle();
            if !self.synchronised && !std::mem::replace(&mut self.aligned, true) {
                // Before the first Trace Info events are all there is (K10.5.9).
                self.packer.plain(Packet::AlignmentSync { zeros: 11 });
            }
            self.packer.plain(Packet::Event(events));
            self.checkpoint();
        }
    }

    /// External inputs are high for the next instruction: bit n is input n, for the resource selectors.
    pub fn raise_inputs(&mut self, inputs: u8) {
        self.inputs |= inputs;
    }

    /// The instrumentation instruction (TRCIT) wrote `value`. ETE 1.2.
    pub fn instrumentation(&mut self, value: u64) {
        if self.tracing && !self.lost && self.config.dialect.minor >= 3 {
            self.settle();
            self.packer.plain(Packet::Instrumentation { el: self.context.el, value });
            self.checkpoint();
        }
    }

    /// TSB CSYNC: all that was traced is resolved and leaves the unit; a timestamp is asked for.
    pub fn tsb_csync(&mut self) {
        self.settle();
        if !self.lost {
            self.commit_all();
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

    /// Puts what was packed into the buffer. If it does not fit, it is lost, and all that is not resolved.
    pub(super) fn checkpoint(&mut self) {
        let new = (self.packer.out.len() - self.accepted) as u64;
        if new == 0 {
            return;
        }
        if !self.fifo.push(new, self.cycle) {
            let stalled = self.program.stalls.then(|| self.fifo.cycles_to_empty()).flatten();
            let Some(cycles) = stalled else { return self.overflow() };
            self.cycle += cycles;
            // An empty buffer takes what one instruction makes, or it is far too small.
            if !self.fifo.push(new, self.cycle) {
                return self.overflow();
            }
        }
        self.accepted = self.packer.out.len();
        self.counts.bytes += new;
    }

    /// The buffer overflowed (or the core says so): tracing starts anew once it is empty.
    pub fn overflow(&mut self) {
        if !self.enabled || self.lost {
            return;
        }
        self.packer.out.truncate(self.accepted);
        self.packer.drop_waiting();
        self.lost = true;
        self.counts.overflows += 1;
        self.forget();
    }

    /// Tracing becomes inactive at once: what is not resolved is discarded (K10.5.2.4).
    pub fn discard(&mut self) {
        if self.enabled && !self.lost && self.synchronised {
            self.settle();
            self.packer.flush();
            self.packer.discard(false);
            self.forget();
            self.checkpoint();
        }
    }

    /// Nothing of the current block, and nothing that waits, is traced any more.
    pub(super) fn forget(&mut self) {
        self.tracing = false;
        self.block = None;
        self.deferred = 0;
        self.q = None;
        self.told = None;
        self.need = Need::Yes;
        self.stack.clear();
    }

    /// Refuses to go on if a condition does not hold.
    pub(super) fn demand(&self, holds: bool, what: &str) -> Result<(), ConfigError> {
        if holds { Ok(()) } else { refuse(what) }
    }
}

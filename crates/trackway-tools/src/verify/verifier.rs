//! The verifier: the states of model and trace, and what changes them from outside.
//!
//! Its work is in `step` (one step), `adopt` (results of unknown sources), `compare`, `root_cause` (doubts) and
//! `mismatch` (reporting).

use std::collections::BTreeSet;

use trackway_core::{Isa, Privilege, Reg, RegClass, RegUpdate};
use trackway_hart::{Config, Effects, Hart, Level, csr};

use super::coverage::Coverage;
use super::decode::Decoder;
use super::fresh::Fresh;
use super::history::History;
use super::lacks::{Lack, Place};
use super::memory::Memory;
use super::needs::{Need, Needed};
use super::options::Options;
use super::report::Report;
use super::suspects::{PROTECTION, Suspects, canonical};
use super::traced::{Observation, Outside, OutsideState, TracedAccess, TracedRegister, TracedStep};

/// State that is not known, so that nothing may be concluded from it.
#[derive(Clone, Debug)]
pub(super) struct Unknown {
    /// Integer registers, as bits.
    pub(super) x: u32,
    /// Floating-point registers, as bits.
    pub(super) f: u32,
    /// All control registers but [`known`](Unknown::known).
    pub(super) csr: bool,
    /// Control registers that were seen since.
    pub(super) known: BTreeSet<u16>,
    /// The privilege level.
    pub(super) level: bool,
    /// Whether there is a reservation.
    pub(super) reservation: bool,
    pub(super) pc: bool,
}

/// Integer and floating-point registers that were unknown before the step, as bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnknownBefore {
    pub(super) x: u32,
    pub(super) f: u32,
}

impl UnknownBefore {
    /// Does a write of one of them say the new value?
    pub(super) fn says_value(self, write: &TracedRegister) -> bool {
        let unknown = match write.reg.class {
            RegClass::Int => self.x,
            RegClass::Float => self.f,
            _ => 0,
        };
        write.update == RegUpdate::Set || unknown >> (write.reg.number & 31) & 1 == 0
    }
}

impl Unknown {
    /// Everything but the privilege level: a trace begins in M unless it says something else.
    fn everything() -> Self {
        let known = BTreeSet::new();
        Unknown { x: !1, f: !0, csr: true, known, level: false, reservation: false, pc: true }
    }
}

/// How the trace has treated register writes that changed nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unchanged {
    pub(super) recorded: bool,
    pub(super) omitted: bool,
}

/// Runs the model beside the trace.
#[derive(Debug)]
pub struct Verifier {
    pub(super) options: Options,
    /// The golden model.
    pub(super) model: Hart,
    /// The state that the trace records.
    pub(super) shadow: Hart,
    /// Memory of both: what the trace stores is compared with what the model stores.
    pub memory: Memory,
    pub(super) effects: Effects,
    pub(super) unknown: Unknown,
    /// Bits of control registers that are unknown since the reset.
    pub(super) fresh: Fresh,
    /// A gap has made everything unknown.
    pub(super) after_gap: bool,
    pub(super) before: UnknownBefore,
    /// Nothing was read since a part that cannot be.
    pub(super) is_damaged: bool,
    /// The first instruction was seen.
    pub(super) has_begun: bool,
    /// The privilege level that the trace named last.
    pub(super) recorded_level: Option<Level>,
    /// A cause register with the cause of an interrupt that the trace does not name.
    pub(super) guessed: Option<u16>,
    /// Of this step it is unknown where its accesses go; see [`is_lost`](Verifier::is_lost).
    pub(super) lost: bool,
    pub(super) suspects: Suspects,
    /// A step is tried, and nothing of it is counted.
    pub(super) is_trial: bool,
    /// `None` while it is in use.
    pub(super) decoder: Option<Decoder>,
    pub(super) history: History,
    /// Findings so far.
    pub report: Report,
    /// Coverage so far.
    pub coverage: Coverage,
    /// Memory was changed from outside: decoded instructions may be stale.
    pub(super) stale: bool,
    pub(super) unchanged: Unchanged,
    /// A register whose new value only the trace could record, and did not.
    pub(super) unrecorded: Option<Reg>,
    /// Usual instructions are verified as such; tests compare with the way of all others.
    pub(super) shortcuts: bool,
}

impl Verifier {
    /// A model before the first instruction.
    pub fn new(options: Options) -> Self {
        let mut memory = Memory::new(options.mmio.clone(), options.map.clone());
        (memory.zeroed, memory.trusted) = (options.zeroed.clone(), options.trusted.clone());
        Verifier {
            model: running(options.core),
            shadow: running(options.core),
            memory,
            effects: Effects::new(),
            unknown: Unknown::everything(),
            fresh: Fresh::default(),
            after_gap: false,
            before: UnknownBefore::default(),
            is_damaged: false,
            has_begun: false,
            recorded_level: None,
            guessed: None,
            lost: false,
            suspects: Suspects::default(),
            is_trial: false,
            decoder: None,
            history: History::new(options.history),
            report: Report { allowed_gaps: options.allow_gaps, ..Report::default() },
            coverage: Coverage::default(),
            stale: false,
            unchanged: Unchanged::default(),
            unrecorded: None,
            shortcuts: true,
            options,
        }
    }

    /// Verifies every instruction in the way of the rare ones, for tests: the same findings result.
    #[doc(hidden)]
    pub fn without_shortcuts(mut self) -> Self {
        self.shortcuts = false;
        self
    }

    /// The instruction set of the core.
    pub(super) fn isa(&self) -> Isa {
        if self.options.core.is_rv32() { Isa::Rv32 } else { Isa::Rv64 }
    }

    /// Elements that the trace leaves out.
    pub fn absent(&self) -> super::options::Absent {
        self.options.absent
    }

    /// True once [`Options::stop_after`] root causes were found.
    pub fn stopped(&self) -> bool {
        self.report.stopped
    }

    /// The state of the model.
    pub fn state(&self) -> &trackway_hart::State {
        self.model.state()
    }

    /// A control register of the model, where it has it.
    pub fn read_csr(&self, number: u16) -> Option<u64> {
        self.model.read_csr(number)
    }

    /// From now on the trace has every floating-point register that is written.
    pub fn expect_float(&mut self) {
        self.options.absent.f = false;
    }

    /// Resets the core: what the specification leaves open is unknown from now on.
    pub fn reset_core(&mut self) {
        (self.has_begun, self.after_gap) = (true, false);
        self.reset();
    }

    /// The model alone makes a step, and nothing is compared. True where it took a trap.
    pub fn step_alone(&mut self) -> bool {
        self.memory.begin();
        let interrupt = self.model.pending_interrupt();
        let taken = match interrupt {
            Some(cause) => {
                self.effects.begin();
                Some(self.model.interrupt(cause, &mut self.effects))
            }
            None => self.model.step(&mut self.memory, &mut self.effects),
        };
        if let Some((n, _)) = self.effects.x {
            self.unknown.x &= !(1 << (n & 31));
        }
        if let Some((n, _)) = self.effects.f {
            self.unknown.f &= !(1 << (n & 31));
        }
        let state = self.model.state().clone();
        self.shadow.set_state(state);
        taken.is_some()
    }

    /// The access to memory of the instruction that the model executed last.
    pub fn accessed(&self) -> Option<trackway_hart::Access> {
        self.effects.memory.iter().next()
    }

    /// The encoding of the instruction that the model executed last.
    pub fn fetched(&self) -> u32 {
        self.effects.encoding
    }

    /// Takes the next observation of the trace.
    #[inline]
    pub(super) fn observe(&mut self, observation: Observation<'_>) {
        match observation {
            Observation::Step(traced) => self.step(traced),
            Observation::Outside(outside) => self.outside(outside),
        }
    }

    fn outside(&mut self, outside: &Outside) {
        match outside {
            Outside::State(state) => self.set_state(state),
            Outside::Learn(address, size, value) => self.memory.learn(*address, *size, *value),
            Outside::Reset => self.reset(),
            Outside::Time(time) => self.model.set_time(*time),
            Outside::OtherHart(offset) => self.refuse(Need::Harts, *offset, String::new()),
            Outside::Gap(offset, bytes) => {
                self.report.gaps += 1;
                self.report.skipped += bytes;
                // The gap after a part that cannot be read is that part.
                if !std::mem::take(&mut self.is_damaged) {
                    self.lack_between(Lack::Gap, *offset);
                }
                self.forget();
            }
        }
    }

    /// The trace cannot be read at `offset`: what happened there is not known.
    pub(super) fn unreadable(&mut self, offset: u64) {
        self.lack_between(Lack::Unreadable, offset);
        self.is_damaged = true;
        self.forget();
    }

    /// The trace needs what the model does not have: it ends here. The letter in `misa` shows that a core has it.
    #[cold]
    pub(super) fn refuse(&mut self, need: Need, offset: u64, text: String) {
        let shown = self.model.read_csr(csr::MISA).unwrap_or(0);
        let is_there = need.letter().is_none_or(|letter| shown >> letter & 1 != 0);
        if self.report.needed.is_none() && (is_there || !self.options.extensions_known) {
            let place = Place { offset, instruction: self.report.instructions };
            self.report.needed = Some(Needed { need, place, text });
            self.report.stopped = true;
        }
    }

    /// A level that the model does not have is that of a hypervisor's guest, or none.
    pub(super) fn refuse_level(&mut self, privilege: Privilege, offset: u64) {
        if matches!(privilege, Privilege::VS | Privilege::VU) {
            self.refuse(Need::Hypervisor, offset, format!("{privilege:?}-mode"));
        }
    }

    /// Something could not be compared in a step.
    pub(super) fn lack(&mut self, lack: Lack, traced: &TracedStep) {
        if self.is_trial {
            return;
        }
        let place = Place { offset: traced.offset, instruction: traced.number };
        self.report.lacks.add(lack, place, self.after_gap);
    }

    /// Something could not be compared between two steps.
    fn lack_between(&mut self, lack: Lack, offset: u64) {
        let place = Place { offset, instruction: self.report.instructions };
        self.report.lacks.add(lack, place, self.after_gap);
    }

    fn reset(&mut self) {
        self.model.reset();
        self.shadow.reset();
        self.suspects.end();
        self.unknown = Unknown { csr: false, pc: self.options.reset_pc.is_none(), ..Unknown::everything() };
        self.fresh = Fresh::after_reset(self.options.core.rules);
        if let Some(pc) = self.options.reset_pc {
            self.set_pc(pc);
        }
    }

    /// The first instruction: a log begins after a reset, and does not say so.
    pub(super) fn begin(&mut self, pc: Option<u64>) {
        if !std::mem::replace(&mut self.has_begun, true)
            && self.unknown.csr
            && !self.after_gap
            && pc.is_some_and(|pc| self.options.begins_at.contains(&pc))
        {
            self.reset();
        }
    }

    /// Nothing is known any more: even the program in memory may have changed.
    fn forget(&mut self) {
        self.unknown = Unknown { level: true, reservation: true, ..Unknown::everything() };
        self.fresh = Fresh::default();
        // Registers that are not known must not make the model trap.
        self.model = running(self.options.core);
        self.shadow = running(self.options.core);
        self.after_gap = true;
        self.suspects.end();
        self.memory.forget_all();
        self.stale = true;
    }

    pub(super) fn set_pc(&mut self, pc: u64) {
        self.model.set_pc(pc);
        self.shadow.set_pc(pc);
        self.unknown.pc = false;
    }

    fn set_state(&mut self, state: &OutsideState) {
        for write in &state.writes {
            if write.update != RegUpdate::Set && self.is_unknown(write.reg) {
                continue;
            }
            self.write_both(write);
            if write.reg.class == RegClass::Csr {
                // Pending interrupts alone say nothing about the rest, nor does one register after a gap.
                self.unknown.csr &= write.reg.number == csr::MIP || self.after_gap;
            }
        }
        for (address, size, value) in &state.memory {
            self.memory.set_word(*address, *size, *value);
            self.suspects.clear_bytes(*address, *size);
            self.stale = true;
        }
        match state.privilege.map(|privilege| (privilege, level_of(privilege))) {
            Some((_, Some(level))) => {
                self.recorded_level = Some(level);
                self.set_level(level);
            }
            Some((privilege, None)) => {
                self.refuse_level(privilege, state.offset);
                self.lack_between(Lack::Privilege, state.offset);
            }
            None => {}
        }
    }

    /// Is this control register known?
    pub(super) fn knows_csr(&self, number: u16) -> bool {
        !self.unknown.csr || self.unknown.known.contains(&canonical(number))
    }

    /// A control register is known from now on; a view shows only a part of one, and locks of others decide about those
    /// of memory protection.
    pub(super) fn learn_csr(&mut self, number: u16) {
        let is_whole = (canonical(number) == number || number == csr::FCSR) && !PROTECTION.contains(&number);
        if self.unknown.csr && is_whole {
            self.unknown.known.insert(number);
            if number == csr::FCSR {
                self.unknown.known.extend([csr::FFLAGS, csr::FRM]);
            }
        }
    }

    /// Is it unknown where accesses go? The encodings of the trace are then executed without looking at memory.
    pub(super) fn is_lost(&self) -> bool {
        if !self.unknown.csr || self.options.flat {
            return false;
        }
        if self.unknown.level || self.model.state().level != Level::M {
            return self.after_gap;
        }
        let moved = self.model.state().csr.mstatus & csr::status::MPRV != 0;
        self.after_gap && (!self.knows_csr(csr::MSTATUS) || moved)
    }

    pub(super) fn set_level(&mut self, level: Level) {
        self.unknown.level = false;
        self.suspects.level = 0;
        // Without control registers translation and protection are unknown, so the model stays in M.
        if !self.unknown.csr || self.unknown.pc || self.after_gap && !self.options.flat {
            self.model.set_level(level);
            self.shadow.set_level(level);
        }
    }

    pub(super) fn is_unknown(&self, reg: Reg) -> bool {
        match reg.class {
            RegClass::Int => self.unknown.x >> (reg.number & 31) & 1 != 0,
            RegClass::Float => self.unknown.f >> (reg.number & 31) & 1 != 0,
            RegClass::Csr => !self.knows_csr(reg.number),
            _ => false,
        }
    }

    /// Does a write of this step say the new value? A change of a register that was unknown before does not.
    pub(super) fn says_value(&self, write: &TracedRegister) -> bool {
        let is_known = write.reg.class != RegClass::Csr || self.knows_csr(write.reg.number);
        write.update == RegUpdate::Set || is_known && self.before.says_value(write)
    }

    /// Sets a register in both states.
    pub(super) fn write_both(&mut self, write: &TracedRegister) {
        let value = resolve(&self.shadow, write);
        match (write.reg.class, write.reg.number) {
            (RegClass::Int, n @ 0..32) => {
                self.model.set_x(n as u8, value);
                self.shadow.set_x(n as u8, value);
                self.unknown.x &= !(1 << n);
                self.suspects.x[usize::from(n)] = 0;
            }
            (RegClass::Float, n @ 0..32) => {
                self.model.set_f(n as u8, value);
                self.shadow.set_f(n as u8, value);
                self.unknown.f &= !(1 << n);
                self.suspects.f[usize::from(n)] = 0;
            }
            (RegClass::Csr, n) => {
                self.model.set_csr(n, value);
                self.shadow.set_csr(n, value);
                self.suspects.clear_csr(n);
                self.fresh.forget(canonical(n), u64::MAX);
                self.learn_csr(n);
            }
            (RegClass::Pc, _) => {
                self.set_pc(value);
                self.suspects.pc = 0;
            }
            _ => {}
        }
    }

    /// Is translation on, for S and U?
    pub(super) fn translates(&self) -> bool {
        self.model.config().supervisor
            && self.model.state().csr.satp >> if self.options.core.is_rv32() { 31 } else { 60 } != 0
    }

    /// Physical address of a traced access: as recorded, as the model translated it, or the address itself.
    pub(super) fn physical(&self, access: &TracedAccess) -> u64 {
        let translated = self.effects.memory.iter().find(|model| model.address == access.address);
        access.physical.or(translated.map(|model| model.physical)).unwrap_or(access.address)
    }
}

/// A core in an unknown state; floating point is on, as most programs need it.
fn running(core: Config) -> Hart {
    let mut hart = Hart::new(core);
    hart.set_csr(csr::MSTATUS, csr::status::FS);
    hart
}

/// The value of the register after a write.
pub(super) fn resolve(before: &Hart, write: &TracedRegister) -> u64 {
    let old = || match (write.reg.class, write.reg.number) {
        (RegClass::Int, n @ 0..32) => before.state().x[usize::from(n)],
        (RegClass::Float, n @ 0..32) => before.state().f[usize::from(n)],
        (RegClass::Csr, n) => before.read_csr(n).unwrap_or(0),
        _ => 0,
    };
    let value = match write.update {
        RegUpdate::Set => write.value,
        RegUpdate::Add => old().wrapping_add(write.value),
        RegUpdate::Or => old() | write.value,
    };
    match write.reg.class {
        RegClass::Float => value,
        _ if before.config().is_rv32() => value & 0xffff_ffff,
        _ => value,
    }
}

pub(super) fn level_of(privilege: Privilege) -> Option<Level> {
    match privilege {
        Privilege::U => Some(Level::U),
        Privilege::S => Some(Level::S),
        Privilege::M => Some(Level::M),
        _ => None,
    }
}

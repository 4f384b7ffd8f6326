//! One step of trace and model, side by side (tandem spec 3.1).

use trackway_core::{Isa, MemKind, Privilege, Reg, RegClass, RegUpdate, TrapKind};
use trackway_hart::{Config, Effects, Hart, Level, Taken, csr};

use super::coverage::Coverage;
use super::info::{Info, Infos};
use super::masks::Masks;
use super::memory::{Memory, Range};
use super::report::{Mismatch, Past, Report};
use super::suspects::{Root, Suspects};
use super::unit::{Between, Init, Piece, Unit, UnitAccess, UnitWrite};

/// Elements that a partial trace leaves out (tandem spec 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absent {
    /// Integer registers.
    pub x: bool,
    /// Floating-point registers.
    pub f: bool,
    /// Control and status registers.
    pub csr: bool,
    /// Privilege.
    pub privilege: bool,
    /// Memory accesses.
    pub memory: bool,
}

/// How to verify.
#[derive(Clone, Debug)]
pub struct Options {
    /// The core.
    pub core: Config,
    /// Where it starts after reset, if known.
    pub reset_pc: Option<u64>,
    /// Bits of control registers that are not compared.
    pub masks: Masks,
    /// Devices.
    pub mmio: Vec<Range>,
    /// Where memory is; everything else faults. Empty: the trace tells what faults.
    pub map: Vec<Range>,
    /// What the trace leaves out.
    pub absent: Absent,
    /// Compare `mstatus.FS` also where the trace does not tell `mstatus`.
    pub strict: bool,
    /// Root causes after which to stop.
    pub stop_after: Option<usize>,
    /// Instructions shown before a mismatch.
    pub history: usize,
    /// Gather coverage.
    pub coverage: bool,
}

impl Options {
    /// Everything told, nothing masked beyond the defaults.
    pub fn new(core: Config) -> Self {
        Options {
            core,
            reset_pc: Some(core.reset_pc),
            masks: Masks::default(),
            mmio: Vec::new(),
            map: Vec::new(),
            absent: Absent::default(),
            strict: false,
            stop_after: None,
            history: 8,
            coverage: false,
        }
    }
}

/// What is not known, so that nothing may be concluded from it.
#[derive(Clone, Copy, Debug)]
struct Unknown {
    x: u32,
    f: u32,
    csr: bool,
    pc: bool,
}

/// An instruction of the past: number, group, pc, encoding.
type Entry = (u64, u64, u64, u32);

/// Runs the model beside the trace.
#[derive(Debug)]
pub struct Verifier {
    pub(super) options: Options,
    /// The golden model.
    pub(super) model: Hart,
    /// The state that the trace tells.
    pub(super) shadow: Hart,
    /// Memory of both: what the trace stores is compared with what the model stores.
    pub memory: Memory,
    pub(super) effects: Effects,
    unknown: Unknown,
    pub(super) suspects: Suspects,
    infos: Infos,
    /// The last instructions, as a ring: the oldest is at `oldest` once it is full.
    history: Vec<Entry>,
    oldest: usize,
    /// Who wrote each x and f register last.
    writers: [Option<Entry>; 64],
    /// What was found so far.
    pub report: Report,
    /// What was covered so far.
    pub coverage: Coverage,
    /// Memory was changed from outside: decoded instructions may be stale.
    stale: bool,
    /// What the trace does with writes that change nothing: told some, left some out.
    unchanged: (bool, bool),
    /// A register that the step wrote from what only the trace could tell, and the trace did not.
    pub(super) untold: Option<Reg>,
}

impl Verifier {
    /// A model before the first instruction.
    pub fn new(options: Options) -> Self {
        let memory = Memory::new(options.mmio.clone(), options.map.clone());
        let isa = if options.core.is_rv32() { Isa::Rv32 } else { Isa::Rv64 };
        Verifier {
            model: running(options.core),
            shadow: running(options.core),
            memory,
            effects: Effects::new(),
            unknown: Unknown { x: !1, f: !0, csr: true, pc: true },
            suspects: Suspects::default(),
            infos: Infos::new(isa),
            history: Vec::new(),
            oldest: 0,
            writers: [None; 64],
            report: Report { version: 1, ..Report::default() },
            coverage: Coverage::default(),
            stale: false,
            unchanged: (false, false),
            untold: None,
            options,
        }
    }

    /// Enough root causes?
    pub fn stopped(&self) -> bool {
        self.report.stopped
    }

    /// The next piece of the trace.
    #[inline]
    pub fn piece(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Unit(unit) => self.unit(unit),
            Piece::Between(between) => self.between(between),
        }
    }

    fn between(&mut self, between: &Between) {
        match between {
            Between::Init(init) => self.init(init),
            Between::Learn(address, size, value) => self.memory.learn(*address, *size, *value),
            Between::Reset => self.reset(),
            Between::Time(time) => self.model.set_time(*time),
            Between::Gap(bytes) => {
                self.report.gaps += 1;
                self.report.skipped += bytes;
                self.lose();
            }
        }
    }

    fn reset(&mut self) {
        self.model.reset();
        self.shadow.reset();
        self.suspects = Suspects::default();
        self.unknown = Unknown { x: !1, f: !0, csr: false, pc: self.options.reset_pc.is_none() };
        if let Some(pc) = self.options.reset_pc {
            self.set_pc(pc);
        }
    }

    /// Nothing is known but memory's program, and that may have changed.
    fn lose(&mut self) {
        self.unknown = Unknown { x: !1, f: !0, csr: true, pc: true };
        self.suspects = Suspects::default();
        self.memory.forget_all();
        self.stale = true;
    }

    fn set_pc(&mut self, pc: u64) {
        self.model.set_pc(pc);
        self.shadow.set_pc(pc);
        self.unknown.pc = false;
    }

    fn init(&mut self, init: &Init) {
        for write in &init.writes {
            self.write_both(write);
            if write.reg.class == RegClass::Csr {
                // Pending interrupts alone say nothing about the rest.
                self.unknown.csr &= write.reg.number == csr::MIP;
            }
        }
        for (address, size, value) in &init.memory {
            self.memory.set_word(*address, *size, *value);
            self.stale = true;
        }
        if let Some(level) = init.privilege.and_then(level_of) {
            self.set_level(level);
        }
    }

    fn set_level(&mut self, level: Level) {
        // Without control registers translation and protection are not known: then all is done as M does it.
        if !self.unknown.csr || self.unknown.pc {
            self.model.set_level(level);
            self.shadow.set_level(level);
        }
    }

    pub(super) fn unknown_x(&self) -> u32 {
        self.unknown.x
    }

    pub(super) fn unknown_f(&self) -> u32 {
        self.unknown.f
    }

    /// Forgets translations and decoded instructions, so that memory is asked again.
    pub(super) fn forget_derived(&mut self) {
        self.model.flush();
    }

    pub(super) fn is_unknown(&self, reg: Reg) -> bool {
        match reg.class {
            RegClass::Int => self.unknown.x >> (reg.number & 31) & 1 != 0,
            RegClass::Float => self.unknown.f >> (reg.number & 31) & 1 != 0,
            _ => false,
        }
    }

    /// Sets a register in both.
    pub(super) fn write_both(&mut self, write: &UnitWrite) {
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
            }
            (RegClass::Pc, _) => {
                self.set_pc(value);
                self.suspects.pc = 0;
            }
            _ => {}
        }
    }

    fn unit(&mut self, unit: &Unit) {
        if self.report.stopped {
            return;
        }
        match unit.step {
            None => self.verify(unit, None),
            Some((_, encoding, _)) => {
                // Taken out, so that it can be looked at while all else changes.
                let mut infos = std::mem::take(&mut self.infos);
                self.verify(unit, Some(infos.of(encoding)));
                self.infos = infos;
            }
        }
    }

    fn verify(&mut self, unit: &Unit, info: Option<&Info>) {
        let told_pc = unit.pc.or(unit.trap.as_ref().and_then(|trap| trap.from));
        if let Some(pc) = told_pc
            && (self.unknown.pc || self.model.state().pc != pc)
        {
            // The unit before it did not tell where it leads.
            self.set_pc(pc);
        }
        if std::mem::take(&mut self.stale) {
            self.model.flush();
        }
        self.memory.begin();
        self.report.instructions += u64::from(unit.step.is_some());
        let doubtful_reads = self.compare_reads(unit);
        let blind = self.must_adopt(unit, info);
        let pc = self.model.state().pc;
        let level = self.model.state().level;
        if blind && !self.traps_anyhow(unit) {
            self.adopt_compared(unit, info, told_pc);
            return;
        }
        if let Some(info) = info {
            self.copy_in(unit, info);
        }
        if self.suspects.any {
            let doubt = [self.suspects.pc, self.suspects.level, self.suspects.environment().unwrap_or(0)];
            self.suspects.pages = doubt.into_iter().find(|root| *root != 0).unwrap_or(self.suspects.pages);
            if !self.suspects.memory.is_empty() && self.translates() {
                // Every translation has to show the entries that it rests on.
                self.model.flush_translations();
            }
        }
        let taken = self.execute(unit);
        if self.options.coverage {
            self.coverage.observe(&self.effects, taken.as_ref(), &self.shadow, level);
        }
        self.settle(unit, info);
        let mut elements = self.compare(unit, taken.as_ref());
        elements.extend(doubtful_reads);
        if elements.is_empty() {
            self.agree(unit, info, taken.is_some());
        } else {
            self.mismatch(unit, info, pc, level, taken.is_some(), elements);
        }
        self.remember(unit, info, pc);
    }

    /// Are the sources unknown, so that the model cannot execute it?
    fn must_adopt(&self, unit: &Unit, info: Option<&Info>) -> bool {
        let Some(info) = info else {
            let untold = unit.trap.as_ref().is_none_or(|trap| trap.kind == TrapKind::Unknown);
            return self.unknown.pc || self.unknown.csr || untold && self.options.absent.csr;
        };
        let Unknown { x, f, csr, pc } = self.unknown;
        let rounds = info.float && info.inst.is_some_and(|inst| inst.rm == 7);
        pc || info.x_sources & x != 0
            || info.f_sources & f != 0
            || csr && (info.system || unit.trap.is_some() || rounds)
    }

    /// Does it trap whatever its sources hold: illegal, a breakpoint, a call?
    fn traps_anyhow(&mut self, unit: &Unit) -> bool {
        if unit.trap.is_none() || unit.step.is_none() || self.unknown.pc || self.unknown.csr {
            return false;
        }
        let (saved, counted) = (self.model.state().clone(), self.report.exceptions);
        let taken = self.execute(unit);
        self.report.exceptions = counted;
        self.memory.revert(&[]);
        self.memory.begin();
        self.model.set_state(saved);
        taken.is_some_and(|taken| matches!(taken.cause, 2 | 3 | 8 | 9 | 11))
    }

    /// Takes what the trace says for both, but for the instruction itself: that has to be the one in memory.
    fn adopt_compared(&mut self, unit: &Unit, info: Option<&Info>, told_pc: Option<u64>) {
        let level = self.model.state().level;
        let known = if self.unknown.pc { None } else { told_pc };
        self.effects.begin();
        let differs = known.map_or(Vec::new(), |pc| self.compare_adopted(unit, pc));
        self.adopt(unit, info);
        let pc = told_pc.unwrap_or(0);
        if !differs.is_empty() {
            self.mismatch(unit, info, pc, level, false, differs);
        }
        self.remember(unit, info, pc);
    }

    /// Takes what the trace says for both.
    fn adopt(&mut self, unit: &Unit, info: Option<&Info>) {
        self.report.adopted += 1;
        if let Some(info) = info {
            self.unknown.x |= info.x_written;
            self.unknown.f |= info.f_written;
            let stores = info.inst.and_then(|inst| inst.op.class().memory());
            let stores = stores.is_some_and(|memory| memory.kind != MemKind::Read);
            if stores && unit.accesses.is_empty() && unit.trap.is_none() {
                // It stored somewhere.
                self.memory.forget_all();
                self.stale = true;
            }
        }
        for write in &unit.writes {
            let relative = write.update != RegUpdate::Set;
            if !(relative && self.is_unknown(write.reg)) {
                self.write_both(write);
            }
        }
        self.apply_stores(unit, 0);
        let system_call = unit.step.is_some_and(|(_, encoding, _)| encoding == 0x73);
        if system_call && self.unknown.csr {
            // A kernel that is not in the trace may have written anything; what it tells comes as state.
            self.memory.forget_all();
            self.unknown.x |= 1 << 10;
            self.stale = true;
        }
        if let Some(level) = unit.privilege.and_then(level_of) {
            self.set_level(level);
        }
        match (unit.next_pc, unit.step) {
            (Some(pc), _) => self.set_pc(pc),
            (None, Some((Some(pc), _, length))) if unit.trap.is_none() => {
                self.set_pc(pc.wrapping_add(length.into()));
                self.unknown.pc = true;
            }
            _ => self.unknown.pc = true,
        }
    }

    /// What the trace stores, into memory.
    pub(super) fn apply_stores(&mut self, unit: &Unit, root: Root) {
        let translates =
            self.translates() && self.model.state().level.min(self.shadow.state().level) != Level::M;
        let doubtful = root != 0 && self.translation_suspect().is_some();
        for access in &unit.accesses {
            let data = match access.kind {
                MemKind::Write => access.data,
                MemKind::ReadWrite => access.stored,
                _ => continue,
            };
            let address = self.physical(access);
            if self.memory.is_mmio(address) {
                continue;
            }
            let translated = self.effects.memory.iter().any(|model| model.address == access.address);
            if access.physical.is_none() && (translates && !translated || doubtful) {
                self.suspects.stray = root;
                continue;
            }
            match data {
                Some(data) if access.size <= 8 => self.memory.set_word(address, access.size, data),
                _ => self.memory.forget_word(address, access.size),
            }
            self.stale = true;
        }
    }

    /// Is translation on, for those levels that it is for?
    pub(super) fn translates(&self) -> bool {
        self.model.config().supervisor
            && self.model.state().csr.satp >> if self.options.core.is_rv32() { 31 } else { 60 } != 0
    }

    /// Physical address of a traced access: as told, or as the model translated it, or the address itself.
    pub(super) fn physical(&self, access: &UnitAccess) -> u64 {
        let translated = self.effects.memory.iter().find(|model| model.address == access.address);
        access.physical.or(translated.map(|model| model.physical)).unwrap_or(access.address)
    }

    /// Non-deterministic state goes from the trace to the model (step 2 of 3.1).
    fn copy_in(&mut self, unit: &Unit, info: &Info) {
        let Some(inst) = info.inst else { return };
        let written = |number: u8| {
            unit.writes.iter().find(|write| {
                write.reg.class == RegClass::Int && write.reg.number == u16::from(number) && number != 0
            })
        };
        match inst.op.class() {
            trackway_isa::riscv::Class::Csr => {
                let number = inst.imm as u16 & 0xfff;
                let mask = self.options.masks.of(number);
                let mask = mask.copy | mask.ignore;
                if mask == 0 {
                    return;
                }
                let Some(write) = written(inst.rd) else { return };
                let value = resolve(&self.shadow, write);
                // What S sees of the pending interrupts is a part of what M sees.
                let (number, mask) = match number {
                    csr::SIP => (csr::MIP, mask & self.model.read_csr(csr::MIDELEG).unwrap_or(0)),
                    number => (number, mask),
                };
                let old = self.model.read_csr(number).unwrap_or(0);
                self.model.set_csr(number, old & !mask | value & mask);
                self.shadow.set_csr(number, old & !mask | value & mask);
            }
            trackway_isa::riscv::Class::StoreConditional(_) => {
                // A core may fail where it likes, and may reserve more than the model does; success without any
                // reservation is wrong.
                let outcome = written(inst.rd).and_then(|write| match resolve(&self.shadow, write) {
                    0 => Some(true),
                    1 => Some(false),
                    _ => None,
                });
                let reserved = self.model.state().reservation.is_some();
                self.model.set_conditional(outcome.filter(|success| !success || reserved));
            }
            _ => {}
        }
    }

    /// One step of the model (step 3 of 3.1).
    fn execute(&mut self, unit: &Unit) -> Option<Taken> {
        let cause = unit.trap.as_ref().and_then(|trap| trap.cause);
        if self.options.map.is_empty() {
            // Nobody said where memory is: then the trace does.
            self.memory.fault_fetch = unit.step.is_none() && cause == Some(1);
            self.memory.fault_data = unit.step.is_some() && matches!(cause, Some(5 | 7));
        }
        self.memory.fault_second = unit.step.is_none()
            && matches!(cause, Some(1 | 12))
            && unit.trap.as_ref().and_then(|trap| trap.value) == Some(self.model.state().pc.wrapping_add(2));
        let interrupt = match (unit.step, &unit.trap) {
            (None, Some(trap)) if trap.kind == TrapKind::Interrupt => {
                trap.cause.map(|cause| cause as u8 & 63)
            }
            // The cause is missing: then it is what is pending.
            (None, Some(trap)) if trap.kind == TrapKind::Unknown => self.model.pending_interrupt(),
            _ => None,
        };
        if let Some(cause) = interrupt {
            self.report.interrupts += 1;
            self.effects.begin();
            self.model.set_interrupts(1 << cause, 1 << cause);
            let taken = self.model.interrupt(cause, &mut self.effects);
            self.effects.next_pc = self.model.state().pc;
            return Some(taken);
        }
        self.memory.loaded = unit.accesses.iter().find_map(|access| match access.kind {
            MemKind::Read | MemKind::ReadWrite => access.data,
            _ => None,
        });
        let taken = match unit.step {
            Some((_, encoding, _)) if self.suspects.pc != 0 && !self.suspects.pc_on_trial => {
                // The address is in doubt: what stands there says nothing.
                self.effects.begin();
                let attempt = self.model.attempt_encoding(encoding, &mut self.memory, &mut self.effects);
                let taken = attempt.err().map(|exception| self.model.exception(exception, &mut self.effects));
                self.effects.next_pc = self.model.state().pc;
                taken
            }
            step => {
                self.memory.fetched = step.map(|(_, encoding, length)| (encoding, length));
                self.model.step(&mut self.memory, &mut self.effects)
            }
        };
        self.model.set_conditional(None);
        self.report.exceptions += u64::from(taken.is_some());
        taken
    }

    /// Results that rest on what nobody knows are taken from the trace, or are unknown too.
    fn settle(&mut self, unit: &Unit, info: Option<&Info>) {
        self.untold = None;
        let Some(info) = info else { return };
        let masked =
            info.inst.filter(|inst| inst.op.class() == trackway_isa::riscv::Class::Csr).map(|inst| {
                let mask = self.options.masks.of(inst.imm as u16 & 0xfff);
                (inst.rd, mask.copy | mask.ignore)
            });
        let told = |reg: Reg| unit.writes.iter().find(|write| write.reg == reg);
        if let Some((rd, value)) = self.effects.x
            && value == self.effects.old_x
        {
            match told(Reg { class: RegClass::Int, number: rd.into() }) {
                Some(_) => self.unchanged.0 = true,
                None => self.unchanged.1 = true,
            }
        }
        // A trace that tells writes which change nothing tells all of them.
        let tells_all = self.unchanged == (true, false);
        if let Some((rd, mask @ 1..)) = masked
            && let Some((_, value)) = self.effects.x
            && let Some(write) = told(Reg { class: RegClass::Int, number: rd.into() })
        {
            let copied = resolve(&self.shadow, write);
            self.model.set_x(rd, value & !mask | copied & mask);
        }
        self.unknown.x &= !info.x_written;
        self.unknown.f &= !info.f_written;
        if !self.memory.blind {
            return;
        }
        if let Some((rd, _)) = self.effects.x {
            match told(Reg { class: RegClass::Int, number: rd.into() }) {
                Some(write) => self.model.set_x(rd, resolve(&self.shadow, write)),
                None => {
                    let untold = Reg { class: RegClass::Int, number: rd.into() };
                    self.untold = (tells_all && !self.options.absent.x).then_some(untold);
                    self.unknown.x |= 1 << rd;
                    self.shadow.set_x(rd, self.model.state().x[usize::from(rd)]);
                }
            }
        }
        if let Some((rd, _)) = self.effects.f {
            match told(Reg { class: RegClass::Float, number: rd.into() }) {
                Some(write) => self.model.set_f(rd, resolve(&self.shadow, write)),
                None => {
                    let untold = Reg { class: RegClass::Float, number: rd.into() };
                    self.untold = (tells_all && !self.options.absent.f).then_some(untold);
                    self.unknown.f |= 1 << rd;
                    self.shadow.set_f(rd, self.model.state().f[usize::from(rd)]);
                }
            }
        }
    }

    fn remember(&mut self, unit: &Unit, info: Option<&Info>, pc: u64) {
        let Some((_, encoding, _)) = unit.step else { return };
        let entry = (unit.number, unit.group, pc, encoding);
        if self.history.len() < self.options.history {
            self.history.push(entry);
        } else if let Some(oldest) = self.history.get_mut(self.oldest) {
            *oldest = entry;
            self.oldest += 1;
            if self.oldest == self.history.len() {
                self.oldest = 0;
            }
        }
        let Some(info) = info else { return };
        // At most one register of each file.
        if info.x_written != 0 {
            self.writers[info.x_written.trailing_zeros() as usize] = Some(entry);
        }
        if info.f_written != 0 {
            self.writers[32 + info.f_written.trailing_zeros() as usize] = Some(entry);
        }
    }

    /// Reports a mismatch or folds it into its root, and goes on with the state of the trace (step 5 of 3.1).
    fn mismatch(
        &mut self,
        unit: &Unit,
        info: Option<&Info>,
        pc: u64,
        level: Level,
        trapped: bool,
        elements: Vec<super::report::Element>,
    ) {
        let root = match self.root_of(unit, info, trapped, &elements) {
            Some(root) => {
                let mismatch = &mut self.report.mismatches[root as usize - 1];
                mismatch.folded += 1;
                mismatch.last_folded = Some(unit.group);
                root
            }
            None => {
                let mismatch = self.describe(unit, info, pc, level, elements.clone());
                self.report.mismatches.push(mismatch);
                let count = self.report.mismatches.len();
                self.report.stopped = self.options.stop_after.is_some_and(|limit| count >= limit);
                count as Root
            }
        };
        self.suspect(unit, &elements, root);
        self.resynchronise(unit, root);
    }

    fn describe(
        &self,
        unit: &Unit,
        info: Option<&Info>,
        pc: u64,
        level: Level,
        elements: Vec<super::report::Element>,
    ) -> Mismatch {
        let isa = if self.options.core.is_rv32() { Isa::Rv32 } else { Isa::Rv64 };
        let text = |pc, encoding| trackway_isa::riscv::text(isa, pc, encoding, Default::default());
        let past = |entry: &Entry, register| Past {
            instruction: entry.0,
            group: entry.1,
            pc: entry.2,
            encoding: entry.3,
            text: text(entry.2, entry.3),
            register,
        };
        let mut writers = Vec::new();
        if let Some(info) = info {
            for n in 0..32u16 {
                for (sources, class, base) in
                    [(info.x_sources, RegClass::Int, 0), (info.f_sources, RegClass::Float, 32)]
                {
                    if sources >> n & 1 != 0
                        && let Some(entry) = &self.writers[base + usize::from(n)]
                    {
                        writers.push(past(entry, Some(super::compare::name(Reg { class, number: n }))));
                    }
                }
            }
        }
        let encoding = unit.step.map_or(0, |step| step.1);
        Mismatch {
            class: elements.iter().map(|element| element.class).min().unwrap_or(super::report::Class::Value),
            group: unit.group,
            offset: unit.offset,
            instruction: unit.number,
            pc,
            encoding,
            text: match unit.step {
                Some(_) => text(pc, encoding),
                None => "interrupt or fetch fault".to_string(),
            },
            privilege: match level {
                Level::U => "U",
                Level::S => "S",
                Level::M => "M",
            },
            elements,
            history: self.history[self.oldest..]
                .iter()
                .chain(&self.history[..self.oldest])
                .map(|entry| past(entry, None))
                .collect(),
            writers,
            folded: 0,
            last_folded: None,
        }
    }

    /// The model takes the state of the trace.
    fn resynchronise(&mut self, unit: &Unit, root: Root) {
        // What page walks wrote stays: only the instruction's own stores are in question.
        let stored: Vec<_> = self.effects.memory.iter().map(|a| (a.physical, u64::from(a.size))).collect();
        self.memory.revert(&stored);
        self.apply_stores(unit, root);
        let mut state = self.shadow.state().clone();
        let model = &self.model.state().csr;
        (state.csr.mcycle, state.csr.minstret, state.csr.time) = (model.mcycle, model.minstret, model.time);
        (state.csr.mip, state.csr.seip_line) = (model.mip, model.seip_line);
        state.reservation = self.model.state().reservation;
        self.model.set_state(state);
    }
}

/// A core of which nothing is known but that it runs: floating point is on.
fn running(core: Config) -> Hart {
    let mut hart = Hart::new(core);
    hart.set_csr(csr::MSTATUS, csr::status::FS);
    hart
}

/// The value that a write leads to.
pub(super) fn resolve(before: &Hart, write: &UnitWrite) -> u64 {
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

//! Comparing the state that the trace records with the model's (step 4 of 3.1).

use trackway_core::{MemKind, Privilege, Reg, RegClass, TrapKind, mask};
use trackway_hart::{Access, AccessKind, Csrs, Hart, Taken, csr};
use trackway_isa::riscv::{csr_name, register_name};

use super::lacks::Lack;
use super::report::{Class, Element};
use super::suspects::{PROTECTION, canonical, stored};
use super::traced::{TracedAccess, TracedInstruction, TracedStep};
use super::verifier::{Verifier, level_of, resolve};

/// Code of the privilege level between S and M, which no core has.
const RESERVED: u64 = 2;

/// Name of a register for people.
pub(super) fn name(reg: Reg) -> String {
    match reg.class {
        RegClass::Int => register_name(reg.number as u8).to_string(),
        RegClass::Csr => csr_name(reg.number).map_or_else(|| reg.to_string(), str::to_string),
        _ => reg.to_string(),
    }
}

/// Equal but for what the environment decides: pending interrupts, counters, time.
fn same_csrs(a: &Csrs, b: &Csrs) -> bool {
    // Names every field: a new one must be looked at here.
    let Csrs {
        fflags,
        frm,
        mstatus,
        medeleg,
        mideleg,
        mie,
        mip: _,
        seip_line: _,
        mtvec,
        mcounteren,
        mcountinhibit,
        mscratch,
        mepc,
        mcause,
        mtval,
        menvcfg,
        mseccfg,
        mstateen,
        // Counted by the core.
        mhpmcounter: _,
        mhpmevent: _,
        stvec,
        scounteren,
        senvcfg,
        sscratch,
        sepc,
        scause,
        stval,
        satp,
        stimecmp,
        seed: _,
        pmpcfg,
        pmpaddr,
        mcycle: _,
        minstret: _,
        time: _,
        custom,
    } = a;
    (*fflags, *frm, *mcounteren, *mcountinhibit, *scounteren)
        == (b.fflags, b.frm, b.mcounteren, b.mcountinhibit, b.scounteren)
        && (*mstatus, *medeleg, *mideleg, *mie, *mtvec) == (b.mstatus, b.medeleg, b.mideleg, b.mie, b.mtvec)
        && (*mscratch, *mepc, *mcause, *mtval, *menvcfg) == (b.mscratch, b.mepc, b.mcause, b.mtval, b.menvcfg)
        && (*stvec, *senvcfg, *sscratch, *sepc, *scause, *stval, *satp)
            == (b.stvec, b.senvcfg, b.sscratch, b.sepc, b.scause, b.stval, b.satp)
        && (*mseccfg, *mstateen, *stimecmp) == (b.mseccfg, b.mstateen, b.stimecmp)
        && *pmpcfg == b.pmpcfg
        && *pmpaddr == b.pmpaddr
        && *custom == b.custom
}

impl Verifier {
    /// Applies the trace to the shadow state and compares all of it with the model's.
    pub(super) fn compare(&mut self, traced: &TracedStep, taken: Option<&Taken>) -> Vec<Element> {
        let mut elements = Vec::new();
        let mut checked = 0;
        self.apply(traced, &mut elements, &mut checked);
        let absent = self.options.absent;
        if let Some(TracedInstruction { encoding, length, .. }) = traced.instruction
            && self.effects.length > 0
        {
            checked += 1;
            let bits = 8 * u32::from(length.min(self.effects.length));
            let (expected, actual) = (u64::from(self.effects.encoding), u64::from(encoding));
            if mask(expected, bits) != mask(actual, bits) || length != self.effects.length {
                elements.push(element("instruction", Class::Instruction, Some(expected), Some(actual)));
            }
        }
        if let Some(reg) = self.unrecorded {
            elements.push(element(&name(reg), Class::Missing, None, None));
        }
        self.compare_trap(traced, taken, &mut elements);
        if !absent.memory {
            self.compare_memory(traced, taken, &mut elements, &mut checked);
        }
        if let Some(physical) = traced.physical_pc
            && self.effects.length > 0
            && !self.lost
        {
            checked += 1;
            if physical != self.effects.physical_pc {
                let expected = Some(self.effects.physical_pc);
                elements.push(element("physical pc", Class::Pc, expected, Some(physical)));
            }
        }
        self.equalise_masked(traced);
        let (model, shadow) = (self.model.state(), self.shadow.state());
        if model.pc != shadow.pc {
            elements.push(element("pc", Class::Pc, Some(model.pc), Some(shadow.pc)));
        }
        if model.level != shadow.level {
            let (expected, actual) = (model.level as u64, shadow.level as u64);
            elements.push(element("privilege", Class::Privilege, Some(expected), Some(actual)));
        }
        if self.differ(traced) {
            self.differences(traced, &mut elements);
        }
        self.report.checked += checked;
        elements
    }

    /// Registers that the trace says were read: unknown ones take the value, the others have to agree.
    pub(super) fn compare_reads(&mut self, traced: &TracedStep) -> Vec<Element> {
        let mut elements = Vec::new();
        for read in &traced.reads {
            let n = usize::from(read.reg.number & 31);
            let held = match read.reg.class {
                RegClass::Int => self.model.state().x[n],
                RegClass::Float => self.model.state().f[n],
                _ => continue,
            };
            self.report.checked += 1;
            if (held ^ read.value) & read.known == 0 {
                continue;
            }
            let whole = read.known == u64::MAX;
            if self.is_unknown(read.reg) {
                if whole {
                    self.write_both(read);
                }
            } else {
                let name = format!("{} (read)", name(read.reg));
                elements.push(element(&name, Class::Value, Some(held), Some(read.value)));
            }
        }
        elements
    }

    /// The trace's changes into the shadow state (step 1 of 3.1).
    fn apply(&mut self, traced: &TracedStep, elements: &mut Vec<Element>, checked: &mut u64) {
        for write in &traced.writes {
            if !self.says_value(write) {
                self.take_model(write.reg);
                self.lack(Lack::Sources, traced);
                continue;
            }
            if write.reg.class == RegClass::Csr && !self.knows_csr(write.reg.number) {
                self.write_both(write);
                continue;
            }
            let value = resolve(&self.shadow, write);
            *checked += 1;
            match (write.reg.class, write.reg.number) {
                (RegClass::Int, 0) if value != 0 => {
                    elements.push(element("zero", Class::Spurious, Some(0), Some(value)));
                }
                (RegClass::Int, n @ 1..32) => self.shadow.set_x(n as u8, value),
                (RegClass::Float, n @ 0..32) => self.shadow.set_f(n as u8, value),
                (RegClass::Csr, n) => {
                    self.shadow.set_csr(n, value);
                    let expected = self.model.read_csr(n);
                    let compared = self.options.masks.compared(n);
                    let differ = expected.unwrap_or(0) ^ value;
                    if expected.is_none() || differ & compared != 0 {
                        // Where the model reads the same after writing it, only bits that it lacks differ.
                        let lacks = self.shadow.read_csr(n) == expected && expected.is_some();
                        let class = if lacks { Class::CsrMask } else { self.csr_class(traced, n) };
                        elements.push(element(&name(write.reg), class, expected, Some(value)));
                    }
                }
                _ => {}
            }
        }
        let absent = self.options.absent;
        let model = self.model.state();
        if absent.x && self.shadow.state().x != model.x {
            (1..32).for_each(|n| self.shadow.set_x(n, model.x[usize::from(n)]));
        }
        if absent.f && self.shadow.state().f != model.f {
            (0..32).for_each(|n| self.shadow.set_f(n, model.f[usize::from(n)]));
        }
        match traced.privilege.map(|privilege| (privilege, level_of(privilege))) {
            Some((_, Some(level))) if !absent.privilege => {
                *checked += 1;
                self.recorded_level = Some(level);
                if level != self.shadow.state().level {
                    self.shadow.set_level(level);
                }
            }
            Some((Privilege::H, None)) => {
                let expected = Some(model.level as u64);
                elements.push(element("privilege", Class::Privilege, expected, Some(RESERVED)));
            }
            Some((privilege, None)) => {
                self.refuse_level(privilege, traced.offset);
                self.lack(Lack::Privilege, traced);
            }
            _ if absent.privilege && self.shadow.state().level != model.level => {
                self.shadow.set_level(model.level);
            }
            // A log has the level of each instruction, and says nothing where it is the one of the last.
            _ if absent.implied && !absent.privilege => {
                let unsaid = traced.is_interrupted || traced.trap.is_some();
                let level = if unsaid { None } else { self.recorded_level };
                self.shadow.set_level(level.unwrap_or(model.level));
            }
            _ => {}
        }
        *checked += u64::from(traced.next_pc.is_some());
        self.shadow.set_pc(traced.next_pc.unwrap_or(self.model.state().pc));
    }

    /// The trace cannot say this register's value: the model's counts.
    fn take_model(&mut self, reg: Reg) {
        let n = usize::from(reg.number & 31);
        match reg.class {
            RegClass::Int => self.shadow.set_x(n as u8, self.model.state().x[n]),
            RegClass::Float => self.shadow.set_f(n as u8, self.model.state().f[n]),
            _ => {}
        }
    }

    /// Makes masked bits, and what a trace may leave out, equal in both states.
    fn equalise_masked(&mut self, traced: &TracedStep) {
        if !self.touches_csrs(traced) {
            return;
        }
        if self.options.absent.csr {
            if !same_csrs(&self.model.state().csr, &self.shadow.state().csr) {
                let mut state = self.shadow.state().clone();
                state.csr = self.model.state().csr.clone();
                self.shadow.set_state(state);
            }
            return;
        }
        if self.options.absent.implied {
            let mut state = self.shadow.state().clone();
            state.csr = self.model.state().csr.clone();
            self.shadow.set_state(state);
            for write in traced.writes.iter().filter(|write| write.reg.class == RegClass::Csr) {
                self.shadow.set_csr(write.reg.number, resolve(&self.shadow, write));
            }
        }
        if self.unknown.csr && !same_csrs(&self.model.state().csr, &self.shadow.state().csr) {
            // Of an unknown register only the part that changes is known.
            for number in stored().chain(PROTECTION) {
                if self.knows_csr(number) {
                    continue;
                }
                let value = self.model.read_csr(number).unwrap_or(0);
                self.shadow.set_csr(number, value);
            }
        }
        let (model, shadow) = (self.model.state().csr.mstatus, self.shadow.state().csr.mstatus);
        let records_status = |traced: &TracedStep| {
            let status = |n| matches!(n, csr::MSTATUS | csr::SSTATUS);
            traced.writes.iter().any(|write| write.reg.class == RegClass::Csr && status(write.reg.number))
        };
        if model != shadow
            && (model ^ shadow) & !csr::status::FS == 0
            && !self.options.strict
            && !records_status(traced)
        {
            let value = self.model.read_csr(csr::MSTATUS).unwrap_or(0);
            self.shadow.set_csr(csr::MSTATUS, value);
        }
        for (number, bits) in self.options.masks.special() {
            let (Some(model), Some(shadow)) = (self.model.read_csr(*number), self.shadow.read_csr(*number))
            else {
                continue;
            };
            if bits.copy != 0 {
                self.model.set_csr(*number, model & !bits.copy | shadow & bits.copy);
            }
            if bits.ignore != 0 {
                self.shadow.set_csr(*number, shadow & !bits.ignore | model & bits.ignore);
            }
        }
    }

    /// Does any register differ? Both states were equal before the step, so only registers that one of them wrote can.
    #[inline]
    fn differ(&self, traced: &TracedStep) -> bool {
        let (model, shadow) = (self.model.state(), self.shadow.state());
        let differ =
            self.effects.written_x().any(|(n, _)| model.x[n as usize & 31] != shadow.x[n as usize & 31])
                || self.effects.f.is_some_and(|(n, _)| model.f[n as usize & 31] != shadow.f[n as usize & 31])
                || traced.writes.iter().any(|write| match (write.reg.class, usize::from(write.reg.number)) {
                    (RegClass::Int, n @ 0..32) => model.x[n] != shadow.x[n],
                    (RegClass::Float, n @ 0..32) => model.f[n] != shadow.f[n],
                    _ => false,
                })
                || self.touches_csrs(traced) && !same_csrs(&model.csr, &shadow.csr);
        debug_assert_eq!(
            differ,
            model.x != shadow.x || model.f != shadow.f || !same_csrs(&model.csr, &shadow.csr),
            "only written registers differ"
        );
        differ
    }

    /// Does the model or the trace write a control register?
    #[inline]
    pub(super) fn touches_csrs(&self, traced: &TracedStep) -> bool {
        !self.effects.csrs.is_empty() || traced.writes.iter().any(|write| write.reg.class == RegClass::Csr)
    }

    /// Which registers differ, and how.
    fn differences(&self, traced: &TracedStep, elements: &mut Vec<Element>) {
        let (model, shadow) = (self.model.state(), self.shadow.state());
        let wrote = |reg: Reg| traced.writes.iter().any(|write| write.reg == reg);
        let bits =
            |all: &mut dyn Iterator<Item = (u8, u64)>| all.fold(0u32, |bits, (n, _)| bits | 1 << (n & 31));
        let files = [
            (RegClass::Int, &model.x, &shadow.x, bits(&mut self.effects.written_x())),
            (RegClass::Float, &model.f, &shadow.f, bits(&mut self.effects.f.into_iter())),
        ];
        for (class, model, shadow, written) in files {
            for n in 0..32u16 {
                let (expected, actual) = (model[usize::from(n)], shadow[usize::from(n)]);
                if expected == actual {
                    continue;
                }
                let reg = Reg { class, number: n };
                let class = match (written >> n & 1 != 0, wrote(reg)) {
                    (true, false) => Class::Missing,
                    (false, true) => Class::Spurious,
                    _ => Class::Value,
                };
                elements.push(element(&name(reg), class, Some(expected), Some(actual)));
            }
        }
        for number in stored().chain(PROTECTION).chain(model.csr.custom.keys().copied()) {
            let read = |hart: &Hart| hart.read_csr(number).unwrap_or(0);
            let (expected, actual) = (read(&self.model), read(&self.shadow));
            let name = name(Reg { class: RegClass::Csr, number });
            let compared = self.options.masks.compared(number);
            if (expected ^ actual) & compared != 0 && elements.iter().all(|element| element.name != name) {
                let class = self.csr_class(traced, number);
                elements.push(element(&name, class, Some(expected), Some(actual)));
            }
        }
    }

    fn csr_class(&self, traced: &TracedStep, number: u16) -> Class {
        let same = |other: u16| canonical(other) == canonical(number);
        let model = self.effects.csrs.iter().any(|(number, _)| same(number));
        let trace =
            traced.writes.iter().any(|write| write.reg.class == RegClass::Csr && same(write.reg.number));
        match (model, trace) {
            (true, false) => Class::Missing,
            (false, true) => Class::Spurious,
            _ => Class::Value,
        }
    }

    fn compare_trap(&self, traced: &TracedStep, taken: Option<&Taken>, elements: &mut Vec<Element>) {
        if traced.trap.is_none() && taken.is_none() {
            return;
        }
        let code = |taken: &Taken| {
            u64::from(taken.cause) | u64::from(taken.interrupt) << (self.options.core.xlen() - 1)
        };
        let recorded = traced.trap.and_then(|trap| {
            let interrupt = u64::from(trap.kind == TrapKind::Interrupt) << (self.options.core.xlen() - 1);
            Some(trap.cause? | interrupt)
        });
        let expected = taken.map(code);
        match (expected, recorded) {
            // A trace without trap events may still record the registers that the trap wrote.
            (Some(_), None) if !traced.writes.is_empty() || traced.trap.is_some() => {}
            (expected, recorded) if expected == recorded => {
                if let Some(taken) = taken
                    && taken.interrupt
                    && !self.could_interrupt(taken)
                {
                    elements.push(element("interrupt", Class::Trap, None, recorded));
                }
            }
            (expected, recorded) => elements.push(element("trap", Class::Trap, expected, recorded)),
        }
    }

    /// Was the interrupt enabled before it was taken? The trap saved the earlier status.
    fn could_interrupt(&self, taken: &Taken) -> bool {
        use trackway_hart::Level;
        let csr = &self.model.state().csr;
        let (level, was_enabled) = match taken.to_level {
            Level::S => (Level::S, csr.mstatus & csr::status::SPIE != 0),
            _ => (Level::M, csr.mstatus & csr::status::MPIE != 0),
        };
        csr.mie >> taken.cause & 1 != 0
            && (taken.from_level < level || taken.from_level == level && was_enabled)
    }

    fn compare_memory(
        &self,
        traced: &TracedStep,
        taken: Option<&Taken>,
        elements: &mut Vec<Element>,
        checked: &mut u64,
    ) {
        if traced.accesses.is_empty() && self.effects.memory.is_empty() {
            return;
        }
        let joined = joined(&traced.accesses);
        let recorded = joined.as_ref().map_or(&traced.accesses[..], std::slice::from_ref);
        let mut model = self.effects.memory.iter();
        let mut recorded = recorded.iter().filter(|access| access.kind != MemKind::Faulting);
        loop {
            match (model.next(), recorded.next()) {
                (None, None) => return,
                (Some(expected), Some(actual)) => self.compare_access(&expected, actual, elements, checked),
                (Some(expected), None) => {
                    if taken.is_none() && traced.trap.is_none() {
                        elements.push(element("address", Class::Missing, Some(expected.address), None));
                    }
                }
                (None, Some(actual)) => {
                    // A store-conditional that failed has an address and no access.
                    if actual.kind != MemKind::Suppressed && taken.is_none() {
                        elements.push(element("address", Class::Spurious, None, Some(actual.address)));
                    }
                }
            }
        }
    }

    fn compare_access(
        &self,
        expected: &Access,
        actual: &TracedAccess,
        elements: &mut Vec<Element>,
        checked: &mut u64,
    ) {
        *checked += 1;
        let mut differ = |name: &str, expected: u64, actual: u64| {
            if expected != actual {
                elements.push(element(name, Class::Memory, Some(expected), Some(actual)));
            }
        };
        // A request on the bus has one address, and the trace does not say of which kind.
        let bus = actual.inferred && actual.physical == Some(actual.address);
        if !(bus && [expected.address, expected.physical].contains(&actual.address)) {
            differ("address", expected.address, actual.address);
        }
        if let Some(physical) = actual.physical.filter(|_| !bus) {
            differ("physical", expected.physical, physical);
        }
        if actual.size != 0 && !actual.inferred {
            differ("size", expected.size.into(), actual.size);
        }
        let cut = |value: u64| mask(value, 8 * u32::from(expected.size));
        match expected.kind {
            AccessKind::Load => {
                if let Some(data) = actual.data.filter(|_| !actual.inferred && !self.memory.blind) {
                    differ("load data", expected.data, cut(data));
                }
            }
            AccessKind::Store => {
                if let Some(data) = actual.data {
                    differ("store data", expected.data, cut(data));
                }
            }
            AccessKind::Amo => {
                if let Some(data) = actual.data.filter(|_| !actual.inferred && !self.memory.blind) {
                    differ("load data", cut(expected.data), cut(data));
                }
                if let Some(stored) = actual.stored {
                    differ("store data", expected.stored, cut(stored));
                }
            }
        }
    }

    /// For an instruction whose results are adopted: is it the one in memory, and if it cannot jump, does the next
    /// one follow it?
    pub(super) fn compare_adopted(&mut self, traced: &TracedStep, pc: u64) -> Vec<Element> {
        let mut elements = Vec::new();
        let Some(TracedInstruction { encoding, length, .. }) = traced.instruction else { return elements };
        let translated =
            self.lost || self.translates() && self.model.state().level != trackway_hart::Level::M;
        if let Some(physical) = traced.physical_pc.filter(|physical| !translated && *physical != pc) {
            elements.push(element("physical pc", Class::Pc, Some(pc), Some(physical)));
        }
        let place = if translated { traced.physical_pc } else { Some(pc) };
        let place = place.filter(|place| self.suspects.of_bytes(*place, length.into()).is_none());
        if let Some(expected) = place.and_then(|place| self.memory.word(place, length.into())) {
            self.report.checked += 1;
            let actual = mask(encoding.into(), 8 * u32::from(length));
            if expected != actual {
                elements.push(element("instruction", Class::Instruction, Some(expected), Some(actual)));
            }
        }
        if let Some(actual) = traced.next_pc
            && traced.trap.is_none()
            && trackway_isa::riscv::is_plain(encoding)
        {
            self.report.checked += 1;
            let expected = mask(pc.wrapping_add(length.into()), self.options.core.xlen());
            if expected != actual {
                elements.push(element("pc", Class::Pc, Some(expected), Some(actual)));
            }
        }
        elements
    }
}

/// A read and a write at one address are one access of an atomic.
pub(super) fn joined(accesses: &[TracedAccess]) -> Option<TracedAccess> {
    match accesses {
        [read, write]
            if read.kind == MemKind::Read
                && write.kind == MemKind::Write
                && read.address == write.address =>
        {
            Some(TracedAccess { kind: MemKind::ReadWrite, stored: write.data, ..*read })
        }
        _ => None,
    }
}

fn element(name: &str, class: Class, expected: Option<u64>, actual: Option<u64>) -> Element {
    Element { name: name.to_string(), class, expected, actual }
}

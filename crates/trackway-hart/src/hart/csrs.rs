//! Reading and writing control and status registers; [`csr`](crate::csr) lists what a write leaves in each field.

use trackway_isa::riscv::Extension;

use super::Hart;
use crate::config::Paging;
use crate::csr::*;
use crate::rules::CsrRule;
use crate::state::{EVENTS, Level};

/// Counters of events in `mcountinhibit`.
const EVENT_COUNTERS: u32 = ((1 << EVENTS) - 1) << 3;

/// Exceptions that can be delegated.
const DELEGABLE: u64 = 0xb3ff;

impl Hart {
    /// `mip` as it reads.
    #[inline]
    pub fn mip(&self) -> u64 {
        self.state.csr.mip | u64::from(self.state.csr.seip_line) << 9
    }

    /// Bits of an address that a pc can have.
    #[inline]
    pub(super) fn pc_mask(&self) -> u64 {
        if self.config.extensions.has(Extension::C) { !1 } else { !3 }
    }

    fn status_mask(&self) -> u64 {
        let mut mask = status::MIE | status::MPIE;
        if self.config.user {
            mask |= status::MPRV | status::TW;
        }
        if self.config.supervisor {
            mask |= status::SIE | status::SPIE | status::SPP | status::SUM | status::MXR | status::TVM;
            mask |= status::TSR;
        }
        if self.config.extensions.has(Extension::F) {
            mask |= status::FS;
        }
        mask
    }

    const SSTATUS_WRITABLE: u64 =
        status::SIE | status::SPIE | status::SPP | status::FS | status::SUM | status::MXR;

    /// `mstatus` with its read-only fields, 64 bits on RV32 as well (but for SD).
    fn mstatus(&self) -> u64 {
        let config = &self.config;
        let mut value = self.state.csr.mstatus;
        let dirty = value & status::FS == status::FS;
        if config.is_rv32() {
            value |= u64::from(dirty) << 31;
        } else {
            value |= u64::from(dirty) << 63;
            value |= if config.user { 2 << 32 } else { 0 } | if config.supervisor { 2 << 34 } else { 0 };
        }
        value
    }

    /// Who may touch a register, and does it exist? `write` says whether it is written.
    pub(super) fn csr_allowed(&self, number: u16, write: bool) -> bool {
        let (state, csr) = (&self.state, &self.state.csr);
        if (state.level as u16) < (number >> 8 & 3) || write && number >> 10 == 3 {
            return false;
        }
        match number {
            FFLAGS | FRM | FCSR => csr.mstatus & status::FS != 0,
            SATP => state.level == Level::M || csr.mstatus & status::TVM == 0,
            SEED | SENVCFG | SSTATEEN0..=0x10f | STIMECMP | STIMECMPH => self.option_allowed(number, write),
            0xc00..=0xc1f | 0xc80..=0xc9f => {
                let bit = number & 31;
                state.level == Level::M
                    || csr.mcounteren >> bit & 1 != 0
                        && (state.level == Level::S
                            || !self.config.supervisor
                            || csr.scounteren >> bit & 1 != 0)
            }
            _ => true,
        }
    }

    /// Reads a register as M would; `None` where it does not exist. On RV32 the value has 32 bits.
    pub fn read_csr(&self, number: u16) -> Option<u64> {
        let value = match self.rule(number) {
            Some(rule) => self.read_ruled(number, rule)?,
            None => self.read_wide(number)?,
        };
        Some(if self.config.is_rv32() { value & 0xffff_ffff } else { value })
    }

    /// The rule of a register in which this core differs from the model.
    #[inline]
    pub(super) fn rule(&self, number: u16) -> Option<&'static CsrRule> {
        let rules = self.config.rules;
        let place =
            if rules.is_empty() { None } else { rules.iter().position(|(known, _)| *known == number) };
        place.map(|n| &rules[n].1)
    }

    fn read_ruled(&self, number: u16, rule: &CsrRule) -> Option<u64> {
        if rule.exists == Some(false) {
            return None;
        }
        let held = self.state.csr.custom.get(&number).copied();
        let value = match self.read_wide(number) {
            Some(value) => value | held.unwrap_or(0),
            None if rule.exists == Some(true) => held.or(rule.reset).unwrap_or(0),
            None => return None,
        };
        // Registers that the model does not store.
        let fixed = matches!(number, MISA | MVENDORID..=MCONFIGPTR | 0x323..=0x33f | 0xb03..=0xb1f);
        Some(rule.read_only.or(rule.reset.filter(|_| fixed)).unwrap_or(value))
    }

    fn read_wide(&self, number: u16) -> Option<u64> {
        let (config, csr) = (&self.config, &self.state.csr);
        let rv32 = config.is_rv32();
        let float = config.extensions.has(Extension::F);
        Some(match number {
            FFLAGS if float => csr.fflags.into(),
            FRM if float => csr.frm.into(),
            FCSR if float => u64::from(csr.frm) << 5 | u64::from(csr.fflags),
            0xc00..=0xc1f | 0xc80..=0xc9f if !config.counters => return None,
            CYCLE | MCYCLE => csr.mcycle,
            TIME => csr.time,
            INSTRET | MINSTRET => csr.minstret,
            CYCLEH | MCYCLEH if rv32 => csr.mcycle >> 32,
            TIMEH if rv32 => csr.time >> 32,
            INSTRETH | MINSTRETH if rv32 => csr.minstret >> 32,
            0xc03..=0xc1f | 0xb03..=0xb1f | 0x323..=0x33f => self.read_event(number).unwrap_or(0),
            0xc83..=0xc9f | 0xb83..=0xb9f if rv32 => self.read_event(number).unwrap_or(0),
            0x100..=0x1ff if !config.supervisor => return None,
            SSTATUS => {
                self.mstatus() & (Self::SSTATUS_WRITABLE | status::UXL | 1 << 63 | u64::from(rv32) << 31)
            }
            SIE => csr.mie & csr.mideleg,
            STVEC => csr.stvec,
            SCOUNTEREN => csr.scounteren.into(),
            SENVCFG => csr.senvcfg,
            SSCRATCH => csr.sscratch,
            SEPC => csr.sepc & self.pc_mask(),
            SCAUSE => csr.scause,
            STVAL => csr.stval,
            SIP => self.mip() & csr.mideleg,
            SATP => csr.satp,
            MSTATUS => self.mstatus(),
            MISA => config.misa(),
            MEDELEG if config.supervisor => csr.medeleg,
            MEDELEGH if config.supervisor && rv32 => 0,
            MIDELEG if config.supervisor => csr.mideleg,
            MIE => csr.mie,
            MTVEC => csr.mtvec,
            MCOUNTEREN if config.user => csr.mcounteren.into(),
            MENVCFG if config.user => csr.menvcfg,
            MENVCFGH if config.user && rv32 => csr.menvcfg >> 32,
            MSTATUSH if rv32 => 0,
            MCOUNTINHIBIT => csr.mcountinhibit.into(),
            MSCRATCH => csr.mscratch,
            MEPC => csr.mepc & self.pc_mask(),
            MCAUSE => csr.mcause,
            MTVAL => csr.mtval,
            MIP => self.mip(),
            0x3a0..=0x3af => {
                if config.pmp_entries == 0 || !rv32 && number & 1 != 0 {
                    return None;
                }
                let (first, count) = (usize::from(number & 15) * 4, if rv32 { 4 } else { 8 });
                (0..count).fold(0, |all, n| all | u64::from(csr.pmpcfg[first + n]) << (8 * n))
            }
            0x3b0..=0x3ef if config.pmp_entries != 0 => self.pmpaddr(usize::from(number - PMPADDR0)),
            MVENDORID => config.vendor_id,
            MARCHID => config.arch_id,
            MIMPID => config.imp_id,
            MHARTID => config.hart_id,
            MCONFIGPTR => 0,
            _ => return self.read_option(number),
        })
    }

    /// `pmpaddr` as it reads: with a grain, low bits depend on the mode (privileged 3.7.1).
    fn pmpaddr(&self, n: usize) -> u64 {
        let (csr, grain) = (&self.state.csr, u32::from(self.config.pmp_grain));
        let value = csr.pmpaddr[n];
        match csr.pmpcfg[n] >> 3 & 3 {
            2 | 3 if grain >= 2 => value | ((1 << (grain - 1)) - 1),
            0 | 1 if grain >= 1 => value & !((1 << grain) - 1),
            _ => value,
        }
    }

    /// Writes a register as M would, keeping what is legal. False where it does not exist or is read-only.
    pub fn write_csr(&mut self, number: u16, value: u64) -> bool {
        if self.config.rules.is_empty() {
            return self.write_own(number, value);
        }
        // A view writes a part of another register.
        let held = match number {
            SSTATUS => MSTATUS,
            SIE => MIE,
            number => number,
        };
        let mut value = value;
        for number in [held, number] {
            let Some(rule) = self.rule(number) else { continue };
            if rule.exists == Some(false) {
                return false;
            }
            if rule.read_only.is_some() {
                return number >> 10 != 3;
            }
            value = rule.written(self.read_csr(number).unwrap_or(0), value);
        }
        if self.write_own(number, value) {
            self.hold(number, value);
            return true;
        }
        let is_custom = self.rule(number).is_some_and(|rule| rule.exists == Some(true)) && number >> 10 != 3;
        if is_custom && self.read_wide(number).is_none() {
            let value = if self.config.is_rv32() { value & 0xffff_ffff } else { value };
            self.state.csr.custom.insert(number, value);
        }
        is_custom
    }

    /// Keeps bits that a rule makes writable and that mean nothing to the model: those of extensions that it lacks.
    pub(super) fn hold(&mut self, number: u16, value: u64) {
        const SUPERVISOR: u64 =
            status::SIE | status::SPIE | status::SPP | status::SUM | status::MXR | status::TVM | status::TSR;
        let own = match number {
            MSTATUS => !SUPERVISOR | self.status_mask(),
            MEDELEG => DELEGABLE,
            MIDELEG => self.config.delegable_interrupts(),
            MIE => self.config.interrupts(),
            _ => return,
        };
        if self.rule(number).is_none_or(|rule| rule.writable.is_none()) {
            return;
        }
        let all = if self.config.is_rv32() { 0xffff_ffff } else { u64::MAX };
        match value & !own & all {
            0 => self.state.csr.custom.remove(&number),
            held => self.state.csr.custom.insert(number, held),
        };
    }

    /// Writes a register as the model has it.
    pub(super) fn write_own(&mut self, number: u16, value: u64) -> bool {
        let rv32 = self.config.is_rv32();
        let value = if rv32 { value & 0xffff_ffff } else { value };
        let supervisor = self.config.supervisor;
        let pc_mask = self.pc_mask();
        let csr = &mut self.state.csr;
        let high = |old: u64| old & 0xffff_ffff | value << 32;
        let low = |old: u64| if rv32 { old & !0xffff_ffff | value } else { value };
        match number {
            FFLAGS => {
                csr.fflags = value as u8 & 31;
                self.dirty_float(&mut ());
            }
            FRM => {
                csr.frm = value as u8 & 7;
                self.dirty_float(&mut ());
            }
            FCSR => {
                (csr.fflags, csr.frm) = (value as u8 & 31, (value >> 5) as u8 & 7);
                self.dirty_float(&mut ());
            }
            0x100..=0x1ff if !supervisor => return false,
            SSTATUS => {
                let mask = Self::SSTATUS_WRITABLE & self.status_mask();
                let kept = self.state.csr.mstatus & !mask;
                self.state.csr.mstatus = kept | value & mask;
                self.refresh();
            }
            SIE => csr.mie = csr.mie & !csr.mideleg | value & csr.mideleg,
            STVEC => csr.stvec = value & !2,
            SCOUNTEREN => csr.scounteren = value as u32,
            SENVCFG => csr.senvcfg = self.config.envcfg(value, false),
            SSCRATCH => csr.sscratch = value,
            SEPC => csr.sepc = value & pc_mask,
            SCAUSE => csr.scause = value,
            STVAL => csr.stval = value,
            SIP => {
                let mask = csr.mideleg & (interrupt::SSI | interrupt::LCOFI);
                csr.mip = csr.mip & !mask | value & mask;
            }
            SATP => self.write_satp(value),
            MSTATUS => self.write_mstatus(value),
            MSTATUSH | MEDELEGH if rv32 => {}
            MISA => {}
            MEDELEG if supervisor => csr.medeleg = value & DELEGABLE,
            MIDELEG if supervisor => csr.mideleg = value & self.config.delegable_interrupts(),
            MIE => csr.mie = value & self.config.interrupts(),
            MTVEC => csr.mtvec = value & !2,
            MCOUNTEREN if self.config.user => csr.mcounteren = value as u32,
            MENVCFG if self.config.user => {
                let value = low(csr.menvcfg);
                self.write_menvcfg(value);
            }
            MENVCFGH if self.config.user && rv32 => {
                let value = high(csr.menvcfg);
                self.write_menvcfg(value);
            }
            MCOUNTINHIBIT => {
                let events = if self.config.extensions.has(Extension::Sscofpmf) { EVENT_COUNTERS } else { 0 };
                csr.mcountinhibit = value as u32 & (CY | IR | events);
            }
            MSCRATCH => csr.mscratch = value,
            MEPC => csr.mepc = value & pc_mask,
            MCAUSE => csr.mcause = value,
            MTVAL => csr.mtval = value,
            MIP => {
                let mask = self.config.delegable_interrupts();
                csr.mip = csr.mip & !mask | value & mask;
                self.refresh_timer();
            }
            0x3a0..=0x3af => return self.write_pmpcfg(number, value),
            0x3b0..=0x3ef => return self.write_pmpaddr(usize::from(number - PMPADDR0), value),
            MCYCLE => csr.mcycle = low(csr.mcycle),
            MINSTRET => csr.minstret = low(csr.minstret),
            MCYCLEH if rv32 => csr.mcycle = high(csr.mcycle),
            MINSTRETH if rv32 => csr.minstret = high(csr.minstret),
            0xb03..=0xb1f | 0x323..=0x33f => {
                self.write_event(number, value);
            }
            0xb83..=0xb9f if rv32 => {
                self.write_event(number, value);
            }
            _ => return self.write_option(number, value),
        }
        true
    }

    fn write_mstatus(&mut self, value: u64) {
        let mask = self.status_mask();
        let csr = &mut self.state.csr;
        let mut next = csr.mstatus & !mask | value & mask;
        let exists = match Level::from_bits(value >> 11) {
            Some(Level::M) => true,
            Some(Level::S) => self.config.supervisor,
            Some(Level::U) => self.config.user,
            None => false,
        };
        if exists {
            next = next & !status::MPP | value & status::MPP;
        }
        csr.mstatus = next;
        self.refresh();
    }

    fn write_satp(&mut self, value: u64) {
        let paging = self.config.paging;
        let (lowest, widest) = if self.config.is_rv32() { (22, 9) } else { (44, 16) };
        let bits = u64::from(self.config.asid_bits.min(widest));
        let asid = ((1 << widest) - 1) << lowest;
        let value = value & !asid | value & asid & ((1 << (lowest + bits)) - 1);
        if self.config.is_rv32() {
            if paging != Paging::Bare {
                self.state.csr.satp = value;
            }
        } else {
            let exists = match value >> 60 {
                0 => true,
                8 => paging >= Paging::Sv39,
                9 => paging >= Paging::Sv48,
                10 => paging >= Paging::Sv57,
                _ => false,
            };
            if exists && paging != Paging::Bare {
                self.state.csr.satp = value;
            }
        }
        self.flush_translations();
    }

    fn write_pmpcfg(&mut self, number: u16, value: u64) -> bool {
        let rv32 = self.config.is_rv32();
        if self.config.pmp_entries == 0 || !rv32 && number & 1 != 0 {
            return false;
        }
        let first = usize::from(number & 15) * 4;
        for n in 0..if rv32 { 4 } else { 8 } {
            let entry = first + n;
            let security = self.state.csr.mseccfg;
            let cfg = &mut self.state.csr.pmpcfg[entry];
            let locked = *cfg & 0x80 != 0 && security & mseccfg::RLB == 0;
            if entry >= usize::from(self.config.pmp_entries) || locked {
                continue;
            }
            let mut new = (value >> (8 * n)) as u8 & 0x9f;
            if security & mseccfg::MML == 0 {
                if new & 3 == 2 {
                    new &= !2;
                }
            } else if security & mseccfg::RLB == 0 && matches!(new & 0x87, 0x82 | 0x84..=0x86) {
                // Smepmp: no new rule that machine mode can execute.
                continue;
            }
            if self.config.pmp_grain > 0 && new >> 3 & 3 == 2 {
                new &= !0x18;
            }
            *cfg = new;
        }
        self.flush_translations();
        true
    }

    fn write_pmpaddr(&mut self, n: usize, value: u64) -> bool {
        if self.config.pmp_entries == 0 {
            return false;
        }
        if n >= usize::from(self.config.pmp_entries) {
            return true;
        }
        let csr = &mut self.state.csr;
        let bypass = csr.mseccfg & mseccfg::RLB != 0;
        let locked = |n: usize| csr.pmpcfg[n] & 0x80 != 0 && !bypass;
        let below_locked_tor = n + 1 < 64 && locked(n + 1) && csr.pmpcfg[n + 1] >> 3 & 3 == 1;
        if !locked(n) && !below_locked_tor {
            let mask = if self.config.is_rv32() { 0xffff_ffff } else { (1 << 54) - 1 };
            csr.pmpaddr[n] = value & mask;
            self.flush_translations();
        }
        true
    }

    /// Sets a register from outside, between steps: read-only counters, time and all bits of `mip` as well.
    /// False where it does not exist.
    pub fn set_csr(&mut self, number: u16, value: u64) -> bool {
        let rv32 = self.config.is_rv32();
        let csr = &mut self.state.csr;
        let part = |old: u64| if rv32 { old & !0xffff_ffff | value & 0xffff_ffff } else { value };
        match number {
            MIP => {
                csr.mip = value & (interrupt::ALL | self.config.interrupts());
                csr.seip_line = false;
            }
            TIME => {
                csr.time = part(csr.time);
                self.refresh_timer();
            }
            TIMEH if rv32 => {
                csr.time = csr.time & 0xffff_ffff | value << 32;
                self.refresh_timer();
            }
            CYCLE => csr.mcycle = part(csr.mcycle),
            CYCLEH if rv32 => csr.mcycle = csr.mcycle & 0xffff_ffff | value << 32,
            INSTRET => csr.minstret = part(csr.minstret),
            INSTRETH if rv32 => csr.minstret = csr.minstret & 0xffff_ffff | value << 32,
            FFLAGS => csr.fflags = value as u8 & 31,
            FRM => csr.frm = value as u8 & 7,
            FCSR => (csr.fflags, csr.frm) = (value as u8 & 31, (value >> 5) as u8 & 7),
            _ => return self.write_csr(number, value) || self.read_csr(number).is_some(),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use trackway_core::Isa;

    use super::*;
    use crate::config::Config;
    use crate::extensions::Extensions;

    /// Fields that keep legal values only, by the table of `csr`.
    #[test]
    fn a_write_leaves_what_is_legal() {
        for (number, written, read) in [
            (MSTATUS, status::MPP, 0xa_0000_1800), // UXL and SXL are 2
            (MSTATUS, 2 << 11, 0xa_0000_1800),     // level 2 does not exist: unchanged
            (MSTATUS, status::FS, 0x8000_000a_0000_6000),
            (MTVEC, 0x1003, 0x1001),
            (MEDELEG, u64::MAX, 0xb3ff),
            (MIDELEG, u64::MAX, 0x222),
            (MIE, u64::MAX, 0xaaa),
            (MEPC, 0x1003, 0x1002),
            (MCAUSE, 1 << 63 | 77, 1 << 63 | 77),
            (MCOUNTINHIBIT, u64::MAX, 5),
            (MENVCFG, u64::MAX, 0xf1),
            (MENVCFG, 0x20, 0), // CBIE 2 is reserved
            (SENVCFG, u64::MAX, 0xf1),
            (SATP, 8 << 60 | 5, 8 << 60 | 5),
            (SATP, 3 << 60 | 7, 8 << 60 | 5), // mode 3 does not exist: unchanged
            (PMPADDR0, u64::MAX, (1 << 54) - 1),
            (PMPCFG0, 0x62, 0), // reserved bits, and W without R
        ] {
            let mut hart = Hart::new(Config::new(Isa::Rv64));
            hart.write_csr(MSTATUS, status::MPP);
            hart.write_csr(SATP, 8 << 60 | 5);
            assert!(hart.write_csr(number, written), "{number:#x}");
            assert_eq!(hart.read_csr(number), Some(read), "{number:#x} {written:#x}");
        }
    }

    #[test]
    fn views_show_parts() {
        let mut hart = Hart::new(Config::new(Isa::Rv64));
        hart.write_csr(MIDELEG, interrupt::SSI | interrupt::STI);
        hart.write_csr(MIE, interrupt::ALL);
        assert_eq!(hart.read_csr(SIE), Some(interrupt::SSI | interrupt::STI));
        hart.write_csr(SIE, 0);
        assert_eq!(hart.read_csr(MIE), Some(interrupt::ALL & !(interrupt::SSI | interrupt::STI)));
        hart.write_csr(SSTATUS, u64::MAX);
        let status = hart.read_csr(MSTATUS).unwrap();
        assert_eq!(status & (status::MIE | status::MPP), 0, "S does not reach fields of M");
        assert_ne!(status & status::SUM, 0);
        hart.write_csr(FCSR, 0xff);
        assert_eq!((hart.read_csr(FFLAGS), hart.read_csr(FRM)), (Some(31), Some(7)));
    }

    #[test]
    fn who_may_touch_what() {
        let mut hart = Hart::new(Config::new(Isa::Rv64));
        assert!(!hart.csr_allowed(CYCLE, true), "read-only");
        assert!(!hart.csr_allowed(FCSR, false), "floating point is off");
        hart.set_level(Level::S);
        assert!(!hart.csr_allowed(MSTATUS, false));
        assert!(hart.csr_allowed(SATP, true));
        hart.write_csr(MSTATUS, status::TVM);
        assert!(!hart.csr_allowed(SATP, true));
        assert!(!hart.csr_allowed(TIME, false));
        hart.write_csr(MCOUNTEREN, 2);
        assert!(hart.csr_allowed(TIME, false));
        hart.set_level(Level::U);
        assert!(!hart.csr_allowed(TIME, false), "S does not pass it on");
        hart.write_csr(SCOUNTEREN, 2);
        assert!(hart.csr_allowed(TIME, false));
    }

    #[test]
    fn registers_that_a_core_lacks() {
        let all = Config::new(Isa::Rv64);
        let bare =
            Config { supervisor: false, user: false, pmp_entries: 0, extensions: Extensions::of(&[]), ..all };
        let hart = Hart::new(bare);
        for number in [SSTATUS, SATP, MEDELEG, MCOUNTEREN, PMPCFG0, PMPADDR0, FCSR, MCYCLEH, 0x7c0] {
            assert_eq!(hart.read_csr(number), None, "{number:#x}");
        }
        let rv32 = Hart::new(Config::new(Isa::Rv32));
        for number in [MCYCLEH, MSTATUSH, MENVCFGH] {
            assert_eq!(rv32.read_csr(number), Some(0), "{number:#x}");
        }
        assert_eq!(Hart::new(all).read_csr(MCYCLEH), None);
    }

    /// A locked entry, and the address below a locked TOR entry, keep their values (privileged 3.7.1).
    #[test]
    fn locked_protection_stays() {
        let mut hart = Hart::new(Config::new(Isa::Rv64));
        hart.write_csr(PMPADDR0, 0x100);
        hart.write_csr(PMPADDR0 + 1, 0x200);
        hart.write_csr(PMPCFG0, 0x8900);
        for number in [PMPADDR0, PMPADDR0 + 1, PMPCFG0] {
            let before = hart.read_csr(number);
            hart.write_csr(number, 0x7777_0000);
            let expected = if number == PMPCFG0 { Some(0x1717_8900) } else { before };
            assert_eq!(hart.read_csr(number).map(|value| value & 0xffff_ffff), expected, "{number:#x}");
        }
    }
}

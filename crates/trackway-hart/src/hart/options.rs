//! Registers of the privileged options: `menvcfg` and `senvcfg`, `stimecmp` (Sstc), `mseccfg` (Smepmp, Zkr), `seed` (Zkr),
//! `mstateen` and `sstateen` (Smstateen), and the counters of events with their overflow (Sscofpmf).

use trackway_isa::riscv::Extension;

use super::Hart;
use crate::config::{AdUpdate, Config};
use crate::csr::*;
use crate::state::{EVENTS, Level};

/// Event numbers, as the platform's events of SBI (and QEMU) have them: cycles and retired instructions.
const CYCLES: u64 = 1;
const INSTRUCTIONS: u64 = 2;

/// The first counter of events.
const FIRST: u16 = 3;

impl Config {
    /// The legal value of `menvcfg` or `senvcfg` (privileged 3.1.18).
    pub(super) fn envcfg(&self, value: u64, machine: bool) -> u64 {
        let with = |extension, bits| if self.extensions.has(extension) { bits } else { 0 };
        let mut mask = envcfg::FIOM
            | with(Extension::Zicbom, envcfg::CBIE | envcfg::CBCFE)
            | with(Extension::Zicboz, envcfg::CBZE);
        if machine {
            mask |= with(Extension::Svadu, envcfg::ADUE) | with(Extension::Sstc, envcfg::STCE);
            mask |= if self.is_rv32() { 0 } else { with(Extension::Svpbmt, envcfg::PBMTE) };
        }
        let value = value & mask;
        // 2 is reserved.
        if value & envcfg::CBIE == 2 << 4 { value & !envcfg::CBIE } else { value }
    }

    /// Interrupts that the core has: bits of `mie` and `mip`.
    pub(super) fn interrupts(&self) -> u64 {
        let overflow = if self.extensions.has(Extension::Sscofpmf) { interrupt::LCOFI } else { 0 };
        let levels = if self.supervisor { interrupt::ALL } else { interrupt::ALL & !interrupt::SUPERVISOR };
        levels | overflow
    }

    /// Interrupts that can be delegated, and whose pending bits software writes.
    pub(super) fn delegable_interrupts(&self) -> u64 {
        let levels = if self.supervisor { interrupt::SUPERVISOR } else { 0 };
        levels | self.interrupts() & interrupt::LCOFI
    }

    fn mseccfg(&self) -> u64 {
        let with = |extension, bits| if self.extensions.has(extension) { bits } else { 0 };
        with(Extension::Smepmp, mseccfg::MML | mseccfg::MMWP | mseccfg::RLB)
            | with(Extension::Zkr, if self.supervisor { mseccfg::SSEED } else { 0 })
            | with(Extension::Zkr, if self.user { mseccfg::USEED } else { 0 })
    }
}

/// The place of a counter of events or its selector, whose first three have other meanings; `None` for others.
fn event(number: u16, first: u16) -> Option<usize> {
    let place = usize::from(number.checked_sub(first + FIRST)?);
    (place < EVENTS).then_some(place)
}

impl Hart {
    fn has(&self, extension: Extension) -> bool {
        self.config.extensions.has(extension)
    }

    /// The options after reset: A/D bits are set by hardware where software has not been promised a fault.
    pub(super) fn reset_options(&mut self) {
        if self.has(Extension::Svadu) && !self.has(Extension::Svade) {
            self.state.csr.menvcfg |= envcfg::ADUE;
        }
    }

    /// Who may touch these registers; others are not looked at here.
    pub(super) fn option_allowed(&self, number: u16, write: bool) -> bool {
        let (csr, level) = (&self.state.csr, self.state.level);
        if level == Level::M {
            // Zk, the `seed` CSR: reading it without polling is not possible.
            return number != SEED || write;
        }
        match number {
            SEED => {
                let bit = if level == Level::S { mseccfg::SSEED } else { mseccfg::USEED };
                write && csr.mseccfg & bit != 0
            }
            STIMECMP | STIMECMPH => csr.menvcfg & envcfg::STCE != 0 && csr.mcounteren & TM != 0,
            SENVCFG if self.has(Extension::Smstateen) => csr.mstateen[0] & mstateen::ENVCFG != 0,
            SSTATEEN0..=0x10f => csr.mstateen[usize::from(number - SSTATEEN0)] & mstateen::SE != 0,
            _ => true,
        }
    }

    /// Reads a register of an option; `None` where the core does not have it.
    pub(super) fn read_option(&self, number: u16) -> Option<u64> {
        let (config, csr) = (&self.config, &self.state.csr);
        let rv32 = config.is_rv32();
        let upper = |whole: u64| rv32.then_some(whole >> 32);
        match number {
            SEED if self.has(Extension::Zkr) => Some(SEED_READY | entropy(csr.seed)),
            STIMECMP if self.has(Extension::Sstc) => Some(csr.stimecmp),
            STIMECMPH if self.has(Extension::Sstc) => upper(csr.stimecmp),
            MSECCFG if config.mseccfg() != 0 => Some(csr.mseccfg),
            MSECCFGH if config.mseccfg() != 0 => upper(csr.mseccfg),
            SSTATEEN0..=0x10f if self.has(Extension::Smstateen) => Some(0),
            MSTATEEN0..=0x30f if self.has(Extension::Smstateen) => {
                Some(csr.mstateen[usize::from(number - MSTATEEN0)])
            }
            MSTATEEN0H..=0x31f if self.has(Extension::Smstateen) => {
                upper(csr.mstateen[usize::from(number - MSTATEEN0H)])
            }
            SCOUNTOVF if self.has(Extension::Sscofpmf) && config.supervisor => {
                let overflowed = (0..EVENTS).filter(|n| csr.mhpmevent[*n] & hpmevent::OF != 0);
                let all = overflowed.fold(0, |all, n| all | 1u32 << (n + usize::from(FIRST)));
                let visible = if self.state.level == Level::M { u32::MAX } else { csr.mcounteren };
                Some(u64::from(all & visible))
            }
            0x723..=0x73f if rv32 && self.has(Extension::Sscofpmf) => {
                Some(event(number, 0x720).map_or(0, |n| csr.mhpmevent[n] >> 32))
            }
            _ => None,
        }
    }

    /// A counter of events or its selector, where the core has them (Sscofpmf).
    #[inline]
    pub(super) fn read_event(&self, number: u16) -> Option<u64> {
        if !self.has(Extension::Sscofpmf) {
            return None;
        }
        let csr = &self.state.csr;
        let counters = [(0xb00, 0), (0xc00, 0), (0xb80, 32), (0xc80, 32)];
        let selector = event(number, 0x320).map(|n| csr.mhpmevent[n]);
        selector.or_else(|| {
            let found = counters.into_iter().find_map(|(first, shift)| Some((event(number, first)?, shift)));
            found
                .filter(|(_, shift)| *shift == 0 || self.config.is_rv32())
                .map(|(n, shift)| csr.mhpmcounter[n] >> shift)
        })
    }

    /// Writes a counter of events or its selector; false where the core does not have it.
    pub(super) fn write_event(&mut self, number: u16, value: u64) -> bool {
        if !self.has(Extension::Sscofpmf) {
            return false;
        }
        let rv32 = self.config.is_rv32();
        let part = |old: u64, upper: bool| match (rv32, upper) {
            (true, true) => old & 0xffff_ffff | value << 32,
            (true, false) => old & !0xffff_ffff | value & 0xffff_ffff,
            (false, _) => value,
        };
        let mut inhibits = hpmevent::OF | hpmevent::MINH;
        inhibits |= if self.config.supervisor { hpmevent::SINH } else { 0 };
        inhibits |= if self.config.user { hpmevent::UINH } else { 0 };
        let csr = &mut self.state.csr;
        let selector = event(number, 0x320).map(|n| (n, false)).or(event(number, 0x720).map(|n| (n, true)));
        if let Some((n, upper)) = selector.filter(|(_, upper)| rv32 || !upper) {
            let value = part(csr.mhpmevent[n], upper);
            // An event that the core does not have counts nothing.
            let selected = if value & hpmevent::EVENT <= INSTRUCTIONS { value & hpmevent::EVENT } else { 0 };
            csr.mhpmevent[n] = value & inhibits | selected;
        } else if let Some(n) = event(number, 0xb00) {
            csr.mhpmcounter[n] = part(csr.mhpmcounter[n], false);
        } else if let Some(n) = event(number, 0xb80).filter(|_| rv32) {
            csr.mhpmcounter[n] = part(csr.mhpmcounter[n], true);
        } else {
            return false;
        }
        self.refresh_counting();
        true
    }

    /// Writes a register of an option; false where the core does not have it.
    pub(super) fn write_option(&mut self, number: u16, value: u64) -> bool {
        if self.read_option(number).is_none() || number >> 10 == 3 {
            return false;
        }
        let rv32 = self.config.is_rv32();
        let legal = self.config.mseccfg();
        let csr = &mut self.state.csr;
        let low = |old: u64| if rv32 { old & !0xffff_ffff | value } else { value };
        let high = |old: u64| old & 0xffff_ffff | value << 32;
        let stateen = |n: usize| mstateen::SE | if n == 0 { mstateen::ENVCFG } else { 0 };
        match number {
            // The value does not matter; the entropy is used up.
            SEED => csr.seed = csr.seed.wrapping_add(1),
            STIMECMP => csr.stimecmp = low(csr.stimecmp),
            STIMECMPH => csr.stimecmp = high(csr.stimecmp),
            MSECCFG => {
                let locked = csr.pmpcfg.iter().any(|cfg| cfg & 0x80 != 0);
                let sticky = csr.mseccfg & (mseccfg::MML | mseccfg::MMWP);
                let mut next = value & legal | sticky;
                if locked && csr.mseccfg & mseccfg::RLB == 0 {
                    next &= !mseccfg::RLB;
                }
                csr.mseccfg = next;
                self.flush_translations();
            }
            MSTATEEN0..=0x30f => {
                let n = usize::from(number - MSTATEEN0);
                csr.mstateen[n] = low(csr.mstateen[n]) & stateen(n);
            }
            MSTATEEN0H..=0x31f => {
                let n = usize::from(number - MSTATEEN0H);
                csr.mstateen[n] = high(csr.mstateen[n]) & stateen(n);
            }
            0x723..=0x73f => {
                self.write_event(number, value);
            }
            _ => {}
        }
        self.refresh_timer();
        true
    }

    /// Writes `menvcfg`: translation and the supervisor's timer depend on it.
    pub(super) fn write_menvcfg(&mut self, value: u64) {
        self.state.csr.menvcfg = self.config.envcfg(value, true);
        self.refresh_timer();
        self.flush_translations();
    }

    /// STIP is the comparison where `stimecmp` is on (Sstc).
    #[inline]
    pub(super) fn refresh_timer(&mut self) {
        let csr = &mut self.state.csr;
        if csr.menvcfg & envcfg::STCE != 0 {
            let due = csr.time >= csr.stimecmp;
            csr.mip = csr.mip & !interrupt::STI | if due { interrupt::STI } else { 0 };
        }
    }

    /// Are accessed and dirty bits set by the walk (Svadu, Svade)?
    pub(super) fn ad_update(&self) -> AdUpdate {
        match (self.has(Extension::Svadu), self.has(Extension::Svade)) {
            (true, _) if self.state.csr.menvcfg & envcfg::ADUE != 0 => AdUpdate::Hardware,
            (true, _) | (_, true) => AdUpdate::Trap,
            _ => self.config.ad_update,
        }
    }

    /// Works out again whether any event is counted.
    pub(super) fn refresh_counting(&mut self) {
        self.counting = self.state.csr.mhpmevent.iter().any(|selector| selector & hpmevent::EVENT != 0);
    }

    /// Counts the events of one instruction (Sscofpmf).
    #[cold]
    pub(super) fn count_events(&mut self, retired: bool) {
        if std::mem::take(&mut self.counted) {
            return;
        }
        let inhibit = match self.state.level {
            Level::M => hpmevent::MINH,
            Level::S => hpmevent::SINH,
            Level::U => hpmevent::UINH,
        };
        let csr = &mut self.state.csr;
        for n in 0..EVENTS {
            let selector = csr.mhpmevent[n];
            let happened = match selector & hpmevent::EVENT {
                CYCLES => true,
                INSTRUCTIONS => retired,
                _ => false,
            };
            let inhibited = selector & inhibit != 0 || csr.mcountinhibit >> (n + usize::from(FIRST)) & 1 != 0;
            if !happened || inhibited {
                continue;
            }
            let (value, overflow) = csr.mhpmcounter[n].overflowing_add(1);
            csr.mhpmcounter[n] = value;
            if overflow && selector & hpmevent::OF == 0 {
                csr.mhpmevent[n] |= hpmevent::OF;
                csr.mip |= interrupt::LCOFI;
            }
        }
    }
}

/// `seed` with entropy in it: ES16 (Zk, the `seed` CSR).
const SEED_READY: u64 = 2 << 30;

/// Sixteen bits that look random and are the same in every run; a verified core's own are taken from its trace.
fn entropy(state: u64) -> u64 {
    let mixed = (state ^ state >> 30).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 48
}

#[cfg(test)]
mod tests {
    use trackway_core::Isa;

    use super::*;
    use crate::extensions::Extensions;
    use crate::ram::Ram;
    use crate::trap::cause;

    fn hart(isa: Isa) -> Hart {
        let extensions = Extensions::ALL.union(Extensions::OPTIONS);
        let mut hart = Hart::new(Config { extensions, ..Config::new(isa) });
        hart.set_csr(PMPADDR0, u64::MAX);
        hart.set_csr(PMPCFG0, 0x1f);
        hart
    }

    /// Every register of the options reads what a write left, on both widths, and is absent without them.
    #[test]
    fn registers_of_options() {
        for isa in [Isa::Rv32, Isa::Rv64] {
            let mut with = hart(isa);
            let without = Hart::new(Config::new(isa));
            for number in [SEED, STIMECMP, MSECCFG, MSTATEEN0, SSTATEEN0, SCOUNTOVF] {
                assert!(with.read_csr(number).is_some(), "{number:#x}");
                assert_eq!(without.read_csr(number), None, "{number:#x}");
            }
            for number in [STIMECMPH, MSECCFGH, MSTATEEN0H, 0x723] {
                assert_eq!(with.read_csr(number).is_some(), isa == Isa::Rv32, "{number:#x}");
            }
            with.write_csr(MSECCFG, u64::MAX);
            assert_eq!(with.read_csr(MSECCFG), Some(0x307));
            with.write_csr(MSECCFG, 0);
            assert_eq!(with.read_csr(MSECCFG), Some(3), "MML and MMWP stay");
        }
    }

    /// `stimecmp` is compared with time as unsigned numbers; STIP follows, and software cannot change it.
    #[test]
    fn the_timer_of_the_supervisor() {
        let mut hart = hart(Isa::Rv64);
        hart.write_csr(MENVCFG, envcfg::STCE);
        hart.write_csr(STIMECMP, 100);
        for (time, pending) in [(99, 0), (100, interrupt::STI), (u64::MAX, interrupt::STI)] {
            hart.set_time(time);
            hart.write_csr(MIP, interrupt::STI ^ pending);
            assert_eq!(hart.mip() & interrupt::STI, pending, "{time}");
        }
        hart.write_csr(STIMECMP, u64::MAX);
        hart.set_time(5);
        assert_eq!(hart.mip() & interrupt::STI, 0);
    }

    /// Polling the source of entropy uses it up; what it holds differs each time.
    #[test]
    fn entropy_is_used_up() {
        let mut hart = hart(Isa::Rv64);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..64 {
            let value = hart.read_csr(SEED).unwrap();
            assert_eq!((value >> 30, value >> 16 & 0x3fff), (2, 0));
            seen.insert(value);
            assert!(hart.write_csr(SEED, 0));
        }
        assert!(seen.len() > 60, "{}", seen.len());
    }

    /// Counters count in the levels that are not inhibited, and overflow once.
    #[test]
    fn events_and_their_overflow() {
        let mut ram = Ram::new(0x8000_0000, 4096);
        ram.load(0x8000_0000, &[0x13, 0, 0, 0].repeat(64)); // nop
        let mut hart = hart(Isa::Rv64);
        hart.write_csr(0x323, 2 | hpmevent::SINH);
        hart.write_csr(0x324, 1 | hpmevent::MINH);
        hart.write_csr(0xb03, u64::MAX - 2);
        for (level, counted) in [(Level::M, [2, 0]), (Level::S, [2, 2]), (Level::U, [4, 4])] {
            hart.set_level(level);
            hart.set_pc(0x8000_0000);
            for _ in 0..2 {
                assert_eq!(hart.attempt(&mut ram, &mut ()), Ok(()));
            }
            let read = |n: u16| hart.read_csr(n).unwrap();
            assert_eq!([read(0xb03).wrapping_sub(u64::MAX - 2), read(0xb04)], counted, "{level:?}");
        }
        assert_eq!(hart.mip() & interrupt::LCOFI, interrupt::LCOFI);
        hart.set_level(Level::M);
        assert_eq!(hart.read_csr(SCOUNTOVF), Some(1 << 3), "M sees all");
        hart.set_level(Level::S);
        assert_eq!(hart.read_csr(SCOUNTOVF), Some(0), "S sees what mcounteren passes on");
        // A selector of another event counts nothing.
        hart.write_csr(0x323, 77);
        assert_eq!(hart.read_csr(0x323), Some(0));
    }

    /// Svinval: the fences are illegal in U, whatever QEMU does. CBO: the trap value is that of the register.
    #[test]
    fn beyond_the_programs() {
        let mut ram = Ram::new(0x8000_0000, 4096);
        let mut hart = hart(Isa::Rv64);
        hart.set_level(Level::U);
        for word in [0x1800_0073, 0x1810_0073, 0x1600_0073] {
            let result = hart.attempt_encoding(word, &mut ram, &mut ());
            assert_eq!(result.map_err(|exception| exception.cause), Err(cause::ILLEGAL), "{word:08x}");
        }
        hart.set_level(Level::M);
        hart.set_x(10, 0x0a00_0123);
        for word in [0x0015_200f, 0x0045_200f] {
            let exception = hart.attempt_encoding(word, &mut ram, &mut ()).unwrap_err();
            assert_eq!((exception.cause, exception.value), (cause::STORE_ACCESS, 0x0a00_0123));
        }
    }

    /// Smepmp: R=0 W=1 means something in lockdown only.
    #[test]
    fn without_lockdown_the_reserved_rule_stays_out() {
        let mut hart = hart(Isa::Rv64);
        hart.write_csr(PMPCFG0, 0x1a);
        assert_eq!(hart.read_csr(PMPCFG0), Some(0x18));
        hart.write_csr(MSECCFG, mseccfg::MML | mseccfg::RLB);
        hart.write_csr(PMPCFG0, 0x1a);
        assert_eq!(hart.read_csr(PMPCFG0), Some(0x1a));
    }
}

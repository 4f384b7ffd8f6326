//! Taking traps and returning from them (privileged 3.1.6 to 3.1.15, 3.3).

use super::Hart;
use crate::csr::{self, status};
use crate::effects::Observe;
use crate::state::Level;
use crate::trap::{Exception, Taken};

/// Interrupts in the order of their priority (privileged 3.1.9): external, software, timer; M before S;
/// counter overflow last.
const PRIORITY: [u8; 7] = [11, 3, 7, 9, 1, 5, 13];

impl Hart {
    /// The interrupt that would be taken before the next instruction.
    #[inline]
    pub fn pending_interrupt(&self) -> Option<u8> {
        match self.mip() & self.state.csr.mie {
            0 => None,
            pending => self.enabled_interrupt(pending),
        }
    }

    /// The first of the pending interrupts that is enabled.
    fn enabled_interrupt(&self, pending: u64) -> Option<u8> {
        let csr = &self.state.csr;
        let level = self.state.level;
        let machine = level < Level::M || csr.mstatus & status::MIE != 0;
        let supervisor = level < Level::S || level == Level::S && csr.mstatus & status::SIE != 0;
        let enabled = match (machine, pending & !csr.mideleg) {
            (true, interrupts) if interrupts != 0 => interrupts,
            _ if supervisor => pending & csr.mideleg,
            _ => 0,
        };
        PRIORITY.into_iter().find(|cause| enabled >> cause & 1 != 0)
    }

    /// Takes an interrupt now, whatever `mip` and `mie` say.
    pub fn interrupt<E: Observe>(&mut self, cause: u8, fx: &mut E) -> Taken {
        self.trap(cause, true, 0, fx)
    }

    /// Takes the trap of an exception.
    pub fn exception<E: Observe>(&mut self, exception: Exception, fx: &mut E) -> Taken {
        self.trap(exception.cause, false, exception.value, fx)
    }

    #[cold]
    fn trap<E: Observe>(&mut self, cause: u8, interrupt: bool, value: u64, fx: &mut E) -> Taken {
        let from_level = self.state.level;
        let from = self.state.pc;
        let is_address =
            !interrupt && !matches!(cause, crate::trap::cause::ILLEGAL | crate::trap::cause::BREAKPOINT);
        let value = if is_address && !self.config.tval_address { 0 } else { value };
        let value = if self.config.is_rv32() { value & 0xffff_ffff } else { value };
        let kept = |number: u16| self.rule(number).and_then(|rule| rule.read_only).unwrap_or(value);
        let (mtval, stval) = (kept(csr::MTVAL), kept(csr::STVAL));
        let csr = &mut self.state.csr;
        let delegated = if interrupt { csr.mideleg } else { csr.medeleg };
        let to_level =
            if from_level <= Level::S && delegated >> cause & 1 != 0 { Level::S } else { Level::M };
        let code = u64::from(cause) | u64::from(interrupt) << (self.config.xlen() - 1);
        let vector = if to_level == Level::S {
            let (enabled, spp) = (csr.mstatus & status::SIE != 0, from_level as u64);
            csr.mstatus &= !(status::SIE | status::SPIE | status::SPP);
            csr.mstatus |= u64::from(enabled) << 5 | spp << 8;
            (csr.sepc, csr.scause, csr.stval) = (from, code, stval);
            csr.stvec
        } else {
            let (enabled, mpp) = (csr.mstatus & status::MIE != 0, from_level as u64);
            csr.mstatus &= !(status::MIE | status::MPIE | status::MPP);
            csr.mstatus |= u64::from(enabled) << 7 | mpp << 11;
            (csr.mepc, csr.mcause, csr.mtval) = (from, code, mtval);
            csr.mtvec
        };
        let vectored = interrupt && vector & 3 == 1;
        let to = (vector & !3) + if vectored { 4 * u64::from(cause) } else { 0 };
        self.state.level = to_level;
        self.state.pc = to;
        self.state.reservation = None;
        self.state.waiting = false;
        self.refresh();
        let names = match to_level {
            Level::S => [csr::SSTATUS, csr::SEPC, csr::SCAUSE, csr::STVAL],
            _ => [csr::MSTATUS, csr::MEPC, csr::MCAUSE, csr::MTVAL],
        };
        for name in names {
            fx.csr(name, self.read_csr(name).unwrap_or_default());
        }
        let taken = Taken { cause, interrupt, value, from, to, from_level, to_level };
        fx.trap(taken);
        taken
    }

    /// `mret`: returns the address to continue at.
    pub(super) fn mret<E: Observe>(&mut self, fx: &mut E) -> u64 {
        let csr = &mut self.state.csr;
        let previous = Level::from_bits(csr.mstatus >> 11).unwrap_or(Level::M);
        let enable = csr.mstatus >> 7 & 1;
        let lowest = if self.config.user { Level::U } else { Level::M };
        csr.mstatus &= !(status::MIE | status::MPP);
        csr.mstatus |= enable << 3 | status::MPIE | (lowest as u64) << 11;
        if previous != Level::M {
            csr.mstatus &= !status::MPRV;
        }
        let to = csr.mepc & self.pc_mask();
        self.leave(previous, csr::MSTATUS, fx);
        to
    }

    /// `sret`: returns the address to continue at.
    pub(super) fn sret<E: Observe>(&mut self, fx: &mut E) -> u64 {
        let csr = &mut self.state.csr;
        let previous = if csr.mstatus & status::SPP != 0 { Level::S } else { Level::U };
        let enable = csr.mstatus >> 5 & 1;
        csr.mstatus &= !(status::SIE | status::SPP | status::MPRV);
        csr.mstatus |= enable << 1 | status::SPIE;
        let to = csr.sepc & self.pc_mask();
        self.leave(previous, csr::SSTATUS, fx);
        to
    }

    fn leave<E: Observe>(&mut self, to: Level, name: u16, fx: &mut E) {
        if self.counting {
            self.count_events(true);
            self.counted = true;
        }
        self.state.level = to;
        self.refresh();
        fx.csr(name, self.read_csr(name).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use trackway_core::Isa;

    use super::*;
    use crate::config::Config;
    use crate::csr::interrupt;
    use crate::trap::cause;

    fn hart(level: Level) -> Hart {
        let mut hart = Hart::new(Config::new(Isa::Rv64));
        hart.set_csr(csr::MTVEC, 0x1001);
        hart.set_csr(csr::STVEC, 0x2000);
        hart.set_pc(0x8000_0010);
        hart.set_level(level);
        hart
    }

    /// Into M and back: the status stacks level and interrupt enable (privileged 3.1.6.1).
    #[test]
    fn an_exception_and_its_return() {
        let mut hart = hart(Level::U);
        hart.set_csr(csr::MSTATUS, status::MIE);
        let taken = hart.exception(Exception::new(cause::ILLEGAL, 0x1234), &mut ());
        assert_eq!((taken.to, taken.from_level, taken.to_level), (0x1000, Level::U, Level::M));
        let read = |hart: &Hart, number| hart.read_csr(number).unwrap();
        assert_eq!(read(&hart, csr::MEPC), 0x8000_0010);
        assert_eq!((read(&hart, csr::MCAUSE), read(&hart, csr::MTVAL)), (2, 0x1234));
        assert_eq!(hart.state().csr.mstatus & (status::MIE | status::MPIE | status::MPP), status::MPIE);
        assert_eq!(hart.mret(&mut ()), 0x8000_0010);
        assert_eq!(hart.state().level, Level::U);
        assert_eq!(hart.state().csr.mstatus & status::MIE, status::MIE);
    }

    /// A delegated exception goes to S, but never from M (privileged 3.1.8).
    #[test]
    fn delegation() {
        for (level, to) in [(Level::U, Level::S), (Level::S, Level::S), (Level::M, Level::M)] {
            let mut hart = hart(level);
            hart.set_csr(csr::MEDELEG, 1 << cause::BREAKPOINT);
            let taken = hart.exception(Exception::new(cause::BREAKPOINT, 0), &mut ());
            assert_eq!(taken.to_level, to);
            assert_eq!(taken.to, if to == Level::S { 0x2000 } else { 0x1000 });
            if to == Level::S {
                assert_eq!(hart.state().csr.mstatus & status::SPP != 0, level == Level::S);
                assert_eq!(hart.sret(&mut ()), 0x8000_0010);
                assert_eq!(hart.state().level, level);
            }
        }
    }

    /// Vectored interrupts, and the order in which pending ones are taken (privileged 3.1.7, 3.1.9).
    #[test]
    fn interrupts_by_priority() {
        let mut hart = hart(Level::U);
        hart.set_csr(csr::MIE, interrupt::ALL);
        hart.set_csr(csr::MIDELEG, interrupt::SUPERVISOR);
        hart.set_interrupts(interrupt::ALL, interrupt::ALL);
        for expected in [11, 3, 7, 9, 1, 5] {
            assert_eq!(hart.pending_interrupt(), Some(expected));
            hart.set_interrupts(1 << expected, 0);
        }
        assert_eq!(hart.pending_interrupt(), None);
        let taken = hart.interrupt(7, &mut ());
        assert_eq!((taken.to, taken.interrupt), (0x1000 + 4 * 7, true));
        assert_eq!(hart.read_csr(csr::MCAUSE), Some(1 << 63 | 7));
    }

    #[test]
    fn enables_hold_at_the_same_level_only() {
        for (level, status, pending) in
            [(Level::M, 0, false), (Level::M, status::MIE, true), (Level::S, 0, true), (Level::U, 0, true)]
        {
            let mut hart = hart(level);
            hart.set_csr(csr::MSTATUS, status);
            hart.set_csr(csr::MIE, interrupt::MTI);
            hart.set_interrupts(interrupt::MTI, interrupt::MTI);
            assert_eq!(hart.pending_interrupt().is_some(), pending, "{level:?} {status:#x}");
        }
    }
}

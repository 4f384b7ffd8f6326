//! Atomics beyond words and doublewords (Zabha), and compare-and-swap (Zacas).

use trackway_isa::riscv::{Amo, Inst};

use super::Hart;
use super::mmu::access_fault;
use crate::bus::Bus;
use crate::effects::{Access, AccessKind, Observe, Purpose};
use crate::trap::{Exception, cause};

impl Hart {
    /// Executes an instruction of Zabha or Zacas.
    pub(super) fn execute_atomic<const RV64: bool, B: Bus, E: Observe>(
        &mut self,
        inst: &Inst,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        let x = |n: u8| self.state.x[usize::from(n & 31)];
        let (address, operand, compared) = (x(inst.rs1), x(inst.rs2), x(inst.rd));
        if inst.has_pairs() {
            return self.swap_pair::<RV64, B, E>(inst, address, bus, fx);
        }
        let illegal = self.illegal(inst.word);
        let amo = Amo::of(inst.word);
        // One that fails stores what it loaded, as Zacas allows.
        macro_rules! atomic {
            ($size:literal, $signed:ty) => {{
                let swap = |old: u64| if old as $signed == compared as $signed { operand } else { old };
                let stored = |old| amo.map_or_else(|| swap(old), |amo| amo.stored(old, operand, $size));
                self.amo::<$size, B, E>(address, bus, fx, stored)? as $signed as u64
            }};
        }
        let old = match inst.word >> 12 & 7 {
            0 => atomic!(1, i8),
            1 => atomic!(2, i16),
            2 => atomic!(4, i32),
            3 => atomic!(8, i64),
            _ => return Err(illegal),
        };
        self.write_x::<RV64, E>(inst.rd, old, fx);
        Ok(())
    }

    /// Compare-and-swap of two registers: doublewords on RV32, quadwords on RV64.
    fn swap_pair<const RV64: bool, B: Bus, E: Observe>(
        &mut self,
        inst: &Inst,
        address: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        // The pair of x0 reads as zero.
        let pair = |n: u8| match usize::from(n & 30) {
            0 => [0, 0],
            n => [self.state.x[n], self.state.x[n + 1]],
        };
        let (operand, compared) = (pair(inst.rs2), pair(inst.rd));
        let old = if RV64 {
            self.swap_quadword(address, compared, operand, bus, fx)?
        } else {
            let whole = |[low, high]: [u64; 2]| high << 32 | low;
            let swap = |old| if old == whole(compared) { whole(operand) } else { old };
            let old = self.amo::<8, B, E>(address, bus, fx, swap)?;
            [old & 0xffff_ffff, old >> 32]
        };
        if inst.rd != 0 {
            self.write_x::<RV64, E>(inst.rd, old[0], fx);
            self.write_x::<RV64, E>(inst.rd + 1, old[1], fx);
        }
        Ok(())
    }

    fn swap_quadword<B: Bus, E: Observe>(
        &mut self,
        address: u64,
        compared: [u64; 2],
        operand: [u64; 2],
        bus: &mut B,
        fx: &mut E,
    ) -> Result<[u64; 2], Exception> {
        if address & 15 != 0 {
            return Err(Exception::new(cause::STORE_MISALIGNED, address));
        }
        let physical = self.translate(address, 16, Purpose::Store, bus, fx)?;
        let fault = access_fault(Purpose::Store, address);
        let places = [physical, physical + 8];
        if !places.into_iter().all(|place| bus.writable(place, 8)) {
            return Err(fault);
        }
        let old = [bus.read(places[0], 8).ok_or(fault)?, bus.read(places[1], 8).ok_or(fault)?];
        let stored = if old == compared { operand } else { old };
        // Two accesses of the width of a register.
        for (n, place) in places.into_iter().enumerate() {
            if !bus.write(place, 8, stored[n]) {
                return Err(fault);
            }
            fx.memory(Access {
                kind: AccessKind::Amo,
                size: 8,
                address: address + 8 * n as u64,
                physical: place,
                data: old[n],
                stored: stored[n],
            });
        }
        Ok(old)
    }
}

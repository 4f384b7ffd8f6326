//! Loads, stores and atomics of the core, aligned or not.

use super::Hart;
use super::mmu::access_fault;
use super::tlb::PAGE_MASK;
use crate::bus::Bus;
use crate::config::Misaligned;
use crate::effects::{Access, AccessKind, Observe, Purpose};
use crate::state::Reservation;
use crate::trap::{Exception, cause};

impl Hart {
    /// Loads `SIZE` bytes, zero-extended.
    #[inline(always)]
    pub(super) fn load<const SIZE: usize, B: Bus, E: Observe>(
        &mut self,
        address: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<u64, Exception> {
        if address & (SIZE as u64 - 1) != 0 {
            return self.load_misaligned::<SIZE, B, E>(address, bus, fx);
        }
        let physical = self.translate(address, SIZE as u64, Purpose::Load, bus, fx)?;
        let data = bus.read(physical, SIZE).ok_or(access_fault(Purpose::Load, address))?;
        fx.memory(Access { kind: AccessKind::Load, size: SIZE as u8, address, physical, data, stored: 0 });
        Ok(data)
    }

    #[inline(never)]
    fn load_misaligned<const SIZE: usize, B: Bus, E: Observe>(
        &mut self,
        address: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<u64, Exception> {
        if self.config.misaligned == Misaligned::Trap {
            return Err(Exception::new(cause::LOAD_MISALIGNED, address));
        }
        let parts = self.parts::<SIZE, B, E>(address, Purpose::Load, bus, fx)?;
        let mut data = 0;
        for (n, at) in parts.into_iter().enumerate().take(SIZE) {
            // Byte by byte, so that nothing is asked of the bus that it could not do.
            let at_address = self.offset(address, n as u64);
            let byte = bus.read(at, 1).ok_or(access_fault(Purpose::Load, at_address))?;
            data |= byte << (8 * n);
        }
        let access =
            Access { kind: AccessKind::Load, size: SIZE as u8, address, physical: parts[0], data, stored: 0 };
        fx.memory(access);
        Ok(data)
    }

    /// Stores the low `SIZE` bytes.
    #[inline(always)]
    pub(super) fn store<const SIZE: usize, B: Bus, E: Observe>(
        &mut self,
        address: u64,
        data: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        let data = data & (u64::MAX >> (64 - 8 * SIZE));
        if address & (SIZE as u64 - 1) != 0 {
            return self.store_misaligned::<SIZE, B, E>(address, data, bus, fx);
        }
        let physical = self.translate(address, SIZE as u64, Purpose::Store, bus, fx)?;
        if !bus.write(physical, SIZE, data) {
            return Err(access_fault(Purpose::Store, address));
        }
        fx.memory(Access { kind: AccessKind::Store, size: SIZE as u8, address, physical, data, stored: 0 });
        Ok(())
    }

    #[inline(never)]
    fn store_misaligned<const SIZE: usize, B: Bus, E: Observe>(
        &mut self,
        address: u64,
        data: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        if self.config.misaligned == Misaligned::Trap {
            return Err(Exception::new(cause::STORE_MISALIGNED, address));
        }
        let parts = self.parts::<SIZE, B, E>(address, Purpose::Store, bus, fx)?;
        // A store that faults in its second half has stored nothing.
        for (n, at) in parts.into_iter().enumerate().take(SIZE) {
            if !bus.writable(at, 1) {
                return Err(access_fault(Purpose::Store, self.offset(address, n as u64)));
            }
        }
        for (n, at) in parts.into_iter().enumerate().take(SIZE) {
            bus.write(at, 1, data >> (8 * n) & 0xff);
        }
        let access = Access {
            kind: AccessKind::Store,
            size: SIZE as u8,
            address,
            physical: parts[0],
            data,
            stored: 0,
        };
        fx.memory(access);
        Ok(())
    }

    fn offset(&self, address: u64, n: u64) -> u64 {
        let sum = address.wrapping_add(n);
        if self.config.is_rv32() { sum & 0xffff_ffff } else { sum }
    }

    /// Physical address of each byte.
    fn parts<const SIZE: usize, B: Bus, E: Observe>(
        &mut self,
        address: u64,
        purpose: Purpose,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<[u64; 8], Exception> {
        let first_bytes = (PAGE_MASK + 1 - (address & PAGE_MASK)).min(SIZE as u64);
        let first = self.translate(address, first_bytes, purpose, bus, fx)?;
        let second = match first_bytes {
            n if n == SIZE as u64 => 0,
            n => self.translate(self.offset(address, n), SIZE as u64 - n, purpose, bus, fx)?,
        };
        Ok(std::array::from_fn(|n| match n as u64 {
            n if n < first_bytes => first + n,
            n => second + (n - first_bytes),
        }))
    }

    /// Load-reserved.
    pub(super) fn load_reserved<const SIZE: usize, B: Bus, E: Observe>(
        &mut self,
        address: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<u64, Exception> {
        if address & (SIZE as u64 - 1) != 0 {
            return Err(Exception::new(cause::LOAD_MISALIGNED, address));
        }
        let data = self.load::<SIZE, B, E>(address, bus, fx)?;
        let physical = self.translate(address, SIZE as u64, Purpose::Load, bus, fx)?;
        self.state.reservation = Some(Reservation { address: physical, size: SIZE as u8 });
        Ok(data)
    }

    /// Store-conditional: did it store?
    pub(super) fn store_conditional<const SIZE: usize, B: Bus, E: Observe>(
        &mut self,
        address: u64,
        data: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<bool, Exception> {
        if address & (SIZE as u64 - 1) != 0 {
            return Err(Exception::new(cause::STORE_MISALIGNED, address));
        }
        let physical = self.translate(address, SIZE as u64, Purpose::Store, bus, fx)?;
        let holds = |r: Reservation| r.address == physical && usize::from(r.size) >= SIZE;
        let reserved = self.state.reservation.is_some_and(holds);
        let success = self.conditional.unwrap_or(reserved);
        if success {
            self.store::<SIZE, B, E>(address, data, bus, fx)?;
        }
        self.conditional = None;
        self.state.reservation = None;
        Ok(success)
    }

    /// Atomic read-modify-write: returns the old value.
    #[inline(always)]
    pub(super) fn amo<const SIZE: usize, B: Bus, E: Observe>(
        &mut self,
        address: u64,
        bus: &mut B,
        fx: &mut E,
        operation: impl FnOnce(u64) -> u64,
    ) -> Result<u64, Exception> {
        if address & (SIZE as u64 - 1) != 0 {
            return Err(Exception::new(cause::STORE_MISALIGNED, address));
        }
        let physical = self.translate(address, SIZE as u64, Purpose::Store, bus, fx)?;
        let fault = access_fault(Purpose::Store, address);
        if !bus.writable(physical, SIZE) {
            return Err(fault);
        }
        let data = bus.read(physical, SIZE).ok_or(fault)?;
        let stored = operation(data) & (u64::MAX >> (64 - 8 * SIZE));
        if !bus.write(physical, SIZE, stored) {
            return Err(fault);
        }
        fx.memory(Access { kind: AccessKind::Amo, size: SIZE as u8, address, physical, data, stored });
        Ok(data)
    }
}

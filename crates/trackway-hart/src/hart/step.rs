//! One step: fetch, decode, execute, count.

use trackway_core::Isa;
use trackway_isa::riscv::{Inst, lookup};

use super::mmu::access_fault;
use super::tlb::{PAGE_BITS, PAGE_MASK};
use super::{Hart, NO_PAGE, SLOTS, Slot};
use crate::bus::Bus;
use crate::csr::{CY, IR};
use crate::effects::{Effects, Observe, Purpose};
use crate::trap::{Exception, Taken, cause};

impl Hart {
    /// One step: attempts an instruction, and takes its trap where it does not complete.
    ///
    /// Interrupts are not looked at: ask [`pending_interrupt`](Hart::pending_interrupt) and take it with
    /// [`interrupt`](Hart::interrupt).
    pub fn step<B: Bus>(&mut self, bus: &mut B, effects: &mut Effects) -> Option<Taken> {
        effects.begin();
        let taken = self.step_observed(bus, effects);
        effects.next_pc = self.state.pc;
        taken
    }

    /// As [`step`](Hart::step), with an observer of your own; `()` for none.
    #[inline]
    pub fn step_observed<B: Bus, E: Observe>(&mut self, bus: &mut B, fx: &mut E) -> Option<Taken> {
        match self.attempt(bus, fx) {
            Ok(()) => None,
            Err(exception) => Some(self.exception(exception, fx)),
        }
    }

    /// Attempts one instruction. Where it does not complete nothing has changed but the accessed and dirty
    /// bits of pages, and no trap was taken.
    #[inline]
    pub fn attempt<B: Bus, E: Observe>(&mut self, bus: &mut B, fx: &mut E) -> Result<(), Exception> {
        let (physical, inst) = self.fetch(bus, fx)?;
        self.complete(physical, inst, bus, fx)
    }

    /// Attempts this encoding as if it were at the pc, for when memory there is not known.
    pub fn attempt_encoding<B: Bus, E: Observe>(
        &mut self,
        encoding: u32,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        let pc = self.state.pc;
        let inst = self.decode(encoding, pc, fx)?;
        self.complete(pc, inst, bus, fx)
    }

    /// Executes up to `limit` instructions that complete and change registers and memory only; returns how many.
    ///
    /// It ends before any other instruction, and after one that made a device or the observer ask for it: interrupts
    /// cannot become due in between, so that the driver has to look at them once for all of these.
    pub fn stretch<B: Bus, E: Observe>(&mut self, limit: u64, bus: &mut B, fx: &mut E) -> u64 {
        if self.counting || self.state.pc & 1 != 0 {
            return 0;
        }
        // Taken out, so that an instruction can be borrowed while the core changes.
        let decoded = std::mem::take(&mut self.decoded);
        let count = match (self.isa, decoded.first_chunk()) {
            (_, None) => 0,
            (Isa::Rv32, Some(slots)) => self.stretch_of::<false, B, E>(slots, limit, bus, fx),
            (_, Some(slots)) => self.stretch_of::<true, B, E>(slots, limit, bus, fx),
        };
        self.decoded = decoded;
        let csr = &mut self.state.csr;
        let counted = |counter: u32| if csr.mcountinhibit & counter == 0 { count } else { 0 };
        let (cycles, retired) = (counted(CY), counted(IR));
        csr.mcycle = csr.mcycle.wrapping_add(cycles);
        csr.minstret = csr.minstret.wrapping_add(retired);
        count
    }

    #[inline(never)]
    fn stretch_of<const RV64: bool, B: Bus, E: Observe>(
        &mut self,
        slots: &[Slot; SLOTS],
        limit: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> u64 {
        let (mut page, mut base) = self.fetch_page;
        let (mut pc, mut count) = (self.state.pc, 0);
        while count < limit {
            if pc >> PAGE_BITS != page {
                let found = self.tlb.find(pc, self.fetch_context, Purpose::Fetch);
                let Some(physical) = found else { break };
                (page, base) = (pc >> PAGE_BITS, physical & !PAGE_MASK);
            }
            let physical = base | pc & PAGE_MASK;
            let slot = &slots[(physical >> 1) as usize & (SLOTS - 1)];
            if slot.tag != physical {
                break;
            }
            if !fx.instruction(pc, physical, &slot.inst, &self.state) {
                break;
            }
            let Ok(next) = self.execute::<RV64, true, B, E>(&slot.inst, pc, bus, fx) else { break };
            pc = next;
            count += 1;
            if fx.completed(next) | bus.is_changed() {
                break;
            }
        }
        (self.state.pc, self.fetch_page) = (pc, (page, base));
        count
    }

    /// Executes a fetched instruction and counts it.
    #[inline(always)]
    fn complete<B: Bus, E: Observe>(
        &mut self,
        physical: u64,
        inst: Inst,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        let pc = self.state.pc;
        fx.instruction(pc, physical, &inst, &self.state);
        let result = match self.isa {
            Isa::Rv32 => self.execute::<false, false, B, E>(&inst, pc, bus, fx),
            _ => self.execute::<true, false, B, E>(&inst, pc, bus, fx),
        };
        let csr = &mut self.state.csr;
        let counts = csr.mcountinhibit;
        csr.mcycle = csr.mcycle.wrapping_add(u64::from(counts & CY == 0));
        if self.counting {
            self.count_events(result.is_ok());
        }
        let csr = &mut self.state.csr;
        let next = result?;
        csr.minstret = csr.minstret.wrapping_add(u64::from(counts & IR == 0));
        self.state.pc = next;
        Ok(())
    }

    /// The instruction at the pc and its physical address.
    #[inline(always)]
    fn fetch<B: Bus, E: Observe>(&mut self, bus: &mut B, fx: &mut E) -> Result<(u64, Inst), Exception> {
        let pc = self.state.pc;
        if pc >> PAGE_BITS == self.fetch_page.0 {
            let physical = self.fetch_page.1 | pc & PAGE_MASK;
            let slot = &self.decoded[(physical >> 1) as usize & (SLOTS - 1)];
            if slot.tag == physical {
                return Ok((physical, slot.inst));
            }
        }
        self.fetch_slowly(bus, fx)
    }

    #[inline(never)]
    fn fetch_slowly<B: Bus, E: Observe>(
        &mut self,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(u64, Inst), Exception> {
        let pc = self.state.pc;
        if pc & !self.pc_mask() != 0 {
            return Err(Exception::new(cause::FETCH_MISALIGNED, pc));
        }
        let fault = |address| access_fault(Purpose::Fetch, address);
        let physical = self.translate(pc, 2, Purpose::Fetch, bus, fx)?;
        // Only a page that protection treats alike may be entered without asking again.
        self.fetch_page = NO_PAGE;
        if self.tlb_holds_fetch(pc) {
            self.fetch_page = (pc >> PAGE_BITS, physical & !PAGE_MASK);
        }
        let index = (physical >> 1) as usize & (SLOTS - 1);
        if self.decoded[index].tag == physical {
            return Ok((physical, self.decoded[index].inst));
        }
        let mut encoding = u32::from(bus.fetch(physical).ok_or(fault(pc))?);
        let mut remember = true;
        if encoding & 3 == 3 {
            let rest = self.next_half(pc);
            let second = if rest & PAGE_MASK == 0 || self.fetch_page == NO_PAGE {
                remember = false;
                self.translate(rest, 2, Purpose::Fetch, bus, fx)?
            } else {
                physical + 2
            };
            encoding |= u32::from(bus.fetch(second).ok_or(fault(rest))?) << 16;
        }
        let inst = self.decode(encoding, physical, fx)?;
        if remember {
            self.decoded[index] = Slot { tag: physical, inst };
        }
        Ok((physical, inst))
    }

    fn next_half(&self, pc: u64) -> u64 {
        let next = pc.wrapping_add(2);
        if self.config.is_rv32() { next & 0xffff_ffff } else { next }
    }

    /// The instruction of an encoding, if this core has it.
    fn decode<E: Observe>(&self, encoding: u32, physical: u64, fx: &mut E) -> Result<Inst, Exception> {
        let extensions = self.config.extensions;
        let found = lookup(self.isa, encoding).filter(|(declared, inst)| extensions.have(declared, inst));
        found.map(|(_, inst)| inst).ok_or_else(|| {
            // Of an encoding that is longer only these bits were fetched.
            let length = if encoding & 3 == 3 { 4 } else { 2 };
            let encoding = if length == 2 { encoding & 0xffff } else { encoding };
            fx.illegal(self.state.pc, physical, encoding, length);
            self.illegal(encoding)
        })
    }

    /// The exception of an illegal instruction.
    pub(super) fn illegal(&self, encoding: u32) -> Exception {
        let value = if self.config.tval_instruction { u64::from(encoding) } else { 0 };
        Exception::new(cause::ILLEGAL, value)
    }
}

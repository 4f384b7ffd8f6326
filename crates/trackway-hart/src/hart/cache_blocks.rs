//! Cache blocks (Zicbom, Zicboz). The model has no cache: managing a block makes the checks, zeroing one stores.

use trackway_isa::riscv::{Inst, Op};

use super::Hart;
use super::mmu::access_fault;
use crate::bus::Bus;
use crate::csr::envcfg;
use crate::effects::{Access, AccessKind, Observe, Purpose};
use crate::state::Level;
use crate::trap::{Exception, cause};

/// Bytes in a cache block (Zic64b).
const BLOCK: u64 = 64;

impl Hart {
    /// Executes `cbo.inval`, `cbo.clean`, `cbo.flush` or `cbo.zero`.
    pub(super) fn execute_cache_block<B: Bus, E: Observe>(
        &mut self,
        inst: &Inst,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        let enable = match inst.op {
            Op::CboInval => envcfg::CBIE,
            Op::CboZero => envcfg::CBZE,
            _ => envcfg::CBCFE,
        };
        // CMO, control of cache-block operations: M may always, S as menvcfg says, U as senvcfg says as well.
        let (csr, level) = (&self.state.csr, self.state.level);
        let below = level != Level::M && csr.menvcfg & enable == 0;
        let user = level == Level::U && self.config.supervisor && csr.senvcfg & enable == 0;
        if below || user {
            return Err(self.illegal(inst.word));
        }
        let address = self.state.x[usize::from(inst.rs1 & 31)];
        if inst.op == Op::CboZero {
            self.zero_block(address, bus, fx)
        } else {
            self.manage_block(address, bus, fx)
        }
    }

    /// Allowed where a load is; what is not allowed is a fault of a store, with the address as it was in the register.
    fn manage_block<B: Bus, E: Observe>(
        &mut self,
        address: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        let block = address & !(BLOCK - 1);
        match self.translate(block, BLOCK, Purpose::Load, bus, fx) {
            Ok(physical) if bus.read(physical, 8).is_some() => Ok(()),
            Err(Exception { cause: cause::LOAD_PAGE, .. }) => Err(Exception::new(cause::STORE_PAGE, address)),
            _ => Err(access_fault(Purpose::Store, address)),
        }
    }

    fn zero_block<B: Bus, E: Observe>(
        &mut self,
        address: u64,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        let block = address & !(BLOCK - 1);
        let at_register = |exception: Exception| Exception::new(exception.cause, address);
        let physical = self.translate(block, BLOCK, Purpose::Store, bus, fx).map_err(at_register)?;
        let fault = access_fault(Purpose::Store, address);
        let words = || (0..BLOCK).step_by(8);
        if !words().all(|n| bus.writable(physical + n, 8)) {
            return Err(fault);
        }
        for n in words() {
            if !bus.write(physical + n, 8, 0) {
                return Err(fault);
            }
            let (address, physical) = (block + n, physical + n);
            fx.memory(Access { kind: AccessKind::Store, size: 8, address, physical, data: 0, stored: 0 });
        }
        Ok(())
    }
}

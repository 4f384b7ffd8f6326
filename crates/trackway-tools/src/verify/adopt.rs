//! Results that the model cannot compute are taken from the trace.

use trackway_core::{MemKind, RegUpdate};
use trackway_hart::Level;
use trackway_isa::riscv::Op;

use super::decode::Decoded;
use super::suspects::Root;
use super::traced::{TracedInstruction, TracedStep};
use super::verifier::{Verifier, level_of};

/// Number of the register that a system call returns its result in.
const A0: u32 = 10;

impl Verifier {
    /// Adopts the step, but compares the instruction itself with memory.
    pub(super) fn adopt_compared(
        &mut self,
        traced: &TracedStep,
        decoded: Option<&Decoded>,
        traced_pc: Option<u64>,
    ) {
        let level = self.model.state().level;
        let known = if self.unknown.pc { None } else { traced_pc };
        self.effects.begin();
        let differs = known.map_or(Vec::new(), |pc| self.compare_adopted(traced, pc));
        self.adopt(traced, decoded);
        let pc = traced_pc.unwrap_or(0);
        if !differs.is_empty() {
            self.mismatch(traced, decoded, pc, level, false, differs);
        }
        self.remember(traced, decoded, pc);
    }

    /// Takes the recorded results into both states.
    fn adopt(&mut self, traced: &TracedStep, decoded: Option<&Decoded>) {
        self.report.adopted += 1;
        if let Some(decoded) = decoded {
            self.unknown.x |= decoded.x_written;
            self.unknown.f |= decoded.f_written;
            let stores = decoded.inst.and_then(|inst| inst.op.class().memory());
            let stores = stores.is_some_and(|memory| memory.kind != MemKind::Read);
            if stores && traced.accesses.is_empty() && traced.trap.is_none() {
                // It stored to an unknown address.
                self.memory.forget_all();
                self.stale = true;
            }
        }
        for write in &traced.writes {
            let relative = write.update != RegUpdate::Set;
            if !(relative && self.is_unknown(write.reg)) {
                self.write_both(write);
            }
        }
        self.apply_stores(traced, 0);
        let op = decoded.and_then(|decoded| decoded.inst).map(|inst| inst.op);
        if op == Some(Op::Ecall) && self.unknown.csr {
            // A kernel outside the trace may have written anything; recorded changes follow as state.
            self.memory.forget_all();
            self.unknown.x |= 1 << A0;
            self.stale = true;
        }
        if let Some(level) = traced.privilege.and_then(level_of) {
            self.set_level(level);
        }
        match (traced.next_pc, traced.instruction) {
            (Some(pc), _) => self.set_pc(pc),
            (None, Some(TracedInstruction { pc: Some(pc), length, .. })) if traced.trap.is_none() => {
                self.set_pc(pc.wrapping_add(length.into()));
                self.unknown.pc = true;
            }
            _ => self.unknown.pc = true,
        }
    }

    /// Writes the recorded stores to memory.
    pub(super) fn apply_stores(&mut self, traced: &TracedStep, root: Root) {
        let translates =
            self.translates() && self.model.state().level.min(self.shadow.state().level) != Level::M;
        let doubtful = root != 0 && self.translation_suspect().is_some();
        for access in &traced.accesses {
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
}

//! Usual instructions in few tests: everything that they need is known, they retire, and trace and model agree.
//!
//! Skipped are the parts of `verify` that cannot matter to them: those about doubts, unknown state, traps and control
//! registers. A step that turns out otherwise once the model has made it goes the way of all others from there.

use trackway_core::{MemKind, RegClass, RegUpdate, mask};
use trackway_hart::{AccessKind, Level, csr};

use super::decode::Decoded;
use super::options::Absent;
use super::traced::{TracedAccess, TracedStep};
use super::verifier::{UnknownBefore, Verifier};
use super::worlds::Subject;

impl Verifier {
    /// Verifies a usual instruction; false if it is not usual, and nothing has happened then.
    #[inline]
    pub(super) fn verify_usual(&mut self, traced: &TracedStep, decoded: &Decoded) -> bool {
        let Some(instruction) = traced.instruction else { return false };
        let Some(reads) = self.usual_reads(traced, decoded) else { return false };
        let (pc, level) = (self.model.state().pc, self.model.state().level);
        self.memory.begin();
        (self.lost, self.is_damaged) = (false, false);
        self.before = UnknownBefore { x: self.unknown.x, f: self.unknown.f };
        self.report.instructions += 1;
        self.report.checked += reads;
        self.memory.loaded = traced.accesses.iter().find_map(|access| match access.kind {
            MemKind::Read | MemKind::ReadWrite => access.data,
            _ => None,
        });
        self.memory.fetched = Some((instruction.encoding, instruction.length));
        let taken = self.model.step(&mut self.memory, &mut self.effects);
        self.model.set_conditional(None);
        self.report.exceptions += u64::from(taken.is_some());
        if taken.is_some() || !self.agrees(traced) {
            let subject = Subject { traced, decoded: Some(decoded), pc, level };
            self.judge_step(subject, None, Vec::new(), taken);
            return true;
        }
        self.settle_usual(traced, decoded);
        self.remember(traced, Some(decoded), pc);
        true
    }

    /// The number of registers that the step reads as they are; `None` if it cannot be a usual one.
    #[inline(always)]
    fn usual_reads(&self, traced: &TracedStep, decoded: &Decoded) -> Option<u64> {
        let (unknown, state) = (&self.unknown, self.model.state());
        let is_odd = !decoded.usual
            | traced.attempted
            | traced.trap.is_some()
            | traced.privilege.is_some()
            | traced.physical_pc.is_some()
            | (traced.pc != Some(state.pc));
        let lacks = unknown.pc
            | unknown.csr
            | (decoded.x_sources & unknown.x != 0)
            | (decoded.f_sources & unknown.f != 0);
        let is_busy = !(self.shortcuts & self.has_begun)
            | self.stale
            | self.is_trial
            | self.options.coverage
            | self.suspects.any();
        if is_odd | lacks | is_busy || !self.fresh.is_empty() || self.options.absent != Absent::default() {
            return None;
        }
        let is_plain = state.level == Level::M && state.csr.mstatus & csr::status::MPRV == 0;
        if !is_plain && self.translates() {
            return None;
        }
        for read in &traced.reads {
            let n = usize::from(read.reg.number & 31);
            let held = match read.reg.class {
                RegClass::Int => state.x[n],
                RegClass::Float => state.f[n],
                _ => return None,
            };
            if (held ^ read.value) & read.known != 0 {
                return None;
            }
        }
        Some(traced.reads.len() as u64)
    }

    /// Did the model do what the trace says, and no more than a usual instruction does?
    #[inline(always)]
    fn agrees(&self, traced: &TracedStep) -> bool {
        let (effects, memory) = (&self.effects, &self.memory);
        let (model, shadow) = (self.model.state(), self.shadow.state());
        let is_odd = memory.learned | memory.learned_code | memory.blind | memory.lost;
        if is_odd | effects.upper_x.is_some() || !effects.csrs.is_empty() || model.level != shadow.level {
            return false;
        }
        let fetched = traced.instruction.map(|traced| (traced.encoding, traced.length));
        let next = traced.next_pc.unwrap_or(model.pc);
        if fetched != Some((effects.encoding, effects.length)) || next != model.pc {
            return false;
        }
        // Bits of registers that were written.
        let (mut x, mut f) = (0u32, 0u32);
        let cut = |value: u64| if self.options.core.is_rv32() { value & 0xffff_ffff } else { value };
        for write in &traced.writes {
            let is_same = match (write.reg.class, write.reg.number) {
                (RegClass::Int, n @ 0..32) => {
                    x |= 1 << n;
                    cut(write.value) == model.x[usize::from(n)]
                }
                (RegClass::Float, n @ 0..32) => {
                    f |= 1 << n;
                    write.value == model.f[usize::from(n)]
                }
                _ => false,
            };
            if write.update != RegUpdate::Set || !is_same {
                return false;
            }
        }
        // A write that changed nothing need not be recorded.
        let same_x = |n: usize| x >> n & 1 != 0 || model.x[n] == shadow.x[n];
        let same_f = |n: usize| f >> n & 1 != 0 || model.f[n] == shadow.f[n];
        effects.x.is_none_or(|(n, _)| same_x(usize::from(n & 31)))
            && effects.f.is_none_or(|(n, _)| same_f(usize::from(n & 31)))
            && self.same_access(&traced.accesses)
    }

    /// Is there no access, or one that is the model's?
    #[inline(always)]
    fn same_access(&self, accesses: &[TracedAccess]) -> bool {
        let model = &self.effects.memory;
        let (actual, expected) = match (accesses, model.first(), model.len()) {
            ([], None, _) => return true,
            ([actual], Some(expected), 1) => (actual, expected),
            _ => return false,
        };
        let same_data =
            actual.data.is_none_or(|data| mask(data, 8 * u32::from(expected.size)) == expected.data);
        let trusted = expected.kind == AccessKind::Load && actual.inferred;
        expected.kind != AccessKind::Amo
            && actual.kind != MemKind::Faulting
            && actual.address == expected.address
            && actual.physical.is_none_or(|physical| physical == expected.physical)
            && (actual.size == 0 || actual.inferred || actual.size == u64::from(expected.size))
            && (same_data || trusted)
    }

    /// Takes over what the step wrote, and counts what was compared.
    #[inline(always)]
    fn settle_usual(&mut self, traced: &TracedStep, decoded: &Decoded) {
        self.unrecorded = None;
        if let Some((rd, value)) = self.effects.x
            && value == self.effects.old_x
        {
            let is_rd = (RegClass::Int, u16::from(rd));
            match traced.writes.iter().any(|write| (write.reg.class, write.reg.number) == is_rd) {
                true => self.unchanged.recorded = true,
                false => self.unchanged.omitted = true,
            }
        }
        self.unknown.x &= !decoded.x_written;
        self.unknown.f &= !decoded.f_written;
        for write in &traced.writes {
            match write.reg.class {
                RegClass::Int => self.shadow.set_x(write.reg.number as u8, write.value),
                _ => self.shadow.set_f(write.reg.number as u8, write.value),
            }
        }
        self.shadow.set_pc(self.model.state().pc);
        let compared = traced.writes.len() + self.effects.memory.len() + 1;
        self.report.checked += compared as u64 + u64::from(traced.next_pc.is_some());
    }
}

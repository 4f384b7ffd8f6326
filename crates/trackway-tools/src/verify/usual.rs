//! Usual instructions, as many at a time as the model executes in a stretch: everything that they need is known, they
//! retire, and trace and model agree.
//!
//! Skipped are the parts of `verify` that cannot matter to them: those about doubts, unknown state, traps and control
//! registers. A step that turns out otherwise once the model has made it goes the way of all others from there.

use trackway_core::{Batch, Event, EventKind, MemKind, Outcome, RegClass, RegRole, RegUpdate, Step, mask};
use trackway_hart::{Access, AccessKind, Effects, Hart, Level, Observe, State, Taken, Walk, csr};
use trackway_isa::riscv::Inst;

use super::collect::{Collector, access_of, read_of};
use super::decode::{Decoded, Decoder};
use super::history::{Executed, History};
use super::memory::Known;
use super::options::Absent;
use super::traced::{TracedAccess, TracedRegister, TracedStep};
use super::verifier::{Unchanged, Unknown, UnknownBefore, Verifier};
use super::worlds::Subject;

/// The instruction of a step that retired and did nothing unusual.
struct Front {
    pc: u64,
    encoding: u32,
    length: u8,
    /// Address of the next instruction, where known.
    next_pc: Option<u64>,
}

/// Steps of a trace, one after the other.
trait Traced {
    /// The next step; `None` if there is none, or it is not usual.
    fn front(&self) -> Option<Front>;

    /// Passes its registers to `each` until that returns false; false then.
    fn registers(&self, each: impl FnMut(RegRole, TracedRegister) -> bool) -> bool;

    /// Its access; `None` if it has several.
    fn access(&self) -> Option<Option<TracedAccess>>;

    /// Moves to the step after it; returns its group and number.
    fn pass(&mut self) -> (u64, u64);
}

/// One step.
impl Traced for &TracedStep {
    #[inline(always)]
    fn front(&self) -> Option<Front> {
        let (pc, instruction) = (self.pc?, self.instruction?);
        let is_odd =
            self.attempted | self.trap.is_some() | self.privilege.is_some() | self.physical_pc.is_some();
        let (encoding, length, next_pc) = (instruction.encoding, instruction.length, self.next_pc);
        (!is_odd).then_some(Front { pc, encoding, length, next_pc })
    }

    #[inline(always)]
    fn registers(&self, mut each: impl FnMut(RegRole, TracedRegister) -> bool) -> bool {
        self.reads.iter().all(|read| each(RegRole::Source, *read))
            && self.writes.iter().all(|write| each(RegRole::Destination, *write))
    }

    #[inline(always)]
    fn access(&self) -> Option<Option<TracedAccess>> {
        (self.accesses.len() <= 1).then(|| self.accesses.first().copied())
    }

    #[inline(always)]
    fn pass(&mut self) -> (u64, u64) {
        (self.group, self.number)
    }
}

/// The steps of a batch that are followed by another step, which shows where they lead to.
struct Steps<'b> {
    collector: &'b mut Collector,
    batch: &'b Batch,
    /// The next of its events.
    at: usize,
}

impl Steps<'_> {
    #[inline(always)]
    fn step(&self) -> Option<&Step> {
        match self.batch.events.get(self.at) {
            Some(Event { kind: EventKind::Step(step), .. }) => Some(step),
            _ => None,
        }
    }
}

impl Traced for Steps<'_> {
    #[inline(always)]
    fn front(&self) -> Option<Front> {
        let [Event { kind: EventKind::Step(step), .. }, Event { kind: EventKind::Step(next), .. }, ..] =
            self.batch.events.get(self.at..)?
        else {
            return None;
        };
        let is_odd = (step.outcome == Outcome::Attempted)
            | next.pc.is_none()
            | self.batch.extra_of(step).is_some_and(|extra| extra.physical_pc.is_some() | extra.placeholder);
        let (pc, encoding, length, next_pc) = (step.pc?, step.encoding, step.length, next.pc);
        (!is_odd).then_some(Front { pc, encoding, length, next_pc })
    }

    #[inline(always)]
    fn registers(&self, mut each: impl FnMut(RegRole, TracedRegister) -> bool) -> bool {
        let Some(step) = self.step() else { return false };
        // A loop, as `all` would be a call for each step.
        for access in self.batch.regs_of(step.accesses) {
            let is_usual = match (read_of(access), access.role) {
                (_, RegRole::State) => false,
                (None, _) | (_, RegRole::Ready) => true,
                (Some(write), RegRole::Destination) if write.known != u64::MAX => true,
                (Some(register), role) => each(role, register),
            };
            if !is_usual {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn access(&self) -> Option<Option<TracedAccess>> {
        match self.batch.mem_of(self.step()?.accesses) {
            [] => Some(None),
            [access] if !access.unplaced => Some(Some(access_of(access, self.batch))),
            _ => None,
        }
    }

    #[inline(always)]
    fn pass(&mut self) -> (u64, u64) {
        let offset = self.batch.events[self.at].offset;
        self.at += 1;
        self.collector.pass(offset)
    }
}

/// Compares the steps of a stretch with the trace.
struct Usual<'v, T> {
    trace: T,
    effects: &'v mut Effects,
    shadow: &'v mut Hart,
    unknown: &'v mut Unknown,
    unchanged: &'v mut Unchanged,
    history: &'v mut History,
    decoder: &'v mut Decoder,
    is_rv32: bool,
    /// The step that the model makes: where it leads to, its registers as bits, the register written and the access.
    next_pc: Option<u64>,
    written: (u32, u32),
    write: Option<TracedRegister>,
    access: Option<TracedAccess>,
    /// Registers that it reads.
    reads: u64,
    /// Elements compared.
    checked: u64,
    /// The last step disagrees.
    is_other: bool,
}

impl<T: Traced> Usual<'_, T> {
    /// Did the model do what the trace says, and no more than a usual instruction does?
    #[inline(always)]
    fn agrees(&self, next: u64) -> bool {
        let effects = &self.effects;
        if effects.upper_x.is_some() || !effects.csrs.is_empty() || self.next_pc.is_some_and(|pc| pc != next)
        {
            return false;
        }
        // A write that changed nothing need not be recorded.
        let same_registers = match self.write {
            None => {
                effects.x.is_none_or(|(_, value)| value == effects.old_x)
                    && effects.f.is_none_or(|(_, value)| value == effects.old_f)
            }
            Some(write) if write.reg.class == RegClass::Int => {
                let value = if self.is_rv32 { write.value & 0xffff_ffff } else { write.value };
                effects.x == Some((write.reg.number as u8, value))
            }
            Some(write) => effects.f == Some((write.reg.number as u8, write.value)),
        };
        same_registers && self.same_access()
    }

    /// Is there no access, or one that is the model's?
    #[inline(always)]
    fn same_access(&self) -> bool {
        let model = &self.effects.memory;
        let (actual, expected) = match (&self.access, model.first(), model.len()) {
            (None, None, _) => return true,
            (Some(actual), Some(expected), 1) => (actual, expected),
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
}

impl<T: Traced> Observe for Usual<'_, T> {
    #[inline(always)]
    fn instruction(&mut self, pc: u64, physical: u64, inst: &Inst, state: &State) -> bool {
        let Some(front) = self.trace.front() else { return false };
        if (front.pc, front.encoding, front.length) != (pc, inst.word, inst.length) {
            return false;
        }
        let decoded = self.decoder.decode(inst.word);
        let lacks = (decoded.x_sources & self.unknown.x != 0) | (decoded.f_sources & self.unknown.f != 0);
        if !decoded.usual | lacks {
            return false;
        }
        self.written = (decoded.x_written, decoded.f_written);
        let (mut reads, mut write) = (0, None);
        let (x_written, f_written) = self.written;
        let is_usual = self.trace.registers(|role, register| {
            let n = register.reg.number;
            let (held, bits) = match register.reg.class {
                RegClass::Int => (state.x[usize::from(n & 31)], x_written),
                RegClass::Float => (state.f[usize::from(n & 31)], f_written),
                _ => return false,
            };
            if role == RegRole::Source {
                reads += 1;
                return (held ^ register.value) & register.known == 0;
            }
            let is_first = write.replace(register).is_none();
            is_first & (register.update == RegUpdate::Set) & (n < 32) & (bits >> (n & 31) & 1 != 0)
        });
        let Some(access) = self.trace.access().filter(|_| is_usual) else { return false };
        (self.next_pc, self.write, self.access) = (front.next_pc, write, access);
        self.reads = reads;
        self.effects.begin();
        self.effects.instruction(pc, physical, inst, state)
    }

    #[inline(always)]
    fn completed(&mut self, next: u64) -> bool {
        self.effects.next_pc = next;
        self.checked += self.reads;
        let (group, number) = self.trace.pass();
        if !self.agrees(next) {
            self.is_other = true;
            return true;
        }
        if let Some((_, value)) = self.effects.x
            && value == self.effects.old_x
        {
            match self.write {
                Some(_) => self.unchanged.recorded = true,
                None => self.unchanged.omitted = true,
            }
        }
        let (x, f) = self.written;
        self.unknown.x &= !x;
        self.unknown.f &= !f;
        if let Some(write) = &self.write {
            match write.reg.class {
                RegClass::Int => self.shadow.set_x(write.reg.number as u8, write.value),
                _ => self.shadow.set_f(write.reg.number as u8, write.value),
            }
        }
        let compared = usize::from(self.write.is_some()) + self.effects.memory.len() + 1;
        self.checked += compared as u64 + u64::from(self.next_pc.is_some());
        let pc = self.effects.pc.unwrap_or(0);
        self.history.push(Executed { number, group, pc, encoding: self.effects.encoding }, x, f);
        false
    }

    fn illegal(&mut self, pc: u64, physical: u64, encoding: u32, length: u8) {
        self.effects.illegal(pc, physical, encoding, length);
    }
    #[inline(always)]
    fn x(&mut self, number: u8, old: u64, value: u64) {
        self.effects.x(number, old, value);
    }
    #[inline(always)]
    fn f(&mut self, number: u8, old: u64, value: u64) {
        self.effects.f(number, old, value);
    }
    fn csr_read(&mut self, number: u16, value: u64) {
        self.effects.csr_read(number, value);
    }
    fn csr(&mut self, number: u16, value: u64) {
        self.effects.csr(number, value);
    }
    #[inline(always)]
    fn memory(&mut self, access: Access) {
        self.effects.memory(access);
    }
    fn walk(&mut self, walk: &Walk) {
        self.effects.walk(walk);
    }
    fn trap(&mut self, taken: Taken) {
        self.effects.trap(taken);
    }
}

impl Verifier {
    /// Verifies a usual instruction; false if it is not usual, and nothing has happened then.
    pub(super) fn verify_usual(&mut self, traced: &TracedStep) -> bool {
        let level = self.model.state().level;
        let (count, decoded) = self.stretch(traced, 1);
        if let Some(decoded) = decoded {
            self.judge_usual(traced, &decoded, level);
        }
        count > 0
    }

    /// Verifies usual instructions from an event of a batch on; returns how many events those are.
    pub(super) fn verify_steps(&mut self, collector: &mut Collector, batch: &Batch, at: usize) -> usize {
        let steps = Steps { collector: &mut *collector, batch, at };
        let Some(front) = steps.front().filter(|_| self.is_ready()) else { return 0 };
        if !collector.make_way(front.pc, batch, &mut |observation| self.observe(observation)) {
            return 0;
        }
        let level = self.model.state().level;
        let (count, decoded) = self.stretch(Steps { collector: &mut *collector, batch, at }, u64::MAX);
        let count = count as usize;
        if let (Some(decoded), Some(last)) = (decoded, (at + count).checked_sub(1)) {
            let next_pc = match batch.events.get(last + 1) {
                Some(Event { kind: EventKind::Step(step), .. }) => step.pc,
                _ => None,
            };
            let traced = collector.again(&batch.events[last], next_pc, batch);
            self.judge_usual(traced, &decoded, level);
        }
        count
    }

    /// The model has made a step that disagrees.
    fn judge_usual(&mut self, traced: &TracedStep, decoded: &Decoded, level: Level) {
        let pc = self.effects.pc.unwrap_or_default();
        self.judge_step(Subject { traced, decoded: Some(decoded), pc, level }, None, Vec::new(), None);
    }

    /// Can steps be usual as things are?
    fn is_ready(&self) -> bool {
        let state = self.model.state();
        let is_busy = !(self.shortcuts & self.has_begun)
            | self.report.stopped
            | self.stale
            | self.is_trial
            | self.options.coverage
            | self.unknown.pc
            | self.unknown.csr
            | self.suspects.any();
        if is_busy || !self.fresh.is_empty() || self.options.absent != Absent::default() {
            return false;
        }
        let is_plain = state.level == Level::M && state.csr.mstatus & csr::status::MPRV == 0;
        let is_same = state.level == self.shadow.state().level && self.memory.reads.is_none();
        is_same && (is_plain || !self.translates())
    }

    /// Makes steps until one is not usual, and nothing has happened of that, or disagrees; returns how many, and in the
    /// latter case the instruction of the last.
    fn stretch(&mut self, trace: impl Traced, limit: u64) -> (u64, Option<Decoded>) {
        if !self.is_ready() {
            return (0, None);
        }
        let mut decoder = self.take_decoder();
        self.memory.begin();
        let mut usual = Usual {
            trace,
            effects: &mut self.effects,
            shadow: &mut self.shadow,
            unknown: &mut self.unknown,
            unchanged: &mut self.unchanged,
            history: &mut self.history,
            decoder: &mut decoder,
            is_rv32: self.options.core.is_rv32(),
            next_pc: None,
            written: (0, 0),
            write: None,
            access: None,
            reads: 0,
            checked: 0,
            is_other: false,
        };
        let count = self.model.stretch(limit, &mut Known(&mut self.memory), &mut usual);
        let (checked, is_other) = (usual.checked, usual.is_other);
        if count == 0 {
            self.decoder = Some(decoder);
            return (0, None);
        }
        (self.lost, self.is_damaged) = (false, false);
        self.before = UnknownBefore { x: self.unknown.x, f: self.unknown.f };
        self.report.instructions += count;
        self.report.checked += checked;
        self.unrecorded = None;
        let pc = if is_other { self.effects.pc } else { None };
        self.shadow.set_pc(pc.unwrap_or(self.model.state().pc));
        let is_store = |access: Access| access.kind != AccessKind::Load;
        if is_other && !self.effects.memory.iter().any(is_store) {
            self.memory.begin();
        }
        let decoded = is_other.then(|| *decoder.decode(self.effects.encoding));
        self.decoder = Some(decoder);
        (count, decoded)
    }
}

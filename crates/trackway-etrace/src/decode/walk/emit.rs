//! The events of a walk: runs, whole blocks or pieces of them, and marks.

use trackway_core::*;
use trackway_image::Block;
use trackway_isa::Control;

use super::Walker;

impl Walker {
    /// Emits the watchpoint at `pc`, after its instruction.
    pub(super) fn emit_watchpoint(&mut self, out: &mut Batch) {
        self.emit_through(Exit::Next, false, out);
        let mark = Mark { value: Some(self.pc), ..Mark::new(MarkKind::Notify) };
        out.push(self.offset, EventKind::Mark(mark));
    }

    /// Emits the whole block.
    #[inline]
    pub(super) fn emit_block(&mut self, block: &Block, taken: Option<bool>, out: &mut Batch) {
        if self.emitted {
            self.emitted = false;
            return;
        }
        let run = Run {
            start: block.start,
            end: block.end,
            count: block.count,
            accesses: None,
            isa: self.isa,
            exit: block.exit(),
            taken,
            attempted: !block.control.retires(),
            doubtful: self.doubtful,
            withdrawn: false,
        };
        self.instructions += u64::from(run.count);
        out.push(self.offset, EventKind::Run(run));
    }

    /// Emits the run through `pc`. `exit` is for a run that ends in the middle of its block.
    pub(crate) fn emit_through(&mut self, exit: Exit, attempted: bool, out: &mut Batch) {
        if self.start > self.pc || self.emitted {
            return;
        }
        let Some(block) = self.cursor.at(self.start) else { return };
        if block.last == self.pc {
            let taken = (block.control == Control::Branch && self.outcomes.count > 0)
                .then_some(self.outcomes.bits & 1 == 0);
            self.emit_block(&block, taken, out);
            self.emitted = true;
            return;
        }
        let count = self.cursor.position(self.start, self.pc).map_or(1, |position| position + 1);
        let length = self.cursor.blocks().memory().fetch(self.isa, self.pc).map_or(2, |(_, length)| length);
        let end = self.pc.wrapping_add(u64::from(length));
        self.emit_run(self.start, end, count, exit, attempted, out);
        self.before = Some(self.pc);
        self.start = end;
        self.via = Control::Sequential;
    }

    /// Emits the run up to `pc`, without it.
    pub(crate) fn emit_up_to(&mut self, pc: u64, out: &mut Batch) {
        if self.start < pc
            && let Some(count) = self.cursor.position(self.start, pc)
        {
            self.emit_run(self.start, pc, count, Exit::Next, false, out);
        }
    }

    /// Emits the run through `pc`, and the instruction at `epc` that was attempted.
    pub(crate) fn emit_attempted(&mut self, epc: u64, out: &mut Batch) {
        if epc == self.pc && self.control().is_some_and(|control| !control.retires()) {
            // It was reported as retired, but never retires (ecall, ebreak).
            return self.emit_through(Exit::Trap, true, out);
        }
        let memory = self.cursor.blocks().memory();
        let Some(length) = attempted_length(memory, self.isa, epc) else {
            self.emit_through(Exit::Trap, false, out);
            return self.emit_no_code(epc, out);
        };
        let end = epc.wrapping_add(u64::from(length));
        let joined = self.start <= self.pc
            && self.control() == Some(Control::Sequential)
            && self.successor() == Some(epc);
        if joined {
            let count = self.cursor.position(self.start, self.pc).map_or(1, |position| position + 1);
            self.emit_run(self.start, end, count + 1, Exit::Trap, true, out);
        } else {
            self.emit_through(Exit::Trap, false, out);
            self.emit_run(epc, end, 1, Exit::Trap, true, out);
        }
        self.start = u64::MAX;
    }

    /// Emits an instruction that was attempted, as a run of its own.
    pub(crate) fn emit_lone_attempt(&mut self, pc: u64, out: &mut Batch) {
        match attempted_length(self.cursor.blocks().memory(), self.isa, pc) {
            Some(length) => self.emit_run(pc, pc.wrapping_add(u64::from(length)), 1, Exit::Trap, true, out),
            None => self.emit_no_code(pc, out),
        }
    }

    /// Emits that the instruction at `pc` was executed and is not in the program.
    fn emit_no_code(&mut self, pc: u64, out: &mut Batch) {
        out.push_gap(self.offset, Gap { from: Some(pc), ..Gap::new(GapReason::NoCode) });
    }

    /// Was the instruction at `start` executed, and is not in the program?
    pub(crate) fn lacks_code(&mut self) -> bool {
        self.start <= self.pc && !self.emitted && self.cursor.at(self.start).is_none()
    }

    fn emit_run(&mut self, start: u64, end: u64, count: u32, exit: Exit, attempted: bool, out: &mut Batch) {
        let isa = self.isa;
        let run = Run {
            start,
            end,
            count,
            accesses: None,
            isa,
            exit,
            taken: None,
            attempted,
            doubtful: self.doubtful,
            withdrawn: false,
        };
        self.instructions += u64::from(run.count);
        out.push(self.offset, EventKind::Run(run));
    }
}

/// Length in bytes of an instruction that trapped, even if its encoding is not valid.
fn attempted_length(memory: &trackway_image::Memory, isa: Isa, pc: u64) -> Option<u8> {
    match memory.fetch(isa, pc) {
        Some((_, length)) => Some(length),
        None => memory.halfword(pc).map(|half| if half & 3 == 3 { 4 } else { 2 }),
    }
}

//! From the port into the pipeline: blocks become rows, and plain rows that follow each other become one.

use trackway_core::Result;

use super::Encoder;
use super::row::{Inst, TrapIn, What};
use crate::port::{Block, Cycle, Itype, Trigger};

impl Encoder {
    /// Takes what the port shows in a cycle. A block with `itype` 1 or 2 may retire instructions of `itype` 0
    /// before the trap.
    pub fn cycle(&mut self, cycle: &Cycle<'_>) -> Result<()> {
        if cycle.halted || cycle.reset {
            self.stop(cycle.cycle);
            return self.error;
        }
        for block in cycle.blocks {
            self.block(block, cycle);
        }
        match &self.error {
            Ok(()) => Ok(()),
            Err(error) => Err(*error),
        }
    }

    /// Takes one block.
    #[inline]
    pub(crate) fn block(&mut self, block: &Block, cycle: &Cycle<'_>) {
        if !self.qualifier.qualifies(block, cycle) {
            return;
        }
        // The hot way: one more plain block behind plain ones.
        if self.next.plain
            && self.calm
            && block.itype.0 == 0
            && block.iretire > 0
            && block.iaddr == self.next.address.wrapping_add(u64::from(self.next.size))
            && self.next.size > 0
            && block.trigger == Trigger::default()
            && self.port == Some((cycle.privilege, cycle.context))
        {
            self.next.address = block.last();
            self.next.size = 2 << block.ilastsize;
            self.next.halfwords += block.iretire;
            self.next.cycle = cycle.cycle;
            return;
        }
        self.block_slow(block, cycle);
    }

    pub(super) fn block_slow(&mut self, block: &Block, cycle: &Cycle<'_>) {
        let is_trap = matches!(block.itype, Itype::EXCEPTION | Itype::INTERRUPT);
        if block.iretire > 0 {
            let last = block.last();
            let itype = if is_trap { Itype::NONE } else { block.itype };
            let mut inst = Inst {
                what: What::Retire,
                sijump: block.sijump,
                privilege: cycle.privilege,
                from: block.iaddr,
                address: block.iaddr,
                context: cycle.context,
                time: cycle.time,
                cycle: cycle.cycle,
                ..Inst::default()
            };
            self.note_changes(&mut inst, cycle.ctype);
            if last != block.iaddr {
                // The first instruction can be told something by itself; the rest goes with the last.
                inst.sijump = false;
                self.push(inst);
                inst = Inst {
                    privilege_changed: false,
                    context_changed: false,
                    discontinuous: false,
                    imprecise: false,
                    from: block.iaddr.wrapping_add(2),
                    sijump: block.sijump,
                    ..inst
                };
            }
            inst.itype = itype;
            inst.address = last;
            inst.size = 2 << block.ilastsize;
            inst.halfwords = block.iretire;
            inst.notify = block.trigger.notify;
            self.push(inst);
        }
        if is_trap {
            let trap = TrapIn {
                interrupt: block.itype == Itype::INTERRUPT,
                cause: cycle.cause,
                tval: cycle.tval,
                epc: (block.iretire == 0).then_some(block.iaddr),
            };
            self.trap(trap, cycle.privilege, cycle.context, cycle.time, cycle.cycle);
        }
        if self.qualifier.stops(block) {
            self.stop(cycle.cycle);
        }
    }

    /// A trap, of which nothing retires.
    pub(crate) fn trap(&mut self, trap: TrapIn, privilege: u32, context: u64, time: u64, cycle: u64) {
        self.coming_trap = trap;
        self.push(Inst { what: What::Trap, privilege, context, time, cycle, ..Inst::default() });
    }

    /// Tracing stops: filter, trigger, halt, reset, end.
    pub fn stop(&mut self, cycle: u64) {
        if self.next.what != What::Empty && self.next.what != What::Off {
            self.push(Inst { what: What::Off, cycle, ..Inst::default() });
        }
        self.port = None;
    }

    /// Compares with what the port showed before (table 4.4).
    #[inline]
    pub(super) fn note_changes(&mut self, inst: &mut Inst, ctype: u8) {
        let now = (inst.privilege, inst.context);
        if let Some((privilege, context)) = self.port
            && self.port != Some(now)
        {
            inst.privilege_changed = privilege != inst.privilege;
            if context != inst.context && self.config.params.nocontext == 0 {
                // A context that changes without a word is the core's own business (ctype 0).
                inst.imprecise = ctype == 1;
                inst.context_changed = ctype == 2;
                inst.discontinuous |= ctype == 3;
                inst.context_changed |= ctype == 3;
            }
        }
        self.port = Some(now);
    }

    #[inline]
    pub(super) fn push(&mut self, inst: Inst) {
        let inst = inst.settle_plain();
        // A run of plain instructions goes on as one.
        if inst.plain
            && self.next.plain
            && self.calm
            && inst.from == self.next.address.wrapping_add(u64::from(self.next.size.max(2)))
        {
            self.next.address = inst.address;
            self.next.size = inst.size;
            self.next.halfwords += inst.halfwords;
            self.next.cycle = inst.cycle;
            return;
        }
        self.cur = self.next;
        self.next = inst;
        if self.cur.what == What::Trap {
            self.cur_trap = self.next_trap;
        }
        if inst.what == What::Trap {
            self.next_trap = self.coming_trap;
        }
        match self.cur.what {
            What::Empty => {}
            What::Retire => self.pass(),
            What::Trap => self.trap_pass(),
            What::Off => self.off_pass(),
        }
    }

    /// Runs what is in the pipeline.
    pub(super) fn drain(&mut self) {
        for _ in 0..2 {
            self.push(Inst::default());
        }
        self.cur = Inst::default();
        self.next = Inst::default();
        self.calm = false;
    }
}

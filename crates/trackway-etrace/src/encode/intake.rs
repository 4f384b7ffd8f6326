//! From the port into the pipeline: blocks become rows, and plain rows that follow each other become one.

use trackway_core::Result;

use super::Encoder;
use super::data::{Doing, Item};
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
        for (n, block) in cycle.blocks.iter().enumerate() {
            if cycle.data.is_empty() {
                self.block(block, cycle);
                continue;
            }
            let items = self.items(cycle, n, block.iaddr);
            self.block_with(block, cycle, &items);
        }
        if cycle.blocks.is_empty() && self.line.on {
            let split = self.config.data.split;
            self.respond(cycle.data.iter().flat_map(|port| port.transfers(split)));
        }
        match &self.error {
            Ok(()) => Ok(()),
            Err(error) => Err(*error),
        }
    }

    /// The data accesses that the port shows with a block.
    fn items(&self, cycle: &Cycle<'_>, number: usize, iaddr: u64) -> Vec<Item> {
        let (split, width) = (self.config.data.split, self.config.params.iaddr_lsbs_width);
        let here = cycle.data.iter().filter(|port| usize::from(port.dblock) == number);
        here.flat_map(|port| {
            let iaddr = port.iaddr(iaddr, width);
            port.transfers(split).map(move |transfer| Item {
                iaddr,
                before: None,
                what: Doing::Transfer(transfer),
            })
        })
        .collect()
    }

    /// Takes one block.
    #[inline]
    pub(crate) fn block(&mut self, block: &Block, cycle: &Cycle<'_>) {
        let qualified = self.qualifier.qualifies(block, cycle, &[]);
        if !qualified.instructions {
            return self.leave_out(block, cycle);
        }
        // The hot way: one more plain block behind plain ones.
        if self.next.plain
            && self.calm
            && !qualified.notify
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
        self.block_slow(block, cycle, qualified.notify);
    }

    fn block_slow(&mut self, block: &Block, cycle: &Cycle<'_>, notify: bool) {
        self.enter(block, cycle);
        if notify {
            let trigger = Trigger { notify: true, ..block.trigger };
            self.rows(&Block { trigger, ..*block }, cycle, self.line.pushed);
        } else {
            self.rows(block, cycle, self.line.pushed);
        }
        if self.qualifier.stops(block) {
            self.stop(cycle.cycle);
        }
    }

    /// The block is not traced.
    #[cold]
    pub(super) fn leave_out(&mut self, block: &Block, cycle: &Cycle<'_>) {
        self.stop(cycle.cycle);
        let is_trap = matches!(block.itype, Itype::EXCEPTION | Itype::INTERRUPT);
        self.qualifier.trap = is_trap.then(|| (trap_of(block, cycle), cycle.privilege));
    }

    /// A traced block begins: at a handler, the trap that was not traced is told with it (6.2).
    #[inline]
    pub(super) fn enter(&mut self, block: &Block, cycle: &Cycle<'_>) {
        if let Some((trap, privilege)) = self.qualifier.trap.take()
            && block.iretire > 0
        {
            self.coming_trap = trap;
            let (time, cycle) = (cycle.time, cycle.cycle);
            self.push(Inst { what: What::Trap, quiet: true, privilege, time, cycle, ..Inst::default() });
        }
    }

    /// The rows of a block that is traced. Data accesses before the `split`th are those of its first
    /// instruction.
    pub(super) fn rows(&mut self, block: &Block, cycle: &Cycle<'_>, split: u64) {
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
                inst.data_end = split;
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
            inst.data_end = self.line.pushed;
            self.push(inst);
        }
        if is_trap {
            self.trap_row(trap_of(block, cycle), cycle);
        }
    }

    /// A trap, of which nothing retires.
    pub(crate) fn trap(&mut self, trap: TrapIn, cycle: &Cycle<'_>) {
        if !self.qualifier.is_open() {
            let itype = if trap.interrupt { Itype::INTERRUPT } else { Itype::EXCEPTION };
            let block = Block { itype, iaddr: trap.epc.unwrap_or(0), ..Block::default() };
            let cycle = Cycle { cause: trap.cause, tval: trap.tval, ..*cycle };
            if !self.qualifier.qualifies(&block, &cycle, &[]).instructions {
                self.leave_out(&block, &cycle);
                if let Some((left_out, _)) = &mut self.qualifier.trap {
                    *left_out = trap;
                }
                return;
            }
            self.qualifier.trap = None;
        }
        self.trap_row(trap, cycle);
    }

    fn trap_row(&mut self, trap: TrapIn, at: &Cycle<'_>) {
        self.coming_trap = trap;
        let Cycle { privilege, context, time, cycle, .. } = *at;
        let data_end = self.line.pushed;
        self.push(Inst { what: What::Trap, privilege, context, time, cycle, data_end, ..Inst::default() });
    }

    /// Tracing stops: filter, trigger, halt, reset, end.
    pub fn stop(&mut self, cycle: u64) {
        if self.next.what != What::Empty && self.next.what != What::Off {
            let data_end = self.line.pushed;
            self.push(Inst { what: What::Off, cycle, data_end, ..Inst::default() });
        }
        self.port = None;
        self.line.silent = 0;
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
            self.next.data_end = inst.data_end;
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

/// The trap that a block ends with.
fn trap_of(block: &Block, cycle: &Cycle<'_>) -> TrapIn {
    TrapIn {
        interrupt: block.itype == Itype::INTERRUPT,
        cause: cycle.cause,
        tval: cycle.tval,
        epc: (block.iretire == 0).then_some(block.iaddr),
    }
}

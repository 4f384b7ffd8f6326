//! From the port into the pipeline: blocks become rows, and plain ones are joined to the next.

use trackway_core::Result;

use super::Encoder;
use super::data_queue::{Activity, DataItem};
use super::row::{Ahead, Changes, PortTrap, Row, RowKind};
use crate::port::{Block, Cycle, Itype, Trigger};

impl Encoder {
    /// Takes the signals of a cycle. A block with `itype` 1 or 2 may retire instructions of `itype` 0 before the trap.
    #[inline]
    pub fn cycle(&mut self, cycle: &Cycle<'_>) -> Result<()> {
        if let [block] = cycle.blocks
            && !(cycle.halted | cycle.reset)
            && cycle.data.is_empty()
            && (self.join_usual(block, cycle) || self.take_usual(block, cycle))
        {
            return Ok(());
        }
        self.cycle_in_full(cycle)
    }

    /// Takes the signals of cycles in each of which one of the blocks retires, the first in `first`. The other signals
    /// stay as they are there.
    pub fn cycles(&mut self, blocks: &[Block], first: &Cycle<'_>) -> Result<()> {
        let mut cycle = Cycle { blocks: &[], ..*first };
        let is_plain = !(cycle.halted | cycle.reset) && cycle.data.is_empty();
        let mut rest = blocks;
        while !rest.is_empty() {
            let taken = if is_plain { self.take_many(rest, &cycle) } else { 0 };
            if taken == 0 {
                self.cycle_in_full(&Cycle { blocks: &rest[..1], ..cycle })?;
            }
            rest = &rest[taken.max(1)..];
            cycle.cycle += taken.max(1) as u64;
        }
        self.error
    }

    #[inline(never)]
    fn cycle_in_full(&mut self, cycle: &Cycle<'_>) -> Result<()> {
        // One more block after plain ones.
        if let [block] = cycle.blocks
            && self.extends_row(block, cycle)
            && !(cycle.halted | cycle.reset)
            && cycle.data.is_empty()
            && self.qualifier.is_open()
            && self.error.is_ok()
        {
            self.extend_row(block, cycle);
            return Ok(());
        }
        if cycle.halted || cycle.reset {
            self.stop(cycle.cycle);
            return self.error;
        }
        if !cycle.data.is_empty() {
            return self.cycle_with_data(cycle);
        }
        for block in cycle.blocks {
            self.block(block, cycle);
        }
        self.error
    }

    /// Is it one more block after plain ones, of which nothing else is to be noted?
    #[inline(always)]
    fn extends_row(&self, block: &Block, cycle: &Cycle<'_>) -> bool {
        let Trigger { on, off, notify } = block.trigger;
        self.open == Some(block.iaddr)
            && !(on | off | notify)
            && (cycle.privilege == self.row.privilege) & (cycle.context == self.row.context)
            && (block.iretire > 0) & !block.itype.is_trap()
    }

    #[inline(always)]
    fn extend_row(&mut self, block: &Block, cycle: &Cycle<'_>) {
        self.row.join(block, cycle);
        self.row.data_end = self.data.pushed;
        self.open = if block.itype.0 == 0 { Some(self.row.next()) } else { None };
    }

    fn cycle_with_data(&mut self, cycle: &Cycle<'_>) -> Result<()> {
        for (n, block) in cycle.blocks.iter().enumerate() {
            let items = self.items(cycle, n, block.iaddr);
            self.block_with(block, cycle, &items);
        }
        if cycle.blocks.is_empty() && self.data.on {
            let split = self.config.data.split;
            let transfers = cycle.data.iter().flat_map(|port| port.transfers(split));
            self.respond(transfers.map(|transfer| DataItem::new(0, Activity::Transfer(transfer))));
        }
        self.error
    }

    /// The data accesses of a block at the port.
    fn items(&self, cycle: &Cycle<'_>, number: usize, iaddr: u64) -> Vec<DataItem> {
        let (split, width) = (self.config.data.split, self.config.params.iaddr_lsbs_width);
        let here = cycle.data.iter().filter(|port| usize::from(port.dblock) == number);
        here.flat_map(|port| {
            let iaddr = port.iaddr(iaddr, width);
            port.transfers(split).map(move |transfer| DataItem::new(iaddr, Activity::Transfer(transfer)))
        })
        .collect()
    }

    /// Takes one block, whose instructions have entered the tally.
    pub(crate) fn block(&mut self, block: &Block, cycle: &Cycle<'_>) {
        self.block_here(block, cycle);
    }

    /// As [`block`](Encoder::block), inlined.
    #[inline(always)]
    pub(crate) fn block_here(&mut self, block: &Block, cycle: &Cycle<'_>) {
        if self.take_usual(block, cycle) {
            (self.row.end, self.row.last) = (self.tally.entered.1, self.tally.last);
        } else {
            self.block_in_full(block, cycle);
        }
    }

    #[inline(never)]
    fn block_in_full(&mut self, block: &Block, cycle: &Cycle<'_>) {
        let qualified = self.qualifier.qualifies(block, cycle, &[]);
        if !qualified.instructions {
            return self.exclude(block, cycle);
        }
        if !qualified.notify && self.extends_row(block, cycle) {
            self.extend_row(block, cycle);
            (self.row.end, self.row.last) = (self.tally.entered.1, self.tally.last);
            return;
        }
        self.begin_row(block, cycle, qualified.notify);
    }

    /// Takes a block that begins a row.
    #[inline(never)]
    fn begin_row(&mut self, block: &Block, cycle: &Cycle<'_>, notify: bool) {
        self.enter(block, cycle);
        let trigger = Trigger { notify: notify | block.trigger.notify, ..block.trigger };
        self.rows(&Block { trigger, ..*block }, cycle, self.data.pushed);
        self.note_usual();
        if self.qualifier.stops(block) {
            self.stop(cycle.cycle);
        }
    }

    /// Takes a block that is not traced.
    #[cold]
    pub(super) fn exclude(&mut self, block: &Block, cycle: &Cycle<'_>) {
        self.stop(cycle.cycle);
        self.qualifier.trap = block.itype.is_trap().then(|| (trap_of(block, cycle), cycle.privilege));
    }

    /// A traced block begins. If it is a handler, the trap before it is reported with it although it was not traced
    /// (6.2).
    #[inline]
    pub(super) fn enter(&mut self, block: &Block, cycle: &Cycle<'_>) {
        if self.qualifier.trap.is_some()
            && let Some((trap, privilege)) = self.qualifier.trap.take()
            && block.iretire > 0
        {
            let (time, cycle) = (cycle.time, cycle.cycle);
            let row = Row { kind: RowKind::Trap, untraced: true, privilege, time, cycle, ..Row::default() };
            self.put_trap(trap, row);
        }
    }

    /// Turns a traced block into rows; the row before it has its pass. Data accesses before the `split`th belong to
    /// its first instruction.
    #[inline(always)]
    pub(super) fn rows(&mut self, block: &Block, cycle: &Cycle<'_>, split: u64) {
        (self.open, self.usual) = (None, false);
        let is_trap = block.itype.is_trap();
        if block.iretire > 0 {
            let changes = self.note_changes(cycle);
            let next = Ahead::retire(block.iaddr, changes);
            if self.row.kind == RowKind::Retire {
                self.pass(next);
            } else {
                self.advance(next);
            }
            let row = &mut self.row;
            row.kind = RowKind::Retire;
            (row.cut, row.untraced, row.changes) = (false, false, changes);
            (row.privilege, row.context) = (cycle.privilege, cycle.context);
            (row.time, row.cycle) = (cycle.time, cycle.cycle);
            row.from = block.iaddr;
            let last = block.last();
            if last != block.iaddr && !(self.can_join && changes == Changes::NONE) {
                self.pass_first(block.iaddr, split);
            }
            let row = &mut self.row;
            row.itype = if is_trap { Itype::NONE } else { block.itype };
            row.sijump = block.sijump;
            row.notify = block.trigger.notify;
            row.size = 2 << block.ilastsize;
            row.halfwords = block.iretire;
            row.address = last;
            row.data_end = self.data.pushed;
            (row.end, row.last) = (self.tally.entered.1, self.tally.last);
            if self.can_join && row.is_plain() {
                self.open = Some(row.next());
            }
        }
        if is_trap {
            self.trap_row(trap_of(block, cycle), cycle);
        }
    }

    /// The first instruction of a row has a pass of its own; the others are joined to the last.
    #[inline(never)]
    fn pass_first(&mut self, iaddr: u64, split: u64) {
        let first = Row {
            itype: Itype::NONE,
            sijump: false,
            notify: false,
            size: 0,
            halfwords: 0,
            address: iaddr,
            data_end: split,
            end: self.tally.entered.0.plus(self.tally.first.into()),
            last: self.tally.first,
            ..self.row
        };
        self.row = first;
        let from = iaddr.wrapping_add(2);
        self.advance(Ahead::retire(from, Changes::NONE));
        self.row = Row { from, changes: Changes::NONE, ..first };
    }

    /// Takes a trap with which nothing retires.
    pub(crate) fn trap(&mut self, trap: PortTrap, cycle: &Cycle<'_>) {
        if !self.qualifier.is_open() {
            let itype = if trap.interrupt { Itype::INTERRUPT } else { Itype::EXCEPTION };
            let block = Block { itype, iaddr: trap.epc.unwrap_or(0), ..Block::default() };
            let cycle = Cycle { cause: trap.cause, tval: trap.tval, ..*cycle };
            if !self.qualifier.qualifies(&block, &cycle, &[]).instructions {
                self.exclude(&block, &cycle);
                if let Some((left_out, _)) = &mut self.qualifier.trap {
                    *left_out = trap;
                }
                return;
            }
            self.qualifier.trap = None;
        }
        self.trap_row(trap, cycle);
    }

    fn trap_row(&mut self, trap: PortTrap, at: &Cycle<'_>) {
        let Cycle { privilege, context, time, cycle, .. } = *at;
        let data_end = self.data.pushed;
        self.put_trap(
            trap,
            Row { kind: RowKind::Trap, privilege, context, time, cycle, data_end, ..Row::default() },
        );
    }

    fn put_trap(&mut self, trap: PortTrap, row: Row) {
        self.advance(Ahead::trap(trap.epc));
        (self.open, self.usual) = (None, false);
        self.row = row;
        self.trap = trap;
    }

    /// Stops tracing: filter, trigger, halt, reset, end.
    pub fn stop(&mut self, cycle: u64) {
        if !matches!(self.row.kind, RowKind::Empty | RowKind::Off) {
            self.advance(Ahead::OFF);
            let data_end = self.data.pushed;
            // A trap that is reported only now is of this time and context.
            let Row { time, context, .. } = self.row;
            self.row = Row { kind: RowKind::Off, time, context, cycle, data_end, ..Row::default() };
        }
        (self.open, self.usual) = (None, false);
        self.port = None;
        self.data.silent = 0;
    }

    /// Compares privilege and context with the last ones at the port (table 4.4).
    #[inline]
    fn note_changes(&mut self, cycle: &Cycle<'_>) -> Changes {
        let now = Some((cycle.privilege, cycle.context));
        let mut changes = Changes::NONE;
        if let Some((privilege, context)) = self.port
            && self.port != now
        {
            if privilege != cycle.privilege {
                changes = Changes::PRIVILEGE;
            }
            if context != cycle.context && self.config.params.nocontext == 0 {
                changes.0 |= match cycle.ctype {
                    1 => Changes::IMPRECISE.0,
                    2 => Changes::CONTEXT.0,
                    3 => Changes::CONTEXT.0 | Changes::DISCONTINUOUS.0,
                    // The core asks for no report.
                    _ => 0,
                };
            }
        }
        self.port = now;
        changes
    }

    /// Runs the pass of the current row, now that the next one is known; the caller then replaces the row.
    #[inline(never)]
    fn advance(&mut self, next: Ahead) {
        match self.row.kind {
            RowKind::Empty => {}
            RowKind::Retire => self.pass(next),
            RowKind::Trap => self.trap_pass(),
            RowKind::Off => self.off_pass(),
        }
    }

    /// Empties the pipeline.
    pub(super) fn drain(&mut self) {
        self.advance(Ahead::default());
        self.row = Row::default();
        (self.open, self.usual) = (None, false);
        self.can_join = false;
    }
}

/// The trap that a block ends with.
fn trap_of(block: &Block, cycle: &Cycle<'_>) -> PortTrap {
    PortTrap {
        interrupt: block.itype == Itype::INTERRUPT,
        cause: cycle.cause,
        tval: cycle.tval,
        epc: (block.iretire == 0).then_some(block.iaddr),
        attempted: Some(false),
        ..PortTrap::default()
    }
}

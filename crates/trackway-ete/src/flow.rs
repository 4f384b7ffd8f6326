//! Stage 3: elements and the program give what was executed (K10.5.5).

mod walk;

use std::sync::Arc;

use trackway_core::{
    Context, EventKind, Exit, Gap, GapReason, Isa, Mark, MarkKind, Privilege, Run, Security, Time, TimeKind,
    Trap, TrapKind,
};
use trackway_image::{Block, Cursor, Image, Near, Waypoints};
use trackway_isa::{Control, Switch};

use crate::config::Config;
use crate::element::{ContextState, Element};
use crate::out::Out;
use crate::packet::{Entry, SubIsa};
use crate::profile::Profile;
use crate::resolve::Analyse;

/// Entries that the return stack keeps (K10.5.5.3).
const RETURNS: usize = 15;

/// An exception may lie below the current address only if the code wraps around: so much below the top.
const TOP: u64 = 1 << 20;

/// Where execution is, as far as it is known (K10.5.5.2, K10.5.6.2.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Flow {
    /// The context is known.
    has_context: bool,
    /// The address is known.
    has_address: bool,
    /// The address.
    pc: u64,
    /// Instruction set state at the address.
    sub_isa: SubIsa,
    context: ContextState,
    /// The context that was told last; none since the last Trace Info.
    told: Option<ContextState>,
    /// The instruction set that was told last.
    told_isa: Option<Isa>,
    /// The return stack, oldest first.
    returns: Vec<Entry>,
    /// The last branch went where the return stack says, unless an address comes.
    pop: bool,
    /// Calls are not kept until the next address: the stack was emptied.
    no_push: bool,
    /// The last atom or source address, which a mispredict can turn around.
    last: Option<Last>,
    /// That execution is not known here has been told.
    lost: bool,
    /// Code was followed since the last Trace On or loss.
    followed: bool,
}

/// The last P0 instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Last {
    /// Start of the block that it ends.
    start: u64,
    sub_isa: SubIsa,
    taken: bool,
}

impl Flow {
    fn isa(&self) -> Isa {
        match (self.context.sixty_four_bit, self.sub_isa) {
            (true, _) => Isa::A64,
            (false, SubIsa::Is0) => Isa::A32,
            (false, SubIsa::Is1) => Isa::T32,
        }
    }

    /// Addresses have 32 bits in AArch32.
    #[inline]
    fn wrap(&self, address: u64) -> u64 {
        if self.context.sixty_four_bit { address } else { address & 0xffff_ffff }
    }

    #[inline]
    fn is_synchronised(&self) -> bool {
        self.has_address && self.has_context
    }

    /// K10.5.5.18.2: a return that no address followed goes where the stack says.
    fn pop_return(&mut self) {
        if self.pop && !self.has_address {
            self.pop = false;
            if let Some(entry) = self.returns.pop() {
                (self.pc, self.sub_isa, self.has_address) = (entry.address, entry.sub_isa, true);
            }
        }
    }

    fn push_return(&mut self, address: u64) {
        if self.returns.len() == RETURNS {
            self.returns.remove(0);
        }
        self.returns.push(Entry { address, sub_isa: self.sub_isa });
    }

    /// The address is not known any more, and the return stack cannot tell it.
    fn lose_address(&mut self) {
        self.has_address = false;
        self.pop = false;
    }
}

/// A block table that is in use.
#[derive(Debug)]
struct Table {
    context: ContextState,
    isa: Isa,
    cursor: Cursor,
}

/// How many tables are kept at hand; the image has the others.
const TABLES: usize = 16;

/// Follows the program.
#[derive(Debug)]
pub(crate) struct Analyser {
    pub(crate) flow: Flow,
    pub(crate) out: Out,
    /// Copies of `flow` on which withdrawn elements are followed, with the number of the withdrawal.
    pub(crate) shadows: Vec<(u32, Flow)>,
    image: Arc<Image>,
    waypoints: Waypoints,
    /// The image looks different to different contexts.
    spaces: bool,
    tables: Vec<Table>,
    /// The table in use, and whether the context or instruction set changed since it was chosen.
    table: usize,
    stale: bool,
    /// The instruction set of the table in use.
    isa: Isa,
    return_stack: bool,
    profile: Profile,
    show_withdrawn: bool,
    /// A withdrawn element is being followed.
    withdrawn: bool,
}

impl Analyser {
    pub(crate) fn new(config: &Config, image: &Arc<Image>, show_withdrawn: bool) -> Self {
        Analyser {
            flow: Flow::default(),
            out: Out::new(),
            shadows: Vec::new(),
            image: Arc::clone(image),
            waypoints: Waypoints::ete(config.wfx_is_p0),
            spaces: image.parts().iter().any(|part| !part.space.is_everywhere()),
            tables: Vec::new(),
            table: 0,
            stale: true,
            isa: Isa::A64,
            return_stack: config.return_stack,
            profile: config.profile,
            show_withdrawn,
            withdrawn: false,
        }
    }

    /// Goes on from what another knew.
    pub(crate) fn set_flow(&mut self, flow: Flow, shadows: Vec<(u32, Flow)>) {
        (self.flow, self.shadows, self.stale) = (flow, shadows, true);
    }

    /// Synchronisation is lost: nothing is known any more.
    pub(crate) fn lose_sync(&mut self) {
        self.flow = Flow { lost: true, ..Flow::default() };
        self.shadows.clear();
        self.stale = true;
    }

    /// Bytes were skipped.
    pub(crate) fn skipped(&mut self, reason: GapReason, offset: u64, bytes: u64) {
        self.out.gap(offset, Gap { bytes: Some(bytes), ..Gap::new(reason) });
    }

    /// Code was followed since the start, and what is in the output does not depend on what came before.
    pub(crate) fn is_comparable(&self) -> bool {
        self.flow.last.is_some() && self.flow.has_context && self.out.is_quiet() && self.shadows.is_empty()
    }

    /// Chooses the block table for the context and instruction set.
    #[cold]
    fn select(&mut self) {
        self.stale = false;
        let isa = self.flow.isa();
        self.isa = isa;
        if self.flow.told_isa != Some(isa) && !self.withdrawn {
            self.flow.told_isa = Some(isa);
            let offset = self.out.last_offset();
            self.out.batch().push_context(offset, Context { isa: Some(isa), ..Context::default() });
        }
        let context = if self.spaces { self.flow.context } else { ContextState::default() };
        if let Some(index) = self.tables.iter().position(|table| table.isa == isa && table.context == context)
        {
            self.table = index;
            return;
        }
        let blocks = self.image.blocks(&event_context(&self.flow.context), isa, self.waypoints);
        let table = Table { context, isa, cursor: blocks.cursor() };
        if self.tables.len() < TABLES {
            self.tables.push(table);
            self.table = self.tables.len() - 1;
        } else {
            self.table = (self.table + 1) % TABLES;
            self.tables[self.table] = table;
        }
    }

    /// The block at an address. One that is only cut by its length is joined with the next.
    #[inline]
    fn block(&mut self, pc: u64) -> Option<Block> {
        let block = self.cursor().at(pc)?;
        if block.control == Control::Sequential { self.long_block(block) } else { Some(block) }
    }

    #[inline]
    fn cursor(&mut self) -> &mut Cursor {
        if self.stale {
            self.select();
        }
        &mut self.tables[self.table].cursor
    }

    /// An atom where the block is in pieces, or where code is missing.
    #[cold]
    #[inline(never)]
    fn long_atom(&mut self, offset: u64, taken: bool) {
        let pc = self.flow.pc;
        match self.block(pc) {
            Some(block) if block.control != Control::Sequential => self.branch(offset, &block, taken),
            Some(block) => {
                self.run(offset, run_of(&block, self.flow.isa(), false));
                self.settle();
                self.no_code(offset, block.end);
            }
            None => self.no_code(offset, pc),
        }
    }

    /// A block of more than one piece; it stays sequential if code is missing at its end.
    #[cold]
    fn long_block(&mut self, mut block: Block) -> Option<Block> {
        while block.control == Control::Sequential
            && let Some(next) = self.cursor().at(block.end)
        {
            block = Block { start: block.start, count: block.count.saturating_add(next.count), ..next };
        }
        Some(block)
    }

    fn gap(&mut self, offset: u64, reason: GapReason, from: Option<u64>, instructions: Option<u64>) {
        self.flow.lost = true;
        self.flow.followed = false;
        if !self.withdrawn {
            self.out.gap(offset, Gap { from, instructions, ..Gap::new(reason) });
        }
    }

    /// No code is known at `pc`: on at the next address. Calls made there are not seen, so the return
    /// stack is of no use any more.
    #[cold]
    fn no_code(&mut self, offset: u64, pc: u64) {
        self.flow.returns.clear();
        self.flow.lose_address();
        self.flow.last = None;
        self.gap(offset, GapReason::NoCode, Some(pc), None);
    }

    /// The address is known, or the return stack tells it; if not, that is told once.
    #[inline]
    fn synchronise(&mut self, offset: u64) -> bool {
        self.flow.is_synchronised() || self.synchronise_slowly(offset)
    }

    #[cold]
    fn synchronise_slowly(&mut self, offset: u64) -> bool {
        let before = self.flow.sub_isa;
        self.flow.pop_return();
        self.stale |= before != self.flow.sub_isa;
        if self.flow.is_synchronised() {
            return true;
        }
        // K10.5.5.4.1: an address without a context is of no use after this.
        self.flow.lose_address();
        self.flow.last = None;
        if !self.flow.lost {
            self.gap(offset, GapReason::LostSync, Some(self.flow.pc).filter(|_| self.flow.followed), None);
        }
        false
    }

    #[inline]
    fn run(&mut self, offset: u64, run: Run) {
        self.flow.followed = true;
        if self.withdrawn {
            // The run before it is still the one that a mispredict corrects.
            self.out.push(offset, EventKind::Run(Run { withdrawn: true, ..run }));
        } else {
            self.out.run(offset, run);
        }
    }

    /// A block was executed and its last instruction taken or not (K10.5.5.18.3, K10.5.5.18.4).
    #[inline(always)]
    fn branch(&mut self, offset: u64, block: &Block, taken: bool) {
        let run = run_of(block, self.isa, taken);
        self.run(offset, run);
        self.flow.last = Some(Last { start: block.start, sub_isa: self.flow.sub_isa, taken });
        if taken && self.return_stack && block.control.is_call() && !self.flow.no_push {
            let address = self.flow.wrap(block.end);
            self.flow.push_return(address);
        }
        self.leave(block, taken);
        if block.control == Control::TrapReturn && taken && !self.withdrawn {
            self.out.trap(offset, Trap { from: Some(block.last), ..Trap::new(TrapKind::Return) });
        }
    }

    /// Where execution goes after a block.
    #[inline]
    fn leave(&mut self, block: &Block, taken: bool) {
        self.flow.has_address = true;
        if taken && block.control.is_indirect() {
            self.flow.has_address = false;
            self.flow.pop = self.return_stack;
            self.flow.pc = self.flow.wrap(block.end);
            return;
        }
        self.flow.pop = false;
        let next = match block.target {
            Some(target) if taken => {
                if let Switch::To(isa) = block.switch {
                    self.flow.sub_isa = if isa == Isa::T32 { SubIsa::Is1 } else { SubIsa::Is0 };
                    self.stale = true;
                }
                target
            }
            _ => block.end,
        };
        self.flow.pc = self.flow.wrap(next);
    }

    /// K10.5.5.11.1.
    fn mispredict(&mut self) {
        let Some(last) = self.flow.last else { return };
        let taken = !last.taken;
        self.stale |= self.flow.sub_isa != last.sub_isa;
        self.flow.sub_isa = last.sub_isa;
        let Some(block) = self.block(last.start) else { return };
        self.flow.last = Some(Last { taken, ..last });
        let isa = self.flow.isa();
        let corrected = run_of(&block, isa, taken);
        if !self.withdrawn
            && let Some(run) = self.out.last_run()
            && run.end == corrected.end
        {
            (run.taken, run.doubtful) = (corrected.taken, corrected.doubtful);
        }
        self.leave(&block, taken);
    }

    fn flow_pop(&mut self) {
        let before = self.flow.sub_isa;
        self.flow.pop_return();
        self.stale |= before != self.flow.sub_isa;
    }

    /// The exit of the last run is final.
    fn settle(&mut self) {
        if !self.withdrawn {
            self.out.settle();
        }
    }

    #[inline]
    pub(crate) fn target_address(&mut self, entry: Entry) {
        self.stale |= self.flow.sub_isa != entry.sub_isa;
        let address = self.flow.wrap(entry.address);
        (self.flow.pc, self.flow.sub_isa, self.flow.has_address) = (address, entry.sub_isa, true);
        self.flow.pop = false;
        self.flow.no_push = false;
        if self.flow.has_context {
            self.flow.lost = false;
        }
        if !self.withdrawn {
            self.out.address(address);
        }
    }

    fn context(&mut self, offset: u64, context: ContextState) {
        self.stale |= self.flow.context != context;
        self.flow.context = context;
        self.flow.has_context = true;
        if self.flow.has_address {
            self.flow.lost = false;
            // The address may have come before it was known to have 32 bits only.
            self.flow.pc = self.flow.wrap(self.flow.pc);
        }
        if self.flow.told != Some(context) {
            self.flow.told = Some(context);
            if !self.withdrawn {
                self.flow.told_isa = Some(if context.sixty_four_bit { Isa::A64 } else { Isa::A32 });
                self.out.batch().push_context(offset, event_context(&context));
            }
        }
    }

    fn trace_on(&mut self, offset: u64) {
        self.settle();
        let from = Some(self.flow.pc).filter(|_| self.flow.followed);
        if self.flow.followed {
            self.gap(offset, GapReason::Filtered, from, None);
        }
        self.mark(offset, MarkKind::TraceOn, None);
        self.flow = Flow { lost: self.flow.lost, no_push: true, ..Flow::default() };
        self.stale = true;
    }

    fn discard(&mut self, offset: u64, reason: GapReason) {
        self.settle();
        if let Some((at, gap)) = self.out.last_gap()
            && (at, gap.reason, reason) == (offset, GapReason::Discarded, GapReason::Overflow)
        {
            gap.reason = reason;
        } else {
            let from = Some(self.flow.pc).filter(|_| self.flow.is_synchronised());
            self.gap(offset, reason, from, None);
        }
        self.flow = Flow { lost: true, no_push: true, ..Flow::default() };
        self.stale = true;
    }

    fn mark(&mut self, offset: u64, kind: MarkKind, value: Option<u64>) {
        if !self.withdrawn {
            self.out.push(offset, EventKind::Mark(Mark { value, ..Mark::new(kind) }));
        }
    }

    fn time(&mut self, offset: u64, kind: TimeKind, value: Option<u64>, clock: u16) {
        self.out.push(offset, EventKind::Time(Time { kind, value, clock }));
    }

    fn analyse(&mut self, offset: u64, element: &Element) {
        match *element {
            Element::Atom { taken } => self.atom(offset, taken),
            Element::TargetAddress(entry) => self.target_address(entry),
            Element::Context(context) => self.context(offset, context),
            Element::Mispredict => self.mispredict(),
            Element::Exception { number, return_address } => self.exception(offset, number, return_address),
            Element::Q { count, next } => self.q(offset, count, next),
            Element::SourceAddress(entry) => self.source_address(offset, entry),
            Element::TraceInfo { .. } => {
                self.flow_pop();
                self.flow.returns.clear();
                self.flow.no_push = true;
                self.flow.told = None;
            }
            Element::TraceOn => self.trace_on(offset),
            Element::Discard => self.discard(offset, GapReason::Discarded),
            Element::Overflow => self.discard(offset, GapReason::Overflow),
            Element::CycleCount(count) => {
                self.time(offset, TimeKind::Cycles, count.map(u64::from), CYCLES_CLOCK);
            }
            Element::Timestamp { value, count } => {
                self.time(offset, TimeKind::Timestamp, Some(value), TIMESTAMP_CLOCK);
                if let Some(count) = count {
                    self.time(offset, TimeKind::Offset, Some(count.into()), CYCLES_CLOCK);
                }
            }
            Element::TimestampMarker => self.mark(offset, MarkKind::TimestampMarker, None),
            Element::Event(event) => self.mark(offset, MarkKind::TraceEvent, Some(event.into())),
            Element::Instrumentation { el, value } => {
                let text = self.out.batch().add_bytes(format!("el{el}").as_bytes());
                let mark = Mark { value: Some(value), text, ..Mark::new(MarkKind::Instrumentation) };
                self.out.push(offset, EventKind::Mark(mark));
            }
            Element::TransactionStart => self.mark(offset, MarkKind::TransactionStart, None),
            Element::TransactionCommit => self.mark(offset, MarkKind::TransactionCommit, None),
            Element::TransactionFailure => {
                self.mark(offset, MarkKind::TransactionFail, None);
                self.settle();
                self.flow.lose_address();
                self.flow.last = None;
            }
            Element::ExceptionReturn => {
                let told = matches!(self.out.last_run(), Some(run) if run.exit == Exit::TrapReturn);
                if !told && !self.withdrawn {
                    self.out.trap(offset, Trap::new(TrapKind::Return));
                }
            }
            Element::FunctionReturn => {
                if !self.withdrawn {
                    let text = self.out.batch().add_bytes(b"function return");
                    self.out.push(offset, EventKind::Mark(Mark { text, ..Mark::new(MarkKind::Note) }));
                }
            }
        }
    }
}

impl Analyse for Analyser {
    /// K10.5.5.4.1.
    #[inline]
    fn atom(&mut self, offset: u64, taken: bool) {
        if !self.synchronise(offset) {
            return;
        }
        let pc = self.flow.pc;
        match self.cursor().at(pc) {
            Some(block) if block.control != Control::Sequential => self.branch(offset, &block, taken),
            _ => self.long_atom(offset, taken),
        }
    }

    /// Most blocks end in a direct branch: from one to the next, the address stays in a register.
    #[inline]
    fn atoms(&mut self, offset: u64, count: u8, bits: u32) {
        let mut index = 0;
        while index < count {
            if !self.synchronise(offset) {
                index += 1;
                continue;
            }
            if self.stale {
                self.select();
            }
            let (isa, returns) = (self.isa, self.return_stack);
            let mask = self.flow.wrap(u64::MAX);
            let cursor = &self.tables[self.table].cursor;
            let mut runs = self.out.runs();
            let (mut pc, mut start) = (self.flow.pc, self.flow.pc);
            while index < count
                && let Some(near) = cursor.near(pc)
                && !(returns && near.control() == Control::Call)
            {
                let taken = bits >> index & 1 == 1;
                runs.push(offset, run_near(near, pc, isa, taken));
                start = pc;
                pc = if taken { near.target() } else { near.end() } & mask;
                index += 1;
            }
            if runs.end() {
                let taken = bits >> (index - 1) & 1 == 1;
                self.flow.last = Some(Last { start, sub_isa: self.flow.sub_isa, taken });
                (self.flow.pc, self.flow.pop, self.flow.followed) = (pc, false, true);
            }
            if index < count {
                self.atom(offset, bits >> index & 1 == 1);
                index += 1;
            }
        }
    }

    fn element(&mut self, offset: u64, element: &Element, withdrawn: u32) {
        if withdrawn == 0 {
            if !element.is_kept() {
                self.shadows.clear();
            }
            return self.analyse(offset, element);
        }
        // What was withdrawn is followed on a copy. Withdrawals nest: an earlier one lies within a later.
        while self.shadows.last().is_some_and(|shadow| shadow.0 < withdrawn) {
            self.shadows.pop();
        }
        if self.shadows.last().is_none_or(|shadow| shadow.0 != withdrawn) {
            let base = self.shadows.last().map_or(&self.flow, |shadow| &shadow.1).clone();
            self.shadows.push((withdrawn, base));
        }
        let Some((_, shadow)) = self.shadows.pop() else { return };
        let flow = std::mem::replace(&mut self.flow, shadow);
        self.stale = true;
        self.withdrawn = true;
        self.analyse(offset, element);
        self.withdrawn = false;
        let shadow = std::mem::replace(&mut self.flow, flow);
        self.stale = true;
        self.shadows.push((withdrawn, shadow));
    }

    fn wants_withdrawn(&self) -> bool {
        self.show_withdrawn
    }

    fn unresolved(&mut self) {
        let from = Some(self.flow.pc).filter(|_| self.flow.is_synchronised());
        self.out.settle();
        self.gap(self.out.last_offset(), GapReason::Discarded, from, None);
    }
}

/// Clock of timestamps.
const TIMESTAMP_CLOCK: u16 = 0;
/// Clock of cycle counts: the core's.
const CYCLES_CLOCK: u16 = 1;

/// The run of a whole block. It is doubtful if the program has no such way out of it: something that is
/// always taken was not, unless its target is what follows anyway.
#[inline]
fn run_of(block: &Block, isa: Isa, taken: bool) -> Run {
    let sequential = block.control == Control::Sequential;
    Run {
        start: block.start,
        end: block.end,
        count: block.count,
        accesses: None,
        isa,
        exit: block.exit(),
        taken: if block.control.is_transfer() { Some(taken) } else { None },
        attempted: false,
        doubtful: !taken && !block.conditional && !sequential && block.target != Some(block.end),
        withdrawn: false,
    }
}

/// The same for what most blocks are.
#[inline(always)]
fn run_near(near: Near, start: u64, isa: Isa, taken: bool) -> Run {
    let end = near.end();
    Run {
        start,
        end,
        count: near.count(),
        accesses: None,
        isa,
        exit: near.control().exit(),
        taken: Some(taken),
        attempted: false,
        doubtful: !taken & !near.conditional() & (near.target() != end),
        withdrawn: false,
    }
}

/// The context in the words of the event model.
pub(crate) fn event_context(context: &ContextState) -> Context {
    Context {
        privilege: Some(match context.el {
            0 => Privilege::El0,
            1 => Privilege::El1,
            2 => Privilege::El2,
            _ => Privilege::El3,
        }),
        security: Some(match context.security {
            0 => Security::Secure,
            1 => Security::NonSecure,
            2 => Security::Root,
            _ => Security::Realm,
        }),
        context_id: context.context_id.map(u64::from),
        vmid: context.vmid.map(u64::from),
        isa: Some(if context.sixty_four_bit { Isa::A64 } else { Isa::A32 }),
        ..Context::default()
    }
}

//! Stage 3: elements and the program determine the instructions that were executed (K10.5.5).

mod atoms;
mod branch;
mod code;
mod place;
mod state;
mod walk;

use std::sync::atomic::Ordering;

use trackway_core::{
    Context, EventKind, Exit, Gap, GapReason, Isa, Mark, MarkKind, Run, Time, TimeKind, Trap, TrapKind,
};
use trackway_image::Waypoints;
use trackway_isa::Control;

use super::element::Element;
use super::output::Output;
use crate::config::Config;
use crate::profile::Profile;
use crate::transport::input::Code;
use crate::wire::address::Entry;
use crate::wire::context::ContextState;

pub(crate) use atoms::Row;
pub(crate) use state::Flow;

use code::Table;

/// An exception below the current address is possible only within this distance of the top of the address space,
/// where code wraps around.
const TOP: u64 = 1 << 20;

/// Follows the program.
#[derive(Debug)]
pub(crate) struct Analyser {
    pub(crate) flow: Flow,
    pub(crate) out: Output,
    /// Copies of `flow` that follow withdrawn elements, with the number of their withdrawal.
    pub(crate) shadows: Vec<(u32, Flow)>,
    program: Code,
    waypoints: Waypoints,
    /// Contexts see different code.
    spaces: bool,
    tables: Vec<Table>,
    /// Index of the current table, and whether context or instruction set changed since it was selected.
    table: usize,
    stale: bool,
    /// The instruction set of the current table.
    isa: Isa,
    return_stack: bool,
    profile: Profile,
    show_withdrawn: bool,
    /// The current element is withdrawn.
    withdrawn: bool,
}

impl Analyser {
    pub(crate) fn new(config: &Config, program: &Code, show_withdrawn: bool) -> Self {
        Analyser {
            flow: Flow::default(),
            out: Output::new(),
            shadows: Vec::new(),
            program: program.clone(),
            waypoints: Waypoints::ete(config.wfx_is_p0),
            spaces: program.image.parts().iter().any(|part| !part.space.is_everywhere()),
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

    /// Continues from the state of another analyser.
    pub(crate) fn set_flow(&mut self, flow: Flow, shadows: Vec<(u32, Flow)>) {
        (self.flow, self.shadows, self.stale) = (flow, shadows, true);
    }

    /// Synchronisation is lost: forgets all state.
    pub(crate) fn lose_sync(&mut self) {
        self.flow = Flow { lost: true, ..self.flow.fresh() };
        self.shadows.clear();
        self.stale = true;
    }

    /// Emits a gap for bytes that were skipped.
    pub(crate) fn skipped(&mut self, reason: GapReason, offset: u64, bytes: u64) {
        self.out.gap(offset, Gap { bytes: Some(bytes), ..Gap::new(reason) });
    }

    /// Code was followed since the start, and the output does not depend on what came before.
    pub(crate) fn is_comparable(&self) -> bool {
        self.flow.last.is_some() && self.flow.has_context && self.out.is_quiet() && self.shadows.is_empty()
    }

    fn gap(&mut self, offset: u64, reason: GapReason, from: Option<u64>, instructions: Option<u64>) {
        self.flow.lost = true;
        self.flow.followed = false;
        if !self.withdrawn {
            self.out.gap(offset, Gap { from, instructions, ..Gap::new(reason) });
        }
    }

    /// No code is known at `pc`; execution continues at the next address. Calls in between are not seen, so the
    /// return stack is cleared.
    #[cold]
    fn no_code(&mut self, offset: u64, pc: u64) {
        self.flow.returns.clear();
        self.flow.lose_address();
        self.flow.last = None;
        if let Some(tasks) = &self.program.tasks {
            tasks.no_code(&self.event_of(self.flow.context), pc);
        }
        self.gap(offset, GapReason::NoCode, Some(pc), None);
    }

    /// True if the address is known or the return stack supplies it; otherwise emits one gap.
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
        if !self.return_stack && self.flow.has_context && self.flow.last.is_some_and(|last| last.taken) {
            self.program.remarks.lost_returns.store(true, Ordering::Relaxed);
        }
        // K10.5.5.4.1: an address without a context does not outlive an atom.
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
            // A mispredict still corrects the run before it.
            self.out.push(offset, EventKind::Run(Run { withdrawn: true, ..run }));
        } else {
            self.out.run(offset, run);
        }
    }

    fn flow_pop(&mut self) {
        let before = self.flow.sub_isa;
        self.flow.pop_return();
        self.stale |= before != self.flow.sub_isa;
    }

    /// Makes the exit of the last run final.
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
            if self.flow.halted {
                self.halt(self.out.last_offset(), false);
            }
        }
    }

    /// Debug state begins or ends. It is an execution mode that a trace does not describe, and not a trap.
    #[cold]
    fn halt(&mut self, offset: u64, halted: bool) {
        self.flow.halted = halted;
        let context = Context { unsupported: Some(halted), ..Context::default() };
        self.out.batch().push_context(offset, context);
    }

    /// A context in the event model, with its process and thread where they are known.
    fn event_of(&self, context: ContextState) -> Context {
        let mut event = context.to_event();
        if let Some(tasks) = &self.program.tasks {
            tasks.complete(&mut event);
        }
        event
    }

    fn context(&mut self, offset: u64, context: ContextState) {
        self.stale |= self.flow.context != context;
        self.flow.context = context;
        self.flow.has_context = true;
        if self.flow.has_address {
            self.flow.lost = false;
            // The address may have come before the context that limits it to 32 bits.
            self.flow.pc = self.flow.wrap(self.flow.pc);
        }
        if self.flow.reported != Some(context) {
            self.flow.reported = Some(context);
            if !self.withdrawn {
                // A context has AArch32 only; whether it is T32 is known from before or from the next address.
                let known = self.flow.reported_isa.filter(|isa| *isa == Isa::T32 && !context.sixty_four_bit);
                let mut event = self.event_of(context);
                event.isa = known.or(event.isa);
                self.flow.reported_isa = event.isa;
                self.out.batch().push_context(offset, event);
            }
        }
    }

    fn trace_on(&mut self, offset: u64) {
        self.settle();
        if !self.withdrawn {
            self.out.leave_trap();
        }
        let from = Some(self.flow.pc).filter(|_| self.flow.followed);
        if self.flow.followed {
            self.gap(offset, GapReason::Filtered, from, None);
        }
        self.mark(offset, MarkKind::TraceOn, None);
        self.flow = Flow { lost: self.flow.lost, no_push: true, ..self.flow.fresh() };
        self.stale = true;
    }

    fn discard(&mut self, offset: u64, reason: GapReason) {
        self.settle();
        self.out.leave_trap();
        if let Some((at, gap)) = self.out.last_gap()
            && (at, gap.reason, reason) == (offset, GapReason::Discarded, GapReason::Overflow)
        {
            gap.reason = reason;
        } else {
            let from = Some(self.flow.pc).filter(|_| self.flow.is_synchronised());
            self.gap(offset, reason, from, None);
        }
        self.flow = Flow { lost: true, no_push: true, ..self.flow.fresh() };
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
                self.flow.reported = None;
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
                let known = matches!(self.out.last_run(), Some(run) if run.exit == Exit::TrapReturn);
                if !known && !self.withdrawn {
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

    /// One atom that was executed (K10.5.5.4.1).
    #[inline]
    pub(crate) fn atom(&mut self, offset: u64, taken: bool) {
        if !self.synchronise(offset) {
            return;
        }
        let pc = self.flow.pc;
        match self.cursor().at(pc) {
            Some(block) if block.control != Control::Sequential => self.branch(offset, &block, taken),
            _ => self.long_atom(offset, taken),
        }
    }

    /// An element that was executed, or was withdrawn by the cancel or failure of this number.
    pub(crate) fn element(&mut self, offset: u64, element: &Element, withdrawn: Option<u32>) {
        let Some(withdrawn) = withdrawn else {
            if !element.is_kept() {
                self.shadows.clear();
            }
            return self.analyse(offset, element);
        };
        // Withdrawn elements are followed on a copy. Withdrawals nest: an earlier one lies within a later.
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

    /// Withdrawn elements are shown.
    pub(crate) fn shows_withdrawn(&self) -> bool {
        self.show_withdrawn
    }

    /// Elements were unresolved at the end.
    pub(crate) fn unresolved(&mut self) {
        let from = Some(self.flow.pc).filter(|_| self.flow.is_synchronised());
        self.out.settle();
        self.gap(self.out.last_offset(), GapReason::Discarded, from, None);
    }
}

/// Clock number of timestamps.
const TIMESTAMP_CLOCK: u16 = 0;
/// Clock number of cycle counts: the core clock.
const CYCLES_CLOCK: u16 = 1;

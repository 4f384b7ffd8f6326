//! Execution to elements.

use super::account::{Element, Shown, What};
use super::filter::Now;
use super::instruction::{Block, Branch, Instruction, KnownTrap, entry};
use super::model::SourceAddresses;
use super::unit::{Need, Q, Unit};
use crate::wire::address::Entry;
use crate::wire::exception_type;
use crate::wire::packet::Packet;
use trackway_core::Isa;
use trackway_isa::Control;

/// Depth of the decoder's return stack (K10.5.5.3).
const RETURNS: usize = 15;

impl Unit {
    /// The core executes an instruction.
    pub fn instruction(&mut self, instruction: &Instruction) {
        if !self.is_clocked {
            self.cycle += u64::from(self.model.cycles_per_instruction);
        }
        self.was_active = false;
        if !self.is_operative() {
            self.gap_noted = false;
            return self.stop(Some(instruction.entry()));
        }
        self.context.sixty_four_bit = instruction.isa == Isa::A64;
        let inputs = std::mem::take(&mut self.inputs);
        let context = self.context;
        let now = Now { address: instruction.address, context: &context, inputs };
        let active = self.filter.view(&now);
        self.resources(&now);
        if !active {
            self.gap_noted = false;
            return self.stop(Some(instruction.entry()));
        }
        self.counts.viewed += 1;
        if self.lost && !self.recover() {
            self.gap_noted = false;
            return;
        }
        // A decoder takes it that branches of a Q element went where the program says.
        let ends_q = instruction.flow.control == Control::TransactionStart || instruction.is_contradiction();
        self.arrive(instruction.entry(), ends_q);
        self.execute(instruction, &now);
        self.checkpoint();
    }

    /// Nothing but the context decides whether an instruction is traced, and none raises an event.
    pub(crate) fn is_plain(&self) -> bool {
        self.filter.is_open && self.program.is_silent && self.inputs == 0
    }

    /// Begins a row of [blocks](Unit::block) in a unit that [is plain](Unit::is_plain); false if more than their atoms and
    /// addresses matters.
    pub(crate) fn begin_row(&self, isa: Isa) -> bool {
        let (program, model) = (&self.program, &self.model);
        let is_simple = program.is_simple
            && model.source_addresses == SourceAddresses::Never
            && (model.q == 0 || !program.q.0)
            && model.fifo.is_none()
            && self.config.max_spec == 0;
        let is_steady = self.is_operative()
            && self.tracing
            && !self.lost
            && self.block.is_none()
            && self.q.is_none()
            && self.sync_delay.is_none()
            && self.times.is_empty()
            && !self.timestamp_due;
        is_simple
            && is_steady
            && self.context.sixty_four_bit == (isa == Isa::A64)
            && self.traced_context == Some(self.context)
            && self.filter.permits(&self.context)
    }

    /// As [`instruction`](Unit::instruction) for a whole block, ended by a branch that is not a contradiction; false, and
    /// nothing is done, if a synchronisation is due.
    #[inline(always)]
    pub(crate) fn block(&mut self, block: &Block) -> bool {
        let branch = &block.branch;
        if self.is_sync_due() {
            return false;
        }
        if self.need != Need::No {
            self.place(entry(block.start, branch.isa));
        }
        self.packer.plain_atom(block);
        self.after_branch(branch, branch.taken, false);
        true
    }

    /// Ends a row of that many blocks, with that many instructions.
    pub(crate) fn end_row(&mut self, blocks: u64, instructions: u64) {
        if !self.is_clocked {
            self.cycle += u64::from(self.model.cycles_per_instruction) * instructions;
        }
        self.counts.viewed += instructions;
        self.counts.p0 += blocks;
        (self.was_active, self.call) = (false, None);
        self.checkpoint();
    }

    /// As [`instruction`](Unit::instruction) `count` times, for instructions after the last one that neither branch nor end
    /// a block, in a unit that [is plain](Unit::is_plain); false, and nothing is done, if the last one began no block.
    pub(crate) fn continue_block(&mut self, count: u32) -> bool {
        let is_possible = self.is_operative() && !self.lost && self.q.is_none() && self.block.is_some();
        if is_possible {
            if !self.is_clocked {
                self.cycle += u64::from(self.model.cycles_per_instruction) * u64::from(count);
            }
            self.counts.viewed += u64::from(count);
            self.in_block.instructions += u64::from(count);
        }
        is_possible
    }

    /// Events that resources raise (TRCEVENTCTL0R, TRCTSCTLR).
    fn resources(&mut self, now: &Now<'_>) {
        let fires =
            |&n: &usize| self.program.events[n] != 0 && self.filter.resource(self.program.events[n], now);
        let events = (0..4).filter(fires).fold(0, |events, n| events | 1 << n);
        let timestamp = self.program.timestamp_event != 0
            && self.program.timestamps
            && self.filter.resource(self.program.timestamp_event, now);
        if events != 0 {
            self.trace_events(events, true);
        }
        self.timestamp_due |= timestamp;
    }

    /// After an overflow: restarts tracing if the buffer is empty.
    fn recover(&mut self) -> bool {
        if !self.fifo.is_empty(self.cycle) {
            return false;
        }
        self.lost = false;
        self.packer.discard(true, std::mem::take(&mut self.gap_noted));
        self.synchronised = false;
        self.count_unknown = true;
        true
    }

    /// Tracing starts, synchronises or continues at an instruction, which `ends_q` keeps out of Q elements.
    fn arrive(&mut self, at: Entry, ends_q: bool) {
        if self.q.is_some_and(|q| q.left == 0 || ends_q) {
            self.end_q(Some(at));
        }
        if !self.tracing {
            if !self.synchronised {
                self.synchronise();
            }
            self.trace_on();
            (self.traced_context, self.need, self.may_push) = (None, Need::Yes, false);
            self.stack.clear();
            self.tracing = true;
        } else if self.block.is_none() && self.q.is_none() {
            if self.is_sync_due() {
                self.settle();
                if !self.model.sync_unresolved {
                    self.commit_all();
                }
                self.synchronise();
            } else if self.sync_delay == Some(0) {
                self.sync_delay = None;
                (self.traced_context, self.need) = (None, Need::Yes);
            }
        }
        if self.block.is_none() && self.q.is_none() {
            self.place(at);
            self.trace_times();
        }
        self.block.get_or_insert(at);
    }

    fn trace_on(&mut self) {
        let gap = std::mem::take(&mut self.gap_noted);
        self.packer.plain(Packet::TraceOn, &[What::TraceOn { gap }]);
    }

    fn is_sync_due(&self) -> bool {
        let written = self.taken + self.packer.out.len() as u64;
        self.program.period.is_some_and(|period| written - self.last_sync >= period)
    }

    /// K10.5.2.6: Alignment Sync and Trace Info, which clears the decoder's return stack.
    fn synchronise(&mut self) {
        self.packer.synchronise(self.program.cycle_counting, self.program.threshold);
        self.last_sync = self.taken + self.packer.out.len() as u64;
        self.counts.synchronisations += 1;
        self.stack.clear();
        self.may_push = false;
        if self.synchronised && self.model.sync_delay > 0 && self.need != Need::UnlessOnStack {
            self.sync_delay = Some(self.model.sync_delay);
        } else {
            (self.traced_context, self.need) = (None, Need::Yes);
        }
        self.synchronised = true;
        self.timestamp_due |= self.program.timestamps && !self.is_timed;
    }

    /// Traces context and address if the decoder cannot infer them.
    fn place(&mut self, at: Entry) {
        if self.traced_context != Some(self.context) {
            self.settle();
            self.packer.context(self.context, self.assumed);
            self.traced_context = Some(self.context);
        }
        let explicit = match self.need {
            Need::No => false,
            Need::Yes => true,
            Need::UnlessOnStack => match self.stack.pop() {
                Some(top) if top == at => false,
                Some(other) => {
                    self.stack.push(other);
                    true
                }
                None => true,
            },
        };
        if explicit {
            self.settle();
            self.mispredict_target(at);
            self.packer.target(at);
            self.remember(at);
            self.may_push = true;
        }
        self.need = Need::No;
    }

    /// Keeps a target for later mispredictions.
    fn remember(&mut self, at: Entry) {
        if self.config.max_spec > 0 {
            self.targets.rotate_right(1);
            self.targets[0] = at;
        }
    }

    fn execute(&mut self, instruction: &Instruction, now: &Now<'_>) {
        let control = instruction.flow.control;
        let ends = self.program.waypoints.ends(control);
        let branches = ends && control.is_transfer();
        let calls = control == Control::SystemCall;
        if let Some(q) = &mut self.q {
            // Instructions of a Q element are not traced; the address after it is.
            q.count += 1;
            if q.certain {
                q.shown.add(instruction, branches && !instruction.flow.conditional, calls);
            }
            if ends {
                q.left -= 1;
                let closes = branches && (instruction.flow.conditional || control.is_indirect());
                q.branch = Some(instruction.known.outcome)
                    .filter(|_| q.certain && branches && instruction.flow.conditional);
                q.certain &= !closes;
                self.block = None;
            }
            return;
        }
        self.in_block.add(instruction, branches, calls);
        self.call = calls.then_some(instruction.address);
        if !ends {
            return;
        }
        self.block = None;
        let broadcasts = self.program.broadcast && self.filter.broadcasts(now);
        if broadcasts {
            self.stack.clear();
        }
        self.counts.p0 += 1;
        let first = self.trace_p0(instruction);
        self.after_branch(&instruction.branch(), first, broadcasts);
        if instruction.is_contradiction() {
            self.need = Need::Yes;
        }
        self.keep_past(control.is_indirect(), instruction.taken);
        if let Some(delay) = &mut self.sync_delay {
            *delay = delay.saturating_sub(1);
        }
        self.resolve();
        self.begin_q(now);
    }

    /// State after a branch for the next address; `first` is the outcome that was traced first.
    #[inline(always)]
    fn after_branch(&mut self, branch: &Branch, first: bool, broadcasts: bool) {
        let control = branch.control;
        if branch.taken && control.is_transfer() {
            self.need = match (broadcasts, control.is_indirect()) {
                (true, _) => Need::Yes,
                // Where an exception returns to is always traced.
                (false, true) if self.program.return_stack && control != Control::TrapReturn => {
                    Need::UnlessOnStack
                }
                (false, true) => Need::Yes,
                (false, false) => Need::No,
            };
        }
        // K10.5.5.3: the first outcome traced counts.
        if first && control.is_call() && self.program.return_stack && self.may_push && !broadcasts {
            if self.stack.len() == RETURNS {
                self.stack.remove(0);
            }
            self.stack.push(entry(branch.end, branch.isa));
        }
    }

    /// Traces the P0 element of an instruction; true if it was first traced as taken.
    fn trace_p0(&mut self, instruction: &Instruction) -> bool {
        let taken = instruction.taken;
        let transfers = instruction.flow.control.is_transfer();
        let by_source = transfers
            && !instruction.is_contradiction()
            && match self.model.source_addresses {
                SourceAddresses::Never => false,
                SourceAddresses::Always => true,
                SourceAddresses::Sometimes => !self.deferred.is_empty() || self.random.coin(),
            };
        let shown = std::mem::take(&mut self.in_block);
        let what = match instruction.flow.control {
            Control::TrapReturn if taken => What::TrapReturn(instruction.address, instruction.known.trap),
            _ => What::Atom,
        };
        let element = Element { shown, what, p0: true };
        if let Some(first) = self.mispredict(instruction, element) {
            return first;
        }
        if by_source && taken {
            // It implies that the branches before it were not taken.
            let shown = self.take_deferred(shown);
            self.packer.content = Element { shown, ..element };
            self.packer.source(instruction.entry());
        } else if by_source {
            self.deferred.push(shown);
        } else {
            self.settle();
            self.packer.content = element;
            self.packer.atom(taken);
        }
        taken
    }

    /// Traces the atoms of branches that wait for a source address.
    pub(super) fn settle(&mut self) {
        for shown in std::mem::take(&mut self.deferred) {
            self.packer.content.shown = shown;
            self.packer.atom(false);
        }
    }

    /// Omits the atoms of branches that wait: the element that shows `last` shows them too.
    fn take_deferred(&mut self, last: Shown) -> Shown {
        let mut all = Shown::default();
        std::mem::take(&mut self.deferred).iter().chain([&last]).for_each(|shown| all.join(shown));
        all
    }

    /// Starts a Q element by chance (TRCCONFIGR.QE, TRCQCTLR).
    fn begin_q(&mut self, now: &Now<'_>) {
        // In A64 the encoding alone says where a path is certain.
        let allowed = self.program.q.0 && self.context.sixty_four_bit;
        if allowed && self.random.chance(self.model.q) && self.filter.allows_q(now) {
            self.settle();
            if self.need == Need::No {
                self.q = Some(Q {
                    count: 0,
                    shown: Shown::default(),
                    certain: true,
                    branch: None,
                    left: 1 + self.random.below(4),
                });
            }
        }
    }

    /// Ends a Q element; execution continues at `next`.
    fn end_q(&mut self, next: Option<Entry>) {
        let Some(q) = self.q.take() else { return };
        self.block = None;
        self.need = Need::No;
        match next {
            _ if q.count == 0 => {
                // Nothing was executed in it.
            }
            Some(next) => {
                let counted = !(self.program.q.1 && self.random.coin());
                let shown = if counted { q.shown } else { Shown::default() };
                let what = What::Q { gap: shown.instructions < q.count };
                self.packer.content = Element { shown, what, p0: true };
                let branch = q.branch.filter(|_| counted && shown.instructions == q.count);
                self.packer.q(counted.then_some(q.count), next, branch);
                self.may_push = true;
                self.resolve();
            }
            None => self.need = Need::Yes,
        }
    }

    /// ViewInst becomes inactive; execution continues at `next`. Instructions of a block that did not reach its P0
    /// instruction are not in the trace.
    pub(super) fn stop(&mut self, next: Option<Entry>) {
        if !self.tracing {
            return;
        }
        self.end_q(next);
        self.settle();
        self.tracing = false;
        self.drop_block();
        self.checkpoint();
    }

    /// Execution is not continuous here; `next` would have been the next instruction, if that is known. A debug halt shows
    /// the instructions of the current block if the model has one.
    pub fn break_flow(&mut self, next: Option<(u64, Isa)>) {
        if !self.tracing {
            return;
        }
        let next = next.map(|(address, isa)| entry(address, isa));
        if self.model.halts && (self.block.is_some() || self.q.is_some()) {
            self.halt_at(next);
        }
        self.stop(next);
    }

    /// The core enters Debug state; `next` would have been the next instruction.
    pub fn halt(&mut self, next: Option<(u64, Isa)>) {
        let next = next.map(|(address, isa)| entry(address, isa));
        if self.tracing {
            self.halt_at(next);
            self.stop(next);
        }
    }

    fn halt_at(&mut self, next: Option<Entry>) {
        let Some(next) = next else { return };
        self.end_q(Some(next));
        if self.block.is_none() {
            self.place_exception(next);
        }
        self.trace_exception(exception_type::DEBUG_HALT, Some(next), What::Halt);
    }

    /// Nothing was executed since the last P0 element: the address is traced, and the return stack is not used.
    fn place_exception(&mut self, at: Entry) {
        if self.need == Need::UnlessOnStack {
            self.need = Need::Yes;
        }
        self.place(at);
    }

    /// Traces an exception, which shows the current block up to its return address.
    fn trace_exception(&mut self, number: u16, return_address: Option<Entry>, what: What) {
        // An exception implies that branches before it were not taken.
        let last = std::mem::take(&mut self.in_block);
        let shown = self.take_deferred(last);
        self.packer.content = Element { shown, what, p0: true };
        self.packer.exception(number, return_address);
        self.counts.p0 += 1;
        self.drop_block();
        self.need = Need::Yes;
        self.keep_past(false, true);
        self.resolve();
    }

    /// The core takes an exception; `next` is its preferred return address or, for a reset, the instruction that would
    /// have been next. It is traced if the instruction before it was (K10.5.9), or if TRCVICTLR forces it.
    pub fn exception(&mut self, number: u16, next: Option<(u64, Isa)>) {
        self.exception_with(number, next, KnownTrap::default());
    }

    /// As [`exception`](Unit::exception), with what its source had of it, for the account.
    pub(crate) fn exception_with(&mut self, number: u16, next: Option<(u64, Isa)>, known: KnownTrap) {
        let forced = match number {
            exception_type::PE_RESET => self.program.force_reset,
            exception_type::SYSTEM_ERROR => self.program.force_error,
            _ => false,
        };
        let next = next.map(|(address, isa)| entry(address, isa));
        let return_address =
            next.filter(|_| !matches!(number, exception_type::PE_RESET | exception_type::NO_RETURN));
        let active = std::mem::take(&mut self.was_active) || self.tracing;
        if !self.is_operative() || self.lost || !(active || forced) {
            return;
        }
        if !self.filter.permits(&self.context) && self.block.is_none() && !forced {
            // Taken before any instruction where tracing is not permitted: not even its address may be traced.
            return self.stop(None);
        }
        if self.tracing {
            self.end_q(next);
        } else if let Some(at) = return_address {
            self.arrive(at, false);
            self.block = None;
        } else {
            if !self.synchronised {
                self.synchronise();
            }
            self.trace_on();
            (self.traced_context, self.tracing) = (None, true);
            self.stack.clear();
        }
        match (self.block, return_address) {
            (None, Some(at)) => self.place_exception(at),
            (None, None) => {}
            (Some(start), Some(_)) => self.run_ahead(start),
            (Some(_), None) => {
                // It has no return address to show the current block.
                if let Some(next) = next.filter(|_| self.model.halts) {
                    self.halt_at(Some(next));
                    self.place(next);
                } else {
                    self.stop(None);
                    self.trace_on();
                    (self.traced_context, self.tracing) = (None, true);
                    self.stack.clear();
                }
            }
        }
        let call = self.call.filter(|_| number == exception_type::CALL);
        let what = What::Exception(return_address.map(|entry| entry.address), call, known);
        self.trace_exception(number, return_address, what);
        self.checkpoint();
    }

    /// A transaction starts, after its TSTART.
    pub fn transaction_start(&mut self) {
        if self.tracing && !self.lost && !self.packer.in_transaction {
            self.settle();
            self.packer.transaction_start();
            // A failure undoes the calls in it.
            self.stack.clear();
            self.transaction_p0 = self.packer.p0s;
            self.transaction_context = self.traced_context;
            if self.config.start_is_p0 {
                self.keep_past(false, true);
            }
            self.resolve();
            self.checkpoint();
        }
    }

    /// The transaction succeeded.
    pub fn transaction_commit(&mut self) {
        if self.tracing && !self.lost && self.packer.in_transaction {
            self.settle();
            self.packer.transaction_commit();
            self.checkpoint();
        }
    }

    /// The transaction failed: execution continues after its TSTART.
    pub fn transaction_fail(&mut self) {
        if self.enabled && !self.lost && self.packer.in_transaction {
            self.cancel_transaction();
            self.deferred.clear();
            self.q = None;
            self.packer.transaction_failure();
            self.drop_block();
            (self.traced_context, self.need) = (self.transaction_context, Need::Yes);
            self.stack.clear();
            self.checkpoint();
        } else {
            // Its start was not traced: execution continues elsewhere.
            self.q = None;
            self.stop(None);
        }
    }

    /// K10.5.2.16: traces the timestamps that are due, at the start of a block.
    pub(super) fn trace_times(&mut self) {
        self.trace_reported();
        if std::mem::take(&mut self.timestamp_due) {
            let count = (self.program.cycle_counting && !self.count_unknown)
                .then(|| self.cycle - self.last_count)
                .filter(|count| *count <= self.program.most_cycles);
            let value = self.ticks().wrapping_add(self.timestamp_offset);
            self.trace_timestamp(value, count, true);
        }
    }

    /// Traces the timestamps that the core reported.
    pub(super) fn trace_reported(&mut self) {
        for (value, count) in std::mem::take(&mut self.times) {
            self.trace_timestamp(value, count, false);
        }
    }

    fn trace_timestamp(&mut self, value: u64, count: Option<u64>, own: bool) {
        self.settle();
        if self.program.timestamp_markers {
            self.packer.plain(Packet::TimestampMarker, &[What::TimestampMarker]);
        }
        self.packer.timestamp(value, count, own);
    }

    /// The cycle count, if one is due; its value is `None` if unknown.
    pub(super) fn take_cycles(&mut self) -> Option<Option<u64>> {
        let count = self.cycle - self.last_count;
        if !self.program.cycle_counting || self.is_clocked || count < self.program.threshold {
            return None;
        }
        self.last_count = self.cycle;
        let known = !std::mem::take(&mut self.count_unknown);
        // The field has at most 20 bits, above the threshold.
        Some(Some(count).filter(|_| known && count <= self.program.most_cycles))
    }
}

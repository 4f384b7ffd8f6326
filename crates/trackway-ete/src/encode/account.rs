//! Facts that a decoder of the output will find, counted where bytes leave the unit.
//!
//! An element counts once its bytes are in the buffer, the P0 elements up to it are committed, and its transaction
//! succeeded: the mirror of decoding's stages 2 and 3 (K10.5.3 to K10.5.5).

use std::collections::VecDeque;

use trackway_core::{Account as Facts, Context, Fact, Isa};

use super::instruction::{Instruction, KnownTrap};
use crate::wire::context::ContextState;

/// The instructions that an element shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) instructions: u64,
    encodings: u32,
    /// Branches: all, and those whose outcome was known.
    branches: u32,
    outcomes: u32,
    /// System calls: all, and those known to be attempted.
    calls: u32,
    attempted: u32,
    isa: Option<Isa>,
    /// Targets of branches that the next instruction shows: of all instructions, and of those that retire.
    targets: [Targets; 2],
}

/// Branch targets, as the address of the next instruction shows them.
#[derive(Clone, Copy, Debug, Default)]
struct Targets {
    /// The first instruction.
    first: Option<u64>,
    shown: u32,
    /// The target of the last instruction.
    open: Option<u64>,
}

impl Targets {
    fn add(&mut self, address: u64, target: Option<u64>) {
        self.first.get_or_insert(address);
        self.shown += u32::from(self.open == Some(address));
        self.open = target;
    }

    /// Continues with `later`.
    fn join(&mut self, later: &Targets) {
        let Some(first) = later.first else { return };
        self.first.get_or_insert(first);
        self.shown += later.shown + u32::from(self.open == Some(first));
        self.open = later.open;
    }
}

impl Shown {
    /// Adds an instruction: whether its outcome is shown, and whether it is a system call.
    pub(crate) fn add(&mut self, instruction: &Instruction, branch: bool, call: bool) {
        let known = &instruction.known;
        self.isa = Some(instruction.isa);
        self.instructions += 1;
        self.encodings += u32::from(known.encoding);
        self.branches += u32::from(branch);
        self.outcomes += u32::from(branch && known.outcome);
        self.calls += u32::from(call);
        self.attempted += u32::from(call && known.attempted);
        self.targets[0].add(instruction.address, known.target);
        if !call {
            self.targets[1].add(instruction.address, known.target);
        }
    }

    /// The instructions of blocks.
    pub(crate) fn blocks(blocks: &Blocks) -> Self {
        let Blocks { instructions, count: branches, isa, known, .. } = *blocks;
        let (encodings, outcomes) = if known.is_some() { (instructions as u32, branches) } else { (0, 0) };
        let (isa, targets) = (Some(isa), [blocks.targets(); 2]);
        Shown { instructions, encodings, branches, outcomes, isa, targets, ..Shown::default() }
    }

    /// The outcome of the last instruction is shown after all.
    pub(crate) fn add_outcome(&mut self, known: bool) {
        self.branches += 1;
        self.outcomes += u32::from(known);
    }

    /// Continues with `later`.
    pub(crate) fn join(&mut self, later: &Shown) {
        self.instructions += later.instructions;
        self.encodings += later.encodings;
        self.branches += later.branches;
        self.outcomes += later.outcomes;
        self.calls += later.calls;
        self.attempted += later.attempted;
        self.isa = later.isa.or(self.isa);
        for (targets, later) in self.targets.iter_mut().zip(&later.targets) {
            targets.join(later);
        }
    }
}

/// Parts of a context that the input does not state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assumed {
    pub(crate) privilege: bool,
    pub(crate) security: bool,
}

/// An element, as far as it is counted. `own`: the source does not have it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum What {
    #[default]
    Atom,
    /// The return address, and the system call that made it.
    Exception(Option<u64>, Option<u64>, KnownTrap),
    /// The address of the instruction.
    TrapReturn(u64, Option<KnownTrap>),
    Halt,
    /// Some of its instructions are not shown.
    Q {
        gap: bool,
    },
    Target(u64),
    Context(ContextState, Assumed),
    /// `gap`: the source has a gap here.
    TraceOn {
        gap: bool,
    },
    TimestampMarker,
    Time {
        fact: Fact,
        offset: bool,
        own: bool,
    },
    Mark {
        own: bool,
    },
    TransactionStart,
    TransactionCommit,
    TransactionFailure {
        own: bool,
    },
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Element {
    pub(crate) shown: Shown,
    pub(crate) what: What,
    pub(crate) p0: bool,
}

impl From<What> for Element {
    fn from(what: What) -> Self {
        Element { what, ..Element::default() }
    }
}

impl Element {
    /// A cancel, a discard or a failed transaction does not remove it (table K10-2).
    fn is_kept(&self) -> bool {
        matches!(self.what, What::Time { .. } | What::Mark { .. } | What::TimestampMarker)
    }
}

/// Blocks, each ended by a branch that an atom of one packet traces, in a unit without speculation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    /// Start of the first.
    pub(crate) start: u64,
    pub(crate) instructions: u64,
    pub(crate) count: u32,
    pub(crate) isa: Isa,
    /// Their source has encodings, outcomes and targets, of which the blocks show this number; the last one is open. Else it has
    /// nothing but the instructions.
    pub(crate) known: Option<(u32, Option<u64>)>,
}

impl Blocks {
    fn targets(&self) -> Targets {
        let (shown, open) = self.known.unwrap_or_default();
        Targets { first: Some(self.start), shown, open }
    }
}

/// An entry of the log. A step takes ten times the room of the usual ones.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Logged {
    Blocks(Blocks),
    /// A target address.
    Target(u64),
    Step(Step),
}

/// One step of a decoder (K10.5.2.18).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Emit(Element),
    Commit(u64),
    Cancel(u64),
    /// The source has a gap here.
    Discard {
        gap: bool,
    },
    /// A Trace Info, whose Alignment Sync starts at `start`.
    Synchronise {
        start: u64,
        depth: u64,
        in_transaction: bool,
    },
}

/// Elements that were accepted and are not resolved, and the facts of those that are.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    queue: VecDeque<Element>,
    /// Number of unresolved P0 elements, and of those from before the start.
    depth: u64,
    unseen: u64,
    /// A Trace Info was found; a context and an address were, so that code can be followed.
    is_started: bool,
    has_context: bool,
    has_address: bool,
    /// Elements of the open transaction; one was started, if only speculatively.
    transaction: Option<Vec<Element>>,
    begun: bool,
    /// Code was followed since the last gap: the next Trace On is a gap.
    followed: bool,
    /// A gap was found since the last instruction that none of the source's is matched with.
    shows_gap: bool,
    halted: bool,
    /// The instruction set reported.
    isa: Option<Isa>,
    /// Branch targets so far: of all instructions, and of those that retire.
    targets: [Targets; 2],
    /// A trap that waits for its target: the one known, and the one found.
    trap: Option<(Option<u64>, Option<u64>)>,
    /// Numbers found of attempted instructions, and of the unit's own marks: Trace On, Timestamp Marker.
    pub(crate) attempted: u64,
    starts: u64,
    markers: u64,
    pub(crate) facts: Facts,
}

impl Default for Account {
    fn default() -> Self {
        Account {
            queue: VecDeque::new(),
            depth: 0,
            unseen: 0,
            is_started: false,
            has_context: false,
            has_address: false,
            transaction: None,
            begun: false,
            followed: false,
            shows_gap: false,
            halted: false,
            // A reader assumes it.
            isa: Some(Isa::A64),
            targets: Default::default(),
            trap: None,
            attempted: 0,
            starts: 0,
            markers: 0,
            facts: Facts::new(&[], &[]),
        }
    }
}

impl Account {
    /// An entry of the log whose packet is in the buffer.
    #[inline]
    pub(crate) fn take(&mut self, logged: &Logged, max_spec: u64) {
        let at_once = self.depth == 0 && max_spec == 0 && self.transaction.is_none();
        match logged {
            Logged::Blocks(blocks) if at_once => self.find_blocks(blocks),
            Logged::Blocks(blocks) => {
                let element = Element { shown: Shown::blocks(blocks), p0: true, ..Element::default() };
                self.accept(&Step::Emit(element), max_spec);
            }
            Logged::Target(address) if at_once => self.find_target(*address),
            Logged::Target(address) => self.accept(&Step::Emit(What::Target(*address).into()), max_spec),
            Logged::Step(step) => self.accept(step, max_spec),
        }
    }

    /// A step whose packet is in the buffer.
    pub(crate) fn accept(&mut self, step: &Step, max_spec: u64) {
        if let Step::Emit(element) = step {
            match element.what {
                What::TransactionStart => self.begun = true,
                What::TransactionCommit | What::TransactionFailure { .. } => self.begun = false,
                _ => {}
            }
        }
        match *step {
            Step::Emit(ref element) if self.depth == 0 && max_spec == 0 => self.pass(element),
            Step::Emit(ref element) => {
                self.queue.push_back(*element);
                if element.p0 {
                    self.depth += 1;
                    self.commit(self.depth.saturating_sub(max_spec));
                }
                self.drain();
            }
            Step::Synchronise { depth, in_transaction, .. } => {
                if !std::mem::replace(&mut self.is_started, true) {
                    (self.depth, self.unseen, self.begun) = (depth, depth, in_transaction);
                    self.transaction = in_transaction.then(Vec::new);
                }
            }
            Step::Commit(count) => self.commit(count),
            Step::Cancel(count) => self.cancel(count),
            Step::Discard { gap } => {
                self.cancel(self.depth);
                if std::mem::take(&mut self.begun) || self.transaction.is_some() {
                    self.pass(&What::TransactionFailure { own: true }.into());
                }
                self.settle_trap();
                self.gap();
                self.keep_gap(gap);
                (self.has_context, self.has_address) = (false, false);
            }
        }
    }

    /// Nothing follows: what is unresolved is not found. The source has this many marks of starts and timestamps.
    pub(crate) fn end(&mut self, loses_attempted: bool, (starts, markers): (u64, u64)) {
        let open = self.transaction.take().is_some_and(|elements| !elements.is_empty());
        if self.depth > 0 || open {
            self.gap();
        }
        self.queue.clear();
        self.depth = 0;
        self.settle_trap();
        // Where some attempted instructions are not found, a reader compares those that retire.
        let shown = self.targets[usize::from(loses_attempted)].shown;
        self.facts.keep(Fact::Targets, shown.into());
        for (found, known) in [(self.starts, starts), (self.markers, markers)] {
            self.facts.keep(Fact::Marks, found.min(known));
            self.facts.invent(Fact::Marks, found.saturating_sub(known));
        }
    }

    fn commit(&mut self, mut count: u64) {
        self.depth = self.depth.saturating_sub(count);
        let unseen = count.min(self.unseen);
        self.unseen -= unseen;
        count -= unseen;
        while count > 0
            && let Some(element) = self.queue.pop_front()
        {
            count -= u64::from(element.p0);
            self.pass(&element);
        }
        self.drain();
    }

    /// Passes on the elements that no P0 element holds back.
    fn drain(&mut self) {
        while self.unseen == 0
            && let Some(element) = self.queue.front().copied()
            && !element.p0
        {
            self.queue.pop_front();
            self.pass(&element);
        }
    }

    fn cancel(&mut self, mut count: u64) {
        self.depth = self.depth.saturating_sub(count);
        let mut first = self.queue.len();
        while count > 0 && first > 0 {
            first -= 1;
            count -= u64::from(self.queue[first].p0);
        }
        self.unseen = self.unseen.saturating_sub(count);
        let rest = self.queue.split_off(first);
        self.queue.extend(rest.into_iter().filter(Element::is_kept));
        self.drain();
    }

    fn pass(&mut self, element: &Element) {
        match (&element.what, &mut self.transaction) {
            (What::TransactionStart, _) => {
                self.find(element);
                self.transaction.get_or_insert_default();
            }
            (What::TransactionCommit, _) => {
                for element in self.transaction.take().unwrap_or_default() {
                    self.find(&element);
                }
                self.find(element);
            }
            (What::TransactionFailure { .. }, _) => {
                for element in self.transaction.take().unwrap_or_default() {
                    if element.is_kept() || matches!(element.what, What::Context(..)) {
                        self.find(&element);
                    }
                }
                self.find(element);
            }
            (_, Some(elements)) => elements.push(*element),
            (_, None) => self.find(element),
        }
    }

    fn count(&mut self, fact: Fact, own: bool) {
        if own {
            self.facts.invent(fact, 1);
        } else {
            self.facts.keep(fact, 1);
        }
    }

    /// A gap is found.
    fn gap(&mut self) {
        (self.followed, self.shows_gap) = (false, true);
        self.leave_targets();
    }

    /// The source has a gap here, which one that is found shows.
    fn keep_gap(&mut self, given: bool) {
        if given && std::mem::take(&mut self.shows_gap) {
            self.facts.keep(Fact::Gaps, 1);
        }
    }

    /// The next instruction does not show where the last branch went.
    fn leave_targets(&mut self) {
        self.targets.iter_mut().for_each(|targets| targets.open = None);
    }

    /// The target of the last trap is final.
    fn settle_trap(&mut self) {
        if let Some((known, Some(found))) = self.trap.take() {
            self.count(Fact::TrapHandlers, known != Some(found));
        }
    }

    /// As [`find`](Account::find), for blocks.
    #[inline]
    fn find_blocks(&mut self, blocks: &Blocks) {
        self.settle_trap();
        if !self.has_context || !self.has_address {
            return;
        }
        (self.followed, self.shows_gap) = (true, false);
        self.change_isa(Some(blocks.isa));
        self.targets.iter_mut().for_each(|targets| targets.join(&blocks.targets()));
        self.facts.keep(Fact::Instructions, blocks.instructions);
        for (fact, count) in [(Fact::Encodings, blocks.instructions), (Fact::Outcomes, blocks.count.into())] {
            match blocks.known {
                Some(_) => self.facts.keep(fact, count),
                None => self.facts.invent(fact, count),
            }
        }
    }

    /// The next address is found.
    #[inline]
    fn find_target(&mut self, address: u64) {
        self.has_address = true;
        if let Some((_, found)) = &mut self.trap {
            *found = Some(address);
        }
        if self.halted {
            self.halt(false);
        }
    }

    /// A decoder reaches the element.
    fn find(&mut self, element: &Element) {
        let followed = self.has_context && self.has_address;
        let Shown { instructions, encodings, branches, outcomes, calls, attempted, isa, ref targets } =
            element.shown;
        if element.p0 {
            self.settle_trap();
        }
        if followed && instructions > 0 {
            (self.followed, self.shows_gap) = (true, false);
            self.change_isa(isa);
            for (targets, later) in self.targets.iter_mut().zip(targets) {
                targets.join(later);
            }
            self.attempted += u64::from(attempted);
            self.facts.keep(Fact::Instructions, instructions);
            for (fact, found, known) in [
                (Fact::Encodings, instructions, encodings),
                (Fact::Outcomes, branches.into(), outcomes),
                (Fact::Attempted, calls.into(), attempted),
            ] {
                self.facts.keep(fact, known.into());
                self.facts.invent(fact, found - u64::from(known));
            }
        }
        match element.what {
            What::Atom => {}
            What::Exception(return_address, call, known) => {
                let call = call.filter(|_| followed);
                self.count(Fact::Traps, !known.kind);
                self.count(Fact::TrapCauses, !known.cause);
                if let Some(address) = return_address {
                    let place = call.unwrap_or(address);
                    self.count(Fact::TrapPlaces, known.place != Some(place));
                    self.count(Fact::ReturnAddresses, known.return_address != Some(address));
                }
                if call.is_some() {
                    self.count(Fact::SystemCalls, !known.syscall);
                    self.count(Fact::SystemCallNumbers, !known.syscall_index);
                }
                self.trap = Some((known.to, None));
            }
            What::TrapReturn(..) if !followed => {}
            What::TrapReturn(address, known) => {
                self.count(Fact::TrapReturns, known.is_none());
                let known = known.unwrap_or_default();
                self.count(Fact::TrapPlaces, known.place != Some(address));
                self.trap = Some((known.to, None));
            }
            What::Halt => self.halt(true),
            What::Q { gap: true } => self.gap(),
            What::Q { gap: false } => {}
            What::Target(address) => self.find_target(address),
            What::Context(context, assumed) => {
                self.has_context = true;
                let known = self.isa.filter(|isa| *isa == Isa::T32 && !context.sixty_four_bit);
                let mut event = context.to_event();
                self.change_isa(known.or(event.isa));
                event.isa = None;
                self.facts.invent_context(&Context {
                    privilege: event.privilege.filter(|_| assumed.privilege),
                    security: event.security.filter(|_| assumed.security),
                    ..Context::default()
                });
                self.facts.keep_context(&event);
            }
            What::TraceOn { gap } => {
                self.settle_trap();
                if self.followed {
                    self.gap();
                }
                self.leave_targets();
                self.keep_gap(gap);
                (self.has_context, self.has_address) = (false, false);
                self.starts += 1;
            }
            What::TimestampMarker => self.markers += 1,
            What::Time { fact, offset, own } => {
                self.count(fact, own);
                if offset {
                    self.count(Fact::TimeOffsets, own);
                }
                // Cycles are counted by the core's clock.
                if offset || fact == Fact::CycleCounts {
                    self.count(Fact::Clocks, own);
                }
            }
            What::Mark { own } | What::TransactionFailure { own } => self.count(Fact::Marks, own),
            What::TransactionStart | What::TransactionCommit => self.count(Fact::Marks, false),
        }
    }

    fn change_isa(&mut self, isa: Option<Isa>) {
        if isa.is_some() && isa != self.isa {
            self.isa = isa;
            self.facts.keep_context(&Context { isa, ..Context::default() });
        }
    }

    fn halt(&mut self, halted: bool) {
        self.halted = halted;
        self.facts.keep_context(&Context { unsupported: Some(halted), ..Context::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trackway_core::{Counts, Fate, Ledger};

    const TIME: What = What::Time { fact: Fact::Timestamps, offset: false, own: false };

    fn p0(instructions: u64) -> Step {
        let shown = Shown { instructions, ..Shown::default() };
        Step::Emit(Element { shown, p0: true, ..Element::default() })
    }

    fn followed() -> Account {
        Account { has_context: true, has_address: true, ..Account::default() }
    }

    /// Numbers found of instructions and timestamps.
    fn found(account: &Account) -> (u64, u64) {
        let ledger = Ledger::new(&Counts::default(), &account.facts);
        (ledger.count(Fate::Invented, Fact::Instructions), ledger.count(Fate::Invented, Fact::Timestamps))
    }

    #[test]
    fn elements_count_once_they_are_resolved() {
        let mut account = followed();
        for step in [p0(1), p0(2), Step::Emit(TIME.into()), p0(4)] {
            account.accept(&step, 9);
        }
        assert_eq!(found(&account), (0, 0));
        account.accept(&Step::Commit(1), 9);
        assert_eq!(found(&account), (1, 0));
        account.accept(&Step::Cancel(2), 9);
        assert_eq!(found(&account), (1, 1));
        (0..20).for_each(|_| account.accept(&p0(1), 9));
        assert_eq!(found(&account), (12, 1), "the depth commits");
        account.accept(&Step::Discard { gap: false }, 9);
        assert_eq!(found(&account), (12, 1));
    }

    #[test]
    fn a_failed_transaction_keeps_times() {
        let mut account = followed();
        let start = Element { p0: true, ..What::TransactionStart.into() };
        for step in [Step::Emit(start), p0(3), Step::Emit(TIME.into())] {
            account.accept(&step, 0);
        }
        assert_eq!(found(&account), (0, 0));
        account.accept(&Step::Emit(What::TransactionFailure { own: false }.into()), 0);
        assert_eq!(found(&account), (0, 1));
    }
}

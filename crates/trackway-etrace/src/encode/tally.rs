//! Counts of what a decoder of the packets finds, kept where packets are sent.

use std::collections::VecDeque;

use trackway_core::{Account, Counts, Fact, Fate, Trap, TrapKind};

use super::Encoder;
use super::progress::{Hit, Progress, Single};
use super::row::{Departure, PortTrap, Previous};
use crate::config::Config;
use crate::decode::call_of;
use crate::modes::Mode;
use crate::wire::instruction::qual_status;

/// Facts that are in the packets.
const KEPT: &[Fact] = &[
    Fact::Instructions,
    Fact::Attempted,
    Fact::Outcomes,
    Fact::Traps,
    Fact::TrapCauses,
    Fact::TrapValues,
    Fact::TrapPlaces,
    Fact::TrapHandlers,
    Fact::ReturnAddresses,
    Fact::SystemCalls,
    Fact::Gaps,
];

/// Facts that follow from the packets and the program.
const DERIVED: &[Fact] = &[Fact::Encodings, Fact::Targets];

/// Facts that data packets have.
const DATA: &[Fact] = &[Fact::MemoryAccesses, Fact::MemoryData, Fact::StoredData];

/// Facts that a data packet has: kept and made up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DataFacts {
    pub(crate) kept: [u8; DATA_FACTS.len()],
    pub(crate) invented: [u8; DATA_FACTS.len()],
}

/// The facts of [`DataFacts`], in order.
const DATA_FACTS: [Fact; 6] = [
    Fact::MemoryAccesses,
    Fact::MemoryData,
    Fact::StoredData,
    Fact::AtomicOperations,
    Fact::RegisterReads,
    Fact::RegisterWrites,
];

impl DataFacts {
    /// A packet has this fact; `recorded` says whether the events have it too.
    pub(crate) fn add(&mut self, fact: Fact, recorded: bool) {
        if let Some(n) = DATA_FACTS.iter().position(|of| *of == fact) {
            if recorded { self.kept[n] += 1 } else { self.invented[n] += 1 }
        }
    }

    /// Those of an access whose instruction is not traced: operands and stored values need the instruction.
    pub(crate) fn alone(self, is_csr: bool) -> Self {
        let mut facts = DataFacts::default();
        for (n, fact) in DATA_FACTS.into_iter().enumerate() {
            facts.invented[n] = match fact {
                Fact::RegisterReads | Fact::RegisterWrites => is_csr.into(),
                Fact::StoredData => 0,
                _ => self.kept[n] + self.invented[n],
            };
        }
        facts
    }

    /// Those of a request, and those of its response.
    pub(crate) fn split(self) -> (Self, Self) {
        let (mut request, mut response) = (self, DataFacts::default());
        for n in [1, 2] {
            response.kept[n] = std::mem::take(&mut request.kept[n]);
            response.invented[n] = std::mem::take(&mut request.invented[n]);
        }
        (request, response)
    }
}

/// Marks that packets have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnMark {
    /// A report that was asked for.
    Notify,
    /// End of tracing.
    Off,
    /// Start of tracing.
    On,
}

/// Context changes that may wait for their packet.
const CHANGES: usize = 4;

/// Facts that came in, and those a decoder finds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// What has entered before the current block, and with it.
    pub(super) entered: (Progress, Progress),
    /// The last instruction of the current block alone, and the first.
    pub(super) last: Single,
    pub(super) first: Single,
    /// Attempted instructions that were found at the target of a jump.
    attempts_at_targets: u64,
    /// Instructions that were found and are other ones in the program.
    altered: u64,
    /// The decoder follows execution, and has reached this place.
    following: bool,
    reached: Progress,
    /// A trap was sent without its handler; the handler in the events.
    pub(super) held: Option<Option<u64>>,
    /// The decoder knows that tracing is off.
    off: bool,
    /// A gap of the events was reported after this many instructions.
    gap_after: Option<u64>,
    /// The last time that was sent.
    time: Option<u64>,
    /// Marks by [kind](OwnMark): those of the events, and those that a decoder finds.
    pub(crate) marks: [(u64, u64); 3],
    /// Marks of the events at instructions that a synchronisation packet reports, which has no `notify`.
    missed_notify: u64,
    /// Context ids of the last changes in the events, with their kind.
    pub(super) changes: VecDeque<(u64, Option<u8>)>,
    /// Facts in the events, as far as they can be found.
    pub(crate) taken: Counts,
    /// Facts that a decoder finds.
    pub(crate) kept: Counts,
    /// Facts that a decoder finds and the events do not have.
    pub(crate) invented: Counts,
}

impl Tally {
    /// The next block has these instructions, of which `last` is the last; the first may be the target of a jump.
    #[inline(always)]
    pub(crate) fn enter(&mut self, block: Progress, last: Single, at_target: bool) {
        self.entered = (self.entered.1, self.entered.1.plus(block));
        self.last = last;
        self.first = Single { instructions: 1, targets: at_target.into(), ..Single::default() };
    }

    /// A packet was sent that reports everything up to `to`.
    #[inline]
    pub(super) fn reach(&mut self, to: Progress) {
        if self.following {
            let new = to.less(self.reached);
            self.kept[Fact::Instructions] += new.instructions;
            self.kept[Fact::Targets] += new.targets;
            self.kept[Fact::Outcomes] += new.outcomes;
            self.altered += new.altered;
            self.invented[Fact::Outcomes] += new.transfers - new.outcomes;
            self.reached = to;
        }
    }

    /// The trace ends or is lost here.
    pub(super) fn stop(&mut self) {
        self.following = false;
    }

    /// Counts a fact that a decoder finds: kept if the events have the same.
    fn find<T: PartialEq>(&mut self, fact: Fact, found: Option<T>, recorded: Option<T>) {
        if found.is_some() {
            let counts = if found == recorded { &mut self.kept } else { &mut self.invented };
            counts[fact] += 1;
        }
    }

    /// A data packet was sent.
    pub(super) fn count_data(&mut self, facts: &DataFacts) {
        for (n, &fact) in DATA_FACTS.iter().enumerate() {
            self.kept[fact] += u64::from(facts.kept[n]);
            self.invented[fact] += u64::from(facts.invented[n]);
        }
    }

    /// A loss is reported for a gap of the events here.
    pub(super) fn begin_gap(&mut self) {
        self.gap_after = Some(self.entered.1.instructions);
    }

    /// A mark of the events.
    pub(crate) fn take_mark(&mut self, mark: OwnMark) {
        self.marks[mark as usize].0 += 1;
    }

    /// A mark that a decoder finds.
    pub(super) fn find_mark(&mut self, mark: OwnMark) {
        self.marks[mark as usize].1 += 1;
    }

    /// A mark of the events that its instruction's packet cannot express; one found elsewhere is another.
    pub(super) fn miss_notify(&mut self) {
        self.missed_notify += 1;
    }

    /// A context change of the events.
    pub(crate) fn take_change(&mut self, context: &trackway_core::Context) {
        if let Some(id) = context.context_id {
            self.changes.truncate(CHANGES - 1);
            self.changes.push_front((id, context.change));
        }
    }

    /// The ledger's account: what is missing of the facts that came in, and what was made up.
    pub(crate) fn settle(&mut self, account: &mut Account) {
        // Other marks than those of its own do not come back.
        self.taken[Fact::Marks] = self.marks.iter().map(|(taken, _)| taken).sum();
        for (n, (taken, found)) in self.marks.into_iter().enumerate() {
            let missed = if n == OwnMark::Notify as usize { self.missed_notify } else { 0 };
            let kept = taken.saturating_sub(missed).min(found);
            self.kept[Fact::Marks] += kept;
            self.invented[Fact::Marks] += found - kept;
        }
        let kept = |fact| {
            let attempts =
                if fact == Fact::Targets && self.kept[Fact::Attempted] >= self.taken[Fact::Attempted] {
                    self.attempts_at_targets
                } else {
                    0
                };
            self.kept[fact] + attempts
        };
        let missing = |fact| self.taken[fact].saturating_sub(kept(fact));
        for &fact in Fact::ALL {
            let missing = match fact {
                // They follow from the instructions.
                Fact::Encodings => (missing(Fact::Instructions) + self.altered).min(self.taken[fact]),
                _ => missing(fact),
            };
            match account.fate(fact) {
                Fate::Dropped => account.keep(fact, kept(fact).min(self.taken[fact])),
                _ => account.lose(fact, missing),
            }
            let surplus = kept(fact).saturating_sub(self.taken[fact]);
            account.invent(fact, self.invented[fact] + surplus);
        }
        let unencoded = self.taken[Fact::Instructions].saturating_sub(self.taken[Fact::Encodings]);
        account.invent(Fact::Encodings, unencoded.min(self.kept[Fact::Instructions]));
    }
}

/// What becomes of facts by these settings.
pub(super) fn account(config: &Config) -> Account {
    let mut account = Account::new(KEPT, DERIVED);
    if config.data.enable {
        DATA.iter().for_each(|&fact| account.set(fact, Fate::Kept));
    }
    if config.has_time() {
        account.set(Fact::Timestamps, Fate::Kept);
    }
    let modes = Mode::ALL.into_iter().filter(|mode| config.options.get(*mode)).count();
    account.invent(Fact::Features, modes as u64 + u64::from(config.data.enable));
    account
}

impl Encoder {
    /// A synchronisation at the current row was sent.
    pub(super) fn count_sync(&mut self) {
        if self.lost {
            return;
        }
        let row = self.row;
        let tally = &mut self.tally;
        let was_following = tally.following;
        if !was_following {
            tally.following = true;
            // The row's last instruction alone.
            tally.reached = row.end.less(row.last.into());
        }
        if !was_following || tally.off {
            // The jump before it is not seen.
            tally.reached.targets = row.end.targets;
        }
        tally.reach(row.end);
        if let Some(to) = tally.held.take() {
            tally.find(Fact::TrapHandlers, Some(row.address), to);
        }
        if tally.gap_after.take().is_some_and(|before| before + 1 == row.end.instructions) {
            tally.invented[Fact::Gaps] -= 1;
            tally.kept[Fact::Gaps] += 1;
        }
        self.count_resumption();
        self.count_context(row.privilege, row.context, 2, true);
        self.count_time();
    }

    fn count_resumption(&mut self) {
        if std::mem::take(&mut self.tally.off) {
            self.tally.find_mark(OwnMark::On);
        }
    }

    /// A packet with privilege and context was sent.
    pub(super) fn count_context(&mut self, privilege: u32, context: u64, change: u8, has_context: bool) {
        let has_context = self.config.params.nocontext == 0
            || (!has_context && !self.config.dialect.nocontext_everywhere());
        let context_id = has_context.then_some(context);
        let is_new = context_id.is_some() && context_id != self.tally_context;
        self.tally_context = context_id.or(self.tally_context);
        let privilege = crate::port::privilege_of(privilege);
        if !self.privilege_stated {
            self.account
                .invent_context(&trackway_core::Context { privilege, ..trackway_core::Context::default() });
        }
        let change = is_new.then_some(change);
        let stated = self.tally.changes.iter().find(|(id, _)| Some(*id) == context_id);
        if change.is_some() && stated.and_then(|(_, stated)| *stated) != change {
            self.account
                .invent_context(&trackway_core::Context { change, ..trackway_core::Context::default() });
        }
        self.account.keep_context(&trackway_core::Context {
            privilege,
            context_id,
            change,
            ..trackway_core::Context::default()
        });
    }

    /// A packet with the time of the current row was sent.
    pub(super) fn count_time(&mut self) {
        if self.config.has_time() {
            self.count_stamp(self.config.params.time_width);
        }
    }

    /// The time of the current row was sent in a field of `bits` bits: one that does not fit is another time.
    pub(super) fn count_stamp(&mut self, bits: u32) {
        let time = self.row.time;
        let is_held = time != 0 && trackway_core::mask(time, bits) == time;
        let is_new = is_held && self.tally.time.replace(time) != Some(time);
        let counts = if is_new { &mut self.tally.kept } else { &mut self.tally.invented };
        counts[Fact::Timestamps] += 1;
    }

    /// A support packet was sent.
    pub(super) fn count_support(&mut self, enable: bool, status: u32, dloss: bool) {
        if dloss && !self.lost && status != qual_status::TRACE_LOST {
            self.tally.invented[Fact::Gaps] += 1;
        }
        if self.lost || status == qual_status::NO_CHANGE {
            return;
        }
        if !enable {
            self.tally.held = None;
        }
        if status == qual_status::TRACE_LOST {
            self.tally.off = false;
            // Unless the next instruction shows that it is the gap of the events.
            self.tally.invented[Fact::Gaps] += 1;
        } else {
            self.tally.off = true;
            self.tally.find_mark(OwnMark::Off);
        }
    }

    /// A trap packet was sent; `hit` is where a decoder sees it hit. Without a handler in the packet, the next
    /// synchronisation has it.
    pub(super) fn count_trap(&mut self, trap: &PortTrap, hit: Option<Hit>, handler: Option<u64>) {
        if self.lost {
            return;
        }
        if handler.is_none() {
            self.count_resumption();
        }
        let params = &self.config.params;
        let cause = trackway_core::mask(trap.cause, params.ecause_width);
        let is_illegal = trap.cause == 2 && !trap.interrupt;
        let has_value = if self.config.dialect.has_tvalepc() { !is_illegal } else { !trap.interrupt };
        let value = has_value.then_some(trackway_core::mask(trap.tval, params.iaddress_width));
        let tally = &mut self.tally;
        if let (Some(to), Some((Some(place), _))) = (tally.held.take(), hit) {
            // The trap before led to where this one hit.
            tally.find(Fact::TrapHandlers, Some(place), to);
        }
        let recorded = trap.recorded.unwrap_or(Trap::new(TrapKind::Exception));
        let kind = if trap.interrupt { TrapKind::Interrupt } else { TrapKind::Exception };
        tally.find(Fact::Traps, Some(kind), trap.recorded.map(|recorded| recorded.kind));
        tally.find(Fact::TrapCauses, Some(cause), recorded.cause);
        tally.find(Fact::TrapValues, value, recorded.value);
        tally.find(Fact::SystemCalls, call_of(trap.interrupt, cause), recorded.syscall);
        match handler {
            Some(handler) => tally.find(Fact::TrapHandlers, Some(handler), recorded.to),
            None => tally.held = Some(recorded.to),
        }
        let Some((place, attempted)) = hit else { return };
        tally.find(Fact::TrapPlaces, Some(place), recorded.from.map(Some));
        tally.find(Fact::ReturnAddresses, Some(place), recorded.return_address.map(Some));
        // An instruction that could not be fetched was not attempted.
        if trap.interrupt || matches!(trap.cause, 1 | 12 | 20) {
            return;
        }
        tally.find(Fact::Instructions, Some(true), Some(attempted.is_some()));
        tally.find(Fact::Attempted, Some(true), Some(attempted == Some(true)));
        tally.invented[Fact::Encodings] += u64::from(attempted.is_none());
        if trap.at_target {
            tally.attempts_at_targets += 1;
        }
    }

    /// Where a decoder that follows execution sees the current trap hit without an address in a packet.
    pub(super) fn inferred_hit(&self, previous: &Previous) -> Option<Hit> {
        if previous.trap.is_some() && !self.config.dialect.has_thaddr() {
            // The trap before is not in the trace: this one seems to hit at its place.
            return previous.hit;
        }
        let known = self.tally.following
            && previous.trap.is_none()
            && match previous.departure {
                Departure::Plain | Departure::Branch | Departure::Inferred => true,
                // The draft does not say whether the jump was the inferred one.
                Departure::InferredPair | Departure::InferredReturn => self.config.dialect.has_thaddr(),
                Departure::Updiscon | Departure::Mispredicted => false,
            };
        known.then_some((self.trap.epc, self.trap.attempted))
    }
}

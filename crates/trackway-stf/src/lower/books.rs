//! The account of a conversion. Most events are written as they are; for the others, the facts that were handed in are
//! compared with those that a reader finds.

use trackway_core::*;

use crate::config::{ProcessId, Version};

/// Facts that STF holds.
const KEPT: &[Fact] = &[
    Fact::Producers,
    Fact::ProducerVersions,
    Fact::ProducerComments,
    Fact::Comments,
    Fact::Features,
    Fact::IsaStrings,
    Fact::HeaderVectorLengths,
    Fact::Instructions,
    Fact::Encodings,
    Fact::Attempted,
    Fact::Outcomes,
    Fact::Targets,
    Fact::Placeholders,
    Fact::MicroOps,
    Fact::RegisterReads,
    Fact::RegisterWrites,
    Fact::RegisterStates,
    Fact::ReadyRegisters,
    Fact::MemoryAccesses,
    Fact::MemoryData,
    Fact::StoredData,
    Fact::AccessAttributes,
    Fact::PageWalks,
    Fact::PageWalkUses,
    Fact::BusTransfers,
    Fact::BusInitiators,
    Fact::BusAttributes,
    Fact::BusData,
    Fact::Traps,
    Fact::TrapReturns,
    Fact::TrapCauses,
    Fact::TrapClasses,
    Fact::TrapValues,
    Fact::TrapPlaces,
    Fact::TrapHandlers,
    Fact::SystemCalls,
    Fact::SystemCallNumbers,
    Fact::TrapWords,
    Fact::Privileges,
    Fact::Asids,
    Fact::Pids,
    Fact::Tids,
    Fact::HwThreads,
    Fact::Isas,
    Fact::Notes,
    Fact::Gaps,
    Fact::GapReasons,
    Fact::GapStarts,
    Fact::GapEnds,
    Fact::GapInstructions,
    Fact::GapBytes,
];

/// Facts that follow from others, or that every tool adds to: a reader may find more of them than were handed in.
const DERIVABLE: &[Fact] = &[
    Fact::Producers,
    Fact::ProducerVersions,
    Fact::ProducerComments,
    Fact::Comments,
    Fact::Features,
    Fact::Outcomes,
    Fact::Targets,
    Fact::TrapReturns,
    Fact::TrapPlaces,
    Fact::TrapHandlers,
    Fact::SystemCalls,
    Fact::TrapWords,
];

/// Keeps the account.
#[derive(Debug)]
pub(super) struct Books {
    account: Account,
    /// Contexts as they were handed in, and as a reader finds them.
    given: Contexts,
    read: Contexts,
    /// Facts that a reader derives although they were not handed in.
    derived: Counts,
}

/// A fact with a digest of its value.
type Found = (Fact, u64);

impl Books {
    /// For a trace of `version` with the ids in this order.
    pub(super) fn new(meta: &Meta, version: Version, order: ProcessId) -> Self {
        let mut account = Account::new(KEPT, &[]);
        account.set(if order == ProcessId::Library { Fact::Asids } else { Fact::HwThreads }, Fate::Dropped);
        if version < Version(1, 6) {
            account.set(Fact::IsaStrings, Fate::Dropped);
        }
        if version < Version(1, 4) {
            account.set(Fact::HeaderVectorLengths, Fate::Dropped);
        }
        let contexts = || Contexts::new(meta);
        Books { account, given: contexts(), read: contexts(), derived: Counts::default() }
    }

    /// The account, once everything is written.
    pub(super) fn close(&mut self) -> Account {
        let mut account = std::mem::take(&mut self.account);
        for &fact in DERIVABLE.iter().filter(|fact| self.derived[**fact] > 0) {
            account.set(fact, Fate::Derived);
        }
        account
    }

    pub(super) fn lose(&mut self, fact: Fact, n: u64) {
        self.account.lose(fact, n);
    }

    pub(super) fn invent(&mut self, fact: Fact, n: u64) {
        self.account.invent(fact, n);
    }

    pub(super) fn lose_event(&mut self, batch: &Batch, event: &EventKind) {
        self.account.lose_event(batch, event);
    }

    /// The outcome of a branch that was handed in, and the one that a reader finds.
    #[inline]
    pub(super) fn outcome(&mut self, given: Option<bool>, read: Option<bool>) {
        if given != read {
            self.account.lose(Fact::Outcomes, given.is_some().into());
            self.add(Fact::Outcomes, read.is_some());
        }
    }

    /// Likewise the target.
    #[inline]
    pub(super) fn target(&mut self, given: Option<u64>, read: Option<u64>) {
        if given != read {
            self.account.lose(Fact::Targets, given.is_some().into());
            self.add(Fact::Targets, read.is_some());
        }
    }

    /// A reader finds a fact that was not handed in.
    fn add(&mut self, fact: Fact, there: bool) {
        if DERIVABLE.contains(&fact) {
            self.derived[fact] += u64::from(there);
        } else {
            self.account.invent(fact, there.into());
        }
    }

    /// Header facts: those of the source, and those that were written.
    pub(super) fn header(&mut self, given: &Meta, read: &Meta) {
        let facts = |meta: &Meta| {
            let mut facts = Vec::new();
            each_of_meta(meta, |fact, value| facts.push((fact, value)));
            facts
        };
        self.compare(facts(given), &facts(read));
    }

    /// An event, and the one that a reader finds for it: the only one of `read`, if any.
    pub(super) fn event(&mut self, batch: &Batch, event: &EventKind, read: &Batch) {
        let mut given = Vec::new();
        each_of_event(batch, event, &mut self.given, &mut |fact, value| given.push((fact, value)));
        let mut found = Vec::new();
        for event in &read.events {
            each_of_event(read, &event.kind, &mut self.read, &mut |fact, value| found.push((fact, value)));
        }
        self.compare(given, &found);
    }

    /// A return from a trap that was handed in, and the one that a reader finds.
    pub(super) fn trap(&mut self, given: Option<Trap>, found: Option<Trap>) {
        let facts = |trap: Option<Trap>| {
            let (mut facts, mut batch) = (Vec::new(), Batch::default());
            // Words of the format's own are not written.
            trap.into_iter().for_each(|trap| batch.push_trap(0, Trap { words: Span::default(), ..trap }));
            for event in &batch.events {
                let mut nothing = Contexts::default();
                each_of_event(&batch, &event.kind, &mut nothing, &mut |fact, value| {
                    facts.push((fact, value))
                });
            }
            facts
        };
        self.account.lose(Fact::TrapWords, given.is_some_and(|trap| trap.words.len > 0).into());
        self.compare(facts(given), &facts(found));
    }

    /// The memory accesses of a step, and those that a reader finds, which are all that `read` has.
    pub(super) fn memory(&mut self, batch: &Batch, accesses: Accesses, read: &Batch) {
        let facts = |batch: &Batch, accesses: Accesses| {
            let step = EventKind::Step(Step { accesses, ..Step::new(0, 0, 0) });
            let (mut facts, mut nothing) = (Vec::new(), Contexts::default());
            each_of_event(batch, &step, &mut nothing, &mut |fact, value| facts.push((fact, value)));
            facts
        };
        let all = Accesses { mem_len: read.mem.len() as u16, ..Accesses::default() };
        self.compare(facts(batch, Accesses { regs_len: 0, ..accesses }), &facts(read, all));
    }

    fn compare(&mut self, mut given: Vec<Found>, found: &[Found]) {
        for &one in found {
            match given.iter().position(|other| *other == one) {
                Some(n) => drop(given.swap_remove(n)),
                None => self.add(one.0, true),
            }
        }
        for (fact, _) in given {
            // A fact that is dropped anyway is not an exception.
            self.account.lose(fact, u64::from(self.account.fate(fact) != Fate::Dropped));
        }
    }
}

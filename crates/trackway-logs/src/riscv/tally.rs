//! The account of a conversion: facts of the input against those that a reader of the written log finds.

use trackway_core::*;

/// Compares both sides, instruction by instruction.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Facts about the whole input.
    meta: Counts,
    input: Contexts,
    output: Contexts,
    pub(crate) facts: Nearby,
    /// Instructions written.
    pub(crate) number: u64,
    /// Own facts of the instruction that was written last: it is read back when the next one is.
    pub(crate) waiting: Vec<Found>,
    /// Events that were read back.
    pub(crate) written: Batch,
    /// Buffers for the facts of the input and of the output, kept for their memory.
    read: Sorted,
    back: Sorted,
}

/// Facts of an instruction: its own, and others.
#[derive(Debug, Default)]
struct Sorted {
    own: Vec<Found>,
    others: Vec<Found>,
}

impl Sorted {
    fn clear(&mut self) {
        self.own.clear();
        self.others.clear();
    }

    fn push(&mut self, fact: Fact, value: u64) {
        if is_own(fact) { &mut self.own } else { &mut self.others }.push((fact, value));
    }
}

/// Facts that belong to an instruction and to no other.
fn is_own(fact: Fact) -> bool {
    fact < Fact::Traps && fact != Fact::RegisterStates
}

impl Tally {
    pub(crate) fn new(meta: &Meta) -> Self {
        Tally {
            meta: Counts::of_meta(meta),
            input: Contexts::new(meta),
            output: Contexts::default(),
            facts: Nearby::default(),
            number: 0,
            waiting: Vec::new(),
            written: Batch::default(),
            read: Sorted::default(),
            back: Sorted::default(),
        }
    }

    /// Takes in a step of the input, and whether a line was written for it.
    pub(crate) fn step(&mut self, batch: &Batch, event: &EventKind, written: bool) {
        let mut read = std::mem::take(&mut self.read);
        read.clear();
        each_of_event(batch, event, &mut self.input, &mut |fact, value| read.push(fact, value));
        if written {
            let next = if let EventKind::Step(step) = event { step.pc } else { None };
            self.read_back(next);
            self.number += 1;
            std::mem::swap(&mut self.waiting, &mut read.own);
        } else {
            self.facts.own(&read.own, &[], self.number);
        }
        self.facts.between(&read.others, &[], self.number);
        self.read = read;
    }

    /// Takes in any other event of the input.
    pub(crate) fn other(&mut self, batch: &Batch, event: &EventKind) {
        let mut found = Vec::new();
        each_of_event(batch, event, &mut self.input, &mut |fact, value| found.push((fact, value)));
        self.facts.between(&found, &[], self.number);
    }

    /// Compares what was read back; the next instruction is at `next`.
    fn read_back(&mut self, next: Option<u64>) {
        let back = &mut self.back;
        back.clear();
        for event in &self.written.events {
            each_of_event(&self.written, &event.kind, &mut self.output, &mut |fact, value| {
                back.push(fact, value);
            });
        }
        self.written.clear();
        let is_target = |found: &Found| found.0 == Fact::Targets;
        // A target that is not there is shown by where the next instruction is.
        if let Some(n) = self.waiting.iter().position(is_target)
            && !back.own.iter().any(is_target)
            && next == Some(self.waiting[n].1)
        {
            back.own.push(self.waiting[n]);
        }
        self.facts.own(&self.waiting, &back.own, self.number);
        self.facts.between(&[], &back.others, self.number);
        self.waiting.clear();
    }

    /// The account, once everything is written.
    pub(crate) fn account(&mut self, kept: &[Fact], derived: &[Fact]) -> Account {
        self.read_back(None);
        self.facts.finish();
        let Nearby { matched, missing, extra, .. } = &self.facts;
        let mut account = Account::new(kept, derived);
        for &fact in Fact::ALL {
            if account.fate(fact) == Fate::Dropped {
                account.derive(fact, matched[fact]);
            } else {
                account.lose(fact, missing[fact] + self.meta[fact]);
            }
            // A reader may derive more than the input has; that is not in the log.
            if account.fate(fact) != Fate::Derived {
                account.invent(fact, extra[fact]);
            }
        }
        account
    }
}

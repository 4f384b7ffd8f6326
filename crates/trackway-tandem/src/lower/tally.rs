//! The account of a conversion: facts of the input against those that a reader of the written groups finds.

use trackway_core::*;

use crate::config::{Config, Widths};
use crate::group::Group;
use crate::lift::Lifter;
use crate::view::View;

/// Facts that a tandem trace holds.
const KEPT: &[Fact] = &[
    Fact::Instructions,
    Fact::Encodings,
    Fact::Attempted,
    Fact::Outcomes,
    Fact::Targets,
    Fact::PhysicalPcs,
    Fact::RegisterWrites,
    Fact::RegisterStates,
    Fact::MemoryAccesses,
    Fact::MemoryData,
    Fact::StoredData,
    Fact::PhysicalAddresses,
    Fact::MemoryContents,
    Fact::BusTransfers,
    Fact::BusAttributes,
    Fact::BusData,
    Fact::BusReturned,
    Fact::BusResults,
    Fact::Traps,
    Fact::TrapReturns,
    Fact::TrapCauses,
    Fact::TrapValues,
    Fact::TrapPlaces,
    Fact::TrapHandlers,
    Fact::ReturnAddresses,
    Fact::VirtualTraps,
    Fact::SystemCalls,
    Fact::Privileges,
    Fact::Timestamps,
    Fact::ForeignItems,
];

/// True for events that are written as a group of their own, so that their facts are compared one by one.
pub(super) fn has_group(batch: &Batch, event: &EventKind) -> bool {
    match event {
        EventKind::Step(_) | EventKind::Trap(_) | EventKind::Context(_) => true,
        EventKind::State(n) => matches!(batch.states[*n as usize], State::Bus(_)),
        _ => false,
    }
}

/// Compares both sides of a conversion, as a reader of the result will.
#[derive(Debug)]
pub(super) struct Tally {
    /// Facts about the whole input.
    meta: Counts,
    input_contexts: Contexts,
    output_contexts: Contexts,
    /// All other facts of both sides.
    pub(super) facts: Nearby,
    /// Instructions read back.
    pub(super) instructions: u64,
    /// Reads what was written.
    pub(super) lifter: Lifter,
    widths: Widths,
    batch: Batch,
    found: Vec<Found>,
}

impl Tally {
    pub(super) fn new(meta: &Meta, config: Config, widths: Widths) -> Self {
        Tally {
            meta: Counts::of_meta(meta),
            input_contexts: Contexts::new(meta),
            output_contexts: Contexts::default(),
            facts: Nearby::default(),
            instructions: 0,
            lifter: Lifter::new(config, &widths),
            widths,
            batch: Batch::default(),
            found: Vec::new(),
        }
    }

    /// Takes in an event of the input; returns the facts that belong to its group, if it has one.
    pub(super) fn read(&mut self, batch: &Batch, event: &EventKind) -> Vec<Found> {
        let has_group = has_group(batch, event);
        let (mut own, mut others) = (Vec::with_capacity(if has_group { 8 } else { 0 }), Vec::new());
        each_of_event(batch, event, &mut self.input_contexts, &mut |fact, value| {
            let is_own = has_group && fact != Fact::RegisterStates;
            if is_own { &mut own } else { &mut others }.push((fact, value));
        });
        self.facts.between(&others, &[], self.instructions);
        own
    }

    /// Compares a group that was written with the facts that it was made of.
    pub(super) fn wrote(&mut self, group: Option<&Group>, facts: Vec<Found>) {
        let Tally { batch, lifter, found, output_contexts, .. } = self;
        let (between, own): (Vec<Found>, Vec<Found>) =
            facts.into_iter().partition(|(fact, _)| *fact >= Fact::Traps);
        batch.clear();
        found.clear();
        let mut after = Vec::new();
        // A reader refuses the same groups.
        if let Some(group) = group
            && let Ok(view) = View::of(group, &self.widths, &lifter.registers)
            && lifter.lift(group, &view, batch).is_err()
        {
            batch.clear();
        }
        for event in &batch.events {
            let has_group = has_group(batch, &event.kind);
            each_of_event(batch, &event.kind, output_contexts, &mut |fact, value| {
                let is_own = has_group && fact < Fact::Traps && fact != Fact::RegisterStates;
                if is_own { &mut *found } else { &mut after }.push((fact, value));
            });
        }
        self.instructions += batch.instructions();
        self.facts.own(&own, found, self.instructions);
        self.facts.between(&between, &after, self.instructions);
    }

    /// Compares a fact that each side has at most once in an instruction.
    #[inline]
    pub(super) fn pair(&mut self, fact: Fact, input: Option<u64>, output: Option<u64>) {
        let Nearby { matched, missing, extra, .. } = &mut self.facts;
        if input == output {
            matched[fact] += u64::from(input.is_some());
        } else {
            missing[fact] += u64::from(input.is_some());
            extra[fact] += u64::from(output.is_some());
        }
    }

    /// The account, once everything is written.
    pub(super) fn account(&mut self) -> Account {
        self.facts.finish();
        let Nearby { matched, missing, extra, .. } = &self.facts;
        // A reader takes the sizes of loads from their encodings.
        let mut account = Account::new(KEPT, &[Fact::InferredAccesses]);
        for &fact in Fact::ALL {
            if account.fate(fact) == Fate::Dropped {
                // Operands of atomics.
                account.keep(fact, matched[fact]);
            } else {
                account.lose(fact, missing[fact] + self.meta[fact]);
            }
            if account.fate(fact) != Fate::Derived {
                account.invent(fact, extra[fact]);
            }
        }
        account
    }
}

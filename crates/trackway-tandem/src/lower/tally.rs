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

/// Counts both sides of a conversion.
#[derive(Debug)]
pub(super) struct Tally {
    /// Facts of the input and of the output outside instructions, traps, contexts and bus transfers.
    input: Counts,
    input_contexts: Contexts,
    output: Counts,
    output_contexts: Contexts,
    /// Facts of instructions, traps, contexts and bus transfers.
    facts: Nearby,
    /// Instructions read back.
    instructions: u64,
    /// Reads what was written.
    lifter: Lifter,
    widths: Widths,
    batch: Batch,
    found: Vec<Found>,
}

impl Tally {
    pub(super) fn new(meta: &Meta, config: Config, widths: Widths) -> Self {
        Tally {
            input: Counts::of_meta(meta),
            input_contexts: Contexts::new(meta),
            output: Counts::default(),
            output_contexts: Contexts::default(),
            facts: Nearby::default(),
            instructions: 0,
            lifter: Lifter::new(config, &widths),
            widths,
            batch: Batch::default(),
            found: Vec::new(),
        }
    }

    /// Counts an event of the input. Facts of an event that has a group of its own are added to those of the group.
    pub(super) fn read(&mut self, batch: &Batch, event: &EventKind, own: Option<&mut Vec<Found>>) {
        match own {
            None => self.input.add_event(batch, event, &mut self.input_contexts),
            Some(own) => {
                let input = &mut self.input;
                each_of_event(batch, event, &mut self.input_contexts, &mut |fact, value| match fact {
                    Fact::RegisterStates => input[fact] += 1,
                    _ => own.push((fact, value)),
                });
            }
        }
    }

    /// Counts a group that was written, and compares it with the facts that it was made of.
    pub(super) fn wrote(&mut self, group: Option<&Group>, facts: Vec<Found>) {
        let Tally { batch, lifter, found, output, output_contexts, .. } = self;
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
            let whole = has_group(batch, &event.kind);
            each_of_event(batch, &event.kind, output_contexts, &mut |fact, value| match fact {
                Fact::RegisterStates => output[fact] += 1,
                _ if !whole => output[fact] += 1,
                _ if fact >= Fact::Traps => after.push((fact, value)),
                _ => found.push((fact, value)),
            });
        }
        self.instructions += batch.instructions();
        self.facts.own(&own, found, self.instructions);
        self.facts.between(&between, &after, self.instructions);
    }

    /// The account, once everything is written.
    pub(super) fn account(&mut self) -> Account {
        self.facts.finish();
        let Nearby { matched, missing, extra, .. } = &self.facts;
        let mut account = Account::new(KEPT, &[]);
        for &fact in Fact::ALL {
            let (before, after) = (self.input[fact], self.output[fact]);
            if account.fate(fact) == Fate::Dropped {
                // Operands of atomics.
                account.keep(fact, matched[fact]);
                account.invent(fact, extra[fact] + after);
            } else {
                account.lose(fact, missing[fact] + before.saturating_sub(after));
                account.invent(fact, extra[fact] + after.saturating_sub(before));
            }
        }
        account
    }
}

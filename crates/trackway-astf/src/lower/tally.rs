//! The account of a conversion: facts of the input against those that a reader of the written records finds.

use std::collections::VecDeque;

use trackway_core::*;

use crate::config::ID;
use crate::layout::RECORD;
use crate::lift::{FULL, State};
use crate::record::{Header, Level};
use crate::trace::{features, read_comment};

/// What ASTF holds; the Basic level has no [`TRAPS`].
const KEPT: &[Fact] = &[
    Fact::Comments,
    Fact::Instructions,
    Fact::Encodings,
    Fact::Attempted,
    Fact::Outcomes,
    Fact::Targets,
    Fact::SmeIndices,
    Fact::MemoryAccesses,
    Fact::MemoryTags,
    Fact::Privileges,
    Fact::Securities,
    Fact::Stacks,
    Fact::Pids,
    Fact::Tids,
    Fact::Streamings,
    Fact::Dits,
    Fact::Ssbss,
    Fact::Mtes,
    Fact::Timestamps,
    Fact::Notes,
    Fact::Gaps,
];
const TRAPS: &[Fact] = &[
    Fact::Traps,
    Fact::TrapReturns,
    Fact::TrapCauses,
    Fact::TrapClasses,
    Fact::TrapHandlers,
    Fact::VirtualTraps,
    Fact::SystemCalls,
    Fact::SystemCallNumbers,
    Fact::Unsupporteds,
];

/// Counts both sides of a conversion.
#[derive(Debug)]
pub(super) struct Tally {
    input: Counts,
    input_contexts: Contexts,
    output: Counts,
    output_contexts: Contexts,
    /// Facts that are written with another value than the input has.
    pub(super) changed: Counts,
    /// Targets that the next instruction shows: of exception returns.
    pub(super) shown_targets: u64,
    /// Places of the traps that were written last, as the input has them.
    pub(super) places: VecDeque<Option<u64>>,
    /// Places that a reader finds as they were.
    shown_places: u64,
    /// Reads what was written.
    lift: State,
    batch: Batch,
    /// Records so far are the Header and comments.
    leading: bool,
}

impl Tally {
    pub(super) fn new(meta: &Meta) -> Self {
        Tally {
            input: Counts::of_meta(meta),
            input_contexts: Contexts::new(meta),
            output: Counts::default(),
            output_contexts: Contexts::default(),
            changed: Counts::default(),
            shown_targets: 0,
            places: VecDeque::new(),
            shown_places: 0,
            lift: State::new(Level::Basic),
            batch: Batch::default(),
            leading: true,
        }
    }

    /// Writing begins.
    pub(super) fn begin(&mut self, header: &Header) {
        self.lift = State::new(header.level());
        self.output[Fact::Features] = features(header).count() as u64;
    }

    /// Counts a batch of the input.
    pub(super) fn read(&mut self, batch: &Batch) {
        self.input.add_batch(batch, &mut self.input_contexts);
    }

    /// Counts records that were written: whole groups of them.
    pub(super) fn wrote(&mut self, mut records: &[[u8; RECORD]]) {
        while self.leading && !records.is_empty() {
            match read_comment(records) {
                Some((_, used)) => {
                    self.output[Fact::Comments] += 1;
                    records = &records[used..];
                }
                None => self.leading = false,
            }
        }
        while !records.is_empty() {
            self.batch.clear();
            while !records.is_empty() && (self.batch.events.len() < FULL || self.lift.open) {
                let used = self.lift.lift(0, records, &mut self.batch);
                records = &records[used..];
            }
            self.output.add_batch(&self.batch, &mut self.output_contexts);
            for trap in &self.batch.traps {
                let place = self.places.pop_front().flatten();
                self.shown_places += u64::from(place.is_some() && place == trap.from);
            }
        }
    }

    /// The account, once everything is written.
    pub(super) fn account(&self, meta: &Meta, level: Level) -> Account {
        // A reader knows the vector length once the trace has shown that there are vectors.
        let mut account = Account::new(KEPT, &[Fact::VectorLengths]);
        if level == Level::BasicPlus {
            TRAPS.iter().for_each(|&fact| account.set(fact, Fate::Kept));
            account.set(Fact::TrapPlaces, Fate::Derived);
        }
        if meta.format == ID {
            account.set(Fact::Features, Fate::Kept);
        }
        // The field is there in every Context, and 0 has a meaning.
        if meta.format != ID && self.output[Fact::Privileges] > 0 && self.output[Fact::VectorLengths] == 0 {
            account.invent(Fact::VectorLengths, 1);
        }
        for &fact in Fact::ALL {
            let (before, after) = (self.input[fact], self.output[fact]);
            let changed = self.changed[fact].min(before).min(after);
            let shown = match fact {
                Fact::Targets => self.shown_targets,
                Fact::TrapPlaces => self.shown_places,
                _ => 0,
            };
            account.derive(fact, shown);
            match (account.fate(fact), fact) {
                (_, Fact::TrapPlaces) => account.lose(fact, before.saturating_sub(shown)),
                // A gap that shows what was left out is not made up.
                (_, Fact::Gaps) => account.lose(fact, before.saturating_sub(after)),
                // Suspensions, and strings that are not text.
                (_, Fact::Marks | Fact::ForeignItems) => account.keep(fact, after),
                (Fate::Dropped, _) => account.invent(fact, after),
                _ => {
                    account.lose(fact, before.saturating_sub(after + shown) + changed);
                    account.invent(fact, after.saturating_sub(before) + changed);
                }
            }
        }
        account
    }
}

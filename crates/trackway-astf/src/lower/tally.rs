//! The account of a conversion: facts of the input against those that a reader of the written records finds.

use std::collections::VecDeque;

use trackway_core::*;

use crate::config::ID;
use crate::layout::RECORD;
use crate::lift::{FULL, State};
use crate::record::{Header, Level};
use crate::trace::{features, read_comment};

/// Facts that ASTF holds; the Basic level has no [`TRAPS`].
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
    Fact::AddressRanges,
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
    Fact::GapReasons,
    Fact::GapStarts,
    Fact::GapEnds,
    Fact::GapInstructions,
    Fact::GapBytes,
    // Also in a Basic trace that may break its rules.
    Fact::Unsupporteds,
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
];

/// Counts both sides of a conversion: context changes by their values before each instruction, all else by number.
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
    /// Context changes of the input that are not written so far: the number of the instruction after them.
    changes: VecDeque<(u64, Found)>,
    /// Context changes of the output since the last instruction.
    written: Vec<Found>,
    /// Instructions written, and read back.
    instructions: (u64, u64),
    /// Context changes that only one side has.
    nearby: Nearby,
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
            changes: VecDeque::new(),
            written: Vec::new(),
            instructions: (0, 0),
            nearby: Nearby::default(),
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

    /// Counts an event of the input; context changes are counted where they take effect.
    pub(super) fn read(&mut self, batch: &Batch, event: &EventKind) {
        if !matches!(event, EventKind::Context(_)) {
            self.input.add_event(batch, event, &mut self.input_contexts);
        }
    }

    /// An event that is not written at all.
    pub(super) fn lose(&mut self, batch: &Batch, event: &EventKind) {
        let missing = &mut self.nearby.missing;
        each_of_event(batch, event, &mut self.input_contexts, &mut |fact, _| missing[fact] += 1);
    }

    /// A context change of the input, before the next instruction that is written.
    pub(super) fn change(&mut self, change: Context) {
        let (batch, changes, number) = (&mut self.batch, &mut self.changes, self.instructions.0);
        batch.clear();
        batch.push_context(0, change);
        let mut each = |fact, value| changes.push_back((number, (fact, value)));
        each_of_event(batch, &EventKind::Context(0), &mut self.input_contexts, &mut each);
    }

    /// An instruction is written.
    pub(super) fn instruction(&mut self) {
        self.instructions.0 += 1;
    }

    /// True if no instruction is written.
    pub(super) fn is_empty(&self) -> bool {
        self.instructions.0 == 0
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
            self.count_batch();
            for trap in &self.batch.traps {
                let place = self.places.pop_front().flatten();
                self.shown_places += u64::from(place.is_some() && place == trap.from);
            }
        }
    }

    fn count_batch(&mut self) {
        let Tally { batch, output, output_contexts, written, .. } = self;
        let steps = batch.instructions();
        let changed = self.changes.front().is_some_and(|(number, _)| *number < self.instructions.1 + steps);
        if !changed && written.is_empty() && batch.contexts.is_empty() {
            output.add_batch(batch, output_contexts);
            self.instructions.1 += steps;
            return;
        }
        for n in 0..batch.events.len() {
            let Tally { batch, output, output_contexts, written, .. } = self;
            let event = &batch.events[n].kind;
            match event {
                EventKind::Context(_) => {
                    each_of_event(batch, event, output_contexts, &mut |fact, value| {
                        written.push((fact, value))
                    });
                    continue;
                }
                _ => output.add_event(batch, event, output_contexts),
            }
            if matches!(event, EventKind::Step(_)) {
                self.compare_changes();
                self.instructions.1 += 1;
            }
        }
    }

    /// Compares the context changes before the instruction that was read back last, or before the end.
    fn compare_changes(&mut self) {
        let here = self.changes.iter().take_while(|(number, _)| *number <= self.instructions.1).count();
        let changes: Vec<Found> = self.changes.drain(..here).map(|(_, found)| found).collect();
        self.nearby.between(&changes, &self.written, self.instructions.1);
        self.written.clear();
    }

    /// The account, once everything is written.
    pub(super) fn account(&mut self, meta: &Meta, level: Level) -> Account {
        // After the last instruction.
        self.compare_changes();
        self.nearby.finish();
        let Nearby { missing, extra, .. } = &self.nearby;
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
        if meta.format != ID && self.instructions.0 > 0 && extra[Fact::VectorLengths] == 0 {
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
                (_, Fact::TrapPlaces) => account.lose(fact, before.saturating_sub(shown) + missing[fact]),
                // A gap that shows what was left out is not made up.
                (_, fact) if fact.is_of_gap() => {
                    account.lose(fact, before.saturating_sub(after) + missing[fact])
                }
                // Suspensions, and strings that are not text.
                (_, Fact::Marks | Fact::ForeignItems) => account.keep(fact, after),
                (Fate::Dropped, _) => account.invent(fact, after + extra[fact]),
                _ => {
                    account.lose(fact, before.saturating_sub(after + shown) + changed + missing[fact]);
                    account.invent(fact, after.saturating_sub(before) + changed + extra[fact]);
                }
            }
        }
        account
    }
}

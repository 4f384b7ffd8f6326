//! An index of a trace: places where it can be entered, and a sketch of each stretch between them.
//!
//! A [`Builder`] looks on while a trace is read. At regular distances it takes a [`Checkpoint`]: the place, the
//! state of the decoder there, and how much of everything came before. Between two checkpoints is a stretch, with a
//! [`Sketch`] of the addresses in it, so that a search skips the stretches that cannot match. An index is believed only
//! for the very trace, settings and program that it was made with: its [`Identity`] says which.

mod build;
mod cache;
mod file;
mod identity;
mod sketch;
mod source;

pub use build::Builder;
pub use cache::{BOUND, Cache, beside};
pub(crate) use cache::{read as read_file, read_value, write as write_file};
pub use file::Fault;
pub(crate) use identity::Hash;
pub use identity::Identity;
pub use sketch::{Granules, Sketch};
pub(crate) use source::{Indexed, Keep};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trackway_core::{Saved, unpack};

use crate::machine::Machine;
use crate::position::{Position, Tally};

/// An index: one part per source, by the name of the source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// Sources; the only one of a format without names has an empty one.
    pub sources: BTreeMap<String, Part>,
    /// Facts that opening the trace found by [reading all of it](trackway_format::Opened::survey).
    pub survey: Option<Vec<u8>>,
}

/// The index of one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Everything up to where it reaches.
    pub all: Before,
    /// It reaches to the end of the source.
    pub is_complete: bool,
    /// The stretch before the first checkpoint.
    pub head: Sketch,
    /// In order.
    pub checkpoints: Vec<Checkpoint>,
}

/// A place where the trace can be entered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The place, with the state of the decoder and the context.
    pub saved: Saved,
    /// Everything before it.
    pub before: Before,
    /// The state of the machine, [packed](trackway_core::pack); none in an index that was made on the way.
    pub machine: Option<Vec<u8>>,
    /// The stretch that follows.
    pub sketch: Sketch,
}

/// How much there is before a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Instructions.
    pub instructions: u64,
    /// Events that positions count.
    pub tally: Tally,
    /// Errors after which decoding continued.
    pub errors: u64,
    /// The last timestamp, and the largest.
    pub time: Option<u64>,
    /// The largest timestamp.
    pub latest: Option<u64>,
    /// Functions and trap handlers entered and not left, where that is known.
    pub depth: Option<u64>,
}

/// A stretch between two checkpoints.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'i> {
    /// Where it begins; `None` for the start of the source.
    pub checkpoint: Option<&'i Checkpoint>,
    /// Everything before it.
    pub before: Before,
    /// Everything before its end.
    pub after: Before,
    /// Its addresses.
    pub sketch: &'i Sketch,
}

impl Checkpoint {
    /// The state of the machine there, where it is known.
    pub fn machine(&self) -> Option<Machine> {
        unpack(self.machine.as_deref()?)
    }
}

impl Part {
    /// The last checkpoint that is not after instruction `n`.
    pub fn at_or_before(&self, n: u64) -> Option<&Checkpoint> {
        let after = self.checkpoints.partition_point(|checkpoint| checkpoint.saved.instruction <= n);
        self.checkpoints[..after].last()
    }

    /// The last checkpoint that is not after instruction `n` and has the state of the machine.
    pub fn known_at_or_before(&self, n: u64) -> Option<(Saved, Machine)> {
        let mut before = self.checkpoints.iter().rev().filter(|one| one.saved.instruction <= n);
        let (saved, machine) = before.find_map(|one| Some((&one.saved, one.machine()?)))?;
        Some((Saved { source: 0, ..saved.clone() }, machine))
    }

    /// The stretches, in order. Events after the end of an index that is not complete are in none.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch<'_>> {
        let head = (None, Before::default(), &self.head);
        let places = self.checkpoints.iter();
        let starts = std::iter::once(head).chain(places.map(|one| (Some(one), one.before, &one.sketch)));
        let ends = self.checkpoints.iter().map(|one| one.before).chain([self.all]);
        starts.zip(ends).map(|((checkpoint, before, sketch), after)| Stretch {
            checkpoint,
            before,
            after,
            sketch,
        })
    }

    /// Forgets the lists of addresses: they are the largest part.
    fn forget_lists(&mut self) {
        self.head.forget_lists();
        self.checkpoints.iter_mut().for_each(|checkpoint| checkpoint.sketch.forget_lists());
    }

    /// Half the checkpoints, at twice the distance.
    pub(crate) fn thin(&mut self) {
        let mut kept: Vec<Checkpoint> = Vec::with_capacity(self.checkpoints.len() / 2);
        for (n, checkpoint) in std::mem::take(&mut self.checkpoints).into_iter().enumerate() {
            if n % 2 == 1 {
                kept.push(checkpoint);
                continue;
            }
            let before = kept.last_mut().map_or(&mut self.head, |kept| &mut kept.sketch);
            before.merge(&checkpoint.sketch);
        }
        self.checkpoints = kept;
    }

    /// Most instructions between two places.
    pub fn widest(&self) -> u64 {
        self.stretches()
            .map(|stretch| stretch.after.instructions - stretch.before.instructions)
            .max()
            .unwrap_or(0)
    }

    /// True if it is what a builder makes: places in order.
    fn is_sound(&self) -> bool {
        let place = |checkpoint: &Checkpoint| {
            (checkpoint.saved.instruction, checkpoint.before.instructions, self.all.instructions)
        };
        self.checkpoints.iter().map(place).all(|(saved, before, all)| saved == before && before <= all)
            && self.checkpoints.is_sorted_by_key(|checkpoint| checkpoint.saved.instruction)
    }
}

impl Stretch<'_> {
    /// True unless `position` is not reached in it.
    pub fn may_reach(&self, position: &Position) -> bool {
        let (before, after) = (&self.before, &self.after);
        match position {
            Position::Number(n) => (before.instructions..=after.instructions).contains(n),
            Position::Pc(address) | Position::Symbol { address, .. } => {
                self.sketch.may_execute(&(*address..address.saturating_add(1)))
            }
            Position::Line { code, .. } => code.iter().any(|range| self.sketch.may_execute(range)),
            Position::Time(time) => {
                before.latest.is_none_or(|latest| latest < *time) && after.latest >= Some(*time)
            }
            Position::Mark(n) => (before.tally.marks..after.tally.marks).contains(n),
            Position::MarkKind(_) | Position::MarkText(_) => before.tally.marks < after.tally.marks,
            Position::Trap(n) => (before.tally.traps..after.tally.traps).contains(n),
            Position::Gap(n) => (before.tally.gaps..after.tally.gaps).contains(n),
            Position::End(_) => true,
        }
    }
}

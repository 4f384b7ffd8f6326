//! Results of a comparison.

use std::collections::BTreeMap;

use trackway_core::{Error, Fact};

use super::options::Group;
use super::side::{Excerpt, Facts, bit};

/// Kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Both sides have instructions there, and they differ.
    Changed,
    /// Only the second has instructions there.
    Inserted,
    /// Only the first has instructions there.
    Deleted,
}

impl Kind {
    /// All of them, in order.
    pub const ALL: [Kind; 3] = [Kind::Changed, Kind::Inserted, Kind::Deleted];

    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Changed => "changed",
            Kind::Inserted => "inserted",
            Kind::Deleted => "deleted",
        }
    }
}

/// Instructions of one side, `from` up to `to`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Number of the first, or of the next one if there are none.
    pub from: u64,
    /// Number after the last.
    pub to: u64,
    /// Address of the first, or of the next one.
    pub pc: Option<u64>,
}

/// A value that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its group.
    pub group: Group,
    /// Its name: `pc`, `x10`, `read 0x1000`.
    pub name: String,
    /// The value of the first side, where it has one.
    pub a: Option<String>,
    /// The value of the second side.
    pub b: Option<String>,
}

/// A stretch that differs.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Its kind.
    pub kind: Kind,
    /// Place in the first.
    pub a: Stretch,
    /// Place in the second.
    pub b: Stretch,
    /// Values that differ; the first of them in a long stretch.
    pub fields: Vec<Field>,
    /// Instructions around its beginning, where they were kept.
    pub excerpts: Option<[Excerpt; 2]>,
}

/// Something that was not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCompared {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
    /// How many, where that is known.
    pub count: Option<u64>,
}

/// Result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Values compared, by group; instructions are pairs.
    pub compared: BTreeMap<Group, u64>,
    /// Facts that were not compared.
    pub not_compared: Vec<NotCompared>,
    /// Differences by kind.
    pub counts: [u64; 3],
    /// Instructions of inserted and deleted stretches, and pairs of changed ones.
    pub instructions: [u64; 3],
    /// The first differences, in order.
    pub differences: Vec<Difference>,
    /// Differences that were tolerated.
    pub tolerated: u64,
    /// Errors that ended the traces.
    pub errors: [Option<Error>; 2],
}

/// Why a group was not compared: there was nothing of it.
pub(super) const NEITHER: &str = "neither trace has any";

impl Report {
    /// After the reports of several sources were added up: what some of them have none of was compared all the same.
    pub fn forget_absent(&mut self) {
        let compared: Vec<&str> =
            self.compared.iter().filter(|(_, count)| **count > 0).map(|(group, _)| group.plural()).collect();
        self.not_compared.retain(|not| not.why != NEITHER || !compared.contains(&not.what.as_str()));
    }

    /// Differences of that kind.
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts[kind as usize]
    }

    /// True if something was compared.
    pub fn has_compared(&self) -> bool {
        self.compared.values().any(|count| *count > 0)
    }

    /// True if something was compared, and nothing differs.
    pub fn is_equal(&self) -> bool {
        self.has_compared() && self.counts == [0; 3]
    }
}

/// Fields of a difference that are kept.
const FIELDS: usize = 16;

/// Differences that would not count if one side turned out to lack a fact altogether.
#[derive(Debug, Default)]
struct Class {
    counts: [u64; 3],
    instructions: [u64; 3],
    first: Vec<Difference>,
}

/// Facts that only the first has, only the second has; none for a difference of facts that both have.
pub(super) type OneSided = [Facts; 2];

/// Collects differences.
#[derive(Debug, Default)]
pub(super) struct Collector {
    limit: usize,
    classes: BTreeMap<OneSided, Class>,
    /// The stretch that may continue.
    open: Option<(Difference, OneSided, bool)>,
}

impl Collector {
    pub(super) fn new(limit: usize) -> Self {
        Collector { limit: limit.max(1), ..Collector::default() }
    }

    /// Would a difference of this class need an excerpt?
    pub(super) fn wants_excerpt(&self) -> bool {
        // Few classes occur; each may turn out to be the first that counts.
        self.open.is_none() && self.classes.values().all(|class| class.first.len() < self.limit.min(4))
    }

    /// A pair of instructions that differ, or what lies before them; adjoining ones are one difference.
    pub(super) fn changed(&mut self, mut new: Difference, one_sided: OneSided, definite: bool) {
        if let Some((open, facts, certain)) = &mut self.open
            && (open.a.to, open.b.to) == (new.a.from, new.b.from)
        {
            (open.a.to, open.b.to) = (new.a.to, new.b.to);
            for field in new.fields {
                if open.fields.len() < FIELDS {
                    open.fields.push(field);
                }
            }
            facts[0] |= one_sided[0];
            facts[1] |= one_sided[1];
            *certain |= definite;
            return;
        }
        self.close();
        new.fields.truncate(FIELDS);
        self.open = Some((new, one_sided, definite));
    }

    /// A difference of its own.
    pub(super) fn push(&mut self, mut difference: Difference, one_sided: OneSided) {
        self.close();
        difference.fields.truncate(FIELDS);
        let class = self.classes.entry(one_sided).or_default();
        let kind = difference.kind as usize;
        class.counts[kind] += 1;
        class.instructions[kind] +=
            (difference.a.to - difference.a.from).max(difference.b.to - difference.b.from);
        if class.first.len() < self.limit {
            class.first.push(difference);
        }
    }

    fn close(&mut self) {
        if let Some((difference, facts, definite)) = self.open.take() {
            self.push(difference, if definite { [0; 2] } else { facts });
        }
    }

    /// The differences that count: those of facts that both sides have somewhere. The others are counted in `lacks`, by
    /// fact and the side that lacks it.
    pub(super) fn finish(
        mut self,
        seen: [Facts; 2],
        lacks: &mut BTreeMap<(Fact, usize), u64>,
        report: &mut Report,
    ) {
        self.close();
        for ([only_a, only_b], class) in self.classes {
            let counts = only_a == 0 && only_b == 0 || only_a & seen[1] != 0 || only_b & seen[0] != 0;
            if !counts {
                for (lacking, facts) in [(1, only_a), (0, only_b)] {
                    for &fact in Fact::ALL.iter().filter(|fact| facts & bit(**fact) != 0) {
                        *lacks.entry((fact, lacking)).or_default() += class.instructions.iter().sum::<u64>();
                    }
                }
                continue;
            }
            for kind in 0..3 {
                report.counts[kind] += class.counts[kind];
                report.instructions[kind] += class.instructions[kind];
            }
            report.differences.extend(class.first);
        }
        report.differences.sort_by_key(|difference| (difference.a.from, difference.b.from, difference.kind));
        report.differences.truncate(self.limit);
        for difference in report.differences.iter_mut().skip(1) {
            difference.excerpts = None;
        }
    }
}

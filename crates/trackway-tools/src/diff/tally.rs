//! Counts of what was compared, and of what was not.

use std::collections::BTreeMap;

use trackway_core::{Accesses, Fact, FormatId};

use super::between::{Place, Strays};
use super::compare::Found;
use super::options::{Group, Options};
use super::report::{NEITHER, NotCompared, Report};
use super::side::{Facts, MOST, bit};

/// Counts of a comparison.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Values that both have, by group.
    compared: [u64; 6],
    /// Facts that one side does not know, with the side.
    pub(super) unknown: BTreeMap<(Fact, usize), u64>,
    pub(super) tolerated: u64,
    /// Notes, marks, contents outside instructions and items of a format's own.
    pub(super) marks: u64,
    /// Instructions of each side where the other has a gap.
    pub(super) in_gaps: [u64; 2],
    /// Instructions without a partner, where that does not count.
    pub(super) unpaired: u64,
    /// Where no alignment was found, and instructions of each side from there on.
    pub(super) unaligned: Option<(Place, u64, u64)>,
    /// Units of time that differ, so that times are not compared.
    clocks: Option<String>,
}

/// Instructions that were passed quickly, and their accesses.
#[derive(Debug, Default)]
pub(super) struct Passed {
    pub(super) instructions: u64,
    pub(super) registers: u64,
    pub(super) memory: u64,
    /// Those that the first lacks, that the second lacks.
    lacks_registers: [u64; 2],
    lacks_memory: [u64; 2],
}

impl Passed {
    /// Accesses that only one side has.
    #[inline]
    pub(super) fn lack(&mut self, a: &Accesses, b: &Accesses) {
        let (ours, theirs) = (u64::from(a.mem_len), u64::from(b.mem_len));
        self.memory += ours.min(theirs);
        self.lacks_memory[0] += theirs.saturating_sub(ours);
        self.lacks_memory[1] += ours.saturating_sub(theirs);
        let (ours, theirs) = (u64::from(a.regs_len), u64::from(b.regs_len));
        self.registers += ours.min(theirs);
        self.lacks_registers[0] += theirs.saturating_sub(ours);
        self.lacks_registers[1] += ours.saturating_sub(theirs);
    }
}

impl Tally {
    /// Counts nothing yet; `clocks` are units of time that differ.
    pub(super) fn new(clocks: Option<String>) -> Self {
        Tally { clocks, ..Tally::default() }
    }

    /// Counts instructions that were passed quickly.
    pub(super) fn pass(&mut self, passed: &Passed, groups: &[bool; 6]) {
        for (group, count) in
            [(Group::Pcs, passed.instructions), (Group::Regs, passed.registers), (Group::Mem, passed.memory)]
        {
            self.compared[group as usize] += if groups[group as usize] { count } else { 0 };
        }
        for (group, fact, lacks) in [
            (Group::Regs, Fact::RegisterWrites, passed.lacks_registers),
            (Group::Mem, Fact::MemoryAccesses, passed.lacks_memory),
        ] {
            for (side, count) in lacks.into_iter().enumerate() {
                if count > 0 && groups[group as usize] {
                    self.lack(fact, side, count);
                }
            }
        }
    }

    /// Counts facts that a side lacks.
    pub(super) fn lack(&mut self, fact: Fact, side: usize, count: u64) {
        *self.unknown.entry((fact, side)).or_default() += count;
    }

    /// Counts the findings about a pair.
    pub(super) fn add(&mut self, found: &Found) {
        self.compared.iter_mut().zip(found.compared).for_each(|(sum, n)| *sum += n);
        for &(fact, side, count) in &found.unknown {
            self.lack(fact, side, count);
        }
        self.tolerated += found.tolerated;
    }

    /// What was compared and what was not, in words.
    pub(super) fn finish(
        &self,
        options: &Options,
        strays: &Strays,
        seen: [Facts; 2],
        formats: [FormatId; 2],
        report: &mut Report,
    ) {
        let side = |n: usize| format!("{} ({})", ["A", "B"][n], formats[n]);
        let mut add = |what: &str, why: String, count: Option<u64>| {
            report.not_compared.push(NotCompared { what: what.into(), why, count });
        };
        let registers = [Fact::RegisterReads, Fact::RegisterWrites];
        let mut absent = [0; 2];
        let mut unknown = self.unknown.clone();
        for (key, count) in &strays.unknown {
            *unknown.entry(*key).or_default() += count;
        }
        for (&(fact, n), &count) in &unknown {
            if registers.contains(&fact) && registers.iter().all(|fact| seen[n] & bit(*fact) == 0) {
                absent[n] += count;
                continue;
            }
            let always = [Fact::Outcomes, Fact::Encodings, Fact::Instructions];
            let has = seen[n] & bit(fact) != 0 || always.contains(&fact);
            let why = if has { "unknown there in" } else { "none in" };
            add(fact.as_str(), format!("{why} {}", side(n)), Some(count));
        }
        for (n, &count) in absent.iter().enumerate().filter(|(_, count)| **count > 0) {
            add(Group::Regs.plural(), format!("none in {}", side(n)), Some(count));
        }
        let marks = |facts: &[Fact]| facts.iter().fold(0, |sum, fact| sum | bit(*fact));
        for &group in Group::ALL {
            let count = self.compared[group as usize] + strays.compared[group as usize];
            if !options.has(group) {
                add(group.plural(), "not asked for".into(), None);
                continue;
            }
            if let (Group::Time, Some(clocks)) = (group, &self.clocks) {
                add(group.plural(), format!("the units differ: {clocks}"), None);
                continue;
            }
            report.compared.insert(group, count);
            let facts: &[&[Fact]] = match group {
                Group::Pcs => &[],
                Group::Regs => &[&[Fact::RegisterReads, Fact::RegisterWrites]],
                Group::Mem => &[&[Fact::MemoryAccesses]],
                Group::Traps => &[&[Fact::Traps], &[Fact::TrapReturns]],
                Group::Contexts => &[&[Fact::Privileges]],
                Group::Time => &[&[Fact::Timestamps]],
            };
            for facts in facts {
                let has = seen.map(|seen| seen & marks(facts) != 0);
                let what = if group == Group::Traps { facts[0].as_str() } else { group.plural() };
                let listed = unknown.keys().any(|(fact, _)| facts.contains(fact));
                match has {
                    [false, false] if group == Group::Traps && facts[0] == Fact::TrapReturns => {}
                    [false, false] => add(what, NEITHER.into(), None),
                    [true, false] if !listed => add(what, format!("none in {}", side(1)), None),
                    [false, true] if !listed => add(what, format!("none in {}", side(0)), None),
                    [true, true] if count == 0 && !listed => add(what, "none at the same place".into(), None),
                    _ => {}
                }
            }
        }
        if strays.numbered > 0 {
            let why = "each format has its own numbers".to_string();
            add(Fact::TrapCauses.as_str(), why, Some(strays.numbered));
        }
        for (n, &count) in strays.zeros.iter().enumerate().filter(|(_, count)| **count > 0) {
            let why = format!("0 in {}, where it may mean none", side(n));
            add(Fact::TrapValues.as_str(), why, Some(count));
        }
        for n in 0..2 {
            for field in strays.one_sided_contexts(n).filter(|_| options.has(Group::Contexts)) {
                add(&format!("contexts: {field}"), format!("none in {}", side(n)), None);
            }
        }
        for (n, &count) in self.in_gaps.iter().enumerate().filter(|(_, count)| **count > 0) {
            let what = format!("instructions of {}", side(n));
            add(&what, format!("{} has a gap there", side(1 - n)), Some(count));
        }
        if self.unpaired > 0 {
            add("instructions that only one trace has", "pcs are not asked for".into(), Some(self.unpaired));
        }
        if self.marks > 0 {
            add("marks, notes and state outside instructions", "never compared".into(), Some(self.marks));
        }
        if let Some((place, a, b)) = self.unaligned {
            let what = format!("{a} instructions of A from {} on, {b} of B from {} on", place.a, place.b);
            add(&what, format!("no common place within {MOST} instructions"), None);
        }
        report.tolerated = self.tolerated;
    }
}

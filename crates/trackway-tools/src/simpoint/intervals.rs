//! Intervals of a trace, with what was executed in each.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_core::{Batch, Exit, Gap, Isa, SplitMix64};
use trackway_image::Image;
use trackway_isa::{Control, class, flow};

use crate::executed::{BlockId, Code, Executed, Follow, Pass};

/// Dimensions that vectors are projected to.
pub const DIMENSIONS: usize = 15;

/// Counts of instructions by class, and of taken branches.
pub type Facts = BTreeMap<&'static str, u64>;

/// Facts besides classes.
const TAKEN: &str = "branches taken";
const UNKNOWN: &str = "unknown";

/// An interval.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Number of its first instruction.
    pub start: u64,
    /// Instructions in it; fewer in the last one.
    pub instructions: u64,
    /// Gaps in it.
    pub gaps: u64,
    /// Its vector, projected.
    pub vector: [f64; DIMENSIONS],
    /// Counts of its instructions.
    pub facts: Facts,
}

/// Takes the blocks of an interval and the instructions of each in it, in the order of their numbers.
pub type Row<'r> = &'r mut dyn FnMut(&[(BlockId, u64)]);

/// Cuts a trace into intervals, batch by batch in order.
#[derive(Debug)]
pub struct Intervals {
    executed: Executed,
    cutter: Cutter,
}

impl Intervals {
    /// Intervals of `length` instructions, at least 1.
    pub fn new(isa: Isa, programs: &[Arc<Image>], length: u64) -> Self {
        let cutter = Cutter { length: length.max(1), ..Cutter::default() };
        Intervals { executed: Executed::new(isa, programs), cutter }
    }

    /// Takes in a batch. All sources count as one: choose one before.
    pub fn observe(&mut self, batch: &Batch, row: Row<'_>) {
        self.executed.follow(batch, &mut Cutting { cutter: &mut self.cutter, row });
    }

    /// The intervals, after the last batch.
    pub fn finish(mut self, row: Row<'_>) -> Vec<Interval> {
        let mut cutting = Cutting { cutter: &mut self.cutter, row };
        self.executed.end(&mut cutting);
        if cutting.cutter.filled > 0 {
            cutting.close();
        }
        self.cutter.done
    }
}

/// The interval that is being filled.
#[derive(Debug, Default)]
struct Cutter {
    length: u64,
    done: Vec<Interval>,
    filled: u64,
    gaps: u64,
    facts: Facts,
    /// Instructions of each block in this interval, and the blocks that have any.
    counts: Vec<u64>,
    touched: Vec<BlockId>,
    /// Facts and projection of each block.
    known: Vec<Option<Box<Known>>>,
}

/// A block, as intervals see it.
#[derive(Debug)]
struct Known {
    facts: Vec<(&'static str, u64)>,
    direction: [f64; DIMENSIONS],
    /// It ends with a conditional branch.
    branches: bool,
    passes: u64,
}

impl Known {
    fn new(id: BlockId, code: &Code) -> Self {
        let mut random = SplitMix64(id.into());
        let direction = std::array::from_fn(|_| random.next_u64() as i64 as f64 / i64::MAX as f64);
        let branches = code.opaque.map_or_else(
            || {
                code.last()
                    .is_some_and(|(pc, inst)| flow(code.isa, pc, inst.encoding).control == Control::Branch)
            },
            |(_, exit)| exit == Exit::Branch,
        );
        Known { facts: facts(code, 0, code.count()).into_iter().collect(), direction, branches, passes: 0 }
    }
}

/// Instructions `from..to` of a block by class.
fn facts(code: &Code, from: u64, to: u64) -> Facts {
    let mut facts = Facts::new();
    let known = code.insts.iter().skip(from as usize).take((to - from) as usize);
    for inst in known {
        let name = if inst.length == 0 { UNKNOWN } else { class(code.isa, inst.encoding).as_str() };
        *facts.entry(name).or_default() += 1;
    }
    if code.opaque.is_some() {
        facts.insert(UNKNOWN, to - from);
    }
    facts
}

/// Cutting, with the place where rows go.
struct Cutting<'c, 'r> {
    cutter: &'c mut Cutter,
    row: Row<'r>,
}

impl Cutting<'_, '_> {
    fn close(&mut self) {
        let Cutter { done, filled, gaps, facts, counts, touched, known, .. } = &mut *self.cutter;
        touched.sort_unstable();
        let row: Vec<(BlockId, u64)> = touched.iter().map(|id| (*id, counts[*id as usize])).collect();
        (self.row)(&row);
        let mut vector = [0.0; DIMENSIONS];
        for (id, count) in row {
            counts[id as usize] = 0;
            let Some(known) = &mut known[id as usize] else { continue };
            for (name, n) in &known.facts {
                *facts.entry(name).or_default() += n * known.passes;
            }
            known.passes = 0;
            let share = count as f64 / *filled as f64;
            vector.iter_mut().zip(known.direction).for_each(|(sum, along)| *sum += share * along);
        }
        touched.clear();
        facts.retain(|_, count| *count > 0);
        let start = done.last().map_or(0, |last| last.start + last.instructions);
        done.push(Interval {
            start,
            instructions: *filled,
            gaps: std::mem::take(gaps),
            vector,
            facts: std::mem::take(facts),
        });
        *filled = 0;
    }

    /// Counts instructions of a block.
    fn count(&mut self, id: BlockId, instructions: u64) {
        let cutter = &mut *self.cutter;
        let count = &mut cutter.counts[id as usize];
        if *count == 0 {
            cutter.touched.push(id);
        }
        *count += instructions;
        cutter.filled += instructions;
        if cutter.filled == cutter.length {
            self.close();
        }
    }
}

impl Follow for Cutting<'_, '_> {
    fn pass(&mut self, pass: &Pass<'_>) {
        let (id, code) = (pass.id, &pass.block.code);
        if self.cutter.counts.len() <= id as usize {
            self.cutter.counts.resize(id as usize + 1, 0);
            self.cutter.known.resize_with(id as usize + 1, || None);
        }
        let known = self.cutter.known[id as usize].get_or_insert_with(|| Box::new(Known::new(id, code)));
        let (count, taken) = (code.count(), known.branches && pass.taken == Some(true));
        // The branch is the last instruction: it belongs to the interval that ends the pass.
        if self.cutter.filled + count <= self.cutter.length {
            known.passes += 1;
            if taken {
                *self.cutter.facts.entry(TAKEN).or_default() += 1;
            }
            return self.count(id, count);
        }
        let mut from = 0;
        while from < count {
            let to = count.min(from + self.cutter.length - self.cutter.filled);
            for (name, n) in facts(code, from, to) {
                *self.cutter.facts.entry(name).or_default() += n;
            }
            if to == count && taken {
                *self.cutter.facts.entry(TAKEN).or_default() += 1;
            }
            self.count(id, to - from);
            from = to;
        }
    }

    fn gap(&mut self, _: u16, _: &Gap) {
        self.cutter.gaps += 1;
    }

    fn unplaced(&mut self, _: u16) {
        self.cutter.filled += 1;
        *self.cutter.facts.entry(UNKNOWN).or_default() += 1;
        if self.cutter.filled == self.cutter.length {
            self.close();
        }
    }
}

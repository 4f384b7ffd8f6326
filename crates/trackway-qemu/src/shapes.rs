//! Runs as they were executed before, one after the other: which accesses of which size they made, where they led, and the
//! stretch of steps that they became.
//!
//! The shapes of a process are trees. A shape without a parent is that of a run; its children are those of runs that often
//! followed it, and cover all runs from their root on.

use std::sync::Arc;

use trackway_core::*;

use crate::code::Lead;
use crate::usual::{POSITION, Sums, VALUED};

/// Times that a run is executed before it is worth a shape.
const OFTEN: u8 = 2;

/// Shapes of the same run that are kept, and of runs that follow a shape in the same way.
const WAYS: u8 = 8;
const CHILDREN: u8 = 4;

/// Times that a shape was followed in one way, without a child for it, before it is worth a child.
const HOT: u8 = 16;

/// Instructions of a shape at most, unless one run has more: records of long ones would not stay in the cache.
const LONG: u32 = 32;

/// No shape, or no stretch.
pub(crate) const NONE: u32 = u32::MAX;

/// A run as it was executed, after those of its parent. It is small: thousands of them are in use at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Words of the run's accesses in the plugin's stream, and the first of them.
    pub(crate) words: u32,
    begins: u32,
    /// Instructions from the root on.
    pub(crate) count: u32,
    /// The next shape of the same run with the same parent.
    other: u32,
    /// The stretch from the root on, once there is one.
    stretch: u32,
    pub(crate) isa: Isa,
    /// Where it led so far.
    pub(crate) ways: [Way; 2],
    /// Facts from the root on, but for the outcome of the last instruction.
    pub(crate) sums: Sums,
}

/// The instruction that followed, and the outcome that this means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    next: u32,
    /// The first shape of the run of that instruction.
    pub(crate) child: u32,
    pub(crate) target: u64,
    pub(crate) taken: Option<bool>,
    /// How often it had no child that fitted.
    heat: u8,
}

impl Way {
    pub(crate) fn new(next: u32, taken: Option<bool>, target: u64) -> Self {
        Way { next, child: NONE, target, taken, heat: 0 }
    }
}

/// Facts of a shape that are seldom needed.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// Words of an access.
    stride: u32,
    /// Its accesses, in `Shapes::accesses`.
    accesses: u32,
    parent: u32,
    /// The shape of the same run without a parent, and the outcome of the parent.
    root: u32,
    taken: Option<bool>,
    /// The last instruction.
    lead: Lead,
}

/// An access of a run.
#[derive(Clone, Copy, Debug)]
struct Expected {
    /// Its first word.
    first: u32,
    adjoins: bool,
    /// Bytes of the one before, if that is of the same instruction and kind, so that this one may adjoin it; else 0.
    size: u64,
}

/// The shapes of the runs of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    /// Those that the shapes are numbered in.
    stretches: Arc<Stretches>,
    /// For each instruction the first shape of its run, and how often it was looked for without success.
    heads: Vec<(u32, u8)>,
    shapes: Vec<Shape>,
    origins: Vec<Origin>,
    accesses: Vec<Expected>,
}

/// Two words that are a number.
#[inline(always)]
fn wide(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Shapes {
    /// Forgets all shapes if they are those of other stretches.
    pub(crate) fn enter(&mut self, stretches: &Arc<Stretches>) {
        if !Arc::ptr_eq(&self.stretches, stretches) {
            *self = Shapes { stretches: Arc::clone(stretches), ..Shapes::default() };
        }
    }

    /// The first shape of the run that begins with an instruction.
    #[inline(always)]
    pub(crate) fn head(&self, number: u32) -> u32 {
        self.heads.get(number as usize).map_or(NONE, |head| head.0)
    }

    /// The shape that these words have, from this one on; and the instruction after it. Appends the addresses and data of its
    /// accesses.
    #[inline(always)]
    pub(crate) fn find(&self, mut head: u32, words: &[u32], out: &mut Vec<u64>) -> Option<(u32, u32)> {
        loop {
            let shape = self.shapes.get(head as usize)?;
            let next = match (shape.words, words) {
                (0, [next, ..]) => Some(*next).filter(|next| next >> 31 == 0),
                (3, [first, low, high, next, ..]) if *first == shape.begins && next >> 31 == 0 => {
                    out.push(wide(*low, *high));
                    Some(*next)
                }
                (0 | 3, _) => None,
                _ => self.take(head, words, out),
            };
            if let Some(next) = next {
                return Some((head, next));
            }
            head = shape.other;
        }
    }

    /// The instruction after a shape with several accesses, if the words begin with those.
    #[inline(never)]
    fn take(&self, number: u32, words: &[u32], out: &mut Vec<u64>) -> Option<u32> {
        let origin = &self.origins[number as usize];
        let (own, rest) = words.split_at_checked(self.get(number).words as usize)?;
        let next = *rest.first().filter(|next| **next >> 31 == 0)?;
        let expected = &self.accesses[origin.accesses as usize..];
        let (length, mut before, mut odd) = (out.len(), 0, 0);
        let mut check = |expected: &Expected, [first, low, high]: [u32; 3]| {
            let address = wide(low, high);
            odd |= first ^ expected.first;
            if expected.size > 0 {
                odd |= u32::from((address.wrapping_sub(before) == expected.size) != expected.adjoins);
            }
            before = address;
            address
        };
        if origin.stride == 3 {
            for (own, expected) in own.as_chunks::<3>().0.iter().zip(expected) {
                out.push(check(expected, *own));
            }
        } else {
            for (own, expected) in own.as_chunks::<5>().0.iter().zip(expected) {
                out.push(check(expected, [own[0], own[1], own[2]]));
                out.push(wide(own[3], own[4]));
            }
        }
        if odd != 0 {
            out.truncate(length);
        }
        (odd == 0).then_some(next)
    }

    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> &Shape {
        &self.shapes[number as usize]
    }

    /// The last instruction of a shape.
    pub(crate) fn lead(&self, number: u32) -> Lead {
        self.origins[number as usize].lead
    }

    /// Notes where a shape led, as the first of its ways.
    #[cold]
    pub(crate) fn note(&mut self, number: u32, way: Way) {
        let ways = &mut self.shapes[number as usize].ways;
        *ways = [way, ways[0]];
    }

    /// The run of an instruction has a shape for these words.
    pub(crate) fn has(&self, number: u32, words: &[u32]) -> bool {
        self.find(self.head(number), words, &mut Vec::new()).is_some()
    }

    /// Counts that a run had no shape; true if it is worth one.
    pub(crate) fn is_wanted(&mut self, number: u32) -> bool {
        let at = number as usize;
        if self.heads.len() <= at {
            self.heads.resize(at + 1, (NONE, 0));
        }
        let tries = &mut self.heads[at].1;
        *tries = tries.saturating_add(1);
        (OFTEN..OFTEN + WAYS).contains(tries)
    }

    /// Keeps the shape of the run of an instruction, which was just lifted from these words to these steps.
    pub(crate) fn learn(&mut self, number: u32, words: &[u32], lead: Lead, isa: Isa, steps: Stretch) {
        let stride = if words.first().is_some_and(|word| word & VALUED != 0) { 5 } else { 3 };
        let from = self.accesses.len();
        let mut before: Option<&[u32]> = None;
        for own in words.chunks(stride) {
            let valued = own[0] & VALUED != 0;
            if own.len() < stride || valued != (stride == 5) || own[0] >> 31 == 0 {
                return self.accesses.truncate(from);
            }
            // Position and kind are the same.
            let same =
                |one: &&[u32]| one[0] >> POSITION == own[0] >> POSITION && (one[0] ^ own[0]) & 1 << 8 == 0;
            let (mut size, mut adjoins) = (0, false);
            if let Some(one) = before.filter(same) {
                size = 1 << (one[0] & 15);
                adjoins = wide(own[1], own[2]).wrapping_sub(wide(one[1], one[2])) == size;
            }
            self.accesses.push(Expected { first: own[0], adjoins, size });
            before = Some(own);
        }
        let mut sums = Sums::default();
        for step in &steps.steps {
            sums.add(&steps.mem[step.accesses.mem_start as usize..][..step.accesses.mem_len.into()]);
        }
        let root = self.shapes.len() as u32;
        let head = std::mem::replace(&mut self.heads[number as usize].0, root);
        self.shapes.push(Shape {
            words: words.len() as u32,
            begins: words.first().copied().unwrap_or(0),
            count: steps.steps.len() as u32,
            other: head,
            stretch: self.stretches.add(steps),
            isa,
            ways: [Way::new(NONE, None, 0); 2],
            sums,
        });
        self.origins.push(Origin {
            stride: stride as u32,
            accesses: from as u32,
            parent: NONE,
            root,
            taken: None,
            lead,
        });
    }

    /// A shape was followed in one of its ways, and had no child for these words, which begin with the instruction `next`: it
    /// gets one if that happens often.
    #[inline(always)]
    pub(crate) fn grow(&mut self, number: u32, way: usize, next: u32, words: &[u32]) {
        let way = &mut self.shapes[number as usize].ways[way];
        if way.heat < HOT * CHILDREN {
            way.heat += 1;
            if way.heat.is_multiple_of(HOT) && way.next == next {
                let way = *way;
                self.add_child(number, way, words);
            }
        }
    }

    #[cold]
    fn add_child(&mut self, number: u32, way: Way, words: &[u32]) {
        let parent = *self.get(number);
        let Some((root, _)) = self.find(self.head(way.next), words, &mut Vec::new()) else { return };
        let own = *self.get(root);
        let count = parent.count + own.count;
        if count > LONG || own.isa != parent.isa {
            return;
        }
        let mut sums = parent.sums;
        sums.accesses += own.sums.accesses;
        sums.data += own.sums.data;
        sums.end(way.taken);
        let ways = [Way::new(NONE, None, 0); 2];
        let child = Shape { count, ways, other: way.child, stretch: NONE, sums, ..own };
        let origin = Origin { parent: number, taken: way.taken, ..self.origins[root as usize] };
        self.origins.push(origin);
        let place = self.shapes.len() as u32;
        self.shapes.push(child);
        for old in &mut self.shapes[number as usize].ways {
            if old.next == way.next {
                old.child = place;
            }
        }
    }

    /// The stretch of a shape.
    #[inline(always)]
    pub(crate) fn stretch(&mut self, number: u32) -> u32 {
        match self.get(number).stretch {
            NONE => self.join(number),
            stretch => stretch,
        }
    }

    /// Makes the stretch of a shape of several runs.
    #[cold]
    fn join(&mut self, number: u32) -> u32 {
        let mut path = vec![self.origins[number as usize]];
        while let Some(parent) = path.last().and_then(|origin| self.origins.get(origin.parent as usize)) {
            path.push(*parent);
        }
        let mut whole = Stretch::default();
        for origin in path.iter().rev() {
            if let Some(last) = whole.steps.last_mut() {
                last.taken = origin.taken;
            }
            let Some(own) = self.stretches.get(self.get(origin.root).stretch) else { continue };
            let begun = whole.mem.len() as u32;
            whole.mem.extend_from_slice(&own.mem);
            whole.steps.extend(own.steps.iter().map(|step| {
                let mem_start = begun + step.accesses.mem_start;
                Step { accesses: Accesses { mem_start, ..step.accesses }, ..*step }
            }));
        }
        let stretch = self.stretches.add(whole);
        self.shapes[number as usize].stretch = stretch;
        stretch
    }
}

impl Shape {
    /// The way to this instruction, if it was taken before.
    #[inline(always)]
    pub(crate) fn way(&self, next: u32) -> Option<usize> {
        let [one, other] = &self.ways;
        if one.next == next { Some(0) } else { (other.next == next).then_some(1) }
    }
}

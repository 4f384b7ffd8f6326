//! Runs as they were executed before, one after the other: which accesses of which size they made, where they led, and the
//! stretch of steps that they became.
//!
//! The shapes of a process are trees. A shape without a parent is that of a run; its children are those of runs that often
//! followed it, and cover all runs from their root on.

use std::sync::Arc;

use trackway_core::*;

use crate::code::Lead;
use crate::short;
use crate::usual::Sums;

/// Times that a run is executed before it is worth a shape.
const OFTEN: u8 = 2;

/// Shapes of the same run that are kept, and of runs that follow a shape in the same way.
const WAYS: u8 = 8;
const CHILDREN: u16 = 4;

/// Times that a shape was followed in one way, without a child for it, before it is worth a child. Where they come early,
/// neither they nor their records stay in the cache. Tests are short.
const HOT: u16 = if cfg!(test) { 16 } else { 256 };

/// Instructions of a shape at most, unless one run has more: records of long ones would not stay in the cache.
const LONG: u16 = 32;

/// No shape, or no stretch.
pub(crate) const NONE: u32 = u32::MAX;

/// A run as it was executed, after those of its parent. It has a line of the cache for itself: thousands of them are in use
/// at once, in an order that nothing foresees.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Shape {
    /// Where it led so far.
    pub(crate) ways: [Way; 2],
    /// The outcome that each of these means.
    pub(crate) taken: [Option<bool>; 2],
    /// How often each of these had no child that fitted.
    heat: [u16; 2],
    /// Words of the run's accesses in the plugin's stream.
    pub(crate) words: u16,
    /// If they are two, what the access is but for its address; else where the accesses begin in `Shapes::accesses`.
    begins: u32,
    /// The next shape of the same run with the same parent.
    other: u32,
    /// The stretch from the root on, once there is one.
    stretch: u32,
    /// Instructions from the root on.
    pub(crate) count: u16,
    /// Facts from the root on, but for the outcome of the last instruction.
    pub(crate) sums: Sums<u16>,
    pub(crate) isa: Isa,
}

/// The instruction that followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    next: u32,
    /// The first shape of its run.
    pub(crate) child: u32,
    pub(crate) target: u64,
}

impl Way {
    /// None so far.
    const NONE: Self = Way { next: NONE, child: NONE, target: 0 };

    pub(crate) fn new(next: u32, target: u64) -> Self {
        Way { next, target, ..Way::NONE }
    }
}

/// Facts of a shape that are seldom needed.
#[derive(Clone, Copy, Debug)]
struct Origin {
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
    /// All but its address.
    kind: u16,
    adjoins: bool,
    /// Bytes of the one before, if that is of the same instruction and kind, so that this one may adjoin it; else 0.
    size: u16,
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
                (2, [first, low, next, ..]) if short::kind(*first) == shape.begins && next >> 31 == 0 => {
                    out.push(short::address(*first, *low));
                    Some(*next)
                }
                (0 | 2, _) => None,
                _ => self.take(shape, words, out),
            };
            if let Some(next) = next {
                return Some((head, next));
            }
            head = shape.other;
        }
    }

    /// The instruction after a shape with several accesses, if the words begin with those.
    #[inline(never)]
    fn take(&self, shape: &Shape, words: &[u32], out: &mut Vec<u64>) -> Option<u32> {
        let (own, rest) = words.split_at_checked(shape.words.into())?;
        let next = *rest.first().filter(|next| **next >> 31 == 0)?;
        let expected = self.accesses.get(shape.begins as usize..)?;
        let (length, mut before, mut odd) = (out.len(), 0, 0);
        let mut check = |expected: &Expected, first: u32, low: u32| {
            let address = short::address(first, low);
            odd |= short::kind(first) ^ u32::from(expected.kind);
            if expected.size > 0 {
                let adjoins = address.wrapping_sub(before) == u64::from(expected.size);
                odd |= u32::from(adjoins != expected.adjoins);
            }
            before = address;
            address
        };
        if short::words(u32::from(expected.first()?.kind) << short::SIZE) == 4 {
            let each = own.as_chunks::<4>().0.iter().zip(expected);
            out.extend(each.flat_map(|([first, low, value @ ..], expected)| {
                let value = u64::from(value[0]) | u64::from(value[1]) << 32;
                [check(expected, *first, *low), value]
            }));
        } else {
            let each = own.as_chunks::<2>().0.iter().zip(expected);
            out.extend(each.map(|([first, low], expected)| check(expected, *first, *low)));
        }
        if odd != 0 {
            out.truncate(length);
        }
        (odd == 0).then_some(next)
    }

    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> Option<&Shape> {
        self.shapes.get(number as usize)
    }

    /// The last instruction of a shape.
    pub(crate) fn lead(&self, number: u32) -> Lead {
        self.origins[number as usize].lead
    }

    /// Notes where a shape led, as the first of its ways.
    #[cold]
    pub(crate) fn note(&mut self, number: u32, way: Way, taken: Option<bool>) {
        let shape = &mut self.shapes[number as usize];
        shape.ways = [way, shape.ways[0]];
        shape.taken = [taken, shape.taken[0]];
        shape.heat = [0, shape.heat[0]];
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
        let stride = words.first().map_or(2, |word| short::words(*word));
        let (Ok(length), Ok(count)) = (words.len().try_into(), steps.steps.len().try_into()) else { return };
        let from = self.accesses.len();
        let mut before: Option<&[u32]> = None;
        for own in words.chunks(stride) {
            if own.len() < stride || short::words(own[0]) != stride || !short::is_short(own[0]) {
                return self.accesses.truncate(from);
            }
            // Position and direction are the same.
            let same = |one: &&[u32]| (one[0] ^ own[0]) >> short::STORE.trailing_zeros() == 0;
            let (mut size, mut adjoins) = (0, false);
            if let Some(one) = before.filter(same) {
                size = 1 << short::shift(one[0]).min(15);
                let begins = |one: &[u32]| short::address(one[0], one[1]);
                adjoins = begins(own).wrapping_sub(begins(one)) == u64::from(size);
            }
            self.accesses.push(Expected { kind: short::kind(own[0]) as u16, adjoins, size });
            before = Some(own);
        }
        let mut sums = Sums::default();
        for step in &steps.steps {
            sums.add(&steps.mem[step.accesses.mem_start as usize..][..step.accesses.mem_len.into()]);
        }
        let root = self.shapes.len() as u32;
        let head = std::mem::replace(&mut self.heads[number as usize].0, root);
        self.shapes.push(Shape {
            ways: [Way::NONE; 2],
            taken: [None; 2],
            heat: [0; 2],
            words: length,
            begins: if let [first, _] = words { short::kind(*first) } else { from as u32 },
            other: head,
            stretch: self.stretches.add(steps),
            count,
            sums: sums.small(),
            isa,
        });
        self.origins.push(Origin { parent: NONE, root, taken: None, lead });
    }

    /// A shape was followed in one of its ways, and had no child for these words, which begin with the instruction `next`: it
    /// gets one if that happens often.
    #[inline(always)]
    pub(crate) fn grow(&mut self, number: u32, way: usize, next: u32, words: &[u32]) {
        let shape = &mut self.shapes[number as usize];
        let heat = &mut shape.heat[way];
        if *heat < HOT * CHILDREN {
            *heat += 1;
            if heat.is_multiple_of(HOT) && shape.ways[way].next == next {
                self.add_child(number, way, words);
            }
        }
    }

    #[cold]
    fn add_child(&mut self, number: u32, way: usize, words: &[u32]) {
        let Some(&parent) = self.get(number) else { return };
        let (way, taken) = (parent.ways[way], parent.taken[way]);
        let Some((root, _)) = self.find(self.head(way.next), words, &mut Vec::new()) else { return };
        let Some(&own) = self.get(root) else { return };
        let count = parent.count + own.count;
        if count > LONG || own.isa != parent.isa {
            return;
        }
        let mut sums = parent.sums;
        sums.accesses += own.sums.accesses;
        sums.data += own.sums.data;
        sums.outcomes += u16::from(taken.is_some());
        sums.targets += u16::from(taken == Some(true));
        let (ways, heat) = ([Way::NONE; 2], [0; 2]);
        let child = Shape { ways, heat, count, other: way.child, stretch: NONE, sums, ..own };
        let origin = Origin { parent: number, taken, ..self.origins[root as usize] };
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
        match self.shapes[number as usize].stretch {
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
            let root = self.get(origin.root).map_or(NONE, |root| root.stretch);
            let Some(own) = self.stretches.get(root) else { continue };
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

//! Steps that happen again and again, made once: a batch in which repeats of known stretches are left out.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use crate::events::batch::Batch;
use crate::events::event::*;

/// Steps that retire one after the other, each leading to the next, as they were one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// The steps, without registers and rare attributes; their accesses are in `mem`. One that is taken leads to the
    /// next. A repeat has the outcome of the last one.
    pub steps: Vec<Step>,
    /// Their accesses, with data that are unknown or a word. Other times have other addresses and data, but the same data
    /// are known, and the same accesses of a step adjoin.
    pub mem: Vec<MemAccess>,
}

impl Stretch {
    /// The target of a step that is not the last one, if it is taken.
    pub fn target(&self, step: usize) -> Option<u64> {
        self.steps.get(step).filter(|step| step.taken == Some(true)).and(self.steps.get(step + 1)?.pc)
    }

    /// Words of a repeat: for each access its address, and its data where they are known.
    pub fn words(&self) -> usize {
        self.mem.len() + self.mem.iter().filter(|access| access.data != Value::Unknown).count()
    }
}

/// Stretches by number, which a producer adds to while a consumer looks them up.
#[derive(Debug, Default)]
pub struct Stretches(RwLock<Vec<Arc<Stretch>>>);

impl Stretches {
    /// Adds one, and returns its number.
    pub fn add(&self, stretch: Stretch) -> u32 {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.push(Arc::new(stretch));
        known.len() as u32 - 1
    }

    /// The stretch with a number.
    pub fn get(&self, number: u32) -> Option<Arc<Stretch>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(number as usize).cloned()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// A stretch that was executed once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeat {
    /// Its number.
    pub stretch: u32,
    /// The outcome of its last step.
    pub taken: Option<bool>,
    /// Where that leads, if it is taken.
    pub target: u64,
}

impl Repeat {
    /// The target, if its last step is taken.
    #[inline]
    pub fn target(&self) -> Option<u64> {
        (self.taken == Some(true)).then_some(self.target)
    }
}

/// Events up to a place, and the repeats after them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Where the events end, in `Folded::batch`.
    pub events: usize,
    /// Where the repeats end, in `Folded::repeats`.
    pub repeats: usize,
    /// The offset of the first step of the repeats; each step after it has [`Folded::PITCH`] more.
    pub offset: u64,
}

/// A batch in which repeats of known stretches are left out. A sink that [takes repeats](crate::Sink::takes_repeats) has to
/// look at each stretch once; for all others [`unfold`](Folded::unfold) makes the events.
///
/// ```
/// use trackway_core::*;
/// let mut folded = Folded::default();
/// let steps = vec![Step::new(0x1000, 0x13, 4), Step::new(0x1004, 0x13, 4)];
/// let stretch = folded.stretches.add(Stretch { steps, mem: vec![] });
/// folded.push(8, Repeat { stretch, ..Repeat::default() });
/// folded.push(24, Repeat { stretch, ..Repeat::default() });
/// let mut batch = Batch::default();
/// folded.unfold(&mut batch);
/// assert_eq!((batch.events.len(), batch.events[3].offset), (4, 32));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// Events, of which repeats are left out.
    pub batch: Batch,
    /// The stretches of its repeats.
    pub stretches: Arc<Stretches>,
    /// Where the repeats belong; other events follow the last of them.
    pub pieces: Vec<Piece>,
    /// Repeats, in order.
    pub repeats: Vec<Repeat>,
    /// Their [words](Stretch::words).
    pub words: Vec<u64>,
}

impl Folded {
    /// Bytes from the offset of a repeated step to that of the next.
    pub const PITCH: u64 = 8;

    /// Repeats, and words of them, after which a source should hand it on.
    const FULL: usize = 2048;
    const FULL_WORDS: usize = 1 << 13;

    /// Forgets all events, keeps the memory and the stretches.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.pieces.clear();
        self.repeats.clear();
        self.words.clear();
    }

    /// Repeats that it has room for; the limit is soft.
    #[inline]
    pub fn room(&self) -> usize {
        let is_full = self.batch.is_full() || self.words.len() >= Self::FULL_WORDS;
        let most = if self.batch.is_eager { 1 } else { Self::FULL };
        if is_full { 0 } else { most.saturating_sub(self.repeats.len()) }
    }

    /// True once it holds enough.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// True if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.batch.events.is_empty() && self.repeats.is_empty()
    }

    /// Appends a repeat, whose words the caller appends; its first step has this offset.
    pub fn push(&mut self, offset: u64, repeat: Repeat) {
        self.repeats.push(repeat);
        self.place(offset);
    }

    /// The repeats at the end that have no place yet follow all other events; the first step has this offset.
    pub fn place(&mut self, offset: u64) {
        let (events, repeats) = (self.batch.events.len(), self.repeats.len());
        match self.pieces.last_mut().filter(|piece| piece.events == events) {
            Some(piece) => piece.repeats = repeats,
            None => self.pieces.push(Piece { events, repeats, offset }),
        }
    }

    /// Events and the repeats after them, in order.
    pub fn parts(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>, u64)> {
        let rest = Piece { events: self.batch.events.len(), repeats: self.repeats.len(), offset: 0 };
        let mut before = Piece::default();
        self.pieces.iter().copied().chain([rest]).map(move |piece| {
            let Piece { events, repeats, offset } = piece;
            let part = (before.events..events, before.repeats..repeats, offset);
            before = piece;
            part
        })
    }

    /// Puts all events into `batch`.
    pub fn unfold(&self, batch: &mut Batch) {
        batch.copy_from(&self.batch);
        batch.events.clear();
        let mut words = &self.words[..];
        for (events, repeats, mut offset) in self.parts() {
            batch.events.extend_from_slice(&self.batch.events[events]);
            for repeat in &self.repeats[repeats] {
                let Some(stretch) = self.stretches.get(repeat.stretch) else { continue };
                let (own, rest) = words.split_at(stretch.words().min(words.len()));
                words = rest;
                repeat.unfold(&stretch, own, offset, batch);
                offset += Self::PITCH * stretch.steps.len() as u64;
            }
        }
    }
}

impl Repeat {
    /// Appends the steps of one repeat.
    pub fn unfold(&self, stretch: &Stretch, words: &[u64], offset: u64, batch: &mut Batch) {
        let mut words = words.iter().copied();
        let begun = batch.begin_accesses();
        batch.mem.extend(stretch.mem.iter().map(|access| {
            let address = words.next().unwrap_or(access.address);
            let data = match access.data {
                Value::Unknown => Value::Unknown,
                data => words.next().map_or(data, Value::Word),
            };
            MemAccess { address, data, ..*access }
        }));
        let mut offset = offset;
        let last = stretch.steps.len().saturating_sub(1);
        for (n, step) in stretch.steps.iter().enumerate() {
            let mem_start = begun.mem_start + step.accesses.mem_start;
            let mut step = Step { accesses: Accesses { mem_start, ..step.accesses }, ..*step };
            step.accesses.regs_start = begun.regs_start;
            let target = if n == last { self.target() } else { stretch.target(n) };
            if n == last {
                step.taken = self.taken;
            }
            step.extra = target.and_then(|_| batch.add_extra(StepExtra { target, ..StepExtra::default() }));
            batch.push(offset, EventKind::Step(step));
            offset += Folded::PITCH;
        }
    }
}

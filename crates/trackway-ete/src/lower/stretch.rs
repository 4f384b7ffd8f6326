//! Runs that were executed before: what is known of them, by their start and length.

use std::collections::VecDeque;
use std::sync::Arc;

use trackway_core::{Isa, Run};
use trackway_image::Memory;
use trackway_isa::{Control, Flow, Switch};

use super::code::{TCOMMIT, TSB_CSYNC};
use crate::encode::{Instruction, Known};

/// A run of which only the last instruction matters to a trace unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Length of the first instruction.
    first: u8,
    /// The last instruction: its address, control flow and encoding.
    pub(super) address: u64,
    pub(super) flow: Flow,
    pub(super) encoding: u32,
    /// The address after it, and where it leads if it is not taken, and if it is.
    pub(super) end: u64,
    pub(super) ways: [Way; 2],
}

/// Where the last instruction leads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// It is not a branch, or more than the address has to be looked at.
    Unusual,
    To(u64),
    /// An indirect branch: the next instruction shows it.
    Open,
}

impl Way {
    fn of(branch: &Instruction) -> Self {
        let Instruction { flow, isa, taken, .. } = *branch;
        let is_usual = flow.control.is_transfer() && flow.control != Control::TrapReturn;
        match flow.target {
            _ if !is_usual || branch.is_contradiction() => Way::Unusual,
            _ if !taken => Way::To(branch.end()),
            Some(_) if flow.switch != Switch::Stay => Way::Unusual,
            Some(target) => Way::To(if isa == Isa::A64 { target } else { target & 0xffff_ffff }),
            None => Way::Open,
        }
    }
}

impl Stretch {
    /// Before the first instruction of a run; `None` if it has none.
    pub(super) fn new(place: Place) -> Option<Self> {
        let flow = Flow::sequential(0);
        let (address, end, ways) = (place.start, place.start, [Way::Unusual; 2]);
        (place.count > 0).then_some(Stretch { first: 0, address, flow, encoding: 0, end, ways })
    }

    /// Instructions of A64, of which this is the last one, and the others do not matter.
    pub(super) fn of_a64(last: Instruction, encoding: u32) -> Option<Self> {
        let start = Place { start: last.address, count: 1, isa: Isa::A64, space: 0 };
        Stretch::new(start)?.with(last, encoding, true)
    }

    /// With its next instruction; `None` if that matters and is not the last one.
    pub(super) fn with(self, instruction: Instruction, encoding: u32, is_last: bool) -> Option<Self> {
        let Instruction { address, flow, isa, .. } = instruction;
        let special = matches!(encoding, TSB_CSYNC | TCOMMIT) && isa == Isa::A64;
        let passes = flow.control == Control::Sequential && !special;
        let first = if self.first == 0 { flow.length } else { self.first };
        let ways = [false, true].map(|taken| Way::of(&Instruction { taken, ..instruction }));
        let end = instruction.end();
        (passes || is_last).then_some(Stretch { first, address, flow, encoding, end, ways })
    }

    /// The first instruction, which is not the last one.
    pub(super) fn first(&self, run: &Run) -> Instruction {
        let flow = Flow::sequential(self.first);
        Instruction { address: run.start, isa: run.isa, flow, taken: true, known: Known::default() }
    }

    /// The last instruction.
    #[inline]
    pub(super) fn last(&self, run: &Run) -> Instruction {
        let known = Known { attempted: run.attempted, ..Known::default() };
        let taken = run.taken == Some(true);
        Instruction { address: self.address, isa: run.isa, flow: self.flow, taken, known }
    }
}

/// Where instructions are that were executed one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) count: u32,
    pub(super) isa: Isa,
    /// The memory space.
    pub(super) space: u8,
}

impl Place {
    #[inline(always)]
    pub(super) fn of(run: &Run, space: u8) -> Self {
        Place { start: run.start, count: run.count, isa: run.isa, space }
    }
}

/// A place in a view of memory.
type Key = (Place, u32);

/// Runs that were executed, as many as there is room for: a run takes the place of another. By default there is no room.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    /// Empty before the first; each run has two places.
    slots: Vec<Option<(Key, Stretch)>>,
    room: usize,
    /// The last views of memory, with their numbers, and the number of the current one.
    views: VecDeque<(Arc<Memory>, u32)>,
    view: u32,
    /// Number of views so far.
    viewed: u32,
}

const SLOTS: usize = 1 << 15;
const SHIFT: u32 = u64::BITS - SLOTS.ilog2();
const VIEWS: usize = 16;

impl Stretches {
    pub(super) fn new() -> Self {
        Stretches { room: SLOTS, ..Stretches::default() }
    }

    /// The code is that of `memory` from here on.
    pub(super) fn enter(&mut self, memory: &Arc<Memory>) {
        if let Some(known) = self.views.iter().find(|view| Arc::ptr_eq(&view.0, memory)) {
            self.view = known.1;
            return;
        }
        self.viewed += 1;
        self.view = self.viewed;
        self.views.truncate(VIEWS - 1);
        self.views.push_front((Arc::clone(memory), self.view));
    }

    /// Its key, and its places.
    #[inline(always)]
    fn key(&self, place: Place) -> (Key, [usize; 2]) {
        let slot = (place.start.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> SHIFT) as usize;
        ((place, self.view), [slot, slot ^ 1])
    }

    /// The run, if it is known.
    #[inline(always)]
    pub(super) fn find(&self, place: Place) -> Option<&Stretch> {
        let (key, places) = self.key(place);
        places.into_iter().find_map(|place| match self.slots.get(place) {
            Some(Some((known, stretch))) if *known == key => Some(stretch),
            _ => None,
        })
    }

    /// Keeps a run, which the next one in its place moves to its other place.
    pub(super) fn keep(&mut self, place: Place, stretch: Stretch) {
        if self.room > 0 {
            let (key, [place, other]) = self.key(place);
            self.slots.resize(self.room, None);
            self.slots[other] = self.slots[place].replace((key, stretch));
        }
    }
}

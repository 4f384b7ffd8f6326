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
    pub(super) fn new(run: &Run) -> Option<Self> {
        let flow = Flow::sequential(0);
        let (address, end, ways) = (run.start, run.start, [Way::Unusual; 2]);
        (run.count > 0).then_some(Stretch { first: 0, address, flow, encoding: 0, end, ways })
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

/// Start, length, instruction set, memory space and view of memory.
type Key = (u64, u32, Isa, u8, u32);

/// Runs that were executed, as many as there is room for: a run takes the place of another.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    /// Empty before the first.
    slots: Vec<Option<(Key, Stretch)>>,
    /// The last views of memory, with their numbers, and the number of the current one.
    views: VecDeque<(Arc<Memory>, u32)>,
    view: u32,
    /// Number of views so far.
    viewed: u32,
}

const SLOTS: usize = 1 << 15;
const VIEWS: usize = 16;

impl Stretches {
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

    fn key(&self, run: &Run, space: u8) -> (Key, usize) {
        let slot = (run.start >> 1 ^ run.start >> 13) as usize % SLOTS;
        ((run.start, run.count, run.isa, space, self.view), slot)
    }

    /// The run, if it is known.
    #[inline]
    pub(super) fn find(&self, run: &Run, space: u8) -> Option<&Stretch> {
        let (key, slot) = self.key(run, space);
        self.slots.get(slot)?.as_ref().filter(|(known, _)| *known == key).map(|(_, stretch)| stretch)
    }

    pub(super) fn keep(&mut self, run: &Run, space: u8, stretch: Stretch) {
        let (key, slot) = self.key(run, space);
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        self.slots[slot] = Some((key, stretch));
    }
}

//! Atoms as they come most: one packet after the other, and blocks that end in an ordinary branch. From one block to the
//! next, the state stays in registers.

use trackway_core::{Batch, Event, EventKind, Isa, Run, push_within_capacity};
use trackway_image::Shape;
use trackway_isa::Control;

use super::Analyser;
use super::state::Last;
use crate::wire::atoms::Atoms;
use crate::wire::header::Kind;

/// The meaning of an atom after a block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    /// Execution continues at the branch target, or at the next instruction.
    Known,
    /// An indirect branch was taken.
    Indirect,
    /// More has to be looked at.
    Unusual,
}

/// The run of a block, but for its addresses and its length.
#[derive(Clone, Copy, Debug)]
struct Ended {
    next: Next,
    run: Run,
}

/// By the shape of a block: its run if the branch was not taken, then the same if it was.
#[derive(Debug)]
pub(super) struct Exits(Box<[Ended; 2 * Shape::COUNT]>);

impl Exits {
    pub(super) fn new(isa: Isa, return_stack: bool) -> Self {
        let shapes: Vec<Shape> = Shape::all().collect();
        Exits(Box::new(std::array::from_fn(|index| {
            let (shape, taken) = (shapes[index % Shape::COUNT], index >= Shape::COUNT);
            let control = shape.control();
            let pushes = taken && return_stack && control.is_call();
            let next = match control {
                // A branch that cannot fall through and was not taken may be a contradiction.
                _ if !shape.stays() || pushes || !taken && !shape.conditional() => Next::Unusual,
                Control::TrapReturn => Next::Unusual,
                control if !control.is_transfer() => Next::Unusual,
                control if taken && control.is_indirect() => Next::Indirect,
                _ => Next::Known,
            };
            let run = Run {
                start: 0,
                end: 0,
                count: 0,
                accesses: None,
                isa,
                exit: control.exit(),
                taken: Some(taken),
                attempted: false,
                doubtful: false,
                withdrawn: false,
            };
            Ended { next, run }
        })))
    }
}

/// A place in a row of atom packets.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Packets begun.
    packets: usize,
    /// Atoms left of the last one, the first in bit 0, and a 1 above them.
    atoms: u64,
}

impl Place {
    /// Begins the next packet; false if there is none.
    #[inline(always)]
    fn advance(&mut self, bytes: &[u8]) -> bool {
        let Some(&header) = bytes.get(self.packets) else { return false };
        if header < Kind::Atom.header() {
            return false;
        }
        self.packets += 1;
        let (count, bits) = Atoms { header }.get();
        self.atoms = 1 << count | u64::from(bits);
        true
    }

    /// No atom is left.
    #[inline(always)]
    fn is_done(&self) -> bool {
        self.atoms == 1
    }
}

impl Analyser {
    /// Atom packets that were executed, the first at `offset`; returns how many there are before another packet, or
    /// before the batch is full.
    pub(crate) fn atom_packets(&mut self, bytes: &[u8], offset: u64) -> usize {
        let mut place = Place { packets: 0, atoms: 1 };
        loop {
            let is_full = place.packets > 0 && self.out.is_full();
            if place.is_done() && (is_full || !place.advance(bytes)) {
                return place.packets;
            }
            if self.flow.is_synchronised() && !self.stale {
                match self.isa {
                    Isa::A64 => self.usual_atoms::<2, { u64::MAX }>(bytes, offset, &mut place),
                    Isa::T32 => self.usual_atoms::<1, { u32::MAX as u64 }>(bytes, offset, &mut place),
                    _ => self.usual_atoms::<2, { u32::MAX as u64 }>(bytes, offset, &mut place),
                }
            }
            if !place.is_done() {
                let taken = place.atoms & 1 == 1;
                place.atoms >>= 1;
                self.atom(offset + place.packets as u64 - 1, taken);
            }
        }
    }

    /// Follows atoms up to one that is unusual, the last packet, or the end of the batch. Instructions start at every
    /// 1 << `GRANULE` bytes, and addresses have the bits of `MASK`.
    #[inline(never)]
    fn usual_atoms<const GRANULE: u32, const MASK: u64>(
        &mut self,
        bytes: &[u8],
        offset: u64,
        place: &mut Place,
    ) {
        let table = &self.tables[self.table];
        let (runs, exits) = (table.cursor.glances::<GRANULE>(), &*table.exits.0);
        let (mut pc, mut instructions, mut next) = (self.flow.pc, 0, Next::Known);
        let events = self.out.open_events();
        let begun = events.len();
        let mut at = *place;
        'packets: loop {
            let offset = offset + at.packets as u64 - 1;
            while !at.is_done() {
                let Some(near) = runs.at(pc) else { break 'packets };
                let taken = at.atoms & 1;
                let ended = &exits[near.shape().number() + Shape::COUNT * taken as usize];
                if ended.next == Next::Unusual {
                    break 'packets;
                }
                let run = Run { start: pc, end: near.end(), count: near.count(), ..ended.run };
                if !push_within_capacity(events, Event { offset, kind: EventKind::Run(run) }) {
                    break 'packets;
                }
                at.atoms >>= 1;
                instructions += u64::from(run.count);
                pc = if taken == 1 { near.target() } else { run.end } & MASK;
                if ended.next == Next::Indirect {
                    next = Next::Indirect;
                    break 'packets;
                }
            }
            if events.len() >= Batch::FULL || !at.advance(bytes) {
                break;
            }
        }
        *place = at;
        let Some(Event { kind: EventKind::Run(last), .. }) = events[begun..].last().copied() else { return };
        self.out.ran(instructions);
        let flow = &mut self.flow;
        flow.last = Some(Last { start: last.start, sub_isa: flow.sub_isa, taken: last.taken == Some(true) });
        flow.has_address = next == Next::Known;
        flow.pop = !flow.has_address && self.return_stack;
        flow.pc = if flow.has_address { pc } else { last.end & MASK };
        flow.followed = true;
    }
}

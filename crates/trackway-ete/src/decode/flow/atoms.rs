//! Packets as they come most: rows of atoms and target addresses, and blocks that end in an ordinary branch. From one
//! packet to the next, the state stays in registers.

use trackway_core::{Bytes, Event, EventKind, Isa, Run};
use trackway_image::{Glances, Shape};
use trackway_isa::Control;

use super::Analyser;
use super::state::Last;
use crate::decode::counts::PacketCounts;
use crate::wire::address::{Address, Entry, History};
use crate::wire::atoms::Atoms;
use crate::wire::header::Kind;
use crate::wire::scan::{LONGEST, Window};

/// The meaning of an atom after a block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    /// Execution continues at the branch target, or at the next instruction.
    Known = 0,
    /// An indirect branch was taken.
    Indirect = 1,
    /// More has to be looked at.
    Unusual = 2,
}

/// The end of a run, and its meaning. Aligned, so that a shift finds it.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Ended {
    /// The run without its addresses and length.
    run: Run,
    next: Next,
}

/// By the shape of a block: the end of its run if the branch was not taken, then the same if it was.
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
            Ended { run, next }
        })))
    }
}

/// The program, for an instruction set whose instructions start at every 1 << `GRANULE` bytes and whose addresses have the
/// bits of `MASK`.
#[derive(Clone, Copy, Debug)]
struct Program<'p, const GRANULE: u32, const MASK: u64> {
    runs: Glances<'p, GRANULE>,
    exits: &'p [Ended; 2 * Shape::COUNT],
}

/// In the index of [`Exits`]: the branch was taken.
const TAKEN: u32 = Shape::COUNT as u32;

impl<const GRANULE: u32, const MASK: u64> Program<'_, GRANULE, MASK> {
    /// The run at `slot`, whose branch was taken if `atom` has the bit [`TAKEN`], the slot after it, and its meaning.
    #[inline(always)]
    fn run(&self, slot: u64, atom: u32) -> (Run, u64, Next) {
        let (glance, taken) = (self.runs.run(slot), atom & TAKEN);
        let ended = &self.exits[glance.shape().number() | taken as usize];
        let after = slot.wrapping_add(glance.length());
        let target = slot.wrapping_add(glance.distance());
        let (start, end) = (self.runs.address(slot), self.runs.address(after));
        let run = Run { start, end, count: glance.count(), ..ended.run };
        (run, if taken == 0 { after } else { target }, ended.next)
    }

    /// The address of a slot.
    #[inline(always)]
    fn address(&self, slot: u64) -> u64 {
        self.runs.address(slot) & MASK
    }

    /// Follows the atoms of `place` from a known address, up to one that is unusual or for which no address is known.
    #[inline(never)]
    fn follow(self, place: &mut Place, mut at: Reached, events: &mut Vec<Event>) -> Reached {
        while at.is_known && !place.is_done() {
            let (run, to, next) = self.run(self.runs.slot(at.pc), place.atoms.1 * TAKEN);
            if next == Next::Unusual {
                break;
            }
            place.next_atom();
            (at.pc, at.is_known) = (self.address(to), next == Next::Known);
            at.instructions += u64::from(run.count);
            events.push(Event { offset: place.offset, kind: EventKind::Run(run) });
        }
        at
    }
}

/// A place in the program.
#[derive(Clone, Copy, Debug)]
struct Reached {
    pc: u64,
    is_known: bool,
    /// Number of instructions before it.
    instructions: u64,
}

/// Packets of a window, none of which has to wait.
pub(crate) struct Row<'r, W> {
    pub(crate) window: &'r W,
    /// The bytes of the window, up to where packets end.
    pub(crate) bytes: &'r [u8],
    /// Hint for [`Window::offset`].
    pub(crate) cursor: &'r mut usize,
    pub(crate) history: &'r mut History,
    pub(crate) counts: &'r mut PacketCounts,
    /// Target addresses are taken too.
    pub(crate) addresses: bool,
}

/// A place in a row.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Index of the next packet.
    at: usize,
    /// Atoms left of the last packet: their number, and the first in bit 0.
    atoms: (u8, u32),
    /// Offset in the input of the last packet.
    offset: u64,
    /// Before this index, the offset of a byte is its index and `shift`.
    until: usize,
    shift: u64,
}

impl Place {
    fn new(at: usize) -> Self {
        Place { at, atoms: (0, 0), offset: 0, until: 0, shift: 0 }
    }

    /// Takes the offset of the next packet.
    #[inline(always)]
    fn locate<W: Window>(&mut self, window: &W, cursor: &mut usize) {
        if self.at >= self.until {
            (self.shift, self.until) = stretch(window, self.at, cursor);
        }
        self.offset = (self.at as u64).wrapping_add(self.shift);
    }

    /// Begins an atom packet.
    #[inline(always)]
    fn begin(&mut self, header: u8, counts: &mut PacketCounts) {
        counts.add(header);
        self.at += 1;
        self.atoms = Atoms { header }.get();
    }

    /// Takes the next atom: was the branch taken?
    #[inline]
    fn next_atom(&mut self) -> bool {
        let (left, bits) = self.atoms;
        self.atoms = (left - 1, bits >> 1);
        bits & 1 == 1
    }

    /// No atom is left.
    #[inline(always)]
    fn is_done(&self) -> bool {
        self.atoms.0 == 0
    }
}

/// The difference of offset and index at `at`, and the index up to which it is the same. Apart from the loop, which needs the
/// registers.
#[inline(never)]
fn stretch<W: Window>(window: &W, at: usize, cursor: &mut usize) -> (u64, usize) {
    let (offset, straight) = window.straight(at, cursor);
    (offset.wrapping_sub(at as u64), at.saturating_add(straight))
}

/// Does the byte open a Target Address packet?
#[inline(always)]
fn is_target(header: u8) -> bool {
    header & 0xf0 == Kind::Address.header() & 0xf0
}

/// The target address after `header`, and the length of its packet; `None` if there is none or the end is near, where the
/// zeros of an Alignment Sync may begin.
#[inline(never)]
fn target(header: u8, rest: &[u8], history: &History) -> Option<(Entry, usize)> {
    if !is_target(header) || rest.len() < LONGEST {
        return None;
    }
    let mut payload = Bytes::new(rest);
    let address = Address::read_target(header, &mut payload).ok()?;
    Some((history.find(&address), 1 + payload.position()))
}

impl Analyser {
    /// Packets of a row from `from` on that were executed; returns the place of the first that is not atoms or a usual
    /// address, or that comes after a full batch.
    pub(crate) fn row<W: Window>(&mut self, mut row: Row<'_, W>, from: usize) -> usize {
        let mut place = Place::new(from);
        loop {
            if self.may_be_usual(&row, &place) {
                match self.isa {
                    Isa::A64 => self.usual_packets::<W, 2, { u64::MAX }>(&mut row, &mut place),
                    Isa::T32 => self.usual_packets::<W, 1, { u32::MAX as u64 }>(&mut row, &mut place),
                    _ => self.usual_packets::<W, 2, { u32::MAX as u64 }>(&mut row, &mut place),
                }
            }
            if place.is_done() {
                let header = row.bytes.get(place.at).copied().unwrap_or(0);
                let is_full = place.at > from && self.out.is_full();
                if is_full || header < Kind::Atom.header() {
                    return place.at;
                }
                place.locate(row.window, row.cursor);
                place.begin(header, row.counts);
            }
            let taken = place.next_atom();
            self.atom(place.offset, taken);
        }
    }

    /// A quick look before [`usual_packets`](Self::usual_packets).
    #[inline]
    fn may_be_usual<W: Window>(&self, row: &Row<'_, W>, place: &Place) -> bool {
        let is_address = place.is_done() && row.bytes.get(place.at).is_some_and(|&header| is_target(header));
        let follows = if is_address { row.addresses && self.takes_address() } else { self.flow.has_address };
        follows && self.flow.has_context && !self.stale
    }

    /// Nothing but execution waits for an address: neither a trap, nor a gap, nor Debug state.
    #[inline]
    fn takes_address(&self) -> bool {
        self.out.is_quiet() && !self.flow.halted
    }

    /// Follows packets up to an atom that is unusual, another packet, or the end of the batch. Instructions start at every
    /// 1 << `GRANULE` bytes, and addresses have the bits of `MASK`.
    #[inline(never)]
    fn usual_packets<W: Window, const GRANULE: u32, const MASK: u64>(
        &mut self,
        row: &mut Row<'_, W>,
        place: &mut Place,
    ) {
        let Row { window, bytes, cursor, history: sent, counts, addresses } = row;
        let table = &self.tables[self.table];
        let program =
            Program::<GRANULE, MASK> { runs: table.cursor.glances::<GRANULE>(), exits: &table.exits.0 };
        // Nothing follows a path over the end of the address space.
        if program.runs.end() & !MASK != 0 {
            return;
        }
        let addresses = *addresses && self.takes_address();
        let sub_isa = self.flow.sub_isa;
        let (mut at, mut history, mut was_sent) = (*place, **sent, false);
        let full = self.out.full();
        let events = self.out.open_events();
        let begun = events.len();
        let full = full.max(begun + 1);
        let (pc, is_known) = (self.flow.pc, self.flow.has_address);
        let mut here = Reached { pc, is_known, instructions: 0 };
        if !at.is_done() {
            here = program.follow(&mut at, here, events);
        }
        while at.is_done()
            && events.len() < full
            && let Some(&header) = bytes.get(at.at)
        {
            if header >= Kind::Atom.header() {
                if !here.is_known {
                    break;
                }
                at.locate(*window, cursor);
                at.begin(header, counts);
                let (before, offset, (count, bits)) = (events.len(), at.offset, at.atoms);
                let (mut slot, mut bits) = (program.runs.slot(here.pc), bits * TAKEN);
                // Two bits for the meaning of each atom.
                let (mut instructions, mut meanings) = (0, 0u64);
                // Nothing leaves this loop early, which keeps it small: all but the last atom have to be known.
                events.extend((0..count).map(|_| {
                    let (run, to, next) = program.run(slot, bits);
                    (slot, bits) = (to, bits >> 1);
                    meanings = meanings << 2 | next as u64;
                    instructions += u64::from(run.count);
                    Event { offset, kind: EventKind::Run(run) }
                }));
                if meanings <= Next::Indirect as u64 {
                    at.atoms.0 = 0;
                    here.is_known = meanings == Next::Known as u64;
                    (here.pc, here.instructions) = (program.address(slot), here.instructions + instructions);
                } else {
                    events.truncate(before);
                    here = program.follow(&mut at, here, events);
                }
            } else if addresses
                && let Some((entry, length)) = target(header, &bytes[at.at + 1..], &history)
                && entry.sub_isa == sub_isa
            {
                history.add(entry);
                counts.add(header);
                at.at += length;
                (here.pc, here.is_known, was_sent) = (entry.address & MASK, true, true);
            } else {
                break;
            }
        }
        (*place, **sent) = (at, history);
        let Reached { pc, is_known, instructions } = here;
        let last = match events[begun..].last() {
            Some(Event { kind: EventKind::Run(last), .. }) => Some(*last),
            _ => None,
        };
        let flow = &mut self.flow;
        if was_sent {
            (flow.no_push, flow.lost) = (false, false);
        }
        if was_sent || last.is_some() {
            flow.has_address = is_known;
            flow.pop = !is_known && self.return_stack;
            flow.pc = pc;
        }
        if let Some(last) = last {
            if !is_known {
                flow.pc = last.end & MASK;
            }
            flow.last = Some(Last { start: last.start, sub_isa, taken: last.taken == Some(true) });
            flow.followed = true;
            self.out.ran(instructions);
        }
    }
}

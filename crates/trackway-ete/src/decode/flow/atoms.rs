//! Packets as they come most: rows of atoms and target addresses, and blocks that end in an ordinary branch. From one
//! packet to the next, the state stays in registers.

use trackway_core::{Event, EventKind, Isa, Run};
use trackway_image::{Glances, Shape};
use trackway_isa::Control;

use super::Analyser;
use super::place::{Place, is_atoms, is_target, take_target};
use super::state::Last;
use crate::decode::counts::PacketCounts;
use crate::wire::address::{History, SubIsa};
use crate::wire::atoms::Atoms;
use crate::wire::scan::Window;

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

/// By the shape of a block: the end of its run if the branch was not taken; then the same if it was.
type Ends = [[Ended; Shape::COUNT]; 2];

/// The ends of runs in an instruction set.
#[derive(Debug)]
pub(super) struct Exits(Box<Ends>);

impl Exits {
    pub(super) fn new(isa: Isa, return_stack: bool) -> Self {
        let shapes: Vec<Shape> = Shape::all().collect();
        let ended = |shape: Shape, taken| {
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
        };
        let ends = |taken| std::array::from_fn(|number| ended(shapes[number], taken));
        Exits(Box::new([ends(false), ends(true)]))
    }
}

/// The program, for an instruction set whose instructions start at every 1 << `GRANULE` bytes and whose addresses have the
/// bits of `MASK`.
#[derive(Clone, Copy, Debug)]
struct Program<'p, const GRANULE: u32, const MASK: u64> {
    runs: Glances<'p, GRANULE>,
    exits: &'p Ends,
}

/// An atom, which says whether the branch was taken, is a bit at this place: there it is where in the memory of [`Ends`] the
/// taken ones begin.
const ATOM: u32 = size_of::<[Ended; Shape::COUNT]>().trailing_zeros();

impl<const GRANULE: u32, const MASK: u64> Program<'_, GRANULE, MASK> {
    /// The run at `slot` with the first of `atoms`, the slot after it, and its meaning.
    #[inline(always)]
    fn run(&self, slot: u64, atoms: u64) -> (Run, u64, Next) {
        let glance = self.runs.run(slot);
        let ended = &self.exits[(atoms >> ATOM & 1) as usize][glance.shape().number()];
        let after = slot.wrapping_add(glance.length());
        let target = slot.wrapping_add(glance.distance());
        let (start, end) = (self.runs.address(slot), self.runs.address(after));
        // Constants are cheaper than copies.
        let run = Run { start, end, count: glance.count(), doubtful: false, withdrawn: false, ..ended.run };
        (run, if atoms & 1 << ATOM == 0 { after } else { target }, ended.next)
    }

    /// The address of a slot.
    #[inline(always)]
    fn address(&self, slot: u64) -> u64 {
        self.runs.address(slot) & MASK
    }

    /// Follows the atoms of `place` from a known address, up to one that is unusual or for which no address is known.
    #[inline(never)]
    fn follow(self, place: &mut Place, at: &mut Reached, events: &mut Vec<Event>) {
        while at.is_known && !place.is_done() {
            let (run, to, next) = self.run(at.slot, u64::from(place.atoms.1) << ATOM);
            if next == Next::Unusual {
                break;
            }
            place.next_atom();
            (at.slot, at.is_known) = (to, next == Next::Known);
            at.instructions += u64::from(run.count);
            events.push(Event { offset: place.offset, kind: EventKind::Run(run) });
        }
    }
}

/// A place in the program.
#[derive(Clone, Copy, Debug)]
struct Reached {
    slot: u64,
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

impl Analyser {
    /// Packets of a row from `from` on that were executed; returns the place of the first that is not atoms or a usual
    /// address, or that comes after a full batch.
    pub(crate) fn row<W: Window>(&mut self, mut row: Row<'_, W>, from: usize) -> usize {
        // The same for what is usual and what is not: where batches end does not depend on the tables.
        let mut place = Place::new(from, self.out.full().max(self.out.events() + 1));
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
                let is_full = self.out.events() >= place.full;
                if is_full || !is_atoms(header) {
                    return place.at;
                }
                place.offset = place.locate(row.window, row.cursor);
                place.atoms = place.begin(header, row.counts);
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
        let pc = self.flow.pc;
        // Nothing follows a path over the end of the address space, or from the middle of an instruction.
        if program.runs.end() & !MASK != 0 || !pc.is_multiple_of(1 << GRANULE) {
            return;
        }
        let addresses = *addresses && self.takes_address();
        let sub_isa = self.flow.sub_isa;
        // An instruction set whose addresses are not those of the packets.
        let addresses = addresses && (sub_isa == SubIsa::Is1) == (GRANULE == 1);
        let (mut history, mut was_sent) = (**sent, false);
        let events = self.out.open_events();
        let begun = events.len();
        let mut here =
            Reached { slot: program.runs.slot(pc), is_known: self.flow.has_address, instructions: 0 };
        program.follow(place, &mut here, events);
        // Apart from what others are lent, these stay in registers.
        let Reached { mut slot, mut is_known, mut instructions } = here;
        let (mut index, mut stretch, full) = (place.at, place.stretch, place.full);
        while place.is_done()
            && events.len() < full
            && let Some(&header) = bytes.get(index)
        {
            if is_atoms(header) {
                if !is_known {
                    break;
                }
                let offset = stretch.locate(index, *window, cursor);
                counts.add(header);
                index += 1;
                let (count, bits) = Atoms { header }.get();
                let before = events.len();
                let (mut to, mut atoms) = (slot, u64::from(bits) << ATOM);
                // Two bits for the meaning of each atom.
                let (mut more, mut meanings) = (0, 0u64);
                // Nothing leaves this loop early, which keeps it small: all but the last atom have to be known.
                events.extend((0..usize::from(count)).map(|_| {
                    let (run, after, next) = program.run(to, atoms);
                    (to, atoms) = (after, atoms >> 1);
                    meanings = meanings << 2 | next as u64;
                    more += u64::from(run.count);
                    Event { offset, kind: EventKind::Run(run) }
                }));
                if meanings <= Next::Indirect as u64 {
                    is_known = meanings == Next::Known as u64;
                    (slot, instructions) = (to, instructions + more);
                } else {
                    events.truncate(before);
                    let mut here = Reached { slot, is_known, instructions };
                    place.begin_again(bytes, index, offset);
                    program.follow(place, &mut here, events);
                    (slot, is_known, instructions) = (here.slot, here.is_known, here.instructions);
                }
            } else if addresses && let Some(length) = take_target(&bytes[index..], sub_isa, &mut history) {
                counts.add(header);
                index += length.get();
                (slot, is_known) = (program.runs.slot(history.0[0].address & MASK), true);
                was_sent = true;
            } else {
                break;
            }
        }
        (place.at, place.stretch, **sent) = (index, stretch, history);
        let pc = program.address(slot);
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

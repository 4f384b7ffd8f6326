//! Packets as they come most: rows of atoms and target addresses, and blocks that end in an ordinary branch. From one
//! packet to the next, the state stays in registers.

use trackway_core::{Bytes, Event, EventKind, Exit, Isa, Run, push_within_capacity};
use trackway_image::Shape;
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
    Known,
    /// An indirect branch was taken.
    Indirect,
    /// More has to be looked at.
    Unusual,
}

/// The end of a run, and its meaning.
#[derive(Clone, Copy, Debug)]
struct Ended {
    exit: Exit,
    next: Next,
}

/// By the shape of a block: the end of its run if the branch was not taken, then the same if it was.
#[derive(Debug)]
pub(super) struct Exits(Box<[Ended; 2 * Shape::COUNT]>);

impl Exits {
    pub(super) fn new(return_stack: bool) -> Self {
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
            Ended { exit: control.exit(), next }
        })))
    }
}

/// The instruction set whose instructions start at every 1 << `granule` bytes and whose addresses have the bits of `mask`.
const fn isa_of(granule: u32, mask: u64) -> Isa {
    match (granule, mask) {
        (_, u64::MAX) => Isa::A64,
        (1, _) => Isa::T32,
        _ => Isa::A32,
    }
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
    /// Atoms left of the last packet, the first in bit 0, and a 1 above them.
    atoms: u64,
    /// Offset in the input of the last packet.
    offset: u64,
    /// Before this index, the offset of a byte is its index and `shift`.
    until: usize,
    shift: u64,
}

impl Place {
    fn new(at: usize) -> Self {
        Place { at, atoms: 1, offset: 0, until: 0, shift: 0 }
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
        let (count, bits) = Atoms { header }.get();
        self.atoms = 1 << count | u64::from(bits);
    }

    /// No atom is left.
    #[inline(always)]
    fn is_done(&self) -> bool {
        self.atoms == 1
    }
}

/// The difference of offset and index at `at`, and the index up to which it is the same. Apart from the loop, which needs the
/// registers.
#[inline(never)]
fn stretch<W: Window>(window: &W, at: usize, cursor: &mut usize) -> (u64, usize) {
    let (offset, straight) = window.straight(at, cursor);
    (offset.wrapping_sub(at as u64), at.saturating_add(straight))
}

/// The target address after `header`, and the length of its packet; `None` if there is none or the end is near, where the
/// zeros of an Alignment Sync may begin.
#[inline(never)]
fn target(header: u8, rest: &[u8], history: &History) -> Option<(Entry, usize)> {
    if header & 0xf0 != Kind::Address.header() & 0xf0 || rest.len() < LONGEST {
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
            if self.flow.has_context && !self.stale {
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
            let taken = place.atoms & 1 == 1;
            place.atoms >>= 1;
            self.atom(place.offset, taken);
        }
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
        let (runs, exits) = (table.cursor.glances::<GRANULE>(), &*table.exits.0);
        // An address that a trap, a gap or Debug state waits for is not a usual one.
        let addresses = *addresses && self.out.is_quiet() && !self.flow.halted;
        let sub_isa = self.flow.sub_isa;
        let (mut pc, mut is_known, mut was_sent) = (self.flow.pc, self.flow.has_address, false);
        let (mut at, mut history, mut instructions) = (*place, **sent, 0);
        let full = self.out.full();
        let events = self.out.open_events();
        let begun = events.len();
        let full = full.max(begun + 1);
        'packets: loop {
            if !at.is_done() && !is_known {
                break;
            }
            while !at.is_done() {
                let Some(near) = runs.at(pc) else { break 'packets };
                let taken = at.atoms & 1;
                let ended = &exits[near.shape().number() + Shape::COUNT * taken as usize];
                if ended.next == Next::Unusual {
                    break 'packets;
                }
                let run = Run {
                    start: pc,
                    end: near.end(),
                    count: near.count(),
                    accesses: None,
                    isa: const { isa_of(GRANULE, MASK) },
                    exit: ended.exit,
                    taken: Some(taken == 1),
                    attempted: false,
                    doubtful: false,
                    withdrawn: false,
                };
                if !push_within_capacity(events, Event { offset: at.offset, kind: EventKind::Run(run) }) {
                    break 'packets;
                }
                at.atoms >>= 1;
                instructions += u64::from(run.count);
                pc = if taken == 1 { near.target() } else { run.end } & MASK;
                if ended.next == Next::Indirect {
                    is_known = false;
                    continue 'packets;
                }
            }
            if events.len() >= full {
                break;
            }
            let Some(&header) = bytes.get(at.at) else { break };
            if header >= Kind::Atom.header() {
                if !is_known {
                    break;
                }
                at.locate(*window, cursor);
                at.begin(header, counts);
            } else if addresses
                && let Some((entry, length)) = target(header, &bytes[at.at + 1..], &history)
                && entry.sub_isa == sub_isa
            {
                history.add(entry);
                counts.add(header);
                at.at += length;
                (pc, is_known, was_sent) = (entry.address & MASK, true, true);
            } else {
                break;
            }
        }
        (*place, **sent) = (at, history);
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

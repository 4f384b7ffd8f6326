//! A place in a row of packets: where the next one is, and how many atoms are left of the last.

use std::num::NonZeroUsize;

use trackway_core::Bytes;

use crate::decode::counts::PacketCounts;
use crate::transport::frames::read::FRAME;
use crate::wire::address::{Address, History, SubIsa};
use crate::wire::atoms::Atoms;
use crate::wire::header::Kind;
use crate::wire::scan::{LONGEST, Straight, Window};

/// A place in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Index of the next packet.
    pub(super) at: usize,
    /// Atoms left of the last packet: their number, and the first in bit 0.
    pub(super) atoms: (u8, u32),
    /// Offset in the input of the last packet.
    pub(super) offset: u64,
    pub(super) stretch: Stretch,
    /// Number of events from which on no packet is taken.
    pub(super) full: usize,
}

/// Bytes whose offsets are known from their indexes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch {
    /// Before this index, the offset of a byte is its index and `shift`.
    until: usize,
    shift: u64,
    /// Before this one, that grows by one with every frame.
    framed: usize,
}

impl Place {
    pub(super) fn new(at: usize, full: usize) -> Self {
        Place { at, atoms: (0, 0), offset: 0, stretch: Stretch::default(), full }
    }

    /// The offset of the next packet.
    #[inline(always)]
    pub(super) fn locate<W: Window>(&mut self, window: &W, cursor: &mut usize) -> u64 {
        self.stretch.locate(self.at, window, cursor)
    }

    /// Takes the header of an atom packet, and returns its atoms.
    #[inline(always)]
    pub(super) fn begin(&mut self, header: u8, counts: &mut PacketCounts) -> (u8, u32) {
        counts.add(header);
        self.at += 1;
        Atoms { header }.get()
    }

    /// Takes the atoms of the packet before `at` once more. Reading the header again keeps the loop from saving it.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_again(&mut self, bytes: &[u8], at: usize, offset: u64) {
        let header = bytes[at - 1];
        (self.offset, self.atoms) = (offset, Atoms { header }.get());
    }

    /// Takes the next atom: was the branch taken?
    #[inline]
    pub(super) fn next_atom(&mut self) -> bool {
        let (left, bits) = self.atoms;
        self.atoms = (left - 1, bits >> 1);
        bits & 1 == 1
    }

    /// No atom is left.
    #[inline(always)]
    pub(super) fn is_done(&self) -> bool {
        self.atoms.0 == 0
    }
}

impl Stretch {
    /// The offset of the byte at `at`, which is none before those asked for.
    #[inline(always)]
    pub(super) fn locate<W: Window>(&mut self, at: usize, window: &W, cursor: &mut usize) -> u64 {
        if at >= self.until {
            self.move_on(at, window, cursor);
        }
        (at as u64).wrapping_add(self.shift)
    }

    /// Comes to the byte at `at`. Apart from the loop, which needs the registers.
    #[inline(never)]
    fn move_on<W: Window>(&mut self, at: usize, window: &W, cursor: &mut usize) {
        while self.until < self.framed {
            self.shift = self.shift.wrapping_add(1);
            self.until = self.until.saturating_add(FRAME - 1).min(self.framed);
            if at < self.until {
                return;
            }
        }
        self.look_up(at, window, cursor);
    }

    #[cold]
    #[inline(never)]
    fn look_up<W: Window>(&mut self, at: usize, window: &W, cursor: &mut usize) {
        let Straight { offset, count, framed } = window.straight(at, cursor);
        self.shift = offset.wrapping_sub(at as u64);
        (self.until, self.framed) = (at.saturating_add(count), at.saturating_add(framed));
    }
}

/// Does the byte open an atom packet?
#[inline(always)]
pub(super) fn is_atoms(header: u8) -> bool {
    header >= Kind::Atom.header()
}

/// Does the byte open a Target Address packet?
#[inline(always)]
pub(super) fn is_target(header: u8) -> bool {
    header & 0xf0 == Kind::Address.header() & 0xf0
}

/// If `bytes` start with a Target Address packet of a usual form for this instruction set state: adds its address to the
/// history, and returns its length. `None` also if the end is near, where the zeros of an Alignment Sync may begin.
#[inline(never)]
pub(super) fn take_target(bytes: &[u8], sub_isa: SubIsa, history: &mut History) -> Option<NonZeroUsize> {
    if bytes.len() <= LONGEST {
        return None;
    }
    let (address, length) = match Address::read_usual(bytes) {
        Some(usual) => usual,
        None => {
            let (&header, rest) = bytes.split_first().filter(|(header, _)| is_target(**header))?;
            let mut payload = Bytes::new(rest);
            (Address::read_target(header, &mut payload).ok()?, 1 + payload.position())
        }
    };
    let entry = history.find(&address);
    // An address in the middle of an instruction is not usual.
    let low = if sub_isa == SubIsa::Is0 { 3 } else { 1 };
    if entry.sub_isa != sub_isa || entry.address & low != 0 {
        return None;
    }
    history.add(entry);
    NonZeroUsize::new(length)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{Config, Framing, Options};
    use crate::transport::frames::write::frame;
    use crate::transport::input::{SourceInput, TraceSource};
    use proptest::prelude::*;

    proptest! {
        /// Going along is the same as looking up every place, also where a circular buffer wraps around inside a frame.
        #[test]
        fn offsets_are_those_of_the_window(
            pieces in proptest::collection::vec((5u8..7, 1usize..90), 1..12),
            pointer: Option<u16>,
            steps in proptest::collection::vec(1usize..40, 1..60),
            is_raw: bool,
        ) {
            let pieces: Vec<(u8, Vec<u8>)> = pieces.iter().map(|&(id, length)| (id, vec![1; length])).collect();
            let data = frame(&pieces.iter().map(|(id, bytes)| (*id, &bytes[..])).collect::<Vec<_>>());
            let write_pointer = pointer.map(|pointer| u64::from(pointer) % (data.len() as u64 + 1));
            let config = Config::from_registers("test", Default::default(), Some(true)).unwrap();
            let framing = if is_raw { Framing::Raw } else { Framing::Coresight };
            let config = Config { trace_id: 5, ..config };
            let source = TraceSource { config, framing, data: Arc::new(data), image: Arc::default() };
            let options = Options { write_pointer, ..Options::default() };
            let bytes = SourceInput::from(source).open(&options).unwrap();
            let window = bytes.view();
            let (mut place, mut cursor) = (Place::new(0, 1), 0);
            for step in steps {
                if place.at >= window.bytes().len() {
                    break;
                }
                let offset = window.offset(place.at, &mut window.cursor(place.at));
                prop_assert_eq!(place.locate(&window, &mut cursor), offset, "byte {}", place.at);
                place.at += step;
            }
        }
    }
}

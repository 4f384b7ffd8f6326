//! The content of memory at a point.

use std::ops::Range;

use trackway::Result;
use trackway_core::{Batch, EventKind, MemKind, State};
use trackway_image::Memory;

use super::operands::{Operands, bytes};
use super::{Here, Past};

/// Where the content of some bytes comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This instruction stored it.
    Written(u64),
    /// This instruction loaded it: who stored it is not known.
    Read(u64),
    /// The trace shows it before this instruction, outside of any: initial contents, writes of a kernel.
    Shown(u64),
    /// Another core or device wrote it before this instruction.
    Bus(u64),
    /// The program has it, and no instruction of the trace touched it.
    Image,
    /// Not known: nothing touched it before this point.
    Untouched,
    /// Not known: something is missing before this instruction.
    Gap(u64),
    /// Not known: another address space was in use before this instruction.
    Space(u64),
    /// Not known: this instruction stored somewhere, and the trace has no address.
    NoAddress(u64),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Written(n) => write!(f, "written by {n}"),
            Origin::Read(n) => write!(f, "seen by {n}"),
            Origin::Shown(n) => write!(f, "shown before {n}"),
            Origin::Bus(n) => write!(f, "written on the bus before {n}"),
            Origin::Image => write!(f, "from the program; the trace never touched it before"),
            Origin::Untouched => write!(f, "the trace never touched it before"),
            Origin::Gap(n) => write!(f, "there is a gap before {n}"),
            Origin::Space(n) => write!(f, "another process ran before {n}"),
            Origin::NoAddress(n) => write!(f, "{n} stores, and the trace has no address"),
        }
    }
}

/// Bytes that lie next to each other and come from the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Address of the first one.
    pub address: u64,
    /// How many.
    pub length: u64,
    /// The bytes; `None` where they are not known.
    pub content: Option<Vec<u8>>,
    /// Where they come from.
    pub origin: Origin,
}

/// Bytes that a search still looks for.
#[derive(Clone, Copy, Debug)]
struct Byte {
    content: Option<u8>,
    origin: Option<Origin>,
}

/// The `length` bytes from `address` before instruction `at`, as far as the trace shows them; `image` is the program's memory.
///
/// The nearest access before the point decides, a load as well as a store.
pub fn memory(
    past: &mut Past<'_>,
    at: u64,
    address: u64,
    length: u64,
    image: Option<&Memory>,
) -> Result<Vec<Piece>> {
    let pieces = memory_in(past, std::slice::from_ref(&(0..at)), at, address, length, image, || true)?;
    Ok(pieces.unwrap_or_default())
}

/// The same, where only instructions of `searched`, which are in order, can have touched them; `None` if it was given up,
/// since `patience` is over.
pub(crate) fn memory_in(
    past: &mut Past<'_>,
    searched: &[Range<u64>],
    at: u64,
    address: u64,
    length: u64,
    image: Option<&Memory>,
    mut patience: impl FnMut() -> bool,
) -> Result<Option<Vec<Piece>>> {
    let mut bytes = vec![Byte { content: None, origin: None }; length as usize];
    let mut left = bytes.len();
    for range in searched.iter().rev() {
        let mut given_up = false;
        let more = past.backwards_to(range.start, range.end.min(at), |here| {
            look(&here, address, &mut bytes, &mut left);
            given_up = here.number % 4096 == 0 && !patience();
            left > 0 && !given_up
        })?;
        match more {
            false if given_up && left > 0 => return Ok(None),
            false => break,
            true => {}
        }
    }
    for (n, byte) in bytes.iter_mut().enumerate().filter(|(_, byte)| byte.origin.is_none()) {
        let place = address.wrapping_add(n as u64);
        let known = image.and_then(|image| match image.bytes_at(place) {
            Some(bytes) => bytes.first().copied(),
            None => past.starts_as_zero(place).then_some(0),
        });
        *byte = Byte {
            content: known,
            origin: Some(if known.is_some() { Origin::Image } else { Origin::Untouched }),
        };
    }
    Ok(Some(join(address, &bytes)))
}

fn look(here: &Here<'_>, address: u64, out: &mut [Byte], left: &mut usize) {
    let Here { batch, event, number, isa, .. } = *here;
    let mut put = |start: u64, size: u64, data: Option<Vec<u8>>, origin: Origin| {
        for (n, byte) in out.iter_mut().enumerate().filter(|(_, byte)| byte.origin.is_none()) {
            let place = address.wrapping_add(n as u64).wrapping_sub(start);
            if place < size {
                let content = data.as_ref().and_then(|data| data.get(place as usize).copied());
                *byte = Byte { content, origin: Some(origin) };
                *left -= 1;
            }
        }
    };
    match &event.kind {
        EventKind::Step(step) => {
            let operands = Operands::new(batch, step, isa);
            if operands.stores_unseen() {
                return put(0, u64::MAX, None, Origin::NoAddress(number));
            }
            for access in operands.stores() {
                put(access.address, access.size, operands.stored(access), Origin::Written(number));
            }
            let loads = batch
                .mem_of(step.accesses)
                .iter()
                .filter(|access| access.kind == MemKind::Read && !access.unplaced);
            for access in loads {
                // A load without its data says nothing.
                if let Some(data) = bytes(batch, access.data, access.size) {
                    put(access.address, access.size, Some(data), Origin::Read(number));
                }
            }
        }
        EventKind::Run(run) if !run.withdrawn => put(0, u64::MAX, None, Origin::NoAddress(number)),
        EventKind::Gap(_) => put(0, u64::MAX, None, Origin::Gap(number)),
        EventKind::Context(_) if here.other_space => put(0, u64::MAX, None, Origin::Space(number)),
        EventKind::State(n) => outside(batch, &batch.states[*n as usize], number, &mut put),
        _ => {}
    }
}

fn outside(
    batch: &Batch,
    state: &State,
    number: u64,
    put: &mut impl FnMut(u64, u64, Option<Vec<u8>>, Origin),
) {
    match state {
        State::Contents(accesses) => {
            for access in batch.mem_of(*accesses).iter().rev().filter(|access| !access.unplaced) {
                let data = bytes(batch, access.data, access.size);
                put(access.address, access.size, data, Origin::Shown(number));
            }
        }
        State::Bus(bus) if matches!(bus.kind, MemKind::Write | MemKind::ReadWrite) => {
            put(bus.address, bus.size, bytes(batch, bus.data, bus.size), Origin::Bus(number));
        }
        State::Bus(_) | State::PageWalk(_) => {}
    }
}

fn join(address: u64, bytes: &[Byte]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (n, byte) in bytes.iter().enumerate() {
        let origin = byte.origin.unwrap_or(Origin::Untouched);
        match (pieces.last_mut(), byte.content) {
            (Some(Piece { length, content: Some(content), origin: last, .. }), Some(value))
                if *last == origin =>
            {
                content.push(value);
                *length += 1;
            }
            (Some(Piece { length, content: None, origin: last, .. }), None) if *last == origin => {
                *length += 1
            }
            (_, value) => pieces.push(Piece {
                address: address.wrapping_add(n as u64),
                length: 1,
                content: value.map(|value| vec![value]),
                origin,
            }),
        }
    }
    pieces
}

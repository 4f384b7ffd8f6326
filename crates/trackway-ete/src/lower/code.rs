//! The code that was executed, as the events have it.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_core::{Privilege, Security};
use trackway_image::{Error, Image, Memory, Space};

use crate::wire::context::ContextState;

/// TSB CSYNC and TCOMMIT.
pub(super) const TSB_CSYNC: u32 = 0xd503_225f;
pub(super) const TCOMMIT: u32 = 0xd503_307f;

/// Halfwords of a page.
const PAGE: usize = 2048;

/// Encoding and length by halfword; a length of 0 is nothing.
type Page = Box<[(u32, u8); PAGE]>;

/// Executed code by memory space and address.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Indexes into `pages`.
    places: BTreeMap<(u8, u64), usize>,
    pages: Vec<Page>,
    /// The last place: instructions mostly stay on a page.
    last: Option<((u8, u64), usize)>,
}

/// The memory space that a context sees, as a number: EL0 and EL1, EL2, EL3 of a security state.
pub(super) fn space_of(context: &ContextState) -> u8 {
    context.el.max(1) << 2 | context.security
}

impl Code {
    /// An instruction was executed; false if another one was at its place before.
    pub(super) fn execute(&mut self, space: u8, pc: u64, encoding: u32, length: u8) -> bool {
        let key = (space, pc >> 12);
        let index = match self.last {
            Some((last, index)) if last == key => index,
            _ => self.turn(key),
        };
        let place = &mut self.pages[index][(pc as usize & 0xfff) / 2];
        if place.1 == 0 {
            *place = (encoding, length);
        }
        *place == (encoding, length)
    }

    /// Goes to another page.
    #[cold]
    fn turn(&mut self, key: (u8, u64)) -> usize {
        let next = self.pages.len();
        let index = *self.places.entry(key).or_insert(next);
        if index == next {
            self.pages.push(Box::new([(0, 0); PAGE]));
        }
        self.last = Some((key, index));
        index
    }

    /// Instructions in the order of their spaces and addresses.
    fn instructions(&self) -> impl Iterator<Item = (u8, u64, (u32, u8))> + '_ {
        self.places.iter().flat_map(|(&(space, page), &index)| {
            let known = self.pages[index].iter().enumerate().filter(|(_, instruction)| instruction.1 > 0);
            known.map(move |(n, &instruction)| (space, (page << 12) | (2 * n as u64), instruction))
        })
    }

    /// Two spaces have different code at one address.
    fn has_spaces(&self) -> bool {
        let mut by_page: BTreeMap<u64, Vec<&Page>> = BTreeMap::new();
        for (&(_, page), &index) in &self.places {
            by_page.entry(page).or_default().push(&self.pages[index]);
        }
        let differ = |(a, b): (&(u32, u8), &(u32, u8))| a.1 > 0 && b.1 > 0 && a != b;
        by_page.values().any(|pages| {
            let mut pairs =
                pages.iter().enumerate().flat_map(|(n, a)| pages[..n].iter().map(move |b| (a, b)));
            pairs.any(|(a, b)| a.iter().zip(b.iter()).any(differ))
        })
    }

    /// The program `image`, with the code that it does not have.
    pub(super) fn complete(&self, image: &Arc<Image>, memory: &Memory) -> Result<Arc<Image>, Error> {
        let spaces = self.has_spaces();
        let mut stretches: Vec<(u8, u64, Vec<u8>)> = Vec::new();
        for (space, pc, (encoding, length)) in self.instructions() {
            let space = if spaces { space } else { 0 };
            let bytes = &encoding.to_le_bytes()[..usize::from(length.min(4))];
            let mut there = [0; 4];
            let there = &mut there[..bytes.len()];
            if !spaces && memory.read(pc, there) == bytes.len() && there == bytes {
                continue;
            }
            match stretches.last_mut() {
                Some((of, start, code)) if (*of, *start + code.len() as u64) == (space, pc) => {
                    code.extend_from_slice(bytes)
                }
                _ => stretches.push((space, pc, bytes.to_vec())),
            }
        }
        if stretches.is_empty() {
            return Ok(Arc::clone(image));
        }
        let mut whole = Image::default();
        for part in image.parts() {
            for segment in part.segments.iter().filter(|segment| segment.executable) {
                let bytes = Arc::new(segment.bytes().to_vec());
                whole.add_raw(&part.name, segment.address, bytes, part.space.clone())?;
            }
        }
        for (space, address, code) in stretches {
            whole.add_raw("executed", address, Arc::new(code), limits(space))?;
        }
        Ok(Arc::new(whole))
    }
}

/// The contexts that see a space; 0 is all of them.
fn limits(space: u8) -> Space {
    let security = [Security::Secure, Security::NonSecure, Security::Root, Security::Realm];
    let privileges = match space >> 2 {
        0 => return Space::default(),
        1 => vec![Privilege::El0, Privilege::El1],
        2 => vec![Privilege::El2],
        _ => vec![Privilege::El3],
    };
    let security = security.get(usize::from(space & 3)).copied().filter(|_| space >> 2 < 3);
    Space { privileges, security, ..Space::default() }
}

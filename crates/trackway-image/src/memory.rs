//! Memory as one context sees it: bytes at addresses, with holes.

use std::collections::BTreeMap;

use trackway_core::{Isa, SharedBytes};

use crate::error::Error;

/// Bytes of the program at an address.
#[derive(Clone)]
pub struct Segment {
    /// Address of its first byte.
    pub address: u64,
    /// Physical address of its first byte, for loaders that run before translation; else the same as `address`.
    pub physical: u64,
    /// Bytes in memory. Beyond its content they start as zeros (`.bss`), and are not readable here: by the time
    /// of the trace they hold something else.
    pub size: u64,
    /// May it be read?
    pub readable: bool,
    /// May it be written?
    pub writable: bool,
    /// May it be executed? Block tables cover executable segments only.
    pub executable: bool,
    bytes: SharedBytes,
    start: usize,
    length: usize,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Segment({:#x}, {} bytes)", self.address, self.length)
    }
}

impl Segment {
    /// All of `bytes` at `address`, executable and writable.
    pub fn new(address: u64, bytes: SharedBytes) -> Result<Self, Error> {
        let length = (*bytes).as_ref().len();
        Self::part(address, &bytes, 0, length as u64)
    }

    /// `length` bytes from `start` of `file` at `address`; must lie inside. A segment without bytes (`.bss`) may begin
    /// anywhere.
    pub(crate) fn part(address: u64, file: &SharedBytes, start: u64, length: u64) -> Result<Self, Error> {
        let inside = start.checked_add(length).is_some_and(|end| end <= (**file).as_ref().len() as u64);
        if !inside && length > 0 {
            return Err(Error::Elf("a segment reaches past the end of the file".into()));
        }
        let segment = Segment {
            address,
            physical: address,
            size: length,
            readable: true,
            writable: true,
            executable: true,
            bytes: file.clone(),
            start: start as usize,
            length: length as usize,
        };
        segment.moved(address)
    }

    /// The same content at another virtual address.
    pub(crate) fn moved(&self, address: u64) -> Result<Self, Error> {
        if self.length > 0 && address.checked_add(self.length as u64 - 1).is_none() {
            return Err(Error::TooHigh { address, length: self.length as u64 });
        }
        Ok(Segment { address, ..self.clone() })
    }

    /// Bytes of zeros that follow the content in memory.
    pub fn zeros(&self) -> u64 {
        self.size.saturating_sub(self.length as u64)
    }

    /// Offset of its first byte in the file.
    pub fn offset(&self) -> u64 {
        self.start as u64
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self.length {
            0 => &[],
            length => &(*self.bytes).as_ref()[self.start..self.start + length],
        }
    }

    /// Address of its last byte.
    fn last(&self) -> u64 {
        self.address + (self.length as u64 - 1)
    }

    /// The part of it from `address` on, which must lie inside.
    fn from(&self, address: u64) -> Self {
        let skip = (address - self.address) as usize;
        Segment {
            address,
            physical: self.physical.wrapping_add(skip as u64),
            size: self.size.saturating_sub(skip as u64),
            start: self.start + skip,
            length: self.length - skip,
            ..self.clone()
        }
    }

    /// The part of it below `address`, which must lie inside.
    fn below(&self, address: u64) -> Self {
        let size = address - self.address;
        Segment { size, length: size as usize, ..self.clone() }
    }
}

/// A range of addresses that is known throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) address: u64,
    pub(crate) length: u64,
}

/// Bytes at addresses, with holes. Reading in a hole is an ordinary answer: `None`.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// In order of address, without overlap, none empty.
    segments: Vec<Segment>,
}

impl Memory {
    /// Lays segments over each other: a later one hides what lies below.
    pub fn new(layers: impl IntoIterator<Item = Segment>) -> Self {
        let mut map: BTreeMap<u64, Segment> = BTreeMap::new();
        for segment in layers {
            if segment.length > 0 {
                cut(&mut map, segment.address, segment.last());
                map.insert(segment.address, segment);
            }
        }
        Memory { segments: map.into_values().collect() }
    }

    /// Its segments, in order of address; one that is partly hidden comes in pieces.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The bytes from `address` to the end of the piece that it lies in.
    pub fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let at = self.segments.partition_point(|segment| segment.address <= address).checked_sub(1)?;
        let segment = &self.segments[at];
        let skip = address - segment.address;
        (skip < segment.length as u64).then(|| &segment.bytes()[skip as usize..])
    }

    /// Fills the front of `out` with what is known from `address` on, without a hole; returns how much.
    pub fn read(&self, address: u64, out: &mut [u8]) -> usize {
        let mut done = 0;
        while done < out.len() {
            let Some(at) = address.checked_add(done as u64) else { break };
            let Some(bytes) = self.bytes_at(at) else { break };
            let length = bytes.len().min(out.len() - done);
            out[done..done + length].copy_from_slice(&bytes[..length]);
            done += length;
        }
        done
    }

    /// The halfword at `address`, little-endian.
    pub fn halfword(&self, address: u64) -> Option<u16> {
        let mut bytes = [0; 2];
        (self.read(address, &mut bytes) == 2).then(|| u16::from_le_bytes(bytes))
    }

    /// The word at `address`, little-endian.
    pub fn word(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.read(address, &mut bytes) == 4).then(|| u32::from_le_bytes(bytes))
    }

    /// The instruction at `pc` and its length in bytes, 2 or 4; `None` in a hole. Of RISC-V's reserved longer
    /// forms it is the first word, which is what traps.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use trackway_core::Isa;
    /// use trackway_image::{Memory, Segment};
    ///
    /// let memory = Memory::new([Segment::new(0x1000, Arc::new([0x13, 0x05, 0xa5, 0x00, 0x82, 0x80]))?]);
    /// assert_eq!(memory.fetch(Isa::Rv64, 0x1000), Some((0x00a5_0513, 4)));
    /// assert_eq!(memory.fetch(Isa::Rv64, 0x1004), Some((0x8082, 2)));
    /// assert_eq!(memory.fetch(Isa::Rv64, 0x1006), None);
    /// # Ok::<(), trackway_image::Error>(())
    /// ```
    pub fn fetch(&self, isa: Isa, pc: u64) -> Option<(u32, u8)> {
        let mut bytes = [0; 4];
        let known = self.read(pc, &mut bytes);
        fetch(isa, &bytes[..known])
    }

    /// The executable ranges, adjacent segments joined.
    pub(crate) fn code(&self) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        for segment in self.segments.iter().filter(|segment| segment.executable) {
            let length = segment.length as u64;
            match ranges.last_mut() {
                Some(range) if segment.address - range.address == range.length => range.length += length,
                _ => ranges.push(Range { address: segment.address, length }),
            }
        }
        ranges
    }
}

/// The instruction at the front of `bytes`, zero-extended, and its length.
#[inline]
pub(crate) fn fetch(isa: Isa, bytes: &[u8]) -> Option<(u32, u8)> {
    let half = u32::from(u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?]));
    let wide = match isa {
        // Longer forms are reserved and no core has them: the first word is what traps.
        Isa::Rv32 | Isa::Rv64 => half & 0b11 == 0b11,
        Isa::T32 => trackway_isa::arm::t32::is_wide(half),
        Isa::A64 | Isa::A32 => true,
        Isa::Other => return None,
    };
    if !wide {
        return Some((half, 2));
    }
    let high = u32::from(u16::from_le_bytes([*bytes.get(2)?, *bytes.get(3)?]));
    Some((half | high << 16, 4))
}

/// Takes `[first, last]` out of the map.
fn cut(map: &mut BTreeMap<u64, Segment>, first: u64, last: u64) {
    if let Some((_, below)) = map.range(..first).next_back()
        && below.last() >= first
    {
        let below = below.clone();
        map.insert(below.address, below.below(first));
        if below.last() > last {
            map.insert(last + 1, below.from(last + 1));
        }
    }
    while let Some((&address, inside)) = map.range(first..=last).next() {
        let rest = (inside.last() > last).then(|| inside.from(last + 1));
        map.remove(&address);
        if let Some(rest) = rest {
            map.insert(rest.address, rest);
        }
    }
}

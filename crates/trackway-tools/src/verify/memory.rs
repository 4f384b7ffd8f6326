//! Memory of the golden model: what is known of it, byte by byte, and what a step changed.

use std::collections::{BTreeMap, HashMap};

use trackway_hart::{Bus, Program};

const PAGE: usize = 4096;
/// Pages found without a look into the index: a power of two.
const RECENT: usize = 64;
const NONE: (u64, u32) = (u64::MAX, 0);

/// A page: its bytes and which of them are known.
struct Page {
    bytes: [u8; PAGE],
    known: [u64; PAGE / 64],
    /// All of it is memory, no device is in it: then nothing else has to be asked.
    plain: bool,
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Page({} bytes known)", self.known.iter().map(|word| word.count_ones()).sum::<u32>())
    }
}

/// An address range, `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
}

impl Range {
    /// Is the address in it?
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    fn overlaps(&self, start: u64, last: u64) -> bool {
        self.start <= last && start < self.end
    }
}

/// Memory that is known in part. Unknown bytes that a load reads are learned from the trace.
#[derive(Debug)]
pub struct Memory {
    pages: Vec<Page>,
    index: HashMap<u64, u32>,
    /// Pages used of late, by the low bits of their numbers.
    recent: [(u64, u32); RECENT],
    /// Devices: what the trace says is taken as it is.
    mmio: Vec<Range>,
    /// Where memory is; everything else faults. Empty: faults are taken from the trace.
    map: Vec<Range>,
    /// The value that the trace says was loaded, for unknown memory and devices.
    pub(crate) loaded: Option<u64>,
    /// The traced instruction, for unknown memory at the pc: halves still to be fetched.
    pub(crate) fetched: Option<(u32, u8)>,
    /// The trace says that the fetch of this step faults.
    pub(crate) fault_fetch: bool,
    /// The trace says that the fetch of this step faults at the second half of its instruction.
    pub(crate) fault_second: bool,
    /// The trace says that the access of this step faults.
    pub(crate) fault_data: bool,
    /// A load read memory that neither the program nor the trace has.
    pub(crate) blind: bool,
    /// A load read memory of which at most the trace says what it holds.
    pub(crate) learned: bool,
    /// An instruction was fetched from such memory.
    pub(crate) learned_code: bool,
    /// A page walk read an entry that is not known.
    pub(crate) lost: bool,
    /// Memory that is zero until something is written.
    pub(crate) zeroed: Vec<Range>,
    /// Memory that holds what the trace shows of it.
    pub(crate) trusted: Vec<Range>,
    /// Values that devices return at these addresses, where they were set.
    devices: HashMap<u64, u64>,
    /// Bytes that the step overwrote: address, size, and old value, if known (byte by byte if not all were).
    journal: Vec<(u64, u8, Option<u64>)>,
    /// Bytes that the step read, where asked for.
    pub(crate) reads: Option<Vec<(u64, u8)>>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new(Vec::new(), Vec::new())
    }
}

impl Memory {
    /// Memory of which nothing is known, with these devices, in these places (anywhere if there are none).
    pub fn new(mmio: Vec<Range>, map: Vec<Range>) -> Self {
        Memory {
            pages: Vec::new(),
            index: HashMap::new(),
            recent: [NONE; RECENT],
            mmio,
            map,
            loaded: None,
            fetched: None,
            fault_fetch: false,
            fault_second: false,
            fault_data: false,
            blind: false,
            learned: false,
            learned_code: false,
            lost: false,
            zeroed: Vec::new(),
            trusted: Vec::new(),
            devices: HashMap::new(),
            journal: Vec::new(),
            reads: None,
        }
    }

    /// A new step: forgets what the last one left.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.journal.clear();
        (self.loaded, self.fetched, self.blind) = (None, None, false);
        (self.learned, self.learned_code, self.lost) = (false, false, false);
        (self.fault_fetch, self.fault_second, self.fault_data) = (false, false, false);
    }

    /// Puts back what the step overwrote.
    pub(crate) fn revert(&mut self) {
        self.revert_from(0);
    }

    /// Puts back what the step overwrote, but for its first writes.
    pub(crate) fn revert_from(&mut self, first: usize) {
        while self.journal.len() > first {
            let Some((address, size, old)) = self.journal.pop() else { return };
            match old {
                Some(word) => self.set_word(address, size.into(), word),
                None => self.forget(address),
            }
        }
    }

    /// Writes of the step so far.
    pub(crate) fn written_count(&self) -> usize {
        self.journal.len()
    }

    /// Puts back what the step overwrote; returns the content that its writes, but for the first `from`, had left.
    pub(crate) fn take_written(&mut self, from: usize) -> Vec<(u64, Option<u8>)> {
        let places: Vec<_> = self.journal.iter().skip(from).map(|(at, size, _)| (*at, *size)).collect();
        let bytes =
            places.into_iter().flat_map(|(at, size)| (0..size.into()).map(move |n| at.wrapping_add(n)));
        let written = bytes.map(|at| (at, self.get(at))).collect();
        self.revert();
        written
    }

    /// Bytes that the step overwrote, as they were before.
    pub(crate) fn overwritten(&self) -> BTreeMap<u64, Option<u8>> {
        let mut bytes = BTreeMap::new();
        for (at, size, old) in self.journal.iter().rev() {
            for n in 0..u64::from(*size) {
                bytes.insert(at.wrapping_add(n), old.map(|word| (word >> (8 * n)) as u8));
            }
        }
        bytes
    }

    /// Sets up to 8 bytes as a write of the step.
    pub(crate) fn put(&mut self, address: u64, size: u64, value: u64) {
        for (n, byte) in value.to_le_bytes().into_iter().enumerate().take(size as usize) {
            self.put_all(&[(address.wrapping_add(n as u64), Some(byte))]);
        }
    }

    /// Sets bytes, or makes them unknown, as writes of the step.
    pub(crate) fn put_all(&mut self, bytes: &[(u64, Option<u8>)]) {
        for (at, byte) in bytes {
            let old = self.get(*at).map(u64::from);
            self.journal.push((*at, 1, old));
            match byte {
                Some(byte) => self.set(*at, *byte),
                None => self.forget(*at),
            }
        }
    }

    #[inline]
    fn page(&mut self, address: u64) -> Option<u32> {
        let number = address / PAGE as u64;
        let slot = &mut self.recent[number as usize % RECENT];
        if slot.0 != number {
            *slot = (number, *self.index.get(&number)?);
        }
        Some(slot.1)
    }

    fn page_or_new(&mut self, address: u64) -> &mut Page {
        let n = match self.page(address) {
            Some(n) => n,
            None => {
                let n = self.pages.len() as u32;
                let start = address & !(PAGE as u64 - 1);
                let last = start + (PAGE as u64 - 1);
                let within = |range: &Range| range.contains(start) && range.contains(last);
                let plain = (self.map.is_empty() || self.map.iter().any(within))
                    && !self.mmio.iter().any(|range| range.overlaps(start, last));
                let mut known = [0; PAGE / 64];
                for range in self.zeroed.iter().filter(|range| range.overlaps(start, last)) {
                    for at in (0..PAGE).filter(|at| range.contains(start + *at as u64)) {
                        known[at / 64] |= 1 << (at % 64);
                    }
                }
                self.pages.push(Page { bytes: [0; PAGE], known, plain });
                self.index.insert(address / PAGE as u64, n);
                n
            }
        };
        &mut self.pages[n as usize]
    }

    /// A byte, where known.
    pub(crate) fn get(&mut self, address: u64) -> Option<u8> {
        if self.page(address).is_none() && self.zeroed.iter().any(|range| range.contains(address)) {
            self.page_or_new(address);
        }
        let n = self.page(address)?;
        let (page, at) = (&self.pages[n as usize], address as usize % PAGE);
        (page.known[at / 64] >> (at % 64) & 1 != 0).then_some(page.bytes[at])
    }

    /// Sets a byte.
    pub(crate) fn set(&mut self, address: u64, byte: u8) {
        let page = self.page_or_new(address);
        let at = address as usize % PAGE;
        page.bytes[at] = byte;
        page.known[at / 64] |= 1 << (at % 64);
    }

    fn forget(&mut self, address: u64) {
        let page = self.page_or_new(address);
        let at = address as usize % PAGE;
        page.known[at / 64] &= !(1 << (at % 64));
    }

    /// Makes everything unknown: somebody who is not in the trace may have written it.
    pub(crate) fn forget_all(&mut self) {
        self.zeroed.clear();
        self.pages.clear();
        self.index.clear();
        self.recent = [NONE; RECENT];
    }

    /// Sets up to 8 bytes.
    pub(crate) fn set_word(&mut self, address: u64, size: u64, value: u64) {
        for (n, byte) in value.to_le_bytes().into_iter().enumerate().take(size as usize) {
            self.set(address.wrapping_add(n as u64), byte);
        }
    }

    /// Makes up to 8 bytes unknown.
    pub(crate) fn forget_word(&mut self, address: u64, size: u64) {
        (0..size.min(8)).for_each(|n| self.forget(address.wrapping_add(n)));
    }

    /// Up to 8 bytes, where all are known.
    pub(crate) fn word(&mut self, address: u64, size: u64) -> Option<u64> {
        let mut le = [0; 8];
        for n in 0..size.min(8) {
            le[n as usize] = self.get(address.wrapping_add(n))?;
        }
        Some(u64::from_le_bytes(le))
    }

    /// Sets what is unknown of up to 8 bytes.
    pub(crate) fn learn(&mut self, address: u64, size: u64, value: u64) {
        for (n, byte) in value.to_le_bytes().into_iter().enumerate().take(size as usize) {
            let at = address.wrapping_add(n as u64);
            if self.get(at).is_none() {
                self.set(at, byte);
            }
        }
    }

    /// Loads a program at its physical addresses plus `offset`. Where the file has no content memory is 0.
    pub fn load_program(&mut self, program: &Program, offset: u64) {
        for segment in &program.segments {
            let start = segment.physical.wrapping_add(offset);
            self.load(start, segment.bytes());
            self.clear(start.wrapping_add(segment.bytes().len() as u64), segment.zeros());
        }
    }

    /// Sets bytes.
    pub fn load(&mut self, address: u64, bytes: &[u8]) {
        for (n, byte) in bytes.iter().enumerate() {
            self.set(address.wrapping_add(n as u64), *byte);
        }
    }

    /// Sets bytes to 0.
    fn clear(&mut self, address: u64, count: u64) {
        (0..count).for_each(|n| self.set(address.wrapping_add(n), 0));
    }

    /// Is it a device?
    pub(crate) fn is_mmio(&self, address: u64) -> bool {
        self.mmio.iter().any(|range| range.contains(address))
    }

    fn is_trusted(&self, address: u64) -> bool {
        self.trusted.iter().any(|range| range.contains(address))
    }

    fn exists(&self, address: u64) -> bool {
        self.map.is_empty() || self.map.iter().any(|range| range.contains(address)) || self.is_mmio(address)
    }

    /// All of an aligned word in a page that is plain memory, without a look at each byte; and its page.
    #[inline]
    fn quick(&mut self, address: u64, size: usize) -> Option<(u64, &mut Page)> {
        let n = self.page(address)?;
        let (page, at) = (self.pages.get_mut(n as usize)?, address as usize % PAGE);
        let wanted = (1u64 << size) - 1;
        if !page.plain || at & (size - 1) != 0 || page.known[at / 64] >> (at % 64) & wanted != wanted {
            return None;
        }
        let value = trackway_hart::load(&page.bytes, at, size)?;
        Some((value, page))
    }

    /// A device returns this for loads from this address, whatever the trace says.
    pub fn set_device(&mut self, address: u64, value: u64) {
        self.devices.insert(address, value);
    }

    /// A load that has to ask what is there.
    fn read_slowly(&mut self, address: u64, size: usize) -> Option<u64> {
        if !self.exists(address) {
            return None;
        }
        if self.is_mmio(address) {
            if let Some(value) = self.devices.get(&address) {
                return Some(*value);
            }
            self.blind |= self.loaded.is_none();
            return Some(self.loaded.unwrap_or(0));
        }
        if let Some(value) = self.word(address, size as u64) {
            return Some(self.note(address, size, value));
        }
        self.learned |= !self.is_trusted(address);
        match self.loaded {
            Some(value) => self.learn(address, size as u64, value),
            None => self.blind = true,
        }
        let value = self.word(address, size as u64).unwrap_or(0);
        Some(self.note(address, size, value))
    }

    /// Keeps what was read, where asked for.
    #[inline]
    fn note(&mut self, address: u64, size: usize, value: u64) -> u64 {
        if let Some(reads) = &mut self.reads {
            let bytes = value.to_le_bytes();
            reads.extend((0..size).map(|n| (address.wrapping_add(n as u64), bytes[n])));
        }
        value
    }
}

/// Memory for a stretch of instructions: what has to be asked for is left to single steps, and so is an instruction that
/// writes more than once.
pub(super) struct Known<'m>(pub(super) &'m mut Memory);

impl Bus for Known<'_> {
    #[inline(always)]
    fn read(&mut self, address: u64, size: usize) -> Option<u64> {
        self.0.quick(address, size).map(|(value, _)| value)
    }

    #[inline(always)]
    fn write(&mut self, address: u64, size: usize, value: u64) -> bool {
        let Some((old, page)) = self.0.quick(address, size) else { return false };
        let stored = trackway_hart::store(&mut page.bytes, address as usize % PAGE, size, value);
        // Only the last instruction can turn out to be wrong.
        self.0.journal.clear();
        self.0.journal.push((address, size as u8, Some(old)));
        stored
    }

    fn writable(&mut self, _: u64, _: usize) -> bool {
        false
    }
}

impl Bus for Memory {
    #[inline]
    fn read(&mut self, address: u64, size: usize) -> Option<u64> {
        if self.fault_data {
            return None;
        }
        match self.quick(address, size) {
            Some((value, _)) => Some(self.note(address, size, value)),
            None => self.read_slowly(address, size),
        }
    }

    fn entry(&mut self, address: u64, size: usize) -> Option<u64> {
        if !self.exists(address) {
            return None;
        }
        let known = self.word(address, size as u64);
        self.lost |= known.is_none();
        Some(self.note(address, size, known.unwrap_or(0)))
    }

    #[inline]
    fn write(&mut self, address: u64, size: usize, value: u64) -> bool {
        if self.fault_data {
            return false;
        }
        if let Some((old, page)) = self.quick(address, size) {
            let stored = trackway_hart::store(&mut page.bytes, address as usize % PAGE, size, value);
            self.journal.push((address, size as u8, Some(old)));
            return stored;
        }
        if !self.exists(address) {
            return false;
        }
        if self.is_mmio(address) {
            return true;
        }
        for (n, byte) in value.to_le_bytes().into_iter().enumerate().take(size) {
            let at = address.wrapping_add(n as u64);
            let old = self.get(at);
            self.journal.push((at, 1, old.map(u64::from)));
            self.set(at, byte);
        }
        true
    }

    fn fetch(&mut self, address: u64) -> Option<u16> {
        if std::mem::take(&mut self.fault_second) && self.exists(address) {
            // Of an unknown first half this is known: that it has a second one.
            let known = self.word(address, 2);
            return Some(known.map_or(0b11, |half| self.note(address, 2, half) as u16));
        }
        if self.fault_fetch || !self.exists(address) {
            return None;
        }
        let (known, trusted) = (self.word(address, 2), self.is_trusted(address));
        let half = match (known, &mut self.fetched) {
            (Some(half), fetched) => {
                if let Some((encoding, left)) = fetched {
                    (*encoding, *left) = (*encoding >> 16, left.saturating_sub(2));
                }
                half as u16
            }
            (None, Some((encoding, left @ 2..))) => {
                let half = *encoding as u16;
                (*encoding, *left) = (*encoding >> 16, *left - 2);
                self.learned_code |= !trusted;
                self.learn(address, 2, half.into());
                half
            }
            _ => {
                self.blind = true;
                return None;
            }
        };
        Some(self.note(address, 2, half.into()) as u16)
    }

    fn writable(&mut self, address: u64, _: usize) -> bool {
        !self.fault_data && self.exists(address)
    }
}

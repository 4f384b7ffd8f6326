//! Bytes to items, one by one or group by group.

use serde::{Deserialize, Serialize};
use trackway_core::{Bytes, Error, ErrorKind, Feed, Input, Result};

use crate::config::{Config, Widths};
use crate::group::{Frame, Group};
use crate::mem_op::MemOp;
use crate::record::{ADDITIONAL_STATE, Record, number};

/// Most items of a group; a larger one is refused, so that memory stays bounded.
pub const LARGEST_GROUP: usize = 1 << 20;

/// Most items outside groups that are returned at once.
const LARGEST_RUN: usize = 1 << 12;

/// Groups that must decode before a place counts as the start of a group.
const TRIAL: usize = 4;

/// Bytes that are passed before the input hears of it.
const MANY: usize = 1 << 16;

/// Bytes that are searched at a time for that place.
const LOOK_AHEAD: usize = 1 << 16;

/// Reads a trace.
///
/// ```
/// use trackway_core::Input;
/// use trackway_tandem::{Config, Group, Reader, Record};
/// // Table C.4, corrected: c.sub a0, a1.
/// let bytes = [0x01, 0x03, 0x10, 0x0d, 0x8d, 0x04, 0x0a, 0x10, 0x78, 0x56, 0x34, 0x12, 255, 255, 255, 255, 0x02];
/// let mut reader = Reader::new(Input::from_vec(bytes.to_vec()), &Config::default())?;
/// let mut group = Group::default();
/// assert!(reader.read_group(&mut group)?);
/// assert_eq!(group.records[1], Record::Instruction16(0x8d0d));
/// assert_eq!(group.records[2], Record::FullRegister { address: 0x100a, data: 0xffff_ffff_1234_5678 });
/// assert!(!reader.read_group(&mut group)?);
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    feed: Feed,
    /// Bytes of `feed` that were passed: it hears of them once they are many.
    passed: usize,
    widths: Widths,
    /// The item just read, for `read`.
    before: Option<Record>,
    /// Is `read` inside a group?
    inside: bool,
    /// The end of some group was implied, so any begin group may start one.
    implied: bool,
}

/// A place between two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    offset: u64,
    implied: bool,
}

impl Reader {
    /// A reader at the start of `input`.
    pub fn new(input: Input, config: &Config) -> Result<Self> {
        Ok(Self::with_widths(input, config.widths()?))
    }

    pub(crate) fn with_widths(input: Input, widths: Widths) -> Self {
        Reader { feed: Feed::new(input), passed: 0, widths, before: None, inside: false, implied: false }
    }

    /// Bytes of the input, if it is in memory.
    pub(crate) fn size(&self) -> Option<u64> {
        self.feed.is_whole().then(|| self.offset() + self.ahead().len() as u64)
    }

    /// Field widths.
    pub fn widths(&self) -> &Widths {
        &self.widths
    }

    /// Byte offset of the next item.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.feed.offset() + self.passed as u64
    }

    /// The bytes that were read and are not passed yet, for those who read whole groups of them by themselves.
    #[inline]
    pub(crate) fn ahead(&self) -> &[u8] {
        self.feed.bytes().get(self.passed..).unwrap_or_default()
    }

    /// Passes the bytes of whole groups; the end of some is implied.
    #[inline]
    pub(crate) fn pass_groups(&mut self, len: usize, implied: bool) {
        self.implied |= implied;
        self.pass(len);
    }

    #[inline]
    fn pass(&mut self, len: usize) {
        self.passed += len;
        if self.passed >= MANY {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.feed.consume(std::mem::take(&mut self.passed));
    }

    /// Reads more of the input; false if there is no more.
    fn more(&mut self) -> Result<bool> {
        self.settle();
        self.feed.some()
    }

    /// The place between two groups, if the input is in memory.
    pub(crate) fn place(&self) -> Option<Place> {
        self.feed.is_whole().then(|| Place { offset: self.offset(), implied: self.implied })
    }

    /// Moves to a place ahead; false, and nothing has changed, if there is no such place.
    pub(crate) fn enter(&mut self, place: Place) -> bool {
        let ahead = place.offset.checked_sub(self.offset()).and_then(|ahead| usize::try_from(ahead).ok());
        match ahead {
            Some(ahead) if self.feed.is_whole() && ahead <= self.ahead().len() => {
                self.pass(ahead);
                self.implied = place.implied;
                true
            }
            _ => false,
        }
    }

    /// The next item with its offset; `None` at the end.
    pub fn read(&mut self) -> Result<Option<(u64, Record)>> {
        loop {
            let buffered = self.ahead();
            let mut bytes = Bytes::new(buffered);
            if !buffered.is_empty() {
                match Record::read(&mut bytes, &self.widths, self.before.as_ref()) {
                    Err(error) if error.is_truncated() => {}
                    Err(error) => return Err(Error { offset: self.offset() + error.offset, ..error }),
                    Ok(record) => {
                        let (offset, len) = (self.offset(), bytes.position());
                        self.pass(len);
                        self.before = Some(record);
                        self.implied |= self.inside && record == Record::BeginGroup;
                        self.inside = match record {
                            Record::BeginGroup => true,
                            Record::EndGroup => false,
                            _ => self.inside,
                        };
                        return Ok(Some((offset, record)));
                    }
                }
            }
            if self.more()? {
                continue;
            }
            if !self.ahead().is_empty() {
                let mut bytes = Bytes::new(self.ahead());
                let cut = Record::read(&mut bytes, &self.widths, self.before.as_ref());
                let offset = self.offset();
                return cut.map(|_| None).map_err(|error| Error { offset, ..error });
            }
            if std::mem::take(&mut self.inside) {
                return Err(ErrorKind::Truncated.at(self.offset(), "group", "end group", "Tandem 3"));
            }
            return Ok(None);
        }
    }

    /// Reads the next group, or the items before it; false at the end. After an error the reader stays at the
    /// start of the group that has it (`read` returns its items one by one).
    #[inline]
    pub fn read_group(&mut self, group: &mut Group) -> Result<bool> {
        loop {
            let ahead = self.feed.bytes().get(self.passed..).unwrap_or_default();
            match scan(ahead, &self.widths, group) {
                Ok(0) => {
                    if !self.more()? {
                        return Ok(false);
                    }
                }
                Ok(len) => {
                    // The response to a request may still follow.
                    if group.frame == Frame::Outside
                        && len == ahead.len()
                        && matches!(group.records.last(), Some(Record::MemoryRequest { .. }))
                        && self.more()?
                    {
                        continue;
                    }
                    group.offset = self.offset();
                    self.implied |= group.frame == Frame::Implied;
                    self.pass(len);
                    return Ok(true);
                }
                Err(error) => {
                    if error.is_truncated() && self.more()? {
                        continue;
                    }
                    return Err(Error { offset: self.offset() + error.offset, ..error });
                }
            }
        }
    }

    /// Moves to the next place from which groups can be read, after an error. Returns the bytes skipped, or
    /// `None` (with all of the input skipped) if there is no such place.
    pub fn resync(&mut self) -> Result<Option<u64>> {
        (self.before, self.inside) = (None, false);
        self.settle();
        let start = self.feed.offset();
        loop {
            while self.feed.bytes().len() < LOOK_AHEAD && self.feed.some()? {}
            let bytes = self.feed.bytes();
            if bytes.is_empty() {
                return Ok(None);
            }
            let ended = bytes.len() < LOOK_AHEAD;
            let last = if ended { bytes.len() } else { bytes.len() - LOOK_AHEAD / 2 };
            let found = next_group(&bytes[..last], bytes, &self.widths, self.implied);
            self.feed.consume(found.unwrap_or(last).max(1));
            if found.is_some() {
                return Ok(Some(self.feed.offset() - start));
            }
        }
    }
}

/// Reads the group, or the items outside groups, at the start of `data`; returns its length.
#[inline(always)]
pub(crate) fn scan(data: &[u8], widths: &Widths, group: &mut Group) -> Result<usize> {
    group.records.clear();
    match data.first() {
        None => return Ok(0),
        Some(&number::BEGIN_GROUP) => {}
        Some(_) => return scan_outside(data, widths, group),
    }
    if widths.is_64() { scan_group(data, &widths.as_64(), group) } else { scan_group(data, widths, group) }
}

/// Reads the group at the start of `data`.
#[inline(always)]
fn scan_group(data: &[u8], widths: &Widths, group: &mut Group) -> Result<usize> {
    let records = &mut group.records;
    let mut at = scan_front(data, widths, records);
    loop {
        match data.get(at) {
            Some(&number::BEGIN_GROUP) => {
                group.frame = Frame::Implied;
                return Ok(at);
            }
            Some(&number::END_GROUP) => {
                group.frame = Frame::Ended;
                return Ok(at + 1);
            }
            Some(_) => {}
            None => return Err(ErrorKind::Truncated.at(at as u64, "group", "end group", "Tandem 3")),
        }
        let next = scan_common(data, at, widths, records);
        if next != at {
            at = next;
            continue;
        }
        let mut bytes = Bytes::new(&data[at..]);
        match Record::read(&mut bytes, widths, records.last()) {
            Ok(record) => records.push(record),
            Err(error) => return Err(Error { offset: error.offset + at as u64, ..error }),
        }
        at += bytes.position();
        if records.len() > LARGEST_GROUP {
            let kind = ErrorKind::Unsupported { found: records.len() as u64 };
            return Err(kind.at(at as u64, "group", "items", "Tandem 3"));
        }
    }
}

/// Reads the items that most groups begin with, the pc and an instruction; returns the place after those it read.
#[inline(always)]
fn scan_front(data: &[u8], widths: &Widths, records: &mut Vec<Record>) -> usize {
    if let Some(front) = data.first_chunk::<16>()
        && let [_, ADDITIONAL_STATE, number::PC, pc @ .., opcode, a, b, c, d] = *front
        && widths.xlen == 8
    {
        let pc = Record::Pc(u64::from_le_bytes(pc));
        match opcode {
            number::INSTRUCTION32 => {
                let encoding = u32::from_le_bytes([a, b, c, d]);
                records.push(pc);
                records.push(Record::Instruction32(encoding));
                return 16;
            }
            number::INSTRUCTION16 => {
                records.push(pc);
                records.push(Record::Instruction16(u16::from_le_bytes([a, b])));
                return 14;
            }
            _ => {}
        }
    }
    1
}

/// Bytes of the longest common item: a memory request with data.
const COMMON: usize = 18;

/// Reads common items until another one comes; returns the place of that.
///
/// Several times as fast as `Record::read`, which reads all others and places their errors. `tests/properties.rs`
/// compares the two.
#[inline(always)]
fn scan_common(data: &[u8], mut at: usize, widths: &Widths, records: &mut Vec<Record>) -> usize {
    let low = |value: u64, width: u8| value & (u64::MAX >> (64 - 8 * u32::from(width)));
    while let Some(window) = data.get(at..).and_then(|rest| rest.first_chunk::<COMMON>())
        // Each item has a byte at least.
        && at < LARGEST_GROUP
    {
        let word = |at: usize| window.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word));
        let [opcode, a, b, c, d, ..] = *window;
        let (Some(first), Some(middle), Some(last)) = (word(1), word(2), word(3)) else { break };
        // Each arm appends its own item: a copy less.
        match opcode {
            ADDITIONAL_STATE => match a {
                number::PC => {
                    records.push(Record::Pc(low(middle, widths.xlen)));
                    at += 2 + usize::from(widths.xlen);
                }
                number::EFFECTIVE_ADDRESS => {
                    records.push(Record::EffectiveAddress(low(middle, widths.eaddr)));
                    at += 2 + usize::from(widths.eaddr);
                }
                number::STORE_DATA..number::MTIME => {
                    let size = a - number::STORE_DATA;
                    records.push(Record::StoreData { size, data: low(middle, 1 << size) });
                    at += 2 + (1 << size);
                }
                _ => break,
            },
            number::INSTRUCTION32 => {
                records.push(Record::Instruction32(u32::from_le_bytes([a, b, c, d])));
                at += 5;
            }
            number::INSTRUCTION16 => {
                records.push(Record::Instruction16(u16::from_le_bytes([a, b])));
                at += 3;
            }
            number::FULL_REGISTER => {
                let address = u16::from_le_bytes([a, b]);
                let Some(width) = widths.register(address) else { break };
                records.push(Record::FullRegister { address, data: low(last, width) });
                at += 3 + usize::from(width);
            }
            number::MEMORY_REQUEST => {
                let next = 2 + usize::from(widths.mlen);
                let (Some(&codes), Some(value)) = (window.get(next - 1), word(next)) else { break };
                let (op, size) = (MemOp(codes & 0xf), codes >> 4);
                if op.0 > MemOp::LAST || size > 3 {
                    break;
                }
                let sent = if op.sends() { 1 << size } else { 0 };
                let data = if op.sends() { low(value, sent) } else { 0 };
                records.push(Record::MemoryRequest { address: low(first, widths.mlen), op, size, data });
                at += next + usize::from(sent);
            }
            number::MEMORY_RESPONSE => {
                let Some(Record::MemoryRequest { op, .. }) = records.last() else { break };
                let (size, result) = (a & 0xf, a >> 4);
                if size > 3 {
                    break;
                }
                let data = op.returns().then(|| low(middle, 1 << size));
                records.push(Record::MemoryResponse { size, result, data });
                at += 2 + if data.is_some() { 1 << size } else { 0 };
            }
            number::INCREMENT_PC => {
                records.push(Record::IncrementPc);
                at += 1;
            }
            _ => break,
        }
    }
    at
}

/// Items up to the next begin group.
fn scan_outside(data: &[u8], widths: &Widths, group: &mut Group) -> Result<usize> {
    let mut bytes = Bytes::new(data);
    group.frame = Frame::Outside;
    let asks = |records: &[Record]| matches!(records.last(), Some(Record::MemoryRequest { .. }));
    while !matches!(bytes.rest().first(), None | Some(&number::BEGIN_GROUP))
        && (group.records.len() < LARGEST_RUN || asks(&group.records))
    {
        let at = bytes.position();
        match Record::read(&mut bytes, widths, group.records.last()) {
            // Outside groups time passes: another time begins another stretch.
            Ok(Record::Mtime(_)) if group.records.iter().any(|one| matches!(one, Record::Mtime(_))) => {
                return Ok(at);
            }
            Ok(record) => group.records.push(record),
            // The items before the bad one are returned first, but a response keeps its request.
            Err(error) => {
                let request = group.records.last().filter(|_| data[at] == number::MEMORY_RESPONSE);
                let len = match request {
                    Some(request @ Record::MemoryRequest { .. }) => at - request.len(widths),
                    _ => at,
                };
                if len == 0 {
                    return Err(Error { offset: error.offset + at as u64, ..error });
                }
                if len < at {
                    group.records.pop();
                }
                return Ok(len);
            }
        }
    }
    Ok(bytes.position())
}

/// The first place after the first byte of `places` from which groups can be read. `data` begins with `places` and may
/// reach further; `implied` says that groups need not have an end.
pub(crate) fn next_group(places: &[u8], data: &[u8], widths: &Widths, implied: bool) -> Option<usize> {
    (1..places.len()).find(|&at| {
        places[at] == number::BEGIN_GROUP
            && (places[at - 1] == number::END_GROUP || implied)
            && plausible(&data[at..], widths)
    })
}

/// Do groups start here?
fn plausible(data: &[u8], widths: &Widths) -> bool {
    let mut group = Group::default();
    let mut at = 0;
    for n in 0..TRIAL {
        match scan(&data[at..], widths, &mut group) {
            Ok(0) => return n > 0,
            Ok(len) if !group.records.is_empty() => at += len,
            Ok(_) => return false,
            Err(error) => return error.is_truncated() && n > 0,
        }
    }
    true
}

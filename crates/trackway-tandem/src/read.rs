//! Bytes to items, one by one or group by group.

use trackway_core::{Bytes, Error, ErrorKind, Feed, Input, Result};

use crate::config::{Config, Profile, Widths};
use crate::group::View;
use crate::record::Record;
use crate::registers::Registers;

/// Items that the reader holds at once; a group with more is refused, so that memory stays bounded.
pub const LARGEST_GROUP: usize = 1 << 20;

/// Items outside groups that are given at once.
const LARGEST_RUN: usize = 1 << 12;

/// Groups that have to decode before a place is taken as a group's start again.
const TRIAL: usize = 4;

/// How much of the input is looked at to find that place.
const LOOK_AHEAD: usize = 1 << 16;

/// How a group stands in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frame {
    /// Between begin group and end group.
    #[default]
    Ended,
    /// Its end is implied by the next begin (chapter 3).
    Implied,
    /// Items outside any group.
    Outside,
}

/// State changes that happen together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Byte offset of its first item, begin group included.
    pub offset: u64,
    /// How it stands in the stream.
    pub frame: Frame,
    /// Its items, without begin and end. Outside groups, a lone end group is among them.
    pub records: Vec<Record>,
}

impl Group {
    /// Byte offset of item `n` of `records`.
    pub fn offset_of(&self, n: usize, widths: &Widths) -> u64 {
        let begin = u64::from(self.frame != Frame::Outside);
        let before: usize = self.records.iter().take(n).map(|record| record.len(widths)).sum();
        self.offset + begin + before as u64
    }

    /// Items as they stand on the wire, begin and end included.
    pub fn wire(&self) -> impl Iterator<Item = Record> + '_ {
        let begin = (self.frame != Frame::Outside).then_some(Record::BeginGroup);
        let end = (self.frame == Frame::Ended).then_some(Record::EndGroup);
        begin.into_iter().chain(self.records.iter().copied()).chain(end)
    }
}

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
    widths: Widths,
    /// The item just read, for `read`.
    before: Option<Record>,
    /// Is `read` inside a group?
    inside: bool,
    /// Some group's end was implied: then any begin may start a group.
    implied: bool,
}

impl Reader {
    /// A reader at the start of `input`.
    pub fn new(input: Input, config: &Config) -> Result<Self> {
        let widths = config.widths()?;
        Ok(Reader { feed: Feed::new(input), widths, before: None, inside: false, implied: false })
    }

    /// Field widths.
    pub fn widths(&self) -> &Widths {
        &self.widths
    }

    /// Byte offset of what comes next.
    pub fn offset(&self) -> u64 {
        self.feed.offset()
    }

    /// The next item with its offset; `None` at the end.
    pub fn read(&mut self) -> Result<Option<(u64, Record)>> {
        loop {
            let at_hand = self.feed.bytes();
            let mut bytes = Bytes::new(at_hand);
            if !at_hand.is_empty() {
                match Record::read(&mut bytes, &self.widths, self.before.as_ref()) {
                    Err(error) if error.is_truncated() => {}
                    Err(error) => return Err(Error { offset: self.feed.offset() + error.offset, ..error }),
                    Ok(record) => {
                        let (offset, len) = (self.feed.offset(), bytes.position());
                        self.feed.consume(len);
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
            if self.feed.more()? {
                continue;
            }
            if !self.feed.bytes().is_empty() {
                let mut bytes = Bytes::new(self.feed.bytes());
                let cut = Record::read(&mut bytes, &self.widths, self.before.as_ref());
                let offset = self.feed.offset();
                return cut.map(|_| None).map_err(|error| Error { offset, ..error });
            }
            if std::mem::take(&mut self.inside) {
                return Err(ErrorKind::Truncated.at(self.feed.offset(), "group", "end group", "Tandem 3"));
            }
            return Ok(None);
        }
    }

    /// The next group, or the items up to the next one; false at the end. After an error nothing of the
    /// group that has it is given (`read` gives it item by item).
    #[inline]
    pub fn read_group(&mut self, group: &mut Group) -> Result<bool> {
        loop {
            match scan(self.feed.bytes(), &self.widths, group) {
                Ok(0) => {
                    if !self.feed.more()? {
                        return Ok(false);
                    }
                }
                Ok(len) => {
                    // The response to a request may still come.
                    if group.frame == Frame::Outside
                        && len == self.feed.bytes().len()
                        && matches!(group.records.last(), Some(Record::MemoryRequest { .. }))
                        && self.feed.more()?
                    {
                        continue;
                    }
                    group.offset = self.feed.offset();
                    self.implied |= group.frame == Frame::Implied;
                    self.feed.consume(len);
                    return Ok(true);
                }
                Err(error) => {
                    if error.is_truncated() && self.feed.more()? {
                        continue;
                    }
                    return Err(Error { offset: self.feed.offset() + error.offset, ..error });
                }
            }
        }
    }

    /// After an error: goes to the next place from which groups can be read. Gives the bytes skipped, `None`
    /// (with all of them skipped) if there is no such place.
    pub fn resync(&mut self) -> Result<Option<u64>> {
        (self.before, self.inside) = (None, false);
        let start = self.feed.offset();
        loop {
            while self.feed.bytes().len() < LOOK_AHEAD && self.feed.more()? {}
            let bytes = self.feed.bytes();
            if bytes.is_empty() {
                return Ok(None);
            }
            let ended = bytes.len() < LOOK_AHEAD;
            let last = if ended { bytes.len() } else { bytes.len() - LOOK_AHEAD / 2 };
            let found = (1..last).find(|&at| {
                bytes[at] == 1
                    && (bytes[at - 1] == 2 || self.implied)
                    && plausible(&bytes[at..], &self.widths)
            });
            self.feed.consume(found.unwrap_or(last).max(1));
            if found.is_some() {
                return Ok(Some(self.feed.offset() - start));
            }
        }
    }
}

/// Reads the group, or the run of items outside, at the start of `data`; gives its length.
#[inline(always)]
fn scan(data: &[u8], widths: &Widths, group: &mut Group) -> Result<usize> {
    let records = &mut group.records;
    records.clear();
    match data.first() {
        None => return Ok(0),
        Some(1) => {}
        Some(_) => return scan_outside(data, widths, group),
    }
    let mut at = 1;
    loop {
        at = scan_common(data, at, widths, records);
        match data.get(at) {
            Some(1) => {
                group.frame = Frame::Implied;
                return Ok(at);
            }
            Some(2) => {
                group.frame = Frame::Ended;
                return Ok(at + 1);
            }
            Some(_) => {}
            None => return Err(ErrorKind::Truncated.at(at as u64, "group", "end group", "Tandem 3")),
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

/// Reads the items that make up nearly all traces, as long as they come; gives the place behind them.
///
/// Twice as fast as `Record::read`, which tells what is wrong with the rest; `tests/properties.rs` holds
/// one against the other.
#[inline(always)]
fn scan_common(data: &[u8], mut at: usize, widths: &Widths, records: &mut Vec<Record>) -> usize {
    let low = |value: u64, width: u8| value & (u64::MAX >> (64 - 8 * u32::from(width)));
    while let Some(window) = data.get(at..).and_then(|rest| rest.first_chunk::<11>())
        && records.len() < LARGEST_GROUP
    {
        let [opcode, a, b, c, d, ..] = *window;
        let [_, _, middle @ .., _] = *window;
        let [_, _, _, last @ ..] = *window;
        let (middle, last) = (u64::from_le_bytes(middle), u64::from_le_bytes(last));
        let (record, len) = match (opcode, a) {
            (3, _) => (Record::IncrementPc, 1),
            (4, _) => {
                let address = u16::from_le_bytes([a, b]);
                let Some(width) = widths.register(address) else { break };
                (Record::FullRegister { address, data: low(last, width) }, 3 + usize::from(width))
            }
            (7, 10) => (Record::Pc(low(middle, widths.xlen)), 2 + usize::from(widths.xlen)),
            (7, 3) => (Record::EffectiveAddress(low(middle, widths.eaddr)), 2 + usize::from(widths.eaddr)),
            (7, 4..=7) => {
                let size = a - 4;
                (Record::StoreData { size, data: low(middle, 1 << size) }, 2 + (1 << size))
            }
            (16, _) => (Record::Instruction16(u16::from_le_bytes([a, b])), 3),
            (17, _) => (Record::Instruction32(u32::from_le_bytes([a, b, c, d])), 5),
            _ => break,
        };
        records.push(record);
        at += len;
    }
    at
}

/// Items up to the next begin group.
fn scan_outside(data: &[u8], widths: &Widths, group: &mut Group) -> Result<usize> {
    let mut bytes = Bytes::new(data);
    group.frame = Frame::Outside;
    let asks = |records: &[Record]| matches!(records.last(), Some(Record::MemoryRequest { .. }));
    while !matches!(bytes.rest().first(), None | Some(1))
        && (group.records.len() < LARGEST_RUN || asks(&group.records))
    {
        let at = bytes.position();
        match Record::read(&mut bytes, widths, group.records.last()) {
            Ok(record) => group.records.push(record),
            // What came before the bad item is given first; but a response keeps its request.
            Err(error) => {
                let request = group.records.last().filter(|_| data[at] == 9);
                let given = match request {
                    Some(request @ Record::MemoryRequest { .. }) => at - request.len(widths),
                    _ => at,
                };
                if given == 0 {
                    return Err(Error { offset: error.offset + at as u64, ..error });
                }
                if given < at {
                    group.records.pop();
                }
                return Ok(given);
            }
        }
    }
    Ok(bytes.position())
}

/// Do groups follow from here on?
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

/// Finds parameters with which `head`, the start of a trace, reads without error. `None` if there are none.
///
/// RV64 is tried before RV32, the widest FLEN first, and the profile of the text before that of the Bluespec
/// encoders; where nothing tells them apart (on RV64 both have the same widths) the pc and the way the items
/// are ordered decide.
pub fn recognise(head: &[u8]) -> Option<Config> {
    if head.first() != Some(&1) {
        return None;
    }
    let mut best: Option<(usize, Config)> = None;
    for xlen in [64, 32] {
        for flen in [64, 32] {
            for mlen in if xlen == 64 { &[64][..] } else { &[34, 32] } {
                for profile in [Profile::Spec, Profile::Bluespec] {
                    let config = Config { xlen, flen, mlen: *mlen, profile, ..Config::default() };
                    if let Some(score) = trial(head, &config)
                        && best.as_ref().is_none_or(|(most, _)| score > *most)
                    {
                        best = Some((score, config));
                    }
                }
            }
        }
    }
    best.map(|(_, config)| config)
}

/// How much of `head` makes sense with these parameters; `None` if it does not decode.
fn trial(head: &[u8], config: &Config) -> Option<usize> {
    let widths = config.widths().ok()?;
    let registers = Registers::new(&widths);
    let mut group = Group::default();
    let (mut at, mut groups, mut sense, mut bluespec) = (0, 0usize, 0usize, true);
    let mut pc = None;
    while at < head.len() {
        match scan(&head[at..], &widths, &mut group) {
            Ok(0) => break,
            Ok(len) => at += len,
            // The head may end anywhere.
            Err(error) if error.is_truncated() => break,
            Err(_) => return None,
        }
        if group.records.is_empty() || View::of(&group, &widths, &registers).is_err() {
            return None;
        }
        // An address read too wide swallows the end group behind it.
        groups += 1 + usize::from(group.frame == Frame::Ended);
        bluespec &= group.frame == Frame::Ended && is_bluespec(&group.records);
        // A stream read with the wrong widths does not walk on by instruction lengths.
        for record in &group.records {
            match *record {
                Record::Pc(next) => {
                    sense += usize::from(pc.is_some_and(|pc: u64| next.abs_diff(pc) <= 0x10_0000));
                    pc = Some(next);
                }
                Record::IncrementPc | Record::HartReset | Record::StateInitialization => sense += 1,
                _ => {}
            }
        }
    }
    if groups == 0 {
        return None;
    }
    let matches = bluespec == (config.profile == Profile::Bluespec);
    Some(4 * sense + groups + usize::from(matches))
}

/// Is it ordered as the Bluespec encoders do: pc first, none of the items that they never send?
fn is_bluespec(records: &[Record]) -> bool {
    let first = matches!(records[0], Record::Pc(_) | Record::HartReset | Record::StateInitialization);
    first
        && !records.iter().any(|record| {
            matches!(
                record,
                Record::IncrementPc
                    | Record::AddRegister { .. }
                    | Record::OrRegister { .. }
                    | Record::MemoryResponse { .. }
                    | Record::PhysicalAddress(_)
                    | Record::Mtime(_)
                    | Record::PcPhysicalAddress(_)
            )
        })
}

//! Items to bytes.

use std::io::Write;

use trackway_core::Result;

use crate::config::{Config, Widths};
use crate::group::Group;
use crate::mem_op::MemOp;
use crate::record::{ADDITIONAL_STATE, Record, number};

/// Bytes that are collected before they are written.
const BLOCK: usize = 1 << 16;

/// Writes a trace, item by item.
pub struct Writer<W: Write> {
    out: W,
    widths: Widths,
    buffer: Vec<u8>,
    written: u64,
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("widths", &self.widths).field("written", &self.position()).finish()
    }
}

impl<W: Write> Writer<W> {
    /// Creates a writer with the widths of `config`.
    pub fn new(out: W, config: &Config) -> Result<Self> {
        Ok(Writer { out, widths: config.widths()?, buffer: Vec::with_capacity(BLOCK + 64), written: 0 })
    }

    /// Appends an item; refuses values that their fields cannot hold.
    pub fn write(&mut self, record: &Record) -> Result<()> {
        self.append(record)?;
        self.settle()
    }

    /// Appends an item to the collected bytes.
    pub(crate) fn append(&mut self, record: &Record) -> Result<()> {
        let written = record.write(&mut self.buffer, &self.widths);
        written.map_err(|error| trackway_core::Error { offset: self.position(), ..error })
    }

    /// Appends the items of a group, or nothing if one is refused: half a group could not be read.
    fn append_whole(&mut self, mut items: impl Iterator<Item = Record>) -> Result<()> {
        let start = self.buffer.len();
        match items.try_for_each(|item| self.append(&item)) {
            Ok(()) => self.settle(),
            Err(error) => {
                self.buffer.truncate(start);
                Err(error)
            }
        }
    }

    /// Appends a group whose items are mostly common, or nothing of it if one is refused. `add` is called once, or, where a value does
    /// not fit, twice.
    #[inline(always)]
    pub(crate) fn write_common(&mut self, group: &impl Add) -> Result<()> {
        let start = self.buffer.len();
        let mut common = Common { writer: self, fits: true };
        group.add_to(&mut common);
        if common.fits {
            return self.settle();
        }
        self.buffer.truncate(start);
        let mut items = Vec::new();
        group.add_to(&mut items);
        self.append_whole(items.into_iter())
    }

    /// Appends the bytes of whole groups.
    pub(crate) fn append_groups(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.settle()
    }

    /// Writes the collected bytes if they are enough.
    #[inline(always)]
    fn settle(&mut self) -> Result<()> {
        if self.buffer.len() >= BLOCK { self.flush_block() } else { Ok(()) }
    }

    /// Appends a common item whose values fit; false for others, and nothing is appended then.
    #[inline(always)]
    fn append_common(&mut self, record: &Record) -> bool {
        let widths = &self.widths;
        let state = |identifier: u8| u64::from_le_bytes([ADDITIONAL_STATE, identifier, 0, 0, 0, 0, 0, 0]);
        // The bytes before the value and their number, the value and its width.
        let (front, len, value, width) = match *record {
            Record::BeginGroup | Record::EndGroup | Record::IncrementPc => {
                self.buffer.push(record.opcode());
                return true;
            }
            Record::Pc(pc) => (state(number::PC), 2, pc, widths.xlen),
            Record::Instruction32(encoding) => (number::INSTRUCTION32.into(), 1, encoding.into(), 4),
            Record::Instruction16(encoding) => (number::INSTRUCTION16.into(), 1, encoding.into(), 2),
            Record::FullRegister { address, data } => match widths.register(address) {
                Some(width) => (u64::from(number::FULL_REGISTER) | u64::from(address) << 8, 3, data, width),
                None => return false,
            },
            Record::AddRegister { address, offset } if widths.register(address).is_some() => (
                u64::from(number::ADD_REGISTER) | u64::from(address) << 8,
                3,
                offset.cast_unsigned().into(),
                1,
            ),
            Record::OrRegister { address, mask } if widths.register(address).is_some() => {
                (u64::from(number::OR_REGISTER) | u64::from(address) << 8, 3, mask.into(), 1)
            }
            Record::EffectiveAddress(address) => (state(number::EFFECTIVE_ADDRESS), 2, address, widths.eaddr),
            Record::StoreData { size: size @ 0..4, data } => {
                (state(number::STORE_DATA + size), 2, data, 1 << size)
            }
            Record::PhysicalAddress(address) => (state(number::PHYSICAL_ADDRESS), 2, address, widths.mlen),
            // A load sends no data: its operation and size follow the address.
            Record::MemoryRequest { address, op: MemOp::LOAD, size: size @ 0..4, data: 0 }
                if widths.mlen == 8 =>
            {
                self.buffer.push(number::MEMORY_REQUEST);
                (address, 8, u64::from(MemOp::LOAD.0 | size << 4), 1)
            }
            Record::MemoryResponse { size: size @ 0..4, result: result @ 0..16, data: Some(data) } => {
                let codes = u64::from(size | result << 4);
                (u64::from(number::MEMORY_RESPONSE) | codes << 8, 2, data, 1 << size)
            }
            _ => return false,
        };
        if width < 8 && value >> (8 * width) != 0 {
            return false;
        }
        let item = (u128::from(front) | u128::from(value) << (8 * len)).to_le_bytes();
        // A copy of constant length, and what is too much of it taken back.
        let end = self.buffer.len() + len + usize::from(width);
        self.buffer.extend_from_slice(&item);
        self.buffer.truncate(end);
        true
    }

    /// Appends a group unchanged, or nothing of it if a value is refused.
    pub fn write_group(&mut self, group: &Group) -> Result<()> {
        self.append_whole(group.wire())
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn flush_block(&mut self) -> Result<()> {
        self.out.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the collected bytes.
    pub fn finish(&mut self) -> Result<()> {
        self.flush_block()?;
        Ok(self.out.flush()?)
    }

    /// Writes the collected bytes and returns the output.
    pub fn into_inner(mut self) -> Result<W> {
        self.finish()?;
        Ok(self.out)
    }
}

impl Writer<Vec<u8>> {
    /// Moves the bytes so far to the end of `out`.
    pub(crate) fn take_bytes(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
        out.append(&mut self.buffer);
    }
}

/// A group that adds its items to whatever takes them, one call for each kind of item: the compiler then knows the kind.
pub(crate) trait Add {
    fn add_to(&self, to: &mut impl Items);
}

/// Takes items.
pub(crate) trait Items {
    fn add(&mut self, record: &Record);
}

impl Items for Vec<Record> {
    fn add(&mut self, record: &Record) {
        self.push(*record);
    }
}

/// Items that are written without choices, as long as they are common and fit.
struct Common<'w, W: Write> {
    writer: &'w mut Writer<W>,
    fits: bool,
}

impl<W: Write> Items for Common<'_, W> {
    #[inline(always)]
    fn add(&mut self, record: &Record) {
        self.fits &= self.writer.append_common(record);
    }
}

/// The bytes of a sequence of items.
pub fn to_bytes<'a>(records: impl IntoIterator<Item = &'a Record>, config: &Config) -> Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new(), config)?;
    records.into_iter().try_for_each(|record| writer.write(record))?;
    writer.into_inner()
}

#[cfg(test)]
mod tests {
    use trackway_testkit::random::Numbers;

    use super::*;

    /// Common items are written as all others, and refused likewise.
    #[test]
    fn known_items_are_written_alike() {
        let mut refused = 0;
        for seed in 0..20_000 {
            let numbers = &mut Numbers(seed);
            let (xlen, flen) = ([32, 64][numbers.below(2) as usize], [0, 32, 64][numbers.below(3) as usize]);
            let config = Config { xlen, flen, mlen: xlen, ..Config::default() };
            let value = numbers.draw() >> numbers.below(64);
            let address = match numbers.below(3) {
                0 => numbers.draw() as u16,
                _ => 0x1000 + numbers.below(0x50) as u16,
            };
            let op = MemOp(numbers.below(3) as u8);
            let size = numbers.below(5) as u8;
            let sent = if numbers.below(3) == 0 { value } else { 0 };
            let record = match numbers.below(12) {
                0 => Record::Pc(value),
                1 => Record::Instruction32(value as u32),
                2 => Record::Instruction16(value as u16),
                3 => Record::FullRegister { address, data: value },
                4 => Record::EffectiveAddress(value),
                5 => Record::StoreData { size: numbers.below(5) as u8, data: value },
                6 => Record::PhysicalAddress(value),
                7 => Record::MemoryRequest { address: value, op, size, data: sent },
                8 => Record::MemoryResponse { size, result: numbers.below(20) as u8, data: Some(value) },
                9 => Record::AddRegister { address, offset: value as i8 },
                10 => Record::OrRegister { address, mask: value as u8 },
                _ => Record::IncrementPc,
            };
            struct One(Record);
            impl Add for One {
                fn add_to(&self, to: &mut impl Items) {
                    to.add(&self.0);
                }
            }
            let mut writer = Writer::new(Vec::new(), &config).unwrap();
            let known = writer.write_common(&One(record)).map(|()| writer.buffer.clone());
            let plain = to_bytes([&record], &config);
            refused += u32::from(plain.is_err());
            assert_eq!(known, plain, "{record:?} {config:?}");
        }
        assert!((1000..15_000).contains(&refused), "{refused}");
    }
}

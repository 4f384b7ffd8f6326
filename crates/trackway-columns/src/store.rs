//! Values of columns in memory, as rows are added. Columns that were not asked for store nothing.

use std::collections::HashMap;
use std::sync::Arc;

use crate::schema::{Column, Table};

/// Rows of a table, as columns.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The table.
    pub table: &'static Table,
    /// The source of its rows, of the last where there are several.
    pub source: u16,
    /// How many rows.
    pub rows: usize,
    /// The columns that were asked for, in the order of the schema.
    pub columns: Vec<Values>,
}

/// The values of a column.
#[derive(Clone, Debug)]
pub struct Values {
    /// The column.
    pub column: &'static Column,
    /// The values; any value where it is null.
    pub data: Data,
    /// Which values are known; all of them without it.
    pub known: Option<Bits>,
}

/// Values by type.
#[derive(Clone, Debug)]
pub enum Data {
    /// 8 bits.
    U8(Vec<u8>),
    /// 32 bits.
    U32(Vec<u32>),
    /// 64 bits.
    U64(Vec<u64>),
    /// True or false.
    Flags(Bits),
    /// Places in a list of words. The list of a later chunk begins with that of an earlier one.
    Words(Vec<u32>, Arc<Vec<Arc<str>>>),
    /// Text, UTF-8.
    Text(Pieces),
    /// Bytes.
    Bytes(Pieces),
}

/// Bits, lowest first.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    /// 8 in each byte.
    pub bytes: Vec<u8>,
    /// How many.
    pub len: usize,
}

impl Bits {
    /// The bit at a place.
    #[inline]
    pub fn get(&self, at: usize) -> bool {
        self.bytes[at / 8] >> (at % 8) & 1 == 1
    }
}

/// Bits as they are added, 64 to a word.
#[derive(Debug, Default)]
struct Growing {
    words: Vec<u64>,
    /// Those of the last word, which is not full.
    last: u64,
    len: usize,
}

impl Growing {
    #[inline]
    fn push(&mut self, bit: bool) {
        self.last |= u64::from(bit) << (self.len % 64);
        self.len += 1;
        if self.len.is_multiple_of(64) {
            self.words.push(std::mem::take(&mut self.last));
        }
    }

    /// The same bit many times.
    fn repeat(&mut self, bit: bool, mut count: usize) {
        while count > 0 {
            if count >= 64 && self.len.is_multiple_of(64) {
                let (whole, word) = (count / 64, if bit { u64::MAX } else { 0 });
                self.words.extend(std::iter::repeat_n(word, whole));
                (self.len, count) = (self.len + 64 * whole, count % 64);
            } else {
                self.push(bit);
                count -= 1;
            }
        }
    }

    fn ones(len: usize) -> Self {
        let mut bits = Growing::default();
        bits.repeat(true, len);
        bits
    }

    /// Up to 64 bits, lowest first; those above are 0.
    fn push_block(&mut self, bits: u64, count: usize) {
        let used = self.len % 64;
        self.last |= bits << used;
        self.len += count;
        if used + count >= 64 {
            let rest = bits.checked_shr((64 - used) as u32).unwrap_or(0);
            self.words.push(std::mem::replace(&mut self.last, rest));
        }
    }

    /// The bits so far, which it forgets.
    fn take(&mut self) -> Bits {
        let Growing { mut words, last, len } = std::mem::take(self);
        words.push(last);
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.truncate(len.div_ceil(8));
        Bits { bytes, len }
    }
}

/// Pieces of bytes, one after the other.
#[derive(Clone, Debug)]
pub struct Pieces {
    /// Where each begins, and the end of the last.
    pub starts: Vec<i32>,
    /// Their bytes.
    pub bytes: Vec<u8>,
}

impl Default for Pieces {
    fn default() -> Self {
        Pieces { starts: vec![0], bytes: Vec::new() }
    }
}

impl Pieces {
    /// The piece at a place.
    pub fn get(&self, at: usize) -> &[u8] {
        &self.bytes[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Which values are known; nothing is stored until one is not.
#[derive(Debug, Default)]
struct Known(Option<Growing>);

impl Known {
    #[inline]
    fn push(&mut self, known: bool, before: usize) {
        match &mut self.0 {
            Some(bits) => bits.push(known),
            None if known => {}
            none => none.insert(Growing::ones(before)).push(false),
        }
    }

    fn repeat(&mut self, known: bool, count: usize, before: usize) {
        match &mut self.0 {
            Some(bits) => bits.repeat(known, count),
            None if known => {}
            none => none.insert(Growing::ones(before)).repeat(false, count),
        }
    }

    /// Of up to 64 values.
    fn push_block(&mut self, known: u64, count: usize, before: usize) {
        match &mut self.0 {
            Some(bits) => bits.push_block(known, count),
            None if known.count_ones() as usize == count => {}
            none => none.insert(Growing::ones(before)).push_block(known, count),
        }
    }

    fn take(&mut self) -> Option<Bits> {
        self.0.take().map(|mut bits| bits.take())
    }
}

/// A column that rows are added to.
pub(crate) trait Store {
    fn new(wanted: bool) -> Self;
    /// The values so far, which it forgets.
    fn take(&mut self) -> Option<(Data, Option<Bits>)>;
}

/// Numbers.
#[derive(Debug)]
pub(crate) struct Nums<T> {
    pub(crate) wanted: bool,
    values: Vec<T>,
    known: Known,
}

impl<T: Copy + Default> Nums<T> {
    #[inline]
    pub(crate) fn put(&mut self, value: T) {
        if self.wanted {
            if let Some(bits) = &mut self.known.0 {
                bits.push(true);
            }
            self.values.push(value);
        }
    }

    #[inline]
    pub(crate) fn put_known(&mut self, value: Option<T>) {
        if self.wanted {
            self.known.push(value.is_some(), self.values.len());
            self.values.push(value.unwrap_or_default());
        }
    }

    fn repeat(&mut self, value: Option<T>, count: usize) {
        if self.wanted && count > 0 {
            self.known.repeat(value.is_some(), count, self.values.len());
            self.values.resize(self.values.len() + count, value.unwrap_or_default());
        }
    }

    /// Up to 64 values, of which those are known that have a bit.
    pub(crate) fn put_block(&mut self, values: &[T], known: u64) {
        if self.wanted {
            self.known.push_block(known, values.len(), self.values.len());
            self.values.extend_from_slice(values);
        }
    }
}

macro_rules! store_numbers {
    ($($ty:ty: $variant:ident),*) => {$(
        impl Store for Nums<$ty> {
            fn new(wanted: bool) -> Self {
                Nums { wanted, values: Vec::new(), known: Known::default() }
            }
            fn take(&mut self) -> Option<(Data, Option<Bits>)> {
                let values = std::mem::take(&mut self.values);
                self.values.reserve(values.len());
                self.wanted.then(|| (Data::$variant(values), self.known.take()))
            }
        }
    )*};
}
store_numbers!(u8: U8, u32: U32, u64: U64);

/// Numbers that rarely change: repeats are counted, and stored when another one comes.
#[derive(Debug)]
pub(crate) struct Repeats<T> {
    numbers: Nums<T>,
    last: Option<T>,
    count: usize,
}

impl<T: Copy + Default + PartialEq> Repeats<T> {
    #[inline]
    pub(crate) fn put(&mut self, value: T) {
        self.put_known(Some(value));
    }

    #[inline]
    pub(crate) fn put_known(&mut self, value: Option<T>) {
        self.put_many(value, 1);
    }

    /// The same value in several rows.
    #[inline]
    pub(crate) fn put_many(&mut self, value: Option<T>, count: usize) {
        if value != self.last {
            self.settle();
            self.last = value;
        }
        self.count += count;
    }

    fn settle(&mut self) {
        self.numbers.repeat(self.last, std::mem::take(&mut self.count));
    }
}

impl<T: Copy + Default + PartialEq> Store for Repeats<T>
where
    Nums<T>: Store,
{
    fn new(wanted: bool) -> Self {
        Repeats { numbers: Nums::new(wanted), last: None, count: 0 }
    }
    fn take(&mut self) -> Option<(Data, Option<Bits>)> {
        self.settle();
        self.numbers.take()
    }
}

/// Flags.
#[derive(Debug)]
pub(crate) struct Flags {
    wanted: bool,
    values: Growing,
    known: Known,
}

impl Flags {
    #[inline]
    pub(crate) fn put(&mut self, value: bool) {
        if self.wanted {
            if let Some(bits) = &mut self.known.0 {
                bits.push(true);
            }
            self.values.push(value);
        }
    }

    #[inline]
    pub(crate) fn put_known(&mut self, value: Option<bool>) {
        if self.wanted {
            self.known.push(value.is_some(), self.values.len);
            self.values.push(value.unwrap_or_default());
        }
    }

    /// Up to 64 flags, of which those are known that have a bit.
    pub(crate) fn put_block(&mut self, values: u64, known: u64, count: usize) {
        if self.wanted {
            self.known.push_block(known, count, self.values.len);
            self.values.push_block(values, count);
        }
    }
}

impl Store for Flags {
    fn new(wanted: bool) -> Self {
        Flags { wanted, values: Growing::default(), known: Known::default() }
    }
    fn take(&mut self) -> Option<(Data, Option<Bits>)> {
        self.wanted.then(|| (Data::Flags(self.values.take()), self.known.take()))
    }
}

/// Words of a dictionary that only grows.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) wanted: bool,
    codes: Vec<u32>,
    known: Known,
    places: HashMap<Arc<str>, u32>,
    words: Vec<Arc<str>>,
    /// Places of the words of an enum, by its number.
    fixed: [Option<u32>; 16],
    /// The words as the last chunk had them.
    shared: Arc<Vec<Arc<str>>>,
}

impl Words {
    /// The place of a word.
    pub(crate) fn code(&mut self, word: &str) -> u32 {
        if let Some(code) = self.places.get(word) {
            return *code;
        }
        let (word, code): (Arc<str>, u32) = (word.into(), self.words.len() as u32);
        self.words.push(Arc::clone(&word));
        self.places.insert(word, code);
        code
    }

    #[inline]
    pub(crate) fn put_code(&mut self, code: Option<u32>) {
        if self.wanted {
            self.known.push(code.is_some(), self.codes.len());
            self.codes.push(code.unwrap_or_default());
        }
    }

    /// Up to 64 places of words, of which those are known that have a bit.
    pub(crate) fn put_block(&mut self, codes: &[u32], known: u64) {
        if self.wanted {
            self.known.push_block(known, codes.len(), self.codes.len());
            self.codes.extend_from_slice(codes);
        }
    }

    /// A word of an enum: the one that has this number.
    #[inline]
    pub(crate) fn put_fixed(&mut self, number: usize, word: &'static str) {
        if self.wanted {
            let code = match self.fixed[number % 16] {
                Some(code) => code,
                None => {
                    let code = self.code(word);
                    *self.fixed[number % 16].insert(code)
                }
            };
            self.put_code(Some(code));
        }
    }

    pub(crate) fn put(&mut self, word: Option<&str>) {
        if self.wanted {
            let code = word.map(|word| self.code(word));
            self.put_code(code);
        }
    }
}

impl Store for Words {
    fn new(wanted: bool) -> Self {
        Words {
            wanted,
            codes: Vec::new(),
            known: Known::default(),
            places: HashMap::new(),
            words: Vec::new(),
            fixed: [None; 16],
            shared: Arc::default(),
        }
    }
    fn take(&mut self) -> Option<(Data, Option<Bits>)> {
        if self.shared.len() < self.words.len() {
            self.shared = Arc::new(self.words.clone());
        }
        let codes = std::mem::take(&mut self.codes);
        self.codes.reserve(codes.len());
        self.wanted.then(|| (Data::Words(codes, Arc::clone(&self.shared)), self.known.take()))
    }
}

/// Bytes or text of any length.
#[derive(Debug)]
pub(crate) struct Blobs<const TEXT: bool> {
    wanted: bool,
    pieces: Pieces,
    known: Known,
}

impl<const TEXT: bool> Blobs<TEXT> {
    pub(crate) fn put(&mut self, value: Option<&[u8]>) {
        if self.wanted {
            self.known.push(value.is_some(), self.pieces.starts.len() - 1);
            self.pieces.bytes.extend_from_slice(value.unwrap_or_default());
            // A chunk is handed on long before it has 2 GB.
            self.pieces.starts.push(self.pieces.bytes.len() as i32);
        }
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.pieces.bytes.len()
    }
}

impl<const TEXT: bool> Store for Blobs<TEXT> {
    fn new(wanted: bool) -> Self {
        Blobs { wanted, pieces: Pieces::default(), known: Known::default() }
    }
    fn take(&mut self) -> Option<(Data, Option<Bits>)> {
        let pieces = std::mem::take(&mut self.pieces);
        let data = if TEXT { Data::Text(pieces) } else { Data::Bytes(pieces) };
        self.wanted.then(|| (data, self.known.take()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values and nulls of a column.
    fn taken(store: &mut impl Store) -> (Vec<u64>, Option<Vec<bool>>) {
        let (data, known) = store.take().expect("a column");
        let Data::U64(values) = data else { panic!("{data:?}") };
        let nulls = known.map(|bits| {
            assert_eq!(bits.bytes.len(), bits.len.div_ceil(8));
            (0..bits.len).map(|at| bits.get(at)).collect()
        });
        (values, nulls)
    }

    /// Repeats are stored as if each value had been put.
    #[test]
    fn repeats_are_numbers() {
        let (mut numbers, mut repeats) = (Nums::<u64>::new(true), Repeats::<u64>::new(true));
        for (first, runs) in [(Some(1), 40), (None, 30), (Some(2), 0), (Some(0), 7)] {
            for run in 0..runs {
                let value = if run % 3 == 2 { None } else { first };
                for _ in 0..run * run {
                    numbers.put_known(value);
                    repeats.put_known(value);
                }
            }
            assert_eq!(taken(&mut numbers), taken(&mut repeats));
        }
        let mut unwanted = Repeats::<u64>::new(false);
        unwanted.put(1);
        assert!(unwanted.take().is_none());
    }

    /// Blocks of any size are stored as if each value had been put.
    #[test]
    fn blocks_are_single_values() {
        let mut numbers = trackway_core::SplitMix64(7);
        for _ in 0..200 {
            let (mut blocks, mut singles) = (Nums::<u64>::new(true), Nums::<u64>::new(true));
            let (mut flag_blocks, mut flags) = (Flags::new(true), Flags::new(true));
            let (mut code_blocks, mut codes) = (Words::new(true), Words::new(true));
            for _ in 0..numbers.below(6) {
                let count = [64, numbers.below(65)][numbers.below(2) as usize] as usize;
                let all = u64::MAX.checked_shr(64 - count as u32).unwrap_or(0);
                let known = all & if numbers.one_in(3) { numbers.next_u64() } else { u64::MAX };
                let value = |n: usize| if known >> n & 1 == 1 { n as u64 + 1 } else { 0 };
                let values: Vec<u64> = (0..count).map(value).collect();
                let places: Vec<u32> = values.iter().map(|value| *value as u32).collect();
                let bits = known & numbers.next_u64();
                blocks.put_block(&values, known);
                flag_blocks.put_block(bits, known, count);
                code_blocks.put_block(&places, known);
                for (n, value) in values.iter().enumerate() {
                    let is_known = known >> n & 1 == 1;
                    singles.put_known(is_known.then_some(*value));
                    flags.put_known(is_known.then_some(bits >> n & 1 == 1));
                    codes.put_code(is_known.then_some(*value as u32));
                }
            }
            assert_eq!(taken(&mut blocks), taken(&mut singles));
            assert_eq!(format!("{:?}", flag_blocks.take()), format!("{:?}", flags.take()));
            assert_eq!(format!("{:?}", code_blocks.take()), format!("{:?}", codes.take()));
        }
    }
}

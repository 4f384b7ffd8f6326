//! From an instruction word to its declaration.

use std::sync::LazyLock;

use trackway_core::Isa;

use super::class::Width;
use super::compressed::COMPRESSED;
use super::table::{Encoding, INSTRUCTIONS, RV32_FORMS};

/// Declarations by the bits that separate most of them, for one register width.
struct Index {
    /// By major opcode, funct3 and the top six bits.
    wide: Buckets,
    /// By quadrant and the top six bits.
    narrow: Buckets,
}

/// Lists of declarations, one after the other.
struct Buckets {
    /// Where the list of each key begins; one more than there are keys.
    starts: Vec<u32>,
    entries: Vec<&'static Encoding>,
}

const WIDE_KEYS: usize = 1 << 14;
const NARROW_KEYS: usize = 1 << 8;
const GROUP: usize = 1 << 6;

const fn wide_key(word: u32) -> usize {
    ((word >> 2 & 31) << 9 | (word >> 12 & 7) << 6 | word >> 26) as usize
}

/// The inverse of [`wide_key`], with all other bits clear.
const fn wide_word(key: usize) -> u32 {
    let key = key as u32;
    (key & 63) << 26 | (key >> 6 & 7) << 12 | (key >> 9) << 2 | 3
}

const WIDE_BITS: u32 = wide_word(WIDE_KEYS - 1);

const fn narrow_key(half: u32) -> usize {
    ((half >> 10 & 0x3f) << 2 | (half & 3)) as usize
}

const fn narrow_word(key: usize) -> u32 {
    let key = key as u32;
    (key >> 2) << 10 | (key & 3)
}

const NARROW_BITS: u32 = narrow_word(NARROW_KEYS - 1);

impl Buckets {
    fn new(keys: usize, bits: u32, word: fn(usize) -> u32, all: &[&'static Encoding]) -> Self {
        let mut buckets = Self { starts: Vec::with_capacity(keys + 1), entries: Vec::new() };
        let fits = |e: &&&'static Encoding, key, bits| (word(key) ^ e.value) & e.mask & bits == 0;
        for group in (0..keys).step_by(GROUP) {
            // Most declarations fit no key of a group; asking that first makes building quick.
            let apart = bits & !(word(GROUP - 1) ^ word(0));
            let near: Vec<_> = all.iter().filter(|e| fits(e, group, apart)).copied().collect();
            for key in group..group + GROUP {
                buckets.starts.push(buckets.entries.len() as u32);
                buckets.entries.extend(near.iter().filter(|e| fits(e, key, bits)));
            }
        }
        buckets.starts.push(buckets.entries.len() as u32);
        buckets
    }

    fn find(&self, key: usize, word: u32) -> impl Iterator<Item = &'static Encoding> {
        let list = &self.entries[self.starts[key] as usize..self.starts[key + 1] as usize];
        list.iter().copied().filter(move |e| word & e.mask == e.value)
    }
}

impl Index {
    /// RV32's own forms come first: zext.h is a special case of pack there.
    fn new(isa: Isa) -> Self {
        let other = if isa == Isa::Rv32 { Width::Rv64 } else { Width::Rv32 };
        let of = |tables: [&'static [Encoding]; 2]| -> Vec<&'static Encoding> {
            tables.into_iter().flatten().filter(|e| e.width != other).collect()
        };
        Self {
            wide: Buckets::new(WIDE_KEYS, WIDE_BITS, wide_word, &of([RV32_FORMS, INSTRUCTIONS])),
            narrow: Buckets::new(NARROW_KEYS, NARROW_BITS, narrow_word, &of([COMPRESSED, &[]])),
        }
    }
}

/// The declarations whose fixed bits match; several only where reserved operands decide.
pub(super) fn find(isa: Isa, word: u32) -> impl Iterator<Item = &'static Encoding> {
    static RV32: LazyLock<Index> = LazyLock::new(|| Index::new(Isa::Rv32));
    static RV64: LazyLock<Index> = LazyLock::new(|| Index::new(Isa::Rv64));
    let index: &'static Index = if isa == Isa::Rv32 { &RV32 } else { &RV64 };
    if word & 3 == 3 {
        index.wide.find(wide_key(word), word)
    } else {
        index.narrow.find(narrow_key(word), word & 0xffff)
    }
}

//! Elements of the vector accesses that a predicate governs: SVE, and SME loads and stores of slices and of several
//! vectors.

/// The accesses of a predicated vector instruction: active elements of this size, up to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// Bytes in memory of an element, or of a whole structure (LD2 …).
    pub bytes: u64,
    /// How many there are.
    pub count: Count,
    /// They follow each other in memory; otherwise each has an address of its own.
    pub contiguous: bool,
}

/// Number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Independent of the vector length.
    Fixed(u64),
    /// As many as these vectors have, with this many bytes of a vector for each.
    Vectors(u64, u64),
}

impl Elements {
    /// Most bytes of all accesses together, for vectors of `length` bytes.
    pub const fn most(self, length: u64) -> u64 {
        match self.count {
            Count::Fixed(count) => self.bytes * count,
            Count::Vectors(vectors, each) => length / each * vectors * self.bytes,
        }
    }
}

/// Bytes in memory, and of the register, for each value of `dtype`.
const DTYPE: [(u64, u64); 16] = [
    (1, 1),
    (1, 2),
    (1, 4),
    (1, 8),
    (4, 8),
    (2, 2),
    (2, 4),
    (2, 8),
    (2, 8),
    (2, 4),
    (4, 4),
    (4, 8),
    (1, 8),
    (1, 4),
    (1, 2),
    (8, 8),
];

const fn contiguous(bytes: u64, each: u64) -> Option<Elements> {
    Some(Elements { bytes, count: Count::Vectors(1, each), contiguous: true })
}

const fn separate(bytes: u64, each: u64) -> Option<Elements> {
    Some(Elements { bytes, count: Count::Vectors(1, each), contiguous: false })
}

/// The elements of a predicated vector load or store; `None` for prefetches, and where no predicate governs.
pub fn elements(word: u32) -> Option<Elements> {
    match word >> 25 {
        0x42 => gather32(word),
        0x52 => load(word),
        0x62 => gather64(word),
        0x72 => store(word),
        // SVE2.1 and SME2: two or four vectors.
        0x50 if word >> 23 & 1 == 0 => {
            let (vectors, each) = (2 << (word >> 15 & 1), 1 << (word >> 13 & 3));
            Some(Elements { bytes: each, count: Count::Vectors(vectors, each), contiguous: true })
        }
        // SME: a slice of a tile.
        0x70 => match word >> 22 & 7 {
            size @ 0..4 => contiguous(1 << size, 1 << size),
            7 => contiguous(16, 16),
            _ => None,
        },
        _ => None,
    }
}

/// `msz`, and bits 22:21 and 15:13.
const fn fields(word: u32) -> (u32, u32, u32) {
    (word >> 23 & 3, word >> 21 & 3, word >> 13 & 7)
}

fn gather32(word: u32) -> Option<Elements> {
    let (msz, form, top) = fields(word);
    match (form, top) {
        (2 | 3, 4..) => {
            let bytes = DTYPE[(msz << 2 | top & 3) as usize].0;
            Some(Elements { bytes, count: Count::Fixed(1), contiguous: true })
        }
        _ if msz == 3 => None,
        (0 | 2, 0..4) | (1, 4..) | (0, 4 | 5) => separate(1 << msz, 4),
        (_, 0..4) if msz > 0 => separate(1 << msz, 4),
        _ => None,
    }
}

fn gather64(word: u32) -> Option<Elements> {
    let (msz, form, top) = fields(word);
    match (form, top) {
        (0 | 2, 0..4) | (1 | 2, 4..) | (0, 4 | 6) => separate(1 << msz, 8),
        (1 | 3, 0..4) | (3, 4..) if msz > 0 => separate(1 << msz, 8),
        // LD1Q.
        (0, 5) if msz == 0 => separate(16, 16),
        _ => None,
    }
}

fn load(word: u32) -> Option<Elements> {
    let (msz, form, top) = fields(word);
    let immediate = word >> 20 & 1 == 1;
    let each = 1 << msz;
    match (top, form) {
        (2 | 3 | 5, _) => {
            let (bytes, each) = DTYPE[(word >> 21 & 0xf) as usize];
            contiguous(bytes, each)
        }
        (6, _) => contiguous(u64::from(form + 1) * each, each),
        (7, _) if !immediate => contiguous(u64::from(form + 1) * each, each),
        // LD2Q to LD4Q.
        (7, 0) | (4, 1) if msz > 0 => contiguous(16 * u64::from(msz + 1), 16),
        // LD1W and LD1D of quadwords.
        (1, 0) if immediate && msz > 1 => contiguous(each, 16),
        (4, 0) if msz > 1 => contiguous(each, 16),
        // LD1RQ and LD1RO.
        (0, 0 | 1) | (1, 0 | 1) if top == 0 || !immediate => {
            Some(Elements { bytes: each, count: Count::Fixed((16 << form) / each), contiguous: true })
        }
        _ => None,
    }
}

fn store(word: u32) -> Option<Elements> {
    let (msz, form, top) = fields(word);
    let immediate = word >> 20 & 1 == 1;
    let each = 1 << msz;
    match (top, form) {
        // STR of a vector.
        (2, 0 | 1) if msz == 3 => None,
        (2, _) | (7, _) if top == 2 || !immediate => match (msz, form) {
            _ if form >= msz => contiguous(each, 1 << form),
            // ST1W and ST1D of quadwords.
            (2, 0) | (3, 2) => contiguous(each, 16),
            _ => None,
        },
        (3 | 7, _) => contiguous(u64::from(form + 1) * each, each),
        (4 | 6, 0 | 1) | (5, 0..3) | (1, 0) => separate(each, 8),
        (4 | 6, _) | (5, 3) | (1, 2) if msz < 3 => separate(each, 4),
        // ST1Q; ST2Q to ST4Q.
        (1, 1) if msz == 0 => separate(16, 16),
        (0, _) if word >> 24 & 1 == 0 && word >> 22 & 3 > 0 => {
            contiguous(16 * u64::from((word >> 22 & 3) + 1), 16)
        }
        _ => None,
    }
}

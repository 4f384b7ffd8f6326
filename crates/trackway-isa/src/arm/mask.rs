//! The row type and look-up that the three mask tables share.

/// One row of a mask table: an encoding whose bits under `mask` equal `value` is of this `class`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<C> {
    /// The bits that decide.
    pub(crate) mask: u32,
    /// Value of the fixed bits.
    pub(crate) value: u32,
    /// Which class it is then.
    pub(crate) class: C,
    /// The instruction, for readers.
    #[allow(dead_code, reason = "a comment that cannot be forgotten")]
    pub(crate) name: &'static str,
}

impl<C: Copy> Row<C> {
    pub(crate) const fn new(mask: u32, value: u32, class: C, name: &'static str) -> Self {
        Row { mask, value, class, name }
    }

    pub(crate) const fn matches(&self, encoding: u32) -> bool {
        encoding & self.mask == self.value
    }
}

/// A mask table with an index over eight of its bits, so that few rows are compared.
pub(crate) struct Table<C: 'static> {
    rows: &'static [Row<C>],
    /// The lowest of the bits that the index is over.
    low: u32,
    /// For each value of these bits, one bit per row that can match.
    index: [u64; 256],
}

impl<C: Copy> Table<C> {
    /// Fails to compile if two rows share an encoding.
    pub(crate) const fn new(rows: &'static [Row<C>], low: u32) -> Self {
        assert!(is_disjoint(rows) && rows.len() <= 64);
        let mut index = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let mut row = 0;
            while row < rows.len() {
                if (((byte as u32) << low) ^ rows[row].value) & rows[row].mask & (0xff << low) == 0 {
                    index[byte] |= 1 << row;
                }
                row += 1;
            }
            byte += 1;
        }
        Table { rows, low, index }
    }

    /// Can no row match, by the bits of the index alone?
    #[inline]
    pub(crate) fn excludes(&self, encoding: u32) -> bool {
        self.index[(encoding >> self.low & 0xff) as usize] == 0
    }

    /// The class of the row that matches.
    #[inline]
    pub(crate) fn find(&self, encoding: u32) -> Option<C> {
        let mut candidates = self.index[(encoding >> self.low & 0xff) as usize];
        while candidates != 0 {
            let row = &self.rows[candidates.trailing_zeros() as usize];
            if row.matches(encoding) {
                return Some(row.class);
            }
            candidates &= candidates - 1;
        }
        None
    }
}

/// Checked while compiling: no value has bits outside its mask, and no two rows share an encoding.
const fn is_disjoint<C: Copy>(rows: &[Row<C>]) -> bool {
    let mut i = 0;
    while i < rows.len() {
        if rows[i].value & !rows[i].mask != 0 {
            return false;
        }
        let mut j = i + 1;
        while j < rows.len() {
            if (rows[i].value ^ rows[j].value) & rows[i].mask & rows[j].mask == 0 {
                return false;
            }
            j += 1;
        }
        i += 1;
    }
    true
}

/// The `width` bits of `word` from `low` up.
pub(crate) const fn bits(word: u32, low: u32, width: u32) -> u32 {
    (word >> low) & ((1 << width) - 1)
}

/// The low `width` bits of `word`, sign-extended.
pub(crate) const fn signed(word: u32, width: u32) -> i64 {
    (((word << (32 - width)) as i32) >> (32 - width)) as i64
}

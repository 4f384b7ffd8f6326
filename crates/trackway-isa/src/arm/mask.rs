//! What the three mask tables have in common.

/// One row of a mask table: an encoding whose bits under `mask` equal `value` is of this `class`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<C> {
    /// The bits that decide.
    pub(crate) mask: u32,
    /// What they must be.
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

/// Checked while compiling: no value has bits outside its mask, and no two rows share an encoding.
pub(crate) const fn is_disjoint<C: Copy>(rows: &[Row<C>]) -> bool {
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

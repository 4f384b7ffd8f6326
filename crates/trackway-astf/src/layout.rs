//! The macro that declares a record once: its struct, its reading and writing, its field table.

/// Bytes of a record.
pub const RECORD: usize = 32;

/// The 32 bytes of a record as four little-endian words; bit `n` of the spec is bit `n % 64` of word `n / 64`.
pub type Words = [u64; 4];

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the spec; a letter distinguishes reserved fields of the same name.
    pub name: &'static str,
    /// Lowest bit in the record.
    pub low: u32,
    /// Highest bit in the record.
    pub high: u32,
    /// The spec calls it reserved.
    pub reserved: bool,
}

/// A type that a field can have.
pub(crate) trait Bits: Sized {
    fn get(words: &Words, low: u32, high: u32) -> Self;
    fn set(self, words: &mut Words, low: u32, high: u32);
    fn is_zero(&self) -> bool;
    fn show(&self, out: &mut String);
}

macro_rules! number {
    ($($ty:ty),*) => {$(
        impl Bits for $ty {
            #[inline(always)]
            fn get(words: &Words, low: u32, high: u32) -> Self {
                (words[low as usize / 64] >> (low % 64) & (u64::MAX >> (63 - (high - low)))) as $ty
            }
            #[inline(always)]
            fn set(self, words: &mut Words, low: u32, high: u32) {
                words[low as usize / 64] |= (self as u64 & (u64::MAX >> (63 - (high - low)))) << (low % 64);
            }
            fn is_zero(&self) -> bool {
                *self == 0
            }
            fn show(&self, out: &mut String) {
                use std::fmt::Write;
                // Writing to a String cannot fail.
                // Wide fields in hex, small numbers in decimal.
                let _ = if *self < 10 || <$ty>::BITS < 32 { write!(out, "{self}") } else { write!(out, "{self:#x}") };
            }
        }
    )*};
}
number!(u8, u16, u32, u64);

impl Bits for bool {
    #[inline(always)]
    fn get(words: &Words, low: u32, _: u32) -> Self {
        words[low as usize / 64] >> (low % 64) & 1 == 1
    }
    #[inline(always)]
    fn set(self, words: &mut Words, low: u32, _: u32) {
        words[low as usize / 64] |= u64::from(self) << (low % 64);
    }
    fn is_zero(&self) -> bool {
        !self
    }
    fn show(&self, out: &mut String) {
        out.push(if *self { '1' } else { '0' });
    }
}

/// Two whole words.
impl Bits for u128 {
    #[inline(always)]
    fn get(words: &Words, low: u32, _: u32) -> Self {
        let at = low as usize / 64;
        u128::from(words[at]) | u128::from(words[at + 1]) << 64
    }
    #[inline(always)]
    fn set(self, words: &mut Words, low: u32, _: u32) {
        let at = low as usize / 64;
        words[at] = self as u64;
        words[at + 1] = (self >> 64) as u64;
    }
    fn is_zero(&self) -> bool {
        *self == 0
    }
    fn show(&self, out: &mut String) {
        use std::fmt::Write;
        let _ = write!(out, "{self:#x}");
    }
}

/// String bytes, up to the end of the record.
impl<const N: usize> Bits for [u8; N] {
    fn get(words: &Words, low: u32, _: u32) -> Self {
        let bytes = to_bytes(words);
        std::array::from_fn(|n| bytes[low as usize / 8 + n])
    }
    fn set(self, words: &mut Words, low: u32, _: u32) {
        let mut bytes = to_bytes(words);
        bytes[low as usize / 8..].copy_from_slice(&self);
        *words = from_bytes(&bytes);
    }
    fn is_zero(&self) -> bool {
        self.iter().all(|byte| *byte == 0)
    }
    fn show(&self, out: &mut String) {
        use std::fmt::Write;
        let _ = write!(out, "\"{}\"", self.escape_ascii());
    }
}

/// The words of the bytes.
#[inline(always)]
pub fn from_bytes(bytes: &[u8; 32]) -> Words {
    let (words, _) = bytes.as_chunks::<8>();
    [
        u64::from_le_bytes(words[0]),
        u64::from_le_bytes(words[1]),
        u64::from_le_bytes(words[2]),
        u64::from_le_bytes(words[3]),
    ]
}

/// The bytes of the words.
#[inline(always)]
pub fn to_bytes(words: &Words) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *chunk = word.to_le_bytes();
    }
    bytes
}

/// True if the fields of a record cover its 256 bits, each bit once and in order.
pub(crate) const fn covers(fields: &[Field]) -> bool {
    let (mut n, mut next) = (0, 8);
    while n < fields.len() {
        if fields[n].low != next || fields[n].high < next {
            return false;
        }
        next = fields[n].high + 1;
        n += 1;
    }
    next == 256
}

/// Declares record types: `[high:low] name: type` per field, with the bits of the spec's tables, from bit 8 on.
/// `reserved` marks a field that the spec leaves free.
macro_rules! records {
    ($(
        $(#[$meta:meta])*
        $name:ident = $id:literal, $spec:literal, $section:literal {
            $($(#[$fmeta:meta])* $($reserved:ident)? [$high:literal : $low:literal] $field:ident: $ty:ty,)*
        }
    )*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $name { $($(#[$fmeta])* pub $field: $ty,)* }

            impl $name {
                /// Value of the first byte.
                pub const ID: u8 = $id;
                /// All fields after the first byte, in order.
                pub const FIELDS: &[Field] = &[$(Field {
                    name: stringify!($field),
                    low: $low,
                    high: $high,
                    reserved: $crate::layout::is_reserved(stringify!($($reserved)?)),
                },)*];

                /// Reads the fields; the first byte is ignored.
                #[inline(always)]
                pub fn read(words: &Words) -> Self {
                    $name { $($field: Bits::get(words, $low, $high),)* }
                }

                /// The record's words. Bits that do not fit a field are cut.
                #[inline(always)]
                pub fn write(&self) -> Words {
                    let mut words = [u64::from(Self::ID), 0, 0, 0];
                    $(Bits::set(self.$field, &mut words, $low, $high);)*
                    words
                }

                /// Passes each nonzero field to `put`, as text.
                pub fn fields(&self, put: &mut dyn FnMut(&Field, &str)) {
                    let mut text = String::new();
                    let mut fields = Self::FIELDS.iter();
                    $(
                        let field = fields.next();
                        if let Some(field) = field && !Bits::is_zero(&self.$field) {
                            text.clear();
                            Bits::show(&self.$field, &mut text);
                            put(field, &text);
                        }
                    )*
                }
            }

            const _: () = assert!($crate::layout::covers($name::FIELDS));

            impl Default for $name {
                fn default() -> Self {
                    Self::read(&[0; 4])
                }
            }
        )*

        /// Any record.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Record {
            $($(#[$meta])* $name($name),)*
            /// A type that the spec does not define, verbatim.
            Unknown(Words),
        }

        impl Record {
            /// Reads a record.
            #[inline(always)]
            pub fn read(words: &Words) -> Self {
                match words[0] as u8 {
                    $($id => Record::$name($name::read(words)),)*
                    _ => Record::Unknown(*words),
                }
            }

            /// The record's words.
            #[inline(always)]
            pub fn write(&self) -> Words {
                match self {
                    $(Record::$name(record) => record.write(),)*
                    Record::Unknown(words) => *words,
                }
            }

            /// Its name in the spec.
            pub const fn name(&self) -> &'static str {
                match self { $(Record::$name(_) => $spec,)* Record::Unknown(_) => "Unknown" }
            }

            /// The section that defines it.
            pub const fn section(&self) -> &'static str {
                match self { $(Record::$name(_) => $section,)* Record::Unknown(_) => "ASTF 4.1" }
            }

            /// Passes each nonzero field to `put`, as text.
            pub fn fields(&self, put: &mut dyn FnMut(&Field, &str)) {
                match self { $(Record::$name(record) => record.fields(put),)* Record::Unknown(_) => {} }
            }
        }

        $(impl From<$name> for Record {
            fn from(record: $name) -> Self {
                Record::$name(record)
            }
        })*
    };
}
pub(crate) use records;

pub(crate) const fn is_reserved(mark: &str) -> bool {
    !mark.is_empty()
}

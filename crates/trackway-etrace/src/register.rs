//! Fields of the encoder's registers, as chapter 2 lists them: declared once, read and written by name.

/// The column G of chapter 2: who must have the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Mandatory.
    M,
    /// Optional.
    O,
    /// Mandatory if data trace is supported.
    MD,
    /// Optional for data trace.
    OD,
}

/// A field of a register.
#[derive(Clone, Copy, Debug)]
pub struct Register<T: 'static> {
    /// Name in chapter 2.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Bits.
    pub width: u32,
    /// Who must have it.
    pub group: Group,
    /// Can it be written?
    pub writable: bool,
    pub(crate) get: fn(&T) -> u64,
    pub(crate) set: fn(&mut T, u64),
}

impl<T> Register<T> {
    /// Its value.
    pub fn get(&self, of: &T) -> u64 {
        (self.get)(of)
    }

    /// Sets it; bits beyond its width are dropped.
    pub fn set(&self, of: &mut T, value: u64) {
        (self.set)(of, trackway_core::mask(value, self.width));
    }
}

/// A value that fits a field.
pub(crate) trait Field: Copy {
    fn bits(self) -> u64;
    fn of(bits: u64) -> Self;
}

impl Field for bool {
    fn bits(self) -> u64 {
        u64::from(self)
    }

    fn of(bits: u64) -> Self {
        bits & 1 == 1
    }
}

macro_rules! fields {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn bits(self) -> u64 {
                u64::from(self)
            }

            fn of(bits: u64) -> Self {
                bits as $type
            }
        }
    )*};
}

fields!(u8 u16 u32 u64);

/// Declares a struct of fields: `field "name": type, width, group, RW or R, reset value`, and the list of them.
macro_rules! registers {
    ($(#[$about:meta])* pub struct $name:ident, $list:ident {
        $($(#[doc = $doc:literal])* $field:ident $spec:literal : $type:ty, $width:literal, $group:ident $rw:ident, $reset:expr;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $reset,)* }
            }
        }

        /// Its fields, in the order of the tables.
        pub const $list: &[$crate::register::Register<$name>] = &[$($crate::register::Register {
            name: $spec,
            about: concat!($($doc),*),
            width: $width,
            group: $crate::register::Group::$group,
            writable: registers!(@writable $rw),
            get: |of| $crate::register::Field::bits(of.$field),
            set: |of, value| of.$field = $crate::register::Field::of(value),
        }),*];
    };
    (@writable RW) => { true };
    (@writable R) => { false };
}

pub(crate) use registers;

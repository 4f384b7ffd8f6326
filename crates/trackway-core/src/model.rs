//! The macros that declare the event model once: the type, and its text form both ways.

use crate::batch::Batch;

/// A field of the model: shown after its name in an event line, and read back from it.
///
/// `show` writes nothing and returns false where the field is absent (unknown, empty, default).
pub(crate) trait Field: Sized {
    fn show(&self, batch: &Batch, out: &mut String) -> bool;
    fn read(text: Option<&str>, batch: &mut Batch) -> Option<Self>;
}

/// A plain value: number or word.
pub(crate) trait Word: Sized {
    fn show_word(&self, out: &mut String);
    fn read_word(text: &str) -> Option<Self>;
}

impl<T: Word> Field for Option<T> {
    fn show(&self, _: &Batch, out: &mut String) -> bool {
        self.as_ref().inspect(|value| value.show_word(out)).is_some()
    }
    fn read(text: Option<&str>, _: &mut Batch) -> Option<Self> {
        match text {
            None => Some(None),
            Some(text) => T::read_word(text).map(Some),
        }
    }
}

/// Fields that are always there.
macro_rules! always {
    ($($ty:ty),*) => {$(
        impl crate::model::Field for $ty {
            fn show(&self, _: &crate::batch::Batch, out: &mut String) -> bool {
                crate::model::Word::show_word(self, out);
                true
            }
            fn read(text: Option<&str>, _: &mut crate::batch::Batch) -> Option<Self> {
                text.and_then(crate::model::Word::read_word)
            }
        }
    )*};
}
pub(crate) use always;

macro_rules! hex {
    ($($ty:ty),*) => {$(
        impl Word for $ty {
            fn show_word(&self, out: &mut String) {
                use std::fmt::Write;
                // Writing to a String cannot fail.
                let _ = write!(out, "{self:#x}");
            }
            fn read_word(text: &str) -> Option<Self> {
                match text.strip_prefix("0x") {
                    Some(digits) => <$ty>::from_str_radix(digits, 16).ok(),
                    None => text.parse().ok(),
                }
            }
        }
    )*};
}
hex!(u8, u16, u32, u64);
always!(u8, u16, u32, u64);

impl Word for bool {
    fn show_word(&self, out: &mut String) {
        out.push_str(if *self { "yes" } else { "no" });
    }
    fn read_word(text: &str) -> Option<Self> {
        match text {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        }
    }
}

/// A bare `bool` is a flag: shown only when set.
impl Field for bool {
    fn show(&self, _: &Batch, out: &mut String) -> bool {
        if *self {
            self.show_word(out);
        }
        *self
    }
    fn read(text: Option<&str>, _: &mut Batch) -> Option<Self> {
        text.map_or(Some(false), bool::read_word)
    }
}

/// Declares an enum whose variants have a word each.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// All values, in order.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The name in event lines.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            #[doc(hidden)]
            pub const fn word(self) -> &'static str {
                self.as_str()
            }

            #[doc(hidden)]
            pub fn from_word(word: &str) -> Option<Self> {
                word.parse().ok()
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();

            fn from_str(name: &str) -> Result<Self, ()> {
                match name { $($word => Ok($name::$variant),)* _ => Err(()) }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl crate::model::Word for $name {
            fn show_word(&self, out: &mut String) { out.push_str(self.as_str()); }
            fn read_word(text: &str) -> Option<Self> { text.parse().ok() }
        }

        crate::model::always!($name);
    };
}
pub(crate) use words;

/// Declares a struct whose fields are shown as `name=value` and read back.
macro_rules! fields {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$fmeta:meta])* pub $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        pub struct $name { $($(#[$fmeta])* pub $field: $ty,)* }

        impl $name {
            /// The names of its fields, in order.
            pub(crate) const FIELDS: &[&'static str] = &[$(stringify!($field)),*];

            /// Shows each field that is there.
            pub(crate) fn show_fields(
                &self,
                batch: &crate::batch::Batch,
                put: &mut dyn FnMut(&'static str, &str),
            ) {
                let mut text = String::new();
                $(
                    text.clear();
                    if crate::model::Field::show(&self.$field, batch, &mut text) {
                        put(stringify!($field), &text);
                    }
                )*
            }

            /// Builds the value from `name=value` pairs.
            pub(crate) fn read_fields(
                pairs: &[(&str, &str)],
                batch: &mut crate::batch::Batch,
            ) -> Option<Self> {
                if pairs.iter().any(|(name, _)| !Self::FIELDS.contains(name)) {
                    return None;
                }
                let get = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1);
                Some($name {
                    $($field: crate::model::Field::read(get(stringify!($field)), batch)?,)*
                })
            }
        }
    };
}
pub(crate) use fields;

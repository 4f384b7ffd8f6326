//! The macros that declare the event model once: the type, and its text form both ways.

/// A field of the model: shown after its name in an event line, and read back from it. `S` holds what fields refer to:
/// the batch.
///
/// `show` writes nothing and returns false where the field is absent (unknown, empty, default).
pub(crate) trait Field<S>: Sized {
    fn show(&self, side: &S, out: &mut String) -> bool;
    fn read(text: Option<&str>, side: &mut S) -> Option<Self>;
}

/// A plain value: a number or a name.
pub(crate) trait Word: Sized {
    fn show_word(&self, out: &mut String);
    fn read_word(text: &str) -> Option<Self>;
}

impl<S, T: Word> Field<S> for Option<T> {
    fn show(&self, _: &S, out: &mut String) -> bool {
        self.as_ref().inspect(|value| value.show_word(out)).is_some()
    }
    fn read(text: Option<&str>, _: &mut S) -> Option<Self> {
        match text {
            None => Some(None),
            Some(text) => T::read_word(text).map(Some),
        }
    }
}

/// Fields that are always shown.
macro_rules! always {
    ($($ty:ty),*) => {$(
        impl<S> crate::events::model::Field<S> for $ty {
            fn show(&self, _: &S, out: &mut String) -> bool {
                crate::events::model::Word::show_word(self, out);
                true
            }
            fn read(text: Option<&str>, _: &mut S) -> Option<Self> {
                text.and_then(crate::events::model::Word::read_word)
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
impl<S> Field<S> for bool {
    fn show(&self, _: &S, out: &mut String) -> bool {
        if *self {
            self.show_word(out);
        }
        *self
    }
    fn read(text: Option<&str>, _: &mut S) -> Option<Self> {
        text.map_or(Some(false), bool::read_word)
    }
}

/// Declares an enum whose variants have a name each.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// All values, in order.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The name in event lines.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
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

        impl crate::events::model::Word for $name {
            fn show_word(&self, out: &mut String) { out.push_str(self.as_str()); }
            fn read_word(text: &str) -> Option<Self> { text.parse().ok() }
        }

        crate::events::model::always!($name);
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
            pub(crate) fn show_fields<S>(&self, side: &S, put: &mut dyn FnMut(&'static str, &str))
            where
                $($ty: crate::events::model::Field<S>,)*
            {
                let mut text = String::new();
                $(
                    text.clear();
                    if crate::events::model::Field::show(&self.$field, side, &mut text) {
                        put(stringify!($field), &text);
                    }
                )*
            }

            /// Builds the value from `name=value` pairs.
            pub(crate) fn read_fields<S>(pairs: &[(&str, &str)], side: &mut S) -> Option<Self>
            where
                $($ty: crate::events::model::Field<S>,)*
            {
                if pairs.iter().any(|(name, _)| !Self::FIELDS.contains(name)) {
                    return None;
                }
                let get = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1);
                Some($name {
                    $($field: crate::events::model::Field::read(get(stringify!($field)), side)?,)*
                })
            }
        }
    };
}
pub(crate) use fields;

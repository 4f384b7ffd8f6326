//! Settings of a format as data: for the template, for unknown keys, and for command-line options.

use std::fmt::Write;

use serde::de::DeserializeOwned;

/// A documented key of a format's settings.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name in a settings file.
    pub name: &'static str,
    /// Lines of documentation: meaning, unit, values.
    pub doc: &'static [&'static str],
    /// The default, or an example where there is none.
    pub sample: Sample,
}

/// The value of a [`Key`] in the template.
#[derive(Clone, Copy, Debug)]
pub enum Sample {
    /// A TOML value.
    Value(&'static str),
    /// A table with keys of its own.
    Table(&'static [Key]),
    /// An array of tables with keys of their own.
    Tables(&'static [Key]),
}

/// A key that has a command-line option of its own.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The option, without dashes.
    pub name: &'static str,
    /// The key it sets.
    pub key: &'static str,
    /// Name of the value in help texts; empty for a switch, which sets `true`.
    pub value: &'static str,
    /// Values that shells propose, where they can be listed.
    pub values: &'static [&'static str],
    /// The help line.
    pub help: &'static str,
    /// When it applies.
    pub when: When,
}

impl Flag {
    /// `--level`, the same in every format that compresses.
    pub const LEVEL: Flag = Flag {
        name: "level",
        key: "level",
        value: "N",
        values: &[],
        when: When::Writing,
        help: "Compression level",
    };
}

/// When a [`Flag`] applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Reading a trace.
    Reading,
    /// Writing one, also as a copy in the same format.
    Writing,
    /// Writing one from events: a copy cannot honour it.
    Lowering,
}

/// Declares a settings struct: fields with their documentation, type and sample value, and the list `KEYS`.
///
/// The struct implements `Default` and gets `Deserialize`: absent keys keep their default, unknown ones are refused. A
/// sample is a TOML value as text, `(Table Sub::KEYS)` or `(Tables Sub::KEYS)`. With `serde;` in front the struct derives
/// `Deserialize` and fields may have `#[serde(…)]` attributes; `serde` is then a dependency of the crate.
///
/// ```
/// trackway_format::settings! {
///     /// Settings of the made-up format.
///     #[derive(Clone, Debug, Default)]
///     pub struct Config {
///         /// Bytes per step: 1, 2 or 4.
///         pub step: Option<u8> = "1",
///         /// Address before the first step.
///         pub start: u64 = "0x1000",
///     }
/// }
/// assert_eq!(Config::KEYS[1].name, "start");
/// ```
#[macro_export]
macro_rules! settings {
    (serde; $(#[$meta:meta])* $vis:vis struct $name:ident { $(
        $(#[doc = $doc:literal])+
        $(#[serde($($serde:tt)*)])?
        $fvis:vis $field:ident: $ty:ty = $sample:tt,
    )* }) => {
        $(#[$meta])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        $vis struct $name { $(
            $(#[doc = $doc])+
            $(#[serde($($serde)*)])?
            $fvis $field: $ty,
        )* }

        impl $name {
            /// All keys, in the order of the template.
            $vis const KEYS: &'static [$crate::Key] = &[$(
                $crate::Key { name: stringify!($field), doc: &[$($doc),+], sample: $crate::sample!($sample) },
            )*];
        }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $(
        $(#[doc = $doc:literal])+
        $fvis:vis $field:ident: $ty:ty = $sample:tt,
    )* }) => {
        $(#[$meta])*
        $vis struct $name { $(
            $(#[doc = $doc])+
            $fvis $field: $ty,
        )* }

        impl $name {
            /// All keys, in the order of the template.
            $vis const KEYS: &'static [$crate::Key] = &[$(
                $crate::Key { name: stringify!($field), doc: &[$($doc),+], sample: $crate::sample!($sample) },
            )*];
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut table = <$crate::Table as $crate::serde::Deserialize>::deserialize(deserializer)?;
                let default = <Self as Default>::default();
                let value = $name { $(
                    $field: $crate::take(&mut table, stringify!($field), default.$field)?,
                )* };
                $crate::refuse_rest(table, $name::KEYS)?;
                Ok(value)
            }
        }
    };
}

/// Takes a key out of a table, or keeps the default; for [`settings!`](crate::settings).
#[doc(hidden)]
pub fn take<T: DeserializeOwned, E: serde::de::Error>(
    table: &mut toml::Table,
    name: &str,
    default: T,
) -> Result<T, E> {
    let Some(value) = table.remove(name) else { return Ok(default) };
    value.try_into().map_err(|error| E::custom(format!("{name}: {}", error.to_string().trim_end())))
}

/// Refuses the keys that are left, with a suggestion; for [`settings!`](crate::settings).
#[doc(hidden)]
pub fn refuse_rest<E: serde::de::Error>(table: toml::Table, keys: &[Key]) -> Result<(), E> {
    let Some(key) = table.keys().next() else { return Ok(()) };
    let near = suggest(key, keys.iter().map(|key| key.name));
    let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
    Err(E::custom(format!("{key}: unknown key{near}")))
}

/// The sample of a key: a TOML value as text, `(Table KEYS)` or `(Tables KEYS)`.
#[doc(hidden)]
#[macro_export]
macro_rules! sample {
    (($kind:ident $keys:expr)) => {
        $crate::Sample::$kind($keys)
    };
    ($value:literal) => {
        $crate::Sample::Value($value)
    };
}

/// A commented template of all keys of a section.
pub(crate) fn template(section: &str, keys: &[Key], out: &mut String) {
    // Writing to a String cannot fail.
    if !section.is_empty() {
        let _ = writeln!(out, "[{section}]");
    }
    let doc = |key: &Key, out: &mut String| {
        for line in key.doc {
            let _ = writeln!(out, "# {}", line.trim());
        }
    };
    for key in keys {
        if let Sample::Value(value) = key.sample {
            doc(key, out);
            let _ = writeln!(out, "# {} = {value}", key.name);
        }
    }
    for key in keys {
        let path = if section.is_empty() { key.name.to_string() } else { format!("{section}.{}", key.name) };
        let (sub, several) = match key.sample {
            Sample::Value(_) => continue,
            Sample::Table(sub) => (sub, false),
            Sample::Tables(sub) => (sub, true),
        };
        out.push('\n');
        doc(key, out);
        let heading = if several { format!("[[{path}]]") } else { format!("[{path}]") };
        let _ = writeln!(out, "# {heading}");
        for key in sub {
            if let Sample::Value(value) = key.sample {
                doc(key, out);
                let _ = writeln!(out, "# {} = {value}", key.name);
            }
        }
    }
}

/// The first key of `table` that is not among `keys`, as `path.key`, with the nearest known one.
pub(crate) fn unknown(table: &toml::Table, keys: &[Key]) -> Option<(String, Option<&'static str>)> {
    for (name, value) in table {
        let Some(key) = keys.iter().find(|key| key.name == name) else {
            return Some((name.clone(), suggest(name, keys.iter().map(|key| key.name))));
        };
        let tables: Vec<&toml::Table> = match value {
            toml::Value::Table(table) => vec![table],
            toml::Value::Array(values) => values.iter().filter_map(toml::Value::as_table).collect(),
            _ => Vec::new(),
        };
        if let Sample::Table(sub) | Sample::Tables(sub) = key.sample
            && let Some((path, near)) = tables.into_iter().find_map(|table| unknown(table, sub))
        {
            return Some((format!("{name}.{path}"), near));
        }
    }
    None
}

/// The known name that is nearest to a misspelt one, if one is near.
///
/// ```
/// assert_eq!(trackway_format::suggest("size_unti", ["size_unit", "process_id"]), Some("size_unit"));
/// assert_eq!(trackway_format::suggest("colour", ["size_unit", "process_id"]), None);
/// ```
pub fn suggest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.into_iter().map(|known| (distance(name, known), known)).min()?;
    (near.0 <= 1 + name.len() / 4).then_some(near.1)
}

/// Letters to insert, delete or replace to get from one name to the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

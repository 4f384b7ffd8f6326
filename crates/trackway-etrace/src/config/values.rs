//! Values of settings that plain serde does not cover: numbers of 64 bits, privileges, bits as lists, codes by name.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toml::{Table, Value};
use trackway_core::Privilege;
use trackway_format::{Key, Sample};

use crate::port::{Dtype, PRIVILEGES, privilege_code, privilege_of};
use crate::registers::{function, input, match_mode};

/// Brings values into the form of the key's sample: flags written as 0 and 1, numbers written as flags, and lists of
/// one item without brackets.
pub(super) fn normalise(table: &mut Table, keys: &[Key]) {
    for (name, value) in table.iter_mut() {
        let Some(key) = keys.iter().find(|key| key.name == name) else { continue };
        match (key.sample, &mut *value) {
            (Sample::Table(keys), Value::Table(table)) => normalise(table, keys),
            (Sample::Tables(keys), Value::Array(items)) => {
                items.iter_mut().filter_map(Value::as_table_mut).for_each(|table| normalise(table, keys));
            }
            (Sample::Value("true" | "false"), Value::Integer(n @ (0 | 1))) => {
                *value = Value::Boolean(*n == 1)
            }
            (Sample::Value(sample), Value::Boolean(on))
                if sample.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                *value = Value::Integer((*on).into());
            }
            (Sample::Value(sample), Value::String(_)) if sample.starts_with("[\"") => {
                *value = Value::Array(vec![value.clone()]);
            }
            _ => {}
        }
    }
}

/// A type of setting with a text form of its own.
pub(super) trait Setting: Sized {
    /// Reads a value; `Err` says what is expected.
    fn read(value: &Value) -> Result<Self, String>;

    /// The value that is written.
    fn write(&self) -> Value;
}

/// For `#[serde(with = "values")]`.
pub(super) fn deserialize<'de, D: Deserializer<'de>, T: Setting>(from: D) -> Result<T, D::Error> {
    T::read(&Value::deserialize(from)?).map_err(de::Error::custom)
}

/// For `#[serde(with = "values")]`.
pub(super) fn serialize<S: Serializer, T: Setting>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.write().serialize(to)
}

impl Setting for u64 {
    /// TOML's integers are signed: higher addresses are text.
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(n) => Ok(*n as u64),
            Value::String(text) => u64::from_str_radix(text.trim_start_matches("0x"), 16)
                .map_err(|_| format!("{text:?} is not a hexadecimal number")),
            _ => Err("expected a number".into()),
        }
    }

    fn write(&self) -> Value {
        i64::try_from(*self).map_or_else(|_| Value::String(format!("{self:#x}")), Value::Integer)
    }
}

impl Setting for Privilege {
    fn read(value: &Value) -> Result<Self, String> {
        let word = value.as_str().ok_or("expected text")?;
        let known = PRIVILEGES.iter().find(|(_, privilege)| privilege.as_str() == word);
        known
            .map(|(_, privilege)| *privilege)
            .ok_or_else(|| format!("{word:?} is not a privilege; expected u, s, m, d, vu or vs"))
    }

    fn write(&self) -> Value {
        self.as_str().into()
    }
}

impl<T: Setting> Setting for Option<T> {
    fn read(value: &Value) -> Result<Self, String> {
        T::read(value).map(Some)
    }

    /// Fields skip `None`.
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Boolean(false), T::write)
    }
}

impl<T: Setting> Setting for Vec<T> {
    fn read(value: &Value) -> Result<Self, String> {
        value.as_array().ok_or("expected a list")?.iter().map(T::read).collect()
    }

    fn write(&self) -> Value {
        Value::Array(self.iter().map(T::write).collect())
    }
}

/// The bits of a mask, or of a list of bit numbers and names.
fn read_bits(value: &Value, width: u32, named: fn(&str) -> Option<u32>) -> Result<u64, String> {
    let items = match value {
        Value::Array(items) => items,
        mask => return Ok(trackway_core::mask(u64::read(mask)?, width)),
    };
    if let [Value::String(mask)] = &items[..]
        && mask.starts_with("0x")
    {
        return read_bits(&items[0], width, named);
    }
    items.iter().try_fold(0, |bits, item| {
        let bit = match item {
            Value::String(name) => named(name).ok_or_else(|| format!("{name:?} is not known"))?,
            number => u32::try_from(u64::read(number)?).unwrap_or(u32::MAX),
        };
        if bit < width { Ok(bits | 1 << bit) } else { Err(format!("{bit} is not below {width}")) }
    })
}

fn list_bits(bits: u64, written: fn(u32) -> Value) -> Value {
    Value::Array((0..64).filter(|bit| bits >> bit & 1 == 1).map(written).collect())
}

/// The code of a register field, by number or name.
fn read_code(value: &Value, names: &[&str]) -> Result<u8, String> {
    let known = match value {
        Value::String(name) => {
            let name = name.replace(' ', "");
            names.iter().position(|known| known.replace(' ', "") == name)
        }
        number => usize::try_from(u64::read(number)?).ok().filter(|code| *code < names.len()),
    };
    known.map(|code| code as u8).ok_or_else(|| format!("{value} is not known; expected {}", names.join(", ")))
}

/// Declares types of settings: `Name(type): how to read, how to write`.
macro_rules! settings_types {
    ($($(#[doc = $doc:literal])* $name:ident($type:ty): $read:expr, $write:expr;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub(super) struct $name(pub(super) $type);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let write: fn($type) -> Value = $write;
                write(self.0).serialize(to)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let read: fn(&Value) -> Result<_, String> = $read;
                read(&Value::deserialize(from)?).map(|value| $name(value as $type)).map_err(de::Error::custom)
            }
        }
    )*};
}

settings_types! {
    /// Filters, a bit each.
    FilterBits(u16): |value| read_bits(value, 16, |_| None), |bits| list_bits(bits.into(), Value::from);
    /// Causes of traps, a bit each.
    CauseBits(u32): |value| read_bits(value, 32, |_| None), |bits| list_bits(bits.into(), Value::from);
    /// Logarithms of access sizes, a bit each.
    SizeBits(u8): |value| read_bits(value, 8, |_| None), |bits| list_bits(bits.into(), Value::from);
    /// Privileges, a bit for each code.
    PrivilegeBits(u8):
        |value| read_bits(value, 8, |name| privilege_code(Privilege::read(&name.into()).ok()?)),
        |bits| list_bits(bits.into(), |code| privilege_of(code).map_or(code.into(), |level| level.write()));
    /// Access types, a bit for each code.
    DtypeBits(u16):
        |value| read_bits(value, 16, |name| (0..16).find(|code| Dtype(*code as u8).name() == name)),
        |bits| list_bits(bits.into(), Value::from);
    /// Input of a comparison (table 2.6).
    InputCode(u8): |value| read_code(value, &input::NAMES), |code| input::NAMES[usize::from(code & 3)].into();
    /// Function of a comparison (table 2.6).
    FunctionCode(u8):
        |value| read_code(value, &function::NAMES),
        |code| function::NAMES[usize::from(code & 7)].into();
    /// How a comparator combines its comparisons (table 2.6).
    MatchModeCode(u8):
        |value| read_code(value, &match_mode::NAMES),
        |code| match_mode::NAMES[usize::from(code & 3)].into();
}

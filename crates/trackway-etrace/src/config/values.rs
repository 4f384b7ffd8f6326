//! Values of settings in the forms that files have them: flags as 0 and 1, addresses as hexadecimal text, bits
//! as lists of numbers or names.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toml::Value;
use trackway_core::Privilege;

use crate::modes::Mode;
use crate::port::{Dtype, PRIVILEGES, privilege_code, privilege_of};
use crate::registers::{function, input, match_mode};

/// A type of setting that files may write in more than one way.
pub(super) trait Setting: Sized {
    /// Reads any of the forms; `Err` says what is expected.
    fn read(value: &Value) -> Result<Self, String>;

    /// The form that is written.
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

impl Setting for bool {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Boolean(on) => Ok(*on),
            Value::Integer(n @ (0 | 1)) => Ok(*n == 1),
            _ => Err("expected true or false".into()),
        }
    }

    fn write(&self) -> Value {
        Value::Boolean(*self)
    }
}

impl Setting for u32 {
    /// Parameters of one bit are written as numbers and as flags.
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(n) => u32::try_from(*n).map_err(|_| format!("{n} is out of range")),
            Value::Boolean(on) => Ok(u32::from(*on)),
            _ => Err("expected a number".into()),
        }
    }

    fn write(&self) -> Value {
        Value::Integer((*self).into())
    }
}

impl Setting for u8 {
    fn read(value: &Value) -> Result<Self, String> {
        let number = u32::read(value)?;
        u8::try_from(number).map_err(|_| format!("{number} is out of range"))
    }

    fn write(&self) -> Value {
        Value::Integer((*self).into())
    }
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

impl Setting for String {
    fn read(value: &Value) -> Result<Self, String> {
        value.as_str().map(str::to_string).ok_or_else(|| "expected text".into())
    }

    fn write(&self) -> Value {
        Value::String(self.clone())
    }
}

impl Setting for Privilege {
    fn read(value: &Value) -> Result<Self, String> {
        let word = String::read(value)?;
        let known = PRIVILEGES.iter().map(|(_, privilege)| *privilege);
        known
            .into_iter()
            .find(|privilege| privilege.as_str() == word)
            .ok_or_else(|| format!("{word:?} is not a privilege; expected u, s, m, d, vu or vs"))
    }

    fn write(&self) -> Value {
        Value::String(self.as_str().to_string())
    }
}

impl Setting for Mode {
    fn read(value: &Value) -> Result<Self, String> {
        let word = String::read(value)?;
        word.parse().map_err(|()| {
            let known: Vec<_> = Mode::ALL.iter().map(|mode| mode.as_str()).collect();
            format!("{word:?} is not a mode; expected {}", known.join(", "))
        })
    }

    fn write(&self) -> Value {
        Value::String(self.as_str().to_string())
    }
}

impl<T: Setting> Setting for Option<T> {
    fn read(value: &Value) -> Result<Self, String> {
        T::read(value).map(Some)
    }

    /// `None` is skipped by its field.
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Array(Vec::new()), T::write)
    }
}

/// A list; one item need not be in brackets.
impl<T: Setting> Setting for Vec<T> {
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Array(items) => items.iter().map(T::read).collect(),
            Value::String(_) => T::read(value).map(|item| vec![item]),
            _ => Err("expected a list".into()),
        }
    }

    fn write(&self) -> Value {
        Value::Array(self.iter().map(T::write).collect())
    }
}

/// Bits that are set: a number, or a list of bit numbers and names.
fn read_bits(
    value: &Value,
    width: u32,
    named: impl Fn(&Value) -> Result<u32, String>,
) -> Result<u64, String> {
    let Value::Array(items) = value else { return Ok(trackway_core::mask(u64::read(value)?, width)) };
    items.iter().try_fold(0, |bits, item| {
        let bit = if item.is_str() { named(item)? } else { u32::read(item)? };
        if bit < width { Ok(bits | 1 << bit) } else { Err(format!("{bit} is not below {width}")) }
    })
}

fn write_bits(bits: u64) -> Value {
    Value::Array((0..64).filter(|bit| bits >> bit & 1 == 1).map(Value::Integer).collect())
}

/// A choice of numbered things below `WIDTH`, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bits<const WIDTH: u32>(pub(super) u64);

impl<const WIDTH: u32> Setting for Bits<WIDTH> {
    fn read(value: &Value) -> Result<Self, String> {
        read_bits(value, WIDTH, |name| Err(format!("{name}: expected a number"))).map(Bits)
    }

    fn write(&self) -> Value {
        write_bits(self.0)
    }
}

/// A choice of privileges: a bit for each code.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PrivilegeBits(pub(super) u8);

impl Setting for PrivilegeBits {
    fn read(value: &Value) -> Result<Self, String> {
        let code = |name: &Value| privilege_code(Privilege::read(name)?).ok_or("it has no code".to_string());
        read_bits(value, 8, code).map(|bits| PrivilegeBits(bits as u8))
    }

    fn write(&self) -> Value {
        let codes = (0..8).filter(|code| self.0 >> code & 1 == 1);
        let written = |code: u32| privilege_of(code).map_or(code.write(), |privilege| privilege.write());
        Value::Array(codes.map(written).collect())
    }
}

/// A choice of access types: a bit for each code.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DtypeBits(pub(super) u16);

impl Setting for DtypeBits {
    fn read(value: &Value) -> Result<Self, String> {
        let code = |name: &Value| {
            let name = String::read(name)?;
            let known = (0..16).find(|code| Dtype(*code as u8).name() == name);
            known.ok_or_else(|| format!("{name:?} is not an access type"))
        };
        read_bits(value, 16, code).map(|bits| DtypeBits(bits as u16))
    }

    fn write(&self) -> Value {
        write_bits(self.0.into())
    }
}

/// Codes of a register field, by number or name.
macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident: $names:expr;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub(super) struct $name(pub(super) u8);

        impl Setting for $name {
            fn read(value: &Value) -> Result<Self, String> {
                read_code(value, &$names).map($name)
            }

            fn write(&self) -> Value {
                Value::String($names[usize::from(self.0) % $names.len()].to_string())
            }
        }
    )*};
}

codes! {
    /// Input of a comparison (table 2.6).
    InputCode: input::NAMES;
    /// Function of a comparison (table 2.6).
    FunctionCode: function::NAMES;
    /// How a comparator combines its comparisons (table 2.6).
    MatchModeCode: match_mode::NAMES;
}

fn read_code(value: &Value, names: &[&str]) -> Result<u8, String> {
    if !value.is_str() {
        let code = u32::read(value)?;
        let known = u8::try_from(code).ok().filter(|code| usize::from(*code) < names.len());
        return known.ok_or_else(|| format!("{code} is not below {}", names.len()));
    }
    let name = String::read(value)?.replace(' ', "");
    let known = names.iter().position(|known| known.replace(' ', "") == name);
    known
        .map(|code| code as u8)
        .ok_or_else(|| format!("{name:?} is not known; expected {}", names.join(", ")))
}

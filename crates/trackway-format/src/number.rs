//! Numbers of 64 bits in settings.

use serde::{Deserialize, Deserializer};

/// A number of 64 bits: an integer, or text (`"0xffff_0000_0000_0000"`) where TOML's own integers do not reach.
///
/// ```
/// #[derive(serde::Deserialize)]
/// struct Section { reset_pc: trackway_format::Number }
/// let section: Section = toml::from_str("reset_pc = \"0xffff_0000_0000_1000\"").unwrap();
/// assert_eq!(section.reset_pc.0, 0xffff_0000_0000_1000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number(pub u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Plain(u64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Plain(value) => Ok(Number(value)),
            Either::Text(text) => {
                let digits = text.replace('_', "");
                let value = match digits.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                value.map(Number).map_err(|_| serde::de::Error::custom(format!("{text:?} is not a number")))
            }
        }
    }
}

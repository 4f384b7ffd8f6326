//! Control registers in which a core differs from the model's own choices: `[csr.NAME]` of a configuration file.

use std::collections::BTreeMap;

use serde::Deserialize;
use trackway_isa::riscv::csr_number;

/// A control register of a core. Fields that are left out are as in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsrRule {
    /// Does it exist? One that the model does not know holds what is written.
    pub exists: Option<bool>,
    /// Value after reset.
    pub reset: Option<u64>,
    /// Bits that a write can change.
    pub writable: Option<u64>,
    /// It always reads this.
    pub read_only: Option<u64>,
    /// Values that a write can leave, as inclusive ranges; any other changes nothing. None: all.
    pub legal: &'static [(u64, u64)],
    /// Fields with rules of their own.
    pub fields: &'static [CsrField],
}

/// A field of a control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsrField {
    /// Its most significant bit.
    pub msb: u8,
    /// Its least significant bit.
    pub lsb: u8,
    /// What a write leaves in it.
    pub kept: Kept,
}

/// What a write leaves in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Always this.
    Fixed(u64),
    /// The bits of `mask` as written, the others as in `fixed`.
    Masked {
        /// Bits that a write can change.
        mask: u64,
        /// The other bits.
        fixed: u64,
    },
    /// The value, if it is one of these (or none of them); otherwise what is said, or what was there.
    Among {
        /// First and last value of each range.
        ranges: &'static [(u64, u64)],
        /// Are these the legal values, or those that are not?
        is_listed: bool,
        /// The value that others become.
        otherwise: Option<u64>,
    },
}

impl CsrField {
    /// The register with this field as a write leaves it.
    fn written(&self, old: u64, value: u64) -> u64 {
        let width = u32::from(self.msb - self.lsb) + 1;
        let bits = u64::MAX >> (64 - width);
        let (was, new) = (old >> self.lsb & bits, value >> self.lsb & bits);
        let kept = match self.kept {
            Kept::Fixed(fixed) => fixed,
            Kept::Masked { mask, fixed } => new & mask | fixed & !mask,
            Kept::Among { ranges, is_listed, otherwise } => {
                let found = ranges.iter().any(|(from, to)| (*from..=*to).contains(&new));
                if found == is_listed { new } else { otherwise.unwrap_or(was) }
            }
        };
        value & !(bits << self.lsb) | (kept & bits) << self.lsb
    }
}

/// Rules by register number.
pub type CsrRules = &'static [(u16, CsrRule)];

impl CsrRule {
    /// As in the model.
    pub const NONE: Self =
        CsrRule { exists: None, reset: None, writable: None, read_only: None, legal: &[], fields: &[] };

    /// The value that a write leaves, before the model's own limits.
    pub(crate) fn written(&self, old: u64, value: u64) -> u64 {
        let mask = self.writable.unwrap_or(u64::MAX);
        let value = old & !mask | value & mask;
        let value = self.fields.iter().fold(value, |value, field| field.written(old, value));
        let is_legal =
            self.legal.is_empty() || self.legal.iter().any(|(from, to)| (*from..=*to).contains(&value));
        if is_legal { value } else { old }
    }
}

/// A number; text for those beyond TOML's numbers, or `"all"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Bits {
    /// A number.
    Number(i64),
    /// `"all"` or a number in text.
    Text(String),
}

impl Bits {
    /// The number.
    pub fn value(&self) -> Result<u64, String> {
        match self {
            Bits::Number(bits) => Ok(*bits as u64),
            Bits::Text(text) if text == "all" => Ok(u64::MAX),
            Bits::Text(text) => {
                let digits = text.replace('_', "");
                let value = match digits.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                value.map_err(|_| format!("{text:?} is neither a number nor \"all\""))
            }
        }
    }
}

/// `read_only` of a register: its value, or that it keeps the one after reset.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ReadOnly {
    /// As after reset.
    Kept(bool),
    /// This value.
    Value(Bits),
}

/// A legal value, or the first and last of several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Legal {
    /// One value.
    One(Bits),
    /// First and last.
    Range(Bits, Bits),
}

trackway_format::settings! {
    /// One register in `[csr.NAME]`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct CsrSettings {
        /// Value after reset: a number, as text beyond TOML's numbers.
        pub reset: Option<Bits> = "0",
        /// Bits that a write can change.
        pub writable: Option<Bits> = "0xb3ff",
        /// Values that a write can leave, or pairs of first and last; any other write changes nothing.
        pub warl: Option<Vec<Legal>> = "[0, [8, 9]]",
        /// It never changes (true), or always reads this value.
        pub read_only: Option<ReadOnly> = "0",
        /// Does it exist? One that the model does not know holds what is written.
        pub exists: Option<bool> = "true",
    }
}

/// Rules from the `[csr]` section on top of others. They live as long as the program: a core is described once.
pub fn read_rules(base: CsrRules, settings: &BTreeMap<String, CsrSettings>) -> Result<CsrRules, String> {
    if settings.is_empty() {
        return Ok(base);
    }
    let mut rules: BTreeMap<u16, CsrRule> = base.iter().copied().collect();
    for (name, setting) in settings {
        let number = csr_number(name)
            .or_else(|| u16::from_str_radix(name.strip_prefix("0x")?, 16).ok())
            .filter(|number| *number < 0x1000)
            .ok_or_else(|| format!("[csr.{name}]: no such register"))?;
        let wrong = |text: String| format!("[csr.{name}] {text}");
        let bits = |bits: &Option<Bits>| bits.as_ref().map(Bits::value).transpose().map_err(wrong);
        let rule = rules.entry(number).or_default();
        rule.exists = setting.exists.or(rule.exists);
        rule.reset = bits(&setting.reset)?.or(rule.reset);
        rule.writable = bits(&setting.writable)?.or(rule.writable);
        match &setting.read_only {
            Some(ReadOnly::Kept(true)) => rule.writable = Some(0),
            Some(ReadOnly::Kept(false)) => (rule.read_only, rule.writable) = (None, None),
            Some(ReadOnly::Value(value)) => rule.read_only = Some(value.value().map_err(wrong)?),
            None => {}
        }
        if let Some(legal) = &setting.warl {
            let ranges: Result<Vec<_>, String> = legal
                .iter()
                .map(|legal| match legal {
                    Legal::One(value) => value.value().map(|value| (value, value)),
                    Legal::Range(from, to) => Ok((from.value()?, to.value()?)),
                })
                .collect();
            rule.legal = ranges.map_err(wrong)?.leak();
        }
    }
    Ok(rules.into_iter().collect::<Vec<_>>().leak())
}

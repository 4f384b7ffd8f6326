//! Filters in TOML: `ifilters`, `dfilters`, `[[comparator]]`, `[[filter]]`.

use std::fmt::Write;

use toml::{Table, Value};

use super::{ConfigError, array, boolean, number, privilege, string, tables, wide};
use crate::port::{Dtype, privilege_code, privilege_of};
use crate::registers::{Comparator, Filter, function, input, match_mode};

/// Which filters there are and what they qualify.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterConfig {
    /// Comparator units, at most 8.
    pub comparators: Vec<Comparator>,
    /// Filters, at most 16.
    pub filters: Vec<Filter>,
    /// Filters that qualify instruction trace, a bit each; 0: all instructions are traced (table 2.3).
    pub ifilters: u16,
    /// Filters that qualify data trace, a bit each; 0: all accesses are traced (table 2.3).
    pub dfilters: u16,
}

/// A number, or its name in a list.
fn coded(key: &str, value: &Value, names: &[&str]) -> Result<u8, ConfigError> {
    if let Value::Integer(_) = value {
        let code = number(key, value)?;
        return u8::try_from(code)
            .ok()
            .filter(|code| usize::from(*code) < names.len())
            .ok_or_else(|| ConfigError::new(key, format!("{code} is not below {}", names.len())));
    }
    let name = string(key, value)?;
    names
        .iter()
        .position(|of| of.replace(' ', "") == name.replace(' ', ""))
        .map(|code| code as u8)
        .ok_or_else(|| {
            ConfigError::new(key, format!("{name:?} is not known; there are {}", names.join(", ")))
        })
}

/// Bits: a number, or a list of bit numbers or names.
fn choice(
    key: &str,
    value: &Value,
    width: u32,
    named: impl Fn(&str) -> Result<u32, ConfigError>,
) -> Result<u64, ConfigError> {
    let Value::Array(_) = value else { return Ok(trackway_core::mask(wide(key, value)?, width)) };
    let mut bits = 0;
    for item in array(key, value)? {
        let bit = match item {
            Value::String(name) => named(name)?,
            item => number(key, item)?,
        };
        if bit >= width {
            return Err(ConfigError::new(key, format!("{bit} is not below {width}")));
        }
        bits |= 1 << bit;
    }
    Ok(bits)
}

fn comparator(table: &Table) -> Result<Comparator, ConfigError> {
    let mut unit = Comparator::default();
    for (key, value) in table {
        match key.as_str() {
            "p_input" => unit.p_input = coded(key, value, &input::NAMES)?,
            "s_input" => unit.s_input = coded(key, value, &input::NAMES)?,
            "p_function" => unit.p_function = coded(key, value, &function::NAMES)?,
            "s_function" => unit.s_function = coded(key, value, &function::NAMES)?,
            "match_mode" => unit.match_mode = coded(key, value, &match_mode::NAMES)?,
            "p_match" => unit.p_match = wide(key, value)?,
            "s_match" => unit.s_match = wide(key, value)?,
            "p_notify" => unit.p_notify = boolean(key, value)?,
            "s_notify" => unit.s_notify = boolean(key, value)?,
            _ => return Err(ConfigError::new(format!("comparator.{key}"), "no such key")),
        }
    }
    Ok(unit)
}

fn filter(table: &Table) -> Result<Filter, ConfigError> {
    let mut filter = Filter { filter_enable: true, ..Filter::default() };
    for (key, value) in table {
        let unnamed = |name: &str| Err(ConfigError::new(key, format!("{name:?}: a number is wanted")));
        let unit = |value: &Value| {
            let unit = number(key, value)?;
            u8::try_from(unit).map_err(|_| ConfigError::new(key, "there is no such comparator"))
        };
        match key.as_str() {
            "enable" => filter.filter_enable = boolean(key, value)?,
            "comp1" => (filter.match_comp1, filter.comp1) = (true, unit(value)?),
            "comp2" => (filter.match_comp2, filter.comp2) = (true, unit(value)?),
            "comp3" => (filter.match_comp3, filter.comp3) = (true, unit(value)?),
            "privilege" => {
                filter.match_privilege = true;
                filter.match_choice_privilege = choice(key, value, 8, |word| {
                    let level = privilege(key, word)?;
                    privilege_code(level).ok_or_else(|| ConfigError::new(key, "it has no code"))
                })? as u8;
            }
            "ecause" => {
                filter.match_ecause = true;
                filter.match_choice_ecause = choice(key, value, 32, unnamed)? as u32;
            }
            "interrupt" => {
                filter.match_interrupt = true;
                filter.match_value_interrupt = boolean(key, value)?;
            }
            "impdef_mask" => {
                filter.match_impdef = true;
                filter.match_mask_impdef = number(key, value)?;
            }
            "impdef_value" => {
                filter.match_impdef = true;
                filter.match_value_impdef = number(key, value)?;
            }
            "dtype" => {
                filter.match_dtype = true;
                filter.match_choice_dtype = choice(key, value, 16, |name| {
                    (0..16)
                        .find(|code| Dtype(*code as u8).name() == name)
                        .ok_or_else(|| ConfigError::new(key, format!("{name:?} is not known")))
                })? as u16;
            }
            "dsize" => {
                filter.match_dsize = true;
                filter.match_choice_dsize = choice(key, value, 8, unnamed)? as u8;
            }
            _ => return Err(ConfigError::new(format!("filter.{key}"), "no such key")),
        }
    }
    Ok(filter)
}

fn bits(choice: u64) -> String {
    let bits: Vec<_> = (0..64).filter(|bit| choice >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
    format!("[{}]", bits.join(", "))
}

fn privileges(choice: u8) -> String {
    let named = (0..8u32).filter(|code| choice >> code & 1 == 1).map(|code| match privilege_of(code) {
        Some(level) => format!("\"{}\"", level.word()),
        None => code.to_string(),
    });
    format!("[{}]", named.collect::<Vec<_>>().join(", "))
}

impl FilterConfig {
    /// Does any comparator ask for addresses to be told?
    pub fn has_watchpoints(&self) -> bool {
        self.comparators.iter().any(|unit| unit.p_notify || unit.s_notify)
    }

    /// Takes a key, if it is one of ours.
    pub(crate) fn read(&mut self, key: &str, value: &Value) -> Result<bool, ConfigError> {
        let unnamed = |name: &str| Err(ConfigError::new(key, format!("{name:?}: a number is wanted")));
        match key {
            "ifilters" => self.ifilters = choice(key, value, 16, unnamed)? as u16,
            "dfilters" => self.dfilters = choice(key, value, 16, unnamed)? as u16,
            "comparator" => {
                self.comparators = tables(key, value)?.map(comparator).collect::<Result<_, _>>()?
            }
            "filter" => self.filters = tables(key, value)?.map(filter).collect::<Result<_, _>>()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The part that stands before tables.
    pub(crate) fn write_keys(&self, out: &mut String) -> std::fmt::Result {
        for (key, chosen) in [("ifilters", self.ifilters), ("dfilters", self.dfilters)] {
            if chosen != 0 {
                writeln!(out, "{key} = {}", bits(chosen.into()))?;
            }
        }
        Ok(())
    }

    /// The tables.
    pub(crate) fn write_tables(&self, out: &mut String) -> std::fmt::Result {
        for unit in &self.comparators {
            writeln!(out, "\n[[comparator]]")?;
            for (key, code, names) in [
                ("p_input", unit.p_input, &input::NAMES[..]),
                ("s_input", unit.s_input, &input::NAMES[..]),
                ("p_function", unit.p_function, &function::NAMES[..]),
                ("s_function", unit.s_function, &function::NAMES[..]),
                ("match_mode", unit.match_mode, &match_mode::NAMES[..]),
            ] {
                writeln!(out, "{key} = \"{}\"", names[usize::from(code) % names.len()])?;
            }
            // As text: TOML's integers are signed.
            writeln!(out, "p_match = \"{:#x}\"\ns_match = \"{:#x}\"", unit.p_match, unit.s_match)?;
            writeln!(out, "p_notify = {}\ns_notify = {}", unit.p_notify, unit.s_notify)?;
        }
        for filter in &self.filters {
            writeln!(out, "\n[[filter]]\nenable = {}", filter.filter_enable)?;
            for (wanted, key, value) in [
                (filter.match_comp1, "comp1", filter.comp1.to_string()),
                (filter.match_comp2, "comp2", filter.comp2.to_string()),
                (filter.match_comp3, "comp3", filter.comp3.to_string()),
                (filter.match_privilege, "privilege", privileges(filter.match_choice_privilege)),
                (filter.match_ecause, "ecause", bits(filter.match_choice_ecause.into())),
                (filter.match_interrupt, "interrupt", filter.match_value_interrupt.to_string()),
                (filter.match_impdef, "impdef_mask", filter.match_mask_impdef.to_string()),
                (filter.match_impdef, "impdef_value", filter.match_value_impdef.to_string()),
                (filter.match_dtype, "dtype", bits(filter.match_choice_dtype.into())),
                (filter.match_dsize, "dsize", bits(filter.match_choice_dsize.into())),
            ] {
                if wanted {
                    writeln!(out, "{key} = {value}")?;
                }
            }
        }
        Ok(())
    }

    /// Rejects what cannot be, with the reason.
    pub(crate) fn check(&self, params: &crate::Params) -> Result<(), ConfigError> {
        if self.comparators.len() > 8 {
            return Err(ConfigError::new("comparator", "there are at most 8"));
        }
        if self.filters.len() > 16 {
            return Err(ConfigError::new("filter", "there are at most 16"));
        }
        for (key, chosen) in [("ifilters", self.ifilters), ("dfilters", self.dfilters)] {
            if u32::from(chosen) >> self.filters.len() != 0 {
                return Err(ConfigError::new(key, "it names a filter that is not there"));
            }
        }
        for filter in &self.filters {
            if filter.comparators().any(|unit| usize::from(unit) >= self.comparators.len()) {
                return Err(ConfigError::new("filter.comp1", "there is no such comparator"));
            }
            let missing = [
                (filter.match_privilege && params.filter_privilege == 0, "filter_privilege"),
                (filter.follows_traps() && params.filter_excint == 0, "filter_excint"),
                (filter.match_impdef && params.filter_impdef == 0, "filter_impdef"),
            ];
            if let Some((_, name)) = missing.iter().find(|(missing, _)| *missing) {
                return Err(ConfigError::new(*name, "a filter needs it, and it is 0"));
            }
        }
        for unit in &self.comparators {
            let watched = [(unit.p_notify, unit.p_input), (unit.s_notify, unit.s_input)];
            if watched.iter().any(|(notify, which)| *notify && *which != input::IADDR) {
                return Err(ConfigError::new("comparator.p_notify", "a watchpoint is on iaddr"));
            }
            let reads = |which: u8| unit.p_input == which || unit.s_input == which;
            let missing = [
                (reads(input::CONTEXT) && params.filter_context == 0, "filter_context"),
                (reads(input::TVAL) && params.filter_tval == 0, "filter_tval"),
            ];
            if let Some((_, name)) = missing.iter().find(|(missing, _)| *missing) {
                return Err(ConfigError::new(*name, "a comparator needs it, and it is 0"));
            }
        }
        Ok(())
    }
}

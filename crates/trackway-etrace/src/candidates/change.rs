//! Settings with some keys changed.

use toml::{Table, Value};
use trackway_format::{Candidate, Settings};

use crate::config::Config;

/// Changes of some keys: a value, or its removal.
pub(super) type Change = Vec<(&'static str, Option<Value>)>;

/// A number as a value.
pub(super) fn number(value: u32) -> Option<Value> {
    Some(Value::from(value))
}

/// `from` with some keys changed; none where nothing changes or the result is refused.
pub(super) fn changed(
    from: &Settings,
    keys: &[(&'static str, Option<Value>)],
    what: String,
) -> Option<Candidate> {
    let before = Config::section(&from.table);
    let mut section = before.clone();
    for (key, value) in keys {
        match value {
            Some(Value::Table(table)) => {
                let inner = section.entry(*key).or_insert_with(|| Table::new().into());
                inner.as_table_mut()?.extend(table.clone());
            }
            Some(value) => drop(section.insert((*key).into(), value.clone())),
            None => drop(section.remove(*key)),
        }
    }
    let config = Config::from_section(section.clone()).ok()?;
    // Keys that change nothing are left out of settings that the user gave.
    for (key, _) in keys.iter().filter(|(key, _)| !before.is_empty() && !before.contains_key(*key)) {
        let mut without = section.clone();
        let is_same = |other: Config| other == config;
        if without.remove(*key).is_some() && Config::from_section(without.clone()).is_ok_and(is_same) {
            section = without;
        }
    }
    if section == before {
        return None;
    }
    let mut settings = Settings { path: from.path.clone(), table: Table::new() };
    settings.table.insert("etrace".into(), Value::Table(section));
    Some(Candidate { settings, what })
}

//! Settings to try where the widths of a trace are lost.

use trackway_format::{Candidate, Settings, Table, Value};

use crate::config::{Config, ID, Profile, Section};

/// All widths and profiles that the protocol has, the usual ones first.
pub(crate) fn candidates() -> Vec<Candidate> {
    with_shapes(&Settings::default()).collect()
}

/// Variations of `from`: other widths, and what existing encoders do beyond the specification.
pub(crate) fn neighbours(from: &Settings) -> Vec<Candidate> {
    let switches = ["lenient", "custom"]
        .into_iter()
        .flat_map(|key| [true, false].map(|on| (key, on)))
        .filter_map(|(key, on)| changed(from, &[(key, Value::from(on))], format!("{key} {on}")));
    with_shapes(from).chain(switches).collect()
}

/// `from` with each combination of widths and profile.
fn with_shapes(from: &Settings) -> impl Iterator<Item = Candidate> {
    let shapes = [(64, 64), (32, 34), (32, 32)].into_iter().flat_map(|(xlen, mlen)| {
        let profiles = [Profile::Spec, Profile::Bluespec].map(|profile| profile.as_str());
        [64, 32, 0].into_iter().flat_map(move |flen| profiles.map(|profile| (xlen, mlen, flen, profile)))
    });
    shapes.filter_map(|(xlen, mlen, flen, profile)| {
        let keys = [
            ("xlen", Value::from(xlen)),
            ("flen", Value::from(flen)),
            ("mlen", Value::from(mlen)),
            ("profile", Value::from(profile)),
        ];
        changed(from, &keys, format!("xlen {xlen}, flen {flen}, mlen {mlen}, profile {profile}"))
    })
}

/// `from` with some keys changed; none where nothing changes or the result is refused.
fn changed(from: &Settings, keys: &[(&str, Value)], what: String) -> Option<Candidate> {
    let before = from.table.get(ID.as_str()).and_then(Value::as_table).cloned().unwrap_or_default();
    let mut section: Table = before.clone();
    section.extend(keys.iter().map(|(key, value)| (key.to_string(), value.clone())));
    if section == before {
        return None;
    }
    let mut settings = Settings { path: from.path.clone(), table: Table::new() };
    settings.table.insert(ID.as_str().into(), Value::Table(section));
    let section: Section = settings.section(ID.as_str()).ok()?;
    section.apply(Config::default()).widths().ok()?;
    Some(Candidate { settings, what })
}

//! Settings to try where those of a trace are lost: framings by their headers, the layout of packets by where
//! synchronisations lead in the program, and variations of settings that may be almost right.

mod change;
mod doubts;
mod framings;
mod layouts;

use toml::{Table, Value};
use trackway_format::{Candidate, Excerpt, Settings};

use self::change::{Change, changed, number};
pub(crate) use self::doubts::doubts;
use self::framings::{Framed, framing_keys, framing_names, name};
use self::layouts::{WIDTHS, layouts, leads};
use crate::config::Config;
use crate::dialect::Dialect;
use crate::modes::{Mode, SupportLayout};
use crate::transport::Framing;

/// Framings that are worth a trial.
const FRAMINGS: usize = 6;

/// Framings that are worth a trial, the likeliest first: packets of a wrong one lead nowhere in the program.
fn framings(excerpt: &Excerpt<'_>, given: Option<&Framing>) -> Vec<Framed> {
    let mut found = framings::framings(excerpt, given);
    found.sort_by_cached_key(|framed| !leads(framed, excerpt));
    found.truncate(FRAMINGS);
    found
}

/// Starting points, the likeliest first.
pub(crate) fn candidates(excerpt: &Excerpt<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for framed in framings(excerpt, None) {
        for layout in layouts(&framed, excerpt, None) {
            let mut change = framing_keys(&framed.framing);
            let what = format!("{}, {}", name(&framed.framing), layout.what);
            change.extend(layout.keys);
            found.extend(changed(&Settings::default(), &change, what));
        }
    }
    found
}

/// Variations of `from`, one respect at a time.
pub(crate) fn neighbours(from: &Settings, excerpt: &Excerpt<'_>) -> Vec<Candidate> {
    let config = Config::from_section(Config::section(&from.table)).unwrap_or_default();
    let mut changes: Vec<(String, Change)> = Vec::new();
    let framings = framings(excerpt, Some(&config.framing));
    changes.extend(framing_names());
    changes.extend(framings.iter().map(|framed| (name(&framed.framing), framing_keys(&framed.framing))));
    changes.extend(dialects(&config));
    // Where synchronisations lead shows the widths before the address at once.
    for framed in &framings {
        for layout in layouts(framed, excerpt, Some(&config)) {
            let mut keys = framing_keys(&framed.framing);
            keys.extend(layout.keys);
            changes.push((format!("{}, {}", name(&framed.framing), layout.what), keys));
        }
    }
    let numbers = |key: &'static str, values: &mut dyn Iterator<Item = u32>| {
        values.map(|value| (format!("{key} {value}"), vec![(key, number(value))])).collect::<Vec<_>>()
    };
    changes.extend(numbers("iaddress_width", &mut WIDTHS.into_iter().chain(16..=64)));
    changes.extend(numbers("iaddress_lsb", &mut (0..=2)));
    changes.extend(numbers("privilege_width", &mut (1..=4)));
    changes.push(("nocontext 1".into(), vec![("nocontext", number(1))]));
    for width in 1..=64 {
        let keys = vec![("nocontext", number(0)), ("context_width", number(width))];
        changes.push((format!("context_width {width}"), keys));
    }
    if config.dialect.has_time() {
        changes.push(("notime 1".into(), vec![("notime", number(1))]));
        for width in 1..=64 {
            let keys = vec![("notime", number(0)), ("time_width", number(width))];
            changes.push((format!("time_width {width}"), keys));
        }
    }
    changes.extend(numbers("ecause_width", &mut (1..=16).chain([31, 32, 63, 64])));
    for (key, other, largest) in
        [("return_stack_size", "call_counter_size", 9), ("call_counter_size", "return_stack_size", 7)]
    {
        for size in 0..=largest {
            changes.push((format!("{key} {size}"), vec![(key, number(size)), (other, number(0))]));
        }
    }
    for key in ["bpred_size", "cache_size"] {
        for size in 0..=10 {
            let mut keys = vec![(key, number(size))];
            changes.push((format!("{key} {size}"), keys.clone()));
            keys.push(("f0s_width", number(1)));
            changes.push((format!("{key} {size}, f0s_width 1"), keys));
        }
    }
    changes.extend(numbers("f0s_width", &mut (0..=3)));
    changes.extend(support(&config));
    changes.extend(modes(&config));
    let data = Table::from_iter([("enable".to_string(), Value::Boolean(!config.data.enable))]);
    changes.push(("data trace".into(), vec![("data", Some(Value::Table(data)))]));
    changes.into_iter().filter_map(|(what, keys)| changed(from, &keys, what)).collect()
}

/// The other dialect, alone and with its own defaults.
fn dialects(config: &Config) -> Vec<(String, Change)> {
    let other = if config.dialect == Dialect::V2 { Dialect::Draft } else { Dialect::V2 };
    let what = format!("dialect {}", other.as_str());
    let alone = vec![("dialect", Some(Value::from(other.as_str())))];
    let mut usual = alone.clone();
    usual.extend(["privilege_width", "nocontext", "context_width"].map(|key| (key, None)));
    // Version 2 has a bit more after the cause: with this width the address stays where it is.
    let width = config.params.ecause_width;
    let width = if other == Dialect::V2 { width.saturating_sub(1) } else { width + 1 };
    let mut aligned = alone.clone();
    aligned.push(("ecause_width", number(width)));
    vec![
        (what.clone(), alone),
        (format!("{what} with its defaults"), usual),
        (format!("{what}, ecause_width {width}"), aligned),
    ]
}

/// Layouts of the support packet.
fn support(config: &Config) -> Vec<(String, Change)> {
    let named = SupportLayout::NAMES.iter().map(|name| {
        let removed = ["ioptions", "doptions", "doptions_width", "encoder_mode_width"].map(|key| (key, None));
        let mut keys = vec![("support_layout", Some(Value::from(*name)))];
        keys.extend(removed);
        (format!("support_layout {name}"), keys)
    });
    let widths = (0..=4).filter(|width| *width != config.support.encoder_mode_width);
    let modes = widths
        .map(|width| (format!("encoder_mode_width {width}"), vec![("encoder_mode_width", number(width))]));
    let data =
        [0, 2, 4].map(|width| (format!("doptions_width {width}"), vec![("doptions_width", number(width))]));
    named.chain(modes).chain(data).collect()
}

/// Modes that may be on from the start, and how calls are counted.
fn modes(config: &Config) -> Vec<(String, Change)> {
    let switched = |mode: Mode| {
        let mut options = config.options;
        options.set(mode, !options.get(mode));
        let on = Mode::ALL.into_iter().filter(|mode| options.get(*mode));
        let names: Vec<Value> = on.map(|mode| mode.as_str().into()).collect();
        let mut keys = vec![("options", Some(Value::Array(names)))];
        if mode == Mode::Sijump {
            keys.push(("sijump", number(u32::from(options.sijump))));
        }
        let word = if options.get(mode) { "on" } else { "off" };
        (format!("{} {word} from the start", mode.as_str()), keys)
    };
    let mut all: Vec<_> = Mode::ALL[..6].iter().map(|mode| switched(*mode)).collect();
    let full = !config.call_counter_full;
    all.push((format!("call_counter_full {full}"), vec![("call_counter_full", Some(full.into()))]));
    let calls = if config.calls_x1_only { "x1-x5" } else { "x1" };
    all.push((format!("calls {calls}"), vec![("calls", Some(calls.into()))]));
    all
}

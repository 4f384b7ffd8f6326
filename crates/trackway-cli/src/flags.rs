//! Command-line options that formats declare for their settings.

use clap::{Arg, ArgAction, ArgMatches, CommandFactory};
use trackway::format::{Flag, Format, Value, When};

use crate::cli::Cli;

/// Subcommands that read traces, and those that write them.
const READING: [&str; 6] = ["info", "dump", "convert", "stats", "check", "verify"];
const WRITING: [&str; 2] = ["convert", "record"];

/// The command line with the options of all formats.
pub(crate) fn command(formats: &[&'static dyn Format]) -> clap::Command {
    let mut command = Cli::command();
    for flag in distinct(formats) {
        let names: &[&str] = if flag.when == When::Reading { &READING } else { &WRITING };
        for name in names {
            command = command.mut_subcommand(name, |command| command.arg(argument(formats, flag)));
        }
    }
    command
}

/// The options given, with their values as TOML, in the order of the formats.
pub(crate) fn given(formats: &[&'static dyn Format], matches: &ArgMatches) -> Vec<(Flag, Value)> {
    let Some((_, matches)) = matches.subcommand() else { return Vec::new() };
    let value = |flag: &Flag| -> Option<Value> {
        if flag.value.is_empty() {
            let set = matches.try_get_one::<bool>(flag.name).ok()??;
            return set.then_some(true.into());
        }
        let text = matches.try_get_one::<String>(flag.name).ok()??;
        Some(number(text).map_or_else(|| text.as_str().into(), Value::from))
    };
    distinct(formats).into_iter().filter_map(|flag| Some((*flag, value(flag)?))).collect()
}

/// An integer as TOML has them; anything else stays text.
fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// One flag of each name.
fn distinct(formats: &[&'static dyn Format]) -> Vec<&'static Flag> {
    let mut flags: Vec<&'static Flag> = Vec::new();
    for flag in formats.iter().flat_map(|format| format.flags()) {
        if !flags.iter().any(|known| known.name == flag.name) {
            flags.push(flag);
        }
    }
    flags
}

fn argument(formats: &[&'static dyn Format], flag: &Flag) -> Arg {
    let mut helps: Vec<&str> = Vec::new();
    for other in formats.iter().flat_map(|format| format.flags()).filter(|other| other.name == flag.name) {
        if !helps.contains(&other.help) {
            helps.push(other.help);
        }
    }
    let argument = Arg::new(flag.name).long(flag.name).help(helps.join("; "));
    if flag.value.is_empty() {
        argument.action(ArgAction::SetTrue)
    } else {
        argument.value_name(flag.value).allow_negative_numbers(true)
    }
}

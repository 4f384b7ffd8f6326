//! The command line as it is at run time: examples, options that formats declare for their settings, values to propose.

use std::any::TypeId;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, CommandFactory};
use trackway::PROGRAM_RULES;
use trackway::format::{Flag, Format, Value, When};
use trackway_core::FormatId;

use crate::cli::Cli;
use crate::examples;
use crate::exit::Exit;
use crate::proposed::Proposed;
use crate::topics::{self, TOPICS};

/// Subcommands that read traces, and those that write them.
const READING: &[&str] = &[
    "info", "dump", "convert", "slice", "split", "merge", "stats", "check", "index", "verify", "diff",
    "doctor", "state", "why", "find", "calls", "flame", "profile", "cover",
];
const WRITING: &[&str] = &["convert", "slice", "split", "merge", "record"];

/// The command line with the options of all formats.
pub(crate) fn command(formats: &[&'static dyn Format]) -> clap::Command {
    let mut command = described(Cli::command().after_help(after_help()));
    command = command.mut_subcommands(|command| {
        described(command).mut_args(|arg| {
            match arg.get_value_parser().type_id() == TypeId::of::<FormatId>() {
                true => arg.value_parser(format_names(formats)),
                false => arg,
            }
        })
    });
    let commands: Vec<String> = command.get_subcommands().map(|command| command.get_name().into()).collect();
    let rules = formats.iter().flat_map(|format| format.rules()).chain(PROGRAM_RULES);
    let topics = commands.iter().cloned().chain(topics::names().map(String::from));
    for (name, arg, values) in [
        ("check", "waive", rules.map(|rule| rule.name.to_string()).collect()),
        ("help", "topic", topics.collect()),
        ("man", "command", commands.clone()),
    ] {
        command = command.mut_subcommand(name, |command| command.mut_arg(arg, |arg| propose(arg, values)));
    }
    for flag in distinct(formats) {
        let names: &[&str] = if flag.when == When::Reading { READING } else { WRITING };
        for name in names {
            command = command.mut_subcommand(name, |command| command.arg(argument(formats, flag)));
        }
    }
    command
}

/// A command with its examples. They are a part of the template, so that they are not wrapped.
fn described(command: clap::Command) -> clap::Command {
    const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}{after-help}";
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(text) => command.after_help(flowing(&text)),
        None => command,
    };
    match examples::of(command.get_name()) {
        Some(text) => command.help_template(format!("{text}\n\n{TEMPLATE}")),
        None => command,
    }
}

/// Sentences that go over several lines of the source as one line each, so that they are wrapped once.
fn flowing(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let is_apart = line.is_empty() || line.starts_with(' ') || out.ends_with(['.', ':', '\n']);
        if !out.is_empty() {
            out.push(if is_apart { '\n' } else { ' ' });
        }
        out.push_str(line);
    }
    out
}

/// The end of the program's help: topics and exit codes.
fn after_help() -> String {
    let topics = TOPICS.iter().map(|topic| format!("  {:<12} {}\n", topic.name, topic.about));
    let exits: Vec<String> =
        Exit::ALL.iter().map(|exit| format!("{} {}", *exit as u8, exit.brief())).collect();
    format!("Topics, for trackway help:\n{}\nExit codes: {}.", topics.collect::<String>(), exits.join(", "))
}

/// The names of formats, and nothing else.
fn format_names(formats: &[&'static dyn Format]) -> impl TypedValueParser<Value = FormatId> + use<> {
    let ids: Vec<FormatId> = formats.iter().map(|format| format.id()).collect();
    let names = ids.iter().map(|id| PossibleValue::new(id.to_string())).collect::<Vec<_>>();
    let read = move |name: String| ids.iter().copied().find(|id| id.as_str() == name).ok_or("unknown format");
    PossibleValuesParser::new(names).try_map(read)
}

fn propose(arg: Arg, values: Vec<String>) -> Arg {
    arg.value_parser(Proposed(values)).hide_possible_values(true)
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
    let (mut helps, mut values): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    for other in formats.iter().flat_map(|format| format.flags()).filter(|other| other.name == flag.name) {
        if !helps.contains(&other.help) {
            helps.push(other.help);
        }
        let new: Vec<&&str> =
            other.values.iter().filter(|value| !values.iter().any(|known| known == *value)).collect();
        values.extend(new.into_iter().map(|value| value.to_string()));
    }
    let argument = Arg::new(flag.name).long(flag.name).help(helps.join("; "));
    if flag.value.is_empty() {
        return argument.action(ArgAction::SetTrue);
    }
    let argument = argument.value_name(flag.value).allow_negative_numbers(true);
    if values.is_empty() { argument } else { propose(argument, values) }
}

//! `trackway check`: is a trace legal?

use std::collections::BTreeMap;
use std::io::{BufWriter, StdoutLock, Write};
use std::path::Path;

use serde_json::json;
use trackway::format::{Format, suggest};
use trackway::{Health, Options, PROGRAM_RULES, Trace};
use trackway_core::{Finding, Rule, Severity};

use crate::args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::json::{Object, object, print, put_errors, write_line};
use crate::open::open;
use crate::plain::plain;
use crate::progress::Progress;
use crate::report::{placed, say};

pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if let Some(id) = args.rules {
        return rules(args.common.context.format(id)?, args);
    }
    let Some(file) = &args.file else {
        return Err(Failure::Usage("which trace? Give FILE, or --rules FORMAT".into()));
    };
    let mut trace = open(&args.common, file)?;
    let known: Vec<&'static Rule> = trace.format().rules().iter().chain(PROGRAM_RULES).copied().collect();
    let mut found = Found {
        args,
        waived: waived_rules(&args.waive, &known, trace.format().title())?,
        groups: BTreeMap::new(),
        out: BufWriter::new(std::io::stdout().lock()),
        written: Ok(()),
    };
    let progress = if args.jsonl {
        Progress::beside_output(args.common.quiet)
    } else {
        Progress::new(args.common.quiet)
    };
    progress.say("checking");
    progress.follow(&trace);
    let checked = found.check(&mut trace, file, &progress);
    drop(progress);
    std::mem::replace(&mut found.written, Ok(()))?;
    for (rule, _) in found.waived.iter().filter(|(_, count)| **count == 0) {
        say!("--waive {rule}: no findings of this rule");
    }
    let (errors, warnings, notes, waived) = found.counts();
    // Damage is reported after the findings.
    let checked = checked.map_err(|error| placed(&args.common, file, error));
    found.print(file, &checked)?;
    let items = checked?;
    if !args.common.quiet {
        say!("{items} items checked: {errors} errors, {warnings} warnings, {notes} notes, {waived} waived");
    }
    if items == 0 {
        return Err(Failure::Usage(format!("{}: nothing to check", file.display())));
    }
    // Notes point something out; they do not make a trace illegal. Under --strict they count.
    let found = errors + warnings > 0 || (args.common.strict && notes > 0);
    Ok(if found { Exit::Found } else { Exit::Fine })
}

/// A finding, and the source that it is in where there are several.
#[derive(Debug)]
struct Placed {
    finding: Finding,
    source: Option<String>,
}

/// Findings of one rule.
#[derive(Debug)]
struct Group {
    rule: &'static Rule,
    count: u64,
    first: Vec<Placed>,
}

/// Findings so far.
struct Found<'a> {
    args: &'a CheckArgs,
    waived: BTreeMap<&'static str, u64>,
    groups: BTreeMap<&'static str, Group>,
    out: BufWriter<StdoutLock<'static>>,
    written: std::io::Result<()>,
}

impl Found<'_> {
    /// Checks all sources, each alone where the format can; returns the number of items.
    fn check(&mut self, trace: &mut Trace, file: &Path, progress: &Progress) -> trackway::Result<u64> {
        let names = trace.meta().sources.clone();
        if names.len() > 1 && trace.divides_items() {
            let mut items = 0;
            let options =
                self.args.common.options().map_err(|failure| trackway::Error::Config(failure.to_string()))?;
            for name in &names {
                let mut one = Options { source: Some(name.clone()), ..options.clone() }.open(file)?;
                progress.follow(&one);
                let mut take = |finding| self.take(finding, Some(name));
                let (checked, compared) = trackway::check_with_program(&mut one, &mut take)?;
                compared?;
                items += checked;
            }
            return Ok(items);
        }
        let (items, compared) = trackway::check_with_program(trace, &mut |finding| self.take(finding, None))?;
        match compared {
            Err(trackway::Error::ReadOnce) => {
                say!("not compared with the program: the input is a stream, which is read once");
                Ok(items)
            }
            checked => checked.map(|()| items),
        }
    }

    fn take(&mut self, finding: Finding, source: Option<&String>) {
        if let Some(count) = self.waived.get_mut(finding.rule.name) {
            *count += 1;
            return;
        }
        let placed = Placed { finding, source: source.cloned() };
        if self.args.jsonl && self.written.is_ok() {
            let mut line = object("finding");
            line.extend(fields(&placed));
            self.written = write_line(&mut self.out, &line.into());
        }
        let rule = placed.finding.rule;
        let new = || Group { rule, count: 0, first: Vec::new() };
        let group = self.groups.entry(rule.name).or_insert_with(new);
        group.count += 1;
        if group.first.len() < self.args.limit as usize {
            group.first.push(placed);
        }
    }

    /// Errors, warnings, notes and waived findings.
    fn counts(&self) -> (u64, u64, u64, u64) {
        let count = |severity| -> u64 {
            self.groups
                .values()
                .filter(|group| group.rule.severity == severity)
                .map(|group| group.count)
                .sum()
        };
        let waived = self.waived.values().sum();
        (count(Severity::Error), count(Severity::Warning), count(Severity::Note), waived)
    }

    fn print(&mut self, file: &Path, checked: &Result<u64, Failure>) -> std::io::Result<()> {
        let (errors, warnings, notes, waived) = self.counts();
        if self.args.json {
            let groups = self.groups.iter().map(|(rule, group)| {
                let first: Vec<Object> = group.first.iter().map(fields).collect();
                json!({ "rule": rule, "count": group.count, "first": first })
            });
            let mut summary = object("check");
            summary.insert("file".into(), json!(file.display().to_string()));
            summary.insert("items".into(), json!(checked.as_ref().ok()));
            let counts = json!({ "errors": errors, "warnings": warnings, "notes": notes, "waived": waived });
            summary.insert("counts".into(), counts);
            summary.insert("findings".into(), groups.collect());
            put_errors(&mut summary, &Health::default(), checked.as_ref().err());
            return print(summary);
        }
        if !self.args.jsonl {
            for group in self.groups.values() {
                for Placed { finding, source } in &group.first {
                    let source = source.as_ref().map_or(String::new(), |name| format!("{name}: "));
                    writeln!(self.out, "{source}{}", plain(&finding.to_string()))?;
                }
                let more = group.count - group.first.len() as u64;
                if more > 0 {
                    let Rule { name, demand, .. } = group.rule;
                    writeln!(self.out, "    … and {more} more of {name} ({demand})")?;
                }
            }
        }
        self.out.flush()
    }
}

/// The rules to ignore, with a count for each; a name that the format does not have is refused.
fn waived_rules(
    names: &[String],
    rules: &[&'static Rule],
    title: &str,
) -> Result<BTreeMap<&'static str, u64>, Failure> {
    let mut waived = BTreeMap::new();
    for name in names {
        let Some(rule) =
            rules.iter().find(|rule| rule.name == name || (!name.is_empty() && rule.old == name))
        else {
            let near = suggest(name, rules.iter().map(|rule| rule.name));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            return Err(Failure::Usage(format!("--waive {name}: {title} has no such rule{near}")));
        };
        if rule.name != name {
            say!("--waive {name}: this rule is now called {}", rule.name);
        }
        waived.insert(rule.name, 0);
    }
    Ok(waived)
}

/// `--rules`: all rules of a format.
fn rules(format: &dyn Format, args: &CheckArgs) -> Result<Exit, Failure> {
    if args.json {
        let rules = format.rules().iter().map(|rule| {
            let severity = rule.severity.as_str();
            json!({ "rule": rule.name, "severity": severity, "section": rule.section, "demand": rule.demand })
        });
        let mut object = object("rules");
        object.insert("format".into(), json!(format.id().as_str()));
        object.insert("rules".into(), rules.collect());
        print(object)?;
        return Ok(Exit::Fine);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    for rule in format.rules() {
        writeln!(out, "{:<7} {} [{}]: {}", rule.severity.as_str(), rule.name, rule.section, rule.demand)?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn fields(placed: &Placed) -> Object {
    let Placed { finding, source } = placed;
    let mut fields = Object::new();
    for (name, value) in [
        ("rule", json!(finding.rule.name)),
        ("severity", json!(finding.rule.severity.as_str())),
        ("section", json!(finding.rule.section)),
        ("source", json!(source)),
        ("offset", json!(finding.offset)),
        ("item", json!(finding.item)),
        ("message", json!(finding.message)),
    ] {
        if !value.is_null() {
            fields.insert(name.into(), value);
        }
    }
    fields
}

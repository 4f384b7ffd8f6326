//! `trackway check`: is a trace legal?

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use serde_json::json;
use trackway::format::{Format, suggest};
use trackway_core::{Finding, Rule, Severity};

use crate::cli::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::open::open;
use crate::progress::Progress;
use crate::report::{placed, say};

/// Findings of one rule.
#[derive(Debug, Default)]
struct Group {
    count: u64,
    first: Vec<Finding>,
}

pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if let Some(id) = args.rules {
        return rules(args.common.context.format(id)?);
    }
    let Some(file) = &args.file else {
        return Err(Failure::Usage("which trace? Give FILE, or --rules FORMAT".into()));
    };
    let mut trace = open(&args.common, file)?;
    let known = trace.format().rules();
    let mut groups: BTreeMap<&'static str, Group> = BTreeMap::new();
    let mut waived = waived_rules(&args.waive, known, trace.format().title())?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    let progress = if args.jsonl {
        Progress::beside_output(args.common.quiet)
    } else {
        Progress::new(args.common.quiet)
    };
    progress.say("checking");
    let checked = trace.check(&mut |finding| {
        if let Some(count) = waived.get_mut(finding.rule.name) {
            *count += 1;
            return;
        }
        if args.jsonl && written.is_ok() {
            written = writeln!(out, "{}", object(&finding));
        }
        let group = groups.entry(finding.rule.name).or_default();
        group.count += 1;
        if group.first.len() < args.limit as usize {
            group.first.push(finding);
        }
    });
    drop(progress);
    written?;
    for (rule, _) in waived.iter().filter(|(_, count)| **count == 0) {
        say!("--waive {rule}: no findings of this rule");
    }
    let waived: u64 = waived.values().sum();
    // Damage is reported after the findings.
    let count = |severity| -> u64 {
        let of =
            |group: &&Group| group.first.first().is_some_and(|finding| finding.rule.severity == severity);
        groups.values().filter(of).map(|group| group.count).sum()
    };
    let (errors, warnings, notes) = (count(Severity::Error), count(Severity::Warning), count(Severity::Note));
    if args.json {
        let rules: Vec<_> = groups
            .values()
            .map(|group| json!({ "count": group.count, "first": group.first.iter().map(object).collect::<Vec<_>>() }))
            .collect();
        let summary = json!({
            "trackway": { "schema": 1, "kind": "check" },
            "file": file.display().to_string(),
            "errors": errors, "warnings": warnings, "notes": notes, "waived": waived,
            "items": checked.as_ref().ok(),
            "findings": rules,
        });
        writeln!(out, "{summary}")?;
    } else if !args.jsonl {
        for group in groups.values() {
            for finding in &group.first {
                writeln!(out, "{finding}")?;
            }
            let more = group.count - group.first.len() as u64;
            if let Some(finding) = group.first.first().filter(|_| more > 0) {
                writeln!(out, "    … and {more} more of {} ({})", finding.rule.name, finding.rule.demand)?;
            }
        }
    }
    out.flush()?;
    let items = checked.map_err(|error| placed(&args.common, file, error))?;
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

/// The rules to ignore, with a count for each; a name that the format does not have is refused.
fn waived_rules(
    names: &[String],
    rules: &'static [&'static Rule],
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
fn rules(format: &dyn Format) -> Result<Exit, Failure> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for rule in format.rules() {
        writeln!(out, "{:<7} {} [{}]: {}", rule.severity.as_str(), rule.name, rule.section, rule.demand)?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn object(finding: &Finding) -> serde_json::Value {
    json!({
        "rule": finding.rule.name,
        "severity": finding.rule.severity.as_str(),
        "section": finding.rule.section,
        "offset": finding.offset,
        "item": finding.item,
        "message": finding.message,
    })
}

//! `trackway check`: is a trace legal?

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use serde_json::json;
use trackway_core::{Finding, Severity};

use crate::cli::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::report::{placed, tell};

/// Findings of one rule.
#[derive(Debug, Default)]
struct Group {
    count: u64,
    first: Vec<Finding>,
}

pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let (trace, _) = args.common.open(&args.file)?;
    let mut groups: BTreeMap<&'static str, Group> = BTreeMap::new();
    let mut waived: BTreeMap<&str, u64> = args.waive.iter().map(|rule| (rule.as_str(), 0)).collect();
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
    // A name that is misspelt waives nothing.
    for (rule, _) in waived.iter().filter(|(_, count)| **count == 0) {
        tell!("--waive {rule}: there are no findings of this rule");
    }
    let waived: u64 = waived.values().sum();
    // Damage is told at the end, what was found around it too.
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
            "file": args.file.display().to_string(),
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
    let items = checked.map_err(|error| placed(&args.common, &args.file, error))?;
    if !args.common.quiet {
        tell!("{items} items checked: {errors} errors, {warnings} warnings, {notes} notes, {waived} waived");
    }
    if items == 0 {
        return Err(Failure::Usage(format!("{}: nothing to check", args.file.display())));
    }
    // Notes point something out; they do not make a trace illegal. Under --strict they count.
    let found = errors + warnings > 0 || (args.common.strict && notes > 0);
    Ok(if found { Exit::Found } else { Exit::Fine })
}

fn object(finding: &Finding) -> serde_json::Value {
    json!({
        "rule": finding.rule.name,
        "severity": finding.rule.severity.word(),
        "section": finding.rule.section,
        "offset": finding.offset,
        "item": finding.item,
        "message": finding.message,
    })
}

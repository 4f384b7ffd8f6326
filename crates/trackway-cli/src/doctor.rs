//! `trackway doctor`: what is wrong with a file that does not decode, or decodes badly.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use trackway_tools::doctor::{AsIs, Budget, Diagnosis, Fit, Report, examine};

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::json::{object, program, put_errors};
use crate::plain::plain;
use crate::report::{placed, quoted, say, words};

/// Said where a trace needs a program and none is named.
const MISSING: &str = "the program (--elf): without it only the structure of the items was compared";

/// Arguments of `doctor`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit codes: 0 the file decodes as it is, 1 something is wrong and the answer says what, \
                        3 nothing is known about the file."
)]
pub(crate) struct Args {
    /// Files that do not decode, or badly; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Settings to try, and bytes of the trace that each is tried on
    #[arg(long, value_name = "TRIES[:BYTES]", value_parser = budget, default_value = "4000:65536")]
    pub(crate) budget: Budget,
    /// Write the settings that fit best to a file
    #[arg(short, long, value_name = "FILE.toml")]
    pub(crate) output: Option<PathBuf>,
    /// One JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn budget(text: &str) -> Result<Budget, String> {
    let (tries, bytes) = text.split_once(':').map_or((text, None), |(tries, bytes)| (tries, Some(bytes)));
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    let refused = || format!("{text:?} is not TRIES or TRIES:BYTES, as in 4000:65536");
    let bytes = bytes.map_or(Some(Budget::default().bytes), number);
    Ok(Budget { tries: number(tries).ok_or_else(refused)?, bytes: bytes.ok_or_else(refused)? })
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.output.is_some() && args.files.len() > 1 {
        return Err(Failure::Usage("--output takes the settings of one file".into()));
    }
    crate::each::each(&args.files, "doctor", args.json, |path| {
        let options = args.common.options()?;
        let report =
            examine(path, &options, args.budget).map_err(|error| placed(&args.common, path, error))?;
        show(args, path, &report)
    })
}

fn show(args: &Args, path: &Path, report: &Report) -> Result<Exit, Failure> {
    if let (Some(output), Some(diagnosis)) = (&args.output, &report.diagnosis) {
        std::fs::write(output, diagnosis.toml())
            .map_err(|error| Failure::Written { path: output.clone(), error })?;
    }
    if args.json {
        crate::json::print(as_json(args, path, report))?;
    } else {
        let mut out = std::io::stdout().lock();
        print(&mut out, args, path, report)?;
    }
    Ok(match report {
        report if report.is_fine() => Exit::Fine,
        report if report.is_unknown() => {
            say!("nothing is known about {}", path.display());
            Exit::Unreadable
        }
        _ => Exit::Found,
    })
}

/// Advice about this file.
fn named(advice: &str, path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let quoted = |path: &Path| quoted(&path.display().to_string());
    advice.replace("FILE", &quoted(path)).replace("FOLDER", &quoted(folder))
}

/// A line with its label, in the layout of `info`.
fn line(out: &mut impl Write, label: &str, text: &str) -> std::io::Result<()> {
    writeln!(out, "{:<12} {}", format!("{label}:"), plain(text))
}

fn print(out: &mut impl Write, args: &Args, path: &Path, report: &Report) -> std::io::Result<()> {
    let size = report.bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes"));
    let inside = report.compression.map_or(String::new(), |name| format!(", compressed with {name}"));
    line(out, "file", &format!("{}{size}{inside}", path.display()))?;
    match &report.as_is {
        AsIs::Opened { title, fit, .. } => line(out, "as it is", &format!("{title}: {}", account(fit)))?,
        AsIs::Refused(reason) => line(out, "as it is", reason.trim_end())?,
    }
    if let AsIs::Opened { fit, .. } = &report.as_is {
        print_against(out, fit, &[])?;
        report.found.iter().try_for_each(|text| line(out, "found", text))?;
        if let Some(verdict) = fit.program.filter(|verdict| !verdict.is_right()) {
            line(out, "program", &verdict.to_string())?;
        }
    }
    for (spec, reason) in &report.programs {
        line(out, "program", &format!("{spec} cannot be used: {reason}"))?;
    }
    let named = |advice: &str| named(advice, path);
    for look in &report.looks {
        line(out, "looks like", &format!("{} ({})", look.what, look.why))?;
        line(out, "do", &named(&look.advice))?;
    }
    if let Some(transfer) = &report.transfer {
        line(out, "changed", &transfer.what)?;
        line(out, "do", &named(&transfer.advice))?;
    }
    match &report.diagnosis {
        Some(diagnosis) => print_diagnosis(out, args, report, diagnosis),
        None if report.is_fine() => line(out, "verdict", "nothing is wrong with it"),
        None if matches!(&report.as_is, AsIs::Opened { fit, .. } if fit.instructions.is_none()) => {
            line(out, "missing", MISSING)
        }
        None if matches!(report.as_is, AsIs::Opened { .. }) => {
            line(out, "verdict", "it decodes with losses, and nothing that was tried fits better")
        }
        None if report.looks.is_empty() && report.transfer.is_none() => line(
            out,
            "verdict",
            "nothing that was tried fits: name the program (--elf) and the format (--format) if you know them",
        ),
        None => Ok(()),
    }
}

fn print_diagnosis(
    out: &mut impl Write,
    args: &Args,
    report: &Report,
    diagnosis: &Diagnosis,
) -> std::io::Result<()> {
    line(out, "fits best", &format!("{}: {}", diagnosis.title, account(&diagnosis.fit)))?;
    for (key, given, found) in &diagnosis.changes {
        let text = match (given, found) {
            (Some(given), Some(found)) => format!("{key} = {found}, and not {given}"),
            (None, Some(found)) => format!("{key} = {found}"),
            (_, None) => format!("no {key}"),
        };
        line(out, "setting", &text)?;
    }
    if diagnosis.other_program && !diagnosis.program.is_empty() {
        line(out, "program", &format!("--elf {}", diagnosis.program.elf.join(" --elf ")))?;
    }
    let next = match &diagnosis.second {
        Some((what, fit)) => format!("; the next best, {what}, fits {} %", fit.percent()),
        None => "; nothing else that was tried comes near".into(),
    };
    line(out, "sure", &format!("{}{next}", diagnosis.sure.as_str()))?;
    if let Some(same) = diagnosis.same.first() {
        let more = diagnosis.same.len() - 1;
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        line(out, "same", &format!("{same}{more} decodes to the same events"))?;
    }
    print_against(out, &diagnosis.fit, &diagnosis.doubts)?;
    if diagnosis.fit.instructions.is_none() {
        line(out, "missing", MISSING)?;
    }
    let tried = format!(
        "{} settings and places, on {} bytes each at most, {} instructions and items in all (--budget {}:{})",
        diagnosis.tries, diagnosis.bytes, diagnosis.steps, args.budget.tries, args.budget.bytes
    );
    let end =
        if diagnosis.cut_short { "; the budget ended the search before everything was tried" } else { "" };
    line(out, "tried", &format!("{tried}{end}"))?;
    writeln!(out, "\n{}", diagnosis.toml().trim_end())?;
    writeln!(out, "\n  {}", command(args, report, diagnosis))
}

fn print_against(out: &mut impl Write, fit: &Fit, doubts: &[String]) -> std::io::Result<()> {
    fit.against.iter().chain(doubts).try_for_each(|reason| line(out, "against", reason))
}

/// How well it decodes, in a line.
fn account(fit: &Fit) -> String {
    let mut text = format!("{} % of {} items", fit.percent(), fit.items);
    if let Some(instructions) = fit.instructions {
        text += &format!(", {instructions} instructions followed");
    }
    let counts = [
        (fit.errors, "errors"),
        (fit.unfollowed, "places without code or path"),
        (fit.doubtful, "contradictions"),
        (fit.lost, "losses of synchronisation"),
        (fit.findings, "violations"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {count} {what}");
    }
    text
}

/// The command that decodes with the answer; the settings are in a file beside the trace, unless they were written.
fn command(args: &Args, report: &Report, diagnosis: &Diagnosis) -> String {
    // The advice about a file that was changed writes `mended`.
    let path = if report.transfer.is_some() { Path::new("mended") } else { report.path.as_path() };
    let config = args.output.clone().unwrap_or_else(|| PathBuf::from("settings.toml"));
    let common = Common {
        elf: diagnosis.program.elf.clone(),
        image: diagnosis.program.raw.clone(),
        config: Some(config),
        format: None,
        ..args.common.clone()
    };
    // Without the program only items can be shown.
    let raw = if diagnosis.fit.instructions.is_none() { "--raw " } else { "" };
    format!("trackway dump {raw}{} --limit 20", words(path, &common))
}

fn as_json(args: &Args, path: &Path, report: &Report) -> crate::json::Object {
    let mut object = object("doctor");
    let mut put = |key: &str, value: Json| drop(object.insert(key.into(), value));
    put("file", json!(path.display().to_string()));
    put("bytes", json!(report.bytes));
    put("compression", json!(report.compression));
    put("fine", json!(report.is_fine()));
    put("understood", json!(!report.is_unknown()));
    put(
        "as_is",
        match &report.as_is {
            AsIs::Opened { format, fit, .. } => {
                json!({ "format": format.as_str(), "fit": of_fit(fit), "found": report.found })
            }
            AsIs::Refused(reason) => json!({ "refused": reason.trim_end() }),
        },
    );
    let named = |advice: &str| named(advice, path);
    let looks = report.looks.iter().map(|look| {
        json!({ "what": look.what, "why": look.why, "advice": named(&look.advice), "sure": look.sure })
    });
    put("looks_like", looks.collect());
    let changed = |changed: &trackway_tools::doctor::Transfer| json!({ "what": changed.what, "advice": named(&changed.advice) });
    put("changed", report.transfer.as_ref().map_or(Json::Null, changed));
    let unusable =
        report.programs.iter().map(|(program, reason)| json!({ "program": program, "reason": reason }));
    put("unusable_programs", unusable.collect());
    let found =
        report.diagnosis.as_ref().map_or(Json::Null, |diagnosis| of_diagnosis(args, report, diagnosis));
    put("diagnosis", found);
    put_errors(&mut object, &trackway::Health::default(), None);
    object
}

fn of_diagnosis(args: &Args, report: &Report, diagnosis: &Diagnosis) -> Json {
    let changes = diagnosis
        .changes
        .iter()
        .map(|(key, given, found)| json!({ "key": key, "given": given, "found": found }))
        .collect::<Vec<_>>();
    let second = diagnosis.second.as_ref().map(|(what, fit)| json!({ "what": what, "fit": of_fit(fit) }));
    json!({
        "format": diagnosis.format.as_str(),
        "fit": of_fit(&diagnosis.fit),
        "changes": changes,
        "programs": diagnosis.program.elf,
        "other_program": diagnosis.other_program,
        "sure": diagnosis.sure.as_str(),
        "doubts": diagnosis.doubts,
        "same": diagnosis.same,
        "second": second,
        "settings": diagnosis.toml(),
        "command": command(args, report, diagnosis),
        "tries": diagnosis.tries,
        "steps": diagnosis.steps,
        "cut_short": diagnosis.cut_short,
        "bytes_tried": diagnosis.bytes,
    })
}

fn of_fit(fit: &Fit) -> Json {
    json!({
        "percent": fit.percent(),
        "items": fit.items,
        "instructions": fit.instructions,
        "errors": fit.errors,
        "unfollowed": fit.unfollowed,
        "contradictions": fit.doubtful,
        "lost_synchronisation": fit.lost,
        "violations": fit.findings,
        "bytes_skipped": fit.skipped,
        "program": fit.program.map(|verdict| program(&verdict)),
        "against": fit.against,
    })
}

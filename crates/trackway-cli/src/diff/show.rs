//! The result of a comparison as text and as JSON.

use std::io::Write;

use serde_json::{Value as Json, json};
use trackway_tools::diff::{Difference, Excerpt, Kind, NotCompared, Stretch};

use super::side::{Side, Sum};
use super::{Args, Comparison};
use crate::colours::Colours;
use crate::exit::Failure;
use crate::json::{Object, hex, key, object, put_errors};
use crate::listing::Listing;
use crate::plain::plain;
use crate::view::{Budget, View};

pub(super) fn as_json(a: &Side, b: &Side, result: &Comparison, ended: Option<&Failure>) -> Object {
    let report = &result.report;
    let by_kind = |counts: &[u64; 3]| -> Json {
        Kind::ALL
            .iter()
            .map(|kind| (kind.as_str().to_string(), json!(counts[*kind as usize])))
            .collect::<Object>()
            .into()
    };
    let mut object = object("diff");
    let compared: Object =
        report.compared.iter().map(|(group, count)| (key(group.plural()), json!(count))).collect();
    let not_compared: Vec<Json> = report
        .not_compared
        .iter()
        .map(|entry| json!({ "what": entry.what, "why": entry.why, "count": entry.count }))
        .collect();
    let differences = report.differences.iter().zip(&result.sources);
    let differences: Vec<Json> =
        differences.map(|(found, source)| difference(a, b, found, source.as_deref())).collect();
    object.extend([
        ("a".to_string(), json!(a.path.display().to_string())),
        ("b".to_string(), json!(b.path.display().to_string())),
        ("equal".to_string(), json!(report.is_equal())),
        ("verdict".to_string(), json!(result.verdict())),
        ("compared".to_string(), compared.into()),
        ("not_compared".to_string(), not_compared.into()),
        ("tolerated".to_string(), json!(report.tolerated)),
        ("counts".to_string(), by_kind(&report.counts)),
        ("instructions".to_string(), by_kind(&report.instructions)),
        ("differences".to_string(), differences.into()),
    ]);
    let mut health = Sum::default();
    [a, b].iter().for_each(|side| {
        health.0.errors += side.health.0.errors;
        health.0.counts.skipped += side.health.0.counts.skipped;
        health.0.first_errors.extend(side.health.0.first_errors.iter().copied());
    });
    put_errors(&mut object, &health.0, ended);
    object
}

fn difference(a: &Side, b: &Side, found: &Difference, source: Option<&str>) -> Json {
    let stretch = |side: &Side, at: &Stretch| json!({ "from": at.from, "to": at.to, "pc": at.pc.map(hex), "symbol": side.symbol(at.pc) });
    let fields: Vec<Json> = found
        .fields
        .iter()
        .map(
            |field| json!({ "field": field.name, "group": field.group.as_str(), "a": field.a, "b": field.b }),
        )
        .collect();
    let mut object = json!({
        "kind": found.kind.as_str(),
        "a": stretch(a, &found.a),
        "b": stretch(b, &found.b),
        "fields": fields,
    });
    if let Some(source) = source {
        object["source"] = json!(source);
    }
    if let Some([ours, theirs]) = &found.excerpts {
        object["context"] = json!({ "a": lines(a, ours), "b": lines(b, theirs) });
    }
    object
}

/// The instructions of an excerpt, as `dump` lists them.
fn lines(side: &Side, excerpt: &Excerpt) -> Vec<String> {
    let Some(format) = side.format().or_else(|| trackway::FORMATS.first().copied()) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (n, event) in excerpt.batch.events.iter().enumerate() {
        let mut listing = Listing::new(excerpt.isa, format, side.programs.clone(), Colours::default());
        // Writing to memory cannot fail.
        let _ = listing.event(
            &excerpt.batch,
            event,
            excerpt.batch.first_instruction + n as u64,
            &mut Budget(u64::MAX),
        );
        out.extend(String::from_utf8_lossy(listing.text()).lines().enumerate().map(|(line, text)| {
            let mark = if line == 0 && n >= excerpt.first { '>' } else { ' ' };
            format!("{mark} {}", text.trim_end())
        }));
    }
    out
}

pub(super) fn print(
    out: &mut impl Write,
    args: &Args,
    a: &Side,
    b: &Side,
    result: &Comparison,
) -> std::io::Result<()> {
    let report = &result.report;
    if let Some((first, source)) = report.differences.iter().zip(&result.sources).next() {
        print_first(out, a, b, first, source.as_deref())?;
    }
    for (found, source) in report.differences.iter().zip(&result.sources) {
        writeln!(out, "{}", line(a, b, found, source.as_deref()))?;
    }
    let total: u64 = report.counts.iter().sum();
    let shown = report.differences.len() as u64;
    if total > shown {
        writeln!(out, "… and {} more (--limit N shows more)", total - shown)?;
    }
    writeln!(out, "{}", result.verdict())?;
    if total > 0 && report.has_compared() {
        writeln!(out, "compared: {}", result.compared())?;
    }
    if report.tolerated > 0 {
        writeln!(out, "tolerated: {}", report.tolerated)?;
    }
    for NotCompared { what, why, count } in &report.not_compared {
        let count = count.map_or(String::new(), |count| format!(" ({count})"));
        writeln!(out, "not compared: {what}{count}: {why}")?;
    }
    if !args.common.quiet {
        for (name, side) in [("A", a), ("B", b)] {
            writeln!(out, "{name}: {}: {}", side.path.display(), side.health.0.line())?;
        }
    }
    Ok(())
}

/// The first difference, with the instructions around it on both sides.
fn print_first(
    out: &mut impl Write,
    a: &Side,
    b: &Side,
    found: &Difference,
    source: Option<&str>,
) -> std::io::Result<()> {
    let Some([ours, theirs]) = &found.excerpts else { return Ok(()) };
    let source = source.map_or(String::new(), |name| format!(" of source {}", plain(name)));
    writeln!(out, "first difference{source}: instruction {} of A, {} of B", found.a.from, found.b.from)?;
    for (name, side, excerpt) in [("A", a, ours), ("B", b, theirs)] {
        writeln!(out, "{name}: {}", side.path.display())?;
        lines(side, excerpt).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    writeln!(out)
}

/// A difference in one line.
fn line(a: &Side, b: &Side, found: &Difference, source: Option<&str>) -> String {
    let stretch = |at: &Stretch| match at.to - at.from {
        1 => at.from.to_string(),
        0 => format!("before {}", at.from),
        _ => format!("{}..{}", at.from, at.to),
    };
    let source = source.map_or(String::new(), |name| format!("{}: ", plain(name)));
    let mut text =
        format!("{source}{:<8}  A {}  B {}", found.kind.as_str(), stretch(&found.a), stretch(&found.b));
    let (side, at) = if found.kind == Kind::Inserted { (b, &found.b) } else { (a, &found.a) };
    if let Some(pc) = at.pc {
        text += &format!("  {pc:#x}");
    }
    if let Some(place) = side.symbol(at.pc) {
        text += &format!(" <{}>", plain(&place));
    }
    for field in found.fields.iter().take(4) {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
        text += &format!("  {}: {} | {}", field.name, value(&field.a), value(&field.b));
    }
    if found.fields.len() > 4 {
        text += "  …";
    }
    text
}

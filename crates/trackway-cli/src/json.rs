//! JSON: what the objects of all commands share. `docs/json.md` has the layouts.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::{Map, Value as Json, json};
use trackway::{Health, Verdict};
use trackway_core::{Error, Ledger};

use crate::asked::take_line;
use crate::exit::Failure;
use crate::report::{next_thing, unfollowed};

/// Version of the layouts, in every object.
const SCHEMA: u32 = 2;

/// An object was printed: a failure has been reported in it.
static PRINTED: AtomicBool = AtomicBool::new(false);

pub(crate) type Object = Map<String, Json>;

/// An object of that kind.
pub(crate) fn object(kind: &str) -> Object {
    Map::from_iter([("trackway".to_string(), json!({ "kind": kind, "schema": SCHEMA }))])
}

/// Prints an object on stdout, on one line.
pub(crate) fn print(object: Object) -> std::io::Result<()> {
    let mut line = Vec::new();
    write_line(&mut line, &Json::Object(object))?;
    if !take_line(&String::from_utf8_lossy(&line)) {
        let mut out = std::io::stdout().lock();
        out.write_all(&line)?;
        out.flush()?;
    }
    PRINTED.store(true, Relaxed);
    Ok(())
}

/// Writes one line of JSON. Control characters that JSON allows in strings are escaped too.
pub(crate) fn write_line(out: &mut impl Write, object: &Json) -> std::io::Result<()> {
    let text = object.to_string();
    let is_raw = |c: char| ('\u{7f}'..='\u{9f}').contains(&c);
    if !text.contains(is_raw) {
        return writeln!(out, "{text}");
    }
    for c in text.chars() {
        if is_raw(c) { write!(out, "\\u{:04x}", c as u32)? } else { write!(out, "{c}")? }
    }
    writeln!(out)
}

/// A 64-bit value: numbers of JSON are not exact that far.
pub(crate) fn hex(value: u64) -> Json {
    json!(format!("{value:#x}"))
}

/// A name for people as a key: `first pc` is `first_pc`.
pub(crate) fn key(name: &str) -> String {
    name.to_ascii_lowercase().replace([' ', '-'], "_")
}

/// The entries of a ledger.
pub(crate) fn ledger(ledger: &Ledger) -> Json {
    let entries = ledger.entries();
    entries
        .map(|(fate, fact, count)| json!({ "fate": fate.as_str(), "what": fact.as_str(), "count": count }))
        .collect()
}

/// The rules that an output breaks.
pub(crate) fn broken_rules(ledger: &Ledger) -> Json {
    ledger.broken.iter().map(|(rule, count)| json!({ "rule": rule, "count": count })).collect()
}

/// The comparison with the program.
pub(crate) fn program(verdict: &Verdict) -> Json {
    json!({
        "matches": verdict.is_right(),
        "compared": verdict.distinct(),
        "same": verdict.same,
        "different": verdict.different,
        "unmapped": verdict.unmapped,
        "first_difference": verdict.first.map(|first| hex(first.pc)),
    })
}

/// Adds `complete`, and `errors` where something was wrong.
pub(crate) fn put_errors(object: &mut Object, health: &Health, ended: Option<&Failure>) {
    let mut errors: Vec<Json> = health
        .first_errors
        .iter()
        .map(|passed| place(&passed.error, Some(passed.instruction), None))
        .collect();
    errors.extend(unfollowed(health).map(|text| json!({ "message": text })));
    errors.extend(ended.map(of_failure));
    object.insert("complete".into(), json!(errors.is_empty() && health.counts.skipped == 0));
    if !errors.is_empty() {
        object.insert("errors".into(), json!(errors));
    }
}

/// The next object is about another file.
pub(crate) fn next_file() {
    PRINTED.store(false, Relaxed);
}

/// Reports a failure as an object, unless one was printed that has it.
pub(crate) fn failed(kind: &str, failure: &Failure) -> std::io::Result<()> {
    if PRINTED.load(Relaxed) {
        return Ok(());
    }
    let mut object = object(kind);
    put_errors(&mut object, &Health::default(), Some(failure));
    print(object)
}

/// A failure as an entry of `errors`.
pub(crate) fn of_failure(failure: &Failure) -> Json {
    match failure {
        Failure::Input { error, instruction, words, .. } => {
            let hint = next_thing(error, words, "");
            match &**error {
                trackway::Error::Trace(error) => place(error, *instruction, hint),
                error => json!({ "message": error.to_string().trim_end(), "hint": hint }),
            }
        }
        failure => json!({ "message": failure.to_string() }),
    }
}

fn place(error: &Error, instruction: Option<u64>, hint: Option<String>) -> Json {
    let named = |text: &str| (!text.is_empty()).then(|| json!(text));
    json!({
        "offset": error.offset,
        "instruction": instruction,
        "item": named(error.item),
        "field": named(error.field),
        "section": named(error.section),
        "message": error.to_string(),
        "hint": hint,
    })
}

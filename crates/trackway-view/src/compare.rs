//! Two traces beside each other: their differences, found in the background.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value as Json, json};
use trackway::Trace;
use trackway_core::{Batch, Meta, Source};
use trackway_tools::diff::{Difference, Kind, Options, Report, Stretch, diff};

use crate::desk::{Answer, File};
use crate::rows::hex;

/// Differences that are kept.
const KEPT: usize = 5000;

/// The comparisons that were asked for, by their lanes.
#[derive(Debug, Default)]
pub(crate) struct Comparisons {
    known: Mutex<HashMap<(usize, usize), Option<Answer<Arc<Json>>>>>,
}

impl Comparisons {
    /// The differences between two lanes; `None` while they are looked for.
    pub(crate) fn get(self: &Arc<Self>, a: (usize, &File), b: (usize, &File)) -> Option<Answer<Arc<Json>>> {
        let key = (a.0, b.0);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&key) {
            return found.clone();
        }
        known.insert(key, None);
        drop(known);
        let (ours, a, b) = (Arc::clone(self), a.1.clone(), b.1.clone());
        std::thread::spawn(move || {
            let found = compare(&a, &b).map(Arc::new);
            ours.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Some(found));
        });
        None
    }
}

/// Events of a trace, past its damage.
struct Whole {
    inner: Box<dyn Source>,
    errors: u64,
}

impl Source for Whole {
    fn meta(&self) -> &Meta {
        self.inner.meta()
    }

    fn fill(&mut self, batch: &mut Batch) -> trackway_core::Result<bool> {
        loop {
            match self.inner.fill(batch) {
                Err(_) if self.inner.resync()? => self.errors += 1,
                other => return other,
            }
        }
    }
}

fn compare(a: &File, b: &File) -> Answer<Json> {
    let words = |error: trackway::Error| error.to_string();
    let open = |file: &File| -> Answer<Whole> {
        let mut trace: Trace = file.options.open(&file.path).map_err(words)?;
        Ok(Whole { inner: trace.expanded().map_err(words)?, errors: 0 })
    };
    let (mut ours, mut theirs) = (open(a)?, open(b)?);
    let options = Options { limit: KEPT, ..Options::default() };
    let report = diff(&mut ours, &mut theirs, &options, &mut |_, _| {}).map_err(|error| error.to_string())?;
    let errors: Vec<String> = report.errors.iter().flatten().map(ToString::to_string).collect();
    Ok(report_json(&report, ours.errors + theirs.errors, &errors))
}

fn report_json(report: &Report, damage: u64, errors: &[String]) -> Json {
    let counts: serde_json::Map<String, Json> =
        Kind::ALL.iter().map(|kind| (kind.as_str().to_string(), json!(report.count(*kind)))).collect();
    let not_compared: Vec<String> =
        report.not_compared.iter().map(|one| format!("{}: {}", one.what, one.why)).collect();
    let compared: serde_json::Map<String, Json> =
        report.compared.iter().map(|(group, count)| (group.plural().to_string(), json!(count))).collect();
    let differences: Vec<Json> = report.differences.iter().map(difference).collect();
    json!({
        "equal": report.is_equal(),
        "counts": counts,
        "compared": compared,
        "not_compared": not_compared,
        "damage": damage,
        "errors": errors,
        "differences": differences,
    })
}

fn difference(found: &Difference) -> Json {
    let stretch = |at: &Stretch| json!([at.from, at.to, at.pc.map(hex)]);
    let fields: Vec<Json> = found.fields.iter().map(|field| json!([field.name, field.a, field.b])).collect();
    json!({ "kind": found.kind.as_str(), "a": stretch(&found.a), "b": stretch(&found.b), "fields": fields })
}

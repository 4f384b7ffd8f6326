//! Work items: stretches of a trace that are read on their own, on any machine.

use pyo3::prelude::*;
use serde_json::{Value as Json, json};
use trackway::Health;
use trackway::cut::Origin;
use trackway_columns::{Part, read_part};
use trackway_core::Cancel;

use crate::batches::{Asked, Batches};
use crate::error::Failed;
use crate::opening::Opening;
use crate::thread;

/// Cuts a trace into about that many items: objects of JSON that [`batches_of_item`] and `stats --item` take.
#[pyfunction]
pub(crate) fn plan(py: Python<'_>, opening: Opening, parts: usize) -> PyResult<Vec<String>> {
    let (cancel, path) = (Cancel::default(), opening.path.clone());
    let inner = cancel.clone();
    let planned = thread::result(py, &cancel, move || -> Result<Vec<String>, Failed> {
        let trace = opening.open(&inner)?;
        let (parts, _) = trackway_columns::plan(&trace, parts.max(1))?;
        parts.into_iter().map(|part| item(&opening, part)).collect()
    })?;
    planned.map_err(|error| error.raise(py, &path))
}

/// An item as JSON, with the options that open its trace.
fn item(opening: &Opening, mut part: Part) -> Result<String, Failed> {
    part.work.only.clone_from(&opening.source);
    part.work.elf.clone_from(&opening.elf);
    part.work.image.clone_from(&opening.image);
    part.work.config.clone_from(&opening.config);
    let failed = |error: serde_json::Error| Failed::Usage(error.to_string());
    let mut item = serde_json::to_value(&part).map_err(failed)?;
    if let Json::Object(fields) = &mut item {
        fields.insert("trackway".into(), json!({ "kind": "work-item", "schema": 2 }));
    }
    Ok(item.to_string())
}

/// The rows of a work item.
#[pyfunction]
#[pyo3(signature = (item, table, columns, integers))]
pub(crate) fn batches_of_item(
    py: Python<'_>,
    item: &str,
    table: &str,
    columns: Option<Vec<String>>,
    integers: &str,
) -> PyResult<Batches> {
    let read_item = |text: &str| serde_json::from_str::<Part>(text);
    let part = read_item(item).map_err(|error| Failed::Usage(format!("not a work item: {error}")));
    let part = part.map_err(|error| error.raise(py, ""))?;
    let asked = Asked::new(table, columns, integers).map_err(|error| error.raise(py, &part.work.file))?;
    let opening = Opening {
        path: part.work.file.clone(),
        elf: part.work.elf.clone(),
        image: part.work.image.clone(),
        config: part.work.config.clone(),
        format: Some(part.work.format.clone()),
        source: part.work.only.clone(),
        ..Opening::of_worker()
    };
    let (cancel, selection) = (Cancel::default(), asked.selection.clone());
    let inner = cancel.clone();
    Batches::start(opening.path.clone(), &asked, cancel, move |queue| {
        let mut trace = opening.open(&inner)?;
        if Origin::of(&trace)?.id != part.work.id {
            let text = format!("{} is not the trace that the item was made for", part.work.file);
            return Err(Failed::Usage(text));
        }
        if part.work.damaged {
            return crate::batches::read_whole(&mut trace, &selection, [None, None], false, queue);
        }
        let (_, counts) = read_part(&mut trace, &part, &selection, queue)?;
        Ok(Health { counts, ..Health::default() })
    })
}

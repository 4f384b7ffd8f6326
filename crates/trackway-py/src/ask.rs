//! Commands of the program, run in this process: their JSON is the result of most methods.

use std::ffi::OsString;

use pyo3::prelude::*;
use trackway_cli::Answer;
use trackway_core::Cancel;

use crate::thread;

/// Runs a command: the lines that it printed, its messages, its exit code, and the failure that ended it, as JSON.
#[pyfunction]
pub(crate) fn ask(
    py: Python<'_>,
    words: Vec<OsString>,
) -> PyResult<(Vec<String>, Vec<String>, u8, Option<String>)> {
    let cancel = Cancel::default();
    let work = {
        let cancel = cancel.clone();
        move || trackway_cli::answer(trackway::FORMATS, &words, &cancel)
    };
    let Answer { lines, messages, exit, failure } = thread::result(py, &cancel, work)?;
    Ok((lines, messages, exit, failure.map(|failure| failure.to_string())))
}

//! A trace by its path and the options that open it.

use std::path::Path;

use pyo3::prelude::*;
use trackway::format::Program;
use trackway::{FORMATS, Options, Settings, Trace, by_id};
use trackway_core::Cancel;

use crate::error::Failed;
use crate::thread;

/// Path and options of a trace.
#[pyclass(frozen, module = "trackway._trackway", from_py_object)]
#[derive(Clone, Debug, Default)]
pub(crate) struct Opening {
    pub(crate) path: String,
    #[pyo3(get)]
    pub(crate) elf: Vec<String>,
    #[pyo3(get)]
    pub(crate) image: Vec<String>,
    #[pyo3(get)]
    pub(crate) config: Option<String>,
    #[pyo3(get)]
    pub(crate) format: Option<String>,
    #[pyo3(get)]
    pub(crate) source: Option<String>,
    pub(crate) threads: Option<usize>,
    #[pyo3(get)]
    pub(crate) strict: bool,
    pub(crate) force: bool,
}

/// Format, title, version, instruction set and sources.
type Described = (String, String, String, String, Vec<String>);

#[pymethods]
impl Opening {
    #[new]
    #[pyo3(signature = (path, elf, image, config, format, source, threads, strict, force))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        path: String,
        elf: Vec<String>,
        image: Vec<String>,
        config: Option<String>,
        format: Option<String>,
        source: Option<String>,
        threads: Option<usize>,
        strict: bool,
        force: bool,
    ) -> Self {
        Opening { path, elf, image, config, format, source, threads, strict, force }
    }

    /// Opens the trace: its format, title, version, instruction set and sources.
    fn describe(&self, py: Python<'_>) -> PyResult<Described> {
        let (cancel, opening) = (Cancel::default(), self.clone());
        let described = thread::result(py, &cancel.clone(), move || {
            let trace = opening.open(&cancel)?;
            let meta = trace.meta();
            Ok((
                meta.format.to_string(),
                trace.format().title().to_string(),
                meta.version.clone(),
                meta.isa.to_string(),
                meta.sources.clone(),
            ))
        })?;
        described.map_err(|error: Failed| error.raise(py, &self.path))
    }
}

impl Opening {
    /// Of a worker among many: the scheduler decides how many run at a time.
    pub(crate) fn of_worker() -> Self {
        Opening { threads: Some(1), ..Opening::default() }
    }

    /// Opens the trace.
    pub(crate) fn open(&self, cancel: &Cancel) -> Result<Trace, Failed> {
        let format = match &self.format {
            Some(name) => {
                let unknown = || Failed::Usage(format!("{name}: not the name of a format"));
                let id = name.parse().map_err(|()| unknown())?;
                by_id(FORMATS, id).ok_or_else(unknown)?;
                Some(id)
            }
            None => None,
        };
        let settings = match &self.config {
            Some(path) => Some(Settings::read(Path::new(path))?),
            None => None,
        };
        let defaults = Options::default();
        let options = Options {
            format,
            settings,
            program: Program { elf: self.elf.clone(), raw: self.image.clone(), ..Program::default() },
            threads: self.threads.unwrap_or(defaults.threads).max(1),
            force: self.force,
            strict: self.strict,
            source: self.source.clone(),
            cancel: cancel.clone(),
            ..defaults
        };
        Ok(options.open(&self.path)?)
    }
}

//! Errors as exceptions of `trackway._errors`, with their place.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trackway::Error;

/// An error that crosses threads before it becomes an exception.
#[derive(Debug)]
pub(crate) enum Failed {
    /// Of a trace, or around it; with the instructions before it, where they were counted.
    Trace(Error, Option<u64>),
    /// Arguments that make no sense.
    Usage(String),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Failed::Trace(error, None)
    }
}

impl From<trackway_columns::Unknown> for Failed {
    fn from(error: trackway_columns::Unknown) -> Self {
        Failed::Usage(error.to_string())
    }
}

impl Failed {
    /// The exception for it.
    pub(crate) fn raise(self, py: Python<'_>, path: &str) -> PyErr {
        self.exception(py, path).unwrap_or_else(|error| error)
    }

    fn exception(self, py: Python<'_>, path: &str) -> PyResult<PyErr> {
        let errors = py.import("trackway._errors")?;
        let place = PyDict::new(py);
        let (class, text) = match &self {
            Failed::Usage(text) | Failed::Trace(Error::Config(text), _) => ("UsageError", text.clone()),
            Failed::Trace(error @ Error::File { .. }, _) => ("TraceError", error.to_string()),
            Failed::Trace(error, instruction) => {
                if let Error::Trace(error) = error {
                    let named = |text: &'static str| (!text.is_empty()).then_some(text);
                    place.set_item("offset", error.offset)?;
                    place.set_item("item", named(error.item))?;
                    place.set_item("field", named(error.field))?;
                    place.set_item("section", named(error.section))?;
                }
                place.set_item("instruction", *instruction)?;
                ("TraceError", format!("{path}: {}", error.to_string().trim_end()))
            }
        };
        let exception = errors.getattr(class)?.call((text,), Some(&place))?;
        Ok(PyErr::from_value(exception))
    }
}

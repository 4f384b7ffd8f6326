//! Files that a command writes beside its main output: ledgers, reports, samples.

use std::io::Write;
use std::path::Path;

use trackway::io::{FileError, Target};

use crate::exit::Failure;

/// Writes a file whole or not at all.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let target = Target::new(path);
    let write = || -> Result<(), FileError> {
        let mut output = target.create()?;
        let out = output.as_write();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(FileError::at(path))?;
        target.commit()
    };
    write().map_err(|FileError { path, error }| Failure::Written { path, error })
}

/// Writes the main output of a command: a file, whole or not at all, or stdout.
pub(crate) fn write_output(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        let mut out = std::io::stdout().lock();
        return Ok(out.write_all(bytes).and_then(|()| out.flush())?);
    }
    write_file(path, bytes)
}

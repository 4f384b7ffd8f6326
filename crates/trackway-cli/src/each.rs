//! Commands that take several files.

use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure};

/// Does `one` for each file and returns the worst code. A file that cannot be read does not keep the others from being
/// shown.
pub(crate) fn each(
    files: &[PathBuf],
    command: &str,
    json: bool,
    mut one: impl FnMut(&Path) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let mut worst = Exit::Fine;
    for path in files {
        crate::json::next_file();
        match one(path) {
            Ok(exit) => worst = worst.max(exit),
            Err(failure @ Failure::Input { .. }) if files.len() > 1 => {
                if json {
                    crate::json::failed(command, &failure)?;
                }
                worst = worst.max(crate::report::failure(&failure, ""));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(worst)
}

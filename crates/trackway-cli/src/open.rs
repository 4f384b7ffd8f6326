//! Opening a trace with the options of the command line.

use std::path::Path;

use trackway::Trace;

use crate::cli::Common;
use crate::exit::Failure;
use crate::report::placed;

/// Opens the trace at `path`.
pub(crate) fn open(common: &Common, path: &Path) -> Result<Trace, Failure> {
    common.options()?.open(path).map_err(|error| placed(common, path, error))
}

//! Opening a trace with the options of the command line.

use std::path::Path;

use trackway::format::Format;
use trackway::index::beside;
use trackway::{Indexing, Options, Trace};

use crate::args::Common;
use crate::exit::Failure;
use crate::interrupt;
use crate::report::{placed, say};
use crate::sections;

/// Opens the trace at `path`.
pub(crate) fn open(common: &Common, path: &Path) -> Result<Trace, Failure> {
    open_with(common, common.options()?, path, None, &[])
}

/// Opens the trace at `path` for a golden model, which has settings of its own.
pub(crate) fn open_for_model(common: &Common, path: &Path) -> Result<Trace, Failure> {
    open_with(common, common.options()?, path, None, &sections::NAMES)
}

/// Opens the trace at `path`, to be written in the format `into`, whose settings may be given too. A signal ends its
/// events, so that the output can be put in order.
pub(crate) fn open_to_write(
    common: &Common,
    path: &Path,
    into: Option<&dyn Format>,
) -> Result<Trace, Failure> {
    let options = Options { cancel: interrupt::cancel(), ..common.options()? };
    open_with(common, options, path, into, &[])
}

/// Opens a trace that is still written, for a golden model; `name` is for messages.
pub(crate) fn open_live(
    common: &Common,
    stream: Box<dyn std::io::Read + Send>,
    name: &Path,
) -> Result<Trace, Failure> {
    let trace = common.options()?.open_live(stream).map_err(|error| placed(common, name, error))?;
    refuse_idle(common, &trace, None, &sections::NAMES)?;
    Ok(trace)
}

fn open_with(
    common: &Common,
    mut options: Options,
    path: &Path,
    into: Option<&dyn Format>,
    sections: &[&str],
) -> Result<Trace, Failure> {
    if let Indexing::Cache(cache, _) = &mut options.index
        && common.verbose
    {
        cache.failed = Some(no_cache);
    }
    let mut trace = options.open(path).map_err(|error| placed(common, path, error))?;
    report_fault(common, path, &mut trace);
    refuse_idle(common, &trace, into, sections)?;
    Ok(trace)
}

/// Refuses settings that nobody reads.
fn refuse_idle(
    common: &Common,
    trace: &Trace,
    into: Option<&dyn Format>,
    sections: &[&str],
) -> Result<(), Failure> {
    if common.config.is_none() {
        return Ok(());
    }
    let formats: Vec<&dyn Format> = std::iter::once(trace.format()).chain(into).collect();
    common.context.refuse_idle(trace.settings(), &formats, sections)
}

/// Says why an index is not kept.
fn no_cache(folder: &Path, error: &std::io::Error) {
    say!("{}: the index cannot be kept: {error}", folder.display());
}

/// Says why an index is not used. One in the cache that is out of date is nothing to worry about.
fn report_fault(common: &Common, path: &Path, trace: &mut Trace) {
    let Some((file, fault)) = trace.index_fault() else { return };
    if common.verbose || (file == beside(path) && !common.quiet) {
        say!("{}: the index is ignored: {fault}", file.display());
    }
}

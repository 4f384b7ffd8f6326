//! What is wrong with a file that does not decode, or decodes badly: what it looks like by its content, whether the
//! program is the right one, and which settings fit.
//!
//! [`examine`] answers for a file, [`diagnose`] for bytes that are a trace. Work is counted and never timed, so that the
//! answer is the same on every machine.

mod fit;
mod looks;
mod programs;
mod report;
mod search;
mod settings;
mod text;
mod transfer;

use trackway::Options;
use trackway::events::FormatId;
use trackway::format::Settings;

pub use fit::Fit;
pub use looks::{Look, looks};
pub use report::{AsIs, Report, examine};
pub use search::Budget;
pub use settings::{Diagnosis, Sure};
pub use transfer::Transfer;

/// The settings and the program that fit the trace in `bytes` best, for each format that has settings to look for, the
/// best first. `given` are settings that may be almost right; `cut` says that the trace is longer than `bytes`.
pub fn diagnose(
    options: &Options,
    only: Option<FormatId>,
    given: &Settings,
    bytes: &[u8],
    cut: bool,
    budget: Budget,
) -> Vec<Diagnosis> {
    let formats = options.formats.iter().filter(|format| only.is_none_or(|id| format.id() == id));
    let excerpt = fit::Excerpt { bytes, cut };
    let mut found: Vec<Diagnosis> =
        formats.filter_map(|format| settings::diagnose(options, *format, given, excerpt, budget)).collect();
    found.sort_by_key(|diagnosis| diagnosis.fit.rank(diagnosis.doubts.len()));
    found
}

/// How well settings fit the trace in `bytes`; none where they are refused.
pub fn weigh(options: &Options, settings: &Settings, bytes: &[u8]) -> Option<Fit> {
    fit::fit(options, settings, fit::Excerpt { bytes, cut: false })
}

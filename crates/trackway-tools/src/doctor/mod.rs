//! Diagnosis of a file that does not decode, or decodes badly: what it looks like by its content, whether the
//! program is the right one, and which settings fit.
//!
//! [`examine`] answers for a file, [`diagnose`] for bytes that are a trace. Work is counted and never timed, so that the
//! answer is the same on every machine.

mod fit;
mod look;
mod looks;
mod programs;
mod report;
mod search;
mod settings;
mod text;
mod transfer;
mod work;

pub use fit::{Fit, weigh};
pub use look::Look;
pub use looks::looks;
pub use report::{AsIs, Report, examine};
pub use settings::{Diagnosis, Sure, diagnose};
pub use transfer::Transfer;
pub use work::Budget;

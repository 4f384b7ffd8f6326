//! Comparison of two traces of any formats, instruction by instruction.
//!
//! Equal stretches are passed at the speed of reading; at a difference both sides are aligned, so that a thousand more
//! instructions on one side are one difference. Facts that one format cannot hold are not compared, and the report says
//! so. Memory is bounded, whatever the length of the traces. `docs/design/diff.md` has the reasons.
//!
//! ```
//! # fn main() -> trackway::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/stf/sort/trace.stf");
//! use trackway_tools::diff::{Options, diff};
//! let (mut a, mut b) = (trackway::Trace::open(path)?, trackway::Trace::open(path)?);
//! let report = diff(&mut *a.events()?, &mut *b.events()?, &Options::default(), &mut |_, _| {})?;
//! assert!(report.is_equal());
//! # Ok(())
//! # }
//! ```

mod align;
mod anchors;
mod between;
mod compare;
mod differ;
mod explain;
mod hunk;
mod junit;
mod keys;
mod options;
mod report;
mod side;
mod tally;

pub use differ::{Progress, diff};
pub use options::{Group, Options, Tolerate};
pub use report::{Difference, Field, Kind, NotCompared, Report, Stretch};
pub use side::Excerpt;

//! One toolkit for processor execution traces: the library's front door.
//!
//! [`Trace::open`] recognises a trace by its content, also inside zstd, xz and gzip, and finds the settings and the program
//! that lie beside it. [`Trace::steps`] walks the instructions of any format:
//!
//! ```
//! # fn main() -> trackway::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/stf/sort/trace.stf");
//! let mut trace = trackway::Trace::open(path)?;
//! let mut steps = trace.steps()?;
//! let mut count = 0;
//! while let Some(step) = steps.next()? {
//!     count += 1;
//!     if let (Some(pc), [load, ..]) = (step.pc, step.memory()) {
//!         println!("{pc:#x}: {:?} at {:#x}", load.kind, load.address);
//!     }
//! }
//! assert_eq!(count, 297);
//! # Ok(())
//! # }
//! ```
//!
//! [`convert`] writes a trace in another format and returns the [ledger](events::Ledger) of what was kept, derived, dropped
//! and invented. [`Trace::events`] returns batches of [`events`] for those who need speed, [`Trace::items`] the format's
//! own records or packets as text, [`Trace::check`] the findings of its rules. The formats are in one list, [`FORMATS`];
//! a format of your own implements [`Format`](format::Format) and goes beside them into [`Options::formats`].

mod bounds;
mod conversion;
mod convert;
pub mod cut;
mod expand;
mod formats;
mod found;
mod groups;
mod health;
pub mod index;
mod indexing;
mod locate;
pub mod machine;
mod one_source;
mod position;
mod program_check;
mod proof;
mod prove;
mod slice;
mod steps;
mod trace;

pub use bounds::{Bounds, Place};
pub use conversion::{Conversion, Written};
pub use convert::{ConvertOptions, convert, convert_with};
pub use expand::Expand;
pub use formats::{FORMATS, by_id, for_output};
pub use found::Indexing;
pub use groups::{Before, read_in_groups};
pub use health::{Counts, Ended, Health, Passed, read_all};
pub use locate::never_reached;
pub use position::{Follow, Position, Tally};
pub use program_check::{
    Compared, Comparisons, ProgramCheck, RULES as PROGRAM_RULES, Verdict, check_with_program,
};
pub use proof::Prove;
pub use prove::{Pair, Proof, Reopen, prove};
pub use steps::{Instruction, Steps};
pub use trace::{Options, Trace, trap_name};

pub use trackway_core as events;
pub use trackway_format as format;
pub use trackway_format::{Error, Result, Settings};
pub use trackway_image as image;
pub use trackway_io as io;
pub use trackway_isa as isa;

pub use trackway_astf as astf;
pub use trackway_ete as ete;
pub use trackway_etrace as etrace;
pub use trackway_logs as logs;
pub use trackway_perf as perf;
pub use trackway_stf as stf;
pub use trackway_tandem as tandem;

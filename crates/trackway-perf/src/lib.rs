//! Recordings of Linux `perf` (`perf.data`) with traces of CoreSight units: ETMv4 and ETE.
//!
//! A recording is a header, records, and feature sections. The records say which processes ran, what they mapped into
//! memory, and which stretches of the AUX area hold the trace of which core; the trace itself lies in `AUXTRACE` records.
//! The file is walked where it is mapped: trace is never copied.
//!
//! | module | |
//! |---|---|
//! | `header`, `record` | sections, attributes and records, in either byte order |
//! | `coresight` | trace units: `AUXTRACE_INFO`, ids by `AUX_OUTPUT_HW_ID` |
//! | `scan` | one walk over all records |
//! | `tasks` | processes, threads and their memory over time |
//! | `sessions` | stretches of the AUX area that are decoded on their own, by source |
//! | `binaries`, `image` | the files that ran, found without trusting the recording, at their addresses |
//! | `lift` | one decoder of `trackway-ete` after the other |
//!
//! [`FORMAT`] is all of this for the front door. Writing is perf's work.
#![forbid(unsafe_code)]

mod binaries;
mod config;
mod coresight;
mod fields;
mod header;
mod image;
mod items;
mod lift;
mod open;
mod record;
mod rules;
mod scan;
mod sessions;
mod tasks;

pub use open::{FORMAT, Perf};
pub use rules::RULES;

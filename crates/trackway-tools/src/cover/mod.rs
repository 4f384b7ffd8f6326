//! Coverage: which lines, functions and branches of a program were executed, and how often.
//!
//! It is coverage of object code, shown at the source lines that the debug information names. Optimised code has fewer
//! branches than its source, or others; a line counts as often as the instruction of it that was executed most.

mod cobertura;
mod drcov;
mod files;
mod lcov;
mod listing;

pub use cobertura::cobertura;
pub use drcov::drcov;
pub use files::{BranchCount, CodeLine, Cover, FileCover, FunctionCover};
pub use lcov::lcov;
pub use listing::listing;

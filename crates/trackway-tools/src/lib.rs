//! Analyses of traces.
//!
//! An analysis observes the batches of a trace: it implements [`Observer`](trackway_core::Observer) and runs with
//! [`Source::observe`](trackway_core::Source::observe), on every core where its results can be merged.
//!
//! - [`profile`]: profiles for viewers, annotators and compilers.
//! - [`stats`]: counts of events, classes, branches, memory accesses, blocks.
//! - [`asked`]: analyses that statistics run when asked: predictors, loops, dependences, reuse, strides, sharing.
//! - [`attempted`]: instructions of runs that did not retire.
//! - [`calls`]: the call tree.
//! - [`contexts`]: the contexts of a trace, and the instructions of each.
//! - [`cover`]: coverage of lines, functions and branches.
//! - [`diff`]: comparison of two traces, with alignment.
//! - [`doctor`]: what a file is that does not decode, and the settings and the program that fit it.
//! - [`executed`]: blocks of code, how often control passed through each, and what followed; most analyses build on it.
//! - [`flame`]: flame graphs.
//! - [`find`]: instructions that meet conditions.
//! - [`markup`]: escaping of names in pictures and pages.
//! - [`past`]: the state at a point, and which instructions it comes from.
//! - [`simpoint`]: intervals that represent a whole trace.
//! - [`plot`]: pictures of a trace over time.
//! - [`replay`]: a position that moves through a trace, forwards and backwards.
//! - [`report`]: one page with all of it.
//! - [`series`]: counts for each interval of a trace.
//! - [`sources`]: source files, only from folders that were allowed.
//! - [`verify`]: tandem verification against the golden model, with coverage. It follows one core step by step, so
//!   it runs in order.
#![forbid(unsafe_code)]

pub mod asked;
pub mod attempted;
pub mod calls;
pub mod contexts;
pub mod cover;
pub mod diff;
pub mod doctor;
pub mod executed;
pub mod find;
pub mod flame;
pub mod markup;
pub mod past;
pub mod plot;
pub mod profile;
pub mod replay;
pub mod report;
pub mod series;
pub mod simpoint;
pub mod sources;
pub mod stats;
mod table;
mod varint;
pub mod verify;

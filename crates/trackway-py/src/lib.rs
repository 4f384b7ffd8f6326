//! The Python package `trackway`: the part of it that is written in Rust. `python/trackway` is the rest, and the
//! documentation.
//!
//! Everything here is a function of the path and the options of a trace: each call opens it anew, on a thread of its own,
//! without Python's lock. Tables cross over as Arrow arrays by the Arrow C data interface, which copies nothing.

mod ask;
mod batches;
mod error;
mod items;
mod opening;
mod steps;
mod thread;

use pyo3::prelude::*;

/// The native part of the package.
#[pymodule]
mod _trackway {
    #[pymodule_export]
    use super::ask::ask;
    #[pymodule_export]
    use super::batches::{Batch, Batches, Schema, count, schema, tables};
    #[pymodule_export]
    use super::items::{batches_of_item, plan};
    #[pymodule_export]
    use super::opening::Opening;
    #[pymodule_export]
    use super::steps::{Access, Instruction, Register, Steps};
}

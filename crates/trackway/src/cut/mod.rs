//! Cutting traces: windows of them, parts that join again, and joining.

mod join;
mod merge;
mod own_bytes;
mod plan;
mod split;

pub use crate::slice::{ContextIs, Origin, PartStream, Provenance, Selection, Window};
pub use merge::{By, merge};
pub use plan::{Plan, Witness, WorkItem, hex, plan, plan_with, read_hex};
pub use split::{Split, split, split_at};

//! Cutting traces: windows of them, parts that join again, and joining.

mod join;
mod known;
mod merge;
mod own_bytes;
mod plan;
mod provenance;
mod selection;
mod split;
mod window;

pub use merge::{By, merge};
pub use plan::{Plan, WorkItem, hex, plan, read_hex};
pub use provenance::{Origin, PartStream, Provenance};
pub use selection::{ContextIs, Selection};
pub use split::{Split, split, split_at};
pub use window::Window;

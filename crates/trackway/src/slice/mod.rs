//! A part of a trace as a source of its own, and where it is from.

mod known;
mod provenance;
mod selection;
mod window;

pub use provenance::{Origin, PartStream, Provenance};
pub use selection::{ContextIs, Selection};
pub use window::Window;

pub(crate) use known::is_known;
pub(crate) use provenance::{Digest, is_provenance};

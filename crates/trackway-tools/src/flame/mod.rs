//! Flame graphs: one self-contained SVG of a call tree.
//!
//! The picture is plain SVG that any viewer shows; a browser also lets one search, zoom by a click and go by keyboard. Names
//! come from programs and traces, so every text is escaped and none of them ever becomes markup or script.

mod frames;
mod svg;

pub use frames::{Frames, compare, thread_label, thread_name};
pub use svg::svg;

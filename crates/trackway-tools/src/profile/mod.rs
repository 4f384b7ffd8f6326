//! Profiles for other programs: stacks for viewers, costs for annotators, ranges and branches for compilers.
//!
//! All of them count instructions. Those with stacks come from the [call tree](crate::calls); those for compilers from
//! the [executed blocks](crate::executed) alone, with lines, discriminators and inlined functions of the programs.

mod autofdo;
mod bolt;
mod callgrind;
mod firefox;
mod folded;
mod gcov;
mod llvm;
mod names;
mod perfetto;
mod pprof;
mod protobuf;
mod sampled;
mod speedscope;
mod stacks;
mod strings;

use std::sync::Arc;

use trackway_core::Meta;
use trackway_image::Image;

use crate::calls::Called;

pub use autofdo::autofdo;
pub use bolt::bolt;
pub use callgrind::callgrind;
pub use firefox::Samples;
pub use folded::folded;
pub use gcov::{GcovVersion, gcov};
pub use llvm::{llvm, llvm_binary};
pub use perfetto::{TimeAxis, Timeline};
pub use pprof::pprof;
pub use speedscope::speedscope;

/// The input of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Profiled<'a> {
    /// The calls and what was executed.
    pub called: &'a Called,
    /// The programs, one for each source or one for all.
    pub programs: &'a [Arc<Image>],
    /// Names of sources and threads.
    pub meta: &'a Meta,
    /// The name of the trace.
    pub name: &'a str,
}

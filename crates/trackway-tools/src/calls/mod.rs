//! The call tree: which function called which, and what ran in each.
//!
//! A stack is kept for each thread of each source. It survives tail calls, `longjmp`, interrupts, gaps and context
//! switches: what is executed always belongs to the function that the program says it is in; only how that function
//! was reached may be a guess, and guesses are counted where they were made.

mod functions;
mod observe;
mod tree;
mod watch;

pub use functions::{Function, FunctionId, Functions};
pub use observe::{CallTree, Called};
pub use tree::{Node, NodeId, NodeKind, Totals, Tree};
pub use watch::{Place, Watch};

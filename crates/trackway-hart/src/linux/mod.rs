//! Linux user mode: runs a static RISC-V program as a process, without a kernel underneath.
//!
//! System calls are answered by the model (`syscall`), files come from the host (`files`), signals are
//! delivered as Linux does (`deliver`). Everything that differs from run to run in a real system is fixed:
//! time starts at [`Options::start_time`] and advances by a nanosecond per instruction, random bytes come from
//! [`Options::seed`], process ids are constant. One thread only: `clone` is refused.

mod deliver;
mod errno;
mod files;
mod load;
mod memory;
mod process;
mod signals;
mod syscall;

pub use memory::AddressSpace;
pub use process::{Kernel, Options, Process, Status};

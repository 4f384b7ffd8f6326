//! A machine for bare-metal programs: RAM, reset ROM, CLINT, PLIC, UART, test finisher and HTIF, at the places
//! where QEMU's `virt` has them.
//!
//! | address | what |
//! |---|---|
//! | `0x1000` | reset ROM: jumps to the program's entry with the hart id in `a0` |
//! | `0x10_0000` | test finisher: `0x5555` passes, `0x3333 \| code << 16` fails |
//! | `0x200_0000` | CLINT: `msip`, `mtimecmp` at `+0x4000`, `mtime` at `+0xbff8` |
//! | `0xc00_0000` | PLIC with 31 inputs; context 0 is M, 1 is S |
//! | `0x1000_0000` | UART (16550), input 10 of the PLIC |
//! | `0x8000_0000` | RAM |
//!
//! Where the program has a symbol `tohost`, stores there are HTIF commands. Time is deterministic: `mtime` goes
//! on by one every [`MachineConfig::instructions_per_tick`], and `wfi` goes straight to the next timer event.

mod board;
mod devices;
mod system;
mod virt;

pub use board::{Machine, MachineConfig};
pub use system::{RAM_BASE, ROM_BASE, Status, System};
pub use virt::device_tree;

//! The golden RISC-V model: executes programs exactly, and tells everything that each instruction did.
//!
//! It is what tandem verification verifies against, and what `trackway record` records from. RV32 and RV64 with
//! I M A F D C, Zicsr, Zifencei, Zba, Zbb, Zbc, Zbs, Zicond, Zfh, Zawrs, Zicntr, Zihpm and Zihintpause;
//! privilege levels M, S and U, PMP, Sv32, Sv39, Sv48 and Sv57.
#![forbid(unsafe_code)]

pub mod float;

mod access;
mod bus;
mod config;
pub mod csr;
mod effects;
mod execute;
mod execute_float;
mod hart;
mod mmu;
mod ram;
mod state;
mod trap;

pub use bus::{Bus, load, store};
pub use config::{AdUpdate, Config, Extensions, Misaligned, Paging};
pub use effects::{Access, AccessKind, Effects, List, Observe, Purpose, Walk};
pub use hart::Hart;
pub use ram::Ram;
pub use state::{Csrs, Level, Reservation, State};
pub use trap::{Exception, Taken, cause};
mod elf;
pub mod linux;
pub use elf::{LoadError, Program, Segment};
pub mod machine;
mod record;
pub use record::{End, Position, RecordOptions, Recorder, Target};
mod settings;
pub use settings::Settings;

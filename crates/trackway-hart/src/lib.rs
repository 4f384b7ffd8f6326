//! The golden RISC-V model: executes programs exactly, and tells everything that each instruction did.
//!
//! It is what tandem verification verifies against, and what `trackway record` records from. RV32 and RV64 with
//! I M A F D C, Zicsr, Zifencei, Zba, Zbb, Zbc, Zbs, Zicond, Zfh, Zawrs, Zicntr, Zihpm and Zihintpause;
//! privilege levels M, S and U, PMP, Sv32, Sv39, Sv48 and Sv57.
#![forbid(unsafe_code)]

pub mod float;

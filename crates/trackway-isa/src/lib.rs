//! What an instruction is and where control goes, for RISC-V and Arm.
#![forbid(unsafe_code)]

//! RISC-V E-Trace: compressed branch and data trace.
#![forbid(unsafe_code)]

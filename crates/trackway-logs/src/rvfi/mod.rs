//! Retirement ports (RVFI): packets of RVFI-DII, and the signals of a simulation in a VCD.

mod check;
pub(crate) mod dii;
mod packet;
mod port;
mod rules;
pub(crate) mod vcd;

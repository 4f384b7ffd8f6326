//! Logs that cores and simulators write: a line of text, or a packet, for each thing that happened.
//!
//! ```text
//! bytes ──lines.rs──▶ lines ──log.rs──▶ Log::Lift ──▶ events
//!                              └──▶ Log::Check ──▶ findings, Log::describe ──▶ items as text
//! ```
//!
//! A log is declared once, as a type that implements `Log` (`log.rs`): how it is recognised, what a line means, which
//! state is carried from line to line. Opening, items, checking, copying, threads, places, and errors with line and
//! column come from there for all of them.
//!
//! | file | idea |
//! |---|---|
//! | `lines.rs`, `walk.rs` | lines and their places; through an input, without copying |
//! | `log.rs`, `decode.rs` | what a log declares; its events, on threads too |
//! | `format.rs`, `items.rs` | a log as a format; its lines as items and findings |
//! | `scan.rs` | words, numbers and digits of a line |
//! | `tarmac/` | Tarmac of Arm's models, of ES and of gem5 |
//! | `riscv/` | logs of RISC-V cores: the record of an instruction, its events, its checks |
//! | `spike/`, `riscv_dv/`, `rvfi/` | Spike's commit log; riscv-dv; retirement ports in packets and in a VCD |
//! | `qemu_exec/` | QEMU's log of executed blocks |
//!
//! `docs/spec-readings/logs.md` has the readings where producers differ.
#![forbid(unsafe_code)]

mod decode;
mod format;
mod items;
mod lines;
mod log;
mod qemu_exec;
mod riscv;
mod riscv_dv;
mod rvfi;
mod scan;
mod spike;
mod tarmac;
mod walk;

use trackway_format::Format;

use crate::format::TextLog;

/// Tarmac, for the list of formats.
pub static TARMAC: &dyn Format = &TextLog::<tarmac::Tarmac>::NEW;

/// Spike's commit log, for the list of formats.
pub static SPIKE: &dyn Format = &TextLog::<spike::Spike>::NEW;

/// The CSV trace of riscv-dv, for the list of formats.
pub static RISCV_DV: &dyn Format = &TextLog::<riscv_dv::RiscvDv>::NEW;

/// RVFI-DII packets, for the list of formats.
pub static RVFI_DII: &dyn Format = &TextLog::<rvfi::dii::Dii>::NEW;

/// RVFI in a VCD, for the list of formats.
pub static RVFI_VCD: &dyn Format = &TextLog::<rvfi::vcd::Vcd>::NEW;

/// QEMU's log of executed blocks, for the list of formats.
pub static QEMU_EXEC: &dyn Format = &TextLog::<qemu_exec::QemuExec>::NEW;

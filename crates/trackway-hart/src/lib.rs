//! The golden RISC-V model: executes programs exactly, and reports every effect of each instruction.
//!
//! It is what tandem verification verifies against, and what `trackway record` records from. RV32 and RV64 with
//! I M A F D C, Zicsr, Zifencei, Zabha, Zacas, Zawrs, Zba, Zbb, Zbc, Zbs, Zbk*, Zkn*, Zks*, Zicond, Zicbom, Zicbop, Zicboz,
//! Zimop, Zfh, Zfa, Zcb, Zcmop, Zicntr, Zihpm and hints; privilege levels M, S and U, PMP, Sv32, Sv39, Sv48, Sv57 and Svinval;
//! [options](Extensions::OPTIONS) of the privileged architecture by name. The implementation's choices are in its [`Config`];
//! what a write leaves in each CSR is in [`csr`].
//!
//! # A step
//!
//! ```text
//!  pc ──fetch──▶ Inst ──execute──▶ State, Bus ──▶ next pc
//!       translate,    one match      │
//!       decode once   over Op        └─▶ an observer gets every effect, traps included
//! ```
//!
//! - A [`Hart`] is a core: plain [`State`] (a copy of it is a snapshot), and [`step`](Hart::step). Instructions
//!   come decoded from the table of `trackway-isa` and are remembered by physical address until `fence.i`;
//!   translations are remembered until `sfence.vma` or a change of what they depend on.
//! - A [`Bus`] is memory and devices: [`Ram`] alone, a whole [`machine::Machine`], the address space of a
//!   [`linux::Process`], or your own.
//! - [`Effects`] is what a step did: registers, CSRs, memory, page walks, trap, next pc. It never allocates.
//!   An [`Observe`]r of your own hears the same; `()` hears nothing, and then nothing is paid for it.
//! - Interrupts are taken when the one who drives the core says so: ask
//!   [`pending_interrupt`](Hart::pending_interrupt), take with [`interrupt`](Hart::interrupt).
//! - A [`Recorder`] turns a running program into events, which every format can write.
//!
//! # Driving it from outside
//!
//! Appendix A of the tandem specification asks for four things: read and write any state
//! ([`state`](Hart::state), [`set_x`](Hart::set_x), [`set_csr`](Hart::set_csr), [`set_state`](Hart::set_state)
//! …), attempt one instruction ([`step`](Hart::step), or [`attempt`](Hart::attempt) without taking the trap,
//! or [`attempt_encoding`](Hart::attempt_encoding) where memory at the pc is not known), take an interrupt, and
//! reset.
//!
//! ```
//! use trackway_core::Isa;
//! use trackway_hart::{Config, Effects, Hart, Level, Ram, cause, csr};
//!
//! let mut ram = Ram::new(0x8000_0000, 4096);
//! ram.load(0x8000_0000, &[0x73, 0, 0, 0]); // ecall
//! let mut hart = Hart::new(Config::new(Isa::Rv64));
//! hart.set_csr(csr::MTVEC, 0x8000_0100);
//! let before = hart.state().clone();
//!
//! let mut effects = Effects::new();
//! let taken = hart.step(&mut ram, &mut effects).expect("it traps");
//! assert_eq!((taken.cause, taken.to), (cause::ECALL_M, 0x8000_0100));
//! assert_eq!(effects.csrs.iter().find(|(number, _)| *number == csr::MEPC), Some((csr::MEPC, 0x8000_0000)));
//!
//! hart.set_state(before); // back to the snapshot
//! hart.set_csr(csr::PMPADDR0, u64::MAX); // all memory, for U as well
//! hart.set_csr(csr::PMPCFG0, 0x1f);
//! hart.set_level(Level::U);
//! assert_eq!(hart.step(&mut ram, &mut effects).map(|taken| taken.cause), Some(cause::ECALL_U));
//! ```
#![forbid(unsafe_code)]

mod bus;
mod config;
pub mod csr;
mod effects;
mod extensions;
pub mod float;
mod hart;
pub mod linux;
pub mod machine;
mod presets;
mod program;
mod ram;
mod record;
mod riscv_config;
mod rules;
mod settings;
mod state;
mod target;
mod trap;

pub use bus::{Bus, load, store};
pub use config::{AdUpdate, Config, Misaligned, Paging};
pub use effects::{Access, AccessKind, Effects, List, Observe, Purpose, Walk};
pub use extensions::Extensions;
pub use hart::Hart;
pub use presets::PRESETS;
pub use program::{LoadError, Program};
pub use ram::Ram;
pub use record::{MODEL, Position, RecordOptions, Recorder};
pub use riscv_config::DescribedCore;
pub use rules::{Bits, CsrField, CsrRule, CsrRules, CsrSettings, Kept, Legal, ReadOnly, read_rules};
pub use settings::Settings;
pub use state::{Csrs, EVENTS, Level, Reservation, State};
pub use target::{End, Target};
pub use trap::{Exception, Taken, cause};

//! A trace unit in software: it gets what a core executes and emits packets that a real unit may emit.
//!
//! [`Registers`] program it as in K10.5.7; [`Model`] has what registers do not define: chance, speed, speculation. The
//! stages mirror those of decoding: ViewInst (`filter`), elements and speculation, packets (`pack`).
//!
//! ```
//! use trackway_core::Isa;
//! use trackway_ete::encode::{Implementation, Instruction, Model, Registers, Unit};
//!
//! let registers = Registers::new(&Implementation::default()).everything();
//! let mut unit = Unit::new(registers, Model::default(), None)?;
//! unit.enable()?;
//! let nop_and_loop = [(0x1000, 0xd503_201f_u32), (0x1004, 0x17ff_ffff)];
//! for (address, encoding) in nop_and_loop.repeat(30) {
//!     unit.instruction(&Instruction::new(Isa::A64, address, encoding, true));
//! }
//! unit.disable()?;
//! let bytes = unit.take();
//! assert_eq!(bytes[bytes.len() - 2..], [0xd4, 0xc2]); // 24 and 6 branches taken
//! # Ok::<(), trackway_ete::ConfigError>(())
//! ```
//!
//! A core also reports what passes beside its instructions:
//!
//! ```
//! # use trackway_core::Isa;
//! # use trackway_ete::encode::{Implementation, Instruction, Model, Registers, Unit};
//! let mut registers = Registers::new(&Implementation::default()).everything();
//! registers.set("TRCCONFIGR", 0x811); // RES1, CCI and TS: cycle counts and timestamps
//! let mut unit = Unit::new(registers, Model::default(), None)?;
//! unit.enable()?;
//! unit.instruction(&Instruction::new(Isa::A64, 0x1000, 0xd503_201f, true));
//! unit.elapse(20); // a slow instruction
//! unit.raise_inputs(1); // for the resource selectors
//! unit.set_timestamp(0x1234, None); // a counter of the core's own
//! unit.set_cycles(Some(7));
//! unit.request_timestamp(); // the instruction TSB CSYNC
//! unit.instrumentation(42); // the instruction TRCIT
//! unit.disable()?;
//! # assert!(!unit.take().is_empty());
//! # Ok::<(), trackway_ete::ConfigError>(())
//! ```

mod account;
mod config;
mod elements;
mod filter;
mod instruction;
mod log;
mod model;
mod pack;
mod registers;
mod sequence;
mod speculation;
mod unit;

pub use config::{EncodeConfig, UnitConfig};
pub(crate) use instruction::{Block, Branch};
pub use instruction::{Instruction, Known, KnownTrap};
pub use model::{FifoModel, Model, SourceAddresses};
pub use registers::{Implementation, Registers};
pub(crate) use registers::{Preset, check_name};
pub use sequence::{Saved, Status};
pub use unit::{Counts, Unit};

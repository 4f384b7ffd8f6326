//! Parts that the commands about a point share: its position, registers and addresses by name, values and places as text.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackway::{Health, Position, Trace};
use trackway_core::{Isa, Reg};
use trackway_image::{Image, Listing as Columns};
use trackway_isa::{Style, reg_name, riscv};
use trackway_tools::past::{self, Location};

use crate::args::Common;
use crate::exit::Failure;
use crate::json::{Object, hex};
use crate::plain::plain;
use crate::report::placed;

/// The point that a command is about.
#[derive(clap::Args, Debug)]
pub(crate) struct At {
    /// Trace
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The point: before the instruction at this position
    #[arg(long, value_name = "POSITION")]
    pub(crate) at: String,
}

impl At {
    /// The number of its instruction, and the programs.
    pub(crate) fn locate(
        &self,
        common: &Common,
        trace: &mut Trace,
    ) -> Result<(u64, Vec<Arc<Image>>), Failure> {
        let failed = |error: trackway::Error| placed(common, &self.file, error);
        let programs = trace.programs().map_err(failed)?;
        let position = Position::parse(&self.at, &programs).map_err(failed)?;
        trace.refuse_several().map_err(failed)?;
        Ok((trace.locate(&position, None).map_err(failed)?, programs))
    }

    /// The health of a trace that was read past an error; under `--strict` that is a failure.
    pub(crate) fn health(
        &self,
        common: &Common,
        passed: Option<trackway_core::Error>,
    ) -> Result<Health, Failure> {
        let mut health = Health::default();
        if let Some(error) = passed {
            if common.strict {
                return Err(Failure::Strict(format!("{}: {error}", self.file.display())));
            }
            health.passed(error);
        }
        Ok(health)
    }
}

/// A register by its name.
pub(crate) fn register(isa: Isa, name: &str) -> Result<Reg, Failure> {
    past::register(isa, name).map_err(|error| Failure::Usage(error.to_string()))
}

/// `ADDR[:LEN]`, 8 bytes without a length.
pub(crate) fn bytes(text: &str) -> Result<(u64, u64), Failure> {
    past::bytes(text).map_err(|error| Failure::Usage(error.to_string()))
}

/// The name of a register for people: with RISC-V's ABI name.
pub(crate) fn title(isa: Isa, reg: Reg) -> String {
    let name = reg_name(isa, reg);
    match (isa, reg.class) {
        (Isa::Rv32 | Isa::Rv64, trackway_core::RegClass::Int) => {
            format!("{name:<4} {}", riscv::register_name(reg.number as u8))
        }
        _ => name.into_owned(),
    }
}

/// Little-endian bytes as one number in hex.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect()
}

/// Little-endian bytes as a JSON value, without leading zeros where it fits a number.
pub(crate) fn value_json(bytes: &[u8]) -> Json {
    if bytes.len() <= 8 {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        return hex(u64::from_le_bytes(word));
    }
    json!(format!("0x{}", digits(bytes)))
}

/// A location as JSON fields.
pub(crate) fn location_json(isa: Isa, what: Location) -> Object {
    let fields = match what {
        Location::Reg(reg) => vec![("register", json!(reg_name(isa, reg)))],
        Location::Mem { address, length } => vec![("address", hex(address)), ("length", json!(length))],
    };
    fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// A location, for people.
pub(crate) fn location_text(isa: Isa, what: Location) -> String {
    match what {
        Location::Reg(reg) => match (isa, reg.class) {
            (Isa::Rv32 | Isa::Rv64, trackway_core::RegClass::Int) => {
                riscv::register_name(reg.number as u8).into()
            }
            _ => reg_name(isa, reg).into_owned(),
        },
        Location::Mem { address, length } => format!("[{address:#x}:{length}]"),
    }
}

/// Text, function and source line of instructions.
pub(crate) struct Places {
    columns: Columns,
}

impl Places {
    pub(crate) fn new(programs: &[Arc<Image>]) -> Self {
        Places { columns: Columns::new(trackway_image::program(programs, 0), Style::default()) }
    }

    /// The instruction's text; a question mark where the encoding is not known.
    pub(crate) fn text(&mut self, isa: Isa, pc: Option<u64>, encoding: u32, length: u8) -> String {
        if length == 0 {
            return "?".into();
        }
        self.columns.text(isa, pc.unwrap_or(0), encoding).to_string()
    }

    /// Function and line, each after two blanks; empty where the program has none.
    pub(crate) fn suffix(&mut self, pc: Option<u64>) -> String {
        let mut out = String::new();
        let Some(pc) = pc.filter(|_| !self.columns.image().is_empty()) else { return out };
        let row = self.columns.row(pc);
        if !row.place.is_empty() {
            out += &format!("  <{}>", plain(&row.place));
        }
        if !row.line.is_empty() {
            out += &format!("  {}", plain(row.line.rsplit('/').next().unwrap_or(&row.line)));
        }
        out
    }

    /// Address, text, function and line as JSON fields.
    pub(crate) fn put(&mut self, object: &mut Object, isa: Isa, pc: Option<u64>, encoding: u32, length: u8) {
        object.extend(pc.map(|pc| ("pc".to_string(), hex(pc))));
        if length > 0 {
            object.insert("encoding".into(), hex(encoding.into()));
            object.insert("text".into(), json!(self.text(isa, pc, encoding, length)));
        }
        self.put_place(object, pc);
    }

    /// Function and line as JSON fields.
    pub(crate) fn put_place(&mut self, object: &mut Object, pc: Option<u64>) {
        if let Some(pc) = pc.filter(|_| !self.columns.image().is_empty()) {
            let row = self.columns.row(pc);
            object.extend((!row.place.is_empty()).then(|| ("symbol".to_string(), json!(row.place))));
            object.extend((!row.line.is_empty()).then(|| ("line".to_string(), json!(row.line))));
        }
    }
}

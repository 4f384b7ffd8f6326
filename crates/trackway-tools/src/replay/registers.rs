//! The registers at a position, for people: those that are not known are among them.

use trackway::Result;
use trackway::machine::How;
use trackway_core::{Isa, Reg, RegClass};
use trackway_isa::{reg_name, riscv};

use super::Replay;

/// A register at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The register.
    pub reg: Reg,
    /// Its name; of RISC-V's integer registers that of the ABI.
    pub name: String,
    /// Its content in hex, digits that are not known as question marks; `None` where nothing is known.
    pub content: Option<String>,
    /// How it came to be known, and the number of the instruction.
    pub known: Option<(How, u64)>,
}

impl Replay {
    /// The general registers of the instruction set, and all others of which something is known.
    pub fn registers(&mut self) -> Result<Vec<Register>> {
        let isa = self.isa();
        let registers = &self.point()?.machine.registers;
        let general = match isa {
            Isa::Rv32 | Isa::Rv64 => 1..32,
            Isa::A64 => 0..32,
            _ => 0..15,
        };
        let general = general.map(|number| Reg { class: RegClass::Int, number });
        let others = registers.iter().map(|(reg, _)| reg).filter(|reg| reg.class != RegClass::Int);
        let shown = general.chain(others).map(|reg| {
            let known = registers.get(reg);
            Register {
                reg,
                name: name(isa, reg),
                content: known.and_then(|known| Some(known.content?.to_string())),
                known: known.map(|known| (known.how, known.number)),
            }
        });
        Ok(shown.collect())
    }
}

fn name(isa: Isa, reg: Reg) -> String {
    match (isa, reg.class) {
        (Isa::Rv32 | Isa::Rv64, RegClass::Int) => riscv::register_name(reg.number as u8).into(),
        _ => reg_name(isa, reg).into_owned(),
    }
}

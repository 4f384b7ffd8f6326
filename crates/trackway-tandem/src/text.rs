//! Items as text: `dump --raw`, and a listing as the original tools print it.

use std::fmt::Write;

use trackway_core::{Input, Isa, Item, Items, RegClass, Result};
use trackway_isa::riscv::{csr_name, register_name};
use trackway_isa::{Disassembler, Style};

use crate::config::{Config, Widths};
use crate::read::Reader;
use crate::record::{Record, register};

/// The name of the register at an address: ABI name for x registers, CSR name where it has one.
pub fn register_text(address: u16) -> String {
    let reg = register::reg(address);
    match reg.class {
        RegClass::Csr => match csr_name(reg.number) {
            Some(name) => name.to_string(),
            None => format!("csr{:#05x}", reg.number),
        },
        RegClass::Other => format!("custom{address:#06x}"),
        RegClass::Int => register_name(reg.number as u8).to_string(),
        _ => reg.to_string(),
    }
}

impl Record {
    /// Its fields as text.
    pub fn text(&self, widths: &Widths, disassembler: &mut Disassembler) -> String {
        let mut out = String::new();
        self.write_text(&mut out, widths, disassembler);
        out
    }

    fn write_text(&self, out: &mut String, widths: &Widths, disassembler: &mut Disassembler) {
        let isa = if widths.xlen == 4 { Isa::Rv32 } else { Isa::Rv64 };
        let digits = |width: u8| 2 * usize::from(width) + 2;
        // Writing to a String cannot fail.
        let _ = match *self {
            Record::FullRegister { address, data } => {
                let width = digits(widths.register(address).unwrap_or(8));
                write!(out, "{} = {data:#0width$x}", register_text(address))
            }
            Record::AddRegister { address, offset } => {
                write!(out, "{} += {offset}", register_text(address))
            }
            Record::OrRegister { address, mask } => {
                write!(out, "{} |= {mask:#04x}", register_text(address))
            }
            Record::PrivilegeMode(mode) => {
                let name = ["U", "S", "reserved", "M"].get(usize::from(mode)).unwrap_or(&"reserved");
                write!(out, "{mode} ({name})")
            }
            Record::PhysicalAddress(a) | Record::PcPhysicalAddress(a) => {
                write!(out, "{a:#0width$x}", width = digits(widths.mlen))
            }
            Record::EffectiveAddress(a) => write!(out, "{a:#0width$x}", width = digits(widths.eaddr)),
            Record::StoreData { size, data } => write!(out, "{data:#0width$x}", width = digits(1 << size)),
            Record::Mtime(time) => write!(out, "{time}"),
            Record::Pc(pc) => write!(out, "{pc:#0width$x}", width = digits(widths.xlen)),
            Record::MisprintedPc(pc) => {
                write!(out, "{pc:#0width$x} (identifier 0x10)", width = digits(widths.xlen))
            }
            Record::MemoryRequest { address, op, size, data } => {
                let width = digits(widths.mlen);
                let _ = write!(out, "{} {} bytes at {address:#0width$x}", op.name(), 1 << size);
                if op.sends() {
                    write!(out, " data {data:#0width$x}", width = digits(1 << size))
                } else {
                    Ok(())
                }
            }
            Record::MemoryResponse { size, result, data } => {
                let word = match result {
                    0 => "success",
                    1 => "failure",
                    _ => "reserved result",
                };
                let _ = write!(out, "{word}, {} bytes", 1 << size);
                match data {
                    Some(data) => write!(out, " data {data:#0width$x}", width = digits(1 << size)),
                    None => Ok(()),
                }
            }
            Record::Instruction16(encoding) => {
                let text = disassembler.text(isa, 0, encoding.into());
                write!(out, "{encoding:04x} {text}")
            }
            Record::Instruction32(encoding) => {
                let text = disassembler.text(isa, 0, encoding);
                write!(out, "{encoding:08x} {text}")
            }
            Record::BeginGroup
            | Record::EndGroup
            | Record::IncrementPc
            | Record::HartReset
            | Record::StateInitialization => Ok(()),
        };
    }
}

/// The items of a trace, one by one, for `dump --raw`.
#[derive(Debug)]
pub struct Listing {
    reader: Reader,
    disassembler: Disassembler,
}

impl Listing {
    /// Lists a trace.
    pub fn open(input: Input, config: &Config) -> Result<Self> {
        let disassembler = Disassembler::new(Style::default());
        Ok(Listing { reader: Reader::new(input, config)?, disassembler })
    }
}

impl Items for Listing {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        let Some((offset, record)) = self.reader.read()? else { return Ok(false) };
        item.offset = offset;
        item.len = self.reader.offset() - offset;
        item.name = record.name();
        item.text.clear();
        record.write_text(&mut item.text, self.reader.widths(), &mut self.disassembler);
        Ok(true)
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        self.reader.resync()
    }
}

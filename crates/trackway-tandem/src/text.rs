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

/// The items of a trace, one by one, for `dump --raw`. As the original tool it numbers the groups and says where
/// one begins inside another, or ends outside any; instructions stand at their addresses where these are known.
#[derive(Debug)]
pub struct Listing {
    reader: Reader,
    disassembler: Disassembler,
    isa: Isa,
    reset_pc: Option<u64>,
    /// Address of the instruction in this group, where known.
    pc: Option<u64>,
    /// Address that the group leads to.
    next: Option<u64>,
    /// Length of its instruction.
    length: Option<u64>,
    /// It leads behind the instruction (opcode 3).
    increments: bool,
    /// Is a group open?
    inside: bool,
    /// Groups begun so far.
    groups: u64,
}

impl Listing {
    /// Lists a trace.
    pub fn open(input: Input, config: &Config) -> Result<Self> {
        let disassembler = Disassembler::new(Style::default());
        Ok(Listing {
            reader: Reader::new(input, config)?,
            disassembler,
            isa: config.isa(),
            reset_pc: config.reset_pc,
            pc: config.reset_pc,
            next: None,
            length: None,
            increments: false,
            inside: false,
            groups: 0,
        })
    }

    /// The group is over, and with it its instruction, if it had one.
    fn end_group(&mut self) {
        let after = self.pc.zip(self.length).map(|(pc, length)| pc.wrapping_add(length));
        if self.length.is_some() || self.next.is_some() {
            self.pc = self.next.or(after.filter(|_| self.increments));
        }
        (self.next, self.length, self.increments, self.inside) = (None, None, false, false);
    }

    /// Follows the flow, and says what the item alone does not.
    fn follow(&mut self, record: &Record, text: &mut String) {
        match *record {
            Record::BeginGroup => {
                let nested = if self.inside { ", ends the one before" } else { "" };
                *text = format!("{}{nested}", self.groups);
                self.end_group();
                (self.groups, self.inside) = (self.groups + 1, true);
            }
            Record::EndGroup => {
                if !self.inside {
                    text.push_str("of no group");
                }
                self.end_group();
            }
            Record::Instruction16(encoding) => self.instruction(2, encoding.into(), text),
            Record::Instruction32(encoding) => self.instruction(4, encoding, text),
            Record::Pc(pc) | Record::MisprintedPc(pc) if self.inside => self.next = Some(pc),
            Record::Pc(pc) | Record::MisprintedPc(pc) => self.pc = Some(pc),
            Record::IncrementPc => self.increments = true,
            Record::HartReset => self.pc = self.reset_pc,
            _ => {}
        }
    }

    fn instruction(&mut self, length: u64, encoding: u32, text: &mut String) {
        self.length = Some(length);
        if let Some(pc) = self.pc {
            let (digits, shown) = (2 * length as usize, self.disassembler.text(self.isa, pc, encoding));
            *text = format!("{encoding:0digits$x} {shown} (at {pc:#x})");
        }
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
        self.follow(&record, &mut item.text);
        Ok(true)
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        self.end_group();
        self.pc = None;
        self.reader.resync()
    }
}

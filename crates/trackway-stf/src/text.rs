//! Records as text, for `dump --raw`. Words and order follow stf_lib's own record dump, so that the two can be
//! compared line by line.

use std::fmt::Write;

use trackway_core::{Item, Items, Result};
use trackway_isa::riscv::csr_name;

use crate::config::{BusMaster, Config};
use crate::fields::Register;
use crate::read::Records;
use crate::record::Record;
use crate::values::{self, MODE_CHANGE, REG_PC, access, reg_class, reg_role};

/// The records of an STF trace as text items.
#[derive(Debug)]
pub struct Text {
    records: Records,
    config: Config,
}

impl Text {
    pub(crate) fn new(records: Records, config: Config) -> Self {
        Text { records, config }
    }
}

impl Items for Text {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        let config = self.config;
        let found = self.records.next(|offset, record, raw| {
            item.offset = offset;
            item.len = raw.len() as u64;
            item.name = record.name();
            item.text.clear();
            show(record, &config, &mut item.text);
        })?;
        Ok(found)
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        Ok(self.records.skip_part())
    }
}

/// Writes the fields of a record.
pub fn show(record: &Record<'_>, config: &Config, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = match *record {
        Record::Reserved {} | Record::EndHeader {} | Record::ReserveEnd {} => Ok(()),
        Record::Identifier { magic } => write!(out, "{}", magic.escape_ascii()),
        Record::Version { major, minor } => write!(out, "{major}.{minor}"),
        Record::Comment { text } => write!(out, "{}", line(text.0)),
        Record::Isa { isa } => write!(out, "{}", values::isa_name(isa)),
        Record::InstIem { mode } => write!(out, "{}", values::iem_name(mode)),
        Record::TraceInfo { generator: values::UNLISTED, major, minor, patch, text } => {
            write!(out, "{} {major}.{minor}.{patch}", line(text.0))
        }
        Record::TraceInfo { generator, major, minor, patch, text } => {
            write!(out, "{} {major}.{minor}.{patch} {}", values::generator(generator), line(text.0))
        }
        Record::TraceInfoFeature { features } => write!(out, "{features:016x}"),
        Record::ProcessIdExt { first, second, third } => write!(out, "{first:08x}:{second:08x}:{third:08x}"),
        Record::ForcePc { pc } | Record::InstPcTarget { pc } | Record::EventPcTarget { pc } => {
            write!(out, "{pc:016x}")
        }
        Record::VlenConfig { bits } => write!(out, "{bits}"),
        Record::ProtocolId { protocol } => write!(out, "{protocol}"),
        Record::ClockId { clock, name } => write!(out, "{clock} {}", line(name.0)),
        Record::IsaExtended { text } => write!(out, "{}", line(text.0)),
        Record::InstReg { register } => show_register(&register, out),
        Record::InstReadyReg { number } => write!(out, "{number}"),
        Record::PageTableWalk { address, first_use, size, entries } => {
            let _ = write!(out, "{address:016x} {first_use} {size}");
            for (at, raw) in entries.pairs() {
                let _ = write!(out, " {at:016x}:{raw:016x}");
            }
            Ok(())
        }
        Record::InstMemAccess { address, size, attributes, access } => {
            write!(out, "{} {address:016x} {attributes:04x} {size}", access_name(access))
        }
        Record::InstMemContent { data } | Record::BusMasterContent { data } => write!(out, "{data:016x}"),
        Record::BusMasterAccess { address, size, master, index, attributes, access } => {
            let name = BusMaster::name(config.bus_master, master);
            let access = access_name(access);
            write!(out, "{access} {name}({master}) {index} {address:016x} {attributes:08x} {size}")
        }
        Record::Event { id, data } => {
            let _ = match (id.special, id.interrupt) {
                (true, _) if id.code == MODE_CHANGE => write!(out, "MODE_CHANGE"),
                (true, _) => write!(out, "SPECIAL {:#x}", id.code),
                (_, true) => write!(out, "INTERRUPT {}", values::interrupt(id.code)),
                (_, false) => write!(out, "FAULT {}", values::exception(id.code)),
            };
            for word in data.words() {
                let _ = write!(out, " {word:016x}");
            }
            Ok(())
        }
        Record::InstMicroop { size, op } => write!(out, "{size} {op:08x}"),
        Record::InstOpcode32 { opcode } => write!(out, "{opcode:08x}"),
        Record::InstOpcode16 { opcode } => write!(out, "{opcode:04x}"),
        Record::Transaction { id, delta, clock, metadata, protocol } => {
            let _ = write!(out, "{id} {delta} {clock} {}", metadata.count);
            hex(metadata.raw, out);
            hex(protocol.0, out);
            Ok(())
        }
        Record::TransactionDependency { id, delta, clock } => write!(out, "{id} {delta} {clock}"),
    };
}

fn show_register(register: &Register<'_>, out: &mut String) -> std::fmt::Result {
    let role = match register.role() {
        reg_role::STATE => "STATE",
        reg_role::SOURCE => "SOURCE",
        reg_role::DESTINATION => "DEST",
        _ => "RESERVED",
    };
    let class = match register.class() {
        reg_class::INTEGER => "x",
        reg_class::FLOAT => "f",
        reg_class::VECTOR => "v",
        reg_class::CSR => "csr",
        _ => "reserved",
    };
    match (register.class(), register.number) {
        (reg_class::INTEGER, REG_PC) => write!(out, "{role} pc ")?,
        (reg_class::CSR, number) => match csr_name(number) {
            Some(name) => write!(out, "{role} {name} ")?,
            None => write!(out, "{role} csr{number:#x} ")?,
        },
        (_, number) => write!(out, "{role} {class}{number} ")?,
    }
    // Most significant byte first, as numbers are written.
    register.content.iter().rev().try_for_each(|byte| write!(out, "{byte:02x}"))
}

fn access_name(access: u8) -> &'static str {
    match access {
        access::READ => "READ",
        access::WRITE => "WRITE",
        _ => "RESERVED",
    }
}

/// Text for a terminal: line breaks are blanks, other control characters are escaped.
fn line(bytes: &[u8]) -> String {
    let mut line = String::with_capacity(bytes.len());
    for letter in String::from_utf8_lossy(bytes).chars() {
        match letter {
            '\n' | '\r' => line.push(' '),
            letter if letter.is_control() => line.extend(letter.escape_default()),
            letter => line.push(letter),
        }
    }
    line
}

fn hex(bytes: &[u8], out: &mut String) {
    if !bytes.is_empty() {
        out.push(' ');
    }
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
}

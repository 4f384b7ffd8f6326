//! Events to a commit log in Spike's layout.
//!
//! Every line that is written is read back, so that the account says what a reader of the log finds.

mod ahead;

use std::any::Any;
use std::io::Write;

use trackway_core::*;
use trackway_format::{Error, Writing, wrong_architecture};
use trackway_isa::riscv::csr_name;

use super::line;
use crate::format::output;
use crate::riscv::handlers::Handlers;
use crate::riscv::lift::narrow;
use crate::riscv::pair::Pair;
use crate::riscv::tally::Tally;
use ahead::LinesAhead;

/// Adds text to a line: writing to memory cannot fail.
macro_rules! put {
    ($line:expr, $($text:tt)*) => {
        drop(write!($line, $($text)*))
    };
}

/// Facts that a commit log holds, or that follow from it.
const KEPT: &[Fact] = &[
    Fact::Instructions,
    Fact::Encodings,
    Fact::RegisterWrites,
    Fact::MemoryAccesses,
    Fact::MemoryData,
    Fact::StoredData,
    Fact::Privileges,
];
const DERIVED: &[Fact] = &[
    Fact::Outcomes,
    Fact::Targets,
    Fact::InferredAccesses,
    Fact::TrapReturns,
    Fact::TrapPlaces,
    Fact::TrapHandlers,
];

/// Starts a log.
pub(super) fn create(
    writing: Writing<'_>,
    meta: &Meta,
    xlen: Option<u32>,
    flen: Option<u32>,
) -> trackway_format::Result<Box<dyn Sink>> {
    let isa = match (xlen, meta.isa) {
        (Some(32), Isa::Rv32 | Isa::Other) => Isa::Rv32,
        (Some(64) | None, Isa::Rv64 | Isa::Other) => Isa::Rv64,
        (None, Isa::Rv32) => Isa::Rv32,
        (Some(xlen), Isa::Rv32 | Isa::Rv64) => {
            let text = format!("[spike] xlen: {xlen} is not the width of this trace, {}", meta.isa);
            return Err(Error::Config(text));
        }
        _ => return Err(wrong_architecture("Spike", "RISC-V", meta)),
    };
    let note = || meta.notes.iter().find(|note| note.0 == "flen")?.1.parse().ok();
    let float = match flen.or_else(note) {
        None | Some(64 | 0) => 16,
        Some(32) => 8,
        Some(flen) => return Err(Error::Config(format!("[spike] flen: {flen} is not 32 or 64"))),
    };
    let out = std::io::BufWriter::with_capacity(1 << 16, output(&writing)?);
    Ok(Box::new(Lower::new(out, meta, isa, float)))
}

/// Takes events and writes a commit log.
pub(crate) struct Lower<W: Write> {
    out: W,
    isa: Isa,
    /// Digits of an integer register and of a floating-point register.
    digits: usize,
    float: usize,
    privilege: Option<Privilege>,
    line: Vec<u8>,
    /// Registers of an instruction, in the order of the line.
    order: Vec<(u32, usize)>,
    /// Bytes written.
    written: u64,
    /// Reads back what was written.
    pair: Pair,
    tally: Tally,
}

impl<W: Write> Lower<W> {
    pub(crate) fn new(out: W, meta: &Meta, isa: Isa, float: usize) -> Self {
        Lower {
            out,
            isa,
            digits: if isa == Isa::Rv32 { 8 } else { 16 },
            float,
            privilege: None,
            line: Vec::with_capacity(256),
            order: Vec::new(),
            written: 0,
            pair: Pair::new(isa, Handlers::default()),
            tally: Tally::new(meta),
        }
    }

    /// Writes an instruction that retired; false if a commit log cannot hold it.
    fn step(&mut self, step: &Step, batch: &Batch) -> Result<bool> {
        let (Some(pc), Outcome::Retired, 2 | 4) = (step.pc, step.outcome, step.length) else {
            return Ok(false);
        };
        if batch.extra_of(step).is_some_and(|extra| extra.placeholder) {
            return Ok(false);
        }
        self.line.clear();
        self.line.extend_from_slice(b"core   0: ");
        match self.privilege {
            Some(Privilege::U | Privilege::VU) => self.line.extend_from_slice(b"0 "),
            Some(Privilege::S | Privilege::VS) => self.line.extend_from_slice(b"1 "),
            Some(Privilege::H) => self.line.extend_from_slice(b"2 "),
            Some(Privilege::M) => self.line.extend_from_slice(b"3 "),
            _ => {}
        }
        hex(&mut self.line, narrow(self.isa, pc), self.digits);
        self.line.extend_from_slice(b" (");
        hex(&mut self.line, step.encoding.into(), 2 * usize::from(step.length));
        self.line.push(b')');
        // By number, then by file, as Spike has them; the vector type before the first vector.
        let regs = batch.regs_of(step.accesses);
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(regs.iter().enumerate().map(|(n, access)| (key(access), n)));
        order.sort_unstable();
        let mut vtype = vector_type(regs);
        for (_, n) in &order {
            self.register(&regs[*n], &mut vtype, batch);
        }
        self.order = order;
        for access in batch.mem_of(step.accesses) {
            if matches!(access.kind, MemKind::Read | MemKind::ReadWrite) {
                self.memory(access, batch);
            }
        }
        for access in batch.mem_of(step.accesses) {
            if access.kind == MemKind::Write {
                self.memory(access, batch);
            }
        }
        self.read_back();
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.written += self.line.len() as u64;
        Ok(true)
    }

    fn register(&mut self, access: &RegAccess, vtype: &mut Option<String>, batch: &Batch) {
        let RegAccess { reg: Reg { class, number }, role, update, value, known } = *access;
        let line = &mut self.line;
        match (class, role, value) {
            _ if role != RegRole::Destination || update != RegUpdate::Set || known.is_some() => {}
            (RegClass::Int, _, Value::Word(value)) if number != 0 => {
                put!(line, " x{number:<2} ");
                hex(line, narrow(self.isa, value), self.digits);
            }
            (RegClass::Float, _, Value::Word(value)) => {
                put!(line, " f{number:<2} ");
                hex(line, value, self.float);
            }
            (RegClass::Csr, _, Value::Word(value)) if number < 0x1000 => {
                let name = csr_name(number).unwrap_or("unknown-csr");
                put!(line, " c{number}_{name} ");
                hex(line, value, self.digits);
            }
            (RegClass::Vector | RegClass::Float, _, Value::Bytes(span)) => {
                let letter = if class == RegClass::Vector { 'v' } else { 'f' };
                if let Some(text) = vtype.take_if(|_| class == RegClass::Vector) {
                    line.extend_from_slice(text.as_bytes());
                }
                put!(line, " {letter}{number:<2} 0x");
                batch.bytes_of(span).iter().rev().for_each(|byte| digits(line, u64::from(*byte), 2));
            }
            _ => {}
        }
    }

    /// A load has its address, a store its data too; of an access whose data is not known a store is not written.
    fn memory(&mut self, access: &MemAccess, batch: &Batch) {
        if access.unplaced {
            return;
        }
        let stored = match access.kind {
            MemKind::Write => access.data,
            _ => batch.mem_extra_of(access).map_or(Value::Unknown, |extra| extra.stored),
        };
        let address = narrow(self.isa, access.address);
        let line = &mut self.line;
        if access.kind != MemKind::Write {
            line.extend_from_slice(b" mem ");
            hex(line, address, self.digits);
        }
        if access.kind == MemKind::Read {
            return;
        }
        let word;
        let bytes: &[u8] = match stored {
            Value::Unknown => return,
            Value::Word(value) => {
                word = value.to_le_bytes();
                &word[..access.size.min(8) as usize]
            }
            Value::Bytes(span) => batch.bytes_of(span),
        };
        let (mut rest, mut at) = (bytes, address);
        while !rest.is_empty() {
            // The largest power of two in the rest.
            let size = 1 << rest.len().ilog2().min(3);
            let (part, after) = rest.split_at(size);
            line.extend_from_slice(b" mem ");
            hex(line, narrow(self.isa, at), self.digits);
            line.extend_from_slice(b" 0x");
            part.iter().rev().for_each(|byte| digits(line, u64::from(*byte), 2));
            (rest, at) = (after, at.wrapping_add(size as u64));
        }
    }

    fn read_back(&mut self) {
        self.pair.incoming.clear(self.written);
        // A reader refuses the same lines.
        if line::read(&self.line, &mut self.pair.incoming).is_ok() {
            self.pair.begin(false, &mut self.tally.written);
        }
    }

    fn event(&mut self, event: &Event, batch: &Batch) -> Result<()> {
        match &event.kind {
            EventKind::Step(step) => {
                let written = self.step(step, batch)?;
                self.tally.step(batch, &event.kind, written);
            }
            kind => {
                if let EventKind::Context(n) = kind {
                    self.privilege = batch.contexts[*n as usize].privilege.or(self.privilege);
                }
                self.tally.other(batch, kind);
            }
        }
        Ok(())
    }
}

impl<W: Write + Send> Sink for Lower<W> {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        batch.events.iter().try_for_each(|event| self.event(event, batch))
    }

    fn ahead(&self) -> Option<Box<dyn Ahead>> {
        Some(Box::new(LinesAhead::new(self)))
    }

    fn put_ahead(&mut self, batch: &Batch, ahead: &mut dyn Ahead) -> Result<()> {
        match (ahead as &mut dyn Any).downcast_mut() {
            Some(ahead) => self.put_batch_ahead(batch, ahead),
            None => self.put(batch),
        }
    }

    fn finish(&mut self) -> Result<Account> {
        self.pair.end(&mut self.tally.written);
        self.out.flush()?;
        Ok(self.tally.account(KEPT, DERIVED))
    }
}

/// The place of a register in a line.
fn key(access: &RegAccess) -> u32 {
    let class = match access.reg.class {
        RegClass::Int => 0,
        RegClass::Float => 1,
        RegClass::Vector => 2,
        _ => 4,
    };
    u32::from(access.reg.number) << 4 | class
}

/// The vector type and length, where an instruction has them: `e32 m1 l4`.
fn vector_type(regs: &[RegAccess]) -> Option<String> {
    let state = |number: u16| {
        let is_it = |access: &&RegAccess| {
            access.role == RegRole::State && access.reg == (Reg { class: RegClass::Csr, number })
        };
        regs.iter().find(is_it).and_then(|access| match access.value {
            Value::Word(value) => Some(value),
            _ => None,
        })
    };
    let (vtype, length) = (state(line::VTYPE)?, state(line::VL)?);
    let group = match vtype & 7 {
        whole @ 0..4 => format!("m{}", 1 << whole),
        4 => return None,
        part => format!("mf{}", 1 << (8 - part)),
    };
    Some(format!(" e{} {group} l{length}", 8u64 << (vtype >> 3 & 7)))
}

/// A number with its prefix, in at least that many digits.
fn hex(line: &mut Vec<u8>, value: u64, width: usize) {
    line.extend_from_slice(b"0x");
    let needed = (64 - value.leading_zeros() as usize).div_ceil(4);
    digits(line, value, width.max(needed));
}

fn digits(line: &mut Vec<u8>, value: u64, width: usize) {
    let digit = |n: usize| b"0123456789abcdef"[(value >> (4 * n) & 15) as usize];
    line.extend((0..width).rev().map(digit));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::record::Retired;

    /// Lines that come back as they were.
    #[test]
    fn a_line_comes_back() {
        for text in [
            "core   0: 3 0x0000000080000000 (0x00000297) x5  0x0000000080000000\n",
            "core   0: 0 0x0000000080000000 (0x9e008457) e16 mf2 l3 v8  0x000102030405060708090a0b0c0d0e0f\n",
            "core   0: 3 0x0000000080000000 (0x9e008457) e32 m8 l8 v8  0x000102030405060708090a0b0c0d0e0f c9_vxsat 0x0000000000000001\n",
            "core   0: 1 0x0000000080000000 (0x02b50553) c1_fflags 0x0000000000000001 f10 0xffffffff40800000\n",
            "core   0: 3 0x0000000080000074 (0x08b4362f) x12 0x0000000000000005 mem 0x0000000080002000 mem 0x0000000080002000 0xfffffffffffffff9\n",
            "core   0: 0x0000000080000000 (0x8082)\n",
        ] {
            let meta = Meta::new(FormatId::new("spike"), Isa::Rv64);
            let mut lower = Lower::new(Vec::new(), &meta, Isa::Rv64, 16);
            let mut pair = Pair::new(Isa::Rv64, Handlers::default());
            let mut batch = Batch::default();
            pair.incoming = Retired::default();
            line::read(text.trim_end().as_bytes(), &mut pair.incoming).unwrap();
            pair.begin(false, &mut batch);
            pair.end(&mut batch);
            lower.put(&batch).unwrap();
            lower.finish().unwrap();
            assert_eq!(String::from_utf8(lower.out).unwrap(), text);
        }
    }
}

//! Verbose and compact: the same trace with full values, or with increments (opcodes 3, 5, 6; chapter 3).

use std::io::Write;

use trackway_core::Result;

use crate::config::{Config, Style};
use crate::group::{Kind, NextPc, View};
use crate::read::{Frame, Group};
use crate::record::{Record, register};
use crate::registers::Registers;
use crate::write::Writer;

/// Writes groups in a style. What is relative to something unknown stays as it is.
pub struct Packer<W: Write> {
    writer: Writer<W>,
    style: Style,
    registers: Registers,
    reset_pc: Option<u64>,
    /// Address of the next instruction, where known.
    pc: Option<u64>,
    /// The last group's end is still to be written, unless a begin implies it.
    open: bool,
    group: Group,
}

impl<W: Write> std::fmt::Debug for Packer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").field("writer", &self.writer).field("style", &self.style).finish()
    }
}

impl<W: Write> Packer<W> {
    /// A packer at the start of a trace.
    pub fn new(out: W, config: &Config, style: Style) -> Result<Self> {
        let registers = Registers::new(&config.widths()?);
        Ok(Packer {
            writer: Writer::new(out, config)?,
            style,
            registers,
            reset_pc: config.reset_pc,
            pc: None,
            open: false,
            group: Group::default(),
        })
    }

    /// Register values before the next group.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Appends a group.
    pub fn put(&mut self, group: &Group) -> Result<()> {
        // A group that breaks a rule is passed on as it is; after it nothing is sure.
        let mut sound = true;
        let view = View::gather(group, &self.registers, &mut |_| sound = false);
        if group.frame == Frame::Outside {
            self.end()?;
        }
        self.group.records.clear();
        // Only where an instruction retires does the pc move by its length.
        let step = view.instruction.filter(|_| view.kind == Kind::Instruction);
        let after = self.pc.zip(step).map(|(pc, (_, length))| pc.wrapping_add(length.into()));
        for record in &group.records {
            let record = match self.style {
                _ if !sound => *record,
                Style::Verbose => self.expand(record, after),
                Style::Compact => self.shrink(record, after),
            };
            self.group.records.push(record);
        }
        for record in &group.records {
            self.registers.apply(record);
        }
        match (view.kind, view.pc) {
            _ if !sound => {
                self.registers.forget();
                self.pc = None;
            }
            (_, Some(NextPc::To(pc))) => self.pc = Some(pc),
            (Kind::Reset, None) => {
                self.registers.forget();
                self.pc = self.reset_pc;
            }
            (Kind::Instruction, Some(NextPc::Increment)) => self.pc = after,
            (Kind::Instruction | Kind::Trap, _) => self.pc = None,
            (Kind::Init | Kind::State, _) => {}
            (Kind::Reset, Some(NextPc::Increment)) => self.pc = None,
        }
        self.group.frame = match (group.frame, self.style) {
            (Frame::Outside, _) => Frame::Outside,
            (_, Style::Verbose) => Frame::Ended,
            (_, Style::Compact) => Frame::Implied,
        };
        self.open = self.group.frame == Frame::Implied;
        self.writer.write_group(&self.group)
    }

    fn expand(&self, record: &Record, after: Option<u64>) -> Record {
        match (record, self.registers.resolve(record)) {
            (_, Some((address, Some(data)))) => Record::FullRegister { address, data },
            (Record::IncrementPc, _) => after.map_or(*record, Record::Pc),
            _ => *record,
        }
    }

    fn shrink(&self, record: &Record, after: Option<u64>) -> Record {
        match *record {
            Record::Pc(pc) if after == Some(pc) => Record::IncrementPc,
            Record::FullRegister { address, data } if address < register::FPR => {
                let Some(old) = self.registers.get(address) else { return *record };
                let offset = |n: i8| Record::AddRegister { address, offset: n };
                let distance = self.registers.distance(old, data);
                let added = i8::try_from(distance).ok().map(offset);
                let added = added.filter(|r| self.registers.resolve(r) == Some((address, Some(data))));
                let mask = (data & 0xff) as u8;
                match added {
                    Some(added) => added,
                    None if old | u64::from(mask) == data => Record::OrRegister { address, mask },
                    None => *record,
                }
            }
            _ => *record,
        }
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::take(&mut self.open) { self.writer.write(&Record::EndGroup) } else { Ok(()) }
    }

    /// Ends the last group and hands on what is gathered.
    pub fn finish(&mut self) -> Result<()> {
        self.end()?;
        self.writer.finish()
    }

    /// Ends the trace and gives the output back.
    pub fn into_inner(mut self) -> Result<W> {
        self.end()?;
        self.writer.into_inner()
    }
}

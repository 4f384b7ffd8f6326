//! The two styles of a trace: full values, or increments where possible (opcodes 3, 5, 6; chapter 3).

use std::io::Write;

use trackway_core::Result;

use crate::config::{Config, Style};
use crate::group::{Frame, Group};
use crate::record::Record;
use crate::register;
use crate::registers::Registers;
use crate::view::{Kind, NextPc, View};
use crate::write::Writer;

/// Writes groups in a style. Increments of unknown values are kept.
pub struct Packer<W: Write> {
    writer: Writer<W>,
    style: Style,
    registers: Registers,
    reset_pc: Option<u64>,
    /// Address of the next instruction, if known.
    pc: Option<u64>,
    /// The last group has no end yet; the next begin implies it.
    open: bool,
    group: Group,
}

impl<W: Write> std::fmt::Debug for Packer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").field("writer", &self.writer).field("style", &self.style).finish()
    }
}

impl<W: Write> Packer<W> {
    /// Creates a packer for a new trace.
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

    /// Register values after the last group.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Appends a group.
    pub fn put(&mut self, group: &Group) -> Result<()> {
        // A group that breaks a rule is kept unchanged; nothing is known after it.
        let mut sound = true;
        let view = View::gather(group, &self.registers, &mut |_| sound = false);
        if group.frame == Frame::Outside {
            self.end()?;
        }
        self.group.records.clear();
        // The pc advances only after an instruction.
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

    /// Appends a group of one instruction of `length` bytes that leads to `pc`. It breaks no rule, and its items are full
    /// values, of one register at most.
    pub(crate) fn put_sound(&mut self, records: &[Record], length: u8, pc: u64) -> Result<()> {
        let after = self.pc.map(|pc| pc.wrapping_add(length.into()));
        let compact = self.style == Style::Compact;
        if compact {
            self.group.records.clear();
            for record in records {
                let record = self.shrink(record, after);
                self.group.records.push(record);
            }
            self.writer.write_sound(&self.group.records, false)?;
        } else {
            self.writer.write_sound(records, true)?;
        }
        for record in records {
            if let Record::FullRegister { address, data } = *record {
                self.registers.set(address, Some(data));
            }
        }
        (self.pc, self.open) = (Some(pc), compact);
        Ok(())
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

    /// Ends the last group and writes the collected bytes.
    pub fn finish(&mut self) -> Result<()> {
        self.end()?;
        self.writer.finish()
    }

    /// Ends the trace and returns the output.
    pub fn into_inner(mut self) -> Result<W> {
        self.end()?;
        self.writer.into_inner()
    }
}

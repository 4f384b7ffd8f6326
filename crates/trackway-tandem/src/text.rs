//! Items as text, for `dump --raw`.

use trackway_core::{Isa, Item, Items, Result};
use trackway_isa::{Disassembler, Style};

use crate::config::Config;
use crate::read::Reader;
use crate::record::{FieldText, Record};

/// The items of a trace as text. Like the original tool it numbers the groups and marks those that begin inside
/// another or end outside any; instructions are shown with their addresses where known.
#[derive(Debug)]
pub struct Text {
    reader: Reader,
    disassembler: Disassembler,
    isa: Isa,
    reset_pc: Option<u64>,
    /// Address of the instruction in this group, if known.
    pc: Option<u64>,
    /// Address that the group sets.
    next: Option<u64>,
    /// Length of the group's instruction.
    length: Option<u64>,
    /// The pc advances past the instruction (opcode 3).
    increments: bool,
    /// A group is open.
    inside: bool,
    /// Number of groups so far.
    groups: u64,
}

impl Text {
    pub(crate) fn new(reader: Reader, config: &Config) -> Self {
        let disassembler = Disassembler::new(Style::default());
        Text {
            reader,
            disassembler,
            isa: config.isa(),
            reset_pc: config.reset_pc,
            pc: config.reset_pc,
            next: None,
            length: None,
            increments: false,
            inside: false,
            groups: 0,
        }
    }

    /// Ends a group and its instruction.
    fn end_group(&mut self) {
        let after = self.pc.zip(self.length).map(|(pc, length)| pc.wrapping_add(length));
        if self.length.is_some() || self.next.is_some() {
            self.pc = self.next.or(after.filter(|_| self.increments));
        }
        (self.next, self.length, self.increments, self.inside) = (None, None, false, false);
    }

    /// Follows the pc, and completes the text of items that depend on it.
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

impl Items for Text {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        let Some((offset, record)) = self.reader.read()? else { return Ok(false) };
        item.offset = offset;
        item.len = self.reader.offset() - offset;
        item.name = record.name();
        item.text.clear();
        record.write_text(&mut FieldText {
            out: &mut item.text,
            widths: self.reader.widths(),
            disassembler: &mut self.disassembler,
        });
        self.follow(&record, &mut item.text);
        Ok(true)
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        self.end_group();
        self.pc = None;
        self.reader.resync()
    }
}

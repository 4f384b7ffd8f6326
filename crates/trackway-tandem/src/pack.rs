//! The two styles of a trace: full values, or increments where possible (opcodes 3, 5, 6; chapter 3).

use std::io::Write;

use trackway_core::Result;

use crate::config::{Config, Style};
use crate::group::{Frame, Group};
use crate::mem_op::MemOp;
use crate::record::Record;
use crate::register;
use crate::registers::Registers;
use crate::view::{Kind, NextPc, View};
use crate::write::{Add, Items, Writer};

/// The items of one instruction that completed, in the order in which they are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sound {
    /// The address that it leads to.
    pub(crate) pc: u64,
    pub(crate) encoding: u32,
    pub(crate) length: u8,
    /// Address and value of the x or f register written.
    pub(crate) register: Option<(u16, u64)>,
    /// Size (0 to 3) and value of a store.
    pub(crate) store: Option<(u8, u64)>,
    pub(crate) physical: Option<u64>,
    pub(crate) effective: Option<u64>,
    /// Size and value of a load that its register does not show.
    pub(crate) load: Option<(u8, u64)>,
}

/// An instruction that completed, as the trace has it.
struct Packed<'s> {
    sound: &'s Sound,
    /// The register as an increment.
    shrunk: Option<Record>,
    /// The pc follows from the group before.
    advances: bool,
    /// The next group ends this one.
    compact: bool,
}

impl Add for Packed<'_> {
    #[inline(always)]
    fn add_to(&self, to: &mut impl Items) {
        let Packed { sound, shrunk, advances, compact } = *self;
        let Sound { pc, encoding, length, register, store, physical, effective, load } = *sound;
        to.add(&Record::BeginGroup);
        match advances {
            true => to.add(&Record::IncrementPc),
            false => to.add(&Record::Pc(pc)),
        }
        match length {
            2 => to.add(&Record::Instruction16(encoding as u16)),
            _ => to.add(&Record::Instruction32(encoding)),
        }
        match (shrunk, register) {
            (Some(shrunk), _) => to.add(&shrunk),
            (None, Some((address, data))) => to.add(&Record::FullRegister { address, data }),
            (None, None) => {}
        }
        if let Some((size, data)) = store {
            to.add(&Record::StoreData { size, data });
        }
        if let Some(physical) = physical {
            to.add(&Record::PhysicalAddress(physical));
        }
        if let Some(address) = effective {
            to.add(&Record::EffectiveAddress(address));
            if let Some((size, data)) = load {
                let address = physical.unwrap_or(address);
                to.add(&Record::MemoryRequest { address, op: MemOp::LOAD, size, data: 0 });
                to.add(&Record::MemoryResponse { size, result: 0, data: Some(data) });
            }
        }
        if !compact {
            to.add(&Record::EndGroup);
        }
    }
}

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
                Style::Compact => self.shrink(record, after, &group.records),
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
        let written = self.writer.write_group(&self.group);
        if written.is_ok() {
            self.open = self.group.frame == Frame::Implied;
        }
        self.after(written)
    }

    /// The style of the trace.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Nothing is known of what came before.
    pub(crate) fn forget(&mut self) {
        self.registers.forget();
        self.pc = None;
    }

    /// Takes a register to have this value, although no group says so.
    pub(crate) fn assume(&mut self, address: u16, value: u64) {
        self.registers.set(address, Some(value));
    }

    /// Appends groups of instructions in the verbose style that were written by another packer: they lead to `pc` and leave these
    /// values in x and f registers.
    pub(crate) fn put_row(&mut self, bytes: &[u8], pc: u64, values: &[(u16, u64)]) -> Result<()> {
        values.iter().for_each(|(address, data)| self.registers.set_file(*address, *data));
        (self.pc, self.open) = (Some(pc), false);
        self.writer.append_groups(bytes)
    }

    /// After a group that was refused a reader does not know what it would have said.
    fn after(&mut self, written: Result<()>) -> Result<()> {
        if written.is_err() {
            self.registers.forget();
            self.pc = None;
        }
        written
    }

    /// Appends the group of one instruction, which breaks no rule.
    #[inline]
    pub(crate) fn put_sound(&mut self, sound: &Sound) -> Result<()> {
        let Sound { pc, length, register, .. } = *sound;
        let compact = self.style == Style::Compact;
        let advances = compact && self.pc.map(|pc| pc.wrapping_add(length.into())) == Some(pc);
        let in_full = |(address, data)| Record::FullRegister { address, data };
        let shrunk = register.filter(|_| compact).map(|known| self.shrink(&in_full(known), None, &[]));
        let written = self.writer.write_common(&Packed { sound, shrunk, advances, compact });
        if written.is_ok() {
            register.into_iter().for_each(|(address, data)| self.registers.set_file(address, data));
            (self.pc, self.open) = (Some(pc), compact);
        }
        self.after(written)
    }

    fn expand(&self, record: &Record, after: Option<u64>) -> Record {
        match (record, self.registers.resolve(record)) {
            (_, Some((address, Some(data)))) => Record::FullRegister { address, data },
            (Record::IncrementPc, _) => after.map_or(*record, Record::Pc),
            _ => *record,
        }
    }

    /// The shortest item for `record`, one of a group's `records`.
    fn shrink(&self, record: &Record, after: Option<u64>, records: &[Record]) -> Record {
        match *record {
            Record::Pc(pc) if after == Some(pc) => Record::IncrementPc,
            Record::FullRegister { address, data } if address < register::FPR => {
                let Some(old) = self.registers.get(address) else { return *record };
                let offset = |n: i8| Record::AddRegister { address, offset: n };
                let distance = self.registers.distance(old, data);
                let added = i8::try_from(distance).ok().map(offset);
                let added = added.filter(|r| self.registers.resolve(r) == Some((address, Some(data))));
                // A value may be written twice, an addition not.
                let added = added.filter(|_| records.iter().filter(|other| *other == record).count() < 2);
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

impl Packer<Vec<u8>> {
    /// Moves the bytes that were written to the end of `out`.
    pub(crate) fn take_bytes(&mut self, out: &mut Vec<u8>) {
        self.writer.take_bytes(out);
    }
}

#[cfg(test)]
mod tests {
    use trackway_core::Input;

    use super::*;
    use crate::read::Reader;

    /// A group with a value that its field cannot hold is refused whole, and those around it can be read.
    #[test]
    fn nothing_of_a_refused_group_is_written() {
        let config = Config { xlen: 32, mlen: 32, ..Config::default() };
        for style in [Style::Verbose, Style::Compact] {
            let mut packer = Packer::new(Vec::new(), &config, style).unwrap();
            let sound = |physical| Sound {
                pc: 0x1004,
                encoding: 0x0000_0013,
                length: 4,
                register: Some((register::GPR + 1, 5)),
                store: None,
                physical,
                effective: None,
                load: None,
            };
            let records = vec![Record::Instruction32(0x13), Record::PhysicalAddress(1 << 40)];
            let wide = Group { offset: 0, frame: Frame::Ended, records };
            packer.put_sound(&sound(Some(4))).unwrap();
            assert!(packer.put_sound(&sound(Some(1 << 40))).is_err());
            assert!(packer.put(&wide).is_err());
            packer.put_sound(&sound(None)).unwrap();
            let out = packer.into_inner().unwrap();
            let mut reader = Reader::new(Input::from_vec(out), &config).unwrap();
            let (mut groups, mut group) = (Vec::new(), Group::default());
            while reader.read_group(&mut group).unwrap() {
                groups.push(group.clone());
            }
            assert_eq!(groups.len(), 2, "{groups:?}");
            // The second does not refer to what the refused ones would have said.
            let full = Record::FullRegister { address: register::GPR + 1, data: 5 };
            assert!(groups[1].records.contains(&full), "{groups:?}");
        }
    }
}

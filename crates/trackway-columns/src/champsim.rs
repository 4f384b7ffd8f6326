//! Traces for the simulator ChampSim: one fixed record per retired instruction.
//!
//! A record has the address, the outcome of a branch, register numbers and data addresses; 0 is none. ChampSim has no
//! field for the kind of a branch: it follows from whether the record names the stack pointer (6), the flags (25) and the
//! instruction pointer (26). Other registers have numbers from 64 on, so that none is mistaken for these.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use trackway_core::{
    Account, Batch, Error, EventKind, Fact, Fate, Isa, MemKind, Outcome, Reg, RegClass, Result, Sink, Step,
};
use trackway_isa::{Control, Recent, flow, reg_name, registers};

/// Layout of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `input_instr`: 2 destinations, 4 sources, 64 bytes.
    Plain,
    /// `cloudsuite_instr`: 4 destinations, 4 sources and the address space, 96 bytes.
    Cloudsuite,
}

impl Layout {
    /// Registers and addresses that an instruction can write.
    pub const fn destinations(self) -> usize {
        match self {
            Layout::Plain => 2,
            Layout::Cloudsuite => 4,
        }
    }

    /// Registers and addresses that an instruction can read.
    pub const SOURCES: usize = 4;

    /// Bytes of a record.
    pub const fn size(self) -> usize {
        match self {
            Layout::Plain => 64,
            Layout::Cloudsuite => 96,
        }
    }

    /// Losses that the ledger does not count, since no fact of the model has their name.
    pub const NOTES: &'static [&'static str] = &[
        "sizes of memory accesses are not in the output: ChampSim takes every access as one to its cache line",
        "register numbers come from the encodings, not from the trace; control registers are left out",
        "the kind of a branch replaces its registers: 6, 25 and 26 mean stack pointer, flags and instruction pointer",
    ];
}

const STACK_POINTER: u8 = 6;
const FLAGS: u8 = 25;
const INSTRUCTION_POINTER: u8 = 26;
/// The first number of the other registers.
const FIRST: u8 = 64;

/// Registers of an instruction, and whether it is a branch.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    is_branch: bool,
    conditional: bool,
    destinations: [u8; 4],
    sources: [u8; 4],
    /// Registers that did not fit.
    lost: u8,
}

/// Writes the records.
pub struct ChampSim<W> {
    out: W,
    layout: Layout,
    isa: Isa,
    asid: u16,
    account: Account,
    shapes: Recent<(u32, Isa), Shape, 8192>,
    written: Arc<Written>,
}

/// Counts of what was written, besides the ledger.
#[derive(Debug, Default)]
pub struct Written {
    /// Records.
    pub records: AtomicU64,
    /// Register numbers that did not fit into their record.
    pub lost_registers: AtomicU64,
}

impl<W> std::fmt::Debug for ChampSim<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChampSim({:?}, {:?})", self.layout, self.written)
    }
}

impl<W: Write> ChampSim<W> {
    /// Writes to `out`; `isa` is the instruction set at the start.
    pub fn new(out: W, layout: Layout, isa: Isa) -> Self {
        let mut account =
            Account::new(&[Fact::Instructions, Fact::Outcomes, Fact::MemoryAccesses], &[Fact::Targets]);
        if layout == Layout::Cloudsuite {
            account.set(Fact::Asids, Fate::Kept);
        }
        let (shapes, asid, written) = (Recent::default(), 0, Arc::default());
        ChampSim { out, layout, isa, asid, account, shapes, written }
    }

    /// Counts that grow as it writes.
    pub fn written(&self) -> Arc<Written> {
        Arc::clone(&self.written)
    }

    fn step(&mut self, batch: &Batch, step: &Step) -> io::Result<()> {
        let isa = self.isa;
        let shape = match step.length {
            0 => Shape::default(),
            _ => *self.shapes.get((step.encoding, isa), || shape(isa, step.encoding, self.layout)),
        };
        self.written.lost_registers.fetch_add(shape.lost.into(), Relaxed);
        if shape.conditional && step.taken.is_none() {
            self.account.invent(Fact::Outcomes, 1);
        }
        let mut record = [0; 96];
        let most = self.layout.destinations();
        record[..8].copy_from_slice(&step.pc.unwrap_or(0).to_le_bytes());
        record[8] = shape.is_branch.into();
        record[9] = (shape.is_branch && step.taken.unwrap_or(!shape.conditional)).into();
        record[10..10 + most].copy_from_slice(&shape.destinations[..most]);
        record[10 + most..14 + most].copy_from_slice(&shape.sources);
        // After the bytes, aligned to 8.
        let (writes, reads) = ((14 + most).next_multiple_of(8), (14 + most).next_multiple_of(8) + 8 * most);
        let (mut written, mut read) = (0, 0);
        for access in batch.mem_of(step.accesses) {
            let (reads_it, writes_it) = match access.kind {
                MemKind::Read => (true, false),
                MemKind::Write => (false, true),
                MemKind::ReadWrite => (true, true),
                _ => (false, false),
            };
            let fits = (reads_it || writes_it)
                && !access.unplaced
                && access.address != 0
                && (!reads_it || read < Layout::SOURCES)
                && (!writes_it || written < most);
            if !fits {
                self.account.lose(Fact::MemoryAccesses, 1);
                continue;
            }
            let address = access.address.to_le_bytes();
            if reads_it {
                record[reads + 8 * read..][..8].copy_from_slice(&address);
                read += 1;
            }
            if writes_it {
                record[writes + 8 * written..][..8].copy_from_slice(&address);
                written += 1;
            }
        }
        if self.layout == Layout::Cloudsuite {
            record[88..90].copy_from_slice(&self.asid.to_le_bytes());
        }
        self.written.records.fetch_add(1, Relaxed);
        self.out.write_all(&record[..self.layout.size()])
    }
}

impl<W: Write + Send> Sink for ChampSim<W> {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) if step.outcome == Outcome::Retired && step.pc.is_some() => {
                    self.step(batch, step).map_err(|error| Error::io(&error))?;
                }
                EventKind::Context(n) => {
                    let context = &batch.contexts[*n as usize];
                    self.isa = context.isa.unwrap_or(self.isa);
                    if let Some(asid) = context.asid {
                        self.asid = asid as u16;
                        if self.layout == Layout::Cloudsuite && asid > u64::from(u16::MAX) {
                            self.account.lose(Fact::Asids, 1);
                        }
                    }
                }
                kind => {
                    self.account.lose_event(batch, kind);
                    self.account.lose(Fact::Instructions, kind.instructions().saturating_sub(1));
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Account> {
        self.out.flush().map_err(|error| Error::io(&error))?;
        Ok(self.account.clone())
    }
}

/// The number of a register; `None` for those that ChampSim has no use for.
fn number(isa: Isa, reg: Reg) -> Option<u8> {
    let number = u8::try_from(reg.number).ok().filter(|number| *number < 32);
    match reg.class {
        RegClass::Int => number.map(|number| FIRST + number),
        RegClass::Float => number.map(|number| FIRST + 32 + number),
        RegClass::Vector => number.map(|number| FIRST + 64 + number),
        RegClass::Csr if reg_name(isa, reg) == "nzcv" => Some(FLAGS),
        _ => None,
    }
}

fn shape(isa: Isa, encoding: u32, layout: Layout) -> Shape {
    let flow = flow(isa, 0, encoding);
    let named = registers(isa, encoding);
    let source = |fallback: u8| {
        let mut sources = named.iter().flat_map(|named| named.sources().filter_map(|reg| number(isa, reg)));
        sources.find(|number| *number >= FIRST).unwrap_or(fallback)
    };
    let (ip, sp) = (INSTRUCTION_POINTER, STACK_POINTER);
    // An indirect jump reads some other register; `x0`, which nothing writes, where the encoding names none.
    let branch = match flow.control {
        Control::Branch => Some(([ip, 0, 0, 0], [ip, FLAGS, 0, 0])),
        Control::Jump | Control::OtherJump => Some(([ip, 0, 0, 0], [ip, 0, 0, 0])),
        Control::Call => Some(([ip, sp, 0, 0], [ip, sp, 0, 0])),
        Control::IndirectJump | Control::OtherIndirectJump | Control::TrapReturn => {
            Some(([ip, 0, 0, 0], [source(FIRST), 0, 0, 0]))
        }
        Control::IndirectCall | Control::CoroutineSwap => Some(([ip, sp, 0, 0], [ip, sp, source(FIRST), 0])),
        Control::Return => Some(([ip, sp, 0, 0], [sp, 0, 0, 0])),
        _ => None,
    };
    if let Some((destinations, sources)) = branch {
        return Shape { is_branch: true, conditional: flow.conditional, destinations, sources, lost: 0 };
    }
    let mut shape = Shape::default();
    let Some(named) = named else { return shape };
    let (mut read, mut written) = (0, 0);
    for (list, count, most, regs) in [
        (&mut shape.sources, &mut read, Layout::SOURCES, named.sources().collect::<Vec<_>>()),
        (&mut shape.destinations, &mut written, layout.destinations(), named.destinations().collect()),
    ] {
        for number in regs.into_iter().filter_map(|reg| number(isa, reg)) {
            if *count < most {
                list[*count] = number;
                *count += 1;
            } else {
                shape.lost += 1;
            }
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use trackway_core::{MemAccess, Value};

    /// ChampSim's own rule: the kind of a branch by the registers of its record.
    fn kind(shape: &Shape) -> &'static str {
        let reads = |number: u8| shape.sources.contains(&number);
        let writes = |number: u8| shape.destinations.contains(&number);
        let other = shape.sources.iter().any(|number| ![0, 6, 25, 26].contains(number));
        match (reads(6), reads(26), writes(6), writes(26), reads(25), other) {
            (false, _, _, true, false, false) => "direct jump",
            (false, _, _, true, false, true) => "indirect",
            (false, true, false, true, true, false) => "conditional",
            (true, true, true, true, false, false) => "direct call",
            (true, true, true, true, false, true) => "indirect call",
            (true, false, true, true, _, _) => "return",
            (_, _, _, true, _, _) => "other",
            _ => "none",
        }
    }

    #[test]
    fn kinds_of_branches_are_those_that_champsim_sees() {
        let cases = [
            (Isa::Rv64, 0x00b5_0463, "conditional"),   // beq a0,a1,+8
            (Isa::Rv64, 0x0080_006f, "direct jump"),   // j +8
            (Isa::Rv64, 0x0080_00ef, "direct call"),   // jal ra,+8
            (Isa::Rv64, 0x0007_8067, "indirect"),      // jr a5
            (Isa::Rv64, 0x0007_80e7, "indirect call"), // jalr a5
            (Isa::Rv64, 0x8082, "return"),             // ret
            (Isa::Rv64, 0x3020_0073, "indirect"),      // mret
            (Isa::Rv64, 0x00c5_8533, "none"),          // add a0,a1,a2
            (Isa::A64, 0x5400_0040, "conditional"),    // b.eq +8
            (Isa::A64, 0xb400_0040, "conditional"),    // cbz x0,+8
            (Isa::A64, 0x9400_0002, "direct call"),    // bl +8
            (Isa::A64, 0xd65f_03c0, "return"),         // ret
        ];
        for (isa, encoding, expected) in cases {
            for layout in [Layout::Plain, Layout::Cloudsuite] {
                let shape = shape(isa, encoding, layout);
                assert_eq!(kind(&shape), expected, "{isa} {encoding:#x}");
                assert_eq!(shape.is_branch, expected != "none");
            }
        }
    }

    #[test]
    fn a_record_has_registers_and_addresses() {
        let mut batch = Batch::default();
        let begun = batch.begin_accesses();
        batch.mem.push(MemAccess::read(0x1000, 8, Value::Unknown));
        let accesses = batch.end_accesses(begun).unwrap();
        let load = Step { accesses, ..Step::new(0x8000_0000, 0x0005_b503, 4) }; // ld a0,0(a1)
        batch.push(0, EventKind::Step(load));
        for (layout, size, reads) in [(Layout::Plain, 64, 32), (Layout::Cloudsuite, 96, 56)] {
            let mut out = Vec::new();
            let mut sink = ChampSim::new(&mut out, layout, Isa::Rv64);
            sink.put(&batch).unwrap();
            sink.finish().unwrap();
            assert_eq!(out.len(), size);
            assert_eq!(&out[..12], &[0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 64 + 10, 0]);
            assert_eq!(out[10 + layout.destinations()], 64 + 11);
            assert_eq!(out[reads..][..8], 0x1000_u64.to_le_bytes());
        }
    }
}

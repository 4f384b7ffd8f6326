//! Events to records.
//!
//! A step is held back until the next one is known: only then is it clear whether its group needs a target,
//! or the next one a FORCE_PC. The header is held back for a while too, so that its feature bits say what is there.

mod accesses;
mod events;
mod header;

use trackway_core::*;

use crate::config::WriteConfig;
use crate::fields::Text32;
use crate::layout::Layout;
use crate::record::Record;
use crate::values::{self, features};
use crate::write::Writer;

/// Groups that are held back until the header is written.
const EARLY: usize = 1 << 16;

/// Takes events and writes an STF trace.
#[derive(Debug)]
pub struct Lower {
    writer: Option<Writer>,
    config: WriteConfig,
    meta: Meta,
    layout: Layout,
    version: (u32, u32),
    isa: Isa,
    losses: Losses,
    /// Features seen so far.
    features: u64,
    /// Groups before the header is written.
    early: Option<Early>,
    /// Address of the first instruction.
    first_pc: Option<u64>,
    /// The step that waits for what follows it.
    waiting: Option<Group>,
    /// What has come since, for the next group.
    coming: Group,
    /// A written group: empty, but its buffers have their size.
    spare: Group,
    /// Address that the reader will compute for the next group.
    expected: Option<u64>,
    /// Process ids in force.
    ids: [u32; 3],
    scratch: Vec<u8>,
}

/// Groups that wait for the header: their bytes, and length and next address of each.
#[derive(Debug, Default)]
struct Early {
    bytes: Vec<u8>,
    groups: Vec<(usize, u64)>,
}

/// The records of one instruction, by the order in which they have to stand.
#[derive(Debug, Default)]
struct Group {
    pc: Option<u64>,
    /// FORCE_PC, ids, encoding mode, comments.
    front: Vec<u8>,
    /// Where the branch goes.
    target: Option<u64>,
    /// INST_REG, INST_READY_REG, PAGE_TABLE_WALK, memory, bus.
    body: [Vec<u8>; 4],
    events: Vec<u8>,
    /// Where the last event goes.
    event_target: Option<u64>,
    micro_ops: Vec<u8>,
    encoding: u32,
    length: u8,
    attempted: bool,
    taken: Option<bool>,
}

const REGS: usize = 0;
const WALKS: usize = 1;
const MEMORY: usize = 2;
const BUS: usize = 3;

impl Lower {
    /// Starts a trace; `meta` is that of the source.
    pub fn new(output: Output, meta: Meta, config: WriteConfig) -> Result<Self> {
        let oldest = match (&meta.isa_string, meta.vector_bits) {
            (Some(_), _) => (1, 6),
            (None, Some(_)) => (1, 4),
            _ => (1, 3),
        };
        let version = config.version.unwrap_or(oldest);
        if version.0 != 1 || !(2..=6).contains(&version.1) {
            let found = u64::from(version.1);
            return Err(ErrorKind::Unsupported { found }.at(0, "VERSION", "minor", "VersionRecord (2)"));
        }
        let vector_words = match meta.vector_bits {
            Some(bits) if version >= (1, 4) => bits.div_ceil(64) as u16,
            _ => 0,
        };
        // As stf_lib does it: the long event form goes with RV64 once the version knows it.
        let event64 = version >= (1, 5) && meta.isa == Isa::Rv64;
        let mut losses = Losses::default();
        if meta.isa_string.is_some() && version < (1, 6) {
            losses.add(Fate::Dropped, "ISA string", 1);
        }
        Ok(Lower {
            writer: Some(Writer::new(output, config)?),
            config,
            isa: meta.isa,
            layout: Layout { event64, vector_words, protocol: 0 },
            meta,
            version,
            losses,
            features: 0,
            early: Some(Early::default()),
            first_pc: None,
            waiting: None,
            coming: Group::default(),
            spare: Group::default(),
            expected: None,
            ids: [0; 3],
            scratch: Vec::new(),
        })
    }

    fn step(&mut self, step: &Step, batch: &Batch) -> Result<()> {
        self.losses.add(Fate::Kept, "instructions", 1);
        if step.length == 0 {
            self.losses.add(Fate::Invented, "encodings (NOP)", 1);
        }
        let (encoding, length) = match step.length {
            2 => (step.encoding, 2),
            0 => (nop(self.isa), 4),
            _ => (step.encoding, 4),
        };
        let extra = batch.extra_of(step).copied().unwrap_or_default();
        let spare = std::mem::take(&mut self.spare);
        let mut group = std::mem::replace(&mut self.coming, spare);
        for access in batch.regs_of(step.accesses) {
            self.register(access, batch, &mut group);
        }
        for access in batch.mem_of(step.accesses) {
            self.memory(access, batch, &mut group);
        }
        for micro_op in batch.bytes_of(extra.micro_ops).as_chunks::<5>().0 {
            let [size, op @ ..] = *micro_op;
            self.features |= features::MICROOP;
            Record::InstMicroop { size, op: u32::from_le_bytes(op) }
                .write(&mut group.micro_ops, &self.layout);
        }
        if extra.physical_pc.is_some() {
            self.losses.add(Fate::Dropped, "physical instruction addresses", 1);
        }
        if extra.sme_index.is_some() {
            self.losses.add(Fate::Dropped, "SME indices", 1);
        }
        self.begin(Group {
            pc: step.pc,
            target: extra.target,
            encoding,
            length,
            attempted: step.outcome == Outcome::Attempted,
            taken: step.taken,
            ..group
        })
    }

    /// A new group: completes the one before it, and makes it the one that waits.
    fn begin(&mut self, mut group: Group) -> Result<()> {
        self.complete(group.pc)?;
        if self.first_pc.is_none() {
            // The header's FORCE_PC gives the first address.
            self.first_pc = group.pc;
        } else if let Some(pc) = group.pc
            && self.expected != Some(pc)
        {
            let mut front = Vec::with_capacity(9);
            Record::ForcePc { pc }.write(&mut front, &self.layout);
            front.append(&mut group.front);
            group.front = front;
        }
        self.waiting = Some(group);
        Ok(())
    }

    /// Writes the waiting group; the instruction after it is at `next`.
    fn complete(&mut self, next: Option<u64>) -> Result<()> {
        let Some(mut group) = self.waiting.take() else { return Ok(()) };
        let after = group.pc.map(|pc| pc.wrapping_add(group.length.into()));
        if group.target.is_none() && group.events.is_empty() && !group.attempted {
            let control = trackway_isa::flow(self.isa, group.pc.unwrap_or(0), group.encoding).control;
            let jumps = control.is_transfer() && control != trackway_isa::Control::TrapReturn;
            // A jump is taken even to the instruction behind it; a branch only if the flow says so.
            let taken = match group.taken {
                Some(taken) => taken,
                None => jumps && (control != trackway_isa::Control::Branch || next != after),
            };
            if taken && jumps && next.is_some() {
                group.target = next;
                self.losses.add(Fate::Derived, "branch targets", 1);
            }
        }
        self.expected = group.event_target.or(group.target).or(after);
        let mut out = std::mem::take(&mut self.scratch);
        out.clear();
        out.append(&mut group.front);
        if let Some(pc) = group.target {
            Record::InstPcTarget { pc }.write(&mut out, &self.layout);
        }
        for part in &mut group.body {
            out.append(part);
        }
        out.append(&mut group.events);
        out.append(&mut group.micro_ops);
        let opcode = match group.length {
            2 => Record::InstOpcode16 { opcode: group.encoding as u16 },
            _ => Record::InstOpcode32 { opcode: group.encoding },
        };
        opcode.write(&mut out, &self.layout);
        let written = self.write_group(&out);
        self.scratch = out;
        // What its buffers held was moved out above.
        let Group { front, body, events, micro_ops, .. } = group;
        self.spare = Group { front, body, events, micro_ops, ..Group::default() };
        written
    }

    fn write_group(&mut self, bytes: &[u8]) -> Result<()> {
        let next = self.expected.unwrap_or(0);
        if let Some(early) = &mut self.early {
            early.bytes.extend_from_slice(bytes);
            early.groups.push((bytes.len(), next));
            return if early.groups.len() >= EARLY { self.write_early() } else { Ok(()) };
        }
        self.writer.as_mut().map_or(Ok(()), |writer| writer.group(bytes, next))
    }

    /// Writes the header and the groups that waited for it.
    fn write_early(&mut self) -> Result<()> {
        let Some(early) = self.early.take() else { return Ok(()) };
        let header = self.header();
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.header(&header);
        let mut at = 0;
        for (len, next) in early.groups {
            writer.group(&early.bytes[at..at + len], next)?;
            at += len;
        }
        Ok(())
    }

    fn comment(&mut self, text: &[u8]) {
        Record::Comment { text: Text32(text) }.write(&mut self.coming.front, &self.layout);
    }
}

impl Sink for Lower {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => self.step(step, batch)?,
                EventKind::Run(run) => {
                    let what = if run.withdrawn { "withdrawn runs" } else { "instructions without code" };
                    self.losses.add(Fate::Dropped, what, run.count.into());
                }
                EventKind::Trap(n) => self.trap(&batch.traps[*n as usize], batch)?,
                EventKind::Context(n) => self.context(&batch.contexts[*n as usize]),
                EventKind::State(n) => self.state(&batch.states[*n as usize], batch),
                EventKind::Time(_) => self.losses.add(Fate::Dropped, "times", 1),
                EventKind::Mark(mark) if mark.kind == MarkKind::Note => {
                    self.losses.add(Fate::Kept, "notes", 1);
                    self.comment(batch.bytes_of(mark.text));
                }
                EventKind::Mark(_) => self.losses.add(Fate::Dropped, "marks", 1),
                EventKind::Gap(_) => {
                    // STF has no word for a gap; a comment keeps it from being silent.
                    let mut line = String::from("gap: ");
                    batch.event_fields(event, &mut |name, value| line += &format!("{name}={value} "));
                    self.comment(line.trim_end().as_bytes());
                    self.losses.add(Fate::Derived, "gaps (as comments)", 1);
                }
                EventKind::Foreign(item) if item.format == FormatId::Stf && item.code == 255 => {}
                EventKind::Foreign(_) => self.losses.add(Fate::Dropped, "items of other formats", 1),
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Losses> {
        self.complete(None)?;
        self.write_early()?;
        let mut rest = std::mem::take(&mut self.coming.front);
        for part in &mut self.coming.body {
            rest.append(part);
        }
        rest.append(&mut self.coming.events);
        if self.config.reserve_end {
            Record::ReserveEnd {}.write(&mut rest, &self.layout);
        }
        if let Some(writer) = self.writer.take() {
            writer.finish(&rest)?;
        }
        Ok(std::mem::take(&mut self.losses))
    }
}

/// An instruction that does nothing.
fn nop(isa: Isa) -> u32 {
    match isa {
        Isa::A64 => 0xd503_201f,
        Isa::A32 => 0xe320_f000,
        _ => 0x13,
    }
}

// The generator's name is ours.
const _: () = assert!(values::TRACKWAY == b'T');

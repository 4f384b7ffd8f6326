//! Events to records.
//!
//! A step is held back until the next one is known: only then is it clear whether its group needs a target,
//! or the next one a FORCE_PC. The header is held back for a while too, so that its feature bits say what is there.

use trackway_core::*;

use crate::config::{ProcessId, WriteConfig};
use crate::fields::{Data, Entries, EventId, Register, Text16, Text32};
use crate::layout::Layout;
use crate::record::Record;
use crate::values::{self, MODE_CHANGE, access, features, iem, isa};
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
        let mut group = std::mem::take(&mut self.coming);
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

    /// The header record group, in stf_lib's order.
    fn header(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let layout = self.layout;
        let mut put = |record: Record<'_>| record.write(&mut out, &layout);
        let (isa, mode) = match self.meta.isa {
            Isa::Rv32 => (isa::RISCV, iem::RV32),
            Isa::Rv64 => (isa::RISCV, iem::RV64),
            Isa::A64 => (isa::ARM, self.config.a64_iem),
            Isa::A32 | Isa::T32 => (isa::ARM, 0),
            Isa::Other => (0, 0),
        };
        put(Record::Identifier { magic: *b"STF" });
        put(Record::Version { major: self.version.0, minor: self.version.1 });
        for comment in &self.meta.comments {
            put(Record::Comment { text: Text32(comment.as_bytes()) });
        }
        for Producer { name, version, comment } in &self.meta.producers {
            let text = format!("producer: {name} {version} {comment}");
            put(Record::Comment { text: Text32(text.trim_end().as_bytes()) });
        }
        let (format, version) = (self.meta.format.word(), env!("CARGO_PKG_VERSION"));
        let mut made = format!("Trackway {version}, from {format}");
        if self.meta.isa == Isa::A64 {
            made += &format!("; INST_IEM {mode:#x} stands for A64");
        }
        put(Record::Comment { text: Text32(made.as_bytes()) });
        put(Record::Isa { isa });
        put(Record::InstIem { mode });
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut parts = version.split('.');
        put(Record::TraceInfo {
            generator: self.config.generator,
            major: number(parts.next()),
            minor: number(parts.next()),
            patch: number(parts.next()),
            text: Text16(b"Trackway"),
        });
        let mut features = self.features;
        if self.meta.isa == Isa::Rv64 {
            features |= features::RV64;
        }
        if self.layout.event64 {
            features |= features::EVENT64;
        }
        if self.layout.vector_words > 0 {
            features |= features::VECTOR;
        }
        put(Record::TraceInfoFeature { features });
        let pc = match self.first_pc {
            Some(pc) => pc,
            None => {
                self.losses.add(Fate::Invented, "start address", 1);
                self.meta.start_pc.unwrap_or(0)
            }
        };
        put(Record::ForcePc { pc });
        if let Some(bits) = self.meta.vector_bits.filter(|_| self.version >= (1, 4)) {
            put(Record::VlenConfig { bits });
        }
        if let Some(text) = self.meta.isa_string.as_ref().filter(|_| self.version >= (1, 6)) {
            put(Record::IsaExtended { text: Text32(text.as_bytes()) });
        }
        put(Record::EndHeader {});
        out
    }

    fn register(&mut self, access: &RegAccess, batch: &Batch, group: &mut Group) {
        let role = match access.role {
            RegRole::State => 1,
            RegRole::Source => 2,
            RegRole::Destination => 3,
            RegRole::Ready => {
                let number = access.reg.number;
                Record::InstReadyReg { number }.write(&mut group.body[REGS], &self.layout);
                return self.losses.add(Fate::Kept, "registers", 1);
            }
        };
        let (class, number) = match access.reg.class {
            RegClass::Int => (1, access.reg.number),
            RegClass::Pc => (1, 32),
            RegClass::Float => (2, access.reg.number),
            RegClass::Vector => (3, access.reg.number),
            RegClass::Csr => (4, access.reg.number),
            RegClass::Other => return self.losses.add(Fate::Dropped, "registers of other files", 1),
        };
        if access.update != RegUpdate::Set || access.known.is_some() {
            return self.losses.add(Fate::Dropped, "partly known registers", 1);
        }
        let words = if class == Register::VECTOR { usize::from(self.layout.vector_words).max(1) } else { 1 };
        let mut content = vec![0; 8 * words];
        match access.value {
            Value::Unknown => return self.losses.add(Fate::Dropped, "registers without a value", 1),
            Value::Word(word) => content[..8].copy_from_slice(&word.to_le_bytes()),
            Value::Bytes(span) => {
                let bytes = batch.bytes_of(span);
                if bytes.len() > content.len() {
                    return self.losses.add(Fate::Dropped, "wide registers", 1);
                }
                content[..bytes.len()].copy_from_slice(bytes);
            }
        }
        self.losses.add(Fate::Kept, "registers", 1);
        self.features |= if role == 1 { features::REGISTER_STATE } else { features::OPERAND_VALUE };
        let register = Register { number, meta: role << 4 | class, content: &content };
        Record::InstReg { register }.write(&mut group.body[REGS], &self.layout);
    }

    fn memory(&mut self, access: &MemAccess, batch: &Batch, group: &mut Group) {
        let extra = batch.mem_extra_of(access).copied().unwrap_or_default();
        let (read, write) = match access.kind {
            MemKind::Read => (true, false),
            MemKind::Write => (false, true),
            MemKind::ReadWrite => (true, true),
            kind => {
                let what = match kind {
                    MemKind::Prefetch => "prefetches",
                    MemKind::Maintenance => "maintenance operations",
                    MemKind::Suppressed => "suppressed accesses",
                    MemKind::Faulting => "faulting accesses",
                    _ => "accesses of unknown kind",
                };
                return self.losses.add(Fate::Dropped, what, 1);
            }
        };
        let Ok(size) = u16::try_from(access.size) else {
            return self.losses.add(Fate::Dropped, "accesses larger than 65535 bytes", 1);
        };
        self.losses.add(Fate::Kept, "memory accesses", 1);
        for (dropped, what) in [
            (access.tagged, "memory tags"),
            (access.range, "range marks"),
            (extra.physical.is_some(), "physical data addresses"),
            (extra.operation.is_some(), "atomic operations"),
        ] {
            self.losses.add(Fate::Dropped, what, u64::from(dropped));
        }
        let stored = if read { extra.stored } else { access.data };
        for (wanted, kind, data) in [(read, access::READ, access.data), (write, access::WRITE, stored)] {
            if !wanted {
                continue;
            }
            let out = &mut group.body[MEMORY];
            let attributes = access.attributes as u16;
            let record = Record::InstMemAccess { address: access.address, size, attributes, access: kind };
            record.write(out, &self.layout);
            for data in content_words(data, size, batch, &mut self.losses) {
                Record::InstMemContent { data }.write(out, &self.layout);
            }
        }
    }

    fn trap(&mut self, trap: &Trap, batch: &Batch) -> Result<()> {
        let interrupt = match trap.kind {
            TrapKind::Exception => false,
            TrapKind::Interrupt => true,
            // The instruction and the jump tell it.
            TrapKind::Return => {
                self.losses.add(Fate::Derived, "returns from traps", 1);
                return Ok(());
            }
            TrapKind::Reset | TrapKind::Unknown => {
                self.losses.add(Fate::Dropped, "resets and unknown traps", 1);
                return Ok(());
            }
        };
        // The trap belongs to the attempt that waits; without one a no-op stands for it.
        let is_its_own = |group: &Group| group.attempted && (trap.from.is_none() || trap.from == group.pc);
        if !self.waiting.as_ref().is_some_and(is_its_own) {
            self.losses.add(Fate::Invented, "placeholder instructions at traps", 1);
            let group = std::mem::take(&mut self.coming);
            let (encoding, length) = (nop(self.isa), 4);
            let pc = trap.from.or(self.expected);
            self.begin(Group { pc, encoding, length, attempted: true, ..group })?;
        }
        let Some(code) = trap.cause.or(trap.class.map(u64::from)) else {
            self.losses.add(Fate::Dropped, "traps without a cause", 1);
            return Ok(());
        };
        let width = if self.layout.event64 { 62 } else { 30 };
        if mask(code, width) != code {
            let error = ErrorKind::Unsupported { found: code };
            return Err(error.at(0, "EVENT", "id", "EventRecord (100); version 1.5 holds it"));
        }
        self.losses.add(Fate::Kept, "traps", 1);
        let words = match trap.words.len {
            0 => event_words(trap, interrupt, self.waiting.as_ref()),
            _ => batch.words_of(trap.words).flat_map(u64::to_le_bytes).collect(),
        };
        self.features |= features::EVENT;
        let Some(group) = &mut self.waiting else { return Ok(()) };
        let id = EventId { interrupt, special: false, code };
        Record::Event { id, data: Data(&words) }.write(&mut group.events, &self.layout);
        if let Some(pc) = trap.to {
            Record::EventPcTarget { pc }.write(&mut group.events, &self.layout);
            group.event_target = Some(pc);
        }
        Ok(())
    }

    fn context(&mut self, context: &Context) {
        let layout = self.layout;
        if let Some(privilege) = context.privilege {
            let mode = match privilege {
                Privilege::U | Privilege::El0 => Some(0u64),
                Privilege::S | Privilege::El1 => Some(1),
                Privilege::H | Privilege::El2 => Some(2),
                Privilege::M | Privilege::El3 => Some(3),
                Privilege::D | Privilege::VU | Privilege::VS => None,
            };
            match mode {
                Some(mode) => {
                    let id = EventId { interrupt: false, special: true, code: MODE_CHANGE };
                    let event = Record::Event { id, data: Data(&mode.to_le_bytes()) };
                    // Before any trap of the group, so that it holds for the instruction.
                    event.write(&mut self.coming.events, &layout);
                    self.features |= features::EVENT;
                    self.losses.add(Fate::Kept, "privilege changes", 1);
                }
                None => self.losses.add(Fate::Dropped, "debug and virtual modes", 1),
            }
        }
        self.process_ids(context);
        if let Some(isa) = context.isa.filter(|isa| *isa != self.isa) {
            let mode = match isa {
                Isa::Rv32 => Some(iem::RV32),
                Isa::Rv64 => Some(iem::RV64),
                Isa::A64 => Some(self.config.a64_iem),
                _ => None,
            };
            match mode {
                Some(mode) => Record::InstIem { mode }.write(&mut self.coming.front, &layout),
                None => self.losses.add(Fate::Dropped, "changes of instruction set", 1),
            }
            self.isa = isa;
        }
        for (there, what) in [
            (context.security.is_some(), "security states"),
            (context.own_stack.is_some(), "stack pointer selections"),
            (context.context_id.is_some(), "context ids"),
            (context.vmid.is_some(), "virtual machine ids"),
            (context.change.is_some(), "kinds of context change"),
            (context.vector_bits.is_some(), "vector lengths"),
            (context.streaming.is_some(), "streaming modes"),
            (context.dit.is_some(), "DIT states"),
            (context.ssbs.is_some(), "SSBS states"),
            (context.mte.is_some(), "MTE modes"),
            (context.unsupported.is_some(), "unsupported modes"),
        ] {
            self.losses.add(Fate::Dropped, what, u64::from(there));
        }
    }

    fn process_ids(&mut self, context: &Context) {
        let (words, other) = match self.config.process_id {
            ProcessId::Library => ([context.hw_thread, context.pid, context.tid], context.asid),
            ProcessId::Spec => ([context.pid, context.tid, context.asid], context.hw_thread),
        };
        let what = match self.config.process_id {
            ProcessId::Library => "address space ids",
            ProcessId::Spec => "hardware threads",
        };
        self.losses.add(Fate::Dropped, what, u64::from(other.is_some()));
        if words.iter().all(Option::is_none) {
            return;
        }
        for (id, word) in self.ids.iter_mut().zip(words) {
            match word.map(u32::try_from) {
                Some(Ok(word)) => *id = word,
                Some(Err(_)) => self.losses.add(Fate::Dropped, "ids over 32 bits", 1),
                None => {}
            }
        }
        let [first, second, third] = self.ids;
        self.features |= features::PROCESS_ID;
        self.losses.add(Fate::Kept, "process ids", 1);
        Record::ProcessIdExt { first, second, third }.write(&mut self.coming.front, &self.layout);
    }

    fn state(&mut self, state: &State, batch: &Batch) {
        match *state {
            State::Contents(accesses) => {
                let mut group = std::mem::take(&mut self.coming);
                for access in batch.regs_of(accesses) {
                    self.register(access, batch, &mut group);
                }
                self.coming = group;
                let memory = accesses.mem_len.into();
                self.losses.add(Fate::Dropped, "memory contents outside instructions", memory);
            }
            State::PageWalk(walk) => {
                self.features |= features::PTE;
                self.losses.add(Fate::Kept, "page table walks", 1);
                let record = Record::PageTableWalk {
                    address: walk.virtual_address,
                    first_use: walk.first_use,
                    size: u32::try_from(walk.page_size).unwrap_or(u32::MAX),
                    entries: Entries(batch.bytes_of(walk.entries)),
                };
                record.write(&mut self.coming.body[WALKS], &self.layout);
            }
            State::Bus(bus) => {
                let (access, data) = match bus.kind {
                    MemKind::Read => (access::READ, bus.data),
                    MemKind::Write => (access::WRITE, bus.data),
                    _ => return self.losses.add(Fate::Dropped, "bus operations of other kinds", 1),
                };
                let Ok(size) = u16::try_from(bus.size) else {
                    return self.losses.add(Fate::Dropped, "accesses larger than 65535 bytes", 1);
                };
                self.losses.add(Fate::Kept, "bus accesses", 1);
                let dropped = bus.returned != Value::Unknown || bus.result.is_some();
                self.losses.add(Fate::Dropped, "bus results", u64::from(dropped));
                let (master, index, attributes) = (bus.initiator, bus.index, bus.attributes);
                let out = &mut self.coming.body[BUS];
                let record =
                    Record::BusMasterAccess { address: bus.address, size, master, index, attributes, access };
                record.write(out, &self.layout);
                for data in content_words(data, size, batch, &mut self.losses) {
                    Record::BusMasterContent { data }.write(out, &self.layout);
                }
            }
        }
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

/// The metadata words that the table "STF Exception Event and Event Meta-Data" asks for.
fn event_words(trap: &Trap, interrupt: bool, group: Option<&Group>) -> Vec<u8> {
    let pc = trap.from.or(group.and_then(|group| group.pc)).unwrap_or(0);
    let encoding = group.map_or(0, |group| group.encoding.into());
    let value = trap.value.unwrap_or(0);
    let words: &[u64] = match (interrupt, trap.cause) {
        (true, _) => &[value],
        (_, Some(0 | 1 | 3)) => &[pc],
        (_, Some(2)) => &[pc, trap.value.unwrap_or(encoding), 0],
        (_, Some(8..=11)) => &[trap.syscall_index.unwrap_or(0)],
        (_, Some(12)) => &[pc, encoding],
        _ => &[pc, encoding, value],
    };
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The content records of an access: one for up to 8 bytes; zeros where the data is not known.
fn content_words(data: Value, size: u16, batch: &Batch, losses: &mut Losses) -> Vec<u64> {
    let words = usize::from(size).div_ceil(8).max(1);
    let mut content = vec![0u64; words];
    match data {
        Value::Unknown => losses.add(Fate::Invented, "memory data (zero)", 1),
        Value::Word(word) => content[0] = word,
        Value::Bytes(span) => {
            for (word, bytes) in content.iter_mut().zip(batch.bytes_of(span).chunks(8)) {
                *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            }
        }
    }
    content
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

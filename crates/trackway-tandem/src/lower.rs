//! Events to groups.
//!
//! A group's pc is that of the next instruction, so a step is held back until what follows it is known: its
//! trap, the privilege it led to, and the next address.

use std::io::Write;

use trackway_core::*;
use trackway_isa::riscv::{self, Class, Inst};
use trackway_isa::{Control, flow};

use crate::config::{Config, Profile, Style};
use crate::pack::Packer;
use crate::read::{Frame, Group};
use crate::record::{MemOp, Record, register};

/// How to write a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteConfig {
    /// Widths, profile and reset pc.
    pub config: Config,
    /// Full values, or increments where possible.
    pub style: Style,
}

/// Groups that may wait behind another for its next pc.
const BEHIND: usize = 1 << 10;

/// Takes events and writes a tandem trace.
pub struct Lower<W: Write> {
    packer: Packer<W>,
    config: Config,
    xlen: u8,
    losses: Losses,
    /// The group that waits for what follows it.
    waiting: Option<Waiting>,
    /// Groups that come behind it.
    behind: Vec<Group>,
    /// Address that a reader will take for the next instruction.
    expected: Option<u64>,
    /// Privilege that a reader knows.
    privilege: Option<u8>,
}

impl<W: Write> std::fmt::Debug for Lower<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lower").field("packer", &self.packer).field("expected", &self.expected).finish()
    }
}

/// A group whose end is not known yet, its items by the order in which they will stand.
#[derive(Debug, Default)]
struct Waiting {
    /// Offset of the event in the source: state beside a trap belongs to it.
    offset: u64,
    pc: Option<u64>,
    instruction: Option<(u32, u8)>,
    attempted: bool,
    /// Where a taken branch went.
    target: Option<u64>,
    taken: Option<bool>,
    trap: Option<Trap>,
    privilege: Option<u8>,
    pc_physical: Option<u64>,
    /// x and f registers, then memory, then CSRs: the order of the Bluespec encoders.
    registers: Vec<Record>,
    memory: Vec<Record>,
    csrs: Vec<Record>,
}

impl<W: Write> Lower<W> {
    /// Starts a trace; `meta` is that of the source.
    pub fn new(out: W, meta: &Meta, config: WriteConfig) -> Result<Self> {
        let isa = config.config.isa();
        if !matches!(meta.isa, Isa::Other) && meta.isa != isa {
            let found = if meta.isa == Isa::Rv32 { 32 } else { 64 };
            return Err(ErrorKind::Unsupported { found }.at(0, "trace", "instruction set", "Tandem 1"));
        }
        let mut losses = Losses::default();
        losses.add(Fate::Dropped, "comments", meta.comments.len() as u64);
        losses.add(Fate::Dropped, "producers", meta.producers.len() as u64);
        Ok(Lower {
            packer: Packer::new(out, &config.config, config.style)?,
            xlen: config.config.widths()?.xlen,
            config: config.config,
            losses,
            waiting: None,
            behind: Vec::new(),
            expected: config.config.reset_pc,
            privilege: None,
        })
    }

    fn step(&mut self, event: &Event, step: &Step, batch: &Batch) -> Result<()> {
        self.complete(step.pc)?;
        self.losses.add(Fate::Kept, "instructions", 1);
        let extra = batch.extra_of(step).copied().unwrap_or_default();
        for (lost, what) in
            [(extra.sme_index.is_some(), "SME indices"), (extra.micro_ops.len > 0, "micro-ops")]
        {
            self.losses.add(Fate::Dropped, what, u64::from(lost));
        }
        self.state_of(step, batch)?;
        self.lead_to(step.pc)?;
        let instruction = (step.length > 0 && !extra.placeholder).then_some((step.encoding, step.length));
        let mut waiting = Waiting {
            offset: event.offset,
            pc: step.pc,
            instruction,
            attempted: step.outcome == Outcome::Attempted,
            target: extra.target,
            taken: step.taken,
            pc_physical: extra.physical_pc,
            ..Waiting::default()
        };
        if step.length == 0 {
            self.losses.add(Fate::Dropped, "instructions without an encoding", 1);
        } else if step.length != 2 && step.length != 4 {
            self.losses.add(Fate::Dropped, "encodings longer than 4 bytes", 1);
            waiting.instruction = None;
        }
        for access in batch.regs_of(step.accesses) {
            if access.role == RegRole::Destination
                && !(access.reg == Reg { class: RegClass::Int, number: 0 } && access.value == Value::Word(0))
                && let Some(record) = self.register(access)
            {
                let csr = matches!(access.reg.class, RegClass::Csr | RegClass::Other);
                (if csr { &mut waiting.csrs } else { &mut waiting.registers }).push(record);
            }
        }
        self.memory(step, batch, &mut waiting);
        self.waiting = Some(waiting);
        Ok(())
    }

    /// Registers that a step names without writing them: told before it where they are news.
    fn state_of(&mut self, step: &Step, batch: &Batch) -> Result<()> {
        let mut records = Vec::new();
        for access in batch.regs_of(step.accesses) {
            match access.role {
                RegRole::Destination => continue,
                // The operand of an atomic: it goes into the store data.
                RegRole::Source if access.known.is_some() => continue,
                RegRole::Ready => {
                    self.losses.add(Fate::Dropped, "ready registers", 1);
                    continue;
                }
                RegRole::Source | RegRole::State => {}
            }
            let known = register::address(access.reg).and_then(|a| self.packer.registers().get(a));
            if known.is_some() && matches!(access.value, Value::Word(value) if Some(value) == known) {
                self.losses.add(Fate::Derived, "register values before instructions", 1);
            } else if let Some(record) = self.register(access) {
                records.push(record);
            }
        }
        // The Bluespec encoders' operand of an atomic is not state.
        records.dedup();
        self.init(records)
    }

    /// A state initialisation group, if there is anything for it.
    fn init(&mut self, mut records: Vec<Record>) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        records.insert(0, Record::StateInitialization);
        self.emit(Group { offset: 0, frame: Frame::Ended, records })
    }

    /// Writes a group, or keeps it until the one that waits is written.
    fn emit(&mut self, group: Group) -> Result<()> {
        if self.waiting.is_none() {
            return self.packer.put(&group);
        }
        self.behind.push(group);
        if self.behind.len() >= BEHIND { self.complete(None) } else { Ok(()) }
    }

    /// The next instruction is not where a reader expects it.
    fn lead_to(&mut self, pc: Option<u64>) -> Result<()> {
        if let Some(pc) = pc
            && self.expected != Some(pc)
        {
            self.losses.add(Fate::Kept, "jumps between instructions", 1);
            self.init(vec![Record::Pc(self.narrow(pc))])?;
        }
        Ok(())
    }

    fn register(&mut self, access: &RegAccess) -> Option<Record> {
        let Some(address) = register::address(access.reg) else {
            self.losses.add(Fate::Dropped, "registers of other files", 1);
            return None;
        };
        let width = if access.reg.class == RegClass::Float { self.config.flen } else { self.config.xlen };
        let (Value::Word(value), None) = (access.value, access.known) else {
            self.losses.add(Fate::Dropped, "registers without a whole value", 1);
            return None;
        };
        let record = match access.update {
            RegUpdate::Set => Record::FullRegister { address, data: mask(value, width) },
            RegUpdate::Add => Record::AddRegister { address, offset: value as i8 },
            RegUpdate::Or => Record::OrRegister { address, mask: value as u8 },
        };
        let custom = address >= register::CUSTOM && !self.config.custom;
        if custom || (access.reg.class == RegClass::Float && width == 0) {
            self.losses.add(Fate::Dropped, "registers that the widths leave out", 1);
            return None;
        }
        self.losses.add(Fate::Kept, "registers", 1);
        Some(record)
    }

    /// One access as addresses and store data; more, and what they do not tell, as memory requests.
    fn memory(&mut self, step: &Step, batch: &Batch, waiting: &mut Waiting) {
        let accesses = batch.mem_of(step.accesses);
        if accesses.is_empty() {
            return;
        }
        if accesses.iter().any(|access| access.unplaced) {
            return self.losses.add(Fate::Dropped, "accesses without an address", accesses.len() as u64);
        }
        let inst = riscv::decode(self.config.isa(), step.encoding).filter(|_| step.length > 0);
        let is_amo = inst.is_some_and(|inst| matches!(inst.op.class(), Class::Amo(_)));
        let first = &accesses[0];
        // A read-modify-write may come as a read and a write.
        let pair = is_amo && accesses.len() == 2 && accesses[1].address == first.address;
        let plain = matches!(
            first.kind,
            MemKind::Read
                | MemKind::Write
                | MemKind::ReadWrite
                | MemKind::Suppressed
                | MemKind::Faulting
                | MemKind::Unknown
        );
        if (accesses.len() > 1 && !pair) || !plain || first.size > 8 {
            for access in accesses {
                self.request(access, batch, waiting);
            }
            return;
        }
        self.losses.add(Fate::Kept, "memory accesses", accesses.len() as u64);
        let extra = batch.mem_extra_of(first).copied().unwrap_or_default();
        let stored = match first.kind {
            _ if pair => accesses[1].data,
            MemKind::ReadWrite => extra.stored,
            MemKind::Read | MemKind::Faulting | MemKind::Unknown => Value::Unknown,
            _ => first.data,
        };
        if first.tagged {
            self.losses.add(Fate::Dropped, "memory tags", 1);
        }
        let log = first.size.checked_ilog2().filter(|log| *log <= 3 && 1 << log == first.size);
        let store = self.store_data(inst, stored, step, batch).zip(log);
        if let Some((data, log)) = store {
            let data = mask(data, 8 << log);
            waiting.memory.push(Record::StoreData { size: log as u8, data });
        } else if stored != Value::Unknown {
            self.losses.add(Fate::Dropped, "store data", 1);
        }
        if let Some(physical) = extra.physical {
            waiting.memory.push(Record::PhysicalAddress(physical));
        }
        waiting.memory.push(Record::EffectiveAddress(self.narrow(first.address)));
        self.load_data(first, inst, extra.physical, log, waiting);
    }

    /// What the store data item has to hold.
    fn store_data(&self, inst: Option<Inst>, stored: Value, step: &Step, batch: &Batch) -> Option<u64> {
        let stored = match stored {
            Value::Word(word) => Some(word),
            _ => None,
        };
        if self.config.profile == Profile::Spec {
            return stored;
        }
        let inst = inst?;
        match inst.op.class() {
            // The encoders send a field for LR too; it means nothing.
            Class::LoadReserved(_) => Some(0),
            Class::Amo(_) => {
                let reg = Reg { class: RegClass::Int, number: inst.rs2.into() };
                let source = batch.regs_of(step.accesses).iter().find_map(|access| match access {
                    RegAccess { role: RegRole::Source, value: Value::Word(value), .. }
                        if access.reg == reg =>
                    {
                        Some(*value)
                    }
                    _ => None,
                });
                source.or_else(|| self.packer.registers().get(register::GPR + u16::from(inst.rs2)))
            }
            _ => stored,
        }
    }

    /// What was read follows from the register written; where it does not, a memory request carries it.
    fn load_data(
        &mut self,
        access: &MemAccess,
        inst: Option<Inst>,
        physical: Option<u64>,
        log: Option<u32>,
        waiting: &mut Waiting,
    ) {
        let (MemKind::Read | MemKind::ReadWrite, Value::Word(data)) = (access.kind, access.data) else {
            return;
        };
        let follows = inst.is_some_and(|inst| {
            waiting.registers.iter().any(|record| {
                let resolved = self.packer.registers().resolve(record);
                matches!(resolved, Some((address, Some(value)))
                    if address & 0x1f == u16::from(inst.rd) && mask(value, 8 * access.size as u32) == data)
            })
        });
        if follows {
            return self.losses.add(Fate::Derived, "load data", 1);
        }
        let Some(log) = log.filter(|_| self.config.profile == Profile::Spec) else {
            return self.losses.add(Fate::Dropped, "load data", 1);
        };
        let (size, data) = (log as u8, mask(data, 8 << log));
        let address = physical.unwrap_or(self.narrow(access.address));
        waiting.memory.extend([
            Record::MemoryRequest { address, op: MemOp::LOAD, size, data: 0 },
            Record::MemoryResponse { size, result: 0, data: Some(data) },
        ]);
    }

    /// An access as memory requests, 8 bytes at most each.
    fn request(&mut self, access: &MemAccess, batch: &Batch, waiting: &mut Waiting) {
        let (op, sends) = match access.kind {
            MemKind::Read => (MemOp::LOAD, false),
            MemKind::Write => (MemOp::STORE, true),
            _ => return self.losses.add(Fate::Dropped, "accesses of other kinds", 1),
        };
        let word;
        let bytes: &[u8] = match access.data {
            Value::Unknown => &[],
            Value::Word(data) => {
                word = data.to_le_bytes();
                &word[..access.size.min(8) as usize]
            }
            Value::Bytes(span) => batch.bytes_of(span),
        };
        if access.size > 4096 || (bytes.len() as u64) < access.size {
            return self.losses.add(Fate::Dropped, "memory accesses without all their data", 1);
        }
        self.losses.add(Fate::Kept, "memory accesses", 1);
        let mut at = 0;
        while at < access.size {
            // The largest power of two that is aligned and left.
            let address = access.address.wrapping_add(at);
            let log = address.trailing_zeros().min((access.size - at).ilog2()).min(3);
            let mut le = [0; 8];
            le[..1 << log].copy_from_slice(&bytes[at as usize..][..1 << log]);
            let (size, data) = (log as u8, u64::from_le_bytes(le));
            let address = self.narrow(address);
            let sent = if sends { data } else { 0 };
            waiting.memory.push(Record::MemoryRequest { address, op, size, data: sent });
            let back = (!sends).then_some(data);
            waiting.memory.push(Record::MemoryResponse { size, result: 0, data: back });
            at += 1 << log;
        }
    }

    fn trap(&mut self, event: &Event, trap: &Trap) -> Result<()> {
        match trap.kind {
            TrapKind::Return => {
                // The instruction tells it; its target is the next pc.
                self.losses.add(Fate::Derived, "returns from traps", 1);
                if let Some(waiting) = &mut self.waiting {
                    waiting.target = waiting.target.or(trap.to);
                }
                return Ok(());
            }
            TrapKind::Reset => {
                self.complete(None)?;
                self.losses.add(Fate::Kept, "resets", 1);
                self.packer.put(&Group { records: vec![Record::HartReset], ..Group::default() })?;
                self.expected = self.config.reset_pc;
                return Ok(());
            }
            _ => {}
        }
        self.losses.add(Fate::Kept, "traps", 1);
        let own = self.waiting.as_ref().is_some_and(|waiting| {
            waiting.attempted
                && self.behind.is_empty()
                && waiting.trap.is_none()
                && (trap.from.is_none() || trap.from == waiting.pc)
        });
        if !own {
            self.complete(trap.from)?;
            self.lead_to(trap.from)?;
            self.waiting =
                Some(Waiting { offset: event.offset, pc: trap.from, attempted: true, ..Waiting::default() });
        } else if trap.kind == TrapKind::Interrupt
            && let Some(waiting) = &mut self.waiting
            && waiting.instruction.take().is_some()
        {
            // An interrupt has no instruction (chapter 3).
            self.losses.add(Fate::Dropped, "instructions that an interrupt cut off", 1);
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.trap = Some(*trap);
        }
        Ok(())
    }

    /// The registers of a trap, where the source did not give them itself.
    fn trap_registers(&mut self, waiting: &mut Waiting) {
        let Some(trap) = waiting.trap else { return };
        let Some(cause) = trap.cause else { return };
        let has = |low: u16| {
            waiting.csrs.iter().any(
                |r| matches!(r, Record::FullRegister { address, .. } if *address < 0x400 && address & 0xff == low),
            )
        };
        if has(0x42) {
            return;
        }
        // Without a privilege after it, the trap went to machine mode.
        let level = u16::from(waiting.privilege.unwrap_or(3)) << 8;
        let top = 8 * u32::from(self.xlen) - 1;
        let interrupt = u64::from(trap.kind == TrapKind::Interrupt) << top;
        let epc = trap.return_address.or(trap.from).or(waiting.pc);
        let values = [(0x42, Some(cause | interrupt)), (0x41, epc), (0x43, trap.value)];
        let values: Vec<_> = values.into_iter().filter(|(low, _)| !has(*low)).collect();
        for (low, value) in values {
            if let Some(data) = value {
                let data = mask(data, self.config.xlen);
                waiting.csrs.push(Record::FullRegister { address: level | low, data });
            }
        }
        self.losses.add(Fate::Derived, "trap registers", 1);
        if waiting.privilege.is_none() {
            self.losses.add(Fate::Invented, "privilege of traps (machine)", 1);
            waiting.privilege = Some(3);
        }
    }

    /// Writes the waiting group; the instruction after it is at `next`.
    fn complete(&mut self, next: Option<u64>) -> Result<()> {
        let Some(mut waiting) = self.waiting.take() else { return Ok(()) };
        let (pc, instruction) = (waiting.pc, waiting.instruction);
        let after = pc.zip(instruction).map(|(pc, (_, length))| self.narrow(pc.wrapping_add(length.into())));
        let to = waiting.trap.and_then(|trap| trap.to).or(waiting.target);
        let control = match (pc, instruction) {
            (Some(pc), Some((encoding, _))) if waiting.trap.is_none() => {
                Some(flow(self.config.isa(), pc, encoding))
            }
            _ => None,
        };
        let derived = control.and_then(|flow| match flow.control {
            Control::Branch => match waiting.taken? {
                true => flow.target,
                false => after,
            },
            control if control.is_direct() => flow.target,
            control if control.is_transfer() || !control.retires() => None,
            _ => after,
        });
        let leads = to.or(next).or(derived).map(|pc| self.narrow(pc));
        if leads.is_none() {
            self.losses.add(Fate::Dropped, "instructions whose next pc is unknown", 1);
        }
        self.trap_registers(&mut waiting);

        let mut records = Vec::with_capacity(8);
        records.extend(leads.map(Record::Pc));
        match instruction {
            Some((encoding, 2)) => records.push(Record::Instruction16(encoding as u16)),
            Some((encoding, _)) => records.push(Record::Instruction32(encoding)),
            None => {}
        }
        records.extend(waiting.privilege.map(Record::PrivilegeMode));
        records.extend(waiting.pc_physical.map(Record::PcPhysicalAddress));
        records.append(&mut waiting.registers);
        records.append(&mut waiting.memory);
        records.append(&mut waiting.csrs);
        self.privilege = waiting.privilege.or(self.privilege);
        self.expected = leads;
        if !records.is_empty() {
            self.packer.put(&Group { offset: waiting.offset, frame: Frame::Ended, records })?;
        }
        self.behind.drain(..).try_for_each(|group| self.packer.put(&group))
    }

    fn context(&mut self, context: &Context) -> Result<()> {
        let named = Context { privilege: None, change: None, ..*context };
        if named != Context::default() {
            self.losses.add(Fate::Dropped, "contexts other than privilege", 1);
        }
        let mode = match context.privilege {
            None => return Ok(()),
            Some(Privilege::U) => 0,
            Some(Privilege::S) => 1,
            Some(Privilege::M) => 3,
            Some(_) => {
                self.losses.add(Fate::Dropped, "privileges other than M, S, U", 1);
                return Ok(());
            }
        };
        self.losses.add(Fate::Kept, "privilege changes", 1);
        match &mut self.waiting {
            Some(waiting) if self.behind.is_empty() => waiting.privilege = Some(mode),
            _ if self.privilege == Some(mode) => {}
            _ => self.init(vec![Record::PrivilegeMode(mode)])?,
        }
        self.privilege = Some(mode);
        Ok(())
    }

    fn contents(&mut self, event: &Event, accesses: Accesses, batch: &Batch) -> Result<()> {
        // State at the place of a trap that has no instruction is the trap's own.
        let regs = batch.regs_of(accesses);
        let beside_trap = self.waiting.as_ref().is_some_and(|waiting| {
            waiting.trap.is_some() && waiting.instruction.is_none() && waiting.offset == event.offset
        });
        if beside_trap {
            for access in regs {
                if let Some(record) = self.register(access)
                    && let Some(waiting) = &mut self.waiting
                {
                    waiting.csrs.push(record);
                }
            }
            return Ok(());
        }
        // The pc that state leads to is where the waiting group led as well, as far as anyone knows.
        let pc = regs.iter().find(|access| access.reg.class == RegClass::Pc);
        let pc = pc.and_then(|access| match access.value {
            Value::Word(pc) => Some(self.narrow(pc)),
            _ => None,
        });
        let mut records = Vec::new();
        if let Some(pc) = pc {
            self.complete(None)?;
            records.push(Record::Pc(pc));
            self.expected = Some(pc);
        }
        for access in regs.iter().filter(|access| access.reg.class != RegClass::Pc) {
            records.extend(self.register(access));
        }
        let mut memory = Waiting::default();
        for access in batch.mem_of(accesses) {
            // What memory holds is told as if the debugger had stored it.
            let stored = MemAccess { kind: MemKind::Write, ..*access };
            self.request(&stored, batch, &mut memory);
        }
        records.extend(memory.memory.into_iter().filter(|r| matches!(r, Record::MemoryRequest { .. })));
        self.init(records)
    }

    /// A bus transaction: outside groups, as it has no place among the instructions.
    fn bus(&mut self, bus: &Bus) -> Result<()> {
        let words = (bus.data, bus.returned);
        let log = bus.size.checked_ilog2().filter(|log| *log <= 3 && 1 << log == bus.size);
        let op = match (bus.kind, bus.initiator, bus.attributes) {
            (kind, 0, op @ 0..=13) if crate::lift::kind_of(MemOp(op as u8)) == kind => MemOp(op as u8),
            (MemKind::Read, ..) => MemOp::LOAD,
            (MemKind::Write, ..) => MemOp::STORE,
            _ => {
                self.losses.add(Fate::Dropped, "bus transfers of other kinds", 1);
                return Ok(());
            }
        };
        let Some(log) = log else {
            self.losses.add(Fate::Dropped, "bus transfers of other sizes", 1);
            return Ok(());
        };
        self.losses.add(Fate::Kept, "bus transfers", 1);
        let cut = |value| match value {
            Value::Word(word) => Some(mask(word, 8 << log)),
            _ => None,
        };
        let size = log as u8;
        let (sent, returned) = (cut(words.0), cut(words.1));
        if op.sends() && sent.is_none() {
            self.losses.add(Fate::Invented, "bus data", 1);
        }
        let data = if op.sends() { sent.unwrap_or(0) } else { 0 };
        let back = returned.or(if op.sends() { None } else { sent });
        let mut records = vec![Record::MemoryRequest { address: self.narrow(bus.address), op, size, data }];
        if !op.returns() && bus.result.is_some() {
            records.push(Record::MemoryResponse { size, result: bus.result.unwrap_or(0), data: None });
        } else if op.returns()
            && let Some(data) = back
        {
            let result = bus.result.unwrap_or(0);
            records.push(Record::MemoryResponse { size, result, data: Some(data) });
        }
        self.emit(Group { offset: 0, frame: Frame::Outside, records })
    }

    fn foreign(&mut self, item: &Foreign, batch: &Batch) -> Result<()> {
        let value = batch.words_of(item.data).next();
        let record = match (item.format, item.code, value) {
            (FormatId::Tandem, 0x702, Some(a)) => Record::PhysicalAddress(a),
            (FormatId::Tandem, 0x703, Some(a)) => Record::EffectiveAddress(a),
            (FormatId::Tandem, code @ 0x704..=0x707, Some(data)) => {
                Record::StoreData { size: (code - 0x704) as u8, data }
            }
            _ => {
                self.losses.add(Fate::Dropped, "items of other formats", 1);
                return Ok(());
            }
        };
        self.emit(Group { offset: 0, frame: Frame::Outside, records: vec![record] })
    }

    fn event(&mut self, event: &Event, batch: &Batch) -> Result<()> {
        match &event.kind {
            EventKind::Step(step) => self.step(event, step, batch),
            EventKind::Trap(n) => self.trap(event, &batch.traps[*n as usize]),
            EventKind::Context(n) => self.context(&batch.contexts[*n as usize]),
            EventKind::State(n) => match batch.states[*n as usize] {
                State::Contents(accesses) => self.contents(event, accesses, batch),
                State::Bus(bus) => self.bus(&bus),
                State::PageWalk(_) => {
                    self.losses.add(Fate::Dropped, "page walks", 1);
                    Ok(())
                }
            },
            EventKind::Time(Time { kind: TimeKind::Timestamp, value: Some(time), .. }) => {
                self.losses.add(Fate::Kept, "timestamps", 1);
                let records = vec![Record::Mtime(*time)];
                self.emit(Group { offset: 0, frame: Frame::Outside, records })
            }
            EventKind::Time(_) => {
                self.losses.add(Fate::Dropped, "cycle counts", 1);
                Ok(())
            }
            EventKind::Run(run) => {
                self.complete(Some(run.start))?;
                self.expected = None;
                self.losses.add(Fate::Dropped, "instructions of runs without a program", run.count.into());
                Ok(())
            }
            EventKind::Mark(_) => {
                self.losses.add(Fate::Dropped, "marks", 1);
                Ok(())
            }
            EventKind::Gap(_) => {
                self.complete(None)?;
                self.expected = None;
                self.losses.add(Fate::Dropped, "gap marks", 1);
                Ok(())
            }
            EventKind::Foreign(item) => self.foreign(item, batch),
        }
    }

    fn narrow(&self, address: u64) -> u64 {
        mask(address, self.config.xlen)
    }

    /// Ends the trace and gives the output and the account.
    pub fn into_inner(mut self) -> Result<(W, Losses)> {
        self.complete(None)?;
        Ok((self.packer.into_inner()?, self.losses))
    }
}

impl<W: Write> Sink for Lower<W> {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        batch.events.iter().try_for_each(|event| self.event(event, batch))
    }

    fn finish(&mut self) -> Result<Losses> {
        self.complete(None)?;
        self.packer.finish()?;
        Ok(std::mem::take(&mut self.losses))
    }
}

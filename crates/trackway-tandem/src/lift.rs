//! Groups to events.
//!
//! A group's pc is where it leads, so an instruction's own address is the pc of the group before it. A group
//! becomes a step with its register and memory accesses, then the trap and the privilege that it led to.

use trackway_core::*;
use trackway_isa::riscv::{self, Class, Inst};
use trackway_isa::{Control, Flow, flow};

use crate::amo;
use crate::config::{Config, Profile, Widths};
use crate::group::{Kind, NextPc, View};
use crate::read::{Frame, Group, Reader};
use crate::record::{MemOp, Record, register};
use crate::registers::Registers;

/// Events of a trace.
///
/// ```
/// use trackway_core::*;
/// use trackway_tandem::{Config, Lift};
/// // A reset, then `addi t0, x0, 3` at the reset pc.
/// let bytes = [
///     0x01, 0x0a, 0x02, 0x01, 0x07, 0x0a, 4, 0, 0, 0x70, 0, 0, 0, 0, 0x11, 0x93, 0x02, 0x30, 0,
///     0x04, 0x05, 0x10, 3, 0, 0, 0, 0, 0, 0, 0, 0x02,
/// ];
/// let config = Config { reset_pc: Some(0x7000_0000), ..Config::default() };
/// let mut lift = Lift::open(Input::from_vec(bytes.to_vec()), config)?;
/// let mut batch = Batch::default();
/// assert!(lift.fill(&mut batch)?);
/// let EventKind::Step(step) = batch.events[1].kind else { unreachable!() };
/// assert_eq!((step.pc, step.encoding), (Some(0x7000_0000), 0x0030_0293));
/// assert_eq!(batch.regs_of(step.accesses)[0].value, Value::Word(3));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Lift {
    reader: Reader,
    lifter: Lifter,
    meta: Meta,
    group: Group,
    /// Instructions given so far.
    number: u64,
    /// An error that waits until what came before it is delivered.
    error: Option<Error>,
    /// The group with the error was read: nothing has to be searched.
    complete: bool,
    /// A gap to begin the next batch with.
    gap: Option<(u64, u64)>,
    /// Items read so far, by opcode.
    census: [u64; 18],
}

impl Lift {
    /// Opens a trace.
    pub fn open(input: Input, config: Config) -> Result<Self> {
        let reader = Reader::new(input, &config)?;
        Ok(Lift {
            lifter: Lifter::new(config, reader.widths()),
            reader,
            meta: meta(&config),
            group: Group::default(),
            number: 0,
            error: None,
            complete: false,
            gap: None,
            census: [0; 18],
        })
    }

    fn next(&mut self, batch: &mut Batch) -> Result<bool> {
        self.complete = false;
        if !self.reader.read_group(&mut self.group)? {
            return Ok(false);
        }
        self.complete = true;
        self.census[1] += u64::from(self.group.frame != Frame::Outside);
        self.census[2] += u64::from(self.group.frame == Frame::Ended);
        for record in &self.group.records {
            self.census[usize::from(record.opcode())] += 1;
        }
        let mut fault = None;
        let mut view = View::default();
        view.fill(&self.group, &self.lifter.registers, &mut |found| {
            fault.get_or_insert(found);
        });
        if let Some(fault) = fault {
            return Err(fault.error(&self.group, self.reader.widths()));
        }
        self.lifter.lift(&self.group, &view, batch)?;
        Ok(true)
    }
}

/// What a trace says about itself: nothing, so all comes from the parameters.
pub(crate) fn meta(config: &Config) -> Meta {
    let note = |name: &str, bits: u32| (name.to_string(), bits.to_string());
    Meta {
        version: "2018-11-20".to_string(),
        level: Some(config.profile.word().to_string()),
        start_pc: config.reset_pc,
        notes: vec![note("xlen", config.xlen), note("flen", config.flen), note("mlen", config.mlen)],
        ..Meta::new(FormatId::Tandem, config.isa())
    }
}

impl Source for Lift {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        batch.first_instruction = self.number;
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if let Some((offset, bytes)) = self.gap.take() {
            batch.push_gap(offset, Gap { bytes: Some(bytes), ..Gap::new(GapReason::BadInput) });
        }
        let mut more = true;
        while more && !batch.is_full() {
            match self.next(batch) {
                Ok(read) => more = read,
                Err(error) if batch.events.is_empty() => return Err(error),
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        self.number += batch.instructions();
        Ok(!batch.events.is_empty())
    }

    fn resync(&mut self) -> Result<bool> {
        let (offset, skipped, found) = if self.complete {
            // The group is sound as items and only contradicts itself: go on behind it.
            (self.group.offset, self.reader.offset() - self.group.offset, true)
        } else {
            let offset = self.reader.offset();
            let skipped = self.reader.resync()?;
            (offset, self.reader.offset() - offset, skipped.is_some())
        };
        self.gap = Some((offset, skipped));
        self.lifter.lose();
        if let (true, Some(Record::Pc(pc))) =
            (self.complete, self.group.records.iter().find(|r| matches!(r, Record::Pc(_))))
        {
            self.lifter.pc = Some(*pc);
        }
        self.complete = false;
        Ok(found)
    }

    fn census(&self) -> trackway_core::Census {
        const NAMES: [&str; 18] = [
            "",
            "begin group",
            "end group",
            "increment pc",
            "full register",
            "incremental register",
            "incremental register (or)",
            "additional state",
            "memory request",
            "memory response",
            "hart reset",
            "state initialization",
            "",
            "",
            "",
            "",
            "instruction, 16 bits",
            "instruction, 32 bits",
        ];
        NAMES.into_iter().zip(self.census).filter(|(_, n)| *n > 0).collect()
    }
}

/// Turns groups into events. All of its state is here.
#[derive(Clone, Debug)]
pub(crate) struct Lifter {
    isa: Isa,
    profile: Profile,
    reset_pc: Option<u64>,
    xlen: u8,
    /// What increments are relative to.
    registers: Registers,
    /// Address of the next instruction, where known.
    pub(crate) pc: Option<u64>,
    /// Decoded instructions by encoding: loops come back to few of them.
    decoded: Vec<Option<(u32, Option<Inst>)>>,
}

/// Decoded instructions remembered: a power of two.
const DECODED: usize = 1 << 10;

/// The response that follows a request, if any.
fn response(records: &[Record], request: usize) -> Option<(u8, Option<u64>)> {
    match records.get(request + 1) {
        Some(Record::MemoryResponse { result, data, .. }) => Some((*result, *data)),
        _ => None,
    }
}

impl Lifter {
    pub(crate) fn new(config: Config, widths: &Widths) -> Self {
        Lifter {
            isa: config.isa(),
            profile: config.profile,
            reset_pc: config.reset_pc,
            xlen: widths.xlen,
            registers: Registers::new(widths),
            pc: config.reset_pc,
            decoded: vec![None; DECODED],
        }
    }

    fn decode(&mut self, encoding: u32) -> Option<Inst> {
        let slot = (encoding.wrapping_mul(0x9e37_79b1) >> 22) as usize & (DECODED - 1);
        match self.decoded[slot] {
            Some((found, inst)) if found == encoding => inst,
            _ => {
                let inst = riscv::decode(self.isa, encoding);
                self.decoded[slot] = Some((encoding, inst));
                inst
            }
        }
    }

    /// Something is missing: nothing is known any more.
    pub(crate) fn lose(&mut self) {
        self.registers.forget();
        self.pc = None;
    }

    pub(crate) fn lift(&mut self, group: &Group, view: &View, batch: &mut Batch) -> Result<()> {
        if let Some(time) = view.mtime {
            let time = Time { kind: TimeKind::Timestamp, value: Some(time), clock: 0 };
            batch.push(group.offset, EventKind::Time(time));
        }
        match view.kind {
            Kind::Instruction => self.instruction(group, view, batch),
            Kind::Trap => self.trap_alone(group, view, batch),
            Kind::Reset => {
                self.registers.forget();
                self.pc = self.reset_pc;
                batch.push_trap(group.offset, Trap { to: self.pc, ..Trap::new(TrapKind::Reset) });
                self.contents(group, view, batch)
            }
            Kind::Init | Kind::State => self.contents(group, view, batch),
        }
    }

    fn instruction(&mut self, group: &Group, view: &View, batch: &mut Batch) -> Result<()> {
        let Some((encoding, length)) = view.instruction else { return Ok(()) };
        let after = self.pc.map(|pc| pc.wrapping_add(length.into())).map(|pc| self.narrow(pc));
        let explicit = match view.pc {
            Some(NextPc::To(pc)) => Some(pc),
            Some(NextPc::Increment) => after,
            None => None,
        };
        self.compare_pcs(group, view, after)?;
        let inst = if view.effective.is_some() || view.physical.is_some() || view.bus {
            self.decode(encoding)
        } else {
            None
        };
        if view.bus {
            self.bus(group, view, batch);
        }

        let accesses = batch.begin_accesses();
        if let Some(operand) = self.operand(inst, view) {
            batch.regs.push(operand);
        }
        self.memory(group, view, inst, batch);
        self.destinations(group, view, batch);
        let Some(accesses) = batch.end_accesses(accesses) else {
            return Err(too_many(group));
        };

        let pc = self.pc;
        let flow = match riscv::is_plain(encoding) {
            true => Flow::sequential(length),
            false => flow(self.isa, pc.unwrap_or(0), encoding),
        };
        let trapped = view.trap.is_some();
        let control = if trapped { Control::Sequential } else { flow.control };
        let attempted = trapped || !flow.control.retires();
        let taken = match (control, explicit, after) {
            (Control::Branch, Some(next), Some(after)) => Some(next != after),
            // A branch to the next instruction looks the same taken or not.
            (Control::Branch, ..) => None,
            (control, ..) if control.is_transfer() => Some(true),
            _ => None,
        };
        let target = explicit.filter(|_| taken == Some(true));
        let extra = if target.is_some() || view.pc_physical.is_some() {
            batch.add_extra(StepExtra { target, physical_pc: view.pc_physical, ..StepExtra::default() })
        } else {
            None
        };
        let outcome = if attempted { Outcome::Attempted } else { Outcome::Retired };
        let step = Step { pc, encoding, accesses, extra, length, outcome, taken };
        batch.push(group.offset, EventKind::Step(step));

        // Without a pc item (partial trace) a plain instruction still leads to the next one.
        self.pc = match explicit {
            None if control == Control::Sequential && !attempted => after,
            None => taken.and_then(|taken| if taken { flow.target } else { after }).filter(|_| pc.is_some()),
            explicit => explicit,
        };
        if trapped {
            self.push_trap(group, view, Some(encoding), pc, batch);
        } else if control == Control::TrapReturn {
            let trap = Trap { from: pc, to: explicit, ..Trap::new(TrapKind::Return) };
            batch.push_trap(group.offset, trap);
        } else if attempted {
            // A partial trace leaves the trap out; the instruction tells it.
            let syscall = (flow.control == Control::SystemCall).then_some(Syscall::Ecall);
            let trap = Trap { from: pc, to: explicit, syscall, ..Trap::new(TrapKind::Exception) };
            batch.push_trap(group.offset, trap);
        }
        self.privilege(group, view, batch);
        Ok(())
    }

    /// Registers that the instruction wrote.
    #[inline]
    fn destinations(&mut self, group: &Group, view: &View, batch: &mut Batch) {
        if !view.relative {
            for record in &group.records {
                if let Record::FullRegister { address, data } = *record {
                    batch.regs.push(set(register::reg(address), RegRole::Destination, data));
                    self.registers.set(address, Some(data));
                }
            }
            return;
        }
        // All increments of a group are relative to what was before it.
        for record in &group.records {
            self.register(record, RegRole::Destination, batch);
        }
        for record in &group.records {
            self.registers.apply(record);
        }
    }

    /// Both an increment and a pc: they have to agree.
    fn compare_pcs(&self, group: &Group, view: &View, after: Option<u64>) -> Result<()> {
        if let (Some(NextPc::To(pc)), Some(after)) = (view.pc, after)
            && pc != after
            && group.records.contains(&Record::IncrementPc)
        {
            let kind = ErrorKind::Impossible { found: pc };
            return Err(kind.at(group.offset, "pc", "increment", "Tandem 3"));
        }
        Ok(())
    }

    /// A group without instruction: interrupt, fetch fault, or a jump that nothing explains.
    fn trap_alone(&mut self, group: &Group, view: &View, batch: &mut Batch) -> Result<()> {
        let from = self.pc;
        self.pc = match view.pc {
            Some(NextPc::To(pc)) => Some(pc),
            _ => None,
        };
        self.push_trap(group, view, None, from, batch);
        self.contents(group, view, batch)
    }

    fn push_trap(
        &mut self,
        group: &Group,
        view: &View,
        encoding: Option<u32>,
        from: Option<u64>,
        batch: &mut Batch,
    ) {
        let state = view.trap.unwrap_or_default();
        let top = 8 * u32::from(self.xlen) - 1;
        let interrupt = state.cause.map(|cause| cause >> top & 1 != 0);
        let kind = match interrupt {
            Some(true) => TrapKind::Interrupt,
            Some(false) => TrapKind::Exception,
            None => TrapKind::Unknown,
        };
        let cause = state.cause.map(|cause| cause & !(1 << top));
        let is_call = interrupt == Some(false) && encoding == Some(0x73) && matches!(cause, Some(8..=11));
        batch.push_trap(
            group.offset,
            Trap {
                cause,
                value: state.tval,
                from,
                to: self.pc,
                return_address: state.epc,
                syscall: is_call.then_some(Syscall::Ecall),
                is_virtual: state.level == 2,
                ..Trap::new(kind)
            },
        );
    }

    fn privilege(&mut self, group: &Group, view: &View, batch: &mut Batch) {
        let privilege = match view.privilege {
            Some(0) => Privilege::U,
            Some(1) => Privilege::S,
            Some(3) => Privilege::M,
            _ => return,
        };
        batch.push_context(group.offset, Context { privilege: Some(privilege), ..Context::default() });
    }

    /// State outside instructions: registers, pc, memory.
    fn contents(&mut self, group: &Group, view: &View, batch: &mut Batch) -> Result<()> {
        let mut begun = batch.begin_accesses();
        for (n, record) in group.records.iter().enumerate() {
            self.register(record, RegRole::State, batch);
            match *record {
                Record::Pc(pc) | Record::MisprintedPc(pc) if view.kind != Kind::Trap => {
                    self.pc = Some(pc);
                    batch.regs.push(set(Reg { class: RegClass::Pc, number: 0 }, RegRole::State, pc));
                }
                Record::MemoryRequest { address, op, size, data } if view.kind == Kind::Init => {
                    let back = response(&group.records, n).and_then(|(_, data)| data);
                    let data = if op.sends() { Some(data) } else { back };
                    let kind = if op.sends() { MemKind::Write } else { MemKind::Read };
                    let data = data.map_or(Value::Unknown, Value::Word);
                    let extra = MemExtra { physical: Some(address), ..MemExtra::default() };
                    let extra = batch.add_mem_extra(extra);
                    batch.mem.push(MemAccess { extra, ..MemAccess::new(kind, address, 1 << size, data) });
                }
                Record::MemoryRequest { address, op, size, data } => {
                    flush(group, begun, batch);
                    let response = response(&group.records, n);
                    batch.push_state(group.offset, bus(address, op, size, data, response));
                    begun = batch.begin_accesses();
                }
                _ => {}
            }
            if batch.regs.len() - begun.regs_start as usize >= 0x8000
                || batch.mem.len() - begun.mem_start as usize >= 0x8000
            {
                // A large initialisation becomes several events.
                flush(group, begun, batch);
                begun = batch.begin_accesses();
            }
        }
        flush(group, begun, batch);
        for record in &group.records {
            self.registers.apply(record);
        }
        if view.effective.is_some() || view.physical.is_some() || view.store.is_some() {
            self.foreign(group, batch);
        }
        self.privilege(group, view, batch);
        Ok(())
    }

    /// Addresses and store data without an instruction: kept as they are.
    fn foreign(&self, group: &Group, batch: &mut Batch) {
        for record in &group.records {
            let (code, value) = match *record {
                Record::PhysicalAddress(a) => (2, a),
                Record::EffectiveAddress(a) => (3, a),
                Record::StoreData { size, data } => (4 + u32::from(size), data),
                _ => continue,
            };
            let data = batch.add_bytes(&value.to_le_bytes());
            batch.push(
                group.offset,
                EventKind::Foreign(Foreign { format: FormatId::Tandem, code: 0x700 | code, data }),
            );
        }
    }

    #[inline]
    fn register(&self, record: &Record, role: RegRole, batch: &mut Batch) {
        let (address, update, value) = match *record {
            Record::FullRegister { address, data } => (address, RegUpdate::Set, data),
            Record::AddRegister { address, offset } => match self.registers.resolve(record) {
                Some((_, Some(value))) => (address, RegUpdate::Set, value),
                _ => (address, RegUpdate::Add, offset as u64),
            },
            Record::OrRegister { address, mask } => match self.registers.resolve(record) {
                Some((_, Some(value))) => (address, RegUpdate::Set, value),
                _ => (address, RegUpdate::Or, mask.into()),
            },
            _ => return,
        };
        let value = if update == RegUpdate::Add { self.narrow(value) } else { value };
        batch.regs.push(RegAccess { update, ..set(register::reg(address), role, value) });
    }

    /// Bus transactions of an instruction. Those that stand for its own access are told there.
    fn bus(&self, group: &Group, view: &View, batch: &mut Batch) {
        for (n, record) in group.records.iter().enumerate() {
            if let Record::MemoryRequest { address, op, size, data } = *record
                && !is_own(record, view)
            {
                let response = response(&group.records, n);
                batch.push_state(group.offset, bus(address, op, size, data, response));
            }
        }
    }

    /// The second operand of an atomic, which the Bluespec encoders send in place of what is stored.
    fn operand(&self, inst: Option<Inst>, view: &View) -> Option<RegAccess> {
        let inst = inst.filter(|_| self.profile == Profile::Bluespec)?;
        let (_, operand) = view.store?;
        let Class::Amo(size) = inst.op.class() else { return None };
        let reg = Reg { class: RegClass::Int, number: inst.rs2.into() };
        // Only as many bits as the access has are sent.
        let known = (size < self.xlen).then_some(mask(u64::MAX, 8 * u32::from(size)));
        Some(RegAccess { known, ..set(reg, RegRole::Source, operand) })
    }

    /// The memory access of the instruction.
    fn memory(&self, group: &Group, view: &View, inst: Option<Inst>, batch: &mut Batch) {
        let Some(address) = view.effective.or(view.physical) else {
            if view.bus {
                self.bus_accesses(group, view, batch);
            }
            return;
        };
        let class = inst.map(|inst| inst.op.class());
        let trapped = view.trap.is_some();
        let written = |records: &[Record]| {
            let inst = inst?;
            records.iter().find_map(|record| match *record {
                Record::FullRegister { .. } | Record::AddRegister { .. } | Record::OrRegister { .. } => {
                    let (address, value) = self.registers.resolve(record)?;
                    let number = (address & 0x1f) as u8;
                    (address >= register::GPR && number == inst.rd).then_some(value)?
                }
                _ => None,
            })
        };
        let own = || group.records.iter().position(|record| is_own(record, view));
        let own = if view.bus { own() } else { None };
        let answer = own.and_then(|n| response(&group.records, n)).and_then(|(_, data)| data);
        let size = |n: u8| u64::from(n);
        let cut = |value: u64, n: u8| mask(value, 8 * u32::from(n));
        let word = |value: Option<u64>, n: u8| value.map_or(Value::Unknown, |v| Value::Word(cut(v, n)));
        let store = view.store.map(|(_, data)| data);
        let mut extra =
            MemExtra { physical: view.physical.filter(|_| view.effective.is_some()), ..MemExtra::default() };
        let mut access = match class {
            _ if trapped => {
                let n = class.and_then(Class::memory).and_then(|memory| memory.size).unwrap_or(0);
                MemAccess::new(MemKind::Faulting, address, size(n), Value::Unknown)
            }
            Some(Class::Load(n) | Class::LoadReserved(n)) => {
                let value = written(&group.records).or(answer);
                MemAccess::read(address, size(n), word(value, n))
            }
            Some(Class::StoreConditional(n)) => {
                // rd is 0 where it stored.
                let failed = written(&group.records).is_some_and(|rd| rd != 0);
                let kind = if failed { MemKind::Suppressed } else { MemKind::Write };
                MemAccess::new(kind, address, size(n), word(store, n))
            }
            Some(Class::Amo(n)) => {
                let old = written(&group.records).or(answer);
                let stored = match (self.profile, store, old, inst) {
                    (Profile::Spec, store, ..) => store,
                    (Profile::Bluespec, Some(operand), Some(old), Some(inst)) => {
                        amo::result(inst.word, old, operand, n)
                    }
                    _ => None,
                };
                extra.stored = word(stored, n);
                extra.operation = inst.and_then(|inst| amo::operation(inst.word)).map(|op| op.0.into());
                MemAccess::new(MemKind::ReadWrite, address, size(n), word(old, n))
            }
            _ => match view.store {
                Some((log, data)) => MemAccess::write(address, 1 << log, Value::Word(data)),
                None => {
                    let n = class.and_then(Class::memory).and_then(|memory| memory.size).unwrap_or(0);
                    let kind = class.and_then(Class::memory).map_or(MemKind::Unknown, |memory| memory.kind);
                    MemAccess::new(kind, address, size(n), Value::Unknown)
                }
            },
        };
        // The item of a plain store says its size, the encoding of the others does.
        access.inferred = view.store.is_none();
        if extra != MemExtra::default() {
            access.extra = batch.add_mem_extra(extra);
        }
        batch.mem.push(access);
    }

    /// No address item: the bus transactions are all there is.
    fn bus_accesses(&self, group: &Group, view: &View, batch: &mut Batch) {
        for (n, record) in group.records.iter().enumerate() {
            if let Record::MemoryRequest { address, op, size, data } = *record
                && is_own(record, view)
            {
                let back = response(&group.records, n).and_then(|(_, data)| data);
                let kind = kind_of(op);
                let read = if op.sends() && kind == MemKind::Write { Some(data) } else { back };
                let data = read.map_or(Value::Unknown, Value::Word);
                let extra = MemExtra { physical: Some(address), ..MemExtra::default() };
                let extra = batch.add_mem_extra(extra);
                let access = MemAccess::new(kind, address, 1 << size, data);
                batch.mem.push(MemAccess { extra, inferred: true, ..access });
            }
        }
    }

    fn narrow(&self, address: u64) -> u64 {
        if self.xlen == 4 { address & 0xffff_ffff } else { address }
    }
}

/// Does a request stand for the instruction's own access: at its address, or with no address told?
fn is_own(record: &Record, view: &View) -> bool {
    match *record {
        Record::MemoryRequest { address, op, .. } => {
            let own = view.physical.or(view.effective);
            op != MemOp::FETCH && own.is_none_or(|own| own == address)
        }
        _ => false,
    }
}

/// Completes a state event, if there is anything for it.
fn flush(group: &Group, begun: Accesses, batch: &mut Batch) {
    if let Some(accesses) = batch.end_accesses(begun)
        && (accesses.mem_len > 0 || accesses.regs_len > 0)
    {
        batch.push_state(group.offset, State::Contents(accesses));
    }
}

fn set(reg: Reg, role: RegRole, value: u64) -> RegAccess {
    RegAccess { reg, role, update: RegUpdate::Set, value: Value::Word(value), known: None }
}

pub(crate) fn kind_of(op: MemOp) -> MemKind {
    match (op.sends(), op.returns()) {
        (false, _) => MemKind::Read,
        (true, false) => MemKind::Write,
        (true, true) => MemKind::ReadWrite,
    }
}

/// A memory request as an event; the operation is kept in the attributes.
fn bus(address: u64, op: MemOp, size: u8, data: u64, response: Option<(u8, Option<u64>)>) -> State {
    State::Bus(Bus {
        kind: kind_of(op),
        address,
        size: 1 << size,
        initiator: 0,
        index: 0,
        attributes: op.0.into(),
        data: if op.sends() { Value::Word(data) } else { Value::Unknown },
        returned: response.and_then(|(_, data)| data).map_or(Value::Unknown, Value::Word),
        result: response.map(|(result, _)| result),
    })
}

#[cold]
fn too_many(group: &Group) -> Error {
    let found = group.records.len() as u64;
    ErrorKind::Unsupported { found }.at(group.offset, "group", "items", "Tandem 3")
}

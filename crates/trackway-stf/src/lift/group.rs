//! Record by record to events, group by group.
//!
//! An opcode record completes a group: the records since the previous one belong to that instruction. The
//! instruction of a group with a fault or interrupt was attempted and did not retire.

use serde::{Deserialize, Serialize};
use trackway_core::*;
use trackway_isa::{Control, Recent, is_conditional, never_retires};

use super::events::{Modes, is_arm, is_fetch_fault, privilege, trap};
use super::filter::Filter;
use crate::config::{Config, ID};
use crate::fields::{Data, EventId, Register};
use crate::header::{Header, instruction_set};
use crate::record::{Record, describe, descriptor};
use crate::remark::{Ids, Remark, nop};
use crate::values::{MODE_CHANGE, REG_PC, access, isa, reg_class, reg_role};

/// Turns records into events. All state of lifting is here.
#[derive(Clone, Debug)]
pub(crate) struct Lifter {
    pub(super) config: Config,
    /// ISA number; encoding modes are read against it.
    isa_number: u16,
    pub(super) isa: Isa,
    /// Access sizes in bytes by opcode and recorded size.
    pub(super) named_sizes: Recent<(u32, u64), u64, 64>,
    /// Address of the next instruction, if known.
    pub(super) next: Option<u64>,
    /// Address that a record of this group leads to.
    target: Option<u64>,
    /// Start of this group's accesses in the batch.
    pub(super) accesses: Accesses,
    /// The group has more than accesses and takes the slow path.
    special: bool,
    /// INST_PC_TARGET of this group.
    branch_target: Option<u64>,
    /// Traps of this group, with the offsets of their records.
    traps: Vec<(u64, Trap)>,
    /// Context changes before the instruction of this group, and their places among the events of the batch.
    changes: Vec<(u64, usize, Context)>,
    /// Mode changes of this group.
    modes: Modes,
    /// Remarks on this group.
    remarks: Remarks,
    /// First event of this group in the batch, or the first after a gap.
    pub(super) first_event: usize,
    /// The group is the first one, or has a FORCE_PC.
    pub(super) forced: bool,
    /// The words of PROCESS_ID_EXT, and the hardware thread.
    ids: Ids,
    /// Process and thread of an Arm trace, which its contexts repeat: with a level come all ids that are known.
    pub(super) process: (Option<u64>, Option<u64>),
    pub(super) hw_thread: u32,
    /// Keeps the groups of one hardware thread.
    pub(super) filter: Option<Filter>,
    /// Micro-ops of this group.
    micro_ops: Vec<u8>,
    /// A bus access whose content records may still follow.
    bus: Option<(u64, Bus)>,
    /// Inside the header, whose records are not events.
    in_header: bool,
}

/// Remarks on the instruction of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Remarks {
    attempted: bool,
    placeholder: bool,
    outcome_unknown: bool,
    values_unknown: bool,
    separate_accesses: bool,
}

/// The state between two groups. Chunks that are lifted on their own assume it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inherited {
    next: Option<u64>,
    isa: Isa,
    ids: Ids,
    process: (Option<u64>, Option<u64>),
    hw_thread: u32,
    forced: bool,
    in_header: bool,
}

/// Upper bound on the records of a group; a stream that never completes one is damaged.
const LARGEST_GROUP: usize = u16::MAX as usize;

impl Lifter {
    pub(crate) fn new(header: &Header, config: Config) -> Self {
        Lifter {
            config,
            isa_number: header.isa.unwrap_or(isa::RISCV),
            isa: header.instruction_set(),
            named_sizes: Recent::default(),
            next: header.pc,
            target: None,
            accesses: Accesses::default(),
            special: false,
            branch_target: None,
            traps: Vec::new(),
            changes: Vec::new(),
            modes: Modes::default(),
            remarks: Remarks::default(),
            first_event: 0,
            forced: true,
            ids: header.ids.unwrap_or(config.process_id.into()),
            process: (None, None),
            hw_thread: 0,
            filter: None,
            micro_ops: Vec::new(),
            bus: None,
            in_header: true,
        }
    }

    /// Lifts the groups of one hardware thread only; the trace begins with `first`.
    pub(super) fn only(&mut self, wanted: u32, first: u32) {
        (self.filter, self.hw_thread) = (Some(Filter::new(wanted)), first);
    }

    /// Are the groups of the current hardware thread kept?
    #[inline(always)]
    pub(super) fn is_wanted(&self) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.wanted == self.hw_thread)
    }

    /// Continues at a chunk that begins at `pc`, after one that was not read to its end.
    pub(crate) fn start_at(&mut self, pc: Option<u64>) {
        (self.next, self.in_header, self.forced) = (pc, false, false);
    }

    /// The state for the next group.
    pub(super) fn inherited(&self) -> Inherited {
        let Lifter { next, isa, ids, process, hw_thread, forced, in_header, .. } = *self;
        Inherited { next, isa, ids, process, hw_thread, forced, in_header }
    }

    /// Continues from the state between two groups.
    pub(super) fn inherit(&mut self, state: Inherited) {
        let Inherited { next, isa, ids, process, hw_thread, forced, in_header } = state;
        (self.next, self.isa, self.ids, self.hw_thread) = (next, isa, ids, hw_thread);
        (self.process, self.forced, self.in_header) = (process, forced, in_header);
        self.named_sizes.clear();
    }

    /// Begins a batch, between two groups.
    pub(super) fn begin_batch(&mut self, batch: &Batch) {
        if let Some(filter) = &mut self.filter {
            filter.begin_group(batch);
        }
        self.accesses = batch.begin_accesses();
        self.first_event = batch.events.len();
    }

    /// Begins a group after another one.
    pub(super) fn begin_group(&mut self, batch: &mut Batch) {
        if let Some(filter) = &mut self.filter {
            filter.end_group(self.hw_thread, batch);
        }
        self.accesses = batch.begin_accesses();
        self.first_event = batch.events.len();
    }

    /// True if no group is open, so that a batch may end here.
    #[inline(always)]
    pub(crate) fn between_groups(&self, batch: &Batch) -> bool {
        !self.special
            && self.changes.is_empty()
            && self.bus.is_none()
            && self.accesses.mem_start as usize == batch.mem.len()
            && self.accesses.regs_start as usize == batch.regs.len()
    }

    pub(crate) fn lift(&mut self, offset: u64, record: &Record<'_>, batch: &mut Batch) -> Result<()> {
        match *record {
            Record::InstOpcode32 { opcode } => self.step(offset, opcode, 4, batch),
            Record::InstOpcode16 { opcode } => self.step(offset, opcode.into(), 2, batch),
            Record::InstMemAccess { address, size, attributes, access } => {
                if batch.mem.len() - self.accesses.mem_start as usize > LARGEST_GROUP {
                    return Err(endless(offset));
                }
                batch.mem.push(mem_access(address, size, attributes, access));
                Ok(())
            }
            Record::InstMemContent { data } => self.content(offset, data, batch),
            Record::InstPcTarget { pc } => {
                (self.target, self.branch_target, self.special) = (Some(pc), Some(pc), true);
                Ok(())
            }
            _ => self.lift_rare(offset, record, batch),
        }
    }

    /// Completes a group at its opcode record.
    fn step(&mut self, offset: u64, opcode: u32, length: u8, batch: &mut Batch) -> Result<()> {
        if self.bus.is_some() {
            self.flush_bus(batch);
        }
        let Some(accesses) = batch.end_accesses(self.accesses) else { return Err(endless(offset)) };
        self.sizes(opcode, &mut batch.mem[accesses.mem_start as usize..]);
        let may_join = accesses.mem_len > 1 && !self.remarks.separate_accesses;
        let accesses = if may_join { join_atomics(accesses, batch) } else { accesses };
        let step = Step { pc: self.next, accesses, ..Step::new(0, opcode, length) };
        self.special_step(offset, step, batch)
    }

    /// Emits the instruction of a group that may have a target, events and micro-ops.
    fn special_step(&mut self, offset: u64, mut step: Step, batch: &mut Batch) -> Result<()> {
        let Remarks { attempted, placeholder, outcome_unknown, values_unknown, .. } =
            std::mem::take(&mut self.remarks);
        let never =
            may_never_retire(self.isa, step.encoding, step.length) && never_retires(self.isa, step.encoding);
        if !self.traps.is_empty() || never || attempted {
            step.outcome = Outcome::Attempted;
        }
        if self.branch_target.is_some() {
            step.taken = Some(true);
        } else if step.outcome == Outcome::Retired
            && !outcome_unknown
            && may_fall_through(self.isa, step.encoding, step.length)
        {
            step.taken = Some(false);
        }
        let next = self.next.map(|pc| pc.wrapping_add(step.length.into()));
        let after = self.contexts(step.encoding, batch);
        // A fetch fault has no instruction; writers emit a no-op in its place.
        let fetch_fault = |(_, trap): &(u64, Trap)| is_fetch_fault(self.isa, trap);
        let is_nop = step.encoding == nop(self.isa) && !attempted;
        let placeholder = placeholder || is_nop && self.traps.iter().any(fetch_fault);
        if placeholder {
            (step.encoding, step.length) = (0, 0);
            step.accesses = state_apart(offset, step.accesses, batch);
        }
        if self.branch_target.is_some() || placeholder || !self.micro_ops.is_empty() {
            let micro_ops = batch.add_bytes(&self.micro_ops);
            self.micro_ops.clear();
            let extra = StepExtra {
                target: self.branch_target.take(),
                micro_ops,
                placeholder,
                ..StepExtra::default()
            };
            step.extra = batch.add_extra(extra);
        }
        batch.push(offset, EventKind::Step(step));
        if let Some(to) = self.target.filter(|_| step.taken.is_some() && is_return(self.isa, step.encoding)) {
            batch.push_trap(offset, Trap { from: step.pc, to: Some(to), ..Trap::new(TrapKind::Return) });
        }
        for (offset, trap) in self.traps.drain(..) {
            let trap = Trap { from: step.pc, ..trap };
            let unknown = Trap { value: None, syscall_index: None, words: Span::default(), ..trap };
            batch.push_trap(offset, if values_unknown { unknown } else { trap });
        }
        if let Some((offset, privilege)) = after {
            batch.push_context(offset, self.with_process(Context { privilege, ..Context::default() }));
        }
        self.next = self.target.take().or(next);
        (self.special, self.forced) = (false, false);
        self.begin_group(batch);
        Ok(())
    }

    /// The context changes before an instruction. They come before the page walks of the group, as they took effect.
    /// Returns the mode after it.
    fn contexts(&mut self, encoding: u32, batch: &mut Batch) -> Option<(u64, Option<Privilege>)> {
        if self.modes.is_empty() && self.changes.is_empty() {
            return None;
        }
        if is_return(self.isa, encoding) {
            self.modes.returns(self.forced);
        }
        let (before, after) = self.modes.take();
        let group = batch.events.get(self.first_event..).unwrap_or_default();
        let walks = group.iter().position(|event| matches!(event.kind, EventKind::State(_)));
        let place = walks.map_or(batch.events.len(), |n| self.first_event + n);
        for (offset, privilege) in before {
            self.change(offset, place, Context { privilege, ..Context::default() });
        }
        self.put_changes(batch);
        after
    }

    fn put_changes(&mut self, batch: &mut Batch) {
        // The last first, so that the places of the others stay.
        while let Some((offset, place, context)) = self.changes.pop() {
            batch.contexts.push(self.with_process(context));
            let kind = EventKind::Context(batch.contexts.len() as u32 - 1);
            batch.events.insert(place.min(batch.events.len()), Event { offset, kind });
        }
    }

    /// Adds to the context changes of this group: to the last one, unless that has changed the same.
    fn change(&mut self, offset: u64, place: usize, change: Context) {
        let ids =
            |context: &Context| context.hw_thread.or(context.pid).or(context.tid).or(context.asid).is_some();
        match self.changes.last_mut() {
            Some((_, _, context))
                if !(context.privilege.is_some() && change.privilege.is_some()
                    || context.isa.is_some() && change.isa.is_some()
                    || ids(context) && ids(&change)) =>
            {
                context.privilege = context.privilege.or(change.privilege);
                context.isa = context.isa.or(change.isa);
                if ids(&change) {
                    (context.hw_thread, context.asid) = (change.hw_thread, change.asid);
                    (context.pid, context.tid) = (change.pid, change.tid);
                }
            }
            _ => self.changes.push((offset, place, change)),
        }
    }

    /// Adds the process to an Arm exception level.
    fn with_process(&self, context: Context) -> Context {
        let Context { privilege, pid, tid, .. } = context;
        match privilege.is_some_and(Privilege::is_arm) && pid.or(tid).is_none() {
            true => Context { pid: self.process.0, tid: self.process.1, ..context },
            false => context,
        }
    }

    /// INST_MEM_CONTENT: the first word stays a word, more become bytes.
    fn content(&mut self, offset: u64, data: u64, batch: &mut Batch) -> Result<()> {
        let in_group = batch.mem.len() > self.accesses.mem_start as usize;
        let Some(last) = batch.mem.last_mut().filter(|_| in_group) else {
            return Err(orphan(offset, descriptor::INST_MEM_CONTENT));
        };
        match last.data {
            Value::Unknown => last.data = Value::Word(data),
            _ => last.data = append(last.data, data, &mut batch.bytes),
        }
        Ok(())
    }

    fn lift_rare(&mut self, offset: u64, record: &Record<'_>, batch: &mut Batch) -> Result<()> {
        if self.bus.is_some() && !matches!(record, Record::BusMasterContent { .. }) {
            self.flush_bus(batch);
        }
        match *record {
            Record::EndHeader {} => self.in_header = false,
            Record::ForcePc { pc } => (self.next, self.forced) = (Some(pc), true),
            Record::InstIem { mode } => {
                let isa = instruction_set(self.isa_number, mode);
                if !self.in_header {
                    let change = Context { isa: Some(isa), ..Context::default() };
                    self.change(offset, batch.events.len(), change);
                }
                self.isa = isa;
                self.named_sizes.clear();
            }
            Record::ProcessIdExt { first, second, third } => {
                let words = [first, second, third];
                if let (Some(n), Some(_)) = (self.ids.hw_thread(), &self.filter) {
                    self.hw_thread = words[n];
                }
                let context = self.ids.context(words);
                if is_arm(self.isa) {
                    self.process = (context.pid, context.tid);
                }
                self.change(offset, batch.events.len(), context);
            }
            Record::Comment { text } if !self.in_header => self.comment(offset, text.0, batch),
            Record::InstReg { register } => {
                let value = match register.content.first_chunk::<8>() {
                    Some(word) if register.content.len() == 8 => Value::Word(u64::from_le_bytes(*word)),
                    _ => Value::Bytes(batch.add_bytes(register.content)),
                };
                batch.regs.push(reg_access(register, value));
            }
            Record::InstReadyReg { number } => batch.regs.push(RegAccess {
                reg: Reg { class: RegClass::Other, number },
                role: RegRole::Ready,
                update: RegUpdate::Set,
                value: Value::Unknown,
                known: None,
            }),
            Record::PageTableWalk { address, first_use, size, entries } => {
                let entries = batch.add_bytes(entries.0);
                let walk = PageWalk { virtual_address: address, first_use, page_size: size.into(), entries };
                batch.push_state(offset, State::PageWalk(walk));
            }
            Record::BusMasterAccess { address, size, master, index, attributes, access } => {
                let bus = Bus {
                    kind: mem_kind(access),
                    address,
                    size: size.into(),
                    initiator: master,
                    index,
                    attributes,
                    data: Value::Unknown,
                    returned: Value::Unknown,
                    result: None,
                };
                self.bus = Some((offset, bus));
            }
            Record::BusMasterContent { data } => match &mut self.bus {
                Some((_, bus)) => bus.data = append(bus.data, data, &mut batch.bytes),
                None => return Err(orphan(offset, descriptor::BUS_MASTER_CONTENT)),
            },
            Record::Event { id, data } => self.event(offset, id, data, batch),
            Record::EventPcTarget { pc } => {
                (self.target, self.special) = (Some(pc), true);
                if let Some((_, trap)) = self.traps.last_mut() {
                    trap.to = Some(pc);
                }
            }
            Record::InstMicroop { size, op } => {
                self.special = true;
                self.micro_ops.push(size);
                self.micro_ops.extend_from_slice(&op.to_le_bytes());
            }
            Record::Transaction { .. } | Record::TransactionDependency { .. } | Record::ReserveEnd {} => {
                let mut raw = Vec::new();
                record.write(&mut raw, &Default::default());
                let data = batch.add_bytes(&raw);
                let code = record.descriptor().into();
                batch.push(offset, EventKind::Foreign(Foreign { format: ID, code, data }));
            }
            Record::Reserved {} => {
                return Err(ErrorKind::Illegal { found: 0 }.at(
                    offset,
                    "record",
                    "descriptor",
                    "STF_RESERVED (0)",
                ));
            }
            _ => {}
        }
        if batch.regs.len() - self.accesses.regs_start as usize > LARGEST_GROUP
            || self.micro_ops.len() > 5 * LARGEST_GROUP
            || self.traps.len() > LARGEST_GROUP
        {
            return Err(endless(offset));
        }
        Ok(())
    }

    fn event(&mut self, offset: u64, id: EventId, data: Data<'_>, batch: &mut Batch) {
        self.special = true;
        if id.special {
            let mode = data.words().next().filter(|_| id.code == MODE_CHANGE);
            let mode = mode.and_then(|mode| privilege(self.isa, mode));
            self.modes.note(offset, mode, !self.traps.is_empty());
        } else {
            self.traps.push((offset, trap(self.isa, id, data, batch)));
        }
    }

    /// A comment: a note, or a remark of ours.
    fn comment(&mut self, offset: u64, text: &[u8], batch: &mut Batch) {
        let note = match Remark::read(text) {
            Some(Remark::Gap(fields)) => {
                self.put_changes(batch);
                match batch.read_line(&format!("{offset:#x} gap {fields}")) {
                    Some(()) => return self.first_event = batch.events.len(),
                    None => text,
                }
            }
            Some(Remark::Mode(mode)) => {
                let privilege = privilege(self.isa, mode);
                return self.change(offset, batch.events.len(), Context { privilege, ..Context::default() });
            }
            Some(Remark::Ids(ids)) => {
                let (known, (pid, tid)) = (ids.context([0; 3]), self.process);
                self.process = (known.pid.and(pid), known.tid.and(tid));
                return self.ids = ids;
            }
            Some(Remark::AddressUnknown) => return self.next = None,
            Some(Remark::Note(text)) => text,
            Some(remark) => {
                self.special = true;
                self.remarks.attempted |= remark == Remark::Attempted;
                self.remarks.placeholder |= remark == Remark::Placeholder;
                self.remarks.outcome_unknown |= remark == Remark::OutcomeUnknown;
                self.remarks.values_unknown |= remark == Remark::ValuesUnknown;
                self.remarks.separate_accesses |= remark == Remark::SeparateAccesses;
                return;
            }
            None => text,
        };
        let text = batch.add_bytes(note);
        batch.push(offset, EventKind::Mark(Mark { text, ..Mark::new(MarkKind::Note) }));
    }

    fn flush_bus(&mut self, batch: &mut Batch) {
        if let Some((offset, bus)) = self.bus.take() {
            batch.push_state(offset, State::Bus(bus));
        }
    }

    /// Ends the trace, or the part that can be read, and delivers an incomplete group, too.
    pub(crate) fn end(&mut self, offset: u64, batch: &mut Batch) {
        self.flush_bus(batch);
        if let Some(accesses) = batch.end_accesses(self.accesses)
            && (accesses.mem_len > 0 || accesses.regs_len > 0)
        {
            self.sizes(0, &mut batch.mem[accesses.mem_start as usize..]);
            batch.push_state(offset, State::Contents(accesses));
        }
        let after = self.contexts(0, batch);
        for (offset, trap) in self.traps.drain(..) {
            batch.push_trap(offset, Trap { from: self.next, ..trap });
        }
        if let Some((offset, privilege)) = after {
            batch.push_context(offset, self.with_process(Context { privilege, ..Context::default() }));
        }
        if let Some(target) = self.target.take() {
            self.next = Some(target);
        }
        (self.special, self.branch_target, self.remarks) = (false, None, Remarks::default());
        self.micro_ops.clear();
        self.begin_group(batch);
    }
}

/// Is it a conditional branch? By the width of its record, so that each needs one test.
#[inline(always)]
pub(super) fn may_fall_through(isa: Isa, opcode: u32, length: u8) -> bool {
    match isa {
        // C.BEQZ and C.BNEZ.
        Isa::Rv32 | Isa::Rv64 if length == 2 => opcode & 0xc003 == 0xc001,
        // All of BRANCH but two reserved values of funct3; without a jump that could be mispredicted.
        Isa::Rv32 | Isa::Rv64 => (opcode & 0x7f == 0x63) & (opcode >> 12 & 6 != 2),
        _ => is_conditional(isa, opcode),
    }
}

/// Is it a return from a trap?
fn is_return(isa: Isa, opcode: u32) -> bool {
    may_return(isa, opcode) && trackway_isa::flow(isa, 0, opcode).control == Control::TrapReturn
}

/// A quick test that is false for nearly all opcodes: may it return from a trap?
#[inline(always)]
pub(super) fn may_return(isa: Isa, opcode: u32) -> bool {
    match isa {
        Isa::Rv32 | Isa::Rv64 => opcode & 0x707f == 0x73,
        // ERET and its kin, DRPS.
        Isa::A64 => opcode >> 22 == 0xd680_0000 >> 22,
        Isa::A32 | Isa::T32 => true,
        Isa::Other => false,
    }
}

/// A quick test that is false for nearly all opcodes: may it be one that traps and never retires?
#[inline(always)]
pub(super) fn may_never_retire(isa: Isa, opcode: u32, length: u8) -> bool {
    match isa {
        // C.EBREAK, the all-zero halfword, and a few that the second test sorts out.
        Isa::Rv32 | Isa::Rv64 if length == 2 => opcode & !0x9002 == 0,
        // ECALL, EBREAK, all ones.
        Isa::Rv32 | Isa::Rv64 => (opcode & !(1 << 20) == 0x73) | (opcode == u32::MAX),
        // Exception generation, UDF.
        Isa::A64 => opcode >> 24 == 0xd4 || opcode >> 16 == 0,
        Isa::A32 | Isa::T32 => true,
        Isa::Other => false,
    }
}

#[inline(always)]
pub(super) fn mem_access(address: u64, size: u16, attributes: u16, access: u8) -> MemAccess {
    let access = MemAccess::new(mem_kind(access), address, size.into(), Value::Unknown);
    MemAccess { attributes: attributes.into(), ..access }
}

/// Where no instruction is, contents of registers are an event of their own; returns the other accesses.
fn state_apart(offset: u64, accesses: Accesses, batch: &mut Batch) -> Accesses {
    let from = accesses.regs_start as usize;
    let regs = &mut batch.regs[from..from + usize::from(accesses.regs_len)];
    regs.sort_by_key(|access| access.role != RegRole::State);
    let count = regs.partition_point(|access| access.role == RegRole::State) as u16;
    if count == 0 {
        return accesses;
    }
    let contents = Accesses { regs_start: accesses.regs_start, regs_len: count, ..batch.begin_accesses() };
    batch.push_state(offset, State::Contents(contents));
    let regs_start = accesses.regs_start + u32::from(count);
    Accesses { regs_start, regs_len: accesses.regs_len - count, ..accesses }
}

/// A read and a write of the same place by one instruction are a read-modify-write.
fn join_atomics(accesses: Accesses, batch: &mut Batch) -> Accesses {
    let start = accesses.mem_start as usize;
    let mut kept = start;
    let mut next = start;
    while let Some(&(mut access)) = batch.mem.get(next) {
        next += 1;
        if let Some(&write) = batch.mem.get(next)
            && (access.kind, write.kind) == (MemKind::Read, MemKind::Write)
            && (access.address, access.size, access.attributes)
                == (write.address, write.size, write.attributes)
        {
            next += 1;
            access.kind = MemKind::ReadWrite;
            access.extra = batch.add_mem_extra(MemExtra { stored: write.data, ..MemExtra::default() });
        }
        batch.mem[kept] = access;
        kept += 1;
    }
    batch.mem.truncate(kept);
    Accesses { mem_len: (kept - start) as u16, ..accesses }
}

fn mem_kind(access: u8) -> MemKind {
    match access {
        access::READ => MemKind::Read,
        access::WRITE => MemKind::Write,
        _ => MemKind::Unknown,
    }
}

/// Appends a content word to `value`.
fn append(value: Value, word: u64, bytes: &mut Vec<u8>) -> Value {
    let start = match value {
        Value::Unknown => return Value::Word(word),
        Value::Word(first) => {
            let start = bytes.len();
            bytes.extend_from_slice(&first.to_le_bytes());
            start
        }
        // The contents of one access are adjacent: no other record adds bytes between them.
        Value::Bytes(span) => span.start as usize,
    };
    bytes.extend_from_slice(&word.to_le_bytes());
    Value::Bytes(Span { start: start as u32, len: (bytes.len() - start) as u32 })
}

#[inline]
pub(super) fn reg_access(register: Register<'_>, value: Value) -> RegAccess {
    let (class, role) = REGISTERS[usize::from(register.meta)];
    let is_pc = (class == RegClass::Int) & (register.number == REG_PC);
    let reg = match is_pc {
        true => Reg { class: RegClass::Pc, number: 0 },
        false => Reg { class, number: register.number },
    };
    RegAccess { reg, role, update: RegUpdate::Set, value, known: None }
}

/// Class and role of registers, by the byte that has both.
static REGISTERS: [(RegClass, RegRole); 256] = {
    let mut registers = [(RegClass::Other, RegRole::State); 256];
    let mut meta = 0;
    while meta < registers.len() {
        registers[meta].0 = match meta as u8 & 0xf {
            reg_class::INTEGER => RegClass::Int,
            reg_class::FLOAT => RegClass::Float,
            reg_class::VECTOR => RegClass::Vector,
            reg_class::CSR => RegClass::Csr,
            _ => RegClass::Other,
        };
        registers[meta].1 = match meta as u8 >> 4 {
            reg_role::SOURCE => RegRole::Source,
            reg_role::DESTINATION => RegRole::Destination,
            _ => RegRole::State,
        };
        meta += 1;
    }
    registers
};

#[cold]
fn orphan(offset: u64, descriptor: u8) -> Error {
    let (item, section) = describe(descriptor);
    ErrorKind::Impossible { found: descriptor.into() }.at(offset, item, "", section)
}

#[cold]
fn endless(offset: u64) -> Error {
    ErrorKind::Impossible { found: LARGEST_GROUP as u64 }.at(
        offset,
        "instruction group",
        "",
        "STF File Anatomy",
    )
}

//! Events to groups.
//!
//! A group has the pc of the next instruction, so a step waits until that is known, and with it the trap and the
//! privilege that follow.

mod ahead;
mod memory;
mod state;
mod tally;
mod usual;

use std::any::Any;
use std::io::Write;

use trackway_core::*;
use trackway_isa::{Control, flow};

use crate::config::{Config, WriteConfig};
use crate::group::{Frame, Group};
use crate::pack::Packer;
use crate::record::Record;
use crate::register;
use ahead::{GroupsAhead, Row};
use tally::{Tally, has_group};

/// Most groups that follow a waiting one before it is written without its next pc.
const MOST_FOLLOWING: usize = 1 << 10;

/// Takes events and writes a tandem trace.
pub struct Lower<W: Write> {
    packer: Packer<W>,
    config: Config,
    xlen: u8,
    tally: Tally,
    /// The group that waits for its next pc.
    waiting: Option<Waiting>,
    /// Groups that come after the waiting one, with what the input says of them.
    following: Vec<(Group, Vec<Found>)>,
    /// Address of the next instruction as a reader will compute it.
    expected: Option<u64>,
    /// Privilege as a reader knows it.
    privilege: Option<u8>,
    /// For a row that is written ahead: what it takes for granted, and what it changes.
    row: Option<Row>,
}

impl<W: Write> std::fmt::Debug for Lower<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lower").field("packer", &self.packer).field("expected", &self.expected).finish()
    }
}

/// A group that is not complete yet, with its items in the order in which they will be written.
#[derive(Debug, Default)]
struct Waiting {
    /// Offset of the event in the source: state at the same offset belongs to its trap.
    offset: u64,
    pc: Option<u64>,
    instruction: Option<(u32, u8)>,
    attempted: bool,
    /// Target of a taken branch.
    target: Option<u64>,
    taken: Option<bool>,
    trap: Option<Trap>,
    privilege: Option<u8>,
    pc_physical: Option<u64>,
    /// x and f registers; then memory and CSRs, in the order of the Bluespec encoders.
    registers: Vec<Record>,
    memory: Vec<Record>,
    csrs: Vec<Record>,
    /// Facts that the input has of it.
    facts: Vec<Found>,
}

impl<W: Write> Lower<W> {
    /// Starts a trace; `meta` describes the source.
    pub fn new(out: W, meta: &Meta, config: WriteConfig) -> Result<Self> {
        let isa = config.config.isa();
        if !matches!(meta.isa, Isa::Other) && meta.isa != isa {
            let found = if meta.isa == Isa::Rv32 { 32 } else { 64 };
            return Err(ErrorKind::Unsupported { found }.at(0, "trace", "instruction set", "Tandem 1"));
        }
        let widths = config.config.widths()?;
        Ok(Lower {
            packer: Packer::new(out, &config.config, config.style)?,
            xlen: widths.xlen,
            tally: Tally::new(meta, config.config, widths),
            config: config.config,
            waiting: None,
            following: Vec::new(),
            expected: config.config.reset_pc,
            privilege: None,
            row: None,
        })
    }

    /// `next` is the pc of the step just after this one, if one follows.
    fn step(&mut self, event: &Event, step: &Step, next: Option<u64>, batch: &Batch) -> Result<()> {
        let of_trap = self.state_of_trap(step, batch);
        self.complete(step.pc)?;
        self.state_of(step, batch, of_trap)?;
        self.lead_to(step.pc)?;
        if let Some(next) = next
            && self.put_usual(step, next, batch)?
        {
            return Ok(());
        }
        let extra = batch.extra_of(step).copied().unwrap_or_default();
        let held = matches!(step.length, 2 | 4) && !extra.placeholder;
        let instruction = held.then_some((step.encoding, step.length));
        let mut waiting = Waiting {
            facts: self.tally.read(batch, &event.kind),
            offset: event.offset,
            pc: step.pc,
            instruction,
            attempted: step.outcome == Outcome::Attempted,
            target: extra.target,
            taken: step.taken,
            pc_physical: extra.physical_pc,
            ..Waiting::default()
        };
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

    /// Control registers that a trap without an instruction wrote are recorded by some formats as contents at the next
    /// step: they belong to the trap. Returns whether there are any.
    fn state_of_trap(&mut self, step: &Step, batch: &Batch) -> bool {
        let is_last = self.is_last();
        let waits = |waiting: &&Waiting| {
            waiting.trap.is_some() && waiting.instruction.is_none() && waiting.csrs.is_empty() && is_last
        };
        if self.waiting.as_ref().filter(waits).is_none() {
            return false;
        }
        let is_state =
            |access: &&RegAccess| access.role == RegRole::State && access.reg.class == RegClass::Csr;
        let records: Vec<Record> = batch
            .regs_of(step.accesses)
            .iter()
            .filter(is_state)
            .filter_map(|access| self.register(access))
            .collect();
        let any = !records.is_empty();
        if let Some(waiting) = &mut self.waiting {
            waiting.csrs = records;
        }
        any
    }

    /// Writes the contents of registers at a step in a group before it, and registers that it reads if their values
    /// are new; control registers are left out where they belong to the trap before it.
    fn state_of(&mut self, step: &Step, batch: &Batch, of_trap: bool) -> Result<()> {
        let mut records = Vec::new();
        for access in batch.regs_of(step.accesses) {
            match access.role {
                RegRole::State if of_trap && access.reg.class == RegClass::Csr => continue,
                RegRole::Destination | RegRole::Ready => continue,
                // The operand of an atomic goes into the store data.
                RegRole::Source if access.known.is_some() => continue,
                RegRole::Source | RegRole::State => {}
            }
            let known = register::address(access.reg).and_then(|a| self.packer.registers().get(a));
            let same = matches!(access.value, Value::Word(value) if Some(value) == known);
            let needed = access.role == RegRole::State || !same;
            records.extend(self.register(access).filter(|_| needed));
        }
        records.dedup();
        self.init(records)
    }

    /// Writes a state initialization group, if it has any items.
    fn init(&mut self, records: Vec<Record>) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.emit(Group::init(records, self.config.profile))
    }

    /// Writes a group, or keeps it until the waiting one is written.
    fn emit(&mut self, group: Group) -> Result<()> {
        self.emit_with(group, Vec::new())
    }

    /// The same, with what the input says of it.
    fn emit_with(&mut self, group: Group, facts: Vec<Found>) -> Result<()> {
        if self.waiting.is_none() {
            return self.put_group(&group, facts);
        }
        self.following.push((group, facts));
        if self.following.len() >= MOST_FOLLOWING { self.complete(None) } else { Ok(()) }
    }

    /// True if the waiting group can still change: nothing comes after it but times, which belong to no instruction.
    fn is_last(&self) -> bool {
        let is_time = |record: &Record| matches!(record, Record::Mtime(_));
        self.following.iter().all(|(group, _)| group.records.iter().all(is_time))
    }

    /// Sets the pc if the next instruction is not where a reader expects it.
    fn lead_to(&mut self, pc: Option<u64>) -> Result<()> {
        if let Some(pc) = pc
            && self.expected != Some(pc)
        {
            self.init(vec![Record::Pc(self.narrow(pc))])?;
        }
        Ok(())
    }

    fn register(&self, access: &RegAccess) -> Option<Record> {
        let address = register::address(access.reg)?;
        let width = if access.reg.class == RegClass::Float { self.config.flen } else { self.config.xlen };
        let (Value::Word(value), None) = (access.value, access.known) else { return None };
        let record = match access.update {
            RegUpdate::Set => Record::FullRegister { address, data: mask(value, width) },
            RegUpdate::Add => Record::AddRegister { address, offset: value as i8 },
            RegUpdate::Or => Record::OrRegister { address, mask: value as u8 },
        };
        let custom = address >= register::CUSTOM && !self.config.custom;
        let without = access.reg.class == RegClass::Float && width == 0;
        Some(record).filter(|_| !custom && !without)
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
            Control::Branch if waiting.taken? => flow.target,
            Control::Branch => after,
            control if control.is_direct() => flow.target,
            control if control.is_transfer() || !control.retires() => None,
            _ => after,
        });
        // The flow may continue elsewhere without a word; what the instruction did is certain all the same.
        let certain = derived.filter(|_| {
            control.is_some_and(|flow| match flow.control {
                Control::Branch => waiting.taken.is_some(),
                control => control.is_direct(),
            })
        });
        let leads = to.or(certain).or(next).or(derived).map(|pc| self.narrow(pc));
        let back = self.trap_registers(&mut waiting);

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
        let facts = std::mem::take(&mut waiting.facts);
        let mut written = Ok(());
        if records.is_empty() {
            self.tally.wrote(None, facts);
        } else {
            written = self.put_group(&Group { offset: waiting.offset, frame: Frame::Ended, records }, facts);
        }
        if let Some(level) = back {
            // A system that is not in the trace ran, and returned.
            self.privilege = Some(level);
            let group = Group::init(vec![Record::PrivilegeMode(level)], self.config.profile);
            written = written.and(self.put_group(&group, Vec::new()));
        }
        // Those after a group that is refused are written all the same.
        let following = std::mem::take(&mut self.following);
        following
            .into_iter()
            .fold(written, |written, (group, facts)| written.and(self.put_group(&group, facts)))
    }

    /// Writes event `n` of a batch.
    #[inline(always)]
    fn put_event(&mut self, batch: &Batch, n: usize) -> Result<()> {
        let event = &batch.events[n];
        match &event.kind {
            EventKind::Step(step) => {
                let next = next_pc(batch, n);
                // Most steps follow one that is written, from where it leads to.
                if let Some(next) = next
                    && self.waiting.is_none()
                    && self.expected == step.pc
                    && self.put_usual(step, next, batch)?
                {
                    return Ok(());
                }
                self.step(event, step, next, batch)
            }
            _ => self.event(event, batch),
        }
    }

    fn event(&mut self, event: &Event, batch: &Batch) -> Result<()> {
        if !has_group(batch, &event.kind) {
            self.tally.read(batch, &event.kind);
        }
        match &event.kind {
            EventKind::Step(step) => self.step(event, step, None, batch),
            EventKind::Trap(n) => {
                let facts = self.tally.read(batch, &event.kind);
                self.trap(event, &batch.traps[*n as usize], facts)
            }
            EventKind::Context(n) => {
                let facts = self.tally.read(batch, &event.kind);
                self.context(&batch.contexts[*n as usize], facts)
            }
            EventKind::State(n) => match batch.states[*n as usize] {
                State::Contents(accesses) => self.contents(event, accesses, batch),
                State::Bus(bus) => {
                    let facts = self.tally.read(batch, &event.kind);
                    self.bus(&bus, facts)
                }
                State::PageWalk(_) => Ok(()),
            },
            EventKind::Time(Time { kind: TimeKind::Timestamp, value: Some(time), .. }) => {
                let records = vec![Record::Mtime(*time)];
                self.emit(Group { offset: 0, frame: Frame::Outside, records })
            }
            EventKind::Time(_) | EventKind::Mark(_) => Ok(()),
            EventKind::Run(run) => {
                self.complete(Some(run.start))?;
                self.expected = None;
                Ok(())
            }
            EventKind::Gap(_) => {
                self.complete(None)?;
                self.expected = None;
                Ok(())
            }
            EventKind::Foreign(item) => self.foreign(item, batch),
        }
    }

    /// An address in the width of XLEN.
    fn narrow(&self, address: u64) -> u64 {
        mask(address, self.config.xlen)
    }

    fn put_group(&mut self, group: &Group, facts: Vec<Found>) -> Result<()> {
        self.tally.wrote(Some(group), facts);
        self.packer.put(group)
    }

    /// Ends the trace; returns the output and the account.
    pub fn into_inner(mut self) -> Result<(W, Account)> {
        self.complete(None)?;
        Ok((self.packer.into_inner()?, self.tally.account()))
    }
}

/// The pc of the step just after event `n`, if one follows.
#[inline]
fn next_pc(batch: &Batch, n: usize) -> Option<u64> {
    match batch.events.get(n + 1) {
        Some(Event { kind: EventKind::Step(step), .. }) => step.pc,
        _ => None,
    }
}

impl<W: Write + Send> Sink for Lower<W> {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        (0..batch.events.len()).try_for_each(|n| self.put_event(batch, n))
    }

    fn ahead(&self) -> Option<Box<dyn Ahead>> {
        Some(Box::new(GroupsAhead::new(self)?))
    }

    fn put_ahead(&mut self, batch: &Batch, ahead: &mut dyn Ahead) -> Result<()> {
        match (ahead as &mut dyn Any).downcast_mut() {
            Some(ahead) => self.put_batch_ahead(batch, ahead),
            None => self.put(batch),
        }
    }

    fn finish(&mut self) -> Result<Account> {
        self.complete(None)?;
        self.packer.finish()?;
        Ok(self.tally.account())
    }
}

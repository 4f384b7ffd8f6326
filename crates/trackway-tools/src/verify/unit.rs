//! What the trace says one instruction or trap did, gathered from its events.

use trackway_core::*;

/// One memory access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitAccess {
    /// What it does.
    pub kind: MemKind,
    /// Virtual address.
    pub address: u64,
    /// Bytes; 0 where unknown.
    pub size: u64,
    /// Read, or written by a plain store.
    pub data: Option<u64>,
    /// What an atomic stored.
    pub stored: Option<u64>,
    /// Physical address, where told.
    pub physical: Option<u64>,
    /// Size or data were worked out from other items, not told.
    pub inferred: bool,
}

/// One register that the trace says was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitWrite {
    /// Which.
    pub reg: Reg,
    /// How.
    pub update: RegUpdate,
    /// Value or operand.
    pub value: u64,
    /// Which of its bits are told.
    pub known: u64,
}

/// One instruction or trap.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// Byte offset of its first event.
    pub offset: u64,
    /// Number of its group, counting those that have events.
    pub group: u64,
    /// Number of the instruction, where it has one.
    pub number: u64,
    /// Address, encoding and length of the instruction.
    pub step: Option<(Option<u64>, u32, u8)>,
    /// Where it is, also where there is no instruction.
    pub pc: Option<u64>,
    /// It did not complete.
    pub attempted: bool,
    /// Physical address of the instruction.
    pub physical_pc: Option<u64>,
    /// The trap it took.
    pub trap: Option<Trap>,
    /// Registers written.
    pub writes: Vec<UnitWrite>,
    /// Registers read, with the values that they had.
    pub reads: Vec<UnitWrite>,
    /// Memory accessed.
    pub accesses: Vec<UnitAccess>,
    /// Privilege after it.
    pub privilege: Option<Privilege>,
    /// Address of what comes next, where known.
    pub next_pc: Option<u64>,
}

/// State set from outside.
#[derive(Clone, Debug, Default)]
pub struct Init {
    /// Registers, the pc among them.
    pub writes: Vec<UnitWrite>,
    /// Memory contents: address, bytes, value; physical.
    pub memory: Vec<(u64, u64, u64)>,
    /// Privilege.
    pub privilege: Option<Privilege>,
}

/// What comes out of the events.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // nearly all are units, and boxing each would cost an allocation
pub enum Piece {
    /// An instruction or trap.
    Unit(Unit),
    /// State from outside.
    Init(Init),
    /// What memory held when it was read on the bus: address, bytes, value.
    Learn(u64, u64, u64),
    /// Reset.
    Reset,
    /// Real time.
    Time(u64),
    /// Something is missing: nothing is known any more.
    Gap,
}

/// Gathers events into pieces. An instruction is complete when the next one begins.
#[derive(Debug, Default)]
pub struct Gather {
    waiting: Option<Unit>,
    /// Pieces that came behind the waiting unit and do not belong to it.
    behind: Vec<Piece>,
    group: u64,
    last_offset: Option<u64>,
    number: u64,
}

impl Gather {
    /// Takes an event; gives finished pieces to `put`.
    pub fn event(&mut self, event: &Event, batch: &Batch, put: &mut impl FnMut(Piece)) {
        if self.last_offset != Some(event.offset) {
            self.group += u64::from(self.last_offset.is_some());
            self.last_offset = Some(event.offset);
        }
        match &event.kind {
            EventKind::Step(step) => self.step(event, step, batch, put),
            EventKind::Trap(n) => self.trap(event, &batch.traps[*n as usize], put),
            EventKind::Context(n) => {
                let Some(privilege) = batch.contexts[*n as usize].privilege else { return };
                match &mut self.waiting {
                    Some(unit) if self.behind.is_empty() => unit.privilege = Some(privilege),
                    _ => self.push(Piece::Init(Init { privilege: Some(privilege), ..Init::default() }), put),
                }
            }
            EventKind::State(n) => match batch.states[*n as usize] {
                State::Contents(accesses) => self.contents(event, accesses, batch, put),
                State::Bus(bus) => {
                    if let (MemKind::Read, Value::Word(value)) = (bus.kind, bus.returned) {
                        self.push(Piece::Learn(bus.address, bus.size, value), put);
                    }
                }
                State::PageWalk(_) => {}
            },
            EventKind::Time(Time { kind: TimeKind::Timestamp, value: Some(time), .. }) => {
                self.push(Piece::Time(*time), put);
            }
            EventKind::Gap(_) | EventKind::Run(_) => {
                self.flush(None, put);
                put(Piece::Gap);
            }
            EventKind::Time(_) | EventKind::Mark(_) | EventKind::Foreign(_) => {}
        }
    }

    /// The trace ended.
    pub fn finish(&mut self, put: &mut impl FnMut(Piece)) {
        self.flush(None, put);
    }

    fn push(&mut self, piece: Piece, put: &mut impl FnMut(Piece)) {
        if self.waiting.is_some() { self.behind.push(piece) } else { put(piece) }
    }

    fn flush(&mut self, next_pc: Option<u64>, put: &mut impl FnMut(Piece)) {
        if let Some(mut unit) = self.waiting.take() {
            // The address that the next instruction has says more than the trap's own word.
            let told = unit.trap.and_then(|trap| trap.to);
            unit.next_pc = next_pc.or(told).or(unit.next_pc);
            put(Piece::Unit(unit));
        }
        self.behind.drain(..).for_each(put);
    }

    fn step(&mut self, event: &Event, step: &Step, batch: &Batch, put: &mut impl FnMut(Piece)) {
        self.adopt_state(step, batch);
        self.flush(step.pc, put);
        let extra = batch.extra_of(step).copied().unwrap_or_default();
        let encoding =
            (step.length > 0 && !extra.placeholder).then_some((step.pc, step.encoding, step.length));
        let mut unit = Unit {
            offset: event.offset,
            group: self.group,
            number: self.number,
            step: encoding,
            pc: step.pc,
            attempted: step.outcome == Outcome::Attempted,
            physical_pc: extra.physical_pc,
            next_pc: extra.target,
            ..Unit::default()
        };
        self.number += 1;
        let mut before = Vec::new();
        for access in batch.regs_of(step.accesses) {
            let Some(write) = read_of(access) else { continue };
            match access.role {
                RegRole::Destination if write.known == u64::MAX => unit.writes.push(write),
                RegRole::State if write.known == u64::MAX => before.push(write),
                RegRole::Destination | RegRole::State => {}
                RegRole::Source => unit.reads.push(write),
                RegRole::Ready => {}
            }
        }
        if !before.is_empty() {
            put(Piece::Init(Init { writes: before, ..Init::default() }));
        }
        unit.accesses.extend(batch.mem_of(step.accesses).iter().map(|access| access_of(access, batch)));
        self.waiting = Some(unit);
    }

    /// Formats that tell state only with the next instruction: what a trap without an instruction wrote.
    fn adopt_state(&mut self, step: &Step, batch: &Batch) {
        if let Some(unit) = &mut self.waiting
            && unit.step.is_none()
            && unit.trap.is_some()
            && unit.writes.is_empty()
        {
            let state = batch.regs_of(step.accesses).iter();
            let state = state.filter(|a| a.role == RegRole::State && a.reg.class == RegClass::Csr);
            unit.writes.extend(state.filter_map(write_of));
        }
    }

    fn trap(&mut self, event: &Event, trap: &Trap, put: &mut impl FnMut(Piece)) {
        match trap.kind {
            TrapKind::Reset => {
                self.flush(None, put);
                put(Piece::Reset);
                return;
            }
            TrapKind::Return => {
                if let Some(unit) = &mut self.waiting {
                    unit.next_pc = unit.next_pc.or(trap.to);
                }
                return;
            }
            _ => {}
        }
        let there = |unit: &Unit| trap.from.is_some() && trap.from == unit.pc;
        // Some formats have an attempt, or a no-op, of the instruction that an interrupt came before.
        if let Some(unit) = &mut self.waiting
            && trap.kind == TrapKind::Interrupt
            && unit.offset != event.offset
            && unit.attempted
            && unit.trap.is_none()
            && unit.writes.is_empty()
            && self.behind.is_empty()
            && there(unit)
        {
            unit.step = None;
            unit.trap = Some(*trap);
            return;
        }
        let own = self.waiting.as_ref().is_some_and(|unit| {
            self.behind.is_empty()
                && unit.trap.is_none()
                && trap.kind != TrapKind::Interrupt
                && (unit.offset == event.offset || there(unit))
        });
        let same_group = self.waiting.as_ref().is_some_and(|unit| unit.offset == event.offset);
        if !(own || same_group && self.behind.is_empty()) {
            self.flush(trap.from, put);
            self.waiting = Some(Unit {
                offset: event.offset,
                group: self.group,
                number: self.number,
                pc: trap.from,
                ..Unit::default()
            });
        }
        if let Some(unit) = &mut self.waiting {
            unit.trap = Some(*trap);
        }
    }

    fn contents(&mut self, event: &Event, accesses: Accesses, batch: &Batch, put: &mut impl FnMut(Piece)) {
        let writes: Vec<UnitWrite> = batch.regs_of(accesses).iter().filter_map(write_of).collect();
        // State at a trap without an instruction is what the trap wrote.
        if let Some(unit) = &mut self.waiting
            && unit.step.is_none()
            && unit.offset == event.offset
        {
            unit.writes.extend(writes);
            return;
        }
        let memory = batch.mem_of(accesses).iter().filter_map(|access| match access.data {
            Value::Word(data) if access.size <= 8 => Some((access.address, access.size, data)),
            _ => None,
        });
        let init = Init { writes, memory: memory.collect(), privilege: None };
        self.push(Piece::Init(init), put);
    }
}

fn write_of(access: &RegAccess) -> Option<UnitWrite> {
    read_of(access).filter(|write| write.known == u64::MAX)
}

fn read_of(access: &RegAccess) -> Option<UnitWrite> {
    let Value::Word(value) = access.value else { return None };
    let known = access.known.unwrap_or(u64::MAX);
    Some(UnitWrite { reg: access.reg, update: access.update, value, known })
}

fn access_of(access: &MemAccess, batch: &Batch) -> UnitAccess {
    let word = |value| match value {
        Value::Word(word) => Some(word),
        _ => None,
    };
    let extra = batch.mem_extra_of(access).copied().unwrap_or_default();
    UnitAccess {
        kind: access.kind,
        address: access.address,
        size: access.size,
        data: word(access.data),
        stored: word(extra.stored),
        physical: extra.physical,
        inferred: access.inferred,
    }
}

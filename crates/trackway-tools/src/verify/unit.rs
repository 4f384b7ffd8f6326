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

/// What comes out of the events. Borrowed: the same buffers serve every instruction.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// An instruction or trap.
    Unit(&'a Unit),
    /// What stands between them.
    Between(&'a Between),
}

/// What happens between instructions.
#[derive(Clone, Debug)]
pub enum Between {
    /// State from outside.
    Init(Init),
    /// What memory held when it was read on the bus: address, bytes, value.
    Learn(u64, u64, u64),
    /// Reset.
    Reset,
    /// Real time.
    Time(u64),
    /// Something is missing: nothing is known any more. With the bytes that were skipped, where that is why.
    Gap(u64),
}

/// Gathers events into pieces. An instruction is complete when the next one begins.
#[derive(Debug, Default)]
pub struct Gather {
    /// The unit that waits to be complete, if `waits`; else the buffers of the next one.
    unit: Unit,
    waits: bool,
    /// What came behind the waiting unit and does not belong to it.
    behind: Vec<Between>,
    group: u64,
    last_offset: Option<u64>,
    number: u64,
}

impl Gather {
    /// Takes an event; gives finished pieces to `put`.
    #[inline]
    pub fn event(&mut self, event: &Event, batch: &Batch, put: &mut impl FnMut(Piece<'_>)) {
        if self.last_offset != Some(event.offset) {
            self.group += u64::from(self.last_offset.is_some());
            self.last_offset = Some(event.offset);
        }
        match &event.kind {
            EventKind::Step(step) => self.step(event, step, batch, put),
            kind => self.other(event, kind, batch, put),
        }
    }

    fn other(&mut self, event: &Event, kind: &EventKind, batch: &Batch, put: &mut impl FnMut(Piece<'_>)) {
        match kind {
            EventKind::Trap(n) => self.trap(event, &batch.traps[*n as usize], put),
            EventKind::Context(n) => {
                let Some(privilege) = batch.contexts[*n as usize].privilege else { return };
                match self.own() {
                    Some(unit) => unit.privilege = Some(privilege),
                    None => {
                        let init = Init { privilege: Some(privilege), ..Init::default() };
                        self.push(Between::Init(init), put);
                    }
                }
            }
            EventKind::State(n) => match batch.states[*n as usize] {
                State::Contents(accesses) => self.contents(event, accesses, batch, put),
                State::Bus(bus) => {
                    if let (MemKind::Read, Value::Word(value)) = (bus.kind, bus.returned) {
                        self.push(Between::Learn(bus.address, bus.size, value), put);
                    }
                }
                State::PageWalk(_) => {}
            },
            EventKind::Time(Time { kind: TimeKind::Timestamp, value: Some(time), .. }) => {
                self.push(Between::Time(*time), put);
            }
            EventKind::Gap(n) => {
                self.flush(None, put);
                put(Piece::Between(&Between::Gap(batch.gaps[*n as usize].bytes.unwrap_or(0))));
            }
            EventKind::Run(_) => {
                self.flush(None, put);
                put(Piece::Between(&Between::Gap(0)));
            }
            EventKind::Step(_) | EventKind::Time(_) | EventKind::Mark(_) | EventKind::Foreign(_) => {}
        }
    }

    /// The trace ended.
    pub fn finish(&mut self, put: &mut impl FnMut(Piece<'_>)) {
        self.flush(None, put);
    }

    /// The unit that waits.
    fn waiting(&mut self) -> Option<&mut Unit> {
        self.waits.then_some(&mut self.unit)
    }

    /// The unit that waits, if nothing came behind it: what comes now may be its own.
    fn own(&mut self) -> Option<&mut Unit> {
        (self.waits && self.behind.is_empty()).then_some(&mut self.unit)
    }

    fn push(&mut self, between: Between, put: &mut impl FnMut(Piece<'_>)) {
        if self.waits { self.behind.push(between) } else { put(Piece::Between(&between)) }
    }

    #[inline]
    fn flush(&mut self, next_pc: Option<u64>, put: &mut impl FnMut(Piece<'_>)) {
        if std::mem::take(&mut self.waits) {
            // The address that the next instruction has says more than the trap's own word.
            let told = self.unit.trap.as_ref().and_then(|trap| trap.to);
            self.unit.next_pc = next_pc.or(told).or(self.unit.next_pc);
            put(Piece::Unit(&self.unit));
        }
        if !self.behind.is_empty() {
            self.behind.iter().for_each(|between| put(Piece::Between(between)));
            self.behind.clear();
        }
    }

    /// A new unit that waits, in the buffers of the last one.
    #[inline]
    fn begin(&mut self, event: &Event, pc: Option<u64>) -> &mut Unit {
        let unit = &mut self.unit;
        unit.writes.clear();
        unit.reads.clear();
        unit.accesses.clear();
        (unit.offset, unit.group, unit.number) = (event.offset, self.group, self.number);
        (unit.step, unit.pc, unit.physical_pc, unit.next_pc) = (None, pc, None, None);
        (unit.attempted, unit.trap, unit.privilege) = (false, None, None);
        self.waits = true;
        unit
    }

    #[inline]
    fn step(&mut self, event: &Event, step: &Step, batch: &Batch, put: &mut impl FnMut(Piece<'_>)) {
        self.adopt_state(step, batch);
        self.flush(step.pc, put);
        let unit = self.begin(event, step.pc);
        let (mut placeholder, mut before) = (false, Vec::new());
        if let Some(extra) = batch.extra_of(step) {
            (unit.physical_pc, unit.next_pc) = (extra.physical_pc, extra.target);
            placeholder = extra.placeholder;
        }
        if step.length > 0 && !placeholder {
            unit.step = Some((step.pc, step.encoding, step.length));
        }
        unit.attempted = step.outcome == Outcome::Attempted;
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
        let placed = batch.mem_of(step.accesses).iter().filter(|access| !access.unplaced);
        unit.accesses.extend(placed.map(|access| access_of(access, batch)));
        self.number += 1;
        if !before.is_empty() {
            put(Piece::Between(&Between::Init(Init { writes: before, ..Init::default() })));
        }
    }

    /// Formats that tell state only with the next instruction: what a trap without an instruction wrote.
    #[inline]
    fn adopt_state(&mut self, step: &Step, batch: &Batch) {
        if let Some(unit) = self.waiting()
            && unit.step.is_none()
            && unit.trap.is_some()
            && unit.writes.is_empty()
        {
            let state = batch.regs_of(step.accesses).iter();
            let state = state.filter(|a| a.role == RegRole::State && a.reg.class == RegClass::Csr);
            unit.writes.extend(state.filter_map(write_of));
        }
    }

    fn trap(&mut self, event: &Event, trap: &Trap, put: &mut impl FnMut(Piece<'_>)) {
        match trap.kind {
            TrapKind::Reset => {
                self.flush(None, put);
                put(Piece::Between(&Between::Reset));
                return;
            }
            TrapKind::Return => {
                if let Some(unit) = self.waiting() {
                    unit.next_pc = unit.next_pc.or(trap.to);
                }
                return;
            }
            _ => {}
        }
        let there = |unit: &Unit| trap.from.is_some() && trap.from == unit.pc;
        if let Some(unit) = self.own() {
            let same_group = unit.offset == event.offset;
            // Some formats have an attempt, or a no-op, of the instruction that an interrupt came before.
            if trap.kind == TrapKind::Interrupt
                && !same_group
                && unit.attempted
                && unit.trap.is_none()
                && unit.writes.is_empty()
                && there(unit)
            {
                unit.step = None;
                unit.trap = Some(*trap);
                return;
            }
            let own = unit.trap.is_none() && trap.kind != TrapKind::Interrupt && there(unit);
            if same_group || own {
                unit.trap = Some(*trap);
                return;
            }
        }
        self.flush(trap.from, put);
        self.begin(event, trap.from).trap = Some(*trap);
    }

    fn contents(
        &mut self,
        event: &Event,
        accesses: Accesses,
        batch: &Batch,
        put: &mut impl FnMut(Piece<'_>),
    ) {
        let writes = batch.regs_of(accesses).iter().filter_map(write_of);
        // State at a trap without an instruction is what the trap wrote.
        if let Some(unit) = self.waiting()
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
        let init = Init { writes: writes.collect(), memory: memory.collect(), privilege: None };
        self.push(Between::Init(init), put);
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
    let extra = batch.mem_extra_of(access);
    UnitAccess {
        kind: access.kind,
        address: access.address,
        size: access.size,
        data: word(access.data),
        stored: extra.and_then(|extra| word(extra.stored)),
        physical: extra.and_then(|extra| extra.physical),
        inferred: access.inferred,
    }
}

//! Groups to events.

use trackway_core::*;
use trackway_isa::riscv::{self, Inst};
use trackway_isa::{Control, Flow, Recent, flow};

use super::access::{bus, flush, response, set};
use crate::config::{Config, ID, Profile, Widths};
use crate::group::Group;
use crate::record::{Record, foreign_code, number};
use crate::register;
use crate::registers::Registers;
use crate::view::{Kind, NextPc, View};

/// Turns groups into events. All state of lifting is here.
#[derive(Clone, Debug)]
pub(crate) struct Lifter {
    isa: Isa,
    pub(super) profile: Profile,
    reset_pc: Option<u64>,
    pub(super) xlen: u8,
    /// Values that increments are relative to.
    pub(crate) registers: Registers,
    /// Address of the next instruction, if known.
    pub(crate) pc: Option<u64>,
    /// Recently decoded instructions.
    decoded: Recent<u32, Option<Inst>, 1024>,
    /// The effect on the flow of those that have one.
    controls: Recent<u32, Control, 1024>,
}

const ECALL: u32 = 0x73;

/// Most registers or memory accesses of one state event.
const LARGEST_STATE: usize = 0x8000;

impl Lifter {
    pub(crate) fn new(config: Config, widths: &Widths) -> Self {
        Lifter {
            isa: config.isa(),
            profile: config.profile,
            reset_pc: config.reset_pc,
            xlen: widths.xlen,
            registers: Registers::new(widths),
            pc: config.reset_pc,
            decoded: Recent::default(),
            controls: Recent::default(),
        }
    }

    /// The effect of an instruction on the flow.
    #[inline(always)]
    pub(super) fn control(&mut self, encoding: u32) -> Control {
        if riscv::is_plain(encoding) {
            Control::Sequential
        } else if riscv::is_branch(encoding) {
            Control::Branch
        } else {
            *self.controls.get(encoding, || flow(self.isa, 0, encoding).control)
        }
    }

    #[inline]
    pub(crate) fn decode(&mut self, encoding: u32) -> Option<Inst> {
        *self.decoded.get(encoding, || riscv::decode(self.isa, encoding))
    }

    /// Forgets all state, since something is missing.
    pub(super) fn forget(&mut self) {
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
        let after = view.after(self.pc, self.xlen);
        let explicit = match view.pc {
            Some(NextPc::To(pc)) => Some(pc),
            Some(NextPc::Increment) => after,
            None => None,
        };
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
        let flow = if riscv::is_plain(encoding) {
            Flow::sequential(length)
        } else {
            flow(self.isa, pc.unwrap_or(0), encoding)
        };
        let trapped = view.trap.is_some();
        let control = if trapped { Control::Sequential } else { flow.control };
        let attempted = trapped || !flow.control.retires();
        let taken = match (control, explicit, after) {
            (Control::Branch, Some(next), Some(after)) => Some(next != after),
            // A branch without a known pc has an unknown outcome.
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

        // Without a pc item (partial trace) a sequential instruction still leads to the next one.
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
            // A partial trace omits the trap; the instruction implies it.
            let syscall = (flow.control == Control::SystemCall).then_some(Syscall::Ecall);
            let trap = Trap { from: pc, to: explicit, syscall, ..Trap::new(TrapKind::Exception) };
            batch.push_trap(group.offset, trap);
        }
        self.privilege(group, view, batch);
        Ok(())
    }

    /// Emits the registers that the instruction wrote.
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
        // All increments of a group are relative to the state before it.
        for record in &group.records {
            self.register(record, RegRole::Destination, batch);
        }
        for record in &group.records {
            self.registers.apply(record);
        }
    }

    /// Lifts a group without an instruction: an interrupt, a fetch fault, or an unexplained jump.
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
        let is_call = interrupt == Some(false) && encoding == Some(ECALL) && matches!(cause, Some(8..=11));
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

    /// Lifts state outside instructions: registers, pc, memory.
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
            if batch.regs.len() - begun.regs_start as usize >= LARGEST_STATE
                || batch.mem.len() - begun.mem_start as usize >= LARGEST_STATE
            {
                // A large initialization becomes several events.
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

    /// Emits addresses and store data without an instruction unchanged.
    fn foreign(&self, group: &Group, batch: &mut Batch) {
        for record in &group.records {
            let (identifier, value) = match *record {
                Record::PhysicalAddress(a) => (number::PHYSICAL_ADDRESS, a),
                Record::EffectiveAddress(a) => (number::EFFECTIVE_ADDRESS, a),
                Record::StoreData { size, data } => (number::STORE_DATA + size, data),
                _ => continue,
            };
            let data = batch.add_bytes(&value.to_le_bytes());
            batch.push(
                group.offset,
                EventKind::Foreign(Foreign { format: ID, code: foreign_code(identifier), data }),
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

    /// An address in the width of XLEN.
    #[inline(always)]
    pub(super) fn narrow(&self, address: u64) -> u64 {
        if self.xlen == 4 { address & 0xffff_ffff } else { address }
    }
}

#[cold]
fn too_many(group: &Group) -> Error {
    let found = group.records.len() as u64;
    ErrorKind::Unsupported { found }.at(group.offset, "group", "items", "Tandem 3")
}

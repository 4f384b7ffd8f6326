//! Records of RISC-V cores to events.
//!
//! A record is lifted when the next one is known: where a branch went and whether a trap came between follows from
//! the address of the next instruction.

use trackway_core::*;
use trackway_isa::riscv::{self, Class, Inst};
use trackway_isa::{Control, Flow, Recent};

use super::handlers::Handlers;
use super::record::{Access, Retired, Taken};

const ECALL: u32 = 0x73;

/// Turns records into events.
#[derive(Clone, Debug)]
pub(crate) struct Lifter {
    pub(crate) isa: Isa,
    /// The privilege of the last context event.
    pub(crate) privilege: Option<Privilege>,
    /// Where traps lead.
    handlers: Handlers,
    /// Recently decoded instructions.
    decoded: Recent<u32, Option<Inst>, 1024>,
}

impl Lifter {
    pub(crate) fn new(isa: Isa, handlers: Handlers) -> Self {
        Lifter { isa, privilege: None, handlers, decoded: Recent::default() }
    }

    fn decode(&mut self, encoding: u32) -> Option<Inst> {
        let isa = self.isa;
        *self.decoded.get(encoding, || riscv::decode(isa, encoding))
    }

    /// True if a trap may lead there, by all that was learnt.
    pub(crate) fn is_handler(&self, pc: u64) -> bool {
        self.handlers.has(pc, u64::MAX)
    }

    /// Lifts a record; `next` is the one after it, if that is known and nothing is missing between.
    pub(crate) fn lift(&mut self, record: &Retired, next: Option<&Retired>, batch: &mut Batch) {
        if let Some(privilege) = record.privilege
            && self.privilege != Some(privilege)
        {
            self.privilege = Some(privilege);
            let context = Context { privilege: Some(privilege), ..Context::default() };
            batch.push_context(record.offset, context);
        }
        if record.is_trap_only {
            if let Some(taken) = record.trap {
                self.trap(record, taken, next, batch);
            }
            if record.halts {
                batch.push(record.offset, EventKind::Mark(Mark::new(MarkKind::Halt)));
            }
            return;
        }
        self.step(record, next, batch);
    }

    fn step(&mut self, record: &Retired, next: Option<&Retired>, batch: &mut Batch) {
        let Retired { pc, encoding, length, offset, .. } = *record;
        let accesses = batch.begin_accesses();
        self.registers(record, batch);
        for csr in record.regs.iter().filter(|access| access.reg.class == RegClass::Csr) {
            self.handlers.learn(csr, offset);
        }
        if !record.mem.is_empty() {
            self.memory(record, batch);
        }
        // A line has less than 64 KiB: no more accesses than an event can have.
        let accesses = batch.end_accesses(accesses).unwrap_or_default();

        let flow = if length == 0 || riscv::is_plain(encoding) {
            Flow::sequential(length)
        } else {
            riscv::flow(self.isa, pc.unwrap_or(0), encoding)
        };
        let attempted = record.trap.is_some() || !flow.control.retires();
        let control = if attempted { Control::Sequential } else { flow.control };
        let leads = if attempted { None } else { self.leads(record, &flow, next) };
        let taken = match control {
            Control::Branch => leads.map(|to| Some(to) != self.after(record)),
            control if control.is_transfer() => Some(true),
            _ => None,
        };
        let target = leads.filter(|_| taken == Some(true));
        let extra = match target {
            None => None,
            target => batch.add_extra(StepExtra { target, ..StepExtra::default() }),
        };
        let outcome = if attempted { Outcome::Attempted } else { Outcome::Retired };
        batch.push(offset, EventKind::Step(Step { pc, encoding, accesses, extra, length, outcome, taken }));

        if attempted {
            // The instruction implies the trap where the log does not mention it.
            let unsaid = Taken { kind: TrapKind::Exception, cause: None, value: None };
            self.trap(record, record.trap.unwrap_or(unsaid), next, batch);
        } else if control == Control::TrapReturn {
            batch.push_trap(offset, Trap { from: pc, to: leads, ..Trap::new(TrapKind::Return) });
        }
        if record.halts {
            batch.push(offset, EventKind::Mark(Mark::new(MarkKind::Halt)));
        }
        if let Some(next) = next {
            self.between(record, (!attempted).then_some(leads), next, batch);
        }
    }

    /// The address after the instruction.
    fn after(&self, record: &Retired) -> Option<u64> {
        let pc = record.pc.filter(|_| record.length > 0)?;
        Some(narrow(self.isa, pc.wrapping_add(record.length.into())))
    }

    /// Where the instruction itself went: the next one in the log may be that of a trap handler.
    fn leads(&self, record: &Retired, flow: &Flow, next: Option<&Retired>) -> Option<u64> {
        if record.next.is_some() {
            return record.next;
        }
        let after = self.after(record);
        let following = next.and_then(|next| next.pc);
        match flow.control {
            Control::Branch => following.filter(|to| Some(*to) == after || Some(*to) == flow.target),
            control if control.is_direct() => flow.target.filter(|_| record.pc.is_some()),
            control if control.is_indirect() => following.filter(|_| !self.is_trap(record, next)),
            _ => after,
        }
    }

    /// Does the next record begin a trap handler, so that it is not where this one leads?
    fn is_trap(&self, record: &Retired, next: Option<&Retired>) -> bool {
        next.is_some_and(|next| {
            next.begins_handler
                || rises(record, next)
                || next.pc.is_some_and(|pc| self.handlers.has(pc, next.offset))
        })
    }

    /// Adds the events between two records: a trap that the log does not mention, or a piece that is missing. `leads` is where
    /// the first leads if it retired.
    fn between(&self, record: &Retired, leads: Option<Option<u64>>, next: &Retired, batch: &mut Batch) {
        if let (Some(order), Some(later)) = (record.order, next.order)
            && later > order.saturating_add(1)
        {
            let gap = Gap {
                from: record.pc,
                to: next.pc,
                instructions: Some(later - order - 1),
                ..Gap::new(GapReason::Unexplained)
            };
            batch.push_gap(next.offset, gap);
            return;
        }
        let Some(leads) = leads else { return };
        let elsewhere = leads.is_some() && next.pc.is_some() && leads != next.pc;
        let unsaid = leads.is_none() && record.length > 0 && self.is_trap(record, Some(next));
        if next.is_trap_only || !(elsewhere || unsaid) {
            return;
        }
        let kind = if next.begins_handler { TrapKind::Interrupt } else { TrapKind::Unknown };
        // Where it is not known where an instruction led, the next address may be that, and not of a handler.
        let to = next.pc.filter(|_| elsewhere);
        batch.push_trap(next.offset, Trap { from: leads, to, ..Trap::new(kind) });
    }

    fn trap(&self, record: &Retired, taken: Taken, next: Option<&Retired>, batch: &mut Batch) {
        let Taken { kind, cause, value } = taken;
        let is_call = record.length > 0 && record.encoding == ECALL && kind == TrapKind::Exception;
        let to = next.and_then(|next| next.pc);
        let syscall = is_call.then_some(Syscall::Ecall);
        let trap = Trap { cause, value, from: record.pc, to, syscall, ..Trap::new(kind) };
        batch.push_trap(record.offset, trap);
    }

    #[inline]
    fn registers(&self, record: &Retired, batch: &mut Batch) {
        if record.bytes.is_empty() {
            batch.regs.extend_from_slice(&record.regs);
            return;
        }
        let start = batch.add_bytes(&record.bytes).start;
        batch.regs.extend(record.regs.iter().map(|access| match access.value {
            Value::Bytes(span) => {
                RegAccess { value: Value::Bytes(Span { start: start + span.start, ..span }), ..*access }
            }
            _ => *access,
        }));
    }

    /// Sizes that the log does not have follow from the instruction; the data of a load is in the register written.
    fn memory(&mut self, record: &Retired, batch: &mut Batch) {
        let inst = if record.length > 0 { self.decode(record.encoding) } else { None };
        let class = inst.map(|inst| inst.op.class());
        let written = inst.and_then(|inst| {
            let number = inst.rd.into();
            record.written(RegClass::Int, number).or_else(|| record.written(RegClass::Float, number))
        });
        if let (Some(Class::Amo(size)), [load, store]) = (class, &record.mem[..])
            && (load.kind, store.kind) == (MemKind::Read, MemKind::Write)
        {
            let both = Access {
                kind: MemKind::ReadWrite,
                size,
                data: load.data.or(written),
                stored: store.data,
                ..*load
            };
            push(&both, load.size == 0, batch);
            return;
        }
        let one = record.mem.len() == 1;
        for access in &record.mem {
            if access.size > 0 {
                push(access, false, batch);
                continue;
            }
            let size = class.and_then(Class::memory).and_then(|memory| memory.size).unwrap_or(0);
            let is_scalar = matches!(class, Some(Class::Load(_) | Class::LoadReserved(_)));
            let data = written.filter(|_| one && is_scalar && access.kind == MemKind::Read);
            push(&Access { size, data: access.data.or(data), ..*access }, true, batch);
        }
    }
}

fn push(access: &Access, inferred: bool, batch: &mut Batch) {
    let word = |data: Option<u64>| {
        data.map_or(Value::Unknown, |data| Value::Word(mask(data, 8 * u32::from(access.size.min(8)))))
    };
    let extra = match access.stored {
        None => None,
        stored => batch.add_mem_extra(MemExtra { stored: word(stored), ..MemExtra::default() }),
    };
    let plain = MemAccess::new(access.kind, access.address, access.size.into(), word(access.data));
    batch.mem.push(MemAccess { extra, inferred, ..plain });
}

/// An address in the width of the instruction set.
pub(crate) fn narrow(isa: Isa, address: u64) -> u64 {
    if isa == Isa::Rv32 { address & 0xffff_ffff } else { address }
}

/// Does the privilege rise from one record to the next?
pub(crate) fn rises(record: &Retired, next: &Retired) -> bool {
    let rank = |privilege: Option<Privilege>| match privilege? {
        Privilege::U | Privilege::VU => Some(0),
        Privilege::S | Privilege::VS => Some(1),
        Privilege::H => Some(2),
        Privilege::M => Some(3),
        _ => None,
    };
    rank(record.privilege).zip(rank(next.privilege)).is_some_and(|(now, then)| then > now)
}

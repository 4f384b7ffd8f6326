//! Memory accesses, bus transactions and memory items to groups.

use std::io::Write;

use trackway_core::*;
use trackway_isa::riscv::{self, Class, Inst};

use super::{Lower, Waiting};
use crate::config::{ID, Profile};
use crate::group::{Frame, Group};
use crate::mem_op::MemOp;
use crate::record::{Record, foreign_code, number};
use crate::register;

impl<W: Write> Lower<W> {
    /// One access becomes addresses and store data; several, and data without an item, become memory requests.
    pub(super) fn memory(&mut self, step: &Step, batch: &Batch, waiting: &mut Waiting) {
        let accesses = batch.mem_of(step.accesses);
        if accesses.is_empty() {
            return;
        }
        if accesses.iter().any(|access| access.unplaced) {
            return;
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
        let extra = batch.mem_extra_of(first).copied().unwrap_or_default();
        let stored = match first.kind {
            _ if pair => accesses[1].data,
            MemKind::ReadWrite => extra.stored,
            MemKind::Read | MemKind::Faulting | MemKind::Unknown => Value::Unknown,
            _ => first.data,
        };
        let log = first.size.checked_ilog2().filter(|log| *log <= 3 && 1 << log == first.size);
        let store = self.store_data(inst, stored, step, batch).zip(log);
        if let Some((data, log)) = store {
            let data = mask(data, 8 << log);
            waiting.memory.push(Record::StoreData { size: log as u8, data });
        }
        if let Some(physical) = extra.physical {
            waiting.memory.push(Record::PhysicalAddress(physical));
        }
        waiting.memory.push(Record::EffectiveAddress(self.narrow(first.address)));
        self.load_data(first, inst, extra.physical, log, waiting);
    }

    /// The value of the store data item.
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
            // The encoders send a field for LR too; it has no meaning.
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

    /// Load data usually follows from the register written; otherwise a memory request carries it.
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
            return;
        }
        let Some(log) = log.filter(|_| self.config.profile == Profile::Spec) else { return };
        let (size, data) = (log as u8, mask(data, 8 << log));
        let address = physical.unwrap_or(self.narrow(access.address));
        waiting.memory.extend([
            Record::MemoryRequest { address, op: MemOp::LOAD, size, data: 0 },
            Record::MemoryResponse { size, result: 0, data: Some(data) },
        ]);
    }

    /// An access as memory requests of at most 8 bytes.
    pub(super) fn request(&mut self, access: &MemAccess, batch: &Batch, waiting: &mut Waiting) {
        let (op, sends) = match access.kind {
            MemKind::Read => (MemOp::LOAD, false),
            MemKind::Write => (MemOp::STORE, true),
            MemKind::ReadWrite => return self.exchange(access, batch, waiting),
            _ => return,
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
            return;
        }
        let mut at = 0;
        while at < access.size {
            // The largest aligned power of two in the rest.
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

    /// A read-modify-write whose result is known: whatever it computed, memory was swapped with it.
    fn exchange(&mut self, access: &MemAccess, batch: &Batch, waiting: &mut Waiting) {
        let stored = batch.mem_extra_of(access).map(|extra| extra.stored);
        let log = access.size.checked_ilog2().filter(|log| *log <= 3 && 1 << log == access.size);
        let (Value::Word(loaded), Some(Value::Word(stored)), Some(log)) = (access.data, stored, log) else {
            return;
        };
        let (size, address) = (log as u8, self.narrow(access.address));
        waiting.memory.extend([
            Record::MemoryRequest { address, op: MemOp::AMOSWAP, size, data: stored },
            Record::MemoryResponse { size, result: 0, data: Some(loaded) },
        ]);
    }

    /// A bus transaction is written outside groups, since it does not belong to an instruction.
    pub(super) fn bus(&mut self, bus: &Bus, facts: Vec<Found>) -> Result<()> {
        let words = (bus.data, bus.returned);
        let log = bus.size.checked_ilog2().filter(|log| *log <= 3 && 1 << log == bus.size);
        let op = match (bus.kind, bus.initiator, bus.attributes) {
            (kind, 0, op) if op <= MemOp::LAST.into() && MemOp(op as u8).kind() == kind => MemOp(op as u8),
            (MemKind::Read, ..) => MemOp::LOAD,
            (MemKind::Write, ..) => MemOp::STORE,
            _ => return self.lose(facts),
        };
        let Some(log) = log else { return self.lose(facts) };
        let cut = |value| match value {
            Value::Word(word) => Some(mask(word, 8 << log)),
            _ => None,
        };
        let size = log as u8;
        let (sent, returned) = (cut(words.0), cut(words.1));
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
        self.emit_with(Group { offset: 0, frame: Frame::Outside, records }, facts)
    }

    /// Nothing is written for these facts.
    fn lose(&mut self, facts: Vec<Found>) -> Result<()> {
        self.tally.wrote(None, facts);
        Ok(())
    }

    /// Additional state that was kept from a tandem trace.
    pub(super) fn foreign(&mut self, item: &Foreign, batch: &Batch) -> Result<()> {
        const PHYSICAL: u32 = foreign_code(number::PHYSICAL_ADDRESS);
        const EFFECTIVE: u32 = foreign_code(number::EFFECTIVE_ADDRESS);
        const STORE: u32 = foreign_code(number::STORE_DATA);
        const LAST_STORE: u32 = STORE + 3;
        let value = batch.words_of(item.data).next();
        let record = match (item.format, item.code, value) {
            (ID, PHYSICAL, Some(a)) => Record::PhysicalAddress(a),
            (ID, EFFECTIVE, Some(a)) => Record::EffectiveAddress(a),
            (ID, code @ STORE..=LAST_STORE, Some(data)) => {
                Record::StoreData { size: (code - STORE) as u8, data }
            }
            _ => return Ok(()),
        };
        self.emit(Group { offset: 0, frame: Frame::Outside, records: vec![record] })
    }
}

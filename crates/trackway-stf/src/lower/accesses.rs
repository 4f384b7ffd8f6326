//! Registers, memory, page walks and bus transfers to records.

use trackway_core::*;

use super::Lower;
use crate::fields::{Entries, Register};
use crate::record::Record;
use crate::values::{REG_PC, access, features, reg_class, reg_role};

impl Lower {
    #[inline(always)]
    pub(super) fn register(&mut self, access: &RegAccess, batch: &Batch, out: &mut Vec<u8>) {
        let (role, class) = (role(access.role), class(access.reg.class));
        let (Value::Word(word), RegUpdate::Set, None) = (access.value, access.update, access.known) else {
            return self.rare_register(access, batch, out);
        };
        if role == NONE || class == NONE || class == reg_class::VECTOR {
            return self.rare_register(access, batch, out);
        }
        self.write_register(access.reg, role, &word.to_le_bytes(), out);
    }

    #[inline]
    fn write_register(&mut self, reg: Reg, role: u8, content: &[u8], out: &mut Vec<u8>) {
        self.counts.registers += 1;
        self.features |=
            if role == reg_role::STATE { features::REGISTER_STATE } else { features::OPERAND_VALUE };
        let number = if reg.class == RegClass::Pc { REG_PC } else { reg.number };
        let register = Register { number, meta: role << 4 | class(reg.class), content };
        Record::InstReg { register }.write(out, &self.layout);
    }

    /// Registers that are wide, partly known, unknown, or only ready.
    #[cold]
    fn rare_register(&mut self, access: &RegAccess, batch: &Batch, out: &mut Vec<u8>) {
        let class = class(access.reg.class);
        if access.role == RegRole::Ready {
            self.counts.registers += 1;
            return Record::InstReadyReg { number: access.reg.number }.write(out, &self.layout);
        }
        let content = match access.value {
            _ if class == NONE => Err("registers of other files"),
            _ if access.update != RegUpdate::Set || access.known.is_some() => Err("partly known registers"),
            Value::Unknown => Err("registers without a value"),
            Value::Word(word) => self.wide(class, &word.to_le_bytes()).ok_or("wide registers"),
            Value::Bytes(span) => self.wide(class, batch.bytes_of(span)).ok_or("wide registers"),
        };
        match content {
            Ok(content) => self.write_register(access.reg, role(access.role), &content, out),
            Err(what) => self.losses.add(Fate::Dropped, what, 1),
        }
    }

    /// Content in the width of its class; `None` if it does not fit.
    fn wide(&self, class: u8, bytes: &[u8]) -> Option<Vec<u8>> {
        let words = if class == reg_class::VECTOR { self.layout.vector_words.max(1) } else { 1 };
        let mut content = vec![0; 8 * usize::from(words)];
        content.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(content)
    }

    #[inline]
    pub(super) fn memory(&mut self, access: &MemAccess, batch: &Batch, out: &mut Vec<u8>) {
        if access.unplaced {
            return self.losses.add(Fate::Dropped, "accesses without an address", 1);
        }
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
        if access.size > LARGEST {
            return self.losses.add(Fate::Dropped, "accesses larger than 16 MiB", 1);
        }
        self.counts.accesses += 1;
        let mut drop = |dropped: bool, what| self.losses.add(Fate::Dropped, what, u64::from(dropped));
        drop(access.tagged, "memory tags");
        drop(access.range, "range marks");
        let mut stored = Value::Unknown;
        if let Some(extra) = batch.mem_extra_of(access) {
            drop(extra.physical.is_some(), "physical data addresses");
            drop(extra.operation.is_some(), "atomic operations");
            stored = extra.stored;
        }
        if read {
            self.accesses(access, access::READ, access.data, batch, out);
        }
        if write {
            let data = if read { stored } else { access.data };
            self.accesses(access, access::WRITE, data, batch, out);
        }
    }

    /// One access, or several where the size field does not hold it.
    #[inline]
    fn accesses(&mut self, access: &MemAccess, kind: u8, data: Value, batch: &Batch, out: &mut Vec<u8>) {
        if let Ok(size) = u16::try_from(access.size) {
            return self.access(access, size, kind, data, batch, out);
        }
        for start in (0..access.size).step_by(usize::from(PIECE)) {
            let size = (access.size - start).min(PIECE.into()) as u16;
            let data = match data {
                Value::Bytes(span) => {
                    let start = (start as u32).min(span.len);
                    Value::Bytes(Span { start: span.start + start, len: (span.len - start).min(size.into()) })
                }
                _ => Value::Unknown,
            };
            let piece = MemAccess { address: access.address.wrapping_add(start), ..*access };
            self.access(&piece, size, kind, data, batch, out);
        }
    }

    #[inline]
    fn access(
        &mut self,
        access: &MemAccess,
        size: u16,
        kind: u8,
        data: Value,
        batch: &Batch,
        out: &mut Vec<u8>,
    ) {
        let attributes = access.attributes as u16;
        Record::InstMemAccess { address: access.address, size, attributes, access: kind }
            .write(out, &self.layout);
        match data {
            Value::Word(data) if size <= 8 => Record::InstMemContent { data }.write(out, &self.layout),
            data => {
                for data in content_words(data, size, batch, &mut self.losses) {
                    Record::InstMemContent { data }.write(out, &self.layout);
                }
            }
        }
    }

    pub(super) fn state(&mut self, state: &State, batch: &Batch) {
        match *state {
            State::Contents(accesses) => {
                let mut out = std::mem::take(&mut self.coming.registers);
                for access in batch.regs_of(accesses) {
                    self.register(access, batch, &mut out);
                }
                self.coming.registers = out;
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
                record.write(&mut self.coming.walks, &self.layout);
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
                let out = &mut self.coming.bus;
                let record =
                    Record::BusMasterAccess { address: bus.address, size, master, index, attributes, access };
                record.write(out, &self.layout);
                for data in content_words(data, size, batch, &mut self.losses) {
                    Record::BusMasterContent { data }.write(out, &self.layout);
                }
            }
        }
    }
}

/// Larger accesses are split: a multiple of the 8 bytes of a content record.
const PIECE: u16 = u16::MAX - 7;
/// Accesses above this size are not written: each 8 bytes take a record.
const LARGEST: u64 = 1 << 24;

/// The content records of an access, one per 8 bytes; zeros for unknown data.
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

/// Marks a class or role that STF has no number for.
const NONE: u8 = 0;

const fn role(role: RegRole) -> u8 {
    match role {
        RegRole::State => reg_role::STATE,
        RegRole::Source => reg_role::SOURCE,
        RegRole::Destination => reg_role::DESTINATION,
        RegRole::Ready => NONE,
    }
}

const fn class(class: RegClass) -> u8 {
    match class {
        RegClass::Int | RegClass::Pc => reg_class::INTEGER,
        RegClass::Float => reg_class::FLOAT,
        RegClass::Vector => reg_class::VECTOR,
        RegClass::Csr => reg_class::CSR,
        RegClass::Other => NONE,
    }
}

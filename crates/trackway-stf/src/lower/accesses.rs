//! Registers, memory, page walks and bus transfers to records.

use trackway_core::*;

use super::{BUS, Group, Lower, MEMORY, REGS, WALKS};
use crate::fields::{Entries, Register};
use crate::record::Record;
use crate::values::{access, features};

impl Lower {
    pub(super) fn register(&mut self, access: &RegAccess, batch: &Batch, group: &mut Group) {
        let role = match access.role {
            RegRole::State => 1,
            RegRole::Source => 2,
            RegRole::Destination => 3,
            RegRole::Ready => {
                let number = access.reg.number;
                Record::InstReadyReg { number }.write(&mut group.body[REGS], &self.layout);
                return self.losses.add(Fate::Kept, "registers", 1);
            }
        };
        let (class, number) = match access.reg.class {
            RegClass::Int => (1, access.reg.number),
            RegClass::Pc => (1, 32),
            RegClass::Float => (2, access.reg.number),
            RegClass::Vector => (3, access.reg.number),
            RegClass::Csr => (4, access.reg.number),
            RegClass::Other => return self.losses.add(Fate::Dropped, "registers of other files", 1),
        };
        if access.update != RegUpdate::Set || access.known.is_some() {
            return self.losses.add(Fate::Dropped, "partly known registers", 1);
        }
        let (mut word, mut wide) = ([0; 8], Vec::new());
        let content = match class {
            Register::VECTOR => {
                wide.resize(8 * usize::from(self.layout.vector_words).max(1), 0);
                &mut wide[..]
            }
            _ => &mut word[..],
        };
        match access.value {
            Value::Unknown => return self.losses.add(Fate::Dropped, "registers without a value", 1),
            Value::Word(word) => content[..8].copy_from_slice(&word.to_le_bytes()),
            Value::Bytes(span) => {
                let bytes = batch.bytes_of(span);
                if bytes.len() > content.len() {
                    return self.losses.add(Fate::Dropped, "wide registers", 1);
                }
                content[..bytes.len()].copy_from_slice(bytes);
            }
        }
        self.losses.add(Fate::Kept, "registers", 1);
        self.features |= if role == 1 { features::REGISTER_STATE } else { features::OPERAND_VALUE };
        let register = Register { number, meta: role << 4 | class, content };
        Record::InstReg { register }.write(&mut group.body[REGS], &self.layout);
    }

    pub(super) fn memory(&mut self, access: &MemAccess, batch: &Batch, group: &mut Group) {
        let extra = batch.mem_extra_of(access).copied().unwrap_or_default();
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
        let Ok(size) = u16::try_from(access.size) else {
            return self.losses.add(Fate::Dropped, "accesses larger than 65535 bytes", 1);
        };
        self.losses.add(Fate::Kept, "memory accesses", 1);
        for (dropped, what) in [
            (access.tagged, "memory tags"),
            (access.range, "range marks"),
            (extra.physical.is_some(), "physical data addresses"),
            (extra.operation.is_some(), "atomic operations"),
        ] {
            self.losses.add(Fate::Dropped, what, u64::from(dropped));
        }
        let stored = if read { extra.stored } else { access.data };
        for (wanted, kind, data) in [(read, access::READ, access.data), (write, access::WRITE, stored)] {
            if !wanted {
                continue;
            }
            let out = &mut group.body[MEMORY];
            let attributes = access.attributes as u16;
            let record = Record::InstMemAccess { address: access.address, size, attributes, access: kind };
            record.write(out, &self.layout);
            for data in content_words(data, size, batch, &mut self.losses) {
                Record::InstMemContent { data }.write(out, &self.layout);
            }
        }
    }

    pub(super) fn state(&mut self, state: &State, batch: &Batch) {
        match *state {
            State::Contents(accesses) => {
                let mut group = std::mem::take(&mut self.coming);
                for access in batch.regs_of(accesses) {
                    self.register(access, batch, &mut group);
                }
                self.coming = group;
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
                record.write(&mut self.coming.body[WALKS], &self.layout);
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
                let out = &mut self.coming.body[BUS];
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

/// The content records of an access: one for up to 8 bytes; zeros where the data is not known.
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

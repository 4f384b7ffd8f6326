//! Registers, memory, page walks and bus transfers to records.

use trackway_core::*;

use super::Lower;
use crate::fields::{Entries, Register};
use crate::record::{Record, descriptor, length};
use crate::values::{REG_PC, access, features, reg_class, reg_role};

impl Lower {
    #[inline]
    pub(super) fn register(&mut self, access: &RegAccess, batch: &Batch, out: &mut Vec<u8>) {
        let mut record = [0; length::REGISTER];
        match usual_register(access, &mut record) {
            Some(feature) => {
                self.features |= feature;
                out.extend_from_slice(&record);
            }
            None => self.rare_register(access, batch, out),
        }
    }

    #[inline]
    fn write_register(&mut self, reg: Reg, role: u8, content: &[u8], out: &mut Vec<u8>) {
        self.features |= declared(role);
        let number = if reg.class == RegClass::Pc { REG_PC } else { reg.number };
        let register = Register { number, meta: role << 4 | class(reg.class), content };
        Record::InstReg { register }.write(out, &self.layout);
    }

    /// Registers that are wide, partly known, unknown, or only ready.
    #[cold]
    fn rare_register(&mut self, access: &RegAccess, batch: &Batch, out: &mut Vec<u8>) {
        let class = class(access.reg.class);
        if access.role == RegRole::Ready {
            return Record::InstReadyReg { number: access.reg.number }.write(out, &self.layout);
        }
        let partly = access.update != RegUpdate::Set || access.known.is_some();
        let content = match access.value {
            _ if class == NONE || partly => None,
            Value::Unknown => None,
            Value::Word(word) => self.wide(class, &word.to_le_bytes()),
            Value::Bytes(span) => self.wide(class, batch.bytes_of(span)),
        };
        match content {
            Some(content) => {
                self.features |= if class == reg_class::VECTOR { features::VECTOR } else { 0 };
                self.write_register(access.reg, role(access.role), &content, out);
            }
            None => self.books.lose(fact(access.role), 1),
        }
    }

    /// Content in the width of its class; `None` if it does not fit.
    fn wide(&self, class: u8, bytes: &[u8]) -> Option<Vec<u8>> {
        let words = if class == reg_class::VECTOR { self.layout.vector_words.max(1) } else { 1 };
        let mut content = vec![0; 8 * usize::from(words)];
        content.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(content)
    }

    /// Writes the memory accesses of a step.
    #[inline]
    pub(super) fn memory(&mut self, accesses: Accesses, batch: &Batch, out: &mut Vec<u8>) {
        let mem = batch.mem_of(accesses);
        mem.iter().for_each(|access| self.one_access(access, batch, out));
        match mem.iter().all(is_plain) {
            true => self.books.invent(Fact::MemoryData, made_up(mem)),
            false => self.account(accesses, batch),
        }
    }

    #[inline]
    fn one_access(&mut self, access: &MemAccess, batch: &Batch, out: &mut Vec<u8>) {
        if access.unplaced || access.size > LARGEST {
            return;
        }
        if matches!(access.kind, MemKind::Read | MemKind::ReadWrite) {
            self.accesses(access, access::READ, access.data, batch, out);
        }
        let stored = match access.kind {
            MemKind::Write => access.data,
            MemKind::ReadWrite => batch.mem_extra_of(access).map_or(Value::Unknown, |extra| extra.stored),
            _ => return,
        };
        self.accesses(access, access::WRITE, stored, batch, out);
    }

    /// Accounts for accesses that a reader does not find as they are.
    #[cold]
    fn account(&mut self, accesses: Accesses, batch: &Batch) {
        let mut read = Batch::default();
        // Unknown data is written as 0.
        let mut written = |data: Value, size: u64| match data {
            Value::Word(word) if size <= 8 => Value::Word(word),
            Value::Unknown if size <= 8 => Value::Word(0),
            data => {
                let mut bytes = vec![0; size as usize];
                let word;
                let known = match data {
                    Value::Bytes(span) => batch.bytes_of(span),
                    Value::Word(first) => {
                        word = first.to_le_bytes();
                        &word[..]
                    }
                    Value::Unknown => &[],
                };
                let length = known.len().min(bytes.len());
                bytes[..length].copy_from_slice(&known[..length]);
                Value::Bytes(read.add_bytes(&bytes))
            }
        };
        let mut found = Vec::new();
        for access in batch.mem_of(accesses) {
            let kept = matches!(access.kind, MemKind::Read | MemKind::Write | MemKind::ReadWrite);
            if !kept || access.unplaced || access.size > LARGEST {
                continue;
            }
            let stored = batch.mem_extra_of(access).map_or(Value::Unknown, |extra| extra.stored);
            let stored = (access.kind == MemKind::ReadWrite).then(|| written(stored, access.size));
            let data = written(access.data, access.size);
            let plain = MemAccess::new(access.kind, access.address, access.size, data);
            found.push((MemAccess { attributes: attributes(access).into(), ..plain }, stored));
        }
        for (access, stored) in found {
            let extra =
                stored.and_then(|stored| read.add_mem_extra(MemExtra { stored, ..MemExtra::default() }));
            read.mem.push(MemAccess { extra, ..access });
        }
        self.books.memory(batch, accesses, &read);
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
        let attributes = attributes(access);
        Record::InstMemAccess { address: access.address, size, attributes, access: kind }
            .write(out, &self.layout);
        match data {
            Value::Word(data) if size <= 8 => Record::InstMemContent { data }.write(out, &self.layout),
            Value::Unknown if size <= 8 => Record::InstMemContent { data: 0 }.write(out, &self.layout),
            data => {
                for data in content_words(data, size, batch) {
                    Record::InstMemContent { data }.write(out, &self.layout);
                }
            }
        }
    }

    pub(super) fn state(&mut self, event: &EventKind, state: &State, batch: &Batch) {
        match *state {
            State::Contents(accesses) => {
                let mut out = std::mem::take(&mut self.coming.registers);
                for access in batch.regs_of(accesses) {
                    self.register(access, batch, &mut out);
                }
                self.coming.registers = out;
            }
            State::PageWalk(walk) => {
                self.features |= features::PTE;
                let record = Record::PageTableWalk {
                    address: walk.virtual_address,
                    first_use: walk.first_use,
                    size: u32::try_from(walk.page_size).unwrap_or(u32::MAX),
                    entries: Entries(batch.bytes_of(walk.entries)),
                };
                record.write(&mut self.coming.walks, &self.layout);
            }
            State::Bus(bus) => {
                let access = match bus.kind {
                    MemKind::Read => access::READ,
                    MemKind::Write => access::WRITE,
                    _ => return self.books.lose_event(batch, event),
                };
                let Ok(size) = u16::try_from(bus.size) else {
                    return self.books.lose_event(batch, event);
                };
                let (master, index, attributes) = (bus.initiator, bus.index, bus.attributes);
                let out = &mut self.coming.bus;
                let record =
                    Record::BusMasterAccess { address: bus.address, size, master, index, attributes, access };
                record.write(out, &self.layout);
                let mut bytes = Vec::new();
                for data in content_words(bus.data, size, batch) {
                    Record::BusMasterContent { data }.write(out, &self.layout);
                    bytes.extend_from_slice(&data.to_le_bytes());
                }
                let mut read = Batch::default();
                let data = Value::Bytes(read.add_bytes(&bytes));
                read.push_state(0, State::Bus(Bus { data, returned: Value::Unknown, result: None, ..bus }));
                self.books.event(batch, event, &read);
            }
        }
    }
}

/// Length of an access record with its content.
pub(super) const ACCESS: usize = length::ACCESS + length::CONTENT;

/// Fills in the record of a register of 64 bits, all of which are known; returns the feature that it needs.
#[inline(always)]
pub(super) fn usual_register(access: &RegAccess, record: &mut [u8; length::REGISTER]) -> Option<u64> {
    let Start { record: start, feature } = STARTS[access.role as usize][access.reg.class as usize];
    let (Value::Word(word), RegUpdate::Set, None) = (access.value, access.update, access.known) else {
        return None;
    };
    if feature == 0 {
        return None;
    }
    let start = start | u32::from(access.reg.number) << 8;
    record[..4].copy_from_slice(&start.to_le_bytes());
    record[4..].copy_from_slice(&word.to_le_bytes());
    Some(feature.into())
}

/// Fills in the records of an access of at most 8 bytes that is read back as it is, but that unknown data is 0 then.
#[inline(always)]
pub(super) fn usual_access(access: &MemAccess, record: &mut [u8; ACCESS]) -> Option<()> {
    let kind = match access.kind {
        MemKind::Read => access::READ,
        MemKind::Write => access::WRITE,
        _ => return None,
    };
    let data = match access.data {
        Value::Word(data) => data,
        Value::Unknown => 0,
        Value::Bytes(_) => return None,
    };
    let is_odd = access.extra.is_some() | access.unplaced | access.tagged;
    if is_odd | (access.size > 8) | (access.attributes > u16::MAX.into()) {
        return None;
    }
    record[0] = descriptor::INST_MEM_ACCESS;
    record[1..9].copy_from_slice(&access.address.to_le_bytes());
    record[9..11].copy_from_slice(&(access.size as u16).to_le_bytes());
    record[11..13].copy_from_slice(&(access.attributes as u16).to_le_bytes());
    record[13] = kind;
    record[14] = descriptor::INST_MEM_CONTENT;
    record[15..].copy_from_slice(&data.to_le_bytes());
    Some(())
}

/// Would a reader take two of the accesses for a read-modify-write?
#[inline]
pub(super) fn seem_joined(accesses: &[MemAccess]) -> bool {
    accesses.windows(2).any(|pair| {
        (pair[0].kind, pair[1].kind) == (MemKind::Read, MemKind::Write)
            && (pair[0].address, pair[0].size) == (pair[1].address, pair[1].size)
    })
}

/// Accesses without data, for which it is made up; those that adjoin count once.
pub(super) fn made_up(accesses: &[MemAccess]) -> u64 {
    let (mut number, mut before): (u64, Option<(&MemAccess, bool)>) = (0, None);
    for access in accesses {
        let mut counted = before.is_some_and(|(one, counted)| counted && one.adjoins(access));
        if access.data == Value::Unknown {
            number += u64::from(!counted);
            counted = true;
        }
        before = Some((access, counted));
    }
    number
}

/// Larger accesses are split: a multiple of the 8 bytes of a content record.
const PIECE: u16 = u16::MAX - 7;
/// Accesses above this size are not written: each 8 bytes take a record.
const LARGEST: u64 = 1 << 24;

/// The content records of an access, one per 8 bytes; zeros for unknown data.
fn content_words(data: Value, size: u16, batch: &Batch) -> Vec<u64> {
    let words = usize::from(size).div_ceil(8).max(1);
    let mut content = vec![0u64; words];
    match data {
        Value::Unknown => {}
        Value::Word(word) => content[0] = word,
        Value::Bytes(span) => {
            for (word, bytes) in content.iter_mut().zip(batch.bytes_of(span).chunks(8)) {
                *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            }
        }
    }
    content
}

/// Is it read back as it is? Unknown data of up to 8 bytes is read as 0.
#[inline]
fn is_plain(access: &MemAccess) -> bool {
    let data = match access.data {
        Value::Unknown | Value::Word(_) => access.size <= 8,
        Value::Bytes(span) => u64::from(span.len) == access.size,
    };
    data && matches!(access.kind, MemKind::Read | MemKind::Write)
        && access.extra.is_none()
        && access.size <= u16::MAX.into()
        && !(access.unplaced || access.tagged)
        && access.attributes <= u16::MAX.into()
}

/// Attributes that fit; others are left out.
#[inline]
fn attributes(access: &MemAccess) -> u16 {
    access.attributes.try_into().unwrap_or(0)
}

const fn fact(role: RegRole) -> Fact {
    match role {
        RegRole::State => Fact::RegisterStates,
        RegRole::Source => Fact::RegisterReads,
        RegRole::Destination => Fact::RegisterWrites,
        RegRole::Ready => Fact::ReadyRegisters,
    }
}

/// Marks a class or role that STF has no number for.
const NONE: u8 = 0;

/// The start of a register record without its number, and the feature that it needs; 0 if it is rare.
#[derive(Clone, Copy)]
struct Start {
    record: u32,
    feature: u32,
}

/// By role and class of the event.
static STARTS: [[Start; 8]; 4] = {
    let mut starts = [[Start { record: 0, feature: 0 }; 8]; 4];
    let (mut r, mut c) = (0, 0);
    while r < ROLES.len() {
        while c < CLASSES.len() {
            let (role, class) = (role(ROLES[r]), class(CLASSES[c]));
            assert!(ROLES[r] as usize == r && CLASSES[c] as usize == c);
            let is_rare = class == reg_class::VECTOR || matches!(CLASSES[c], RegClass::Pc);
            if role != NONE && class != NONE && !is_rare {
                let record = descriptor::INST_REG as u32 | ((role << 4 | class) as u32) << 24;
                starts[r][c] = Start { record, feature: declared(role) as u32 };
            }
            c += 1;
        }
        (r, c) = (r + 1, 0);
    }
    starts
};
const ROLES: [RegRole; 4] = [RegRole::Source, RegRole::Destination, RegRole::State, RegRole::Ready];
const CLASSES: [RegClass; 6] =
    [RegClass::Int, RegClass::Float, RegClass::Vector, RegClass::Csr, RegClass::Pc, RegClass::Other];

/// The feature that a register record of this role needs.
#[inline(always)]
const fn declared(role: u8) -> u64 {
    if role == reg_role::STATE { features::REGISTER_STATE } else { features::OPERAND_VALUE }
}

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

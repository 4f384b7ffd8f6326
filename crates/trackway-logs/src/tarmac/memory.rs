//! Memory lines to accesses.
//!
//! Fast Models print each access of an instruction, ES the bytes of each 16 that it touches. Both become accesses of
//! the size that the instruction has, in the order of their addresses.

use trackway_core::{Batch, Isa, MemAccess, MemExtra, MemKind, Value};
use trackway_isa::memory;

use super::parsed::{Bytes, Memory};
use super::registers::bytes_of;

/// Adds an access as it is printed.
#[inline(always)]
pub(super) fn push(memory: &Memory<'_>, batch: &mut Batch) {
    let Memory { kind, size, address, physical, value, digits, source, aborted } = *memory;
    let data = match digits {
        0 => Value::Unknown,
        1..=16 => Value::Word(value as u64),
        _ => Value::Bytes(bytes_of(source, batch)),
    };
    let kind = if aborted { MemKind::Faulting } else { kind };
    add(kind, address, size, data, physical, batch);
}

#[inline(always)]
fn add(kind: MemKind, address: u64, size: u64, data: Value, physical: Option<u64>, batch: &mut Batch) {
    let extra = match physical {
        Some(_) => batch.add_mem_extra(MemExtra { physical, ..MemExtra::default() }),
        None => None,
    };
    batch.mem.push(MemAccess { extra, ..MemAccess::new(kind, address, size, data) });
}

/// gem5 prints a load of a pair as a store of 16 bytes with the value of one register: a load, whose data is not
/// known.
#[cold]
pub(super) fn push_pair(line: &Memory<'_>, element: u64, batch: &mut Batch) {
    let mut at = 0;
    while at < line.size {
        let physical = line.physical.map(|physical| physical.wrapping_add(at));
        add(MemKind::Read, line.address.wrapping_add(at), element, Value::Unknown, physical, batch);
        if let Some(access) = batch.mem.last_mut() {
            access.inferred = true;
        }
        at += element;
    }
}

/// True if the instruction only loads.
pub(super) fn is_load(isa: Isa, encoding: u32) -> bool {
    memory(isa, encoding).is_some_and(|memory| memory.kind == MemKind::Read)
}

/// Bytes of one register that a load or store moves.
pub(super) fn element(isa: Isa, encoding: u32) -> u64 {
    match isa {
        Isa::A64 => {
            let size = encoding >> 30;
            let vector = encoding >> 26 & 1 == 1;
            match encoding >> 27 & 7 {
                // Pairs: C4.1.94.
                0b101 if vector => 4 << size,
                0b101 => {
                    if size & 2 == 0 {
                        4
                    } else {
                        8
                    }
                }
                // Single registers.
                0b111 if vector && encoding >> 23 & 1 == 1 => 16,
                0b111 => 1 << size,
                // Literals.
                0b011 if vector => 4 << size,
                0b011 => {
                    if size == 1 {
                        8
                    } else {
                        4
                    }
                }
                // Structures, exclusives.
                0b001 if vector => 16,
                0b001 => 1 << size,
                _ => 16,
            }
        }
        // D registers of VFP; all others are moved word by word.
        Isa::A32 if encoding >> 25 & 7 == 6 && encoding >> 8 & 0xf == 0xb => 8,
        _ => 4,
    }
}

/// Adds the accesses of ES lines, and forgets the lines.
pub(super) fn push_bytes(lines: &mut Vec<Bytes>, element: u64, batch: &mut Batch) {
    lines.sort_by_key(|line| (line.kind == Some(MemKind::Write), line.address));
    let mut chunk = Chunk::default();
    for line in lines.drain(..) {
        for n in (0..16).filter(|n| line.accessed >> n & 1 == 1) {
            let address = line.address.wrapping_add(n);
            let physical = line.physical.map(|physical| physical.wrapping_add(n));
            let kind = line.kind.unwrap_or(MemKind::Unknown);
            if chunk.size == element || !chunk.continues(kind, address) {
                chunk.flush(batch);
                chunk = Chunk { kind, address, physical, size: 0, value: 0, known: true };
            }
            chunk.value |= u128::from(line.data[n as usize]) << (8 * chunk.size);
            chunk.known &= line.known >> n & 1 == 1;
            chunk.size += 1;
        }
    }
    chunk.flush(batch);
}

/// Bytes of one access.
struct Chunk {
    kind: MemKind,
    address: u64,
    physical: Option<u64>,
    size: u64,
    value: u128,
    known: bool,
}

impl Default for Chunk {
    fn default() -> Self {
        Chunk { kind: MemKind::Unknown, address: 0, physical: None, size: 0, value: 0, known: true }
    }
}

impl Chunk {
    fn continues(&self, kind: MemKind, address: u64) -> bool {
        self.size > 0 && self.kind == kind && self.address.wrapping_add(self.size) == address
    }

    fn flush(&self, batch: &mut Batch) {
        if self.size == 0 {
            return;
        }
        let data = match self.size {
            _ if !self.known => Value::Unknown,
            ..=8 => Value::Word(self.value as u64),
            _ => Value::Bytes(batch.add_bytes(&self.value.to_le_bytes()[..self.size as usize])),
        };
        add(self.kind, self.address, self.size, data, self.physical, batch);
    }
}

//! Accesses of other formats, in the shape that ASTF asks for.

use trackway_core::{MemAccess, MemKind};
use trackway_isa::arm::Class;
use trackway_isa::arm::memory::Memory;

/// Accesses are not merged across pages, which need not be adjacent in physical memory (ASTF 4.5.2).
const PAGE: u64 = 4096;
/// Bytes per memory tag.
const GRANULE: u64 = 16;

/// Merges the parts of one access, and sets the kinds that the instruction asks for:
/// - adjacent parts of the same kind within a page become one (LDP, LDR Q, LD1 …);
/// - a read and a write of the same place by an atomic become one read-modify-write;
/// - accesses of LDG, STG and similar are accesses to tags;
/// - a store-exclusive only writes, and one that did not write has only an address.
///
/// Returns the number of accesses that have another kind or address than before.
pub(super) fn merge(class: Class, accesses: &mut Vec<MemAccess>) -> u64 {
    let changed = match class {
        Class::Memory(Memory::ConditionalStore) => exclusive(accesses),
        Class::Memory(Memory::ReadWrite | Memory::CompareSwap) => atomic(accesses),
        Class::Memory(Memory::Copy | Memory::Set { .. } | Memory::TlbRange) => {
            let faulting = |access: &&mut MemAccess| access.kind != MemKind::Faulting;
            accesses.iter_mut().filter(faulting).for_each(|access| access.range = true);
            0
        }
        Class::Memory(Memory::TagLoad | Memory::TagStore) => tags(accesses),
        _ => 0,
    };
    accesses.retain(|access| access.size > 0 || access.range || is_sizeless(access.kind));
    accesses.dedup_by(|next, last| {
        let joins = next.kind == last.kind
            && next.tagged == last.tagged
            && !next.range
            && !last.range
            && last.address.checked_add(last.size) == Some(next.address)
            && last.size + next.size <= 256
            && next.address.wrapping_add(next.size).wrapping_sub(1) / PAGE == last.address / PAGE;
        if joins {
            last.size += next.size;
        }
        joins
    });
    changed
}

/// Some sources record a compare-and-swap instead: its read is not an access of the instruction.
fn exclusive(accesses: &mut Vec<MemAccess>) -> u64 {
    if accesses.iter().any(|access| access.kind == MemKind::Write) {
        accesses.retain(|access| access.kind != MemKind::Read);
        return 0;
    }
    let reads = accesses.iter_mut().filter(|access| access.kind != MemKind::Unknown);
    reads.map(|access| access.kind = MemKind::Unknown).count() as u64
}

/// The last access of an instruction that trapped is the one that faulted; formats without this kind record a plain one.
/// True if the kind changed.
pub(super) fn fault(class: Class, accesses: &mut [MemAccess]) -> bool {
    use Memory::{CompareSwap, ConditionalStore, Load, ReadWrite, Store};
    let plain = matches!(class, Class::Memory(Load | Store | ReadWrite | CompareSwap | ConditionalStore));
    let last = accesses.last_mut().filter(|_| plain);
    last.is_some_and(|last| std::mem::replace(&mut last.kind, MemKind::Faulting) != MemKind::Faulting)
}

fn is_sizeless(kind: MemKind) -> bool {
    matches!(kind, MemKind::Prefetch | MemKind::Maintenance | MemKind::Faulting)
}

/// An access of these instructions is one to tags (ASTF 4.5.2), by granules.
fn tags(accesses: &mut [MemAccess]) -> u64 {
    let completed = |access: &&mut MemAccess| matches!(access.kind, MemKind::Read | MemKind::Write);
    let mut changed = 0;
    for access in accesses.iter_mut().filter(completed).filter(|access| !access.tagged) {
        let granule = access.address & !(GRANULE - 1);
        changed += u64::from(granule != access.address);
        (access.tagged, access.address) = (true, granule);
    }
    changed
}

fn atomic(accesses: &mut Vec<MemAccess>) -> u64 {
    // The reads come first, then the writes, each in as many parts.
    let half = accesses.len() / 2;
    let same = accesses.len().is_multiple_of(2)
        && (0..half).all(|n| {
            let (read, write) = (&accesses[n], &accesses[n + half]);
            (read.kind, write.kind) == (MemKind::Read, MemKind::Write)
                && (read.address, read.size) == (write.address, write.size)
        });
    if !same || half == 0 {
        return 0;
    }
    accesses.truncate(half);
    accesses.iter_mut().for_each(|access| access.kind = MemKind::ReadWrite);
    1
}

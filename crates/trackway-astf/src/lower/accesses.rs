//! Accesses of other formats, in the shape that ASTF asks for.

use trackway_core::{Fate, Losses, MemAccess, MemKind};
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
pub(super) fn merge(class: Class, accesses: &mut Vec<MemAccess>, losses: &mut Losses) {
    match class {
        Class::Memory(Memory::ConditionalStore) => exclusive(accesses, losses),
        Class::Memory(Memory::ReadWrite | Memory::CompareSwap) => atomic(accesses),
        Class::Memory(Memory::Copy | Memory::Set { .. } | Memory::TlbRange) => ranges(accesses, losses),
        Class::Memory(Memory::TagLoad | Memory::TagStore) => tags(accesses, losses),
        _ => {}
    }
    let whole = accesses.len();
    accesses.retain(|access| access.size > 0 || access.range || is_sizeless(access.kind));
    losses.add(Fate::Dropped, "accesses of 0 bytes", (whole - accesses.len()) as u64);
    let before = accesses.len();
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
    losses.add(Fate::Derived, "parts of merged accesses", (before - accesses.len()) as u64);
}

/// Some sources record a compare-and-swap instead: its read is not an access of the instruction.
fn exclusive(accesses: &mut Vec<MemAccess>, losses: &mut Losses) {
    let wrote = accesses.iter().any(|access| access.kind == MemKind::Write);
    let before = accesses.len();
    if wrote {
        accesses.retain(|access| access.kind != MemKind::Read);
        losses.add(Fate::Dropped, "reads of store-exclusives", (before - accesses.len()) as u64);
    } else {
        for access in accesses.iter_mut() {
            access.kind = MemKind::Unknown;
        }
    }
}

/// The last access of an instruction that trapped is the one that faulted; formats without this kind record a plain one.
pub(super) fn fault(class: Class, accesses: &mut [MemAccess]) {
    use Memory::{CompareSwap, ConditionalStore, Load, ReadWrite, Store};
    let plain = matches!(class, Class::Memory(Load | Store | ReadWrite | CompareSwap | ConditionalStore));
    if let Some(last) = accesses.last_mut().filter(|_| plain) {
        last.kind = MemKind::Faulting;
    }
}

fn is_sizeless(kind: MemKind) -> bool {
    matches!(kind, MemKind::Prefetch | MemKind::Maintenance | MemKind::Faulting)
}

/// By its encoding the instruction accesses ranges.
fn ranges(accesses: &mut [MemAccess], losses: &mut Losses) {
    for access in accesses.iter_mut().filter(|access| !access.range && access.kind != MemKind::Faulting) {
        access.range = true;
        losses.add(Fate::Derived, "ranges", 1);
    }
}

/// An access of these instructions is one to tags (ASTF 4.5.2), by granules.
fn tags(accesses: &mut [MemAccess], losses: &mut Losses) {
    let completed = |access: &&mut MemAccess| matches!(access.kind, MemKind::Read | MemKind::Write);
    for access in accesses.iter_mut().filter(completed).filter(|access| !access.tagged) {
        access.tagged = true;
        access.address &= !(GRANULE - 1);
        losses.add(Fate::Derived, "memory tags", 1);
    }
}

fn atomic(accesses: &mut Vec<MemAccess>) {
    // The reads come first, then the writes, each in as many parts.
    let half = accesses.len() / 2;
    let same = accesses.len().is_multiple_of(2)
        && (0..half).all(|n| {
            let (read, write) = (&accesses[n], &accesses[n + half]);
            (read.kind, write.kind) == (MemKind::Read, MemKind::Write)
                && (read.address, read.size) == (write.address, write.size)
        });
    if same {
        accesses.truncate(half);
        for access in accesses.iter_mut() {
            access.kind = MemKind::ReadWrite;
        }
    }
}

//! What other sources tell in another shape, in the shape that ASTF asks for.

use trackway_core::{Context, Fate, Losses, MemAccess, MemKind, Privilege, Security};

use crate::record;
use trackway_isa::arm::Class;
use trackway_isa::arm::memory::Memory;

/// Accesses in neighbouring pages need not be neighbours in memory: they are not merged (ASTF 4.5.2).
const PAGE: u64 = 4096;
/// Bytes that have one tag.
const GRANULE: u64 = 16;

/// Merges the parts of one access, and gives the kinds that the instruction word asks for:
/// - neighbouring parts of the same kind within a page become one (LDP, LDR Q, LD1 …);
/// - a read and a write of the same place by an atomic become one read-modify-write;
/// - an access of LDG, STG and their kind is one to tags;
/// - a store-exclusive only writes, and one that did not write only has an address.
pub(crate) fn merge(class: Class, accesses: &mut Vec<MemAccess>, losses: &mut Losses) {
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

/// A compare-and-swap stands for it in some sources: what it read is no access of the instruction.
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

fn is_sizeless(kind: MemKind) -> bool {
    matches!(kind, MemKind::Prefetch | MemKind::Maintenance | MemKind::Faulting)
}

/// The instruction word says that these are ranges.
fn ranges(accesses: &mut [MemAccess], losses: &mut Losses) {
    for access in accesses.iter_mut().filter(|access| !access.range && access.kind != MemKind::Faulting) {
        access.range = true;
        losses.add(Fate::Derived, "ranges", 1);
    }
}

/// Where these instructions have an access, it is one to tags (ASTF 4.5.2), by granules.
fn tags(accesses: &mut [MemAccess], losses: &mut Losses) {
    let done = |access: &&mut MemAccess| matches!(access.kind, MemKind::Read | MemKind::Write);
    for access in accesses.iter_mut().filter(done).filter(|access| !access.tagged) {
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

/// The Arm level for a level of either architecture: some formats have one set of numbers for both.
pub(crate) fn arm_level(privilege: Privilege) -> Privilege {
    match privilege {
        Privilege::El0 | Privilege::U | Privilege::VU => Privilege::El0,
        Privilege::El1 | Privilege::S | Privilege::VS => Privilege::El1,
        Privilege::El2 | Privilege::H => Privilege::El2,
        Privilege::El3 | Privilege::M | Privilege::D => Privilege::El3,
    }
}

/// The Context record for what is known of the context.
pub(crate) fn wanted_record(context: &Context) -> record::Context {
    let el = match context.privilege {
        Some(Privilege::El1) => 1,
        Some(Privilege::El2) => 2,
        Some(Privilege::El3) => 3,
        _ => 0,
    };
    let pid_valid = context.pid.is_some();
    // A thread id needs a process id.
    let tid = context.tid.filter(|_| pid_valid);
    record::Context {
        pstate_sm: context.streaming.unwrap_or(false),
        pstate_dit: context.dit.unwrap_or(false),
        pstate_ssbs: context.ssbs.unwrap_or(false),
        evl: context.vector_bits.map_or(0, |bits| (bits / 128).clamp(1, 16) - 1) as u8,
        unsupported: context.unsupported.unwrap_or(false),
        mte_tcf: context.mte.unwrap_or(0) & 3,
        el,
        secure: matches!(context.security, Some(Security::Secure | Security::Realm | Security::Root)),
        // Without a word about it: the level's own stack pointer, which kernels use.
        handler: el > 0 && context.own_stack.unwrap_or(true),
        pid_valid,
        tid_valid: tid.is_some(),
        pid: context.pid.unwrap_or(0),
        tid: tid.unwrap_or(0),
        ..record::Context::default()
    }
}

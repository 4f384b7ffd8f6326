//! A complete instruction, checked against its encoding, and against the Trap that it needs.

use trackway_core::Syscall;
use trackway_isa::arm::memory::{Bytes, Elements, Memory, access_bytes, literal};
use trackway_isa::arm::{Class, has_za_index, is_sme};

use super::checker::Checker;
use super::group::Group;
use crate::record::{Attribute, Instruction, Level};
use crate::rules::*;
use crate::sanitise;

impl Checker {
    /// Checks the last instruction, whose Extra EAs are complete.
    pub(super) fn close_group(&mut self) {
        let Some(group) = self.group else { return };
        let place = (self.offset, self.number);
        (self.offset, self.number) = (group.offset, group.number);
        if group.record.is_branch {
            self.branch(&group);
        } else {
            self.accesses(&group);
        }
        self.attribute(&group);
        self.exception(&group);
        (self.offset, self.number) = place;
    }

    fn branch(&mut self, group: &Group) {
        let Instruction { trap, ea_valid, ea, pc, iword, .. } = group.record;
        let Class::Branch { conditional, target } = group.class else {
            return self.report(&NOT_A_BRANCH, || format!("is_branch with {iword:#010x}"));
        };
        if trap {
            if ea_valid || ea != 0 {
                self.report(&TRAPPED_BRANCH, || format!("a trapped branch with ea {ea:#x}"));
            }
        } else if ea_valid {
            // The recorded target is sanitised.
            let el = self.context.map(|context| context.el);
            let target = target.map(|target| sanitise(target, self.config.va_bits, el));
            if let Some(target) = target.filter(|target| *target != ea) {
                self.report(&BRANCH_TARGET, || {
                    format!("{iword:#010x} at {pc:#x} goes to {target:#x}, not {ea:#x}")
                });
            }
        } else if !conditional {
            self.report(&TAKEN_EA, || format!("{iword:#010x} is unconditional and has no target"));
        } else if ea != 0 {
            self.report(&NOT_TAKEN_EA, || format!("ea {ea:#x} of a branch that is not taken"));
        }
        let record = &group.record;
        let access = record.is_read || record.is_write || record.ea_tagged || record.extra_eas;
        if access || record.ea_size != 0 || matches!(record.xattr_mode, 1 | 2) {
            self.report(&BRANCH_MEMORY, || "a branch with fields of a memory access".to_string());
        }
    }

    fn accesses(&mut self, group: &Group) {
        let record = group.record;
        let word = record.iword;
        if let Class::Branch { .. } = group.class {
            self.report(&BRANCH_FLAG, || format!("{word:#010x} is a branch"));
        }
        if record.ea_valid {
            if !matches!(group.class, Class::Memory(_) | Class::Branch { .. }) {
                self.report(&EA_UNEXPECTED, || format!("{word:#010x} does not access memory"));
            }
        } else {
            let flags = record.is_read || record.is_write || record.ea_tagged || record.extra_eas;
            if flags || record.ea != 0 || record.ea_size != 0 {
                self.report(&NO_ACCESS_ZERO, || "fields of an access without ea_valid".to_string());
            }
            if record.xattr_mode == 1 {
                self.report(&RANGE_NEEDS_EA, || "a range without ea_valid".to_string());
            }
            if group.needs_access() && !record.trap {
                self.report(&EA_MISSING, || format!("{word:#010x} accesses memory and has no ea"));
            }
            let ranged = group.is_mops() || group.class == Class::Memory(Memory::TlbRange);
            if ranged && !record.trap && record.xattr_mode != 1 {
                self.report(&RANGE_MISSING, || format!("{word:#010x} has no range"));
            }
        }
        self.report_accesses(group);
    }

    /// Reports the rules that the accesses broke, one by one and together.
    fn report_accesses(&mut self, group: &Group) {
        let word = group.record.iword;
        if group.broken != 0 {
            for (_, rule) in RULES.iter().enumerate().filter(|(bit, _)| group.broken >> bit & 1 == 1) {
                self.report(rule, || format!("an access of {word:#010x}"));
            }
        }
        if group.accesses == 0 {
            return;
        }
        if group.record.xattr_mode == 1 && group.record.ea_size != 0 {
            self.report(&RANGE_SIZE, || format!("a range with ea_size {}", group.record.ea_size));
        }
        if group.class == Class::Memory(Memory::Copy)
            && !group.record.trap
            && group.reads.min(group.writes) == 0
        {
            self.report(&MOPS_RANGES, || "a copy reads a range and writes a range".to_string());
        }
        if !group.record.trap {
            return self.sizes(group);
        }
        let completed = group.last.is_some_and(|access| access.read || access.write);
        let scalar = matches!(group.class, Class::Memory(_)) && !group.is_mops() && !group.is_vector();
        if scalar && completed {
            self.report(&TRAPPED_FLAGS, || format!("{word:#010x} trapped, its last access has flags"));
        }
        if group.class == Class::Memory(Memory::VectorLoad) && group.bare > 1 {
            self.report(&SUPPRESSED_TRAP, || format!("{} accesses did not complete", group.bare));
        }
    }

    /// Checks size and place of the accesses of a completed instruction against its encoding.
    fn sizes(&mut self, group: &Group) {
        let Instruction { iword, pc, ea, .. } = group.record;
        let el = self.context.map(|context| context.el);
        let literal = literal(pc, iword).map(|address| sanitise(address, self.config.va_bits, el));
        if let Some(literal) = literal.filter(|literal| *literal != ea) {
            self.report(&LITERAL_ADDRESS, || {
                format!("the literal of {iword:#010x} is at {literal:#x}, not {ea:#x}")
            });
        }
        if group.ranges > 0 {
            return;
        }
        let (first, end) = group.span;
        let bytes = group.bytes;
        // Wrapping past the top of the address space is not a gap.
        let whole = end - first == bytes || end == u64::MAX;
        match access_bytes(iword) {
            Some(Bytes::Fixed(size)) if bytes != size || !whole => {
                self.report(&ACCESS_SIZE, || format!("{iword:#010x} accesses {size} bytes, not {bytes}"));
            }
            Some(Bytes::Block(least, most))
                if !whole || !bytes.is_power_of_two() || !(least..=most).contains(&bytes) =>
            {
                self.report(&ACCESS_SIZE, || {
                    format!("{iword:#010x} does not access a block of {bytes} bytes")
                });
            }
            Some(Bytes::Block(..)) if !first.is_multiple_of(bytes) => {
                self.report(&BLOCK_ALIGNED, || format!("a block of {bytes} bytes at {first:#x}"));
            }
            Some(Bytes::Vector(part)) => self.vector_length(iword, part, bytes),
            // Outside streaming mode evl is not the streaming vector length.
            Some(Bytes::Array) if self.context.is_some_and(|context| context.pstate_sm) => {
                self.vector_length(iword, 1, bytes);
            }
            Some(Bytes::Array) if !whole || !bytes.is_power_of_two() || !(16..=256).contains(&bytes) => {
                self.report(&ACCESS_SIZE, || {
                    format!("{iword:#010x} does not access a vector of {bytes} bytes")
                });
            }
            _ => {}
        }
        if let Some(elements) = group.elements {
            self.elements(group, elements);
        }
    }

    /// Checks the accesses of a predicated vector instruction.
    fn elements(&mut self, group: &Group, elements: Elements) {
        // Without a Context, the longest vector of the architecture.
        let length = self.context.map_or(256, |context| (u64::from(context.evl) + 1) * 16);
        let (most, iword) = (elements.most(length), group.record.iword);
        let reach = if elements.contiguous { group.span.1 - group.span.0 } else { 0 };
        let found = group.bytes.max(reach);
        if found > most {
            self.report(&VECTOR_SIZE, || {
                format!("{iword:#010x} accesses {found} bytes, at most {most} by evl")
            });
        } else if group.is_odd() || !group.bytes.is_multiple_of(elements.bytes) {
            let size = elements.bytes;
            self.report(&VECTOR_SIZE, || format!("{iword:#010x} accesses parts of elements of {size} bytes"));
        }
    }

    /// Checks that `bytes` is the vector length divided by `part`.
    fn vector_length(&mut self, iword: u32, part: u64, bytes: u64) {
        let length = self.context.map(|context| (u64::from(context.evl) + 1) * 16 / part);
        if let Some(length) = length.filter(|length| *length != bytes) {
            self.report(&VECTOR_LENGTH, || {
                format!("{iword:#010x} accesses {bytes} bytes, expected {length} by evl")
            });
        }
    }

    fn attribute(&mut self, group: &Group) {
        let Instruction { iword, trap, is_branch, .. } = group.record;
        let indexed = has_za_index(iword);
        match group.record.attribute() {
            Attribute::Sme(..) if !indexed && !is_branch => {
                self.report(&SME_NO_INDEX, || format!("{iword:#010x} computes no index"));
            }
            Attribute::Sme(..) => {}
            Attribute::None if is_sme(iword) && !indexed && group.record.has_xattr() => {
                self.report(&SME_NO_INDEX, || format!("{iword:#010x} has xattr_mode or xattr set"));
            }
            _ if indexed && !trap => {
                self.report(&SME_INDEX, || format!("{iword:#010x} has an index into ZA"));
            }
            _ => {}
        }
        if group.record.xattr_mode == 1 && !matches!(group.class, Class::Memory(_)) && !is_branch {
            self.report(&RANGE_UNEXPECTED, || format!("{iword:#010x} does not access a range"));
        }
    }

    fn exception(&mut self, group: &Group) {
        let Instruction { iword, trap, .. } = group.record;
        if trap || !group.class.always_traps() {
            return;
        }
        match (self.level, group.class) {
            (Level::Basic, Class::Syscall(Syscall::Svc, _)) => {
                self.report(&SVC_TRAP, || "SVC without the trap flag".to_string());
            }
            (Level::Basic, _) => {}
            (Level::BasicPlus, _) => {
                self.report(&TRAP_FLAG, || format!("{iword:#010x} always takes an exception"));
            }
        }
    }

    /// In BasicPlus: reports that the Trap of `group` is missing.
    pub(super) fn unanswered(&mut self, group: &Group, found: &str) {
        if self.level == Level::Basic || self.since.answered {
            return;
        }
        if group.record.trap {
            self.report(&TRAP_MISSING, || format!("the instruction has the trap flag; {found}"));
        } else if group.class == Class::ExceptionReturn && self.since.trap.is_none() {
            self.report(&RETURN_MISSING, || format!("ERET without its Trap; {found}"));
        }
    }

    /// Checks the accesses of `group` against the class of its exception.
    pub(super) fn abort(&mut self, group: &Group, class: u8) {
        if !matches!(group.class, Class::Memory(_)) {
            return;
        }
        let abort = matches!(class, 0x24 | 0x25);
        // Vector and copy instructions also record accesses that completed before the exception.
        let partial = group.is_mops() || group.is_vector();
        if (abort && !group.record.ea_valid) || (!abort && group.record.ea_valid && !partial) {
            self.report(&ABORT_EA, || {
                format!("exception class {class:#04x}, ea_valid {}", group.record.ea_valid)
            });
        }
        let completed = group.last.is_some_and(|access| access.read || access.write);
        if abort && group.is_vector() && completed {
            self.report(&FAULT_LAST, || "the last access completed".to_string());
        }
        if abort && group.is_mops() && (completed || group.last.is_some_and(|last| last.range.is_some())) {
            self.report(&MOPS_FAULT, || "the last access is not the one that faulted".to_string());
        }
    }
}

//! Rules that need the encoding of the instruction: its width, its memory accesses, its target.

use trackway_core::{Isa, MemKind};
use trackway_isa::riscv::{self, Class, Count};
use trackway_isa::{Control, flow};

use super::Checker;
use crate::rules::*;
use crate::values::access;

/// A memory access of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) offset: u64,
    pub(super) size: u16,
    pub(super) kind: u8,
    /// Number of content records.
    pub(super) words: u32,
    /// The first content record.
    pub(super) data: u64,
}

impl Checker<'_> {
    /// Checks a complete group against its instruction. `width` is that of the opcode record, in bytes.
    pub(super) fn opcode(&mut self, opcode: u32, width: u8) {
        if !matches!(self.isa, Isa::Rv32 | Isa::Rv64) {
            return;
        }
        let encoded = if opcode & 3 == 3 { 4 } else { 2 };
        if encoded != width {
            let bits = 8 * u32::from(encoded);
            self.found(&OPCODE_WIDTH, format!("{opcode:#x} is a {bits}-bit instruction"));
        }
        let class = riscv::decode(self.isa, opcode).map(|inst| inst.op.class());
        // The placeholder of a fetch fault and an illegal instruction need not decode.
        if class.is_none() && !self.group.trapped {
            self.found(&OPCODE_KNOWN, format!("{opcode:#x} is not an instruction that Trackway knows"));
        }
        self.accesses(class);
        self.targets(opcode);
    }

    fn accesses(&mut self, class: Option<Class>) {
        let accesses = std::mem::take(&mut self.group.accesses);
        let at_opcode = self.offset;
        let memory = class.and_then(Class::memory);
        let needs_one = memory.is_some_and(|memory| memory.count == Count::One);
        if needs_one && accesses.is_empty() && !self.group.trapped {
            self.found(&MEM_MISSING, "a load or store without INST_MEM_ACCESS".into());
        }
        for access in &accesses {
            self.offset = access.offset;
            let wanted = memory.is_some_and(|memory| match memory.kind {
                MemKind::Read => access.kind == access::READ,
                MemKind::Write => access.kind == access::WRITE,
                _ => true,
            });
            // Without a known instruction any access is allowed.
            if class.is_some() && !wanted {
                let word = if access.kind == access::READ { "reads" } else { "writes" };
                self.found(&MEM_SPURIOUS, format!("the instruction makes no access that {word}"));
                continue;
            }
            self.size(access, memory.and_then(|memory| memory.size));
        }
        self.offset = at_opcode;
        self.group.accesses = accesses;
        self.group.accesses.clear();
    }

    /// Checks the size of an access, its unit, and its content.
    fn size(&mut self, access: &Access, named: Option<u8>) {
        let size = u32::from(access.size);
        let one_word = access.words == 1;
        let bytes = match named.map(u32::from) {
            Some(named) if size == named => named,
            Some(named) if size == 8 * named => {
                self.found(
                    &MEM_SIZE_UNIT,
                    format!("{size} is in bits: the instruction accesses {named} bytes"),
                );
                named
            }
            Some(named) => {
                self.found(&MEM_SIZE_OPCODE, format!("size {size}: the instruction accesses {named} bytes"));
                return;
            }
            // More than one content word holds, with one content record: bits.
            None if one_word && size > 8 && size <= 64 => {
                self.found(&MEM_SIZE_UNIT, format!("{size} with one content record is in bits"));
                size / 8
            }
            None => size,
        };
        if access.words > 0 && access.words != bytes.div_ceil(8).max(1) {
            let words = access.words;
            self.found(&MEM_CONTENT_COUNT, format!("{words} content records for {bytes} bytes"));
        }
        if one_word && bytes < 8 && access.data >> (8 * bytes) != 0 {
            let data = access.data;
            self.found(&MEM_CONTENT_JUSTIFIED, format!("{data:#x} has more than {bytes} bytes"));
        }
    }

    fn targets(&mut self, opcode: u32) {
        let pc = self.pc.unwrap_or(0);
        let flow = flow(self.isa, pc, opcode);
        let target = self.group.target;
        let jumps = flow.control.is_transfer();
        match target {
            Some(target) if !jumps => {
                self.found(
                    &PC_TARGET_BRANCH,
                    format!("target {target:#x} of an instruction that is not a branch"),
                );
            }
            Some(target) if self.pc.is_some() && flow.target.is_some_and(|named| named != target) => {
                let named = flow.target.unwrap_or(0);
                self.found(&PC_TARGET_VALUE, format!("target {target:#x}: the encoding has {named:#x}"));
            }
            None if jumps
                && !self.group.trapped
                && !matches!(flow.control, Control::Branch | Control::TrapReturn) =>
            {
                self.found(&PC_TARGET_MISSING, "a jump without INST_PC_TARGET".into());
            }
            _ => {}
        }
        self.explained = self.group.trapped
            || !flow.control.retires()
            || matches!(flow.control, Control::TrapReturn | Control::Wait);
    }
}

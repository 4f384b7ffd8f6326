//! EVENT records: traps and changes of mode.

use trackway_core::*;

use crate::fields::{Data, EventId};

/// Mode changes of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Modes {
    /// Those before any trap of the group.
    before: Vec<(u64, Option<Privilege>)>,
    /// The mode after the traps, or after a return from one.
    after: Option<(u64, Option<Privilege>)>,
}

impl Modes {
    /// Takes a mode change. After a trap of the same group it is the handler's mode.
    pub(super) fn note(&mut self, offset: u64, mode: Option<Privilege>, trapped: bool) {
        match trapped {
            true => self.after = Some((offset, mode)),
            false => self.before.push((offset, mode)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_none()
    }

    /// The instruction returns from a trap: its mode holds after it. The only mode of the first group, or of one with a
    /// FORCE_PC, is that of the instruction.
    pub(super) fn returns(&mut self, forced: bool) {
        if self.after.is_none() && self.before.len() > usize::from(forced) {
            self.after = self.before.pop();
        }
    }

    /// The modes before the instruction, and the one after it.
    #[expect(clippy::type_complexity)]
    pub(super) fn take(&mut self) -> (Vec<(u64, Option<Privilege>)>, Option<(u64, Option<Privilege>)>) {
        (std::mem::take(&mut self.before), self.after.take())
    }
}

/// The level that a mode change leads to. Arm's are written with the same numbers.
pub(super) fn privilege(isa: Isa, mode: u64) -> Option<Privilege> {
    const RISCV: [Privilege; 4] = [Privilege::U, Privilege::S, Privilege::H, Privilege::M];
    const ARM: [Privilege; 4] = [Privilege::El0, Privilege::El1, Privilege::El2, Privilege::El3];
    let levels = if is_arm(isa) { ARM } else { RISCV };
    levels.get(usize::try_from(mode).ok()?).copied()
}

/// The trap of an EVENT.
pub(crate) fn trap(isa: Isa, id: EventId, data: Data<'_>, batch: &mut Batch) -> Trap {
    let kind = if id.interrupt { TrapKind::Interrupt } else { TrapKind::Exception };
    let words = batch.add_words(data.words());
    let trap = Trap { cause: Some(id.code), words, ..Trap::new(kind) };
    if id.interrupt {
        return trap;
    }
    let field = |n: usize| data.words().nth(n);
    if is_arm(isa) {
        let (cause, class) = arm_cause(id.code);
        return Trap { cause, class, value: field(2), ..trap };
    }
    // The table "STF Exception Event and Event Meta-Data" names the field with the trap value.
    let (value, syscall) = match id.code {
        0 | 1 | 3 | 12 => (field(0), None),
        2 => (field(1), None),
        4..=7 | 13 | 15 => (field(2), None),
        8..=11 => (None, Some(Syscall::Ecall)),
        _ => (None, None),
    };
    Trap { value, syscall, syscall_index: syscall.and_then(|_| field(0)), ..trap }
}

/// The number of an Arm exception: the exception class, or `NO_CLASS`, below the cause plus 1, where it is known. No text
/// assigns numbers to Arm.
pub(crate) fn arm_code(cause: Option<u64>, class: Option<u8>) -> Option<u64> {
    match (cause, class) {
        (None, None) => None,
        _ => Some(cause.map_or(0, |cause| cause.wrapping_add(1) << 8) | u64::from(class.unwrap_or(NO_CLASS))),
    }
}

/// The inverse of [`arm_code`].
fn arm_cause(code: u64) -> (Option<u64>, Option<u8>) {
    ((code >> 8).checked_sub(1), Some(code as u8).filter(|&class| class != NO_CLASS))
}

const NO_CLASS: u8 = 0xff;

pub(crate) const fn is_arm(isa: Isa) -> bool {
    matches!(isa, Isa::A64 | Isa::A32 | Isa::T32)
}

/// Is it a failed fetch? RISC-V: misaligned, access fault, page fault; Arm: instruction aborts and a misaligned pc.
pub(crate) fn is_fetch_fault(isa: Isa, trap: &Trap) -> bool {
    trap.kind == TrapKind::Exception
        && match is_arm(isa) {
            true => matches!(trap.class, Some(0x20..=0x22)),
            false => matches!(trap.cause, Some(0 | 1 | 12)) && matches!(isa, Isa::Rv32 | Isa::Rv64),
        }
}

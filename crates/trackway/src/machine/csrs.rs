//! RISC-V CSRs that change without an instruction that names them: such contents are not known for long.

use trackway_core::{Isa, RegClass};
use trackway_isa::{Control, flow, registers, riscv};

const FFLAGS: u16 = 0x001;
const FRM: u16 = 0x002;
const FCSR: u16 = 0x003;
const VXSAT: u16 = 0x009;
const VXRM: u16 = 0x00a;
const VCSR: u16 = 0x00f;

/// Different views of one content, or contents that decide what another shows.
#[rustfmt::skip]
const GROUPS: &[&[u16]] = &[
    &[FFLAGS, FRM, FCSR],
    &[VXSAT, VXRM, VCSR],
    // mstatus, mstatush, sstatus, vsstatus, hstatus
    &[0x300, 0x310, 0x100, 0x200, 0x600],
    // mie, mieh, sie, sieh, vsie, hie and what delegates them
    &[0x304, 0x314, 0x104, 0x114, 0x204, 0x604, 0x303, 0x313, 0x603, 0x613],
    // tselect chooses what tdata1 to tinfo show
    &[0x7a0, 0x7a1, 0x7a2, 0x7a3, 0x7a4],
    // context registers
    &[0x5a8, 0x7a8, 0x7aa, 0x6a8],
    // misa switches others off and on
    &[0x301, 0x300],
];

/// Written by traps and returns from them: status, epc, cause, tval, tinst, tval2 and their kin of each level.
#[rustfmt::skip]
const TRAPS: &[u16] = &[
    0x100, 0x141, 0x142, 0x143, 0x200, 0x241, 0x242, 0x243, 0x300, 0x310, 0x341, 0x342, 0x343, 0x34a, 0x34b,
    0x600, 0x643, 0x64a, 0x741, 0x742, 0x744, 0x7b0, 0x7b1,
];

/// Status registers, which record that floating-point or vector registers were written.
const STATUS: &[u16] = &[0x100, 0x200, 0x300];

/// Changes without an instruction: counters, time, pending interrupts, windows into other registers.
pub fn is_volatile(csr: u16) -> bool {
    match csr {
        0xc20..=0xc23 => false,
        0x015 | 0xb00..=0xb9f | 0xc00..=0xc9f => true,
        0x144 | 0x154 | 0x244 | 0x254 | 0x344 | 0x354 | 0x644 | 0x645 | 0x655 => true,
        0x045..=0x049 | 0x145..=0x149 | 0x345..=0x349 => true,
        0x151..=0x157 | 0x251..=0x257 | 0x351..=0x357 | 0x15c | 0x25c | 0x35c => true,
        0x14e | 0x14f | 0x24e | 0x34e | 0x15f | 0xda0 | 0xdb0 | 0xe12 | 0xeb0 | 0xfb0 => true,
        _ => false,
    }
}

/// Does a trap or a return from one change it?
pub fn changes_with_traps(csr: u16) -> bool {
    TRAPS.contains(&csr)
}

/// Can a write to `written` change what `csr` shows? A supervisor's register can be the virtual supervisor's.
pub fn shares(written: u16, csr: u16) -> bool {
    let virtual_of = |a: u16, b: u16| a & 0xff00 == 0x100 && b == a + 0x100;
    written != csr
        && (virtual_of(written, csr)
            || virtual_of(csr, written)
            || GROUPS.iter().any(|group| group.contains(&written) && group.contains(&csr)))
}

/// CSRs that an encoding writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// The one that it names.
    named: Option<u16>,
    /// It returns from a trap.
    returns: bool,
    /// It writes a floating-point or vector register, or their state.
    dirties: bool,
    flags: bool,
    vector: bool,
}

impl Written {
    pub(super) fn by(isa: Isa, encoding: u32) -> Written {
        let list = registers(isa, encoding).unwrap_or_default();
        let is_vector =
            riscv::decode(isa, encoding).is_some_and(|inst| inst.op.extension() == riscv::Extension::V);
        let dirties = |class| matches!(class, RegClass::Float | RegClass::Vector);
        Written {
            named: None,
            returns: flow(isa, 0, encoding).control == Control::TrapReturn,
            dirties: is_vector || list.destinations().any(|reg| dirties(reg.class)),
            flags: false,
            vector: is_vector,
        }
    }

    /// It writes this one, named or not.
    pub(super) fn add(&mut self, csr: u16) {
        match csr {
            FFLAGS => (self.flags, self.dirties) = (true, true),
            _ if self.vector => {}
            _ => self.named = Some(csr),
        }
    }

    /// Does it change this one?
    pub(super) fn changes(&self, csr: u16) -> bool {
        let float = matches!(csr, FFLAGS | FRM | FCSR);
        let vector = matches!(csr, 0x008 | VXSAT | VXRM | VCSR | 0xc20 | 0xc21);
        self.named.is_some_and(|named| named == csr || shares(named, csr))
            // A write to the floating-point state itself.
            || self.named.is_some_and(|named| matches!(named, FFLAGS | FRM | FCSR)) && STATUS.contains(&csr)
            || self.returns && TRAPS.contains(&csr)
            || self.dirties && STATUS.contains(&csr)
            || (self.flags || self.vector) && float
            || self.vector && vector
    }
}

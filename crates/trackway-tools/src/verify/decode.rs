//! Registers and class of an instruction, cached by encoding.

use trackway_core::{Isa, RegClass, RegRole};
use trackway_hart::Extensions;
use trackway_isa::Recent;
use trackway_isa::riscv::{self, Class, Inst};

use super::needs::Need;

/// Registers and class of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub(crate) inst: Option<Inst>,
    /// Integer registers read, as bits.
    pub(crate) x_sources: u32,
    /// Floating-point registers read, as bits.
    pub(crate) f_sources: u32,
    /// Integer registers written, as bits.
    pub(crate) x_written: u32,
    /// Floating-point registers written, as bits.
    pub(crate) f_written: u32,
    /// Reads or writes control registers by name, or returns from traps.
    pub(crate) system: bool,
    /// Accrues flags, needs the floating-point unit.
    pub(crate) float: bool,
    /// Accesses memory.
    pub(crate) memory: bool,
    /// A part of the architecture that the model does not have.
    pub(crate) need: Option<Need>,
    /// The core does not have it: it is illegal whatever its sources hold.
    pub(crate) illegal: bool,
    /// It reads and writes registers and memory only, and no reservation.
    pub(crate) usual: bool,
}

/// Decodes instructions of one instruction set.
#[derive(Debug)]
pub(crate) struct Decoder {
    isa: Isa,
    extensions: Extensions,
    recent: Recent<u32, Decoded, 1024>,
}

const NOTHING: Decoded = Decoded {
    inst: None,
    x_sources: 0,
    f_sources: 0,
    x_written: 0,
    f_written: 0,
    system: true,
    float: false,
    memory: false,
    need: None,
    illegal: true,
    usual: false,
};

impl Decoder {
    pub(crate) fn new(isa: Isa, extensions: Extensions) -> Self {
        Decoder { isa, extensions, recent: Recent::default() }
    }

    #[inline]
    pub(crate) fn decode(&mut self, encoding: u32) -> &Decoded {
        self.recent.get(encoding, || decode(self.isa, self.extensions, encoding))
    }
}

fn decode(isa: Isa, extensions: Extensions, encoding: u32) -> Decoded {
    let found = riscv::lookup(isa, encoding);
    let need = Need::of(found.as_ref().map(|(_, inst)| inst), encoding);
    let Some((declared, inst)) = found else { return Decoded { need, ..NOTHING } };
    let class = inst.op.class();
    let mut decoded = Decoded {
        inst: Some(inst),
        system: matches!(class, Class::Csr | Class::System | Class::Fence),
        memory: class.memory().is_some(),
        need,
        illegal: !extensions.have(declared, &inst),
        ..NOTHING
    };
    for (reg, role) in inst.registers() {
        let bit = 1u32.checked_shl(reg.number.into()).unwrap_or(0);
        match (reg.class, role) {
            (RegClass::Int, RegRole::Source) => decoded.x_sources |= bit & !1,
            (RegClass::Float, RegRole::Source) => decoded.f_sources |= bit,
            (RegClass::Int, RegRole::Destination) => decoded.x_written |= bit & !1,
            (RegClass::Float, RegRole::Destination) => decoded.f_written |= bit,
            _ => {}
        }
    }
    decoded.float = decoded.f_sources | decoded.f_written != 0;
    let reserves = matches!(class, Class::LoadReserved(_) | Class::StoreConditional(_));
    decoded.usual = need.is_none() && !(decoded.illegal | decoded.system | reserves);
    decoded
}

//! Registers and class of an instruction, cached by encoding.

use trackway_core::{Isa, RegClass, RegRole};
use trackway_isa::Recent;
use trackway_isa::riscv::{self, Class, Inst};

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
}

/// Decodes instructions of one instruction set.
#[derive(Debug)]
pub(crate) struct Decoder {
    isa: Isa,
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
};

impl Decoder {
    pub(crate) fn new(isa: Isa) -> Self {
        Decoder { isa, recent: Recent::default() }
    }

    #[inline]
    pub(crate) fn decode(&mut self, encoding: u32) -> &Decoded {
        self.recent.get(encoding, || decode(self.isa, encoding))
    }
}

fn decode(isa: Isa, encoding: u32) -> Decoded {
    let Some(inst) = riscv::decode(isa, encoding) else { return NOTHING };
    let class = inst.op.class();
    let mut decoded = Decoded {
        inst: Some(inst),
        system: matches!(class, Class::Csr | Class::System | Class::Fence),
        memory: class.memory().is_some(),
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
    decoded
}

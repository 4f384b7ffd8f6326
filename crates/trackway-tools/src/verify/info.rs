//! What verification asks of an instruction, remembered by encoding.

use trackway_core::{Isa, RegClass, RegRole};
use trackway_isa::Recent;
use trackway_isa::riscv::{self, Class, Inst};

/// Registers and class of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    pub(crate) inst: Option<Inst>,
    /// Integer registers read, as bits.
    pub(crate) x_sources: u32,
    /// Floating-point registers read, as bits.
    pub(crate) f_sources: u32,
    /// Integer registers written.
    pub(crate) x_written: u32,
    /// Floating-point registers written.
    pub(crate) f_written: u32,
    /// Reads or writes control registers by name, or returns from traps.
    pub(crate) system: bool,
    /// Accrues flags, needs the floating-point unit.
    pub(crate) float: bool,
    pub(crate) memory: bool,
}

/// Instructions by encoding.
#[derive(Debug)]
pub(crate) struct Infos {
    isa: Isa,
    recent: Recent<u32, Info, 1024>,
}

const NOTHING: Info = Info {
    inst: None,
    x_sources: 0,
    f_sources: 0,
    x_written: 0,
    f_written: 0,
    system: true,
    float: false,
    memory: false,
};

impl Default for Infos {
    fn default() -> Self {
        Infos::new(Isa::Other)
    }
}

impl Infos {
    pub(crate) fn new(isa: Isa) -> Self {
        Infos { isa, recent: Recent::default() }
    }

    #[inline]
    pub(crate) fn of(&mut self, encoding: u32) -> &Info {
        self.recent.get(encoding, || info(self.isa, encoding))
    }
}

fn info(isa: Isa, encoding: u32) -> Info {
    let Some(inst) = riscv::decode(isa, encoding) else { return NOTHING };
    let class = inst.op.class();
    let mut info = Info {
        inst: Some(inst),
        system: matches!(class, Class::Csr | Class::System | Class::Fence),
        memory: class.memory().is_some(),
        ..NOTHING
    };
    for (reg, role) in inst.registers() {
        let bit = 1u32.checked_shl(reg.number.into()).unwrap_or(0);
        match (reg.class, role) {
            (RegClass::Int, RegRole::Source) => info.x_sources |= bit & !1,
            (RegClass::Float, RegRole::Source) => info.f_sources |= bit,
            (RegClass::Int, RegRole::Destination) => info.x_written |= bit & !1,
            (RegClass::Float, RegRole::Destination) => info.f_written |= bit,
            _ => {}
        }
    }
    info.float = info.f_sources | info.f_written != 0;
    info
}

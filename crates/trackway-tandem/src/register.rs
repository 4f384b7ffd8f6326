//! Register addresses, as in the RISC-V debug specification.

use trackway_core::{Reg, RegClass};
use trackway_isa::riscv::{csr_name, register_name};

/// Address of `x0`.
pub const GPR: u16 = 0x1000;
/// Address of `f0`.
pub const FPR: u16 = 0x1020;
/// Address of the first custom register.
pub const CUSTOM: u16 = 0xc000;

/// Addresses of CSRs and of both register files are below this.
pub(crate) const END: u16 = 0x1040;

/// Low bytes of the trap CSRs: the level is in bits 9:8.
pub(crate) const STATUS: u16 = 0x00;
pub(crate) const EPC: u16 = 0x41;
pub(crate) const CAUSE: u16 = 0x42;
pub(crate) const TVAL: u16 = 0x43;

/// The register at an address.
#[inline]
pub const fn reg(address: u16) -> Reg {
    let (class, number) = match address {
        0..GPR => (RegClass::Csr, address),
        GPR..FPR => (RegClass::Int, address - GPR),
        FPR..END => (RegClass::Float, address - FPR),
        _ => (RegClass::Other, address),
    };
    Reg { class, number }
}

/// The address of a register; `None` if the protocol has no address for it.
#[inline]
pub const fn address(reg: Reg) -> Option<u16> {
    match reg.class {
        RegClass::Csr if reg.number < GPR => Some(reg.number),
        RegClass::Int if reg.number < 32 => Some(GPR + reg.number),
        RegClass::Float if reg.number < 32 => Some(FPR + reg.number),
        RegClass::Other if reg.number >= CUSTOM => Some(reg.number),
        _ => None,
    }
}

/// The name of the register at an address: the ABI name of an x register, the name of a known CSR.
pub(crate) fn name(address: u16) -> String {
    let reg = reg(address);
    match reg.class {
        RegClass::Csr => match csr_name(reg.number) {
            Some(name) => name.to_string(),
            None => format!("csr{:#05x}", reg.number),
        },
        RegClass::Other => format!("custom{address:#06x}"),
        RegClass::Int => register_name(reg.number as u8).to_string(),
        _ => reg.to_string(),
    }
}

//! Names of RISC-V registers, read from bytes.

use trackway_core::{Reg, RegClass};
use trackway_isa::riscv::csr_number;

fn number(digits: &[u8]) -> Option<u16> {
    match digits {
        [ones @ b'0'..=b'9'] => Some(u16::from(ones - b'0')),
        [tens @ b'1'..=b'9', ones @ b'0'..=b'9'] => {
            Some(u16::from(tens - b'0') * 10 + u16::from(ones - b'0'))
        }
        _ => None,
    }
}

/// The register of that name: `x5`, `t0`, `f1`, `fa0`, `v3`.
pub(crate) fn register(name: &[u8]) -> Option<Reg> {
    let int = |number: u16| Some(Reg { class: RegClass::Int, number });
    let float = |number: u16| Some(Reg { class: RegClass::Float, number });
    match (name, name.get(1..).and_then(number)) {
        (b"zero", _) => int(0),
        (b"ra", _) => int(1),
        (b"sp", _) => int(2),
        (b"gp", _) => int(3),
        (b"tp", _) => int(4),
        (b"fp", _) => int(8),
        ([b'x', ..], Some(n @ 0..32)) => int(n),
        ([b'a', ..], Some(n @ 0..8)) => int(10 + n),
        ([b't', ..], Some(n @ 0..3)) => int(5 + n),
        ([b't', ..], Some(n @ 3..7)) => int(25 + n),
        ([b's', ..], Some(n @ 0..2)) => int(8 + n),
        ([b's', ..], Some(n @ 2..12)) => int(16 + n),
        ([b'f', ..], Some(n @ 0..32)) => float(n),
        ([b'v', ..], Some(number @ 0..32)) => Some(Reg { class: RegClass::Vector, number }),
        ([b'f', rest @ ..], None) => match (rest, rest.get(1..).and_then(number)) {
            ([b'a', ..], Some(n @ 0..8)) => float(10 + n),
            ([b't', ..], Some(n @ 0..8)) => float(n),
            ([b't', ..], Some(n @ 8..12)) => float(20 + n),
            ([b's', ..], Some(n @ 0..2)) => float(8 + n),
            ([b's', ..], Some(n @ 2..12)) => float(16 + n),
            _ => None,
        },
        _ => None,
    }
}

/// The CSR of that name.
pub(crate) fn csr(name: &[u8]) -> Option<Reg> {
    let number = csr_number(std::str::from_utf8(name).ok()?)?;
    Some(Reg { class: RegClass::Csr, number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trackway_core::Isa;

    #[test]
    fn the_names_are_those_of_the_instruction_set() {
        let letters = ["x", "f", "v", "a", "t", "s", "fa", "ft", "fs"];
        let numbered = letters.iter().flat_map(|letter| (0..40).map(move |n| format!("{letter}{n}")));
        for name in
            numbered.chain(["zero", "ra", "sp", "gp", "tp", "fp", "pc", "", "f", "x05"].map(String::from))
        {
            let known = trackway_isa::reg_named(Isa::Rv64, &name).filter(|_| name != "x05");
            assert_eq!(register(name.as_bytes()), known, "{name}");
        }
        assert_eq!(csr(b"mstatus"), Some(Reg { class: RegClass::Csr, number: 0x300 }));
    }
}

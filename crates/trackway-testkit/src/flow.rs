//! Effects of an instruction on the flow, by masks: as plain as an oracle has to be.

use trackway_core::{Isa, Syscall};

/// Effect of an instruction on the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Continues after itself; `memory` if it is a load or store.
    Next { memory: bool },
    /// Conditional branch to the given distance.
    Branch { distance: i64 },
    /// Unconditional jump to the given distance.
    Jump { distance: i64 },
    /// Jump to a register's value.
    Indirect,
    /// System call, and its immediate.
    Call(Syscall, u64),
    /// Breakpoint.
    Break,
    /// Return from an exception.
    TrapReturn,
    /// An encoding that cannot be executed.
    Undefined,
}

/// Classifies an encoding.
pub(crate) fn flow(isa: Isa, word: u32, size: u8) -> Flow {
    match isa {
        Isa::A64 => a64(word),
        _ if size == 2 => rv64c(word),
        _ => rv64(word),
    }
}

/// Sign-extends bits `[low, low + width)` of `word`, times `scale`.
fn signed(word: u32, low: u32, width: u32, scale: i64) -> i64 {
    i64::from(((word << (32 - low - width)) as i32) >> (32 - width)) * scale
}

fn a64(word: u32) -> Flow {
    match word {
        _ if word >> 24 == 0x54 => Flow::Branch { distance: signed(word, 5, 19, 4) },
        _ if word & 0x7e00_0000 == 0x3400_0000 => Flow::Branch { distance: signed(word, 5, 19, 4) },
        _ if word & 0x7e00_0000 == 0x3600_0000 => Flow::Branch { distance: signed(word, 5, 14, 4) },
        _ if word & 0x7c00_0000 == 0x1400_0000 => Flow::Jump { distance: signed(word, 0, 26, 4) },
        // ERET, ERETAA, ERETAB, DRPS.
        _ if word & 0xffc0_0000 == 0xd680_0000 => Flow::TrapReturn,
        _ if word & 0xfe00_0000 == 0xd600_0000 => Flow::Indirect,
        _ if word >> 24 == 0xd4 => {
            let immediate = u64::from(word >> 5 & 0xffff);
            match (word >> 21 & 7, word & 3) {
                (0, 1) => Flow::Call(Syscall::Svc, immediate),
                (0, 2) => Flow::Call(Syscall::Hvc, immediate),
                (0, 3) => Flow::Call(Syscall::Smc, immediate),
                (1, _) => Flow::Break,
                _ => Flow::Undefined,
            }
        }
        _ if word >> 31 == 0 && word >> 25 & 0xf == 0 => Flow::Undefined,
        _ => Flow::Next { memory: word & 0x0a00_0000 == 0x0800_0000 },
    }
}

fn rv64(word: u32) -> Flow {
    let bit = |at: u32, to: u32, width: u32| i64::from(word >> at & ((1 << width) - 1)) << to;
    let sign = if word >> 31 == 1 { -1i64 } else { 0 };
    match word & 0x7f {
        0x63 => Flow::Branch { distance: sign << 12 | bit(25, 5, 6) | bit(8, 1, 4) | bit(7, 11, 1) },
        0x6f => Flow::Jump { distance: sign << 20 | bit(12, 12, 8) | bit(20, 11, 1) | bit(21, 1, 10) },
        0x67 => Flow::Indirect,
        0x73 => match word {
            0x0000_0073 => Flow::Call(Syscall::Ecall, 0),
            0x0010_0073 => Flow::Break,
            0x3020_0073 | 0x1020_0073 => Flow::TrapReturn,
            _ => Flow::Next { memory: false },
        },
        0x03 | 0x07 | 0x23 | 0x27 | 0x2f => Flow::Next { memory: true },
        0x1f | 0x3f | 0x5f | 0x7f => Flow::Undefined,
        _ => Flow::Next { memory: false },
    }
}

fn rv64c(word: u32) -> Flow {
    let bit = |at: u32, to: u32, width: u32| i64::from(word >> at & ((1 << width) - 1)) << to;
    let sign = if word >> 12 & 1 == 1 { -1i64 } else { 0 };
    match (word & 3, word >> 13 & 7) {
        (0, 0) if word == 0 => Flow::Undefined,
        (1, 5) => Flow::Jump {
            distance: sign << 11
                | bit(11, 4, 1)
                | bit(9, 8, 2)
                | bit(8, 10, 1)
                | bit(7, 6, 1)
                | bit(6, 7, 1)
                | bit(3, 1, 3)
                | bit(2, 5, 1),
        },
        (1, 6 | 7) => {
            Flow::Branch { distance: sign << 8 | bit(10, 3, 2) | bit(5, 6, 2) | bit(3, 1, 2) | bit(2, 5, 1) }
        }
        (2, 4) if word == 0x9002 => Flow::Break,
        (2, 4) if word >> 2 & 0x1f == 0 => Flow::Indirect,
        (0, 1..=3 | 5..=7) | (2, 1..=3 | 5..=7) => Flow::Next { memory: true },
        _ => Flow::Next { memory: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_known_encodings() {
        assert_eq!(a64(0x54ff_fde1), Flow::Branch { distance: -0x44 });
        assert_eq!(a64(0x1400_0002), Flow::Jump { distance: 8 });
        assert_eq!(a64(0xd65f_03c0), Flow::Indirect);
        assert_eq!(a64(0xd69f_03e0), Flow::TrapReturn);
        assert_eq!(rv64(0xfe05_1ee3), Flow::Branch { distance: -4 });
        assert_eq!(rv64(0xffdf_f06f), Flow::Jump { distance: -4 });
        assert_eq!(rv64c(0xfd6d), Flow::Branch { distance: -6 });
        assert_eq!(rv64c(0xa001), Flow::Jump { distance: 0 });
        assert_eq!(rv64c(0x8082), Flow::Indirect);
    }
}

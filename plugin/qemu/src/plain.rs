//! Instructions that cannot leave their block unseen: once one has begun, the next one follows in the stream, or it is a
//! load or store whose access was not made. An uncertain instruction is not plain; blocks are then reported in more pieces.

/// The instruction set of the guest, by QEMU's word for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    A64,
    RiscV { wide: bool },
    Other,
}

impl Set {
    pub(crate) fn new(target: &str) -> Self {
        match target {
            "aarch64" => Set::A64,
            "riscv64" => Set::RiscV { wide: true },
            "riscv32" => Set::RiscV { wide: false },
            _ => Set::Other,
        }
    }

    pub(crate) fn is_plain(self, encoding: u32, size: u32) -> bool {
        match (self, size) {
            (Set::A64, 4) => a64(encoding),
            (Set::RiscV { .. }, 4) => riscv(encoding),
            (Set::RiscV { wide }, 2) => compressed(encoding, wide),
            _ => false,
        }
    }
}

/// By the top-level table of the A64 encodings. Traps that depend on the state of the CPU are known when it is translated,
/// and end the block; those of pointer authentication are not.
fn a64(word: u32) -> bool {
    let has = |mask: u32, value: u32| word & mask == value;
    match word >> 25 & 15 {
        // Data processing with an immediate, but for the return addresses that are authenticated with one.
        0b1000 | 0b1001 => !has(0x0380_0000, 0x0380_0000) || has(0x6000_0000, 0),
        // Data processing with registers: not PACGA, nor those with one source that sign or authenticate.
        0b0101 | 0b1101 => !has(0x7fe0_fc00, 0x1ac0_3000) && !has(0x7fff_0000, 0x5ac1_0000),
        0b0111 | 0b1111 => true,
        0b0100 | 0b0110 | 0b1100 | 0b1110 => match word >> 27 & 7 {
            // Pairs, but for the one that stores a tag, and for a size that is not allocated.
            0b101 => !has(0xc440_0000, 0x4000_0000) && !has(3 << 30, 3 << 30),
            // Literals, without the prefetch and what is not allocated.
            0b011 => has(1 << 24, 0) && !has(3 << 30, 3 << 30),
            // One register, in the sizes that there are: with an offset, which may be a register.
            0b111 => {
                let is_size = match has(1 << 26, 1 << 26) {
                    true => has(1 << 23, 0) || has(3 << 30, 0),
                    false => !has(3 << 22, 3 << 22) || has(1 << 31, 0),
                };
                is_size && (has(1 << 24, 1 << 24) || has(1 << 21, 0) || has(3 << 10, 2 << 10))
            }
            _ => false,
        },
        _ => false,
    }
}

fn riscv(word: u32) -> bool {
    let (rd, width) = (word >> 7 & 31, word >> 12 & 7);
    match word & 0x7f {
        // OP, OP-32, OP-IMM, OP-IMM-32, LUI.
        0x33 | 0x3b | 0x13 | 0x1b | 0x37 => true,
        // With no register AUIPC is a landing pad.
        0x17 => rd != 0,
        // LOAD, STORE.
        0x03 | 0x23 => true,
        // Of single and double precision: the others are vectors.
        0x07 | 0x27 => matches!(width, 2 | 3),
        _ => false,
    }
}

fn compressed(word: u32, wide: bool) -> bool {
    let (top, rd) = (word >> 13 & 7, word >> 7 & 31);
    match (word & 3, top) {
        // All zeros are no instruction.
        (0, 0) => word & 0xffff != 0,
        // c.fld, c.lw, c.ld or c.flw, c.fsd, c.sw, c.sd or c.fsw.
        (0, 1 | 2 | 3 | 5 | 6 | 7) => true,
        // c.addi, c.addiw, c.li, and what shifts and combines.
        (1, 0 | 2 | 4) => true,
        (1, 1) => wide && rd != 0,
        // Without an immediate c.lui is a may-be operation.
        (1, 3) => word & 0x107c != 0,
        // c.slli, and what loads from the stack and stores there. In between are jumps, and pushes and pops of several.
        (2, 0 | 1 | 2 | 3 | 6 | 7) => true,
        _ => false,
    }
}

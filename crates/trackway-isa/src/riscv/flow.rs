//! Length and control transfer of RISC-V instructions, straight from the encoding.
//!
//! This is the question asked for every instruction of a program, so it looks at control transfers only
//! and never at the decoding table. `tests/riscv_table.rs` holds it against the table.

use trackway_core::{Isa, sign_extend};

use crate::{Control, Flow};

/// Length in bytes from the first halfword (unprivileged 1.5): 2, 4, 6, 8, or 10 to 22; 0 for the
/// reserved forms of 24 bytes and more.
pub const fn length(halfword: u16) -> u8 {
    match halfword {
        h if h & 0b11 != 0b11 => 2,
        h if h & 0b1_1100 != 0b1_1100 => 4,
        h if h & 0b11_1111 == 0b01_1111 => 6,
        h if h & 0b111_1111 == 0b011_1111 => 8,
        h => match (h >> 12) & 0b111 {
            0b111 => 0,
            n => 10 + 2 * n as u8,
        },
    }
}

/// A quick look for table builders: true says that [`flow`] is sequential and the length 2 or 4, false says
/// nothing.
#[inline(always)]
pub const fn is_plain(encoding: u32) -> bool {
    /// By the two low bits and the three top ones: C.ADDI4SPN, C.JAL, C.J, C.BEQZ, C.BNEZ, C.JR and its kin.
    const NARROW: u32 =
        1 << 0b00000 | 1 << 0b00101 | 1 << 0b10101 | 1 << 0b11001 | 1 << 0b11101 | 1 << 0b10010;
    /// By bits 6:2: branches, JALR, JAL, SYSTEM, and the four prefixes of longer forms.
    const WIDE: u32 =
        1 << 0x18 | 1 << 0x19 | 1 << 0x1b | 1 << 0x1c | 1 << 0x07 | 1 << 0x0f | 1 << 0x17 | 1 << 0x1f;
    if encoding & 0b11 == 0b11 {
        return WIDE >> (encoding >> 2 & 31) & 1 == 0;
    }
    let form = encoding >> 11 & 0b11100 | encoding & 0b11;
    NARROW >> form & 1 == 0
        // C.MV and C.ADD are not C.JR and its kin.
        || (form == 0b10010 && encoding & 0x7c != 0)
        // All zeros is the one illegal form of C.ADDI4SPN.
        || (form == 0 && encoding & 0xffff != 0)
}

/// True for a conditional branch: the same as [`flow`] says, by three bit tests.
#[inline(always)]
pub fn is_branch(encoding: u32) -> bool {
    // All values of funct3 but 2 and 3; C.BEQZ and C.BNEZ.
    let wide = (encoding & 0x7f == 0x63) & (encoding >> 12 & 6 != 2);
    wide | (encoding & 0xc003 == 0xc001)
}

/// How long an instruction is and where control can go after it.
///
/// Encodings that no known extension defines are taken as sequential, except for the two that are
/// defined to be illegal: all zeros, and all ones.
pub fn flow(isa: Isa, pc: u64, encoding: u32) -> Flow {
    let narrow = |address: u64| if isa == Isa::Rv32 { address & 0xffff_ffff } else { address };
    let jump = |length, control, offset: i64| Flow {
        control,
        target: Some(narrow(pc.wrapping_add_signed(offset))),
        conditional: matches!(control, Control::Branch),
        ..Flow::sequential(length)
    };
    let plain = |length, control| Flow { control, ..Flow::sequential(length) };

    if encoding & 0b11 != 0b11 {
        let half = encoding as u16;
        return match (half & 0b11, half >> 13) {
            (0, 0) if half == 0 => plain(2, Control::Undefined),
            (1, 0b001) if isa == Isa::Rv32 => jump(2, Control::Call, offset_cj(half)),
            (1, 0b101) => jump(2, Control::Jump, offset_cj(half)),
            (1, 0b110 | 0b111) => jump(2, Control::Branch, offset_cb(half)),
            (2, 0b100) if half & 0x7c == 0 => {
                let rs1 = u32::from(half >> 7 & 31);
                match (half >> 12 & 1, rs1) {
                    (0, 0) => plain(2, Control::Sequential), // reserved
                    (0, _) => plain(2, indirect(0, rs1)),
                    (_, 0) => plain(2, Control::Breakpoint),
                    (_, _) => plain(2, indirect(1, rs1)),
                }
            }
            _ => Flow::sequential(2),
        };
    }

    let rd = encoding >> 7 & 31;
    let rs1 = encoding >> 15 & 31;
    match encoding & 0x7f {
        0x63 if !matches!(encoding >> 12 & 7, 2 | 3) => jump(4, Control::Branch, offset_b(encoding)),
        0x6f => jump(4, direct(rd), offset_j(encoding)),
        0x67 if encoding >> 12 & 7 == 0 => {
            if rs1 == 0 {
                let target = narrow(sign_extend(u64::from(encoding >> 20), 12) as u64 & !1);
                Flow { target: Some(target), ..plain(4, direct(rd)) }
            } else {
                plain(4, indirect(rd, rs1))
            }
        }
        0x73 => match encoding {
            0x0000_0073 => plain(4, Control::SystemCall),
            0x0010_0073 => plain(4, Control::Breakpoint),
            0x0020_0073 | 0x1020_0073 | 0x3020_0073 | 0x7020_0073 | 0x7b20_0073 => {
                plain(4, Control::TrapReturn)
            }
            0x1050_0073 => plain(4, Control::Wait),
            _ => Flow::sequential(4),
        },
        0x7f if encoding == u32::MAX => plain(4, Control::Undefined),
        _ => Flow::sequential(length(encoding as u16)),
    }
}

/// Is it one of the two link registers?
const fn is_link(register: u32) -> bool {
    register == 1 || register == 5
}

/// Class of a jump whose target is in the encoding (E-Trace 4.1.1).
const fn direct(rd: u32) -> Control {
    match rd {
        0 => Control::Jump,
        _ if is_link(rd) => Control::Call,
        _ => Control::OtherJump,
    }
}

/// Class of a jump through a register (E-Trace 4.1.1).
const fn indirect(rd: u32, rs1: u32) -> Control {
    match (is_link(rd), is_link(rs1)) {
        (true, true) if rd != rs1 => Control::CoroutineSwap,
        (true, _) => Control::IndirectCall,
        (false, true) => Control::Return,
        (false, false) if rd == 0 => Control::IndirectJump,
        (false, false) => Control::OtherIndirectJump,
    }
}

/// Offset of a branch, B format.
pub(super) fn offset_b(e: u32) -> i64 {
    let bits = (e >> 31 & 1) << 12 | (e >> 7 & 1) << 11 | (e >> 25 & 0x3f) << 5 | (e >> 8 & 0xf) << 1;
    sign_extend(u64::from(bits), 13) as i64
}

/// Offset of JAL, J format.
pub(super) fn offset_j(e: u32) -> i64 {
    let bits = (e >> 31 & 1) << 20 | (e >> 12 & 0xff) << 12 | (e >> 20 & 1) << 11 | (e >> 21 & 0x3ff) << 1;
    sign_extend(u64::from(bits), 21) as i64
}

/// Offset of C.J and C.JAL, CJ format: `[11|4|9:8|10|6|7|3:1|5]`.
pub(super) fn offset_cj(h: u16) -> i64 {
    let h = u64::from(h);
    let bits = (h >> 12 & 1) << 11
        | (h >> 11 & 1) << 4
        | (h >> 9 & 3) << 8
        | (h >> 8 & 1) << 10
        | (h >> 7 & 1) << 6
        | (h >> 6 & 1) << 7
        | (h >> 3 & 7) << 1
        | (h >> 2 & 1) << 5;
    sign_extend(bits, 12) as i64
}

/// Offset of C.BEQZ and C.BNEZ, CB format: `[8|4:3] [7:6|2:1|5]`.
pub(super) fn offset_cb(h: u16) -> i64 {
    let h = u64::from(h);
    let bits =
        (h >> 12 & 1) << 8 | (h >> 10 & 3) << 3 | (h >> 5 & 3) << 6 | (h >> 3 & 3) << 1 | (h >> 2 & 1) << 5;
    sign_extend(bits, 9) as i64
}

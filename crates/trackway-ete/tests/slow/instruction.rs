//! The few instructions that matter to a flow decoder, by the encoding tables of the manual.

use super::{Entry, Inst, Kind};

fn signed(word: u32, low: u32, width: u32) -> i64 {
    i64::from((word << (32 - low - width)) as i32 >> (32 - width))
}

/// The class of an instruction.
pub(super) fn instruction(sixty_four: bool, thumb: bool, pc: u64, word: u32, size: u8, wfx: bool) -> Inst {
    let size = u64::from(size);
    let plain = |kind| Inst { size, kind, link: false, target: Entry::default() };
    let indirect = |link| Inst { link, ..plain(Kind::Indirect) };
    let to = |target: u64, thumb, link| {
        let address = if sixty_four { target } else { target & 0xffff_ffff };
        Inst { size, kind: Kind::Direct, link, target: Entry { address, thumb } }
    };
    if sixty_four {
        let by = |low, width| pc.wrapping_add_signed(signed(word, low, width) * 4);
        return match word {
            _ if word & 0xfc00_0000 == 0x1400_0000 => to(by(0, 26), false, false),
            _ if word & 0xfc00_0000 == 0x9400_0000 => to(by(0, 26), false, true),
            _ if word & 0xff00_0000 == 0x5400_0000 => to(by(5, 19), false, false),
            _ if word & 0x7e00_0000 == 0x3400_0000 => to(by(5, 19), false, false),
            _ if word & 0x7e00_0000 == 0x3600_0000 => to(by(5, 14), false, false),
            // BR, BLR, RET, ERET, DRPS and the forms with pointer authentication.
            _ if word & 0xfe00_0000 == 0xd600_0000 => {
                indirect(word >> 21 & 0xf == 1 || word >> 21 & 0xf == 9)
            }
            _ if word & 0xffff_f0ff == 0xd503_30df => plain(Kind::Wait),
            _ if word & 0xffff_ffe0 == 0xd523_3060 => plain(Kind::Wait),
            0xd503_205f | 0xd503_207f if wfx => plain(Kind::Wait),
            _ if word & 0xffff_ffc0 == 0xd503_1000 && wfx => plain(Kind::Wait),
            _ => plain(Kind::Other),
        };
    }
    if !thumb {
        let by = signed(word, 0, 24) * 4;
        return match word {
            _ if word >> 25 == 0b111_1101 => {
                to(pc.wrapping_add_signed(8 + by + i64::from(word >> 24 & 1) * 2), true, true)
            }
            _ if word >> 28 < 15 && word >> 24 & 0xf == 0xa => {
                to(pc.wrapping_add_signed(8 + by), false, false)
            }
            _ if word >> 28 < 15 && word >> 24 & 0xf == 0xb => {
                to(pc.wrapping_add_signed(8 + by), false, true)
            }
            _ if word & 0x0fff_fff0 == 0x012f_ff10 => indirect(false),
            _ if word & 0x0fff_fff0 == 0x012f_ff30 => indirect(true),
            // LDM with pc, LDR and MOV to pc.
            _ if word >> 28 < 15 && word & 0x0e10_8000 == 0x0810_8000 => indirect(false),
            _ if word >> 28 < 15 && word & 0x0c10_f000 == 0x0410_f000 => indirect(false),
            // Data processing to pc, but for compares, which have no destination.
            _ if word >> 28 < 15
                && word & 0x0c00_f000 == 0x0000_f000
                && !(8..12).contains(&(word >> 21 & 0xf))
                && (word & 0x0200_0000 != 0 || word & 0x90 != 0x90) =>
            {
                indirect(false)
            }
            _ if word & 0xffff_fff0 == 0xf57f_f060 => plain(Kind::Wait),
            _ if word & 0x0fff_ffff == 0x0320_f003 && wfx => plain(Kind::Wait),
            _ => plain(Kind::Other),
        };
    }
    if size == 2 {
        return match word {
            _ if word >> 12 == 0xd && word >> 8 & 0xf < 14 => {
                to(pc.wrapping_add_signed(4 + signed(word, 0, 8) * 2), true, false)
            }
            _ if word >> 11 == 0b11100 => {
                to(pc.wrapping_add_signed(4 + signed(word, 0, 11) * 2), true, false)
            }
            // CBZ, CBNZ.
            _ if word & 0xf500 == 0xb100 => {
                to(pc + 4 + u64::from(word >> 9 & 1) * 64 + u64::from(word >> 3 & 0x1f) * 2, true, false)
            }
            _ if word & 0xff87 == 0x4700 => indirect(false),
            _ if word & 0xff87 == 0x4780 => indirect(true),
            _ if word & 0xff00 == 0xbd00 => indirect(false),
            // ADD and MOV to pc.
            _ if word & 0xff87 == 0x4687 || word & 0xff87 == 0x4487 => indirect(false),
            0xbf30 | 0xbf20 if wfx => plain(Kind::Wait),
            _ => plain(Kind::Other),
        };
    }
    let (first, second) = (word & 0xffff, word >> 16);
    let (s, j1, j2) = (first >> 10 & 1, second >> 13 & 1, second >> 11 & 1);
    let far = || {
        let (i1, i2) = (1 ^ j1 ^ s, 1 ^ j2 ^ s);
        let bits = s << 24 | i1 << 23 | i2 << 22 | (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
        signed(bits, 0, 25)
    };
    match (first >> 11, second >> 12 & 0b1101) {
        (0b11110, 0b1101) => to(pc.wrapping_add_signed(4 + far()), true, true),
        (0b11110, 0b1100) => to((pc & !3).wrapping_add_signed(4 + (far() & !3)), false, true),
        (0b11110, 0b1001) => to(pc.wrapping_add_signed(4 + far()), true, false),
        (0b11110, 0b1000) if first >> 7 & 7 != 7 => {
            let bits = s << 20 | j2 << 19 | j1 << 18 | (first & 0x3f) << 12 | (second & 0x7ff) << 1;
            to(pc.wrapping_add_signed(4 + signed(bits, 0, 21)), true, false)
        }
        _ if first == 0xf3bf && second & 0xfff0 == 0x8f60 => plain(Kind::Wait),
        // TBB and TBH, LDM and LDR with pc.
        _ if first & 0xfff0 == 0xe8d0 && second & 0xffe0 == 0xf000 => indirect(false),
        _ if first & 0xfe50 == 0xe810 && second & 0x8000 != 0 => indirect(false),
        _ if first & 0xff70 == 0xf850 && second & 0xf000 == 0xf000 => indirect(false),
        _ => plain(Kind::Other),
    }
}

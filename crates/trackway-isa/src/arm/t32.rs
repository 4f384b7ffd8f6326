//! Control transfer in T32.
//!
//! Conditionality by an IT block is not in the instruction itself: [`it_length`] says how far an IT
//! reaches, and the block table applies it ([`in_it_block`]).

use super::mask::{Row, Table, bits, signed};
use crate::{Control, Flow, Switch};
use trackway_core::Isa;

/// Class of the encodings of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// B with a condition, 8 bits.
    BranchNarrow,
    /// B, 11 bits.
    JumpNarrow,
    /// CBZ, CBNZ: forward only.
    CompareBranch,
    /// B with a condition, 20 bits. Conditions 14 and 15 are other instructions.
    BranchWide,
    /// B, BL: 24 bits.
    Direct(Control),
    /// BLX with an immediate: to A32, on a word.
    BranchExchange,
    /// Goes where a register or memory says; the address says the instruction set too.
    Exchange(Control),
    /// The same, but stays in T32.
    Indirect,
    /// BX: return if through the link register.
    Bx,
    /// MOV to the pc: return if from the link register; stays in T32.
    Mov,
    /// LDM with the pc in its list: return if it pops.
    Ldm,
    /// LDR to the pc: return if it pops.
    Ldr,
    /// Does not go anywhere itself.
    Plain(Control),
}

use Class::{
    BranchExchange, BranchNarrow, BranchWide, Bx, CompareBranch, Direct, Exchange, Indirect, JumpNarrow, Ldm,
    Ldr, Mov, Plain,
};

/// 16-bit encodings (Arm ARM F3.1.1).
const NARROW_ROWS: &[Row<Class>] = &[
    Row::new(0xff87, 0x4487, Indirect, "add pc"),
    Row::new(0xff87, 0x4687, Mov, "mov pc"),
    // Bits 1:0 should be zero; bit 2 is BXNS and BLXNS, in M-profile only.
    Row::new(0xff80, 0x4700, Bx, "bx"),
    Row::new(0xff80, 0x4780, Exchange(Control::IndirectCall), "blx (register)"),
    Row::new(0xfd00, 0xb100, CompareBranch, "cbz"),
    Row::new(0xfd00, 0xb900, CompareBranch, "cbnz"),
    Row::new(0xffc0, 0xba80, Plain(Control::Breakpoint), "hlt"),
    Row::new(0xff00, 0xbd00, Exchange(Control::Return), "pop with pc"),
    Row::new(0xff00, 0xbe00, Plain(Control::Breakpoint), "bkpt"),
    Row::new(0xffff, 0xbf20, Plain(Control::Wait), "wfe"),
    Row::new(0xffff, 0xbf30, Plain(Control::Wait), "wfi"),
    // Conditions 14 and 15 are UDF and SVC.
    Row::new(0xf800, 0xd000, BranchNarrow, "b.cond, eq to vc"),
    Row::new(0xfc00, 0xd800, BranchNarrow, "b.cond, hi to lt"),
    Row::new(0xfe00, 0xdc00, BranchNarrow, "b.cond, gt, le"),
    Row::new(0xff00, 0xde00, Plain(Control::Undefined), "udf"),
    Row::new(0xff00, 0xdf00, Plain(Control::SystemCall), "svc"),
    Row::new(0xf800, 0xe000, JumpNarrow, "b"),
];

/// 32-bit encodings, first halfword in the high half (Arm ARM F3.1.3).
const WIDE_ROWS: &[Row<Class>] = &[
    Row::new(0xffd0_ffff, 0xe810_c000, Exchange(Control::TrapReturn), "rfedb"),
    Row::new(0xffd0_ffff, 0xe990_c000, Exchange(Control::TrapReturn), "rfeia"),
    Row::new(0xffd0_8000, 0xe890_8000, Ldm, "ldm with pc"),
    Row::new(0xffd0_8000, 0xe910_8000, Ldm, "ldmdb with pc"),
    Row::new(0xfff0_ffe0, 0xe8d0_f000, Indirect, "tbb, tbh"),
    Row::new(0xffff_0fff, 0xee07_0f95, Plain(Control::Isb), "mcr p15, 0, rt, c7, c5, 4"),
    // Branches and miscellaneous control.
    Row::new(0xf800_d000, 0xf000_8000, BranchWide, "b.cond"),
    Row::new(0xf800_d000, 0xf000_9000, Direct(Control::Jump), "b"),
    Row::new(0xf800_d001, 0xf000_c000, BranchExchange, "blx (immediate)"),
    Row::new(0xf800_d000, 0xf000_d000, Direct(Control::Call), "bl"),
    // Load to the pc.
    Row::new(0xfff0_f000, 0xf8d0_f000, Ldr, "ldr pc (12-bit offset)"),
    Row::new(0xfff0_f800, 0xf850_f800, Ldr, "ldr pc (8-bit offset)"),
    Row::new(0xfff0_ffc0, 0xf850_f000, Ldr, "ldr pc (register)"),
];

/// The conditional branch space where its condition would be 14 or 15.
const MISCELLANEOUS_ROWS: &[Row<Class>] = &[
    Row::new(0xffff_ffff, 0xf3af_8002, Plain(Control::Wait), "wfe"),
    Row::new(0xffff_ffff, 0xf3af_8003, Plain(Control::Wait), "wfi"),
    Row::new(0xffff_fff0, 0xf3bf_8f60, Plain(Control::Isb), "isb"),
    Row::new(0xfff0_ffff, 0xf3c0_8f00, Exchange(Control::IndirectJump), "bxj"),
    // ERET is the one with 0.
    Row::new(0xffff_ff00, 0xf3de_8f00, Exchange(Control::TrapReturn), "subs pc, lr"),
    Row::new(0xfff0_f000, 0xf7e0_8000, Plain(Control::SystemCall), "hvc"),
    Row::new(0xfff0_ffff, 0xf7f0_8000, Plain(Control::SystemCall), "smc"),
    Row::new(0xfff0_f000, 0xf7f0_a000, Plain(Control::Undefined), "udf"),
];

/// The word load space where its base is the pc.
const LITERAL_ROWS: &[Row<Class>] = &[Row::new(0xff7f_f000, 0xf85f_f000, Ldr, "ldr pc (literal)")];

static NARROW: Table<Class> = Table::new(NARROW_ROWS, 8);
static WIDE: Table<Class> = Table::new(WIDE_ROWS, 20);
static MISCELLANEOUS: Table<Class> = Table::new(MISCELLANEOUS_ROWS, 20);
static LITERAL: Table<Class> = Table::new(LITERAL_ROWS, 20);

/// Is it a 32-bit instruction, by its first halfword?
#[inline]
pub const fn is_wide(encoding: u32) -> bool {
    encoding & 0xf800 >= 0xe800
}

/// How many instructions an IT instruction makes conditional, 1 to 4; `None` for any other.
///
/// ```
/// assert_eq!(trackway_isa::arm::t32::it_length(0xbf08), Some(1)); // it eq
/// assert_eq!(trackway_isa::arm::t32::it_length(0xbf0f), Some(4)); // iteee eq
/// assert_eq!(trackway_isa::arm::t32::it_length(0xbf00), None); // nop
/// ```
pub const fn it_length(encoding: u32) -> Option<u32> {
    if encoding & 0xff00 == 0xbf00 && encoding & 0xf != 0 {
        Some(4 - (encoding & 0xf).trailing_zeros())
    } else {
        None
    }
}

/// The same instruction inside an IT block.
pub const fn in_it_block(flow: Flow) -> Flow {
    let control = match flow.control {
        Control::Jump => Control::Branch,
        other => other,
    };
    Flow { control, conditional: true, ..flow }
}

/// A quick look for table builders: true says that [`flow`] is sequential, false says nothing.
#[inline]
pub fn is_plain(encoding: u32) -> bool {
    if is_wide(encoding) {
        let word = encoding.rotate_left(16);
        WIDE.excludes(word) && MISCELLANEOUS.excludes(word) && LITERAL.excludes(word)
    } else {
        NARROW.excludes(encoding)
    }
}

/// Length, control transfer and target of a T32 instruction.
pub fn flow(pc: u64, encoding: u32) -> Flow {
    if is_wide(encoding) { wide(pc, encoding.rotate_left(16)) } else { narrow(pc, encoding & 0xffff) }
}

fn narrow(pc: u64, word: u32) -> Flow {
    let Some(class) = NARROW.find(word) else { return Flow::sequential(2) };
    let target = match class {
        BranchNarrow => Some(signed(word, 8) * 2),
        JumpNarrow => Some(signed(word, 11) * 2),
        CompareBranch => Some(i64::from(bits(word, 9, 1) << 6 | bits(word, 3, 5) << 1)),
        _ => None,
    };
    Flow { length: 2, ..transfer(class, pc, target, bits(word, 3, 4)) }
}

fn wide(pc: u64, word: u32) -> Flow {
    let table = if word & 0xfb80_d000 == 0xf380_8000 {
        &MISCELLANEOUS
    } else if word & 0xff7f_0000 == 0xf85f_0000 {
        &LITERAL
    } else {
        &WIDE
    };
    let Some(class) = table.find(word) else { return Flow::sequential(4) };
    let sign = bits(word, 26, 1);
    let low = bits(word, 0, 11);
    let (j1, j2) = (bits(word, 13, 1), bits(word, 11, 1));
    let target = match class {
        BranchWide => Some(signed(sign << 19 | j2 << 18 | j1 << 17 | bits(word, 16, 6) << 11 | low, 20) * 2),
        Direct(_) | BranchExchange => {
            let (i1, i2) = (!(j1 ^ sign) & 1, !(j2 ^ sign) & 1);
            Some(signed(sign << 23 | i1 << 22 | i2 << 21 | bits(word, 16, 10) << 11 | low, 24) * 2)
        }
        _ => None,
    };
    let pops = match class {
        Ldm => word & 0xffff_0000 == 0xe8bd_0000,
        Ldr => word == 0xf85d_fb04,
        _ => false,
    };
    let flow = transfer(class, pc, target, 0);
    Flow { length: 4, control: if pops { Control::Return } else { flow.control }, ..flow }
}

/// `register` is the one that BX and MOV go through.
fn transfer(class: Class, pc: u64, offset: Option<i64>, register: u32) -> Flow {
    // The pc reads as 4 ahead, and BLX rounds it down to a word.
    let base = if class == BranchExchange { pc & !3 } else { pc }.wrapping_add(4);
    let target = offset.map(|offset| base.wrapping_add_signed(offset) & 0xffff_ffff);
    let through = if register == 14 { Control::Return } else { Control::IndirectJump };
    let (control, switch) = match class {
        BranchNarrow | BranchWide | CompareBranch => (Control::Branch, Switch::Stay),
        JumpNarrow => (Control::Jump, Switch::Stay),
        Direct(control) => (control, Switch::Stay),
        BranchExchange => (Control::Call, Switch::To(Isa::A32)),
        Exchange(control) => (control, Switch::ByTarget),
        Indirect => (Control::IndirectJump, Switch::Stay),
        Bx => (through, Switch::ByTarget),
        Mov => (through, Switch::Stay),
        Ldm | Ldr => (Control::IndirectJump, Switch::ByTarget),
        Plain(control) => (control, Switch::Stay),
    };
    Flow { length: 0, control, target, conditional: control == Control::Branch, switch }
}

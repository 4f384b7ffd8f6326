//! Control transfer in A64, as Arm's machine-readable architecture lists the encodings.

use super::mask::{Row, Table, bits, signed};
use crate::{Control, Flow, Switch};

/// Class of the encodings of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Goes to pc plus a signed immediate of `width` bits at bit `low`, in words.
    Direct { control: Control, low: u32, width: u32 },
    /// Goes where a register says.
    Indirect(Control),
    /// Does not go anywhere itself.
    Plain(Control),
}

use Class::{Direct, Indirect, Plain};

const BRANCH19: Class = Direct { control: Control::Branch, low: 5, width: 19 };
const BRANCH14: Class = Direct { control: Control::Branch, low: 5, width: 14 };
const BRANCH9: Class = Direct { control: Control::Branch, low: 5, width: 9 };

/// Arm ARM C4.1, in the order of the encoding index. No two rows overlap, so their order is free.
const ROWS: &[Row<Class>] = &[
    Row::new(0xffff_0000, 0x0000_0000, Plain(Control::Undefined), "udf"),
    // Conditional branch (immediate).
    Row::new(0xff00_0010, 0x5400_0000, BRANCH19, "b.cond"),
    Row::new(0xff00_0010, 0x5400_0010, BRANCH19, "bc.cond"),
    // Miscellaneous branch (immediate): the immediate names the signing instruction, not the target.
    Row::new(0xffe0_001f, 0x5500_001f, Indirect(Control::Return), "retaasppc"),
    Row::new(0xffe0_001f, 0x5520_001f, Indirect(Control::Return), "retabsppc"),
    // Exception generation.
    Row::new(0xffe0_001f, 0xd400_0001, Plain(Control::SystemCall), "svc"),
    Row::new(0xffe0_001f, 0xd400_0002, Plain(Control::SystemCall), "hvc"),
    Row::new(0xffe0_001f, 0xd400_0003, Plain(Control::SystemCall), "smc"),
    Row::new(0xffe0_001f, 0xd420_0000, Plain(Control::Breakpoint), "brk"),
    Row::new(0xffe0_001f, 0xd440_0000, Plain(Control::Breakpoint), "hlt"),
    // System instructions with register argument, hints, barriers, system result.
    Row::new(0xffff_ffe0, 0xd503_1000, Plain(Control::Wait), "wfet"),
    Row::new(0xffff_ffe0, 0xd503_1020, Plain(Control::Wait), "wfit"),
    Row::new(0xffff_ffff, 0xd503_205f, Plain(Control::Wait), "wfe"),
    Row::new(0xffff_ffff, 0xd503_207f, Plain(Control::Wait), "wfi"),
    Row::new(0xffff_f0ff, 0xd503_30df, Plain(Control::Isb), "isb"),
    Row::new(0xffff_ffe0, 0xd523_3060, Plain(Control::TransactionStart), "tstart"),
    // Unconditional branch (register).
    Row::new(0xffff_fc1f, 0xd61f_0000, Indirect(Control::IndirectJump), "br"),
    Row::new(0xffff_f81f, 0xd61f_081f, Indirect(Control::IndirectJump), "braaz, brabz"),
    Row::new(0xffff_fc1f, 0xd63f_0000, Indirect(Control::IndirectCall), "blr"),
    Row::new(0xffff_f81f, 0xd63f_081f, Indirect(Control::IndirectCall), "blraaz, blrabz"),
    Row::new(0xffff_fc1f, 0xd65f_0000, Indirect(Control::Return), "ret"),
    // With Rm = 31 these are RETAA and RETAB.
    Row::new(0xffff_fbe0, 0xd65f_0be0, Indirect(Control::Return), "retaa, retab, retaasppcr, retabsppcr"),
    Row::new(0xffff_ffff, 0xd69f_03e0, Indirect(Control::TrapReturn), "eret"),
    Row::new(0xffff_fbff, 0xd69f_0bff, Indirect(Control::TrapReturn), "eretaa, eretab"),
    Row::new(0xffff_ffff, 0xd6bf_03e0, Indirect(Control::TrapReturn), "drps"),
    Row::new(0xffff_f800, 0xd71f_0800, Indirect(Control::IndirectJump), "braa, brab"),
    Row::new(0xffff_f800, 0xd73f_0800, Indirect(Control::IndirectCall), "blraa, blrab"),
    // Unconditional branch (immediate).
    Row::new(0xfc00_0000, 0x1400_0000, Direct { control: Control::Jump, low: 0, width: 26 }, "b"),
    Row::new(0xfc00_0000, 0x9400_0000, Direct { control: Control::Call, low: 0, width: 26 }, "bl"),
    // Compare and branch, test and branch (immediate).
    Row::new(0x7f00_0000, 0x3400_0000, BRANCH19, "cbz"),
    Row::new(0x7f00_0000, 0x3500_0000, BRANCH19, "cbnz"),
    Row::new(0x7f00_0000, 0x3600_0000, BRANCH14, "tbz"),
    Row::new(0x7f00_0000, 0x3700_0000, BRANCH14, "tbnz"),
    // Compare registers and branch, by width and condition; conditions 100 and 101 are not allocated.
    Row::new(0x7f80_c000, 0x7400_0000, BRANCH9, "cbgt, cbge, cbhi, cbhs (register)"),
    Row::new(0x7fc0_c000, 0x74c0_0000, BRANCH9, "cbeq, cbne (register)"),
    Row::new(0xff80_c000, 0x7400_8000, BRANCH9, "cbbgt, cbbge, cbbhi, cbbhs"),
    Row::new(0xffc0_c000, 0x74c0_8000, BRANCH9, "cbbeq, cbbne"),
    Row::new(0xff80_c000, 0x7400_c000, BRANCH9, "cbhgt, cbhge, cbhhi, cbhhs"),
    Row::new(0xffc0_c000, 0x74c0_c000, BRANCH9, "cbheq, cbhne"),
    // Compare register with immediate and branch.
    Row::new(0x7f80_4000, 0x7500_0000, BRANCH9, "cbgt, cblt, cbhi, cblo (immediate)"),
    Row::new(0x7fc0_4000, 0x75c0_0000, BRANCH9, "cbeq, cbne (immediate)"),
];

/// Over bits 31:24, which separate most instructions.
static TABLE: Table<Class> = Table::new(ROWS, 24);

/// A quick look for table builders: true says that [`flow`] is sequential, false says nothing.
#[inline]
pub fn is_plain(encoding: u32) -> bool {
    TABLE.excludes(encoding)
}

/// True for B.cond, CBZ, CBNZ, TBZ and TBNZ: [`flow`] calls them branches. False says nothing.
#[inline(always)]
pub const fn is_branch(encoding: u32) -> bool {
    (encoding & 0x7c00_0000 == 0x3400_0000) | (encoding & 0xff00_0010 == 0x5400_0000)
}

/// Length, control transfer and target of an A64 instruction.
pub fn flow(pc: u64, encoding: u32) -> Flow {
    let Some(class) = TABLE.find(encoding) else { return Flow::sequential(4) };
    match class {
        Direct { control, low, width } => {
            let words = signed(bits(encoding, low, width), width);
            Flow {
                length: 4,
                control,
                target: Some(pc.wrapping_add_signed(words * 4)),
                conditional: control == Control::Branch,
                switch: Switch::Stay,
            }
        }
        Indirect(control) => Flow {
            control,
            switch: if control == Control::TrapReturn { Switch::ByTarget } else { Switch::Stay },
            ..Flow::sequential(4)
        },
        Plain(control) => Flow { control, ..Flow::sequential(4) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the rows, and all values of the bits that distinguish branches.
    #[test]
    fn branches_are_those_of_the_table() {
        let mut found = 0;
        for high in 0..1u32 << 16 {
            let encoding = high << 16 | high & 0x10;
            if is_branch(encoding) {
                assert_eq!(flow(0, encoding).control, Control::Branch, "{encoding:#x}");
                found += 1;
            }
        }
        // CBZ to TBNZ: 4 times 2 widths; B.cond.
        assert_eq!(found, (8 << 8) + (1 << 7));
    }
}

//! Control transfer in A32.

use super::mask::{Row, Table, bits, signed};
use crate::{Control, Flow, Switch};
use trackway_core::Isa;

/// Class of the encodings of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// B and BL: 24-bit immediate, in words.
    Direct(Control),
    /// BLX with an immediate: to T32, on any halfword.
    BranchExchange,
    /// Goes where a register or memory says; a return if it goes through the link register or the stack.
    Indirect(Control),
    /// BX: return if through the link register.
    Bx,
    /// LDM with the pc in its list: return if it pops.
    Ldm,
    /// LDR to the pc: return if it pops.
    Ldr,
    /// MOV to the pc: return if from the link register.
    Mov,
    /// Does not go anywhere itself.
    Plain(Control),
}

use Class::{BranchExchange, Bx, Direct, Indirect, Ldm, Ldr, Mov, Plain};

const JUMP: Class = Indirect(Control::IndirectJump);
const EXCEPTION_RETURN: Class = Indirect(Control::TrapReturn);

/// Encodings with a condition, bits 31:28 not all ones (Arm ARM F4.1). Rows of one group are exclusive by
/// their bits; no two overlap.
const CONDITIONAL_ROWS: &[Row<Class>] = &[
    // Data processing, register, immediate shift; Rd is the pc. TST, TEQ, CMP, CMN have no Rd.
    // S = 1: exception return.
    Row::new(0x0f90_f010, 0x0000_f000, JUMP, "and, eor, sub, rsb pc (register)"),
    Row::new(0x0f90_f010, 0x0010_f000, EXCEPTION_RETURN, "ands … rsbs pc (register)"),
    Row::new(0x0f90_f010, 0x0080_f000, JUMP, "add, adc, sbc, rsc pc (register)"),
    Row::new(0x0f90_f010, 0x0090_f000, EXCEPTION_RETURN, "adds … rscs pc (register)"),
    Row::new(0x0ff0_f010, 0x0180_f000, JUMP, "orr pc (register)"),
    Row::new(0x0ff0_f010, 0x0190_f000, EXCEPTION_RETURN, "orrs pc (register)"),
    Row::new(0x0ff0_f010, 0x01a0_f000, Mov, "mov pc (register)"),
    Row::new(0x0ff0_f010, 0x01b0_f000, EXCEPTION_RETURN, "movs pc (register)"),
    Row::new(0x0fd0_f010, 0x01c0_f000, JUMP, "bic, mvn pc (register)"),
    Row::new(0x0fd0_f010, 0x01d0_f000, EXCEPTION_RETURN, "bics, mvns pc (register)"),
    // Miscellaneous.
    Row::new(0x0fff_fff0, 0x012f_ff10, Bx, "bx"),
    Row::new(0x0fff_fff0, 0x012f_ff20, JUMP, "bxj"),
    Row::new(0x0fff_fff0, 0x012f_ff30, Indirect(Control::IndirectCall), "blx (register)"),
    Row::new(0x0fff_ffff, 0x0160_006e, EXCEPTION_RETURN, "eret"),
    Row::new(0x0ff0_00f0, 0x0100_0070, Plain(Control::Breakpoint), "hlt"),
    Row::new(0x0ff0_00f0, 0x0120_0070, Plain(Control::Breakpoint), "bkpt"),
    Row::new(0x0ff0_00f0, 0x0140_0070, Plain(Control::SystemCall), "hvc"),
    Row::new(0x0ff0_00f0, 0x0160_0070, Plain(Control::SystemCall), "smc"),
    // Data processing, immediate.
    Row::new(0x0f90_f000, 0x0200_f000, JUMP, "and, eor, sub, rsb pc (immediate)"),
    Row::new(0x0f90_f000, 0x0210_f000, EXCEPTION_RETURN, "ands … rsbs pc (immediate)"),
    Row::new(0x0f90_f000, 0x0280_f000, JUMP, "add, adc, sbc, rsc pc (immediate)"),
    Row::new(0x0f90_f000, 0x0290_f000, EXCEPTION_RETURN, "adds … rscs pc (immediate)"),
    Row::new(0x0f90_f000, 0x0380_f000, JUMP, "orr, mov, bic, mvn pc (immediate)"),
    Row::new(0x0f90_f000, 0x0390_f000, EXCEPTION_RETURN, "orrs … mvns pc (immediate)"),
    Row::new(0x0fff_ffff, 0x0320_f002, Plain(Control::Wait), "wfe"),
    Row::new(0x0fff_ffff, 0x0320_f003, Plain(Control::Wait), "wfi"),
    // Load to the pc.
    Row::new(0x0e50_f000, 0x0410_f000, Ldr, "ldr pc (immediate)"),
    Row::new(0x0e50_f010, 0x0610_f000, Ldr, "ldr pc (register)"),
    Row::new(0x0ff0_00f0, 0x07f0_00f0, Plain(Control::Undefined), "udf"),
    Row::new(0x0e50_8000, 0x0810_8000, Ldm, "ldm with pc"),
    Row::new(0x0e50_8000, 0x0850_8000, EXCEPTION_RETURN, "ldm with pc (exception return)"),
    // Branch.
    Row::new(0x0f00_0000, 0x0a00_0000, Direct(Control::Jump), "b"),
    Row::new(0x0f00_0000, 0x0b00_0000, Direct(Control::Call), "bl"),
    // The coprocessor form of ISB.
    Row::new(0x0fff_0fff, 0x0e07_0f95, Plain(Control::Isb), "mcr p15, 0, rt, c7, c5, 4"),
    Row::new(0x0f00_0000, 0x0f00_0000, Plain(Control::SystemCall), "svc"),
];

/// Encodings without a condition, bits 31:28 all ones.
const UNCONDITIONAL_ROWS: &[Row<Class>] = &[
    Row::new(0xffff_fff0, 0xf57f_f060, Plain(Control::Isb), "isb"),
    Row::new(0xfe50_ffff, 0xf810_0a00, EXCEPTION_RETURN, "rfe"),
    Row::new(0xfe00_0000, 0xfa00_0000, BranchExchange, "blx (immediate)"),
];

/// Over bits 27:20, the opcode.
static CONDITIONAL: Table<Class> = Table::new(CONDITIONAL_ROWS, 20);
static UNCONDITIONAL: Table<Class> = Table::new(UNCONDITIONAL_ROWS, 20);

/// Condition AL.
const ALWAYS: u32 = 14;

/// A quick look for table builders: true says that [`flow`] is sequential, false says nothing.
#[inline]
pub fn is_plain(encoding: u32) -> bool {
    CONDITIONAL.excludes(encoding) && UNCONDITIONAL.excludes(encoding)
}

/// Length, control transfer and target of an A32 instruction.
pub fn flow(pc: u64, encoding: u32) -> Flow {
    let condition = encoding >> 28;
    let table = if condition == 15 { &UNCONDITIONAL } else { &CONDITIONAL };
    let Some(class) = table.find(encoding) else { return Flow::sequential(4) };
    let conditional = condition < ALWAYS;
    let indirect = |control| Flow { control, conditional, switch: Switch::ByTarget, ..Flow::sequential(4) };
    let returning = |yes: bool| indirect(if yes { Control::Return } else { Control::IndirectJump });
    match class {
        Direct(control) => Flow {
            control: if conditional && control == Control::Jump { Control::Branch } else { control },
            target: Some(relative(pc, encoding, 0)),
            conditional,
            ..Flow::sequential(4)
        },
        BranchExchange => Flow {
            control: Control::Call,
            target: Some(relative(pc, encoding, bits(encoding, 24, 1))),
            switch: Switch::To(Isa::T32),
            ..Flow::sequential(4)
        },
        Indirect(control) => indirect(control),
        Bx => returning(bits(encoding, 0, 4) == 14),
        Mov => returning(encoding & 0x0fff == 14),
        // POP: load from the stack pointer, after which it moves up.
        Ldm => returning(encoding & 0x0fbf_0000 == 0x08bd_0000),
        Ldr => returning(encoding & 0x0fff_ffff == 0x049d_f004),
        Plain(control) => Flow { control, conditional, ..Flow::sequential(4) },
    }
}

/// The target of B, BL and BLX: the pc reads as two instructions ahead.
fn relative(pc: u64, encoding: u32, halfword: u32) -> u64 {
    let offset = signed(encoding & 0x00ff_ffff, 24) * 4 + 8 + i64::from(halfword * 2);
    pc.wrapping_add_signed(offset) & 0xffff_ffff
}

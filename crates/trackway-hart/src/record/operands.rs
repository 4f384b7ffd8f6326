//! Register operands of an instruction, and the outcome of a branch.

use trackway_core::RegClass;
use trackway_isa::riscv::{Inst, Op, Operand};

/// Which register files the fields of an operation name: rd, rs1, rs2, rs3.
pub(super) type Roles = [Option<RegClass>; 4];

pub(super) fn roles(op: Op) -> Roles {
    let mut roles = [None; 4];
    for operand in op.encoding().operands {
        match operand {
            Operand::Rd | Operand::RdCas => roles[0] = Some(RegClass::Int),
            Operand::FRd => roles[0] = Some(RegClass::Float),
            Operand::Rs1 | Operand::Base | Operand::MemI | Operand::MemS => roles[1] = Some(RegClass::Int),
            Operand::Rs2 | Operand::Rs2Cas => roles[2] = Some(RegClass::Int),
            Operand::FRs1 => roles[1] = Some(RegClass::Float),
            Operand::FRs2 => roles[2] = Some(RegClass::Float),
            Operand::FRs3 => roles[3] = Some(RegClass::Float),
            _ => {}
        }
    }
    roles
}

/// Does a branch change the flow? Asked of its operands: a branch to the next instruction can be taken too.
pub(super) fn branch_taken(inst: &Inst, (a, b): (u64, u64), rv32: bool) -> bool {
    let signed = |value: u64| if rv32 { i64::from(value as i32) } else { value as i64 };
    match inst.op {
        Op::Beq => a == b,
        Op::Bne => a != b,
        Op::Blt => signed(a) < signed(b),
        Op::Bge => signed(a) >= signed(b),
        Op::Bltu => a < b,
        _ => a >= b,
    }
}

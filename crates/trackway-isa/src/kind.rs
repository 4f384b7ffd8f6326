//! The class of an instruction and its extension or feature.

use trackway_core::Isa;

use crate::class::Class;
use crate::control::Control;
use crate::riscv::{self, Extension, Inst, Op};
use crate::{arm, flow};

/// The class of an instruction.
///
/// A transfer of control counts as one, whatever else it does: `pop {pc}` is a return. A32's conditions do not matter.
///
/// ```
/// use trackway_core::Isa;
/// use trackway_isa::{Class, class};
///
/// for (class_of, rv64, a64, a32, t32) in [
///     (Class::Load, 0x0005_3503, 0xf940_0000, 0xe590_0000, 0x6800), // ld a0,0(a0); ldr x0, [x0]; ldr r0, [r0]
///     (Class::Return, 0x8082, 0xd65f_03c0, 0xe12f_ff1e, 0x4770),    // ret; bx lr
///     (Class::Divide, 0x02b5_4533, 0x9ac1_0c00, 0xe710_f110, 0xf1f0_fb90), // div; sdiv
///     (Class::Fence, 0x0ff0_000f, 0xd503_3bbf, 0xf57f_f05b, 0x8f5b_f3bf), // fence; dmb ish
/// ] {
///     for (isa, encoding) in [(Isa::Rv64, rv64), (Isa::A64, a64), (Isa::A32, a32), (Isa::T32, t32)] {
///         assert_eq!(class(isa, encoding), class_of, "{isa} {encoding:x}");
///     }
/// }
/// ```
pub fn class(isa: Isa, encoding: u32) -> Class {
    let control = flow(isa, 0, encoding).control;
    match isa {
        Isa::Rv32 | Isa::Rv64 => {
            riscv::decode(isa, encoding).map_or_else(|| by_control(control), |inst| of_riscv(&inst, control))
        }
        _ if control != Control::Sequential => by_control(control),
        Isa::A64 => arm::kind::a64_class(encoding),
        _ => arm::kind::class(isa, encoding).unwrap_or(Class::Other),
    }
}

/// The extension (RISC-V) or feature (Arm) that an instruction belongs to, as the architecture names it.
///
/// - RISC-V: `I`, `M`, `A`, `F`, `D`, `V`, `Zba`, `Zicsr` and so on; `C` for every compressed instruction but
///   those of Zcb and Zcmop, whatever it expands to; `Sm` and `Ss` for the privileged instructions of machine and supervisor level; `custom` in the opcodes
///   that are set aside for custom extensions. An instruction that several extensions share counts to the largest: AMOs to
///   `A`, carry-less multiplication to `Zbc`.
/// - Arm: `A64`, `A32` and `T32` for the base, else `FEAT_FP`, `FEAT_AdvSIMD`, `FEAT_LSE`, `FEAT_SVE2` and so on. Where
///   one of several features suffices it is the one of the group: `FEAT_SVE` for what streaming mode has as well. The
///   optional parts of SME2 count to `FEAT_SME2`.
///
/// `unknown` is an encoding that is not allocated.
///
/// ```
/// use trackway_core::Isa;
/// use trackway_isa::extension;
///
/// assert_eq!(extension(Isa::Rv64, 0x00c5_8533), "I"); // add a0,a1,a2
/// assert_eq!(extension(Isa::Rv64, 0x20b5_2533), "Zba"); // sh1add a0,a0,a1
/// assert_eq!(extension(Isa::Rv64, 0x6522), "C"); // c.ldsp a0,8(sp)
/// assert_eq!(extension(Isa::A64, 0x8b02_0020), "A64"); // add x0, x1, x2
/// assert_eq!(extension(Isa::A64, 0xf820_0041), "FEAT_LSE"); // ldadd x0, x1, [x2]
/// assert_eq!(extension(Isa::A32, 0xee30_0a01), "FEAT_FP"); // vadd.f32 s0, s0, s2
/// assert_eq!(extension(Isa::T32, 0x0840_ef00), "FEAT_AdvSIMD"); // vadd.i8 q0, q0, q0
/// ```
pub fn extension(isa: Isa, encoding: u32) -> &'static str {
    let base = match isa {
        Isa::Rv32 | Isa::Rv64 => return of_word(isa, encoding),
        Isa::Other => return UNKNOWN,
        Isa::A64 => "A64",
        Isa::A32 => "A32",
        Isa::T32 => "T32",
    };
    match arm::kind::feature(isa, encoding) {
        Some("") => base,
        Some(feature) => feature,
        // The tables of A32 and T32 leave out some transfers.
        None if flow(isa, 0, encoding).control != Control::Sequential => base,
        None => UNKNOWN,
    }
}

const UNKNOWN: &str = "unknown";

fn of_word(isa: Isa, encoding: u32) -> &'static str {
    match riscv::lookup(isa, encoding) {
        Some((_, inst)) if is_pause(&inst) => "Zihintpause",
        Some((_, inst)) if is_prefetch(&inst) => "Zicbop",
        Some((_, inst)) if is_non_temporal(&inst) => "Zihintntl",
        Some((declared, inst)) => match (declared.extension, inst.op) {
            (Extension::System, Op::Sret | Op::SfenceVma) => "Ss",
            (Extension::Zcf | Extension::Zcd, _) => "C",
            (extension, _) => extension.as_str(),
        },
        // Custom-0 to custom-3.
        None if matches!(encoding & 0x7f, 0x0b | 0x2b | 0x5b | 0x7b) => "custom",
        None => UNKNOWN,
    }
}

/// Zihintpause: a fence that orders writes before nothing.
fn is_pause(inst: &Inst) -> bool {
    inst.word == 0x0100_000f
}

/// Zicbop: ORI to `x0` whose low bits say what for.
fn is_prefetch(inst: &Inst) -> bool {
    inst.op == Op::Ori && inst.rd == 0 && matches!(inst.imm & 31, 0 | 1 | 3)
}

/// Zihintntl: additions of `x2` to `x5` to `x0`.
fn is_non_temporal(inst: &Inst) -> bool {
    inst.op == Op::Add
        && inst.rd == 0
        && inst.rs1 == 0
        && (2..6).contains(&inst.rs2)
        && inst.word & 0xf003 != 0x8002
}

fn by_control(control: Control) -> Class {
    match control {
        Control::Branch => Class::Branch,
        Control::Sequential => Class::Other,
        Control::Isb => Class::Fence,
        control if control.is_call() => Class::Call,
        control if control.is_return() => Class::Return,
        control if control.is_transfer() => Class::Jump,
        _ => Class::System,
    }
}

fn of_riscv(inst: &Inst, control: Control) -> Class {
    use riscv::Class as By;
    match inst.op.class() {
        By::Int if is_prefetch(inst) => Class::Prefetch,
        By::Int if is_non_temporal(inst) => Class::Hint,
        By::Int => Class::Integer,
        By::Multiply => Class::Multiply,
        By::Divide => Class::Divide,
        By::Branch => Class::Branch,
        By::Jal | By::Jalr => match control {
            control if control.is_call() => Class::Call,
            control if control.is_return() => Class::Return,
            _ => Class::Jump,
        },
        By::Load(_) | By::LoadReserved(_) => Class::Load,
        By::Store(_) | By::StoreConditional(_) => Class::Store,
        By::Amo(_) => Class::Atomic,
        By::Csr => Class::Csr,
        By::Fence => match inst.op {
            Op::CboClean | Op::CboFlush | Op::CboInval => Class::Cache,
            _ if is_pause(inst) => Class::Hint,
            _ => Class::Fence,
        },
        By::ZeroBlock => Class::Cache,
        By::System => Class::System,
        By::Float
        | By::FloatMultiply
        | By::FloatDivide
        | By::FloatCompare
        | By::FloatConvert
        | By::FloatMove => Class::Float,
        By::VectorLoad(_) => Class::VectorLoad,
        By::VectorStore(_) => Class::VectorStore,
        By::VectorConfig | By::Vector => Class::Vector,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_a64() {
        for (word, class) in [
            (0x8b02_0020, Class::Integer),     // add x0, x1, x2
            (0x9100_0421, Class::Integer),     // add x1, x1, #1
            (0x9b02_7c20, Class::Multiply),    // mul x0, x1, x2
            (0x9bc2_7c20, Class::Multiply),    // umulh x0, x1, x2
            (0x9ac2_0820, Class::Divide),      // udiv x0, x1, x2
            (0x1ac2_0c20, Class::Divide),      // sdiv w0, w1, w2
            (0x9ac2_2020, Class::Integer),     // lsl x0, x1, x2
            (0x5400_0040, Class::Branch),      // b.eq
            (0x9400_0000, Class::Call),        // bl
            (0xd63f_0000, Class::Call),        // blr x0
            (0xd65f_03c0, Class::Return),      // ret
            (0x1400_0000, Class::Jump),        // b
            (0xf900_0020, Class::Store),       // str x0, [x1]
            (0xc85f_7c20, Class::Load),        // ldxr x0, [x1]
            (0xc802_7c20, Class::Store),       // stxr w2, x0, [x1]
            (0xf820_0041, Class::Atomic),      // ldadd x0, x1, [x2]
            (0xf980_0020, Class::Prefetch),    // prfm pldl1keep, [x1]
            (0xd53b_d040, Class::Csr),         // mrs x0, tpidr_el0
            (0xd503_3bbf, Class::Fence),       // dmb ish
            (0xd503_3f9f, Class::Fence),       // dsb sy
            (0xd503_201f, Class::Hint),        // nop
            (0xd400_0001, Class::System),      // svc #0
            (0x1e62_2820, Class::Float),       // fadd d0, d1, d2
            (0x1f42_0c20, Class::Float),       // fmadd d0, d1, d2, d3
            (0x4ea2_1c41, Class::Vector),      // mov v1.16b, v2.16b
            (0x4e62_d420, Class::Vector),      // fadd v0.2d, v1.2d, v2.2d
            (0xa400_a020, Class::VectorLoad),  // ld1b {z0.b}, p0/z, [x1]
            (0xe400_e020, Class::VectorStore), // st1b {z0.b}, p0, [x1]
            (0x04e2_0020, Class::Vector),      // add z0.d, z1.d, z2.d
        ] {
            assert_eq!(super::class(Isa::A64, word), class, "{word:08x}");
        }
    }
}

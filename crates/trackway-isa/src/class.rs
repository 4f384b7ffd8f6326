//! The class of an instruction, in words that both architectures share.

use trackway_core::Isa;

use crate::arm::memory as arm_memory;
use crate::control::Control;
use crate::riscv;

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $name:literal,)*) => {
        /// Kind of work that an instruction does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Class { $($(#[$doc])* $class,)* }

        impl Class {
            /// All classes, in order.
            pub const ALL: &[Class] = &[$(Class::$class),*];

            /// The name of the class.
            pub const fn as_str(self) -> &'static str {
                match self { $(Class::$class => $name,)* }
            }
        }
    };
}

classes! {
    /// Integer arithmetic, logic, shifts, constants, addresses.
    Integer = "integer",
    /// Integer multiplication.
    Multiply = "multiply",
    /// Integer division and remainder.
    Divide = "divide",
    /// Conditional branch.
    Branch = "branch",
    /// Direct or indirect call.
    Call = "call",
    /// Return from a call.
    Return = "return",
    /// Any other jump; on Arm also the return from an exception.
    Jump = "jump",
    /// Load to a register.
    Load = "load",
    /// Store of a register.
    Store = "store",
    /// Atomic read-modify-write.
    Atomic = "atomic",
    /// Reads or writes a control, status or system register.
    Csr = "csr",
    /// Orders memory, instruction fetch or translation.
    Fence = "fence",
    /// Traps, waits; on RISC-V also the return from a trap.
    System = "system",
    /// Scalar floating point.
    Float = "float",
    /// Vector load.
    VectorLoad = "vector load",
    /// Vector store.
    VectorStore = "vector store",
    /// Vector arithmetic and configuration.
    Vector = "vector",
    /// Anything else, and instruction sets without a table: of A32 and T32 only control flow is known.
    Other = "other",
}

/// The class of an instruction.
///
/// ```
/// use trackway_core::Isa;
/// use trackway_isa::{Class, class};
///
/// assert_eq!(class(Isa::Rv64, 0x0005_3503), Class::Load); // ld a0,0(a0)
/// assert_eq!(class(Isa::A64, 0xf940_0000), Class::Load); // ldr x0, [x0]
/// assert_eq!(class(Isa::Rv64, 0x8082), Class::Return);
/// assert_eq!(class(Isa::T32, 0x4770), Class::Return); // bx lr
/// ```
pub fn class(isa: Isa, encoding: u32) -> Class {
    let control = crate::flow(isa, 0, encoding).control;
    match isa {
        Isa::Rv32 | Isa::Rv64 => riscv::decode(isa, encoding)
            .map_or_else(|| by_control(control), |inst| of_riscv(inst.op.class(), control)),
        Isa::A64 if control == Control::Sequential => of_a64(encoding),
        _ => by_control(control),
    }
}

fn by_control(control: Control) -> Class {
    match control {
        Control::Branch => Class::Branch,
        Control::Sequential => Class::Other,
        control if control.is_call() => Class::Call,
        control if control.is_return() => Class::Return,
        control if control.is_transfer() => Class::Jump,
        _ => Class::System,
    }
}

fn of_riscv(class: riscv::Class, control: Control) -> Class {
    use riscv::Class as By;
    match class {
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
        By::Fence => Class::Fence,
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

/// Instructions that control falls through, by the top level of the A64 encoding index (Arm ARM C4.1).
fn of_a64(word: u32) -> Class {
    use arm_memory::Memory;
    match arm_memory::memory(word) {
        Some(Memory::Load | Memory::TagLoad) => return Class::Load,
        Some(Memory::ReadWrite | Memory::CompareSwap) => return Class::Atomic,
        Some(Memory::VectorLoad) => return Class::VectorLoad,
        Some(Memory::VectorStore) => return Class::VectorStore,
        Some(
            Memory::Store
            | Memory::ConditionalStore
            | Memory::ZeroBlock
            | Memory::TagStore
            | Memory::TagDataStore
            | Memory::Copy
            | Memory::Set { .. },
        ) => return Class::Store,
        // Prefetches and maintenance move no data.
        Some(_) => return Class::Other,
        None => {}
    }
    match word >> 25 & 0xf {
        0b1000 | 0b1001 => Class::Integer,
        0b0101 | 0b1101 => match word >> 24 & 0x1f {
            0b11011 => Class::Multiply,
            // UDIV and SDIV.
            0b11010 if word & 0x7fe0_f800 == 0x1ac0_0800 => Class::Divide,
            _ => Class::Integer,
        },
        0b0111 | 0b1111 if word & 0x5e00_0000 == 0x1e00_0000 => Class::Float,
        0b0111 | 0b1111 | 0b0010 => Class::Vector,
        0b0000 if word >> 31 == 1 => Class::Vector,
        0b1010 | 0b1011 => match word {
            // CLREX, DSB, DMB, SB.
            _ if word & 0xffff_f01f == 0xd503_301f => Class::Fence,
            // MSR and MRS of a register.
            _ if word & 0xffd0_0000 == 0xd510_0000 => Class::Csr,
            _ => Class::Other,
        },
        _ => Class::Other,
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
            (0xf980_0020, Class::Other),       // prfm pldl1keep, [x1]
            (0xd53b_d040, Class::Csr),         // mrs x0, tpidr_el0
            (0xd503_3bbf, Class::Fence),       // dmb ish
            (0xd503_3f9f, Class::Fence),       // dsb sy
            (0xd503_201f, Class::Other),       // nop
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

    #[test]
    fn names_are_distinct() {
        let names: std::collections::BTreeSet<_> = Class::ALL.iter().map(|class| class.as_str()).collect();
        assert_eq!(names.len(), Class::ALL.len());
    }
}

//! The class of an instruction, and its memory behaviour.

use trackway_core::MemKind;

/// Kind of work. Numbers are bytes per access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Integer arithmetic, logic, shifts, bit manipulation, constants, address of code.
    Int,
    /// Integer multiplication.
    Multiply,
    /// Integer division and remainder.
    Divide,
    /// Conditional branch.
    Branch,
    /// Direct jump, with or without link.
    Jal,
    /// Indirect jump, with or without link.
    Jalr,
    /// Load of an integer or a floating-point register.
    Load(u8),
    /// Store of an integer or a floating-point register.
    Store(u8),
    /// Load-reserved.
    LoadReserved(u8),
    /// Store-conditional: stores or not.
    StoreConditional(u8),
    /// Atomic read-modify-write.
    Amo(u8),
    /// Reads or writes a control and status register.
    Csr,
    /// Orders memory, instruction fetch or translation.
    Fence,
    /// Traps, returns from traps, waits.
    System,
    /// Floating-point addition, minimum, classification.
    Float,
    /// Floating-point multiplication, fused or not.
    FloatMultiply,
    /// Floating-point division and square root.
    FloatDivide,
    /// Floating-point comparison.
    FloatCompare,
    /// Conversion between formats.
    FloatConvert,
    /// Moves between register files, and sign injection.
    FloatMove,
    /// Sets the vector type and length.
    VectorConfig,
    /// Vector load; 0 where the vector type, not the encoding, has the size of an element.
    VectorLoad(u8),
    /// Vector store; 0 as for loads.
    VectorStore(u8),
    /// Vector arithmetic.
    Vector,
    /// Stores zeros to a cache block.
    ZeroBlock,
}

/// The memory behaviour of an instruction that completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Loads read, stores write, atomics do both. A store-conditional writes, or not.
    pub kind: MemKind,
    /// Bytes per access; `None` where the vector type or the core decides.
    pub size: Option<u8>,
    /// How many accesses.
    pub count: Count,
}

/// How many memory accesses an instruction makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// Exactly one.
    One,
    /// One or none: a store-conditional may fail.
    AtMostOne,
    /// Depends on vector length, mask and register group, possibly none; or on how a cache block is written.
    Vector,
}

impl Class {
    /// Its memory behaviour; `None` if it does not access memory.
    pub const fn memory(self) -> Option<Memory> {
        let (kind, size, count) = match self {
            Self::Load(n) | Self::LoadReserved(n) => (MemKind::Read, n, Count::One),
            Self::Store(n) => (MemKind::Write, n, Count::One),
            Self::StoreConditional(n) => (MemKind::Write, n, Count::AtMostOne),
            Self::Amo(n) => (MemKind::ReadWrite, n, Count::One),
            Self::VectorLoad(n) => (MemKind::Read, n, Count::Vector),
            Self::VectorStore(n) => (MemKind::Write, n, Count::Vector),
            Self::ZeroBlock => (MemKind::Write, 0, Count::Vector),
            _ => return None,
        };
        Some(Memory { kind, size: if size == 0 { None } else { Some(size) }, count })
    }
}

macro_rules! extensions {
    ($($(#[$doc:meta])* $extension:ident = $name:literal,)*) => {
        /// The extension that an instruction belongs to, in the order of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // the names are the extensions' own
        pub enum Extension { $($(#[$doc])* $extension,)* }

        impl Extension {
            /// The name of the extension.
            pub const fn as_str(self) -> &'static str {
                match self { $(Extension::$extension => $name,)* }
            }
        }
    };
}

extensions! {
    I = "I",
    Zifencei = "Zifencei",
    Zicsr = "Zicsr",
    M = "M",
    A = "A",
    Zabha = "Zabha",
    Zacas = "Zacas",
    F = "F",
    D = "D",
    Zfhmin = "Zfhmin",
    Zfh = "Zfh",
    Zfa = "Zfa",
    Zba = "Zba",
    Zbb = "Zbb",
    Zbc = "Zbc",
    Zbs = "Zbs",
    Zicbop = "Zicbop",
    Zicbom = "Zicbom",
    Zicboz = "Zicboz",
    Zbkb = "Zbkb",
    /// Carry-less multiplication for cryptography: a part of Zbc.
    Zbkc = "Zbkc",
    Zbkx = "Zbkx",
    Zknd = "Zknd",
    Zkne = "Zkne",
    Zknh = "Zknh",
    Zksed = "Zksed",
    Zksh = "Zksh",
    /// The entropy source: a register, no instruction.
    Zkr = "Zkr",
    Zicond = "Zicond",
    Zawrs = "Zawrs",
    Zimop = "Zimop",
    /// Privileged instructions of machine level, and of supervisor level (`Ss`).
    System = "Sm",
    H = "H",
    Svinval = "Svinval",
    Svnapot = "Svnapot",
    Svpbmt = "Svpbmt",
    Svade = "Svade",
    Svadu = "Svadu",
    Sstc = "Sstc",
    Sscofpmf = "Sscofpmf",
    Smepmp = "Smepmp",
    Smstateen = "Smstateen",
    /// Debug.
    Sdext = "Sdext",
    Smrnmi = "Smrnmi",
    /// User-level interrupts, withdrawn.
    N = "N",
    V = "V",
    /// With F and D, without Zcf and Zcd, this is Zca.
    C = "C",
    /// Compressed single precision, RV32 only: a part of C where there is F.
    Zcf = "Zcf",
    /// Compressed double precision: a part of C where there is D.
    Zcd = "Zcd",
    Zcb = "Zcb",
    Zcmop = "Zcmop",
}

/// Which register widths have the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// RV32 and RV64.
    Any,
    /// RV32 only.
    Rv32,
    /// RV64 only.
    Rv64,
}

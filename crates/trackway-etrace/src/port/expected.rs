//! The accesses that an instruction makes, by its encoding. Data packets do not name their instruction; this is
//! what matches them.

use trackway_core::Isa;
use trackway_isa::Recent;
use trackway_isa::riscv::{Amo, Class, Op, decode};

use super::data::Dtype;

/// The accesses of an instruction that retires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expected {
    #[default]
    Nothing,
    /// One access, of this type and size.
    Single(Dtype, u8),
    /// A store, or nothing where it fails (store-conditional).
    Conditional(u8),
    Atomic(Atomic),
    Csr(Csr),
    /// Any number of loads or stores (vectors), all of one size or of any.
    Several(Dtype, Option<u8>),
}

/// An atomic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Atomic {
    pub(crate) operation: Amo,
    /// Logarithm of the bytes that it accesses.
    pub(crate) dsize: u8,
    /// Register of the operand.
    pub(crate) rs2: u8,
}

impl Atomic {
    /// Type of its data access (table 4.9), which does not distinguish signed from unsigned comparisons.
    pub(crate) fn dtype(&self) -> Dtype {
        match self.operation {
            Amo::Swap => Dtype::ATOMIC_SWAP,
            Amo::Add => Dtype::ATOMIC_ADD,
            Amo::And => Dtype::ATOMIC_AND,
            Amo::Or => Dtype::ATOMIC_OR,
            Amo::Xor => Dtype::ATOMIC_XOR,
            Amo::Max | Amo::Maxu => Dtype::ATOMIC_MAX,
            Amo::Min | Amo::Minu => Dtype::ATOMIC_MIN,
        }
    }

    /// The value stored where `data` was loaded.
    pub(crate) fn stored(&self, data: u64, operand: u64) -> u64 {
        self.operation.stored(data, operand, 1 << self.dsize)
    }

    /// An operand with which it stores `stored` where `data` was loaded.
    pub(crate) fn operand(&self, data: u64, stored: u64) -> u64 {
        self.operation.operand(data, stored, 1 << self.dsize)
    }
}

/// The operand of a CSR instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CsrOperand {
    /// An integer register, by number.
    Register(u8),
    Immediate(u8),
}

/// A CSR instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Csr {
    pub(crate) dtype: Dtype,
    pub(crate) number: u16,
    /// It reads the CSR; a swap without a destination does not.
    pub(crate) reads: bool,
    /// It writes the CSR; setting and clearing by `x0` or 0 does not.
    pub(crate) writes: bool,
    pub(crate) operand: CsrOperand,
}

fn size(bytes: u8) -> u8 {
    bytes.max(1).ilog2() as u8
}

/// Accesses of the instruction with this encoding to memory and CSRs.
fn expected(isa: Isa, encoding: u32) -> Expected {
    let Some(inst) = decode(isa, encoding) else { return Expected::Nothing };
    match inst.op.class() {
        Class::Load(n) | Class::LoadReserved(n) => Expected::Single(Dtype::LOAD, size(n)),
        Class::Store(n) => Expected::Single(Dtype::STORE, size(n)),
        Class::StoreConditional(n) => Expected::Conditional(size(n)),
        Class::Amo(n) => match Amo::of(encoding) {
            Some(operation) => Expected::Atomic(Atomic { operation, dsize: size(n), rs2: inst.rs2 }),
            None => Expected::Nothing,
        },
        Class::VectorLoad(n) => Expected::Several(Dtype::LOAD, (n > 0).then(|| size(n))),
        Class::VectorStore(n) => Expected::Several(Dtype::STORE, (n > 0).then(|| size(n))),
        Class::Csr => {
            let (dtype, immediate) = match inst.op {
                Op::Csrrw => (Dtype::CSR_READ_WRITE, false),
                Op::Csrrs => (Dtype::CSR_READ_SET, false),
                Op::Csrrc => (Dtype::CSR_READ_CLEAR, false),
                Op::Csrrwi => (Dtype::CSR_READ_WRITE, true),
                Op::Csrrsi => (Dtype::CSR_READ_SET, true),
                Op::Csrrci => (Dtype::CSR_READ_CLEAR, true),
                _ => return Expected::Nothing,
            };
            let swaps = dtype == Dtype::CSR_READ_WRITE;
            Expected::Csr(Csr {
                dtype,
                number: inst.imm as u16 & 0xfff,
                reads: !swaps || inst.rd != 0,
                writes: swaps || inst.rs1 != 0,
                operand: if immediate {
                    CsrOperand::Immediate(inst.rs1)
                } else {
                    CsrOperand::Register(inst.rs1)
                },
            })
        }
        _ => Expected::Nothing,
    }
}

/// The accesses that instructions are expected to make, decoded once for each encoding in use.
#[derive(Clone, Debug)]
pub(crate) struct Expectations {
    isa: Isa,
    recent: Recent<u32, Expected, 4096>,
}

impl Expectations {
    pub(crate) fn new(isa: Isa) -> Self {
        Expectations { isa, recent: Recent::default() }
    }

    #[inline]
    pub(crate) fn get(&mut self, encoding: u32) -> Expected {
        *self.recent.get(encoding, || expected(self.isa, encoding))
    }
}

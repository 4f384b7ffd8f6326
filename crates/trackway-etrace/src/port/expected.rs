//! Which accesses an instruction makes, by its encoding: what ties packets, which name no instruction, to one.

use trackway_core::Isa;
use trackway_isa::riscv::{Class, Op, decode};

use super::data::Dtype;

/// The accesses of an instruction that retires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Expected {
    /// None.
    #[default]
    Nothing,
    /// One of this type and size.
    One(Dtype, u8),
    /// A store, or none where it fails (store-conditional).
    Perhaps(u8),
    /// An atomic.
    Atomic(Atomic),
    /// A CSR access.
    Csr(Csr),
    /// Any number of loads or stores, of one size or of any.
    Many(Dtype, Option<u8>),
}

/// An atomic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Atomic {
    pub(crate) dtype: Dtype,
    pub(crate) dsize: u8,
    /// Register of the operand.
    pub(crate) rs2: u8,
    /// Compares without sign.
    pub(crate) unsigned: bool,
}

impl Atomic {
    /// What it stores.
    pub(crate) fn stored(&self, data: u64, operand: u64) -> u64 {
        let bits = 8 << self.dsize;
        let signed = |value: u64| trackway_core::sign_extend(value, bits) as i64;
        let (data, operand) = (trackway_core::mask(data, bits), trackway_core::mask(operand, bits));
        let less = if self.unsigned { data < operand } else { signed(data) < signed(operand) };
        let stored = match self.dtype {
            Dtype::ATOMIC_ADD => data.wrapping_add(operand),
            Dtype::ATOMIC_AND => data & operand,
            Dtype::ATOMIC_OR => data | operand,
            Dtype::ATOMIC_XOR => data ^ operand,
            Dtype::ATOMIC_MAX => {
                if less {
                    operand
                } else {
                    data
                }
            }
            Dtype::ATOMIC_MIN => {
                if less {
                    data
                } else {
                    operand
                }
            }
            _ => operand,
        };
        trackway_core::mask(stored, bits)
    }

    /// An operand that makes of `data` what was stored.
    pub(crate) fn operand(&self, data: u64, stored: u64) -> u64 {
        let operand = match self.dtype {
            Dtype::ATOMIC_ADD => stored.wrapping_sub(data),
            Dtype::ATOMIC_XOR => stored ^ data,
            _ => stored,
        };
        trackway_core::mask(operand, 8 << self.dsize)
    }
}

/// A CSR instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Csr {
    pub(crate) dtype: Dtype,
    pub(crate) number: u16,
    /// The register is read: a swap without a destination does not.
    pub(crate) reads: bool,
    /// It is written: setting and clearing by `x0` or 0 does not.
    pub(crate) writes: bool,
    /// The operand: a register, or an immediate.
    pub(crate) operand: Result<u8, u8>,
}

fn size(bytes: u8) -> u8 {
    bytes.max(1).ilog2() as u8
}

fn atomic(op: Op) -> Option<(Dtype, bool)> {
    use Op::*;
    Some(match op {
        AmoswapW | AmoswapD => (Dtype::ATOMIC_SWAP, false),
        AmoaddW | AmoaddD => (Dtype::ATOMIC_ADD, false),
        AmoandW | AmoandD => (Dtype::ATOMIC_AND, false),
        AmoorW | AmoorD => (Dtype::ATOMIC_OR, false),
        AmoxorW | AmoxorD => (Dtype::ATOMIC_XOR, false),
        AmomaxW | AmomaxD => (Dtype::ATOMIC_MAX, false),
        AmomaxuW | AmomaxuD => (Dtype::ATOMIC_MAX, true),
        AmominW | AmominD => (Dtype::ATOMIC_MIN, false),
        AmominuW | AmominuD => (Dtype::ATOMIC_MIN, true),
        _ => return None,
    })
}

/// What the instruction with this encoding does to memory and CSRs.
fn expected(isa: Isa, encoding: u32) -> Expected {
    let Some(inst) = decode(isa, encoding) else { return Expected::Nothing };
    match inst.op.class() {
        Class::Load(n) | Class::LoadReserved(n) => Expected::One(Dtype::LOAD, size(n)),
        Class::Store(n) => Expected::One(Dtype::STORE, size(n)),
        Class::StoreConditional(n) => Expected::Perhaps(size(n)),
        Class::Amo(n) => match atomic(inst.op) {
            Some((dtype, unsigned)) => {
                Expected::Atomic(Atomic { dtype, dsize: size(n), rs2: inst.rs2, unsigned })
            }
            None => Expected::Nothing,
        },
        Class::VectorLoad(n) => Expected::Many(Dtype::LOAD, (n > 0).then(|| size(n))),
        Class::VectorStore(n) => Expected::Many(Dtype::STORE, (n > 0).then(|| size(n))),
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
                operand: if immediate { Err(inst.rs1) } else { Ok(inst.rs1) },
            })
        }
        _ => Expected::Nothing,
    }
}

/// Remembers what encodings do.
#[derive(Clone, Debug)]
pub(crate) struct Expectations {
    isa: Isa,
    known: Vec<(u32, Expected)>,
}

const KNOWN: usize = 1 << 12;

impl Expectations {
    pub(crate) fn new(isa: Isa) -> Self {
        // Zero is no instruction, and expects nothing.
        Expectations { isa, known: vec![(0, Expected::Nothing); KNOWN] }
    }

    #[inline]
    pub(crate) fn of(&mut self, encoding: u32) -> Expected {
        let slot = (encoding.wrapping_mul(0x9e37_79b1) >> 20) as usize;
        let (known, expected_there) = self.known[slot];
        if known == encoding {
            return expected_there;
        }
        let found = expected(self.isa, encoding);
        self.known[slot] = (encoding, found);
        found
    }
}

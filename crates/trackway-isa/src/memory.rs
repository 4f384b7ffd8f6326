//! The memory behaviour of an instruction, in words that both architectures share.

use trackway_core::{Isa, MemKind};

use crate::arm::memory::{self as arm, Bytes};
use crate::riscv::{self, Count};

/// Effect on memory of an instruction that completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Loads read, stores write, atomics and copies do both.
    pub kind: MemKind,
    /// Bytes of all its accesses; `None` where registers or the implementation decide.
    pub bytes: Option<u64>,
    /// It may complete without an access: store-conditionals, masked vectors, copies of nothing.
    pub optional: bool,
}

/// The memory behaviour of an instruction; `None` if it accesses no memory. Of A32 and T32 it is not known.
///
/// ```
/// use trackway_core::{Isa, MemKind};
/// use trackway_isa::memory;
///
/// let store = memory(Isa::Rv64, 0x00b5_3023).unwrap(); // sd a1,0(a0)
/// assert_eq!((store.kind, store.bytes), (MemKind::Write, Some(8)));
/// let pair = memory(Isa::A64, 0xa940_0440).unwrap(); // ldp x0, x1, [x2]
/// assert_eq!((pair.kind, pair.bytes), (MemKind::Read, Some(16)));
/// assert_eq!(memory(Isa::A64, 0xd503_201f), None); // nop
/// ```
pub fn memory(isa: Isa, encoding: u32) -> Option<Memory> {
    match isa {
        Isa::Rv32 | Isa::Rv64 => {
            let riscv::Memory { kind, size, count } = riscv::decode(isa, encoding)?.op.class().memory()?;
            let bytes = size.filter(|_| count != Count::Vector).map(u64::from);
            Some(Memory { kind, bytes, optional: count != Count::One })
        }
        Isa::A64 => {
            let memory = arm::memory(encoding)?;
            let bytes = match arm::access_bytes(encoding) {
                Some(Bytes::Fixed(bytes)) => Some(bytes),
                _ => None,
            };
            Some(Memory { kind: kind(memory), bytes, optional: is_optional(memory) })
        }
        Isa::A32 | Isa::T32 | Isa::Other => None,
    }
}

fn kind(memory: arm::Memory) -> MemKind {
    use arm::Memory::*;
    match memory {
        Load | TagLoad | VectorLoad => MemKind::Read,
        Store | ConditionalStore | ZeroBlock | TagStore | TagDataStore | Set { .. } | VectorStore => {
            MemKind::Write
        }
        ReadWrite | CompareSwap | Copy => MemKind::ReadWrite,
        Prefetch | VectorPrefetch => MemKind::Prefetch,
        Maintenance { .. } | TlbMaintenance | TlbRange | OtherMaintenance => MemKind::Maintenance,
    }
}

fn is_optional(memory: arm::Memory) -> bool {
    use arm::Memory::*;
    matches!(memory, ConditionalStore | Copy | Set { .. } | VectorLoad | VectorStore | VectorPrefetch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_architectures_say_the_same() {
        let of = |kind, bytes, optional| Some(Memory { kind, bytes, optional });
        for (riscv, a64, expected) in [
            (0x0005_3503, 0xf940_0000, of(MemKind::Read, Some(8), false)), // ld; ldr x0
            (0x00b5_0023, 0x3900_0020, of(MemKind::Write, Some(1), false)), // sb; strb
            (0x00b5_352f, 0xf820_0041, of(MemKind::ReadWrite, Some(8), false)), // amoadd.d; ldadd
            (0x18b5_352f, 0xc802_7c20, of(MemKind::Write, Some(8), true)), // sc.d; stxr
            (0x0205_7007, 0xa400_a020, of(MemKind::Read, None, true)),     // vle64.v; ld1b
            (0x00b5_0533, 0x8b02_0020, None),                              // add; add
        ] {
            assert_eq!(memory(Isa::Rv64, riscv), expected, "{riscv:08x}");
            assert_eq!(memory(Isa::A64, a64), expected, "{a64:08x}");
        }
    }
}

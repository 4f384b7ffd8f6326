//! Code that a trace brings itself: the encodings of its instructions, as a program of its own.

use std::collections::BTreeMap;

use trackway_core::Isa;

/// Instructions by address, from a trace that has their encodings.
///
/// ```
/// use std::sync::Arc;
/// use trackway_core::{Context, Isa};
/// use trackway_image::{Code, Image, Space};
///
/// let mut code = Code::default();
/// code.insert(0x8000, 0x4501, 2); // c.li a0, 0
/// code.insert(0x8002, 0x0000_8067, 4); // ret
/// code.insert(0x9000, 0x8082, 2);
/// assert_eq!(code.stretches().len(), 2);
///
/// let mut image = Image::default();
/// image.add_elf("executed", Arc::new(code.to_elf(Isa::Rv64)), None, Space::default())?;
/// assert_eq!(image.memory(&Context::default()).fetch(Isa::Rv64, 0x8002), Some((0x0000_8067, 4)));
/// # Ok::<(), trackway_image::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    instructions: BTreeMap<u64, (u32, u8)>,
}

/// Most segments that the header of an ELF file counts, with room to spare.
const MOST_SEGMENTS: usize = 60_000;

impl Code {
    /// Adds an instruction of `length` bytes; a later one at the same address replaces it.
    pub fn insert(&mut self, pc: u64, encoding: u32, length: u8) {
        self.instructions.insert(pc, (encoding, length.min(4)));
    }

    /// The instruction at `pc` and its length.
    pub fn get(&self, pc: u64) -> Option<(u32, u8)> {
        self.instructions.get(&pc).copied()
    }

    /// Keeps the instructions for which `keeps` is true.
    pub fn retain(&mut self, mut keeps: impl FnMut(u64, (u32, u8)) -> bool) {
        self.instructions.retain(|pc, instruction| keeps(*pc, *instruction));
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Is there nothing in it?
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// Its bytes, adjacent instructions together, in order of address.
    pub fn stretches(&self) -> Vec<(u64, Vec<u8>)> {
        let mut stretches: Vec<(u64, Vec<u8>)> = Vec::new();
        for (&address, &(encoding, length)) in &self.instructions {
            let bytes = &encoding.to_le_bytes()[..length.into()];
            match stretches.last_mut() {
                // Where code changed, instructions may overlap: the higher one wins.
                Some((start, code)) if address.wrapping_sub(*start) <= code.len() as u64 => {
                    code.truncate(address.wrapping_sub(*start) as usize);
                    code.extend_from_slice(bytes);
                }
                _ => stretches.push((address, bytes.to_vec())),
            }
        }
        stretches
    }

    /// An ELF file that loads it.
    pub fn to_elf(&self, isa: Isa) -> Vec<u8> {
        let mut stretches = self.stretches();
        let mut hole = 16;
        while stretches.len() > MOST_SEGMENTS {
            stretches = joined(stretches, hole);
            hole *= 4;
        }
        let is_64 = !matches!(isa, Isa::Rv32 | Isa::A32 | Isa::T32);
        let (machine, flags) = match isa {
            Isa::Rv32 | Isa::Rv64 => (243, 1), // EF_RISCV_RVC
            Isa::A32 | Isa::T32 => (40, 0x0500_0000),
            _ => (183, 0),
        };
        let mut out = Bytes { is_64, bytes: vec![0x7f, b'E', b'L', b'F', 1 + u8::from(is_64), 1, 1] };
        out.bytes.resize(16, 0);
        let (header, entry): (u64, u64) = if is_64 { (64, 56) } else { (52, 32) };
        out.half(2).half(machine).word(1).address(stretches.first().map_or(0, |(start, _)| *start));
        out.address(header).address(0).word(flags).half(header as u16).half(entry as u16);
        out.half(stretches.len() as u16).half(0).half(0).half(0);
        let mut offset = header + entry * stretches.len() as u64;
        for (start, code) in &stretches {
            let length = code.len() as u64;
            out.word(1); // PT_LOAD, readable and executable
            if is_64 {
                out.word(5);
            }
            out.address(offset).address(*start).address(*start).address(length).address(length);
            if !is_64 {
                out.word(5);
            }
            out.address(1);
            offset += length;
        }
        for (_, code) in &stretches {
            out.bytes.extend_from_slice(code);
        }
        out.bytes
    }
}

/// Joins stretches with fewer than `hole` bytes between them; the bytes are zero.
fn joined(stretches: Vec<(u64, Vec<u8>)>, hole: u64) -> Vec<(u64, Vec<u8>)> {
    let mut out: Vec<(u64, Vec<u8>)> = Vec::new();
    for (start, code) in stretches {
        if let Some((first, bytes)) = out.last_mut()
            && let between = start.wrapping_sub(*first).wrapping_sub(bytes.len() as u64)
            && between < hole
        {
            bytes.resize(bytes.len() + between as usize, 0);
            bytes.extend_from_slice(&code);
        } else {
            out.push((start, code));
        }
    }
    out
}

/// The fields of an ELF file, little-endian.
struct Bytes {
    is_64: bool,
    bytes: Vec<u8>,
}

impl Bytes {
    fn half(&mut self, value: u16) -> &mut Self {
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn word(&mut self, value: u32) -> &mut Self {
        self.bytes.extend(value.to_le_bytes());
        self
    }

    fn address(&mut self, value: u64) -> &mut Self {
        self.bytes.extend(&value.to_le_bytes()[..if self.is_64 { 8 } else { 4 }]);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::Elf;
    use std::sync::Arc;

    #[test]
    fn elf_files_of_both_widths_load_the_same_bytes() {
        for isa in [Isa::Rv32, Isa::Rv64, Isa::A64] {
            let mut code = Code::default();
            for n in 0..200_000u32 {
                code.insert(0x1000 + u64::from(n) * 8, 0x0000_0013 | n << 20, 4);
            }
            code.insert(0x9000_0000, 0x8082, 2);
            let elf = Elf::read(&(Arc::new(code.to_elf(isa)) as _), None).unwrap();
            assert_eq!((elf.isa, elf.entry), (isa, 0x1000));
            let memory = crate::Memory::new(elf.segments);
            assert_eq!(memory.word(0x1008), Some(0x0010_0013));
            assert_eq!(memory.halfword(0x9000_0000), Some(0x8082));
            assert_eq!(memory.halfword(0x8000_0000), None);
        }
    }
}

//! What the loader needs of an ELF file: segments, entry, program headers and symbols.

use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, elf};
use trackway_core::Isa;

/// Why a program cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError(pub String);

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// A piece of a program in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Virtual address.
    pub address: u64,
    /// Physical address.
    pub physical: u64,
    /// Content from the file.
    pub bytes: Vec<u8>,
    /// Size in memory; beyond the content it is 0.
    pub size: u64,
    /// Flags: 1 execute, 2 write, 4 read.
    pub flags: u32,
}

/// A RISC-V program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// `Rv32` or `Rv64`.
    pub isa: Isa,
    /// First instruction.
    pub entry: u64,
    /// Segments to load.
    pub segments: Vec<Segment>,
    /// Offset of the program headers in the file.
    pub header_offset: u64,
    /// Bytes per program header.
    pub header_size: u64,
    /// How many program headers.
    pub headers: u64,
    /// Asks for a dynamic linker.
    pub dynamic: bool,
    /// Symbols with a name, by address.
    pub symbols: Vec<(String, u64)>,
}

impl Program {
    /// Reads an ELF file.
    pub fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        match bytes.get(4) {
            Some(1) => Self::read_class::<elf::FileHeader32<Endianness>>(bytes, Isa::Rv32),
            Some(2) => Self::read_class::<elf::FileHeader64<Endianness>>(bytes, Isa::Rv64),
            _ => Err(LoadError::new("this is not an ELF file")),
        }
    }

    fn read_class<H: FileHeader<Endian = Endianness>>(bytes: &[u8], isa: Isa) -> Result<Self, LoadError> {
        let failed = |error: object::Error| LoadError::new(format!("this is not a sound ELF file: {error}"));
        let file = ElfFile::<H>::parse(bytes).map_err(failed)?;
        let endian = file.endian();
        let header = file.elf_header();
        if header.e_machine(endian) != elf::EM_RISCV || endian != Endianness::Little {
            return Err(LoadError::new("this is not a little-endian RISC-V program"));
        }
        let kind = header.e_type(endian);
        if kind != elf::ET_EXEC && kind != elf::ET_DYN {
            return Err(LoadError::new("this is not an executable: link it first"));
        }
        let mut program = Self {
            isa,
            entry: header.e_entry(endian).into(),
            segments: Vec::new(),
            header_offset: header.e_phoff(endian).into(),
            header_size: header.e_phentsize(endian).into(),
            headers: header.e_phnum(endian).into(),
            dynamic: false,
            symbols: Vec::new(),
        };
        for segment in file.elf_program_headers() {
            match segment.p_type(endian) {
                elf::PT_LOAD => {
                    let bytes =
                        segment.data(endian, bytes).map_err(|()| LoadError::new("a segment is cut"))?;
                    let size: u64 = segment.p_memsz(endian).into();
                    if size > 1 << 32 || (bytes.len() as u64) > size {
                        return Err(LoadError::new("a segment has an impossible size"));
                    }
                    program.segments.push(Segment {
                        address: segment.p_vaddr(endian).into(),
                        physical: segment.p_paddr(endian).into(),
                        bytes: bytes.to_vec(),
                        size,
                        flags: segment.p_flags(endian).0,
                    });
                }
                elf::PT_INTERP => program.dynamic = true,
                _ => {}
            }
        }
        if program.segments.is_empty() {
            return Err(LoadError::new("the program has nothing to load"));
        }
        program.symbols = file
            .symbols()
            .filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())))
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, address)| (name.to_string(), address))
            .collect();
        Ok(program)
    }

    /// Address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|(symbol, _)| symbol == name).map(|(_, address)| *address)
    }
}

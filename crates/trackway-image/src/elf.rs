//! ELF files: what is loaded where.

use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::read::{File, FileKind, Object, ObjectSection, ObjectSymbol};
use object::{Architecture, Endianness, FileFlags, ObjectKind, SectionKind, elf};
use trackway_core::{Isa, SharedBytes};

use crate::error::Error;
use crate::memory::Segment;

/// A linked ELF file: what to load where, and where to start. Everyone who loads programs reads them with this.
///
/// ```
/// use std::sync::Arc;
/// use trackway_core::Isa;
/// use trackway_image::Elf;
///
/// let file = include_bytes!("../../../programs/riscv/sort.elf");
/// let elf = Elf::read(&(Arc::new(file.to_vec()) as _), None)?;
/// assert_eq!(elf.isa, Isa::Rv64);
/// let code = elf.segments.iter().find(|segment| segment.executable).unwrap();
/// assert!((code.address..code.address + code.size).contains(&elf.entry));
/// assert_eq!(elf.symbol("_start"), Some(elf.entry));
/// # Ok::<(), trackway_image::Error>(())
/// ```
#[derive(Clone)]
pub struct Elf {
    /// Instruction set, by the machine number; A32 for Arm's 32-bit files.
    pub isa: Isa,
    /// Data is big-endian.
    pub big_endian: bool,
    /// An executable or a shared object, not a core dump.
    pub runnable: bool,
    /// Address of the first instruction; bit 0 set in a 32-bit Arm file says T32.
    pub entry: u64,
    /// Added to every address in the file.
    pub bias: u64,
    /// The program headers in the file, for the auxiliary vector of a process.
    pub headers: ProgramHeaders,
    /// It asks for a dynamic linker (`PT_INTERP`).
    pub interpreter: bool,
    /// The segments to load (`PT_LOAD`), as the file lists them.
    pub segments: Vec<Segment>,
    /// The sections of code, in order of address; none in a file without section headers.
    pub code: Vec<Section>,
    file: SharedBytes,
}

/// Where the program headers are in an ELF file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramHeaders {
    /// Offset in the file (`e_phoff`).
    pub offset: u64,
    /// Bytes of each (`e_phentsize`).
    pub size: u64,
    /// How many (`e_phnum`).
    pub count: u64,
}

/// A section of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name, like `.text`.
    pub name: String,
    /// Where it lies, as loaded.
    pub address: u64,
    /// How long it is.
    pub length: u64,
}

impl std::fmt::Debug for Elf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Elf({:?}, {:#x}, {:?})", self.isa, self.entry, self.segments)
    }
}

impl Elf {
    /// Reads a file. `address` moves it so that its lowest segment's page lies there; it is for
    /// position-independent files, and for others that ran elsewhere than linked.
    pub fn read(bytes: &SharedBytes, address: Option<u64>) -> Result<Self, Error> {
        let file = parse((**bytes).as_ref())?;
        if file.kind() == ObjectKind::Relocatable {
            return Err(Error::Unlinked);
        }
        let isa = match file.architecture() {
            Architecture::Riscv64 => Isa::Rv64,
            Architecture::Riscv32 => Isa::Rv32,
            Architecture::Aarch64 | Architecture::Aarch64_Ilp32 => Isa::A64,
            Architecture::Arm => Isa::A32,
            _ => Isa::Other,
        };
        let be8 =
            matches!(file.flags(), FileFlags::Elf { e_flags, .. } if e_flags.0 & elf::EF_ARM_BE8.0 != 0);
        if isa == Isa::A32 && !file.is_little_endian() && !be8 {
            return Err(Error::BigEndianCode);
        }
        let narrow = |address: u64| if file.is_64() { address } else { address & 0xffff_ffff };
        let mut read = Elf {
            isa,
            big_endian: !file.is_little_endian(),
            runnable: matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic),
            entry: 0,
            bias: 0,
            headers: ProgramHeaders::default(),
            interpreter: false,
            segments: Vec::new(),
            code: Vec::new(),
            file: bytes.clone(),
        };
        match &file {
            File::Elf32(file) => read.load(file)?,
            File::Elf64(file) => read.load(file)?,
            _ => return Err(Error::NotElf),
        }
        let lowest = read.segments.iter().map(|segment| segment.address).min().ok_or(Error::Empty)?;
        read.bias = address.map_or(0, |address| address.wrapping_sub(lowest & !0xfff));
        for segment in &mut read.segments {
            *segment = segment.moved(narrow(segment.address.wrapping_add(read.bias)))?;
        }
        read.entry = narrow(file.entry().wrapping_add(read.bias));
        let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
        read.code = text
            .map(|section| Section {
                name: String::from_utf8_lossy(section.name_bytes().unwrap_or_default()).into_owned(),
                address: narrow(section.address().wrapping_add(read.bias)),
                length: section.size(),
            })
            .collect();
        read.code.sort_by_key(|section| section.address);
        Ok(read)
    }

    /// Reads the program headers.
    fn load<H: FileHeader<Endian = Endianness>>(&mut self, file: &ElfFile<'_, H>) -> Result<(), Error> {
        let (endian, header) = (file.endian(), file.elf_header());
        self.headers = ProgramHeaders {
            offset: header.e_phoff(endian).into(),
            size: header.e_phentsize(endian).into(),
            count: header.e_phnum(endian).into(),
        };
        for header in file.elf_program_headers() {
            match header.p_type(endian) {
                elf::PT_LOAD => {
                    let (start, length) = header.file_range(endian);
                    let mut segment =
                        Segment::part(header.p_vaddr(endian).into(), &self.file, start, length)?;
                    segment.physical = header.p_paddr(endian).into();
                    segment.size = header.p_memsz(endian).into();
                    let flags = header.p_flags(endian).0;
                    segment.readable = flags & elf::PF_R.0 != 0;
                    segment.writable = flags & elf::PF_W.0 != 0;
                    segment.executable = flags & elf::PF_X.0 != 0;
                    self.segments.push(segment);
                }
                elf::PT_INTERP => self.interpreter = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// The build id that the linker put into the file.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        let file = parse((*self.file).as_ref()).ok()?;
        Some(file.build_id().ok()??.to_vec())
    }

    /// The address of a byte of the file, as loaded. Mappings begin at pages, so the byte may lie before its segment.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        const PAGE: u64 = 0x1_0000;
        let starts = || self.segments.iter().map(|segment| (segment, segment.offset()));
        let inside = starts().find(|(segment, start)| {
            offset >= *start && offset - start < (segment.bytes().len() as u64).max(1)
        });
        let in_page = || starts().find(|(_, start)| *start >= offset && *start - offset < PAGE);
        let (segment, start) = inside.or_else(in_page)?;
        Some(segment.address.wrapping_add(offset).wrapping_sub(start))
    }

    /// The address of a symbol of any kind, as loaded.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        let file = parse((*self.file).as_ref()).ok()?;
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name))?;
        Some(symbol.address().wrapping_add(self.bias))
    }
}

/// The file as `object` sees it.
pub(crate) fn parse(bytes: &[u8]) -> Result<File<'_>, Error> {
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf32 | FileKind::Elf64) => File::parse(bytes).map_err(damaged),
        _ => Err(Error::NotElf),
    }
}

pub(crate) fn damaged(error: object::Error) -> Error {
    Error::Elf(error.to_string())
}

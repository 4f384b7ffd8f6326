//! ELF files: what is loaded where.

use object::elf;
use object::read::elf::{ElfFile, FileHeader};
use object::read::{FileKind, Object, ObjectSection, ObjectSegment};
use object::{Endianness, SectionKind, SegmentFlags};
use trackway_core::{Isa, SharedBytes};

use crate::error::Error;
use crate::memory::Segment;

/// What an ELF file says about the program, at the address it is loaded to.
#[derive(Clone, Debug)]
pub struct Elf {
    /// Instruction set, by the machine number; A32 for Arm's 32-bit files.
    pub isa: Isa,
    /// Address of the first instruction; bit 0 set in a 32-bit Arm file says T32.
    pub entry: u64,
    /// Added to every address in the file.
    pub bias: u64,
    /// What is loaded.
    pub segments: Vec<Segment>,
    /// The sections of code, in order of address; none in a file without section headers.
    pub code: Vec<Section>,
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

impl Elf {
    /// Reads the loaded segments. `address` moves the file so that its lowest segment's page lies there; it
    /// is for position-independent files, and for others that ran elsewhere than linked.
    pub fn read(bytes: &SharedBytes, address: Option<u64>) -> Result<Self, Error> {
        let data = (**bytes).as_ref();
        match FileKind::parse(data) {
            Ok(FileKind::Elf32) => Self::read_class::<elf::FileHeader32<Endianness>>(bytes, address),
            Ok(FileKind::Elf64) => Self::read_class::<elf::FileHeader64<Endianness>>(bytes, address),
            _ => Err(Error::NotElf),
        }
    }

    fn read_class<H: FileHeader<Endian = Endianness>>(
        bytes: &SharedBytes,
        address: Option<u64>,
    ) -> Result<Self, Error> {
        let data = (**bytes).as_ref();
        let file = ElfFile::<H>::parse(data).map_err(damaged)?;
        let header = file.elf_header();
        let endian = file.endian();
        if header.e_type(endian) == elf::ET_REL {
            return Err(Error::Unlinked);
        }
        let machine = header.e_machine(endian);
        let isa = match (machine, file.is_64()) {
            (elf::EM_RISCV, true) => Isa::Rv64,
            (elf::EM_RISCV, false) => Isa::Rv32,
            (elf::EM_AARCH64, _) => Isa::A64,
            (elf::EM_ARM, _) => Isa::A32,
            _ => Isa::Other,
        };
        let be8 = header.e_flags(endian).0 & elf::EF_ARM_BE8.0 != 0;
        if isa == Isa::A32 && endian == Endianness::Big && !be8 {
            return Err(Error::BigEndianCode);
        }

        let lowest = file.segments().map(|segment| segment.address()).min().ok_or(Error::Empty)?;
        let bias = address.map_or(0, |address| address.wrapping_sub(lowest & !0xfff));
        let narrow = |address: u64| if file.is_64() { address } else { address & 0xffff_ffff };
        let mut segments = Vec::new();
        for loaded in file.segments() {
            let (start, length) = loaded.file_range();
            let (Ok(start), Ok(length)) = (usize::try_from(start), usize::try_from(length)) else {
                return Err(Error::Elf("a segment reaches past the end of the file".into()));
            };
            let address = narrow(loaded.address().wrapping_add(bias));
            let mut segment = Segment::part(address, bytes.clone(), start, length)?;
            if let SegmentFlags::Elf { p_flags, .. } = loaded.flags() {
                segment.executable = p_flags.0 & elf::PF_X.0 != 0;
                segment.writable = p_flags.0 & elf::PF_W.0 != 0;
            }
            segment.zeros = loaded.size().saturating_sub(length as u64);
            segments.push(segment);
        }
        if segments.iter().all(|segment| segment.bytes().is_empty()) {
            return Err(Error::Empty);
        }
        check_overlap(&segments)?;
        // Where nothing is marked executable the marks mean nothing.
        if !segments.iter().any(|segment| segment.executable) {
            segments.iter_mut().for_each(|segment| segment.executable = true);
        }
        let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let mut code: Vec<Section> = text
            .map(|section| Section {
                name: String::from_utf8_lossy(section.name_bytes().unwrap_or_default()).into_owned(),
                address: narrow(section.address().wrapping_add(bias)),
                length: section.size(),
            })
            .collect();
        code.sort_by_key(|section| section.address);
        Ok(Elf { isa, entry: narrow(file.entry().wrapping_add(bias)), bias, segments, code })
    }
}

/// Within one file two segments never share an address.
fn check_overlap(segments: &[Segment]) -> Result<(), Error> {
    let mut spans: Vec<(u64, u64)> = segments
        .iter()
        .filter(|segment| !segment.bytes().is_empty())
        .map(|segment| (segment.address, segment.address + (segment.bytes().len() as u64 - 1)))
        .collect();
    spans.sort_unstable();
    match spans.windows(2).find(|pair| pair[0].1 >= pair[1].0) {
        Some(pair) => Err(Error::Overlap { first: pair[0].0, second: pair[1].0 }),
        None => Ok(()),
    }
}

pub(crate) fn damaged(error: object::Error) -> Error {
    Error::Elf(error.to_string())
}

//! ELF files: what is loaded where.

use object::read::{File, FileKind, Object, ObjectSection, ObjectSegment};
use object::{Architecture, FileFlags, ObjectKind, SectionKind, SegmentFlags, elf};
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

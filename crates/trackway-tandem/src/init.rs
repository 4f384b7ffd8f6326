//! A program as state initialisation: what a debugger does before it lets the hart run.

use object::elf::{EM_RISCV, FileHeader32, FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};
use trackway_core::{Error, ErrorKind, Result};

use crate::config::Config;
use crate::record::{MemOp, Record};

/// The largest segment that is written: a size in a damaged header must not fill a disk.
const LARGEST: u64 = 1 << 32;

fn wrong(field: &'static str, found: u64) -> Error {
    ErrorKind::Unsupported { found }.at(0, "ELF file", field, "")
}

/// Items that load the segments of an ELF file into memory, one group per store, at their physical addresses.
/// Zero-filled parts are stored too, as memory has no content before.
///
/// `put` takes each item; 0 segments are an error, as is a file of the other width or of another machine.
pub fn elf_to_records(elf: &[u8], config: &Config, put: impl FnMut(&Record) -> Result<()>) -> Result<()> {
    match (FileKind::parse(elf), config.xlen) {
        (Ok(FileKind::Elf32), 32) => load::<FileHeader32<Endianness>>(elf, put),
        (Ok(FileKind::Elf64), 64) => load::<FileHeader64<Endianness>>(elf, put),
        (Ok(FileKind::Elf32 | FileKind::Elf64), xlen) => Err(wrong("class", xlen.into())),
        _ => Err(wrong("header", 0)),
    }
}

fn load<H: FileHeader<Endian = Endianness>>(
    elf: &[u8],
    mut put: impl FnMut(&Record) -> Result<()>,
) -> Result<()> {
    let header = H::parse(elf).map_err(|_| wrong("header", 0))?;
    let endian = header.endian().map_err(|_| wrong("byte order", 0))?;
    if header.e_machine(endian) != EM_RISCV {
        return Err(wrong("machine", header.e_machine(endian).0.into()));
    }
    let mut any = false;
    for segment in header.program_headers(endian, elf).map_err(|_| wrong("program headers", 0))? {
        if segment.p_type(endian) != PT_LOAD {
            continue;
        }
        let data =
            segment.data(endian, elf).map_err(|()| wrong("segment", segment.p_offset(endian).into()))?;
        let size: u64 = segment.p_memsz(endian).into();
        if size > LARGEST {
            return Err(wrong("segment size", size));
        }
        any |= size > 0;
        memory_to_records(segment.p_paddr(endian).into(), data, size, &mut put)?;
    }
    if any { Ok(()) } else { Err(ErrorKind::Missing.at(0, "ELF file", "segments", "")) }
}

/// Items that store `data`, then zeros up to `size` bytes, at `address`.
pub fn memory_to_records(
    address: u64,
    data: &[u8],
    size: u64,
    put: &mut impl FnMut(&Record) -> Result<()>,
) -> Result<()> {
    let mut at = 0;
    while at < size {
        let place = address.wrapping_add(at);
        // As wide as alignment allows.
        let log = place.trailing_zeros().min((size - at).ilog2()).min(3);
        let mut le = [0; 8];
        for (n, byte) in le[..1 << log].iter_mut().enumerate() {
            *byte = usize::try_from(at).ok().and_then(|at| data.get(at + n)).copied().unwrap_or(0);
        }
        let data = u64::from_le_bytes(le);
        put(&Record::BeginGroup)?;
        put(&Record::StateInitialization)?;
        put(&Record::MemoryRequest { address: place, op: MemOp::STORE, size: log as u8, data })?;
        put(&Record::EndGroup)?;
        at += 1 << log;
    }
    Ok(())
}

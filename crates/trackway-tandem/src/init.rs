//! A program as state initialisation: what a debugger does before it lets the hart run.

use object::{Object, ObjectSegment};
use trackway_core::{ErrorKind, Result};

use crate::config::Config;
use crate::record::{MemOp, Record};

/// Items that load the segments of an ELF file into memory, one group per store. Zero-filled parts are stored
/// too, as memory has no content before.
///
/// `put` takes each item; 0 segments are an error, as is a file of the other width.
pub fn elf_to_records(elf: &[u8], config: &Config, mut put: impl FnMut(&Record) -> Result<()>) -> Result<()> {
    let wrong = |field| ErrorKind::Unsupported { found: 0 }.at(0, "ELF file", field, "");
    let file = object::File::parse(elf).map_err(|_| wrong("header"))?;
    if file.is_64() != (config.xlen == 64) {
        return Err(wrong("class"));
    }
    let mut any = false;
    for segment in file.segments() {
        let data = segment.data().map_err(|_| wrong("segment"))?;
        any |= segment.size() > 0;
        memory_to_records(segment.address(), data, segment.size(), &mut put)?;
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

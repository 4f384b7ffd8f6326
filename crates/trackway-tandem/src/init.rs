//! A program as state initialization, as a debugger writes it before the hart runs.

use trackway_core::{Error, ErrorKind, Result};
use trackway_image::Elf;

use crate::config::Config;
use crate::mem_op::MemOp;
use crate::record::Record;

/// The largest segment that is written: a size in a damaged header must not fill a disk.
const LARGEST: u64 = 1 << 32;

/// Items that load the segments of an ELF file into memory, one group per store, at their physical addresses.
/// Zero-filled parts are stored too, since memory has no content before.
///
/// `put` takes each item. A file without segments is an error, as is one of another width or machine.
pub fn elf_to_records(elf: &Elf, config: &Config, mut put: impl FnMut(&Record) -> Result<()>) -> Result<()> {
    if elf.isa != config.isa() {
        return Err(unsupported("instruction set", config.xlen.into()));
    }
    let segments = || elf.segments.iter().filter(|segment| segment.size > 0);
    if segments().next().is_none() {
        return Err(ErrorKind::Missing.at(0, "ELF file", "segments", ""));
    }
    for segment in segments() {
        if segment.size > LARGEST {
            return Err(unsupported("segment size", segment.size));
        }
        store(segment.physical, segment.bytes(), segment.size, &mut put)?;
    }
    Ok(())
}

fn unsupported(field: &'static str, found: u64) -> Error {
    ErrorKind::Unsupported { found }.at(0, "ELF file", field, "")
}

/// Items that store `data`, then zeros up to `size` bytes, at `address`.
fn store(address: u64, data: &[u8], size: u64, put: &mut impl FnMut(&Record) -> Result<()>) -> Result<()> {
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

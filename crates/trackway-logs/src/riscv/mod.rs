//! The common part of the logs of RISC-V cores: the record of an instruction, its events, its checks.

pub(crate) mod check;
pub(crate) mod handlers;
pub(crate) mod lift;
pub(crate) mod names;
pub(crate) mod pair;
pub(crate) mod record;
pub(crate) mod tally;

use trackway_core::Isa;
use trackway_format::{Error, Result};

/// The instruction set of a width in the settings.
pub(crate) fn isa_of(xlen: Option<u32>, section: &str) -> Result<Option<Isa>> {
    match xlen {
        None => Ok(None),
        Some(32) => Ok(Some(Isa::Rv32)),
        Some(64) => Ok(Some(Isa::Rv64)),
        Some(other) => Err(Error::Config(format!("[{section}] xlen: {other} is not 32 or 64"))),
    }
}

/// The sources to decode: all of them, or the one of that name; of `core 1` the number is enough.
pub(crate) fn pick<T: Clone>(all: &[T], source: Option<&str>, name: impl Fn(&T) -> String) -> Result<Vec<T>> {
    let Some(wanted) = source else { return Ok(all.to_vec()) };
    let is_it = |one: &&T| {
        let name = name(one);
        let short = name.rsplit_once(' ').map_or(&*name, |(_, number)| number);
        [&name, short].iter().any(|name| name.eq_ignore_ascii_case(wanted))
    };
    let found: Vec<T> = all.iter().filter(is_it).cloned().collect();
    if found.is_empty() {
        let names: Vec<String> = all.iter().map(name).collect();
        return Err(Error::Config(format!("--source {wanted}: there are {}", names.join(", "))));
    }
    Ok(found)
}

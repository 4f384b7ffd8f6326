//! Registers and memory by name.

use trackway::{Error, Result};
use trackway_core::{Isa, Reg};
use trackway_isa::reg_named;

/// A register by its name.
///
/// # Errors
/// There is none of that name.
pub fn register(isa: Isa, name: &str) -> Result<Reg> {
    reg_named(isa, name).ok_or_else(|| {
        let known = match isa {
            Isa::Rv32 | Isa::Rv64 => {
                "x0 to x31, ABI names (a0, sp), f0 to f31, v0 to v31, names of CSRs or csr0x300"
            }
            Isa::A64 => "x0 to x30, sp, v0 to v31, nzcv",
            _ => "x0 to x31",
        };
        Error::Config(format!("{name}: registers of {isa} are {known}"))
    })
}

/// Bytes that are shown at most.
const MOST: u64 = 1 << 20;

/// Memory as `ADDR[:LEN]`, 8 bytes without a length: its address and length.
///
/// # Errors
/// It is not of that form, too long, or past the end of memory.
pub fn bytes(text: &str) -> Result<(u64, u64)> {
    let wrong = || Error::Config(format!("{text}: memory is ADDR or ADDR:LEN"));
    let (address, length) = match text.split_once(':') {
        Some((address, length)) => (address, number(length).ok_or_else(wrong)?),
        None => (text, 8),
    };
    let address = number(address).ok_or_else(wrong)?;
    if length == 0 || length > MOST {
        return Err(Error::Config(format!("{text}: the length is 1 to {MOST} bytes")));
    }
    if address.checked_add(length - 1).is_none() {
        return Err(Error::Config(format!("{text}: it reaches past the end of memory")));
    }
    Ok((address, length))
}

/// A number, decimal or hexadecimal.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

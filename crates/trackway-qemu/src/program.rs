//! Facts of a program that are needed before it runs.

use trackway_core::Isa;

use crate::error::Error;

/// A process of Linux, or a whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Linux user mode: system calls are those of the host.
    User,
    /// A machine with its devices.
    System,
}

/// A program: QEMU's word for its architecture, and where it is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// `aarch64`, `arm`, `riscv64` or `riscv32`.
    pub architecture: &'static str,
    /// Its instruction set at the start.
    pub isa: Isa,
    /// The lowest address of its segments.
    pub start: u64,
    /// The lowest address of its code.
    pub code: u64,
}

impl Program {
    /// Reads the headers of an ELF file.
    pub fn read(elf: &[u8]) -> Result<Self, Error> {
        let wrong = |text: &str| Error::Program(text.to_string());
        if elf.get(..4) != Some(b"\x7fELF") {
            return Err(wrong("not an ELF file"));
        }
        let cut = || wrong("the ELF file is cut short");
        let number = |at: u64, size: u64| {
            let at = usize::try_from(at).ok()?;
            let bytes = elf.get(at..at.checked_add(size as usize)?)?;
            Some(bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
        };
        if number(5, 1) != Some(1) {
            return Err(wrong("a big-endian program, which cannot be recorded"));
        }
        let wide = number(4, 1) == Some(2);
        let (architecture, isa) = match (number(18, 2).ok_or_else(cut)?, wide) {
            (183, true) => ("aarch64", Isa::A64),
            (40, _) => ("arm", Isa::A32),
            (243, true) => ("riscv64", Isa::Rv64),
            (243, false) => ("riscv32", Isa::Rv32),
            _ => return Err(wrong("a program for another architecture than AArch64, AArch32 or RISC-V")),
        };
        let (table, size, count) = if wide { ((32, 8), 54, 56) } else { ((28, 4), 42, 44) };
        let headers = (|| Some((number(table.0, table.1)?, number(size, 2)?, number(count, 2)?)))();
        let (table, size, count) = headers.ok_or_else(cut)?;
        let (mut start, mut code) = (u64::MAX, u64::MAX);
        for n in 0..count {
            let at = table.saturating_add(n * size);
            let field = |offset: u64, size: u64| number(at.saturating_add(offset), size);
            let flags = field(if wide { 4 } else { 24 }, 4);
            let address = if wide { field(16, 8) } else { field(8, 4) };
            let (Some(1), Some(flags), Some(address)) = (field(0, 4), flags, address) else { continue };
            start = start.min(address);
            if flags & 1 == 1 {
                code = code.min(address);
            }
        }
        if code == u64::MAX {
            return Err(wrong("the ELF file has no code that can be loaded"));
        }
        Ok(Program { architecture, isa, start, code })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one segment of code at 0x10000.
    fn elf(class: u8, order: u8, machine: u16) -> Vec<u8> {
        let mut elf = vec![0; 128];
        elf[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order]);
        elf[18..20].copy_from_slice(&machine.to_le_bytes());
        let (table, size, count, flags, address) =
            if class == 2 { (32, 54, 56, 4, 16) } else { (28, 42, 44, 24, 8) };
        elf[table] = 64;
        elf[size] = 32;
        elf[count] = 1;
        elf[64] = 1;
        elf[64 + flags] = 5;
        elf[64 + address + 2] = 1;
        elf
    }

    #[test]
    fn programs_by_their_headers() {
        let program = |architecture, isa| Program { architecture, isa, start: 0x10000, code: 0x10000 };
        assert_eq!(Program::read(&elf(2, 1, 183)).unwrap(), program("aarch64", Isa::A64));
        assert_eq!(Program::read(&elf(1, 1, 40)).unwrap(), program("arm", Isa::A32));
        assert_eq!(Program::read(&elf(1, 1, 243)).unwrap(), program("riscv32", Isa::Rv32));
        assert!(Program::read(&elf(2, 1, 62)).is_err());
        assert!(Program::read(&elf(2, 2, 183)).is_err());
        assert!(Program::read(b"#!/bin/sh").is_err());
        let whole = elf(2, 1, 243);
        for cut in 0..whole.len() {
            let _ = Program::read(&whole[..cut]);
        }
    }
}

//! Programs that the model can run.

use std::ops::Deref;
use std::sync::Arc;

use trackway_core::{Isa, SharedBytes};
use trackway_image::{Elf, Error};

/// The reason why a program cannot be loaded.
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

/// The largest segment that is loaded: a size in a damaged header must not fill the memory.
const LARGEST: u64 = 1 << 32;

/// An ELF file that is known to be a little-endian RISC-V executable.
#[derive(Clone, Debug)]
pub struct Program(Elf);

impl Deref for Program {
    type Target = Elf;

    fn deref(&self) -> &Elf {
        &self.0
    }
}

impl Program {
    /// Reads an ELF file.
    pub fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        let file: SharedBytes = Arc::new(bytes.to_vec());
        let elf = Elf::read(&file, None).map_err(|error| match error {
            Error::NotElf => LoadError::new("not an ELF file"),
            Error::Unlinked => LoadError::new("not an executable: link it first"),
            Error::Empty => LoadError::new("the program has nothing to load"),
            error => LoadError::new(error.to_string()),
        })?;
        if !matches!(elf.isa, Isa::Rv32 | Isa::Rv64) || elf.big_endian {
            return Err(LoadError::new("not a little-endian RISC-V program"));
        }
        if !elf.runnable {
            return Err(LoadError::new("not an executable: link it first"));
        }
        let possible = |size: u64, content: usize| size <= LARGEST && content as u64 <= size;
        if !elf.segments.iter().all(|segment| possible(segment.size, segment.bytes().len())) {
            return Err(LoadError::new("a segment has an impossible size"));
        }
        Ok(Self(elf))
    }
}

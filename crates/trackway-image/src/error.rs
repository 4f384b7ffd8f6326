//! Errors of program files.

use std::path::PathBuf;

/// Why a file cannot be taken as (part of) the program. Nothing here panics or guesses: a damaged file is
/// refused with the reason, and an address outside the image is not an error at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// One file of those that were named.
    #[error("{name}: {error}")]
    In {
        /// Which, as it was named.
        name: String,
        /// The error in it.
        error: Box<Error>,
    },
    /// It does not start like an ELF file.
    #[error("not an ELF file; raw bytes need an address, as PATH@ADDRESS")]
    NotElf,
    /// It starts like an ELF file and is damaged or cut.
    #[error("damaged ELF file: {0}")]
    Elf(String),
    /// Its debug sections are damaged. The code is not concerned.
    #[error("damaged debug information: {0}")]
    Dwarf(String),
    /// An object file that was never linked has no addresses.
    #[error("an unlinked object file has no addresses: link it first")]
    Unlinked,
    /// Arm code in big-endian words (BE32); everything Trackway traces fetches little-endian.
    #[error("big-endian instruction words (BE32) are not supported")]
    BigEndianCode,
    /// Two segments of one file claim the same address.
    #[error("segments overlap: one at {first:#x}, another at {second:#x}")]
    Overlap {
        /// Address of the lower one.
        first: u64,
        /// Address of the one that begins inside it.
        second: u64,
    },
    /// A segment reaches past the end of the address space.
    #[error("{length} bytes at {address:#x} reach past the end of the address space")]
    TooHigh {
        /// Where it is to lie.
        address: u64,
        /// How long it is.
        length: u64,
    },
    /// Nothing in it is loaded.
    #[error("nothing in the file is loaded to memory")]
    Empty,
    /// A specification `PATH[@ADDR]` that cannot be understood.
    #[error("{0:?}: expected PATH@ADDRESS, with a number such as 0x8000_0000")]
    Spec(String),
    /// Raw bytes without an address.
    #[error("{0:?}: raw bytes need an address, as PATH@ADDRESS")]
    NoAddress(String),
}

impl Error {
    /// The same, of a file.
    pub(crate) fn of(self, name: &str) -> Self {
        Error::In { name: name.into(), error: Box::new(self) }
    }
}

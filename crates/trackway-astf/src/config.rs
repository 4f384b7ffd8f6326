//! Settings for reading and for writing.

use std::str::FromStr;

use crate::record::{Level, UnknownName};
use trackway_io::payload::{Compression, Family};

/// Settings for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Threads that decode LZMA blocks.
    pub jobs: usize,
    /// Bits of a virtual address (64 − TCR_ELx.TnSZ), which the trace does not record; the check of addresses needs it
    /// (ASTF 4.3).
    pub va_bits: u8,
}

/// The widest virtual address of the architecture versions that ASTF 0.11 covers (FEAT_LVA).
pub(crate) const WIDEST_VA: u8 = 52;

impl Default for Config {
    fn default() -> Self {
        Config { jobs: 1, va_bits: WIDEST_VA }
    }
}

/// How the records after the Header are stored (ASTF 4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Not compressed.
    Raw,
    /// LZMA in an .xz container.
    Xz,
    /// LZMA in the legacy .lzma container.
    LzmaAlone,
    /// Deflate in a zlib wrapper.
    Zlib,
    /// Deflate in a gzip wrapper; read, never written.
    Gzip,
}

impl Storage {
    const ALL: [Storage; 5] = [Storage::Raw, Storage::Xz, Storage::LzmaAlone, Storage::Zlib, Storage::Gzip];

    /// Its name, as `--container` takes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Storage::Raw => "raw",
            Storage::Xz => "xz",
            Storage::LzmaAlone => "lzma",
            Storage::Zlib => "zlib",
            Storage::Gzip => "gzip",
        }
    }

    pub(crate) const fn compression(self) -> Option<Compression> {
        match self {
            Storage::Raw => None,
            Storage::Xz => Some(Compression::Xz),
            Storage::LzmaAlone => Some(Compression::LzmaAlone),
            Storage::Zlib => Some(Compression::Zlib),
            Storage::Gzip => Some(Compression::Gzip),
        }
    }

    /// The Header's flags for it: `compressed` and `use_zlib`.
    pub fn flags(self) -> (bool, bool) {
        let family = self.compression().map(Compression::family);
        (family.is_some(), family == Some(Family::Deflate))
    }
}

impl From<Compression> for Storage {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::Xz => Storage::Xz,
            Compression::LzmaAlone => Storage::LzmaAlone,
            Compression::Zlib => Storage::Zlib,
            Compression::Gzip => Storage::Gzip,
        }
    }
}

impl FromStr for Storage {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|storage| storage.as_str() == name).ok_or(UnknownName)
    }
}

/// Settings for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteConfig {
    /// Storage of the records.
    pub storage: Storage,
    /// Compression level: 0 to 9.
    pub preset: u32,
    /// Bytes per .xz block, 64 KiB at least, rounded up to whole records: blocks are encoded, decoded and sought
    /// independently.
    pub block: u64,
    /// Threads that encode blocks; the bytes do not depend on it.
    pub jobs: usize,
    /// Level of the trace; by default the first events decide it.
    pub level: Option<Level>,
    /// Bits of a virtual address: bits above are sanitised (ASTF 4.3).
    pub va_bits: u8,
    /// Write what the format forbids but can hold (a trace without effective addresses, Realm and Root states); the
    /// metadata and the ledger then record it.
    pub allow_nonconforming: bool,
}

impl Default for WriteConfig {
    fn default() -> Self {
        WriteConfig {
            storage: Storage::Xz,
            preset: 6,
            block: 4 << 20,
            jobs: 1,
            level: None,
            va_bits: WIDEST_VA,
            allow_nonconforming: false,
        }
    }
}

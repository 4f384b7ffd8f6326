//! Settings for reading and for writing.

use crate::record::Level;

/// Settings for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Threads that decode LZMA blocks.
    pub jobs: usize,
    /// Bits of a virtual address (64 − TCR_ELx.TnSZ), which the trace does not tell; [`crate::check`] judges
    /// addresses by it (ASTF 4.3).
    pub va_bits: u8,
}

/// The widest virtual address of the architecture versions that ASTF 0.11 covers (FEAT_LVA).
pub(crate) const WIDEST_VA: u8 = 52;

impl Default for Config {
    fn default() -> Self {
        Config { jobs: 1, va_bits: WIDEST_VA }
    }
}

/// How the records behind the Header are stored (ASTF 4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// As they are.
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
    /// The word for it, as `--container` takes it.
    pub const fn word(self) -> &'static str {
        match self {
            Storage::Raw => "raw",
            Storage::Xz => "xz",
            Storage::LzmaAlone => "lzma",
            Storage::Zlib => "zlib",
            Storage::Gzip => "gzip",
        }
    }

    /// The storage for a word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Storage::Raw, Storage::Xz, Storage::LzmaAlone, Storage::Zlib, Storage::Gzip]
            .into_iter()
            .find(|storage| storage.word() == word)
    }

    /// The header's flags for it: `compressed` and `use_zlib`.
    pub const fn flags(self) -> (bool, bool) {
        match self {
            Storage::Raw => (false, false),
            Storage::Xz | Storage::LzmaAlone => (true, false),
            Storage::Zlib | Storage::Gzip => (true, true),
        }
    }
}

/// Settings for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteConfig {
    /// How to store the records.
    pub storage: Storage,
    /// Compression level: 0 to 9.
    pub preset: u32,
    /// Bytes per .xz block, 64 KiB at least, rounded up to whole records: blocks are encoded, decoded and sought
    /// independently.
    pub block: u64,
    /// Threads that encode blocks; the bytes do not depend on it.
    pub jobs: usize,
    /// Level of the trace; told from the first events where not given.
    pub level: Option<Level>,
    /// Bits of a virtual address: what lies above is stripped (ASTF 4.3).
    pub va_bits: u8,
    /// Write what the format forbids but can hold (a trace without effective addresses, Realm and Root
    /// states); the metadata and the ledger then say so.
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

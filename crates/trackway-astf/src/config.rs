//! Settings of the format: how to read and how to write.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use trackway_core::FormatId;
use trackway_format::{Error, Flag, Result, When, settings};
use trackway_io::payload::{Compression, Family};

use crate::record::{Level, UnknownName};

/// The id of ASTF.
pub const ID: FormatId = FormatId::new("astf");

settings! {
    /// `[astf]` in the settings.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Config {
        /// Bits of a virtual address, 64 - TCR_ELx.TnSZ: 16 to 56.
        pub va_bits: Option<u8> = "48",
        /// Written container: raw, xz, lzma or zlib.
        pub container: Option<Storage> = "\"xz\"",
        /// Written compression level: 0 to 9.
        pub level: Option<i32> = "1",
        /// Bytes per written .xz block.
        pub chunk: Option<u64> = "4194304",
        /// Level written from events: Basic or BasicPlus.
        pub conformance: Option<Level> = "\"BasicPlus\"",
        /// Write even if the result violates the specification.
        pub allow_nonconforming: bool = "false",
    }
}

/// Settings with a command-line option of their own.
pub(crate) const FLAGS: &[Flag] = &[
    Flag {
        name: "container",
        key: "container",
        value: "NAME",
        values: &["raw", "xz", "lzma", "zlib"],
        when: When::Writing,
        help: "Container to write (ASTF: raw, xz, lzma, zlib)",
    },
    Flag::LEVEL,
    Flag {
        name: "chunk",
        key: "chunk",
        value: "N",
        values: &[],
        when: When::Writing,
        help: "Bytes per .xz block (ASTF)",
    },
    Flag {
        name: "astf-level",
        key: "conformance",
        value: "LEVEL",
        values: &["Basic", "BasicPlus"],
        when: When::Lowering,
        help: "ASTF level to write from events: Basic or BasicPlus",
    },
    Flag {
        name: "allow-nonconforming",
        key: "allow_nonconforming",
        value: "",
        values: &[],
        when: When::Lowering,
        help: "Write even if the result violates the specification (recorded in its metadata)",
    },
];

impl Config {
    /// How to read with these settings.
    pub fn reading(&self, threads: usize) -> Result<ReadConfig> {
        Ok(ReadConfig { threads, va_bits: self.va_bits()?, ..ReadConfig::default() })
    }

    /// How to write with these settings; `storage` is the default one.
    pub fn writing(&self, storage: Storage, threads: usize) -> Result<WriteConfig> {
        let defaults = WriteConfig::default();
        let storage = self.container.unwrap_or(storage);
        let nothing = |key: &str, name: &str| {
            Err(Error::Config(format!("[astf] {key}: it means nothing for the container {name}")))
        };
        if self.level.is_some() && storage == Storage::Raw {
            return nothing("level", storage.as_str());
        }
        if self.chunk.is_some() && storage != Storage::Xz {
            return nothing("chunk", storage.as_str());
        }
        let preset = match self.level {
            None => defaults.preset,
            Some(level @ 0..=9) => level as u32,
            Some(level) => return Err(Error::Config(format!("[astf] level: {level} is not in 0 to 9"))),
        };
        Ok(WriteConfig {
            storage,
            preset,
            block: self.chunk.unwrap_or(defaults.block),
            threads,
            level: self.conformance,
            va_bits: self.va_bits()?,
            allow_nonconforming: self.allow_nonconforming,
        })
    }

    fn va_bits(&self) -> Result<u8> {
        match self.va_bits.unwrap_or(WIDEST_VA) {
            bits @ 16..=56 => Ok(bits),
            bits => Err(Error::Config(format!("[astf] va_bits: {bits} is not in 16 to 56"))),
        }
    }
}

/// How to read a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadConfig {
    /// Threads that decode .xz blocks and run analyses.
    pub threads: usize,
    /// Bits of a virtual address (64 − TCR_ELx.TnSZ), which the trace does not record; the check of addresses needs it
    /// (ASTF 4.3).
    pub va_bits: u8,
    /// Bytes of records that a thread takes at once; `None` for a size whose overhead does not matter.
    pub part: Option<usize>,
}

/// The widest virtual address of the architecture versions that ASTF 0.11 covers (FEAT_LVA).
pub(crate) const WIDEST_VA: u8 = 52;

impl Default for ReadConfig {
    fn default() -> Self {
        ReadConfig { threads: 1, va_bits: WIDEST_VA, part: None }
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

impl<'de> Deserialize<'de> for Storage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let writable = name.parse().ok().filter(|storage| *storage != Storage::Gzip);
        writable
            .ok_or_else(|| de::Error::custom(format!("container {name:?} is not one of raw, xz, lzma, zlib")))
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|_| de::Error::custom(format!("level {name:?} is not one of Basic, BasicPlus")))
    }
}

/// How to write a trace.
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
    pub threads: usize,
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
            threads: 1,
            level: None,
            va_bits: WIDEST_VA,
            allow_nonconforming: false,
        }
    }
}

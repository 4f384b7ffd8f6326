//! Settings: dialects that the records do not identify, and how to write.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use trackway_core::{FormatId, Isa};
use trackway_io::Compression;

/// The id of STF.
pub const ID: FormatId = FormatId::new("stf");

trackway_format::settings! {
    /// `[stf]` in the settings. The defaults suit the files of stf_lib.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Config {
        /// Unit of the size of memory accesses: auto, bytes or bits.
        pub size_unit: SizeUnit = "\"auto\"",
        /// Words of PROCESS_ID_EXT: library (hardware thread, process, thread) or spec (process, thread, address space).
        pub process_id: ProcessId = "\"library\"",
        /// Number of a core among bus masters: library (1) or spec (0).
        pub bus_master: BusMaster = "\"library\"",
        /// Container to write: zstf, plain, gzip, xz or zstd. The default depends on the name of the file.
        pub container: Option<Container> = "\"zstf\"",
        /// Compression level to write with.
        pub level: Option<i32> = "3",
        /// Instructions per chunk of a zstf file that is written.
        pub chunk: Option<u64> = "100000",
        /// Version to write from events, 1.2 to 1.6. The default is the oldest that supports the content.
        pub version: Option<Version> = "\"1.5\"",
        /// Generator number of the TRACE_INFO that is written. The default is 255, with the name in the text.
        pub generator: Option<u8> = "1",
    }
}

/// Unit of access sizes: the specification does not say, and writers differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeUnit {
    /// Inferred for each record from its content records and the opcode.
    #[default]
    Auto,
    /// Bytes.
    Bytes,
    /// Bits.
    Bits,
}

/// Order of the words in PROCESS_ID_EXT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessId {
    /// Hardware thread, process, thread (stf_lib).
    #[default]
    Library,
    /// Process, thread, address space (specification 1.3).
    Spec,
}

/// Numbering of bus masters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BusMaster {
    /// Core is 1 (stf_lib).
    #[default]
    Library,
    /// Core is 0 (specification 1.3).
    Spec,
}

impl BusMaster {
    /// Name of a bus master.
    pub fn name(self, number: u8) -> &'static str {
        const NAMES: [&str; 7] = ["core", "gpu", "dma", "pcie", "srio", "icn", "accel"];
        let index = match self {
            BusMaster::Spec => Some(number),
            BusMaster::Library => number.checked_sub(1),
        };
        let known = if self == BusMaster::Spec { 7 } else { 6 };
        index.filter(|&n| n < known).map_or("unknown", |n| NAMES[usize::from(n)])
    }
}

/// The file around the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// The records alone.
    Plain,
    /// Chunks of zstd frames with an index.
    Zstf,
    /// The records alone, compressed as a whole.
    Compressed(Compression),
}

impl Container {
    /// The name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Container::Plain => "plain",
            Container::Zstf => "zstf",
            Container::Compressed(compression) => compression.as_str(),
        }
    }
}

impl FromStr for Container {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "plain" => Ok(Container::Plain),
            "zstf" => Ok(Container::Zstf),
            _ => name.parse().map(Container::Compressed),
        }
    }
}

impl<'de> Deserialize<'de> for Container {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|()| {
            de::Error::custom(format!("container {name:?} is not one of plain, zstf, gzip, xz, zstd"))
        })
    }
}

/// A version of the specification: major and minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl Version {
    /// Is it one that Trackway reads and writes?
    pub(crate) const fn is_supported(self) -> bool {
        matches!(self, Version(1, 2..=6))
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let numbers = text.split_once('.').map(|(major, minor)| (major.parse(), minor.parse()));
        match numbers {
            Some((Ok(major), Ok(minor))) if Version(major, minor).is_supported() => Ok(Version(major, minor)),
            _ => Err(de::Error::custom(format!("version {text} is not one of 1.2 to 1.6"))),
        }
    }
}

/// How to write a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteConfig {
    /// The file around the records.
    pub container: Container,
    /// Compression level; by default that of the compression, 3 for zstd.
    pub level: Option<i32>,
    /// Instructions per chunk.
    pub chunk: u64,
    /// Version to declare; by default the oldest that supports the content.
    pub version: Option<Version>,
    /// Generator number in TRACE_INFO; by default that of tools which the list does not have.
    pub generator: Option<u8>,
    /// INST_IEM for AArch64, which the specification does not assign.
    pub a64_iem: u16,
    /// End with RESERVE_END, which 1.3 asks for and existing readers reject.
    pub reserve_end: bool,
    /// Order of the words in PROCESS_ID_EXT.
    pub process_id: ProcessId,
    /// Threads that compress chunks.
    pub threads: usize,
}

impl Default for WriteConfig {
    fn default() -> Self {
        WriteConfig {
            container: Container::Zstf,
            level: None,
            chunk: 100_000,
            version: None,
            generator: None,
            a64_iem: crate::values::iem::A64,
            reserve_end: false,
            process_id: ProcessId::Library,
            threads: 1,
        }
    }
}

impl WriteConfig {
    /// ISA and INST_IEM of an instruction set.
    pub(crate) fn numbers(&self, isa: Isa) -> (u16, u16) {
        use crate::values::{iem, isa as number};
        match isa {
            Isa::Rv32 => (number::RISCV, iem::RV32),
            Isa::Rv64 => (number::RISCV, iem::RV64),
            Isa::A64 => (number::ARM, self.a64_iem),
            Isa::A32 => (number::ARM, iem::A32),
            Isa::T32 => (number::ARM, iem::T32),
            Isa::Other => (0, 0),
        }
    }
}

impl Config {
    /// How to write with these settings; `container` is the default one.
    pub(crate) fn writing(&self, container: Container, threads: usize) -> WriteConfig {
        let defaults = WriteConfig::default();
        WriteConfig {
            container: self.container.unwrap_or(container),
            level: self.level,
            chunk: self.chunk.unwrap_or(defaults.chunk).max(1),
            version: self.version,
            generator: self.generator,
            process_id: self.process_id,
            threads,
            ..defaults
        }
    }
}

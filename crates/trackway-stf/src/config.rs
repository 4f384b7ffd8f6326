//! Settings: dialects that the records do not identify, and how to write.

/// Settings for reading. The defaults suit the files that stf_lib's users have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Unit of INST_MEM_ACCESS and BUS_MASTER_ACCESS sizes.
    pub size_unit: SizeUnit,
    /// Meaning of the words of PROCESS_ID_EXT.
    pub process_id: ProcessId,
    /// Numbering of bus masters.
    pub bus_master: BusMaster,
    /// Try versions that are not supported.
    pub force: bool,
    /// Threads that decode chunks.
    pub jobs: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            size_unit: SizeUnit::Auto,
            process_id: ProcessId::Library,
            bus_master: BusMaster::Library,
            force: false,
            jobs: 1,
        }
    }
}

/// Unit of access sizes: the specification does not say, and writers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeUnit {
    /// Inferred for each record from its content records and the opcode.
    Auto,
    /// Bytes.
    Bytes,
    /// Bits.
    Bits,
}

/// Order of the words in PROCESS_ID_EXT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessId {
    /// Hardware thread, process, thread (stf_lib).
    Library,
    /// Process, thread, address space (specification 1.3).
    Spec,
}

/// Numbering of bus masters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusMaster {
    /// Core is 1 (stf_lib).
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
}

/// Settings for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteConfig {
    /// The file around the records.
    pub container: Container,
    /// Compression level of zstd.
    pub level: i32,
    /// Instructions per chunk.
    pub chunk: u64,
    /// Version to declare; by default the oldest that supports the content.
    pub version: Option<(u32, u32)>,
    /// Generator number in TRACE_INFO.
    pub generator: u8,
    /// INST_IEM for AArch64, which the specification does not assign.
    pub a64_iem: u16,
    /// End with RESERVE_END, which 1.3 asks for and existing readers reject.
    pub reserve_end: bool,
    /// Order of the words in PROCESS_ID_EXT.
    pub process_id: ProcessId,
    /// Threads that compress chunks.
    pub jobs: usize,
}

impl Default for WriteConfig {
    fn default() -> Self {
        WriteConfig {
            container: Container::Zstf,
            level: 3,
            chunk: 100_000,
            version: None,
            generator: crate::values::TRACKWAY,
            a64_iem: crate::values::iem::A64,
            reserve_end: false,
            process_id: ProcessId::Library,
            jobs: 1,
        }
    }
}

//! An opened trace: its header, and the ways through its records.

use trackway_core::{Finding, Input, Output, Result};

use crate::check;
use crate::config::{Config, Container, WriteConfig};
use crate::container::Parts;
use crate::copy::{self, Copied};
use crate::header::Header;
use crate::lift::Lift;
use crate::read::{Decompressed, Records};
use crate::text::Text;

/// An STF trace, opened.
///
/// ```
/// use trackway_core::{Batch, Input, Source};
/// use trackway_stf::{Config, Trace};
/// # let bytes = trackway_stf::example();
/// let trace = Trace::open(Input::from_vec(bytes), Config::default())?;
/// assert_eq!(trace.header.version, Some((1, 3)));
/// let mut source = trace.source();
/// let mut batch = Batch::default();
/// while source.fill(&mut batch)? {
///     for event in &batch.events {
///         // …
/// #       let _ = event;
///     }
/// }
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    /// The header record group.
    pub header: Header,
    /// The file around the records.
    pub container: Container,
    parts: Parts,
    config: Config,
}

impl Trace {
    /// Opens a trace and reads its header.
    pub fn open(input: Input, config: Config) -> Result<Self> {
        let mut parts = Parts::open(input)?;
        let header = Header::read(&mut parts, &config)?;
        Ok(Trace { header, container: parts.container, parts, config })
    }

    /// Instructions per chunk, if the file has chunks.
    pub fn per_chunk(&self) -> Option<u64> {
        self.parts.per_chunk()
    }

    /// Number of chunks; 1 if the file is not divided.
    pub fn chunks(&self) -> usize {
        self.parts.len()
    }

    /// The trace as events.
    pub fn source(self) -> Lift {
        Lift::new(self.header, self.parts, self.config)
    }

    /// The decompressed records, without the container.
    pub fn bytes(self) -> Input {
        Input::Stream(Box::new(Decompressed::new(self.parts)))
    }

    /// The records as text.
    pub fn items(self) -> Text {
        let config = self.config;
        Text::new(self.records(), config)
    }

    /// The records.
    pub fn records(self) -> Records {
        Records::new(self.parts)
    }

    /// Checks all records against [`RULES`](crate::RULES) and reports each violation; returns the number of
    /// records. After damage the remaining chunks are checked too, then the first error is returned.
    pub fn check(self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        check::check(self.records(), report)
    }

    /// Writes all records to `out`, byte for byte, in the container of `config`. A chunk that cannot be read is
    /// replaced by a comment; the other chunks are written, then the first error is returned.
    pub fn copy_to(self, out: Output, config: WriteConfig) -> Result<Copied> {
        let start = self.header.pc;
        copy::copy(self.records(), start, out, config)
    }
}

//! One toolkit for processor execution traces: the library's front door.
//!
//! [`open`] recognises a trace by its content, also inside zstd, xz and gzip, and gives its events, its
//! native items as text, or the findings of its rules. [`create`] writes events in any format. The formats are in
//! one list, [`FORMATS`].
//!
//! ```
//! use trackway::{Options, open_bytes};
//! use trackway_core::{Batch, Source};
//!
//! # let bytes = trackway_stf::example();
//! let trace = open_bytes(bytes, &Options::default())?;
//! assert_eq!(trace.format.id().word(), "stf");
//! let mut source = trace.source()?;
//! let mut batch = Batch::default();
//! let mut instructions = 0;
//! while source.fill(&mut batch)? {
//!     instructions += batch.instructions();
//! }
//! assert_eq!(instructions, 3);
//! # Ok::<(), trackway::Error>(())
//! ```

mod compress;
mod error;
mod expand;
mod formats;
mod input;
mod map;
mod options;
mod target;

pub use error::{Error, Result};
pub use expand::Expand;
pub use formats::{FORMATS, Format, Opened, by_name, for_output};
pub use input::{Compression, File};
pub use options::{ConfigFile, Options, WriteOptions};
pub use target::Target;

/// Names of Arm exception classes, for those who show traps.
pub use trackway_astf::exception_class;
pub use trackway_image::program;

use std::path::Path;
use std::sync::Arc;

use trackway_core::{Finding, FormatId, Input, Items, Meta, Sink, Source, Trap, TrapKind};
use trackway_image::Image;

/// What a trap is called, where the architecture has a name: by its Arm exception class, or as one of the
/// interrupts, which each format numbers in its own way.
pub fn trap_name(format: FormatId, trap: &Trap) -> Option<&'static str> {
    let interrupt = trap.cause.filter(|_| format == FormatId::Astf && trap.kind == TrapKind::Interrupt);
    match (trap.class, interrupt) {
        (Some(class), _) => Some(exception_class(class)),
        (None, Some(kind)) => Some(trackway_astf::TrapType(kind as u8).name()),
        (None, None) => None,
    }
}

/// A trace, recognised and opened.
pub struct Trace {
    /// Its format.
    pub format: &'static dyn Format,
    /// Compression around it.
    pub compression: Option<Compression>,
    opened: Box<dyn Opened>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace({})", self.format.id().word())
    }
}

/// Opens the trace at `path`: a file, a folder (an OpenCSD snapshot), or `-` for stdin.
pub fn open(path: &Path, options: &Options) -> Result<Trace> {
    recognise(File::open(path)?, options)
}

/// Opens a trace in memory.
pub fn open_bytes(bytes: Vec<u8>, options: &Options) -> Result<Trace> {
    recognise(File::from_input(Input::from_vec(bytes))?, options)
}

fn recognise(file: File, options: &Options) -> Result<Trace> {
    let format = match options.format {
        Some(id) => formats::by_id(id),
        None => FORMATS.iter().copied().find(|format| format.recognise(&file, options)),
    };
    let Some(format) = format else {
        return Err(match file.is_folder {
            true => Error::Unsupported("a folder without snapshot.ini is no trace".into()),
            false => Error::NotRecognised { head: file.head },
        });
    };
    let compression = file.compression;
    Ok(Trace { format, compression, opened: format.open(file, options)? })
}

impl Trace {
    /// What it says about itself.
    pub fn meta(&self) -> &Meta {
        self.opened.meta()
    }

    /// Facts about the file around it, by name: container, chunks …
    pub fn container(&self) -> Vec<(&'static str, String)> {
        self.opened.container()
    }

    /// The programs that ran, one for each source or one for all: what the trace brings along, else what the
    /// options name.
    pub fn programs(&self, options: &Options) -> Result<Vec<Arc<Image>>> {
        let own = self.opened.programs();
        if !own.is_empty() {
            return Ok(own);
        }
        let named = options.program()?;
        Ok(if named.is_empty() { Vec::new() } else { vec![named] })
    }

    /// Its events.
    pub fn source(self) -> Result<Box<dyn Source>> {
        self.opened.source()
    }

    /// The bytes that offsets in errors and items refer to: the decompressed stream.
    pub fn bytes(self) -> Result<Input> {
        self.opened.bytes()
    }

    /// Its native items as text.
    pub fn items(self) -> Result<Box<dyn Items>> {
        self.opened.items()
    }

    /// Checks it against the rules of its spec; gives the number of items checked.
    pub fn check(self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        self.opened.check(report)
    }

    /// Writes it in its own format: the same items, byte for byte, in another container.
    pub fn rewrite(self, target: Target, options: &Options) -> Result<u64> {
        self.opened.rewrite(target, options)
    }
}

/// Starts a trace in `format` that takes events of a source with `meta`.
pub fn create(
    format: &'static dyn Format,
    target: Target,
    meta: &Meta,
    options: &Options,
) -> Result<Box<dyn Sink>> {
    format.create(target, meta, options)
}

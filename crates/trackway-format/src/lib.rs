//! The contract of a trace format.
//!
//! A format is one value that implements [`Format`]; the front door has a list of them. It says how its files are
//! recognised, which settings and rules it has, and opens and creates traces. An opened trace answers the questions of
//! [`Opened`]: events, native items, findings, a copy. Everything above works with these types and names no format.

mod candidate;
mod cut;
mod error;
mod keys;
mod number;
mod program;
mod settings;

use std::sync::Arc;

pub use candidate::{Candidate, Doubt, Excerpt};
pub use cut::{Cut, Streams};
pub use error::{Error, Result};
pub use keys::{Flag, Key, Sample, When, suggest};
#[doc(hidden)]
pub use keys::{refuse_rest, take};
pub use number::Number;
pub use program::{Carried, Program, relative};
#[doc(hidden)]
pub use serde;
pub use settings::{Settings, template};
#[doc(hidden)]
pub use toml::Table;
pub use toml::Value;

use trackway_core::{Cancel, Finding, FormatId, Input, Isa, Items, Meta, Rule, Sink, Source};
use trackway_image::Image;
use trackway_io::{File, Target};

/// A trace format: how it is recognised, opened and created.
pub trait Format: Sync {
    /// The name, as `--format` takes it; also the section of its settings.
    fn id(&self) -> FormatId;

    /// The name for people.
    fn title(&self) -> &'static str;

    /// File name extensions, the usual one first. Used for output only: input is recognised by content.
    fn extensions(&self) -> &'static [&'static str];

    /// All rules that `check` applies, in the order of the spec.
    fn rules(&self) -> &'static [&'static Rule];

    /// Its settings, in the order of the template.
    fn keys(&self) -> &'static [Key];

    /// True if opening a file reads all of it, unless its [survey](Opened::survey) is known from an earlier time. It may
    /// depend on the file and the settings only.
    fn surveys(&self) -> bool {
        false
    }

    /// Settings that have a command-line option of their own.
    fn flags(&self) -> &'static [Flag] {
        &[]
    }

    /// True if its keys may also be at the top level of a settings file, where this function says that they are its own.
    fn is_at_top_level(&self, settings: &Settings) -> bool {
        let _ = settings;
        false
    }

    /// Is this one of its files? Formats without a magic number look at the settings too.
    fn recognise(&self, probe: &Probe<'_>) -> Recognised;

    /// Opens a trace.
    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>>;

    /// Starts a trace that takes events of a source with `meta`.
    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>>;

    /// False if its traces are only read: [`create`](Format::create) always refuses.
    fn is_written(&self) -> bool {
        true
    }

    /// Writes a trace that loads a program (an ELF file) into memory and nothing else, where the format has
    /// such traces; returns the number of items.
    fn load(&self, program: &[u8], writing: Writing<'_>) -> Result<u64> {
        let _ = (program, writing);
        let text = format!("{} has no traces that load a program; record it instead", self.title());
        Err(Error::Unsupported(text))
    }

    /// True if one output can hold several sources.
    fn holds_several_sources(&self) -> bool {
        false
    }

    /// True if an output holds comments on the trace as a whole.
    fn holds_comments(&self) -> bool {
        false
    }

    /// True if its traces hold instructions of this set.
    fn holds(&self, isa: Isa) -> bool {
        let _ = isa;
        true
    }

    /// The value of `--container` whose files can be entered in the middle, where there is a choice.
    fn container_to_enter(&self) -> Option<&'static str> {
        None
    }

    /// True if the settings ask for encoding anew where a copy of the items would do.
    fn asks_for_encoding(&self, settings: &Settings) -> bool {
        let _ = settings;
        false
    }

    /// Settings by which the bytes may be a trace of this format, the likeliest first: for a trace whose settings are
    /// lost. None for a format whose traces carry all that is needed.
    fn candidates(&self, excerpt: &Excerpt<'_>) -> Vec<Candidate> {
        let _ = excerpt;
        Vec::new()
    }

    /// Settings that differ from `from` in one respect, of those that its traces do not carry.
    fn neighbours(&self, from: &Settings, excerpt: &Excerpt<'_>) -> Vec<Candidate> {
        let _ = (from, excerpt);
        Vec::new()
    }

    /// Reasons to doubt settings by which the bytes can be read: a time that never changes.
    fn doubts(&self, settings: &Settings, excerpt: &Excerpt<'_>) -> Vec<Doubt> {
        let _ = (settings, excerpt);
        Vec::new()
    }

    /// Parts of a core's state that none of its traces has.
    fn omits(&self) -> Omits {
        Omits::NOTHING
    }

    /// The architecture's name of a trap, where the format has names of its own.
    fn trap_name(&self, trap: &trackway_core::Trap) -> Option<&'static str> {
        let _ = trap;
        None
    }
}

/// Parts of a core's state that no trace of a format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omits {
    /// Floating-point registers.
    pub float: bool,
    /// Control registers.
    pub csr: bool,
    /// Privilege.
    pub privilege: bool,
    /// Memory accesses.
    pub memory: bool,
    /// Resets, causes of traps, and control registers that are written by the way: it is a log of what retired.
    pub implied: bool,
}

impl Omits {
    /// Traces may have all of it.
    pub const NOTHING: Self =
        Omits { float: false, csr: false, privilege: false, memory: false, implied: false };
}

/// The first bytes of a file, for [`Format::recognise`].
#[derive(Clone, Copy, Debug)]
pub struct Probe<'p> {
    /// The file, decompressed; its input is not to be read.
    pub file: &'p File,
    /// The settings given, or found beside the file.
    pub settings: &'p Settings,
}

/// Answer of [`Format::recognise`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// It is not of this format.
    No,
    /// It may be: opening needs more than the file.
    Maybe {
        /// Evidence for the format.
        why: &'static str,
        /// Inputs or settings that opening still needs.
        missing: &'static str,
    },
    /// It is of this format.
    Yes,
}

impl From<bool> for Recognised {
    fn from(yes: bool) -> Self {
        if yes { Recognised::Yes } else { Recognised::No }
    }
}

/// Everything that [`Format::open`] may need.
#[derive(Debug)]
pub struct Opening {
    /// The file, decompressed.
    pub file: File,
    /// Settings given, or found beside the file.
    pub settings: Settings,
    /// The program that ran, as the user named it.
    pub program: Program,
    /// Threads for analyses.
    pub threads: usize,
    /// Smallest part for a thread, in bytes of input; the format's own choice without it. Results do not depend on it.
    pub part: Option<usize>,
    /// Decode versions that are not supported as if they were.
    pub force: bool,
    /// Treat contradictions with the program as errors.
    pub strict: bool,
    /// The one source to decode.
    pub source: Option<String>,
    /// Ends the run from outside.
    pub cancel: Cancel,
}

/// Everything that writing a trace may need.
#[derive(Clone, Debug)]
pub struct Writing<'w> {
    /// Where to.
    pub target: Target,
    /// Settings of the target format.
    pub settings: &'w Settings,
    /// The program that ran, as the user named it.
    pub program: &'w Program,
    /// Threads for compression.
    pub threads: usize,
}

/// An opened trace of any format. It can be asked several times; a stream (stdin, a pipe) is read once, and says so
/// with [`Error::ReadOnce`] when it is asked again.
pub trait Opened {
    /// Facts about the trace as a whole.
    fn meta(&self) -> &Meta;

    /// Facts about the file around it, by name: container, chunks, framing.
    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The programs it is decoded against: one for each source, or one for all; empty where none is known.
    fn programs(&self) -> Vec<Arc<Image>> {
        Vec::new()
    }

    /// True if it places the files of the program itself, so that their names alone mean nothing to another format.
    fn places_programs(&self) -> bool {
        false
    }

    /// Facts that only reading all of the file shows, packed: an index keeps them, and [`File::surveyed`] brings them back.
    fn survey(&self) -> Option<Vec<u8>> {
        None
    }

    /// Its events.
    fn events(&mut self) -> Result<Box<dyn Source>>;

    /// True if items and findings are those of the source asked for, not of all.
    fn divides_items(&self) -> bool {
        false
    }

    /// Its native items as text.
    fn items(&mut self) -> Result<Box<dyn Items>>;

    /// Checks it against the rules of its spec; returns the number of items checked.
    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64>;

    /// Writes the same items into another container, byte for byte; returns their number.
    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64>;

    /// The bytes that offsets in errors and items refer to: the decompressed stream.
    fn bytes(&mut self) -> Result<Input>;

    /// The bytes that parts of it are made of: [`bytes`](Opened::bytes), or those of each trace unit.
    fn streams(&mut self) -> Result<Streams> {
        Ok(vec![self.bytes()?])
    }

    /// The first place at or after each of the offsets in `wanted`, by stream, where a trace of its own can begin; the
    /// end of the stream where there is none. An error says why it cannot be cut at all.
    fn cuts(&mut self, wanted: &[Vec<u64>]) -> Result<Vec<Vec<Cut>>> {
        let _ = wanted;
        Err(Error::Unsupported("the format has no places where it can be cut".into()))
    }

    /// A comment as an item of the trace, where it has comments, and the offset in the first stream where it can be
    /// inserted.
    fn comment(&mut self, text: &str) -> Result<Option<(Vec<u8>, u64)>> {
        let _ = text;
        Ok(None)
    }

    /// Writes a trace like this one that has these bytes; returns them where opening and copying them does it.
    fn write_streams(&mut self, streams: Streams, writing: &Writing<'_>) -> Result<Option<Streams>> {
        let _ = writing;
        Ok(Some(streams))
    }
}

/// The bytes of an opened trace: shared as often as asked where they are in memory, handed out once where they are a
/// stream.
#[derive(Debug)]
pub struct Content(Option<Input>);

impl Content {
    /// The bytes of `input`.
    pub fn new(input: Input) -> Self {
        Content(Some(input))
    }

    /// The bytes from their start.
    pub fn input(&mut self) -> Result<Input> {
        match &self.0 {
            Some(Input::Whole(bytes)) => Ok(Input::Whole(Arc::clone(bytes))),
            _ => self.0.take().ok_or(Error::ReadOnce),
        }
    }
}

/// Refuses a trace of another architecture, in one sentence for all formats.
pub fn wrong_architecture(format: &str, held: &str, meta: &Meta) -> Error {
    Error::Unsupported(format!("{format} holds only {held} traces; this trace is {}", meta.isa))
}

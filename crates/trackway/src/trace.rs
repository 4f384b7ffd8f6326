//! A trace, recognised and opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway_core::{Cancel, Finding, FormatId, Input, Isa, Items, Meta, SharedBytes, Source, Trap};
use trackway_format::{
    Error, Format, Opened, Opening, Probe, Program, Recognised, Result, Settings, Value, When, Writing,
};
use trackway_image::Image;
use trackway_io::{Compression, File};

use crate::expand::Expand;
use crate::formats::{FORMATS, by_id};
use crate::found::{Found, Indexing, find, identity_of, settings_hash};
use crate::index::{Indexed, Keep};

use crate::one_source::OneSource;
use crate::steps::Steps;

/// How to open a trace.
///
/// ```no_run
/// let mut trace = trackway::Trace::options().elf("program.elf").threads(2).open("trace.etrace")?;
/// # Ok::<(), trackway::Error>(())
/// ```
#[derive(Clone)]
pub struct Options {
    /// The formats to choose from: [`FORMATS`], and any of your own.
    pub formats: Vec<&'static dyn Format>,
    /// Input format, overriding detection.
    pub format: Option<FormatId>,
    /// Settings that the trace does not carry; without them those in `TRACE.toml` are taken.
    pub settings: Option<Settings>,
    /// Settings by the names of the format's [flags](Format::flags), over all others.
    pub flags: Vec<(String, Value)>,
    /// The program that ran.
    pub program: Program,
    /// Threads for analyses.
    pub threads: usize,
    /// Smallest part for a thread, in bytes of input; the format's own choice without it. Results do not depend on it.
    pub part: Option<usize>,
    /// Try unsupported format versions anyway.
    pub force: bool,
    /// Fail where the program contradicts the trace.
    pub strict: bool,
    /// Decode only this source.
    pub source: Option<String>,
    /// Ends a run from outside.
    pub cancel: Cancel,
    /// Whether an index is used and made.
    pub index: Indexing,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            formats: FORMATS.to_vec(),
            format: None,
            settings: None,
            flags: Vec::new(),
            program: Program::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            part: None,
            force: false,
            strict: false,
            source: None,
            cancel: Cancel::default(),
            index: Indexing::default(),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Options({:?}, {:?}, {:?})", self.format, self.program, self.settings)
    }
}

impl Options {
    /// Adds an ELF file of the program that ran, `PATH[@ADDR]`.
    pub fn elf(mut self, path: impl Into<String>) -> Self {
        self.program.elf.push(path.into());
        self
    }

    /// Takes these settings, and no sidecar.
    pub fn settings(self, settings: Settings) -> Self {
        Options { settings: Some(settings), ..self }
    }

    /// Runs analyses on that many threads.
    pub fn threads(self, threads: usize) -> Self {
        Options { threads, ..self }
    }

    /// Opens the trace at `path`: a file, a folder (an OpenCSD snapshot), or `-` for stdin.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Trace> {
        let path = path.as_ref();
        let settings = match &self.settings {
            Some(settings) => settings.clone(),
            None => Settings::beside_trace(path)?.unwrap_or_default(),
        };
        self.recognise(File::open(path)?, settings, Some(path.into()))
    }

    /// Opens a trace that is still written: a pipe, a socket. Where its format and the settings of that are given it is
    /// opened at its first bytes, else at 64 KiB or at its end.
    pub fn open_live(&self, stream: Box<dyn std::io::Read + Send>) -> Result<Trace> {
        let settings = self.settings.clone().unwrap_or_default();
        let file = match self.format {
            Some(id) if settings.has(id.as_str()) => File::live(stream)?,
            _ => File::from_input(Input::Stream(stream))?,
        };
        Options { threads: 1, ..self.clone() }.recognise(file, settings, None)
    }

    /// Opens a trace in memory.
    pub fn open_bytes(&self, bytes: Vec<u8>) -> Result<Trace> {
        let bytes: SharedBytes = Arc::new(bytes);
        self.open_shared(&bytes)
    }

    fn open_shared(&self, bytes: &SharedBytes) -> Result<Trace> {
        let file = File::from_input(Input::Whole(Arc::clone(bytes)))?;
        let trace = self.recognise(file, self.settings.clone().unwrap_or_default(), None)?;
        Ok(Trace { bytes: Some(Arc::clone(bytes)), ..trace })
    }

    /// Opens a trace that comes from elsewhere than a file of its own.
    pub(crate) fn open_input(&self, input: Input, settings: Settings) -> Result<Trace> {
        self.recognise(File::from_input(input)?, settings, None)
    }

    fn recognise(&self, mut file: File, mut settings: Settings, path: Option<PathBuf>) -> Result<Trace> {
        let probe = Probe { file: &file, settings: &settings };
        let mut maybe = Vec::new();
        let format = match self.format {
            Some(id) => by_id(&self.formats, id),
            None => self.formats.iter().copied().find(|format| match format.recognise(&probe) {
                Recognised::Yes => true,
                Recognised::No => false,
                Recognised::Maybe { why, missing } => {
                    maybe.push(format!("{}: {why}; missing: {missing}", format.title()));
                    false
                }
            }),
        };
        let Some(format) = format else {
            return Err(if file.is_folder {
                Error::Unsupported(format!("not a trace: {}", maybe.join("; ")))
            } else {
                Error::NotRecognised { head: file.head, maybe }
            });
        };
        let flags = self.flags.iter().map(|(name, value)| (name.as_str(), value.clone()));
        settings.set_flags(format, &[When::Reading], flags)?;
        // The program has no part in a survey.
        let surveyed = path.as_deref().filter(|path| format.surveys() && path.is_file()).map(|path| {
            let settings = settings_hash(format, &settings, self.force, self.strict);
            find(path, &self.index, || identity_of(path, settings, &[], false))
        });
        let index = || surveyed.as_ref()?.index.as_ref();
        file.surveyed = index().and_then(|(index, _)| index.survey.clone());
        let (compression, whole) = (file.compression, file.whole.clone());
        let opened = format.open(Opening {
            file,
            settings: settings.clone(),
            program: self.program.clone(),
            threads: self.threads,
            part: self.part,
            force: self.force,
            strict: self.strict,
            source: self.source.clone(),
            cancel: self.cancel.clone(),
        })?;
        let mut trace = Trace {
            format,
            path,
            bytes: None,
            whole,
            compression,
            settings,
            program: self.program.clone(),
            options: self.clone(),
            opened,
            programs: None,
            source: self.source.clone(),
            index: None,
        };
        if !trace.meta().flow_only {
            trace.index = surveyed;
        }
        if !trace.meta().sources.is_empty() {
            trace.pick(&trace.meta().sources)?;
        }
        if !self.program.elf.is_empty() {
            let isa = trace.meta().isa;
            trace.programs()?.iter().try_for_each(|image| refuse_other_architecture(isa, image))?;
        }
        Ok(trace)
    }
}

/// Refuses an ELF file of another architecture or, for RISC-V, of another width; A32 beside A64 is legal.
fn refuse_other_architecture(isa: Isa, image: &Image) -> Result<()> {
    let family = |isa: Isa| match isa {
        Isa::A64 | Isa::A32 | Isa::T32 => Isa::A64,
        other => other,
    };
    for part in image.parts() {
        let Some(elf) = part.elf.as_ref().filter(|elf| elf.isa != Isa::Other && isa != Isa::Other) else {
            continue;
        };
        if family(elf.isa) != family(isa) {
            let text = format!("{}: the program is {}, the trace is {isa}", part.name, elf.isa);
            return Err(Error::Config(text));
        }
    }
    Ok(())
}

/// A trace, recognised and opened.
pub struct Trace {
    format: &'static dyn Format,
    path: Option<PathBuf>,
    /// Its file, where it is in memory.
    bytes: Option<SharedBytes>,
    /// Its file, where it is mapped or in memory.
    whole: Option<SharedBytes>,
    compression: Option<Compression>,
    settings: Settings,
    program: Program,
    options: Options,
    opened: Box<dyn Opened>,
    programs: Option<Vec<Arc<Image>>>,
    /// The one source to show.
    source: Option<String>,
    /// Its index, once it was looked for.
    pub(crate) index: Option<Found>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace({}, {:?})", self.format.id(), self.path)
    }
}

impl Trace {
    /// Opens the trace at `path`: a file, a folder (an OpenCSD snapshot), or `-` for stdin. Settings and programs are found
    /// in its sidecar, `TRACE.toml`.
    pub fn open(path: impl AsRef<Path>) -> Result<Trace> {
        Options::default().open(path)
    }

    /// How to open a trace, to be completed.
    pub fn options() -> Options {
        Options::default()
    }

    /// The name of the source that was asked for, or of the only one.
    pub fn source_name(&self) -> Option<String> {
        let only =
            || Some(&self.meta().sources).filter(|names| names.len() == 1).map(|names| names[0].clone());
        self.source.clone().or_else(only)
    }

    /// The format's side of it.
    pub(crate) fn opened(&mut self) -> &mut dyn Opened {
        &mut *self.opened
    }

    /// Unsupported versions are read too.
    pub(crate) fn is_forced(&self) -> bool {
        self.options.force
    }

    /// Its format.
    pub fn format(&self) -> &'static dyn Format {
        self.format
    }

    /// The compression around it.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The program as it was named when the trace was opened.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program for a trace made of this one: as it was named, unless this trace placed its files itself.
    pub(crate) fn program_of_output(&self) -> Program {
        if self.opened.places_programs() { Program::default() } else { self.program.clone() }
    }

    /// Facts about the trace as a whole.
    pub fn meta(&self) -> &Meta {
        self.opened.meta()
    }

    /// Facts about the file around it, by name: container, chunks, framing.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        self.opened.facts()
    }

    /// The programs that ran, one for each source or one for all: those that the trace brings along, else those named
    /// when it was opened.
    pub fn programs(&mut self) -> Result<Vec<Arc<Image>>> {
        if let Some(programs) = &self.programs {
            return Ok(programs.clone());
        }
        let mut programs = self.opened.programs();
        if programs.is_empty() && !self.program.is_empty() {
            programs.push(Arc::new(self.program.load()?));
        }
        if let Ok(Some(index)) = self.pick(&self.meta().sources) {
            programs = vec![trackway_image::program(&programs, index as u16)];
        }
        self.programs = Some(programs.clone());
        Ok(programs)
    }

    /// Its events, in batches. Flow formats (E-Trace, ETE) yield straight runs; [`steps`](Trace::steps) expands them.
    pub fn events(&mut self) -> Result<Box<dyn Source>> {
        let source = self.plain_events()?;
        self.find_index();
        let Some(Found { index, identity: Some(identity), .. }) = &self.index else { return Ok(source) };
        let index = index.as_ref().map(|(index, _)| Arc::clone(index));
        let keep = match (&self.options.index, &self.path) {
            (Indexing::Cache(cache, after), Some(trace)) => Some(Keep {
                cache: cache.clone(),
                trace: trace.clone(),
                identity: identity.clone(),
                survey: self.opened.survey(),
                after: *after,
            }),
            _ => None,
        };
        Ok(Box::new(Indexed::new(source, index, keep, self.options.strict)))
    }

    /// Its events, without an index.
    pub(crate) fn plain_events(&mut self) -> Result<Box<dyn Source>> {
        let source = self.opened.events()?;
        Ok(match self.pick(&source.meta().sources)? {
            Some(index) => Box::new(OneSource::new(source, index)),
            None => source,
        })
    }

    /// The index of the source that was asked for, among several.
    pub(crate) fn picked(&self, names: &[String]) -> Option<usize> {
        self.pick(names).ok().flatten()
    }

    /// The index of the source that was asked for, where the format delivers others beside it.
    fn pick(&self, names: &[String]) -> Result<Option<usize>> {
        let Some(wanted) = &self.source else { return Ok(None) };
        let is_it = |name: &String| {
            let short = name.rsplit_once(' ').map_or(name.as_str(), |(_, short)| short);
            [name, short].iter().any(|name| name.eq_ignore_ascii_case(wanted))
        };
        match names.iter().position(is_it) {
            Some(index) => Ok(Some(index).filter(|_| names.len() > 1)),
            // The only source of a format without names.
            None if names.is_empty() && matches!(wanted.as_str(), "0" | "source 0") => Ok(None),
            None if names.is_empty() => Err(Error::Config(format!("--source {wanted}: there is only 0"))),
            None => Err(Error::Config(format!("--source {wanted}: there are {}", names.join(", ")))),
        }
    }

    /// True if items and findings are those of the source asked for, not of all.
    pub fn divides_items(&self) -> bool {
        self.opened.divides_items()
    }

    /// Refuses to show the items of one source where the format cannot.
    fn refuse_undivided(&self) -> Result<()> {
        let is_only = self.meta().sources.is_empty() && self.pick(&[]).is_ok();
        if self.divides_items() || is_only {
            return Ok(());
        }
        match &self.source {
            Some(name) => {
                let text = format!("--source {name}: the items of this format are not divided by source");
                Err(Error::Config(text))
            }
            None => Ok(()),
        }
    }

    /// Its events with runs expanded to steps where the program is known.
    pub fn expanded(&mut self) -> Result<Box<dyn Source>> {
        let programs = self.programs()?;
        let source = self.events()?;
        Ok(if programs.is_empty() { source } else { Box::new(Expand::new(source, programs)) })
    }

    /// Refuses positions where there are several sources and none is picked.
    pub fn refuse_several(&self) -> Result<()> {
        let names = &self.meta().sources;
        if names.len() > 1 && self.source.is_none() {
            let text = format!("positions count per source: choose one with --source ({})", names.join(", "));
            return Err(Error::Config(text));
        }
        Ok(())
    }

    /// Its instructions, one by one.
    pub fn steps(&mut self) -> Result<Steps> {
        Ok(Steps::new(self.expanded()?))
    }

    /// Its native items as text.
    pub fn items(&mut self) -> Result<Box<dyn Items>> {
        self.refuse_undivided()?;
        self.opened.items()
    }

    /// Checks it against the rules of its spec; returns the number of items checked.
    pub fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        self.refuse_undivided()?;
        self.opened.check(report)
    }

    /// Writes it in its own format: the same items, byte for byte, in another container.
    pub fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        self.opened.copy_to(writing)
    }

    /// The bytes that offsets in errors and items refer to: the decompressed stream.
    pub fn bytes(&mut self) -> Result<Input> {
        self.opened.bytes()
    }

    /// Its file, as compressed as it is; its [position](trackway_core::Buffer::position) shows how far it has been read.
    pub fn file(&self) -> Option<&SharedBytes> {
        self.whole.as_ref()
    }

    /// Threads for analyses.
    pub fn threads(&self) -> usize {
        self.options.threads
    }

    /// The formats it was recognised among.
    pub fn formats(&self) -> &[&'static dyn Format] {
        &self.options.formats
    }

    /// The same trace, opened once more; a stream cannot be.
    pub fn reopen(&self) -> Result<Trace> {
        self.reopener()?()
    }

    /// Opens the same trace once more, on any thread; a stream cannot be.
    pub fn reopener(&self) -> Result<impl Fn() -> Result<Trace> + Send + Sync + use<>> {
        let place = match (&self.path, &self.bytes) {
            (Some(path), _) if path.is_file() || path.is_dir() => Ok(path.clone()),
            (None, Some(bytes)) => Err(bytes.clone()),
            _ => return Err(Error::ReadOnce),
        };
        let (options, index, programs) = (self.options.clone(), self.index.clone(), self.programs.clone());
        Ok(move || {
            let trace = match &place {
                Ok(path) => options.open(path),
                Err(bytes) => options.open_shared(bytes),
            };
            Ok(Trace { index: index.clone(), programs: programs.clone(), ..trace? })
        })
    }

    /// The one source that was asked for.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The options it was opened with.
    pub(crate) fn opened_with(&self) -> &Options {
        &self.options
    }

    /// Its file or folder; none for a stream and for bytes in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref().filter(|path| path.is_file() || path.is_dir())
    }

    /// True if damage and contradictions with the program are errors.
    pub fn is_strict(&self) -> bool {
        self.options.strict
    }
}

/// The architecture's name of a trap, where it has one: by its Arm exception class, else by the format's own numbers.
pub fn trap_name(format: &dyn Format, trap: &Trap) -> Option<&'static str> {
    let class = |class| trackway_isa::arm::exception_class(class).unwrap_or("reserved class");
    trap.class.map(class).or_else(|| format.trap_name(trap))
}

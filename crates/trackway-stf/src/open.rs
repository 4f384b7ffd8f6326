//! STF in the list of formats; an opened trace and the ways through it.

use std::io::Read;
use std::path::Path;

use trackway_core::{
    Cancel, Finding, FormatId, Input, Items, Meta, Output, Result, Rule, SharedBytes, Sink, Source, Stream,
};
use trackway_format::{
    Cut, Error, Flag, Format, Key, Opened, Opening, Probe, Recognised, Settings, When, Writing,
};
use trackway_io::{Compression, Target};

use crate::check;
use crate::config::{Config, Container, ID, WriteConfig};
use crate::container::{PLAIN_MAGIC, Parts, ZSTF_MAGIC};
use crate::copy::{self, Copied};
use crate::cut;
use crate::fields::Layout;
use crate::header::Header;
use crate::hw_threads::HwThreads;
use crate::lift::{Decoder, Lift};
use crate::lower::Lower;
use crate::read::{Decompressed, Records};
use crate::rules::RULES;
use crate::text::Text;

/// Traces up to this size are searched for hardware threads although they declare none.
const ALWAYS_SEARCHED: u64 = 1 << 20;

/// A short stream is read at once: it is then the same as a file.
fn held_if_small(input: Input) -> Input {
    let Input::Stream(mut stream) = input else { return input };
    let mut head = Vec::new();
    let read = stream.by_ref().take(ALWAYS_SEARCHED + 1).read_to_end(&mut head);
    match read {
        Ok(_) if head.len() as u64 <= ALWAYS_SEARCHED => Input::from_vec(head),
        // A failure comes again, after the bytes that arrived before it.
        _ => Input::Stream(Box::new(std::io::Cursor::new(head).chain(stream))),
    }
}

fn shared(input: &Input) -> Option<SharedBytes> {
    match input {
        Input::Whole(bytes) => Some(SharedBytes::clone(bytes)),
        Input::Stream(_) => None,
    }
}

/// STF as a format of the front door.
#[derive(Clone, Copy, Debug)]
pub struct Stf;

const FLAGS: &[Flag] = &[
    Flag {
        name: "container",
        key: "container",
        value: "NAME",
        values: &["zstf", "plain", "gzip", "xz", "zstd"],
        when: When::Writing,
        help: "Container to write (STF: zstf, plain, gzip, xz, zstd)",
    },
    Flag::LEVEL,
    Flag {
        name: "chunk",
        key: "chunk",
        value: "N",
        values: &[],
        when: When::Writing,
        help: "Instructions per chunk (STF)",
    },
    Flag {
        name: "stf-version",
        key: "version",
        value: "X.Y",
        values: &["1.2", "1.3", "1.4", "1.5", "1.6"],
        when: When::Lowering,
        help: "STF version to write from events",
    },
];

impl Format for Stf {
    fn id(&self) -> FormatId {
        ID
    }

    fn title(&self) -> &'static str {
        "STF, Simple Trace Format"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["zstf", "stf"]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn keys(&self) -> &'static [Key] {
        Config::KEYS
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    fn holds_comments(&self) -> bool {
        true
    }

    fn container_to_enter(&self) -> Option<&'static str> {
        Some("zstf")
    }

    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        let head = &probe.file.head;
        (head.starts_with(ZSTF_MAGIC) || head.starts_with(PLAIN_MAGIC)).into()
    }

    fn open(&self, opening: Opening) -> trackway_format::Result<Box<dyn Opened>> {
        let Opening { file, settings, threads, force, cancel, source, .. } = opening;
        let config = settings.of_format(self)?;
        let again = shared(&file.input);
        let mut trace = Trace::open(file.input, config, force)?;
        if let Some(name) = &source {
            trace.choose(name).map_err(Error::Config)?;
        }
        let (meta, hw_threads) = (trace.meta(), trace.hw_threads.clone());
        let mut facts = vec![("container", trace.container.as_str().to_string())];
        if let Some(per_chunk) = trace.per_chunk() {
            facts.push(("chunks", format!("{} of {per_chunk} instructions", trace.chunks())));
        }
        let trace = Some(trace);
        Ok(Box::new(OpenedStf {
            trace,
            whole: again,
            hw_threads,
            config,
            force,
            threads,
            cancel,
            meta,
            facts,
        }))
    }

    fn create(&self, writing: Writing<'_>, meta: &Meta) -> trackway_format::Result<Box<dyn Sink>> {
        let (output, config) = output(&writing)?;
        Ok(Box::new(Lower::new(output, meta.clone(), config)?))
    }
}

/// The output and how to write it. By default the name of the file decides: zstf unless it says otherwise.
fn output(writing: &Writing<'_>) -> trackway_format::Result<(Output, WriteConfig)> {
    let Writing { target, settings, threads, .. } = writing;
    let config: Config = Settings::of_format(settings, &Stf)?;
    let config = config.writing(default_container(target), *threads);
    let output = target.create()?;
    if config.container == Container::Zstf && matches!(output, Output::Stream(_)) {
        let text = "a zstf file needs an output that can seek, since its index offset is written last; use --container plain";
        return Err(Error::Config(text.into()));
    }
    Ok((output, config))
}

fn default_container(target: &Target) -> Container {
    let is_plain = |path: &Path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("stf"));
    match &target.path {
        None => Container::Plain,
        Some(path) => match Compression::of_name(path) {
            Some(compression) => Container::Compressed(compression),
            None if is_plain(path) => Container::Plain,
            None => Container::Zstf,
        },
    }
}

struct OpenedStf {
    /// The trace, until it is used.
    trace: Option<Trace>,
    /// The bytes to open it again from, unless the input is a stream.
    whole: Option<SharedBytes>,
    hw_threads: HwThreads,
    config: Config,
    force: bool,
    threads: usize,
    cancel: Cancel,
    meta: Meta,
    facts: Vec<(&'static str, String)>,
}

impl OpenedStf {
    fn trace(&mut self) -> trackway_format::Result<Trace> {
        let mut trace = match (self.trace.take(), &self.whole) {
            (Some(trace), _) => trace,
            (None, Some(bytes)) => {
                let input = Input::Whole(SharedBytes::clone(bytes));
                Trace::open_with(input, self.config, self.force, Some(self.hw_threads.clone()))?
            }
            (None, None) => return Err(Error::ReadOnce),
        };
        if self.threads > 1 {
            trace.parts.read_ahead();
        }
        Ok(trace)
    }
}

impl Opened for OpenedStf {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        self.facts.clone()
    }

    fn events(&mut self) -> trackway_format::Result<Box<dyn Source>> {
        let events = self.trace()?.events(self.threads);
        Ok(Box::new(events.with_cancel(self.cancel.clone())))
    }

    fn items(&mut self) -> trackway_format::Result<Box<dyn Items>> {
        Ok(Box::new(self.trace()?.items()))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> trackway_format::Result<u64> {
        Ok(self.trace()?.check(report)?)
    }

    fn copy_to(&mut self, writing: Writing<'_>) -> trackway_format::Result<u64> {
        let (output, config) = output(&writing)?;
        Ok(self.trace()?.copy_to(output, config)?.records)
    }

    fn bytes(&mut self) -> trackway_format::Result<Input> {
        Ok(self.trace()?.bytes())
    }

    fn cuts(&mut self, wanted: &[Vec<u64>]) -> trackway_format::Result<Vec<Vec<Cut>>> {
        let trace = self.trace()?;
        if !trace.header.complete {
            return Err(Error::Unsupported("its header is not complete".into()));
        }
        let start = trace.header.pc;
        let wanted = wanted.first().map_or(&[][..], |wanted| wanted);
        Ok(vec![cut::cuts(trace.records(), start, wanted)?])
    }

    fn comment(&mut self, text: &str) -> trackway_format::Result<Option<(Vec<u8>, u64)>> {
        let end = cut::header_end(self.trace()?.records())?;
        Ok(end.map(|end| (cut::comment(text), end)))
    }
}

/// An STF trace whose header has been read.
///
/// ```
/// use trackway_core::{Batch, Input, Source};
/// use trackway_stf::{Config, Trace};
/// # let bytes = trackway_stf::example();
/// let trace = Trace::open(Input::from_vec(bytes), Config::default(), false)?;
/// assert_eq!(trace.header.version, Some((1, 3)));
/// let mut events = trace.events(1);
/// let mut batch = Batch::default();
/// while events.fill(&mut batch)? {
///     for event in &batch.events {
///         // …
/// #       let _ = event;
///     }
/// }
/// # Ok::<(), trackway_core::Error>(())
/// ```
pub struct Trace {
    /// The header record group.
    pub header: Header,
    /// The file around the records.
    pub container: Container,
    parts: Parts,
    config: Config,
    /// The bytes to open it again from, unless the input is a stream.
    whole: Option<SharedBytes>,
    hw_threads: HwThreads,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace({:?}, {:?}, {:?})", self.header, self.parts, self.hw_threads)
    }
}

impl Trace {
    /// Opens a trace and reads its header; `force` accepts unsupported versions.
    pub fn open(input: Input, config: Config, force: bool) -> Result<Self> {
        Self::open_with(input, config, force, None)
    }

    /// As [`open`](Trace::open), with the hardware threads that are already known.
    fn open_with(input: Input, config: Config, force: bool, known: Option<HwThreads>) -> Result<Self> {
        let input = held_if_small(input);
        let mut whole = shared(&input);
        let mut parts = Parts::open(input)?;
        let header = Header::read(&mut parts, force)?;
        // Each hardware thread is read on its own, so that a stream with several has to be kept.
        if whole.is_none() && header.declares_hw_threads() {
            let input = Input::Whole(Input::Stream(Box::new(Decompressed::new(parts))).read_whole()?);
            whole = shared(&input);
            parts = Parts::open(input)?;
        }
        let mut trace = Trace {
            container: parts.container,
            header,
            parts,
            config,
            whole,
            hw_threads: HwThreads::default(),
        };
        trace.hw_threads = match known {
            Some(known) => known,
            None => trace.find_hw_threads()?,
        };
        Ok(trace)
    }

    /// The hardware threads of the trace, where it may have several.
    fn find_hw_threads(&self) -> Result<HwThreads> {
        let small = self.parts.total().is_some_and(|total| total <= ALWAYS_SEARCHED);
        match &self.whole {
            Some(bytes) if small || self.header.may_have_hw_threads() => {
                let parts = Parts::open(Input::Whole(SharedBytes::clone(bytes)))?;
                Ok(HwThreads::find(Records::new(parts, self.layout()), &self.header, self.config))
            }
            _ => Ok(HwThreads::default()),
        }
    }

    /// Keeps one source, by name; the error has the names.
    pub fn choose(&mut self, name: &str) -> std::result::Result<(), String> {
        self.hw_threads.choose(name)
    }

    /// Facts about the trace, with its sources.
    pub fn meta(&self) -> Meta {
        Meta { sources: self.hw_threads.names(), ..self.header.meta() }
    }

    /// Field widths of the first records.
    fn layout(&self) -> Layout {
        if self.header.lost { self.header.layout } else { Layout::default() }
    }

    /// Instructions per chunk, if the file has chunks.
    pub fn per_chunk(&self) -> Option<u64> {
        self.parts.per_chunk()
    }

    /// Number of chunks; 1 if the file is not divided.
    pub fn chunks(&self) -> usize {
        self.parts.len()
    }

    /// The trace as events; analyses run on `threads` threads.
    pub fn events(self, threads: usize) -> Lift {
        let meta = self.meta();
        let (first, wanted) = (self.hw_threads.first, self.hw_threads.wanted.clone());
        let Some((&own, others)) = wanted.split_first() else {
            return Stream::new(meta, vec![Decoder::new(&self.header, self.parts, self.config)], threads);
        };
        let decoder = |parts| Decoder::new(&self.header, parts, self.config);
        let mut decoders = vec![decoder(self.parts).only(own, first, true)];
        // Opened before, and in memory.
        let again = |bytes: &SharedBytes| Parts::open(Input::Whole(SharedBytes::clone(bytes))).ok();
        for &other in others {
            let parts = self.whole.as_ref().and_then(again);
            decoders.extend(parts.map(|parts| decoder(parts).only(other, first, false)));
        }
        Stream::new(meta, decoders, threads)
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
        let layout = self.layout();
        Records::new(self.parts, layout)
    }

    /// Checks all records against [`RULES`] and reports each violation; returns the number of records. After damage
    /// the remaining chunks are checked too, then the first error is returned.
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

//! Packets to events: the sources of a snapshot, one after the other.

use std::sync::Arc;

use trackway_core::{
    Batch, Error, ErrorKind, EventKind, FormatId, Input, Isa, Meta, Observer, Result, SharedBytes, Source,
    observe_serially,
};
use trackway_image::Image;

use crate::config::Config;
use crate::decode::census::Census;
use crate::decode::output::{Piece, split};
use crate::decode::parallel::Shown;
use crate::decode::source::Engine;
use crate::transport::frames::read::Framing;
use crate::transport::input::Pending;

/// One source: its registers, its bytes, and the program that ran on its core.
#[derive(Clone)]
pub struct Trace {
    /// What its registers say.
    pub config: Config,
    /// How its bytes lie in `data`.
    pub framing: Framing,
    /// The buffer.
    pub data: SharedBytes,
    /// The program.
    pub image: Arc<Image>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = (*self.data).as_ref().len();
        write!(f, "Trace({}, {:?}, {bytes} bytes)", self.config.name, self.framing)
    }
}

/// How to decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads to decode with; the events are the same for any number.
    pub jobs: usize,
    /// Stop where the program contradicts the trace.
    pub strict: bool,
    /// Show cancelled speculation and failed transactions, marked.
    pub show_withdrawn: bool,
    /// Where the oldest byte lies in a buffer that was written round and round.
    pub write_pointer: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { jobs: 1, strict: false, show_withdrawn: false, write_pointer: None }
    }
}

/// Events of several sources, in the order given.
///
/// ```
/// use std::sync::Arc;
/// use trackway_core::{Batch, EventKind, Source};
/// use trackway_ete::{Config, Framing, Lift, Options, Trace};
/// use trackway_image::{Image, Space};
///
/// // 0x1000: nop; b .-4
/// let code: Vec<u8> = [0xd503_201f_u32, 0x17ff_ffff].iter().flat_map(|word| word.to_le_bytes()).collect();
/// let mut image = Image::default();
/// image.add_raw("loop", 0x1000, Arc::new(code), Space::default())?;
///
/// let mut bytes = vec![0; 11]; // alignment synchronisation
/// bytes.extend([0x80, 0x01, 0x00, 0x04]); // trace info, trace on
/// bytes.extend([0x85, 0, 0x08, 0, 0, 0, 0, 0, 0, 0x31]); // address 0x1000, EL1 Non-secure, A64
/// bytes.push(0xff); // EEE
///
/// let config = Config::from_registers("core", Default::default(), Some(true))?;
/// let trace = Trace { config, framing: Framing::Raw, data: Arc::new(bytes), image: Arc::new(image) };
/// let mut lift = Lift::new(vec![trace], Options::default());
/// let mut batch = Batch::default();
/// assert!(lift.fill(&mut batch)?);
/// assert_eq!(batch.instructions(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lift {
    meta: Meta,
    options: Options,
    /// Bytes that a part has at the least, where that is asked for.
    part: Option<usize>,
    sources: Vec<Pending>,
    /// The source that is being decoded.
    current: usize,
    engine: Option<Engine>,
    /// Instructions of the current source so far.
    instructions: u64,
    /// An error was given and the caller has not asked to go on.
    broken: bool,
    /// With `strict`: the error behind the batch that was just given, and what follows it.
    doubt: Option<Error>,
    rest: Option<Batch>,
    /// Bytes of the sources that are done, and of all; 0 where that is not known.
    done: u64,
    total: u64,
    /// Packets of the sources that are done.
    census: Census,
}

impl Lift {
    /// Events of `traces`.
    pub fn new(traces: Vec<Trace>, options: Options) -> Self {
        Self::with(traces.into_iter().map(Pending::from).collect(), options)
    }

    /// Events of one raw stream, as it comes.
    pub fn from_input(config: Config, input: Input, image: Arc<Image>, options: Options) -> Self {
        Self::with(vec![Pending::raw(config, input, image)], options)
    }

    fn with(sources: Vec<Pending>, options: Options) -> Self {
        let total = sources.iter().map(|source| match &source.input {
            Some((_, Input::Whole(bytes))) => (**bytes).as_ref().len() as u64,
            _ => 0,
        });
        Lift {
            total: total.sum(),
            meta: meta(&sources),
            options,
            part: None,
            sources,
            current: 0,
            engine: None,
            instructions: 0,
            broken: false,
            doubt: None,
            rest: None,
            done: 0,
            census: Census::default(),
        }
    }

    /// Cuts parts as small as `bytes` for [`observe`](Source::observe), where synchronisations are so near each
    /// other. Without it they are large enough for their number not to count. The events are the same.
    pub fn with_parts_of(self, bytes: usize) -> Self {
        Lift { part: Some(bytes), ..self }
    }

    /// Opens the next source if none is open; false at the end.
    fn open(&mut self) -> Result<bool> {
        if self.engine.is_none() {
            let Some(source) = self.sources.get_mut(self.current) else { return Ok(false) };
            let Some(supply) = source.supply(&self.options)? else { return Ok(false) };
            self.engine = Some(Engine::new(&source.config, &source.image, supply, &self.options, self.part));
            self.instructions = 0;
        }
        Ok(true)
    }

    /// The source is done.
    fn close(&mut self) {
        if let Some(engine) = self.engine.take() {
            self.done += engine.progress();
            self.census.merge(engine.census());
        }
        self.current += 1;
    }

    /// Nothing comes: an error was given, or is due.
    fn is_broken(&mut self) -> Result<bool> {
        if let Some(error) = self.doubt.take() {
            self.broken = true;
            return Err(error);
        }
        Ok(self.broken)
    }

    /// With `strict`: cuts the batch behind the first doubtful run and keeps the error for the next call.
    fn doubt(&mut self, batch: &mut Batch) {
        let doubtful =
            |kind: &EventKind| matches!(kind, EventKind::Run(run) if run.doubtful && !run.withdrawn);
        if let Some(index) = batch.events.iter().position(|event| doubtful(&event.kind))
            && let EventKind::Run(run) = batch.events[index].kind
        {
            let kind = ErrorKind::Impossible { found: run.start };
            self.doubt = Some(kind.at(batch.events[index].offset, "Atom", "program at", "K10.5.5.4"));
            self.rest = split(batch, index + 1);
        }
    }
}

/// Batches after which a caller hears how far it has come.
const STRETCH: usize = 256;

impl Source for Lift {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        if self.is_broken()? {
            return Ok(false);
        }
        if let Some(rest) = self.rest.take() {
            *batch = rest;
            self.doubt(batch);
            return Ok(true);
        }
        while self.open()? {
            let Some(engine) = &mut self.engine else { break };
            match engine.next()? {
                Some(Piece::Events(mut events)) => {
                    std::mem::swap(batch, &mut events);
                    engine.give(events);
                    batch.source = self.current as u16;
                    // Until here it holds the number of instructions in the batch.
                    self.instructions += std::mem::replace(&mut batch.first_instruction, self.instructions);
                    if self.options.strict {
                        self.doubt(batch);
                    }
                    return Ok(true);
                }
                Some(Piece::Broken(error)) => {
                    self.broken = true;
                    return Err(error);
                }
                None => self.close(),
            }
        }
        Ok(false)
    }

    fn observe(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        if self.options.strict {
            // It stops at the first doubt: nothing is to be gained by running ahead.
            return observe_serially(self, observer);
        }
        if self.is_broken()? {
            return Ok(false);
        }
        for _ in 0..STRETCH {
            if !self.open()? {
                return Ok(false);
            }
            let source = self.current as u16;
            let Some(engine) = &mut self.engine else { return Ok(false) };
            let mut shown = Shown { observer, source, instructions: &mut self.instructions };
            match engine.take() {
                Some(Piece::Events(mut batch)) => {
                    shown.show(&mut batch);
                    engine.give(batch);
                }
                Some(Piece::Broken(error)) => {
                    self.broken = true;
                    return Err(error);
                }
                None if self.options.jobs > 1 && engine.observe_parts(&mut shown)? => return Ok(true),
                None if engine.step()? => {}
                None => self.close(),
            }
        }
        Ok(true)
    }

    fn resync(&mut self) -> Result<bool> {
        self.broken = false;
        let more = self.rest.is_some() || self.current + 1 < self.sources.len();
        match &mut self.engine {
            Some(engine) => Ok(engine.resync()? || more),
            None => Ok(more),
        }
    }

    fn census(&self) -> trackway_core::Census {
        let mut census = self.census.clone();
        if let Some(engine) = &self.engine {
            census.merge(engine.census());
        }
        census.by_name().into_iter().collect()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let here = self.engine.as_ref().map_or(0, Engine::progress);
        Some((self.done + here, self.total)).filter(|_| self.total > 0)
    }
}

fn meta(sources: &[Pending]) -> Meta {
    let mut meta = Meta::new(FormatId::Ete, Isa::A64);
    if let Some(first) = sources.first() {
        meta.version = first.config.version();
    }
    meta.sources = sources.iter().map(|source| source.config.name.clone()).collect();
    meta.timestamps = sources.iter().any(|source| source.config.timestamps);
    for source in sources {
        let config = &source.config;
        let core = if config.core.is_empty() { String::new() } else { format!("core {}, ", config.core) };
        let text = format!(
            "{core}{}, trace id {:#x}, max. speculation {}{}{}",
            config.version(),
            config.trace_id,
            config.max_spec,
            if config.return_stack { ", return stack" } else { "" },
            if config.timestamps { ", timestamps" } else { "" },
        );
        meta.notes.push((format!("source {}", config.name), text));
    }
    meta
}

//! Packets to events, for all sources, one after the other.

use std::sync::Arc;

use trackway_core::{
    Batch, Error, ErrorKind, EventKind, FormatId, Input, Isa, Meta, Observer, Result, Source,
    observe_serially,
};
use trackway_image::Image;

use crate::config::{Config, Options};
use crate::decode::census::Census;
use crate::decode::output::split;
use crate::decode::parallel::Numbered;
use crate::decode::source::SourceDecoder;
use crate::transport::input::{SourceInput, TraceSource};

/// Events of several sources, in the order given.
///
/// ```
/// use std::sync::Arc;
/// use trackway_core::{Batch, EventKind, Source};
/// use trackway_ete::{Config, Framing, Lift, Options, TraceSource};
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
/// let source = TraceSource { config, framing: Framing::Raw, data: Arc::new(bytes), image: Arc::new(image) };
/// let mut lift = Lift::new(vec![source], Options::default());
/// let mut batch = Batch::default();
/// assert!(lift.fill(&mut batch)?);
/// assert_eq!(batch.instructions(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lift {
    meta: Meta,
    options: Options,
    /// Minimum size of a part in bytes, if the caller chose one.
    part: Option<usize>,
    sources: Vec<SourceInput>,
    /// Index of the current source.
    current: usize,
    decoder: Option<SourceDecoder>,
    /// Number of instructions of the current source so far.
    instructions: u64,
    /// An error was returned and `resync` was not called yet.
    failed: bool,
    /// With `strict`: the error after the last batch returned, and the events that follow it.
    doubt: Option<Error>,
    rest: Option<Batch>,
    /// Bytes of the sources that are complete, and of all; 0 if not known.
    done: u64,
    total: u64,
    /// Packets of the sources that are complete.
    census: Census,
}

impl Lift {
    /// Events of `sources`.
    pub fn new(sources: Vec<TraceSource>, options: Options) -> Self {
        Self::with(sources.into_iter().map(SourceInput::from).collect(), options)
    }

    /// Events of one raw stream.
    pub fn from_input(config: Config, input: Input, image: Arc<Image>, options: Options) -> Self {
        Self::with(vec![SourceInput::raw(config, input, image)], options)
    }

    fn with(sources: Vec<SourceInput>, options: Options) -> Self {
        Lift {
            total: sources.iter().map(SourceInput::len).sum(),
            meta: meta(&sources),
            options,
            part: None,
            sources,
            current: 0,
            decoder: None,
            instructions: 0,
            failed: false,
            doubt: None,
            rest: None,
            done: 0,
            census: Census::default(),
        }
    }

    /// Sets the minimum size of a part for [`observe`](Source::observe), where Alignment Syncs are that close. By
    /// default parts are large enough for their overhead not to matter. The events are the same.
    pub fn with_parts_of(self, bytes: usize) -> Self {
        Lift { part: Some(bytes), ..self }
    }

    /// The decoder of the current source; `None` after the last one.
    fn decoder(&mut self) -> Result<Option<&mut SourceDecoder>> {
        if self.decoder.is_none()
            && let Some(source) = self.sources.get_mut(self.current)
        {
            self.decoder = SourceDecoder::open(source, &self.options, self.part)?;
            self.instructions = 0;
        }
        Ok(self.decoder.as_mut())
    }

    /// The current source is complete.
    fn close(&mut self) {
        if let Some(decoder) = self.decoder.take() {
            self.done += decoder.progress();
            self.census.merge(decoder.census());
        }
        self.current += 1;
    }

    /// Nothing follows: an error was returned, or is due.
    fn has_failed(&mut self) -> Result<bool> {
        if let Some(error) = self.doubt.take() {
            self.failed = true;
            return Err(error);
        }
        Ok(self.failed)
    }

    /// With `strict`: cuts the batch after the first doubtful run and keeps the error for the next call.
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

/// Maximum number of batches per call of [`Source::observe`], so that the caller can show progress.
const STRETCH: usize = 256;

impl Source for Lift {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        if self.has_failed()? {
            return Ok(false);
        }
        if let Some(rest) = self.rest.take() {
            *batch = rest;
            self.doubt(batch);
            return Ok(true);
        }
        while let Some(decoder) = self.decoder()? {
            let next = decoder.next();
            self.failed = next.is_err();
            let Some(mut finished) = next? else {
                self.close();
                continue;
            };
            std::mem::swap(batch, &mut finished.batch);
            if let Some(decoder) = &mut self.decoder {
                decoder.recycle(finished.batch);
            }
            (batch.source, batch.first_instruction) = (self.current as u16, self.instructions);
            self.instructions += finished.instructions;
            if self.options.strict {
                self.doubt(batch);
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn observe(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        if self.options.strict {
            // Decoding stops at the first doubt, so nothing is gained by running ahead.
            return observe_serially(self, observer);
        }
        if self.has_failed()? {
            return Ok(false);
        }
        for _ in 0..STRETCH {
            if self.decoder()?.is_none() {
                return Ok(false);
            }
            let Some(decoder) = &mut self.decoder else { return Ok(false) };
            let source = self.current as u16;
            let mut numbered = Numbered { observer, source, instructions: &mut self.instructions };
            let next = decoder.take();
            self.failed = next.is_err();
            match next? {
                Some(mut finished) => {
                    numbered.observe(&mut finished);
                    decoder.recycle(finished.batch);
                }
                None if self.options.jobs > 1 && decoder.observe_parts(&mut numbered)? => return Ok(true),
                None if decoder.step()? => {}
                None => self.close(),
            }
        }
        Ok(true)
    }

    fn resync(&mut self) -> Result<bool> {
        self.failed = false;
        let more = self.rest.is_some() || self.current + 1 < self.sources.len();
        match &mut self.decoder {
            Some(decoder) => Ok(decoder.resync()? || more),
            None => Ok(more),
        }
    }

    fn census(&self) -> trackway_core::Census {
        let mut census = self.census.clone();
        if let Some(decoder) = &self.decoder {
            census.merge(decoder.census());
        }
        census.by_name().into_iter().collect()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let here = self.decoder.as_ref().map_or(0, SourceDecoder::progress);
        Some((self.done + here, self.total)).filter(|_| self.total > 0)
    }
}

fn meta(sources: &[SourceInput]) -> Meta {
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

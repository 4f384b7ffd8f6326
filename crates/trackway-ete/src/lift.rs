//! Packets to events: the decoder of one source, for core's stream driver.

use std::sync::Arc;

use trackway_core::{
    Batch, Census, Decode, Entry, Error, ErrorKind, EventKind, Input, Isa, Meta, Parts, Result, Show, Stream,
};
use trackway_image::Image;

use crate::config::{Config, ID, Options};
use crate::decode::counts::PacketCounts;
use crate::decode::output::split;
use crate::decode::source::SourceDecoder;
use crate::transport::input::{Session, SourceInput, TraceSource};

/// Events of several sources, in the order given.
///
/// ```
/// use std::sync::Arc;
/// use trackway_core::{Batch, EventKind, Source};
/// use trackway_ete::{Config, Framing, Options, TraceSource};
/// use trackway_image::{Image, Space};
///
/// // 0x1000: nop; b .-4
/// let code: Vec<u8> = [0xd503_201f_u32, 0x17ff_ffff].iter().flat_map(|word| word.to_le_bytes()).collect();
/// let mut image = Image::default();
/// image.add_raw("loop", 0x1000, Arc::new(code), Space::default())?;
///
/// let mut bytes = vec![0; 11]; // Alignment Sync
/// bytes.extend([0x80, 0x01, 0x00, 0x04]); // Trace Info, Trace On
/// bytes.extend([0x85, 0, 0x08, 0, 0, 0, 0, 0, 0, 0x31]); // address 0x1000, EL1 Non-secure, A64
/// bytes.push(0xff); // EEE
///
/// let config = Config::from_registers("core", Default::default(), Some(true))?;
/// let source = TraceSource { config, framing: Framing::Raw, data: Arc::new(bytes), image: Arc::new(image) };
/// let mut events = trackway_ete::lift(vec![source], &Options::default());
/// let mut batch = Batch::default();
/// assert!(events.fill(&mut batch)?);
/// assert_eq!(batch.instructions(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lift(sources: Vec<TraceSource>, options: &Options) -> Stream<Lift> {
    stream(sources.into_iter().map(SourceInput::from).collect(), options)
}

/// Events of one raw stream.
pub fn lift_input(config: Config, input: Input, image: Arc<Image>, options: &Options) -> Stream<Lift> {
    stream(vec![SourceInput::raw(config, input, image)], options)
}

pub(crate) fn stream(sources: Vec<SourceInput>, options: &Options) -> Stream<Lift> {
    let known_ids = sources.iter().fold(options.known_ids, |ids, source| ids | 1 << source.config.trace_id);
    let options = &Options { known_ids, ..*options };
    let meta = meta(sources.iter().map(|source| &*source.config));
    let sources = sources.into_iter().map(|source| Lift::new(source, options)).collect();
    Stream::new(meta, sources, options.threads)
}

/// Decodes one source.
pub struct Lift {
    source: SourceInput,
    /// Number of bytes in the buffer, if known.
    size: Option<u64>,
    options: Options,
    /// `None` before the first call.
    decoder: Option<SourceDecoder>,
    /// Number of instructions so far.
    instructions: u64,
    /// With `strict`: the events after a doubtful run.
    rest: Option<Batch>,
}

impl std::fmt::Debug for Lift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lift({}, instruction {})", self.source.config.name, self.instructions)
    }
}

impl Lift {
    /// Decodes one session of a source.
    pub fn session(session: Session, options: &Options) -> Self {
        let known_ids = options.known_ids | 1 << session.source.config.trace_id;
        Self::new(session.into(), &Options { known_ids, ..*options })
    }

    /// Packets read so far.
    pub fn counts(&self) -> Option<&PacketCounts> {
        self.decoder.as_ref().map(SourceDecoder::counts)
    }

    fn new(source: SourceInput, options: &Options) -> Self {
        let (size, options) = (source.size(), *options);
        Lift { source, size, options, decoder: None, instructions: 0, rest: None }
    }

    /// The decoder, opened by the first call.
    fn decoder(&mut self) -> Result<&mut SourceDecoder> {
        match &mut self.decoder {
            Some(decoder) => Ok(decoder),
            none => Ok(none.insert(SourceDecoder::open(&mut self.source, &self.options)?)),
        }
    }

    /// With `strict`: cuts the batch after the first doubtful run, which is an error.
    fn doubt(&mut self, batch: &mut Batch) -> Result<(), Error> {
        let doubtful =
            |kind: &EventKind| matches!(kind, EventKind::Run(run) if run.doubtful && !run.withdrawn);
        let found = batch.events.iter().position(|event| doubtful(&event.kind));
        if let Some(index) = found {
            self.rest = split(batch, index + 1);
        }
        self.instructions += batch.instructions();
        match found.map(|index| batch.events[index]) {
            Some(event) if let EventKind::Run(run) = event.kind => {
                let kind = ErrorKind::Impossible { found: run.start };
                Err(kind.at(event.offset, "Atom", "program at", "K10.5.5.4"))
            }
            _ => Ok(()),
        }
    }
}

impl Decode for Lift {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        if let Some(rest) = self.rest.take() {
            *batch = rest;
            return self.doubt(batch).map(|()| true);
        }
        let strict = self.options.strict;
        let decoder = self.decoder()?;
        let Some(mut finished) = decoder.next()? else { return Ok(false) };
        std::mem::swap(batch, &mut finished.batch);
        decoder.recycle(finished.batch);
        if strict {
            return self.doubt(batch).map(|()| true);
        }
        self.instructions += finished.instructions;
        Ok(true)
    }

    fn instructions(&self) -> u64 {
        self.instructions
    }

    fn enter(&mut self) -> Result<Entry> {
        if self.rest.is_some() || self.decoder()?.resync()? { Ok(Entry::Here) } else { Ok(Entry::End) }
    }

    /// With `strict`, decoding stops at the first doubt, so nothing is gained by running ahead.
    fn observe_parts(&mut self, threads: usize, show: &mut Show<'_>) -> Result<Parts> {
        if self.options.strict {
            return Ok(Parts::None);
        }
        let begun = show.number;
        let shown = self.decoder()?.observe_parts(threads, show)?;
        self.instructions += show.number - begun;
        Ok(if shown { Parts::Shown } else { Parts::None })
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.decoder.as_ref().filter(|_| self.rest.is_none())?.save()
    }

    fn restore(&mut self, state: &[u8], instructions: u64) -> Result<bool> {
        let restored = instructions <= u64::MAX / 2 && self.decoder()?.restore(state)?;
        if restored {
            self.instructions = instructions;
        }
        Ok(restored)
    }

    fn position(&self) -> u64 {
        self.decoder.as_ref().map_or(0, SourceDecoder::progress)
    }

    fn size(&self) -> Option<u64> {
        self.size
    }

    fn census(&self) -> Census {
        self.counts().map_or_else(Census::default, PacketCounts::by_name)
    }
}

/// Facts about sources with these registers.
pub(crate) fn meta<'c>(configs: impl Iterator<Item = &'c Config>) -> Meta {
    let mut meta = Meta { flow_only: true, ..Meta::new(ID, Isa::A64) };
    for config in configs {
        if meta.sources.is_empty() {
            meta.version = config.version();
        }
        meta.sources.push(config.name.clone());
        meta.timestamps |= config.timestamps;
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

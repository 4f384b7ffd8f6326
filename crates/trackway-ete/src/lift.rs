//! Packets to events: the sources of a snapshot, one after the other.

use std::sync::Arc;

use trackway_core::{
    Batch, Error, ErrorKind, EventKind, FormatId, GapReason, Input, Isa, Meta, Result, SharedBytes, Source,
};
use trackway_image::Image;

use crate::config::Config;
use crate::decode::{Decoder, SYNC_LEN, Stop, Stretch, find_sync};
use crate::frames::Framing;
use crate::out::{Piece, Pool};
use crate::parallel;
use crate::supply::Supply;

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
    sources: Vec<Pending>,
    /// The source that is being decoded.
    current: usize,
    engine: Option<Engine>,
    /// Instructions of the current source so far.
    instructions: u64,
    /// An error was given and the caller has not asked to go on.
    broken: bool,
    /// With `strict`: the error behind the batch that was just given.
    doubt: Option<Error>,
    /// Bytes of the sources that are done, and of all; 0 where that is not known.
    done: u64,
    total: u64,
    pool: Pool,
}

/// A source that waits for its turn.
struct Pending {
    config: Arc<Config>,
    image: Arc<Image>,
    input: Option<(Framing, Input)>,
}

impl Lift {
    /// Events of `traces`.
    pub fn new(traces: Vec<Trace>, options: Options) -> Self {
        let sources = traces.into_iter().map(|trace| Pending {
            config: Arc::new(trace.config),
            image: trace.image,
            input: Some((trace.framing, Input::Whole(trace.data))),
        });
        Self::with(sources.collect(), options)
    }

    /// Events of one raw stream, as it comes.
    pub fn from_input(config: Config, input: Input, image: Arc<Image>, options: Options) -> Self {
        let source = Pending { config: Arc::new(config), image, input: Some((Framing::Raw, input)) };
        Self::with(vec![source], options)
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
            sources,
            current: 0,
            engine: None,
            instructions: 0,
            broken: false,
            doubt: None,
            done: 0,
            pool: Pool::default(),
        }
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
            batch.events.truncate(index + 1);
        }
    }
}

impl Source for Lift {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        if let Some(error) = self.doubt.take() {
            self.broken = true;
            return Err(error);
        }
        if self.broken {
            return Ok(false);
        }
        loop {
            if self.engine.is_none() {
                let Some(source) = self.sources.get_mut(self.current) else { return Ok(false) };
                let Some((framing, input)) = source.input.take() else { return Ok(false) };
                let supply = Supply::new(framing, input, source.config.trace_id, self.options.write_pointer)?;
                self.engine =
                    Some(Engine::new(&source.config, &source.image, supply, &self.options, &self.pool));
                self.instructions = 0;
            }
            let Some(engine) = &mut self.engine else { return Ok(false) };
            match engine.next()? {
                Some(Piece::Events(mut events)) => {
                    std::mem::swap(batch, &mut events);
                    self.pool.give(events);
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
                None => {
                    self.done += engine.supply.position();
                    self.engine = None;
                    self.current += 1;
                }
            }
        }
    }

    fn resync(&mut self) -> Result<bool> {
        self.broken = false;
        let more = self.current + 1 < self.sources.len();
        let Some(engine) = &mut self.engine else { return Ok(more) };
        let pending = !engine.decoder.analyser.out.done.is_empty();
        while let Phase::Seek { from, bytes, reason } = engine.phase {
            engine.seek(from, bytes, reason)?;
        }
        Ok(more || pending || engine.phase != Phase::Over)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let here = self.engine.as_ref().map_or(0, |engine| engine.supply.position());
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

/// Decodes one source.
pub(crate) struct Engine {
    supply: Supply,
    pub(crate) decoder: Decoder,
    config: Arc<Config>,
    image: Arc<Image>,
    options: Options,
    pool: Pool,
    /// Place in the window.
    at: usize,
    phase: Phase,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Find the first synchronisation.
    Begin,
    /// Find the next one; so many bytes were skipped from there on.
    Seek { from: u64, bytes: u64, reason: GapReason },
    /// Decode.
    Decode,
    /// All is done.
    Over,
}

impl Engine {
    fn new(config: &Arc<Config>, image: &Arc<Image>, supply: Supply, options: &Options, pool: &Pool) -> Self {
        Engine {
            supply,
            decoder: Decoder::new(config, image, options.show_withdrawn, pool),
            config: Arc::clone(config),
            image: Arc::clone(image),
            options: *options,
            pool: pool.clone(),
            at: 0,
            phase: Phase::Begin,
        }
    }

    fn next(&mut self) -> Result<Option<Piece>> {
        loop {
            if let Some(piece) = self.decoder.analyser.out.take() {
                return Ok(Some(piece));
            }
            match self.phase {
                Phase::Over => return Ok(None),
                Phase::Begin => self.begin()?,
                Phase::Seek { from, bytes, reason } => self.seek(from, bytes, reason)?,
                Phase::Decode if self.options.jobs > 1 => self.decode_parallel()?,
                Phase::Decode => self.decode()?,
            }
        }
    }

    /// Takes what is done out of the window and asks for more; false at the end of the source.
    fn more(&mut self) -> Result<bool> {
        self.supply.consume(self.at);
        self.at = 0;
        self.decoder.moved();
        self.supply.more()
    }

    /// At the start of a source a synchronisation may be cut: any number of zeros counts.
    fn begin(&mut self) -> Result<()> {
        while self.supply.bytes().iter().all(|&byte| byte == 0) && self.supply.more()? {}
        let bytes = self.supply.bytes();
        let zeros = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
        if bytes.is_empty() {
            self.phase = Phase::Over;
        } else if zeros > 0 && bytes.get(zeros) == Some(&0x80) {
            self.at = zeros + 1;
            self.phase = Phase::Decode;
        } else {
            let from = self.supply.offset(0);
            self.phase = Phase::Seek { from, bytes: 0, reason: GapReason::LostSync };
        }
        Ok(())
    }

    /// Looks for the next synchronisation and goes on behind it.
    fn seek(&mut self, from: u64, bytes: u64, reason: GapReason) -> Result<()> {
        if let Some(end) = find_sync(self.supply.bytes(), self.at) {
            let skipped = bytes + end.saturating_sub(SYNC_LEN).saturating_sub(self.at) as u64;
            self.decoder.lose_sync(reason, from, skipped);
            self.at = end;
            self.phase = Phase::Decode;
            return Ok(());
        }
        // The zeros may have begun: keep them.
        let length = self.supply.bytes().len();
        let keep =
            self.supply.bytes().iter().rev().take_while(|&&byte| byte == 0).count().min(length - self.at);
        let (skipped, place) = (bytes + (length - keep - self.at) as u64, self.at);
        self.at = length - keep;
        self.phase = Phase::Seek { from, bytes: skipped, reason };
        if self.more()? {
            return Ok(());
        }
        let never = reason == GapReason::LostSync && place == 0 && bytes == 0 && !self.supply.is_framed();
        let skipped = skipped + keep as u64;
        if never {
            // Not one in the whole of a raw stream: it is hardly ETE.
            let kind = ErrorKind::Missing;
            self.decoder.analyser.out.broken(kind.at(from, "Alignment Sync", "", "K10.5.2.3"));
        } else {
            self.decoder.lose_sync(reason, from, skipped);
        }
        self.over();
        Ok(())
    }

    fn over(&mut self) {
        self.decoder.end();
        self.phase = Phase::Over;
    }

    fn decode(&mut self) -> Result<()> {
        let gap = self.supply.next_break(self.at);
        let end = gap.unwrap_or(self.supply.bytes().len());
        let stretch = Stretch { end, last: gap.is_some() || self.supply.ended() };
        let stop = self.decoder.run(&self.supply.view(), stretch, &mut self.at, None, false);
        if let Some(gap) = gap
            && matches!(stop, Stop::End | Stop::Bad(_))
        {
            // What follows does not continue what was before: a cut packet is no wonder.
            let bytes = (gap - self.at) as u64;
            let from = self.supply.offset(self.at);
            self.at = gap;
            self.phase = Phase::Seek { from, bytes, reason: GapReason::LostSync };
            return Ok(());
        }
        self.after(stop)
    }

    /// What to do when a decoder stops.
    fn after(&mut self, stop: Stop) -> Result<()> {
        match stop {
            Stop::Pause => {}
            Stop::Hungry | Stop::End => {
                if !self.more()? && stop == Stop::End {
                    self.over();
                }
            }
            Stop::Bad(error) => {
                let from = self.supply.offset(self.at);
                let mut reason = GapReason::BadInput;
                if error.is_truncated() && self.supply.is_framed() {
                    // A buffer ends where it ends, mostly inside a packet.
                    reason = GapReason::LostSync;
                } else {
                    self.decoder.analyser.out.broken(error);
                }
                self.phase = Phase::Seek { from, bytes: 0, reason };
            }
        }
        Ok(())
    }

    /// Decodes as many parts at once as there are threads, or goes on alone where there is but one.
    fn decode_parallel(&mut self) -> Result<()> {
        let want = parallel::wanted(self.options.jobs);
        if self.supply.is_framed() && 2 * self.at > self.supply.bytes().len() {
            // What is done goes out of the window, so that it does not grow; not too often, as the rest moves.
            self.supply.consume(self.at);
            self.at = 0;
            self.decoder.moved();
        }
        while !self.supply.ended() && self.supply.bytes().len() - self.at < want && self.supply.more()? {}
        let end = self.supply.next_break(self.at).unwrap_or(self.supply.bytes().len());
        let cuts = parallel::cuts(&self.supply.bytes()[..end], self.at, self.options.jobs);
        if cuts.len() < 2 {
            return self.decode();
        }
        let make = || Decoder::new(&self.config, &self.image, self.options.show_withdrawn, &self.pool);
        let stop = parallel::decode(
            &mut self.decoder,
            &make,
            &self.supply.view(),
            &mut self.at,
            &cuts,
            self.options.jobs,
        );
        self.after(stop)
    }
}

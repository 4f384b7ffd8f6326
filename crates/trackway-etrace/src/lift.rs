//! The source of events: frames and packets in, batches out, on one thread or many.

use std::collections::{BTreeSet, VecDeque};
use std::io::Read;
use std::sync::Arc;

use rayon::prelude::*;
use trackway_core::*;
use trackway_image::Image;

use crate::config::Config;
use crate::data::attach::{self, Attach};
use crate::decode::Decoder;
use crate::frame::Kind;
use crate::packet::Packet;
use crate::read::{Reader, bad_packet};
use crate::split::{PART_BYTES, Part, Scanner};
use crate::walk::{Fault, Progress};

/// Decodes a trace against the program that ran.
///
/// With more than one job the trace is cut at synchronisation packets and its parts are decoded at once. The
/// events are the same for any number of jobs.
#[derive(Debug)]
pub struct Lift {
    meta: Meta,
    config: Arc<Config>,
    image: Arc<Image>,
    isa: Isa,
    ways: Vec<Way>,
    /// Source at hand.
    source: usize,
    instructions: u64,
    pending: Option<Error>,
    failed: bool,
    fault: Option<Fault>,
    census: Census,
    /// Joins data packets to instructions, where there is a data trace.
    attach: Option<Box<Attach>>,
    /// All of the source at hand was read.
    drained: bool,
}

/// How one source is decoded.
#[derive(Debug)]
enum Way {
    Serial(Box<Serial>),
    Parallel(Box<Parallel>),
}

#[derive(Debug)]
struct Serial {
    reader: Reader,
    decoder: Decoder,
    only: Option<u32>,
    joined: bool,
    ended: bool,
    /// The last error was one of framing: where the next frame starts is not known.
    astray: bool,
}

#[derive(Debug)]
struct Parallel {
    scanner: Scanner,
    jobs: usize,
    ready: VecDeque<Made>,
    total: u64,
}

/// What a part gave.
#[derive(Debug)]
pub(crate) enum Made {
    /// Events.
    Events(Box<Batch>),
    /// A packet that could not be followed, and why; what follows begins with a gap.
    Failed(Error, Option<Fault>),
}

/// Packets by format.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Census(pub(crate) [u64; 8]);

const CENSUS: [&str; 8] = ["0/0", "0/1", "1", "2", "3/0", "3/1", "3/2", "3/3"];

impl Census {
    #[inline]
    pub(crate) fn add(&mut self, packet: &Packet) {
        self.0[match packet {
            Packet::BranchCount(_) => 0,
            Packet::JumpTarget(_) => 1,
            Packet::Branches(_) => 2,
            Packet::Address(_) => 3,
            Packet::Start(_) => 4,
            Packet::Trap(_) => 5,
            Packet::Context(_) => 6,
            Packet::Support(_) => 7,
        }] += 1;
    }
}

impl Lift {
    /// A source of events; `jobs` threads at most.
    pub fn new(input: Input, config: &Config, image: Arc<Image>, jobs: usize) -> Result<Lift> {
        Lift::with_parts(input, config, image, jobs, PART_BYTES)
    }

    /// As [`new`](Lift::new), with parts of at least `part_bytes` for the threads.
    pub fn with_parts(
        input: Input,
        config: &Config,
        image: Arc<Image>,
        jobs: usize,
        part_bytes: u64,
    ) -> Result<Lift> {
        config.check()?;
        let isa = isa_of(config, &image);
        let config = Arc::new(config.clone());
        let several = config.framing.source_bits() > 0;
        let mut meta = meta(&config, isa);
        let mut ways = Vec::new();
        if several || jobs > 1 {
            let bytes = whole(input)?;
            let sources: Vec<Option<u32>> =
                if several { sources(&bytes, &config).into_iter().map(Some).collect() } else { vec![None] };
            meta.sources = sources.iter().flatten().map(|id| format!("source {id}")).collect();
            for only in sources {
                ways.push(if jobs > 1 {
                    let scanner = Scanner::new(Arc::clone(&bytes), &config, &image, isa, only, part_bytes);
                    let total = (*bytes).as_ref().len() as u64;
                    Way::Parallel(Box::new(Parallel { scanner, jobs, ready: VecDeque::new(), total }))
                } else {
                    let input = Input::Whole(Arc::clone(&bytes));
                    Way::Serial(Box::new(Serial::new(input, &config, &image, isa, only)))
                });
            }
        } else {
            ways.push(Way::Serial(Box::new(Serial::new(input, &config, &image, isa, None))));
        }
        let attach = config.data.enable.then(|| Box::new(Attach::new(&config, &image, isa)));
        Ok(Lift {
            attach,
            drained: false,
            meta,
            config,
            image,
            isa,
            ways,
            source: 0,
            instructions: 0,
            pending: None,
            failed: false,
            fault: None,
            census: Census::default(),
        })
    }

    /// The next events of the source at hand.
    fn make(&mut self, batch: &mut Batch) -> Result<()> {
        match &mut self.ways[self.source] {
            Way::Serial(serial) => serial.fill(batch, &mut self.census, &mut self.fault),
            Way::Parallel(parallel) => {
                let (config, image) = (&self.config, &self.image);
                parallel.fill(batch, &mut self.census, &mut self.fault, config, image, self.isa)
            }
        }
    }

    /// Numbers the instructions of a batch.
    fn number(&mut self, batch: &mut Batch) -> bool {
        batch.source = self.source as u16;
        batch.first_instruction = self.instructions;
        self.instructions += batch.instructions();
        true
    }

    /// Why the last packet could not be followed.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }
}

/// The instruction set: the program's, else by the width of addresses.
fn isa_of(config: &Config, image: &Image) -> Isa {
    let by_width = if config.params.iaddress_width <= 32 { Isa::Rv32 } else { Isa::Rv64 };
    image.isa().filter(|isa| matches!(isa, Isa::Rv32 | Isa::Rv64)).unwrap_or(by_width)
}

/// All bytes of the input.
fn whole(input: Input) -> Result<SharedBytes> {
    match input {
        Input::Whole(bytes) => Ok(bytes),
        Input::Stream(mut stream) => {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes)?;
            Ok(Arc::new(bytes))
        }
    }
}

/// The source ids in the trace, in order.
fn sources(bytes: &SharedBytes, config: &Config) -> BTreeSet<u32> {
    let mut reader = Reader::new(Input::Whole(Arc::clone(bytes)), config);
    let mut ids = BTreeSet::new();
    loop {
        match reader.next_frame() {
            Ok(Some((_, frame))) => {
                if frame.kind != Kind::Null {
                    ids.insert(frame.source);
                }
                reader.advance(&frame);
            }
            Ok(None) => return ids,
            Err(_) => match reader.resync() {
                Ok(Some(n)) if n > 0 => {}
                _ => return ids,
            },
        }
    }
}

/// What the configuration says about the trace.
pub fn meta(config: &Config, isa: Isa) -> Meta {
    let mut meta = Meta::new(FormatId::Etrace, isa);
    meta.version = match config.dialect {
        crate::Dialect::Draft => "1.1.1-draft".into(),
        crate::Dialect::V2 => "2.0".into(),
    };
    meta.level = Some(config.dialect.name().into());
    meta.features = crate::Mode::ALL
        .into_iter()
        .filter(|mode| config.options.get(*mode))
        .map(|mode| mode.name().to_string())
        .collect();
    meta.timestamps = config.dialect.has_time() && config.params.notime == 0;
    meta.notes.push(("framing".into(), config.framing.name().into()));
    meta.notes.push(("address bits".into(), config.params.iaddress_width.to_string()));
    meta
}

impl Source for Lift {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        if self.failed {
            return Ok(false);
        }
        loop {
            if let Some(done) = self.attach.as_mut().and_then(|attach| attach.pop()) {
                *batch = done;
                return Ok(self.number(batch));
            }
            if let Some(error) = self.pending.take() {
                self.failed = true;
                return Err(error);
            }
            if std::mem::take(&mut self.drained) {
                self.source += 1;
                self.instructions = 0;
                if self.attach.is_some() {
                    self.attach = Some(Box::new(Attach::new(&self.config, &self.image, self.isa)));
                }
            }
            if self.source >= self.ways.len() {
                return Ok(false);
            }
            self.pending = self.make(batch).err();
            self.drained = batch.events.is_empty() && self.pending.is_none();
            match &mut self.attach {
                Some(attach) => {
                    let made = std::mem::take(batch);
                    if !made.events.is_empty() {
                        attach.put(made);
                    }
                    if self.drained || self.pending.is_some() {
                        attach.put(Batch::default());
                    }
                }
                None if !batch.events.is_empty() => return Ok(self.number(batch)),
                None => {}
            }
        }
    }

    fn resync(&mut self) -> Result<bool> {
        self.failed = false;
        match self.ways.get_mut(self.source) {
            None => Ok(false),
            Some(Way::Serial(serial)) => Ok(serial.resync()? || self.source + 1 < self.ways.len()),
            Some(Way::Parallel(parallel)) => Ok(parallel.has_more() || self.source + 1 < self.ways.len()),
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        match self.ways.get(self.source)? {
            Way::Parallel(parallel) => Some((parallel.scanner.offset(), parallel.total)),
            Way::Serial(_) => None,
        }
    }

    fn census(&self) -> Vec<(&'static str, u64)> {
        let data = self.attach.iter().flat_map(|attach| attach.census());
        CENSUS.into_iter().zip(self.census.0).filter(|(_, n)| *n > 0).chain(data).collect()
    }
}

impl Serial {
    fn new(input: Input, config: &Arc<Config>, image: &Arc<Image>, isa: Isa, only: Option<u32>) -> Self {
        Serial {
            reader: Reader::new(input, config),
            decoder: Decoder::new(config, image, isa),
            only,
            joined: config.data.enable,
            ended: false,
            astray: false,
        }
    }

    fn fill(&mut self, batch: &mut Batch, census: &mut Census, fault: &mut Option<Fault>) -> Result<()> {
        loop {
            match self.decoder.run(batch) {
                Ok(Progress::Full) => return Ok(()),
                Ok(Progress::Arrived) => {}
                Err(error) => {
                    *fault = self.decoder.fault;
                    return Err(error);
                }
            }
            if batch.is_full() || self.ended {
                return Ok(());
            }
            let next = match self.reader.next_frame() {
                Ok(next) => next,
                Err(error) => {
                    self.decoder.finish(batch);
                    self.astray = true;
                    return Err(error);
                }
            };
            let Some((offset, frame)) = next else {
                self.ended = true;
                self.decoder.finish(batch);
                return Ok(());
            };
            if self.only.is_some_and(|only| only != frame.source) || frame.kind == Kind::Null {
                self.reader.advance(&frame);
                continue;
            }
            let mut scratch = [0; 64];
            let payload = self.reader.payload(&frame, &mut scratch);
            match frame.kind {
                Kind::Instruction => match Packet::read(payload, self.reader.layout()) {
                    Ok(packet) => {
                        self.reader.advance(&frame);
                        self.reader.note(&packet);
                        census.add(&packet);
                        self.decoder.accept(packet, offset, frame.len, frame.time);
                    }
                    Err(kind) => {
                        self.reader.advance(&frame);
                        self.decoder.lose(batch);
                        return Err(bad_packet(kind, offset));
                    }
                },
                _ => {
                    give_foreign(batch, offset, &frame, payload, self.joined);
                    self.reader.advance(&frame);
                }
            }
        }
    }

    fn resync(&mut self) -> Result<bool> {
        // A synchronisation packet that could not be reached is a place to go on by itself.
        if !self.decoder.is_idle() {
            return Ok(true);
        }
        if self.ended || !std::mem::take(&mut self.astray) {
            return Ok(!self.ended);
        }
        Ok(match self.reader.resync()? {
            None => {
                self.ended = true;
                false
            }
            Some(0) => true,
            Some(skipped) => {
                self.decoder.skip(skipped);
                true
            }
        })
    }
}

/// Data trace and unknown packets, as they are; `joined`: data packets are taken up later.
pub(crate) fn give_foreign(
    batch: &mut Batch,
    offset: u64,
    frame: &crate::frame::Frame,
    payload: &[u8],
    joined: bool,
) {
    let data = batch.add_bytes(payload);
    let code = if joined && frame.kind == Kind::Data { attach::PACKET } else { u32::from(frame.code) };
    batch.push(offset, EventKind::Foreign(Foreign { format: FormatId::Etrace, code, data }));
}

impl Parallel {
    fn has_more(&self) -> bool {
        !self.ready.is_empty() || !self.scanner.is_done()
    }

    fn fill(
        &mut self,
        batch: &mut Batch,
        census: &mut Census,
        fault: &mut Option<Fault>,
        config: &Arc<Config>,
        image: &Arc<Image>,
        isa: Isa,
    ) -> Result<()> {
        while self.ready.is_empty() {
            let parts: Vec<Part> = self.scanner.by_ref().take(self.jobs * 4).collect();
            if parts.is_empty() {
                return Ok(());
            }
            let bytes = self.scanner.bytes();
            let made: Vec<(Vec<Made>, Census)> =
                parts.par_iter().map(|part| part.decode(&bytes, config, image, isa)).collect();
            for (made, counted) in made {
                self.ready.extend(made);
                for (all, count) in census.0.iter_mut().zip(counted.0) {
                    *all += count;
                }
            }
        }
        match self.ready.pop_front() {
            Some(Made::Events(events)) => {
                *batch = *events;
                Ok(())
            }
            Some(Made::Failed(error, why)) => {
                *fault = why;
                Err(error)
            }
            None => Ok(()),
        }
    }
}

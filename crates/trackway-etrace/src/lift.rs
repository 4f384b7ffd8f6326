//! The source of events: frames and packets in, batches out, on one thread or many.

use std::collections::BTreeSet;
use std::sync::Arc;

use trackway_core::*;
use trackway_image::Image;

use crate::config::Config;
use crate::decode::attach::Attach;
use crate::decode::parts::{Parts, Shown};
use crate::decode::serial::{Notes, Serial};
use crate::decode::{Fault, PART_BYTES, Scanner, Setup};
use crate::transport::Kind;
use crate::wire::Reader;

/// Batches that one call shows in order: enough for one batch to be used many times.
const BATCHES: usize = 256;

/// Decodes a trace against the program that ran.
///
/// [`fill`](Source::fill) is in order. [`observe`](Source::observe) with more than one job cuts a trace that is at
/// hand at synchronisation packets and decodes its parts at once (`docs/decisions/0185-etrace-observers.md`).
/// The events are the same for any number of jobs.
#[derive(Debug)]
pub struct Lift {
    meta: Meta,
    setup: Setup,
    ways: Vec<Way>,
    /// Source at hand.
    source: usize,
    instructions: u64,
    pending: Option<Error>,
    failed: bool,
    notes: Notes,
    /// Bytes of the input, where all are at hand.
    total: Option<u64>,
    /// Joins data packets to instructions, where there is a data trace.
    attach: Option<Box<Attach>>,
    /// All of the source at hand was read.
    drained: bool,
}

/// How one source is decoded.
#[derive(Debug)]
enum Way {
    Serial(Box<Serial>),
    /// All bytes are at hand, and there are several threads.
    Parts(Box<Parts>),
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
        let setup = Setup { config: Arc::new(config.clone()), image, isa };
        let several = config.framing.source_bits() > 0;
        let mut meta = meta(config, isa);
        let input = if several { Input::Whole(input.read_whole()?) } else { input };
        let mut sources = vec![None];
        let mut total = None;
        if let Input::Whole(bytes) = &input {
            total = Some((**bytes).as_ref().len() as u64);
            if several {
                sources = self::sources(bytes, config).into_iter().map(Some).collect();
            }
        }
        meta.sources = sources.iter().flatten().map(|id| format!("source {id}")).collect();
        let ways = match input {
            // Data packets are joined to instructions in order.
            Input::Whole(bytes) if jobs > 1 && !config.data.enable => {
                let scanner = |only| Scanner::new(Arc::clone(&bytes), &setup, only, part_bytes);
                let parts = |only| Way::Parts(Box::new(Parts::new(scanner(only), jobs)));
                sources.into_iter().map(parts).collect()
            }
            Input::Whole(bytes) => {
                let input = || Input::Whole(Arc::clone(&bytes));
                let serial = |only| Way::Serial(Box::new(Serial::new(input(), &setup, only)));
                sources.into_iter().map(serial).collect()
            }
            stream => vec![Way::Serial(Box::new(Serial::new(stream, &setup, None)))],
        };
        let attach = config.data.enable.then(|| Box::new(setup.attach()));
        Ok(Lift {
            attach,
            drained: false,
            meta,
            setup,
            ways,
            source: 0,
            instructions: 0,
            pending: None,
            failed: false,
            notes: Notes::default(),
            total,
        })
    }

    /// The next events of the source at hand.
    fn make(&mut self, batch: &mut Batch) -> Result<()> {
        match &mut self.ways[self.source] {
            Way::Serial(serial) => serial.fill(batch, &mut self.notes),
            Way::Parts(parts) => parts.fill(batch, &self.setup, &mut self.notes),
        }
    }

    /// Numbers the instructions of a batch.
    fn number(&mut self, batch: &mut Batch, instructions: u64) -> bool {
        batch.source = self.source as u16;
        batch.first_instruction = self.instructions;
        self.instructions += instructions;
        true
    }

    /// Why the last packet could not be followed.
    pub fn fault(&self) -> Option<Fault> {
        self.notes.fault
    }

    /// Shows the next batches, in order.
    fn observe_serially(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        let mut batch = Batch::default();
        for _ in 0..BATCHES {
            if !self.fill(&mut batch)? {
                return Ok(false);
            }
            observer.observe(&batch);
        }
        Ok(true)
    }
}

/// The instruction set: the program's, else by the width of addresses.
fn isa_of(config: &Config, image: &Image) -> Isa {
    let by_width = if config.params.iaddress_width <= 32 { Isa::Rv32 } else { Isa::Rv64 };
    image.isa().filter(|isa| matches!(isa, Isa::Rv32 | Isa::Rv64)).unwrap_or(by_width)
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
    meta.level = Some(config.dialect.as_str().into());
    meta.features = crate::Mode::ALL
        .into_iter()
        .filter(|mode| config.options.get(*mode))
        .map(|mode| mode.as_str().to_string())
        .collect();
    if config.data.enable {
        meta.features.push("data_trace".into());
    }
    meta.timestamps = config.dialect.has_time() && config.params.notime == 0;
    meta.notes.push(("framing".into(), config.framing.as_str().into()));
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
                let instructions = batch.instructions();
                return Ok(self.number(batch, instructions));
            }
            if let Some(error) = self.pending.take() {
                self.failed = true;
                return Err(error);
            }
            if std::mem::take(&mut self.drained) {
                self.source += 1;
                self.instructions = 0;
                if let Some(attach) = &mut self.attach {
                    attach.restart(self.setup.attach());
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
                None if !batch.events.is_empty() => return Ok(self.number(batch, self.notes.instructions)),
                None => {}
            }
        }
    }

    fn observe(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        while !self.failed && self.pending.is_none() {
            let Some(Way::Parts(parts)) = self.ways.get_mut(self.source) else { break };
            let (source, instructions) = (self.source as u16, &mut self.instructions);
            let mut shown = Shown { observer, source, instructions };
            match parts.observe(&mut shown, &self.setup, &mut self.notes) {
                Ok(true) => return Ok(true),
                Ok(false) => (self.source, self.instructions) = (self.source + 1, 0),
                Err(error) => {
                    self.failed = true;
                    return Err(error);
                }
            }
        }
        self.observe_serially(observer)
    }

    fn resync(&mut self) -> Result<bool> {
        self.failed = false;
        let more = match self.ways.get_mut(self.source) {
            None => return Ok(false),
            Some(Way::Serial(serial)) => serial.resync()?,
            Some(Way::Parts(parts)) => parts.resync()?,
        };
        Ok(more || self.source + 1 < self.ways.len())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let offset = match self.ways.get(self.source)? {
            Way::Serial(serial) => serial.offset(),
            Way::Parts(parts) => parts.offset(),
        };
        Some((offset, self.total?))
    }

    fn census(&self) -> trackway_core::Census {
        let data = self.attach.iter().flat_map(|attach| attach.census());
        self.notes.census.by_name().chain(data).collect()
    }
}

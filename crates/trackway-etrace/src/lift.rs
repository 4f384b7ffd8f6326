//! Packets to events: one decoder per source for core's stream driver.
//!
//! In order, packets are decoded as they are read. For analyses on several threads, a trace that is in memory is cut
//! at synchronisation packets and its parts are decoded at once (`docs/design/parallel.md`). The events are the same.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde::{Deserialize, Serialize};
use trackway_core::*;
use trackway_format::Cut;
use trackway_image::Image;

use crate::config::Config;
use crate::decode::attach::{Attach, SavedAttach};
use crate::decode::places::Place;
use crate::decode::serial::{Notes, Serial};
use crate::decode::{Known, PART_BYTES, Part, Scanner, Setup};
use crate::doubt::wrong_dialect;
use crate::mirrored::History;
use crate::transport::{Framing, Kind};
use crate::wire::Reader;

/// Parts per thread that one call shows.
const PARTS: usize = 64;

/// The events of a trace.
pub type Lift = Stream<SourceDecoder>;

/// How a trace is lifted.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads for analyses.
    pub threads: usize,
    /// Bytes of a part at least.
    pub part_bytes: u64,
    /// The one source to decode, by its id.
    pub source: Option<u32>,
}

impl Plan {
    /// All sources, with parts of the usual size.
    pub const fn new(threads: usize) -> Self {
        Plan { threads, part_bytes: PART_BYTES, source: None }
    }
}

/// Decodes a trace against the program that ran; analyses run on `threads` threads.
pub fn lift(input: Input, config: &Config, image: Arc<Image>, threads: usize) -> Result<Lift> {
    lift_by(input, config, image, &Plan::new(threads))
}

/// The first places at or after the offsets `wanted` where a trace of its own can begin, in order; why there are none.
pub(crate) fn cuts(
    bytes: &SharedBytes,
    config: &Config,
    image: &Arc<Image>,
    wanted: &[u64],
) -> std::result::Result<Vec<Cut>, &'static str> {
    let isa = config.isa_of(image);
    let (config, image) = (Arc::new(config.clone()), Arc::clone(image));
    let setup = Setup { config, image, isa, followed: Arc::default() };
    if !setup.has_separate_parts() {
        return Err("its data packets may come long after their instruction");
    }
    if matches!(setup.config.framing, Framing::Bare { .. }) {
        return Err("the lengths of its packets are in another file");
    }
    if source_ids(bytes, &setup.config).len() > 1 {
        return Err("several sources share it, and synchronise at different places");
    }
    let all = (**bytes).as_ref();
    let mut scanner = Scanner::new(Arc::clone(bytes), &setup, None, 0);
    let mut cuts: Vec<Cut> = Vec::new();
    while let Some(part) = scanner.next() {
        let (offset, support) = (scanner.start().offset, scanner.support());
        while part.cut && wanted.get(cuts.len()).is_some_and(|at| *at <= offset) {
            let prologue = support.map_or(&[][..], |(from, to)| &all[from as usize..to as usize]);
            cuts.push(Cut { offset, prologue: prologue.to_vec(), comment_at: 0 });
        }
    }
    let missing = wanted.len() - cuts.len();
    cuts.extend(vec![Cut { offset: all.len() as u64, ..Cut::default() }; missing]);
    Ok(cuts)
}

/// As [`lift`], by a plan.
pub fn lift_by(input: Input, config: &Config, image: Arc<Image>, plan: &Plan) -> Result<Lift> {
    lift_sources(input, config, image, plan, None)
}

/// As [`lift_by`], where the ids of all sources may be known.
pub(crate) fn lift_sources(
    input: Input,
    config: &Config,
    image: Arc<Image>,
    plan: &Plan,
    known: Option<&[u32]>,
) -> Result<Lift> {
    config.check()?;
    let isa = config.isa_of(&image);
    let setup = Setup { config: Arc::new(config.clone()), image, isa, followed: Arc::default() };
    let mut meta = meta(config, isa);
    let several = config.framing.source_bits() > 0;
    let input = if several { Input::Whole(input.read_whole()?) } else { input };
    let sources = match input {
        Input::Whole(bytes) => {
            let doubt = wrong_dialect(&bytes, config, &setup.image);
            let ids: Vec<Option<u32>> = match (plan.source, known) {
                _ if !several => vec![None],
                (Some(id), _) => vec![Some(id)],
                (None, Some(known)) => known.iter().copied().map(Some).collect(),
                (None, None) => source_ids(&bytes, config).into_iter().map(Some).collect(),
            };
            meta.sources = ids.iter().flatten().map(|id| source_name(*id)).collect();
            let mut sources: Vec<_> =
                ids.into_iter().map(|id| SourceDecoder::whole(&bytes, &setup, id, plan)).collect();
            if let Some(first) = sources.first_mut() {
                first.doubt = doubt;
            }
            sources
        }
        stream => {
            let serial = Serial::new(stream, &setup, None);
            vec![SourceDecoder { serial: Some(Box::new(serial)), ..SourceDecoder::new(setup, None, None) }]
        }
    };
    Ok(Stream::new(meta, sources, plan.threads))
}

/// The name of a source.
pub(crate) fn source_name(id: u32) -> String {
    format!("source {id}")
}

/// The source ids in a trace, in order.
pub(crate) fn source_ids(bytes: &SharedBytes, config: &Config) -> BTreeSet<u32> {
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

/// The facts about a trace that its settings hold.
pub(crate) fn meta(config: &Config, isa: Isa) -> Meta {
    let mut meta = Meta { flow_only: true, ..Meta::new(crate::ID, isa) };
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
    meta.timestamps = config.has_time();
    meta.notes.push(("framing".into(), config.framing.as_str().into()));
    meta.notes.push(("address bits".into(), config.params.iaddress_width.to_string()));
    meta
}

/// Decodes the packets of one source.
pub struct SourceDecoder {
    setup: Setup,
    /// The input, where it is in memory.
    bytes: Option<SharedBytes>,
    /// The id of the source, where there may be several.
    only: Option<u32>,
    /// Decodes in order: the whole source, or the current part.
    serial: Option<Box<Serial>>,
    /// Cuts the source, where analyses run on several threads.
    scanner: Option<Box<Scanner>>,
    /// Parts to be decoded before the scanner's next one.
    waiting: VecDeque<Part>,
    /// Attaches data packets to instructions, where there is a data trace.
    attach: Option<Box<Attach>>,
    /// Error to be returned after the batches that `attach` holds.
    error: Option<Error>,
    /// All packets have been decoded; `attach` may hold batches.
    drained: bool,
    /// Settings that the stream contradicts, to be returned first.
    doubt: Option<Error>,
    /// The end was reached, and the reason why nothing was found returned.
    ended: bool,
    notes: Notes,
    instructions: u64,
    /// Parts on the same thread use the same batch, and the ways that parts before them have walked.
    pool: Pool<(Batch, Known)>,
}

impl std::fmt::Debug for SourceDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SourceDecoder(source {:?}, instruction {})", self.only, self.instructions)
    }
}

/// The state between two batches.
#[derive(Serialize, Deserialize)]
struct State {
    place: Place,
    attach: Option<SavedAttach>,
}

/// Results of a part besides those of its observer.
struct PartResult {
    part: Part,
    notes: Notes,
    /// An error, and the decoder that can continue after it.
    failed: Option<(Error, Box<Serial>)>,
    /// The stage that attached its data packets.
    attach: Option<Attach>,
}

impl SourceDecoder {
    fn new(setup: Setup, bytes: Option<SharedBytes>, only: Option<u32>) -> Self {
        let attach = setup.config.data.enable.then(|| Box::new(setup.attach()));
        SourceDecoder {
            setup,
            bytes,
            only,
            serial: None,
            scanner: None,
            waiting: VecDeque::new(),
            attach,
            error: None,
            drained: false,
            doubt: None,
            ended: false,
            notes: Notes::default(),
            instructions: 0,
            pool: Pool::default(),
        }
    }

    /// Decodes source `id`, or the only one, of a trace in memory.
    fn whole(bytes: &SharedBytes, setup: &Setup, id: Option<u32>, plan: &Plan) -> Self {
        let mut source = SourceDecoder::new(setup.clone(), Some(Arc::clone(bytes)), id);
        if plan.threads > 1 && setup.has_separate_parts() {
            source.scanner = Some(Box::new(Scanner::new(Arc::clone(bytes), setup, id, plan.part_bytes)));
        } else {
            source.serial = Some(Box::new(Serial::new(Input::Whole(Arc::clone(bytes)), setup, id)));
        }
        source
    }

    /// Decodes packets into an empty batch until it is full; false at the end.
    fn decode(&mut self, batch: &mut Batch) -> Result<bool> {
        loop {
            if let Some(serial) = &mut self.serial {
                let filled = serial.fill(batch, &mut self.notes);
                self.instructions += self.notes.instructions;
                filled?;
                if !batch.events.is_empty() {
                    return Ok(true);
                }
            }
            let before = self.serial.take();
            let Some(scanner) = &mut self.scanner else { return self.end() };
            let Some(part) = self.waiting.pop_front().or_else(|| scanner.next()) else { return self.end() };
            let mut serial = Box::new(Serial::part(scanner.bytes(), &self.setup, &part));
            if let Some(mut before) = before {
                let mut known = Known::default();
                before.exchange(&mut known);
                serial.exchange(&mut known);
            }
            self.serial = Some(serial);
        }
    }

    /// The source ends: an error if it has packets to follow and none could be, else false.
    fn end(&mut self) -> Result<bool> {
        if self.notes.found > 0 {
            self.setup.followed.store(true, Relaxed);
        }
        // Without a program only the data trace is shown.
        let is_expected = self.ended || self.setup.image.is_empty();
        let failure = self.notes.failure().filter(|_| !is_expected);
        self.ended = true;
        failure.map_or(Ok(false), Err)
    }
}

/// Shows a part up to its end or to an error.
fn show_all(
    serial: &mut Serial,
    mut attach: Option<&mut Attach>,
    batch: &mut Batch,
    notes: &mut Notes,
    show: &mut Show<'_>,
) -> Result<()> {
    loop {
        batch.clear();
        let filled = serial.fill(batch, notes);
        let is_last = filled.is_err() || batch.events.is_empty();
        match &mut attach {
            None => show.batch(batch, notes.instructions),
            Some(attach) => {
                if !batch.events.is_empty() {
                    attach.put(std::mem::take(batch));
                }
                if filled.is_ok() && is_last && serial.ends_at_cut() {
                    attach.end_part();
                } else if is_last {
                    attach.finish();
                }
                show_attached(attach, show);
            }
        }
        if is_last {
            return filled;
        }
    }
}

/// Shows the batches whose data packets are attached.
fn show_attached(attach: &mut Attach, show: &mut Show<'_>) {
    while let Some(mut batch) = attach.pop() {
        let instructions = batch.instructions();
        show.batch(&mut batch, instructions);
    }
}

/// The state at a place; `None` where accesses wait for later packets.
fn saved(place: Place, attach: Option<&Attach>) -> Option<Vec<u8>> {
    let attach = match attach {
        Some(attach) => Some(attach.save()?),
        None => None,
    };
    pack(&State { place, attach })
}

impl Decode for SourceDecoder {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        if let Some(doubt) = self.doubt.take() {
            return Err(doubt);
        }
        if self.attach.is_none() {
            return self.decode(batch);
        }
        loop {
            if let Some(done) = self.attach.as_mut().and_then(|attach| attach.pop()) {
                *batch = done;
                self.instructions += batch.instructions();
                return Ok(true);
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if self.drained {
                return Ok(false);
            }
            let mut decoded = Batch::default();
            // Instructions count when their batch leaves.
            let before = self.instructions;
            let more = self.decode(&mut decoded);
            self.instructions = before;
            self.drained = more == Ok(false);
            let is_last = more != Ok(true);
            self.error = more.err();
            if let Some(attach) = &mut self.attach {
                if !decoded.events.is_empty() {
                    attach.put(decoded);
                }
                if is_last {
                    attach.finish();
                }
            }
        }
    }

    fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The decoder reports the gap itself, at the next synchronisation.
    fn enter(&mut self) -> Result<Entry> {
        if self.ended {
            let is_whole_failure = !self.setup.followed.load(Relaxed);
            return Ok(if is_whole_failure { Entry::End } else { Entry::Here });
        }
        let continues = self.serial.as_mut().map_or(Ok(false), |serial| serial.resync())?;
        let has_parts = self.scanner.as_ref().is_some_and(|scanner| !scanner.is_done());
        let more = continues || has_parts || !self.waiting.is_empty();
        Ok(if more { Entry::Here } else { Entry::End })
    }

    fn observe_parts(&mut self, threads: usize, show: &mut Show<'_>) -> Result<Parts> {
        let Some(scanner) = &mut self.scanner else { return Ok(Parts::None) };
        if let Some(doubt) = self.doubt.take() {
            return Err(doubt);
        }
        let (setup, pool, notes) = (&self.setup, &self.pool, &mut self.notes);
        let before = show.number;
        if let Some(attach) = &mut self.attach {
            show_attached(attach, show);
            self.instructions += show.number - before;
            if let Some(error) = self.error.take() {
                return Err(error);
            }
        }
        if let Some(serial) = &mut self.serial {
            let ((mut batch, known), before) = (pool.take_or(Default::default), show.number);
            let shown = show_all(serial, self.attach.as_deref_mut(), &mut batch, notes, show);
            pool.put((batch, known));
            self.instructions += show.number - before;
            shown?;
            self.serial = None;
        }
        let bytes = Arc::clone(scanner.bytes());
        let stop = AtomicBool::new(false);
        let mut waiting = std::mem::take(&mut self.waiting);
        let parts = std::iter::from_fn(|| {
            if stop.load(Relaxed) { None } else { waiting.pop_front().or_else(|| scanner.next()) }
        });
        let show_part = |part: Part, history: Option<History>, show: &mut Show<'_>| {
            let mut notes = Notes::default();
            let mut serial = Box::new(Serial::part(&bytes, setup, &part));
            let mut attach = setup.config.data.enable.then(|| setup.attach());
            if let Some(attach) = &mut attach {
                attach.resume(&part.start.carried);
                history.into_iter().for_each(|history| attach.refer_to(history));
            }
            let (mut batch, mut known) = pool.take_or(Default::default);
            serial.exchange(&mut known);
            let shown = show_all(&mut serial, attach.as_mut(), &mut batch, &mut notes, show);
            serial.exchange(&mut known);
            pool.put((batch, known));
            PartResult { part, notes, failed: shown.err().map(|error| (error, serial)), attach }
        };
        let alone = |part: Part, show: &mut Show<'_>| show_part(part, None, show);
        let (mut count, mut failed, mut later) = (0, None, VecDeque::new());
        let join = |show: &mut Show<'_>, mut result: PartResult, seen: Seen| {
            count += 1;
            if failed.is_some() {
                // After an error the caller decides whether this part is shown at all.
                later.push_back(result.part);
                return Ok::<(), Error>(());
            }
            let missing = self.attach.as_ref().zip(result.attach.as_ref());
            match missing.and_then(|(attach, part)| attach.missing(part)) {
                Some(history) => {
                    let before = show.number;
                    result = show.again(|show| show_part(result.part, Some(history), show));
                    self.instructions += show.number - before;
                }
                None => {
                    self.instructions += seen.instructions;
                    show.join(seen);
                }
            }
            if let (Some(attach), Some(part)) = (&mut self.attach, result.attach) {
                attach.join(part);
            }
            notes.merge(&result.notes);
            let is_followed = notes.found > 0 || setup.image.is_empty();
            match (result.failed, result.part.next) {
                (None, Some(next)) if is_followed => {
                    show.place(|| Some((next.offset, saved(Place::Start(next), self.attach.as_deref())?)));
                }
                (None, _) => {}
                (some, _) => {
                    failed = some;
                    stop.store(true, Relaxed);
                }
            }
            Ok(())
        };
        in_parts(threads, show, parts.take(PARTS * threads), alone, join)?;
        later.extend(waiting);
        self.waiting = later;
        match failed {
            Some((error, serial)) => {
                self.serial = Some(serial);
                Err(error)
            }
            None if count > 0 => Ok(Parts::Shown),
            None => self.end().map(|_| Parts::End),
        }
    }

    fn save(&self) -> Option<Vec<u8>> {
        let is_open = self.error.is_none() && self.doubt.is_none() && !self.drained && !self.ended;
        // Whether anything can be followed is known only after the first instruction.
        let is_followed = self.notes.found > 0 || self.setup.image.is_empty();
        if self.bytes.is_none() || !is_open || !is_followed {
            return None;
        }
        let place = match (&self.serial, &self.scanner) {
            (Some(serial), _) if !serial.is_done() => Place::Inside(Box::new(serial.save()?)),
            (_, Some(scanner)) => match self.waiting.front() {
                Some(part) => Place::Start(part.start),
                None if scanner.is_done() => return None,
                None => Place::Start(scanner.start()),
            },
            _ => return None,
        };
        saved(place, self.attach.as_deref())
    }

    fn restore(&mut self, state: &[u8], instructions: u64) -> Result<bool> {
        let state = unpack::<State>(state).filter(|state| state.attach.is_some() == self.attach.is_some());
        let Some(State { place, attach }) = state.filter(|_| instructions <= u64::MAX / 2) else {
            return Ok(false);
        };
        let Some(bytes) = &self.bytes else { return Ok(false) };
        let mut serial = Box::new(Serial::new(Input::Whole(Arc::clone(bytes)), &self.setup, self.only));
        let mut attached = self.attach.as_ref().map(|_| Box::new(self.setup.attach()));
        if !serial.restore(&place)
            || !attached.as_mut().zip(attach).is_none_or(|(to, from)| to.restore(&from))
        {
            return Ok(false);
        }
        if let Some(scanner) = &mut self.scanner {
            scanner.enter(&place);
            match place {
                Place::Inside(_) => scanner.next().into_iter().for_each(|part| serial.end_with(&part)),
                Place::Start(_) => {}
            }
        }
        let is_between = self.scanner.is_some() && matches!(place, Place::Start(_));
        self.serial = Some(serial).filter(|_| !is_between);
        (self.attach, self.doubt) = (attached, None);
        (self.instructions, self.notes.found) = (instructions, instructions);
        Ok(true)
    }

    fn position(&self) -> u64 {
        match (&self.scanner, &self.serial) {
            (_, Some(serial)) if !serial.is_done() => serial.offset(),
            (Some(scanner), _) => scanner.offset(),
            (None, Some(serial)) => serial.offset(),
            (None, None) => self.size().unwrap_or(0),
        }
    }

    fn size(&self) -> Option<u64> {
        self.bytes.as_ref().map(|bytes| (**bytes).as_ref().len() as u64)
    }

    fn census(&self) -> Census {
        let mut census = self.notes.census();
        if let Some(attach) = &self.attach {
            census.merge(&attach.census());
        }
        census
    }
}

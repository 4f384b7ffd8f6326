//! The traces of a server, and the answers about them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value as Json, json};
use trackway::Options;
use trackway_core::Meta;
use trackway_image::{Image, Listing, program};
use trackway_isa::Style;

use crate::compare::Comparisons;
use crate::desk::{Answer, File, Shared, Worker};
use crate::http::{Request, Response};
use crate::overview::{Building, Overview};
use crate::sources::Sources;
use crate::summary::{Shown, Summary, summary};
use crate::wire::{self, Record};
use crate::{questions, rows, window};

/// Summaries of ranges that are kept.
const KEPT: usize = 4;

/// Windows of the timeline that are kept: the page asks for the same ones again.
const WINDOWS: usize = 16;

/// Columns of a level of detail at most.
const COLUMNS: u64 = 1 << 13;

/// Windows by their ends, the last one that was asked for first.
type Windows = Vec<((u64, u64), Reply)>;

/// One source of a trace.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) file: File,
    /// The place of the source in the trace.
    source: u16,
    name: Option<String>,
    meta: Meta,
    format: &'static str,
    programs: Vec<Arc<Image>>,
    /// Short questions, and long ones.
    pub(crate) quick: Worker,
    slow: Worker,
    building: Arc<Building>,
    index: Shared,
    kept: Arc<Mutex<Vec<Arc<Summary>>>>,
    windows: Arc<Mutex<Windows>>,
    /// The range that is wanted now.
    wanted: Arc<Mutex<(u64, u64)>>,
}

/// All traces.
#[derive(Debug)]
pub struct Site {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) sources: Sources,
    comparisons: Arc<Comparisons>,
}

/// Sources at most: each has threads of its own.
const LANES: usize = 64;

impl Site {
    /// Opens traces; files of source code are looked for under `roots`.
    ///
    /// # Errors
    /// A trace cannot be opened.
    pub fn open(files: &[File], roots: &[PathBuf]) -> Result<Site, trackway::Error> {
        let mut lanes = Vec::new();
        for file in files {
            lanes.extend(open(file)?);
        }
        lanes.truncate(LANES);
        let sources = Sources::find(lanes.iter().flat_map(|lane: &Lane| &lane.programs), roots);
        Ok(Site { lanes, sources, comparisons: Arc::default() })
    }

    /// Answers a question of the page.
    pub(crate) fn answer(&self, request: &Request) -> Response {
        let answer = match request.path.as_str() {
            "/api/traces" => Ok(self.traces().into()),
            "/api/source" => self.source(request).map(Reply::Json),
            "/api/diff" => self.diff(request).map(Reply::Json),
            _ => self.lane(request).and_then(|lane| self.about(lane, request)),
        };
        match answer {
            Ok(Reply::Json(json)) => Response::json(&json),
            Ok(Reply::Tables(bytes)) => Response::new(wire::CONTENT, bytes),
            Err(text) => Response::refused(400, &text),
        }
    }

    fn lane(&self, request: &Request) -> Answer<&Lane> {
        self.lane_at(request, "l")
    }

    fn lane_at(&self, request: &Request, name: &str) -> Answer<&Lane> {
        let lane = self.lanes.get(number(request, name)? as usize);
        lane.ok_or_else(|| "there is no such trace".into())
    }

    fn about(&self, lane: &Lane, request: &Request) -> Answer<Reply> {
        match request.path.as_str() {
            "/api/status" => lane.status().map(Reply::Json),
            "/api/rows" => {
                let (from, count) = (number(request, "from")?, number(request, "count")?.min(rows::MOST));
                lane.quick.ask(move |desk| Ok(Reply::of(&rows::rows(desk, from, count)?)))
            }
            "/api/timeline" => lane.timeline(request),
            "/api/state" => {
                let at = number(request, "at")?;
                lane.quick.ask(move |desk| questions::state(desk, at)).map(Reply::Json)
            }
            "/api/goto" => {
                let (to, after) = (text(request, "to")?, number(request, "after").ok());
                lane.slow.ask(move |desk| questions::locate(desk, &to, after)).map(Reply::Json)
            }
            "/api/why" => {
                let (at, what) = (number(request, "at")?, text(request, "what")?);
                let depth = number(request, "depth").unwrap_or(4).clamp(1, 64) as u32;
                lane.slow.ask(move |desk| questions::why(desk, at, &what, depth)).map(Reply::Json)
            }
            "/api/find" => {
                let (what, from) = (text(request, "q")?, number(request, "from")?);
                let limit = number(request, "limit").unwrap_or(200).clamp(1, 1000) as usize;
                lane.slow.ask(move |desk| questions::find(desk, &what, from, limit)).map(Reply::Json)
            }
            "/api/tree" => lane.shown(range(request)?, |shown, _| Ok(Reply::of(&shown.tree()))),
            "/api/branches" => lane.shown(range(request)?, |shown, _| Ok(shown.branches().into())),
            "/api/memory" => {
                lane.shown(range(request)?, |shown, touched| Ok(Reply::of(&shown.memory(touched))))
            }
            "/api/code" => {
                let at = number(request, "at")?;
                lane.shown(range(request)?, |shown, _| Ok(self.code(shown, at)?.into()))
            }
            _ => Err("there is no such question".into()),
        }
    }

    /// The code of the function at an address, with the numbers of its source files.
    pub(crate) fn code(&self, shown: &Shown<'_>, at: u64) -> Answer<Json> {
        let mut listing = Listing::new(Arc::clone(&shown.image), Style::default());
        shown.code(at, &mut listing, &|name| self.sources.number(name))
    }

    /// The open traces.
    pub(crate) fn traces(&self) -> Json {
        let one = |lane: &Lane| {
            let path = lane.file.path.display().to_string();
            let name = lane.file.path.file_name().map_or(path.clone(), |name| name.display().to_string());
            json!({
                "file": name,
                "path": path,
                "source": lane.name,
                "format": lane.format,
                "version": lane.meta.version,
                "isa": lane.meta.isa.as_str(),
                "flow": lane.meta.flow_only,
                "program": lane.programs.iter().any(|image| !image.is_empty()),
            })
        };
        let lanes: Vec<Json> = self.lanes.iter().map(one).collect();
        json!({ "lanes": lanes, "sources": self.sources.len() })
    }

    fn source(&self, request: &Request) -> Answer<Json> {
        let found = self.sources.read(number(request, "id")? as usize);
        let (name, text) = found.ok_or("there is no such source: --source-root allows a folder")?;
        Ok(json!({ "name": name, "text": text }))
    }

    fn diff(&self, request: &Request) -> Answer<Json> {
        let (a, b) = (self.lane_at(request, "a")?, self.lane_at(request, "b")?);
        let (n, m) = (number(request, "a")? as usize, number(request, "b")? as usize);
        match self.comparisons.get((n, &a.file), (m, &b.file)) {
            None => Ok(json!({ "busy": true })),
            Some(found) => found.map(|found| (*found).clone()),
        }
    }
}

/// An answer: small ones are JSON, large ones tables.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Json(Json),
    Tables(Vec<u8>),
}

impl Reply {
    pub(crate) fn of(answer: &impl Record) -> Self {
        Reply::Tables(wire::encode(answer))
    }

    /// It is being worked out.
    fn busy() -> Self {
        json!({ "busy": true }).into()
    }
}

impl From<Json> for Reply {
    fn from(json: Json) -> Self {
        Reply::Json(json)
    }
}

/// The range that is asked about; none is the whole run.
fn range(request: &Request) -> Answer<Option<(u64, u64)>> {
    match (number(request, "from"), number(request, "to")) {
        (Ok(from), Ok(to)) if from < to => Ok(Some((from, to))),
        (Ok(_), Ok(_)) => Err("the range is empty".into()),
        _ => Ok(None),
    }
}

fn number(request: &Request, name: &str) -> Answer<u64> {
    let text = request.asked(name).ok_or_else(|| format!("{name} is missing"))?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    number.ok_or_else(|| format!("{name}: {text} is not a number"))
}

fn text(request: &Request, name: &str) -> Answer<String> {
    let text = request.asked(name).filter(|text| !text.is_empty());
    text.map(str::to_string).ok_or_else(|| format!("{name} is missing"))
}

/// The sources of a file.
fn open(file: &File) -> Result<Vec<Lane>, trackway::Error> {
    let mut trace = file.options.open(&file.path)?;
    if trace.path().is_none() {
        return Err(trackway::Error::Config("a stream cannot be viewed: name a file".into()));
    }
    let (meta, format) = (trace.meta().clone(), trace.format().title());
    let picked = file.options.source.is_some();
    let names: Vec<Option<String>> = match meta.sources.as_slice() {
        names if names.len() > 1 && !picked => names.iter().cloned().map(Some).collect(),
        _ => vec![file.options.source.clone()],
    };
    let programs = trace.programs()?;
    drop(trace);
    let index = Shared::default();
    let building = Building::start(file, &index);
    let mut lanes = Vec::new();
    for (n, name) in names.into_iter().enumerate() {
        let options = Options { source: name.clone(), ..file.options.clone() };
        let file = File { path: file.path.clone(), options };
        let start = || Worker::start(&file, &index).map_err(trackway::Error::Config);
        let source = if picked { 0 } else { n as u16 };
        lanes.push(Lane {
            source,
            name: name.or_else(|| meta.sources.first().cloned()),
            // Names of threads do not repeat the source.
            meta: Meta { sources: Vec::new(), ..meta.clone() },
            format,
            programs: vec![program(&programs, source)],
            quick: start()?,
            slow: start()?,
            building: Arc::clone(&building),
            index: Arc::clone(&index),
            kept: Arc::default(),
            windows: Arc::default(),
            wanted: Arc::default(),
            file,
        });
    }
    Ok(lanes)
}

impl Lane {
    fn overview(&self) -> Option<Answer<Arc<Overview>>> {
        self.building.get()
    }

    /// How far the overview is; then the number of instructions, damage and threads.
    pub(crate) fn status(&self) -> Answer<Json> {
        let Some(overview) = self.overview() else {
            // The list needs only the index.
            let name = self.name.as_deref().unwrap_or_default();
            let part = self.index.get().and_then(|index| index.sources.get(name));
            let instructions = part.map(|part| part.all.instructions);
            return Ok(
                json!({ "ready": false, "progress": self.building.progress(), "instructions": instructions }),
            );
        };
        let overview = overview?;
        let whole = overview.sources.get(&self.source);
        let passed = overview.passed.errors.iter();
        let errors: Vec<Json> = passed.map(|(n, text)| json!({ "n": n, "text": text })).collect();
        Ok(json!({
            "ready": true,
            "instructions": whole.map_or(0, |whole| whole.levels.now()),
            "counts": whole.map(|whole| whole.happenings.counts()),
            "errors": errors,
        }))
    }

    fn timeline(&self, request: &Request) -> Answer<Reply> {
        let (from, to) = (number(request, "from")?, number(request, "to")?);
        let columns = number(request, "columns").unwrap_or(1000).clamp(1, COLUMNS);
        if to <= from {
            return Err("the window is empty".into());
        }
        if to - from <= window::WIDEST {
            return self.window(from, to);
        }
        match self.overview() {
            Some(overview) => Ok(Reply::of(&overview?.timeline(self.source, from, to, columns))),
            None => Ok(Reply::busy()),
        }
    }

    /// Reads a window of the timeline, unless it was read before.
    pub(crate) fn window(&self, from: u64, to: u64) -> Answer<Reply> {
        let kept = Arc::clone(&self.windows);
        self.quick.ask(move |desk| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = kept.iter().position(|one| one.0 == (from, to)) {
                kept[..=place].rotate_right(1);
                return Ok(kept[0].1.clone());
            }
            let read = Reply::of(&window::timeline(desk, from, to)?);
            // Before the end of the trace is known a window may be read too early.
            if desk.has_index() {
                kept.insert(0, ((from, to), read.clone()));
                kept.truncate(WINDOWS);
            }
            Ok(read)
        })
    }

    /// A view of a range: that of the whole run is known, others are read.
    pub(crate) fn shown(
        &self,
        range: Option<(u64, u64)>,
        show: impl FnOnce(&Shown<'_>, &crate::memory::Touched) -> Answer<Reply>,
    ) -> Answer<Reply> {
        let image = program(&self.programs, 0);
        let overview = self.overview();
        let covers = |(from, to): (u64, u64), overview: &Overview| {
            let all = overview.sources.get(&self.source).map_or(0, |whole| whole.levels.now());
            from == 0 && to >= all
        };
        if let Some(overview) = &overview {
            let overview = overview.clone()?;
            if range.is_none_or(|range| covers(range, &overview)) {
                let Some(whole) = overview.sources.get(&self.source) else {
                    return Err("there are no instructions".into());
                };
                let shown = Shown { called: &overview.called, source: self.source, meta: &self.meta, image };
                return show(&shown, &whole.touched);
            }
        }
        let Some((from, to)) = range else { return Ok(Reply::busy()) };
        let summary = self.summary(from, to)?;
        let shown = Shown { called: &summary.called, source: 0, meta: &self.meta, image };
        show(&shown, &summary.touched)
    }

    /// Reads a range, unless it was read before.
    fn summary(&self, from: u64, to: u64) -> Answer<Arc<Summary>> {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = (from, to);
        let (wanted, kept) = (Arc::clone(&self.wanted), Arc::clone(&self.kept));
        self.slow.ask(move |desk| {
            let is_it = |one: &&Arc<Summary>| (one.from, one.to) == (from, to);
            let known = || kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = known().iter().find(is_it) {
                return Ok(Arc::clone(found));
            }
            let is_wanted = || *wanted.lock().unwrap_or_else(PoisonError::into_inner) == (from, to);
            let read = Arc::new(summary(desk, from, to, &is_wanted)?);
            let mut list = known();
            list.insert(0, Arc::clone(&read));
            list.truncate(KEPT);
            Ok(read)
        })
    }
}

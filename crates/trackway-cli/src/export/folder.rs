//! Tables in a folder: one file for each table, source and part, written on all cores.
//!
//! Until it is whole, the folder is called `DIR.partial`. A run that was interrupted leaves it there, and the next one
//! continues after the parts that are done.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde::{Deserialize, Serialize};
use serde_json::json;
use trackway::cut::Origin;
use trackway::{Counts, Health, Trace};
use trackway_columns::{Chunk, Part, SCHEMA, Selection, Sink, Table, plan, read, read_part, rows_of};
use trackway_core::Observer;

use super::file::{Counted, sink};
use super::{Args, Shape, Written, conclude, failure, is_damage, written};
use crate::args::{Common, threads};
use crate::exit::{Exit, Failure};
use crate::open::open_to_write;
use crate::progress::Progress;
use crate::report::{placed, say, unfollowed};

/// Bytes of the trace in a part, where their number is not given.
const PART: u64 = 8 << 20;
/// The file that says what a folder holds.
const ABOUT: &str = "export.json";

/// Rows and files of a part that is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Done {
    /// Rows and files by table.
    tables: BTreeMap<String, (u64, u64)>,
    uncoded: u64,
    counts: Counts,
}

impl Done {
    fn merge(&mut self, other: Done) {
        for (table, (rows, files)) in other.tables {
            let sum = self.tables.entry(table).or_default();
            *sum = (sum.0 + rows, sum.1 + files);
        }
        self.uncoded += other.uncoded;
        self.counts.merge(Box::new(other.counts));
    }
}

/// Writes the folder.
pub(super) fn run(args: &Args, shape: Shape, selection: &Selection) -> Result<Exit, Failure> {
    let (common, file) = (args.common(), &args.input.file);
    let failed = |error: trackway::Error| placed(common, file, error);
    let trace = open_to_write(common, file, None)?;
    let folder: PathBuf = args.output.components().collect();
    let mut partial = folder.clone().into_os_string();
    partial.push(".partial");
    let out = Folder { args, shape, selection, path: partial.into() };
    if folder.exists()
        && !(folder.is_dir() && fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_none()))
    {
        let text = "is there already: remove it, or name another folder";
        return Err(Failure::Usage(format!("{} {text}", folder.display())));
    }
    let whole = args.input.from.is_none() && args.input.to.is_none() && trace.path().is_some();
    let (mut parts, mut why) = (Vec::new(), None);
    if whole {
        let count = args.parts.map_or_else(|| default_parts(file), |parts| parts as usize);
        (parts, why) = plan(&trace, count).map_err(failed)?;
    }
    let in_order = !whole || parts.iter().any(|part| part.work.damaged);
    out.begin(&trace, if in_order { 1 } else { parts.len() })?;
    if let Some(why) = why.filter(|_| !common.quiet && (args.parts.is_some() || in_order)) {
        say!("{}: {why}", file.display());
    }
    let (done, health, ended) = if in_order { out.in_order(trace)? } else { out.in_parts(&parts)? };
    if let Some(reason) = unfollowed(&health) {
        drop(fs::remove_dir_all(&out.path));
        return Err(Failure::Unfollowed(format!("{}: {reason}", file.display())));
    }
    if ended.is_ok() || is_damage(&ended) {
        out.end(&folder, &done).map_err(|error| written(args, &folder, error))?;
    } else if in_order {
        // Nothing of it can be continued.
        drop(fs::remove_dir_all(&out.path));
    }
    ended.map_err(|ended| failure(args, &health, ended))?;
    let tables = selection.tables().map(|table| {
        let (rows, files) = done.tables.get(table.name).copied().unwrap_or_default();
        Written { table, rows, files }
    });
    let tables: Vec<Written> = tables.collect();
    conclude(args, &[folder.display().to_string()], &tables, done.uncoded, &health)
}

/// Parts of a trace whose number is not given: by its size alone, so that every machine writes the same files.
fn default_parts(file: &Path) -> usize {
    let size = fs::metadata(file).map_or(0, |found| found.len());
    usize::try_from(size / PART).unwrap_or(usize::MAX).clamp(1, 10_000)
}

struct Folder<'a> {
    args: &'a Args,
    shape: Shape,
    selection: &'a Selection,
    path: PathBuf,
}

type Ended = Result<(), trackway_columns::Ended>;

impl Folder<'_> {
    /// Makes the folder, or takes one that an interrupted run left.
    fn begin(&self, trace: &Trace, parts: usize) -> Result<(), Failure> {
        let args = self.args;
        let failed = |error: io::Error| Failure::Written { path: self.path.clone(), error };
        let columns: BTreeMap<&str, _> =
            self.selection.tables().map(|table| (table.name, self.selection.columns(table.name))).collect();
        let id = if trace.path().is_some() {
            Origin::of(trace).map_err(|error| placed(args.common(), &args.input.file, error))?.id
        } else {
            String::new()
        };
        // Whatever changes the rows; settings by their text.
        let common = args.common();
        let config = common.config.as_ref().map(fs::read_to_string).transpose().map_err(failed)?;
        let flags: BTreeMap<&str, _> =
            common.context.flags.iter().map(|(flag, value)| (flag.name, value.to_string())).collect();
        let about = json!({
            "schema": SCHEMA, "trackway": env!("CARGO_PKG_VERSION"), "trace": id, "parts": parts,
            "from": args.input.from, "to": args.input.to, "source": common.source, "elf": common.elf,
            "image": common.image, "config": config, "flags": flags,
            "format": common.format.map(|format| format.to_string()),
            "as": self.shape.end(), "integers": format!("{:?}", args.integers), "columns": columns,
        });
        let about = format!("{about}\n");
        let file = self.path.join(ABOUT);
        match fs::read_to_string(&file) {
            Ok(text) if text == about && !id.is_empty() => return Ok(()),
            Ok(_) => fs::remove_dir_all(&self.path).map_err(failed)?,
            Err(_) if self.path.exists() => {
                let text = "is there and is not an unfinished export: remove it";
                return Err(Failure::Usage(format!("{} {text}", self.path.display())));
            }
            Err(_) => {}
        }
        for table in self.selection.tables() {
            fs::create_dir_all(self.path.join(table.name)).map_err(failed)?;
        }
        fs::write(&file, about).map_err(failed)
    }

    /// Renames the folder, which is whole.
    fn end(&self, folder: &Path, done: &Done) -> io::Result<()> {
        for table in self.selection.tables() {
            // A table without rows has columns still.
            if done.tables.get(table.name).is_none_or(|(_, files)| *files == 0) {
                let mut empty = self.create(table, 0, 1)?;
                let mut rows = trackway_columns::empty(&Selection::of(table).only(self.selection));
                rows.drain(..).try_for_each(|chunk| empty.put(chunk))?;
                empty.finish()?;
            }
        }
        for entry in fs::read_dir(&self.path)?.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b"done-") {
                fs::remove_file(entry.path())?;
            }
        }
        if folder.is_dir() {
            fs::remove_dir(folder)?;
        }
        fs::rename(&self.path, folder)
    }

    fn create(&self, table: &'static Table, source: u16, part: usize) -> io::Result<Box<dyn Sink>> {
        let name = format!("source-{source}-part-{part:05}.{}", self.shape.end());
        let file = fs::File::create(self.path.join(table.name).join(name))?;
        let out = Box::new(BufWriter::with_capacity(1 << 16, file));
        let selection = Selection::of(table).only(self.selection);
        sink(self.args, self.shape, &selection, out, 1, false)
    }

    /// Everything in one part.
    fn in_order(&self, mut trace: Trace) -> Result<(Done, Health, Ended), Failure> {
        let (common, input) = (self.args.common(), &self.args.input);
        let rows = rows_of(&mut trace, self.selection, input.from.as_deref(), input.to.as_deref());
        let (rows, mut source) = rows.map_err(|error| placed(common, &input.file, error))?;
        let mut rows = rows.apart();
        let mut files = Files::new(self, 1);
        let progress = Progress::new(common.quiet);
        let (mut health, mut ended) =
            read(&mut *source, common.strict, &mut rows, &mut files, |source, health| {
                progress.update(source, health)
            });
        drop(progress);
        health.doubt(&trace.facts());
        if let (Ok(()) | Err(trackway::Ended::Error(_)), Err(error)) = (&ended, files.finish()) {
            ended = Err(trackway::Ended::Caller(error));
        }
        if rows.bounds().is_some_and(|bounds| !bounds.has_begun) && ended.is_ok() {
            drop(fs::remove_dir_all(&self.path));
            let text = format!("{}: nothing lies between --from and --to", input.file.display());
            return Err(Failure::Usage(text));
        }
        let done = Done { tables: files.tables(), uncoded: rows.uncoded, counts: health.counts.clone() };
        Ok((done, health, ended))
    }

    /// Parts on all cores.
    fn in_parts(&self, parts: &[Part]) -> Result<(Done, Health, Ended), Failure> {
        let common = self.args.common();
        // A worker reads one part at a time.
        let single = Common { jobs: Some(1), ..common.clone() };
        let (next, all) = (AtomicUsize::new(0), Mutex::new(Ok(Done::default())));
        let stopped = || all.lock().map_or(true, |all| all.is_err());
        let work = || {
            let mut trace = None;
            while let Some(part) = parts.get(next.fetch_add(1, Relaxed)).filter(|_| !stopped()) {
                let done = match &mut trace {
                    Some(trace) => self.part(trace, part),
                    none => open_to_write(&single, &self.args.input.file, None)
                        .and_then(|trace| self.part(none.insert(trace), part)),
                };
                let Ok(mut all) = all.lock() else { return };
                match (&mut *all, done) {
                    (Ok(all), Ok(done)) => all.merge(done),
                    (Ok(_), Err(failure)) => *all = Err(failure),
                    (Err(_), _) => {}
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads(common.jobs).min(parts.len()) {
                scope.spawn(work);
            }
            work();
        });
        let died = |_| Failure::Usage("a thread died".into());
        let done = all.into_inner().map_err(died)??;
        let items = parts.iter().map(|part| part.work.items).sum();
        let health =
            Health { items: (items > 0).then_some(items), counts: done.counts.clone(), ..Health::default() };
        Ok((done, health, Ok(())))
    }

    /// One part, unless it is there.
    fn part(&self, trace: &mut Trace, part: &Part) -> Result<Done, Failure> {
        let args = self.args;
        let path = self.path.join(format!("done-{:05}.json", part.work.item));
        if let Some(done) = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            return Ok(done);
        }
        let mut files = Files::new(self, part.work.item);
        let not_written = |error: io::Error| written(args, &args.output, error);
        let (rows, counts) =
            read_part(trace, part, self.selection, &mut files).map_err(|error| match error {
                trackway::Error::File { error, .. } => not_written(error),
                error => placed(args.common(), &args.input.file, error),
            })?;
        files.finish().map_err(not_written)?;
        let done = Done { tables: files.tables(), uncoded: rows.uncoded, counts };
        let text = serde_json::to_vec(&done).map_err(|error| not_written(error.into()))?;
        // Under its name only when it is whole: a part without it is written again.
        let fresh = self.path.join(format!("fresh-{:05}.json", part.work.item));
        fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &path)).map_err(not_written)?;
        Ok(done)
    }
}

/// The files of a part: one for each table and source.
struct Files<'f, 'a> {
    folder: &'f Folder<'a>,
    part: usize,
    files: BTreeMap<(&'static str, u16), Counted>,
}

impl<'f, 'a> Files<'f, 'a> {
    fn new(folder: &'f Folder<'a>, part: usize) -> Self {
        Files { folder, part, files: BTreeMap::new() }
    }

    fn tables(&self) -> BTreeMap<String, (u64, u64)> {
        let mut tables: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for ((table, _), file) in &self.files {
            let sum = tables.entry(table.to_string()).or_default();
            *sum = (sum.0 + file.rows(table), sum.1 + 1);
        }
        tables
    }
}

impl Sink for Files<'_, '_> {
    fn put(&mut self, chunk: Chunk) -> io::Result<()> {
        let key = (chunk.table.name, chunk.source);
        if !self.files.contains_key(&key) {
            let file = self.folder.create(chunk.table, chunk.source, self.part)?;
            self.files.insert(key, Counted::new(file));
        }
        self.files.get_mut(&key).map_or(Ok(()), |file| file.put(chunk))
    }

    fn group(&mut self) -> io::Result<()> {
        self.files.values_mut().try_for_each(Sink::group)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.files.values_mut().try_for_each(Sink::finish)
    }
}

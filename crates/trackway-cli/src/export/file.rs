//! A table in one file, or on stdout.

use std::io::{self, BufWriter, Write};

use trackway::io::{FileError, Target};
use trackway_columns::{Chunk, Csv, JsonLines, Selection, Sink, read, rows_of};

use super::{Args, Shape, Written, conclude, failure, is_damage, written};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::open::open_to_write;
use crate::progress::Progress;
use crate::report::{placed, unfollowed};

/// Every row of JSON lines begins with it; `docs/json.md` has the version.
const BEGIN: &str = "\"trackway\":{\"kind\":\"row\",\"schema\":2},";

/// Writes it.
pub(super) fn run(args: &Args, shape: Shape, selection: &Selection) -> Result<Exit, Failure> {
    let (common, file) = (args.common(), &args.input.file);
    let mut trace = open_to_write(common, file, None)?;
    let failed = |error: trackway::Error| placed(common, file, error);
    let (mut rows, mut source) =
        rows_of(&mut trace, selection, args.input.from.as_deref(), args.input.to.as_deref())
            .map_err(failed)?;
    let target = Target::new(&args.output);
    interrupt::abandon(&target);
    let created = |FileError { path, error }: FileError| Failure::Written { path, error };
    let output = target.create().map_err(created)?;
    let out: Box<dyn Write + Send> = match output {
        trackway_core::Output::Stream(stream) => stream,
        trackway_core::Output::File(file) => Box::new(BufWriter::with_capacity(1 << 16, file)),
    };
    let threads = crate::args::threads(common.jobs);
    let sink = sink(args, shape, selection, out, threads, target.is_stream());
    let sink = sink.map_err(|error| written(args, &args.output, error))?;
    let mut sink = Counted::new(sink);
    // A table without rows has columns still.
    for chunk in rows.begin() {
        sink.put(chunk).map_err(|error| written(args, &args.output, error))?;
    }
    let progress = Progress::new(common.quiet);
    let (mut health, ended) = read(&mut *source, common.strict, &mut rows, &mut sink, |source, health| {
        progress.update(source, health)
    });
    drop(progress);
    health.doubt(&trace.facts());
    let finished = if matches!(ended, Err(trackway::Ended::Caller(_))) { Ok(()) } else { sink.finish() };
    if let Some(bounds) = rows.bounds()
        && !bounds.has_begun
        && ended.is_ok()
    {
        return Err(Failure::Usage(format!("{}: nothing lies between --from and --to", file.display())));
    }
    if let Some(reason) = unfollowed(&health) {
        return Err(Failure::Unfollowed(format!("{}: {reason}", file.display())));
    }
    finished.map_err(|error| written(args, &args.output, error))?;
    // Rows before damage are in the output, and the output is whole.
    if ended.is_ok() || is_damage(&ended) {
        target.commit().map_err(created)?;
    }
    ended.map_err(|ended| failure(args, &health, ended))?;
    let path = args.output.display().to_string();
    let outputs = if target.path.is_some() { vec![path] } else { Vec::new() };
    conclude(args, &outputs, &sink.written(selection, 1), rows.uncoded, &health)
}

/// A sink of one file.
pub(super) fn sink(
    args: &Args,
    shape: Shape,
    selection: &Selection,
    out: Box<dyn Write + Send>,
    threads: usize,
    is_stream: bool,
) -> io::Result<Box<dyn Sink>> {
    let most = if is_stream || !shape.is_text() { u64::MAX } else { args.max_size.saturating_mul(1_000_000) };
    let out = Limited { out, left: most };
    #[cfg(feature = "columns")]
    if let Some(table) = selection.tables().next() {
        use trackway_columns::{IpcFile, IpcStream, Parquet};
        let integers = args.integers.into();
        match shape {
            Shape::Parquet => {
                return Ok(Box::new(Parquet::new(out, table, selection, integers, threads)?));
            }
            Shape::Arrow if is_stream => {
                return Ok(Box::new(IpcStream::new(out, table, selection, integers)?));
            }
            Shape::Arrow => return Ok(Box::new(IpcFile::new(out, table, selection, integers)?)),
            _ => {}
        }
    }
    let _ = (selection, threads);
    Ok(match shape {
        Shape::Jsonl => Box::new(JsonLines::new(out, BEGIN)),
        _ => Box::new(Csv::new(out)),
    })
}

/// A writer that refuses to write more than its limit.
struct Limited {
    out: Box<dyn Write + Send>,
    left: u64,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        let left = self.left.checked_sub(written as u64);
        self.left = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A sink whose rows are counted.
pub(super) struct Counted {
    sink: Box<dyn Sink>,
    rows: Vec<(&'static str, u64)>,
}

impl Counted {
    pub(super) fn new(sink: Box<dyn Sink>) -> Self {
        Counted { sink, rows: Vec::new() }
    }

    /// Rows of a table so far.
    pub(super) fn rows(&self, table: &str) -> u64 {
        self.rows.iter().filter(|(name, _)| *name == table).map(|(_, rows)| rows).sum()
    }

    /// The rows of all tables, each in that many files.
    pub(super) fn written(&self, selection: &Selection, files: u64) -> Vec<Written> {
        selection.tables().map(|table| Written { table, rows: self.rows(table.name), files }).collect()
    }
}

impl Sink for Counted {
    fn put(&mut self, chunk: Chunk) -> io::Result<()> {
        let name = chunk.table.name;
        match self.rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => *rows += chunk.rows as u64,
            None => self.rows.push((name, chunk.rows as u64)),
        }
        self.sink.put(chunk)
    }

    fn group(&mut self) -> io::Result<()> {
        self.sink.group()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()
    }
}

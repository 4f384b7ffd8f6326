//! Reading a trace into rows: all of it, what lies between two positions, or a part.

use std::io;
use std::ops::ControlFlow;

use trackway::{Bounds, Error, Health, Position, Result, Trace, read_all};
use trackway_core::{Batch, Observer, Source};

use crate::plan::Part;
use crate::rows::Rows;
use crate::selection::Selection;
use crate::sink::Sink;

/// Why reading ended early; the caller's reason is that of the sink.
pub type Ended = trackway::Ended<io::Error>;

/// Instructions after which a group of rows ends, at the next place where the trace can be entered.
const GROUP: u64 = 1 << 19;

/// The rows of a trace, and the events to read for them: all, or those from one position up to another.
pub fn rows_of(
    trace: &mut Trace,
    selection: &Selection,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<(Rows, Box<dyn Source>)> {
    let programs = trace.programs()?;
    let mut rows = Rows::new(selection, trace.format(), trace.meta(), &programs);
    rows.take_meta(&trace.facts());
    if from.is_none() && to.is_none() {
        let source = trace.events()?;
        return Ok((rows, source));
    }
    trace.refuse_several()?;
    let mut position = |text: Option<&str>| -> Result<Option<Position>> {
        let Some(text) = text else { return Ok(None) };
        let position = Position::parse(text, &programs)?;
        if position == Position::End(0) { Ok(None) } else { trace.settle(position).map(Some) }
    };
    let (begin, end) = (position(from)?, position(to)?);
    if let (Some(Position::Number(begin)), Some(Position::Number(end))) = (&begin, &end)
        && end <= begin
    {
        return Err(Error::Config(format!("nothing lies between {begin} and {end}")));
    }
    // Times and contexts add up from the start: columns that depend on them need all of it.
    let (source, before) = if selection.needs_past() {
        (trace.events()?, Default::default())
    } else {
        trace.events_from(begin.as_ref(), end.as_ref())?
    };
    let rows = rows.enter(0, source.context()).within(Bounds::new(begin, end, before));
    Ok((rows, source))
}

/// Reads events to their end, past damage where possible; rows go to `sink`, which is not finished.
pub fn read(
    source: &mut dyn Source,
    strict: bool,
    rows: &mut Rows,
    sink: &mut dyn Sink,
    progress: impl FnMut(&dyn Source, &Health),
) -> (Health, std::result::Result<(), Ended>) {
    let (mut batch, mut since) = (Batch::default(), 0);
    let mut step = |source: &mut dyn Source, counts: &mut trackway::Counts| {
        if !source.fill(&mut batch).map_err(Ended::Error)? {
            return Ok(false);
        }
        counts.observe(&batch);
        let flow = put(sink, |emit| rows.take(&batch, emit)).map_err(Ended::Caller)?;
        since += batch.events.len() as u64;
        if since >= GROUP && rows.is_settled() && source.save().is_some() {
            since = 0;
            put(sink, |emit| rows.flush(emit)).and_then(|_| sink.group()).map_err(Ended::Caller)?;
        }
        Ok(flow.is_continue())
    };
    let (mut health, mut ended) = read_all(source, strict, &mut step, progress);
    // Rows before an error are written before it.
    if !matches!(ended, Err(Ended::Caller(_)))
        && let Err(error) = put(sink, |emit| rows.flush(emit))
    {
        ended = Err(Ended::Caller(error));
    }
    if rows.bounds().is_some() {
        (health.items, health.counts) = (None, rows.shown.clone());
    }
    (health, ended)
}

/// Reads one part of a trace that is not damaged; rows go to `sink`, which is not finished.
///
/// # Errors
/// Those of the trace, and [`Error::File`] for the sink's own.
pub fn read_part(
    trace: &mut Trace,
    part: &Part,
    selection: &Selection,
    sink: &mut dyn Sink,
) -> Result<(Rows, trackway::Counts)> {
    let programs = trace.programs()?;
    let rows = Rows::new(selection, trace.format(), trace.meta(), &programs);
    let mut rows = rows.resume(part.lanes.clone(), part.work.source).apart();
    if part.work.item == 1 {
        rows.take_meta(&trace.facts());
    }
    let mut source = trace.events()?;
    let mut failed = None;
    let counts = part.work.read(&mut *source, &mut |batch| {
        let flow = put(sink, |emit| rows.take(batch, emit));
        failed = flow.err();
        failed.is_none()
    })?;
    rows.end_part(part.next);
    let flushed = match failed {
        Some(error) => Err(error),
        None => put(sink, |emit| rows.flush(emit)).map(drop),
    };
    flushed.map_err(|error| Error::File { path: "output".into(), error })?;
    Ok((rows, counts))
}

/// Hands chunks to the sink until it fails.
fn put(
    sink: &mut dyn Sink,
    make: impl FnOnce(&mut crate::Emit<'_>) -> ControlFlow<()>,
) -> io::Result<ControlFlow<()>> {
    let mut failure = None;
    let flow = make(&mut |chunk| match sink.put(chunk) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failure = Some(error);
            ControlFlow::Break(())
        }
    });
    failure.map_or(Ok(flow), Err)
}

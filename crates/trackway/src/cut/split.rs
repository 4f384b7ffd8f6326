//! A trace as several files that join again to the same items.

use std::path::{Path, PathBuf};

use trackway_core::Cancel;
use trackway_format::{Cut, Error, Opening, Result, Settings, Streams, Writing};
use trackway_io::{File, FileError, Target};

use super::own_bytes::{Pieces, measure};
use crate::formats::insert_name;
use crate::slice::{Origin, PartStream, Provenance};
use crate::trace::Trace;

/// The files of a trace that was split.
#[derive(Clone, Debug, Default)]
pub struct Split {
    /// In order.
    pub parts: Vec<PathBuf>,
    /// Why there are fewer than asked for.
    pub why: Option<String>,
}

/// Cuts a trace into `parts` files in `folder` of about the same size. Each is a trace of its own, and
/// [`merge`](super::merge) puts them together again. There may be fewer parts than asked for: see [`Split::why`].
pub fn split(trace: &Trace, folder: &Path, parts: usize, settings: &Settings) -> Result<Split> {
    let even =
        |size: u64| (1..parts as u128).map(|n| (u128::from(size) * n / parts as u128) as u64).collect();
    let mut split = split_at(trace, folder, settings, even)?;
    let found = split.parts.len();
    if found < parts && split.why.is_none() {
        split.why = Some(format!("there are no more places where it can be cut: {found} of {parts} parts"));
    }
    Ok(split)
}

/// As [`split`], at the first places after the offsets that `places` returns for the size of a stream.
pub fn split_at(
    trace: &Trace,
    folder: &Path,
    settings: &Settings,
    places: impl Fn(u64) -> Vec<u64>,
) -> Result<Split> {
    let of = Origin::of(trace)?;
    let mut sizes = Vec::new();
    for stream in trace.reopen()?.opened().streams()? {
        sizes.push(measure(stream).map_err(trackway_core::Error::from)?);
    }
    let wanted: Vec<Vec<u64>> = sizes.iter().map(|&(size, _)| places(size)).collect();
    let mut why = None;
    let cuts = match trace.reopen()?.opened().cuts(&wanted) {
        Ok(cuts) => cuts,
        Err(Error::Unsupported(text)) => {
            why = Some(format!("it cannot be cut: {text}"));
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    let starts = starts(cuts, &sizes);
    std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
    let content: Vec<Pieces> = trace.reopen()?.opened().streams()?.into_iter().map(Pieces::new).collect();
    let count = starts.len();
    let (mut targets, mut parts) = (Vec::new(), Vec::new());
    for (n, cuts) in starts.iter().enumerate() {
        let end = |stream: usize| starts.get(n + 1).map_or(sizes[stream].0, |next| next[stream].offset);
        let mut provenance = Provenance::Part { of: of.clone(), part: (n + 1, count), streams: Vec::new() };
        let mut streams = Streams::new();
        let mut described = Vec::new();
        for (stream, cut) in cuts.iter().enumerate() {
            let (size, sum) = sizes[stream];
            let (at, len) = (0, cut.prologue.len() as u64);
            described.push(PartStream { bytes: (cut.offset, end(stream)), size, sum, added: (at, at + len) });
        }
        let comment = comment(trace, &mut provenance, described, cuts.first(), n == 0)?;
        for (stream, cut) in cuts.iter().enumerate() {
            let mut added = cut.prologue.clone();
            let mut at = 0;
            if let Some((item, place)) = comment.as_ref().filter(|_| stream == 0) {
                if n == 0 {
                    (added, at) = (item.clone(), *place);
                } else {
                    let place = (*place as usize).min(added.len());
                    added.splice(place..place, item.iter().copied());
                }
            }
            streams.push(content[stream].next(end(stream) - cut.offset, added, at));
        }
        let path = folder.join(part_name(trace, n + 1, count));
        let target = Target::new(&path);
        write(trace, streams, &target, settings)?;
        if comment.is_none() {
            provenance.write_beside(&target)?;
        }
        targets.push(target);
        parts.push(path);
    }
    targets.iter().try_for_each(Target::commit)?;
    Ok(Split { parts, why })
}

/// The start of each part in each stream; parts without bytes are left out.
fn starts(cuts: Vec<Vec<Cut>>, sizes: &[(u64, u64)]) -> Vec<Vec<Cut>> {
    let mut starts = vec![vec![Cut::default(); sizes.len()]];
    let count = cuts.iter().map(Vec::len).min().unwrap_or(0);
    for n in 0..count {
        let here: Vec<Cut> = cuts.iter().map(|of_stream| of_stream[n].clone()).collect();
        let same = |before: &Vec<Cut>| before.iter().zip(&here).all(|(a, b)| a.offset == b.offset);
        let at_end = here.iter().zip(sizes).all(|(cut, size)| cut.offset >= size.0);
        if !at_end && !starts.last().is_some_and(same) {
            starts.push(here);
        }
    }
    starts
}

/// Completes the provenance and returns it as an item, with its place in the prologue or, in the first part, in the bytes.
/// `None` for a format without comments.
fn comment(
    trace: &Trace,
    provenance: &mut Provenance,
    described: Vec<PartStream>,
    cut: Option<&Cut>,
    first: bool,
) -> Result<Option<(Vec<u8>, u64)>> {
    let set = |provenance: &mut Provenance, described: &[PartStream]| {
        if let Provenance::Part { streams, .. } = provenance {
            *streams = described.to_vec();
        }
    };
    set(provenance, &described);
    if !trace.format().holds_comments() {
        return Ok(None);
    }
    let mut opened = trace.reopen()?;
    let place = opened.opened().comment("")?;
    let Some((_, header_end)) = place else { return Ok(None) };
    let mut described = described;
    // Its length is part of it.
    for _ in 0..8 {
        let Some((item, _)) = trace.reopen()?.opened().comment(&provenance.to_string())? else { break };
        let (at, prologue) = match cut {
            Some(cut) if !first => (0, cut.prologue.len() as u64),
            _ => (header_end, 0),
        };
        let added = (at, at + prologue + item.len() as u64);
        let known = described.first().is_some_and(|stream| stream.added == added);
        if known {
            let place = if first { header_end } else { cut.map_or(0, |cut| cut.comment_at as u64) };
            return Ok(Some((item, place)));
        }
        described.iter_mut().take(1).for_each(|stream| stream.added = added);
        set(provenance, &described);
    }
    Ok(None)
}

/// Writes a trace like `trace` that has these bytes.
pub(super) fn write(trace: &Trace, streams: Streams, target: &Target, settings: &Settings) -> Result<()> {
    let program = trace.program().clone();
    let writing = Writing { target: target.clone(), settings, program: &program, threads: trace.threads() };
    let Some(mut streams) = trace.reopen()?.opened().write_streams(streams, &writing)? else { return Ok(()) };
    let Some(stream) = streams.pop() else { return Ok(()) };
    let opening = Opening {
        file: File::from_input(stream)?,
        settings: trace.settings().clone(),
        program: program.clone(),
        threads: trace.threads(),
        part: None,
        force: trace.is_forced(),
        strict: false,
        source: None,
        cancel: Cancel::default(),
    };
    trace.format().open(opening)?.copy_to(writing)?;
    Ok(())
}

/// `NAME.part-2.ext`; names sort in order.
fn part_name(trace: &Trace, n: usize, count: usize) -> PathBuf {
    let width = count.to_string().len();
    let end = trace.format().extensions().last().copied().unwrap_or("trace");
    let name = trace.path().and_then(Path::file_name).filter(|name| *name != "-");
    let name = name.map_or_else(|| PathBuf::from(format!("trace.{end}")), PathBuf::from);
    insert_name(&name, &format!("part-{n:0width$}"))
}

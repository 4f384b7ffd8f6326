//! Parts, slices or sources as one trace again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trackway_core::{Fact, Fate, Input, Ledger, Meta, Source};
use trackway_format::{Error, Format, Result, Settings};
use trackway_io::Target;

use super::join::{Beside, Joined};
use super::own_bytes::Whole;
use super::split::write;
use crate::conversion::{Conversion, Written};
use crate::convert::{ConvertOptions, Events, convert_events, convert_with};
use crate::formats::for_output;
use crate::health::Health;
use crate::slice::{Provenance, Selection, is_provenance};
use crate::trace::{Options, Trace};

/// The parts of one stream, each with the bytes added to it, and the size and digest of the whole.
type Stream = (Vec<(Input, (u64, u64))>, (u64, u64));

/// The output.
struct Out<'o, P> {
    target: &'o Target,
    into: &'static dyn Format,
    settings: Settings,
    options: &'o ConvertOptions,
    progress: P,
}

/// How traces are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Parts and slices, by their place in the trace that they were cut from.
    #[default]
    Place,
    /// Traces of different sources, by time.
    Time,
}

/// Writes traces as one: parts and slices of a trace in their order, whatever the order of `traces`, or different sources
/// beside each other. What does not fit is refused.
pub fn merge(
    traces: Vec<Trace>,
    target: &Target,
    options: &ConvertOptions,
    by: By,
    progress: impl FnMut(&dyn Source, &Health) + Send,
) -> Result<Conversion> {
    let Some(first) = traces.first() else { return Err(refused("nothing to merge".into())) };
    let by_name = || target.path.as_deref().and_then(|path| for_output(first.formats(), path));
    let into = options.into.or_else(by_name).unwrap_or(first.format());
    let settings = options.settings.clone().unwrap_or_else(|| first.settings().clone());
    let out = Out { target, into, settings, options, progress };
    if by == By::Time {
        return sources(&traces, out);
    }
    let mut cut = Vec::new();
    for trace in traces {
        let Some(provenance) = Provenance::of(&trace) else {
            let text =
                "it does not say which part of a trace it is; --by time merges traces of different sources";
            return Err(refused(format!("{}: {text}", path(&trace).display())));
        };
        cut.push((provenance, trace));
    }
    let is_part = |provenance: &Provenance| matches!(provenance, Provenance::Part { .. });
    let origin = cut[0].0.origin().clone();
    for (provenance, trace) in &cut {
        origin.refuse_other(provenance.origin(), path(trace))?;
        if is_part(provenance) != is_part(&cut[0].0) {
            let text = "parts of split and slices do not join";
            return Err(refused(format!("{}: {text}", path(trace).display())));
        }
        if trace.format().id() != cut[0].1.format().id() {
            let text = format!("it is {}, the first is {}", trace.format().id(), cut[0].1.format().id());
            return Err(refused(format!("{}: {text}", path(trace).display())));
        }
    }
    if is_part(&cut[0].0) { parts(cut, out) } else { slices(cut, out) }
}

fn refused(text: String) -> Error {
    Error::Config(text)
}

fn path(trace: &Trace) -> &Path {
    trace.path().unwrap_or(Path::new("-"))
}

fn parts(
    mut cut: Vec<(Provenance, Trace)>,
    out: Out<'_, impl FnMut(&dyn Source, &Health) + Send>,
) -> Result<Conversion> {
    let Out { target, into, settings, options, progress } = out;
    let number = |provenance: &Provenance| match provenance {
        Provenance::Part { part, .. } => *part,
        Provenance::Slice { .. } => (0, 0),
    };
    cut.sort_by_key(|(provenance, _)| number(provenance));
    let (origin, count) = (cut[0].0.origin().clone(), number(&cut[0].0).1);
    for (n, (provenance, trace)) in cut.iter().enumerate() {
        let (part, of) = number(provenance);
        if of != count {
            let text = format!("it is one of {of} parts, the first is one of {count}");
            return Err(refused(format!("{}: {text}", path(trace).display())));
        }
        if part < n + 1 {
            return Err(refused(format!("{}: part {part} is there twice", path(trace).display())));
        }
        if part > n + 1 {
            return Err(refused(format!("part {} of {count} is missing", n + 1)));
        }
    }
    if cut.len() < count {
        return Err(refused(format!("part {} of {count} is missing", cut.len() + 1)));
    }
    let mut streams: Vec<Stream> = Vec::new();
    for (provenance, trace) in &cut {
        let Provenance::Part { streams: described, .. } = provenance else { continue };
        let inputs = trace.reopen()?.opened().streams()?;
        if inputs.len() != described.len() {
            return Err(refused(format!("{}: its sources have changed", path(trace).display())));
        }
        for (n, (input, described)) in inputs.into_iter().zip(described).enumerate() {
            if streams.len() <= n {
                streams.push((Vec::new(), (described.size, described.sum)));
            }
            streams[n].0.push((input, described.added));
        }
    }
    let complete: Vec<Arc<AtomicBool>> = streams.iter().map(|_| Arc::default()).collect();
    let whole = |((parts, expected), complete): ((_, _), &Arc<AtomicBool>)| {
        Input::Stream(Box::new(Whole::new(parts, expected, Arc::clone(complete))))
    };
    let mut streams: Vec<Input> = streams.into_iter().zip(&complete).map(whole).collect();
    let verify = || match complete.iter().all(|one| one.load(Ordering::Relaxed)) {
        true => Ok(()),
        false => Err(refused(format!("the parts do not add up to {}: one of them was changed", origin.file))),
    };
    let first = &cut[0].1;
    if into.id() == first.format().id() && !into.asks_for_encoding(&settings) {
        write(first, streams, target, &settings)?;
        verify()?;
        let mut ledger = Ledger::default();
        ledger.add(Fate::Kept, Fact::Items, count_items(first, target, &settings)?);
        let outputs = vec![Written { target: target.clone(), ledger: None, source: None }];
        return Ok(Conversion { ledger, count: count as u64, outputs, ..Conversion::default() });
    }
    let (Some(stream), true) = (streams.pop(), streams.is_empty()) else {
        let text = format!("merge several sources into {} first, then convert them", first.format().id());
        return Err(Error::Unsupported(text));
    };
    let mut trace = again(first).open_input(stream, first.settings().clone())?;
    let conversion = convert_with(&mut trace, target, options, progress)?;
    verify()?;
    Ok(conversion)
}

/// How `trace` was opened.
fn again(trace: &Trace) -> Options {
    Options { format: Some(trace.format().id()), ..trace.opened_with().clone() }
}

/// Items of an output that does not have its name yet.
fn count_items(trace: &Trace, target: &Target, settings: &Settings) -> Result<u64> {
    let Some(path) = target.staged() else { return Ok(0) };
    let settings = Settings::beside_trace(&path)?.unwrap_or_else(|| settings.clone());
    let mut items = again(trace).settings(settings).open(&path)?.items()?;
    let (mut item, mut count) = (trackway_core::Item::default(), 0);
    loop {
        match items.next(&mut item) {
            Ok(true) => count += 1,
            Ok(false) => return Ok(count),
            Err(_) if items.resync()?.is_some() => {}
            Err(_) => return Ok(count),
        }
    }
}

fn slices(
    mut cut: Vec<(Provenance, Trace)>,
    out: Out<'_, impl FnMut(&dyn Source, &Health) + Send>,
) -> Result<Conversion> {
    let Out { target, into, settings, options, progress } = out;
    let range = |provenance: &Provenance| match provenance {
        Provenance::Slice { selection, .. }
            if selection.sample.is_none() && selection.contexts.is_empty() =>
        {
            let first = selection.ranges.first()?;
            Some((first.0, selection.ranges.last()?.1))
        }
        _ => None,
    };
    if let Some((_, trace)) = cut.iter().find(|(provenance, _)| range(provenance).is_none()) {
        let text = "samples and slices by context have instructions left out, and do not join";
        return Err(refused(format!("{}: {text}", path(trace).display())));
    }
    cut.sort_by_key(|(provenance, _)| range(provenance));
    for pair in cut.windows(2) {
        let (Some((_, end)), Some((start, _))) = (range(&pair[0].0), range(&pair[1].0)) else { continue };
        let [before, after] = [path(&pair[0].1).display(), path(&pair[1].1).display()];
        if end > start {
            return Err(refused(format!(
                "{before} and {after} overlap: instructions {start} to {end} are in both"
            )));
        }
        if end < start {
            let text = format!("instructions {end} to {start} are missing between {before} and {after}");
            return Err(refused(text));
        }
    }
    let ends = (range(&cut[0].0), cut.last().and_then(|(last, _)| range(last)));
    let of = cut[0].0.origin().clone();
    let mut traces: Vec<Trace> = cut.into_iter().map(|(_, trace)| trace).collect();
    let mut meta = traces[0].meta().clone();
    meta.comments.retain(|comment| !is_provenance(comment));
    let mut options = options.clone();
    // Together they may still be a slice.
    if let (Some((from, _)), Some((_, to))) = ends
        && (from, to) != (0, u64::MAX)
    {
        let provenance = Provenance::Slice { of, selection: Selection::range(from, to) };
        if into.holds_comments() {
            meta.comments.push(provenance.to_string());
        }
        options.part = Some((Selection::default(), provenance));
    }
    let options = &options;
    let threads = traces[0].threads();
    let program = traces[0].program().clone();
    let reopened: Vec<Trace> = traces.iter().map(Trace::reopen).collect::<Result<_>>()?;
    let joined = |traces: &mut [Trace]| -> Result<Box<dyn Source>> {
        let slices = traces.iter_mut().map(Trace::expanded).collect::<Result<_>>()?;
        Ok(Box::new(Joined::new(meta.clone(), slices)))
    };
    let events = Events {
        source: joined(&mut traces)?,
        meta: meta.clone(),
        program,
        threads,
        check: None,
        expander: None,
    };
    let mut original = || {
        let mut again: Vec<Trace> = reopened.iter().map(Trace::reopen).collect::<Result<_>>()?;
        joined(&mut again)
    };
    convert_events(events, &reopened[0], target, into, &settings, options, &mut original, progress)
}

fn sources(traces: &[Trace], out: Out<'_, impl FnMut(&dyn Source, &Health) + Send>) -> Result<Conversion> {
    let Out { target, into, settings, options, progress } = out;
    if !into.holds_several_sources() && traces.len() > 1 {
        return Err(Error::Unsupported(format!("{} holds one source", into.title())));
    }
    let mut meta: Meta = traces[0].meta().clone();
    meta.sources.clear();
    for (n, trace) in traces.iter().enumerate() {
        if trace.meta().isa != meta.isa {
            let text = format!("it is {}, the first is {}", trace.meta().isa, meta.isa);
            return Err(refused(format!("{}: {text}", path(trace).display())));
        }
        if n > 0 {
            add_meta(&mut meta, trace.meta());
        }
        let stem = path(trace).file_stem().map_or_else(|| n.to_string(), |stem| stem.display().to_string());
        let mut names = trace.meta().sources.clone();
        if names.is_empty() {
            names.push(stem.clone());
        }
        for name in names {
            let taken = meta.sources.contains(&name);
            meta.sources.push(if taken { format!("{stem}-{name}") } else { name });
        }
    }
    let beside = || -> Result<Box<dyn Source>> {
        let mut again: Vec<Trace> = traces.iter().map(Trace::reopen).collect::<Result<_>>()?;
        let sources = again.iter_mut().map(Trace::expanded).collect::<Result<_>>()?;
        Ok(Box::new(Beside::new(meta.clone(), sources)))
    };
    let first = &traces[0];
    let program = first.program().clone();
    let events = Events {
        source: beside()?,
        meta: meta.clone(),
        program,
        threads: first.threads(),
        check: None,
        expander: None,
    };
    convert_events(events, first, target, into, &settings, options, &mut || beside(), progress)
}

/// Adds the facts of another trace.
fn add_meta(meta: &mut Meta, other: &Meta) {
    let features = other.features.iter().filter(|feature| !meta.features.contains(feature));
    let features: Vec<String> = features.cloned().collect();
    meta.features.extend(features);
    meta.comments.extend_from_slice(&other.comments);
    meta.producers.extend_from_slice(&other.producers);
    meta.timestamps |= other.timestamps;
    meta.flow_only &= other.flow_only;
    // Each source begins elsewhere.
    meta.start_pc = None;
}

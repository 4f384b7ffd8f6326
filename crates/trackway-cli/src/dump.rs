//! `trackway dump`: instructions, events or native items.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::json;
use trackway::{Bounds, Counts, Health, Place, Position, Trace};
use trackway_core::{Batch, Context, Event, EventKind, Item, Observer, Source};
use trackway_image::{Image, Memory, expand, program};

use crate::args::{DumpArgs, Shape};
use crate::colours::Colours;
use crate::event_json;
use crate::exit::{Exit, Failure};
use crate::index::{LONG, cannot_enter};
use crate::json::{Object, object, put_errors, write_line};
use crate::listing::Listing;
use crate::open::open;
use crate::pager;
use crate::pcs::{Pcs, Runs};
use crate::plain::plain;
use crate::progress::Progress;
use crate::report::{self, exit_of, placed, print_health, say};
use crate::view::{Budget, View};
use crate::walk::{checked_program, walk};

pub(crate) fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    if args.attempted && args.shape != Shape::Pcs {
        let text = "--attempted is for --as pcs: the other shapes show attempted instructions anyway";
        return Err(Failure::Usage(text.into()));
    }
    let mut trace = open(&args.common, &args.file)?;
    if args.raw {
        return items(trace, args);
    }
    let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
    let programs = trace.programs().map_err(failed)?;
    let (mut part, mut source) = Part::new(args, &mut trace, &programs)?;
    let colours = Colours::of_stdout();
    let mut out = BufWriter::with_capacity(1 << 16, pager::stdout(args.common.no_pager));
    let mut view: Box<dyn View + '_> = match args.shape {
        Shape::Pcs => Box::new(Pcs::new(&mut out, args.attempted, args.jsonl)),
        Shape::Runs => Box::new(Runs::new(&mut out, args.jsonl, trace.meta())),
        _ if args.jsonl => Box::new(event_json::Lines::new(&mut out, &trace, programs.clone())),
        Shape::Events => Box::new(EventLines { out: &mut out, line: String::new(), colours }),
        Shape::Text => Box::new(Listing::new(&mut out, &trace, programs.clone(), colours)),
    };
    let shown = part.show(&mut *source, &mut *view);
    // Events before an error are shown before it.
    view.end(&mut part.budget)?;
    drop(view);
    let (mut health, ended) = shown;
    health.doubt(&trace.facts());
    if args.jsonl && (health.errors > 0 || health.is_unfollowed() || ended.is_err()) {
        print_end(&mut out, &health, ended.as_ref().err())?;
    }
    drop(out);
    pager::wait();
    if let (Err(failure), true) = (&ended, args.jsonl) {
        // The stream has its end already.
        return Ok(report::failure(failure, ""));
    }
    ended?;
    if args.shape == Shape::Text && !args.jsonl || health.errors > 0 {
        print_health(&health, &args.common);
    }
    Ok(exit_of(&health, &args.common))
}

/// The last object of a stream in which something was wrong.
fn print_end(out: &mut impl Write, health: &Health, ended: Option<&Failure>) -> std::io::Result<()> {
    let mut end = object("end");
    put_errors(&mut end, health, ended);
    write_line(out, &end.into())?;
    out.flush()
}

/// The part of the trace that is shown.
struct Part<'a> {
    args: &'a DumpArgs,
    from: Option<Position>,
    to: Option<Position>,
    window: Bounds,
    budget: Budget,
    /// A part only: its health is that of the events that were shown.
    is_limited: bool,
    shown: Counts,
    /// Errors that were passed before the window.
    errors_before: u64,
    /// Runs become instructions where the program is known.
    expands: bool,
    programs: &'a [Arc<Image>],
    source: Option<u16>,
    context: Context,
    memory: Option<Arc<Memory>>,
}

impl<'a> Part<'a> {
    /// The part, and the events to read for it.
    fn new(
        args: &'a DumpArgs,
        trace: &mut Trace,
        programs: &'a [Arc<Image>],
    ) -> Result<(Self, Box<dyn Source>), Failure> {
        let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
        let read =
            |text: &Option<String>| text.as_deref().map(|text| Position::parse(text, programs)).transpose();
        let skip = (args.skip > 0).then_some(Position::Number(args.skip));
        let (from, to) = (read(&args.from).map_err(failed)?.or(skip), read(&args.to).map_err(failed)?);
        let limited = from.is_some() || to.is_some();
        if limited {
            trace.refuse_several().map_err(failed)?;
        }
        if let (Some(Position::Number(from)), Some(Position::Number(to))) = (&from, &to)
            && to <= from
        {
            return Err(nothing_between(from, to));
        }
        let settled = |trace: &mut Trace, position: &Option<Position>| {
            position.clone().map(|position| trace.settle(position)).transpose().map_err(failed)
        };
        let begin = settled(trace, &from)?;
        let end = settled(trace, &to.clone().filter(|to| *to != Position::End(0)))?;
        let (source, before) =
            trace.events_from(begin.as_ref(), end.as_ref()).map_err(|error| match error {
                trackway::Error::Config(text) => Failure::Usage(format!("{}: {text}", args.file.display())),
                error => failed(error),
            })?;
        if let Some(Position::Number(LONG..)) = begin
            && !args.common.quiet
            && !trace.can_be_entered()
        {
            say!("{}", cannot_enter(&args.file, trace));
        }
        let part = Part {
            args,
            from,
            to,
            window: Bounds::new(begin, end, before),
            budget: Budget(args.limit.unwrap_or(u64::MAX)),
            is_limited: limited || args.limit.is_some(),
            shown: Counts::default(),
            errors_before: 0,
            expands: matches!(args.shape, Shape::Text | Shape::Pcs) || limited,
            programs,
            source: None,
            context: source.context(),
            memory: None,
        };
        Ok((part, source))
    }

    /// Shows it; returns the health of what was shown, and what ended it.
    fn show(&mut self, source: &mut dyn Source, view: &mut dyn View) -> (Health, Result<(), Failure>) {
        let args = self.args;
        let progress = Progress::beside_output(args.common.quiet);
        let mut check = checked_program(source.meta().isa, self.programs);
        let names = source.meta().sources.clone();
        let (mut health, ended) = walk(&args.common, &args.file, source, &progress, |batch, errors| {
            check.observe(batch);
            if !self.window.is_open {
                self.errors_before = errors;
            }
            let before = self.source.replace(batch.source);
            if before != Some(batch.source) {
                if before.is_some() {
                    self.context = Context::default();
                    self.memory = None;
                }
                let name = names.get(usize::from(batch.source)).filter(|_| names.len() > 1);
                view.source(batch.source, name.map(String::as_str), &mut self.budget)?;
            }
            self.batch(batch, view)
        });
        drop(progress);
        check.warn();
        let ended = ended.and_then(|()| self.complain());
        // Batches are read whole; the health is that of the window.
        if self.is_limited {
            health.items = None;
            health.counts = std::mem::take(&mut self.shown);
            // Where the limit ended it, code that the program has may follow.
            if self.budget.0 == 0 && self.programs.iter().any(|image| !image.is_empty()) {
                health.counts.unfollowed = 0;
            }
            health.errors -= self.errors_before;
            let before = usize::try_from(self.errors_before).unwrap_or(usize::MAX);
            health.first_errors.drain(..before.min(health.first_errors.len()));
        }
        (health, ended)
    }

    /// Fails if the window was never reached, or holds nothing.
    fn complain(&self) -> Result<(), Failure> {
        let (Some(from), true) = (&self.from, self.budget.0 > 0) else { return Ok(()) };
        let needs_one = matches!(from, Position::Number(_) | Position::End(_));
        if !self.window.is_open || (needs_one && !self.window.has_begun && !self.window.is_over) {
            let error = trackway::never_reached(from);
            return Err(Failure::Usage(format!("{}: {error}", self.args.file.display())));
        }
        match &self.to {
            Some(to) if self.window.is_over && !self.window.has_begun => Err(nothing_between(from, to)),
            Some(to) if !self.window.is_over && !matches!(to, Position::Number(_) | Position::End(_)) => {
                say!("the trace never reaches {to} after {from}: this is all up to its end");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn batch(&mut self, batch: &Batch, view: &mut dyn View) -> Result<ControlFlow<()>, Failure> {
        let mut number = batch.first_instruction;
        for event in &batch.events {
            let flow = match event.kind {
                EventKind::Run(run) if self.expands && !run.withdrawn => {
                    self.shown.doubtful += u64::from(run.doubtful && self.window.is_open);
                    let memory = self.memory(batch.source);
                    let (mut at, mut flow) = (number, Ok(ControlFlow::Continue(())));
                    expand(&memory, &run, batch.accesses_of(&run), |kind| {
                        if matches!(flow, Ok(ControlFlow::Continue(()))) {
                            flow = self.event(batch, &Event { kind, ..*event }, at, view);
                            at += kind.instructions();
                        }
                    });
                    flow?
                }
                EventKind::Context(n) => {
                    let flow = self.event(batch, event, number, view)?;
                    self.context.update(&batch.contexts[n as usize]);
                    self.memory = None;
                    flow
                }
                _ => self.event(batch, event, number, view)?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
            number += event.kind.instructions();
        }
        Ok(ControlFlow::Continue(()))
    }

    fn memory(&mut self, source: u16) -> Arc<Memory> {
        let memory = self.memory.get_or_insert_with(|| program(self.programs, source).memory(&self.context));
        Arc::clone(memory)
    }

    #[inline]
    fn event(
        &mut self,
        batch: &Batch,
        event: &Event,
        number: u64,
        view: &mut dyn View,
    ) -> Result<ControlFlow<()>, Failure> {
        let was_open = self.window.is_open;
        match self.window.place(batch, event, number) {
            Place::Before => return Ok(ControlFlow::Continue(())),
            Place::After => return Ok(ControlFlow::Break(())),
            Place::Inside => {}
        }
        if !was_open {
            view.enter(&self.context);
        }
        if self.budget.0 == 0 {
            return Ok(ControlFlow::Break(()));
        }
        view.event(batch, event, number, &mut self.budget)?;
        if self.is_limited {
            let doubtful = self.shown.doubtful;
            self.shown.add(batch, event);
            if self.expands {
                // A run is counted as a whole, before it becomes instructions.
                self.shown.doubtful = doubtful;
            }
        }
        Ok(if self.budget.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

fn nothing_between(from: impl std::fmt::Display, to: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("nothing lies between {from} and {to}"))
}

/// `--as events`: one line per event.
struct EventLines<W> {
    out: W,
    line: String,
    colours: Colours,
}

impl<W: Write> View for EventLines<W> {
    fn source(&mut self, _: u16, heading: Option<&str>, _: &mut Budget) -> std::io::Result<()> {
        let bold = self.colours.heading;
        heading.map_or(Ok(()), |name| writeln!(self.out, "{bold}# source {name}{bold:#}"))
    }

    fn event(&mut self, batch: &Batch, event: &Event, _: u64, budget: &mut Budget) -> std::io::Result<()> {
        if !budget.take() {
            return Ok(());
        }
        self.line.clear();
        batch.write_line(event, &mut self.line);
        let Colours { faint, name, bad, .. } = self.colours;
        let style = if matches!(event.kind, EventKind::Gap(_)) { bad } else { name };
        match self.line.split_once(' ').filter(|_| self.colours.are_on()) {
            Some((offset, rest)) => {
                let (kind, fields) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
                writeln!(self.out, "{faint}{offset}{faint:#} {style}{kind}{style:#}{fields}")
            }
            None => writeln!(self.out, "{}", self.line),
        }
    }

    fn end(&mut self, _: &mut Budget) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// `--raw`: native items.
fn items(mut trace: Trace, args: &DumpArgs) -> Result<Exit, Failure> {
    let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
    let mut items = trace.items().map_err(failed)?;
    let colours = Colours::of_stdout();
    let (Colours { faint, name, bad, .. }, are_on) = (colours, colours.are_on());
    let mut out = BufWriter::with_capacity(1 << 16, pager::stdout(args.common.no_pager));
    let mut item = Item::default();
    let mut health = Health::default();
    let last = args.skip.saturating_add(args.limit.unwrap_or(u64::MAX));
    if args.common.verbose {
        items.annotate();
    }
    let mut number = match args.skip {
        0 => 0,
        skip => items.seek(skip).map_err(|error| placed(&args.common, &args.file, error.into()))?,
    };
    let mut ended = Ok(());
    while number < last {
        match items.next(&mut item) {
            Ok(true) => {}
            Ok(false) => {
                if args.skip > 0 && number <= args.skip {
                    let text = format!("{}: there are {number} items", args.file.display());
                    ended = Err(Failure::Usage(text));
                }
                break;
            }
            Err(error) => {
                out.flush()?;
                match items.resync() {
                    Ok(Some(skipped)) if !args.common.strict => {
                        health.passed(error);
                        health.counts.gaps += 1;
                        health.counts.skipped += skipped;
                        if !args.jsonl {
                            let offset = error.offset;
                            writeln!(
                                out,
                                "{faint}{offset:#010x}{faint:#} {bad}-- {error}{bad:#}; {skipped} bytes skipped"
                            )?;
                        }
                        continue;
                    }
                    _ => {
                        ended = Err(placed(&args.common, &args.file, error.into()));
                        break;
                    }
                }
            }
        }
        if number >= args.skip {
            if args.jsonl {
                write_line(&mut out, &item_object(&item, number).into())?;
            } else {
                let space = if item.text.is_empty() { "" } else { " " };
                let (offset, word, text) = (item.offset, &item.name, plain(&item.text));
                if are_on {
                    writeln!(out, "{faint}{offset:#010x}{faint:#} {name}{word}{name:#}{space}{text}")?;
                } else {
                    writeln!(out, "{offset:#010x} {word}{space}{text}")?;
                }
                if !item.note.is_empty() {
                    writeln!(out, "{:>10} {}", number + 1, plain(&item.note))?;
                }
            }
        }
        number += 1;
    }
    if args.jsonl && (health.errors > 0 || health.is_unfollowed() || ended.is_err()) {
        print_end(&mut out, &health, ended.as_ref().err())?;
    }
    out.flush()?;
    drop(out);
    pager::wait();
    if let (Err(failure), true) = (&ended, args.jsonl) {
        return Ok(report::failure(failure, "dump --raw"));
    }
    ended?;
    if let Some(passed) = health.first_errors.first() {
        say!("damaged: {}", passed.error);
    }
    Ok(exit_of(&health, &args.common))
}

fn item_object(item: &Item, number: u64) -> Object {
    let mut object = object("item");
    object.extend([
        ("item".to_string(), json!(item.name)),
        ("number".to_string(), json!(number)),
        ("offset".to_string(), json!(item.offset)),
        ("length".to_string(), json!(item.len)),
        ("text".to_string(), json!(item.text)),
    ]);
    if !item.note.is_empty() {
        object.insert("note".into(), json!(item.note));
    }
    object
}

//! The part of a trace that `dump` shows.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

use trackway::{Before, Bounds, Counts, Health, Place, Position, Trace};
use trackway_core::{Batch, Context, Event, EventKind, Observer, Pool, Run, Source};
use trackway_image::{Image, Memory, expand, program};

use super::addresses::Addresses;
use crate::args::{DumpArgs, Shape, threads};
use crate::exit::Failure;
use crate::index::{LONG, cannot_enter};
use crate::progress::Progress;
use crate::report::{placed, say};
use crate::view::{Budget, View};
use crate::walk::{Checked, checked_program, observe_with, walk, walk_in_groups};

/// Bytes of text that are written at once.
const BLOCK: usize = 1 << 16;

/// The part of the trace that is shown.
#[derive(Clone)]
pub(super) struct Part<'a> {
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
    /// Names of the sources, where there are several.
    names: Vec<String>,
    source: Option<u16>,
    context: Context,
    memory: Option<Arc<Memory>>,
}

/// Creates the views of the shape that was asked for.
pub(super) type NewView<'v> = dyn Fn() -> Box<dyn View> + Sync + 'v;

/// State from the events before a group that showing it needs: their last source, and its context.
struct Past {
    source: Option<u16>,
    context: Context,
}

impl Before for Past {
    type State = (Option<u16>, Context);

    fn state(&mut self) -> Self::State {
        (self.source, self.context)
    }

    fn batch(&mut self, batch: &Batch) {
        if self.source.replace(batch.source).is_some_and(|before| before != batch.source) {
            self.context = Context::default();
        }
        batch.contexts.iter().for_each(|context| self.context.update(context));
    }
}

impl<'a> Part<'a> {
    /// The part, and the events to read for it.
    pub(super) fn new(
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
            names: source.meta().sources.clone(),
            source: None,
            context: source.context(),
            memory: None,
        };
        Ok((part, source))
    }

    /// Shows it; returns the health of what was shown, and what ended it.
    pub(super) fn show(
        &mut self,
        source: &mut dyn Source,
        new_view: &NewView<'_>,
        out: &mut dyn Write,
    ) -> Result<(Health, Result<(), Failure>), Failure> {
        let mut view = new_view();
        // A pipe may be slow: what came is shown before more is waited for.
        let is_whole = !self.is_limited && self.args.file.as_os_str() != "-";
        let (health, ended) = match threads(self.args.common.jobs) {
            2.. if is_whole && self.is_addresses(source) => self.in_parts(source, out)?,
            threads @ 2.. if is_whole => self.in_groups(threads, source, new_view, &mut *view, out),
            _ => self.in_order(source, &mut *view, out),
        };
        // Events before an error are shown before it.
        view.end(&mut self.budget)?;
        out.write_all(view.text())?;
        out.flush()?;
        Ok((health, ended))
    }

    fn in_order(
        &mut self,
        source: &mut dyn Source,
        view: &mut dyn View,
        out: &mut dyn Write,
    ) -> (Health, Result<(), Failure>) {
        let args = self.args;
        let progress = Progress::beside_output(args.common.quiet);
        let mut check = checked_program(source.meta().isa, self.programs);
        let (mut health, ended) = walk(&args.common, &args.file, source, &progress, |batch, errors| {
            check.observe(batch);
            if !self.window.is_open {
                self.errors_before = errors;
            }
            self.batch(batch, view, |text| {
                out.write_all(text)?;
                text.clear();
                Ok(())
            })
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

    /// Shows all of a trace on several threads: each writes the events that it read.
    fn in_groups(
        &self,
        threads: usize,
        source: &mut dyn Source,
        new_view: &NewView<'_>,
        view: &mut dyn View,
        out: &mut dyn Write,
    ) -> (Health, Result<(), Failure>) {
        let args = self.args;
        let progress = Progress::beside_output(args.common.quiet);
        let mut check = checked_program(source.meta().isa, self.programs);
        let apart = check.apart();
        let mut past = Past { source: None, context: self.context };
        let texts = Pool::default();
        let (health, ended) = walk_in_groups(
            (&args.common, &args.file, threads),
            source,
            &progress,
            &mut past,
            || (self.clone(), new_view(), apart.apart()),
            |(part, view, check), before, batches| {
                *view.text() = texts.take_own().unwrap_or_default();
                part.begin(before, &mut **view)?;
                if let (Some(source), context) = before {
                    check.enter(source, &context);
                }
                for batch in &*batches {
                    check.observe(batch);
                    // Without a limit nothing ends it.
                    let _ = part.batch(batch, &mut **view, |_| Ok(()))?;
                }
                Ok((view.end_part(), std::mem::take(view.text()), check.take(), thread::current().id()))
            },
            |shown: Result<_, Failure>| {
                let (ends, mut text, compared, owner) = shown?;
                check.add(compared);
                view.join(ends)?;
                out.write_all(view.text())?;
                view.text().clear();
                out.write_all(&text)?;
                text.clear();
                texts.put_for(owner, text);
                Ok(())
            },
        );
        drop(progress);
        check.warn();
        (health, ended)
    }

    /// Only addresses as text, which nothing but the events decides, of a format that is decoded in parts.
    fn is_addresses(&self, source: &dyn Source) -> bool {
        let is_alone = self.args.shape == Shape::Pcs && !self.args.jsonl && self.names.len() < 2;
        is_alone && !source.meta().flow_only && source.has_parts()
    }

    fn in_parts(
        &self,
        source: &mut dyn Source,
        out: &mut dyn Write,
    ) -> Result<(Health, Result<(), Failure>), Failure> {
        let args = self.args;
        let program = checked_program(source.meta().isa, self.programs);
        let mut both = Checked { analysis: Addresses::new(args.attempted), program };
        let progress = Progress::beside_output(args.common.quiet);
        let shown = observe_with((&args.common, &args.file), source, &progress, &mut both, |both| {
            both.analysis.write(out)?;
            Ok(ControlFlow::Continue(()))
        });
        drop(progress);
        both.analysis.end()?;
        both.program.warn();
        Ok(shown)
    }

    /// Continues after events that others show.
    fn begin(
        &mut self,
        (source, context): (Option<u16>, Context),
        view: &mut dyn View,
    ) -> Result<(), Failure> {
        if let Some(number) = source.filter(|_| self.source != source) {
            view.source(number, self.name(number), &mut Budget(0))?;
            // Whoever showed its first event has written the heading.
            view.text().clear();
            self.memory = None;
        }
        if self.context != context {
            self.memory = None;
        }
        (self.source, self.context) = (source, context);
        view.begin_part(&context);
        Ok(())
    }

    /// The name of a source, where there are several.
    fn name(&self, source: u16) -> Option<&str> {
        self.names.get(usize::from(source)).filter(|_| self.names.len() > 1).map(String::as_str)
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

    /// Shows a batch; `full` may take the text once there is enough of it.
    fn batch(
        &mut self,
        batch: &Batch,
        view: &mut dyn View,
        mut full: impl FnMut(&mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<ControlFlow<()>, Failure> {
        let before = self.source.replace(batch.source);
        if before != Some(batch.source) {
            if before.is_some() {
                self.context = Context::default();
                self.memory = None;
            }
            let mut budget = self.budget;
            view.source(batch.source, self.name(batch.source), &mut budget)?;
            self.budget = budget;
        }
        let (mut number, mut at) = (batch.first_instruction, 0);
        while let Some(event) = batch.events.get(at) {
            if !self.is_limited {
                let steps = view.steps(batch, &batch.events[at..]);
                (number, at) = (number + steps as u64, at + steps);
                if steps > 0 {
                    if view.text().len() >= BLOCK {
                        full(view.text())?;
                    }
                    continue;
                }
            }
            let flow = match event.kind {
                EventKind::Run(run)
                    if self.expands
                        && !run.withdrawn
                        && !self.is_limited
                        && self.run(batch.source, view, &run, number) =>
                {
                    ControlFlow::Continue(())
                }
                EventKind::Run(run) if self.expands && !run.withdrawn => {
                    self.shown.doubtful += u64::from(run.doubtful && self.window.is_open);
                    let memory = self.take_memory(batch.source);
                    let (mut at, mut flow) = (number, Ok(ControlFlow::Continue(())));
                    expand(&memory, &run, batch.accesses_of(&run), |kind| {
                        if matches!(flow, Ok(ControlFlow::Continue(()))) {
                            flow = self.event(batch, &Event { kind, ..*event }, at, view);
                            at += kind.instructions();
                        }
                    });
                    self.memory = Some(memory);
                    flow?
                }
                EventKind::Context(n) => {
                    let flow = self.event(batch, event, number, view)?;
                    let before = self.context;
                    self.context.update(&batch.contexts[n as usize]);
                    if self.context != before {
                        self.memory = None;
                    }
                    flow
                }
                _ => self.event(batch, event, number, view)?,
            };
            if view.text().len() >= BLOCK {
                full(view.text())?;
            }
            if flow.is_break() {
                return Ok(flow);
            }
            number += event.kind.instructions();
            at += 1;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Shows a run at once, where the view can.
    fn run(&mut self, source: u16, view: &mut dyn View, run: &Run, number: u64) -> bool {
        let memory = self.take_memory(source);
        let is_shown = view.run(&memory, run, number);
        self.memory = Some(memory);
        is_shown
    }

    /// To be put back. Threads that clone it for every run, and so change one count in turn, are slower than one alone.
    fn take_memory(&mut self, source: u16) -> Arc<Memory> {
        self.memory.take().unwrap_or_else(|| program(self.programs, source).memory(&self.context))
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

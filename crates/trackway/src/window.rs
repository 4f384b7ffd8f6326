//! The part of a trace between two positions.

use trackway_core::{Batch, Census, Context, Event, EventKind, Meta, Result, Saved, Source, State};

use crate::position::{Follow, Position, Tally};

/// A window on the events of a source: from one position up to another, which is not in it.
#[derive(Clone, Debug)]
pub struct Window {
    from: Option<Follow>,
    to: Option<Follow>,
    /// The end is the next of its kind after the beginning.
    to_is_next: bool,
    /// The end was reached.
    pub is_over: bool,
    /// The beginning was reached.
    pub is_open: bool,
    /// An instruction is inside.
    pub has_begun: bool,
}

/// Where an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the window.
    Before,
    /// In it.
    Inside,
    /// After it, as everything that follows.
    After,
}

impl Window {
    /// A window on the events after a place with `before` it.
    pub fn new(from: Option<Position>, to: Option<Position>, before: Tally) -> Self {
        let follow = |position: Option<Position>| position.map(|position| Follow::new(position, before));
        Window {
            is_open: from.is_none(),
            to_is_next: to.as_ref().is_some_and(Position::is_next),
            from: follow(from),
            to: follow(to.filter(|to| *to != Position::End(0))),
            is_over: false,
            has_begun: false,
        }
    }

    /// The place of the next event, whose first instruction has this number. Every event has to be shown, once.
    #[inline]
    pub fn place(&mut self, batch: &Batch, event: &Event, number: u64) -> Place {
        let ends = self.to.as_mut().is_some_and(|to| to.is_reached(batch, event, number));
        self.is_over |= ends && if self.to_is_next { self.has_begun } else { true };
        if !self.is_open {
            self.is_open = self.from.as_mut().is_none_or(|from| from.is_reached(batch, event, number));
            if !self.is_open {
                return Place::Before;
            }
        }
        if self.is_over {
            return Place::After;
        }
        self.has_begun |= event.kind.instructions() > 0;
        Place::Inside
    }
}

/// The events of a window; instructions count from its beginning, and the context there comes first.
pub(crate) struct Windowed {
    inner: Box<dyn Source>,
    window: Window,
    context: Context,
    /// Number of the first instruction inside.
    base: Option<u64>,
    ended: bool,
}

impl Windowed {
    /// A window on `inner`, whose next event comes after `before`.
    pub(crate) fn new(inner: Box<dyn Source>, window: Window) -> Self {
        let context = inner.context();
        Windowed { inner, window, context, base: None, ended: false }
    }

    /// Keeps the events inside.
    fn cut(&mut self, batch: &mut Batch) {
        let events = std::mem::take(&mut batch.events);
        let mut number = batch.first_instruction;
        let mut first = None;
        for event in events {
            let place = self.window.place(batch, &event, number);
            if place == Place::After {
                self.ended = true;
                break;
            }
            if place == Place::Inside {
                first = first.or(Some(number));
                if self.base.is_none() {
                    self.base = Some(number);
                    if self.context != Context::default() {
                        batch.push_context(event.offset, self.context);
                    }
                }
                batch.events.push(event);
            }
            if let EventKind::Context(n) = event.kind {
                self.context.update(&batch.contexts[n as usize]);
            }
            number += event.kind.instructions();
        }
        let base = self.base.unwrap_or(0);
        batch.first_instruction = first.unwrap_or(base).saturating_sub(base);
        for state in &mut batch.states {
            if let State::PageWalk(walk) = state {
                walk.first_use = walk.first_use.saturating_sub(base);
            }
        }
    }
}

impl Source for Windowed {
    fn meta(&self) -> &Meta {
        self.inner.meta()
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        loop {
            if self.ended || !self.inner.fill(batch)? {
                batch.clear();
                return Ok(false);
            }
            self.cut(batch);
            if !batch.events.is_empty() {
                return Ok(true);
            }
        }
    }

    fn resync(&mut self) -> Result<bool> {
        self.inner.resync()
    }

    fn save(&self) -> Option<Saved> {
        None
    }

    fn context(&self) -> Context {
        self.context
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.inner.progress()
    }

    fn doubtful(&self) -> u64 {
        self.inner.doubtful()
    }

    fn census(&self) -> Census {
        // The items of the whole trace are not those of the window.
        Census::default()
    }
}

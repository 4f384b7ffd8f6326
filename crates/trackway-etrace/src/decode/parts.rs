//! One source in parts: decoded one after the other, or on several threads at once for observers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use trackway_core::*;

use super::cuts::{Part, Scanner};
use super::serial::{Notes, Serial};
use super::setup::Setup;

/// Parts per thread that one call shows.
const PARTS: usize = 64;

/// The parts of a source.
#[derive(Debug)]
pub(crate) struct Parts {
    scanner: Scanner,
    /// The part at hand, where it is decoded in order.
    current: Option<Box<Serial>>,
    /// Parts to be decoded before those that the scanner gives.
    again: VecDeque<Part>,
    jobs: usize,
    /// Batches to use again.
    spare: Spare<Batch>,
}

/// An observer, and what its batches are told.
pub(crate) struct Shown<'o> {
    pub(crate) observer: &'o mut dyn Observer,
    pub(crate) source: u16,
    /// Instructions so far.
    pub(crate) instructions: &'o mut u64,
}

/// What a part gave.
struct Made {
    part: Part,
    observer: Box<dyn Observer>,
    instructions: u64,
    notes: Notes,
    /// What stopped it, and how it goes on from there.
    failed: Option<(Error, Box<Serial>)>,
}

impl Shown<'_> {
    /// Shows all up to the end or to an error.
    fn show(&mut self, serial: &mut Serial, batch: &mut Batch, notes: &mut Notes) -> Result<()> {
        loop {
            batch.clear();
            let made = serial.fill(batch, notes);
            if !batch.events.is_empty() {
                batch.source = self.source;
                batch.first_instruction = *self.instructions;
                *self.instructions += notes.instructions;
                self.observer.observe(batch);
            }
            if made.is_err() || batch.events.is_empty() {
                return made;
            }
        }
    }
}

impl Parts {
    pub(crate) fn new(scanner: Scanner, jobs: usize) -> Self {
        Parts { scanner, current: None, again: VecDeque::new(), jobs, spare: Spare::default() }
    }

    /// How far it has come.
    pub(crate) fn offset(&self) -> u64 {
        self.scanner.offset()
    }

    /// After an error: is there more?
    pub(crate) fn resync(&mut self) -> Result<bool> {
        let here = self.current.as_mut().map_or(Ok(false), |serial| serial.resync())?;
        Ok(here || !self.again.is_empty() || !self.scanner.is_done())
    }

    /// Adds events to an empty batch until it is full; nothing at the end.
    pub(crate) fn fill(&mut self, batch: &mut Batch, setup: &Setup, notes: &mut Notes) -> Result<()> {
        loop {
            if let Some(serial) = &mut self.current {
                serial.fill(batch, notes)?;
                if !batch.events.is_empty() {
                    return Ok(());
                }
            }
            let Some(part) = self.again.pop_front().or_else(|| self.scanner.next()) else {
                self.current = None;
                return Ok(());
            };
            self.current = Some(Box::new(Serial::part(self.scanner.bytes(), setup, &part)));
        }
    }

    /// Shows the next parts; false at the end.
    pub(crate) fn observe(
        &mut self,
        shown: &mut Shown<'_>,
        setup: &Setup,
        notes: &mut Notes,
    ) -> Result<bool> {
        if let Some(serial) = &mut self.current {
            let mut batch = self.spare.take_or(Batch::default);
            let made = shown.show(serial, &mut batch, notes);
            self.spare.put(batch);
            made?;
            self.current = None;
        }
        let (bytes, spare, source) = (self.scanner.bytes().clone(), &self.spare, shown.source);
        let template = shown.observer.fork();
        let stop = AtomicBool::new(false);
        let mut again = std::mem::take(&mut self.again);
        let scanner = &mut self.scanner;
        let parts = std::iter::from_fn(|| match stop.load(Relaxed) {
            true => None,
            false => again.pop_front().or_else(|| scanner.next()),
        });
        let parts = parts.map(move |part| (part, template.fork()));
        let work = |(part, mut observer): (Part, Box<dyn Observer>)| {
            let (mut notes, mut instructions) = (Notes::default(), 0);
            let mut serial = Box::new(Serial::part(&bytes, setup, &part));
            let mut batch = spare.take_or(Batch::default);
            let mut shown = Shown { observer: &mut *observer, source, instructions: &mut instructions };
            let made = shown.show(&mut serial, &mut batch, &mut notes);
            spare.put(batch);
            Made { part, observer, instructions, notes, failed: made.err().map(|error| (error, serial)) }
        };
        let (mut count, mut failed, mut later) = (0, None, VecDeque::new());
        let join = |made: Made| {
            count += 1;
            if failed.is_some() {
                // It comes after what could not be followed: whether it is shown, the caller decides.
                later.push_back(made.part);
                return Ok::<(), Error>(());
            }
            shown.observer.merge(made.observer);
            *shown.instructions += made.instructions;
            notes.census.merge(&made.notes.census);
            if made.failed.is_some() {
                notes.fault = made.notes.fault;
                failed = made.failed;
                stop.store(true, Relaxed);
            }
            Ok(())
        };
        in_order(self.jobs, parts.take(PARTS * self.jobs), work, join)?;
        later.extend(again);
        self.again = later;
        match failed {
            Some((error, serial)) => {
                self.current = Some(serial);
                Err(error)
            }
            None => Ok(count > 0),
        }
    }
}

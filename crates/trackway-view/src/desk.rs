//! Threads that read one source of a trace each, and answer questions about it one after the other.

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use trackway::index::Index;
use trackway::machine::Machine;
use trackway::{Options, Trace};
use trackway_core::{Batch, EventKind, Meta, Source};
use trackway_image::{Image, Listing};
use trackway_isa::Style;

use crate::tables::Damage;

/// An answer, or why there is none, in words.
pub(crate) type Answer<T> = Result<T, String>;

/// A trace to view.
#[derive(Clone, Debug)]
pub struct File {
    /// Its file or folder.
    pub path: PathBuf,
    /// How to open it.
    pub options: Options,
}

/// The index of a file, once somebody has made it.
pub(crate) type Shared = Arc<OnceLock<Arc<Index>>>;

/// One source of a trace, open.
pub(crate) struct Desk {
    pub(crate) trace: Trace,
    pub(crate) programs: Vec<Arc<Image>>,
    pub(crate) listing: Listing,
    pub(crate) meta: Meta,
    index: Shared,
}

/// Damage on the way, and how far reading came.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Passed {
    /// Errors, each with the number of the next instruction.
    pub(crate) errors: Vec<(u64, String)>,
}

/// Errors that are kept.
const ERRORS: usize = 100;

impl Passed {
    pub(crate) fn note(&mut self, number: u64, error: &trackway_core::Error) {
        if self.errors.len() < ERRORS {
            self.errors.push((number, error.to_string()));
        }
    }

    /// For the page.
    pub(crate) fn damage(self) -> Vec<Damage> {
        self.errors.into_iter().map(|(n, text)| Damage { n, text }).collect()
    }
}

/// A usable index: complete, with the state of the machine.
pub(crate) fn usable(trace: &mut Trace) -> Option<Arc<Index>> {
    let index = trace.index()?;
    let is_whole = index
        .sources
        .values()
        .all(|part| part.is_complete && part.checkpoints.iter().all(|one| one.machine.is_some()));
    (is_whole && !index.sources.is_empty()).then_some(index)
}

impl Desk {
    fn open(file: &File, index: Shared) -> Answer<Self> {
        let words = |error: trackway::Error| error.to_string();
        let mut trace = file.options.open(&file.path).map_err(words)?;
        let programs = trace.programs().map_err(words)?;
        let listing = Listing::new(trackway_image::program(&programs, 0), Style::default());
        // Names of threads do not repeat the source.
        let meta = Meta { sources: Vec::new(), ..trace.meta().clone() };
        Ok(Desk { trace, programs, listing, meta, index })
    }

    /// Everything is known of the trace: windows will not change.
    pub(crate) fn has_index(&self) -> bool {
        self.index.get().is_some()
    }

    /// Takes the index that was made in the meantime.
    fn catch_up(&mut self) {
        if let Some(index) = self.index.get()
            && usable(&mut self.trace).is_none()
        {
            // Without it everything is read from the start.
            let _ = self.trace.set_index(Arc::clone(index));
        }
    }
}

/// Somebody who reads a window of a trace.
pub(crate) trait Reader {
    /// The state at the first instruction.
    fn start(&mut self, machine: &Machine) {
        let _ = machine;
    }

    /// The next events, with runs expanded to steps where the program is known; false if that is enough.
    fn take(&mut self, batch: &Batch) -> bool;
}

/// Reads instructions `[from, to)` and the events before each of them.
pub(crate) fn read(trace: &mut Trace, from: u64, to: u64, reader: &mut dyn Reader) -> Answer<Passed> {
    let words = |error: trackway::Error| error.to_string();
    let (mut source, mut machine) = enter(trace, from).map_err(words)?;
    let (mut batch, mut passed) = (Batch::default(), Passed::default());
    let (mut has_started, mut number) = (false, 0);
    loop {
        match source.fill(&mut batch) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                passed.note(number, &error);
                if !source.resync().map_err(|error| error.to_string())? {
                    break;
                }
                continue;
            }
        }
        number = batch.first_instruction + batch.instructions();
        if batch.first_instruction > to {
            break;
        }
        trim(&mut batch, from, to, &mut machine);
        if batch.events.is_empty() {
            continue;
        }
        if !std::mem::replace(&mut has_started, true) {
            reader.start(&arrived(&machine, &batch));
        }
        if !reader.take(&batch) {
            break;
        }
    }
    if !has_started {
        reader.start(&machine);
    }
    Ok(passed)
}

/// The machine at the first instruction: a call right before it has been entered. After a trap or a gap the events
/// themselves say so.
fn arrived(machine: &Machine, batch: &Batch) -> Machine {
    let mut there = machine.clone();
    let mut number = batch.first_instruction;
    for event in &batch.events {
        if matches!(event.kind, EventKind::Trap(_) | EventKind::Gap(_)) {
            return machine.clone();
        }
        there.apply(batch, event, number);
        number += event.kind.instructions();
        if number > batch.first_instruction {
            break;
        }
    }
    there
}

/// A source at or before an instruction, and the machine there.
fn enter(trace: &mut Trace, number: u64) -> trackway::Result<(Box<dyn Source>, Machine)> {
    let mut source = trace.expanded()?;
    if let Some((index, name)) = trace.index_part()
        && let Some(part) = index.sources.get(&name)
        && let Some((saved, machine)) = part.known_at_or_before(number)
    {
        if source.restore(&saved)? {
            return Ok((source, machine));
        }
        source = trace.expanded()?;
    }
    let machine = Machine::new(source.meta().isa);
    Ok((source, machine))
}

/// Keeps the events of instructions `[from, to)`; those before are applied to the machine. A run that cannot be expanded
/// and crosses an end stays whole.
fn trim(batch: &mut Batch, from: u64, to: u64, machine: &mut Machine) {
    let events = std::mem::take(&mut batch.events);
    let (mut number, mut first) = (batch.first_instruction, None);
    for event in events {
        let count = event.kind.instructions();
        let is_before = if count == 0 { number < from } else { number + count <= from };
        let is_after = if count == 0 { number > to } else { number >= to };
        if is_before {
            machine.apply(batch, &event, number);
        } else if !is_after {
            first.get_or_insert(number);
            batch.events.push(event);
        }
        number += count;
    }
    batch.first_instruction = first.unwrap_or(from);
}

type Job = Box<dyn FnOnce(&mut Desk) + Send>;

/// A thread with a desk.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    send: Sender<Job>,
}

impl Worker {
    /// Opens a trace on a thread of its own.
    pub(crate) fn start(file: &File, index: &Shared) -> Answer<Worker> {
        let (send, receive) = channel::<Job>();
        let (opened, is_open) = channel();
        let (file, index) = (file.clone(), Arc::clone(index));
        std::thread::spawn(move || {
            let mut desk = match Desk::open(&file, index) {
                Ok(desk) => desk,
                Err(error) => return drop(opened.send(Err(error))),
            };
            // The other side is gone only if the server ends.
            let _ = opened.send(Ok(()));
            for job in receive {
                desk.catch_up();
                job(&mut desk);
            }
        });
        is_open.recv().map_err(|_| "the trace cannot be opened".to_string())??;
        Ok(Worker { send })
    }

    /// Asks a question, and waits for the answer.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Desk) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let ended = |_| "the reader of this trace has ended".to_string();
        let (send, receive) = channel();
        let job: Job = Box::new(move |desk| {
            // The visitor may be gone.
            let _ = send.send(question(desk));
        });
        self.send.send(job).map_err(|_| ended(()))?;
        receive.recv().map_err(|_| ended(()))?
    }
}

//! Work items: stretches of a trace that can be read on their own, on any machine.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trackway_core::{Batch, ErrorKind, Observer, Saved, Source, pack, unpack};
use trackway_format::{Error, Result};

use crate::health::Counts;
use crate::slice::Origin;
use crate::trace::Trace;

/// A stretch of a trace, with everything that reading it needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkItem {
    /// The trace.
    pub file: String,
    /// Digest of its size, head and tail.
    pub id: String,
    /// Its format.
    pub format: String,
    /// The one source to decode.
    pub only: Option<String>,
    /// Programs, as `--elf` takes them.
    pub elf: Vec<String>,
    /// Raw images, as `--image` takes them.
    pub image: Vec<String>,
    /// Settings file.
    pub config: Option<String>,
    /// Settings by the names of command-line options.
    pub options: Vec<(String, Value)>,
    /// Number of the item, from 1.
    pub item: usize,
    /// Number of items of the trace.
    pub of: usize,
    /// Bytes of the input that it begins and ends at.
    pub bytes: (u64, u64),
    /// Number of the source that it begins in.
    pub source: u16,
    /// Number of its first instruction, in that source.
    pub instruction: u64,
    /// Instructions in it.
    pub instructions: u64,
    /// Events in it.
    pub events: u64,
    /// Native items in it.
    pub items: u64,
    /// State of the decoder at its start, in hex; the start of the trace has none.
    pub start: Option<String>,
    /// The trace is damaged: one item has all of it, and reading it meets errors.
    pub damaged: bool,
    /// Why there are fewer items than asked for.
    pub why: Option<String>,
}

/// The items of a trace.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In order.
    pub items: Vec<WorkItem>,
    /// Why there are fewer than asked for.
    pub why: Option<String>,
}

/// Reads a trace once and cuts it into `parts` items of about the same size.
pub fn plan(trace: &Trace, parts: usize) -> Result<Plan> {
    plan_with(trace, parts, &mut ())
}

/// Sees a trace while it is planned: for analyses whose parts depend on what is before them.
pub trait Witness {
    /// The next events.
    fn batch(&mut self, batch: &Batch) {
        let _ = batch;
    }

    /// An item begins here. The last one may turn out empty and is then dropped; a damaged trace is one item in the end.
    fn cut(&mut self) {}
}

impl Witness for () {}

/// As [`plan`], and `witness` sees everything.
pub fn plan_with(trace: &Trace, parts: usize, witness: &mut dyn Witness) -> Result<Plan> {
    let of = Origin::of(trace)?;
    let base = WorkItem {
        file: trace.path().map_or_else(|| "-".into(), |path| path.display().to_string()),
        id: of.id,
        format: trace.format().id().to_string(),
        ..WorkItem::default()
    };
    let mut source = trace.reopen()?.events()?;
    let (mut items, mut damage) = (vec![base.clone()], None);
    let (mut batch, mut position, mut census) = (Batch::default(), 0, 0);
    loop {
        match source.fill(&mut batch) {
            Ok(false) => break,
            Ok(true) => {}
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error.into()),
            Err(error) => {
                damage.get_or_insert(error);
                if source.resync().unwrap_or(false) {
                    continue;
                }
                break;
            }
        }
        witness.batch(&batch);
        if let Some(last) = items.last_mut() {
            last.instructions += batch.instructions();
            last.events += batch.events.len() as u64;
        }
        let Some((at, size)) = source.progress() else { continue };
        position = at;
        let due = u128::from(at) * parts as u128 >= u128::from(size) * items.len() as u128;
        if !due || items.len() >= parts || at >= size {
            continue;
        }
        let Some((saved, bytes)) = source.save().and_then(|saved| Some((saved.clone(), pack(&saved)?)))
        else {
            continue;
        };
        let total = source.census().total();
        if let Some(last) = items.last_mut().filter(|last| last.events > 0) {
            (last.bytes.1, last.items) = (at, total - census);
            census = total;
            witness.cut();
            items.push(WorkItem {
                bytes: (at, at),
                source: saved.source,
                instruction: saved.instruction,
                start: Some(hex(&bytes)),
                ..base.clone()
            });
        }
    }
    let total = source.census().total();
    // Nothing came after the last place.
    if items.len() > 1 && items.last().is_some_and(|last| last.events == 0) {
        items.pop();
        census = items.iter().rev().skip(1).map(|item| item.items).sum();
    }
    if let Some(last) = items.last_mut() {
        (last.bytes.1, last.items) = (position, total - census);
    }
    let mut why = None;
    if let Some(error) = damage {
        let all = items.iter().fold(base, |mut all, item| {
            (all.instructions, all.events) = (all.instructions + item.instructions, all.events + item.events);
            all
        });
        items = vec![WorkItem { bytes: (0, position), items: total, damaged: true, ..all }];
        why = Some(format!("the trace is damaged, so it is one item: {error}"));
    } else if items.len() < parts {
        let found = items.len();
        why = Some(format!("there are no more places where it can be entered: {found} of {parts} items"));
    }
    let count = items.len();
    for (n, item) in items.iter_mut().enumerate() {
        (item.item, item.of, item.why) = (n + 1, count, why.clone());
    }
    Ok(Plan { items, why })
}

impl WorkItem {
    /// Where it begins; `None` at the start of the trace.
    pub fn saved(&self) -> Result<Option<Saved>> {
        let Some(text) = &self.start else { return Ok(None) };
        let saved = read_hex(text).and_then(|bytes| unpack(&bytes));
        saved.map(Some).ok_or_else(|| Error::Config("the start of the item is not one".into()))
    }

    /// Shows its events to `observer`, from a source of its trace before the first event.
    pub fn observe(&self, source: &mut dyn Source, observer: &mut dyn Observer) -> Result<Counts> {
        self.read(source, &mut |batch| {
            observer.observe(batch);
            true
        })
    }

    /// Shows its events to `visit`, until that returns false, from a source of its trace before the first event.
    pub fn read(&self, source: &mut dyn Source, visit: &mut dyn FnMut(&Batch) -> bool) -> Result<Counts> {
        let changed = || Error::Config(format!("{}: not the trace that the item was made for", self.file));
        if let Some(saved) = self.saved()?
            && !source.restore(&saved)?
        {
            return Err(changed());
        }
        let (mut batch, mut counts, mut left) = (Batch::default(), Counts::default(), self.events);
        while left > 0 {
            if !source.fill(&mut batch)? {
                return Err(changed());
            }
            batch.events.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            left -= batch.events.len() as u64;
            counts.observe(&batch);
            if !visit(&batch) {
                return Ok(counts);
            }
        }
        if counts.instructions == self.instructions { Ok(counts) } else { Err(changed()) }
    }
}

/// Bytes as hex digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// The bytes of hex digits; `None` if they are not.
pub fn read_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |&[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

//! The declaration of a kind of log, from which everything else comes.

use std::fmt::Debug;
use std::sync::Arc;

use memchr::memchr;
use serde::Serialize;
use serde::de::DeserializeOwned;
use trackway_core::{Batch, Finding, FormatId, Item, Meta, Rule, SharedBytes, Sink, pack, unpack};
use trackway_format::{Error, Format, Key, Omits, Program, Recognised, Result, Settings, Writing};
use trackway_image::Image;

use crate::lines::{Line, Wrong};

/// A kind of log. A value of the type is one opened log: its settings, its dialect, its cores.
pub(crate) trait Log: Debug + Send + Sync + Sized + 'static {
    /// The format's id.
    const ID: FormatId;
    /// The format's name for people.
    const TITLE: &'static str;
    /// The log's name in errors: `Tarmac`.
    const NAME: &'static str;
    /// File name extensions.
    const EXTENSIONS: &'static [&'static str];
    /// Settings; a format has at least one.
    const KEYS: &'static [Key];
    /// Rules, [`SYNTAX`](Log::SYNTAX) first.
    const RULES: &'static [&'static Rule];
    /// The rule of a line that cannot be read.
    const SYNTAX: &'static Rule;
    /// Kinds of lines, for the census; [`Lift::line`] returns an index of them.
    const KINDS: &'static [&'static str];
    /// True if units are lines of text, whose ends are cut off.
    const TEXT: bool = true;

    /// Bytes before a place that show most of the state there, for a log where that depends on any earlier line; 0 if
    /// the group before shows all of it.
    const LOOK_BACK: usize = 0;

    /// Parts of a core's state that no such log has.
    const OMITS: Omits = Omits::NOTHING;

    /// True if [`create`](Log::create) writes it.
    const WRITTEN: bool = false;

    /// True if [`open`](Log::open) asks for a [survey](Start::survey).
    const SURVEYS: bool = false;

    /// True if it can be cut before any group: the lines from there on are a log of their own.
    const CUTS: bool = false;

    /// Lines to events.
    type Lift: Lift;
    /// Lines to findings.
    type Check: Check;

    /// Is this one of its files?
    fn recognise(head: &[u8]) -> Recognised;

    /// Opens a log: its dialect and its cores.
    fn open(start: &Start<'_>) -> Result<Self>;

    /// The description of the log.
    fn meta(&self) -> Meta;

    /// Facts about the file, by name.
    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The survey that it was opened with, packed.
    fn survey(&self) -> Option<Vec<u8>> {
        None
    }

    /// The program that it is lifted with, where it needs one.
    fn programs(&self) -> Vec<Arc<Image>> {
        Vec::new()
    }

    /// The state at the start of a source, an index of [`Meta::sources`]; 0 where it names none.
    fn lift(&self, source: usize) -> Self::Lift;

    /// The state at the start of checking.
    fn check(&self) -> Self::Check;

    /// The line's kind into `item.name`, its meaning into `item.text`.
    fn describe(&self, line: &Line<'_>, item: &mut Item) -> Result<(), Wrong>;

    /// Length of the first unit of `bytes` with its end, if all of it is there.
    #[inline(always)]
    fn unit(bytes: &[u8]) -> Option<usize> {
        memchr(b'\n', bytes).map(|at| at + 1)
    }

    /// The first place after `at` where a unit begins; `bytes` begins with one.
    fn boundary(bytes: &[u8], at: usize) -> Option<usize> {
        Self::unit(bytes.get(at..)?).map(|length| at + length)
    }

    /// Starts a log that takes events.
    fn create(writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        let _ = (writing, meta);
        let name = Self::NAME;
        Err(Error::Unsupported(format!("{name} is read, not written: choose another format for the output")))
    }
}

/// Everything that opening a log may need.
#[derive(Clone, Copy)]
pub(crate) struct Start<'s> {
    /// The format, for its section of the settings.
    pub(crate) format: &'s dyn Format,
    /// Settings given, or found beside the file.
    pub(crate) settings: &'s Settings,
    /// The first 64 KiB.
    pub(crate) head: &'s [u8],
    /// All bytes, where they are in memory.
    pub(crate) whole: Option<&'s SharedBytes>,
    /// The survey of an earlier opening.
    pub(crate) surveyed: Option<&'s [u8]>,
    /// The program that ran, as the user named it.
    pub(crate) program: &'s Program,
    /// The one source to decode.
    pub(crate) source: Option<&'s str>,
}

impl Start<'_> {
    /// Adds to `found` what all bytes show, or takes it from an earlier survey; returns it with its packed form, where all
    /// bytes were there to be seen.
    pub(crate) fn survey<S: Serialize + DeserializeOwned>(
        &self,
        mut found: S,
        mut look: impl FnMut(&mut S, u64, &[u8]),
    ) -> (S, Option<Vec<u8>>) {
        if let (Some(bytes), Some(known)) = (self.surveyed, self.surveyed.and_then(unpack)) {
            return (known, Some(bytes.to_vec()));
        }
        self.stretches(|offset, bytes| look(&mut found, offset, bytes));
        let packed = self.whole.and_then(|_| pack(&found));
        (found, packed)
    }

    /// Shows all bytes that are known, in stretches of whole lines with their offsets. Of a mapped file only a stretch
    /// stays in memory.
    pub(crate) fn stretches(&self, mut look: impl FnMut(u64, &[u8])) {
        const STRETCH: usize = 1 << 24;
        let Some(whole) = self.whole else { return look(0, self.head) };
        let bytes: &[u8] = (**whole).as_ref();
        let mut at = 0;
        while at < bytes.len() {
            let end = bytes.len().min(at + STRETCH);
            let end = memchr(b'\n', &bytes[end..]).map_or(bytes.len(), |more| end + more + 1);
            look(at as u64, &bytes[at..end]);
            whole.release(at..end);
            at = end;
        }
    }
}

/// Turns the lines of one source into events. Lines come in order.
///
/// A *group* is an instruction and the lines that belong to it. Batches end between groups, and so do the parts that
/// threads work on, so the state there is small: no event of the batch before changes any more.
pub(crate) trait Lift: Clone + Send + Sync {
    /// The state between two groups. That after a group depends on the group alone, or parts are lifted twice.
    type State: Serialize + DeserializeOwned + PartialEq + Send;

    /// Takes a line; returns its kind, or a number beyond [`Log::KINDS`] for a line of another source. A line that
    /// begins a group ends the one before; if `full`, it is then declined with `None`.
    fn line(&mut self, line: &Line<'_>, full: bool, batch: &mut Batch) -> Result<Option<usize>, Wrong>;

    /// Ends a group: nothing is known of what follows it. A group of more than a few thousand lines ends itself.
    fn end(&mut self, batch: &mut Batch);

    /// True within a group.
    fn is_open(&self) -> bool;

    /// True for a line that begins a group, for which [`line`](Lift::line) cannot fail.
    fn begins(&self, line: &Line<'_>) -> bool;

    /// The state, between two groups.
    fn state(&self) -> Self::State;

    /// Continues in the middle, with the state of an earlier place: what follows shows the rest.
    fn enter(&mut self) {}

    /// Continues from a state.
    fn set_state(&mut self, state: Self::State);
}

/// Checks the lines of a log.
pub(crate) trait Check {
    /// Takes a line in, and reports what contradicts it.
    fn line(&mut self, line: &Line<'_>, report: &mut Report<'_>) -> Result<(), Wrong>;

    /// The log has ended.
    fn end(&mut self, report: &mut Report<'_>) {
        let _ = report;
    }
}

/// Takes findings: a rule, the place and number of the line, words.
pub(crate) struct Report<'r> {
    pub(crate) to: &'r mut dyn FnMut(Finding),
    /// `line` or `packet`.
    pub(crate) unit: &'static str,
}

impl Report<'_> {
    /// Reports a finding at a line, given by its offset and number.
    #[cold]
    pub(crate) fn put(&mut self, rule: &'static Rule, (offset, number): (u64, u64), words: &str) {
        let message = format!("{} {number}: {words}", self.unit);
        (self.to)(Finding { rule, offset, item: number - 1, message });
    }
}

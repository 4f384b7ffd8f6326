//! Spike's commit log (`--log-commits`), also mixed with the log of instructions (`-l`).
//!
//! A commit has all that an instruction did but for its next address. An instruction that traps has no commit: with
//! `-l` its text and the exception are there, else only the jump to the handler.

mod line;
mod rules;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use memchr::memchr_iter;
use trackway_core::*;
use trackway_format::{Key, Omits, Recognised, Writing};

use crate::lines::{Line, Wrong, of_head};
use crate::log::{Check, Lift, Log, Report, Start};
use crate::riscv::check::{Checker, Rules};
use crate::riscv::handlers::Handlers;
use crate::riscv::pair::{Pair, lift_by_pair};
use crate::riscv::record::Retired;
use crate::riscv::{isa_of, pick};
use crate::scan::Scan;
use line::Kind;

trackway_format::settings! {
    /// `[spike]` in the settings.
    #[derive(Clone, Copy, Debug, Default)]
    struct Section {
        /// Width of integer registers in bits, 32 or 64; the addresses of a log show it.
        xlen: Option<u32> = "64",
        /// Width of floating-point registers in bits to write, 32 or 64.
        flen: Option<u32> = "64",
    }
}

/// An opened log.
#[derive(Debug)]
pub(crate) struct Spike {
    isa: Isa,
    /// Cores to decode.
    harts: Vec<u32>,
    /// All that were seen, in the whole file or in the first bytes of a stream.
    known: Arc<[u32]>,
    /// Instructions are announced by their text.
    announced: bool,
    handlers: Handlers,
    flen: Option<u32>,
    survey: Option<Vec<u8>>,
}

/// Properties of a log that its lines show.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Look {
    harts: Vec<u32>,
    announced: bool,
    /// Digits of an address.
    digits: u8,
    float: u8,
    commits: usize,
    wrong: usize,
}

impl Look {
    fn line(&mut self, text: &[u8]) {
        let mut record = Retired::default();
        match line::read(text, &mut record) {
            Ok(line) if line.kind == Kind::Blank => {}
            Ok(line) => {
                if !self.harts.contains(&line.hart) && self.harts.len() < MOST_CORES {
                    self.harts.push(line.hart);
                }
                self.announced |= line.kind == Kind::Text;
                self.digits = self.digits.max(line.digits.pc);
                self.float = self.float.max(line.digits.float);
                self.commits += usize::from(matches!(line.kind, Kind::Commit | Kind::Text));
            }
            Err(_) => self.wrong += 1,
        }
    }

    /// The cores of all lines, and whether any is a text. Of lines that begin alike the first is read.
    fn all(&mut self, bytes: &[u8]) {
        /// `core   0: 3` and `core   0: 0x` differ in their twelfth byte.
        const LOOK: usize = 12;
        let (mut start, mut seen): (usize, Vec<[u8; LOOK]>) = (0, Vec::new());
        for end in memchr_iter(b'\n', bytes) {
            let line = &bytes[start..end];
            start = end + 1;
            let Some((begin, _)) = line.split_first_chunk::<LOOK>() else { continue };
            if seen.contains(begin) {
                continue;
            }
            self.line(line.strip_suffix(b"\r").unwrap_or(line));
            // An old commit begins like a text.
            let is_sure = !begin.ends_with(b"0x") || self.announced;
            if is_sure && seen.len() < 16 {
                seen.push(*begin);
            }
        }
    }
}

impl Log for Spike {
    const ID: FormatId = FormatId::new("spike");
    const TITLE: &'static str = "Spike commit log";
    const NAME: &'static str = "Spike";
    const EXTENSIONS: &'static [&'static str] = &["spike", "log"];
    const KEYS: &'static [Key] = Section::KEYS;
    const RULES: &'static [&'static Rule] = rules::RULES;
    const SYNTAX: &'static Rule = &rules::LINE;
    const KINDS: &'static [&'static str] = &["commit", "text", "exception", "tval", "symbol", "blank"];
    const WRITTEN: bool = true;
    const SURVEYS: bool = true;
    const CUTS: bool = true;
    const OMITS: Omits = Omits { implied: true, ..Omits::NOTHING };

    type Lift = Lifting;
    type Check = Checking;

    fn recognise(head: &[u8]) -> Recognised {
        let mut look = Look::default();
        of_head(head).take(32).for_each(|line| look.line(line));
        (look.commits > 0 && look.commits >= look.wrong).into()
    }

    fn open(start: &Start<'_>) -> trackway_format::Result<Self> {
        let section: Section = start.settings.of_format(start.format)?;
        let mut look = Look::default();
        of_head(start.head).take(4096).for_each(|line| look.line(line));
        let found = (look, Handlers::default());
        let ((mut look, handlers), survey) = start.survey(found, |(look, handlers), offset, bytes| {
            look.all(bytes);
            handlers.of_text(offset, bytes, b"tvec 0x");
        });
        look.harts.sort_unstable();
        let shown = if look.digits > 8 || look.digits == 0 { Isa::Rv64 } else { Isa::Rv32 };
        let isa = isa_of(section.xlen, "spike")?.unwrap_or(shown);
        let harts = pick(&look.harts, start.source, |hart| format!("core {hart}"))?;
        let flen = Some(4 * u32::from(look.float)).filter(|flen| *flen > 0);
        let (known, announced) = (look.harts.into(), look.announced);
        Ok(Spike { isa, harts, known, announced, handlers, flen, survey })
    }

    fn meta(&self) -> Meta {
        let several = self.known.len() > 1 || self.known.first().is_some_and(|hart| *hart > 0);
        let sources = self.harts.iter().filter(|_| several).map(|hart| format!("core {hart}")).collect();
        let flen = self.flen.map(|flen| ("flen".to_string(), flen.to_string()));
        let notes = flen.into_iter().collect();
        let level = if self.announced { "commits and instructions" } else { "commits" };
        Meta { sources, notes, level: Some(level.to_string()), ..Meta::new(Self::ID, self.isa) }
    }

    fn survey(&self) -> Option<Vec<u8>> {
        self.survey.clone()
    }

    fn lift(&self, source: usize) -> Lifting {
        Lifting {
            pair: Pair::new(self.isa, self.handlers.clone()),
            hart: self.harts.get(source).copied(),
            known: Arc::clone(&self.known),
            announced: self.announced,
            text: false,
        }
    }

    fn check(&self) -> Checking {
        Checking { isa: self.isa, cores: BTreeMap::new(), record: Retired::default() }
    }

    fn describe(&self, line: &Line<'_>, item: &mut Item) -> Result<(), Wrong> {
        let read = line::read(line.text, &mut Retired::default())?;
        item.name = Self::KINDS[read.kind as usize];
        item.text.push_str(&String::from_utf8_lossy(line.text));
        Ok(())
    }

    fn create(writing: Writing<'_>, meta: &Meta) -> trackway_format::Result<Box<dyn Sink>> {
        let section: Section = writing.settings.section(Self::ID.as_str())?;
        write::create(writing, meta, section.xlen, section.flen)
    }
}

/// Lines of one core to events.
#[derive(Clone, Debug)]
pub(crate) struct Lifting {
    pair: Pair,
    /// The core; none in a log without lines.
    hart: Option<u32>,
    known: Arc<[u32]>,
    announced: bool,
    /// The record that waits has its text only, no commit.
    text: bool,
}

/// A line of another core.
const ELSEWHERE: usize = usize::MAX;

/// A core that came up later than the first bytes of a stream.
const STRANGER: Wrong =
    Wrong { column: 4, expected: "a core of the first 64 KiB: name a file, not a stream" };

impl Lift for Lifting {
    lift_by_pair!();

    #[inline(always)]
    fn line(&mut self, line: &Line<'_>, full: bool, batch: &mut Batch) -> Result<Option<usize>, Wrong> {
        if let Ok(hart) = line::hart(&mut Scan::new(line.text))
            && self.hart.is_some_and(|own| own != hart)
        {
            return if self.known.contains(&hart) { Ok(Some(ELSEWHERE)) } else { Err(STRANGER) };
        }
        self.text &= self.pair.is_open;
        let Pair { current, incoming, .. } = &mut self.pair;
        incoming.clear(line.offset);
        let read = line::read(line.text, incoming)?;
        let kind = Some(read.kind as usize);
        match read.kind {
            Kind::Commit if self.text && current.pc == incoming.pc => {
                // The record begins with its text.
                incoming.offset = current.offset;
                std::mem::swap(current, incoming);
                self.text = false;
            }
            Kind::Exception if self.text && current.pc == incoming.pc => {
                current.trap = incoming.trap;
                self.text = false;
            }
            Kind::Tval => {
                if let (Some(trap), Some(value)) = (&mut current.trap, incoming.trap) {
                    trap.value = value.value;
                }
            }
            Kind::Symbol | Kind::Blank => {}
            Kind::Commit | Kind::Text | Kind::Exception => {
                incoming.is_trap_only = read.kind == Kind::Exception;
                if !self.pair.begin(full, batch) {
                    return Ok(None);
                }
                self.text = read.kind == Kind::Text;
            }
        }
        Ok(kind)
    }

    fn begins(&self, line: &Line<'_>) -> bool {
        let first = if self.announced { Kind::Text } else { Kind::Commit };
        line::read(line.text, &mut Retired::default())
            .is_ok_and(|read| read.kind == first && self.hart.is_none_or(|hart| hart == read.hart))
    }
}

/// Lines of all cores to findings.
#[derive(Debug)]
pub(crate) struct Checking {
    isa: Isa,
    cores: BTreeMap<u32, Core>,
    record: Retired,
}

/// State of a core.
#[derive(Debug)]
struct Core {
    checker: Checker,
    /// Address and encoding of an instruction that was announced and is not committed.
    announced: Option<(u64, u32)>,
}

/// Most cores that are checked: a damaged number is not one more.
const MOST_CORES: usize = 4096;

const RULES: Rules = Rules { flow: &rules::FLOW, text: &rules::TEXT, effects: &rules::EFFECTS };

impl Check for Checking {
    fn line(&mut self, line: &Line<'_>, report: &mut Report<'_>) -> Result<(), Wrong> {
        let record = &mut self.record;
        record.clear(line.offset);
        let read = line::read(line.text, record)?;
        let place = (line.offset, line.number);
        if self.cores.len() >= MOST_CORES && !self.cores.contains_key(&read.hart) {
            return Ok(());
        }
        let isa = self.isa;
        let fresh = || Core { checker: Checker::new(isa, RULES), announced: None };
        let core = self.cores.entry(read.hart).or_insert_with(fresh);
        match read.kind {
            Kind::Text => {
                core.announced = record.pc.zip(Some(record.encoding));
                core.checker.record(record, read.text, place, report);
            }
            Kind::Commit => match core.announced.take().filter(|(pc, _)| record.pc == Some(*pc)) {
                Some((_, encoding)) if encoding != record.encoding => {
                    let words = format!("{:#x} was announced as {encoding:#x}", record.encoding);
                    report.put(&rules::COMMIT, place, &words);
                }
                Some(_) => core.checker.again(record, place, report),
                None => core.checker.record(record, &[], place, report),
            },
            Kind::Exception => core.checker.forget(),
            Kind::Tval | Kind::Symbol | Kind::Blank => {}
        }
        Ok(())
    }
}

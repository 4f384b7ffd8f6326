//! How well settings and a program fit a trace: packets that are legal, and how far the program can be followed.

use std::hash::{DefaultHasher, Hash, Hasher};

use trackway::events::{Batch, EventKind, GapReason, Observer, Severity};
use trackway::format::{Program, Settings};
use trackway::{Options, ProgramCheck, Trace, Verdict};

/// Instructions after which a trial ends.
const MOST_INSTRUCTIONS: u64 = 4 << 20;
/// Instructions that a byte of a short excerpt may mean.
const PER_BYTE: u64 = 64;
/// Errors after which a trial ends.
const MOST_ERRORS: u64 = 10_000;
/// Addresses without code that are kept.
const MOST_ADDRESSES: usize = 256;
/// Bytes at the end of a cut excerpt in which errors mean nothing.
const CUT: u64 = 64;
/// Reasons that are kept, as text.
const MOST_REASONS: usize = 3;

/// The result of decoding an excerpt once.
#[derive(Clone, Debug, Default)]
pub struct Fit {
    /// Native items.
    pub items: u64,
    /// Instructions followed; none where the path was not followed for want of a program.
    pub instructions: Option<u64>,
    /// Errors that ended or interrupted decoding.
    pub errors: u64,
    /// Places where the program has no code or no such path.
    pub unfollowed: u64,
    /// Runs that the program contradicts.
    pub doubtful: u64,
    /// Gaps because synchronisation was lost or the input is bad.
    pub lost: u64,
    /// Violations of the rules of the format.
    pub findings: u64,
    /// Packets that are legal and unusual.
    pub notes: u64,
    /// Bytes skipped.
    pub skipped: u64,
    /// Encodings beside those of the program, where the trace has them.
    pub program: Option<Verdict>,
    /// The first reasons against, for people.
    pub against: Vec<String>,
    /// Addresses that the trace names and the program does not have.
    pub(super) addresses: Vec<u64>,
}

impl Fit {
    /// Everything that speaks against, in items.
    pub fn troubles(&self) -> u64 {
        let wrong = self.program.map_or(0, |verdict| verdict.different + verdict.unmapped);
        let sum = self.errors + self.unfollowed + self.doubtful + self.lost + self.findings + wrong;
        let sum = sum + self.skipped / 4;
        // A path that begins nowhere explains nothing.
        if self.instructions == Some(0) { sum + self.items } else { sum }
    }

    /// Items without trouble, of a hundred.
    pub fn percent(&self) -> u64 {
        match self.items {
            0 => 0,
            items => 100 * (items - self.troubles().min(items)) / items,
        }
    }

    /// True if nothing speaks against.
    pub fn is_clean(&self) -> bool {
        self.items > 0 && self.troubles() == 0 && self.instructions != Some(0)
    }

    /// The order of fits, the best first; `doubts` are reasons of the format against them.
    pub(super) fn rank(&self, doubts: usize) -> (bool, u64, usize, u64) {
        let share = |count: u64| count.saturating_mul(1 << 20) / self.items.max(1);
        // Settings that leave much undecoded have little trouble with the rest, and a doubt says so.
        let doubted = doubts as u64 * (self.items / 16).max(4);
        (self.items == 0, share(self.troubles() + doubted), doubts, share(self.notes))
    }
}

/// A trace to try settings on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excerpt<'e> {
    /// Its bytes.
    pub(super) bytes: &'e [u8],
    /// True if there are more.
    pub(super) cut: bool,
}

impl Excerpt<'_> {
    fn is_cut_at(&self, offset: u64) -> bool {
        self.cut && offset + CUT >= self.bytes.len() as u64
    }

    fn most_instructions(&self) -> u64 {
        (PER_BYTE * self.bytes.len() as u64 + (1 << 16)).min(MOST_INSTRUCTIONS)
    }

    /// Its first bytes.
    pub(super) fn first(&self, length: usize) -> Self {
        let length = length.min(self.bytes.len());
        Excerpt { bytes: &self.bytes[..length], cut: self.cut || length < self.bytes.len() }
    }
}

/// Decodes an excerpt with these settings; none where they are refused.
pub(super) fn fit(options: &Options, settings: &Settings, excerpt: Excerpt<'_>) -> Option<Fit> {
    let options = Options { settings: Some(settings.clone()), threads: 1, ..options.clone() };
    let mut fit = Fit::default();
    structure(&options, excerpt, &mut fit)?;
    follow(&options, excerpt, &mut fit)?;
    Some(fit)
}

/// The items alone.
fn structure(options: &Options, excerpt: Excerpt<'_>, fit: &mut Fit) -> Option<()> {
    let bare = Options { program: Program::default(), ..options.clone() };
    let mut trace = bare.open_bytes(excerpt.bytes.to_vec()).ok()?;
    fit.items = trace
        .check(&mut |finding| match finding.rule.severity {
            _ if excerpt.is_cut_at(finding.offset) => {}
            Severity::Note => fit.notes += 1,
            _ => {
                fit.findings += 1;
                if fit.against.len() < MOST_REASONS {
                    fit.against.push(format!("{}: {}", finding.rule.name, finding.message));
                }
            }
        })
        .ok()?;
    Some(())
}

/// The path through the program.
fn follow(options: &Options, excerpt: Excerpt<'_>, fit: &mut Fit) -> Option<()> {
    let mut trace = options.open_bytes(excerpt.bytes.to_vec()).ok()?;
    let _ = follow_trace(&mut trace, Some(excerpt), fit);
    Some(())
}

/// A whole trace as it was opened, up to the limit of instructions.
pub(super) fn fit_trace(trace: &mut Trace) -> trackway::Result<Fit> {
    let mut fit = Fit::default();
    follow_trace(trace, None, &mut fit)?;
    Ok(fit)
}

fn follow_trace(trace: &mut Trace, excerpt: Option<Excerpt<'_>>, fit: &mut Fit) -> trackway::Result<()> {
    let most = excerpt.map_or(MOST_INSTRUCTIONS, |excerpt| excerpt.most_instructions());
    let programs = trace.programs()?;
    let mut check = ProgramCheck::new(trace.meta().isa, &programs);
    let mut source = trace.events()?;
    let mut batch = Batch::default();
    let mut instructions = 0;
    loop {
        let more = source.fill(&mut batch);
        instructions += batch.instructions();
        count(fit, &batch);
        check.observe(&batch);
        match more {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                if !excerpt.is_some_and(|excerpt| excerpt.is_cut_at(error.offset)) {
                    fit.errors += 1;
                    if fit.against.len() < MOST_REASONS {
                        fit.against.push(error.to_string());
                    }
                }
                batch.clear();
                if fit.errors > MOST_ERRORS || !source.resync().unwrap_or(false) {
                    break;
                }
            }
        }
        if instructions > most {
            break;
        }
    }
    if fit.items == 0 {
        fit.items = source.census().total().max(instructions);
    }
    fit.doubtful += source.doubtful();
    fit.instructions = Some(instructions);
    if programs.iter().all(|image| image.is_empty()) && instructions == 0 && fit.unfollowed > 0 {
        // Without a program no path can be followed, which says nothing about the settings.
        (fit.instructions, fit.unfollowed) = (None, 0);
    }
    let unmapped = check.differences().filter(|one| one.program.is_none()).map(|one| one.pc);
    fit.addresses.extend(unmapped.take(MOST_ADDRESSES));
    fit.program = Some(check.verdict()).filter(|verdict| verdict.distinct() > 0);
    Ok(())
}

/// Adds the losses in a batch.
fn count(fit: &mut Fit, batch: &Batch) {
    for event in &batch.events {
        match &event.kind {
            EventKind::Run(run) => fit.doubtful += u64::from(run.doubtful && !run.withdrawn),
            EventKind::Gap(n) => {
                let gap = &batch.gaps[*n as usize];
                fit.skipped += gap.bytes.unwrap_or(0);
                match gap.reason {
                    GapReason::NoCode | GapReason::NoPath => {
                        fit.unfollowed += 1;
                        fit.addresses.extend(gap.from.filter(|_| fit.addresses.len() < MOST_ADDRESSES));
                    }
                    GapReason::LostSync | GapReason::BadInput => fit.lost += 1,
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// A number that differs where the events do.
pub(super) fn digest(options: &Options, settings: &Settings, excerpt: Excerpt<'_>) -> Option<u64> {
    let options = Options { settings: Some(settings.clone()), threads: 1, ..options.clone() };
    let mut trace = options.open_bytes(excerpt.bytes.to_vec()).ok()?;
    let mut source = trace.events().ok()?;
    let mut hasher = DefaultHasher::new();
    let (mut batch, mut line) = (Batch::default(), String::new());
    let (mut instructions, mut errors) = (0, 0);
    while instructions <= excerpt.most_instructions() && errors <= MOST_ERRORS {
        match source.fill(&mut batch) {
            Ok(more) => {
                instructions += batch.instructions();
                for event in &batch.events {
                    line.clear();
                    batch.write_line(event, &mut line);
                    (batch.source, &line).hash(&mut hasher);
                }
                if !more {
                    break;
                }
            }
            Err(error) => {
                errors += 1;
                error.to_string().hash(&mut hasher);
                if !source.resync().unwrap_or(false) {
                    break;
                }
            }
        }
    }
    Some(hasher.finish())
}

/// How well settings fit the trace in `bytes`; none where they are refused.
pub fn weigh(options: &Options, settings: &Settings, bytes: &[u8]) -> Option<Fit> {
    fit(options, settings, Excerpt { bytes, cut: false })
}

//! Is this the program that ran? Encodings of the trace beside those of the program.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, Cancel, Context, EventKind, Finding, Isa, Observer, Step, pack, unpack};
use trackway_format::Result;
use trackway_image::{Image, Memory, program};

use crate::health::{Ended, read_all};
use crate::trace::Trace;

trackway_core::rules! { "program";
    /// Instructions of the trace are those of the program.
    ENCODING = "encoding": Warning, "--elf";
    /// The path of the trace is one through the program.
    PATH = "path": Error, "--elf";
}

/// Findings against the program that may wait for those of the format.
const WAITING: usize = 1 << 10;

/// Checks a trace against the rules of its format, then against its programs; returns the number of items, and why the
/// programs could not be compared. With threads it does both at once; the findings and their order are the same.
pub fn check_with_program(trace: &mut Trace, report: &mut dyn FnMut(Finding)) -> Result<(u64, Result<()>)> {
    let has_program = trace.threads() > 1 && trace.programs().is_ok_and(|programs| !programs.is_empty());
    let Some(reopen) = trace.reopener().ok().filter(|_| has_program) else {
        let items = trace.check(report)?;
        return Ok((items, check_program(trace, report)));
    };
    let (found, waiting) = sync_channel(WAITING);
    let stop = Cancel::default();
    std::thread::scope(|scope| {
        // Dropped where the trace cannot be checked: no thread may then wait for room in it.
        let waiting = waiting;
        let beside = scope.spawn({
            let stop = stop.clone();
            move || compare(&mut reopen()?, &stop, &mut |finding| drop(found.send(finding)))
        });
        let items = trace.check(report).inspect_err(|_| stop.cancel())?;
        waiting.iter().for_each(report);
        let compared = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((items, compared))
    })
}

/// Checks a trace against its programs: `program.encoding` and `program.path`. Nothing where there is no program.
fn check_program(trace: &mut Trace, report: &mut dyn FnMut(Finding)) -> Result<()> {
    compare(trace, &Cancel::default(), report)
}

fn compare(trace: &mut Trace, stop: &Cancel, report: &mut dyn FnMut(Finding)) -> Result<()> {
    let programs = trace.programs()?;
    if programs.is_empty() {
        return Ok(());
    }
    let mut check = ProgramCheck::new(trace.meta().isa, &programs);
    let mut source = trace.events()?;
    let mut batch = Batch::default();
    // Damage is what the format's own check reports.
    let (_, _) = read_all::<Infallible>(
        &mut *source,
        false,
        |source, _| {
            let more = source.fill(&mut batch).map_err(Ended::Error)?;
            check.observe(&batch);
            let mut number = batch.first_instruction;
            for event in &batch.events {
                if let EventKind::Run(run) = event.kind
                    && run.doubtful
                    && !run.withdrawn
                {
                    let message =
                        format!("instruction {number}: the program has no such path at {:#x}", run.start);
                    report(Finding { rule: &PATH, offset: event.offset, item: number, message });
                }
                number += event.kind.instructions();
            }
            Ok(more && !stop.is_cancelled())
        },
        |_, _| {},
    );
    for one in check.differences() {
        report(Finding { rule: &ENCODING, offset: one.offset, item: 0, message: one.to_string() });
    }
    Ok(())
}

/// Addresses that are compared, each once; they settle the question.
const COMPARED: usize = 1 << 16;
/// Addresses of a direct-mapped memory of what was compared last: loops cost one look-up per instruction.
const RECENT: usize = 1 << 12;

/// Compares the encodings of a trace with its program, address by address, while the trace is read.
///
/// ```
/// use std::sync::Arc;
/// use trackway::{ProgramCheck, events::*, image::{Image, Space}};
///
/// let mut image = Image::default();
/// image.add_raw("rom", 0x1000, Arc::new([0x13, 0, 0, 0, 0x73, 0, 0, 0]), Space::default())?;
/// let mut check = ProgramCheck::new(Isa::Rv64, &[Arc::new(image)]);
/// let mut batch = Batch::default();
/// batch.push(0, EventKind::Step(Step::new(0x1000, 0x13, 4)));
/// batch.push(0, EventKind::Step(Step::new(0x1004, 0x6f, 4)));
/// batch.push(0, EventKind::Step(Step::new(0x2000, 0x13, 4)));
/// check.observe(&batch);
/// let verdict = check.verdict();
/// assert_eq!((verdict.same, verdict.different, verdict.unmapped), (1, 1, 1));
/// assert!(verdict.is_wrong());
/// assert_eq!(
///     verdict.to_string(),
///     "this ELF does not match the trace: 66 % of encodings differ, first at 0x1004: \
///      0x6f in the trace, 0x73 in the program"
/// );
/// # Ok::<(), trackway::image::Error>(())
/// ```
#[derive(Debug)]
pub struct ProgramCheck {
    isa: Isa,
    programs: Arc<[Arc<Image>]>,
    seen: HashSet<(u16, u64)>,
    /// In the order of the trace, so that parts merge to the result of the whole.
    compared: Vec<(u16, Compared)>,
    recent: Vec<u64>,
    source: Option<u16>,
    context: Context,
    memory: Arc<Memory>,
    /// A part in the middle does not know its context, which may choose the code.
    blind: bool,
}

/// Comparisons of a part of a trace.
#[derive(Debug, Default)]
pub struct Comparisons(Vec<(u16, Compared)>);

/// The result of [`ProgramCheck`], in distinct addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The program has the same instruction.
    pub same: u64,
    /// The program has another one.
    pub different: u64,
    /// The program has nothing there.
    pub unmapped: u64,
    /// The first address that is not the same.
    pub first: Option<Compared>,
}

/// An address in the trace and in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// The address.
    pub pc: u64,
    /// Byte offset of the item that executes there first.
    pub offset: u64,
    /// The encoding in the trace.
    pub trace: u32,
    /// The encoding in the program; none where nothing is mapped.
    pub program: Option<u32>,
}

impl Verdict {
    /// Addresses compared.
    pub fn distinct(&self) -> u64 {
        self.same + self.different + self.unmapped
    }

    /// True if the program matches as far as it was compared.
    pub fn is_right(&self) -> bool {
        self.different + self.unmapped == 0
    }

    /// True if more than half of the addresses differ or are unmapped: this is another program.
    pub fn is_wrong(&self) -> bool {
        2 * (self.different + self.unmapped) > self.distinct()
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}: {:#x} in the trace, ", self.pc, self.trace)?;
        match self.program {
            Some(encoding) => write!(f, "{encoding:#x} in the program"),
            None => f.write_str("nothing in the program"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.first else { return f.write_str("the program matches the trace") };
        let percent = 100 * (self.different + self.unmapped) / self.distinct().max(1);
        let share = if percent == 0 { "less than 1".to_string() } else { percent.to_string() };
        let verb = if self.is_wrong() { "does not match" } else { "differs from" };
        write!(f, "this ELF {verb} the trace: {share} % of encodings differ, first at {first}")
    }
}

impl ProgramCheck {
    /// For a trace of `isa` and its programs: one for each source, or one for all.
    pub fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        Self::with(isa, programs.into(), false)
    }

    fn with(isa: Isa, programs: Arc<[Arc<Image>]>, blind: bool) -> Self {
        let context = Context::default();
        let memory = program(&programs, 0).memory(&context);
        ProgramCheck {
            isa,
            programs,
            seen: HashSet::new(),
            compared: Vec::new(),
            recent: vec![u64::MAX; RECENT],
            source: None,
            context,
            memory,
            blind,
        }
    }

    /// Before the first batch of a part, which begins in this context of this source.
    pub fn enter(&mut self, source: u16, context: &Context) {
        if self.source == Some(source) && self.context == *context {
            return;
        }
        if self.source.replace(source) != Some(source) {
            self.recent.fill(u64::MAX);
        }
        self.context = *context;
        self.follow_context(source);
    }

    /// One for a thread that sees parts of the same trace in order, and [enters](ProgramCheck::enter) each.
    pub fn apart(&self) -> Self {
        Self::with(self.isa, Arc::clone(&self.programs), self.blind)
    }

    /// The comparisons since it was asked last, for [`add`](ProgramCheck::add).
    pub fn take(&mut self) -> Comparisons {
        Comparisons(std::mem::take(&mut self.compared))
    }

    /// Adds those of the part that follows.
    pub fn add(&mut self, part: Comparisons) {
        part.0.into_iter().for_each(|(source, one)| self.keep(source, one));
    }

    /// The comparisons in few bytes, for [`unpack`](ProgramCheck::unpack).
    pub fn pack(&self) -> Option<Vec<u8>> {
        pack(&self.compared)
    }

    /// Comparisons of a part of the same trace; `None` if the bytes are not such.
    pub fn unpack(&self, bytes: &[u8]) -> Option<Self> {
        let compared: Vec<(u16, Compared)> = unpack(bytes)?;
        let mut part = Self::with(self.isa, Arc::clone(&self.programs), false);
        compared.into_iter().for_each(|(source, one)| part.keep(source, one));
        Some(part)
    }

    /// The result so far.
    pub fn verdict(&self) -> Verdict {
        let mut verdict = Verdict::default();
        for (_, one) in &self.compared {
            match one.program {
                Some(encoding) if encoding == one.trace => verdict.same += 1,
                Some(_) => verdict.different += 1,
                None => verdict.unmapped += 1,
            }
            if one.program != Some(one.trace) {
                verdict.first.get_or_insert(*one);
            }
        }
        verdict
    }

    /// The addresses that are not the same, in the order of the trace.
    pub fn differences(&self) -> impl Iterator<Item = &Compared> {
        self.compared.iter().map(|(_, one)| one).filter(|one| one.program != Some(one.trace))
    }

    fn follow_context(&mut self, source: u16) {
        self.memory = program(&self.programs, source).memory(&self.context);
    }

    #[inline]
    fn step(&mut self, source: u16, offset: u64, step: &Step) {
        let Some(pc) = step.pc.filter(|_| step.length > 0) else { return };
        let recent = &mut self.recent[(pc >> 1) as usize % RECENT];
        if *recent != pc {
            *recent = pc;
            self.compare(source, offset, pc, step.encoding);
        }
    }

    fn compare(&mut self, source: u16, offset: u64, pc: u64, encoding: u32) {
        if !self.seen.contains(&(source, pc)) {
            let isa = self.context.isa.unwrap_or(self.isa);
            let program = self.memory.fetch(isa, pc).map(|(encoding, _)| encoding);
            self.keep(source, Compared { pc, offset, trace: encoding, program });
        }
    }

    fn keep(&mut self, source: u16, one: Compared) {
        if self.seen.len() < COMPARED && self.seen.insert((source, one.pc)) {
            self.compared.push((source, one));
        }
    }
}

impl Observer for ProgramCheck {
    fn observe(&mut self, batch: &Batch) {
        if self.blind || self.programs.is_empty() || self.seen.len() >= COMPARED {
            return;
        }
        if self.source.replace(batch.source) != Some(batch.source) {
            self.context = Context::default();
            self.recent.fill(u64::MAX);
            self.follow_context(batch.source);
        }
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => self.step(batch.source, event.offset, step),
                EventKind::Context(n) => {
                    let before = self.context;
                    self.context.update(&batch.contexts[*n as usize]);
                    if self.context != before {
                        self.follow_context(batch.source);
                    }
                }
                _ => {}
            }
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        let by_context = !self.programs.iter().all(|program| program.is_everywhere());
        let blind = self.blind || by_context || matches!(self.isa, Isa::A32 | Isa::T32);
        Box::new(Self::with(self.isa, Arc::clone(&self.programs), blind))
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        later.downcast::<Self>().compared.iter().for_each(|&(source, one)| self.keep(source, one));
    }
}

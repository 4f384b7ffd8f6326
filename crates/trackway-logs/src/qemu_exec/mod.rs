//! QEMU's log of executed blocks (`-d exec,nochain`), also with their listings (`in_asm`).
//!
//! A line is the start of a translated block; its instructions follow from the program, or from the listing that QEMU
//! prints when it translates the block.

mod line;
mod rules;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use memchr::memmem;
use trackway_core::*;
use trackway_format::{Error, Key, Recognised};
use trackway_image::{Blocks, Image};
use trackway_isa::{Control, flow};

use self::line::Said;
use self::walk::{Executed, WAYPOINTS, Walk, run};
use crate::lines::{Line, Wrong, of_head};
use crate::log::{Check, Lift, Log, Report, Start};
use crate::riscv::pick;

trackway_format::settings! {
    /// `[qemu-exec]` in the settings.
    #[derive(Clone, Debug, Default)]
    struct Section {
        /// Instruction set: rv64, rv32 or a64; the program has it.
        isa: Option<String> = "\"rv64\"",
    }
}

/// An opened log.
#[derive(Debug)]
pub(crate) struct QemuExec {
    isa: Isa,
    image: Arc<Image>,
    blocks: Arc<Blocks>,
    cpus: Vec<u32>,
    /// All that were seen, in the whole file or in the first bytes of a stream.
    known: Arc<[u32]>,
    /// It has listings.
    listed: bool,
}

const KINDS: &[&str] = &["block", "stopped", "listing", "instruction", "other"];

fn kind(said: &Said) -> usize {
    match said {
        Said::Block { .. } => 0,
        Said::Stopped { .. } => 1,
        Said::Listing => 2,
        Said::Instruction { .. } => 3,
        Said::Other => 4,
    }
}

/// Most cpus: a damaged number is not one more.
const MOST_CPUS: usize = 1024;

/// Adds the cpus of a text.
fn find_cpus(bytes: &[u8], cpus: &mut Vec<u32>) {
    let mut last: &[u8] = &[];
    for at in memmem::find_iter(bytes, b"Trace ") {
        let starts = at == 0 || bytes[at - 1] == b'\n';
        let line = &bytes[at..bytes.len().min(at + 256)];
        // Most lines begin like the one before.
        if !starts || line.get(..8) == last.get(..8) {
            continue;
        }
        last = line;
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or(line);
        if let Ok(Said::Block { cpu, .. }) = line::read(line)
            && !cpus.contains(&cpu)
            && cpus.len() < MOST_CPUS
        {
            cpus.push(cpu);
        }
    }
}

impl Log for QemuExec {
    const ID: FormatId = FormatId::new("qemu-exec");
    const TITLE: &'static str = "QEMU log of executed blocks";
    const NAME: &'static str = "QEMU";
    const EXTENSIONS: &'static [&'static str] = &["qemu"];
    const KEYS: &'static [Key] = Section::KEYS;
    const RULES: &'static [&'static Rule] = rules::RULES;
    const SYNTAX: &'static Rule = &rules::LINE;
    const KINDS: &'static [&'static str] = KINDS;

    type Lift = Lifting;
    type Check = Checking;

    fn recognise(head: &[u8]) -> Recognised {
        let (mut blocks, mut wrong) = (0, 0);
        for text in of_head(head).take(4096) {
            match line::read(text) {
                Ok(Said::Block { .. }) => blocks += 1,
                Ok(_) => {}
                Err(_) => wrong += 1,
            }
        }
        (blocks > wrong).into()
    }

    fn open(start: &Start<'_>) -> trackway_format::Result<Self> {
        let section: Section = start.settings.of_format(start.format)?;
        let listed = of_head(start.head).any(|line| line.starts_with(b"IN:"));
        let image = start.program.load()?;
        let isa = match section.isa.as_deref() {
            Some(name) => match name.parse() {
                Ok(isa @ (Isa::Rv64 | Isa::Rv32 | Isa::A64)) => isa,
                _ => return Err(Error::Config(format!("[qemu-exec] isa: {name} is not rv64, rv32 or a64"))),
            },
            None if image.is_empty() && !listed => Isa::Other,
            None => image.isa().unwrap_or_else(|| guess(start.head)),
        };
        let image = Arc::new(image);
        let blocks = image.blocks(&Context::default(), isa, WAYPOINTS);
        let mut all = Vec::new();
        start.stretches(|_, bytes| find_cpus(bytes, &mut all));
        all.sort_unstable();
        let cpus = pick(&all, start.source, |cpu| format!("cpu {cpu}"))?;
        Ok(QemuExec { isa, image, blocks, cpus, known: all.into(), listed })
    }

    fn meta(&self) -> Meta {
        let several = self.known.len() > 1;
        let sources = self.cpus.iter().filter(|_| several).map(|cpu| format!("cpu {cpu}")).collect();
        let level = if self.listed { "blocks and listings" } else { "blocks" };
        Meta { sources, flow_only: true, level: Some(level.into()), ..Meta::new(Self::ID, self.isa) }
    }

    fn programs(&self) -> Vec<Arc<Image>> {
        if self.image.is_empty() { Vec::new() } else { vec![Arc::clone(&self.image)] }
    }

    fn lift(&self, source: usize) -> Lifting {
        Lifting {
            isa: self.isa,
            cpu: self.cpus.get(source).copied(),
            known: Arc::clone(&self.known),
            walk: Walk::new(&self.blocks),
            listed: self.listed,
            code: HashMap::new(),
            listing: Vec::new(),
            waiting: None,
        }
    }

    fn check(&self) -> Checking {
        Checking { walk: Walk::new(&self.blocks), blocks: Arc::clone(&self.blocks), waiting: HashMap::new() }
    }

    fn describe(&self, line: &Line<'_>, item: &mut Item) -> Result<(), Wrong> {
        item.name = KINDS[kind(&line::read(line.text)?)];
        item.text.push_str(&String::from_utf8_lossy(line.text));
        Ok(())
    }
}

/// The instruction set of a listing: only RISC-V has encodings of 16 bits beside those of 32.
fn guess(head: &[u8]) -> Isa {
    let narrow = |line: &[u8]| matches!(line::read(line), Ok(Said::Instruction { length: 2, .. }));
    if of_head(head).any(narrow) { Isa::Rv64 } else { Isa::A64 }
}

/// A block that waits for the next one.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    offset: u64,
    pc: u64,
    limit: u32,
}

/// Most instructions of listings that are kept.
const MOST_LISTED: usize = 1 << 22;

/// An instruction of a listing: its encoding and its length.
type Listed = (u32, u8);

/// Lines of one cpu to events.
#[derive(Clone, Debug)]
pub(crate) struct Lifting {
    isa: Isa,
    /// The cpu; none in a log without blocks.
    cpu: Option<u32>,
    known: Arc<[u32]>,
    walk: Walk,
    listed: bool,
    /// Blocks by the listings so far.
    code: HashMap<u64, Arc<[Listed]>>,
    /// The listing that is being read.
    listing: Vec<(u64, Listed)>,
    waiting: Option<Waiting>,
}

impl Lifting {
    /// Lifts the block that waits; the one at `next` was executed after it.
    fn finish(&mut self, next: Option<u64>, batch: &mut Batch) {
        let Some(Waiting { offset, pc, limit }) = self.waiting.take() else { return };
        if let Some(code) = self.code.get(&pc) {
            let code = Arc::clone(code);
            return self.listed_block(offset, pc, &code, next, batch);
        }
        match self.walk.block(pc, limit, next) {
            Some(executed) => {
                batch.push(offset, EventKind::Run(executed.run));
                self.after(offset, &executed, next, batch);
            }
            None => {
                let gap = Gap { from: None, to: next, ..Gap::new(GapReason::NoCode) };
                batch.push_gap(offset, Gap { from: Some(pc), ..gap });
            }
        }
    }

    /// Traps that follow a block.
    fn after(&self, offset: u64, executed: &Executed, next: Option<u64>, batch: &mut Batch) {
        let Executed { run, leads, last, control } = *executed;
        if run.attempted {
            let syscall = match (control, self.isa) {
                (Control::SystemCall, Isa::A64) => Some(Syscall::Svc),
                (Control::SystemCall, _) => Some(Syscall::Ecall),
                _ => None,
            };
            // Of a user program the kernel is not in the log: the next block is the one after the call.
            let to = next.filter(|next| *next != run.end);
            let trap = Trap { from: Some(last), to, syscall, ..Trap::new(TrapKind::Exception) };
            batch.push_trap(offset, trap);
        } else if control == Control::TrapReturn {
            batch.push_trap(offset, Trap { from: Some(last), to: next, ..Trap::new(TrapKind::Return) });
        } else if next.is_some() && leads != next {
            // An interrupt, a signal, or a fault within the block.
            batch.push_trap(offset, Trap { from: leads, to: next, ..Trap::new(TrapKind::Unknown) });
        }
    }

    /// A block whose listing is known: its instructions one by one.
    fn listed_block(&self, offset: u64, pc: u64, code: &[Listed], next: Option<u64>, batch: &mut Batch) {
        let mut at = pc;
        for (n, &(encoding, length)) in code.iter().enumerate() {
            let is_last = n + 1 == code.len();
            let end = at.wrapping_add(length.into());
            let step = Step::new(at, encoding, length);
            if !is_last {
                batch.push(offset, EventKind::Step(step));
                at = end;
                continue;
            }
            let flow = flow(self.isa, at, encoding);
            let leads = match flow.control {
                Control::Branch => next.filter(|next| *next == end || Some(*next) == flow.target),
                control if control.is_direct() => {
                    flow.target.filter(|to| next.is_none_or(|next| next == *to))
                }
                control if control.is_indirect() => next,
                control if !control.retires() => None,
                _ => Some(end),
            };
            let taken = match flow.control {
                Control::Branch => leads.map(|to| to != end),
                control if control.is_transfer() => Some(true),
                _ => None,
            };
            let outcome = if flow.retires() { Outcome::Retired } else { Outcome::Attempted };
            batch.push(offset, EventKind::Step(Step { taken, outcome, ..step }));
            let run = run(self.isa, pc..end, code.len() as u32, flow.control, taken);
            self.after(offset, &Executed { run, leads, last: at, control: flow.control }, next, batch);
        }
    }

    /// A listing has ended.
    fn keep_listing(&mut self) {
        let Some(&(pc, _)) = self.listing.first() else { return };
        if self.code.len() >= MOST_LISTED {
            self.code.clear();
        }
        let straight = self.listing.windows(2).all(|pair| {
            let (at, (_, length)) = pair[0];
            at.wrapping_add(length.into()) == pair[1].0
        });
        if straight {
            self.code.insert(pc, self.listing.iter().map(|(_, code)| *code).collect());
        }
        self.listing.clear();
    }
}

impl Lift for Lifting {
    type State = ();

    #[inline(always)]
    fn line(&mut self, line: &Line<'_>, full: bool, batch: &mut Batch) -> Result<Option<usize>, Wrong> {
        let said = line::read(line.text)?;
        match said {
            Said::Block { cpu, pc, limit } => {
                self.keep_listing();
                if self.cpu.is_some_and(|own| own != cpu) {
                    let stranger =
                        Wrong { column: 6, expected: "a cpu of the first 64 KiB: name a file, not a stream" };
                    return if self.known.contains(&cpu) { Ok(Some(usize::MAX)) } else { Err(stranger) };
                }
                self.finish(Some(pc), batch);
                if full {
                    return Ok(None);
                }
                self.waiting = Some(Waiting { offset: line.offset, pc, limit });
            }
            Said::Stopped { pc } => {
                self.waiting = self.waiting.filter(|waiting| waiting.pc != pc);
            }
            Said::Instruction { pc, encoding, length } => {
                if self.listing.len() < MOST_LISTED {
                    self.listing.push((pc, (encoding, length)));
                }
            }
            Said::Listing => self.keep_listing(),
            Said::Other => {}
        }
        Ok(Some(kind(&said)))
    }

    fn end(&mut self, batch: &mut Batch) {
        self.finish(None, batch);
    }

    /// Listings are needed until the end: such a log cannot be entered in the middle.
    fn is_open(&self) -> bool {
        self.listed || self.waiting.is_some()
    }

    fn begins(&self, line: &Line<'_>) -> bool {
        matches!(line::read(line.text), Ok(Said::Block { cpu, .. }) if self.cpu.is_none_or(|own| own == cpu))
    }

    fn state(&self) {}

    fn set_state(&mut self, (): ()) {
        self.waiting = None;
    }
}

/// Lines to findings.
#[derive(Debug)]
pub(crate) struct Checking {
    walk: Walk,
    blocks: Arc<Blocks>,
    /// By cpu: the block that waits, with its limit.
    waiting: HashMap<u32, (u64, u32)>,
}

impl Check for Checking {
    fn line(&mut self, line: &Line<'_>, report: &mut Report<'_>) -> Result<(), Wrong> {
        let place = (line.offset, line.number);
        match line::read(line.text)? {
            Said::Block { cpu, pc, limit } => {
                let before = self.waiting.insert(cpu % 4096, (pc, limit));
                let executed = before.and_then(|(before, limit)| self.walk.block(before, limit, Some(pc)));
                if let Some(Executed { leads, control, run, .. }) = executed
                    && leads != Some(pc)
                    && control.retires()
                {
                    let words = format!(
                        "{pc:#x} does not follow the block at {:#x}: a signal or interrupt",
                        run.start
                    );
                    report.put(&rules::FLOW, place, &words);
                }
            }
            Said::Stopped { pc } => self.waiting.retain(|_, (waiting, _)| *waiting != pc),
            Said::Instruction { pc, encoding, .. } => {
                let fetched = self.blocks.memory().fetch(self.blocks.isa(), pc);
                if let Some((code, _)) = fetched.filter(|(code, _)| *code != encoding) {
                    let words =
                        format!("{pc:#x} is {encoding:#x} in the listing and {code:#x} in the program");
                    report.put(&rules::CODE, place, &words);
                }
            }
            Said::Listing | Said::Other => {}
        }
        Ok(())
    }
}

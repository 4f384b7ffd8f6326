//! Distances from the instruction that writes a register to those that read it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, Context, EventKind, Isa, Outcome, Reg, RegAccess, RegClass, RegRole, Step};
use trackway_image::{Image, Memory, expand, program};
use trackway_isa::{Recent, Registers, registers};

use super::positions::Positions;
use super::powers::Powers;

/// Dependence distances of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependences {
    /// Reads of registers, by the number of instructions from the one that wrote it; the next one is 1 away.
    pub distances: Powers,
    /// Reads of registers that were written before the trace, before a gap, or by an instruction that is not known.
    pub unknown: u64,
    /// Instructions whose registers are known, by their encodings or as recorded.
    pub instructions: u64,
    /// Instructions whose registers are not known: any register may come from them.
    pub unseen: u64,
    /// Gaps, after which the writers are not known.
    pub gaps: u64,
}

/// Dependences while the trace is read.
#[derive(Debug)]
pub(super) struct Observing {
    code: Code,
    known: Recent<u64, Option<Registers>, 4096>,
    steps: Vec<Option<Step>>,
    /// Nothing comes before it.
    from_start: bool,
    counted: Counted,
}

/// Where encodings that a trace lacks come from.
#[derive(Clone, Debug)]
struct Code {
    isa: Isa,
    programs: Arc<[Arc<Image>]>,
}

/// The counts of a part.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Counted {
    lanes: BTreeMap<u16, Lane>,
    result: Dependences,
}

/// One source.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Lane {
    context: Context,
    #[serde(skip)]
    memory: Option<Arc<Memory>>,
    /// Instructions so far.
    number: u64,
    writers: HashMap<Reg, u64>,
    /// Reads of registers that were written before the part: their numbers in it.
    early: BTreeMap<Reg, Positions>,
    /// Nothing is known of writers before this part: it begins the trace, or something is missing in it.
    is_cut: bool,
}

/// RISC-V `fflags`: instructions add to it, and do not depend on what was in it.
const FFLAGS: Reg = Reg { class: RegClass::Csr, number: 1 };

impl Observing {
    /// Of a whole trace.
    pub(super) fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        Self::with(Code { isa, programs: programs.into() }, true, Counted::default())
    }

    fn with(code: Code, from_start: bool, counted: Counted) -> Self {
        Observing { code, known: Recent::default(), steps: Vec::new(), from_start, counted }
    }

    /// Of a part.
    pub(super) fn fork(&self) -> Self {
        Self::with(self.code.clone(), false, Counted::default())
    }

    /// Before the first batch: the part begins in this context of this source.
    pub(super) fn enter(&mut self, source: u16, context: &Context) {
        lane(&mut self.counted.lanes, source, self.from_start).context = *context;
    }

    /// The counts so far, to be stored.
    pub(super) fn counted(&self) -> &Counted {
        &self.counted
    }

    /// A part with these counts.
    pub(super) fn restore(&self, counted: Counted) -> Self {
        Self::with(self.code.clone(), false, counted)
    }

    /// Adds those of the part that follows.
    pub(super) fn merge(&mut self, later: Observing) {
        let Counted { lanes, result } = &mut self.counted;
        for (source, next) in later.counted.lanes {
            lane(lanes, source, self.from_start).merge(next, result);
        }
        let Dependences { distances, unknown, instructions, unseen, gaps } = later.counted.result;
        result.distances.merge(distances);
        result.unknown += unknown;
        result.instructions += instructions;
        result.unseen += unseen;
        result.gaps += gaps;
    }

    pub(super) fn observe(&mut self, batch: &Batch) {
        let Observing { code: Code { isa, programs }, known, steps, from_start, counted } = self;
        let Counted { lanes, result } = counted;
        let lane = lane(lanes, batch.source, *from_start);
        let memory = |lane: &mut Lane| {
            if !programs.is_empty() {
                lane.memory = Some(program(programs, batch.source).memory(&lane.context));
            }
        };
        if lane.memory.is_none() {
            memory(lane);
        }
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => {
                    let isa = lane.context.isa.unwrap_or(*isa);
                    let mut step = *step;
                    if let (0, Some(memory), Some(pc)) = (step.length, &lane.memory, step.pc) {
                        (step.encoding, step.length) = memory.fetch(isa, pc).unwrap_or((0, 0));
                    }
                    result.step(lane, known, isa, &step, batch.regs_of(step.accesses));
                }
                EventKind::Run(run) if !run.withdrawn => {
                    steps.clear();
                    match &lane.memory {
                        Some(memory) => expand(memory, run, batch.accesses_of(run), |kind| match kind {
                            EventKind::Step(step) => steps.push(Some(step)),
                            EventKind::Run(rest) => steps.extend((0..rest.count).map(|_| None)),
                            _ => {}
                        }),
                        None => steps.extend((0..run.count).map(|_| None)),
                    }
                    for step in steps.iter() {
                        match step {
                            Some(step) => {
                                result.step(lane, known, run.isa, step, batch.regs_of(step.accesses));
                            }
                            None => result.unseen(lane),
                        }
                    }
                }
                EventKind::Context(n) => {
                    lane.context.update(&batch.contexts[*n as usize]);
                    memory(lane);
                }
                EventKind::Gap(_) => {
                    result.gaps += 1;
                    lane.cut();
                }
                _ => {}
            }
        }
    }

    pub(super) fn finish(self) -> Option<Dependences> {
        let Counted { lanes, mut result } = self.counted;
        let early = lanes.values().flat_map(|lane| lane.early.values());
        result.unknown += early.map(|early| early.iter().count() as u64).sum::<u64>();
        (result.instructions > 0).then_some(result)
    }
}

fn lane(lanes: &mut BTreeMap<u16, Lane>, source: u16, from_start: bool) -> &mut Lane {
    lanes.entry(source).or_insert_with(|| Lane { is_cut: from_start, ..Lane::default() })
}

impl Dependences {
    fn step(
        &mut self,
        lane: &mut Lane,
        known: &mut Recent<u64, Option<Registers>, 4096>,
        isa: Isa,
        step: &Step,
        recorded: &[RegAccess],
    ) {
        let key = u64::from(step.encoding) | (isa as u64) << 32;
        let encoded = if step.length > 0 { *known.get(key, || registers(isa, step.encoding)) } else { None };
        // One that did not retire read its registers for nothing, and wrote none.
        let retired = step.outcome == Outcome::Retired;
        if !retired {
            lane.number += 1;
            return;
        }
        match encoded {
            Some(list) => {
                let skips = matches!(isa, Isa::Rv32 | Isa::Rv64);
                let sources = list.sources().filter(|reg| !(skips && *reg == FFLAGS));
                sources.for_each(|reg| self.read(lane, reg));
                list.destinations().for_each(|reg| lane.write(reg));
            }
            None if !recorded.is_empty() => {
                let of = |role| recorded.iter().filter(move |access| access.role == role);
                of(RegRole::Source).for_each(|access| self.read(lane, access.reg));
                of(RegRole::Destination).for_each(|access| lane.write(access.reg));
            }
            None => return self.unseen(lane),
        }
        self.instructions += 1;
        lane.number += 1;
    }

    /// An instruction that may have written any register.
    fn unseen(&mut self, lane: &mut Lane) {
        self.unseen += 1;
        lane.number += 1;
        lane.cut();
    }

    fn read(&mut self, lane: &mut Lane, reg: Reg) {
        lane.read(self, reg, lane.number);
    }
}

impl Lane {
    /// The instruction of this number reads it.
    fn read(&mut self, result: &mut Dependences, reg: Reg, number: u64) {
        match self.writers.get(&reg) {
            Some(writer) => result.distances.add(number.wrapping_sub(*writer), 1),
            None if self.is_cut => result.unknown += 1,
            None => self.early.entry(reg).or_default().push(number),
        }
    }

    /// Whatever came before is not known to write anything.
    fn cut(&mut self) {
        self.writers.clear();
        self.is_cut = true;
    }

    fn merge(&mut self, later: Lane, result: &mut Dependences) {
        let before = self.number;
        for (reg, positions) in &later.early {
            positions.iter().for_each(|n| self.read(result, *reg, before.wrapping_add(n)));
        }
        if later.is_cut {
            self.cut();
        }
        self.writers.extend(later.writers.into_iter().map(|(reg, n)| (reg, before.wrapping_add(n))));
        self.number = before.wrapping_add(later.number);
        self.context.update(&later.context);
        self.memory = None;
    }

    fn write(&mut self, reg: Reg) {
        self.writers.insert(reg, self.number);
    }
}

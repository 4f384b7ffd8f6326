//! Distances from the instruction that writes a register to those that read it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use trackway_core::{Batch, Context, EventKind, Isa, Outcome, Reg, RegAccess, RegClass, RegRole, Step};
use trackway_image::{Image, Memory, expand, program};
use trackway_isa::{Recent, Registers, registers};

use super::powers::Powers;

/// Dependence distances of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    isa: Isa,
    programs: Vec<Arc<Image>>,
    lanes: BTreeMap<u16, Lane>,
    known: Recent<u64, Option<Registers>, 4096>,
    steps: Vec<Option<Step>>,
    result: Dependences,
}

/// One source.
#[derive(Debug, Default)]
struct Lane {
    context: Context,
    memory: Option<Arc<Memory>>,
    /// Instructions so far.
    number: u64,
    writers: HashMap<Reg, u64>,
}

/// RISC-V `fflags`: instructions add to it, and do not depend on what was in it.
const FFLAGS: Reg = Reg { class: RegClass::Csr, number: 1 };

impl Observing {
    pub(super) fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        let (distances, unknown) = (Powers::default(), 0);
        Observing {
            isa,
            programs: programs.to_vec(),
            lanes: BTreeMap::new(),
            known: Recent::default(),
            steps: Vec::new(),
            result: Dependences { distances, unknown, instructions: 0, unseen: 0, gaps: 0 },
        }
    }

    pub(super) fn observe(&mut self, batch: &Batch) {
        let Observing { isa, programs, lanes, known, steps, result } = self;
        let lane = lanes.entry(batch.source).or_default();
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
                    lane.writers.clear();
                }
                _ => {}
            }
        }
    }

    pub(super) fn finish(self) -> Option<Dependences> {
        (self.result.instructions > 0).then_some(self.result)
    }
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
        lane.writers.clear();
    }

    fn read(&mut self, lane: &Lane, reg: Reg) {
        match lane.writers.get(&reg) {
            Some(writer) => self.distances.add(lane.number - writer, 1),
            None => self.unknown += 1,
        }
    }
}

impl Lane {
    fn write(&mut self, reg: Reg) {
        self.writers.insert(reg, self.number);
    }
}

//! Reporting a mismatch, and continuing after it.

use trackway_core::{Reg, RegClass};
use trackway_hart::Level;

use super::compare::name;
use super::decode::Decoded;
use super::history::Executed;
use super::report::{Class, Element, FollowUp, Mismatch, PastInstruction};
use super::suspects::Root;
use super::traced::TracedStep;
use super::verifier::Verifier;

impl Verifier {
    /// Reports a mismatch or folds it into its root, and continues with the state of the trace (step 5 of 3.1).
    pub(super) fn mismatch(
        &mut self,
        traced: &TracedStep,
        decoded: Option<&Decoded>,
        pc: u64,
        level: Level,
        trapped: bool,
        elements: Vec<Element>,
    ) {
        let root = match self.root_of(traced, decoded, trapped, &elements) {
            Some((root, through)) => {
                let mismatch = &mut self.report.mismatches[root as usize - 1];
                mismatch.folded += 1;
                mismatch.last_folded = Some(traced.group);
                if self.options.follow_ups {
                    mismatch.follow_ups.push(FollowUp {
                        group: traced.group,
                        offset: traced.offset,
                        instruction: traced.number,
                        through: through.to_string(),
                        elements: elements.iter().map(|element| element.name.clone()).collect(),
                    });
                }
                root
            }
            None => {
                let mismatch = self.describe(traced, decoded, pc, level, elements.clone());
                self.report.mismatches.push(mismatch);
                let count = self.report.mismatches.len();
                self.report.stopped = self.options.stop_after.is_some_and(|limit| count >= limit);
                count as Root
            }
        };
        self.suspect(traced, &elements, root);
        self.resynchronise(traced, root);
    }

    fn describe(
        &self,
        traced: &TracedStep,
        decoded: Option<&Decoded>,
        pc: u64,
        level: Level,
        elements: Vec<Element>,
    ) -> Mismatch {
        let text = |pc, encoding| trackway_isa::text(self.isa(), pc, encoding);
        let past = |executed: &Executed, register| PastInstruction {
            instruction: executed.number,
            group: executed.group,
            pc: executed.pc,
            encoding: executed.encoding,
            text: text(executed.pc, executed.encoding),
            register,
        };
        let mut writers = Vec::new();
        if let Some(decoded) = decoded {
            for number in 0..32 {
                for (sources, class) in
                    [(decoded.x_sources, RegClass::Int), (decoded.f_sources, RegClass::Float)]
                {
                    let reg = Reg { class, number };
                    if sources >> number & 1 != 0
                        && let Some(writer) = self.history.writer(reg)
                    {
                        writers.push(past(writer, Some(name(reg))));
                    }
                }
            }
        }
        let encoding = traced.instruction.map_or(0, |instruction| instruction.encoding);
        Mismatch {
            class: elements.iter().map(|element| element.class).min().unwrap_or(Class::Value),
            group: traced.group,
            offset: traced.offset,
            instruction: traced.number,
            pc,
            encoding,
            text: match traced.instruction {
                Some(_) => text(pc, encoding),
                None => "interrupt or fetch fault".to_string(),
            },
            privilege: match level {
                Level::U => "U",
                Level::S => "S",
                Level::M => "M",
            },
            elements,
            history: self.history.recent().map(|executed| past(executed, None)).collect(),
            writers,
            folded: 0,
            last_folded: None,
            follow_ups: Vec::new(),
        }
    }

    /// The model takes the state of the trace.
    fn resynchronise(&mut self, traced: &TracedStep, root: Root) {
        // Page walks keep their writes: only the instruction's own stores are undone.
        let stored: Vec<_> = self.effects.memory.iter().map(|a| (a.physical, u64::from(a.size))).collect();
        self.memory.revert(&stored);
        self.apply_stores(traced, root);
        let mut state = self.shadow.state().clone();
        let model = &self.model.state().csr;
        (state.csr.mcycle, state.csr.minstret, state.csr.time) = (model.mcycle, model.minstret, model.time);
        (state.csr.mip, state.csr.seip_line) = (model.mip, model.seip_line);
        state.reservation = self.model.state().reservation;
        self.model.set_state(state);
    }
}

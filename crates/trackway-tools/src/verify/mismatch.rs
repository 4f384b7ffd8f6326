//! Reporting a mismatch, and continuing after it.

use trackway_core::{Reg, RegClass};
use trackway_hart::{AccessKind, Level};
use trackway_isa::riscv::csr_number;

use super::compare::name;
use super::decode::Decoded;
use super::history::Executed;
use super::report::{Class, Element, FollowUp, Mismatch, PastInstruction};
use super::suspects::Root;
use super::traced::TracedStep;
use super::verifier::Verifier;
use super::worlds::Subject;

/// Root causes after which to stop in any case: the trace belongs to another program or core.
const MOST: usize = 10_000;

impl Verifier {
    /// Reports a fault of its own.
    pub(super) fn new_root(&mut self, subject: Subject<'_>, elements: Vec<Element>) -> Root {
        let Subject { traced, decoded, pc, level } = subject;
        let mismatch = self.describe(traced, decoded, pc, level, elements);
        self.report.mismatches.push(mismatch);
        let count = self.report.mismatches.len();
        self.report.stopped = count >= self.options.stop_after.unwrap_or(MOST).min(MOST);
        count as Root
    }

    /// Counts a mismatch with the root cause that it follows from.
    pub(super) fn follow_up(
        &mut self,
        root: Root,
        through: String,
        traced: &TracedStep,
        elements: &[Element],
    ) {
        let place = (root as usize).checked_sub(1);
        let Some(mismatch) = place.and_then(|n| self.report.mismatches.get_mut(n)) else { return };
        mismatch.folded += 1;
        mismatch.last_folded = Some(traced.group);
        if self.options.follow_ups {
            mismatch.follow_ups.push(FollowUp {
                group: traced.group,
                offset: traced.offset,
                instruction: traced.number,
                through,
                elements: elements.iter().map(|element| element.name.clone()).collect(),
            });
        }
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

    /// The model takes the state of the trace, and what the trace shows of memory and control registers.
    pub(super) fn resynchronise(&mut self, subject: Subject<'_>, root: Root) {
        let traced = subject.traced;
        // Whatever the trace stores, the other hypothesis has its own bytes there.
        let doubtful = std::mem::take(&mut self.suspects.memory);
        self.apply_stores(traced, subject.level);
        self.suspects.memory = doubtful;
        let mut state = self.shadow.state().clone();
        let model = &self.model.state().csr;
        (state.csr.mcycle, state.csr.minstret, state.csr.time) = (model.mcycle, model.minstret, model.time);
        (state.csr.mip, state.csr.seip_line) = (model.mip, model.seip_line);
        state.reservation = self.model.state().reservation;
        let differs = |file: &[u64; 32], other: &[u64; 32], n: usize| file[n] != other[n];
        let (x, f) = (self.model.state().x, self.model.state().f);
        let read = self
            .effects
            .csr_read
            .zip(self.effects.x)
            .filter(|(_, (rd, _))| differs(&x, &state.x, usize::from(rd & 31)));
        let loaded_x =
            self.effects.x.map(|(rd, _)| usize::from(rd & 31)).filter(|n| differs(&x, &state.x, *n));
        let loaded_f =
            self.effects.f.map(|(rd, _)| usize::from(rd & 31)).filter(|n| differs(&f, &state.f, *n));
        let loaded = loaded_x.map(|n| state.x[n]).or(loaded_f.map(|n| state.f[n]));
        self.model.set_state(state);
        // A control register that reads differently holds something else.
        if let Some(((number, _), (rd, _))) = read {
            let value = self.model.state().x[usize::from(rd & 31)];
            let copied = self.options.masks.of(number);
            if copied.copy | copied.ignore == 0 {
                self.model.set_csr(number, value);
                let lacking = self.model.read_csr(number).unwrap_or(0) ^ value;
                self.lacks_bits(number, lacking, root);
            }
        }
        // So does memory that is loaded or fetched differently.
        let accesses = self.effects.memory;
        if let (Some(access), Some(value)) = (accesses.iter().next(), loaded)
            && access.kind == AccessKind::Load
            && traced.accesses.first().is_none_or(|recorded| recorded.address == access.address)
            && !self.memory.is_mmio(access.physical)
        {
            self.memory.put(access.physical, access.size.into(), value);
        }
        if let Some(fetched) = traced.instruction
            && self.effects.length > 0
            && (fetched.encoding, fetched.length) != (self.effects.encoding, self.effects.length)
            && !self.memory.is_mmio(self.effects.physical_pc)
        {
            self.memory.put(self.effects.physical_pc, fetched.length.into(), fetched.encoding.into());
        }
        for read in traced.reads.iter().filter(|read| read.known == u64::MAX) {
            let written = traced.writes.iter().any(|write| write.reg == read.reg);
            match (read.reg.class, read.reg.number) {
                (RegClass::Int, n @ 1..32) if !written => self.model.set_x(n as u8, read.value),
                (RegClass::Float, n @ 0..32) if !written => self.model.set_f(n as u8, read.value),
                _ => {}
            }
        }
        let state = self.model.state().clone();
        self.shadow.set_state(state);
        let found = (root as usize).checked_sub(1).and_then(|n| self.report.mismatches.get(n));
        let lacking: Vec<(u16, u64)> = found.map_or(Vec::new(), |mismatch| {
            let masked = mismatch.elements.iter().filter(|element| element.class == Class::CsrMask);
            masked.filter_map(|element| Some((csr_number(&element.name)?, element.differing()))).collect()
        });
        lacking.into_iter().for_each(|(number, bits)| self.lacks_bits(number, bits, root));
    }

    fn lacks_bits(&mut self, number: u16, bits: u64, root: Root) {
        if bits != 0 {
            self.suspects.lacking.entry(number).or_insert((root, 0)).1 |= bits;
        }
    }

    /// Elements that differ in more than bits of control registers which the model is known to lack; the others are
    /// counted with the mismatch that showed it.
    pub(super) fn beyond_lacking(&mut self, traced: &TracedStep, elements: Vec<Element>) -> Vec<Element> {
        if self.suspects.lacking.is_empty() || elements.is_empty() {
            return elements;
        }
        let read = self.effects.csr_read.zip(self.effects.x).map(|((number, _), (rd, _))| (number, rd));
        let explains = |element: &Element| {
            let named = csr_number(&element.name).or_else(|| {
                let (number, rd) = read?;
                (name(Reg { class: RegClass::Int, number: rd.into() }) == element.name).then_some(number)
            })?;
            let (root, bits) = self.suspects.lacking.get(&named)?;
            (element.differing() & !bits == 0).then_some((*root, named))
        };
        let found: Option<Vec<(Root, u16)>> = elements.iter().map(explains).collect();
        let Some((root, number)) = found.and_then(|found| found.first().copied()) else { return elements };
        if let Some((_, rd)) = read {
            let value = self.shadow.state().x[usize::from(rd & 31)];
            self.model.set_x(rd, value);
        }
        let state = self.model.state().clone();
        self.shadow.set_state(state);
        if !self.is_trial {
            let through = name(Reg { class: RegClass::Csr, number });
            self.follow_up(root, through, traced, &elements);
        }
        Vec::new()
    }
}

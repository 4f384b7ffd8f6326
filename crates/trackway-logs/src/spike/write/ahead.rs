//! Lines that another thread writes before it is their turn.

use std::io::Write;

use trackway_core::*;

use super::Lower;
use crate::riscv::lift::narrow;
use crate::riscv::record::Retired;

/// The opcode of calls, returns and accesses to control registers.
const SYSTEM: u32 = 0x73;

/// All that the lines of a row say beside their text. The first line is not among them: it closes the one before it.
#[derive(Debug)]
pub(super) struct Row {
    privilege: Option<Privilege>,
    matched: Counts,
    missing: Counts,
    extra: Counts,
    /// The last line, which the one after it will close, and the facts of its instruction.
    last: Retired,
    facts: Vec<Found>,
}

/// Writes rows of lines ahead, each of instructions that change nothing for the lines after them.
pub(super) struct LinesAhead {
    lower: Lower<Vec<u8>>,
    rows: Rows<Box<Row>>,
}

impl LinesAhead {
    pub(super) fn new<W: Write>(of: &Lower<W>) -> Self {
        let meta = Meta::new(FormatId::new("spike"), of.isa);
        LinesAhead { lower: Lower::new(Vec::new(), &meta, of.isa, of.float), rows: Rows::default() }
    }
}

impl Ahead for LinesAhead {
    fn write(&mut self, batch: &Batch, before: &Context) {
        let LinesAhead { lower, rows } = self;
        rows.write(batch, before, |n, context, out| {
            lower.privilege = context.privilege;
            lower.row(batch, n, out)
        });
    }
}

/// True if the line of a step says nothing about traps, and shows no control registers.
fn is_ordinary(step: &Step, batch: &Batch) -> bool {
    let is_state = |access: &RegAccess| access.role == RegRole::State || access.reg.class == RegClass::Csr;
    !(step.encoding & 0x7f == SYSTEM || batch.regs_of(step.accesses).iter().any(is_state))
}

impl Lower<Vec<u8>> {
    /// Writes the lines after that of event `n`, as far as they are ordinary.
    fn row(&mut self, batch: &Batch, n: usize, out: &mut Vec<u8>) -> Option<(usize, Box<Row>)> {
        let steps = batch.events[n..].iter().map_while(|event| match &event.kind {
            EventKind::Step(step) if is_ordinary(step, batch) => Some(event),
            _ => None,
        });
        let mut len = 0;
        for event in steps {
            if len == 0 {
                self.begin_row();
            }
            let EventKind::Step(step) = &event.kind else { break };
            if !self.step(step, batch).ok()? {
                break;
            }
            self.tally.step(batch, &event.kind, true);
            if len == 0 {
                // A reader refuses the line, and the one before it waits on.
                if !self.pair.is_open {
                    return None;
                }
                // It is the sink that writes this one.
                self.out.clear();
                self.written = 0;
                self.pair.enter();
            }
            len += 1;
        }
        let facts = &self.tally.facts;
        if len < 2 || !facts.is_settled() {
            return None;
        }
        out.append(&mut self.out);
        let row = Row {
            privilege: self.privilege,
            matched: facts.matched.clone(),
            missing: facts.missing.clone(),
            extra: facts.extra.clone(),
            last: self.pair.current.clone(),
            facts: std::mem::take(&mut self.tally.waiting),
        };
        Some((len, Box::new(row)))
    }

    /// Nothing is known of what came before.
    fn begin_row(&mut self) {
        self.out.clear();
        self.pair.is_open = false;
        self.tally.facts = Nearby::default();
        self.tally.waiting.clear();
        self.tally.written.clear();
    }
}

impl<W: Write> Lower<W> {
    /// Writes the events of a batch.
    pub(super) fn put_batch_ahead(&mut self, batch: &Batch, ahead: &mut LinesAhead) -> Result<()> {
        let mut n = 0;
        while n < batch.events.len() {
            let privilege = self.privilege;
            self.event(&batch.events[n], batch)?;
            let row = ahead.rows.at(n);
            n += match row {
                Some((len, row, bytes))
                    if row.privilege == privilege && self.follows(&batch.events[n + 1..n + len]) =>
                {
                    self.take_row(len, row, bytes)?;
                    len
                }
                _ => 1,
            };
        }
        ahead.rows.take(batch);
        Ok(())
    }

    /// True if none of these is where a handler begins, and if the privilege is the one of the line before.
    fn follows(&self, events: &[Event]) -> bool {
        let is_handler = |event: &Event| match event.kind {
            EventKind::Step(Step { pc: Some(pc), .. }) => self.pair.is_handler(narrow(self.isa, pc)),
            _ => true,
        };
        let privilege = self.pair.current.privilege;
        self.pair.is_open
            && (privilege.is_none() || privilege == self.pair.privilege())
            && !events.iter().any(is_handler)
    }

    fn take_row(&mut self, len: usize, row: &Row, bytes: &[u8]) -> Result<()> {
        let facts = &mut self.tally.facts;
        facts.matched.merge(&row.matched);
        facts.missing.merge(&row.missing);
        facts.extra.merge(&row.extra);
        self.tally.number += len as u64 - 1;
        self.tally.waiting.clone_from(&row.facts);
        self.pair.current.clone_from(&row.last);
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use trackway_testkit::random::{Numbers, Program, Rates, Walk};

    use super::*;

    /// Some steps get registers, trap vectors among them, and loads.
    fn dress(numbers: &mut Numbers, batch: &mut Batch) {
        let mut events = std::mem::take(&mut batch.events);
        for n in 0..events.len() {
            let next = match events.get(n + 1 + numbers.below(4) as usize).map(|event| event.kind) {
                Some(EventKind::Step(Step { pc: Some(pc), .. })) => pc,
                _ => 0x4000,
            };
            let EventKind::Step(step) = &mut events[n].kind else { continue };
            let accesses = batch.begin_accesses();
            let (class, number, role, value) = match numbers.below(40) {
                0 => (RegClass::Csr, 0x305, RegRole::Destination, next | numbers.below(2)),
                1 => (RegClass::Csr, 0x300, RegRole::State, numbers.draw()),
                2 => (RegClass::Float, 4, RegRole::Destination, numbers.draw()),
                3 => (RegClass::Int, 4, RegRole::Source, numbers.draw()),
                _ => (RegClass::Int, numbers.below(32) as u16, RegRole::Destination, numbers.draw()),
            };
            if numbers.one_in(2) {
                let (reg, value) = (Reg { class, number }, Value::Word(value));
                batch.regs.push(RegAccess { reg, role, update: RegUpdate::Set, value, known: None });
            }
            if numbers.one_in(5) {
                batch.mem.push(MemAccess::read(numbers.draw(), 4, Value::Word(numbers.below(100))));
            }
            step.accesses = batch.end_accesses(accesses).unwrap();
            match numbers.below(60) {
                0 => step.pc = None,
                1 => step.outcome = Outcome::Attempted,
                _ => {}
            }
        }
        batch.events = events;
    }

    #[test]
    fn lines_that_are_written_ahead_are_the_same() {
        let mut rows = 0;
        for seed in 0..600 {
            let numbers = &mut Numbers(seed);
            let program = Program::new(numbers, 0x8000, 4 + seed as usize % 60);
            let rates = Rates {
                exception: if numbers.one_in(3) { 30 } else { 0 },
                interrupt: if numbers.one_in(3) { 30 } else { 0 },
                privilege: numbers.one_in(3),
                context: if numbers.one_in(3) { 30 } else { 0 },
                ..Rates::default()
            };
            let mut walk = Walk::new(numbers, &program, 20 + seed as usize, rates);
            dress(numbers, &mut walk.batch);
            let cut = numbers.below(walk.batch.events.len() as u64) as usize;
            let parts = [&walk.batch.events[..cut], &walk.batch.events[cut..]];
            let parts = parts.map(|events| Batch { events: events.to_vec(), ..walk.batch.clone() });
            let new = || Lower::new(Vec::new(), &Meta::new(FormatId::new("spike"), Isa::Rv64), Isa::Rv64, 16);
            let mut plain = new();
            parts.iter().for_each(|part| plain.put(part).unwrap());
            let mut lower = new();
            let (mut ahead, mut context) = (LinesAhead::new(&lower), Context::default());
            for part in &parts {
                ahead.write(part, &context);
                part.contexts.iter().for_each(|change| context.update(change));
            }
            let all = ahead.rows.count();
            for part in &parts {
                lower.put_batch_ahead(part, &mut ahead).unwrap();
            }
            rows += all;
            let (account, same) = (plain.finish().unwrap(), lower.finish().unwrap());
            assert!(lower.out == plain.out, "seed {seed}");
            assert_eq!(format!("{same:?}"), format!("{account:?}"), "seed {seed}");
        }
        assert!(rows > 5000, "{rows} rows");
    }
}

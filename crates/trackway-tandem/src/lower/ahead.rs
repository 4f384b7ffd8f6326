//! Groups of usual steps, written by another thread before it is their turn.

use std::io::Write;

use trackway_core::*;

use super::{Lower, next_pc};
use crate::config::{Style, WriteConfig};
use crate::register;

/// A row of groups: all that it takes for granted, and all that it changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Addresses of its first step, and of that after the last.
    first: u64,
    leads: u64,
    /// Registers that are read before the row writes them, with the values that they must have.
    assumed: Vec<(u16, u64)>,
    /// Registers of both files that it writes, a bit for each.
    written: u64,
    /// Their values at the end.
    values: Vec<(u16, u64)>,
    matched: Counts,
    missing: Counts,
    extra: Counts,
    instructions: u64,
}

/// Writes rows of usual steps ahead. A row follows where the one before it leads to its first step, and where the registers
/// have the values that it assumes.
#[derive(Debug)]
pub(super) struct GroupsAhead {
    /// Writes into memory, row after row.
    lower: Lower<Vec<u8>>,
    rows: Rows<Box<Row>>,
}

impl GroupsAhead {
    /// None where a group depends on the registers before it.
    pub(super) fn new<W: Write>(of: &Lower<W>) -> Option<Self> {
        let style = of.packer.style();
        let config = WriteConfig { config: of.config, style };
        let meta = Meta::new(crate::config::ID, of.config.isa());
        let lower = Lower::new(Vec::new(), &meta, config).ok()?;
        (style == Style::Verbose).then(|| GroupsAhead { lower, rows: Rows::default() })
    }
}

impl Ahead for GroupsAhead {
    fn write(&mut self, batch: &Batch, before: &Context) {
        let GroupsAhead { lower, rows } = self;
        rows.write(batch, before, |n, _, out| lower.row(batch, n, out));
    }
}

impl Lower<Vec<u8>> {
    /// Writes the usual steps from event `n` on, as if all before were known.
    fn row(&mut self, batch: &Batch, n: usize, out: &mut Vec<u8>) -> Option<(usize, Box<Row>)> {
        let EventKind::Step(Step { pc: Some(first), .. }) = batch.events[n].kind else { return None };
        // Most events that are not usual come alone.
        let second = next_pc(batch, n)?;
        self.expected = Some(first);
        self.tally.lifter.pc = Some(first);
        self.tally.lifter.registers.forget();
        self.packer.forget();
        self.tally.facts = Nearby::default();
        self.tally.instructions = 0;
        self.row = Some(Row { first, ..Row::default() });
        let (mut len, mut next) = (0, Some(second));
        while let (Some(pc), Some(EventKind::Step(step))) =
            (next, batch.events.get(n + len).map(|event| &event.kind))
            && self.expected == step.pc
        {
            match self.put_usual(step, pc, batch) {
                Ok(true) => len += 1,
                Ok(false) => break,
                // The sink will say what it is.
                Err(_) => {
                    self.packer.take_bytes(&mut Vec::new());
                    return None;
                }
            }
            next = next_pc(batch, n + len);
        }
        self.packer.take_bytes(out);
        let mut row = self.row.take()?;
        (row.leads, row.instructions) = (self.expected?, self.tally.instructions);
        let registers = (0..64u16).filter(|bit| row.written >> bit & 1 != 0).map(|bit| register::GPR + bit);
        row.values =
            registers.filter_map(|address| Some((address, self.packer.registers().get(address)?))).collect();
        let Nearby { matched, missing, extra, .. } = &self.tally.facts;
        (row.matched, row.missing, row.extra) = (matched.clone(), missing.clone(), extra.clone());
        Some((len, Box::new(row)))
    }
}

impl<W: Write> Lower<W> {
    /// True if a source register has the value that the trace has of it; a row that is written ahead may assume so.
    #[inline]
    pub(super) fn holds(&mut self, access: &RegAccess) -> bool {
        let address = register::address(access.reg);
        let held = address.and_then(|address| self.packer.registers().get(address));
        if held.map(Value::Word) == Some(access.value) || self.register(access).is_none() {
            return true;
        }
        match (&mut self.row, address, held, access.value) {
            (Some(row), Some(address), None, Value::Word(value)) => {
                row.assumed.push((address, value));
                self.packer.assume(address, value);
                true
            }
            _ => false,
        }
    }

    /// A row that is written ahead changes a register.
    #[inline]
    pub(super) fn changes(&mut self, address: u16) {
        if let Some(row) = &mut self.row {
            row.written |= 1 << (address - register::GPR);
        }
    }

    /// Writes the events of a batch.
    pub(super) fn put_batch_ahead(&mut self, batch: &Batch, ahead: &mut GroupsAhead) -> Result<()> {
        let mut n = 0;
        while n < batch.events.len() {
            let row = ahead.rows.at(n);
            if let Some((_, row, _)) = row {
                // As its first step does.
                self.complete(Some(row.first))?;
            }
            match row.filter(|(_, row, _)| self.follows(row)) {
                Some((len, row, bytes)) => {
                    self.take_row(row, bytes)?;
                    n += len;
                }
                None => {
                    self.put_event(batch, n)?;
                    n += 1;
                }
            }
        }
        ahead.rows.take(batch);
        Ok(())
    }

    /// True if all is as the row takes it to be.
    fn follows(&self, row: &Row) -> bool {
        let first = Some(row.first);
        let registers = self.packer.registers();
        self.expected == first
            && self.tally.lifter.pc == first
            && row.assumed.iter().all(|(address, value)| registers.get(*address) == Some(*value))
    }

    fn take_row(&mut self, row: &Row, bytes: &[u8]) -> Result<()> {
        let facts = &mut self.tally.facts;
        facts.matched.merge(&row.matched);
        facts.missing.merge(&row.missing);
        facts.extra.merge(&row.extra);
        self.tally.instructions += row.instructions;
        self.tally.lifter.pc = Some(row.leads);
        for (address, value) in &row.values {
            self.tally.lifter.registers.set_file(*address, *value);
        }
        self.expected = Some(row.leads);
        self.packer.put_row(bytes, row.leads, &row.values)
    }
}

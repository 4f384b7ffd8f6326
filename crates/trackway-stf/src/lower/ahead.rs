//! Usual steps, written by another thread before it is their turn.

use trackway_core::*;

use super::usual::{Scratch, Sum};
use super::{Controls, Lower};

/// Writes usual steps ahead. They follow the group before them if that leads to the first.
#[derive(Debug)]
pub(super) struct UsualAhead {
    /// The instruction set where no context has one.
    isa: Isa,
    controls: Controls,
    scratch: Scratch,
    /// The instruction set, the address of the first step, and the sum.
    rows: Rows<(Isa, u64, Sum)>,
}

impl UsualAhead {
    pub(super) fn new(isa: Isa) -> Self {
        UsualAhead { isa, controls: Controls::default(), scratch: Scratch::default(), rows: Rows::default() }
    }
}

impl Ahead for UsualAhead {
    fn write(&mut self, batch: &Batch, before: &Context) {
        let UsualAhead { isa, controls, scratch, rows } = self;
        rows.write(batch, before, |n, context, out| {
            let isa = context.isa.unwrap_or(*isa);
            let EventKind::Step(Step { pc: Some(pc), .. }) = batch.events[n].kind else { return None };
            let sum = scratch.append(Sum::at(pc), controls, isa, &batch.events[n..], batch, out);
            Some((sum.number, (isa, pc, sum)))
        });
    }
}

impl Lower {
    /// Takes the row that begins with event `n` if it follows; returns its number of steps.
    pub(super) fn row_ahead(&mut self, ahead: &mut UsualAhead, n: usize) -> Result<usize> {
        let Some((len, &(isa, pc, ahead), bytes)) = ahead.rows.at(n) else { return Ok(0) };
        // As each step does that comes after one that waits.
        if self.waits {
            self.complete(Some(pc))?;
        }
        self.row(|sum, _, now, room, out| {
            if (now, sum.pc) == (isa, pc) && len <= room {
                out.extend_from_slice(bytes);
                *sum = ahead;
            }
        })
    }

    /// Writes the events of a batch.
    pub(super) fn put_batch_ahead(&mut self, batch: &Batch, ahead: &mut UsualAhead) -> Result<()> {
        let mut n = 0;
        while n < batch.events.len() {
            let taken = self.row_ahead(ahead, n)?;
            let rest = &batch.events[n + taken..];
            n += taken + if taken > 0 { self.one(rest, batch)? } else { self.usual_and_one(rest, batch)? };
        }
        ahead.rows.take(batch);
        Ok(())
    }
}

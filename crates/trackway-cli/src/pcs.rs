//! `dump --as pcs` and `--as runs`.

use std::io::Write;
use std::sync::Arc;

use trackway_core::{Batch, Context, Event, EventKind, Exit, Isa, Meta, Outcome};
use trackway_image::Image;
use trackway_isa::flow;

use crate::view::{View, Window};

/// One line per retired instruction.
pub(crate) struct Pcs<W> {
    out: W,
    attempted: bool,
    isa: Isa,
    programs: Vec<Arc<Image>>,
    source: u16,
    context: Context,
}

impl<W: Write> Pcs<W> {
    pub(crate) fn new(out: W, attempted: bool, meta: &Meta, programs: Vec<Arc<Image>>) -> Self {
        Pcs { out, attempted, isa: meta.isa, programs, source: 0, context: Context::default() }
    }
}

impl<W: Write> View for Pcs<W> {
    fn event(&mut self, batch: &Batch, event: &Event, number: u64, window: Window) -> std::io::Result<()> {
        if self.source != batch.source {
            self.source = batch.source;
            self.context = Context::default();
        }
        match &event.kind {
            EventKind::Step(step) => {
                if let Some(pc) = step.pc
                    && (self.attempted || step.outcome == Outcome::Retired)
                {
                    self.out.write_all(&hex_line(pc))?;
                }
            }
            // A run that was not expanded: its code is unknown, so are the lengths of its instructions.
            EventKind::Run(run) if !run.withdrawn => {
                let memory = trackway_image::program(&self.programs, self.source).memory(&self.context);
                let mut pc = run.start;
                for n in 0..u64::from(run.count) {
                    let length = match (memory.fetch(run.isa, pc), run.isa) {
                        (Some((_, length)), _) => u64::from(length),
                        (None, Isa::A64 | Isa::A32) => 4,
                        // Without the code only equal lengths are certain.
                        _ if run.end.wrapping_sub(run.start) == 4 * u64::from(run.count) => 4,
                        _ if run.end.wrapping_sub(run.start) == 2 * u64::from(run.count) => 2,
                        _ => break,
                    };
                    let last = n + 1 == u64::from(run.count);
                    let shown = (window.from..window.to).contains(&(number + n));
                    if shown && (self.attempted || !(last && run.attempted)) {
                        self.out.write_all(&hex_line(pc))?;
                    }
                    pc = pc.wrapping_add(length);
                }
            }
            EventKind::Context(n) => {
                let change = &batch.contexts[*n as usize];
                self.context.update(change);
                self.isa = change.isa.unwrap_or(self.isa);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// 16 hex digits and a line end; formatting machinery is too slow for millions of these.
fn hex_line(pc: u64) -> [u8; 17] {
    let mut line = [b'\n'; 17];
    for (n, digit) in line[..16].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(pc >> (60 - 4 * n) & 0xf) as usize];
    }
    line
}

/// One line per straight run. Steps are joined up to the next transfer, runs where one continues into the next.
pub(crate) struct Runs<W> {
    out: W,
    isa: Isa,
    /// Start, end and instructions of the current run.
    run: Option<(u64, u64, u64)>,
}

impl<W: Write> Runs<W> {
    pub(crate) fn new(out: W, meta: &Meta) -> Self {
        Runs { out, isa: meta.isa, run: None }
    }

    /// Adds a stretch that leaves by `exit`.
    fn add(&mut self, start: u64, end: u64, count: u64, exit: Exit) -> std::io::Result<()> {
        match &mut self.run {
            Some(run) if run.1 == start => (run.1, run.2) = (end, run.2 + count),
            _ => {
                self.close(Exit::End)?;
                self.run = Some((start, end, count));
            }
        }
        if exit == Exit::Next { Ok(()) } else { self.close(exit) }
    }

    fn close(&mut self, exit: Exit) -> std::io::Result<()> {
        match self.run.take() {
            Some((start, end, count)) => writeln!(self.out, "{start:016x} {end:016x} {count} {exit}"),
            None => Ok(()),
        }
    }
}

impl<W: Write> View for Runs<W> {
    fn event(&mut self, batch: &Batch, event: &Event, _: u64, _: Window) -> std::io::Result<()> {
        match &event.kind {
            EventKind::Step(step) => {
                let Some(pc) = step.pc else { return self.close(Exit::End) };
                let exit = if step.length == 0 {
                    Exit::Next
                } else {
                    flow(self.isa, pc, step.encoding).control.exit()
                };
                let length = if step.length == 0 { 4 } else { step.length.into() };
                self.add(pc, pc.wrapping_add(length), 1, exit)
            }
            EventKind::Run(run) if !run.withdrawn => self.add(run.start, run.end, run.count.into(), run.exit),
            EventKind::Trap(_) => self.close(Exit::Trap),
            EventKind::Gap(_) => self.close(Exit::End),
            EventKind::Context(n) => {
                self.isa = batch.contexts[*n as usize].isa.unwrap_or(self.isa);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.close(Exit::End)?;
        self.out.flush()
    }
}

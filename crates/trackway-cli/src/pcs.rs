//! `dump --as pcs` and `--as runs`, as text or JSON.

use std::io::{Result, Write};

use serde_json::json;
use trackway_core::{Batch, Context, Event, EventKind, Exit, Isa, Outcome, Run};
use trackway_image::{Memory, addresses};
use trackway_isa::flow;

use crate::hex::{digits, eight};
use crate::json::{hex, object, write_line};
use crate::report::say;
use crate::view::{Budget, Ends, First, Straight, View};

/// The start of a stretch of another source.
fn heading(out: &mut impl Write, json: bool, name: Option<&str>) -> Result<()> {
    match name {
        Some(name) if !json => writeln!(out, "# source {name}"),
        _ => Ok(()),
    }
}

/// One line per retired instruction.
pub(crate) struct Pcs {
    out: Vec<u8>,
    attempted: bool,
    json: bool,
    name: Option<String>,
    /// Instructions of which not even the address is known.
    unknown: u64,
    /// Upper half of the last address, and its digits: it is the same for most.
    upper: (u32, [u8; 8]),
}

impl Pcs {
    pub(crate) fn new(attempted: bool, json: bool) -> Self {
        Pcs { out: Vec::new(), attempted, json, name: None, unknown: 0, upper: (0, eight(0)) }
    }

    /// As text, where all are shown.
    #[inline(always)]
    fn put(&mut self, pc: u64, is_attempted: bool) {
        if !is_attempted || self.attempted {
            let upper = (pc >> 32) as u32;
            if self.upper.0 != upper {
                self.upper = (upper, eight(upper));
            }
            let mut line = [b'\n'; 17];
            line[..8].copy_from_slice(&self.upper.1);
            line[8..16].copy_from_slice(&eight(pc as u32));
            self.out.extend_from_slice(&line);
        }
    }

    fn line(&mut self, pc: u64, number: u64, attempted: bool, budget: &mut Budget) -> Result<()> {
        if (attempted && !self.attempted) || !budget.take() {
            return Ok(());
        }
        if !self.json {
            let mut line = [b'\n'; 17];
            line[..16].copy_from_slice(&digits(pc));
            return self.out.write_all(&line);
        }
        let mut object = object("pc");
        object.extend(self.name.as_ref().map(|name| ("source".to_string(), json!(name))));
        object.extend([("number".to_string(), json!(number)), ("pc".to_string(), hex(pc))]);
        object.insert("attempted".into(), json!(attempted));
        write_line(&mut self.out, &object.into())
    }
}

impl View for Pcs {
    fn text(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    fn source(&mut self, _: u16, name: Option<&str>, _: &mut Budget) -> Result<()> {
        self.name = name.map(str::to_string);
        heading(&mut self.out, self.json, name)
    }

    fn event(&mut self, batch: &Batch, event: &Event, number: u64, budget: &mut Budget) -> Result<()> {
        match &event.kind {
            // Not an instruction.
            EventKind::Step(step) if batch.extra_of(step).is_some_and(|extra| extra.placeholder) => Ok(()),
            EventKind::Step(step) => match step.pc {
                Some(pc) => self.line(pc, number, step.outcome == Outcome::Attempted, budget),
                None => {
                    self.unknown += 1;
                    Ok(())
                }
            },
            // A run that was not expanded: its code is unknown, so are the lengths of its instructions.
            EventKind::Run(run) if !run.withdrawn => {
                let (bytes, count) = (run.end.wrapping_sub(run.start), u64::from(run.count));
                let length = match run.isa {
                    Isa::A64 | Isa::A32 => 4,
                    // Without the code only equal lengths are certain.
                    _ if bytes == 4 * count => 4,
                    _ if bytes == 2 * count => 2,
                    _ => return Ok(()),
                };
                (0..count).try_for_each(|n| {
                    let attempted = run.attempted && n + 1 == count;
                    self.line(run.start.wrapping_add(n * length), number + n, attempted, budget)
                })
            }
            _ => Ok(()),
        }
    }

    fn steps(&mut self, batch: &Batch, events: &[Event]) -> usize {
        if self.json {
            return 0;
        }
        let mut shown = 0;
        for event in events {
            let EventKind::Step(step) = &event.kind else { break };
            match step.pc {
                Some(pc) if !batch.extra_of(step).is_some_and(|extra| extra.placeholder) => {
                    self.put(pc, step.outcome == Outcome::Attempted);
                }
                _ => break,
            }
            shown += 1;
        }
        shown
    }

    fn run(&mut self, memory: &Memory, run: &Run, number: u64) -> bool {
        if self.json {
            return false;
        }
        let rest = addresses(memory, run, |pc, is_attempted| self.put(pc, is_attempted));
        let rest = rest.map(|rest| Event { offset: 0, kind: EventKind::Run(rest) });
        // Writing to memory cannot fail.
        rest.is_none_or(|rest| self.event(&Batch::default(), &rest, number, &mut Budget(u64::MAX)).is_ok())
    }

    fn end(&mut self, _: &mut Budget) -> Result<()> {
        if self.unknown > 0 {
            say!("{} instructions have no address: the trace does not say where it starts", self.unknown);
        }
        Ok(())
    }

    fn end_part(&mut self) -> Ends {
        Ends { unknown: std::mem::take(&mut self.unknown), ..Ends::default() }
    }

    fn join(&mut self, part: Ends) -> Result<()> {
        self.unknown += part.unknown;
        Ok(())
    }
}

/// One line per straight run. Steps are joined up to the next transfer, runs where one continues into the next.
pub(crate) struct Runs {
    out: Vec<u8>,
    json: bool,
    name: Option<String>,
    meta: Isa,
    isa: Isa,
    run: Option<Straight>,
    /// In a part of a trace: its first run was not seen to its end, and may continue one of the part before.
    is_first: bool,
    first: Option<First>,
}

impl Runs {
    pub(crate) fn new(json: bool, isa: Isa) -> Self {
        Runs { out: Vec::new(), json, name: None, meta: isa, isa, run: None, is_first: false, first: None }
    }

    /// Adds a stretch that leaves by `exit`.
    fn add(&mut self, stretch: Straight, exit: Exit, budget: &mut Budget) -> Result<()> {
        match &mut self.run {
            Some(run) if run.end == stretch.start => {
                (run.end, run.count) = (stretch.end, run.count + stretch.count)
            }
            None if self.is_first => self.run = Some(stretch),
            _ => {
                self.close(Exit::End, budget)?;
                self.run = Some(stretch);
            }
        }
        if exit == Exit::Next { Ok(()) } else { self.close(exit, budget) }
    }

    fn close(&mut self, exit: Exit, budget: &mut Budget) -> Result<()> {
        if std::mem::take(&mut self.is_first) {
            self.first = Some((self.run.take(), exit));
            return Ok(());
        }
        let Some(Straight { start, end, number, count }) = self.run.take() else { return Ok(()) };
        if !budget.take() {
            return Ok(());
        }
        if !self.json {
            let mut addresses = [b' '; 34];
            addresses[..16].copy_from_slice(&digits(start));
            addresses[17..33].copy_from_slice(&digits(end));
            self.out.write_all(&addresses)?;
            return writeln!(self.out, "{count} {}", exit.as_str());
        }
        let mut object = object("run");
        object.extend(self.name.as_ref().map(|name| ("source".to_string(), json!(name))));
        object.extend([("number".to_string(), json!(number)), ("start".to_string(), hex(start))]);
        object.extend([("end".to_string(), hex(end)), ("count".to_string(), json!(count))]);
        object.insert("exit".into(), json!(exit.as_str()));
        write_line(&mut self.out, &object.into())
    }
}

impl View for Runs {
    fn text(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    fn source(&mut self, _: u16, name: Option<&str>, budget: &mut Budget) -> Result<()> {
        self.close(Exit::End, budget)?;
        self.isa = self.meta;
        self.name = name.map(str::to_string);
        heading(&mut self.out, self.json, name)
    }

    fn enter(&mut self, context: &Context) {
        self.isa = context.isa.unwrap_or(self.meta);
    }

    fn event(&mut self, batch: &Batch, event: &Event, number: u64, budget: &mut Budget) -> Result<()> {
        match &event.kind {
            EventKind::Step(step) => {
                let Some(pc) = step.pc else { return self.close(Exit::End, budget) };
                let exit = if step.length == 0 {
                    Exit::Next
                } else {
                    flow(self.isa, pc, step.encoding).control.exit()
                };
                let length = if step.length == 0 { 4 } else { step.length.into() };
                let end = pc.wrapping_add(length);
                self.add(Straight { start: pc, end, number, count: 1 }, exit, budget)
            }
            EventKind::Run(run) if !run.withdrawn => {
                let stretch = Straight { start: run.start, end: run.end, number, count: run.count.into() };
                self.add(stretch, run.exit, budget)
            }
            EventKind::Trap(_) => self.close(Exit::Trap, budget),
            EventKind::Gap(_) => self.close(Exit::End, budget),
            EventKind::Context(n) => {
                self.isa = batch.contexts[*n as usize].isa.unwrap_or(self.isa);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, budget: &mut Budget) -> Result<()> {
        self.close(Exit::End, budget)
    }

    fn begin_part(&mut self, context: &Context) {
        self.enter(context);
        (self.run, self.first, self.is_first) = (None, None, true);
    }

    fn end_part(&mut self) -> Ends {
        let (first, last) = (self.first.take(), self.run.take());
        Ends { unknown: 0, name: self.name.clone(), first, last }
    }

    fn join(&mut self, part: Ends) -> Result<()> {
        let all = &mut Budget(u64::MAX);
        match (part.first, part.last) {
            (None, None) => return Ok(()),
            (None, Some(only)) => return self.add(only, Exit::Next, all),
            (Some((Some(run), exit)), last) => {
                self.add(run, exit, all)?;
                self.run = last;
            }
            (Some((None, exit)), last) => {
                self.close(exit, all)?;
                self.run = last;
            }
        }
        self.name = part.name;
        Ok(())
    }
}

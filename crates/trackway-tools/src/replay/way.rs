//! Moves by functions and source lines, with the call stack of the trace: they need no stack pointer.

use std::collections::HashMap;
use std::sync::Arc;

use trackway::Result;
use trackway::machine::Calls;
use trackway_core::EventKind;
use trackway_image::{Image, program};

use super::search::PATIENCE;
use super::{Direction, Replay, Stop, Stops};
use crate::past::Here;

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One instruction.
    Instruction,
    /// To another source line; one instruction where the program has no lines.
    Line,
}

/// An instruction on the way.
struct Passed {
    number: u64,
    pc: Option<u64>,
    /// Functions and handlers entered and not left, its own included.
    depth: u64,
}

/// Lines of addresses, each looked up once.
struct Lines {
    image: Arc<Image>,
    known: HashMap<u64, Option<(String, u32)>>,
}

impl Lines {
    fn at(&mut self, pc: Option<u64>) -> Option<&(String, u32)> {
        let image = &self.image;
        let line = |pc| image.line(pc).map(|line| (line.file, line.line));
        pc.and_then(|pc| self.known.entry(pc).or_insert_with(|| line(pc)).as_ref())
    }
}

impl Replay {
    /// Functions and handlers that were entered and not left, the one of the next instruction included: a call is known
    /// once the instruction after it is.
    pub fn calls(&mut self) -> Result<Calls> {
        let (mut machine, now) = (self.point()?.machine.clone(), self.now);
        self.with_past(|past| {
            past.forwards(now, now.saturating_add(1), |here| {
                machine.apply(here.batch, here.event, here.number);
                true
            })
        })?;
        Ok(machine.calls)
    }

    /// Moves by one instruction or line. `over` passes calls and handlers; a stop inside them ends it.
    pub fn step_by(
        &mut self,
        direction: Direction,
        unit: Unit,
        over: bool,
        stops: &Stops,
        cancelled: impl FnMut() -> bool,
    ) -> Result<Stop> {
        let pc = self.pc()?;
        let depth = if over { self.calls()?.depth() } else { u64::MAX };
        let mut lines = Lines { image: program(&self.programs, 0), known: HashMap::new() };
        let here = lines.at(pc).cloned().filter(|_| unit == Unit::Line);
        match (direction, here) {
            (_, None) if !over => self.step(direction),
            (Direction::Forwards, None) => self.until_depth(depth, stops, cancelled),
            (Direction::Forwards, Some(line)) => {
                let own = self.calls()?.depth();
                let reached = |passed: &Passed| {
                    // Code without lines is passed, unless the function was left: its caller may have none.
                    let other = lines.at(passed.pc).is_some_and(|there| *there != line);
                    passed.depth <= depth && (other || passed.depth < own)
                };
                self.advance(stops, reached, cancelled)
            }
            (Direction::Backwards, line) => self.back(depth, line.is_some(), lines, stops, cancelled),
        }
    }

    /// Moves forwards until as many functions and handlers are entered and not left as `depth` allows.
    pub fn until_depth(
        &mut self,
        depth: u64,
        stops: &Stops,
        cancelled: impl FnMut() -> bool,
    ) -> Result<Stop> {
        self.advance(stops, |passed| passed.depth <= depth, cancelled)
    }

    /// Moves backwards to the call of this function; `Begin` if that was before the trace.
    pub fn to_caller(&mut self) -> Result<Stop> {
        let Some(frame) = self.calls()?.frames().next().copied() else {
            self.go(0)?;
            return Ok(Stop::Begin);
        };
        self.go(frame.number)?;
        Ok(Stop::Done)
    }

    /// Moves forwards to the first instruction that is `reached`, or to a stop before it.
    fn advance(
        &mut self,
        stops: &Stops,
        mut reached: impl FnMut(&Passed) -> bool,
        mut cancelled: impl FnMut() -> bool,
    ) -> Result<Stop> {
        let (start, count) = (self.now, self.count()?);
        let mut machine = self.point()?.machine.clone();
        let mut from = start;
        while from < count {
            if cancelled() {
                return Ok(Stop::Cancelled);
            }
            let to = from.saturating_add(PATIENCE).min(count);
            let mut found = None;
            self.with_past(|past| {
                past.forwards(from, to, |here| {
                    machine.apply(here.batch, here.event, here.number);
                    let Some(passed) = passed(&here, machine.calls.depth()) else { return true };
                    let is_end = passed.number > start && reached(&passed);
                    let end = is_end.then_some((passed.number, Stop::Done));
                    found = end.or_else(|| stops.at(&here, start, Direction::Forwards));
                    found.is_none()
                })
            })?;
            if let Some((number, stop)) = found {
                self.go(number)?;
                return Ok(stop);
            }
            from = to;
        }
        self.end()
    }

    /// Moves backwards to the last instruction that is not deeper than `depth`; with `by_line` to the first of those
    /// before it that are of the same line, without a break.
    fn back(
        &mut self,
        depth: u64,
        by_line: bool,
        mut lines: Lines,
        stops: &Stops,
        mut cancelled: impl FnMut() -> bool,
    ) -> Result<Stop> {
        let start = self.now;
        // The first instruction of the line so far, and the line.
        let mut first: Option<(u64, Option<(String, u32)>)> = None;
        let mut to = start;
        while to > 0 {
            if cancelled() {
                self.go(start)?;
                return Ok(Stop::Cancelled);
            }
            let from = to.saturating_sub(PATIENCE);
            self.go(from)?;
            let mut machine = self.point()?.machine.clone();
            // The last stop of this piece, and its instructions at this depth as runs of one line.
            let mut stopped = None;
            let mut runs: Vec<(u64, Option<(String, u32)>)> = Vec::new();
            self.with_past(|past| {
                past.forwards(from, to, |here| {
                    machine.apply(here.batch, here.event, here.number);
                    stopped = stops.at(&here, start, Direction::Backwards).or(stopped.take());
                    let Some(passed) = passed(&here, machine.calls.depth()) else { return true };
                    if passed.depth <= depth {
                        let line = lines.at(passed.pc).cloned().filter(|_| by_line);
                        match runs.last() {
                            Some((_, last)) if by_line && *last == line => {}
                            _ => runs.push((passed.number, line)),
                        }
                        // The last few decide.
                        if runs.len() > 1 << 12 {
                            runs.drain(..1 << 11);
                        }
                    }
                    true
                })
            })?;
            let mut reached = None;
            while let Some((number, line)) = runs.pop() {
                match &first {
                    // Code without lines belongs to the line that is before it.
                    None if by_line && line.is_none() => first = Some((number, None)),
                    None => first = Some((number, line)),
                    Some((_, None)) if by_line => first = Some((number, line)),
                    Some((_, known)) if by_line && *known == line => first = Some((number, line)),
                    Some((number, _)) => {
                        reached = Some(*number);
                        break;
                    }
                }
                if !by_line {
                    reached = first.as_ref().map(|first| first.0);
                    break;
                }
            }
            match (stopped, reached) {
                (Some((number, stop)), reached) if reached.is_none_or(|reached| number > reached) => {
                    self.go(number)?;
                    return Ok(stop);
                }
                (_, Some(number)) => {
                    self.go(number)?;
                    return Ok(Stop::Done);
                }
                _ => to = from,
            }
        }
        let number = first.map_or(0, |first| first.0);
        self.go(number)?;
        Ok(if number == start { Stop::Begin } else { Stop::Done })
    }
}

fn passed(here: &Here<'_>, depth: u64) -> Option<Passed> {
    let EventKind::Step(step) = &here.event.kind else { return None };
    Some(Passed { number: here.number, pc: step.pc, depth })
}

//! Whole straight runs of steps, from the target of a transfer to the next transfer: nearly all of a trace.
//!
//! They become the same blocks as by the way of all other instructions, one by one, without the pending run.

use trackway_core::*;
use trackway_isa::{Control, flow};

use super::BlockBuilder;
use super::instructions::is_taken_or_not;
use super::pending::{LARGEST_BLOCK, Target, is_sequential, plain_length, successor};
use crate::encode::{Encoder, Progress, Single};
use crate::port::{Block, Itype, Trigger};

/// The step of an event, with its address, if it is an instruction that is known and retired.
#[inline(always)]
fn retired(event: Option<&Event>) -> Option<(u64, &Step)> {
    let Some(Event { kind: EventKind::Step(step), .. }) = event else { return None };
    let is_known = (step.length > 0) & (step.outcome == Outcome::Retired);
    step.pc.filter(|_| is_known).map(|pc| (pc, step))
}

impl BlockBuilder {
    /// Takes whole runs at the start of `events`; returns the number of their steps. The pending run is settled first,
    /// and none is left.
    #[inline(never)]
    pub(super) fn whole_runs(&mut self, events: &[Event], batch: &Batch, encoder: &mut Encoder) -> usize {
        let is_plain_port = self.joins & (self.max_blocks == 1) & !(self.x1_only | self.sijump);
        let waits = self.attempted.is_some() | self.incoming.is_some() | (self.count > 0);
        if !encoder.shortcuts || !is_plain_port || waits {
            return 0;
        }
        let starts = |event| retired(event).filter(|(_, step)| !is_placeholder(step, batch));
        let Some((mut start, _)) = starts(events.first()) else { return 0 };
        if let Some(pending) = &self.pending {
            if pending.open {
                return 0;
            }
            self.settle(Some(start), encoder);
            if self.count > 0 {
                return 0;
            }
        }
        let mut done = 0;
        let (isa, mut outcomes, mut targets) = (self.isa, 0, 0);
        loop {
            let (mut at, mut number, mut altered) = (start, done, 0);
            let mut last = None;
            // Plain instructions up to the transfer.
            for event in events[done..].iter().take(LARGEST_BLOCK as usize / 4) {
                let EventKind::Step(step) = &event.kind else { break };
                let is_known = (step.length > 0) & (step.outcome == Outcome::Retired);
                if step.pc != Some(at) || !is_known {
                    break;
                }
                if let Some(executed) = &mut self.executed {
                    altered += u64::from(executed.note(at, step.encoding, step.length));
                }
                number += 1;
                if !is_sequential(isa, step.encoding) {
                    last = Some(step);
                    break;
                }
                if step.extra.is_some() | step.taken.is_some() {
                    break;
                }
                at = at.wrapping_add(plain_length(step.encoding).into());
            }
            let (Some(step), Some((next, _))) = (last, starts(events.get(number))) else { break };
            let flow = flow(isa, at, step.encoding);
            let end = at.wrapping_add(flow.length.into());
            let is_branch = flow.control == Control::Branch;
            // A branch to the next instruction may be taken or not; only the recording knows.
            let taken = is_branch & step.taken.unwrap_or(next != end);
            let itype = Itype::new(flow.control, taken, self.itype_width);
            let known = successor(Target::new(&flow), flow.control, end, Some(taken));
            let extra = batch.extra_of(step);
            if itype.0 == 0
                || flow.length > 4
                || known.is_some_and(|known| known != next)
                || extra.is_some_and(|extra| extra.placeholder)
            {
                break;
            }
            let at_target = self.recorded_target.take() == Some(start);
            self.recorded_target = extra.and_then(|extra| extra.target);
            outcomes += u64::from(step.taken.is_some());
            targets += u64::from(self.recorded_target.is_some());
            let is_transfer = is_taken_or_not(flow.control);
            let is_outcome = is_transfer & step.taken.is_some();
            let progress = Progress {
                instructions: (number - done) as u64,
                transfers: is_transfer.into(),
                outcomes: is_outcome.into(),
                targets: at_target.into(),
                altered,
            };
            let (transfers, outcomes) = (is_transfer.into(), is_outcome.into());
            let single = Single { instructions: 1, transfers, outcomes, targets: 0 };
            let block = Block {
                itype,
                iaddr: start,
                iretire: (end.wrapping_sub(start) / 2) as u32,
                ilastsize: u8::from(flow.length > 2),
                sijump: false,
                trigger: Trigger::default(),
            };
            encoder.tally.enter(progress, single, at_target);
            encoder.block(&block, &self.port);
            self.port.cycle += 1;
            self.port.ctype = 0;
            (start, done) = (next, number);
        }
        if done > 0 {
            self.after_trap = false;
            self.taken.0 += done as u64;
            encoder.tally.taken[Fact::Outcomes] += outcomes;
            encoder.tally.taken[Fact::Targets] += targets;
        }
        done
    }
}

/// Is it a fetch that failed, recorded as an instruction?
#[inline(always)]
fn is_placeholder(step: &Step, batch: &Batch) -> bool {
    step.extra.is_some() && batch.extra_of(step).is_some_and(|extra| extra.placeholder)
}

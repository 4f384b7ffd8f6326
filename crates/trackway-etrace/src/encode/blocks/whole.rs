//! Whole straight runs of steps, from the target of a transfer to the next transfer: nearly all of a trace.
//!
//! They become the same blocks as by the way of all other instructions, one by one, without the pending run.

use trackway_core::*;
use trackway_isa::{Control, Recent, flow};

use super::BlockBuilder;
use super::instructions::is_taken_or_not;
use super::pending::{LARGEST_BLOCK, PlainHalves, Target, plain_length, successor};
use crate::encode::executed::Place;
use crate::encode::{Encoder, Progress, Single};
use crate::port::{Block, Itype, Trigger};

/// An instruction that is not plain, at its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// The address after it.
    end: u64,
    /// Where it leads if it is not taken, and if it is; nowhere known unless `is_known`.
    to: [u64; 2],
    is_known: bool,
    /// Its types, likewise; none where it is not usual.
    itypes: [Itype; 2],
    is_branch: bool,
    is_transfer: bool,
    ilastsize: u8,
}

/// The transfers of the last runs.
pub(super) type Transfers = Recent<Place, Transfer, 1024>;

impl Transfer {
    #[inline(never)]
    fn new(isa: Isa, at: &Place, itype_width: u32) -> Self {
        let flow = flow(isa, at.pc, at.encoding);
        let end = at.pc.wrapping_add(flow.length.into());
        let to = |taken| successor(Target::new(&flow), flow.control, end, Some(taken));
        let itype = |taken| Itype::new(flow.control, taken, itype_width);
        Transfer {
            end,
            to: [to(false), to(true)].map(Option::unwrap_or_default),
            is_known: to(true).is_some(),
            itypes: if flow.length > 4 { [Itype::NONE; 2] } else { [itype(false), itype(true)] },
            is_branch: flow.control == Control::Branch,
            is_transfer: is_taken_or_not(flow.control),
            ilastsize: u8::from(flow.length > 2),
        }
    }
}

/// The step of an event, with its address, if it is an instruction that is known and retired.
#[inline(always)]
fn retired(event: Option<&Event>) -> Option<(u64, &Step)> {
    let Some(Event { kind: EventKind::Step(step @ Step { pc: Some(pc), .. }), .. }) = event else {
        return None;
    };
    let is_known = (step.length > 0) & (step.outcome == Outcome::Retired);
    is_known.then_some((*pc, step))
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
        let (isa, itype_width, plain) = (self.isa, self.itype_width, PlainHalves::of(self.isa));
        let (mut rest, mut outcomes, mut targets) = (events, 0, 0);
        let mut recorded_target = self.recorded_target;
        loop {
            let (mut at, mut steps) = (start, rest.iter());
            // Plain instructions up to the transfer.
            let last = loop {
                let Some(Event { kind: EventKind::Step(step), .. }) = steps.next() else { break None };
                let is_known = (step.length > 0) & (step.outcome == Outcome::Retired);
                if step.pc != Some(at) || !is_known {
                    break None;
                }
                if !plain.has(step.encoding) {
                    break Some(step);
                }
                if step.extra.is_some() | step.taken.is_some() {
                    break None;
                }
                at = at.wrapping_add(plain_length(step.encoding).into());
            };
            let after = steps.as_slice();
            let (Some(step), Some((next, _))) = (last, starts(after.first())) else { break };
            let place = Place { pc: at, encoding: step.encoding };
            let transfer = self.transfers.get(place, || Transfer::new(isa, &place, itype_width));
            // A branch to the next instruction may be taken or not; only the recording knows.
            let taken = transfer.is_branch & step.taken.unwrap_or(next != transfer.end);
            let (itype, to) = (transfer.itypes[usize::from(taken)], transfer.to[usize::from(taken)]);
            let extra = batch.extra_of(step);
            if (itype.0 == 0)
                | (transfer.is_known & (to != next))
                | (at.wrapping_sub(start) >= u64::from(LARGEST_BLOCK))
                || extra.is_some_and(|extra| extra.placeholder)
            {
                break;
            }
            let (run, mut altered) = (&rest[..rest.len() - after.len()], 0);
            if let Some(executed) = &mut self.executed {
                for (pc, step) in run.iter().filter_map(|event| retired(Some(event))) {
                    altered += u64::from(executed.note(pc, step.encoding, step.length));
                }
            }
            let at_target = recorded_target == Some(start);
            recorded_target = None;
            if let Some(extra) = extra {
                recorded_target = extra.target;
                targets += u64::from(recorded_target.is_some());
            }
            outcomes += u64::from(step.taken.is_some());
            let Transfer { end, is_transfer, ilastsize, .. } = *transfer;
            let is_outcome = is_transfer & step.taken.is_some();
            let progress = Progress {
                instructions: run.len() as u64,
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
                ilastsize,
                sijump: false,
                trigger: Trigger::default(),
            };
            encoder.tally.enter(progress, single, at_target);
            encoder.block_here(&block, &self.port);
            self.port.cycle += 1;
            self.port.ctype = 0;
            (start, rest) = (next, after);
        }
        let done = events.len() - rest.len();
        if done > 0 {
            (self.after_trap, self.recorded_target) = (false, recorded_target);
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

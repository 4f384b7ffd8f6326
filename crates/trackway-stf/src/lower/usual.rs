//! Usual steps in few tests: instructions that retire one after the other, of which nothing waits for the next event.
//!
//! They become the groups that [`step`](Lower::step) writes, without the look at each kind of record that may come
//! between two instructions.

use trackway_core::*;
use trackway_isa::Control;

use super::{Coming, EARLY, Lower, read_outcome};
use crate::record::descriptor;

impl Lower {
    /// Writes usual steps at the start of `events`; returns their number.
    pub(super) fn usual_steps(&mut self, events: &[Event], batch: &Batch) -> Result<usize> {
        let Coming { front, registers, walks, bus, modes, .. } = &self.coming;
        let is_clear = [front, registers, walks, bus].iter().all(|part| part.is_empty()) && modes.is_empty();
        let is_busy = !self.shortcuts | self.waits | self.unknown | self.first_pc.is_none();
        let Some(mut pc) = self.expected.filter(|_| is_clear && !is_busy) else { return Ok(0) };
        let (mut out, mut groups, room) = match (&mut self.early, &mut self.writer) {
            (Some(early), _) => {
                let groups = std::mem::take(&mut early.groups);
                let room = EARLY - groups.len();
                (std::mem::take(&mut early.bytes), Some(groups), room)
            }
            (None, Some(writer)) => {
                let (out, room) = writer.lend();
                (out, None, room)
            }
            (None, None) => return Ok(0),
        };
        let mut number = 0;
        for event in events.iter().take(room) {
            let EventKind::Step(step) = &event.kind else { break };
            let is_known = (step.outcome == Outcome::Retired) & matches!(step.length, 2 | 4);
            if step.pc != Some(pc) || !is_known || Self::seem_joined(step.accesses, batch) {
                break;
            }
            let extra = batch.extra_of(step);
            if extra.is_some_and(|extra| extra.placeholder | (extra.micro_ops.len > 0)) {
                break;
            }
            let target = extra.and_then(|extra| extra.target);
            let control = self.control(step.encoding);
            let waits = control.is_transfer() && target.is_none() && step.taken != Some(false);
            let is_odd = (control == Control::TrapReturn) | !control.retires();
            if waits | is_odd || step.taken != read_outcome(control, target, true) {
                break;
            }
            if let Some(pc) = target {
                let [a, b, c, d, e, f, g, h] = pc.to_le_bytes();
                out.extend_from_slice(&[descriptor::INST_PC_TARGET, a, b, c, d, e, f, g, h]);
            }
            for access in batch.regs_of(step.accesses) {
                self.register(access, batch, &mut out);
            }
            match batch.mem_of(step.accesses) {
                [] => {}
                [access] if Self::usual_access(access, &mut out) => {}
                _ => self.memory(step.accesses, batch, &mut out),
            }
            // One copy of constant length each.
            let [a, b, c, d] = step.encoding.to_le_bytes();
            match step.length {
                2 => out.extend_from_slice(&[descriptor::INST_OPCODE16, a, b]),
                _ => out.extend_from_slice(&[descriptor::INST_OPCODE32, a, b, c, d]),
            }
            pc = target.unwrap_or(pc.wrapping_add(step.length.into()));
            if let Some(groups) = &mut groups {
                groups.push((out.len(), pc));
            }
            number += 1;
        }
        if number > 0 {
            (self.expected, self.read_next) = (Some(pc), Some(pc));
            self.coming.mode_shown = false;
        }
        match (&mut self.early, groups, &mut self.writer) {
            (Some(early), Some(groups), _) => {
                (early.bytes, early.groups) = (out, groups);
                if early.groups.len() >= EARLY {
                    self.write_early()?;
                }
            }
            (_, _, Some(writer)) => writer.take_back(out, number as u64, pc),
            _ => {}
        }
        Ok(number)
    }
}

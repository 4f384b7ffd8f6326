//! Usual steps in few tests: instructions that retire one after the other, of which nothing waits for the next event.
//!
//! They become the groups that [`step`](Lower::step) writes, without the look at each kind of record that may come
//! between two instructions. There is room for many groups at once, and what they add to the account is added once.

use std::num::NonZeroU64;

use trackway_core::*;
use trackway_isa::{Control, arm::a64, riscv};

use super::accesses::{ACCESS, made_up, seem_joined, usual_access, usual_register};
use super::{Coming, Controls, EARLY, Lower, read_outcome};
use crate::record::{descriptor, length};

/// Bytes that room is made for at a time.
pub(super) const ROOM: usize = 1 << 10;
/// With less room than this a group may not have fitted.
const SCARCE: usize = 1 << 8;

/// Instruction sets, for [`write`].
const RISCV: u8 = 0;
const A64: u8 = 1;
const OTHER: u8 = 2;

/// The sum of usual steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub(super) number: usize,
    /// Address of the next instruction.
    pub(super) pc: u64,
    /// Features that the records need.
    pub(super) features: u64,
    /// Accesses whose data is made up.
    pub(super) made_up: u64,
}

impl Sum {
    /// Nothing yet: the next instruction is there.
    pub(super) fn at(pc: u64) -> Self {
        Sum { number: 0, pc, features: 0, made_up: 0 }
    }
}

impl Lower {
    /// Writes usual steps at the start of `events`; returns their number.
    pub(super) fn usual_steps(&mut self, events: &[Event], batch: &Batch) -> Result<usize> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let written = self.row(|sum, controls, isa, room, out| {
            let steps = &events[..room.min(events.len())];
            *sum = scratch.append(*sum, controls, isa, steps, batch, out);
        });
        self.scratch = scratch;
        written
    }

    /// Has usual groups written, if any can be: their sum so far, the most of them, and the buffer that they are appended
    /// to. Returns their number.
    pub(super) fn row(
        &mut self,
        write: impl FnOnce(&mut Sum, &mut Controls, Isa, usize, &mut Vec<u8>),
    ) -> Result<usize> {
        let Coming { front, registers, walks, bus, modes, .. } = &self.coming;
        let is_clear = [front, registers, walks, bus].iter().all(|part| part.is_empty()) && modes.is_empty();
        let is_busy = !self.shortcuts | self.waits | self.unknown | self.first_pc.is_none();
        let (Some(pc), Some(writer)) = (self.expected.filter(|_| is_clear && !is_busy), &mut self.writer)
        else {
            return Ok(0);
        };
        let (mut out, room) = writer.lend();
        let room = self.early.map_or(room, |early| room.min(EARLY - early));
        let mut sum = Sum::at(pc);
        write(&mut sum, &mut self.controls, self.isa, room, &mut out);
        let Sum { number, pc, features, made_up } = sum;
        writer.take_back(out, number as u64, pc);
        if number > 0 {
            (self.expected, self.read_next) = (Some(pc), Some(pc));
            self.coming.mode_shown = false;
            self.features |= features;
            self.books.invent(Fact::MemoryData, made_up);
            self.count_early(number)?;
        }
        Ok(number)
    }
}

/// Room for some groups, which is not cleared again for each row: many rows are short.
#[derive(Debug, Default)]
pub(super) struct Scratch(Vec<u8>);

impl Scratch {
    /// Appends the usual steps at the start of `steps`; returns their sum on top of `sum`.
    pub(super) fn append(
        &mut self,
        mut sum: Sum,
        controls: &mut Controls,
        isa: Isa,
        steps: &[Event],
        batch: &Batch,
        out: &mut Vec<u8>,
    ) -> Sum {
        self.0.resize(ROOM, 0);
        loop {
            let before = sum.number;
            let left;
            (sum, left) = write_steps(sum, controls, isa, &steps[before..], batch, &mut self.0);
            out.extend_from_slice(&self.0[..ROOM - left]);
            if sum.number == before || left >= SCARCE || sum.number == steps.len() {
                return sum;
            }
        }
    }
}

/// Writes the usual steps at the start of `events` that `out` has room for, with the sum and the room as [`write`] returns
/// them.
pub(super) fn write_steps(
    sum: Sum,
    controls: &mut Controls,
    isa: Isa,
    events: &[Event],
    batch: &Batch,
    out: &mut [u8],
) -> (Sum, usize) {
    match isa {
        Isa::Rv32 | Isa::Rv64 => write::<RISCV>(sum, controls, isa, events, batch, out),
        Isa::A64 => write::<A64>(sum, controls, isa, events, batch, out),
        _ => write::<OTHER>(sum, controls, isa, events, batch, out),
    }
}

/// Writes the usual steps at the start of `events` that `out` has room for; returns their sum on top of `sum`, and the
/// room left. It holds little and calls functions for accesses, so that its state stays in registers.
#[inline(never)]
fn write<const SET: u8>(
    sum: Sum,
    controls: &mut Controls,
    isa: Isa,
    events: &[Event],
    batch: &Batch,
    mut out: &mut [u8],
) -> (Sum, usize) {
    let Sum { number, mut pc, mut features, mut made_up } = sum;
    let (mut rest, mut left) = (events, out.len());
    while let [Event { kind: EventKind::Step(step), .. }, others @ ..] = rest {
        let is_known = (step.outcome == Outcome::Retired) & matches!(step.length, 2 | 4);
        if step.pc != Some(pc) || !is_known {
            break;
        }
        let mut next = pc.wrapping_add(step.length.into());
        let is_sequential = match SET {
            RISCV => riscv::is_plain(step.encoding),
            A64 => a64::is_plain(step.encoding),
            _ => false,
        };
        let is_plain = is_sequential && step.extra.is_none() && step.taken.is_none();
        if !is_plain {
            let Some(target) = target(step, controls.of(isa, step.encoding), batch) else { break };
            if let Some(target) = target {
                let Some((record, room)) = out.split_first_chunk_mut::<{ length::TARGET }>() else { break };
                record[0] = descriptor::INST_PC_TARGET;
                record[1..].copy_from_slice(&target.to_le_bytes());
                (next, out) = (target, room);
            }
        }
        if step.accesses.regs_len > 0 {
            let regs = batch.regs_of(step.accesses);
            let Some((records, room)) = out.split_at_mut_checked(length::REGISTER * regs.len()) else {
                break;
            };
            let Some(needed) = registers(regs, records) else { break };
            (features, out) = (features | needed.get(), room);
        }
        let mut unknown = 0;
        if step.accesses.mem_len > 0 {
            let mem = batch.mem_of(step.accesses);
            let Some((records, room)) = out.split_at_mut_checked(ACCESS * mem.len()) else { break };
            if !accesses(mem, records) {
                break;
            }
            (unknown, out) = (made_up_of(mem), room);
        }
        let Some(record) = out.first_chunk_mut::<5>() else { break };
        record[0] = if step.length == 2 { descriptor::INST_OPCODE16 } else { descriptor::INST_OPCODE32 };
        record[1..].copy_from_slice(&step.encoding.to_le_bytes());
        out = &mut out[1 + usize::from(step.length)..];
        (rest, pc, left) = (others, next, out.len());
        made_up += unknown;
    }
    (Sum { number: number + events.len() - rest.len(), pc, features, made_up }, left)
}

/// The target of a step that changes the flow or could; none of the two if it is not usual.
#[inline(always)]
fn target(step: &Step, control: Control, batch: &Batch) -> Option<Option<u64>> {
    let target = match batch.extra_of(step) {
        Some(extra) if extra.placeholder | (extra.micro_ops.len > 0) => return None,
        Some(extra) => extra.target,
        None => None,
    };
    let waits = control.is_transfer() && target.is_none() && step.taken != Some(false);
    let is_odd = (control == Control::TrapReturn) | !control.retires();
    (!(waits | is_odd) && step.taken == read_outcome(control, target, true)).then_some(target)
}

/// Writes registers; returns the features that they need, if they are usual.
#[inline(never)]
fn registers(regs: &[RegAccess], records: &mut [u8]) -> Option<NonZeroU64> {
    let mut features = 0;
    for (access, record) in regs.iter().zip(records.as_chunks_mut().0) {
        features |= usual_register(access, record)?;
    }
    NonZeroU64::new(features)
}

/// Writes accesses, if they are usual.
#[inline(never)]
fn accesses(mem: &[MemAccess], records: &mut [u8]) -> bool {
    let mut each = mem.iter().zip(records.as_chunks_mut().0);
    each.all(|(access, record)| usual_access(access, record).is_some()) && !seem_joined(mem)
}

#[inline(always)]
fn made_up_of(mem: &[MemAccess]) -> u64 {
    match mem {
        [access] => (access.data == Value::Unknown).into(),
        _ => made_up(mem),
    }
}

//! The loop over common records: where lifting spends its time.

use trackway_core::*;

use super::{LARGEST_GROUP, Lifter, TrapsOn, mem_access};
use crate::layout::Layout;
use crate::read::WINDOW;
use crate::record::{Record, read_common};
use crate::source::Census;

impl Lifter {
    /// Lifts the common records at the front of `bytes` until the batch is full: gives their length.
    ///
    /// This is where the time goes. What the loops need is kept in locals; anything out of the ordinary is
    /// left to [`Lifter::lift`], with the state put back.
    pub(crate) fn lift_common(
        &mut self,
        bytes: &[u8],
        start: u64,
        layout: &Layout,
        batch: &mut Batch,
        census: &mut Census,
    ) -> (usize, Result<()>) {
        match self.isa {
            Isa::Rv32 | Isa::Rv64 => self.lift_loop::<true>(bytes, start, layout, batch, census),
            _ => self.lift_loop::<false>(bytes, start, layout, batch, census),
        }
    }

    /// With `RISCV` what traps is a constant.
    fn lift_loop<const RISCV: bool>(
        &mut self,
        bytes: &[u8],
        start: u64,
        layout: &Layout,
        batch: &mut Batch,
        census: &mut Census,
    ) -> (usize, Result<()>) {
        let in_order = !self.special && self.bus.is_none();
        let Some(mut pc) =
            self.next.filter(|_| in_order && batch.regs.len() == self.accesses.regs_start as usize)
        else {
            return self.lift_one(bytes, start, layout, batch, census);
        };
        let Batch { events, mem, extras, .. } = &mut *batch;
        let mut rest = bytes;
        let end = start + bytes.len() as u64;
        let before = (events.len(), mem.len(), extras.len());
        let mut bare = 0;
        let mut group = self.accesses;
        let mut target = None;
        let traps_on = if RISCV { TrapsOn::new(Isa::Rv64) } else { self.traps_on };
        let mut begun = mem.len() != group.mem_start as usize;
        'groups: while events.len() < Batch::FULL {
            // Instructions with nothing but an opcode.
            while !begun && let Some(window) = rest.first_chunk::<WINDOW>() {
                let len = read_common!(@arms window, layout, |record, len| {
                    let (opcode, length) = opcode(record);
                    if traps_on.may_cover(opcode, length) {
                        break 'groups;
                    }
                    let offset = end - rest.len() as u64;
                    events.push(Event { offset, kind: EventKind::Step(Step::new(pc, opcode, length)) });
                    pc = pc.wrapping_add(length.into());
                    len
                }, else break, 240 241);
                rest = &rest[len..];
                if events.len() >= Batch::FULL {
                    break 'groups;
                }
            }
            // A group with accesses or a target, up to its opcode.
            loop {
                let Some(window) = rest.first_chunk::<WINDOW>() else { break 'groups };
                let (len, ended) = read_common!(window, layout, |record, len| {
                    match record {
                        Record::InstMemAccess { address, size, attributes, access }
                            if mem.len() - (group.mem_start as usize) < LARGEST_GROUP =>
                        {
                            let mut access = mem_access(address, size, attributes, access);
                            // Its content follows, mostly.
                            let content = read_common!(@arms window[len..], layout, |record, len| {
                                match record {
                                    Record::InstMemContent { data } => {
                                        access.data = Value::Word(data);
                                        len
                                    }
                                    _ => 0,
                                }
                            }, else {
                                bare += 1;
                                0
                            }, 61);
                            mem.push(access);
                            (len + content, false)
                        }
                        Record::InstPcTarget { pc } if target.is_none() => {
                            target = Some(pc);
                            (len, false)
                        }
                        Record::InstOpcode32 { .. } | Record::InstOpcode16 { .. } => {
                            let (opcode, length) = opcode(record);
                            if traps_on.may_cover(opcode, length) {
                                break 'groups;
                            }
                            let mut step = Step::new(pc, opcode, length);
                            pc = pc.wrapping_add(length.into());
                            if mem.len() != group.mem_start as usize {
                                group.mem_len = (mem.len() - group.mem_start as usize) as u16;
                                self.sizes(opcode, &mut mem[group.mem_start as usize..]);
                                step.accesses = group;
                                (group.mem_start, group.mem_len) = (mem.len() as u32, 0);
                            }
                            if let Some(to) = target.take() {
                                pc = to;
                                step.taken = Some(true);
                                step.extra = Batch::extra_at(extras.len());
                                extras.push(StepExtra { target: Some(to), ..StepExtra::default() });
                            }
                            let offset = end - rest.len() as u64;
                            events.push(Event { offset, kind: EventKind::Step(step) });
                            (len, true)
                        }
                        _ => break 'groups,
                    }
                }, else break 'groups);
                rest = &rest[len..];
                if ended {
                    break;
                }
            }
            begun = false;
        }
        let at = bytes.len() - rest.len();
        // Counting in the loops would cost a tenth of the time.
        let steps = (events.len() - before.0) as u64;
        let accesses = (mem.len() - before.1) as u64;
        let targets = (extras.len() - before.2) as u64 + u64::from(target.is_some());
        let wide = (at as u64 - 3 * steps - 14 * accesses - 9 * (accesses - bare) - 9 * targets) / 2;
        census[240] += wide;
        census[241] += steps - wide;
        census[60] += accesses;
        census[61] += accesses - bare;
        census[31] += targets;
        if target.is_some() {
            (self.target, self.branch_target, self.special) = (target, target, true);
        }
        self.next = Some(pc);
        self.accesses = group;
        if batch.events.len() >= Batch::FULL {
            return (at, Ok(()));
        }
        let (len, lifted) = self.lift_one(rest, start + at as u64, layout, batch, census);
        (at + len, lifted)
    }

    /// One common record, by the general way.
    fn lift_one(
        &mut self,
        bytes: &[u8],
        offset: u64,
        layout: &Layout,
        batch: &mut Batch,
        census: &mut Census,
    ) -> (usize, Result<()>) {
        let Some(window) = bytes.first_chunk::<WINDOW>() else { return (0, Ok(())) };
        read_common!(window, layout, |record, len| {
            census[usize::from(window[0])] += 1;
            (len, self.lift(offset, &record, batch))
        }, else (0, Ok(())))
    }
}

/// The opcode of an opcode record, and its length in bytes.
#[inline(always)]
fn opcode(record: Record<'_>) -> (u32, u8) {
    match record {
        Record::InstOpcode32 { opcode } => (opcode, 4),
        Record::InstOpcode16 { opcode } => (opcode.into(), 2),
        _ => (0, 0),
    }
}

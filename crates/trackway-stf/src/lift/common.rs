//! The loop over common records: where lifting spends its time.

use trackway_core::*;

use super::{LARGEST_GROUP, Lifter, mem_access};
use crate::layout::Layout;
use crate::source::Census;
use crate::read::WINDOW;
use crate::record::{Record, read_common};

impl Lifter {
    /// Lifts the common records at the front of `bytes` until the batch is full: gives their length.
    ///
    /// This is where the time goes. What the loop needs is kept in locals; anything out of the ordinary is
    /// left to [`Lifter::lift`], with the state put back.
    pub(crate) fn lift_common(
        &mut self,
        bytes: &[u8],
        start: u64,
        layout: &Layout,
        batch: &mut Batch,
        census: &mut Census,
    ) -> (usize, Result<()>) {
        let mut rest = bytes;
        let mut lifted = Ok(());
        let Some(mut pc) = self.next.filter(|_| !self.special && self.bus.is_none()) else {
            return self.lift_one(bytes, start, layout, batch, census);
        };
        let mut accesses = self.accesses;
        let mut target = None;
        while let Some(window) = rest.first_chunk::<WINDOW>() {
            let offset = start + (bytes.len() - rest.len()) as u64;
            let len = read_common!(window, layout, |record, len| {
                match record {
                    Record::InstOpcode32 { .. } | Record::InstOpcode16 { .. } => {
                        let opcode = match record {
                            Record::InstOpcode32 { opcode } => opcode,
                            Record::InstOpcode16 { opcode } => opcode.into(),
                            _ => 0,
                        };
                        if self.traps_on.covers(opcode) {
                            break;
                        }
                        let mut own = accesses;
                        if batch.mem.len() != accesses.mem_start as usize
                            || batch.regs.len() != accesses.regs_start as usize
                        {
                            match batch.end_accesses(accesses) {
                                Some(ended) => own = ended,
                                None => break,
                            }
                            self.sizes(opcode, own, batch);
                            accesses = batch.begin_accesses();
                        }
                        let length = len as u8 - 1;
                        let mut step = Step { accesses: own, ..Step::new(pc, opcode, length) };
                        pc = pc.wrapping_add(length.into());
                        if let Some(to) = target.take() {
                            pc = to;
                            step.taken = Some(true);
                            step.extra = batch.add_extra(StepExtra { target: Some(to), ..StepExtra::default() });
                        }
                        batch.push(offset, EventKind::Step(step));
                        census[usize::from(window[0])] += 1;
                        if batch.events.len() >= Batch::FULL {
                            rest = &rest[len..];
                            break;
                        }
                        len
                    }
                    Record::InstMemAccess { address, size, attributes, access }
                        if batch.mem.len() - accesses.mem_start as usize <= LARGEST_GROUP =>
                    {
                        batch.mem.push(mem_access(address, size, attributes, access));
                        census[usize::from(window[0])] += 1;
                        len
                    }
                    Record::InstMemContent { data } => {
                        let in_group = batch.mem.len() > accesses.mem_start as usize;
                        match batch.mem.last_mut() {
                            Some(last) if in_group && last.data == Value::Unknown => last.data = Value::Word(data),
                            _ => break,
                        }
                        census[usize::from(window[0])] += 1;
                        len
                    }
                    Record::InstPcTarget { pc } => {
                        target = Some(pc);
                        census[usize::from(window[0])] += 1;
                        len
                    }
                    _ => break,
                }
            }, else break);
            rest = &rest[len..];
        }
        if target.is_some() {
            (self.target, self.branch_target, self.special) = (target, target, true);
        }
        self.next = Some(pc);
        self.accesses = accesses;
        let mut at = bytes.len() - rest.len();
        if batch.events.len() < Batch::FULL {
            let (len, one) = self.lift_one(rest, start + at as u64, layout, batch, census);
            at += len;
            lifted = one;
        }
        (at, lifted)
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

//! Blocks and cycles of the port, from runs whose successor is known.

use trackway_isa::Control;

use super::BlockBuilder;
use super::pending::Pending;
use crate::encode::Encoder;
use crate::encode::data_queue::DataItem;
use crate::port::{Block, Itype, Trigger};

impl BlockBuilder {
    /// Adds the pending instruction to a block, now that its successor is known.
    #[inline]
    pub(super) fn settle(&mut self, next: Option<u64>, encoder: &mut Encoder) {
        let Some(pending) = &self.pending else { return };
        let mut taken = false;
        if pending.control == Control::Branch {
            taken = match (pending.taken, next) {
                // A branch to the next instruction may be taken or not; only the recording knows.
                (Some(taken), _) => taken,
                (None, Some(next)) => next != pending.end,
                (None, None) => false,
            };
        }
        let itype = Itype::new(pending.control, taken, self.itype_width);
        let successor = pending.successor(Some(taken));
        let is_transfer = pending.last.transfers > 0;
        if self.count == 0
            && itype.0 != 0
            && pending.length <= 4
            && self.max_blocks == 1
            && self.data.is_none()
        {
            // Most runs are a block.
            let block = Block {
                itype,
                iaddr: pending.start,
                iretire: pending.halfwords(),
                ilastsize: u8::from(pending.length > 2),
                sijump: pending.sijump,
                trigger: Trigger { notify: pending.notify, ..Trigger::default() },
            };
            encoder.tally.enter(pending.progress(), pending.last, pending.targets > 0);
            self.pending = None;
            self.after_trap = false;
            encoder.block(&block, &self.port);
            self.port.cycle += 1;
            self.port.ctype = 0;
        } else if let Some(pending) = self.pending.take() {
            self.join(&pending, itype, encoder);
        }
        if let Some(next) = next {
            if successor.is_some_and(|expected| expected != next) {
                self.interrupt_flow(encoder);
            } else if is_transfer && itype.0 == 0 {
                self.close(encoder);
            }
        }
    }

    /// Adds a run to the block.
    fn join(&mut self, run: &Pending, itype: Itype, encoder: &mut Encoder) {
        let Pending { start, length, notify, .. } = *run;
        let (halfwords, address, count) = (run.halfwords(), run.address(), run.progress());
        let runs_on = self.count > 0
            && start == self.block.iaddr.wrapping_add(u64::from(self.block.iretire) * 2)
            && self.count < self.max_block;
        if !runs_on {
            self.close(encoder);
            self.block.iaddr = start;
            self.at_target = count.targets > 0;
        }
        if !self.pending_items.is_empty() {
            let (joined, number) = (self.joined, self.instructions.instructions);
            self.items.extend(self.pending_items.drain(..).map(|item| DataItem {
                before: if start == address { joined } else { item.before },
                number: number + item.number,
                ..item
            }));
        }
        self.joined = Some(address);
        self.after_trap = false;
        self.count += 1;
        self.instructions = self.instructions.plus(count);
        self.last_of_block = run.last;
        self.block.iretire += halfwords;
        self.block.ilastsize = u8::from(length > 2);
        if itype.0 != 0 || notify || length > 4 {
            self.block.itype = itype;
            self.block.sijump = run.sijump;
            self.block.trigger = Trigger { notify, ..Trigger::default() };
            self.close(encoder);
        }
    }

    /// Completes the block.
    #[inline(always)]
    pub(super) fn close(&mut self, encoder: &mut Encoder) {
        if self.count == 0 {
            return;
        }
        let block = std::mem::take(&mut self.block);
        let instructions = std::mem::take(&mut self.instructions);
        self.count = 0;
        self.joined = None;
        if self.max_blocks == 1 {
            encoder.tally.enter(instructions, self.last_of_block, self.at_target);
            if self.items.is_empty() {
                encoder.block(&block, &self.port);
            } else {
                encoder.block_with(&block, &self.port, &self.items);
                self.items.clear();
            }
            self.port.cycle += 1;
            self.port.ctype = 0;
        } else {
            let items = std::mem::take(&mut self.items);
            self.blocks.push((block, instructions, self.last_of_block, self.at_target, items));
            if self.blocks.len() == self.max_blocks {
                self.flush(encoder);
            }
        }
    }

    /// Completes the cycle.
    pub(super) fn flush(&mut self, encoder: &mut Encoder) {
        if self.blocks.is_empty() {
            return;
        }
        for (block, instructions, last, at_target, items) in self.blocks.drain(..) {
            encoder.tally.enter(instructions, last, at_target);
            encoder.block_with(&block, &self.port, &items);
        }
        self.port.cycle += 1;
        self.port.ctype = 0;
    }

    /// Ends the known flow: the next instruction does not follow from it.
    pub(super) fn interrupt_flow(&mut self, encoder: &mut Encoder) {
        self.settle(None, encoder);
        self.close(encoder);
        self.flush(encoder);
        encoder.stop(self.port.cycle);
        self.last = None;
        self.recorded_target = None;
    }
}

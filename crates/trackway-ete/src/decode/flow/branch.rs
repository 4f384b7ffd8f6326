//! Atoms: a block was executed, and its last instruction was taken or not.

use trackway_core::{Isa, Trap, TrapKind};
use trackway_image::Block;
use trackway_isa::{Control, Switch};

use super::Analyser;
use super::code::run_of;
use super::state::Last;
use crate::wire::address::SubIsa;

impl Analyser {
    /// A block was executed and its last instruction taken or not (K10.5.5.18.3, K10.5.5.18.4).
    #[inline(always)]
    pub(super) fn branch(&mut self, offset: u64, block: &Block, taken: bool) {
        let run = run_of(block, self.isa, taken);
        self.run(offset, run);
        self.flow.last = Some(Last { start: block.start, sub_isa: self.flow.sub_isa, taken });
        if taken && self.return_stack && block.control.is_call() && !self.flow.no_push {
            let address = self.flow.wrap(block.end);
            self.flow.push_return(address);
        }
        self.leave(block, taken);
        if run.doubtful {
            // The program is not the one that ran: the next address decides where execution continues.
            self.flow.lose_address();
        }
        if block.control == Control::TrapReturn && taken && !self.withdrawn {
            self.out.trap(offset, Trap { from: Some(block.last), ..Trap::new(TrapKind::Return) });
        }
    }

    /// Moves to the instruction after a block.
    #[inline]
    pub(super) fn leave(&mut self, block: &Block, taken: bool) {
        self.flow.has_address = true;
        if taken && block.control.is_indirect() {
            self.flow.has_address = false;
            self.flow.pop = self.return_stack;
            self.flow.pc = self.flow.wrap(block.end);
            return;
        }
        self.flow.pop = false;
        let next = match block.target {
            Some(target) if taken => {
                if let Switch::To(isa) = block.switch {
                    self.flow.sub_isa = if isa == Isa::T32 { SubIsa::Is1 } else { SubIsa::Is0 };
                    self.stale = true;
                }
                target
            }
            _ => block.end,
        };
        self.flow.pc = self.flow.wrap(next);
    }

    /// Reverses the last atom or source address (K10.5.5.11.1).
    pub(super) fn mispredict(&mut self) {
        let Some(last) = self.flow.last else { return };
        let taken = !last.taken;
        self.stale |= self.flow.sub_isa != last.sub_isa;
        self.flow.sub_isa = last.sub_isa;
        let Some(block) = self.block(last.start) else { return };
        self.flow.last = Some(Last { taken, ..last });
        let isa = self.flow.isa();
        let corrected = run_of(&block, isa, taken);
        if !self.withdrawn
            && let Some(run) = self.out.last_run()
            && run.end == corrected.end
        {
            (run.taken, run.doubtful) = (corrected.taken, corrected.doubtful);
        }
        self.leave(&block, taken);
        if corrected.doubtful {
            self.flow.lose_address();
        }
    }

    /// An atom where the block is in several pieces, or where code is missing.
    #[cold]
    #[inline(never)]
    pub(super) fn long_atom(&mut self, offset: u64, taken: bool) {
        let pc = self.flow.pc;
        match self.block(pc) {
            Some(block) if block.control != Control::Sequential => self.branch(offset, &block, taken),
            Some(block) => {
                self.run(offset, run_of(&block, self.flow.isa(), false));
                self.settle();
                self.no_code(offset, block.end);
            }
            None => self.no_code(offset, pc),
        }
    }
}

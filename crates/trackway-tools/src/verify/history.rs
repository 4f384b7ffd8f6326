//! The last instructions, and the last writer of each register.

use trackway_core::{Reg, RegClass};

/// An instruction that was executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Executed {
    /// Number of the instruction.
    pub(super) number: u64,
    /// Number of its group.
    pub(super) group: u64,
    pub(super) pc: u64,
    pub(super) encoding: u32,
}

/// Instructions executed before the current one.
#[derive(Debug)]
pub(super) struct History {
    /// A ring of at most `capacity` instructions.
    recent: Vec<Executed>,
    capacity: usize,
    /// Index of the oldest one, once the ring is full.
    oldest: usize,
    /// Who wrote each x register, then each f register, last.
    writers: [Option<Executed>; 64],
}

impl History {
    pub(super) fn new(capacity: usize) -> Self {
        History { recent: Vec::new(), capacity, oldest: 0, writers: [None; 64] }
    }

    /// Adds an instruction and the registers that it wrote, as bits.
    #[inline]
    pub(super) fn push(&mut self, executed: Executed, x_written: u32, f_written: u32) {
        if self.recent.len() < self.capacity {
            self.recent.push(executed);
        } else if let Some(oldest) = self.recent.get_mut(self.oldest) {
            *oldest = executed;
            self.oldest += 1;
            if self.oldest == self.recent.len() {
                self.oldest = 0;
            }
        }
        let mut rest = x_written;
        while rest != 0 {
            self.writers[rest.trailing_zeros() as usize] = Some(executed);
            rest &= rest - 1;
        }
        if f_written != 0 {
            self.writers[32 + f_written.trailing_zeros() as usize] = Some(executed);
        }
    }

    /// The last instructions, oldest first.
    pub(super) fn recent(&self) -> impl Iterator<Item = &Executed> {
        self.recent[self.oldest..].iter().chain(&self.recent[..self.oldest])
    }

    /// Who wrote an x or f register last.
    pub(super) fn writer(&self, reg: Reg) -> Option<&Executed> {
        let file = if reg.class == RegClass::Float { 32 } else { 0 };
        self.writers.get(file + usize::from(reg.number))?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_last_ones_in_order() {
        let mut history = History::new(3);
        for number in 0..5 {
            history.push(Executed { number, group: number, pc: 4 * number, encoding: 0x13 }, 1 << number, 0);
            let kept: Vec<u64> = history.recent().map(|executed| executed.number).collect();
            assert_eq!(kept, (number.saturating_sub(2)..=number).collect::<Vec<_>>());
        }
        let x3 = Reg { class: RegClass::Int, number: 3 };
        assert_eq!(history.writer(x3).map(|executed| executed.number), Some(3));
        assert!(history.writer(Reg { class: RegClass::Float, number: 3 }).is_none());
        assert!(History::new(0).recent().next().is_none());
    }
}

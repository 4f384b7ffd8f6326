//! Which part of an execution is recorded.

/// A place in an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before the instruction with this number, counted from 0.
    Instruction(u64),
    /// Before the first instruction at this address, as the program is linked.
    Pc(u64),
}

/// The first `count` of every `of` instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Instructions recorded.
    pub count: u64,
    /// Out of that many.
    pub of: u64,
}

/// Which part to record, and in which detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Record memory accesses.
    pub memory: bool,
    /// Where to begin.
    pub from: Option<Position>,
    /// Where to end: this instruction is left out.
    pub to: Option<Position>,
    /// Instructions to execute at most, recorded or not; the guest is then ended.
    pub limit: u64,
    /// Instructions to record at most; the guest is then ended.
    pub stop_after: u64,
    /// Record a part of the window only.
    pub sample: Option<Sample>,
    /// Record the first thread of the first process only.
    pub first_thread: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            memory: true,
            from: None,
            to: None,
            limit: u64::MAX,
            stop_after: u64::MAX,
            sample: None,
            first_thread: false,
        }
    }
}

/// The fate of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Recorded,
    Skipped,
    /// The window is over.
    Over,
    /// The guest has executed enough.
    Enough,
}

/// Where an execution is in its window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Window {
    options: Options,
    begun: bool,
    /// Instructions executed, recorded, and since the window began.
    pub(crate) executed: u64,
    pub(crate) recorded: u64,
    inside: u64,
}

impl Window {
    pub(crate) fn new(options: Options) -> Self {
        Window { options, begun: options.from.is_none(), executed: 0, recorded: 0, inside: 0 }
    }

    /// The program was loaded elsewhere than it is linked: addresses move by this.
    pub(crate) fn shift(&mut self, by: u64) {
        let moved = |position| match position {
            Position::Pc(address) => Position::Pc(address.wrapping_add(by)),
            number => number,
        };
        self.options.from = self.options.from.map(moved);
        self.options.to = self.options.to.map(moved);
    }

    /// How many instructions are recorded from here on, as long as none is at the address that ends the window.
    pub(crate) fn certain(&self) -> (u64, Option<u64>) {
        let options = &self.options;
        if !self.begun || self.inside == 0 {
            return (0, None);
        }
        let (number, address) = match options.to {
            None => (u64::MAX, None),
            Some(Position::Instruction(number)) => (number, None),
            Some(Position::Pc(address)) => (u64::MAX, Some(address)),
        };
        let of_sample = options
            .sample
            .map_or(u64::MAX, |sample| sample.count.saturating_sub(self.inside % sample.of.max(1)));
        let limits = [number, options.limit].map(|most| most.saturating_sub(self.executed));
        let recorded = options.stop_after.saturating_sub(self.recorded);
        (limits.into_iter().chain([recorded, of_sample]).min().unwrap_or(0), address)
    }

    /// Notes that this number of instructions was recorded, of those that are [certain](Self::certain).
    pub(crate) fn pass(&mut self, count: u64) {
        self.executed += count;
        self.recorded += count;
        self.inside += count;
    }

    /// Decides about the next instruction.
    #[inline]
    pub(crate) fn next(&mut self, pc: u64) -> Fate {
        let options = &self.options;
        let at = |position| match position {
            Position::Instruction(number) => self.executed >= number,
            Position::Pc(address) => pc == address,
        };
        if self.executed >= options.limit || self.recorded >= options.stop_after {
            return Fate::Enough;
        }
        // A window may begin at the address that ends it.
        let may_end = |to| self.begun && self.inside > 0 || matches!(to, Position::Instruction(_));
        if options.to.is_some_and(|to| may_end(to) && at(to)) {
            return Fate::Over;
        }
        self.begun = self.begun || options.from.is_some_and(at);
        self.executed += 1;
        if !self.begun {
            return Fate::Skipped;
        }
        let place = self.inside;
        self.inside += 1;
        if options.sample.is_some_and(|sample| place % sample.of.max(1) >= sample.count) {
            return Fate::Skipped;
        }
        self.recorded += 1;
        Fate::Recorded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(options: Options, pcs: &[u64]) -> (Vec<u64>, Option<Fate>) {
        let mut window = Window::new(options);
        let mut recorded = Vec::new();
        for pc in pcs {
            let (certain, end) = window.certain();
            let mut passed = window.clone();
            passed.pass(1);
            let fate = window.next(*pc);
            if certain > 0 && end != Some(*pc) {
                assert_eq!((fate, passed), (Fate::Recorded, window.clone()));
            }
            match fate {
                Fate::Recorded => recorded.push(*pc),
                Fate::Skipped => {}
                end => return (recorded, Some(end)),
            }
        }
        (recorded, None)
    }

    #[test]
    fn windows_begin_and_end() {
        let pcs = [1, 2, 3, 2, 5, 6];
        let all = Options::default();
        assert_eq!(fates(all, &pcs), (pcs.to_vec(), None));
        let from = Options { from: Some(Position::Pc(2)), to: Some(Position::Pc(2)), ..all };
        assert_eq!(fates(from, &pcs), (vec![2, 3], Some(Fate::Over)));
        let numbers =
            Options { from: Some(Position::Instruction(1)), to: Some(Position::Instruction(3)), ..all };
        assert_eq!(fates(numbers, &pcs), (vec![2, 3], Some(Fate::Over)));
        for (from, to) in [(Position::Instruction(0), 0), (Position::Pc(5), 3)] {
            let empty = Options { from: Some(from), to: Some(Position::Instruction(to)), ..all };
            assert_eq!(fates(empty, &pcs), (vec![], Some(Fate::Over)));
        }
        let stop = Options { stop_after: 2, from: Some(Position::Instruction(1)), ..all };
        assert_eq!(fates(stop, &pcs), (vec![2, 3], Some(Fate::Enough)));
        assert_eq!(fates(Options { limit: 1, ..all }, &pcs), (vec![1], Some(Fate::Enough)));
        let sample = Options { sample: Some(Sample { count: 1, of: 3 }), ..all };
        assert_eq!(fates(sample, &pcs), (vec![1, 2], None));
    }
}

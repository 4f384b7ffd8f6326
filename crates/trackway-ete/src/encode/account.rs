//! What a decoder of the output will find, counted where bytes leave the unit.
//!
//! An element counts once its bytes are in the buffer, the P0 elements up to it are committed, and its transaction
//! succeeded: the mirror of decoding's stage 2 (K10.5.3, K10.5.4).

use std::collections::VecDeque;

/// Kinds of elements that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emitted {
    /// An exception of the core.
    Exception,
    /// A debug halt of the core.
    Halt,
    /// A debug halt that the model adds, so that the last instructions are in the trace.
    OwnHalt,
    /// A return from an exception.
    Return,
    /// A timestamp that the core reported.
    Timestamp,
    /// The cycle count beside such a timestamp.
    Offset,
    /// A timestamp that the unit requested.
    OwnTimestamp,
    /// A cycle count that the core reported.
    Cycles,
    /// A cycle count of the unit's own clock.
    OwnCycles,
    /// An event from outside.
    Event,
    /// An event that a resource selector raised.
    OwnEvent,
    /// An instrumentation instruction.
    Instrumentation,
    /// The start of a transaction.
    TransactionStart,
    /// The commit of a transaction.
    TransactionCommit,
    /// The failure of a transaction.
    TransactionFailure,
}

const KINDS: usize = Emitted::TransactionFailure as usize + 1;

impl Emitted {
    /// A cancel, a discard or a failed transaction does not remove it (table K10-2).
    const fn is_kept(self) -> bool {
        use Emitted::*;
        matches!(
            self,
            Timestamp | Offset | OwnTimestamp | Cycles | OwnCycles | Event | OwnEvent | Instrumentation
        )
    }
}

/// Numbers of instructions and elements that a decoder finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Instructions.
    pub instructions: u64,
    elements: [u64; KINDS],
}

impl Tally {
    /// Number of elements of a kind.
    pub fn of(&self, kind: Emitted) -> u64 {
        self.elements[kind as usize]
    }

    fn add(&mut self, element: &Element) {
        self.instructions += element.instructions;
        for kind in element.kinds.into_iter().flatten() {
            self.elements[kind as usize] += 1;
        }
    }

    fn merge(&mut self, other: &Tally) {
        self.instructions += other.instructions;
        for (mine, more) in self.elements.iter_mut().zip(other.elements) {
            *mine += more;
        }
    }
}

/// An element, as far as it is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Element {
    /// Instructions that it shows.
    pub(crate) instructions: u64,
    pub(crate) kinds: [Option<Emitted>; 2],
    pub(crate) p0: bool,
}

impl Element {
    pub(crate) fn of(kind: Emitted) -> Self {
        Element { kinds: [Some(kind), None], ..Element::default() }
    }

    fn has(&self, kind: Emitted) -> bool {
        self.kinds.contains(&Some(kind))
    }

    fn is_kept(&self) -> bool {
        self.kinds[0].is_some_and(Emitted::is_kept)
    }
}

/// One step of a decoder (K10.5.2.18).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Emit(Element),
    Commit(u64),
    Cancel(u64),
    Discard,
}

/// Elements that were accepted and are not resolved, and the sum of those that are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    queue: VecDeque<Element>,
    /// Number of unresolved P0 elements.
    depth: u64,
    /// Elements of the open transaction: all, and those that a failure does not remove.
    transaction: Option<(Tally, Tally)>,
    pub(crate) found: Tally,
}

impl Account {
    /// A step whose packet is in the buffer.
    pub(crate) fn accept(&mut self, step: Step, max_spec: u64) {
        match step {
            Step::Emit(element) if self.depth == 0 && max_spec == 0 => self.pass(&element),
            Step::Emit(element) => {
                self.queue.push_back(element);
                if element.p0 {
                    self.depth += 1;
                    self.commit(self.depth.saturating_sub(max_spec));
                }
                self.drain();
            }
            Step::Commit(count) => self.commit(count),
            Step::Cancel(count) => self.cancel(count),
            Step::Discard => {
                self.cancel(self.depth);
                if self.transaction.is_some() {
                    self.pass(&Element::of(Emitted::TransactionFailure));
                }
            }
        }
    }

    fn commit(&mut self, mut count: u64) {
        self.depth = self.depth.saturating_sub(count);
        while count > 0
            && let Some(element) = self.queue.pop_front()
        {
            count -= u64::from(element.p0);
            self.pass(&element);
        }
        self.drain();
    }

    /// Passes on the elements that no P0 element holds back.
    fn drain(&mut self) {
        while let Some(element) = self.queue.front().copied()
            && !element.p0
        {
            self.queue.pop_front();
            self.pass(&element);
        }
    }

    fn cancel(&mut self, mut count: u64) {
        self.depth = self.depth.saturating_sub(count);
        let mut first = self.queue.len();
        while count > 0 && first > 0 {
            first -= 1;
            count -= u64::from(self.queue[first].p0);
        }
        let rest = self.queue.split_off(first);
        self.queue.extend(rest.into_iter().filter(Element::is_kept));
        self.drain();
    }

    fn pass(&mut self, element: &Element) {
        if element.has(Emitted::TransactionStart) {
            self.found.add(element);
            self.transaction.get_or_insert_default();
        } else if element.has(Emitted::TransactionCommit) {
            let (all, _) = self.transaction.take().unwrap_or_default();
            self.found.merge(&all);
            self.found.add(element);
        } else if element.has(Emitted::TransactionFailure) {
            let (_, kept) = self.transaction.take().unwrap_or_default();
            self.found.merge(&kept);
            self.found.add(element);
        } else if let Some((all, kept)) = &mut self.transaction {
            all.add(element);
            if element.is_kept() {
                kept.add(element);
            }
        } else {
            self.found.add(element);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p0(instructions: u64) -> Step {
        Step::Emit(Element { instructions, p0: true, ..Element::default() })
    }

    #[test]
    fn elements_count_once_they_are_resolved() {
        let mut account = Account::default();
        for step in [p0(1), p0(2), Step::Emit(Element::of(Emitted::Timestamp)), p0(4)] {
            account.accept(step, 9);
        }
        assert_eq!(account.found, Tally::default());
        account.accept(Step::Commit(1), 9);
        assert_eq!(account.found.instructions, 1);
        account.accept(Step::Cancel(2), 9);
        assert_eq!((account.found.instructions, account.found.of(Emitted::Timestamp)), (1, 1));
        (0..20).for_each(|_| account.accept(p0(1), 9));
        assert_eq!(account.found.instructions, 12, "the depth commits");
        account.accept(Step::Discard, 9);
        assert_eq!(account.found.instructions, 12);
    }

    #[test]
    fn a_failed_transaction_keeps_times() {
        let mut account = Account::default();
        let start = Element { p0: true, ..Element::of(Emitted::TransactionStart) };
        for step in [Step::Emit(start), p0(3), Step::Emit(Element::of(Emitted::Cycles))] {
            account.accept(step, 0);
        }
        assert_eq!((account.found.instructions, account.found.of(Emitted::Cycles)), (0, 0));
        account.accept(Step::Emit(Element::of(Emitted::TransactionFailure)), 0);
        assert_eq!((account.found.instructions, account.found.of(Emitted::Cycles)), (0, 1));
    }
}

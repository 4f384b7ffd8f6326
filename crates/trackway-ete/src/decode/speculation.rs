//! Stage 2: which elements happened (K10.5.3, K10.5.4).
//!
//! Two queues: elements wait in the first until the P0 elements before them are committed or cancelled,
//! and in the second until the transaction that they are in succeeds or fails.

use std::collections::VecDeque;

use crate::decode::element::Element;

/// Stage 3, as this stage sees it.
pub(crate) trait Analyse {
    /// An element that happened. With `withdrawn` it did not, and is shown all the same; elements of
    /// one number were withdrawn together.
    fn element(&mut self, offset: u64, element: &Element, withdrawn: u32);

    /// An atom that happened.
    fn atom(&mut self, offset: u64, taken: bool);

    /// Atoms that happened, one bit each, the first in bit 0.
    fn atoms(&mut self, offset: u64, count: u8, bits: u32) {
        for index in 0..count {
            self.atom(offset, bits >> index & 1 == 1);
        }
    }

    /// Are withdrawn elements wanted?
    fn wants_withdrawn(&self) -> bool;

    /// Elements were unresolved at the end.
    fn unresolved(&mut self);
}

/// This stage, as stage 1 sees it.
pub(crate) trait Resolve {
    /// Nothing waits: an element that is committed at once can go straight on.
    fn is_idle(&self) -> bool;
    /// A Trace Info was met.
    fn trace_info(&mut self, depth: u32, in_transaction: bool);
    /// An element that is no P0 element: it goes on once no unresolved P0 element stands before it.
    fn emit(&mut self, offset: u64, element: Element, analyse: &mut impl Analyse);
    /// A P0 element; it waits.
    fn emit_p0(&mut self, offset: u64, element: Element);
    /// K10.5.3.3.1: the oldest `count` P0 elements happened.
    fn commit(&mut self, count: u64, analyse: &mut impl Analyse);
    /// K10.5.3.4.1: the youngest `count` P0 elements did not happen. What table K10-2 keeps stays queued.
    fn cancel(&mut self, count: u64, analyse: &mut impl Analyse);
    /// K10.5.3.5.1: nothing that is not resolved happened; an open transaction failed.
    fn discard(&mut self, offset: u64, analyse: &mut impl Analyse);
}

/// An element that waits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting {
    offset: u64,
    element: Element,
    /// A P0 element that is not resolved.
    p0: bool,
    /// Not 0: withdrawn.
    withdrawn: u32,
}

/// Both queues.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolver {
    queue: VecDeque<Waiting>,
    /// P0 elements before the first Trace Info seen that are not resolved.
    unseen: u32,
    /// A Trace Info was seen.
    started: bool,
    /// Elements of the open transaction.
    transaction: Option<Vec<Waiting>>,
    /// Number of the last withdrawal.
    withdrawals: u32,
}

impl PartialEq for Resolver {
    /// Equal if what comes out is equal from now on.
    fn eq(&self, other: &Self) -> bool {
        self.queue == other.queue
            && self.unseen == other.unseen
            && self.started == other.started
            && self.transaction == other.transaction
    }
}

/// More than any trace unit holds: a damaged stream must not fill memory.
const MOST: usize = 1 << 20;

impl Resolver {
    /// So much waits that the stream must be damaged.
    pub(crate) fn is_flooded(&self) -> bool {
        self.queue.len() > MOST || self.transaction.as_ref().is_some_and(|queue| queue.len() > MOST)
    }

    /// No element waits and no transaction is open that began before the first Trace Info.
    pub(crate) fn is_settled(&self) -> bool {
        self.unseen == 0 && self.transaction.is_none()
    }

    /// Passes on what no P0 element holds back any more.
    fn drain(&mut self, analyse: &mut impl Analyse) {
        while self.unseen == 0
            && let Some(waiting) = self.queue.front().copied()
            && !waiting.p0
        {
            self.queue.pop_front();
            self.pass(waiting, analyse);
        }
    }

    /// Removes or marks what may not stay, from `first` on.
    fn withdraw(&mut self, first: usize, keep: bool) {
        let group = self.withdrawals;
        let mut rest = self.queue.split_off(first.min(self.queue.len()));
        rest.retain(|waiting| keep || waiting.element.is_kept());
        for mut waiting in rest {
            if !waiting.element.is_kept() {
                waiting.p0 = false;
                if waiting.withdrawn == 0 {
                    waiting.withdrawn = group;
                }
            }
            self.queue.push_back(waiting);
        }
    }

    /// The end of the stream: what is not resolved is dropped.
    pub(crate) fn end(&mut self, analyse: &mut impl Analyse) {
        let unresolved = self.queue.iter().any(|waiting| waiting.p0)
            || self.transaction.as_ref().is_some_and(|queue| !queue.is_empty());
        self.queue.clear();
        self.transaction = None;
        if unresolved {
            analyse.unresolved();
        }
    }

    /// K10.5.4.1.1: on to stage 3, or into the open transaction.
    fn pass(&mut self, waiting: Waiting, analyse: &mut impl Analyse) {
        let Waiting { offset, element, withdrawn, .. } = waiting;
        match element {
            _ if withdrawn != 0 => match &mut self.transaction {
                Some(queue) => queue.push(waiting),
                None => analyse.element(offset, &element, withdrawn),
            },
            Element::TransactionStart => {
                analyse.element(offset, &element, 0);
                self.transaction.get_or_insert_default();
            }
            Element::TransactionCommit => {
                for waiting in self.transaction.take().unwrap_or_default() {
                    analyse.element(waiting.offset, &waiting.element, waiting.withdrawn);
                }
                analyse.element(offset, &element, 0);
            }
            Element::TransactionFailure => self.fail(offset, analyse),
            _ => match &mut self.transaction {
                Some(queue) => queue.push(waiting),
                None => analyse.element(offset, &element, 0),
            },
        }
    }

    /// K10.5.4.4: what happened in the transaction is undone. A context holds on, as it cannot change in one.
    fn fail(&mut self, offset: u64, analyse: &mut impl Analyse) {
        self.withdrawals += 1;
        let keep = analyse.wants_withdrawn();
        for waiting in self.transaction.take().unwrap_or_default() {
            let Waiting { offset, element, withdrawn, .. } = waiting;
            if element.is_kept() || matches!(element, Element::Context(_)) && withdrawn == 0 {
                analyse.element(offset, &element, 0);
            } else if keep {
                analyse.element(offset, &element, if withdrawn == 0 { self.withdrawals } else { withdrawn });
            }
        }
        analyse.element(offset, &Element::TransactionFailure, 0);
    }
}

impl Resolve for Resolver {
    #[inline]
    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.unseen == 0 && self.transaction.is_none()
    }

    fn trace_info(&mut self, depth: u32, in_transaction: bool) {
        if !self.started {
            self.started = true;
            self.unseen = depth;
            if in_transaction {
                self.transaction = Some(Vec::new());
            }
        }
    }

    fn emit(&mut self, offset: u64, element: Element, analyse: &mut impl Analyse) {
        let waiting = Waiting { offset, element, p0: false, withdrawn: 0 };
        if self.queue.is_empty() && self.unseen == 0 {
            self.pass(waiting, analyse);
        } else {
            self.queue.push_back(waiting);
        }
    }

    fn emit_p0(&mut self, offset: u64, element: Element) {
        self.queue.push_back(Waiting { offset, element, p0: true, withdrawn: 0 });
    }

    fn commit(&mut self, mut count: u64, analyse: &mut impl Analyse) {
        let unseen = count.min(u64::from(self.unseen));
        self.unseen -= unseen as u32;
        count -= unseen;
        while count > 0
            && let Some(waiting) = self.queue.pop_front()
        {
            count -= u64::from(waiting.p0);
            self.pass(waiting, analyse);
        }
        self.drain(analyse);
    }

    fn cancel(&mut self, count: u64, analyse: &mut impl Analyse) {
        if count == 0 {
            return;
        }
        self.withdrawals += 1;
        let mut left = count;
        let mut first = self.queue.len();
        while left > 0 && first > 0 {
            first -= 1;
            left -= u64::from(self.queue[first].p0);
        }
        // The youngest go first; what is left were P0 elements that were never seen.
        self.unseen = u64::from(self.unseen).saturating_sub(left) as u32;
        self.withdraw(first, analyse.wants_withdrawn());
        self.drain(analyse);
    }

    fn discard(&mut self, offset: u64, analyse: &mut impl Analyse) {
        self.withdrawals += 1;
        self.unseen = 0;
        self.withdraw(0, analyse.wants_withdrawn());
        self.drain(analyse);
        if self.transaction.is_some() {
            self.fail(offset, analyse);
        }
        analyse.element(offset, &Element::Discard, 0);
    }
}

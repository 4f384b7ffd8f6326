//! Stage 2: which elements were executed (K10.5.3, K10.5.4).
//!
//! Elements wait in a first queue until the P0 elements before them are committed or cancelled, and in a second one
//! until their transaction succeeds or fails.

use std::collections::VecDeque;

use super::element::Element;
use super::elements::Action;
use super::flow::Analyser;

/// An element in a queue.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Waiting {
    offset: u64,
    element: Element,
    /// An unresolved P0 element.
    p0: bool,
    /// Number of the cancel or failure that withdrew the element.
    withdrawn: Option<u32>,
}

/// Both queues.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Speculation {
    queue: VecDeque<Waiting>,
    /// Number of unresolved P0 elements from before the first Trace Info.
    unseen: u32,
    /// A Trace Info was seen.
    started: bool,
    /// Elements of the open transaction.
    transaction: Option<Vec<Waiting>>,
    /// Number of withdrawals so far.
    withdrawals: u32,
    /// Offset of the discard that made the last transaction fail.
    failed: Option<u64>,
}

impl PartialEq for Speculation {
    /// Equal if the same input has the same output from now on.
    fn eq(&self, other: &Self) -> bool {
        self.queue == other.queue
            && self.unseen == other.unseen
            && self.started == other.started
            && self.transaction == other.transaction
    }
}

/// More elements than any trace unit can have unresolved; a damaged stream must not fill memory.
const MOST: usize = 1 << 20;

impl Speculation {
    /// Is it small enough to be saved?
    pub(crate) fn is_small(&self) -> bool {
        const SMALL: usize = 48;
        self.queue.len() + self.transaction.as_ref().map_or(0, Vec::len) <= SMALL
    }

    /// Could it have been saved?
    pub(crate) fn is_possible(&self) -> bool {
        self.withdrawals <= u32::MAX / 2 && self.is_small()
    }

    /// More waits than is possible in an undamaged stream.
    pub(crate) fn is_flooded(&self) -> bool {
        self.queue.len() > MOST || self.transaction.as_ref().is_some_and(|queue| queue.len() > MOST)
    }

    /// Nothing depends on elements before the first Trace Info.
    pub(crate) fn is_settled(&self) -> bool {
        self.unseen == 0 && self.transaction.is_none()
    }

    /// Nothing waits: elements that are committed at once can bypass the queues.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.unseen == 0 && self.transaction.is_none()
    }

    /// Performs one action of stage 1.
    pub(crate) fn apply(&mut self, offset: u64, action: &Action, flow: &mut Analyser) {
        match *action {
            Action::Emit(element) => self.emit(offset, element, flow),
            Action::EmitP0(element) => self.emit_p0(offset, element),
            Action::Commit(count) => self.commit(count, flow),
            Action::Cancel(count) => self.cancel(count, flow),
            Action::Discard => self.discard(offset, flow),
        }
    }

    /// An element that waits only for the P0 elements before it.
    fn emit(&mut self, offset: u64, element: Element, flow: &mut Analyser) {
        if let Element::TraceInfo { in_transaction, depth } = element
            && !self.started
        {
            self.started = true;
            self.unseen = depth;
            self.transaction = in_transaction.then(Vec::new);
        }
        let waiting = Waiting { offset, element, p0: false, withdrawn: None };
        if self.queue.is_empty() && self.unseen == 0 {
            self.pass(waiting, flow);
        } else {
            self.queue.push_back(waiting);
        }
    }

    /// A P0 element, which waits for a commit.
    pub(crate) fn emit_p0(&mut self, offset: u64, element: Element) {
        self.queue.push_back(Waiting { offset, element, p0: true, withdrawn: None });
    }

    /// K10.5.3.3.1: the oldest `count` P0 elements were executed.
    pub(crate) fn commit(&mut self, mut count: u64, flow: &mut Analyser) {
        let unseen = count.min(u64::from(self.unseen));
        self.unseen -= unseen as u32;
        count -= unseen;
        while count > 0
            && let Some(waiting) = self.queue.pop_front()
        {
            count -= u64::from(waiting.p0);
            self.pass(waiting, flow);
        }
        self.drain(flow);
    }

    /// K10.5.3.4.1: the youngest `count` P0 elements were not executed. Elements that table K10-2 keeps stay queued.
    fn cancel(&mut self, count: u64, flow: &mut Analyser) {
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
        // The youngest are cancelled first; the rest were P0 elements from before the first Trace Info.
        self.unseen = u64::from(self.unseen).saturating_sub(left) as u32;
        self.withdraw(first, flow.shows_withdrawn());
        self.drain(flow);
    }

    /// K10.5.3.5.1: no unresolved element was executed; an open transaction failed.
    fn discard(&mut self, offset: u64, flow: &mut Analyser) {
        self.withdrawals += 1;
        self.unseen = 0;
        self.withdraw(0, flow.shows_withdrawn());
        self.drain(flow);
        if self.transaction.is_some() {
            self.fail(offset, flow);
            self.failed = Some(offset);
        }
        flow.element(offset, &Element::Discard, None);
    }

    /// The end of the stream: unresolved elements are dropped.
    pub(crate) fn end(&mut self, flow: &mut Analyser) {
        let unresolved = self.queue.iter().any(|waiting| waiting.p0)
            || self.transaction.as_ref().is_some_and(|queue| !queue.is_empty());
        self.queue.clear();
        self.transaction = None;
        if unresolved {
            flow.unresolved();
        }
    }

    /// Passes on the elements that no P0 element holds back any more.
    fn drain(&mut self, flow: &mut Analyser) {
        while self.unseen == 0
            && let Some(waiting) = self.queue.front().copied()
            && !waiting.p0
        {
            self.queue.pop_front();
            self.pass(waiting, flow);
        }
    }

    /// Removes the elements from `first` on that may not stay, or marks them with `keep`.
    fn withdraw(&mut self, first: usize, keep: bool) {
        let group = self.withdrawals;
        let mut rest = self.queue.split_off(first.min(self.queue.len()));
        rest.retain(|waiting| keep || waiting.element.is_kept());
        for mut waiting in rest {
            if !waiting.element.is_kept() {
                waiting.p0 = false;
                waiting.withdrawn = waiting.withdrawn.or(Some(group));
            }
            self.queue.push_back(waiting);
        }
    }

    /// K10.5.4.1.1: on to stage 3, or into the open transaction.
    fn pass(&mut self, waiting: Waiting, flow: &mut Analyser) {
        let Waiting { offset, element, withdrawn, .. } = waiting;
        match element {
            Element::TransactionStart if withdrawn.is_none() => {
                flow.element(offset, &element, None);
                self.transaction.get_or_insert_default();
            }
            Element::TransactionCommit if withdrawn.is_none() => {
                for waiting in self.transaction.take().unwrap_or_default() {
                    flow.element(waiting.offset, &waiting.element, waiting.withdrawn);
                }
                flow.element(offset, &element, None);
            }
            // Stage 1 reports the failure by a discard too.
            Element::TransactionFailure if self.failed == Some(offset) => {}
            Element::TransactionFailure if withdrawn.is_none() => self.fail(offset, flow),
            _ => match &mut self.transaction {
                Some(queue) => queue.push(waiting),
                None => flow.element(offset, &element, withdrawn),
            },
        }
    }

    /// K10.5.4.4: the transaction is undone. Its contexts hold on, as the context cannot change in a transaction.
    fn fail(&mut self, offset: u64, flow: &mut Analyser) {
        self.withdrawals += 1;
        let keep = flow.shows_withdrawn();
        for waiting in self.transaction.take().unwrap_or_default() {
            let Waiting { offset, element, withdrawn, .. } = waiting;
            if element.is_kept() || matches!(element, Element::Context(_)) && withdrawn.is_none() {
                flow.element(offset, &element, None);
            } else if keep {
                flow.element(offset, &element, withdrawn.or(Some(self.withdrawals)));
            }
        }
        flow.element(offset, &Element::TransactionFailure, None);
    }
}

//! Stage 2: what is committed, what is cancelled, K10.5.3 and K10.5.4. Transactions act when they are committed, not when they are
//! read: else older elements fall into them.

use super::*;

impl Decoder<'_> {
    fn is_p0(&self, element: &Element) -> bool {
        match element {
            Element::Atom(_) | Element::Exception(..) | Element::Q(_) | Element::Source(_) => true,
            Element::TransStart => !self.unit.commtrans,
            _ => false,
        }
    }

    pub(super) fn emit(&mut self, element: Element) {
        match element {
            Element::TraceInfo { depth, in_transaction } if !self.initialised => {
                self.initialised = true;
                self.unseen = depth;
                if in_transaction {
                    self.transaction = Some(Vec::new());
                }
                self.queue.push_back(element);
            }
            Element::Discard => {
                self.unseen = 0;
                let kept: Vec<Element> = self.queue.drain(..).filter(survives).collect();
                kept.into_iter().for_each(|element| self.process(element));
                if self.transaction.is_some() {
                    self.process(Element::TransFailure);
                }
                self.process(Element::Discard);
            }
            _ => self.queue.push_back(element),
        }
        self.drain();
    }

    /// The printed queue drains on commits only; elements with no P0 element before them pass.
    fn drain(&mut self) {
        while self.unseen == 0
            && let Some(element) = self.queue.front().copied()
            && !self.is_p0(&element)
        {
            self.queue.pop_front();
            self.process(element);
        }
    }

    pub(super) fn commit(&mut self, count: i64) {
        for _ in 0..count {
            if self.unseen > 0 {
                self.unseen -= 1;
                continue;
            }
            self.drain();
            let element = self.queue.pop_front().expect("a P0 element to commit");
            self.process(element);
        }
        self.drain();
    }

    /// The youngest first; what is kept stays in its order.
    pub(super) fn cancel(&mut self, count: i64) {
        let mut kept = Vec::new();
        let mut left = count;
        while left > 0 {
            let Some(element) = self.queue.pop_back() else {
                self.unseen -= left;
                break;
            };
            left -= i64::from(self.is_p0(&element));
            if survives(&element) {
                kept.push(element);
            }
        }
        self.queue.extend(kept.into_iter().rev());
        self.drain();
    }

    /// K10.5.4.
    fn process(&mut self, element: Element) {
        match element {
            Element::TransStart => {
                self.out.push(Out::Transaction(0));
                self.transaction.get_or_insert_with(Vec::new);
            }
            Element::TransCommit => {
                for element in self.transaction.take().unwrap_or_default() {
                    self.analyse(element);
                }
                self.out.push(Out::Transaction(1));
            }
            Element::TransFailure => {
                for element in self.transaction.take().unwrap_or_default() {
                    if survives(&element) {
                        self.analyse(element);
                    }
                }
                self.out.push(Out::Transaction(2));
                self.has_address = false;
                self.after_indirect = false;
                self.last = None;
            }
            _ => match &mut self.transaction {
                Some(queue) => queue.push(element),
                None => self.analyse(element),
            },
        }
    }
}

/// Table K10-2: what a cancel leaves standing.
fn survives(element: &Element) -> bool {
    matches!(
        element,
        Element::TraceInfo { .. }
            | Element::Cycles(_)
            | Element::Timestamp(_)
            | Element::Event(_)
            | Element::Instrumentation(_)
    )
}

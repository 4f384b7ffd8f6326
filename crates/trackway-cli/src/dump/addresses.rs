//! Addresses of instructions in formats that are decoded in parts: each part is shown where it is decoded.

use std::io::Write;
use std::sync::Arc;

use trackway_core::{Batch, Observer, Pool};

use crate::exit::Failure;
use crate::pcs::Pcs;
use crate::view::{Budget, View};

/// The addresses of a part, and of those that follow it.
pub(super) struct Addresses {
    view: Pcs,
    attempted: bool,
    /// Texts before that of the view.
    before: Vec<Vec<u8>>,
    /// Texts that were written, to be filled again.
    spare: Arc<Pool<Vec<u8>>>,
}

impl Addresses {
    pub(super) fn new(attempted: bool) -> Self {
        Self::with(attempted, Arc::default())
    }

    fn with(attempted: bool, spare: Arc<Pool<Vec<u8>>>) -> Self {
        Addresses { view: Pcs::new(attempted, false), attempted, before: Vec::new(), spare }
    }

    /// Writes what was shown so far.
    pub(super) fn write(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        self.close();
        self.before.drain(..).try_for_each(|mut text| {
            out.write_all(&text)?;
            text.clear();
            self.spare.put(text);
            Ok(())
        })
    }

    /// After the last part.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        Ok(self.view.end(&mut Budget(0))?)
    }

    fn close(&mut self) {
        let text = std::mem::take(self.view.text());
        if !text.is_empty() {
            self.before.push(text);
        }
    }
}

impl Observer for Addresses {
    fn observe(&mut self, batch: &Batch) {
        if self.view.text().capacity() == 0 {
            *self.view.text() = self.spare.take_or(Vec::new);
        }
        let mut rest = &batch.events[..];
        while let Some((event, others)) = rest.split_first() {
            let steps = self.view.steps(batch, rest);
            rest = if steps > 0 { &rest[steps..] } else { others };
            if steps == 0 {
                // Writing to memory cannot fail.
                let _ = self.view.event(batch, event, 0, &mut Budget(u64::MAX));
            }
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Self::with(self.attempted, Arc::clone(&self.spare)))
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let mut later = later.downcast::<Self>();
        later.close();
        self.close();
        self.before.append(&mut later.before);
        // It adds numbers, and writes nothing.
        let _ = self.view.join(later.view.end_part());
    }
}

//! Instructions around a difference, to be shown.

use trackway_core::{Batch, Event, EventKind, Isa};

use super::{Cell, Side};

/// Instructions around a difference.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// The instructions.
    pub batch: Batch,
    /// Index of the first that differs.
    pub first: usize,
    /// Instruction set.
    pub isa: Isa,
}

impl Side<'_> {
    /// Up to `before` instructions before `cell`, and up to `count` from it on, as events of a batch of their own.
    pub(in crate::diff) fn excerpt(&self, cell: Cell, before: usize, count: usize) -> Excerpt {
        let mut places = Vec::new();
        let (mut batch, mut event) = (cell.batch, cell.event);
        while places.len() < before {
            if event == 0 {
                if batch == 0 {
                    break;
                }
                batch -= 1;
                event = self.batches[batch].events.len();
                continue;
            }
            event -= 1;
            if matches!(self.batches[batch].events[event].kind, EventKind::Step(_)) {
                places.push((batch, event));
            }
        }
        places.reverse();
        let skipped = places.len();
        (batch, event) = (cell.batch, cell.event);
        while places.len() < skipped + count {
            let Some(held) = self.batches.get(batch) else { break };
            match held.events.get(event) {
                Some(Event { kind: EventKind::Step(_), .. }) => places.push((batch, event)),
                Some(_) => {}
                None => {
                    (batch, event) = (batch + 1, 0);
                    continue;
                }
            }
            event += 1;
        }
        let mut excerpt =
            Batch { first_instruction: cell.number.saturating_sub(skipped as u64), ..Batch::default() };
        let mut line = String::new();
        for (batch, event) in places {
            let held = &self.batches[batch];
            line.clear();
            // As text and back: whatever a step refers to comes with it.
            held.write_line(&held.events[event], &mut line);
            let _ = excerpt.read_line(&line);
        }
        Excerpt { batch: excerpt, first: skipped, isa: self.isa() }
    }
}

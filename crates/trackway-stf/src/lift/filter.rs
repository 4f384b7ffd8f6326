//! One hardware thread of a trace that has several.

use trackway_core::Batch;

/// Keeps the groups of one hardware thread. Addresses are followed through all groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    /// The hardware thread.
    pub(super) wanted: u32,
    /// Lengths of the batch's arrays at the start of the group.
    lengths: [usize; 9],
}

impl Filter {
    pub(super) fn new(wanted: u32) -> Self {
        Filter { wanted, ..Filter::default() }
    }

    /// Begins a group.
    pub(super) fn begin_group(&mut self, batch: &Batch) {
        let Batch { events, mem, regs, extras, mem_extras, traps, contexts, states, gaps, .. } = batch;
        self.lengths = [
            events.len(),
            mem.len(),
            regs.len(),
            extras.len(),
            mem_extras.len(),
            traps.len(),
            contexts.len(),
            states.len(),
            gaps.len(),
        ];
    }

    /// Removes the group that has ended unless it is of the wanted thread, and begins another one.
    pub(super) fn end_group(&mut self, hw_thread: u32, batch: &mut Batch) {
        if hw_thread != self.wanted {
            let Batch { events, mem, regs, extras, mem_extras, traps, contexts, states, gaps, .. } = batch;
            let [a, b, c, d, e, f, g, h, i] = self.lengths;
            events.truncate(a);
            mem.truncate(b);
            regs.truncate(c);
            extras.truncate(d);
            mem_extras.truncate(e);
            traps.truncate(f);
            contexts.truncate(g);
            states.truncate(h);
            gaps.truncate(i);
        }
        self.begin_group(batch);
    }
}

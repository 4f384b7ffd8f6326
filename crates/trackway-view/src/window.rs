//! The timeline of a window that is short enough to be read: each call, trap, mark and gap.

use trackway::machine::Machine;
use trackway_core::Batch;
use trackway_tools::calls::CallTree;
use trackway_tools::flame::thread_name;

use crate::desk::{Answer, Desk, Reader, read};
use crate::happenings::Happenings;
use crate::levels::{Names, Slices, drawn, frames};
use crate::tables::{Thread, Timeline};

/// Instructions of the widest window that is read.
pub(crate) const WIDEST: u64 = 1 << 18;

struct Window {
    from: u64,
    tree: CallTree,
    slices: Slices,
    happenings: Happenings,
}

impl Reader for Window {
    fn start(&mut self, machine: &Machine) {
        self.tree.begin(0, &machine.context, &machine.calls);
        self.happenings.begin(self.from, machine);
    }

    fn take(&mut self, batch: &Batch) -> bool {
        self.happenings.take(batch);
        self.tree.observe_with(batch, &mut self.slices);
        true
    }
}

/// The timeline of `[from, to)`.
pub(crate) fn timeline(desk: &mut Desk, from: u64, to: u64) -> Answer<Timeline> {
    let (format, meta) = (desk.trace.format(), desk.meta.clone());
    let mut window = Window {
        from,
        tree: CallTree::new(meta.isa, &desk.programs),
        slices: Slices::new(from),
        happenings: Happenings::new(format, &meta, to - from),
    };
    let passed = read(&mut desk.trace, from, to, &mut window)?;
    let called = window.tree.finish_with(&mut window.slices);
    let (slices, frames) = (window.slices.finish(), frames(&called.tree));
    let mut names = Names::default();
    let label = |id: u32| called.functions.get(id).label();
    let slices = drawn(&slices, &frames, &mut names, &label);
    let threads = called.threads.iter().enumerate();
    let threads =
        threads.map(|(n, space)| Thread { id: n as u64, name: thread_name(space, &meta) }).collect();
    let timeline = Timeline {
        exact: 1,
        slices,
        names: names.list,
        threads,
        errors: passed.damage(),
        ..window.happenings.timeline(from, to, WIDEST)
    };
    Ok(timeline)
}

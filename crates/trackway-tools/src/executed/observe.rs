//! From batches to lanes, and the merging of parts.

use std::sync::{Arc, Mutex, PoisonError};

use trackway_core::*;
use trackway_image::{Image, Memory, expand, program, taken_at_end};
use trackway_isa::{Key, Recent};

use super::Executed;
use super::block::{BlockId, Code, End, Inst};
use super::follow::Follow;
use super::lane::{Assumptions, Common, Lane, Leaving, Link};
use super::log::FlowLog;
use super::spaces::Space;
use crate::attempted::RunKey;

/// Data that all parts of a trace share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Instruction set where no context has one.
    isa: Isa,
    /// The program of each source, or one for all.
    pub(super) programs: Vec<Arc<Image>>,
    /// All contexts see the same of the programs.
    everywhere: bool,
    /// Tables of finished parts, for those to come.
    leaving: Mutex<Vec<Leaving>>,
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new(Isa::Other, &[])
    }
}

impl Shared {
    pub(super) fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        let everywhere = programs.iter().all(|program| program.is_everywhere());
        Shared { isa, programs: programs.to_vec(), everywhere, leaving: Mutex::default() }
    }
}

/// Answers that loops ask for again and again.
#[derive(Debug, Default)]
pub(super) struct Caches {
    leaving: Leaving,
    runs: Runs,
}

/// Blocks of runs. Large programs take turns with tens of thousands of runs.
type Runs = Recent<SpaceRun, Option<Box<[BlockId]>>, 65536>;

/// Runs with the same key are the same blocks, if they begin and end with blocks.
#[derive(Debug, PartialEq)]
struct SpaceRun {
    run: RunKey,
    space: u32,
    attempted: bool,
}

impl Key for SpaceRun {
    #[inline(always)]
    fn digest(&self) -> u64 {
        self.run.digest()
    }
}

/// The longest run whose blocks are kept; longer ones rarely come again.
const LONGEST: u32 = 4096;

impl Executed {
    /// Takes in a batch.
    pub(super) fn take<F: Follow + ?Sized>(&mut self, batch: &Batch, follow: &mut F) {
        let Executed { blocks, spaces, lanes, unknown, from_start, shared, caches, .. } = self;
        let caches = caches.get_or_insert_with(|| {
            let leaving = shared.leaving.lock().unwrap_or_else(PoisonError::into_inner).pop();
            Caches { leaving: leaving.unwrap_or_default(), ..Caches::default() }
        });
        let Caches { leaving, runs } = caches;
        let source = batch.source;
        let lane = lanes.entry(source).or_insert_with(|| {
            let lane = Lane::new(source, *from_start, spaces);
            follow.enter(&spaces.list[lane.space as usize]);
            lane
        });
        let common = &mut Common { blocks, leaving, follow };
        let (mut isa, mut assumed) = see(lane, shared);
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => {
                    let Some(pc) = step.pc else {
                        lane.part(common, Link::Break);
                        *unknown.entry(lane.space).or_default() += 1;
                        common.follow.unplaced(source);
                        continue;
                    };
                    let mut inst = Inst { encoding: step.encoding, length: step.length };
                    if inst.length == 0 {
                        inst = fetched(lane.memory.as_deref(), isa, pc);
                        lane.assumed.code |= assumed.code;
                    }
                    lane.assumed.isa |= assumed.isa;
                    let attempted = step.outcome == Outcome::Attempted;
                    lane.step(common, (pc, isa), inst, step.taken, attempted);
                }
                EventKind::Run(run) if run.withdrawn => {}
                EventKind::Run(run) => {
                    lane.assumed.code |= assumed.code && lane.memory.is_some();
                    observe_run(lane, common, runs, run);
                }
                EventKind::Trap(n) => {
                    lane.part(common, Link::Break);
                    common.follow.trap(source, &batch.traps[*n as usize]);
                }
                EventKind::Gap(n) => {
                    lane.part(common, Link::Gap);
                    common.follow.gap(source, &batch.gaps[*n as usize]);
                }
                EventKind::Context(n) => {
                    if lane.change(spaces, &batch.contexts[*n as usize]) {
                        common.follow.enter(&spaces.list[lane.space as usize]);
                    }
                    if !shared.everywhere {
                        lane.memory = None;
                    }
                    (isa, assumed) = see(lane, shared);
                }
                EventKind::Time(time) => common.follow.time(source, time),
                EventKind::Mark(_) | EventKind::State(_) | EventKind::Foreign(_) => {}
            }
        }
    }

    /// Adds what follows, and shows its flow to `follow`.
    pub(super) fn add<F: Follow + ?Sized>(&mut self, later: Executed, log: &FlowLog, follow: &mut F) {
        let Executed { blocks, spaces, lanes, from_start, shared, caches, .. } = self;
        self.misread |= later.misread;
        let here = |space: &Space| {
            let mut space = *space;
            if space.on_top
                && let Some(lane) = lanes.get(&space.source)
            {
                let mut context = lane.context;
                context.update(&space.context);
                space = Space::new(space.source, &context, lane.on_top);
            } else if space.on_top {
                space.on_top = !*from_start;
            }
            space
        };
        let numbers: Vec<u32> = later.spaces.list.iter().map(|space| spaces.place(here(space))).collect();
        let entered: Vec<Space> = log.spaces.list.iter().map(here).collect();
        let space = |number: u32| numbers.get(number as usize).copied().unwrap_or(0);
        let mut ids = Vec::with_capacity(later.blocks.list.len());
        for block in &later.blocks.list {
            let id = blocks.place(Code { space: space(block.code.space), ..block.code.clone() });
            let known = &mut blocks.list[id as usize];
            known.passes += block.passes;
            known.outcomes.iter_mut().zip(block.outcomes).for_each(|(to, from)| *to += from);
            known.gaps.iter_mut().zip(block.gaps).for_each(|(to, from)| *to += from);
            ids.push(id);
        }
        let block = |id: BlockId| ids.get(id as usize).copied().unwrap_or(0);
        for (from, to, count) in later.blocks.edges() {
            blocks.follow(block(from), block(to), count);
        }
        for (number, count) in later.unknown {
            *self.unknown.entry(space(number)).or_default() += count;
        }
        let caches = caches.get_or_insert_default();
        let common = &mut Common { blocks, leaving: &mut caches.leaving, follow };
        for (source, next) in later.lanes {
            let lane = lanes.entry(source).or_insert_with(|| {
                let lane = Lane::new(source, *from_start, spaces);
                common.follow.enter(&spaces.list[lane.space as usize]);
                lane
            });
            self.misread |= contradicts(lane, shared, next.assumed);
            if lane.on_top {
                lane.assumed.isa |= next.assumed.isa && lane.context.isa.is_none();
                lane.assumed.code |= next.assumed.code;
            }
            lane.merge(common, next, log.entries(source), &entered, space, block);
        }
        if let Some(Caches { leaving, .. }) = later.caches {
            shared.leaving.lock().unwrap_or_else(PoisonError::into_inner).push(leaving);
        }
    }

    /// Ends the passes that are open.
    pub(super) fn cut<F: Follow + ?Sized>(&mut self, follow: &mut F) {
        let leaving = &mut self.caches.get_or_insert_default().leaving;
        let common = &mut Common { blocks: &mut self.blocks, leaving, follow };
        self.lanes.values_mut().for_each(|lane| lane.cut(common));
    }
}

/// The instruction set of the lane's context, with its code; and what of it is assumed.
fn see(lane: &mut Lane, shared: &Shared) -> (Isa, Assumptions) {
    if lane.memory.is_none() && !shared.programs.is_empty() {
        lane.memory = Some(program(&shared.programs, lane.source).memory(&lane.context));
    }
    let known = lane.context.isa;
    let assumed =
        Assumptions { isa: lane.on_top && known.is_none(), code: lane.on_top && !shared.everywhere };
    (known.unwrap_or(shared.isa), assumed)
}

/// Does the context contradict what the part that follows assumed?
fn contradicts(lane: &Lane, shared: &Shared, assumed: Assumptions) -> bool {
    let isa = lane.context.isa.is_some_and(|isa| isa != shared.isa);
    (assumed.isa && isa) || (assumed.code && lane.context != Context::default())
}

/// The instruction at `pc`, where the program has it.
fn fetched(memory: Option<&Memory>, isa: Isa, pc: u64) -> Inst {
    let (encoding, length) = memory.and_then(|memory| memory.fetch(isa, pc)).unwrap_or((0, 0));
    Inst { encoding, length }
}

/// A run, instruction by instruction where its code is known.
fn observe_run<F: Follow + ?Sized>(lane: &mut Lane, common: &mut Common<'_, F>, runs: &mut Runs, run: &Run) {
    // It is put back below: a run does not change it.
    match lane.memory.take() {
        Some(memory) => {
            observe_known_run(lane, common, runs, &memory, run);
            lane.memory = Some(memory);
        }
        None => lane.opaque(common, opaque(lane, run), taken_at_end(run)),
    }
}

fn observe_known_run<F: Follow + ?Sized>(
    lane: &mut Lane,
    common: &mut Common<'_, F>,
    runs: &mut Runs,
    memory: &Memory,
    run: &Run,
) {
    let taken = taken_at_end(run);
    if !lane.is_between() || run.count > LONGEST {
        return expand_run(lane, common, memory, run, |_| ());
    }
    let key = SpaceRun { run: RunKey::new(memory, run), space: lane.space, attempted: run.attempted };
    let mut is_known = true;
    let ids = runs.get(key, || {
        is_known = false;
        let mut ids = Vec::new();
        expand_run(lane, common, memory, run, |lane| ids.extend(lane.passed()));
        lane.is_between().then_some(ids.into())
    });
    match ids.as_deref() {
        _ if !is_known => {}
        Some([before @ .., last]) => {
            before.iter().for_each(|id| lane.complete(common, *id, None));
            lane.complete(common, *last, taken);
        }
        _ => expand_run(lane, common, memory, run, |_| ()),
    }
}

/// The instructions of a run; `after` is called after each of them.
fn expand_run<F: Follow + ?Sized>(
    lane: &mut Lane,
    common: &mut Common<'_, F>,
    memory: &Memory,
    run: &Run,
    mut after: impl FnMut(&Lane),
) {
    expand(memory, run, Accesses::default(), |kind| {
        match kind {
            EventKind::Step(step) => {
                let inst = Inst { encoding: step.encoding, length: step.length };
                let attempted = step.outcome == Outcome::Attempted;
                lane.step(common, (step.pc.unwrap_or(0), run.isa), inst, step.taken, attempted);
            }
            EventKind::Run(run) => lane.opaque(common, opaque(lane, &run), taken_at_end(&run)),
            _ => return,
        }
        after(lane);
    });
}

/// A run whose code is not known.
fn opaque(lane: &Lane, run: &Run) -> Code {
    let ending = if run.attempted { End::Attempted } else { End::Closed };
    Code {
        space: lane.space,
        start: run.start,
        end: run.end,
        isa: run.isa,
        ending,
        insts: Box::default(),
        opaque: Some((run.count, run.exit)),
    }
}

impl Observer for Executed {
    fn observe(&mut self, batch: &Batch) {
        self.take(batch, &mut ());
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(self.another())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        self.add(*later.downcast::<Self>(), &FlowLog::default(), &mut ());
    }
}

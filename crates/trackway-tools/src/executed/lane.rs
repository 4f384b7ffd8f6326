//! The flow of one source: from instructions to passes through blocks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::{Context, Isa};
use trackway_image::Memory;
use trackway_isa::{Recent, flow};

use super::block::{BOUNDARY, BlockId, Blocks, Code, End, Inst};
use super::follow::{Follow, Pass};
use super::log::Entry;
use super::spaces::{Space, Spaces};

/// Control can go elsewhere after an instruction, by instruction set and encoding.
pub(super) type Leaving = Recent<u64, bool, 4096>;

/// Between two passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Link {
    /// Nothing.
    #[default]
    Flow,
    /// A trap, or instructions of which not even the address is known: one did not lead to the other.
    Break,
    Gap,
}

/// The tables that all lanes share.
pub(super) struct Common<'a, F: ?Sized> {
    pub(super) blocks: &'a mut Blocks,
    pub(super) leaving: &'a mut Leaving,
    pub(super) follow: &'a mut F,
}

/// One source: where control is, and what a part that begins in the middle has to leave to the part before it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Lane {
    pub(super) source: u16,
    /// The context; laid over the one before the part if `on_top`.
    pub(super) context: Context,
    pub(super) on_top: bool,
    pub(super) space: u32,
    /// The pass that control is in.
    open: Option<Open>,
    /// Its instructions, unless it follows a known block.
    insts: Vec<Inst>,
    /// The last pass, and what came after it.
    last: Option<BlockId>,
    link: Link,
    head: Head,
    /// The first pass after the head, and what came before it.
    after_head: Option<(BlockId, Link)>,
    /// Assumptions that a context before the part may contradict.
    pub(super) assumed: Assumptions,
    /// The code that the context sees.
    #[serde(skip)]
    pub(super) memory: Option<Arc<Memory>>,
}

/// The first pass of a part: it may continue one of the part before.
#[derive(Debug, Serialize, Deserialize)]
enum Head {
    /// The part begins with the trace.
    Start,
    /// Nothing was executed yet; this came.
    Awaited(Link),
    /// The first pass is open.
    Open(Link),
    /// It ended, with this outcome of its branch.
    Ended(Link, Box<Code>, Option<bool>),
    /// There is none: the part begins with a run of unknown code after this.
    Without(Link),
}

/// Assumptions of a part that a context before it may contradict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Assumptions {
    pub(super) isa: bool,
    pub(super) code: bool,
}

/// A pass that has not ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Open {
    start: u64,
    /// Address of the next instruction.
    next: u64,
    isa: Isa,
    /// Where it was entered.
    space: u32,
    /// The block whose first instructions these are, and how many.
    following: Option<(BlockId, u32)>,
}

impl Lane {
    /// A source whose events are seen from its first one on, or from the middle of a trace.
    pub(super) fn new(source: u16, from_start: bool, spaces: &mut Spaces) -> Self {
        let context = Context::default();
        let head = if from_start { Head::Start } else { Head::Awaited(Link::Flow) };
        Lane {
            source,
            context,
            on_top: !from_start,
            space: spaces.place(Space::new(source, &context, !from_start)),
            open: None,
            insts: Vec::new(),
            last: None,
            link: Link::Flow,
            head,
            after_head: None,
            assumed: Assumptions::default(),
            memory: None,
        }
    }

    /// True between passes, of which the last is known.
    #[inline]
    pub(super) fn is_between(&self) -> bool {
        self.open.is_none() && self.last.is_some()
    }

    /// The block that control has just passed through.
    pub(super) fn passed(&self) -> Option<BlockId> {
        self.last.filter(|_| self.open.is_none())
    }

    /// One instruction.
    #[inline]
    pub(super) fn step<F: Follow + ?Sized>(
        &mut self,
        common: &mut Common<'_, F>,
        (pc, isa): (u64, Isa),
        inst: Inst,
        taken: Option<bool>,
        attempted: bool,
    ) {
        if let Some(open) = &mut self.open {
            if open.next == pc && open.isa == isa {
                if let Some((id, at)) = &mut open.following {
                    let code = &common.blocks.list[*id as usize].code;
                    if code.insts[*at as usize] == inst {
                        let ends = *at as usize + 1 == code.insts.len();
                        if !ends && !attempted {
                            *at += 1;
                            open.next = pc.wrapping_add(inst.length.into());
                            return;
                        }
                        if ends && (code.ending == End::Attempted) == attempted {
                            let id = *id;
                            self.open = None;
                            return self.complete(common, id, taken);
                        }
                    }
                    self.insts.clear();
                    self.insts.extend_from_slice(&code.insts[..*at as usize]);
                    open.following = None;
                }
            } else {
                self.cut(common);
            }
        }
        if self.open.is_none() && self.begin(common, (pc, isa), inst, taken, attempted) {
            return;
        }
        let Some(open) = &mut self.open else { return };
        self.insts.push(inst);
        open.next = pc.wrapping_add(inst.length.into());
        let crosses = pc / BOUNDARY != open.next / BOUNDARY;
        if attempted {
            self.close(common, End::Attempted, taken);
        } else if inst.length == 0 || crosses || leaves(common.leaving, isa, inst) {
            self.close(common, End::Closed, taken);
        }
    }

    /// Begins a pass; true if a known block already says all of its first instruction.
    fn begin<F: Follow + ?Sized>(
        &mut self,
        common: &mut Common<'_, F>,
        (pc, isa): (u64, Isa),
        inst: Inst,
        taken: Option<bool>,
        attempted: bool,
    ) -> bool {
        self.insts.clear();
        if let Head::Awaited(lead) = self.head {
            self.head = Head::Open(lead);
            common.follow.head(self.source, false);
        } else if let Some(id) = common.blocks.likely(self.last, self.space, pc, isa, inst) {
            let code = &common.blocks.list[id as usize].code;
            if code.insts.len() > 1 && !attempted {
                let next = pc.wrapping_add(inst.length.into());
                let following = Some((id, 1));
                self.open = Some(Open { start: pc, next, isa, space: self.space, following });
                return true;
            }
            if code.insts.len() == 1 && (code.ending == End::Attempted) == attempted {
                self.complete(common, id, taken);
                return true;
            }
        }
        self.open = Some(Open { start: pc, next: pc, isa, space: self.space, following: None });
        false
    }

    /// A run whose code is not known: a block of its own.
    pub(super) fn opaque<F: Follow + ?Sized>(
        &mut self,
        common: &mut Common<'_, F>,
        code: Code,
        taken: Option<bool>,
    ) {
        self.cut(common);
        if let Head::Awaited(lead) = self.head {
            self.without_head(common, lead);
        }
        let id = common.blocks.place(code);
        self.complete(common, id, taken);
    }

    /// The pass ends here, before the end of its block.
    pub(super) fn cut<F: Follow + ?Sized>(&mut self, common: &mut Common<'_, F>) {
        if let Some(open) = &mut self.open {
            if let Some((id, at)) = open.following.take() {
                self.insts.clear();
                let code = &common.blocks.list[id as usize].code;
                self.insts.extend_from_slice(&code.insts[..at as usize]);
            }
            self.close(common, End::Cut, None);
        }
    }

    fn close<F: Follow + ?Sized>(&mut self, common: &mut Common<'_, F>, ending: End, taken: Option<bool>) {
        let Some(Open { start, next: end, isa, space, .. }) = self.open.take() else { return };
        let insts = self.insts.as_slice().into();
        let code = Code { space, start, end, isa, ending, insts, opaque: None };
        if let Head::Open(lead) = self.head {
            self.head = Head::Ended(lead, Box::new(code), taken);
            common.follow.head(self.source, true);
            return;
        }
        let id = common.blocks.place(code);
        self.complete(common, id, taken);
    }

    /// Control passed through a block.
    #[inline]
    pub(super) fn complete<F: Follow + ?Sized>(
        &mut self,
        common: &mut Common<'_, F>,
        id: BlockId,
        taken: Option<bool>,
    ) {
        let block = &mut common.blocks.list[id as usize];
        block.passes += 1;
        block.outcomes[taken.map_or(2, |taken| usize::from(!taken))] += 1;
        self.arrive(common, id);
        let block = &common.blocks.list[id as usize];
        common.follow.pass(&Pass { source: self.source, id, block, taken });
    }

    /// The next pass after the last one is through this block.
    #[inline]
    fn arrive<F: Follow + ?Sized>(&mut self, common: &mut Common<'_, F>, id: BlockId) {
        let link = std::mem::take(&mut self.link);
        match (self.last.replace(id), link) {
            // The pass before it is not known yet.
            (None, _) if !matches!(self.head, Head::Start) => self.after_head = Some((id, link)),
            (Some(from), Link::Flow) => common.blocks.follow(from, id, 1),
            (_, Link::Gap) => common.blocks.list[id as usize].gaps[0] += 1,
            (None, _) | (_, Link::Break) => {}
        }
    }

    /// Something comes between passes.
    pub(super) fn part<F: Follow + ?Sized>(&mut self, common: &mut Common<'_, F>, link: Link) {
        if link == Link::Flow {
            return;
        }
        self.cut(common);
        if let Head::Awaited(lead) = &mut self.head {
            *lead = link.max(*lead);
            return;
        }
        if let (Some(last), Link::Gap, true) = (self.last, link, self.link < Link::Gap) {
            common.blocks.list[last as usize].gaps[1] += 1;
        }
        self.link = link.max(self.link);
    }

    /// The context changes; true if that is another space.
    pub(super) fn change(&mut self, spaces: &mut Spaces, change: &Context) -> bool {
        self.context.update(change);
        let space = spaces.place(Space::new(self.source, &self.context, self.on_top));
        std::mem::replace(&mut self.space, space) != space
    }

    /// Before the first event: the part begins in this context.
    pub(super) fn enter(&mut self, spaces: &mut Spaces, context: &Context) {
        (self.context, self.on_top) = (*context, false);
        self.space = spaces.place(Space::new(self.source, context, false));
    }

    /// The part begins with a run of unknown code.
    fn without_head<F: Follow + ?Sized>(&mut self, common: &mut Common<'_, F>, lead: Link) {
        self.head = Head::Without(lead);
        common.follow.head(self.source, false);
        common.follow.head(self.source, true);
    }

    /// Shows an entry of the part that follows; `parts` if it may part a pass that is open here.
    fn show<F: Follow + ?Sized>(
        &mut self,
        common: &mut Common<'_, F>,
        entry: &Entry,
        parts: bool,
        entered: &[Space],
        block: impl Fn(BlockId) -> BlockId,
    ) {
        let source = self.source;
        let link = match entry {
            Entry::Trap(_) | Entry::Unplaced if parts => Link::Break,
            Entry::Gap(_) if parts => Link::Gap,
            _ => Link::Flow,
        };
        self.part(common, link);
        match entry {
            Entry::Pass(id, taken) => {
                let id = block(*id);
                if let Some(block) = common.blocks.list.get(id as usize) {
                    common.follow.pass(&Pass { source, id, block, taken: *taken });
                }
            }
            Entry::Trap(trap) => common.follow.trap(source, trap),
            Entry::Gap(gap) => common.follow.gap(source, gap),
            Entry::Unplaced => common.follow.unplaced(source),
            Entry::Enter(number) => {
                if let Some(space) = entered.get(*number as usize) {
                    common.follow.enter(space);
                }
            }
            Entry::Head { .. } => {}
        }
    }

    /// Adds what follows, of which these are the entries of its log; its spaces and blocks have these numbers here.
    pub(super) fn merge<F: Follow + ?Sized>(
        &mut self,
        common: &mut Common<'_, F>,
        later: Lane,
        mut entries: impl Iterator<Item = Entry>,
        entered: &[Space],
        space: impl Fn(u32) -> u32,
        block: impl Fn(BlockId) -> BlockId,
    ) {
        for entry in &mut entries {
            match entry {
                Entry::Head { ended: true } => break,
                Entry::Head { ended: false } => {
                    if self.open.is_some_and(|open| !later.continues(&open)) {
                        self.cut(common);
                    }
                }
                entry => self.show(common, &entry, true, entered, &block),
            }
        }
        self.part(common, later.head.lead());
        let mut is_through = true;
        match later.head {
            Head::Awaited(_) => {}
            Head::Open(_) => {
                if let Some(open) = later.open {
                    self.space = space(open.space);
                    self.again(common, open.start, open.isa, &later.insts);
                }
                is_through = false;
            }
            Head::Ended(_, code, taken) => {
                self.space = space(code.space);
                if let (Some((pc, last)), [before @ .., _]) = (code.last(), &*code.insts) {
                    self.again(common, code.start, code.isa, before);
                    self.step(common, (pc, code.isa), last, taken, code.ending == End::Attempted);
                }
                if code.ending == End::Cut {
                    self.cut(common);
                }
            }
            Head::Without(lead) => {
                self.cut(common);
                if let Head::Awaited(before) = self.head {
                    self.without_head(common, before.max(lead));
                }
            }
            Head::Start => {}
        }
        entries.for_each(|entry| self.show(common, &entry, false, entered, &block));
        if let Some((id, link)) = later.after_head {
            self.part(common, link);
            self.arrive(common, block(id));
            self.last = later.last.map(&block);
            self.link = later.link;
        } else {
            self.part(common, later.link);
        }
        if later.on_top {
            self.context.update(&later.context);
        } else {
            (self.context, self.on_top) = (later.context, false);
        }
        self.space = space(later.space);
        if is_through && let Some(open) = later.open {
            let following = open.following.map(|(id, at)| (block(id), at));
            self.open = Some(Open { following, space: space(open.space), ..open });
            self.insts = later.insts;
        }
        self.memory = None;
    }

    /// Does its first pass continue one that is open in the part before?
    fn continues(&self, open: &Open) -> bool {
        let first = match &self.head {
            Head::Open(_) => self.open.map(|open| (open.start, open.isa)),
            Head::Ended(_, code, _) => Some((code.start, code.isa)),
            _ => None,
        };
        first == Some((open.next, open.isa))
    }

    /// Instructions of a pass once more; none of them ends it.
    fn again<F: Follow + ?Sized>(
        &mut self,
        common: &mut Common<'_, F>,
        start: u64,
        isa: Isa,
        insts: &[Inst],
    ) {
        let mut pc = start;
        for inst in insts {
            self.step(common, (pc, isa), *inst, None, false);
            pc = pc.wrapping_add(inst.length.into());
        }
    }
}

impl Head {
    /// The link before it.
    fn lead(&self) -> Link {
        match self {
            Head::Start => Link::Flow,
            Head::Awaited(lead) | Head::Open(lead) | Head::Ended(lead, ..) | Head::Without(lead) => *lead,
        }
    }
}

/// May control go elsewhere after it?
fn leaves(leaving: &mut Leaving, isa: Isa, inst: Inst) -> bool {
    *leaving.get(u64::from(inst.encoding) | (isa as u64) << 32, || {
        let control = flow(isa, 0, inst.encoding).control;
        control.is_transfer() || !control.retires()
    })
}

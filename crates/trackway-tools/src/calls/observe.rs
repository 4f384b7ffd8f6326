//! Following the calls of every thread.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway::machine::{Calls, Doubt, Frame, FrameKind, Left};
use trackway_core::{Batch, Context, Gap, Isa, Time, Trap, TrapKind};
use trackway_image::Image;
use trackway_isa::flow;

use super::functions::{FunctionId, Functions};
use super::tree::{NodeId, NodeKind, Tree};
use super::watch::{Place, Watch};
use crate::executed::{BlockId, Code, End, Executed, Follow, Pass, Space};

/// Frames of a thread that are kept.
const FRAMES: u32 = 4096;

/// Builds the call tree of a trace, batch by batch in order.
#[derive(Debug)]
pub struct CallTree {
    executed: Executed,
    following: Following,
}

/// The tree and the stacks.
#[derive(Debug)]
struct Following {
    tree: Tree,
    functions: Functions,
    threads: Vec<Thread>,
    /// The name of each thread: a source, and the ids of its context.
    names: Vec<Space>,
    numbers: HashMap<Space, usize>,
    /// The thread that runs on each source.
    current: Vec<usize>,
    /// Facts about blocks, by number.
    known: Vec<Option<Known>>,
    /// The innermost node of code that was inlined, by node and address; `None` where inlined functions are not shown.
    inlined: Option<HashMap<(NodeId, u64), NodeId>>,
}

/// A block, as calls see it.
#[derive(Clone, Copy, Debug)]
struct Known {
    left: Option<Left>,
    /// Address of the last instruction.
    site: Option<u64>,
    function: Option<FunctionId>,
}

/// One thread.
#[derive(Debug)]
struct Thread {
    calls: Calls,
    root: NodeId,
    /// The outermost function, or the root where it is not known yet.
    outermost: NodeId,
    /// The node of each frame.
    nodes: VecDeque<NodeId>,
    /// The last block, unless something is missing after it.
    last: Option<Last>,
    trap: Option<Pending>,
    /// The function is not known any more: a gap, another thread.
    is_lost: bool,
    /// Control came by a return or an indirect jump that fits no frame.
    is_stray: bool,
    /// Instructions so far.
    number: u64,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    left: Option<Left>,
    site: Option<u64>,
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    from: Option<u64>,
    return_address: Option<u64>,
}

impl CallTree {
    /// Nothing called yet.
    pub fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        CallTree {
            executed: Executed::new(isa, programs),
            following: Following {
                tree: Tree::default(),
                functions: Functions::new(programs),
                threads: Vec::new(),
                names: Vec::new(),
                numbers: HashMap::new(),
                current: Vec::new(),
                known: Vec::new(),
                inlined: None,
            },
        }
    }

    /// Shows inlined functions below those that they are inlined into, by the debug information, and what they call below
    /// them. They count no calls; passes through blocks stay with the function around them.
    pub fn with_inlined(mut self) -> Self {
        self.following.inlined = Some(HashMap::new());
        self
    }

    /// Before the first batch of a part that begins in the middle of a source: its context, and the calls open there,
    /// as a [`Machine`](trackway::machine::Machine) has them.
    pub fn begin(&mut self, source: u16, context: &Context, calls: &Calls) {
        let mut batch = Batch { source, ..Batch::default() };
        batch.push_context(0, *context);
        self.observe(&batch);
        let Following { tree, functions, threads, current, .. } = &mut self.following;
        let thread = &mut threads[current[usize::from(source)]];
        let outermost = calls.frames().next_back().and_then(|frame| functions.at(source, frame.site?));
        if let Some(id) = outermost {
            thread.outermost = tree.child(Some(thread.root), NodeKind::Function(id));
        }
        thread.is_lost = calls.frames().len() == 0;
        for frame in calls.frames().rev() {
            let id = functions.called(source, frame.target);
            let kind = match frame.kind {
                FrameKind::Call => NodeKind::Function(id),
                FrameKind::Trap => NodeKind::Handler(id),
            };
            let node = tree.child(Some(*thread.top()), kind);
            thread.nodes.push_back(node);
            thread.calls.enter(frame.kind, frame.site, frame.target, frame.return_address, 0);
        }
    }

    /// Takes in a batch; batches come in order.
    pub fn observe(&mut self, batch: &Batch) {
        self.observe_with(batch, &mut ());
    }

    /// Takes in a batch, and shows `watch` what happens in the order of the trace.
    pub fn observe_with<W: Watch>(&mut self, batch: &Batch, watch: &mut W) {
        self.executed.follow(batch, &mut Watched { following: &mut self.following, watch });
    }

    /// The end of the trace.
    pub fn finish(self) -> Called {
        self.finish_with(&mut ())
    }

    /// The end of the trace, which `watch` sees too.
    pub fn finish_with<W: Watch>(mut self, watch: &mut W) -> Called {
        self.executed.end(&mut Watched { following: &mut self.following, watch });
        self.following.shift_inlined(&self.executed);
        let Following { tree, functions, names, .. } = self.following;
        Called { tree, functions, threads: names, executed: self.executed }
    }
}

/// The calls of a trace. Stored ones are to be [restored](Called::restore).
#[derive(Debug, Serialize, Deserialize)]
pub struct Called {
    /// Who called whom.
    pub tree: Tree,
    /// The functions that nodes name by number.
    pub functions: Functions,
    /// The threads that nodes name by number: a source, and the ids of its context.
    pub threads: Vec<Space>,
    /// The executed blocks.
    pub executed: Executed,
}

impl Called {
    /// Did instructions run on more than one thread?
    pub fn has_threads(&self) -> bool {
        let threads = self.tree.nodes().iter().zip(self.tree.inclusive());
        threads.filter(|(node, sum)| node.parent.is_none() && *sum > 0).count() > 1
    }

    /// Puts back what is not stored; `None` if these cannot be the calls of a trace.
    pub fn restore(mut self, isa: Isa, programs: &[Arc<Image>]) -> Option<Self> {
        self.executed.restore()?;
        self.executed.share(&Executed::new(isa, programs));
        self.functions.restore(programs);
        self.tree.restore(self.threads.len(), self.functions.all().len(), &self.executed)?;
        Some(self)
    }
}

impl Following {
    /// The thread that runs on a source, which was entered.
    fn thread(&mut self, source: u16) -> &mut Thread {
        &mut self.threads[self.current[usize::from(source)]]
    }

    /// The number of a thread.
    fn number(&mut self, thread: Space) -> usize {
        let Following { tree, threads, names, numbers, .. } = self;
        *numbers.entry(thread).or_insert_with(|| {
            names.push(thread);
            let root = tree.child(None, NodeKind::Thread(names.len() as u32 - 1));
            threads.push(Thread {
                calls: Calls::with_limit(FRAMES),
                root,
                outermost: root,
                nodes: VecDeque::new(),
                last: None,
                trap: None,
                is_lost: true,
                is_stray: false,
                number: 0,
            });
            threads.len() - 1
        })
    }

    /// The node of the instruction at `pc` in the function of a node: that of the innermost function inlined there.
    fn inner(&mut self, node: NodeId, pc: u64) -> NodeId {
        let Following { tree, functions, inlined, .. } = self;
        let (Some(inlined), Some(function)) = (inlined, tree.nodes()[node as usize].kind.function()) else {
            return node;
        };
        *inlined.entry((node, pc)).or_insert_with(|| {
            let names = functions.inlined_at(functions.get(function).source, pc);
            names.iter().fold(node, |at, id| tree.child(Some(at), NodeKind::Function(*id)))
        })
    }

    /// Instructions that were inlined belong to the nodes of their functions.
    fn shift_inlined(&mut self, executed: &Executed) {
        let passes: Vec<(NodeId, BlockId, u64)> = match self.inlined {
            Some(_) => self.tree.passes().collect(),
            None => return,
        };
        for (node, block, count) in passes {
            for (pc, _) in executed.blocks()[block as usize].code.insts() {
                let inner = self.inner(node, pc);
                self.tree.shift(node, inner, count);
            }
        }
    }

    fn known(&mut self, id: BlockId, source: u16, code: &Code) -> Known {
        let place = id as usize;
        if place >= self.known.len() {
            self.known.resize(place + 1, None);
        }
        if let Some(known) = self.known[place] {
            return known;
        }
        let function = self.functions.at(source, code.start);
        let site = code.last().map(|(pc, _)| pc);
        let left = match (code.opaque, code.last()) {
            (Some((_, exit)), _) => Some(Left::by_exit(exit)),
            (None, Some((pc, inst))) if inst.length > 0 && code.ending != End::Cut => {
                let control = flow(code.isa, pc, inst.encoding).control;
                let faults = code.ending == End::Attempted && control.retires();
                Some(if faults { Left::Trap } else { Left::by_control(control) })
            }
            _ => None,
        };
        let known = Known { left, site, function };
        self.known[place] = Some(known);
        known
    }
}

impl Thread {
    /// The node of the innermost frame.
    fn top(&mut self) -> &mut NodeId {
        self.nodes.back_mut().unwrap_or(&mut self.outermost)
    }

    /// Control arrives at `pc`: the stack is what it should be there. Returns the frame that was entered.
    fn arrive(&mut self, pc: u64) -> Option<Frame> {
        let (depth, forgotten) = (self.calls.depth(), self.calls.forgotten);
        let is_free = matches!(self.last, Some(Last { left: Some(Left::Return | Left::IndirectJump), .. }));
        let is_free = is_free && self.trap.is_none();
        self.go(pc);
        self.is_stray = is_free && self.calls.depth() == depth;
        if self.calls.depth() > depth {
            // The outermost frame is forgotten where there are too many.
            if self.calls.forgotten > forgotten
                && let Some(node) = self.nodes.pop_front()
            {
                self.outermost = node;
            }
            return self.calls.frames().next().copied();
        }
        self.nodes.truncate(self.calls.frames().len());
        None
    }

    fn go(&mut self, pc: u64) {
        if let Some(trap) = self.trap.take() {
            let fallthrough = self.last.map(|last| last.end);
            if ![fallthrough, trap.return_address, trap.from].contains(&Some(pc)) {
                let back = trap.return_address.or(trap.from);
                self.calls.enter(FrameKind::Trap, trap.from, pc, back, self.number);
            }
            return;
        }
        let Some(Last { left, site, end }) = self.last else { return };
        if left == Some(Left::Return) && self.nodes.is_empty() {
            // To a caller from before the trace, or one that is forgotten.
            self.outermost = self.root;
        }
        match left {
            Some(Left::Unexplained) | None if pc == end => {}
            // A system call whose handler is not in the trace.
            Some(Left::Trap) if pc == end => {}
            Some(left) => self.calls.go(left, site, end, self.number.saturating_sub(1), pc, self.number),
            None => self.calls.doubt(self.number, Doubt::Jump),
        }
    }
}

impl Following {
    /// Follows control through a block; returns the node that it belongs to.
    fn run(&mut self, pass: &Pass<'_>) -> NodeId {
        let code = &pass.block.code;
        let known = self.known(pass.id, pass.source, code);
        let thread = self.thread(pass.source);
        if let Some(frame) = thread.arrive(code.start) {
            let mut caller = *thread.top();
            if let Some(site) = frame.site {
                caller = self.inner(caller, site);
            }
            let id = self.functions.called(pass.source, code.start);
            let kind = match frame.kind {
                FrameKind::Call => NodeKind::Function(id),
                FrameKind::Trap => NodeKind::Handler(id),
            };
            let node = self.tree.child(Some(caller), kind);
            self.tree.node(node).calls += 1;
            self.thread(pass.source).nodes.push_back(node);
        }
        let Following { tree, functions, threads, current, .. } = self;
        let thread = &mut threads[current[usize::from(pass.source)]];
        let node = place(tree, functions, thread, known.function, (pass.source, code.start));
        tree.pass(node, pass.id, code.count());
        thread.number += code.count();
        let left = known.left.filter(|left| *left != Left::Jump || pass.taken != Some(false));
        thread.last = Some(Last { left, site: known.site, end: code.end });
        node
    }

    fn trap(&mut self, source: u16, trap: &Trap) {
        let thread = self.thread(source);
        match trap.kind {
            TrapKind::Return => {
                if let Some(last) = &mut thread.last {
                    last.left = Some(Left::TrapReturn);
                }
            }
            TrapKind::Reset => {
                thread.calls.clear();
                thread.nodes.clear();
                thread.outermost = thread.root;
                (thread.last, thread.trap, thread.is_lost) = (None, None, true);
            }
            _ => {
                thread.trap = Some(Pending { from: trap.from, return_address: trap.return_address });
            }
        }
    }

    fn gap(&mut self, source: u16, _gap: &Gap) {
        let thread = self.thread(source);
        let number = thread.number;
        thread.calls.doubt(number, Doubt::Gap);
        (thread.last, thread.trap, thread.is_lost) = (None, None, true);
    }

    fn enter(&mut self, space: &Space) {
        let (source, number) = (usize::from(space.source), self.number(space.thread()));
        if source >= self.current.len() {
            self.current.resize(source + 1, number);
        }
        if std::mem::replace(&mut self.current[source], number) != number {
            // The kernel switched to it in code that does not belong to its own calls.
            let next = &mut self.threads[number];
            (next.last, next.trap, next.is_lost) = (None, None, true);
        }
    }
}

/// Calls that somebody watches.
struct Watched<'a, W> {
    following: &'a mut Following,
    watch: &'a mut W,
}

impl<W: Watch> Watched<'_, W> {
    /// The number of the thread that runs on a source.
    fn thread(&self, source: u16) -> u32 {
        self.following.current.get(usize::from(source)).map_or(0, |number| *number as u32)
    }
}

impl<W: Watch> Follow for Watched<'_, W> {
    fn pass(&mut self, pass: &Pass<'_>) {
        let node = self.following.run(pass);
        let Following { tree, functions, names, .. } = &*self.following;
        let place = Place { tree, functions, threads: names, thread: self.thread(pass.source), node };
        self.watch.pass(pass, &place);
    }

    fn trap(&mut self, source: u16, trap: &Trap) {
        self.following.trap(source, trap);
        self.watch.trap(source, self.thread(source), trap);
    }

    fn gap(&mut self, source: u16, gap: &Gap) {
        self.following.gap(source, gap);
        self.watch.gap(source, self.thread(source), gap);
    }

    fn unplaced(&mut self, source: u16) {
        self.watch.unplaced(source, self.thread(source));
    }

    fn enter(&mut self, space: &Space) {
        self.following.enter(space);
        self.watch.enter(space, self.thread(space.source));
    }

    fn time(&mut self, source: u16, time: &Time) {
        self.watch.time(source, time);
    }
}

/// The node of the code that runs: that of the innermost frame, if the program agrees.
fn place(
    tree: &mut Tree,
    functions: &mut Functions,
    thread: &mut Thread,
    function: Option<FunctionId>,
    (source, pc): (u16, u64),
) -> NodeId {
    let is_lost = std::mem::take(&mut thread.is_lost);
    let top = *thread.top();
    let function_of = |tree: &Tree, id: NodeId| tree.nodes()[id as usize].kind.function();
    let here = function_of(tree, top);
    let Some(function) = function.or_else(|| here.is_none().then(|| functions.called(source, pc))) else {
        return top;
    };
    if here == Some(function) {
        return top;
    }
    // A tail call goes to the start of a function; into the middle of one goes `longjmp`, or a return without its call.
    let is_stray = std::mem::take(&mut thread.is_stray) && functions.get(function).address != pc;
    if is_lost || is_stray {
        // Somewhere up the stack, if anywhere: the frames above it are left.
        let found = thread.nodes.iter().rposition(|id| function_of(tree, *id) == Some(function));
        let frames =
            found.map(|at| at + 1).or((function_of(tree, thread.outermost) == Some(function)).then_some(0));
        if let Some(frames) = frames {
            thread.calls.leave_to(frames);
            thread.nodes.truncate(frames);
            let node = *thread.top();
            tree.node(node).guesses += 1;
            return node;
        }
    }
    // The thread itself, or a function reached by a jump: it takes the place of the one that jumped.
    let parent = tree.nodes()[top as usize].parent;
    let (parent, kind) = match tree.nodes()[top as usize].kind {
        NodeKind::Thread(_) => (Some(top), NodeKind::Function(function)),
        NodeKind::Function(_) => (parent, NodeKind::Function(function)),
        NodeKind::Handler(_) => (parent, NodeKind::Handler(function)),
    };
    let node = tree.child(parent, kind);
    tree.node(node).guesses += u64::from((is_lost || is_stray) && here.is_some());
    *thread.top() = node;
    node
}

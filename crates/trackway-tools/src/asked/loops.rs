//! Loops and their trip counts.
//!
//! A back edge is a direct branch or jump that went to its own address or a lower one. All back edges to the same address, the
//! header, are one loop; its body reaches from there to the last of them. To enter it again control has to come from below the
//! header in the same call, so iterations are counted until then. Calls and traps out of the body do not leave it, and
//! recursion enters it once more.

use std::collections::{BTreeMap, HashMap, VecDeque};

use trackway_core::Trap;
use trackway_core::TrapKind;
use trackway_isa::Control;

use super::exits::Exit;
use crate::executed::{Pass, Space};
use crate::stats::{Address, Summary};

/// Calls of a thread that are kept, and loops that one of them has been in.
const FRAMES: usize = 4096;
const ACTIVE: usize = 4096;
/// Passes of the way through a call that are kept.
const PATH: usize = 1 << 16;

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Where back edges go.
    pub header: Address,
    /// Address of the last back edge.
    pub last: u64,
    /// Times that control came to the header other than by a back edge, or into the loop elsewhere: by a jump, or because the
    /// trace begins there or continues there after a gap.
    pub entries: u64,
    /// Back edges and entries.
    pub iterations: u64,
    /// The fewest and the most iterations of one entry.
    pub trips: [u64; 2],
    /// Instructions executed from the header to the last back edge, without those of functions it calls.
    pub instructions: u64,
    /// Entries that a gap cut short: their trip counts are too low.
    pub cut: u64,
}

/// The loops of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops {
    /// The one with most instructions first.
    pub list: Vec<Loop>,
    /// Gaps, which leave all loops.
    pub gaps: u64,
    /// Instructions of runs whose code is not known: their loops are not known either.
    pub unseen: u64,
}

/// Loops while the trace is read.
#[derive(Debug, Default)]
pub(super) struct Following {
    found: HashMap<(u16, u64), Counts>,
    threads: Vec<Thread>,
    numbers: HashMap<Space, usize>,
    /// The thread that runs on each source.
    current: BTreeMap<u16, usize>,
    gaps: u64,
}

/// Loops with one header.
#[derive(Clone, Copy, Debug)]
struct Counts {
    last: u64,
    back_edges: u64,
    /// Entries with at least one back edge.
    repeated: u64,
    /// Those of them that did not begin at the header.
    elsewhere: u64,
    trips: [u64; 2],
    cut: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Counts { last: 0, back_edges: 0, repeated: 0, elsewhere: 0, trips: [u64::MAX, 0], cut: 0 }
    }
}

#[derive(Debug)]
struct Thread {
    /// Outermost first; never empty.
    frames: VecDeque<Frame>,
    /// The last pass, unless something is missing after it.
    last: Option<(Exit, u64)>,
    trap: Option<[Option<u64>; 2]>,
}

#[derive(Debug, Default)]
struct Frame {
    /// Where it returns to.
    back: Option<u64>,
    /// Passes that led here since control was below them, ascending: where each began and ended.
    path: Vec<(u64, u64)>,
    /// The highest header last.
    loops: Vec<Active>,
}

#[derive(Debug)]
struct Active {
    header: u64,
    last: u64,
    iterations: u64,
    /// It was not entered at the header.
    elsewhere: bool,
}

impl Default for Thread {
    fn default() -> Self {
        Thread { frames: [Frame::default()].into(), last: None, trap: None }
    }
}

impl Following {
    pub(super) fn pass(&mut self, pass: &Pass<'_>, exit: &Exit) {
        let Following { found, threads, current, .. } = self;
        let code = &pass.block.code;
        let Some(thread) = current.get(&pass.source).and_then(|n| threads.get_mut(*n)) else { return };
        let mut end = |active: Active| leave(found, pass.source, active, false);
        let latch = thread.arrive(code.start, &mut end);
        let Some(frame) = thread.frames.back_mut() else { return };
        while let Some(active) = frame.loops.pop_if(|active| active.header > code.start) {
            end(active);
        }
        if let Some(latch) = latch {
            frame.repeat(code.start, latch, &mut end);
        }
        frame.pass(code.start, code.end);
        thread.last = Some((*exit, code.end));
    }

    pub(super) fn trap(&mut self, source: u16, trap: &Trap) {
        let Some(thread) = self.current.get(&source).and_then(|n| self.threads.get_mut(*n)) else { return };
        match trap.kind {
            TrapKind::Return => {}
            TrapKind::Reset => {
                let found = &mut self.found;
                thread.forget(&mut |active| leave(found, source, active, false));
            }
            _ => thread.trap = Some([trap.return_address.or(trap.from), trap.from]),
        }
    }

    pub(super) fn gap(&mut self, source: u16) {
        self.gaps += 1;
        let Some(thread) = self.current.get(&source).and_then(|n| self.threads.get_mut(*n)) else { return };
        let found = &mut self.found;
        // A loop that control had passed is not cut.
        let at = thread.last.map(|(exit, end)| exit.pc.unwrap_or(end.wrapping_sub(1)));
        thread.forget(&mut |active| {
            let cut = at.is_none_or(|at| (active.header..=active.last).contains(&at));
            leave(found, source, active, cut);
        });
    }

    pub(super) fn enter(&mut self, space: &Space) {
        let Following { threads, numbers, current, .. } = self;
        let number = *numbers.entry(space.thread()).or_insert_with(|| {
            threads.push(Thread::default());
            threads.len() - 1
        });
        if current.insert(space.source, number) != Some(number) {
            (threads[number].last, threads[number].trap) = (None, None);
        }
    }

    pub(super) fn finish(mut self, stats: &Summary) -> Option<Loops> {
        let sources: HashMap<usize, u16> = self.numbers.iter().map(|(space, n)| (*n, space.source)).collect();
        let found = &mut self.found;
        for (n, thread) in self.threads.iter_mut().enumerate() {
            let source = sources.get(&n).copied().unwrap_or(0);
            thread.forget(&mut |active| leave(found, source, active, false));
        }
        let mut all: BTreeMap<Address, Counts> = BTreeMap::new();
        for ((source, header), counts) in self.found {
            let to = all.entry(stats.address(source, header)).or_default();
            to.last = to.last.max(counts.last);
            to.back_edges += counts.back_edges;
            to.repeated += counts.repeated;
            to.elsewhere += counts.elsewhere;
            to.trips = [to.trips[0].min(counts.trips[0]), to.trips[1].max(counts.trips[1])];
            to.cut += counts.cut;
        }
        let (executed, unseen) = stats.executions();
        if executed.is_empty() {
            return None;
        }
        // Instructions up to each address of each program.
        let mut sums: Vec<(Address, u64)> = vec![(Address::default(), 0)];
        let mut sum = 0;
        for (address, count) in &executed {
            sums.push((*address, sum));
            sum += count;
        }
        sums.push((Address { program: u16::MAX, pc: u64::MAX }, sum));
        let before = |address: Address| sums[sums.partition_point(|(at, _)| *at < address)].1;
        let mut list: Vec<Loop> = all
            .into_iter()
            .map(|(header, counts)| {
                let arrivals = executed.get(&header).copied().unwrap_or(0);
                let entries = (arrivals + counts.elsewhere).saturating_sub(counts.back_edges);
                let last = Address { pc: counts.last, ..header };
                let after = executed.get(&last).copied().unwrap_or(0);
                Loop {
                    header,
                    last: counts.last,
                    entries,
                    iterations: entries + counts.back_edges,
                    trips: [if entries > counts.repeated { 1 } else { counts.trips[0] }, counts.trips[1]],
                    instructions: before(last) + after - before(header),
                    cut: counts.cut,
                }
            })
            .collect();
        list.sort_by_key(|found| (std::cmp::Reverse(found.instructions), found.header));
        Some(Loops { list, gaps: self.gaps, unseen })
    }
}

impl Thread {
    /// Control arrives at `pc`: the frames are what they should be there. Returns the address of the back edge that led to it.
    fn arrive(&mut self, pc: u64, end: &mut impl FnMut(Active)) -> Option<u64> {
        let before = self.last.map(|(_, after)| after);
        if let Some([back, from]) = self.trap.take() {
            if ![before, back, from].contains(&Some(pc)) {
                self.call(back, end);
            }
            return None;
        }
        let (exit, after) = self.last?;
        let is_direct = matches!(exit.control, Control::Branch | Control::Jump | Control::OtherJump);
        match exit.control {
            Control::Call | Control::IndirectCall if !exit.conditional || pc != after => {
                self.call(Some(after), end);
            }
            Control::CoroutineSwap if !self.come_back(pc, FRAMES, end) => self.call(Some(after), end),
            Control::Return if exit.conditional && pc == after => {}
            // To a caller from before the trace.
            Control::Return if !self.come_back(pc, FRAMES, end) && self.frames.len() == 1 => {
                self.call(None, end);
                self.frames.pop_front().into_iter().flat_map(|frame| frame.loops).for_each(&mut *end);
            }
            Control::TrapReturn => {
                self.come_back(pc, FRAMES, end);
            }
            // A return by another register, to the caller only: most indirect jumps are not returns.
            Control::IndirectJump | Control::OtherIndirectJump => {
                self.come_back(pc, 1, end);
            }
            _ => {}
        }
        exit.pc.filter(|latch| is_direct && exit.target == Some(pc) && pc <= *latch)
    }

    fn call(&mut self, back: Option<u64>, end: &mut impl FnMut(Active)) {
        if self.frames.len() == FRAMES {
            self.frames.pop_front().into_iter().flat_map(|frame| frame.loops).for_each(&mut *end);
        }
        self.frames.push_back(Frame { back, ..Frame::default() });
    }

    /// Leaves frames down to the one that returns to `pc`, if it is one of the innermost.
    fn come_back(&mut self, pc: u64, innermost: usize, end: &mut impl FnMut(Active)) -> bool {
        let found = self.frames.iter().rev().take(innermost).position(|frame| frame.back == Some(pc));
        let Some(depth) = found else { return false };
        let left = self.frames.drain(self.frames.len() - depth - 1..);
        left.rev().flat_map(|frame| frame.loops.into_iter().rev()).for_each(end);
        if self.frames.is_empty() {
            self.frames.push_back(Frame::default());
        }
        true
    }

    /// Leaves everything.
    fn forget(&mut self, end: &mut impl FnMut(Active)) {
        let before = std::mem::take(self);
        before.frames.into_iter().rev().flat_map(|frame| frame.loops.into_iter().rev()).for_each(end);
    }
}

impl Frame {
    /// Control goes through the code from `start` to `end`.
    fn pass(&mut self, start: u64, end: u64) {
        while self.path.pop_if(|(before, _)| *before >= start).is_some() {}
        if self.path.len() == PATH {
            self.path.drain(..PATH / 2);
        }
        self.path.push((start, end));
    }

    /// A back edge from `latch` to `header`.
    fn repeat(&mut self, header: u64, latch: u64, end: &mut impl FnMut(Active)) {
        match self.loops.last_mut() {
            Some(active) if active.header == header => {
                active.iterations += 1;
                active.last = active.last.max(latch);
            }
            _ => {
                if self.loops.len() == ACTIVE {
                    end(self.loops.remove(0));
                }
                let before = self.path.partition_point(|(start, _)| *start <= header);
                let by_header = before.checked_sub(1).is_some_and(|n| header < self.path[n].1);
                self.loops.push(Active { header, last: latch, iterations: 2, elsewhere: !by_header });
            }
        }
    }
}

/// One entry of a loop ended.
fn leave(found: &mut HashMap<(u16, u64), Counts>, source: u16, active: Active, cut: bool) {
    let counts = found.entry((source, active.header)).or_default();
    counts.last = counts.last.max(active.last);
    counts.back_edges += active.iterations - 1;
    counts.repeated += 1;
    counts.elsewhere += u64::from(active.elsewhere);
    counts.trips = [counts.trips[0].min(active.iterations), counts.trips[1].max(active.iterations)];
    counts.cut += u64::from(cut);
}

//! Which instruction wrote a value, which ones wrote its inputs, and so on.

use std::collections::BTreeMap;

use trackway::Result;
use trackway::machine::csrs;
use trackway_core::{Batch, EventKind, Isa, MemKind, Reg, RegClass, RegRole, State, Step, Trap, TrapKind};

use super::operands::{Location, Operands, Role};
use super::{Here, Past};

/// Where the search for a writer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It has the value from before the trace.
    Start,
    /// It has the value from before the trace, and the program has bytes there.
    Image,
    /// Something is missing before this instruction.
    Gap(u64),
    /// The trace sets it outside of any instruction, before this one: initial contents, results of system calls.
    Shown(u64),
    /// It comes from outside before this instruction: a system call that is not traced, a device, a counter.
    Outside(u64),
    /// The trap before this instruction wrote it.
    Trap(u64),
    /// Another process or thread ran before this instruction.
    Context(u64),
    /// This instruction stores or loads, and the trace has no address.
    NoAddress(u64),
    /// The encoding of this instruction is not known: it may have written anything.
    NoCode(u64),
    /// As deep as asked.
    Depth,
    /// There are too many instructions to list.
    Many,
}

impl End {
    /// Number of the instruction that it is about.
    pub const fn number(self) -> Option<u64> {
        match self {
            End::Start | End::Image | End::Depth | End::Many => None,
            End::Gap(n)
            | End::Shown(n)
            | End::Outside(n)
            | End::Trap(n)
            | End::Context(n)
            | End::NoAddress(n)
            | End::NoCode(n) => Some(n),
        }
    }

    /// A word for it, for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            End::Start => "start",
            End::Image => "image",
            End::Gap(_) => "gap",
            End::Shown(_) => "shown",
            End::Outside(_) => "outside",
            End::Trap(_) => "trap",
            End::Context(_) => "context",
            End::NoAddress(_) => "no-address",
            End::NoCode(_) => "no-code",
            End::Depth => "depth",
            End::Many => "many",
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Start => write!(f, "set before the trace began"),
            End::Image => write!(f, "set before the trace began: the program has it"),
            End::Gap(n) => write!(f, "not known: there is a gap before {n}"),
            End::Shown(n) => write!(f, "set outside any instruction, as the trace shows before {n}"),
            End::Outside(n) => write!(f, "from outside, before {n}"),
            End::Trap(n) => write!(f, "set by the trap before {n}"),
            End::Context(n) => write!(f, "not known: another process or thread ran before {n}"),
            End::NoAddress(n) => write!(f, "not known: {n} stores, and the trace has no address"),
            End::NoCode(n) => write!(f, "not known: the encoding of {n} is not"),
            End::Depth => write!(f, "not followed further"),
            End::Many => write!(f, "too many instructions to list"),
        }
    }
}

/// Who wrote something, or why that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The instruction with this place in [`Why::nodes`].
    Node(usize),
    /// The search ended.
    End(End),
}

/// An input of an instruction, and where it comes from; bytes of memory can come from several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The register or the bytes.
    pub what: Location,
    /// Its use.
    pub role: Role,
    /// Its value, little-endian; `None` where it is not recorded.
    pub value: Option<Vec<u8>>,
    /// The writer of each part.
    pub causes: Vec<(Location, Cause)>,
}

/// An instruction that wrote something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub number: u64,
    /// Its address.
    pub pc: Option<u64>,
    /// Its encoding; meaningless where `length` is 0.
    pub encoding: u32,
    /// Its length; 0 where the encoding is not known.
    pub length: u8,
    /// Its instruction set.
    pub isa: Isa,
    /// The results that were asked for, and their values, little-endian.
    pub results: Vec<(Location, Option<Vec<u8>>)>,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// It loads, and the trace does not say from where.
    pub unseen_load: bool,
    /// How far it is from the question; its own result is 1.
    pub depth: u32,
}

/// The answer: a graph of instructions, later ones first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Why {
    /// Instructions; each is listed once, however often its results were used.
    pub nodes: Vec<Node>,
    /// The writer of each part of what was asked for.
    pub causes: Vec<(Location, Cause)>,
}

/// Instructions that are listed at most.
const MOST: usize = 4096;

/// Where an answer goes: an input of a node, or the question itself.
type Asker = Option<(usize, usize)>;

#[derive(Clone, Copy, Debug)]
struct Query {
    asker: Asker,
    depth: u32,
}

/// Who wrote `what` before instruction `at`, and the chain back to `depth` instructions.
pub fn why(past: &mut Past<'_>, at: u64, what: Location, depth: u32) -> Result<Why> {
    let mut search = Search { depth, ..Search::default() };
    search.ask(what, Query { asker: None, depth: 1 });
    past.backwards(at, |here| {
        search.look(&here);
        !search.is_done()
    })?;
    if let Some(image) = past.image() {
        for (address, length, _) in search.memory.clone() {
            let mut bytes = vec![0; length as usize];
            let mut places = (0..length).map(|n| address.wrapping_add(n));
            if image.read(address, &mut bytes) as u64 == length
                || places.all(|place| past.starts_as_zero(place))
            {
                search.end_memory(address, length, End::Image);
            }
        }
    }
    search.end_all(End::Start);
    Ok(search.why)
}

#[derive(Debug, Default)]
struct Search {
    why: Why,
    depth: u32,
    registers: BTreeMap<Reg, Vec<Query>>,
    memory: Vec<(u64, u64, Query)>,
    /// Address and number of the instruction after the current event.
    after: Option<(Option<u64>, u64)>,
    /// Number of the instruction after a trap that wrote CSRs, unless the instruction before it shows them.
    trapped: Option<u64>,
}

impl Search {
    fn is_done(&self) -> bool {
        self.registers.is_empty() && self.memory.is_empty()
    }

    fn ask(&mut self, what: Location, query: Query) {
        match what {
            Location::Reg(reg) => self.registers.entry(reg).or_default().push(query),
            Location::Mem { length: 0, .. } => {}
            Location::Mem { address, length } => self.memory.push((address, length, query)),
        }
    }

    fn answer(&mut self, asker: Asker, what: Location, cause: Cause) {
        let causes = match asker {
            None => &mut self.why.causes,
            Some((node, input)) => &mut self.why.nodes[node].inputs[input].causes,
        };
        causes.push((what, cause));
        causes.sort_by_key(|(what, _)| *what);
    }

    fn end_all(&mut self, end: End) {
        self.end_registers(end, |_| true);
        for (address, length, query) in std::mem::take(&mut self.memory) {
            self.answer(query.asker, Location::Mem { address, length }, Cause::End(end));
        }
    }

    fn end_registers(&mut self, end: End, which: impl Fn(Reg) -> bool) {
        let gone: Vec<Reg> = self.registers.keys().copied().filter(|reg| which(*reg)).collect();
        for reg in gone {
            for query in self.registers.remove(&reg).unwrap_or_default() {
                self.answer(query.asker, Location::Reg(reg), Cause::End(end));
            }
        }
    }

    /// Answers all questions about bytes in a range; bytes outside of it stay open. Returns who asked for what.
    fn take_memory(&mut self, start: u64, size: u64) -> Vec<(Location, Query)> {
        let mut taken = Vec::new();
        let end = start.saturating_add(size);
        for (address, length, query) in std::mem::take(&mut self.memory) {
            let (from, to) = (address.max(start), address.saturating_add(length).min(end));
            if from >= to {
                self.memory.push((address, length, query));
                continue;
            }
            taken.push((Location::Mem { address: from, length: to - from }, query));
            let rest = address.saturating_add(length);
            let pieces = [(address, from - address), (to, rest - to)];
            self.memory.extend(pieces.into_iter().filter(|piece| piece.1 > 0).map(|(a, l)| (a, l, query)));
        }
        taken
    }

    fn end_memory(&mut self, start: u64, size: u64, end: End) {
        for (what, query) in self.take_memory(start, size) {
            self.answer(query.asker, what, Cause::End(end));
        }
    }

    fn look(&mut self, here: &Here<'_>) {
        let Here { batch, event, number, .. } = *here;
        match &event.kind {
            EventKind::Step(step) => {
                self.step(here, step);
                self.after = Some((step.pc, number));
            }
            EventKind::Run(run) if !run.withdrawn => self.end_all(End::NoCode(number)),
            EventKind::Gap(_) => self.end_all(End::Gap(number)),
            EventKind::State(n) => self.outside(batch, &batch.states[*n as usize], number),
            EventKind::Trap(n) => self.trap(&batch.traps[*n as usize], number),
            EventKind::Context(_) => {
                if here.other_thread {
                    self.end_registers(End::Context(number), |_| true);
                }
                if here.other_space {
                    self.end_memory(0, u64::MAX, End::Context(number));
                }
            }
            _ => {}
        }
    }

    fn step(&mut self, here: &Here<'_>, step: &Step) {
        let Here { batch, number, isa, .. } = *here;
        if self.is_done() {
            return;
        }
        let operands = Operands::new(batch, step, isa);
        let mut taken: Vec<(Location, Query)> = Vec::new();
        let written: Vec<Reg> = self.registers.keys().copied().filter(|reg| operands.writes(*reg)).collect();
        for reg in written {
            let queries = self.registers.remove(&reg).unwrap_or_default();
            taken.extend(queries.into_iter().map(|query| (Location::Reg(reg), query)));
        }
        if let Some(trap) = self.trapped.take() {
            self.end_registers(End::Trap(trap), |reg| {
                is_riscv_csr(isa, reg) && csrs::changes_with_traps(reg.number)
            });
        }
        if operands.is_opaque() {
            self.end_registers(End::NoCode(number), |_| true);
        }
        let mut results: Vec<(Location, Option<Vec<u8>>)> = Vec::new();
        if !self.memory.is_empty() {
            for access in operands.stores().filter(|access| !access.unplaced) {
                let found = self.take_memory(access.address, access.size);
                if !found.is_empty() {
                    let what = Location::Mem { address: access.address, length: access.size };
                    results.push((what, operands.stored(access)));
                }
                taken.extend(found);
            }
            if operands.stores_unseen() {
                self.end_memory(0, u64::MAX, End::NoAddress(number));
            }
        }
        if taken.is_empty() {
            return;
        }
        for (what, _) in &taken {
            if let Location::Reg(reg) = *what
                && !results.iter().any(|(known, _)| *known == Location::Reg(reg))
            {
                results.push((Location::Reg(reg), operands.written(reg)));
            }
        }
        self.node(here, step, &operands, results, taken);
    }

    /// A new node, which answers all questions in `taken`.
    fn node(
        &mut self,
        here: &Here<'_>,
        step: &Step,
        operands: &Operands<'_>,
        results: Vec<(Location, Option<Vec<u8>>)>,
        taken: Vec<(Location, Query)>,
    ) {
        let place = self.why.nodes.len();
        if place >= MOST {
            for (what, query) in taken {
                self.answer(query.asker, what, Cause::End(End::Many));
            }
            return;
        }
        let depth = taken.iter().map(|(_, query)| query.depth).min().unwrap_or(1);
        let wanted: Vec<Location> = results.iter().map(|(what, _)| *what).collect();
        let (reads, unseen_load) = operands.inputs(&wanted);
        let inputs: Vec<Input> = reads
            .into_iter()
            .map(|read| Input { what: read.what, role: read.role, value: read.value, causes: Vec::new() })
            .collect();
        let asked: Vec<Location> = inputs.iter().map(|input| input.what).collect();
        self.why.nodes.push(Node {
            number: here.number,
            pc: step.pc,
            encoding: step.encoding,
            length: step.length,
            isa: here.isa,
            results,
            inputs,
            unseen_load,
            depth,
        });
        for (what, query) in taken {
            self.answer(query.asker, what, Cause::Node(place));
        }
        for (input, what) in asked.into_iter().enumerate() {
            let asker = Some((place, input));
            match what {
                // Counters, time and pending interrupts change by themselves.
                Location::Reg(reg) if is_riscv_csr(here.isa, reg) && csrs::is_volatile(reg.number) => {
                    self.answer(asker, what, Cause::End(End::Outside(here.number)));
                }
                _ if depth >= self.depth => self.answer(asker, what, Cause::End(End::Depth)),
                _ => self.ask(what, Query { asker, depth: depth + 1 }),
            }
        }
    }

    fn outside(&mut self, batch: &Batch, state: &State, number: u64) {
        match state {
            State::Contents(accesses) => {
                for access in batch.regs_of(*accesses) {
                    if matches!(access.role, RegRole::State | RegRole::Destination) {
                        self.end_registers(End::Shown(number), |reg| reg == access.reg);
                    }
                }
                for access in batch.mem_of(*accesses).iter().filter(|access| !access.unplaced) {
                    self.end_memory(access.address, access.size, End::Shown(number));
                }
            }
            State::Bus(bus) if matches!(bus.kind, MemKind::Write | MemKind::ReadWrite) => {
                self.end_memory(bus.address, bus.size, End::Outside(number));
            }
            State::Bus(_) | State::PageWalk(_) => {}
        }
    }

    fn trap(&mut self, trap: &Trap, number: u64) {
        if trap.kind == TrapKind::Reset {
            return self.end_all(End::Gap(number));
        }
        // A system call whose handler is not traced returns right after it, with a result.
        let passed_over = trap.syscall.is_some()
            && trap.from.is_some_and(|from| {
                self.after
                    .is_some_and(|(pc, n)| n == number && pc.is_some_and(|pc| pc.wrapping_sub(from) <= 4))
            });
        if passed_over {
            let result = if trap.syscall == Some(trackway_core::Syscall::Ecall) { 10 } else { 0 };
            self.end_registers(End::Outside(number), |reg| {
                reg == Reg { class: RegClass::Int, number: result }
            });
        }
        if trap.kind == TrapKind::Return {
            return;
        }
        self.trapped = Some(number);
    }
}

fn is_riscv_csr(isa: Isa, reg: Reg) -> bool {
    matches!(isa, Isa::Rv32 | Isa::Rv64) && reg.class == RegClass::Csr
}

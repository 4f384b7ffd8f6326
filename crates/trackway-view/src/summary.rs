//! A range: the call tree with its flame graph, functions, code with counts, branches, memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackway::machine::Machine;
use trackway_core::{Batch, Isa, Meta};
use trackway_image::{Image, Listing, Symbol, program};
use trackway_isa::{Style, flow, is_conditional};
use trackway_tools::calls::{CallTree, Called, NodeId, NodeKind};
use trackway_tools::executed::Inst;
use trackway_tools::flame::thread_name;

use crate::desk::{Answer, Desk, Reader, read};
use crate::memory::Touched;
use crate::rows::hex;
use crate::tables;
use crate::wire::Hex;

/// Nodes of a tree that are sent.
const NODES: usize = 20_000;

/// Functions and branches that are listed.
const LISTED: usize = 1000;

/// Instructions of a function that are listed.
const LINES: usize = 20_000;

/// Bytes of a function without a size at most.
const LABEL: u64 = 4096;

/// A range of one source.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) called: Called,
    pub(crate) touched: Touched,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

struct Watching<'c> {
    tree: CallTree,
    touched: Touched,
    is_wanted: &'c dyn Fn() -> bool,
}

impl Reader for Watching<'_> {
    fn start(&mut self, machine: &Machine) {
        self.tree.begin(0, &machine.context, &machine.calls);
    }

    fn take(&mut self, batch: &Batch) -> bool {
        self.tree.observe(batch);
        self.touched.take(batch);
        (self.is_wanted)()
    }
}

/// Reads a range, unless another one is wanted in the meantime.
pub(crate) fn summary(desk: &mut Desk, from: u64, to: u64, is_wanted: &dyn Fn() -> bool) -> Answer<Summary> {
    let image = program(&desk.programs, 0);
    let tree = CallTree::new(desk.meta.isa, &desk.programs);
    let mut watching = Watching { tree, touched: Touched::new(image, from, to - from), is_wanted };
    read(&mut desk.trace, from, to, &mut watching)?;
    if !is_wanted() {
        return Err("another range was selected".into());
    }
    Ok(Summary { called: watching.tree.finish(), touched: watching.touched, from, to })
}

/// Views of a call tree and the code below it, for one source.
pub(crate) struct Shown<'s> {
    pub(crate) called: &'s Called,
    pub(crate) source: u16,
    pub(crate) meta: &'s Meta,
    pub(crate) image: Arc<Image>,
}

impl Shown<'_> {
    fn label(&self, kind: NodeKind) -> String {
        match kind {
            NodeKind::Thread(n) => {
                let thread = self.called.threads.get(n as usize);
                thread.map_or_else(|| "thread".into(), |space| thread_name(space, self.meta))
            }
            NodeKind::Function(id) => self.called.functions.get(id).label(),
            NodeKind::Handler(id) => format!("{} [trap]", self.called.functions.get(id).label()),
        }
    }

    /// The threads of the source.
    fn roots(&self) -> Vec<NodeId> {
        let nodes = self.called.tree.nodes().iter().enumerate();
        let is_ours = |kind: NodeKind| match kind {
            NodeKind::Thread(n) => {
                self.called.threads.get(n as usize).is_some_and(|space| space.source == self.source)
            }
            _ => false,
        };
        nodes.filter(|(_, node)| is_ours(node.kind)).map(|(id, _)| id as NodeId).collect()
    }

    /// The call tree, callers first.
    pub(crate) fn tree(&self) -> tables::Tree {
        let tree = &self.called.tree;
        let (sums, children) = (tree.inclusive(), tree.sorted_children());
        let roots = self.roots();
        let total: u64 = roots.iter().map(|id| sums[*id as usize]).sum();
        let least = (total / 20_000).max(1);
        let mut nodes: Vec<tables::Node> = Vec::new();
        let mut left: Vec<(NodeId, Option<u64>)> = roots.iter().rev().map(|id| (*id, None)).collect();
        let mut is_cut = false;
        while let Some((id, parent)) = left.pop() {
            let node = &tree.nodes()[id as usize];
            if sums[id as usize] < least || nodes.len() >= NODES {
                is_cut |= sums[id as usize] > 0;
                continue;
            }
            let address = node.kind.function().map(|id| Hex::Word(self.called.functions.get(id).address));
            let place = nodes.len() as u64;
            nodes.push(tables::Node {
                parent,
                name: self.label(node.kind),
                total: sums[id as usize],
                own: node.instructions,
                calls: node.calls,
                guesses: node.guesses,
                address,
            });
            left.extend(children[id as usize].iter().rev().map(|id| (*id, Some(place))));
        }
        tables::Tree { total, cut: u64::from(is_cut), nodes, functions: self.functions(total) }
    }

    /// Functions by their own instructions.
    fn functions(&self, total: u64) -> Vec<tables::Function> {
        let by_function = self.called.tree.by_function();
        let one_program = self.called.executed.programs().len() < 2;
        let mut list: Vec<_> = by_function
            .into_iter()
            .map(|(id, totals)| (self.called.functions.get(id), totals))
            .filter(|(function, _)| one_program || function.source == self.source)
            .collect();
        list.sort_by(|one, other| {
            (other.1.exclusive, &one.0.address).cmp(&(one.1.exclusive, &other.0.address))
        });
        list.truncate(LISTED);
        let row = |(function, totals): (&trackway_tools::calls::Function, trackway_tools::calls::Totals)| {
            tables::Function {
                name: function.label(),
                address: Hex::Word(function.address),
                own: totals.exclusive,
                total: totals.inclusive.min(total),
                calls: totals.calls,
                guesses: totals.guesses,
            }
        };
        list.into_iter().map(row).collect()
    }

    /// Executed instructions of an address range, with counts and outcomes of branches.
    fn counts(&self, range: std::ops::Range<u64>) -> BTreeMap<u64, Counted> {
        let executed = &self.called.executed;
        let mut found: BTreeMap<u64, Counted> = BTreeMap::new();
        for block in executed.blocks() {
            let code = &block.code;
            let space = executed.spaces().get(code.space as usize);
            let is_ours = space.is_none_or(|space| space.source == self.source);
            if !is_ours || code.end <= range.start || code.start >= range.end {
                continue;
            }
            for (pc, inst) in code.insts().filter(|(pc, _)| range.contains(pc)) {
                let counted =
                    found.entry(pc).or_insert(Counted { inst, isa: code.isa, count: 0, outcomes: [0; 3] });
                counted.count += block.passes;
            }
            if let Some((pc, _)) = code.last()
                && let Some(counted) = found.get_mut(&pc)
            {
                counted.outcomes.iter_mut().zip(block.outcomes).for_each(|(sum, more)| *sum += more);
            }
        }
        found
    }

    /// Where a function ends: labels in assembly have no size, and reach to the next one.
    fn end_of(&self, symbol: &Symbol) -> u64 {
        if symbol.size > 0 {
            return symbol.address.saturating_add(symbol.size);
        }
        let all = self.image.parts().iter().flat_map(|part| part.symbols().all());
        let next = all.map(|other| other.address).filter(|address| *address > symbol.address).min();
        next.unwrap_or(u64::MAX).min(symbol.address.saturating_add(LABEL))
    }

    /// The code of the function at an address: every instruction with its count, and the lines of its source.
    pub(crate) fn code(
        &self,
        at: u64,
        listing: &mut Listing,
        sources: &dyn Fn(&str) -> Option<usize>,
    ) -> Answer<Json> {
        let symbol = self.image.symbol(at).map(|(symbol, _)| symbol);
        let (start, end) = match symbol {
            Some(symbol) => (symbol.address, self.end_of(symbol)),
            None => (at.saturating_sub(512), at.saturating_add(4096)),
        };
        let counts = self.counts(start..end);
        let isa = symbol.and_then(|symbol| symbol.isa).or(counts.values().next().map(|one| one.isa));
        let isa = isa.unwrap_or(self.meta.isa);
        let memory = self.image.memory(&trackway_core::Context::default());
        let mut lines: Vec<Json> = Vec::new();
        let mut put = |pc: u64, isa: Isa, inst: Inst, counted: Option<&Counted>| {
            let line = self.image.line(pc);
            let file = line.as_ref().and_then(|line| sources(&line.file));
            let mut row = json!({ "pc": hex(pc), "count": counted.map_or(0, |one| one.count) });
            if inst.length > 0 {
                row["code"] = json!(Listing::encoding(isa, inst.encoding, inst.length));
                row["text"] = json!(listing.text(isa, pc, inst.encoding));
                let flow = flow(isa, pc, inst.encoding);
                if let Some(target) = flow.target.filter(|_| flow.control.is_transfer()) {
                    row["target"] = hex(target);
                }
            }
            if let Some(one) = counted.filter(|one| one.outcomes != [0; 3]) {
                row["taken"] = json!(one.outcomes);
            }
            if let Some(line) = line {
                row["file"] = json!(line.file);
                row["line"] = json!(line.line);
                row["source"] = json!(file);
            }
            lines.push(row);
        };
        let mut pc = start;
        if symbol.is_some() && memory.fetch(isa, start).is_some() {
            for _ in 0..LINES {
                let Some((encoding, length)) = memory.fetch(isa, pc).filter(|_| pc < end) else { break };
                put(pc, isa, Inst { encoding, length }, counts.get(&pc));
                pc = pc.wrapping_add(length.max(2).into());
            }
        } else {
            counts.iter().take(LINES).for_each(|(pc, one)| put(*pc, one.isa, one.inst, Some(one)));
        }
        if lines.is_empty() {
            return Err(format!("no code is known at {at:#x}"));
        }
        let name = symbol.map_or_else(|| format!("{at:#x}"), |symbol| symbol.demangled().into_owned());
        Ok(json!({ "name": name, "start": hex(start), "end": hex(end), "lines": lines }))
    }

    /// Branches: conditional ones by their outcomes, indirect ones by their targets.
    pub(crate) fn branches(&self) -> Json {
        let executed = &self.called.executed;
        let mut listing = Listing::new(Arc::clone(&self.image), Style::default());
        let mut found: HashMap<u64, Branch> = HashMap::new();
        let mut ends: HashMap<u32, u64> = HashMap::new();
        for (id, block) in executed.blocks().iter().enumerate() {
            let code = &block.code;
            let is_ours =
                executed.spaces().get(code.space as usize).is_none_or(|space| space.source == self.source);
            let Some((pc, inst)) = code.last().filter(|(_, inst)| is_ours && inst.length > 0) else {
                continue;
            };
            let flow = flow(code.isa, pc, inst.encoding);
            let is_indirect = flow.control.is_transfer() && flow.target.is_none();
            if !is_conditional(code.isa, inst.encoding) && !is_indirect {
                continue;
            }
            if is_indirect {
                ends.insert(id as u32, pc);
            }
            let branch = found.entry(pc).or_insert_with(|| Branch {
                text: listing.text(code.isa, pc, inst.encoding).to_string(),
                is_indirect,
                count: 0,
                outcomes: [0; 3],
                targets: BTreeMap::new(),
            });
            branch.count += block.passes;
            branch.outcomes.iter_mut().zip(block.outcomes).for_each(|(sum, more)| *sum += more);
        }
        for (from, to, count) in executed.edges() {
            if let Some(branch) = ends.get(&from).and_then(|pc| found.get_mut(pc)) {
                *branch.targets.entry(executed.blocks()[to as usize].code.start).or_default() += count;
            }
        }
        let mut list: Vec<(u64, Branch)> = found.into_iter().collect();
        list.sort_by_key(|(pc, branch)| (std::cmp::Reverse(branch.count), *pc));
        let all = list.len();
        list.truncate(LISTED);
        let rows: Vec<Json> = list.into_iter().map(|(pc, branch)| branch.json(pc, &mut listing)).collect();
        json!({ "all": all, "branches": rows })
    }

    /// The memory map.
    pub(crate) fn memory(&self, touched: &Touched) -> tables::Memory {
        touched.map(&|address| {
            let symbol = self.image.symbol(address);
            symbol.map_or_else(|| format!("{address:#x}"), |(symbol, _)| symbol.demangled().into_owned())
        })
    }
}

struct Counted {
    inst: Inst,
    isa: Isa,
    count: u64,
    outcomes: [u64; 3],
}

struct Branch {
    text: String,
    is_indirect: bool,
    count: u64,
    outcomes: [u64; 3],
    targets: BTreeMap<u64, u64>,
}

impl Branch {
    fn json(self, pc: u64, listing: &mut Listing) -> Json {
        let mut targets: Vec<(u64, u64)> = self.targets.into_iter().collect();
        targets.sort_by_key(|(target, count)| (std::cmp::Reverse(*count), *target));
        let all = targets.len();
        let mut place = |pc: u64| {
            let place = &listing.row(pc).place;
            if place.is_empty() { format!("{pc:#x}") } else { place.clone() }
        };
        let targets: Vec<Json> = targets
            .into_iter()
            .take(8)
            .map(|(target, count)| json!([hex(target), place(target), count]))
            .collect();
        json!({
            "pc": hex(pc),
            "place": place(pc),
            "text": self.text,
            "indirect": self.is_indirect,
            "count": self.count,
            "taken": self.outcomes,
            "targets": targets,
            "all": all,
        })
    }
}

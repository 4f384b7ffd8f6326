//! Instructions by where they are: function, source line, context, source.

use std::collections::BTreeMap;

use super::addresses::Address;
use super::summary::Summary;

/// The property by which instructions are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The function, by the symbols of the program.
    Function,
    /// The source line, by the program's debug information.
    Line,
    /// Levels and ids.
    Context,
    /// The source.
    Source,
}

/// Instructions of one function, line, context or source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its name; `None` collects the instructions that have none.
    pub name: Option<String>,
    /// Where the function begins.
    pub address: Option<Address>,
    /// Instructions executed in it, attempted ones included.
    pub instructions: u64,
    /// Times that control arrived at its first instruction, for functions.
    pub entries: Option<u64>,
    /// Gaps of the trace that begin or end in it: what it executed there is missing.
    pub gaps: u64,
    /// Cycles counted in it, for functions of a trace that has cycle counts.
    pub cycles: Option<u64>,
    /// Ticks of timestamps that passed in it, for functions of a trace that has timestamps.
    pub time: Option<u64>,
}

/// Counts at one address.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    instructions: u64,
    /// Times that control came to it.
    passes: u64,
    gaps: u64,
    cycles: u64,
    time: u64,
}

impl Summary {
    /// Instructions by place, most frequent first; `None` where the trace and its program name no place. `sources` are the
    /// names of the sources.
    pub fn by(&self, by: By, sources: &[String]) -> Option<Vec<Row>> {
        let mut rows = match by {
            By::Function => functions(self)?,
            By::Line => lines(self)?,
            By::Context => contexts(self),
            By::Source => of_sources(self, sources),
        };
        rows.sort_by(|a, b| {
            b.instructions.cmp(&a.instructions).then_with(|| (&a.name, a.address).cmp(&(&b.name, b.address)))
        });
        Some(rows)
    }
}

/// The counts of each address; `None` collects those of instructions without one.
fn by_address(stats: &Summary) -> BTreeMap<Option<Address>, Counts> {
    let mut all: BTreeMap<Option<Address>, Counts> = BTreeMap::new();
    let mut add = |at: Option<Address>, counts: Counts| {
        let to = all.entry(at).or_default();
        to.instructions += counts.instructions;
        to.passes += counts.passes;
        to.gaps += counts.gaps;
        to.cycles += counts.cycles;
        to.time += counts.time;
    };
    for block in stats.executed.blocks() {
        let (passes, [before, after]) = (block.passes, block.gaps);
        let at = |pc| Some(stats.addresses.of_block(&stats.executed, block, pc));
        if block.code.opaque.is_some() {
            let instructions = passes * block.code.count();
            let counts = Counts { instructions, passes, gaps: before + after, ..Counts::default() };
            add(at(block.code.start), counts);
        }
        let last = block.code.insts.len().saturating_sub(1);
        for (n, (pc, _)) in block.code.insts().enumerate() {
            let gaps = if n == 0 { before } else { 0 } + if n == last { after } else { 0 };
            add(at(pc), Counts { instructions: passes, passes, gaps, ..Counts::default() });
        }
    }
    let unknown = stats.executed.unknown().values().sum();
    if unknown > 0 {
        add(None, Counts { instructions: unknown, ..Counts::default() });
    }
    for ((source, pc), spent) in stats.spent.places() {
        let at = pc.map(|pc| stats.addresses.of(source, pc));
        add(at, Counts { cycles: spent.cycles, time: spent.ticks, ..Counts::default() });
    }
    all
}

fn functions(stats: &Summary) -> Option<Vec<Row>> {
    let mut rows: BTreeMap<Option<Address>, Row> = BTreeMap::new();
    for (at, counts) in by_address(stats) {
        let program = at.map(|at| stats.addresses.program(at));
        let symbol = at.zip(program.as_ref()).and_then(|(at, program)| Some(program.symbol(at.pc)?.0));
        let address = at.zip(symbol).map(|(at, symbol)| Address { pc: symbol.address, ..at });
        let row = rows.entry(address).or_insert_with(|| Row {
            name: symbol.map(|symbol| symbol.demangled().into_owned()),
            address,
            entries: Some(0),
            ..Row::default()
        });
        row.instructions += counts.instructions;
        row.gaps += counts.gaps;
        if at == address {
            row.entries = row.entries.map(|entries| entries + counts.passes);
        }
        row.cycles = stats.spent.has_cycles.then(|| row.cycles.unwrap_or(0) + counts.cycles);
        row.time = stats.spent.has_stamps.then(|| row.time.unwrap_or(0) + counts.time);
    }
    rows.keys().any(Option::is_some).then(|| rows.into_values().collect())
}

fn lines(stats: &Summary) -> Option<Vec<Row>> {
    let mut rows: BTreeMap<Option<(String, u32)>, Row> = BTreeMap::new();
    for (at, counts) in by_address(stats) {
        let line = at.and_then(|at| stats.addresses.program(at).line(at.pc));
        let row = rows.entry(line.map(|line| (line.file, line.line))).or_default();
        row.instructions += counts.instructions;
        row.gaps += counts.gaps;
    }
    let named = rows.keys().any(Option::is_some);
    let row = |(line, row): (Option<(String, u32)>, Row)| Row {
        name: line.map(|(file, line)| format!("{file}:{line}")),
        ..row
    };
    named.then(|| rows.into_iter().map(row).collect())
}

/// Contexts are counted instruction by instruction, not by block.
fn contexts(stats: &Summary) -> Vec<Row> {
    let row = |(name, count): (&String, &u64)| Row {
        name: Some(name.clone()),
        instructions: *count,
        ..Row::default()
    };
    stats.contexts.iter().map(row).collect()
}

fn of_sources(stats: &Summary, sources: &[String]) -> Vec<Row> {
    let mut rows: BTreeMap<u16, Row> = BTreeMap::new();
    let source = |space: u32| stats.executed.spaces().get(space as usize).map_or(0, |space| space.source);
    for block in stats.executed.blocks() {
        let row = rows.entry(source(block.code.space)).or_default();
        row.instructions += block.passes * block.code.count();
        row.gaps += block.gaps.iter().sum::<u64>();
    }
    for (space, count) in stats.executed.unknown() {
        rows.entry(source(*space)).or_default().instructions += count;
    }
    let name = |source: u16| sources.get(usize::from(source)).cloned().unwrap_or_else(|| source.to_string());
    rows.into_iter().map(|(source, row)| Row { name: Some(name(source)), ..row }).collect()
}

//! Instructions by where they are: function, source line, context, source.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_image::{Image, program};

use crate::contexts;
use crate::executed::{Executed, Space};

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
    /// Address of the function.
    pub address: Option<u64>,
    /// Instructions executed in it, attempted ones included.
    pub instructions: u64,
    /// Times that control arrived at its first instruction, for functions.
    pub entries: Option<u64>,
    /// Gaps of the trace that begin or end in it: what it executed there is missing.
    pub gaps: u64,
}

/// Instructions by place, most frequent first. `sources` are the names of the sources.
pub fn by(executed: &Executed, by: By, programs: &[Arc<Image>], sources: &[String]) -> Vec<Row> {
    let mut rows: BTreeMap<(Option<String>, Option<u64>), Row> = BTreeMap::new();
    let mut add = |key: Key, instructions: u64, entries: u64, gaps: u64| {
        let row = rows.entry((key.name.clone(), key.address)).or_insert_with(|| Row {
            name: key.name,
            address: key.address,
            entries: (by == By::Function).then_some(0),
            ..Row::default()
        });
        row.instructions += instructions;
        row.gaps += gaps;
        if let Some(known) = &mut row.entries {
            *known += entries;
        }
    };
    let unknown = Space::default();
    let space = |number: u32| executed.spaces().get(number as usize).unwrap_or(&unknown);
    for block in executed.blocks() {
        let space = space(block.code.space);
        let image = program(programs, space.source);
        let by_pc = |pc: u64| key(by, &image, pc, space, sources);
        let gaps = block.gaps;
        if block.code.opaque.is_some() || !matches!(by, By::Function | By::Line) {
            let key = by_pc(block.code.start);
            let entries = if key.address == Some(block.code.start) { block.passes } else { 0 };
            add(key, block.passes * block.code.count(), entries, gaps[0] + gaps[1]);
            continue;
        }
        let last = block.code.insts.len() - 1;
        for (n, (pc, _)) in block.code.insts().enumerate() {
            let key = by_pc(pc);
            let entries = if key.address == Some(pc) { block.passes } else { 0 };
            let gaps = if n == 0 { gaps[0] } else { 0 } + if n == last { gaps[1] } else { 0 };
            add(key, block.passes, entries, gaps);
        }
    }
    for (number, count) in executed.unknown() {
        let key = match by {
            By::Function | By::Line => Key::default(),
            By::Context | By::Source => key(by, &Image::default(), 0, space(*number), sources),
        };
        add(key, *count, 0, 0);
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by(|a, b| {
        b.instructions.cmp(&a.instructions).then_with(|| (&a.name, a.address).cmp(&(&b.name, b.address)))
    });
    rows
}

#[derive(Default)]
struct Key {
    name: Option<String>,
    address: Option<u64>,
}

fn key(by: By, image: &Image, pc: u64, space: &Space, sources: &[String]) -> Key {
    match by {
        By::Function => match image.symbol(pc) {
            Some((symbol, _)) => {
                Key { name: Some(symbol.demangled().into_owned()), address: Some(symbol.address) }
            }
            None => Key::default(),
        },
        By::Line => Key { name: image.line(pc).map(|line| line.to_string()), address: None },
        By::Context => Key { name: contexts::name(&space.context), address: None },
        By::Source => {
            let name = sources.get(usize::from(space.source)).cloned();
            Key { name: Some(name.unwrap_or_else(|| space.source.to_string())), address: None }
        }
    }
}

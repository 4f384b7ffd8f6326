//! Counts by source file.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use trackway_core::{Context, Isa};
use trackway_image::{Image, Line, Part, program};
use trackway_isa::{Control, flow};

use crate::executed::{End, Executed};

/// Coverage of the programs of a trace.
#[derive(Debug, Default)]
pub struct Cover {
    /// By the name of the source file, as the compiler has it.
    pub files: BTreeMap<String, FileCover>,
    /// Instructions executed that have no source line.
    pub without_line: u64,
}

/// Coverage of a source file.
#[derive(Debug, Default)]
pub struct FileCover {
    /// Lines that have code, and how often they were executed.
    pub lines: BTreeMap<u32, u64>,
    /// Functions by name.
    pub functions: BTreeMap<String, FunctionCover>,
    /// Conditional branches of the object code, by line and address.
    pub branches: BTreeMap<(u32, u64), BranchCount>,
    /// The code of each line.
    pub code: BTreeMap<u32, Vec<CodeLine>>,
}

/// An instruction of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeLine {
    /// Its address.
    pub pc: u64,
    /// Its instruction set.
    pub isa: Isa,
    /// Its encoding, zero-extended.
    pub encoding: u32,
    /// How often it was executed.
    pub executed: u64,
}

/// A function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionCover {
    /// The line of its first instruction.
    pub line: u32,
    /// Times that control arrived there.
    pub entries: u64,
}

/// A conditional branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchCount {
    /// Times taken.
    pub taken: u64,
    /// Times not taken.
    pub not_taken: u64,
    /// Times that the trace does not say.
    pub unknown: u64,
}

impl BranchCount {
    /// Was it executed at all?
    pub fn is_reached(&self) -> bool {
        self.taken + self.not_taken + self.unknown > 0
    }
}

/// Counts by address.
#[derive(Default)]
struct Counts {
    executed: HashMap<u64, u64>,
    entered: HashMap<u64, u64>,
    branches: HashMap<u64, BranchCount>,
}

impl Cover {
    /// Coverage of all programs with debug information.
    pub fn new(executed: &Executed, programs: &[Arc<Image>]) -> Self {
        let mut cover = Cover::default();
        let sources = executed.spaces().iter().map(|space| space.source).max().map_or(1, |last| last + 1);
        // One program for all sources is looked at once.
        let count = if programs.len() > 1 { sources } else { 1 };
        for source in 0..count {
            let of = (programs.len() > 1).then_some(source);
            let counts = Counts::new(executed, of);
            let image = program(programs, source);
            image.parts().iter().for_each(|part| cover.add(&counts, &image, part));
            cover.without_line += counts
                .executed
                .iter()
                .filter(|(pc, _)| image.line(**pc).is_none())
                .map(|(_, n)| n)
                .sum::<u64>();
        }
        cover
    }

    fn add(&mut self, counts: &Counts, image: &Image, part: &Part) {
        let (Some(lines), Some(elf)) = (part.lines(), &part.elf) else { return };
        let memory = image.memory(&Context::default());
        for (range, Line { file, line, .. }) in lines.all() {
            if line == 0 {
                continue;
            }
            let file = self.files.entry(file).or_default();
            let mut pc = range.start;
            while pc < range.end {
                let isa = image.symbol(pc).and_then(|(symbol, _)| symbol.isa).unwrap_or(elf.isa);
                let Some((encoding, length)) = memory.fetch(isa, pc).filter(|(_, length)| *length > 0) else {
                    break;
                };
                let executed = counts.executed.get(&pc).copied().unwrap_or(0);
                let known = file.lines.entry(line).or_default();
                *known = (*known).max(executed);
                let flow = flow(isa, pc, encoding);
                if flow.control == Control::Branch {
                    let branch = counts.branches.get(&pc).copied().unwrap_or_default();
                    file.branches.insert((line, pc), branch);
                }
                file.code.entry(line).or_default().push(CodeLine { pc, isa, encoding, executed });
                pc = pc.saturating_add(length.into());
            }
        }
        for symbol in part.symbols().all() {
            if let Some(Line { file, line, .. }) = lines.at(symbol.address)
                && let Some(file) = self.files.get_mut(&file)
            {
                let entries = counts.entered.get(&symbol.address).copied().unwrap_or(0);
                file.functions.insert(symbol.demangled().into_owned(), FunctionCover { line, entries });
            }
        }
    }
}

impl Counts {
    /// Counts of one source, or of all.
    fn new(executed: &Executed, source: Option<u16>) -> Self {
        let mut counts = Counts::default();
        for block in executed.blocks() {
            let space = executed.spaces().get(block.code.space as usize);
            if source.is_some() && space.map(|space| space.source) != source {
                continue;
            }
            // An instruction that was only attempted was not executed.
            let attempted = usize::from(block.code.ending == End::Attempted);
            for (pc, _) in block.code.insts().take(block.code.insts.len().saturating_sub(attempted)) {
                *counts.executed.entry(pc).or_default() += block.passes;
            }
            *counts.entered.entry(block.code.start).or_default() += block.passes;
            if let Some((pc, _)) = block.code.last() {
                let branch = counts.branches.entry(pc).or_default();
                let [taken, not_taken, unknown] = block.outcomes;
                branch.taken += taken;
                branch.not_taken += not_taken;
                branch.unknown += unknown;
            }
        }
        counts
    }
}

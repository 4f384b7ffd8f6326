//! Counts by function, line and discriminator, as compilers want them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use trackway_core::Context;
use trackway_image::{Frame, Image, Memory, Symbol};
use trackway_isa::{Control, flow};

use super::names::original;
use crate::executed::{End, Executed};

/// Lines after the first one of the function, and the discriminator.
pub(super) type Place = (u32, u32);

/// A line of a function.
#[derive(Debug, Default)]
pub(super) struct Count {
    /// Passes through the instruction of it that was executed most.
    pub(super) passes: u64,
    /// Functions called from it.
    pub(super) targets: BTreeMap<String, u64>,
}

/// A function, or one that is inlined into another.
#[derive(Debug, Default)]
pub(super) struct Function {
    /// Times that it was entered; 0 for one that is inlined.
    pub(super) head: u64,
    pub(super) body: BTreeMap<Place, Count>,
    /// Functions inlined at a place.
    pub(super) inlined: BTreeMap<(Place, String), Function>,
}

/// A profile of source code.
#[derive(Debug, Default)]
pub(super) struct Sampled {
    pub(super) functions: BTreeMap<String, Function>,
    /// Instructions without a function or a line.
    pub(super) left_out: u64,
}

impl Function {
    /// All passes in it and in what is inlined.
    pub(super) fn total(&self) -> u64 {
        let body = self.body.values().map(|count| count.passes);
        body.chain(self.inlined.values().map(Function::total)).fold(0, u64::saturating_add)
    }

    /// The function and all that is inlined into it.
    pub(super) fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Function)) {
        visit(self);
        self.inlined.values().for_each(|function| function.each(visit));
    }
}

/// A program that ran.
struct Program {
    image: Arc<Image>,
    memory: Arc<Memory>,
}

/// Counts what was executed.
pub(super) fn sample(executed: &Executed, programs: &[Arc<Image>]) -> Sampled {
    let programs: Vec<Program> = programs
        .iter()
        .map(|image| Program { image: Arc::clone(image), memory: image.memory(&Context::default()) })
        .collect();
    let blocks = executed.blocks();
    let number = |space: u32| {
        let source = executed.spaces().get(space as usize).map_or(0, |space| usize::from(space.source));
        source.min(programs.len().saturating_sub(1))
    };
    let mut sampled = Sampled::default();
    let mut passes: HashMap<(usize, u64), u64> = HashMap::new();
    // Functions with their entries, by program and first address.
    let mut entered: HashMap<(usize, u64), u64> = HashMap::new();
    for block in blocks {
        let code = &block.code;
        let program = number(code.space);
        if code.opaque.is_some() || programs.is_empty() {
            sampled.left_out += block.passes * code.count();
            continue;
        }
        code.insts().for_each(|(pc, _)| *passes.entry((program, pc)).or_default() += block.passes);
        *entered.entry((program, code.start)).or_default() += block.passes;
    }
    let mut filled: HashSet<(usize, u64)> = HashSet::new();
    for ((program, pc), count) in &passes {
        let image = &programs[*program].image;
        let Some((symbol, _)) = image.symbol(*pc) else {
            sampled.left_out += count;
            continue;
        };
        if filled.insert((*program, symbol.address)) {
            sampled.fill(&programs[*program], symbol);
        }
        match sampled.at(image, symbol, *pc) {
            Some((line, copies)) => line.passes = line.passes.max(count.saturating_mul(copies.into())),
            None => sampled.left_out += count,
        }
    }
    for (from, to, count) in executed.edges() {
        let (from, to) = (&blocks[from as usize].code, &blocks[to as usize].code);
        let (program, other) = (number(from.space), number(to.space));
        let Some((site, inst)) = from.last().filter(|_| from.ending == End::Closed && to.opaque.is_none())
        else {
            continue;
        };
        let Some((callee, 0)) = programs[other].image.symbol(to.start) else { continue };
        let Some((symbol, _)) = programs[program].image.symbol(site) else { continue };
        let control = flow(from.isa, site, inst.encoding).control;
        let is_same = program == other && symbol.address == callee.address;
        if is_same && !control.is_call() {
            // Back to the first instruction, but not by a call.
            if let Some(entries) = entered.get_mut(&(program, callee.address)) {
                *entries = entries.saturating_sub(count);
            }
        } else if control.is_call() || (from.end != to.start && control != Control::Return) {
            let name = original(&callee.name);
            if let Some((line, _)) = sampled.at(&programs[program].image, symbol, site) {
                *line.targets.entry(name.to_string()).or_default() += count;
            }
        }
    }
    for ((program, pc), count) in entered {
        if let Some((symbol, 0)) = programs[program].image.symbol(pc)
            && let Some(function) = sampled.functions.get_mut(original(&symbol.name))
        {
            function.head += count;
        }
    }
    sampled
}

impl Sampled {
    /// The line of an instruction of a function, and how often the compiler copied it.
    fn at(&mut self, image: &Image, symbol: &Symbol, pc: u64) -> Option<(&mut Count, u32)> {
        let mut frames = image.frames(pc);
        let outermost = frames.last_mut()?;
        if outermost.first == 0 {
            outermost.first = image.line(symbol.address)?.line;
        }
        // A function without a first line has no offsets, and without a name the compiler cannot find it.
        if frames.iter().any(|frame| frame.first == 0 || frame.line == 0)
            || frames.iter().rev().skip(1).any(|frame| frame.name.is_empty())
        {
            return None;
        }
        let place = |frame: &Frame| (frame.line.wrapping_sub(frame.first) & 0xffff, frame.discriminator);
        let mut function = self.functions.entry(original(&symbol.name).to_string()).or_default();
        for pair in frames.windows(2).rev() {
            let key = (place(&pair[1]), original(&pair[0].name).to_string());
            function = function.inlined.entry(key).or_default();
        }
        let innermost = frames.first()?;
        Some((function.body.entry(place(innermost)).or_default(), innermost.copies))
    }

    /// Lines that were not executed count 0: for a compiler, a line without a count is not known.
    fn fill(&mut self, program: &Program, symbol: &Symbol) {
        let isa = symbol.isa.or(program.image.isa());
        let Some(isa) = isa else { return };
        let end = symbol.address.saturating_add(symbol.size);
        let mut pc = symbol.address;
        while pc < end
            && let Some((_, length)) = program.memory.fetch(isa, pc)
        {
            self.at(&program.image, symbol, pc);
            pc += u64::from(length.max(1));
        }
    }
}

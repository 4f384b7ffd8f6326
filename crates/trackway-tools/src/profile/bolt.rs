//! BOLT's fdata: branches between symbols with counts.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;

use trackway_image::{Image, program};

use super::names::one_line;
use crate::executed::{End, Executed};

/// A symbol, and how far into it.
type Place = (String, u64);

/// The profile as `llvm-bolt -data` and `merge-fdata` read it. Branches from or to code without a symbol are left out;
/// the second value is how many passes that concerns.
pub fn bolt(executed: &Executed, programs: &[Arc<Image>]) -> (String, u64) {
    let blocks = executed.blocks();
    let locals: HashMap<u64, u32> = programs.iter().flat_map(|program| locals(program)).collect();
    let place = |space: u32, pc: u64| {
        let source = executed.spaces().get(space as usize).map_or(0, |space| space.source);
        let image = program(programs, source);
        let (symbol, offset) = image.symbol(pc)?;
        let name = plain(&symbol.name);
        Some(match locals.get(&symbol.address).filter(|_| symbol.is_local()) {
            Some(number) => (format!("{name}/{number}"), offset),
            None => (name, offset),
        })
    };
    let mut branches: BTreeMap<(Place, Place), u64> = BTreeMap::new();
    let mut left_out = 0;
    for (from, to, count) in executed.edges() {
        let (from, to) = (&blocks[from as usize].code, &blocks[to as usize].code);
        // Branches that were not taken count too: without them the counts of blocks do not add up.
        let Some((site, _)) = from.last().filter(|_| from.ending == End::Closed) else { continue };
        match (place(from.space, site), place(to.space, to.start)) {
            (Some(from), Some(to)) => *branches.entry((from, to)).or_default() += count,
            _ => left_out += count,
        }
    }
    let mut out = String::new();
    for (((from, from_offset), (to, to_offset)), count) in branches {
        // Mispredictions are not in a trace of instructions. Writing to a string cannot fail.
        let _ = writeln!(out, "1 {from} {from_offset:x} 1 {to} {to_offset:x} 0 {count}");
    }
    (out, left_out)
}

/// BOLT numbers local symbols of the same name, in order of address: `init/1`, `init/2`.
fn locals(program: &Image) -> Vec<(u64, u32)> {
    let mut list = Vec::new();
    for part in program.parts() {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        for symbol in part.symbols().all().iter().filter(|symbol| symbol.is_local()) {
            let number = numbers.entry(&symbol.name).or_default();
            *number += 1;
            list.push((symbol.address, *number));
        }
    }
    list
}

/// A symbol without spaces, which BOLT writes with a backslash.
fn plain(name: &str) -> String {
    one_line(name).replace('\\', "\\\\").replace(' ', "\\ ")
}

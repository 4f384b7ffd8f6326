//! The text profile of AutoFDO: ranges, addresses and branches with counts.

use std::collections::BTreeMap;
use std::fmt::Write;

use trackway_image::Elf;
use trackway_isa::flow;

use crate::executed::{Code, End, Executed};

/// The profile as `create_llvm_prof --profiler=text` and `create_gcov --profiler=text` read it, and the number of
/// instructions that were executed outside the program. Addresses count from the program's first segment.
pub fn autofdo(executed: &Executed, program: &Elf) -> (String, u64) {
    let blocks = executed.blocks();
    let first = program.segments.first().map_or(0, |segment| segment.address);
    let address = |pc: u64| pc.wrapping_sub(first);
    let is_inside = |code: &Code| {
        program.segments.iter().any(|segment| code.start.wrapping_sub(segment.address) < segment.size)
    };
    let mut ranges: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut left_out = 0;
    for block in blocks {
        match block.code.last().filter(|_| is_inside(&block.code)) {
            Some((last, _)) => {
                *ranges.entry((address(block.code.start), address(last))).or_default() += block.passes;
            }
            None => left_out += block.passes * block.code.count(),
        }
    }
    let mut branches: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut followed = vec![0; blocks.len()];
    for (n, to, count) in executed.edges() {
        let (from, to) = (&blocks[n as usize].code, &blocks[to as usize].code);
        if !is_inside(to) {
            continue;
        }
        followed[n as usize] += count;
        let jumps = from.ending == End::Closed && from.end != to.start;
        if let (Some((site, _)), true) = (from.last(), jumps && is_inside(from)) {
            *branches.entry((address(site), address(to.start))).or_default() += count;
        }
    }
    // An indirect branch that leaves the program has no target in it: 0, as others write it.
    for (block, followed) in blocks.iter().zip(followed) {
        let code = &block.code;
        let left = block.passes.saturating_sub(followed);
        let is_closed = code.ending == End::Closed && is_inside(code);
        if let (Some((site, inst)), true) = (code.last(), is_closed && left > 0)
            && flow(code.isa, site, inst.encoding).control.is_indirect()
        {
            *branches.entry((address(site), 0)).or_default() += left;
        }
    }
    // Writing to a string cannot fail.
    let mut out = format!("{}\n", ranges.len());
    for ((start, end), count) in ranges {
        let _ = writeln!(out, "{start:x}-{end:x}:{count}");
    }
    // Ranges say all that addresses could.
    let _ = writeln!(out, "0\n{}", branches.len());
    for ((from, to), count) in branches {
        let _ = writeln!(out, "{from:x}->{to:x}:{count}");
    }
    (out, left_out)
}

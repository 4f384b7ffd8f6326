//! The text profile of AutoFDO: ranges, addresses and branches with counts.

use std::collections::BTreeMap;
use std::fmt::Write;

use trackway_image::Elf;

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
    for (from, to, count) in executed.edges() {
        let (from, to) = (&blocks[from as usize].code, &blocks[to as usize].code);
        let jumps = from.ending == End::Closed && from.end != to.start;
        if let (Some((site, _)), true) = (from.last(), jumps && is_inside(from) && is_inside(to)) {
            *branches.entry((address(site), address(to.start))).or_default() += count;
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

//! The text profile of AutoFDO: ranges, addresses and branches with counts.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::executed::{End, Executed};

/// The profile as `create_llvm_prof --profiler=text` and `create_gcov --profiler=text` read it; addresses are those of
/// the program file, which is loaded with `bias`.
pub fn autofdo(executed: &Executed, bias: u64) -> String {
    let blocks = executed.blocks();
    let address = |pc: u64| pc.wrapping_sub(bias);
    let mut ranges: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for block in blocks {
        if let Some((last, _)) = block.code.last() {
            *ranges.entry((address(block.code.start), address(last))).or_default() += block.passes;
        }
    }
    let mut branches: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (from, to, count) in executed.edges() {
        let (from, to) = (&blocks[from as usize].code, &blocks[to as usize].code);
        if let (Some((site, _)), true) = (from.last(), from.ending == End::Closed && from.end != to.start) {
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
    out
}

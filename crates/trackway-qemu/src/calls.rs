//! Names of the Linux system calls.

use std::collections::HashMap;
use std::sync::LazyLock;

use trackway_core::Isa;

type Table = LazyLock<HashMap<i64, &'static str>>;

/// AArch64 and RISC-V: the generic numbers.
static GENERIC: Table = LazyLock::new(|| table(include_str!("calls/generic.txt")));
/// AArch32: the numbers of the EABI.
static ARM: Table = LazyLock::new(|| table(include_str!("calls/arm.txt")));

fn table(lines: &'static str) -> HashMap<i64, &'static str> {
    let entry = |line: &'static str| line.split_once(' ').and_then(|(n, name)| Some((n.parse().ok()?, name)));
    lines.lines().filter_map(entry).collect()
}

/// The name of a system call.
pub(crate) fn name(isa: Isa, number: i64) -> Option<&'static str> {
    let table = if matches!(isa, Isa::A32 | Isa::T32) { &ARM } else { &GENERIC };
    table.get(&number).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        assert_eq!(name(Isa::A64, 64), Some("write"));
        assert_eq!(name(Isa::Rv32, 403), Some("clock_gettime64"));
        assert_eq!(name(Isa::A32, 4), Some("write"));
        assert_eq!(name(Isa::A32, 0xf0005), Some("set_tls"));
        assert_eq!(name(Isa::A64, -1), None);
    }
}

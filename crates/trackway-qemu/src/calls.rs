//! Names of the Linux system calls, and how many registers their arguments take.

use std::collections::HashMap;
use std::sync::LazyLock;

use trackway_core::Isa;

/// A kind of system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Registers of its arguments: the others hold anything.
    arguments: usize,
    /// The same where a register has 32 bits.
    narrow: usize,
}

type Table = LazyLock<HashMap<i64, Kind>>;

/// AArch64 and RISC-V: the generic numbers.
static GENERIC: Table = LazyLock::new(|| table(include_str!("calls/generic.txt")));
/// AArch32: the numbers of the EABI.
static ARM: Table = LazyLock::new(|| table(include_str!("calls/arm.txt")));

/// Lines of number, name, registers, and registers of 32 bits where they are others.
fn table(lines: &'static str) -> HashMap<i64, Kind> {
    let entry = |line: &'static str| {
        let mut words = line.split(' ');
        let (number, name) = (words.next()?.parse().ok()?, words.next()?);
        let arguments = words.next()?.parse().ok()?;
        let narrow = words.next().map_or(Some(arguments), |word| word.parse().ok())?;
        Some((number, Kind { name, arguments, narrow }))
    };
    lines.lines().filter_map(entry).collect()
}

/// The system call of this number.
pub(crate) fn kind(isa: Isa, number: i64) -> Option<Kind> {
    let table = if matches!(isa, Isa::A32 | Isa::T32) { &ARM } else { &GENERIC };
    table.get(&number).copied()
}

impl Kind {
    /// How many registers are arguments.
    pub(crate) fn arguments(&self, isa: Isa) -> usize {
        if isa == Isa::Rv32 { self.narrow } else { self.arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        let known = |isa, number| kind(isa, number).map(|kind| (kind.name, kind.arguments(isa)));
        assert_eq!(known(Isa::A64, 64), Some(("write", 3)));
        assert_eq!(known(Isa::Rv32, 403), Some(("clock_gettime64", 2)));
        assert_eq!(known(Isa::A32, 4), Some(("write", 3)));
        assert_eq!(known(Isa::A32, 0xf0005), Some(("set_tls", 1)));
        assert_eq!(known(Isa::A64, -1), None);
        // The position has 64 bits: two registers, on Arm after one that is left out.
        assert_eq!(known(Isa::Rv64, 67), Some(("pread64", 4)));
        assert_eq!(known(Isa::Rv32, 67), Some(("pread64", 5)));
        assert_eq!(known(Isa::A32, 180), Some(("pread64", 6)));
    }

    #[test]
    fn every_line_is_a_call() {
        for (lines, table) in
            [(include_str!("calls/generic.txt"), &GENERIC), (include_str!("calls/arm.txt"), &ARM)]
        {
            assert_eq!(table.len(), lines.lines().count());
            assert!(table.values().all(|kind| kind.arguments <= kind.narrow && kind.narrow <= 6));
        }
    }
}

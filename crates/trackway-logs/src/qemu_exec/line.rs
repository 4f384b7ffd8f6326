//! One line of a QEMU log.

use crate::lines::Wrong;
use crate::scan::Scan;

/// Meaning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A translated block begins to execute.
    Block {
        cpu: u32,
        pc: u64,
        /// At most that many instructions; 0 means no limit.
        limit: u32,
    },
    /// The block that began last was not executed.
    Stopped { pc: u64 },
    /// The listing of a block begins (`in_asm`).
    Listing,
    /// An instruction of the listing.
    Instruction { pc: u64, encoding: u32, length: u8 },
    /// Anything else that QEMU prints among these.
    Other,
}

/// The bits of cflags that limit a block.
const COUNT: u64 = 0x1ff;

/// Reads a line without its end.
pub(super) fn read(line: &[u8]) -> Result<Said, Wrong> {
    let mut scan = Scan::new(line);
    match scan.peek() {
        b'T' => block(&mut scan),
        b'0' => instruction(&mut scan),
        b'S' => stopped(&mut scan),
        b'I' if scan.has(b"IN:") => Ok(Said::Listing),
        b'-' if line.iter().all(|byte| *byte == b'-') => Ok(Said::Other),
        b'P' if scan.has(b"Priv: ") => Ok(Said::Other),
        b'L' if scan.has(b"Linking TBs ") => Ok(Said::Other),
        b'O' if scan.has(b"OBJD-") => Ok(Said::Other),
        _ if line.trim_ascii().is_empty() => Ok(Said::Other),
        _ => scan.wrong("Trace, Stopped, IN:, an instruction or an empty line"),
    }
}

/// `Trace 0: 0x7f6680000100 [0000000000000000/00000000000106fc/00207600/00000200] _start`
#[inline(always)]
fn block(scan: &mut Scan<'_>) -> Result<Said, Wrong> {
    scan.pass(b"Trace ", "Trace")?;
    let before = *scan;
    let cpu = scan.number("the number of a cpu")?;
    let cpu = u32::try_from(cpu).map_err(|_| before.fault("the number of a cpu"))?;
    scan.pass(b": 0x", "the address of the translated block: 0x")?;
    scan.hex("the address of the translated block")?;
    scan.pass(b" [", "a bracket")?;
    field(scan, "the code segment")?;
    scan.pass(b"/", "a slash and the address of the block")?;
    let pc = field(scan, "the address of the block")?;
    scan.pass(b"/", "a slash and the flags of the block")?;
    field(scan, "the flags of the block")?;
    // Old versions print no cflags.
    let limit = if scan.has(b"/") { field(scan, "the cflags of the block")? & COUNT } else { 0 };
    scan.pass(b"]", "a bracket")?;
    Ok(Said::Block { cpu, pc, limit: limit as u32 })
}

#[inline(always)]
fn field(scan: &mut Scan<'_>, expected: &'static str) -> Result<u64, Wrong> {
    scan.has(b"0x");
    Ok(scan.hex(expected)?.0)
}

/// `Stopped execution of TB chain before 0x7f6680000100 [00000000000106fc] _start`
fn stopped(scan: &mut Scan<'_>) -> Result<Said, Wrong> {
    scan.pass(b"Stopped execution of TB chain before ", "Stopped execution of TB chain before")?;
    field(scan, "the address of the translated block")?;
    scan.pass(b" [", "a bracket")?;
    let pc = field(scan, "the address of the block")?;
    scan.pass(b"]", "a bracket")?;
    Ok(Said::Stopped { pc })
}

/// `0x00000000000106ce:  4ee18193          addi                    gp,gp,1262`
fn instruction(scan: &mut Scan<'_>) -> Result<Said, Wrong> {
    scan.pass(b"0x", "the address of an instruction")?;
    let (pc, _) = scan.hex("the address of an instruction")?;
    scan.pass(b":", "a colon")?;
    scan.blanks();
    let before = *scan;
    let (encoding, digits) = scan.hex("the encoding of an instruction")?;
    let encoding = u32::try_from(encoding).map_err(|_| before.fault("an encoding of 32 bits at most"))?;
    // T32 is printed in halfwords.
    let second = scan.has(b" ") && digits == 4;
    let second = if second { scan.hex("").ok().filter(|(_, digits)| *digits == 4) } else { None };
    Ok(match (second, digits) {
        (Some((low, _)), _) => Said::Instruction { pc, encoding: (low as u32) << 16 | encoding, length: 4 },
        (None, 4) => Said::Instruction { pc, encoding, length: 2 },
        (None, 8) => Said::Instruction { pc, encoding, length: 4 },
        _ => return before.wrong("an encoding of 4 or 8 digits"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_three_versions() {
        let block = |cpu, pc, limit| Ok(Said::Block { cpu, pc, limit });
        for (text, said) in [
            (
                "Trace 0: 0x7f6680000100 [0000000000000000/00000000000106fc/00207600/00000200] _start",
                block(0, 0x106fc, 0),
            ),
            (
                "Trace 3: 0x7f6680000100 [0000000000000000/0000000080000000/0x20800] ",
                block(3, 0x8000_0000, 0),
            ),
            ("Trace 0: 0x7f6680000100 [00000000/400780/1/ff000201]", block(0, 0x40_0780, 1)),
            (
                "Stopped execution of TB chain before 0x7f66 [00000000000106fc] _start",
                Ok(Said::Stopped { pc: 0x106fc }),
            ),
            ("IN: main", Ok(Said::Listing)),
            ("----------------", Ok(Said::Other)),
            ("", Ok(Said::Other)),
            (
                "0x00000000000106d2:  8082              ret                     ",
                Ok(Said::Instruction { pc: 0x106d2, encoding: 0x8082, length: 2 }),
            ),
            (
                "0x00400780:  d503201f  nop      ",
                Ok(Said::Instruction { pc: 0x40_0780, encoding: 0xd503_201f, length: 4 }),
            ),
            ("Trace x", Err(Wrong { column: 6, expected: "the number of a cpu" })),
            ("Trace 0: 0x1 [0/zz]", Err(Wrong { column: 16, expected: "the address of the block" })),
            (
                "hello",
                Err(Wrong { column: 0, expected: "Trace, Stopped, IN:, an instruction or an empty line" }),
            ),
        ] {
            assert_eq!(read(text.as_bytes()), said, "{text}");
        }
    }
}

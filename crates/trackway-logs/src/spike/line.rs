//! One line of a Spike log.

use trackway_core::*;

use crate::lines::Wrong;
use crate::riscv::record::{Access, Retired, Taken};
use crate::scan::Scan;

/// Kind of line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An instruction that was committed.
    Commit,
    /// An instruction about to be executed, with its text (`-l`).
    Text,
    /// A trap.
    Exception,
    /// The trap value of the exception before it.
    Tval,
    /// A symbol that is reached.
    Symbol,
    /// Nothing.
    Blank,
}

/// The vector type and the vector length.
pub(super) const VTYPE: u16 = 0xc21;
pub(super) const VL: u16 = 0xc20;

/// The names of exceptions, by cause.
const EXCEPTIONS: [&str; 24] = [
    "instruction_address_misaligned",
    "instruction_access_fault",
    "illegal_instruction",
    "breakpoint",
    "load_address_misaligned",
    "load_access_fault",
    "store_address_misaligned",
    "store_access_fault",
    "user_ecall",
    "supervisor_ecall",
    "virtual_supervisor_ecall",
    "machine_ecall",
    "instruction_page_fault",
    "load_page_fault",
    "",
    "store_page_fault",
    "double_trap",
    "",
    "software_check",
    "hardware_error",
    "instruction_guest_page_fault",
    "load_guest_page_fault",
    "virtual_instruction",
    "store_guest_page_fault",
];

/// Widths that the log shows by the number of its digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digits {
    /// Of an address.
    pub(crate) pc: u8,
    /// Of a floating-point register.
    pub(crate) float: u8,
}

/// A line, beside what it says of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'l> {
    pub(crate) kind: Kind,
    /// The core.
    pub(crate) hart: u32,
    /// The text of an instruction, or the name of a symbol.
    pub(crate) text: &'l [u8],
    pub(crate) digits: Digits,
}

/// The core of a line, without reading the rest.
pub(crate) fn hart(scan: &mut Scan<'_>) -> Result<u32, Wrong> {
    if !scan.has(b"core") {
        return Ok(0);
    }
    scan.blanks();
    let start = *scan;
    let number = scan.number("the number of a core")?;
    scan.pass(b":", "a colon after the number of the core")?;
    u32::try_from(number).map_err(|_| start.fault("the number of a core"))
}

/// Reads a line without its end. Its instruction is added to `record`, which is empty.
pub(crate) fn read<'l>(line: &'l [u8], record: &mut Retired) -> Result<Line<'l>, Wrong> {
    let mut scan = Scan::new(line);
    let hart = hart(&mut scan)?;
    let before = scan.at;
    scan.blanks();
    let blanks = scan.at - before;
    let mut read = Line { kind: Kind::Blank, hart, text: &[], digits: Digits::default() };
    match scan.peek() {
        0 if scan.is_end() => return Ok(read),
        b'0' if scan.rest().starts_with(b"0x") => {}
        b'0'..=b'9' => {
            let start = scan;
            record.privilege = Some(match scan.number("a privilege level")? {
                0 => Privilege::U,
                1 => Privilege::S,
                2 => Privilege::H,
                3 => Privilege::M,
                _ => return start.wrong("a privilege level: 0, 1, 2 or 3"),
            });
            scan.blanks();
        }
        b'e' if scan.has(b"exception ") => {
            read.kind = Kind::Exception;
            exception(&mut scan, record)?;
            return end(scan, read);
        }
        b't' if blanks > 1 && scan.has(b"tval 0x") => {
            let (value, _) = scan.hex("the trap value in hexadecimal")?;
            read.kind = Kind::Tval;
            record.trap = Some(Taken { kind: TrapKind::Unknown, cause: None, value: Some(value) });
            return end(scan, read);
        }
        b'>' if scan.has(b">>>>") => {
            scan.blanks();
            read.kind = Kind::Symbol;
            read.text = scan.rest();
            return Ok(read);
        }
        _ => {}
    }
    scan.pass(b"0x", "a privilege level, an address with 0x, exception, tval or >>>>")?;
    let (pc, digits) = scan.hex("an address of 16 hexadecimal digits at most")?;
    record.pc = Some(pc);
    read.digits.pc = digits as u8;
    scan.pass(b" (0x", "the encoding in brackets: (0x")?;
    let (encoding, digits) = scan.hex("the encoding, 16 hexadecimal digits at most")?;
    scan.pass(b")", "a bracket after the encoding")?;
    (record.encoding, record.length) = match (encoding & 3, digits) {
        (0..=2, _) => (encoding as u32 & 0xffff, 2),
        (_, 5..=8) if encoding & 0x1c != 0x1c => (encoding as u32, 4),
        // Longer encodings have no place in an event.
        _ => (encoding as u32, 0),
    };
    // Without a privilege a commit looks like a text but for its effects.
    if record.privilege.is_none() && !is_effect(scan.rest()) {
        scan.blanks();
        (read.kind, read.text) = (Kind::Text, scan.rest());
        return Ok(read);
    }
    read.kind = Kind::Commit;
    effects(&mut scan, record, &mut read.digits)?;
    end(scan, read)
}

fn end<'l>(mut scan: Scan<'_>, read: Line<'l>) -> Result<Line<'l>, Wrong> {
    scan.blanks();
    if scan.is_end() { Ok(read) } else { Err(scan.fault("the end of the line")) }
}

/// Could this be the list of effects of a commit?
fn is_effect(rest: &[u8]) -> bool {
    match rest.trim_ascii() {
        [] => true,
        [b'x' | b'f' | b'v' | b'c' | b'e', b'0'..=b'9', ..] => true,
        [b'x' | b'f' | b'v', b' ', b'0'..=b'9', ..] => true,
        text => text.starts_with(b"mem 0x"),
    }
}

/// `trap_user_ecall, epc 0x…`
fn exception(scan: &mut Scan<'_>, record: &mut Retired) -> Result<(), Wrong> {
    let start = *scan;
    let taken = if scan.has(b"interrupt #") {
        let cause = scan.number("the number of an interrupt")?;
        Taken { kind: TrapKind::Interrupt, cause: Some(cause), value: None }
    } else {
        let name = scan.until(|letter| letter == b',');
        let plain = name.strip_prefix(b"trap_").unwrap_or(name);
        let cause = EXCEPTIONS.iter().position(|known| !plain.is_empty() && known.as_bytes() == plain);
        let cause = match plain.strip_prefix(b"#") {
            Some(digits) => std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()),
            None => cause.map(|cause| cause as u64),
        };
        if cause.is_none() {
            return start.wrong("the name of an exception");
        }
        Taken { kind: TrapKind::Exception, cause, value: None }
    };
    scan.pass(b", epc 0x", "the address of the exception: , epc 0x")?;
    record.pc = Some(scan.hex("an address of 16 hexadecimal digits at most")?.0);
    record.trap = Some(taken);
    Ok(())
}

/// Registers, then memory accesses.
#[inline]
fn effects(scan: &mut Scan<'_>, record: &mut Retired, digits: &mut Digits) -> Result<(), Wrong> {
    loop {
        scan.blanks();
        let start = *scan;
        match scan.peek() {
            0 if scan.is_end() => return Ok(()),
            letter @ (b'x' | b'f') if scan.has(&[letter]) => {
                let class = if letter == b'x' { RegClass::Int } else { RegClass::Float };
                let number = register(scan, start)?;
                scan.pass(b"0x", "the value of the register: 0x")?;
                let before = *scan;
                let value = match scan.hex("the value of the register") {
                    Ok((value, n)) => {
                        if letter == b'f' {
                            digits.float = n as u8;
                        }
                        Value::Word(value)
                    }
                    // A floating-point register may have 128 bits.
                    Err(_) => {
                        *scan = before;
                        wide(scan, record)?
                    }
                };
                record.register(class, number, RegRole::Destination, value);
            }
            b'm' if scan.has(b"mem 0x") => {
                let (address, _) = scan.hex("an address of 16 hexadecimal digits at most")?;
                let load = Access { kind: MemKind::Read, address, size: 0, data: None, stored: None };
                record.mem.push(match scan.has(b" 0x") {
                    false => load,
                    true => {
                        let start = *scan;
                        let (data, n) = scan.hex("the data stored")?;
                        let size = match n {
                            2 | 4 | 8 | 16 => n as u8 / 2,
                            _ => return start.wrong("2, 4, 8 or 16 digits of data stored"),
                        };
                        Access { kind: MemKind::Write, size, data: Some(data), ..load }
                    }
                });
            }
            b'c' if scan.has(b"c") => {
                let number = scan.number("the number of a CSR")?;
                let number = u16::try_from(number).ok().filter(|number| *number < 0x1000);
                let number = number.ok_or(start.fault("the number of a CSR, 4095 at most"))?;
                scan.pass(b"_", "the name of a CSR after its number")?;
                scan.until(|letter| letter == b' ');
                scan.pass(b" 0x", "the value of the CSR: 0x")?;
                let (value, _) = scan.hex("the value of the CSR")?;
                record.register(RegClass::Csr, number, RegRole::Destination, Value::Word(value));
            }
            b'v' if scan.has(b"v") => {
                let number = register(scan, start)?;
                scan.pass(b"0x", "the value of the register: 0x")?;
                let value = wide(scan, record)?;
                record.register(RegClass::Vector, number, RegRole::Destination, value);
            }
            b'e' if scan.has(b"e") => vector(scan, start, record)?,
            _ => return start.wrong("a register, a CSR (cNUMBER_name), mem or the end of the line"),
        }
    }
}

/// The number of a register and the blanks after it: `5 `, `5  ` or ` 5 `.
#[inline]
fn register(scan: &mut Scan<'_>, start: Scan<'_>) -> Result<u16, Wrong> {
    scan.blanks();
    let number = scan.number("the number of a register")?;
    if number > 31 {
        return start.wrong("a register, 0 to 31");
    }
    scan.blanks();
    Ok(number as u16)
}

/// A value of any width.
fn wide(scan: &mut Scan<'_>, record: &mut Retired) -> Result<Value, Wrong> {
    let start = record.bytes.len() as u32;
    let len = scan.wide("the value of the register", &mut record.bytes)? as u32;
    Ok(Value::Bytes(Span { start, len }))
}

/// `e32 m1 l4`, `e8 mf2 l3`: the vector type and length.
fn vector(scan: &mut Scan<'_>, start: Scan<'_>, record: &mut Retired) -> Result<(), Wrong> {
    let sew = scan.number("the width of an element")?;
    scan.pass(b" m", "the number of registers in a group: m")?;
    let part = scan.has(b"f");
    let group = scan.number("the number of registers in a group")?;
    scan.pass(b" l", "the vector length: l")?;
    let length = scan.number("the vector length")?;
    let power = |n: u64, most: u32| n.checked_ilog2().filter(|log| n.is_power_of_two() && *log <= most);
    let (Some(sew @ 3..), Some(group)) = (power(sew, 10), power(group, 3)) else {
        return start.wrong("e8 to e1024, m1 to m8 or mf2 to mf8");
    };
    let group = if part { (8 - group) & 7 } else { group };
    record.register(
        RegClass::Csr,
        VTYPE,
        RegRole::State,
        Value::Word((u64::from(sew) - 3) << 3 | u64::from(group)),
    );
    if let Some(access) = record.regs.last_mut() {
        // Tail and mask policy are not printed.
        access.known = Some(0x3f);
    }
    record.register(RegClass::Csr, VL, RegRole::State, Value::Word(length));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(text: &str) -> Result<(Kind, Retired), Wrong> {
        let mut record = Retired::default();
        read(text.as_bytes(), &mut record).map(|line| (line.kind, record))
    }

    #[test]
    fn a_commit_has_its_effects() {
        let (kind, record) = read_line(
            "core   0: 3 0x80000074 (0x08b4262f) x12 0x00000005 mem 0x80002000 mem 0x80002000 0xfffffff9",
        )
        .unwrap();
        assert_eq!(kind, Kind::Commit);
        assert_eq!((record.pc, record.encoding, record.length), (Some(0x8000_0074), 0x08b4_262f, 4));
        assert_eq!(record.privilege, Some(Privilege::M));
        assert_eq!(record.written(RegClass::Int, 12), Some(5));
        assert_eq!(record.mem.iter().map(|access| access.size).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(record.mem[1].data, Some(0xffff_fff9));

        let (_, record) =
            read_line("core   1: 0 0x0000000080000002 (0x3002) c768_mstatus 0x8000000a00006000").unwrap();
        assert_eq!((record.length, record.privilege), (2, Some(Privilege::U)));
        assert_eq!(record.written(RegClass::Csr, 0x300), Some(0x8000_000a_0000_6000));
    }

    #[test]
    fn older_layouts_are_commits_too() {
        for text in
            ["3 0x80000000 (0x00000297) x 5 0x80000000", "core   0: 0x80000000 (0x00000297) x5  0x80000000"]
        {
            let (kind, record) = read_line(text).unwrap();
            assert_eq!((kind, record.written(RegClass::Int, 5)), (Kind::Commit, Some(0x8000_0000)), "{text}");
        }
        assert_eq!(read_line("core   0: 0x80000000 (0x0001)").unwrap().0, Kind::Commit);
    }

    #[test]
    fn lines_of_the_other_log() {
        let text = "core   0: 0x00000000800011dc (0x0000410c) c.lw    a1, 0(a0)";
        let mut record = Retired::default();
        let line = read(text.as_bytes(), &mut record).unwrap();
        assert_eq!((line.kind, line.text, record.length), (Kind::Text, &b"c.lw    a1, 0(a0)"[..], 2));
        let (kind, record) =
            read_line("core   0: exception trap_supervisor_ecall, epc 0x00000000800011de").unwrap();
        let taken = Taken { kind: TrapKind::Exception, cause: Some(9), value: None };
        assert_eq!((kind, record.trap, record.pc), (Kind::Exception, Some(taken), Some(0x8000_11de)));
        let (_, record) = read_line("core   0: exception interrupt #7, epc 0x0000000080000000").unwrap();
        assert_eq!(record.trap.unwrap().kind, TrapKind::Interrupt);
        let (kind, record) = read_line("core   0:           tval 0x00000000deadbeef").unwrap();
        assert_eq!((kind, record.trap.unwrap().value), (Kind::Tval, Some(0xdead_beef)));
        assert_eq!(read_line("core   0: >>>>  main").unwrap().0, Kind::Symbol);
        assert_eq!(read_line("").unwrap().0, Kind::Blank);
    }

    #[test]
    fn vectors_have_their_type() {
        let (_, record) = read_line(
            "core   0: 3 0x0000000080000000 (0x9e008457) e16 mf2 l3 v8  0x000102030405060708090a0b0c0d0e0f",
        )
        .unwrap();
        let values: Vec<_> = record.regs.iter().map(|access| (access.reg.number, access.value)).collect();
        assert_eq!(values[0], (VTYPE, Value::Word(0b1111)));
        assert_eq!(values[1], (VL, Value::Word(3)));
        assert_eq!(values[2], (8, Value::Bytes(Span { start: 0, len: 16 })));
        assert_eq!((record.bytes[0], record.bytes[15]), (15, 0));
    }

    #[test]
    fn a_fault_has_its_column() {
        for (text, column) in [
            ("core   0: 7 0x80000000 (0x0001)", 10),
            ("core   0: 3 0x80000000 (0x0001", 30),
            ("core   0: 3 0x80000000 (0x0001) y5", 32),
            ("core   0: 3 0x80000000 (0x0001) x32 0x1", 32),
            ("core   0: 3 0x80000000 (0x0001) mem 0x1 0x123", 42),
            ("core   0: exception what, epc 0x1", 20),
            ("core x", 5),
            ("hello", 0),
        ] {
            assert_eq!(read_line(text).unwrap_err().column, column, "{text}");
        }
    }
}

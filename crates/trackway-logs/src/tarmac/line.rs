//! The grammar of a line.

use trackway_core::{Isa, MemKind};

use super::names::{Name, name};
use super::parsed::{Bytes, Content, Exception, Instruction, Memory, Parsed, Register};
use crate::lines::Wrong;
use crate::scan::{Scan, digit};

/// Kinds of events, by the word that names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// IT, IF (false), IS (true).
    Instruction(bool),
    Es,
    Register,
    /// Kind and size.
    Memory(MemKind, u64),
    Bytes(MemKind),
    E,
    Exc,
    Branch,
    Other,
}

/// The event of that name.
#[inline(always)]
fn event(word: &[u8]) -> Option<Event> {
    Some(match word {
        b"R" => Event::Register,
        b"IT" | b"IF" => Event::Instruction(false),
        b"IS" => Event::Instruction(true),
        b"ES" => Event::Es,
        b"LD" => Event::Bytes(MemKind::Read),
        b"ST" => Event::Bytes(MemKind::Write),
        b"BR" => Event::Branch,
        b"E" => Event::E,
        b"EXC" => Event::Exc,
        b"CADI"
        | b"CACHE"
        | b"TTW"
        | b"TLB"
        | b"SIGNAL:"
        | b"SIGNAL"
        | b"P"
        | b"TUBE"
        | b"INFO_EXCEPTION_REASON"
        | b"PMU"
        | b"FLASH" => Event::Other,
        _ => return access(word),
    })
}

/// `MR4`, `MW16X`, `R01`, `W08`: kind and size.
#[inline(always)]
fn access(word: &[u8]) -> Option<Event> {
    let (kind, digits) = match word {
        [b'M', b'R', digits @ ..] => (MemKind::Read, digits),
        [b'M', b'W', digits @ ..] => (MemKind::Write, digits),
        [b'R', b'0', digits @ ..] => (MemKind::Read, digits),
        [b'W', b'0', digits @ ..] => (MemKind::Write, digits),
        _ => return None,
    };
    let size = match digits {
        [n @ b'1'..=b'9'] | [n @ b'1'..=b'9', b'X'] => u64::from(n - b'0'),
        [a @ b'1'..=b'9', b @ b'0'..=b'9'] | [a @ b'1'..=b'9', b @ b'0'..=b'9', b'X'] => {
            u64::from(a - b'0') * 10 + u64::from(b - b'0')
        }
        _ => return None,
    };
    (size <= 64).then_some(Event::Memory(kind, size))
}

/// Reads a line. `isa` is the instruction set of lines that name none; text is taken for a message of the simulator
/// only `after_message`, unless it begins with a word and a colon.
#[inline]
pub(super) fn parse(text: &[u8], isa: Option<Isa>, after_message: bool) -> Result<Parsed<'_>, Wrong> {
    let mut scan = Scan::new(text);
    scan.blanks();
    let start = scan;
    let (mut time, mut unit) = (None, 0);
    if scan.peek().is_ascii_digit() {
        match timestamp(&mut scan) {
            Some((value, found)) => (time, unit) = (Some(value), found),
            None => return continued(start, after_message),
        }
    } else if scan.peek() == 0 && scan.rest().is_empty() {
        return Ok(Parsed { time, unit, core: b"", content: Content::Blank });
    }
    let mut core: &[u8] = b"";
    let before = scan;
    let mut found = event(scan.word());
    if found.is_none() {
        // The name of a core comes before the event.
        let word = &text[before.at..scan.at];
        let mut after = scan;
        after.blanks();
        if let Some(second) = event(after.word()).filter(|_| time.is_some() && is_name(word)) {
            (core, found, scan) = (word, Some(second), after);
        }
    }
    let Some(found) = found else { return plain(before, time, unit, after_message) };
    let content = match found {
        Event::Register => register(&mut scan)?,
        Event::Instruction(skipped) => instruction(&mut scan, skipped, isa)?,
        Event::Es => es(&mut scan, isa)?,
        Event::Memory(kind, size) => memory(&mut scan, kind, size)?,
        Event::Bytes(kind) => Content::Bytes(bytes(&mut scan, Some(kind))?),
        Event::Branch => branch(&mut scan)?,
        Event::E => exception(&mut scan),
        Event::Exc => {
            scan.blanks();
            Content::Exception(Exception { pc: None, number: None, name: scan.rest() })
        }
        Event::Other => Content::Other,
    };
    Ok(Parsed { time, unit, core, content })
}

/// Is it a name that a core may have?
fn is_name(word: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/[]".contains(byte);
    word.len() <= 128 && word.first().is_some_and(u8::is_ascii_alphabetic) && word.iter().all(fits)
}

/// A time with its unit; the unit may be missing before an event.
#[inline(always)]
fn timestamp(scan: &mut Scan<'_>) -> Option<(u64, u8)> {
    let time = scan.decimal()?;
    scan.blanks();
    let start = scan.at;
    let unit = match scan.word() {
        b"clk" => 0,
        b"tic" => 1,
        b"cs" => 2,
        b"ns" => 3,
        b"ps" => 4,
        b"cyc" => 5,
        word if event(word).is_some() => {
            scan.at = start;
            0
        }
        _ => return None,
    };
    scan.blanks();
    Some((time, unit))
}

/// A line that begins with digits and has no time: bytes that continue an LD or ST.
#[cold]
fn continued(start: Scan<'_>, after_message: bool) -> Result<Parsed<'_>, Wrong> {
    let mut scan = start;
    let parsed = |content| Ok(Parsed { time: None, unit: 0, core: b"", content });
    if start.at > 0
        && let Ok(bytes) = bytes(&mut scan, None)
    {
        return parsed(Content::Bytes(bytes));
    }
    if after_message && start.at > 0 {
        return parsed(Content::Message);
    }
    let mut scan = start;
    scan.decimal();
    scan.blanks();
    scan.wrong("a unit of time (clk, tic, cs, ns, ps, cyc) or an event")
}

/// A line without a known event.
#[cold]
fn plain(mut scan: Scan<'_>, time: Option<u64>, unit: u8, after_message: bool) -> Result<Parsed<'_>, Wrong> {
    let parsed = |content| Ok(Parsed { time, unit, core: b"", content });
    let indented = scan.at > 0;
    if let (None, false, Some(rest)) = (time, indented, scan.rest().strip_prefix(b"Tarmac Text ")) {
        return parsed(Content::Header(rest));
    }
    let word = scan.word();
    let message = word.len() > 2
        && word.ends_with(b":")
        && word[..word.len() - 1].iter().all(|byte| byte.is_ascii_alphabetic());
    if time.is_none() && (message || after_message && indented) {
        return parsed(Content::Message);
    }
    scan.at -= word.len();
    scan.wrong("an event (IT, IS, ES, R, MR, MW, LD, ST, E, EXC, BR or another)")
}

/// The instruction set that a word names.
#[inline(always)]
fn set(word: &[u8]) -> Option<Isa> {
    match word {
        b"O" => Some(Isa::A64),
        b"A" => Some(Isa::A32),
        b"T" | b"T16" | b"T32" => Some(Isa::T32),
        _ => None,
    }
}

/// A second address after a colon: physical, with `_S` or `_NS` after it.
#[inline(always)]
fn physical(scan: &mut Scan<'_>) -> Result<Option<u64>, Wrong> {
    if !scan.skip(b':') {
        return Ok(None);
    }
    let (address, _) = scan.hex("a physical address in hexadecimal digits")?;
    if scan.skip(b'_') {
        scan.until(|byte| !byte.is_ascii_alphabetic());
    }
    Ok(Some(address))
}

const ADDRESS: &str = "an address in hexadecimal digits";
const ENCODING: &str = "an encoding of 4 or 8 hexadecimal digits";

/// `(1) ADDR[:PA] ENCODING O MODE : text`, with variations: no number, the address in the brackets.
#[inline(always)]
fn instruction<'l>(scan: &mut Scan<'l>, skipped: bool, isa: Option<Isa>) -> Result<Content<'l>, Wrong> {
    scan.blanks();
    let mut bracketed = None;
    if scan.skip(b'(') {
        bracketed = Some(scan.hex("a number or an address")?.0);
        if scan.skip(b':') {
            scan.hex("a number")?;
        }
        scan.expect(b')', "`)` after the number")?;
        scan.blanks();
    }
    let (mut pc, mut digits) = scan.hex(ADDRESS)?;
    let physical = physical(scan)?;
    if scan.skip(b',') {
        // The second half of a T32 instruction has a page of its own.
        scan.until(|byte| byte == b' ');
    }
    scan.blanks();
    let mut encoding = pc;
    let mut word = *scan;
    let mut found = set(word.word());
    match (found, bracketed) {
        (Some(_), Some(address)) => pc = address,
        _ => {
            (encoding, digits) = scan.hex(ENCODING)?;
            scan.blanks();
            word = *scan;
            found = set(word.word());
        }
    }
    rest(scan, word, found.or(isa), (pc, physical, encoding, digits), skipped, found.is_some())
}

/// `(ADDR:ENCODING) O MODE: [CCFAIL] text`, or an exception.
#[inline(always)]
fn es<'l>(scan: &mut Scan<'l>, isa: Option<Isa>) -> Result<Content<'l>, Wrong> {
    scan.blanks();
    if !scan.skip(b'(') {
        let mut word = *scan;
        if matches!(word.word(), b"EXC" | b"Reset") {
            if scan.rest().starts_with(b"EXC") {
                *scan = word;
                scan.blanks();
            }
            let mut number = None;
            if scan.skip(b'[') {
                let _ = scan.skip(b'0') && scan.skip(b'x');
                number = scan.hex("the number of the exception").ok().map(|(number, _)| number);
                scan.expect(b']', "`]` after the number of the exception")?;
                scan.blanks();
            }
            return Ok(Content::Exception(Exception { pc: None, number, name: scan.rest() }));
        }
        return scan.wrong("`(` before the address, or EXC");
    }
    let (pc, _) = scan.hex(ADDRESS)?;
    scan.expect(b':', "`:` between address and encoding")?;
    let (encoding, digits) = if scan.peek() == b'-' {
        scan.until(|byte| byte != b'-');
        (0, 0)
    } else {
        scan.hex(ENCODING)?
    };
    scan.expect(b')', "`)` after the encoding")?;
    scan.blanks();
    let mut word = *scan;
    let found = set(word.word());
    rest(scan, word, found.or(isa), (pc, None, encoding, digits), false, found.is_some())
}

/// Instruction set, mode and text, which both kinds of instruction lines have.
#[inline(always)]
fn rest<'l>(
    scan: &mut Scan<'l>,
    after: Scan<'l>,
    isa: Option<Isa>,
    (pc, physical, encoding, digits): (u64, Option<u64>, u64, usize),
    mut skipped: bool,
    named: bool,
) -> Result<Content<'l>, Wrong> {
    let Some(isa) = isa else { return scan.wrong("an instruction set: A, T or O") };
    let length = match (digits, isa) {
        (0, _) => 0,
        (4, Isa::T32) => 2,
        (8, _) => 4,
        _ => return scan.wrong("an encoding of 4 or 8 hexadecimal digits before this"),
    };
    let mut encoding = encoding as u32;
    if isa == Isa::T32 && length == 4 {
        // The first halfword is printed first, and lies first in memory.
        encoding = encoding.rotate_left(16);
    }
    let mut mode: &[u8] = b"";
    if named {
        *scan = after;
        scan.blanks();
        let mut word = *scan;
        let found = word.until(|byte| matches!(byte, b' ' | b'\t' | b':'));
        word.blanks();
        // Cores with one mode print none.
        if word.skip(b':') {
            (mode, *scan) = (found, word);
        }
    }
    scan.blanks();
    if scan.rest().starts_with(b"CCFAIL") {
        skipped = true;
        scan.at += 6;
        scan.blanks();
    }
    let text = scan.rest();
    Ok(Content::Instruction(Instruction { pc, physical, encoding, length, isa, mode, skipped, text }))
}

/// Digits of a value, with `_` and `:` between them: the value of up to 32, and how many.
#[inline(always)]
fn value<'l>(scan: &mut Scan<'l>, wanted: usize) -> (u128, usize, &'l [u8], bool) {
    let start = scan.at;
    let (mut value, mut digits, mut unknown) = (0u128, 0, false);
    while let Some(eight) = scan.eight_digits() {
        value = value << 32 | u128::from(eight);
        digits += 8;
    }
    loop {
        let byte = scan.peek();
        if let Some(digit) = digit(byte) {
            value = value << 4 | u128::from(digit);
            digits += 1;
        } else if byte == b'-' {
            value <<= 4;
            digits += 1;
            unknown = true;
        } else if digits == 0 || !matches!(byte, b'_' | b':') {
            // The halves of a register may have a blank between them.
            let next = scan.text.get(scan.at + 1).copied().unwrap_or(0);
            let goes_on = digits > 0 && digits < wanted && byte == b' ' && self::digit(next).is_some();
            if !goes_on {
                break;
            }
        }
        scan.at += 1;
    }
    (value, digits, &scan.text[start..scan.at], unknown)
}

#[inline(always)]
fn register<'l>(scan: &mut Scan<'l>) -> Result<Content<'l>, Wrong> {
    scan.blanks();
    let text = scan.until(|byte| matches!(byte, b' ' | b'\t' | b'(' | b'<'));
    if text.is_empty() {
        return scan.wrong("the name of a register");
    }
    let mut found = name(text);
    if found == Name::Operation {
        return Ok(Content::Operation);
    }
    let mut part = None;
    if scan.skip(b'<') {
        part = Some(range(scan)?);
    }
    scan.blanks();
    if scan.skip(b'(') {
        found = found.of_bank(scan.until(|byte| byte == b')'));
        scan.expect(b')', "`)` after the bank of the register")?;
        scan.blanks();
    }
    let column = scan.at;
    let wanted = found.digits();
    let (value, digits, source, unknown) = value(scan, wanted);
    if digits == 0 {
        return scan.wrong("the value of the register in hexadecimal digits");
    }
    if part.is_none() && !found.fits(digits, value) {
        return Err(Wrong { column, expected: "as many digits as the register has" });
    }
    Ok(Content::Register(Register { text, name: found, value, digits, source, part, unknown }))
}

/// `127:64>`: the bits of a register that were written.
fn range(scan: &mut Scan<'_>) -> Result<(u16, u16), Wrong> {
    let column = scan.at;
    let high = scan.decimal();
    scan.expect(b':', "`:` between the numbers of bits")?;
    let low = scan.decimal();
    scan.expect(b'>', "`>` after the numbers of bits")?;
    match (high, low) {
        (Some(high @ ..2048), Some(low)) if low <= high => Ok((low as u16, (high - low + 1) as u16)),
        _ => Err(Wrong { column, expected: "the numbers of the highest and lowest bit" }),
    }
}

#[inline(always)]
fn memory<'l>(scan: &mut Scan<'l>, kind: MemKind, size: u64) -> Result<Content<'l>, Wrong> {
    scan.blanks();
    if scan.rest().starts_with(b"X ") {
        scan.at += 2;
        scan.blanks();
    }
    let (address, _) = scan.hex(ADDRESS)?;
    let physical = physical(scan)?;
    scan.blanks();
    if scan.rest().starts_with(b"(ABORTED)") {
        let nothing = (0, 0, &b""[..]);
        let (value, digits, source) = nothing;
        let memory = Memory { kind, size, address, physical, value, digits, source, aborted: true };
        return Ok(Content::Memory(memory));
    }
    let column = scan.at;
    let (value, digits, source, _) = value(scan, 0);
    if digits as u64 != 2 * size {
        return Err(Wrong { column, expected: "two hexadecimal digits for each byte of the access" });
    }
    Ok(Content::Memory(Memory { kind, size, address, physical, value, digits, source, aborted: false }))
}

/// `ADDR` and 16 bytes in words, the one at the highest address first.
fn bytes(scan: &mut Scan<'_>, kind: Option<MemKind>) -> Result<Bytes, Wrong> {
    scan.blanks();
    let (address, digits) = scan.hex(ADDRESS)?;
    if digits < 8 {
        return scan.wrong("an address of 8 or 16 hexadecimal digits");
    }
    let mut bytes = Bytes { kind, address, data: [0; 16], accessed: 0, known: 0, physical: None };
    for n in (0..16).rev() {
        scan.blanks();
        match (scan.peek(), scan.text.get(scan.at + 1).copied().unwrap_or(0)) {
            (b'.', b'.') => {}
            (b'#', b'#') => bytes.accessed |= 1 << n,
            (high, low) => {
                let (Some(high), Some(low)) = (digit(high), digit(low)) else {
                    return scan.wrong("a byte: two hexadecimal digits, `..` or `##`");
                };
                bytes.data[n] = high << 4 | low;
                bytes.accessed |= 1 << n;
                bytes.known |= 1 << n;
            }
        }
        scan.at += 2;
    }
    scan.blanks();
    // `S:` or `NS:` and the physical address.
    let mut after = *scan;
    let space = after.until(|byte| !byte.is_ascii_alphabetic());
    if !space.is_empty() && after.skip(b':') {
        bytes.physical = after.hex("").ok().map(|(address, _)| address);
    }
    Ok(bytes)
}

/// `(ADDR) O`.
#[inline(always)]
fn branch<'l>(scan: &mut Scan<'l>) -> Result<Content<'l>, Wrong> {
    scan.blanks();
    scan.expect(b'(', "`(` before the target")?;
    let (target, _) = scan.hex(ADDRESS)?;
    scan.expect(b')', "`)` after the target")?;
    Ok(Content::Branch(target))
}

/// `PC[:PA] [MODE] NUMBER NAME`; anything else is kept as it is.
fn exception<'l>(scan: &mut Scan<'l>) -> Content<'l> {
    scan.blanks();
    let Ok((pc, _)) = scan.hex(ADDRESS) else { return Content::Other };
    if physical(scan).is_err() {
        return Content::Other;
    }
    let (mut number, mut name) = (None, &b""[..]);
    while !scan.rest().is_empty() {
        scan.blanks();
        let mut word = *scan;
        if let Ok((value, 8)) = word.hex("")
            && matches!(word.peek(), b' ' | 0)
        {
            number = Some(value);
        }
        name = scan.word();
    }
    Content::Exception(Exception { pc: Some(pc), number, name })
}

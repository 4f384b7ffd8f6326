//! One row of a riscv-dv trace.

use trackway_core::*;

use crate::lines::Wrong;
use crate::riscv::names;
use crate::riscv::record::Retired;
use crate::scan::Scan;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Pc,
    Name,
    Registers,
    Csrs,
    Encoding,
    Mode,
    Text,
    /// Operands, padding, and columns of somebody else.
    Other,
}

/// The columns, by the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns(Vec<Column>);

/// Most columns of a table.
const MOST: usize = 64;

impl Columns {
    /// Reads the header; `None` if it is not one.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let names: Vec<&[u8]> = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
        let columns = names.iter().map(|name| match *name {
            b"pc" => Column::Pc,
            b"instr" => Column::Name,
            b"gpr" => Column::Registers,
            b"csr" => Column::Csrs,
            b"binary" => Column::Encoding,
            b"mode" => Column::Mode,
            b"instr_str" => Column::Text,
            _ => Column::Other,
        });
        let columns: Vec<Column> = columns.take(MOST).collect();
        let has = |column| columns.iter().filter(|other| **other == column).count() == 1;
        let others = [Column::Encoding, Column::Text, Column::Name, Column::Mode, Column::Csrs];
        let plausible = has(Column::Registers) && (has(Column::Pc) || others.into_iter().any(has));
        plausible.then_some(Columns(columns))
    }
}

/// A row, beside its instruction: its text, and the digits of its address or of a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row<'l> {
    /// The instruction with its operands.
    pub(crate) text: &'l [u8],
    /// Its name.
    pub(crate) name: &'l [u8],
    /// Digits of the address, else of a register; 0 where the row has neither.
    pub(crate) digits: u8,
    /// Nothing in it.
    pub(crate) is_blank: bool,
}

/// Reads a row; what it says of the instruction is added to `record`, which is empty.
pub(crate) fn read<'l>(columns: &Columns, line: &'l [u8], record: &mut Retired) -> Result<Row<'l>, Wrong> {
    let mut row = Row { is_blank: true, ..Row::default() };
    let mut scan = Scan::new(line);
    for (n, column) in columns.0.iter().enumerate() {
        if n > 0 && !scan.has(b",") {
            if scan.is_end() {
                break;
            }
            return scan.wrong("a comma");
        }
        let quoted = scan.has(b"\"");
        let end = if quoted { b'"' } else { b',' };
        let ends = |byte: u8| byte == end;
        let before = scan;
        match column {
            Column::Pc | Column::Encoding if !scan.is_end() && scan.peek() != end => {
                scan.has(b"0x");
                let expected = if *column == Column::Pc {
                    "an address in hexadecimal"
                } else {
                    "an encoding in hexadecimal"
                };
                let (value, digits) = scan.hex(expected)?;
                if *column == Column::Pc {
                    (record.pc, row.digits) = (Some(value), digits as u8);
                } else {
                    let encoding =
                        u32::try_from(value).map_err(|_| before.fault("an encoding of 32 bits at most"))?;
                    let wide = encoding & 3 == 3;
                    record.encoding = if wide { encoding } else { encoding & 0xffff };
                    record.length = if wide { 4 } else { 2 };
                }
            }
            Column::Pc | Column::Encoding => {}
            Column::Registers | Column::Csrs => list(&mut scan, *column, ends, record, &mut row)?,
            Column::Mode => {
                record.privilege = match scan.until(ends).trim_ascii() {
                    b"" => None,
                    b"0" | b"U" | b"u" => Some(Privilege::U),
                    b"1" | b"S" | b"s" => Some(Privilege::S),
                    b"2" | b"H" | b"h" => Some(Privilege::H),
                    b"3" | b"M" | b"m" => Some(Privilege::M),
                    _ => return before.wrong("a mode: 0, 1, 2 or 3"),
                };
            }
            Column::Text => row.text = scan.until(ends),
            Column::Name => row.name = scan.until(ends),
            Column::Other => drop(scan.until(ends)),
        }
        row.is_blank &= scan.rest().len() == before.rest().len();
        if quoted {
            scan.pass(b"\"", "a closing quote")?;
        } else if !scan.is_end() && scan.peek() != b',' {
            return scan.wrong("a comma");
        }
    }
    if scan.is_end() {
        Ok(row)
    } else {
        Err(scan.fault("the end of the row: the header has no more columns"))
    }
}

/// `ra:0000000080000000;sp:…`
fn list(
    scan: &mut Scan<'_>,
    column: Column,
    ends: impl Fn(u8) -> bool,
    record: &mut Retired,
    row: &mut Row<'_>,
) -> Result<(), Wrong> {
    while !scan.is_end() && !ends(scan.peek()) {
        let start = *scan;
        let name = scan.until(|byte| byte == b':' || ends(byte)).trim_ascii();
        let reg = match column {
            Column::Csrs => names::csr(name),
            // Some tools list CSRs with the registers.
            _ => names::register(name).or_else(|| names::csr(name)),
        };
        let reg = reg.ok_or(start.fault(match column {
            Column::Csrs => "the name of a CSR",
            _ => "the name of a register",
        }))?;
        scan.pass(b":", "a colon and the value of the register")?;
        scan.has(b"0x");
        let before = *scan;
        let value = match scan.hex("the value of the register in hexadecimal") {
            Ok((value, digits)) => {
                if row.digits == 0 && reg.class == RegClass::Int {
                    row.digits = digits as u8;
                }
                Value::Word(value)
            }
            Err(_) => {
                *scan = before;
                let start = record.bytes.len() as u32;
                let len = scan.wide("the value of the register in hexadecimal", &mut record.bytes)? as u32;
                Value::Bytes(Span { start, len })
            }
        };
        record.register(reg.class, reg.number, RegRole::Destination, value);
        if !scan.has(b";") && !scan.is_end() && !ends(scan.peek()) {
            return scan.wrong("a semicolon or the end of the list");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"pc,instr,gpr,csr,binary,mode,instr_str,operand,pad";

    fn read_row(text: &str) -> Result<Retired, Wrong> {
        let mut record = Retired::default();
        read(&Columns::read(HEADER).unwrap(), text.as_bytes(), &mut record).map(|_| record)
    }

    #[test]
    fn a_row_has_its_registers() {
        let record = read_row(
            "0000000080000008,csrrw,a0:0000000000000001;ra:00000000800000ff,mtvec:0000000080000060,30529573,3,\"csrrw a0, mtvec, t0\",\"a0,mtvec,t0\",",
        )
        .unwrap();
        assert_eq!((record.pc, record.encoding, record.length), (Some(0x8000_0008), 0x3052_9573, 4));
        assert_eq!(record.privilege, Some(Privilege::M));
        assert_eq!(record.written(RegClass::Int, 10), Some(1));
        assert_eq!(record.written(RegClass::Int, 1), Some(0x8000_00ff));
        assert_eq!(record.written(RegClass::Csr, 0x305), Some(0x8000_0060));
    }

    #[test]
    fn any_column_may_be_empty() {
        assert_eq!(read_row(",,,,,,,,").unwrap(), Retired::default());
        let record = read_row("80000000,,,,0001,,,,").unwrap();
        assert_eq!((record.length, record.privilege), (2, None));
        assert_eq!(read_row("").unwrap(), Retired::default());
    }

    #[test]
    fn columns_go_by_their_names() {
        let columns = Columns::read(b"mode,gpr,pc").unwrap();
        let mut record = Retired::default();
        read(&columns, b"1,t0:5,1000", &mut record).unwrap();
        assert_eq!((record.pc, record.privilege), (Some(0x1000), Some(Privilege::S)));
        assert_eq!(record.written(RegClass::Int, 5), Some(5));
        assert_eq!(Columns::read(b"time,name,value"), None);
        assert_eq!(Columns::read(b"gpr,gpr,pc"), None);
    }

    #[test]
    fn a_fault_has_its_column() {
        for (text, column) in [
            ("x,,,,,,,,", 0),
            ("80000000 ,,,,,,,,", 8),
            (",,q9:1,,,,,,", 2),
            (",,a0=1,,,,,,", 2),
            (",,a0:1 2,,,,,,", 6),
            (",,,what:1,,,,,", 3),
            (",,,,,9,,,", 5),
            (",,,,,,\"open", 11),
            (",,,,,,,,,", 8),
        ] {
            assert_eq!(read_row(text).unwrap_err().column, column, "{text}");
        }
    }
}

//! Rows as text: CSV and JSON lines.

use std::io::{Result, Write};

use crate::schema::Kind;
use crate::sink::Sink;
use crate::store::{Chunk, Data, Values};

/// Comma-separated values with a heading line. Unknown is empty, addresses are in hex.
#[derive(Debug)]
pub struct Csv<W> {
    out: W,
    has_heading: bool,
    line: Vec<u8>,
}

impl<W: Write> Csv<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Csv { out, has_heading: false, line: Vec::new() }
    }
}

impl<W: Write> Sink for Csv<W> {
    fn put(&mut self, chunk: Chunk) -> Result<()> {
        if !std::mem::replace(&mut self.has_heading, true) {
            let names: Vec<&str> = chunk.columns.iter().map(|values| values.column.name).collect();
            writeln!(self.out, "{}", names.join(","))?;
        }
        for row in 0..chunk.rows {
            self.line.clear();
            for (n, values) in chunk.columns.iter().enumerate() {
                if n > 0 {
                    self.line.push(b',');
                }
                if values.is_known(row) {
                    match text(values, row) {
                        Some(text) => quote(&mut self.line, text),
                        None => number(&mut self.line, values, row, false),
                    }
                }
            }
            self.line.push(b'\n');
            self.out.write_all(&self.line)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}

/// One JSON object per row. Unknown is absent; values of 64 bits are strings, since numbers of JSON are not exact that far.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    /// Members that every object begins with, each with its comma.
    begin: &'static str,
    line: Vec<u8>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`; every object begins with the members `begin`, each followed by a comma.
    pub fn new(out: W, begin: &'static str) -> Self {
        JsonLines { out, begin, line: Vec::new() }
    }
}

impl<W: Write> Sink for JsonLines<W> {
    fn put(&mut self, chunk: Chunk) -> Result<()> {
        let begin = format!("{{{}\"table\":\"{}\"", self.begin, chunk.table.name);
        for row in 0..chunk.rows {
            self.line.clear();
            self.line.extend_from_slice(begin.as_bytes());
            for values in chunk.columns.iter().filter(|values| values.is_known(row)) {
                self.line.extend_from_slice(b",\"");
                self.line.extend_from_slice(values.column.name.as_bytes());
                self.line.extend_from_slice(b"\":");
                match text(values, row) {
                    Some(text) => json_string(&mut self.line, text)?,
                    None => number(&mut self.line, values, row, true),
                }
            }
            self.line.extend_from_slice(b"}\n");
            self.out.write_all(&self.line)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush()
    }
}

impl Values {
    /// Is the value of a row known?
    #[inline]
    pub fn is_known(&self, row: usize) -> bool {
        self.known.as_ref().is_none_or(|known| known.get(row))
    }
}

/// The value of a column of words or text.
fn text(values: &Values, row: usize) -> Option<&str> {
    match &values.data {
        Data::Words(codes, words) => words.get(codes[row] as usize).map(|word| &**word),
        Data::Text(pieces) => Some(str::from_utf8(pieces.get(row)).unwrap_or_default()),
        _ => None,
    }
}

/// Any other value.
fn number(out: &mut Vec<u8>, values: &Values, row: usize, json: bool) {
    let kind = values.column.kind;
    let quotes = if json { "\"" } else { "" };
    // Writing to memory cannot fail.
    let _ = match &values.data {
        Data::U8(all) => write!(out, "{}", all[row]),
        Data::U32(all) if kind == Kind::Encoding => write!(out, "{quotes}{:#x}{quotes}", all[row]),
        Data::U32(all) => write!(out, "{}", all[row]),
        Data::U64(all) => match kind {
            Kind::Address => write!(out, "{quotes}{:#x}{quotes}", all[row]),
            Kind::Time if json => write!(out, "\"{:#x}\"", all[row]),
            // A count that large is not one that was counted.
            _ if json && all[row] >= 1 << 53 => write!(out, "\"{:#x}\"", all[row]),
            _ => write!(out, "{}", all[row]),
        },
        Data::Flags(bits) => write!(out, "{}", bits.get(row)),
        Data::Bytes(pieces) => {
            let digits = |out: &mut Vec<u8>| {
                pieces.get(row).iter().rev().try_for_each(|byte| write!(out, "{byte:02x}"))
            };
            write!(out, "{quotes}0x").and_then(|()| digits(out)).and_then(|()| write!(out, "{quotes}"))
        }
        Data::Words(..) | Data::Text(_) => Ok(()),
    };
}

/// A field of CSV, quoted where it has to be (RFC 4180).
fn quote(out: &mut Vec<u8>, text: &str) {
    if !text.contains([',', '"', '\n', '\r']) && !text.is_empty() {
        return out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

/// A string of JSON; control characters that JSON allows are escaped too.
fn json_string(out: &mut Vec<u8>, text: &str) -> Result<()> {
    let is_raw = |c: char| ('\u{7f}'..='\u{9f}').contains(&c);
    if !text.contains(is_raw) {
        return Ok(serde_json::to_writer(out, text)?);
    }
    let escaped = serde_json::to_string(text)?;
    for c in escaped.chars() {
        if is_raw(c) { write!(out, "\\u{:04x}", c as u32)? } else { write!(out, "{c}")? }
    }
    Ok(())
}

//! Tables that can be sorted.

use std::fmt::Write;

use crate::markup::escape;

/// The contents of a cell.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// Any text.
    Text(String),
    /// A count.
    Count(u64),
    /// A part of something, from 0 to 1.
    Share(f64),
    /// A number of its own, mostly from 0 to 1.
    Ratio(f64),
    /// An address.
    Address(u64),
    /// Not known.
    Unknown,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.into())
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Cell::Count(count)
    }
}

/// A column: its name, and whether numbers are in it.
pub(super) type Column = (&'static str, bool);

/// A table of the first `most` rows; the caption says if there are more.
pub(super) fn table(caption: &str, columns: &[Column], rows: &[Vec<Cell>], most: usize) -> String {
    let mut caption = caption.to_string();
    if rows.len() > most {
        // Writing to a string cannot fail.
        let _ = write!(caption, " (the first {} of {})", count(most as u64), count(rows.len() as u64));
    }
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table>\n<caption>{caption}</caption>\n<thead><tr>",
        caption = escape(&caption)
    );
    for (name, is_number) in columns {
        let class = if *is_number { " class=\"n\"" } else { "" };
        let _ = write!(
            out,
            "<th scope=\"col\" aria-sort=\"none\"{class}><button type=\"button\">{}</button></th>",
            escape(name)
        );
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in rows.iter().take(most) {
        out += "<tr>";
        row.iter().for_each(|cell| put(&mut out, cell));
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

fn put(out: &mut String, cell: &Cell) {
    // Writing to a string cannot fail.
    let _ = match cell {
        Cell::Text(text) => {
            let text = escape(text);
            write!(out, "<td data-v=\"{text}\">{text}</td>")
        }
        Cell::Count(number) => write!(out, "<td class=\"n\" data-v=\"{number}\">{}</td>", count(*number)),
        Cell::Share(share) => {
            write!(out, "<td class=\"n\" data-v=\"{share:.6}\">{:.2} %</td>", 100.0 * share)
        }
        Cell::Ratio(ratio) => {
            // No sign for nothing.
            let ratio = ratio + 0.0;
            write!(out, "<td class=\"n\" data-v=\"{ratio:.6}\">{ratio:.3}</td>")
        }
        Cell::Address(address) => {
            write!(out, "<td class=\"mono\" data-v=\"{address:016x}\">{address:#x}</td>")
        }
        Cell::Unknown => write!(out, "<td class=\"n\" data-v=\"\">unknown</td>"),
    };
}

/// A number in groups of three digits.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

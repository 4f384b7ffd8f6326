//! The content of each pane, as lines of text.

use trackway::Result;
use trackway::machine::{FrameKind, How};
use trackway_image::Listing;
use trackway_tools::past::{Cause, Why};
use trackway_tools::replay::{Register, Row, Shown};

use crate::app::{App, span};
use crate::source::plain;

/// The importance of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// Where the cursor is.
    Here,
    /// Not known, or beside the point.
    Faint,
    /// An event between two instructions.
    Event,
    /// Something is missing.
    Missing,
    /// Written by the last instruction.
    New,
}

/// A line of a pane.
pub(crate) type Toned = (Tone, String);

impl App {
    /// The rows of the list, the one with the cursor among them.
    pub(crate) fn list(&mut self, height: usize) -> Result<Vec<Toned>> {
        self.height = height.max(1);
        let now = self.now();
        let count = self.session.replay().count()?;
        let half = (height / 2) as u64;
        if now < self.top || now >= self.top.saturating_add(height as u64) {
            self.top = now.saturating_sub(half);
        }
        let mut rows = self.session.replay().rows(self.top, height + 1)?;
        let is_here =
            |row: &Row| span(row).is_some_and(|(first, length)| (first..first + length).contains(&now));
        if now < count && !rows.iter().take(height).any(is_here) {
            // Many events before it.
            rows = self.session.replay().rows(now, 1 << 12)?;
            self.top = now;
        }
        let cursor = rows.iter().position(is_here);
        let skipped = cursor.map_or(0, |cursor| (cursor + 1).saturating_sub(height));
        let digits =
            rows.iter().filter_map(address).map(|pc| format!("{pc:x}").len()).max().unwrap_or(0).max(8);
        let mut lines: Vec<Toned> =
            rows.iter().skip(skipped).take(height).map(|row| self.line(row, is_here(row), digits)).collect();
        if lines.len() < height {
            let tone = if now >= count { Tone::Here } else { Tone::Faint };
            lines.push((tone, format!("{count:>10}  the end of the trace")));
        }
        Ok(lines)
    }

    fn line(&mut self, row: &Row, is_here: bool, digits: usize) -> Toned {
        let number = row.number;
        let tone = if is_here { Tone::Here } else { Tone::Plain };
        let current = self.session.current();
        match &row.what {
            Shown::Instruction { pc, encoding, length, isa, taken, attempted, .. } => {
                let listing = &mut self.listings[current];
                let address = pc.map_or(format!("{:digits$}", "?"), |pc| format!("{pc:0digits$x}"));
                let text = instruction(listing, *isa, *pc, *encoding, *length);
                let place = pc.map(|pc| plain(&listing.row(pc).place)).filter(|place| !place.is_empty());
                let place = place.map_or(String::new(), |place| format!(" <{place}>"));
                let flow = match (attempted, taken) {
                    (true, _) => " (attempted)",
                    (_, Some(true)) => " T",
                    (_, Some(false)) => " NT",
                    (_, None) => "",
                };
                (tone, format!("{number:>10}  {address}  {text:<24}{flow}{place}"))
            }
            Shown::Run { start, end, count } => {
                let text = format!(
                    "{number:>10}  {start:0digits$x}  {count} instructions to {end:#x}, code unknown"
                );
                (if is_here { Tone::Here } else { Tone::Faint }, text)
            }
            Shown::Event { kind, text } => {
                let tone = if *kind == "gap" { Tone::Missing } else { Tone::Event };
                (tone, format!("{:>10}  {kind} {}", "--", plain(text)))
            }
        }
    }

    /// Registers and memory that the instruction at the cursor accesses.
    pub(crate) fn accesses(&mut self) -> Result<String> {
        let now = self.now();
        let rows = self.session.replay().rows(now, 1 << 12)?;
        let row = rows.iter().find(|row| span(row).is_some());
        Ok(match row.map(|row| &row.what) {
            Some(Shown::Instruction { accesses, .. }) if !accesses.is_empty() => plain(&accesses.join("  ")),
            Some(Shown::Instruction { .. }) => {
                "the trace has no registers or memory of this instruction".into()
            }
            Some(_) => "the code is not known: --elf names the program".into(),
            None => "after the last instruction".into(),
        })
    }

    /// Registers, in short.
    pub(crate) fn registers(&mut self) -> Result<Vec<Toned>> {
        let now = self.now();
        let shown = |register: Register| {
            let tone = match (&register.content, register.known) {
                (None, _) => Tone::Faint,
                (_, Some((How::Written, number))) if number + 1 == now => Tone::New,
                _ => Tone::Plain,
            };
            let content = register.content.unwrap_or("unknown".into());
            (tone, register_cell(&register.name, &content))
        };
        let all: Vec<Toned> = self.session.replay().registers()?.into_iter().map(shown).collect();
        let is_unknown = all.iter().all(|(tone, _)| *tone == Tone::Faint);
        Ok(if is_unknown { vec![(Tone::Faint, "all unknown".into())] } else { all })
    }

    /// Registers with how each came to be known.
    pub(crate) fn all_registers(&mut self) -> Result<Vec<String>> {
        let shown = |register: Register| {
            let how = match register.known {
                Some((How::Written, number)) => format!("written by {number}"),
                Some((How::Seen, number)) => format!("seen by {number}"),
                Some((How::Shown, number)) => format!("shown before {number}"),
                None => String::new(),
            };
            format!(
                "{:<10} {}  {how}",
                register.name,
                register.content.unwrap_or(format!("{:16}", "unknown"))
            )
        };
        Ok(self.session.replay().registers()?.into_iter().map(shown).collect())
    }

    /// Functions and handlers that were entered and not left, the innermost first, with the number of the call.
    pub(crate) fn call_rows(&mut self) -> Result<Vec<(Option<u64>, String)>> {
        let calls = self.session.replay().calls()?;
        let gap = self.session.replay().point()?.machine.gap;
        let current = self.session.current();
        let listing = &mut self.listings[current];
        let mut name = |pc: u64| {
            let place = plain(&listing.row(pc).place);
            if place.is_empty() { format!("{pc:#x}") } else { place }
        };
        let mut rows = Vec::new();
        for frame in calls.frames() {
            let verb = if frame.kind == FrameKind::Call { "called by" } else { "trapped by" };
            let from = frame.site.or(frame.return_address).map_or("?".into(), &mut name);
            let guess = calls.guess_of(frame);
            let guess = guess.map_or(String::new(), |guess| format!(" (a guess: {})", guess.doubt.as_str()));
            let text = format!("{} {verb} {} {from}{guess}", name(frame.target), frame.number);
            rows.push((Some(frame.number), text));
        }
        let end = match (calls.forgotten, gap) {
            (0, None) => "-- callers before the trace began are not known".into(),
            (0, Some(gap)) => format!("-- callers are not known: there is a gap before {gap}"),
            (more, _) => format!("-- and {more} more"),
        };
        rows.push((None, end));
        Ok(rows)
    }

    /// The source lines around the cursor, and a title.
    pub(crate) fn source(&mut self, height: usize) -> Result<(String, Vec<Toned>)> {
        let Some(pc) = self.session.replay().pc()? else {
            return Ok(("source".into(), vec![(Tone::Faint, "the address is not known".into())]));
        };
        let current = self.session.current();
        let Some(line) = self.listings[current].image().line(pc) else {
            let text = "the program has no source line here".to_string();
            return Ok(("source".into(), vec![(Tone::Faint, text)]));
        };
        let name = plain(line.file.rsplit(['/', '\\']).next().unwrap_or(&line.file));
        let title = format!("{name}:{}", line.line);
        let Some(lines) = self.sources.lines(&line.file) else {
            let text = format!("{} is not here: --source-root names its folder", plain(&line.file));
            return Ok((title, vec![(Tone::Faint, text)]));
        };
        let here = line.line.saturating_sub(1) as usize;
        let first = here.saturating_sub(height / 2);
        let tone = |n: usize| if n == here { Tone::Here } else { Tone::Plain };
        let shown = lines.iter().enumerate().skip(first).take(height);
        let shown: Vec<Toned> = shown.map(|(n, text)| (tone(n), format!("{:>5}  {text}", n + 1))).collect();
        if shown.is_empty() {
            return Ok((title, vec![(Tone::Faint, "the file is shorter than that".into())]));
        }
        Ok((title, shown))
    }

    /// The instructions that a value comes from.
    pub(crate) fn why_rows(&mut self, why: &Why) -> Vec<(Option<u64>, String)> {
        let current = self.session.current();
        let listing = &mut self.listings[current];
        let mut rows = Vec::new();
        for (_, cause) in &why.causes {
            if let Cause::End(end) = cause {
                rows.push((end.number(), end.to_string()));
            }
        }
        for node in &why.nodes {
            let indent = 2 * (node.depth as usize).saturating_sub(1).min(12);
            let address = node.pc.map_or("?".into(), |pc| format!("{pc:#x}"));
            let text = instruction(listing, node.isa, node.pc, node.encoding, node.length);
            let place = node.pc.map(|pc| plain(&listing.row(pc).place)).unwrap_or_default();
            let text = format!("{:indent$}{}  {address}  {text}  <{place}>", "", node.number);
            rows.push((Some(node.number), text));
            let ends = node.inputs.iter().flat_map(|input| &input.causes);
            let ends =
                ends.filter_map(|(_, cause)| if let Cause::End(end) = cause { Some(end) } else { None });
            rows.extend(ends.map(|end| (end.number(), format!("{:indent$}  -- {end}", ""))));
        }
        rows
    }
}

fn instruction(
    listing: &mut Listing,
    isa: trackway_core::Isa,
    pc: Option<u64>,
    encoding: u32,
    length: u8,
) -> String {
    if length == 0 { "?".into() } else { plain(listing.text(isa, pc.unwrap_or(0), encoding)) }
}

fn address(row: &Row) -> Option<u64> {
    match row.what {
        Shown::Instruction { pc, .. } => pc,
        Shown::Run { start, .. } => Some(start),
        Shown::Event { .. } => None,
    }
}

/// The last digits of a wide content.
fn tail(content: &str, most: usize) -> String {
    match content.len().checked_sub(most) {
        Some(cut @ 1..) if content.is_ascii() => format!("…{}", &content[cut + 1..]),
        _ => content.to_string(),
    }
}

/// A register in 21 columns: beside a long name a value loses leading zeros, then digits.
fn register_cell(name: &str, content: &str) -> String {
    let (value, room) = (tail(content, 16), 20usize.saturating_sub(name.len()).clamp(4, 16));
    let digits = value.trim_start_matches('0');
    let value = match (value.len() <= room, digits) {
        (true, _) => value,
        (false, "") => "0".into(),
        (false, digits) => tail(digits, room),
    };
    format!("{name:<4} {value}")
}

#[cfg(test)]
mod tests {
    use super::register_cell;

    #[test]
    fn beside_long_names_values_fit() {
        for (name, content, wanted) in [
            ("a0", "0000000080000000", "a0   0000000080000000"),
            ("mcounteren", "0000000000000000", "mcounteren 0"),
            ("mstatus", "0000000a00000000", "mstatus a00000000"),
            ("mcounteren", "1234567890abcdef", "mcounteren …890abcdef"),
            ("stvec", "unknown", "stvec unknown"),
        ] {
            assert_eq!(register_cell(name, content), wanted);
        }
    }
}

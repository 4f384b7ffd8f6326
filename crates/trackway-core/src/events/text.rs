//! Events as lines of text, stable and re-readable.
//!
//! A line is `OFFSET KIND name=value …`; nested values are in parentheses, as in
//! `accesses=mem(kind:read,address:0x1000,size:0x8)`. No value contains a space.

use std::fmt::Write;

use crate::events::batch::Batch;
use crate::events::event::*;
use crate::events::model::{Field, Word};

impl Batch {
    /// Returns the kind of an event, and passes each of its fields by name to `put`.
    pub fn event_fields(&self, event: &Event, put: &mut dyn FnMut(&'static str, &str)) -> &'static str {
        match &event.kind {
            EventKind::Step(step) => {
                step.show_fields(self, put);
                "step"
            }
            EventKind::Run(run) => {
                run.show_fields(self, put);
                "run"
            }
            EventKind::Trap(n) => {
                self.traps[*n as usize].show_fields(self, put);
                "trap"
            }
            EventKind::Context(n) => {
                self.contexts[*n as usize].show_fields(self, put);
                "context"
            }
            EventKind::Time(time) => {
                time.show_fields(self, put);
                "time"
            }
            EventKind::Mark(mark) => {
                mark.show_fields(self, put);
                "mark"
            }
            EventKind::State(n) => match &self.states[*n as usize] {
                State::Contents(accesses) => {
                    let mut text = String::new();
                    accesses.show(self, &mut text);
                    put("accesses", &text);
                    "contents"
                }
                State::PageWalk(walk) => {
                    walk.show_fields(self, put);
                    "page-walk"
                }
                State::Bus(bus) => {
                    bus.show_fields(self, put);
                    "bus"
                }
            },
            EventKind::Gap(n) => {
                self.gaps[*n as usize].show_fields(self, put);
                "gap"
            }
            EventKind::Foreign(foreign) => {
                foreign.show_fields(self, put);
                "foreign"
            }
        }
    }

    /// Writes an event as one line, without the line end.
    pub fn write_line(&self, event: &Event, out: &mut String) {
        let mut fields = String::new();
        let kind = self.event_fields(event, &mut |name, value| {
            // Writing to a String cannot fail.
            let _ = write!(fields, " {name}={value}");
        });
        let _ = write!(out, "{:#x} {kind}{fields}", event.offset);
    }

    /// Reads a line and appends its event; `None` if the line is not one.
    pub fn read_line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let offset = u64::read_word(words.next()?)?;
        let kind = words.next()?;
        let pairs: Vec<(&str, &str)> = words.map(|word| word.split_once('=')).collect::<Option<_>>()?;
        match kind {
            "step" => Step::read_fields(&pairs, self).map(|step| self.push(offset, EventKind::Step(step))),
            "run" => Run::read_fields(&pairs, self).map(|run| self.push(offset, EventKind::Run(run))),
            "trap" => Trap::read_fields(&pairs, self).map(|trap| self.push_trap(offset, trap)),
            "context" => Context::read_fields(&pairs, self).map(|context| self.push_context(offset, context)),
            "time" => Time::read_fields(&pairs, self).map(|time| self.push(offset, EventKind::Time(time))),
            "mark" => Mark::read_fields(&pairs, self).map(|mark| self.push(offset, EventKind::Mark(mark))),
            "contents" => {
                let accesses = Accesses::read(pairs.first().map(|pair| pair.1), self)?;
                self.push_state(offset, State::Contents(accesses));
                Some(())
            }
            "page-walk" => {
                PageWalk::read_fields(&pairs, self).map(|walk| self.push_state(offset, State::PageWalk(walk)))
            }
            "bus" => Bus::read_fields(&pairs, self).map(|bus| self.push_state(offset, State::Bus(bus))),
            "gap" => Gap::read_fields(&pairs, self).map(|gap| self.push_gap(offset, gap)),
            "foreign" => {
                Foreign::read_fields(&pairs, self).map(|item| self.push(offset, EventKind::Foreign(item)))
            }
            _ => None,
        }
    }
}

/// Shows a struct inside a field: `(name:value,…)`.
fn show_nested(show: impl FnOnce(&mut dyn FnMut(&'static str, &str)), out: &mut String) {
    out.push('(');
    let mut first = true;
    show(&mut |name, value| {
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        let _ = write!(out, "{comma}{name}:{value}");
    });
    out.push(')');
}

/// Splits `text` at `separator` outside any parentheses.
fn split_outside(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The pairs of `(name:value,…)`.
fn nested_pairs(text: &str) -> Option<Vec<(&str, &str)>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    if inner.is_empty() {
        return Some(Vec::new());
    }
    split_outside(inner, ',').into_iter().map(|pair| pair.split_once(':')).collect()
}

impl Field<Batch> for Accesses {
    fn show(&self, batch: &Batch, out: &mut String) -> bool {
        let start = out.len();
        for access in batch.mem_of(*self) {
            out.push_str(if out.len() > start { ";mem" } else { "mem" });
            show_nested(|put| access.show_fields(batch, put), out);
        }
        for access in batch.regs_of(*self) {
            out.push_str(if out.len() > start { ";reg" } else { "reg" });
            show_nested(|put| access.show_fields(batch, put), out);
        }
        out.len() > start
    }

    fn read(text: Option<&str>, batch: &mut Batch) -> Option<Self> {
        let begun = batch.begin_accesses();
        for part in text.filter(|text| !text.is_empty()).map_or(Vec::new(), |text| split_outside(text, ';')) {
            if let Some(fields) = part.strip_prefix("mem") {
                let access = MemAccess::read_fields(&nested_pairs(fields)?, batch)?;
                batch.mem.push(access);
            } else {
                let access = RegAccess::read_fields(&nested_pairs(part.strip_prefix("reg")?)?, batch)?;
                batch.regs.push(access);
            }
        }
        batch.end_accesses(begun)
    }
}

impl Field<Batch> for Option<AccessesRef> {
    fn show(&self, batch: &Batch, out: &mut String) -> bool {
        self.is_some_and(|n| batch.run_accesses[n.0.get() as usize - 1].show(batch, out))
    }
    fn read(text: Option<&str>, batch: &mut Batch) -> Option<Self> {
        if text.is_none() {
            return Some(None);
        }
        let accesses = Accesses::read(text, batch)?;
        Some(batch.add_run_accesses(accesses))
    }
}

impl Field<Batch> for Option<ExtraRef> {
    fn show(&self, batch: &Batch, out: &mut String) -> bool {
        let Some(n) = self else { return false };
        show_nested(|put| batch.extras[n.0.get() as usize - 1].show_fields(batch, put), out);
        true
    }
    fn read(text: Option<&str>, batch: &mut Batch) -> Option<Self> {
        let Some(text) = text else { return Some(None) };
        let extra = StepExtra::read_fields(&nested_pairs(text)?, batch)?;
        Some(batch.add_extra(extra))
    }
}

impl Field<Batch> for Option<MemExtraRef> {
    fn show(&self, batch: &Batch, out: &mut String) -> bool {
        let Some(n) = self else { return false };
        show_nested(|put| batch.mem_extras[n.0.get() as usize - 1].show_fields(batch, put), out);
        true
    }
    fn read(text: Option<&str>, batch: &mut Batch) -> Option<Self> {
        let Some(text) = text else { return Some(None) };
        let extra = MemExtra::read_fields(&nested_pairs(text)?, batch)?;
        Some(batch.add_mem_extra(extra))
    }
}

impl Field<Batch> for Value {
    fn show(&self, batch: &Batch, out: &mut String) -> bool {
        match self {
            Value::Unknown => false,
            Value::Word(word) => Field::show(word, batch, out),
            Value::Bytes(span) => {
                out.push_str("hex.");
                for byte in batch.bytes_of(*span) {
                    let _ = write!(out, "{byte:02x}");
                }
                true
            }
        }
    }
    fn read(text: Option<&str>, batch: &mut Batch) -> Option<Self> {
        match text {
            None => Some(Value::Unknown),
            Some(text) => match text.strip_prefix("hex.") {
                Some(digits) => Some(Value::Bytes(batch.add_bytes(&from_hex(digits)?))),
                None => u64::read_word(text).map(Value::Word),
            },
        }
    }
}

/// Text is shown after a quote, with `%xx` for bytes that would break the line; other bytes as hex.
impl Field<Batch> for Span {
    fn show(&self, batch: &Batch, out: &mut String) -> bool {
        let bytes = batch.bytes_of(*self);
        if bytes.is_empty() {
            return false;
        }
        let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        out.push_str(if is_text { "'" } else { "hex." });
        for &byte in bytes {
            let plain = byte.is_ascii_alphanumeric() || b"-_./+#@!?'\"*".contains(&byte);
            let _ = match (is_text, plain) {
                (true, true) => write!(out, "{}", byte as char),
                (true, false) => write!(out, "%{byte:02x}"),
                (false, _) => write!(out, "{byte:02x}"),
            };
        }
        true
    }
    fn read(text: Option<&str>, batch: &mut Batch) -> Option<Self> {
        let Some(text) = text else { return Some(Span::default()) };
        if let Some(digits) = text.strip_prefix("hex.") {
            return Some(batch.add_bytes(&from_hex(digits)?));
        }
        let mut bytes = Vec::new();
        let mut rest = text.strip_prefix('\'')?.as_bytes();
        while let [byte, tail @ ..] = rest {
            if *byte == b'%' {
                bytes.extend(from_hex(std::str::from_utf8(tail.get(..2)?).ok()?)?);
                rest = &tail[2..];
            } else {
                bytes.push(*byte);
                rest = tail;
            }
        }
        Some(batch.add_bytes(&bytes))
    }
}

impl std::fmt::Display for Reg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self.class {
            RegClass::Pc => "pc".to_string(),
            RegClass::Csr => format!("csr{:#x}", self.number),
            class => format!("{}{}", class.as_str(), self.number),
        };
        f.pad(&text)
    }
}

impl Word for Reg {
    fn show_word(&self, out: &mut String) {
        let _ = write!(out, "{self}");
    }
    fn read_word(text: &str) -> Option<Self> {
        // `csr` and `reg` before the one-letter files; the number follows the name.
        let class =
            [RegClass::Csr, RegClass::Other, RegClass::Pc, RegClass::Int, RegClass::Float, RegClass::Vector]
                .into_iter()
                .find(|class| text.starts_with(class.as_str()))?;
        let digits = &text[class.as_str().len()..];
        let number = if class == RegClass::Pc && digits.is_empty() { 0 } else { u16::read_word(digits)? };
        Some(Reg { class, number })
    }
}
crate::events::model::always!(Reg);

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

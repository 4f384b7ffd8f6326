//! The part of YAML that a description of a core needs: maps, lists and scalars, with their lines.

use saphyr_parser::{Event, Parser};

/// Bytes of a description: real ones have a few hundred kilobytes.
const LARGEST: usize = 4 << 20;
/// Maps and lists inside each other.
const DEEPEST: usize = 32;

/// A value and the line it begins in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Scalar(String),
    List(Vec<Node>),
    /// In the order of the file.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }

    /// The keys and values of a map; nothing for anything else.
    pub(super) fn entries(&self) -> &[(String, Node)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The values of a list; a value alone is a list of one.
    pub(super) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    /// A scalar as it is written.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// A number, decimal or hexadecimal.
    pub(super) fn number(&self) -> Result<u64, String> {
        let text = self.text().unwrap_or("");
        number(text).ok_or_else(|| format!("line {}: {text:?} is not a number", self.line))
    }

    /// True or false.
    pub(super) fn truth(&self) -> Result<bool, String> {
        match self.text().unwrap_or("").to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(true),
            "false" | "no" | "0" => Ok(false),
            other => Err(format!("line {}: {other:?} is neither true nor false", self.line)),
        }
    }
}

/// A number, decimal or hexadecimal, with underscores.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = text.trim().replace('_', "");
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// Reads the first document. Aliases are refused: they can make a small file a huge value.
pub(super) fn read(text: &str) -> Result<Node, String> {
    if text.len() > LARGEST {
        return Err(format!("more than {LARGEST} bytes"));
    }
    // Open maps and lists: the line, the list, and for a map the key that waits for its value.
    let mut open: Vec<(Node, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        let line = span.start.line();
        let done = match event {
            Event::Scalar(text, ..) => Node { line, value: Value::Scalar(text.into_owned()) },
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() == DEEPEST {
                    return Err(format!("line {line}: more than {DEEPEST} levels"));
                }
                let value = match event {
                    Event::SequenceStart(..) => Value::List(Vec::new()),
                    _ => Value::Map(Vec::new()),
                };
                open.push((Node { line, value }, None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some((node, _)) => node,
                None => continue,
            },
            Event::Alias(_) => return Err(format!("line {line}: aliases are not read")),
            _ => continue,
        };
        let Some((parent, key)) = open.last_mut() else { return Ok(done) };
        match (&mut parent.value, key.take()) {
            (Value::List(items), _) => items.push(done),
            (Value::Map(entries), Some(name)) => {
                if entries.iter().any(|(known, _)| *known == name) {
                    return Err(format!("line {line}: {name} is there already"));
                }
                entries.push((name, done));
            }
            (Value::Map(_), None) => match done.value {
                Value::Scalar(text) => *key = Some(text),
                _ => return Err(format!("line {line}: a key is not a name")),
            },
            (Value::Scalar(_), _) => {}
        }
    }
    Err("nothing in it".to_string())
}

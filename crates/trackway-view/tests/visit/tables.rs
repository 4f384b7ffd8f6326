//! Reads the compact form of answers, by the list of tables that the page has.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

/// Names and kinds of the fields of each table.
fn tables() -> HashMap<String, Vec<(String, String)>> {
    let list = trackway_view::tables();
    let lines = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(": { "));
    let field = |text: &str| {
        let (name, kind) = text.split_once(": ").expect("a field");
        (name.to_string(), kind.trim_matches('"').to_string())
    };
    let table = |(name, rest): (&str, &str)| {
        (name.to_string(), rest.trim_end_matches(" },").split(", ").map(field).collect())
    };
    lines.map(table).collect()
}

/// The answer to a question.
pub fn decode(question: &str, bytes: &[u8]) -> Json {
    let name = match question.split('?').next() {
        Some("timeline") => "Timeline",
        Some("rows") => "Rows",
        Some("memory") => "Memory",
        Some("tree") => "Tree",
        other => panic!("{other:?} is not a table"),
    };
    let bytes = bytes.strip_prefix(b"TWV\x01").expect("the first bytes");
    let mut input = Input { bytes, strings: Vec::new(), tables: tables() };
    for _ in 0..input.number() {
        let length = input.number() as usize;
        let text = String::from_utf8(input.take(length).to_vec()).expect("text");
        input.strings.push(text);
    }
    let answer = input.table(name, 1).remove(0);
    assert_eq!(input.bytes, b"", "all was read");
    answer
}

/// The bytes of base64.
pub fn unpacked(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} is not a digit"),
    };
    let digits: Vec<u32> = text.trim_end_matches('=').bytes().map(|byte| digit(byte).into()).collect();
    let group = |group: &[u32]| {
        let bits = group.iter().zip([18, 12, 6, 0]).fold(0, |bits, (digit, shift)| bits | digit << shift);
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    assert_eq!(text.len() % 4, 0);
    digits.chunks(4).flat_map(group).collect()
}

struct Input<'b> {
    bytes: &'b [u8],
    strings: Vec<String>,
    tables: HashMap<String, Vec<(String, String)>>,
}

impl Input<'_> {
    fn take(&mut self, length: usize) -> &[u8] {
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        taken
    }

    fn number(&mut self) -> u128 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.take(1)[0];
            value |= u128::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn hex(&mut self) -> Json {
        let Some(digits) = self.number().checked_sub(1) else { return Json::Null };
        let bytes = self.take((digits as usize).div_ceil(2));
        let text: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
        json!(format!("0x{}", &text[text.len() - digits as usize..]))
    }

    fn column(&mut self, kind: &str, count: usize) -> Vec<Json> {
        if let Some(name) = kind.strip_suffix("[]").or(kind.strip_suffix("{}")) {
            let lengths: Vec<usize> = (0..count).map(|_| self.number() as usize).collect();
            let mut rows = self.table(name, lengths.iter().sum()).into_iter();
            return lengths.into_iter().map(|length| rows.by_ref().take(length).collect()).collect();
        }
        let mut last = 0i128;
        let mut add = |zigzag: u128| {
            last += (zigzag >> 1) as i128 ^ -((zigzag & 1) as i128);
            json!(last as u64)
        };
        let value = |_| match kind {
            "number" => add(self.number()),
            "number?" => self.number().checked_sub(1).map_or(Json::Null, &mut add),
            "text" | "text?" => match self.number().checked_sub(1) {
                Some(place) => json!(self.strings[place as usize]),
                None => Json::Null,
            },
            "hex" | "hex?" => self.hex(),
            other => panic!("{other} is not a kind"),
        };
        (0..count).map(value).collect()
    }

    fn table(&mut self, name: &str, count: usize) -> Vec<Json> {
        let fields = self.tables[name].clone();
        let mut rows = vec![Map::new(); count];
        for (field, kind) in fields {
            for (row, value) in rows.iter_mut().zip(self.column(&kind, count)) {
                row.insert(field.clone(), value);
            }
        }
        rows.into_iter().map(Json::Object).collect()
    }
}

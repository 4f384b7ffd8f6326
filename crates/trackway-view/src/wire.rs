//! The compact form of large answers: tables, column by column, as `docs/view.md` describes them.
//!
//! `tables.rs` declares the tables once; the page reads them by the same list, `page/src/tables.ts`.

use std::collections::HashMap;

/// The first bytes of every answer, with the version of this form.
const MAGIC: &[u8; 4] = b"TWV\x01";

/// The type of the content.
pub(crate) const CONTENT: &str = "application/x-trackway";

/// A table, or an answer, which is a table of one row.
pub(crate) trait Record: Sized {
    const NAME: &'static str;
    /// Names and kinds of the fields.
    fn fields() -> Vec<(&'static str, String)>;
    /// Writes one column after the other.
    fn columns(rows: &[&Self], out: &mut Writer);
}

/// A kind of field.
pub(crate) trait Column {
    fn kind() -> String;
    fn write<'v>(values: impl Iterator<Item = &'v Self>, out: &mut Writer)
    where
        Self: 'v;
}

/// Writes an answer.
pub(crate) fn encode<R: Record>(answer: &R) -> Vec<u8> {
    let mut body = Writer::default();
    R::columns(&[answer], &mut body);
    let mut out = Writer { bytes: MAGIC.to_vec(), ..Writer::default() };
    let mut strings: Vec<(String, u64)> = body.strings.into_iter().collect();
    strings.sort_unstable_by_key(|(_, place)| *place);
    out.number(strings.len() as u64);
    for (text, _) in strings {
        out.number(text.len() as u64);
        out.bytes.extend_from_slice(text.as_bytes());
    }
    out.bytes.extend_from_slice(&body.bytes);
    out.bytes
}

#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Texts that an answer has once, by their place.
    strings: HashMap<String, u64>,
}

impl Writer {
    /// LEB128: seven bits in a byte, the lowest first.
    fn number(&mut self, value: impl Into<u128>) {
        let mut value: u128 = value.into();
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// The place of a text; 0 is none.
    fn text(&mut self, text: Option<&str>) {
        let place = text.map_or(0, |text| match self.strings.get(text) {
            Some(place) => *place,
            None => {
                let place = self.strings.len() as u64 + 1;
                self.strings.insert(text.to_string(), place);
                place
            }
        });
        self.number(place);
    }

    fn list<'v, R: Record + 'v>(&mut self, values: impl Iterator<Item = &'v Vec<R>>) {
        let mut rows: Vec<&R> = Vec::new();
        for list in values {
            self.number(list.len() as u64);
            rows.extend(list);
        }
        R::columns(&rows, self);
    }
}

/// The difference to the number before: small ones of either sign are short.
fn zigzag(last: &mut u64, value: u64) -> u64 {
    let difference = value.wrapping_sub(*last) as i64;
    *last = value;
    (difference << 1 ^ difference >> 63) as u64
}

impl Column for u64 {
    fn kind() -> String {
        "number".into()
    }

    fn write<'v>(values: impl Iterator<Item = &'v Self>, out: &mut Writer) {
        let mut last = 0;
        values.for_each(|value| out.number(zigzag(&mut last, *value)));
    }
}

impl Column for Option<u64> {
    fn kind() -> String {
        "number?".into()
    }

    fn write<'v>(values: impl Iterator<Item = &'v Self>, out: &mut Writer) {
        let mut last = 0;
        values.for_each(|value| {
            out.number(value.map_or(0, |value| u128::from(zigzag(&mut last, value)) + 1));
        });
    }
}

impl Column for String {
    fn kind() -> String {
        "text".into()
    }

    fn write<'v>(values: impl Iterator<Item = &'v Self>, out: &mut Writer) {
        values.for_each(|value| out.text(Some(value)));
    }
}

impl Column for Option<String> {
    fn kind() -> String {
        "text?".into()
    }

    fn write<'v>(values: impl Iterator<Item = &'v Self>, out: &mut Writer) {
        values.for_each(|value| out.text(value.as_deref()));
    }
}

/// Hexadecimal digits: numbers that a page would round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hex {
    Word(u64),
    /// With leading zeros, the lowest byte first.
    Bytes(Vec<u8>),
}

impl Hex {
    fn write(&self, out: &mut Writer) {
        let (digits, bytes) = match self {
            Hex::Word(word) => {
                let digits = (u64::BITS - word.leading_zeros()).div_ceil(4).max(1);
                (digits as usize, word.to_le_bytes()[..digits.div_ceil(2) as usize].to_vec())
            }
            Hex::Bytes(bytes) => (bytes.len() * 2, bytes.clone()),
        };
        out.number(digits as u64 + 1);
        out.bytes.extend(bytes);
    }
}

impl Column for Hex {
    fn kind() -> String {
        "hex".into()
    }

    fn write<'v>(values: impl Iterator<Item = &'v Self>, out: &mut Writer) {
        values.for_each(|value| value.write(out));
    }
}

impl Column for Option<Hex> {
    fn kind() -> String {
        "hex?".into()
    }

    fn write<'v>(values: impl Iterator<Item = &'v Self>, out: &mut Writer) {
        values.for_each(|value| match value {
            Some(value) => value.write(out),
            None => out.number(0u64),
        });
    }
}

/// A list that the page keeps as records.
impl<R: Record> Column for Vec<R> {
    fn kind() -> String {
        format!("{}[]", R::NAME)
    }

    fn write<'v>(values: impl Iterator<Item = &'v Self>, out: &mut Writer)
    where
        Self: 'v,
    {
        out.list(values);
    }
}

/// A long list of numbers, which the page keeps as columns.
#[derive(Debug)]
pub(crate) struct Long<R>(pub(crate) Vec<R>);

impl<R> Default for Long<R> {
    fn default() -> Self {
        Long(Vec::new())
    }
}

impl<R: Record> Column for Long<R> {
    fn kind() -> String {
        format!("{}{{}}", R::NAME)
    }

    fn write<'v>(values: impl Iterator<Item = &'v Self>, out: &mut Writer)
    where
        Self: 'v,
    {
        out.list(values.map(|value| &value.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{Access, Damage, Event, Name, Point, Rows};

    fn column<C: Column>(values: &[C]) -> Vec<u8> {
        let mut out = Writer::default();
        C::write(values.iter(), &mut out);
        out.bytes
    }

    #[test]
    fn numbers_are_differences() {
        assert_eq!(column::<u64>(&[100, 101, 99, 99, 300]), [0xc8, 0x01, 2, 3, 0, 0x92, 0x03]);
        assert_eq!(column(&[Some(5u64), None, Some(5), Some(4)]), [11, 0, 1, 2]);
        // The greatest difference of all has 64 bits, and 65 where none is possible.
        let most = column(&[u64::MAX / 2 + 1]);
        assert_eq!((most.len(), most[9]), (10, 1));
        assert_eq!(column(&[Some(u64::MAX / 2 + 1)]).len(), 10);
    }

    #[test]
    fn digits_keep_their_number() {
        let value = |value: Hex| column(&[value]);
        assert_eq!(value(Hex::Word(0)), [2, 0]);
        assert_eq!(value(Hex::Word(0x123)), [4, 0x23, 0x01]);
        assert_eq!(value(Hex::Word(u64::MAX)).len(), 9);
        assert_eq!(value(Hex::Bytes(vec![5, 0])), [5, 5, 0]);
        assert_eq!(column::<Option<Hex>>(&[None]), [0]);
    }

    #[test]
    fn texts_are_there_once_and_lists_have_lengths() {
        let event = |kind: &str| Event { kind: kind.into(), text: "a".into() };
        let rows = Rows { from: 3, rows: Vec::new(), after: vec![event("a"), event("b")], errors: vec![] };
        // Texts; from, no rows, two events by columns, no errors.
        let body = [b"TWV\x01".as_slice(), &[2, 1, b'a', 1, b'b'], &[6, 0, 2, 1, 2, 1, 1, 0]].concat();
        assert_eq!(encode(&rows), body);
    }

    #[test]
    fn kinds_are_those_of_the_types() {
        let kinds = |fields: Vec<(&str, String)>| fields.into_iter().map(|one| one.1).collect::<Vec<_>>();
        assert_eq!(kinds(Point::fields()), ["number", "hex?", "hex?"]);
        assert_eq!(kinds(Damage::fields()), ["number", "text"]);
        assert_eq!(kinds(Access::fields()), ["text", "hex?", "number", "hex?"]);
        assert_eq!(kinds(Name::fields()), ["text"]);
        assert_eq!(kinds(Rows::fields()), ["number", "Row[]", "Event[]", "Damage[]"]);
    }
}

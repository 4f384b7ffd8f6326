//! The words of the schema: tables, columns and their types. The tables themselves are declared in `tables.rs`.

/// Version of the schema. It rises when a column changes its meaning or goes away, not when one is added.
pub const SCHEMA: u32 = 1;

/// Type of the values of a column, and how text files show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A small number, 8 bits.
    Byte,
    /// A number of 32 bits.
    Number,
    /// An instruction word, 32 bits, shown in hex.
    Encoding,
    /// A count, a number or an offset, 64 bits.
    Count,
    /// An address, a value or an id, 64 bits, shown in hex.
    Address,
    /// A time, 64 bits: decimal in CSV, a string in JSON, whose numbers are not exact that far.
    Time,
    /// True or false.
    Flag,
    /// One of few words: a dictionary.
    Word,
    /// Any text.
    Text,
    /// Bytes, little-endian.
    Bytes,
}

impl Kind {
    /// The type in Arrow's words.
    pub const fn arrow(self) -> &'static str {
        match self {
            Kind::Byte => "uint8",
            Kind::Number | Kind::Encoding => "uint32",
            Kind::Count | Kind::Address | Kind::Time => "uint64",
            Kind::Flag => "bool",
            Kind::Word => "dictionary of utf8",
            Kind::Text => "utf8",
            Kind::Bytes => "binary",
        }
    }

    /// The type in Spark's words, where unsigned numbers are [mapped](crate::Integers) to signed ones.
    pub const fn spark(self) -> &'static str {
        match self {
            Kind::Byte => "smallint",
            Kind::Number | Kind::Encoding => "bigint",
            Kind::Count | Kind::Address | Kind::Time => "bigint, same 64 bits",
            Kind::Flag => "boolean",
            Kind::Word | Kind::Text => "string",
            Kind::Bytes => "binary",
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its meaning, in one sentence.
    pub about: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Values may be unknown.
    pub nullable: bool,
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its rows.
    pub about: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

//! The error value: what is wrong, and where.
//!
//! An [`Error`] is small and `Copy`. Readers of fields return a bare [`ErrorKind`]; the one place that
//! reads an item adds the item, the field and the spec section with [`ErrorKind::at`].

use std::fmt;

/// The error in the input, without its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input ends inside an item. Told apart from damage: more bytes might complete it.
    Truncated,
    /// The spec forbids this value.
    Illegal {
        /// The value found.
        found: u64,
    },
    /// The spec does not name this value and its length cannot be known.
    Unknown {
        /// The value found.
        found: u64,
    },
    /// Legal, but not something Trackway handles.
    Unsupported {
        /// The value found.
        found: u64,
    },
    /// Each part is legal, together they cannot be.
    Impossible {
        /// The value found.
        found: u64,
    },
    /// A reason in words, with the number that they are about.
    Reason {
        /// The words; `{}` is replaced by the number in decimal, `{:#x}` in hex.
        text: &'static str,
        /// The number.
        value: u64,
    },
    /// A line of text that cannot be read.
    Line {
        /// Its number, from 1.
        line: u64,
        /// The first byte of it that does not fit, from 1.
        column: u32,
        /// The thing that should be there.
        expected: &'static str,
    },
    /// Bytes after the end.
    Trailing {
        /// How many.
        count: u64,
    },
    /// Something that has to be there is not.
    Missing,
    /// The compressed data around the trace is damaged.
    Compression,
    /// The compressed data of one chunk of the file is damaged.
    Chunk {
        /// Its number, from 0.
        number: u64,
        /// The damaged place in the file.
        at: u64,
    },
    /// The operating system refused.
    Io(std::io::ErrorKind),
    /// The caller cancelled the run; see [`Cancel`](crate::Cancel).
    Cancelled,
}

impl ErrorKind {
    /// Adds the place: byte offset, item, field and spec section.
    pub const fn at(
        self,
        offset: u64,
        item: &'static str,
        field: &'static str,
        section: &'static str,
    ) -> Error {
        Error { offset, bit: 0, item, field, section, kind: self, in_container: false }
    }
}

/// An error with its place. Prints like `0x1f2: Context.el: 7 is not allowed [ASTF 4.4]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Byte offset in the decompressed stream, or in the file for errors of the container.
    pub offset: u64,
    /// Bit within that byte, for bit-packed formats.
    pub bit: u8,
    /// The native item, by the spec's name.
    pub item: &'static str,
    /// The field of the item, or empty.
    pub field: &'static str,
    /// The spec section, or empty.
    pub section: &'static str,
    /// The error.
    pub kind: ErrorKind,
    /// The offset is one of the file, not of the decompressed stream.
    pub in_container: bool,
}

/// The result of everything that reads or writes traces.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An operating-system error; it has no place in the trace.
    pub fn io(error: &std::io::Error) -> Self {
        ErrorKind::Io(error.kind()).at(0, "input", "", "")
    }

    /// The same error of the container: its offset is one of the file.
    pub const fn in_container(self) -> Self {
        Error { in_container: true, ..self }
    }

    /// True if the input just ends too early.
    pub fn is_truncated(&self) -> bool {
        matches!(self.kind, ErrorKind::Truncated)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::io(&error)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Small numbers read best in decimal, the rest in hex.
        let number = |f: &mut fmt::Formatter<'_>, n: u64| {
            if n < 10 { write!(f, "{n}") } else { write!(f, "{n:#x}") }
        };
        match *self {
            ErrorKind::Truncated => f.write_str("truncated: the input ends in the middle of this item"),
            ErrorKind::Illegal { found } => number(f, found).and_then(|()| f.write_str(" is not allowed")),
            ErrorKind::Unknown { found } => number(f, found).and_then(|()| f.write_str(" is not known")),
            ErrorKind::Unsupported { found } => {
                number(f, found).and_then(|()| f.write_str(" is not supported"))
            }
            ErrorKind::Impossible { found } => {
                number(f, found).and_then(|()| f.write_str(" contradicts what came before"))
            }
            ErrorKind::Reason { text, value } => {
                f.write_str(&text.replace("{:#x}", &format!("{value:#x}")).replace("{}", &value.to_string()))
            }
            ErrorKind::Line { line, column, expected } => {
                write!(f, "line {line}, column {column}: expected {expected}")
            }
            ErrorKind::Trailing { count } => write!(f, "{count} bytes after the end"),
            ErrorKind::Missing => f.write_str("missing"),
            ErrorKind::Compression => f.write_str("the compressed data is damaged"),
            ErrorKind::Chunk { number, at } => {
                write!(f, "the compressed data of chunk {number} is damaged at {at:#x} in the file")
            }
            ErrorKind::Io(kind) => write!(f, "{kind}"),
            ErrorKind::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.offset)?;
        if self.bit != 0 {
            write!(f, ".{}", self.bit)?;
        }
        write!(f, ": {}", self.item)?;
        if !self.field.is_empty() {
            write!(f, ".{}", self.field)?;
        }
        write!(f, ": {}", self.kind)?;
        if !self.section.is_empty() {
            write!(f, " [{}]", self.section)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_place_first() {
        let e = ErrorKind::Illegal { found: 7 }.at(0x1f2, "Context", "el", "ASTF 4.4");
        assert_eq!(e.to_string(), "0x1f2: Context.el: 7 is not allowed [ASTF 4.4]");
        let e = ErrorKind::Truncated.at(16, "EVENT", "", "STF EventRecord");
        assert_eq!(
            e.to_string(),
            "0x10: EVENT: truncated: the input ends in the middle of this item [STF EventRecord]"
        );
    }

    #[test]
    fn reasons_name_their_number() {
        let text = |text, value| ErrorKind::Reason { text, value }.to_string();
        assert_eq!(text("no code at {:#x}", 0x8000_0000), "no code at 0x80000000");
        assert_eq!(text("no trap vector for cause {}", 8), "no trap vector for cause 8");
        assert_eq!(text("no synchronisation before it", 0), "no synchronisation before it");
    }

    #[test]
    fn lines_have_a_column() {
        let kind = ErrorKind::Line { line: 12, column: 9, expected: "a register" };
        assert_eq!(
            kind.at(0x1f2, "Tarmac", "", "").to_string(),
            "0x1f2: Tarmac: line 12, column 9: expected a register"
        );
    }

    #[test]
    fn is_small() {
        assert!(size_of::<Error>() <= 96);
    }
}

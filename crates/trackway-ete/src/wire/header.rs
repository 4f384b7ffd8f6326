//! The header table: which byte opens which packet, in which version of which architecture, and where the
//! specification describes it. Reading, writing, checking and text all start from [`HEADERS`].

use trackway_core::{Error, ErrorKind};

use crate::config::Dialect;

/// The reason why a packet cannot be read, and the field that shows it.
pub(crate) type Fault = (ErrorKind, &'static str);

/// The result of reading a field; [`error_at`] adds the packet and its place.
pub(crate) type Field<T> = std::result::Result<T, Fault>;

/// The packet that a header byte opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Not a packet of this dialect.
    Reserved,
    /// Alignment Sync, Discard or Overflow, by the second byte.
    Extension,
    /// Trace Info.
    TraceInfo,
    /// Timestamp, with or without a cycle count.
    Timestamp,
    /// Trace On.
    TraceOn,
    /// Function return (ETMv4, M profile).
    FunctionReturn,
    /// Exception, with the address packet that completes it.
    Exception,
    /// Exception return (ETMv4).
    ExceptionReturn,
    /// Instrumentation.
    Instrumentation,
    /// Transaction start.
    TransactionStart,
    /// Transaction commit.
    TransactionCommit,
    /// Cycle count, format 2.
    CycleCount2,
    /// Cycle count, format 1.
    CycleCount1,
    /// Cycle count, format 3.
    CycleCount3,
    /// Commit.
    Commit,
    /// Cancel, format 1.
    Cancel1,
    /// Mispredict.
    Mispredict,
    /// Cancel, format 2.
    Cancel2,
    /// Cancel, format 3.
    Cancel3,
    /// Ignore.
    Ignore,
    /// Event.
    Event,
    /// Context.
    Context,
    /// Target address with context.
    AddressContext,
    /// Timestamp marker.
    TimestampMarker,
    /// Target address.
    Address,
    /// Q.
    Q,
    /// Source address.
    SourceAddress,
    /// Atoms.
    Atom,
    /// A packet of ETMv4's data or conditional trace: named, not decoded.
    Foreign,
}

/// Number of [`Kind`]s.
const KINDS: usize = Kind::Foreign as usize + 1;

impl Kind {
    /// The header byte of the kind, with all variable bits 0; the first one in the table if there are several.
    #[inline]
    pub const fn header(self) -> u8 {
        FIRST[self as usize]
    }
}

/// The first header byte of each kind.
const FIRST: [u8; KINDS] = {
    let mut first = [0; KINDS];
    let mut row = HEADERS.len();
    while row > 0 {
        row -= 1;
        first[HEADERS[row].kind as usize] = HEADERS[row].value;
    }
    first
};

/// The second byte of a packet that starts with `00` (K10.5.2.3 to K10.5.2.5).
pub(crate) mod extension {
    /// A further zero of an Alignment Sync.
    pub(crate) const ALIGNMENT_SYNC: u8 = 0;
    /// Discard.
    pub(crate) const DISCARD: u8 = 3;
    /// Overflow.
    pub(crate) const OVERFLOW: u8 = 5;
    /// The byte that ends the zeros of an Alignment Sync.
    pub(crate) const SYNC_END: u8 = 0x80;
    /// The minimum number of zero bytes in an Alignment Sync, its header included (K10.5.2.3).
    pub(crate) const MIN_ZEROS: u32 = 11;
}

/// The minor version that introduced a packet; `None` if the architecture does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Since {
    /// ETE 1.x.
    pub(crate) ete: Option<u8>,
    /// ETMv4.x.
    pub(crate) etm: Option<u8>,
}

const BOTH: Since = Since { ete: Some(0), etm: Some(0) };
const ETE: Since = Since { ete: Some(0), etm: None };
const ETM: Since = Since { ete: None, etm: Some(0) };

/// One row of the header table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    /// Fixed bits of the header byte.
    pub(crate) mask: u8,
    /// Value of the fixed bits.
    pub(crate) value: u8,
    /// The packet that the byte opens.
    pub(crate) kind: Kind,
    /// The packet's name in text output.
    pub(crate) name: &'static str,
    /// The section that describes the packet.
    pub(crate) section: &'static str,
    /// The versions that have the packet.
    pub(crate) since: Since,
}

impl Header {
    const fn new(
        bits: &'static str,
        kind: Kind,
        name: &'static str,
        section: &'static str,
        since: Since,
    ) -> Self {
        let bytes = bits.as_bytes();
        assert!(bytes.len() == 8, "a pattern has eight bits");
        let (mut mask, mut value, mut i) = (0, 0, 0);
        while i < 8 {
            mask = mask << 1 | (bytes[i] != b'x') as u8;
            value = value << 1 | (bytes[i] == b'1') as u8;
            i += 1;
        }
        Header { mask, value, kind, name, section, since }
    }

    /// True if this row describes `byte`.
    pub(crate) const fn matches(&self, byte: u8) -> bool {
        byte & self.mask == self.value
    }

    /// True if `dialect` has the packet.
    pub(crate) const fn exists_in(&self, dialect: &Dialect) -> bool {
        let since = if dialect.ete { self.since.ete } else { self.since.etm };
        match since {
            Some(minor) => dialect.minor >= minor,
            None => false,
        }
    }
}

/// K10.5.2.2, in the order of the encodings; narrower where the printed patterns overlap.
#[rustfmt::skip]
pub(crate) const HEADERS: &[Header] = &{
    use Kind::*;
    [
    Header::new("00000000", Extension,         "Extension",          "K10.5.2.3",  BOTH),
    Header::new("00000001", TraceInfo,         "Trace Info",         "K10.5.2.6",  BOTH),
    Header::new("0000001x", Timestamp,         "Timestamp",          "K10.5.2.16", BOTH),
    Header::new("00000100", TraceOn,           "Trace On",           "K10.5.2.7",  BOTH),
    Header::new("00000101", FunctionReturn,    "Function Return",    "ETMv4 6.4",  Since { ete: None, etm: Some(2) }),
    Header::new("00000110", Exception,         "Exception",          "K10.5.2.13", BOTH),
    Header::new("00000111", ExceptionReturn,   "Exception Return",   "ETMv4 6.4",  ETM),
    Header::new("00001001", Instrumentation,   "Instrumentation",    "K10.5.2.2",  Since { ete: Some(3), etm: None }),
    Header::new("00001010", TransactionStart,  "Transaction Start",  "K10.5.2.15", ETE),
    Header::new("00001011", TransactionCommit, "Transaction Commit", "K10.5.2.15", ETE),
    Header::new("0000110x", CycleCount2,       "Cycle Count F2",     "K10.5.2.16", BOTH),
    Header::new("0000111x", CycleCount1,       "Cycle Count F1",     "K10.5.2.16", BOTH),
    Header::new("0001xxxx", CycleCount3,       "Cycle Count F3",     "K10.5.2.16", BOTH),
    Header::new("00100xxx", Foreign,           "Numbered Data Sync Mark",   "ETMv4 6.4", ETM),
    Header::new("001010xx", Foreign,           "Unnumbered Data Sync Mark", "ETMv4 6.4", ETM),
    Header::new("00101100", Foreign,           "Unnumbered Data Sync Mark", "ETMv4 6.4", ETM),
    Header::new("00101101", Commit,            "Commit",             "K10.5.2.8",  BOTH),
    Header::new("0010111x", Cancel1,           "Cancel F1",          "K10.5.2.8",  BOTH),
    Header::new("001100xx", Mispredict,        "Mispredict",         "K10.5.2.9",  BOTH),
    Header::new("001101xx", Cancel2,           "Cancel F2",          "K10.5.2.8",  BOTH),
    Header::new("00111xxx", Cancel3,           "Cancel F3",          "K10.5.2.8",  BOTH),
    Header::new("0100000x", Foreign,           "Conditional Instruction F2", "ETMv4 6.4", ETM),
    Header::new("01000010", Foreign,           "Conditional Instruction F2", "ETMv4 6.4", ETM),
    Header::new("01000011", Foreign,           "Conditional Flush",          "ETMv4 6.4", ETM),
    Header::new("0100010x", Foreign,           "Conditional Result F4",      "ETMv4 6.4", ETM),
    Header::new("01000110", Foreign,           "Conditional Result F4",      "ETMv4 6.4", ETM),
    Header::new("0100100x", Foreign,           "Conditional Result F2",      "ETMv4 6.4", ETM),
    Header::new("01001010", Foreign,           "Conditional Result F2",      "ETMv4 6.4", ETM),
    Header::new("0100110x", Foreign,           "Conditional Result F2",      "ETMv4 6.4", ETM),
    Header::new("01001110", Foreign,           "Conditional Result F2",      "ETMv4 6.4", ETM),
    Header::new("0101xxxx", Foreign,           "Conditional Result F3",      "ETMv4 6.4", ETM),
    Header::new("011010xx", Foreign,           "Conditional Result F1",      "ETMv4 6.4", ETM),
    Header::new("01101100", Foreign,           "Conditional Instruction F1", "ETMv4 6.4", ETM),
    Header::new("01101101", Foreign,           "Conditional Instruction F3", "ETMv4 6.4", ETM),
    Header::new("0110111x", Foreign,           "Conditional Result F1",      "ETMv4 6.4", ETM),
    Header::new("01110000", Ignore,            "Ignore",             "K10.5.2.2",  Since { ete: Some(0), etm: Some(3) }),
    Header::new("01110001", Event,             "Event",              "K10.5.2.17", BOTH),
    Header::new("0111001x", Event,             "Event",              "K10.5.2.17", BOTH),
    Header::new("011101xx", Event,             "Event",              "K10.5.2.17", BOTH),
    Header::new("01111xxx", Event,             "Event",              "K10.5.2.17", BOTH),
    Header::new("1000000x", Context,           "Context",            "K10.5.2.14", BOTH),
    Header::new("1000001x", AddressContext,    "Address with Context", "K10.5.2.14", BOTH),
    Header::new("10000101", AddressContext,    "Address with Context", "K10.5.2.14", BOTH),
    Header::new("10000110", AddressContext,    "Address with Context", "K10.5.2.14", BOTH),
    Header::new("10001000", TimestampMarker,   "Timestamp Marker",   "K10.5.2.2",  Since { ete: Some(1), etm: Some(6) }),
    Header::new("1001000x", Address,           "Target Address",     "K10.5.2.14", BOTH),
    Header::new("10010010", Address,           "Target Address",     "K10.5.2.14", BOTH),
    Header::new("10010101", Address,           "Target Address",     "K10.5.2.14", BOTH),
    Header::new("10010110", Address,           "Target Address",     "K10.5.2.14", BOTH),
    Header::new("1001101x", Address,           "Target Address",     "K10.5.2.14", BOTH),
    Header::new("10011101", Address,           "Target Address",     "K10.5.2.14", BOTH),
    Header::new("10011110", Address,           "Target Address",     "K10.5.2.14", BOTH),
    Header::new("1010000x", Q,                 "Q",                  "K10.5.2.11", BOTH),
    Header::new("10100010", Q,                 "Q",                  "K10.5.2.11", BOTH),
    Header::new("10100101", Q,                 "Q",                  "K10.5.2.11", BOTH),
    Header::new("10100110", Q,                 "Q",                  "K10.5.2.11", BOTH),
    Header::new("1010101x", Q,                 "Q",                  "K10.5.2.11", BOTH),
    Header::new("10101100", Q,                 "Q",                  "K10.5.2.11", BOTH),
    Header::new("10101111", Q,                 "Q",                  "K10.5.2.11", BOTH),
    Header::new("1011000x", SourceAddress,     "Source Address",     "K10.5.2.12", ETE),
    Header::new("10110010", SourceAddress,     "Source Address",     "K10.5.2.12", ETE),
    Header::new("1011010x", SourceAddress,     "Source Address",     "K10.5.2.12", ETE),
    Header::new("1011011x", SourceAddress,     "Source Address",     "K10.5.2.12", ETE),
    Header::new("1011100x", SourceAddress,     "Source Address",     "K10.5.2.12", ETE),
    Header::new("11xxxxxx", Atom,              "Atom",               "K10.5.2.10", BOTH),
    ]
};

const _: () = {
    let mut a = 0;
    while a < HEADERS.len() {
        let mut b = a + 1;
        while b < HEADERS.len() {
            let (x, y) = (&HEADERS[a], &HEADERS[b]);
            assert!((x.value ^ y.value) & x.mask & y.mask != 0, "two header patterns overlap");
            b += 1;
        }
        a += 1;
    }
};

/// Row of [`HEADERS`] for each byte; `u8::MAX` where there is none.
const ROWS: [u8; 256] = {
    let mut rows = [u8::MAX; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut row = 0;
        while row < HEADERS.len() {
            if HEADERS[row].matches(byte as u8) {
                rows[byte] = row as u8;
            }
            row += 1;
        }
        byte += 1;
    }
    rows
};

/// The row that describes a header byte.
pub(crate) fn header(byte: u8) -> Option<&'static Header> {
    HEADERS.get(usize::from(ROWS[usize::from(byte)]))
}

/// The kind of each header byte in one dialect.
#[derive(Clone, Debug)]
pub(crate) struct Kinds([Kind; 256]);

impl Kinds {
    pub(crate) fn new(dialect: &Dialect) -> Self {
        let mut kinds = [Kind::Reserved; 256];
        for byte in 0..=255u8 {
            if let Some(row) = header(byte)
                && row.exists_in(dialect)
                && (row.kind != Kind::Q || dialect.q)
            {
                kinds[usize::from(byte)] = row.kind;
            }
        }
        Kinds(kinds)
    }

    #[inline]
    pub(crate) fn get(&self, byte: u8) -> Kind {
        self.0[usize::from(byte)]
    }
}

/// A fault of the packet that starts with `first` at `offset`.
#[cold]
pub(crate) fn error_at(first: u8, (kind, field): Fault, offset: u64) -> Error {
    let (item, section) = header(first).map_or(("packet", "K10.5.2.2"), |row| (row.name, row.section));
    kind.at(offset, item, field, section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_5_2_2_every_byte_has_at_most_one_row() {
        for byte in 0..=255u8 {
            let rows = HEADERS.iter().filter(|row| row.matches(byte)).count();
            assert_eq!(rows, usize::from(header(byte).is_some()), "{byte:02x}");
        }
        let reserved: Vec<u8> = (0..=255).filter(|&byte| header(byte).is_none()).collect();
        let mut expected = vec![0x08];
        expected.extend([0x47, 0x4b, 0x4f]);
        expected.extend(0x60..=0x67);
        expected.extend([0x84, 0x87]);
        expected.extend(0x89..=0x8f);
        expected.extend([0x93, 0x94, 0x97, 0x98, 0x99, 0x9c, 0x9f]);
        expected.extend([0xa3, 0xa4, 0xa7, 0xa8, 0xa9, 0xad, 0xae]);
        expected.extend([0xb3]);
        expected.extend(0xba..=0xbf);
        assert_eq!(reserved, expected);
    }
}

//! Every packet, declared once: the header table here, the payloads below it.
//!
//! [`HEADERS`] is the only place that says which header byte means what, since which version of which
//! architecture, and where the text describes it. Reading, writing, checking and text start from it.

use crate::config::Dialect;

/// Which packet a header byte opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// No packet of this dialect.
    Reserved,
    /// Alignment synchronisation, discard or overflow; the second byte says.
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

/// From which minor version on a packet exists; `None` means never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// ETE 1.x.
    pub ete: Option<u8>,
    /// ETMv4.x.
    pub etm: Option<u8>,
}

const BOTH: Since = Since { ete: Some(0), etm: Some(0) };
const ETE: Since = Since { ete: Some(0), etm: None };
const ETM: Since = Since { ete: None, etm: Some(0) };

/// One row of the header table.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Bits that are fixed.
    pub mask: u8,
    /// Their value.
    pub value: u8,
    /// What it opens.
    pub kind: Kind,
    /// Name, for people.
    pub name: &'static str,
    /// Where the text describes it.
    pub section: &'static str,
    /// Where it exists.
    pub since: Since,
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

    /// Does this row describe `byte`?
    pub const fn matches(&self, byte: u8) -> bool {
        byte & self.mask == self.value
    }

    /// Does the packet exist in `dialect`?
    pub const fn exists_in(&self, dialect: &Dialect) -> bool {
        let since = if dialect.ete { self.since.ete } else { self.since.etm };
        match since {
            Some(minor) => dialect.minor >= minor,
            None => false,
        }
    }
}

/// K10.5.2.2, in the order of the encodings; corrected where the printed patterns are too wide.
#[rustfmt::skip]
pub const HEADERS: &[Header] = &{
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
pub fn header(byte: u8) -> Option<&'static Header> {
    HEADERS.get(usize::from(ROWS[usize::from(byte)]))
}

/// A number in 7-bit groups, lowest first (K10.5.6.4.3): what was sent and in how many bytes, so that
/// over-long forms and should-be-zero bits survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The bits sent, from bit 0.
    pub value: u64,
    /// Bytes it took.
    pub len: u8,
}

impl Chain {
    /// The most bytes that a field of `bits` bits can take; the last one then holds eight bits.
    pub const fn max_len(bits: u32) -> u32 {
        (bits - 8).div_ceil(7) + 1
    }

    /// The shortest form of `value` in a field of `bits` bits.
    pub fn shortest(value: u64, bits: u32) -> Self {
        let max = Self::max_len(bits);
        let mut len = 1;
        while len < max && value >> (7 * len) != 0 {
            len += 1;
        }
        Chain { value, len: len as u8 }
    }

    /// How many bits of a field of `bits` bits were sent.
    pub const fn bits_sent(self, bits: u32) -> u32 {
        let sent = if self.len as u32 == Self::max_len(bits) { bits } else { 7 * self.len as u32 };
        if sent > bits { bits } else { sent }
    }

    /// The value in a field of `bits` bits: should-be-zero bits above are left out.
    pub const fn get(self, bits: u32) -> u64 {
        if bits >= 64 { self.value } else { self.value & ((1 << bits) - 1) }
    }
}

/// Bits in the fields that are chains.
pub mod width {
    /// Commit, cancel and Q counts (K10.5.2.8, K10.5.2.11).
    pub const COUNT: u32 = 32;
    /// Cycle counts (K10.5.2.16).
    pub const CYCLES: u32 = 20;
    /// Sections of Trace Info.
    pub const SECTION: u32 = 64;
    /// Short addresses (K10.5.2.14.4).
    pub const SHORT: u32 = 15;
}

/// Instruction set state in a packet (K10.5.6.2.1): with the execution state of the context it tells
/// the instruction set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SubIsa {
    /// A64 or A32.
    #[default]
    Is0,
    /// T32.
    Is1,
}

/// How an address is given. The names say how many bits are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressForm {
    /// Entry 0, 1 or 2 of the address history.
    Exact(u8),
    /// One byte, A64 or A32.
    Short1Is0,
    /// Two bytes, A64 or A32.
    Short2Is0,
    /// One byte, T32.
    Short1Is1,
    /// Two bytes, T32.
    Short2Is1,
    /// 32 bits, A64 or A32.
    Long32Is0,
    /// 32 bits, T32.
    Long32Is1,
    /// 64 bits, A64 or A32.
    Long64Is0,
    /// 64 bits, T32.
    Long64Is1,
}

impl AddressForm {
    /// The instruction set state that this form says; an exact match takes the entry's.
    pub const fn sub_isa(self) -> Option<SubIsa> {
        use AddressForm::*;
        match self {
            Exact(_) => None,
            Short1Is0 | Short2Is0 | Long32Is0 | Long64Is0 => Some(SubIsa::Is0),
            Short1Is1 | Short2Is1 | Long32Is1 | Long64Is1 => Some(SubIsa::Is1),
        }
    }

    /// Which bits of the address are sent; the others come from the address history.
    pub const fn sent(self) -> u64 {
        use AddressForm::*;
        match self {
            Exact(_) => 0,
            Short1Is0 => 0x1ff,
            Short2Is0 => 0x1_ffff,
            Short1Is1 => 0xff,
            Short2Is1 => 0xffff,
            Long32Is0 | Long32Is1 => 0xffff_ffff,
            Long64Is0 | Long64Is1 => u64::MAX,
        }
    }
}

/// An address as sent (K10.5.2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The bits sent, at their place in the address.
    pub bits: u64,
    /// How it is given.
    pub form: AddressForm,
    /// Should-be-zero bits of the first and second payload byte of the long forms (bits 0 and 1).
    pub sbz: u8,
}

impl Address {
    /// The part of `address` that `form` sends.
    pub const fn new(form: AddressForm, address: u64) -> Self {
        let low = match form.sub_isa() {
            Some(SubIsa::Is0) => !3,
            _ => !1,
        };
        Address { bits: address & form.sent() & low, form, sbz: 0 }
    }
}

/// One entry of the address history (K10.5.6.3.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The address.
    pub address: u64,
    /// Instruction set state there.
    pub sub_isa: SubIsa,
}

/// The last three addresses, newest first (K10.5.6.3.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History(pub [Entry; 3]);

impl History {
    /// Makes `entry` the newest.
    #[inline]
    pub fn add(&mut self, entry: Entry) {
        self.0 = [entry, self.0[0], self.0[1]];
    }

    /// The full address that `address` stands for; it becomes the newest.
    #[inline]
    pub fn apply(&mut self, address: &Address) -> Entry {
        let entry = match address.form {
            AddressForm::Exact(n) => self.0[usize::from(n.min(2))],
            form => Entry {
                address: self.0[0].address & !form.sent() | address.bits,
                sub_isa: match form.sub_isa() {
                    Some(sub_isa) => sub_isa,
                    None => SubIsa::Is0,
                },
            },
        };
        self.add(entry);
        entry
    }
}

/// The payload of a context (K10.5.2.14.9; bit 3 is NSE).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The information byte: EL in bits 1:0, NSE 3, SF 4, NS 5, V 6, C 7; bit 2 should be zero.
    pub info: u8,
    /// Virtual context identifier, if V.
    pub vmid: u32,
    /// Context identifier, if C.
    pub context_id: u32,
}

impl Context {
    /// Exception level.
    pub const fn el(&self) -> u8 {
        self.info & 3
    }
    /// NSE and NS as a number: 0 Secure, 1 Non-secure, 2 Root, 3 Realm.
    pub const fn security(&self) -> u8 {
        self.info >> 2 & 2 | self.info >> 5 & 1
    }
    /// AArch64?
    pub const fn sixty_four_bit(&self) -> bool {
        self.info & 0x10 != 0
    }
    /// Virtual context identifier present?
    pub const fn has_vmid(&self) -> bool {
        self.info & 0x40 != 0
    }
    /// Context identifier present?
    pub const fn has_context_id(&self) -> bool {
        self.info & 0x80 != 0
    }
}

/// Trace Info (K10.5.2.6): sections in the order of PLCTL's bits, each of them a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceInfo {
    /// Which sections follow: INFO 0, KEY 1, SPEC 2, CYCT 3, WINDOW 4.
    pub plctl: Chain,
    /// The sections; those that are absent are zero bytes long.
    pub sections: [Chain; 5],
}

impl TraceInfo {
    /// Names of the sections.
    pub const SECTIONS: [&'static str; 5] = ["INFO", "KEY", "SPEC", "CYCT", "WINDOW"];

    /// A Trace Info with the sections that are not zero.
    pub fn new(info: u64, spec: u64, cyct: u64) -> Self {
        let mut trace_info = TraceInfo::default();
        let mut plctl = 0;
        for (section, value) in [(0, info), (2, spec), (3, cyct)] {
            if value != 0 {
                plctl |= 1 << section;
                trace_info.sections[section] = Chain::shortest(value, width::SECTION);
            }
        }
        trace_info.plctl = Chain { value: plctl, len: 1 };
        trace_info
    }

    /// Cycle counting is on.
    pub const fn cycle_counting(&self) -> bool {
        self.sections[0].value & 1 != 0
    }
    /// In a transaction.
    pub const fn in_transaction(&self) -> bool {
        self.sections[0].value & 0x40 != 0
    }
    /// Speculation depth.
    pub const fn depth(&self) -> u64 {
        self.sections[2].value
    }
    /// Cycle count threshold.
    pub const fn threshold(&self) -> u64 {
        if self.cycle_counting() { self.sections[3].value } else { 0 }
    }
}

/// What completes an exception packet (K10.5.2.13.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionAddress {
    /// A target address packet.
    Address(Address),
    /// A target address with context packet.
    WithContext(Address, Context),
    /// `70`: the address is unknown (ETE).
    Unknown,
}

/// An exception packet with its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// First information byte: E in bits 6 and 0, type in 5:1, further byte (ETMv4) in 7.
    pub info: u8,
    /// Second information byte (ETMv4).
    pub info2: Option<u8>,
    /// The address packet behind it.
    pub address: ExceptionAddress,
}

impl Exception {
    /// Bits 6 and 0 as a number: 1 return address, 2 return address is also the last target.
    pub const fn e(&self) -> u8 {
        self.info >> 5 & 2 | self.info & 1
    }
    /// Is a fault pending (ETMv4, M profile)?
    pub const fn fault_pending(&self) -> bool {
        matches!(self.info2, Some(info) if info & 0x20 != 0)
    }
    /// The type.
    pub const fn exception_type(&self) -> u16 {
        let low = (self.info >> 1 & 0x1f) as u16;
        match self.info2 {
            Some(high) => low | ((high & 0x1f) as u16) << 5,
            None => low,
        }
    }
}

/// A packet. What it cannot hold is not on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Alignment synchronisation (K10.5.2.3): so many zero bytes, then `80`.
    AlignmentSync {
        /// Zero bytes; eleven or more.
        zeros: u32,
    },
    /// Discard (K10.5.2.4).
    Discard,
    /// Overflow (K10.5.2.5).
    Overflow,
    /// Trace Info (K10.5.2.6).
    TraceInfo(TraceInfo),
    /// Timestamp (K10.5.2.16.1).
    Timestamp {
        /// Low bits of the timestamp; those not sent keep their value.
        value: Chain,
        /// Cycles since the last cycle count.
        count: Option<Chain>,
    },
    /// Trace On (K10.5.2.7).
    TraceOn,
    /// Function return (ETMv4, M profile).
    FunctionReturn,
    /// Exception (K10.5.2.13).
    Exception(Exception),
    /// Exception return (ETMv4).
    ExceptionReturn,
    /// Instrumentation.
    Instrumentation {
        /// Exception level, and bits that should be zero.
        el: u8,
        /// What the instruction wrote.
        value: u64,
    },
    /// Transaction start (K10.5.2.15).
    TransactionStart,
    /// Transaction commit (K10.5.2.15).
    TransactionCommit,
    /// Cycle count, format 1; without a count it is unknown.
    CycleCount1 {
        /// P0 elements committed, with COMMOPT 0.
        commit: Option<Chain>,
        /// Cycles above the threshold.
        count: Option<Chain>,
    },
    /// Cycle count, format 2.
    CycleCount2 {
        /// F: AAAA counts down from the maximum depth.
        from_max: bool,
        /// AAAA in bits 7:4 (COMMOPT 0), BBBB in bits 3:0.
        payload: u8,
    },
    /// Cycle count, format 3: AA in bits 3:2 (COMMOPT 0), BB in bits 1:0.
    CycleCount3(u8),
    /// Commit (K10.5.2.8.1).
    Commit(Chain),
    /// Cancel, format 1.
    Cancel1 {
        /// A mispredict follows.
        mispredict: bool,
        /// P0 elements cancelled.
        count: Chain,
    },
    /// Mispredict, with atoms before it (0 none, 1 E, 2 EE, 3 N).
    Mispredict(u8),
    /// Cancel, format 2: atoms, then cancel 1, then mispredict.
    Cancel2(u8),
    /// Cancel, format 3: E if bit 0, then cancel bits 2:1 plus 2, then mispredict.
    Cancel3(u8),
    /// Ignore.
    Ignore,
    /// Events, one per bit (K10.5.2.17).
    Event(u8),
    /// Context; `None` says that it is as before.
    Context(Option<Context>),
    /// Target address with context.
    AddressContext(Address, Context),
    /// Timestamp marker.
    TimestampMarker,
    /// Target address.
    Address(Address),
    /// Q (K10.5.2.11); type 12 has a count only, type 15 nothing.
    Q {
        /// The next address.
        address: Option<Address>,
        /// Instructions executed.
        count: Option<Chain>,
    },
    /// Source address (K10.5.2.12).
    SourceAddress(Address),
    /// Atoms, by their header.
    Atom(Atoms),
}

/// The atoms of a header byte (K10.5.2.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atoms {
    /// The header byte, `C0` to `FF`.
    pub header: u8,
}

/// Atoms of the headers `C0` to `FF`: how many, and one bit each (1 is E), first in bit 0.
const ATOMS: [(u8, u32); 64] = {
    let mut table = [(0, 0); 64];
    let mut i = 0;
    while i < 64 {
        let low = i as u32;
        table[i] = match 0xc0 | i as u8 {
            0xf6 | 0xf7 => (1, low & 1),
            0xd8..=0xdb => (2, low & 3),
            0xf8..=0xff => (3, low & 7),
            0xdc => (4, 0b1110),
            0xdd => (4, 0b0000),
            0xde => (4, 0b1010),
            0xdf => (4, 0b0101),
            0xf5 => (5, 0b11110),
            0xd5 => (5, 0b00000),
            0xd6 => (5, 0b01010),
            0xd7 => (5, 0b10101),
            // Format 6: COUNT + 3 times E, then E or N.
            _ => {
                let es = (low & 0x1f) + 3;
                let last = if low & 0x20 == 0 { 1 << es } else { 0 };
                (es as u8 + 1, last | ((1 << es) - 1))
            }
        };
        i += 1;
    }
    table
};

impl Atoms {
    /// How many, and one bit each (1 is E), the first in bit 0.
    #[inline]
    pub const fn get(self) -> (u8, u32) {
        ATOMS[(self.header & 0x3f) as usize]
    }

    /// The header for exactly these atoms, if there is one.
    pub fn find(count: u8, bits: u32) -> Option<Self> {
        // The short formats come last in the table, and are to be preferred.
        let index = ATOMS.iter().rposition(|&atoms| atoms == (count, bits))?;
        Some(Atoms { header: 0xc0 | index as u8 })
    }

    /// The format number, 1 to 6.
    pub const fn format(self) -> u8 {
        match self.header {
            0xf6 | 0xf7 => 1,
            0xd8..=0xdb => 2,
            0xf8..=0xff => 3,
            0xdc..=0xdf => 4,
            0xf5 | 0xd5..=0xd7 => 5,
            _ => 6,
        }
    }
}

/// Atoms that mispredict and cancel format 2 carry: none, E, EE, N.
pub const SHORT_ATOMS: [(u8, u32); 4] = [(0, 0), (1, 1), (2, 0b11), (1, 0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_5_2_10_atoms() {
        let text = |header| {
            let (count, bits) = Atoms { header }.get();
            (0..count).map(|i| if bits >> i & 1 == 1 { 'E' } else { 'N' }).collect::<String>()
        };
        assert_eq!(text(0xf7), "E");
        assert_eq!(text(0xda), "NE");
        assert_eq!(text(0xf9), "ENN");
        assert_eq!(text(0xdc), "NEEE");
        assert_eq!(text(0xf5), "NEEEE");
        assert_eq!(text(0xd7), "ENENE");
        assert_eq!(text(0xc0), "EEEE");
        assert_eq!(text(0xe0), "EEEN");
        assert_eq!(text(0xd4), "E".repeat(24));
        assert_eq!(text(0xf4), "E".repeat(23) + "N");
        for header in 0xc0..=0xff {
            let (count, bits) = Atoms { header }.get();
            assert_eq!(Atoms::find(count, bits).map(Atoms::get), Some((count, bits)));
        }
    }

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

    #[test]
    fn k10_5_6_4_3_lengths_of_chains() {
        assert_eq!([15, 20, 32, 48, 64].map(Chain::max_len), [2, 3, 5, 7, 9]);
        assert_eq!(Chain::shortest(0x7f, 20), Chain { value: 0x7f, len: 1 });
        assert_eq!(Chain::shortest(0x80, 20), Chain { value: 0x80, len: 2 });
        assert_eq!(Chain::shortest(u64::MAX, 64).len, 9);
        assert_eq!(Chain { value: 0, len: 9 }.bits_sent(64), 64);
        assert_eq!(Chain { value: 0, len: 2 }.bits_sent(64), 14);
    }
}

//! Every STF record, declared once: descriptor, name, fields, and the rules section that it comes from.
//!
//! The layouts are those of real files (`docs/formats/stf.md`), which refine the text of version 1.3.

use trackway_core::{Bytes, ErrorKind};

use crate::fields::{Data, Entries, EventId, Metadata, Protocol, Register, Text16, Text32, Wire};
use crate::layout::Layout;

/// Declares the records: `descriptor Variant "NAME" "section" { field: type, … }`.
///
/// Reading, writing and showing all expand from this list; the reader to one `match`.
macro_rules! records {
    ($($(#[$meta:meta])* $number:literal $variant:ident $name:literal $section:literal
        { $($(#[$fmeta:meta])* $field:ident: $ty:ty),* })*) => {
        /// An STF record. Texts and lists borrow from the input.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Record<'a> {
            $($(#[$meta])* $variant { $($(#[$fmeta])* $field: $ty),* },)*
        }

        /// Descriptors, names and sections of all records, in the order of their numbers.
        pub const RECORDS: &[(u8, &str, &str)] = &[$(($number, $name, $section)),*];

        impl<'a> Record<'a> {
            /// Reads the record behind the descriptor; `bytes` stands after it.
            #[inline(always)]
            pub(crate) fn read_body(
                descriptor: u8,
                bytes: &mut Bytes<'a>,
                layout: &Layout,
            ) -> Result<Self, Fault> {
                match descriptor {
                    $($number => {
                        $(let $field: $ty = match Wire::read(bytes, layout) {
                            Ok(value) => value,
                            Err(kind) => return Err(Fault { kind, field: stringify!($field) }),
                        };)*
                        Ok(Record::$variant { $($field),* })
                    })*
                    _ => Err(Fault { kind: ErrorKind::Unknown { found: descriptor.into() }, field: "descriptor" }),
                }
            }

            /// Writes the record, descriptor first.
            #[inline(always)]
            pub fn write(&self, out: &mut Vec<u8>, layout: &Layout) {
                match self {
                    $(Record::$variant { $($field),* } => {
                        out.push($number);
                        $(Wire::write($field, out, layout);)*
                    })*
                }
            }

            /// Its descriptor.
            pub const fn descriptor(&self) -> u8 {
                match self { $(Record::$variant { .. } => $number,)* }
            }

            /// Its name.
            pub const fn name(&self) -> &'static str {
                match self { $(Record::$variant { .. } => $name,)* }
            }
        }
    };
}

/// Expands to a `match` over the records that traces mostly consist of: reads the one at the front of a
/// window that is longer than any of them, and hands it on in its own arm, so that what follows is compiled
/// for that record. `$rare` is for all others, and for those that the window is too short for.
macro_rules! read_common {
    ($window:expr, $layout:expr, |$record:ident, $len:ident| $then:expr, else $rare:expr) => {
        read_common!(@arms $window, $layout, |$record, $len| $then, else $rare,
            240 241 60 61 31 40)
    };
    (@arms $window:expr, $layout:expr, |$record:ident, $len:ident| $then:expr, else $rare:expr,
        $($descriptor:literal)*) => {
        match $window[0] {
            $($descriptor => {
                let mut cursor = trackway_core::Bytes::new(&$window[1..]);
                match $crate::record::Record::read_body($descriptor, &mut cursor, $layout) {
                    Ok($record) => {
                        let $len = 1 + cursor.position();
                        $then
                    }
                    Err(_) => $rare,
                }
            })*
            _ => $rare,
        }
    };
}
pub(crate) use read_common;

/// Why a record could not be read, and at which field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) field: &'static str,
}

records! {
    /// No record: a descriptor of 0 marks damage.
    0 Reserved "RESERVED" "STF_RESERVED (0)" {}
    /// The first record: the letters `STF`.
    1 Identifier "IDENTIFIER" "STFIdentifierRecord (1)" {
        /// The letters.
        magic: [u8; 3]
    }
    /// The second record: version of the specification.
    2 Version "VERSION" "VersionRecord (2)" {
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32
    }
    /// Free text.
    3 Comment "COMMENT" "CommentRecord (3)" {
        /// The text.
        text: Text32<'a>
    }
    /// Instruction set.
    4 Isa "ISA" "ISARecord (4)" {
        /// 1 RISC-V, 2 Arm, 3 x86, 4 Power.
        isa: u16
    }
    /// Instruction encoding mode.
    5 InstIem "INST_IEM" "InstIEMRecord (5)" {
        /// 1 RV32, 2 RV64.
        mode: u16
    }
    /// A tool that made or changed the trace.
    6 TraceInfo "TRACE_INFO" "TraceInfoRecord (6)" {
        /// Which tool.
        generator: u8,
        /// Its major version.
        major: u8,
        /// Its minor version.
        minor: u8,
        /// Its patch level.
        patch: u8,
        /// What it says of itself.
        text: Text16<'a>
    }
    /// What the trace promises to contain.
    7 TraceInfoFeature "TRACE_INFO_FEATURE" "TraceInfoFeatureRecord (7)" {
        /// Bit set.
        features: u64
    }
    /// Process and thread; what the words are is a setting.
    8 ProcessIdExt "PROCESS_ID_EXT" "ProcessIDExtRecord (8)" {
        /// First word.
        first: u32,
        /// Second word.
        second: u32,
        /// Third word.
        third: u32
    }
    /// Address of the next instruction, whatever came before.
    9 ForcePc "FORCE_PC" "ForcePCRecord (9)" {
        /// The address.
        pc: u64
    }
    /// Vector register length (1.4).
    10 VlenConfig "VLEN_CONFIG" "STF 1.4 VLEN_CONFIG (10)" {
        /// Bits.
        bits: u32
    }
    /// Bus protocol of a transaction trace.
    11 ProtocolId "PROTOCOL_ID" "PROTOCOL_ID (11)" {
        /// 1 TileLink.
        protocol: u8
    }
    /// A clock of a transaction trace.
    12 ClockId "CLOCK_ID" "CLOCK_ID (12)" {
        /// Its number.
        clock: u8,
        /// Its name.
        name: Text16<'a>
    }
    /// ISA string (1.6).
    13 IsaExtended "ISA_EXTENDED" "STF 1.6 ISA_EXTENDED (13)" {
        /// The string.
        text: Text32<'a>
    }
    /// The header ends.
    19 EndHeader "END_HEADER" "EndHeaderRecord (19)" {}
    /// Where the branch of this group goes.
    31 InstPcTarget "INST_PC_TARGET" "InstPCTargetRecord (31)" {
        /// The address.
        pc: u64
    }
    /// A register.
    40 InstReg "INST_REG" "InstRegRecord (40)" {
        /// Which, why and its content.
        register: Register<'a>
    }
    /// A register marked ready.
    41 InstReadyReg "INST_READY_REG" "InstReadyRegRecord (41)" {
        /// Its number.
        number: u16
    }
    /// A page table walk.
    50 PageTableWalk "PAGE_TABLE_WALK" "PageTableWalkRecord (50)" {
        /// The address translated.
        address: u64,
        /// Instruction that first uses the page.
        first_use: u64,
        /// Page size in bytes.
        size: u32,
        /// Entry addresses and raw entries.
        entries: Entries<'a>
    }
    /// A memory access.
    60 InstMemAccess "INST_MEM_ACCESS" "InstMemAccessRecord (60)" {
        /// Virtual address.
        address: u64,
        /// Size; the unit is a setting.
        size: u16,
        /// Attributes.
        attributes: u16,
        /// 1 read, 2 write.
        access: u8
    }
    /// Data of the access before it.
    61 InstMemContent "INST_MEM_CONTENT" "InstMemContentRecord (61)" {
        /// Right-justified.
        data: u64
    }
    /// An access by another bus master.
    62 BusMasterAccess "BUS_MASTER_ACCESS" "BusMasterAccessRecord (62)" {
        /// Address.
        address: u64,
        /// Size.
        size: u16,
        /// Kind of master; the numbering is a setting.
        master: u8,
        /// Which of that kind.
        index: u8,
        /// Attributes.
        attributes: u32,
        /// 1 read, 2 write.
        access: u8
    }
    /// Data of the bus access before it.
    63 BusMasterContent "BUS_MASTER_CONTENT" "BusMasterContentRecord (63)" {
        /// Right-justified.
        data: u64
    }
    /// Exception, interrupt or mode change.
    100 Event "EVENT" "EventRecord (100)" {
        /// Which.
        id: EventId,
        /// Its data words.
        data: Data<'a>
    }
    /// Where the event goes.
    101 EventPcTarget "EVENT_PC_TARGET" "EventPCTargetRecord (101)" {
        /// The address.
        pc: u64
    }
    /// A micro-op of the instruction that follows.
    230 InstMicroop "INST_MICROOP" "InstMicroOpRecord (230)" {
        /// Its size in bytes.
        size: u8,
        /// The micro-op.
        op: u32
    }
    /// A 32-bit instruction: completes the group.
    240 InstOpcode32 "INST_OPCODE32" "Inst32Record (240)" {
        /// The encoding.
        opcode: u32
    }
    /// A 16-bit instruction: completes the group.
    241 InstOpcode16 "INST_OPCODE16" "Inst16Record (241)" {
        /// The encoding.
        opcode: u16
    }
    /// A bus transaction: completes the group in transaction traces.
    250 Transaction "TRANSACTION" "TRANSACTION (250)" {
        /// Its number.
        id: u64,
        /// Cycles since the one before.
        delta: u64,
        /// Clock.
        clock: u8,
        /// Typed values.
        metadata: Metadata<'a>,
        /// What the protocol adds.
        protocol: Protocol<'a>
    }
    /// A transaction that the next one waits for.
    251 TransactionDependency "TRANSACTION_DEPENDENCY" "TRANSACTION_DEPENDENCY (251)" {
        /// Its number.
        id: u64,
        /// Cycles between.
        delta: u64,
        /// Clock.
        clock: u8
    }
    /// The last record, where a writer makes one.
    255 ReserveEnd "RESERVE_END" "STFReserveEndRecord (255)" {}
}

/// Name and section of a descriptor; those of no record share one.
pub(crate) fn describe(descriptor: u8) -> (&'static str, &'static str) {
    RECORDS
        .iter()
        .find(|record| record.0 == descriptor)
        .map_or(("record", "STF Specification of Records"), |record| (record.1, record.2))
}

impl Record<'_> {
    /// True for the records that complete a group: chunks are counted in these.
    #[inline(always)]
    pub fn is_marker(&self) -> bool {
        matches!(self, Record::InstOpcode16 { .. } | Record::InstOpcode32 { .. } | Record::Transaction { .. })
    }

    /// True for the records that belong before END_HEADER.
    pub const fn is_header(&self) -> bool {
        self.descriptor() <= 19
    }
}

const _: () = {
    // Descriptors ascend, so none is declared twice.
    let mut n = 1;
    while n < RECORDS.len() {
        assert!(RECORDS[n - 1].0 < RECORDS[n].0);
        n += 1;
    }
};

//! Every STF record, declared once: descriptor, name, section, fields.
//!
//! The layouts are those of real files (`docs/formats/stf.md`), which refine the text of version 1.3.

use trackway_core::{Bytes, ErrorKind};

use crate::fields::{Data, Entries, EventId, Layout, Metadata, Protocol, Register, Text16, Text32, Wire};
use crate::values::features;

/// Declares the records: `descriptor Variant NAME "section" { field: type, … }`.
///
/// The enum, its reader (one `match`), its writer, the names and the descriptor constants expand from this list.
macro_rules! records {
    ($($(#[$meta:meta])* $number:literal $variant:ident $name:ident $section:literal
        { $($(#[$fmeta:meta])* $field:ident: $ty:ty),* })*) => {
        /// An STF record. Texts and lists borrow from the input.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Record<'a> {
            $($(#[$meta])* $variant { $($(#[$fmeta])* $field: $ty),* },)*
        }

        /// The descriptor byte of each record.
        #[allow(dead_code)] // The list is whole; not every record is needed by number.
        pub(crate) mod descriptor {
            $(pub(crate) const $name: u8 = $number;)*
        }

        /// Descriptors, names and sections of all records, in the order of their numbers.
        pub const RECORDS: &[(u8, &str, &str)] = &[$(($number, stringify!($name), $section)),*];

        impl<'a> Record<'a> {
            /// Reads the fields of a record; `bytes` starts after the descriptor.
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

            /// The descriptor byte.
            pub const fn descriptor(&self) -> u8 {
                match self { $(Record::$variant { .. } => $number,)* }
            }

            /// The name in the specification.
            pub const fn name(&self) -> &'static str {
                match self { $(Record::$variant { .. } => stringify!($name),)* }
            }
        }
    };
}

/// Expands to a `match` over the records that traces mostly consist of. It reads the one at the front of a
/// window that is longer than any of them and runs `$then` in that record's own arm, so that the compiler
/// specialises it. `$rare` runs for all other records, and for those that the window cuts off.
macro_rules! read_common {
    ($window:expr, $layout:expr, |$record:ident, $len:ident| $then:expr, else $rare:expr) => {
        read_common!(@arms $window, $layout, |$record, $len| $then, else $rare,
            INST_OPCODE32 INST_OPCODE16 INST_MEM_ACCESS INST_MEM_CONTENT INST_PC_TARGET INST_REG)
    };
    (@arms $window:expr, $layout:expr, |$record:ident, $len:ident| $then:expr, else $rare:expr,
        $($descriptor:ident)*) => {
        match $window[0] {
            $($crate::record::descriptor::$descriptor => {
                let mut cursor = trackway_core::Bytes::new(&$window[1..]);
                let descriptor = $crate::record::descriptor::$descriptor;
                match $crate::record::Record::read_body(descriptor, &mut cursor, $layout) {
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
    /// Descriptor 0 is never written; reading it means damage.
    0 Reserved RESERVED "STF_RESERVED (0)" {}
    /// The first record: the letters `STF`.
    1 Identifier IDENTIFIER "STFIdentifierRecord (1)" {
        /// The letters.
        magic: [u8; 3]
    }
    /// The second record: version of the specification.
    2 Version VERSION "VersionRecord (2)" {
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32
    }
    /// Free text.
    3 Comment COMMENT "CommentRecord (3)" {
        /// The text.
        text: Text32<'a>
    }
    /// Instruction set.
    4 Isa ISA "ISARecord (4)" {
        /// 1 RISC-V, 2 Arm, 3 x86, 4 Power.
        isa: u16
    }
    /// Instruction encoding mode.
    5 InstIem INST_IEM "InstIEMRecord (5)" {
        /// 1 RV32, 2 RV64.
        mode: u16
    }
    /// A tool that made or changed the trace.
    6 TraceInfo TRACE_INFO "TraceInfoRecord (6)" {
        /// The tool, by its number in the specification.
        generator: u8,
        /// Major version of the tool.
        major: u8,
        /// Minor version of the tool.
        minor: u8,
        /// Patch level of the tool.
        patch: u8,
        /// Free text of the tool.
        text: Text16<'a>
    }
    /// Kinds of content that the trace declares.
    7 TraceInfoFeature TRACE_INFO_FEATURE "TraceInfoFeatureRecord (7)" {
        /// Bits as in [`features`](crate::values::features).
        features: u64
    }
    /// Process and thread; a setting says which word is which.
    8 ProcessIdExt PROCESS_ID_EXT "ProcessIDExtRecord (8)" {
        /// First word.
        first: u32,
        /// Second word.
        second: u32,
        /// Third word.
        third: u32
    }
    /// Sets the address of the next instruction.
    9 ForcePc FORCE_PC "ForcePCRecord (9)" {
        /// The address.
        pc: u64
    }
    /// Vector register length (1.4).
    10 VlenConfig VLEN_CONFIG "STF 1.4 VLEN_CONFIG (10)" {
        /// Length in bits.
        bits: u32
    }
    /// Bus protocol of a transaction trace.
    11 ProtocolId PROTOCOL_ID "PROTOCOL_ID (11)" {
        /// 1 TileLink.
        protocol: u8
    }
    /// A clock of a transaction trace.
    12 ClockId CLOCK_ID "CLOCK_ID (12)" {
        /// Number that TRANSACTION records refer to.
        clock: u8,
        /// Name of the clock.
        name: Text16<'a>
    }
    /// ISA string (1.6).
    13 IsaExtended ISA_EXTENDED "STF 1.6 ISA_EXTENDED (13)" {
        /// The string.
        text: Text32<'a>
    }
    /// The header ends.
    19 EndHeader END_HEADER "EndHeaderRecord (19)" {}
    /// Address that the branch of this group goes to.
    31 InstPcTarget INST_PC_TARGET "InstPCTargetRecord (31)" {
        /// The address.
        pc: u64
    }
    /// A register.
    40 InstReg INST_REG "InstRegRecord (40)" {
        /// Number, class, role and content.
        register: Register<'a>
    }
    /// A register marked ready.
    41 InstReadyReg INST_READY_REG "InstReadyRegRecord (41)" {
        /// Register number.
        number: u16
    }
    /// A page table walk.
    50 PageTableWalk PAGE_TABLE_WALK "PageTableWalkRecord (50)" {
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
    60 InstMemAccess INST_MEM_ACCESS "InstMemAccessRecord (60)" {
        /// Virtual address.
        address: u64,
        /// Size; the unit is a setting.
        size: u16,
        /// Implementation-defined attributes.
        attributes: u16,
        /// 1 read, 2 write.
        access: u8
    }
    /// Data of the access before it.
    61 InstMemContent INST_MEM_CONTENT "InstMemContentRecord (61)" {
        /// Up to 8 bytes, right-justified.
        data: u64
    }
    /// An access by another bus master.
    62 BusMasterAccess BUS_MASTER_ACCESS "BusMasterAccessRecord (62)" {
        /// Bus address.
        address: u64,
        /// Size, in the same unit as INST_MEM_ACCESS.
        size: u16,
        /// Kind of master; the numbering is a setting.
        master: u8,
        /// Index among the masters of that kind.
        index: u8,
        /// Implementation-defined attributes.
        attributes: u32,
        /// 1 read, 2 write.
        access: u8
    }
    /// Data of the bus access before it.
    63 BusMasterContent BUS_MASTER_CONTENT "BusMasterContentRecord (63)" {
        /// Up to 8 bytes, right-justified.
        data: u64
    }
    /// Exception, interrupt or mode change.
    100 Event EVENT "EventRecord (100)" {
        /// Interrupt, exception or meta-event, and its number.
        id: EventId,
        /// Metadata words; their meaning depends on the id.
        data: Data<'a>
    }
    /// Address that the event leads to.
    101 EventPcTarget EVENT_PC_TARGET "EventPCTargetRecord (101)" {
        /// The address.
        pc: u64
    }
    /// A micro-op of the instruction that follows.
    230 InstMicroop INST_MICROOP "InstMicroOpRecord (230)" {
        /// Size in bytes.
        size: u8,
        /// Encoding of the micro-op.
        op: u32
    }
    /// A 32-bit instruction: completes the group.
    240 InstOpcode32 INST_OPCODE32 "Inst32Record (240)" {
        /// The encoding.
        opcode: u32
    }
    /// A 16-bit instruction: completes the group.
    241 InstOpcode16 INST_OPCODE16 "Inst16Record (241)" {
        /// The encoding.
        opcode: u16
    }
    /// A bus transaction: completes the group in transaction traces.
    250 Transaction TRANSACTION "TRANSACTION (250)" {
        /// Transaction number.
        id: u64,
        /// Cycles since the previous transaction.
        delta: u64,
        /// Clock that the cycles count, declared by CLOCK_ID.
        clock: u8,
        /// Typed values.
        metadata: Metadata<'a>,
        /// Protocol-specific part.
        protocol: Protocol<'a>
    }
    /// A transaction that the next one waits for.
    251 TransactionDependency TRANSACTION_DEPENDENCY "TRANSACTION_DEPENDENCY (251)" {
        /// Number of the transaction that is waited for.
        id: u64,
        /// Cycles between the two.
        delta: u64,
        /// Clock that the cycles count.
        clock: u8
    }
    /// The last record, if the writer emits one.
    255 ReserveEnd RESERVE_END "STFReserveEndRecord (255)" {}
}

/// Name and section of a descriptor, or generic ones for a descriptor without a record.
pub(crate) fn describe(descriptor: u8) -> (&'static str, &'static str) {
    RECORDS
        .iter()
        .find(|record| record.0 == descriptor)
        .map_or(("record", "STF Specification of Records"), |record| (record.1, record.2))
}

/// Lengths of the records of usual groups, for the loops that take many of them at once.
pub(crate) mod length {
    pub(crate) const TARGET: usize = 9;
    /// Of 64 bits.
    pub(crate) const REGISTER: usize = 12;
    pub(crate) const ACCESS: usize = 14;
    /// Of at most 8 bytes.
    pub(crate) const CONTENT: usize = 9;
}

impl Record<'_> {
    /// True for the records that complete a group: chunks are counted in these.
    #[inline(always)]
    pub fn is_marker(&self) -> bool {
        matches!(self, Record::InstOpcode16 { .. } | Record::InstOpcode32 { .. } | Record::Transaction { .. })
    }

    /// True for the records that belong before END_HEADER.
    pub(crate) const fn is_header(&self) -> bool {
        self.descriptor() <= descriptor::END_HEADER
    }
}

impl Layout {
    /// Takes the widths from a header record that settles one.
    #[inline]
    pub fn note(&mut self, record: &Record<'_>) {
        match *record {
            Record::TraceInfoFeature { features } => self.event64 |= features & features::EVENT64 != 0,
            Record::VlenConfig { bits } => self.vector_words = bits.div_ceil(64).min(u16::MAX.into()) as u16,
            Record::ProtocolId { protocol } => self.protocol = protocol,
            _ => {}
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_records() {
        let register = Register { number: 1, meta: 0x11, content: &[0; 8] };
        for (record, length) in [
            (Record::InstPcTarget { pc: 1 }, length::TARGET),
            (Record::InstReg { register }, length::REGISTER),
            (Record::InstMemAccess { address: 1, size: 8, attributes: 0, access: 1 }, length::ACCESS),
            (Record::InstMemContent { data: 1 }, length::CONTENT),
        ] {
            let mut bytes = Vec::new();
            record.write(&mut bytes, &Layout::default());
            assert_eq!(bytes.len(), length, "{record:?}");
        }
    }
}

//! STF, the Simple Trace Format.
//!
//! A trace is a sequence of records: one descriptor byte, then packed little-endian fields. Records form groups,
//! each completed by an opcode record. Files are plain, or ZSTF: chunks of zstd frames with an index.
//!
//! | file | idea |
//! |---|---|
//! | `open.rs` | an opened trace: events, items, check, copy |
//! | `config.rs` | settings for reading and writing |
//! | `container.rs`, `container/` | file → parts: plain, or the chunks of a ZSTF, from a file or a stream |
//! | `record.rs`, `fields.rs`, `values.rs` | every record, declared once; field types; named values |
//! | `read.rs`, `header.rs`, `text.rs` | parts → records; the header records; records as text |
//! | `remark.rs`, `hw_threads.rs` | facts without a record, as comments; the sources of a trace |
//! | `lift.rs`, `lift/` | records → events, also on several threads |
//! | `lower.rs`, `lower/` | events → records |
//! | `write.rs`, `copy.rs` | groups of records → file; STF → STF |
//! | `rules.rs`, `check.rs`, `check/` | the rules, and their check |
#![forbid(unsafe_code)]

mod check;
mod config;
mod container;
mod copy;
mod cut;
mod fields;
mod header;
mod hw_threads;
mod lift;
mod lower;
mod open;
mod read;
mod record;
mod remark;
mod rules;
mod text;
pub mod values;
mod write;

pub use config::{BusMaster, Config, Container, ID, ProcessId, SizeUnit, Version, WriteConfig};
pub use container::{Chunk, Doubt, PLAIN_MAGIC, Part, Parts, ZSTF_MAGIC};
pub use copy::Copied;
pub use fields::{Data, Entries, EventId, Layout, Metadata, Protocol, Register, Text16, Text32};
pub use header::Header;
pub use lift::{Decoder, Lift};
pub use lower::Lower;
pub use open::{Stf, Trace};
pub use read::{Records, Scan, Visit, read, scan};
pub use record::{RECORDS, Record};
pub use rules::RULES;
pub use text::{Text, show};
pub use write::Writer;

/// STF, for the list of formats.
pub static FORMAT: Stf = Stf;

/// A tiny trace of three instructions, for examples.
#[doc(hidden)]
pub fn example() -> Vec<u8> {
    let layout = Layout::default();
    let mut out = Vec::new();
    for record in [
        Record::Identifier { magic: *b"STF" },
        Record::Version { major: 1, minor: 3 },
        Record::Isa { isa: values::isa::RISCV },
        Record::InstIem { mode: values::iem::RV64 },
        Record::TraceInfo {
            generator: values::UNLISTED,
            major: 0,
            minor: 1,
            patch: 0,
            text: Text16(b"Trackway"),
        },
        Record::TraceInfoFeature { features: values::features::RV64 },
        Record::ForcePc { pc: 0x8000_0000 },
        Record::EndHeader {},
        Record::InstOpcode32 { opcode: 0x0000_0513 },
        Record::InstMemAccess { address: 0x1000, size: 8, attributes: 0, access: 1 },
        Record::InstMemContent { data: 42 },
        Record::InstOpcode16 { opcode: 0x6108 },
        Record::InstPcTarget { pc: 0x8000_0000 },
        Record::InstOpcode16 { opcode: 0x8082 },
    ] {
        record.write(&mut out, &layout);
    }
    out
}

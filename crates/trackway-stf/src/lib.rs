//! STF, the Simple Trace Format.
//!
//! A trace is a sequence of records: one descriptor byte, then packed little-endian fields. Records gather
//! into groups, each completed by an opcode record. Files are plain, or ZSTF: chunks of zstd frames with an index.
//!
//! | file | idea |
//! |---|---|
//! | `record.rs`, `fields.rs`, `values.rs` | every record, declared once; its field types; named values |
//! | `layout.rs`, `header.rs` | what the header settles and says |
//! | `container.rs`, `read.rs`, `open.rs` | file → parts → records |
//! | `lift.rs` and `lift/`, `opcode.rs`, `parallel.rs` | records → events, also on several threads; what the encoding tells |
//! | `lower.rs` and `lower/` | events → records |
//! | `write.rs`, `rewrite.rs` | groups → file; STF → STF |
//! | `rules.rs`, `check.rs`, `text.rs` | named rules and their check; records as text |
#![forbid(unsafe_code)]

mod check;
mod config;
mod container;
mod copy;
mod fields;
mod header;
mod layout;
mod lift;
mod lower;
mod open;
mod read;
mod record;
mod rules;
mod text;
pub mod values;
mod write;

pub use check::check;
pub use config::{BusMaster, Config, Container, ProcessId, SizeUnit, WriteConfig};
pub use container::{Chunk, PLAIN_MAGIC, Part, Parts, ZSTF_MAGIC};
pub use copy::{Rewritten, rewrite};
pub use fields::{Data, Entries, EventId, Metadata, Protocol, Register, Text16, Text32};
pub use header::Header;
pub use layout::Layout;
pub use lift::Lift;
pub use lower::Lower;
pub use open::{Records, Trace};
pub use read::{Scan, Visit, read, scan};
pub use record::{RECORDS, Record};
pub use rules::RULES;
pub use text::{Text, show};
pub use write::Writer;

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
            generator: values::TRACKWAY,
            major: 0,
            minor: 1,
            patch: 0,
            text: Text16(b"example"),
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

//! The header of a trace that is written from events.

use trackway_core::{Fate, Isa, Producer};

use super::Lower;
use crate::config::Version;
use crate::fields::{Text16, Text32};
use crate::record::Record;
use crate::values::{features, iem, isa};

impl Lower {
    /// The header record group, in stf_lib's order.
    pub(super) fn header(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let layout = self.layout;
        let mut put = |record: Record<'_>| record.write(&mut out, &layout);
        let (isa, mode) = match self.meta.isa {
            Isa::Rv32 => (isa::RISCV, iem::RV32),
            Isa::Rv64 => (isa::RISCV, iem::RV64),
            Isa::A64 => (isa::ARM, self.config.a64_iem),
            Isa::A32 | Isa::T32 => (isa::ARM, 0),
            Isa::Other => (0, 0),
        };
        put(Record::Identifier { magic: *b"STF" });
        put(Record::Version { major: self.version.0, minor: self.version.1 });
        for comment in &self.meta.comments {
            put(Record::Comment { text: Text32(comment.as_bytes()) });
        }
        for Producer { name, version, comment } in &self.meta.producers {
            let text = format!("producer: {name} {version} {comment}");
            put(Record::Comment { text: Text32(text.trim_end().as_bytes()) });
        }
        let (format, version) = (self.meta.format.as_str(), env!("CARGO_PKG_VERSION"));
        let mut made = format!("Trackway {version}, from {format}");
        if self.meta.isa == Isa::A64 {
            made += &format!("; INST_IEM {mode:#x} stands for A64");
        }
        put(Record::Comment { text: Text32(made.as_bytes()) });
        put(Record::Isa { isa });
        put(Record::InstIem { mode });
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut parts = version.split('.');
        put(Record::TraceInfo {
            generator: self.config.generator,
            major: number(parts.next()),
            minor: number(parts.next()),
            patch: number(parts.next()),
            text: Text16(b"Trackway"),
        });
        let mut features = self.features;
        if self.meta.isa == Isa::Rv64 {
            features |= features::RV64;
        }
        if self.layout.event64 {
            features |= features::EVENT64;
        }
        if self.layout.vector_words > 0 {
            features |= features::VECTOR;
        }
        put(Record::TraceInfoFeature { features });
        let pc = match self.first_pc {
            Some(pc) => pc,
            None => {
                self.losses.add(Fate::Invented, "start address", 1);
                self.meta.start_pc.unwrap_or(0)
            }
        };
        put(Record::ForcePc { pc });
        if let Some(bits) = self.meta.vector_bits.filter(|_| self.version >= Version(1, 4)) {
            put(Record::VlenConfig { bits });
        }
        if let Some(text) = self.meta.isa_string.as_ref().filter(|_| self.version >= Version(1, 6)) {
            put(Record::IsaExtended { text: Text32(text.as_bytes()) });
        }
        put(Record::EndHeader {});
        out
    }
}

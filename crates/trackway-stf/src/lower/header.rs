//! The header of a trace that is written from events.

use trackway_core::{Feed, Input, Isa, Producer};

use super::Lower;
use crate::config::Version;
use crate::fields::{Text16, Text32};
use crate::header::Header;
use crate::record::Record;
use crate::remark::Remark;
use crate::values::{features, isa, trace_info};

impl Lower {
    /// The header record group, in stf_lib's order; `is_all` says that nothing follows the groups seen so far.
    pub(super) fn header(&mut self, is_all: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let layout = self.layout;
        let mut put = |record: Record<'_>| record.write(&mut out, &layout);
        let (isa, mode) = self.config.numbers(self.meta.isa);
        put(Record::Identifier { magic: *b"STF" });
        put(Record::Version { major: self.version.0, minor: self.version.1 });
        for comment in &self.meta.comments {
            put(Record::Comment { text: Text32(comment.as_bytes()) });
        }
        let (format, version) = (self.meta.format.as_str(), env!("CARGO_PKG_VERSION"));
        let mut made = format!("Trackway {version}, from {format}");
        if isa == isa::ARM {
            made += &format!("; INST_IEM {mode:#x} means {}", self.meta.isa);
        }
        put(Record::Comment { text: Text32(made.as_bytes()) });
        let mode_unknown = (!self.mode_at_start).then_some(Remark::ModeUnknown);
        let flow_only = self.meta.flow_only.then_some(Remark::FlowOnly);
        for remark in [self.header_ids.map(Remark::Ids), mode_unknown, flow_only].into_iter().flatten() {
            remark.write(&mut out, &layout);
        }
        let mut put = |record: Record<'_>| record.write(&mut out, &layout);
        put(Record::Isa { isa });
        put(Record::InstIem { mode });
        let own = Producer { name: "Trackway".into(), version: version.into(), comment: String::new() };
        let mut tools: Vec<_> = self.meta.producers.iter().chain([&own]).map(trace_info).collect();
        if let (Some(generator), Some(last)) = (self.config.generator, tools.last_mut()) {
            last.0 = generator;
        }
        for (generator, [major, minor, patch], text) in &tools {
            let (generator, text) = (*generator, Text16(text.as_bytes()));
            put(Record::TraceInfo { generator, major: *major, minor: *minor, patch: *patch, text });
        }
        let mut features = self.features;
        if self.meta.isa == Isa::Rv64 {
            features |= features::RV64;
        }
        if self.layout.event64 {
            features |= features::EVENT64;
        }
        // Vectors of a known length may still come.
        if self.layout.vector_words > 0 && !is_all {
            features |= features::VECTOR;
        }
        put(Record::TraceInfoFeature { features });
        let pc = self.first_pc.or(self.meta.start_pc).unwrap_or(0);
        put(Record::ForcePc { pc });
        if let Some(bits) = self.meta.vector_bits.filter(|_| self.version >= Version(1, 4)) {
            put(Record::VlenConfig { bits });
        }
        if let Some(text) = self.meta.isa_string.as_ref().filter(|_| self.version >= Version(1, 6)) {
            put(Record::IsaExtended { text: Text32(text.as_bytes()) });
        }
        put(Record::EndHeader {});
        self.declared = features;
        if let Ok(header) = Header::collect(&mut Feed::new(Input::from_vec(out.clone())), true) {
            self.books.header(&self.meta, &header.meta());
        }
        out
    }
}

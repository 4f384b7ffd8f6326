//! The description of a source, known before its first event.

use std::collections::BTreeMap;

use crate::events::event::Isa;
use crate::events::format_id::FormatId;

/// Facts about a whole trace. `info`, `create` and every `lower` need them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The format it was read from.
    pub format: FormatId,
    /// Format version, as text.
    pub version: String,
    /// Conformance level, profile or dialect, where the format has one.
    pub level: Option<String>,
    /// Instruction set at the start.
    pub isa: Isa,
    /// Tools that made or changed the trace, oldest first.
    pub producers: Vec<Producer>,
    /// Comments that concern the whole trace.
    pub comments: Vec<String>,
    /// Names of the features that the trace declares.
    pub features: Vec<String>,
    /// Vector length in bits.
    pub vector_bits: Option<u32>,
    /// Extended ISA string.
    pub isa_string: Option<String>,
    /// Which cores or trace ids there are, by name; a batch's `source` indexes this list.
    pub sources: Vec<String>,
    /// Names of threads by their id, where the trace has them.
    pub threads: BTreeMap<u64, String>,
    /// True if only the flow is recorded, so that instructions have no accesses.
    pub flow_only: bool,
    /// True if there are timestamps.
    pub timestamps: bool,
    /// First instruction's address, where the header says it.
    pub start_pc: Option<u64>,
    /// Anything else worth showing, by name.
    pub notes: Vec<(String, String)>,
}

/// A tool that made or changed a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// The tool's comment.
    pub comment: String,
}

impl Meta {
    /// Nothing known but the format and the instruction set.
    pub fn new(format: FormatId, isa: Isa) -> Self {
        Meta {
            format,
            version: String::new(),
            level: None,
            isa,
            producers: Vec::new(),
            comments: Vec::new(),
            features: Vec::new(),
            vector_bits: None,
            isa_string: None,
            sources: Vec::new(),
            threads: BTreeMap::new(),
            flow_only: false,
            timestamps: false,
            start_pc: None,
            notes: Vec::new(),
        }
    }
}

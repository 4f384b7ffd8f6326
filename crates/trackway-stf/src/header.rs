//! The header record group.

use std::ops::ControlFlow;

use trackway_core::{Error, ErrorKind, Feed, Input, Isa, Meta, Producer, Result};

use crate::config::{ID, Version};
use crate::container::{Head, PLAIN_MAGIC, Parts};
use crate::fields::Layout;
use crate::read::{Scan, scan};
use crate::record::Record;
use crate::remark::{Ids, Remark};
use crate::values;

/// The header. Fields of absent records are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// VERSION: major and minor.
    pub version: Option<(u32, u32)>,
    /// COMMENT records, in order.
    pub comments: Vec<String>,
    /// ISA number.
    pub isa: Option<u16>,
    /// INST_IEM, the encoding mode.
    pub iem: Option<u16>,
    /// TRACE_INFO records, in order.
    pub producers: Vec<Producer>,
    /// TRACE_INFO_FEATURE, bits as in [`values::features`].
    pub features: Option<u64>,
    /// PROCESS_ID_EXT, its three words.
    pub process_id: Option<[u32; 3]>,
    /// FORCE_PC, the start address.
    pub pc: Option<u64>,
    /// VLEN_CONFIG, in bits.
    pub vector_bits: Option<u32>,
    /// PROTOCOL_ID of a transaction trace.
    pub protocol: Option<u8>,
    /// CLOCK_ID records: number and name.
    pub clocks: Vec<(u8, String)>,
    /// ISA_EXTENDED, the ISA string.
    pub isa_string: Option<String>,
    /// Number of records, END_HEADER included.
    pub records: u64,
    /// END_HEADER was read.
    pub complete: bool,
    /// Field widths of the records that follow.
    pub layout: Layout,
    /// The first chunk is damaged from its first byte on: nothing above is known.
    pub lost: bool,
    /// A remark says that only the flow is recorded.
    pub(crate) flow_only: bool,
    /// The words of PROCESS_ID_EXT, if a remark says what they are.
    pub(crate) ids: Option<Ids>,
}

impl Header {
    /// Takes a header record.
    pub(crate) fn note(&mut self, record: &Record<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match *record {
            Record::Version { major, minor } => self.version = Some((major, minor)),
            Record::Comment { text: comment } => match Remark::read(comment.0) {
                Some(Remark::Ids(ids)) => self.ids = Some(ids),
                Some(Remark::FlowOnly) => self.flow_only = true,
                Some(Remark::ModeUnknown) => {}
                _ => self.comments.push(text(comment.0)),
            },
            Record::Isa { isa } => self.isa = Some(isa),
            Record::InstIem { mode } => self.iem = Some(mode),
            Record::TraceInfo { generator, major, minor, patch, text: comment } => {
                self.producers.push(values::producer(generator, [major, minor, patch], &text(comment.0)));
            }
            // Every tool appends one: together they declare the content.
            Record::TraceInfoFeature { features } => {
                self.features = Some(self.features.unwrap_or(0) | features);
            }
            Record::ProcessIdExt { first, second, third } => self.process_id = Some([first, second, third]),
            Record::ForcePc { pc } => self.pc = Some(pc),
            Record::VlenConfig { bits } => self.vector_bits = Some(bits),
            Record::ProtocolId { protocol } => self.protocol = Some(protocol),
            Record::ClockId { clock, name } => self.clocks.push((clock, text(name.0))),
            Record::IsaExtended { text: string } => self.isa_string = Some(text(string.0)),
            Record::EndHeader {} => self.complete = true,
            _ => {}
        }
    }

    /// Reads the header without consuming it; refuses other files and, without `force`, unsupported versions.
    pub(crate) fn read(parts: &mut Parts, force: bool) -> Result<Self> {
        let (header, damaged) = Header::read_first(parts, force)?;
        match header.and_then(Header::or_truncated) {
            Err(_) if damaged => Ok(Header::lost(parts)),
            header => header,
        }
    }

    /// The header of the first part, and whether that part is damaged.
    fn read_first(parts: &mut Parts, force: bool) -> Result<(Result<Self>, bool)> {
        match parts.head()? {
            Head::Stream(feed, damaged) => {
                // Try the buffered bytes; an incomplete header needs more input.
                loop {
                    let bytes = feed.bytes();
                    let mut copy =
                        Feed::new(Input::from_vec(bytes[..bytes.len().min(LONGEST_HEADER)].to_vec()));
                    let full = bytes.len() >= LONGEST_HEADER;
                    let header = Header::collect(&mut copy, force);
                    let more = !full && !header.as_ref().is_ok_and(|header| header.complete);
                    // Damage is reported when the records are read.
                    if !more || !feed.more().unwrap_or(false) {
                        return Ok((header, damaged));
                    }
                }
            }
            Head::Nothing => Ok((Ok(Header::default()), false)),
            Head::Chunk(mut part) => {
                let damaged = part.is_damaged();
                Ok((Header::collect(&mut part.feed, force), damaged))
            }
        }
    }

    /// The header of a trace whose first chunk cannot be read: RV64, with the width of events that fits the second one.
    fn lost(parts: &mut Parts) -> Self {
        let second = parts.second().unwrap_or_default();
        let fits = |event64: &bool| {
            let mut layout = Layout { event64: *event64, ..Layout::default() };
            let mut plausible = |_: u64, record: &Record<'_>, _: &[u8]| match record {
                Record::Event { id, .. } if id.code > LARGEST_CAUSE => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            let mut feed = Feed::new(Input::from_vec(second.clone()));
            scan(&mut feed, 0, &mut layout, &mut plausible) == Ok(Scan::Ended)
        };
        // Real files have events of 64 bits.
        let event64 = [true, false].into_iter().find(fits).unwrap_or(true);
        Header {
            isa: Some(values::isa::RISCV),
            iem: Some(values::iem::RV64),
            layout: Layout { event64, ..Layout::default() },
            lost: true,
            ..Header::default()
        }
    }

    /// The header, or an error if no record was read.
    fn or_truncated(self) -> Result<Self> {
        match self.records {
            0 => Err(ErrorKind::Truncated.at(0, "IDENTIFIER", "", "STFIdentifierRecord (1)")),
            _ => Ok(self),
        }
    }

    pub(crate) fn collect(feed: &mut Feed, force: bool) -> Result<Self> {
        let mut header = Header::default();
        let mut layout = Layout::default();
        let mut refused: Option<Error> = None;
        // Damage is reported when the records are read; here it only ends the header.
        let mut visitor = |offset: u64, record: &Record<'_>, raw: &[u8]| {
            if header.records == 0 && !matches!(record, Record::Identifier { magic: [b'S', b'T', b'F'] }) {
                refused = Some(wrong_magic(raw));
            }
            if let Record::Version { major, minor } = *record
                && !force
                && !Version(major, minor).is_supported()
            {
                let found = u64::from(if major == 1 { minor } else { major });
                let field = if major == 1 { "minor" } else { "major" };
                refused =
                    Some(ErrorKind::Unsupported { found }.at(offset, "VERSION", field, "VersionRecord (2)"));
            }
            if refused.is_some() || !record.is_header() {
                return ControlFlow::Break(());
            }
            header.note(record);
            header.records += 1;
            if header.complete { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let scanned = scan(feed, 0, &mut layout, &mut visitor);
        header.layout = layout;
        match (refused, scanned) {
            (Some(error), _) => Err(error),
            (None, Err(error)) if header.records == 0 => {
                Err(if error.is_truncated() { error } else { wrong_magic(feed.bytes()) })
            }
            _ => Ok(header),
        }
    }

    /// Do the features declare several hardware threads?
    pub(crate) fn declares_hw_threads(&self) -> bool {
        let several = values::features::MULTI_THREAD | values::features::MULTI_CORE;
        self.features.is_some_and(|features| features & several != 0)
    }

    /// May the trace have several hardware threads? Ours declare them.
    pub(crate) fn may_have_hw_threads(&self) -> bool {
        let ids = self.features.is_some_and(|features| features & values::features::PROCESS_ID != 0);
        self.declares_hw_threads() || ids && self.ids.is_none()
    }

    /// The instruction set that ISA and IEM name.
    pub(crate) fn instruction_set(&self) -> Isa {
        instruction_set(self.isa.unwrap_or(values::isa::RISCV), self.iem.unwrap_or(0))
    }

    /// The header in the terms of the event model.
    pub fn meta(&self) -> Meta {
        let (major, minor) = self.version.unwrap_or((0, 0));
        let mut meta = Meta::new(ID, self.instruction_set());
        meta.version = format!("{major}.{minor}");
        meta.producers.clone_from(&self.producers);
        meta.comments.clone_from(&self.comments);
        meta.features = values::features::names(self.features.unwrap_or(0)).collect();
        meta.vector_bits = self.vector_bits;
        meta.isa_string.clone_from(&self.isa_string);
        meta.start_pc = self.pc;
        meta.flow_only = self.flow_only;
        if self.lost {
            meta.version.clear();
            meta.notes.push(("header".into(), "lost; taken as RV64".into()));
        }
        if let Some(features) = self.features {
            meta.notes.push(("features".into(), format!("{features:#x}")));
        }
        if let Some([first, second, third]) = self.process_id {
            meta.notes.push(("process id words".into(), format!("{first:#x} {second:#x} {third:#x}")));
        }
        if let Some(protocol) = self.protocol {
            meta.notes.push(("protocol".into(), protocol.to_string()));
        }
        for (clock, name) in &self.clocks {
            meta.notes.push(("clock".into(), format!("{clock} {name}")));
        }
        meta
    }
}

/// Causes that a trace may have: those of a wrong width are larger.
const LARGEST_CAUSE: u64 = 0xffff;

/// Upper bound on the size of a header; comments of tool chains take kilobytes.
const LONGEST_HEADER: usize = 1 << 22;

/// The instruction set for an ISA and an encoding mode.
pub(crate) fn instruction_set(isa: u16, mode: u16) -> Isa {
    use values::{iem, isa};
    match (isa, mode) {
        (isa::RISCV, iem::RV32) => Isa::Rv32,
        (isa::RISCV, iem::RV64) => Isa::Rv64,
        (isa::ARM, iem::A64) => Isa::A64,
        (isa::ARM, iem::A32) => Isa::A32,
        (isa::ARM, iem::T32) => Isa::T32,
        _ => Isa::Other,
    }
}

/// The error for a file whose first record is not IDENTIFIER, at the first wrong byte.
fn wrong_magic(bytes: &[u8]) -> Error {
    let wrong = bytes.iter().zip(PLAIN_MAGIC).position(|(found, wanted)| found != wanted).unwrap_or(0);
    let found = bytes.get(wrong).copied().unwrap_or(0).into();
    ErrorKind::Illegal { found }.at(wrong as u64, "IDENTIFIER", "magic", "STFIdentifierRecord (1)")
}

//! Rules of the header.

use trackway_core::{Isa, Rule};

use super::Checker;
use crate::config::Version;
use crate::fields::TILELINK;
use crate::header::instruction_set;
use crate::record::{Record, describe, descriptor};
use crate::remark::Remark;
use crate::rules::*;
use crate::values::{self, features};

/// Start of the comment in a part of a trace: its header declares the features of all parts. Anyone can write it, so each
/// finding that it suppresses becomes a note.
const OF_PART: &[u8] = b"trackway cut: {\"part\"";

impl Checker<'_> {
    pub(super) fn header_record(&mut self, record: &Record<'_>) {
        let is_identifier = matches!(record, Record::Identifier { magic: [b'S', b'T', b'F'] });
        if (self.item == 0) != is_identifier {
            self.found(&IDENTIFIER_FIRST, format!("record {} is {}", self.item, record.name()));
        }
        if (self.item == 1) != matches!(record, Record::Version { .. }) && self.item > 0 {
            self.found(&VERSION_SECOND, format!("record {} is {}", self.item, record.name()));
        }
        let again = self.in_header(record.descriptor());
        let once = match record {
            Record::Isa { .. } => Some(&ISA_ONCE),
            Record::InstIem { .. } => Some(&IEM_ONCE),
            Record::ProcessIdExt { .. } => Some(&PROCESS_ID_ONCE),
            Record::ForcePc { .. } => Some(&FORCE_PC_HEADER),
            Record::VlenConfig { .. } => Some(&VLEN_ONCE),
            Record::IsaExtended { .. } => Some(&ISA_EXTENDED_ONCE),
            _ => None,
        };
        if let Some(rule) = once.filter(|_| again) {
            self.found(rule, format!("a second {}", record.name()));
        }
        match *record {
            Record::Version { major, minor } => {
                self.version = (major, minor);
                if !Version(major, minor).is_supported() {
                    self.found(&VERSION_KNOWN, format!("version {major}.{minor}"));
                }
            }
            Record::Isa { isa } => {
                self.isa_number = isa;
                if !(1..=4).contains(&isa) {
                    self.found(&ISA_KNOWN, format!("ISA {isa}"));
                }
            }
            Record::InstIem { mode } => {
                if !self.in_header(descriptor::ISA) {
                    self.found(&ISA_BEFORE_IEM, "INST_IEM comes first".into());
                }
                self.encoding_mode(mode);
            }
            Record::TraceInfo { generator: number, .. } => {
                self.producer = match number {
                    values::DROMAJO => Some("Dromajo"),
                    values::SPIKE => Some("Spike"),
                    _ => None,
                };
                if !values::is_listed(number) {
                    self.found(&GENERATOR_KNOWN, format!("generator {number:#x}"));
                }
            }
            Record::Comment { text } => match Remark::read(text.0) {
                Some(Remark::Ids(_)) => self.ids_known = true,
                Some(Remark::ModeUnknown) => self.mode_known = true,
                Some(Remark::FlowOnly) => self.flow_only = true,
                _ => self.is_part |= text.0.starts_with(OF_PART),
            },
            Record::TraceInfoFeature { features: bits } => {
                self.features |= bits;
                for bit in features::NAMES.len()..64 {
                    if bits >> bit & 1 == 1 {
                        self.found(&FEATURE_KNOWN, format!("bit {bit}"));
                    }
                }
                self.needs_version(bits & features::EVENT64 != 0, "64-bit events", (1, 5));
            }
            Record::ForcePc { pc } => self.pc = Some(pc),
            Record::VlenConfig { bits } => {
                self.has_vlen = true;
                if bits < 64 {
                    self.found(&VLEN_VALUE, format!("{bits} bits"));
                }
                self.needs_version(true, record.name(), (1, 4));
            }
            Record::IsaExtended { .. } => self.needs_version(true, record.name(), (1, 6)),
            Record::ProtocolId { protocol } if protocol != TILELINK => {
                self.found(&PROTOCOL_KNOWN, format!("protocol {protocol}"));
            }
            Record::ClockId { clock, .. } => {
                if clock == 0 || self.clocks.contains(&clock) {
                    self.found(&CLOCK_ID, format!("clock {clock}"));
                }
                self.clocks.push(clock);
            }
            Record::EndHeader {} => self.end_header(),
            _ if !record.is_header() => {
                self.found(&HEADER_ONLY, format!("{} before END_HEADER", record.name()));
                self.end_header();
                self.body_record(record);
            }
            _ => {}
        }
    }

    /// Reports the use of a feature that came with version `since` in an older trace.
    fn needs_version(&mut self, used: bool, what: &str, since: (u32, u32)) {
        if used && self.version < since {
            let ((major, minor), (first_major, first_minor)) = (self.version, since);
            let message = format!("{what} in a {major}.{minor} trace; {first_major}.{first_minor} has it");
            self.found(&VERSION_HOLDS, message);
        }
    }

    pub(super) fn encoding_mode(&mut self, mode: u16) {
        self.isa = instruction_set(self.isa_number, mode);
        if self.isa == Isa::Other {
            self.found(&IEM_KNOWN, format!("mode {mode:#x} of ISA {}", self.isa_number));
        }
    }

    fn end_header(&mut self) {
        self.is_header = false;
        let transactions = self.in_header(descriptor::PROTOCOL_ID);
        let missing: [(u8, &'static Rule); 6] = [
            (descriptor::COMMENT, &COMMENT_THERE),
            (descriptor::ISA, &ISA_ONCE),
            (descriptor::INST_IEM, &IEM_ONCE),
            (descriptor::TRACE_INFO, &TRACE_INFO_THERE),
            (descriptor::TRACE_INFO_FEATURE, &FEATURE_ONCE),
            (descriptor::FORCE_PC, &FORCE_PC_HEADER),
        ];
        for (record, rule) in missing {
            // A transaction trace has clocks instead of an instruction stream.
            let instructions =
                matches!(record, descriptor::ISA | descriptor::INST_IEM | descriptor::FORCE_PC);
            let needed = !(transactions && instructions);
            if needed && !self.in_header(record) {
                self.found(rule, format!("no {} in the header", describe(record).0));
            }
        }
        let declared = self.features & features::RV64 != 0;
        if self.in_header(descriptor::TRACE_INFO_FEATURE)
            && matches!(self.isa, Isa::Rv32 | Isa::Rv64)
            && declared != (self.isa == Isa::Rv64)
        {
            self.found(&IEM_FEATURE, format!("INST_IEM says {}", self.isa));
        }
    }
}

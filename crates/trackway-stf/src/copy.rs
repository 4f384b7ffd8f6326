//! STF to STF: the same records in another container. Version, header and every byte are kept.

use std::ops::ControlFlow;

use trackway_core::{Error, Output, Result};

use crate::config::WriteConfig;
use crate::fields::Layout;
use crate::read::{Records, Visit, WINDOW};
use crate::record::{Record, read_common};
use crate::remark::Remark;
use crate::write::Writer;

/// Counts of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Records written.
    pub records: u64,
    /// Instructions or transactions among them.
    pub markers: u64,
}

/// Groups without a marker are split at this size, so that memory stays bounded.
const LARGEST_GROUP: usize = 1 << 24;

/// Writes all records to `out`; the first instruction is at `start`. A chunk that cannot be read is replaced by a
/// gap, the other chunks are written, and then the first error is returned.
pub(crate) fn copy(
    mut records: Records,
    start: Option<u64>,
    out: Output,
    config: WriteConfig,
) -> Result<Copied> {
    let mut writing = Writing {
        pc: Pc::new(start),
        writer: Writer::new(out, config)?,
        copied: Copied::default(),
        in_header: true,
        group: Vec::new(),
        failed: None,
    };
    let (mut damage, mut lost) = (None, None);
    loop {
        let scanned = records.enter().and_then(|part| {
            let Some(start_pc) = part else { return Ok(false) };
            if let Some(bytes) = lost.take() {
                writing.continue_at(bytes, start_pc);
            }
            records.scan_part(&mut writing).map(|_| true)
        });
        if let Some(error) = writing.failed {
            return Err(error);
        }
        match scanned {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                damage.get_or_insert(error);
                lost = records.skip_part();
                // Without a header the rest would not be a trace.
                if lost.is_none() || writing.in_header {
                    break;
                }
            }
        }
    }
    writing.writer.finish(&writing.group)?;
    damage.map_or(Ok(writing.copied), Err)
}

struct Writing {
    pc: Pc,
    writer: Writer,
    copied: Copied,
    in_header: bool,
    /// Records after the last marker.
    group: Vec<u8>,
    /// Error of the writer, which ends the copy.
    failed: Option<Error>,
}

impl Writing {
    /// Continues at `pc` after `bytes` bytes that could not be read.
    fn continue_at(&mut self, bytes: u64, pc: Option<u64>) {
        let mut fields = String::from("reason=bad-input");
        if let Some(pc) = pc {
            fields += &format!(" to={pc:#x}");
        }
        if bytes > 0 {
            fields += &format!(" bytes={bytes:#x}");
        }
        self.group.clear();
        let layout = Layout::default();
        Remark::Gap(&fields).write(&mut self.group, &layout);
        if let Some(pc) = pc {
            Record::ForcePc { pc }.write(&mut self.group, &layout);
            self.pc = Pc::new(Some(pc));
        }
    }
}

impl Visit for Writing {
    fn visit(&mut self, _: u64, record: &Record<'_>, raw: &[u8]) -> ControlFlow<()> {
        self.copied.records += 1;
        self.group.extend_from_slice(raw);
        self.pc.note(record);
        if matches!(record, Record::EndHeader {}) || self.group.len() > LARGEST_GROUP {
            self.in_header &= !matches!(record, Record::EndHeader {});
            self.writer.header(&self.group);
            self.group.clear();
        } else if record.is_marker() {
            self.copied.markers += 1;
            self.failed = self.writer.group(&self.group, self.pc.next).err();
            self.group.clear();
        }
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// As above for each record, but whole groups go to the writer from where they are.
    fn visit_common(&mut self, bytes: &[u8], _: u64, layout: &Layout) -> (usize, ControlFlow<()>) {
        let (mut begin, mut at) = (0, 0);
        while let Some(window) = bytes[at..].first_chunk::<WINDOW>() {
            let is_marker = read_common!(window, layout, |record, len| {
                at += len;
                self.pc.note(&record);
                record.is_marker()
            }, else break);
            self.copied.records += 1;
            if !is_marker && self.group.len() + at - begin <= LARGEST_GROUP {
                continue;
            }
            let records = &bytes[std::mem::replace(&mut begin, at)..at];
            let group = if self.group.is_empty() {
                records
            } else {
                self.group.extend_from_slice(records);
                &self.group
            };
            if is_marker {
                self.copied.markers += 1;
                self.failed = self.writer.group(group, self.pc.next).err();
            } else {
                self.writer.header(group);
            }
            self.group.clear();
            if self.failed.is_some() {
                return (at, ControlFlow::Break(()));
            }
        }
        self.group.extend_from_slice(&bytes[begin..at]);
        (at, ControlFlow::Continue(()))
    }
}

/// The instruction address, followed from record to record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pc {
    /// Address of the next instruction; 0 before any is known.
    pub(crate) next: u64,
    target: Option<u64>,
}

impl Pc {
    pub(crate) fn new(start: Option<u64>) -> Self {
        Pc { next: start.unwrap_or(0), target: None }
    }

    #[inline]
    pub(crate) fn note(&mut self, record: &Record<'_>) {
        let length = match *record {
            Record::ForcePc { pc } => {
                self.next = pc;
                return;
            }
            Record::InstPcTarget { pc } | Record::EventPcTarget { pc } => {
                self.target = Some(pc);
                return;
            }
            Record::InstOpcode16 { .. } => 2,
            Record::InstOpcode32 { .. } => 4,
            _ => return,
        };
        self.next = self.target.take().unwrap_or(self.next.wrapping_add(length));
    }
}

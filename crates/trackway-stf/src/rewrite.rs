//! STF to STF: another container, the same records. Version, header and every byte are kept.

use std::ops::ControlFlow;

use trackway_core::{Error, Output, Result};

use crate::config::WriteConfig;
use crate::open::Trace;
use crate::record::Record;
use crate::write::Writer;

/// What a rewrite carried over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Records.
    pub records: u64,
    /// Instructions or transactions.
    pub markers: u64,
}

/// A group that no marker completes is cut here, so that memory stays bounded.
const LARGEST_GROUP: usize = 1 << 24;

/// Writes all records of `trace` to `out`. What came before damage is written; then its error is returned.
pub fn rewrite(trace: Trace, out: Output, config: WriteConfig) -> Result<Rewritten> {
    let mut pc = Pc::new(trace.header.pc);
    let mut records = trace.records();
    let mut writer = Writer::new(out, config)?;
    let mut done = Rewritten::default();
    let mut group = Vec::new();
    let mut failed: Option<Error> = None;
    let scanned = records.scan(&mut |_: u64, record: &Record<'_>, raw: &[u8]| {
        done.records += 1;
        group.extend_from_slice(raw);
        pc.note(record);
        if matches!(record, Record::EndHeader {}) || group.len() > LARGEST_GROUP {
            writer.header(&group);
            group.clear();
        } else if record.is_marker() {
            done.markers += 1;
            failed = writer.group(&group, pc.next).err();
            group.clear();
        }
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    writer.finish(&group)?;
    scanned.map(|_| done)
}

/// Follows the address from record to record.
#[derive(Clone, Copy, Debug)]
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

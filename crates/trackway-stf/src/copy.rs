//! STF to STF: another container, the same records. Version, header and every byte are kept.

use std::ops::ControlFlow;

use trackway_core::{Error, Output, Result};

use crate::config::WriteConfig;
use crate::fields::Text32;
use crate::layout::Layout;
use crate::open::Trace;
use crate::read::Visit;
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

/// Writes all records of `trace` to `out`. Damage costs the chunk it is in: a comment stands for what is lost,
/// the other chunks are written, and then its error is returned.
pub fn rewrite(trace: Trace, out: Output, config: WriteConfig) -> Result<Rewritten> {
    let mut writing = Writing {
        pc: Pc::new(trace.header.pc),
        writer: Writer::new(out, config)?,
        done: Rewritten::default(),
        in_header: true,
        group: Vec::new(),
        failed: None,
    };
    let mut records = trace.records();
    let (mut damage, mut lost) = (None, None);
    loop {
        let scanned = records.enter().and_then(|part| {
            let Some(start_pc) = part else { return Ok(false) };
            if let (Some(bytes), Some(pc)) = (lost.take(), start_pc) {
                writing.go_on(bytes, pc);
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
                // Without a header the rest would be no trace.
                if lost.is_none() || writing.in_header {
                    break;
                }
            }
        }
    }
    writing.writer.finish(&writing.group)?;
    damage.map_or(Ok(writing.done), Err)
}

struct Writing {
    pc: Pc,
    writer: Writer,
    done: Rewritten,
    in_header: bool,
    /// Records behind the last marker.
    group: Vec<u8>,
    /// Why the writer gave up.
    failed: Option<Error>,
}

impl Writing {
    /// Goes on at `pc` behind `bytes` that could not be read.
    fn go_on(&mut self, bytes: u64, pc: u64) {
        let text = match bytes {
            0 => "gap: a chunk could not be read".into(),
            _ => format!("gap: {bytes} bytes could not be read"),
        };
        self.group.clear();
        let layout = Layout::default();
        Record::Comment { text: Text32(text.as_bytes()) }.write(&mut self.group, &layout);
        Record::ForcePc { pc }.write(&mut self.group, &layout);
        self.pc = Pc::new(Some(pc));
    }
}

impl Visit for Writing {
    fn visit(&mut self, _: u64, record: &Record<'_>, raw: &[u8]) -> ControlFlow<()> {
        self.done.records += 1;
        self.group.extend_from_slice(raw);
        self.pc.note(record);
        if matches!(record, Record::EndHeader {}) || self.group.len() > LARGEST_GROUP {
            self.in_header &= !matches!(record, Record::EndHeader {});
            self.writer.header(&self.group);
            self.group.clear();
        } else if record.is_marker() {
            self.done.markers += 1;
            self.failed = self.writer.group(&self.group, self.pc.next).err();
            self.group.clear();
        }
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
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

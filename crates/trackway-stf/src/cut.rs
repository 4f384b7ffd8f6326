//! Places where a trace can be cut: after an instruction, with the header and the address before the next.

use std::ops::ControlFlow;

use trackway_core::Result;
use trackway_format::Cut;

use crate::copy::Pc;
use crate::fields::{Layout, Text32};
use crate::read::{Records, Visit};
use crate::record::Record;
use crate::remark::Remark;

/// The first places at or after the offsets `wanted`, in order.
pub(crate) fn cuts(mut records: Records, start: Option<u64>, wanted: &[u64]) -> Result<Vec<Cut>> {
    let mut finder = Finder { wanted, pc: Pc::new(start), ..Finder::default() };
    records.scan(&mut finder)?;
    // A part has an instruction; the others are at the end.
    finder.cuts.retain(|cut| cut.offset <= finder.last);
    let (end, missing) = (finder.end, wanted.len() - finder.cuts.len());
    finder.cuts.extend(vec![Cut { offset: end, ..Cut::default() }; missing]);
    Ok(finder.cuts)
}

/// A comment record.
pub(crate) fn comment(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    Record::Comment { text: Text32(text.as_bytes()) }.write(&mut out, &Layout::default());
    out
}

/// Offset of END_HEADER, where the header has one.
pub(crate) fn header_end(mut records: Records) -> Result<Option<u64>> {
    let mut end = None;
    records.scan(&mut |offset: u64, record: &Record<'_>, _: &[u8]| match record {
        Record::EndHeader {} => {
            end = Some(offset);
            ControlFlow::Break(())
        }
        record if record.is_header() => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    })?;
    Ok(end)
}

#[derive(Default)]
struct Finder<'w> {
    wanted: &'w [u64],
    pc: Pc,
    /// Records of the header but for those below, which are the last ones before a cut.
    header: Vec<u8>,
    ids: Vec<u8>,
    mode: Vec<u8>,
    in_body: bool,
    /// The record before this one ends a group.
    after_group: bool,
    end: u64,
    /// Offset of the last instruction.
    last: u64,
    cuts: Vec<Cut>,
}

impl Finder<'_> {
    fn cut(&self, offset: u64) -> Cut {
        let mut prologue = self.header.clone();
        prologue.extend_from_slice(&self.mode);
        let comment_at = prologue.len();
        let layout = Layout::default();
        Remark::ModeUnknown.write(&mut prologue, &layout);
        prologue.extend_from_slice(&self.ids);
        Record::ForcePc { pc: self.pc.next }.write(&mut prologue, &layout);
        Record::EndHeader {}.write(&mut prologue, &layout);
        Cut { offset, prologue, comment_at }
    }
}

impl Visit for Finder<'_> {
    fn visit(&mut self, offset: u64, record: &Record<'_>, raw: &[u8]) -> ControlFlow<()> {
        while self.in_body
            && self.after_group
            && self.wanted.get(self.cuts.len()).is_some_and(|at| *at <= offset)
        {
            self.cuts.push(self.cut(offset));
        }
        self.end = offset + raw.len() as u64;
        self.after_group = record.is_marker();
        if self.after_group {
            self.last = offset;
        }
        self.pc.note(record);
        match record {
            Record::ProcessIdExt { .. } => self.ids = raw.to_vec(),
            Record::InstIem { .. } => self.mode = raw.to_vec(),
            Record::EndHeader {} => self.in_body = true,
            Record::ForcePc { .. } => {}
            Record::Comment { text } if Remark::read(text.0) == Some(Remark::ModeUnknown) => {}
            _ if !self.in_body => self.header.extend_from_slice(raw),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

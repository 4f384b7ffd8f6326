//! Groups of items.

use crate::config::{Profile, Widths};
use crate::record::Record;

/// How a group is delimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frame {
    /// Between begin group and end group.
    #[default]
    Ended,
    /// Ended by the next begin group (chapter 3).
    Implied,
    /// Not a group: items outside any.
    Outside,
}

/// State changes that happen together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Byte offset of the first item, begin group included.
    pub offset: u64,
    /// How it is delimited.
    pub frame: Frame,
    /// The items without begin and end. Outside groups, a lone end group is among them.
    pub records: Vec<Record>,
}

impl Group {
    /// A group that initializes the state. The Bluespec encoders never set the pc in one, so that its place shows the
    /// profiles apart: after the opcode in `spec`, before it in `bluespec`.
    pub(crate) fn init(mut records: Vec<Record>, profile: Profile) -> Self {
        let pc_first = profile == Profile::Bluespec && matches!(records.first(), Some(Record::Pc(_)));
        records.insert(pc_first.into(), Record::StateInitialization);
        Group { records, ..Group::default() }
    }

    /// Byte offset of item `n` of `records`.
    pub(crate) fn offset_of(&self, n: usize, widths: &Widths) -> u64 {
        let begin = u64::from(self.frame != Frame::Outside);
        let before: usize = self.records.iter().take(n).map(|record| record.len(widths)).sum();
        self.offset + begin + before as u64
    }

    /// The items on the wire, begin and end included.
    pub fn wire(&self) -> impl Iterator<Item = Record> + '_ {
        let begin = (self.frame != Frame::Outside).then_some(Record::BeginGroup);
        let end = (self.frame == Frame::Ended).then_some(Record::EndGroup);
        begin.into_iter().chain(self.records.iter().copied()).chain(end)
    }
}

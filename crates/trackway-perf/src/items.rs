//! Records and packets as text, for `dump --raw`.

use trackway_core::{Item, Items, Result};
use trackway_ete::{Packets, Text};

use crate::record::{Records, name};

/// The records of a recording, then the packets of its sources.
pub(crate) struct RecordItems {
    pub(crate) records: Option<Records>,
    pub(crate) packets: Text,
}

impl RecordItems {
    pub(crate) fn new(records: Option<Records>, packets: Packets) -> Self {
        RecordItems { records, packets: Text::new(packets, usize::MAX) }
    }
}

impl Items for RecordItems {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        if let Some(records) = &mut self.records {
            if let Some(record) = records.next()? {
                item.offset = record.offset;
                item.len = record.fields.end - record.offset;
                item.name = name(record.kind);
                item.text.clear();
                if item.name == "record" {
                    item.text = format!("type {} ", record.kind);
                }
                record.show(&mut item.text);
                return Ok(true);
            }
            self.records = None;
        }
        self.packets.next(item)
    }

    /// After a bad field, the next record follows; after a bad size, the packets.
    fn resync(&mut self) -> Result<Option<u64>> {
        match &self.records {
            Some(_) => Ok(Some(0)),
            None => self.packets.resync(),
        }
    }
}

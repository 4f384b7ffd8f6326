//! Records and packets as text, for `dump --raw`.

use trackway_core::{Error, Item, Items, Result};
use trackway_ete::{Packets, Text};

use crate::record::{Records, name};

/// The records of a recording, then the packets of its sources, then the errors that end it.
pub(crate) struct RecordItems {
    records: Option<Records>,
    packets: Text,
    /// The last one comes first.
    errors: Vec<Error>,
    /// One of them was returned.
    has_failed: bool,
}

impl RecordItems {
    pub(crate) fn new(records: Records, packets: Packets, error: Option<Error>) -> Self {
        let (packets, errors) = (Text::new(packets, usize::MAX), error.into_iter().collect());
        RecordItems { records: Some(records), packets, errors, has_failed: false }
    }
}

impl Items for RecordItems {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        if let Some(records) = &mut self.records {
            match records.next() {
                Ok(Some(record)) => {
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
                Err(error) if records.is_over() => self.errors.insert(0, error),
                Err(error) => return Err(error),
                Ok(None) => {}
            }
            self.records = None;
        }
        if self.packets.next(item)? {
            return Ok(true);
        }
        let error = self.errors.pop();
        self.has_failed |= error.is_some();
        error.map_or(Ok(false), Err)
    }

    /// After a bad field, the next record follows.
    fn resync(&mut self) -> Result<Option<u64>> {
        match &self.records {
            Some(_) => Ok(Some(0)),
            None if self.has_failed => Ok((!self.errors.is_empty()).then_some(0)),
            None => self.packets.resync(),
        }
    }
}

//! Writing of protocol buffers: the few field types that profiles need.

/// A message that is being written.
#[derive(Debug, Default)]
pub(super) struct Message(pub(super) Vec<u8>);

pub(super) use crate::varint::put as varint;

impl Message {
    fn varint(&mut self, value: u64) {
        varint(&mut self.0, value);
    }

    /// A number; 0 is what a reader takes an absent field for.
    pub(super) fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.required(field, value);
        }
    }

    /// A number, even if it is 0.
    pub(super) fn required(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// Bytes, a string or a message.
    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Numbers in one field.
    pub(super) fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        let mut inner = Message::default();
        values.into_iter().for_each(|value| inner.varint(value));
        self.bytes(field, &inner.0);
    }
}

//! What earlier records say about the layout of later ones.

use crate::record::Record;
use crate::values::features;

/// Widths that the header settles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// EVENT ids have 64 bits (feature bit 19).
    pub event64: bool,
    /// 64-bit words of a vector register's content.
    pub vector_words: u16,
    /// Bus protocol of transaction records.
    pub protocol: u8,
}

impl Layout {
    /// Takes in a record that settles a width.
    #[inline]
    pub fn note(&mut self, record: &Record<'_>) {
        match *record {
            Record::TraceInfoFeature { features } => self.event64 = features & features::EVENT64 != 0,
            Record::VlenConfig { bits } => self.vector_words = bits.div_ceil(64).min(u16::MAX.into()) as u16,
            Record::ProtocolId { protocol } => self.protocol = protocol,
            _ => {}
        }
    }
}

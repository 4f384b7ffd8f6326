//! Gaps: the format has no record for them, so a String notes them at their place (docs/spec-readings/astf.md).

use trackway_core::{Batch, Gap};

/// Beginning of the String of a gap; it fits the first record of the String.
pub(crate) const MARK: &str = "trackway: gap ";

/// The String of a gap: the event line without its offset.
pub(crate) fn text(gap: &Gap) -> String {
    let mut batch = Batch::default();
    batch.push_gap(0, *gap);
    let mut text = MARK.trim_end().to_string();
    batch.event_fields(&batch.events[0], &mut |name, value| text.extend([" ", name, "=", value]));
    text
}

/// Appends the gap that a String notes; false if it is not such a String.
pub(crate) fn read(offset: u64, text: &str, batch: &mut Batch) -> bool {
    let fields = text.strip_prefix(MARK);
    fields.is_some_and(|fields| batch.read_line(&format!("{offset:#x} gap {fields}")).is_some())
}

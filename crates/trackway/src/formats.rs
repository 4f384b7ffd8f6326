//! The one list of formats.

use std::path::Path;

use trackway_core::FormatId;
use trackway_format::Format;

/// All formats. Those with a magic number come first.
pub static FORMATS: &[&dyn Format] = &[
    &trackway_stf::FORMAT,
    &trackway_astf::FORMAT,
    &trackway_ete::FORMAT,
    &trackway_etrace::FORMAT,
    &trackway_tandem::FORMAT,
];

/// The format with this id.
pub fn by_id(formats: &[&'static dyn Format], id: FormatId) -> Option<&'static dyn Format> {
    formats.iter().copied().find(|format| format.id() == id)
}

/// The format for an output path, by its extension; a compression's extension is looked through.
pub fn for_output(formats: &[&'static dyn Format], path: &Path) -> Option<&'static dyn Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = [".gz", ".xz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let (_, extension) = name.rsplit_once('.')?;
    formats.iter().copied().find(|format| format.extensions().contains(&extension))
}

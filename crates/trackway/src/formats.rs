//! The one list of formats.

use std::path::{Path, PathBuf};

use trackway_core::FormatId;
use trackway_format::Format;

/// All formats. Those with a magic number come first.
pub static FORMATS: &[&dyn Format] = &[
    &trackway_stf::FORMAT,
    &trackway_astf::FORMAT,
    &trackway_perf::FORMAT,
    &trackway_ete::FORMAT,
    &trackway_etrace::FORMAT,
    &trackway_tandem::FORMAT,
    trackway_logs::TARMAC,
    trackway_logs::SPIKE,
    trackway_logs::RISCV_DV,
    trackway_logs::RVFI_DII,
    trackway_logs::RVFI_VCD,
    trackway_logs::QEMU_EXEC,
];

/// The format with this id.
pub fn by_id(formats: &[&'static dyn Format], id: FormatId) -> Option<&'static dyn Format> {
    formats.iter().copied().find(|format| format.id() == id)
}

/// `OUT.NAME.ext` for `OUT.ext`: the output of one source of several.
pub(crate) fn insert_name(path: &Path, name: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let compressed =
        [".gz", ".xz", ".zst"].iter().find(|end| file.ends_with(*end)).map_or(0, |end| end.len());
    let place = file[..file.len() - compressed].rfind('.').unwrap_or(file.len());
    path.with_file_name(format!("{}.{name}{}", &file[..place], &file[place..]))
}

/// The format for an output path, by its extension; a compression's extension is looked through.
pub fn for_output(formats: &[&'static dyn Format], path: &Path) -> Option<&'static dyn Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = [".gz", ".xz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let (_, extension) = name.rsplit_once('.')?;
    formats.iter().copied().find(|format| format.extensions().contains(&extension))
}

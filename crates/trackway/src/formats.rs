//! The one list of formats, and what each gives.

use std::sync::Arc;

use trackway_core::{Finding, FormatId, Input, Isa, Items, Meta, Sink, Source};
use trackway_image::Image;

use crate::error::{Error, Result};
use crate::input::File;
use crate::options::Options;
use crate::target::Target;

mod astf;
mod ete;
pub(crate) mod etrace;
mod stf;
mod tandem;

/// A trace format: how it is recognised, opened and created.
pub trait Format: Sync {
    /// Which.
    fn id(&self) -> FormatId;

    /// Its name for people.
    fn title(&self) -> &'static str;

    /// File name extensions, the usual one first. Used for output only: input is recognised by content.
    fn extensions(&self) -> &'static [&'static str];

    /// Is this one of its files? Formats without a mark of their own look at the configuration too.
    fn recognise(&self, file: &File, options: &Options) -> bool;

    /// Opens a file.
    fn open(&self, file: File, options: &Options) -> Result<Box<dyn Opened>>;

    /// Starts a file that takes events of a source with `meta`.
    fn create(&self, target: Target, meta: &Meta, options: &Options) -> Result<Box<dyn Sink>>;

    /// Writes a trace that loads a program (an ELF file) into memory and does no more, where the format has
    /// such traces; gives the number of items.
    fn load(&self, _program: &[u8], _target: Target, _options: &Options) -> Result<u64> {
        let text = format!("{} has no traces that load a program; record it instead", self.title());
        Err(Error::Unsupported(text))
    }
}

/// An opened trace of any format. It is used once, in one of these ways.
pub trait Opened {
    /// What the trace says about itself.
    fn meta(&self) -> &Meta;

    /// Facts about the file around it, by name.
    fn container(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The programs that the trace brings along: one for each source, or one for all.
    fn programs(&self) -> Vec<Arc<Image>> {
        Vec::new()
    }

    /// Events.
    fn source(self: Box<Self>) -> Result<Box<dyn Source>>;

    /// The bytes that offsets refer to: the decompressed stream.
    fn bytes(self: Box<Self>) -> Result<Input>;

    /// Native items as text.
    fn items(self: Box<Self>) -> Result<Box<dyn Items>>;

    /// Findings; gives the number of items checked.
    fn check(self: Box<Self>, report: &mut dyn FnMut(Finding)) -> Result<u64>;

    /// Writes the same items into another container; gives their number.
    fn rewrite(self: Box<Self>, target: Target, options: &Options) -> Result<u64>;
}

/// All formats. Those with a mark in their first bytes come first.
pub static FORMATS: &[&dyn Format] = &[&stf::Stf, &astf::Astf, &ete::Ete, &etrace::Etrace, &tandem::Tandem];

pub(crate) fn by_id(id: FormatId) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.id() == id)
}

/// The format of a name, as `--into` takes it.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    FormatId::from_word(name).and_then(by_id)
}

/// The format for an output path, by its extension; a compression's extension is looked through.
pub fn for_output(path: &std::path::Path) -> Option<&'static dyn Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = [".gz", ".xz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let (_, extension) = name.rsplit_once('.')?;
    FORMATS.iter().copied().find(|format| format.extensions().contains(&extension))
}

/// Refuses what a format of Arm's cannot hold, before there is a file.
fn for_arm(format: &str, meta: &Meta) -> Result<()> {
    match meta.isa {
        Isa::A64 | Isa::A32 | Isa::T32 => Ok(()),
        other => Err(Error::Unsupported(format!("{format} is for Arm; this trace is of {other}"))),
    }
}

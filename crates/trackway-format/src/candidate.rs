//! Settings to try where the right ones are lost.

use trackway_image::Image;

use crate::settings::Settings;

/// A trace whose settings are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'s> {
    /// The trace from its start, decompressed; as much of it as is looked at.
    pub bytes: &'s [u8],
    /// True if `bytes` is all of it.
    pub whole: bool,
    /// The program that ran; empty where none is named.
    pub image: &'s Image,
}

/// Settings to try.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// All settings, those of the format in the section of its name.
    pub settings: Settings,
    /// How they differ from others, for people: `iaddress_width 40`.
    pub what: String,
}

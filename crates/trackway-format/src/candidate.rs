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

/// A reason to doubt settings by which the bytes can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The key whose value is unusual, whatever the trace has: a user who gives that value knows better.
    pub key: Option<&'static str>,
    /// The reason.
    pub text: String,
}

impl Doubt {
    /// A doubt that comes from the trace.
    pub fn new(text: impl Into<String>) -> Self {
        Doubt { key: None, text: text.into() }
    }

    /// An unusual value of a key.
    pub fn unusual(key: &'static str, value: u32) -> Self {
        Doubt { key: Some(key), text: format!("{key} {value} is unusual") }
    }
}

//! Items that were read are written back, styles are equivalent, and lifting, text and checking survive anything.

use trackway_tandem::{Config, Profile, Style};

#[path = "../../crates/trackway-tandem/tests/survival/mod.rs"]
#[allow(dead_code)] // the properties use more of it
mod survival;

/// Tries one input.
pub fn tandem_round_trip(data: &[u8]) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let profile = if choice & 1 == 0 { Profile::Spec } else { Profile::Bluespec };
    let (xlen, mlen) = [(64, 64), (32, 32), (32, 34), (64, 64)][usize::from(choice >> 1 & 3)];
    let flen = [0, 32, 64, 64][usize::from(choice >> 3 & 3)];
    let (lenient, custom) = (choice & 0x20 != 0, choice & 0x80 != 0);
    let config = Config { xlen, flen, mlen, profile, lenient, custom, reset_pc: Some(0x1000) };
    let style = if choice & 0x40 == 0 { Style::Verbose } else { Style::Compact };
    survival::survive(bytes, &config, style);
}

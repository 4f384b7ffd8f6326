//! Class and feature of Arm instructions, by tables in the order of the encoding indices of the Arm ARM.

mod a32;
mod a64;
mod class;
mod t32;

use trackway_core::Isa;

use super::mask::Row;
use super::t32::is_wide;
use crate::class::Class;

pub(crate) use class::class as a64_class;

/// Class and feature of an instruction.
type Kind = (Class, &'static str);

/// The base of an instruction set, before any feature.
const BASE: &str = "";

/// The class of the first row that fits.
fn first<C: Copy>(rows: &[Row<C>], word: u32) -> Option<C> {
    rows.iter().find(|row| row.matches(word)).map(|row| row.class)
}

/// Class of an A32 or T32 instruction that control falls through.
pub(crate) fn class(isa: Isa, encoding: u32) -> Option<Class> {
    kind(isa, encoding).map(|(class, _)| class)
}

/// The feature that an instruction belongs to, in Arm's words; empty for the base of the instruction set, `None` where
/// the encoding is not allocated.
pub(crate) fn feature(isa: Isa, encoding: u32) -> Option<&'static str> {
    if isa != Isa::A64 {
        return kind(isa, encoding).map(|(_, feature)| feature);
    }
    match encoding >> 25 & 0xf {
        0b0000 if encoding >> 31 == 1 => first(a64::STREAMING, encoding),
        0b0000 if encoding >> 16 == 0 => Some(BASE),
        0b0010 => first(a64::SCALABLE, encoding),
        0b1000..=0b1011 | 0b0101 | 0b1101 => Some(first(a64::GENERAL, encoding).unwrap_or(BASE)),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => first(a64::MEMORY, encoding),
        0b0111 | 0b1111 => first(a64::FLOAT, encoding),
        _ => None,
    }
}

fn kind(isa: Isa, encoding: u32) -> Option<Kind> {
    match isa {
        Isa::A32 => a32_kind(encoding),
        Isa::T32 if is_wide(encoding) => {
            let word = encoding.rotate_left(16);
            as_a32(word).map_or_else(|| first(t32::WIDE, word), a32_kind)
        }
        Isa::T32 => first(t32::NARROW, encoding & 0xffff),
        _ => None,
    }
}

fn a32_kind(word: u32) -> Option<Kind> {
    first(if word >> 28 == 15 { a32::UNCONDITIONAL } else { a32::CONDITIONAL }, word)
}

/// Advanced SIMD, floating-point and coprocessor instructions of T32, in their A32 encoding (Arm ARM F3.1.4).
fn as_a32(word: u32) -> Option<u32> {
    let rest = word & 0x00ff_ffff;
    match word >> 24 {
        0xef => Some(0xf200_0000 | rest),
        0xff => Some(0xf300_0000 | rest),
        0xf9 if word >> 20 & 1 == 0 => Some(0xf400_0000 | rest),
        0xec..=0xee | 0xfc..=0xfe => Some(word),
        _ => None,
    }
}

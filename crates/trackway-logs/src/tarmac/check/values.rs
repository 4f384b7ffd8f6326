//! Values of registers and memory so far.

use std::collections::HashMap;

use trackway_core::MemKind;

use super::changed;
use crate::log::Report;

/// Values of the general registers.
#[derive(Debug, Default)]
pub(super) struct Known([Option<u64>; 32]);

impl Known {
    /// x31 is zero where an instruction stores it.
    pub(super) fn get(&self, number: u16) -> Option<u64> {
        if number == 31 { Some(0) } else { self.0[usize::from(number & 31)] }
    }

    pub(super) fn set(&mut self, number: u16, value: Option<u64>) {
        self.0[usize::from(number & 31)] = value;
    }
}

/// The general register whose value the `n`th access of a store has, of `size` bytes: plain stores of one register
/// and of pairs (Arm ARM, C4.1.94).
pub(super) fn stored(word: u32, n: u32, size: u64) -> Option<u16> {
    let vector = word >> 26 & 1 == 1;
    let (rt, rt2) = (word & 31, word >> 10 & 31);
    let register = match (word >> 27 & 7, vector) {
        // Pairs of words or doublewords.
        (0b101, false) if word >> 30 == 0 && size == 4 || word >> 30 == 2 && size == 8 => match n {
            0 => rt,
            1 => rt2,
            _ => return None,
        },
        // Single registers: not atomics, not the forms with other meanings of bits 11:10.
        (0b111, false) if word >> 22 & 3 == 0 && size == 1 << (word >> 30) && n == 0 => {
            let register_offset = word >> 21 & 1 == 1 && word >> 24 & 1 == 0;
            if register_offset && word >> 10 & 3 != 2 {
                return None;
            }
            rt
        }
        _ => return None,
    };
    Some(register as u16)
}

/// Bytes of memory that lines showed, in lines of 8.
#[derive(Debug, Default)]
pub(super) struct Contents {
    lines: HashMap<u64, ([u8; 8], u8)>,
}

/// Most lines that are kept; then all are forgotten.
const MOST: usize = 1 << 20;

impl Contents {
    /// Takes an access in: an address, a size of up to 16 bytes, and the data where it is known.
    pub(super) fn access(
        &mut self,
        kind: MemKind,
        (at, size, data): (u64, u64, Option<u128>),
        place: (u64, u64),
        report: &mut Report<'_>,
    ) {
        let mut known = Some(0u128);
        for n in 0..size {
            let address = at.wrapping_add(n);
            let byte = data.map(|data| (data >> (8 * n)) as u8);
            let before = self.byte(address, byte);
            known = known.zip(before).map(|(known, byte)| known | u128::from(byte) << (8 * n));
        }
        if let (MemKind::Read, Some(known), Some(data)) = (kind, known, data)
            && known != data
        {
            changed(at, known, data, place, report);
        }
    }

    /// Sets a byte, or forgets it; returns the one before.
    fn byte(&mut self, at: u64, new: Option<u8>) -> Option<u8> {
        if self.lines.len() >= MOST {
            self.lines.clear();
        }
        let (bytes, known) = self.lines.entry(at / 8).or_default();
        let (n, bit) = ((at % 8) as usize, 1 << (at % 8));
        let before = (*known & bit != 0).then_some(bytes[n]);
        match new {
            Some(new) => (bytes[n], *known) = (new, *known | bit),
            None => *known &= !bit,
        }
        before
    }
}

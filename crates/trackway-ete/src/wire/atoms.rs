//! Atoms: the outcomes of P0 instructions, several in one byte (K10.5.2.10).

/// The atoms of a header byte (K10.5.2.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atoms {
    /// The header byte, `C0` to `FF`.
    pub header: u8,
}

/// Atoms of the headers `C0` to `FF`: their number, and one bit each (1 is E), the first in bit 0.
const ATOMS: [(u8, u32); 64] = {
    let mut table = [(0, 0); 64];
    let mut i = 0;
    while i < 64 {
        let low = i as u32;
        table[i] = match 0xc0 | i as u8 {
            0xf6 | 0xf7 => (1, low & 1),
            0xd8..=0xdb => (2, low & 3),
            0xf8..=0xff => (3, low & 7),
            0xdc => (4, 0b1110),
            0xdd => (4, 0b0000),
            0xde => (4, 0b1010),
            0xdf => (4, 0b0101),
            0xf5 => (5, 0b11110),
            0xd5 => (5, 0b00000),
            0xd6 => (5, 0b01010),
            0xd7 => (5, 0b10101),
            // Format 6: COUNT + 3 times E, then E or N.
            _ => {
                let es = (low & 0x1f) + 3;
                let last = if low & 0x20 == 0 { 1 << es } else { 0 };
                (es as u8 + 1, last | ((1 << es) - 1))
            }
        };
        i += 1;
    }
    table
};

impl Atoms {
    /// Number of atoms, and one bit each (1 is E), the first in bit 0.
    #[inline]
    pub const fn get(self) -> (u8, u32) {
        ATOMS[(self.header & 0x3f) as usize]
    }

    /// The header for exactly these atoms, if there is one.
    pub fn find(count: u8, bits: u32) -> Option<Self> {
        // The short formats come last in the table and are preferred.
        let index = ATOMS.iter().rposition(|&atoms| atoms == (count, bits))?;
        Some(Atoms { header: 0xc0 | index as u8 })
    }

    /// The format number, 1 to 6.
    pub const fn format(self) -> u8 {
        match self.header {
            0xf6 | 0xf7 => 1,
            0xd8..=0xdb => 2,
            0xf8..=0xff => 3,
            0xdc..=0xdf => 4,
            0xf5 | 0xd5..=0xd7 => 5,
            _ => 6,
        }
    }
}

/// Atoms that Mispredict and Cancel format 2 carry: none, E, EE, N.
pub(crate) const SHORT_ATOMS: [(u8, u32); 4] = [(0, 0), (1, 1), (2, 0b11), (1, 0)];

/// Shows atoms as letters.
pub(super) fn show((count, bits): (u8, u32), out: &mut String) {
    if count > 0 {
        out.push(' ');
    }
    out.extend((0..count).map(|index| if bits >> index & 1 == 1 { 'E' } else { 'N' }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_5_2_10_atoms() {
        let text = |header| {
            let (count, bits) = Atoms { header }.get();
            (0..count).map(|i| if bits >> i & 1 == 1 { 'E' } else { 'N' }).collect::<String>()
        };
        assert_eq!(text(0xf7), "E");
        assert_eq!(text(0xda), "NE");
        assert_eq!(text(0xf9), "ENN");
        assert_eq!(text(0xdc), "NEEE");
        assert_eq!(text(0xf5), "NEEEE");
        assert_eq!(text(0xd7), "ENENE");
        assert_eq!(text(0xc0), "EEEE");
        assert_eq!(text(0xe0), "EEEN");
        assert_eq!(text(0xd4), "E".repeat(24));
        assert_eq!(text(0xf4), "E".repeat(23) + "N");
        for header in 0xc0..=0xff {
            let (count, bits) = Atoms { header }.get();
            assert_eq!(Atoms::find(count, bits).map(Atoms::get), Some((count, bits)));
        }
    }
}

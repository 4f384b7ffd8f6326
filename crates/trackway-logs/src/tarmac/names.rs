//! Names of registers.

use trackway_isa::arm;

use super::mode::Bank;

/// A register by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    X(u8),
    W(u8),
    /// `SP`, or `SP_EL1` with its level.
    Sp(Option<u8>),
    /// R0 to R15 of AArch32, of a bank.
    R(u8, Bank),
    /// `q0`, `V0`, `d0`, `s0`, `h0`, `b0`: the number of digits.
    Vector(u8, u8),
    /// SVE.
    Z(u8),
    P(u8),
    Cpsr,
    Pc,
    /// A system register of AArch64 by its number.
    System(u16),
    /// DC, IC, TLBI, AT: not a register.
    Operation,
    Unknown,
}

/// The register of that name.
#[inline(always)]
pub(super) fn name(text: &[u8]) -> Name {
    if let [letter, digits @ ..] = text
        && let Some(number) = small(digits)
    {
        return match (letter, number) {
            (b'X' | b'x', ..=30) => Name::X(number),
            (b'W' | b'w', ..=30) => Name::W(number),
            (b'R' | b'r', ..=15) => Name::R(number, Bank::Current),
            (b'Q' | b'q' | b'V' | b'v', ..=31) => Name::Vector(number, 32),
            (b'D' | b'd', ..=31) => Name::Vector(number, 16),
            (b'S' | b's', ..=31) => Name::Vector(number, 8),
            (b'H' | b'h', ..=31) => Name::Vector(number, 4),
            (b'B' | b'b', ..=31) => Name::Vector(number, 2),
            (b'Z' | b'z', ..=31) => Name::Z(number),
            (b'P' | b'p', ..=15) => Name::P(number),
            _ => Name::Unknown,
        };
    }
    if let [b'S', b'P', b'_', b'E', b'L', level @ b'0'..=b'3'] = text {
        return Name::Sp(Some(level - b'0'));
    }
    other(text)
}

/// One or two decimal digits.
#[inline(always)]
fn small(digits: &[u8]) -> Option<u8> {
    match *digits {
        [n @ b'0'..=b'9'] => Some(n - b'0'),
        [a @ b'1'..=b'9', b @ b'0'..=b'9'] => Some((a - b'0') * 10 + (b - b'0')),
        _ => None,
    }
}

#[inline(never)]
fn other(text: &[u8]) -> Name {
    match text {
        b"cpsr" | b"CPSR" => return Name::Cpsr,
        b"SP" | b"sp" | b"WSP" => return Name::Sp(None),
        b"LR" | b"lr" => return Name::R(14, Bank::Current),
        b"PC" | b"pc" => return Name::Pc,
        b"DC" | b"IC" | b"TLBI" | b"AT" | b"CFP" | b"DVP" | b"CPP" => return Name::Operation,
        _ => {}
    }
    // `SP_SVC`, `LR_IRQ`, `r13_svc`, `R8_FIQ`.
    if let Some(at) = text.iter().position(|byte| *byte == b'_')
        && let Some(bank) = Bank::of(&text[at + 1..])
    {
        let number = match &text[..at] {
            b"SP" | b"sp" => Some(13),
            b"LR" | b"lr" => Some(14),
            [b'R' | b'r', digits @ ..] => small(digits).filter(|number| *number < 15),
            _ => None,
        };
        if let Some(number) = number {
            return Name::R(number, bank);
        }
    }
    let text = std::str::from_utf8(text).unwrap_or_default();
    arm::system_register_number(text).map_or(Name::Unknown, Name::System)
}

impl Name {
    /// The register with a bank in brackets after it: `R13 (SVC)`.
    pub(super) fn of_bank(self, bank: &[u8]) -> Name {
        match (self, Bank::of(bank)) {
            (Name::R(number, Bank::Current), Some(bank)) => Name::R(number, bank),
            _ => self,
        }
    }

    /// Digits of a whole value; 0 where they vary.
    #[inline(always)]
    pub(super) fn digits(self) -> usize {
        match self {
            Name::X(_) => 16,
            Name::W(_) | Name::R(..) => 8,
            Name::Vector(_, digits) => usize::from(digits),
            _ => 0,
        }
    }

    /// True if a value may have that number of digits.
    #[inline(always)]
    pub(super) fn fits(self, digits: usize, value: u128) -> bool {
        match self.digits() {
            // Some producers shorten zero, and the lower half of a vector register.
            wanted @ 1.. => digits == wanted || value == 0 && digits == 1 || wanted == 32 && digits == 16,
            _ => match self {
                Name::Sp(_) => matches!(digits, 8 | 16),
                Name::System(_) | Name::Cpsr | Name::Pc => matches!(digits, 8..=32),
                _ => true,
            },
        }
    }
}

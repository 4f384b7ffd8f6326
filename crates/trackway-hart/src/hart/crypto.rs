//! Bit manipulation for cryptography (Zbkb, Zbkx) and the scalar cryptography instructions (Zknd, Zkne, Zknh, Zksed,
//! Zksh), as functions of their operands.

use trackway_isa::riscv::{Inst, Op};

/// The result of an instruction with operands `a` and `b`; `None` where it is reserved.
pub(super) fn result<const RV64: bool>(inst: &Inst, a: u64, b: u64) -> Option<u64> {
    let (low_a, low_b) = (a as u32, b as u32);
    let byte = 8 * (inst.imm as u32 & 3);
    let selected = (low_b >> byte) as u8;
    let word = match inst.op {
        Op::Pack if RV64 => return Some(u64::from(low_a) | b << 32),
        Op::Pack | Op::Packw => low_a & 0xffff | low_b << 16,
        Op::Packh => low_a & 0xff | (low_b & 0xff) << 8,
        Op::Brev8 => return Some(each_byte(a, u8::reverse_bits)),
        Op::Zip => (0..16)
            .fold(0, |all, n| all | (low_a >> n & 1) << (2 * n) | (low_a >> (n + 16) & 1) << (2 * n + 1)),
        Op::Unzip => (0..16)
            .fold(0, |all, n| all | (low_a >> (2 * n) & 1) << n | (low_a >> (2 * n + 1) & 1) << (n + 16)),
        Op::Xperm8 => {
            return Some(each_byte(b, |index| if index < 8 { (a >> (8 * index)) as u8 } else { 0 }));
        }
        Op::Xperm4 => {
            return Some((0..16).fold(0, |all, n| all | (a >> (4 * (b >> (4 * n) & 15)) & 15) << (4 * n)));
        }

        Op::Aes32esi => low_a ^ u32::from(aes(selected)).rotate_left(byte),
        Op::Aes32esmi => low_a ^ mix_byte(aes(selected), FORWARD).rotate_left(byte),
        Op::Aes32dsi => low_a ^ u32::from(aes_inverse(selected)).rotate_left(byte),
        Op::Aes32dsmi => low_a ^ mix_byte(aes_inverse(selected), INVERSE).rotate_left(byte),
        Op::Aes64es => return Some(each_byte(shift_rows(a, b, &SHIFTED), aes)),
        Op::Aes64esm => return Some(mix(each_byte(shift_rows(a, b, &SHIFTED), aes), FORWARD)),
        Op::Aes64ds => return Some(each_byte(shift_rows(a, b, &SHIFTED_BACK), aes_inverse)),
        Op::Aes64dsm => return Some(mix(each_byte(shift_rows(a, b, &SHIFTED_BACK), aes_inverse), INVERSE)),
        Op::Aes64im => return Some(mix(a, INVERSE)),
        Op::Aes64ks1i => {
            let constant = ROUND_CONSTANTS.get(inst.imm as usize)?;
            let upper = (a >> 32) as u32;
            let turned = if inst.imm == 10 { upper } else { upper.rotate_right(8) };
            let half = each_byte(turned.into(), aes) & 0xffff_ffff ^ u64::from(*constant);
            return Some(half << 32 | half);
        }
        Op::Aes64ks2 => {
            let low = (a >> 32) as u32 ^ low_b;
            return Some(u64::from(low ^ (b >> 32) as u32) << 32 | u64::from(low));
        }

        Op::Sha256sum0 => low_a.rotate_right(2) ^ low_a.rotate_right(13) ^ low_a.rotate_right(22),
        Op::Sha256sum1 => low_a.rotate_right(6) ^ low_a.rotate_right(11) ^ low_a.rotate_right(25),
        Op::Sha256sig0 => low_a.rotate_right(7) ^ low_a.rotate_right(18) ^ low_a >> 3,
        Op::Sha256sig1 => low_a.rotate_right(17) ^ low_a.rotate_right(19) ^ low_a >> 10,
        Op::Sha512sum0 => return Some(a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39)),
        Op::Sha512sum1 => return Some(a.rotate_right(14) ^ a.rotate_right(18) ^ a.rotate_right(41)),
        Op::Sha512sig0 => return Some(a.rotate_right(1) ^ a.rotate_right(8) ^ a >> 7),
        Op::Sha512sig1 => return Some(a.rotate_right(19) ^ a.rotate_right(61) ^ a >> 6),
        // RV32 has halves of the same: of `whole` turned and shifted, the lower word.
        Op::Sha512sum0r => {
            let whole = halves(low_b, low_a);
            (whole.rotate_right(28) ^ whole.rotate_right(34) ^ whole.rotate_right(39)) as u32
        }
        Op::Sha512sum1r => {
            let whole = halves(low_b, low_a);
            (whole.rotate_right(14) ^ whole.rotate_right(18) ^ whole.rotate_right(41)) as u32
        }
        Op::Sha512sig0l => {
            let whole = halves(low_b, low_a);
            (whole.rotate_right(1) ^ whole.rotate_right(8) ^ whole >> 7) as u32
        }
        Op::Sha512sig0h => {
            let whole = halves(low_b, low_a);
            (whole.rotate_right(1) ^ whole.rotate_right(8)) as u32 ^ low_a >> 7
        }
        Op::Sha512sig1l => {
            let whole = halves(low_b, low_a);
            (whole.rotate_right(19) ^ whole.rotate_right(61) ^ whole >> 6) as u32
        }
        Op::Sha512sig1h => {
            let whole = halves(low_b, low_a);
            (whole.rotate_right(19) ^ whole.rotate_right(61)) as u32 ^ low_a >> 6
        }
        Op::Sm3p0 => low_a ^ low_a.rotate_left(9) ^ low_a.rotate_left(17),
        Op::Sm3p1 => low_a ^ low_a.rotate_left(15) ^ low_a.rotate_left(23),
        Op::Sm4ed => {
            let x = u32::from(sm4(selected));
            // The diffusion of the cipher for one byte, with the bytes of a word in reverse.
            let spread = x ^ x << 2 ^ x << 8 ^ x << 18 ^ (x & 0x3f) << 26 ^ (x & 0xc0) << 10;
            low_a ^ spread.rotate_left(byte)
        }
        Op::Sm4ks => {
            let x = u32::from(sm4(selected));
            let spread = x ^ (x & 7) << 29 ^ (x & 0xfe) << 7 ^ (x & 1) << 23 ^ (x & 0xf8) << 13;
            low_a ^ spread.rotate_left(byte)
        }
        _ => return None,
    };
    Some(word as i32 as u64)
}

const fn halves(upper: u32, lower: u32) -> u64 {
    (upper as u64) << 32 | lower as u64
}

fn each_byte(value: u64, change: impl Fn(u8) -> u8) -> u64 {
    u64::from_le_bytes(value.to_le_bytes().map(change))
}

/// Round constants of the AES key schedule; the last one is for steps without rotation.
const ROUND_CONSTANTS: [u8; 11] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36, 0];

/// Which byte each byte of half a state comes from: 0 to 7 of the first operand, 8 to 15 of the second.
const SHIFTED: [u8; 8] = [0, 5, 10, 15, 4, 9, 14, 3];
const SHIFTED_BACK: [u8; 8] = [0, 13, 10, 7, 4, 1, 14, 11];

fn shift_rows(a: u64, b: u64, from: &[u8; 8]) -> u64 {
    let state = u128::from(b) << 64 | u128::from(a);
    u64::from_le_bytes(from.map(|n| (state >> (8 * n)) as u8))
}

/// First column of the matrices of MixColumns and its inverse.
const FORWARD: [u8; 4] = [2, 1, 1, 3];
const INVERSE: [u8; 4] = [14, 9, 13, 11];

/// The part of a mixed column that comes from its first byte.
fn mix_byte(byte: u8, column: [u8; 4]) -> u32 {
    u32::from_le_bytes(column.map(|factor| multiply(byte, factor, AES_FIELD)))
}

fn mix_column(word: u32, column: [u8; 4]) -> u32 {
    let bytes = word.to_le_bytes();
    (0..4).fold(0, |all, n| all ^ mix_byte(bytes[n as usize], column).rotate_left(8 * n))
}

fn mix(value: u64, column: [u8; 4]) -> u64 {
    halves(mix_column((value >> 32) as u32, column), mix_column(value as u32, column))
}

/// Polynomials of the fields of AES and SM4, without their leading term.
const AES_FIELD: u8 = 0x1b;
const SM4_FIELD: u8 = 0xf5;

const fn multiply(mut a: u8, mut b: u8, field: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = a << 1 ^ if a & 0x80 != 0 { field } else { 0 };
        b >>= 1;
    }
    product
}

/// The inverse, which is the power of 254; of 0 it is 0.
const fn invert(a: u8, field: u8) -> u8 {
    let (mut power, mut result, mut n) = (a, 1, 1);
    while n < 8 {
        power = multiply(power, power, field);
        result = multiply(result, power, field);
        n += 1;
    }
    result
}

/// Substitution boxes from their definition: inversion between affine maps.
const AES: [u8; 256] = {
    let (mut table, mut n) = ([0; 256], 0);
    while n < 256 {
        let x = invert(n as u8, AES_FIELD);
        table[n] = x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4) ^ 0x63;
        n += 1;
    }
    table
};

const AES_INVERSE: [u8; 256] = {
    let (mut table, mut n) = ([0; 256], 0);
    while n < 256 {
        table[AES[n] as usize] = n as u8;
        n += 1;
    }
    table
};

const SM4: [u8; 256] = {
    let (mut table, mut n) = ([0; 256], 0);
    while n < 256 {
        table[n] = sm4_affine(invert(sm4_affine(n as u8), SM4_FIELD));
        n += 1;
    }
    table
};

const fn sm4_affine(x: u8) -> u8 {
    x ^ x.rotate_right(1) ^ x.rotate_right(2) ^ x.rotate_right(5) ^ x.rotate_right(7) ^ 0xd3
}

fn aes(byte: u8) -> u8 {
    AES[usize::from(byte)]
}

fn aes_inverse(byte: u8) -> u8 {
    AES_INVERSE[usize::from(byte)]
}

fn sm4(byte: u8) -> u8 {
    SM4[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use trackway_core::Isa;
    use trackway_isa::riscv::decode;

    use super::*;

    /// Some entries of the published tables (FIPS 197, figure 7 and 14; GB/T 32907, table of S).
    #[test]
    fn substitution() {
        for (byte, forward) in [(0x00, 0x63), (0x53, 0xed), (0xff, 0x16), (0x9a, 0xb8)] {
            assert_eq!(aes(byte), forward);
            assert_eq!(aes_inverse(forward), byte);
        }
        for (byte, substituted) in [(0x00, 0xd6), (0x01, 0x90), (0xef, 0x84), (0xff, 0x48)] {
            assert_eq!(sm4(byte), substituted);
        }
    }

    /// FIPS 197, appendix B: the first round of the example, and back.
    #[test]
    fn a_round_of_aes() {
        let columns = |text: &str| {
            let bytes: Vec<u8> =
                (0..16).map(|n| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap()).collect();
            (
                u64::from_le_bytes(bytes[..8].try_into().unwrap()),
                u64::from_le_bytes(bytes[8..].try_into().unwrap()),
            )
        };
        let run = |word, a, b| result::<true>(&decode(Isa::Rv64, word).unwrap(), a, b).unwrap();
        let (esm, ds, im) = (0x3600_0033, 0x3a00_0033, 0x3000_1013);
        let start = columns("193de3bea0f4e22b9ac68d2ae9f84808");
        let mixed = columns("046681e5e0cb199a48f8d37a2806264c");
        assert_eq!((run(esm, start.0, start.1), run(esm, start.1, start.0)), mixed);
        let unmixed = (run(im, mixed.0, 0), run(im, mixed.1, 0));
        assert_eq!((run(ds, unmixed.0, unmixed.1), run(ds, unmixed.1, unmixed.0)), start);
    }

    #[test]
    fn reserved_rounds() {
        let inst = decode(Isa::Rv64, 0x31b0_1013).unwrap(); // aes64ks1i with round 11
        assert_eq!(result::<true>(&inst, 1, 0), None);
    }
}

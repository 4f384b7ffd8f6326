//! Usual groups in one pass over their bytes: an instruction that retires, the pc after it, at most one register, full or as
//! an increment, and one access. The begin of the next group may end them.

use crate::config::Widths;
use crate::mem_op::MemOp;
use crate::record::{ADDITIONAL_STATE, number};
use crate::register;
use crate::registers::Registers;

/// Items of a group, each at most once.
pub(crate) const PC: u16 = 1;
pub(crate) const INCREMENT: u16 = 2;
pub(crate) const NARROW: u16 = 4;
pub(crate) const WIDE: u16 = 8;
pub(crate) const REGISTER: u16 = 0x10;
pub(crate) const EFFECTIVE: u16 = 0x20;
pub(crate) const STORE: u16 = 0x40;
/// The request of a load and its response.
pub(crate) const ANSWER: u16 = 0x80;
pub(crate) const ADD: u16 = 0x100;
pub(crate) const OR: u16 = 0x200;
/// The end of the group.
pub(crate) const END: u16 = 0x400;
/// Any item that writes a register.
pub(crate) const WRITES: u16 = REGISTER | ADD | OR;

/// As long as the longest of these items, and as the front of most groups.
const WINDOW: usize = 20;

/// The items of a usual group.
#[derive(Clone, Copy, Default)]
pub(crate) struct Items {
    /// Those that it has.
    pub(crate) present: u16,
    /// 0 to 3: 8 to 64 bits.
    pub(crate) store_size: u8,
    pub(crate) address: u16,
    pub(crate) encoding: u32,
    pub(crate) pc: u64,
    /// The value, or what is added to it or set in it.
    pub(crate) register: u64,
    pub(crate) effective: u64,
    pub(crate) store: u64,
    /// Address of the request, and the value that its response has.
    pub(crate) request: u64,
    pub(crate) answer: u64,
    /// Sizes and result as they are on the wire.
    codes: [u8; 2],
    /// Bytes, begin and end included.
    pub(crate) len: usize,
}

impl Items {
    /// Reads the group at the start of `data`; `None` if it is not usual.
    #[inline(always)]
    pub(crate) fn read(data: &[u8], widths: &Widths) -> Option<Items> {
        let low = |value: u64, width: u8| value & (u64::MAX >> (64 - 8 * u32::from(width)));
        let mut items = Items { len: 1, ..Items::default() };
        match *data.first_chunk::<WINDOW>()? {
            [number::BEGIN_GROUP, ADDITIONAL_STATE, number::PC, pc @ .., opcode, a, b, c, d, _, _, _, _]
                if widths.xlen == 8 =>
            {
                items.pc = u64::from_le_bytes(pc);
                items.encoding = u32::from_le_bytes([a, b, c, d]);
                match opcode {
                    number::INSTRUCTION32 => (items.present, items.len) = (PC | WIDE, 16),
                    number::INSTRUCTION16 => {
                        items.encoding &= 0xffff;
                        (items.present, items.len) = (PC | NARROW, 14);
                    }
                    _ => return None,
                }
            }
            [number::BEGIN_GROUP, ..] => {}
            _ => return None,
        }
        loop {
            let rest = data.get(items.len..)?;
            let Some(window) = rest.first_chunk::<WINDOW>() else {
                // The end of the last group of the input.
                return (rest.first() == Some(&number::END_GROUP)).then(|| items.ended());
            };
            let [opcode, a, b, c, d, e, f, g, h, i, j, ..] = *window;
            let item = match opcode {
                number::END_GROUP => return Some(items.ended()),
                number::BEGIN_GROUP => return Some(items),
                ADDITIONAL_STATE => {
                    let word = u64::from_le_bytes([b, c, d, e, f, g, h, i]);
                    match a {
                        number::PC => {
                            items.pc = low(word, widths.xlen);
                            items.len += 2 + usize::from(widths.xlen);
                            PC
                        }
                        number::EFFECTIVE_ADDRESS => {
                            items.effective = low(word, widths.eaddr);
                            items.len += 2 + usize::from(widths.eaddr);
                            EFFECTIVE
                        }
                        number::STORE_DATA..number::MTIME => {
                            items.store_size = a - number::STORE_DATA;
                            items.store = low(word, 1 << items.store_size);
                            items.len += 2 + (1 << items.store_size);
                            STORE
                        }
                        _ => return None,
                    }
                }
                number::INSTRUCTION32 => {
                    items.encoding = u32::from_le_bytes([a, b, c, d]);
                    items.len += 5;
                    WIDE
                }
                number::INSTRUCTION16 => {
                    items.encoding = u16::from_le_bytes([a, b]).into();
                    items.len += 3;
                    NARROW
                }
                number::FULL_REGISTER => {
                    items.address = u16::from_le_bytes([a, b]);
                    // Control registers may be those of a trap.
                    if !(register::GPR..register::END).contains(&items.address) || items.present & WRITES != 0
                    {
                        return None;
                    }
                    let width = widths.register(items.address)?;
                    items.register = low(u64::from_le_bytes([c, d, e, f, g, h, i, j]), width);
                    items.len += 3 + usize::from(width);
                    REGISTER
                }
                number::ADD_REGISTER | number::OR_REGISTER => {
                    items.address = u16::from_le_bytes([a, b]);
                    if !(register::GPR..register::FPR).contains(&items.address) || items.present & WRITES != 0
                    {
                        return None;
                    }
                    items.len += 4;
                    if opcode == number::OR_REGISTER {
                        items.register = c.into();
                        OR
                    } else {
                        items.register = i64::from(c as i8) as u64;
                        ADD
                    }
                }
                number::INCREMENT_PC => {
                    items.len += 1;
                    INCREMENT
                }
                // A load, its size, and a response that may have another.
                number::MEMORY_REQUEST if widths.mlen == 8 => {
                    let [.., codes, response, answer_codes, k, l, m, n, o, p, q, r] = *window;
                    let size = answer_codes & 0xf;
                    if codes & 0xf != MemOp::LOAD.0
                        || codes >> 4 > 3
                        || response != number::MEMORY_RESPONSE
                        || size > 3
                    {
                        return None;
                    }
                    items.request = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
                    items.answer = low(u64::from_le_bytes([k, l, m, n, o, p, q, r]), 1 << size);
                    items.codes = [codes, answer_codes];
                    items.len += 12 + (1 << size);
                    ANSWER
                }
                _ => return None,
            };
            if items.present & item != 0 {
                return None;
            }
            items.present |= item;
        }
    }

    /// With the end of the group.
    #[inline(always)]
    fn ended(self) -> Items {
        Items { len: self.len + 1, present: self.present | END, ..self }
    }

    /// The value that the group writes to its register; `None` if it is relative to an unknown one.
    #[inline(always)]
    pub(crate) fn written(&self, registers: &Registers, xlen: u8) -> Option<u64> {
        match self.present & WRITES {
            ADD => {
                let sum = registers.get(self.address)?.wrapping_add(self.register);
                Some(if xlen == 4 { sum & u64::from(u32::MAX) } else { sum })
            }
            OR => Some(registers.get(self.address)? | self.register),
            _ => Some(self.register),
        }
    }

    /// Has the response the size of its request, and a result that is named?
    pub(crate) fn answers_as_asked(&self) -> bool {
        let [asked, answered] = self.codes;
        asked >> 4 == answered & 0xf && answered >> 4 <= 1
    }

    #[inline(always)]
    pub(crate) fn has(&self, items: u16) -> bool {
        self.present & items == items
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use trackway_testkit::random::Numbers;

    use super::*;
    use crate::config::{Config, Profile};

    /// A group of random items, of which most are usual.
    fn group(numbers: &mut Numbers, widths: &Widths, out: &mut Vec<u8>) {
        const ENCODINGS: [u32; 14] = [
            0x0015_8593,
            0x0005_b583,
            0x00b5_3023,
            0x00b5_0463,
            0x0080_00ef,
            0x0000_8067,
            0x18b5_262f,
            0x00c5_25af,
            0x0000_0073,
            0x3020_0073,
            0x4188,
            0xc188,
            0xe191,
            0x8582,
        ];
        let word = |numbers: &mut Numbers, width: u8| numbers.draw().to_le_bytes()[..width.into()].to_vec();
        let encoding = ENCODINGS[numbers.below(14) as usize].to_le_bytes();
        out.push(number::BEGIN_GROUP);
        // Most traces have the pc first.
        let pc_first = numbers.one_in(2);
        if pc_first {
            out.extend([ADDITIONAL_STATE, number::PC]);
            out.extend(word(numbers, widths.xlen));
        }
        for _ in 0..if numbers.one_in(9) { 2 } else { 1 } {
            match encoding[0] & 3 {
                3 => out.extend([&[number::INSTRUCTION32][..], &encoding].concat()),
                _ => out.extend([number::INSTRUCTION16, encoding[0], encoding[1]]),
            }
        }
        if pc_first && !numbers.one_in(20) {
        } else if numbers.one_in(2) {
            out.push(number::INCREMENT_PC);
        } else if !numbers.one_in(9) {
            out.extend([ADDITIONAL_STATE, number::PC]);
            out.extend(word(numbers, widths.xlen));
        }
        if numbers.one_in(3) {
            let opcode = if numbers.one_in(2) { number::ADD_REGISTER } else { number::OR_REGISTER };
            let address = match numbers.below(12) {
                0 => 0x342,
                1 => register::FPR + numbers.below(32) as u16,
                _ => register::GPR + numbers.below(16) as u16,
            };
            let [low, high] = address.to_le_bytes();
            out.extend([opcode, low, high, numbers.draw() as u8]);
        }
        let full = if numbers.one_in(2) { numbers.below(3) } else { 0 };
        for _ in 0..full {
            let address = match numbers.below(9) {
                0 => 0x342,
                1 => register::FPR + numbers.below(32) as u16,
                2 => numbers.below(0x1_0000) as u16,
                _ => register::GPR + numbers.below(16) as u16,
            };
            out.push(number::FULL_REGISTER);
            out.extend(address.to_le_bytes());
            out.extend(word(numbers, widths.register(address).unwrap_or(8)));
        }
        if numbers.one_in(2) {
            out.extend([ADDITIONAL_STATE, number::EFFECTIVE_ADDRESS]);
            let address = numbers.draw().to_le_bytes();
            out.extend(&address[..widths.eaddr.into()]);
            if numbers.one_in(3) {
                let other = u8::from(numbers.one_in(9));
                let (op, size) = (other * numbers.below(14) as u8, numbers.below(4) as u8);
                let mut address = address;
                address[0] ^= u8::from(numbers.one_in(9));
                out.push(number::MEMORY_REQUEST);
                out.extend(&address[..widths.mlen.into()]);
                out.push(op | size << 4);
                if MemOp(op).sends() {
                    out.extend(word(numbers, 1 << size));
                }
                let size = if numbers.one_in(9) { numbers.below(5) as u8 } else { size };
                if !numbers.one_in(9) {
                    out.extend([number::MEMORY_RESPONSE, size | (numbers.below(2) as u8) << 4]);
                    out.extend(word(numbers, if MemOp(op).returns() { 1 << size.min(3) } else { 0 }));
                }
            }
        }
        if numbers.one_in(3) {
            let size = numbers.below(4) as u8;
            out.extend([ADDITIONAL_STATE, number::STORE_DATA + size]);
            out.extend(word(numbers, 1 << size));
        }
        if numbers.one_in(12) {
            out.extend([ADDITIONAL_STATE, number::PRIVILEGE_MODE, 3]);
        }
        if !numbers.one_in(3) {
            out.push(number::END_GROUP);
        }
    }

    /// A trace of such groups, of any widths, sometimes damaged.
    pub(crate) fn random_groups(seed: u64) -> (Config, Vec<u8>) {
        let numbers = &mut Numbers(seed);
        let xlen = if numbers.one_in(3) { 32 } else { 64 };
        let flen = [0, 32, 64][numbers.below(3) as usize];
        let profile = if numbers.one_in(2) { Profile::Spec } else { Profile::Bluespec };
        let reset_pc = if numbers.one_in(4) { None } else { Some(0x8000_0000) };
        let mlen = if xlen == 64 { 64 } else { [32, 34][numbers.below(2) as usize] };
        let config = Config { xlen, flen, mlen, profile, reset_pc, ..Config::default() };
        let widths = config.widths().unwrap();
        let mut bytes = Vec::new();
        for _ in 0..numbers.below(60) {
            group(numbers, &widths, &mut bytes);
        }
        for _ in 0..numbers.below(3) {
            if !bytes.is_empty() {
                let at = numbers.below(bytes.len() as u64) as usize;
                bytes[at] = numbers.draw() as u8;
            }
        }
        (config, bytes)
    }
}

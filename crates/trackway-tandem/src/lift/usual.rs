//! Usual groups in one pass over their bytes: an instruction that retires, the pc after it, at most one register and one
//! access.
//!
//! They become the events that [`Lifter::lift`] makes of them, without the items in between; any other group is left to
//! it.

use trackway_core::*;
use trackway_isa::Control;
use trackway_isa::riscv::Class;

use super::Decoder;
use super::access::set;
use super::group::Lifter;
use crate::config::Widths;
use crate::mem_op::MemOp;
use crate::record::{ADDITIONAL_STATE, OPCODES, number};
use crate::register;

/// Items of a group, each at most once.
const PC: u8 = 1;
const INCREMENT: u8 = 2;
const NARROW: u8 = 4;
const WIDE: u8 = 8;
const REGISTER: u8 = 0x10;
const EFFECTIVE: u8 = 0x20;
const STORE: u8 = 0x40;
/// The request of a load and its response.
const ANSWER: u8 = 0x80;

/// As long as the longest of these items, and as the front of most groups.
const WINDOW: usize = 20;

/// The bits of `present` as bytes of a word, so that many groups are counted by one addition each.
const SPREAD: [u64; 256] = {
    let mut spread = [0; 256];
    let mut n = 0;
    while n < 8 * 256 {
        spread[n / 8] |= (((n / 8) >> (n % 8) & 1) as u64) << (8 * (n % 8));
        n += 1;
    }
    spread
};

/// The items of a usual group.
#[derive(Clone, Copy, Default)]
struct Items {
    /// Those that it has.
    present: u8,
    /// 0 to 3: 8 to 64 bits.
    store_size: u8,
    address: u16,
    encoding: u32,
    pc: u64,
    register: u64,
    effective: u64,
    store: u64,
    /// Address of the request, and the value that its response has.
    request: u64,
    answer: u64,
    /// Bytes, begin and end included.
    len: usize,
}

impl Items {
    /// Reads the group at the start of `data`; `None` if it is not usual.
    #[inline(always)]
    fn read(data: &[u8], widths: &Widths) -> Option<Items> {
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
                return (rest.first() == Some(&number::END_GROUP))
                    .then_some(Items { len: items.len + 1, ..items });
            };
            let [opcode, a, b, c, d, e, f, g, h, i, j, ..] = *window;
            let item = match opcode {
                number::END_GROUP => return Some(Items { len: items.len + 1, ..items }),
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
                    if !(register::GPR..register::END).contains(&items.address) {
                        return None;
                    }
                    let width = widths.register(items.address)?;
                    items.register = low(u64::from_le_bytes([c, d, e, f, g, h, i, j]), width);
                    items.len += 3 + usize::from(width);
                    REGISTER
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

    #[inline(always)]
    fn has(&self, items: u8) -> bool {
        self.present & items == items
    }
}

/// Adds sums of the bytes of [`SPREAD`] to the counts.
fn count(sums: u64, counts: &mut [u64; OPCODES]) {
    let opcodes = [
        ADDITIONAL_STATE,
        number::INCREMENT_PC,
        number::INSTRUCTION16,
        number::INSTRUCTION32,
        number::FULL_REGISTER,
        ADDITIONAL_STATE,
        ADDITIONAL_STATE,
        number::MEMORY_REQUEST,
    ];
    for (opcode, sum) in opcodes.into_iter().zip(sums.to_le_bytes()) {
        counts[usize::from(opcode)] += u64::from(sum);
        if opcode == number::MEMORY_REQUEST {
            counts[usize::from(number::MEMORY_RESPONSE)] += u64::from(sum);
        }
    }
}

impl Decoder {
    /// Lifts usual groups until another one comes, or the batch is full; returns how many.
    pub(super) fn usual_groups(&mut self, batch: &mut Batch) -> u64 {
        let Decoder { reader, lifter, counts, .. } = self;
        let (offset, data) = (reader.offset(), reader.ahead());
        let widths = reader.widths();
        let (at, groups) = if widths.is_64() {
            lifter.usual_groups(data, offset, &widths.as_64(), counts, batch)
        } else {
            lifter.usual_groups(data, offset, widths, counts, batch)
        };
        counts[usize::from(number::BEGIN_GROUP)] += groups;
        counts[usize::from(number::END_GROUP)] += groups;
        reader.pass(at);
        groups
    }
}

impl Lifter {
    /// Lifts the usual groups at the start of `data`; returns their length and number.
    #[inline(always)]
    fn usual_groups(
        &mut self,
        data: &[u8],
        offset: u64,
        widths: &Widths,
        counts: &mut [u64; OPCODES],
        batch: &mut Batch,
    ) -> (usize, u64) {
        let (mut at, mut groups) = (0, 0);
        // Groups with each item, a byte for each.
        let mut sums = 0;
        while !batch.is_full() {
            let Some(items) = data.get(at..).and_then(|rest| Items::read(rest, widths)) else { break };
            if !self.usual(&items, offset + at as u64, batch) {
                break;
            }
            at += items.len;
            groups += 1;
            sums += SPREAD[usize::from(items.present)];
            if groups % 128 == 0 {
                count(std::mem::take(&mut sums), counts);
            }
        }
        count(sums, counts);
        (at, groups)
    }

    /// Lifts a usual group; false if it is not usual after all, and nothing has happened then.
    #[inline(always)]
    fn usual(&mut self, items: &Items, offset: u64, batch: &mut Batch) -> bool {
        let length: u8 = match items.present & (NARROW | WIDE) {
            NARROW => 2,
            WIDE => 4,
            _ => return false,
        };
        let Some(pc) = self.pc else { return false };
        let after = self.narrow(pc.wrapping_add(u64::from(length)));
        let next = match items.present & (PC | INCREMENT) {
            PC => items.pc,
            INCREMENT => after,
            _ => return false,
        };
        let control = self.control(items.encoding);
        let taken = match control {
            Control::Sequential => None,
            Control::Branch => Some(next != after),
            Control::TrapReturn => return false,
            control if control.is_transfer() => Some(true),
            _ => return false,
        };
        let access = match items.present & (EFFECTIVE | STORE | ANSWER) {
            0 => None,
            present => match self.usual_access(items, present) {
                None => return false,
                access => access,
            },
        };
        let mut accesses = batch.begin_accesses();
        if let Some(access) = access {
            batch.mem.push(access);
            accesses.mem_len = 1;
        }
        if items.has(REGISTER) {
            batch.regs.push(set(register::reg(items.address), RegRole::Destination, items.register));
            self.registers.set_file(items.address, items.register);
            accesses.regs_len = 1;
        }
        let extra = match taken {
            Some(true) => batch.add_extra(StepExtra { target: Some(next), ..StepExtra::default() }),
            _ => None,
        };
        let encoding = items.encoding;
        let outcome = Outcome::Retired;
        let step = Step { pc: Some(pc), encoding, accesses, extra, length, outcome, taken };
        batch.push(offset, EventKind::Step(step));
        self.pc = Some(next);
        true
    }

    /// The access of a plain load or store.
    #[inline(always)]
    fn usual_access(&mut self, items: &Items, present: u8) -> Option<MemAccess> {
        let inst = self.decode(items.encoding)?;
        match (inst.op.class(), present) {
            (Class::Load(n), present) if present & !ANSWER == EFFECTIVE => {
                // A request elsewhere is not the load's own.
                if items.has(ANSWER) && items.request != items.effective {
                    return None;
                }
                let is_loaded = items.has(REGISTER) && items.address & 0x1f == u16::from(inst.rd);
                let loaded = if is_loaded { items.register } else { items.answer };
                let is_known = is_loaded | items.has(ANSWER);
                let data =
                    if is_known { Value::Word(mask(loaded, 8 * u32::from(n))) } else { Value::Unknown };
                // The size is that of the encoding.
                Some(MemAccess { inferred: true, ..MemAccess::read(items.effective, n.into(), data) })
            }
            (Class::Store(_), present) if present == EFFECTIVE | STORE => {
                let data = Value::Word(items.store);
                Some(MemAccess::write(items.effective, 1 << items.store_size, data))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use trackway_testkit::random::Numbers;

    use super::*;
    use crate::config::{Config, Profile};
    use crate::read::Reader;

    /// The events of a trace with its census and errors, lifted group by group or usual ones at once.
    fn lift(bytes: &[u8], config: Config, shortcuts: bool) -> (String, u64) {
        let reader = Reader::new(Input::from_vec(bytes.to_vec()), &config).unwrap();
        let mut decoder = Decoder::new(reader, config);
        decoder.shortcuts = shortcuts;
        let (mut text, mut batch) = (String::new(), Batch::default());
        loop {
            batch.clear();
            let filled = decoder.fill(&mut batch);
            for event in &batch.events {
                text += &format!("{event:?}\n");
            }
            let Batch { mem, regs, extras, mem_extras, traps, contexts, states, .. } = &batch;
            text += &format!("{mem:?}{regs:?}{extras:?}{mem_extras:?}{traps:?}{contexts:?}{states:?}\n");
            match filled {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    text += &format!("{error:?}\n");
                    if !matches!(decoder.enter(), Ok(Entry::After { .. })) {
                        break;
                    }
                }
            }
        }
        text += &format!("{:?} {} {:?}", decoder.census(), decoder.position(), decoder.save());
        (text, decoder.number)
    }

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
        for _ in 0..numbers.below(3) {
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
        match numbers.below(12) {
            0 => out.extend([ADDITIONAL_STATE, number::PRIVILEGE_MODE, 3]),
            1 => out.extend([number::ADD_REGISTER, 10, 0x10, 5]),
            _ => {}
        }
        if !numbers.one_in(20) {
            out.push(number::END_GROUP);
        }
    }

    #[test]
    fn usual_groups_are_lifted_as_all_others() {
        let mut instructions = 0;
        for seed in 0..3000 {
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
            let (usual, plain) = (lift(&bytes, config, true), lift(&bytes, config, false));
            assert_eq!(usual, plain, "seed {seed}");
            instructions += usual.1;
        }
        assert!(instructions > 10_000, "{instructions}");
    }
}

//! Usual groups become the events that [`Lifter::lift`] makes of them, without the items in between; any other group is left to
//! it.

use trackway_core::*;
use trackway_isa::Control;
use trackway_isa::riscv::Class;

use super::Decoder;
use super::access::set;
use super::group::Lifter;
use crate::config::Widths;
use crate::record::{ADDITIONAL_STATE, OPCODES, number};
use crate::register;
use crate::usual::{ADD, ANSWER, EFFECTIVE, END, INCREMENT, Items, NARROW, OR, PC, STORE, WIDE, WRITES};

/// Half of the bits of `present` as bytes of a word, so that many groups are counted by one addition each.
const SPREAD: [u64; 256] = {
    let mut spread = [0; 256];
    let mut n = 0;
    while n < 8 * 256 {
        spread[n / 8] |= (((n / 8) >> (n % 8) & 1) as u64) << (8 * (n % 8));
        n += 1;
    }
    spread
};

/// Groups with each item: those of the lower half of `present` as a byte each, the others alone.
#[derive(Clone, Copy, Default)]
struct Sums {
    low: u64,
    adds: u64,
    ors: u64,
    implied: u64,
}

impl Sums {
    /// Adds a group; before the 256th the sums are [taken](Sums::count).
    #[inline(always)]
    fn add(&mut self, present: u16) {
        self.low += SPREAD[usize::from(present as u8)];
        // Most groups have an end, and full registers.
        if present & (ADD | OR | END) != END {
            self.adds += u64::from(present & ADD != 0);
            self.ors += u64::from(present & OR != 0);
            self.implied += u64::from(present & END == 0);
        }
    }

    /// Adds the sums to the counts of items, and begins anew.
    fn count(&mut self, counts: &mut [u64; OPCODES]) {
        const KINDS: [u8; 8] = [
            ADDITIONAL_STATE,
            number::INCREMENT_PC,
            number::INSTRUCTION16,
            number::INSTRUCTION32,
            number::FULL_REGISTER,
            ADDITIONAL_STATE,
            ADDITIONAL_STATE,
            number::MEMORY_REQUEST,
        ];
        let low = std::mem::take(&mut self.low);
        for (opcode, sum) in KINDS.into_iter().zip(low.to_le_bytes()) {
            counts[usize::from(opcode)] += u64::from(sum);
            if opcode == number::MEMORY_REQUEST {
                counts[usize::from(number::MEMORY_RESPONSE)] += u64::from(sum);
            }
        }
    }
}

impl Decoder {
    /// Lifts usual groups until another one comes, or the batch is full; returns how many.
    pub(super) fn usual_groups(&mut self, batch: &mut Batch) -> u64 {
        let Decoder { reader, lifter, counts, .. } = self;
        let (offset, data) = (reader.offset(), reader.ahead());
        let widths = reader.widths();
        let (at, groups, implied) = if widths.is_64() {
            lifter.usual_groups(data, offset, &widths.as_64(), counts, batch)
        } else {
            lifter.usual_groups(data, offset, widths, counts, batch)
        };
        counts[usize::from(number::BEGIN_GROUP)] += groups;
        counts[usize::from(number::END_GROUP)] += groups - implied;
        reader.pass_groups(at, implied > 0);
        groups
    }
}

impl Lifter {
    /// Lifts the usual groups at the start of `data`; returns their length and number, and how many have no end.
    #[inline(always)]
    fn usual_groups(
        &mut self,
        data: &[u8],
        offset: u64,
        widths: &Widths,
        counts: &mut [u64; OPCODES],
        batch: &mut Batch,
    ) -> (usize, u64, u64) {
        let (mut at, mut groups) = (0, 0);
        let mut sums = Sums::default();
        while !batch.is_full() {
            let Some(items) = data.get(at..).and_then(|rest| Items::read(rest, widths)) else { break };
            if !self.usual(&items, offset + at as u64, batch) {
                break;
            }
            at += items.len;
            groups += 1;
            sums.add(items.present);
            if groups % 128 == 0 {
                sums.count(counts);
            }
        }
        sums.count(counts);
        counts[usize::from(number::ADD_REGISTER)] += sums.adds;
        counts[usize::from(number::OR_REGISTER)] += sums.ors;
        (at, groups, sums.implied)
    }

    /// Lifts a usual group; false if it is not usual after all, and nothing has happened then.
    #[inline(always)]
    fn usual(&mut self, items: &Items, offset: u64, batch: &mut Batch) -> bool {
        let length: u8 = match items.present & (NARROW | WIDE) {
            NARROW => 2,
            WIDE => 4,
            _ => return false,
        };
        let (Some(pc), Some(written)) = (self.pc, items.written(&self.registers, self.xlen)) else {
            return false;
        };
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
            present => match self.usual_access(items, present, written) {
                None => return false,
                access => access,
            },
        };
        let mut accesses = batch.begin_accesses();
        if let Some(access) = access {
            batch.mem.push(access);
            accesses.mem_len = 1;
        }
        if items.present & WRITES != 0 {
            batch.regs.push(set(register::reg(items.address), RegRole::Destination, written));
            self.registers.set_file(items.address, written);
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

    /// The access of a plain load or store; `written` is the value of the group's register, if it has one.
    #[inline(always)]
    fn usual_access(&mut self, items: &Items, present: u16, written: u64) -> Option<MemAccess> {
        let inst = self.decode(items.encoding)?;
        match (inst.op.class(), present) {
            (Class::Load(n), present) if present & !ANSWER == EFFECTIVE => {
                // A request elsewhere is not the load's own.
                if items.has(ANSWER) && items.request != items.effective {
                    return None;
                }
                let is_loaded = items.present & WRITES != 0 && items.address & 0x1f == u16::from(inst.rd);
                let loaded = if is_loaded { written } else { items.answer };
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
    use super::*;
    use crate::config::Config;
    use crate::read::Reader;
    use crate::usual::tests::random_groups;

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

    #[test]
    fn usual_groups_are_lifted_as_all_others() {
        let mut instructions = 0;
        for seed in 0..3000 {
            let (config, bytes) = random_groups(seed);
            let (usual, plain) = (lift(&bytes, config, true), lift(&bytes, config, false));
            assert_eq!(usual, plain, "seed {seed}");
            instructions += usual.1;
        }
        assert!(instructions > 10_000, "{instructions}");
    }
}

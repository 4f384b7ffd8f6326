//! Usual instructions in a loop of their own: one record, one access at most, and the flow leads on to the next.
//!
//! Most rules depend on the first word of a record alone, its flags and encoding. They are judged once for each such word, by
//! the checks that all records take; what depends on addresses is left for each record.

use trackway_isa::Recent;
use trackway_isa::arm::memory::{Bytes, Memory, access_bytes, literal};
use trackway_isa::arm::{Class, classify, state_write};

use super::checker::{Checker, SinceInstruction};
use super::group::Group;
use crate::layout::{RECORD, Words, from_bytes};
use crate::record::Instruction;
use crate::sanitise;

/// First words of records, and the checks that they leave.
pub(super) type Known = Recent<u64, Left, 4096>;

/// The checks that are left for an instruction whose first word is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left {
    /// Everything: it is not usual, or it breaks a rule.
    All,
    /// It has no address.
    NoAddress,
    /// An access whose rules do not depend on its place.
    Access,
    /// A branch that is taken to an address of a register.
    Branch,
    /// A branch that is taken this far.
    Jump(u64),
}

impl Checker {
    /// Checks usual instructions at the start of `chunk`, which is at `offset`, and returns how many there are.
    pub(super) fn usual(&mut self, offset: u64, chunk: &[[u8; RECORD]], known: &mut Known) -> usize {
        let Some(mut expected) = self.usual_next() else { return 0 };
        let (el, va_bits) = (self.context.map(|context| context.el), self.config.va_bits);
        let in_range = |address| sanitise(address, va_bits, el) == address;
        let mut count = 0usize;
        for record in chunk {
            let words = from_bytes(record);
            let [first, pc, ea, xattr] = words;
            if first as u8 != Instruction::ID || pc != expected || pc & 3 != 0 || xattr != 0 || !in_range(pc)
            {
                break;
            }
            expected = match *known.get(first, || self.left(&words)) {
                Left::NoAddress if ea == 0 => pc.wrapping_add(4),
                Left::Access if in_range(ea) => pc.wrapping_add(4),
                Left::Branch if in_range(ea) => ea,
                Left::Jump(distance) if ea == pc.wrapping_add(distance) && in_range(ea) => ea,
                _ => break,
            };
            count += 1;
        }
        if let Some(last) = count.checked_sub(1) {
            self.passed(offset, last, &chunk[last]);
        }
        count
    }

    /// The address that has to follow, if nothing but the next instruction is awaited.
    fn usual_next(&self) -> Option<u64> {
        let group = self.group.as_ref()?;
        let is_clear = self.context.is_some()
            && !(self.open || self.records_lost)
            && self.string.is_none()
            && self.unsupported.is_none()
            && self.since == SinceInstruction::default();
        let leads_on = !group.record.trap
            && group.tracked.is_none()
            && !matches!(group.class, Class::ExceptionReturn | Class::Syscall(..));
        if is_clear && leads_on { group.next(self.level) } else { None }
    }

    /// The state after usual instructions, the last of which has number `last` among them.
    fn passed(&mut self, offset: u64, last: usize, record: &[u8; RECORD]) {
        self.offset = offset + (last * RECORD) as u64;
        self.number += last as u64;
        self.instructions += last as u64 + 1;
        self.group = Some(self.group_of(&Instruction::read(&from_bytes(record))));
        self.number += 1;
    }

    /// The group that an instruction at the current place begins.
    pub(super) fn group_of(&self, instruction: &Instruction) -> Group {
        let synchronous_tags = self.context.is_none_or(|context| matches!(context.mte_tcf, 1 | 3));
        Group::new(instruction, self.number, self.offset, synchronous_tags)
    }

    /// The checks that are left for records with the first word of this one.
    fn left(&self, words: &Words) -> Left {
        use Memory::*;
        let record = Instruction::read(words);
        let word = record.iword;
        if record.trap || record.extra_eas || record.xattr_mode != 0 || state_write(word).is_some() {
            return Left::All;
        }
        let left = match (classify(record.pc, word), record.ea_valid) {
            (Class::Plain | Class::Wait | Class::Halt | Class::Branch { .. }, false) => Left::NoAddress,
            (Class::Branch { target: None, .. }, true) => Left::Branch,
            (Class::Branch { target: Some(target), .. }, true) => Left::Jump(target.wrapping_sub(record.pc)),
            (Class::Memory(Load | Store | ReadWrite | CompareSwap | ConditionalStore | Prefetch), valid)
                if matches!(access_bytes(word), None | Some(Bytes::Fixed(_)))
                    && literal(record.pc, word).is_none() =>
            {
                if valid {
                    Left::Access
                } else {
                    Left::NoAddress
                }
            }
            _ => return Left::All,
        };
        // The checks of all records, with nothing before this one to judge it by.
        let mut alone = Checker::new(self.config);
        (alone.level, alone.context) = (self.level, self.context);
        (alone.number, alone.instructions, alone.time_missed) = (1, 1, true);
        alone.record(0, words);
        if alone.has_findings() { Left::All } else { left }
    }
}

#[cfg(test)]
mod tests {
    use trackway_core::{Input, SplitMix64};

    use crate::check::check_with;
    use crate::{ReadConfig, Storage, Trace, example};

    fn findings(bytes: &[u8], with_usual: bool) -> Option<String> {
        let trace = Trace::open(Input::from_vec(bytes.to_vec()), ReadConfig::default()).ok()?;
        let mut all = Vec::new();
        let checked = check_with(&mut trace.records(), ReadConfig::default(), with_usual, &mut |finding| {
            all.push(finding)
        });
        Some(format!("{all:?} {checked:?}"))
    }

    /// A recording with some bits flipped, records left out, and records twice.
    fn damaged(random: &mut SplitMix64, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let rate = 1 << random.below(9);
        for (n, record) in bytes.chunks_exact(32).enumerate() {
            let mut record = record.to_vec();
            if n > 0 && random.one_in(rate) {
                match random.below(6) {
                    0 => continue,
                    1 => out.extend(&record),
                    // Flags and encodings more often than the rest.
                    2 | 3 => record[random.below(8) as usize] ^= 1 << random.below(8),
                    4 => record[random.below(32) as usize] = random.next_u64() as u8,
                    _ => record[random.below(32) as usize] ^= 1 << random.below(8),
                }
            }
            out.extend(record);
        }
        out
    }

    #[test]
    fn usual_instructions_have_the_findings_of_all_others() {
        let recorded = ["sort.astf", "levels.astf"].map(|name| {
            let path = format!("{}/../../testdata/astf/{name}", env!("CARGO_MANIFEST_DIR"));
            std::fs::read(path).expect("a recording")
        });
        let (mut random, mut found) = (SplitMix64(25), 0);
        for n in 0..600 {
            let bytes = match n % 3 {
                2 => example(Storage::Raw),
                of => recorded[of].clone(),
            };
            let bytes = damaged(&mut random, &bytes);
            let plain = findings(&bytes, false);
            assert_eq!(findings(&bytes, true), plain, "case {n}");
            found += usize::from(plain.is_some_and(|text| text.contains("rule")));
        }
        assert!(found > 300, "{found} cases with findings");
    }
}

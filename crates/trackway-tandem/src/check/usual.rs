//! Usual groups, checked in one pass over their bytes: those in which nothing can be found but in the instruction's own items.

use trackway_core::mask;
use trackway_isa::riscv;

use super::{Checker, Decoded, load_fits, stores_of};
use crate::config::Widths;
use crate::read::Reader;
use crate::register;
use crate::usual::{ANSWER, EFFECTIVE, END, INCREMENT, Items, NARROW, PC, STORE, WIDE, WRITES};

impl Checker<'_> {
    /// Passes groups that break no rule until another one comes, or the end of what was read.
    pub(super) fn usual_groups(&mut self, reader: &mut Reader) {
        let (data, widths) = (reader.ahead(), reader.widths());
        let at =
            if widths.is_64() { self.usual_in(data, &widths.as_64()) } else { self.usual_in(data, widths) };
        if at > 0 {
            reader.pass_groups(at, false);
        }
    }

    #[inline(always)]
    fn usual_in(&mut self, data: &[u8], widths: &Widths) -> usize {
        let mut at = 0;
        while let Some(items) = data.get(at..).and_then(|rest| Items::read(rest, widths)) {
            if !self.usual(&items, widths) {
                break;
            }
            at += items.len;
        }
        at
    }

    /// Takes in a group; false, and nothing has changed, if something may be found in it.
    #[inline(always)]
    fn usual(&mut self, items: &Items, widths: &Widths) -> bool {
        let length: u8 = match items.present & (NARROW | WIDE) {
            NARROW if items.encoding & 3 != 3 => 2,
            WIDE if items.encoding & 3 == 3 => 4,
            _ => return false,
        };
        let after = || {
            let after = self.pc?.wrapping_add(length.into());
            Some(if widths.xlen == 4 { after & 0xffff_ffff } else { after })
        };
        let pc = match items.present & (PC | INCREMENT) {
            PC => Some(items.pc),
            INCREMENT => after(),
            0 => after().filter(|_| riscv::is_plain(items.encoding)),
            _ => return false,
        };
        let fits = |address| mask(address, self.config.mlen) == address;
        if !items.has(END)
            || (items.has(EFFECTIVE) && !fits(items.effective))
            || (items.has(ANSWER) && !(items.answers_as_asked() && fits(items.request)))
        {
            return false;
        }
        let writes = items.present & WRITES != 0;
        let written = if writes { items.written(&self.registers, widths.xlen) } else { None };
        if items.present & (WRITES | STORE) != 0
            && let Some(decoded) = self.decode(items.encoding)
            && decoded.inst.length == length
            && !self.usual_instruction(items, written, &decoded)
        {
            return false;
        }
        if writes {
            self.registers.set(items.address, written);
        }
        self.pc = pc;
        // Begin group is not in `present`; a response comes with its request.
        self.items += u64::from(items.present.count_ones()) + 1 + u64::from(items.has(ANSWER));
        true
    }

    /// Are the register and the store those of the instruction?
    #[inline(always)]
    fn usual_instruction(&self, items: &Items, written: Option<u64>, decoded: &Decoded) -> bool {
        let class = decoded.inst.op.class();
        if items.present & WRITES != 0 {
            let (address, number) = (items.address, Some((items.address & 0x1f) as u8));
            let is_float = address >= register::FPR;
            let own = if is_float { decoded.fpr } else { decoded.gpr };
            if address == register::GPR || own != number {
                return false;
            }
            if let (riscv::Class::Load(size), Some(value)) = (class, written)
                && !load_fits(&decoded.inst, size, value, is_float, &self.config)
            {
                return false;
            }
        }
        !items.has(STORE) || stores_of(class, self.config.profile) == Some(1 << items.store_size)
    }
}

#[cfg(test)]
mod tests {
    use trackway_core::Input;

    use crate::check::check_with;
    use crate::read::Reader;
    use crate::usual::tests::random_groups;

    #[test]
    fn usual_groups_have_the_findings_of_all_others() {
        let mut items = 0;
        for seed in 0..3000 {
            let (config, bytes) = random_groups(seed);
            let check = |with_usual: bool| {
                let reader = Reader::new(Input::from_vec(bytes.clone()), &config).expect("widths");
                let mut all = Vec::new();
                let checked = check_with(reader, &config, with_usual, &mut |finding| all.push(finding))
                    .expect("memory");
                (checked, format!("{all:?}"))
            };
            let (usual, plain) = (check(true), check(false));
            assert_eq!(usual, plain, "seed {seed}");
            items += usual.0;
        }
        assert!(items > 100_000, "{items}");
    }
}

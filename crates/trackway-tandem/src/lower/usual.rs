//! Usual steps, written at once: the next pc is known, and what a reader finds follows without reading the group back.

use std::io::Write;

use trackway_core::*;
use trackway_isa::riscv::{self, Class};
use trackway_isa::{Control, Flow, flow};

use super::Lower;
use crate::config::Profile;
use crate::pack::Sound;
use crate::record::Record;
use crate::register;

const X0: Reg = Reg { class: RegClass::Int, number: 0 };

/// A register that is written: its address, its contents in the trace, and whether those are all of its value.
type Written = (u16, u64, bool);

/// The one access of a usual load or store.
#[derive(Clone, Copy, Default)]
struct Usual {
    physical: Option<u64>,
    /// Size and value of a store.
    store: Option<(u8, u64)>,
    /// Size and value of a load that its register does not show.
    load: Option<(u8, u64)>,
    /// The data that a reader finds.
    found: Option<u64>,
}

impl<W: Write> Lower<W> {
    /// Writes a retired step whose successor is at `next` if it has at most one register and one ordinary load or store.
    /// False, and nothing is written or counted, for all others.
    pub(super) fn put_usual(&mut self, step: &Step, next: u64, batch: &Batch) -> Result<bool> {
        let (Some(pc), Outcome::Retired) = (step.pc, step.outcome) else { return Ok(false) };
        let target = match batch.extra_of(step) {
            None => None,
            Some(&StepExtra { target, physical_pc, sme_index, micro_ops, placeholder }) => {
                if physical_pc.is_some() || sme_index.is_some() || micro_ops.len > 0 || placeholder {
                    return Ok(false);
                }
                target
            }
        };
        match step.length {
            4 => {}
            2 if step.encoding <= 0xffff => {}
            _ => return Ok(false),
        }
        let flow = match riscv::is_plain(step.encoding) {
            true => Flow::sequential(step.length),
            false => flow(self.config.isa(), pc, step.encoding),
        };
        if !flow.control.retires() || flow.control == Control::TrapReturn {
            return Ok(false);
        }

        let (mut written, mut reads, mut unwritten) = (None, 0, 0);
        for access in batch.regs_of(step.accesses) {
            match (access.role, access.value) {
                // One whose value is new has to be written before.
                (RegRole::Source, _) => {
                    if !self.holds(access) {
                        return Ok(false);
                    }
                    reads += 1;
                }
                (RegRole::Destination, Value::Word(0)) if access.reg == X0 => unwritten += 1,
                (RegRole::Destination, Value::Word(value)) if written.is_none() => {
                    match self.register(access) {
                        Some(Record::FullRegister {
                            address: address @ register::GPR..register::END,
                            data,
                        }) => {
                            written = Some((address, data, data == value));
                        }
                        _ => return Ok(false),
                    }
                }
                _ => return Ok(false),
            }
        }
        let access = match batch.mem_of(step.accesses) {
            [] => None,
            [access] => Some(access),
            _ => return Ok(false),
        };
        let usual = match access.map(|access| self.usual_access(access, step.encoding, written, batch)) {
            None => Usual::default(),
            Some(Some(usual)) => usual,
            Some(None) => return Ok(false),
        };

        let after = self.narrow(pc.wrapping_add(step.length.into()));
        let certain = match flow.control {
            Control::Branch => step.taken.and_then(|taken| if taken { flow.target } else { Some(after) }),
            control if control.is_direct() => flow.target,
            _ => None,
        };
        let leads = self.narrow(target.or(certain).unwrap_or(next));
        self.count_usual(step, target, flow.control, leads);
        self.tally.facts.missing[Fact::RegisterReads] += reads;
        self.tally.facts.missing[Fact::RegisterWrites] += unwritten;

        if let Some((address, data, whole)) = written {
            self.tally.pair(Fact::RegisterWrites, Some(1), Some(whole.into()));
            self.tally.lifter.registers.set_file(address, data);
            self.changes(address);
        }
        let Usual { physical, store, load, found } = usual;
        let effective = access.map(|access| self.narrow(access.address));
        if let Some(access) = access {
            self.tally.facts.matched[Fact::PhysicalAddresses] += u64::from(physical.is_some());
            self.tally.pair(Fact::MemoryAccesses, Some(access.address), effective);
            let data = match access.data {
                Value::Word(data) => Some(mask(data, 8 * access.size as u32)),
                _ => None,
            };
            self.tally.pair(Fact::MemoryData, data, found);
            let inferred = |is_inferred: bool| is_inferred.then_some(0);
            self.tally.pair(Fact::InferredAccesses, inferred(access.inferred), inferred(store.is_none()));
        }
        self.expected = Some(leads);
        let register = written.map(|(address, data, _)| (address, data));
        let (encoding, length) = (step.encoding, step.length);
        let sound = Sound { pc: leads, encoding, length, register, store, physical, effective, load };
        self.packer.put_sound(&sound)?;
        Ok(true)
    }

    /// Counts what the step and a reader of it say of the instruction itself, as the lifter derives it.
    #[inline]
    fn count_usual(&mut self, step: &Step, target: Option<u64>, control: Control, leads: u64) {
        let before = self.tally.lifter.pc.replace(leads);
        let after = before.map(|pc| self.narrow(pc.wrapping_add(step.length.into())));
        let taken = match control {
            Control::Branch => after.map(|after| leads != after),
            control => control.is_transfer().then_some(true),
        };
        let tally = &mut self.tally;
        tally.instructions += 1;
        tally.pair(Fact::Instructions, step.pc, Some(before.unwrap_or(0)));
        tally.facts.matched[Fact::Encodings] += 1;
        tally.pair(Fact::Outcomes, step.taken.map(u64::from), taken.map(u64::from));
        tally.pair(Fact::Targets, target, Some(leads).filter(|_| taken == Some(true)));
    }

    /// A load or a store with its data, as its encoding has it.
    #[inline]
    fn usual_access(
        &mut self,
        access: &MemAccess,
        encoding: u32,
        written: Option<Written>,
        batch: &Batch,
    ) -> Option<Usual> {
        let MemExtra { physical, stored, operation } =
            batch.mem_extra_of(access).copied().unwrap_or_default();
        let is_odd = access.unplaced || access.tagged || access.range || access.attributes != 0;
        if is_odd || stored != Value::Unknown || operation.is_some() {
            return None;
        }
        let inst = self.tally.lifter.decode(encoding)?;
        let (Class::Load(size @ (1 | 2 | 4 | 8)) | Class::Store(size @ (1 | 2 | 4 | 8))) = inst.op.class()
        else {
            return None;
        };
        let (log, bits) = (size.ilog2() as u8, 8 * u32::from(size));
        let mut usual = Usual { physical, ..Usual::default() };
        match (access.kind, access.data) {
            _ if u64::from(size) != access.size => return None,
            (MemKind::Read, data) if matches!(inst.op.class(), Class::Load(_)) => {
                let of_rd = |&(address, ..): &Written| address & 0x1f == inst.rd.into();
                usual.found = written.filter(of_rd).map(|(_, value, _)| mask(value, bits));
                match data {
                    Value::Word(data)
                        if Some(data) != usual.found && self.config.profile == Profile::Spec =>
                    {
                        if usual.found.is_some() {
                            return None;
                        }
                        usual.load = Some((log, mask(data, bits)));
                        usual.found = Some(mask(data, bits));
                    }
                    Value::Bytes(_) => return None,
                    _ => {}
                }
            }
            (MemKind::Write, Value::Word(data)) if matches!(inst.op.class(), Class::Store(_)) => {
                usual.store = Some((log, mask(data, bits)));
                usual.found = Some(mask(data, bits));
            }
            _ => return None,
        }
        Some(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WriteConfig;

    fn register(role: RegRole, number: u16, value: u64) -> RegAccess {
        let reg = Reg { class: RegClass::Int, number };
        RegAccess { reg, role, update: RegUpdate::Set, value: Value::Word(value), known: None }
    }

    /// Most instructions take the short way; `tests/usual.rs` holds it against the long one.
    #[test]
    fn arithmetic_loads_stores_and_jumps_are_usual() {
        let a1 = |value| register(RegRole::Destination, 11, value);
        let load = MemAccess::read(0x2000, 8, Value::Word(7));
        let store = MemAccess::write(0x2000, 8, Value::Word(7));
        // addi, ld, sd, beq, c.j, ret; then csrrw and mret, a load whose register has another value, and a store of a
        // register that was never written.
        let cases = [
            (0x0015_8593, 4, Some(a1(7)), None, true),
            (0x0005_b583, 4, Some(a1(7)), Some(load), true),
            (0x00b5_3023, 4, None, Some(store), true),
            (0x00b5_0463, 4, None, None, true),
            (0xa021, 2, None, None, true),
            (0x0000_8067, 4, None, None, true),
            (
                0x3405_9573,
                4,
                Some(RegAccess { reg: Reg { class: RegClass::Csr, number: 0x340 }, ..a1(1) }),
                None,
                false,
            ),
            (0x3020_0073, 4, None, None, false),
            (0x0005_b583, 4, Some(a1(8)), Some(load), false),
            (0x00b5_3023, 4, Some(register(RegRole::Source, 11, 7)), Some(store), false),
        ];
        for (encoding, length, reg, mem, usual) in cases {
            let mut batch = Batch::default();
            let accesses = batch.begin_accesses();
            batch.regs.extend(reg);
            batch.mem.extend(mem);
            let accesses = batch.end_accesses(accesses).unwrap();
            let step = Step { accesses, ..Step::new(0x1000, encoding, length) };
            let meta = Meta::new(crate::config::ID, Isa::Rv64);
            let mut lower = Lower::new(Vec::new(), &meta, WriteConfig::default()).unwrap();
            assert_eq!(lower.put_usual(&step, 0x1008, &batch).unwrap(), usual, "{encoding:#x}");
        }
    }
}

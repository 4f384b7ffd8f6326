//! The loop over common groups, where lifting spends its time.

use std::mem::take;

use trackway_core::*;

use super::Counts;
use super::group::{Lifter, may_fall_through, may_never_retire, may_return, mem_access, reg_access};
use crate::fields::{Layout, Register};
use crate::read::WINDOW;
use crate::record::descriptor::*;
use crate::record::{Record, length, read_common};
use crate::values::reg_class;

impl Lifter {
    /// Lifts the common records at the front of `bytes` until the batch is full; returns their length.
    pub(crate) fn lift_common(
        &mut self,
        bytes: &[u8],
        start: u64,
        layout: &Layout,
        batch: &mut Batch,
        counts: &mut Counts,
    ) -> (usize, Result<()>) {
        let mut at = 0;
        loop {
            if self.next.is_some() && self.between_groups(batch) && self.is_wanted() {
                let (rest, offset) = (&bytes[at..], start + at as u64);
                let room = Batch::FULL.saturating_sub(batch.events.len());
                batch.reserve_steps(room);
                // Where one group has registers, most have.
                let has_registers = rest.first() == Some(&INST_REG);
                if has_registers {
                    batch.regs.reserve(4 * room);
                }
                at += match (self.isa, has_registers) {
                    (Isa::Rv32 | Isa::Rv64, false) => {
                        self.lift_groups::<true, false>(rest, offset, layout, batch, counts)
                    }
                    (Isa::Rv32 | Isa::Rv64, true) => {
                        self.lift_groups::<true, true>(rest, offset, layout, batch, counts)
                    }
                    _ => self.lift_groups::<false, true>(rest, offset, layout, batch, counts),
                };
                if batch.is_full() {
                    return (at, Ok(()));
                }
            }
            // Other groups are lifted record by record.
            let (len, lifted) = self.lift_one(&bytes[at..], start + at as u64, layout, batch, counts);
            at += len;
            if len == 0 || lifted.is_err() {
                return (at, lifted);
            }
        }
    }

    /// Lifts groups of the most common shapes: an opcode after at most one access or target, and with `REGS` registers of
    /// 64 bits before these. A window holds a whole group but for its registers, so each costs one length check and no
    /// state between its records. `RISCV` makes the tests of opcodes constant.
    #[inline(never)]
    fn lift_groups<const RISCV: bool, const REGS: bool>(
        &mut self,
        bytes: &[u8],
        start: u64,
        layout: &Layout,
        batch: &mut Batch,
        counts: &mut Counts,
    ) -> usize {
        let Some(mut pc) = self.next else { return 0 };
        let isa = if RISCV { Isa::Rv64 } else { self.isa };
        // Taken out of the batch, their lengths stay in registers as well.
        let (mut events, mut mem) = (take(&mut batch.events), take(&mut batch.mem));
        let (mut extras, mut regs) = (take(&mut batch.extras), take(&mut batch.regs));
        let before = (events.len(), mem.len(), extras.len(), regs.len());
        let (mut bare, mut kept_regs) = (0, regs.len());
        let mut rest = bytes;
        let end = start + bytes.len() as u64;
        while events.len() < Batch::FULL {
            let (mut group, mut given) = (rest, None);
            if REGS {
                if let Some([INST_PC_TARGET, target @ .., INST_REG]) =
                    group.first_chunk::<{ length::TARGET + 1 }>()
                {
                    given = Some(u64::from_le_bytes(*target));
                    group = &group[length::TARGET..];
                }
                while let Some(access) = group.first_chunk().and_then(|first| short_register(first, layout))
                    && regs.len() - kept_regs < MOST_REGISTERS
                {
                    if !push_within_capacity(&mut regs, access) {
                        break;
                    }
                    group = &group[length::REGISTER..];
                }
            }
            let Some(window) = group.first_chunk::<WINDOW>() else { break };
            let (regs_start, regs_len) = (kept_regs as u32, (regs.len() - kept_regs) as u16);
            let own = Accesses { mem_start: mem.len() as u32, regs_start, mem_len: 0, regs_len };
            let only_regs = if REGS { own } else { Accesses::default() };
            let len = read_common!(@arms window, layout, |record, len| {
                match record {
                    Record::InstMemAccess { .. } | Record::InstPcTarget { .. } if given.is_some() => break,
                    Record::InstMemAccess { address, size, attributes, access } => {
                        let access = mem_access(address, size, attributes, access);
                        /// The opcode after an access with this value.
                        macro_rules! end_group {
                            ($data:expr, $len:expr) => {{
                                let (data, len) = ($data, $len);
                                read_common!(@arms window[len..], layout, |record, more| {
                                    let (opcode, length) = opcode(record);
                                    if Kind::new(isa, opcode, length) != Kind::Plain {
                                        break;
                                    }
                                    // A whole value, and not one that is changed: written to memory once.
                                    let (size, inferred) = self.size(isa, opcode, access.size, data);
                                    let access = MemAccess { data, size, inferred, ..access };
                                    let offset = end - (group.len() - len) as u64;
                                    let accesses = Accesses { mem_len: 1, ..own };
                                    let step = step(pc, opcode, length, accesses);
                                    let event = Event { offset, kind: EventKind::Step(step) };
                                    if !(push_within_capacity(&mut mem, access)
                                        && push_within_capacity(&mut events, event))
                                    {
                                        break;
                                    }
                                    bare += usize::from(data == Value::Unknown);
                                    pc = pc.wrapping_add(length.into());
                                    len + more
                                }, else break, INST_OPCODE32 INST_OPCODE16)
                            }};
                        }
                        // Once for each, so that neither has to carry what differs.
                        read_common!(@arms window[len..], layout, |record, more| {
                            end_group!(content(record), len + more)
                        }, else end_group!(Value::Unknown, len), INST_MEM_CONTENT)
                    }
                    Record::InstPcTarget { pc: target } => {
                        read_common!(@arms window[len..], layout, |record, more| {
                            let (opcode, length) = opcode(record);
                            if Kind::new(isa, opcode, length) == Kind::Special {
                                break;
                            }
                            let offset = end - (group.len() - len) as u64;
                            let step = step(pc, opcode, length, only_regs);
                            if !push_jump(&mut events, &mut extras, offset, step, target) {
                                break;
                            }
                            pc = target;
                            len + more
                        }, else break, INST_OPCODE32 INST_OPCODE16)
                    }
                    _ => {
                        let (opcode, length) = opcode(record);
                        let offset = end - group.len() as u64;
                        let kind = Kind::new(isa, opcode, length);
                        let mut step = step(pc, opcode, length, only_regs);
                        if let Some(target) = given {
                            if kind == Kind::Special || !push_jump(&mut events, &mut extras, offset, step, target) {
                                break;
                            }
                            pc = target;
                            rest = &group[len..];
                            kept_regs = regs.len();
                            continue;
                        }
                        let mut push = |step| {
                            push_within_capacity(&mut events, Event { offset, kind: EventKind::Step(step) })
                        };
                        let fits = match kind {
                            Kind::Plain => push(step),
                            // Without a target it was not taken.
                            Kind::Branch => {
                                step.taken = Some(false);
                                push(step)
                            }
                            Kind::Special => break,
                        };
                        if !fits {
                            break;
                        }
                        pc = pc.wrapping_add(length.into());
                        len
                    }
                }
            }, else break, INST_OPCODE32 INST_OPCODE16 INST_MEM_ACCESS INST_PC_TARGET);
            rest = &group[len..];
            kept_regs = regs.len();
        }
        // Those of a group that was not lifted.
        regs.truncate(kept_regs);
        let at = bytes.len() - rest.len();
        // Counted after the loop, from the lengths of the records: counting inside it takes 10 % of the time.
        let steps = (events.len() - before.0) as u64;
        let accesses = (mem.len() - before.1) as u64;
        let targets = (extras.len() - before.2) as u64;
        let contents = accesses - bare as u64;
        let registers = (kept_regs - before.3) as u64;
        (batch.events, batch.mem) = (events, mem);
        (batch.extras, batch.regs) = (extras, regs);
        let each = |length: usize, number: u64| length as u64 * number;
        let others = each(length::ACCESS, accesses)
            + each(length::CONTENT, contents)
            + each(length::TARGET, targets)
            + each(length::REGISTER, registers);
        let wide = (at as u64 - 3 * steps - others) / 2;
        for (descriptor, n) in [
            (INST_OPCODE32, wide),
            (INST_OPCODE16, steps - wide),
            (INST_MEM_ACCESS, accesses),
            (INST_MEM_CONTENT, contents),
            (INST_PC_TARGET, targets),
            (INST_REG, registers),
        ] {
            counts[usize::from(descriptor)] += n;
        }
        self.next = Some(pc);
        self.forced &= at == 0;
        self.begin_group(batch);
        at
    }

    /// Lifts one common record in the general way.
    fn lift_one(
        &mut self,
        bytes: &[u8],
        offset: u64,
        layout: &Layout,
        batch: &mut Batch,
        counts: &mut Counts,
    ) -> (usize, Result<()>) {
        let Some(window) = bytes.first_chunk::<WINDOW>() else { return (0, Ok(())) };
        read_common!(window, layout, |record, len| {
            counts[usize::from(window[0])] += 1;
            (len, self.lift(offset, &record, batch))
        }, else (0, Ok(())))
    }
}

/// An instruction with nothing else known. A copy of a constant, in which numbers are put, is stored in fewer pieces than
/// its fields would be.
#[inline(always)]
fn step(pc: u64, encoding: u32, length: u8, accesses: Accesses) -> Step {
    const WIDE: Step = Step::new(0, 0, 4);
    const NARROW: Step = Step::new(0, 0, 2);
    let mut step = if length == 4 { WIDE } else { NARROW };
    (step.pc, step.encoding, step.accesses) = (Some(pc), encoding, accesses);
    step
}

/// Appends an instruction that jumps, if there is capacity, and returns whether there was.
#[inline(always)]
fn push_jump(
    events: &mut Vec<Event>,
    extras: &mut Vec<StepExtra>,
    offset: u64,
    mut step: Step,
    to: u64,
) -> bool {
    (step.taken, step.extra) = (Some(true), Batch::extra_at(extras.len()));
    push_within_capacity(extras, StepExtra { target: Some(to), ..StepExtra::default() })
        && push_within_capacity(events, Event { offset, kind: EventKind::Step(step) })
}

/// Groups with more registers are lifted record by record.
const MOST_REGISTERS: usize = 64;

/// A register record of 64 bits; `None` for all other records.
#[inline(always)]
fn short_register(bytes: &[u8; length::REGISTER], layout: &Layout) -> Option<RegAccess> {
    let [INST_REG, low, high, meta, content @ ..] = bytes else { return None };
    let register = Register { number: u16::from_le_bytes([*low, *high]), meta: *meta, content };
    let is_wide = register.class() == reg_class::VECTOR && layout.vector_words > 1;
    if is_wide { None } else { Some(reg_access(register, Value::Word(u64::from_le_bytes(*content)))) }
}

/// The kind of an opcode, as the loop sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Branch,
    /// It may trap and never retire, or return from a trap.
    Special,
}

/// RISC-V opcodes of 32 bits, by funct3 and opcode: one look-up instead of several compares.
static WIDE: [Kind; 1024] = {
    let mut kinds = [Kind::Plain; 1024];
    let mut funct3 = 0;
    while funct3 < 8 {
        if funct3 & 6 != 2 {
            kinds[funct3 << 7 | 0x63] = Kind::Branch;
        }
        funct3 += 1;
    }
    // ECALL, EBREAK, MRET and its kin; all ones.
    kinds[0x73] = Kind::Special;
    kinds[7 << 7 | 0x7f] = Kind::Special;
    kinds
};

impl Kind {
    #[inline(always)]
    fn new(isa: Isa, opcode: u32, length: u8) -> Kind {
        if matches!(isa, Isa::Rv32 | Isa::Rv64) && length == 4 {
            return WIDE[(opcode >> 5 & 0x380 | opcode & 0x7f) as usize];
        }
        if may_never_retire(isa, opcode, length) || (length == 4 && may_return(isa, opcode)) {
            Kind::Special
        } else if may_fall_through(isa, opcode, length) {
            Kind::Branch
        } else {
            Kind::Plain
        }
    }
}

/// Encoding and length in bytes of an opcode record.
#[inline(always)]
fn opcode(record: Record<'_>) -> (u32, u8) {
    match record {
        Record::InstOpcode32 { opcode } => (opcode, 4),
        Record::InstOpcode16 { opcode } => (opcode.into(), 2),
        _ => (0, 0),
    }
}

/// The value of a content record.
#[inline(always)]
fn content(record: Record<'_>) -> Value {
    match record {
        Record::InstMemContent { data } => Value::Word(data),
        _ => Value::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trackway_isa::{Control, flow};

    #[test]
    fn kinds_of_opcodes() {
        let narrow = (0..0x1_0000).filter(|opcode| opcode & 3 != 3).map(|opcode| (opcode, 2));
        let wide = (0..1 << 18).map(|n| ((n >> 5 << 20) | (n & 7) << 12 | (n >> 3 & 31) << 2 | 3, 4));
        let named = [0x73, 0x0010_0073, 0x3020_0073, 0x1020_0073, u32::MAX].map(|opcode| (opcode, 4));
        for (opcode, length) in narrow.chain(wide).chain(named) {
            for isa in [Isa::Rv32, Isa::Rv64] {
                let flow = flow(isa, 0, opcode);
                let kind = Kind::new(isa, opcode, length);
                assert_eq!(kind == Kind::Branch, flow.control == Control::Branch, "{opcode:#x}");
                let is_special = !flow.retires() || flow.control == Control::TrapReturn;
                assert!(kind == Kind::Special || !is_special, "{opcode:#x}");
            }
        }
    }
}

//! Comparison of two instructions.

mod memory;

use std::fmt::Write;

use trackway_core::{
    Batch, Fact, Isa, MemAccess, MemKind, Outcome, Reg, RegAccess, RegClass, RegRole, RegUpdate, Step, Value,
};
use trackway_isa::reg_name;

use super::options::{Group, Options};
use super::report::{Field, OneSided};
use super::side::bit;

/// Findings about a pair of instructions.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Values that differ.
    pub(super) fields: Vec<Field>,
    /// Facts that one side lacks here.
    pub(super) one_sided: OneSided,
    /// Values that both have, by group.
    pub(super) compared: [u64; 6],
    /// Facts that are unknown on one side, which is not a difference: fact, side that lacks it, how many.
    pub(super) unknown: Vec<(Fact, usize, u64)>,
    /// A difference in facts that both have.
    pub(super) definite: bool,
    /// Differences that were tolerated.
    pub(super) tolerated: u64,
}

impl Found {
    fn clear(&mut self) {
        let fields = std::mem::take(&mut self.fields);
        let unknown = std::mem::take(&mut self.unknown);
        *self = Found { fields, unknown, ..Found::default() };
        self.fields.clear();
        self.unknown.clear();
    }

    fn differ(&mut self, group: Group, name: impl Into<String>, a: String, b: String) {
        self.fields.push(Field { group, name: name.into(), a: Some(a), b: Some(b) });
        self.definite = true;
    }

    /// A fact of side `n` alone; `text` where the other side should have it too.
    fn alone(&mut self, n: usize, fact: Fact, group: Group, text: Option<(String, String)>) {
        let Some((name, value)) = text else {
            return self.unknown.push((fact, 1 - n, 1));
        };
        self.one_sided[n] |= bit(fact);
        let (a, b) = if n == 0 { (Some(value), None) } else { (None, Some(value)) };
        self.fields.push(Field { group, name, a, b });
    }
}

/// Accesses that one of the traces has not had so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lacks {
    pub(super) memory: bool,
    pub(super) registers: bool,
}

/// Compares instructions.
#[derive(Debug)]
pub(super) struct Comparison<'o> {
    pub(super) options: &'o Options,
    /// Both are of one format: what one has, the other has to have.
    pub(super) strict: bool,
    pub(super) isa: Isa,
    /// Result of a store-conditional that differs: the register, and instructions left in which that is tolerated.
    pub(super) conditional: Option<(Option<Reg>, u32)>,
    pub(super) found: Found,
    pub(super) groups: [bool; 6],
}

type At<'b> = (&'b Batch, &'b Step);

impl<'o> Comparison<'o> {
    pub(super) fn new(options: &'o Options, strict: bool, isa: Isa) -> Self {
        let groups = std::array::from_fn(|n| options.has(Group::ALL[n]));
        Comparison { options, strict, isa, conditional: None, found: Found::default(), groups }
    }

    /// Compares two instructions; the findings are in `found`.
    pub(super) fn compare(&mut self, a: At<'_>, b: At<'_>) {
        self.found.clear();
        if self.groups[Group::Pcs as usize] {
            self.instruction(a, b);
        }
        let tolerated = self.tolerates_accesses(a, b) || self.options.tolerates_read(self.isa, a.1.encoding);
        if self.groups[Group::Mem as usize] {
            self.memory(a, b);
        }
        if self.groups[Group::Regs as usize] {
            self.registers(a, b, tolerated);
        }
        if self.options.sc_failure() {
            self.tolerate_conditional(a.1, b.1);
        }
    }

    /// The quick part of it: true if both are alike in all that both have.
    #[inline]
    pub(super) fn is_same(&self, (ab, a): At<'_>, (bb, b): At<'_>) -> bool {
        a.pc == b.pc
            && a.encoding == b.encoding
            && a.length == b.length
            && a.outcome == b.outcome
            && a.taken == b.taken
            && (a.extra.is_none() && b.extra.is_none() || same_extra(ab, a, bb, b))
            && (a.accesses.mem_len | b.accesses.mem_len == 0
                || same_memory(ab.mem_of(a.accesses), bb.mem_of(b.accesses)))
            && (a.accesses.regs_len | b.accesses.regs_len == 0
                || same_registers(ab.regs_of(a.accesses), bb.regs_of(b.accesses)))
    }

    /// For traces of two formats, of which one lacks memory accesses or registers: true if the rest is alike.
    #[inline]
    pub(super) fn is_same_flow(&self, (ab, a): At<'_>, (bb, b): At<'_>, lacks: Lacks) -> bool {
        let (ours, theirs) = (a.accesses, b.accesses);
        (a.pc, a.encoding, a.length, a.outcome, a.taken) == (b.pc, b.encoding, b.length, b.outcome, b.taken)
            && (a.extra.is_none() && b.extra.is_none() || same_extra(ab, a, bb, b))
            && (lacks.memory || same_memory(ab.mem_of(ours), bb.mem_of(theirs)))
            && (lacks.registers || same_registers(ab.regs_of(ours), bb.regs_of(theirs)))
    }

    fn instruction(&mut self, (ab, a): At<'_>, (bb, b): At<'_>) {
        let found = &mut self.found;
        let hex = |value: u64| format!("{value:#x}");
        found.compared[Group::Pcs as usize] += 1;
        match (a.pc, b.pc) {
            (Some(one), Some(other)) if one != other => found.differ(Group::Pcs, "pc", hex(one), hex(other)),
            (Some(_), None) => found.unknown.push((Fact::Instructions, 1, 1)),
            (None, Some(_)) => found.unknown.push((Fact::Instructions, 0, 1)),
            _ => {}
        }
        match (a.length, b.length) {
            (0, 0) => {}
            (0, _) => found.unknown.push((Fact::Encodings, 0, 1)),
            (_, 0) => found.unknown.push((Fact::Encodings, 1, 1)),
            _ if (a.encoding, a.length) != (b.encoding, b.length) => {
                let text = |step: &Step| {
                    format!("{:#0width$x}", step.encoding, width = 2 + 2 * usize::from(step.length.min(4)))
                };
                found.differ(Group::Pcs, "encoding", text(a), text(b));
            }
            _ => {}
        }
        match (a.taken, b.taken) {
            (Some(one), Some(other)) if one != other => {
                let word = |taken: bool| if taken { "taken" } else { "not taken" }.to_string();
                found.differ(Group::Pcs, "branch", word(one), word(other));
            }
            (Some(_), None) => found.unknown.push((Fact::Outcomes, 1, 1)),
            (None, Some(_)) => found.unknown.push((Fact::Outcomes, 0, 1)),
            _ => {}
        }
        let target = |batch: &Batch, step: &Step| batch.extra_of(step).and_then(|extra| extra.target);
        if let (Some(one), Some(other)) = (target(ab, a), target(bb, b))
            && one != other
        {
            found.differ(Group::Pcs, "target", hex(one), hex(other));
        }
        if a.outcome != b.outcome {
            let n = usize::from(b.outcome == Outcome::Attempted);
            found.alone(n, Fact::Attempted, Group::Pcs, Some(("outcome".into(), "attempted".into())));
        }
    }

    fn registers(&mut self, (ab, a): At<'_>, (bb, b): At<'_>, tolerated: bool) {
        let (ours, theirs) = (ab.regs_of(a.accesses), bb.regs_of(b.accesses));
        let Comparison { options, isa, strict, found, .. } = self;
        let (options, isa, strict) = (*options, *isa, *strict);
        let is_zero =
            |reg: Reg| reg == Reg { class: RegClass::Int, number: 0 } && matches!(isa, Isa::Rv32 | Isa::Rv64);
        let counts = |access: &&RegAccess| access.role != RegRole::Ready && !is_zero(access.reg);
        let same = |access: &RegAccess, others: &[RegAccess]| {
            others.iter().find(|other| (other.reg, other.role) == (access.reg, access.role)).copied()
        };
        for access in ours.iter().filter(counts) {
            match same(access, theirs) {
                Some(other) => {
                    if access.update != other.update {
                        let text = |batch: &Batch, access: &RegAccess| {
                            format!("{} {}", access.update, value_text(batch, access.value))
                        };
                        if strict {
                            let name = register_name(isa, access);
                            found.differ(Group::Regs, name, text(ab, access), text(bb, &other));
                        } else {
                            let lacking = usize::from(access.update == RegUpdate::Set);
                            found.unknown.push((fact_of(access.role), lacking, 1));
                        }
                        continue;
                    }
                    found.compared[Group::Regs as usize] += 1;
                    let known = access.known.unwrap_or(u64::MAX) & other.known.unwrap_or(u64::MAX);
                    match same_value(ab, access.value, bb, other.value, known) {
                        Some(true) => {}
                        None => {
                            let fact = fact_of(access.role);
                            if access.value != Value::Unknown {
                                found.unknown.push((fact, 1, 1));
                            } else if other.value != Value::Unknown {
                                found.unknown.push((fact, 0, 1));
                            }
                        }
                        Some(false) if tolerated || options.tolerates_register(isa, access.reg) => {
                            found.tolerated += 1
                        }
                        Some(false) => {
                            let name = register_name(isa, access);
                            found.differ(
                                Group::Regs,
                                name,
                                value_text(ab, access.value),
                                value_text(bb, other.value),
                            );
                        }
                    }
                }
                None if options.tolerates_register(isa, access.reg) => found.tolerated += 1,
                None => {
                    // Another register of the same file instead: formats do not disagree about that.
                    let kin = |other: &&RegAccess| {
                        (other.role, other.reg.class) == (access.role, access.reg.class)
                            && counts(other)
                            && same(other, ours).is_none()
                    };
                    let instead = theirs.iter().find(kin).copied();
                    let text = (register_name(isa, access), value_text(ab, access.value));
                    match instead {
                        Some(other) => {
                            let other =
                                format!("{} {}", register_name(isa, &other), value_text(bb, other.value));
                            found.differ(
                                Group::Regs,
                                text.0.clone(),
                                format!("{} {}", text.0, text.1),
                                other,
                            );
                        }
                        None => found.alone(0, fact_of(access.role), Group::Regs, strict.then_some(text)),
                    }
                }
            }
        }
        for access in theirs.iter().filter(counts) {
            if same(access, ours).is_some() {
                continue;
            }
            if options.tolerates_register(isa, access.reg) {
                found.tolerated += 1;
            } else {
                let text = (register_name(isa, access), value_text(bb, access.value));
                found.alone(1, fact_of(access.role), Group::Regs, strict.then_some(text));
            }
        }
    }

    /// `sc-failure`: the result of a store-conditional, the branch on it, and its readers do not count.
    fn tolerate_conditional(&mut self, a: &Step, b: &Step) {
        let found = &mut self.found;
        if is_conditional_store(self.isa, a) && a.encoding == b.encoding {
            let before = found.fields.len();
            let register =
                found.fields.iter().find(|field| field.group == Group::Regs).map(|field| field.name.clone());
            found.fields.retain(|field| field.group == Group::Pcs);
            if found.fields.len() < before {
                found.tolerated += (before - found.fields.len()) as u64;
                let number = register.and_then(|name| name.strip_prefix('x')?.parse().ok());
                let reg = number.map(|number| Reg { class: RegClass::Int, number });
                self.conditional = Some((reg, 16));
            }
        } else if let Some((reg, left)) = self.conditional {
            let name = reg.map(|reg| reg.to_string());
            let before = found.fields.len();
            found.fields.retain(|field| {
                field.name != "branch" && Some(field.name.trim_end_matches(" read")) != name.as_deref()
            });
            found.tolerated += (before - found.fields.len()) as u64;
            self.conditional = (left > 1).then_some((reg, left.saturating_sub(1)));
        }
        if found.fields.is_empty() {
            (found.definite, found.one_sided) = (false, [0; 2]);
        }
    }
}

/// A store that may fail without a cause.
pub(super) fn is_conditional_store(isa: Isa, step: &Step) -> bool {
    step.length > 0
        && trackway_isa::memory(isa, step.encoding)
            .is_some_and(|memory| memory.kind == MemKind::Write && memory.optional && memory.bytes.is_some())
}

fn fact_of(role: RegRole) -> Fact {
    match role {
        RegRole::Source => Fact::RegisterReads,
        RegRole::Destination => Fact::RegisterWrites,
        RegRole::State => Fact::RegisterStates,
        RegRole::Ready => Fact::ReadyRegisters,
    }
}

/// A register that is read is named so: the same one may be written too.
fn register_name(isa: Isa, access: &RegAccess) -> String {
    let name = reg_name(isa, access.reg);
    match access.role {
        RegRole::Source => format!("{name} read"),
        RegRole::State => format!("{name} before"),
        _ => name.into_owned(),
    }
}

/// True, false, or `None` where one is unknown.
pub(super) fn same_value(ab: &Batch, a: Value, bb: &Batch, b: Value, known: u64) -> Option<bool> {
    fn used(bytes: &[u8]) -> &[u8] {
        // Wide registers are written with their leading zeros or without them.
        &bytes[..bytes.len() - bytes.iter().rev().take_while(|byte| **byte == 0).count()]
    }
    match (a, b) {
        (Value::Unknown, _) | (_, Value::Unknown) => None,
        (Value::Word(one), Value::Word(other)) => Some((one ^ other) & known == 0),
        (Value::Word(one), Value::Bytes(other)) => Some(used(&one.to_le_bytes()) == used(bb.bytes_of(other))),
        (Value::Bytes(one), Value::Word(other)) => Some(used(ab.bytes_of(one)) == used(&other.to_le_bytes())),
        (Value::Bytes(one), Value::Bytes(other)) => Some(used(ab.bytes_of(one)) == used(bb.bytes_of(other))),
    }
}

pub(super) fn value_text(batch: &Batch, value: Value) -> String {
    match value {
        Value::Unknown => "unknown".into(),
        Value::Word(word) => format!("{word:#x}"),
        Value::Bytes(span) => bytes_text(batch.bytes_of(span)),
    }
}

/// Little-endian bytes as a number.
fn bytes_text(bytes: &[u8]) -> String {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1).min(bytes.len());
    let mut text = String::from("0x");
    for (n, byte) in bytes[..used].iter().rev().enumerate() {
        // Writing to a String cannot fail.
        let _ = if n == 0 { write!(text, "{byte:x}") } else { write!(text, "{byte:02x}") };
    }
    text
}

fn same_extra(ab: &Batch, a: &Step, bb: &Batch, b: &Step) -> bool {
    match (ab.extra_of(a), bb.extra_of(b)) {
        (Some(one), Some(other)) => {
            (one.target, one.sme_index, one.placeholder) == (other.target, other.sme_index, other.placeholder)
                && one.micro_ops.len == other.micro_ops.len
        }
        (Some(extra), None) | (None, Some(extra)) => !extra.placeholder && extra.target.is_none(),
        (None, None) => true,
    }
}

#[inline]
fn same_memory(a: &[MemAccess], b: &[MemAccess]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(one, other)| {
            (one.kind, one.address, one.size) == (other.kind, other.address, other.size)
                && is_same_word(one.data, other.data)
                && one.unplaced == other.unplaced
                && one.extra.is_none()
                && other.extra.is_none()
        })
}

#[inline]
fn same_registers(a: &[RegAccess], b: &[RegAccess]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(one, other)| {
            one.reg == other.reg
                && one.role == other.role
                && is_same_word(one.value, other.value)
                && one.update == RegUpdate::Set
                && other.update == RegUpdate::Set
                && one.known == other.known
        })
}

/// Wide values are in their batches: they are not quick to compare.
#[inline]
fn is_same_word(a: Value, b: Value) -> bool {
    match (a, b) {
        (Value::Word(one), Value::Word(other)) => one == other,
        (Value::Unknown, Value::Unknown) => true,
        _ => false,
    }
}

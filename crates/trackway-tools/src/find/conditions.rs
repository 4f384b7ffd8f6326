//! The conditions of a search. All that are given must be met.

use std::ops::Range;

use trackway::index::Sketch;
use trackway_core::{
    Batch, Context, Event, EventKind, Isa, MemAccess, MemKind, Privilege, Reg, RegAccess, Run, Security,
    Step, Trap, TrapKind, Value,
};
use trackway_isa::{Class, class, riscv, text};

/// Conditions on an instruction. Several values of one condition are alternatives, empty lists are no condition.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// It lies in one of these.
    pub code: Vec<Range<u64>>,
    /// It has one of these mnemonics: as listings write it, or the names of the base and the compressed instruction.
    pub operations: Vec<String>,
    /// It is of one of these classes.
    pub classes: Vec<Class>,
    /// It accesses memory in one of these.
    pub memory: Vec<Range<u64>>,
    /// It reads or writes all of these registers, as the trace records it.
    pub registers: Vec<RegisterIs>,
    /// It traps.
    pub traps: Option<TrapIs>,
    /// The context has all of these.
    pub contexts: Vec<ContextIs>,
}

/// A register, and its value.
#[derive(Clone, Copy, Debug)]
pub struct RegisterIs {
    /// The register.
    pub reg: Reg,
    /// The value; any without it.
    pub value: Option<u64>,
}

/// Which traps.
#[derive(Clone, Debug)]
pub enum TrapIs {
    /// All of a kind.
    Kind(TrapKind),
    /// All that are not returns.
    Any,
    /// By the number of the cause.
    Cause(u64),
    /// By a part of its name.
    Name(String),
}

/// A field of the context and its value, as event lines write them.
#[derive(Clone, Debug)]
pub struct ContextIs {
    /// Name of the field.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl TrapIs {
    /// Is it this trap, which has that name?
    pub fn meets(&self, trap: &Trap, name: Option<&str>) -> bool {
        match self {
            TrapIs::Any => trap.kind != TrapKind::Return,
            TrapIs::Kind(kind) => trap.kind == *kind,
            TrapIs::Cause(cause) => trap.kind != TrapKind::Return && trap.cause == Some(*cause),
            TrapIs::Name(wanted) => name.is_some_and(|name| {
                let key = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], " ");
                key(name).contains(&key(wanted))
            }),
        }
    }
}

impl ContextIs {
    /// Is it this one?
    fn meets(&self, name: &str, value: &str) -> bool {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        name == self.name
            && (value.eq_ignore_ascii_case(&self.value)
                || number(value).is_some_and(|value| number(&self.value) == Some(value)))
    }
}

/// The fields of a context that are known, by name.
pub(super) fn context_fields(context: &Context, put: &mut dyn FnMut(&'static str, &str)) {
    let mut batch = Batch::default();
    batch.push_context(0, *context);
    let event = Event { offset: 0, kind: EventKind::Context(0) };
    batch.event_fields(&event, put);
}

/// The names of the fields of a context.
pub fn context_names() -> Vec<&'static str> {
    // Every field is set, so that every name is shown.
    let full = Context {
        privilege: Some(Privilege::U),
        security: Some(Security::Secure),
        own_stack: Some(true),
        context_id: Some(0),
        vmid: Some(0),
        asid: Some(0),
        pid: Some(0),
        tid: Some(0),
        hw_thread: Some(0),
        change: Some(0),
        isa: Some(Isa::Other),
        vector_bits: Some(0),
        streaming: Some(true),
        dit: Some(true),
        ssbs: Some(true),
        mte: Some(0),
        unsupported: Some(true),
    };
    let mut names = Vec::new();
    context_fields(&full, &mut |name, _| names.push(name));
    names
}

impl Conditions {
    /// True if nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
            && self.operations.is_empty()
            && self.classes.is_empty()
            && self.memory.is_empty()
            && self.registers.is_empty()
            && self.traps.is_none()
            && self.contexts.is_empty()
    }

    /// Can a sketch of addresses say where nothing is to be found?
    pub fn has_addresses(&self) -> bool {
        self.traps.is_none() && !(self.code.is_empty() && self.memory.is_empty())
    }

    /// Can there be a match among instructions with these addresses?
    pub fn meets_sketch(&self, sketch: &Sketch) -> bool {
        (self.code.is_empty() || self.code.iter().any(|range| sketch.may_execute(range)))
            && (self.memory.is_empty() || self.memory.iter().any(|range| sketch.may_access(range)))
    }

    /// The option that asks for something that the trace has nowhere, and what that is.
    pub fn unanswered(&self, has_memory: bool, has_registers: bool) -> Option<[&'static str; 2]> {
        if !self.memory.is_empty() && !has_memory {
            return Some(["--mem", "memory accesses"]);
        }
        let asks = self.registers.iter().any(|register| register.value.is_some());
        (asks && !has_registers).then_some(["--reg R=VALUE", "values of registers"])
    }

    pub(super) fn needs_encoding(&self) -> bool {
        !self.operations.is_empty() || !self.classes.is_empty()
    }

    /// Does an encoding meet the conditions about it? Asked once per encoding.
    pub(super) fn meets_encoding(&self, isa: Isa, encoding: u32) -> bool {
        (self.classes.is_empty() || self.classes.contains(&class(isa, encoding)))
            && (self.operations.is_empty()
                || self.operations.iter().any(|name| is_operation(isa, encoding, name)))
    }

    #[inline]
    pub(super) fn meets_step(&self, batch: &Batch, step: &Step) -> bool {
        self.meets_place(step.pc)
            && (self.memory.is_empty() || self.meets_memory(batch.mem_of(step.accesses)))
            && (self.registers.is_empty() || self.meets_registers(batch, batch.regs_of(step.accesses)))
    }

    #[inline]
    pub(super) fn meets_place(&self, pc: Option<u64>) -> bool {
        self.code.is_empty() || pc.is_some_and(|pc| self.code.iter().any(|range| range.contains(&pc)))
    }

    /// Can some instruction of a run meet the conditions?
    pub(super) fn meets_run(&self, run: &Run) -> bool {
        let overlaps = |range: &Range<u64>| range.start < run.end && run.start < range.end;
        (self.code.is_empty() || self.code.iter().any(overlaps))
            && (self.memory.is_empty() && self.registers.is_empty() || run.accesses.is_some())
    }

    pub(super) fn meets_context(&self, context: &Context) -> bool {
        self.contexts.iter().all(|wanted| {
            let mut met = false;
            context_fields(context, &mut |name, value| met |= wanted.meets(name, value));
            met
        })
    }

    fn meets_memory(&self, accesses: &[MemAccess]) -> bool {
        let moves = |access: &&MemAccess| {
            !access.unplaced && !matches!(access.kind, MemKind::Prefetch | MemKind::Maintenance)
        };
        accesses.iter().filter(moves).any(|access| {
            let end = access.address.saturating_add(access.size.max(1));
            self.memory.iter().any(|range| access.address < range.end && range.start < end)
        })
    }

    fn meets_registers(&self, batch: &Batch, accesses: &[RegAccess]) -> bool {
        let is = |access: &RegAccess, wanted: &RegisterIs| {
            access.reg == wanted.reg
                && wanted.value.is_none_or(|value| match access.value {
                    Value::Word(word) => word == value,
                    Value::Bytes(span) => is_number(batch.bytes_of(span), value),
                    Value::Unknown => false,
                })
        };
        self.registers.iter().all(|wanted| accesses.iter().any(|access| is(access, wanted)))
    }
}

/// Are these little-endian bytes that number?
fn is_number(bytes: &[u8], value: u64) -> bool {
    let low = bytes.iter().take(8).rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    low == value && bytes.iter().skip(8).all(|byte| *byte == 0)
}

/// Is it the mnemonic of this encoding, in any of its names?
fn is_operation(isa: Isa, encoding: u32, name: &str) -> bool {
    let shown = text(isa, 0, encoding);
    if shown.split_ascii_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case(name)) {
        return true;
    }
    match isa {
        Isa::Rv32 | Isa::Rv64 => riscv::lookup(isa, encoding).is_some_and(|(declared, inst)| {
            declared.name.eq_ignore_ascii_case(name) || inst.op.name().eq_ignore_ascii_case(name)
        }),
        _ => false,
    }
}

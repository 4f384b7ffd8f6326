//! Inputs and results of an instruction: by its encoding, and by the accesses that the trace records.

use trackway::machine::csrs;
use trackway_core::{
    Batch, Isa, MemAccess, MemKind, Outcome, Reg, RegAccess, RegClass, RegRole, Step, Value,
};
use trackway_isa::{memory, registers, riscv};

/// Something that has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// A register.
    Reg(Reg),
    /// Bytes of memory.
    Mem {
        /// Address of the first one.
        address: u64,
        /// How many.
        length: u64,
    },
}

/// The use of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is part of the value.
    Value,
    /// It is part of an address.
    Address,
}

impl Role {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Value => "value",
            Role::Address => "address",
        }
    }
}

const FFLAGS: u16 = 0x001;

/// An instruction with what is known of its operands.
#[derive(Debug)]
pub(super) struct Operands<'s> {
    batch: &'s Batch,
    step: &'s Step,
    isa: Isa,
    encoded: Option<trackway_isa::Registers>,
    recorded: &'s [RegAccess],
}

/// An input of an instruction.
pub(super) struct Read {
    pub(super) what: Location,
    pub(super) role: Role,
    pub(super) value: Option<Vec<u8>>,
}

impl<'s> Operands<'s> {
    pub(super) fn new(batch: &'s Batch, step: &'s Step, isa: Isa) -> Self {
        let encoded = if step.length == 0 { None } else { registers(isa, step.encoding) };
        Operands { batch, step, isa, encoded, recorded: batch.regs_of(step.accesses) }
    }

    /// Does it write this register?
    pub(super) fn writes(&self, reg: Reg) -> bool {
        let riscv = matches!(self.isa, Isa::Rv32 | Isa::Rv64);
        // A CSR can be another view of the one written.
        let same = |written: Reg| {
            let both = written.class == RegClass::Csr && reg.class == RegClass::Csr && riscv;
            written == reg || both && csrs::shares(written.number, reg.number)
        };
        let recorded = |access: &RegAccess| access.role == RegRole::Destination && same(access.reg);
        if self.recorded.iter().any(recorded) {
            return true;
        }
        // An instruction that trapped wrote nothing but what is recorded.
        self.step.outcome == Outcome::Retired
            && self.encoded.is_some_and(|list| {
                list.destinations().any(|written| {
                    same(written)
                        || list.grouped && written.class == RegClass::Vector && reg.class == RegClass::Vector
                })
            })
    }

    /// May it write any register? Its encoding is not known and the trace records no result.
    pub(super) fn is_opaque(&self) -> bool {
        self.step.outcome == Outcome::Retired
            && self.encoded.is_none()
            && !self.recorded.iter().any(|access| access.role == RegRole::Destination)
    }

    /// The value that it wrote to a register.
    pub(super) fn written(&self, reg: Reg) -> Option<Vec<u8>> {
        let access =
            self.recorded.iter().rfind(|access| access.role == RegRole::Destination && access.reg == reg)?;
        self.value(access)
    }

    /// Its memory accesses that change memory.
    pub(super) fn stores(&self) -> impl Iterator<Item = &'s MemAccess> + use<'s> {
        let writes = |access: &&MemAccess| matches!(access.kind, MemKind::Write | MemKind::ReadWrite);
        self.batch.mem_of(self.step.accesses).iter().filter(writes)
    }

    /// The bytes that an access left in memory.
    pub(super) fn stored(&self, access: &MemAccess) -> Option<Vec<u8>> {
        let data = match access.kind {
            MemKind::Write => access.data,
            _ => self.batch.mem_extra_of(access)?.stored,
        };
        bytes(self.batch, data, access.size)
    }

    /// Does it store somewhere that the trace does not say?
    pub(super) fn stores_unseen(&self) -> bool {
        if self.step.outcome != Outcome::Retired {
            return false;
        }
        let unplaced = |access: &MemAccess| access.unplaced;
        if self.stores().any(unplaced) {
            return true;
        }
        if self.step.length == 0 {
            return self.step.accesses.mem_len == 0;
        }
        self.stores().next().is_none()
            && memory(self.isa, self.step.encoding)
                .is_some_and(|m| matches!(m.kind, MemKind::Write | MemKind::ReadWrite) && !m.optional)
    }

    /// The inputs of one of its results, and true if it loads from somewhere that the trace does not say.
    pub(super) fn inputs(&self, results: &[Location]) -> (Vec<Read>, bool) {
        let wants = |reg: &dyn Fn(Reg) -> bool| {
            results.iter().any(|what| matches!(what, Location::Reg(r) if reg(*r)))
        };
        let wants_memory = results.iter().any(|what| matches!(what, Location::Mem { .. }));
        let wants_flags = wants(&|reg| reg.class == RegClass::Csr && reg.number == FFLAGS);
        let wants_csr = wants(&|reg| reg.class == RegClass::Csr);
        let wants_others = wants_memory || wants(&|reg| reg.class != RegClass::Csr);
        let base_only = self
            .encoded
            .and_then(|list| list.writeback)
            .filter(|base| results.iter().all(|what| *what == Location::Reg(*base)));
        let mut reads: Vec<Read> = Vec::new();
        let mut unseen = false;
        let loads = memory(self.isa, self.step.encoding)
            .filter(|_| self.step.length > 0)
            .is_some_and(|m| matches!(m.kind, MemKind::Read | MemKind::ReadWrite));
        if loads && base_only.is_none() {
            let mut placed = false;
            for access in self.batch.mem_of(self.step.accesses) {
                if matches!(access.kind, MemKind::Read | MemKind::ReadWrite) && !access.unplaced {
                    placed = true;
                    reads.push(Read {
                        what: Location::Mem { address: access.address, length: access.size },
                        role: Role::Value,
                        value: bytes(self.batch, access.data, access.size),
                    });
                }
            }
            unseen = !placed;
        }
        let encoded = self.encoded.unwrap_or_default();
        let (exchanges, csr_from) = self.csr_flow();
        let named = encoded.iter().enumerate().filter(|(_, item)| item.1 == RegRole::Source);
        for (place, (reg, _)) in named {
            let is_flags = reg.class == RegClass::Csr && reg.number == FFLAGS;
            let needed = match base_only {
                Some(base) => reg == base,
                None if is_flags && !exchanges => wants_flags,
                // `csrrw` swaps: the register gets the CSR, the CSR gets the register.
                None if exchanges && reg.class == RegClass::Csr => wants_others || csr_from,
                None if exchanges => wants_csr,
                None => true,
            };
            if needed {
                let role = if encoded.is_address(place) && base_only.is_none() {
                    Role::Address
                } else {
                    Role::Value
                };
                reads.push(Read { what: Location::Reg(reg), role, value: self.seen(reg) });
            }
        }
        if self.encoded.is_none() {
            for access in self.recorded.iter().filter(|access| access.role == RegRole::Source) {
                let what = Location::Reg(access.reg);
                reads.push(Read { what, role: Role::Value, value: self.value(access) });
            }
        }
        (reads, unseen)
    }

    /// Is it a CSR instruction, and does the new content of the CSR depend on the old one?
    fn csr_flow(&self) -> (bool, bool) {
        use riscv::Op;
        if !matches!(self.isa, Isa::Rv32 | Isa::Rv64) || self.step.length == 0 {
            return (false, false);
        }
        match riscv::decode(self.isa, self.step.encoding).map(|inst| inst.op) {
            Some(Op::Csrrw | Op::Csrrwi) => (true, false),
            Some(Op::Csrrs | Op::Csrrsi | Op::Csrrc | Op::Csrrci) => (true, true),
            _ => (false, false),
        }
    }

    /// The value that it read from a register.
    fn seen(&self, reg: Reg) -> Option<Vec<u8>> {
        let is_it = |access: &&RegAccess| access.role == RegRole::Source && access.reg == reg;
        self.value(self.recorded.iter().find(is_it)?)
    }

    fn value(&self, access: &RegAccess) -> Option<Vec<u8>> {
        if access.known.is_some_and(|known| known != u64::MAX) {
            return None;
        }
        bytes(self.batch, access.value, 8)
    }
}

/// A value as bytes, little-endian; `None` where it is not recorded.
pub(super) fn bytes(batch: &Batch, value: Value, size: u64) -> Option<Vec<u8>> {
    match value {
        Value::Unknown => None,
        Value::Word(word) if size <= 8 => Some(word.to_le_bytes()[..size as usize].to_vec()),
        Value::Word(_) => None,
        Value::Bytes(span) => Some(batch.bytes_of(span).to_vec()),
    }
}

//! Rules that need the encoding of the instruction: its width, its memory accesses, its target.

use trackway_core::{Isa, MemKind};
use trackway_isa::riscv::{self, Class, Count, Memory, Op};
use trackway_isa::{Control, Flow, flow};

use super::{Checker, IN_BITS, NO_ACCESS};
use crate::record::descriptor::INST_MEM_ACCESS;
use crate::rules::*;
use crate::values::{access, features};

/// A memory access of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) size: u16,
    pub(super) kind: u8,
    /// Number of content records.
    pub(super) words: u32,
    /// The first content record.
    pub(super) data: u64,
}

/// Facts of an encoding that rules need; decoded once for each that comes again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoded {
    pub(super) control: Control,
    /// `None` where it does not decode.
    class: Option<Class>,
    memory: Option<Memory>,
    /// Any access is allowed.
    any_allowed: bool,
    pub(super) usual: Usual,
}

/// The group in which an instruction breaks no rule, if its record has its width; registers may come with it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Usual {
    /// Alone.
    Plain,
    /// Alone, or with a target this far away.
    Branch { distance: u64 },
    /// With a target this far away.
    Jump { distance: u64 },
    /// With any target.
    IndirectJump,
    /// With one access and its content.
    Access { kind: u8, size: u8 },
    /// It depends.
    Rare,
}

impl Usual {
    fn new(class: Class, flow: &Flow) -> Self {
        match (class.memory(), flow.control, flow.target) {
            _ if is_vector(class) => Usual::Rare,
            (Some(Memory { kind, size: Some(size @ ..=8), count: Count::One }), Control::Sequential, _) => {
                match kind {
                    MemKind::Read => Usual::Access { kind: access::READ, size },
                    MemKind::Write => Usual::Access { kind: access::WRITE, size },
                    _ => Usual::Rare,
                }
            }
            (None, Control::Sequential, _) => Usual::Plain,
            (None, Control::Branch, Some(distance)) => Usual::Branch { distance },
            (None, Control::TrapReturn, _) => Usual::Rare,
            (None, control, Some(distance)) if control.is_transfer() => Usual::Jump { distance },
            (None, control, None) if control.is_transfer() => Usual::IndirectJump,
            _ => Usual::Rare,
        }
    }
}

impl Encoded {
    pub(super) fn new(isa: Isa, opcode: u32) -> Self {
        let is_riscv = matches!(isa, Isa::Rv32 | Isa::Rv64);
        let op = if is_riscv { riscv::decode(isa, opcode).map(|inst| inst.op) } else { None };
        let class = op.map(Op::class);
        let flow = flow(isa, 0, opcode);
        Encoded {
            control: flow.control,
            class,
            memory: class.and_then(Class::memory),
            usual: class.map_or(Usual::Rare, |class| Usual::new(class, &flow)),
            // Cache operations may have the block that they act on.
            any_allowed: class.is_none() || op.is_some_and(|op| op.name().starts_with("cbo.")),
        }
    }
}

impl Checker<'_> {
    #[inline(always)]
    pub(super) fn encoded(&mut self, opcode: u32) -> Encoded {
        let isa = self.isa;
        *self.encodings.get(u64::from(opcode) | (isa as u64) << 32, || Encoded::new(isa, opcode))
    }

    /// Checks a complete group against its instruction. `width` is that of the opcode record, in bytes.
    pub(super) fn opcode(&mut self, opcode: u32, width: u8, encoded: &Encoded) {
        if !matches!(self.isa, Isa::Rv32 | Isa::Rv64) {
            return;
        }
        let wanted = if opcode & 3 == 3 { 4 } else { 2 };
        if wanted != width {
            let bits = 8 * u32::from(wanted);
            self.found(&OPCODE_WIDTH, format!("{opcode:#x} is a {bits}-bit instruction"));
        }
        // The placeholder of a fetch fault and an illegal instruction need not decode.
        if encoded.class.is_none() && !self.group.trapped {
            self.found(&OPCODE_KNOWN, format!("{opcode:#x} is not an instruction that Trackway knows"));
        }
        self.accesses(encoded);
        self.targets(opcode, encoded.control);
    }

    fn accesses(&mut self, encoded: &Encoded) {
        let Encoded { class, memory, any_allowed, .. } = *encoded;
        self.has_vectors |= class.is_some_and(is_vector);
        let attempted = self.group.trapped || self.group.attempted;
        let needs_one = memory.is_some_and(|memory| memory.count == Count::One);
        if needs_one && self.group.accesses.is_empty() && !attempted && !self.flow_only {
            match self.in_body(INST_MEM_ACCESS) {
                true => self.found(&MEM_MISSING, "a load or store without INST_MEM_ACCESS".into()),
                false => self.count(NO_ACCESS),
            }
        }
        if self.group.accesses.is_empty() {
            return;
        }
        let accesses = std::mem::take(&mut self.group.accesses);
        let at_opcode = self.offset;
        let sum =
            |kind| accesses.iter().filter(|access| access.kind == kind).map(|a| u32::from(a.size)).sum();
        let (read, written): (u32, u32) = (sum(access::READ), sum(access::WRITE));
        let sides = matches!(class, Some(Class::Amo(_))) && !attempted;
        if sides && (read == 0 || written == 0) {
            let missing = if read == 0 { "reads" } else { "writes" };
            self.found(&ATOMIC_SIDES, format!("an atomic without an access that {missing}"));
        }
        for access in &accesses {
            self.offset = access.offset;
            self.walk_before(access);
            let wanted = memory.is_some_and(|memory| match memory.kind {
                MemKind::Read => access.kind == access::READ,
                MemKind::Write => access.kind == access::WRITE,
                _ => true,
            });
            // Emulators make a conditional store of a comparison and a store.
            let compares = matches!(class, Some(Class::StoreConditional(_)))
                && accesses.iter().all(|other| other.address == access.address);
            if !(any_allowed | wanted | compares) {
                let word = if access.kind == access::READ { "reads" } else { "writes" };
                self.found(&MEM_SPURIOUS, format!("the instruction makes no access that {word}"));
                continue;
            }
            // A vector instruction names its elements: writers log those, registers, or all of it.
            let named = memory.and_then(|memory| memory.size).filter(|_| !class.is_some_and(is_vector));
            // A misaligned access may be in pieces.
            let whole = if access.kind == access::READ { read } else { written };
            self.size(access, whole, named);
        }
        self.offset = at_opcode;
        self.group.accesses = accesses;
        self.group.accesses.clear();
    }

    /// Is there a walk for the pages of an access?
    fn walk_before(&mut self, access: &Access) {
        if self.features & features::PTE != 0 && self.walks.lacks(access.address) {
            let message = format!("no PAGE_TABLE_WALK for the page of {:#x}", access.address);
            if self.is_part {
                self.found(&PART, format!("{message}: a part before it may have one"));
            } else {
                self.found(&WALK_MISSING, message);
            }
        }
    }

    /// Checks the size of an access, its unit, and its content. All accesses of its kind have `whole`.
    fn size(&mut self, access: &Access, whole: u32, named: Option<u8>) {
        let size = u32::from(access.size);
        let words = |bytes: u32| bytes.div_ceil(8).max(1);
        let bytes = match named.map(u32::from) {
            Some(named) if whole == named => size,
            Some(named) if whole == 8 * named => {
                self.in_bits(size, format!("the instruction accesses {named} bytes"));
                size / 8
            }
            Some(named) => {
                self.found(&MEM_SIZE_OPCODE, format!("size {whole}: the instruction accesses {named} bytes"));
                return;
            }
            // As many content records as the size has words, or as many as it has in bits.
            None if access.words > 0 && access.words != words(size) && access.words == words(size / 8) => {
                self.in_bits(size, format!("{} content records", access.words));
                size / 8
            }
            None => size,
        };
        if access.words > 0 && access.words != words(bytes) {
            let words = access.words;
            self.found(&MEM_CONTENT_COUNT, format!("{words} content records for {bytes} bytes"));
        }
        if access.words == 1 && bytes < 8 && access.data >> (8 * bytes) != 0 {
            let data = access.data;
            self.found(&MEM_CONTENT_JUSTIFIED, format!("{data:#x} has more than {bytes} bytes"));
        }
    }

    /// A size in bits; all files of Dromajo have them.
    fn in_bits(&mut self, size: u32, why: String) {
        match self.producer {
            Some(_) => self.count(IN_BITS),
            None => self.found(&MEM_SIZE_UNIT, format!("{size} is in bits: {why}")),
        }
    }

    fn targets(&mut self, opcode: u32, control: Control) {
        let jumps = control.is_transfer();
        let named = || self.pc.and_then(|pc| flow(self.isa, pc, opcode).target);
        match self.group.target {
            Some(target) if !jumps => {
                self.found(
                    &PC_TARGET_BRANCH,
                    format!("target {target:#x} of an instruction that is not a branch"),
                );
            }
            Some(target) => {
                if let Some(named) = named().filter(|named| *named != target) {
                    self.found(&PC_TARGET_VALUE, format!("target {target:#x}: the encoding has {named:#x}"));
                }
            }
            None if jumps && !self.group.trapped && control != Control::Branch => {
                self.no_target = Some((self.offset, self.item));
            }
            _ => {}
        }
        self.returned = control == Control::TrapReturn && !self.group.trapped;
        self.explained = self.group.trapped
            || !control.retires()
            || matches!(control, Control::TrapReturn | Control::Wait);
    }
}

const fn is_vector(class: Class) -> bool {
    matches!(class, Class::VectorLoad(_) | Class::VectorStore(_) | Class::Vector | Class::VectorConfig)
}

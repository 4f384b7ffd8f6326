//! Is a trace legal, and which rules does it break? That includes whether a group fits its instruction.

mod usual;

use trackway_core::{Error, ErrorKind, Finding, Isa, Result, Rule, mask, sign_extend};
use trackway_isa::Recent;
use trackway_isa::riscv::{self, Class, Inst};

use crate::config::{Config, Profile, Widths};
use crate::group::{Frame, Group};
use crate::read::Reader;
use crate::record::{Record, number};
use crate::register;
use crate::registers::Registers;
use crate::rules;
use crate::view::{Kind, NextPc, TrapState, View};

/// Checks a trace and reports every finding; returns the number of items. Damage is reported and skipped; only
/// an error of the input is returned.
pub(crate) fn check(reader: Reader, config: &Config, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    check_with(reader, config, true, report)
}

/// Without `with_usual` usual groups take the way of all others, for tests.
fn check_with(
    mut reader: Reader,
    config: &Config,
    with_usual: bool,
    report: &mut dyn FnMut(Finding),
) -> Result<u64> {
    let registers = Registers::new(reader.widths());
    let decoded = Recent::default();
    let mut checker = Checker { config: *config, decoded, registers, pc: config.reset_pc, items: 0, report };
    let mut group = Group::default();
    loop {
        if with_usual {
            checker.usual_groups(&mut reader);
        }
        match reader.read_group(&mut group) {
            Ok(false) => return Ok(checker.items),
            Ok(true) => checker.group(&group, reader.widths()),
            Err(error) => {
                if matches!(error.kind, ErrorKind::Io(_) | ErrorKind::Compression) {
                    return Err(error);
                }
                // The items before the error are checked too.
                checker.broken(&group, &error, &reader);
                checker.registers.forget();
                checker.pc = None;
                if reader.resync()?.is_none() {
                    return Ok(checker.items);
                }
            }
        }
    }
}

/// An instruction, and the x and f registers that it writes.
#[derive(Clone, Copy)]
struct Decoded {
    inst: Inst,
    gpr: Option<u8>,
    fpr: Option<u8>,
}

/// A group in the trace: places of its items are worked out for findings only.
#[derive(Clone, Copy)]
struct Placed<'g> {
    group: &'g Group,
    widths: &'g Widths,
    /// Number of its first item in the trace.
    first: u64,
}

impl Placed<'_> {
    /// Byte offset and number of item `n`.
    fn item(&self, n: usize) -> (u64, u64) {
        (self.group.offset_of(n, self.widths), self.first + n as u64)
    }
}

struct Checker<'a> {
    config: Config,
    /// Instructions by encoding.
    decoded: Recent<u32, Option<Decoded>, 1024>,
    /// Values that increments are relative to.
    registers: Registers,
    /// Address of the next instruction, if known.
    pc: Option<u64>,
    /// Items so far, begin and end included.
    items: u64,
    report: &'a mut dyn FnMut(Finding),
}

impl Checker<'_> {
    #[cold]
    fn find(&mut self, rule: &'static Rule, offset: u64, item: u64, message: String) {
        (self.report)(Finding { rule, offset, item, message });
    }

    /// A finding at item `n` of a group.
    #[cold]
    fn find_at(&mut self, rule: &'static Rule, placed: Placed<'_>, n: usize, message: String) {
        let (offset, item) = placed.item(n);
        self.find(rule, offset, item, message);
    }

    fn group(&mut self, group: &Group, widths: &Widths) {
        let first = self.items + u64::from(group.frame != Frame::Outside);
        match group.frame {
            Frame::Implied => {
                let message = "end group is missing".to_string();
                self.find(&rules::IMPLIED_END, group.offset, self.items, message);
            }
            Frame::Ended if group.records.is_empty() => {
                self.find(&rules::EMPTY_GROUP, group.offset, self.items, "nothing in it".to_string());
            }
            _ => {}
        }
        self.items(Placed { group, widths, first });
        let frame = match group.frame {
            Frame::Ended => 2,
            Frame::Implied => 1,
            Frame::Outside => 0,
        };
        self.items += group.records.len() as u64 + frame;
    }

    /// The items of a group that cannot be read to its end, and the error.
    fn broken(&mut self, group: &Group, error: &Error, reader: &Reader) {
        // The reader is at the start of the group and left the items before the error in it.
        let begin = u64::from(error.offset > reader.offset());
        let frame = if begin == 1 { Frame::Implied } else { Frame::Outside };
        let part = Group { offset: reader.offset(), frame, records: group.records.clone() };
        let first = self.items + begin;
        for n in 0..part.records.len() {
            self.item(Placed { group: &part, widths: reader.widths(), first }, n);
        }
        let item = first + part.records.len() as u64;
        let found = match error.kind {
            ErrorKind::Unknown { found } => found,
            _ => 0,
        };
        let (rule, hint): (_, &str) = match (error.kind, error.item, error.field) {
            (ErrorKind::Truncated, ..) => (&rules::TRUNCATED, ""),
            (_, "additional state", "identifier") if found == u64::from(number::MISPRINTED_PC) => {
                (&rules::PC_IDENTIFIER, ": tables C.2, C.7 and C.8 print it for the pc, which is 0x0a")
            }
            (_, "additional state", _) => (&rules::IDENTIFIER, ""),
            (_, _, "address") => (&rules::REGISTER_ADDRESS, ""),
            (ErrorKind::Missing, "memory response", _) => (&rules::ORPHAN_RESPONSE, ""),
            (_, "memory request" | "memory response", _) => (&rules::MEMORY_FIELDS, ""),
            (_, "group", _) => (&rules::GROUP_SIZE, ""),
            _ => (&rules::OPCODE, ""),
        };
        let field = if error.field.is_empty() { String::new() } else { format!(".{}", error.field) };
        let message = format!("{}{field}: {}{hint}", error.item, error.kind);
        self.find(rule, error.offset, item, message);
        self.items = item;
    }

    /// Checks an item alone.
    fn item(&mut self, placed: Placed<'_>, n: usize) {
        match placed.group.records[n] {
            Record::MisprintedPc(_) => {
                let message = "identifier 0x10 is read as the pc, which is 0x0a".to_string();
                self.find_at(&rules::PC_IDENTIFIER, placed, n, message);
            }
            Record::Instruction16(encoding) if encoding & 3 == 3 => {
                let message = format!("{encoding:#06x} is the start of a longer instruction (opcode 17)");
                self.find_at(&rules::INSTRUCTION_LENGTH, placed, n, message);
            }
            Record::Instruction32(encoding) if encoding & 3 != 3 => {
                let message = format!("{encoding:#010x} has the length bits of a 16-bit instruction");
                self.find_at(&rules::INSTRUCTION_LENGTH, placed, n, message);
            }
            Record::EffectiveAddress(a)
            | Record::PhysicalAddress(a)
            | Record::PcPhysicalAddress(a)
            | Record::MemoryRequest { address: a, .. }
                if mask(a, self.config.mlen) != a =>
            {
                let message = format!("{a:#x} has bits beyond MLEN {}", self.config.mlen);
                self.find_at(&rules::ADDRESS_BITS, placed, n, message);
            }
            Record::MemoryResponse { result, .. } if result > 1 => {
                self.find_at(&rules::RESPONSE_RESULT, placed, n, format!("result {result}"));
            }
            _ => {}
        }
    }

    fn items(&mut self, placed: Placed<'_>) {
        let Placed { group, widths, first } = placed;
        for (n, record) in group.records.iter().enumerate() {
            self.item(placed, n);
            match (*record, n.checked_sub(1).map(|before| group.records[before])) {
                (Record::EndGroup, _) => {
                    let message = "no group is open".to_string();
                    self.find_at(&rules::ORPHAN_END, placed, n, message);
                }
                (Record::HartReset, _) if group.frame == Frame::Outside => {
                    let message = "hart reset outside a group".to_string();
                    self.find_at(&rules::RESET_OUTSIDE, placed, n, message);
                }
                (Record::MemoryResponse { size, .. }, Some(Record::MemoryRequest { size: asked, .. }))
                    if size != asked =>
                {
                    let message = format!("{} bytes, the request has {}", 1 << size, 1 << asked);
                    self.find_at(&rules::RESPONSE_SIZE, placed, n, message);
                }
                _ => {}
            }
        }
        let mut faults = Vec::new();
        let view = View::gather(group, &self.registers, &mut |fault| faults.push(fault));
        let after = view.after(self.pc, widths.xlen);
        faults.extend(view.contradiction(group, after));
        self.pc = self.next_pc(&view, after);
        for fault in faults {
            let name = group.records.get(fault.item).map_or("group", Record::name);
            let is = |rule: &Rule| *fault.rule == *rule;
            let message = if is(&rules::ONE_VALUE) && name.ends_with("register") {
                format!("{} has another value in this group", register::name(fault.found as u16))
            } else if is(&rules::INIT_MIXED) {
                "with an instruction, a pc increment or a reset".to_string()
            } else if is(&rules::INCREMENT) {
                "no instruction in the group".to_string()
            } else if is(&rules::OUTSIDE_GROUP) {
                "outside a group".to_string()
            } else {
                format!("{:#x}", fault.found)
            };
            self.find_at(fault.rule, placed, fault.item, format!("{name}: {message}"));
        }
        self.trap(group, &view, first);
        if let Some((encoding, length)) = view.instruction
            && let Some(decoded) = self.decode(encoding)
            && decoded.inst.length == length
        {
            self.instruction(placed, &view, &decoded);
        }
        for record in &group.records {
            self.registers.apply(record);
        }
    }

    /// Address of the instruction after a group, if it is certain; `after` is the one after it in memory.
    fn next_pc(&self, view: &View, after: Option<u64>) -> Option<u64> {
        match (view.pc, view.kind) {
            (Some(NextPc::To(pc)), _) => Some(pc),
            (Some(NextPc::Increment), _) => after,
            (None, Kind::Reset) => self.config.reset_pc,
            (None, Kind::Init | Kind::State) => self.pc,
            (None, _) => {
                let plain = |(word, _): (u32, u8)| riscv::is_plain(word) && view.trap.is_none();
                after.filter(|_| view.instruction.is_some_and(plain))
            }
        }
    }

    /// Checks that a trap has all of its state (3.1).
    fn trap(&mut self, group: &Group, view: &View, first: u64) {
        let Some(state) = view.trap else { return };
        let missing: Vec<&str> = [
            ("epc", state.written & TrapState::EPC != 0),
            ("status", state.written & TrapState::STATUS != 0),
            ("tval", state.written & TrapState::TVAL != 0),
            ("privilege mode", view.privilege.is_some()),
            ("pc", view.pc.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, there)| (!there).then_some(name))
        .collect();
        if !missing.is_empty() {
            let message = format!("{} missing", missing.join(", "));
            self.find(&rules::TRAP_STATE, group.offset, first, message);
        }
        let top = self.config.xlen - 1;
        if view.instruction.is_some() && state.cause.is_some_and(|cause| cause >> top & 1 != 0) {
            let message = "the cause is an interrupt, but the group has an instruction".to_string();
            self.find(&rules::INTERRUPT, group.offset, first, message);
        }
    }

    fn decode(&mut self, encoding: u32) -> Option<Decoded> {
        let isa = self.config.isa();
        *self.decoded.get(encoding, || {
            let inst = riscv::decode(isa, encoding)?;
            let (gpr, fpr) = destinations(&inst);
            Some(Decoded { inst, gpr, fpr })
        })
    }

    /// Checks registers and store data against the instruction.
    fn instruction(&mut self, placed: Placed<'_>, view: &View, decoded: &Decoded) {
        const FIRST_GPR: u16 = register::GPR + 1;
        let Decoded { inst, gpr, fpr } = decoded;
        let group = placed.group;
        let class = inst.op.class();
        for (n, record) in group.records.iter().enumerate() {
            let Some((address, value)) = self.registers.resolve(record) else { continue };
            let own = match address {
                register::GPR => {
                    if value.is_some_and(|value| value != 0) {
                        self.find_at(&rules::ZERO_REGISTER, placed, n, "x0 gets a value".to_string());
                    }
                    // Some encoders report writes to x0.
                    true
                }
                FIRST_GPR..register::FPR => *gpr == Some((address & 0x1f) as u8),
                register::FPR..register::END => *fpr == Some((address & 0x1f) as u8),
                _ => true,
            };
            if !own || (view.trap.is_some() && address >= register::GPR) {
                let text = riscv::text(self.config.isa(), 0, inst.word, Default::default());
                let name = register::name(address);
                let message = format!("{name} is written, but not by `{}`", text.replace('\t', " "));
                self.find_at(&rules::DESTINATION, placed, n, message);
            } else if let (Class::Load(size), Some(value), true) = (class, value, address > register::GPR)
                && !load_fits(inst, size, value, address >= register::FPR, &self.config)
            {
                let name = register::name(address);
                let message = format!("{name} = {value:#x} is not the result of a {size}-byte load");
                self.find_at(&rules::LOAD_VALUE, placed, n, message);
            }
        }
        let stores = stores_of(class, self.config.profile);
        if let Some((log, _)) = view.store
            && stores != Some(1 << log)
        {
            let n = group.records.iter().position(|r| matches!(r, Record::StoreData { .. })).unwrap_or(0);
            let message = match stores {
                Some(n) => format!("{} bytes, the instruction stores {n}", 1 << log),
                None => format!("{} bytes, the instruction stores nothing", 1 << log),
            };
            self.find_at(&rules::STORE_SIZE, placed, n, message);
        }
    }
}

/// Bytes of the store data that an instruction has.
fn stores_of(class: Class, profile: Profile) -> Option<u8> {
    match class {
        Class::Store(n) | Class::StoreConditional(n) | Class::Amo(n) => Some(n),
        Class::LoadReserved(n) if profile == Profile::Bluespec => Some(n),
        _ => None,
    }
}

/// The x and f registers that an instruction writes.
fn destinations(inst: &Inst) -> (Option<u8>, Option<u8>) {
    use trackway_core::{RegClass, RegRole};
    let (mut gpr, mut fpr) = (None, None);
    for (reg, role) in inst.registers() {
        match (role, reg.class) {
            (RegRole::Destination, RegClass::Int) => gpr = Some(reg.number as u8),
            (RegRole::Destination, RegClass::Float) => fpr = Some(reg.number as u8),
            _ => {}
        }
    }
    (gpr, fpr)
}

/// Is the value extended as by the load? Narrow floats are boxed with ones.
fn load_fits(inst: &Inst, size: u8, value: u64, float: bool, config: &Config) -> bool {
    use riscv::Op;
    let bits = 8 * u32::from(size);
    if float {
        return bits >= config.flen || value >> bits == mask(u64::MAX, config.flen) >> bits;
    }
    match inst.op {
        Op::Lbu | Op::Lhu | Op::Lwu => mask(value, bits) == value,
        _ => {
            let wide = if config.isa() == Isa::Rv32 {
                mask(sign_extend(value, bits), 32)
            } else {
                sign_extend(value, bits)
            };
            wide == value
        }
    }
}

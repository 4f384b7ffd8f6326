//! What a group says, put together: items may come in any order, so this is known at its end only.

use trackway_core::{Error, ErrorKind, Result, Rule};

use crate::config::Widths;
use crate::read::{Frame, Group};
use crate::record::{Record, register};
use crate::registers::Registers;
use crate::rules;

/// What a group is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// An instruction that retired or trapped.
    Instruction,
    /// An interrupt, a fetch fault, or a jump that nothing explains.
    Trap,
    /// The hart was reset.
    Reset,
    /// State set from outside.
    Init,
    /// State that changed by itself, in a group or outside.
    #[default]
    State,
}

/// Where a group leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPc {
    /// Opcode 3.
    Increment,
    /// Identifier 10.
    To(u64),
}

/// The trap registers that a group writes, of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapState {
    /// Privilege level of the registers: 0, 1, 2 (virtual supervisor) or 3.
    pub level: u8,
    /// Which are written: bits as in [`TrapState::STATUS`] and so on.
    pub written: u8,
    /// xcause, where its value is known.
    pub cause: Option<u64>,
    /// xepc.
    pub epc: Option<u64>,
    /// xtval.
    pub tval: Option<u64>,
}

impl TrapState {
    /// xstatus is written.
    pub const STATUS: u8 = 1;
    /// xepc is written.
    pub const EPC: u8 = 2;
    /// xcause is written.
    pub const CAUSE: u8 = 4;
    /// xtval is written.
    pub const TVAL: u8 = 8;

    /// Notes a write to a CSR below 0x400; those of all levels have the same low byte.
    fn note(&mut self, address: u16, value: Option<u64>) {
        match address & 0xff {
            0x00 => self.written |= Self::STATUS,
            0x41 => (self.epc, self.written) = (value, self.written | Self::EPC),
            0x42 => (self.cause, self.written) = (value, self.written | Self::CAUSE),
            0x43 => (self.tval, self.written) = (value, self.written | Self::TVAL),
            _ => {}
        }
    }
}

/// What a group says. Registers and memory items stay in the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// What it is about.
    pub kind: Kind,
    /// Encoding and length of the instruction.
    pub instruction: Option<(u32, u8)>,
    /// Where it leads.
    pub pc: Option<NextPc>,
    /// Privilege mode after it.
    pub privilege: Option<u8>,
    /// Effective address.
    pub effective: Option<u64>,
    /// Physical address.
    pub physical: Option<u64>,
    /// Size (0 to 3) and data of a store.
    pub store: Option<(u8, u64)>,
    /// Physical address of the instruction.
    pub pc_physical: Option<u64>,
    /// The timer.
    pub mtime: Option<u64>,
    /// The trap that it takes.
    pub trap: Option<TrapState>,
    /// It has memory requests.
    pub bus: bool,
    /// It has increments of registers.
    pub relative: bool,
}

/// A broken rule, and by which item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: &'static Rule,
    /// The item, by its place in the group.
    pub item: usize,
    /// The value.
    pub found: u64,
}

impl Fault {
    #[cold]
    pub(crate) fn error(&self, group: &Group, widths: &Widths) -> Error {
        let name = group.records.get(self.item).map_or("group", Record::name);
        let kind = match *self.rule {
            rules::PRIVILEGE | rules::FPR_INCREMENT => ErrorKind::Illegal { found: self.found },
            rules::INCREMENT => ErrorKind::Missing,
            _ => ErrorKind::Impossible { found: self.found },
        };
        let field = if *self.rule == rules::INCREMENT { "instruction" } else { "" };
        kind.at(group.offset_of(self.item, widths), name, field, self.rule.section)
    }
}

impl View {
    /// Puts a group together; an error at the first broken rule. `registers` are those before it.
    #[inline]
    pub fn of(group: &Group, widths: &Widths, registers: &Registers) -> Result<View> {
        let mut first = None;
        let view = View::gather(group, registers, &mut |fault| {
            first.get_or_insert(fault);
        });
        match first {
            None => Ok(view),
            Some(fault) => Err(fault.error(group, widths)),
        }
    }

    /// Puts a group together and reports every rule that is broken.
    #[inline]
    pub fn gather(group: &Group, registers: &Registers, report: &mut impl FnMut(Fault)) -> View {
        let mut view = View::default();
        view.fill(group, registers, report);
        view
    }

    /// As [`gather`](View::gather), into an empty view.
    #[inline(always)]
    pub(crate) fn fill(&mut self, group: &Group, registers: &Registers, report: &mut impl FnMut(Fault)) {
        let view = self;
        let (mut reset, mut init, mut named, mut cause) = (None, None, 0u32, false);
        let outside = group.frame == Frame::Outside;
        for (item, record) in group.records.iter().enumerate() {
            let mut fault = |rule, found| report(Fault { rule, item, found });
            match *record {
                Record::FullRegister { address, .. } => {
                    named += 1;
                    cause |= is_cause(address);
                }
                Record::AddRegister { address, .. } | Record::OrRegister { address, .. } => {
                    named += 1;
                    view.relative = true;
                    cause |= is_cause(address);
                    if (register::FPR..register::FPR + 32).contains(&address) {
                        fault(&rules::FPR_INCREMENT, address.into());
                    }
                }
                Record::IncrementPc => {
                    if outside {
                        fault(&rules::OUTSIDE_GROUP, 3);
                    }
                    // An explicit pc beside it has to say the same; the caller that knows the pc compares.
                    view.pc.get_or_insert(NextPc::Increment);
                }
                Record::Pc(pc) | Record::MisprintedPc(pc) => match view.pc {
                    Some(NextPc::To(other)) if other != pc => fault(&rules::ONE_PC, pc),
                    _ => view.pc = Some(NextPc::To(pc)),
                },
                Record::Instruction16(encoding) => {
                    set_instruction(view, encoding.into(), 2, outside, &mut fault);
                }
                Record::Instruction32(encoding) => {
                    set_instruction(view, encoding, 4, outside, &mut fault);
                }
                Record::PrivilegeMode(mode) => {
                    if !matches!(mode, 0 | 1 | 3) {
                        fault(&rules::PRIVILEGE, mode.into());
                    }
                    set(&mut view.privilege, mode, mode.into(), &mut fault);
                }
                Record::EffectiveAddress(a) => set(&mut view.effective, a, a, &mut fault),
                Record::PhysicalAddress(a) => set(&mut view.physical, a, a, &mut fault),
                Record::StoreData { size, data } => set(&mut view.store, (size, data), data, &mut fault),
                Record::PcPhysicalAddress(a) => set(&mut view.pc_physical, a, a, &mut fault),
                Record::Mtime(time) => set(&mut view.mtime, time, time, &mut fault),
                Record::MemoryRequest { .. } => view.bus = true,
                Record::MemoryResponse { .. } | Record::BeginGroup | Record::EndGroup => {}
                Record::HartReset => reset = Some(item),
                Record::StateInitialization => {
                    init = Some(item);
                    if outside {
                        fault(&rules::INIT_OUTSIDE, 11);
                    }
                }
            }
        }
        if named > 1 {
            check_registers(group, report);
        }
        if let Some(item) = init
            && (reset.is_some() || view.instruction.is_some() || view.pc == Some(NextPc::Increment))
        {
            report(Fault { rule: &rules::INIT_MIXED, item, found: 11 });
        } else if view.pc == Some(NextPc::Increment) && view.instruction.is_none() && !outside {
            let item = group.records.iter().position(|r| *r == Record::IncrementPc).unwrap_or(0);
            report(Fault { rule: &rules::INCREMENT, item, found: 3 });
        }
        if cause && init.is_none() && !outside {
            view.trap = trap_of(group, registers, view);
        }
        view.kind = match () {
            () if reset.is_some() => Kind::Reset,
            () if init.is_some() => Kind::Init,
            () if outside => Kind::State,
            () if view.instruction.is_some() => Kind::Instruction,
            () if view.pc.is_some() || view.trap.is_some() => Kind::Trap,
            () => Kind::State,
        };
    }
}

#[inline(always)]
fn set<T: PartialEq + Copy>(
    slot: &mut Option<T>,
    value: T,
    found: u64,
    fault: &mut impl FnMut(&'static Rule, u64),
) {
    if slot.is_some_and(|other| other != value) {
        fault(&rules::ONE_VALUE, found);
    }
    *slot = Some(value);
}

#[inline(always)]
fn set_instruction(
    view: &mut View,
    encoding: u32,
    length: u8,
    outside: bool,
    fault: &mut impl FnMut(&'static Rule, u64),
) {
    if outside {
        fault(&rules::OUTSIDE_GROUP, encoding.into());
    }
    if view.instruction.is_some() {
        fault(&rules::ONE_INSTRUCTION, encoding.into());
    }
    view.instruction = Some((encoding, length));
}

/// Is it xcause of any level?
#[inline]
const fn is_cause(address: u16) -> bool {
    address & !0x300 == 0x42
}

/// A trap writes cause and epc of one level; an instruction that writes a CSR writes one of them. Where epc is
/// missing (partial trace), a change of privilege or the absence of an instruction tells.
#[cold]
fn trap_of(group: &Group, registers: &Registers, view: &View) -> Option<TrapState> {
    let mut levels = [TrapState::default(); 4];
    for record in &group.records {
        if let Some((address @ 0..0x400, value)) = registers.resolve(record) {
            levels[usize::from(address >> 8)].note(address, value);
        }
    }
    levels.iter().enumerate().find_map(|(n, level)| {
        let alone = level.written & TrapState::EPC == 0;
        let is_trap = level.written & TrapState::CAUSE != 0
            && (!alone || view.privilege.is_some() || view.instruction.is_none());
        is_trap.then_some(TrapState { level: n as u8, ..*level })
    })
}

/// One value per register ("unambiguous", chapter 3).
fn check_registers(group: &Group, report: &mut impl FnMut(Fault)) {
    let address = |record: &Record| match *record {
        Record::FullRegister { address, .. }
        | Record::AddRegister { address, .. }
        | Record::OrRegister { address, .. } => Some(address),
        _ => None,
    };
    // Nearly all groups name few registers, and each once.
    if let records @ [_, .., _] = &group.records[..]
        && records.len() <= 8
        && (1..records.len()).all(|n| {
            let own = address(&records[n]);
            own.is_none() || records[..n].iter().all(|other| address(other) != own)
        })
    {
        return;
    }
    let mut seen: Vec<(u16, Record)> = Vec::new();
    for (item, record) in group.records.iter().enumerate() {
        let Some(address) = address(record) else { continue };
        // The list is sorted, so that large initialisations stay cheap.
        match seen.binary_search_by_key(&address, |(address, _)| *address) {
            // Adding twice is not the same as once.
            Ok(n) if seen[n].1 != *record || record.opcode() == 5 => {
                report(Fault { rule: &rules::ONE_VALUE, item, found: address.into() });
            }
            Ok(_) => {}
            Err(n) => seen.insert(n, (address, *record)),
        }
    }
}

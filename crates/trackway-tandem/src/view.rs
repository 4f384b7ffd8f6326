//! The meaning of a group. Its items may come in any order, so it is known only at its end.

use trackway_core::{Error, ErrorKind, Result, Rule};

use crate::config::Widths;
use crate::group::{Frame, Group};
use crate::record::{Record, number};
use crate::register;
use crate::registers::Registers;
use crate::rules;

/// The subject of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// An instruction that retired or trapped.
    Instruction,
    /// An interrupt, a fetch fault, or an unexplained jump.
    Trap,
    /// The hart was reset.
    Reset,
    /// State that a debugger set.
    Init,
    /// State that changed without an instruction, in a group or outside.
    #[default]
    State,
}

/// The pc after a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPc {
    /// Advanced by the length of the instruction (opcode 3).
    Increment,
    /// Set (identifier 10).
    To(u64),
}

/// The trap registers of one level that a group writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapState {
    /// Privilege level of the registers: 0, 1, 2 (virtual supervisor) or 3.
    pub level: u8,
    /// Registers that are written: bits [`TrapState::STATUS`] to [`TrapState::TVAL`].
    pub written: u8,
    /// Value of xcause, if known.
    pub cause: Option<u64>,
    /// Value of xepc, if known.
    pub epc: Option<u64>,
    /// Value of xtval, if known.
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

    /// Notes a write to a trap register: a CSR below 0x400, with the same low byte at all levels.
    fn note(&mut self, address: u16, value: Option<u64>) {
        match address & 0xff {
            register::STATUS => self.written |= Self::STATUS,
            register::EPC => (self.epc, self.written) = (value, self.written | Self::EPC),
            register::CAUSE => (self.cause, self.written) = (value, self.written | Self::CAUSE),
            register::TVAL => (self.tval, self.written) = (value, self.written | Self::TVAL),
            _ => {}
        }
    }
}

/// The meaning of a group. Registers and memory items stay in the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The subject of the group.
    pub kind: Kind,
    /// Encoding and length of the instruction.
    pub instruction: Option<(u32, u8)>,
    /// The pc after the group.
    pub pc: Option<NextPc>,
    /// Privilege mode after the group.
    pub privilege: Option<u8>,
    /// Effective address of the access.
    pub effective: Option<u64>,
    /// Physical address of the access.
    pub physical: Option<u64>,
    /// Size (0 to 3) and data of a store.
    pub store: Option<(u8, u64)>,
    /// Physical address of the instruction.
    pub pc_physical: Option<u64>,
    /// Value of mtime.
    pub mtime: Option<u64>,
    /// The trap that is taken.
    pub trap: Option<TrapState>,
    /// The group has memory requests.
    pub bus: bool,
    /// The group has increments of registers.
    pub relative: bool,
}

/// A rule that an item breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The broken rule.
    pub rule: &'static Rule,
    /// Index of the item in the group.
    pub item: usize,
    /// The offending value.
    pub found: u64,
}

impl Fault {
    #[cold]
    pub(crate) fn error(&self, group: &Group, widths: &Widths) -> Error {
        let name = group.records.get(self.item).map_or("group", Record::name);
        let (found, is) = (self.found, |rule: &Rule| *self.rule == *rule);
        let (kind, field) = if is(&rules::INCREMENT) {
            (ErrorKind::Missing, "instruction")
        } else if is(&rules::PRIVILEGE) || is(&rules::FPR_INCREMENT) {
            (ErrorKind::Illegal { found }, "")
        } else {
            (ErrorKind::Impossible { found }, "")
        };
        kind.at(group.offset_of(self.item, widths), name, field, self.rule.section)
    }
}

impl View {
    /// The view of a group, or an error at the first broken rule. `registers` are those before it.
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

    /// The view of a group; reports every broken rule.
    #[inline]
    pub(crate) fn gather(group: &Group, registers: &Registers, report: &mut impl FnMut(Fault)) -> View {
        let mut view = View::default();
        view.fill(group, registers, report);
        view
    }

    /// Address after the instruction in memory; `pc` is its own address and `xlen` the width in bytes.
    #[inline]
    pub(crate) fn after(&self, pc: Option<u64>, xlen: u8) -> Option<u64> {
        let (_, length) = self.instruction?;
        let after = pc?.wrapping_add(length.into());
        Some(if xlen == 4 { after & 0xffff_ffff } else { after })
    }

    /// An increment that contradicts an explicit pc; `after` is the address that it leads to.
    #[inline]
    pub(crate) fn contradiction(&self, group: &Group, after: Option<u64>) -> Option<Fault> {
        let Some(NextPc::To(pc)) = self.pc else { return None };
        let found = after.filter(|after| *after != pc)?;
        let item = group.records.iter().position(|record| *record == Record::IncrementPc)?;
        Some(Fault { rule: &rules::ONE_PC, item, found })
    }

    /// Like [`gather`](View::gather), into an empty view.
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
                    if (register::FPR..register::END).contains(&address) {
                        fault(&rules::FPR_INCREMENT, address.into());
                    }
                }
                Record::IncrementPc => {
                    if outside {
                        fault(&rules::OUTSIDE_GROUP, number::INCREMENT_PC.into());
                    }
                    // An explicit pc must agree; the caller that knows the pc compares.
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
                        fault(&rules::INIT_OUTSIDE, number::STATE_INITIALIZATION.into());
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
            report(Fault { rule: &rules::INIT_MIXED, item, found: number::STATE_INITIALIZATION.into() });
        } else if view.pc == Some(NextPc::Increment) && view.instruction.is_none() && !outside {
            let item = group.records.iter().position(|r| *r == Record::IncrementPc).unwrap_or(0);
            report(Fault { rule: &rules::INCREMENT, item, found: number::INCREMENT_PC.into() });
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

/// Is it xcause, of any level?
#[inline]
const fn is_cause(address: u16) -> bool {
    address & !0x300 == register::CAUSE
}

/// The trap of a group, if it takes one. A trap writes cause and epc of one level, a CSR instruction only one of
/// them; in a partial trace without epc, a privilege change or a missing instruction decides.
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
    // Nearly all groups name few registers, each once.
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
        // A sorted list keeps large initializations cheap.
        match seen.binary_search_by_key(&address, |(address, _)| *address) {
            // Repeating the same item is allowed, except for an addition.
            Ok(n) if seen[n].1 != *record || matches!(record, Record::AddRegister { .. }) => {
                report(Fault { rule: &rules::ONE_VALUE, item, found: address.into() });
            }
            Ok(_) => {}
            Err(n) => seen.insert(n, (address, *record)),
        }
    }
}

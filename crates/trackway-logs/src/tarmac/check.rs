//! When the rules fire.

mod text;
mod values;

use std::collections::BTreeMap;

use trackway_core::{Isa, MemKind, Reg, RegClass};
use trackway_isa::{Control, Flow, Registers, flow, memory, reg_name, registers};

use super::line::parse;
use super::mode::Mode;
use super::names::Name;
use super::parsed::{Content, Instruction, Parsed, Register};
use super::rules::{ACCESS, DESTINATION, MEMORY_VALUE, PC, REGISTER_VALUE, TEXT};
use crate::lines::{Line, Wrong};
use crate::log::{Check, Report};
use text::Texts;
use values::{Contents, Known};

/// Most cores whose lines are checked; those of others are only read.
const MOST: usize = 1024;

/// Checks the lines of all cores.
#[derive(Debug)]
pub(crate) struct Checker {
    isa: Option<Isa>,
    cores: BTreeMap<Vec<u8>, Core>,
    /// The core of the last line with a time.
    current: Vec<u8>,
    texts: Texts,
    /// Memory, which all cores share.
    memory: Contents,
    message: bool,
}

/// The state of a core so far.
#[derive(Debug, Default)]
struct Core {
    last: Option<Last>,
    mode: Mode,
    registers: Known,
}

/// The last instruction.
#[derive(Clone, Copy, Debug)]
struct Last {
    pc: u64,
    encoding: u32,
    isa: Isa,
    flow: Flow,
    skipped: bool,
    /// Where a BR line says that it went.
    target: Option<u64>,
    /// An exception came after it.
    trapped: bool,
    /// Registers that it writes, where they are known.
    writes: Option<Registers>,
    /// Stores so far: a pair has two.
    stores: u32,
}

impl Last {
    fn new(i: &Instruction<'_>) -> Self {
        let Instruction { pc, encoding, isa, skipped, .. } = *i;
        let writes = registers(isa, encoding);
        let flow = flow(isa, pc, encoding);
        Last { pc, encoding, isa, flow, skipped, target: None, trapped: false, writes, stores: 0 }
    }

    /// The places where the next instruction may be; `None` for anywhere.
    fn next(&self) -> Option<[u64; 2]> {
        let Last { pc, flow, skipped, target, trapped, .. } = *self;
        let after = pc.wrapping_add(flow.length.into());
        // A call leads to its handler, or, for semihosting, to the next instruction.
        if trapped || flow.length == 0 || !flow.control.retires() && !skipped {
            return None;
        }
        if skipped || !flow.control.is_transfer() {
            return Some([after; 2]);
        }
        let taken = target.or(flow.target)?;
        let falls_through = flow.conditional || flow.control == Control::Branch;
        Some([taken, if falls_through && target.is_none() { after } else { taken }])
    }
}

impl Checker {
    pub(super) fn new(isa: Option<Isa>) -> Self {
        Checker {
            isa,
            cores: BTreeMap::new(),
            current: Vec::new(),
            texts: Texts::default(),
            memory: Contents::default(),
            message: false,
        }
    }
}

impl Check for Checker {
    fn line(&mut self, line: &Line<'_>, report: &mut Report<'_>) -> Result<(), Wrong> {
        let message = std::mem::take(&mut self.message);
        let parsed = parse(line.text, self.isa, message)?;
        let Parsed { time, core, content, .. } = &parsed;
        if time.is_some() && self.current != *core {
            self.current = core.to_vec();
        }
        if !self.cores.contains_key(&self.current) && self.cores.len() >= MOST {
            return Ok(());
        }
        let core = self.cores.entry(self.current.clone()).or_default();
        let place = (line.offset, line.number);
        match content {
            Content::Instruction(i) => {
                let wrong = core.last.and_then(|last| last.next().filter(|next| !next.contains(&i.pc)));
                if let (Some(next), Some(last)) = (wrong, core.last) {
                    let words =
                        format!("{:#x} comes after {:#x}, which leads to {:#x}", i.pc, last.pc, next[0]);
                    report.put(&PC, place, &words);
                }
                if let Some(ours) = self.texts.contradicts(i) {
                    let theirs = String::from_utf8_lossy(i.text);
                    let words = format!("{:#x} is {ours}, not {}", i.encoding, theirs.trim());
                    report.put(&TEXT, place, &words);
                }
                core.mode = Mode::read(i.mode);
                core.last = Some(Last::new(i));
            }
            Content::Register(register) => core.register(register, place, report),
            Content::Memory(access) if !access.aborted => {
                let at = access.physical.unwrap_or(access.address);
                let data = (access.digits <= 32).then_some(access.value);
                let bytes = (at, access.size.min(16), data);
                core.access(access.kind, bytes, place, report);
                self.memory.access(access.kind, bytes, place, report);
            }
            Content::Bytes(bytes) => {
                let kind = bytes.kind.unwrap_or(MemKind::Unknown);
                for n in (0..16).filter(|n| bytes.known >> n & 1 == 1) {
                    let at = bytes.physical.unwrap_or(bytes.address).wrapping_add(n);
                    let data = Some(bytes.data[n as usize].into());
                    self.memory.access(kind, (at, 1, data), place, report);
                }
                core.kind(kind, place, report);
            }
            Content::Branch(target) => {
                if let Some(last) = &mut core.last {
                    last.target = Some(*target);
                }
            }
            Content::Exception(_) => {
                if let Some(last) = &mut core.last {
                    last.trapped = true;
                }
            }
            Content::Message => self.message = true,
            Content::Memory(_)
            | Content::Operation
            | Content::Other
            | Content::Header(_)
            | Content::Blank => {}
        }
        Ok(())
    }
}

impl Core {
    /// A register with its new value.
    fn register(&mut self, register: &Register<'_>, place: (u64, u64), report: &mut Report<'_>) {
        let reg = match register.name {
            Name::X(number) | Name::W(number) => Reg { class: RegClass::Int, number: number.into() },
            Name::Sp(level) if level.is_none() || level == self.mode.stack() => {
                Reg { class: RegClass::Int, number: 31 }
            }
            Name::Vector(number, _) => Reg { class: RegClass::Vector, number: number.into() },
            _ => return,
        };
        if reg.class == RegClass::Int {
            self.registers.set(reg.number, (register.part.is_none()).then_some(register.value as u64));
        }
        let Some(last) = self.last.filter(|last| !last.trapped && last.isa == Isa::A64) else { return };
        // A semihosting call returns its result in x0.
        let calls = !last.flow.control.retires();
        if let Some(writes) = &last.writes
            && !calls
            && !writes.destinations().any(|known| known == reg)
        {
            let name = reg_name(last.isa, reg);
            report.put(&DESTINATION, place, &format!("{:#x} does not write {name}", last.encoding));
        }
    }

    /// The kind of a memory line.
    fn kind(&self, kind: MemKind, place: (u64, u64), report: &mut Report<'_>) -> bool {
        let Some(last) = self.last.filter(|last| last.isa == Isa::A64 && !last.trapped) else { return true };
        let Some(known) = memory(last.isa, last.encoding) else { return true };
        let fits = match known.kind {
            MemKind::Read | MemKind::Write => kind == known.kind,
            _ => true,
        };
        if !fits {
            let text = format!("{:#x} makes a {}, not a {kind}", last.encoding, known.kind);
            report.put(&ACCESS, place, &text);
        }
        fits
    }

    /// A store shows the value of its register.
    fn access(
        &mut self,
        kind: MemKind,
        (_, size, data): (u64, u64, Option<u128>),
        place: (u64, u64),
        report: &mut Report<'_>,
    ) {
        if !self.kind(kind, place, report) || kind != MemKind::Write {
            return;
        }
        let Some(last) = self.last.as_mut().filter(|last| last.isa == Isa::A64) else { return };
        let number = values::stored(last.encoding, last.stores, size);
        last.stores += 1;
        let (Some(number), Some(data)) = (number, data) else { return };
        let mask = if size < 8 { (1 << (8 * size)) - 1 } else { u64::MAX };
        if let Some(known) = self.registers.get(number).filter(|known| known & mask != data as u64) {
            let words =
                format!("x{number} is {:#x} since its last write, and the store has {data:#x}", known & mask);
            report.put(&REGISTER_VALUE, place, &words);
            self.registers.set(number, (size == 8).then_some(data as u64));
        }
    }
}

/// Reports a byte of memory that is not the one before.
fn changed(at: u64, known: u128, found: u128, place: (u64, u64), report: &mut Report<'_>) {
    let words = format!("{at:#x} holds {known:#x} so far, and the load has {found:#x}");
    report.put(&MEMORY_VALUE, place, &words);
}

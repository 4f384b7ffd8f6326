//! Contradictions in a log of a RISC-V core.

use trackway_core::{Isa, MemKind, Privilege, Reg, RegClass, RegRole, Rule, Value};
use trackway_isa::riscv::{self, COMPRESSED, Class, INSTRUCTIONS};
use trackway_isa::{Control, Style};

use super::handlers::Handlers;
use super::lift::{narrow, rises};
use super::record::Retired;
use crate::log::Report;

/// The rules that a log has of its own, under the names of its format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// An instruction follows the one before it, or begins a trap handler.
    pub(crate) flow: &'static Rule,
    /// The encoding is that of the text.
    pub(crate) text: &'static Rule,
    /// Registers and accesses are those of the instruction.
    pub(crate) effects: &'static Rule,
}

/// Where an instruction can lead.
#[derive(Clone, Copy, Debug)]
enum Leads {
    Anywhere,
    To(u64),
    Either(u64, u64),
}

/// Checks the records of one core.
#[derive(Clone, Debug)]
pub(crate) struct Checker {
    isa: Isa,
    rules: Rules,
    leads: Leads,
    /// The record before.
    before: Option<Privilege>,
    /// Where traps lead.
    handlers: Handlers,
}

impl Checker {
    pub(crate) fn new(isa: Isa, rules: Rules) -> Self {
        Checker { isa, rules, leads: Leads::Anywhere, before: None, handlers: Handlers::default() }
    }

    /// Something is missing here.
    pub(crate) fn forget(&mut self) {
        self.leads = Leads::Anywhere;
    }

    /// Takes in the record of a line, given by its offset and number, with the text of its instruction.
    pub(crate) fn record(
        &mut self,
        record: &Retired,
        text: &[u8],
        line: (u64, u64),
        report: &mut Report<'_>,
    ) {
        if let Some(pc) = record.pc {
            self.follows(record, pc, line, report);
        }
        if record.length > 0 && !text.is_empty() {
            self.text(record, text, line, report);
        }
        self.leads = self.leads_of(record);
        self.before = record.privilege;
        if record.length > 0 && record.trap.is_none() {
            self.effects(record, line, report);
        }
        for csr in record.regs.iter().filter(|access| access.reg.class == RegClass::Csr) {
            self.handlers.learn(csr, line.0);
        }
    }

    /// Takes in the effects of an instruction whose address and text are known already.
    pub(crate) fn again(&mut self, record: &Retired, line: (u64, u64), report: &mut Report<'_>) {
        self.leads = Leads::Anywhere;
        self.record(record, &[], line, report);
    }

    fn follows(&self, record: &Retired, pc: u64, line: (u64, u64), report: &mut Report<'_>) {
        let expected = match self.leads {
            Leads::Anywhere => return,
            Leads::To(to) => to,
            Leads::Either(after, target) if pc == target || pc == after => return,
            Leads::Either(after, _) => after,
        };
        let before = Retired { privilege: self.before, ..Retired::default() };
        let trapped = record.begins_handler
            || record.is_trap_only
            || rises(&before, record)
            || self.handlers.has(pc, line.0);
        if pc != expected && !trapped {
            let words = match self.leads {
                Leads::Either(after, target) => {
                    format!(
                        "{pc:#x} does not follow the branch before it, which leads to {target:#x} or {after:#x}"
                    )
                }
                _ => {
                    format!("{pc:#x} does not follow the instruction before it, which leads to {expected:#x}")
                }
            };
            report.put(self.rules.flow, line, &words);
        }
    }

    fn leads_of(&self, record: &Retired) -> Leads {
        let Some(pc) = record.pc.filter(|_| record.length > 0 && record.trap.is_none() && !record.halts)
        else {
            return Leads::Anywhere;
        };
        if let Some(next) = record.next {
            return Leads::To(next);
        }
        let flow = riscv::flow(self.isa, pc, record.encoding);
        let after = narrow(self.isa, pc.wrapping_add(record.length.into()));
        match (flow.control, flow.target) {
            (Control::Branch, Some(target)) => Leads::Either(after, target),
            (control, Some(target)) if control.is_direct() => Leads::To(target),
            (control, _) if control.is_transfer() || !control.retires() => Leads::Anywhere,
            _ => Leads::To(after),
        }
    }

    /// Only names of other instructions contradict: tools have aliases of their own.
    fn text(&self, record: &Retired, text: &[u8], line: (u64, u64), report: &mut Report<'_>) {
        let word = text.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or(text);
        let Ok(word) = std::str::from_utf8(word) else { return };
        let plain = |name: &str| name.strip_prefix("c.").unwrap_or(name).to_string();
        let is_known = INSTRUCTIONS.iter().chain(COMPRESSED).any(|declared| declared.name == word);
        if !is_known {
            return;
        }
        let style = |aliases| Style { aliases, ..Style::default() };
        let own =
            [true, false].map(|aliases| plain(&riscv::mnemonic(self.isa, record.encoding, style(aliases))));
        let operation = riscv::decode(self.isa, record.encoding).map_or("", |inst| inst.op.name());
        if !own.contains(&plain(word)) && operation != plain(word) {
            let encoding = record.encoding;
            let words = format!("the text says {word}, the encoding {encoding:#x} is {}", own[1]);
            report.put(self.rules.text, line, &words);
        }
    }

    /// Registers written and memory accessed against the instruction.
    fn effects(&self, record: &Retired, line: (u64, u64), report: &mut Report<'_>) {
        let Some(inst) = riscv::decode(self.isa, record.encoding) else { return };
        let memory = inst.op.class().memory();
        let ours = |access: &&trackway_core::RegAccess| {
            access.role == RegRole::Destination && matches!(access.reg.class, RegClass::Int | RegClass::Float)
        };
        for access in record.regs.iter().filter(ours) {
            let named = inst.registers().any(|(reg, role)| reg == access.reg && role == RegRole::Destination);
            let is_zero = access.reg == (Reg { class: RegClass::Int, number: 0 });
            let nothing = is_zero && access.value == Value::Word(0);
            if !named && !nothing {
                let words = format!("{} does not write {}", inst.op.name(), access.reg);
                report.put(self.rules.effects, line, &words);
            }
        }
        for access in &record.mem {
            let words = match memory {
                None => format!("{} does not access memory", inst.op.name()),
                Some(memory) => {
                    let fits = memory.kind == access.kind || memory.kind == MemKind::ReadWrite;
                    let vector = matches!(inst.op.class(), Class::VectorLoad(_) | Class::VectorStore(_));
                    let size = memory.size.filter(|_| !vector && access.size > 0);
                    match size {
                        _ if !fits => format!("{} does not {}", inst.op.name(), verb(access.kind)),
                        Some(size) if size != access.size => {
                            format!("{} accesses {size} bytes, not {}", inst.op.name(), access.size)
                        }
                        _ => continue,
                    }
                }
            };
            report.put(self.rules.effects, line, &words);
        }
    }
}

fn verb(kind: MemKind) -> &'static str {
    match kind {
        MemKind::Read => "read memory",
        MemKind::Write => "write memory",
        _ => "read and write memory",
    }
}

//! Results that the model cannot compute are taken from the trace.

use trackway_core::{MemKind, Reg, RegClass, RegUpdate, mask};
use trackway_hart::{Level, csr};
use trackway_isa::riscv::{Class, Op};

use super::compare::name;
use super::decode::Decoded;
use super::lacks::Lack;
use super::report::{Class as ReportClass, Element};
use super::suspects::{Root, canonical};
use super::traced::{TracedInstruction, TracedRegister, TracedStep};
use super::verifier::{Verifier, level_of, resolve};
use super::worlds::Subject;

/// Encoding of `ecall`.
const ECALL: u64 = 0x73;
/// Number of the register that a system call returns its result in.
const A0: u32 = 10;
/// Number of the register with the number of a system call.
const A7: usize = 17;
/// System calls of Linux that change nothing in the program's memory: files by name, openat, close, lseek, write,
/// writev, exit, set_tid_address, set_robust_list, sched_yield, kill and its kin, ids, munmap, mprotect.
const WRITE_NO_MEMORY: [u64; 22] =
    [34, 35, 37, 48, 56, 57, 62, 64, 66, 93, 94, 96, 99, 124, 129, 130, 131, 172, 174, 178, 215, 226];

impl Verifier {
    /// Adopts the step, but compares the instruction itself with memory.
    pub(super) fn adopt_compared(
        &mut self,
        traced: &TracedStep,
        decoded: Option<&Decoded>,
        traced_pc: Option<u64>,
    ) {
        let level = self.model.state().level;
        let known = if self.unknown.pc { None } else { traced_pc };
        self.effects.begin();
        let other_next = self.judge_pc(traced);
        let known = known.map(|pc| if self.suspects.any() { self.model.state().pc } else { pc });
        let mut differs = known.map_or(Vec::new(), |pc| self.compare_adopted(traced, pc));
        differs.extend(self.spurious(traced, decoded));
        self.adopt(traced, decoded);
        let pc = traced_pc.unwrap_or(0);
        if !differs.is_empty() {
            let root = self.new_root(Subject { traced, decoded, pc, level }, differs.clone());
            self.doubt_adopted(traced, &differs, root);
        }
        if let (Some((root, next)), Some(other)) = (other_next, &mut self.suspects.other) {
            (self.suspects.pc, other.pc) = (root, next);
        }
        self.remember(traced, decoded, pc);
    }

    /// Of an address in doubt: the one where memory holds the instruction is right. Where neither is, that is a fault of
    /// its own, and the address after the other instruction stays in doubt.
    fn judge_pc(&mut self, traced: &TracedStep) -> Option<(Root, u64)> {
        let root = std::mem::take(&mut self.suspects.pc);
        let other = self.suspects.other.as_ref().map(|other| other.pc).filter(|_| root != 0 && !self.lost)?;
        let TracedInstruction { encoding, length, .. } = traced.instruction?;
        let wanted = mask(encoding.into(), 8 * u32::from(length));
        if self.memory.word(self.model.state().pc, length.into()) == Some(wanted) {
            return None;
        }
        if self.memory.word(other, length.into()) == Some(wanted) {
            let differs = Element {
                name: "instruction".to_string(),
                class: ReportClass::Instruction,
                expected: None,
                actual: Some(wanted),
            };
            self.follow_up(root, "pc".to_string(), traced, &[differs]);
            self.set_pc(other);
            return None;
        }
        let half = self.memory.word(other, 2)?;
        Some((root, other.wrapping_add(if half & 3 == 3 { 4 } else { 2 })))
    }

    /// Registers that the instruction does not write, and the trace changes.
    fn spurious(&self, traced: &TracedStep, decoded: Option<&Decoded>) -> Vec<Element> {
        let Some(decoded) = decoded.filter(|decoded| decoded.inst.is_some() && !decoded.system) else {
            return Vec::new();
        };
        let mut elements = Vec::new();
        for write in traced.writes.iter().filter(|write| !self.is_unknown(write.reg)) {
            let n = usize::from(write.reg.number & 31);
            let (written, held) = match write.reg.class {
                RegClass::Int => (decoded.x_written, self.model.state().x[n]),
                RegClass::Float => (decoded.f_written, self.model.state().f[n]),
                _ => continue,
            };
            let value = resolve(&self.shadow, write);
            if written >> n & 1 == 0 && value != held {
                elements.push(Element {
                    name: name(write.reg),
                    class: ReportClass::Spurious,
                    expected: Some(held),
                    actual: Some(value),
                });
            }
        }
        elements
    }

    /// Keeps the values that an adopted step should have left.
    fn doubt_adopted(&mut self, traced: &TracedStep, differs: &[Element], root: Root) {
        let model = self.model.state();
        let mut other = self.suspects.other.take().unwrap_or_else(|| Box::new(model.clone()));
        for element in differs {
            let Some(expected) = element.expected else { continue };
            if element.name == "pc" {
                (self.suspects.pc, other.pc) = (root, expected);
            }
            for reg in traced.writes.iter().map(|write| write.reg).filter(|reg| name(*reg) == element.name) {
                let n = usize::from(reg.number & 31);
                match reg.class {
                    RegClass::Int => (self.suspects.x[n], other.x[n]) = (root, expected),
                    RegClass::Float => (self.suspects.f[n], other.f[n]) = (root, expected),
                    _ => {}
                }
            }
        }
        self.suspects.other = Some(other);
    }

    /// Takes the recorded results into both states.
    fn adopt(&mut self, traced: &TracedStep, decoded: Option<&Decoded>) {
        let op = decoded.and_then(|decoded| decoded.inst).map(|inst| inst.op);
        // A log leaves out the call itself.
        let unseen = decoded.is_none() && self.memory.word(self.model.state().pc, 4) == Some(ECALL);
        let is_call = op == Some(Op::Ecall) || unseen;
        // A program without its system: what a call or a fault leads to comes from outside, as from a device.
        if (is_call || traced.trap.is_some()) && self.options.flat {
            self.report.calls += 1;
        } else {
            self.report.adopted += 1;
            if self.after_gap || !self.records_results(traced, decoded) {
                self.lack(Lack::Sources, traced);
            }
        }
        self.forget_changed(traced, decoded);
        if let Some(decoded) = decoded.filter(|_| traced.trap.is_none()) {
            self.unknown.x |= decoded.x_written;
            self.unknown.f |= decoded.f_written;
            let store = decoded.inst.zip(decoded.inst.and_then(|inst| inst.op.class().memory()));
            let store = store.filter(|(_, memory)| memory.kind != MemKind::Read);
            if let Some((inst, memory)) = store.filter(|_| traced.accesses.is_empty()) {
                let is_placed = self.unknown.x >> inst.rs1 & 1 == 0 && !self.lost && !self.translates();
                match memory.size.filter(|_| is_placed) {
                    Some(size) => {
                        let base = self.model.state().x[usize::from(inst.rs1 & 31)];
                        let address = mask(base.wrapping_add(inst.imm as u64), self.options.core.xlen());
                        self.memory.forget_word(address, size.into());
                    }
                    None => self.memory.forget_all(),
                }
                self.stale = true;
            }
        }
        for write in &traced.writes {
            let relative = write.update != RegUpdate::Set;
            if !(relative && self.is_unknown(write.reg)) {
                self.write_both(write);
            }
        }
        let level = self.model.state().level;
        self.apply_stores(traced, level);
        self.learn_read(traced, decoded);
        if is_call && self.unknown.csr {
            // A kernel outside the trace may have written anything; recorded changes follow as state.
            let (number, known) = (self.model.state().x[A7], self.unknown.x >> A7 & 1 == 0);
            if !(self.options.system_writes || known && WRITE_NO_MEMORY.contains(&number)) {
                self.memory.forget_all();
                self.stale = true;
            }
            self.unknown.x |= 1 << A0;
        }
        if let Some(level) = traced.privilege.and_then(level_of) {
            self.set_level(level);
        }
        match (traced.next_pc, traced.instruction) {
            (Some(pc), _) => self.set_pc(pc),
            (None, Some(TracedInstruction { pc: Some(pc), length, .. })) if traced.trap.is_none() => {
                self.set_pc(pc.wrapping_add(length.into()));
                self.unknown.pc = true;
            }
            _ => self.unknown.pc = true,
        }
    }

    /// Does the trace record all results? The content of registers at first is the core's own affair: it is known after
    /// that. Of a trace without registers only control is compared.
    fn records_results(&self, traced: &TracedStep, decoded: Option<&Decoded>) -> bool {
        let Some(decoded) = decoded else { return true };
        let recorded = |class: RegClass| {
            let of_class = traced.writes.iter().filter(move |write| write.reg.class == class);
            of_class.fold(0u32, |bits, write| bits | 1 << (write.reg.number & 31))
        };
        let plain = traced.instruction.is_some_and(|fetched| trackway_isa::riscv::is_plain(fetched.encoding));
        let x = self.options.absent.x && plain || decoded.x_written & !recorded(RegClass::Int) == 0;
        let f = self.options.absent.f && plain || decoded.f_written & !recorded(RegClass::Float) == 0;
        x && f && (plain || !self.options.absent.x)
    }

    /// Control registers that the step may have changed are unknown, unless the trace records them.
    fn forget_changed(&mut self, traced: &TracedStep, decoded: Option<&Decoded>) {
        if !self.unknown.csr {
            return;
        }
        let class = decoded.and_then(|decoded| decoded.inst).map(|inst| inst.op.class());
        let trapped = traced.trap.is_some() || traced.instruction.is_none();
        if trapped {
            let [machine, supervisor] = [
                [csr::MEPC, csr::MCAUSE, csr::MTVAL, csr::MSTATUS],
                [csr::SEPC, csr::SCAUSE, csr::STVAL, csr::MSTATUS],
            ];
            for number in machine.iter().chain(&supervisor) {
                self.unknown.known.remove(number);
            }
        } else if class == Some(Class::System) {
            self.unknown.known.remove(&csr::MSTATUS);
        }
        // Returns and traps change the level.
        self.unknown.level |= !self.options.flat && (trapped || class == Some(Class::System));
        if decoded.is_some_and(|decoded| decoded.float) {
            self.unknown.known.remove(&csr::FFLAGS);
        }
        if let Some(inst) = decoded.and_then(|decoded| decoded.inst) {
            match class {
                Some(Class::Csr) => {
                    self.unknown.known.remove(&canonical(inst.imm as u16 & 0xfff));
                }
                Some(Class::LoadReserved(_)) => self.unknown.reservation = true,
                _ => {}
            }
        }
    }

    /// A control register that was read, and not written, holds what the trace says was read.
    fn learn_read(&mut self, traced: &TracedStep, decoded: Option<&Decoded>) {
        let Some(inst) = decoded.and_then(|decoded| decoded.inst) else { return };
        let number = inst.imm as u16 & 0xfff;
        let reads = inst.op.class() == Class::Csr
            && inst.rs1 == 0
            && matches!(inst.op, Op::Csrrs | Op::Csrrc | Op::Csrrsi | Op::Csrrci);
        let mask = self.options.masks.of(number);
        if !reads || canonical(number) != number || mask.copy | mask.ignore != 0 || traced.trap.is_some() {
            return;
        }
        let is_result = |reg: Reg| reg.class == RegClass::Int && reg.number == u16::from(inst.rd);
        let result = traced.writes.iter().find(|write| is_result(write.reg));
        if result.is_some_and(|write| self.says_value(write)) {
            let value = self.shadow.state().x[usize::from(inst.rd & 31)];
            let reg = Reg { class: RegClass::Csr, number };
            self.write_both(&TracedRegister { reg, update: RegUpdate::Set, value, known: u64::MAX });
        }
    }

    /// Writes the recorded stores of a step that began in this level to memory.
    pub(super) fn apply_stores(&mut self, traced: &TracedStep, level: Level) {
        let translates = self.translates() && level != Level::M;
        for access in &traced.accesses {
            let data = match access.kind {
                MemKind::Write => access.data,
                MemKind::ReadWrite => access.stored,
                _ => continue,
            };
            let mut address = self.physical(access);
            if self.lost && access.physical.is_none() {
                // It may be anywhere.
                self.memory.forget_all();
                self.stale = true;
                continue;
            }
            let translated = self.effects.memory.iter().any(|model| model.address == access.address);
            if access.physical.is_none() && translates && !translated {
                match self.locate(access.address, level) {
                    Some(physical) => address = physical,
                    None => {
                        if std::mem::take(&mut self.memory.lost) {
                            self.memory.forget_all();
                            self.stale = true;
                        }
                        continue;
                    }
                }
            }
            if self.memory.is_mmio(address) {
                continue;
            }
            match data {
                Some(data) if access.size <= 8 => self.memory.put(address, access.size, data),
                _ => self.memory.forget_word(address, access.size),
            }
            self.suspects.clear_bytes(address, access.size);
            self.stale = true;
        }
    }

    /// Physical address of a store in this level.
    fn locate(&mut self, address: u64, level: Level) -> Option<u64> {
        let now = self.model.state().level;
        self.model.set_level(level);
        self.memory.lost = false;
        let found = self.model.locate_store(address, &mut self.memory);
        self.model.set_level(now);
        found.filter(|_| !self.memory.lost)
    }
}

//! Contradictions at a retirement port.

use trackway_core::{Isa, RegClass, RegRole, Value, mask};
use trackway_isa::Control;
use trackway_isa::riscv;

use super::port::{Port, bytes_of};
use super::rules::Rules;
use crate::log::Report;
use crate::riscv::check::{self, Checker};
use crate::riscv::lift::narrow;
use crate::riscv::record::Retired;

/// Checks one port.
#[derive(Clone, Debug)]
pub(crate) struct PortCheck {
    isa: Isa,
    rules: Rules,
    checker: Checker,
    order: Option<u64>,
    /// Integer registers as they were last written or read.
    registers: [Option<u64>; 32],
    record: Retired,
}

impl PortCheck {
    pub(crate) fn new(isa: Isa, rules: Rules) -> Self {
        // A port has no text.
        let shared = check::Rules { flow: rules.flow, text: rules.flow, effects: rules.effects };
        let checker = Checker::new(isa, shared);
        PortCheck { isa, rules, checker, order: None, registers: [None; 32], record: Retired::default() }
    }

    /// Something is missing here.
    pub(crate) fn forget(&mut self) {
        self.checker.forget();
        (self.order, self.registers) = (None, [None; 32]);
    }

    /// Takes in an instruction of the port, given by the offset and number of its line or packet.
    pub(crate) fn port(&mut self, port: &Port, line: (u64, u64), report: &mut Report<'_>) {
        let xlen = if self.isa == Isa::Rv32 { 32 } else { 64 };
        let mut record = std::mem::take(&mut self.record);
        record.clear(line.0);
        port.fill(&mut record, xlen);
        self.order(port, line, report);
        self.zero_and_masks(port, line, report);
        self.reads(&record, line, report);
        self.next(&record, line, report);
        self.checker.record(&record, &[], line, report);
        if record.halts {
            self.forget();
        }
        self.record = record;
    }

    fn order(&mut self, port: &Port, line: (u64, u64), report: &mut Report<'_>) {
        if let (Some(before), Some(now)) = (self.order, port.order)
            && now != before.wrapping_add(1)
        {
            report.put(self.rules.order, line, &format!("order {now} comes after {before}"));
            if now > before {
                // Instructions are missing.
                self.checker.forget();
                self.registers = [None; 32];
            }
        }
        self.order = port.order.or(self.order);
    }

    fn zero_and_masks(&self, port: &Port, line: (u64, u64), report: &mut Report<'_>) {
        if let (Some(0), Some(value @ 1..)) = (port.rd_addr, port.rd_wdata) {
            report.put(self.rules.zero, line, &format!("rd_addr is 0 and rd_wdata {value:#x}"));
        }
        for (name, addr, data) in
            [("rs1", port.rs1_addr, port.rs1_rdata), ("rs2", port.rs2_addr, port.rs2_rdata)]
        {
            if let (Some(0), Some(value @ 1..)) = (addr, data) {
                report.put(self.rules.zero, line, &format!("{name}_addr is 0 and {name}_rdata {value:#x}"));
            }
        }
        for (name, bits) in [("mem_rmask", port.mem_rmask), ("mem_wmask", port.mem_wmask)] {
            if let Some(bits @ 1..) = bits
                && bytes_of(bits).is_none()
            {
                report.put(self.rules.mask, line, &format!("{name} {bits:#b} has holes"));
            }
        }
    }

    fn reads(&mut self, record: &Retired, line: (u64, u64), report: &mut Report<'_>) {
        for access in record.regs.iter().filter(|access| access.reg.class == RegClass::Int) {
            let slot = &mut self.registers[usize::from(access.reg.number & 31)];
            let value = match access.value {
                Value::Word(value) => Some(value),
                _ => None,
            };
            if access.role == RegRole::Source
                && let (Some(known), Some(read)) = (*slot, value)
                && known != read
            {
                let words = format!("{} is read as {read:#x}, but {known:#x} was there", access.reg);
                report.put(self.rules.read, line, &words);
            }
            if access.role == RegRole::Source || record.trap.is_none() {
                *slot = value;
            }
        }
    }

    /// The next address against the instruction.
    fn next(&self, record: &Retired, line: (u64, u64), report: &mut Report<'_>) {
        let (Some(pc), Some(next), 1..) = (record.pc, record.next, record.length) else { return };
        let flow = riscv::flow(self.isa, pc, record.encoding);
        let after = narrow(self.isa, pc.wrapping_add(record.length.into()));
        let fits = match flow.control {
            Control::Branch => next == after || Some(next) == flow.target,
            control if control.is_direct() => Some(next) == flow.target,
            control if control.is_transfer() || !control.retires() => true,
            _ => next == after,
        };
        if !fits {
            let words =
                format!("pc_wdata is {next:#x} after {:#x} at {pc:#x}", mask(record.encoding.into(), 32));
            report.put(self.rules.next, line, &words);
        }
    }
}

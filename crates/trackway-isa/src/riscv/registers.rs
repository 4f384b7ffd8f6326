//! Which registers an instruction names, and why.

use trackway_core::{Reg, RegClass, RegRole};

use super::{Class, Extension, Inst, Op, Operand};
use crate::registers::Registers;

/// CSRs that instructions touch without naming them.
const FFLAGS: u16 = 0x001;
const FRM: u16 = 0x002;
const VSTART: u16 = 0x008;
const VXSAT: u16 = 0x009;
const VL: u16 = 0xc20;
const VTYPE: u16 = 0xc21;

impl Inst {
    /// The registers that the instruction reads and writes, sources first. `x0` is left out; of a vector
    /// register group only the first is named; what an instruction touches without naming it (rounding
    /// mode and flags, vector length and type) is left out.
    pub fn registers(&self) -> impl Iterator<Item = (Reg, RegRole)> {
        let mut sources = [None; 6];
        let mut destinations = [None; 2];
        let (mut s, mut d) = (0, 0);
        let mut source = |class, number: u16| {
            sources[s] = Some((Reg { class, number }, RegRole::Source));
            s += 1;
        };
        let mut destination = |class, number: u16| {
            destinations[d] = Some((Reg { class, number }, RegRole::Destination));
            d += 1;
        };
        let [rd, rs1, rs2, rs3] = [self.rd, self.rs1, self.rs2, self.rs3].map(u16::from);
        for operand in self.op.encoding().operands {
            match operand {
                Operand::Rd => destination(RegClass::Int, rd),
                Operand::FRd => destination(RegClass::Float, rd),
                Operand::Vd => destination(RegClass::Vector, rd),
                Operand::VdAcc => {
                    source(RegClass::Vector, rd);
                    destination(RegClass::Vector, rd);
                }
                Operand::Rs1 | Operand::Base | Operand::MemI | Operand::MemS => source(RegClass::Int, rs1),
                Operand::Rs2 => source(RegClass::Int, rs2),
                Operand::RdCas => {
                    source(RegClass::Int, rd);
                    destination(RegClass::Int, rd);
                    if self.has_pairs() && rd != 0 {
                        source(RegClass::Int, rd + 1);
                        destination(RegClass::Int, rd + 1);
                    }
                }
                Operand::Rs2Cas => {
                    source(RegClass::Int, rs2);
                    if self.has_pairs() && rs2 != 0 {
                        source(RegClass::Int, rs2 + 1);
                    }
                }
                Operand::FRs1 => source(RegClass::Float, rs1),
                Operand::FRs2 => source(RegClass::Float, rs2),
                Operand::FRs3 => source(RegClass::Float, rs3),
                Operand::Vs1 => source(RegClass::Vector, rs1),
                Operand::Vs2 => source(RegClass::Vector, rs2),
                Operand::Vs3 => source(RegClass::Vector, rd),
                Operand::Vm if self.masked() => source(RegClass::Vector, 0),
                Operand::V0 => source(RegClass::Vector, 0),
                Operand::Csr => {
                    let (reads, writes) = self.csr_access();
                    if reads {
                        source(RegClass::Csr, self.imm as u16);
                    }
                    if writes {
                        destination(RegClass::Csr, self.imm as u16);
                    }
                }
                _ => {}
            }
        }
        let zero = Reg { class: RegClass::Int, number: 0 };
        sources.into_iter().chain(destinations).flatten().filter(move |(reg, _)| *reg != zero)
    }

    /// The registers that it names and the CSRs that it touches without naming them.
    pub(crate) fn all_registers(&self) -> Registers {
        let mut list = Registers::default();
        let (reads, writes) = (RegRole::Source, RegRole::Destination);
        for (reg, role) in self.registers() {
            list.add(reg.class, reg.number, role);
        }
        if self.op.class().memory().is_some() {
            list.mark_address(Reg { class: RegClass::Int, number: self.rs1.into() });
        }
        let has = |operand| self.op.encoding().operands.contains(&operand);
        // Dynamic rounding; moves, sign injection and classification round nothing and raise no flag.
        if has(Operand::Rm) && self.rm == 7 {
            list.add(RegClass::Csr, FRM, reads);
        }
        match self.op.class() {
            Class::Float if matches!(self.op, Op::FclassS | Op::FclassD | Op::FclassH) => {}
            Class::Float
            | Class::FloatMultiply
            | Class::FloatDivide
            | Class::FloatCompare
            | Class::FloatConvert => {
                // Flags accrue.
                list.add(RegClass::Csr, FFLAGS, reads);
                list.add(RegClass::Csr, FFLAGS, writes);
            }
            Class::VectorConfig => {
                list.add(RegClass::Csr, VL, writes);
                list.add(RegClass::Csr, VTYPE, writes);
                list.add(RegClass::Csr, VSTART, writes);
            }
            _ => {}
        }
        // Returns from traps restore the status and go where the trap came from.
        let (status, from) = match self.op {
            Op::Mret => (0x300, 0x341),
            Op::Sret => (0x100, 0x141),
            _ => (0, 0),
        };
        if status != 0 {
            list.add(RegClass::Csr, from, reads);
            list.add(RegClass::Csr, status, reads);
            list.add(RegClass::Csr, status, writes);
        }
        if self.op.extension() == Extension::V && self.op.class() != Class::VectorConfig {
            list.grouped = true;
            for csr in [VL, VTYPE, VSTART] {
                list.add(RegClass::Csr, csr, reads);
            }
            for csr in [VSTART, VXSAT, FFLAGS] {
                list.add(RegClass::Csr, csr, writes);
            }
        }
        list
    }

    /// Does a CSR instruction read and write its register? (unprivileged 6.1, table of conditions)
    pub const fn csr_access(&self) -> (bool, bool) {
        match self.op {
            Op::Csrrw | Op::Csrrwi => (self.rd != 0, true),
            Op::Csrrs | Op::Csrrc | Op::Csrrsi | Op::Csrrci => (true, self.rs1 != 0),
            _ => (false, false),
        }
    }
}

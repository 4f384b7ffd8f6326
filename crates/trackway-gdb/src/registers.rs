//! Register files as gdb knows them. An unknown register is unavailable, not zero.

use std::fmt::Write;

use gdbstub::arch::Arch;
use trackway::machine::{Content, Machine};
use trackway_core::{Isa, Reg};
use trackway_isa::reg_named;

/// The content of a register for gdb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Reg(Reg),
    Pc,
    /// RISC-V's `x0`.
    Zero,
    /// AArch32's status: gdb needs its bit T, the instruction set.
    Thumb,
    /// The trace never has it.
    None,
}

/// The registers of an instruction set, in gdb's order.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// The description that gdb asks for.
    pub(crate) xml: String,
    /// Registers and their bytes.
    registers: Vec<(Role, usize)>,
}

/// All registers as gdb receives them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Contents {
    bytes: Vec<Option<u8>>,
    pc: u64,
}

/// An architecture whose registers are described at run time.
#[derive(Debug)]
pub(crate) struct OfTrace;

impl Arch for OfTrace {
    type Usize = u64;
    type Registers = Contents;
    type BreakpointKind = usize;
    type RegId = Number;
}

/// The number of a register in the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) usize);

impl gdbstub::arch::RegId for Number {
    fn from_raw_id(id: usize) -> Option<(Self, Option<std::num::NonZeroUsize>)> {
        Some((Number(id), None))
    }
}

impl gdbstub::arch::Registers for Contents {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.pc
    }

    fn gdb_serialize(&self, write_byte: impl FnMut(Option<u8>)) {
        self.bytes.iter().copied().for_each(write_byte);
    }

    /// They are not kept: the target refuses to write registers.
    fn gdb_deserialize(&mut self, _: &[u8]) -> Result<(), ()> {
        Ok(())
    }
}

/// Gdb's names of RISC-V's integer and float registers.
const RISCV: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6",
    "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];
const RISCV_FLOAT: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4",
    "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8",
    "ft9", "ft10", "ft11",
];

/// Describes registers one after the other, the pc first: lldb reads the first one to see whether single registers can
/// be read, and it is the one that is always known.
struct Description {
    isa: Isa,
    file: File,
}

impl Description {
    fn new(isa: Isa, architecture: &str) -> Self {
        // As if for Linux on RISC-V, gdb would not ask for steps but guess where they end, by registers that may be unknown.
        let xml = format!(
            "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">\
             <target version=\"1.0\"><architecture>{architecture}</architecture><osabi>none</osabi>"
        );
        Description { isa, file: File { xml, registers: Vec::new() } }
    }

    fn feature(mut self, name: &str, registers: impl FnOnce(&mut Self)) -> Self {
        // Writing to a String cannot fail.
        let _ = write!(self.file.xml, "<feature name=\"{name}\">");
        registers(&mut self);
        self.file.xml += "</feature>";
        self
    }

    fn put(&mut self, name: &str, bits: usize, kind: &str, role: Role) {
        let _ = write!(self.file.xml, "<reg name=\"{name}\" bitsize=\"{bits}\" type=\"{kind}\"/>");
        self.file.registers.push((role, bits / 8));
    }

    /// A register that the trace calls `name`.
    fn named(&mut self, shown: &str, name: &str, bits: usize, kind: &str) {
        let role = reg_named(self.isa, name).map_or(Role::None, Role::Reg);
        self.put(shown, bits, kind, role);
    }

    fn end(mut self) -> File {
        self.file.xml += "</target>";
        self.file
    }
}

impl File {
    pub(crate) fn of(isa: Isa) -> Self {
        match isa {
            Isa::Rv32 => Self::riscv(isa, "riscv:rv32", 32),
            Isa::Rv64 => Self::riscv(isa, "riscv:rv64", 64),
            Isa::A64 => Description::new(isa, "aarch64")
                .feature("org.gnu.gdb.aarch64.core", |all| {
                    all.put("pc", 64, "code_ptr", Role::Pc);
                    for n in 0..31 {
                        all.named(&format!("x{n}"), &format!("x{n}"), 64, "int");
                    }
                    all.named("sp", "sp", 64, "data_ptr");
                    all.put("cpsr", 32, "int", Role::None);
                })
                .end(),
            _ => Description::new(isa, "arm")
                .feature("org.gnu.gdb.arm.core", |all| {
                    all.put("pc", 32, "code_ptr", Role::Pc);
                    for n in 0..13 {
                        all.named(&format!("r{n}"), &format!("x{n}"), 32, "uint32");
                    }
                    all.named("sp", "x13", 32, "data_ptr");
                    all.named("lr", "x14", 32, "int");
                    all.put("cpsr", 32, "int", Role::Thumb);
                })
                .end(),
        }
    }

    fn riscv(isa: Isa, architecture: &str, bits: usize) -> Self {
        Description::new(isa, architecture)
            .feature("org.gnu.gdb.riscv.cpu", |all| {
                all.put("pc", bits, "code_ptr", Role::Pc);
                all.put(RISCV[0], bits, "int", Role::Zero);
                for (n, name) in RISCV.iter().enumerate().skip(1) {
                    let kind = if matches!(n, 2..=4 | 8) { "data_ptr" } else { "int" };
                    all.named(name, &format!("x{n}"), bits, if n == 1 { "code_ptr" } else { kind });
                }
            })
            .feature("org.gnu.gdb.riscv.fpu", |all| {
                for (n, name) in RISCV_FLOAT.iter().enumerate() {
                    all.named(name, &format!("f{n}"), 64, "ieee_double");
                }
                for name in ["fflags", "frm", "fcsr"] {
                    all.named(name, name, 32, "int");
                }
            })
            .end()
    }

    /// The registers of a machine before the instruction at `pc`, in the instruction set `isa`.
    pub(crate) fn contents(&self, machine: &Machine, pc: Option<u64>, isa: Isa, out: &mut Contents) {
        out.bytes.clear();
        out.pc = pc.unwrap_or(0);
        self.put(&self.registers, machine, pc, isa, out);
    }

    /// The bytes of one register; `None` where not all of them are known, or there is no such register.
    pub(crate) fn one(
        &self,
        number: Number,
        machine: &Machine,
        pc: Option<u64>,
        isa: Isa,
    ) -> Option<Vec<u8>> {
        let mut out = Contents::default();
        self.put(self.registers.get(number.0..number.0.checked_add(1)?)?, machine, pc, isa, &mut out);
        out.bytes.into_iter().collect()
    }

    fn put(
        &self,
        registers: &[(Role, usize)],
        machine: &Machine,
        pc: Option<u64>,
        isa: Isa,
        out: &mut Contents,
    ) {
        for (role, size) in registers {
            match role {
                Role::Pc => out.put(pc, *size),
                Role::Zero => out.put(Some(0), *size),
                Role::Thumb => out.put(Some(if isa == Isa::T32 { 1 << 5 } else { 0 }), *size),
                Role::None => out.put(None, *size),
                Role::Reg(reg) => match machine.registers.get(*reg).and_then(|known| known.content) {
                    Some(Content::Word(value, known)) => out.put_known(value, known, *size),
                    Some(Content::Bytes(bytes)) => {
                        let all = bytes.iter().copied().map(Some).chain(std::iter::repeat(None));
                        out.bytes.extend(all.take(*size));
                    }
                    None => out.put(None, *size),
                },
            }
        }
    }
}

impl Contents {
    fn put(&mut self, value: Option<u64>, size: usize) {
        self.put_known(value.unwrap_or(0), if value.is_some() { u64::MAX } else { 0 }, size);
    }

    /// Gdb shows a register whole or not at all.
    fn put_known(&mut self, value: u64, known: u64, size: usize) {
        let wanted = if size < 8 { (1 << (8 * size)) - 1 } else { u64::MAX };
        let is_known = known & wanted == wanted;
        self.bytes.extend(value.to_le_bytes()[..size].iter().map(|byte| is_known.then_some(*byte)));
    }
}

//! The golden RISC-V model beside a core that runs: a test bench hands over each instruction as it retires, and hears
//! at once whether the model agrees.
//!
//! [`Core`] is the whole of it in Rust; the C functions of `include/trackway.h` (`ffi`) only translate. `docs/c.md` has
//! an example that the tests compile and run.
//!
//! ```
//! use trackway_c::{Core, Retired};
//! let mut core = Core::new("", "rv32i", 0x8000_0000)?;
//! core.load(0x8000_0000, &0x0050_0513u32.to_le_bytes())?; // li a0, 5
//! let li = Retired { pc: 0x8000_0000, instruction: 0x0050_0513, next_pc: 0x8000_0004, rd: 10, ..Retired::default() };
//! assert_eq!(core.retired(&Retired { rd_value: 5, ..li })?, 0);
//! # Ok::<(), String>(())
//! ```

pub mod ffi;

use trackway_core::*;
use trackway_hart::{AccessKind, Config, DescribedCore, Program, Settings};
use trackway_isa::riscv::{self, Extension};
use trackway_tools::verify::{Absent, Feeder, Options, Range, Report};

/// An instruction that a core retired, or that trapped, as RVFI shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// Its address.
    pub pc: u64,
    /// Its encoding.
    pub instruction: u32,
    /// Address of the next one.
    pub next_pc: u64,
    /// It took a trap.
    pub trap: bool,
    /// Integer register that it wrote; 0 for none.
    pub rd: u8,
    /// The value written.
    pub rd_value: u64,
    /// Address of its access to memory.
    pub mem_address: u64,
    /// Bytes read, as bits from that address on.
    pub mem_read_mask: u32,
    /// The value read.
    pub mem_read_data: u64,
    /// Bytes written, as bits.
    pub mem_write_mask: u32,
    /// The value written.
    pub mem_write_data: u64,
}

/// The model of a core.
#[derive(Debug)]
pub struct Core {
    /// Until the first instruction.
    options: Options,
    programs: Vec<Program>,
    bytes: Vec<(u64, Vec<u8>)>,
    /// From the first instruction on.
    running: Option<Feeder>,
    /// Instructions so far: the offset of an event.
    count: u64,
    /// Registers beside the integer one that the next instruction writes.
    also: Vec<RegAccess>,
    batch: Batch,
}

/// Bytes of memory that a call may describe or load at once.
const LARGEST: u64 = 1 << 40;

impl Core {
    /// A core by its name or description (`FILE.yaml` of riscv-config) and its ISA string; either may be empty.
    pub fn new(description: &str, isa: &str, reset_pc: u64) -> Result<Self, String> {
        let is_rv32 = isa.to_ascii_lowercase().starts_with("rv32");
        let mut config = Config::new(if is_rv32 { Isa::Rv32 } else { Isa::Rv64 });
        let mut settings =
            Settings { isa: Some(isa.to_string()).filter(|isa| !isa.is_empty()), ..Settings::default() };
        if description.ends_with(".yaml") || description.ends_with(".yml") {
            let text =
                std::fs::read_to_string(description).map_err(|error| format!("{description}: {error}"))?;
            config = DescribedCore::read(&text).map_err(|error| format!("{description}: {error}"))?.config;
        } else if !description.is_empty() {
            settings.preset = Some(description.to_string());
        }
        settings.reset_pc = Some(reset_pc);
        let options = Options {
            reset_pc: Some(reset_pc),
            begins_at: vec![reset_pc],
            // A retirement port has integer registers and memory; what else there is the model works out.
            absent: Absent { f: true, csr: true, privilege: true, implied: true, ..Absent::default() },
            extensions_known: !description.is_empty() || !isa.is_empty(),
            ..Options::new(settings.core(config)?)
        };
        let (programs, bytes, batch) = (Vec::new(), Vec::new(), Batch::default());
        Ok(Core { options, programs, bytes, running: None, count: 0, also: Vec::new(), batch })
    }

    fn idle(&mut self) -> Result<&mut Self, String> {
        if self.running.is_some() { Err("the core runs already".to_string()) } else { Ok(self) }
    }

    /// Puts a program into memory.
    pub fn load_elf(&mut self, path: &str) -> Result<(), String> {
        let wrong = |error: &dyn std::fmt::Display| format!("{path}: {error}");
        let bytes = std::fs::read(path).map_err(|error| wrong(&error))?;
        let program = Program::read(&bytes).map_err(|error| wrong(&error))?;
        if program.isa != self.options.core.isa {
            return Err(wrong(&"the program has another width than the core"));
        }
        self.idle()?.programs.push(program);
        Ok(())
    }

    /// Puts bytes into memory.
    pub fn load(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.idle()?.bytes.push((address, bytes.to_vec()));
        Ok(())
    }

    /// There is memory here; where no memory is named, it is everywhere.
    pub fn add_memory(&mut self, address: u64, size: u64, is_zero: bool) -> Result<(), String> {
        let range = range(address, size)?;
        let options = &mut self.idle()?.options;
        options.map.push(range);
        if is_zero {
            options.zeroed.push(range);
        }
        Ok(())
    }

    /// There is a device here.
    pub fn add_device(&mut self, address: u64, size: u64) -> Result<(), String> {
        let range = range(address, size)?;
        self.idle()?.options.mmio.push(range);
        Ok(())
    }

    fn running(&mut self) -> &mut Feeder {
        self.running.get_or_insert_with(|| {
            let mut feeder = Feeder::new(self.options.clone());
            let memory = &mut feeder.verifier.memory;
            self.programs.drain(..).for_each(|program| memory.load_program(&program, 0));
            self.bytes.drain(..).for_each(|(address, bytes)| memory.load(address, &bytes));
            feeder.verifier.reset_core();
            feeder
        })
    }

    /// The next instruction writes this floating-point register. From the first call on such writes are expected of
    /// every instruction.
    pub fn wrote_f(&mut self, number: u16, value: u64) -> Result<(), String> {
        let reg = self.float(number)?;
        let value = self.boxed(value);
        self.running().verifier.expect_float();
        self.also.push(register(reg, RegRole::Destination, value));
        Ok(())
    }

    /// The next instruction, or the trap that it takes, leaves this in a control register.
    pub fn wrote_csr(&mut self, number: u16, value: u64) -> Result<(), String> {
        let reg = self.control(number)?;
        self.also.push(register(reg, RegRole::Destination, value));
        Ok(())
    }

    fn float(&self, number: u16) -> Result<Reg, String> {
        if number > 31 || !self.options.core.extensions.has(Extension::F) {
            return Err(format!("the core has no floating-point register {number}"));
        }
        Ok(Reg { class: RegClass::Float, number })
    }

    fn control(&mut self, number: u16) -> Result<Reg, String> {
        if self.running().verifier.read_csr(number).is_none() {
            return Err(format!("the core has no control register {number:#x}"));
        }
        Ok(Reg { class: RegClass::Csr, number })
    }

    /// A core without D has registers of 32 bits; the model has them in 64, with ones above.
    fn boxed(&self, value: u64) -> u64 {
        let is_wide = self.options.core.extensions.has(Extension::D);
        if is_wide { value } else { value | 0xffff_ffff << 32 }
    }

    /// Compares an instruction; returns the number of mismatches so far.
    pub fn retired(&mut self, retired: &Retired) -> Result<usize, String> {
        let length = if riscv::length(retired.instruction as u16) == 2 { 2 } else { 4 };
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let begun = batch.begin_accesses();
        if retired.rd > 31 {
            self.batch = batch;
            return Err(format!("there is no register {}", retired.rd));
        }
        if retired.rd != 0 {
            let reg = Reg { class: RegClass::Int, number: retired.rd.into() };
            batch.regs.push(register(reg, RegRole::Destination, retired.rd_value));
        }
        batch.regs.append(&mut self.also);
        for (mask, data, is_store) in [
            (retired.mem_read_mask, retired.mem_read_data, false),
            (retired.mem_write_mask, retired.mem_write_data, true),
        ] {
            if mask == 0 {
                continue;
            }
            // The first byte of the mask, and as many as there are.
            let (skip, size) = (u64::from(mask.trailing_zeros()), u64::from(mask.count_ones()).min(8));
            let address = retired.mem_address.wrapping_add(skip);
            let data = Value::Word(data >> (8 * (skip & 7)));
            batch.mem.push(if is_store {
                MemAccess::write(address, size, data)
            } else {
                MemAccess::read(address, size, data)
            });
        }
        let accesses = batch.end_accesses(begun).unwrap_or_default();
        let extra = batch.add_extra(StepExtra { target: Some(retired.next_pc), ..StepExtra::default() });
        let outcome = if retired.trap { Outcome::Attempted } else { Outcome::Retired };
        let step = Step::new(retired.pc, retired.instruction, length);
        batch.push(self.count, EventKind::Step(Step { accesses, extra, outcome, ..step }));
        if retired.trap {
            let (from, to) = (Some(retired.pc), Some(retired.next_pc));
            batch.push_trap(self.count, Trap { from, to, ..Trap::new(TrapKind::Exception) });
        }
        self.count += 1;
        let feeder = self.running();
        feeder.put(&batch);
        feeder.finish();
        let report = &feeder.verifier.report;
        let found =
            report.needed.as_ref().map_or(Ok(report.mismatches.len()), |needed| Err(needed.to_string()));
        self.batch = batch;
        found
    }

    /// The core took an interrupt.
    pub fn interrupt(&mut self, cause: u32) {
        let mut batch = Batch::default();
        let trap = Trap { cause: Some(cause.into()), ..Trap::new(TrapKind::Interrupt) };
        batch.push_trap(self.count, trap);
        self.count += 1;
        self.running().put(&batch);
    }

    /// Something outside set a control register.
    pub fn set_csr(&mut self, number: u16, value: u64) -> Result<(), String> {
        let reg = self.control(number)?;
        self.set(reg, value);
        Ok(())
    }

    /// Something outside set a floating-point register.
    pub fn set_f(&mut self, number: u16, value: u64) -> Result<(), String> {
        let (reg, value) = (self.float(number)?, self.boxed(value));
        self.set(reg, value);
        Ok(())
    }

    /// Something outside set an integer register.
    pub fn set_x(&mut self, number: u16, value: u64) -> Result<(), String> {
        if number > 31 {
            return Err(format!("there is no register {number}"));
        }
        self.set(Reg { class: RegClass::Int, number }, value);
        Ok(())
    }

    fn set(&mut self, reg: Reg, value: u64) {
        let mut batch = Batch::default();
        let begun = batch.begin_accesses();
        batch.regs.push(register(reg, RegRole::State, value));
        if let Some(accesses) = batch.end_accesses(begun) {
            batch.push_state(self.count, State::Contents(accesses));
        }
        self.count += 1;
        self.running().put(&batch);
    }

    /// The value that a device returns for loads from this address.
    pub fn set_mmio(&mut self, address: u64, value: u64) {
        self.running().verifier.memory.set_device(address, value);
    }

    /// The model alone makes a step; true where it took a trap.
    pub fn step(&mut self) -> bool {
        self.running().verifier.step_alone()
    }

    /// The encoding of the instruction of the last [`step`](Core::step).
    pub fn fetched(&mut self) -> u32 {
        self.running().verifier.fetched()
    }

    /// The access of that instruction to memory, as [`Retired`] has it.
    pub fn accessed(&mut self) -> Retired {
        let Some(access) = self.running().verifier.accessed() else { return Retired::default() };
        let mask = (1u32 << access.size.min(8)) - 1;
        let (reads, writes) = match access.kind {
            AccessKind::Load => (mask, 0),
            AccessKind::Store => (0, mask),
            AccessKind::Amo => (mask, mask),
        };
        Retired {
            mem_address: access.address,
            mem_read_mask: reads,
            mem_read_data: access.data,
            mem_write_mask: writes,
            mem_write_data: if access.kind == AccessKind::Amo { access.stored } else { access.data },
            ..Retired::default()
        }
    }

    /// Address of the model's next instruction.
    pub fn pc(&mut self) -> u64 {
        self.running().verifier.state().pc
    }

    /// An integer register of the model.
    pub fn x(&mut self, number: u32) -> u64 {
        self.running().verifier.state().x[number as usize & 31]
    }

    /// A floating-point register of the model; a single has ones above it.
    pub fn f(&mut self, number: u32) -> u64 {
        self.running().verifier.state().f[number as usize & 31]
    }

    /// A control register of the model.
    pub fn csr(&mut self, number: u16) -> Option<u64> {
        self.running().verifier.read_csr(number)
    }

    /// Findings so far.
    pub fn report(&mut self) -> &Report {
        &self.running().verifier.report
    }
}

fn register(reg: Reg, role: RegRole, value: u64) -> RegAccess {
    RegAccess { reg, role, update: RegUpdate::Set, value: Value::Word(value), known: None }
}

fn range(start: u64, size: u64) -> Result<Range, String> {
    let end = start.checked_add(size).filter(|_| (1..=LARGEST).contains(&size));
    end.map(|end| Range { start, end }).ok_or_else(|| format!("{size} bytes at {start:#x} are not possible"))
}

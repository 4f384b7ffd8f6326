//! A core on a board: drives it, lets time pass, and carries interrupts to it.

use super::devices;
use super::system::{RAM_BASE, ROM_BASE, Status, System};
use crate::config::Config;
use crate::csr::{envcfg, interrupt, status};
use crate::effects::{Effects, Observe};
use crate::hart::Hart;
use crate::program::{LoadError, Program};
use crate::state::Level;
use crate::trap::Taken;

/// Core, RAM and speed of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineConfig {
    /// The core; it starts in the reset ROM.
    pub core: Config,
    /// Bytes of RAM.
    pub ram: usize,
    /// Instructions per unit of `mtime`; 0 stops time.
    pub instructions_per_tick: u64,
}

impl MachineConfig {
    /// 128 MiB and a tick every 100 instructions (10 MHz of a core with 1 GHz).
    pub fn new(core: Config) -> Self {
        Self { core: Config { reset_pc: ROM_BASE, ..core }, ram: 128 << 20, instructions_per_tick: 100 }
    }
}

/// A machine with one core.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The core.
    pub hart: Hart,
    /// Memory and devices.
    pub system: System,
    per_tick: u64,
    until_tick: u64,
}

impl Machine {
    /// A machine with a program in its RAM.
    pub fn new(config: MachineConfig, program: &Program) -> Result<Self, LoadError> {
        let mut system = System::new(config.ram, &config.core, program.entry);
        system.tohost = program.symbol("tohost").unwrap_or(u64::MAX);
        system.fromhost = program.symbol("fromhost").unwrap_or(u64::MAX);
        let per_tick = config.instructions_per_tick;
        let mut machine = Self { hart: Hart::new(config.core), system, per_tick, until_tick: per_tick };
        machine.load(program)?;
        Ok(machine)
    }

    /// Copies a program into RAM.
    pub(super) fn load(&mut self, program: &Program) -> Result<(), LoadError> {
        let ram = self.system.ram().bytes().len();
        for segment in &program.segments {
            // A linker may put the ELF header, which is never read, in front of the RAM.
            let skip = RAM_BASE.saturating_sub(segment.physical).min(segment.bytes().len() as u64);
            if !self.system.load(segment.physical + skip, &segment.bytes()[skip as usize..]) {
                return Err(LoadError::new(format!(
                    "the segment at {:#x} is not in RAM ({RAM_BASE:#x}, {ram} bytes)",
                    segment.physical
                )));
            }
        }
        if program.entry.wrapping_sub(RAM_BASE) >= ram as u64 {
            return Err(LoadError::new(format!("the entry {:#x} is not in RAM", program.entry)));
        }
        Ok(())
    }

    /// Goes through the reset ROM, which is not in the program's ELF, up to the program's entry.
    pub fn leave_rom(&mut self) {
        while (ROM_BASE..ROM_BASE + 24).contains(&self.hart.state.pc) && self.status() == Status::Running {
            if self.step_observed(&mut ()).is_some() {
                break;
            }
        }
    }

    /// Running, or how it ended.
    pub fn status(&self) -> Status {
        self.system.status
    }

    /// Console output since the last call.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.system.uart.output)
    }

    /// Types on the console.
    pub fn type_in(&mut self, bytes: &[u8]) {
        self.system.uart.input.extend(bytes);
        self.system.changed = true;
    }

    /// Sets an input of the PLIC, 1 to 31.
    pub fn set_input(&mut self, input: u8, level: bool) {
        self.system.plic.set(input, level);
        self.system.changed = true;
    }

    /// Sets `mtime`.
    pub fn set_time(&mut self, time: u64) {
        self.system.clint.mtime = time;
        self.update();
    }

    /// Makes the timer interrupt due now.
    pub fn expire_timer(&mut self) {
        let due = self.system.clint.mtimecmp;
        self.set_time(due);
    }

    /// One step: takes an interrupt that is due, or attempts an instruction.
    pub fn step(&mut self, effects: &mut Effects) -> Option<Taken> {
        effects.begin();
        let taken = self.step_observed(effects);
        effects.next_pc = self.hart.state.pc;
        taken
    }

    /// As [`step`](Machine::step), with an observer of your own.
    #[inline]
    pub fn step_observed<E: Observe>(&mut self, fx: &mut E) -> Option<Taken> {
        if self.per_tick != 0 {
            self.until_tick -= 1;
            if self.until_tick == 0 || self.hart.state.waiting {
                self.tick();
            }
        }
        if let Some(cause) = self.hart.pending_interrupt() {
            return Some(self.hart.interrupt(cause, fx));
        }
        let taken = self.hart.step_observed(&mut self.system, fx);
        if self.system.changed {
            self.update();
        }
        taken
    }

    /// Can the timer still interrupt the program, if it does nothing about it?
    pub fn awaits_timer(&self) -> bool {
        let csr = &self.hart.state.csr;
        let is_open = self.hart.state.level != Level::M || csr.mstatus & status::MIE != 0;
        is_open && csr.mie & (interrupt::MTI | interrupt::STI) != 0 && self.system.clint.mtimecmp != u64::MAX
    }

    /// Runs at most `limit` steps; returns how many were made.
    pub fn run(&mut self, limit: u64) -> u64 {
        let mut count = 0;
        while count < limit && self.system.status == Status::Running {
            match self.stretch(limit - count, &mut ()) {
                0 => {
                    self.step_observed(&mut ());
                    count += 1;
                }
                steps => count += steps,
            }
        }
        count
    }

    /// Makes up to `limit` steps of usual instructions at once; returns how many.
    #[inline]
    pub(crate) fn stretch<E: Observe>(&mut self, limit: u64, fx: &mut E) -> u64 {
        // Time stands still in between: the next step lets it pass.
        let limit = if self.per_tick == 0 { limit } else { limit.min(self.until_tick - 1) };
        let waits = self.per_tick != 0 && self.hart.state.waiting;
        if waits || self.hart.pending_interrupt().is_some() {
            return 0;
        }
        let count = self.hart.stretch(limit, &mut self.system, fx);
        if self.per_tick != 0 {
            self.until_tick -= count;
        }
        if self.system.changed {
            self.update();
        }
        count
    }

    #[cold]
    fn tick(&mut self) {
        let clint = &mut self.system.clint;
        if self.until_tick == 0 {
            self.until_tick = self.per_tick;
            clint.mtime = clint.mtime.wrapping_add(1);
        }
        // A core that waits for the timer gets there at once.
        let timer = self.hart.state.csr.mie & interrupt::MTI != 0;
        if self.hart.state.waiting && timer && clint.mtimecmp != u64::MAX {
            clint.mtime = clint.mtime.max(clint.mtimecmp);
        }
        // The supervisor's own timer (Sstc).
        let csr = &self.hart.state.csr;
        let timer = csr.mie & interrupt::STI != 0 && csr.menvcfg & envcfg::STCE != 0;
        if self.hart.state.waiting && timer && csr.stimecmp != u64::MAX {
            clint.mtime = clint.mtime.max(csr.stimecmp);
        }
        self.hart.state.waiting = false;
        self.update();
    }

    /// Carries device outputs to the core.
    fn update(&mut self) {
        self.system.changed = false;
        let System { clint, plic, uart, .. } = &mut self.system;
        plic.set(devices::UART_INPUT, uart.interrupts());
        let bit = |on: bool, bit: u64| if on { bit } else { 0 };
        let pending = bit(clint.msip & 1 != 0, interrupt::MSI)
            | bit(clint.mtime >= clint.mtimecmp, interrupt::MTI)
            | bit(plic.raises(0), interrupt::MEI)
            | bit(plic.raises(1), interrupt::SEI);
        let lines = interrupt::MSI | interrupt::MTI | interrupt::MEI | interrupt::SEI;
        self.hart.set_interrupts(lines, pending);
        self.hart.set_time(clint.mtime);
    }
}

//! A process: its core, its memory, and what the kernel keeps for it.

use trackway_core::Isa;

use super::files::Files;
use super::load::{self, Layout};
use super::memory::AddressSpace;
use super::signals::{self, PID, Signals};
use crate::config::{Config, Paging};
use crate::csr::{self, envcfg, status};
use crate::effects::{Effects, Observe};
use crate::hart::Hart;
use crate::program::{LoadError, Program};
use crate::state::Level;
use crate::trap::{Exception, cause};

/// The environment that a process starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Arguments; the first is the program's name.
    pub arguments: Vec<String>,
    /// Environment, `NAME=value` each.
    pub environment: Vec<String>,
    /// Standard input of the process.
    pub stdin: Vec<u8>,
    /// Folder of the host that relative paths start from.
    pub folder: std::path::PathBuf,
    /// Target of `/proc/self/exe`.
    pub executable: String,
    /// Seconds since 1970 at the start.
    pub start_time: u64,
    /// Where random bytes come from.
    pub seed: u64,
    /// May the program write, create and remove files of the host? Reading is always allowed.
    pub write_files: bool,
}

impl Options {
    /// With these arguments and nothing else.
    pub fn new(arguments: impl IntoIterator<Item = String>) -> Self {
        let arguments: Vec<String> = arguments.into_iter().collect();
        let executable = format!("/{}", arguments.first().map_or("program", String::as_str));
        Self {
            arguments,
            environment: Vec::new(),
            stdin: Vec::new(),
            folder: std::path::PathBuf::from("."),
            executable,
            start_time: 1_000_000_000,
            seed: 1,
            write_files: false,
        }
    }
}

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Still running.
    Running,
    /// It ended with this code.
    Exited(u8),
    /// A signal ended it.
    Killed(u8),
}

/// The kernel's reaction to an instruction that trapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// A system call and its result.
    Call {
        /// Number in the generic system call table.
        number: u64,
        /// Value returned in `a0`.
        result: u64,
    },
    /// A signal handler begins.
    Signal {
        /// Number in the generic system call table.
        number: u8,
    },
    /// A signal handler ended.
    Return,
    /// The process ended.
    End,
}

/// A running program.
#[derive(Debug)]
pub struct Process {
    /// The core.
    pub hart: Hart,
    /// Its address space.
    pub memory: AddressSpace,
    pub(super) files: Files,
    pub(super) signals: Signals,
    pub(super) layout: Layout,
    pub(super) options: Options,
    pub(super) brk: u64,
    pub(super) random: u64,
    pub(super) status: Status,
    /// Trap value of the last exception that was not a call.
    fault: u64,
    /// Memory that the kernel wrote for the last call: address and length.
    written: Vec<(u64, u64)>,
}

impl Process {
    /// Process id, and thread id.
    pub const PID: u64 = PID;

    /// Loads a program.
    pub fn new(program: &Program, options: Options) -> Result<Self, LoadError> {
        let config = Config {
            paging: Paging::Bare,
            pmp_entries: 0,
            reset_pc: program.entry,
            ..Config::new(program.isa)
        };
        Self::with_config(program, options, config)
    }

    /// As [`new`](Process::new), on a core of your choice.
    pub fn with_config(program: &Program, options: Options, config: Config) -> Result<Self, LoadError> {
        let mut memory = AddressSpace::default();
        let mut random = options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut bytes = [0; 16];
        bytes.fill_with(|| next_random(&mut random));
        let texts = |list: &[String]| list.iter().map(|text| text.clone().into_bytes()).collect::<Vec<_>>();
        // Linux leaves B, S and U out.
        let hwcap = config.misa() & 0x03ff_ffff & !(1 << 1 | 1 << 18 | 1 << 20);
        let layout = load::load(
            &mut memory,
            program,
            &texts(&options.arguments),
            &texts(&options.environment),
            bytes,
            hwcap,
        )?;
        let stack = (layout.sp, layout.sigreturn + 8 - layout.sp);
        let mut hart = Hart::new(config);
        hart.set_pc(program.entry);
        hart.set_x(2, layout.sp);
        hart.write_csr(csr::MSTATUS, status::FS & 1 << 13);
        hart.write_csr(csr::MCOUNTEREN, 7);
        hart.write_csr(csr::SCOUNTEREN, 7);
        // Linux lets programs clean, flush and zero cache blocks.
        for number in [csr::MENVCFG, csr::SENVCFG] {
            hart.write_csr(number, envcfg::CBCFE | envcfg::CBZE);
        }
        hart.set_level(Level::U);
        Ok(Self {
            hart,
            memory,
            files: Files::new(options.stdin.clone(), options.write_files),
            signals: Signals::default(),
            brk: layout.brk,
            layout,
            options,
            random,
            status: Status::Running,
            fault: 0,
            written: vec![stack],
        })
    }

    /// Running, or how it ended.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Standard output and standard error since the last call.
    pub fn take_output(&mut self) -> (Vec<u8>, Vec<u8>) {
        self.files.take_output()
    }

    /// Trap value of the last exception that was not a system call: a faulting address, or instruction bits.
    pub fn fault_address(&self) -> u64 {
        self.fault
    }

    /// Memory that the kernel wrote in the last step, or to start the program: address and length of each piece.
    pub fn kernel_writes(&self) -> &[(u64, u64)] {
        &self.written
    }

    /// One step: an instruction, and what the kernel does where it traps.
    pub fn step(&mut self, effects: &mut Effects) -> Option<Kernel> {
        effects.begin();
        let kernel = self.step_observed(effects);
        effects.next_pc = self.hart.state.pc;
        kernel
    }

    /// As [`step`](Process::step), with an observer of your own.
    #[inline]
    pub fn step_observed<E: Observe>(&mut self, fx: &mut E) -> Option<Kernel> {
        match self.hart.attempt(&mut self.memory, fx) {
            Ok(()) => None,
            Err(exception) => Some(self.enter(exception)),
        }
    }

    /// Runs at most `limit` instructions; returns how many were attempted.
    pub fn run(&mut self, limit: u64) -> u64 {
        let mut count = 0;
        while count < limit && self.status == Status::Running {
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
        self.hart.stretch(limit, &mut self.memory, fx)
    }

    /// The kernel handles an exception.
    #[cold]
    #[inline(never)]
    fn enter(&mut self, exception: Exception) -> Kernel {
        self.written.clear();
        let kernel = match exception.cause {
            cause::ECALL_U => {
                let pc = self.hart.state.pc.wrapping_add(4);
                self.hart.set_pc(pc);
                self.hart.state.csr.minstret = self.hart.state.csr.minstret.wrapping_add(1);
                self.hart.set_time(self.now() / 100);
                self.system_call()
            }
            cause => {
                let (signal, code) = match cause {
                    cause::BREAKPOINT => (signals::SIGTRAP, 1),
                    cause::ILLEGAL => (signals::SIGILL, 1),
                    cause::LOAD_MISALIGNED | cause::STORE_MISALIGNED | cause::FETCH_MISALIGNED => {
                        (signals::SIGBUS, 1)
                    }
                    _ if self.memory.is_mapped(exception.value, exception.value.saturating_add(1)) => {
                        (signals::SIGSEGV, 2)
                    }
                    _ => (signals::SIGSEGV, 1),
                };
                self.fault = exception.value;
                self.signals.force(signal, code, exception.value);
                Kernel::End
            }
        };
        match self.deliver() {
            Some(delivered) => delivered,
            None => kernel,
        }
    }

    /// Nanoseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        self.options.start_time.wrapping_mul(1_000_000_000).wrapping_add(self.hart.state.csr.minstret)
    }

    pub(super) fn is_rv32(&self) -> bool {
        self.hart.config.isa == Isa::Rv32
    }

    /// Writes to the process's memory and remembers where.
    pub(super) fn put(&mut self, address: u64, bytes: &[u8]) -> bool {
        let done = self.memory.write_bytes(address, bytes);
        if done && !bytes.is_empty() {
            self.written.push((address, bytes.len() as u64));
        }
        done
    }
}

/// A byte from a small generator (xorshift64*).
pub(super) fn next_random(state: &mut u64) -> u8 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
}

//! A core: its state, and what is derived from it. One file per part of a step.
//!
//! | file | part |
//! |---|---|
//! | `step` | fetch, decode, execute, count |
//! | `mmu`, `tlb` | translation and memory protection |
//! | `access` | loads, stores, atomics |
//! | `execute`, `execute_float` | every instruction |
//! | `atomics`, `cache_blocks`, `crypto` | those of Zabha and Zacas, of Zicbom and Zicboz, of Zbk* and Zk* |
//! | `csrs`, `options` | reading and writing control and status registers |
//! | `traps` | taking traps and returning from them |

mod access;
mod atomics;
mod cache_blocks;
mod crypto;
mod csrs;
mod execute;
mod execute_float;
mod mmu;
mod options;
mod step;
mod tlb;
mod traps;

use trackway_core::Isa;
use trackway_isa::riscv::{Inst, Op};

use crate::config::Config;
use crate::csr::{self, status};
use crate::effects::Observe;
use crate::state::{Level, State};
use tlb::Tlb;

/// A RISC-V core.
///
/// State is read through [`state`](Hart::state) and set, between steps, through the setters: those also forget
/// what was derived from it. Memory and devices are a [`Bus`](crate::Bus), passed to each step.
///
/// ```
/// use trackway_core::Isa;
/// use trackway_hart::{Config, Effects, Hart, Ram};
///
/// let mut ram = Ram::new(0x8000_0000, 4096);
/// ram.load(0x8000_0000, &0x02a0_0513_u32.to_le_bytes()); // li a0, 42
/// let mut hart = Hart::new(Config::new(Isa::Rv64));
/// let mut effects = Effects::new();
/// hart.step(&mut ram, &mut effects);
/// assert_eq!(effects.x, Some((10, 42)));
/// assert_eq!(hart.state().x[10], 42);
/// ```
#[derive(Clone, Debug)]
pub struct Hart {
    pub(crate) config: Config,
    pub(crate) state: State,
    tlb: Tlb,
    /// The key of cached fetch translations, besides their page.
    fetch_context: u64,
    /// The key of cached data translations, besides their page.
    data_context: u64,
    /// The virtual page that instructions are fetched from, and its physical address.
    fetch_page: (u64, u64),
    decoded: Vec<Slot>,
    isa: Isa,
    /// Some event is counted.
    counting: bool,
    /// The instruction that is executing was counted already, at the level that it left.
    counted: bool,
    /// Outcome of the next store-conditional, where it was set from outside.
    conditional: Option<bool>,
}

/// A decoded instruction by its physical address.
#[derive(Clone, Copy, Debug)]
struct Slot {
    tag: u64,
    inst: Inst,
}

/// Decoded instructions remembered: a power of two.
const SLOTS: usize = 1 << 14;
const NO_PAGE: (u64, u64) = (u64::MAX, 0);
const EMPTY: Slot = Slot {
    tag: u64::MAX,
    inst: Inst { op: Op::Addi, length: 0, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, imm: 0, word: 0 },
};

impl Hart {
    /// A core after reset.
    pub fn new(config: Config) -> Self {
        let isa = if config.is_rv32() { Isa::Rv32 } else { Isa::Rv64 };
        let mut hart = Self {
            config,
            state: State::reset(config.reset_pc),
            tlb: Tlb::new(),
            fetch_context: 0,
            data_context: 0,
            fetch_page: NO_PAGE,
            decoded: vec![EMPTY; SLOTS],
            isa,
            counting: false,
            counted: false,
            conditional: None,
        };
        hart.reset();
        hart
    }

    /// Back to the state after reset.
    pub fn reset(&mut self) {
        self.set_state(State::reset(self.config.reset_pc));
        self.reset_options();
        for (number, rule) in self.config.rules {
            if let Some(value) = rule.reset.filter(|_| rule.exists != Some(false)) {
                self.write_own(*number, value);
                self.hold(*number, value);
            }
        }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its state; a copy of it is a snapshot.
    #[inline]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Replaces the state, for example by a snapshot.
    pub fn set_state(&mut self, state: State) {
        self.state = state;
        self.state.x[0] = 0;
        self.refresh_counting();
        self.flush();
    }

    /// Sets the address of the next instruction.
    pub fn set_pc(&mut self, pc: u64) {
        self.state.pc = pc;
    }

    /// Sets an integer register; writes to `x0` and beyond `x31` are ignored.
    pub fn set_x(&mut self, number: u8, value: u64) {
        if (1..32).contains(&number) {
            let value = if self.config.is_rv32() { value & 0xffff_ffff } else { value };
            self.state.x[usize::from(number)] = value;
        }
    }

    /// Sets a floating-point register; the value is already NaN-boxed.
    pub fn set_f(&mut self, number: u8, value: u64) {
        if let Some(register) = self.state.f.get_mut(usize::from(number)) {
            *register = value;
        }
    }

    /// Sets the privilege level.
    pub fn set_level(&mut self, level: Level) {
        self.state.level = level;
        self.refresh();
    }

    /// Sets interrupt lines of `mip` as devices do; SEIP is the line, not the bit that software writes.
    #[inline]
    pub fn set_interrupts(&mut self, mask: u64, pending: u64) {
        let csr = &mut self.state.csr;
        let hard = mask & !csr::interrupt::SEI;
        csr.mip = csr.mip & !hard | pending & hard;
        if mask & csr::interrupt::SEI != 0 {
            csr.seip_line = pending & csr::interrupt::SEI != 0;
        }
    }

    /// Sets real time.
    #[inline]
    pub fn set_time(&mut self, time: u64) {
        self.state.csr.time = time;
        self.refresh_timer();
    }

    /// Decides the next store-conditional: success, failure, or as the model thinks.
    pub fn set_conditional(&mut self, outcome: Option<bool>) {
        self.conditional = outcome;
    }

    /// Forgets decoded instructions and translations. Needed after memory was changed from outside.
    pub fn flush(&mut self) {
        self.flush_decoded();
        self.flush_translations();
    }

    fn flush_decoded(&mut self) {
        self.decoded.fill(EMPTY);
    }

    /// Forgets translations only: each access walks the page tables again, and shows the entries.
    pub fn flush_translations(&mut self) {
        self.tlb.flush();
        self.refresh();
    }

    /// Works out again what depends on level and status.
    fn refresh(&mut self) {
        let mstatus = self.state.csr.mstatus;
        let bits = (mstatus & status::SUM) >> 18 << 2 | (mstatus & status::MXR) >> 19 << 3;
        self.fetch_context = self.state.level as u64;
        self.data_context = self.data_level() as u64 | bits;
        self.fetch_page = NO_PAGE;
    }

    /// Marks the floating-point state as changed.
    #[inline]
    fn dirty_float<E: Observe>(&mut self, fx: &mut E) {
        if self.state.csr.mstatus & status::FS != status::FS {
            self.state.csr.mstatus |= status::FS;
            fx.csr(csr::MSTATUS, self.read_csr(csr::MSTATUS).unwrap_or_default());
        }
    }
}

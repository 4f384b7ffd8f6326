//! A core: its state, and one step of it.

use trackway_core::Isa;
use trackway_isa::riscv::{Extension, Inst, Op, decode};

use crate::bus::Bus;
use crate::config::Config;
use crate::csr::{self, CY, IR, status};
use crate::effects::{Effects, Observe, Purpose};
use crate::mmu::{PAGE_BITS, PAGE_MASK, Tlb, access_fault};
use crate::state::{Level, State};
use crate::trap::{Exception, Taken, cause};

/// A RISC-V core.
///
/// State is read through [`state`](Hart::state) and set, between steps, through the setters: those also forget
/// what was derived from it. Memory and devices are a [`Bus`], given to each step.
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
    pub(crate) tlb: Tlb,
    /// What a remembered fetch translation depends on besides its page.
    pub(crate) fetch_context: u64,
    /// What a remembered data translation depends on besides its page.
    pub(crate) data_context: u64,
    /// The virtual page that instructions are fetched from, and its physical address.
    fetch_page: (u64, u64),
    decoded: Vec<Slot>,
    isa: Isa,
    /// Outcome of the next store-conditional, where it was set from outside.
    pub(crate) conditional: Option<bool>,
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
            conditional: None,
        };
        hart.reset();
        hart
    }

    /// Back to the state after reset.
    pub fn reset(&mut self) {
        self.set_state(State::reset(self.config.reset_pc));
    }

    /// What kind of core it is.
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

    pub(crate) fn flush_decoded(&mut self) {
        self.decoded.fill(EMPTY);
    }

    /// Forgets translations only: each access walks the page tables again, and shows the entries.
    pub fn flush_translations(&mut self) {
        self.tlb.flush();
        self.refresh();
    }

    /// Works out again what depends on level and status.
    pub(crate) fn refresh(&mut self) {
        let mstatus = self.state.csr.mstatus;
        let bits = (mstatus & status::SUM) >> 18 << 2 | (mstatus & status::MXR) >> 19 << 3;
        self.fetch_context = self.state.level as u64;
        self.data_context = self.data_level() as u64 | bits;
        self.fetch_page = NO_PAGE;
    }

    /// One step: attempts an instruction, and takes its trap where it does not complete.
    ///
    /// Interrupts are not looked at: ask [`pending_interrupt`](Hart::pending_interrupt) and take it with
    /// [`interrupt`](Hart::interrupt).
    pub fn step<B: Bus>(&mut self, bus: &mut B, effects: &mut Effects) -> Option<Taken> {
        effects.begin();
        let taken = self.step_observed(bus, effects);
        effects.next_pc = self.state.pc;
        taken
    }

    /// As [`step`](Hart::step), with an observer of your own; `()` for none.
    #[inline]
    pub fn step_observed<B: Bus, E: Observe>(&mut self, bus: &mut B, fx: &mut E) -> Option<Taken> {
        match self.attempt(bus, fx) {
            Ok(()) => None,
            Err(exception) => Some(self.exception(exception, fx)),
        }
    }

    /// Attempts one instruction. Where it does not complete nothing has changed but the accessed and dirty
    /// bits of pages, and no trap was taken.
    #[inline]
    pub fn attempt<B: Bus, E: Observe>(&mut self, bus: &mut B, fx: &mut E) -> Result<(), Exception> {
        let (physical, inst) = self.fetch(bus, fx)?;
        self.complete(physical, inst, bus, fx)
    }

    /// Attempts this encoding as if it stood at the pc, where memory there is not known.
    pub fn attempt_encoding<B: Bus, E: Observe>(
        &mut self,
        encoding: u32,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        let pc = self.state.pc;
        let inst = self.decode(encoding, pc, fx)?;
        self.complete(pc, inst, bus, fx)
    }

    /// Executes a fetched instruction and counts it.
    #[inline(always)]
    fn complete<B: Bus, E: Observe>(
        &mut self,
        physical: u64,
        inst: Inst,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(), Exception> {
        fx.instruction(self.state.pc, physical, &inst);
        let result = match self.isa {
            Isa::Rv32 => self.execute::<false, B, E>(&inst, bus, fx),
            _ => self.execute::<true, B, E>(&inst, bus, fx),
        };
        let csr = &mut self.state.csr;
        let counts = csr.mcountinhibit;
        csr.mcycle = csr.mcycle.wrapping_add(u64::from(counts & CY == 0));
        let next = result?;
        csr.minstret = csr.minstret.wrapping_add(u64::from(counts & IR == 0));
        self.state.pc = next;
        Ok(())
    }

    /// The instruction at the pc and its physical address.
    #[inline(always)]
    fn fetch<B: Bus, E: Observe>(&mut self, bus: &mut B, fx: &mut E) -> Result<(u64, Inst), Exception> {
        let pc = self.state.pc;
        if pc >> PAGE_BITS == self.fetch_page.0 {
            let physical = self.fetch_page.1 | pc & PAGE_MASK;
            let slot = &self.decoded[(physical >> 1) as usize & (SLOTS - 1)];
            if slot.tag == physical {
                return Ok((physical, slot.inst));
            }
        }
        self.fetch_slowly(bus, fx)
    }

    #[inline(never)]
    fn fetch_slowly<B: Bus, E: Observe>(
        &mut self,
        bus: &mut B,
        fx: &mut E,
    ) -> Result<(u64, Inst), Exception> {
        let pc = self.state.pc;
        if pc & !self.pc_mask() != 0 {
            return Err(Exception::new(cause::FETCH_MISALIGNED, pc));
        }
        let fault = |address| access_fault(Purpose::Fetch, address);
        let physical = self.translate(pc, 2, Purpose::Fetch, bus, fx)?;
        // Only a page that protection treats alike may be entered without asking again.
        self.fetch_page = NO_PAGE;
        if self.tlb_holds_fetch(pc) {
            self.fetch_page = (pc >> PAGE_BITS, physical & !PAGE_MASK);
        }
        let index = (physical >> 1) as usize & (SLOTS - 1);
        if self.decoded[index].tag == physical {
            return Ok((physical, self.decoded[index].inst));
        }
        let mut encoding = u32::from(bus.fetch(physical).ok_or(fault(pc))?);
        let mut remember = true;
        if encoding & 3 == 3 {
            let rest = self.next_half(pc);
            let second = if rest & PAGE_MASK == 0 || self.fetch_page == NO_PAGE {
                remember = false;
                self.translate(rest, 2, Purpose::Fetch, bus, fx)?
            } else {
                physical + 2
            };
            encoding |= u32::from(bus.fetch(second).ok_or(fault(rest))?) << 16;
        }
        let inst = self.decode(encoding, physical, fx)?;
        if remember {
            self.decoded[index] = Slot { tag: physical, inst };
        }
        Ok((physical, inst))
    }

    fn next_half(&self, pc: u64) -> u64 {
        let next = pc.wrapping_add(2);
        if self.config.is_rv32() { next & 0xffff_ffff } else { next }
    }

    /// The instruction of an encoding, if this core has it.
    fn decode<E: Observe>(&self, encoding: u32, physical: u64, fx: &mut E) -> Result<Inst, Exception> {
        let extensions = self.config.extensions;
        let inst = decode(self.isa, encoding).filter(|inst| {
            let present = match inst.op.extension() {
                // The table has these conversions once; they need both formats.
                Extension::Zfhmin if matches!(inst.op, Op::FcvtDH | Op::FcvtHD) => {
                    extensions.has(Extension::D) && extensions.has(Extension::Zfhmin)
                }
                extension => extensions.has(extension),
            };
            present && (inst.length == 4 || extensions.has(Extension::C))
        });
        inst.ok_or_else(|| {
            // Of an encoding that is longer only these bits were fetched.
            let length = if encoding & 3 == 3 { 4 } else { 2 };
            let encoding = if length == 2 { encoding & 0xffff } else { encoding };
            fx.illegal(self.state.pc, physical, encoding, length);
            self.illegal(encoding)
        })
    }

    /// The exception of an illegal instruction.
    pub(crate) fn illegal(&self, encoding: u32) -> Exception {
        let value = if self.config.tval_instruction { u64::from(encoding) } else { 0 };
        Exception::new(cause::ILLEGAL, value)
    }

    /// Marks the floating-point state as changed.
    #[inline]
    pub(crate) fn dirty_float<E: Observe>(&mut self, fx: &mut E) {
        if self.state.csr.mstatus & status::FS != status::FS {
            self.state.csr.mstatus |= status::FS;
            fx.csr(csr::MSTATUS, self.read_csr(csr::MSTATUS).unwrap_or_default());
        }
    }
}

//! The architectural state of a core: plain data, comparable, and cheap to copy.

use std::collections::BTreeMap;

/// Privilege level, numbered as in `mstatus.MPP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// User level.
    U = 0,
    /// Supervisor level.
    S = 1,
    /// Machine level.
    M = 3,
}

impl Level {
    /// The level with this number; 2 is reserved.
    #[inline]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match bits & 3 {
            0 => Some(Self::U),
            1 => Some(Self::S),
            3 => Some(Self::M),
            _ => None,
        }
    }
}

/// The reservation of a load-reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Physical address of its first byte.
    pub address: u64,
    /// Size in bytes.
    pub size: u8,
}

/// Everything that an instruction can read or write, but for memory. On RV32 registers hold 32 bits,
/// zero-extended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Address of the next instruction.
    pub pc: u64,
    /// Integer registers; `x[0]` is 0.
    pub x: [u64; 32],
    /// Floating-point registers; narrow values are NaN-boxed.
    pub f: [u64; 32],
    /// Privilege level.
    pub level: Level,
    /// Control and status registers.
    pub csr: Csrs,
    /// Held by the last load-reserved.
    pub reservation: Option<Reservation>,
    /// A `wfi` completed and no interrupt was pending since.
    pub waiting: bool,
}

/// Counters of events that a core with Sscofpmf has, from `mhpmcounter3` on.
pub const EVENTS: usize = 4;

/// Stored control and status registers; views such as `sstatus` are made from these.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the registers' own
pub struct Csrs {
    pub fflags: u8,
    pub frm: u8,
    /// `mstatus` with `mstatush` above it, without the SD bit.
    pub mstatus: u64,
    pub medeleg: u64,
    pub mideleg: u64,
    pub mie: u64,
    /// Interrupts pending; of SEIP only the part that software writes.
    pub mip: u64,
    /// The external line into SEIP.
    pub seip_line: bool,
    pub mtvec: u64,
    pub mcounteren: u32,
    pub mcountinhibit: u32,
    pub mscratch: u64,
    pub mepc: u64,
    pub mcause: u64,
    pub mtval: u64,
    pub menvcfg: u64,
    pub mseccfg: u64,
    pub mstateen: [u64; 4],
    /// Counters of events from 3 on, and what they count.
    pub mhpmcounter: [u64; EVENTS],
    pub mhpmevent: [u64; EVENTS],
    pub stvec: u64,
    pub scounteren: u32,
    pub senvcfg: u64,
    pub sscratch: u64,
    pub sepc: u64,
    pub scause: u64,
    pub stval: u64,
    pub satp: u64,
    pub stimecmp: u64,
    /// How often the entropy source was polled.
    pub seed: u64,
    /// Memory protection, one byte per entry.
    pub pmpcfg: [u8; 64],
    /// Memory protection addresses, in units of 4 bytes.
    pub pmpaddr: [u64; 64],
    pub mcycle: u64,
    pub minstret: u64,
    /// Real time, as the platform shows it.
    pub time: u64,
    /// Registers that only a [rule](crate::CsrRule) knows.
    pub custom: BTreeMap<u16, u64>,
}

impl State {
    /// State after reset (privileged 3.4): M, interrupts and protection off; what the specification leaves
    /// open is 0.
    pub fn reset(pc: u64) -> Self {
        Self {
            pc,
            x: [0; 32],
            f: [0; 32],
            level: Level::M,
            csr: Csrs {
                fflags: 0,
                frm: 0,
                mstatus: 0,
                medeleg: 0,
                mideleg: 0,
                mie: 0,
                mip: 0,
                seip_line: false,
                mtvec: 0,
                mcounteren: 0,
                mcountinhibit: 0,
                mscratch: 0,
                mepc: 0,
                mcause: 0,
                mtval: 0,
                menvcfg: 0,
                mseccfg: 0,
                mstateen: [0; 4],
                mhpmcounter: [0; EVENTS],
                mhpmevent: [0; EVENTS],
                stvec: 0,
                scounteren: 0,
                senvcfg: 0,
                sscratch: 0,
                sepc: 0,
                scause: 0,
                stval: 0,
                satp: 0,
                stimecmp: 0,
                seed: 0,
                pmpcfg: [0; 64],
                pmpaddr: [0; 64],
                mcycle: 0,
                minstret: 0,
                time: 0,
                custom: BTreeMap::new(),
            },
            reservation: None,
            waiting: false,
        }
    }
}

//! The architectural state of a core: plain data, comparable, and cheap to copy.

/// Privilege level, numbered as in `mstatus.MPP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// User.
    U = 0,
    /// Supervisor.
    S = 1,
    /// Machine.
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
    /// Physical address.
    pub address: u64,
    /// Bytes.
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

/// Stored control and status registers; views such as `sstatus` are made from these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csrs {
    /// Accrued floating-point exceptions.
    pub fflags: u8,
    /// Dynamic rounding mode.
    pub frm: u8,
    /// `mstatus` with `mstatush` above it, without the SD bit.
    pub mstatus: u64,
    /// Exceptions delegated to S.
    pub medeleg: u64,
    /// Interrupts delegated to S.
    pub mideleg: u64,
    /// Interrupts enabled.
    pub mie: u64,
    /// Interrupts pending; of SEIP only the part that software writes.
    pub mip: u64,
    /// The external line into SEIP.
    pub seip_line: bool,
    /// M trap vector.
    pub mtvec: u64,
    /// Counters that S may read.
    pub mcounteren: u32,
    /// Counters that are stopped.
    pub mcountinhibit: u32,
    /// M scratch.
    pub mscratch: u64,
    /// M exception pc.
    pub mepc: u64,
    /// M cause.
    pub mcause: u64,
    /// M trap value.
    pub mtval: u64,
    /// Environment of S and U.
    pub menvcfg: u64,
    /// S trap vector.
    pub stvec: u64,
    /// Counters that U may read.
    pub scounteren: u32,
    /// Environment of U.
    pub senvcfg: u64,
    /// S scratch.
    pub sscratch: u64,
    /// S exception pc.
    pub sepc: u64,
    /// S cause.
    pub scause: u64,
    /// S trap value.
    pub stval: u64,
    /// Translation.
    pub satp: u64,
    /// Memory protection, one byte per entry.
    pub pmpcfg: [u8; 64],
    /// Memory protection addresses, in units of 4 bytes.
    pub pmpaddr: [u64; 64],
    /// Cycles.
    pub mcycle: u64,
    /// Instructions retired.
    pub minstret: u64,
    /// Real time, as the platform shows it.
    pub time: u64,
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
                stvec: 0,
                scounteren: 0,
                senvcfg: 0,
                sscratch: 0,
                sepc: 0,
                scause: 0,
                stval: 0,
                satp: 0,
                pmpcfg: [0; 64],
                pmpaddr: [0; 64],
                mcycle: 0,
                minstret: 0,
                time: 0,
            },
            reservation: None,
            waiting: false,
        }
    }
}

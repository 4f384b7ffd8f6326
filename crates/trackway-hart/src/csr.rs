//! Control and status registers: which exist, who may touch them, and what a write leaves in each field.
//!
//! Legal values of the fields that the specification calls WARL ("write any, read legal"). `docs/hart.md`
//! repeats this as a table.
//!
//! | register | field | what a write leaves |
//! |---|---|---|
//! | `misa` | all | read-only: [`Config::misa`](crate::Config::misa) |
//! | `mstatus` | SIE MIE SPIE MPIE SPP MPRV SUM MXR TVM TW TSR | the bit; 0 where its level does not exist |
//! | | MPP | the level if it exists, else unchanged |
//! | | FS | the two bits; 0 without F |
//! | | SD | read-only: FS is 3 |
//! | | UXL, SXL | read-only 2 on RV64 where the level exists |
//! | | VS XS UBE SBE MBE | read-only 0 |
//! | `sstatus` | | the S view of `mstatus`: SIE SPIE SPP FS SUM MXR |
//! | `mtvec`, `stvec` | MODE | bit 0; bit 1 reads 0 |
//! | `medeleg` | | exceptions 0 to 9, 12, 13, 15; the rest read 0 |
//! | `mideleg` | | SSI, STI, SEI |
//! | `mie`, `mip` | | SSI MSI STI MTI SEI MEI; of `mip` SSIP, STIP and SEIP are writable |
//! | `sie`, `sip` | | what `mideleg` delegates; of `sip` only SSIP is writable |
//! | `mepc`, `sepc` | bits 1:0 | bit 0 reads 0, bit 1 as well without C |
//! | `mcause`, `scause` | | WLRL: kept as written |
//! | `mcounteren`, `scounteren` | | all 32 bits |
//! | `mcountinhibit` | | CY and IR |
//! | `menvcfg`, `senvcfg` | | FIOM; the rest reads 0 |
//! | `satp` | MODE | a write with a mode that does not exist changes nothing |
//! | | ASID, PPN | 16 and 44 bits on RV64, 9 and 22 on RV32 |
//! | `pmpcfg` | | locked entries unchanged; R=0 W=1 becomes R=0 W=0; NA4 reads OFF with a grain above 0 |
//! | `pmpaddr` | | 54 bits on RV64, 32 on RV32; unchanged where locked, or below a locked TOR entry |
//! | `mhpmcounter3` …, `mhpmevent3` … | | read-only 0 |

macro_rules! numbers {
    ($($name:ident = $number:literal;)*) => {
        $(#[doc = concat!("Number of the CSR `", stringify!($name), "`.")] pub const $name: u16 = $number;)*
    };
}

numbers! {
    FFLAGS = 0x001; FRM = 0x002; FCSR = 0x003;
    SSTATUS = 0x100; SIE = 0x104; STVEC = 0x105; SCOUNTEREN = 0x106; SENVCFG = 0x10a;
    SSCRATCH = 0x140; SEPC = 0x141; SCAUSE = 0x142; STVAL = 0x143; SIP = 0x144; SATP = 0x180;
    MSTATUS = 0x300; MISA = 0x301; MEDELEG = 0x302; MIDELEG = 0x303; MIE = 0x304; MTVEC = 0x305;
    MCOUNTEREN = 0x306; MENVCFG = 0x30a; MSTATUSH = 0x310; MEDELEGH = 0x312; MENVCFGH = 0x31a;
    MCOUNTINHIBIT = 0x320;
    MSCRATCH = 0x340; MEPC = 0x341; MCAUSE = 0x342; MTVAL = 0x343; MIP = 0x344;
    PMPCFG0 = 0x3a0; PMPADDR0 = 0x3b0;
    MCYCLE = 0xb00; MINSTRET = 0xb02; MCYCLEH = 0xb80; MINSTRETH = 0xb82;
    CYCLE = 0xc00; TIME = 0xc01; INSTRET = 0xc02; CYCLEH = 0xc80; TIMEH = 0xc81; INSTRETH = 0xc82;
    MVENDORID = 0xf11; MARCHID = 0xf12; MIMPID = 0xf13; MHARTID = 0xf14; MCONFIGPTR = 0xf15;
}

/// Fields of `mstatus` (privileged 3.1.6).
#[allow(missing_docs)] // the names are the specification's own
pub mod status {
    pub const SIE: u64 = 1 << 1;
    pub const MIE: u64 = 1 << 3;
    pub const SPIE: u64 = 1 << 5;
    pub const MPIE: u64 = 1 << 7;
    pub const SPP: u64 = 1 << 8;
    pub const MPP: u64 = 3 << 11;
    pub const FS: u64 = 3 << 13;
    pub const MPRV: u64 = 1 << 17;
    pub const SUM: u64 = 1 << 18;
    pub const MXR: u64 = 1 << 19;
    pub const TVM: u64 = 1 << 20;
    pub const TW: u64 = 1 << 21;
    pub const TSR: u64 = 1 << 22;
    pub const UXL: u64 = 3 << 32;
    pub const SXL: u64 = 3 << 34;
}

/// Interrupt bits of `mie` and `mip`.
pub mod interrupt {
    /// Supervisor software.
    pub const SSI: u64 = 1 << 1;
    /// Machine software.
    pub const MSI: u64 = 1 << 3;
    /// Supervisor timer.
    pub const STI: u64 = 1 << 5;
    /// Machine timer.
    pub const MTI: u64 = 1 << 7;
    /// Supervisor external.
    pub const SEI: u64 = 1 << 9;
    /// Machine external.
    pub const MEI: u64 = 1 << 11;
    /// Those of the supervisor.
    pub const SUPERVISOR: u64 = SSI | STI | SEI;
    /// All six.
    pub const ALL: u64 = SUPERVISOR | MSI | MTI | MEI;
}

/// Cycle counter in `mcountinhibit` and `mcounteren`.
pub(crate) const CY: u32 = 1;
/// Counter of retired instructions in `mcountinhibit` and `mcounteren`.
pub(crate) const IR: u32 = 4;

/// Machine and supervisor registers that hold what traps and translation depend on, views and upper halves left out.
/// A recording of a machine begins with them, and verification compares them.
pub const TRAP_AND_TRANSLATION: [u16; 19] = [
    MSTATUS,
    MEDELEG,
    MIDELEG,
    MIE,
    MTVEC,
    MCOUNTEREN,
    MCOUNTINHIBIT,
    MSCRATCH,
    MEPC,
    MCAUSE,
    MTVAL,
    STVEC,
    SCOUNTEREN,
    SSCRATCH,
    SEPC,
    SCAUSE,
    STVAL,
    SATP,
    MENVCFG,
];

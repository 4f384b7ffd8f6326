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
//! | `mideleg` | | SSI, STI, SEI; LCOFI with Sscofpmf |
//! | `mie`, `mip` | | SSI MSI STI MTI SEI MEI, LCOFI with Sscofpmf; of `mip` SSIP, STIP, SEIP and LCOFIP are writable, STIP not where `menvcfg`.STCE is 1 |
//! | `sie`, `sip` | | what `mideleg` delegates; of `sip` only SSIP and LCOFIP are writable |
//! | `mepc`, `sepc` | bits 1:0 | bit 0 reads 0, bit 1 as well without C |
//! | `mcause`, `scause` | | WLRL: kept as written |
//! | `mcounteren`, `scounteren` | | all 32 bits |
//! | `mcountinhibit` | | CY and IR |
//! | `menvcfg`, `senvcfg` | | FIOM; CBIE (2 becomes 0) and CBCFE with Zicbom, CBZE with Zicboz; of `menvcfg` STCE with Sstc, PBMTE with Svpbmt, ADUE with Svadu (1 after reset without Svade) |
//! | `mseccfg` | | MML, MMWP (sticky) and RLB (0 while an entry is locked) with Smepmp; USEED, SSEED with Zkr |
//! | `mstateen0` | | SE0, ENVCFG; of `mstateen1` … `mstateen3` bit 63; `sstateen0` … read 0 |
//! | `seed` | | writes only use up the entropy |
//! | `satp` | MODE | a write with a mode that does not exist changes nothing |
//! | | ASID, PPN | 16 and 44 bits on RV64, 9 and 22 on RV32 |
//! | `pmpcfg` | | locked entries unchanged; R=0 W=1 becomes R=0 W=0; NA4 reads OFF with a grain above 0 |
//! | `pmpaddr` | | 54 bits on RV64, 32 on RV32; unchanged where locked, or below a locked TOR entry |
//! | `mhpmcounter3` …, `mhpmevent3` … | | read-only 0; with Sscofpmf the first four count events 1 (cycles) and 2 (instructions) |

macro_rules! numbers {
    ($($name:ident = $number:literal;)*) => {
        $(#[doc = concat!("Number of the CSR `", stringify!($name), "`.")] pub const $name: u16 = $number;)*
    };
}

numbers! {
    FFLAGS = 0x001; FRM = 0x002; FCSR = 0x003; SEED = 0x015;
    SSTATUS = 0x100; SIE = 0x104; STVEC = 0x105; SCOUNTEREN = 0x106; SENVCFG = 0x10a; SSTATEEN0 = 0x10c;
    SSCRATCH = 0x140; SEPC = 0x141; SCAUSE = 0x142; STVAL = 0x143; SIP = 0x144; STIMECMP = 0x14d;
    STIMECMPH = 0x15d; SATP = 0x180;
    MSTATUS = 0x300; MISA = 0x301; MEDELEG = 0x302; MIDELEG = 0x303; MIE = 0x304; MTVEC = 0x305;
    MCOUNTEREN = 0x306; MENVCFG = 0x30a; MSTATEEN0 = 0x30c; MSTATUSH = 0x310; MEDELEGH = 0x312; MENVCFGH = 0x31a;
    MSTATEEN0H = 0x31c; MSECCFG = 0x747; MSECCFGH = 0x757; SCOUNTOVF = 0xda0;
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

/// Fields of `menvcfg` and `senvcfg` (privileged 3.1.18); the upper three are of `menvcfg` only.
#[allow(missing_docs)] // the names are the specification's own
pub mod envcfg {
    pub const FIOM: u64 = 1;
    pub const CBIE: u64 = 3 << 4;
    pub const CBCFE: u64 = 1 << 6;
    pub const CBZE: u64 = 1 << 7;
    pub const ADUE: u64 = 1 << 61;
    pub const PBMTE: u64 = 1 << 62;
    pub const STCE: u64 = 1 << 63;
}

/// Fields of `mseccfg` (privileged 3.1.19).
#[allow(missing_docs)] // the names are the specification's own
pub mod mseccfg {
    pub const MML: u64 = 1;
    pub const MMWP: u64 = 1 << 1;
    pub const RLB: u64 = 1 << 2;
    pub const USEED: u64 = 1 << 8;
    pub const SSEED: u64 = 1 << 9;
}

/// Fields of `mstateen0` (Smstateen); SE is in all four.
#[allow(missing_docs)] // the names are the specification's own
pub mod mstateen {
    pub const ENVCFG: u64 = 1 << 62;
    pub const SE: u64 = 1 << 63;
}

/// Fields of `mhpmevent3` and the following (Sscofpmf).
#[allow(missing_docs)] // the names are the specification's own
pub mod hpmevent {
    pub const EVENT: u64 = (1 << 56) - 1;
    pub const UINH: u64 = 1 << 60;
    pub const SINH: u64 = 1 << 61;
    pub const MINH: u64 = 1 << 62;
    pub const OF: u64 = 1 << 63;
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
    /// Local counter overflow (Sscofpmf).
    pub const LCOFI: u64 = 1 << 13;
    /// Those of the supervisor.
    pub const SUPERVISOR: u64 = SSI | STI | SEI;
    /// The six that every core can have.
    pub const ALL: u64 = SUPERVISOR | MSI | MTI | MEI;
}

/// Cycle counter in `mcountinhibit` and `mcounteren`.
pub(crate) const CY: u32 = 1;
/// Time in `mcounteren`.
pub(crate) const TM: u32 = 2;
/// Counter of retired instructions in `mcountinhibit` and `mcounteren`.
pub(crate) const IR: u32 = 4;

/// Machine and supervisor registers that hold what traps and translation depend on, views and upper halves left out.
/// A recording of a machine begins with them, and verification compares them.
pub const TRAP_AND_TRANSLATION: [u16; 23] = [
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
    SENVCFG,
    STIMECMP,
    MSECCFG,
    MSTATEEN0,
];

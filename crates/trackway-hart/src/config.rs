//! Configuration of a core: widths, extensions, and the choices that the specification leaves open.

use trackway_core::Isa;
use trackway_isa::riscv::Extension;

use crate::extensions::Extensions;
use crate::rules::CsrRules;

/// Treatment of misaligned loads and stores. Atomics always trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misaligned {
    /// It completes.
    Hardware,
    /// It raises an address-misaligned exception.
    Trap,
}

/// Treatment of accessed and dirty bits that need to be set (privileged 4.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdUpdate {
    /// The walk sets it in memory.
    Hardware,
    /// A page-fault exception is raised.
    Trap,
}

/// The largest translation mode; smaller ones of the same width exist as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Paging {
    /// No translation: `satp` is hardwired to 0.
    Bare,
    /// Sv32 on RV32, Sv39 on RV64.
    Sv39,
    /// Sv39 and Sv48.
    Sv48,
    /// Sv39, Sv48 and Sv57.
    Sv57,
}

/// Configuration of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// `Rv32` or `Rv64`; anything else is taken for `Rv64`.
    pub isa: Isa,
    /// Extensions that it has.
    pub extensions: Extensions,
    /// Is there a supervisor level?
    pub supervisor: bool,
    /// Is there a user level?
    pub user: bool,
    /// Largest translation mode.
    pub paging: Paging,
    /// Physical memory protection entries: 0 to 64.
    pub pmp_entries: u8,
    /// Granularity of physical memory protection: 2 to the power of this plus 2, in bytes.
    pub pmp_grain: u8,
    /// Loads and stores that are not aligned.
    pub misaligned: Misaligned,
    /// Accessed and dirty bits.
    pub ad_update: AdUpdate,
    /// Where execution begins after reset.
    pub reset_pc: u64,
    /// `mhartid`.
    pub hart_id: u64,
    /// `mvendorid`.
    pub vendor_id: u64,
    /// `marchid`.
    pub arch_id: u64,
    /// `mimpid`.
    pub imp_id: u64,
    /// Does an illegal instruction put its bits into `xtval`, or 0?
    pub tval_instruction: bool,
    /// Does a breakpoint put its address into `xtval`, or 0?
    pub tval_breakpoint: bool,
    /// Do misaligned and forbidden accesses put their addresses into `xtval`, or 0?
    pub tval_address: bool,
    /// Bits of an address space number: at most 16 on RV64, 9 on RV32.
    pub asid_bits: u8,
    /// Are `cycle`, `time` and `instret` there (Zicntr)?
    pub counters: bool,
    /// Control registers that differ from the model's own choices.
    pub rules: CsrRules,
}

impl Config {
    /// A core with [every instruction](Extensions::ALL) of the model, that starts at `0x8000_0000`.
    pub const fn new(isa: Isa) -> Self {
        Self {
            isa,
            extensions: Extensions::ALL,
            supervisor: true,
            user: true,
            paging: Paging::Sv57,
            pmp_entries: 16,
            pmp_grain: 0,
            misaligned: Misaligned::Hardware,
            ad_update: AdUpdate::Hardware,
            reset_pc: 0x8000_0000,
            hart_id: 0,
            vendor_id: 0,
            arch_id: 0,
            imp_id: 0,
            tval_instruction: true,
            tval_breakpoint: true,
            tval_address: true,
            asid_bits: 16,
            counters: true,
            rules: &[],
        }
    }

    /// Width of an integer register in bits.
    #[inline]
    pub const fn xlen(&self) -> u32 {
        if self.is_rv32() { 32 } else { 64 }
    }

    /// Is it a 32-bit core?
    #[inline]
    pub const fn is_rv32(&self) -> bool {
        matches!(self.isa, Isa::Rv32)
    }

    /// `misa` (privileged 3.1.1). Read-only: extensions are not switched at run time.
    pub const fn misa(&self) -> u64 {
        const fn letter(on: bool, letter: u8) -> u64 {
            (on as u64) << (letter - b'A')
        }
        let e = self.extensions;
        // Privileged 3.1.1: C is all of compressed floating point that F and D call for.
        let compressed = e.has(Extension::C)
            && (!e.has(Extension::D) || e.has(Extension::Zcd))
            && (!e.has(Extension::F) || !self.is_rv32() || e.has(Extension::Zcf));
        let bits = e.has(Extension::Zba) && e.has(Extension::Zbb) && e.has(Extension::Zbs);
        let letters = letter(e.has(Extension::A), b'A')
            | letter(bits, b'B')
            | letter(compressed, b'C')
            | letter(e.has(Extension::D), b'D')
            | letter(e.has(Extension::F), b'F')
            | letter(true, b'I')
            | letter(e.has(Extension::M), b'M')
            | letter(self.supervisor, b'S')
            | letter(self.user, b'U');
        if self.is_rv32() { 1 << 30 | letters } else { 2 << 62 | letters }
    }
}

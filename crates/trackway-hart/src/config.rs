//! Configuration of a core: widths, extensions, and the choices that the specification leaves open.

use trackway_core::Isa;
use trackway_isa::riscv::Extension;

use crate::rules::CsrRules;

/// A set of extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions(u32);

impl Extensions {
    /// Everything that the model knows.
    pub const ALL: Self = Self::of(&[
        Extension::I,
        Extension::Zifencei,
        Extension::Zicsr,
        Extension::M,
        Extension::A,
        Extension::F,
        Extension::D,
        Extension::Zfhmin,
        Extension::Zfh,
        Extension::Zba,
        Extension::Zbb,
        Extension::Zbc,
        Extension::Zbs,
        Extension::Zicond,
        Extension::Zawrs,
        Extension::System,
        Extension::C,
    ]);

    /// The set of these.
    pub const fn of(list: &[Extension]) -> Self {
        let (mut set, mut n) = (0, 0);
        while n < list.len() {
            set |= 1 << list[n] as u32;
            n += 1;
        }
        Self(set)
    }

    /// Is it in the set?
    #[inline]
    pub const fn has(self, extension: Extension) -> bool {
        self.0 >> extension as u32 & 1 != 0
    }

    /// The set with it, or without it.
    pub const fn with(self, extension: Extension, on: bool) -> Self {
        let bit = 1 << extension as u32;
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// Reads an ISA string such as `rv64gc_zba_zbb`. Names that the model does not know are refused with the list of
    /// those that it does.
    pub fn read(text: &str) -> Result<(Isa, Self), String> {
        let lower = text.to_ascii_lowercase();
        let (isa, rest) = match (lower.strip_prefix("rv32"), lower.strip_prefix("rv64")) {
            (Some(rest), _) => (Isa::Rv32, rest),
            (_, Some(rest)) => (Isa::Rv64, rest),
            _ => return Err(format!("{text:?} does not begin with rv32 or rv64")),
        };
        // Names of several letters may follow the letters without an underscore.
        let long = rest.find(['z', 'x', '_']).unwrap_or(rest.len());
        let letters = rest[..long].char_indices().map(|(n, letter)| &rest[n..n + letter.len_utf8()]);
        let names = letters.chain(rest[long..].split('_').filter(|name| !name.is_empty()));
        let mut set = Self::of(&[Extension::System]);
        for name in names {
            set = set.and(name).ok_or_else(|| {
                let known: Vec<&str> = IMPLIES.iter().map(|(name, _)| *name).collect();
                format!("{text:?}: {name:?} is not one of the model's extensions: {}", known.join(" "))
            })?;
        }
        Ok((isa, set))
    }

    /// The ISA string of a core with these extensions, in the order of the unprivileged specification.
    ///
    /// ```
    /// use trackway_core::Isa;
    /// use trackway_hart::Extensions;
    /// let (isa, set) = Extensions::read("rv64gc_zba_zfh").unwrap();
    /// assert_eq!(set.isa_string(isa), "rv64imafdc_zicsr_zifencei_zfh_zfhmin_zba");
    /// assert_eq!(Extensions::read(&set.isa_string(isa)), Ok((isa, set)));
    /// assert!(Extensions::read("rv64gcv").unwrap_err().contains("\"v\" is not one of"));
    /// ```
    pub fn isa_string(self, isa: Isa) -> String {
        const NAMES: [&str; 16] = [
            "i", "m", "a", "f", "d", "c", "zicond", "zicsr", "zifencei", "zawrs", "zfh", "zfhmin", "zba",
            "zbb", "zbc", "zbs",
        ];
        let mut text = String::from(if isa == Isa::Rv32 { "rv32" } else { "rv64" });
        for name in NAMES {
            // All that the name implies.
            if Self(0).and(name).is_some_and(|all| self.0 | all.0 == self.0) {
                text += if name.len() > 1 { "_" } else { "" };
                text += name;
            }
        }
        text
    }

    /// The set with the extension of this name, and with those that it implies; `None` where there is none.
    fn and(self, name: &str) -> Option<Self> {
        let (_, implied) = IMPLIES.iter().find(|(known, _)| *known == name)?;
        Some(Self(self.0 | Self::of(implied).0))
    }
}

/// Names in ISA strings, and the extensions that each stands for. Some only name what the model always has.
const IMPLIES: [(&str, &[Extension]); 23] = [
    ("i", &[Extension::I]),
    ("m", &[Extension::M]),
    ("a", &[Extension::A]),
    ("f", &[Extension::F, Extension::Zicsr]),
    ("d", &[Extension::D, Extension::F, Extension::Zicsr]),
    (
        "g",
        &[
            Extension::I,
            Extension::M,
            Extension::A,
            Extension::F,
            Extension::D,
            Extension::Zicsr,
            Extension::Zifencei,
        ],
    ),
    ("c", &[Extension::C]),
    ("b", &[Extension::Zba, Extension::Zbb, Extension::Zbs]),
    ("s", &[]),
    ("u", &[]),
    ("zicsr", &[Extension::Zicsr]),
    ("zifencei", &[Extension::Zifencei]),
    ("zicntr", &[]),
    ("zihpm", &[]),
    ("zihintpause", &[]),
    ("zicond", &[Extension::Zicond]),
    ("zawrs", &[Extension::Zawrs]),
    ("zfh", &[Extension::Zfh, Extension::Zfhmin]),
    ("zfhmin", &[Extension::Zfhmin]),
    ("zba", &[Extension::Zba]),
    ("zbb", &[Extension::Zbb]),
    ("zbc", &[Extension::Zbc]),
    ("zbs", &[Extension::Zbs]),
];

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
    /// A core with everything, that starts at `0x8000_0000`.
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
        let bits = e.has(Extension::Zba) && e.has(Extension::Zbb) && e.has(Extension::Zbs);
        let letters = letter(e.has(Extension::A), b'A')
            | letter(bits, b'B')
            | letter(e.has(Extension::C), b'C')
            | letter(e.has(Extension::D), b'D')
            | letter(e.has(Extension::F), b'F')
            | letter(true, b'I')
            | letter(e.has(Extension::M), b'M')
            | letter(self.supervisor, b'S')
            | letter(self.user, b'U');
        if self.is_rv32() { 1 << 30 | letters } else { 2 << 62 | letters }
    }
}

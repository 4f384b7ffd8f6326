//! Settings that the trace does not carry: widths, profile, reset pc; and how to write.

use trackway_core::{Error, ErrorKind, Isa, Result};

use crate::register;

/// The encoder that wrote the trace. Existing encoders differ from the specification (`docs/spec-readings/tandem.md`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// As specified.
    #[default]
    Spec,
    /// As the encoders of the Bluespec cores write it.
    Bluespec,
}

impl Profile {
    /// The name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Profile::Spec => "spec",
            Profile::Bluespec => "bluespec",
        }
    }
}

impl std::str::FromStr for Profile {
    type Err = ();

    fn from_str(name: &str) -> std::result::Result<Self, ()> {
        [Profile::Spec, Profile::Bluespec].into_iter().find(|profile| profile.as_str() == name).ok_or(())
    }
}

/// How values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Every pc and register in full, every group ended: what hardware emits.
    #[default]
    Verbose,
    /// Increments where a reader can resolve them, and implied group ends (opcodes 3, 5, 6; chapter 3).
    Compact,
}

impl Style {
    /// The name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Style::Verbose => "verbose",
            Style::Compact => "compact",
        }
    }
}

impl std::str::FromStr for Style {
    type Err = ();

    fn from_str(name: &str) -> std::result::Result<Self, ()> {
        [Style::Verbose, Style::Compact].into_iter().find(|style| style.as_str() == name).ok_or(())
    }
}

/// Parameters that the trace does not carry (chapter 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bits of an integer register: 32 or 64.
    pub xlen: u32,
    /// Bits of a floating-point register: 0, 32 or 64.
    pub flen: u32,
    /// Bits of a memory address: 32, 34 or 64.
    pub mlen: u32,
    /// The encoder that wrote the trace.
    pub profile: Profile,
    /// Address of the first instruction after a reset, which no item carries.
    pub reset_pc: Option<u64>,
    /// Accept the pc identifier as tables C.2, C.7 and C.8 print it (0x10).
    pub lenient: bool,
    /// Accept custom registers (addresses from 0xc000), XLEN wide.
    pub custom: bool,
}

impl Default for Config {
    /// RV64 with D, as in appendix C.
    fn default() -> Self {
        Config {
            xlen: 64,
            flen: 64,
            mlen: 64,
            profile: Profile::Spec,
            reset_pc: None,
            lenient: false,
            custom: false,
        }
    }
}

impl Config {
    /// RV32 with Sv32 and F.
    pub fn rv32() -> Self {
        Config { xlen: 32, flen: 32, mlen: 34, ..Config::default() }
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        if self.xlen == 32 { Isa::Rv32 } else { Isa::Rv64 }
    }

    /// Field widths; refuses combinations that the protocol does not have.
    pub fn widths(&self) -> Result<Widths> {
        let bytes = |field, bits: u32, allowed: &[u32]| -> Result<u8> {
            if allowed.contains(&bits) { Ok(bits.div_ceil(8) as u8) } else { Err(wrong(field, bits)) }
        };
        let xlen = bytes("xlen", self.xlen, &[32, 64])?;
        // MLEN of RV64 is 64; of RV32 it is 34 with Sv32, else 32.
        let mlen = bytes("mlen", self.mlen, if xlen == 8 { &[64] } else { &[32, 34] })?;
        Ok(Widths {
            xlen,
            flen: bytes("flen", self.flen, &[0, 32, 64])?,
            mlen,
            // Bluespec encoders write effective addresses XLEN wide.
            eaddr: if self.profile == Profile::Bluespec { xlen } else { mlen },
            lenient: self.lenient,
            custom: self.custom,
        })
    }
}

fn wrong(field: &'static str, bits: u32) -> Error {
    ErrorKind::Unsupported { found: bits.into() }.at(0, "parameter", field, "Tandem 3")
}

/// Widths in bytes of the fields that vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// GPRs, CSRs, pc.
    pub xlen: u8,
    /// FPRs; 0 where there are none.
    pub flen: u8,
    /// Physical addresses and those of memory requests.
    pub mlen: u8,
    /// Effective addresses.
    pub eaddr: u8,
    /// The pc identifier 0x10 is accepted.
    pub lenient: bool,
    /// Custom registers are accepted.
    pub custom: bool,
}

impl Widths {
    pub(crate) fn isa(&self) -> Isa {
        if self.xlen == 4 { Isa::Rv32 } else { Isa::Rv64 }
    }

    /// Width of the register at `address`; `None` if no register has it (`docs/spec-readings/tandem.md`).
    #[inline(always)]
    pub fn register(&self, address: u16) -> Option<u8> {
        match address {
            0..register::FPR => Some(self.xlen),
            register::FPR..register::END => (self.flen > 0).then_some(self.flen),
            register::CUSTOM.. if self.custom => Some(self.xlen),
            _ => None,
        }
    }
}

/// Settings for writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteConfig {
    /// Widths, profile and reset pc.
    pub config: Config,
    /// Full values, or increments where possible.
    pub style: Style,
}

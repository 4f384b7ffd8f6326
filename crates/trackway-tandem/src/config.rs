//! Settings that the trace does not carry: widths, profile, reset pc; and how to write.

use serde::{Deserialize, Deserializer, de};
use trackway_core::{Error, ErrorKind, FormatId, Isa, Result};
use trackway_format::Number;
use trackway_io::Compression;

use crate::register;

/// The id of the format.
pub const ID: FormatId = FormatId::new("tandem");

trackway_format::settings! {
    /// `[tandem]` in the settings: overrides of the [`Config`] that was recognised, and how to write.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Section {
        /// Width of integer registers in bits: 32 or 64.
        xlen: Option<u32> = "64",
        /// Width of floating-point registers in bits: 0, 32 or 64.
        flen: Option<u32> = "64",
        /// Width of memory addresses in bits: 64 for RV64; 32, or 34 with Sv32, for RV32.
        mlen: Option<u32> = "64",
        /// Profile: spec or bluespec; for writing also a style, verbose or compact (bluespec-compact).
        profile: Option<ProfileAndStyle> = "\"bluespec\"",
        /// Address of the first instruction after a hart reset, which no item carries.
        reset_pc: Option<Number> = "0x1000",
        /// Accept the pc identifier 0x10, as tables C.2, C.7 and C.8 print it.
        lenient: Option<bool> = "false",
        /// Accept custom registers (addresses from 0xc000), XLEN wide.
        custom: Option<bool> = "false",
        /// Container to write: plain, gzip, xz or zstd. The default depends on the name of the file.
        pub(crate) container: Option<Container> = "\"zstd\"",
        /// Compression level to write with.
        pub(crate) level: Option<i32> = "3",
    }
}

impl Section {
    /// `base` with the settings applied.
    pub(crate) fn apply(&self, base: Config) -> Config {
        let mut config = base;
        if let Some(xlen) = self.xlen.filter(|&xlen| xlen != base.xlen) {
            // The other widths follow unless they are set.
            let usual = if xlen == 32 { Config::rv32() } else { Config::default() };
            config = Config { xlen, flen: usual.flen, mlen: usual.mlen, ..config };
        }
        Config {
            flen: self.flen.unwrap_or(config.flen),
            mlen: self.mlen.unwrap_or(config.mlen),
            profile: self.profile.and_then(|name| name.profile).unwrap_or(config.profile),
            reset_pc: self.reset_pc.map(|number| number.0).or(config.reset_pc),
            lenient: self.lenient.unwrap_or(config.lenient),
            custom: self.custom.unwrap_or(config.custom),
            ..config
        }
    }

    /// The style to write, if one is set.
    pub(crate) fn style(&self) -> Option<Style> {
        self.profile.and_then(|name| name.style)
    }
}

/// A profile, a style, or both with a hyphen between them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProfileAndStyle {
    profile: Option<Profile>,
    style: Option<Style>,
}

impl<'de> Deserialize<'de> for ProfileAndStyle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut found = ProfileAndStyle::default();
        for name in text.split('-') {
            match (name.parse(), name.parse()) {
                (Ok(profile), _) => found.profile = Some(profile),
                (_, Ok(style)) => found.style = Some(style),
                _ => {
                    let known = "spec, bluespec, verbose, compact, or two of them as in bluespec-compact";
                    return Err(de::Error::custom(format!("profile {name:?} is not one of {known}")));
                }
            }
        }
        Ok(found)
    }
}

/// The compression around a trace, if any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Container(pub(crate) Option<Compression>);

impl<'de> Deserialize<'de> for Container {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == "plain" {
            return Ok(Container(None));
        }
        let wrong = |()| de::Error::custom(format!("container {name:?} is not one of plain, gzip, xz, zstd"));
        name.parse().map(|compression| Container(Some(compression))).map_err(wrong)
    }
}

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

    /// Are they those of most traces? Hot loops have a copy in which these are constants.
    #[inline(always)]
    pub(crate) fn is_64(&self) -> bool {
        (self.xlen == 8) & (self.mlen == 8) & (self.eaddr == 8)
    }

    /// The same widths, if [`is_64`](Widths::is_64).
    #[inline(always)]
    pub(crate) fn as_64(&self) -> Widths {
        Widths { xlen: 8, mlen: 8, eaddr: 8, ..*self }
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

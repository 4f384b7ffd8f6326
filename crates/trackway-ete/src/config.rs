//! The trace unit as its ID and configuration registers describe it (K10.5.1.3), and how to decode.

use std::collections::BTreeMap;

use serde::Deserialize;
use trackway_core::FormatId;
use trackway_format::Program;

use crate::profile::Profile;

/// The format's name.
pub(crate) const ID: FormatId = FormatId::new("ete");

/// How trace bytes are stored in a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Framing {
    /// The bytes of one trace unit as they are.
    #[default]
    Raw,
    /// 16-byte frames, aligned to the start of the buffer.
    Coresight,
    /// Frames between frame synchronisations, which may start anywhere; captured by a probe. Blocks of
    /// 512 bytes with an 8-byte footer each are recognised.
    Dstream,
}

impl Framing {
    /// The word that a snapshot uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Framing::Raw => "source_data",
            Framing::Coresight => "coresight",
            Framing::Dstream => "dstream_coresight",
        }
    }
}

impl std::str::FromStr for Framing {
    type Err = ConfigError;

    fn from_str(word: &str) -> Result<Self, ConfigError> {
        let word = word.trim();
        let all = [Framing::Raw, Framing::Coresight, Framing::Dstream];
        let framing = all.into_iter().find(|framing| framing.as_str().eq_ignore_ascii_case(word));
        let message = || format!("`{word}` is not one of source_data, coresight, dstream_coresight");
        framing.ok_or_else(|| ConfigError { message: message() })
    }
}

impl TryFrom<String> for Framing {
    type Error = ConfigError;

    fn try_from(word: String) -> Result<Self, ConfigError> {
        word.parse()
    }
}

/// How to decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of threads; the events are the same for any number.
    pub threads: usize,
    /// Stop where the program contradicts the trace.
    pub strict: bool,
    /// Show cancelled speculation and failed transactions, marked.
    pub show_withdrawn: bool,
    /// Offset of the oldest byte in a circular buffer.
    pub write_pointer: Option<u64>,
    /// Minimum size in bytes of a part that a thread decodes; `None` for one whose overhead does not matter.
    pub min_part: Option<usize>,
    /// Trace ids of sources in the same frames, one bit each; those that are decoded are known anyway.
    pub known_ids: u128,
    /// Trace ids that begin once in the frames and that no source has, one bit each; `None` to look for them.
    pub strange_ids: Option<u128>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 1,
            strict: false,
            show_withdrawn: false,
            write_pointer: None,
            min_part: None,
            known_ids: 0,
            strange_ids: None,
        }
    }
}

/// The properties of packets on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// ETE, else ETMv4.
    pub ete: bool,
    /// Minor version: ETE 1.x or ETMv4.x.
    pub minor: u8,
    /// TRCIDR0.COMMOPT: cycle counts carry no commits.
    pub commopt: bool,
    /// TRCIDR0.QSUPP: there are Q packets.
    pub q: bool,
    /// Bytes of a virtual context identifier; 0 if it is not traced.
    pub vmid_bytes: u8,
    /// Bytes of a context identifier; 0 if it is not traced.
    pub context_id_bytes: u8,
    /// Bits of a timestamp.
    pub timestamp_bits: u8,
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The reason.
    pub message: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

pub(crate) fn refuse<T>(message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { message: message.into() })
}

/// One trace unit, as its registers describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Name of the source.
    pub name: String,
    /// Name of the core.
    pub core: String,
    /// Register values by upper-case name.
    pub registers: BTreeMap<String, u64>,
    /// The properties of packets.
    pub dialect: Dialect,
    /// TRCTRACEIDR: the trace id in frames.
    pub trace_id: u8,
    /// TRCIDR8.MAXSPEC: maximum number of unresolved P0 elements.
    pub max_spec: u32,
    /// TRCIDR0.COMMTRANS is 0: a transaction start is a P0 element.
    pub start_is_p0: bool,
    /// TRCIDR2.WFXMODE: WFI, WFE and their timed forms are P0 instructions.
    pub wfx_is_p0: bool,
    /// TRCCONFIGR.RS: the return stack is enabled.
    pub return_stack: bool,
    /// TRCCONFIGR.TS: timestamps are enabled.
    pub timestamps: bool,
    /// Profile of the core.
    pub profile: Profile,
}

/// Defaults for registers that are not given: an ETE 1.3 unit with the usual sizes and no speculation.
pub(crate) const USUAL: [(&str, u64); 5] = [
    ("TRCIDR0", 0x28c1_cea1),
    ("TRCIDR1", 0x4100_fff0),
    ("TRCIDR2", 0xd000_1088),
    ("TRCIDR8", 0),
    ("TRCCONFIGR", 1),
];

impl Config {
    /// From registers; `ete` is the architecture that the device claims, if no register has it.
    pub fn from_registers(
        name: impl Into<String>,
        registers: BTreeMap<String, u64>,
        ete: Option<bool>,
    ) -> Result<Self, ConfigError> {
        let name = name.into();
        let get = |register: &str| registers.get(register).copied();
        let usual = |register: &str| {
            get(register).or_else(|| USUAL.iter().find(|row| row.0 == register).map(|row| row.1)).unwrap_or(0)
        };
        let idr0 = usual("TRCIDR0");
        let idr2 = usual("TRCIDR2");
        let configr = usual("TRCCONFIGR");
        let field = |value: u64, high: u32, low: u32| value >> low & ((1 << (high - low + 1)) - 1);

        let (ete, minor) = version(get("TRCDEVARCH"), get("TRCIDR1"), ete)?;
        let instp0 = field(configr, 2, 1);
        if !ete && field(idr0, 2, 1) == 3 && instp0 != 0 {
            return refuse(format!(
                "{name}: TRCCONFIGR.INSTP0 is {instp0}: load and store P0 is not decoded"
            ));
        }
        if !ete && field(configr, 10, 8) != 0 {
            return refuse(format!("{name}: TRCCONFIGR.COND: conditional instruction trace is not decoded"));
        }
        if !ete && field(configr, 17, 16) != 0 {
            return refuse(format!("{name}: TRCCONFIGR.DA/DV: data trace is not decoded"));
        }
        let vmid = field(idr2, 14, 10);
        // ETE has only identifiers of four bytes.
        let sizes: &[u64] = if ete { &[0, 4] } else { &[0, 1, 2, 4] };
        for (what, bytes, sizes) in [("VMIDSIZE", vmid, sizes), ("CIDSIZE", field(idr2, 9, 5), &[0, 4])] {
            if !sizes.contains(&bytes) {
                return refuse(format!(
                    "{name}: TRCIDR2.{what} is {bytes}, which {} does not have: {sizes:?} bytes",
                    if ete { "ETE" } else { "ETMv4" }
                ));
            }
        }
        let dialect = Dialect {
            ete,
            minor,
            commopt: field(idr0, 29, 29) == 1,
            // An ETE unit may send Q packets although QSUPP is 0.
            q: ete || field(idr0, 16, 15) != 0,
            vmid_bytes: if !ete && minor == 0 && vmid != 0 { 1 } else { vmid as u8 },
            context_id_bytes: field(idr2, 9, 5) as u8,
            timestamp_bits: if ete || field(idr0, 28, 24) == 8 { 64 } else { 48 },
        };
        Ok(Config {
            dialect,
            trace_id: (usual("TRCTRACEIDR") & 0x7f) as u8,
            max_spec: usual("TRCIDR8") as u32,
            start_is_p0: field(idr0, 30, 30) == 0,
            wfx_is_p0: field(idr2, 31, 31) == 1 && (ete || minor >= 3),
            return_stack: field(configr, 12, 12) == 1,
            timestamps: field(configr, 11, 11) == 1,
            profile: Profile::A,
            core: String::new(),
            name,
            registers,
        })
    }

    /// Version as text: `ETE 1.3`, `ETMv4.2`.
    pub fn version(&self) -> String {
        let Dialect { ete, minor, .. } = self.dialect;
        if ete { format!("ETE 1.{minor}") } else { format!("ETMv4.{minor}") }
    }
}

/// ETE or ETMv4, and the minor version: by TRCDEVARCH, then TRCIDR1, then the device's claim.
fn version(devarch: Option<u64>, idr1: Option<u64>, ete: Option<bool>) -> Result<(bool, u8), ConfigError> {
    let of_idr1 = |idr1: u64| ((idr1 >> 8 & 0xf) as u8, (idr1 >> 4 & 0xf) as u8);
    match (devarch.map(|value| (value >> 12 & 0xf, (value >> 16 & 0xf) as u8)), idr1.map(of_idr1)) {
        (Some((5, revision)), _) => Ok((true, revision)),
        (_, Some((4, minor))) => Ok((false, minor)),
        (Some((4, revision)), _) => Ok((false, revision)),
        (_, Some((0xf, _))) | (None, None) if ete != Some(false) => Ok((true, 3)),
        (None, None) => Ok((false, 0)),
        (_, Some((major, minor))) => {
            refuse(format!("TRCIDR1: architecture {major}.{minor} is neither ETMv4 nor ETE"))
        }
        (Some((version, _)), None) => {
            refuse(format!("TRCDEVARCH: architecture {version} is neither ETMv4 nor ETE"))
        }
    }
}

/// Registers as settings that can be read back.
pub(crate) fn to_toml<'c>(
    configs: impl Iterator<Item = &'c Config>,
    framing: Framing,
    program: &Program,
) -> String {
    let mut text = format!("[ete]\nformat = \"{}\"\n", framing.as_str());
    for (key, files) in [("program", &program.elf), ("images", &program.raw)] {
        if !files.is_empty() {
            text += &format!("{key} = {files:?}\n");
        }
    }
    for Config { name, core, registers, profile, .. } in configs {
        text += &format!("\n[[ete.sources]]\nname = {name:?}\ncore = {core:?}\n");
        if *profile != Profile::A {
            text += &format!("profile = \"{}\"\n", profile.core());
        }
        for (register, value) in registers.iter().filter(|(register, _)| is_register(register)) {
            text += &match i64::try_from(*value) {
                Ok(_) => format!("{register} = {value:#x}\n"),
                // TOML's integers are signed.
                Err(_) => format!("{register} = \"{value:#x}\"\n"),
            };
        }
    }
    text
}

/// Register names, in any case.
pub(crate) fn is_register(name: &str) -> bool {
    name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("TRC"))
}

/// A number in decimal or, after `0x`, in hex.
pub(crate) fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(registers: &[(&str, u64)]) -> Config {
        let registers = registers.iter().map(|&(name, value)| (name.to_string(), value)).collect();
        Config::from_registers("x", registers, None).unwrap()
    }

    #[test]
    fn k10_5_1_3_fields_of_an_ete_unit() {
        let config = config(&[
            ("TRCIDR0", 0x28c1_cea1),
            ("TRCIDR1", 0x4100_fff0),
            ("TRCIDR2", 0xd000_1088),
            ("TRCIDR8", 15),
            ("TRCCONFIGR", 0x18c1),
            ("TRCDEVARCH", 0x4773_5a13),
            ("TRCTRACEIDR", 0x11),
        ]);
        assert_eq!(config.version(), "ETE 1.3");
        assert!(config.dialect.commopt && config.start_is_p0 && config.wfx_is_p0);
        assert!(config.return_stack && config.timestamps);
        assert_eq!((config.max_spec, config.trace_id), (15, 0x11));
        assert_eq!((config.dialect.vmid_bytes, config.dialect.context_id_bytes), (4, 4));
    }

    #[test]
    fn fields_of_an_etmv4_unit() {
        let config = config(&[("TRCIDR0", 0x2800_0ea1), ("TRCIDR1", 0x4100_f403), ("TRCIDR2", 0x488)]);
        assert_eq!(config.version(), "ETMv4.0");
        assert_eq!((config.dialect.vmid_bytes, config.dialect.context_id_bytes), (1, 4));
        assert!(!config.dialect.q && !config.wfx_is_p0);
        assert_eq!(config.dialect.timestamp_bits, 64);
    }

    #[test]
    fn refuses_trace_that_is_not_decoded() {
        let try_config = |configr: u64| {
            let registers = [("TRCIDR0", 0x2800_0ea7), ("TRCIDR1", 0x4100_f403), ("TRCCONFIGR", configr)];
            Config::from_registers("x", registers.map(|(n, v)| (n.to_string(), v)).into(), None)
        };
        assert!(try_config(1).is_ok());
        assert!(try_config(7).unwrap_err().message.contains("INSTP0"));
        assert!(try_config(0x101).unwrap_err().message.contains("COND"));
        assert!(try_config(0x1_0001).unwrap_err().message.contains("DA/DV"));
        let odd = Config::from_registers("x", [("TRCIDR2".to_string(), 0x488)].into(), Some(true));
        assert!(odd.unwrap_err().message.contains("TRCIDR2.VMIDSIZE is 1"));
        let five = Config::from_registers("x", [("TRCIDR1".to_string(), 0x300)].into(), None);
        assert!(five.unwrap_err().message.contains("neither"));
    }
}

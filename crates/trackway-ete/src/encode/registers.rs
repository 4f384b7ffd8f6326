//! The registers that program a trace unit (K10.5.7) and describe it (TRCIDRn).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::{Config, ConfigError, refuse};

/// A register, or several of one name followed by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Name, without the number.
    pub(crate) name: &'static str,
    /// First number and count of numbered registers.
    pub(crate) numbers: Option<(u8, u8)>,
    /// 64 bits wide, else 32.
    pub(crate) wide: bool,
}

const fn one(name: &'static str) -> Row {
    Row { name, numbers: None, wide: false }
}

const fn many(name: &'static str, first: u8, count: u8, wide: bool) -> Row {
    Row { name, numbers: Some((first, count)), wide }
}

/// K10.5.7.6: the registers that an operating system saves and restores, in the order of the list.
pub(crate) const SAVED: &[Row] = &[
    one("TRCPRGCTLR"),
    one("TRCCONFIGR"),
    one("TRCAUXCTLR"),
    one("TRCEVENTCTL0R"),
    one("TRCEVENTCTL1R"),
    one("TRCRSR"),
    one("TRCSTALLCTLR"),
    one("TRCTSCTLR"),
    one("TRCSYNCPR"),
    one("TRCCCCTLR"),
    one("TRCBBCTLR"),
    one("TRCTRACEIDR"),
    one("TRCQCTLR"),
    one("TRCVICTLR"),
    one("TRCVIIECTLR"),
    one("TRCVISSCTLR"),
    one("TRCVIPCSSCTLR"),
    many("TRCSEQEVR", 0, 3, false),
    one("TRCSEQRSTEVR"),
    one("TRCSEQSTR"),
    many("TRCEXTINSELR", 0, 4, false),
    many("TRCCNTRLDVR", 0, 4, false),
    many("TRCCNTCTLR", 0, 4, false),
    many("TRCCNTVR", 0, 4, false),
    many("TRCIMSPEC", 0, 8, false),
    many("TRCRSCTLR", 2, 30, false),
    many("TRCSSCCR", 0, 8, false),
    many("TRCSSCSR", 0, 8, false),
    many("TRCSSPCICR", 0, 8, false),
    many("TRCACVR", 0, 16, true),
    many("TRCACATR", 0, 16, true),
    many("TRCCIDCVR", 0, 8, true),
    many("TRCVMIDCVR", 0, 8, true),
    one("TRCCIDCCTLR0"),
    one("TRCCIDCCTLR1"),
    one("TRCVMIDCCTLR0"),
    one("TRCVMIDCCTLR1"),
];

/// Read-only registers: identification and status.
pub(crate) const READ_ONLY: &[Row] = &[many("TRCIDR", 0, 14, false), one("TRCDEVARCH"), one("TRCSTATR")];

/// Registers that say nothing about the packets: management, and ETMv4's data trace. Dumps have them.
const OTHERS: &[Row] = &[
    one("TRCPROCSELR"),
    one("TRCITEEDCR"),
    one("TRCVDCTLR"),
    one("TRCVDSACCTLR"),
    one("TRCVDARCCTLR"),
    many("TRCDVCVR", 0, 8, true),
    many("TRCDVCMR", 0, 8, true),
    one("TRCOSLAR"),
    one("TRCOSLSR"),
    one("TRCPDCR"),
    one("TRCPDSR"),
    one("TRCITCTRL"),
    one("TRCCLAIMSET"),
    one("TRCCLAIMCLR"),
    many("TRCDEVAFF", 0, 2, false),
    one("TRCLAR"),
    one("TRCLSR"),
    one("TRCAUTHSTATUS"),
    one("TRCDEVID"),
    many("TRCDEVID", 1, 2, false),
    one("TRCDEVTYPE"),
    many("TRCPIDR", 0, 8, false),
    many("TRCCIDR", 0, 4, false),
];

/// Refuses a name that no register has.
pub(crate) fn check_name(name: &str) -> Result<(), ConfigError> {
    let all = || SAVED.iter().chain(READ_ONLY).chain(OTHERS);
    if all().any(|row| row.has(name)) {
        return Ok(());
    }
    let names: Vec<String> = all().flat_map(names).collect();
    let near = trackway_format::suggest(name, names.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    refuse(format!("{name}: no such register{near}"))
}

/// The registers of a row.
pub(crate) fn names(row: &Row) -> impl Iterator<Item = String> + '_ {
    let (first, count) = row.numbers.unwrap_or((0, 1));
    (first..first + count).map(move |number| match row.numbers {
        Some(_) => format!("{}{number}", row.name),
        None => row.name.to_string(),
    })
}

impl Row {
    fn has(&self, name: &str) -> bool {
        match self.numbers {
            None => self.name == name,
            Some((first, count)) => name
                .strip_prefix(self.name)
                .and_then(|number| number.parse::<u8>().ok())
                .is_some_and(|number| (first..first + count).contains(&number)),
        }
    }
}

/// True if the unit has a register of this name.
pub(crate) fn is_register(name: &str) -> bool {
    SAVED.iter().chain(READ_ONLY).any(|row| row.has(name))
}

/// The implementation options that the TRCIDR registers describe.
///
/// ```
/// use trackway_ete::encode::{Implementation, Registers};
/// let registers = Registers::new(&Implementation { max_spec: 15, ..Implementation::default() });
/// assert_eq!(registers.get("TRCIDR8"), 15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Implementation {
    /// Minor version: ETE 1.x.
    pub minor: u8,
    /// TRCIDR8.MAXSPEC: maximum number of unresolved P0 elements.
    pub max_spec: u32,
    /// TRCIDR0.COMMOPT: cycle counts carry no commits.
    pub commopt: bool,
    /// TRCIDR0.COMMTRANS: a transaction start is not a P0 element.
    pub commtrans: bool,
    /// TRCIDR2.WFXMODE: WFI, WFE and their timed forms are P0 instructions.
    pub wfx_is_p0: bool,
    /// TRCIDR0.TSMARK: a marker where a timestamp was requested (ETE 1.1).
    pub timestamp_markers: bool,
    /// TRCIDR2.CCSIZE: bits of the cycle counter, 12 to 20.
    pub cycle_bits: u8,
}

impl Default for Implementation {
    fn default() -> Self {
        Implementation {
            minor: 3,
            max_spec: 0,
            commopt: true,
            commtrans: false,
            wfx_is_p0: true,
            timestamp_markers: false,
            cycle_bits: 20,
        }
    }
}

impl Implementation {
    /// The TRCIDR registers and TRCDEVARCH.
    pub fn registers(&self) -> [(&'static str, u64); 9] {
        let bit = |set: bool, at: u32| u64::from(set) << at;
        // 64-bit timestamps, Q elements of all kinds, four events, return stack, cycle counts, broadcast.
        let idr0 = 0x0801_cea1
            | bit(self.minor >= 2, 22)
            | bit(self.timestamp_markers && self.minor >= 1, 23)
            | bit(self.commopt, 29)
            | bit(self.commtrans, 30);
        // 64-bit addresses, 32-bit identifiers, CONTEXTIDR_EL2 as virtual context identifier.
        let idr2 =
            0x4000_1088 | u64::from(self.cycle_bits.clamp(12, 20) - 12) << 25 | bit(self.wfx_is_p0, 31);
        [
            ("TRCIDR0", idr0),
            ("TRCIDR1", 0x4100_fff0),
            ("TRCIDR2", idr2),
            // All exception levels, stalling, system errors can be forced, thresholds from 4 on.
            ("TRCIDR3", 0x057f_0004 | 1 << 28),
            // 8 pairs of address comparators, 8 of each identifier, 16 pairs of resource selectors.
            ("TRCIDR4", 0x880f_0008),
            // External inputs are chosen by the selectors.
            ("TRCIDR5", 0x0884_09ff),
            ("TRCIDR8", u64::from(self.max_spec)),
            ("TRCIDR9", 0),
            ("TRCDEVARCH", 0x4770_5a13 | u64::from(self.minor) << 16),
        ]
    }
}

/// A way to program a trace unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Preset {
    /// [`Registers::everything`].
    #[default]
    Everything,
    /// [`Registers::minimal`].
    Minimal,
    /// [`Registers::exclude`].
    Exclude,
    /// [`Registers::include`].
    Include,
}

/// Values of registers by name; 0 unless written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers(pub BTreeMap<String, u64>);

impl Registers {
    /// The registers of a unit that is not programmed.
    pub fn new(implementation: &Implementation) -> Self {
        let mut registers = Registers::default();
        registers.put(&implementation.registers());
        registers
    }

    /// The value of a register.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// The value of a numbered register.
    pub(crate) fn at(&self, name: &str, number: usize) -> u64 {
        self.get(&format!("{name}{number}"))
    }

    /// Bits `high` to `low` of a register.
    pub(crate) fn field(&self, name: &str, high: u32, low: u32) -> u64 {
        self.get(name) >> low & (u64::MAX >> (63 - (high - low)))
    }

    /// Sets a register.
    pub fn set(&mut self, name: &str, value: u64) {
        self.0.insert(name.to_string(), value);
    }

    /// Sets several registers.
    pub fn put(&mut self, values: &[(&str, u64)]) {
        for &(name, value) in values {
            self.set(name, value);
        }
    }

    /// Programs the unit; `first` and `last` are the addresses of [`Preset::Exclude`] and [`Preset::Include`].
    pub(crate) fn preset(self, preset: Preset, first: u64, last: u64) -> Self {
        match preset {
            Preset::Everything => self.everything(),
            Preset::Minimal => self.minimal(),
            Preset::Exclude => self.exclude(first, last),
            Preset::Include => self.include(first, last),
        }
    }

    /// Continuous tracing (K10.5.7.3): all exception levels, with the return stack, identifiers, events from outside and
    /// synchronisation every 4096 bytes.
    pub fn everything(mut self) -> Self {
        self.put(&[
            ("TRCCONFIGR", 0x10c1),
            ("TRCEVENTCTL0R", 0),
            ("TRCEVENTCTL1R", 0xf),
            ("TRCSTALLCTLR", 0),
            ("TRCSYNCPR", 0xc),
            ("TRCTRACEIDR", 0x10),
            ("TRCTSCTLR", 0),
            ("TRCVICTLR", 0x201),
            ("TRCVIIECTLR", 0),
            ("TRCVISSCTLR", 0),
        ]);
        self
    }

    /// Table K10-3: one process at EL0, Non-secure or Realm.
    pub fn minimal(mut self) -> Self {
        self.put(&[
            ("TRCCONFIGR", 0x18c1),
            ("TRCEVENTCTL0R", 0),
            ("TRCEVENTCTL1R", 0),
            ("TRCSTALLCTLR", 0),
            ("TRCSYNCPR", 0xc),
            ("TRCTRACEIDR", 0x10),
            ("TRCTSCTLR", 0),
            ("TRCVICTLR", 0x006f_0201),
            ("TRCVIIECTLR", 0),
            ("TRCVISSCTLR", 0),
        ]);
        self
    }

    /// K10.5.7.4: [`minimal`](Registers::minimal) without the instructions from `first` to `last`.
    pub fn exclude(self, first: u64, last: u64) -> Self {
        self.minimal().range(0x0001_0000, first, last)
    }

    /// K10.5.7.5: [`minimal`](Registers::minimal) with only the instructions from `first` to `last`.
    pub fn include(self, first: u64, last: u64) -> Self {
        self.minimal().range(0x0000_0001, first, last)
    }

    /// Address range comparator 0, used by TRCVIIECTLR.
    fn range(mut self, control: u64, first: u64, last: u64) -> Self {
        self.put(&[
            ("TRCVIIECTLR", control),
            ("TRCACATR0", 0),
            ("TRCACVR0", first),
            ("TRCACATR1", 0),
            ("TRCACVR1", last),
        ]);
        self
    }

    /// The configuration for a decoder.
    pub fn config(&self, name: &str) -> Result<Config, ConfigError> {
        let config = Config::from_registers(name, self.0.clone(), Some(true))?;
        if !config.dialect.ete {
            return refuse(format!(
                "{name}: the trace unit writes ETE, but TRCDEVARCH and TRCIDR1 are those of ETMv4"
            ));
        }
        Ok(config)
    }

    /// Refuses unknown registers.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.0.keys().try_for_each(|name| check_name(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_3_values_of_the_minimal_programming() {
        let registers = Registers::new(&Implementation::default()).minimal();
        let config = registers.config("x").unwrap();
        assert!(config.return_stack && config.timestamps);
        assert_eq!((registers.get("TRCVICTLR"), registers.get("TRCSYNCPR")), (0x006f_0201, 0xc));
        let excluding = Registers::default().exclude(0x2000, 0x200f);
        assert_eq!((excluding.get("TRCVIIECTLR"), excluding.get("TRCACVR1")), (0x1_0000, 0x200f));
        let including = Registers::default().include(0x2000, 0x200f);
        assert_eq!((including.get("TRCVIIECTLR"), including.get("TRCACVR0")), (1, 0x2000));
    }

    #[test]
    fn the_decoder_reads_the_implementation() {
        let implementation = Implementation {
            minor: 1,
            max_spec: 7,
            commopt: false,
            commtrans: true,
            wfx_is_p0: false,
            timestamp_markers: true,
            cycle_bits: 16,
        };
        let config = Registers::new(&implementation).config("x").unwrap();
        assert_eq!(config.version(), "ETE 1.1");
        assert_eq!((config.max_spec, config.dialect.commopt, config.start_is_p0), (7, false, false));
        assert!(!config.wfx_is_p0 && config.dialect.vmid_bytes == 4 && config.dialect.context_id_bytes == 4);
        let usual = Registers::new(&Implementation::default()).config("x").unwrap();
        assert!(usual.wfx_is_p0 && usual.start_is_p0 && usual.dialect.commopt);
    }

    #[test]
    fn names_of_registers() {
        for name in ["TRCPRGCTLR", "TRCACVR15", "TRCRSCTLR2", "TRCIDR13", "TRCCIDCCTLR1"] {
            assert!(is_register(name), "{name}");
        }
        for name in ["TRCACVR16", "TRCRSCTLR1", "TRCFOO", "TRCSEQEVR3", ""] {
            assert!(!is_register(name), "{name}");
        }
    }
}

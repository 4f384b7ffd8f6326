//! Settings in TOML: `[ete]` with the registers of a trace unit, `[[ete.sources]]` for several, and `[ete.unit]` for the
//! trace unit that writes.

use std::collections::BTreeMap;

use serde::Deserialize;
use trackway_core::Meta;
use trackway_format::{Error, Key, Number, Program, Result, Sample, Settings, Value};

use crate::config::{Config, Framing, ID, is_register};
use crate::encode::{
    EncodeConfig, FifoModel, Implementation, Model, Preset, Registers, SourceAddresses, UnitConfig,
    check_name,
};
use crate::profile::Profile;
use crate::transport::buffer::{BufferConfig, Mode};

trackway_format::settings! {
    /// `[ete]`, apart from registers.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Section {
        /// How trace bytes are stored: "source_data" (raw), "coresight" (frames) or "dstream_coresight" (a probe's
        /// frames). Without it the content decides.
        pub(crate) format: Option<Framing> = "\"source_data\"",
        /// Name of the source.
        pub(crate) name: Option<String> = "\"ete\"",
        /// Name of its core.
        pub(crate) core: String = "\"cpu_0\"",
        /// The core or its architecture, for ETMv4 of the M profile: "Cortex-M33", "ARMv7-M".
        pub(crate) profile: Option<String> = "\"Cortex-A53\"",
        /// Reading a stream: ELF files that ran, PATH[@ADDR] each, relative to this file. --elf overrides.
        pub(crate) program: Vec<String> = "[]",
        /// Reading a stream: raw memory images that ran, PATH@ADDR each. --image overrides.
        pub(crate) images: Vec<String> = "[]",
        /// Reading: show cancelled speculation and failed transactions, marked.
        pub(crate) show_withdrawn: bool = "false",
        /// Reading: offset of the oldest byte in the dump of a circular buffer.
        pub(crate) write_pointer: Option<u64> = "0",
        /// A trace unit each, if there are several: the same keys and registers.
        pub(crate) sources: Vec<SourceSection> = (Tables SOURCE_KEYS),
        /// Writing: the trace unit.
        pub(crate) unit: UnitSection = (Table UnitSection::KEYS),
    }
}

trackway_format::settings! {
    /// `[[ete.sources]]`, apart from registers.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct SourceSection {
        /// Name of the source.
        name: Option<String> = "\"core_0\"",
        /// Name of its core.
        core: String = "\"cpu_0\"",
        /// The core or its architecture.
        profile: Option<String> = "\"Cortex-A53\"",
    }
}

/// Registers that decide how packets are read; all others are accepted too. Text is hex, as sysfs has it.
const REGISTER_KEYS: [Key; 7] = [
    register("TRCIDR0", &["COMMOPT, COMMTRANS, QSUPP, TSSIZE."], "0x28c1cea1"),
    register("TRCIDR1", &["Architecture version, if TRCDEVARCH is not given."], "0x4100fff0"),
    register("TRCIDR2", &["Sizes of identifiers, WFXMODE."], "0xd0001088"),
    register("TRCIDR8", &["MAXSPEC: maximum number of unresolved P0 elements."], "0"),
    register("TRCCONFIGR", &["RS (return stack), TS (timestamps), and others when writing."], "0x1"),
    register("TRCTRACEIDR", &["Trace id in frames."], "0x10"),
    register("TRCDEVARCH", &["Architecture: ETE 1.x or ETMv4.x."], "0x47735a13"),
];

const fn register(name: &'static str, doc: &'static [&'static str], sample: &'static str) -> Key {
    Key { name, doc, sample: Sample::Value(sample) }
}

const fn with_registers<const N: usize>(keys: &[Key]) -> [Key; N] {
    let mut all = [REGISTER_KEYS[0]; N];
    let mut n = 0;
    while n < N {
        all[n] = if n < keys.len() { keys[n] } else { REGISTER_KEYS[n - keys.len()] };
        n += 1;
    }
    all
}

const SOURCE_KEYS: &[Key] = &with_registers::<{ SourceSection::KEYS.len() + 7 }>(SourceSection::KEYS);

/// All keys of `[ete]`.
pub(crate) const KEYS: &[Key] = &with_registers::<{ Section::KEYS.len() + 7 }>(Section::KEYS);

/// A number that fits into 32 bits, also as text.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "Number")]
struct Small(u32);

impl TryFrom<Number> for Small {
    type Error = String;

    fn try_from(number: Number) -> Result<Self, String> {
        u32::try_from(number.0).map(Small).map_err(|_| format!("{} is too large", number.0))
    }
}

trackway_format::settings! {
    /// `[ete.unit]`: the trace unit that writes.
    #[derive(Clone, Debug)]
    pub(crate) struct UnitSection {
        /// Registers to start from: "everything", "minimal" (table K10-3), "exclude" or "include" (K10.5.7.4, K10.5.7.5).
        preset: Preset = "\"everything\"",
        /// First address of "exclude" or "include".
        first: Number = "0",
        /// Last address of "exclude" or "include".
        last: Number = "\"0xffffffffffffffff\"",
        /// ETE 1.x: 0 to 15.
        minor: Small = "3",
        /// TRCIDR8.MAXSPEC: maximum number of unresolved P0 elements.
        max_spec: Small = "0",
        /// TRCIDR0.COMMOPT: cycle counts carry no commits.
        commopt: bool = "true",
        /// TRCIDR0.COMMTRANS: a transaction start is not a P0 element.
        commtrans: bool = "false",
        /// TRCIDR2.WFXMODE: WFI and WFE are P0 instructions.
        wfx_is_p0: bool = "true",
        /// TRCIDR0.TSMARK: Timestamp Marker packets (ETE 1.1).
        timestamp_markers: bool = "false",
        /// TRCIDR2.CCSIZE: bits of the cycle counter, 12 to 20.
        cycle_bits: Small = "20",
        /// Start of the random numbers.
        seed: Number = "1",
        /// Mispredicted branches of 1024; needs max_spec and the program.
        mispredict: Small = "0",
        /// Maximum number of P0 elements on a mispredicted path.
        run_ahead: Small = "6",
        /// A mispredicted path may be as long as max_spec, so that its branch is committed before it is corrected.
        late_mispredict: bool = "false",
        /// P0 elements between Commit packets, on average; 0: only where one is needed.
        commit_every: Small = "16",
        /// Taken branches by Source Address: "never", "always" or "sometimes".
        source_addresses: SourceAddresses = "\"never\"",
        /// P0 instructions of 1024 that start a Q element; needs TRCCONFIGR.QE.
        q: Small = "0",
        /// Bytes of the unit's buffer; 0: it never overflows.
        fifo_bytes: Small = "0",
        /// Cycles in which one byte leaves the buffer; 0: never.
        cycles_per_byte: Small = "1",
        /// P0 elements between a periodic Trace Info and its context and address.
        sync_delay: Small = "0",
        /// A periodic Trace Info may come while P0 elements are unresolved.
        sync_unresolved: bool = "false",
        /// Cycles per instruction.
        cycles_per_instruction: Small = "1",
        /// Cycles per tick of the timestamp.
        cycles_per_tick: Small = "8",
        /// The first timestamp.
        first_timestamp: Number = "0x10000",
        /// Trace a halt where execution stops between two P0 instructions, so that the last ones are in the trace.
        halts: bool = "true",
        /// How the bytes are stored, if not as `format` of [ete] says.
        format: Option<Framing> = "\"coresight\"",
        /// Trace buffer: "fill", "wrap" or "circular" (K10.5.11).
        buffer: Option<Mode> = "\"circular\"",
        /// Size of the trace buffer in bytes.
        buffer_bytes: Number = "4096",
    }
}

impl Default for UnitSection {
    fn default() -> Self {
        let (model, unit) = (Model::default(), Implementation::default());
        UnitSection {
            preset: Preset::Everything,
            first: Number(0),
            last: Number(u64::MAX),
            minor: Small(unit.minor.into()),
            max_spec: Small(unit.max_spec),
            commopt: unit.commopt,
            commtrans: unit.commtrans,
            wfx_is_p0: unit.wfx_is_p0,
            timestamp_markers: unit.timestamp_markers,
            cycle_bits: Small(unit.cycle_bits.into()),
            seed: Number(model.seed),
            mispredict: Small(model.mispredict),
            run_ahead: Small(model.run_ahead),
            late_mispredict: model.late_mispredict,
            commit_every: Small(model.commit_every),
            source_addresses: model.source_addresses,
            q: Small(model.q),
            fifo_bytes: Small(0),
            cycles_per_byte: Small(1),
            sync_delay: Small(model.sync_delay),
            sync_unresolved: model.sync_unresolved,
            cycles_per_instruction: Small(model.cycles_per_instruction),
            cycles_per_tick: Small(model.cycles_per_tick),
            first_timestamp: Number(model.first_timestamp),
            halts: model.halts,
            format: None,
            buffer: None,
            buffer_bytes: Number(0),
        }
    }
}

impl UnitSection {
    fn model(&self) -> Model {
        Model {
            seed: self.seed.0,
            mispredict: self.mispredict.0,
            run_ahead: self.run_ahead.0,
            late_mispredict: self.late_mispredict,
            commit_every: self.commit_every.0,
            source_addresses: self.source_addresses,
            q: self.q.0,
            fifo: (self.fifo_bytes.0 > 0)
                .then_some(FifoModel { bytes: self.fifo_bytes.0, cycles_per_byte: self.cycles_per_byte.0 }),
            sync_delay: self.sync_delay.0,
            sync_unresolved: self.sync_unresolved,
            cycles_per_instruction: self.cycles_per_instruction.0,
            cycles_per_tick: self.cycles_per_tick.0,
            first_timestamp: self.first_timestamp.0,
            halts: self.halts,
        }
    }

    /// The registers of the preset.
    fn registers(&self) -> Result<Registers, String> {
        let (minor, cycle_bits) = (self.minor.0, self.cycle_bits.0);
        if minor > 15 || !(12..=20).contains(&cycle_bits) {
            return Err("[ete.unit]: minor is 0 to 15, cycle_bits 12 to 20".to_string());
        }
        let registers = Registers::new(&Implementation {
            minor: minor as u8,
            max_spec: self.max_spec.0,
            commopt: self.commopt,
            commtrans: self.commtrans,
            wfx_is_p0: self.wfx_is_p0,
            timestamp_markers: self.timestamp_markers,
            cycle_bits: cycle_bits as u8,
        });
        Ok(registers.preset(self.preset, self.first.0, self.last.0))
    }

    fn buffer(&self) -> Result<Option<BufferConfig>, String> {
        match (self.buffer, self.buffer_bytes.0) {
            (None, _) => Ok(None),
            (Some(_), 0) => Err("[ete.unit]: buffer needs its size, buffer_bytes".to_string()),
            (Some(mode), bytes) => Ok(Some(BufferConfig { mode, bytes })),
        }
    }
}

/// A source as settings name it.
struct Source {
    section: SourceSection,
    registers: BTreeMap<String, u64>,
}

/// `[ete]` with its registers.
pub(crate) struct Given {
    pub(crate) section: Section,
    sources: Vec<Source>,
}

/// Takes the registers out of a table.
fn take_registers(table: &mut toml::Table) -> Result<BTreeMap<String, u64>, String> {
    let mut registers = BTreeMap::new();
    let names: Vec<String> = table.keys().filter(|name| is_register(name)).cloned().collect();
    for name in names {
        let value = match table.remove(&name) {
            Some(Value::Integer(value)) => u64::try_from(value).ok(),
            // As sysfs shows it: in hex, with or without 0x.
            Some(Value::String(text)) => {
                let text = text.trim().to_ascii_lowercase();
                u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
            }
            _ => None,
        };
        let value = value.ok_or_else(|| format!("{name}: not a register value"))?;
        let name = name.to_uppercase();
        check_name(&name).map_err(|error| error.to_string())?;
        registers.insert(name, value);
    }
    Ok(registers)
}

impl Given {
    /// Reads `[ete]`; registers at the top level are accepted where there is no section.
    pub(crate) fn read(settings: &Settings) -> Result<Self> {
        let mut table = match settings.table.get(ID.as_str()) {
            Some(Value::Table(table)) => table.clone(),
            Some(_) => return Err(settings.wrong("ete: not a section")),
            None => {
                let registers = settings.table.iter().filter(|(name, _)| is_register(name));
                registers.map(|(name, value)| (name.clone(), value.clone())).collect()
            }
        };
        let wrong = |text: String| settings.wrong(&format!("[ete] {text}"));
        let registers = take_registers(&mut table).map_err(wrong)?;
        let mut of_sources = Vec::new();
        if let Some(Value::Array(sources)) = table.get_mut("sources") {
            for source in sources.iter_mut().filter_map(Value::as_table_mut) {
                of_sources.push(take_registers(source).map_err(wrong)?);
            }
        }
        settings.refuse_unknown(ID.as_str(), &table, KEYS)?;
        let section: Section = table.try_into().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        let mut sources: Vec<Source> = section
            .sources
            .iter()
            .cloned()
            .zip(of_sources)
            .map(|(section, registers)| Source { section, registers })
            .collect();
        if sources.is_empty() {
            let Section { name, core, profile, .. } = section.clone();
            sources.push(Source { section: SourceSection { name, core, profile }, registers });
        }
        Ok(Given { section, sources })
    }

    /// The first key that describes trace units or their buffer.
    pub(crate) fn describes_units(&self) -> Option<String> {
        let framing = self.section.format.map(|_| "format".to_string());
        framing.or_else(|| self.sources.iter().find_map(|source| source.registers.keys().next().cloned()))
    }

    /// The trace units of the input.
    pub(crate) fn configs(&self) -> Result<Vec<Config>> {
        let config = |(index, source): (usize, &Source)| {
            let SourceSection { name, core, profile } = source.section.clone();
            let name = name.unwrap_or_else(|| if index == 0 { "ete".into() } else { format!("ete{index}") });
            let mut config = Config::from_registers(name, source.registers.clone(), None)
                .map_err(|error| Error::Config(error.to_string()))?;
            config.core = core;
            if let Some(profile) = profile {
                config.profile = Profile::of(&profile, config.dialect.minor);
            }
            Ok(config)
        };
        self.sources.iter().enumerate().map(config).collect()
    }

    /// The program: `named` by the user, else by these settings.
    pub(crate) fn program(&self, settings: &Settings, named: Program) -> Program {
        if !named.is_empty() {
            return named;
        }
        let found = |specs: &[String]| {
            specs.iter().map(|spec| settings.resolve(spec).to_string_lossy().into_owned()).collect()
        };
        Program { elf: found(&self.section.program), raw: found(&self.section.images), ..named }
    }

    /// The trace units that write, each with its registers over the preset.
    pub(crate) fn encode_config(&self) -> Result<EncodeConfig, String> {
        let unit = &self.section.unit;
        let preset = unit.registers()?;
        let units = self.sources.iter().enumerate().map(|(n, source)| {
            let mut registers = preset.clone();
            if n > 0 {
                registers.set("TRCTRACEIDR", 0x10 + n as u64);
            }
            registers.0.extend(source.registers.clone());
            registers.check().map_err(|error| error.to_string())?;
            // The names of sources that have none in the settings.
            let name = source.section.name.clone().filter(|name| name != "ete" && *name != format!("ete{n}"));
            let core = Some(source.section.core.clone()).filter(|core| !core.is_empty());
            Ok(UnitConfig {
                name: name.unwrap_or_else(|| format!("ETE_{n}")),
                core: core.unwrap_or_else(|| format!("cpu_{n}")),
                registers,
            })
        });
        Ok(EncodeConfig {
            units: units.collect::<Result<_, String>>()?,
            model: unit.model(),
            framing: unit.format.or(self.section.format).unwrap_or_default(),
            buffer: unit.buffer()?,
        })
    }
}

impl EncodeConfig {
    /// A stream has no registers with it, and without them a reader takes the return stack to be off.
    pub(crate) fn suit_readers_without_registers(&mut self, given: &Given) {
        for (unit, source) in self.units.iter_mut().zip(&given.sources) {
            if !source.registers.contains_key("TRCCONFIGR") {
                let without = unit.registers.get("TRCCONFIGR") & !(1 << 12);
                unit.registers.set("TRCCONFIGR", without);
            }
        }
    }

    /// Takes over from the source what the settings leave open: its timestamps, and its names if it is ETE too.
    pub(crate) fn follow(&mut self, meta: &Meta, given: &Given) {
        if meta.timestamps {
            for (unit, source) in self.units.iter_mut().zip(&given.sources) {
                if !source.registers.contains_key("TRCCONFIGR") {
                    let timestamps = unit.registers.get("TRCCONFIGR") | 1 << 11;
                    unit.registers.set("TRCCONFIGR", timestamps);
                }
            }
        }
        if meta.format == ID && given.sources.iter().all(|source| source.section.name.is_none()) {
            self.units = (0..meta.sources.len().max(1)).map(|n| self.unit(n)).collect();
            for (unit, name) in self.units.iter_mut().zip(&meta.sources) {
                unit.name.clone_from(name);
            }
        }
    }
}

/// The sources of an input, from TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcesConfig {
    /// How the input is framed.
    pub framing: Framing,
    /// The trace units; one if the input is raw.
    pub sources: Vec<Config>,
}

fn settings(text: &str) -> Result<Settings> {
    let table = text.parse().map_err(|error: toml::de::Error| Error::Config(error.to_string()))?;
    Ok(Settings { path: None, table })
}

impl SourcesConfig {
    /// Reads `[ete]`: registers by name for one source, or `[[ete.sources]]` for several; `format` is `source_data`
    /// (raw bytes, the default), `coresight` or `dstream_coresight`.
    ///
    /// ```
    /// use trackway_ete::SourcesConfig;
    /// let config = SourcesConfig::from_toml("[ete]\nTRCIDR8 = 4\nTRCCONFIGR = 0x1001\n")?;
    /// assert_eq!((config.sources[0].max_spec, config.sources[0].return_stack), (4, true));
    /// # Ok::<(), trackway_format::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self> {
        let given = Given::read(&settings(text)?)?;
        let framing = given.section.format.unwrap_or_default();
        Ok(SourcesConfig { framing, sources: given.configs()? })
    }
}

impl EncodeConfig {
    /// Reads `[ete]` and `[ete.unit]`; absent keys have their default.
    ///
    /// ```
    /// use trackway_ete::encode::EncodeConfig;
    /// let config =
    ///     EncodeConfig::from_toml("[ete]\nTRCSYNCPR = 0xa\n[ete.unit]\npreset = 'minimal'\nmax_spec = 15\n")?;
    /// let registers = &config.units[0].registers;
    /// assert_eq!((registers.get("TRCSYNCPR"), registers.get("TRCIDR8")), (0xa, 15));
    /// assert_eq!(registers.get("TRCVICTLR"), 0x006f_0201);
    /// # Ok::<(), trackway_format::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self> {
        Given::read(&settings(text)?)?.encode_config().map_err(Error::Config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::to_toml;

    #[test]
    fn several_sources() {
        let text = "[ete]\nformat = \"coresight\"\n[[ete.sources]]\nname = \"a\"\nTRCTRACEIDR = 0x10\n\
                    [[ete.sources]]\nTRCTRACEIDR = \"0x11\"\ntrcidr8 = 3\n";
        let config = SourcesConfig::from_toml(text).unwrap();
        assert_eq!(config.framing, Framing::Coresight);
        assert_eq!(config.sources.len(), 2);
        assert_eq!((config.sources[0].name.as_str(), config.sources[0].trace_id), ("a", 0x10));
        assert_eq!((config.sources[1].trace_id, config.sources[1].max_spec), (0x11, 3));
        // As sysfs shows registers.
        let config = SourcesConfig::from_toml("[ete]\nTRCIDR8 = \"10\"\nTRCIDR0 = \"28C1CEA1\"\n").unwrap();
        assert_eq!((config.sources[0].max_spec, config.sources[0].registers["TRCIDR0"]), (0x10, 0x28c1_cea1));
        for (wrong, message) in [
            ("[ete]\nTRCIDR0 = \"zero\"", "not a register value"),
            ("[ete]\nTRCIDRO = 1", "TRCIDRO: no such register; did you mean TRCIDR0?"),
            ("[ete]\nTRCCONFIG = 1", "did you mean TRCCONFIGR?"),
            ("[ete]\nfoo = 1", "foo: unknown key"),
            ("[ete]\nformt = \"coresight\"", "did you mean \"format\"?"),
            ("[ete]\nformat = \"x\"", "source_data, coresight, dstream_coresight"),
        ] {
            let error = SourcesConfig::from_toml(wrong).unwrap_err().to_string();
            assert!(error.contains(message), "{wrong}: {error}");
        }
    }

    #[test]
    fn presets_and_registers_over_them() {
        let text = "[ete]\nTRCCONFIGR = 0x10\n[ete.unit]\npreset = 'exclude'\nfirst = 0x2000\nlast = '0x200f'\n\
                    mispredict = 9\nsource_addresses = 'sometimes'\nbuffer = 'circular'\nbuffer_bytes = 4096\n";
        let config = EncodeConfig::from_toml(text).unwrap();
        let registers = &config.units[0].registers;
        assert_eq!((registers.get("TRCCONFIGR"), registers.get("TRCACVR1")), (0x10, 0x200f));
        assert_eq!((config.model.mispredict, config.model.source_addresses), (9, SourceAddresses::Sometimes));
        assert_eq!(config.buffer.map(|buffer| buffer.bytes), Some(4096));
        for wrong in [
            "[ete.unit]\nfoo = 1",
            "[ete.unit]\npreset = 'x'",
            "[ete]\nTRCFOO = 1",
            "[ete.unit]\nseed = 'x'",
            "[ete.unit]\nmispredict = 4294967296",
            "[ete.unit]\nbuffer = 'fill'",
        ] {
            assert!(EncodeConfig::from_toml(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn defaults_are_those_of_the_types() {
        let config = EncodeConfig::from_toml("").unwrap();
        assert_eq!(config, EncodeConfig::default());
        assert_eq!(SourcesConfig::from_toml("").unwrap().sources[0].version(), "ETE 1.3");
    }

    #[test]
    fn written_registers_are_read_back() {
        let unit = EncodeConfig::default().unit(1);
        let config = unit.registers.config(&unit.name).unwrap();
        let text = to_toml([&config].into_iter(), Framing::Coresight, &Program::default());
        let read = SourcesConfig::from_toml(&text).unwrap();
        assert_eq!((read.framing, &read.sources[0].registers), (Framing::Coresight, &unit.registers.0));
        assert_eq!(read.sources[0].trace_id, 0x11);
    }
}

//! The text form of the settings.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use trackway_format::{Key, Sample};

use super::filter::{ComparatorKeys, FilterKeys};
use super::values::{self, FilterBits};
use super::{Config, ConfigError, DataConfig, EncoderConfig, FilterConfig, ImageRule, TrapVector};
use crate::dialect::Dialect;
use crate::modes::{Mode, SupportLayout};
use crate::params::{PARAMETERS, Params};
use crate::transport::Framing;

trackway_format::settings! { serde;
    /// Every key of a settings file but the parameters of table 9.1, which are listed in [`PARAMETERS`].
    #[derive(Debug, Default, serde::Serialize)]
    struct File {
        /// The ELF file that ran, or a list of them; relative to this file.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        program: Vec<String> = "[\"program.elf\"]",
        /// Identity of each program: its build id, or a hash of what it loads. Another program is refused.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        program_id: Vec<String> = "[]",
        /// Bits of the core's registers: 32 or 64. A program of the other width is refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        xlen: Option<u32> = "64",
        /// Version of the specification: v2 or draft-1.1.1. It sets the defaults of the parameters.
        dialect: Dialect = "\"v2\"",
        /// How packets are wrapped: smi, reference-raw (the same), encap, ultrasoc, atb or bare.
        framing: FramingName = "\"smi\"",
        /// encap: bits of the source id; ultrasoc: bits of the index.
        #[serde(skip_serializing_if = "Option::is_none")]
        srcid_width: Option<u32> = "0",
        /// encap: bits of the packet type.
        #[serde(skip_serializing_if = "Option::is_none")]
        type_width: Option<u32> = "0",
        /// encap: bytes of the time stamp.
        #[serde(skip_serializing_if = "Option::is_none")]
        timestamp_bytes: Option<u32> = "0",
        /// atb: packets start at multiples of this many bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        align: Option<u32> = "1",
        /// bare: the payloads' lengths in bytes, as a list, or a file with them in decimal.
        #[serde(skip_serializing_if = "Option::is_none")]
        lengths: Option<Lengths> = "\"trace.lengths\"",
        /// Packets never cross multiples of this many bytes; 0: they may.
        #[serde(skip_serializing_if = "is_zero")]
        block_size: u32 = "0",
        /// Layout of the support packet: reference, pulp or all. The next four keys change parts of it.
        #[serde(skip_serializing)]
        support_layout: Option<String> = "\"reference\"",
        /// Bits of `encoder_mode` in the support packet.
        encoder_mode_width: Option<u32> = "1",
        /// Modes in `ioptions` of the support packet, bit 0 first.
        ioptions: Option<Vec<Mode>> = "[\"implicit_return\", \"implicit_exception\", \"full_address\", \"jump_target_cache\", \"branch_prediction\"]",
        /// Bits of `doptions` in the support packet.
        doptions_width: Option<u32> = "4",
        /// Modes in `doptions` of the support packet, bit 0 first.
        doptions: Option<Vec<Mode>> = "[\"no_address\", \"no_data\", \"data_full_address\", \"data_full_data\"]",
        /// Modes that are on before the first support packet.
        options: Vec<Mode> = "[\"full_address\"]",
        /// The call counter reaches 2^n, and not 2^n - 1.
        call_counter_full: bool = "false",
        /// Link registers that make calls and returns: x1-x5 or x1.
        calls: Calls = "\"x1-x5\"",
        /// Filters that qualify instruction trace, by number; none: all instructions are traced.
        #[serde(skip_serializing_if = "is_none")]
        ifilters: FilterBits = "[]",
        /// Filters that qualify data trace, by number; none: all accesses are traced.
        #[serde(skip_serializing_if = "is_none")]
        dfilters: FilterBits = "[]",
        /// Code that only some contexts see.
        image: Vec<ImageRule> = (Tables ImageRule::KEYS),
        /// Where traps lead, for implicit exceptions.
        trap_vector: Vec<TrapVector> = (Tables TrapVector::KEYS),
        /// The data trace, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<DataConfig> = (Table DataConfig::KEYS),
        /// Comparator units, which filters name by number.
        comparator: Vec<ComparatorKeys> = (Tables ComparatorKeys::KEYS),
        /// Filters, which `ifilters` and `dfilters` name by number.
        filter: Vec<FilterKeys> = (Tables FilterKeys::KEYS),
        /// The encoder.
        encoder: EncoderConfig = (Table EncoderConfig::KEYS),
    }
}

/// Names that version 2 has for parameters of the draft.
const ALIASES: [Key; 1] =
    [Key { name: "blocks", doc: &["Version 2's name of `taken_branches`."], sample: Sample::Value("1") }];

/// All keys: those of the file, then the parameters.
static KEYS: [Key; File::KEYS.len() + Params::KEYS.len() + ALIASES.len()] = {
    let lists: [&[Key]; 3] = [File::KEYS, Params::KEYS, &ALIASES];
    let mut keys = [ALIASES[0]; File::KEYS.len() + Params::KEYS.len() + ALIASES.len()];
    let (mut list, mut from, mut to) = (0, 0, 0);
    while list < lists.len() {
        if from == lists[list].len() {
            (list, from) = (list + 1, 0);
        } else {
            keys[to] = lists[list][from];
            (from, to) = (from + 1, to + 1);
        }
    }
    keys
};

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_none(bits: &FilterBits) -> bool {
    bits.0 == 0
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum FramingName {
    #[default]
    #[serde(alias = "reference-raw")]
    Smi,
    Encap,
    Ultrasoc,
    Atb,
    Bare,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
enum Calls {
    #[default]
    #[serde(rename = "x1-x5")]
    X1AndX5,
    #[serde(rename = "x1")]
    X1,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Lengths {
    Path(String),
    List(Vec<u32>),
}

impl File {
    fn framing(&self) -> Framing {
        match self.framing {
            FramingName::Smi => Framing::Smi,
            FramingName::Encap => Framing::Encap {
                srcid_width: self.srcid_width.unwrap_or(0),
                type_width: self.type_width.unwrap_or(0),
                timestamp_bytes: self.timestamp_bytes.unwrap_or(0),
            },
            FramingName::Ultrasoc => Framing::Ultrasoc { index_width: self.srcid_width.unwrap_or(0) },
            FramingName::Atb => Framing::Atb { align: self.align.unwrap_or(1) },
            FramingName::Bare => {
                let lengths = match &self.lengths {
                    Some(Lengths::List(lengths)) => lengths.clone(),
                    _ => Vec::new(),
                };
                Framing::Bare { lengths }
            }
        }
    }

    fn set_framing(&mut self, framing: &Framing) {
        self.framing = match *framing {
            Framing::Smi => FramingName::Smi,
            Framing::Encap { srcid_width, type_width, timestamp_bytes } => {
                (self.srcid_width, self.type_width) = (Some(srcid_width), Some(type_width));
                self.timestamp_bytes = Some(timestamp_bytes);
                FramingName::Encap
            }
            Framing::Ultrasoc { index_width } => {
                self.srcid_width = Some(index_width);
                FramingName::Ultrasoc
            }
            Framing::Atb { align } => {
                self.align = Some(align);
                FramingName::Atb
            }
            Framing::Bare { .. } => FramingName::Bare,
        };
    }

    fn support(&mut self) -> Result<SupportLayout, ConfigError> {
        let name = self.support_layout.as_deref().unwrap_or("reference");
        let mut layout = SupportLayout::named(name).ok_or_else(|| {
            let known = SupportLayout::NAMES.join(", ");
            ConfigError::new("support_layout", format!("{name:?} is not a layout; expected {known}"))
        })?;
        layout.encoder_mode_width = self.encoder_mode_width.unwrap_or(layout.encoder_mode_width);
        layout.ioptions = self.ioptions.take().unwrap_or(layout.ioptions);
        layout.doptions_width = self.doptions_width.unwrap_or(layout.doptions_width);
        layout.doptions = self.doptions.take().unwrap_or(layout.doptions);
        layout.doptions.truncate(layout.doptions_width as usize);
        Ok(layout)
    }

    fn into_config(mut self, params: Params) -> Result<Config, ConfigError> {
        let mut config = Config::new(self.dialect);
        config.params = params;
        config.framing = self.framing();
        config.support = self.support()?;
        for mode in self.options {
            config.options.set(mode, true);
        }
        config.block_size = self.block_size;
        config.program = self.program;
        config.program_id = self.program_id;
        config.xlen = self.xlen;
        config.images = self.image;
        config.trap_vectors = self.trap_vector;
        config.call_counter_full = self.call_counter_full;
        config.calls_x1_only = self.calls == Calls::X1;
        if let Some(Lengths::Path(path)) = self.lengths {
            config.lengths_file = Some(path);
        }
        config.encoder = self.encoder;
        config.data = self.data.unwrap_or_default();
        config.filters = FilterConfig {
            comparators: self.comparator.into_iter().map(Into::into).collect(),
            filters: self.filter.into_iter().map(Into::into).collect(),
            ifilters: self.ifilters.0,
            dfilters: self.dfilters.0,
        };
        Ok(config)
    }
}

impl From<&Config> for File {
    fn from(config: &Config) -> Self {
        let filters = &config.filters;
        let mut file = File {
            program: config.program.clone(),
            program_id: config.program_id.clone(),
            xlen: config.xlen,
            dialect: config.dialect,
            lengths: config.lengths_file.clone().map(Lengths::Path),
            block_size: config.block_size,
            encoder_mode_width: Some(config.support.encoder_mode_width),
            ioptions: Some(config.support.ioptions.clone()),
            doptions_width: Some(config.support.doptions_width),
            doptions: Some(config.support.doptions.clone()),
            options: Mode::ALL.into_iter().filter(|mode| config.options.get(*mode)).collect(),
            call_counter_full: config.call_counter_full,
            calls: if config.calls_x1_only { Calls::X1 } else { Calls::X1AndX5 },
            ifilters: FilterBits(filters.ifilters),
            dfilters: FilterBits(filters.dfilters),
            image: config.images.clone(),
            trap_vector: config.trap_vectors.clone(),
            data: config.data.enable.then(|| config.data.clone()),
            comparator: filters.comparators.iter().map(Into::into).collect(),
            filter: filters.filters.iter().map(Into::into).collect(),
            encoder: config.encoder.clone(),
            ..File::default()
        };
        file.set_framing(&config.framing);
        file
    }
}

impl Config {
    /// All keys of the settings, with their documentation.
    pub fn keys() -> &'static [Key] {
        &KEYS
    }

    /// Reads settings in TOML, with keys at the top level or under `[etrace]`. Tables of other formats are left alone.
    /// The result is checked.
    pub fn from_toml(text: &str) -> Result<Config, ConfigError> {
        let whole: Table = text.parse().map_err(|error| ConfigError::new("TOML", format!("{error}")))?;
        Config::from_section(Config::section(&whole))
    }

    /// The keys of E-Trace in a whole settings file: those under `[etrace]`, else those at the top level.
    pub(crate) fn section(whole: &Table) -> Table {
        if let Some(Value::Table(section)) = whole.get("etrace") {
            return section.clone();
        }
        let mut section = whole.clone();
        section.retain(|key, value| !value.is_table() || KEYS.iter().any(|known| known.name == key));
        section
    }

    /// Reads a section with the keys of E-Trace. The result is checked.
    pub(crate) fn from_section(mut section: Table) -> Result<Config, ConfigError> {
        values::normalise(&mut section, &KEYS);
        let mut given = Vec::new();
        section.retain(|key, value| {
            let parameter = Params::by_name(key);
            given.extend(parameter.map(|parameter| (parameter, value.clone())));
            parameter.is_none()
        });
        let file: File = section.try_into()?;
        let mut params = Params::new(file.dialect);
        for (parameter, value) in given {
            let number = value
                .as_integer()
                .ok_or("expected a number".to_string())
                .and_then(|number| u32::try_from(number).map_err(|_| format!("{number} is out of range")));
            let number = number.map_err(|reason| ConfigError::new(parameter.name, reason))?;
            parameter.set(&mut params, number);
        }
        let config = file.into_config(params)?;
        config.check()?;
        Ok(config)
    }

    /// The settings as TOML, every parameter included, so that the text alone describes a trace.
    pub fn to_toml(&self) -> String {
        let text = toml::to_string(&File::from(self)).unwrap_or_default();
        // Parameters come before the first table.
        let (keys, tables) = text.split_at(text.find("\n[").unwrap_or(text.len()));
        let params = PARAMETERS.iter().map(|of| format!("{} = {}\n", of.name, of.get(&self.params)));
        format!("{}\n{}{tables}", keys.trim_end(), params.collect::<String>())
    }
}

impl From<toml::de::Error> for ConfigError {
    fn from(error: toml::de::Error) -> Self {
        let (text, message) = (error.to_string(), error.message());
        let table = text.rsplit_once("in `").and_then(|(_, key)| key.trim_end().strip_suffix('`'));
        let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        let key: Vec<_> = table.into_iter().chain(unknown).collect();
        ConfigError::new(if key.is_empty() { "settings".into() } else { key.join(".") }, message)
    }
}

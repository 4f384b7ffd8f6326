//! What must be known from outside to read or write a trace: dialect, parameters, modes, framing.
//!
//! The text form is TOML. Every key has a default, that of the dialect where table 9.2 gives one:
//!
//! ```toml
//! dialect = "v2"                 # or "draft-1.1.1"
//! program = "prog.elf"           # or a list; relative to this file
//! framing = "encap"              # smi, reference-raw, ultrasoc, atb, bare
//! iaddress_width = 64            # any parameter of table 9.1, without _p, as on the wire
//! support_layout = "reference"   # or pulp, all; or its parts:
//! encoder_mode_width = 1
//! ioptions = ["implicit_return", "implicit_exception", "full_address", "jump_target_cache", "branch_prediction"]
//! doptions_width = 4
//! doptions = ["no_address", "no_data"]   # where its low bits mean something
//! options = ["implicit_return"]  # modes that are on
//! srcid_width = 0                # encap: bits of the source id; ultrasoc: bits of the index
//! type_width = 0                 # encap: bits of the packet type
//! timestamp_bytes = 0            # encap: bytes of the time stamp
//! block_size = 0                 # packets never cross multiples of this
//! align = 1                      # atb: packets start at multiples of this
//! lengths = "trace.lengths"      # bare: the payloads' lengths, decimal; or a list
//! call_counter_full = false      # the call counter reaches 2^n, not 2^n - 1
//! calls = "x1-x5"                # or "x1": which link registers make calls and returns
//!
//! [[image]]                      # code that only some contexts see
//! path = "kernel.elf"
//! privilege = ["s", "m"]
//! context = 7
//!
//! [[trap_vector]]                # where traps go, for implicit exceptions
//! privilege = "m"
//! base = 0x80000100
//! vectored = false
//!
//! [data]                         # there is a data trace: see `DataConfig`
//! split = false
//!
//! [encoder]                      # see `EncoderConfig`
//! exact = true
//! resync_mode = "packets"
//! resync_max = 6
//! ```

use std::fmt;

use toml::{Table, Value};
use trackway_core::{ErrorKind, Privilege};

use crate::dialect::Dialect;
use crate::modes::{Mode, Options, SupportLayout};
use crate::params::{PARAMETERS, Params};
use crate::port::PRIVILEGES;
use crate::transport::{Frame, Framing, Kind};

mod data;
mod filter;

pub use data::{Compress, DataConfig, Order};
pub use filter::FilterConfig;

/// What must be known from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Version of the specification.
    pub dialect: Dialect,
    /// Parameters of the encoder.
    pub params: Params,
    /// Layout of the support packet.
    pub support: SupportLayout,
    /// Modes that are on before the first support packet, and those it has no bit for.
    pub options: Options,
    /// How packets are wrapped.
    pub framing: Framing,
    /// Packets never cross multiples of this; 0: no such rule (chapter 6).
    pub block_size: u32,
    /// Programs that ran, relative to the configuration.
    pub program: Vec<String>,
    /// Code that only some contexts see.
    pub images: Vec<ImageRule>,
    /// Where traps go.
    pub trap_vectors: Vec<TrapVector>,
    /// The call counter reaches 2^n, as chapter 11 has it, and not 2^n - 1, which fits the field.
    pub call_counter_full: bool,
    /// Only `x1` makes calls and returns, as in chapter 11; otherwise `x1` and `x5`, as in 4.1.1.
    pub calls_x1_only: bool,
    /// File with the payloads' lengths, for bare payloads, relative to the configuration.
    pub lengths_file: Option<String>,
    /// Settings of the encoder.
    pub encoder: EncoderConfig,
    /// Data trace.
    pub data: DataConfig,
    /// What is traced.
    pub filters: FilterConfig,
}

/// Code that only some contexts see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageRule {
    /// ELF file, or raw bytes with an address.
    pub path: String,
    /// Where raw bytes lie, or by how much an ELF file is moved.
    pub address: Option<u64>,
    /// Privileges that see it; empty: all.
    pub privilege: Vec<Privilege>,
    /// The context that sees it; `None`: all.
    pub context: Option<u64>,
}

/// Where traps go: the first that matches decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapVector {
    /// Privilege of the handler; `None`: any.
    pub privilege: Option<Privilege>,
    /// Only exceptions (false) or interrupts (true).
    pub interrupt: Option<bool>,
    /// Only this cause.
    pub cause: Option<u64>,
    /// Base address of the handlers.
    pub base: u64,
    /// Interrupts go to the base plus four times the cause.
    pub vectored: bool,
}

/// When the encoder resynchronises (table 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResyncMode {
    /// Never.
    #[default]
    Off,
    /// By packets.
    Packets,
    /// By cycles.
    Cycles,
    /// By half-words of instructions.
    Halfwords,
}

impl ResyncMode {
    /// The mode of a code in `ResyncMode` (table 2.1).
    pub const fn from_code(code: u32) -> Self {
        Self::NAMES[code as usize & 3].1
    }

    const NAMES: [(&'static str, ResyncMode); 4] = [
        ("off", ResyncMode::Off),
        ("packets", ResyncMode::Packets),
        ("cycles", ResyncMode::Cycles),
        ("halfwords", ResyncMode::Halfwords),
    ];
}

/// Settings of the encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncoderConfig {
    /// Nothing in the trace is ambiguous; otherwise like hardware.
    pub exact: bool,
    /// What is counted towards the next synchronisation.
    pub resync_mode: ResyncMode,
    /// The interval is `2^(resync_max + 4)` (table 2.1).
    pub resync_max: u32,
    /// An interval that is no power of two, instead of `resync_max`.
    pub resync_interval: Option<u64>,
    /// Send the shorter of formats 0/1 and 1 or 2 (6.8).
    pub shortest: bool,
    /// Drop bytes that sign extension brings back.
    pub compress: bool,
    /// Instructions that can retire in a block; 0: as many as there are.
    pub block: u32,
    /// Privilege before the first context event.
    pub privilege: Privilege,
    /// Source id of the packets.
    pub source: u32,
    /// Put a time stamp on packets, where the framing can.
    pub stamps: bool,
    /// Bytes that wait for transport at most; 0: no limit.
    pub buffer: u32,
    /// Bytes that transport takes per cycle, in 1/256.
    pub drain: u32,
    /// Stall the core where the buffer is full, instead of losing trace.
    pub stall: bool,
    /// Greatest value of `branch_count`; only tests lower it.
    pub branch_count_max: u32,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        EncoderConfig {
            exact: true,
            resync_mode: ResyncMode::Packets,
            resync_max: 6,
            resync_interval: None,
            shortest: true,
            compress: true,
            block: 0,
            privilege: Privilege::M,
            source: 0,
            stamps: false,
            buffer: 0,
            drain: 256,
            stall: false,
            branch_count_max: u32::MAX,
        }
    }
}

impl EncoderConfig {
    /// Units between synchronisations; `None`: there are none.
    pub fn interval(&self) -> Option<u64> {
        (self.resync_mode != ResyncMode::Off)
            .then(|| self.resync_interval.unwrap_or(1 << (self.resync_max + 4)))
    }
}

/// A configuration that cannot be: which key, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The key.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

impl ConfigError {
    pub(crate) fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        ConfigError { key: key.into(), reason: reason.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.reason)
    }
}

impl std::error::Error for ConfigError {}

impl Default for Config {
    fn default() -> Self {
        Config::new(Dialect::V2)
    }
}

impl Config {
    /// The defaults of a dialect.
    pub fn new(dialect: Dialect) -> Self {
        Config {
            dialect,
            params: Params::new(dialect),
            support: SupportLayout::named("reference").expect("it is in the list"),
            options: Options::default(),
            framing: Framing::Smi,
            block_size: 0,
            program: Vec::new(),
            images: Vec::new(),
            trap_vectors: Vec::new(),
            call_counter_full: false,
            calls_x1_only: false,
            lengths_file: None,
            encoder: EncoderConfig::default(),
            data: DataConfig::default(),
            filters: FilterConfig::default(),
        }
    }

    /// Are atomics traced as such?
    pub fn has_atomics(&self) -> bool {
        self.data.atomics && self.params.dtype_width >= 4
    }

    /// Are CSR accesses traced?
    pub fn has_csrs(&self) -> bool {
        self.data.csrs && self.params.dtype_width >= 3
    }

    /// Are data accesses filtered at their own instruction, and not with their block (4.4)?
    pub fn is_precise(&self) -> bool {
        self.params.retires == 1 || self.params.iaddr_lsbs_width > 0
    }

    /// The frame at the start of `bytes`; a source id of its own makes it a data packet.
    #[inline]
    pub(crate) fn read_frame(&self, bytes: &[u8], index: u64) -> Result<Frame, ErrorKind> {
        let mut frame = self.framing.read(bytes, index)?;
        if self.data.source == Some(frame.source) && frame.kind == Kind::Instruction {
            (frame.kind, frame.source) = (Kind::Data, self.encoder.source);
        }
        Ok(frame)
    }

    /// The modes after a support packet; one without a bit there stays as `known`.
    pub fn options_after(&self, ioptions: u64, doptions: u64, known: Options) -> Options {
        let doptions = self.dialect.has_data_status().then_some(doptions);
        self.support.options(ioptions, doptions, known)
    }

    /// Where a trap goes, if the vectors tell.
    pub fn handler(&self, privilege: Option<Privilege>, interrupt: bool, cause: u64) -> Option<u64> {
        let vector = self.trap_vectors.iter().find(|vector| {
            vector.privilege.is_none_or(|of| Some(of) == privilege)
                && vector.interrupt.is_none_or(|of| of == interrupt)
                && vector.cause.is_none_or(|of| of == cause)
        })?;
        let offset = if vector.vectored && interrupt { cause.wrapping_mul(4) } else { 0 };
        Some(vector.base.wrapping_add(offset))
    }

    /// Greatest call depth that is counted (chapter 11, `push_return_stack`).
    pub fn max_depth(&self) -> u32 {
        let params = &self.params;
        match (params.return_stack_size, params.call_counter_size) {
            (0, 0) => 0,
            (0, n) if self.call_counter_full => 1 << n,
            (0, n) => (1 << n) - 1,
            (n, _) => 1 << n,
        }
    }

    /// Rejects what cannot be, with the reason.
    pub fn check(&self) -> Result<(), ConfigError> {
        let err = |key: &str, reason: &str| Err(ConfigError::new(key, reason));
        let params = &self.params;
        for parameter in PARAMETERS {
            let value = parameter.get(params);
            if value < parameter.min || value > parameter.max {
                return Err(ConfigError::new(
                    parameter.name,
                    format!("{value} is not between {} and {}", parameter.min, parameter.max),
                ));
            }
        }
        if params.return_stack_size > 0 && params.call_counter_size > 0 {
            return err("call_counter_size", "there is a return stack already; one of them has to be 0");
        }
        if self.options.implicit_return {
            if self.max_depth() == 0 {
                return err(
                    "options",
                    "implicit_return needs return_stack_size or call_counter_size above 0",
                );
            }
            if params.itype_width < 4 {
                return err("itype_width", "implicit_return needs 4 bits, to tell calls and returns");
            }
        }
        if self.options.branch_prediction && params.bpred_size == 0 {
            return err("options", "branch_prediction needs bpred_size above 0");
        }
        if self.options.jump_target_cache && params.cache_size == 0 {
            return err("options", "jump_target_cache needs cache_size above 0");
        }
        if self.options.sijump && params.sijump == 0 {
            return err("options", "sijump needs a core that tells such jumps: sijump = 1");
        }
        if params.bpred_size > 0 && params.cache_size > 0 && params.f0s_width == 0 {
            return err("f0s_width", "with a predictor and a cache the subformat needs at least 1 bit");
        }
        if self.support.ioptions.len() > 64
            || self.support.encoder_mode_width > 32
            || self.support.doptions_width > 64
        {
            return err("ioptions", "the support packet is wider than any");
        }
        if self.block_size != 0 && self.block_size < 64 {
            return err("block_size", "a block has to hold the longest packet: at least 64");
        }
        self.framing.check().map_err(|(key, reason)| ConfigError::new(key, reason))?;
        self.check_data()?;
        self.filters.check(params)?;
        if self.encoder.resync_max > 15 {
            return err("encoder.resync_max", "it has 4 bits");
        }
        if self.encoder.resync_interval == Some(0) {
            return err("encoder.resync_interval", "has to be above 0");
        }
        if self.encoder.drain == 0 && self.encoder.buffer > 0 {
            return err("encoder.drain", "a buffer that is never drained stays full");
        }
        Ok(())
    }

    fn check_data(&self) -> Result<(), ConfigError> {
        let err = |key: &str, reason: &str| Err(ConfigError::new(key, reason));
        self.data.check().map_err(|(key, reason)| ConfigError::new(key, reason))?;
        if !matches!(self.params.data_width, 8 | 16 | 32 | 64 | 128) {
            return err("data_width", "there are 8, 16, 32, 64 and 128");
        }
        if self.options.no_address && self.options.no_data {
            return err("options", "no_address and no_data together leave nothing to say");
        }
        let has_source = self.data.source.is_some() && self.framing.source_bits() > 0;
        if has_source && self.data.source == Some(self.encoder.source) {
            return err("data.source", "it is that of the instruction packets");
        }
        if self.data.enable && !self.framing.tells_data() && !has_source {
            return err(
                "framing",
                "a data trace needs smi, encap with type_width of 2 or more, or a source id of its own (data.source)",
            );
        }
        Ok(())
    }

    /// Reads TOML. Parameters stand at the top level or under `[etrace]`; tables of other formats are left
    /// alone. The result is checked.
    pub fn from_toml(text: &str) -> Result<Config, ConfigError> {
        let whole: Table = text.parse().map_err(|error| ConfigError::new("TOML", format!("{error}")))?;
        Config::from_table(&whole)
    }

    /// As [`from_toml`](Config::from_toml), from a table that was read already.
    pub fn from_table(whole: &Table) -> Result<Config, ConfigError> {
        let table = match whole.get("etrace") {
            Some(Value::Table(table)) => table,
            _ => whole,
        };
        let dialect = match table.get("dialect") {
            None => Dialect::default(),
            Some(value) => {
                let name = string("dialect", value)?;
                Dialect::from_name(name).ok_or_else(|| {
                    ConfigError::new(
                        "dialect",
                        format!("{name:?} is not known; try \"v2\" or \"draft-1.1.1\""),
                    )
                })?
            }
        };
        let mut config = Config::new(dialect);
        let mut framing = Table::new();
        // The whole layout first, its parts override it.
        if let Some(value) = table.get("support_layout") {
            let name = string("support_layout", value)?;
            config.support = SupportLayout::named(name).ok_or_else(|| {
                let known = SupportLayout::NAMES.join(", ");
                ConfigError::new("support_layout", format!("{name:?} is not known; there are {known}"))
            })?;
        }
        for (key, value) in table {
            if let Some(parameter) = Params::by_name(key) {
                parameter.set(&mut config.params, number(key, value)?);
                continue;
            }
            if config.filters.read(key, value)? {
                continue;
            }
            match key.as_str() {
                "dialect" | "support_layout" => {}
                "program" => config.program = strings(key, value)?,
                "encoder_mode_width" => config.support.encoder_mode_width = number(key, value)?,
                "doptions_width" => config.support.doptions_width = number(key, value)?,
                "doptions" => config.support.doptions = modes(key, value)?,
                "data" => config.data.read(table_of(key, value)?)?,
                "ioptions" => config.support.ioptions = modes(key, value)?,
                "options" => {
                    for mode in modes(key, value)? {
                        config.options.set(mode, true);
                    }
                }
                "block_size" => config.block_size = number(key, value)?,
                "call_counter_full" => config.call_counter_full = boolean(key, value)?,
                "calls" => {
                    config.calls_x1_only = match string(key, value)? {
                        "x1" => true,
                        "x1-x5" => false,
                        _ => return Err(ConfigError::new(key, "there are \"x1-x5\" and \"x1\"")),
                    }
                }
                "image" => config.images = tables(key, value)?.map(image_rule).collect::<Result<_, _>>()?,
                "trap_vector" => {
                    config.trap_vectors = tables(key, value)?.map(trap_vector).collect::<Result<_, _>>()?;
                }
                "encoder" => read_encoder(&mut config.encoder, table_of(key, value)?)?,
                "lengths" if value.is_str() => config.lengths_file = Some(string(key, value)?.to_string()),
                "framing" | "srcid_width" | "type_width" | "timestamp_bytes" | "align" | "lengths" => {
                    framing.insert(key.clone(), value.clone());
                }
                // Other formats' sections, and those of other commands.
                _ if value.is_table() => {}
                _ => return Err(ConfigError::new(key, "no such key; see the list of E-Trace parameters")),
            }
        }
        config.support.doptions.truncate(config.support.doptions_width as usize);
        config.framing = read_framing(&framing)?;
        config.check()?;
        Ok(config)
    }

    /// The configuration as TOML, every parameter included, so that it describes a trace by itself.
    pub fn to_toml(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        let list = |modes: &mut dyn Iterator<Item = Mode>| {
            modes.map(|mode| format!("\"{}\"", mode.name())).collect::<Vec<_>>().join(", ")
        };
        let quoted = |text: &str| Value::String(text.to_string()).to_string();
        // Writing to a String cannot fail.
        let _ = (|| -> fmt::Result {
            if !self.program.is_empty() {
                let programs: Vec<_> = self.program.iter().map(|path| quoted(path)).collect();
                writeln!(out, "program = [{}]", programs.join(", "))?;
            }
            writeln!(out, "dialect = \"{}\"", self.dialect.name())?;
            for (key, value) in self.framing.settings() {
                writeln!(out, "{key} = {value}")?;
            }
            if let Some(path) = &self.lengths_file {
                writeln!(out, "lengths = {}", quoted(path))?;
            }
            if self.block_size > 0 {
                writeln!(out, "block_size = {}", self.block_size)?;
            }
            for parameter in PARAMETERS {
                writeln!(out, "{} = {}", parameter.name, parameter.get(&self.params))?;
            }
            writeln!(out, "encoder_mode_width = {}", self.support.encoder_mode_width)?;
            writeln!(out, "ioptions = [{}]", list(&mut self.support.ioptions.iter().copied()))?;
            writeln!(out, "doptions_width = {}", self.support.doptions_width)?;
            writeln!(out, "doptions = [{}]", list(&mut self.support.doptions.iter().copied()))?;
            let on = &mut Mode::ALL.into_iter().filter(|mode| self.options.get(*mode));
            writeln!(out, "options = [{}]", list(on))?;
            writeln!(out, "call_counter_full = {}", self.call_counter_full)?;
            writeln!(out, "calls = \"{}\"", if self.calls_x1_only { "x1" } else { "x1-x5" })?;
            self.filters.write_keys(&mut out)?;
            for rule in &self.images {
                writeln!(out, "\n[[image]]\npath = {}", quoted(&rule.path))?;
                if let Some(address) = rule.address {
                    writeln!(out, "address = {address:#x}")?;
                }
                if !rule.privilege.is_empty() {
                    let words: Vec<_> = rule.privilege.iter().map(|p| format!("\"{}\"", p.word())).collect();
                    writeln!(out, "privilege = [{}]", words.join(", "))?;
                }
                if let Some(context) = rule.context {
                    writeln!(out, "context = {context}")?;
                }
            }
            for vector in &self.trap_vectors {
                writeln!(out, "\n[[trap_vector]]\nbase = {:#x}", vector.base)?;
                if let Some(privilege) = vector.privilege {
                    writeln!(out, "privilege = \"{}\"", privilege.word())?;
                }
                if let Some(interrupt) = vector.interrupt {
                    writeln!(out, "interrupt = {interrupt}")?;
                }
                if let Some(cause) = vector.cause {
                    writeln!(out, "cause = {cause}")?;
                }
                writeln!(out, "vectored = {}", vector.vectored)?;
            }
            self.data.write(&mut out)?;
            self.filters.write_tables(&mut out)?;
            let e = &self.encoder;
            writeln!(out, "\n[encoder]\nexact = {}", e.exact)?;
            let mode =
                ResyncMode::NAMES.iter().find(|(_, mode)| *mode == e.resync_mode).map_or("off", |n| n.0);
            writeln!(out, "resync_mode = \"{mode}\"\nresync_max = {}", e.resync_max)?;
            if let Some(interval) = e.resync_interval {
                writeln!(out, "resync_interval = {interval}")?;
            }
            writeln!(out, "shortest = {}\ncompress = {}\nblock = {}", e.shortest, e.compress, e.block)?;
            writeln!(out, "privilege = \"{}\"\nsource = {}", e.privilege.word(), e.source)?;
            writeln!(out, "stamps = {}\nbuffer = {}\ndrain = {}", e.stamps, e.buffer, e.drain)?;
            writeln!(out, "stall = {}", e.stall)
        })();
        out
    }
}

fn read_framing(table: &Table) -> Result<Framing, ConfigError> {
    let get = |key: &str, default: u32| table.get(key).map_or(Ok(default), |value| number(key, value));
    let srcid_width = get("srcid_width", 0)?;
    let timestamp_bytes = get("timestamp_bytes", 0)?;
    Ok(match table.get("framing").map_or(Ok("smi"), |value| string("framing", value))? {
        "smi" | "reference-raw" => Framing::Smi,
        "encap" => Framing::Encap { srcid_width, type_width: get("type_width", 0)?, timestamp_bytes },
        "ultrasoc" => Framing::Ultrasoc { index_width: srcid_width },
        "atb" => Framing::Atb { align: get("align", 1)? },
        "bare" => Framing::Bare {
            lengths: match table.get("lengths") {
                None => Vec::new(),
                Some(value) => array("lengths", value)?
                    .iter()
                    .map(|value| number("lengths", value))
                    .collect::<Result<_, _>>()?,
            },
        },
        other => {
            return Err(ConfigError::new(
                "framing",
                format!("{other:?} is not known; there are smi, reference-raw, encap, ultrasoc, atb, bare"),
            ));
        }
    })
}

fn image_rule(table: &Table) -> Result<ImageRule, ConfigError> {
    let mut rule = ImageRule::default();
    for (key, value) in table {
        match key.as_str() {
            "path" => rule.path = string(key, value)?.to_string(),
            "address" => rule.address = Some(wide(key, value)?),
            "privilege" => {
                rule.privilege =
                    strings(key, value)?.iter().map(|word| privilege(key, word)).collect::<Result<_, _>>()?;
            }
            "context" => rule.context = Some(wide(key, value)?),
            _ => return Err(ConfigError::new(format!("image.{key}"), "no such key")),
        }
    }
    if rule.path.is_empty() {
        return Err(ConfigError::new("image.path", "missing"));
    }
    Ok(rule)
}

fn trap_vector(table: &Table) -> Result<TrapVector, ConfigError> {
    let mut vector = TrapVector::default();
    for (key, value) in table {
        match key.as_str() {
            "privilege" => vector.privilege = Some(privilege(key, string(key, value)?)?),
            "interrupt" => vector.interrupt = Some(boolean(key, value)?),
            "cause" => vector.cause = Some(wide(key, value)?),
            "base" => vector.base = wide(key, value)?,
            "vectored" => vector.vectored = boolean(key, value)?,
            _ => return Err(ConfigError::new(format!("trap_vector.{key}"), "no such key")),
        }
    }
    Ok(vector)
}

fn read_encoder(encoder: &mut EncoderConfig, table: &Table) -> Result<(), ConfigError> {
    for (key, value) in table {
        match key.as_str() {
            "exact" => encoder.exact = boolean(key, value)?,
            "resync_mode" => {
                let name = string(key, value)?;
                let known = ResyncMode::NAMES.iter().find(|(of, _)| *of == name);
                encoder.resync_mode = known
                    .ok_or_else(|| ConfigError::new(key, "there are off, packets, cycles and halfwords"))?
                    .1;
            }
            "resync_max" => encoder.resync_max = number(key, value)?,
            "resync_interval" => encoder.resync_interval = Some(wide(key, value)?),
            "shortest" => encoder.shortest = boolean(key, value)?,
            "compress" => encoder.compress = boolean(key, value)?,
            "block" => encoder.block = number(key, value)?,
            "privilege" => encoder.privilege = privilege(key, string(key, value)?)?,
            "source" => encoder.source = number(key, value)?,
            "stamps" => encoder.stamps = boolean(key, value)?,
            "buffer" => encoder.buffer = number(key, value)?,
            "drain" => encoder.drain = number(key, value)?,
            "stall" => encoder.stall = boolean(key, value)?,
            _ => return Err(ConfigError::new(format!("encoder.{key}"), "no such key")),
        }
    }
    Ok(())
}

pub(crate) fn number(key: &str, value: &Value) -> Result<u32, ConfigError> {
    match value {
        Value::Integer(n) => {
            u32::try_from(*n).map_err(|_| ConfigError::new(key, format!("{n} is out of range")))
        }
        Value::Boolean(on) => Ok(u32::from(*on)),
        _ => Err(ConfigError::new(key, "a number is wanted")),
    }
}

pub(crate) fn wide(key: &str, value: &Value) -> Result<u64, ConfigError> {
    match value {
        Value::Integer(n) => Ok(*n as u64),
        // TOML's integers are signed; higher addresses come as text.
        Value::String(text) => u64::from_str_radix(text.trim_start_matches("0x"), 16)
            .map_err(|_| ConfigError::new(key, format!("{text:?} is no hexadecimal number"))),
        _ => Err(ConfigError::new(key, "a number is wanted")),
    }
}

pub(crate) fn boolean(key: &str, value: &Value) -> Result<bool, ConfigError> {
    match value {
        Value::Boolean(on) => Ok(*on),
        Value::Integer(n @ (0 | 1)) => Ok(*n == 1),
        _ => Err(ConfigError::new(key, "true or false is wanted")),
    }
}

pub(crate) fn string<'a>(key: &str, value: &'a Value) -> Result<&'a str, ConfigError> {
    value.as_str().ok_or_else(|| ConfigError::new(key, "text is wanted"))
}

pub(crate) fn array<'a>(key: &str, value: &'a Value) -> Result<&'a [Value], ConfigError> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| ConfigError::new(key, "a list is wanted"))
}

pub(crate) fn strings(key: &str, value: &Value) -> Result<Vec<String>, ConfigError> {
    if let Value::String(one) = value {
        return Ok(vec![one.clone()]);
    }
    array(key, value)?.iter().map(|item| string(key, item).map(str::to_string)).collect()
}

fn modes(key: &str, value: &Value) -> Result<Vec<Mode>, ConfigError> {
    strings(key, value)?
        .iter()
        .map(|name| {
            Mode::from_name(name).ok_or_else(|| {
                let known: Vec<_> = Mode::ALL.iter().map(|mode| mode.name()).collect();
                ConfigError::new(key, format!("{name:?} is not known; there are {}", known.join(", ")))
            })
        })
        .collect()
}

pub(crate) fn tables<'a>(
    key: &str,
    value: &'a Value,
) -> Result<impl Iterator<Item = &'a Table>, ConfigError> {
    let items = array(key, value)?;
    if !items.iter().all(Value::is_table) {
        return Err(ConfigError::new(key, "a list of tables is wanted"));
    }
    Ok(items.iter().filter_map(Value::as_table))
}

pub(crate) fn table_of<'a>(key: &str, value: &'a Value) -> Result<&'a Table, ConfigError> {
    value.as_table().ok_or_else(|| ConfigError::new(key, "a table is wanted"))
}

pub(crate) fn privilege(key: &str, word: &str) -> Result<Privilege, ConfigError> {
    PRIVILEGES
        .iter()
        .map(|(_, privilege)| *privilege)
        .find(|privilege| privilege.word() == word)
        .ok_or_else(|| ConfigError::new(key, format!("{word:?} is not known; there are u, s, m, d, vu, vs")))
}

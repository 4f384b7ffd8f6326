//! Settings of a trace that it does not carry: dialect, parameters, modes, framing, program.
//!
//! Their text form is TOML (`file`); `trackway config etrace` prints every key with its documentation. Parameters have
//! the names of table 9.1 without `_p`, and the defaults of the dialect:
//!
//! ```toml
//! [etrace]
//! dialect = "v2"
//! program = "program.elf"
//! framing = "encap"
//! iaddress_width = 64
//! support_layout = "all"
//! return_stack_size = 3
//! options = ["implicit_return"]
//! ```

use std::fmt;

use trackway_core::{Error, ErrorKind, Isa, Privilege};

use crate::dialect::Dialect;
use crate::modes::{Options, SupportLayout};
use crate::params::{PARAMETERS, Params};
use crate::transport::Framing;

mod data;
mod encoder;
mod file;
mod filter;
mod values;

pub use data::{Compress, DataConfig, Order};
pub use encoder::{EncoderConfig, ResyncMode};
pub use filter::FilterConfig;

/// Settings of a trace that it does not carry.
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
    /// Packets never cross multiples of this many bytes; 0: they may (chapter 6).
    pub block_size: u32,
    /// Paths of the programs that ran, relative to the settings file.
    pub program: Vec<String>,
    /// Their identities ([`Part::identity`](trackway_image::Part::identity)): other programs are refused.
    pub program_id: Vec<String>,
    /// Bits of the core's registers, 32 or 64, where they are known.
    pub xlen: Option<u32>,
    /// Code that only some contexts see.
    pub images: Vec<ImageRule>,
    /// Addresses of trap handlers.
    pub trap_vectors: Vec<TrapVector>,
    /// The call counter reaches 2^n, as chapter 11 has it, and not 2^n - 1, which fits the field.
    pub call_counter_full: bool,
    /// Only `x1` makes calls and returns, as in chapter 11; otherwise `x1` and `x5`, as in 4.1.1.
    pub calls_x1_only: bool,
    /// File with the lengths of bare payloads, relative to the settings file.
    pub lengths_file: Option<String>,
    /// Settings of the encoder.
    pub encoder: EncoderConfig,
    /// Data trace.
    pub data: DataConfig,
    /// Filters that choose what is traced.
    pub filters: FilterConfig,
}

trackway_format::settings! { serde;
    /// Code that only some contexts see.
    #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
    pub struct ImageRule {
        /// ELF file, or raw bytes with an address; relative to this file.
        pub path: String = "\"kernel.elf\"",
        /// Address of raw bytes, or by how much an ELF file is moved.
        #[serde(with = "values", skip_serializing_if = "Option::is_none")]
        pub address: Option<u64> = "0x8000_0000",
        /// Privileges that see it; none: all.
        #[serde(with = "values", skip_serializing_if = "Vec::is_empty")]
        pub privilege: Vec<Privilege> = "[\"s\", \"m\"]",
        /// The context that sees it; none: all.
        #[serde(with = "values", skip_serializing_if = "Option::is_none")]
        pub context: Option<u64> = "7",
    }
}

trackway_format::settings! { serde;
    /// The address of trap handlers; the first entry that matches a trap decides.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
    pub struct TrapVector {
        /// Privilege of the handler; none: any.
        #[serde(with = "values", skip_serializing_if = "Option::is_none")]
        pub privilege: Option<Privilege> = "\"m\"",
        /// Only interrupts (true) or exceptions (false).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub interrupt: Option<bool> = "true",
        /// Only this cause.
        #[serde(with = "values", skip_serializing_if = "Option::is_none")]
        pub cause: Option<u64> = "7",
        /// Base address of the handlers.
        #[serde(with = "values")]
        pub base: u64 = "0x8000_0100",
        /// Interrupts lead to the base plus four times the cause.
        pub vectored: bool = "false",
    }
}

/// Settings that contradict each other or the spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The key to change.
    pub key: String,
    /// Why its value is refused.
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

impl From<ConfigError> for Error {
    fn from(_: ConfigError) -> Self {
        ErrorKind::Illegal { found: 0 }.at(0, "settings", "", "E-Trace 9")
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::new(Dialect::V2)
    }
}

impl Config {
    /// The instruction set: the program's, else by the width of addresses.
    pub(crate) fn isa_of(&self, image: &trackway_image::Image) -> Isa {
        let by_width = if self.params.iaddress_width <= 32 { Isa::Rv32 } else { Isa::Rv64 };
        image.isa().filter(|isa| matches!(isa, Isa::Rv32 | Isa::Rv64)).unwrap_or(by_width)
    }

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
            program_id: Vec::new(),
            xlen: None,
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

    /// The settings on which the layout of packets depends, for people.
    pub(crate) fn summary(&self) -> String {
        let Params { iaddress_width, iaddress_lsb, privilege_width, ecause_width, .. } = &self.params;
        let context =
            if self.params.nocontext == 1 { "no".into() } else { self.params.context_width.to_string() };
        format!(
            "dialect {}, framing {}, iaddress_width {iaddress_width}, iaddress_lsb {iaddress_lsb}, \
             privilege_width {privilege_width}, ecause_width {ecause_width}, {context} context, no modes before \
             the first support packet, no data trace (--config sets others)",
            self.dialect.as_str(),
            self.framing.as_str(),
        )
    }

    /// Do packets have a time?
    pub(crate) fn has_time(&self) -> bool {
        self.dialect.has_time() && self.params.notime == 0
    }

    /// Are atomics traced as such?
    pub fn has_atomics(&self) -> bool {
        self.data.atomics && self.params.dtype_width >= 4
    }

    /// Are CSR accesses traced?
    pub fn has_csrs(&self) -> bool {
        self.data.csrs && self.params.dtype_width >= 3
    }

    /// Are data accesses filtered at their own instruction, instead of with their block (4.4)?
    pub(crate) fn is_precise(&self) -> bool {
        self.params.retires == 1 || self.params.iaddr_lsbs_width > 0
    }

    /// The modes after a support packet; one without a bit there stays as in `known`.
    pub fn options_after(&self, ioptions: u64, doptions: u64, known: Options) -> Options {
        let doptions = self.dialect.has_data_status().then_some(doptions);
        self.support.options(ioptions, doptions, known)
    }

    /// The handler of a trap, if a trap vector has it.
    pub fn handler(&self, privilege: Option<Privilege>, interrupt: bool, cause: u64) -> Option<u64> {
        let vector = self.trap_vectors.iter().find(|vector| {
            vector.privilege.is_none_or(|of| Some(of) == privilege)
                && vector.interrupt.is_none_or(|of| of == interrupt)
                && vector.cause.is_none_or(|of| of == cause)
        })?;
        let offset = if vector.vectored && interrupt { cause.wrapping_mul(4) } else { 0 };
        Some(vector.base.wrapping_add(offset))
    }

    /// Largest call depth that is counted (chapter 11, `push_return_stack`).
    pub fn max_depth(&self) -> u32 {
        let params = &self.params;
        match (params.return_stack_size, params.call_counter_size) {
            (0, 0) => 0,
            (0, n) if self.call_counter_full => 1 << n,
            (0, n) => (1 << n) - 1,
            (n, _) => 1 << n,
        }
    }

    /// Rejects settings that contradict each other or the spec.
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
            return err("call_counter_size", "return_stack_size is set too; one of them has to be 0");
        }
        if self.options.implicit_return {
            if self.max_depth() == 0 {
                return err(
                    "options",
                    "implicit_return needs return_stack_size or call_counter_size above 0",
                );
            }
            if params.itype_width < 4 {
                return err("itype_width", "implicit_return needs 4 bits, to distinguish calls and returns");
            }
        }
        if self.options.branch_prediction && params.bpred_size == 0 {
            return err("options", "branch_prediction needs bpred_size above 0");
        }
        if self.options.jump_target_cache && params.cache_size == 0 {
            return err("options", "jump_target_cache needs cache_size above 0");
        }
        if self.options.sijump && params.sijump == 0 {
            return err("options", "sijump needs a core that marks such jumps: sijump = 1");
        }
        if params.bpred_size > 0 && params.cache_size > 0 && params.f0s_width == 0 {
            return err("f0s_width", "with a predictor and a cache the subformat needs at least 1 bit");
        }
        if self.support.ioptions.len() > 64
            || self.support.encoder_mode_width > 32
            || self.support.doptions_width > 64
        {
            return err("ioptions", "the support packet is too wide");
        }
        if !matches!(self.xlen, None | Some(32 | 64)) {
            return err("xlen", "expected 32 or 64");
        }
        if self.images.iter().any(|rule| rule.path.is_empty()) {
            return err("image.path", "missing");
        }
        if self.block_size != 0 && self.block_size < 64 {
            return err("block_size", "a block has to hold the longest packet: at least 64");
        }
        self.framing.check().map_err(|(key, reason)| ConfigError::new(key, reason))?;
        self.check_data()?;
        self.filters.check(params)?;
        self.encoder.check()
    }

    fn check_data(&self) -> Result<(), ConfigError> {
        let err = |key: &str, reason: &str| Err(ConfigError::new(key, reason));
        self.data.check()?;
        if !matches!(self.params.data_width, 8 | 16 | 32 | 64 | 128) {
            return err("data_width", "expected 8, 16, 32, 64 or 128");
        }
        if self.options.no_address && self.options.no_data {
            return err("options", "no_address and no_data exclude each other");
        }
        let has_source = self.data.source.is_some() && self.framing.source_bits() > 0;
        if has_source && self.data.source == Some(self.encoder.source) {
            return err("data.source", "it is the source id of the instruction packets");
        }
        if self.data.enable && !self.framing.marks_data() && !has_source {
            return err(
                "framing",
                "a data trace needs smi, encap with type_width of 2 or more, or a source id of its own (data.source)",
            );
        }
        Ok(())
    }
}

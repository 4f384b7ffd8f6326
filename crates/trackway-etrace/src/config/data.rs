//! What must be known of a data trace from outside, and how the encoder makes one.

use toml::{Table, Value};

use super::{ConfigError, boolean, number, string};

/// Data compression: what an encoder offers, or uses (7.1.3, table 2.2 `DataCompress`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compress {
    /// Addresses and data in full.
    Off,
    /// Exclusive or with the last value.
    Xor,
    /// Difference to the last value.
    Difference,
    /// The shorter of both.
    #[default]
    Both,
}

impl Compress {
    pub(crate) const NAMES: [(&'static str, Compress); 4] = [
        ("off", Compress::Off),
        ("xor", Compress::Xor),
        ("difference", Compress::Difference),
        ("both", Compress::Both),
    ];

    /// Its code in `DataCompress` (table 2.2).
    pub const fn code(self) -> u64 {
        self as u64
    }

    /// The value of that code.
    pub const fn from_code(code: u64) -> Self {
        Self::NAMES[code as usize & 3].1
    }

    fn read(key: &str, value: &Value) -> Result<Self, ConfigError> {
        let name = string(key, value)?;
        let known = Self::NAMES.iter().find(|(of, _)| *of == name);
        known
            .map(|(_, of)| *of)
            .ok_or_else(|| ConfigError::new(key, "there are off, xor, difference and both"))
    }

    fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// May data be sent as exclusive or?
    pub const fn has_xor(self) -> bool {
        matches!(self, Compress::Xor | Compress::Both)
    }

    /// May data be sent as differences?
    pub const fn has_difference(self) -> bool {
        matches!(self, Compress::Difference | Compress::Both)
    }
}

/// How data packets lie between instruction packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// In order among themselves, and nothing more: an instruction waits for its packet.
    #[default]
    Loose,
    /// Behind every packet that tells of older instructions and the synchronisation of its own, and before every
    /// other packet that tells of its own or a younger one: what is not there was not traced.
    Retired,
}

/// Data trace: its layout, and how the encoder makes it. `[data]` in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataConfig {
    /// There is a data trace.
    pub enable: bool,
    /// Loads and atomics come in two phases (4.3).
    pub split: bool,
    /// Atomics are traced as such, and not as a load and a store.
    pub atomics: bool,
    /// CSR accesses are traced.
    pub csrs: bool,
    /// Compression that the encoder has: with both, `diff` has 2 bits where it stands for data alone.
    pub offers: Compress,
    /// Compression that the encoder uses (table 2.2, `DataCompress`).
    pub compress: Compress,
    /// The draft's size field is as wide as its tables say, and not as its text says.
    pub size_by_table: bool,
    /// Bits of the subtype in table 7.13, which prints 3 and lists codes of 2.
    pub csr_subtype_width: u32,
    /// CSR packets with an address only say whether it is a difference (table 7.13).
    pub csr_address_diff: bool,
    /// Source id of data packets, where that tells them from instruction packets.
    pub source: Option<u32>,
    /// How data packets lie between instruction packets.
    pub order: Order,
    /// Split loads: accesses that retire before the data of a load come, at most. The encoder of events invents it.
    pub latency: u32,
}

impl Default for DataConfig {
    fn default() -> Self {
        DataConfig {
            enable: false,
            split: false,
            atomics: true,
            csrs: true,
            offers: Compress::Both,
            compress: Compress::Both,
            size_by_table: false,
            csr_subtype_width: 3,
            csr_address_diff: false,
            source: None,
            order: Order::Loose,
            latency: 0,
        }
    }
}

impl DataConfig {
    /// Reads `[data]`; that it is there switches data trace on.
    pub(crate) fn read(&mut self, table: &Table) -> Result<(), ConfigError> {
        self.enable = true;
        for (key, value) in table {
            match key.as_str() {
                "enable" => self.enable = boolean(key, value)?,
                "split" => self.split = boolean(key, value)?,
                "atomics" => self.atomics = boolean(key, value)?,
                "csrs" => self.csrs = boolean(key, value)?,
                "offers" => self.offers = Compress::read("data.offers", value)?,
                "compress" => self.compress = Compress::read("data.compress", value)?,
                "size_by_table" => self.size_by_table = boolean(key, value)?,
                "csr_subtype_width" => self.csr_subtype_width = number(key, value)?,
                "csr_address_diff" => self.csr_address_diff = boolean(key, value)?,
                "source" => self.source = Some(number(key, value)?),
                "order" => {
                    self.order = match string(key, value)? {
                        "loose" => Order::Loose,
                        "retired" => Order::Retired,
                        _ => return Err(ConfigError::new("data.order", "there are loose and retired")),
                    }
                }
                "latency" => self.latency = number(key, value)?,
                _ => return Err(ConfigError::new(format!("data.{key}"), "no such key")),
            }
        }
        Ok(())
    }

    /// `[data]` as TOML; nothing where there is no data trace.
    pub(crate) fn write(&self, out: &mut String) -> std::fmt::Result {
        use std::fmt::Write;
        if !self.enable {
            return Ok(());
        }
        writeln!(out, "\n[data]\nsplit = {}\natomics = {}\ncsrs = {}", self.split, self.atomics, self.csrs)?;
        writeln!(out, "offers = \"{}\"\ncompress = \"{}\"", self.offers.name(), self.compress.name())?;
        writeln!(out, "size_by_table = {}", self.size_by_table)?;
        writeln!(out, "csr_subtype_width = {}", self.csr_subtype_width)?;
        writeln!(out, "csr_address_diff = {}", self.csr_address_diff)?;
        if let Some(source) = self.source {
            writeln!(out, "source = {source}")?;
        }
        let order = if self.order == Order::Retired { "retired" } else { "loose" };
        writeln!(out, "order = \"{order}\"\nlatency = {}", self.latency)
    }

    /// What cannot be: the key and the reason.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if !matches!(self.csr_subtype_width, 2 | 3) {
            return Err(("data.csr_subtype_width", "there are 2 and 3"));
        }
        let offered = (!self.compress.has_xor() || self.offers.has_xor())
            && (!self.compress.has_difference() || self.offers.has_difference());
        if !offered {
            return Err(("data.compress", "it is not among what data.offers says"));
        }
        Ok(())
    }
}

//! Settings of the data trace: its layout, and how the encoder makes it.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Data compression that an encoder offers, or uses (7.1.3, table 2.2 `DataCompress`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compress {
    /// Addresses and data in full.
    Off,
    /// Exclusive or with the last value.
    Xor,
    /// Difference to the last value.
    Difference,
    /// The shorter of exclusive or and difference.
    #[default]
    Both,
}

impl Compress {
    /// Its code in `DataCompress` (table 2.2).
    pub const fn code(self) -> u64 {
        self as u64
    }

    /// The value of a code in `DataCompress` (table 2.2).
    pub(crate) const fn from_code(code: u64) -> Self {
        [Compress::Off, Compress::Xor, Compress::Difference, Compress::Both][code as usize & 3]
    }

    /// May data be sent as exclusive or?
    pub(crate) const fn has_xor(self) -> bool {
        matches!(self, Compress::Xor | Compress::Both)
    }

    /// May data be sent as differences?
    pub(crate) const fn has_difference(self) -> bool {
        matches!(self, Compress::Difference | Compress::Both)
    }
}

/// Where data packets lie between instruction packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// In order among themselves only: an instruction waits for its packet.
    #[default]
    Loose,
    /// After every packet that reports older instructions and after the synchronisation of its own instruction,
    /// and before every other packet that reports its own or a younger one: an access without a packet was not
    /// traced.
    Retired,
}

trackway_format::settings! { serde;
    /// The data trace: `[data]` in a settings file, whose presence enables it.
    #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
    pub struct DataConfig {
        /// The trace has data packets. True unless written otherwise.
        #[serde(default = "yes", skip_serializing)]
        pub enable: bool = "true",
        /// Loads and atomics come in two phases (4.3).
        pub split: bool = "false",
        /// Atomics are traced as such, and not as a load and a store.
        pub atomics: bool = "true",
        /// CSR accesses are traced.
        pub csrs: bool = "true",
        /// Compression that the encoder has (off, xor, difference, both): with both, `diff` has 2 bits where it
        /// describes data alone.
        pub offers: Compress = "\"both\"",
        /// Compression that the encoder uses (table 2.2, `DataCompress`): off, xor, difference or both.
        pub compress: Compress = "\"both\"",
        /// The draft's size field is as wide as its tables say, and not as its text says.
        pub size_by_table: bool = "false",
        /// Bits of the subtype in table 7.13, which prints 3 and lists codes of 2.
        pub csr_subtype_width: u32 = "3",
        /// CSR packets with an address only say whether it is a difference (table 7.13).
        pub csr_address_diff: bool = "false",
        /// Source id of data packets, where that distinguishes them from instruction packets.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub source: Option<u32> = "1",
        /// Where data packets lie between instruction packets: loose or retired.
        pub order: Order = "\"loose\"",
        /// Split loads: the most accesses that retire before the data of a load arrive. The encoder of events makes
        /// this number up.
        pub latency: u32 = "0",
    }
}

fn yes() -> bool {
    true
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
    /// Rejects settings that contradict each other.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !matches!(self.csr_subtype_width, 2 | 3) {
            return Err(ConfigError::new("data.csr_subtype_width", "expected 2 or 3"));
        }
        let offered = (!self.compress.has_xor() || self.offers.has_xor())
            && (!self.compress.has_difference() || self.offers.has_difference());
        if !offered {
            return Err(ConfigError::new("data.compress", "data.offers does not include it"));
        }
        Ok(())
    }
}

//! Settings of the encoder.

use serde::{Deserialize, Serialize};
use trackway_core::Privilege;

use super::{ConfigError, values};

/// The count that leads to the next synchronisation (table 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResyncMode {
    /// Nothing: it never resynchronises.
    #[default]
    Off,
    /// Packets.
    Packets,
    /// Cycles.
    Cycles,
    /// Half-words of instructions.
    Halfwords,
}

impl ResyncMode {
    /// The mode of a code in `ResyncMode` (table 2.1).
    pub(crate) const fn from_code(code: u32) -> Self {
        [ResyncMode::Off, ResyncMode::Packets, ResyncMode::Cycles, ResyncMode::Halfwords][code as usize & 3]
    }
}

trackway_format::settings! { serde;
    /// The encoder: `[encoder]` in a settings file.
    #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
    pub struct EncoderConfig {
        /// Nothing in the trace is ambiguous; otherwise it is what hardware would send.
        pub exact: bool = "true",
        /// Unit of the interval between synchronisations: off, packets, cycles or halfwords.
        pub resync_mode: ResyncMode = "\"packets\"",
        /// The interval is `2^(resync_max + 4)` (table 2.1).
        pub resync_max: u32 = "6",
        /// An interval that is not a power of two, instead of `resync_max`.
        #[serde(with = "values", skip_serializing_if = "Option::is_none")]
        pub resync_interval: Option<u64> = "1024",
        /// Send the shorter of formats 0/1 and 1 or 2 (6.8).
        pub shortest: bool = "true",
        /// Drop bytes that sign extension restores.
        pub compress: bool = "true",
        /// Most instructions that retire in a block; 0: no limit.
        pub block: u32 = "0",
        /// Privilege before the first context event: u, s, m, d, vu or vs.
        #[serde(with = "values")]
        pub privilege: Privilege = "\"m\"",
        /// Source id of the packets.
        pub source: u32 = "0",
        /// Put a time stamp on packets, where the framing has room for one.
        pub stamps: bool = "false",
        /// Most bytes that wait for transport; 0: no limit.
        pub buffer: u32 = "0",
        /// Bytes that transport takes per cycle, in 1/256.
        pub drain: u32 = "256",
        /// Stall the core where the buffer is full, instead of losing trace.
        pub stall: bool = "false",
        /// Largest number of predicted branches that a packet reports, less 31 (`branch_count`). A decoder doubts
        /// larger ones: it shows that many of a loop that repeats itself, then a gap.
        pub branch_count_max: u32 = "4194304",
    }
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
            branch_count_max: 1 << 22,
        }
    }
}

impl EncoderConfig {
    /// Units between synchronisations; `None`: there are none.
    pub fn interval(&self) -> Option<u64> {
        (self.resync_mode != ResyncMode::Off)
            .then(|| self.resync_interval.unwrap_or(1 << (self.resync_max + 4)))
    }

    /// Rejects settings that contradict each other.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.resync_max > 15 {
            return Err(ConfigError::new("encoder.resync_max", "it has 4 bits"));
        }
        if self.resync_interval == Some(0) {
            return Err(ConfigError::new("encoder.resync_interval", "it has to be above 0"));
        }
        if self.drain == 0 && self.buffer > 0 {
            return Err(ConfigError::new("encoder.drain", "a buffer that is never drained stays full"));
        }
        Ok(())
    }
}

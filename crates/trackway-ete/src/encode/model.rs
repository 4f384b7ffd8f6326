//! Behaviour of a trace unit and its core that registers do not define: speculation, speed, chance.

use serde::Deserialize;
use trackway_core::SplitMix64;

/// How taken branches are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceAddresses {
    /// By atoms.
    #[default]
    Never,
    /// By Source Address.
    Always,
    /// Either, by chance.
    Sometimes,
}

/// The trace unit's buffer, and its output rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoModel {
    /// Size in bytes; at least 64, so that a restart after an overflow fits.
    pub bytes: u32,
    /// Cycles per byte of output; 0: no byte ever leaves it.
    pub cycles_per_byte: u32,
}

/// Behaviour that registers do not define. All random decisions derive from `seed`.
///
/// ```
/// use trackway_ete::encode::Model;
/// let model = Model { mispredict: 64, ..Model::default() };
/// assert_eq!((model.run_ahead, model.halts), (6, true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Seed of the random decisions.
    pub seed: u64,
    /// Mispredicted branches of 1024. Needs MAXSPEC above 0 and a program.
    pub mispredict: u32,
    /// Maximum number of P0 elements on a mispredicted path.
    pub run_ahead: u32,
    /// A mispredicted path may be as long as MAXSPEC, so that its branch is committed before it is corrected.
    pub late_mispredict: bool,
    /// Average number of P0 elements between Commit packets; 0: only where one is needed.
    pub commit_every: u32,
    /// Taken branches by Source Address.
    pub source_addresses: SourceAddresses,
    /// P0 instructions of 1024 that start a Q element. Needs TRCCONFIGR.QE.
    pub q: u32,
    /// The unit's buffer; `None` for one that never overflows.
    pub fifo: Option<FifoModel>,
    /// P0 elements between a periodic Trace Info and its context and address.
    pub sync_delay: u32,
    /// A periodic Trace Info may come while P0 elements are unresolved. OpenCSD loses its return stack then, so by default
    /// all are committed before.
    pub sync_unresolved: bool,
    /// Cycles per instruction.
    pub cycles_per_instruction: u32,
    /// Cycles per tick of the timestamp.
    pub cycles_per_tick: u32,
    /// The first timestamp.
    pub first_timestamp: u64,
    /// Where execution stops between two P0 instructions, a debug halt is traced, so that the last instructions are in
    /// the trace.
    pub halts: bool,
}

impl Default for Model {
    fn default() -> Self {
        Model {
            seed: 1,
            mispredict: 0,
            run_ahead: 6,
            late_mispredict: false,
            commit_every: 16,
            source_addresses: SourceAddresses::Never,
            q: 0,
            fifo: None,
            sync_delay: 0,
            sync_unresolved: false,
            cycles_per_instruction: 1,
            cycles_per_tick: 8,
            first_timestamp: 0x1_0000,
            halts: true,
        }
    }
}

/// The unit's random decisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(pub(crate) SplitMix64);

impl Random {
    /// A number below `n`; 0 for 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// True in this many of 1024 cases.
    pub(crate) fn chance(&mut self, of_1024: u32) -> bool {
        of_1024 > 0 && self.below(1024) < u64::from(of_1024)
    }

    /// True in half of all cases.
    pub(crate) fn coin(&mut self) -> bool {
        self.0.next_u64() & 1 == 1
    }
}

/// Fill level of the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    model: Option<FifoModel>,
    level: u64,
    /// The cycle of the last drain.
    at: u64,
}

impl Fifo {
    pub(crate) fn new(model: Option<FifoModel>) -> Self {
        Fifo { model, level: 0, at: 0 }
    }

    /// Removes the bytes that left up to `cycle`.
    fn drain(&mut self, cycle: u64) {
        match self.model {
            None => self.level = 0,
            Some(FifoModel { cycles_per_byte: 0, .. }) => {}
            Some(FifoModel { cycles_per_byte, .. }) => {
                let bytes = cycle.saturating_sub(self.at) / u64::from(cycles_per_byte);
                self.at += bytes * u64::from(cycles_per_byte);
                self.level = self.level.saturating_sub(bytes);
                if self.level == 0 {
                    self.at = cycle;
                }
            }
        }
    }

    pub(crate) fn is_empty(&mut self, cycle: u64) -> bool {
        self.drain(cycle);
        self.level == 0
    }

    /// Adds bytes; false if they do not fit.
    pub(crate) fn push(&mut self, bytes: u64, cycle: u64) -> bool {
        self.drain(cycle);
        let fits = self.model.is_none_or(|model| self.level + bytes <= u64::from(model.bytes.max(64)));
        if fits && self.model.is_some() {
            self.level += bytes;
        }
        fits
    }

    /// Cycles until the buffer is empty; `None` if never.
    pub(crate) fn cycles_to_empty(&self) -> Option<u64> {
        match self.model {
            Some(FifoModel { cycles_per_byte: 0, .. }) if self.level > 0 => None,
            Some(model) => Some((self.level + 1) * u64::from(model.cycles_per_byte)),
            None => Some(0),
        }
    }
}

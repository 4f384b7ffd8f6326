//! The result of a conversion.

use trackway_core::Ledger;
use trackway_format::Error;
use trackway_io::{FileError, Target};

use crate::health::Health;

/// Result of a conversion.
#[derive(Debug, Default)]
pub struct Conversion {
    /// Everything kept, derived, dropped and invented.
    pub ledger: Ledger,
    /// Items copied, or events converted; gaps do not count.
    pub count: u64,
    /// How well the input was read; `None` for a copy in the same format.
    pub health: Option<Health>,
    /// An error that ended the input early. The output holds what came before it.
    pub ended: Option<Error>,
    /// True if the output was read back and holds what the ledger says; `None` if it was not read back.
    pub proved: Option<bool>,
    /// Reasons why the proof failed, or why there is none.
    pub reasons: Vec<String>,
    /// Doubts about the input: a program that differs from the trace in places.
    pub warnings: Vec<String>,
    /// The outputs, which do not have their names before [`commit`](Conversion::commit).
    pub outputs: Vec<Written>,
}

/// One output of a conversion.
#[derive(Debug)]
pub struct Written {
    /// Where it is.
    pub target: Target,
    /// Its part of the ledger; `None` for a copy.
    pub(crate) ledger: Option<Ledger>,
    /// The one source that it holds, where the input has several.
    pub source: Option<u16>,
}

impl Conversion {
    /// Gives the outputs their names.
    pub fn commit(&self) -> std::result::Result<(), FileError> {
        self.outputs.iter().try_for_each(|output| output.target.commit())
    }
}

//! The optional modes (3.2, table 2.2) and their bits in the support packet (6.5).

use serde::{Deserialize, Serialize};

/// An optional mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Sequentially inferable jumps are not reported (3.2.4).
    Sijump,
    /// Returns are not reported (3.2.5).
    ImplicitReturn,
    /// Handlers' addresses are not reported (3.2.3).
    ImplicitException,
    /// Branches are predicted (3.2.6).
    BranchPrediction,
    /// Jump targets are cached (3.2.7).
    JumpTargetCache,
    /// Addresses are sent in full (3.2.2).
    FullAddress,
    /// Data packets have no address (table 2.2).
    NoAddress,
    /// Data packets have no data (table 2.2).
    NoData,
    /// Data packets have addresses in full only, which the packets show anyway.
    DataFullAddress,
    /// Data packets have data in full only, which the packets show anyway.
    DataFullData,
    /// Addresses are sent as differences: the opposite of [`FullAddress`](Mode::FullAddress). PULP has a bit for it.
    DeltaAddress,
    /// A bit without meaning.
    Reserved,
}

impl Mode {
    /// All modes that can be switched on.
    pub const ALL: [Mode; 8] = [
        Mode::Sijump,
        Mode::ImplicitReturn,
        Mode::ImplicitException,
        Mode::BranchPrediction,
        Mode::JumpTargetCache,
        Mode::FullAddress,
        Mode::NoAddress,
        Mode::NoData,
    ];

    /// Its name in settings files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Sijump => "sijump",
            Mode::ImplicitReturn => "implicit_return",
            Mode::ImplicitException => "implicit_exception",
            Mode::BranchPrediction => "branch_prediction",
            Mode::JumpTargetCache => "jump_target_cache",
            Mode::FullAddress => "full_address",
            Mode::NoAddress => "no_address",
            Mode::NoData => "no_data",
            Mode::DataFullAddress => "data_full_address",
            Mode::DataFullData => "data_full_data",
            Mode::DeltaAddress => "delta_address",
            Mode::Reserved => "reserved",
        }
    }
}

/// The modes that are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct Options {
    /// See [`Mode::Sijump`].
    pub sijump: bool,
    /// See [`Mode::ImplicitReturn`].
    pub implicit_return: bool,
    /// See [`Mode::ImplicitException`].
    pub implicit_exception: bool,
    /// See [`Mode::BranchPrediction`].
    pub branch_prediction: bool,
    /// See [`Mode::JumpTargetCache`].
    pub jump_target_cache: bool,
    /// See [`Mode::FullAddress`].
    pub full_address: bool,
    /// See [`Mode::NoAddress`].
    pub no_address: bool,
    /// See [`Mode::NoData`].
    pub no_data: bool,
}

impl Options {
    /// Is the mode on?
    pub const fn get(&self, mode: Mode) -> bool {
        match mode {
            Mode::Sijump => self.sijump,
            Mode::ImplicitReturn => self.implicit_return,
            Mode::ImplicitException => self.implicit_exception,
            Mode::BranchPrediction => self.branch_prediction,
            Mode::JumpTargetCache => self.jump_target_cache,
            Mode::FullAddress => self.full_address,
            Mode::NoAddress => self.no_address,
            Mode::NoData => self.no_data,
            Mode::DeltaAddress => !self.full_address,
            Mode::DataFullAddress | Mode::DataFullData | Mode::Reserved => false,
        }
    }

    /// Switches a mode.
    pub fn set(&mut self, mode: Mode, on: bool) {
        match mode {
            Mode::Sijump => self.sijump = on,
            Mode::ImplicitReturn => self.implicit_return = on,
            Mode::ImplicitException => self.implicit_exception = on,
            Mode::BranchPrediction => self.branch_prediction = on,
            Mode::JumpTargetCache => self.jump_target_cache = on,
            Mode::FullAddress => self.full_address = on,
            Mode::NoAddress => self.no_address = on,
            Mode::NoData => self.no_data = on,
            // A unit that has bits for both sets exactly one of them; the other bit decides.
            Mode::DeltaAddress | Mode::DataFullAddress | Mode::DataFullData | Mode::Reserved => {}
        }
    }
}

/// Layout of the support packet: widths, and the modes' bits in wire order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportLayout {
    /// Bits of `encoder_mode`.
    pub encoder_mode_width: u32,
    /// The mode of each bit of `ioptions`, bit 0 first.
    pub ioptions: Vec<Mode>,
    /// Bits of `doptions`.
    pub doptions_width: u32,
    /// The mode of each bit of `doptions`, bit 0 first; bits above have no meaning.
    pub doptions: Vec<Mode>,
}

impl SupportLayout {
    /// Names of the layouts known.
    pub const NAMES: [&str; 3] = ["reference", "pulp", "all"];

    /// A known layout: `reference` (the public reference model), `pulp` (the PULP `rv_tracer`), or `all`
    /// (the reference one, and a bit for sequentially inferable jumps).
    pub fn named(name: &str) -> Option<Self> {
        use Mode::*;
        let reference = [ImplicitReturn, ImplicitException, FullAddress, JumpTargetCache, BranchPrediction];
        let (ioptions, doptions_width) = match name {
            "reference" => (reference.to_vec(), 4),
            "all" => ([&reference[..], &[Sijump]].concat(), 4),
            "pulp" => (
                vec![
                    JumpTargetCache,
                    BranchPrediction,
                    ImplicitReturn,
                    Sijump,
                    ImplicitException,
                    FullAddress,
                    DeltaAddress,
                ],
                0,
            ),
            _ => return None,
        };
        let mut doptions = vec![NoAddress, NoData, DataFullAddress, DataFullData];
        doptions.truncate(doptions_width as usize);
        Some(SupportLayout { encoder_mode_width: 1, ioptions, doptions_width, doptions })
    }

    /// The bits for these options: `ioptions` and `doptions`.
    pub fn bits(&self, options: Options) -> (u64, u64) {
        let bits = |modes: &[Mode]| -> u64 {
            modes.iter().enumerate().map(|(n, mode)| u64::from(options.get(*mode)) << n).sum()
        };
        (bits(&self.ioptions), bits(&self.doptions))
    }

    /// The options that the bits of `ioptions` switch on, and those of `doptions` where it exists; a mode without a
    /// bit stays as in `known`.
    pub fn options(&self, ioptions: u64, doptions: Option<u64>, known: Options) -> Options {
        let mut options = known;
        for (modes, bits) in [(&self.ioptions, Some(ioptions)), (&self.doptions, doptions)] {
            for (n, mode) in modes.iter().enumerate() {
                if let Some(bits) = bits {
                    options.set(*mode, bits >> n & 1 == 1);
                }
            }
        }
        options
    }
}

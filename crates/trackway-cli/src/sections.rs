//! Sections of a settings file that belong to commands, not to formats.

use trackway::format::Key;
use trackway_hart::{CsrSettings, Settings as Machine};
use trackway_tools::verify::Range;

trackway::format::settings! {
    /// `[verify]`.
    #[derive(Debug, Default)]
    pub(crate) struct Verify {
        /// Where memory is: lists of first address, size and, if known, content before anything is written: "zero", or "trace"
        /// for a ROM whose content is what the trace shows. Left out: the trace decides what faults. "zero" alone: all
        /// memory is zero until something is written.
        pub(crate) memory: VerifyMemory = "[[0x80000000, 0x8000000]]",
        /// Devices: pairs of first address and size. Left out: those of the machine that `record` has.
        pub(crate) mmio: Option<Vec<(u64, u64)>> = "[[0x10000000, 0x1000]]",
        /// Elements that the trace leaves out: x, f, csr, privilege, memory.
        pub(crate) absent: Option<Vec<String>> = "[\"csr\"]",
        /// Compare `mstatus.FS` also where the trace does not record `mstatus`.
        pub(crate) strict: bool = "false",
    }
}

/// `[verify] memory`.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(untagged)]
pub(crate) enum VerifyMemory {
    /// Of all memory.
    All(Unwritten),
    /// Of these places.
    Places(Vec<Place>),
}

impl Verify {
    /// Where memory and devices are left out: those of the machine that a described core has.
    pub(crate) fn complete(&mut self, preset: Option<&str>) {
        let unsaid = matches!(&self.memory, VerifyMemory::Places(places) if places.is_empty());
        if preset == Some("spike") && unsaid {
            // Boot ROM and RAM of `spike`; beside the devices everything else faults.
            self.memory = VerifyMemory::Places(vec![
                Place::Known(0x1000, 0x1000, Unwritten::Trace),
                Place::Known(0x8000_0000, 0x8000_0000, Unwritten::Zero),
            ]);
        }
        if preset == Some("spike") && self.mmio.is_none() {
            self.mmio = Some(SPIKE_DEVICES.to_vec());
        }
    }
}

/// Debug module, CLINT, PLIC and UART of `spike`.
const SPIKE_DEVICES: [(u64, u64); 4] =
    [(0, 0x1000), (0x200_0000, 0xc_0000), (0xc00_0000, 0x100_0000), (0x1000_0000, 0x100)];

/// Content of memory before anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unwritten {
    Zero,
    /// As the trace shows it.
    Trace,
}

/// First address and size of a place where memory is.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(untagged)]
pub(crate) enum Place {
    Unknown(u64, u64),
    Known(u64, u64, Unwritten),
}

impl Default for VerifyMemory {
    fn default() -> Self {
        VerifyMemory::Places(Vec::new())
    }
}

impl VerifyMemory {
    /// Where memory is; empty if that is not said.
    pub(crate) fn places(&self) -> Vec<Range> {
        let VerifyMemory::Places(places) = self else { return Vec::new() };
        places
            .iter()
            .map(|place| match *place {
                Place::Unknown(start, size) | Place::Known(start, size, _) => range(start, size),
            })
            .collect()
    }

    /// Where it holds this until something is written.
    pub(crate) fn unwritten(&self, content: Unwritten) -> Vec<Range> {
        match self {
            VerifyMemory::All(all) if *all == content => vec![range(0, u64::MAX)],
            VerifyMemory::All(_) => Vec::new(),
            VerifyMemory::Places(places) => {
                let of = |place: &Place| match *place {
                    Place::Known(start, size, found) if found == content => Some(range(start, size)),
                    _ => None,
                };
                places.iter().filter_map(of).collect()
            }
        }
    }
}

pub(crate) fn range(start: u64, size: u64) -> Range {
    Range { start, end: start.saturating_add(size) }
}

/// Keys of a register in `[masks]`.
const MASK: &[Key] = trackway_tools::verify::MaskSettings::KEYS;

/// Name, use and keys of each section.
pub(crate) const SECTIONS: [(&str, &str, &[Key]); 4] = [
    ("machine", "the core and its machine, for record and verify", Machine::KEYS),
    (
        "csr.REGISTER",
        "a control register in which the core differs, for record and verify",
        CsrSettings::KEYS,
    ),
    ("verify", "what a trace is compared in", Verify::KEYS),
    ("masks.REGISTER", "bits of a control register, for verify", MASK),
];

/// Names of the sections in a settings file.
pub(crate) const NAMES: [&str; 4] = ["machine", "csr", "masks", "verify"];

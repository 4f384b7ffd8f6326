//! Sections of a settings file that belong to commands, not to formats.

use trackway::format::Key;
use trackway_hart::Settings as Machine;

trackway::format::settings! {
    /// `[verify]`.
    #[derive(Debug, Default)]
    pub(crate) struct Verify {
        /// Where memory is: pairs of first address and size. Left out: the trace decides what faults.
        pub(crate) memory: Vec<(u64, u64)> = "[[0x80000000, 0x8000000]]",
        /// Devices: pairs of first address and size. Left out: those of the machine that `record` has.
        pub(crate) mmio: Option<Vec<(u64, u64)>> = "[[0x10000000, 0x1000]]",
        /// Elements that the trace leaves out: x, f, csr, privilege, memory.
        pub(crate) absent: Option<Vec<String>> = "[\"csr\"]",
        /// Compare `mstatus.FS` also where the trace does not record `mstatus`.
        pub(crate) strict: bool = "false",
    }
}

/// Keys of a register in `[masks]`.
const MASK: &[Key] = trackway_tools::verify::MaskSettings::KEYS;

/// Name, use and keys of each section.
pub(crate) const SECTIONS: [(&str, &str, &[Key]); 3] = [
    ("machine", "the core and its machine, for record and verify", Machine::KEYS),
    ("verify", "what a trace is compared in", Verify::KEYS),
    ("masks.REGISTER", "bits of a control register, for verify", MASK),
];

/// Names of the sections in a settings file.
pub(crate) const NAMES: [&str; 4] = ["machine", "csr", "masks", "verify"];

//! Settings of recordings.

use std::path::PathBuf;

use trackway_core::FormatId;
use trackway_format::{Flag, When, settings};

/// The format's name.
pub(crate) const ID: FormatId = FormatId::new("perf");

settings! {
    /// Settings of perf.data.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Section {
        /// Folder with a copy of the recorded machine's files; paths of the recording are looked up in it, and never
        /// lead out of it.
        pub(crate) sysroot: Option<PathBuf> = "\"sysroot\"",
        /// Folder with binaries or symbols by build id, `.build-id/ab/cdef….debug`, or by path.
        pub(crate) debug_dir: Option<PathBuf> = "\"/usr/lib/debug\"",
        /// Show cancelled speculation and failed transactions.
        pub(crate) show_withdrawn: bool = "false",
    }
}

pub(crate) const FLAGS: &[Flag] = &[
    Flag {
        name: "sysroot",
        key: "sysroot",
        value: "DIR",
        values: &[],
        when: When::Reading,
        help: "Copy of the recorded machine's files (perf.data)",
    },
    Flag {
        name: "debug-dir",
        key: "debug_dir",
        value: "DIR",
        values: &[],
        when: When::Reading,
        help: "Binaries and symbols by build id or path (perf.data)",
    },
];

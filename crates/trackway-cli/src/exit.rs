//! Exit codes and failures.

use std::path::{Path, PathBuf};

/// Declares the exit codes: number, a few words and the whole meaning.
macro_rules! exits {
    ($($(#[$meta:meta])* $variant:ident = $code:literal, $brief:literal, $meaning:literal;)*) => {
        /// How a command ended. The numbers are part of the contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Exit { $(#[doc = $meaning] $variant = $code,)* }

        impl Exit {
            /// All of them.
            pub(crate) const ALL: &[Exit] = &[$(Exit::$variant),*];

            /// A few words.
            pub(crate) const fn brief(self) -> &'static str {
                match self { $(Exit::$variant => $brief,)* }
            }

            /// The whole meaning.
            pub(crate) const fn meaning(self) -> &'static str {
                match self { $(Exit::$variant => $meaning,)* }
            }
        }
    };
}

exits! {
    Fine = 0, "fine", "Fine. Gaps after which decoding continued are shown and are fine too.";
    Found = 1, "it found something",
        "It found something: a difference, a violation, a mismatch, a program that reported failure. Of find, as of grep: nothing matches.";
    Usage = 2, "usage",
        "Wrong usage, and a conversion or option that cannot be: wrong architecture, several sources, nothing to compare or check.";
    Unreadable = 3, "input unreadable",
        "The input cannot be read or is not understood, an error ended decoding (truncation included), or the path had to be followed through the program and nowhere could be.";
    Gaps = 4, "gaps or losses under --strict", "Gaps, doubtful runs, errors or losses, under --strict.";
    Internal = 5, "internal or output not written",
        "A defect of trackway, an output that cannot be written, or a conversion whose proof failed.";
    Interrupted = 130, "interrupted", "Interrupted by a signal.";
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Reason why a command stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A trace could not be opened or read; `instruction` is the number of the next one.
    #[error("{}", about(path, error))]
    Input {
        /// The trace.
        path: PathBuf,
        /// The error.
        error: Box<trackway::Error>,
        /// How far it was read.
        instruction: Option<u64>,
        /// The bytes around the place, ready to print.
        excerpt: Option<String>,
        /// The trace and the options that open it, for commands to try.
        words: String,
    },
    /// Options that make no sense.
    #[error("{0}")]
    Usage(String),
    /// stdout is gone or full.
    #[error("stdout: {0}")]
    Output(#[from] std::io::Error),
    /// The output is gone or full.
    #[error("{}: {error}", if path.as_os_str() == "-" { "stdout".into() } else { path.display().to_string() })]
    Written {
        /// Where it was written to.
        path: PathBuf,
        /// Why it could not be.
        error: std::io::Error,
    },
    /// An output that does not hold what the ledger says.
    #[error("{}: the output does not hold what the ledger says, and is not written\n  {}", path.display(), reasons.join("\n  "))]
    Unproved {
        /// The output.
        path: PathBuf,
        /// Reasons.
        reasons: Vec<String>,
    },
    /// A loss that `--strict` refuses.
    #[error("{0}")]
    Strict(String),
    /// A trace whose path had to be followed, and nowhere could be.
    #[error("{0}")]
    Unfollowed(String),
    /// A panic; its place and reason are on stderr already.
    #[error("this is a defect of trackway: please report it, with the lines above and the command")]
    Defect,
}

/// True if a signal ended the run.
fn is_cancelled(error: &trackway::Error) -> bool {
    matches!(error, trackway::Error::Trace(error) if error.kind == trackway_core::ErrorKind::Cancelled)
}

/// The error with its file. Some errors name it themselves, or are about options.
fn about(path: &Path, error: &trackway::Error) -> String {
    match error {
        trackway::Error::File { .. }
        | trackway::Error::Config(_)
        | trackway::Error::Strict(_)
        | trackway::Error::Image(
            trackway_image::Error::Io { .. }
            | trackway_image::Error::In { .. }
            | trackway_image::Error::Spec(_)
            | trackway_image::Error::NoAddress(_),
        ) => error.to_string().trim_end().to_string(),
        _ => format!("{}: {error}", path.display()),
    }
}

impl Failure {
    /// A failure to write a trace: the output's own, if it has one.
    pub(crate) fn output(
        target: &trackway::io::Target,
        path: &Path,
        error: impl Into<trackway::Error>,
    ) -> Self {
        match (target.failure(), error.into()) {
            (Some(error), _) => Failure::Written { path: path.into(), error },
            (
                None,
                trackway::Error::Trace(trackway_core::Error {
                    kind: trackway_core::ErrorKind::Io(kind), ..
                }),
            ) => Failure::Written { path: path.into(), error: kind.into() },
            (None, error) => Self::input(path, error),
        }
    }

    /// A failure of a conversion that can only be one of its output: a full disk.
    pub(crate) fn only_output(path: &Path, error: &trackway::Error) -> Option<Self> {
        use std::io::ErrorKind as Io;
        let trackway::Error::Trace(error) = error else { return None };
        let trackway_core::ErrorKind::Io(kind) = error.kind else { return None };
        let full =
            [Io::StorageFull, Io::QuotaExceeded, Io::FileTooLarge, Io::ReadOnlyFilesystem, Io::WriteZero];
        full.contains(&kind).then(|| Failure::Written { path: path.into(), error: kind.into() })
    }

    /// A failure to open or read a trace.
    pub(crate) fn input(path: &Path, error: impl Into<trackway::Error>) -> Self {
        let words = path.display().to_string();
        let error = Box::new(error.into());
        Failure::Input { path: path.into(), error, instruction: None, excerpt: None, words }
    }

    /// The same failure, after that many instructions.
    pub(crate) fn after(self, instructions: Option<u64>) -> Self {
        match self {
            Failure::Input { path, error, excerpt, words, .. } => {
                Failure::Input { path, error, instruction: instructions, excerpt, words }
            }
            other => other,
        }
    }

    /// The exit code for it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Usage(_) => Exit::Usage,
            Failure::Input { error, .. } if is_cancelled(error) => Exit::Interrupted,
            Failure::Input { error, .. } if matches!(**error, trackway::Error::Config(_)) => Exit::Usage,
            Failure::Input { .. } => Exit::Unreadable,
            Failure::Strict(_) => Exit::Gaps,
            Failure::Unfollowed(_) => Exit::Unreadable,
            Failure::Unproved { .. } | Failure::Defect => Exit::Internal,
            // A closed pipe means that the reader has enough.
            Failure::Output(error) | Failure::Written { error, .. }
                if error.kind() == std::io::ErrorKind::BrokenPipe =>
            {
                Exit::Fine
            }
            Failure::Output(_) | Failure::Written { .. } => Exit::Internal,
        }
    }
}

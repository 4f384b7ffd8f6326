//! Reasons why a guest cannot be recorded.

use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a guest cannot be recorded.
#[derive(Debug)]
pub enum Error {
    /// The program is not one that can be recorded.
    Program(String),
    /// QEMU is not installed.
    Absent {
        /// The program that was looked for.
        program: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// This QEMU cannot load plugins.
    NoPlugins {
        /// Where it is.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// The plugin for its API is missing.
    NoFile {
        /// The version of QEMU.
        version: String,
        /// The name of the file.
        name: String,
        /// Places that were looked at.
        places: Vec<PathBuf>,
    },
    /// QEMU ended before it executed anything.
    Silent(Option<ExitStatus>),
    /// The stream is not what the plugin writes.
    Stream(String),
    /// The operating system refused.
    Io(std::io::Error),
}

impl std::error::Error for Error {}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Program(text) | Error::Stream(text) => f.write_str(text),
            Error::Absent { program, package } => {
                write!(f, "{program} is not installed: on Debian and Ubuntu, apt-get install {package}")
            }
            Error::NoPlugins { path, version } => write!(
                f,
                "{} (QEMU {version}) has no -plugin: it was built without plugins, as static builds are \
                 (Debian 13's qemu-user). Use Debian 12's qemu-user, or a QEMU that was configured with --enable-plugins",
                path.display()
            ),
            Error::NoFile { version, name, places } => {
                let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
                write!(
                    f,
                    "no plugin for QEMU {version}: {name} is not in {}. Build it (plugin/qemu/README.md) and name it with \
                     --plugin FILE or TRACKWAY_QEMU_PLUGIN",
                    places.join(" nor in ")
                )
            }
            Error::Silent(Some(status)) => {
                write!(f, "QEMU ended before it executed anything ({status}); its own message is above")
            }
            Error::Silent(None) => f.write_str("the plugin was loaded and recorded nothing"),
            Error::Io(error) => write!(f, "{error}"),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Io(error)
    }
}

//! The installed QEMU, its version, its plugin API, and our plugin for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::program::Mode;

/// A QEMU that can load plugins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qemu {
    /// Where it is.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// The version of its plugin API.
    pub api: u32,
}

impl Qemu {
    /// Looks for the one that runs `architecture`, in the folders of `PATH`.
    pub fn find(mode: Mode, architecture: &str) -> Result<Self, Error> {
        let (program, package) = match (mode, architecture) {
            (Mode::User, _) => (format!("qemu-{architecture}"), "qemu-user"),
            (Mode::System, "aarch64" | "arm") => (format!("qemu-system-{architecture}"), "qemu-system-arm"),
            (Mode::System, _) => (format!("qemu-system-{architecture}"), "qemu-system-misc"),
        };
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let found =
            std::env::split_paths(&folders).map(|folder| folder.join(&program)).find(|path| path.is_file());
        let Some(path) = found else { return Err(Error::Absent { program, package }) };
        Self::probe(path)
    }

    /// Asks this one.
    fn probe(path: PathBuf) -> Result<Self, Error> {
        let version = ask(&path, "--version")?;
        let version = version_of(&version).unwrap_or("of an unknown version").to_string();
        let help = ask(&path, "--help")?;
        if !help.lines().any(|line| line.trim_start().starts_with("-plugin")) {
            return Err(Error::NoPlugins { path, version });
        }
        Ok(Qemu { api: api(&version), path, version })
    }
}

fn ask(program: &Path, question: &str) -> Result<String, Error> {
    let output = Command::new(program).arg(question).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `7.2.22` in `qemu-aarch64 version 7.2.22 (Debian 1:7.2+dfsg-7)`.
fn version_of(text: &str) -> Option<&str> {
    text.split_ascii_whitespace().skip_while(|word| *word != "version").nth(1)
}

/// The plugin API of a version of QEMU.
fn api(version: &str) -> u32 {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    match (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) {
        (0..=8, _) => 1,
        (9, 0) => 2,
        (9, 1) => 3,
        _ => 4,
    }
}

/// Where our plugins are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugins {
    /// A file, or a folder that holds one file for each API.
    pub named: Option<PathBuf>,
    /// Folders to look into otherwise.
    pub folders: Vec<PathBuf>,
}

impl Plugins {
    /// The plugin for this QEMU.
    pub fn find(&self, qemu: &Qemu) -> Result<PathBuf, Error> {
        let name = format!("libtrackway_qemu_api{}.so", qemu.api);
        let places: Vec<PathBuf> = match &self.named {
            Some(file) if !file.is_dir() => {
                let absent =
                    || Error::NoFile { version: qemu.version.clone(), name, places: vec![file.clone()] };
                // QEMU looks for a name without a slash among the libraries of the system.
                return std::path::absolute(file).ok().filter(|path| path.is_file()).ok_or_else(absent);
            }
            Some(folder) => vec![folder.clone()],
            None => self.folders.clone(),
        };
        let found = places.iter().map(|folder| folder.join(&name)).find(|path| path.is_file());
        found.ok_or_else(|| Error::NoFile { version: qemu.version.clone(), name, places })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_their_api() {
        assert_eq!(
            version_of("qemu-aarch64 version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright"),
            Some("7.2.22")
        );
        for (version, expected) in [("7.2.22", 1), ("8.2.2", 1), ("9.0", 2), ("9.1.1", 3), ("10.0.2", 4)] {
            assert_eq!(api(version), expected, "{version}");
        }
    }

    #[test]
    fn a_missing_plugin_says_where_it_was_looked_for() {
        let qemu = Qemu { path: "qemu".into(), version: "7.2.22".to_string(), api: 1 };
        let plugins = Plugins { named: None, folders: vec!["/nowhere".into()] };
        let text = plugins.find(&qemu).unwrap_err().to_string();
        assert!(text.contains("libtrackway_qemu_api1.so is not in /nowhere"), "{text}");
        let file = Plugins { named: Some("/nowhere/x.so".into()), folders: Vec::new() };
        assert!(file.find(&qemu).is_err());
    }

    #[test]
    fn a_program_without_plugins_is_named() {
        let error = Qemu::probe("/bin/true".into()).unwrap_err().to_string();
        assert!(error.contains("has no -plugin"), "{error}");
    }
}

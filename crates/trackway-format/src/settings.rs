//! Settings that a trace does not carry: a TOML file, and options from the command line on top of it.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use trackway_io::FileError;

use crate::Format;
use crate::error::{Error, Result};
use crate::keys::{self, Flag, Key, When, suggest};

/// Settings by section; each format has the section of its name.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The file they come from; paths in it are relative to its folder.
    pub path: Option<PathBuf>,
    /// The content of the file and what was set after it.
    pub table: toml::Table,
}

impl Settings {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(FileError::at(path))?;
        let table = text.parse().map_err(|error| Error::Config(format!("{}: {error}", path.display())))?;
        Ok(Settings { path: Some(path.into()), table })
    }

    /// Reads the sidecar of a trace, `TRACE.toml`, if there is one.
    pub fn beside_trace(trace: &Path) -> Result<Option<Self>> {
        let mut name = trace.as_os_str().to_os_string();
        name.push(".toml");
        let path = PathBuf::from(name);
        path.is_file().then(|| Self::read(&path)).transpose()
    }

    /// True if nothing is set.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// True if there is a section of this name.
    pub fn has(&self, section: &str) -> bool {
        self.table.contains_key(section)
    }

    /// A path in the file, relative to its folder.
    pub fn resolve(&self, name: &str) -> PathBuf {
        let folder = self.path.as_deref().and_then(Path::parent);
        folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
    }

    /// Sets a key of a section, as a command-line option does.
    pub fn set(&mut self, section: &str, key: &str, value: impl Into<toml::Value>) {
        let table = self.table.entry(section).or_insert_with(|| toml::Table::new().into());
        if let Some(table) = table.as_table_mut() {
            table.insert(key.into(), value.into());
        }
    }

    /// Sets keys by the names of the format's flags; one that does not apply is refused.
    pub fn set_flags<'f>(
        &mut self,
        format: &dyn Format,
        when: &[When],
        flags: impl IntoIterator<Item = (&'f str, toml::Value)>,
    ) -> Result<()> {
        for (name, value) in flags {
            let applies = |flag: &&Flag| flag.name == name && when.contains(&flag.when);
            let flag = format
                .flags()
                .iter()
                .find(applies)
                .ok_or_else(|| Error::Config(format!("--{name} does not apply to {}", format.title())))?;
            self.set(format.id().as_str(), flag.key, value);
        }
        Ok(())
    }

    /// A section as its typed value, the default where it is absent.
    pub fn section<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        let Some(section) = self.table.get(name) else { return Ok(T::default()) };
        section.clone().try_into().map_err(|error| self.wrong(&format!("[{name}]: {error}")))
    }

    /// A section of a format, with unknown keys refused by name and a suggestion.
    pub fn of_format<T: DeserializeOwned + Default>(&self, format: &dyn Format) -> Result<T> {
        let id = format.id();
        if let Some(section) = self.table.get(id.as_str()).and_then(toml::Value::as_table) {
            self.refuse_unknown(id.as_str(), section, format.keys())?;
        }
        self.section(id.as_str())
    }

    /// Refuses a key that is not among `keys`.
    pub fn refuse_unknown(&self, section: &str, table: &toml::Table, keys: &[Key]) -> Result<()> {
        let Some((key, near)) = keys::unknown(table, keys) else { return Ok(()) };
        let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
        let section = if section.is_empty() { String::new() } else { format!("[{section}] ") };
        Err(self.wrong(&format!("{section}{key}: unknown key{near}")))
    }

    /// Refuses a section or top-level key that none of `formats` and none of `sections` knows.
    pub fn refuse_unknown_sections(&self, formats: &[&dyn Format], sections: &[&str]) -> Result<()> {
        let ids: Vec<_> = formats.iter().map(|format| format.id()).collect();
        let at_top: Vec<&Key> = formats
            .iter()
            .filter(|format| format.is_at_top_level(self))
            .flat_map(|format| format.keys())
            .collect();
        for name in self.table.keys() {
            let known = || {
                let ids = ids.iter().map(|id| id.as_str());
                ids.chain(sections.iter().copied()).chain(at_top.iter().map(|key| key.name))
            };
            if !known().any(|known| known == name) {
                let near = suggest(name, known());
                let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
                return Err(self.wrong(&format!("{name}: unknown key{near}")));
            }
        }
        Ok(())
    }

    /// An error that names the file.
    pub fn wrong(&self, text: &str) -> Error {
        match &self.path {
            Some(path) => Error::Config(format!("{}: {text}", path.display())),
            None => Error::Config(text.to_string()),
        }
    }
}

/// A commented settings template of a format; every line works when uncommented.
pub fn template(format: &dyn Format) -> String {
    let mut out = format!("# Settings of {}.\n", format.title());
    keys::template(format.id().as_str(), format.keys(), &mut out);
    out
}

//! What the user says beside the trace: configuration, program, how to write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway_core::FormatId;
use trackway_image::Image;

use crate::error::{Error, Result};

/// Options that mean the same for every format.
#[derive(Clone, Debug)]
pub struct Options {
    /// Format of the input, where it is not to be recognised.
    pub format: Option<FormatId>,
    /// What must be known from outside.
    pub config: Option<ConfigFile>,
    /// ELF files of the program that ran, `PATH[@ADDR]` each.
    pub elf: Vec<String>,
    /// Raw memory images, `PATH@ADDR` each.
    pub image: Vec<String>,
    /// Threads.
    pub jobs: usize,
    /// Read what is declared as unsupported.
    pub force: bool,
    /// Stop at what would otherwise be stepped over.
    pub strict: bool,
    /// The one source to decode, of several.
    pub source: Option<String>,
    /// Also give what the trace withdrew: cancelled speculation, failed transactions.
    pub show_withdrawn: bool,
    /// Where a wrapped trace buffer's dump begins.
    pub write_pointer: Option<u64>,
    /// How to write.
    pub write: WriteOptions,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            format: None,
            config: None,
            elf: Vec::new(),
            image: Vec::new(),
            jobs: 1,
            force: false,
            strict: false,
            source: None,
            show_withdrawn: false,
            write_pointer: None,
            write: WriteOptions::default(),
        }
    }
}

impl Options {
    /// With the configuration that lies beside a trace (`TRACE.toml`), if there is one and none is given.
    pub fn with_sidecar(mut self, trace: &Path) -> Result<Self> {
        if self.config.is_none() {
            let mut name = trace.as_os_str().to_os_string();
            name.push(".toml");
            let path = PathBuf::from(name);
            if path.is_file() {
                self.config = Some(ConfigFile::read(&path)?);
            }
        }
        Ok(self)
    }

    /// The program that ran, from the files named; without any, those that the configuration names.
    pub fn program(&self) -> Result<Arc<Image>> {
        let mut image = Image::default();
        for spec in &self.elf {
            image.open_elf(spec)?;
        }
        for spec in &self.image {
            image.open_raw(spec)?;
        }
        if let Some(file) = &self.config {
            crate::formats::etrace::add_programs(file, self.elf.is_empty(), &mut image)?;
        }
        Ok(Arc::new(image))
    }
}

/// Options for writing; `None` leaves the choice to the format.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The file around the items: a word of the format.
    pub container: Option<String>,
    /// Compression level.
    pub level: Option<i32>,
    /// Instructions or bytes per chunk or block.
    pub chunk: Option<u64>,
    /// STF version.
    pub stf_version: Option<(u32, u32)>,
    /// ASTF level.
    pub astf_level: Option<String>,
    /// Profile of the format: a word of the format.
    pub profile: Option<String>,
    /// Write although the result does not conform; it says so.
    pub allow_nonconforming: bool,
}

/// A TOML file with settings.
#[derive(Clone, Debug, Default)]
pub struct ConfigFile {
    /// Where it is: paths in it are relative to its folder.
    pub path: PathBuf,
    /// Its content.
    pub table: toml::Table,
}

impl ConfigFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::File { path: path.into(), error })?;
        let table = text.parse().map_err(|error| Error::Config(format!("{}: {error}", path.display())))?;
        Ok(ConfigFile { path: path.into(), table })
    }

    /// A path in it, relative to where it lies.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.parent().map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
    }

    /// A section, as a typed value. A format's keys may also stand at top level where it says so.
    pub fn section<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(section) = self.table.get(name) else { return Ok(None) };
        let value = section.clone().try_into();
        value.map(Some).map_err(|error| Error::Config(format!("{}: [{name}]: {error}", self.path.display())))
    }
}

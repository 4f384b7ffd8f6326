//! The core that the golden model is: `[machine]`, `[csr.NAME]`, `--core` and `--isa`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trackway::format::Settings as File;
use trackway_hart::{Config, CsrSettings, DescribedCore, Settings, read_rules};

use crate::args::CoreArgs;
use crate::exit::Failure;
use crate::report::say;

/// A core as the settings file and the options describe it.
pub(crate) struct Described {
    pub(crate) settings: Settings,
    csrs: BTreeMap<String, CsrSettings>,
    /// The core of a riscv-config description.
    yaml: Option<Config>,
}

impl Described {
    /// Reads `[machine]` and `[csr.NAME]`; options count more.
    pub(crate) fn read(file: &File, args: &CoreArgs, quiet: bool) -> Result<Self, Failure> {
        let in_file = |error: trackway::Error| Failure::Usage(error.to_string());
        let mut settings: Settings = file.section("machine").map_err(in_file)?;
        let named = match &args.name {
            Some(name) => Some((name.clone(), PathBuf::from(name))),
            None => settings.preset.take().map(|name| (name.clone(), file.resolve(&name))),
        };
        settings.isa = args.isa.clone().or(settings.isa);
        let mut yaml = None;
        if let Some((name, path)) = named {
            if path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
                yaml = Some(read_yaml(&path, quiet)?);
            } else {
                settings.preset = Some(name);
            }
        }
        Ok(Described { settings, csrs: file.section("csr").map_err(in_file)?, yaml })
    }

    /// Does it say which core it is, whatever a trace says?
    pub(crate) fn names_a_core(&self) -> bool {
        self.yaml.is_some() || self.settings.isa.is_some() || self.settings.preset.is_some()
    }

    /// The core before `[machine]` changes it, where a description names none.
    pub(crate) fn base(&self, core: Config) -> Config {
        self.yaml.unwrap_or(core)
    }

    /// Control registers on top of those that the core has already.
    pub(crate) fn with_rules(&self, core: Config) -> Result<Config, Failure> {
        let rules = read_rules(core.rules, &self.csrs).map_err(Failure::Usage)?;
        Ok(Config { rules, ..core })
    }
}

/// The core of a riscv-config description; parts that are not followed are mentioned.
fn read_yaml(path: &Path, quiet: bool) -> Result<Config, Failure> {
    let failed = |error| Failure::input(path, trackway::Error::File { path: path.into(), error });
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let core =
        DescribedCore::read(&text).map_err(|text| Failure::Usage(format!("{}: {text}", path.display())))?;
    if !quiet {
        core.left_out.iter().for_each(|text| say!("{}: {text}", path.display()));
    }
    Ok(core.config)
}

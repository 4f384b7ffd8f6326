//! The core that the golden model is: `[machine]`, `[csr.NAME]`, `--core` and `--isa`.

use std::collections::BTreeMap;

use trackway::format::Settings as File;
use trackway_hart::{Config, CsrSettings, Settings, read_rules};

use crate::args::CoreArgs;
use crate::exit::Failure;

/// A core as the settings file and the options describe it.
pub(crate) struct Described {
    pub(crate) settings: Settings,
    csrs: BTreeMap<String, CsrSettings>,
}

impl Described {
    /// Reads `[machine]` and `[csr.NAME]`; options count more.
    pub(crate) fn read(file: &File, args: &CoreArgs) -> Result<Self, trackway::Error> {
        let mut settings: Settings = file.section("machine")?;
        settings.preset = args.name.clone().or(settings.preset);
        settings.isa = args.isa.clone().or(settings.isa);
        Ok(Described { settings, csrs: file.section("csr")? })
    }

    /// Control registers on top of those that the core has already.
    pub(crate) fn with_rules(&self, core: Config) -> Result<Config, Failure> {
        let rules = read_rules(core.rules, &self.csrs).map_err(Failure::Usage)?;
        Ok(Config { rules, ..core })
    }
}

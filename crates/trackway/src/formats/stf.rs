//! STF in the list of formats.

use serde::Deserialize;
use trackway_core::{Finding, FormatId, Input, Items, Meta, Output, Sink, Source};
use trackway_stf::{
    BusMaster, Config, Container, PLAIN_MAGIC, ProcessId, SizeUnit, Trace, WriteConfig, ZSTF_MAGIC,
};

use super::{Format, Opened};
use crate::error::{Error, Result};
use crate::input::File;
use crate::options::Options;
use crate::target::Target;

/// STF.
pub(crate) struct Stf;

/// `[stf]` in the configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Section {
    size_unit: Option<String>,
    process_id: Option<String>,
    bus_master: Option<String>,
}

impl Format for Stf {
    fn id(&self) -> FormatId {
        FormatId::Stf
    }

    fn title(&self) -> &'static str {
        "STF, Simple Trace Format"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["zstf", "stf"]
    }

    fn recognise(&self, file: &File, _: &Options) -> bool {
        file.head.starts_with(ZSTF_MAGIC) || file.head.starts_with(PLAIN_MAGIC)
    }

    fn open(&self, file: File, options: &Options) -> Result<Box<dyn Opened>> {
        let config = read_config(options)?;
        let trace = Trace::open(file.input, config)?;
        let meta = trace.header.meta();
        Ok(Box::new(OpenedStf { trace, meta }))
    }

    fn create(&self, target: Target, meta: &Meta, options: &Options) -> Result<Box<dyn Sink>> {
        let (output, config) = output(&target, options)?;
        Ok(Box::new(trackway_stf::Lower::new(output, meta.clone(), config)?))
    }
}

fn read_config(options: &Options) -> Result<Config> {
    let mut config = Config { force: options.force, jobs: options.jobs, ..Config::default() };
    let Some(file) = &options.config else { return Ok(config) };
    let section: Section = file.section("stf")?.unwrap_or_default();
    let wrong =
        |key, value: &str, words| Error::Config(format!("[stf] {key}: {value:?} is not one of {words}"));
    config.size_unit = match section.size_unit.as_deref() {
        None | Some("auto") => SizeUnit::Auto,
        Some("bytes") => SizeUnit::Bytes,
        Some("bits") => SizeUnit::Bits,
        Some(other) => return Err(wrong("size_unit", other, "auto, bytes, bits")),
    };
    config.process_id = match section.process_id.as_deref() {
        None | Some("library") => ProcessId::Library,
        Some("spec") => ProcessId::Spec,
        Some(other) => return Err(wrong("process_id", other, "library, spec")),
    };
    config.bus_master = match section.bus_master.as_deref() {
        None | Some("library") => BusMaster::Library,
        Some("spec") => BusMaster::Spec,
        Some(other) => return Err(wrong("bus_master", other, "library, spec")),
    };
    Ok(config)
}

/// The output and how to write it: ZSTF where it can seek and is not named otherwise.
fn output(target: &Target, options: &Options) -> Result<(Output, WriteConfig)> {
    let name = target
        .path
        .as_ref()
        .and_then(|path| path.file_name())
        .map(|name| name.to_string_lossy().to_lowercase());
    let name = name.unwrap_or_default();
    let word = match options.write.container.as_deref() {
        Some(word) => word,
        None if target.path.is_none() => "plain",
        None if name.ends_with(".gz") => "gzip",
        None if name.ends_with(".xz") => "xz",
        None if name.ends_with(".zst") => "zstd",
        None if name.ends_with(".stf") => "plain",
        None => "zstf",
    };
    if let Some((major, minor)) = options.write.stf_version.filter(|version| !matches!(version, (1, 2..=6))) {
        return Err(Error::Config(format!("--stf-version: {major}.{minor} is not one of 1.2 to 1.6")));
    }
    let level = options.write.level;
    let (container, output) = match word {
        "zstf" => match target.create()? {
            Output::Stream(_) => {
                let text = "the index of a zstf file is written last, at its start: this output cannot seek, plain can go there";
                return Err(Error::Config(text.into()));
            }
            output => (Container::Zstf, output),
        },
        "plain" => (Container::Plain, target.create()?),
        _ => (Container::Plain, crate::compress::compress(word, target.create()?, level)?),
    };
    // A plain file is written in order, in large pieces.
    let output = match (container, output) {
        (Container::Plain, Output::File(file)) => Output::Stream(Box::new(std::io::BufWriter::new(file))),
        (_, output) => output,
    };
    let defaults = WriteConfig::default();
    Ok((
        output,
        WriteConfig {
            container,
            level: level.unwrap_or(defaults.level),
            chunk: options.write.chunk.unwrap_or(defaults.chunk).max(1),
            version: options.write.stf_version,
            process_id: read_config(options)?.process_id,
            jobs: options.jobs,
            ..defaults
        },
    ))
}

struct OpenedStf {
    trace: Trace,
    meta: Meta,
}

impl Opened for OpenedStf {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn container(&self) -> Vec<(&'static str, String)> {
        let word = match self.trace.container {
            Container::Plain => "plain",
            Container::Zstf => "zstf",
        };
        let mut facts = vec![("container", word.to_string())];
        if let Some(per_chunk) = self.trace.per_chunk() {
            facts.push(("chunks", format!("{} of {per_chunk} instructions", self.trace.chunks())));
        }
        facts
    }

    fn source(self: Box<Self>) -> Result<Box<dyn Source>> {
        Ok(Box::new(self.trace.source()))
    }

    fn bytes(self: Box<Self>) -> Result<Input> {
        Ok(self.trace.bytes())
    }

    fn items(self: Box<Self>) -> Result<Box<dyn Items>> {
        Ok(Box::new(self.trace.items()))
    }

    fn check(self: Box<Self>, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(trackway_stf::check(self.trace, report)?)
    }

    fn rewrite(self: Box<Self>, target: Target, options: &Options) -> Result<u64> {
        let (output, config) = output(&target, options)?;
        Ok(trackway_stf::rewrite(self.trace, output, config)?.records)
    }
}

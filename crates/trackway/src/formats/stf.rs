//! STF in the list of formats.

use trackway_core::{Finding, FormatId, Input, Items, Meta, Output, Rule, Sink, Source};
use trackway_format::{
    Error, Flag, Format, Key, Opened, Opening, Probe, Recognised, Result, Settings, When, Writing,
};
use trackway_io::{Compression, Target, compress};
use trackway_stf::{
    BusMaster, Config, Container, PLAIN_MAGIC, ProcessId, SizeUnit, Trace, WriteConfig, ZSTF_MAGIC,
};

/// STF.
pub(crate) struct Stf;

trackway_format::settings! {
    /// `[stf]` in the settings.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Section {
        /// Unit of the size in memory accesses: auto, bytes or bits.
        size_unit: Option<String> = "\"auto\"",
        /// Reading of PROCESS_ID_EXT: library (as stf_lib) or spec.
        process_id: Option<String> = "\"library\"",
        /// Reading of the bus master record: library (as stf_lib) or spec.
        bus_master: Option<String> = "\"library\"",
        /// Written container: zstf, plain, gzip, xz or zstd.
        container: Option<String> = "\"zstf\"",
        /// Written compression level.
        level: Option<i32> = "3",
        /// Written instructions per chunk of a zstf file.
        chunk: Option<u64> = "100000",
        /// Version written from events: 1.2 to 1.6.
        version: Option<String> = "\"1.5\"",
    }
}

const FLAGS: &[Flag] = &[
    Flag {
        name: "container",
        key: "container",
        value: "NAME",
        when: When::Writing,
        help: "Container to write (STF: zstf, plain, gzip, xz, zstd)",
    },
    Flag { name: "level", key: "level", value: "N", when: When::Writing, help: "Compression level" },
    Flag {
        name: "chunk",
        key: "chunk",
        value: "N",
        when: When::Writing,
        help: "Instructions per chunk (STF)",
    },
    Flag {
        name: "stf-version",
        key: "version",
        value: "X.Y",
        when: When::Lowering,
        help: "STF version to write from events",
    },
];

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

    fn rules(&self) -> &'static [&'static Rule] {
        &[]
    }

    fn keys(&self) -> &'static [Key] {
        Section::KEYS
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        let head = &probe.file.head;
        (head.starts_with(ZSTF_MAGIC) || head.starts_with(PLAIN_MAGIC)).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let config = read_config(&opening.settings.of_format(self)?)?;
        let config = Config { force: opening.force, jobs: opening.threads, ..config };
        let trace = Trace::open(opening.file.input, config)?;
        let meta = trace.header.meta();
        Ok(Box::new(OpenedStf { trace: Some(trace), meta }))
    }

    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        let (output, config) = output(&writing)?;
        Ok(Box::new(trackway_stf::Lower::new(output, meta.clone(), config)?))
    }
}

fn read_config(section: &Section) -> Result<Config> {
    let wrong =
        |key, value: &str, words| Error::Config(format!("[stf] {key}: {value:?} is not one of {words}"));
    let mut config = Config::default();
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

fn version(section: &Section) -> Result<Option<(u32, u32)>> {
    let Some(text) = &section.version else { return Ok(None) };
    let numbers =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    match numbers {
        Some(version @ (1, 2..=6)) => Ok(Some(version)),
        _ => Err(Error::Config(format!("--stf-version: {text} is not one of 1.2 to 1.6"))),
    }
}

/// The output and how to write it: ZSTF where it can seek and is not named otherwise.
fn output(writing: &Writing<'_>) -> Result<(Output, WriteConfig)> {
    let Writing { target, settings, threads, .. } = writing;
    let section: Section = Settings::of_format(settings, &Stf)?;
    let plain = |path: &std::path::Path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("stf"));
    let by_name = |target: &Target| match &target.path {
        None => "plain",
        Some(path) => match Compression::of_name(path) {
            Some(compression) => compression.as_str(),
            None if plain(path) => "plain",
            None => "zstf",
        },
    };
    let word = section.container.as_deref().unwrap_or_else(|| by_name(target));
    let version = version(&section)?;
    let (container, output) = match word {
        "zstf" => match target.create()? {
            Output::Stream(_) => {
                let text = "the index of a zstf file is written last, at its start: this output cannot seek, plain can go there";
                return Err(Error::Config(text.into()));
            }
            output => (Container::Zstf, output),
        },
        "plain" => (Container::Plain, target.create()?),
        word => {
            let compression = word.parse().map_err(|()| {
                Error::Config(format!("--container: {word:?} is not one of plain, zstf, gzip, xz, zstd"))
            })?;
            (Container::Plain, compress(compression, target.create()?, section.level)?)
        }
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
            level: section.level.unwrap_or(defaults.level),
            chunk: section.chunk.unwrap_or(defaults.chunk).max(1),
            version,
            process_id: read_config(&section)?.process_id,
            jobs: *threads,
            ..defaults
        },
    ))
}

struct OpenedStf {
    trace: Option<Trace>,
    meta: Meta,
}

impl OpenedStf {
    fn trace(&mut self) -> Result<Trace> {
        self.trace.take().ok_or(Error::ReadOnce)
    }
}

impl Opened for OpenedStf {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let Some(trace) = &self.trace else { return Vec::new() };
        let word = match trace.container {
            Container::Plain => "plain",
            Container::Zstf => "zstf",
        };
        let mut facts = vec![("container", word.to_string())];
        if let Some(per_chunk) = trace.per_chunk() {
            facts.push(("chunks", format!("{} of {per_chunk} instructions", trace.chunks())));
        }
        facts
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        Ok(Box::new(self.trace()?.source()))
    }

    fn bytes(&mut self) -> Result<Input> {
        Ok(self.trace()?.bytes())
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        Ok(Box::new(self.trace()?.items()))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(self.trace()?.check(report)?)
    }

    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let (output, config) = output(&writing)?;
        Ok(self.trace()?.copy_to(output, config)?.records)
    }
}

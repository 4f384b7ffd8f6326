//! ETE and ETMv4 in the list of formats.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use trackway_core::{Finding, FormatId, Input, Isa, Items, Meta, Output, Rule, SharedBytes, Sink, Source};
use trackway_ete::encode::Settings as UnitSettings;
use trackway_ete::{
    Framing, Lift, Lower, PacketItem, Packets, SNAPSHOT_INI, Snapshot, SnapshotWriter, Text, TomlConfig,
    TraceSource, UnitSink, WrittenSource,
};
use trackway_format::{
    Content, Error, Flag, Format, Key, Opened, Opening, Probe, Recognised, Result, Settings, When, Writing,
    wrong_architecture,
};
use trackway_image::Image;
use trackway_io::{FileError, map};

/// ETE.
pub(crate) struct Ete;

impl Format for Ete {
    fn id(&self) -> FormatId {
        FormatId::Ete
    }

    fn title(&self) -> &'static str {
        "ETE, Embedded Trace Extension (and ETMv4)"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ete"]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        &[]
    }

    fn keys(&self) -> &'static [Key] {
        &[]
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    /// A folder with `snapshot.ini`; a raw stream by its alignment synchronisation and Trace Info, or by the
    /// settings.
    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        let file = probe.file;
        if file.is_folder {
            return file.path.as_ref().is_some_and(|path| path.join(SNAPSHOT_INI).is_file()).into();
        }
        (probe.settings.has("ete") || starts_like_a_stream(&file.head)).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let mut opened = match &opening.file.path {
            Some(path) if opening.file.is_folder => open_snapshot(path, &opening)?,
            // The `.ini` file itself names the folder as well.
            Some(path) if path.file_name().is_some_and(|name| name == SNAPSHOT_INI) => {
                open_snapshot(path.parent().unwrap_or(Path::new(".")), &opening)?
            }
            _ => return open_stream(opening),
        };
        opened.choose(opening.source.as_deref())?;
        Ok(Box::new(opened))
    }

    /// A snapshot folder with the program in it; to stdout, the bytes of one trace unit.
    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        if !matches!(meta.isa, Isa::A64 | Isa::A32 | Isa::T32) {
            return Err(wrong_architecture("ETE", "Arm", meta));
        }
        let refused = |error: trackway_ete::Unusable| Error::Config(error.to_string());
        let settings = UnitSettings::from_toml(&own_table(writing.settings).to_string())
            .map_err(|error| writing.settings.wrong(&error.to_string()))?;
        let programs = vec![Arc::new(writing.program.load()?)];
        let sources = meta.sources.len().max(1);
        let Some(path) = &writing.target.path else {
            if sources > 1 || settings.framing != Framing::Raw || settings.buffer.is_some() {
                let text = "several sources, frames and buffers are written into a snapshot folder";
                return Err(Error::Unsupported(text.to_string()));
            }
            let output = Stream(writing.target.create()?);
            return Ok(Box::new(Lower::new(meta, &settings, programs, output).map_err(refused)?));
        };
        if path.exists() && !path.is_dir() {
            let text =
                format!("{}: a snapshot is a folder, and a file of this name is there", path.display());
            return Err(Error::Unsupported(text));
        }
        let ids = (0..sources).map(|n| settings.unit(n).registers.get("TRCTRACEIDR") as u8 & 0x7f).collect();
        let writer = SnapshotWriter::create(path, settings.framing, settings.buffer, ids)
            .map_err(FileError::at(path))?;
        Ok(Box::new(Lower::new(meta, &settings, programs, writer).map_err(refused)?))
    }
}

const FLAGS: &[Flag] = &[
    Flag {
        name: "show-withdrawn",
        key: "show_withdrawn",
        value: "",
        when: When::Reading,
        help: "Also show cancelled speculation and failed transactions (ETE)",
    },
    Flag {
        name: "write-pointer",
        key: "write_pointer",
        value: "N",
        when: When::Reading,
        help: "Byte where a wrapped trace buffer's dump begins (ETE)",
    },
];

/// Settings that are not about registers.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Section {
    show_withdrawn: bool,
    write_pointer: Option<u64>,
}

/// The settings without those of [`Section`].
fn own_table(settings: &Settings) -> toml::Table {
    let mut table = settings.table.clone();
    if let Some(section) = table.get_mut("ete").and_then(toml::Value::as_table_mut) {
        section.remove("show_withdrawn");
        section.remove("write_pointer");
    }
    table
}

/// The bytes of the one trace unit, as they come.
struct Stream(Output);

impl UnitSink for Stream {
    fn write(&mut self, _: usize, bytes: &[u8]) -> trackway_core::Result<()> {
        Ok(self.0.as_write().write_all(bytes)?)
    }

    fn finish(&mut self, _: &[WrittenSource]) -> trackway_core::Result<()> {
        Ok(self.0.as_write().flush()?)
    }
}

/// A synchronisation, which may be cut at the start, then a Trace Info or an event.
fn starts_like_a_stream(head: &[u8]) -> bool {
    let zeros = head.iter().take_while(|&&byte| byte == 0).count();
    zeros >= 11 && head.get(zeros) == Some(&0x80) && matches!(head.get(zeros + 1), Some(0x01 | 0x71..=0x7f))
}

struct OpenedEte {
    traces: Vec<TraceSource>,
    /// The bytes of the only trace, which is raw, as they come; its own are none.
    stream: Option<Content>,
    options: trackway_ete::Options,
    meta: Meta,
    container: &'static str,
    notes: Vec<String>,
}

fn decode_options(opening: &Opening) -> Result<trackway_ete::Options> {
    let section: Section = opening.settings.section("ete")?;
    Ok(trackway_ete::Options {
        jobs: opening.threads,
        strict: opening.strict,
        show_withdrawn: section.show_withdrawn,
        write_pointer: section.write_pointer,
    })
}

fn open_snapshot(folder: &Path, opening: &Opening) -> Result<OpenedEte> {
    let mut snapshot = Snapshot::open(folder).map_err(|error| Error::Config(error.to_string()))?;
    // Programs that are named lie under the dumps: they bring symbols, the dumps what was really there.
    opening.program.load()?;
    let base = || opening.program.load().unwrap_or_default();
    let traces = snapshot.traces(&|path| map(path).map_err(|error| error.error), &base);
    Ok(OpenedEte {
        traces,
        stream: None,
        options: decode_options(opening)?,
        meta: Meta::new(FormatId::Ete, Isa::A64),
        container: "snapshot folder",
        notes: snapshot.notes,
    })
}

fn open_stream(opening: Opening) -> Result<Box<dyn Opened>> {
    let options = decode_options(&opening)?;
    let config = if opening.settings.is_empty() {
        TomlConfig::default()
    } else {
        trackway_ete::read_toml(&own_table(&opening.settings).to_string())
            .map_err(|error| opening.settings.wrong(&error.to_string()))?
    };
    let image = Arc::new(opening.program.load()?);
    let as_it_comes =
        config.framing == Framing::Raw && config.sources.len() == 1 && options.write_pointer.is_none();
    let mut stream = None;
    let data: SharedBytes = match opening.file.input {
        input @ Input::Stream(_) if as_it_comes => {
            stream = Some(Content::new(input));
            Arc::new(Vec::new())
        }
        input => input.read_whole().map_err(|error| Error::Trace(error.into()))?,
    };
    let framing = config.framing;
    let trace = |config| TraceSource { config, framing, data: Arc::clone(&data), image: Arc::clone(&image) };
    let mut opened = OpenedEte {
        traces: config.sources.into_iter().map(trace).collect(),
        stream,
        options,
        meta: Meta::new(FormatId::Ete, Isa::A64),
        container: match framing {
            Framing::Raw => "raw stream",
            Framing::Coresight => "CoreSight frames",
            Framing::Dstream => "CoreSight frames with synchronisations",
        },
        notes: Vec::new(),
    };
    opened.choose(opening.source.as_deref())?;
    Ok(Box::new(opened))
}

impl OpenedEte {
    /// Keeps the one source of that name.
    fn choose(&mut self, source: Option<&str>) -> Result<()> {
        if let Some(name) = source {
            let names: Vec<String> = self.traces.iter().map(|trace| trace.config.name.clone()).collect();
            self.traces.retain(|trace| trace.config.name.eq_ignore_ascii_case(name));
            if self.traces.is_empty() {
                return Err(Error::Config(format!("--source {name}: there are {}", names.join(", "))));
            }
        }
        self.meta = Lift::new(self.traces.clone(), self.options).meta().clone();
        self.meta.comments.append(&mut self.notes);
        Ok(())
    }

    /// The packets of all sources.
    fn packets(&mut self) -> Result<Packets> {
        Ok(match (&mut self.stream, self.traces.first()) {
            (Some(content), Some(trace)) => {
                Packets::from_input(trace.config.clone(), content.input()?, self.options)
            }
            _ => Packets::new(self.traces.clone(), self.options),
        })
    }
}

impl Opened for OpenedEte {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![("container", self.container.to_string())]
    }

    fn programs(&self) -> Vec<Arc<Image>> {
        self.traces.iter().map(|trace| Arc::clone(&trace.image)).collect()
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        Ok(Box::new(match (&mut self.stream, self.traces.first()) {
            (Some(content), Some(trace)) => {
                let image = Arc::clone(&trace.image);
                Lift::from_input(trace.config.clone(), content.input()?, image, self.options)
            }
            _ => Lift::new(self.traces.clone(), self.options),
        }))
    }

    /// Several buffers have no offsets in common: those of the first are given.
    fn bytes(&mut self) -> Result<Input> {
        if let Some(content) = &mut self.stream {
            return content.input();
        }
        let data = self.traces.first().map(|trace| Arc::clone(&trace.data));
        Ok(data.map_or_else(|| Input::from_vec(Vec::new()), Input::Whole))
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        let sources = self.traces.len();
        Ok(Box::new(Text::new(self.packets()?, sources)))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(trackway_ete::check_packets(self.packets()?, report)?)
    }

    /// The packets of one source, byte for byte, as a raw stream.
    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        if self.traces.len() > 1 {
            return Err(Error::Unsupported("several sources: choose one with --source".to_string()));
        }
        let mut output = writing.target.create()?;
        let mut packets = self.packets()?;
        let mut count = 0;
        let mut bytes = Vec::new();
        while let Some(placed) = packets.next()? {
            match (placed.item, packets.config()) {
                (PacketItem::Packet(packet), Some(config)) => {
                    packet.write(&config.dialect, &mut bytes);
                    count += 1;
                }
                (PacketItem::Skipped, _) => {
                    let kind = trackway_core::ErrorKind::Trailing { count: placed.len };
                    return Err(kind.at(placed.offset, "bytes outside packets", "", "").into());
                }
                _ => {}
            }
            if bytes.len() >= 1 << 16 {
                output.as_write().write_all(&bytes).map_err(|error| Error::Trace(error.into()))?;
                bytes.clear();
            }
        }
        let written = output.as_write().write_all(&bytes).and_then(|()| output.as_write().flush());
        written.map_err(|error| Error::Trace(error.into()))?;
        Ok(count)
    }
}

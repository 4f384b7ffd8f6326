//! ETE and ETMv4 as a format of Trackway: opening snapshots and raw streams, creating snapshots.

use std::path::Path;
use std::sync::Arc;

use trackway_core::{
    ErrorKind, Finding, FormatId, Input, Isa, Items, Meta, Output, Rule, SharedBytes, Sink, Source,
};
use trackway_format::{
    Content, Error, Flag, Format, Key, Opened, Opening, Probe, Recognised, Result, Settings, When, Writing,
    wrong_architecture,
};
use trackway_image::Image;
use trackway_io::{FileError, map};

use crate::check::check_packets;
use crate::config::{ConfigError, Framing, ID, Options, to_toml};
use crate::items::{PacketItem, Packets, Text};
use crate::lift::{lift, lift_input, meta};
use crate::lower::Lower;
use crate::rules::RULES;
use crate::settings::{Given, KEYS};
use crate::transport::input::TraceSource;
use crate::transport::output::{UnitSink, WrittenSource};
use crate::transport::snapshot::read::{SNAPSHOT_INI, Snapshot};
use crate::transport::snapshot::write::{SnapshotWriter, copy};
use crate::wire::header::{Kind, header};
use crate::wire::scan::{SYNC_LEN, leading_zeros};

/// ETE and ETMv4.
pub static FORMAT: Ete = Ete;

/// The format; see [`FORMAT`].
#[derive(Clone, Copy, Debug)]
pub struct Ete;

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

impl Format for Ete {
    fn id(&self) -> FormatId {
        ID
    }

    fn title(&self) -> &'static str {
        "ETE, Embedded Trace Extension (and ETMv4)"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ete"]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    /// A folder with `snapshot.ini`; a raw stream by its Alignment Sync and Trace Info, or by the settings.
    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        let file = probe.file;
        if file.is_folder {
            let is_snapshot = file.path.as_ref().is_some_and(|path| path.join(SNAPSHOT_INI).is_file());
            let maybe = Recognised::Maybe { why: "a folder", missing: SNAPSHOT_INI };
            return if is_snapshot { Recognised::Yes } else { maybe };
        }
        (probe.settings.has(ID.as_str()) || starts_like_a_stream(&file.head)).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let folder = match &opening.file.path {
            Some(path) if opening.file.is_folder => Some(path.clone()),
            // The `.ini` file names its folder.
            Some(path) if path.file_name().is_some_and(|name| name == SNAPSHOT_INI) => {
                Some(path.parent().unwrap_or(Path::new(".")).to_path_buf())
            }
            _ => None,
        };
        Ok(Box::new(match folder {
            Some(folder) => OpenedEte::snapshot(&folder, &opening)?,
            None => OpenedEte::stream(opening)?,
        }))
    }

    fn holds_several_sources(&self) -> bool {
        true
    }

    /// `[ete.unit]` programs the trace unit.
    fn asks_for_encoding(&self, settings: &Settings) -> bool {
        settings.table.get(ID.as_str()).is_some_and(|section| section.get("unit").is_some())
    }

    /// A snapshot folder with the program in it; to stdout, the bytes of one trace unit.
    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        if !matches!(meta.isa, Isa::A64 | Isa::A32 | Isa::T32) {
            return Err(wrong_architecture("ETE", "Arm", meta));
        }
        let refused = |error: ConfigError| Error::Config(error.to_string());
        let given = Given::read(writing.settings)?;
        let mut config = given.encode_config().map_err(|error| writing.settings.wrong(&error))?;
        config.follow(meta, &given);
        let programs = vec![Arc::new(writing.program.load()?)];
        let sources = meta.sources.len().max(1);
        let Some(path) = &writing.target.path else {
            if sources > 1 || config.framing != Framing::Raw || config.buffer.is_some() {
                return Err(Error::Config(FOLDER.to_string()));
            }
            let output = RawOutput(writing.target.create()?);
            return Ok(Box::new(Lower::new(meta, &config, programs, output).map_err(refused)?));
        };
        if path.exists() && !path.is_dir() {
            let text = format!("{}: a snapshot is a folder, but this is a file", path.display());
            return Err(Error::Unsupported(text));
        }
        let ids = (0..sources).map(|n| config.unit(n).registers.get("TRCTRACEIDR") as u8 & 0x7f).collect();
        let folder = writing.target.create_folder(SNAPSHOT_INI)?;
        let writer = SnapshotWriter::create(&folder, config.framing, config.buffer, ids);
        let writer = writer.map_err(FileError::at(path))?;
        Ok(Box::new(Lower::new(meta, &config, programs, writer).map_err(refused)?))
    }
}

/// Why stdout is refused.
const FOLDER: &str =
    "several sources, frames and buffers are written into a snapshot folder, and not to stdout";

/// The bytes of the only trace unit.
struct RawOutput(Output);

impl UnitSink for RawOutput {
    fn write(&mut self, _: usize, bytes: &[u8]) -> trackway_core::Result<()> {
        Ok(self.0.as_write().write_all(bytes)?)
    }

    fn finish(&mut self, _: &[WrittenSource]) -> trackway_core::Result<()> {
        Ok(self.0.as_write().flush()?)
    }
}

/// A whole Alignment Sync, then a Trace Info or an event.
fn starts_like_a_stream(head: &[u8]) -> bool {
    let sync = leading_zeros(head).map(|zeros| zeros + 1).filter(|&length| length >= SYNC_LEN);
    let next = sync.and_then(|length| head.get(length)).and_then(|&byte| header(byte));
    next.is_some_and(|row| matches!(row.kind, Kind::TraceInfo | Kind::Event))
}

const RAW: &str = "raw stream";

struct OpenedEte {
    sources: Vec<TraceSource>,
    /// The bytes of the only source, if they are a raw stream; its buffer is empty then.
    stream: Option<Content>,
    options: Options,
    cancel: trackway_core::Cancel,
    meta: Meta,
    container: &'static str,
}

fn options(opening: &Opening, given: &Given) -> Options {
    Options {
        threads: opening.threads,
        strict: opening.strict,
        show_withdrawn: given.section.show_withdrawn,
        write_pointer: given.section.write_pointer,
        min_part: opening.part,
    }
}

impl OpenedEte {
    fn snapshot(folder: &Path, opening: &Opening) -> Result<Self> {
        let options = options(opening, &Given::read(&opening.settings)?);
        let mut snapshot = Snapshot::open(folder).map_err(|error| Error::Config(error.to_string()))?;
        // Dumps have priority over the programs that are named, which bring symbols.
        opening.program.load()?;
        let base = || opening.program.load().unwrap_or_default();
        let sources = snapshot.sources(&|path| map(path).map_err(|error| error.error), &base);
        let mut opened = Self::new(sources, None, options, opening, "snapshot folder")?;
        opened.meta.notes.extend(snapshot.notes.drain(..).map(|note| ("snapshot".to_string(), note)));
        Ok(opened)
    }

    fn stream(mut opening: Opening) -> Result<Self> {
        let given = Given::read(&opening.settings)?;
        let options = options(&opening, &given);
        let (framing, configs) = (given.section.format, given.configs()?);
        let image = Arc::new(opening.program.load()?);
        let is_readable_once =
            framing == Framing::Raw && configs.len() == 1 && options.write_pointer.is_none();
        let mut stream = None;
        let data: SharedBytes = match std::mem::replace(&mut opening.file.input, Input::from_vec(Vec::new()))
        {
            input @ Input::Stream(_) if is_readable_once => {
                stream = Some(Content::new(input));
                Arc::new(Vec::new())
            }
            input => input.read_whole().map_err(|error| Error::Trace(error.into()))?,
        };
        let source =
            |config| TraceSource { config, framing, data: Arc::clone(&data), image: Arc::clone(&image) };
        let container = match framing {
            Framing::Raw => RAW,
            Framing::Coresight => "CoreSight frames",
            Framing::Dstream => "CoreSight frames with synchronisations",
        };
        Self::new(configs.into_iter().map(source).collect(), stream, options, &opening, container)
    }

    /// Keeps the source that was asked for.
    fn new(
        mut sources: Vec<TraceSource>,
        stream: Option<Content>,
        options: Options,
        opening: &Opening,
        container: &'static str,
    ) -> Result<Self> {
        if let Some(name) = &opening.source {
            let names: Vec<String> = sources.iter().map(|source| source.config.name.clone()).collect();
            sources.retain(|source| source.config.name.eq_ignore_ascii_case(name));
            if sources.is_empty() {
                return Err(Error::Config(format!("--source {name}: there are {}", names.join(", "))));
            }
        }
        let meta = meta(sources.iter().map(|source| &source.config));
        let cancel = opening.cancel.clone();
        Ok(OpenedEte { sources, stream, options, cancel, meta, container })
    }

    /// Number of packets.
    fn count(&mut self) -> Result<u64> {
        let mut packets = self.packets()?;
        let mut count = 0;
        loop {
            match packets.next() {
                Ok(None) => return Ok(count),
                Ok(Some(placed)) => count += u64::from(matches!(placed.item, PacketItem::Packet(_))),
                Err(_) if packets.resync()?.is_some() => {}
                Err(_) => return Ok(count),
            }
        }
    }

    /// Writes the packets of the only source, byte for byte.
    fn copy_packets(&mut self, output: &mut Output) -> Result<u64> {
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
                    let kind = ErrorKind::Trailing { count: placed.len };
                    return Err(kind.at(placed.offset, "bytes outside packets", "", "").into());
                }
                _ => {}
            }
            if bytes.len() >= 1 << 16 {
                output.as_write().write_all(&bytes).map_err(trackway_core::Error::from)?;
                bytes.clear();
            }
        }
        let written = output.as_write().write_all(&bytes).and_then(|()| output.as_write().flush());
        written.map_err(trackway_core::Error::from)?;
        Ok(count)
    }

    /// The packets of all sources.
    fn packets(&mut self) -> Result<Packets> {
        Ok(match (&mut self.stream, self.sources.first()) {
            (Some(content), Some(source)) => {
                Packets::from_input(source.config.clone(), content.input()?, self.options)
            }
            _ => Packets::new(self.sources.clone(), self.options),
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
        self.sources.iter().map(|source| Arc::clone(&source.image)).collect()
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        let events = match (&mut self.stream, self.sources.first()) {
            (Some(content), Some(source)) => {
                let image = Arc::clone(&source.image);
                lift_input(source.config.clone(), content.input()?, image, &self.options)
            }
            _ => lift(self.sources.clone(), &self.options),
        };
        Ok(Box::new(events.with_cancel(self.cancel.clone())))
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        let sources = self.sources.len();
        Ok(Box::new(Text::new(self.packets()?, sources)))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(check_packets(self.packets()?, report)?)
    }

    /// A raw stream byte for byte, with its registers in a sidecar; else a snapshot with the same buffers, registers and
    /// programs. To stdout, the packets of one source.
    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let is_raw = self.container == RAW;
        if !is_raw && writing.target.path.is_some() {
            let folder = writing.target.create_folder(SNAPSHOT_INI)?;
            copy(&folder, &self.sources, self.options.write_pointer)?;
            return self.count();
        }
        if self.sources.len() > 1 {
            return Err(Error::Config(FOLDER.to_string()));
        }
        if let Some(source) = self.sources.first().filter(|source| !source.config.registers.is_empty()) {
            let text = to_toml([&source.config].into_iter(), Framing::Raw);
            writing.target.write_beside("toml", text.as_bytes())?;
        }
        self.copy_packets(&mut writing.target.create()?)
    }

    /// Several buffers have no offsets in common: these are the bytes of the first.
    fn bytes(&mut self) -> Result<Input> {
        if let Some(content) = &mut self.stream {
            return content.input();
        }
        let data = self.sources.first().map(|source| Arc::clone(&source.data));
        Ok(data.map_or_else(|| Input::from_vec(Vec::new()), Input::Whole))
    }
}

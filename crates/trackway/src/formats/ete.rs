//! ETE and ETMv4 in the list of formats.

use std::path::Path;
use std::sync::Arc;

use trackway_core::{Finding, FormatId, Input, Items, Meta, Output, SharedBytes, Sink, Source};
use trackway_ete::unit::Settings;
use trackway_ete::{
    Deliver, Framing, Lift, Lower, PacketPiece, Packets, SNAPSHOT_INI, Snapshot, SnapshotWriter, Text,
    TomlConfig, Trace, Written,
};
use trackway_image::Image;

use super::{Format, Opened};
use crate::error::{Error, Result};
use crate::input::File;
use crate::options::Options;
use crate::target::Target;

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

    /// A folder with `snapshot.ini`; a raw stream by its alignment synchronisation and Trace Info, or by the
    /// configuration.
    fn recognise(&self, file: &File, options: &Options) -> bool {
        if file.is_folder {
            return file.path.as_ref().is_some_and(|path| path.join(SNAPSHOT_INI).is_file());
        }
        options.config.as_ref().is_some_and(|config| config.table.contains_key("ete"))
            || starts_like_a_stream(&file.head)
    }

    fn open(&self, file: File, options: &Options) -> Result<Box<dyn Opened>> {
        let mut opened = match &file.path {
            Some(path) if file.is_folder => open_snapshot(path, options)?,
            // The `.ini` file itself names the folder as well.
            Some(path) if path.file_name().is_some_and(|name| name == SNAPSHOT_INI) => {
                open_snapshot(path.parent().unwrap_or(Path::new(".")), options)?
            }
            _ => open_stream(file.input, options)?,
        };
        if let Some(name) = &options.source {
            let names: Vec<String> = opened.traces.iter().map(|trace| trace.config.name.clone()).collect();
            opened.traces.retain(|trace| trace.config.name.eq_ignore_ascii_case(name));
            if opened.traces.is_empty() {
                return Err(Error::Config(format!("--source {name}: there are {}", names.join(", "))));
            }
        }
        opened.meta = Lift::new(opened.traces.clone(), opened.options).meta().clone();
        opened.meta.comments.append(&mut opened.notes);
        Ok(Box::new(opened))
    }

    /// A snapshot folder with the program in it; to stdout, the bytes of one trace unit.
    fn create(&self, target: Target, meta: &Meta, options: &Options) -> Result<Box<dyn Sink>> {
        super::for_arm("ETE", meta)?;
        let refused = |error: trackway_ete::Unusable| Error::Config(error.to_string());
        let settings = match &options.config {
            Some(file) => Settings::from_toml(&file.table.to_string())
                .map_err(|error| Error::Config(format!("{}: {error}", file.path.display())))?,
            None => Settings::default(),
        };
        let programs = vec![options.program()?];
        let sources = meta.sources.len().max(1);
        let Some(path) = &target.path else {
            if sources > 1 || settings.framing != Framing::Raw || settings.buffer.is_some() {
                let text = "several sources, frames and buffers are written into a snapshot folder";
                return Err(Error::Unsupported(text.to_string()));
            }
            let output = Stream(target.create()?);
            return Ok(Box::new(Lower::new(meta, &settings, programs, output).map_err(refused)?));
        };
        if path.exists() && !path.is_dir() {
            let text =
                format!("{}: a snapshot is a folder, and a file of this name is there", path.display());
            return Err(Error::Unsupported(text));
        }
        let ids = (0..sources).map(|n| settings.unit(n).registers.get("TRCTRACEIDR") as u8 & 0x7f).collect();
        let writer = SnapshotWriter::create(path, settings.framing, settings.buffer, ids)
            .map_err(|error| Error::File { path: path.clone(), error })?;
        Ok(Box::new(Lower::new(meta, &settings, programs, writer).map_err(refused)?))
    }
}

/// The bytes of the one trace unit, as they come.
struct Stream(Output);

impl Deliver for Stream {
    fn deliver(&mut self, _: usize, bytes: &[u8]) -> trackway_core::Result<()> {
        Ok(self.0.as_write().write_all(bytes)?)
    }

    fn close(&mut self, _: &[Written]) -> trackway_core::Result<()> {
        Ok(self.0.as_write().flush()?)
    }
}

/// A synchronisation, which may be cut at the start, then a Trace Info or an event.
fn starts_like_a_stream(head: &[u8]) -> bool {
    let zeros = head.iter().take_while(|&&byte| byte == 0).count();
    zeros >= 11 && head.get(zeros) == Some(&0x80) && matches!(head.get(zeros + 1), Some(0x01 | 0x71..=0x7f))
}

struct OpenedEte {
    traces: Vec<Trace>,
    /// The bytes of the only trace, which is raw, as they come; its own are none.
    stream: Option<Input>,
    options: trackway_ete::Options,
    meta: Meta,
    container: &'static str,
    notes: Vec<String>,
}

fn decode_options(options: &Options) -> trackway_ete::Options {
    trackway_ete::Options {
        jobs: options.jobs,
        strict: options.strict,
        show_withdrawn: options.show_withdrawn,
        write_pointer: options.write_pointer,
    }
}

/// Maps a file; one that is empty has nothing to map.
fn map(path: &Path) -> std::io::Result<SharedBytes> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(Arc::new(Vec::new()));
    }
    crate::map::map(&file)
}

fn open_snapshot(folder: &Path, options: &Options) -> Result<OpenedEte> {
    let mut snapshot = Snapshot::open(folder).map_err(|error| Error::Config(error.to_string()))?;
    // Programs that are named lie under the dumps: they bring symbols, the dumps what was really there.
    options.program()?;
    let base = || options.program().ok().and_then(Arc::into_inner).unwrap_or_default();
    let traces = snapshot.traces(&map, &base);
    Ok(OpenedEte {
        traces,
        stream: None,
        options: decode_options(options),
        meta: Meta::new(FormatId::Ete, trackway_core::Isa::A64),
        container: "snapshot folder",
        notes: snapshot.notes,
    })
}

fn open_stream(input: Input, options: &Options) -> Result<OpenedEte> {
    let config = match &options.config {
        Some(file) => trackway_ete::read_toml(&file.table.to_string())
            .map_err(|error| Error::Config(format!("{}: {error}", file.path.display())))?,
        None => TomlConfig::default(),
    };
    let image = options.program()?;
    let as_it_comes =
        config.framing == Framing::Raw && config.sources.len() == 1 && options.write_pointer.is_none();
    let mut stream = None;
    let data: SharedBytes = match input {
        input @ Input::Stream(_) if as_it_comes => {
            stream = Some(input);
            Arc::new(Vec::new())
        }
        input => input.read_whole().map_err(|error| Error::Trace(error.into()))?,
    };
    let trace =
        |config| Trace { config, framing: Framing::Raw, data: Arc::clone(&data), image: Arc::clone(&image) };
    let framing = config.framing;
    let traces = config.sources.into_iter().map(|config| Trace { framing, ..trace(config) }).collect();
    Ok(OpenedEte {
        traces,
        stream,
        options: decode_options(options),
        meta: Meta::new(FormatId::Ete, trackway_core::Isa::A64),
        container: match framing {
            Framing::Raw => "raw stream",
            Framing::Coresight => "CoreSight frames",
            Framing::Dstream => "CoreSight frames with synchronisations",
        },
        notes: Vec::new(),
    })
}

impl OpenedEte {
    /// The packets of all sources.
    fn packets(self) -> Packets {
        match (self.stream, self.traces.first()) {
            (Some(input), Some(trace)) => Packets::from_input(trace.config.clone(), input, self.options),
            _ => Packets::new(self.traces, self.options),
        }
    }
}

impl Opened for OpenedEte {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn container(&self) -> Vec<(&'static str, String)> {
        vec![("container", self.container.to_string())]
    }

    fn programs(&self) -> Vec<Arc<Image>> {
        self.traces.iter().map(|trace| Arc::clone(&trace.image)).collect()
    }

    fn source(self: Box<Self>) -> Result<Box<dyn Source>> {
        Ok(Box::new(match (self.stream, self.traces.first()) {
            (Some(input), Some(trace)) => {
                let image = Arc::clone(&trace.image);
                Lift::from_input(trace.config.clone(), input, image, self.options)
            }
            _ => Lift::new(self.traces, self.options),
        }))
    }

    /// Several buffers have no offsets in common: those of the first are given.
    fn bytes(self: Box<Self>) -> Result<Input> {
        if let Some(input) = self.stream {
            return Ok(input);
        }
        let data = self.traces.into_iter().next().map(|trace| trace.data);
        Ok(data.map_or_else(|| Input::from_vec(Vec::new()), Input::Whole))
    }

    fn items(self: Box<Self>) -> Result<Box<dyn Items>> {
        let sources = self.traces.len();
        Ok(Box::new(Text::of(self.packets(), sources)))
    }

    fn check(self: Box<Self>, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(trackway_ete::check_packets(self.packets(), report)?)
    }

    /// The packets of one source, byte for byte, as a raw stream.
    fn rewrite(self: Box<Self>, target: Target, _: &Options) -> Result<u64> {
        if self.traces.len() > 1 {
            return Err(Error::Unsupported("several sources: choose one with --source".to_string()));
        }
        let mut output = target.create()?;
        let mut packets = self.packets();
        let mut count = 0;
        let mut bytes = Vec::new();
        while let Some(placed) = packets.next()? {
            match (placed.piece, packets.config()) {
                (PacketPiece::Packet(packet), Some(config)) => {
                    packet.write(&config.dialect, &mut bytes);
                    count += 1;
                }
                (PacketPiece::Skipped, _) => {
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

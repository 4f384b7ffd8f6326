//! ETE and ETMv4 as a format of Trackway: opening snapshots and raw streams, creating snapshots.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use trackway_core::{
    ErrorKind, Finding, FormatId, Input, Isa, Items, Meta, Output, Rule, SharedBytes, Sink, Source,
};
use trackway_format::{
    Candidate, Content, Cut, Doubt, Error, Excerpt, Flag, Format, Key, Opened, Opening, Probe, Program,
    Recognised, Result, Settings, Streams, When, Writing, wrong_architecture,
};
use trackway_image::Image;
use trackway_io::{FileError, Target, map};

use crate::candidates;
use crate::check::check_packets;
use crate::config::{Config, ConfigError, Framing, ID, Options, to_toml};
use crate::items::{PacketItem, Packets, Text};
use crate::lift::{meta, stream};
use crate::lower::Lower;
use crate::recognise::{
    contradictions, framing_of, holds_a_stream, show_ids, starts_like_a_stream, traced_ids_of,
};
use crate::rules::RULES;
use crate::settings::{Given, KEYS};
use crate::transport::frames::read::Survey;
use crate::transport::input::{Remarks, SourceInput, TraceSource};
use crate::transport::output::{UnitSink, WrittenSource};
use crate::transport::snapshot::read::{SNAPSHOT_INI, Snapshot};
use crate::transport::snapshot::write::{SnapshotWriter, copy};
use crate::wire::scan::{SYNC_LEN, find_sync};

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
        values: &[],
        when: When::Reading,
        help: "Also show cancelled speculation and failed transactions (ETE)",
    },
    Flag {
        name: "write-pointer",
        key: "write_pointer",
        value: "N",
        values: &[],
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

    /// A folder with `snapshot.ini`; a raw stream by its Alignment Sync and Trace Info, also in frames, or by the settings.
    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        let file = probe.file;
        if file.is_folder {
            let is_snapshot = file.path.as_ref().is_some_and(|path| path.join(SNAPSHOT_INI).is_file());
            let maybe = Recognised::Maybe { why: "a folder", missing: SNAPSHOT_INI };
            return if is_snapshot { Recognised::Yes } else { maybe };
        }
        if probe.settings.has(ID.as_str())
            || starts_like_a_stream(&file.head)
            || framing_of(&file.head) != Framing::Raw
        {
            return Recognised::Yes;
        }
        let missing = "--format ete, with --write-pointer N if the buffer wrapped, or format = \"coresight\" in \
                       [ete] of --config if it has frames";
        let maybe = Recognised::Maybe { why: "Alignment Syncs of ETE, but not at the start", missing };
        if holds_a_stream(&file.head) { maybe } else { Recognised::No }
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

    fn candidates(&self, excerpt: &Excerpt<'_>) -> Vec<Candidate> {
        candidates::candidates(excerpt)
    }

    fn neighbours(&self, from: &Settings, excerpt: &Excerpt<'_>) -> Vec<Candidate> {
        candidates::neighbours(from, excerpt)
    }

    fn doubts(&self, settings: &Settings, excerpt: &Excerpt<'_>) -> Vec<Doubt> {
        candidates::doubts(settings, excerpt)
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
        let programs = writing.program.of_sources()?;
        let sources = meta.sources.len().max(1);
        let Some(path) = &writing.target.path else {
            if sources > 1 || config.framing != Framing::Raw || config.buffer.is_some() {
                return Err(Error::Config(FOLDER.to_string()));
            }
            config.suit_readers_without_registers(&given);
            let output = RawOutput(writing.target.create()?);
            return Ok(Box::new(Lower::new(meta, &config, programs, output).map_err(refused)?));
        };
        if path.exists() && !path.is_dir() {
            let text = format!("{}: a snapshot is a folder, but this is a file", path.display());
            return Err(Error::Unsupported(text));
        }
        let ids = (0..sources).map(|n| config.unit(n).registers.get("TRCTRACEIDR") as u8 & 0x7f).collect();
        let folder = writing.target.create_folder(SNAPSHOT_INI)?;
        let writer = SnapshotWriter::create_for(&writing.target, &folder, config.framing, config.buffer, ids);
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

const RAW: &str = "raw stream";

struct OpenedEte {
    sources: Vec<TraceSource>,
    /// The bytes of the only source, if they are a raw stream; its buffer is empty then.
    stream: Option<Content>,
    options: Options,
    /// The program as the user or the settings name it.
    program: Program,
    cancel: trackway_core::Cancel,
    meta: Meta,
    container: &'static str,
    facts: Vec<(&'static str, String)>,
    remarks: Arc<Remarks>,
}

/// The surveys of framed buffers; sources often share one.
#[derive(Default)]
struct Surveys(Vec<(SharedBytes, Survey)>);

impl Surveys {
    fn of(&mut self, framing: Framing, data: &SharedBytes) -> &Survey {
        let known = self.0.iter().position(|(other, _)| Arc::ptr_eq(other, data));
        let n = known.unwrap_or_else(|| {
            self.0.push((SharedBytes::clone(data), Survey::of(framing, data)));
            self.0.len() - 1
        });
        &self.0[n].1
    }
}

/// Takes the trace ids from the frames where none is given; refuses ids that the frames do not have.
fn choose_ids(
    configs: &mut Vec<Config>,
    framing: Framing,
    data: &SharedBytes,
    surveys: &mut Surveys,
) -> Result<()> {
    let is_given = |config: &Config| config.registers.contains_key("TRCTRACEIDR");
    if let [config] = &configs[..]
        && !is_given(config)
    {
        let one = config.clone();
        let found = traced_ids_of(framing, data);
        let named = found.len() > 1;
        *configs = found
            .into_iter()
            .map(|id| {
                let name = if named { format!("{}_{id:#x}", one.name) } else { one.name.clone() };
                Config { trace_id: id, name, ..one.clone() }
            })
            .collect();
        if configs.is_empty() {
            *configs = vec![one];
        }
        return Ok(());
    }
    refuse_other_ids(configs.iter().map(|config| (config, framing, data)), surveys)
}

/// Refuses sources if none of their ids is in the frames, and others are.
fn refuse_other_ids<'c>(
    sources: impl Iterator<Item = (&'c Config, Framing, &'c SharedBytes)>,
    surveys: &mut Surveys,
) -> Result<()> {
    let (mut wanted, mut there) = (Vec::new(), Vec::new());
    for (config, framing, data) in sources {
        // Ids from 0x70 on are triggers and synchronisation.
        there.extend(surveys.of(framing, data).ids().into_iter().filter(|(id, _)| *id < 0x70));
        wanted.push(config.trace_id);
    }
    there.sort_unstable();
    there.dedup();
    if there.is_empty() || there.iter().any(|(id, _)| wanted.contains(id)) {
        return Ok(());
    }
    let wanted: Vec<String> = wanted.iter().map(|id| format!("{id:#x}")).collect();
    let text = format!("ids in the stream: {}, configured {}", show_ids(&there), wanted.join(", "));
    Err(Error::Unsupported(text))
}

/// Ids in frames that no source has, with the number of their bytes.
fn strangers(sources: &[TraceSource], surveys: &Surveys) -> Option<String> {
    let has = |id: u8| sources.iter().any(|source| source.config.trace_id == id);
    let strange = surveys.0.iter().map(|(_, survey)| {
        let mut strange = survey.ids();
        // Ids from 0x70 on are triggers and synchronisation.
        strange.retain(|&(id, _)| id < 0x70 && !has(id));
        strange
    });
    let texts: Vec<String> =
        strange.filter(|strange| !strange.is_empty()).map(|strange| show_ids(&strange)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn options(opening: &Opening, given: &Given) -> Options {
    Options {
        threads: opening.threads,
        strict: opening.strict,
        show_withdrawn: given.section.show_withdrawn,
        write_pointer: given.section.write_pointer,
        min_part: opening.part,
        known_ids: 0,
        strange_ids: None,
    }
}

impl OpenedEte {
    fn snapshot(folder: &Path, opening: &Opening) -> Result<Self> {
        let given = Given::read(&opening.settings)?;
        // With `[ete.unit]` they are those of the output.
        if let Some(key) = given.describes_units().filter(|_| !Ete.asks_for_encoding(&opening.settings)) {
            let text = format!(
                "[ete] {key}: a snapshot folder describes its trace units itself; change its .ini files, or add \
                 [ete.unit] to write a trace with other registers"
            );
            return Err(Error::Config(text));
        }
        let options = options(opening, &given);
        let mut snapshot = Snapshot::open(folder).map_err(|error| Error::Config(error.to_string()))?;
        // Dumps have priority over the programs that are named, which bring symbols.
        opening.program.load()?;
        let base = || opening.program.load().unwrap_or_default();
        let sources = snapshot.sources(&|path| map(path).map_err(|error| error.error), &base);
        let framed = sources.iter().filter(|source| source.framing != Framing::Raw);
        let mut surveys = Surveys::default();
        refuse_other_ids(framed.map(|source| (&source.config, source.framing, &source.data)), &mut surveys)?;
        let mut opened = Self::new(sources, None, options, opening, "snapshot folder", surveys)?;
        opened.meta.notes.extend(snapshot.notes.drain(..).map(|note| ("snapshot".to_string(), note)));
        Ok(opened)
    }

    fn stream(mut opening: Opening) -> Result<Self> {
        let given = Given::read(&opening.settings)?;
        let options = options(&opening, &given);
        let framing = given.section.format.unwrap_or_else(|| framing_of(&opening.file.head));
        let mut configs = given.configs()?;
        opening.program = given.program(&opening.settings, std::mem::take(&mut opening.program));
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
        let mut surveys = Surveys::default();
        if framing != Framing::Raw {
            choose_ids(&mut configs, framing, &data, &mut surveys)?;
        }
        let given_registers = configs.iter().any(|config| !config.registers.is_empty());
        let starts = starts_like_a_stream(&opening.file.head) || options.write_pointer.is_some();
        let source =
            |config| TraceSource { config, framing, data: Arc::clone(&data), image: Arc::clone(&image) };
        let container = match framing {
            Framing::Raw => RAW,
            Framing::Coresight => "CoreSight frames",
            Framing::Dstream => "CoreSight frames with synchronisations",
        };
        let mut opened = Self::new(
            configs.into_iter().map(source).collect(),
            stream,
            options,
            &opening,
            container,
            surveys,
        )?;
        if framing == Framing::Raw && !starts {
            let text = "it does not start with an Alignment Sync: --write-pointer N if the buffer wrapped, or \
                        format = \"coresight\" if it has frames";
            opened.facts.push(("doubt", text.to_string()));
        }
        if !given_registers {
            opened.doubt_defaults()?;
        }
        Ok(opened)
    }

    /// No registers are given: which ones are assumed, and what speaks against them.
    fn doubt_defaults(&mut self) -> Result<()> {
        let Some(source) = self.sources.first() else { return Ok(()) };
        let config = source.config.clone();
        let text = format!(
            "no registers are given: {}, MAXSPEC {}, return stack off, timestamps off, as in `trackway config ete`",
            config.version(),
            config.max_spec
        );
        self.facts.push(("assumed", text));
        if self.stream.is_none() {
            let against = contradictions(&config, &mut self.packets()?);
            self.facts.extend(against.into_iter().map(|text| ("doubt", text)));
        }
        Ok(())
    }

    /// Writes registers and the program's name beside a raw stream, so that it can be read again.
    fn write_sidecar(&self, target: &Target) -> Result<()> {
        let Some(path) = &target.path else { return Ok(()) };
        let program = self.program.seen_from(path.parent().unwrap_or(Path::new("")));
        let has_settings = |source: &&TraceSource| !source.config.registers.is_empty() || !program.is_empty();
        if let Some(source) = self.sources.first().filter(has_settings) {
            let text = to_toml([&source.config].into_iter(), Framing::Raw, &program);
            target.write_beside("toml", text.as_bytes())?;
        }
        Ok(())
    }

    /// Keeps the source that was asked for.
    fn new(
        mut sources: Vec<TraceSource>,
        stream: Option<Content>,
        mut options: Options,
        opening: &Opening,
        container: &'static str,
        mut surveys: Surveys,
    ) -> Result<Self> {
        options.known_ids = sources.iter().fold(0, |ids, source| ids | 1 << source.config.trace_id);
        for source in sources.iter().filter(|source| source.framing != Framing::Raw) {
            surveys.of(source.framing, &source.data);
        }
        if let [(_, survey)] = &surveys.0[..] {
            options.strange_ids = Some(survey.strange(options.known_ids));
        }
        let strangers = strangers(&sources, &surveys);
        if let Some(name) = &opening.source {
            let names: Vec<String> = sources.iter().map(|source| source.config.name.clone()).collect();
            sources.retain(|source| source.config.name.eq_ignore_ascii_case(name));
            if sources.is_empty() {
                return Err(Error::Config(format!("--source {name}: there are {}", names.join(", "))));
            }
        }
        let meta = meta(sources.iter().map(|source| &source.config));
        let cancel = opening.cancel.clone();
        let mut facts = vec![("container", container.to_string())];
        facts.extend(strangers.map(|text| ("ids without a source", text)));
        let remarks = Arc::default();
        let program = opening.program.clone();
        Ok(OpenedEte { sources, stream, options, program, cancel, meta, container, facts, remarks })
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
        let mut facts = self.facts.clone();
        if self.remarks.lost_returns.load(Ordering::Relaxed) {
            facts.push(("doubt", "returns without an address: is TRCCONFIGR.RS set?".to_string()));
        }
        facts
    }

    fn programs(&self) -> Vec<Arc<Image>> {
        self.sources.iter().map(|source| Arc::clone(&source.image)).collect()
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        let mut inputs: Vec<SourceInput> = match (&mut self.stream, self.sources.first()) {
            (Some(content), Some(source)) => {
                let image = Arc::clone(&source.image);
                vec![SourceInput::raw(source.config.clone(), content.input()?, image)]
            }
            _ => self.sources.iter().cloned().map(SourceInput::from).collect(),
        };
        inputs.iter_mut().for_each(|input| input.program.remarks = Arc::clone(&self.remarks));
        let events = stream(inputs, &self.options);
        Ok(Box::new(events.with_cancel(self.cancel.clone())))
    }

    fn divides_items(&self) -> bool {
        true
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        let sources = self.sources.len();
        Ok(Box::new(Text::new(self.packets()?, sources)))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(check_packets(self.packets()?, report)?)
    }

    /// A raw stream byte for byte, with its registers and the program's name in a sidecar; else a snapshot with the same buffers, registers and
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
        self.write_sidecar(&writing.target)?;
        self.copy_packets(&mut writing.target.create()?)
    }

    /// The bytes of each trace unit, out of their frames and from the oldest on.
    fn streams(&mut self) -> Result<Streams> {
        if let Some(content) = &mut self.stream {
            return Ok(vec![content.input()?]);
        }
        let of = |source: &TraceSource| -> Result<Input> {
            let mut bytes = SourceInput::from(source.clone()).open(&self.options)?;
            while bytes.more()? {}
            if bytes.next_break(1).is_some() {
                return Err(Error::Unsupported("bytes are missing between its frames".into()));
            }
            Ok(Input::from_vec(bytes.bytes().to_vec()))
        };
        self.sources.iter().map(of).collect()
    }

    fn cuts(&mut self, wanted: &[Vec<u64>]) -> Result<Vec<Vec<Cut>>> {
        let of = |(stream, wanted): (Input, &Vec<u64>)| -> Result<Vec<Cut>> {
            let bytes = stream.read_whole().map_err(trackway_core::Error::from)?;
            let bytes = (*bytes).as_ref();
            let place = |&at: &u64| {
                let sync = find_sync(bytes, usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len()));
                let offset = sync.map_or(bytes.len(), |end| end - SYNC_LEN) as u64;
                Cut { offset, ..Cut::default() }
            };
            Ok(wanted.iter().map(place).collect())
        };
        self.streams()?.into_iter().zip(wanted).map(of).collect()
    }

    /// A raw stream with its registers in a sidecar; else a snapshot with the same registers, programs and framing.
    fn write_streams(&mut self, streams: Streams, writing: &Writing<'_>) -> Result<Option<Streams>> {
        let failed = |error: std::io::Error| Error::Trace(error.into());
        if self.container == RAW {
            self.write_sidecar(&writing.target)?;
            let mut output = writing.target.create()?;
            for stream in streams {
                std::io::copy(&mut stream.into_read(), output.as_write()).map_err(failed)?;
            }
            output.as_write().flush().map_err(failed)?;
            return Ok(None);
        }
        let folder = writing.target.create_folder(SNAPSHOT_INI)?;
        let framing = self.sources.first().map_or(Framing::Raw, |source| source.framing);
        let ids = self.sources.iter().map(|source| source.config.trace_id).collect();
        let mut writer = SnapshotWriter::create(&folder, framing, None, ids).map_err(failed)?;
        for (n, stream) in streams.into_iter().enumerate() {
            let bytes = stream.read_whole().map_err(failed)?;
            writer.write(n, (*bytes).as_ref())?;
        }
        let written = |source: &TraceSource| WrittenSource {
            config: source.config.clone(),
            image: Arc::clone(&source.image),
        };
        writer.finish(&self.sources.iter().map(written).collect::<Vec<_>>())?;
        Ok(None)
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

//! E-Trace as a format: opening, copying and creating traces.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use trackway_core::{
    Account, Batch, Cancel, Finding, FormatId, Input, Isa, Items, Meta, Output, Rule, Sink, Source,
};
use trackway_format::{
    Candidate, Content, Cut, Doubt, Error, Excerpt, Format, Key, Opened, Opening, Probe, Program, Recognised,
    Result, Settings, Streams, Writing, relative, wrong_architecture,
};
use trackway_image::{Image, Space};
use trackway_io::{FileError, Target};

use crate::candidates;
use crate::check::{check_packets, check_program};
use crate::config::{Config, ImageRule, Order};
use crate::doubt::wrong_dialect;
use crate::lift::{Lift, Plan, cuts, lift_sources, meta, source_ids, source_name};
use crate::lower::Lower;
use crate::rules::{DIALECT, RULES};
use crate::transport::{Framing, read_lengths, write_lengths};
use crate::wire::{Reader, Text, Writer};

/// E-Trace in the list of formats.
#[derive(Debug)]
pub struct Etrace;

/// E-Trace in the list of formats.
pub static FORMAT: Etrace = Etrace;

/// Keys at the top level of a settings file that only E-Trace has.
const MARKS: [&str; 4] = ["dialect", "framing", "iaddress_width", "ioptions"];

impl Format for Etrace {
    fn id(&self) -> FormatId {
        crate::ID
    }

    fn title(&self) -> &'static str {
        "E-Trace, RISC-V compressed branch trace"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["etrace", "te"]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn keys(&self) -> &'static [Key] {
        Config::keys()
    }

    fn is_at_top_level(&self, settings: &Settings) -> bool {
        !settings.has("etrace") && MARKS.iter().any(|key| settings.has(key))
    }

    /// There is no magic number: the settings name the format.
    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        (!probe.file.is_folder && describe_etrace(probe.settings)).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let Opening { file, settings, program, threads, part, source, cancel, .. } = opening;
        let mut config = read_config(&settings)?;
        let is_assumed = !describe_etrace(&settings);
        if let (Framing::Bare { lengths }, Some(name)) = (&mut config.framing, &config.lengths_file) {
            let path = find(name, &settings);
            let text = std::fs::read_to_string(&path).map_err(FileError::at(&path))?;
            *lengths =
                read_lengths(&text).map_err(|error| Error::Config(format!("{}: {error}", path.display())))?;
        }
        let image = Arc::new(load(&program, &config, &settings)?);
        if is_assumed && image.isa() == Some(Isa::Rv64) {
            config.params.iaddress_width = 64;
        }
        check_identity(&image, &config)?;
        let mut meta = meta(&config, config.isa_of(&image));
        if is_assumed {
            meta.notes.push(("assumed settings".into(), config.summary()));
        }
        let source = source.map(|name| source_id(&name, &config)).transpose()?;
        let mut plan = Plan { source, ..Plan::new(threads) };
        plan.part_bytes = part.map_or(plan.part_bytes, |part| part as u64);
        let mut input = file.input;
        let mut ids = Vec::new();
        if config.framing.source_bits() > 0 {
            let bytes = input.read_whole().map_err(trackway_core::Error::from)?;
            ids.extend(source_ids(&bytes, &config));
            input = Input::Whole(bytes);
            if let Some(id) = plan.source.filter(|id| !ids.contains(id)) {
                let known: Vec<_> = ids.iter().map(u32::to_string).collect();
                return Err(Error::Config(format!("--source {id}: there are {}", known.join(", "))));
            }
            let chosen = ids.iter().filter(|id| plan.source.is_none_or(|chosen| chosen == **id));
            meta.sources = chosen.map(|id| source_name(*id)).collect();
        }
        let content = Content::new(input);
        Ok(Box::new(OpenedEtrace { content, config, image, meta, plan, ids, cancel }))
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

    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        let mut config = read_config(writing.settings)?;
        let isa = match meta.isa {
            Isa::Rv32 | Isa::Rv64 => meta.isa,
            _ => return Err(wrong_architecture("E-Trace", "RISC-V", meta)),
        };
        if !names_width(writing.settings) && isa == Isa::Rv64 {
            config.params.iaddress_width = 64;
        }
        config.xlen = Some(if isa == Isa::Rv64 { 64 } else { 32 });
        let image = Arc::new(load(writing.program, &config, writing.settings)?);
        check_identity(&image, &config)?;
        config.check().map_err(|error| Error::Config(error.to_string()))?;
        let known = (!image.is_empty()).then_some(&*image);
        let lower = Lower::new(writer(writing.target.create()?), &config, isa, known);
        let mut lower = lower.map_err(|error| Error::Config(error.to_string()))?;
        // The order in which this encoder sends data packets.
        config.data.order = Order::Retired;
        let sidecar = Sidecar::new(config, &image, &writing);
        if let Some(sidecar) = &sidecar {
            sidecar.write()?;
            lower.keep_code(image);
        }
        Ok(Box::new(WithSidecar { lower, sidecar, written: (0, Instant::now()) }))
    }
}

/// End of the name of code that a trace brings itself.
const CODE: &str = "code.elf";

/// Are these settings of an E-Trace?
fn describe_etrace(settings: &Settings) -> bool {
    settings.has("etrace") || FORMAT.is_at_top_level(settings)
}

/// Do these settings name the width of addresses? The default of the specification is 32 bits, also for RV64.
fn names_width(settings: &Settings) -> bool {
    describe_etrace(settings) && Config::section(&settings.table).contains_key("iaddress_width")
}

fn read_config(settings: &Settings) -> Result<Config> {
    if !describe_etrace(settings) {
        return Ok(Config::default());
    }
    let section = Config::section(&settings.table);
    settings.refuse_unknown(if settings.has("etrace") { "etrace" } else { "" }, &section, Config::keys())?;
    Config::from_section(section).map_err(|error| settings.wrong(&error.to_string()))
}

/// The id of a source, `3` or `source 3`.
fn source_id(name: &str, config: &Config) -> Result<u32> {
    if config.framing.source_bits() == 0 {
        return Err(Error::Config(format!("--source {name}: the framing has no source ids")));
    }
    let number = name.strip_prefix("source ").unwrap_or(name).parse();
    number.map_err(|_| Error::Config(format!("--source {name}: expected the number of a source")))
}

/// A file that the settings name. Files that belong to the trace are also found beside the settings under their name:
/// while the trace is being written, and where it was renamed.
fn find(name: &str, settings: &Settings) -> PathBuf {
    let ends = [CODE, "lengths"].into_iter().filter(|end| name.ends_with(end));
    let mut beside = ends.filter_map(|end| Some(settings.path.as_ref()?.with_extension(end)));
    beside.find(|path| path.is_file()).unwrap_or_else(|| settings.resolve(name))
}

/// The program that the user names, or `program` of the settings, and `[[image]]`.
fn load(program: &Program, config: &Config, settings: &Settings) -> Result<Image> {
    let mut image = program.load()?;
    let read = |path: &Path| std::fs::read(path).map(Arc::new).map_err(FileError::at(path));
    if program.elf.is_empty() {
        for name in &config.program {
            let path = find(name, settings);
            image.add_elf(&path.to_string_lossy(), read(&path)?, None, Space::default())?;
        }
    }
    for rule in &config.images {
        let path = find(&rule.path, settings);
        let bytes = read(&path)?;
        let name = path.to_string_lossy();
        let space =
            Space { privileges: rule.privilege.clone(), context_id: rule.context, ..Space::default() };
        match rule.address {
            Some(address) if !bytes.starts_with(b"\x7fELF") => image.add_raw(&name, address, bytes, space)?,
            address => image.add_elf(&name, bytes, address, space)?,
        }
    }
    for elf in image.parts().iter().filter_map(|part| part.elf.as_ref()) {
        let refuse = |what: &str| {
            let text = format!("the program is {}; {what}", elf.isa);
            Err(Error::Config(text))
        };
        let bits = match elf.isa {
            Isa::Rv32 => 32,
            Isa::Rv64 => 64,
            _ => return refuse("E-Trace needs a RISC-V program"),
        };
        if config.xlen.is_some_and(|xlen| xlen != bits) {
            return refuse(&format!("this trace is of a core with {} bits", config.xlen.unwrap_or(0)));
        }
        if config.xlen.is_none() && bits == 32 && config.params.iaddress_width > 34 {
            return refuse(&format!("addresses in this trace have {} bits", config.params.iaddress_width));
        }
    }
    Ok(image)
}

/// Refuses a program that is not the one of which the settings have the identity.
fn check_identity(image: &Image, config: &Config) -> Result<()> {
    let given = identities(image);
    match config.program_id.iter().find(|id| !given.is_empty() && !given.contains(id)) {
        None => Ok(()),
        Some(id) => Err(Error::Config(format!(
            "the program is not the one this trace was made from: its identity is {}, and the trace's is {id}; \
             without `program_id` in the settings any program is taken",
            given.join(", ")
        ))),
    }
}

/// The identities of the ELF files in an image.
fn identities(image: &Image) -> Vec<String> {
    let programs = image.parts().iter().filter(|part| part.elf.is_some() && !part.name.ends_with(CODE));
    programs.map(|part| part.identity()).collect()
}

fn writer(output: Output) -> Box<dyn Write + Send> {
    match output {
        Output::File(file) => Box::new(std::io::BufWriter::new(file)),
        Output::Stream(stream) => stream,
    }
}

/// Settings that are written beside a trace, so that it can be read again.
struct Sidecar {
    target: Target,
    config: Config,
}

impl Sidecar {
    /// For the trace that is written, if it is a file; names the programs relative to it.
    fn new(mut config: Config, image: &Image, writing: &Writing<'_>) -> Option<Self> {
        let trace = writing.target.path.as_deref()?;
        let folder = trace.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let from = writing.settings.path.as_deref().and_then(Path::parent);
        let moved = |name: &str| from.map_or(name.to_string(), |from| relative(&from.join(name), &folder));
        config.program = config.program.iter().map(|name| moved(name)).collect();
        for rule in &mut config.images {
            rule.path = moved(&rule.path);
        }
        if !writing.program.elf.is_empty() {
            config.program.clear();
        }
        config.program_id = identities(image);
        for spec in writing.program.elf.iter().chain(&writing.program.raw) {
            if let Ok((path, address)) = trackway_image::read_spec(spec) {
                let path = relative(&path, &folder);
                match address {
                    None => config.program.push(path),
                    Some(_) => config.images.push(ImageRule { path, address, ..ImageRule::default() }),
                }
            }
        }
        if matches!(config.framing, Framing::Bare { .. }) {
            config.lengths_file = trace.file_name().map(|name| format!("{}.lengths", name.to_string_lossy()));
        }
        Some(Sidecar { target: writing.target.clone(), config })
    }

    fn write(&self) -> std::result::Result<(), FileError> {
        self.target.write_beside("toml", self.config.to_toml().as_bytes())
    }

    /// Writes code that no program has beside it, so that they can be moved together. Until the end all files are beside
    /// the partial trace, under its name.
    fn write_code(&self, elf: &[u8], at_end: bool) -> std::result::Result<(), FileError> {
        let trace = self.target.path.as_deref().and_then(Path::file_name).unwrap_or_default();
        let path = format!("{}{}.{CODE}", trace.to_string_lossy(), if at_end { "" } else { ".partial" });
        let mut config = self.config.clone();
        match config.program.is_empty() {
            true => config.program.push(path),
            false => config.images.push(ImageRule { path, ..ImageRule::default() }),
        }
        self.target.write_beside(CODE, elf)?;
        self.target.write_beside("toml", config.to_toml().as_bytes())
    }

    /// Writes it, with the code that the trace brings itself.
    fn write_with(&mut self, image: &Image) -> std::result::Result<(), FileError> {
        let Some(part) = image.parts().iter().find(|part| part.name.ends_with(CODE)) else {
            return self.write();
        };
        self.config.program.retain(|name| !name.ends_with(CODE));
        self.config.images.retain(|rule| !rule.path.ends_with(CODE));
        self.write_code((*part.file).as_ref(), true)
    }

    /// Writes the lengths of bare payloads.
    fn write_lengths(&self, lengths: &[u32]) -> std::result::Result<(), FileError> {
        match self.config.lengths_file {
            Some(_) => self.target.write_beside("lengths", write_lengths(lengths).as_bytes()),
            None => Ok(()),
        }
    }
}

/// The encoder, and the settings and code written beside its output.
struct WithSidecar {
    lower: Lower<Box<dyn Write + Send>>,
    sidecar: Option<Sidecar>,
    /// Instructions in the code that was written last, and when to write again.
    written: (usize, Instant),
}

impl WithSidecar {
    fn code(&self) -> Option<Vec<u8>> {
        let config = &self.sidecar.as_ref()?.config;
        let isa = if config.xlen == Some(64) { Isa::Rv64 } else { Isa::Rv32 };
        self.lower.code().filter(|code| !code.is_empty()).map(|code| code.to_elf(isa))
    }

    /// A run that is killed leaves a trace that can be read: now and then code and packets are written before the end.
    fn write_early(&mut self) -> std::io::Result<()> {
        let start = Instant::now();
        if self.sidecar.is_none() || start < self.written.1 {
            return Ok(());
        }
        let known = self.lower.code_len();
        if known != self.written.0
            && let Some((sidecar, code)) = self.sidecar.as_ref().zip(self.code())
        {
            sidecar.write_code(&code, false).map_err(|failed| failed.error)?;
        }
        self.lower.flush()?;
        // A small part of the time, however much code there is.
        let pause = (start.elapsed() * 20).max(Duration::from_millis(50));
        self.written = (known, Instant::now() + pause);
        Ok(())
    }
}

impl Sink for WithSidecar {
    fn put(&mut self, batch: &Batch) -> trackway_core::Result<()> {
        self.lower.put(batch)?;
        Ok(self.write_early()?)
    }

    fn finish(&mut self) -> trackway_core::Result<Account> {
        let account = self.lower.finish()?;
        if let Some(sidecar) = &self.sidecar {
            let written = match self.code() {
                Some(code) => sidecar.write_code(&code, true),
                None => Ok(()),
            };
            written
                .and_then(|()| sidecar.write_lengths(&self.lower.encoder().writer.lengths))
                .map_err(|failed| failed.error)?;
        }
        Ok(account)
    }
}

struct OpenedEtrace {
    content: Content,
    config: Config,
    image: Arc<Image>,
    meta: Meta,
    plan: Plan,
    /// The ids of all sources, where the framing has them.
    ids: Vec<u32>,
    cancel: Cancel,
}

impl OpenedEtrace {
    fn lift(&self, input: Input) -> Result<Lift> {
        let OpenedEtrace { config, image, plan, ids, .. } = self;
        Ok(lift_sources(input, config, Arc::clone(image), plan, Some(ids))?)
    }
}

impl Opened for OpenedEtrace {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![("framing", self.config.framing.as_str().to_string())]
    }

    fn programs(&self) -> Vec<Arc<Image>> {
        if self.image.is_empty() { Vec::new() } else { vec![Arc::clone(&self.image)] }
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        if self.image.is_empty() && !self.config.data.enable {
            let text = "E-Trace is decoded against the program that ran: name it with --elf, or with `program` in \
                        the settings";
            return Err(Error::Config(text.into()));
        }
        let input = self.content.input()?;
        Ok(Box::new(self.lift(input)?.with_cancel(self.cancel.clone())))
    }

    fn divides_items(&self) -> bool {
        true
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        Ok(Box::new(Text::new(self.content.input()?, &self.config).of_source(self.plan.source)))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        let mut input = self.content.input()?;
        let mut findings = Vec::new();
        if let Input::Whole(bytes) = &input {
            findings.extend(wrong_dialect(bytes, &self.config, &self.image).map(|error| (&DIALECT, error)));
        }
        if !self.image.is_empty() {
            let bytes = input.read_whole().map_err(trackway_core::Error::from)?;
            let again = Input::Whole(Arc::clone(&bytes));
            check_program(&mut self.lift(again)?, &mut findings)?;
            input = Input::Whole(bytes);
        }
        let reader = Reader::new(input, &self.config).of_source(self.plan.source);
        Ok(check_packets(reader, &self.config, findings, report)?)
    }

    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let mut sidecar = Sidecar::new(self.config.clone(), &self.image, &writing);
        let mut out = writer(writing.target.create()?);
        let mut reader = Reader::new(self.content.input()?, &self.config);
        let mut packets = Writer::new(&self.config);
        let mut items = 0;
        while let Some(item) = reader.read()? {
            packets.write_item(&item)?;
            out.write_all(&packets.bytes).map_err(trackway_core::Error::from)?;
            packets.clear();
            items += 1;
        }
        out.flush().map_err(trackway_core::Error::from)?;
        if let Some(sidecar) = &mut sidecar {
            sidecar.write_with(&self.image)?;
            sidecar.write_lengths(&packets.lengths)?;
        }
        Ok(items)
    }

    fn bytes(&mut self) -> Result<Input> {
        self.content.input()
    }

    /// The bytes as they are, with the settings beside them.
    fn write_streams(&mut self, streams: Streams, writing: &Writing<'_>) -> Result<Option<Streams>> {
        let mut out = writer(writing.target.create()?);
        let copied = streams.into_iter().try_for_each(|stream| -> std::io::Result<()> {
            std::io::copy(&mut stream.into_read(), &mut out)?;
            Ok(())
        });
        copied.and_then(|()| out.flush()).map_err(trackway_core::Error::from)?;
        if let Some(mut sidecar) = Sidecar::new(self.config.clone(), &self.image, writing) {
            sidecar.write_with(&self.image)?;
            if let Framing::Bare { lengths } = &self.config.framing {
                sidecar.write_lengths(lengths)?;
            }
        }
        Ok(None)
    }

    fn cuts(&mut self, wanted: &[Vec<u64>]) -> Result<Vec<Vec<Cut>>> {
        let bytes = self.content.input()?.read_whole().map_err(trackway_core::Error::from)?;
        let wanted = wanted.first().map_or(&[][..], |wanted| wanted);
        let found = cuts(&bytes, &self.config, &self.image, wanted);
        Ok(vec![found.map_err(|why| Error::Unsupported(why.into()))?])
    }
}

//! E-Trace in the list of formats.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway_core::{Batch, Finding, FormatId, Input, Isa, Items, Losses, Meta, Output, Rule, Sink, Source};
use trackway_etrace::transport::Framing;
use trackway_etrace::{Config, Lift, Lower, Reader, Text, Writer};
use trackway_format::{
    Content, Error, Format, Key, Opened, Opening, Probe, Program, Recognised, Result, Settings, Writing,
    wrong_architecture,
};
use trackway_image::{Image, Space};
use trackway_io::FileError;

/// E-Trace.
pub(crate) struct Etrace;

/// Keys that only an E-Trace configuration has at top level.
const MARKS: [&str; 4] = ["dialect", "framing", "iaddress_width", "ioptions"];

impl Format for Etrace {
    fn id(&self) -> FormatId {
        FormatId::Etrace
    }

    fn title(&self) -> &'static str {
        "E-Trace, RISC-V compressed branch trace"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["etrace", "te"]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        &[]
    }

    fn keys(&self) -> &'static [Key] {
        &[]
    }

    fn is_at_top_level(&self, settings: &Settings) -> bool {
        MARKS.iter().any(|key| settings.has(key))
    }

    /// There is no magic number: the settings say it.
    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        (!probe.file.is_folder && describes(probe.settings)).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let Opening { file, settings, program, threads, .. } = opening;
        let mut config = read_config(&settings)?;
        if let (Framing::Bare { lengths }, Some(name)) = (&mut config.framing, &config.lengths_file) {
            *lengths = read_lengths(&settings.resolve(name))?;
        }
        let image = Arc::new(load(&program, &settings)?);
        let isa = image
            .isa()
            .filter(|isa| matches!(isa, Isa::Rv32 | Isa::Rv64))
            .unwrap_or(if config.params.iaddress_width <= 32 { Isa::Rv32 } else { Isa::Rv64 });
        let meta = trackway_etrace::meta(&config, isa);
        let content = Content::new(file.input);
        Ok(Box::new(OpenedEtrace { content, config, image, meta, threads }))
    }

    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        let mut config = read_config(writing.settings)?;
        let isa = match meta.isa {
            Isa::Rv32 | Isa::Rv64 => meta.isa,
            _ => return Err(wrong_architecture("E-Trace", "RISC-V", meta)),
        };
        if !describes(writing.settings) && isa == Isa::Rv64 {
            config.params.iaddress_width = 64;
        }
        let image = load(writing.program, writing.settings)?;
        let image = (!image.is_empty()).then_some(&image);
        let lower = Lower::new(plain(writing.target.create()?), &config, isa, image);
        let lower = lower.map_err(|error| Error::Config(error.to_string()))?;
        // That is how our encoder does it.
        config.data.order = trackway_etrace::Order::Retired;
        let sidecar = Sidecar::new(&mut config, &writing);
        Ok(Box::new(WithSidecar { lower, sidecar, config }))
    }
}

/// Is this the configuration of an E-Trace?
fn describes(settings: &Settings) -> bool {
    settings.has("etrace") || MARKS.iter().any(|key| settings.has(key))
}

fn read_config(settings: &Settings) -> Result<Config> {
    if !describes(settings) {
        return Ok(Config::default());
    }
    Config::from_table(&settings.table).map_err(|error| settings.wrong(&error.to_string()))
}

fn read_lengths(path: &Path) -> Result<Vec<u32>> {
    let text = std::fs::read_to_string(path).map_err(FileError::at(path))?;
    let numbers = text.split_ascii_whitespace().map(str::parse).collect::<std::result::Result<_, _>>();
    numbers.map_err(|error| Error::Config(format!("{}: {error}", path.display())))
}

/// The program that the user names, or `program` of the settings, and `[[image]]`.
fn load(program: &Program, settings: &Settings) -> Result<Image> {
    let mut image = program.load()?;
    let config = read_config(settings)?;
    let read = |path: &Path| std::fs::read(path).map(Arc::new).map_err(FileError::at(path));
    if program.elf.is_empty() {
        for name in &config.program {
            let path = settings.resolve(name);
            image.add_elf(&path.to_string_lossy(), read(&path)?, None, Space::default())?;
        }
    }
    for rule in &config.images {
        let path = settings.resolve(&rule.path);
        let bytes = read(&path)?;
        let name = path.to_string_lossy();
        let space =
            Space { privileges: rule.privilege.clone(), context_id: rule.context, ..Space::default() };
        match rule.address {
            Some(address) if !bytes.starts_with(b"\x7fELF") => image.add_raw(&name, address, bytes, space)?,
            address => image.add_elf(&name, bytes, address, space)?,
        }
    }
    Ok(image)
}

fn plain(output: Output) -> Box<dyn Write + Send> {
    match output {
        Output::File(file) => Box::new(std::io::BufWriter::new(file)),
        Output::Stream(stream) => stream,
    }
}

/// The configuration that is written beside a trace, so that the trace can be read again.
struct Sidecar {
    path: PathBuf,
}

impl Sidecar {
    /// For the trace that is written, if it is a file; names the programs relative to it.
    fn new(config: &mut Config, writing: &Writing<'_>) -> Option<Self> {
        let trace = writing.target.path.as_deref()?;
        let folder = trace.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let from = writing.settings.path.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        let moved = |name: &str| match &from {
            Some(from) => relative(&from.join(name), &folder),
            None => name.to_string(),
        };
        config.program = config.program.iter().map(|name| moved(name)).collect();
        for rule in &mut config.images {
            rule.path = moved(&rule.path);
        }
        if !writing.program.elf.is_empty() {
            config.program.clear();
        }
        for spec in writing.program.elf.iter().chain(&writing.program.raw) {
            if let Ok((path, address)) = trackway_image::read_spec(spec) {
                let path = relative(&path, &folder);
                match address {
                    None => config.program.push(path),
                    Some(_) => config.images.push(trackway_etrace::ImageRule {
                        path,
                        address,
                        ..trackway_etrace::ImageRule::default()
                    }),
                }
            }
        }
        let mut name = trace.as_os_str().to_os_string();
        name.push(".toml");
        let path = PathBuf::from(name);
        if matches!(config.framing, Framing::Bare { .. }) {
            let lengths = path.with_extension("lengths");
            config.lengths_file = lengths.file_name().map(|name| name.to_string_lossy().into_owned());
        }
        Some(Sidecar { path })
    }
}

/// `path` as seen from `folder`, where both can be found; else as it is.
fn relative(path: &Path, folder: &Path) -> String {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (Ok(to), Ok(from)) = (path.canonicalize(), folder.canonicalize()) else {
        return path.to_string_lossy().into_owned();
    };
    let (to, from): (Vec<_>, Vec<_>) = (to.components().collect(), from.components().collect());
    let shared = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let mut out = PathBuf::new();
    for _ in shared..from.len() {
        out.push("..");
    }
    out.extend(&to[shared..]);
    out.to_string_lossy().into_owned()
}

/// The encoder, and the configuration written beside its output at the end.
struct WithSidecar {
    lower: Lower<Box<dyn Write + Send>>,
    sidecar: Option<Sidecar>,
    config: Config,
}

impl Sink for WithSidecar {
    fn put(&mut self, batch: &Batch) -> trackway_core::Result<()> {
        self.lower.put(batch)
    }

    fn finish(&mut self) -> trackway_core::Result<Losses> {
        let losses = self.lower.finish()?;
        if let Some(sidecar) = &self.sidecar {
            std::fs::write(&sidecar.path, self.config.to_toml())?;
            if self.config.lengths_file.is_some() {
                let lengths = &self.lower.encoder().writer.lengths;
                let text: String = lengths.iter().map(|length| format!("{length}\n")).collect();
                std::fs::write(sidecar.path.with_extension("lengths"), text)?;
            }
        }
        Ok(losses)
    }
}

struct OpenedEtrace {
    content: Content,
    config: Config,
    image: Arc<Image>,
    meta: Meta,
    threads: usize,
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
        if self.image.is_empty() {
            return Err(Error::Config(
                "E-Trace is decoded against the program that ran: give it with --elf, or `program` in the configuration"
                    .into(),
            ));
        }
        Ok(Box::new(Lift::new(self.content.input()?, &self.config, Arc::clone(&self.image), self.threads)?))
    }

    fn bytes(&mut self) -> Result<Input> {
        Ok(self.content.input()?)
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        Ok(Box::new(Text::new(self.content.input()?, &self.config)))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(trackway_etrace::check(self.content.input()?, &self.config, report)?)
    }

    /// The same packets, byte for byte.
    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let mut config = self.config.clone();
        let sidecar = Sidecar::new(&mut config, &writing);
        let mut out = plain(writing.target.create()?);
        let mut reader = Reader::new(self.content.input()?, &self.config);
        let mut writer = Writer::new(&self.config);
        let mut items = 0;
        while let Some(item) = reader.read()? {
            writer.write_item(&item)?;
            out.write_all(&writer.bytes).map_err(trackway_core::Error::from)?;
            writer.clear();
            items += 1;
        }
        out.flush().map_err(trackway_core::Error::from)?;
        if let Some(sidecar) = sidecar {
            std::fs::write(&sidecar.path, config.to_toml()).map_err(FileError::at(&sidecar.path))?;
            if config.lengths_file.is_some() {
                let text: String = writer.lengths.iter().map(|length| format!("{length}\n")).collect();
                let path = sidecar.path.with_extension("lengths");
                std::fs::write(&path, text).map_err(FileError::at(&path))?;
            }
        }
        Ok(items)
    }
}

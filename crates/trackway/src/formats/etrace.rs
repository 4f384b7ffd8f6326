//! E-Trace in the list of formats.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway_core::{Batch, Finding, FormatId, Input, Isa, Items, Losses, Meta, Output, Sink, Source};
use trackway_etrace::frame::Framing;
use trackway_etrace::{Config, Lift, Lower, Reader, Text, Writer};
use trackway_image::{Image, Space};

use super::{Format, Opened};
use crate::error::{Error, Result};
use crate::input::File;
use crate::options::{ConfigFile, Options};
use crate::target::Target;

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

    /// There is no mark: the configuration says it.
    fn recognise(&self, file: &File, options: &Options) -> bool {
        !file.is_folder && options.config.as_ref().is_some_and(describes)
    }

    fn open(&self, file: File, options: &Options) -> Result<Box<dyn Opened>> {
        let mut config = read_config(options)?;
        if let (Framing::Bare { lengths }, Some(name), Some(file)) =
            (&mut config.framing, &config.lengths_file, &options.config)
        {
            *lengths = read_lengths(&file.beside(name))?;
        }
        let image = options.program()?;
        let isa = image
            .isa()
            .filter(|isa| matches!(isa, Isa::Rv32 | Isa::Rv64))
            .unwrap_or(if config.params.iaddress_width <= 32 { Isa::Rv32 } else { Isa::Rv64 });
        let meta = trackway_etrace::meta(&config, isa);
        Ok(Box::new(OpenedEtrace { input: file.input, config, image, meta, jobs: options.jobs }))
    }

    fn create(&self, target: Target, meta: &Meta, options: &Options) -> Result<Box<dyn Sink>> {
        let mut config = read_config(options)?;
        let isa = match meta.isa {
            Isa::Rv32 | Isa::Rv64 => meta.isa,
            other => {
                let text = format!("E-Trace is for RISC-V; this trace is of {}", other.word());
                return Err(Error::Unsupported(text));
            }
        };
        if options.config.is_none() && isa == Isa::Rv64 {
            config.params.iaddress_width = 64;
        }
        let image = options.program()?;
        let image = (!image.is_empty()).then_some(&*image);
        let lower = Lower::new(plain(target.create()?), &config, isa, image);
        let lower = lower.map_err(|error| Error::Config(error.to_string()))?;
        // That is how our encoder does it.
        config.data.order = trackway_etrace::data::Order::Retired;
        let sidecar = target.path.map(|path| Sidecar::new(&path, &mut config, options));
        Ok(Box::new(WithSidecar { lower, sidecar, config }))
    }
}

/// Is this the configuration of an E-Trace?
fn describes(file: &ConfigFile) -> bool {
    file.table.contains_key("etrace") || MARKS.iter().any(|key| file.table.contains_key(*key))
}

fn read_config(options: &Options) -> Result<Config> {
    match &options.config {
        None => Ok(Config::default()),
        Some(file) => Config::from_table(&file.table)
            .map_err(|error| Error::Config(format!("{}: {error}", file.path.display()))),
    }
}

fn read_lengths(path: &Path) -> Result<Vec<u32>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::File { path: path.into(), error })?;
    let numbers = text.split_ascii_whitespace().map(str::parse).collect::<std::result::Result<_, _>>();
    numbers.map_err(|error| Error::Config(format!("{}: {error}", path.display())))
}

/// Adds what an E-Trace configuration says of the program: `program`, unless other programs are given, and
/// `[[image]]`.
pub(crate) fn add_programs(file: &ConfigFile, with_program: bool, image: &mut Image) -> Result<()> {
    if !describes(file) {
        return Ok(());
    }
    let config = Config::from_table(&file.table)
        .map_err(|error| Error::Config(format!("{}: {error}", file.path.display())))?;
    let read = |path: &Path| {
        std::fs::read(path).map(Arc::new).map_err(|error| Error::File { path: path.into(), error })
    };
    if with_program {
        for name in &config.program {
            let path = file.beside(name);
            image.add_elf(&path.to_string_lossy(), read(&path)?, None, Space::default())?;
        }
    }
    for rule in &config.images {
        let path = file.beside(&rule.path);
        let bytes = read(&path)?;
        let name = path.to_string_lossy();
        let space =
            Space { privileges: rule.privilege.clone(), context_id: rule.context, ..Space::default() };
        match rule.address {
            Some(address) if !bytes.starts_with(b"\x7fELF") => image.add_raw(&name, address, bytes, space)?,
            address => image.add_elf(&name, bytes, address, space)?,
        }
    }
    Ok(())
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
    /// For the trace at `trace`; names the programs relative to it.
    fn new(trace: &Path, config: &mut Config, options: &Options) -> Self {
        let folder = trace.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let from = options.config.as_ref().and_then(|file| file.path.parent()).map(Path::to_path_buf);
        let moved = |name: &str| match &from {
            Some(from) => relative(&from.join(name), &folder),
            None => name.to_string(),
        };
        config.program = config.program.iter().map(|name| moved(name)).collect();
        for rule in &mut config.images {
            rule.path = moved(&rule.path);
        }
        if !options.elf.is_empty() {
            config.program.clear();
        }
        for spec in options.elf.iter().chain(&options.image) {
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
        Sidecar { path }
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
    input: Input,
    config: Config,
    image: Arc<Image>,
    meta: Meta,
    jobs: usize,
}

impl Opened for OpenedEtrace {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn container(&self) -> Vec<(&'static str, String)> {
        vec![("framing", self.config.framing.name().to_string())]
    }

    fn source(self: Box<Self>) -> Result<Box<dyn Source>> {
        if self.image.is_empty() {
            return Err(Error::Config(
                "E-Trace is decoded against the program that ran: give it with --elf, or `program` in the configuration"
                    .into(),
            ));
        }
        Ok(Box::new(Lift::new(self.input, &self.config, self.image, self.jobs)?))
    }

    fn bytes(self: Box<Self>) -> Result<Input> {
        Ok(self.input)
    }

    fn items(self: Box<Self>) -> Result<Box<dyn Items>> {
        Ok(Box::new(Text::new(self.input, &self.config)))
    }

    fn check(self: Box<Self>, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(trackway_etrace::check(self.input, &self.config, report)?)
    }

    /// The same packets, byte for byte.
    fn rewrite(self: Box<Self>, target: Target, options: &Options) -> Result<u64> {
        let mut config = self.config.clone();
        let sidecar = target.path.as_deref().map(|path| Sidecar::new(path, &mut config, options));
        let mut out = plain(target.create()?);
        let mut reader = Reader::new(self.input, &self.config);
        let mut writer = Writer::new(&self.config);
        let mut items = 0;
        while let Some(item) = reader.read()? {
            match &item.packet {
                Some(exact) => writer.write_exact(&item.frame, exact)?,
                None => writer.write_raw(&item.frame, &item.payload)?,
            }
            if let Some(exact) = &item.packet {
                writer.note(&exact.packet);
            }
            out.write_all(&writer.bytes).map_err(trackway_core::Error::from)?;
            writer.clear();
            items += 1;
        }
        out.flush().map_err(trackway_core::Error::from)?;
        if let Some(sidecar) = sidecar {
            std::fs::write(&sidecar.path, config.to_toml())
                .map_err(|error| Error::File { path: sidecar.path.clone(), error })?;
            if config.lengths_file.is_some() {
                let text: String = writer.lengths.iter().map(|length| format!("{length}\n")).collect();
                let path = sidecar.path.with_extension("lengths");
                std::fs::write(&path, text).map_err(|error| Error::File { path, error })?;
            }
        }
        Ok(items)
    }
}

//! Tandem in the list of formats; an opened trace and the ways through it.

use std::io::Write;
use std::sync::Arc;

use trackway_core::{
    Cancel, Finding, FormatId, Input, Isa, Items, Meta, Output, Result, Rule, SharedBytes, Sink, Source,
    Stream,
};
use trackway_format::{
    Candidate, Content, Cut, Error, Excerpt, Flag, Format, Key, Opened, Opening, Probe, Recognised, Settings,
    When, Writing, wrong_architecture,
};
use trackway_image::Elf;
use trackway_io::{Compression, compress};

use crate::candidates;
use crate::check;
use crate::config::{Config, Container, ID, Profile, Section, Style, Widths, WriteConfig};
use crate::cut::cuts;
use crate::init::elf_to_records;
use crate::lift::{self, Decoder, Lift};
use crate::lower::Lower;
use crate::read::Reader;
use crate::recognise::recognise;
use crate::rules::RULES;
use crate::text::Text;
use crate::write::Writer;

/// Tandem as a format of the front door.
#[derive(Clone, Copy, Debug)]
pub struct Tandem;

const FLAGS: &[Flag] = &[
    Flag {
        name: "container",
        key: "container",
        value: "NAME",
        values: &["plain", "gzip", "xz", "zstd"],
        when: When::Writing,
        help: "Container to write (tandem: plain, gzip, xz, zstd)",
    },
    Flag::LEVEL,
    Flag {
        name: "profile",
        key: "profile",
        value: "NAME",
        values: &["spec", "bluespec", "verbose", "compact", "bluespec-compact"],
        when: When::Lowering,
        help: "Profile and style to write (tandem: spec, bluespec, verbose, compact, or bluespec-compact)",
    },
];

impl Format for Tandem {
    fn id(&self) -> FormatId {
        ID
    }

    fn title(&self) -> &'static str {
        "Tandem, RISC-V trace protocol"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["tv", "tandem"]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn keys(&self) -> &'static [Key] {
        Section::KEYS
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    /// There is no magic number: the settings name the format, or the first bytes decode.
    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        let file = probe.file;
        (!file.is_folder && (probe.settings.has(ID.as_str()) || recognise(&file.head).is_some())).into()
    }

    fn candidates(&self, _: &Excerpt<'_>) -> Vec<Candidate> {
        candidates::candidates()
    }

    fn neighbours(&self, from: &Settings, _: &Excerpt<'_>) -> Vec<Candidate> {
        candidates::neighbours(from)
    }

    fn open(&self, opening: Opening) -> trackway_format::Result<Box<dyn Opened>> {
        let Opening { file, settings, cancel, .. } = opening;
        let section: Section = settings.of_format(self)?;
        let config = section.apply(recognise(&file.head).unwrap_or_default());
        config.widths()?;
        let Config { xlen, flen, mlen, profile, .. } = config;
        let by = if settings.has(ID.as_str()) { "configuration" } else { "trial decoding" };
        let parameters =
            format!("XLEN {xlen}, FLEN {flen}, MLEN {mlen}, profile {} (by {by})", profile.as_str());
        let (content, meta) = (Content::new(file.input), lift::meta(&config));
        Ok(Box::new(OpenedTandem { content, config, cancel, meta, parameters }))
    }

    fn create(&self, writing: Writing<'_>, meta: &Meta) -> trackway_format::Result<Box<dyn Sink>> {
        let section: Section = writing.settings.of_format(self)?;
        let style = section.style().unwrap_or_default();
        let mut base = match meta.isa {
            Isa::Rv32 | Isa::Rv64 if meta.format == ID => of_meta(meta),
            // FPRs as wide as any RV32 core has them.
            Isa::Rv32 => Config { flen: 64, ..Config::rv32() },
            Isa::Rv64 | Isa::Other => Config::default(),
            _ => return Err(wrong_architecture("tandem", "RISC-V", meta)),
        };
        if style == Style::Compact {
            // A reader takes increments for the work of an encoder that follows the specification.
            base.profile = Profile::Spec;
        }
        let config = WriteConfig { config: section.apply(base), style };
        Ok(Box::new(Lower::new(output(&writing, &section)?, meta, config)?))
    }

    /// State initialization, as a debugger writes it.
    fn load(&self, program: &[u8], writing: Writing<'_>) -> trackway_format::Result<u64> {
        let elf = Elf::read(&(Arc::new(program.to_vec()) as SharedBytes), None)?;
        // The width of the file, unless the settings have another.
        let base = if elf.isa == Isa::Rv32 { Config::rv32() } else { Config::default() };
        let section: Section = writing.settings.of_format(self)?;
        let config = section.apply(base);
        let mut items = 0;
        // First without an output, so that nothing is created for a file that cannot be loaded.
        elf_to_records(&elf, &config, |_| {
            items += 1;
            Ok(())
        })?;
        let mut writer = Writer::new(output(&writing, &section)?, &config)?;
        elf_to_records(&elf, &config, |record| writer.write(record))?;
        writer.finish()?;
        Ok(items)
    }
}

/// Widths and profile of a tandem trace, for another one like it.
fn of_meta(meta: &Meta) -> Config {
    let base = if meta.isa == Isa::Rv32 { Config::rv32() } else { Config::default() };
    let note = |name: &str| meta.notes.iter().find(|note| note.0 == name)?.1.parse().ok();
    Config {
        flen: note("flen").unwrap_or(base.flen),
        mlen: note("mlen").unwrap_or(base.mlen),
        profile: meta.level.as_deref().and_then(|name| name.parse().ok()).unwrap_or_default(),
        ..base
    }
}

fn output(writing: &Writing<'_>, section: &Section) -> trackway_format::Result<Box<dyn Write + Send>> {
    let by_name = || writing.target.path.as_deref().and_then(Compression::of_name);
    let compression = section.container.map_or_else(by_name, |Container(compression)| compression);
    if section.level.is_some() && compression.is_none() {
        return Err(Error::Config("[tandem] level: it means nothing for the container plain".into()));
    }
    let output = writing.target.create()?;
    let output = match compression {
        None => output,
        Some(compression) => compress(compression, output, section.level)?,
    };
    Ok(match output {
        Output::Stream(stream) => stream,
        Output::File(file) => Box::new(file),
    })
}

struct OpenedTandem {
    content: Content,
    config: Config,
    cancel: Cancel,
    meta: Meta,
    parameters: String,
}

impl OpenedTandem {
    fn trace(&mut self) -> trackway_format::Result<Trace> {
        Ok(Trace::open(self.content.input()?, self.config)?)
    }
}

impl Opened for OpenedTandem {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![("parameters", self.parameters.clone())]
    }

    fn events(&mut self) -> trackway_format::Result<Box<dyn Source>> {
        Ok(Box::new(self.trace()?.events().with_cancel(self.cancel.clone())))
    }

    fn items(&mut self) -> trackway_format::Result<Box<dyn Items>> {
        Ok(Box::new(self.trace()?.items()))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> trackway_format::Result<u64> {
        Ok(self.trace()?.check(report)?)
    }

    fn copy_to(&mut self, writing: Writing<'_>) -> trackway_format::Result<u64> {
        let section: Section = writing.settings.of_format(&Tandem)?;
        Ok(self.trace()?.copy_to(output(&writing, &section)?)?)
    }

    fn bytes(&mut self) -> trackway_format::Result<Input> {
        self.content.input()
    }

    fn cuts(&mut self, wanted: &[Vec<u64>]) -> trackway_format::Result<Vec<Vec<Cut>>> {
        let wanted = wanted.first().map_or(&[][..], |wanted| wanted);
        let config = self.config;
        Ok(vec![cuts(self.trace()?.reader(), &config, wanted)?])
    }
}

/// A tandem trace with its parameters.
///
/// ```
/// use trackway_core::*;
/// use trackway_tandem::{Config, Trace};
/// // A reset, then `addi t0, x0, 3` at the reset pc.
/// let bytes = [
///     0x01, 0x0a, 0x02, 0x01, 0x07, 0x0a, 4, 0, 0, 0x70, 0, 0, 0, 0, 0x11, 0x93, 0x02, 0x30, 0,
///     0x04, 0x05, 0x10, 3, 0, 0, 0, 0, 0, 0, 0, 0x02,
/// ];
/// let config = Config { reset_pc: Some(0x7000_0000), ..Config::default() };
/// let mut events = Trace::open(Input::from_vec(bytes.to_vec()), config)?.events();
/// let mut batch = Batch::default();
/// assert!(events.fill(&mut batch)?);
/// let EventKind::Step(step) = batch.events[1].kind else { unreachable!() };
/// assert_eq!((step.pc, step.encoding), (Some(0x7000_0000), 0x0030_0293));
/// assert_eq!(batch.regs_of(step.accesses)[0].value, Value::Word(3));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    input: Input,
    config: Config,
    widths: Widths,
}

impl Trace {
    /// Opens a trace; refuses parameters that the protocol does not have.
    pub fn open(input: Input, config: Config) -> Result<Self> {
        Ok(Trace { input, config, widths: config.widths()? })
    }

    fn reader(self) -> Reader {
        Reader::with_widths(self.input, self.widths)
    }

    /// The trace as events.
    pub fn events(self) -> Lift {
        let config = self.config;
        Stream::new(lift::meta(&config), vec![Decoder::new(self.reader(), config)], 1)
    }

    /// The items as text.
    pub fn items(self) -> Text {
        let config = self.config;
        Text::new(self.reader(), &config)
    }

    /// Checks a trace against [`RULES`] and reports each violation; returns the number of items. Damage is reported
    /// and skipped; only an error of the input is returned.
    pub fn check(self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        let config = self.config;
        check::check(self.reader(), &config, report)
    }

    /// Writes the items to `out`, byte for byte; returns their number.
    pub fn copy_to(self, out: impl Write) -> Result<u64> {
        let mut writer = Writer::new(out, &self.config)?;
        let (mut reader, mut items) = (self.reader(), 0);
        while let Some((_, record)) = reader.read()? {
            writer.write(&record)?;
            items += 1;
        }
        writer.finish()?;
        Ok(items)
    }
}

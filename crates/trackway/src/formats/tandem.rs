//! Tandem in the list of formats.

use std::io::Write;

use trackway_core::{
    Batch, Finding, FormatId, Input, Isa, Items, Meta, Output, Rule, SharedBytes, Sink, Source,
};
use trackway_format::{
    Content, Error, Flag, Format, Key, Number, Opened, Opening, Probe, Recognised, Result, When, Writing,
    wrong_architecture,
};
use trackway_image::Elf;
use trackway_io::{Compression, compress};
use trackway_tandem::{
    Config, Group, Lift, Lower, Packer, Profile, Reader, Style, Text, WriteConfig, Writer, elf_to_records,
};

/// Tandem.
pub(crate) struct Tandem;

trackway_format::settings! {
    /// `[tandem]` in the settings.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Section {
        /// Width of integer registers in bits: 32 or 64.
        xlen: Option<u32> = "64",
        /// Width of floating-point registers in bits: 0, 32 or 64.
        flen: Option<u32> = "64",
        /// Width of memory addresses in bits: 32 or 64.
        mlen: Option<u32> = "64",
        /// Profile: spec or bluespec; for writing also a style, verbose or compact (bluespec-compact).
        profile: Option<String> = "\"bluespec\"",
        /// Address of the first instruction after a hart reset.
        reset_pc: Option<Number> = "0x1000",
        /// Accept items in an order that the spec does not allow.
        lenient: Option<bool> = "false",
        /// Keep items with opcodes that the spec leaves to implementations.
        custom: Option<bool> = "false",
        /// Written container: plain, gzip, xz or zstd.
        container: Option<String> = "\"plain\"",
        /// Written compression level.
        level: Option<i32> = "3",
    }
}

const FLAGS: &[Flag] = &[
    Flag {
        name: "container",
        key: "container",
        value: "NAME",
        when: When::Writing,
        help: "Container to write (tandem: plain, gzip, xz, zstd)",
    },
    Flag { name: "level", key: "level", value: "N", when: When::Writing, help: "Compression level" },
    Flag {
        name: "profile",
        key: "profile",
        value: "NAME",
        when: When::Writing,
        help: "Profile and style to write (tandem: spec, bluespec, verbose, compact, or bluespec-compact)",
    },
];

impl Format for Tandem {
    fn id(&self) -> FormatId {
        FormatId::Tandem
    }

    fn title(&self) -> &'static str {
        "Tandem, RISC-V trace protocol"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["tv", "tandem"]
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

    /// There is no magic number: the head has to decode to its end, or the settings name the format.
    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        let file = probe.file;
        let decodes = || trackway_tandem::recognise(&file.head).is_some();
        (!file.is_folder && (probe.settings.has("tandem") || decodes())).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let Opening { file, settings, .. } = opening;
        let found = trackway_tandem::recognise(&file.head);
        let config = read_config(found.unwrap_or_default(), &settings.of_format(self)?)?;
        config.widths()?;
        let lift = Lift::open(Input::from_vec(Vec::new()), config)?;
        let meta = lift.meta().clone();
        let content = Content::new(file.input);
        Ok(Box::new(OpenedTandem { content, config, meta, told: settings.has("tandem") }))
    }

    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        let base = match meta.isa {
            // FPRs as wide as any RV32 core has them.
            Isa::Rv32 => Config { flen: 64, ..Config::rv32() },
            Isa::Rv64 | Isa::Other => Config::default(),
            _ => return Err(wrong_architecture("tandem", "RISC-V", meta)),
        };
        let section = writing.settings.of_format(self)?;
        let config = write_config(read_config(base, &section)?, &section)?;
        Ok(Box::new(Lower::new(output(&writing, &section)?, meta, config)?))
    }

    /// State initialisation: the stores of a debugger.
    fn load(&self, program: &[u8], writing: Writing<'_>) -> Result<u64> {
        let elf = Elf::read(&(std::sync::Arc::new(program.to_vec()) as SharedBytes), None)?;
        // The file's own width, unless the settings have another.
        let base = if elf.isa == Isa::Rv32 { Config::rv32() } else { Config::default() };
        let section = writing.settings.of_format(self)?;
        let WriteConfig { config, .. } = write_config(read_config(base, &section)?, &section)?;
        let mut items = 0;
        // First without an output: nothing is created for a file that cannot be loaded.
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

/// Profiles and styles in `profile`: one word, or two with a hyphen between them.
fn words(section: &Section) -> Result<(Option<Profile>, Option<Style>)> {
    let (mut profile, mut style) = (None, None);
    for word in section.profile.iter().flat_map(|words| words.split('-')) {
        match (word.parse(), word.parse()) {
            (Ok(found), _) => profile = Some(found),
            (_, Ok(found)) => style = Some(found),
            _ => {
                let words = "spec, bluespec, verbose, compact, or two of them as in bluespec-compact";
                return Err(Error::Config(format!("--profile: {word:?} is not one of {words}")));
            }
        }
    }
    Ok((profile, style))
}

/// The settings over what was recognised.
fn read_config(base: Config, section: &Section) -> Result<Config> {
    let mut config = base;
    if let Some(xlen) = section.xlen {
        config.xlen = xlen;
        if base.xlen != xlen {
            // The other widths follow, where they are not set.
            let usual = if xlen == 32 { Config::rv32() } else { Config::default() };
            (config.flen, config.mlen) = (usual.flen, usual.mlen);
        }
    }
    config.flen = section.flen.unwrap_or(config.flen);
    config.mlen = section.mlen.unwrap_or(config.mlen);
    config.profile = words(section)?.0.unwrap_or(config.profile);
    config.reset_pc = section.reset_pc.map(|number| number.0).or(config.reset_pc);
    config.lenient = section.lenient.unwrap_or(config.lenient);
    config.custom = section.custom.unwrap_or(config.custom);
    Ok(config)
}

fn write_config(config: Config, section: &Section) -> Result<WriteConfig> {
    let (profile, style) = words(section)?;
    let config = Config { profile: profile.unwrap_or(config.profile), ..config };
    Ok(WriteConfig { config, style: style.unwrap_or_default() })
}

fn output(writing: &Writing<'_>, section: &Section) -> Result<Box<dyn Write + Send>> {
    let compression = match section.container.as_deref() {
        None => writing.target.path.as_deref().and_then(Compression::of_name),
        Some("plain") => None,
        Some(word) => Some(word.parse().map_err(|()| {
            Error::Config(format!("--container: {word:?} is not one of plain, gzip, xz, zstd"))
        })?),
    };
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
    meta: Meta,
    /// The parameters come from the settings.
    told: bool,
}

impl Opened for OpenedTandem {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let Config { xlen, flen, mlen, profile, .. } = self.config;
        let how = if self.told { "configuration" } else { "trial decoding" };
        vec![(
            "parameters",
            format!("XLEN {xlen}, FLEN {flen}, MLEN {mlen}, profile {} (by {how})", profile.as_str()),
        )]
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        Ok(Box::new(Lift::open(self.content.input()?, self.config)?))
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        Ok(Box::new(Text::open(self.content.input()?, &self.config)?))
    }

    fn bytes(&mut self) -> Result<Input> {
        Ok(self.content.input()?)
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(trackway_tandem::check(self.content.input()?, &self.config, report)?)
    }

    /// Item by item as it is; in another style with the same items; in another profile through events.
    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let section = writing.settings.of_format(&Tandem)?;
        let write = write_config(self.config, &section)?;
        let out = output(&writing, &section)?;
        let mut items = 0;
        if write.config.profile != self.config.profile {
            let mut lift = Lift::open(self.content.input()?, self.config)?;
            let mut lower = Lower::new(out, lift.meta(), write)?;
            let mut batch = Batch::default();
            while lift.fill(&mut batch)? {
                lower.put(&batch)?;
            }
            lower.finish()?;
            return Ok(lift.census().total());
        }
        let mut reader = Reader::new(self.content.input()?, &self.config)?;
        if words(&section)?.1.is_none() {
            let mut writer = Writer::new(out, &self.config)?;
            while let Some((_, record)) = reader.read()? {
                writer.write(&record)?;
                items += 1;
            }
            writer.finish()?;
            return Ok(items);
        }
        let mut packer = Packer::new(out, &write.config, write.style)?;
        let mut group = Group::default();
        while reader.read_group(&mut group)? {
            packer.put(&group)?;
            items += group.wire().count() as u64;
        }
        packer.finish()?;
        Ok(items)
    }
}

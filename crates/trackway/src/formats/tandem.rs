//! Tandem in the list of formats.

use std::io::Write;

use serde::Deserialize;
use trackway_core::{Batch, Finding, FormatId, Input, Isa, Items, Meta, Output, Sink, Source};
use trackway_tandem::{
    Config, Group, Lift, Listing, Lower, Packer, Profile, Reader, Style, WriteConfig, Writer, elf_to_records,
};

use super::{Format, Opened};
use crate::error::{Error, Result};
use crate::input::File;
use crate::options::Options;
use crate::target::Target;

/// Tandem.
pub(crate) struct Tandem;

/// `[tandem]` in the configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Section {
    xlen: Option<u32>,
    flen: Option<u32>,
    mlen: Option<u32>,
    profile: Option<String>,
    reset_pc: Option<Number>,
    lenient: Option<bool>,
    custom: Option<bool>,
}

/// A number, or one in text where TOML's own do not reach.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Text(String),
}

impl Number {
    fn value(&self, key: &str) -> Result<u64> {
        match self {
            Number::Plain(value) => Ok(*value),
            Number::Text(text) => {
                let digits = text.replace('_', "");
                let value = match digits.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16).ok(),
                    None => digits.parse().ok(),
                };
                value.ok_or_else(|| Error::Config(format!("[tandem] {key}: {text:?} is not a number")))
            }
        }
    }
}

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

    /// There is no mark: the head has to decode to its end, or the configuration names the format.
    fn recognise(&self, file: &File, options: &Options) -> bool {
        !file.is_folder
            && (options.config.as_ref().is_some_and(|config| config.table.contains_key("tandem"))
                || trackway_tandem::recognise(&file.head).is_some())
    }

    fn open(&self, file: File, options: &Options) -> Result<Box<dyn Opened>> {
        let found = trackway_tandem::recognise(&file.head);
        let config = read_config(found.unwrap_or_default(), options)?;
        config.widths()?;
        let lift = Lift::open(Input::from_vec(Vec::new()), config)?;
        let told = options.config.as_ref().is_some_and(|config| config.table.contains_key("tandem"));
        Ok(Box::new(OpenedTandem { input: file.input, config, meta: lift.meta().clone(), told }))
    }

    fn create(&self, target: Target, meta: &Meta, options: &Options) -> Result<Box<dyn Sink>> {
        let base = match meta.isa {
            // FPRs as wide as any RV32 core has them.
            Isa::Rv32 => Config { flen: 64, ..Config::rv32() },
            Isa::Rv64 | Isa::Other => Config::default(),
            _ => return Err(Error::Unsupported("tandem holds RISC-V traces only".to_string())),
        };
        let config = write_config(read_config(base, options)?, options)?;
        Ok(Box::new(Lower::new(output(&target, options)?, meta, config)?))
    }

    /// State initialisation: the stores of a debugger.
    fn load(&self, program: &[u8], target: Target, options: &Options) -> Result<u64> {
        // The file's own class, unless the configuration says otherwise.
        let base = if program.get(4) == Some(&1) { Config::rv32() } else { Config::default() };
        let WriteConfig { config, .. } = write_config(read_config(base, options)?, options)?;
        let mut items = 0;
        // First without an output: nothing is created for a file that cannot be loaded.
        elf_to_records(program, &config, |_| {
            items += 1;
            Ok(())
        })?;
        let mut writer = Writer::new(output(&target, options)?, &config)?;
        elf_to_records(program, &config, |record| writer.write(record))?;
        writer.finish()?;
        Ok(items)
    }
}

/// What the configuration says over what was recognised.
fn read_config(base: Config, options: &Options) -> Result<Config> {
    let mut config = base;
    let Some(file) = &options.config else { return Ok(config) };
    let section: Section = file.section("tandem")?.unwrap_or_default();
    if let Some(xlen) = section.xlen {
        config.xlen = xlen;
        if base.xlen != xlen {
            // The other widths follow, where they are not told.
            let usual = if xlen == 32 { Config::rv32() } else { Config::default() };
            (config.flen, config.mlen) = (usual.flen, usual.mlen);
        }
    }
    config.flen = section.flen.unwrap_or(config.flen);
    config.mlen = section.mlen.unwrap_or(config.mlen);
    if let Some(word) = &section.profile {
        config.profile = Profile::from_word(word).ok_or_else(|| {
            Error::Config(format!("[tandem] profile: {word:?} is not one of spec, bluespec"))
        })?;
    }
    if let Some(number) = &section.reset_pc {
        config.reset_pc = Some(number.value("reset_pc")?);
    }
    config.lenient = section.lenient.unwrap_or(config.lenient);
    config.custom = section.custom.unwrap_or(config.custom);
    Ok(config)
}

/// What `--profile` says: a profile, a style, or both with a hyphen between them.
fn write_config(mut config: Config, options: &Options) -> Result<WriteConfig> {
    let mut style = Style::default();
    for word in options.write.profile.iter().flat_map(|words| words.split('-')) {
        match (Profile::from_word(word), Style::from_word(word)) {
            (Some(profile), _) => config.profile = profile,
            (_, Some(found)) => style = found,
            _ => {
                let words = "spec, bluespec, verbose, compact, or two of them as in bluespec-compact";
                return Err(Error::Config(format!("--profile: {word:?} is not one of {words}")));
            }
        }
    }
    Ok(WriteConfig { config, style })
}

fn output(target: &Target, options: &Options) -> Result<Box<dyn Write + Send>> {
    let name = target.path.as_ref().and_then(|path| path.extension()).map(|end| end.to_string_lossy());
    let word = match (options.write.container.as_deref(), name.as_deref()) {
        (Some(word), _) => word,
        (None, Some("gz")) => "gzip",
        (None, Some("xz")) => "xz",
        (None, Some("zst")) => "zstd",
        (None, _) => "plain",
    };
    let output = match word {
        "plain" => target.create()?,
        _ => crate::compress::compress(word, target.create()?, options.write.level)?,
    };
    Ok(match output {
        Output::Stream(stream) => stream,
        Output::File(file) => Box::new(file),
    })
}

struct OpenedTandem {
    input: Input,
    config: Config,
    meta: Meta,
    /// The configuration told the parameters.
    told: bool,
}

impl Opened for OpenedTandem {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn container(&self) -> Vec<(&'static str, String)> {
        let Config { xlen, flen, mlen, profile, .. } = self.config;
        let how = if self.told { "configuration" } else { "trial decoding" };
        vec![(
            "parameters",
            format!("XLEN {xlen}, FLEN {flen}, MLEN {mlen}, profile {} (by {how})", profile.word()),
        )]
    }

    fn source(self: Box<Self>) -> Result<Box<dyn Source>> {
        Ok(Box::new(Lift::open(self.input, self.config)?))
    }

    fn items(self: Box<Self>) -> Result<Box<dyn Items>> {
        Ok(Box::new(Listing::open(self.input, &self.config)?))
    }

    fn bytes(self: Box<Self>) -> Result<Input> {
        Ok(self.input)
    }

    fn check(self: Box<Self>, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(trackway_tandem::check(self.input, &self.config, report)?)
    }

    /// Item by item as it is; in another style with the same items; in another profile through events.
    fn rewrite(self: Box<Self>, target: Target, options: &Options) -> Result<u64> {
        let write = write_config(self.config, options)?;
        let out = output(&target, options)?;
        let mut items = 0;
        if write.config.profile != self.config.profile {
            let mut lift = Lift::open(self.input, self.config)?;
            let mut lower = Lower::new(out, lift.meta(), write)?;
            let mut batch = Batch::default();
            while lift.fill(&mut batch)? {
                lower.put(&batch)?;
            }
            lower.finish()?;
            return Ok(lift.census().iter().map(|(_, n)| n).sum());
        }
        let mut reader = Reader::new(self.input, &self.config)?;
        if options.write.profile.is_none() {
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

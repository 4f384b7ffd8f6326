//! ASTF in the list of formats.

use std::io::{BufWriter, Write};

use serde::Deserialize;
use trackway_astf::{Config, Level, Lower, MAGIC, Storage, Trace, WriteConfig, recompress};
use trackway_core::{Finding, FormatId, Input, Items, Meta, Output, Sink, Source};

use super::{Format, Opened};
use crate::error::{Error, Result};
use crate::input::File;
use crate::options::Options;
use crate::target::Target;

/// ASTF.
pub(crate) struct Astf;

/// `[astf]` in the configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Section {
    /// Bits of a virtual address: 64 − TCR_ELx.TnSZ.
    va_bits: Option<u8>,
}

impl Format for Astf {
    fn id(&self) -> FormatId {
        FormatId::Astf
    }

    fn title(&self) -> &'static str {
        "ASTF, Arm's Architectural Structured Trace Format"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["astf"]
    }

    fn recognise(&self, file: &File, _: &Options) -> bool {
        file.head.starts_with(MAGIC)
    }

    fn open(&self, file: File, options: &Options) -> Result<Box<dyn Opened>> {
        let config = Config { jobs: options.jobs, va_bits: va_bits(options)? };
        Ok(Box::new(OpenedAstf { trace: Trace::open(file.input, config)? }))
    }

    fn create(&self, target: Target, meta: &Meta, options: &Options) -> Result<Box<dyn Sink>> {
        super::for_arm("ASTF", meta)?;
        let config = write_config(options, Storage::Xz)?;
        Ok(Box::new(Lower::new(output(&target)?, meta.clone(), config)?))
    }
}

fn va_bits(options: &Options) -> Result<u8> {
    let section: Option<Section> =
        options.config.as_ref().map(|file| file.section("astf")).transpose()?.flatten();
    let bits = section.unwrap_or_default().va_bits.unwrap_or(Config::default().va_bits);
    match bits {
        16..=56 => Ok(bits),
        _ => Err(Error::Config(format!("[astf] va_bits: {bits} is not in 16 to 56"))),
    }
}

/// How to write: `--container` names the storage, else it is `storage`.
fn write_config(options: &Options, storage: Storage) -> Result<WriteConfig> {
    let storage = match options.write.container.as_deref() {
        None => storage,
        Some(word) => {
            Storage::from_word(word).filter(|storage| *storage != Storage::Gzip).ok_or_else(|| {
                Error::Config(format!("--container: {word:?} is not one of raw, xz, lzma, zlib"))
            })?
        }
    };
    let level = match options.write.astf_level.as_deref() {
        None => None,
        Some(word) => Some(Level::from_name(word).ok_or_else(|| {
            Error::Config(format!("--astf-level: {word:?} is not one of Basic, BasicPlus"))
        })?),
    };
    let defaults = WriteConfig::default();
    let preset = match options.write.level {
        None => None,
        Some(level @ 0..=9) => Some(level as u32),
        Some(level) => return Err(Error::Config(format!("--level: {level} is not in 0 to 9"))),
    };
    Ok(WriteConfig {
        storage,
        preset: preset.unwrap_or(defaults.preset),
        block: options.write.chunk.unwrap_or(defaults.block),
        jobs: options.jobs,
        level,
        va_bits: va_bits(options)?,
        allow_nonconforming: options.write.allow_nonconforming,
    })
}

fn output(target: &Target) -> Result<Box<dyn Write + Send>> {
    Ok(match target.create()? {
        Output::Stream(stream) => stream,
        Output::File(file) => Box::new(BufWriter::with_capacity(1 << 18, file)),
    })
}

struct OpenedAstf {
    trace: Trace,
}

impl Opened for OpenedAstf {
    fn meta(&self) -> &Meta {
        &self.trace.meta
    }

    fn container(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("container", self.trace.storage.word().to_string())];
        if self.trace.blocks > 1 {
            facts.push(("blocks", self.trace.blocks.to_string()));
        }
        facts
    }

    fn source(self: Box<Self>) -> Result<Box<dyn Source>> {
        Ok(Box::new(self.trace.source()))
    }

    fn bytes(self: Box<Self>) -> Result<Input> {
        Ok(self.trace.records().into_input())
    }

    fn items(self: Box<Self>) -> Result<Box<dyn Items>> {
        Ok(Box::new(self.trace.items()))
    }

    fn check(self: Box<Self>, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        let mut check = self.trace.check();
        let mut failed = None;
        // It goes on behind damage; the first is told.
        loop {
            match check.next_finding() {
                Ok(Some(finding)) => report(finding),
                Ok(None) => break,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(check.records()),
        }
    }

    fn rewrite(self: Box<Self>, target: Target, options: &Options) -> Result<u64> {
        let config = write_config(options, self.trace.storage)?;
        let config = config.stored_like(config.storage);
        Ok(recompress(&mut self.trace.records(), output(&target)?, &config)?)
    }
}

//! ASTF in the list of formats.

use std::io::{BufWriter, Write};

use trackway_astf::{Config, Lower, MAGIC, Storage, Trace, WriteConfig, recompress};
use trackway_core::{Finding, FormatId, Input, Isa, Items, Meta, Output, Rule, Sink, Source, Trap, TrapKind};
use trackway_format::{
    Error, Flag, Format, Key, Opened, Opening, Probe, Recognised, Result, When, Writing, wrong_architecture,
};
use trackway_io::Target;

/// ASTF.
pub(crate) struct Astf;

trackway_format::settings! {
    /// `[astf]` in the settings.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Section {
        /// Bits of a virtual address, 64 - TCR_ELx.TnSZ: 16 to 56.
        va_bits: Option<u8> = "48",
        /// Written container: raw, xz, lzma or zlib.
        container: Option<String> = "\"xz\"",
        /// Written compression level: 0 to 9.
        level: Option<i32> = "1",
        /// Bytes per written .xz block.
        chunk: Option<u64> = "4194304",
        /// Level written from events: Basic or BasicPlus.
        conformance: Option<String> = "\"BasicPlus\"",
        /// Write even if the result violates the specification.
        allow_nonconforming: bool = "false",
    }
}

const FLAGS: &[Flag] = &[
    Flag {
        name: "container",
        key: "container",
        value: "NAME",
        when: When::Writing,
        help: "Container to write (ASTF: raw, xz, lzma, zlib)",
    },
    Flag { name: "level", key: "level", value: "N", when: When::Writing, help: "Compression level" },
    Flag { name: "chunk", key: "chunk", value: "N", when: When::Writing, help: "Bytes per .xz block (ASTF)" },
    Flag {
        name: "astf-level",
        key: "conformance",
        value: "LEVEL",
        when: When::Lowering,
        help: "ASTF level to write from events: Basic or BasicPlus",
    },
    Flag {
        name: "allow-nonconforming",
        key: "allow_nonconforming",
        value: "",
        when: When::Writing,
        help: "Write even if the result violates the specification (recorded in its metadata)",
    },
];

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

    fn rules(&self) -> &'static [&'static Rule] {
        &[]
    }

    fn keys(&self) -> &'static [Key] {
        Section::KEYS
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        probe.file.head.starts_with(MAGIC).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let section: Section = opening.settings.of_format(self)?;
        let config = Config { jobs: opening.threads, va_bits: va_bits(&section)? };
        let trace = Trace::open(opening.file.input, config)?;
        let (meta, storage) = (trace.meta.clone(), trace.storage);
        Ok(Box::new(OpenedAstf { trace: Some(trace), meta, storage }))
    }

    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        if !matches!(meta.isa, Isa::A64 | Isa::A32 | Isa::T32) {
            return Err(wrong_architecture("ASTF", "Arm", meta));
        }
        let config = write_config(&writing, Storage::Xz)?;
        Ok(Box::new(Lower::new(output(&writing.target)?, meta.clone(), config)?))
    }

    fn trap_name(&self, trap: &Trap) -> Option<&'static str> {
        let kind = trap.cause.filter(|_| trap.kind == TrapKind::Interrupt)?;
        Some(trackway_astf::TrapType(kind as u8).name())
    }
}

fn va_bits(section: &Section) -> Result<u8> {
    let bits = section.va_bits.unwrap_or(Config::default().va_bits);
    match bits {
        16..=56 => Ok(bits),
        _ => Err(Error::Config(format!("[astf] va_bits: {bits} is not in 16 to 56"))),
    }
}

/// How to write: the settings name the storage, else it is `storage`.
fn write_config(writing: &Writing<'_>, storage: Storage) -> Result<WriteConfig> {
    let section: Section = writing.settings.of_format(&Astf)?;
    let storage = match section.container.as_deref() {
        None => storage,
        Some(word) => {
            word.parse().ok().filter(|storage| *storage != Storage::Gzip).ok_or_else(|| {
                Error::Config(format!("--container: {word:?} is not one of raw, xz, lzma, zlib"))
            })?
        }
    };
    let level = match section.conformance.as_deref() {
        None => None,
        Some(word) => Some(word.parse().map_err(|_| {
            Error::Config(format!("--astf-level: {word:?} is not one of Basic, BasicPlus"))
        })?),
    };
    let defaults = WriteConfig::default();
    let preset = match section.level {
        None => None,
        Some(level @ 0..=9) => Some(level as u32),
        Some(level) => return Err(Error::Config(format!("--level: {level} is not in 0 to 9"))),
    };
    Ok(WriteConfig {
        storage,
        preset: preset.unwrap_or(defaults.preset),
        block: section.chunk.unwrap_or(defaults.block),
        jobs: writing.threads,
        level,
        va_bits: va_bits(&section)?,
        allow_nonconforming: section.allow_nonconforming,
    })
}

fn output(target: &Target) -> Result<Box<dyn Write + Send>> {
    Ok(match target.create()? {
        Output::Stream(stream) => stream,
        Output::File(file) => Box::new(BufWriter::with_capacity(1 << 18, file)),
    })
}

struct OpenedAstf {
    trace: Option<Trace>,
    meta: Meta,
    storage: Storage,
}

impl OpenedAstf {
    fn trace(&mut self) -> Result<Trace> {
        self.trace.take().ok_or(Error::ReadOnce)
    }
}

impl Opened for OpenedAstf {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("container", self.storage.as_str().to_string())];
        if let Some(trace) = self.trace.as_ref().filter(|trace| trace.blocks > 1) {
            facts.push(("blocks", trace.blocks.to_string()));
        }
        facts
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        Ok(Box::new(self.trace()?.source()))
    }

    fn bytes(&mut self) -> Result<Input> {
        Ok(self.trace()?.records().into_input())
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        Ok(Box::new(self.trace()?.items()))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        let mut check = self.trace()?.check();
        let mut failed = None;
        // It continues after damage and returns the first error.
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

    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let config = write_config(&writing, self.storage)?;
        let config = config.stored_like(config.storage);
        Ok(recompress(&mut self.trace()?.records(), output(&writing.target)?, &config)?)
    }
}

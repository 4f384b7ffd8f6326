//! ASTF as a format of the toolkit: recognised, opened, created.

use std::io::{BufWriter, Cursor, Read, Write};

use trackway_core::{
    Cancel, Finding, FormatId, Input, Isa, Items, Meta, Output, Rule, Sink, Source, Trap, TrapKind,
};
use trackway_format::{
    Content, Cut, Flag, Format, Key, Opened, Opening, Probe, Recognised, Result, Streams, Writing,
    wrong_architecture,
};
use trackway_io::Target;

use crate::config::{Config, FLAGS, ID, ReadConfig, Storage};
use crate::cut;
use crate::lower::Lower;
use crate::record::TrapType;
use crate::rules::RULES;
use crate::trace::Trace;
use crate::write::copy;
use crate::{FORMAT, MAGIC};

/// The format; see [`FORMAT`].
#[derive(Debug)]
pub struct Astf;

impl Format for Astf {
    fn id(&self) -> FormatId {
        ID
    }

    fn title(&self) -> &'static str {
        "ASTF, Arm's Architectural Structured Trace Format"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["astf"]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn keys(&self) -> &'static [Key] {
        Config::KEYS
    }

    fn flags(&self) -> &'static [Flag] {
        FLAGS
    }

    fn holds_comments(&self) -> bool {
        true
    }

    fn holds(&self, isa: Isa) -> bool {
        isa == Isa::A64
    }

    fn container_to_enter(&self) -> Option<&'static str> {
        Some("xz")
    }

    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        probe.file.head.starts_with(MAGIC).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let config: Config = opening.settings.of_format(self)?;
        let options = ReadConfig { part: opening.part, ..config.reading(opening.threads)? };
        let mut content = Content::new(opening.file.input);
        let trace = Trace::open(content.input()?, options)?;
        let (meta, storage, blocks) = (trace.meta.clone(), trace.storage, trace.blocks);
        let cancel = opening.cancel;
        Ok(Box::new(OpenedAstf { content, trace: Some(trace), options, cancel, meta, storage, blocks }))
    }

    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        if !matches!(meta.isa, Isa::A64 | Isa::A32 | Isa::T32) {
            return Err(wrong_architecture("ASTF", "Arm", meta));
        }
        let config: Config = writing.settings.of_format(self)?;
        let options = config.writing(Storage::Xz, writing.threads)?;
        Ok(Box::new(Lower::new(create(&writing.target)?, meta.clone(), options)?))
    }

    fn trap_name(&self, trap: &Trap) -> Option<&'static str> {
        let kind = trap.cause.filter(|_| trap.kind == TrapKind::Interrupt)?;
        Some(TrapType(kind as u8).name())
    }
}

fn create(target: &Target) -> Result<Box<dyn Write + Send>> {
    Ok(match target.create()? {
        Output::Stream(stream) => stream,
        Output::File(file) => Box::new(BufWriter::with_capacity(1 << 18, file)),
    })
}

struct OpenedAstf {
    content: Content,
    /// As opened first; taken by the first question.
    trace: Option<Trace>,
    options: ReadConfig,
    cancel: Cancel,
    meta: Meta,
    storage: Storage,
    blocks: usize,
}

impl OpenedAstf {
    fn trace(&mut self) -> Result<Trace> {
        match self.trace.take() {
            Some(trace) => Ok(trace),
            None => Ok(Trace::open(self.content.input()?, self.options)?),
        }
    }
}

impl Opened for OpenedAstf {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("container", self.storage.as_str().to_string())];
        if self.blocks > 1 {
            facts.push(("blocks", self.blocks.to_string()));
        }
        facts
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        Ok(Box::new(self.trace()?.events().with_cancel(self.cancel.clone())))
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        Ok(Box::new(self.trace()?.items()))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        let (records, damage) = self.trace()?.check(report);
        damage.map_or(Ok(records), |error| Err(error.into()))
    }

    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let config: Config = writing.settings.of_format(&FORMAT)?;
        let storage = if self.storage == Storage::Gzip { Storage::Zlib } else { self.storage };
        let options = config.writing(storage, writing.threads)?;
        Ok(copy(&mut self.trace()?.records(), create(&writing.target)?, &options)?)
    }

    fn bytes(&mut self) -> Result<Input> {
        Ok(self.trace()?.records().into_input())
    }

    /// The Header says that the records are not compressed, as they are here.
    fn streams(&mut self) -> Result<Streams> {
        let mut records = self.trace()?.records();
        let first = records.chunk()?.and_then(|(_, chunk)| chunk.first().copied());
        let Some(header) = first else { return Ok(vec![records.into_input()]) };
        records.consume(1);
        let header = Cursor::new(cut::plain_header(&header));
        Ok(vec![Input::Stream(Box::new(header.chain(records.into_input().into_read())))])
    }

    fn cuts(&mut self, wanted: &[Vec<u64>]) -> Result<Vec<Vec<Cut>>> {
        let wanted = wanted.first().map_or(&[][..], |wanted| wanted);
        Ok(vec![cut::cuts(self.trace()?.records(), wanted)?])
    }

    fn comment(&mut self, text: &str) -> Result<Option<(Vec<u8>, u64)>> {
        Ok(Some((cut::comment(text), crate::layout::RECORD as u64)))
    }
}

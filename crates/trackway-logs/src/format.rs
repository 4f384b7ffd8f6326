//! A log as a format: recognised, opened, copied.

use std::io::Write;
use std::marker::PhantomData;
use std::sync::Arc;

use trackway_core::{
    Cancel, Feed, Finding, FormatId, Input, Items, Meta, Output, Rule, Sink, Source, Stream,
};
use trackway_format::{
    Content, Cut, Error, Format, Key, Omits, Opened, Opening, Probe, Recognised, Result, Writing,
};
use trackway_image::Image;
use trackway_io::{Compression, compress};

use crate::decode::Decoder;
use crate::items::{Text, check};
use crate::lines::Place;
use crate::log::{Log, Start};
use crate::walk::each;

/// A log as a format of the front door.
pub(crate) struct TextLog<L>(PhantomData<fn() -> L>);

impl<L> TextLog<L> {
    pub(crate) const NEW: Self = TextLog(PhantomData);
}

impl<L: Log> Format for TextLog<L> {
    fn id(&self) -> FormatId {
        L::ID
    }

    fn title(&self) -> &'static str {
        L::TITLE
    }

    fn extensions(&self) -> &'static [&'static str] {
        L::EXTENSIONS
    }

    fn rules(&self) -> &'static [&'static Rule] {
        L::RULES
    }

    fn keys(&self) -> &'static [Key] {
        L::KEYS
    }

    fn surveys(&self) -> bool {
        L::SURVEYS
    }

    /// By content, or by a section in the settings.
    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        if probe.file.is_folder {
            return Recognised::No;
        }
        if probe.settings.has(L::ID.as_str()) { Recognised::Yes } else { L::recognise(&probe.file.head) }
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let Opening { file, settings, program, threads, part, source, cancel, .. } = opening;
        let whole = match &file.input {
            Input::Whole(bytes) => Some(bytes),
            Input::Stream(_) => None,
        };
        let start = Start {
            format: self,
            settings: &settings,
            head: &file.head,
            whole,
            surveyed: file.surveyed.as_deref(),
            program: &program,
            source: source.as_deref(),
        };
        let log = Arc::new(L::open(&start)?);
        let meta = log.meta();
        let content = Content::new(file.input);
        Ok(Box::new(OpenedLog { content, log, meta, threads, part, cancel }))
    }

    fn omits(&self) -> Omits {
        L::OMITS
    }

    fn is_written(&self) -> bool {
        L::WRITTEN
    }

    fn create(&self, writing: Writing<'_>, meta: &Meta) -> Result<Box<dyn Sink>> {
        L::create(writing, meta)
    }
}

struct OpenedLog<L> {
    content: Content,
    log: Arc<L>,
    meta: Meta,
    threads: usize,
    part: Option<usize>,
    cancel: Cancel,
}

impl<L: Log> Opened for OpenedLog<L> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        self.log.facts()
    }

    fn programs(&self) -> Vec<Arc<Image>> {
        self.log.programs()
    }

    fn survey(&self) -> Option<Vec<u8>> {
        self.log.survey()
    }

    /// A decoder for each core: each passes over the lines of the others.
    fn events(&mut self) -> Result<Box<dyn Source>> {
        let sources = 0..self.meta.sources.len().max(1);
        let decoder =
            |source| Ok(Decoder::new(Arc::clone(&self.log), source, self.content.input()?, self.part));
        let decoders = sources.map(decoder).collect::<Result<Vec<Decoder<L>>>>()?;
        let stream = Stream::new(self.meta.clone(), decoders, self.threads);
        Ok(Box::new(stream.with_cancel(self.cancel.clone())))
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        Ok(Box::new(Text::new(Arc::clone(&self.log), self.content.input()?)))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        Ok(check(&*self.log, self.content.input()?, report)?)
    }

    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let mut feed = Feed::new(self.content.input()?);
        let mut output = output(&writing)?;
        let mut place = Place::default();
        loop {
            let ended = feed.bytes().is_empty() && !feed.more()?;
            if ended {
                break;
            }
            // A line that is cut by the window counts once: with its end.
            let mut within = Place::default();
            each::<L>(feed.bytes(), feed.is_whole(), &mut within, |_| Ok(true));
            place.number += within.number;
            output.write_all(feed.bytes()).map_err(trackway_core::Error::from)?;
            let length = feed.bytes().len();
            feed.consume(length);
        }
        output.flush().map_err(trackway_core::Error::from)?;
        Ok(place.number)
    }

    fn bytes(&mut self) -> Result<Input> {
        self.content.input()
    }

    fn cuts(&mut self, wanted: &[Vec<u64>]) -> Result<Vec<Vec<Cut>>> {
        let why = match self.meta.sources.len() {
            _ if !L::CUTS => "the format has no places where it can be cut",
            2.. => "the lines of its cores are mixed",
            _ => {
                let decoder = Decoder::new(Arc::clone(&self.log), 0, self.content.input()?, None);
                return Ok(vec![decoder.cuts(wanted.first().map_or(&[], Vec::as_slice))]);
            }
        };
        Err(Error::Unsupported(why.into()))
    }
}

/// The output, compressed where its name asks for it.
pub(crate) fn output(writing: &Writing<'_>) -> Result<Box<dyn Write + Send>> {
    let compression = writing.target.path.as_deref().and_then(Compression::of_name);
    let output = writing.target.create()?;
    let output = match compression {
        None => output,
        Some(compression) => compress(compression, output, None)?,
    };
    Ok(match output {
        Output::Stream(stream) => stream,
        Output::File(file) => Box::new(file),
    })
}

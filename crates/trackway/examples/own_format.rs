//! A format of your own in one file, with all commands of `trackway`:
//!
//! ```sh
//! printf 'TINY\4\4\4\0\4' > walk.tiny
//! cargo run -p trackway --example own_format -- info walk.tiny
//! cargo run -p trackway --example own_format -- convert walk.tiny walk.stf
//! ```
//!
//! A Tiny trace is four letters and one byte per instruction, the distance from the last one; 0 is not allowed.

use trackway::events::{self, *};
use trackway::format::{Result, *};

/// The format, for the list.
pub(crate) static FORMAT: &dyn Format = &Tiny;
const ID: FormatId = FormatId::new("tiny");
const MAGIC: &[u8] = b"TINY";

fn main() -> std::process::ExitCode {
    let formats: Vec<&'static dyn Format> =
        std::iter::once(FORMAT).chain(trackway::FORMATS.iter().copied()).collect();
    trackway_cli::run(&formats)
}

settings! {
    /// `[tiny]` in a settings file.
    #[derive(Clone, Copy, Debug, Default)]
    struct Config {
        /// Address before the first step.
        start: Number = "0x1000",
    }
}

rules! { "tiny";
    /// A step moves forward.
    DISTANCE = "distance": Error, "Tiny 1";
}

struct Tiny;

impl Format for Tiny {
    fn id(&self) -> FormatId {
        ID
    }

    fn title(&self) -> &'static str {
        "Tiny, one byte per instruction"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["tiny"]
    }

    fn rules(&self) -> &'static [&'static Rule] {
        RULES
    }

    fn keys(&self) -> &'static [Key] {
        Config::KEYS
    }

    fn recognise(&self, probe: &Probe<'_>) -> Recognised {
        probe.file.head.starts_with(MAGIC).into()
    }

    fn open(&self, opening: Opening) -> Result<Box<dyn Opened>> {
        let config: Config = opening.settings.of_format(self)?;
        let meta = Meta { start_pc: Some(config.start.0), ..Meta::new(ID, Isa::Rv64) };
        Ok(Box::new(OpenedTiny { content: Content::new(opening.file.input), meta, cancel: opening.cancel }))
    }

    fn create(&self, writing: Writing<'_>, _: &Meta) -> Result<Box<dyn Sink>> {
        let mut writer = Writer {
            output: writing.target.create()?,
            pc: None,
            account: Account::new(&[Fact::Instructions], &[]),
        };
        writer.write(MAGIC)?;
        Ok(Box::new(writer))
    }
}

struct OpenedTiny {
    content: Content,
    meta: Meta,
    cancel: Cancel,
}

impl OpenedTiny {
    fn decoder(&mut self) -> Result<Steps> {
        let mut feed = Feed::new(self.content.input()?);
        while feed.bytes().len() < MAGIC.len() && feed.more()? {}
        feed.consume(MAGIC.len());
        Ok(Steps { feed, pc: self.meta.start_pc.unwrap_or(0), number: 0 })
    }
}

impl Opened for OpenedTiny {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn events(&mut self) -> Result<Box<dyn Source>> {
        let steps = self.decoder()?;
        Ok(Box::new(Stream::new(self.meta.clone(), vec![steps], 1).with_cancel(self.cancel.clone())))
    }

    fn items(&mut self) -> Result<Box<dyn Items>> {
        Ok(Box::new(self.decoder()?))
    }

    fn check(&mut self, report: &mut dyn FnMut(Finding)) -> Result<u64> {
        let mut steps = self.decoder()?;
        let mut count = 0;
        while let Some((offset, distance)) = steps.next_step()? {
            if distance == 0 {
                report(Finding { rule: &DISTANCE, offset, item: count, message: "the distance is 0".into() });
            }
            count += 1;
        }
        Ok(count)
    }

    fn copy_to(&mut self, writing: Writing<'_>) -> Result<u64> {
        let bytes = self.content.input()?.read_whole().map_err(events::Error::from)?;
        let bytes = (*bytes).as_ref();
        writing.target.create()?.as_write().write_all(bytes).map_err(events::Error::from)?;
        Ok((bytes.len() - MAGIC.len()) as u64)
    }

    fn bytes(&mut self) -> Result<Input> {
        self.content.input()
    }
}

/// The one source of a Tiny trace.
struct Steps {
    feed: Feed,
    pc: u64,
    number: u64,
}

impl Steps {
    fn next_step(&mut self) -> events::Result<Option<(u64, u8)>> {
        while self.feed.bytes().is_empty() {
            if !self.feed.more()? {
                return Ok(None);
            }
        }
        let step = (self.feed.offset(), self.feed.bytes()[0]);
        self.feed.consume(1);
        Ok(Some(step))
    }
}

impl Decode for Steps {
    fn fill(&mut self, batch: &mut Batch) -> events::Result<bool> {
        while !batch.is_full() {
            let Some((offset, distance)) = self.next_step()? else { return Ok(false) };
            if distance == 0 {
                return Err(ErrorKind::Illegal { found: 0 }.at(offset, "step", "distance", "Tiny 1"));
            }
            self.pc = self.pc.wrapping_add(distance.into());
            self.number += 1;
            batch.push(offset, EventKind::Step(Step::new(self.pc, 0x13, 4)));
        }
        Ok(true)
    }

    fn instructions(&self) -> u64 {
        self.number
    }

    /// Every byte is a step: continue with the next one.
    fn enter(&mut self) -> events::Result<Entry> {
        let gap = Gap { bytes: Some(1), ..Gap::new(GapReason::BadInput) };
        Ok(Entry::After { offset: self.feed.offset() - 1, gap })
    }

    /// A file in memory can be entered after any step.
    fn save(&self) -> Option<Vec<u8>> {
        self.feed.is_whole().then(|| pack(&(self.feed.offset(), self.pc)))?
    }

    fn restore(&mut self, state: &[u8], instructions: u64) -> events::Result<bool> {
        let Some((offset, pc)) = unpack::<(u64, u64)>(state) else { return Ok(false) };
        let ahead = offset.checked_sub(self.feed.offset()).filter(|n| *n <= self.feed.bytes().len() as u64);
        let Some(ahead) = ahead.filter(|_| instructions <= u64::MAX / 2) else { return Ok(false) };
        self.feed.consume(ahead as usize);
        (self.pc, self.number) = (pc, instructions);
        Ok(true)
    }

    fn position(&self) -> u64 {
        self.feed.offset()
    }

    fn size(&self) -> Option<u64> {
        None
    }

    fn census(&self) -> Census {
        Census::new(&["step"], [self.number])
    }
}

impl Items for Steps {
    fn next(&mut self, item: &mut Item) -> events::Result<bool> {
        let Some((offset, distance)) = self.next_step()? else { return Ok(false) };
        *item =
            Item { offset, len: 1, name: "step", text: format!("distance={distance}"), note: String::new() };
        Ok(true)
    }
}

/// Writes steps; everything else is dropped, and the ledger says so.
struct Writer {
    output: Output,
    pc: Option<u64>,
    account: Account,
}

impl Writer {
    fn write(&mut self, bytes: &[u8]) -> events::Result<()> {
        Ok(self.output.as_write().write_all(bytes)?)
    }
}

impl Sink for Writer {
    fn put(&mut self, batch: &Batch) -> events::Result<()> {
        for event in &batch.events {
            let pc = match event.kind {
                EventKind::Step(step) => step.pc,
                _ => None,
            };
            let distance = pc.and_then(|pc| pc.checked_sub(self.pc.unwrap_or(pc.saturating_sub(4))));
            self.pc = pc.or(self.pc);
            match distance.and_then(|distance| u8::try_from(distance).ok()).filter(|distance| *distance > 0) {
                Some(distance) => self.write(&[distance])?,
                None => self.account.lose_event(batch, &event.kind),
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> events::Result<Account> {
        self.output.as_write().flush()?;
        Ok(self.account.clone())
    }
}

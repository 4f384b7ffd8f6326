//! Events to packets: one trace unit per source executes the events.

mod code;
mod lane;
mod row;
mod stretch;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use trackway_core::{Account, Batch, Contexts, ErrorKind, EventKind, FormatId, Isa, Meta, Result, Sink};
use trackway_image::Image;

use crate::config::ConfigError;
use crate::encode::{EncodeConfig, Unit};
use crate::transport::output::UnitSink;

use lane::Lane;

/// Encodes events of an Arm execution.
///
/// ```
/// use trackway_core::*;
/// use trackway_ete::{Lower, encode::EncodeConfig};
///
/// let meta = Meta::new(FormatId::new("astf"), Isa::A64);
/// let mut lower = Lower::new(&meta, &EncodeConfig::default(), vec![], Vec::new())?;
/// let mut batch = Batch::default();
/// batch.push(0, EventKind::Step(Step::new(0x1000, 0xd503_201f, 4))); // nop
/// batch.push(0, EventKind::Step(Step::new(0x1004, 0x17ff_ffff, 4))); // b .-4
/// lower.put(&batch)?;
/// lower.finish()?;
/// let bytes = &lower.into_inner()[0];
/// assert_eq!(bytes.last(), Some(&0xf7)); // one branch, taken
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lower<D> {
    out: D,
    lanes: Vec<Lane>,
    config: EncodeConfig,
    images: Vec<Arc<Image>>,
    format: FormatId,
    isa: Isa,
    /// The events have timestamps of their own.
    timestamps: bool,
    /// The context of each source.
    contexts: Contexts,
}

impl<D: UnitSink> Lower<D> {
    /// Trace units that write to `out`. `images` has the program of each source, or one for all.
    pub fn new(
        meta: &Meta,
        config: &EncodeConfig,
        images: Vec<Arc<Image>>,
        out: D,
    ) -> std::result::Result<Self, ConfigError> {
        if !matches!(meta.isa, Isa::A64 | Isa::A32 | Isa::T32) {
            let message = format!("ETE holds only Arm traces; this trace is {}", meta.isa);
            return Err(ConfigError { message });
        }
        let mut lower = Lower {
            out,
            lanes: Vec::new(),
            config: config.clone(),
            images,
            format: meta.format,
            isa: meta.isa,
            timestamps: meta.timestamps,
            contexts: Contexts::new(meta),
        };
        for n in 0..meta.sources.len().max(1) {
            lower.lane(n)?;
        }
        Ok(lower)
    }

    /// The sink of the bytes.
    pub fn into_inner(self) -> D {
        self.out
    }

    /// The unit of source `n`.
    pub fn unit(&self, n: usize) -> Option<&Unit> {
        self.lanes.get(n).map(|lane| &lane.unit)
    }

    /// Creates the lanes up to `n`.
    fn lane(&mut self, n: usize) -> std::result::Result<(), ConfigError> {
        while self.lanes.len() <= n {
            let n = self.lanes.len();
            let image = self.images.get(n).or(self.images.last()).cloned().unwrap_or_default();
            let settings = self.config.unit(n);
            let mut model = self.config.model;
            model.seed = model.seed.wrapping_add(n as u64);
            let program = (!image.is_empty()).then(|| Arc::clone(&image));
            let mut unit = Unit::new(settings.registers, model, program)?;
            unit.enable()?;
            unit.report_time(self.timestamps, false);
            unit.set_buffer(self.config.buffer);
            let mut lane = Lane::new(unit, settings.name, settings.core, image, self.isa);
            lane.unit.set_context(lane.state());
            self.lanes.push(lane);
        }
        Ok(())
    }
}

impl<D: UnitSink> Sink for Lower<D> {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        let n = usize::from(batch.source);
        if self.lane(n).is_err() {
            return Err(ErrorKind::Unsupported { found: n as u64 }.at(
                0,
                "trace unit",
                "registers",
                "K10.5.7",
            ));
        }
        let lane = &mut self.lanes[n];
        let mut events = &batch.events[..];
        while let Some((event, rest)) = events.split_first() {
            let usual = lane.row(events, batch);
            if usual > 0 {
                events = &events[usual..];
                continue;
            }
            lane.event(&event.kind, batch, self.format);
            if matches!(event.kind, EventKind::Context(_)) {
                lane.given.add_event(batch, &event.kind, &mut self.contexts);
            }
            events = rest;
        }
        let bytes = lane.unit.take();
        self.out.write(n, &bytes)
    }

    fn finish(&mut self) -> Result<Account> {
        let mut written = Vec::new();
        for (n, lane) in self.lanes.iter_mut().enumerate() {
            lane.end();
            let stuck = ErrorKind::Impossible { found: n as u64 };
            lane.unit.disable().map_err(|_| stuck.at(0, "trace unit", "TRCSTATR", "K10.5.7.1"))?;
            lane.unit.settle_buffer();
            self.out.write(n, &lane.unit.take())?;
            written.push(lane.written()?);
        }
        self.out.finish(&written)?;
        // A reader compares attempted instructions in all sources or in none.
        let loses_attempted = self.lanes.iter().any(|lane| lane.attempts > lane.unit.attempted());
        let mut account = Account::new(&[], &[]);
        for lane in &mut self.lanes {
            lane.unit.end_account(loses_attempted, lane.marks);
            lane.add_to(&mut account);
        }
        Ok(account)
    }
}

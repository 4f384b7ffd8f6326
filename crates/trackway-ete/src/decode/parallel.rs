//! Several decoders on one source, with the output of one.
//!
//! The source is cut after Alignment Syncs. Each part is decoded by a fresh decoder, which notes the first place where
//! its whole state could also be that of a decoder that came from before, and hands the events from there on to an
//! observer of its own. To join the parts, the decoder that came from before continues over the cut to that place. If
//! the states are equal there, the rest of the part is taken as it is; if not, the part is decoded again. So the
//! result never depends on the number of threads.

use std::sync::Arc;

use trackway_core::{Observer, Spare, in_order};
use trackway_image::Image;

use super::census::Census;
use super::decoder::{Decoder, Goal, State};
use super::output::{Finished, Output, Unsettled};
use crate::config::{Config, Options};
use crate::wire::scan::{SYNC_LEN, Stop, Window, find_sync};

/// Window per thread in bytes, and the maximum of all where Alignment Syncs are rare.
pub(crate) const WINDOW: usize = 1 << 18;
pub(crate) const LARGEST: usize = 1 << 24;

/// Minimum size of a part in a window: several parts per thread even out the load.
pub(crate) fn part(window: usize, jobs: usize) -> usize {
    (window / (jobs * 32)).clamp(1 << 12, 1 << 16)
}

/// The ends of parts: the ends of Alignment Syncs.
pub(crate) fn cuts(bytes: &[u8], from: usize, part: usize) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut at = from;
    while let Some(cut) = find_sync(bytes, (at + part).saturating_sub(SYNC_LEN).max(from)) {
        cuts.push(cut);
        at = cut;
    }
    cuts
}

/// An observer whose batches get their source and their number.
pub(crate) struct Numbered<'o> {
    pub(crate) observer: &'o mut dyn Observer,
    pub(crate) source: u16,
    /// Number of instructions so far.
    pub(crate) instructions: &'o mut u64,
}

impl Numbered<'_> {
    /// Shows one batch.
    pub(crate) fn observe(&mut self, finished: &mut Finished) {
        let Finished { batch, instructions } = finished;
        (batch.source, batch.first_instruction) = (self.source, *self.instructions);
        *self.instructions += *instructions;
        self.observer.observe(batch);
    }

    /// Shows all complete batches; there is no error after them.
    fn observe_all(&mut self, output: &mut Output) {
        while let Ok(Some(mut finished)) = output.take() {
            self.observe(&mut finished);
            output.recycle(finished.batch);
        }
    }
}

/// The input of all parts.
pub(crate) struct Parts<'p, W> {
    pub(crate) config: &'p Arc<Config>,
    pub(crate) image: &'p Arc<Image>,
    pub(crate) options: &'p Options,
    pub(crate) pool: &'p Spare<Decoder>,
    pub(crate) window: &'p W,
}

/// A part that was decoded on its own.
struct Part {
    end: usize,
    /// `None` if it has no place where it can be joined.
    joint: Option<Joint>,
}

/// The place where a part can be joined, and what follows it.
struct Joint {
    place: usize,
    state: State,
    unsettled: Unsettled,
    /// The observer of the events from `place` on, and their number of instructions.
    observer: Box<dyn Observer>,
    instructions: u64,
    census: Census,
    /// Where and why decoding stopped, and the state there.
    at: usize,
    stop: Stop,
    last_state: State,
    last_unsettled: Unsettled,
}

impl<W: Window + Sync> Parts<'_, W> {
    /// Observes everything before the last of `cuts`; an error is the stop that prevents it.
    pub(crate) fn observe(
        &self,
        decoder: &mut Decoder,
        at: &mut usize,
        after_sync: bool,
        cuts: &[usize],
        observer: &mut Numbered<'_>,
    ) -> Result<(), Stop> {
        let mut first = None;
        if after_sync {
            first = cuts.first().map(|&cut| (*at, cut));
        } else if let Some(&cut) = cuts.first() {
            self.run(decoder, at, cut, Goal::None, observer)?;
        }
        let template = observer.observer.fork();
        let source = observer.source;
        let ranges = first.into_iter().chain(cuts.windows(2).map(|pair| (pair[0], pair[1])));
        in_order(
            self.options.jobs,
            ranges.map(move |range| (range, template.fork())),
            |((start, end), observer)| self.decode_alone(start, end, observer, source),
            |part| self.join(decoder, at, part, observer),
        )
    }

    /// Decodes a part on its own.
    fn decode_alone(&self, start: usize, end: usize, mut observer: Box<dyn Observer>, source: u16) -> Part {
        let make = || Decoder::new(self.config, self.image, self.options.show_withdrawn);
        let mut decoder = self.pool.take_or(make);
        decoder.reset();
        decoder.jump(self.window, start);
        let mut at = start;
        let state = loop {
            match decoder.run(self.window, (end, false), &mut at, Goal::Comparable) {
                Stop::Visitor if decoder.output().is_ready() => decoder.output().clear_finished(),
                Stop::Visitor => break Some(decoder.state()),
                _ => break None,
            }
        };
        let joint = state.map(|state| {
            let place = at;
            let unsettled = decoder.output().hold();
            decoder.output().clear();
            decoder.output().resume(&unsettled);
            *decoder.census_mut() = Census::default();
            let mut instructions = 0;
            let mut numbered = Numbered { observer: &mut *observer, source, instructions: &mut instructions };
            let stop = loop {
                match decoder.run(self.window, (end, false), &mut at, Goal::None) {
                    Stop::Visitor => numbered.observe_all(decoder.output()),
                    stop => break stop,
                }
            };
            let last_unsettled = decoder.output().hold();
            decoder.output().close();
            numbered.observe_all(decoder.output());
            let (census, last_state) = (std::mem::take(decoder.census_mut()), decoder.state());
            Joint {
                place,
                state,
                unsettled,
                observer,
                instructions,
                census,
                at,
                stop,
                last_state,
                last_unsettled,
            }
        });
        self.pool.put(decoder);
        Part { end, joint }
    }

    /// Continues to the place where `part` can be joined, and joins it if the states are equal; else decodes it again.
    fn join(
        &self,
        decoder: &mut Decoder,
        at: &mut usize,
        part: Part,
        observer: &mut Numbered<'_>,
    ) -> Result<(), Stop> {
        if let Some(joint) = part.joint {
            self.run(decoder, at, part.end, Goal::Place(joint.place), observer)?;
            if *at == joint.place && decoder.is_in(&joint.state) {
                let unsettled = decoder.output().hold();
                if unsettled == joint.unsettled {
                    decoder.output().close();
                    observer.observe_all(decoder.output());
                    observer.observer.merge(joint.observer);
                    *observer.instructions += joint.instructions;
                    decoder.census_mut().merge(&joint.census);
                    decoder.set_state(joint.last_state);
                    decoder.output().resume(&joint.last_unsettled);
                    *at = joint.at;
                    return match joint.stop {
                        Stop::Bad(_) => Err(joint.stop),
                        _ => Ok(()),
                    };
                }
                decoder.output().resume(&unsettled);
            }
        }
        self.run(decoder, at, part.end, Goal::None, observer)
    }

    /// Decodes from `at` to `end` or `goal`.
    fn run(
        &self,
        decoder: &mut Decoder,
        at: &mut usize,
        end: usize,
        goal: Goal,
        observer: &mut Numbered<'_>,
    ) -> Result<(), Stop> {
        decoder.jump(self.window, *at);
        loop {
            match decoder.run(self.window, (end, false), at, goal) {
                Stop::Visitor if decoder.output().is_ready() => observer.observe_all(decoder.output()),
                stop @ Stop::Bad(_) => return Err(stop),
                Stop::Visitor | Stop::End | Stop::Incomplete => return Ok(()),
            }
        }
    }
}

//! Many decoders on one source, with the output of one.
//!
//! The source is cut behind alignment synchronisations. Each part is decoded by a fresh decoder, which notes
//! the first place where all that it knows could also be known to a decoder that came from before, and shows
//! what it finds from there on to an observer of its own. Then the parts are joined: the decoder that came
//! from before goes on over the cut to that place. If both know the same there, the rest of the part is taken
//! as it is; if not, the part is decoded again. So the result never depends on the number of threads.

use std::sync::Arc;

use trackway_core::{Batch, Observer, Spare, in_order};
use trackway_image::Image;

use crate::config::Config;
use crate::decode::census::Census;
use crate::decode::decoder::{Decoder, SYNC_LEN, State, Stop, Stretch, Until, Window, find_sync};
use crate::decode::output::{Held, Out, Piece};
use crate::lift::Options;

/// Bytes per thread that are looked at in one go, and at the most where synchronisations are rare.
pub(crate) const WINDOW: usize = 1 << 18;
pub(crate) const LARGEST: usize = 1 << 24;

/// Bytes that a part has at the least, in a window of so many bytes: some parts for each thread even out
/// the load.
pub(crate) fn part(window: usize, jobs: usize) -> usize {
    (window / (jobs * 32)).clamp(1 << 12, 1 << 16)
}

/// Where parts end: behind synchronisations.
pub(crate) fn cuts(bytes: &[u8], from: usize, part: usize) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut at = from;
    while let Some(cut) = find_sync(bytes, (at + part).saturating_sub(SYNC_LEN).max(from)) {
        cuts.push(cut);
        at = cut;
    }
    cuts
}

/// An observer, and what its next batch is told.
pub(crate) struct Shown<'o> {
    pub(crate) observer: &'o mut dyn Observer,
    /// The source.
    pub(crate) source: u16,
    /// Instructions so far.
    pub(crate) instructions: &'o mut u64,
}

impl Shown<'_> {
    /// Shows a batch, which holds the number of its instructions where the number of the first goes.
    pub(crate) fn show(&mut self, batch: &mut Batch) {
        batch.source = self.source;
        *self.instructions += std::mem::replace(&mut batch.first_instruction, *self.instructions);
        self.observer.observe(batch);
    }

    /// Shows all pieces that are complete; there is no error among them.
    fn show_all(&mut self, out: &mut Out) {
        while let Some(Piece::Events(mut batch)) = out.take() {
            self.show(&mut batch);
            out.give(batch);
        }
    }
}

/// What is the same for all parts.
pub(crate) struct Parts<'p, W> {
    pub(crate) config: &'p Arc<Config>,
    pub(crate) image: &'p Arc<Image>,
    pub(crate) options: &'p Options,
    pub(crate) spare: &'p Spare<Decoder>,
    pub(crate) window: &'p W,
}

/// A part that was decoded by itself.
struct Part {
    /// Where it ends.
    end: usize,
    known: Option<Known>,
}

/// What a part gave.
struct Known {
    /// Where it can be joined, and what was known there.
    place: usize,
    state: State,
    held: Held,
    /// Who saw what came behind that place, and how much it was.
    observer: Box<dyn Observer>,
    instructions: u64,
    census: Census,
    /// Where it stopped and why, and what was known then.
    at: usize,
    stop: Stop,
    last_state: State,
    last_held: Held,
}

impl<W: Window + Sync> Parts<'_, W> {
    /// Shows what is before the last of `cuts`; an error is what stopped it.
    pub(crate) fn observe(
        &self,
        decoder: &mut Decoder,
        at: &mut usize,
        behind_sync: bool,
        cuts: &[usize],
        shown: &mut Shown<'_>,
    ) -> Result<(), Stop> {
        let mut starts = cuts;
        let mut first = None;
        if behind_sync {
            first = cuts.first().map(|&cut| (*at, cut));
        } else if let Some(&cut) = cuts.first() {
            self.go(decoder, at, cut, Until::End, shown)?;
        }
        let template = shown.observer.fork();
        let source = shown.source;
        let ranges = first.into_iter().chain(std::iter::from_fn(move || match *starts {
            [start, end, ..] => {
                starts = &starts[1..];
                Some((start, end))
            }
            _ => None,
        }));
        in_order(
            self.options.jobs,
            ranges.map(move |range| (range, template.fork())),
            |((start, end), observer)| self.alone(start, end, observer, source),
            |part| self.join(decoder, at, part, shown),
        )
    }

    /// A part by itself.
    fn alone(&self, start: usize, end: usize, mut observer: Box<dyn Observer>, source: u16) -> Part {
        let make = || Decoder::new(self.config, self.image, self.options.show_withdrawn);
        let mut decoder = self.spare.take_or(make);
        decoder.reset();
        decoder.jump(self.window, start);
        let mut at = start;
        let stretch = Stretch { end, last: false };
        let known = loop {
            match decoder.run(self.window, stretch, &mut at, Until::Known) {
                Stop::Pause => decoder.analyser.out.clear_done(),
                Stop::There => break decoder.snapshot(),
                _ => break None,
            }
        };
        let known = known.map(|state| {
            let place = at;
            let held = decoder.analyser.out.hold();
            decoder.analyser.out.clear();
            decoder.analyser.out.resume(&held);
            decoder.census = Census::default();
            let mut instructions = 0;
            let mut shown = Shown { observer: &mut *observer, source, instructions: &mut instructions };
            let stop = loop {
                match decoder.run(self.window, stretch, &mut at, Until::End) {
                    Stop::Pause => shown.show_all(&mut decoder.analyser.out),
                    stop => break stop,
                }
            };
            let last_held = decoder.analyser.out.hold();
            decoder.analyser.out.close();
            shown.show_all(&mut decoder.analyser.out);
            let (census, last_state) = (std::mem::take(&mut decoder.census), decoder.state());
            Known { place, state, held, observer, instructions, census, at, stop, last_state, last_held }
        });
        self.spare.put(decoder);
        Part { end, known }
    }

    /// Goes on to where `part` can be joined, and joins it if both know the same; else decodes it again.
    fn join(
        &self,
        decoder: &mut Decoder,
        at: &mut usize,
        part: Part,
        shown: &mut Shown<'_>,
    ) -> Result<(), Stop> {
        if let Some(known) = part.known {
            self.go(decoder, at, part.end, Until::Place(known.place), shown)?;
            if *at == known.place && decoder.knows(&known.state) {
                let held = decoder.analyser.out.hold();
                if held == known.held {
                    decoder.analyser.out.close();
                    shown.show_all(&mut decoder.analyser.out);
                    shown.observer.merge(known.observer);
                    *shown.instructions += known.instructions;
                    decoder.census.merge(&known.census);
                    decoder.set_state(known.last_state);
                    decoder.analyser.out.resume(&known.last_held);
                    *at = known.at;
                    return match known.stop {
                        Stop::Bad(_) => Err(known.stop),
                        _ => Ok(()),
                    };
                }
                decoder.analyser.out.resume(&held);
            }
        }
        self.go(decoder, at, part.end, Until::End, shown)
    }

    /// Decodes from `at` to `end` or `until`.
    fn go(
        &self,
        decoder: &mut Decoder,
        at: &mut usize,
        end: usize,
        until: Until,
        shown: &mut Shown<'_>,
    ) -> Result<(), Stop> {
        decoder.jump(self.window, *at);
        loop {
            match decoder.run(self.window, Stretch { end, last: false }, at, until) {
                Stop::Pause => shown.show_all(&mut decoder.analyser.out),
                stop @ Stop::Bad(_) => return Err(stop),
                Stop::There | Stop::End | Stop::Hungry => return Ok(()),
            }
        }
    }
}

//! Several decoders on one source, with the output of one.
//!
//! The source is cut after Alignment Syncs. Each part is decoded by a fresh decoder, which notes the first place where
//! its whole state could also be that of a decoder that came from before, and hands the events from there on to an
//! observer of its own. To join the parts, the decoder that came from before continues over the cut to that place. If
//! the states are equal there, the rest of the part is taken as it is; if not, the part is decoded again. So the
//! result never depends on the number of threads.

use trackway_core::{Pool, Seen, Show, in_parts};

use super::counts::PacketCounts;
use super::decoder::{Decoder, Goal, State};
use super::output::{Output, Unsettled};
use crate::wire::scan::{self, SYNC_LEN, Stop, find_sync};

/// Window per thread in bytes, and the maximum of all where Alignment Syncs are rare.
pub(crate) const WINDOW: usize = 1 << 18;
pub(crate) const LARGEST: usize = 1 << 24;

/// Minimum size of a part in a window: several parts per thread even out the load.
pub(crate) fn min_part(window: usize, threads: usize) -> usize {
    (window / (threads * 32)).clamp(1 << 12, 1 << 16)
}

/// The ends of parts: the ends of Alignment Syncs.
pub(crate) fn cuts(bytes: &[u8], from: usize, min_part: usize) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut at = from;
    while let Some(cut) = find_sync(bytes, (at + min_part).saturating_sub(SYNC_LEN).max(from)) {
        cuts.push(cut);
        at = cut;
    }
    cuts
}

/// Shows all complete batches; there is no error after them.
fn show_all(show: &mut Show<'_>, output: &mut Output) {
    while let Ok(Some(mut finished)) = output.take() {
        show.batch(&mut finished.batch, finished.instructions);
        output.recycle(finished.batch);
    }
}

/// A window whose parts are decoded on several threads.
pub(crate) struct Window<'p, W> {
    pub(crate) window: &'p W,
    pub(crate) threads: usize,
    /// Decoders to reuse, and how to create one.
    pub(crate) pool: &'p Pool<Decoder>,
    pub(crate) new: &'p (dyn Fn() -> Decoder + Sync),
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
    /// Packets after `place`.
    counts: PacketCounts,
    /// Where and why decoding stopped, and the state there.
    at: usize,
    stop: Stop,
    last_state: State,
    last_unsettled: Unsettled,
}

impl<W: scan::Window + Sync> Window<'_, W> {
    /// Shows everything before the last of `cuts`; an error is the stop that prevents it.
    pub(crate) fn observe(
        &self,
        decoder: &mut Decoder,
        at: &mut usize,
        after_sync: bool,
        cuts: &[usize],
        show: &mut Show<'_>,
    ) -> Result<(), Stop> {
        let mut first = None;
        if after_sync {
            first = cuts.first().map(|&cut| (*at, cut));
        } else if let Some(&cut) = cuts.first() {
            self.run(decoder, at, cut, Goal::None, show)?;
        }
        let parts = first.into_iter().chain(cuts.windows(2).map(|pair| (pair[0], pair[1])));
        in_parts(
            self.threads,
            show,
            parts,
            |(start, end), show| self.decode_alone(start, end, show),
            |show, part, seen| self.join(decoder, at, part, seen, show),
        )
    }

    /// Decodes a part on its own, and shows the events after the place where it can be joined.
    fn decode_alone(&self, start: usize, end: usize, show: &mut Show<'_>) -> Part {
        let mut decoder = self.pool.take_or(self.new);
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
            *decoder.counts_mut() = PacketCounts::default();
            let stop = loop {
                match decoder.run(self.window, (end, false), &mut at, Goal::None) {
                    Stop::Visitor => show_all(show, decoder.output()),
                    stop => break stop,
                }
            };
            let last_unsettled = decoder.output().hold();
            decoder.output().close();
            show_all(show, decoder.output());
            let (counts, last_state) = (std::mem::take(decoder.counts_mut()), decoder.state());
            Joint { place, state, unsettled, counts, at, stop, last_state, last_unsettled }
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
        seen: Seen,
        show: &mut Show<'_>,
    ) -> Result<(), Stop> {
        if let Some(joint) = part.joint {
            self.run(decoder, at, part.end, Goal::Place(joint.place), show)?;
            if *at == joint.place && decoder.is_in(&joint.state) {
                let unsettled = decoder.output().hold();
                if unsettled == joint.unsettled {
                    decoder.output().close();
                    show_all(show, decoder.output());
                    show.join(seen);
                    decoder.counts_mut().merge(&joint.counts);
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
        self.run(decoder, at, part.end, Goal::None, show)
    }

    /// Decodes from `at` to `end` or `goal`.
    fn run(
        &self,
        decoder: &mut Decoder,
        at: &mut usize,
        end: usize,
        goal: Goal,
        show: &mut Show<'_>,
    ) -> Result<(), Stop> {
        decoder.jump(self.window, *at);
        loop {
            match decoder.run(self.window, (end, false), at, goal) {
                Stop::Visitor if decoder.output().is_ready() => show_all(show, decoder.output()),
                stop @ Stop::Bad(_) => return Err(stop),
                Stop::Visitor | Stop::End | Stop::Incomplete => return Ok(()),
            }
        }
    }
}

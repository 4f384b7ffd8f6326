//! Many decoders on one source, with the output of one.
//!
//! The source is cut behind alignment synchronisations. The first part goes on from what is known; each
//! other part is decoded by a fresh decoder, which notes the first place where all that it knows could also
//! be known to a decoder that came from before. Then the parts are joined: the decoder that came from
//! before goes on over the cut to that place. If both know the same there, the rest of the part is taken
//! as it is; if not, the part is decoded again. So the result never depends on the number of threads.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use trackway_core::GapReason;

use crate::decode::{Decoder, SYNC_LEN, State, Stop, Stretch, Window, find_sync};

/// Bytes that a part has at the least.
const PART: usize = 1 << 13;
/// Parts per thread and round: more even out the load, fewer keep less in memory.
const ROUND: usize = 2;

/// Bytes that a round works on.
pub(crate) fn wanted(jobs: usize) -> usize {
    PART * jobs * ROUND * 2
}

/// Where the parts of a round end: behind synchronisations.
pub(crate) fn cuts(bytes: &[u8], from: usize, jobs: usize) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut at = from;
    while cuts.len() < jobs * ROUND
        && let Some(cut) = find_sync(bytes, at.saturating_add(PART).saturating_sub(SYNC_LEN).max(from))
    {
        cuts.push(cut);
        at = cut;
    }
    cuts
}

/// A part that was decoded by itself.
struct Part {
    decoder: Decoder,
    /// Where it could be joined: place in the window, what was known, place in its output.
    join: Option<(usize, State, (usize, usize))>,
}

/// Decodes up to the last of `cuts`.
pub(crate) fn decode<W: Window + Sync>(
    decoder: &mut Decoder,
    make: &(impl Fn() -> Decoder + Sync),
    window: &W,
    at: &mut usize,
    cuts: &[usize],
    jobs: usize,
) -> Stop {
    let parts: Vec<Mutex<Option<Part>>> = (1..cuts.len()).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let index = next.fetch_add(1, Relaxed)
            && index < parts.len()
        {
            let part = alone(make(), window, cuts[index], cuts[index + 1]);
            *parts[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(part);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(cuts.len()) {
            scope.spawn(work);
        }
        through(decoder, window, at, cuts[0]);
        work();
    });
    for (index, part) in parts.into_iter().enumerate() {
        let end = cuts[index + 1];
        let part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !part.is_some_and(|part| join(decoder, window, at, end, part)) {
            through(decoder, window, at, end);
        }
    }
    Stop::Pause
}

/// A part by itself.
fn alone<W: Window>(mut decoder: Decoder, window: &W, start: usize, end: usize) -> Part {
    let mut at = start;
    let stretch = Stretch { end, last: false };
    let mut join = None;
    loop {
        match decoder.run(window, stretch, &mut at, None, join.is_none()) {
            Stop::Pause => {
                if join.is_none()
                    && let Some(state) = decoder.snapshot()
                {
                    join = Some((at, state, decoder.analyser.out.place()));
                }
            }
            Stop::Bad(error) => broken(&mut decoder, window, &mut at, end, error),
            Stop::End | Stop::Hungry => return Part { decoder, join },
        }
    }
}

/// Goes on to `end`.
fn through<W: Window>(decoder: &mut Decoder, window: &W, at: &mut usize, end: usize) {
    decoder.moved();
    loop {
        match decoder.run(window, Stretch { end, last: false }, at, None, false) {
            Stop::Pause => {}
            Stop::Bad(error) => broken(decoder, window, at, end, error),
            Stop::End | Stop::Hungry => break,
        }
    }
    decoder.moved();
}

/// After a bad packet: on behind the next synchronisation, of which there is one at `end`.
fn broken<W: Window>(
    decoder: &mut Decoder,
    window: &W,
    at: &mut usize,
    end: usize,
    error: trackway_core::Error,
) {
    decoder.analyser.out.broken(error);
    let next = find_sync(&window.bytes()[..end], *at).unwrap_or(end);
    let skipped = next.saturating_sub(SYNC_LEN).saturating_sub(*at) as u64;
    decoder.lose_sync(GapReason::BadInput, window.offset(*at, &mut 0), skipped);
    *at = next;
}

/// Goes on to where `part` can be joined, and joins it if both know the same.
fn join<W: Window>(decoder: &mut Decoder, window: &W, at: &mut usize, end: usize, part: Part) -> bool {
    let Some((place, state, output)) = part.join else { return false };
    decoder.moved();
    while *at < place {
        match decoder.run(window, Stretch { end, last: false }, at, Some(place), false) {
            Stop::Pause => {}
            Stop::Bad(error) => broken(decoder, window, at, end, error),
            Stop::End | Stop::Hungry => return false,
        }
    }
    if *at != place || !decoder.analyser.is_comparable() || decoder.state() != state {
        return false;
    }
    decoder.adopt(part.decoder, output);
    *at = end;
    decoder.moved();
    true
}

//! Stretches of trace to events: one decoder of ETE after the other, for core's stream driver.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::{
    Batch, Census, Decode, Entry, Error, Gap, GapReason, Parts, Result, Show, in_parts, pack, unpack,
};
use trackway_ete::PacketCounts;

use crate::sessions::{Lane, Lost, Stretch, Surroundings};

/// A longer stretch is cut into parts of its own.
const LONG: u64 = 1 << 18;

/// Decodes the stretches of one source.
pub(crate) struct Lift {
    shared: Arc<Surroundings>,
    stretches: Vec<Stretch>,
    /// The stretch that comes next.
    next: usize,
    /// The stretch before it is being decoded.
    inner: Option<trackway_ete::Lift>,
    /// To be emitted before the next events.
    gaps: Vec<Lost>,
    /// Instructions so far, and at the start of the current stretch.
    instructions: u64,
    begun: u64,
    /// Packets of the stretches that have ended.
    counts: PacketCounts,
    /// Bytes of the stretches before `next`, and of all.
    done: u64,
    size: u64,
    /// Errors of the recording: the last source ends with them.
    errors: Vec<Error>,
}

/// A place between two batches.
#[derive(Serialize, Deserialize)]
struct Place {
    next: u64,
    /// The state in the stretch before `next`.
    inner: Option<Vec<u8>>,
    begun: u64,
}

impl std::fmt::Debug for Lift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lift({} of {} stretches)", self.next, self.stretches.len())
    }
}

/// One stretch, decoded on its own.
struct Part {
    inner: trackway_ete::Lift,
    error: Option<Error>,
}

impl Lift {
    pub(crate) fn new(shared: &Arc<Surroundings>, lane: &Lane, errors: Vec<Error>) -> Self {
        let stretches = lane.stretches.clone();
        let size = stretches.iter().map(Stretch::size).sum();
        let errors = errors.into_iter().rev().collect();
        Lift {
            shared: Arc::clone(shared),
            stretches,
            next: 0,
            inner: None,
            gaps: Vec::new(),
            instructions: 0,
            begun: 0,
            counts: PacketCounts::default(),
            done: 0,
            size,
            errors,
        }
    }

    fn decoder(&self, stretch: &Stretch) -> trackway_ete::Lift {
        let (session, options) = self.shared.session(stretch);
        trackway_ete::Lift::session(session, &options)
    }

    /// The current stretch has ended.
    fn close(&mut self) {
        let Some(inner) = self.inner.take() else { return };
        inner.counts().into_iter().for_each(|counts| self.counts.merge(counts));
        if let Some(stretch) = self.stretches.get(self.next.wrapping_sub(1)) {
            self.done += stretch.size();
            self.gaps.extend(stretch.after);
        }
    }

    /// Begins the next stretch; false if there is none.
    fn begin(&mut self) -> bool {
        let Some(stretch) = self.stretches.get(self.next) else { return false };
        let inner = self.decoder(stretch);
        if self.instructions > self.begun && stretch.before.is_none() && self.gaps.is_empty() {
            // The trace unit was off in between.
            self.gaps.push(Lost { reason: GapReason::Filtered, bytes: None, at: stretch.bytes.start });
        }
        self.gaps.extend(stretch.before);
        self.begun = self.instructions;
        self.inner = Some(inner);
        self.next += 1;
        true
    }

    fn put_gaps(&mut self, batch: &mut Batch) -> bool {
        let any = !self.gaps.is_empty();
        for Lost { reason, bytes, at } in self.gaps.drain(..) {
            batch.push_gap(at, Gap { bytes, ..Gap::new(reason) });
        }
        any
    }

    /// Decodes short stretches on several threads; each is complete in itself.
    fn observe_short(&mut self, threads: usize, show: &mut Show<'_>) -> Result<Parts> {
        let from = self.next;
        let short = |stretch: &&Stretch| stretch.size() < LONG;
        let count = self.stretches[from..].iter().take_while(short).take(64 * threads).count();
        if count < 2 {
            return Ok(Parts::None);
        }
        let stretches: Vec<Stretch> = self.stretches[from..from + count].to_vec();
        let shared = Arc::clone(&self.shared);
        let alone = |stretch: Stretch, show: &mut Show<'_>| -> Part {
            let (session, options) = shared.session(&stretch);
            let mut inner = trackway_ete::Lift::session(session, &options);
            let mut batch = Batch::default();
            loop {
                batch.clear();
                let before = inner.instructions();
                let filled = inner.fill(&mut batch);
                show.batch(&mut batch, inner.instructions() - before);
                match filled {
                    Ok(true) => {}
                    Ok(false) => return Part { inner, error: None },
                    Err(error) => return Part { inner, error: Some(error) },
                }
            }
        };
        in_parts(threads, show, stretches.into_iter(), alone, |show, part, seen| {
            // The same gaps as in order.
            self.begin();
            let mut batch = Batch::default();
            if self.put_gaps(&mut batch) {
                show.batch(&mut batch, 0);
            }
            self.instructions += part.inner.instructions();
            show.join(seen);
            self.inner = Some(part.inner);
            match part.error {
                Some(error) => Err(error),
                None => {
                    self.close();
                    Ok(())
                }
            }
        })?;
        Ok(Parts::Shown)
    }
}

impl Stretch {
    fn size(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

impl Decode for Lift {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        if self.inner.is_none() {
            let begun = self.begin();
            let put = self.put_gaps(batch);
            if !begun {
                return match self.errors.pop() {
                    Some(error) => Err(error),
                    None => Ok(put),
                };
            }
            if put {
                return Ok(true);
            }
        }
        let Some(inner) = &mut self.inner else { return Ok(true) };
        let before = inner.instructions();
        let filled = inner.fill(batch);
        self.instructions += inner.instructions() - before;
        if filled == Ok(false) {
            self.close();
        }
        filled.map(|_| true)
    }

    fn instructions(&self) -> u64 {
        self.instructions
    }

    fn enter(&mut self) -> Result<Entry> {
        let Some(inner) = &mut self.inner else {
            // Errors of the recording do not end what follows them.
            return Ok(if self.errors.is_empty() { Entry::End } else { Entry::Here });
        };
        if inner.enter()? == Entry::End {
            self.close();
        }
        Ok(Entry::Here)
    }

    fn observe_parts(&mut self, threads: usize, show: &mut Show<'_>) -> Result<Parts> {
        let Some(inner) = &mut self.inner else {
            let gaps =
                !self.gaps.is_empty() || self.next >= self.stretches.len() || self.shared.options.strict;
            return if gaps { Ok(Parts::None) } else { self.observe_short(threads, show) };
        };
        let before = inner.instructions();
        let shown = inner.observe_parts(threads, show);
        self.instructions += inner.instructions() - before;
        Ok(if shown? == Parts::Shown { Parts::Shown } else { Parts::None })
    }

    fn save(&self) -> Option<Vec<u8>> {
        if !self.gaps.is_empty() {
            return None;
        }
        let inner = match &self.inner {
            Some(inner) => Some(inner.save()?),
            None => None,
        };
        pack(&Place { next: self.next as u64, inner, begun: self.begun })
    }

    fn restore(&mut self, state: &[u8], instructions: u64) -> Result<bool> {
        let Some(Place { next, inner, begun }) = unpack::<Place>(state) else { return Ok(false) };
        let next = usize::try_from(next).ok().filter(|next| *next <= self.stretches.len());
        let Some(next) = next.filter(|_| begun <= instructions && instructions <= u64::MAX / 2) else {
            return Ok(false);
        };
        let decoder = match inner {
            Some(inner) => {
                let Some(stretch) = next.checked_sub(1).map(|n| &self.stretches[n]) else { return Ok(false) };
                let mut decoder = self.decoder(stretch);
                if !decoder.restore(&inner, instructions - begun)? {
                    return Ok(false);
                }
                Some(decoder)
            }
            None => None,
        };
        let complete = next - usize::from(decoder.is_some());
        self.done = self.stretches[..complete].iter().map(Stretch::size).sum();
        (self.next, self.inner, self.begun, self.instructions) = (next, decoder, begun, instructions);
        Ok(true)
    }

    fn position(&self) -> u64 {
        self.done + self.inner.as_ref().map_or(0, Decode::position)
    }

    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn census(&self) -> Census {
        let mut counts = self.counts.clone();
        let inner = self.inner.as_ref().and_then(trackway_ete::Lift::counts);
        inner.into_iter().for_each(|more| counts.merge(more));
        counts.by_name()
    }
}

//! Runs that were executed before: repeats of their steps, which are not made again.

use std::sync::Arc;

use trackway_core::*;

use crate::code::{Table, Usual};
use crate::lift::{Key, Out};
use crate::shapes::{NONE, Shapes, Way};
use crate::thread::Thread;
use crate::usual::Sums;

/// Stretches after which their numbers begin anew: code that is made at run time would need ever more memory.
const MOST: usize = 1 << 15;

impl Out {
    /// Begins a folded batch.
    pub(crate) fn begin(&mut self, folded: &mut Folded) {
        if self.stretches.count() >= MOST {
            self.stretches = Arc::default();
        }
        folded.clear();
        folded.batch.first_instruction = self.window.recorded;
        if !Arc::ptr_eq(&folded.stretches, &self.stretches) {
            folded.stretches = Arc::clone(&self.stretches);
        }
    }

    /// Takes usual runs at the start of `words`, folded if they are known; returns the number of words.
    pub(crate) fn usual_or_folded(
        &mut self,
        key: Key,
        thread: &mut Thread,
        (table, shapes): (&Table, &mut Shapes),
        words: &[u32],
        folded: &mut Folded,
    ) -> usize {
        // A run may have the address that ends the window.
        if !self.folds || self.certain().1.is_some() {
            return self.usual(key, thread, table, words, usize::MAX, &mut folded.batch);
        }
        match self.fold(key, thread, (table, shapes), words, folded) {
            0 => self.learn(key, thread, (table, shapes), words, &mut folded.batch),
            taken => taken,
        }
    }

    /// Takes runs that have a shape, until the batch is full.
    fn fold(
        &mut self,
        key: Key,
        thread: &mut Thread,
        (table, shapes): (&Table, &mut Shapes),
        words: &[u32],
        folded: &mut Folded,
    ) -> usize {
        let Some(mut pending) = self.quiet(key, thread).filter(|pending| *pending == thread.first) else {
            return 0;
        };
        let (certain, _) = self.certain();
        let (mut rest, mut count, mut last, mut sums) = (words, 0, None, Sums::default());
        for _ in 0..folded.room() {
            let Some((number, way, next)) =
                self.repeat(key, (table, shapes), pending, &mut rest, certain - count, &mut folded.words)
            else {
                break;
            };
            let stretch = shapes.stretch(number);
            let Some(shape) = shapes.get(number) else { break };
            let (taken, Way { target, .. }) = (shape.taken[way], shape.ways[way]);
            folded.repeats.push(Repeat { stretch, taken, target });
            sums.merge(&shape.sums);
            sums.end(taken);
            (count, last, pending) = (count + u64::from(shape.count), Some(number), next);
        }
        if let Some(last) = last {
            folded.place(self.offset());
            self.pass_usual(key, count, shapes.lead(last).pc, sums);
            (thread.pending, thread.first) = (Some(pending), pending);
        }
        words.len() - rest.len()
    }

    /// Takes runs from this instruction on that have a shape, at most `most` instructions, off the words. Returns the shape,
    /// the number of the way after it, and the instruction that it leads to.
    #[inline(always)]
    fn repeat(
        &self,
        key: Key,
        (table, shapes): (&Table, &mut Shapes),
        pending: u32,
        words: &mut &[u32],
        most: u64,
        out: &mut Vec<u64>,
    ) -> Option<(u32, usize, u32)> {
        let (mut rest, mut head) = (*words, shapes.head(pending));
        // Shapes of one tree have one instruction set.
        if shapes.get(head)?.isa != self.isa {
            return None;
        }
        let (begun, mut length) = (out.len(), out.len());
        let (mut found, mut way, mut next) = (NONE, 0, pending);
        while let Some((number, after)) = shapes.find(head, rest, out) {
            let mut shape = shapes.get(number)?;
            let known = match shape.way(after) {
                Some(known) => known,
                None => {
                    let Some(new) = self.way(key, (table, shapes), number, after) else { break };
                    shape = shapes.get(number)?;
                    new
                }
            };
            if u64::from(shape.count) > most {
                break;
            }
            let Some((_, others)) = rest.split_at_checked(usize::from(shape.words) + 1) else { break };
            (found, way, next) = (number, known, after);
            (rest, length, head) = (others, out.len(), shape.ways[known].child);
        }
        // The accesses of a run that was not taken, or of all.
        out.truncate(if self.memory { length } else { begun });
        if found == NONE {
            return None;
        }
        *words = rest;
        shapes.grow(found, way, next, rest);
        Some((found, way, next))
    }

    /// The number of a way that a shape did not have lately.
    #[cold]
    fn way(&self, key: Key, (table, shapes): (&Table, &mut Shapes), number: u32, next: u32) -> Option<usize> {
        let lead = shapes.lead(number);
        let (taken, target) = self.flow(key, &lead, table.pc(next)?)?;
        // Where an interrupt may lead must be looked at each time.
        let is_open = lead.usual == Usual::Indirect && self.interrupts.is_some();
        let known = if is_open { NONE } else { next };
        shapes.note(number, Way::new(known, target.unwrap_or(0)), taken);
        Some(0)
    }

    /// Takes one usual run, and keeps its shape.
    fn learn(
        &mut self,
        key: Key,
        thread: &mut Thread,
        (table, shapes): (&Table, &mut Shapes),
        words: &[u32],
        batch: &mut Batch,
    ) -> usize {
        let (number, first) = (thread.pending, thread.first);
        let (events, mem) = (batch.events.len(), batch.mem.len());
        let taken = self.usual(key, thread, table, words, 1, batch);
        if let (Some(number), Some(own)) = (number.filter(|number| *number == first), words.get(..taken))
            && let [own @ .., _] = own
            && let Some(lead) = table.run(number).and_then(|run| run.last()).map(|ready| ready.lead)
            && !shapes.has(number, words)
            && shapes.is_wanted(number)
        {
            let steps = batch.events[events..].iter().filter_map(|event| match event.kind {
                EventKind::Step(step) => Some(repeated(step, mem as u32)),
                _ => None,
            });
            let stretch = Stretch { steps: steps.collect(), mem: batch.mem[mem..].to_vec() };
            shapes.learn(number, own, lead, self.isa, stretch);
        }
        taken
    }
}

/// A step as it is in a stretch, whose accesses begin at `mem` in its batch.
fn repeated(step: Step, mem: u32) -> Step {
    let Accesses { mem_start, mem_len, .. } = step.accesses;
    let mem_start = if mem_len == 0 { 0 } else { mem_start - mem };
    let accesses = Accesses { mem_start, mem_len, ..Accesses::default() };
    Step { accesses, extra: None, taken: None, ..step }
}

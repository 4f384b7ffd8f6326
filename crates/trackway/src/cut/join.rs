//! Several sources as one: one after the other, or beside each other.

use std::collections::VecDeque;

use trackway_core::{
    Batch, Census, Context, EventKind, Meta, RegAccess, RegRole, Result, Source, Step, TimeKind,
};

use crate::machine::Machine;
use crate::slice::is_known;

/// Slices of one source, in order. The state that a later slice begins with is left out: it is known.
pub(super) struct Joined {
    meta: Meta,
    rest: VecDeque<Box<dyn Source>>,
    /// The current slice has not come to its first instruction.
    leading: bool,
    /// It is not the first one.
    later: bool,
    number: u64,
    context: Context,
    machine: Machine,
    /// Items, doubtful runs and progress of those that ended.
    past: (Census, u64, u64),
}

impl Joined {
    pub(super) fn new(meta: Meta, slices: Vec<Box<dyn Source>>) -> Self {
        let machine = Machine::new(meta.isa);
        Joined {
            meta,
            rest: slices.into(),
            leading: true,
            later: false,
            number: 0,
            context: Context::default(),
            machine,
            past: Default::default(),
        }
    }

    /// Leaves out registers of the first step that only repeat the state: formats may put them there.
    fn forget_known(&self, batch: &mut Batch, step: &mut Step) {
        let new =
            |access: &&RegAccess| access.role != RegRole::State || !is_known(&self.machine, batch, access);
        let kept: Vec<RegAccess> = batch.regs_of(step.accesses).iter().filter(new).copied().collect();
        step.accesses.regs_len = kept.len() as u16;
        step.accesses.regs_start = batch.regs.len() as u32;
        batch.regs.extend(kept);
    }

    /// Leaves out what only repeats the state.
    fn select(&mut self, batch: &mut Batch) {
        let (started, mut number) = (self.leading, self.number);
        let mut events = std::mem::take(&mut batch.events);
        for event in &mut events {
            let first = self.leading && event.kind.instructions() > 0;
            self.leading &= !first;
            if let EventKind::Step(step) = &mut event.kind
                && first
                && self.later
            {
                self.forget_known(batch, step);
            }
            self.machine.apply(batch, event, number);
            number += event.kind.instructions();
        }
        self.leading = started;
        events.retain(|event| {
            self.leading &= event.kind.instructions() == 0;
            match event.kind {
                EventKind::Context(n) => {
                    let before = self.context;
                    self.context.update(&batch.contexts[n as usize]);
                    !(self.leading && self.later) || self.context != before
                }
                EventKind::State(_) | EventKind::Time(_) => !(self.leading && self.later),
                _ => true,
            }
        });
        batch.events = events;
    }
}

impl Source for Joined {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        while let Some(current) = self.rest.front_mut() {
            if !current.fill(batch)? {
                let (census, doubtful, read) = &mut self.past;
                census.merge(&current.census());
                *doubtful += current.doubtful();
                *read += current.progress().map_or(0, |(_, size)| size);
                self.rest.pop_front();
                (self.leading, self.later) = (true, true);
                continue;
            }
            self.select(batch);
            (batch.source, batch.first_instruction) = (0, self.number);
            self.number += batch.instructions();
            if !batch.events.is_empty() {
                return Ok(true);
            }
        }
        batch.clear();
        Ok(false)
    }

    fn resync(&mut self) -> Result<bool> {
        self.rest.front_mut().map_or(Ok(false), |current| current.resync())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let read = self.past.2;
        let (at, size) = sum(self.rest.iter().map(|slice| slice.progress()))?;
        Some((read + at, read + size))
    }

    fn census(&self) -> Census {
        let mut census = self.past.0.clone();
        self.rest.front().iter().for_each(|current| census.merge(&current.census()));
        census
    }

    fn doubtful(&self) -> u64 {
        self.past.1 + self.rest.front().map_or(0, |current| current.doubtful())
    }
}

/// Positions and totals of several sources; `None` if one does not know them.
fn sum(mut each: impl Iterator<Item = Option<(u64, u64)>>) -> Option<(u64, u64)> {
    each.try_fold((0, 0), |sum, one| one.map(|one| (sum.0 + one.0, sum.1 + one.1)))
}

/// Sources beside each other: the batch with the oldest time comes next.
pub(super) struct Beside {
    meta: Meta,
    lanes: Vec<Lane>,
}

struct Lane {
    source: Box<dyn Source>,
    /// Number of its first source among all.
    base: u16,
    /// The last timestamp.
    time: u64,
    ended: bool,
}

impl Beside {
    pub(super) fn new(meta: Meta, sources: Vec<Box<dyn Source>>) -> Self {
        let mut base = 0;
        let lane = |source: Box<dyn Source>| {
            let first = base;
            base += source.meta().sources.len().max(1) as u16;
            Lane { source, base: first, time: 0, ended: false }
        };
        Beside { meta, lanes: sources.into_iter().map(lane).collect() }
    }
}

impl Source for Beside {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        while let Some(lane) = self.lanes.iter_mut().filter(|lane| !lane.ended).min_by_key(|lane| lane.time) {
            if !lane.source.fill(batch)? {
                lane.ended = true;
                continue;
            }
            batch.source += lane.base;
            for event in &batch.events {
                if let EventKind::Time(time) = event.kind
                    && time.kind == TimeKind::Timestamp
                {
                    lane.time = time.value.unwrap_or(lane.time);
                }
            }
            return Ok(true);
        }
        batch.clear();
        Ok(false)
    }

    fn resync(&mut self) -> Result<bool> {
        let lane = self.lanes.iter_mut().filter(|lane| !lane.ended).min_by_key(|lane| lane.time);
        lane.map_or(Ok(false), |lane| lane.source.resync())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        sum(self.lanes.iter().map(|lane| lane.source.progress()))
    }

    fn census(&self) -> Census {
        let mut census = Census::default();
        self.lanes.iter().for_each(|lane| census.merge(&lane.source.census()));
        census
    }

    fn doubtful(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.source.doubtful()).sum()
    }
}

//! Lines of memory that more than one source touches.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, MemKind};

use super::accesses::{Part, is_data, lines, parts};
use crate::stats::LINE;
use crate::table::Table;

/// A line that several sources touch at different bytes, at least one of them to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLine {
    /// Address of its first byte.
    pub address: u64,
    /// Accesses to it.
    pub accesses: u64,
    /// The sources.
    pub sources: Vec<u16>,
}

/// Lines that several sources touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Lines touched by more than one source.
    pub lines: u64,
    /// Those that at least one of them writes.
    pub written: u64,
    /// Those of them in which no byte that a source writes is touched by another: false sharing. Most accesses first.
    pub falsely: Vec<SharedLine>,
    /// Accesses that are too long, and are left out.
    pub too_long: u64,
    /// Gaps: accesses in them are missing.
    pub gaps: u64,
}

/// Sharing while the trace is read; the order of accesses does not matter.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Observing {
    lines: Table<Touched>,
    sources: BTreeSet<u16>,
    too_long: u64,
    gaps: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Touched {
    accesses: u64,
    /// Bytes that each source touches and writes, as bits.
    by: Vec<(u16, u64, u64)>,
}

const _: () = assert!(LINE == 64);

impl Observing {
    pub(super) fn observe(&mut self, batch: &Batch) {
        for part in parts(batch) {
            let Part::Executed(_, accesses) = part else {
                self.gaps += 1;
                continue;
            };
            for access in accesses.iter().filter(|access| is_data(access)) {
                self.sources.insert(batch.source);
                let Some(lines) = lines(access) else {
                    self.too_long += 1;
                    continue;
                };
                let last = access.address.saturating_add(access.size - 1);
                for line in lines {
                    let start = access.address.max(line * LINE) % LINE;
                    let end = last.min(line * LINE + (LINE - 1)) % LINE;
                    let bytes = u64::MAX >> (LINE - 1 - (end - start)) << start;
                    let written = if access.kind == MemKind::Read { 0 } else { bytes };
                    let touched = self.lines.at(line);
                    touched.accesses += 1;
                    touched.add(batch.source, bytes, written);
                }
            }
        }
    }

    pub(super) fn merge(&mut self, later: Observing) {
        self.sources.extend(later.sources);
        self.too_long += later.too_long;
        self.gaps += later.gaps;
        self.lines.merge(later.lines, |to, touched| {
            to.accesses += touched.accesses;
            touched.by.into_iter().for_each(|(source, all, written)| to.add(source, all, written));
        });
    }

    pub(super) fn finish(self) -> Option<Sharing> {
        if self.sources.len() < 2 {
            return None;
        }
        let shared = || self.lines.entries.iter().filter(|(_, touched)| touched.by.len() > 1);
        let written = || shared().filter(|(_, touched)| touched.by.iter().any(|(.., written)| *written > 0));
        let falsely = written().filter(|(_, touched)| !touched.is_truly_shared());
        let mut falsely: Vec<SharedLine> = falsely
            .map(|(line, touched)| {
                let mut sources: Vec<u16> = touched.by.iter().map(|(source, ..)| *source).collect();
                sources.sort_unstable();
                SharedLine { address: line * LINE, accesses: touched.accesses, sources }
            })
            .collect();
        falsely.sort_by_key(|line| (std::cmp::Reverse(line.accesses), line.address));
        let (lines, written) = (shared().count() as u64, written().count() as u64);
        Some(Sharing { lines, written, falsely, too_long: self.too_long, gaps: self.gaps })
    }
}

impl Touched {
    fn add(&mut self, source: u16, bytes: u64, written: u64) {
        match self.by.iter_mut().find(|(by, ..)| *by == source) {
            Some((_, all, writes)) => (*all, *writes) = (*all | bytes, *writes | written),
            None => self.by.push((source, bytes, written)),
        }
    }

    /// Does a source touch a byte that another one writes?
    fn is_truly_shared(&self) -> bool {
        let others = |n: usize| self.by.iter().enumerate().filter(move |(m, _)| *m != n);
        self.by
            .iter()
            .enumerate()
            .any(|(n, (.., written))| others(n).any(|(_, (_, all, _))| all & written > 0))
    }
}

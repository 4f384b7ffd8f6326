//! The memory map: what was touched when, and by whom, in bounded memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, EventKind, MemKind};
use trackway_image::Image;

use crate::tables::{Cell, Memory, Piece, Who};
use crate::wire::{Hex, Long};

/// Columns at most: then they are put together in pairs.
const COLUMNS: usize = 256;

/// Rows at most: then they are put together in pairs.
const ROWS: usize = 1024;

/// Functions of a row that are kept.
const WHO: usize = 12;

/// A row: a piece of memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Row {
    /// Reads and writes of each column.
    cells: Vec<[u32; 2]>,
    reads: u64,
    writes: u64,
    first: u64,
    last: u64,
    /// Functions by their address, reads and writes.
    who: Vec<(Option<u64>, [u64; 2])>,
    /// Accesses of functions that are not kept.
    others: u64,
}

/// The accesses of one source.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Touched {
    /// Only for what is added.
    #[serde(skip)]
    image: Arc<Image>,
    /// Bytes of a row, as a power of two.
    shift: u32,
    /// Number of the first instruction, and instructions of a column.
    from: u64,
    width: u64,
    rows: BTreeMap<u64, Row>,
    /// Accesses without an address.
    unplaced: u64,
    accesses: u64,
    /// The function of the last access, by its addresses.
    #[serde(skip)]
    function: Option<(u64, u64)>,
}

impl Touched {
    /// From this instruction on.
    pub(crate) fn new(image: Arc<Image>, from: u64, instructions: u64) -> Self {
        let width = instructions.div_ceil(COLUMNS as u64).max(1);
        Touched {
            image,
            shift: 6,
            from,
            width,
            rows: BTreeMap::new(),
            unplaced: 0,
            accesses: 0,
            function: None,
        }
    }

    /// As it was stored; `None` if the page could not show it.
    pub(crate) fn restore(self) -> Option<Self> {
        let is_whole = self.rows.values().all(|row| row.cells.len() == COLUMNS);
        (self.shift < u64::BITS && self.width > 0 && is_whole).then_some(self)
    }

    /// Takes in a batch of the source.
    pub(crate) fn take(&mut self, batch: &Batch) {
        if batch.mem.is_empty() {
            return;
        }
        let mut number = batch.first_instruction;
        for event in &batch.events {
            let (accesses, pc) = match &event.kind {
                EventKind::Step(step) => (step.accesses, step.pc),
                EventKind::Run(run) => (batch.accesses_of(run), Some(run.start)),
                _ => continue,
            };
            for access in batch.mem_of(accesses) {
                let is_write = match access.kind {
                    MemKind::Read => false,
                    MemKind::Write | MemKind::ReadWrite => true,
                    _ => continue,
                };
                self.accesses += 1;
                if access.unplaced {
                    self.unplaced += 1;
                    continue;
                }
                let who = pc.and_then(|pc| self.function(pc));
                self.touch(access.address, number, is_write, who);
            }
            number += event.kind.instructions();
        }
    }

    fn function(&mut self, pc: u64) -> Option<u64> {
        if let Some((start, end)) = self.function
            && (start..end).contains(&pc)
        {
            return Some(start);
        }
        let (symbol, _) = self.image.symbol(pc)?;
        self.function = Some((symbol.address, symbol.address.saturating_add(symbol.size)));
        Some(symbol.address)
    }

    fn touch(&mut self, address: u64, number: u64, is_write: bool, who: Option<u64>) {
        let column = (number.saturating_sub(self.from) / self.width) as usize;
        if column >= COLUMNS {
            self.widen();
            return self.touch(address, number, is_write, who);
        }
        let row = self.rows.entry(address >> self.shift).or_insert_with(|| Row {
            cells: vec![[0; 2]; COLUMNS],
            first: number,
            ..Row::default()
        });
        row.last = number;
        let cell = &mut row.cells[column][usize::from(is_write)];
        *cell = cell.saturating_add(1);
        *(if is_write { &mut row.writes } else { &mut row.reads }) += 1;
        row.credit(who, [u64::from(!is_write), u64::from(is_write)]);
        while self.rows.len() > ROWS {
            self.coarsen();
        }
    }

    /// Columns of twice the width.
    fn widen(&mut self) {
        self.width *= 2;
        for row in self.rows.values_mut() {
            let pair = |pair: &[[u32; 2]]| {
                [0, 1].map(|n| pair.iter().fold(0u32, |sum, cell| sum.saturating_add(cell[n])))
            };
            let mut cells: Vec<[u32; 2]> = row.cells.chunks(2).map(pair).collect();
            cells.resize(COLUMNS, [0; 2]);
            row.cells = cells;
        }
    }

    /// Rows of twice the size.
    fn coarsen(&mut self) {
        self.shift += 1;
        for (place, row) in std::mem::take(&mut self.rows) {
            match self.rows.entry(place >> 1) {
                std::collections::btree_map::Entry::Vacant(vacant) => drop(vacant.insert(row)),
                std::collections::btree_map::Entry::Occupied(mut known) => known.get_mut().join(row),
            }
        }
    }

    /// For the page; functions are named by `label`.
    pub(crate) fn map(&self, label: &dyn Fn(u64) -> String) -> Memory {
        let piece = |(place, row): (&u64, &Row)| {
            let mut who = row.who.clone();
            who.sort_by_key(|one| std::cmp::Reverse(one.1[0] + one.1[1]));
            let who = who.iter().map(|(at, [r, w])| Who { name: at.map(label), r: *r, w: *w }).collect();
            let touched = row.cells.iter().zip(0u64..).filter(|(cell, _)| **cell != [0; 2]);
            let cells = touched.map(|([r, w], column)| Cell { column, r: (*r).into(), w: (*w).into() });
            Piece {
                a: Hex::Word(place << self.shift),
                r: row.reads,
                w: row.writes,
                first: row.first,
                last: row.last,
                who,
                others: row.others,
                cells: Long(cells.collect()),
            }
        };
        Memory {
            size: 1u64.checked_shl(self.shift),
            from: self.from,
            width: self.width,
            accesses: self.accesses,
            unplaced: self.unplaced,
            rows: self.rows.iter().map(piece).collect(),
        }
    }
}

impl Row {
    fn join(&mut self, other: Row) {
        for (cell, more) in self.cells.iter_mut().zip(other.cells) {
            *cell = [0, 1].map(|n| cell[n].saturating_add(more[n]));
        }
        self.reads += other.reads;
        self.writes += other.writes;
        (self.first, self.last) = (self.first.min(other.first), self.last.max(other.last));
        self.others += other.others;
        for (who, counts) in other.who {
            self.credit(who, counts);
        }
    }

    /// Adds accesses of a function.
    fn credit(&mut self, who: Option<u64>, counts: [u64; 2]) {
        let has_room = self.who.len() < WHO;
        match self.who.iter_mut().find(|known| known.0 == who) {
            Some(known) => known.1 = [0, 1].map(|n| known.1[n] + counts[n]),
            None if has_room => self.who.push((who, counts)),
            None => self.others += counts[0] + counts[1],
        }
    }
}

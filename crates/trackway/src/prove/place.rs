//! Where the stretches of a result lie in the original.
//!
//! Between two gaps a result is a stretch of the original without a hole. Each stretch is searched for as a whole, after
//! the end of the one before it; taking the earliest place never spoils a later one.

use std::collections::VecDeque;

use trackway_core::{Fact, Found, Result};

use super::cells::{Cell, Cells};

/// Instructions of a stretch that are searched for; the rest is compared where it then has to be.
const SEARCHED: usize = 4 << 20;

/// Instructions at the end of a stretch whose data are compared: turns of a loop that differ by them alone are short
/// stretches.
const COMPARED: usize = 64;

/// Facts by which stretches with the same addresses are told apart.
pub(super) const DATA: [Fact; 3] = [Fact::RegisterReads, Fact::MemoryAccesses, Fact::MemoryData];

/// Registers and memory that the last instructions read and wrote.
#[derive(Default)]
struct Data(VecDeque<Vec<Found>>);

impl Data {
    fn push(&mut self, cell: &Cell) {
        // The oldest list is filled again.
        let mut data =
            if self.0.len() == COMPARED { self.0.pop_front().unwrap_or_default() } else { Vec::new() };
        data.clear();
        data.extend(cell.own.iter().filter(|found| DATA.contains(&found.0)));
        self.0.push_back(data);
    }

    /// True if the last instructions of the original have that share of the data of those of the result.
    fn have(&self, result: &Data, quarters: usize) -> bool {
        let (mut found, mut all) = (0, 0);
        for (ours, theirs) in self.0.iter().rev().zip(result.0.iter().rev()) {
            found += theirs.iter().filter(|found| ours.contains(found)).count();
            all += theirs.len();
        }
        4 * found >= quarters * all
    }
}

/// Places of the stretches of `result` in `original`: index of the first instruction in each. `Err(n)` holds the index
/// in the result of the first stretch that is nowhere.
/// Of the data of a stretch that many `quarters` have to be there too: turns of a loop may differ by nothing else.
pub(super) fn places(
    original: &mut Cells,
    result: &mut Cells,
    quarters: usize,
) -> Result<Result<Vec<u64>, u64>> {
    let mut places = Vec::new();
    let (mut cell, mut text) = (Cell::default(), Cell::default());
    let mut stretch = Vec::new();
    let mut data = Data::default();
    // Outcome of its last instruction, which the next one does not show.
    let mut last = None;
    let (mut at, mut first) = (0, 0);
    let mut more = true;
    while more {
        more = result.next(&mut cell)?;
        let ends = !more || cell.gap;
        if ends && !stretch.is_empty() {
            match find(original, &mut text, (&stretch, last, &data), quarters, &mut at)? {
                Some(place) => places.push(place),
                None => return Ok(Err(first)),
            }
            first += stretch.len() as u64;
            stretch.clear();
            data = Data::default();
        }
        if more && stretch.len() < SEARCHED {
            last = outcome(&cell);
            stretch.push(cell.pc);
            if quarters > 0 {
                data.push(&cell);
            }
        } else if more {
            // Compared later; here it is only passed over.
            first += 1;
            at += u64::from(original.next(&mut text)?);
        }
    }
    Ok(Ok(places))
}

fn outcome(cell: &Cell) -> Option<u64> {
    cell.own.iter().find(|found| found.0 == Fact::Outcomes).map(|found| found.1)
}

/// The next place of `stretch`, by Knuth, Morris and Pratt; `at` is the number of instructions read so far.
fn find(
    original: &mut Cells,
    cell: &mut Cell,
    (stretch, last, data): (&[Option<u64>], Option<u64>, &Data),
    quarters: usize,
    at: &mut u64,
) -> Result<Option<u64>> {
    // borders[n]: length of the longest proper prefix of stretch[..n] that is also its suffix.
    let mut borders = vec![0u32; stretch.len() + 1];
    let mut border = 0;
    for n in 1..stretch.len() {
        while border > 0 && stretch[n] != stretch[border] {
            border = borders[border] as usize;
        }
        border += usize::from(stretch[n] == stretch[border]);
        borders[n + 1] = border as u32;
    }
    let mut recent = Data::default();
    let mut matched = 0;
    while matched < stretch.len() {
        if !original.next(cell)? {
            return Ok(None);
        }
        *at += 1;
        if quarters > 0 {
            recent.push(cell);
        }
        while matched > 0 && stretch[matched] != cell.pc {
            matched = borders[matched] as usize;
        }
        matched += usize::from(stretch[matched] == cell.pc);
        // One turn of a loop is like the other but for the way out of the last, or what it reads.
        let differs = || {
            outcome(cell).zip(last).is_some_and(|(one, other)| one != other) || !recent.have(data, quarters)
        };
        if matched == stretch.len() && differs() {
            matched = borders[matched] as usize;
        }
    }
    Ok(Some(*at - stretch.len() as u64))
}

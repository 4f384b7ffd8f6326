//! Where the stretches of a result lie in the original.
//!
//! Between two gaps a result is a stretch of the original without a hole. Each stretch is searched for as a whole, after
//! the end of the one before it; taking the earliest place never spoils a later one.

use trackway_core::{Fact, Result};

use super::cells::{Cell, Cells};

/// Instructions of a stretch that are searched for; the rest is compared where it then has to be.
const SEARCHED: usize = 4 << 20;

/// Places of the stretches of `result` in `original`: index of the first instruction in each. `Err(n)` holds the index
/// in the result of the first stretch that is nowhere.
/// `with_data` compares memory accesses too: turns of a loop differ by nothing else.
pub(super) fn places(
    original: &mut Cells,
    result: &mut Cells,
    with_data: bool,
) -> Result<Result<Vec<u64>, u64>> {
    let mut places = Vec::new();
    let (mut cell, mut text) = (Cell::default(), Cell::default());
    let mut stretch = Vec::new();
    // Outcome of its last instruction, which the next one does not show.
    let mut last = None;
    let (mut at, mut first) = (0, 0);
    let mut more = true;
    while more {
        more = result.next(&mut cell)?;
        let ends = !more || cell.gap;
        if ends && !stretch.is_empty() {
            match find(original, &mut text, (&stretch, last), with_data, &mut at)? {
                Some(place) => places.push(place),
                None => return Ok(Err(first)),
            }
            first += stretch.len() as u64;
            stretch.clear();
        }
        if more && stretch.len() < SEARCHED {
            last = outcome(&cell);
            stretch.push(symbol(&cell, with_data));
        } else if more {
            // Compared later; here it is only passed over.
            first += 1;
            at += u64::from(original.next(&mut text)?);
        }
    }
    Ok(Ok(places))
}

/// Symbol of a cell, by which stretches are compared.
fn symbol(cell: &Cell, with_data: bool) -> u64 {
    let is_data = |fact| with_data && matches!(fact, Fact::MemoryAccesses | Fact::MemoryData);
    let data = cell.own.iter().filter(|(fact, _)| is_data(*fact));
    data.fold(cell.pc, |symbol, (_, value)| (symbol ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn outcome(cell: &Cell) -> Option<u64> {
    cell.own.iter().find(|found| found.0 == Fact::Outcomes).map(|found| found.1)
}

/// The next place of `stretch`, by Knuth, Morris and Pratt; `at` is the number of instructions read so far.
fn find(
    original: &mut Cells,
    cell: &mut Cell,
    (stretch, last): (&[u64], Option<u64>),
    with_data: bool,
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
    let mut matched = 0;
    while matched < stretch.len() {
        if !original.next(cell)? {
            return Ok(None);
        }
        *at += 1;
        let symbol = symbol(cell, with_data);
        while matched > 0 && stretch[matched] != symbol {
            matched = borders[matched] as usize;
        }
        matched += usize::from(stretch[matched] == symbol);
        // One turn of a loop is like the other but for the way out of the last.
        if matched == stretch.len() && outcome(cell).zip(last).is_some_and(|(one, other)| one != other) {
            matched = borders[matched] as usize;
        }
    }
    Ok(Some(*at - stretch.len() as u64))
}

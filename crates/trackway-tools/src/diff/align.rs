//! Alignment of two sequences of keys: which stretches of one have no counterpart in the other.
//!
//! Fewest edits first (an insertion, a deletion or a change of one key each), by the furthest point that each number of
//! edits reaches on each diagonal (Ukkonen; Landau and Vishkin). Where that takes too many, keys that occur once in both
//! sequences hold the rest together.

use super::anchors::{chain, nearest};
use super::hunk::{Alignment, Hunk};

/// Edits up to which the fewest are searched: their steps are kept, 4 bytes for each pair of them.
const FEWEST: usize = 2048;
/// Edits to refine a hunk between two anchors.
const REFINED: usize = 256;

/// Aligns the beginnings of two sequences that continue, or all of them if both are `closed`. At most a quarter of the
/// shorter one may be edits, unless there is nothing more to read.
pub(super) fn align(x: &[u64], y: &[u64], closed: bool, last: bool) -> Option<Alignment> {
    if closed {
        return Some(whole(x, y));
    }
    let shorter = x.len().min(y.len());
    let most = if last { shorter } else { shorter / 4 + 2 };
    let found = fewest(x, y, most.min(FEWEST), false)
        .or_else(|| anchored(x, y).filter(|found| found.edits() <= most))
        .or_else(|| if last { nearest(x, y) } else { None });
    found.map(|alignment| merged(x, y, alignment))
}

/// Aligns two complete sequences.
fn whole(x: &[u64], y: &[u64]) -> Alignment {
    let tail = x.iter().rev().zip(y.iter().rev()).take_while(|(one, other)| one == other).count();
    let (p, q) = (x.len() - tail, y.len() - tail);
    // A key may be the end of the one and the beginning of the other.
    let head = x[..p].iter().zip(&y[..q]).take_while(|(one, other)| one == other).count();
    let mut hunks = refined(&x[head..p], &y[head..q]);
    hunks.iter_mut().for_each(|hunk| (hunk.a, hunk.b) = (hunk.a + head, hunk.b + head));
    merged(x, y, Alignment { hunks, end: (x.len(), y.len()) })
}

/// The hunks of a hole whose both ends are fixed.
fn refined(x: &[u64], y: &[u64]) -> Vec<Hunk> {
    let all = Hunk { a: 0, b: 0, deleted: x.len(), inserted: y.len() };
    if x.is_empty() && y.is_empty() {
        return Vec::new();
    }
    if x.is_empty() || y.is_empty() {
        return vec![all];
    }
    let most = if x.len().max(y.len()) <= 4 * FEWEST { FEWEST } else { REFINED };
    if let Some(found) = fewest(x, y, most, true) {
        return found.hunks;
    }
    let Some(mut found) = anchored(x, y) else { return vec![all] };
    let (p, q) = found.end;
    if (p, q) != (x.len(), y.len()) {
        found.hunks.push(Hunk { a: p, b: q, deleted: x.len() - p, inserted: y.len() - q });
    }
    found.hunks
}

/// The alignment with the fewest edits, at most `most`: to both ends if they are `closed`, else to the first end reached.
fn fewest(x: &[u64], y: &[u64], most: usize, closed: bool) -> Option<Alignment> {
    let (n, m) = (x.len() as i64, y.len() as i64);
    if closed && (n - m).unsigned_abs() as usize > most {
        return None;
    }
    // For each number of edits d and diagonal k = x - y in -d..=d: the furthest x, at d * d + d + k.
    let mut rows: Vec<i32> = Vec::new();
    for d in 0..=most as i64 {
        let mut best: Option<(i64, i64)> = None;
        for k in -d..=d {
            let from = if d == 0 { 0 } else { step(&rows, d, k, n, m).map_or(-1, |(x, _)| x) };
            let mut at = from;
            if at >= 0 {
                let (ahead, behind) = (&x[at as usize..], &y[(at - k) as usize..]);
                at += ahead.iter().zip(behind).take_while(|(one, other)| one == other).count() as i64;
                let (left, right) = (at == n, at - k == m);
                let ends = if closed { left && right } else { left || right };
                // The furthest; near the diagonal if there are several.
                if ends && best.is_none_or(|(old, was)| (2 * at - k, -k.abs()) > (2 * old - was, -was.abs()))
                {
                    best = Some((at, k));
                }
            }
            rows.push(at as i32);
        }
        if let Some((at, k)) = best {
            return Some(Alignment {
                hunks: traced(&rows, d, k, n, m),
                end: (at as usize, (at - k) as usize),
            });
        }
    }
    None
}

/// An edit, seen from the point that it leads to.
#[derive(Clone, Copy, PartialEq)]
enum Edit {
    Change,
    Delete,
    Insert,
}

/// Where the `d`th edit leads to on diagonal `k` at the furthest, and which it is.
fn step(rows: &[i32], d: i64, k: i64, n: i64, m: i64) -> Option<(i64, Edit)> {
    let before = |k: i64| {
        (k.abs() < d).then(|| i64::from(rows[((d - 1) * (d - 1) + d - 1 + k) as usize])).filter(|x| *x >= 0)
    };
    let change = before(k).map(|x| (x + 1, Edit::Change));
    let delete = before(k - 1).map(|x| (x + 1, Edit::Delete));
    let insert = before(k + 1).map(|x| (x, Edit::Insert));
    let inside = |found: &(i64, Edit)| found.0 <= n && found.0 - k >= 0 && found.0 - k <= m;
    // The first of equals: changes stay on their diagonal.
    [change, delete, insert]
        .into_iter()
        .flatten()
        .filter(inside)
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
}

/// The hunks of the way to the furthest point of `d` edits on diagonal `k`.
fn traced(rows: &[i32], mut d: i64, mut k: i64, n: i64, m: i64) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    while d > 0 {
        let Some((x, edit)) = step(rows, d, k, n, m) else { break };
        let (mut a, mut b) = (x as usize, (x - k) as usize);
        let (deleted, inserted) = (usize::from(edit != Edit::Insert), usize::from(edit != Edit::Delete));
        (a, b) = (a - deleted, b - inserted);
        k -= deleted as i64 - inserted as i64;
        d -= 1;
        match hunks.last_mut() {
            Some(hunk) if (a + deleted, b + inserted) == (hunk.a, hunk.b) => {
                *hunk = Hunk { a, b, deleted: hunk.deleted + deleted, inserted: hunk.inserted + inserted };
            }
            _ => hunks.push(Hunk { a, b, deleted, inserted }),
        }
    }
    hunks.reverse();
    hunks
}

/// An alignment held together by keys that are alone in both.
fn anchored(x: &[u64], y: &[u64]) -> Option<Alignment> {
    let mut found = Alignment::default();
    for (a, b, length) in chain(x, y)? {
        let (from_a, from_b) = found.end;
        let hole = refined_hole(&x[from_a..a], &y[from_b..b]);
        found.hunks.extend(hole.into_iter().map(|hunk| Hunk {
            a: hunk.a + from_a,
            b: hunk.b + from_b,
            ..hunk
        }));
        found.end = (a + length, b + length);
    }
    Some(found)
}

fn refined_hole(x: &[u64], y: &[u64]) -> Vec<Hunk> {
    let all = Hunk { a: 0, b: 0, deleted: x.len(), inserted: y.len() };
    match (x.len(), y.len()) {
        (0, 0) => Vec::new(),
        (0, _) | (_, 0) => vec![all],
        _ => fewest(x, y, REFINED, true).map_or_else(|| vec![all], |found| found.hunks),
    }
}

/// Joins hunks that are one: insertions that can be moved together, and those between which a few keys agree by chance.
fn merged(x: &[u64], y: &[u64], alignment: Alignment) -> Alignment {
    let mut hunks: Vec<Hunk> = Vec::with_capacity(alignment.hunks.len());
    for mut hunk in alignment.hunks {
        while let Some(joined) = hunks.last().and_then(|last| by_chance(last, &hunk)) {
            hunks.pop();
            hunk = joined;
        }
        if !gather(x, y, &mut hunks, &hunk) {
            hunks.push(hunk);
        }
    }
    Alignment { hunks, ..alignment }
}

/// Fewer keys agree between two hunks than differ in each: they are one.
fn by_chance(first: &Hunk, second: &Hunk) -> Option<Hunk> {
    let run = second.a - (first.a + first.deleted);
    let few = run < first.edits().min(second.edits()).min(64);
    (few && !(first.is_square() && second.is_square())).then(|| Hunk {
        a: first.a,
        b: first.b,
        deleted: first.deleted + run + second.deleted,
        inserted: first.inserted + run + second.inserted,
    })
}

/// Moves an insertion or deletion together with the one before it, if that takes no more edits; changes may lie between.
fn gather(x: &[u64], y: &[u64], hunks: &mut Vec<Hunk>, second: &Hunk) -> bool {
    let Some(place) = hunks.iter().rposition(|hunk| !hunk.is_square()) else { return false };
    let first = hunks[place];
    let inserts = first.deleted == 0 && second.deleted == 0;
    if !inserts && (first.inserted > 0 || second.inserted > 0) {
        return false;
    }
    let most: usize = hunks[place + 1..].iter().map(Hunk::edits).sum();
    let (deleted, inserted) = (first.deleted + second.deleted, first.inserted + second.inserted);
    // Keys between them, and where they are in the longer sequence before and after both.
    let run = if inserts { second.a - first.a } else { second.b - first.b };
    let up = (first.a + deleted, first.b + inserted);
    let down = (first.a, first.b);
    for (at, from) in [((first.a, first.b), up), ((first.a + run, first.b + run), down)] {
        let differs = |n: &usize| x[from.0 + n] != y[from.1 + n];
        let changed: Vec<usize> = (0..run).filter(differs).take(most + 1).collect();
        if changed.len() > most {
            continue;
        }
        hunks.truncate(place);
        let whole = Hunk { a: at.0, b: at.1, deleted, inserted };
        let changes =
            changed.into_iter().map(|n| Hunk { a: from.0 + n, b: from.1 + n, deleted: 1, inserted: 1 });
        if from == down {
            hunks.extend(changes);
            hunks.push(whole);
        } else {
            hunks.push(whole);
            hunks.extend(changes);
        }
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(a: usize, b: usize, deleted: usize, inserted: usize) -> Hunk {
        Hunk { a, b, deleted, inserted }
    }

    fn aligned(x: &[u64], y: &[u64]) -> Vec<Hunk> {
        align(x, y, true, true).expect("complete ones always align").hunks
    }

    #[test]
    fn small_edits() {
        let x: Vec<u64> = (0..100).collect();
        let mut y = x.clone();
        assert_eq!(aligned(&x, &y), []);
        y[50] = 1000;
        assert_eq!(aligned(&x, &y), [hunk(50, 50, 1, 1)]);
        y.remove(70);
        assert_eq!(aligned(&x, &y), [hunk(50, 50, 1, 1), hunk(70, 70, 1, 0)]);
        y.splice(20..20, 2000..2007);
        assert_eq!(aligned(&x, &y), [hunk(20, 20, 0, 7), hunk(50, 57, 1, 1), hunk(70, 77, 1, 0)]);
        assert_eq!(aligned(&[], &y), [hunk(0, 0, 0, 106)]);
        assert_eq!(aligned(&x, &[]), [hunk(0, 0, 100, 0)]);
        assert_eq!(aligned(&[1, 2], &[3]), [hunk(0, 0, 2, 1)]);
    }

    /// More turns of a loop are one insertion, wherever it is put.
    #[test]
    fn loops() {
        let turns = |n: u64| (0..5 * n).map(|n| n % 5).collect::<Vec<_>>();
        let tail: Vec<u64> = (100..200).collect();
        let (x, y) = ([turns(30), tail.clone()].concat(), [turns(230), tail].concat());
        for (one, other, deleted, inserted) in [(&x, &y, 0, 1000), (&y, &x, 1000, 0)] {
            let found = aligned(one, other);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!((found[0].deleted, found[0].inserted), (deleted, inserted));
        }
    }

    /// Beginnings are aligned as far as the shorter one goes, and only with few edits.
    #[test]
    fn open_ends() {
        let x: Vec<u64> = (0..4096).collect();
        let y: Vec<u64> = (5000..6000).chain(0..3096).collect();
        let found = align(&x, &y, false, false).expect("a quarter");
        assert_eq!((found.hunks, found.end), (vec![hunk(0, 0, 0, 1000)], (3096, 4096)));
        assert_eq!(align(&x[..1024], &y[..1024], false, false), None);
        let other: Vec<u64> = (10_000..14_096).collect();
        assert_eq!(align(&x, &other, false, true), None);
    }

    /// Long insertions are found by keys that are alone.
    #[test]
    fn long_insertions() {
        let x: Vec<u64> = (0..40_000).collect();
        let y: Vec<u64> = (100_000..110_000).chain(0..30_000).collect();
        let found = align(&x, &y, false, false).expect("a quarter");
        assert_eq!((found.hunks, found.end), (vec![hunk(0, 0, 0, 10_000)], (30_000, 40_000)));
    }
}

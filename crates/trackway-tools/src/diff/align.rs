//! Alignment of two sequences of keys: which stretches of one have no counterpart in the other.
//!
//! The cheapest alignment first: a key without a partner costs 1, a hunk of them `HUNK`. It is searched by the furthest
//! point that each cost reaches on each diagonal (Ukkonen; Myers; Marco-Sola). Where that costs too much, stretches of keys
//! that occur once in both sequences hold the rest together.

use super::anchors::{chain, nearest};
use super::hunk::{Alignment, HUNK, Hunk};

/// Cost up to which the cheapest alignment is searched: its table takes 4 bytes for each pair of costs.
const CHEAPEST: usize = 3072;
/// Cost to refine a hunk between two anchors.
const REFINED: usize = 512;
/// Explanations that cost so much more, or twice as much, are compared with the cheapest.
const RIVALS: i64 = 64;

/// Aligns the beginnings of two sequences that continue, or all of them if both are `closed`. At most a quarter
/// may differ, unless there is nothing more to read.
pub(super) fn align(x: &[u64], y: &[u64], closed: bool, last: bool) -> Option<Alignment> {
    if closed {
        return Some(whole(x, y));
    }
    let most = |length: usize| if last { length } else { length / 4 + 2 };
    let few = |found: &Alignment| found.edits() <= most(found.end.0.max(found.end.1));
    let found = cheapest(x, y, (2 * most(x.len().min(y.len()))).min(CHEAPEST), false)
        .filter(few)
        .or_else(|| anchored(x, y).filter(few))
        .or_else(|| if last { nearest(x, y) } else { None });
    found.map(merged)
}

/// Aligns two complete sequences; if that costs too much, only half of the result is settled.
fn whole(x: &[u64], y: &[u64]) -> Alignment {
    let tail = x.iter().rev().zip(y.iter().rev()).take_while(|(one, other)| one == other).count();
    let (p, q) = (x.len() - tail, y.len() - tail);
    // A key may be the end of the one and the beginning of the other.
    let head = x[..p].iter().zip(&y[..q]).take_while(|(one, other)| one == other).count();
    let (ours, theirs) = (&x[head..p], &y[head..q]);
    let exact = hole(ours, theirs, CHEAPEST);
    let mut hunks = exact.clone().unwrap_or_else(|| {
        let Alignment { mut hunks, end: (a, b), .. } = anchored(ours, theirs).unwrap_or_default();
        if (a, b) != (ours.len(), theirs.len()) {
            hunks.push(Hunk { a, b, deleted: ours.len() - a, inserted: theirs.len() - b });
        }
        hunks
    });
    hunks.iter_mut().for_each(|hunk| (hunk.a, hunk.b) = (hunk.a + head, hunk.b + head));
    let mut found = Alignment::new(hunks, (x.len(), y.len()));
    if exact.is_none() {
        found.settled /= 2;
    }
    merged(found)
}

/// The hunks of a hole whose both ends are fixed, if they cost at most `most`.
fn hole(x: &[u64], y: &[u64], most: usize) -> Option<Vec<Hunk>> {
    match (x.len(), y.len()) {
        (0, 0) => Some(Vec::new()),
        (deleted, inserted) if deleted == 0 || inserted == 0 => {
            Some(vec![Hunk { a: 0, b: 0, deleted, inserted }])
        }
        _ => cheapest(x, y, most, true).map(|found| found.hunks),
    }
}

/// The cheapest alignment, at most of cost `most`: to both ends if they are `closed`, else to the first end reached, and
/// settled as far as no other explanation can become cheaper by the keys that follow.
fn cheapest(x: &[u64], y: &[u64], most: usize, closed: bool) -> Option<Alignment> {
    let mut table = Table { n: x.len() as i64, m: y.len() as i64, rows: Vec::new() };
    let Table { n, m, .. } = table;
    if closed && (n - m).unsigned_abs() as usize > most {
        return None;
    }
    let is_end = |at: i64, k: i64| {
        let (left, right) = (at == n, at - k == m);
        if closed { left && right } else { left || right }
    };
    let mut ends: Vec<End> = Vec::new();
    let mut most = most as i64;
    let mut d = 0;
    while d <= most {
        for k in (-d..=d).step_by(2) {
            let edited = if d == 0 { 0 } else { table.step(d, k).map_or(-1, |step| step.to) };
            let mut at = edited;
            if at >= 0 {
                let (ahead, others) = (&x[at as usize..], &y[(at - k) as usize..]);
                at += ahead.iter().zip(others).take_while(|(one, other)| one == other).count() as i64;
                let cheaper = if k.abs() > d - 2 { -1 } else { table.get(d - 2, k)[1] };
                if is_end(at, k) && !is_end(cheaper.into(), k) {
                    ends.push(End { cost: d, at, k });
                }
            }
            table.rows.push([edited as i32, at as i32]);
        }
        if let Some(first) = ends.first() {
            if closed {
                break;
            }
            most = most.min(2 * first.cost + RIVALS);
        }
        d += 1;
    }
    // The furthest of the cheapest; near the diagonal if there are several.
    let &best = ends.iter().min_by_key(|end| (end.cost, end.k - 2 * end.at, end.k.abs()))?;
    let mut found =
        Alignment::new(table.traced(best.cost, best.k), (best.at as usize, (best.at - best.k) as usize));
    // Without enough that agrees after it, a hunk may continue, and the one before it too.
    let mut cost = 0;
    for hunk in found.hunks.iter().rev() {
        cost += hunk.cost();
        if (found.end.0 - hunk.a).min(found.end.1 - hunk.b) < 4 * cost + RIVALS as usize {
            found.settled = hunk.a;
        }
    }
    // Another one can be no better in the end if the cheapest gets to its diagonal, by another hunk, for as much.
    ends.retain(|end| end.k != best.k && end.cost < best.cost + HUNK as i64 + (end.k - best.k).abs());
    for rival in ends {
        found.settle(&table.traced(rival.cost, rival.k));
    }
    Some(found)
}

/// A way to the end of a sequence: its cost, the place in `x`, the diagonal.
#[derive(Clone, Copy, Debug)]
struct End {
    cost: i64,
    at: i64,
    k: i64,
}

/// For each cost d and diagonal k = x - y in -d, -d + 2 ..= d: the furthest x after a hunk, and after the keys that agree
/// from there on; -1 for none.
struct Table {
    n: i64,
    m: i64,
    rows: Vec<[i32; 2]>,
}

/// The last key without a partner on the way to a point.
#[derive(Clone, Copy)]
struct Step {
    to: i64,
    /// It is one of `x`.
    deleted: bool,
    /// The cost before it.
    before: i64,
}

impl Table {
    fn get(&self, d: i64, k: i64) -> [i32; 2] {
        self.rows[(d * (d + 1) / 2 + (d + k) / 2) as usize]
    }

    /// Where cost `d` leads to on diagonal `k` at the furthest, before keys that agree.
    fn step(&self, d: i64, k: i64) -> Option<Step> {
        let mut best: Option<Step> = None;
        // The first key of a hunk, or another one of the same hunk.
        for (before, agreed) in [(d - 1 - HUNK as i64, 1), (d - 1, 0)] {
            if before < 0 || before == 0 && agreed == 0 {
                continue;
            }
            for deleted in [true, false] {
                let from = if deleted { k - 1 } else { k + 1 };
                if from.abs() > before {
                    continue;
                }
                let x = i64::from(self.get(before, from)[agreed]);
                let to = x + i64::from(deleted);
                let inside = x >= 0 && to <= self.n && to - k >= 0 && to - k <= self.m;
                if inside && best.is_none_or(|best| to > best.to) {
                    best = Some(Step { to, deleted, before });
                }
            }
        }
        best
    }

    /// The hunks of the way to the furthest point of cost `d` on diagonal `k`.
    fn traced(&self, mut d: i64, mut k: i64) -> Vec<Hunk> {
        let mut hunks: Vec<Hunk> = Vec::new();
        while d > 0 {
            let Some(Step { to, deleted, before }) = self.step(d, k) else { break };
            let (deleted, inserted) = (usize::from(deleted), usize::from(!deleted));
            let (a, b) = (to as usize - deleted, (to - k) as usize - inserted);
            k -= deleted as i64 - inserted as i64;
            d = before;
            match hunks.last_mut() {
                Some(hunk) if (a + deleted, b + inserted) == (hunk.a, hunk.b) => {
                    *hunk =
                        Hunk { a, b, deleted: hunk.deleted + deleted, inserted: hunk.inserted + inserted };
                }
                _ => hunks.push(Hunk { a, b, deleted, inserted }),
            }
        }
        hunks.reverse();
        hunks
    }
}

/// An alignment held together by keys that are alone in both.
fn anchored(x: &[u64], y: &[u64]) -> Option<Alignment> {
    let mut found = Alignment::default();
    for (a, b, length) in chain(x, y)? {
        let (from_a, from_b) = found.end;
        let all = Hunk { a: 0, b: 0, deleted: a - from_a, inserted: b - from_b };
        let hole = hole(&x[from_a..a], &y[from_b..b], REFINED).unwrap_or_else(|| vec![all]);
        found.hunks.extend(hole.into_iter().map(|hunk| Hunk {
            a: hunk.a + from_a,
            b: hunk.b + from_b,
            ..hunk
        }));
        found.end = (a + length, b + length);
    }
    found.settled = found.end.0 / 2;
    Some(found)
}

/// Joins hunks between which a few keys agree by chance.
fn merged(mut alignment: Alignment) -> Alignment {
    let mut hunks: Vec<Hunk> = Vec::with_capacity(alignment.hunks.len());
    for mut hunk in alignment.hunks {
        while let Some(joined) = hunks.last().and_then(|last| by_chance(last, &hunk)) {
            hunks.pop();
            hunk = joined;
        }
        hunks.push(hunk);
    }
    alignment.hunks = hunks;
    alignment
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

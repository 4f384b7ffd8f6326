//! Places that two sequences share, by short stretches of keys.

use super::hunk::{Alignment, Hunk};

/// Keys of a stretch that is searched for.
const STRETCH: usize = 32;

/// A digest of each stretch of `STRETCH` keys, with its place, sorted.
fn stretches(keys: &[u64]) -> Vec<(u64, u32)> {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut out = Vec::with_capacity(keys.len().saturating_sub(STRETCH - 1));
    let top = (1..STRETCH).fold(1u64, |power, _| power.wrapping_mul(BASE));
    let mut digest = 0u64;
    for (n, key) in keys.iter().enumerate() {
        if n >= STRETCH {
            digest = digest.wrapping_sub(keys[n - STRETCH].wrapping_mul(top));
        }
        digest = digest.wrapping_mul(BASE).wrapping_add(*key);
        if n + 1 >= STRETCH {
            out.push((digest, (n + 1 - STRETCH) as u32));
        }
    }
    out.sort_unstable();
    out
}

/// Only those that occur once.
fn alone(sorted: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
    sorted
        .chunk_by(|one, other| one.0 == other.0)
        .filter(|group| group.len() == 1)
        .map(|group| group[0])
        .collect()
}

/// Stretches of equal keys in the order of both: place in `x`, place in `y`, length. `None` if there are none.
pub(super) fn chain(x: &[u64], y: &[u64]) -> Option<Vec<(usize, usize, usize)>> {
    let (ours, theirs) = (alone(stretches(x)), alone(stretches(y)));
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let mut rest = &theirs[..];
    for (digest, a) in ours {
        rest = &rest[rest.partition_point(|other| other.0 < digest)..];
        if let Some(&(found, b)) = rest.first()
            && found == digest
        {
            pairs.push((a, b));
        }
    }
    pairs.sort_unstable();
    let mut out: Vec<(usize, usize, usize)> = Vec::new();
    for (a, b) in rising(&pairs) {
        let (mut a, mut b) = (a as usize, b as usize);
        let (end_a, end_b) = out.last().map_or((0, 0), |&(a, b, length)| (a + length, b + length));
        if a < end_a || b < end_b {
            continue;
        }
        while a > end_a && b > end_b && x[a - 1] == y[b - 1] {
            (a, b) = (a - 1, b - 1);
        }
        let length = x[a..].iter().zip(&y[b..]).take_while(|(one, other)| one == other).count();
        // Digests may collide.
        if length >= STRETCH {
            out.push((a, b, length));
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The longest part of `pairs`, which are sorted by their first, whose seconds rise.
fn rising(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    // Index of the pair with the smallest second that ends a rising part of each length; predecessors.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = Vec::with_capacity(pairs.len());
    for (n, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < pair.1);
        before.push(if length == 0 { usize::MAX } else { ends[length - 1] });
        if length == ends.len() { ends.push(n) } else { ends[length] = n }
    }
    let mut out = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied().unwrap_or(usize::MAX);
    while let Some(pair) = pairs.get(at) {
        out.push(*pair);
        at = before[at];
    }
    out.reverse();
    out
}

/// The cheapest hunk after which both have the same keys for a stretch.
pub(super) fn nearest(x: &[u64], y: &[u64]) -> Option<Alignment> {
    let mut ours = stretches(x);
    // The first of equals is the cheapest.
    ours.dedup_by_key(|stretch| stretch.0);
    let mut theirs = stretches(y);
    theirs.sort_unstable_by_key(|stretch| stretch.1);
    let mut best: Option<(usize, usize)> = None;
    for (digest, b) in theirs {
        let b = b as usize;
        if best.is_some_and(|(p, q)| b >= p + q) {
            break;
        }
        if let Ok(n) = ours.binary_search_by_key(&digest, |stretch| stretch.0) {
            let a = ours[n].1 as usize;
            if best.is_none_or(|(p, q)| a + b < p + q) && x[a..a + STRETCH] == y[b..b + STRETCH] {
                best = Some((a, b));
            }
        }
    }
    let (a, b) = best?;
    let length = x[a..].iter().zip(&y[b..]).take_while(|(one, other)| one == other).count();
    let hunks = vec![Hunk { a: 0, b: 0, deleted: a, inserted: b }];
    Some(Alignment::new(hunks, (a + length, b + length)))
}

/// The first place of `stretch` in `keys`.
pub(super) fn find(stretch: &[u64], keys: &[u64]) -> Option<usize> {
    keys.windows(stretch.len().max(1)).position(|window| window == stretch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rising_part() {
        let pairs = [(0, 3), (1, 0), (2, 1), (3, 4), (4, 2)];
        assert_eq!(rising(&pairs), [(1, 0), (2, 1), (4, 2)]);
        assert_eq!(rising(&[]), []);
    }

    #[test]
    fn the_nearest_common_place() {
        let x: Vec<u64> = (0..100).collect();
        let y: Vec<u64> = (500..507).chain(3..100).collect();
        let found = nearest(&x, &y).expect("a common stretch");
        assert_eq!(found.hunks, [Hunk { a: 0, b: 0, deleted: 3, inserted: 7 }]);
        assert_eq!(found.end, (100, 104));
        assert_eq!(find(&[5, 6], &x), Some(5));
        assert_eq!(find(&[6, 5], &x), None);
    }
}

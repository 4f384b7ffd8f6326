//! Clusters of intervals, and the interval that represents each.

use trackway_core::SplitMix64;

use super::intervals::{DIMENSIONS, Interval};

/// Times that k-means begins anew, and the most steps of each.
const SEEDS: u64 = 5;
const STEPS: usize = 100;

/// Intervals that are clustered; of more, every second, third and so on, and the others join the nearest cluster.
const SAMPLE: usize = 10_000;

/// The share of the range of the criterion that is enough.
const ENOUGH: f64 = 0.9;

/// The smallest variance: intervals that are equal have none, and its logarithm is needed.
const LEAST: f64 = 1e-12;

type Vector = [f64; DIMENSIONS];

/// An interval that represents others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Which interval.
    pub interval: usize,
    /// Share of all instructions that it represents.
    pub weight: f64,
    /// Intervals that it represents.
    pub intervals: usize,
}

/// The points of a trace, in their order: at most `most`, and at most the square root of the number of intervals.
pub fn choose(intervals: &[Interval], most: usize) -> Vec<Point> {
    let vectors: Vec<Vector> = intervals.iter().map(|interval| interval.vector).collect();
    if vectors.is_empty() {
        return Vec::new();
    }
    let every = vectors.len().div_ceil(SAMPLE);
    let sample: Vec<Vector> = vectors.iter().copied().step_by(every).collect();
    // Almost as many clusters as intervals leave no variance to judge by.
    let most = most.clamp(1, (sample.len() as f64).sqrt().ceil() as usize);
    let clusterings: Vec<Clustering> = (1..=most).map(|k| Clustering::best(&sample, k)).collect();
    let scores: Vec<f64> = clusterings.iter().map(Clustering::score).collect();
    let (low, high) = scores
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| (low.min(*score), high.max(*score)));
    let enough = scores.iter().position(|score| *score >= low + ENOUGH * (high - low)).unwrap_or(0);
    let middles = &clusterings[enough].middles;
    let member: Vec<usize> = vectors.iter().map(|vector| nearest(middles, vector).0).collect();
    let total: u64 = intervals.iter().map(|interval| interval.instructions).sum();
    let mut points = Vec::new();
    for (n, middle) in middles.iter().enumerate() {
        let members = || (0..vectors.len()).filter(|i| member[*i] == n);
        let nearest = members()
            .min_by(|a, b| distance(&vectors[*a], middle).total_cmp(&distance(&vectors[*b], middle)));
        let Some(interval) = nearest else { continue };
        let instructions: u64 = members().map(|i| intervals[i].instructions).sum();
        let weight = instructions as f64 / total.max(1) as f64;
        points.push(Point { interval, weight, intervals: members().count() });
    }
    points.sort_by_key(|point| point.interval);
    points
}

/// Vectors in clusters.
struct Clustering {
    middles: Vec<Vector>,
    /// The cluster of each vector.
    member: Vec<usize>,
    /// Sum of the squared distances to the middles.
    distortion: f64,
}

impl Clustering {
    /// The best of several beginnings.
    fn best(vectors: &[Vector], k: usize) -> Self {
        let mut best = Clustering::new(vectors, k, 0);
        for seed in 1..SEEDS {
            let other = Clustering::new(vectors, k, seed);
            if other.distortion < best.distortion {
                best = other;
            }
        }
        best
    }

    /// K-means, from middles that are vectors far from those chosen before.
    fn new(vectors: &[Vector], k: usize, seed: u64) -> Self {
        let mut random = SplitMix64(seed.wrapping_mul(0x0123_4567_89ab_cdef) ^ k as u64);
        let mut middles = vec![vectors[random.below(vectors.len() as u64) as usize]];
        while middles.len() < k {
            let far: Vec<f64> = vectors.iter().map(|vector| nearest(&middles, vector).1).collect();
            let mut left = random.next_u64() as f64 / u64::MAX as f64 * far.iter().sum::<f64>();
            let chosen = far.iter().position(|distance| {
                left -= distance;
                left < 0.0
            });
            // Fewer distinct vectors than clusters: the rest stay empty.
            let Some(chosen) = chosen else { break };
            middles.push(vectors[chosen]);
        }
        let mut member = vec![usize::MAX; vectors.len()];
        for _ in 0..STEPS {
            let now: Vec<usize> = vectors.iter().map(|vector| nearest(&middles, vector).0).collect();
            if now == member {
                break;
            }
            member = now;
            for (n, middle) in middles.iter_mut().enumerate() {
                let mut sum = [0.0; DIMENSIONS];
                let mut count = 0.0;
                for vector in
                    vectors.iter().zip(&member).filter(|(_, at)| **at == n).map(|(vector, _)| vector)
                {
                    sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
                    count += 1.0;
                }
                if count > 0.0 {
                    *middle = sum.map(|sum| sum / count);
                }
            }
        }
        let distortion =
            vectors.iter().zip(&member).map(|(vector, at)| distance(vector, &middles[*at])).sum();
        Clustering { middles, member, distortion }
    }

    /// The Bayesian information criterion of Pelleg and Moore: how likely the vectors are as spheres of one variance around
    /// the middles, less a penalty for each parameter.
    fn score(&self) -> f64 {
        let (r, k, m) = (self.member.len() as f64, self.middles.len() as f64, DIMENSIONS as f64);
        let variance = (self.distortion / (m * (r - k).max(1.0))).max(LEAST);
        let sizes = (0..self.middles.len()).map(|n| self.member.iter().filter(|at| **at == n).count() as f64);
        let shares: f64 = sizes.filter(|size| *size > 0.0).map(|size| size * (size / r).ln()).sum();
        let likelihood = shares
            - r * m / 2.0 * (2.0 * std::f64::consts::PI * variance).ln()
            - self.distortion / (2.0 * variance);
        let parameters = (k - 1.0) + m * k + 1.0;
        likelihood - parameters / 2.0 * r.ln()
    }
}

fn distance(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The nearest middle, and the squared distance to it.
fn nearest(middles: &[Vector], vector: &Vector) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (n, middle) in middles.iter().enumerate() {
        let distance = distance(vector, middle);
        if distance < best.1 {
            best = (n, distance);
        }
    }
    best
}

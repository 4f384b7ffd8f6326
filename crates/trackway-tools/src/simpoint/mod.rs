//! Simulation points: a few intervals of a trace that represent all of it.
//!
//! The method is that of SimPoint 3: the trace is cut into intervals of equal length; the vector of an interval has the
//! share of its instructions that each block executed; vectors are projected to 15 dimensions and clustered by
//! k-means, for every number of clusters; of those, the smallest is taken whose Bayesian information criterion reaches
//! 90 % of its range. The interval nearest to the middle of a cluster represents it, weighted by its instructions.
//! All random choices have fixed seeds: the same trace has the same points.
//!
//! ```
//! use trackway_core::*;
//! use trackway_tools::simpoint::{Intervals, choose};
//!
//! // 300 instructions of one loop, then 300 of another.
//! let mut batch = Batch::default();
//! for n in 0..600 {
//!     let pc = 0x8000 + if n < 300 { 0 } else { 0x100 } + 2 * (n % 10);
//!     let encoding = if n % 10 == 9 { 0xb7e5 } else { 0x0505 }; // c.addi a0, 1; c.j
//!     batch.push(0, EventKind::Step(Step::new(pc, encoding, 2)));
//! }
//! let mut intervals = Intervals::new(Isa::Rv64, &[], 100);
//! intervals.observe(&batch, &mut |_| ());
//! let intervals = intervals.finish(&mut |_| ());
//! let points = choose(&intervals, 30);
//! let weights: Vec<f64> = points.iter().map(|point| point.weight).collect();
//! assert_eq!(weights, [0.5, 0.5]);
//! ```

mod cluster;
mod intervals;

pub use cluster::{Point, choose};
pub use intervals::{DIMENSIONS, Facts, Interval, Intervals, Row};

use std::collections::BTreeMap;

/// A fact of the whole trace, and what the points say it is; both are shares of all instructions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// In the whole trace.
    pub whole: f64,
    /// By the points.
    pub weighted: f64,
}

/// Compares the shares of the whole trace with the weighted ones of the points.
pub fn estimates(intervals: &[Interval], points: &[Point]) -> BTreeMap<&'static str, Estimate> {
    let total: u64 = intervals.iter().map(|interval| interval.instructions).sum();
    let mut estimates: BTreeMap<&'static str, Estimate> = BTreeMap::new();
    let none = Estimate { whole: 0.0, weighted: 0.0 };
    for interval in intervals {
        for (name, count) in &interval.facts {
            estimates.entry(name).or_insert(none).whole += *count as f64 / total as f64;
        }
    }
    for point in points {
        let interval = &intervals[point.interval];
        for (name, count) in &interval.facts {
            let share = *count as f64 / interval.instructions as f64;
            estimates.entry(name).or_insert(none).weighted += point.weight * share;
        }
    }
    estimates
}

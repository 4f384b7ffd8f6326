//! Statistics beside counting the instructions (`info`) of the same trace, and the call tree, on one thread.

use trackway::{Counts, Options, Trace};
use trackway_bench::recorded::recorded_stf;
use trackway_bench::{Measure, run};
use trackway_core::{Batch, Observer};
use trackway_tools::calls::CallTree;
use trackway_tools::stats::Stats;

const INSTRUCTIONS: u64 = 2_000_000;
const PASSES: usize = 9;

fn main() {
    let options = || Options::default().threads(1);
    let stf = recorded_stf(INSTRUCTIONS);
    compare("STF", 4.0, &|| options().open_bytes(stf.clone()).expect("a good trace"));
    if let Some(folder) = trackway_testkit::corpus_part("ete/bugfix-exact-match") {
        compare("ETE", 5.0, &|| options().open(&folder).expect("a good trace"));
    }
}

/// Goals are those of `stats` against `info`.
fn compare(format: &str, goal: f64, open: &dyn Fn() -> Trace) {
    let [info, stats, calls] = ["info", "stats", "call tree"].map(|name| format!("{format}: {name}"));
    let results = run(
        PASSES,
        vec![
            Measure::prepared(&info, "instructions", open, |mut trace| {
                let mut counts = Counts::default();
                observe(&mut trace, &mut counts);
                counts.instructions
            }),
            Measure::prepared(&stats, "instructions", open, |mut trace| {
                let programs = trace.programs().expect("programs");
                let mut stats = Stats::new(trace.meta().isa, &programs);
                observe(&mut trace, &mut stats);
                let summary = stats.finish();
                summary.retired + summary.attempted
            }),
            Measure::prepared(&calls, "instructions", open, |mut trace| {
                let programs = trace.programs().expect("programs");
                let mut tree = CallTree::new(trace.meta().isa, &programs);
                let mut source = trace.events().expect("events");
                let mut batch = Batch::default();
                while source.fill(&mut batch).expect("a good trace") {
                    tree.observe(&batch);
                }
                tree.finish().tree.nodes().iter().map(|node| node.instructions).sum()
            }),
        ],
    );
    results.rate(&info);
    results.slower(&stats, &info, Some(goal));
    results.rate(&calls);
}

fn observe(trace: &mut Trace, observer: &mut dyn Observer) {
    let mut source = trace.events().expect("events");
    while source.observe(observer).expect("a good trace") {}
}

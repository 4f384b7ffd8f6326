//! Comparison of two equal STF traces with registers and memory, beside reading both.

use trackway::events::{Batch, Source};
use trackway_bench::recorded::recorded_stf;
use trackway_bench::{Measure, run};
use trackway_tools::diff::{Group, Options, diff};

const INSTRUCTIONS: u64 = 2_000_000;
const PASSES: usize = 9;

fn main() {
    let bytes = recorded_stf(INSTRUCTIONS);
    let open = || {
        let trace = trackway::Options::default().threads(1).open_bytes(bytes.clone());
        trace.and_then(|mut trace| trace.events()).expect("a good trace")
    };
    let both = || (open(), open());
    let results = run(
        PASSES,
        vec![
            Measure::prepared("reading both", "instructions", both, |(mut a, mut b)| {
                read(&mut *a) + read(&mut *b)
            }),
            Measure::prepared("diff of equal traces", "instructions", both, |(mut a, mut b)| {
                let report =
                    diff(&mut *a, &mut *b, &Options::default(), &mut |_, _| {}).expect("a good trace");
                assert!(report.is_equal());
                2 * report.compared[&Group::Pcs]
            }),
        ],
    );
    results.rate("reading both");
    results.slower("diff of equal traces", "reading both", Some(2.0));
}

fn read(source: &mut dyn Source) -> u64 {
    let mut batch = Batch::default();
    let mut count = 0;
    while source.fill(&mut batch).expect("a good trace") {
        count += batch.instructions();
    }
    count
}

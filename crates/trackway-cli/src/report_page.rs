//! `trackway report`: one page with all that is known of a trace.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use trackway_core::{Meta, Observer};
use trackway_tools::calls::{CallTree, Called};
use trackway_tools::plot::with_subjects;
use trackway_tools::report::Report;
use trackway_tools::series::{Series, Timeline, Width};
use trackway_tools::stats::{Stats, Summary};

use crate::analyse::{Analysed, Input, Output};
use crate::exit::{Exit, Failure};
use crate::plot::is_empty;

/// Arguments of `report`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The page is one HTML file that loads nothing: summary, health, mix, functions, call tree, flame graph,
branches, memory and plots. It says what the trace does not hold, and which results gaps taint.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The results of one reading.
struct Results {
    summary: Summary,
    called: Called,
    timelines: BTreeMap<u16, Timeline>,
}

/// Writes the page.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let analysed = results(&args.input)?;
    let Results { summary, called, timelines } = &analysed.result;
    let title = args.input.file.display().to_string();
    let mut warnings: Vec<String> =
        analysed.ended.as_ref().err().map(Failure::to_string).into_iter().collect();
    let verdict = analysed.checked.verdict().filter(|verdict| !verdict.is_right());
    warnings.extend(verdict.map(|verdict| verdict.to_string()));
    let page =
        with_subjects(timelines, analysed.first, &analysed.meta.sources, &analysed.programs, |subjects| {
            let report = Report {
                title: &title,
                meta: &analysed.meta,
                health: &analysed.health,
                warnings,
                summary,
                called,
                subjects,
                programs: &analysed.programs,
            };
            report.html()
        });
    args.output.write(page.as_bytes())?;
    analysed.end(&args.input.common)
}

/// Reads the trace once, in order, for everything.
fn results(input: &Input) -> Result<Analysed<Results>, Failure> {
    let read = input.in_order(
        |Meta { isa, .. }, programs| {
            let series = Series::new(*isa, programs, Width::Fitting);
            (Stats::new(*isa, programs), CallTree::new(*isa, programs), series)
        },
        |(stats, tree, series), batch| {
            stats.observe(batch);
            tree.observe(batch);
            series.observe(batch);
            ControlFlow::Continue(())
        },
    )?;
    let read = read.map(|(stats, tree, series)| Results {
        summary: stats.finish(),
        called: tree.finish(),
        timelines: series.finish(),
    });
    read.unless(|results| is_empty(&results.timelines), input)
}

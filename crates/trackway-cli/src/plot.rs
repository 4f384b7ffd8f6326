//! `trackway plot`: a trace over time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use clap::ValueEnum;
use trackway_core::Observer;
use trackway_tools::plot::{What, svg, with_subjects};
use trackway_tools::series::{Series, Timeline, Width};

use crate::analyse::{Analysed, Input, Output};
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::walk::{checked_program, walk};

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shown {
    /// Lines and pages of memory touched in each interval
    WorkingSet,
    /// Instructions by class
    Mix,
    /// Instructions per cycle, or per tick of the clock of time stamps
    Ipc,
    /// Addresses of instructions
    Pc,
    /// Addresses of data
    Data,
    /// Share of branches taken, and the bias of those executed most
    Branches,
}

impl Shown {
    fn what(self) -> What {
        match self {
            Shown::WorkingSet => What::WorkingSet,
            Shown::Mix => What::Mix,
            Shown::Ipc => What::Ipc,
            Shown::Pc => What::Pc,
            Shown::Data => What::Data,
            Shown::Branches => What::Branches,
        }
    }
}

/// Arguments of `plot`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The picture is one SVG file; the horizontal axis counts instructions, and a gap is a dashed line. With
several sources each has a plot of its own. A picture of something that the trace does not hold is refused.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) output: Output,
    /// The picture
    #[arg(long, value_name = "WHAT", default_value = "mix")]
    pub(crate) what: Shown,
}

/// Draws a plot.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let empty =
        |timelines: &BTreeMap<u16, Timeline>| timelines.values().all(|timeline| timeline.instructions() == 0);
    let analysed = series(&args.input, Width::Fitting)?.unless(empty, &args.input)?;
    let what = args.what.what();
    let title = args.input.file.display().to_string();
    let picture = with_subjects(&analysed.result, &analysed.meta.sources, &analysed.programs, |subjects| {
        svg(what, subjects, Some(&title))
    });
    let Some(picture) = picture else {
        analysed.ended?;
        return Err(Failure::Usage(format!("{title}: the trace does not hold {}", what.needs())));
    };
    args.output.write(picture.as_bytes())?;
    analysed.end(&args.input.common)
}

/// The timelines of all sources. They are counted in order: which lines are new depends on all before.
pub(crate) fn series(input: &Input, width: Width) -> Result<Analysed<BTreeMap<u16, Timeline>>, Failure> {
    input.analyse(|trace, source, programs| {
        let isa = trace.meta().isa;
        let (mut series, mut checked) = (Series::new(isa, programs, width), checked_program(isa, programs));
        let progress = Progress::new(input.common.quiet);
        let (health, ended) = walk(&input.common, &input.file, source, &progress, |batch, _| {
            series.observe(batch);
            checked.observe(batch);
            Ok(ControlFlow::Continue(()))
        });
        (series.finish(), checked, health, ended)
    })
}

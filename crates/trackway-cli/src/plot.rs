//! `trackway plot`: a trace over time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use trackway_tools::plot::{Picture, Subject, svg, with_subjects};
use trackway_tools::series::{Series, Timeline, Width};

use crate::analyse::{Analysed, Input, Output};
use crate::exit::{Exit, Failure};

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
    #[arg(long, value_name = "WHAT", default_value = Picture::Mix.name(), value_parser = what())]
    pub(crate) what: Picture,
}

/// The names of pictures.
fn what() -> impl TypedValueParser<Value = Picture> {
    let named =
        |name: String| Picture::ALL.into_iter().find(|what| what.name() == name).unwrap_or(Picture::Mix);
    PossibleValuesParser::new(Picture::ALL.map(|what| PossibleValue::new(what.name()).help(what.about())))
        .map(named)
}

/// Draws a plot.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let analysed = series(&args.input, Width::Fitting)?.unless(is_empty, &args.input)?;
    let (what, title) = (args.what, args.input.file.display().to_string());
    let Analysed { result, programs, meta, first, .. } = &analysed;
    let draw = |subjects: &[Subject<'_>]| svg(what, subjects, Some(&title));
    let Some(picture) = with_subjects(result, *first, &meta.sources, programs, draw) else {
        analysed.ended?;
        return Err(Failure::Usage(format!("{title}: the trace does not hold {}", what.needs())));
    };
    args.output.write(picture.as_bytes())?;
    analysed.end(&args.input.common)
}

/// The timelines of all sources. They are counted in order: which lines are new depends on all before.
pub(crate) fn series(input: &Input, width: Width) -> Result<Analysed<BTreeMap<u16, Timeline>>, Failure> {
    let counted = input.in_order(
        |meta, programs| Series::new(meta.isa, programs, width),
        |series, batch| {
            series.observe(batch);
            ControlFlow::Continue(())
        },
    )?;
    Ok(counted.map(Series::finish))
}

/// Are there no instructions?
pub(crate) fn is_empty(timelines: &BTreeMap<u16, Timeline>) -> bool {
    timelines.values().all(|timeline| timeline.instructions() == 0)
}

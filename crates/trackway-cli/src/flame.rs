//! `trackway flame`: the flame graph of a trace.

use std::path::PathBuf;

use trackway_tools::flame::{Frames, compare, svg};

use crate::analyse::{Input, Output};
use crate::exit::{Exit, Failure};

/// Arguments of `flame`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Colour by the change against this trace, read with the same options
    #[arg(long, value_name = "OTHER")]
    pub(crate) against: Option<PathBuf>,
    /// Show inlined functions too, by the program's debug information, with the calls from them
    #[arg(long)]
    pub(crate) inlined: bool,
}

/// Draws the flame graph.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let analysed = args.input.called(args.inlined)?;
    let mut frames = Frames::new(&analysed.result, &analysed.meta);
    let mut title = args.input.file.display().to_string();
    if let Some(path) = &args.against {
        let other = Input { file: path.clone(), ..args.input.clone() }.called(args.inlined)?;
        compare(&mut frames, Frames::new(&other.result, &other.meta));
        title = format!("{title} against {}", path.display());
        other.checked.warn();
        other.ended?;
    }
    args.output.write(svg(&frames, &title).as_bytes())?;
    analysed.end(&args.input.common)
}

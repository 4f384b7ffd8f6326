//! `trackway flame`: the flame graph of a trace.

use std::path::PathBuf;

use trackway_tools::flame::{Frames, compare, svg};

use crate::args::Common;
use crate::calls::{Part, analyse};
use crate::exit::{Exit, Failure};
use crate::output::write_output;

/// Arguments of `flame`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Trace; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Picture to write; `-` is stdout
    #[arg(short, long, value_name = "X.svg")]
    pub(crate) output: PathBuf,
    /// Colour by the change against this trace, read with the same options
    #[arg(long, value_name = "OTHER")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Draws the flame graph.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let analysed = analyse(&args.common, &args.file, &args.part)?;
    let mut frames = Frames::new(&analysed.called, &analysed.meta.sources);
    let mut title = args.file.display().to_string();
    if let Some(path) = &args.against {
        let other = analyse(&args.common, path, &args.part)?;
        other.ended?;
        compare(&mut frames, &Frames::new(&other.called, &other.meta.sources));
        title = format!("{title} against {}", path.display());
    }
    write_output(&args.output, svg(&frames, &title).as_bytes())?;
    analysed.end(&args.common)
}

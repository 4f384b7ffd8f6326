//! `trackway slice`: a part of a trace as a trace of its own.

use trackway::cut::{ContextIs, Selection};

use crate::args::ConvertArgs;
use crate::convert;
use crate::exit::{Exit, Failure};

/// Arguments of `slice`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) convert: ConvertArgs,
    /// Of every N instructions of a range, keep the first M (--length)
    #[arg(long, value_name = "N", requires = "length")]
    every: Option<u64>,
    /// Instructions of a sample
    #[arg(long, value_name = "M", requires = "every")]
    length: Option<u64>,
    /// Only instructions of this context: privilege, security, context, vmid, asid, pid, tid, hw or isa
    #[arg(long, value_name = "KEY=VALUE")]
    context: Vec<ContextIs>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let contexts = args.context.clone();
    let selection = Selection { sample: args.every.zip(args.length), contexts, ..Selection::default() };
    if selection.is_all() && args.convert.from.is_empty() && args.convert.to.is_empty() {
        let text = "what to keep? Use --from and --to, --every and --length, or --context";
        return Err(Failure::Usage(text.into()));
    }
    convert::run_part(&args.convert, "slice", selection)
}

//! `trackway merge`: parts, slices or sources as one trace.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use trackway::cut::{self, By};
use trackway::io::Target;
use trackway::{ConvertOptions, Prove};
use trackway_core::FormatId;

use crate::args::{Common, ConvertArgs, format};
use crate::convert::{conclude, is_same};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::open::open_to_write;
use crate::progress::Progress;
use crate::report::placed;

/// Arguments of `merge`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Where to write; `-` is stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Parts or slices of a trace in any order, or traces of several sources
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// By their place in the trace that they were cut from, or by time
    #[arg(long, value_name = "WORD", default_value = "place")]
    by: Order,
    /// Output format [default: by the extension of OUT, else that of the inputs]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    into: Option<FormatId>,
    /// Write the ledger to a file, as JSON if it ends in .json
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Do not read the output back
    #[arg(long)]
    no_prove: bool,
    /// Print the ledger as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Orders of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    /// Parts and slices of one trace
    Place,
    /// Traces of different sources
    Time,
}

/// Files that lie beside a trace and belong to it.
const BESIDE: [&str; 3] = ["toml", "lengths", "code.elf"];

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let context = &args.common.context;
    let into = context.output(args.into, &args.output)?;
    let named = |path: &Path, end: &str| -> OsString {
        let mut name = path.as_os_str().to_os_string();
        name.push(format!(".{end}"));
        name
    };
    let belongs = |path: &&PathBuf| {
        let is = |other: &PathBuf| BESIDE.iter().any(|end| path.as_os_str() == named(other, end));
        !args.inputs.iter().any(is)
    };
    let inputs: Vec<&PathBuf> = args.inputs.iter().filter(belongs).collect();
    let mut traces = Vec::new();
    for path in &inputs {
        if is_same(path, &args.output) {
            return Err(Failure::Usage("input and output are the same file".into()));
        }
        traces.push(open_to_write(&args.common, path, into)?);
    }
    let Some(first) = traces.first() else { return Err(Failure::Usage("nothing to merge".into())) };
    let into = into.unwrap_or(first.format());
    let settings = context.write_settings(first.settings(), into)?;
    let options = ConvertOptions {
        into: Some(into),
        settings: Some(settings),
        strict: args.common.strict,
        prove: if args.no_prove { Prove::Never } else { Prove::Small },
        part: None,
    };
    let target = Target::new(&args.output);
    interrupt::abandon(&target);
    let progress = Progress::new(args.common.quiet);
    let by = if args.by == Order::Time { By::Time } else { By::Place };
    let merged = cut::merge(traces, &target, &options, by, |source, health| progress.update(source, health));
    drop(progress);
    let conversion = merged.map_err(|error| match target.failure() {
        Some(error) => Failure::Written { path: args.output.clone(), error },
        None if matches!(error, trackway::Error::Config(_) | trackway::Error::Unsupported(_)) => {
            Failure::Usage(error.to_string())
        }
        None => Failure::only_output(&args.output, &error)
            .unwrap_or_else(|| placed(&args.common, inputs[0], error)),
    })?;
    let like = ConvertArgs {
        input: inputs[0].clone(),
        output: args.output.clone(),
        into: args.into,
        from: Vec::new(),
        to: Vec::new(),
        ledger: args.ledger.clone(),
        prove: false,
        no_prove: args.no_prove,
        keep_partial: false,
        json: args.json,
        common: args.common.clone(),
    };
    conclude(conversion, &like, "merge")
}

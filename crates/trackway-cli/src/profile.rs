//! `trackway profile`: profiles for other programs.

use std::path::PathBuf;

use clap::ValueEnum;
use trackway_tools::profile::{self, Profiled};

use crate::args::Common;
use crate::calls::{Part, analyse};
use crate::exit::{Exit, Failure};
use crate::output::write_output;
use crate::report::say;

/// File formats of profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// Stacks with counts, one a line
    Folded,
    /// callgrind_annotate, KCachegrind
    Callgrind,
    /// go tool pprof
    Pprof,
    /// speedscope
    Speedscope,
    /// AutoFDO's text, for create_llvm_prof and create_gcov
    Autofdo,
    /// fdata, for llvm-bolt
    Bolt,
}

/// Arguments of `profile`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Trace; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Profile to write; `-` is stdout
    #[arg(short, long, value_name = "X")]
    pub(crate) output: PathBuf,
    /// Format of the profile
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) shape: Shape,
    /// Refuse to write more than this
    #[arg(long, value_name = "MB", default_value_t = 1024)]
    pub(crate) max_size: u64,
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Writes a profile.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let analysed = analyse(&args.common, &args.file, &args.part)?;
    let name = args.file.display().to_string();
    let profiled = Profiled {
        called: &analysed.called,
        programs: &analysed.programs,
        sources: &analysed.meta.sources,
        name: &name,
    };
    let executed = &analysed.called.executed;
    let needs_program = matches!(args.shape, Shape::Autofdo | Shape::Bolt);
    let elf = analysed.programs.iter().flat_map(|program| program.parts()).find_map(|part| part.elf.as_ref());
    if needs_program && elf.is_none() {
        return Err(Failure::Usage(format!("{name}: this profile is about a program: name it with --elf")));
    }
    let bytes = match args.shape {
        Shape::Folded => profile::folded(&profiled).into_bytes(),
        Shape::Callgrind => profile::callgrind(&profiled).into_bytes(),
        Shape::Pprof => profile::pprof(&profiled),
        Shape::Speedscope => profile::speedscope(&profiled).to_string().into_bytes(),
        Shape::Autofdo => profile::autofdo(executed, elf.map_or(0, |elf| elf.bias)).into_bytes(),
        Shape::Bolt => {
            let (text, left_out) = profile::bolt(executed, &analysed.programs);
            if left_out > 0 {
                say!("{left_out} branches from or to code without a symbol are left out");
            }
            text.into_bytes()
        }
    };
    if bytes.len() as u64 > args.max_size.saturating_mul(1_000_000) {
        let text = format!(
            "the profile has {} MB: take a part with --from and --to, or allow it with --max-size",
            bytes.len() / 1_000_000
        );
        return Err(Failure::Usage(text));
    }
    write_output(&args.output, &bytes)?;
    analysed.end(&args.common)
}

//! `trackway profile`: profiles for other programs.

use clap::ValueEnum;
use trackway_tools::profile::{self, Profiled};

use crate::analyse::{Input, Output};
use crate::exit::{Exit, Failure};
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
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Format of the profile
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) shape: Shape,
}

/// Writes a profile.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match args.shape {
        Shape::Autofdo | Shape::Bolt => of_blocks(args),
        Shape::Folded | Shape::Callgrind | Shape::Pprof | Shape::Speedscope => of_calls(args),
    }
}

/// A profile that counts blocks of a program; calls need not be followed.
fn of_blocks(args: &Args) -> Result<Exit, Failure> {
    let analysed = args.input.executed()?;
    let executed = &analysed.result;
    let elf = analysed.programs.iter().flat_map(|program| program.parts()).find_map(|part| part.elf.as_ref());
    let Some(elf) = elf else {
        let file = args.input.file.display();
        return Err(Failure::Usage(format!("{file}: this profile is about a program: name it with --elf")));
    };
    let text = if args.shape == Shape::Autofdo {
        profile::autofdo(executed, elf.bias)
    } else {
        let (text, left_out) = profile::bolt(executed, &analysed.programs);
        if left_out > 0 {
            say!("{left_out} branches from or to code without a symbol are left out");
        }
        text
    };
    args.output.write(text.as_bytes())?;
    analysed.end(&args.input.common)
}

/// A profile of the call tree.
fn of_calls(args: &Args) -> Result<Exit, Failure> {
    let analysed = args.input.called()?;
    let name = args.input.file.display().to_string();
    let profiled = Profiled {
        called: &analysed.result,
        programs: &analysed.programs,
        sources: &analysed.meta.sources,
        name: &name,
    };
    let bytes = match args.shape {
        Shape::Callgrind => profile::callgrind(&profiled).into_bytes(),
        Shape::Pprof => profile::pprof(&profiled),
        Shape::Speedscope => profile::speedscope(&profiled).to_string().into_bytes(),
        _ => profile::folded(&profiled).into_bytes(),
    };
    args.output.write(&bytes)?;
    analysed.end(&args.input.common)
}

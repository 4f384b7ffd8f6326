//! `trackway profile`: profiles for other programs.

use std::io::{BufWriter, ErrorKind};

use clap::ValueEnum;
use trackway::io::{FileError, Target};
use trackway_core::Meta;
use trackway_tools::profile::{self, GcovVersion, Profiled, Samples, TimeAxis, Timeline};

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
    /// profiler.firefox.com
    Firefox,
    /// Timeline of functions, contexts, traps and gaps for ui.perfetto.dev
    Perfetto,
    /// AutoFDO's text, for create_llvm_prof and create_gcov
    Autofdo,
    /// LLVM's sample profile as text, for clang -fprofile-sample-use
    Llvm,
    /// The same in LLVM's raw binary form
    LlvmBinary,
    /// fdata, for llvm-bolt
    Bolt,
    /// AutoFDO's profile for gcc -fauto-profile
    Gcov,
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
    /// Version of the gcov file: 1 is for GCC 5 to 11 and for AutoFDO's tools, 2 for GCC 12 and later
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) gcov_version: Option<u8>,
    /// Time of a Perfetto timeline: instructions, or the timestamps of the trace [default: instructions]
    #[arg(long, value_name = "AXIS")]
    pub(crate) time: Option<Axis>,
}

/// The time of a timeline.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Instructions of each source
    Instructions,
    /// Timestamps of the trace; between two of them no time passes
    Recorded,
}

/// Writes a profile.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.gcov_version.is_some() && args.shape != Shape::Gcov {
        return Err(Failure::Usage("--gcov-version is for --as gcov".into()));
    }
    if args.time.is_some() && args.shape != Shape::Perfetto {
        return Err(Failure::Usage("--time is for --as perfetto".into()));
    }
    match args.shape {
        Shape::Autofdo | Shape::Llvm | Shape::LlvmBinary | Shape::Bolt | Shape::Gcov => of_blocks(args),
        Shape::Folded | Shape::Callgrind | Shape::Pprof | Shape::Speedscope => of_calls(args),
        Shape::Firefox => samples(args),
        Shape::Perfetto => timeline(args),
    }
}

/// A profile that counts blocks of a program; calls need not be followed.
fn of_blocks(args: &Args) -> Result<Exit, Failure> {
    let analysed = args.input.executed()?;
    let (executed, programs) = (&analysed.result, &analysed.programs);
    let elf = programs.iter().flat_map(|program| program.parts()).find_map(|part| part.elf.as_ref());
    let file = args.input.file.display();
    let Some(elf) = elf else {
        return Err(Failure::Usage(format!("{file}: this profile is about a program: name it with --elf")));
    };
    let (bytes, left_out, which) = match args.shape {
        Shape::Autofdo => {
            let (text, left_out) = profile::autofdo(executed, elf);
            (Some(text.into_bytes()), left_out, "instructions outside the program")
        }
        Shape::Bolt => {
            let (text, left_out) = profile::bolt(executed, programs);
            (Some(text.into_bytes()), left_out, "branches from or to code without a symbol")
        }
        shape => {
            let (bytes, left_out) = match shape {
                Shape::Llvm => {
                    let (text, left_out) = profile::llvm(executed, programs);
                    ((!text.is_empty()).then(|| text.into_bytes()), left_out)
                }
                Shape::LlvmBinary => profile::llvm_binary(executed, programs),
                _ => {
                    let for_new = args.gcov_version == Some(2);
                    let version = if for_new { GcovVersion::Bytes } else { GcovVersion::Words };
                    profile::gcov(executed, programs, version)
                }
            };
            (bytes, left_out, "instructions without a function or a source line")
        }
    };
    let Some(bytes) = bytes else {
        let text = "no instruction has a function and a source line: the program needs symbols and debug information";
        return Err(Failure::Usage(format!("{file}: {text} (-g)")));
    };
    if left_out > 0 {
        say!("{left_out} {which} are left out");
    }
    args.output.write(&bytes)?;
    analysed.end(&args.input.common)
}

/// A profile of the call tree.
fn of_calls(args: &Args) -> Result<Exit, Failure> {
    let analysed = args.input.called(false)?;
    let name = args.input.file.display().to_string();
    let profiled = Profiled {
        called: &analysed.result,
        programs: &analysed.programs,
        meta: &analysed.meta,
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

/// A profile of samples in the order of the trace.
fn samples(args: &Args) -> Result<Exit, Failure> {
    let watched = args.input.watched(false, |_| Samples::default(), |_| false)?;
    let ((called, samples), analysed) = watched.apart();
    let name = args.input.file.display().to_string();
    let (programs, meta) = (&analysed.programs, &analysed.meta);
    let profiled = Profiled { called: &called, programs, meta, name: &name };
    args.output.write(samples.firefox(&profiled).to_string().as_bytes())?;
    analysed.end(&args.input.common)
}

/// A timeline, written while the trace is read.
fn timeline(args: &Args) -> Result<Exit, Failure> {
    let target = Target::new(&args.output.output);
    let written = |FileError { path, error }: FileError| Failure::Written { path, error };
    let mut output = target.create().map_err(written)?;
    let out = BufWriter::new(output.as_write());
    let axis = match args.time {
        Some(Axis::Recorded) => TimeAxis::Recorded,
        Some(Axis::Instructions) | None => TimeAxis::Instructions,
    };
    let watch = move |meta: &Meta| Timeline::new(out, args.output.limit(), meta.clone(), axis);
    let analysed = args.input.watched(false, watch, |timeline| timeline.has_failed())?;
    let ((_, timeline), analysed) = analysed.apart();
    if timeline.is_timeless() {
        let file = args.input.file.display();
        return Err(Failure::Usage(format!("{file}: it has no timestamps: leave out --time recorded")));
    }
    timeline.finish().map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => {
            args.output.too_large(&format!("would have more than {} MB", args.output.max_size))
        }
        _ => written(FileError { path: args.output.output.clone(), error }),
    })?;
    target.commit().map_err(written)?;
    analysed.end(&args.input.common)
}

//! `trackway cover`: coverage of a program by a trace.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use trackway_tools::cover::{Cover, cobertura, drcov, lcov, listing};
use trackway_tools::sources::Sources;

use crate::analyse::{Input, Output};
use crate::exit::{Exit, Failure};
use crate::report::say;

/// File formats of coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// Tracefile of lcov, for genhtml
    Lcov,
    /// Cobertura's XML
    Cobertura,
    /// DynamoRIO's list of blocks
    Drcov,
    /// Source and disassembly with counts
    Source,
}

/// Arguments of `cover`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Counts are those of object code, shown at the lines that the program's debug information names: a line counts as often
as the instruction of it that was executed most, and branches are those of the code, not of the source.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Format of the file
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) shape: Shape,
    /// Read source files only under this folder [default: that of the ELF file]
    #[arg(long, value_name = "DIR")]
    pub(crate) source_root: Option<PathBuf>,
}

/// Writes the coverage.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.source_root.is_some() && args.shape != Shape::Source {
        return Err(Failure::Usage("--source-root: only --as source reads source files".into()));
    }
    let analysed = args.input.executed()?;
    let (executed, programs) = (&analysed.result, &analysed.programs);
    let elf = programs.iter().flat_map(|program| program.parts()).find(|part| part.elf.is_some());
    let Some(elf) = elf else {
        return Err(Failure::Usage("coverage is about a program: name it with --elf".into()));
    };
    let bytes = if args.shape == Shape::Drcov {
        drcov(executed, programs)
    } else {
        let cover = Cover::new(executed, programs);
        if cover.files.is_empty() {
            let text = format!("{}: no debug information, so no lines; --as drcov needs none", elf.name);
            return Err(Failure::Usage(text));
        }
        if cover.without_line > 0 {
            say!("{} executed instructions have no source line", cover.without_line);
        }
        match args.shape {
            Shape::Lcov => lcov(&cover),
            Shape::Cobertura => cobertura(&cover),
            _ => {
                let folder = Path::new(&elf.name).parent().filter(|path| !path.as_os_str().is_empty());
                let root = args.source_root.as_deref().or(folder).unwrap_or(Path::new("."));
                let (text, files) = listing(&cover, &Sources::under([root]));
                let (read, missing): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, is_read)| *is_read);
                read.iter().for_each(|(file, _)| say!("source: {}", crate::plain::plain(file)));
                if let Some((first, _)) = missing.first() {
                    let (count, root, first) = (missing.len(), root.display(), crate::plain::plain(first));
                    say!("without source: {count} files that are not under {root} (--source-root), first {first}");
                }
                text
            }
        }
        .into_bytes()
    };
    let gaps: u64 = executed.blocks().iter().map(|block| block.gaps[0]).sum();
    if gaps > 0 {
        say!("{gaps} gaps in the trace: what they hide counts as not executed");
    }
    args.output.write(&bytes)?;
    analysed.end(&args.input.common)
}

//! The command line, declared once; help, completions and the manual come from it.

use clap::{Args, Parser, Subcommand};
use trackway::format::{Flag, Format, Value};

use crate::args::*;

/// One toolkit for processor execution traces: read, decode, encode, convert, check and show them.
#[derive(Debug, Parser)]
#[command(name = "trackway", version, max_term_width = 110, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) always: Always,
}

/// Options that every command takes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Always {
    /// Threads [default: all cores]
    #[arg(short, long, value_name = "N", global = true)]
    pub(crate) jobs: Option<usize>,
    /// Fail on gaps and damage instead of continuing; refuse lossy conversions
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    /// Print less
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print more
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Neither use nor make an index
    #[arg(long, global = true)]
    pub(crate) no_index: bool,
    /// Do not page the output
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a built-in program, convert it to every format and back, and suggest next steps
    Demo(DemoArgs),
    /// Show what a trace is: format, version, producer, items, instructions, gaps, health
    Info(InfoArgs),
    /// Show instructions, or native items with --raw
    Dump(DumpArgs),
    /// Convert a trace to another format or container, with a ledger of what was lost
    Convert(ConvertArgs),
    /// Write a part of a trace as a legal, shorter trace that begins with the state at its place
    Slice(crate::slice::Args),
    /// Cut a trace into files that merge joins again, or into work items for a scheduler
    Split(crate::split::Args),
    /// Join the parts of split, slices, or the traces of several sources
    Merge(crate::merge::Args),
    /// Count what is in a trace: instructions by class, branches, loads and stores, traps, hot blocks
    Stats(StatsArgs),
    /// Show the call tree: instructions of each function with and without those it called
    Calls(crate::calls::Args),
    /// Draw a flame graph, also of the difference between two traces
    Flame(crate::flame::Args),
    /// Draw a trace over time: working set, mix, instructions per cycle, addresses, branches
    Plot(crate::plot::Args),
    /// Write one page with all of it: mix, functions, call tree, flame graph, branches, memory, plots
    Report(crate::report_page::Args),
    /// Write which lines, functions and branches of a program were executed
    Cover(crate::cover::Args),
    /// Write a profile for another program: callgrind, pprof, speedscope, Firefox, Perfetto, LLVM, GCC, BOLT
    Profile(crate::profile::Args),
    /// Write a trace as tables of columns, for data frames and SQL, or as a trace for a simulator
    Export(crate::export::Args),
    /// Choose intervals that represent the whole trace, for simulation, and write them as slices
    Simpoint(crate::simpoint::Args),
    /// Check a trace against its specification, one named rule per finding
    Check(CheckArgs),
    /// Say what is wrong with a file that does not decode: what it looks like, and the settings that fit
    Doctor(crate::doctor::Args),
    /// Show what a trace shows at a point: pc, context, call stack, registers, memory
    State(crate::state::Args),
    /// Show which instruction wrote a value, and the chain back
    Why(crate::why::Args),
    /// Look at traces in the browser: timeline, instructions, source, flame graph, memory, branches
    View(crate::viewer::Args),
    /// Debug a trace with gdb, lldb or an editor, forwards and backwards
    Replay(crate::replay::Args),
    /// Look through a trace on the terminal: instructions, source, registers, calls, search, why
    Browse(crate::browse::Args),
    /// Find instructions by address, function, mnemonic, class, memory, register, trap or context
    Find(crate::find::Args),
    /// Print a commented settings template of a format
    Config(ConfigArgs),
    /// Build the index of a trace, so that positions in it are found at once; or show or remove it
    Index(crate::index::Args),
    /// Verify a trace against the golden model: registers, memory, control flow, traps
    Verify(VerifyArgs),
    /// Compare two traces of any formats, aligned by instruction
    Diff(crate::diff::Args),
    /// Show a program: segments, disassembly, straight runs, symbols
    Image(ImageArgs),
    /// Run a program on the golden model (RISC-V) or under QEMU (Arm, RISC-V) and record it
    Record(RecordArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print the manual page
    Man(ManArgs),
    /// Explain a command, or a topic: formats, positions, config, exit-codes, ledger
    Help(HelpArgs),
}

impl Command {
    /// Hands the formats, their options and those of every command to this one.
    pub(crate) fn set_context(
        &mut self,
        formats: &[&'static dyn Format],
        flags: Vec<(Flag, Value)>,
        always: &Always,
    ) {
        let context = Context { formats: formats.to_vec(), flags };
        let common = match self {
            Command::Info(args) => &mut args.common,
            Command::Dump(args) => &mut args.common,
            Command::Convert(args) => &mut args.common,
            Command::Slice(args) => &mut args.convert.common,
            Command::Split(args) => &mut args.common,
            Command::Merge(args) => &mut args.common,
            Command::Stats(args) => &mut args.common,
            Command::Calls(args) => &mut args.input.common,
            Command::Flame(args) => &mut args.input.common,
            Command::Plot(args) => &mut args.input.common,
            Command::Report(args) => &mut args.input.common,
            Command::Profile(args) => &mut args.input.common,
            Command::Cover(args) => &mut args.input.common,
            Command::Simpoint(args) => &mut args.input.common,
            Command::Export(args) => &mut args.input.common,
            Command::Check(args) => &mut args.common,
            Command::Index(args) => &mut args.common,
            Command::Doctor(args) => &mut args.common,
            Command::Verify(args) => &mut args.common,
            Command::Diff(args) => &mut args.common,
            Command::State(args) => &mut args.common,
            Command::Why(args) => &mut args.common,
            Command::Find(args) => &mut args.common,
            Command::Replay(args) => &mut args.common,
            Command::View(args) => &mut args.common,
            Command::Browse(args) => &mut args.common,
            Command::Record(args) => {
                (args.jobs, args.quiet, args.verbose) = (always.jobs, always.quiet, always.verbose);
                args.context = context;
                return;
            }
            Command::Config(args) => return args.context = context,
            Command::Completions(args) => return args.context = context,
            Command::Man(args) => return args.context = context,
            Command::Help(args) => return args.context = context,
            Command::Demo(_) | Command::Image(_) => return,
        };
        (common.jobs, common.strict) = (always.jobs, always.strict);
        (common.quiet, common.verbose) = (always.quiet, always.verbose);
        (common.no_pager, common.no_index) = (always.no_pager, always.no_index);
        common.context = context;
    }

    /// The kind of its JSON object, where it was asked for one.
    pub(crate) fn json_kind(&self) -> Option<&'static str> {
        match self {
            Command::Info(args) => args.json.then_some("info"),
            Command::Dump(args) => args.jsonl.then_some("end"),
            Command::Convert(args) => args.json.then_some("convert"),
            Command::Slice(args) => args.convert.json.then_some("slice"),
            Command::Split(args) => args.json.then_some("split"),
            Command::Merge(args) => args.json.then_some("merge"),
            Command::Stats(args) => args.json.then_some("stats"),
            Command::Calls(args) => args.json.then_some("calls"),
            Command::Simpoint(args) => args.json.then_some("simpoint"),
            Command::Export(args) => args.json.then_some("export"),
            Command::Check(args) if args.jsonl => Some("end"),
            Command::Check(args) => args.json.then_some("check"),
            Command::Index(args) => args.json.then_some("index"),
            Command::Doctor(args) => args.json.then_some("doctor"),
            Command::Verify(args) => args.json.then_some("verify"),
            Command::Diff(args) => args.json.then_some("diff"),
            Command::State(args) => args.json.then_some("state"),
            Command::Why(args) => args.json.then_some("why"),
            Command::Find(args) if args.jsonl => Some("end"),
            Command::Find(args) => args.json.then_some("find"),
            Command::Image(args) => (args.json || args.jsonl).then_some("image"),
            Command::Record(args) => args.json.then_some("record"),
            Command::Demo(_)
            | Command::Replay(_)
            | Command::View(_)
            | Command::Browse(_)
            | Command::Flame(_)
            | Command::Plot(_)
            | Command::Report(_)
            | Command::Profile(_)
            | Command::Cover(_)
            | Command::Config(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Help(_) => None,
        }
    }
}

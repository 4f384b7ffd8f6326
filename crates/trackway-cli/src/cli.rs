//! The command line, declared once; help, completions and the manual come from it.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use trackway::{ConfigFile, Options, Trace, WriteOptions};
use trackway_core::{FormatId, Isa};

use crate::exit::Failure;

/// One toolkit for processor execution traces: read, decode, encode, convert, check and show them.
#[derive(Debug, Parser)]
#[command(name = "trackway", version, max_term_width = 110, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 fine, 1 it found something, 2 usage, 3 input unreadable, \
                        4 gaps or losses under --strict, 5 internal.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs the main job on a trace that is in the binary, and says what to try next
    Demo(DemoArgs),
    /// Says what a trace is: format, version, producer, items, instructions, gaps, health
    Info(InfoArgs),
    /// Shows instructions, or native items with --raw
    Dump(DumpArgs),
    /// Converts a trace into another format or container, with an account of what was lost
    Convert(ConvertArgs),
    /// Counts what is in a trace: instructions by class, branches, loads and stores, traps, hot blocks
    Stats(StatsArgs),
    /// Checks a trace against its specification, one named rule per finding
    Check(CheckArgs),
    /// Verifies a trace against the golden model: registers, memory, control flow, traps
    Verify(VerifyArgs),
    /// Looks at a program by itself: segments, disassembly, straight runs, symbols
    Image(ImageArgs),
    /// Runs a RISC-V program on the golden model and records it
    Record(RecordArgs),
    /// Writes shell completions
    Completions(CompletionsArgs),
    /// Writes the manual page
    Man(ManArgs),
}

/// Options that mean the same everywhere.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// ELF file of the program that ran
    #[arg(long, value_name = "PATH[@ADDR]")]
    pub(crate) elf: Vec<String>,
    /// Raw memory image of the program that ran
    #[arg(long, value_name = "PATH@ADDR")]
    pub(crate) image: Vec<String>,
    /// What must be known from outside, as TOML
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Format of the input, where it is not to be recognised
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) format: Option<FormatId>,
    /// Threads [default: all cores]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Read versions that are not supported as if they were
    #[arg(long)]
    pub(crate) force: bool,
    /// Stop at what would otherwise be stepped over; refuse losses
    #[arg(long)]
    pub(crate) strict: bool,
    /// The one source to decode, of several
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
    /// Also show cancelled speculation and failed transactions
    #[arg(long)]
    pub(crate) show_withdrawn: bool,
    /// Where a wrapped trace buffer's dump begins
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) write_pointer: Option<u64>,
    /// Say less
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Say more
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

fn format(word: &str) -> Result<FormatId, String> {
    let words: Vec<&str> = trackway::FORMATS.iter().map(|format| format.id().word()).collect();
    let known = FormatId::from_word(word).filter(|_| words.contains(&word));
    known.ok_or_else(|| format!("formats are {}", words.join(", ")))
}

/// A number in decimal or, with `0x`, in hex.
fn number(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|error| error.to_string())
}

impl Common {
    /// The options in the library's terms.
    pub(crate) fn options(&self) -> Result<Options, Failure> {
        let config = match &self.config {
            Some(path) => Some(ConfigFile::read(path).map_err(|error| Failure::input(path, error))?),
            None => None,
        };
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Options {
            format: self.format,
            config,
            elf: self.elf.clone(),
            image: self.image.clone(),
            jobs: self.jobs.unwrap_or_else(cores).max(1),
            force: self.force,
            strict: self.strict,
            source: self.source.clone(),
            show_withdrawn: self.show_withdrawn,
            write_pointer: self.write_pointer,
            write: WriteOptions::default(),
        })
    }

    /// Opens a trace.
    pub(crate) fn open(&self, path: &Path) -> Result<(Trace, Options), Failure> {
        let options = self.options()?;
        let options = options.with_sidecar(path).map_err(|error| Failure::input(path, error))?;
        let trace =
            trackway::open(path, &options).map_err(|error| crate::report::placed(self, path, error))?;
        Ok((trace, options))
    }
}

/// Arguments of `demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Folder for the files it makes [default: a temporary one, removed at the end]
    pub(crate) folder: Option<PathBuf>,
}

/// Arguments of `info`.
#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// Traces; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// One JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `stats`.
#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// Trace; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How many of the hottest blocks to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Shapes of `dump`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// For people
    Text,
    /// One line per retired instruction: its address, 16 hex digits
    Pcs,
    /// One line per straight run: START END COUNT EXIT
    Runs,
    /// One line per event of the model
    Events,
}

/// Arguments of `dump`.
#[derive(Args, Debug)]
pub(crate) struct DumpArgs {
    /// The trace; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Native items instead of instructions
    #[arg(long, conflicts_with_all = ["shape", "attempted"])]
    pub(crate) raw: bool,
    /// Shape of the output
    #[arg(long = "as", value_name = "SHAPE", default_value = "text")]
    pub(crate) shape: Shape,
    /// Keep instructions that were attempted and did not retire
    #[arg(long)]
    pub(crate) attempted: bool,
    /// Leave out the first N instructions, or items
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: u64,
    /// Show N instructions, or items, at most
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Begin here: an instruction number, pc:ADDRESS, sym:NAME or time:N
    #[arg(long, value_name = "POSITION", conflicts_with_all = ["raw", "skip"])]
    pub(crate) from: Option<String>,
    /// End before the next instruction at this position
    #[arg(long, value_name = "POSITION", conflicts_with = "raw")]
    pub(crate) to: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) jsonl: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `convert`.
#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// The trace; `-` is stdin. An ELF file becomes a tandem trace that loads it into memory
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Where to write; `-` is stdout
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Output format [default: by the extension of OUT, else that of the input]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) into: Option<FormatId>,
    /// The file around the items, a word of the format (STF: zstf, plain, gzip, xz, zstd)
    #[arg(long, value_name = "WORD")]
    pub(crate) container: Option<String>,
    /// Compression level
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) level: Option<i32>,
    /// Instructions per chunk (STF), or bytes per .xz block (ASTF)
    #[arg(long, value_name = "N")]
    pub(crate) chunk: Option<u64>,
    /// STF version to write from events
    #[arg(long, value_name = "X.Y", value_parser = version)]
    pub(crate) stf_version: Option<(u32, u32)>,
    /// ASTF level to write from events
    #[arg(long, value_name = "LEVEL")]
    pub(crate) astf_level: Option<String>,
    /// Profile or dialect, a word of the format
    #[arg(long, value_name = "WORD")]
    pub(crate) profile: Option<String>,
    /// Write although the result does not conform; it says so
    #[arg(long)]
    pub(crate) allow_nonconforming: bool,
    /// Store the account of what was lost
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// The account as JSON, on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn version(text: &str) -> Result<(u32, u32), String> {
    let numbers =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    numbers.ok_or_else(|| "a version is X.Y".to_string())
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The trace; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A rule whose findings do not count
    #[arg(long, value_name = "RULE")]
    pub(crate) waive: Vec<String>,
    /// Findings shown per rule
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) limit: u64,
    /// Findings as one JSON object
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) json: bool,
    /// Every finding as one JSON object per line
    #[arg(long)]
    pub(crate) jsonl: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `verify`.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The trace; `-` is stdin
    #[arg(value_name = "TRACE")]
    pub(crate) file: PathBuf,
    /// Stop after this many root causes
    #[arg(long, value_name = "N")]
    pub(crate) stop_after: Option<usize>,
    /// Instructions shown before a mismatch
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) history: usize,
    /// The result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Writes the result as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Also tells what the trace exercised
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Writes a short tandem trace that fails in the same way: a snapshot and a few groups
    #[arg(long, value_name = "OUT.tv")]
    pub(crate) minimise: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `image`.
#[derive(Args, Debug)]
pub(crate) struct ImageArgs {
    /// The program: an ELF file, moved to ADDR if given; raw bytes with --raw
    #[arg(value_name = "FILE[@ADDR]")]
    pub(crate) file: String,
    /// One line per instruction: ADDRESS: ENCODING MNEMONIC OPERANDS
    #[arg(long, group = "what")]
    pub(crate) disasm: bool,
    /// One line per straight run: START END COUNT EXIT, then target and function
    #[arg(long, group = "what")]
    pub(crate) blocks: bool,
    /// One line per symbol of code: ADDRESS SIZE NAME
    #[arg(long, group = "what")]
    pub(crate) symbols: bool,
    /// The file is raw bytes; needs ADDR and --isa
    #[arg(long)]
    pub(crate) raw: bool,
    /// Instruction set [default: what the file says]
    #[arg(long, value_name = "ISA", value_parser = isa)]
    pub(crate) isa: Option<Isa>,
    /// RISC-V: instructions as they are, not as pseudo-instructions
    #[arg(long)]
    pub(crate) no_aliases: bool,
    /// Where to begin: an address or sym:NAME (a function then ends it)
    #[arg(long, value_name = "PLACE")]
    pub(crate) from: Option<String>,
    /// Where to end: an address or sym:NAME
    #[arg(long, value_name = "PLACE")]
    pub(crate) to: Option<String>,
}

fn isa(word: &str) -> Result<Isa, String> {
    Isa::from_word(word)
        .filter(|isa| *isa != Isa::Other)
        .ok_or_else(|| "instruction sets are rv32, rv64, a64, a32, t32".to_string())
}

/// What a program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Platform {
    /// Linux user mode
    Linux,
    /// Bare metal
    Bare,
}

/// Arguments of `record`.
#[derive(Args, Debug)]
pub(crate) struct RecordArgs {
    /// The program, an ELF file
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: PathBuf,
    /// Where to write; `-` is stdout
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Output format [default: by the extension of OUT]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) into: Option<FormatId>,
    /// What it runs on [default: bare where it is linked at 0x80000000 or above]
    #[arg(long, value_name = "WORD")]
    pub(crate) platform: Option<Platform>,
    /// First instruction to record: a number, pc:0x… or sym:NAME
    #[arg(long, value_name = "WHERE")]
    pub(crate) from: Option<String>,
    /// First instruction not to record any more
    #[arg(long, value_name = "WHERE")]
    pub(crate) to: Option<String>,
    /// Execute N instructions at most
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Leave registers out
    #[arg(long)]
    pub(crate) no_regs: bool,
    /// Leave memory accesses out
    #[arg(long)]
    pub(crate) no_mem: bool,
    /// What the program reads from its standard input; `-` is stdin [default: nothing]
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// A variable of the program's environment, which is empty otherwise
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Where the program's random bytes come from [default: 1]
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) seed: Option<u64>,
    /// Time at the start, in seconds since 1970 [default: 1000000000]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time: Option<u64>,
    /// Let the program write, create and remove files
    #[arg(long)]
    pub(crate) write_files: bool,
    /// The file around the items, a word of the format
    #[arg(long, value_name = "WORD")]
    pub(crate) container: Option<String>,
    /// Compression level
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) level: Option<i32>,
    /// Profile or dialect, a word of the format
    #[arg(long, value_name = "WORD")]
    pub(crate) profile: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<String>,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The subcommand to describe [default: the whole program]
    pub(crate) command: Option<String>,
}

//! Arguments of the commands, and those that several share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use trackway::format::{Flag, Format, Program, Settings, Value, When};
use trackway::index::Cache;
use trackway::{Indexing, Options};
use trackway_core::{FormatId, Isa};
use trackway_tools::asked::Analysis;
use trackway_tools::stats::By;

use crate::exit::Failure;
use crate::sections;

/// The formats of this program and the options given for their settings.
#[derive(Clone, Default)]
pub(crate) struct Context {
    pub(crate) formats: Vec<&'static dyn Format>,
    pub(crate) flags: Vec<(Flag, Value)>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context({:?})", self.flags)
    }
}

impl Context {
    /// The format of that name.
    pub(crate) fn format(&self, id: FormatId) -> Result<&'static dyn Format, Failure> {
        trackway::by_id(&self.formats, id).ok_or_else(|| {
            let ids: Vec<String> = self.formats.iter().map(|format| format.id().to_string()).collect();
            Failure::Usage(format!("{id}: formats are {}", ids.join(", ")))
        })
    }

    /// The output format: named, or by the extension of the output; `None` where it has none.
    pub(crate) fn output(
        &self,
        into: Option<FormatId>,
        output: &Path,
    ) -> Result<Option<&'static dyn Format>, Failure> {
        if let Some(id) = into {
            return self.format(id).map(Some);
        }
        let found = trackway::for_output(&self.formats, output);
        match output.extension().filter(|_| found.is_none()) {
            None => Ok(found),
            Some(end) => {
                let written = self.formats.iter().filter(|format| format.is_written());
                let known: Vec<_> = written.flat_map(|format| format.extensions()).copied().collect();
                let text = format!(
                    "{}: no format has the extension .{}; use --into FORMAT, or one of {}",
                    output.display(),
                    end.display(),
                    known.join(", ")
                );
                Err(Failure::Usage(text))
            }
        }
    }

    /// Refuses a settings file of which no key can apply: only `formats` are read or written, and only `sections` are
    /// used besides.
    pub(crate) fn refuse_idle(
        &self,
        settings: &Settings,
        formats: &[&dyn Format],
        sections: &[&str],
    ) -> Result<(), Failure> {
        let applies = |name: &String| {
            sections.contains(&name.as_str())
                || formats.iter().any(|format| {
                    let at_top = format.is_at_top_level(settings);
                    format.id().as_str() == name
                        || (at_top && format.keys().iter().any(|key| key.name == name))
                })
        };
        let names: Vec<&String> = settings.table.keys().collect();
        if names.is_empty() || names.iter().any(|name| applies(name)) {
            return Ok(());
        }
        let titles: Vec<&str> = formats.iter().map(|format| format.title()).collect();
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        let file = settings.path.as_ref().map_or(String::new(), |path| format!("{}: ", path.display()));
        Err(Failure::Usage(format!("{file}{} does not apply to {}", names.join(", "), titles.join(" or "))))
    }

    /// The settings for writing `into`: `base`, and the options given.
    pub(crate) fn write_settings(&self, base: &Settings, into: &dyn Format) -> Result<Settings, Failure> {
        let mut settings = base.clone();
        let writing = self.flags.iter().filter(|(flag, _)| flag.when != When::Reading);
        settings
            .set_flags(
                into,
                &[When::Writing, When::Lowering],
                writing.map(|(flag, value)| (flag.name, value.clone())),
            )
            .map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(settings)
    }
}

/// Reads a settings file; sections that no format and no command knows are refused.
pub(crate) fn read_settings(context: &Context, path: &Path) -> Result<Settings, Failure> {
    let settings = Settings::read(path).map_err(|error| Failure::input(path, error))?;
    settings
        .refuse_unknown_sections(&context.formats, &sections::NAMES)
        .map_err(|error| Failure::input(path, error))?;
    Ok(settings)
}

/// A trace that takes longer to read is indexed on the way.
const SLOW: Duration = Duration::from_secs(1);

/// All cores, unless a number is given.
pub(crate) fn threads(jobs: Option<usize>) -> usize {
    jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
}

/// Options of all commands that read a trace.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// ELF file of the program that ran
    #[arg(long, value_name = "PATH[@ADDR]", value_hint = ValueHint::FilePath)]
    pub(crate) elf: Vec<String>,
    /// Raw memory image of the program that ran
    #[arg(long, value_name = "PATH@ADDR", value_hint = ValueHint::FilePath)]
    pub(crate) image: Vec<String>,
    /// Settings the trace does not carry, as TOML (E-Trace parameters, ETE registers, …)
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Input format, overriding detection
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) format: Option<FormatId>,
    /// Try unsupported format versions anyway
    #[arg(long)]
    pub(crate) force: bool,
    /// Decode only this trace source
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,
    #[arg(skip)]
    pub(crate) jobs: Option<usize>,
    #[arg(skip)]
    pub(crate) strict: bool,
    #[arg(skip)]
    pub(crate) quiet: bool,
    #[arg(skip)]
    pub(crate) verbose: bool,
    #[arg(skip)]
    pub(crate) no_pager: bool,
    #[arg(skip)]
    pub(crate) no_index: bool,
    #[arg(skip)]
    pub(crate) context: Context,
}

pub(crate) fn format(name: &str) -> Result<FormatId, String> {
    name.parse().map_err(|()| "not the name of a format".to_string())
}

/// A number in decimal or, with `0x`, in hex.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|error| error.to_string())
}

impl Common {
    /// The options in the library's terms.
    pub(crate) fn options(&self) -> Result<Options, Failure> {
        let settings = match &self.config {
            Some(path) => Some(read_settings(&self.context, path)?),
            None => None,
        };
        if let Some(id) = self.format {
            self.context.format(id)?;
        }
        let reading = self.context.flags.iter().filter(|(flag, _)| flag.when == When::Reading);
        Ok(Options {
            formats: self.context.formats.clone(),
            format: self.format,
            settings,
            flags: reading.map(|(flag, value)| (flag.name.to_string(), value.clone())).collect(),
            program: Program { elf: self.elf.clone(), raw: self.image.clone(), ..Program::default() },
            threads: threads(self.jobs),
            force: self.force,
            strict: self.strict,
            source: self.source.clone(),
            index: match Cache::of_user() {
                _ if self.no_index => Indexing::Off,
                Some(cache) => Indexing::Cache(cache, SLOW),
                None => Indexing::Beside,
            },
            cancel: crate::asked::cancel().unwrap_or_default(),
            ..Options::default()
        })
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
    /// Traces; `-` is stdin
    #[arg(value_name = "FILE", required_unless_present_any = ["item", "merge"])]
    pub(crate) files: Vec<PathBuf>,
    /// Count a work item of `split --plan`, for --merge
    #[arg(long, value_name = "ITEM.json", conflicts_with_all = ["files", "merge", "json", "top", "by"])]
    pub(crate) item: Option<PathBuf>,
    /// Where to write the counts of an item [default: stdout]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["files", "merge"])]
    pub(crate) output: Option<PathBuf>,
    /// Show the counts of all items of a trace as one
    #[arg(long, value_name = "PART.json", num_args = 1.., conflicts_with = "files")]
    pub(crate) merge: Vec<PathBuf>,
    /// How many of the hottest blocks, branches, functions … to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Instructions by this [default: function, where the program has symbols]
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) by: Vec<StatsBy>,
    /// Count every N instructions of each source as well, in a second reading
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["item", "merge"])]
    pub(crate) every: Option<u64>,
    /// Further analyses; for --merge those of its parts, which are the default there
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = analyses())]
    pub(crate) with: Vec<Vec<Analysis>>,
    /// One JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Analyses that `stats` runs when asked, each by its name, or all.
fn analyses() -> impl TypedValueParser<Value = Vec<Analysis>> {
    let one = Analysis::ALL.map(|analysis| PossibleValue::new(analysis.as_str()).help(analysis.about()));
    let names = one.into_iter().chain([PossibleValue::new("all").help("All of them")]);
    PossibleValuesParser::new(names).map(|name: String| {
        Analysis::ALL.into_iter().filter(|analysis| name == "all" || name == analysis.as_str()).collect()
    })
}

/// Properties that `stats` puts instructions together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsBy {
    /// By the symbols of the program
    Function,
    /// By the program's debug information
    Line,
    /// Levels and ids
    Context,
    /// The core or trace id
    Source,
}

impl StatsBy {
    /// As the analysis calls it.
    pub(crate) fn property(self) -> By {
        match self {
            StatsBy::Function => By::Function,
            StatsBy::Line => By::Line,
            StatsBy::Context => By::Context,
            StatsBy::Source => By::Source,
        }
    }
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
    /// Keep instructions that were attempted and did not retire (--as pcs)
    #[arg(long)]
    pub(crate) attempted: bool,
    /// Leave out the first N instructions, or items
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: u64,
    /// Show at most N lines: instructions, traps, contexts, gaps, items; their details are free
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Begin here: N, pc:ADDRESS, sym:NAME, line:FILE:N, time:N, mark:NAME, trap:N, gap:N or end-N
    #[arg(long, value_name = "POSITION", conflicts_with_all = ["raw", "skip"])]
    pub(crate) from: Option<String>,
    /// End before this position; pc:, sym:, line: and mark: are the next ones after the beginning
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
    /// Begin here: N, pc:ADDRESS, sym:NAME, line:FILE:N, time:N, mark:NAME, trap:N, gap:N or end-N; may be repeated
    #[arg(long, value_name = "POSITION")]
    pub(crate) from: Vec<String>,
    /// End before this position; pc:, sym:, line: and mark: are the next ones after the beginning
    #[arg(long, value_name = "POSITION")]
    pub(crate) to: Vec<String>,
    /// Write the ledger to a file, as JSON if it ends in .json
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Read the output back and compare it, however long it is [default: up to a million instructions]
    #[arg(long, conflicts_with = "no_prove")]
    pub(crate) prove: bool,
    /// Do not read the output back
    #[arg(long)]
    pub(crate) no_prove: bool,
    /// When interrupted, keep what was written so far
    #[arg(long)]
    pub(crate) keep_partial: bool,
    /// Print the ledger as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The trace; `-` is stdin
    #[arg(value_name = "FILE", required_unless_present = "rules")]
    pub(crate) file: Option<PathBuf>,
    /// List the rules of a format instead
    #[arg(long, value_name = "FORMAT", value_parser = format, conflicts_with_all = ["file", "waive", "limit", "jsonl"])]
    pub(crate) rules: Option<FormatId>,
    /// Ignore findings of this rule
    #[arg(long, value_name = "RULE")]
    pub(crate) waive: Vec<String>,
    /// Findings shown per rule
    #[arg(long, value_name = "N", default_value_t = 5, conflicts_with = "jsonl")]
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

/// Arguments of `config`.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    /// Format
    #[arg(value_name = "FORMAT", value_parser = format)]
    pub(crate) format: FormatId,
    #[arg(skip)]
    pub(crate) context: Context,
}

/// The core that the golden model is.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CoreArgs {
    /// Core that is described: flute, qemu, ibex, spike, or FILE.yaml of riscv-config
    #[arg(long = "core", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// ISA string of the core, such as rv64gc_zba_zbb
    #[arg(long, value_name = "ISA")]
    pub(crate) isa: Option<String>,
}

/// Arguments of `verify`.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The trace; `-` is stdin
    #[arg(value_name = "TRACE", required_unless_present = "listen")]
    pub(crate) file: Option<PathBuf>,
    /// Verify what a program on this machine sends: HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["file", "minimise"])]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) core: CoreArgs,
    /// Stop after this many root causes
    #[arg(long, value_name = "N")]
    pub(crate) stop_after: Option<usize>,
    /// Gaps, and parts that cannot be read, that the trace may have and still pass
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) allow_gaps: u64,
    /// List the mismatches that follow from each root cause, with the element through which they do
    #[arg(long)]
    pub(crate) follow_ups: bool,
    /// Instructions shown before a mismatch
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) history: usize,
    /// The result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the result as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Also report what the trace exercised
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Write a short tandem trace that fails in the same way: a snapshot and a few groups
    #[arg(long, value_name = "OUT.tv")]
    pub(crate) minimise: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `image`.
#[derive(Args, Debug)]
pub(crate) struct ImageArgs {
    /// The program: an ELF file, moved to ADDR if given; raw bytes with --raw
    #[arg(value_name = "FILE[@ADDR]", value_hint = ValueHint::FilePath)]
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
    #[arg(long, value_name = "ISA", value_parser = isa())]
    pub(crate) isa: Option<Isa>,
    /// RISC-V: instructions as they are, not as pseudo-instructions
    #[arg(long, requires = "disasm")]
    pub(crate) no_aliases: bool,
    /// Where to begin: an address or sym:NAME (a function then ends it)
    #[arg(long, value_name = "PLACE", requires = "what")]
    pub(crate) from: Option<String>,
    /// Where to end: an address or sym:NAME
    #[arg(long, value_name = "PLACE", requires = "what")]
    pub(crate) to: Option<String>,
    /// One JSON object
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) json: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) jsonl: bool,
}

/// Instruction sets that programs have.
fn isa() -> impl TypedValueParser<Value = Isa> {
    let read = |name: String| name.parse::<Isa>().map_err(|()| "unknown instruction set");
    PossibleValuesParser::new(["rv32", "rv64", "a64", "a32", "t32"]).try_map(read)
}

/// The platform of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Platform {
    /// Linux user mode
    Linux,
    /// Bare metal
    Bare,
}

/// A board of the golden model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Board {
    /// The devices of QEMU's virt that the model has, with a device tree: UART, CLINT, PLIC, test finisher
    Virt,
}

/// Which QEMU runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QemuMode {
    /// A Linux program, with the system calls of this computer and your rights
    User,
    /// A machine; ARGS are QEMU's own
    System,
}

/// Threads that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Threads {
    /// All threads and processes, as contexts of one trace
    All,
    /// The first one
    First,
}

/// Arguments of `record`.
#[derive(Args, Debug, Default)]
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
    /// Run it under QEMU instead of the golden model: AArch64, AArch32, RISC-V. QEMU's user mode does not confine it
    #[arg(long, value_name = "MODE")]
    pub(crate) qemu: Option<QemuMode>,
    /// QEMU: trackway's plugin, or the folder that has it for each API [default: TRACKWAY_QEMU_PLUGIN, else beside trackway or in ../lib/trackway]
    #[arg(long, value_name = "FILE", requires = "qemu")]
    pub(crate) plugin: Option<PathBuf>,
    /// QEMU: end the program after N recorded instructions
    #[arg(long, value_name = "N", requires = "qemu", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) stop_after: Option<u64>,
    /// QEMU: record the first N of every M instructions
    #[arg(long, value_name = "N/M", requires = "qemu", value_parser = sample)]
    pub(crate) sample: Option<(u64, u64)>,
    /// QEMU: leave out code that is not in the program's own file
    #[arg(long, requires = "qemu")]
    pub(crate) skip_libs: bool,
    /// QEMU 9.2 and later: record integer registers as they change, and the privilege of a machine; slow
    #[arg(long, requires = "qemu", conflicts_with = "no_regs")]
    pub(crate) regs: bool,
    /// QEMU: which threads [default: all]
    #[arg(long, value_name = "WHICH", requires = "qemu")]
    pub(crate) threads: Option<Threads>,
    /// QEMU: the same trace each time: a fixed seed, an empty environment, in system mode time by instructions
    #[arg(long, requires = "qemu")]
    pub(crate) deterministic: bool,
    /// Platform [default: bare if it is linked at 0x80000000 or above]
    #[arg(long, value_name = "WORD", conflicts_with = "qemu")]
    pub(crate) platform: Option<Platform>,
    /// Golden model: record a board from reset, with a device tree; --stdin is typed on its console
    #[arg(long, value_name = "BOARD", conflicts_with_all = ["qemu", "platform"])]
    pub(crate) machine: Option<Board>,
    /// Board: firmware that starts PROGRAM, an ELF file such as OpenSBI's fw_jump.elf
    #[arg(long, value_name = "FILE", requires = "machine", conflicts_with = "qemu")]
    pub(crate) bios: Option<PathBuf>,
    /// Board: write its device tree, which QEMU's -dtb takes
    #[arg(long, value_name = "FILE", requires = "machine", conflicts_with = "qemu")]
    pub(crate) write_dtb: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreArgs,
    /// First instruction to record: a number, pc:0x… or sym:NAME
    #[arg(long, visible_alias = "start", value_name = "WHERE")]
    pub(crate) from: Option<String>,
    /// Stop recording before this instruction
    #[arg(long, value_name = "WHERE")]
    pub(crate) to: Option<String>,
    /// Execute at most N instructions
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// End the recording, and the program, once the output has this many bytes: N, or with K, M, G
    #[arg(long, value_name = "N", value_parser = size, conflicts_with = "qemu")]
    pub(crate) max_size: Option<u64>,
    /// Write the memory between begin_signature and end_signature at the end, as RISCOF compares it
    #[arg(long, value_name = "FILE", conflicts_with = "qemu")]
    pub(crate) signature: Option<PathBuf>,
    /// Leave registers out
    #[arg(long)]
    pub(crate) no_regs: bool,
    /// Leave memory accesses out
    #[arg(long)]
    pub(crate) no_mem: bool,
    /// Standard input of the program; `-` is stdin [default: empty; under QEMU stdin]
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// Variable of the program's environment, which is empty otherwise; under QEMU it is yours
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Seed of the program's random bytes [default: 1]
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) seed: Option<u64>,
    /// Time at the start, in seconds since 1970 [default: 1000000000]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time: Option<u64>,
    /// Let the program write, create and remove files
    #[arg(long)]
    pub(crate) write_files: bool,
    /// Settings of the machine and of the output format, as TOML
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// How it ended and what was recorded, as one JSON object; the program's own output goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
    #[arg(skip)]
    pub(crate) jobs: Option<usize>,
    #[arg(skip)]
    pub(crate) quiet: bool,
    #[arg(skip)]
    pub(crate) verbose: bool,
    #[arg(skip)]
    pub(crate) context: Context,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<String>,
}

/// A number of bytes, with K, M or G after it or without.
fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, 10 * (1 + "KMG".find(&text[digits.len()..]).unwrap_or(0) as u32)),
        None => (text, 0),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.filter(|number| *number > 0).ok_or_else(|| "not a number of bytes such as 500M".to_string())
}

/// `N/M`, with N of 1 to M.
fn sample(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once('/').and_then(|(n, m)| Some((n.parse().ok()?, m.parse().ok()?)));
    numbers.filter(|(n, m)| (1..=*m).contains(n)).ok_or_else(|| "not N/M with N of 1 to M".to_string())
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Shell
    pub(crate) shell: clap_complete::Shell,
    #[arg(skip)]
    pub(crate) context: Context,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Subcommand to describe [default: the whole program]
    pub(crate) command: Option<String>,
    #[arg(skip)]
    pub(crate) context: Context,
}

/// Arguments of `help`.
#[derive(Args, Debug)]
pub(crate) struct HelpArgs {
    /// A command, or a topic: formats, positions, config, exit-codes, ledger [default: the whole program]
    #[arg(value_name = "COMMAND|TOPIC")]
    pub(crate) topic: Option<String>,
    #[arg(skip)]
    pub(crate) context: Context,
}

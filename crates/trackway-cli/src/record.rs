//! `trackway record`: runs a program on the golden model, or under QEMU, and writes what it does.

use std::io::{Read, Write};
use std::path::Path;

use serde_json::{Value as Json, json};
use trackway::format::{Format, Program as Files, Settings as FormatSettings, Writing};
use trackway::io::{FileError, Target as Output};
use trackway_core::{Batch, Counting, EventKind, Mark, MarkKind, Meta, Source};
use trackway_hart::linux::{Options as LinuxOptions, Process};
use trackway_hart::machine::{Machine, MachineConfig, RAM_BASE, device_tree};
use trackway_hart::{Config, End, LoadError, Paging, Position, Program, RecordOptions, Recorder, Target};

use crate::args::{Platform, RecordArgs, read_settings, threads};
use crate::core::Described;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::json::{self, object, print};
use crate::output::write_file;
use crate::progress::Progress;
use crate::report::say;
use crate::sections;

pub(crate) fn run(args: &RecordArgs) -> Result<Exit, Failure> {
    let path = &args.program;
    refuse_empty_window(args)?;
    let (mut recorder, file) = recorder(args)?;
    let into = format(args)?;
    let target = Output::new(&args.output);
    let written = |error: trackway::Error| Failure::output(&target, &args.output, error);
    let cancel = interrupt::cancel();
    let elf = args.bios.iter().chain([path]).map(|path| path.display().to_string()).collect();
    let mut sink = sink(args, into, &file, &target, recorder.meta(), elf)?;
    let mut batch = Batch::default();
    let mut is_over = false;
    // Where stdout has the trace or the report, the program's own output goes to stderr.
    let to_stdout = args.output != Path::new("-") && !args.json;
    target.reserve(RESERVE);
    let progress = Progress::beside_output(args.quiet);
    while !cancel.is_cancelled()
        && !target.is_full()
        && recorder.fill(&mut batch).map_err(|error| written(error.into()))?
    {
        sink.put(&batch).map_err(|error| written(error.into()))?;
        show(&mut recorder, to_stdout)?;
        progress.count(recorder.executed(), args.limit);
        is_over = args.max_size.is_some_and(|most| size(&target) >= most);
        if is_over {
            break;
        }
    }
    drop(progress);
    let interrupted = cancel.is_cancelled();
    let full = target.is_full();
    if let Some(text) = stopped(recorder.recorded(), why_stopped(interrupted, full, is_over)) {
        sink.put(&text).map_err(|error| written(error.into()))?;
    }
    let ledger = sink.finish().map_err(|error| written(error.into()))?;
    if recorder.recorded() == 0 && !interrupted {
        return Err(Failure::Usage("the window holds no instruction".into()));
    }
    target.commit().map_err(|error| written(error.into()))?;
    if full {
        return Err(full_disk(args, recorder.recorded()));
    }
    interrupt::release();
    if args.verbose {
        say!("{}", ledger.to_string().trim_end());
    }
    let end = if interrupted || is_over { End::Unfinished } else { recorder.run_out() };
    show(&mut recorder, to_stdout)?;
    if let (Some(path), false) = (&args.signature, interrupted || is_over) {
        write_file(path, signature(&recorder, args)?.as_bytes())?;
    }
    if is_over {
        say!("{}: recording ends here: --max-size is reached", args.output.display());
    }
    if args.json {
        let mut object = object("record");
        object.extend([
            ("program".to_string(), json!(path.display().to_string())),
            ("output".to_string(), json!(args.output.display().to_string())),
            ("format".to_string(), json!(into.id().as_str())),
            ("ended".to_string(), json!(if interrupted { "interrupted" } else { word(end) })),
            ("exit_code".to_string(), code(end)),
            ("recorded".to_string(), json!(recorder.recorded())),
            ("executed".to_string(), json!(recorder.executed())),
            ("threads".to_string(), json!(1)),
            ("deterministic".to_string(), json!(true)),
            ("ledger".to_string(), json::ledger(&ledger)),
            ("complete".to_string(), json!(!interrupted && !is_over)),
        ]);
        print(object)?;
    }
    conclude(args, &recorder, end, interrupted)
}

/// Bytes written so far.
fn size(target: &Output) -> u64 {
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let Some(path) = target.staged() else { return 0 };
    match std::fs::read_dir(&path) {
        Ok(folder) => folder.flatten().map(|entry| length(&entry.path())).sum(),
        Err(_) => length(&path),
    }
}

/// Symbols around the signature of an architectural test.
const SIGNATURE: [&str; 2] = ["begin_signature", "end_signature"];

/// Where the signature is.
fn signature_range(program: &Program) -> Result<(u64, u64), Failure> {
    let missing = |name: &str| Failure::Usage(format!("--signature: the program has no symbol {name}"));
    let [first, last] = SIGNATURE.map(|name| program.symbol(name).ok_or_else(|| missing(name)));
    Ok((first?, last?))
}

/// The signature as RISCOF compares it: a word of 4 bytes in each line.
fn signature(recorder: &Recorder, args: &RecordArgs) -> Result<String, Failure> {
    let wrong = |text: &str| Failure::Usage(format!("--signature: {text}"));
    let Target::Machine(machine) = &recorder.target else { return Ok(String::new()) };
    let (first, last) = signature_range(&read_program(args)?)?;
    let ram = machine.system.ram();
    let at = |address: u64| usize::try_from(address.wrapping_sub(ram.base())).unwrap_or(usize::MAX);
    let bytes = ram.bytes().get(at(first)..at(last)).ok_or_else(|| wrong("it is not in RAM"))?;
    let words = bytes.chunks(4).map(|bytes| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        format!("{:08x}\n", u32::from_le_bytes(word))
    });
    Ok(words.collect())
}

fn read_program(args: &RecordArgs) -> Result<Program, Failure> {
    let path = &args.program;
    let bytes = contents(path)?;
    let loaded = |error: LoadError| Failure::input(path, trackway::Error::Unsupported(format!("{error}")));
    Program::read(&bytes).map_err(loaded)
}

/// The program, ready to run, and the settings file.
pub(crate) fn recorder(args: &RecordArgs) -> Result<(Recorder, FormatSettings), Failure> {
    let path = &args.program;
    let loaded = |error: LoadError| Failure::input(path, trackway::Error::Unsupported(format!("{error}")));
    let program = read_program(args)?;
    if args.signature.is_some() {
        signature_range(&program)?;
    }
    if args.max_size.is_some() && Output::new(&args.output).is_stream() {
        return Err(Failure::Usage("--max-size: stdout and devices have no size; --limit N".into()));
    }
    let file = settings(args)?;
    let described = Described::read(&file, &args.core, args.quiet)?;
    let settings = &described.settings;
    let wrong = |text: String| Failure::Usage(format!("[machine] {text}"));
    let target = match platform(args, &program) {
        Platform::Linux => {
            if args.signature.is_some() {
                return Err(Failure::Usage("--signature: only bare-metal programs have one".into()));
            }
            let core = settings.core(described.base(Config::new(program.isa))).map_err(wrong)?;
            let core = described.with_rules(core)?;
            let core = Config { paging: Paging::Bare, pmp_entries: 0, reset_pc: program.entry, ..core };
            let process = Process::with_config(&program, linux_options(args)?, core).map_err(loaded)?;
            Target::Process(Box::new(process))
        }
        Platform::Bare => {
            refuse_process_options(args)?;
            let base = MachineConfig::new(described.base(Config::new(program.isa)));
            let mut config = settings.machine(base).map_err(wrong)?;
            config.core = described.with_rules(config.core)?;
            let machine = match args.machine {
                Some(_) => board(args, config, &program)?,
                None => {
                    let mut machine = Machine::new(config, &program).map_err(loaded)?;
                    // The reset ROM is not in the ELF, and flow formats could not follow it.
                    machine.leave_rom();
                    machine
                }
            };
            Target::Machine(Box::new(machine))
        }
    };
    let recorder = Recorder::new(
        target,
        RecordOptions {
            registers: !args.no_regs,
            memory: !args.no_mem,
            from: args.from.as_deref().map(|text| position(text, &program)).transpose()?,
            to: args.to.as_deref().map(|text| position(text, &program)).transpose()?,
            limit: args.limit.unwrap_or(u64::MAX),
        },
    );
    Ok((recorder, file))
}

/// The output format.
pub(crate) fn format(args: &RecordArgs) -> Result<&'static dyn Format, Failure> {
    args.context
        .output(args.into, &args.output)?
        .ok_or_else(|| Failure::Usage(format!("{}: which format? Use --into FORMAT", args.output.display())))
}

/// The settings file.
pub(crate) fn settings(args: &RecordArgs) -> Result<FormatSettings, Failure> {
    args.config
        .as_ref()
        .map_or_else(|| Ok(FormatSettings::default()), |path| read_settings(&args.context, path))
}

/// Begins the output.
pub(crate) fn sink(
    args: &RecordArgs,
    into: &dyn Format,
    file: &FormatSettings,
    target: &Output,
    meta: &Meta,
    elf: Vec<String>,
) -> Result<Counting, Failure> {
    let used: &[&str] = if args.qemu.is_some() { &[] } else { &sections::NAMES };
    args.context.refuse_idle(file, &[into], used)?;
    let settings = args.context.write_settings(file, into)?;
    let files = Files { elf, ..Files::default() };
    let threads = threads(args.jobs);
    let writing = Writing { target: target.clone(), settings: &settings, program: &files, threads };
    let sink = into.create(writing, meta).map_err(|error| match error {
        trackway::Error::Unsupported(text) => Failure::Usage(format!("{}: {text}", args.output.display())),
        error => Failure::output(target, &args.output, error),
    })?;
    Ok(Counting::new(sink, meta))
}

/// Bytes that are kept free for the end of a recording: what a sink has in its buffers.
pub(crate) const RESERVE: usize = 4 << 20;

/// Why a recording ended before its program did.
pub(crate) fn why_stopped(interrupted: bool, full: bool, over: bool) -> Option<&'static str> {
    match (full, over, interrupted) {
        (true, ..) => Some("the disk was full"),
        (_, true, _) => Some("--max-size was reached"),
        (.., true) => Some("recording was interrupted"),
        _ => None,
    }
}

/// The last event of a recording that something ended before its program did.
pub(crate) fn stopped(recorded: u64, why: Option<&str>) -> Option<Batch> {
    let text = format!("{} after {recorded} instructions", why?);
    let mut batch = Batch { first_instruction: recorded, ..Batch::default() };
    let text = batch.add_bytes(text.as_bytes());
    batch.push(0, EventKind::Mark(Mark { text, ..Mark::new(MarkKind::Note) }));
    Some(batch)
}

/// A trace that ends where the disk was full is legal, and a failure all the same.
pub(crate) fn full_disk(args: &RecordArgs, recorded: u64) -> Failure {
    if !args.quiet {
        say!("{}: {recorded} instructions recorded, then the disk was full", args.output.display());
    }
    Failure::Written { path: args.output.clone(), error: std::io::ErrorKind::StorageFull.into() }
}

fn word(end: End) -> &'static str {
    match end {
        End::Passed => "passed",
        End::Failed(_) => "failed",
        End::Killed(_) => "killed",
        End::Unfinished => "unfinished",
        End::Repeats => "repeats",
    }
}

/// The exit code of the program, where it has one.
fn code(end: End) -> Json {
    match end {
        End::Passed => json!(0),
        End::Failed(code) => json!(code),
        End::Killed(_) | End::Unfinished | End::Repeats => Json::Null,
    }
}

/// Reports how the program ended.
fn conclude(args: &RecordArgs, recorder: &Recorder, end: End, interrupted: bool) -> Result<Exit, Failure> {
    let ended = match end {
        End::Passed => "ended well, exit code 0".to_string(),
        End::Failed(code) => format!("reported failure, exit code {code}"),
        End::Killed(signal) => format!("was ended by signal {signal}"),
        End::Unfinished => format!("was stopped after {} instructions", recorder.executed()),
        End::Repeats => format!("repeats the same state for ever: stopped after {}", recorder.executed()),
    };
    if !args.quiet {
        say!("{}: {ended}", args.program.display());
        say!(
            "{}: {} instructions recorded, {} executed",
            args.output.display(),
            recorder.recorded(),
            recorder.executed()
        );
    }
    Ok(match end {
        _ if interrupted => Exit::Interrupted,
        End::Passed | End::Unfinished => Exit::Fine,
        End::Failed(_) | End::Killed(_) | End::Repeats => Exit::Found,
    })
}

/// Refuses what only a process has.
fn refuse_process_options(args: &RecordArgs) -> Result<(), Failure> {
    if !args.arguments.is_empty() {
        return Err(Failure::Usage("a bare-metal program takes no arguments".into()));
    }
    for (name, given) in [
        ("stdin", args.stdin.is_some() && args.machine.is_none()),
        ("env", !args.env.is_empty()),
        ("seed", args.seed.is_some()),
        ("time", args.time.is_some()),
        ("write-files", args.write_files),
    ] {
        if given {
            return Err(Failure::Usage(format!("--{name} is for processes, and this program is bare-metal")));
        }
    }
    Ok(())
}

/// The board, with its firmware, its keys pressed and its device tree written.
fn board(args: &RecordArgs, config: MachineConfig, program: &Program) -> Result<Machine, Failure> {
    let loaded = |path: &Path, error: LoadError| {
        Failure::input(path, trackway::Error::Unsupported(format!("{error}")))
    };
    let bios = match &args.bios {
        Some(path) => Some(Program::read(&contents(path)?).map_err(|error| loaded(path, error))?),
        None => None,
    };
    let mut machine =
        Machine::virt(config, program, bios.as_ref()).map_err(|error| loaded(&args.program, error))?;
    if let Some(path) = &args.stdin {
        machine.type_in(&contents(path)?);
    }
    if let Some(path) = &args.write_dtb {
        let written = std::fs::write(path, device_tree(&config));
        written.map_err(|error| Failure::Written { path: path.into(), error })?;
    }
    Ok(machine)
}

/// The bytes of a file; `-` is stdin.
fn contents(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|error| Failure::input(path, FileError::at(path)(error)))
}

/// A program that is linked into the machine's RAM is bare-metal, as is one on a board.
fn platform(args: &RecordArgs, program: &Program) -> Platform {
    let bare = args.machine.is_some() || program.entry >= RAM_BASE && !program.interpreter;
    args.platform.unwrap_or(if bare { Platform::Bare } else { Platform::Linux })
}

fn linux_options(args: &RecordArgs) -> Result<LinuxOptions, Failure> {
    let name = args.program.display().to_string();
    let mut options = LinuxOptions::new(std::iter::once(name.clone()).chain(args.arguments.clone()));
    options.environment = args.env.clone();
    options.executable = match std::path::absolute(&args.program) {
        Ok(path) => path.display().to_string(),
        Err(_) => name,
    };
    if let Some(path) = &args.stdin {
        options.stdin = contents(path)?;
    }
    if let Some(seed) = args.seed {
        options.seed = seed;
    }
    if let Some(time) = args.time {
        options.start_time = time;
    }
    options.write_files = args.write_files;
    Ok(options)
}

fn position(text: &str, program: &Program) -> Result<Position, Failure> {
    Ok(match place(text, |name| program.symbol(name))? {
        Ok(number) => Position::Instruction(number),
        Err(address) => Position::Pc(address),
    })
}

/// Refuses a window that ends before it begins: the program would run for nothing.
pub(crate) fn refuse_empty_window(args: &RecordArgs) -> Result<(), Failure> {
    let number = |text: &Option<String>| text.as_deref().map_or(Some(0), |text| text.parse::<u64>().ok());
    match (number(&args.from), number(&args.to), &args.to) {
        (Some(from), Some(to), Some(_)) if to <= from => {
            Err(Failure::Usage(format!("nothing lies between {from} and {to}")))
        }
        _ => Ok(()),
    }
}

/// An instruction number, or the address that `pc:0x…` or `sym:NAME` mean.
pub(crate) fn place(
    text: &str,
    symbol: impl FnOnce(&str) -> Option<u64>,
) -> Result<Result<u64, u64>, Failure> {
    let wrong = |why: &str| Failure::Usage(format!("{text}: {why}"));
    if let Some(name) = text.strip_prefix("sym:") {
        return symbol(name).map(Err).ok_or_else(|| wrong("the program has no such symbol"));
    }
    if let Some(pc) = text.strip_prefix("pc:") {
        let digits = pc.strip_prefix("0x").unwrap_or(pc);
        return u64::from_str_radix(digits, 16).map(Err).map_err(|_| wrong("not an address in hex"));
    }
    text.parse().map(Ok).map_err(|_| wrong("not an instruction number, pc:0x… or sym:NAME"))
}

/// Passes on the program's output.
fn show(recorder: &mut Recorder, to_stdout: bool) -> Result<(), Failure> {
    let (out, err) = recorder.target.take_output();
    if to_stdout {
        std::io::stdout().write_all(&out)?;
        std::io::stdout().flush()?;
    } else {
        std::io::stderr().write_all(&out)?;
    }
    std::io::stderr().write_all(&err)?;
    Ok(())
}

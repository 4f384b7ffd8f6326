//! `trackway record --qemu`: runs a program under QEMU with trackway's plugin and writes what it does.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::sync_channel;

use serde_json::{Value as Json, json};
use trackway::format::Format;
use trackway::io::{FileError, Target as Output};
use trackway_core::{Batch, Counting, Folded, Isa, Meta, Pool, Source};
use trackway_image::Image;
use trackway_qemu::{Command, End, Error, Mode, Options, Plugins, Position, Program, QEMU, Qemu};
use trackway_qemu::{Recorder, Sample, Session};

use crate::args::{QemuMode, RecordArgs, Threads};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::json::{self, object, print};
use crate::progress::Progress;
use crate::record::{RESERVE, format, full_disk, refuse_empty_window, settings, sink, stopped, why_stopped};
use crate::report::say;

pub(crate) fn run(args: &RecordArgs, mode: QemuMode) -> Result<Exit, Failure> {
    let path = &args.program;
    let file = settings(args)?;
    let into = format(args)?;
    let command = command(args, mode)?;
    refuse(args, command.program.isa, into)?;
    refuse_empty_window(args)?;
    let options = options(args)?;
    let session = Session::new().map_err(|error| failure(path, Error::Io(error)))?;
    // Where stdout has the trace or the report, the program's own output goes to stderr.
    let to_stdout = args.output != Path::new("-") && !args.json;
    let (input, output) = streams(args, to_stdout)?;
    let meta = meta(&command, to_stdout);
    let child = command.start(&session, input, output).map_err(|error| failure(path, Error::Io(error)))?;
    let mut recorder =
        Recorder::new(session, child, &command, meta, options).map_err(|e| failure(path, e))?;
    let target = Output::new(&args.output);
    let written = |error: trackway::Error| Failure::output(&target, &args.output, error);
    let elf = match recorder.moved() {
        0 => path.display().to_string(),
        by => format!("{}@{:#x}", path.display(), command.program.start.wrapping_add(by)),
    };
    let cancel = interrupt::cancel();
    let mut sink = sink(args, into, &file, &target, recorder.meta(), vec![elf.clone()])?;
    target.reserve(RESERVE);
    let progress = Progress::beside_output(args.quiet);
    let (executed, recorded) = write(&mut recorder, &mut sink, |executed| {
        progress.count(executed, args.limit.or(args.stop_after));
        !cancel.is_cancelled() && !target.is_full()
    })
    .map_err(|error| written(error.into()))?;
    drop(progress);
    let interrupted = cancel.is_cancelled();
    let full = target.is_full();
    if let Some(text) =
        stopped(recorded, why_stopped(interrupted, full, false)).or_else(|| recorder.last_words())
    {
        sink.put(&text).map_err(|error| written(error.into()))?;
    }
    let ledger = sink.finish().map_err(|error| written(error.into()))?;
    if recorded == 0 && !interrupted {
        return Err(Failure::Usage("the window holds no instruction".into()));
    }
    target.commit().map_err(|error| written(error.into()))?;
    if full {
        return Err(full_disk(args, recorded));
    }
    interrupt::release();
    if args.verbose {
        say!("{}", ledger.to_string().trim_end());
    }
    let end = recorder.run_out(&cancel);
    let (word, code) = match end {
        _ if interrupted => ("interrupted", Json::Null),
        End::Code(0) => ("passed", json!(0)),
        End::Code(code) => ("failed", json!(code)),
        End::Signal(_) => ("killed", Json::Null),
        End::Stopped => ("unfinished", Json::Null),
    };
    if args.json {
        let mut object = object("record");
        object.extend([
            ("program".to_string(), json!(path.display().to_string())),
            ("output".to_string(), json!(args.output.display().to_string())),
            ("format".to_string(), json!(into.id().as_str())),
            ("ended".to_string(), json!(word)),
            ("exit_code".to_string(), code),
            ("recorded".to_string(), json!(recorded)),
            ("executed".to_string(), json!(executed)),
            ("threads".to_string(), json!(recorder.threads())),
            ("deterministic".to_string(), json!(args.deterministic && recorder.threads() < 2)),
            ("ledger".to_string(), json::ledger(&ledger)),
            ("complete".to_string(), json!(!interrupted)),
        ]);
        print(object)?;
    }
    if !args.quiet {
        let ended = match end {
            End::Code(0) => "ended well, exit code 0".to_string(),
            End::Code(code) => format!("reported failure, exit code {code}"),
            End::Signal(signal) => format!("was ended by signal {signal}"),
            End::Stopped => format!("was stopped after {executed} instructions"),
        };
        say!("{}: {ended}", path.display());
        let threads = match recorder.threads() {
            0 | 1 => String::new(),
            n => format!(" in {n} threads"),
        };
        let output = args.output.display();
        say!("{output}: {recorded} instructions recorded{threads}, {executed} executed");
        if args.deterministic && recorder.threads() > 1 {
            say!("{output}: not deterministic: threads run in an order that nothing fixes");
        }
        if recorder.moved() != 0 {
            say!("{output}: the program was loaded at another address: read the trace with --elf {elf}");
        }
    }
    Ok(match end {
        _ if interrupted => Exit::Interrupted,
        End::Code(0) | End::Stopped => Exit::Fine,
        End::Code(_) | End::Signal(_) => Exit::Found,
    })
}

/// Batches that are handed over at once, and how often they may wait: each time one thread wakes the other.
const TOGETHER: usize = 4;
const WAITING: usize = 2;

/// Lifts on a thread of its own, and writes on this one while `goes_on`, which is passed the instructions executed so far.
/// Returns how many were executed, and how many of them were written.
fn write(
    recorder: &mut Recorder,
    sink: &mut Counting,
    goes_on: impl Fn(u64) -> bool,
) -> trackway_core::Result<(u64, u64)> {
    let (sender, receiver) = sync_channel(WAITING);
    let pool = Pool::default();
    let empty = || Folded { batch: Batch::with_capacity(), ..Folded::default() };
    let folds = sink.takes_repeats();
    let mut counts = (recorder.executed(), 0);
    std::thread::scope(|scope| -> trackway_core::Result<()> {
        scope.spawn(|| {
            // Ends where nothing is left, or the receiver is gone.
            let sender = sender;
            let mut more = Ok(true);
            while matches!(more, Ok(true)) {
                let mut batches = Vec::with_capacity(TOGETHER);
                while batches.len() < TOGETHER && matches!(more, Ok(true)) {
                    let mut folded = pool.take_or(empty);
                    more = match folds {
                        true => recorder.fill_folded(&mut folded),
                        false => recorder.fill(&mut folded.batch),
                    };
                    // The guest is busy with something else: nothing is held back.
                    let is_last = !folded.is_full();
                    batches.push((folded, (recorder.executed(), recorder.recorded()), recorder.take_facts()));
                    if is_last {
                        break;
                    }
                }
                let failed = more.err();
                if sender.send((batches, failed)).is_err() {
                    return;
                }
            }
        });
        for (batches, failed) in receiver {
            for (folded, now, facts) in batches {
                if !goes_on(counts.0) {
                    return Ok(());
                }
                sink.add(&facts);
                match folds {
                    true => sink.put_folded_counted(&folded)?,
                    false => sink.put_counted(&folded.batch, None)?,
                }
                counts = now;
                pool.put(folded);
            }
            failed.map_or(Ok(()), Err)?;
        }
        Ok(())
    })?;
    Ok(counts)
}

fn failure(path: &Path, error: Error) -> Failure {
    match error {
        Error::Io(error) => Failure::input(path, FileError::at(path)(error)),
        Error::Program(text) => Failure::input(path, trackway::Error::Unsupported(text)),
        error => Failure::Usage(error.to_string()),
    }
}

/// The command, with everything that it needs in its place.
fn command(args: &RecordArgs, mode: QemuMode) -> Result<Command, Failure> {
    let path = &args.program;
    let bytes = std::fs::read(path).map_err(|error| Failure::input(path, FileError::at(path)(error)))?;
    let wrong = |error| failure(path, error);
    let program = Program::read(&bytes).map_err(wrong)?;
    let mode = match mode {
        QemuMode::User => Mode::User,
        QemuMode::System => Mode::System,
    };
    let qemu = Qemu::find(mode, program.architecture).map_err(wrong)?;
    if args.regs && qemu.api < 4 {
        let (version, api) = (&qemu.version, qemu.api);
        let text =
            format!("--regs: QEMU {version} has plugin API {api}, and registers come with 4 (QEMU 9.2)");
        return Err(Failure::Usage(text));
    }
    let named = args.plugin.clone().or_else(|| std::env::var_os("TRACKWAY_QEMU_PLUGIN").map(PathBuf::from));
    let folders = std::env::current_exe().map(|own| plugin_folders(&own)).unwrap_or_default();
    let plugin = Plugins { named, folders }.find(&qemu).map_err(wrong)?;
    let variable = |text: &String| {
        let pair = text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
        pair.ok_or_else(|| Failure::Usage(format!("--env {text}: not NAME=VALUE")))
    };
    Ok(Command {
        mode,
        qemu,
        plugin,
        file: path.clone(),
        program,
        arguments: args.arguments.clone(),
        environment: args.env.iter().map(variable).collect::<Result<_, _>>()?,
        deterministic: args.deterministic,
        seed: args.seed,
        skip_libs: args.skip_libs,
        registers: args.regs,
    })
}

/// Where the plugin is looked for: beside the program, as in a build, or in `lib/trackway`, as archives and packages have it.
fn plugin_folders(own: &Path) -> Vec<PathBuf> {
    let beside = own.parent();
    let installed = beside.and_then(Path::parent).map(|prefix| prefix.join("lib/trackway"));
    beside.map(Path::to_path_buf).into_iter().chain(installed).collect()
}

/// Refuses what QEMU cannot do, and what a format cannot hold.
fn refuse(args: &RecordArgs, isa: Isa, into: &dyn Format) -> Result<(), Failure> {
    let computer = "the program uses this computer's own";
    let cpu = "-- -cpu names the CPU of --qemu system, and --env QEMU_CPU=NAME that of --qemu user";
    for (name, given, instead) in [
        ("time", args.time.is_some(), computer),
        ("write-files", args.write_files, computer),
        ("core", args.core.name.is_some(), cpu),
        ("isa", args.core.isa.is_some(), cpu),
        ("no-regs", args.no_regs, "registers are recorded with --regs only"),
    ] {
        if given {
            let text = format!("--{name} is for the golden model; under QEMU {instead}");
            return Err(Failure::Usage(text));
        }
    }
    if args.qemu == Some(QemuMode::System) && args.skip_libs {
        return Err(Failure::Usage("--skip-libs is for --qemu user: a machine has no libraries".into()));
    }
    if !into.holds(isa) {
        return Err(Failure::Usage(format!("{} does not hold {isa} instructions", into.title())));
    }
    Ok(())
}

fn options(args: &RecordArgs) -> Result<Options, Failure> {
    let mut image = Image::default();
    let wanted = [&args.from, &args.to].into_iter().flatten().any(|text| text.starts_with("sym:"));
    if wanted {
        let spec = args.program.display().to_string();
        image.open_elf(&spec).map_err(|error| Failure::input(&args.program, error))?;
    }
    let place = |text: &Option<String>| text.as_deref().map(|text| position(text, &image)).transpose();
    Ok(Options {
        memory: !args.no_mem,
        from: place(&args.from)?,
        to: place(&args.to)?,
        limit: args.limit.unwrap_or(u64::MAX),
        stop_after: args.stop_after.unwrap_or(u64::MAX),
        sample: args.sample.map(|(count, of)| Sample { count, of }),
        first_thread: args.threads == Some(Threads::First),
    })
}

/// An instruction number, `pc:0x…` or `sym:NAME`.
fn position(text: &str, image: &Image) -> Result<Position, Failure> {
    crate::record::place(text, |name| image.named(name).map(|symbol| symbol.address)).map(|place| match place
    {
        Ok(number) => Position::Instruction(number),
        Err(address) => Position::Pc(address),
    })
}

/// Standard input and output of the guest.
fn streams(args: &RecordArgs, to_stdout: bool) -> Result<(Stdio, Stdio), Failure> {
    let input = match &args.stdin {
        Some(path) if path.as_os_str() != "-" => {
            File::open(path).map_err(|error| Failure::input(path, FileError::at(path)(error)))?.into()
        }
        _ => Stdio::inherit(),
    };
    let output =
        if to_stdout { Stdio::inherit() } else { std::io::stderr().as_fd().try_clone_to_owned()?.into() };
    Ok((input, output))
}

/// The facts before the guest runs: its command, of which the kind of stdout is a part.
fn meta(command: &Command, to_stdout: bool) -> Meta {
    let mut meta = Meta::new(QEMU, command.program.isa);
    meta.version = format!("QEMU {}", command.qemu.version);
    let words = command.words(Path::new("FOLDER")).join(" ");
    let program = command.qemu.path.file_name().unwrap_or_default().display().to_string();
    let plugin = command.plugin.file_name().unwrap_or_default().display().to_string();
    let words = words.replace(&command.plugin.display().to_string(), &plugin);
    let kind = if to_stdout {
        kind(std::io::stdout().is_terminal(), 1)
    } else {
        kind(std::io::stderr().is_terminal(), 2)
    };
    meta.comments.push(format!("{program} {words}; stdout is a {kind}"));
    meta
}

/// Programs buffer their output by it, and so execute other instructions.
fn kind(terminal: bool, descriptor: u32) -> &'static str {
    let found = std::fs::metadata(format!("/proc/self/fd/{descriptor}")).map(|found| found.file_type());
    match found {
        _ if terminal => "terminal",
        Ok(kind) if kind.is_fifo() => "pipe",
        Ok(kind) if kind.is_file() => "file",
        Ok(kind) if kind.is_char_device() => "device",
        Ok(kind) if kind.is_socket() => "socket",
        _ => "stream of an unknown kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_program_finds_its_plugin() {
        let folders = plugin_folders(Path::new("/usr/bin/trackway"));
        assert_eq!(folders, [Path::new("/usr/bin"), Path::new("/usr/lib/trackway")]);
    }
}

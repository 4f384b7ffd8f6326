//! `trackway verify`: a trace beside the golden model.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value as Json, json};
use trackway::{Counts, Health};
use trackway_core::{Isa, Meta, Source};
use trackway_hart::{Config, Extensions, Program};
use trackway_tools::verify::{
    self, Absent, Coverage, MaskSettings, Masks, Memory, Options, Range, Report, Survey, Verdict, Verifier,
};

use crate::args::VerifyArgs;
use crate::core::Described;
use crate::exit::{Exit, Failure};
use crate::json::{self, object, put_errors};
use crate::open::open_for_model;
use crate::output::write_file;
use crate::progress::{Progress, Watched};
use crate::report::say;
use crate::sections::{Unwritten, Verify as Section, range};

/// Bytes that a segment may have beyond its content: a damaged header must not take all memory.
const LARGEST: u64 = 1 << 30;

/// Test finisher, CLINT, PLIC and UART of QEMU's `virt` and of `record`.
const VIRT: [(u64, u64); 4] =
    [(0x10_0000, 0x1000), (0x200_0000, 0x1_0000), (0xc00_0000, 0x400_0000), (0x1000_0000, 0x1000)];

/// The core that the trace names, unless the settings name another. One with extensions that the model lacks is refused:
/// half of its trace could not be verified.
fn recorded_core(isa: Isa, meta: &Meta, settings: &trackway_hart::Settings) -> Result<Config, Failure> {
    let core = Config::new(isa);
    let named = meta.isa_string.as_ref().filter(|_| settings.isa.is_none() && settings.preset.is_none());
    let Some(text) = named else { return Ok(core) };
    let (_, extensions) = Extensions::read(text).map_err(|error| {
        Failure::Usage(format!("the trace's ISA string {error}; to verify against another core use --isa"))
    })?;
    Ok(Config { extensions, ..core })
}

pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let mut trace = open_for_model(&args.common, &args.file)?;
    let isa = trace.meta().isa;
    if !matches!(isa, Isa::Rv32 | Isa::Rv64) {
        return Err(Failure::Usage("the golden model is RISC-V only".to_string()));
    }
    let config = trace.settings().clone();
    let in_config = |error: trackway::Error| Failure::input(&args.file, error);
    let described = Described::read(&config, &args.core).map_err(in_config)?;
    let settings = &described.settings;
    let section: Section = config.section("verify").map_err(in_config)?;
    let masks: BTreeMap<String, MaskSettings> = config.section("masks").map_err(in_config)?;
    let progress = Progress::new(args.common.quiet);
    let survey = survey(args, &progress)?;
    let base = recorded_core(isa, trace.meta(), settings)?;
    let mut core = settings.core(base).map_err(|text| Failure::Usage(format!("[machine] {text}")))?;
    core = described.with_rules(core)?;
    if survey.user_only && settings.pmp_entries.is_none() {
        // A program without its system: nothing sets PMP up, and entries that are off would let nothing run.
        core.pmp_entries = 0;
    }
    if core.isa != isa {
        return Err(Failure::Usage("the core has another width than the trace".to_string()));
    }
    let described_pc = settings.preset.as_ref().map(|_| core.reset_pc);
    let mut verify_options = Options {
        reset_pc: settings.reset_pc.or(trace.meta().start_pc).or(described_pc),
        mmio: ranges(section.mmio.as_deref().unwrap_or(&VIRT)),
        map: section.memory.places(),
        zeroed: section.memory.unwritten(Unwritten::Zero),
        trusted: section.memory.unwritten(Unwritten::Trace),
        flat: survey.user_only,
        system_writes: survey.user_only && survey.memory_at_start,
        allow_gaps: args.allow_gaps,
        follow_ups: args.follow_ups,
        strict: section.strict || args.common.strict,
        stop_after: args.stop_after,
        history: args.history,
        coverage: args.coverage,
        masks: Masks::default(),
        ..Options::new(core)
    };
    if verify_options.system_writes && verify_options.map.is_empty() {
        // The system hands out memory that is zero.
        verify_options.zeroed.push(range(0, u64::MAX));
    }
    verify_options.masks.apply(&masks).map_err(Failure::Usage)?;
    verify_options.absent = match &section.absent {
        Some(words) => absent(words)?,
        None => survey.absent,
    };

    let mut verifier = Verifier::new(verify_options.clone());
    load_all(trace.program(), &mut verifier.memory)?;
    let source = trace.events().map_err(|error| Failure::input(&args.file, error))?;
    let mut source = Watched::new(source, Some(&progress));
    let ended = verify::verify(&mut source, &mut verifier);
    let items = source.census().total();
    drop(source);
    drop(progress);
    let ended = ended.map_err(|error| crate::report::placed(&args.common, &args.file, error.into()));
    print(args, &verifier, items, ended.as_ref().err())?;
    if let Some(out) = args.minimise.as_ref().filter(|_| !verifier.report.mismatches.is_empty()) {
        minimise(args, trace.program(), &verify_options, out)?;
    }
    match ended {
        Err(failure) => Err(failure),
        Ok(()) => Ok(match verifier.report.verdict() {
            Verdict::Differs => Exit::Found,
            Verdict::Incomplete => Exit::Gaps,
            Verdict::Verified => Exit::Fine,
        }),
    }
}

/// A stream is read once only: then everything is expected of it.
fn survey(args: &VerifyArgs, progress: &Progress) -> Result<Survey, Failure> {
    if args.file.as_os_str() == "-" {
        return Ok(Survey::default());
    }
    let mut trace = open_for_model(&args.common, &args.file)?;
    let source = trace.events().map_err(|error| Failure::input(&args.file, error))?;
    Ok(verify::survey(&mut Watched::new(source, Some(progress))))
}

fn ranges(pairs: &[(u64, u64)]) -> Vec<Range> {
    pairs.iter().map(|&(start, size)| range(start, size)).collect()
}

fn absent(words: &[String]) -> Result<Absent, Failure> {
    let mut absent = Absent::default();
    for word in words {
        match word.as_str() {
            "x" => absent.x = true,
            "f" => absent.f = true,
            "csr" => absent.csr = true,
            "privilege" => absent.privilege = true,
            "memory" => absent.memory = true,
            _ => {
                let text = format!("[verify] absent: {word:?} is not one of x, f, csr, privilege, memory");
                return Err(Failure::Usage(text));
            }
        }
    }
    Ok(absent)
}

fn load_all(program: &trackway::format::Program, memory: &mut Memory) -> Result<(), Failure> {
    program.elf.iter().try_for_each(|spec| load(spec, false, memory))?;
    program.raw.iter().try_for_each(|spec| load(spec, true, memory))
}

/// Writes the shortest trace that still fails, if there is one.
fn minimise(
    args: &VerifyArgs,
    program: &trackway::format::Program,
    verify_options: &Options,
    out: &std::path::Path,
) -> Result<(), Failure> {
    if args.file.as_os_str() == "-" {
        return Err(Failure::Usage(
            "--minimise reads the trace several times: it cannot be stdin".to_string(),
        ));
    }
    let mut failed = None;
    let mut open = || {
        let opened = open_for_model(&args.common, &args.file)
            .and_then(|mut trace| trace.events().map_err(|error| Failure::input(&args.file, error)));
        opened.map_err(|failure| {
            failed = Some(failure);
            trackway_core::ErrorKind::Missing.at(0, "trace", "", "")
        })
    };
    // It was loaded once already: a failure would have been reported then.
    let mut prepare = |verifier: &mut Verifier| drop(load_all(program, &mut verifier.memory));
    let minimal = verify::minimise(&mut open, verify_options, &mut prepare);
    if let Some(failure) = failed {
        return Err(failure);
    }
    match minimal.map_err(|error| Failure::input(&args.file, error))? {
        Some(minimal) => {
            write_file(out, &minimal.trace)?;
            say!(
                "{}: a snapshot and {} groups, {} bytes, fail in the same way",
                out.display(),
                minimal.groups,
                minimal.trace.len()
            );
        }
        None => say!("no shorter trace fails in the same way"),
    }
    Ok(())
}

/// Loads a program, or raw bytes, at its address or at the one given.
fn load(spec: &str, raw: bool, memory: &mut Memory) -> Result<(), Failure> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let placed = spec.rsplit_once('@').and_then(|(path, text)| Some((path, Some(number(text)?))));
    let (path, address) = placed.unwrap_or((spec, None));
    let path = std::path::Path::new(path);
    let failed = |error| Failure::input(path, trackway::Error::File { path: path.into(), error });
    let bytes = std::fs::read(path).map_err(failed)?;
    if raw {
        let address =
            address.ok_or_else(|| Failure::Usage(format!("--image {spec}: where? Say PATH@ADDR")))?;
        memory.load(address, &bytes);
        return Ok(());
    }
    let program = Program::read(&bytes)
        .map_err(|error| Failure::input(path, trackway::Error::Unsupported(error.to_string())))?;
    let lowest = program.segments.iter().map(|segment| segment.physical).min().unwrap_or(0);
    let moved = address.map_or(0, |address| address.wrapping_sub(lowest));
    if let Some(zeros) = program.segments.iter().map(|segment| segment.zeros()).find(|zeros| *zeros > LARGEST)
    {
        let text = format!("a segment has {zeros} bytes without content");
        return Err(Failure::input(path, trackway::Error::Unsupported(text)));
    }
    memory.load_program(&program, moved);
    Ok(())
}

/// Facts that could not be compared, and why.
fn not_compared(report: &Report, absent: Absent) -> Vec<Json> {
    let lacks = report.lacks.iter().map(|lacking| {
        json!({
            "what": lacking.lack.as_str(),
            "count": lacking.count,
            "after_gaps": lacking.after_gaps,
            "why": lacking.lack.why(),
            "first": lacking.first,
        })
    });
    let left_out = absent_names(absent);
    let left_out = left_out.map(|what| json!({ "what": what, "count": null, "why": "the trace has none" }));
    lacks.chain(left_out).collect()
}

/// Elements that the trace leaves out.
fn absent_names(absent: Absent) -> impl Iterator<Item = &'static str> {
    let Absent { x, f, csr, privilege, memory } = absent;
    let names = [
        (x, "integer registers"),
        (f, "floating-point registers"),
        (csr, "control registers"),
        (privilege, "privilege"),
        (memory, "memory accesses"),
    ];
    names.into_iter().filter(|(absent, _)| *absent).map(|(_, name)| name)
}

/// Coverage with names as values: they are not keys of a schema.
fn coverage(coverage: &Coverage) -> Json {
    let counts = |counts: &BTreeMap<String, u64>| -> Json {
        counts.iter().map(|(name, count)| json!({ "name": name, "count": count })).collect()
    };
    let instructions = coverage.instructions.iter();
    let csrs = coverage.csrs.iter();
    json!({
        "instructions": instructions
            .map(|(name, operands)| json!({ "name": name, "operands": counts(operands) }))
            .collect::<Vec<_>>(),
        "csrs": csrs
            .map(|(name, [reads, writes])| json!({ "name": name, "reads": reads, "writes": writes }))
            .collect::<Vec<_>>(),
        "traps": counts(&coverage.traps),
        "walks": counts(&coverage.walks),
    })
}

fn print(args: &VerifyArgs, verifier: &Verifier, items: u64, ended: Option<&Failure>) -> Result<(), Failure> {
    let report = &verifier.report;
    if let Some(path) = &args.junit {
        let name = args.file.display().to_string();
        write_file(path, report.junit(&name).as_bytes())?;
    }
    if args.json {
        let mut object = object("verify");
        object.insert("file".into(), json!(args.file.display().to_string()));
        object.insert("passed".into(), json!(report.passed()));
        object.insert("reasons".into(), json!(report.reasons()));
        if let Json::Object(fields) = json!(report) {
            object.extend(fields);
        }
        object.insert("not_compared".into(), json!(not_compared(report, verifier.absent())));
        if args.coverage {
            object.insert("coverage".into(), coverage(&verifier.coverage));
        }
        put_errors(&mut object, &Health::default(), ended);
        return Ok(json::print(object)?);
    }
    let mut out = std::io::stdout().lock();
    for what in absent_names(verifier.absent()) {
        writeln!(out, "not compared: {what}: the trace has none")?;
    }
    write!(out, "{}", report.text())?;
    if args.coverage {
        write!(out, "{}", verifier.coverage.text())?;
    }
    let (instructions, gaps, skipped) = (report.instructions, report.gaps, report.skipped);
    let counts = Counts { instructions, gaps, skipped, ..Counts::default() };
    let health = Health { items: Some(items), counts, ..Health::default() };
    writeln!(out, "{}", health.line())?;
    Ok(())
}

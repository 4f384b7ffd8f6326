//! `trackway verify`: a trace beside the golden model.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use trackway::format::Omits;
use trackway::{Counts, Health, Trace};
use trackway_core::{Isa, Meta, Source};
use trackway_hart::{Config, Extensions};
use trackway_tools::verify::{
    self, Absent, Coverage, MaskSettings, Masks, Options, Range, Report, Survey, Verdict, Verifier,
};

use crate::args::VerifyArgs;
use crate::core::Described;
use crate::exit::{Exit, Failure};
use crate::json::{self, object, put_errors};
use crate::listen::accept;
use crate::loaded::Loaded;
use crate::open::{open_for_model, open_live};
use crate::output::write_file;
use crate::progress::{Progress, Watched};
use crate::report::{placed, say};
use crate::sections::{Unwritten, Verify as Section, range};

/// Test finisher, CLINT, PLIC and UART of QEMU's `virt` and of `record`.
const VIRT: [(u64, u64); 4] =
    [(0x10_0000, 0x1000), (0x200_0000, 0x1_0000), (0xc00_0000, 0x400_0000), (0x1000_0000, 0x1000)];

/// The core that the trace names, unless the settings name another. One with extensions that the model lacks is refused:
/// half of its trace could not be verified.
fn recorded_core(isa: Isa, meta: &Meta, described: &Described) -> Result<Config, Failure> {
    let core = Config::new(isa);
    let named = meta.isa_string.as_ref().filter(|_| !described.names_a_core());
    let Some(text) = named else { return Ok(core) };
    let (_, extensions) = Extensions::read(text).map_err(|error| {
        Failure::Usage(format!("the trace's ISA string {error}; to verify against another core use --isa"))
    })?;
    Ok(Config { extensions, ..core })
}

/// The name of the trace, for messages.
fn name(args: &VerifyArgs) -> PathBuf {
    args.file.clone().or_else(|| args.listen.as_ref().map(PathBuf::from)).unwrap_or_else(|| "-".into())
}

/// Is it read once only, as it comes?
fn is_live(args: &VerifyArgs) -> bool {
    args.file.as_ref().is_none_or(|file| file.as_os_str() == "-")
}

pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let name = name(args);
    let mut trace = match &args.listen {
        Some(address) => open_live(&args.common, accept(address, args.common.quiet)?, &name)?,
        None if is_live(args) => open_live(&args.common, Box::new(std::io::stdin()), &name)?,
        None => open_for_model(&args.common, &name)?,
    };
    if !matches!(trace.meta().isa, Isa::Rv32 | Isa::Rv64) {
        return Err(Failure::Usage("the golden model is RISC-V only".to_string()));
    }
    if let [first, _, ..] = &trace.meta().sources[..] {
        return Err(Failure::Usage(format!(
            "{}: cannot be verified: it needs several harts, which the model does not have; --source {first:?} verifies one of them",
            name.display()
        )));
    }
    let progress = Progress::new(args.common.quiet);
    let program = Loaded::read(trace.program())?;
    let options = options(args, &trace, &program, &progress)?;
    let mut verifier = Verifier::new(options.clone());
    program.put(&mut verifier.memory);
    let source = events(&mut trace).map_err(|error| Failure::input(&name, error))?;
    let mut source = Watched::new(source, Some(&progress));
    let ended = if is_live(args) {
        live(args, &mut source, &mut verifier)?
    } else {
        verify::verify(&mut source, &mut verifier)
    };
    let items = source.census().total();
    drop(source);
    drop(progress);
    if let Some(needed) = &verifier.report.needed {
        return Err(Failure::Usage(format!("{}: cannot be verified: {needed}", name.display())));
    }
    let ended = ended.map_err(|error| placed(&args.common, &name, error.into()));
    print(args, &verifier, items, ended.as_ref().err())?;
    if let Some(out) = args.minimise.as_ref().filter(|_| !verifier.report.mismatches.is_empty()) {
        minimise(args, &program, &options, out)?;
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

/// The instructions of a trace; those of a flow format with the help of the program.
fn events(trace: &mut Trace) -> trackway::Result<Box<dyn Source>> {
    if trace.meta().flow_only { trace.expanded() } else { trace.events() }
}

/// Verifies what comes as it comes; each mismatch is shown at once.
fn live(
    args: &VerifyArgs,
    source: &mut dyn Source,
    verifier: &mut Verifier,
) -> Result<trackway_core::Result<()>, Failure> {
    let mut shown = 0;
    let mut failed = None;
    let ended = verify::verify_live(source, verifier, &mut |report| {
        let texts = (shown..report.mismatches.len()).map(|n| report.mismatch_text(n));
        let texts: String = texts.collect();
        shown = report.mismatches.len();
        let written = if args.json {
            std::io::stderr().write_all(texts.as_bytes())
        } else {
            std::io::stdout().write_all(texts.as_bytes()).and_then(|()| std::io::stdout().flush())
        };
        failed = written.err();
        failed.is_none()
    });
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(ended),
    }
}

/// How to verify this trace: its core, its machine, and what it has.
fn options(
    args: &VerifyArgs,
    trace: &Trace,
    program: &Loaded,
    progress: &Progress,
) -> Result<Options, Failure> {
    let (name, isa) = (name(args), trace.meta().isa);
    let config = trace.settings().clone();
    let in_config = |error: trackway::Error| Failure::input(&name, error);
    let described = Described::read(&config, &args.core, args.common.quiet)?;
    let settings = &described.settings;
    let mut section: Section = config.section("verify").map_err(in_config)?;
    let masks: BTreeMap<String, MaskSettings> = config.section("masks").map_err(in_config)?;
    // A log begins after a reset and does not say so, and shows traps only by where they lead.
    let is_log = trace.format().omits().implied;
    let survey = survey(args, trace, progress)?;
    let mut core = settings
        .core(described.base(recorded_core(isa, trace.meta(), &described)?))
        .map_err(|text| Failure::Usage(format!("[machine] {text}")))?;
    core = described.with_rules(core)?;
    if survey.user_only && settings.pmp_entries.is_none() {
        // A program without its system: nothing sets PMP up, and entries that are off would let nothing run.
        core.pmp_entries = 0;
    }
    if core.isa != isa {
        return Err(Failure::Usage("the core has another width than the trace".to_string()));
    }
    section.complete(settings.preset.as_deref());
    let described_pc = settings.preset.as_ref().map(|_| core.reset_pc);
    let begins_at = if (is_log || trace.meta().flow_only) && !survey.user_only {
        program.entries().chain([core.reset_pc]).collect()
    } else {
        Vec::new()
    };
    let mut options = Options {
        reset_pc: settings.reset_pc.or(trace.meta().start_pc).or(described_pc).filter(|_| !is_log),
        begins_at,
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
        extensions_known: trace.meta().isa_string.is_some() || described.names_a_core(),
        masks: Masks::default(),
        ..Options::new(core)
    };
    if options.system_writes && options.map.is_empty() {
        // The system hands out memory that is zero.
        options.zeroed.push(range(0, u64::MAX));
    }
    options.masks.apply(&masks).map_err(Failure::Usage)?;
    options.absent = match &section.absent {
        Some(words) => absent(words)?,
        None => survey.absent,
    };
    // A flow format has the privilege where it begins anew, not where it changes.
    options.absent.implied = is_log || trace.meta().flow_only;
    options.absent.privilege |= trace.meta().flow_only;
    Ok(options)
}

/// A stream is read once only: then all is expected of it that its format has.
fn survey(args: &VerifyArgs, trace: &Trace, progress: &Progress) -> Result<Survey, Failure> {
    if is_live(args) {
        let Omits { float, csr, privilege, memory, implied: _ } = trace.format().omits();
        let absent = Absent { f: float, csr, privilege, memory, ..Absent::default() };
        return Ok(Survey { absent, ..Survey::default() });
    }
    let name = name(args);
    let mut trace = open_for_model(&args.common, &name)?;
    let source = events(&mut trace).map_err(|error| Failure::input(&name, error))?;
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

/// Writes the shortest trace that still fails, if there is one.
fn minimise(
    args: &VerifyArgs,
    program: &Loaded,
    options: &Options,
    out: &std::path::Path,
) -> Result<(), Failure> {
    let name = name(args);
    if is_live(args) {
        return Err(Failure::Usage(
            "--minimise reads the trace several times: it cannot be stdin".to_string(),
        ));
    }
    let mut failed = None;
    let mut open = || {
        let opened = open_for_model(&args.common, &name)
            .and_then(|mut trace| events(&mut trace).map_err(|error| Failure::input(&name, error)));
        opened.map_err(|failure| {
            failed = Some(failure);
            trackway_core::ErrorKind::Missing.at(0, "trace", "", "")
        })
    };
    let mut prepare = |verifier: &mut Verifier| program.put(&mut verifier.memory);
    let minimal = verify::minimise(&mut open, options, &mut prepare);
    if let Some(failure) = failed {
        return Err(failure);
    }
    match minimal.map_err(|error| Failure::input(&name, error))? {
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
    let Absent { x, f, csr, privilege, memory, implied } = absent;
    let names = [
        (x, "integer registers"),
        (f, "floating-point registers"),
        (csr, "control registers"),
        (privilege, "privilege"),
        (memory, "memory accesses"),
        (implied, "control registers written by the way, causes of traps"),
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
        let name = name(args).display().to_string();
        write_file(path, report.junit(&name).as_bytes())?;
    }
    if args.json {
        let mut object = object("verify");
        object.insert("file".into(), json!(name(args).display().to_string()));
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
    if is_live(args) {
        write!(out, "{}{}", report.follow_ups_text(), report.verdict_text())?;
    } else {
        write!(out, "{}", report.text())?;
    }
    if args.coverage {
        write!(out, "{}", verifier.coverage.text())?;
    }
    let (instructions, gaps, skipped) = (report.instructions, report.gaps, report.skipped);
    let counts = Counts { instructions, gaps, skipped, ..Counts::default() };
    let health = Health { items: Some(items), counts, ..Health::default() };
    writeln!(out, "{}", health.line())?;
    Ok(())
}

//! Positions: every form, located in traces of every format.

use trackway::events::{Batch, Context, EventKind, FormatId, Gap, GapReason, Isa, Meta, Step};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
use trackway::{Follow, Position, Tally, Trace};
use trackway_testkit::corpus_part;

const STF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/stf/everything/trace.stf");

fn located(trace: &mut Trace, text: &str, after: Option<u64>) -> Result<u64, String> {
    let programs = trace.programs().unwrap();
    let position = Position::parse(text, &programs).map_err(|error| error.to_string())?;
    assert_eq!(Position::parse(&position.to_string(), &programs).unwrap(), position);
    trace.locate(&position, after).map_err(|error| error.to_string())
}

#[test]
fn every_form() {
    let trace = &mut Trace::open(STF).unwrap();
    for (text, after, number) in [
        ("3", None, 3),
        ("0x3", Some(5), 3),
        ("pc:0x8000000c", None, 5),
        ("pc:0x8000000c", Some(5), 7),
        ("trap:0", None, 4),
        ("trap:2", Some(7), 6),
        ("mark:0", None, 0),
        ("mark:1", None, 8),
        ("mark:note", None, 0),
        ("mark:note", Some(0), 8),
        ("mark:the end", None, 8),
        ("end", None, 8),
        ("end-3", None, 5),
        ("end-8", None, 0),
    ] {
        assert_eq!(located(trace, text, after), Ok(number), "{text}");
    }
    for text in ["pc:0x4", "trap:5", "gap:0", "mark:2", "mark:halt", "time:0"] {
        assert_eq!(located(trace, text, None), Err(format!("the trace never reaches {text}")));
    }
    assert_eq!(located(trace, "pc:0x8000000c", Some(7)), Err("the trace never reaches pc:0x8000000c".into()));
    assert_eq!(located(trace, "end-9", None), Err("end-9: there are 8 instructions".into()));
    for text in [
        "",
        "x",
        "-1",
        "pc:",
        "pc:x",
        "time:now",
        "trap:",
        "mark:",
        "line:a.c",
        "line:a.c:x",
        "end-",
        "end-x",
    ] {
        assert!(located(trace, text, None).unwrap_err().contains("a position is N, pc:ADDRESS"), "{text}");
    }
    assert!(located(trace, "sym:main", None).unwrap_err().contains("unknown symbol main"));
    assert!(located(trace, "line:main.c:3", None).unwrap_err().contains("no code belongs to main.c:3"));
}

#[test]
fn times_and_symbols() {
    let astf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/astf/levels.astf");
    let trace = &mut Trace::open(astf).unwrap();
    assert_eq!(located(trace, "time:0", None), Ok(0));
    assert_eq!(located(trace, "time:0x69", None), Ok(20));
    let sort = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/stf/sort/trace.stf");
    let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/sort.elf");
    let trace = &mut Trace::options().elf(elf).open(sort).unwrap();
    assert_eq!(located(trace, "sym:sort", None), Ok(4));
    assert!(located(trace, "sym:sum", None).unwrap() > 4);
}

/// The program with debug information, with a gap inside, as a flow trace: its runs are looked into.
#[test]
fn gaps_and_lines() {
    const GAP: u64 = 1000;
    let base = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/arm-mix/arm-mix");
    let elf = base.with_extension("elf").display().to_string();
    let program = Program { elf: vec![elf.clone()], ..Program::default() };
    let image = program.load().unwrap();
    let memory = image.memory(&Context::default());
    let (mut batch, mut count, mut last) = (Batch::default(), 0, None);
    for (mut pc, isa, length) in trackway_testkit::runs(&base.with_extension("runs")) {
        if last.replace(isa) != Some(isa) {
            batch.push_context(0, Context { isa: Some(isa), ..Context::default() });
        }
        for _ in 0..length {
            let (encoding, length) = memory.fetch(isa, pc).unwrap();
            if count == GAP {
                batch.push_gap(0, Gap::new(GapReason::Overflow));
            }
            batch.push(0, EventKind::Step(Step::new(pc, encoding, length)));
            count += 1;
            pc += u64::from(length);
        }
    }
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("lines.ete");
    let (target, settings) = (Target::new(&path), Settings::default());
    let writing = Writing { target: target.clone(), settings: &settings, program: &program, threads: 1 };
    let mut sink =
        trackway::ete::FORMAT.create(writing, &Meta::new(FormatId::new("test"), Isa::A32)).unwrap();
    sink.put(&batch).unwrap();
    sink.finish().unwrap();
    target.commit().unwrap();

    let options = trackway::Options { format: Some(FormatId::new("ete")), ..Trace::options() };
    let trace = &mut options.elf(elf).open(&path).unwrap();
    let (mut source, mut batch) = (trace.expanded().unwrap(), Batch::default());
    let (mut pcs, mut gaps) = (Vec::new(), Vec::new());
    while source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            match event.kind {
                EventKind::Gap(_) => gaps.push(pcs.len() as u64),
                EventKind::Step(step) => pcs.push(step.pc.unwrap()),
                _ => {}
            }
        }
    }
    // Instructions right before it may be lost with it.
    assert!(gaps.iter().any(|number| (1..=GAP).contains(number)), "{gaps:?}");
    for (n, number) in gaps.iter().enumerate() {
        assert_eq!(located(trace, &format!("gap:{n}"), None), Ok(*number));
    }
    let beyond = format!("gap:{}", gaps.len());
    assert_eq!(located(trace, &beyond, None), Err(format!("the trace never reaches {beyond}")));
    let line_of = |pc: u64| image.line(pc).filter(|line| line.file.ends_with("mix.c")).map(|line| line.line);
    let lines: Vec<Option<u32>> = pcs.iter().map(|pc| line_of(*pc)).collect();
    let all: std::collections::BTreeSet<u32> = lines.iter().copied().flatten().collect();
    assert!(all.len() > 5, "{all:?}");
    for line in all {
        let first = lines.iter().position(|found| *found == Some(line)).map(|first| first as u64);
        assert_eq!(located(trace, &format!("line:mix.c:{line}"), None).ok(), first, "line {line}");
    }
}

#[test]
fn several_sources_need_a_choice() {
    let count = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/ete/count");
    let mut trace = Trace::open(count).unwrap();
    let error = trace.locate(&Position::Number(3), None).unwrap_err().to_string();
    assert_eq!(error, "positions count per source: choose one with --source (ETE_0, ETE_1)");
    let mut one = trackway::Options { source: Some("ETE_1".into()), ..Trace::options() };
    one.threads = 1;
    let mut one = one.open(count).unwrap();
    assert!(located(&mut one, "end-1", None).unwrap() > 0);
}

#[test]
fn a_trace_in_memory_is_searched_too() {
    let trace = &mut Trace::options().open_bytes(std::fs::read(STF).unwrap()).unwrap();
    assert_eq!(located(trace, "trap:2", None), Ok(6));
}

/// The instruction of a run that is met is numbered by the program.
#[test]
fn runs_are_looked_into() {
    let Some(folder) = corpus_part("etrace/ref-traps") else { return };
    let settings = trackway::Settings::read(&folder.join("params.toml")).unwrap();
    let mut trace = Trace::options().settings(settings).open(folder.join("trace.bin")).unwrap();
    let mut steps = trace.steps().unwrap();
    let mut seen = std::collections::BTreeMap::new();
    while let Ok(Some(step)) = steps.next() {
        seen.entry(step.pc.unwrap()).or_insert(step.number);
    }
    for (pc, number) in seen.iter().step_by(7) {
        assert_eq!(trace.locate(&Position::Pc(*pc), None).unwrap(), *number, "{pc:#x}");
    }
}

#[test]
fn a_follow_counts_from_its_place() {
    let mut trace = Trace::open(STF).unwrap();
    let mut batch = Batch::default();
    assert!(trace.events().unwrap().fill(&mut batch).unwrap());
    let mut follow = Follow::new(Position::Trap(9), Tally { traps: 7, ..Tally::default() });
    let reached: Vec<bool> = batch.events.iter().map(|event| follow.is_reached(&batch, event, 0)).collect();
    let traps: Vec<usize> =
        (0..reached.len()).filter(|&n| matches!(batch.events[n].kind, EventKind::Trap(_))).collect();
    assert_eq!(reached.iter().position(|reached| *reached), Some(traps[2]));
}

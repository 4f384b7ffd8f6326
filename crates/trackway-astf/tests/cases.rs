//! Small traces of the corpus that show one case each: what `check` finds, and what reading delivers.

mod ledger;

use trackway_astf::{Level, Lower, ReadConfig, Storage, Trace, WriteConfig, example};
use trackway_core::*;
use trackway_testkit::output::Shared;

fn open(bytes: &[u8]) -> Trace {
    Trace::open(Input::from_vec(bytes.to_vec()), ReadConfig::default()).unwrap()
}

fn corpus(name: &str) -> Option<Vec<u8>> {
    let path = trackway_testkit::corpus_part(&format!("astf/{name}.astf"))?;
    Some(std::fs::read(path).unwrap())
}

fn findings(bytes: &[u8]) -> Vec<&'static str> {
    let mut found = Vec::new();
    assert_eq!(open(bytes).check(&mut |finding| found.push(finding.rule.name)).1, None);
    found
}

fn events(bytes: &[u8]) -> (Meta, Vec<Batch>) {
    let (mut source, mut batches) = (open(bytes).events(), Vec::new());
    let mut batch = Batch::default();
    while source.fill(&mut batch).unwrap() {
        batches.push(batch.clone());
    }
    (source.meta().clone(), batches)
}

/// Event lines without offsets.
fn lines(batches: &[Batch]) -> Vec<String> {
    let line = |batch: &Batch, event: &Event| {
        let mut line = String::new();
        batch.write_line(event, &mut line);
        line.split_once(' ').unwrap().1.to_string()
    };
    batches.iter().flat_map(|batch| batch.events.iter().map(move |event| line(batch, event))).collect()
}

fn lower(meta: Meta, level: Option<Level>, text: &str) -> Vec<u8> {
    let mut batch = Batch::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        batch.read_line(&format!("0x0 {line}")).unwrap_or_else(|| panic!("{line}"));
    }
    let out = Shared::default();
    let config =
        WriteConfig { storage: Storage::Raw, level, allow_nonconforming: true, ..WriteConfig::default() };
    let sink = Lower::new(Box::new(out.clone()), meta.clone(), config).unwrap();
    let mut sink = Counting::new(Box::new(sink), &meta);
    sink.put(&batch).unwrap();
    let account = sink.finish().unwrap();
    let bytes = out.take();
    ledger::assert_exact(&account, &bytes);
    bytes
}

/// Traps, gaps and unsupported modes of what `text` becomes.
fn read_back(meta: Meta, level: Level, text: &str) -> Vec<String> {
    let (_, batches) = events(&lower(meta, Some(level), text));
    let kept = |line: &String| {
        ["trap", "gap"].iter().any(|kind| line.starts_with(kind)) || line.contains("unsupported")
    };
    lines(&batches).into_iter().filter(kept).collect()
}

fn flow_trace() -> Meta {
    Meta { flow_only: true, ..Meta::new(FormatId::new("ete"), Isa::A64) }
}

#[test]
fn illegal_traces_break_their_rule_and_legal_ones_none() {
    for (name, rules) in [
        ("smstart-wrong-context", &["astf.context-without-cause", "astf.context-contradicts-write"][..]),
        ("zva-unaligned", &["astf.block-alignment"]),
        ("sve-too-long", &["astf.vector-access-size", "astf.vector-access-size"]),
        ("brk-class-15", &["astf.class-of-instruction"]),
        ("iabort-with-instr", &["astf.class-of-instruction"]),
        ("irq-after-eret", &[]),
        ("iabort-after-ret", &[]),
        ("basic-trapped-load", &[]),
        ("fiq", &[]),
        ("bigids", &[]),
        ("bti-nop", &[]),
    ] {
        let Some(bytes) = corpus(name) else { return };
        assert_eq!(findings(&bytes), rules, "{name}");
    }
}

#[test]
fn a_trap_without_an_instruction_is_taken_where_the_flow_would_continue() {
    for (name, from) in [
        ("iabort-after-ret", Some(0x40_0100)),
        ("irq-after-eret", Some(0x40_0000)),
        ("fiq", Some(0x40_0004)),
        ("bti-nop", Some(0x40_0000)),
    ] {
        let Some(bytes) = corpus(name) else { return };
        let (_, batches) = events(&bytes);
        let traps = batches.iter().flat_map(|batch| &batch.traps);
        let first = traps.filter(|trap| trap.kind != TrapKind::Return).map(|trap| trap.from).next();
        assert_eq!(first, Some(from), "{name}");
    }
}

/// The cases through events and back are the same records.
#[test]
fn events_of_the_cases_become_the_same_records() {
    for name in ["irq-after-eret", "iabort-after-ret", "basic-trapped-load", "fiq", "bigids", "bti-nop"] {
        let Some(bytes) = corpus(name) else { return };
        let (meta, batches) = events(&bytes);
        let out = Shared::default();
        let config = WriteConfig { storage: Storage::Raw, ..WriteConfig::default() };
        let sink = Lower::new(Box::new(out.clone()), meta.clone(), config).unwrap();
        let mut sink = Counting::new(Box::new(sink), &meta);
        for batch in &batches {
            sink.put(batch).unwrap();
        }
        assert!(!sink.finish().unwrap().is_lossy(), "{name}");
        assert!(out.take() == bytes, "{name}");
    }
}

/// Exception types of a trace unit become ASTF's types and classes, by the instruction and the levels.
#[test]
fn traps_of_a_flow_trace_get_their_class() {
    let start = "context privilege=el0 security=non-secure";
    let handler = "context privilege=el1 security=non-secure\nstep pc=0x8400 encoding=0xd503201f length=0x4 outcome=retired";
    let exception = |word: &str, outcome: &str, number: u32, from: &str| {
        let text = format!(
            "{start}\nstep pc=0x1000 encoding={word} length=0x4 outcome={outcome}\n\
             trap kind=exception cause={number:#x} from={from} to=0x8400 return_address=0x1004\n{handler}"
        );
        read_back(flow_trace(), Level::BasicPlus, &text).join("; ")
    };
    let (nop, done) = ("0xd503201f", "retired");
    for (number, class) in [(11, "0x20"), (12, "0x24"), (6, "0x30"), (7, "0x34"), (10, "0x22")] {
        let expected = format!("trap kind=exception class={class} from=0x1004 to=0x8400");
        assert_eq!(exception(nop, done, number, "0x1004"), expected);
    }
    for (word, class, call) in
        [("0xd4000021", "0x15", "svc"), ("0xd4000022", "0x16", "hvc"), ("0xd4000023", "0x17", "smc")]
    {
        let expected = format!(
            "trap kind=exception class={class} from=0x1000 to=0x8400 syscall={call} syscall_index=0x1"
        );
        assert_eq!(exception(word, "attempted", 2, "0x1000"), expected);
    }
    let brk = "trap kind=exception class=0x3c from=0x1000 to=0x8400";
    assert_eq!(exception("0xd4200000", "attempted", 6, "0x1000"), brk);
    // At the same level.
    let same = "context privilege=el1 security=non-secure
        step pc=0x1000 encoding=0xd503201f length=0x4 outcome=retired
        trap kind=exception cause=0xb from=0x1004 return_address=0x1004
        step pc=0x8200 encoding=0xd503201f length=0x4 outcome=retired";
    let same = read_back(flow_trace(), Level::BasicPlus, same);
    assert_eq!(same, ["trap kind=exception class=0x21 from=0x1004 to=0x8200"]);
}

#[test]
fn interrupts_of_a_flow_trace_keep_their_type_and_a_debug_halt_is_a_context() {
    let text = "context privilege=el1 security=non-secure
        step pc=0x1000 encoding=0xd503201f length=0x4 outcome=retired
        trap kind=interrupt cause=0x4 from=0x1004 return_address=0x1004
        step pc=0x8380 encoding=0xd503201f length=0x4 outcome=retired
        trap kind=interrupt cause=0xe from=0x8384 return_address=0x8384
        step pc=0x8280 encoding=0xd503201f length=0x4 outcome=retired
        trap kind=interrupt cause=0xf from=0x8284 return_address=0x8284
        step pc=0x8300 encoding=0xd503201f length=0x4 outcome=retired
        trap kind=exception cause=0x1 from=0x8304 return_address=0x8304
        step pc=0x8304 encoding=0xd503201f length=0x4 outcome=retired";
    let found = read_back(flow_trace(), Level::BasicPlus, text);
    let state = "context privilege=el1 security=non-secure own_stack=yes streaming=no dit=no ssbs=no mte=0x0";
    assert_eq!(
        found,
        [
            "trap kind=interrupt cause=0x1 class=0x2f from=0x1004 to=0x8380",
            "trap kind=interrupt cause=0x2 from=0x8384 to=0x8280",
            "trap kind=interrupt cause=0x3 from=0x8284 to=0x8300",
            &format!("{state} unsupported=yes"),
            &format!("{state} unsupported=no"),
        ]
    );
}

/// A return is followed by an interrupt before any instruction: it went to where the interrupt was taken.
#[test]
fn a_return_before_an_interrupt_keeps_its_target() {
    let expected =
        ["trap kind=return from=0x8000 to=0x1000", "trap kind=interrupt cause=0x2 from=0x1000 to=0x8480"];
    let text = |after: &str| {
        format!(
            "context privilege=el1 security=non-secure
             step pc=0x8000 encoding=0xd69f03e0 length=0x4 outcome=retired
             {after}
             context privilege=el1 security=non-secure
             step pc=0x8480 encoding=0xd503201f length=0x4 outcome=retired"
        )
    };
    // As a flow trace has it, and as a format without exception returns has it, with a placeholder.
    let flow = text(
        "trap kind=return from=0x8000
         context privilege=el0 security=non-secure
         trap kind=interrupt cause=0xe from=0x1000 return_address=0x1000",
    );
    assert_eq!(read_back(flow_trace(), Level::BasicPlus, &flow), expected);
    let placeholder = text(
        "context privilege=el0
         step pc=0x1000 encoding=0xd503201f length=0x4 outcome=attempted
         trap kind=interrupt cause=0x2 from=0x1000 to=0x8480",
    );
    let stf = || Meta::new(FormatId::new("stf"), Isa::A64);
    assert_eq!(read_back(stf(), Level::BasicPlus, &placeholder), expected);
}

/// A no-op that can take the exception took it; one that cannot stands for an instruction that is not recorded.
#[test]
fn a_no_op_that_trapped_is_not_a_placeholder() {
    let of_class = |class: &str| {
        let text = format!(
            "context privilege=el0 security=non-secure
             step pc=0x1000 encoding=0xd503201f length=0x4 outcome=attempted
             trap kind=exception cause={class} from=0x1000 to=0x8400
             context privilege=el1 security=non-secure
             step pc=0x8400 encoding=0xd503201f length=0x4 outcome=retired"
        );
        let meta = Meta::new(FormatId::new("stf"), Isa::A64);
        let (_, batches) = events(&lower(meta, Some(Level::BasicPlus), &text));
        batches.iter().map(Batch::instructions).sum::<u64>()
    };
    assert_eq!(of_class("0xd"), 2, "Branch Target exception");
    assert_eq!(of_class("0x24"), 1, "Data Abort of an instruction that is not recorded");
    assert_eq!(of_class("0x20"), 1, "Instruction Abort");
}

/// A trapped load of a Basic trace that lost the kind of its access stays an attempt, with a faulting access.
#[test]
fn an_attempted_load_stays_attempted() {
    let load = |kind: &str, outcome: &str| {
        format!(
            "step pc=0x1000 encoding=0xf9400020 accesses=mem(kind:{kind},address:0x10,size:0x8,attributes:0x0) \
             length=0x4 outcome={outcome}"
        )
    };
    let start = "context privilege=el0 security=non-secure";
    let text = format!("{start}\n{}\n{}", load("read", "attempted"), load("read", "retired"));
    let bytes = lower(Meta::new(FormatId::new("stf"), Isa::A64), Some(Level::Basic), &text);
    assert_eq!(findings(&bytes), [""; 0]);
    let steps: Vec<_> =
        lines(&events(&bytes).1).into_iter().filter(|line| line.starts_with("step")).collect();
    assert_eq!(steps, [load("faulting", "attempted"), load("read", "retired")]);
}

/// Gaps of every shape come back as they were, in both levels.
#[test]
fn gaps_come_back() {
    let step = |pc: u64| format!("step pc={pc:#x} encoding=0xd503201f length=0x4 outcome=retired");
    let gaps = [
        "gap reason=overflow",
        "gap reason=no-code from=0x1000 to=0x2000 instructions=0x7",
        "gap reason=bad-input from=0x2000 bytes=0x40",
        "gap reason=filtered from=0x2004 to=0x3000",
        "gap reason=unexplained from=0x3000 to=0x4000",
        "gap reason=lost-sync from=0x4000 to=0x4004",
        "gap reason=discarded",
        "gap reason=no-path",
    ];
    let text = [
        "context privilege=el0 security=non-secure",
        gaps[0],
        &step(0x1000),
        gaps[1],
        &step(0x2000),
        gaps[2],
        &step(0x2004),
        gaps[3],
        &step(0x3000),
        gaps[4],
        &step(0x4000),
        gaps[5],
        &step(0x4004),
        gaps[6],
        gaps[7],
    ]
    .join("\n");
    for level in [Level::Basic, Level::BasicPlus] {
        let meta = || Meta::new(FormatId::new("stf"), Isa::A64);
        assert_eq!(read_back(meta(), level, &text), gaps, "{level:?}");
        // A gap that the flow shows needs no note.
        let bytes = lower(meta(), Some(level), &text);
        let noted = bytes.windows(13).filter(|bytes| bytes == b"trackway: gap").count();
        assert_eq!(noted, gaps.len() - 1, "{level:?}");
        // Nothing but the flow is broken, and that not by instructions that were left out.
        let broken = findings(&bytes);
        let rules: &[_] = if level == Level::Basic { &[] } else { &["astf.pc-continuity"; 2] };
        assert_eq!(broken, rules, "{level:?}");
    }
}

#[test]
fn a_compressed_trace_without_a_payload_is_truncated() {
    for storage in [Storage::Xz, Storage::LzmaAlone, Storage::Zlib] {
        let header = &example(storage)[..32];
        let truncated = |error: Error| assert_eq!((error.kind, error.offset), (ErrorKind::Truncated, 32));
        let mut source = open(header).events();
        truncated(source.fill(&mut Batch::default()).unwrap_err());
        truncated(open(header).check(&mut |_| {}).1.expect("the payload is missing"));
        let mut records = open(header).records();
        assert!(records.next_record().unwrap().is_some(), "the Header is there");
        truncated(records.next_record().unwrap_err());
    }
    // A payload of no records is another matter.
    assert_eq!(open(&example(Storage::Raw)[..32]).check(&mut |_| {}).1, None);
}

/// Every trace into both levels, with rules relaxed: the ledger is what a reader of the result finds.
#[test]
fn the_ledger_is_exact_for_every_trace_and_level() {
    let testdata = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/astf");
    let mut files = ["sort.astf", "levels.astf", "example/example.astf"]
        .map(|name| format!("{testdata}/{name}"))
        .to_vec();
    if let Some(folder) = trackway_testkit::corpus_part("astf") {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let traces = entries.filter(|path| path.extension().is_some_and(|extension| extension == "astf"));
        files.extend(traces.map(|path| path.to_string_lossy().into_owned()));
    }
    for file in files {
        let (meta, batches) = events(&std::fs::read(&file).unwrap());
        for format in ["astf", "stf", "ete"] {
            // As if the events came from elsewhere, so that nothing is taken for granted.
            let meta = Meta { format: FormatId::new(format), flow_only: format == "ete", ..meta.clone() };
            for level in [Level::Basic, Level::BasicPlus] {
                let out = Shared::default();
                let config = WriteConfig {
                    storage: Storage::Raw,
                    level: Some(level),
                    allow_nonconforming: true,
                    ..WriteConfig::default()
                };
                let sink = Lower::new(Box::new(out.clone()), meta.clone(), config).unwrap();
                let mut sink = Counting::new(Box::new(sink), &meta);
                batches.iter().for_each(|batch| sink.put(batch).unwrap());
                let account = sink.finish().unwrap();
                ledger::assert_exact(&account, &out.take());
            }
        }
    }
}

/// A trace may begin with an exception: the state in which it was taken is known.
#[test]
fn a_trap_before_the_first_instruction_has_its_context() {
    let text = "context privilege=el0 security=non-secure
        trap kind=exception cause=0xb from=0x1000 to=0x8400 return_address=0x1000
        context privilege=el1 security=non-secure
        step pc=0x8400 encoding=0xd503201f length=0x4 outcome=retired";
    let bytes = lower(flow_trace(), Some(Level::BasicPlus), text);
    let kinds: Vec<_> = lines(&events(&bytes).1)
        .iter()
        .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    let expected =
        ["context privilege=el0", "trap kind=exception", "context privilege=el1", "step pc=0x8400"];
    assert_eq!(kinds, expected);
    assert_eq!(findings(&bytes), [""; 0]);
}

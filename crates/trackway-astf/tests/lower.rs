//! Events into records: what ASTF can hold comes back, what it cannot is in the ledger, exactly.

mod ledger;

use trackway_astf::{Level, Lower, ReadConfig, Storage, Trace, WriteConfig};
use trackway_core::*;
use trackway_testkit::output::Shared;

/// Lowers event lines; returns the records as text, and the ledger.
fn lower(meta: Meta, config: WriteConfig, lines: &str) -> Result<(Vec<u8>, Vec<String>)> {
    let mut batch = Batch::default();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        batch.read_line(line).unwrap_or_else(|| panic!("{line}"));
    }
    let out = Shared::default();
    let config = WriteConfig { storage: Storage::Raw, ..config };
    let lower = Lower::new(Box::new(out.clone()), meta.clone(), config)?;
    let mut sink = Counting::new(Box::new(lower), &meta);
    sink.put(&batch)?;
    let account = sink.finish()?;
    let bytes = out.take();
    ledger::assert_exact(&account, &bytes);
    Ok((bytes, ledger::lines(&account)))
}

fn findings(bytes: &[u8]) -> Vec<String> {
    let trace = Trace::open(Input::from_vec(bytes.to_vec()), ReadConfig::default()).unwrap();
    let mut findings = Vec::new();
    assert_eq!(trace.check(&mut |finding| findings.push(finding.rule.name.to_string())).1, None);
    findings
}

#[test]
fn the_ledger_has_everything_that_astf_cannot_hold() {
    let mut meta = Meta::new(FormatId::new("stf"), Isa::A64);
    meta.producers.push(Producer { name: "tracer".into(), version: "1".into(), comment: String::new() });
    meta.isa_string = Some("armv9-a".to_string());
    meta.vector_bits = Some(256);
    let lines = "
        0x0 context privilege=el0 asid=0x5 vmid=0x6 hw_thread=0x0 context_id=0x9
        0x1 contents accesses=reg(reg:x1,role:state,update:set,value:0x5)
        0x2 step pc=0x1000 encoding=0xf9400020 length=0x4 outcome=retired accesses=mem(kind:read,address:0x9000,size:0x8,data:0x2a,attributes:0x3,extra:(physical:0x89000));reg(reg:x0,role:destination,update:set,value:0x2a);reg(reg:x1,role:source,update:set,value:0x9000) extra=(physical_pc:0x81000)
        0x3 step pc=0x1004 encoding=0xf9400020 length=0x4 outcome=retired accesses=mem(kind:read,address:0x0,size:0x8,attributes:0x0,unplaced:yes)
        0x4 time kind=cycles value=0x7 clock=0x0
        0x5 time kind=timestamp value=0x8 clock=0x0
        0x6 mark kind=trigger value=0x1
        0x7 step pc=0x1008 encoding=0xd503201f length=0x4 outcome=retired
    ";
    let (bytes, ledger) = lower(meta, WriteConfig::default(), lines).unwrap();
    assert_eq!(
        ledger,
        [
            "kept 3 instructions",
            "kept 3 encodings",
            "kept 1 memory accesses",
            "kept 1 privilege changes",
            "dropped 1 producers",
            "dropped 1 versions of producers",
            "dropped 1 ISA strings",
            "dropped 1 vector lengths of the trace",
            "dropped 1 physical instruction addresses",
            "dropped 1 register reads",
            "dropped 1 register writes",
            "dropped 1 register contents",
            "dropped 1 memory accesses",
            "dropped 1 memory data",
            "dropped 1 physical data addresses",
            "dropped 1 access attributes",
            "dropped 1 context ids",
            "dropped 1 virtual machine ids",
            "dropped 1 address space ids",
            "dropped 1 hardware threads",
            "dropped 1 timestamps",
            "dropped 1 cycle counts",
            "dropped 1 marks",
            "invented 1 comments",
            "invented 1 declared features",
            "invented 1 security states",
            "invented 1 stack pointer selections",
            "invented 1 vector lengths",
            "invented 1 streaming modes",
            "invented 1 DIT states",
            "invented 1 SSBS states",
            "invented 1 MTE modes",
        ],
    );
    assert_eq!(findings(&bytes), ["astf.ea-missing"]);
}

/// One of everything that a BasicPlus trace can say, as events.
const EVERYTHING: &str = "
    time kind=timestamp value=0x64 clock=0x0
    context privilege=el0 security=non-secure own_stack=no pid=0x7 tid=0x8 vector_bits=0x100 streaming=no dit=yes ssbs=yes mte=0x1
    step pc=0x1000 encoding=0xf9800020 accesses=mem(kind:prefetch,address:0x9000,size:0x0,attributes:0x0) length=0x4 outcome=retired
    step pc=0x1004 encoding=0xd50b7a20 accesses=mem(kind:maintenance,address:0x9000,size:0x0,attributes:0x0,tagged:yes) length=0x4 outcome=retired
    step pc=0x1008 encoding=0xf8200022 accesses=mem(kind:read-write,address:0x9008,size:0x8,attributes:0x0) length=0x4 outcome=retired
    step pc=0x100c encoding=0x19020440 accesses=mem(kind:read,address:0x9000,size:0x40,attributes:0x0,tagged:yes,range:yes);mem(kind:write,address:0xa000,size:0x40,attributes:0x0,range:yes) length=0x4 outcome=retired
    step pc=0x1010 encoding=0xa4006020 accesses=mem(kind:read,address:0x9000,size:0x3,attributes:0x0);mem(kind:suppressed,address:0x9003,size:0x1,attributes:0x0,tagged:yes) length=0x4 outcome=retired
    step pc=0x1014 encoding=0xa9400420 accesses=mem(kind:read,address:0x9ff8,size:0x8,attributes:0x0,tagged:yes);mem(kind:read,address:0xa000,size:0x8,attributes:0x0) length=0x4 outcome=retired
    step pc=0x1018 encoding=0x54000040 length=0x4 outcome=retired taken=no
    step pc=0x101c encoding=0x14000002 extra=(target:0x1024) length=0x4 outcome=retired taken=yes
    step pc=0x1024 encoding=0xd40000e1 length=0x4 outcome=attempted
    trap kind=exception class=0x15 from=0x1024 to=0xffff800000000400 syscall=svc syscall_index=0x7
    time kind=timestamp value=0x65 clock=0x0
    context privilege=el1 security=non-secure own_stack=yes vector_bits=0x80 streaming=no dit=no ssbs=no mte=0x2
    step pc=0xffff800000000400 encoding=0xd503437f length=0x4 outcome=retired
    context privilege=el1 security=non-secure own_stack=yes vector_bits=0x200 streaming=yes dit=no ssbs=no mte=0x2
    step pc=0xffff800000000404 encoding=0xe1000004 accesses=mem(kind:read,address:0xffff800000009000,size:0x40,attributes:0x0) extra=(sme_index:0x5) length=0x4 outcome=retired
    mark kind=note text='half%20way
    step pc=0xffff800000000408 encoding=0xf9000020 accesses=mem(kind:faulting,address:0x9000,size:0x8,attributes:0x0,tagged:yes) length=0x4 outcome=attempted
    trap kind=exception class=0x25 from=0xffff800000000408 to=0xffff800000000200
    step pc=0xffff800000000200 encoding=0xd4000023 length=0x4 outcome=attempted
    trap kind=exception class=0x17 from=0xffff800000000200 to=0x8000 syscall=smc syscall_index=0x1
    context privilege=el3 security=secure own_stack=yes vector_bits=0x80 streaming=no dit=no ssbs=no mte=0x0
    step pc=0x8000 encoding=0xd69f03e0 length=0x4 outcome=retired
    trap kind=return from=0x8000 to=0xffff800000000204
    context privilege=el1 security=non-secure own_stack=no vector_bits=0x80 streaming=no dit=no ssbs=no mte=0x3
    step pc=0xffff800000000204 encoding=0xd503207f length=0x4 outcome=retired
    time kind=timestamp value=0x70 clock=0x0
    mark kind=suspended value=0x10
    time kind=timestamp value=0x80 clock=0x0
    trap kind=interrupt cause=0x2 from=0xffff800000000208 to=0xffff800000000480 is_virtual=yes
    context privilege=el1 security=non-secure own_stack=yes vector_bits=0x80 streaming=no dit=no ssbs=no mte=0x3
    step pc=0xffff800000000480 encoding=0xd503201f length=0x4 outcome=retired
    trap kind=interrupt cause=0x3 from=0xffff800000000484 to=0xffff800000000500
    step pc=0xffff800000000500 encoding=0xd503201f length=0x4 outcome=retired
    trap kind=interrupt cause=0x1 class=0x2f from=0xffff800000000504 to=0xffff800000000580
    step pc=0xffff800000000580 encoding=0xd503201f length=0x4 outcome=retired
    trap kind=exception class=0x21 from=0xffff800000000584 to=0xffff800000000200
    step pc=0xffff800000000200 encoding=0xd69f03e0 length=0x4 outcome=retired
    trap kind=return from=0xffff800000000200 to=0x3000
    context privilege=el0 security=non-secure own_stack=no pid=0x9 vector_bits=0x80 streaming=no dit=no ssbs=no mte=0x0 unsupported=yes
    time kind=timestamp value=0x90 clock=0x0
    context privilege=el0 security=non-secure own_stack=no vector_bits=0x80 streaming=no dit=no ssbs=no mte=0x0 unsupported=no
    step pc=0x2000 encoding=0xd503201f length=0x4 outcome=retired
    trap kind=reset to=0x0
    context privilege=el3 security=secure own_stack=yes vector_bits=0x80 streaming=no dit=no ssbs=no mte=0x0
    step pc=0x0 encoding=0xd503201f length=0x4 outcome=retired
";

#[test]
fn everything_that_astf_can_hold_comes_back() {
    let mut meta = Meta::new(FormatId::new("astf"), Isa::A64);
    (meta.level, meta.timestamps) = (Some("BasicPlus".into()), true);
    meta.comments.push("one of everything, longer than a record has room for".into());
    meta.features.push("timestamps".into());
    let events: Vec<String> = EVERYTHING
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| format!("0x0 {line}"))
        .collect();
    let (bytes, ledger) = lower(meta.clone(), WriteConfig::default(), &events.join("\n")).unwrap();
    assert_eq!(findings(&bytes), [""; 0]);
    let lost = |line: &&String| !line.starts_with("kept") && !line.starts_with("derived");
    assert_eq!(ledger.iter().filter(lost).collect::<Vec<_>>(), [""; 0]);
    let trace = Trace::open(Input::from_vec(bytes.clone()), ReadConfig::default()).unwrap();
    assert_eq!((trace.header.level(), &trace.meta.comments), (Level::BasicPlus, &meta.comments));
    let (mut source, mut batch, mut found) = (trace.events(), Batch::default(), Vec::new());
    while source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            let mut line = String::new();
            batch.write_line(&Event { offset: 0, ..*event }, &mut line);
            found.push(line);
        }
    }
    for (found, expected) in found.iter().zip(&events) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), events.len());
}

/// STF has its traps at an instruction: what did not run because of an interrupt, or was never fetched, is not
/// an attempt here; an undefined instruction is one.
#[test]
fn instructions_that_never_ran_are_left_out() {
    let trap = |text: &str| {
        format!(
            "0x0 context privilege=el0 security=non-secure
             0x1 step pc=0x1000 encoding=0xd503201f length=0x4 outcome=retired
             0x2 step pc=0x1004 {text} to=0xffff800000000400
             0x4 context privilege=el1 security=non-secure own_stack=yes
             0x5 step pc=0xffff800000000400 encoding=0xd503201f length=0x4 outcome=retired"
        )
    };
    let cases = [
        (
            "encoding=0xd503201f length=0x4 outcome=attempted\n0x3 trap kind=interrupt cause=0x2",
            "dropped 1 instructions",
        ),
        (
            "encoding=0x8b040063 length=0x4 outcome=attempted\n0x3 trap kind=interrupt cause=0x2",
            "dropped 1 instructions",
        ),
        (
            "encoding=0xd503201f length=0x4 outcome=attempted\n0x3 trap kind=exception cause=0x20",
            "dropped 1 instructions",
        ),
        (
            "encoding=0xd503201f extra=(placeholder:yes) length=0x4 outcome=attempted\n0x3 trap kind=exception cause=0x20",
            "dropped 1 placeholders",
        ),
        (
            "encoding=0xd503201f length=0x4 outcome=attempted\n0x3 trap kind=exception cause=0x11",
            "dropped 1 instructions",
        ),
        (
            "encoding=0x0 length=0x4 outcome=attempted\n0x3 trap kind=exception cause=0x0",
            "kept 3 instructions",
        ),
    ];
    for (text, expected) in cases {
        let meta = Meta::new(FormatId::new("stf"), Isa::A64);
        let (bytes, ledger) = lower(meta, WriteConfig::default(), &trap(text)).unwrap();
        assert!(ledger.iter().any(|line| line == expected), "{expected} in {ledger:?}");
        assert_eq!(findings(&bytes), [""; 0], "{text}");
    }
}

/// Strings of any length are Strings, the empty one too; text that is too long for one is not cut inside a character.
#[test]
fn strings_of_any_length_are_written() {
    let mut meta = Meta::new(FormatId::new("astf"), Isa::A64);
    meta.level = Some("Basic".into());
    // The first of them has one byte, so that the 65535th is inside a character.
    let long = format!("x{}", "\u{e9}".repeat(40_000));
    meta.comments = vec![String::new(), long.clone()];
    let lines = "
        0x0 context privilege=el0 security=non-secure own_stack=no
        0x1 step pc=0x1000 encoding=0xd503201f length=0x4 outcome=retired
        0x2 mark kind=note
        0x3 step pc=0x1004 encoding=0xd503201f length=0x4 outcome=retired
    ";
    let (bytes, ledger) = lower(meta, WriteConfig::default(), lines).unwrap();
    // The long one is read as two.
    for line in ["kept 2 comments", "invented 1 comments", "kept 2 instructions", "kept 1 notes"] {
        assert!(ledger.iter().any(|found| found == line), "{ledger:?}");
    }
    assert_eq!(findings(&bytes), [""; 0]);
    let trace = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap();
    let [empty, parts @ ..] = &trace.meta.comments[..] else { panic!("no comments") };
    assert_eq!((empty.as_str(), parts.len(), parts.concat()), ("", 2, long));
    let (mut source, mut batch) = (trace.events(), Batch::default());
    assert!(source.fill(&mut batch).unwrap());
    let notes = |event: &&Event| matches!(event.kind, EventKind::Mark(mark) if mark.kind == MarkKind::Note);
    assert_eq!(batch.events.iter().filter(notes).count(), 1);
}

/// Events that a Basic trace leaves out, and times without a place, are not counted as kept.
#[test]
fn contexts_and_times_that_are_not_written_are_counted() {
    let mut meta = Meta::new(FormatId::new("astf"), Isa::A64);
    meta.timestamps = true;
    let lines = "
        0x0 time kind=timestamp value=0x1 clock=0x0
        0x1 context privilege=el0 security=non-secure own_stack=no
        0x2 step pc=0x1000 encoding=0xd4000001 length=0x4 outcome=attempted
        0x3 trap kind=exception class=0x15 from=0x1000 to=0xffff800000000400 syscall=svc syscall_index=0x0
        0x4 time kind=timestamp value=0x2 clock=0x0
        0x5 context privilege=el1 security=non-secure own_stack=yes
        0x6 step pc=0xffff800000000400 encoding=0xd69f03e0 length=0x4 outcome=retired
        0x7 trap kind=return from=0xffff800000000400 to=0x1004
        0x8 time kind=timestamp value=0x3 clock=0x0
        0x9 context privilege=el0 security=non-secure own_stack=no unsupported=yes
        0xa context privilege=el0 security=non-secure own_stack=no unsupported=no
        0xb step pc=0x1004 encoding=0xd503201f length=0x4 outcome=retired
    ";
    let config = WriteConfig { level: Some(Level::Basic), ..WriteConfig::default() };
    let (bytes, ledger) = lower(meta, config, lines).unwrap();
    assert_eq!(
        ledger,
        [
            "kept 2 instructions",
            "kept 2 encodings",
            "kept 1 attempted instructions",
            "kept 1 privilege changes",
            "kept 1 security states",
            "kept 1 stack pointer selections",
            "kept 2 timestamps",
            "dropped 1 instructions",
            "dropped 1 encodings",
            "dropped 1 traps",
            "dropped 1 trap returns",
            "dropped 1 exception classes",
            "dropped 2 trap places",
            "dropped 2 trap targets",
            "dropped 1 system calls",
            "dropped 1 system call numbers",
            "dropped 2 privilege changes",
            "dropped 2 stack pointer selections",
            "dropped 2 unsupported modes",
            "dropped 1 timestamps",
            "invented 2 declared features",
            "invented 1 streaming modes",
            "invented 1 DIT states",
            "invented 1 SSBS states",
            "invented 1 MTE modes",
        ],
    );
    assert_eq!(findings(&bytes), [""; 0]);
    let count = |id| bytes.as_chunks::<32>().0.iter().filter(|record| record[0] == id).count();
    assert_eq!((count(8), count(0x45), count(1)), (2, 2, 2), "as the ledger has it");
}

/// An interrupt between the two Timestamps of a suspension does not make a third one.
#[test]
fn a_suspension_around_an_interrupt_comes_back() {
    let mut meta = Meta::new(FormatId::new("astf"), Isa::A64);
    (meta.level, meta.timestamps) = (Some("BasicPlus".into()), true);
    let lines = "
        0x0 time kind=timestamp value=0x1 clock=0x0
        0x1 context privilege=el1 security=non-secure own_stack=yes
        0x2 step pc=0x1000 encoding=0xd503207f length=0x4 outcome=retired
        0x3 time kind=timestamp value=0x5 clock=0x0
        0x4 trap kind=interrupt cause=0x2 to=0x2000
        0x5 mark kind=suspended value=0x4
        0x5 time kind=timestamp value=0x9 clock=0x0
        0x6 step pc=0x2000 encoding=0xd503201f length=0x4 outcome=retired
    ";
    let (bytes, _) = lower(meta, WriteConfig::default(), lines).unwrap();
    assert_eq!(findings(&bytes), [""; 0]);
    let kinds: Vec<u8> = bytes.as_chunks::<32>().0.iter().map(|record| record[0]).collect();
    assert_eq!(kinds, [0x41, 0x45, 8, 1, 0x45, 5, 0x45, 1]);
}

/// Formats without tags record the address of a tag store; its encoding marks it as one.
#[test]
fn tag_accesses_are_known_by_their_instruction() {
    let meta = Meta::new(FormatId::new("stf"), Isa::A64);
    let lines = "
        0x0 context privilege=el0 security=non-secure
        0x1 step pc=0x1000 encoding=0xd9200820 length=0x4 outcome=retired accesses=mem(kind:write,address:0x9010,size:0x10,attributes:0x0)
        0x2 step pc=0x1004 encoding=0xd9600020 length=0x4 outcome=retired accesses=mem(kind:read,address:0x9014,size:0x10,attributes:0x0)
        0x3 step pc=0x1008 encoding=0xd9200820 length=0x4 outcome=retired
    ";
    let (bytes, ledger) = lower(meta, WriteConfig::default(), lines).unwrap();
    assert!(ledger.contains(&"invented 2 checked tags".to_string()), "{ledger:?}");
    assert_eq!(findings(&bytes), [""; 0]);
}

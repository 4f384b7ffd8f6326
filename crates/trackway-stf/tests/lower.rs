//! Events that are written read back as they were, and others' tools can read the records.

mod common;

use common::*;
use trackway_core::*;
use trackway_stf::{Version, WriteConfig};

fn rv64() -> Meta {
    Meta::new(FormatId::new("model"), Isa::Rv64)
}

/// Events of a trace that is written and read, without offsets.
fn again(events: &str, meta: Meta) -> Vec<String> {
    let (bytes, _) = lower(&batch(events), meta, plain());
    lines(&bytes, 1).iter().map(|line| without_offset(line).to_string()).collect()
}

/// Nothing that `check` finds.
fn legal(events: &str, meta: Meta) {
    let (bytes, _) = lower(&batch(events), meta, plain());
    let mut found = Vec::new();
    open(&bytes).unwrap().check(&mut |finding| found.push(finding.to_string())).unwrap();
    assert_eq!(found, [""; 0]);
}

/// The records as `dump --raw` shows them, from the first one after the header.
fn body(events: &str, meta: Meta) -> Vec<String> {
    let (bytes, _) = lower(&batch(events), meta, plain());
    let mut items = open(&bytes).unwrap().items();
    let (mut item, mut found) = (Item::default(), Vec::new());
    while items.next(&mut item).unwrap() {
        found.push(format!("{} {}", item.name, item.text).trim_end().to_string());
    }
    let start = found.iter().position(|line| line == "END_HEADER").unwrap();
    found.split_off(start + 1)
}

/// Events that come back exactly.
const FAITHFUL: &[(&str, &str)] = &[
    (
        "gaps of all kinds",
        "0x0 context privilege=m
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=retired
0x0 gap reason=overflow from=0x1004 to=0x2000 instructions=0x5
0x0 step pc=0x2000 encoding=0x13 length=0x4 outcome=retired
0x0 gap reason=no-code
0x0 gap reason=bad-input bytes=0x123
0x0 step pc=0x2004 encoding=0x13 length=0x4 outcome=retired
0x0 gap reason=filtered",
    ),
    (
        "a jump before a gap goes where its encoding says, not where the trace continues",
        "0x0 context privilege=m
0x0 step pc=0x1000 encoding=0x100006f extra=(target:0x1010) length=0x4 outcome=retired taken=yes
0x0 gap reason=overflow
0x0 step pc=0x2000 encoding=0x13 length=0x4 outcome=retired",
    ),
    (
        "branches: taken, not taken, unknown",
        "0x0 context privilege=m
0x0 step pc=0x1000 encoding=0xb50863 extra=(target:0x1010) length=0x4 outcome=retired taken=yes
0x0 step pc=0x1010 encoding=0xb50863 length=0x4 outcome=retired taken=no
0x0 step pc=0x1014 encoding=0xb50863 length=0x4 outcome=retired
0x0 gap reason=overflow
0x0 step pc=0x2000 encoding=0xc119 length=0x2 outcome=retired taken=no",
    ),
    (
        "an attempt without a trap, and a no-op whose fetch failed",
        "0x0 context privilege=m
0x0 step pc=0x1000 encoding=0x53503 length=0x4 outcome=attempted
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=attempted
0x0 trap kind=exception cause=0xc value=0x1000 from=0x1000 to=0x2000 words=hex.00100000000000001300000000000000
0x0 step pc=0x2000 encoding=0x13 length=0x4 outcome=retired",
    ),
    (
        "a return from a trap",
        "0x0 context privilege=m
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=retired
0x0 step pc=0x1004 encoding=0x30200073 extra=(target:0x2000) length=0x4 outcome=retired taken=yes
0x0 trap kind=return from=0x1004 to=0x2000
0x0 context privilege=u
0x0 step pc=0x2000 encoding=0x13 length=0x4 outcome=retired",
    ),
    (
        "ids: some, others, all",
        "0x0 context privilege=m pid=0x7 tid=0x8
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=retired
0x0 context pid=0x9 tid=0x8
0x0 step pc=0x1004 encoding=0x13 length=0x4 outcome=retired
0x0 context pid=0x9 tid=0x8 hw_thread=0x0
0x0 step pc=0x1008 encoding=0x13 length=0x4 outcome=retired",
    ),
    (
        "addresses that are not known",
        "0x0 context privilege=m
0x0 step encoding=0x13 length=0x4 outcome=retired
0x0 step encoding=0x13 length=0x4 outcome=retired
0x0 step pc=0x1008 encoding=0x13 length=0x4 outcome=retired",
    ),
    (
        "state after the last instruction",
        "0x0 context privilege=m
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=retired
0x0 context privilege=u pid=0x7 tid=0x8
0x0 contents accesses=reg(reg:x1,role:state,update:set,value:0x5)",
    ),
    (
        "a comment that looks like a remark",
        "0x0 mark kind=note text='trackway%3a%20attempted
0x0 context privilege=m
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=retired",
    ),
];

#[test]
fn events_come_back() {
    for (what, events) in FAITHFUL {
        let meta = Meta::new(trackway_stf::ID, Isa::Rv64);
        let wanted: Vec<_> = events.lines().map(without_offset).collect();
        assert_eq!(again(events, meta.clone()), wanted, "{what}");
        if *what != "an attempt without a trap, and a no-op whose fetch failed" {
            legal(events, meta);
        }
    }
}

/// Section 12 of the notes on STF: targets and modes in the group of the jump or return.
#[test]
fn a_return_has_target_and_mode_in_its_group() {
    let events = "0x0 context privilege=m
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=retired
0x0 step pc=0x1004 encoding=0x30200073 length=0x4 outcome=retired
0x0 trap kind=return from=0x1004 to=0x2000
0x0 context privilege=u
0x0 step pc=0x2000 encoding=0x73 length=0x4 outcome=attempted
0x0 trap kind=exception cause=0x8 from=0x2000 to=0x3000 syscall=ecall syscall_index=0x1
0x0 context privilege=m
0x0 step pc=0x3000 encoding=0x13 length=0x4 outcome=retired";
    let expected = [
        "EVENT MODE_CHANGE 0000000000000003",
        "INST_OPCODE32 00000013",
        "INST_PC_TARGET 0000000000002000",
        "EVENT MODE_CHANGE 0000000000000000",
        "INST_OPCODE32 30200073",
        "EVENT FAULT USER_ECALL 0000000000000001",
        "EVENT_PC_TARGET 0000000000003000",
        "EVENT MODE_CHANGE 0000000000000003",
        "INST_OPCODE32 00000073",
        "INST_OPCODE32 00000013",
    ];
    assert_eq!(body(events, rv64()), expected);
    legal(events, rv64());
}

#[test]
fn a_jump_that_is_first_has_a_target() {
    for (encoding, length) in [("0x0100006f", 4), ("0x8082", 2), ("0x30200073", 4)] {
        for taken in ["", " taken=yes"] {
            let events = format!(
                "0x0 context privilege=m
0x0 step pc=0x1000 encoding={encoding} length={length:#x} outcome=retired{taken}
0x0 step pc=0x1010 encoding=0x13 length=0x4 outcome=retired"
            );
            let records = body(&events, rv64());
            assert!(records.contains(&"INST_PC_TARGET 0000000000001010".to_string()), "{records:?}");
            legal(&events, rv64());
        }
    }
}

/// An interrupt after a return keeps the place that the return went to.
#[test]
fn an_interrupt_after_a_return() {
    let events = "0x0 context privilege=el1
0x0 step pc=0xffff000000000000 encoding=0xd69f03e0 length=0x4 outcome=retired
0x0 trap kind=return from=0xffff000000000000 to=0x400000
0x0 context privilege=el0
0x0 trap kind=interrupt cause=0x2 to=0xffff000000000480
0x0 context privilege=el1
0x0 step pc=0xffff000000000480 encoding=0xd503201f length=0x4 outcome=retired";
    let found = again(events, Meta::new(FormatId::new("astf"), Isa::A64));
    let expected = [
        "context privilege=el1",
        "step pc=0xffff000000000000 encoding=0xd69f03e0 extra=(target:0x400000) length=0x4 outcome=retired taken=yes",
        "trap kind=return from=0xffff000000000000 to=0x400000",
        "context privilege=el0",
        "step pc=0x400000 encoding=0x0 extra=(placeholder:yes) length=0x0 outcome=attempted",
        "trap kind=interrupt cause=0x2 from=0x400000 to=0xffff000000000480 words=hex.0000000000000000",
        "context privilege=el1",
        "step pc=0xffff000000000480 encoding=0xd503201f length=0x4 outcome=retired",
    ];
    assert_eq!(found, expected);
}

/// Arm exceptions have their class, with or without a cause.
#[test]
fn classes_of_arm_come_back() {
    for fields in ["class=0x15", "cause=0x7", "cause=0x7 class=0x20", "class=0x0 value=0x1234"] {
        let events = format!(
            "0x0 context privilege=el0
0x0 step pc=0x400000 encoding=0xd4000001 length=0x4 outcome=attempted
0x0 trap kind=exception {fields} from=0x400000 to=0x800000
0x0 context privilege=el1
0x0 step pc=0x800000 encoding=0xd503201f length=0x4 outcome=retired"
        );
        let found = again(&events, Meta::new(FormatId::new("ete"), Isa::A64));
        assert!(found[2].starts_with(&format!("trap kind=exception {fields} from=0x400000")), "{}", found[2]);
    }
}

/// Levels come with their process, and stay before the gaps that they were before; the first instruction after a gap has
/// the level once more.
#[test]
fn levels_and_processes_of_arm_keep_their_places() {
    let events = "0x0 gap reason=overflow
0x0 context privilege=el1 pid=0x7 tid=0x8
0x0 gap reason=no-code from=0x1000
0x0 context privilege=el0 pid=0x7 tid=0x8
0x0 gap reason=no-code from=0x2000
0x0 context privilege=el1
0x0 gap reason=no-code from=0x3000
0x0 context privilege=el0 pid=0x7 tid=0x8
0x0 gap reason=no-code from=0x4000
0x0 step pc=0x400000 encoding=0xd4000001 length=0x4 outcome=attempted
0x0 trap kind=exception class=0x15 from=0x400000 to=0x800000 syscall=svc
0x0 context privilege=el1 pid=0x7 tid=0x8
0x0 step pc=0x800000 encoding=0xd503201f length=0x4 outcome=retired
0x0 context privilege=el0 pid=0x7 tid=0x8
0x0 gap reason=filtered";
    let meta = || Meta::new(FormatId::new("ete"), Isa::A64);
    let mut expected: Vec<_> = events.lines().map(|line| without_offset(line).to_string()).collect();
    expected.insert(9, expected[7].clone());
    // The level after a trap is in the trap's group, the ids in the next one.
    expected.insert(13, "context pid=0x7 tid=0x8".into());
    let found = again(events, meta());
    // The words of the trap are not the matter here.
    for (found, expected) in found.iter().zip(&expected).filter(|(_, line)| !line.starts_with("trap ")) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
    legal(events, meta());
}

/// No id is written as 0.
#[test]
fn ids_over_32_bits_are_left_out() {
    let events = "0x0 context privilege=u pid=0xffffffffffffffff tid=0xfffffffffffffffe
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=retired
0x0 context pid=0x7 tid=0xfffffffffffffffe
0x0 step pc=0x1004 encoding=0x13 length=0x4 outcome=retired";
    let found = again(events, rv64());
    assert_eq!((found[0].as_str(), found[2].as_str()), ("context privilege=u", "context pid=0x7"));
}

/// The size field has 16 bits: longer ranges become several accesses.
#[test]
fn long_ranges_are_split() {
    for (size, pieces) in [(65_535u64, 1), (65_536, 2), (200_000, 4)] {
        let events = format!(
            "0x0 context privilege=el0
0x0 step pc=0x1000 encoding=0xd50b7420 accesses=mem(kind:write,address:0x10000,size:{size:#x},attributes:0x0,range:yes) length=0x4 outcome=retired"
        );
        let (bytes, _) = lower(&batch(&events), Meta::new(FormatId::new("astf"), Isa::A64), plain());
        let mut source = open(&bytes).unwrap().events(1);
        let mut batch = Batch::default();
        assert!(source.fill(&mut batch).unwrap());
        assert_eq!(batch.mem.len(), pieces);
        assert_eq!(batch.mem.iter().map(|access| access.size).sum::<u64>(), size);
        let mut next = 0x10000;
        for access in &batch.mem {
            assert_eq!(access.address, next);
            next += access.size;
        }
    }
}

/// A tool appends its TRACE_INFO, with every version.
#[test]
fn tools_are_appended() {
    let step = "0x0 step pc=0x0 encoding=0x13 length=0x4 outcome=retired";
    let producer = |name: &str, version: &str, comment: &str| Producer {
        name: name.into(),
        version: version.into(),
        comment: comment.into(),
    };
    let before = vec![
        producer("Spike", "2.0.0", "SPIKE SHA:f81b"),
        producer("trackway record", "0.1.0", "golden model; bare metal"),
        producer("0x77", "1.2.3", ""),
        producer("a tool", "7", ""),
    ];
    for version in [None, Some(Version(1, 2)), Some(Version(1, 6))] {
        let meta = Meta { producers: before.clone(), ..rv64() };
        let (bytes, _) = lower(&batch(step), meta, WriteConfig { version, ..plain() });
        let found = open(&bytes).unwrap().header.producers;
        assert_eq!(found[..4], before);
        assert_eq!(found[4], producer("Trackway", env!("CARGO_PKG_VERSION"), ""));
    }
    let config = WriteConfig { generator: Some(1), ..plain() };
    let (bytes, _) = lower(&batch(step), rv64(), config);
    assert_eq!(open(&bytes).unwrap().header.producers[0].name, "QEMU");
}

/// ISA_EXTENDED came with 1.6: a trace with an ISA string has that version.
#[test]
fn the_isa_string_is_written_at_1_6() {
    let step = "0x0 context privilege=m\n0x0 step pc=0x0 encoding=0x13 length=0x4 outcome=retired";
    let meta = Meta { isa_string: Some("rv64gc".into()), ..rv64() };
    let (bytes, _) = lower(&batch(step), meta.clone(), plain());
    let header = open(&bytes).unwrap().header;
    assert_eq!((header.version, header.isa_string.as_deref()), (Some((1, 6)), Some("rv64gc")));
    legal(step, meta);
}

/// A known vector length alone is not a declaration of vectors.
#[test]
fn vectors_are_declared_where_there_are_any() {
    let step = "0x0 context privilege=m\n0x0 step pc=0x0 encoding=0x13 length=0x4 outcome=retired";
    let meta = Meta { vector_bits: Some(128), ..rv64() };
    legal(step, meta.clone());
    let mut vectors = Batch::default();
    let begun = vectors.begin_accesses();
    let value = Value::Bytes(vectors.add_bytes(&[7; 16]));
    let reg = Reg { class: RegClass::Vector, number: 1 };
    let (role, update) = (RegRole::Destination, RegUpdate::Set);
    vectors.regs.push(RegAccess { reg, role, update, value, known: None });
    let accesses = vectors.end_accesses(begun).unwrap();
    // vmv.v.i v1,0
    vectors.push(0, EventKind::Step(Step { accesses, ..Step::new(0, 0x5e00_30d7, 4) }));
    for (batch, declared) in [(batch(step), false), (vectors, true)] {
        let (bytes, _) = lower(&batch, meta.clone(), plain());
        let features = open(&bytes).unwrap().header.meta().features;
        assert_eq!(features.iter().any(|name| name == "vector"), declared, "{features:?}");
    }
}

/// Text of a trace reaches the terminal without control characters.
#[test]
fn text_has_no_control_characters() {
    let mut bytes = trackway_stf::example();
    bytes.extend(b"\x03\x0a\0\0\0\x1b[31m\x07\x7f\xc2\x9b!");
    let mut items = open(&bytes).unwrap().items();
    let mut item = Item::default();
    let mut last = String::new();
    while items.next(&mut item).unwrap() {
        last.clone_from(&item.text);
    }
    assert_eq!(last, "\\u{1b}[31m\\u{7}\\u{7f}\\u{9b}!");
    for line in lines(&bytes, 1) {
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

/// Hardware threads are sources; one of them can be chosen by name.
#[test]
fn hardware_threads_are_sources() {
    let events = "0x0 context privilege=m hw_thread=0x0 pid=0x1 tid=0x1
0x0 step pc=0x1000 encoding=0x13 length=0x4 outcome=retired
0x0 step pc=0x1004 encoding=0x13 length=0x4 outcome=retired
0x0 context hw_thread=0x3 pid=0x2 tid=0x2
0x0 step pc=0x2000 encoding=0x13 length=0x4 outcome=retired accesses=reg(reg:x1,role:source,update:set,value:0x1)
0x0 context hw_thread=0x0 pid=0x1 tid=0x1
0x0 step pc=0x1008 encoding=0x13 length=0x4 outcome=retired
0x0 context hw_thread=0x3 pid=0x2 tid=0x2
0x0 step pc=0x2004 encoding=0x13 length=0x4 outcome=retired";
    let (bytes, _) = lower(&batch(events), Meta::new(trackway_stf::ID, Isa::Rv64), plain());
    let read = |trace: trackway_stf::Trace| {
        let mut source = trace.events(2);
        let names = source.meta().sources.clone();
        let (mut batch, mut found) = (Batch::default(), Vec::new());
        while source.fill(&mut batch).unwrap() {
            let mut number = batch.first_instruction;
            for event in &batch.events {
                if let EventKind::Step(step) = event.kind {
                    found.push((names[usize::from(batch.source)].clone(), number, step.pc.unwrap()));
                    number += 1;
                }
            }
        }
        found
    };
    let named = |name: &str, number, pc| (name.to_string(), number, pc);
    let (first, second) = (
        [named("hart0", 0, 0x1000), named("hart0", 1, 0x1004), named("hart0", 2, 0x1008)],
        [named("hart3", 0, 0x2000), named("hart3", 1, 0x2004)],
    );
    assert_eq!(read(open(&bytes).unwrap()), [&first[..], &second[..]].concat());
    let mut one = open(&bytes).unwrap();
    one.choose("hart3").unwrap();
    assert_eq!(read(one), second);
    let refused = open(&bytes).unwrap().choose("hart1").unwrap_err();
    assert_eq!(refused, "--source hart1: there are hart0, hart3");
    assert!(open(&busy_trace(10)).unwrap().choose("hart1").is_err());
}

/// The header waits for the first groups only: a feature that comes later is listed as a broken rule, which `check` finds.
#[test]
fn a_feature_that_comes_late_is_listed() {
    let steps = |count: usize| {
        let step =
            "0x0 step pc=0x1000 encoding=0x6f extra=(target:0x1000) length=0x4 outcome=retired taken=yes\n";
        let trap = "0x0 trap kind=interrupt cause=0x7 from=0x1000 to=0x1000\n";
        format!("{}{trap}{step}", step.repeat(count))
    };
    for (count, listed) in [(10, None), ((1 << 16) + 10, Some(1))] {
        let (bytes, ledger) = lower(&batch(&steps(count)), rv64(), plain());
        let mut found = Vec::new();
        open(&bytes).unwrap().check(&mut |finding| found.push(finding.rule.name)).unwrap();
        let rule = "stf.feature-declared";
        assert_eq!(found.iter().filter(|name| **name == rule).count(), listed.unwrap_or(0) as usize);
        assert_eq!(ledger.broken.get(rule), listed.as_ref());
    }
}

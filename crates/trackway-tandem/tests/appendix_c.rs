//! The examples of appendix C: corrected, they read, write and lift; as printed, they get the right diagnosis.

use trackway_core::{Batch, EventKind, Finding, Input, Items, Outcome, Source, TrapKind, Value};
use trackway_tandem::{Config, Group, Reader, Trace, to_bytes};

/// Table, bytes as printed, bytes corrected (`docs/spec-readings/tandem.md`), items of the corrected form.
const EXAMPLES: &[(&str, &str, &str, &[&str])] = &[
    (
        "C.1",
        "01 03 11 b3816200 04 0310 3412000000000000 02",
        "01 03 11 b3816200 04 0310 3412000000000000 02",
        &[
            "begin group",
            "increment pc",
            "instruction 006281b3",
            "full register gp = 0x0000000000001234",
            "end group",
        ],
    ),
    (
        "C.2",
        "01 07 10 0001000c00000000 11 67000110 02",
        "01 07 0a 0001000c00000000 11 67000110 02",
        &["begin group", "pc 0x000000000c000100", "instruction 10010067", "end group"],
    ),
    (
        "C.3",
        "01 03 11 d3f31601 04 2710 f9f4fe66ffffffff 06 0300 01 02",
        "01 03 11 d3f31601 04 2710 f9f4fe66ffffffff 06 0300 01 02",
        &[
            "begin group",
            "increment pc",
            "instruction 0116f3d3",
            "full register f7 = 0xffffffff66fef4f9",
            "incremental register fcsr |= 0x01",
            "end group",
        ],
    ),
    (
        "C.4",
        "01 03 10 0d8d 04 1010 78563412ffffffff 02",
        "01 03 10 0d8d 04 0a10 78563412ffffffff 02",
        &[
            "begin group",
            "increment pc",
            "instruction 8d0d",
            "full register a0 = 0xffffffff12345678",
            "end group",
        ],
    ),
    (
        "C.5",
        "01 03 10 03a28200 04 0410 aa55aa55aa55aa55 07 02 0800000100000000 02",
        "01 03 11 03a28200 04 0410 aa55aa5500000000 07 02 0800000100000000 02",
        &[
            "begin group",
            "increment pc",
            "instruction 0082a203",
            "full register tp = 0x0000000055aa55aa",
            "physical address 0x0000000001000008",
            "end group",
        ],
    ),
    (
        "C.6",
        "01 03 11 f3b44530 04 0910 8808000000000000 04 0403 8008000000000000 02",
        "01 03 11 f3b44530 04 0910 8808000000000000 04 0403 8008000000000000 02",
        &[
            "begin group",
            "increment pc",
            "instruction 3045b4f3",
            "full register s1 = 0x0000000000000888",
            "full register mie = 0x0000000000000880",
            "end group",
        ],
    ),
    (
        "C.7",
        "01 07 10 0000010000000000 11 00000000 04 4103 3412080000000000 04 4203 0200000000000000 04 0003 b01800000a000000 04 4303 0000000000000000 07 01 03 02",
        "01 07 0a 0000010000000000 11 00000000 04 4103 3412080000000000 04 4203 0200000000000000 04 0003 b01800000a000000 04 4303 0000000000000000 07 01 03 02",
        &[
            "begin group",
            "pc 0x0000000000010000",
            "instruction 00000000",
            "full register mepc = 0x0000000000081234",
            "full register mcause = 0x0000000000000002",
            "full register mstatus = 0x0000000a000018b0",
            "full register mtval = 0x0000000000000000",
            "privilege mode 3 (M)",
            "end group",
        ],
    ),
    (
        "C.8",
        "01 07 10 0000010000000000 04 4103 5612080000000000 04 4203 0300000000000080 04 0003 b01800000a000000 04 4303 0000000000000000 07 01 03 02",
        "01 07 0a 0000010000000000 04 4103 5612080000000000 04 4203 0300000000000080 04 0003 b01800000a000000 04 4303 0000000000000000 07 01 03 02",
        &[
            "begin group",
            "pc 0x0000000000010000",
            "full register mepc = 0x0000000000081256",
            "full register mcause = 0x8000000000000003",
            "full register mstatus = 0x0000000a000018b0",
            "full register mtval = 0x0000000000000000",
            "privilege mode 3 (M)",
            "end group",
        ],
    ),
];

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits
        .as_chunks::<2>()
        .0
        .iter()
        .map(|p| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap())
        .collect()
}

fn example(table: &str) -> (Vec<u8>, Vec<u8>) {
    let (_, printed, corrected, _) = EXAMPLES.iter().find(|example| example.0 == table).unwrap();
    (hex(printed), hex(corrected))
}

fn items(bytes: &[u8], config: &Config) -> Vec<String> {
    let mut listing = Trace::open(Input::from_vec(bytes.to_vec()), *config).unwrap().items();
    let mut item = trackway_core::Item::default();
    let mut lines = Vec::new();
    while listing.next(&mut item).unwrap() {
        lines.push(format!("{} {}", item.name, item.text).trim_end().to_string());
    }
    lines
}

fn findings(bytes: &[u8], config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    Trace::open(Input::from_vec(bytes.to_vec()), *config)
        .unwrap()
        .check(&mut |finding| findings.push(finding))
        .unwrap();
    findings
}

fn rules(bytes: &[u8], config: &Config) -> Vec<(&'static str, u64)> {
    findings(bytes, config).iter().map(|finding| (finding.rule.name, finding.offset)).collect()
}

fn read_error(bytes: &[u8]) -> String {
    let mut reader = Reader::new(Input::from_vec(bytes.to_vec()), &Config::default()).unwrap();
    reader.read_group(&mut Group::default()).unwrap_err().to_string()
}

fn lift(bytes: &[u8]) -> Batch {
    let config = Config { reset_pc: Some(0x8_1234), ..Config::default() };
    let mut lift = Trace::open(Input::from_vec(bytes.to_vec()), config).unwrap().events();
    let mut batch = Batch::default();
    assert!(lift.fill(&mut batch).unwrap());
    batch
}

#[test]
fn corrected_examples_read_and_write_back() {
    for (table, _, corrected, expected) in EXAMPLES {
        let bytes = hex(corrected);
        let mut items = items(&bytes, &Config::default());
        // Ignore the numbers of groups and the disassembly.
        assert_eq!(items[0], "begin group 0");
        items[0].truncate("begin group".len());
        for item in items.iter_mut().filter(|item| item.starts_with("instruction")) {
            let encoding = item.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ");
            *item = encoding;
        }
        assert_eq!(items, *expected, "table {table}");
        let mut reader = Reader::new(Input::from_vec(bytes.clone()), &Config::default()).unwrap();
        let mut records = Vec::new();
        while let Some((_, record)) = reader.read().unwrap() {
            records.push(record);
        }
        assert_eq!(to_bytes(&records, &Config::default()).unwrap(), bytes, "table {table}");
    }
}

#[test]
fn corrected_examples_break_no_rule() {
    for (table, _, corrected, _) in EXAMPLES {
        // The all-zero word of C.7 has the length bits of a 16-bit instruction: a note.
        let expected: &[(&str, u64)] =
            if *table == "C.7" { &[("tandem.instruction-length", 11)] } else { &[] };
        assert_eq!(rules(&hex(corrected), &Config::default()), expected, "table {table}");
    }
}

#[test]
fn corrected_examples_lift() {
    let text = |bytes: &[u8]| {
        let batch = lift(bytes);
        let mut out = String::new();
        for event in &batch.events {
            batch.write_line(event, &mut out);
            out.push('\n');
        }
        out
    };
    assert!(text(&example("C.5").1).contains("mem(kind:read,address:0x1000008,size:0x4,data:0x55aa55aa"));
    // Relative to an unknown value, so it stays relative.
    assert!(text(&example("C.3").1).contains("reg(reg:csr0x3,role:destination,update:or,value:0x1)"));
    let batch = lift(&example("C.7").1);
    let EventKind::Step(step) = batch.events[0].kind else { panic!() };
    assert_eq!((step.pc, step.outcome), (Some(0x8_1234), Outcome::Attempted));
    assert_eq!((batch.traps[0].kind, batch.traps[0].cause), (TrapKind::Exception, Some(2)));
    let batch = lift(&example("C.8").1);
    assert_eq!((batch.traps[0].kind, batch.traps[0].cause), (TrapKind::Interrupt, Some(3)));
    assert_eq!((batch.traps[0].to, batch.traps[0].return_address), (Some(0x1_0000), Some(0x8_1256)));
    assert_eq!(batch.regs[2].value, Value::Word(0xa_0000_18b0));
}

#[test]
fn c2_c7_c8_as_printed_name_the_pc_identifier() {
    for table in ["C.2", "C.7", "C.8"] {
        let (printed, corrected) = example(table);
        assert_eq!(read_error(&printed), "0x2: additional state.identifier: 0x10 is not known [Tandem 2]");
        assert_eq!(rules(&printed, &Config::default())[0], ("tandem.pc-identifier", 2), "table {table}");
        let message = &findings(&printed, &Config::default())[0].message;
        assert!(message.contains("which is 0x0a"), "{message}");
        // On request it is read, with a finding, and written back unchanged.
        let lenient = Config { lenient: true, ..Config::default() };
        assert_eq!(items(&printed, &lenient).len(), items(&corrected, &lenient).len());
        assert_eq!(rules(&printed, &lenient)[0], ("tandem.pc-identifier", 1), "table {table}");
    }
}

#[test]
fn c4_as_printed_writes_a_register_that_is_not_the_destination() {
    let (printed, _) = example("C.4");
    assert_eq!(rules(&printed, &Config::default()), [("tandem.destination", 5)]);
    let message = &findings(&printed, &Config::default())[0].message;
    assert!(message.starts_with("a6 is written, but not by `") && message.contains("sub a0"), "{message}");
}

#[test]
fn c5_as_printed_has_the_wrong_opcode_and_an_impossible_value() {
    let (printed, _) = example("C.5");
    assert_eq!(read_error(&printed), "0x5: item.opcode: 0x82 is not known [Tandem 2]");
    assert_eq!(rules(&printed, &Config::default()), [("tandem.instruction-length", 2), ("tandem.opcode", 5)]);
    let mut value_only = printed.clone();
    value_only[2] = 0x11;
    assert_eq!(rules(&value_only, &Config::default()), [("tandem.load-value", 7)]);
    let message = &findings(&value_only, &Config::default())[0].message;
    assert_eq!(message, "tp = 0x55aa55aa55aa55aa is not the result of a 4-byte load");
}

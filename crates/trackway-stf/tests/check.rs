//! Every rule fires on a minimal bad trace and is silent on the good twin.

mod common;

use common::*;
use trackway_core::{ErrorKind, Input, Severity};
use trackway_stf::values::{features, iem, isa};
use trackway_stf::{
    Config, Container, Data, Entries, EventId, Layout, Metadata, Protocol, RULES, Record, Register, Text16,
    Text32, Trace, WriteConfig,
};

type Records = Vec<Record<'static>>;

const MODE: EventId = EventId { interrupt: false, special: true, code: 0 };
const MACHINE: Record<'static> = Record::Event { id: MODE, data: Data(&[3, 0, 0, 0, 0, 0, 0, 0]) };
const NOP: Record<'static> = Record::InstOpcode32 { opcode: 0x13 };
/// `ld a0, 0(a0)`.
const LOAD: Record<'static> = Record::InstOpcode32 { opcode: 0x0005_3503 };
/// `jal x0, .`: it jumps to itself.
const JUMP: Record<'static> = Record::InstOpcode32 { opcode: 0x0000_006f };
const READ8: Record<'static> = Record::InstMemAccess { address: 0x1000, size: 8, attributes: 0, access: 1 };
const DATA: Record<'static> = Record::InstMemContent { data: 1 };
/// The entries of a walk.
const LEAF: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0x0f, 0, 0, 0, 0, 0, 0, 0];

const fn event(interrupt: bool, code: u64, data: &'static [u8]) -> Record<'static> {
    Record::Event { id: EventId { interrupt, special: false, code }, data: Data(data) }
}

const fn reg(number: u16, meta: u8) -> Record<'static> {
    Record::InstReg { register: Register { number, meta, content: &[0; 8] } }
}

fn header(features: u64) -> Records {
    vec![
        Record::Identifier { magic: *b"STF" },
        Record::Version { major: 1, minor: 6 },
        Record::Comment { text: Text32(b"made by hand") },
        Record::Isa { isa: isa::RISCV },
        Record::InstIem { mode: iem::RV64 },
        Record::TraceInfo { generator: 6, major: 1, minor: 0, patch: 0, text: Text16(b"") },
        Record::TraceInfoFeature { features: features | features::RV64 },
        Record::ForcePc { pc: 0x1000 },
        Record::EndHeader {},
    ]
}

/// Header, mode change, then `body`, with the features that the body needs.
fn with(features: u64, body: &[Record<'static>]) -> Records {
    let mut records = header(features | features::EVENT);
    records.push(MACHINE);
    records.extend_from_slice(body);
    records
}

/// A body that needs no feature.
fn body(records: &[Record<'static>]) -> Records {
    with(0, records)
}

fn good() -> Records {
    body(&[NOP, READ8, DATA, LOAD, NOP])
}

/// The good trace with a change.
fn changed(change: impl FnOnce(&mut Records)) -> Records {
    let mut records = good();
    change(&mut records);
    records
}

fn bytes(records: &Records) -> Vec<u8> {
    let mut layout = Layout::default();
    let mut out = Vec::new();
    for record in records {
        layout.note(record);
        record.write(&mut out, &layout);
    }
    out
}

fn findings(bytes: &[u8]) -> Vec<&'static str> {
    let mut found = Vec::new();
    let trace = Input::from_vec(bytes.to_vec());
    match Trace::open(trace, Config::default(), true) {
        // Damage ends the reading; the findings before it count.
        Ok(trace) => drop(trace.check(&mut |finding| found.push(finding.rule.name))),
        Err(error) => panic!("{error}"),
    }
    found
}

/// Rule, bad trace, good twin where the good trace is not it.
fn cases() -> Vec<(&'static str, Records, Option<Records>)> {
    let mut cases: Vec<(&'static str, Records, Option<Records>)> = Vec::new();
    let mut bad = |rule, records| cases.push((rule, records, None));

    bad("stf.identifier-first", changed(|records| records.insert(3, Record::Identifier { magic: *b"STF" })));
    bad("stf.version-second", changed(|records| records.swap(1, 2)));
    bad("stf.version-known", changed(|records| records[1] = Record::Version { major: 1, minor: 7 }));
    bad(
        "stf.version-holds",
        changed(|records| records[1] = Record::Version { major: 1, minor: 3 }).tap(|records| {
            records.insert(8, Record::VlenConfig { bits: 128 });
        }),
    );
    bad(
        "stf.comment-there",
        changed(|records| {
            records.remove(2);
        }),
    );
    bad(
        "stf.isa-once",
        changed(|records| {
            records.remove(3);
        }),
    );
    bad("stf.isa-once", changed(|records| records.insert(4, Record::Isa { isa: 1 })));
    bad("stf.isa-known", changed(|records| records[3] = Record::Isa { isa: 9 }));
    bad("stf.isa-before-iem", changed(|records| records.swap(3, 4)));
    bad("stf.iem-once", changed(|records| records.insert(5, Record::InstIem { mode: 2 })));
    bad("stf.iem-known", changed(|records| records[4] = Record::InstIem { mode: 9 }));
    bad("stf.iem-feature", changed(|records| records[4] = Record::InstIem { mode: iem::RV32 }));
    bad(
        "stf.trace-info-there",
        changed(|records| {
            records.remove(5);
        }),
    );
    bad(
        "stf.generator-known",
        changed(|records| {
            records[5] =
                Record::TraceInfo { generator: 0x99, major: 0, minor: 0, patch: 0, text: Text16(b"") };
        }),
    );
    bad(
        "stf.feature-once",
        changed(|records| {
            records.remove(6);
        }),
    );
    bad(
        "stf.feature-known",
        changed(|records| records[6] = Record::TraceInfoFeature { features: 1 << 40 | 0x28 }),
    );
    bad("stf.feature-kept", with(features::PTE, &[NOP]));
    bad("stf.feature-declared", body(&[reg(1, 0x21), NOP]));
    bad(
        "stf.process-id-once",
        changed(|records| {
            let id = Record::ProcessIdExt { first: 0, second: 1, third: 2 };
            records.splice(7..7, [id, id]);
        }),
    );
    bad(
        "stf.process-id-dialect",
        with(features::PROCESS_ID, &[Record::ProcessIdExt { first: 0, second: 1, third: 2 }, NOP]),
    );
    bad(
        "stf.force-pc-header",
        changed(|records| {
            records.remove(7);
        }),
    );
    let vlen = Record::VlenConfig { bits: 128 };
    bad("stf.vlen-once", changed(|records| drop(records.splice(8..8, [vlen, vlen]))));
    bad("stf.vlen-value", changed(|records| records.insert(8, Record::VlenConfig { bits: 32 })));
    bad("stf.protocol-known", changed(|records| records.insert(8, Record::ProtocolId { protocol: 7 })));
    bad(
        "stf.clock-id",
        changed(|records| records.insert(8, Record::ClockId { clock: 0, name: Text16(b"c") })),
    );
    let extended = Record::IsaExtended { text: Text32(b"rv64gc") };
    bad("stf.isa-extended-once", changed(|records| drop(records.splice(8..8, [extended, extended]))));
    bad("stf.end-header-once", changed(|records| records.push(Record::EndHeader {})));
    bad("stf.header-only", changed(|records| records.push(Record::Isa { isa: 1 })));
    bad("stf.header-only", changed(|records| records.insert(7, NOP)));

    bad("stf.order", body(&[READ8, DATA, Record::InstPcTarget { pc: 0x1000 }, JUMP]));
    bad(
        "stf.pc-target-once",
        body(&[Record::InstPcTarget { pc: 4 }, Record::InstPcTarget { pc: 0x1000 }, JUMP]),
    );
    bad("stf.pc-target-branch", body(&[Record::InstPcTarget { pc: 0x1004 }, NOP]));
    bad("stf.pc-target-missing", body(&[JUMP, NOP]));
    const MRET: Record<'static> = Record::InstOpcode32 { opcode: 0x3020_0073 };
    const USER: Record<'static> = Record::Event { id: MODE, data: Data(&[0; 8]) };
    let to = Record::InstPcTarget { pc: 0x2000 };
    cases.push((
        "stf.trap-return",
        body(&[NOP, MRET, Record::ForcePc { pc: 0x2000 }, NOP]),
        Some(body(&[NOP, to, USER, MRET, NOP])),
    ));
    cases.push((
        "stf.trap-return",
        body(&[NOP, to, MRET, USER, NOP]),
        Some(body(&[NOP, to, USER, MRET, NOP])),
    ));
    let mut bad = |rule, records| cases.push((rule, records, None));
    bad("stf.pc-target-value", body(&[Record::InstPcTarget { pc: 0x2000 }, JUMP]));
    bad("stf.pc-continuity", body(&[NOP, Record::ForcePc { pc: 0x2000 }, NOP]));
    bad("stf.opcode-width", body(&[Record::InstOpcode32 { opcode: 0x8082 }]));
    bad("stf.opcode-width", body(&[Record::InstOpcode16 { opcode: 0x0013 }]));
    bad("stf.opcode-known", body(&[Record::InstOpcode32 { opcode: 0xffff_ffff }]));
    bad("stf.microop-size", with(features::MICROOP, &[Record::InstMicroop { size: 3, op: 1 }, NOP]));
    bad("stf.group-open", body(&[NOP, READ8, DATA]));

    let state = features::REGISTER_STATE;
    bad("stf.reg-class", with(state, &[reg(1, 0x15), NOP]));
    bad("stf.reg-role", with(features::OPERAND_VALUE, &[reg(1, 0x01), NOP]));
    bad("stf.reg-reserved", with(features::OPERAND_VALUE, &[reg(1, 0x61), NOP]));
    bad("stf.reg-number", with(state, &[reg(33, 0x11), NOP]));
    bad("stf.reg-number", body(&[Record::InstReadyReg { number: 0x1000 }, NOP]));
    bad("stf.reg-vector-length", with(state | features::VECTOR, &[reg(1, 0x13), NOP]));

    bad(
        "stf.mem-type",
        body(&[Record::InstMemAccess { address: 0, size: 8, attributes: 0, access: 0 }, DATA, LOAD]),
    );
    bad("stf.mem-content-follows", body(&[DATA, NOP]));
    bad("stf.mem-content-missing", body(&[READ8, LOAD]));
    bad("stf.mem-content-count", body(&[READ8, DATA, DATA, LOAD]));
    let byte = Record::InstMemAccess { address: 0, size: 1, attributes: 0, access: 1 };
    bad(
        "stf.mem-content-justified",
        body(&[byte, Record::InstMemContent { data: 0x100 }, Record::InstOpcode32 { opcode: 0x0005_0503 }]),
    );
    let bits = Record::InstMemAccess { address: 0, size: 64, attributes: 0, access: 1 };
    bad("stf.mem-size-unit", body(&[bits, DATA, LOAD]));
    bad("stf.mem-size-opcode", body(&[byte, DATA, LOAD]));
    bad("stf.mem-missing", body(&[LOAD]));
    // `amoadd.d a0, a1, (a2)`.
    const AMO: Record<'static> = Record::InstOpcode32 { opcode: 0x00b6_352f };
    let write8 = Record::InstMemAccess { address: 0x1000, size: 8, attributes: 0, access: 2 };
    for side in [READ8, write8] {
        cases.push((
            "stf.atomic-sides",
            body(&[side, DATA, AMO]),
            Some(body(&[READ8, DATA, write8, DATA, AMO])),
        ));
    }
    // `sc.d a0, a1, (a2)`, which emulators make of a comparison and a store.
    const SC: Record<'static> = Record::InstOpcode32 { opcode: 0x18b6_352f };
    let elsewhere = Record::InstMemAccess { address: 0x2000, size: 8, attributes: 0, access: 1 };
    let good = Some(body(&[READ8, DATA, write8, DATA, SC]));
    cases.push(("stf.mem-spurious", body(&[elsewhere, DATA, write8, DATA, SC]), good));
    let mut bad = |rule, records| cases.push((rule, records, None));
    bad("stf.mem-spurious", body(&[READ8, DATA, NOP]));
    let bus =
        |access| Record::BusMasterAccess { address: 0, size: 8, master: 1, index: 0, attributes: 0, access };
    let content = Record::BusMasterContent { data: 0 };
    bad("stf.bus-type", body(&[bus(3), content, NOP]));
    bad("stf.bus-master", body(&[bus(1), content, NOP]));
    bad("stf.bus-content-follows", body(&[content, NOP]));
    bad("stf.bus-content-missing", body(&[bus(1), NOP]));
    let walk = |first_use, size, entries| Record::PageTableWalk {
        address: 0,
        first_use,
        size,
        entries: Entries(entries),
    };
    let pte = features::PTE;
    cases.push((
        "stf.walk-entries",
        with(pte, &[walk(0, 4096, &[]), NOP]),
        Some(with(pte, &[walk(0, 4096, LEAF), NOP])),
    ));
    cases.push((
        "stf.walk-size",
        with(pte, &[walk(0, 1000, LEAF), NOP]),
        Some(with(pte, &[walk(0, 1 << 21, LEAF), NOP])),
    ));
    // User mode translates: the first access to a page has a walk before it.
    let page = |address| Record::PageTableWalk { address, first_use: 0, size: 4096, entries: Entries(LEAF) };
    let other = Record::InstMemAccess { address: 0x5000, size: 8, attributes: 0, access: 1 };
    let user = Record::Event { id: MODE, data: Data(&[0; 8]) };
    cases.push((
        "stf.walk-missing",
        with(pte, &[user, page(0x1000), READ8, DATA, LOAD, other, DATA, LOAD]),
        Some(with(pte, &[user, page(0x1000), page(0x5000), READ8, DATA, LOAD, other, DATA, LOAD])),
    ));
    cases.push((
        "stf.walk-index",
        with(pte, &[walk(5, 4096, LEAF), NOP]),
        Some(with(pte, &[NOP, walk(1, 4096, LEAF), NOP])),
    ));
    // A part keeps the numbers of the whole, and counts on from its first.
    let part = |walks: [u64; 2]| {
        let [first, second] = walks.map(|first_use| walk(first_use, 4096, LEAF));
        let mut records = with(pte, &[NOP, first, NOP, NOP, second, NOP]);
        records.insert(3, Record::Comment { text: Text32(b"trackway cut: {\"part\":{}}") });
        records
    };
    cases.push(("stf.walk-index", part([101, 102]), Some(part([101, 103]))));
    cases.push(("stf.part", part([101, 103]), Some(part([1, 3]))));
    let mut bad = |rule, records| cases.push((rule, records, None));

    bad("stf.event-known", body(&[event(false, 24, &[]), NOP]));
    for (interrupt, code) in [(false, 14), (false, 17), (false, 33), (false, 64), (true, 14), (true, 15)] {
        bad("stf.event-reserved", body(&[event(interrupt, code, &[0; 8]), NOP]));
    }
    cases.push((
        "stf.event-surplus",
        body(&[event(false, 12, &[0; 24]), NOP]),
        Some(body(&[event(false, 12, &[0; 16]), NOP])),
    ));
    cases.push((
        "stf.event-fields",
        body(&[event(false, 2, &[0; 8]), NOP]),
        Some(body(&[event(false, 2, &[0; 24]), NOP])),
    ));
    cases.push((
        "stf.event-target",
        body(&[NOP, Record::EventPcTarget { pc: 0x2000 }, NOP]),
        Some(body(&[event(true, 7, &[0; 8]), Record::EventPcTarget { pc: 0x2000 }, NOP])),
    ));
    let mut bad = |rule, records| cases.push((rule, records, None));
    bad("stf.mode-value", body(&[Record::Event { id: MODE, data: Data(&[9, 0, 0, 0, 0, 0, 0, 0]) }, NOP]));
    bad("stf.mode-at-start", {
        let mut records = header(0);
        records.push(NOP);
        records
    });
    let transaction = Record::Transaction {
        id: 1,
        delta: 1,
        clock: 1,
        metadata: Metadata { count: 0, raw: &[] },
        protocol: Protocol(&[]),
    };
    bad("stf.transaction-header", with(features::TRANSACTIONS, &[NOP, transaction]));
    bad("stf.reserved-descriptor", changed(|records| records.push(Record::Reserved {})));
    bad("stf.reserve-end-field", changed(|records| records.push(Record::ReserveEnd {})));
    bad("stf.reserve-end-last", changed(|records| records.extend([Record::ReserveEnd {}, NOP])));
    bad("stf.empty", header(0));
    cases
}

trait Tap: Sized {
    fn tap(self, change: impl FnOnce(&mut Self)) -> Self;
}

impl Tap for Records {
    fn tap(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

#[test]
fn the_good_trace_is_good() {
    assert_eq!(findings(&bytes(&good())), [""; 0]);
}

#[test]
fn every_rule_fires_and_its_twin_is_silent() {
    let cases = cases();
    for (rule, bad, twin) in &cases {
        let found = findings(&bytes(bad));
        assert!(found.contains(rule), "{rule} did not fire: {found:?}");
        let silent = findings(&bytes(twin.as_ref().unwrap_or(&good())));
        assert!(!silent.contains(rule), "{rule} fired on the good twin");
    }
    // The container's rules have a test of their own.
    for rule in RULES.iter().filter(|rule| !rule.name.starts_with("stf.chunk-")) {
        assert!(cases.iter().any(|case| case.0 == rule.name), "{} has no test", rule.name);
    }
}

#[test]
fn container_rules() {
    let config = WriteConfig { container: Container::Zstf, chunk: 10, ..WriteConfig::default() };
    let good = rewrite(&busy_trace(100), config);
    let zstf = |file: &[u8]| {
        let found = findings(file);
        found.into_iter().filter(|rule| rule.starts_with("stf.chunk-")).collect::<Vec<_>>()
    };
    assert_eq!(zstf(&good), [""; 0]);
    let index_at = u64::from_le_bytes(good[12..20].try_into().unwrap()) as usize;
    let mut bad = good.clone();
    bad[index_at + 8 + 24 + 8] ^= 2; // address of the second chunk
    assert_eq!(zstf(&bad), ["stf.chunk-pc"]);
    let mut bad = good;
    bad[4] = 11; // instructions per chunk
    assert_eq!(zstf(&bad), ["stf.chunk-markers"; 9]);
}

#[test]
fn damage_costs_its_chunk_only() {
    let config = WriteConfig { container: Container::Zstf, chunk: 10, ..WriteConfig::default() };
    let mut file = rewrite(&busy_trace(100), config);
    let index_at = u64::from_le_bytes(file[12..20].try_into().unwrap()) as usize;
    let entry = |n: usize| index_at + 8 + 24 * n;
    // The third chunk is not a zstd frame; the index has a wrong address for the sixth.
    let chunk = u64::from_le_bytes(file[entry(2)..entry(2) + 8].try_into().unwrap()) as usize;
    file[chunk] ^= 0xff;
    file[entry(5) + 8] ^= 2;
    let mut found = Vec::new();
    let checked = common::open(&file).unwrap().check(&mut |finding| found.push(finding.rule.name));
    assert_eq!(checked.unwrap_err().kind, ErrorKind::Chunk { number: 2, at: chunk as u64 });
    found.retain(|rule: &&str| rule.starts_with("stf.chunk-"));
    assert_eq!(found, ["stf.chunk-pc"]);
}

#[test]
fn names_are_unique() {
    for (n, rule) in RULES.iter().enumerate() {
        assert!(rule.name.starts_with("stf."), "{}", rule.name);
        assert!(RULES[..n].iter().all(|other| other.name != rule.name), "{}", rule.name);
    }
}

/// Anyone can write that a trace is a part of another: nothing is suppressed in silence.
#[test]
fn the_comment_of_a_part_turns_findings_into_notes() {
    let unkept = with(features::PTE, &[NOP]);
    assert_eq!(findings(&bytes(&unkept)), ["stf.feature-kept"]);
    let part = Record::Comment { text: Text32(b"trackway cut: {\"part\":{}}") };
    assert_eq!(findings(&bytes(&unkept.tap(|records| records.insert(3, part)))), ["stf.part"]);
    let user = Record::Event { id: MODE, data: Data(&[0; 8]) };
    let walk = Record::PageTableWalk { address: 0x9000, first_use: 0, size: 4096, entries: Entries(LEAF) };
    let unwalked = with(features::PTE, &[user, walk, READ8, DATA, LOAD]);
    let (missing, noted) = ("stf.walk-missing", "stf.part");
    let whole = findings(&bytes(&unwalked));
    assert!(whole.contains(&missing) && !whole.contains(&noted), "{whole:?}");
    let found = findings(&bytes(&unwalked.tap(|records| records.insert(3, part))));
    assert!(found.contains(&noted) && !found.contains(&missing), "{found:?}");
    let rule = RULES.iter().find(|rule| rule.name == "stf.part").unwrap();
    assert_eq!(rule.severity, Severity::Note);
}

/// A trace written from a real execution is legal.
#[test]
fn a_written_trace_is_legal() {
    let found = findings(&std::fs::read(testdata("stf/sort/trace.stf")).unwrap());
    assert_eq!(found, [""; 0]);
}

/// Habits of real writers that the text allows.
#[test]
fn no_false_errors() {
    let access = |address, size| Record::InstMemAccess { address, size, attributes: 0, access: 1 };
    // `vle8.v v8, (a0)`, `vl1re8.v v8, (a0)`.
    const VLE8: Record<'static> = Record::InstOpcode32 { opcode: 0x0205_0407 };
    const VL1RE8: Record<'static> = Record::InstOpcode32 { opcode: 0x0285_0407 };
    let cases: [(&str, Records); 7] = [
        ("a unit-stride load as one access", body(&[NOP, access(0x1000, 16), DATA, DATA, VLE8])),
        ("its elements", body(&[NOP, access(0x1000, 1), DATA, access(0x1001, 1), DATA, VLE8])),
        ("a whole register", body(&[NOP, access(0x1000, 32), DATA, DATA, DATA, DATA, VL1RE8])),
        (
            "a misaligned load in two pieces",
            body(&[NOP, access(0x1ffe, 2), DATA, access(0x2000, 6), DATA, LOAD]),
        ),
        (
            "vector instructions with the feature bit",
            with(features::VECTOR, &[NOP, access(0x1000, 1), DATA, VLE8]),
        ),
        (
            "64-bit vector registers in 1.3",
            with(features::OPERAND_VALUE | features::VECTOR, &[NOP, reg(1, 0x33), NOP])
                .tap(|records| records[1] = Record::Version { major: 1, minor: 3 }),
        ),
        ("a second FEATURE record", good().tap(|records| records.insert(7, records[6]))),
    ];
    for (what, records) in cases {
        assert_eq!(findings(&bytes(&records)), [""; 0], "{what}");
    }
    // The sum is still compared.
    let wrong = body(&[NOP, access(0x1ffe, 2), DATA, access(0x2000, 4), DATA, LOAD]);
    assert_eq!(findings(&bytes(&wrong)), ["stf.mem-size-opcode"; 2]);
}

/// A deviation that all files of a producer have is reported once.
#[test]
fn deviations_of_a_producer_are_grouped() {
    let bits = Record::InstMemAccess { address: 0, size: 64, attributes: 0, access: 1 };
    let mut dromajo = body(&[NOP, bits, DATA, LOAD, bits, DATA, LOAD, bits, DATA, LOAD]);
    dromajo[5] = Record::TraceInfo { generator: 12, major: 1, minor: 1, patch: 0, text: Text16(b"") };
    let mut found = Vec::new();
    common::open(&bytes(&dromajo)).unwrap().check(&mut |finding| found.push(finding.to_string())).unwrap();
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert!(finding.contains("3 sizes are in bits, as in every file of Dromajo"), "{finding}");
    let mut found = Vec::new();
    let loads = bytes(&body(&[LOAD, LOAD]));
    common::open(&loads).unwrap().check(&mut |finding| found.push(finding.to_string())).unwrap();
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert!(finding.contains("2 loads and stores, and no INST_MEM_ACCESS in the trace"), "{finding}");
}

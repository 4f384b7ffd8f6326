//! Tarmac: golden cases, the corpus beside counts that are obvious, damage, dialects beside each other.
//! `TRACKWAY_BLESS=1 cargo test -p trackway-logs` rewrites the golden text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trackway_core::*;
use trackway_format::{Opened, Opening, Program, Settings};
use trackway_io::File;
use trackway_logs::TARMAC;
use trackway_testkit::cut::every_cut;
use trackway_testkit::lines::{filled, observed};
use trackway_testkit::{cuts, later_cuts, stretch, sweep};

fn try_open(input: Input, threads: usize) -> trackway_format::Result<Box<dyn Opened>> {
    TARMAC.open(Opening {
        file: File::from_input(input)?,
        settings: Settings::default(),
        program: Program::default(),
        threads,
        part: Some(2000),
        force: false,
        strict: false,
        source: None,
        cancel: Cancel::default(),
    })
}

fn open(bytes: &[u8]) -> Box<dyn Opened> {
    try_open(Input::from_vec(bytes.to_vec()), 1).unwrap()
}

fn events(bytes: &[u8]) -> Vec<String> {
    filled(&mut *open(bytes).events().unwrap())
}

fn findings(bytes: &[u8]) -> Vec<Finding> {
    let mut found = Vec::new();
    open(bytes).check(&mut |finding| found.push(finding)).unwrap();
    found
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tarmac")
}

fn case(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name).join("trace.tarmac")).unwrap()
}

const CASES: [&str; 5] = ["loop-fast-models", "loop-es", "loop-gem5", "thumb-es", "two-cores"];

fn expect(path: &Path, found: &str) {
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(wanted == found, "{} differs; TRACKWAY_BLESS=1 rewrites it", path.display());
}

#[test]
fn golden_cases() {
    for name in CASES {
        let (bytes, folder) = (case(name), folder().join(name));
        let mut opened = open(&bytes);
        let text = trackway_testkit::lines::text(&mut *opened.events().unwrap());
        expect(&folder.join("expect.events"), &text);
        let (mut items, mut item, mut out) = (opened.items().unwrap(), Item::default(), String::new());
        while items.next(&mut item).unwrap() {
            out += format!("{:#010x} {} {}", item.offset, item.name, item.text).trim_end();
            out.push('\n');
        }
        for finding in findings(&bytes) {
            out += &format!("{finding}\n");
        }
        expect(&folder.join("expect.items"), &out);
    }
}

/// Steps with their values, without what one dialect may lack.
fn steps(bytes: &[u8], keep: impl Fn(&Batch, &Step) -> Vec<String>) -> Vec<String> {
    let mut opened = open(bytes);
    let mut source = opened.events().unwrap();
    let (mut batch, mut lines) = (Batch::default(), Vec::new());
    while source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            if let EventKind::Step(step) = &event.kind {
                let Step { pc, encoding, length, outcome, taken, .. } = step;
                let target = batch.extra_of(step).and_then(|extra| extra.target);
                let flow = format!("{pc:x?} {encoding:x} {length} {outcome} {taken:?} {target:x?}");
                lines.push(format!("{flow} {:?}", keep(&batch, step)));
            }
        }
    }
    lines
}

fn values(with_sp: bool, loads: bool) -> impl Fn(&Batch, &Step) -> Vec<String> {
    move |batch, step| {
        let regs = batch.regs_of(step.accesses).iter();
        let regs = regs.filter(|access| with_sp || access.reg != Reg { class: RegClass::Int, number: 31 });
        let regs = regs.map(|access| format!("{}={:x?}", access.reg, access.value));
        let mem = batch.mem_of(step.accesses).iter().filter(|access| loads || access.data != Value::Unknown);
        let mem = mem
            .map(|access| format!("{} {:x} {} {:x?}", access.kind, access.address, access.size, access.data));
        let mut all: Vec<String> = regs.chain(mem).collect();
        // Producers differ in the order of registers.
        all.sort();
        all
    }
}

#[test]
fn dialects_say_the_same() {
    let mut pairs = vec![(case("loop-fast-models"), case("loop-es"), case("loop-gem5"))];
    if let Some(corpus) = trackway_testkit::corpus_part("logs/tarmac") {
        let read = |name: &str| std::fs::read(corpus.join(name)).unwrap();
        pairs.push((
            read("calculator-aarch64-fastmodel.tarmac"),
            read("calculator-aarch64-es-ld-st-style.tarmac"),
            read("calculator-aarch64-gem5.tarmac"),
        ));
        let (fast, es) =
            (read("calculator-aarch32-fastmodel.tarmac"), read("calculator-aarch32-es-ld-st-style.tarmac"));
        assert_eq!(steps(&fast, values(true, true)), steps(&es, values(true, true)));
    }
    for (fast, es, gem5) in pairs {
        assert_eq!(steps(&fast, values(true, true)), steps(&es, values(true, true)));
        // gem5 writes no stack pointer, no value of a pair that is loaded, no result of semihosting.
        let pair = |line: &String| line.contains(" a94") || line.contains(" d45e0000 ");
        let plain = |bytes: &[u8]| -> Vec<String> {
            steps(bytes, values(false, false)).into_iter().filter(|line| !pair(line)).collect()
        };
        assert_eq!(plain(&fast), plain(&gem5));
    }
}

/// An obvious count: words of lines.
struct Obvious {
    instructions: u64,
    first: u64,
    last: u64,
    registers: BTreeMap<String, u64>,
}

fn obvious(text: &str) -> Obvious {
    let (mut pcs, mut registers) = (Vec::new(), BTreeMap::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().filter(|word| !word.starts_with("cpu")).collect();
        let at = |word: &str| words.iter().position(|found| *found == word);
        if let Some(n) = at("IT").or(at("IS")).filter(|n| *n == 2) {
            pcs.push(words[n + 2].split(':').next().unwrap());
        } else if let Some(word) = at("ES").and_then(|n| words.get(n + 1)?.strip_prefix('(')) {
            pcs.push(word.split(':').next().unwrap());
        } else if let Some(n) = at("R").filter(|n| matches!(n, 0 | 2)) {
            let name = words[n + 1].to_ascii_lowercase().replace('w', "x");
            let name = name.replace('r', "x").replace("sp_svc", "x13_svc").replace("lx_svc", "x14_svc");
            let number = name.trim_end_matches("_svc").strip_prefix('x').map(str::parse::<u8>);
            if let Some(Ok(number)) = number {
                registers.insert(format!("x{number}"), u64::from_str_radix(words[n + 2], 16).unwrap());
            }
        }
    }
    let pc = |text: Option<&&str>| u64::from_str_radix(text.unwrap(), 16).unwrap();
    Obvious { instructions: pcs.len() as u64, first: pc(pcs.first()), last: pc(pcs.last()), registers }
}

#[test]
fn the_corpus_is_counted_right() {
    let Some(corpus) = trackway_testkit::corpus_part("logs/tarmac") else { return };
    let mut logs: Vec<PathBuf> =
        std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|end| end == "tarmac"));
    assert_eq!(logs.len(), 5);
    for path in logs {
        let bytes = std::fs::read(&path).unwrap();
        let wanted = obvious(std::str::from_utf8(&bytes).unwrap());
        let mut opened = open(&bytes);
        let mut source = opened.events().unwrap();
        let (mut batch, mut count, mut pcs, mut registers) =
            (Batch::default(), 0, [None; 2], BTreeMap::new());
        while source.fill(&mut batch).unwrap() {
            count += batch.instructions();
            for event in &batch.events {
                if let EventKind::Step(step) = &event.kind {
                    pcs = [pcs[0].or(step.pc), step.pc];
                }
                assert!(!matches!(event.kind, EventKind::Gap(_)), "{}", path.display());
            }
            for access in batch.regs.iter().filter(|access| access.reg.class == RegClass::Int) {
                if let (Value::Word(value), ..=30) = (access.value, access.reg.number) {
                    registers.insert(access.reg.to_string(), value);
                }
            }
        }
        let name = path.display();
        assert_eq!((count, pcs), (wanted.instructions, [Some(wanted.first), Some(wanted.last)]), "{name}");
        assert_eq!(registers, wanted.registers, "{name}");
        assert_eq!(source.census().total(), bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
    }
}

/// The log of the ETE corpus has two cores, exceptions and messages of the simulator.
#[test]
fn the_log_of_two_cores() {
    let Some(path) = trackway_testkit::corpus_part("ete/002-ack_test_scr/test_TARMAC") else { return };
    let bytes = std::fs::read(path).unwrap();
    let text = std::str::from_utf8(&bytes).unwrap();
    let mut opened = open(&bytes);
    assert_eq!(opened.meta().sources, ["cpu0", "cpu1"]);
    let (mut source, mut batch) = (opened.events().unwrap(), Batch::default());
    let (mut counts, mut traps) = ([0; 2], 0);
    while source.fill(&mut batch).unwrap() {
        counts[usize::from(batch.source)] += batch.instructions();
        traps += batch.traps.iter().filter(|trap| trap.kind == TrapKind::Exception).count();
        assert!(batch.gaps.is_empty());
    }
    let lines =
        |words: &[&str]| text.lines().filter(|line| words.iter().any(|word| line.contains(word))).count();
    assert_eq!(counts[0] as usize, lines(&["cpu0 IT", "cpu0 IS"]));
    assert_eq!(counts[1] as usize, lines(&["cpu1 IT", "cpu1 IS"]));
    assert_eq!(traps, lines(&["_SYNC"]));
    // The names of system registers are those of the encodings.
    let mut known = 0;
    for line in text.lines().filter(|line| line.contains(" : MSR ") || line.contains(" : MRS ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let encoding = words.iter().find_map(|word| {
            u32::from_str_radix(word, 16).ok().filter(|word| word >> 22 == 0xd500_0000 >> 22)
        });
        let operands = words.last().unwrap().split(',');
        for name in operands.filter(|name| name.contains("_EL") || name.starts_with("TRC")) {
            let wanted = encoding.map(|encoding| (encoding >> 5) as u16);
            if let Some(number) = trackway_isa::arm::system_register_number(name) {
                assert_eq!(Some(number), wanted, "{line}");
                known += 1;
            }
        }
    }
    assert!(known > 100, "{known}");
}

#[test]
fn a_pipe_reads_as_a_file_does() {
    for name in &CASES[..4] {
        let bytes = case(name);
        let pipe = Input::Stream(Box::new(std::io::Cursor::new(bytes.clone())));
        let mut opened = try_open(pipe, 1).unwrap();
        assert_eq!(filled(&mut *opened.events().unwrap()), events(&bytes), "{name}");
    }
    let pipe = Input::Stream(Box::new(std::io::Cursor::new(case("two-cores"))));
    let refused = try_open(pipe, 1).err().unwrap().to_string();
    assert!(refused.contains("add --source"), "{refused}");
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let text = "1 clk IT (1) 80000000 d2a20001 O EL1h_n : MOV x1,#0x10000000\n1 clk R X1 00000000100x0000\n\
                2 clk IT (2) 80000004 d2800060 O EL1h_n : MOV x0,#3\n3 clk XX y\n4 clk IT (3) 8000000z d2800060 O EL1h_n\n";
    let lines = events(text.as_bytes());
    let errors: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("error ")).collect();
    assert_eq!(
        errors,
        [
            "0x48: Tarmac: line 2, column 12: expected as many digits as the register has",
            "0x93: Tarmac: line 4, column 7: expected an event (IT, IS, ES, R, MR, MW, LD, ST, E, EXC, BR or another)",
            "0xac: Tarmac: line 5, column 21: expected an encoding of 4 or 8 hexadecimal digits",
        ]
    );
    assert_eq!(lines.iter().filter(|line| line.contains(" step ")).count(), 2);
    assert_eq!(lines.iter().filter(|line| line.contains(" gap ")).count(), 3);
    let findings = findings(text.as_bytes());
    assert_eq!(findings.iter().filter(|finding| finding.rule.name == "tarmac.syntax").count(), 3);
}

#[test]
fn contradictions_are_found() {
    let text = String::from_utf8(case("loop-fast-models")).unwrap();
    assert_eq!(findings(text.as_bytes()), []);
    for (from, to, rule) in [
        ("(9) 80000008:000080000008_NS", "(9) 80000018:000080000018_NS", "tarmac.pc"),
        ("f9000020 O EL1h_n : STR ", "f9000020 O EL1h_n : LDR ", "tarmac.text"),
        ("4 clk R X0 ", "4 clk R X5 ", "tarmac.destination"),
        (
            "MW8 10000000:000010000000_NS 00000000_00000002",
            "MW8 10000000:000010000000_NS 00000000_00000009",
            "tarmac.register-value",
        ),
        ("12 clk MR8 10000000", "12 clk MW8 10000000", "tarmac.access"),
        (
            "12 clk MR8 10000000:000010000000_NS 00000000_00000001",
            "12 clk MR8 10000000:000010000000_NS 00000000_00000007",
            "tarmac.memory-value",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let found = findings(text.replacen(from, to, 1).as_bytes());
        assert!(found.iter().any(|finding| finding.rule.name == rule), "{rule}: {found:?}");
    }
}

/// All logs that there are.
fn logs() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = CASES.iter().map(|name| case(name)).collect();
    if let Some(corpus) = trackway_testkit::corpus_part("logs/tarmac") {
        let paths = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
        let logs = paths.filter(|path| path.extension().is_some_and(|end| end == "tarmac"));
        for path in logs {
            all.push(std::fs::read(path).unwrap());
        }
    }
    all
}

/// Everything that can be asked, of bytes that may be anything.
fn survives(bytes: &[u8]) -> Vec<String> {
    let mut opened = open(bytes);
    let lines = filled(&mut *opened.events().unwrap());
    opened.check(&mut |_| {}).unwrap();
    let (mut items, mut item) = (opened.items().unwrap(), Item::default());
    loop {
        match items.next(&mut item) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) if items.resync().is_ok_and(|skipped| skipped.is_some()) => {}
            Err(_) => break,
        }
    }
    lines
}

#[test]
fn every_truncation_delivers_what_came_before() {
    for mut bytes in logs() {
        // Each is read from its start; the test below cuts the rest of a long log.
        bytes.truncate(if sweep() { usize::MAX } else { 60_000 });
        let whole = events(&bytes);
        let several = open(&bytes).meta().sources.len() > 1;
        for cut in cuts(bytes.len()) {
            let lines = survives(&bytes[..cut]);
            // Several cores end each with a part of its own; the last step may lack what was cut.
            if !several {
                let steps = |lines: &[String]| -> Vec<String> {
                    lines.iter().filter(|line| line.contains(" step ")).cloned().collect()
                };
                let (found, wanted) = (steps(&lines), steps(&whole));
                let kept = found.len().saturating_sub(1);
                assert!(found[..kept] == wanted[..kept], "cut at {cut}");
            }
        }
    }
}

/// With `TRACKWAY_SWEEP` every one.
#[test]
fn all_truncations_in_the_middle_deliver_what_came_before() {
    for (n, bytes) in logs().into_iter().enumerate() {
        if open(&bytes).meta().sources.len() < 2 {
            every_cut(&format!("log {n}"), &bytes, later_cuts(bytes.len()), |input| {
                let mut opened = try_open(input, 1).unwrap();
                move || opened.events().unwrap()
            });
        }
    }
}

#[test]
fn damage_is_survived_and_seen_alike_by_threads() {
    for (n, bytes) in logs().into_iter().enumerate() {
        let mut random = SplitMix64(20 + n as u64);
        for round in 0..200 {
            let mut damaged = stretch(&bytes, 40_000, &mut random).to_vec();
            for _ in 0..1 + round % 4 {
                let at = random.below(damaged.len() as u64) as usize;
                match round % 3 {
                    0 => damaged[at] = random.below(256) as u8,
                    1 => damaged[at] ^= 1 << random.below(8),
                    _ => drop(damaged.drain(at..damaged.len().min(at + 1 + random.below(60) as usize))),
                }
            }
            let lines = survives(&damaged);
            if round % 10 == 0 {
                let mut opened = try_open(Input::from_vec(damaged), 3).unwrap();
                assert!(observed(&mut *opened.events().unwrap()) == lines, "log {n}, round {round}");
            }
        }
    }
}

/// Groups without end, lines without end: memory stays bounded, and nothing is lost silently.
#[test]
fn endless_groups_and_lines() {
    let mut text = String::from("1 clk IT (1) 80000000 d2a20001 O EL1h_n : MOV x1,#0x10000000\n");
    text += &"1 clk R X1 0000000010000000\n".repeat(200_000);
    let (mut opened, mut batch, mut regs) = (open(text.as_bytes()), Batch::default(), 0);
    let mut source = opened.events().unwrap();
    while source.fill(&mut batch).unwrap() {
        assert!(batch.regs.len() < 50_000);
        regs += batch.regs.len();
    }
    assert_eq!(regs, 200_000);
    let long = format!("1 clk CADI {}\n{text}", "x".repeat(300_000));
    let mut opened = open(long.as_bytes());
    let mut source = opened.events().unwrap();
    let error = source.fill(&mut batch).unwrap_err();
    assert!(error.to_string().contains("a line has less than 64 KiB"), "{error}");
    assert!(source.resync().unwrap() && source.fill(&mut batch).unwrap());
    assert_eq!(batch.instructions(), 1);
}

//! ASTF as a user meets it: info, dump, check and convert on the golden files, from files and from stdin.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::Folder;

fn testdata(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/astf").join(name).display().to_string()
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trackway")).args(arguments).output().expect("the program runs")
}

/// What a run that has to succeed printed.
fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn ledger(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    let lines = errors.lines().filter(|line| !line.starts_with("health"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// All of these, and nothing else dropped or invented.
fn holds_exactly(ledger: &str, expected: &[&str]) {
    for what in expected {
        assert!(ledger.lines().any(|line| line == *what), "{what} in\n{ledger}");
    }
    for line in ledger.lines().filter(|line| line.starts_with("dropped") || line.starts_with("invented")) {
        assert!(expected.contains(&line), "{line} is not expected");
    }
}

const FORMS: [(&str, &str); 4] = [
    ("example/example.astf", "raw"),
    ("example/example-lzma.astf", "xz"),
    ("example/example-lzma-alone.astf", "lzma"),
    ("example/example-zlib.astf", "zlib"),
];

#[test]
fn every_form_of_the_example_is_described_listed_and_legal() {
    let raw = text(&["dump", &testdata(FORMS[0].0)]);
    for expected in [
        "0  000000000836e128  6b00007f  cmp w3, w0",
        "b.ne #0x836e0e8                   NT",
        "mem write 0000a4330b765010 16 range tagged",
        "mem write 0000a4330b765080 0 range\n",
        "blr x2                            T -> 0000ffff83ffb2f0",
        "mem read  0000a4330b766000 4 tagged",
        "(attempted)\n                               mem faulting 0000ffff95ceb000 16 tagged",
        "to=0xffff7dfffe7fc400 (Data Abort from lower)",
        "ldr za[w12, 4], [x0, #4, mul vl]  i{5}",
    ] {
        assert!(raw.contains(expected), "{expected} in\n{raw}");
    }
    for (name, container) in FORMS {
        let file = testdata(name);
        let info = text(&["info", &file]);
        let container = format!("container:         {container}\n");
        for expected in ["ASTF", "version:           0.11", "level:             BasicPlus", &container] {
            assert!(info.contains(expected), "{expected} in\n{info}");
        }
        assert!(info.contains("21 items, 11 instructions, 0 gaps, 0 bytes skipped"), "{info}");
        assert_eq!(text(&["dump", &file]), raw);
        let fields = text(&["dump", "--raw", &file]);
        assert_eq!(fields.lines().count(), 21);
        assert!(
            fields.contains("Extra EA mem0_tagged=1 mem0_is_read=1 mem0_size=3 mem0_addr=0xa4330b766000")
        );
        assert_eq!(text(&["check", &file]), "");
    }
}

#[test]
fn stdin_is_as_good_as_a_file() {
    for (name, _) in FORMS {
        let bytes = std::fs::read(testdata(name)).expect("the golden file");
        let mut child = Command::new(env!("CARGO_BIN_EXE_trackway"))
            .args(["dump", "--as", "pcs", "--attempted", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        child.stdin.take().expect("piped").write_all(&bytes).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 11, "{name}");
    }
}

#[test]
fn recompression_keeps_the_records() {
    let folder = Folder::new("recompress");
    let original = std::fs::read(testdata(FORMS[0].0)).expect("the golden file");
    for (name, container) in FORMS {
        let there = folder.file("there.astf");
        let back = folder.file("back.astf");
        text(&["convert", &testdata(FORMS[0].0), &there, "--container", container]);
        assert_eq!(std::fs::read(&there).unwrap(), std::fs::read(testdata(name)).unwrap(), "{container}");
        text(&["convert", &there, &back, "--container", "raw"]);
        assert_eq!(std::fs::read(&back).unwrap(), original, "{container}");
    }
    let refused = run(&["convert", &testdata(FORMS[0].0), &folder.file("x.astf"), "--container", "gzip"]);
    assert_ne!(refused.status.code(), Some(0));
}

#[test]
fn to_stf_and_back_with_an_exact_ledger() {
    let folder = Folder::new("stf");
    let (stf, back) = (folder.file("y.stf"), folder.file("z.astf"));
    let there = ledger(&["convert", &testdata("example/example.astf"), &stf]);
    holds_exactly(
        &there,
        &[
            "kept 11 instructions",
            "kept 7 memory accesses",
            "kept 1 traps",
            "dropped 3 DIT states",
            "dropped 3 MTE modes",
            "dropped 1 SME indices",
            "dropped 3 SSBS states",
            "dropped 1 faulting accesses",
            "dropped 4 memory tags",
            "dropped 3 range marks",
            "dropped 3 security states",
            "dropped 3 stack pointer selections",
            "dropped 3 streaming modes",
            "dropped 2 times",
            "dropped 2 vector lengths",
            "invented 7 memory data (zero)",
        ],
    );
    let from = ledger(&["convert", &stf, &back, "--container", "raw"]);
    holds_exactly(
        &from,
        &[
            "kept 11 instructions",
            "kept 7 memory accesses",
            "kept 1 traps",
            "derived 3 ranges",
            "derived 1 PSTATE changes",
            "dropped 7 memory data",
            "dropped 1 ASTF-4.5-sme-index-missing",
            "dropped 1 ASTF-4.5.3.2-data-abort-ea",
            "dropped 1 hardware threads",
            "dropped 1 producers",
            "invented 1 security state (non-secure)",
            "invented 2 stack pointer selections (SP_ELx)",
        ],
    );
    // What the ledger does not name is there again.
    let pcs = |file: &str| text(&["dump", "--as", "pcs", "--attempted", file]);
    assert_eq!(pcs(&back), pcs(&testdata("example/example.astf")));
    // And check says what the ledger says is missing, nothing else.
    let output = run(&["check", &back]);
    assert_eq!(output.status.code(), Some(1));
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(found.lines().count(), 2, "{found}");
    assert!(found.contains("ASTF-4.5-sme-index-missing") && found.contains("ASTF-4.5.3.2-data-abort-ea"));
    let waived =
        ["--waive", "ASTF-4.5-sme-index-missing", "--waive", "ASTF-4.5.3.2-data-abort-ea", "check", &back];
    let arguments = [&waived[4..], &waived[..4]].concat();
    assert_eq!(run(&arguments).status.code(), Some(0));
}

#[test]
fn the_sample_program_goes_round_without_a_finding() {
    let folder = Folder::new("sort");
    let sort = testdata("sort.astf");
    assert_eq!(text(&["check", &sort]), "");
    let (stf, back) = (folder.file("y.stf"), folder.file("z.astf"));
    ledger(&["convert", &sort, &stf]);
    ledger(&["convert", &stf, &back, "--astf-level", "Basic"]);
    assert_eq!(text(&["check", &back]), "");
    for shape in ["pcs", "runs"] {
        let shown = |file: &str| text(&["dump", "--as", shape, file]);
        assert_eq!(shown(&back), shown(&sort));
    }
    let retired = text(&["dump", "--as", "pcs", &sort]).lines().count();
    let attempted = text(&["dump", "--as", "pcs", "--attempted", &sort]).lines().count();
    assert_eq!((retired, attempted), (353, 355), "two system calls");
}

#[test]
fn a_basic_plus_trace_becomes_basic() {
    let folder = Folder::new("basic");
    let basic = folder.file("basic.astf");
    let account = ledger(&["convert", &testdata("example/example.astf"), &basic, "--astf-level", "Basic"]);
    assert!(account.contains("dropped 2 instructions at other exception levels\n"), "{account}");
    assert!(text(&["info", &basic]).contains("level:             Basic\n"));
    assert_eq!(text(&["check", &basic]), "");
}

#[test]
fn damage_is_told_with_its_place() {
    let folder = Folder::new("damage");
    let mut bytes = std::fs::read(testdata("example/example.astf")).expect("the golden file");
    bytes.truncate(100);
    std::fs::write(folder.file("cut.astf"), &bytes).expect("written");
    let output = run(&["dump", "--raw", &folder.file("cut.astf")]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 3, "whole records before it");
    assert!(String::from_utf8_lossy(&output.stderr).contains("0x60"));
}

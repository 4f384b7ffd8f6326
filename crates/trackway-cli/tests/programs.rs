//! The right program: encodings are compared with it, other architectures are refused, contradictions are counted.

mod common;

use common::{Folder, repo, stdout, text, trackway};
use serde_json::Value as Json;

#[test]
fn a_wrong_program_is_said_to_be_wrong() {
    let trace = repo("testdata/stf/sort/trace.stf");
    let (right, wrong) = (repo("programs/riscv/sort.elf"), repo("programs/riscv/elf/rv64-mix.elf"));
    for command in [&["info"][..], &["dump", "--limit", "3"], &["stats"]] {
        let output = trackway(&[command, &[&trace, "--elf", &wrong]].concat());
        let said = text(&output.stderr);
        assert!(
            said.contains("this ELF does not match the trace: 100 % of encodings differ, first at 0x100e8"),
            "{said}"
        );
        let output = trackway(&[command, &[&trace, "--elf", &right]].concat());
        assert!(!text(&output.stderr).contains("match"), "{}", text(&output.stderr));
    }
    let info: Json = serde_json::from_str(&stdout(&["info", "--json", &trace, "--elf", &wrong])).unwrap();
    assert_eq!(info["program"]["matches"], false);
    assert_eq!(info["program"]["first_difference"], "0x100e8");
    let info: Json = serde_json::from_str(&stdout(&["info", "--json", &trace, "--elf", &right])).unwrap();
    assert_eq!((&info["program"]["matches"], &info["program"]["compared"]), (&true.into(), &32.into()));
    // A rule of check.
    let check = trackway(&["check", &trace, "--elf", &wrong]);
    assert_eq!(check.status.code(), Some(1));
    assert!(text(&check.stdout).contains("[program.encoding, --elf]"), "{}", text(&check.stdout));
    assert_eq!(
        trackway(&["check", &trace, "--elf", &wrong, "--waive", "program.encoding"]).status.code(),
        Some(0)
    );
    assert_eq!(trackway(&["check", &trace, "--elf", &right]).status.code(), Some(0));
}

/// A few patched instructions are not another program.
#[test]
fn a_patched_program_differs_and_does_not_mismatch() {
    let folder = Folder::new("patched");
    let mut elf = std::fs::read(repo("programs/riscv/sort.elf")).unwrap();
    // The first instruction, auipc a0: of a1.
    let at = elf.windows(4).position(|word| word == [0x17, 0x15, 0, 0]).expect("auipc");
    elf[at + 1] = 0x16;
    let path = folder.file("patched.elf");
    std::fs::write(&path, elf).unwrap();
    let output = trackway(&["info", &repo("testdata/stf/sort/trace.stf"), "--elf", &path]);
    let said = text(&output.stderr);
    assert!(
        said.contains("this ELF differs from the trace: 3 % of encodings differ, first at 0x100e8: 0x1517"),
        "{said}"
    );
}

#[test]
fn programs_of_other_architectures_are_refused() {
    let (riscv, arm) = (repo("testdata/stf/sort/trace.stf"), repo("testdata/astf/sort.astf"));
    let cases = [
        (&riscv, repo("programs/aarch64/sort.elf"), "the program is a64, the trace is rv64"),
        (&riscv, repo("programs/riscv/elf/rv32-mix.elf"), "the program is rv32, the trace is rv64"),
        (&arm, repo("programs/riscv/sort.elf"), "the program is rv64, the trace is a64"),
        (
            &repo("testdata/ete/count"),
            repo("programs/riscv/sort.elf"),
            "the program is rv64, the trace is a64",
        ),
    ];
    for (trace, elf, why) in &cases {
        for command in ["info", "dump", "stats", "check"] {
            let output = trackway(&[command, trace, "--elf", elf]);
            assert_eq!(output.status.code(), Some(2), "{command} {trace} {elf}");
            assert!(text(&output.stderr).contains(why), "{command}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn doubtful_runs_are_in_the_health_and_count_under_strict() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    let juno = corpus.join("ete/juno_r1_1").display().to_string();
    let doubtful = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("health: ")).expect("a health line");
        line.split(", ")
            .find_map(|part| part.strip_suffix(" doubtful runs"))
            .expect("doubtful runs")
            .to_string()
    };
    let info = doubtful(&stdout(&["info", &juno]));
    assert_ne!(info, "0");
    assert_eq!(doubtful(&stdout(&["stats", &juno])), info);
    assert_eq!(doubtful(&text(&trackway(&["dump", &juno]).stderr)), info);
    assert_eq!(trackway(&["stats", "--strict", &juno]).status.code(), Some(4));
}

/// Addresses had to be followed and none could be: unreadable. A trace without instructions is fine.
#[test]
fn nothing_that_could_be_followed_is_unreadable() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    let folder = corpus.join("etrace/gen-qsortmix-encap");
    let [trace, config] = ["trace.bin", "params.toml"].map(|name| folder.join(name).display().to_string());
    let wrong = repo("programs/riscv/elf/rv64-mix.elf");
    for command in [&["info"][..], &["stats"], &["dump", "--as", "pcs"], &["info", "--json"]] {
        let output = trackway(&[command, &[&trace, "--config", &config, "--elf", &wrong]].concat());
        assert_eq!(output.status.code(), Some(3), "{command:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("error: "), "{}", text(&output.stderr));
        if command.contains(&"--json") {
            let object: Json = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(object["complete"], false, "{object}");
        }
    }
    let event_test = corpus.join("ete/event_test").display().to_string();
    assert_eq!(trackway(&["info", &event_test]).status.code(), Some(0));
}

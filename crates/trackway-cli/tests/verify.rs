//! `trackway verify` from outside: the real core's trace with its documented machine, and a damaged one.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn trackway(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trackway")).args(args).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn repository(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

fn flute() -> Option<(PathBuf, PathBuf)> {
    let root =
        std::env::var_os("TRACKWAY_CORPUS").map_or_else(|| repository("../shared/corpus"), PathBuf::from);
    let folder = root.join("tandem/own");
    if !folder.is_dir() {
        eprintln!("SKIPPED: no {} (set TRACKWAY_CORPUS)", folder.display());
        return None;
    }
    Some((folder.join("own2.tv"), folder.join("own2.elf")))
}

#[test]
fn the_real_core_verifies_with_its_documented_machine() {
    let Some((trace, elf)) = flute() else { return };
    let config = repository("docs/examples/flute.toml");
    let args = ["verify", text(&trace), "--elf", text(&elf), "--config", text(&config)];
    let output = trackway(&args);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("verified: 92 instructions, 3 exceptions, 1 interrupts"), "{said}");
    assert!(said.contains(" 0 adopted, 0 gaps, 0 mismatches"), "{said}");
}

#[test]
fn a_damaged_trace_is_told_as_text_json_and_junit() {
    let Some((trace, elf)) = flute() else { return };
    let folder = std::env::temp_dir().join(format!("trackway-verify-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut bytes = std::fs::read(trace).unwrap();
    // The value that auipc gives to s0.
    bytes[0xb1] ^= 0x42;
    let (damaged, junit) = (folder.join("damaged.tv"), folder.join("junit.xml"));
    std::fs::write(&damaged, bytes).unwrap();
    let config = repository("docs/examples/flute.toml");
    let args = ["verify", text(&damaged), "--elf", text(&elf), "--config", text(&config)];
    let output = trackway(&[&args[..], &["--junit", text(&junit)]].concat());
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("mismatch 1: wrong value at group 7 (offset 0x9e), instruction 6, M-mode"),
        "{said}"
    );
    assert!(said.contains("expected 0xc0002006         actual 0xc0002044         differing 0x42"), "{said}");
    assert!(!said.contains("mismatch 2"), "{said}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"1\" failures=\"1\"") && xml.contains("type=\"wrong value\""), "{xml}");
    let output = trackway(&[&args[..], &["--json", "--coverage"]].concat());
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["passed"], false);
    assert_eq!(object["report"]["mismatches"][0]["group"], 7);
    assert_eq!(object["report"]["mismatches"][0]["elements"][0]["name"], "s0");
    assert_eq!(object["coverage"]["traps"]["interrupt 3 M>M"], 1);
    // The short trace fails by itself, without the program.
    let short = folder.join("short.tv");
    let output = trackway(&[&args[..], &["--minimise", text(&short)]].concat());
    assert_eq!(output.status.code(), Some(1));
    let output = trackway(&["verify", text(&short), "--json", "--config", text(&config)]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["report"]["mismatches"][0]["elements"][0]["expected"], 0xc000_2006u64, "{object}");
    assert_eq!(object["report"]["instructions"], 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What `record` writes verifies, as tandem and as STF.
#[test]
fn recorded_programs_verify() {
    let folder = std::env::temp_dir().join(format!("trackway-recorded-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["rv64-privileged", "rv32-sv32"] {
        let elf = repository(&format!("programs/riscv/elf/{name}.elf"));
        for end in ["tv", "zstf"] {
            let trace = folder.join(format!("{name}.{end}"));
            let recorded = trackway(&["record", text(&elf), "-o", text(&trace)]);
            assert_eq!(recorded.status.code(), Some(0), "{}", String::from_utf8_lossy(&recorded.stderr));
            let verified = trackway(&["verify", text(&trace), "--elf", text(&elf)]);
            let said = String::from_utf8_lossy(&verified.stdout);
            assert_eq!(verified.status.code(), Some(0), "{name}.{end}: {said}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn verifying_nothing_is_not_fine() {
    let folder = std::env::temp_dir().join(format!("trackway-nothing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let trace = folder.join("empty.tv");
    std::fs::write(&trace, [0x01, 0x0a, 0x02]).unwrap();
    let output = trackway(&["verify", text(&trace)]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_program_becomes_a_trace_that_loads_it() {
    let folder = common::Folder::new("tandem-load");
    let elf = repository("programs/riscv/elf/rv32-mix.elf");
    let out = folder.file("load.tv");
    let output = trackway(&["convert", text(&elf), &out]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let listing = trackway(&["dump", "--raw", &out, "--limit", "4"]);
    let listing = String::from_utf8_lossy(&listing.stdout);
    let words: Vec<&str> = listing.lines().take(4).collect();
    assert!(words[0].contains("begin group") && words[1].contains("state initialization"), "{listing}");
    assert!(
        words[2].contains("memory request") && words[2].contains("bytes at 0x0080000000 data"),
        "{listing}"
    );
    assert!(words[3].contains("end group"), "{listing}");
    // Other formats have no such traces; nothing is written.
    let astf = folder.file("load.astf");
    let output = trackway(&["convert", text(&elf), &astf]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("record it instead"));
    assert!(!Path::new(&astf).exists());
    // Nor is anything for a damaged program.
    let damaged = folder.file("damaged.elf");
    std::fs::write(&damaged, &std::fs::read(&elf).unwrap()[..60]).unwrap();
    let output = trackway(&["convert", &damaged, &folder.file("damaged.tv")]);
    assert_eq!(output.status.code(), Some(3));
    assert!(!Path::new(&folder.file("damaged.tv")).exists());
}

#[test]
fn a_listing_has_groups_addresses_and_what_is_odd() {
    let folder = common::Folder::new("tandem-listing");
    let (trace, config) = (folder.file("odd.tv"), folder.file("odd.toml"));
    // A reset, a group whose end is implied, `beq x0, x0, -4` behind it, and an end of no group.
    let mut bytes = vec![1, 10, 2, 1, 3, 0x11, 0x13, 0, 0, 0, 1, 0x07, 0x0a];
    bytes.extend_from_slice(&0x7000_0000u64.to_le_bytes());
    bytes.extend_from_slice(&[0x11, 0xe3, 0x0e, 0, 0xfe, 2, 2]);
    std::fs::write(&trace, bytes).unwrap();
    std::fs::write(&config, "[tandem]\nreset_pc = 0x7000_0000\n").unwrap();
    let output = trackway(&["dump", "--raw", &trace, "--config", &config]);
    let listing = String::from_utf8_lossy(&output.stdout);
    for line in [
        "begin group",
        "00000013 nop (at 0x70000000)",
        "2, ends the one before",
        "fe000ee3 beqz zero,0x70000000 (at 0x70000004)",
        "of no group",
    ] {
        assert!(listing.contains(line), "{line}\n{listing}");
    }
}

#[test]
fn skipped_bytes_are_counted() {
    let Some((trace, elf)) = flute() else { return };
    let folder = common::Folder::new("verify-skipped");
    let mut bytes = std::fs::read(trace).unwrap();
    // An opcode that does not exist, in the group at 0x9e.
    bytes[0xa9] = 0xee;
    let damaged = folder.file("damaged.tv");
    std::fs::write(&damaged, bytes).unwrap();
    let config = repository("docs/examples/flute.toml");
    let output = trackway(&["verify", &damaged, "--elf", text(&elf), "--config", text(&config)]);
    let said = String::from_utf8_lossy(&output.stdout);
    let health = said.lines().last().unwrap();
    assert!(health.contains(" 1 gaps, 28 bytes skipped"), "{said}");
}

//! ETE written as a user writes it: `convert` into a snapshot folder, `dump` of it, `convert` back, and OpenCSD's lister.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Folder, stdout, trackway};

const ASTF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/astf/sort.astf");
const ELF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/aarch64/sort.elf");

fn pcs(trace: &str) -> String {
    stdout(&["dump", "--as", "pcs", "--attempted", trace])
}

#[test]
fn a_trace_becomes_a_snapshot_and_comes_back() {
    let folder = Folder::new("ete-unit");
    let expected = pcs(ASTF);
    assert_eq!(expected.lines().count(), 355);
    let snapshot = folder.file("run.ete");
    stdout(&["convert", ASTF, &snapshot, "--elf", ELF]);
    for file in
        ["snapshot.ini", "trace.ini", "cpu_0.ini", "ete_0.ini", "trace_0.bin", "code_0.bin", "ete.toml"]
    {
        assert!(Path::new(&snapshot).join(file).is_file(), "{file}");
    }
    assert_eq!(pcs(&snapshot), expected);
    let text = stdout(&["dump", "--limit", "3", &snapshot]);
    assert!(text.contains("0x4000b0") || text.contains("4000b0"), "{text}");
    assert!(stdout(&["info", &snapshot]).contains("ETE 1.3"));
    assert!(!stdout(&["check", &snapshot]).contains("error"));
    // Back again: ASTF wants effective addresses, which a flow trace does not have.
    let back = folder.file("back.astf");
    stdout(&["convert", &snapshot, &back, "--allow-nonconforming"]);
    assert_eq!(pcs(&back), expected);
    // Registers are in the folder as TOML too: with them the bytes alone are decoded.
    let (raw, toml) = (format!("{snapshot}/trace_0.bin"), format!("{snapshot}/ete.toml"));
    let again = stdout(&["dump", "--as", "pcs", "--attempted", "--config", &toml, "--elf", ELF, &raw]);
    assert_eq!(again, expected);
}

#[test]
fn the_code_that_was_executed_stands_in_for_the_program() {
    let folder = Folder::new("ete-unit-code");
    let snapshot = folder.file("run.ete");
    stdout(&["convert", ASTF, &snapshot]);
    assert_eq!(pcs(&snapshot), pcs(ASTF));
}

#[test]
fn units_are_programmed_by_toml() {
    let folder = Folder::new("ete-unit-toml");
    let expected = pcs(ASTF);
    let with = |name: &str, toml: &str| {
        let config = folder.file("unit.toml");
        std::fs::write(&config, toml).expect("it can be written");
        let snapshot = folder.file(name);
        stdout(&["convert", ASTF, &snapshot, "--elf", ELF, "--config", &config]);
        snapshot
    };
    let speculating =
        with("spec.ete", "[ete.unit]\nmax_spec = 12\nmispredict = 200\nsource_addresses = 'sometimes'\n");
    assert_eq!(pcs(&speculating), expected);
    let withdrawn = stdout(&["dump", "--as", "events", "--show-withdrawn", &speculating]);
    assert!(withdrawn.contains("withdrawn=yes"), "{withdrawn}");
    let framed =
        with("frames.ete", "[ete]\nTRCCONFIGR = 0x18d1\n[ete.unit]\nformat = 'coresight'\nminor = 1\n");
    assert_eq!(pcs(&framed), expected);
    assert!(stdout(&["info", &framed]).contains("ETE 1.1"));
    // Only a part of the program.
    let part = with("part.ete", "[ete.unit]\npreset = 'include'\nfirst = 0x400120\nlast = 0x400177\n");
    let some = pcs(&part);
    assert!(some.lines().count() > 20 && some.lines().count() < 355, "{}", some.lines().count());
    assert!(some.lines().all(|pc| ("0000000000400120".."0000000000400178").contains(&pc)), "{some}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = Folder::new("ete-unit-errors");
    let config = folder.file("unit.toml");
    std::fs::write(&config, "[ete.unit]\npreset = 'nothing'\n").expect("it can be written");
    let snapshot = folder.file("run.ete");
    let output = trackway(&["convert", ASTF, &snapshot, "--config", &config]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("`everything`, `minimal`, `exclude`, `include`")
    );
    // Accesses are lost, which --strict refuses; then there is no snapshot.
    let output = trackway(&["convert", ASTF, &snapshot, "--strict"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(!Path::new(&snapshot).join("snapshot.ini").exists());
    // A file is in the way.
    let file = folder.file("file.ete");
    std::fs::write(&file, "x").expect("it can be written");
    assert!(!trackway(&["convert", ASTF, &file]).status.success());
}

#[test]
fn a_stream_goes_to_stdout() {
    let output = trackway(&["convert", ASTF, "-", "--into", "ete", "-q"]);
    assert!(output.status.success());
    assert_eq!(output.stdout[..13], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1]);
}

/// As a user would run it, where it is installed.
#[test]
fn the_lister_of_opencsd_reads_the_folder() {
    let folder = Folder::new("ete-unit-lister");
    let lister = |args: &[&str]| Command::new("trc_pkt_lister").args(args).current_dir(&folder.0).output();
    if lister(&["-help"]).is_err() {
        return trackway_testkit::skipped("trc_pkt_lister is not installed (Debian: libopencsd-bin)");
    }
    let snapshot = folder.file("run.ete");
    stdout(&["convert", ASTF, &snapshot, "--elf", ELF]);
    let output = lister(&["-ss_dir", &snapshot, "-decode_only", "-logstdout"]).expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let count = |element: &str| -> u64 {
        let (_, rest) = element.split_once("num_i(").expect("a count");
        rest.split(')').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let instructions: u64 = text.split("Idx:").filter(|element| element.contains("num_i(")).map(count).sum();
    assert_eq!(instructions, 355, "{text}");
}

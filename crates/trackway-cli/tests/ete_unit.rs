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

/// Encoded anew or cut, a snapshot keeps its whole program and not only the code that was executed.
#[test]
fn a_snapshot_that_is_encoded_again_keeps_its_program() {
    let folder = Folder::new("ete-unit-again");
    let config = folder.file("unit.toml");
    std::fs::write(&config, "[ete.unit]\nmax_spec = 12\nmispredict = 200\n").expect("it can be written");
    let [first, again, part] = ["first.ete", "again.ete", "part.ete"].map(|name| folder.file(name));
    stdout(&["convert", ASTF, &first, "--elf", ELF]);
    stdout(&["convert", &first, &again, "--config", &config]);
    stdout(&["slice", &first, &part, "--from", "0", "--to", "3"]);
    assert_eq!(pcs(&again), pcs(&first));
    assert_eq!(pcs(&part).lines().count(), 3);
    let code = |snapshot: &str| std::fs::read(format!("{snapshot}/code_0.bin")).expect("it has code");
    assert!(code(&first).len() >= 0x18f, "the whole segment");
    assert!(code(&again) == code(&first) && code(&part) == code(&first));
    let several = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/ete/count");
    // Its second source ends with a Discard: what is before it happened, however much the unit speculates.
    for (name, unit) in [("plain.ete", "max_spec = 0"), ("spec.ete", "max_spec = 12\nmispredict = 200")] {
        std::fs::write(&config, format!("[ete.unit]\n{unit}\n")).expect("it can be written");
        let ledger = stdout(&["convert", several, &folder.file(name), "--config", &config, "--json"]);
        assert!(!ledger.contains("\"dropped\": {\"instructions\""), "{ledger}");
        assert_eq!(pcs(&folder.file(name)), pcs(several));
    }
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
fn registers_are_those_of_the_output() {
    let folder = Folder::new("ete-unit-registers");
    let levels = ASTF.replace("sort.astf", "levels.astf");
    let config = folder.file("unit.toml");
    let convert = |input: &str, name: &str, toml: &str| {
        std::fs::write(&config, toml).expect("it can be written");
        let args = ["convert", input, &folder.file(name), "--config", &config, "--json"];
        trackway(&args)
    };
    let registers = |name: &str| {
        let path = Path::new(&folder.file(name)).join("ete_0.ini");
        std::fs::read_to_string(path).expect("there are registers")
    };
    let alone = "[ete]\nTRCCONFIGR = 0x801\n";
    for (n, input) in [ASTF, &levels].into_iter().enumerate() {
        let name = format!("{n}.ete");
        let output = convert(input, &name, alone);
        assert!(String::from_utf8_lossy(&output.stdout).contains("\"proved\":true"), "{output:?}");
        assert!(registers(&name).contains("TRCCONFIGR=0x801"));
        // The snapshot has registers, and these may be meant for reading or for writing.
        let snapshot = folder.file(&name);
        let refused = convert(&snapshot, "no.ete", "[ete]\nTRCCONFIGR = 0x1\n");
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("[ete.unit]"), "{refused:?}");
        let again = format!("{n}-again.ete");
        let output = convert(&snapshot, &again, "[ete]\nTRCCONFIGR = 0x1\n[ete.unit]\n");
        assert!(String::from_utf8_lossy(&output.stdout).contains("\"proved\":true"), "{output:?}");
        assert!(registers(&again).contains("TRCCONFIGR=0x1\n"), "{}", registers(&again));
        assert_eq!(pcs(&folder.file(&again)), pcs(&snapshot));
    }
}

/// A line of the ledger: `kept 3  instructions`.
fn count(ledger: &str, fate: &str, fact: &str) -> usize {
    let line = |line: &&str| line.starts_with(fate) && line.ends_with(&format!("  {fact}"));
    let found = ledger.lines().find(line).and_then(|line| line.split_whitespace().nth(1));
    found.map_or(0, |count| count.parse().expect("a number"))
}

/// Filters, overflows and Q elements lose instructions: the ledger has those that reading back finds, and says so only
/// after reading back.
#[test]
fn the_ledger_counts_what_is_found() {
    let folder = Folder::new("ete-unit-ledger");
    let (config, ledger, snapshot) = (folder.file("u.toml"), folder.file("ledger.txt"), folder.file("x.ete"));
    for (toml, kept) in [
        ("[ete.unit]\npreset = 'include'\nfirst = 0x4000b0\nlast = 0x4000bf\n", 3),
        ("[ete.unit]\nfifo_bytes = 32\ncycles_per_byte = 200\n", 355),
        ("[ete]\nTRCCONFIGR = 0x18d1\n[ete.unit]\nfifo_bytes = 32\ncycles_per_byte = 200\n", 64),
        ("[ete]\nTRCCONFIGR = 0x60c1\n[ete.unit]\nq = 500\n", 216),
    ] {
        std::fs::write(&config, toml).expect("it can be written");
        stdout(&["convert", ASTF, &snapshot, "--config", &config, "--ledger", &ledger]);
        let said = std::fs::read_to_string(&ledger).expect("the ledger");
        assert_eq!(count(&said, "kept", "instructions"), kept, "{toml}{said}");
        assert_eq!(count(&said, "dropped", "instructions"), 355 - kept, "{toml}{said}");
        assert_eq!(pcs(&snapshot).lines().count(), kept, "{toml}");
        std::fs::remove_dir_all(&snapshot).expect("it can be removed");
    }
}

/// All timestamps of the source are in the stream, and a halt that shows the last instructions is said to be made up.
#[test]
fn timestamps_are_kept_and_halts_are_listed() {
    let folder = Folder::new("ete-unit-times");
    let (ledger, snapshot) = (folder.file("ledger.txt"), folder.file("x.ete"));
    let levels = ASTF.replace("sort.astf", "levels.astf");
    stdout(&["convert", &levels, &snapshot, "--ledger", &ledger]);
    let said = std::fs::read_to_string(&ledger).expect("the ledger");
    assert_eq!(count(&said, "kept", "timestamps"), 14, "{said}");
    let found = stdout(&["dump", "--as", "events", &snapshot]);
    assert_eq!(found.matches("kind=timestamp").count(), 14, "{found}");
    let halted = folder.file("halted.ete");
    stdout(&["convert", ASTF, &halted, "--ledger", &ledger]);
    let said = std::fs::read_to_string(&ledger).expect("the ledger");
    assert_eq!(count(&said, "invented", "unsupported modes"), 1, "{said}");
}

const COUNT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/ete/count");

/// A snapshot becomes a snapshot: as it is, or through the trace unit.
#[test]
fn ete_to_ete_keeps_what_reading_needs() {
    let folder = Folder::new("ete-unit-copy");
    let events = |trace: &str| stdout(&["dump", "--as", "events", trace]);
    let copy = folder.file("copy.ete");
    stdout(&["convert", COUNT, &copy]);
    assert_eq!(events(&copy), events(COUNT));
    let one = folder.file("one.ete");
    stdout(&["convert", COUNT, &one, "--source", "ETE_1"]);
    assert_eq!(events(&one), stdout(&["dump", "--as", "events", "--source", "ETE_1", COUNT]));
    let config = folder.file("u.toml");
    std::fs::write(&config, "[ete.unit]\nformat = 'coresight'\n").expect("it can be written");
    let again = folder.file("again.ete");
    stdout(&["convert", COUNT, &again, "--config", &config]);
    assert_eq!(pcs(&again), pcs(COUNT));
    assert!(stdout(&["info", &again]).contains("CoreSight") || Path::new(&again).join("trace.bin").is_file());
}

#[test]
fn snapshots_of_the_corpus_through_the_trace_unit() {
    let Some(corpus) = trackway_testkit::corpus_part("ete") else { return };
    let folder = Folder::new("ete-unit-corpus");
    let config = folder.file("u.toml");
    std::fs::write(&config, "[ete]\nTRCCONFIGR = 0x18d1\n[ete.unit]\nmax_spec = 9\n")
        .expect("it can be written");
    for name in ["002-ack_test_scr", "rme_test", "tme_simple", "trace_file_cid_vmid", "feat_cmpbr"] {
        let snapshot = corpus.join(name).display().to_string();
        for with in [&[][..], &["--config", config.as_str()]] {
            let out = folder.file("x.ete");
            stdout(&[&["convert", snapshot.as_str(), &out][..], with].concat());
            assert_eq!(pcs(&out), pcs(&snapshot), "{name} {with:?}");
            std::fs::remove_dir_all(&out).expect("it can be removed");
        }
    }
}

/// Exceptions where a branch went, at the start, and of each kind.
#[test]
fn exceptions_of_the_corpus_keep_their_place() {
    let Some(corpus) = trackway_testkit::corpus_part("astf") else { return };
    let folder = Folder::new("ete-unit-traps");
    for (name, trap) in [
        ("iabort-after-ret", "kind=exception cause=0xb from=0x400100 to=0xffff800000080400"),
        ("irq-after-eret", "kind=interrupt cause=0xe from=0x400000 to=0xffff800000080480"),
        ("fiq", "kind=interrupt cause=0xf from=0x400004 to=0xffff800000080500"),
        ("bti-nop", "kind=exception cause=0x3 from=0x400000 to=0xffff800000080400"),
    ] {
        let out = folder.file(&format!("{name}.ete"));
        stdout(&["convert", &corpus.join(format!("{name}.astf")).display().to_string(), &out]);
        let events = stdout(&["dump", "--as", "events", &out]);
        assert!(events.contains(trap), "{name}: {trap} in\n{events}");
    }
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

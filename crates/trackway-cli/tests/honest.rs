//! The ledger of `convert` against what the output holds, by the commands of a user.

mod common;

use common::{Folder, piped, repo, stdout, text, trackway};
use serde_json::Value;

/// Converts with `--json` and reads the ledger.
fn convert(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[&["convert", "--json"], args].concat())).expect("JSON")
}

/// A count of the ledger.
fn count(ledger: &Value, fate: &str, what: &str) -> u64 {
    let entries = ledger["ledger"].as_array().expect("a list");
    let found = entries.iter().find(|entry| entry["fate"] == fate && entry["what"] == what);
    found.map_or(0, |entry| entry["count"].as_u64().expect("a number"))
}

/// Lines of `--as events` of one kind.
fn events(args: &[&str], kind: &str) -> usize {
    let shown = stdout(&[&["dump", "--as", "events"], args].concat());
    shown.lines().filter(|line| line.split(' ').nth(1) == Some(kind)).count()
}

fn instructions(args: &[&str]) -> u64 {
    stdout(&[&["dump", "--as", "pcs", "--attempted"], args].concat()).lines().count() as u64
}

#[test]
fn filtered_instructions_are_not_kept() {
    let folder = Folder::new("honest-filter");
    let (config, out) = (folder.file("filter.toml"), folder.file("sort.etrace"));
    let filter = "[etrace]\nifilters = [0]\n[[etrace.comparator]]\np_input = \"iaddr\"\np_function = \">=\"\np_match = 0x10116\n\
                  s_input = \"iaddr\"\ns_function = \"<\"\ns_match = 0x10120\nmatch_mode = \"p && s\"\n[[etrace.filter]]\ncomp1 = 0\n";
    std::fs::write(&config, filter).unwrap();
    let elf = repo("programs/riscv/sort.elf");
    let ledger = convert(&[&repo("testdata/stf/sort/trace.stf"), &out, "--config", &config, "--elf", &elf]);
    assert_eq!(instructions(&[&out]), 84);
    assert_eq!(
        (count(&ledger, "kept", "instructions"), count(&ledger, "dropped", "instructions")),
        (84, 297 - 84)
    );
    assert_eq!(ledger["proved"], true);
}

#[test]
fn instructions_lost_to_a_full_buffer_are_not_kept() {
    let folder = Folder::new("honest-buffer");
    let (config, run, out) = (folder.file("buffer.toml"), folder.file("mix.stf"), folder.file("mix.etrace"));
    std::fs::write(&config, "[etrace.encoder]\nbuffer = 64\ndrain = 16\n").unwrap();
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    stdout(&["record", &elf, "-o", &run, "-q"]);
    let ledger = convert(&[&run, &out, "--config", &config, "--elf", &elf]);
    let kept = count(&ledger, "kept", "instructions");
    assert_eq!(instructions(&[&out]), kept);
    assert_eq!(kept + count(&ledger, "dropped", "instructions"), 156_314);
    assert!((20_000..40_000).contains(&kept), "{kept}");
    assert_eq!(ledger["proved"], true);
}

#[test]
fn the_trace_unit_counts_what_it_emits() {
    let folder = Folder::new("honest-unit");
    let (config, out) = (folder.file("unit.toml"), folder.file("sort.ete"));
    for (unit, holds) in [
        ("[ete.unit]\npreset = \"include\"\nfirst = 0x4000b0\nlast = 0x4000bf\n", Some(3)),
        ("[ete.unit]\nfifo_bytes = 32\ncycles_per_byte = 200\n", None),
        ("[ete]\nTRCCONFIGR = 0x60c1\n[ete.unit]\nq = 500\n", None),
        ("", Some(355)),
    ] {
        std::fs::write(&config, unit).unwrap();
        let mut args = vec![repo("testdata/astf/sort.astf"), out.clone()];
        if !unit.is_empty() {
            args.extend(["--config".into(), config.clone()]);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ledger = convert(&args);
        let kept = count(&ledger, "kept", "instructions");
        assert_eq!(instructions(&[&out]), kept, "{unit}");
        assert_eq!(kept + count(&ledger, "dropped", "instructions"), 355, "{unit}");
        assert!(holds.is_none_or(|holds| holds == kept) && kept < 356, "{unit}: {kept}");
        assert_eq!(ledger["proved"], true, "{unit}");
        // Times and contexts too: what the stream has.
        let times = count(&ledger, "kept", "timestamps") + count(&ledger, "invented", "timestamps");
        let shown = stdout(&["dump", "--as", "events", &out]);
        let found = shown.lines().filter(|line| line.contains(" time kind=timestamp")).count();
        assert_eq!(times, found as u64, "{unit}");
        std::fs::remove_dir_all(&out).or_else(|_| std::fs::remove_file(&out)).unwrap();
    }
}

#[test]
fn the_same_losses_are_listed_in_every_target() {
    let folder = Folder::new("honest-words");
    let mut lists = Vec::new();
    for end in ["etrace", "tv"] {
        let out = folder.file(&format!("sort.{end}"));
        let ledger = convert(&[&repo("testdata/stf/sort/trace.stf"), &out]);
        assert_eq!(ledger["proved"], true);
        let facts: std::collections::BTreeSet<String> = ledger["ledger"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["fate"] != "invented")
            .map(|entry| entry["what"].as_str().unwrap().to_string())
            .collect();
        assert_eq!(count(&ledger, "dropped", "comments"), 1);
        assert_eq!(count(&ledger, "dropped", "producers"), 1);
        lists.push(facts);
        let strict = trackway(&[
            "convert",
            &repo("testdata/stf/sort/trace.stf"),
            &folder.file(&format!("no.{end}")),
            "--strict",
        ]);
        assert_eq!(strict.status.code(), Some(4));
        assert!(!folder.0.join(format!("no.{end}")).exists());
    }
    assert_eq!(lists[0], lists[1], "the facts of the input do not depend on the target");
}

#[test]
fn a_proof_needs_an_output_and_an_input_that_can_be_read_again() {
    let trace = repo("testdata/stf/sort/trace.stf");
    let refused = trackway(&["convert", &trace, "-", "--into", "tandem", "--prove"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    let folder = Folder::new("honest-stdin");
    let out = folder.file("sort.tv");
    let bytes = std::fs::read(&trace).unwrap();
    let refused = piped(&["convert", "-", &out, "--prove"], &bytes);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    let fine = piped(&["convert", "-", &out, "--json"], &bytes);
    assert_eq!(fine.status.code(), Some(0), "{}", text(&fine.stderr));
    let ledger: Value = serde_json::from_slice(&fine.stdout).unwrap();
    assert_eq!(ledger["proved"], Value::Null);
    let ledger = convert(&[&trace, &folder.file("other.tv"), "--no-prove"]);
    assert_eq!(ledger["proved"], Value::Null);
}

#[test]
fn words_are_explained() {
    let folder = Folder::new("honest-verbose");
    let shown = trackway(&["convert", "-v", &repo("testdata/stf/sort/trace.stf"), &folder.file("sort.tv")]);
    let shown = text(&shown.stderr);
    assert!(shown.contains("kept: is in the output as it was in the input"), "{shown}");
    assert!(shown.contains("register reads: source registers with their values"), "{shown}");
}

#[test]
fn gaps_survive_a_conversion() {
    let folder = Folder::new("honest-gaps");
    let (config, run, lossy) = (folder.file("b.toml"), folder.file("mix.stf"), folder.file("mix.etrace"));
    std::fs::write(&config, "[etrace.encoder]\nbuffer = 64\ndrain = 16\n").unwrap();
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    stdout(&["record", &elf, "-o", &run, "-q", "--limit", "20000"]);
    convert(&[&run, &lossy, "--config", &config, "--elf", &elf]);
    let gaps = events(&[&lossy], "gap");
    assert!(gaps > 0);
    let out = folder.file("gaps.stf");
    let ledger = convert(&[&lossy, &out]);
    assert_eq!(events(&[&out], "gap"), gaps);
    assert_eq!(count(&ledger, "kept", "gaps"), gaps as u64);
    assert_eq!(ledger["proved"], true);
    // Tandem has no way to show them, and says so.
    let ledger = convert(&[&lossy, &folder.file("gaps.tv")]);
    assert_eq!(count(&ledger, "dropped", "gaps"), gaps as u64);
}

#[test]
fn a_conversion_that_cannot_be_is_a_wrong_command() {
    let folder = Folder::new("honest-cannot");
    for (from, to) in [("testdata/stf/sort/trace.stf", "x.astf"), ("testdata/astf/sort.astf", "x.tv")] {
        let refused = trackway(&["convert", &repo(from), &folder.file(to)]);
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
        assert!(!folder.0.join(to).exists());
    }
}

#[test]
fn a_check_that_shows_no_finding_still_counts_them() {
    let trace = repo("testdata/stf/everything/trace.stf");
    let all = trackway(&["check", &trace]);
    let none = trackway(&["check", &trace, "--limit", "0"]);
    assert_eq!(all.status.code(), Some(1));
    assert_eq!(all.status.code(), none.status.code());
    let last = |output: &std::process::Output| text(&output.stderr).lines().last().map(str::to_string);
    assert_eq!(last(&all), last(&none));
}

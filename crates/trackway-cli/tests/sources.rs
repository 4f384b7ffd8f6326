//! Several sources stay apart, and each is named.

mod common;

use common::{Folder, repo, stdout, text, trackway};
use serde_json::Value as Json;

fn count() -> String {
    repo("testdata/ete/count")
}

/// Stretches of a shape by source.
fn stretches(text: &str) -> Vec<(String, Vec<String>)> {
    let mut out: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("# source ") {
            Some(name) => out.push((name.to_string(), Vec::new())),
            None => out.last_mut().expect("a heading comes first").1.push(line.to_string()),
        }
    }
    out
}

#[test]
fn every_shape_has_headings() {
    for shape in ["text", "pcs", "runs", "events"] {
        let all = stretches(&stdout(&["dump", "--as", shape, &count()]));
        let names: Vec<&str> = all.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["ETE_0", "ETE_1"], "{shape}");
        for (name, lines) in all {
            // Alone it is the same, without a heading.
            let one = stdout(&["dump", "--as", shape, "--source", &name, &count()]);
            assert_eq!(one.lines().collect::<Vec<_>>(), lines, "{shape} of {name}");
        }
    }
    let lines = stdout(&["dump", "--jsonl", &count()]);
    let mut numbers = [0, 0];
    for line in lines.lines() {
        let object: Json = serde_json::from_str(line).unwrap();
        let n = ["ETE_0", "ETE_1"].iter().position(|name| object["source"] == *name).expect("a source");
        if object["event"] == "step" {
            assert_eq!(object["number"], numbers[n], "numbers count per source");
            numbers[n] += 1;
        }
    }
    assert_eq!(numbers, [17, 9]);
}

#[test]
fn reports_name_the_sources() {
    let info: Json = serde_json::from_str(&stdout(&["info", "--json", &count()])).unwrap();
    let wanted = serde_json::json!([
        { "name": "ETE_0", "instructions": 17 },
        { "name": "ETE_1", "instructions": 9 },
    ]);
    assert_eq!(info["sources"], wanted);
    let stats: Json = serde_json::from_str(&stdout(&["stats", "--json", &count()])).unwrap();
    assert_eq!(stats["sources"], wanted);
    let one: Json =
        serde_json::from_str(&stdout(&["stats", "--json", "--source", "ETE_1", &count()])).unwrap();
    assert_eq!(one["instructions"]["total"], 9);
    if let Some(corpus) = trackway_testkit::corpus() {
        let juno = corpus.join("ete/juno_r1_1").display().to_string();
        let check = trackway(&["check", "--jsonl", &juno]);
        let sources: std::collections::BTreeSet<String> = text(&check.stdout)
            .lines()
            .map(|line| serde_json::from_str::<Json>(line).unwrap()["source"].as_str().unwrap().to_string())
            .collect();
        assert!(sources.len() > 1 && sources.contains("ETM_0"), "{sources:?}");
    }
}

/// Packets of two E-Trace sources: `check`, `dump --raw` and `convert` keep them apart.
#[test]
fn etrace_sources_stay_apart() {
    let folder = Folder::new("etrace-sources");
    let elf = repo("programs/riscv/sort.elf");
    let mut bytes = Vec::new();
    for id in [5, 6] {
        let config = folder.file(&format!("{id}.toml"));
        let toml = format!(
            "[etrace]\nframing = 'encap'\nsrcid_width = 4\ntype_width = 2\niaddress_width = 64\n[etrace.encoder]\nsource = {id}\n"
        );
        std::fs::write(&config, toml).expect("it can be written");
        let out = folder.file(&format!("{id}.etrace"));
        stdout(&["convert", "--config", &config, "--elf", &elf, &repo("testdata/stf/sort/trace.stf"), &out]);
        bytes.extend(std::fs::read(&out).expect("it was written"));
    }
    // The second source lacks its support packet and the first synchronisation.
    let both = folder.file("both.bin");
    bytes.extend([0x03, 0x06 | 2 << 4, 0x05, 0x00]);
    std::fs::write(&both, bytes).expect("it can be written");
    let args = |command: &'static [&'static str], more: &[&'static str]| {
        let config = folder.file("5.toml");
        let all = [command, more].concat().into_iter().map(str::to_string);
        all.chain([
            "--format".into(),
            "etrace".into(),
            "--config".into(),
            config,
            "--elf".into(),
            elf.clone(),
            both.clone(),
        ])
        .collect::<Vec<String>>()
    };
    let run = |args: &[String]| trackway(&args.iter().map(|arg| &**arg).collect::<Vec<_>>());
    let check = text(&run(&args(&["check"], &[])).stdout);
    let lines = check.lines().filter(|line| line.starts_with("source 6: ")).count();
    assert!(lines > 0 && !check.contains("source 5: "), "{check}");
    let raw = text(&run(&args(&["dump", "--raw"], &["--source", "5"])).stdout);
    assert!(raw.lines().count() > 3 && raw.lines().all(|line| line.contains("src=5 ")), "{raw}");
    let refused = run(&args(&["dump"], &["--source", "7"]));
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("there are 5, 6"), "{}", text(&refused.stderr));
    let info = text(&run(&args(&["info"], &[])).stdout);
    assert!(info.contains("source 5") && info.contains("source 6"), "{info}");
}

#[test]
fn unknown_sources_are_refused_with_the_list() {
    for args in [&["info"][..], &["dump"], &["dump", "--raw"], &["stats"], &["check"], &["convert"]] {
        let out = std::env::temp_dir().join("trackway-never-written.stf").display().to_string();
        let trace = count();
        let mut args = [args, &[&trace, "--source", "ETE_7"]].concat();
        if args[0] == "convert" {
            args.push(&out);
        }
        let output = trackway(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = text(&output.stderr);
        assert!(error.contains("--source ETE_7: there are ETE_0, ETE_1"), "{args:?}: {error}");
    }
}

/// Two harts in one STF trace, by the library's reading of PROCESS_ID_EXT.
#[test]
fn harts_of_one_trace() {
    let folder = Folder::new("harts");
    let mut bytes = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    bytes.truncate(0x76);
    assert_eq!(bytes.last(), Some(&19), "END_HEADER");
    let ids = |hart: u8| [8, hart, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
    let opcodes = [241, 0x05, 0x25].repeat(3);
    for (hart, opcodes) in [(0, &opcodes[..]), (1, &opcodes[..6]), (0, &opcodes[..3])] {
        bytes.extend(ids(hart));
        bytes.extend(opcodes);
    }
    let trace = folder.file("harts.stf");
    std::fs::write(&trace, &bytes).unwrap();
    let all = stretches(&stdout(&["dump", "--as", "pcs", &trace]));
    assert_eq!(
        all.iter().map(|(name, pcs)| (&**name, pcs.len())).collect::<Vec<_>>(),
        [("hart0", 4), ("hart1", 2)]
    );
    let one = stdout(&["dump", "--as", "pcs", "--source", "hart1", &trace]);
    assert_eq!(one.lines().collect::<Vec<_>>(), all[1].1);
    let info = stdout(&["info", "--source", "hart1", &trace]);
    assert!(
        info.contains(" --source hart1 --limit 20\n") && info.contains(&format!("check {trace}\n")),
        "{info}"
    );
    // Records and findings are of the whole file.
    let check = trackway(&["check", &trace]);
    assert!(text(&check.stderr).starts_with("19 items checked"), "{}", text(&check.stderr));
    for args in [&["dump", "--raw"][..], &["check"]] {
        let output = trackway(&[args, &[&trace, "--source", "hart1"]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains("not divided by source"), "{}", text(&output.stderr));
    }
}

#[test]
fn positions_need_one_source() {
    for option in ["--skip", "--from", "--to"] {
        let output = trackway(&["dump", &count(), option, "3"]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(text(&output.stderr).contains("choose one with --source (ETE_0, ETE_1)"));
        stdout(&["dump", &count(), option, "3", "--source", "ETE_0"]);
    }
}

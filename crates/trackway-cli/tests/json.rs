//! The JSON of every command: the keys are those of `docs/json.md`, and values are what it says.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Folder, piped, repo, stdout, text, trackway};
use serde_json::Value as Json;

/// The documented keys of each kind.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = std::fs::read_to_string(repo("docs/json.md")).expect("the page");
    let quoted = |line: &str| line.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>();
    let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut current = Vec::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            current = if heading == "All kinds" { vec!["*".to_string()] } else { quoted(heading) };
            kinds.extend(current.iter().map(|kind| (kind.clone(), BTreeSet::new())));
        } else if let Some(row) = line.strip_prefix("| `") {
            let keys = quoted(&format!("`{}", row.split(" | ").next().unwrap()));
            for kind in &current {
                kinds.get_mut(kind).expect("a kind").extend(keys.iter().cloned());
            }
        }
    }
    kinds
}

/// All paths of an object that lead to a value.
fn paths(value: &Json, at: &str, out: &mut BTreeSet<String>) {
    match value {
        Json::Object(fields) => {
            for (key, value) in fields {
                assert!(
                    key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
                    "{key:?} in {at}"
                );
                paths(value, &if at.is_empty() { key.clone() } else { format!("{at}.{key}") }, out);
            }
        }
        Json::Array(values) if values.iter().any(Json::is_object) => {
            values.iter().for_each(|value| paths(value, &format!("{at}[]"), out));
        }
        _ => drop(out.insert(at.to_string())),
    }
}

/// Checks one object; returns its kind.
fn check(line: &str, args: &[&str]) -> String {
    let object: Json = serde_json::from_str(line).unwrap_or_else(|error| panic!("{args:?}: {error}: {line}"));
    let kind = object["trackway"]["kind"].as_str().expect("a kind").to_string();
    assert_eq!(object["trackway"]["schema"], 2);
    let kinds = documented();
    let known = |path: &String| {
        [&*kind, "*"].iter().filter_map(|kind| kinds.get(*kind)).any(|keys| {
            keys.iter().any(|key| {
                // A list may be empty.
                let is_list = key.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with("[]"));
                is_list || key == path || key.strip_suffix('*').is_some_and(|start| path.starts_with(start))
            })
        })
    };
    assert!(kinds.contains_key(&kind), "{kind} is not documented");
    let mut found = BTreeSet::new();
    paths(&object, "", &mut found);
    for path in &found {
        assert!(known(path), "{args:?}: {kind} has {path}, which docs/json.md has not");
    }
    // Numbers are exact in every reader of JSON.
    let mut rest = vec![&object];
    while let Some(value) = rest.pop() {
        match value {
            Json::Object(fields) => rest.extend(fields.values()),
            Json::Array(values) => rest.extend(values),
            Json::Number(number) => {
                assert!(number.as_u64().is_some_and(|n| n < 1 << 53), "{number} in {line}")
            }
            _ => {}
        }
    }
    kind
}

#[test]
fn every_command_prints_what_is_documented() {
    let folder = Folder::new("json");
    let (stf, everything) = (repo("testdata/stf/sort/trace.stf"), repo("testdata/stf/everything/trace.stf"));
    let (astf, ete) = (repo("testdata/astf/example/example.astf"), repo("testdata/ete/count"));
    let elf = repo("programs/riscv/sort.elf");
    let tandem = folder.file("sort.tv");
    trackway(&["record", &elf, "-o", &tandem, "-q"]);
    let etrace = repo("testdata/etrace/v2-every-mode/input");
    let config = repo("testdata/etrace/v2-every-mode/config.toml");
    let (damaged, wrong) = (folder.file("damaged.toml"), folder.file("wrong"));
    let text_of = std::fs::read_to_string(&config).unwrap();
    let text_of =
        text_of.replace("path = \"", &format!("path = \"{}/", repo("testdata/etrace/v2-every-mode")));
    std::fs::write(&damaged, text_of.replace("iaddress_lsb = 1", "iaddress_lsb = 0")).unwrap();
    std::fs::write(&wrong, [1, 2, 0xff, 3, 0x80]).unwrap();
    let (out, csv) = (folder.file("out.stf"), folder.file("out.csv"));
    let mix = folder.file("mix.stf");
    trackway(&["record", &repo("programs/riscv/elf/rv64-mix.elf"), "-o", &mix, "-q", "--to", "40000"]);
    let (sliced, parts, item) = (folder.file("sliced.stf"), folder.file("parts"), folder.file("item.json"));
    let [first, second] = [1, 2].map(|n| folder.file(&format!("parts/trace.part-{n}.stf")));
    std::fs::write(&item, trackway(&["split", &stf, "--plan", "--parts", "1"]).stdout).unwrap();
    let mut kinds = BTreeSet::new();
    let traces: [&[&str]; 6] = [
        &[&stf, "--elf", &elf],
        &[&everything],
        &[&astf],
        &[&ete],
        &[&tandem],
        &[&etrace, "--config", &config],
    ];
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["check", "--rules", "stf", "--json"],
        vec!["check", "--json", "/none"],
        vec!["dump", "--jsonl", "/none"],
        vec!["verify", "--json", &tandem, "--elf", &elf, "--coverage"],
        vec!["verify", "--json", &stf, "--elf", &elf],
        vec!["convert", &stf, &out, "--json", "-q"],
        vec!["slice", &stf, &sliced, "--from", "10", "--json", "-q"],
        vec!["split", &stf, &parts, "--parts", "2", "--json"],
        vec!["merge", &out, &first, &second, "--json", "-q"],
        vec!["split", &stf, "--plan", "--parts", "1"],
        vec!["stats", "--item", &item],
        vec!["record", &elf, "-o", &out, "--json", "-q"],
        vec!["index", &mix, "--json"],
        vec!["index", &mix, "--show", "--json"],
        vec!["index", &mix, "--remove", "--json"],
        vec!["diff", &stf, &tandem, "--json", "--elf", &elf],
        vec!["diff", &stf, &everything, "--json"],
        vec!["diff", &ete, &ete, "--json"],
        vec!["export", &stf, &csv, "--json", "-q"],
        vec!["export", &stf, &csv, "--as", "champsim", "--json", "-q"],
        vec!["export", &stf, "-", "--as", "jsonl", "--tables", "contexts", "-q"],
        vec!["doctor", &stf, "--json"],
        vec!["doctor", &elf, "--json"],
        vec!["doctor", &wrong, "--json"],
        vec!["doctor", &etrace, "--config", &damaged, "--budget", "300", "--json"],
        vec!["image", &elf, "--json"],
        vec!["image", &elf, "--jsonl"],
    ];
    for at in [
        &["state", "--json", "--at", "200", "--mem", "0x11140:64", &stf, "--elf", &elf][..],
        &["state", "--json", "--at", "end", "--mem", "0x1000", &tandem, "--elf", &elf],
        &["state", "--json", "--at", "9", "--reg", "x1", &ete, "--source", "ETE_0"],
        &["state", "--json", "--at", "9", &etrace, "--config", &config],
        &["why", "--json", "--at", "200", "--reg", "t3", "--depth", "9", &stf, "--elf", &elf],
        &["why", "--json", "--at", "200", "--mem", "0x11140:64", &stf],
        &["why", "--json", "--at", "9", "--reg", "x1", &ete, "--source", "ETE_0"],
    ] {
        commands.push(at.to_vec());
    }
    for what in ["--disasm", "--blocks", "--symbols"] {
        commands.extend([vec!["image", &elf, what, "--json"], vec!["image", &elf, what, "--jsonl"]]);
    }
    for trace in traces {
        for command in [
            &["info", "--json"][..],
            &["stats", "--json"],
            &["stats", "--json", "--every", "3"],
            &["stats", "--json", "--by", "function,line,context,source"],
            &["stats", "--json", "--with", "all"],
            &["calls", "--json"],
            &["calls", "--json", "--bottom-up"],
            &["simpoint", "--json", "--interval", "20"],
            &["check", "--json"],
            &["check", "--jsonl"],
            &["dump", "--jsonl", "--limit", "400"],
            &["dump", "--jsonl", "--as", "events", "--limit", "400"],
            &["dump", "--jsonl", "--as", "pcs", "--limit", "9"],
            &["dump", "--jsonl", "--as", "runs", "--limit", "9"],
            &["dump", "--jsonl", "--raw", "--limit", "9"],
            &["find", "--jsonl", "--class", "load,store,branch", "--limit", "9"],
            &["find", "--json", "--class", "load,store,branch", "--limit", "9"],
        ] {
            commands.push([command, trace].concat());
        }
    }
    for args in &commands {
        let output = trackway(args);
        let lines = text(&output.stdout);
        assert!(!lines.is_empty() || args.contains(&"--jsonl"), "{args:?}: {}", text(&output.stderr));
        assert!(args.contains(&"--jsonl") || lines.lines().count() == 1, "{args:?}: one object");
        kinds.extend(lines.lines().map(|line| check(line, args)));
    }
    let documented: BTreeSet<String> = documented().into_keys().filter(|kind| kind != "*").collect();
    assert_eq!(kinds, documented, "all kinds were seen");
}

/// Registers and memory are objects; class, mnemonic, symbol and line are there when they are known.
#[test]
fn a_step_has_its_accesses_and_its_place() {
    let (trace, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let lines = stdout(&["dump", "--jsonl", "--elf", &elf, "--from", "1", "--limit", "1", &trace]);
    let step: Json = serde_json::from_str(&lines).unwrap();
    assert_eq!(step["pc"], "0x100ec");
    assert_eq!((&step["mnemonic"], &step["class"]), (&"ld".into(), &"load".into()));
    assert_eq!(step["symbol"], "_start+0x4");
    assert_eq!(
        step["memory"],
        serde_json::json!([{ "kind": "read", "address": "0x111a0", "size": 8, "data": "0x11148" }])
    );
    let registers = step["registers"].as_array().unwrap();
    assert!(
        registers.contains(&serde_json::json!({ "reg": "x10", "role": "destination", "value": "0x11148" }))
    );
    let pcs = stdout(&["dump", "--jsonl", "--as", "pcs", "--limit", "1", &trace]);
    assert_eq!(serde_json::from_str::<Json>(&pcs).unwrap()["pc"], "0x100e8");
    let runs = stdout(&["dump", "--jsonl", "--as", "runs", "--limit", "1", &trace]);
    let run: Json = serde_json::from_str(&runs).unwrap();
    assert_eq!((&run["start"], &run["count"], &run["exit"]), (&"0x100e8".into(), &4.into(), &"call".into()));
}

/// Damage is in the JSON of every command.
#[test]
fn errors_are_in_the_json_of_every_command() {
    let folder = Folder::new("json-errors");
    let bytes = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    let cut = folder.file("cut.stf");
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    for args in [
        &["info", "--json", &cut][..],
        &["stats", "--json", &cut],
        &["check", "--json", &cut],
        &["dump", "--jsonl", &cut],
        &["dump", "--raw", "--jsonl", &cut],
        &["dump", "--as", "pcs", "--jsonl", &cut],
        &["verify", "--json", &cut],
        &["diff", "--json", &cut, &cut],
        &["export", "--json", &cut, &folder.file("cut.csv")],
    ] {
        let output = trackway(args);
        assert_eq!(output.status.code(), Some(3), "{args:?}: {}", text(&output.stderr));
        let last: Json = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
        assert_eq!(last["complete"], false, "{args:?}: {last}");
        let error = &last["errors"][0];
        assert!(error["offset"].as_u64().is_some_and(|offset| offset > 0x50), "{args:?}: {last}");
        assert!(error["message"].as_str().unwrap().contains("truncated"), "{args:?}: {last}");
        assert!(error["item"].is_string() && error["hint"].is_string(), "{args:?}: {last}");
    }
    for args in [&["info", "--json", "-"][..], &["stats", "--json", "-"], &["dump", "--jsonl", "-"]] {
        let output = piped(args, b"no trace at all");
        assert_eq!(output.status.code(), Some(3));
        let object: Json = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["complete"], false, "{args:?}");
        assert!(object["errors"][0]["message"].as_str().unwrap().contains("not a trace"), "{object}");
    }
}

/// A fact that a format does not hold is unknown, not 0.
#[test]
fn absent_is_not_zero() {
    let trace = repo("testdata/ete/count");
    let stats: Json = serde_json::from_str(&stdout(&["stats", "--json", &trace])).unwrap();
    assert_eq!((&stats["memory"], &stats["registers"]), (&Json::Null, &Json::Null));
    assert!(stdout(&["stats", &trace]).contains("memory: not in this trace\n"));
    let info: Json = serde_json::from_str(&stdout(&["info", "--json", &trace])).unwrap();
    assert_eq!(info["memory_accesses"], Json::Null);
    assert!(stdout(&["info", &trace]).contains("memory accesses:   not in this trace\n"));
}

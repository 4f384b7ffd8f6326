//! `calls`, `flame`, `profile` and `cover` on a recorded program with debug information.

mod common;

use std::collections::BTreeMap;

use common::{Folder, recorded, replace_text, repo, stdout, text, trackway};
use serde_json::Value as Json;

fn json(args: &[&str]) -> Json {
    serde_json::from_str(&stdout(args)).unwrap()
}

#[test]
fn the_tree_adds_up() {
    let folder = Folder::new("analyse-calls");
    let (trace, elf) = recorded(&folder);
    let calls = json(&["calls", "--json", "--least", "0", "--depth", "99", &trace, "--elf", &elf]);
    let list = calls["calls"].as_array().unwrap();
    let number = |entry: &Json, name: &str| entry[name].as_u64().unwrap();
    let total: u64 = list.iter().map(|entry| number(entry, "exclusive")).sum();
    let stats = json(&["stats", "--json", &trace, "--elf", &elf]);
    assert_eq!(total, stats["instructions"]["total"].as_u64().unwrap());
    assert_eq!(total, calls["instructions"].as_u64().unwrap());
    // Exclusive counts by function are those of `stats`, which knows nothing of calls.
    let mut exclusive: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in list.iter().filter(|entry| !entry["address"].is_null()) {
        *exclusive.entry(entry["name"].as_str().unwrap()).or_default() += number(entry, "exclusive");
    }
    let functions = stats["functions"].as_array().unwrap();
    for function in functions {
        let name = function["name"].as_str().unwrap();
        assert_eq!(exclusive[name], number(function, "instructions"), "{name}");
    }
    assert_eq!(functions.len(), exclusive.len());
    // A tail call takes the place of its caller: even and odd are called by the program, never by each other.
    let levels: Vec<(u64, &str)> =
        list.iter().map(|entry| (number(entry, "level"), entry["name"].as_str().unwrap())).collect();
    assert!(levels.iter().all(|(level, name)| !matches!(*name, "even" | "odd") || *level == 3), "{levels:?}");
    // Recursion is counted once: fib is below program only.
    let up = json(&["calls", "--json", "--bottom-up", "--least", "0", "--depth", "1", &trace, "--elf", &elf]);
    let fib = up["calls"].as_array().unwrap().iter().find(|entry| entry["name"] == "fib").unwrap();
    let program = list.iter().find(|entry| entry["name"] == "program").unwrap();
    assert!(number(fib, "inclusive") < number(program, "inclusive"));
    assert_eq!(number(fib, "inclusive"), number(fib, "exclusive"));
    // Also by caller, at any depth: a path of callers has at most what its function has.
    let up =
        json(&["calls", "--json", "--bottom-up", "--least", "0", "--depth", "99", &trace, "--elf", &elf]);
    let list = up["calls"].as_array().unwrap();
    let mut above: Vec<u64> = Vec::new();
    for entry in list {
        above.truncate(number(entry, "level") as usize);
        let inclusive = number(entry, "inclusive");
        assert!(
            inclusive >= number(entry, "exclusive") && above.iter().all(|more| inclusive <= *more),
            "{entry}"
        );
        above.push(inclusive);
    }
    assert!(list.iter().any(|entry| number(entry, "level") > 5));
}

#[test]
fn a_flow_trace_has_the_same_tree() {
    let folder = Folder::new("analyse-flow");
    let (trace, elf) = recorded(&folder);
    let flow = folder.file("calls.etrace");
    stdout(&["convert", &trace, &flow, "--elf", &elf, "-q"]);
    let folded = |trace: &str| stdout(&["profile", trace, "--elf", &elf, "--as", "folded", "-o", "-"]);
    assert_eq!(folded(&trace), folded(&flow));
    let lcov = |trace: &str| stdout(&["cover", trace, "--elf", &elf, "--as", "lcov", "-o", "-"]);
    assert_eq!(lcov(&trace), lcov(&flow));
}

#[test]
fn profiles_add_up() {
    let folder = Folder::new("analyse-profile");
    let (trace, elf) = recorded(&folder);
    let written = |shape: &str| stdout(&["profile", &trace, "--elf", &elf, "--as", shape, "-o", "-"]);
    let total = json(&["info", "--json", &trace])["instructions"].as_u64().unwrap();
    let folded: u64 =
        written("folded").lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(folded, total);
    let speedscope: Json = serde_json::from_str(&written("speedscope")).unwrap();
    assert_eq!(speedscope["profiles"][0]["endValue"].as_u64().unwrap(), total);
    let callgrind = written("callgrind");
    assert!(callgrind.contains(&format!("\ntotals: {total}\n")) && callgrind.contains("\nfn=fib\n"));
    // Every instruction is in a range.
    let autofdo = written("autofdo");
    let mut lines = autofdo.lines();
    let ranges: usize = lines.next().unwrap().parse().unwrap();
    assert!(ranges > 10);
    let ranges: Vec<&str> = lines.by_ref().take(ranges).collect();
    assert!(ranges.iter().all(|range| range.contains('-') && range.contains(':')));
    assert_eq!(lines.next(), Some("0"));
    let branches: usize = lines.next().unwrap().parse().unwrap();
    assert_eq!(lines.count(), branches);
    assert!(
        written("bolt").lines().any(|line| line.starts_with("1 program ") && line.contains(" 1 fib/1 0 0 "))
    );
    // Nothing appears where the size is refused.
    let out = folder.file("refused");
    let args = ["profile", &trace, "--elf", &elf, "--as", "folded", "-o", &out, "--max-size", "0"];
    assert_eq!(trackway(&args).status.code(), Some(2));
    assert!(!std::path::Path::new(&out).exists());
}

#[test]
fn a_part_is_analysed() {
    let folder = Folder::new("analyse-part");
    let (trace, elf) = recorded(&folder);
    let args =
        ["profile", &trace, "--elf", &elf, "--as", "folded", "-o", "-", "--from", "100", "--to", "350"];
    let sum: u64 =
        stdout(&args).lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 250);
}

#[test]
fn coverage_is_that_of_the_source() {
    let folder = Folder::new("analyse-cover");
    let (trace, elf) = recorded(&folder);
    let lcov = stdout(&["cover", &trace, "--elf", &elf, "--as", "lcov", "-o", "-"]);
    let source = std::fs::read_to_string(repo("programs/riscv/calls.c")).unwrap();
    let line = |part: &str| 1 + source.lines().position(|line| line.contains(part)).unwrap();
    for (part, count) in [("tohost = sum", 1), ("return n * 2", 0), ("list[i] = table", 32)] {
        assert!(lcov.contains(&format!("\nDA:{},{count}\n", line(part))), "{part}: {lcov}");
    }
    assert!(lcov.contains("FNDA:0,never") && lcov.contains("FNDA:232,fib"));
    // The branch of `never` was not reached: neither way has a count.
    let never = line("if (n > 3)");
    assert!(lcov.contains(&format!("BRDA:{never},0,0,-\nBRDA:{never},0,1,-\n")), "{lcov}");
    let xml = stdout(&["cover", &trace, "--elf", &elf, "--as", "cobertura", "-o", "-"]);
    assert!(xml.contains(&format!("<line number=\"{}\" hits=\"32\"", line("list[i] = table"))), "{xml}");
    let drcov = trackway(&["cover", &trace, "--elf", &elf, "--as", "drcov", "-o", "-"]).stdout;
    assert!(drcov.starts_with(b"DRCOV VERSION: 2\n"));
    // Sources are read under the root only.
    let listed = |root: &str| {
        let args = ["cover", &trace, "--elf", &elf, "--as", "source", "-o", "-", "--source-root", root];
        let output = trackway(&args);
        (text(&output.stdout), text(&output.stderr))
    };
    let (with, said) = listed(&repo("programs/riscv"));
    assert!(with.contains("list[i] = table") && said.contains("source: ./calls.c"), "{said}");
    let (without, said) = listed(&folder.file(""));
    assert!(!without.contains("list[i] = table") && !said.contains("\nsource:"), "{said}");
    assert!(
        said.contains("without source: 1 files that are not under") && said.contains("./calls.c"),
        "{said}"
    );
}

/// Names from programs stay text.
#[test]
fn a_hostile_name_stays_inert() {
    let folder = Folder::new("analyse-hostile");
    let (trace, elf) = recorded(&folder);
    let hostile = folder.file("hostile.elf");
    replace_text(&elf, &hostile, "hash_of_the_numbers", "</script><svg x=1/>");
    let svg = stdout(&["flame", &trace, "--elf", &hostile, "-o", "-"]);
    assert!(!svg.contains("</script><svg") && svg.contains("&lt;/script&gt;&lt;svg x=1/&gt;"));
    assert_eq!(svg.matches("<script>").count(), 1);
    let xml = stdout(&["cover", &trace, "--elf", &hostile, "--as", "cobertura", "-o", "-"]);
    assert!(!xml.contains("</script>"));
}

#[test]
fn a_flame_graph_compares_two_traces() {
    let folder = Folder::new("analyse-flame");
    let (trace, elf) = recorded(&folder);
    let out = folder.file("x.svg");
    stdout(&["flame", &trace, "--elf", &elf, "-o", &out]);
    let svg = std::fs::read_to_string(&out).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("fib: "));
    let part = folder.file("part.stf");
    stdout(&["slice", &trace, &part, "--from", "0", "--to", "3000", "-q"]);
    let svg = stdout(&["flame", &trace, "--against", &part, "--elf", &elf, "-o", "-"]);
    assert!(svg.contains(" before, ") && svg.contains("rgb("));
}

#[test]
fn a_program_that_does_not_fit_is_said() {
    let folder = Folder::new("analyse-wrong");
    let (trace, _) = recorded(&folder);
    let (wrong, out) = (repo("programs/riscv/elf/rv64-mix.elf"), folder.file("out"));
    for command in [
        vec!["calls", &trace],
        vec!["flame", &trace, "-o", &out],
        vec!["profile", &trace, "--as", "folded", "-o", &out],
        vec!["profile", &trace, "--as", "autofdo", "-o", &out],
        vec!["cover", &trace, "--as", "drcov", "-o", &out],
        vec!["simpoint", &trace, "--interval", "1000"],
    ] {
        let output = trackway(&[&command[..], &["--elf", &wrong]].concat());
        assert!(text(&output.stderr).contains("warning: "), "{command:?}: {}", text(&output.stderr));
    }
}

#[test]
fn output_that_is_too_large_is_refused() {
    let folder = Folder::new("analyse-large");
    let (trace, elf) = recorded(&folder);
    let out = folder.file("out");
    for command in [
        vec!["flame", &trace],
        vec!["cover", &trace, "--as", "source"],
        vec!["profile", &trace, "--as", "speedscope"],
        vec!["profile", &trace, "--as", "perfetto"],
        vec!["plot", &trace],
        vec!["report", &trace],
    ] {
        let guard = ["--elf", &elf, "-o", &out, "--max-size", "0"];
        let output = trackway(&[&command[..], &guard].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", text(&output.stderr));
        assert!(!std::path::Path::new(&out).exists());
    }
}

#[test]
fn vectors_that_are_too_large_are_refused() {
    let folder = Folder::new("analyse-large-vectors");
    let (trace, _) = recorded(&folder);
    let prefix = folder.file("x");
    let output = trackway(&["simpoint", &trace, "--interval", "100", "-o", &prefix, "--max-size", "0"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--max-size"), "{}", text(&output.stderr));
    assert!(!std::path::Path::new(&format!("{prefix}.bb")).exists());
}

#[test]
fn points_represent_the_trace() {
    let folder = Folder::new("analyse-simpoint");
    let (trace, elf) = recorded(&folder);
    let (prefix, slices) = (folder.file("calls"), folder.file("slices"));
    let args = [
        "simpoint",
        &trace,
        "--elf",
        &elf,
        "--interval",
        "250",
        "-o",
        &prefix,
        "--slices",
        &slices,
        "--json",
    ];
    let shown = json(&[&args[..], &["--warm-up", "100"]].concat());
    let number = |entry: &Json, name: &str| entry[name].as_u64().unwrap();
    let total = number(&json(&["info", "--json", &trace]), "instructions");
    assert_eq!(number(&shown, "intervals"), total.div_ceil(250));
    let points = shown["points"].as_array().unwrap();
    assert!(points.len() > 1, "{shown}");
    let weights: u64 = points.iter().map(|point| number(point, "weight_per_million")).sum();
    assert!(weights.abs_diff(1_000_000) <= points.len() as u64);
    // A row for each interval has its instructions.
    let vectors = std::fs::read_to_string(format!("{prefix}.bb")).unwrap();
    let rows = vectors.lines().map(|line| {
        let entries = line.strip_prefix('T').unwrap().split_whitespace();
        entries.map(|entry| entry.rsplit(':').next().unwrap().parse::<u64>().unwrap()).sum::<u64>()
    });
    let rows: Vec<u64> = rows.collect();
    assert!(rows[..rows.len() - 1].iter().all(|row| *row == 250) && rows.iter().sum::<u64>() == total);
    let chosen = std::fs::read_to_string(format!("{prefix}.simpoints")).unwrap();
    let chosen: Vec<u64> =
        chosen.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(chosen, points.iter().map(|point| number(point, "interval")).collect::<Vec<_>>());
    assert_eq!(std::fs::read_to_string(format!("{prefix}.weights")).unwrap().lines().count(), points.len());
    // A slice has the instructions that its point says, and those before them.
    let pcs = |file: &str| stdout(&["dump", "--as", "pcs", file]);
    let whole = pcs(&trace);
    let whole: Vec<&str> = whole.lines().collect();
    for point in points {
        let from = (number(point, "from") - number(point, "warm_up")) as usize;
        let slice = pcs(point["slice"].as_str().unwrap());
        assert_eq!(slice.lines().collect::<Vec<_>>(), &whole[from..number(point, "to") as usize]);
    }
    // The shares of the whole are those of `stats`.
    let stats = json(&["stats", "--json", &trace]);
    for estimate in shown["estimates"].as_array().unwrap() {
        let name = estimate["name"].as_str().unwrap();
        let count = match name {
            "branches taken" => number(&stats["branches"], "taken"),
            name => number(&stats["classes"], name),
        };
        let share = (count as f64 / total as f64 * 1e6).round() as u64;
        assert!(number(estimate, "whole_per_million").abs_diff(share) <= 1, "{name}");
    }
    // A part begins at its own place, and the same trace has the same points.
    let again = json(&["simpoint", &trace, "--interval", "250", "--from", "1000", "--json"]);
    assert_eq!(number(&again["points"][0], "from") % 250, 0);
    assert!(number(&again["points"][0], "from") >= 1000);
    assert_eq!(json(&["simpoint", &trace, "--interval", "250", "--json"])["estimates"], shown["estimates"]);
}

//! `state`, `why` and `find`: commands about points of a trace.

mod common;

use common::{Folder, repo, stdout, text, trackway};
use serde_json::Value as Json;

fn sort() -> String {
    repo("testdata/stf/sort/trace.stf")
}

fn json(args: &[&str]) -> Json {
    serde_json::from_str(&stdout(args)).expect("one object")
}

#[test]
fn the_state_has_registers_with_their_writers_and_unknown_stays_unknown() {
    let elf = repo("programs/riscv/sort.elf");
    let state = json(&["state", &sort(), "--elf", &elf, "--at", "200", "--json", "--mem", "0x11150:16"]);
    assert_eq!((&state["pc"], &state["symbol"]), (&"0x1012c".into(), &"sort+0x20".into()));
    let register = |name: &str| {
        let registers = state["registers"].as_array().unwrap();
        registers.iter().find(|one| one["register"] == name).cloned().unwrap_or(Json::Null)
    };
    assert_eq!((&register("x5")["value"], &register("x5")["instruction"]), (&"0x11158".into(), &199.into()));
    assert_eq!(register("x5")["how"], "written");
    assert_eq!(register("mstatus"), Json::Null);
    let call = &state["calls"][0];
    assert_eq!((&call["instruction"], &call["symbol"]), (&3.into(), &"sort".into()));
    // Two stores, each with the instruction that made it.
    let memory = &state["memory"];
    assert_eq!((&memory[0]["bytes"], &memory[0]["instruction"]), (&"0100000000000000".into(), &197.into()));
    assert_eq!((&memory[1]["bytes"], &memory[1]["instruction"]), (&"0300000000000000".into(), &198.into()));
    let unknown = stdout(&["state", &sort(), "--at", "200", "--reg", "mepc", "--mem", "0x5000:4"]);
    assert!(unknown.contains("mepc       unknown"), "{unknown}");
    assert!(unknown.contains("4 bytes unknown: the trace never touched it before"), "{unknown}");
}

#[test]
fn the_program_has_bytes_that_the_trace_never_touched() {
    let elf = repo("programs/riscv/sort.elf");
    let state = json(&["state", &sort(), "--elf", &elf, "--at", "0", "--json", "--mem", "0x100e8:4"]);
    assert_eq!(
        (&state["memory"][0]["how"], &state["memory"][0]["bytes"]),
        (&"image".into(), &"17150000".into())
    );
}

#[test]
fn a_chain_goes_through_memory() {
    let why = json(&["why", &sort(), "--at", "200", "--reg", "t3", "--depth", "3", "--json"]);
    assert_eq!(why["causes"][0]["instruction"], 195);
    let load = &why["instructions"][0];
    assert_eq!((&load["instruction"], &load["text"]), (&195.into(), &"ld t3,8(t0)".into()));
    let input = &load["inputs"][0];
    assert_eq!((&input["address"], &input["role"]), (&"0x11158".into(), &"value".into()));
    let store = input["causes"][0]["instruction"].as_u64().unwrap();
    let found =
        why["instructions"].as_array().unwrap().iter().find(|one| one["instruction"] == store).unwrap();
    assert!(found["text"].as_str().unwrap().starts_with("sd "), "{found}");
    assert_eq!(found["results"][0]["value"], "0x1");
    // The deepest inputs say why the search ended.
    assert!(stdout(&["why", &sort(), "--at", "200", "--reg", "t3", "--depth", "1"]).contains("--depth N"));
}

#[test]
fn flow_formats_have_writers_of_registers_and_no_addresses() {
    let ete = repo("testdata/ete/count");
    let total = json(&["info", &ete, "--source", "ETE_0", "--json"])["instructions"].as_u64().unwrap();
    let at = (total / 2).to_string();
    let why = json(&["why", &ete, "--source", "ETE_0", "--at", &at, "--reg", "x0", "--json"]);
    assert!(why["causes"][0]["instruction"].is_u64() || why["causes"][0]["end"].is_string(), "{why}");
    let folder = Folder::new("points-flow");
    let out = folder.file("sort.etrace");
    stdout(&["convert", &sort(), &out, "--elf", &repo("programs/riscv/sort.elf"), "-q"]);
    let elf = repo("programs/riscv/sort.elf");
    let why = json(&["why", &out, "--elf", &elf, "--at", "200", "--reg", "t3", "--json"]);
    assert_eq!(why["causes"][0]["instruction"], 195);
    assert_eq!(why["instructions"][0]["memory_unknown"], true);
    let why = json(&["why", &out, "--elf", &elf, "--at", "200", "--mem", "0x11158", "--json"]);
    assert_eq!((&why["causes"][0]["end"], &why["causes"][0]["end_at"]), (&"no-address".into(), &198.into()));
    // The call stack is that of the trace with all encodings.
    let calls = |trace: &str| {
        json(&["state", trace, "--elf", &elf, "--at", "200", "--json"])["calls"][0]["target"].clone()
    };
    assert_eq!(calls(&out), calls(&sort()));
}

#[test]
fn find_is_the_same_on_any_number_of_threads_and_counts_as_dump_does() {
    let folder = Folder::new("points-find");
    let trace = folder.file("mix.zstf");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    stdout(&["record", &elf, "-o", &trace, "-q", "--limit", "200000"]);
    for conditions in [
        &["--class", "store"][..],
        &["--op", "ld", "--mem", "0x80000000-0x90000000"],
        &["--within", "crc32", "--elf", &elf],
        &["--reg", "a0=0"],
        &["--context", "privilege=m", "--class", "csr"],
        &["--trap", "any"],
    ] {
        let run = |more: &[&str]| {
            let output = trackway(&[&["find", &trace][..], conditions, more].concat());
            assert!(matches!(output.status.code(), Some(0 | 1)), "{conditions:?}: {}", text(&output.stderr));
            text(&output.stdout)
        };
        let lines = run(&["-j", "1"]);
        assert_eq!(lines, run(&["-j", "4"]), "{conditions:?}");
        assert_eq!(run(&["--count"]).trim(), lines.lines().count().to_string(), "{conditions:?}");
        let limited = run(&["--limit", "3"]);
        assert_eq!(limited.lines().collect::<Vec<_>>(), lines.lines().take(3).collect::<Vec<_>>());
        // The number that begins a line is a position.
        if let Some(line) = lines.lines().last() {
            let mut words = line.split_ascii_whitespace();
            let (number, pc) = (words.next().unwrap(), words.next().unwrap());
            let shown = stdout(&["dump", &trace, "--from", number, "--limit", "1", "-q"]);
            assert!(shown.contains(pc), "{line}: {shown}");
        }
    }
    // Against the listing, which is another way through the trace.
    let dump = stdout(&["dump", &trace, "--jsonl"]);
    let stores = dump.lines().filter(|line| line.contains("\"class\":\"store\"")).count();
    assert_eq!(stdout(&["find", &trace, "--class", "store", "--count"]).trim(), stores.to_string());
}

/// Labels of assembly have no size: they reach to the next one, as in the listing.
#[test]
fn a_function_without_a_size_is_searched_whole() {
    let elf = repo("programs/riscv/sort.elf");
    let listing = stdout(&["dump", &sort(), "--elf", &elf]);
    for name in ["_start", "sort", "sum"] {
        let inside = |line: &&str| line.contains(&format!("<{name}>")) || line.contains(&format!("<{name}+"));
        let wanted = listing.lines().filter(inside).count();
        let found = stdout(&["find", &sort(), "--elf", &elf, "--within", name, "--count"]);
        assert_eq!((found.trim(), wanted > 1), (&*wanted.to_string(), true), "{name}");
    }
}

/// "Nothing found" is an answer only if the trace could have it.
#[test]
fn conditions_on_what_a_trace_does_not_hold_are_refused() {
    let folder = Folder::new("points-refused");
    let (trace, elf) = (folder.file("sort.etrace"), repo("programs/riscv/sort.elf"));
    stdout(&["convert", &sort(), &trace, "--elf", &elf]);
    for _ in 0..2 {
        for (condition, reason) in [
            (["--mem", "0x11148-0x11160"], "--mem: the trace has no memory accesses"),
            (["--reg", "a0=5"], "--reg R=VALUE: the trace has no values of registers"),
        ] {
            let output = trackway(&[&["find", &trace, "--elf", &elf][..], &condition].concat());
            let said = text(&output.stderr);
            assert!(output.status.code() == Some(2) && said.contains(reason), "{said}");
        }
        // Once more with an index.
        stdout(&["index", &trace, "--elf", &elf]);
    }
    assert_eq!(trackway(&["find", &sort(), "--mem", "0x10"]).status.code(), Some(1));
}

#[test]
fn exit_codes_are_those_of_grep() {
    let code = |args: &[&str]| trackway(args).status.code();
    assert_eq!(code(&["find", &sort(), "--op", "ret"]), Some(0));
    assert_eq!(code(&["find", &sort(), "--op", "mret"]), Some(1));
    assert_eq!(code(&["find", &sort()]), Some(2));
    assert_eq!(code(&["find", &sort(), "--class", "nonsense"]), Some(2));
    assert_eq!(code(&["find", &sort(), "--context", "colour=red"]), Some(2));
    assert_eq!(code(&["find", "/none", "--op", "ret"]), Some(3));
    assert_eq!(code(&["state", &sort(), "--at", "100000"]), Some(2));
    assert_eq!(code(&["state", &sort(), "--at", "0", "--reg", "x99"]), Some(2));
    assert_eq!(code(&["why", &sort(), "--at", "100000", "--reg", "a0"]), Some(2));
    assert_eq!(code(&["why", &sort(), "--at", "0"]), Some(2));
    assert_eq!(code(&["why", &sort(), "--at", "10", "--mem", "0x0:0"]), Some(2));
}

#[test]
fn surroundings_are_marked() {
    let lines = stdout(&["find", &sort(), "--op", "ret", "--limit", "1", "-C", "1"]);
    let marks: Vec<char> = lines.lines().filter_map(|line| line.chars().next()).collect();
    assert_eq!(marks, [' ', '>', ' '], "{lines}");
}

#[test]
fn an_index_changes_nothing_but_time() {
    let folder = Folder::new("points-index");
    let trace = folder.file("mix.zstf");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    stdout(&["record", &elf, "-o", &trace, "-q", "--limit", "400000"]);
    let total = json(&["info", &trace, "--json"])["instructions"].as_u64().unwrap();
    let middle = (total * 3 / 4).to_string();
    let commands: [&[&str]; 4] = [
        &["state", &trace, "--at", &middle, "--elf", &elf, "--mem", "0x80001000:64"],
        &["why", &trace, "--at", &middle, "--reg", "a0", "--depth", "6"],
        &["find", &trace, "--mem", "0x80000000-0x80001000"],
        &["find", &trace, "--pc", "0x80000000-0x80000010"],
    ];
    let before: Vec<String> =
        commands.iter().map(|args| text(&trackway(&[args, &["--no-index"][..]].concat()).stdout)).collect();
    stdout(&["index", &trace, "-q"]);
    for (args, before) in commands.iter().zip(before) {
        assert_eq!(text(&trackway(args).stdout), before, "{args:?}");
    }
}

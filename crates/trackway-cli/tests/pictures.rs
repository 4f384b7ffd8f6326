//! `plot`, `report` and `stats --every`: traces of all formats, with and without programs, with gaps, and hostile names.

mod common;

use std::path::Path;

use common::{Folder, recorded, replace_text, repo, stdout, text, trackway};
use serde_json::Value as Json;

const KINDS: [&str; 6] = ["working-set", "mix", "ipc", "pc", "data", "branches"];

/// Elements nest and every `&` begins an entity: enough to see that no name became markup.
fn is_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>') || rest[..at].contains("=>"), "{}", &rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("<![CDATA[") {
            rest = &after[after.find("]]>").expect("the end of CDATA") + 3..];
            continue;
        }
        let end = rest.find('>').expect("the end of a tag");
        let tag = &rest[1..end];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{tag}");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = &rest[end + 1..];
        if name == "style" && !tag.starts_with('/') {
            rest = &rest[rest.find("</style>").expect("the end of a style")..];
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let text = xml.split("<![CDATA[").next().unwrap();
    for (at, _) in text.match_indices('&') {
        let entity = &text[at..][..text[at..].find(';').expect("the end of an entity") + 1];
        assert!(["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"].contains(&entity), "{entity}");
    }
}

/// Each trace, and what it cannot be drawn for.
fn traces() -> Vec<(Vec<String>, Vec<&'static str>)> {
    let args = |args: &[&str]| args.iter().map(|arg| arg.to_string()).collect::<Vec<_>>();
    vec![
        (
            args(&[&repo("testdata/stf/sort/trace.stf"), "--elf", &repo("programs/riscv/sort.elf")]),
            vec!["ipc"],
        ),
        (args(&[&repo("testdata/stf/sort/trace.stf")]), vec!["ipc"]),
        (args(&[&repo("testdata/astf/sort.astf")]), vec!["ipc"]),
        (args(&[&repo("testdata/astf/example/example.astf")]), vec![]),
        (args(&[&repo("testdata/tandem/sort/trace.tv")]), vec!["ipc"]),
        (args(&[&repo("testdata/ete/count")]), vec!["working-set", "ipc", "data"]),
        (
            args(&[
                &repo("testdata/etrace/v2-every-mode/input"),
                "--config",
                &repo("testdata/etrace/v2-every-mode/config.toml"),
            ]),
            vec!["working-set", "ipc", "data"],
        ),
    ]
}

/// All formats and both architectures: a picture, or words for what the trace does not hold.
#[test]
fn every_format_is_drawn_or_refused() {
    let folder = Folder::new("pictures-formats");
    for (trace, refused) in traces() {
        let trace: Vec<&str> = trace.iter().map(String::as_str).collect();
        for what in KINDS {
            let out = folder.file("x.svg");
            let _ = std::fs::remove_file(&out);
            let output = trackway(&[&["plot", "--what", what, "-o", &out], &trace[..]].concat());
            if refused.contains(&what) {
                assert_eq!(output.status.code(), Some(2), "{trace:?} {what}");
                assert!(text(&output.stderr).contains("the trace does not hold"), "{}", text(&output.stderr));
                assert!(!Path::new(&out).exists());
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{trace:?} {what}: {}", text(&output.stderr));
            is_well_formed(&std::fs::read_to_string(&out).unwrap());
        }
        let page = stdout(&[&["report", "-o", "-"], &trace[..]].concat());
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Content-Security-Policy"));
        for what in &refused {
            let missing = if *what == "ipc" { "cycle counts or time stamps" } else { "memory accesses" };
            assert!(page.contains(missing), "{trace:?}: {missing}");
        }
    }
}

#[test]
fn threads_make_no_difference() {
    let folder = Folder::new("pictures-threads");
    let (trace, elf) = recorded(&folder);
    for args in [
        &["plot", "--what", "mix", "-o", "-"][..],
        &["plot", "--what", "data", "-o", "-"],
        &["report", "-o", "-"],
        &["stats", "--every", "500", "--json"],
    ] {
        let with = |jobs: &str| stdout(&[args, &[&trace, "--elf", &elf, "-j", jobs]].concat());
        assert_eq!(with("1"), with("2"), "{args:?}");
    }
}

/// The same run as instructions and as a flow: the same intervals, as far as the flow has them.
#[test]
fn a_flow_has_the_same_intervals() {
    let folder = Folder::new("pictures-flow");
    let (trace, elf) = recorded(&folder);
    let flow = folder.file("calls.etrace");
    stdout(&["convert", &trace, &flow, "--elf", &elf, "-q"]);
    let intervals = |trace: &str| {
        let json: Json =
            serde_json::from_str(&stdout(&["stats", trace, "--elf", &elf, "--every", "333", "--json"]))
                .unwrap();
        json["intervals"].as_array().unwrap().clone()
    };
    let (steps, runs) = (intervals(&trace), intervals(&flow));
    assert_eq!((steps.len(), runs.len()), (20, 20));
    for (step, run) in steps.iter().zip(&runs) {
        for key in ["from", "instructions", "classes", "taken", "not_taken", "unknown", "traps", "gaps"] {
            assert_eq!(step[key], run[key], "{key}");
        }
        assert!(run["loads"].is_null() && run["lines"].is_null() && step["lines"].as_u64().is_some());
    }
    // Sums are those of the whole trace.
    let stats: Json = serde_json::from_str(&stdout(&["stats", &trace, "--elf", &elf, "--json"])).unwrap();
    let sum = |key: &str| steps.iter().map(|interval| interval[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("instructions"), stats["instructions"]["total"].as_u64().unwrap());
    assert_eq!(sum("taken"), stats["branches"]["taken"].as_u64().unwrap());
    assert_eq!(sum("loads"), stats["memory"]["loads"].as_u64().unwrap());
    assert_eq!(sum("new_lines"), stats["memory"]["lines_of_64_bytes_touched"].as_u64().unwrap());
    let table = stdout(&["stats", &trace, "--every", "1000"]);
    assert!(table.contains("\nintervals\n") && table.contains("new lines"), "{table}");
}

#[test]
fn intervals_are_refused_where_they_cannot_be() {
    let folder = Folder::new("pictures-refused");
    let (trace, elf) = recorded(&folder);
    for args in [&["stats", "-", "--every", "5"][..], &["stats", &trace, "--every", "0"]] {
        assert_eq!(trackway(args).status.code(), Some(2), "{args:?}");
    }
    // A part has the numbers of its instructions; nothing appears where the size is refused.
    let part = stdout(&["plot", &trace, "--what", "mix", "--from", "5000", "--to", "5500", "-o", "-"]);
    assert!(part.contains(">5.2k</text>") && !part.contains(">1k</text>"), "{part}");
    for command in ["plot", "report"] {
        let out = folder.file("refused");
        let args = [command, &trace, "--elf", &elf, "-o", &out, "--max-size", "0"];
        assert_eq!(trackway(&args).status.code(), Some(2));
        assert!(!Path::new(&out).exists());
    }
}

/// A gap is drawn, and the page says which results it taints.
#[test]
fn gaps_are_shown() {
    let count = repo("testdata/ete/count");
    let svg = stdout(&["plot", &count, "--what", "mix", "-o", "-"]);
    assert!(svg.contains("class=\"gap\"") && svg.contains("1 gap (dashed)"), "{svg}");
    let page = stdout(&["report", &count, "-o", "-"]);
    assert!(page.contains("Gaps by reason") && page.contains("in none of them"));
    assert!(!page.contains("the trace has no gaps") && page.contains("memory accesses"));
}

/// No instructions: a failure with a reason, and no file.
#[test]
fn an_empty_trace_is_no_picture() {
    let folder = Folder::new("pictures-empty");
    let (trace, _) = recorded(&folder);
    let empty = folder.file("empty.stf");
    for command in ["plot", "report"] {
        let out = folder.file("out");
        let args = [command, &trace, "--from", "end", "-o", &out];
        let output = trackway(&args);
        assert_ne!(output.status.code(), Some(0), "{}", text(&output.stderr));
        std::fs::write(&empty, "").unwrap();
        assert_eq!(trackway(&[command, &empty, "-o", &out]).status.code(), Some(3));
        assert!(!Path::new(&out).exists());
    }
}

/// Names from programs, and paths, stay text.
#[test]
fn hostile_names_stay_inert() {
    let folder = Folder::new("pictures-hostile");
    let (trace, elf) = recorded(&folder);
    let hostile = folder.file("hostile.elf");
    replace_text(&elf, &hostile, "hash_of_the_numbers", "</script><svg x=1/>");
    let path = folder.file("<svg onload=alert(1)>&'\".stf");
    replace_text(&trace, &path, "golden model, bare metal", "<svg onload=alert(2)>xxx");
    for what in KINDS.iter().filter(|what| **what != "ipc") {
        let svg = stdout(&["plot", &path, "--elf", &hostile, "--what", what, "-o", "-"]);
        is_well_formed(&svg);
        assert_eq!((svg.matches("<svg").count(), svg.matches("<script").count()), (1, 0), "{what}");
    }
    let svg = stdout(&["flame", &path, "--elf", &hostile, "-o", "-"]);
    is_well_formed(&svg);
    let page = stdout(&["report", &path, "--elf", &hostile, "-o", "-"]);
    assert!(!page.contains("<svg onload") && !page.contains("<svg x=1"));
    assert!(page.contains("&lt;/script&gt;&lt;svg x=1/&gt;") && page.contains("&lt;svg onload=alert(1)&gt;"));
    assert!(page.contains("&lt;svg onload=alert(2)&gt;"), "the comment of the producer");
    // Two scripts of our own: that of the flame graph and that of the tables.
    assert_eq!((page.matches("<script>").count(), page.matches("</script>").count()), (2, 2));
}

/// Is this base64 of bytes that hold the text?
fn in_base64(part: &str, text: &str) -> bool {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |digit: u8| DIGITS.iter().position(|known| *known == digit);
    let Some(values) = part.trim_end_matches('=').bytes().map(value).collect::<Option<Vec<usize>>>() else {
        return false;
    };
    let bytes: Vec<u8> = values
        .chunks(4)
        .flat_map(|four| {
            let word = four.iter().fold(0, |word, value| word << 6 | value) << (6 * (4 - four.len()));
            [(word >> 16) as u8, (word >> 8) as u8, word as u8]
        })
        .collect();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Names of processes and texts of marks are data too.
#[test]
fn hostile_processes_and_marks_stay_inert() {
    let folder = Folder::new("pictures-processes");
    let (data, elf) = (folder.file("sort.data"), repo("programs/aarch64/sort.elf"));
    replace_text(&repo("testdata/perf/sort.data"), &data, "worker", "<img/>");
    for command in ["flame", "report"] {
        let drawn = stdout(&[command, &data, "--elf", &elf, "-o", "-"]);
        assert!(!drawn.contains("<img") && drawn.contains("&lt;img/&gt;"), "{command}");
    }
    for what in ["mix", "pc", "branches"] {
        let drawn = stdout(&["plot", &data, "--elf", &elf, "--what", what, "-o", "-"]);
        is_well_formed(&drawn);
        assert!(!drawn.contains("<img"), "{what}");
    }
    // In JSON it is a text like any other.
    for format in ["speedscope", "firefox"] {
        let profile = stdout(&["profile", &data, "--elf", &elf, "--as", format, "-o", "-"]);
        let profile: serde_json::Value = serde_json::from_str(&profile).expect("JSON");
        assert!(profile.to_string().contains("<img/>"), "{format}");
    }
    let marked = folder.file("marked.stf");
    let everything = repo("testdata/stf/everything/trace.stf");
    replace_text(&everything, &marked, "a note in the body", "<svg onload=hit=1>");
    let page = folder.file("page.html");
    let exports = [
        (vec!["view", &data, "--elf", &elf, "--source", "cpu1", "--export", &page], "<img/>"),
        (vec!["view", &marked, "--export", &page], "<svg onload=hit=1>"),
    ];
    for (args, text) in exports {
        stdout(&args);
        let page = std::fs::read_to_string(&page).unwrap();
        let escaped = text.replace('<', "\\u003c").replace('>', "\\u003e");
        assert!(!page.contains(text.split('=').next().unwrap()), "{args:?}: markup");
        assert!(
            page.contains(&escaped) || page.split('"').any(|part| in_base64(part, text)),
            "{args:?}: text"
        );
    }
    for command in ["flame", "report"] {
        assert!(!stdout(&[command, &marked, "-o", "-"]).contains("<svg onload"), "{command}");
    }
}

/// Threads on which nothing ran are not in the tree.
#[test]
fn a_report_has_the_threads_that_ran() {
    let (trace, elf) = (repo("testdata/perf/sort.data"), repo("programs/aarch64/sort.elf"));
    let page = stdout(&["report", &trace, "--elf", &elf, "-o", "-"]);
    let tree = page.split("<div class=\"tree\">").nth(1).and_then(|rest| rest.split("</div>\n<p").next());
    let tree = tree.expect("a tree");
    assert!(tree.contains("cpu0 sort pid") && tree.contains("cpu1 worker pid"), "{tree}");
    assert!(!tree.contains(" 0 instructions"), "{tree}");
}

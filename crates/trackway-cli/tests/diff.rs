//! `trackway diff` from outside.

mod common;

use common::{Folder, repo, stdout, text, trackway};
use serde_json::{Value as Json, json};

fn sort() -> (String, String) {
    (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"))
}

fn object(args: &[&str]) -> (Option<i32>, Json) {
    let output = trackway(&[&["diff", "--json"], args].concat());
    let parsed = serde_json::from_slice(&output.stdout);
    (
        output.status.code(),
        parsed.unwrap_or_else(|error| panic!("{args:?}: {error}: {}", text(&output.stderr))),
    )
}

#[test]
fn one_run_in_all_formats() {
    let (stf, elf) = sort();
    let folder = Folder::new("diff-formats");
    let (etrace, tandem) = (folder.file("run.etrace"), folder.file("run.tv"));
    for out in [&etrace, &tandem] {
        assert!(trackway(&["convert", &stf, out, "--elf", &elf, "-q"]).status.success());
    }
    for (a, b) in [(&stf, &etrace), (&etrace, &stf), (&stf, &tandem), (&tandem, &etrace), (&stf, &stf)] {
        let (exit, found) = object(&[a, b, "--elf", &elf]);
        assert_eq!((exit, &found["equal"]), (Some(0), &json!(true)), "{a} {b}: {found}");
        assert_eq!(found["compared"]["instructions"], 297);
        assert_eq!(found["counts"], json!({ "changed": 0, "inserted": 0, "deleted": 0 }));
        assert_eq!((&found["differences"], &found["complete"]), (&json!([]), &json!(true)));
        let said = found["not_compared"].as_array().unwrap();
        let flow = a.ends_with("etrace") || b.ends_with("etrace");
        for what in ["registers", "memory accesses"] {
            assert_eq!(said.iter().any(|entry| entry["what"] == what), flow, "{a} {b}: {said:?}");
        }
    }
    let output = trackway(&["diff", &stf, &etrace, "--elf", &elf]);
    let said = text(&output.stdout);
    assert!(said.starts_with("equal: 297 instructions, 1 traps"), "{said}");
    assert!(said.contains("not compared: memory accesses (104): none in B (etrace)\n"), "{said}");
}

/// A fresh run is the second trace.
#[test]
fn a_fresh_run() {
    let (stf, elf) = sort();
    let (exit, found) = object(&[&stf, "--record", &elf]);
    assert_eq!((exit, &found["equal"]), (Some(0), &json!(true)), "{found}");
    assert_eq!(found["compared"]["memory_accesses"], 104);
    let linux = repo("programs/riscv/linux/rv64-linux.elf");
    let folder = Folder::new("diff-record");
    let trace = folder.file("run.stf");
    assert!(trackway(&["record", &linux, "-o", &trace, "-q", "--", "one"]).status.success());
    let (exit, found) = object(&[&trace, "--record", &linux, "--", "one"]);
    assert_eq!(exit, Some(0), "{found}");
    let (exit, found) = object(&[&trace, "--record", &linux, "--", "other"]);
    assert_eq!((exit, &found["equal"]), (Some(1), &json!(false)));
    assert_eq!(trackway(&["diff", &trace, &trace, "--record", &linux]).status.code(), Some(2));
    assert_eq!(trackway(&["diff", &trace, "--", "one"]).status.code(), Some(2));
    assert_eq!(trackway(&["diff", &trace]).status.code(), Some(2));
}

/// One register of one instruction: in text with both sides, in JSON, in JUnit.
#[test]
fn a_changed_value() {
    let (stf, elf) = sort();
    let folder = Folder::new("diff-value");
    let (tandem, other, junit) = (folder.file("a.tv"), folder.file("b.tv"), folder.file("junit.xml"));
    assert!(trackway(&["convert", &stf, &tandem, "-q"]).status.success());
    let mut bytes = std::fs::read(&tandem).unwrap();
    // The address that the first load puts into a0 is in its record, little-endian.
    let value = 0x11148u64.to_le_bytes();
    let place = bytes.windows(8).position(|window| window == value).expect("the value");
    bytes[place] ^= 0x40;
    std::fs::write(&other, bytes).unwrap();
    let output = trackway(&["diff", &tandem, &other, "--elf", &elf, "--junit", &junit]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("first difference: instruction "), "{said}");
    assert!(said.contains("<_start+0x4>") && said.contains("0x11148 | 0x11108"), "{said}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"1\" failures=\"1\"") && xml.contains("0x11148"), "{xml}");
    let (exit, found) = object(&[&tandem, &other, "--elf", &elf]);
    assert_eq!(
        (exit, &found["counts"]),
        (Some(1), &json!({ "changed": 1, "inserted": 0, "deleted": 0 })),
        "{found}"
    );
    let difference = &found["differences"][0];
    assert_eq!(difference["kind"], "changed");
    assert_eq!(difference["a"]["from"], difference["b"]["from"]);
    assert!(difference["fields"].as_array().is_some_and(|fields| !fields.is_empty()), "{difference}");
    assert!(difference["context"]["a"].as_array().is_some_and(|lines| lines.len() > 1), "{difference}");
    for args in [&["--only", "pcs"][..], &["--only", "pcs,traps,contexts"], &["--ignore", "regs,mem"]] {
        let (exit, found) = object(&[&[&*tandem, &*other], args].concat());
        assert_eq!(exit, Some(0), "{args:?}: {found}");
    }
}

#[test]
fn nothing_compared_is_not_equal() {
    let (stf, elf) = sort();
    let folder = Folder::new("diff-nothing");
    let etrace = folder.file("run.etrace");
    assert!(trackway(&["convert", &stf, &etrace, "--elf", &elf, "-q"]).status.success());
    let (exit, found) = object(&[&stf, &etrace, "--elf", &elf, "--only", "mem"]);
    assert_eq!((exit, &found["equal"]), (Some(1), &json!(false)));
    assert!(found["verdict"].as_str().unwrap().starts_with("nothing was compared"), "{found}");
    let said = text(&trackway(&["diff", &stf, &etrace, "--elf", &elf, "--only", "mem"]).stdout);
    assert!(said.starts_with("nothing was compared"), "{said}");
    let (sorted, levels) = (repo("testdata/astf/sort.astf"), repo("testdata/astf/levels.astf"));
    let (exit, found) = object(&[&sorted, &levels]);
    assert_eq!((exit, &found["equal"]), (Some(1), &json!(false)));
    // Another architecture cannot be compared at all.
    assert_eq!(trackway(&["diff", &stf, &sorted]).status.code(), Some(2));
    for wrong in
        [["--only", "nothing"], ["--tolerate", "csr:none"], ["--tolerate", "order:0"], ["--ignore", "pcs,x"]]
    {
        assert_eq!(trackway(&["diff", &stf, &stf, wrong[0], wrong[1]]).status.code(), Some(2), "{wrong:?}");
    }
    let all = "pcs,regs,mem,traps,contexts,time";
    assert_eq!(trackway(&["diff", &stf, &stf, "--ignore", all]).status.code(), Some(2));
}

/// Several sources are compared by name; one of them by choice.
#[test]
fn sources() {
    let count = repo("testdata/ete/count");
    let (exit, found) = object(&[&count, &count]);
    assert_eq!((exit, &found["compared"]["instructions"]), (Some(0), &json!(17 + 9)), "{found}");
    let (exit, found) = object(&[&count, &count, "--source", "ETE_0"]);
    assert_eq!((exit, &found["compared"]["instructions"]), (Some(0), &json!(17)), "{found}");
    // The second ends in a gap: what the first has from there on is not compared.
    let (exit, found) = object(&[&count, &count, "--source-a", "ETE_0", "--source-b", "ETE_1"]);
    assert_eq!((exit, &found["compared"]["instructions"]), (Some(0), &json!(9)), "{found}");
    let lost = found["not_compared"].as_array().unwrap().iter().find(|entry| entry["count"] == 8);
    assert!(lost.is_some_and(|entry| entry["why"] == "B (ete) has a gap there"), "{found}");
    let output = trackway(&["diff", &count, &count, "--source-a", "ETE_0"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("--source-b (ETE_0, ETE_1)"), "{}", text(&output.stderr));
}

/// A trace that ends with an error is read as far as it goes, and the exit code says so.
#[test]
fn truncated() {
    let (stf, _) = sort();
    let folder = Folder::new("diff-truncated");
    let cut = folder.file("cut.stf");
    let bytes = std::fs::read(&stf).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let (exit, found) = object(&[&stf, &cut]);
    assert_eq!((exit, &found["complete"]), (Some(3), &json!(false)), "{found}");
    assert!(found["errors"][0]["message"].as_str().unwrap().contains("truncated"), "{found}");
    assert_eq!(found["counts"], json!({ "changed": 0, "inserted": 0, "deleted": 0 }), "{found}");
}

/// Windows of both, with the numbers of the whole traces.
#[test]
fn windows() {
    let (stf, elf) = sort();
    let (exit, found) = object(&[&stf, &stf, "--from", "100", "--to", "200"]);
    assert_eq!((exit, &found["compared"]["instructions"]), (Some(0), &json!(100)), "{found}");
    let (exit, found) = object(&[&stf, &stf, "--elf", &elf, "--from", "sym:sum"]);
    assert_eq!((exit, &found["equal"]), (Some(0), &json!(true)), "{found}");
}

/// Of several sources some have no traps and no contexts: what was compared in others is not listed as not compared.
#[test]
fn sources_that_lack_something_do_not_hide_what_others_have() {
    let Some(ete) = trackway_testkit::corpus_part("ete") else { return };
    let juno = ete.join("juno_r1_1").display().to_string();
    let shown = stdout(&["diff", &juno, &juno]);
    assert!(shown.starts_with("equal: 25262 instructions, 105 traps, 290 contexts\n"), "{shown}");
    assert!(shown.contains("not compared: times: neither trace has any"), "{shown}");
    assert!(!shown.contains("compared: traps") && !shown.contains("compared: contexts"), "{shown}");
}

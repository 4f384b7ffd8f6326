//! The program as a user runs it, on data in the repository: what it shows and writes.

mod common;

use std::path::Path;

use common::{Folder, piped, repo, stdout, text, trackway};

#[test]
fn info_says_what_it_is() {
    let output = trackway(&["info", &repo("testdata/stf/sort/trace.stf")]);
    assert_eq!(output.status.code(), Some(0));
    let text = text(&output.stdout);
    for line in [
        "format:            stf",
        "version:           1.3",
        "isa:               rv64",
        "instructions:      297",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(
        text.contains("health: 1102 items, 297 instructions, 0 gaps, 0 doubtful runs, 0 bytes skipped"),
        "{text}"
    );

    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["info", "--json", &repo("testdata/stf/sort/trace.stf")]))
            .expect("JSON");
    assert_eq!(json["trackway"], serde_json::json!({ "kind": "info", "schema": 2 }));
    assert_eq!(json["instructions"], 297);
    let opcodes = serde_json::json!({ "name": "INST_OPCODE32", "count": 174 });
    assert!(json["item_kinds"].as_array().unwrap().contains(&opcodes), "{json}");
    assert_eq!((&json["first_pc"], &json["complete"]), (&"0x100e8".into(), &true.into()));
}

#[test]
fn dump_shapes() {
    let trace = repo("testdata/stf/sort/trace.stf");
    let pcs = stdout(&["dump", "--as", "pcs", &trace]);
    assert_eq!(pcs.lines().count(), 296, "the ECALL was only attempted");
    assert!(pcs.lines().all(|line| line.len() == 16));
    assert_eq!(pcs.lines().next(), Some("00000000000100e8"));
    assert_eq!(stdout(&["dump", "--as", "pcs", "--attempted", &trace]).lines().count(), 297);

    let runs = stdout(&["dump", "--as", "runs", &trace]);
    let instructions: u64 =
        runs.lines().map(|line| line.split(' ').nth(2).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(instructions, 297);
    assert_eq!(runs.lines().next(), Some("00000000000100e8 00000000000100f6 4 call"));
    assert!(runs.lines().last().unwrap().ends_with(" trap"), "{runs}");

    let part = stdout(&["dump", "--skip", "100", "--limit", "3", "--as", "pcs", &trace]);
    let all: Vec<&str> = pcs.lines().collect();
    assert_eq!(part.lines().collect::<Vec<_>>(), all[100..103]);

    let text = stdout(&["dump", "--limit", "4", &trace]);
    assert!(text.contains("        1  00000000000100ec  0b853503  ld a0,184(a0)"), "{text}");
    assert!(text.contains("mem read  00000000000111a0 8 = 0000000000011148"), "{text}");

    let elf = repo("programs/riscv/sort.elf");
    let everything = stdout(&["dump", &repo("testdata/stf/everything/trace.stf")]);
    assert!(everything.contains("mark kind=note \"a note in the body\"\n"), "{everything}");

    let text = stdout(&["dump", "--limit", "7", "--elf", &elf, &trace]);
    assert!(text.contains("<_start+0x4>") && text.contains("<sort>"), "{text}");
}

#[test]
fn dump_from_and_to() {
    let trace = repo("testdata/stf/sort/trace.stf");
    let elf = repo("programs/riscv/sort.elf");
    let pcs = |arguments: &[&str]| -> Vec<String> {
        let mut all = vec!["dump", "--as", "pcs", "--elf", &elf, &trace];
        all.extend_from_slice(arguments);
        stdout(&all).lines().map(str::to_string).collect()
    };
    let all = pcs(&[]);
    assert_eq!(pcs(&["--from", "100", "--to", "110"]), all[100..110]);
    let sum = all.iter().position(|pc| pc == "0000000000010136").expect("it is called");
    assert_eq!(pcs(&["--from", "sym:sum"]), all[sum..]);
    assert_eq!(pcs(&["--from", "pc:0x10136", "--limit", "3"]), all[sum..sum + 3]);
    assert_eq!(pcs(&["--from", "sym:sort", "--to", "sym:sum"]), all[4..sum]);
    assert_eq!(trackway(&["dump", "--from", "sym:nothing", &trace]).status.code(), Some(2));
    assert_eq!(trackway(&["dump", "--from", "pc:0x4", &trace]).status.code(), Some(2), "it is never reached");
    assert_eq!(pcs(&["--from", "296", "--attempted"]).len(), 1);
    let output = trackway(&["dump", "--from", "297", &trace]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("the trace never reaches 297"), "{}", text(&output.stderr));
    assert_eq!(
        pcs(&["--from", "end-10", "--to", "end", "--attempted"]),
        pcs(&["--skip", "287", "--attempted"])
    );
    assert_eq!(pcs(&["--to", "end-287"]), all[..10]);
    let nothing = trackway(&["dump", "--from", "sym:sum", "--to", "3", "--elf", &elf, &trace]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(
        text(&nothing.stderr).contains("nothing lies between sym:sum and 3"),
        "{}",
        text(&nothing.stderr)
    );
    let past = trackway(&["dump", "--from", "5", "--to", "trap:9", "--as", "pcs", &trace]);
    assert!(past.status.success() && text(&past.stderr).contains("never reaches trap:9"));
}

#[test]
fn dump_between_events_and_from_a_stream() {
    let trace = repo("testdata/stf/everything/trace.stf");
    let events = stdout(&["dump", "--as", "events", &trace]);
    let (first, second) = (events.find("trap ").unwrap(), events.find("trap kind=return").unwrap());
    let line = |at: usize| events[..at].rfind('\n').unwrap() + 1;
    let part = stdout(&["dump", "--as", "events", "--from", "trap:0", "--to", "trap:1", &trace]);
    assert_eq!(part, events[line(first)..line(second)]);
    let bytes = std::fs::read(&trace).unwrap();
    let piped_part = piped(&["dump", "--as", "events", "--from", "trap:0", "--to", "trap:1", "-"], &bytes);
    assert_eq!(text(&piped_part.stdout), part);
    let end = piped(&["dump", "--from", "end-2", "-"], &bytes);
    assert_eq!(end.status.code(), Some(2));
    assert!(text(&end.stderr).contains("end-2: a stream cannot be read twice"), "{}", text(&end.stderr));

    // A position is found on the way, but a conversion has to know it before.
    let later = ["dump", "--as", "pcs", "--from", "pc:0x8000000c"];
    assert_eq!(
        text(&piped(&[&later[..], &["-"]].concat(), &bytes).stdout),
        stdout(&[&later[..], &[&trace]].concat())
    );
    let part = piped(&["convert", "-", "-", "--into", "stf", "--from", "pc:0x8000000c"], &bytes);
    assert_eq!(part.status.code(), Some(2));
    assert!(
        text(&part.stderr).contains("pc:0x8000000c: a stream cannot be read twice"),
        "{}",
        text(&part.stderr)
    );
}

#[test]
fn convert_a_part() {
    let folder = Folder::new("convert-part");
    let (trace, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let all = stdout(&["dump", "--as", "pcs", "--attempted", &trace]);
    let all: Vec<&str> = all.lines().collect();
    for output in ["part.stf", "part.tv"] {
        let part = folder.file(output);
        let args = ["convert", &trace, &part, "--elf", &elf, "--from", "sym:sort", "--to", "end-7", "--json"];
        let report = stdout(&args);
        assert!(report.contains("\"proved\":true"), "{output}: {report}");
        let pcs = stdout(&["dump", "--as", "pcs", "--attempted", &part]);
        assert_eq!(pcs.lines().collect::<Vec<_>>(), all[4..290], "{output}");
    }
    let nothing = trackway(&["convert", &trace, &folder.file("no.tv"), "--from", "1000"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("nothing to convert from 1000"), "{}", text(&nothing.stderr));
}

#[test]
fn events_are_re_readable_and_json_has_the_same() {
    let trace = repo("testdata/stf/everything/trace.stf");
    let lines = stdout(&["dump", "--as", "events", &trace]);
    let mut batch = trackway_core::Batch::default();
    for line in lines.lines() {
        assert!(batch.read_line(line).is_some(), "{line}");
    }
    let json = stdout(&["dump", "--jsonl", &trace]);
    assert_eq!(json.lines().count(), lines.lines().count());
    for (line, json) in lines.lines().zip(json.lines()) {
        let object: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(object["event"].as_str(), line.split(' ').nth(1));
    }
}

#[test]
fn raw_shows_items() {
    let trace = repo("testdata/stf/sort/trace.stf");
    let raw = stdout(&["dump", "--raw", &trace]);
    let wanted = std::fs::read_to_string(repo("testdata/stf/sort/expect.items")).unwrap();
    assert_eq!(raw, wanted);
    assert_eq!(stdout(&["dump", "--raw", "--skip", "9", "--limit", "1", &trace]), "0x00000075 END_HEADER\n");
    let object: serde_json::Value =
        serde_json::from_str(stdout(&["dump", "--raw", "--jsonl", "--limit", "1", &trace]).trim()).unwrap();
    assert_eq!((object["item"].as_str(), object["offset"].as_u64()), (Some("IDENTIFIER"), Some(0)));
}

#[test]
fn convert_between_containers_keeps_every_byte() {
    let folder = Folder::new("containers");
    let trace = repo("testdata/stf/sort/trace.stf");
    let original = std::fs::read(&trace).unwrap();
    for name in ["a.zstf", "a.stf.gz", "a.stf.xz", "a.stf.zst", "a.stf"] {
        let (packed, back) = (folder.file(name), folder.file("back.stf"));
        let output = trackway(&["convert", &trace, &packed, "--chunk", "50"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        // Recognised by content: under any name.
        let renamed = folder.file("renamed.bin");
        std::fs::copy(&packed, &renamed).unwrap();
        assert_eq!(trackway(&["convert", &renamed, &back, "--into", "stf"]).status.code(), Some(0), "{name}");
        assert_eq!(std::fs::read(&back).unwrap(), original, "{name}");
        // And through pipes.
        let output = piped(&["convert", "-", "-"], &std::fs::read(&packed).unwrap());
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        assert_eq!(output.stdout, original, "{name}");
    }
}

#[test]
fn convert_keeps_an_account() {
    let folder = Folder::new("account");
    let (out, ledger) = (folder.file("out.zstf"), folder.file("ledger.json"));
    // A version of our own goes through events.
    let output = trackway(&[
        "convert",
        &repo("testdata/stf/sort/trace.stf"),
        &out,
        "--stf-version",
        "1.5",
        "--ledger",
        &ledger,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("kept     297  instructions"), "{}", text(&output.stderr));
    let object: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(ledger).unwrap()).unwrap();
    assert_eq!(object["trackway"]["kind"], "convert");
    assert!(stdout(&["info", &out]).contains("version:           1.5"));
    let pcs = |path: &str| stdout(&["dump", "--as", "pcs", path]);
    assert_eq!(pcs(&out), pcs(&repo("testdata/stf/sort/trace.stf")));
}

#[test]
fn check_finds_and_waives() {
    let trace = repo("testdata/stf/sort/trace.stf");
    assert_eq!(trackway(&["check", &trace]).status.code(), Some(0), "notes do not count");
    let everything = repo("testdata/stf/everything/trace.stf");
    let waive = ["check", "--waive", "stf.opcode-width", "--waive", "stf.walk-entries", &everything];
    assert_eq!(trackway(&waive).status.code(), Some(0), "notes do not count");
    let strict = [&waive[..], &["--strict"]].concat();
    assert_eq!(trackway(&strict).status.code(), Some(1), "unless asked");
    let waived = trackway(&[&strict[..], &["--waive", "stf.bus-master"]].concat());
    assert_eq!(waived.status.code(), Some(0), "{}", text(&waived.stdout));

    let folder = Folder::new("check");
    let bad = folder.file("bad.stf");
    let mut bytes = std::fs::read(&trace).unwrap();
    bytes.push(255); // RESERVE_END
    bytes.extend([240, 0x13, 0, 0, 0]);
    std::fs::write(&bad, &bytes).unwrap();
    let output = trackway(&["check", &bad]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).contains("[stf.reserve-end-last, STFReserveEndRecord (255)]"),
        "{}",
        text(&output.stdout)
    );
    let json: serde_json::Value =
        serde_json::from_slice(&trackway(&["check", "--json", &bad]).stdout).unwrap();
    assert_eq!(json["counts"]["errors"], 1);
}

#[test]
fn pages_come_from_the_same_definitions() {
    for shell in ["bash", "zsh", "fish"] {
        let output = trackway(&["completions", shell]);
        assert!(output.status.success() && text(&output.stdout).contains("convert"), "{shell}");
    }
    assert!(stdout(&["man"]).contains(".TH trackway"));
    assert!(stdout(&["man", "dump"]).contains("retired instruction"));
    assert_eq!(trackway(&["man", "nothing"]).status.code(), Some(2));
}

/// A packed crate has files of its own folder only, so the demo's are copies.
#[test]
fn demo_has_the_programs_of_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (copy, original) in [
        ("demo/sort.elf", "../../programs/riscv/sort.elf"),
        ("demo/sort-a64.elf", "../../programs/aarch64/sort.elf"),
        ("demo/sort-a64.astf", "../../testdata/astf/sort.astf"),
    ] {
        let read = |path: &str| std::fs::read(root.join(path)).unwrap();
        assert!(read(copy) == read(original), "{copy} is not {original}");
    }
}

#[test]
fn demo_agrees() {
    let folder = Folder::new("demo");
    let output = trackway(&["demo", &folder.file("out")]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let text = text(&output.stdout);
    assert!(text.contains("the same") && !text.contains("DIFFERS"), "{text}");
    assert!(Path::new(&folder.file("out/sort.zstf")).is_file());
    // The commands that it proposes work.
    let folder = folder.file("out");
    for line in text.lines().filter_map(|line| line.strip_prefix("  trackway ")) {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(line.contains(&folder));
        assert!(trackway(&words).status.success(), "{line}");
    }
}

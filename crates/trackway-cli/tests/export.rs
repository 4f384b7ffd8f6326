//! `trackway export`: tables and traces for simulators.

mod common;

use std::path::Path;

use common::{Folder, piped, repo, stdout, text, trackway};
use serde_json::Value as Json;

fn sort() -> (String, String) {
    (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"))
}

#[test]
fn csv_has_a_row_per_instruction() {
    let folder = Folder::new("export-csv");
    let ((trace, elf), out) = (sort(), folder.file("sort.csv"));
    stdout(&["export", &trace, &out, "--elf", &elf, "-q"]);
    let csv = std::fs::read_to_string(&out).unwrap();
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("source,number,pc,encoding,length,retired,class,mnemonic,taken,target")
    );
    assert_eq!(lines.next(), Some("0,0,0x100e8,0x1517,4,true,integer,auipc,,,_start,,,,,1,false,157"));
    assert_eq!(lines.count(), 296);
    // A window, on stdout, with some columns.
    let part = [
        "export",
        &trace,
        "-",
        "--as",
        "csv",
        "--from",
        "3",
        "--to",
        "5",
        "--columns",
        "number,pc,target",
        "-q",
    ];
    assert_eq!(stdout(&part), "number,pc,target\n3,0x100f2,0x1010c\n4,0x1010c,\n");
}

/// The rows hold what `dump --jsonl` shows.
#[test]
fn json_lines_are_the_events() {
    for (trace, elf) in [
        sort(),
        (repo("testdata/astf/sort.astf"), String::new()),
        (repo("testdata/stf/everything/trace.stf"), String::new()),
    ] {
        let program: &[&str] = if elf.is_empty() { &[] } else { &["--elf", &elf] };
        let read = |args: &[&str]| -> Vec<Json> {
            let text = stdout(&[args, program].concat());
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        let events = read(&["dump", "--jsonl", &trace]);
        let tables = "instructions,memory,registers,traps,contexts,times,marks,gaps";
        let rows = read(&["export", &trace, "-", "--as", "jsonl", "--tables", tables, "-q"]);
        let of = |table: &str| rows.iter().filter(|row| row["table"] == table).collect::<Vec<_>>();
        let steps: Vec<&Json> = events.iter().filter(|event| event["event"] == "step").collect();
        let instructions = of("instructions");
        assert_eq!(instructions.len(), steps.len(), "{trace}");
        for (row, step) in instructions.iter().zip(&steps) {
            for key in ["number", "pc", "class"] {
                assert_eq!(row[key], step[key], "{trace} {row} {step}");
            }
            assert_eq!(row["byte_offset"], step["offset"]);
            assert_eq!(row["retired"], step["outcome"] == "retired");
        }
        let count = |key: &str| -> usize {
            events.iter().filter_map(|event| event[key].as_array().map(Vec::len)).sum()
        };
        assert_eq!(
            (of("memory").len(), of("registers").len()),
            (count("memory"), count("registers")),
            "{trace}"
        );
        for (table, kind) in [
            ("traps", "trap"),
            ("contexts", "context"),
            ("times", "time"),
            ("marks", "mark"),
            ("gaps", "gap"),
        ] {
            let expected = events.iter().filter(|event| event["event"] == kind).count();
            assert_eq!(of(table).len(), expected, "{trace} {table}");
        }
    }
}

#[test]
fn a_flow_trace_has_runs_and_instructions() {
    let trace = repo("testdata/ete/count");
    let rows = stdout(&["export", &trace, "-", "--as", "jsonl", "--tables", "runs,instructions", "-q"]);
    let rows: Vec<Json> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let runs: u64 = rows.iter().filter_map(|row| row["instructions"].as_u64()).sum();
    let steps = rows.iter().filter(|row| row["table"] == "instructions").count();
    assert!(steps > 0 && runs == steps as u64, "{runs} in runs, {steps} instructions");
}

#[test]
fn a_folder_is_whole_or_not_there() {
    let folder = Folder::new("export-folder");
    let ((trace, elf), out) = (sort(), folder.file("tables"));
    let dir = format!("{out}/");
    let args = ["export", &trace, &dir, "--as", "jsonl", "--elf", &elf, "--parts", "3", "--json", "-q"];
    let object: Json = serde_json::from_str(&stdout(&args)).unwrap();
    let rows = |name: &str| {
        let tables = object["tables"].as_array().unwrap();
        tables.iter().find(|table| table["name"] == name).unwrap()["rows"].as_u64().unwrap()
    };
    assert_eq!((rows("instructions"), rows("memory")), (297, 104));
    let lines = |table: &str| -> usize {
        let files = std::fs::read_dir(Path::new(&out).join(table)).unwrap();
        files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap().lines().count()).sum()
    };
    assert_eq!((lines("instructions"), lines("memory"), lines("gaps")), (297, 104, 0));
    assert!(!Path::new(&format!("{out}.partial")).exists());
    let again = trackway(&args);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("is there already"), "{}", text(&again.stderr));
}

/// A run that was interrupted leaves its parts, and the next one continues with them.
#[test]
fn an_unfinished_folder_is_continued() {
    let folder = Folder::new("export-resume");
    let mix = folder.file("mix.stf");
    stdout(&["record", &repo("programs/riscv/elf/rv64-mix.elf"), "-o", &mix, "-q", "--to", "40000"]);
    let (one, other) = (folder.file("one"), folder.file("other"));
    let export = |out: &str, parts: &str| {
        let dir = format!("{out}/");
        trackway(&["export", &mix, &dir, "--as", "csv", "--tables", "instructions", "--parts", parts, "-q"])
    };
    assert!(export(&one, "4").status.success());
    // Part 2 is done and holds something that only a part that is kept would.
    std::fs::create_dir_all(format!("{other}.partial/instructions")).unwrap();
    std::fs::copy(format!("{one}/export.json"), format!("{other}.partial/export.json")).unwrap();
    std::fs::write(format!("{other}.partial/done-00002.json"), r#"{"tables":{"instructions":[1,1]},"uncoded":0,"counts":{"instructions":1,"gaps":0,"unfollowed":0,"doubtful":0,"skipped":0,"by_source":[1]}}"#).unwrap();
    let part = "instructions/source-0-part-00002.csv";
    std::fs::write(format!("{other}.partial/{part}"), "kept\n").unwrap();
    assert!(export(&other, "4").status.success());
    assert_eq!(std::fs::read_to_string(format!("{other}/{part}")).unwrap(), "kept\n");
    let first = "instructions/source-0-part-00001.csv";
    assert_eq!(
        std::fs::read(format!("{other}/{first}")).unwrap(),
        std::fs::read(format!("{one}/{first}")).unwrap()
    );
    assert!(!Path::new(&format!("{other}/done-00002.json")).exists());
    // Another question begins anew; a folder that is not ours is not touched.
    std::fs::rename(&other, format!("{other}.partial")).unwrap();
    assert!(export(&other, "3").status.success());
    // So do other settings of the trace.
    std::fs::copy(format!("{one}/export.json"), folder.file("export.json")).unwrap();
    let settings = folder.file("settings.toml");
    std::fs::write(&settings, "[stf]\nprocess_id = \"spec\"\n").unwrap();
    let configured = folder.file("configured");
    std::fs::create_dir_all(format!("{configured}.partial/instructions")).unwrap();
    std::fs::rename(folder.file("export.json"), format!("{configured}.partial/export.json")).unwrap();
    std::fs::write(format!("{configured}.partial/{part}"), "old\n").unwrap();
    let dir = format!("{configured}/");
    let shape = ["--as", "csv", "--tables", "instructions", "--parts", "4", "-q", "--config", &settings];
    let configured_run = trackway(&[&["export", &mix, &dir][..], &shape].concat());
    assert!(configured_run.status.success(), "{}", text(&configured_run.stderr));
    let about = std::fs::read_to_string(format!("{configured}/export.json")).unwrap();
    assert!(about.contains("process_id"), "{about}");
    std::fs::create_dir_all(folder.file("else.partial")).unwrap();
    let refused = export(&folder.file("else"), "3");
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn what_means_nothing_is_refused() {
    let folder = Folder::new("export-refused");
    let (trace, _) = sort();
    for (args, reason) in [
        (&["out.xlsx"][..], "no shape has this name"),
        (&["out.csv", "--tables", "memory,traps"], "one table per file"),
        (&["out.csv", "--tables", "heap"], "tables are instructions"),
        (&["out.csv", "--columns", "address"], "not a column of instructions"),
        (&["out.csv", "--integers", "signed"], "it is for Parquet and Arrow"),
        (&["out.csv", "--parts", "3"], "it is for a folder"),
        (&["out.csv", "--ledger", "x.json"], "it is for --as champsim"),
        (&["out.champsim", "--as", "champsim", "--columns", "pc"], "has no columns"),
        (&["out.csv", "--from", "9", "--to", "9"], "nothing lies between"),
        (&["out.csv", "--max-size", "0"], "would have more than 0 MB"),
    ] {
        let out = folder.file(args[0]);
        let output = trackway(&[&["export", &trace, &out], &args[1..]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(reason), "{args:?}: {said}");
    }
    if !cfg!(feature = "columns") {
        for out in ["out.parquet", "out.arrow", "tables/"] {
            let output = trackway(&["export", &trace, &folder.file(out)]);
            assert_eq!(output.status.code(), Some(2));
            assert!(text(&output.stderr).contains("--features columns"), "{}", text(&output.stderr));
        }
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "nothing is left");
}

/// Rows before damage are written, and the exit code says that it ended there.
#[test]
fn a_truncated_trace_has_its_rows() {
    let folder = Folder::new("export-cut");
    let bytes = std::fs::read(sort().0).unwrap();
    let (cut, out) = (folder.file("cut.stf"), folder.file("cut.csv"));
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let output = trackway(&["export", &cut, &out]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(&out).unwrap().lines().count() > 290);
    let dir = folder.file("tables/");
    assert_eq!(trackway(&["export", &cut, &dir, "--as", "csv"]).status.code(), Some(3));
    assert!(folder.0.join("tables/instructions/source-0-part-00001.csv").exists());
}

#[test]
fn champsim_has_a_record_per_retired_instruction() {
    let folder = Folder::new("export-champsim");
    let ((trace, _), out, ledger) = (sort(), folder.file("sort.champsim"), folder.file("ledger.json"));
    for (shape, size) in [("champsim", 64), ("champsim-cloudsuite", 96)] {
        stdout(&["export", &trace, &out, "--as", shape, "--ledger", &ledger, "-q"]);
        let bytes = std::fs::read(&out).unwrap();
        assert_eq!(bytes.len(), 296 * size);
        let ips: Vec<u64> =
            bytes.chunks(size).map(|record| u64::from_le_bytes(record[..8].try_into().unwrap())).collect();
        let pcs = stdout(&["dump", &trace, "--as", "pcs"]);
        let pcs: Vec<u64> = pcs.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect();
        assert_eq!(ips, pcs);
        let ledger: Json = serde_json::from_slice(&std::fs::read(&ledger).unwrap()).unwrap();
        assert_eq!((&ledger["records"], ledger["notes"].as_array().unwrap().len()), (&296.into(), 3));
        let entries = ledger["ledger"].as_array().unwrap();
        let dropped = |what: &str| entries.iter().any(|one| one["fate"] == "dropped" && one["what"] == what);
        assert!(dropped("memory data") && dropped("encodings") && dropped("attempted instructions"));
    }
    let strict = trackway(&["export", &trace, &out, "--as", "champsim", "--strict"]);
    assert_eq!(strict.status.code(), Some(4), "{}", text(&strict.stderr));
    // Compressed by its name, and from a pipe.
    let packed = folder.file("sort.champsim.gz");
    let output = piped(&["export", "-", &packed, "--as", "champsim", "-q"], &std::fs::read(&trace).unwrap());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(std::fs::read(&packed).unwrap().starts_with(b"\x1f\x8b"));
}

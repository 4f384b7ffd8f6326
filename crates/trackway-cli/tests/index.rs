//! `trackway index`, and the same output with and without an index in every shape.

mod common;

use common::{Folder, program, repo, stdout, text, trackway};
use trackway_testkit::corpus_part;

/// A recorded run in the formats that hold it, with the options that open it.
fn traces(folder: &Folder) -> Vec<Vec<String>> {
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let stf = folder.file("mix.stf");
    stdout(&["record", &elf, "-o", &stf, "-q"]);
    let mut traces = vec![vec![stf.clone(), "--elf".into(), elf.clone()]];
    for name in ["mix.zstf", "mix.tv", "mix.etrace"] {
        let out = folder.file(name);
        stdout(&["convert", &stf, &out, "--elf", &elf, "--no-prove", "-q"]);
        traces.push(vec![out, "--elf".into(), elf.clone()]);
    }
    traces
}

fn both(args: &[&str]) -> String {
    let plain = trackway(&[args, &["--no-index"]].concat());
    let indexed = trackway(args);
    assert_eq!(text(&indexed.stdout), text(&plain.stdout), "{args:?}");
    assert_eq!(text(&indexed.stderr), text(&plain.stderr), "{args:?}");
    assert_eq!(indexed.status.code(), plain.status.code(), "{args:?}");
    text(&indexed.stdout)
}

const SHAPES: [&[&str]; 6] = [
    &["--as", "text"],
    &["--as", "pcs"],
    &["--as", "runs"],
    &["--as", "events"],
    &["--jsonl"],
    &["--as", "runs", "--jsonl"],
];

#[test]
fn every_shape_is_the_same_with_and_without() {
    let folder = Folder::new("index-shapes");
    for trace in traces(&folder) {
        let trace: Vec<&str> = trace.iter().map(String::as_str).collect();
        let shown = stdout(&[&["index"], &trace[..]].concat());
        assert!(shown.contains("156314 instructions") && shown.contains(" places"), "{shown}");
        for shape in SHAPES {
            for from in ["100000", "trap:0", "end-50", "pc:0x80000000", "sym:run", "156314", "time:5"] {
                let limit = ["--limit", "30", "--from", from];
                both(&[&["dump"], &trace[..], shape, &limit].concat());
            }
            let shown =
                both(&[&["dump"], &trace[..], shape, &["--from", "150000", "--to", "150040"]].concat());
            assert!(!shown.is_empty());
            both(
                &[&["dump"], &trace[..], shape, &["--from", "100000", "--to", "trap:0", "--limit", "9"]]
                    .concat(),
            );
        }
    }
}

#[test]
fn corpus_traces_are_the_same_with_and_without() {
    let (Some(stf), Some(ete)) = (corpus_part("stf"), corpus_part("ete")) else { return };
    let folder = Folder::new("index-corpus");
    let mut tried = 0;
    let mut files: Vec<_> = std::fs::read_dir(&stf).unwrap().flatten().map(|entry| entry.path()).collect();
    files.extend(std::fs::read_dir(&ete).unwrap().flatten().map(|entry| entry.path()));
    files.sort();
    for path in files {
        let file = path.display().to_string();
        let source: Vec<String> = match trackway(&["info", "--json", &file]) {
            info if !info.status.success() => continue,
            info => serde_json::from_slice::<serde_json::Value>(&info.stdout)
                .ok()
                .and_then(|info| Some(info["sources"].as_array()?.first()?["name"].as_str()?.to_string()))
                .map_or(Vec::new(), |name| vec!["--source".into(), name]),
        };
        let copy = folder.file(&path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            std::fs::create_dir_all(&copy).unwrap();
            for entry in std::fs::read_dir(&path).unwrap().flatten().filter(|entry| entry.path().is_file()) {
                std::fs::copy(entry.path(), std::path::Path::new(&copy).join(entry.file_name())).unwrap();
            }
        } else {
            std::fs::copy(&path, &copy).unwrap();
        }
        if !trackway(&["index", &copy, "-q"]).status.success() {
            continue;
        }
        let mut args = vec!["dump", &copy, "--limit", "20", "--as", "events"];
        args.extend(source.iter().map(String::as_str));
        for from in ["20000", "end-10", "trap:1", "gap:0"] {
            both(&[&args[..], &["--from", from]].concat());
        }
        tried += 1;
    }
    assert!(tried > 3, "{tried} traces of the corpus");
}

#[test]
fn build_show_remove() {
    let folder = Folder::new("index-command");
    let trace = folder.file("sort.stf");
    std::fs::copy(repo("testdata/stf/sort/trace.stf"), &trace).unwrap();
    let twx = format!("{trace}.twx");
    let none = trackway(&["index", "--show", &trace]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("there is no index"), "{}", text(&none.stderr));
    let built = stdout(&["index", &trace]);
    assert!(
        built.starts_with(&format!("{twx}: ")) && built.contains("297 instructions, 0 places"),
        "{built}"
    );
    assert!(stdout(&["index", "--show", &trace]).contains("297 instructions"));
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["index", "--show", "--json", &trace])).unwrap();
    assert_eq!(json["trackway"]["kind"], "index");
    assert_eq!(
        (&json["sources"][0]["instructions"], &json["sources"][0]["complete"]),
        (&297.into(), &true.into())
    );
    // One that does not belong to it is ignored, with a word, and everything works.
    for (bytes, word) in [
        (&b"not an index at all, whatever its name says it is"[..], "it is not an index of Trackway"),
        (&[&std::fs::read(&twx).unwrap()[..], &[0]].concat(), "it is damaged"),
    ] {
        std::fs::write(&twx, bytes).unwrap();
        let output = trackway(&["dump", "--as", "pcs", "--from", "290", &trace]);
        assert!(output.status.success());
        assert_eq!(text(&output.stdout).lines().count(), 6);
        assert_eq!(text(&output.stderr), format!("{twx}: the index is ignored: {word}\n"));
        assert_eq!(text(&trackway(&["info", "-q", &trace]).stderr), "");
        assert_eq!(text(&trackway(&["dump", "--as", "pcs", "--no-index", &trace]).stderr), "");
    }
    let removed = trackway(&["index", "--remove", &trace]);
    assert!(removed.status.success() && text(&removed.stderr).contains("removed: "));
    assert!(!std::path::Path::new(&twx).exists());
    assert!(text(&trackway(&["index", "--remove", &trace]).stderr).contains("there is no index"));
    for args in
        [&["index", "-"][..], &["index", "--no-index", &trace], &["index", "--show", "--remove", &trace]]
    {
        assert_eq!(trackway(args).status.code(), Some(2), "{args:?}");
    }
    assert_eq!(trackway(&["index", &folder.file("nothing.stf")]).status.code(), Some(3));
}

#[test]
fn nothing_is_made_for_a_trace_that_is_read_at_once() {
    let folder = Folder::new("index-quick");
    let cache = folder.file("cache");
    let trace = repo("testdata/stf/sort/trace.stf");
    let output = program().env("TRACKWAY_CACHE", &cache).args(["stats", &trace]).output().unwrap();
    assert!(output.status.success() && !std::path::Path::new(&cache).exists());
}

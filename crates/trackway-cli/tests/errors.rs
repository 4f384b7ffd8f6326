//! The program when things go wrong: damaged input, wrong usage, output that fails; exit codes, places, and how it reads.

mod common;

use std::path::Path;
use std::process::{Output, Stdio};

use common::{Folder, piped, program, repo, stdout, text, trackway};

#[test]
fn damage_is_told_with_its_place_and_what_came_before_is_shown() {
    let folder = Folder::new("damage");
    let original = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    let path = folder.file("damaged.stf");
    // An unknown descriptor in place of the first opcode.
    let mut bytes = original.clone();
    let at = bytes.iter().position(|&byte| byte == 240).unwrap();
    bytes[at] = 200;
    std::fs::write(&path, &bytes).unwrap();
    let output = trackway(&["dump", "--raw", &path]);
    assert_eq!(output.status.code(), Some(3));
    let error = text(&output.stderr);
    assert!(error.contains(&format!("{at:#x}: record.descriptor: 0xc8 is not known")), "{error}");
    let caret = error.lines().find(|line| line.trim() == "^").expect("a caret");
    let hex =
        error.lines().find(|line| line.starts_with("  000") && line.contains(" c8 ")).expect("the bytes");
    assert_eq!(hex.find("c8"), caret.find('^'), "{error}");
    assert!(error.contains("try:"), "{error}");
    assert!(text(&output.stdout).contains("END_HEADER"));

    // A cut in the last record: the rest is shown, the exit code tells.
    std::fs::write(&path, &original[..original.len() - 1]).unwrap();
    let output = trackway(&["dump", "--as", "pcs", &path]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr).contains("truncated: the input ends in the middle of this item"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(text(&output.stdout).lines().count(), 296);
    let output = trackway(&["info", &path]);
    assert_eq!(
        (output.status.code(), text(&output.stdout).contains("instructions:      297")),
        (Some(3), true)
    );
}

/// Every command shows all 297 instructions.
fn is_whole(path: &str) {
    let pcs = trackway(&["dump", "--as", "pcs", "--attempted", path]);
    assert_eq!(text(&pcs.stdout).lines().count(), 297);
    let stats = text(&trackway(&["stats", path]).stdout);
    assert!(stats.contains(&format!("  {:<32} {:>14}\n", "total", 297)), "{stats}");
    let info = text(&trackway(&["info", path]).stdout);
    assert!(info.contains("instructions:      297\n"), "{info}");
}

/// Every way that a container can be broken: what there is comes out, the place is told, and the exit code is that of an error
/// that ends decoding, the same for every command.
#[test]
fn broken_containers_are_told_alike() {
    let folder = Folder::new("containers-broken");
    let (whole, path) = (folder.file("whole.zstf"), folder.file("broken.zstf"));
    stdout(&["convert", &repo("testdata/stf/sort/trace.stf"), &whole, "--chunk", "100"]);
    let bytes = std::fs::read(&whole).unwrap();
    let index = u64::from_le_bytes(bytes[12..20].try_into().unwrap()) as usize;
    let with = |at: usize, word: u64| [&bytes[..at], &word.to_le_bytes(), &bytes[at + 8..]].concat();
    // Damage in the index, which the records overrule; check has a finding.
    let cases = [
        (with(index, 1 << 60), format!("chunk count 0x1000000000000000 at {index:#x} of the file")),
        (with(index + 32, 3), format!("at {:#x} of the file", index + 32)),
        (with(index + 8 + 48 + 16, 5), format!("at {:#x} of the file", index + 72)),
        (with(12, u64::MAX - 4), "at 0xc of the file".to_string()),
    ];
    let commands =
        [&["info"][..], &["dump", "--as", "pcs", "--attempted"], &["dump", "--raw"], &["check"], &["stats"]];
    for (broken, place) in cases {
        std::fs::write(&path, &broken).unwrap();
        for args in commands {
            let output = trackway(&[args, &[&path]].concat());
            let code = if args[0] == "check" { 1 } else { 0 };
            assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
            if code == 1 {
                let found = text(&output.stdout);
                assert!(
                    found.contains(&place) && found.contains("[stf.chunk-index, "),
                    "{place} in\n{found}"
                );
            }
        }
        is_whole(&path);
    }
    // The last byte is missing: all that is in the chunks is there.
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    for args in commands {
        let output = trackway(&[args, &[&path]].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{args:?}: {error}");
        let place = format!("error: {path}: {:#x}: ZSTF index: truncated", bytes.len() - 1);
        assert!(error.contains(&place) && error.lines().any(|line| line.trim() == "^"), "{args:?}: {error}");
    }
    is_whole(&path);
    // Cut inside a chunk: the one before it is there.
    std::fs::write(&path, &bytes[..index / 2]).unwrap();
    for args in [&["info"][..], &["dump", "--as", "pcs"], &["dump", "--raw"], &["check"], &["stats"]] {
        let output = trackway(&[args, &[&path]].concat());
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert!(text(&output.stderr).contains("the file is truncated"), "{args:?}: {}", text(&output.stderr));
    }
}

/// A log of another kind, where the format is forced: every line is wrong, and that is not fine.
#[test]
fn a_file_of_which_nothing_is_read_is_unreadable() {
    for (format, file) in [("tarmac", "testdata/spike/mix.spike"), ("spike", "testdata/riscv-dv/mix.csv")] {
        for command in ["info", "stats", "dump"] {
            let output = trackway(&[command, "--format", format, &repo(file)]);
            assert_eq!(output.status.code(), Some(3), "{command} {format}");
            assert!(text(&output.stderr).contains("nothing of it could be read"), "{command} {format}");
        }
    }
}

/// An error names a file once, and proposes what was not just tried.
#[test]
fn errors_read_well() {
    let folder = Folder::new("errors");
    let error = |args: &[&str]| text(&trackway(args).stderr);
    let nothing = folder.file("nothing.stf");
    assert_eq!(
        error(&["info", &nothing]),
        format!("error: {nothing}: No such file or directory (os error 2)\n")
    );
    assert_eq!(
        error(&["info", &folder.file("")]),
        format!(
            "error: {}: not a trace: ETE, Embedded Trace Extension (and ETMv4): a folder; missing: snapshot.ini\n",
            folder.file("")
        )
    );
    std::fs::write(&nothing, "").unwrap();
    assert_eq!(error(&["info", &nothing]), format!("error: {nothing}: the file is empty\n"));
    assert!(
        error(&["info", "--format", "stf", &nothing])
            .contains("0x0: IDENTIFIER: truncated: the input ends in the middle of this item")
    );
    let mut bytes = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    let opcode = bytes.iter().position(|&byte| byte == 240).expect("an opcode");
    bytes[opcode] = 200;
    std::fs::write(&nothing, &bytes).unwrap();
    let (raw, check) = (error(&["dump", "--raw", &nothing]), error(&["check", &nothing]));
    assert!(!raw.contains("trackway dump --raw") && raw.contains("trackway check"), "{raw}");
    assert!(check.contains("trackway dump --raw") && !check.contains("trackway check"), "{check}");
    // With the options that were given.
    let elf = repo("programs/riscv/sort.elf");
    let check = error(&["check", &nothing, "--format", "stf", "--elf", &elf]);
    assert!(
        check.contains(&format!("trackway dump --raw {nothing} --elf {elf} --format stf shows")),
        "{check}"
    );
    // A wrong option is not the trace's fault.
    let trace = repo("testdata/stf/sort/trace.stf");
    let elf = repo("testdata/stf/sort/expect.items");
    assert_eq!(
        error(&["dump", &trace, "--elf", &elf]),
        format!("error: {elf}: not an ELF file; raw bytes need an address, as PATH@ADDRESS\n")
    );
    assert_eq!(
        error(&["dump", &trace, "--elf", "/none"]),
        "error: /none: No such file or directory (os error 2)\n"
    );
    let config = folder.file("bad.toml");
    std::fs::write(&config, "[stf]\nmiles = 1\n").unwrap();
    assert!(
        error(&["info", &trace, "--config", &config])
            .starts_with(&format!("error: {config}: [stf] miles: unknown key"))
    );
    let old = trackway(&["convert", &trace, &folder.file("old.stf"), "--stf-version", "1.9"]);
    assert_eq!(
        (old.status.code(), text(&old.stderr).as_str()),
        (Some(2), "error: [stf]: version: version 1.9 is not one of 1.2 to 1.6\n")
    );
    assert!(!Path::new(&folder.file("old.stf")).exists());
    for format in ["ASTF", "ETE"] {
        let out = folder.file(&format!("sort.{}", format.to_lowercase()));
        let refused = trackway(&["convert", &trace, &out]);
        let why = format!("error: {out}: {format} holds only Arm traces; this trace is rv64\n");
        assert_eq!((refused.status.code(), text(&refused.stderr)), (Some(2), why));
        assert!(!Path::new(&out).exists());
    }
    let waived = error(&["check", &trace, "--waive", "stf.nonsense"]);
    assert!(waived.contains("--waive stf.nonsense: STF, Simple Trace Format has no such rule"), "{waived}");
    // Several notes are all in the JSON.
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["info", "--json", &repo("testdata/stf/sort/trace.stf")])).unwrap();
    assert_eq!(json["note"], serde_json::json!(["features: 0x42c"]));
}

/// Stderr is a pipe without a reader.
#[test]
fn a_closed_stderr_is_not_an_error() {
    let folder = Folder::new("stderr");
    let trace = repo("testdata/stf/sort/trace.stf");
    for (args, code) in [
        (&["convert", &trace, &folder.file("a.tandem")][..], 0),
        (&["check", &trace], 0),
        (&["info", "/none"], 3),
    ] {
        let output = program().args(args).stderr(nobody()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
}

/// The output is to blame where it is: full, gone, or not fit for what was asked.
#[test]
fn output_that_fails_is_told_as_such() {
    let trace = repo("testdata/stf/sort/trace.stf");
    let output = trackway(&["convert", &trace, "-", "--container", "zstf"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("an output that can seek"), "{}", text(&output.stderr));
    for args in [
        &["convert", &trace, "-"][..],
        &["convert", &trace, "-", "--stf-version", "1.5", "-q"],
        &["record", &repo("programs/riscv/sort.elf"), "-o", "-", "--into", "stf", "-q"],
    ] {
        let closed = closed_pipe(args);
        assert_eq!((closed.status.code(), text(&closed.stderr)), (Some(0), String::new()), "{args:?}");
    }
    if std::path::Path::new("/dev/full").exists() {
        for args in [
            &["convert", &trace, "/dev/full", "--container", "plain"][..],
            &["convert", &trace, "/dev/full", "--into", "tandem", "-q"],
        ] {
            let output = trackway(args);
            assert_eq!(
                text(&output.stderr),
                "error: /dev/full: No space left on device (os error 28)\n",
                "{args:?}"
            );
            assert_eq!(output.status.code(), Some(5), "{args:?}");
        }
    }
}

#[test]
fn gaps_count_under_strict() {
    let folder = Folder::new("strict");
    let path = folder.file("a.zstf");
    assert!(
        trackway(&["convert", &repo("testdata/stf/sort/trace.stf"), &path, "--chunk", "50"]).status.success()
    );
    let mut bytes = std::fs::read(&path).unwrap();
    let index = u64::from_le_bytes(bytes[12..20].try_into().unwrap()) as usize;
    let second = u64::from_le_bytes(bytes[index + 32..index + 40].try_into().unwrap()) as usize;
    bytes[second..second + 4].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let output = trackway(&["dump", "--as", "pcs", &path]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 246);
    assert!(
        text(&output.stderr).contains("50 instructions") || text(&output.stderr).contains("1 gaps"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(trackway(&["dump", "--strict", "--as", "pcs", &path]).status.code(), Some(4));
}

#[test]
fn usage_and_unreadable() {
    assert_eq!(trackway(&[]).status.code(), Some(2));
    assert_eq!(trackway(&["dump"]).status.code(), Some(2));
    assert_eq!(trackway(&["dump", "--as", "nothing", "x"]).status.code(), Some(2));
    assert_eq!(trackway(&["info", "/does/not/exist"]).status.code(), Some(3));
    let output = piped(&["info", "-"], b"just some text and not a trace");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
    assert!(
        text(&output.stderr).contains("not a trace that Trackway recognises"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(piped(&["info", "-"], b"").status.code(), Some(3));
    let folder = Folder::new("usage");
    let config = folder.file("bad.toml");
    std::fs::write(&config, "[stf]\nsize_unit = \"miles\"\n").unwrap();
    let output = trackway(&["info", "--config", &config, &repo("testdata/stf/sort/trace.stf")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`auto`, `bytes`, `bits`"), "{}", text(&output.stderr));
}

#[test]
fn versions_are_forced() {
    let folder = Folder::new("force");
    let path = folder.file("old.stf");
    let mut bytes = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    bytes[9] = 1;
    std::fs::write(&path, bytes).unwrap();
    let output = trackway(&["info", &path]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("--force"), "{}", text(&output.stderr));
    assert_eq!(trackway(&["info", "--force", &path]).status.code(), Some(0));
}

/// The writing end of a pipe without a reader.
fn nobody() -> Stdio {
    let (_, writer) = std::io::pipe().expect("a pipe");
    writer.into()
}

/// Runs the program with stdout as a pipe without a reader.
fn closed_pipe(args: &[&str]) -> Output {
    program().args(args).stdout(nobody()).output().expect("it runs")
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let trace = repo("testdata/stf/sort/trace.stf");
    for args in [
        &["dump", "--as", "events", &trace][..],
        &["dump", "--as", "runs", &trace],
        &["dump", "--raw", &trace],
        &["info", &trace],
        &["stats", &trace],
        &["man"],
        &["completions", "bash"],
        &["demo"],
    ] {
        let output = closed_pipe(args);
        assert!(text(&output.stderr).is_empty(), "{args:?}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
}

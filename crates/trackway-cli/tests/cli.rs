//! The program as a user runs it, on data in the repository: output, exit codes, errors.

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};

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
    assert!(text.contains("health: 1101 items, 297 instructions, 0 gaps, 0 bytes skipped"), "{text}");

    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["info", "--json", &repo("testdata/stf/sort/trace.stf")]))
            .expect("JSON");
    assert_eq!(json["trackway"]["schema"], 1);
    assert_eq!(json["instructions"], 297);
    assert_eq!(json["item kinds"]["INST_OPCODE32"], 174);
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

    let text = stdout(&["dump", "--limit", "2", &trace]);
    assert!(text.contains("        1  00000000000100ec  0b853503  ld a0,184(a0)"), "{text}");
    assert!(text.contains("mem read  00000000000111a0 8 = 0000000000011148"), "{text}");

    let elf = repo("programs/riscv/sort.elf");
    let text = stdout(&["dump", "--limit", "5", "--elf", &elf, &trace]);
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
    let wanted = std::fs::read_to_string(repo("testdata/stf/sort/items.txt")).unwrap();
    let strip = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.split_once(' ').map_or("", |(_, rest)| rest).trim_end().to_string())
            .collect()
    };
    assert_eq!(strip(&raw), strip(&wanted));
    assert_eq!(stdout(&["dump", "--raw", "--skip", "8", "--limit", "1", &trace]), "0x00000051 END_HEADER\n");
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
    assert_eq!(object["trackway"]["kind"], "ledger");
    assert!(stdout(&["info", &out]).contains("version:           1.5"));
    let pcs = |path: &str| stdout(&["dump", "--as", "pcs", path]);
    assert_eq!(pcs(&out), pcs(&repo("testdata/stf/sort/trace.stf")));
}

#[test]
fn check_finds_and_waives() {
    let trace = repo("testdata/stf/sort/trace.stf");
    assert_eq!(trackway(&["check", &trace]).status.code(), Some(0), "notes do not count");
    assert_eq!(trackway(&["check", "--strict", &trace]).status.code(), Some(1), "unless asked");
    let waived = trackway(&["check", "--strict", "--waive", "STF-process-id-dialect", &trace]);
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
        text(&output.stdout).contains("[STF-reserve-end-last, STFReserveEndRecord (255)]"),
        "{}",
        text(&output.stdout)
    );
    let json: serde_json::Value =
        serde_json::from_slice(&trackway(&["check", "--json", &bad]).stdout).unwrap();
    assert_eq!(json["errors"], 1);
}

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
    assert!(text(&output.stderr).contains("the input ends inside it"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 296);
    let output = trackway(&["info", &path]);
    assert_eq!(
        (output.status.code(), text(&output.stdout).contains("instructions:      297")),
        (Some(3), true)
    );
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
    // What is broken, the place that is named, the byte under the caret, instructions.
    let cases = [
        (with(index, 1 << 60), format!("{index:#x}: ZSTF index.chunk count: 0x1000000000000000"), "00", 297),
        (with(index + 32, 3), format!("{:#x}: ZSTF index.chunk offset: 3", index + 32), "03", 297),
        (
            with(index + 8 + 48 + 16, 5),
            format!("{:#x}: ZSTF index.uncompressed size: 5", index + 72),
            "05",
            297,
        ),
        (with(12, u64::MAX - 4), "0xc: ZSTF header.index offset: 0xfffffffffffffffb".into(), "fb", 297),
        (bytes[..bytes.len() - 1].to_vec(), format!("{index:#x}: ZSTF index.chunk count: 3"), "03", 297),
    ];
    for (broken, place, byte, instructions) in cases {
        std::fs::write(&path, &broken).unwrap();
        for args in [
            &["info"][..],
            &["dump", "--as", "pcs", "--attempted"],
            &["dump", "--raw"],
            &["check"],
            &["stats"],
        ] {
            let output = trackway(&[args, &[&path]].concat());
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{args:?}: {error}");
            assert!(error.contains(&format!("error: {path}: {place}")), "{args:?}: {place} in\n{error}");
            let lines: Vec<&str> = error.lines().collect();
            let caret = lines.iter().position(|line| line.trim() == "^").expect("a caret");
            let column = lines[caret].find('^').expect("a caret");
            assert_eq!(&lines[caret - 1][column..column + 2], byte, "{args:?}\n{error}");
        }
        let pcs = trackway(&["dump", "--as", "pcs", "--attempted", &path]);
        assert_eq!(text(&pcs.stdout).lines().count(), instructions, "{place}");
        let info = text(&trackway(&["info", &path]).stdout);
        assert!(info.contains(&format!("instructions:      {instructions}\n")), "{info}");
    }
    // Cut inside a chunk: the one before it is there.
    std::fs::write(&path, &bytes[..index / 2]).unwrap();
    for args in [&["info"][..], &["dump", "--as", "pcs"], &["dump", "--raw"], &["check"], &["stats"]] {
        let output = trackway(&[args, &[&path]].concat());
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert!(text(&output.stderr).contains("the file is cut"), "{args:?}: {}", text(&output.stderr));
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
        format!("error: {}: a folder without snapshot.ini is no trace\n", folder.file(""))
    );
    std::fs::write(&nothing, "").unwrap();
    assert_eq!(error(&["info", &nothing]), format!("error: {nothing}: it is empty\n"));
    assert!(
        error(&["info", "--format", "stf", &nothing]).contains("0x0: IDENTIFIER: the input ends inside it")
    );
    let mut bytes = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    bytes[0x52] = 200;
    std::fs::write(&nothing, &bytes).unwrap();
    let (raw, check) = (error(&["dump", "--raw", &nothing]), error(&["check", &nothing]));
    assert!(!raw.contains("trackway dump --raw") && raw.contains("trackway check"), "{raw}");
    assert!(check.contains("trackway dump --raw") && !check.contains("trackway check"), "{check}");
    // What the options say is not the trace's fault.
    let trace = repo("testdata/stf/sort/trace.stf");
    let elf = repo("testdata/stf/sort/items.txt");
    assert_eq!(
        error(&["dump", &trace, "--elf", &elf]),
        format!("error: {elf}: this is no ELF file (give raw bytes with an address)\n")
    );
    assert_eq!(
        error(&["dump", &trace, "--elf", "/none"]),
        "error: /none: No such file or directory (os error 2)\n"
    );
    let config = folder.file("bad.toml");
    std::fs::write(&config, "[stf]\nmiles = 1\n").unwrap();
    assert!(
        error(&["info", &trace, "--config", &config])
            .starts_with(&format!("error: {config}: [stf]: unknown field `miles`"))
    );
    let old = trackway(&["convert", &trace, &folder.file("old.stf"), "--stf-version", "1.9"]);
    assert_eq!(
        (old.status.code(), text(&old.stderr).as_str()),
        (Some(2), "error: --stf-version: 1.9 is not one of 1.2 to 1.6\n")
    );
    assert!(!Path::new(&folder.file("old.stf")).exists());
    let waived = error(&["check", &trace, "--waive", "STF-nonsense"]);
    assert!(waived.contains("--waive STF-nonsense: there are no findings of this rule"), "{waived}");
    // Several notes are all in the JSON.
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["info", "--json", &repo("testdata/stf/sort/trace.stf")])).unwrap();
    assert_eq!(json["note"], serde_json::json!(["features: 0x42c"]));
}

/// Nobody reads stderr either.
#[test]
fn a_closed_stderr_is_not_an_error() {
    let folder = Folder::new("stderr");
    let trace = repo("testdata/stf/sort/trace.stf");
    for (args, code) in [
        (&["convert", &trace, &folder.file("a.tandem")][..], 0),
        (&["check", &trace], 0),
        (&["info", "/none"], 3),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_trackway")).args(args).stderr(nobody()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
}

/// The output is to blame where it is: full, gone, or not fit for what was asked.
#[test]
fn output_that_fails_is_told_as_such() {
    let trace = repo("testdata/stf/sort/trace.stf");
    let output = trackway(&["convert", &trace, "-", "--container", "zstf"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot seek"), "{}", text(&output.stderr));
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
    let output = piped(&["info", "-"], b"just some text that is no trace");
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
    assert!(text(&output.stderr).contains("auto, bytes, bits"), "{}", text(&output.stderr));
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

#[test]
fn demo_agrees() {
    let folder = Folder::new("demo");
    let output = trackway(&["demo", &folder.file("out")]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let text = text(&output.stdout);
    assert!(text.contains("the same") && !text.contains("DIFFERS"), "{text}");
    assert!(Path::new(&folder.file("out/sort.zstf")).is_file());
    // What it proposes to try works.
    let folder = folder.file("out");
    for line in text.lines().filter_map(|line| line.strip_prefix("  trackway ")) {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(line.contains(&folder));
        assert!(trackway(&words).status.success(), "{line}");
    }
}

/// The end of a pipe that nobody reads.
fn nobody() -> Stdio {
    let (_, writer) = std::io::pipe().expect("a pipe");
    writer.into()
}

/// Runs the program with nobody to read what it prints.
fn closed_pipe(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trackway")).args(args).stdout(nobody()).output().expect("it runs")
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

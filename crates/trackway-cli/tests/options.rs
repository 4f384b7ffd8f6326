//! Options mean what they say: what has no effect is refused, limits are exact, commands that are proposed work.

mod common;

use std::process::Command;

use common::{Folder, repo, stdout, text, trackway};

/// It is refused as usage, with this reason.
fn refused(args: &[&str], why: &str) {
    let output = trackway(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
    assert!(text(&output.stderr).contains(why), "{args:?}: {}", text(&output.stderr));
}

#[test]
fn options_without_effect_are_refused() {
    let folder = Folder::new("idle");
    let (stf, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let (bare, out) = (repo("programs/riscv/elf/rv64-privileged.elf"), folder.file("x.tv"));
    let idle = folder.file("idle.toml");
    std::fs::write(&idle, "[astf]\nva_bits = 48\n").unwrap();
    refused(&["info", &stf, "--write-pointer", "4"], "--write-pointer does not apply to STF");
    refused(&["convert", &stf, &out, "--astf-level", "Basic"], "--astf-level does not apply to Tandem");
    refused(&["info", &stf, "--config", &idle], "astf does not apply to STF");
    refused(&["convert", &stf, &out, "--config", &idle], "astf does not apply to STF");
    refused(&["record", &elf, "-o", &out, "--config", &idle], "astf does not apply to Tandem");
    refused(&["dump", &stf, "--attempted"], "--attempted is for --as pcs");
    refused(&["dump", &stf, "--from", "9", "--to", "9"], "nothing lies between 9 and 9");
    refused(&["check", &stf, "--jsonl", "--limit", "3"], "--limit");
    refused(&["image", &elf, "--no-aliases"], "--disasm");
    refused(&["image", &elf, "--from", "0x100e8"], "--disasm");
    refused(&["record", &bare, "-o", &out, "--seed", "3"], "this program is bare-metal");
    refused(&["record", &elf, "-o", &folder.file("x.astf")], "ASTF holds only Arm traces");
    refused(&["convert", &stf, &folder.file("x.unknown")], "no format has the extension .unknown");
    refused(&["record", &elf, "-o", &folder.file("x.unknown")], "no format has the extension .unknown");
    refused(&["check", &stf, "--waive", "stf.nonsense"], "has no such rule");
    refused(&["info", &stf, "--source", "core 7"], "--source core 7: there is only 0");
    // Settings of the output may be given where they are not those of the input.
    std::fs::write(&idle, "[tandem]\nprofile = \"spec\"\n").unwrap();
    let output = trackway(&["convert", &stf, &out, "--config", &idle, "--no-prove"]);
    assert!(!text(&output.stderr).contains("does not apply"), "{}", text(&output.stderr));
    // These are always fine.
    for args in [
        &["info", &stf][..],
        &["dump", &stf, "--limit", "1"],
        &["stats", &stf],
        &["image", &elf],
        &["config", "stf"],
        &["info", &stf, "--source", "0"],
    ] {
        stdout(&[args, &["-j", "1", "-q", "-v", "--strict", "--no-index", "--no-pager"]].concat());
    }
}

#[test]
fn misspelt_keys_are_refused_with_a_suggestion() {
    let folder = Folder::new("misspelt");
    let config = folder.file("x.toml");
    let (stf, astf) = (repo("testdata/stf/sort/trace.stf"), repo("testdata/astf/sort.astf"));
    let elf = repo("programs/riscv/sort.elf");
    for (text, args, near) in [
        ("[etrace]\niadress_width = 64\n", &["info", &stf, "--format", "etrace"][..], "iaddress_width"),
        ("[stf]\nsize_unti = \"bits\"\n", &["info", &stf], "size_unit"),
        ("[ete.unit]\nfifo_byte = 1\n", &["convert", &astf, &folder.file("x.ete")], "fifo_bytes"),
        ("[machine]\nsupervisr = true\n", &["record", &elf, "-o", &folder.file("x.tv")], "supervisor"),
        ("[machine]\npmp_entry = 1\n", &["verify", &stf], "pmp_entries"),
        ("[verify]\nmemroy = []\n", &["verify", &stf], "memory"),
        ("[masks.mstatus]\nignor = 1\n", &["verify", &stf], "ignore"),
    ] {
        std::fs::write(&config, text).unwrap();
        refused(&[args, &["--config", &config]].concat(), &format!("did you mean {near:?}?"));
    }
}

/// `--limit N` is N lines; what belongs to a line is free, and the health counts what was shown.
#[test]
fn limits_count_lines() {
    let stf = repo("testdata/stf/sort/trace.stf");
    let ete = repo("testdata/ete/count");
    let is_top = |line: &&str| !line.starts_with("                ") && !line.starts_with("# source");
    for trace in [&stf, &ete, &repo("testdata/astf/levels.astf")] {
        let whole = stdout(&["dump", trace]);
        for limit in [1, 2, 3, 5, 9, 20] {
            let output = trackway(&["dump", trace, "--limit", &limit.to_string()]);
            let shown = text(&output.stdout);
            assert_eq!(shown.lines().filter(is_top).count(), limit, "{trace}: {shown}");
            assert!(whole.starts_with(&shown), "{trace}: {shown}");
            let steps =
                shown.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
            let health = format!("health: {} instructions, ", steps.count());
            assert!(text(&output.stderr).contains(&health), "{trace}: {health}: {}", text(&output.stderr));
        }
        for shape in ["pcs", "runs", "events"] {
            for json in [false, true] {
                let mut args = vec!["dump", trace, "--as", shape, "--limit", "7"];
                args.extend(json.then_some("--jsonl"));
                let shown = stdout(&args);
                let lines = shown.lines().filter(|line| !line.starts_with("# source")).count();
                let all = stdout(&["dump", trace, "--as", shape]);
                let all = all.lines().filter(|line| !line.starts_with("# source")).count();
                assert_eq!(lines, all.min(7), "{args:?}: {shown}");
            }
        }
    }
    // The ECALL at 296 does not retire: it has no line and does not count.
    let pcs = stdout(&["dump", &stf, "--as", "pcs", "--skip", "290", "--limit", "7"]);
    assert_eq!(pcs.lines().count(), 6);
}

#[test]
fn past_the_end_is_usage() {
    let stf = repo("testdata/stf/sort/trace.stf");
    for args in [
        &["dump", &stf, "--skip", "297"][..],
        &["dump", &stf, "--skip", "1000", "--as", "pcs"],
        &["dump", &stf, "--skip", "1000", "--as", "runs"],
        &["dump", &stf, "--skip", "1000", "--jsonl"],
        &["dump", &stf, "--from", "297"],
    ] {
        refused(args, "the trace never reaches");
    }
    refused(&["dump", &stf, "--raw", "--skip", "1102"], "there are 1102 items");
    assert_eq!(stdout(&["dump", &stf, "--skip", "296", "--as", "pcs", "--attempted"]).lines().count(), 1);
}

/// The commands that `info` proposes work when they are pasted.
#[test]
fn proposed_commands_work() {
    let folder = Folder::new("proposed folder's");
    let copy = folder.file("a trace.bin");
    std::fs::copy(repo("testdata/stf/sort/trace.stf"), &copy).unwrap();
    let (etrace, config) =
        (repo("testdata/etrace/v2-every-mode/input"), repo("testdata/etrace/v2-every-mode/config.toml"));
    let (ete, elf) = (repo("testdata/ete/count"), repo("programs/riscv/sort.elf"));
    let renamed = folder.file("params $1.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&renamed, text).unwrap();
    for file in std::fs::read_dir(repo("testdata/etrace/v2-every-mode")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.0.join(file.file_name())).unwrap();
    }
    for args in [
        &[&*copy, "--elf", &elf, "--format", "stf"][..],
        &[&etrace, "--config", &config],
        &[&folder.file("input"), "--config", &renamed, "--format", "etrace"],
        &[&ete, "--source", "ETE_1", "--show-withdrawn"],
        &[&ete],
    ] {
        let info = stdout(&[&["info"], args].concat());
        let proposed: Vec<&str> = info.lines().filter_map(|line| line.strip_prefix("  trackway ")).collect();
        assert_eq!(proposed.len(), 3, "{info}");
        for line in proposed {
            let line = format!("'{}' {line}", env!("CARGO_BIN_EXE_trackway"));
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 1)), "{line}: {code:?}: {}", common::text(&output.stderr));
            assert!(!output.stdout.is_empty() || line.contains(" check "), "{line}");
        }
    }
}

/// A trace that does not say where it starts has no addresses to show.
#[test]
fn instructions_without_an_address_are_counted() {
    let folder = Folder::new("no-start");
    let bytes = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    // The header without FORCE_PC, and two instructions.
    let start = bytes.windows(3).position(|found| found == [9, 0xe8, 0]).expect("FORCE_PC");
    let header = [&bytes[..start], &bytes[start + 9..=start + 9]].concat();
    assert_eq!(header.last(), Some(&19), "END_HEADER");
    let path = folder.file("no-start.stf");
    std::fs::write(&path, [&header[..], &[241, 0x05, 0x25, 241, 0x05, 0x25]].concat()).unwrap();
    let output = trackway(&["dump", "--as", "pcs", &path]);
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("2 instructions have no address"), "{}", text(&output.stderr));
}

/// Text of a trace cannot move the cursor: control characters reach no output as they are.
#[test]
fn control_characters_stay_in_the_trace() {
    let folder = Folder::new("control");
    let bytes = std::fs::read(repo("testdata/stf/everything/trace.stf")).unwrap();
    let note = b"a note in the body";
    let at = bytes.windows(note.len()).position(|found| found == note).expect("the note");
    let mut bytes = bytes;
    bytes[at..at + 11].copy_from_slice(b"\x1b[2J\x07\r\n\x7f\xc2\x9b\x08");
    // The comment of the header too.
    let end = bytes.windows(8).position(|found| found == b"Trackway").expect("a comment");
    bytes[end..end + 4].copy_from_slice(b"\x1b]0;");
    let path = folder.file("evil.stf");
    std::fs::write(&path, &bytes).unwrap();
    for args in [
        &["dump"][..],
        &["dump", "--raw"],
        &["dump", "--raw", "-v"],
        &["dump", "--as", "events"],
        &["dump", "--jsonl"],
        &["dump", "--as", "events", "--jsonl"],
        &["dump", "--raw", "--jsonl"],
        &["info"],
        &["info", "--json"],
        &["check"],
        &["stats"],
    ] {
        let output = trackway(&[args, &[&path]].concat());
        let shown = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{args:?}: {shown:?}");
        if args[0] == "dump" {
            assert!(shown.contains("2J") || shown.contains("324a"), "{args:?}: the text is shown: {shown}");
        }
    }
}

#[test]
fn chunks_that_are_read_ahead_are_the_same() {
    let folder = Folder::new("read-ahead");
    let (trace, harmed) = (folder.file("sort.zstf"), folder.file("harmed.zstf"));
    stdout(&["convert", &repo("testdata/stf/sort/trace.stf"), &trace, "--chunk", "9", "-q"]);
    let mut bytes = std::fs::read(&trace).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16].fill(0x5a);
    std::fs::write(&harmed, bytes).unwrap();
    for file in [&trace, &harmed] {
        for command in [
            &["dump", file, "--as", "events"][..],
            &["dump", file, "--raw"],
            &["check", file],
            &["dump", file, "--from", "100"],
        ] {
            let [one, two] = ["1", "2"].map(|jobs| trackway(&[command, &["-j", jobs]].concat()));
            assert_eq!(text(&one.stdout), text(&two.stdout), "{command:?}");
            assert_eq!((text(&one.stderr), one.status), (text(&two.stderr), two.status), "{command:?}");
        }
    }
}

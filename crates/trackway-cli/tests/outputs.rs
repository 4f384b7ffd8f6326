//! Outputs appear whole or not at all: refusals, signals, disks that are full.
#![cfg(unix)]

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, program, repo, stdout, text, trackway};

/// `j .`, for ever: two instructions, so that registers are recorded too.
fn endless(folder: &Folder) -> String {
    let code: [u32; 2] = [0x0015_0513, 0xffdf_f06f]; // addi a0,a0,1; j .-4
    let mut elf = Vec::new();
    let (base, entry) = (0x8000_0000u64, 0x8000_0078u64);
    elf.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    elf.extend([2, 0, 0xf3, 0, 1, 0, 0, 0]);
    for word in [entry, 64, 0] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    elf.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for word in [0, base, base, 0x80, 0x80, 0x1000u64] {
        elf.extend(word.to_le_bytes());
    }
    code.iter().for_each(|word| elf.extend(word.to_le_bytes()));
    let path = folder.file("endless.elf");
    std::fs::write(&path, elf).unwrap();
    path
}

/// Starts recording the endless program; returns once the partial file has grown.
fn recording(elf: &str, out: &str) -> Child {
    let child = program()
        .args(["record", elf, "-o", out])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&format!("{out}.partial"));
    assert!(!Path::new(out).exists(), "it appears at the end only");
    child
}

/// Bytes after which a file has grown.
const LEAST: u64 = 20_000;

/// Waits until the file has grown.
fn wait_for(path: &str) {
    let start = Instant::now();
    while std::fs::metadata(path).map_or(0, |found| found.len()) < LEAST {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn record_closes_its_file_on_a_signal() {
    let folder = Folder::new("signals");
    let elf = endless(&folder);
    for (signal, name) in [("-INT", "a.stf"), ("-TERM", "b.stf"), ("-INT", "c.zstf"), ("-TERM", "d.tv")] {
        let out = folder.file(name);
        let child = recording(&elf, &out);
        kill(&child, signal);
        // `timeout` sends it twice.
        let _ = Command::new("kill").args([signal, &child.id().to_string()]).output();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}: {}", text(&output.stderr));
        assert!(!Path::new(&format!("{out}.partial")).exists());
        let dump = trackway(&["dump", "--as", "pcs", "--limit", "3", &out]);
        assert_eq!(dump.status.code(), Some(0), "{name}: {}", text(&dump.stderr));
        let check = trackway(&["info", "--strict", &out]);
        assert_eq!(check.status.code(), Some(0), "{name}: {}", text(&check.stderr));
        if name.ends_with("stf") {
            let raw = stdout(&["dump", "--raw", &out]);
            let last = raw.lines().last().unwrap();
            assert!(last.contains("COMMENT") && last.contains("recording was interrupted after"), "{last}");
        }
    }
}

#[test]
fn a_killed_record_leaves_a_partial_file_that_can_be_read() {
    let folder = Folder::new("killed");
    let elf = endless(&folder);
    for name in ["a.stf", "b.etrace"] {
        let out = folder.file(name);
        let mut child = recording(&elf, &out);
        kill(&child, "-KILL");
        child.wait().unwrap();
        assert!(!Path::new(&out).exists());
        let output = trackway(&["dump", "--as", "pcs", &format!("{out}.partial")]);
        assert!(text(&output.stdout).lines().count() > 1000, "{name}: {}", text(&output.stderr));
    }
}

/// Also where the code comes from the trace alone.
#[test]
fn a_killed_convert_leaves_its_code() {
    let folder = Folder::new("killed-convert");
    let (elf, long, out) = (endless(&folder), folder.file("long.stf"), folder.file("out.etrace"));
    stdout(&["record", &elf, "-o", &long, "--limit", "4000000", "-q"]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_trackway"))
        .args(["convert", "-q", "--no-prove", &long, &out])
        .spawn()
        .unwrap();
    let start = Instant::now();
    while std::fs::metadata(format!("{out}.partial")).map_or(0, |found| found.len()) == 0 {
        assert!(start.elapsed() < Duration::from_secs(60) && !Path::new(&out).exists(), "nothing is written");
        std::thread::sleep(Duration::from_millis(1));
    }
    kill(&child, "-KILL");
    child.wait().unwrap();
    assert!(!Path::new(&out).exists());
    std::fs::remove_file(&elf).unwrap();
    let output = trackway(&["dump", "--as", "pcs", &format!("{out}.partial")]);
    let found = text(&output.stdout);
    let is_known = |pc: &str| ["0000000080000078", "000000008000007c"].contains(&pc);
    assert!(found.lines().count() > 100 && found.lines().all(is_known), "{found}{}", text(&output.stderr));
}

/// Nothing appears, unless what was written so far is asked for.
#[test]
fn convert_ends_in_good_order_on_a_signal() {
    let folder = Folder::new("convert-signals");
    let (elf, long) = (endless(&folder), folder.file("long.stf"));
    stdout(&["record", &elf, "-o", &long, "--limit", "4000000"]);
    // Through events, and as a copy.
    for (name, options, kept) in [
        ("out.tv", &[][..], false),
        ("out.stf.xz", &["--level", "9"], false),
        ("out.stf.gz", &["--keep-partial", "--stf-version", "1.5"], true),
    ] {
        let out = folder.file(name);
        let child = program()
            .args([&["convert", &long, &out, "-q"], options].concat())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for(&format!("{out}.partial"));
        kill(&child, "-INT");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{options:?}: {}", text(&output.stderr));
        assert_eq!(Path::new(&out).exists(), kept, "{options:?}");
        assert!(!Path::new(&format!("{out}.partial")).exists());
    }
    let raw = stdout(&["dump", "--raw", &folder.file("out.stf.gz")]);
    let last = raw.lines().last().unwrap();
    assert!(last.contains("COMMENT") && last.contains("the conversion was interrupted after"), "{last}");
}

#[test]
fn a_refusal_touches_nothing() {
    let folder = Folder::new("refused");
    let trace = repo("testdata/stf/sort/trace.stf");
    for (name, options) in [
        ("a.astf", &[][..]),
        ("a.ete", &[]),
        ("a.tv", &["--strict"]),
        ("a.stf", &["--stf-version", "9.9"]),
        ("a.etrace", &["--config", "/none.toml"]),
    ] {
        let out = folder.file(name);
        std::fs::write(&out, "precious").unwrap();
        let output = trackway(&[&["convert", &trace, &out], options].concat());
        assert!(matches!(output.status.code(), Some(2..=5)), "{name}: {}", text(&output.stderr));
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "precious", "{name}");
        assert!(!Path::new(&format!("{out}.partial")).exists(), "{name}");
    }
}

#[test]
fn outputs_that_cannot_be_written_are_5() {
    let folder = Folder::new("unwritable");
    let trace = repo("testdata/stf/sort/trace.stf");
    let (none, out) = (folder.file("none/a.tv"), folder.file("a.tv"));
    let elf = repo("programs/riscv/sort.elf");
    for (args, named) in [
        (&["convert", &trace, &none][..], &none),
        (&["convert", &trace, &folder.file("none/a.etrace"), "--elf", &elf], &folder.file("none/a.etrace")),
        (&["convert", &trace, &out, "--ledger", &none], &none),
        (
            &["convert", &repo("testdata/astf/sort.astf"), &folder.file("none/a.ete")],
            &folder.file("none/a.ete"),
        ),
        (&["record", &elf, "-o", &none], &none),
        (&["convert", &elf, &none], &none),
        (&["verify", &trace, "--elf", &elf, "--junit", &none], &none),
    ] {
        let output = trackway(args);
        assert_eq!(output.status.code(), Some(5), "{args:?}: {}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains(&format!("error: {named}: No such file")),
            "{args:?}: {}",
            text(&output.stderr)
        );
    }
    if Path::new("/dev/full").exists() {
        for args in [
            &["record", &elf, "-o", "/dev/full", "--into", "tandem"][..],
            &["convert", &trace, &out, "--ledger", "/dev/full"],
        ] {
            let output = trackway(args);
            assert_eq!(output.status.code(), Some(5), "{args:?}: {}", text(&output.stderr));
            assert!(text(&output.stderr).contains("error: /dev/full: No space left"), "{args:?}");
        }
    }
}

/// Files may not grow: as on a full disk, nothing appears, and the output is to blame.
#[test]
fn a_full_disk_is_the_output_s_fault() {
    let folder = Folder::new("full");
    let (stf, astf) = (repo("testdata/stf/sort/trace.stf"), repo("testdata/astf/sort.astf"));
    let elf = repo("programs/riscv/sort.elf");
    for (args, out) in [
        (format!("convert {stf} {{}} --no-prove"), "a.tv"),
        (format!("convert {stf} {{}} --no-prove"), "a.zstf"),
        (format!("convert {stf} {{}} --no-prove --elf {elf}"), "a.etrace"),
        (format!("convert {astf} {{}} --no-prove"), "a.ete"),
        (format!("convert {astf} {{}} --no-prove"), "a.stf"),
        (format!("record {elf} -o {{}}"), "b.tv"),
    ] {
        let out = folder.file(out);
        let line = format!(
            "ulimit -f 0; trap '' XFSZ; exec {} {}",
            env!("CARGO_BIN_EXE_trackway"),
            args.replace("{}", &out)
        );
        let output = Command::new("sh")
            .args(["-c", &line])
            .env("TRACKWAY_CACHE", folder.file("cache"))
            .output()
            .unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{line}: {error}");
        assert!(error.contains(&format!("error: {out}: ")), "{line}: {error}");
        assert!(!Path::new(&out).exists() && !Path::new(&format!("{out}.partial")).exists(), "{line}");
    }
}

#[test]
fn devices_links_and_modes_survive() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("devices");
    let trace = repo("testdata/stf/sort/trace.stf");
    stdout(&["convert", &trace, "/dev/null", "--into", "tandem", "--no-prove"]);
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    let (real, link) = (folder.file("real.tv"), folder.file("link.tv"));
    std::fs::write(&real, "before").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, &link).unwrap();
    stdout(&["convert", &trace, &link, "--no-prove"]);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(stdout(&["info", &real]).contains("tandem"));
}

//! `doctor`: what files look like, what happened to them, and settings that work when pasted.

mod common;

use common::{Folder, repo, stdout, text, trackway};
use serde_json::Value as Json;

/// Exit code and output of `doctor`.
fn doctor(args: &[&str]) -> (i32, String) {
    let output = trackway(&[&["doctor"], args].concat());
    (output.status.code().unwrap_or(-1), text(&output.stdout) + &text(&output.stderr))
}

/// A file by content: its bytes, and what the answer has to say.
type Content = (&'static str, Vec<u8>, &'static str);

fn contents() -> Vec<Content> {
    let lines = |line: &str| format!("{line}\n").repeat(8).into_bytes();
    let mut nexus = Vec::new();
    for _ in 0..40 {
        nexus.extend([4 << 2, 0x10, 0x05, 0x2b, 28 << 2, 0x41, 0x83]);
    }
    let mut frames = vec![0x21u8; 64];
    for _ in 0..4 {
        frames.extend([0xff, 0xff, 0xff, 0x7f]);
        frames.extend([0x21, 0x17, 0x9e, 0x44, 0x80, 3, 7, 9, 0, 0, 0, 1, 2, 3, 4, 5]);
    }
    let mut champsim = Vec::new();
    for n in 0..32u64 {
        champsim.extend((0x40_0000 + 4 * n).to_le_bytes());
        champsim.extend([(n.is_multiple_of(5)).into(), 0]);
        champsim.resize(champsim.len() + 54, 0);
    }
    let mut tar = vec![b'x'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    vec![
        ("perf", b"PERFILE2\x68\0\0\0".to_vec(), "perf.data"),
        ("pcap", b"\xd4\xc3\xb2\xa1\x02\0\x04\0".to_vec(), "pcap"),
        ("pcapng", b"\x0a\x0d\x0d\x0a\x1c\0\0\0".to_vec(), "pcapng"),
        ("fst", b"\0\0\0\0\0\0\0\x01\x49\0\0".to_vec(), "FST"),
        ("vcd", b"$date\n today\n$end\n$timescale 1ns $end\n".to_vec(), "VCD"),
        ("bz2", b"BZh91AY&SY".to_vec(), "bunzip2"),
        ("lz4", b"\x04\x22\x4d\x18aaaa".to_vec(), "lz4 -d"),
        ("zip", b"PK\x03\x04\x14\0".to_vec(), "zip archive"),
        ("tar", tar, "tar archive"),
        ("parquet", b"PAR1\x15\0".to_vec(), "Parquet"),
        ("arrow", b"ARROW1\0\0".to_vec(), "Arrow"),
        ("empty", Vec::new(), "empty"),
        ("zeros", vec![0; 5000], "nothing but bytes 0x00"),
        ("tarmac", lines("12 clk cpu0 IT (1) 002105d4 d2a00200 O EL3h_s : MOVZ"), "as gem5 writes it"),
        ("tarmac-es", b"Tarmac Text Rev 3t\n  0 tic ES  (00020150:e3a00601) A svc_s: MOV\n".to_vec(), "(ES)"),
        ("spike", lines("core   0: 3 0x00001000 (0x00000297) x5  0x00001000"), "commit log of Spike"),
        ("qemu", lines("Trace 0: 0x7f2a [0000/0000000000010078/00000000/00000000] main"), "-d exec"),
        ("riscv-dv", lines("pc,instr,gpr,csr,binary,mode,instr_str,operand,pad"), "riscv-dv"),
        ("json", b"{\"a\": 1}\n".to_vec(), "JSON"),
        ("html", b"<!DOCTYPE html><html></html>".to_vec(), "the download failed"),
        ("csv", lines("1,2,3"), "CSV"),
        ("ini", b"[snapshot]\nversion=1.0\n".to_vec(), "OpenCSD snapshot"),
        ("lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n".to_vec(), "git lfs pull"),
        ("ihex", lines(":10010000214601360121470136007EFE09D2190140"), "Intel HEX"),
        ("nexus", nexus, "N-Trace"),
        ("champsim", champsim, "ChampSim"),
        ("frames", frames, "CoreSight frames"),
    ]
}

#[test]
fn files_are_named_by_their_content() {
    let folder = Folder::new("doctor-looks");
    for (name, bytes, says) in contents() {
        let path = folder.file(name);
        std::fs::write(&path, bytes).unwrap();
        let (code, answer) = doctor(&[&path]);
        assert!(answer.contains(says), "{name}: {says:?} is not in\n{answer}");
        assert!(code == 1 || (name == "frames" && code == 3), "{name}: exit {code}\n{answer}");
    }
    let (code, answer) = doctor(&[&repo("programs/riscv/sort.elf")]);
    assert!(code == 1 && answer.contains("a program (ELF, RISC-V, 64 bits)"), "{answer}");
    let (code, answer) = doctor(&[&repo("testdata/stf/sort/trace.stf")]);
    assert!(code == 0 && answer.contains("nothing is wrong"), "{answer}");
    assert_eq!(doctor(&["/none"]).0, 3);
}

#[test]
fn bytes_without_structure_are_not_understood() {
    let folder = Folder::new("doctor-random");
    let mut random = trackway_core::SplitMix64(7);
    let bytes: Vec<u8> = (0..6000).map(|_| random.below(256) as u8).collect();
    let path = folder.file("random");
    std::fs::write(&path, bytes).unwrap();
    let (code, answer) = doctor(&[&path, "--budget", "400:4096"]);
    assert_eq!(code, 3, "{answer}");
    assert!(answer.contains("nothing is known"), "{answer}");
}

#[test]
fn changes_on_the_way_are_named() {
    let folder = Folder::new("doctor-transfer");
    let trace = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    let mut crlf = Vec::new();
    for byte in &trace {
        if *byte == b'\n' {
            crlf.push(b'\r');
        }
        crlf.push(*byte);
    }
    let hex: String = trace
        .chunks(16)
        .enumerate()
        .map(|(n, line)| {
            let bytes: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{:08x}: {}  ................\n", 16 * n, bytes.join(" "))
        })
        .collect();
    let mut swapped = trace.clone();
    swapped.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    let after = [&b"from the serial line\x01\x02"[..], &trace].concat();
    for (name, bytes, says) in [
        ("crlf", crlf, "text mode"),
        ("hex", hex.into_bytes(), "as a dump in hex"),
        ("swapped", swapped, "32-bit words in reverse order"),
        ("after", after, "from byte 22 on"),
    ] {
        let path = folder.file(name);
        std::fs::write(&path, bytes).unwrap();
        let (code, answer) = doctor(&[&path]);
        assert!(code == 1 && answer.contains(says), "{name}: exit {code}\n{answer}");
    }
    let cut = folder.file("cut.stf");
    std::fs::write(&cut, &trace[..trace.len() - 3]).unwrap();
    let (code, answer) = doctor(&[&cut]);
    assert!(code == 1 && answer.contains("truncated"), "{answer}");
}

/// The settings and the command of the answer decode as the lost settings did.
#[test]
fn settings_work_when_pasted() {
    let folder = Folder::new("doctor-pasted");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let (trace, config) = (folder.file("run.etrace"), folder.file("found.toml"));
    stdout(&["record", &elf, "-o", &trace, "--limit", "3000", "-q"]);
    let expected = stdout(&["dump", &trace, "--elf", &elf, "--as", "events", "-q"]);
    std::fs::rename(format!("{trace}.toml"), folder.file("lost.toml")).unwrap();
    let output = trackway(&["doctor", &trace, "--elf", &elf, "--json", "-o", &config]);
    assert_eq!(output.status.code(), Some(1));
    let answer: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["diagnosis"]["format"], "etrace", "{answer}");
    assert_ne!(answer["diagnosis"]["sure"], "a guess", "{answer}");
    assert_eq!(answer["diagnosis"]["settings"], std::fs::read_to_string(&config).unwrap());
    let again = stdout(&["dump", &trace, "--elf", &elf, "--config", &config, "--as", "events", "-q"]);
    assert_eq!(again, expected);
    let command = answer["diagnosis"]["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert!(stdout(&words).lines().count() >= 20, "{command}");
    // `info` does the quick part too.
    let info = stdout(&["info", &trace, "--elf", &elf, "-q"]);
    assert!(info.contains("assumed:") && info.contains("instructions:      3000"), "{info}");
    assert_eq!(doctor(&[&trace, "--elf", &elf, "--config", &config]).0, 0);
}

#[test]
fn the_program_that_ran_and_where_it_was() {
    let folder = Folder::new("doctor-programs");
    let (right, wrong) =
        (repo("programs/riscv/elf/rv64-mix.elf"), repo("programs/riscv/elf/rv64-integer.elf"));
    let trace = folder.file("run.etrace");
    stdout(&["record", &right, "-o", &trace, "--limit", "3000", "-q"]);
    let config = folder.file("config.toml");
    let sidecar = std::fs::read_to_string(format!("{trace}.toml")).unwrap();
    let keys = sidecar.lines().filter(|line| !line.starts_with("program"));
    std::fs::write(&config, keys.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let (code, answer) = doctor(&[&trace, "--config", &config, "--elf", &right, "--elf", &wrong]);
    assert!(code == 1 && answer.contains(&format!("program:     --elf {right}\n")), "{answer}");
    let moved = format!("{right}@0x40000000");
    let (code, answer) = doctor(&[&trace, "--config", &config, "--elf", &moved]);
    assert!(code == 1 && answer.contains(&format!("program:     --elf {right}@0x80000000\n")), "{answer}");
    // A program of another architecture.
    let arm = repo("programs/aarch64/sort.elf");
    let (code, answer) = doctor(&[&trace, "--config", &config, "--elf", &arm]);
    assert!(code == 1 && answer.contains("the program is a64"), "{answer}");
    // A trace with encodings finds its program by them.
    let (stf, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let moved = format!("{elf}@0x400000");
    let (code, answer) = doctor(&[&stf, "--elf", &moved]);
    assert!(code == 1 && answer.contains(&format!("--elf {elf}@0x10000\n")), "{answer}");
}

#[test]
fn budgets_are_refused_where_they_mean_nothing() {
    let trace = repo("testdata/stf/sort/trace.stf");
    for budget in ["0", "x", "1:0", "1:2:3"] {
        assert_eq!(doctor(&[&trace, "--budget", budget]).0, 2, "{budget}");
    }
}

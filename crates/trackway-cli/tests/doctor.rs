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
    let text = |text: &str| text.as_bytes().to_vec();
    // A program flow by N-Trace: synchronisation, direct and indirect branches with their history, idle bytes between.
    let mut nexus = vec![0xff; 3];
    for _ in 0..40 {
        nexus.extend([9 << 2, 0x04, 0x10, 0x01, 0x41, 0x83, 28 << 2, 0x10, 0x05, 0x2d, 0x04, 0x0b, 0xff]);
        nexus.extend([3 << 2, 0x2f, 4 << 2, 0x08, 0x05, 0x2b, 33 << 2, 0x44, 0x03]);
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
    // perf.data: size of the header and of an attribute, sections of attributes and data.
    let mut perf = b"PERFILE2".to_vec();
    for word in [0x68u64, 0x90, 0x180, 0x120, 0x2a0, 0x4000, 0, 0] {
        perf.extend(word.to_le_bytes());
    }
    // pcap: version 2.4, Ethernet, one packet.
    let mut pcap = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0".to_vec();
    pcap.extend(b"\x10\x5b\x62\x65\x40\x0d\x03\0\x08\0\0\0\x08\0\0\0\xff\xff\xff\xff\xff\xff\x02\0");
    let vcd = "$date\n  Mon Nov 16 2026\n$end\n$version Verilator $end\n$timescale 1ps $end\n$scope module TOP $end\n\
               $var wire 1 # clk $end\n$upscope $end\n$enddefinitions $end\n#0\n0#\n#5\n1#\n";
    vec![
        ("perf", perf, "perf.data"),
        ("pcap", pcap, "pcap"),
        ("pcapng", b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0".to_vec(), "pcapng"),
        ("fst", b"\0\0\0\0\0\0\0\x01\x49\0\0".to_vec(), "FST"),
        ("vcd", text(vcd), "VCD"),
        ("bz2", b"BZh91AY&SY\x1f\x30\x8b\xc2".to_vec(), "bunzip2"),
        ("lz4", b"\x04\x22\x4d\x18\x64\x40\xa7\x10\0\0\x80aaaa".to_vec(), "lz4 -d"),
        ("compress", b"\x1f\x9d\x90\x61\xe0".to_vec(), "uncompress"),
        ("zip", b"PK\x03\x04\x14\0\0\0\x08\0".to_vec(), "zip archive"),
        ("7z", b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), "7z archive"),
        ("tar", tar, "tar archive"),
        ("parquet", b"PAR1\x15\0".to_vec(), "Parquet"),
        ("arrow", b"ARROW1\0\0".to_vec(), "Arrow"),
        ("empty", Vec::new(), "empty"),
        ("zeros", vec![0; 5000], "nothing but bytes 0x00"),
        ("tarmac", lines("5 clk SIGNAL: SIGNAL=VIRQ STATE=N"), "--format tarmac"),
        ("spike", lines("core   0: register 0x0000000000001000"), "--format spike"),
        ("qemu", lines("Trace 0: 0x7f2a 0000000000010078 main"), "--format qemu-exec"),
        ("qemu-asm", lines("IN: \n0x80000000:  00000297   auipc t0,0"), "-d in_asm"),
        ("objdump", text("\na.elf:     file format elf64-littleriscv\n\n80000000 <_start>:\n"), "objdump"),
        ("json", b"{\"a\": 1}\n".to_vec(), "JSON"),
        ("html", b"<!DOCTYPE html><html></html>".to_vec(), "the download failed"),
        ("xml", b"<?xml version=\"1.0\"?>\n<a/>\n".to_vec(), "XML"),
        ("csv", lines("1,2,3"), "CSV"),
        ("toml", text("[etrace]\niaddress_width = 64\n"), "--config"),
        (
            "snapshot.ini",
            text("[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=cpu_0.ini\n"),
            "trackway info",
        ),
        ("trace.ini", text("[trace_buffers]\nbuffers=buffer0\n"), "trackway info"),
        ("lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n".to_vec(), "git lfs pull"),
        ("ihex", lines(":10010000214601360121470136007EFE09D2190140"), "Intel HEX"),
        ("srec", lines("S1130000285F245F2212226A000424290008237C2A"), "S-records"),
        (
            "hexdump",
            lines("00000000  47 c1 54 13 00 c0 a2 2f  42 8d 18 44 0d 97 06 fd  |G.T..../B..D....|"),
            "hexdump",
        ),
        ("hex", lines("0x47c15413 0x00c0a22f"), "bytes in hex"),
        ("nexus", nexus, "N-Trace"),
        ("champsim", champsim, "ChampSim"),
        ("frames", frames, "CoreSight frames"),
        ("pt", b"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82".to_vec(), "Intel PT"),
    ]
}

/// The commands of Trackway that an answer names, between backquotes or on a line of its own.
fn commands(answer: &str) -> Vec<&str> {
    let after = answer.split("trackway ").skip(1);
    after.filter_map(|rest| rest.split(|c: char| !c.is_ascii_lowercase()).next()).collect()
}

/// A page of text is not searched for settings of hardware traces: some always fit.
/// A QEMU log without its program can be looked at; only its path cannot be followed.
#[test]
fn a_qemu_log_without_its_program() {
    let log = repo("testdata/qemu-exec/mix.qemu");
    let info = trackway(&["info", &log]);
    assert_eq!(info.status.code(), Some(3));
    assert!(text(&info.stdout).contains("format:            qemu-exec"), "{}", text(&info.stdout));
    assert!(text(&info.stderr).contains("(--elf)"), "{}", text(&info.stderr));
    for command in [&["dump", "--raw", &log][..], &["check", &log]] {
        assert!(trackway(command).status.success(), "{command:?}");
    }
    let (code, said) = doctor(&[&log]);
    assert!(code == 1 && said.contains("missing:     the program (--elf)"), "{said}");
}

#[test]
fn text_is_not_taken_for_a_trace() {
    let (code, said) = doctor(&[&repo("README.md")]);
    assert!(code == 3 && said.contains("looks like:  text") && !said.contains("fits best"), "{said}");
}

#[test]
fn files_are_named_by_their_content() {
    let folder = Folder::new("doctor-looks");
    let help = stdout(&["help"]);
    for (name, bytes, says) in contents() {
        let path = folder.file(name);
        std::fs::write(&path, bytes).unwrap();
        let (code, answer) = doctor(&[&path]);
        assert!(answer.contains(says), "{name}: {says:?} is not in\n{answer}");
        assert!(answer.lines().any(|line| line.starts_with("do: ")), "{name}: nothing to do in\n{answer}");
        assert!(code == 1 || (name == "frames" && code == 3), "{name}: exit {code}\n{answer}");
        for command in commands(&answer) {
            assert!(
                help.lines().any(|line| line.split_whitespace().next() == Some(command)),
                "{command}: {answer}"
            );
        }
    }
    let (code, answer) = doctor(&[&repo("programs/riscv/sort.elf")]);
    assert!(code == 1 && answer.contains("a program (ELF, RISC-V, 64 bits)"), "{answer}");
    let (code, answer) = doctor(&[&repo("testdata/stf/sort/trace.stf")]);
    assert!(code == 0 && answer.contains("nothing is wrong"), "{answer}");
    assert_eq!(doctor(&["/none"]).0, 3);
}

#[test]
fn logs_are_traces() {
    for case in ["loop-fast-models", "loop-es", "loop-gem5", "thumb-es", "two-cores"] {
        let (code, answer) = doctor(&[&repo(&format!("testdata/tarmac/{case}/trace.tarmac"))]);
        assert!(code == 0 && answer.contains("nothing is wrong"), "{case}: exit {code}\n{answer}");
    }
    for path in ["spike/mix.spike", "riscv-dv/mix.csv", "rvfi-dii/mix.rvfi", "rvfi-vcd/mix.vcd"] {
        let (code, answer) = doctor(&[&repo(&format!("testdata/{path}"))]);
        assert!(code == 0 && answer.contains("nothing is wrong"), "{path}: exit {code}\n{answer}");
    }
    let (log, elf) = (repo("testdata/qemu-exec/mix.qemu"), repo("programs/riscv/elf/rv64-mix.elf"));
    let (code, answer) = doctor(&[&log, "--elf", &elf]);
    assert!(code == 0 && answer.contains("nothing is wrong"), "exit {code}\n{answer}");
    assert!(doctor(&[&log]).1.contains("--elf"), "{}", doctor(&[&log]).1);
}

/// The files that others wrote.
#[test]
fn samples_of_other_tools_are_named() {
    let files = [
        ("perf", "perf_etm.data", "no code of /data/local/tmp/etm_test_loop"),
        ("perf", "rq_stats.ko", "a kernel module"),
        ("ete", "002-ack_test_scr/snapshot.ini", "a snapshot.ini"),
        ("ete", "002-ack_test_scr/trace.ini", "a file of a snapshot"),
    ];
    for (part, file, says) in files {
        let Some(corpus) = trackway_testkit::corpus_part(part) else { continue };
        let (code, answer) = doctor(&[&corpus.join(file).display().to_string()]);
        assert!(code == 1 && answer.contains(says), "{file}: exit {code}\n{answer}");
    }
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

/// Settings of ETE that are found from nothing work when pasted: a bare stream, frames, and circular buffers of both.
#[test]
fn settings_of_ete_work_when_pasted() {
    let folder = Folder::new("doctor-pasted-ete");
    let (run, elf) = (repo("testdata/astf/sort.astf"), repo("programs/aarch64/sort.elf"));
    let cases = [
        ("raw", "format = \"source_data\"\nTRCCONFIGR = 0x1001", 0),
        ("frames", "format = \"coresight\"\nTRCTRACEIDR = 0x21\nTRCCONFIGR = 0x1001", 0),
        ("wrapped", "format = \"source_data\"\nTRCCONFIGR = 0x11", 1),
        ("wrapped-frames", "format = \"coresight\"\nTRCTRACEIDR = 0x21\nTRCCONFIGR = 0x11", 16),
    ];
    for (name, keys, align) in cases {
        let (snapshot, unit) =
            (folder.file(&format!("{name}.ete")), folder.file(&format!("{name}.unit.toml")));
        std::fs::write(&unit, format!("[ete]\n{keys}\nTRCSYNCPR = 8\n")).unwrap();
        stdout(&["convert", &run, &snapshot, "--elf", &elf, "--config", &unit, "-q"]);
        let expected = stdout(&["dump", &snapshot, "--elf", &elf, "--as", "pcs", "-q"]);
        let files = ["trace.bin", "trace_0.bin"].map(|file| format!("{snapshot}/{file}"));
        let mut bytes = files.iter().find_map(|file| std::fs::read(file).ok()).expect("its bytes");
        if let Some(units) = (bytes.len() / 3).checked_div(align) {
            // The newest bytes are where the oldest were.
            bytes.rotate_right(units * align);
        }
        let (trace, config) = (folder.file(&format!("{name}.bin")), folder.file(&format!("{name}.toml")));
        std::fs::write(&trace, bytes).unwrap();
        let output = trackway(&["doctor", &trace, "--elf", &elf, "--json", "-o", &config]);
        let answer: Json = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            answer["diagnosis"]["settings"],
            std::fs::read_to_string(&config).unwrap(),
            "{name}: {answer}"
        );
        stdout(&["info", &trace, "--elf", &elf, "--config", &config, "-q"]);
        let again = stdout(&["dump", &trace, "--elf", &elf, "--config", &config, "--as", "pcs", "-q"]);
        assert_eq!(again, expected, "{name}: {answer}");
    }
}

/// A trace whose words are in the other byte order: the settings are those of the file that the advice makes.
#[test]
fn settings_work_on_the_mended_file() {
    let folder = Folder::new("doctor-pasted-order");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let (trace, config) = (folder.file("run.etrace"), folder.file("found.toml"));
    stdout(&["record", &elf, "-o", &trace, "--limit", "4000", "-q"]);
    let expected = stdout(&["dump", &trace, "--elf", &elf, "--as", "pcs", "-q"]);
    let mut bytes = std::fs::read(&trace).unwrap();
    bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    let swapped = folder.file("swapped");
    std::fs::write(&swapped, &bytes).unwrap();
    let output =
        trackway(&["doctor", &swapped, "--elf", &elf, "--json", "-o", &config, "--budget", "1200:8192"]);
    let answer: Json = serde_json::from_slice(&output.stdout).unwrap();
    let advice = answer["changed"]["advice"].as_str().expect("it was changed");
    assert!(advice.contains("--reverse-bytes=4"), "{answer}");
    assert!(answer["diagnosis"]["command"].as_str().unwrap().contains(" mended "), "{answer}");
    bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    let mended = folder.file("mended");
    std::fs::write(&mended, &bytes).unwrap();
    let again = stdout(&["dump", &mended, "--elf", &elf, "--config", &config, "--as", "pcs", "-q"]);
    assert_eq!(again, expected);
}

/// `info` without settings shows what it assumed; without a program it says what the packets look like.
#[test]
fn info_assumes_settings_and_says_so() {
    let folder = Folder::new("doctor-info");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let (trace, bare) = (folder.file("run.etrace"), folder.file("bare"));
    stdout(&["record", &elf, "-o", &trace, "--limit", "3000", "-q"]);
    std::fs::copy(&trace, &bare).unwrap();
    let info = stdout(&["info", &bare, "--elf", &elf, "-q"]);
    for says in [
        "assumed:           framing = \"smi\"",
        "assumed:           dialect = \"v2\"",
        "instructions:      3000",
    ] {
        assert!(info.contains(says), "{says}: {info}");
    }
    let json: Json = serde_json::from_str(&stdout(&["info", &bare, "--elf", &elf, "-q", "--json"])).unwrap();
    assert!(json["assumed"].as_array().is_some_and(|lines| lines.len() > 4), "{json}");
    let output = trackway(&["info", &bare]);
    let says = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{says}");
    assert!(says.contains("by its packets E-Trace") && says.contains("--elf PROGRAM"), "{says}");
    // With its settings nothing is assumed.
    assert!(!stdout(&["info", &trace, "--elf", &elf, "-q"]).contains("assumed:"));
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

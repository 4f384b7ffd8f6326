//! `verify` of logs: what a simulator or a retirement port writes, against the model.

mod common;

use common::*;
use serde_json::Value;

fn json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// Spike's own logs agree with the model, program by program.
#[test]
fn real_logs_of_spike_verify() {
    let Some(corpus) = trackway_testkit::corpus_part("logs/spike") else { return };
    let isa = "imafdc_zicsr_zifencei_zba_zbb_zbc_zbs";
    for (log, program, isa, instructions) in [
        ("rv64-mix.first-20000.log", "rv64-mix", format!("rv64{isa}_zfh"), 20_000),
        ("rv64-float.first-12000.log.xz", "rv64-float", format!("rv64{isa}_zfh"), 12_000),
        ("rv32-atomic.log", "rv32-atomic", format!("rv32{isa}"), 993),
        ("rv64-sv39.log", "rv64-sv39", format!("rv64{isa}_zfh"), 1968),
        ("rv64-sv39.both.log", "rv64-sv39", format!("rv64{isa}_zfh"), 106),
    ] {
        let file = corpus.join(log).display().to_string();
        let elf = repo(&format!("programs/riscv/elf/{program}.elf"));
        let args = ["verify", &file, "--elf", &elf, "--core", "spike", "--isa", &isa, "--json"];
        let output = trackway(&args);
        let object = json(&output);
        assert_eq!(output.status.code(), Some(0), "{log}: {object:#}");
        assert_eq!(object["passed"], true, "{log}");
        assert!(object["instructions"].as_u64().unwrap() >= instructions, "{log}: {object:#}");
        // A commit log names no cause of a trap: that is said, and no alarm.
        let left_out = object["not_compared"].as_array().unwrap();
        assert!(
            left_out.iter().any(|one| one["what"].as_str().unwrap().contains("causes of traps")),
            "{log}"
        );
    }
}

/// One execution in all kinds of logs.
fn logs() -> [(&'static str, String); 4] {
    ["spike/mix.spike", "riscv-dv/mix.csv", "rvfi-dii/mix.rvfi", "rvfi-vcd/mix.vcd"]
        .map(|name| (name, repo(&format!("testdata/{name}"))))
}

#[test]
fn all_kinds_of_logs_verify() {
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    for (name, file) in logs() {
        let output = trackway(&["verify", &file, "--elf", &elf, "--json"]);
        let object = json(&output);
        assert_eq!(output.status.code(), Some(0), "{name}: {object:#}");
        assert_eq!(object["instructions"], 200, "{name}: {object:#}");
    }
}

/// A register with another value in it is found in a log too, at its line.
#[test]
fn a_wrong_value_in_a_log_is_found() {
    let folder = Folder::new("verify-log-wrong");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let log = std::fs::read_to_string(repo("testdata/spike/mix.spike")).unwrap();
    let wrong = log.replacen("x5  0x0000000080000020", "x5  0x0000000080000030", 1);
    assert_ne!(log, wrong);
    let offset = log.find("x5  0x0000000080000020").unwrap();
    let line = log[..offset].rfind('\n').unwrap() + 1;
    let file = folder.file("wrong.spike");
    std::fs::write(&file, wrong).unwrap();
    let output = trackway(&["verify", &file, "--elf", &elf, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let object = json(&output);
    let first = &object["mismatches"][0];
    assert_eq!(first["offset"].as_u64(), Some(line as u64), "{object:#}");
    assert_eq!(first["elements"][0]["name"], "t0");
}

/// Recordings of every bare program, written as Spike writes its log.
#[test]
fn own_recordings_as_logs_verify() {
    let folder = Folder::new("verify-log-own");
    for name in ["rv64-mix", "rv64-sv39", "rv64-privileged", "rv32-privileged", "rv64-float", "rv32-sv32"] {
        let elf = repo(&format!("programs/riscv/elf/{name}.elf"));
        let log = folder.file(&format!("{name}.spike"));
        let recorded = trackway(&["record", &elf, "-q", "-o", &log, "--limit", "20000"]);
        assert_eq!(recorded.status.code(), Some(0), "{name}: {}", text(&recorded.stderr));
        let output = trackway(&["verify", &log, "--elf", &elf, "--json"]);
        let object = json(&output);
        assert_eq!(object["mismatches"].as_array().unwrap().len(), 0, "{name}: {object:#}");
    }
}

/// After a reset most control registers hold anything: the first sight of one raises no alarm, the second is checked.
#[test]
fn registers_that_a_reset_leaves_open_are_adopted_once() {
    let folder = Folder::new("verify-log-reset");
    let (elf, log) = (repo("programs/riscv/elf/rv64-mix.elf"), folder.file("reset.log"));
    // At the entry of the program, with other instructions than those of the program: read and write mscratch, read mstatus.
    let image = folder.file("code.bin");
    let code: [u32; 5] = [0x3400_22f3, 0x3400_2373, 0x3000_23f3, 0x3403_9073, 0x3400_22f3];
    std::fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    let lines = |second: u64, status: u64| {
        let line = |n: usize, rest: String| {
            format!("core   0: 3 0x{:016x} (0x{:08x}){rest}\n", 0x8000_0000u64 + 4 * n as u64, code[n])
        };
        [
            line(0, " x5  0x0000000000001234".to_string()),
            line(1, format!(" x6  0x{second:016x}")),
            line(2, format!(" x7  0x{status:016x}")),
            line(3, format!(" c832_mscratch 0x{status:016x}")),
            line(4, format!(" x5  0x{status:016x}")),
        ]
        .concat()
    };
    let run = |text: String| {
        std::fs::write(&log, text).unwrap();
        let image = format!("{image}@0x80000000");
        trackway(&["verify", &log, "--elf", &elf, "--image", &image, "--json"])
    };
    // FS may be on after reset; UXL and SXL are what they are.
    let fine = run(lines(0x1234, 0xa_0000_2000));
    assert_eq!(fine.status.code(), Some(0), "{:#}", json(&fine));
    let changed = run(lines(0x1235, 0xa_0000_2000));
    assert_eq!(changed.status.code(), Some(1), "{:#}", json(&changed));
    assert_eq!(json(&changed)["mismatches"][0]["instruction"], 1);
    // MIE is 0 after reset: that is not open.
    let enabled = run(lines(0x1234, 0xa_0000_2008));
    assert_eq!(enabled.status.code(), Some(1), "{:#}", json(&enabled));
    assert_eq!(json(&enabled)["mismatches"][0]["instruction"], 2);
}

/// A trace that needs what the model lacks is refused by name, unless the core is said not to have it.
#[test]
fn vectors_hypervisors_and_several_harts_are_refused() {
    let folder = Folder::new("verify-log-needs");
    let (image, log) = (folder.file("code.bin"), folder.file("needs.log"));
    let run = |second: u32, core: u32, isa: &[&str], live: bool| {
        let code = [0x0000_0013u32, second].map(u32::to_le_bytes).concat();
        std::fs::write(&image, code).unwrap();
        let text = format!(
            "core   0: 3 0x0000000080000000 (0x00000013)\ncore   {core}: 3 0x0000000080000004 (0x{second:08x})\n"
        );
        std::fs::write(&log, &text).unwrap();
        let image = format!("{image}@0x80000000");
        let file = if live { "-" } else { &*log };
        let args = [&["verify", file, "--image", &image, "--format", "spike"], isa].concat();
        if live { piped(&args, text.as_bytes()) } else { trackway(&args) }
    };
    for (instruction, core, name) in [
        (0x0d05_72d7, 0, "the vector extension (V)"),
        (0xc200_2573, 0, "the vector extension (V)"),
        (0x6200_0073, 0, "the hypervisor extension (H)"),
        (0x0000_0013, 1, "several harts"),
    ] {
        for live in [false, true] {
            let output = run(instruction, core, &[], live);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{instruction:#x}, {live}: {said}");
            let place = if core == 0 { "instruction 1" } else { "--source" };
            assert!(said.contains(name) && said.contains(place), "{said}");
            assert!(text(&output.stdout).is_empty(), "{}", text(&output.stdout));
        }
        if core == 0 {
            // A core that does not have it must not retire it.
            let output = run(instruction, core, &["--isa", "rv64gc"], false);
            assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
        }
    }
    // QEMU's cores have a hypervisor.
    assert_eq!(run(0x6200_0073, 0, &["--core", "qemu"], false).status.code(), Some(2));
    assert_eq!(run(0x0000_0013, 0, &[], false).status.code(), Some(0));
}

//! `record --qemu` under a QEMU with plugin API 4 (9.2 and later), and its speed beside a plugin with empty callbacks.
//! `cargo xtask test --peers` fetches such a QEMU and runs these tests; without it they are ignored.

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Folder, build_plugin, program, repo, stdout, text, trackway};
use trackway_testkit::skipped;

/// The folder of a QEMU with API 4: fetched, or one of those in `PATH`.
fn newer(name: &str) -> Option<String> {
    let fetched = format!("{}/qemu10/usr/bin", std::env::var("TRACKWAY_PEERS").unwrap_or_default());
    let path = std::env::var("PATH").unwrap_or_default();
    let found = std::iter::once(fetched.as_str()).chain(path.split(':')).find(|folder| {
        let output = Command::new(format!("{folder}/{name}")).arg("--version").output();
        let said = output.map(|output| text(&output.stdout)).unwrap_or_default();
        let major = said.split("version ").nth(1).and_then(|rest| rest.split('.').next()?.parse().ok());
        major.is_some_and(|major: u32| major >= 10)
    });
    if found.is_none() {
        skipped(&format!("no {name} with plugin API 4 (Debian 12: bookworm-backports)"));
    }
    found.map(str::to_string)
}

/// The value of a field of an event line, or of an access in it.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.split(&format!("{name}:")).nth(1)?;
    rest.split([',', ')']).next()
}

/// A step as text: privilege and pc, what it accessed with values, and the registers that it wrote.
type Step = (String, Vec<[String; 3]>, HashMap<String, String>);

fn steps(file: &str) -> Vec<Step> {
    let of = |part: &str, name: &str| field(part, name).unwrap_or_default().to_string();
    let word =
        |line: &str, name: &str| line.split(' ').find_map(|word| word.strip_prefix(name).map(str::to_string));
    let (mut found, mut privilege) = (Vec::new(), String::new());
    for line in stdout(&["dump", file, "--as", "events"]).lines() {
        if let Some(now) = word(line, "privilege=") {
            privilege = now;
        }
        // A fetch that fails is a step of the model, and none of QEMU.
        if line.split(' ').nth(1) != Some("step") || line.contains("placeholder:yes") {
            continue;
        }
        let pc = word(line, "pc=").unwrap_or_default();
        let memory = line.split("mem(").skip(1);
        let memory = memory.map(|part| ["kind", "address", "data"].map(|name| of(part, name)));
        let registers = line.split("reg(").skip(1).filter(|part| of(part, "role") == "destination");
        let registers = registers.map(|part| (of(part, "reg"), of(part, "value")));
        found.push((format!("{privilege} {pc}"), memory.collect(), registers.collect()));
    }
    found
}

/// Programs, and how many values and registers are compared at least; none of one that reads counters and devices, whose
/// path and privilege are compared.
const COMPARED: [(&str, Option<[usize; 2]>); 5] = [
    ("rv64-mix", Some([500, 3000])),
    ("rv64-sv39", Some([40, 1000])),
    ("rv64-sv48", Some([40, 1000])),
    ("rv64-sv57", Some([40, 1000])),
    ("rv64-privileged", None),
];

/// Under QEMU with API 4 a machine's values, registers and privilege are those of the golden model.
#[test]
#[ignore = "needs QEMU 9.2 or later"]
fn values_registers_and_privilege_are_the_models() {
    let Some(bin) = newer("qemu-system-riscv64") else { return };
    let folder = Folder::new("qemu-api4");
    build_plugin("plugin/qemu/src/lib.rs", 4, Path::new(&folder.file("libtrackway_qemu_api4.so")));
    for (name, least) in COMPARED {
        let elf = repo(&format!("programs/riscv/elf/{name}.elf"));
        let (model, qemu) = (folder.file("model.stf"), folder.file("qemu.stf"));
        let golden = trackway(&["record", "--machine", "virt", "--core", "qemu", "-o", &model, &elf]);
        assert_eq!(golden.status.code(), Some(0), "{}", text(&golden.stderr));
        let output = program()
            .env("PATH", format!("{bin}:/usr/bin:/bin"))
            .env("TRACKWAY_QEMU_PLUGIN", folder.0.as_os_str())
            .args(["record", "--qemu", "system", "--regs", "--deterministic", "-o", &qemu, &elf])
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let (ours, theirs) = (steps(&model), steps(&qemu));
        let (mut values, mut registers, mut levels) = (0, 0, std::collections::HashSet::new());
        // After the reset ROM: each puts the device tree elsewhere.
        for (n, (a, b)) in ours.iter().zip(&theirs).enumerate().take(10_000).skip(6) {
            assert_eq!(a.0, b.0, "{name}: instruction {n}");
            levels.insert(a.0.split(' ').next());
            if least.is_none() {
                continue;
            }
            // An atomic is a load and a store in QEMU, and one access in the model, with the value read.
            let atomic = a.1.iter().any(|own| own[0] == "read-write");
            for access in b.1.iter().filter(|access| !(atomic && access[0] == "write")) {
                let same = |own: &[String; 3]| own[1..] == access[1..] && (atomic || own[0] == access[0]);
                assert!(a.1.is_empty() || a.1.iter().any(same), "{name}: instruction {n}: {a:?} {b:?}");
                values += usize::from(!access[2].is_empty() && !a.1.is_empty());
            }
            for (register, value) in &b.2 {
                assert_eq!(a.2.get(register), Some(value), "{name}: instruction {n}: {a:?} {b:?}");
                registers += 1;
            }
        }
        let enough = least.is_none_or(|least| values > least[0] && registers > least[1]);
        assert!(enough && theirs.len() >= ours.len(), "{name}: {values} values, {registers} registers");
        assert_eq!(levels.len(), if name == "rv64-mix" { 1 } else { 3 }, "{name}: {levels:?}");
    }
}

/// The program reads `time` between calls, undefined instructions and loads that fault: what it reads is the number of
/// instructions that were executed before, but for the loads.
#[test]
#[ignore = "needs QEMU 9.2 or later"]
fn time_read_by_a_program_is_the_number_of_instructions() {
    let Some(bin) = newer("qemu-system-riscv64") else { return };
    let folder = Folder::new("qemu-api4-time");
    build_plugin("plugin/qemu/src/lib.rs", 4, Path::new(&folder.file("libtrackway_qemu_api4.so")));
    let (elf, out) = (folder.file("time.elf"), folder.file("time.stf"));
    let code = [
        0x0000_0297, // auipc t0, 0
        0x0482_8293, // addi t0, t0, 72: the handler
        0x3052_9073, // csrw mtvec, t0
        0x0c80_0393, // li t2, 200
        0xc010_22f3, // 1: rdtime t0
        0x0250_0313, // li t1, 37
        0xfff3_0313, // 2: addi t1, t1, -1
        0xfe03_1ee3, // bnez t1, 2b
        0x0000_0073, // ecall
        0x0000_0000, // undefined
        0x0000_2f03, // lw t5, 0(zero): faults
        0xfff3_8393, // addi t2, t2, -1
        0xfe03_90e3, // bnez t2, 1b
        0x0010_02b7, // lui t0, 0x100
        0x0000_5337, // lui t1, 5
        0x5553_031b, // addiw t1, t1, 0x555
        0x0062_a023, // sw t1, 0(t0): off
        0x0000_006f, // j .
        0x3410_2ff3, // csrr t6, mepc
        0x004f_8f93, // addi t6, t6, 4
        0x341f_9073, // csrw mepc, t6
        0x3020_0073, // mret
    ];
    std::fs::write(&elf, common::elf(243, 0x8000_0000, &code)).expect("a file");
    let output = program()
        .env("PATH", format!("{bin}:/usr/bin:/bin"))
        .env("TRACKWAY_QEMU_PLUGIN", folder.0.as_os_str())
        .args(["record", "--qemu", "system", "--regs", "--deterministic", "-o", &out, &elf])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (mut reads, mut counted) = (0, 0);
    for (n, (place, _, registers)) in steps(&out).iter().enumerate() {
        // QEMU has counted the instruction itself too when it is executed.
        counted += u64::from(!place.ends_with("80000028"));
        if place.ends_with("80000010") {
            let value = registers
                .get("x5")
                .and_then(|value| u64::from_str_radix(value.trim_start_matches("0x"), 16).ok());
            if let Some(value) = value {
                assert_eq!(value, counted / 100, "instruction {n}");
                reads += 1;
            }
        }
    }
    assert!(reads > 150, "{reads}");
}

/// QEMU reports no access for cache maintenance: its address is that of the register.
#[test]
#[ignore = "needs QEMU 9.2 or later"]
fn cache_maintenance_has_the_address_of_its_register() {
    let Some(bin) = newer("qemu-system-aarch64") else { return };
    let folder = Folder::new("qemu-api4-cache");
    build_plugin("plugin/qemu/src/lib.rs", 4, Path::new(&folder.file("libtrackway_qemu_api4.so")));
    let (elf, out) = (folder.file("cache.elf"), folder.file("cache.astf"));
    // movz x1, #0x4008, lsl #16; dc cvac, x1; ic ivau, x1; then PSCI switches off.
    let code = [0xd2a8_0101, 0xd50b_7a21, 0xd50b_7521, 0xd2b0_8000, 0xf280_0100, 0xd400_0002, 0x1400_0000];
    std::fs::write(&elf, common::elf(183, 0x4008_0000, &code)).expect("a file");
    let output = program()
        .env("PATH", format!("{bin}:/usr/bin:/bin"))
        .env("TRACKWAY_QEMU_PLUGIN", folder.0.as_os_str())
        .args(["record", "--qemu", "system", "--regs", "--deterministic", "-o", &out, &elf])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found: Vec<(String, Vec<[String; 3]>)> =
        steps(&out).into_iter().map(|(place, memory, _)| (place, memory)).collect();
    for pc in ["40080004", "40080008"] {
        let (_, memory) = found.iter().find(|(place, _)| place.ends_with(pc)).expect("it was executed");
        let access = ["maintenance", "0x40080000", ""].map(str::to_string);
        assert_eq!(*memory, [access], "{pc}");
    }
    let checked = trackway(&["check", &out]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stdout));
}

/// The last line that bash's `times` prints, of the children, as `0m1.234s 0m0.010s`: in seconds.
fn total(said: &str) -> f64 {
    let seconds = |word: &str| {
        let (minutes, seconds) = word.trim_end_matches('s').split_once('m').expect("a time");
        60.0 * minutes.parse::<f64>().expect("minutes") + seconds.parse::<f64>().expect("seconds")
    };
    said.lines().next_back().expect("times").split_whitespace().map(seconds).sum()
}

/// User and system time of a command and its children, and what it printed.
fn time(command: &str, path: &str) -> (f64, String) {
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{command} 2>&1; times")]).env("PATH", path).stdin(Stdio::null());
    let said = text(&shell.output().expect("bash runs").stdout);
    (total(&said), said)
}

/// Time of QEMU with our plugin beside one with empty callbacks, and what recording takes beside it.
#[test]
#[ignore = "a measurement"]
fn speed_beside_empty_callbacks() {
    if Command::new("qemu-aarch64").arg("--version").output().is_err() {
        return skipped("qemu-aarch64 is not installed (Debian: qemu-user)");
    }
    let Some(corpus) = trackway_testkit::corpus() else { return };
    let folder = Folder::new("qemu-speed");
    let (ours, empty) = (folder.file("libtrackway_qemu_api1.so"), folder.file("empty.so"));
    build_plugin("plugin/qemu/src/lib.rs", 1, Path::new(&ours));
    build_plugin("plugin/qemu/examples/empty.rs", 1, Path::new(&empty));
    // A QEMU that notes its own time.
    let (wrapper, spent) = (folder.file("qemu-aarch64"), folder.file("spent"));
    let real = text(&Command::new("which").arg("qemu-aarch64").output().expect("which").stdout);
    let script = format!("#!/bin/bash\n{} \"$@\"\ncode=$?\ntimes > {spent}\nexit $code\n", real.trim());
    std::fs::write(&wrapper, script).expect("a file");
    std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let elf = folder.file("qsortmix");
    let packed = std::fs::File::open(corpus.join("qemu/aarch64/qsortmix.elf.zst")).expect("a program");
    std::fs::write(&elf, zstd::decode_all(packed).expect("zstd")).expect("a file");
    std::fs::set_permissions(&elf, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let size = "20000";
    let path = format!("{}:/usr/bin:/bin", folder.0.display());
    let (plain, _) = time(&format!("qemu-aarch64 {elf} {size}"), &path);
    // The best of several: others use the processors too.
    let run = |_| time(&format!("qemu-aarch64 -plugin {empty} {elf} {size}"), &path).0;
    let base = (0..5).map(run).fold(f64::INFINITY, f64::min);
    let mut best = f64::INFINITY;
    let trackway = env!("CARGO_BIN_EXE_trackway");
    for end in ["stf", "stf", "stf", "zstf", "zstf"] {
        let out = folder.file(&format!("run.{end}"));
        let command = format!("{trackway} record --qemu user --plugin {ours} -o {out} {elf} -- {size}");
        let (all, said) = time(&command, &path);
        let qemu = total(&std::fs::read_to_string(&spent).expect("QEMU's times"));
        let count =
            said.split(&format!("run.{end}: ")).nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let instructions: f64 = count.expect("a count");
        let bytes = std::fs::metadata(&out).expect("a file").len() as f64;
        println!(
            "{end}: {instructions} instructions; QEMU alone {plain:.2} s, with empty callbacks {base:.2} s, with ours {qemu:.2} s \
             ({:.0} % of the speed of the empty ones); the recorder {:.2} s ({:.2} of QEMU's time); {:.2} bytes per instruction",
            100.0 * base / qemu,
            all - qemu,
            (all - qemu) / qemu,
            bytes / instructions,
        );
        best = best.min(qemu);
    }
    assert!(base / best > 0.5, "{:.0} % of the speed of empty callbacks", 100.0 * base / best);
}

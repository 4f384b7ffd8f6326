//! `trackway record --qemu system` from outside: machines from reset, with the causes of their traps.

mod common;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Folder, elf, program, qemu_plugin, stdout, text, trackway};
use trackway_testkit::{qemu::Run, skipped};

fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skipped(&format!("{program} is not installed (Debian: qemu-system-arm, qemu-system-misc)"));
    }
    found
}

/// The bare programs of the corpus: the same pcs as in its recordings, from reset to power-off, and every trap has its
/// cause from QEMU's log.
#[test]
fn bare_programs_from_reset_to_power_off() {
    let Some(plugin) = qemu_plugin() else { return };
    if !is_installed("qemu-system-aarch64") || !is_installed("qemu-system-riscv64") {
        return;
    }
    let folder = Folder::new("qemu-bare");
    for name in ["aarch64-traps", "rv64-traps"] {
        let Some(run) = Run::corpus("bare", name) else { return };
        let (elf, out) = (folder.file(&format!("{name}.elf")), folder.file(&format!("{name}.stf")));
        std::fs::write(&elf, &run.elf).expect("a file");
        let output = program()
            .env("TRACKWAY_QEMU_PLUGIN", plugin)
            .args(["record", "--qemu", "system", "--deterministic", "-o", &out, &elf])
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let pcs = stdout(&["dump", &out, "--as", "pcs", "--attempted"]);
        let theirs = run.pcs.iter().map(|pc| format!("{pc:016x}"));
        assert!(pcs.lines().eq(theirs), "{name}");
        let events = stdout(&["dump", &out, "--as", "events"]);
        let traps: Vec<&str> = events.lines().filter(|line| line.contains(" trap kind=")).collect();
        let count = |text: &str| traps.iter().filter(|line| line.contains(text)).count();
        if name == "rv64-traps" {
            assert_eq!(
                (count("cause=0x8 "), count("cause=0x2 "), count("cause=0x5 ")),
                (6, 1, 1),
                "{traps:?}"
            );
            assert_eq!((count("kind=interrupt cause=0x7 "), count("kind=return")), (1, 9));
        } else {
            assert_eq!(
                (count("class=0x15"), count("class=0x0 "), count("kind=return")),
                (6, 1, 7),
                "{traps:?}"
            );
            assert_eq!(events.lines().filter(|line| line.contains("context privilege=el0")).count(), 7);
        }
    }
}

/// Where the clock of a machine counts instructions, the time is that which the program reads: it waits for one, and
/// leaves its loop with the instruction that the recording says.
#[test]
fn time_is_known_where_it_counts_instructions() {
    let Some(plugin) = qemu_plugin() else { return };
    if !is_installed("qemu-system-aarch64") || !is_installed("qemu-system-riscv64") {
        return;
    }
    let folder = Folder::new("qemu-time");
    // 100 loads that fault, which QEMU does not count; then the program waits, and the test finisher is passed 0x5555.
    let riscv = [
        0x0000_0297, // auipc t0, 0
        0x0402_8293, // addi t0, t0, 64: the handler
        0x3052_9073, // csrw mtvec, t0
        0x0640_0393, // li t2, 100
        0x0000_2f03, // 1: lw t5, 0(zero)
        0xfff3_8393, // addi t2, t2, -1
        0xfe03_9ce3, // bnez t2, 1b
        0x0c80_0313, // li t1, 200
        0xc010_22f3, // 2: rdtime t0
        0xfe62_eee3, // bltu t0, t1, 2b
        0x0010_02b7, // lui t0, 0x100
        0x0000_5337, // lui t1, 5
        0x5553_031b, // addiw t1, t1, 0x555
        0x0062_a023, // sw t1, 0(t0)
        0x0000_006f, // j .
        0x0000_0013, // nop
        0x3410_2ff3, // csrr t6, mepc
        0x004f_8f93, // addi t6, t6, 4
        0x341f_9073, // csrw mepc, t6
        0x3020_0073, // mret
    ];
    // mov x1, #1000; 1: mrs x0, cntvct_el0; cmp x0, x1; b.lo 1b; then PSCI switches off.
    let arm = [
        0xd280_7d01,
        0xd53b_e040,
        0xeb01_001f,
        0x54ff_ffc3,
        0xd2b0_8000,
        0xf280_0100,
        0xd400_0002,
        0x1400_0000,
    ];
    // Nanoseconds that are waited for, and where the loop ends.
    let guests = [
        ("riscv", elf(243, 0x8000_0000, &riscv), "tandem", 20_000, "80000028"),
        ("arm", elf(183, 0x4008_0000, &arm), "astf", 16_000, "40080010"),
    ];
    for (name, bytes, end, waits, after) in guests {
        let (file, out) = (folder.file(&format!("{name}.elf")), folder.file(&format!("{name}.{end}")));
        std::fs::write(&file, bytes).expect("a file");
        for shift in [0u64, 3] {
            let icount = format!("shift={shift},sleep=off");
            let output = program()
                .env("TRACKWAY_QEMU_PLUGIN", plugin)
                .args(["record", "--qemu", "system", "-o", &out, &file, "--", "-icount", &icount])
                .stdin(Stdio::null())
                .output()
                .expect("it runs");
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            // Instructions that QEMU has counted.
            let (mut steps, mut times, mut left) = (0u64, Vec::new(), None);
            for line in stdout(&["dump", &out, "--as", "events"]).lines() {
                let value = |name: &str| {
                    line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix("=0x"))
                };
                let number = |name| value(name).and_then(|text| u64::from_str_radix(text, 16).ok());
                match line.split(' ').nth(1) {
                    Some("step") => {
                        left = left.or(number("pc").filter(|pc| format!("{pc:x}") == after).map(|_| steps));
                        steps += u64::from(number("pc") != Some(0x8000_0010));
                    }
                    Some("time") => times.push((steps, number("value").expect("a value"))),
                    _ => {}
                }
            }
            // A turn of the loop at most.
            let left = left.expect("the loop ends") << shift;
            assert!((waits..waits + (8 << shift)).contains(&left), "{name}: {left} ns");
            let tick = if name == "arm" { 1 } else { 100 };
            assert!(times.len() > 2 && times[0].0 == 0, "{name}: {times:?}");
            assert!(times.iter().all(|(steps, time)| *time == (steps << shift) / tick), "{name}: {times:?}");
        }
    }
}

const BIOS: &str = "/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_jump.elf";
const UBOOT: &str = "/usr/lib/u-boot/qemu-riscv64_smode/uboot.elf";

/// OpenSBI and U-Boot of Debian's packages.
fn has_firmware() -> bool {
    let found = Path::new(BIOS).exists() && Path::new(UBOOT).exists();
    if !found {
        skipped("no firmware (Debian: opensbi, u-boot-qemu)");
    }
    found
}

/// Records firmware under QEMU with these words. A key ends the countdown, then `last` is typed at the prompt. Returns the
/// screen, and what was said.
fn boot(plugin: &Path, words: &[&str], last: &[u8]) -> (String, String) {
    let mut child = program()
        .env("TRACKWAY_QEMU_PLUGIN", plugin)
        .args(["record", "--qemu", "system", "--no-mem"])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let (mut keys, mut screen) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let (mut shown, mut pressed) = (Vec::new(), 0);
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = screen.read(&mut bytes) {
        shown.extend(&bytes[..count]);
        let seen = text(&shown);
        if pressed == 0 && seen.contains("stop autoboot") {
            keys.write_all(b" ").expect("a key");
            pressed = 1;
        } else if pressed == 1 && seen.trim_end().ends_with("=>") {
            keys.write_all(last).expect("keys");
            pressed = 2;
        }
    }
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(pressed, 2, "{}", text(&shown));
    (text(&shown), text(&output.stderr))
}

/// From reset to the prompt.
#[test]
#[ignore = "peers: tens of millions of instructions"]
fn firmware_to_its_prompt() {
    let Some(plugin) = qemu_plugin() else { return };
    if !is_installed("qemu-system-riscv64") || !has_firmware() {
        return;
    }
    let folder = Folder::new("qemu-firmware");
    let out = folder.file("boot.zstf");
    // Ctrl-A X ends QEMU.
    let (_, said) = boot(plugin, &["-o", &out, UBOOT, "--", "-bios", BIOS], b"\x01x");
    let recorded: u64 = said
        .split("boot.zstf: ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .expect("a count");
    assert!((20_000_000..100_000_000).contains(&recorded), "{said}");
    let first = stdout(&["dump", &out, "--as", "pcs", "--attempted", "--limit", "7"]);
    assert!(first.starts_with("0000000000001000\n") && first.contains("0000000080000000"), "{first}");
    // Its last instruction is one of U-Boot, which waits for a key.
    let last = stdout(&["dump", &out, "--as", "pcs", "--from", "end-1"]);
    assert!(last.trim() > "0000000080000000", "{last}");
}

/// The extensions that the model has with `--isa rv64gc`.
const CPU: &str = "rv64,h=off,sstc=off,zba=off,zbb=off,zbc=off,zbs=off";

/// The same firmware on the golden model, to the prompt and off. Under QEMU with the same device tree it executes the same
/// instructions until it looks for the 17th entry of memory protection: QEMU has 16, in the model the others read 0.
#[test]
#[ignore = "peers: tens of millions of instructions"]
fn firmware_on_the_golden_model_and_where_it_parts_from_qemu() {
    if !has_firmware() {
        return;
    }
    let folder = Folder::new("model-firmware");
    let (keys, tree) = (folder.file("keys"), folder.file("virt.dtb"));
    // U-Boot takes one key before the countdown, to see whether it is Ctrl-C.
    std::fs::write(&keys, "\n\n\npoweroff\n").expect("a file");
    let (model, qemu) = (folder.file("model.zstf"), folder.file("qemu.zstf"));
    let output = program()
        .args(["record", "--machine", "virt", "--bios", BIOS, "--write-dtb", &tree, "--stdin", &keys])
        .args(["--isa", "rv64gc", "--no-regs", "--no-mem", "-o", &model, UBOOT])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for line in ["OpenSBI v1", "U-Boot 20", "stop autoboot", "=> poweroff", "poweroff ..."] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let Some(plugin) = qemu_plugin() else { return };
    if !is_installed("qemu-system-riscv64") {
        return;
    }
    let machine = ["--", "-bios", BIOS, "-dtb", &tree, "-cpu", CPU];
    let words = [&["--deterministic", "-o", &qemu, UBOOT][..], &machine].concat();
    let (shown, _) = boot(plugin, &words, b"poweroff\n");
    assert!(shown.contains("poweroff ..."), "{shown}");
    let output = trackway(&["diff", &model, &qemu, "--to", "3000000"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let first: u64 = said
        .split("first difference: instruction ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .expect("a difference");
    assert!(first > 500_000, "{said}");
    // Where: the instruction and its register. Why: the trap that only QEMU takes.
    let of_qemu = said.split("\nB: ").nth(1).expect("two sides");
    assert!(of_qemu.contains("csrr a6,pmpaddr16") && of_qemu.contains("attempted"), "{said}");
}

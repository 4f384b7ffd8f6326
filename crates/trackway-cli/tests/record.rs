//! `trackway record` from outside: exit codes, output, windows, formats that agree.

mod common;

use common::{Folder, repo, stdout, text, trackway};

fn program(name: &str) -> String {
    repo(&format!("programs/riscv/{name}.elf"))
}

fn pcs(file: &str) -> Vec<String> {
    stdout(&["dump", file, "--as", "pcs", "--attempted"]).lines().map(str::to_string).collect()
}

#[test]
fn formats_agree() {
    let folder = Folder::new("record-formats");
    for name in ["elf/rv32-mix", "linux/rv64-linux"] {
        let stf = folder.file(&format!("{}.stf", name.replace('/', "-")));
        let tandem = stf.replace(".stf", ".tandem");
        let output = trackway(&["record", &program(name), "-o", &stf]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains(": passed"));
        assert!(text(&output.stderr).contains("ended well, exit code 0"));
        let output = trackway(&["record", &program(name), "-o", &tandem, "--into", "tandem", "-q"]);
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
        let first = pcs(&stf);
        assert!(first.len() > 10_000, "{name}: {}", first.len());
        assert!(first == pcs(&tandem), "{name}: the two recordings differ");
        if name.starts_with("elf") {
            // The mix makes no system calls: all that it attempts retires.
            let etrace = stf.replace(".stf", ".etrace");
            let output = trackway(&["record", &program(name), "-o", &etrace, "-q"]);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            let flow = stdout(&["dump", &etrace, "--elf", &program(name), "--as", "pcs"]);
            assert!(flow.lines().eq(first.iter().map(String::as_str)), "{name}: E-Trace differs");
        }
        // In user mode the kernel, which writes mstatus in a trap, is not there: tandem misses it.
        let complete = if name.starts_with("elf") { vec![&stf, &tandem] } else { vec![&stf] };
        for file in complete {
            assert_eq!(trackway(&["check", file]).status.code(), Some(0), "{file}");
        }
    }
}

#[test]
fn windows_and_parts() {
    let folder = Folder::new("record-windows");
    let whole = folder.file("whole.stf");
    let part = folder.file("part.stf");
    let mix = program("elf/rv64-mix");
    trackway(&["record", &mix, "-o", &whole, "--no-regs", "--no-mem"]);
    let all = pcs(&whole);
    let output = trackway(&["record", &mix, "-o", &part, "--from", "1000", "--to", "1500"]);
    // The program ran to its end all the same.
    assert_eq!(output.stdout, b"mix: passed\n");
    assert!(pcs(&part) == all[1000..1500]);
    trackway(&["record", &mix, "-o", &part, "--from", "sym:run", "--limit", "5000"]);
    let first = all.iter().position(|pc| *pc == pcs(&part)[0]).expect("it is in the whole");
    assert!(pcs(&part) == all[first..5000]);
    let at = format!("pc:0x{}", all[2000]);
    trackway(&["record", &mix, "-o", &part, "--from", &at, "--limit", "5000"]);
    assert_eq!(pcs(&part)[0], all[2000]);
    let none = trackway(&["record", &mix, "-o", &part, "--from", "pc:0x2"]);
    assert_eq!(none.status.code(), Some(2), "{}", text(&none.stderr));
    let none = trackway(&["record", &mix, "-o", &part, "--from", "sym:nowhere"]);
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn failure_and_what_is_not_a_program() {
    let folder = Folder::new("record-failure");
    let out = folder.file("out.stf");
    // This program is for a core without compressed instructions.
    let aligned = program("elf/rv64-aligned");
    let output = trackway(&["record", &aligned, "-o", &out]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("reported failure, exit code"));
    let config = folder.file("core.toml");
    std::fs::write(&config, "[machine]\nisa = \"rv64imafd_zicsr_zifencei\"\n").unwrap();
    assert_eq!(trackway(&["record", &aligned, "-o", &out, "--config", &config]).status.code(), Some(0));
    std::fs::write(&config, "[machine]\nmisaligned = \"maybe\"\n").unwrap();
    assert_eq!(trackway(&["record", &aligned, "-o", &out, "--config", &config]).status.code(), Some(2));
    let output = trackway(&["record", &config, "-o", &out]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(trackway(&["record", &aligned, "-o", &folder.file("out.xyz")]).status.code(), Some(2));
}

#[test]
fn arguments_and_input_reach_a_linux_program() {
    let folder = Folder::new("record-linux");
    let out = folder.file("out.stf");
    let output = trackway(&["record", &program("linux/rv32-linux"), "-o", &out, "--", "and more"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"linux: passed\nand more");
    // The trace on stdout: the program's words go to stderr.
    let output = trackway(&["record", &program("linux/rv32-linux"), "-o", "-", "--into", "stf", "-q"]);
    assert_eq!(output.stderr, b"linux: passed\n");
    assert!(output.stdout.len() > 100_000);
}

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

/// A program that repeats itself for ever ends with a word; one that only waits for its timer does not.
#[test]
fn a_program_that_repeats_itself_ends() {
    let folder = Folder::new("record-loop");
    // `j .`, `wfi` in a loop, and a loop that stores the same value each time.
    for (name, code) in [
        ("jump", &[0x0000_006fu32][..]),
        ("wait", &[0x1050_0073, 0xffdf_f06f]),
        ("store", &[0x0000_0297, 0x0002_a823, 0xffdf_f06f, 0, 0, 0]),
    ] {
        let (elf, trace) = (folder.file(&format!("{name}.elf")), folder.file(&format!("{name}.stf")));
        std::fs::write(&elf, bare_elf(code)).unwrap();
        let output = trackway(&["record", &elf, "-o", &trace]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains("repeats the same state for ever"), "{name}: {said}");
        let json = trackway(&["record", &elf, "-o", &trace, "--json"]);
        assert!(text(&json.stdout).contains("\"ended\": \"repeats\""), "{}", text(&json.stdout));
        // Outside the window as well.
        let output = trackway(&["record", &elf, "-o", &trace, "--to", "3"]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", text(&output.stderr));
    }
    // A loop that reads the time ends it by --limit only.
    let (elf, trace) = (folder.file("time.elf"), folder.file("time.stf"));
    std::fs::write(&elf, bare_elf(&[0xc010_2573, 0xffdf_f06f])).unwrap();
    let output = trackway(&["record", &elf, "-o", &trace, "--limit", "5000"]);
    assert!(text(&output.stderr).contains("was stopped after 5000"), "{}", text(&output.stderr));
}

#[test]
fn an_output_has_a_largest_size() {
    let folder = Folder::new("record-size");
    let (elf, trace) = (folder.file("time.elf"), folder.file("time.stf"));
    std::fs::write(&elf, bare_elf(&[0xc010_2573, 0xffdf_f06f])).unwrap();
    let output = trackway(&["record", &elf, "-o", &trace, "--container", "plain", "--max-size", "1M"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("--max-size is reached"), "{said}");
    let size = std::fs::metadata(&trace).unwrap().len();
    assert!((1 << 20..3 << 20).contains(&size), "{size}");
    assert_eq!(trackway(&["check", &trace]).status.code(), Some(0));
    for (value, word) in [("0", "not a number of bytes"), ("x", "not a number of bytes")] {
        let output = trackway(&["record", &elf, "-o", &trace, "--max-size", value]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(word));
    }
}

/// The signature of an architectural test: the words between two symbols at the end.
#[test]
fn a_signature_is_written_as_riscof_compares_it() {
    let folder = Folder::new("record-signature");
    let elf = repo("programs/riscv/elf/rv64-signature.elf");
    let (trace, file) = (folder.file("run.stf"), folder.file("signature"));
    let output = trackway(&["record", &elf, "-o", &trace, "--signature", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "00000001\n00000001\n00000002\n00000003\n00000005\n00000008\n0000000d\n00000015\ndeadbeef\n"
    );
    let without = repo("programs/riscv/elf/rv64-mix.elf");
    let output = trackway(&["record", &without, "-o", &trace, "--signature", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no symbol begin_signature"), "{}", text(&output.stderr));
}

/// A bare-metal RV64 program of these instructions.
fn bare_elf(code: &[u32]) -> Vec<u8> {
    const BASE: u64 = 0x8000_0000;
    let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    elf.extend([2, 0, 243, 0, 1, 0, 0, 0]);
    for word in [BASE, 64, 0] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    elf.extend([1, 0, 0, 0, 7, 0, 0, 0]);
    let size = code.len() as u64;
    for word in [120, BASE, BASE, size, size, 4] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(code);
    elf
}

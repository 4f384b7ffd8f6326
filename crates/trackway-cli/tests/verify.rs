//! `trackway verify` from outside: the real core's trace with its documented machine, and a damaged one.

mod common;

use std::path::Path;

use common::{Folder, repo, text, trackway};

/// A trace of a real core, and its program.
fn flute() -> Option<(String, String)> {
    let folder = trackway_testkit::corpus_part("tandem/own")?;
    let file = |name: &str| folder.join(name).display().to_string();
    Some((file("own2.tv"), file("own2.elf")))
}

#[test]
fn the_real_core_verifies_with_its_documented_machine() {
    let Some((trace, elf)) = flute() else { return };
    let config = repo("docs/examples/flute.toml");
    let args = ["verify", &trace, "--elf", &elf, "--config", &config];
    let output = trackway(&args);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("verified: 92 instructions, 3 exceptions, 1 interrupts"), "{said}");
    assert!(said.contains(" 0 adopted, 0 gaps, 0 mismatches"), "{said}");
}

#[test]
fn a_damaged_trace_is_told_as_text_json_and_junit() {
    let Some((trace, elf)) = flute() else { return };
    let folder = Folder::new("verify-damaged");
    let mut bytes = std::fs::read(trace).unwrap();
    // The value that auipc gives to s0.
    bytes[0xb1] ^= 0x42;
    let (damaged, junit) = (folder.file("damaged.tv"), folder.file("junit.xml"));
    std::fs::write(&damaged, bytes).unwrap();
    let config = repo("docs/examples/flute.toml");
    let args = ["verify", &damaged, "--elf", &elf, "--config", &config];
    let output = trackway(&[&args[..], &["--junit", &junit]].concat());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("mismatch 1: wrong value at group 7 (offset 0x9e), instruction 6, M-mode"),
        "{said}"
    );
    assert!(said.contains("expected 0xc0002006         actual 0xc0002044         differing 0x42"), "{said}");
    assert!(!said.contains("mismatch 2"), "{said}");
    let listed = trackway(&[&args[..], &["--follow-ups"]].concat());
    assert!(text(&listed.stdout).contains("        instruction 7 (offset 0xb"), "{}", text(&listed.stdout));
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"1\" failures=\"1\"") && xml.contains("type=\"wrong value\""), "{xml}");
    let output = trackway(&[&args[..], &["--json", "--coverage"]].concat());
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["passed"], false);
    assert_eq!(object["mismatches"][0]["group"], 7);
    assert_eq!(object["mismatches"][0]["elements"][0]["name"], "s0");
    let traps = object["coverage"]["traps"].as_array().unwrap();
    assert!(traps.contains(&serde_json::json!({ "name": "interrupt 3 M>M", "count": 1 })), "{traps:?}");
    // The short trace fails alone, without the program.
    let short = folder.file("short.tv");
    let output = trackway(&[&args[..], &["--minimise", &short]].concat());
    assert_eq!(output.status.code(), Some(1));
    let output = trackway(&["verify", &short, "--json", "--config", &config]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["mismatches"][0]["elements"][0]["expected"], "0xc0002006", "{object}");
    assert_eq!(object["instructions"], 1);
}

/// Programs that need a core without compressed instructions are recorded and verified on one.
fn core_of(name: &str) -> Vec<String> {
    let isa = |width: &str| format!("{width}imafd_zicsr_zifencei_zicond_zawrs_zfh_zba_zbb_zbc_zbs");
    match name.split_once('-') {
        Some((width, rest)) if rest.starts_with("aligned") => vec!["--isa".to_string(), isa(width)],
        _ => Vec::new(),
    }
}

/// Every program verifies as recorded, in each format that has registers, and after conversions between them.
#[test]
fn every_recorded_program_verifies() {
    let folder = Folder::new("verify-recorded");
    let mut count = 0;
    for part in ["elf", "linux"] {
        for entry in std::fs::read_dir(repo(&format!("programs/riscv/{part}"))).unwrap() {
            let elf = entry.unwrap().path().display().to_string();
            let name = Path::new(&elf).file_stem().unwrap().to_string_lossy().into_owned();
            let core = core_of(&name);
            let core: Vec<&str> = core.iter().map(String::as_str).collect();
            let file = |end: &str| folder.file(&format!("{name}.{end}"));
            let verify = |trace: &str, wanted: &[i32]| {
                let verified = trackway(&[&["verify", trace, "--elf", &elf], &core[..]].concat());
                let (code, said) = (verified.status.code().unwrap(), text(&verified.stdout));
                assert!(wanted.contains(&code), "{trace}: {code}\n{said}");
                assert!(said.contains(" 0 mismatches"), "{trace}: {said}");
            };
            // STF does not hold what the kernel writes to memory: that is not compared. Nor do logs and flow formats.
            let of_stf: &[i32] = if part == "linux" { &[4] } else { &[0] };
            // And branches that depend on a device, or on what a kernel wrote, are not compared there.
            let of_flow = &[0, 4][..];
            for (end, wanted) in [("tv", &[0][..]), ("stf", of_stf), ("spike", of_stf), ("etrace", of_flow)] {
                let args = ["record", &elf, "-q", "-o", &file(end), "--limit", "20000"];
                let recorded = trackway(&[&args[..], &core[..]].concat());
                assert_eq!(recorded.status.code(), Some(0), "{name}: {}", text(&recorded.stderr));
                verify(&file(end), wanted);
            }
            for (from, to, wanted) in
                [("tv", "2.stf", of_stf), ("stf", "2.tv", of_stf), ("2.stf", "3.tv", of_stf)]
            {
                let converted = trackway(&["convert", &file(from), &file(to), "-q", "--elf", &elf]);
                assert_eq!(converted.status.code(), Some(0), "{name}: {}", text(&converted.stderr));
                verify(&file(to), wanted);
            }
            count += 1;
        }
    }
    assert!(count >= 27, "{count}");
}

/// A core is described by name, by its ISA string and register by register.
#[test]
fn the_core_is_described() {
    let folder = Folder::new("verify-core");
    let elf = repo("programs/riscv/elf/rv64-privileged.elf");
    let (trace, config) = (folder.file("run.tv"), folder.file("core.toml"));
    assert_eq!(trackway(&["record", &elf, "-o", &trace]).status.code(), Some(0));
    let with = |toml: &str| {
        std::fs::write(&config, toml).unwrap();
        let output = trackway(&["verify", &trace, "--elf", &elf, "--config", &config]);
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    assert_eq!(with("").0, Some(0));
    // Exceptions that this core says it cannot delegate: the trace shows that it does.
    let (code, said) = with("[csr.medeleg]\nwritable = 0xb1ff\n");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("medeleg"), "{said}");
    assert_eq!(with("[csr.mscratch]\nread_only = 0\n").0, Some(1));
    assert_eq!(with("[csr.0x7c0]\nexists = true\nreset = 5\n").0, Some(0));
    assert_eq!(with("[csr.mtvec]\nwarl = [[0, \"0xffffffffffff\"]]\n").0, Some(0));
    for (toml, word) in [
        ("[csr.nonsense]\nreset = 0\n", "no such register"),
        ("[csr.mtvec]\nrest = 0\n", "reset"),
        ("[machine]\nisa = \"rv64gcv\"\n", "\"v\" is not one of the model's extensions: i m a f d"),
        ("[machine]\npreset = \"rocket\"\n", "is not one of flute, qemu, ibex"),
    ] {
        let (code, said) = with(toml);
        assert!(matches!(code, Some(2 | 3)) && said.contains(word), "{toml}: {code:?} {said}");
    }
    let output = trackway(&["verify", &trace, "--elf", &elf, "--isa", "rv32gc"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// A description in YAML: its legal values count, and what is not followed is said.
#[test]
fn a_core_is_described_by_riscv_config() {
    let folder = Folder::new("verify-yaml");
    let elf = repo("programs/riscv/elf/rv64-sv39.elf");
    let (trace, yaml, toml) = (folder.file("run.tv"), folder.file("core.yaml"), folder.file("core.toml"));
    assert_eq!(trackway(&["record", &elf, "-q", "-o", &trace]).status.code(), Some(0));
    let with = |registers: &str| {
        let text =
            format!("hart_ids: [0]\nhart0:\n  ISA: RV64IMAFDCSUZicsr_Zifencei_Zba_Zbb_Zbc_Zbs\n{registers}");
        std::fs::write(&yaml, text).unwrap();
        trackway(&["verify", &trace, "--elf", &elf, "--core", &yaml])
    };
    let plain = with("");
    assert_eq!(plain.status.code(), Some(0), "{}", text(&plain.stdout));
    // The trace shows another value in a register that is said to be constant.
    let constant = "  mscratch:\n    rv64:\n      accessible: true\n      type: { ro_constant: 0 }\n";
    let vector = "  mtvec:\n    rv64:\n      accessible: true\n      base:\n        implemented: true\n        type: { warl: { legal: ['base[61:0] in [0x0]'], wr_illegal: [Unchanged] } }\n";
    let output = with(vector);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("mtvec"), "{}", text(&output.stdout));
    assert_eq!(with(constant).status.code(), Some(0), "it does not use it");
    let output = with("  mnothing:\n    rv64: { accessible: true }\n");
    assert!(text(&output.stderr).contains("line 4: mnothing"), "{}", text(&output.stderr));
    let output = with("  mtvec:\n    reset-val: [\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("line "), "{}", text(&output.stderr));
    // From a settings file its path is relative to that.
    std::fs::write(&toml, "[machine]\npreset = \"core.yaml\"\n").unwrap();
    with("");
    let output = trackway(&["verify", &trace, "--elf", &elf, "--config", &toml]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// The preset is what the documented file says in words.
#[test]
fn the_real_core_verifies_by_its_name() {
    let Some((trace, elf)) = flute() else { return };
    let folder = Folder::new("verify-flute");
    let config = folder.file("flute.toml");
    let documented = std::fs::read_to_string(repo("docs/examples/flute.toml")).unwrap();
    let from = documented.find("[machine]").unwrap();
    let to = documented.find("[verify]").unwrap();
    let toml = [&documented[..from], "[machine]\npreset = \"flute\"\n", &documented[to..]].concat();
    std::fs::write(&config, toml).unwrap();
    let output = trackway(&["verify", &trace, "--elf", &elf, "--config", &config]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

/// A group that cannot be read was not compared: 4, unless it is allowed.
#[test]
fn an_unreadable_group_is_not_verified() {
    let folder = Folder::new("verify-unreadable");
    let elf = repo("programs/riscv/elf/rv64-sv39.elf");
    let (trace, damaged, junit) =
        (folder.file("run.tv"), folder.file("damaged.tv"), folder.file("junit.xml"));
    assert_eq!(trackway(&["record", &elf, "-o", &trace]).status.code(), Some(0));
    let mut bytes = std::fs::read(&trace).unwrap();
    // The begin of a group, after the end of another.
    let end = 20_000 + bytes[20_000..].windows(2).position(|pair| pair == [2, 1]).unwrap();
    bytes[end + 1] ^= 0xff;
    std::fs::write(&damaged, bytes).unwrap();
    let args = ["verify", &damaged, "--format", "tandem", "--elf", &elf];
    let output = trackway(&[&args[..], &["--junit", &junit]].concat());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("NOT verified: ") && said.contains(" 0 mismatches"), "{said}");
    assert!(
        said.contains("not compared: 1 unreadable parts: ") && said.contains("first at offset 0x4"),
        "{said}"
    );
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("failures=\"1\"") && xml.contains("type=\"incomplete\""), "{xml}");
    let output = trackway(&[&args[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(4));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["passed"], false);
    assert!(object["reasons"][0].as_str().unwrap().contains("unreadable"), "{object}");
    assert_eq!(object["not_compared"][0]["what"], "unreadable parts");
    assert!(object["not_compared"][0]["first"][0]["offset"].as_u64().is_some_and(|at| at > 19_000));
    let output = trackway(&[&args[..], &["--allow-gaps", "1"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

/// A level that no core has does not pass.
#[test]
fn a_reserved_level_is_not_verified() {
    let folder = Folder::new("verify-level");
    let elf = repo("programs/riscv/elf/rv64-privileged.elf");
    let (trace, damaged) = (folder.file("run.tv"), folder.file("damaged.tv"));
    assert_eq!(trackway(&["record", &elf, "-o", &trace]).status.code(), Some(0));
    let listing = trackway(&["dump", "--raw", &trace]);
    let listing = text(&listing.stdout);
    let place = listing.lines().filter(|line| line.contains("privilege mode")).nth(5).unwrap();
    let offset = place.split_whitespace().next().unwrap().trim_start_matches("0x");
    let offset = usize::from_str_radix(offset, 16).unwrap();
    let mut bytes = std::fs::read(&trace).unwrap();
    bytes[offset + 2] = 2;
    std::fs::write(&damaged, bytes).unwrap();
    let args = ["verify", &damaged, "--format", "tandem", "--elf", &elf];
    let output = trackway(&args);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("not compared: 1 unreadable parts"), "{said}");
}

/// Memory whose content is unknown is not compared, unless the settings say it.
#[test]
fn unknown_memory_is_not_verified() {
    let folder = Folder::new("verify-memory");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let (trace, config) = (folder.file("run.tv"), folder.file("verify.toml"));
    assert_eq!(trackway(&["record", &elf, "-o", &trace, "--limit", "2000"]).status.code(), Some(0));
    let output = trackway(&["verify", &trace]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "without the program: {said}");
    assert!(said.contains("(--elf)"), "{said}");
    std::fs::write(&config, "[verify]\nmemory = [[0x80000000, 0x8000000, \"trace\"]]\n").unwrap();
    let output = trackway(&["verify", &trace, "--config", &config]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    std::fs::write(&config, "[verify]\nmemory = \"zero\"\n").unwrap();
    let output = trackway(&["verify", &trace, "--elf", &elf, "--config", &config]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn verifying_nothing_is_not_fine() {
    let folder = Folder::new("verify-nothing");
    let trace = folder.file("empty.tv");
    std::fs::write(&trace, [0x01, 0x0a, 0x02]).unwrap();
    let output = trackway(&["verify", &trace]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
}

#[test]
fn a_program_becomes_a_trace_that_loads_it() {
    let folder = Folder::new("tandem-load");
    let elf = repo("programs/riscv/elf/rv32-mix.elf");
    let out = folder.file("load.tv");
    let output = trackway(&["convert", &elf, &out]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let listing = trackway(&["dump", "--raw", &out, "--limit", "4"]);
    let listing = text(&listing.stdout);
    let words: Vec<&str> = listing.lines().take(4).collect();
    assert!(words[0].contains("begin group") && words[1].contains("state initialization"), "{listing}");
    assert!(
        words[2].contains("memory request") && words[2].contains("bytes at 0x0080000000 data"),
        "{listing}"
    );
    assert!(words[3].contains("end group"), "{listing}");
    // Other formats have no such traces; nothing is written.
    let astf = folder.file("load.astf");
    let output = trackway(&["convert", &elf, &astf]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("record it instead"));
    assert!(!Path::new(&astf).exists());
    // Nor is anything for a damaged program.
    let damaged = folder.file("damaged.elf");
    std::fs::write(&damaged, &std::fs::read(&elf).unwrap()[..60]).unwrap();
    let output = trackway(&["convert", &damaged, &folder.file("damaged.tv")]);
    assert_eq!(output.status.code(), Some(3));
    assert!(!Path::new(&folder.file("damaged.tv")).exists());
}

#[test]
fn a_listing_has_groups_addresses_and_what_is_odd() {
    let folder = Folder::new("tandem-listing");
    let (trace, config) = (folder.file("odd.tv"), folder.file("odd.toml"));
    // A reset, a group whose end is implied, `beq x0, x0, -4` behind it, and an end of no group.
    let mut bytes = vec![1, 10, 2, 1, 3, 0x11, 0x13, 0, 0, 0, 1, 0x07, 0x0a];
    bytes.extend_from_slice(&0x7000_0000u64.to_le_bytes());
    bytes.extend_from_slice(&[0x11, 0xe3, 0x0e, 0, 0xfe, 2, 2]);
    std::fs::write(&trace, bytes).unwrap();
    std::fs::write(&config, "[tandem]\nreset_pc = 0x7000_0000\n").unwrap();
    let output = trackway(&["dump", "--raw", &trace, "--config", &config]);
    let listing = text(&output.stdout);
    for line in [
        "begin group",
        "00000013 nop (at 0x70000000)",
        "2, ends the one before",
        "fe000ee3 beqz zero,0x70000000 (at 0x70000004)",
        "of no group",
    ] {
        assert!(listing.contains(line), "{line}\n{listing}");
    }
}

#[test]
fn skipped_bytes_are_counted() {
    let Some((trace, elf)) = flute() else { return };
    let folder = Folder::new("verify-skipped");
    let mut bytes = std::fs::read(trace).unwrap();
    // An opcode that does not exist, in the group at 0x9e.
    bytes[0xa9] = 0xee;
    let damaged = folder.file("damaged.tv");
    std::fs::write(&damaged, bytes).unwrap();
    let config = repo("docs/examples/flute.toml");
    let output = trackway(&["verify", &damaged, "--elf", &elf, "--config", &config]);
    let said = text(&output.stdout);
    let health = said.lines().last().unwrap();
    assert!(health.contains(" 1 gaps, 0 doubtful runs, 28 bytes skipped"), "{said}");
}

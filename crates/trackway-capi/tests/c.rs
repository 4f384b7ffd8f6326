//! Programs in C: the example of docs/c.md, and one that uses every call.

mod cc;

use std::process::Command;

use cc::{compile, root, run};
use trackway_testkit::skipped;

/// The block of this kind in docs/c.md.
fn block(language: &str) -> String {
    let page = std::fs::read_to_string(root().join("docs/c.md")).unwrap();
    let from = page.find(&format!("```{language}\n")).unwrap() + language.len() + 4;
    let length = page[from..].find("```").unwrap();
    page[from..from + length].to_string()
}

#[test]
fn the_example_of_the_page_says_what_the_page_says() {
    let Some(program) = compile("example", "example.c", Some(&block("c")), &[]) else { return };
    let (code, text) = run(&mut Command::new(program));
    let page = std::fs::read_to_string(root().join("docs/c.md")).unwrap();
    assert_eq!(code, Some(1), "{text}");
    for line in text.lines() {
        assert!(page.lines().any(|known| known.trim_end() == line.trim_end()), "not in the page: {line}");
    }
    assert!(text.contains("a0           wrong value expected 0x6"), "{text}");
}

#[test]
fn a_core_beside_a_core_agrees_until_it_is_wrong() {
    let source = root().join("crates/trackway-capi/tests/c/two.c");
    let Some(program) = compile("two", source.to_str().unwrap(), None, &[]) else { return };
    for (name, kinds) in [("rv64-calls", "x"), ("rv64-mix", "xc"), ("rv64-float", "xfc")] {
        let elf = root().join(format!("programs/riscv/elf/{name}.elf"));
        let run = |bad: &str, kind: &str| run(Command::new(&program).arg(&elf).args(["3000", bad, kind]));
        let (code, text) = run("0", "-");
        assert_eq!(code, Some(0), "{name}: {text}");
        assert!(text.contains("3000 instructions"), "{name}: {text}");
        for kind in kinds.chars().map(|kind| kind.to_string()) {
            let (code, text) = run("700", &kind);
            assert_eq!(code, Some(1), "{name}, {kind}: {text}");
            assert!(text.contains("differing 0x4"), "{name}, {kind}: {text}");
        }
    }
}

/// Instructions of an extension that the model lacks end it, where no ISA string says that the core has none.
#[test]
fn a_core_of_unknown_extensions_is_not_half_verified() {
    use trackway_c::{Core, Retired};
    let vector = Retired { pc: 0x8000_0000, instruction: 0x57, next_pc: 0x8000_0004, ..Retired::default() };
    let mut open = Core::new("", "", 0x8000_0000).unwrap();
    assert!(open.retired(&vector).unwrap_err().contains("the vector extension (V)"));
    assert!(!open.report().passed());
    let mut named = Core::new("", "rv64gc", 0x8000_0000).unwrap();
    assert_eq!(named.retired(&vector), Ok(1));
}

/// Verilator: its RVFI port is verified while it runs, and each planted fault is found.
#[test]
#[ignore = "peers: needs Verilator"]
fn a_core_in_verilog_is_verified_while_it_runs() {
    if Command::new("verilator").arg("--version").output().is_err() {
        return skipped("Verilator is not installed: apt-get install verilator");
    }
    let folder = root().join("crates/trackway-capi/tests/rtl");
    let elf = folder.join("program.elf");
    let scratch = cc::scratch("rtl");
    let image = scratch.join("program.bin");
    std::fs::write(&image, cc::flat(&std::fs::read(&elf).unwrap(), 0x8000_0000)).unwrap();
    let library = cc::library().expect("built with the tests");
    // One program for all of them: building takes most of the time.
    let built = scratch.join("built");
    let mut make = Command::new("verilator");
    make.args(["--cc", "--exe", "--build", "-O0", "-Wno-fatal", "--top-module", "rv32i", "--Mdir"])
        .arg(&built)
        .args(["-CFLAGS", &format!("-O0 -I{}", root().join("crates/trackway-capi/include").display())])
        .args(["-LDFLAGS", &format!("{} -lpthread -ldl -lm", library.display())])
        .args(["-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0 OPT_SLOW=-O0"])
        .arg(folder.join("rv32i.v"))
        .arg(folder.join("sim.cpp"));
    let (code, text) = run(&mut make);
    assert_eq!(code, Some(0), "{text}");
    for (bug, expected) in [("0", "verified: "), ("1", "sra"), ("2", "sltiu"), ("3", "sb")] {
        let mut simulation = Command::new("timeout");
        simulation.arg("60").arg(built.join("Vrv32i")).arg(&elf).arg(&image).arg(bug);
        let (code, text) = run(&mut simulation);
        assert_eq!(code, Some(i32::from(bug != "0")), "bug {bug}: {text}");
        assert!(text.contains(expected), "bug {bug}: {text}");
        if bug != "0" {
            assert!(text.contains("found while it runs, after"), "bug {bug}: {text}");
        }
    }
}

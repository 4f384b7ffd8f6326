//! Files that we write, read by the programs they are for. `cargo xtask test --peers` installs them and runs these
//! tests; without it they are ignored.

mod common;

use std::process::Command;

use common::{Folder, repo, stdout, text};
use trackway_testkit::skipped;

/// The output of a program for these arguments; `None`, said loudly, where it is not installed.
fn run(program: &str, args: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(args).output() {
        Ok(output) => output,
        Err(error) => {
            skipped(&format!("{program}: {error}"));
            return None;
        }
    };
    let all = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {all}");
    Some(all)
}

fn recorded(folder: &Folder) -> (String, String) {
    let (trace, elf) = (folder.file("calls.stf"), repo("programs/riscv/elf/rv64-calls.elf"));
    stdout(&["record", &elf, "-o", &trace, "-q"]);
    (trace, elf)
}

fn profile(folder: &Folder, shape: &str) -> String {
    let (trace, elf) = recorded(folder);
    let out = folder.file(shape);
    stdout(&["profile", &trace, "--elf", &elf, "--as", shape, "-o", &out]);
    out
}

#[test]
#[ignore = "needs valgrind"]
fn callgrind_annotate_reads_it() {
    let folder = Folder::new("peers-callgrind");
    let Some(said) = run("callgrind_annotate", &["--inclusive=yes", &profile(&folder, "callgrind")]) else {
        return;
    };
    assert!(said.contains("6,457 (100.0%)  PROGRAM TOTALS"), "{said}");
    assert!(said.contains(":program") && said.contains(":fib"), "{said}");
}

#[test]
#[ignore = "needs lcov"]
fn genhtml_takes_it() {
    let folder = Folder::new("peers-genhtml");
    let (trace, elf) = recorded(&folder);
    let (info, out) = (folder.file("calls.info"), folder.file("html"));
    stdout(&["cover", &trace, "--elf", &elf, "--as", "lcov", "-o", &info]);
    let sources = repo("programs/riscv");
    if run("genhtml", &["--version"]).is_none() {
        return;
    }
    // Names of sources are those of the build's folder.
    let script = format!("cd '{sources}' && genhtml --branch-coverage '{info}' -o '{out}'");
    let Some(said) = run("sh", &["-c", &script]) else { return };
    assert!(said.contains("lines......: 73.1% (19 of 26 lines)"), "{said}");
    assert!(said.contains("functions..: 83.3% (5 of 6 functions)"), "{said}");
}

#[test]
#[ignore = "needs go"]
fn pprof_reads_it() {
    let folder = Folder::new("peers-pprof");
    let go = ["/usr/lib/go-1.19/bin/go", "go"]
        .into_iter()
        .find(|go| Command::new(go).arg("version").output().is_ok());
    let Some(go) = go else { return skipped("go is not installed") };
    let Some(said) = run(go, &["tool", "pprof", "-top", &profile(&folder, "pprof")]) else { return };
    assert!(said.contains("Total samples = 6457") || said.contains("of 6457 total"), "{said}");
    assert!(said.contains("fib") && said.contains("program"), "{said}");
}

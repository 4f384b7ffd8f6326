//! Files that we write, read by the programs they are for. `cargo xtask test --peers` installs them and runs these
//! tests; without it they are ignored.

mod common;

use std::process::Command;

use common::{Folder, HOSTILE, qemu_plugin, recorded, recorded_as, repo, stdout, text};
use trackway_testkit::skipped;

/// A program of the version that the tests were written for, or of any.
fn versioned(program: &str) -> String {
    let new = format!("{program}-22");
    if Command::new(&new).arg("--version").output().is_ok() { new } else { program.to_string() }
}

/// A file in the folder that `cargo xtask test --peers` fills; `None`, said loudly, where it is not there.
fn fetched(path: &str) -> Option<String> {
    let folder = std::env::var("TRACKWAY_PEERS").unwrap_or_default();
    let file = format!("{folder}/{path}");
    if std::path::Path::new(&file).exists() {
        return Some(file);
    }
    skipped(&format!("{path} was not fetched: cargo xtask test --peers"));
    None
}

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
    // Recursion is counted once.
    assert!(said.contains("5,527 (85.60%)  ./calls.c:fib"), "{said}");
    assert!(said.contains(":program"), "{said}");
}

/// Own costs are together the whole, also where functions are reached without a call.
#[test]
#[ignore = "needs valgrind"]
fn callgrind_annotate_adds_up() {
    let folder = Folder::new("peers-callgrind-own");
    let (trace, elf) = (repo("testdata/astf/levels.astf"), repo("programs/aarch64/levels.elf"));
    let out = folder.file("levels.callgrind");
    stdout(&["profile", &trace, "--elf", &elf, "--as", "callgrind", "-o", &out]);
    let Some(said) = run("callgrind_annotate", &["--threshold=100", "--auto=no", &out]) else { return };
    let count = |line: &str| line.split_whitespace().next()?.replace(',', "").parse::<u64>().ok();
    let costs: Vec<u64> = said.lines().filter(|line| line.contains("%)")).filter_map(count).collect();
    assert_eq!(costs[0], costs[1..].iter().sum::<u64>(), "{said}");
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

#[test]
#[ignore = "needs llvm-22"]
fn llvm_profdata_reads_text_and_binary() {
    let folder = Folder::new("peers-profdata");
    let profdata = versioned("llvm-profdata");
    let (text, binary) = (profile(&folder, "llvm"), profile(&folder, "llvm-binary"));
    let Some(shown) = run(&profdata, &["show", "--sample", &text]) else { return };
    assert!(shown.contains("Function: fib: 917, 232, 4 sampled lines"), "{shown}");
    assert!(shown.contains("inlined callee: mix: 33"), "{shown}");
    let of_binary = run(&profdata, &["show", "--sample", &binary]).unwrap();
    assert_eq!(sorted(&of_binary), sorted(&shown));
    // The same bytes that LLVM writes for our text.
    let merged = folder.file("merged");
    run(&profdata, &["merge", "--sample", "--binary", &text, "-o", &merged]).unwrap();
    assert!(std::fs::read(merged).unwrap() == std::fs::read(binary).unwrap());
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// The program of the tests, built by clang for a target; `None` where that is not installed.
fn clang(folder: &Folder, name: &str, target: &str, more: &[&str]) -> Option<String> {
    let (source, out) = (repo("programs/riscv/calls.c"), folder.file(name));
    let target = format!("--target={target}-linux-gnu");
    let fixed = [&*target, "-O2", "-gline-tables-only", "-fdebug-info-for-profiling", "-ffreestanding"];
    let end = ["-Wno-unknown-attributes", &source, "-o", &out];
    run(&versioned("clang"), &[&fixed[..], more, &end[..]].concat())?;
    Some(out)
}

/// A program is recorded and built again with its profile: branches have weights, and it executes no more than before.
#[test]
#[ignore = "needs clang-22 and lld-22"]
fn clang_uses_the_profile() {
    let folder = Folder::new("peers-clang");
    let script = format!("-Wl,-T,{}", repo("programs/riscv/link.ld"));
    let linked = [
        "-march=rv64gc",
        "-mabi=lp64d",
        "-mcmodel=medany",
        "-fno-pic",
        "-nostdlib",
        "-static",
        "-fuse-ld=lld",
        "--ld-path=/usr/bin/ld.lld-22",
        &script,
    ];
    let Some(before) = clang(&folder, "before.elf", "riscv64", &linked) else { return };
    let (trace, profile) = (folder.file("before.stf"), folder.file("llvm"));
    stdout(&["record", &before, "-o", &trace, "-q"]);
    stdout(&["profile", &trace, "--elf", &before, "--as", "llvm", "-o", &profile]);
    let option = format!("-fprofile-sample-use={profile}");
    for target in ["riscv64", "aarch64"] {
        let with = clang(&folder, "with.ll", target, &[&option, "-S", "-emit-llvm"]).unwrap();
        let without = clang(&folder, "without.ll", target, &["-S", "-emit-llvm"]).unwrap();
        let weights = |file: &str| std::fs::read_to_string(file).unwrap().matches("branch_weights").count();
        assert_eq!(weights(&without), 0);
        assert!(weights(&with) >= 5, "{target}: {}", weights(&with));
        assert!(std::fs::read_to_string(with).unwrap().contains("\"function_entry_count\", i64 232"));
    }
    let after = clang(&folder, "after.elf", "riscv64", &[&linked[..], &[&option]].concat()).unwrap();
    let executed = |elf: &str| -> u64 {
        stdout(&["record", elf, "-o", &trace, "-q"]);
        let stats: serde_json::Value = serde_json::from_str(&stdout(&["stats", "--json", &trace])).unwrap();
        stats["instructions"]["total"].as_u64().unwrap()
    };
    let (before, after) = (executed(&before), executed(&after));
    eprintln!("clang -fprofile-sample-use: {before} instructions before, {after} after");
    assert!(after <= before, "{before} {after}");
}

/// A program that is built with its profile executes less, by the count of QEMU, for both architectures; each has the
/// profile of its own run, the Arm one recorded under QEMU.
#[test]
#[ignore = "needs clang-22, lld-22 and qemu-user"]
fn qemu_executes_less_with_the_profile() {
    let folder = Folder::new("peers-qemu");
    let source = repo("programs/hot.c");
    let build = |name: &str, target: &str, more: &[&str]| -> Option<String> {
        let (out, target) = (folder.file(name), format!("--target={target}-linux-gnu"));
        let fixed =
            ["-O2", "-gline-tables-only", "-fdebug-info-for-profiling", "-ffreestanding", "-nostdlib"];
        let linked =
            ["-static", "-fuse-ld=lld", "--ld-path=/usr/bin/ld.lld-22", &target, &source, "-o", &out];
        run(&versioned("clang"), &[&fixed[..], &linked, more].concat())?;
        Some(out)
    };
    for target in ["riscv64", "aarch64"] {
        let Some(traced) = build("traced", target, &[]) else { return };
        let (trace, profile) =
            (folder.file(&format!("{target}.stf")), folder.file(&format!("{target}.prof")));
        if target == "riscv64" {
            stdout(&["record", &traced, "-o", &trace, "-q"]);
        } else {
            let Some(plugin) = qemu_plugin().and_then(|folder| folder.to_str()) else { continue };
            stdout(&["record", "--qemu", "user", "--plugin", plugin, "-o", &trace, "-q", &traced]);
        }
        stdout(&["profile", &trace, "--elf", &traced, "--as", "llvm", "-o", &profile]);
        let option = format!("-fprofile-sample-use={profile}");
        let executed = |name: &str, more: &[&str]| -> Option<usize> {
            let (elf, log) = (build(name, target, more)?, folder.file("log"));
            run(&format!("qemu-{target}"), &["-singlestep", "-d", "exec,nochain", "-D", &log, &elf])?;
            let lines = std::fs::read_to_string(log).unwrap();
            Some(lines.lines().filter(|line| line.starts_with("Trace")).count())
        };
        let Some(before) = executed("before", &[]) else { return };
        let after = executed("after", &[&option]).unwrap();
        eprintln!("{target}: {before} instructions before, {after} with the profile");
        assert!(before > 10_000 && after * 100 < before * 97, "{target}: {before} before, {after} after");
    }
}

/// Debian's AutoFDO reads our text, and its profile for GCC is ours but for entries that it does not see: `_start` has no
/// source, and `even` falls into `odd`.
#[test]
#[ignore = "needs autofdo"]
fn autofdo_reads_it() {
    let folder = Folder::new("peers-autofdo");
    let (ours, gcov) = (profile(&folder, "autofdo"), profile(&folder, "gcov"));
    let binary = format!("--binary={}", repo("programs/riscv/elf/rv64-calls.elf"));
    let (profile, out) = (format!("--profile={ours}"), folder.file("made"));
    let args = [&*binary, &profile, "--profiler=text"];
    let llvm = format!("--out={out}");
    if run("create_llvm_prof", &[&args[..], &[&llvm, "--format=text"]].concat()).is_none() {
        return;
    }
    let made = text(&std::fs::read(&out).unwrap());
    assert!(made.contains("\n 1: 232\n 2: 232\n 4: 221 fib:221\n 5: 232\n"), "{made}");
    run("create_gcov", &[&args[..], &[&format!("--gcov={out}"), "--gcov_version=1"]].concat()).unwrap();
    let dump = |file: &str| run("dump_gcov", &["--gcov_version=1", file]).unwrap();
    let theirs = dump(&out).replace("odd total:122 head:11", "odd total:122 head:61");
    assert_eq!(
        sorted(&dump(&gcov)),
        sorted(&theirs.replace("program total:100 head:0", "program total:100 head:1"))
    );
}

#[test]
#[ignore = "needs gcc-riscv64-linux-gnu"]
fn gcc_uses_the_profile() {
    let folder = Folder::new("peers-gcc");
    let (trace, elf) = recorded(&folder);
    let (gcov, object) = (folder.file("gcov"), folder.file("calls.o"));
    stdout(&["profile", &trace, "--elf", &elf, "--as", "gcov", "--gcov-version", "2", "-o", &gcov]);
    let (option, source) = (format!("-fauto-profile={gcov}"), repo("programs/riscv/calls.c"));
    let dump = format!("-fdump-ipa-afdo={}", folder.file("dump"));
    if run("riscv64-linux-gnu-gcc", &["-O2", "-g", "-c", &option, &dump, &source, "-o", &object]).is_none() {
        return;
    }
    let dump = std::fs::read_to_string(folder.file("dump")).unwrap();
    assert!(["[count: 232]", "[count: 61]"].iter().all(|count| dump.contains(count)), "{dump}");
}

#[test]
#[ignore = "needs bolt-22"]
fn bolt_reads_it() {
    let folder = Folder::new("peers-bolt");
    let (data, out) = (profile(&folder, "bolt"), folder.file("bolted"));
    let Some(merged) = run(&versioned("merge-fdata"), &[&data, &data]) else { return };
    assert!(merged.contains("1 fib/1 1e 1 fib/1 0 0 442\n"), "{merged}");
    let elf = repo("programs/riscv/elf/rv64-calls.elf");
    let args = ["-data", &data, "-o", &out, "--print-profile", "--print-only=fib.*"];
    let said = run(&versioned("llvm-bolt"), &[&[&*elf], &args[..]].concat()).unwrap();
    assert!(said.contains("Exec Count  : 232"), "{said}");
    assert!(said.contains("count: 90)") && said.contains("count: 142)"), "{said}");
}

#[test]
#[ignore = "needs npm and PyPI"]
fn speedscope_has_its_schema() {
    let folder = Folder::new("peers-speedscope");
    let (Some(python), Some(schema)) =
        (fetched("venv/bin/python"), fetched("speedscope/package/dist/release/file-format-schema.json"))
    else {
        return;
    };
    let check = "import json, sys, jsonschema; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))";
    run(&python, &["-c", check, &profile(&folder, "speedscope"), &schema]);
}

#[test]
#[ignore = "needs PyPI"]
fn perfetto_reads_it() {
    let folder = Folder::new("peers-perfetto");
    let Some(python) = fetched("venv/bin/python") else { return };
    let script = repo("crates/trackway-cli/tests/peers/timeline.py");
    let said = run(&python, &[&script, &profile(&folder, "perfetto")]).unwrap();
    for line in ["time 6457", "232 fib", "1 _start", "1 hash_of_the_numbers"] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
    // Traps, contexts.
    let (trace, elf) = (folder.file("traps.stf"), repo("programs/riscv/elf/rv64-privileged.elf"));
    stdout(&["record", &elf, "-o", &trace, "-q"]);
    let out = folder.file("traps");
    stdout(&["profile", &trace, "--elf", &elf, "--as", "perfetto", "-o", &out]);
    let said = run(&python, &[&script, &out]).unwrap();
    assert!(said.contains(" [trap]\n") && said.contains(" exception 0x") && said.contains(" s\n"), "{said}");
}

/// Names that try to break a format: each program still finds what it looks for.
#[test]
#[ignore = "needs the programs of the other tests"]
fn hostile_names_are_read() {
    for name in HOSTILE {
        let folder = Folder::new("peers-hostile");
        let (trace, elf) = recorded_as(&folder, name);
        let read = |shape: &str, program: &str, args: &[&str], expected: &str| {
            let out = folder.file(shape);
            stdout(&["profile", &trace, "--elf", &elf, "--as", shape, "-o", &out]);
            if let Some(said) = run(program, &[args, &[&*out]].concat()) {
                assert!(said.contains(expected), "{shape} {name:?}: {said}");
            }
        };
        let profdata = versioned("llvm-profdata");
        let fib = "Function: fib: 917, 232, 4 sampled lines";
        read("llvm", &profdata, &["show", "--sample"], fib);
        read("llvm-binary", &profdata, &["show", "--sample"], fib);
        read("llvm", &profdata, &["show", "--sample"], "inlined callee: mix: 33");
        read("callgrind", "callgrind_annotate", &["--inclusive=yes"], "5,527 (85.60%)  ./calls.c:fib");
        read("bolt", &versioned("merge-fdata"), &[], "1 fib/1 1e 1 fib/1 0 0 221\n");
        read("gcov", "dump_gcov", &["--gcov_version=1"], "fib total:917 head:232");
        if let Some(python) = fetched("venv/bin/python") {
            read("perfetto", &python, &[&repo("crates/trackway-cli/tests/peers/timeline.py")], "232 fib\n");
        }
    }
}

/// lldb connects, stops at a function, reads what is known, and goes back to the write of a value.
#[test]
#[ignore = "needs lldb-22"]
fn lldb_goes_both_ways() {
    use std::io::BufRead;
    let (trace, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let mut server = common::program();
    server.args(["replay", &trace, "--elf", &elf, "--port", "0"]).stderr(std::process::Stdio::piped());
    let mut server = server.spawn().expect("it runs");
    let mut line = String::new();
    std::io::BufReader::new(server.stderr.take().expect("piped")).read_line(&mut line).expect("an address");
    let port = line.trim().rsplit(':').next().expect("a port").to_string();
    let commands = [
        // Else lldb reads lines of memory, and the program's file where the trace does not have all of one.
        "settings set target.process.disable-memory-cache true".into(),
        format!("target create {elf}"),
        format!("gdb-remote 127.0.0.1:{port}"),
        "breakpoint set -n sum".into(),
        "continue".into(),
        "register read pc a0".into(),
        "register read sp".into(),
        "memory read -s 8 -c 1 -f x 0x11150".into(),
        "watchpoint set expression -s 8 -w write -- 0x11150".into(),
        "process continue --reverse".into(),
        "register read pc".into(),
        "thread step-inst".into(),
        "process plugin packet monitor where".into(),
        "process kill".into(),
    ];
    let mut args = vec!["--no-lldbinit", "-b"];
    commands.iter().for_each(|command| args.extend(["-o", command]));
    let said = run(&versioned("lldb"), &args);
    let _ = server.kill();
    let _ = server.wait();
    let Some(said) = said else { return };
    let parts = [
        "stop reason = breakpoint 1.1",
        "pc = 0x0000000000010136",
        "a0 = 0x0000000000011148",
        "error: unavailable",
        "0x00011150: 0x0000000000000001",
        "stop reason = watchpoint 1",
    ];
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}

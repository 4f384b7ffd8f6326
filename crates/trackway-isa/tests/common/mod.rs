//! GNU objdump as the judge of our text.
#![allow(dead_code)] // every test file uses a part of it

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trackway_core::Isa;
use trackway_isa::{Style, riscv};

pub(crate) const PREFIX: &str = "riscv64-linux-gnu-";

/// A folder for one test, fresh.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("scratch folder");
    dir
}

/// Is a tool of the cross toolchain installed?
pub(crate) fn installed(tool: &str) -> bool {
    let found = Command::new(format!("{PREFIX}{tool}"))
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    if !found {
        trackway_testkit::skipped(&format!("{PREFIX}{tool} is not installed"));
    }
    found
}

/// Has the cross compiler a C library? It returns a bare name where it finds no file.
pub(crate) fn has_libc() -> bool {
    let found = run("gcc", &["-print-file-name=libm.a"]).trim() != "libm.a";
    if !found {
        trackway_testkit::skipped(&format!("the C library of {PREFIX}gcc is not installed"));
    }
    found
}

/// Runs a tool of the cross toolchain.
pub(crate) fn run(tool: &str, args: &[&str]) -> String {
    let out = Command::new(format!("{PREFIX}{tool}")).args(args).output().expect(tool);
    assert!(out.status.success(), "{tool} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// One line of objdump.
pub(crate) struct Line {
    pub(crate) address: u64,
    pub(crate) encoding: u32,
    pub(crate) text: String,
}

/// Disassembles the code sections of an object file or program.
pub(crate) fn objdump(file: &Path, style: Style) -> Vec<Line> {
    let mut args = vec!["-d", "-z", "-w"];
    if !style.aliases {
        args.extend(["-M", "no-aliases"]);
    }
    if !style.abi_names {
        args.extend(["-M", "numeric"]);
    }
    args.push(file.to_str().expect("path"));
    run("objdump", &args).lines().filter_map(line).collect()
}

/// Address, encoding and text between tabs.
fn line(line: &str) -> Option<Line> {
    let mut columns = line.splitn(3, '\t');
    let address = u64::from_str_radix(columns.next()?.trim().strip_suffix(':')?, 16).ok()?;
    let encoding = u32::from_str_radix(columns.next()?.trim(), 16).ok()?;
    Some(Line { address, encoding, text: plain(columns.next()?) })
}

/// Without comments and symbols; targets with `0x`, which objdump leaves out where it has symbols.
fn plain(text: &str) -> String {
    let text = text.split(" # ").next().unwrap_or(text);
    let text = text.split("\t# ").next().unwrap_or(text).trim_end();
    let text = match text.split_once(" <") {
        Some((head, _)) => {
            let at = head.rfind([',', '\t']).map_or(0, |i| i + 1);
            let digits = &head[at..];
            format!("{}0x{}", &head[..at], digits.trim_start_matches("0x"))
        }
        None => text.to_owned(),
    };
    text.replace('\t', " ")
}

/// Assembles raw instruction words into an object file, as code.
pub(crate) fn assemble(dir: &Path, name: &str, isa: Isa, words: impl Iterator<Item = u32>) -> PathBuf {
    use std::fmt::Write;
    let arch = match isa {
        Isa::Rv32 => {
            "rv32gcvh_zba_zbb_zbc_zbs_zfh_zawrs_zicsr_zifencei_zihintpause_zicbom_zicboz_zk_zks_svinval"
        }
        _ => "rv64gcvh_zba_zbb_zbc_zbs_zfh_zawrs_zicsr_zifencei_zihintpause_zicbom_zicboz_zk_zks_svinval",
    };
    let mut source = String::new();
    for word in words {
        let length = if word & 3 == 3 { 4 } else { 2 };
        writeln!(source, ".insn {length}, {word:#x}").expect("string");
    }
    let (input, output) = (dir.join(format!("{name}.s")), dir.join(format!("{name}.o")));
    std::fs::write(&input, source).expect("source");
    let march = format!("-march={arch}");
    run("as", &[&march, "-o", output.to_str().expect("path"), input.to_str().expect("path")]);
    output
}

/// Compares every line with ours; returns the differences.
pub(crate) fn differences(isa: Isa, style: Style, lines: &[Line]) -> Vec<(u32, String, String)> {
    lines
        .iter()
        .filter_map(|l| {
            let ours = riscv::text(isa, l.address, l.encoding, style);
            (ours != l.text).then(|| (l.encoding, ours, l.text.clone()))
        })
        .collect()
}

/// A small generator: every run sees the same words, and `data/riscv.txt` depends on them.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}

//! Our text against LLVM's, for extensions that GNU objdump 2.40 does not have.

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use common::Random;
use trackway_core::Isa;
use trackway_isa::Style;
use trackway_isa::riscv::{COMPRESSED, Extension, INSTRUCTIONS, Op, Operand, Width, lookup, text};

const NEWER: [Extension; 7] = [
    Extension::Zabha,
    Extension::Zacas,
    Extension::Zfa,
    Extension::Zimop,
    Extension::Zcb,
    Extension::Zcmop,
    Extension::Zicond,
];

/// Hints: `prefetch.*` and `ntl.*`.
const HINTS: [u32; 9] = [
    0x0205_6013,
    0x0215_6013,
    0xfe35_6013,
    0x0020_0033,
    0x0030_0033,
    0x0040_0033,
    0x0050_0033,
    0x900a,
    0x9016,
];

/// The text of words by `llvm-mc`; `None` where it is not installed.
fn llvm(isa: Isa, words: &[u32]) -> Option<Vec<String>> {
    let features =
        "+m,+a,+f,+d,+c,+zba,+zbb,+zfh,+zfa,+zabha,+zacas,+zimop,+zcb,+zcmop,+zicond,+zicbop,+zihintntl";
    let program = ["llvm-mc-22", "llvm-mc"].into_iter().find(|name| {
        let version = Command::new(name).arg("--version").output();
        // Zacas and Zimop left the experimental state in LLVM 19.
        version.is_ok_and(|out| {
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            let major =
                text.split("version ").nth(1).and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
            major.is_some_and(|major| major >= 19)
        })
    })?;
    let mut child = Command::new(program)
        .args([
            "--disassemble",
            &format!("--triple={}", if isa == Isa::Rv32 { "riscv32" } else { "riscv64" }),
        ])
        .arg(format!("--mattr={features}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let bytes: String = words
        .iter()
        .map(|word| {
            let length = if word & 3 == 3 { 4 } else { 2 };
            let bytes: Vec<String> =
                word.to_le_bytes()[..length].iter().map(|b| format!("{b:#04x}")).collect();
            format!("{}\n", bytes.join(" "))
        })
        .collect();
    let mut stdin = child.stdin.take()?;
    let writer = std::thread::spawn(move || stdin.write_all(bytes.as_bytes()).is_ok());
    let out = child.wait_with_output().ok()?;
    assert!(writer.join().expect("written"));
    let lines = String::from_utf8_lossy(&out.stdout).into_owned();
    let lines = lines.lines().map(|line| line.trim().replace('\t', " ").replace(", ", ","));
    Some(lines.filter(|line| !line.is_empty() && !line.starts_with('.')).collect())
}

#[test]
fn newer_extensions() {
    let mut random = Random(8);
    for isa in [Isa::Rv32, Isa::Rv64] {
        let other = if isa == Isa::Rv32 { Width::Rv64 } else { Width::Rv32 };
        let mut words = HINTS.to_vec();
        for e in INSTRUCTIONS.iter().chain(COMPRESSED) {
            if !NEWER.contains(&e.extension) || e.width == other {
                continue;
            }
            for _ in 0..200 {
                let word = e.value | random.next() & !e.mask;
                let word = if word & 3 == 3 { word } else { word & 0xffff };
                // LLVM refuses reserved rounding modes.
                let fits = |inst: trackway_isa::riscv::Inst| {
                    let rounds = e.operands.contains(&Operand::Rm) && e.op != Op::FcvtmodWD;
                    !(rounds && matches!(inst.rm, 5 | 6))
                };
                if lookup(isa, word).is_some_and(|(found, inst)| found.name == e.name && fits(inst)) {
                    words.push(word);
                }
            }
        }
        let Some(theirs) = llvm(isa, &words) else {
            return trackway_testkit::skipped("llvm-mc 19 or later is not installed");
        };
        assert_eq!(theirs.len(), words.len(), "{isa}: LLVM knows all of them");
        for (word, theirs) in words.iter().zip(&theirs) {
            assert_eq!(&text(isa, 0, *word, Style::default()), theirs, "{isa} {word:08x}");
        }
        assert!(words.len() > 10_000, "{}", words.len());
    }
}

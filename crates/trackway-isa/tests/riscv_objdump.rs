//! Our text against GNU objdump, instruction by instruction.

mod common;

use common::*;
use trackway_core::Isa;
use trackway_isa::Style;
use trackway_isa::riscv::{CSRS, Extension, INSTRUCTIONS, Op, RV32_FORMS, csr_name, decode, lookup};

const PLAIN: Style = Style { aliases: false, abi_names: true };

/// The judge's way first, then with pseudo-instructions, then with numbered registers.
const STYLES: [Style; 3] =
    [PLAIN, Style { aliases: true, abi_names: true }, Style { aliases: false, abi_names: false }];

/// All 65,536 halfwords, less those that begin a longer instruction.
#[test]
fn every_halfword() {
    if !installed("objdump") {
        return;
    }
    let dir = scratch("halfwords");
    for isa in [Isa::Rv32, Isa::Rv64] {
        let object = assemble(&dir, isa.as_str(), isa, (0..0x1_0000).filter(|w| w & 3 != 3));
        for style in [STYLES[0], STYLES[1]] {
            let lines = objdump(&object, style);
            assert_eq!(lines.len(), 0xc000);
            agree(isa, style, &lines);
        }
    }
}

/// Every declared instruction with many values of its fields, and words from all of the space.
#[test]
fn every_instruction() {
    if !installed("objdump") {
        return;
    }
    let dir = scratch("instructions");
    let mut random = Random(1);
    for isa in [Isa::Rv32, Isa::Rv64] {
        let mut words: Vec<u32> = INSTRUCTIONS
            .iter()
            .chain(RV32_FORMS)
            .flat_map(|e| {
                let mut words = vec![e.value, e.value | !e.mask];
                words.extend((0..40).map(|_| e.value | random.next() & !e.mask));
                // Registers 0 and 1, equal registers and small immediates make pseudo-instructions.
                words.extend((0..30).map(|_| {
                    let (a, b) = (random.next() & 3, random.next() & 1);
                    let word = a << 7
                        | [a, b][random.next() as usize & 1] << 15
                        | [a, b, 0][random.next() as usize % 3] << 20;
                    e.value | (word | (random.next() & 1) << 25) & !e.mask
                }));
                words
            })
            .collect();
        words.extend((0..20_000).map(|_| random.next()).filter(|w| w & 3 == 3 && w & 0x1c != 0x1c));
        words.extend(
            CSRS.iter()
                .flat_map(|c| [0x2573, 0x1573, 0x5573, 0x1073, 0x3073].map(|w| u32::from(c.0) << 20 | w)),
        );
        words.extend([0x8330_000f, 0x0100_000f, 0x0ff0_000f, 0xc000_1073]);
        let object = assemble(&dir, isa.as_str(), isa, words.iter().copied());
        for style in STYLES {
            let lines = objdump(&object, style);
            assert_eq!(lines.len(), words.len());
            agree(isa, style, &lines);
        }
    }
}

/// The programs of the corpus: all of their code.
#[test]
fn corpus_programs() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    if !installed("objdump") {
        return;
    }
    let dir = scratch("corpus");
    for name in ["qsortmix", "fpmix", "sigmt", "lua", "minigzip", "bzip2"] {
        let file = std::fs::File::open(corpus.join(format!("qemu/rv64gc/{name}.elf.zst"))).expect(name);
        let program = dir.join(name);
        std::fs::write(&program, zstd::decode_all(file).expect(name)).expect(name);
        agree_on_program(name, Isa::Rv64, &program);
    }
}

/// Programs built with the cross compilers: C, C++, vector code, RV32.
#[test]
fn built_programs() {
    let dir = scratch("built");
    let builds: [(&str, &str, Isa, &[&str]); 5] = [
        ("gcc", "words.c", Isa::Rv64, &["-O2", "-static", "-lm"]),
        ("g++", "shapes.cpp", Isa::Rv64, &["-O2", "-std=c++17", "-static"]),
        ("gcc", "vector.S", Isa::Rv64, &["-march=rv64gcv", "-mabi=lp64d", "-nostdlib", "-static"]),
        ("gcc", "rv32.c", Isa::Rv32, &["-march=rv32gc", "-mabi=ilp32d", "-O2", "-nostdlib", "-static"]),
        (
            "gcc",
            "rv32.c",
            Isa::Rv32,
            &["-march=rv32ima_zba_zbb_zbs", "-mabi=ilp32", "-Os", "-c", "-ffreestanding"],
        ),
    ];
    for (i, (compiler, source, isa, options)) in builds.into_iter().enumerate() {
        if !installed("objdump") || !installed(compiler) {
            continue;
        }
        // Debian's compiler comes without its C library where recommended packages are not installed.
        if options[0] == "-O2" && !has_libc() {
            continue;
        }
        let program = dir.join(format!("{i}-{source}.elf"));
        let source_path = format!("{}/tests/programs/{source}", env!("CARGO_MANIFEST_DIR"));
        let mut args = vec![source_path.as_str(), "-o", program.to_str().expect("path")];
        args.extend(options);
        run(compiler, &args);
        agree_on_program(source, isa, &program);
    }
}

/// Every instruction of a program.
fn agree_on_program(name: &str, isa: Isa, program: &std::path::Path) {
    let lines = objdump(program, PLAIN);
    assert!(lines.len() > 100, "{name}: {} instructions", lines.len());
    // No address is left out: every instruction begins where one before it ended, or a section begins.
    let gaps = lines.windows(2).filter(|w| w[0].address + length(&w[0]) != w[1].address).count();
    assert!(gaps < 16, "{name}: {gaps} gaps");
    agree(isa, PLAIN, &lines);
    eprintln!("{name}: {} instructions agree", lines.len());
    // Pseudo-instructions too; programs that share a C library with another are left out.
    if !["qsortmix", "fpmix", "sigmt", "minigzip", "words.c"].contains(&name) {
        agree(isa, STYLES[1], &objdump(program, STYLES[1]));
    }
}

fn length(line: &Line) -> u64 {
    u64::from(trackway_isa::flow(Isa::Rv64, 0, line.encoding).length)
}

/// Fails on any difference that is not explained.
fn agree(isa: Isa, style: Style, lines: &[Line]) {
    let open: Vec<_> = differences(isa, style, lines)
        .into_iter()
        .filter(|d| explained(isa, d.0, &d.1, &d.2).is_none())
        .collect();
    for (word, ours, theirs) in open.iter().take(40) {
        eprintln!("{isa:?} {word:08x} ours `{ours}`, objdump `{theirs}`");
    }
    assert!(open.is_empty(), "{} differences", open.len());
}

/// Where objdump (2.40) and the published lists do not agree, we follow the lists.
fn explained(isa: Isa, word: u32, ours: &str, theirs: &str) -> Option<&'static str> {
    if let (Some((a, rest)), Some((b, same))) = (ours.split_once(' '), theirs.split_once(' '))
        && rest == same
        && (a.strip_suffix('i') == Some(b)
            || a.replace("iw", "w") == b
            || a.replace("iu", "u") == b
            || a.replace("i.uw", ".uw") == b)
    {
        return Some("with aliases, 2.40 alone writes `add` for `addi`, and so on");
    }
    if theirs.starts_with("vmsge") && !ours.starts_with("vmsge") {
        return Some("with aliases, objdump takes a macro of the assembler for an instruction");
    }
    if ["ntl.", "c.ntl.", "prefetch."].iter().any(|name| ours.starts_with(name)) {
        return Some("hints that 2.40 does not name");
    }
    let inst = decode(isa, word);
    if isa == Isa::Rv32 && inst.is_none() && word != 0x6101 {
        let wide = [Op::Slli, Op::Srli, Op::Srai, Op::Rori, Op::Bclri, Op::Bexti, Op::Binvi, Op::Bseti];
        return decode(Isa::Rv64, word)
            .is_some_and(|i| wide.contains(&i.op) && i.imm >= 32)
            .then_some("objdump shows shifts by 32 and more on RV32, where they are reserved");
    }
    if word == 0x6101 && inst.is_none() {
        return Some("objdump shows c.addi16sp by 0, which is reserved");
    }
    let inst = inst?;
    if theirs.starts_with('.') {
        use Extension::{Zabha, Zacas, Zcb, Zcmop, Zfa, Zimop};
        let declared = lookup(isa, word).map(|(declared, _)| declared.extension);
        if declared.is_some_and(|e| [Zabha, Zacas, Zcb, Zcmop, Zfa, Zimop].contains(&e)) {
            return Some("newer than objdump: LLVM judges them");
        }
        return match inst.op {
            Op::CzeroEqz | Op::CzeroNez | Op::Mnret => Some("newer than objdump"),
            Op::Fence | Op::FenceI => Some("reserved fields of fences are ignored, not illegal"),
            Op::FcvtDS | Op::FcvtDW | Op::FcvtDWu | Op::FcvtSH | Op::FcvtDH if inst.rm != 0 => {
                Some("exact conversions have a rounding mode too")
            }
            _ => None,
        };
    }
    let csr = format!("0x{:x}", inst.imm);
    let is_csr = inst.op.encoding().operands.contains(&trackway_isa::riscv::Operand::Csr);
    (is_csr && theirs.contains(&csr) && csr_name(inst.imm as u16).is_some())
        .then_some("control register newer than objdump")
}

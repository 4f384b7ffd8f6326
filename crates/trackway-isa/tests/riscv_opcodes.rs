//! The declaration table against the published opcode lists, where the corpus has them.

mod common;

use std::collections::HashMap;
use std::path::Path;

use common::Random;
use trackway_core::Isa;
use trackway_isa::extension;
use trackway_isa::riscv::{COMPRESSED, CSRS, Encoding, INSTRUCTIONS, Inst, RV32_FORMS, lookup};

/// Lists of both widths, of RV32 and of RV64.
const BOTH: &[&str] = &[
    "rv_i",
    "rv_zifencei",
    "rv_zicsr",
    "rv_m",
    "rv_a",
    "rv_zabha",
    "rv_zabha_zacas",
    "rv_zacas",
    "rv_f",
    "rv_d",
    "rv_zfhmin",
    "rv_d_zfhmin",
    "rv_zfh",
    "rv_f_zfa",
    "rv_d_zfa",
    "rv_zfh_zfa",
    "rv_zba",
    "rv_zbb",
    "rv_zbc",
    "rv_zbs",
    "rv_zicbo",
    "rv_zbkb",
    "rv_zbkx",
    "rv_zknh",
    "rv_zksed",
    "rv_zksh",
    "rv_zicond",
    "rv_zawrs",
    "rv_zimop",
    "rv_system",
    "rv_s",
    "rv_h",
    "rv_svinval",
    "rv_svinval_h",
    "rv_sdext",
    "rv_smrnmi",
    "rv_v",
    "rv_c",
    "rv_c_d",
    "rv_zcb",
    "rv_zcmop",
];
const RV32: &[&str] = &[
    "rv32_i",
    "rv32_d_zfa",
    "rv32_zbb",
    "rv32_zbs",
    "rv32_zbkb",
    "rv32_zknd",
    "rv32_zkne",
    "rv32_zknh",
    "rv32_c",
    "rv32_c_f",
];
const RV64: &[&str] = &[
    "rv64_i",
    "rv64_m",
    "rv64_a",
    "rv64_zacas",
    "rv64_f",
    "rv64_d",
    "rv64_zfh",
    "rv64_zba",
    "rv64_zbb",
    "rv64_zbs",
    "rv64_zbkb",
    "rv64_zknd",
    "rv64_zkne",
    "rv64_zknh",
    "rv64_h",
    "rv64_c",
    "rv64_zcb",
];

/// One line of a list.
#[derive(Debug)]
struct Listed {
    /// The list that has it.
    file: &'static str,
    name: String,
    /// Fields that are not fixed, by name.
    fields: Vec<String>,
    mask: u32,
    value: u32,
    /// Registers that a field of the C extension excludes, by its name.
    compressed: bool,
    /// Its registers are pairs: odd numbers are reserved (Zacas).
    pairs: bool,
}

/// Reads the lists that a width has. Pseudo-instructions are special cases of others and are left out,
/// but for those whose general case is in an extension that we do not have, and RV32's own forms.
fn lists(corpus: &Path, isa: Isa) -> Vec<Listed> {
    let own = if isa == Isa::Rv32 { RV32 } else { RV64 };
    let mut listed = Vec::new();
    for file in BOTH.iter().chain(own) {
        let text = std::fs::read_to_string(corpus.join("riscv-opcodes/extensions").join(file)).expect(file);
        for line in text
            .lines()
            .map(|l| l.split('#').next().unwrap_or("").trim())
            .filter(|l| !l.is_empty() && !l.starts_with("$import"))
        {
            let line = match line.strip_prefix("$pseudo_op") {
                None => line,
                Some(rest) => {
                    let (general, special) = rest.trim().split_once(char::is_whitespace).expect("pseudo");
                    let general = general.split_once("::").expect("pseudo").0;
                    let known = BOTH.contains(&general) || own.contains(&general);
                    let own_name = special.trim().starts_with("zext.h");
                    if known && !own_name || special.contains("_rv32") { continue } else { special.trim() }
                }
            };
            let mut line = read(file, line);
            line.pairs = line.name == "amocas.q" || isa == Isa::Rv32 && line.name == "amocas.d";
            listed.push(line);
        }
    }
    listed
}

fn read(file: &'static str, line: &str) -> Listed {
    let number = |s: &str| {
        match (s.strip_prefix("0x"), s.strip_prefix("0b")) {
            (Some(hex), _) => u32::from_str_radix(hex, 16),
            (_, Some(binary)) => u32::from_str_radix(binary, 2),
            _ => s.parse(),
        }
        .unwrap_or_else(|_| panic!("{line}"))
    };
    let mut words = line.split_whitespace();
    let name = words.next().expect("name").trim_end_matches(".rv32").to_owned();
    let (mut fields, mut mask, mut value) = (Vec::new(), 0, 0);
    for word in words {
        match word.split_once('=') {
            None => fields.push(word.to_owned()),
            Some((range, fixed)) => {
                let (hi, lo) = range.split_once("..").unwrap_or((range, range));
                let (hi, lo) = (number(hi), number(lo));
                mask |= (u32::MAX >> (31 - (hi - lo))) << lo;
                value |= number(fixed) << lo;
            }
        }
    }
    let compressed = value & 3 != 3;
    Listed { file, name, fields, mask, value, compressed, pairs: false }
}

/// Where the fields are: name, high bit, low bit.
fn positions(corpus: &Path) -> HashMap<String, (u32, u32)> {
    std::fs::read_to_string(corpus.join("riscv-opcodes/arg_lut.csv"))
        .expect("arg_lut.csv")
        .lines()
        // The stored list of fields leaves these out.
        .chain(["mop_r_t_30,30,30", "mop_r_t_27_26,27,26", "mop_r_t_21_20,21,20", "c_mop_t,10,8"])
        .chain(["mop_rr_t_30,30,30", "mop_rr_t_27_26,27,26"])
        .filter_map(|l| {
            let mut columns = l.split(',').map(|c| c.trim().trim_matches('"'));
            let name = columns.next()?.to_owned();
            Some((name, (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?)))
        })
        .collect()
}

fn ours(isa: Isa) -> impl Iterator<Item = &'static Encoding> {
    use trackway_isa::riscv::Width;
    let other = if isa == Isa::Rv32 { Width::Rv64 } else { Width::Rv32 };
    INSTRUCTIONS.iter().chain(RV32_FORMS).chain(COMPRESSED).filter(move |e| e.width != other)
}

/// Does a list have this word? The register limits are in the names of the fields (`_n0`, `_n2`) and the
/// immediates (`nz`), but for those that only make a hint (unprivileged, C extension, table of hints).
fn is_listed(line: &Listed, word: u32) -> bool {
    if word & line.mask != line.value {
        return false;
    }
    if !line.compressed {
        return !line.pairs || word & (1 << 7 | 1 << 20) == 0;
    }
    let rd = word >> 7 & 31;
    let rs2 = word >> 2 & 31;
    let imm6 = word >> 7 & 0x20 | rs2;
    match line.name.as_str() {
        "c.addi4spn" => word & 0x1fe0 != 0,
        "c.addi" | "c.addiw" | "c.lwsp" | "c.ldsp" | "c.jr" | "c.jalr" => rd != 0,
        "c.addi16sp" => imm6 != 0,
        "c.lui" => rd != 2 && imm6 != 0,
        "c.mv" | "c.add" => rs2 != 0,
        _ => true,
    }
}

#[test]
fn every_listed_instruction_has_its_name_and_fixed_bits() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    for isa in [Isa::Rv32, Isa::Rv64] {
        let listed = lists(&corpus, isa);
        assert!(listed.len() > 500, "{}", listed.len());
        let mut random = Random(2);
        for line in &listed {
            let mask = line.mask | if line.compressed { 0xffff_0000 } else { 0 };
            let mut tried = 0;
            for _ in 0..2000 {
                let word = line.value | random.next() & !mask;
                // RV32 lists shifts as special cases of RV64's, with one more fixed bit.
                let hits: Vec<_> = listed.iter().filter(|l| is_listed(l, word)).collect();
                let best = hits.iter().max_by_key(|l| l.mask.count_ones());
                if best.is_none_or(|l| l.name != line.name) {
                    continue; // a reserved value, or the word of a more special instruction
                }
                let (found, inst) = lookup(isa, word)
                    .unwrap_or_else(|| panic!("{isa:?} {} {word:08x} does not decode", line.name));
                assert_eq!(found.name, line.name, "{isa:?} {word:08x}");
                assert_eq!(inst.length, if line.compressed { 2 } else { 4 });
                tried += 1;
            }
            assert!(tried > 0, "{}: no word tried", line.name);
            let declared = ours(isa).find(|e| e.name == line.name).expect(&line.name);
            if isa == Isa::Rv64 {
                assert_eq!((declared.mask, declared.value), (line.mask, line.value), "{}", line.name);
            }
        }
        // And nothing else is declared, but the return of the withdrawn N extension that E-Trace names.
        for declared in ours(isa).filter(|e| e.name != "uret") {
            assert!(listed.iter().any(|l| l.name == declared.name), "{} is not listed", declared.name);
        }
    }
}

/// The extension is the name of a list that has it, but for compressed and privileged instructions.
#[test]
fn every_listed_instruction_has_its_extension() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    for isa in [Isa::Rv32, Isa::Rv64] {
        let mut random = Random(4);
        let mut extensions = HashMap::<String, Vec<String>>::new();
        let listed = lists(&corpus, isa);
        for line in &listed {
            let extension = match line.file.split_once('_').expect("width").1 {
                "system" => "Sm".into(),
                "s" => "Ss".into(),
                "d_zfhmin" => "Zfhmin".into(),
                "zabha_zacas" => "Zabha".into(),
                name if name.ends_with("_zfa") => "Zfa".into(),
                "svinval_h" => "Svinval".into(),
                "zicbo" if line.name == "cbo.zero" => "Zicboz".into(),
                "zicbo" => "Zicbom".into(),
                // The list of Zbb has the form of RV32 as a pseudo-instruction of this one.
                "zbkb" if line.name == "rev8" => "Zbb".into(),
                name if name.starts_with('c') => "C".into(),
                name => format!("{}{}", name[..1].to_uppercase(), &name[1..]),
            };
            extensions.entry(line.name.clone()).or_default().push(extension);
        }
        for line in &listed {
            let mask = line.mask | if line.compressed { 0xffff_0000 } else { 0 };
            let word = (0..1000)
                .map(|_| line.value | random.next() & !mask)
                .find(|word| lookup(isa, *word).is_some_and(|(found, _)| found.name == line.name));
            let word = word.unwrap_or_else(|| panic!("{}: no word", line.name));
            let (ours, theirs) = (extension(isa, word), &extensions[&line.name]);
            assert!(
                theirs.iter().any(|name| name == ours),
                "{isa} {} {word:08x}: {ours}, {theirs:?}",
                line.name
            );
        }
    }
    for (word, expected) in [
        (0x0100_000f, "Zihintpause"), // pause
        (0x0010_6013, "Zicbop"),      // prefetch.r 0(x0)
        (0x0020_0033, "Zihintntl"),   // ntl.p1
        (0x0000_000b, "custom"),
        (0x0000_0000, "unknown"),
    ] {
        assert_eq!(extension(Isa::Rv64, word), expected, "{word:08x}");
    }
}

/// The bits of every listed operand field change the operand that we decode, and no other bits do.
#[test]
fn every_field_is_where_the_lists_say() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    let positions = positions(&corpus);
    for isa in [Isa::Rv32, Isa::Rv64] {
        let mut random = Random(3);
        for line in lists(&corpus, isa) {
            let mask = line.mask | if line.compressed { 0xffff_0000 } else { 0 };
            let declared = ours(isa).find(|e| e.name == line.name).expect(&line.name);
            let listed: u32 = line
                .fields
                .iter()
                .map(|f| {
                    let (hi, lo) = positions[f];
                    (u32::MAX >> (31 - (hi - lo))) << lo
                })
                .fold(0, |a, b| a | b);
            assert_eq!(listed & mask, 0, "{}: fields over fixed bits", line.name);
            // Fixed bits and fields cover the instruction.
            assert_eq!(listed | mask, u32::MAX, "{}: bits without a meaning", line.name);
            for _ in 0..50 {
                let word = line.value | random.next() & !mask;
                let Some((found, a)) = lookup(isa, word).filter(|(e, _)| e.name == line.name) else {
                    continue;
                };
                assert!(std::ptr::eq(found, declared) || found.name == declared.name);
                for f in &line.fields {
                    let (hi, lo) = positions[f];
                    let field = word >> lo & (u32::MAX >> (31 - (hi - lo)));
                    check_field(&line.name, f, field, &a);
                }
            }
        }
    }
}

/// A field by its listed name against what we decoded.
fn check_field(name: &str, field: &str, value: u32, inst: &Inst) {
    let place = format!("{name}.{field} of {:08x}", inst.word);
    let small = value as u8;
    match field {
        "rd" | "vd" | "vs3" | "rd_n0" | "rd_n2" => {
            // Fences have a reserved rd; stores of vectors keep their source there.
            if !name.starts_with("fence") {
                assert_eq!(inst.rd, small, "{place}");
            }
        }
        "rs1" | "vs1" | "zimm5" | "rs1_n0" | "c_rs1_n0" if !name.starts_with("fence") => {
            assert_eq!(inst.rs1, small, "{place}");
        }
        "rs2" | "vs2" | "c_rs2" | "c_rs2_n0" => assert_eq!(inst.rs2, small, "{place}"),
        "rs3" => assert_eq!(inst.rs3, small, "{place}"),
        "rd_rs1" | "rd_rs1_n0" => assert_eq!((inst.rd, inst.rs1), (small, small), "{place}"),
        "rd_rs1_p" => assert_eq!((inst.rd, inst.rs1), (small + 8, small + 8), "{place}"),
        "rd_p" => assert_eq!(inst.rd, small + 8, "{place}"),
        "rs1_p" => assert_eq!(inst.rs1, small + 8, "{place}"),
        "rs2_p" => assert_eq!(inst.rs2, small + 8, "{place}"),
        "rm" => assert_eq!(inst.rm, small, "{place}"),
        "aq" => assert_eq!(inst.aq(), value != 0, "{place}"),
        "rl" => assert_eq!(inst.rl(), value != 0, "{place}"),
        "vm" => assert_eq!(inst.masked(), value == 0, "{place}"),
        "nf" => assert_eq!(inst.fields(), small + 1, "{place}"),
        "csr" | "shamtd" | "shamtw" | "zimm10" | "zimm11" | "bs" | "rnum" => {
            assert_eq!(inst.imm, value as i32, "{place}")
        }
        "imm20" => assert_eq!(inst.imm, (value << 12) as i32, "{place}"),
        "imm12" if name != "fence.i" => assert_eq!(inst.imm & 0xfff, value as i32, "{place}"),
        "imm12hi" => assert_eq!(inst.imm >> 5 & 0x7f, value as i32, "{place}"),
        "imm12lo" => assert_eq!(inst.imm & 0x1f, value as i32, "{place}"),
        "simm5" => assert_eq!(inst.imm & 0x1f, value as i32, "{place}"),
        "fm" => assert_eq!(inst.imm >> 8, value as i32, "{place}"),
        "pred" => assert_eq!(inst.imm >> 4 & 15, value as i32, "{place}"),
        "succ" => assert_eq!(inst.imm & 15, value as i32, "{place}"),
        // Scrambled immediates: only the low and the high bits are compared; objdump judges their text, and
        // and `flow`, which does not use the table, their targets.
        "jimm20" | "bimm12hi" | "bimm12lo" => {}
        f if f.starts_with("c_") => {}
        "rs1" | "imm12" => {}
        // Parts of names, which the texts show.
        f if f.starts_with("mop_") => {}
        other => panic!("{place}: a field that nobody checks: {other}"),
    }
}

/// No word that the lists do not have decodes, and every one that they have does: all halfwords, and words
/// from all of the space and from around every instruction.
#[test]
fn nothing_else_decodes() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    for isa in [Isa::Rv32, Isa::Rv64] {
        let listed = lists(&corpus, isa);
        for word in (0..0x1_0000).filter(|w| w & 3 != 3) {
            let known = listed.iter().any(|l| l.compressed && is_listed(l, word));
            assert_eq!(lookup(isa, word).is_some(), known, "{isa:?} {word:04x}");
        }
        // By opcode and funct3, so that the many words below are quick to look up.
        let mut near: HashMap<u32, Vec<&Listed>> = HashMap::new();
        for line in listed.iter().filter(|l| !l.compressed) {
            for key in 0..1 << 10 {
                let word = key & 0x7f | (key >> 7) << 12;
                if (word ^ line.value) & line.mask & 0x707f == 0 {
                    near.entry(word).or_default().push(line);
                }
            }
        }
        let mut random = Random(4);
        let mut decoded = 0;
        let mut check = |word: u32| {
            let known = near.get(&(word & 0x707f)).is_some_and(|n| n.iter().any(|l| is_listed(l, word)));
            let found = lookup(isa, word);
            let uret = word == 0x0020_0073;
            assert_eq!(found.is_some(), known || uret, "{isa:?} {word:08x} {found:?}");
            decoded += u32::from(known);
        };
        for _ in 0..3_000_000 {
            check(random.next() | 3);
        }
        for line in listed.iter().filter(|l| !l.compressed) {
            for _ in 0..100 {
                let word = line.value | random.next() & !line.mask;
                check(word);
                for bit in 2..32 {
                    check(word ^ 1 << bit);
                }
            }
        }
        assert!(decoded > 1_000_000, "{decoded}");
    }
}

#[test]
fn control_registers_are_the_listed_ones() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    let mut listed: Vec<(u16, String)> = ["csrs.csv", "csrs32.csv"]
        .iter()
        .flat_map(|f| {
            let text = std::fs::read_to_string(corpus.join("riscv-opcodes").join(f)).expect(f);
            text.lines()
                .map(|l| {
                    let (number, name) = l.split_once(',').expect(l);
                    let number = u16::from_str_radix(number.trim_start_matches("0x"), 16).expect(l);
                    (number, name.trim().trim_matches('"').to_owned())
                })
                .collect::<Vec<_>>()
        })
        .collect();
    listed.sort();
    assert_eq!(listed, CSRS.iter().map(|c| (c.0, c.1.to_owned())).collect::<Vec<_>>());
}

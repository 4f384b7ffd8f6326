//! Classes, features and names of Arm instructions, against the text of LLVM and of capstone.
//!
//! `data/arm.txt` has one instruction for each mnemonic and set of features, found by a search of the encoding space:
//! encoding, LLVM 19's text, and the features that LLVM asks for (`?` where it asks something else).

mod judge;

use std::collections::BTreeMap;

use judge::{Engines, kind};
use trackway_core::Isa;
use trackway_isa::{Class, Disassembler, class, extension, mnemonic};

const LLVM: &str = include_str!("data/arm.txt");

/// One line of the data.
struct Line<'a> {
    isa: Isa,
    encoding: u32,
    mnemonic: &'a str,
    operands: &'a str,
    features: &'a str,
}

fn lines() -> impl Iterator<Item = Line<'static>> {
    LLVM.lines().map(|line| {
        let (instruction, features) = line.split_once(" | ").expect("features");
        let mut words = instruction.splitn(4, ' ');
        let isa = match words.next() {
            Some("a64") => Isa::A64,
            Some("a32") => Isa::A32,
            _ => Isa::T32,
        };
        let encoding = u32::from_str_radix(words.next().expect("encoding"), 16).expect("hexadecimal");
        let (mnemonic, operands) = (words.next().expect("name"), words.next().unwrap_or(""));
        Line { isa, encoding, mnemonic, operands, features: features.trim() }
    })
}

/// Classes of a set that the text decides, and the differences.
fn compare(
    found: &mut BTreeMap<(Isa, &'static str), u64>,
    open: &mut BTreeMap<String, (u64, String)>,
    isa: Isa,
    encoding: u32,
    (name, operands): (&str, &str),
) {
    let ours = class(isa, encoding);
    let Some(expected) = kind::by_text(isa, name, operands) else { return };
    *found.entry((isa, ours.as_str())).or_default() += 1;
    if ours != expected {
        let text = format!("{isa} {encoding:08x} {name} {operands}: ours {ours:?}, by its text {expected:?}");
        open.entry(format!("{isa} {name}")).or_insert((0, text)).0 += 1;
    }
}

fn conclude(open: &BTreeMap<String, (u64, String)>) {
    for (count, text) in open.values().take(60) {
        eprintln!("{count}: {text}");
    }
    assert!(open.is_empty(), "{} names differ", open.len());
}

#[test]
fn classes_by_the_text_of_llvm() {
    let (mut found, mut open) = (BTreeMap::new(), BTreeMap::new());
    for line in lines() {
        compare(&mut found, &mut open, line.isa, line.encoding, (line.mnemonic, line.operands));
    }
    eprintln!("{found:?}");
    conclude(&open);
    // Control flow of A32 and T32, and what the text alone does not say.
    for isa in [Isa::A64, Isa::A32, Isa::T32] {
        let classes = found.keys().filter(|(set, _)| *set == isa).count();
        assert!(classes > 12, "{isa}: {classes}");
    }
}

/// Sampled words that capstone knows; `TRACKWAY_SWEEP=1` takes forty times as many.
#[test]
fn classes_by_the_text_of_capstone() {
    let (mut found, mut open) = (BTreeMap::new(), BTreeMap::new());
    let mut engines = Engines::default();
    let dense = if std::env::var_os("TRACKWAY_SWEEP").is_some() { 40 } else { 1 };
    for isa in [Isa::A64, Isa::A32, Isa::T32] {
        let wide = (0..1_u64 << 32).step_by((20_011 / dense) | 1).map(|word| word as u32);
        let narrow = (0..=0xffff).filter(|_| isa == Isa::T32);
        for word in wide.chain(narrow) {
            let Some(groups) = engines.groups(isa, 0x1000, word) else { continue };
            let (name, operands) = groups.text.split_once(' ').unwrap_or((&groups.text, ""));
            // Of some Advanced SIMD instructions of T32 capstone does not look at the first byte.
            let astray = isa == Isa::T32 && word & 0xef00 != 0xef00 && operands.contains('q');
            if astray
                && ["aes", "sha", "vcvt", "vmaxnm", "vminnm", "vrint"].iter().any(|p| name.starts_with(p))
            {
                continue;
            }
            compare(&mut found, &mut open, isa, word, (name, operands));
        }
    }
    eprintln!("{found:?}");
    conclude(&open);
    assert!(found.values().sum::<u64>() > 100_000);
}

/// The features that fit LLVM's requirement, in Arm's words; the base is the name of the set.
fn features(isa: Isa, requirement: &str) -> &'static [&'static str] {
    let has = |word: &str| requirement.contains(word);
    if isa != Isa::A64 {
        return match requirement {
            "" => &["T32", "FEAT_PAN", "FEAT_TRF", "FEAT_CLRBHB"],
            "armv8.1a" => &["FEAT_PAN"],
            "sb" => &["FEAT_SB"],
            "ras" => &["FEAT_RAS"],
            "crc" => &["FEAT_CRC32"],
            "dotprod" => &["FEAT_DotProd"],
            "aes" => &["FEAT_AES", "FEAT_PMULL"],
            "sha2" => &["FEAT_SHA1", "FEAT_SHA256"],
            _ if has("BFloat16") => &["FEAT_AA32BF16"],
            _ if has("8-bit integer matrix") => &["FEAT_AA32I8MM"],
            _ if has("fml") => &["FEAT_FHM"],
            "FPARMv8 armv8.3a" => &["FEAT_JSCVT"],
            _ if has("armv8.3a") => &["FEAT_FCMA"],
            _ if has("armv8.1a") => &["FEAT_RDM"],
            _ if has("full half-float") || has("16-bit fp") => &["FEAT_FP16"],
            _ if has("half-float conversions") => &["FEAT_FP", "FEAT_AdvSIMD"],
            _ if has("NEON") => &["FEAT_AdvSIMD"],
            _ if has("VFP") || has("FPARMv8") || has("fp registers") => &["FEAT_FP"],
            _ => &[],
        };
    }
    // The first that the requirement names.
    const WORDS: &[(&str, &[&str])] = &[
        ("sme2p1 or sve2p1", &["FEAT_SVE2p1"]),
        ("sme2 or sve2p1", &["FEAT_SVE2p1"]),
        ("sme or sve2p1", &["FEAT_SVE2p1"]),
        ("bf16 s", &["FEAT_BF16"]),
        ("b16b16 sve2", &["FEAT_SVE_B16B16"]),
        ("cpa", &["FEAT_CPA"]),
        ("faminmax sme2", &["FEAT_SME2"]),
        ("fp8 sme2", &["FEAT_SME2"]),
        ("faminmax", &["FEAT_FAMINMAX"]),
        ("fp8dot2", &["FEAT_FP8DOT2"]),
        ("fp8dot4", &["FEAT_FP8DOT4"]),
        ("fp8fma", &["FEAT_FP8FMA"]),
        ("fp8", &["FEAT_FP8"]),
        ("sme-lutv2", &["FEAT_SME2"]),
        ("lut", &["FEAT_LUT"]),
        ("f32mm", &["FEAT_F32MM"]),
        ("f64mm", &["FEAT_F64MM"]),
        ("i8mm", &["FEAT_I8MM"]),
        ("sme2", &["FEAT_SME2"]),
        ("sme-f16f16", &["FEAT_SME2"]),
        ("sme-f8", &["FEAT_SME2"]),
        ("sme-i16i64", &["FEAT_SME_I16I64"]),
        ("sme-f64f64", &["FEAT_SME_F64F64"]),
        ("sve2p1", &["FEAT_SVE2p1"]),
        ("sve2-aes", &["FEAT_SVE_AES", "FEAT_SVE_PMULL128"]),
        ("sve2-bitperm", &["FEAT_SVE_BitPerm"]),
        ("sve2-sha3", &["FEAT_SVE_SHA3"]),
        ("sve2-sm4", &["FEAT_SVE_SM4"]),
        ("sve2", &["FEAT_SVE2"]),
        ("sve", &["FEAT_SVE"]),
        ("sme", &["FEAT_SME"]),
        ("complxnum", &["FEAT_FCMA"]),
        ("fullfp16", &["FEAT_FP16"]),
        ("fp16fml", &["FEAT_FHM"]),
        ("bf16", &["FEAT_BF16"]),
        ("rdm", &["FEAT_RDM"]),
        ("rcpc3", &["FEAT_LRCPC3"]),
        ("rcpc-immo", &["FEAT_LRCPC2"]),
        ("rcpc", &["FEAT_LRCPC"]),
        ("frint3264", &["FEAT_FRINTTS"]),
        ("jsconv", &["FEAT_JSCVT"]),
        ("sm4", &["FEAT_SM3", "FEAT_SM4"]),
        ("sha2", &["FEAT_SHA1", "FEAT_SHA256"]),
        ("sha3", &["FEAT_SHA3", "FEAT_SHA512"]),
        ("aes", &["FEAT_AES", "FEAT_PMULL"]),
        ("dotprod", &["FEAT_DotProd"]),
        ("neon", &["FEAT_AdvSIMD"]),
        ("fp-armv8", &["FEAT_FP"]),
        ("the", &["FEAT_THE"]),
        ("d128", &["FEAT_D128"]),
        ("lse128", &["FEAT_LSE128"]),
        ("lse", &["FEAT_LSE"]),
        ("mops", &["FEAT_MOPS"]),
        ("mte", &["FEAT_MTE"]),
        ("pauth-lr", &["FEAT_PAuth_LR"]),
        ("pauth", &["FEAT_PAuth"]),
        ("hbc", &["FEAT_HBC"]),
        ("cssc", &["FEAT_CSSC"]),
        ("gcs", &["FEAT_GCS"]),
        ("crc", &["FEAT_CRC32"]),
        ("lor", &["FEAT_LOR"]),
        ("flagm", &["FEAT_FlagM"]),
        ("altnzcv", &["FEAT_FlagM2"]),
        ("xs", &["FEAT_XS"]),
        ("ls64", &["FEAT_LS64", "FEAT_LS64_V", "FEAT_LS64_ACCDATA"]),
        ("tme", &["FEAT_TME"]),
        ("brbe", &["FEAT_BRBE"]),
        ("ite", &["FEAT_ITE"]),
        ("tracev8.4", &["FEAT_TRF"]),
        ("specres2", &["FEAT_SPECRES2"]),
        ("spe", &["FEAT_SPE"]),
        ("wfxt", &["FEAT_WFxT"]),
        ("ras", &["FEAT_RAS"]),
        ("sb", &["FEAT_SB"]),
        ("el3", &["A64"]),
        ("armv8-r", &["A64"]),
    ];
    WORDS.iter().find(|(word, _)| has(word)).map_or(&["A64"], |(_, features)| features)
}

#[test]
fn features_by_the_requirements_of_llvm() {
    let mut compared = 0;
    let mut open = Vec::new();
    for line in lines().filter(|line| line.features != "?") {
        let ours = extension(line.isa, line.encoding);
        // Hints execute everywhere, so LLVM asks for nothing; nor does it for some names of PSTATE.
        let hint = line.isa == Isa::A64
            && line.features.is_empty()
            && (line.encoding >> 12 == 0xd_5032
                || matches!(line.mnemonic, "rprfm" | "smstart" | "smstop" | "msr"));
        compared += 1;
        if !hint && !features(line.isa, line.features).contains(&ours) {
            open.push(format!(
                "{} {:08x} {} {}: ours {ours}, LLVM {}",
                line.isa, line.encoding, line.mnemonic, line.operands, line.features
            ));
        }
    }
    assert!(open.is_empty(), "{}", open.join("\n"));
    assert!(compared > 2_500, "{compared}");
}

/// Features that LLVM 19 hides in operands or does not know. Encodings by the Arm ARM.
#[test]
fn features_of_hints_and_operands() {
    for (isa, encoding, feature) in [
        (Isa::A64, 0xd503_201f, "A64"),           // nop
        (Isa::A64, 0xd503_233f, "FEAT_PAuth"),    // paciasp
        (Isa::A64, 0xd503_245f, "FEAT_BTI"),      // bti c
        (Isa::A64, 0xd503_221f, "FEAT_RAS"),      // esb
        (Isa::A64, 0xd503_477f, "FEAT_SME"),      // smstart
        (Isa::A64, 0xd50b_7420, "A64"),           // dc zva, x0
        (Isa::A64, 0xd50b_7460, "FEAT_MTE"),      // dc gva, x0
        (Isa::A64, 0xd50b_7c20, "FEAT_DPB"),      // dc cvap, x0
        (Isa::A64, 0xd508_871f, "A64"),           // tlbi vmalle1
        (Isa::A64, 0xd508_971f, "FEAT_XS"),       // tlbi vmalle1nxs
        (Isa::A64, 0x7401_0040, "FEAT_CMPBR"),    // cbgt
        (Isa::A64, 0xd65f_0bff, "FEAT_PAuth"),    // retaa
        (Isa::A64, 0x5500_001f, "FEAT_PAuth_LR"), // retaasppc
        (Isa::A64, 0xd63f_0000, "A64"),           // blr x0
        (Isa::A64, 0x0000_0000, "A64"),           // udf #0
        (Isa::A64, 0x0200_0000, "unknown"),
        (Isa::A32, 0xeb00_0000, "A32"),        // bl
        (Isa::A32, 0xef00_0000, "A32"),        // svc #0
        (Isa::A32, 0xe108_0041, "FEAT_CRC32"), // crc32b r0, r8, r1
        (Isa::T32, 0xdf00, "T32"),             // svc #0
        (Isa::T32, 0xf800_f000, "T32"),        // bl
        (Isa::Other, 0, "unknown"),
    ] {
        assert_eq!(extension(isa, encoding), feature, "{isa} {encoding:08x}");
    }
}

/// Classes that a text alone does not show, and those of the two other sets beside A64.
#[test]
fn the_same_work_in_every_set() {
    for (expected, a64, a32, t32) in [
        (Class::Integer, 0x8b02_0020, 0xe081_0002, 0x1888),  // add
        (Class::Multiply, 0x9b02_7c20, 0xe000_0291, 0x4348), // mul
        (Class::Divide, 0x9ac2_0820, 0xe730_f211, 0xf0f2_fbb1), // udiv
        (Class::Load, 0xf940_0020, 0xe591_0000, 0x6808),     // ldr
        (Class::Store, 0xa9bf_7bfd, 0xe92d_4010, 0xb510),    // stp, push
        (Class::Load, 0xc85f_7c20, 0xe191_0f9f, 0x0f00_e851), // ldxr, ldrex
        (Class::Branch, 0x5400_0040, 0x0a00_0000, 0xd000),   // b.eq
        (Class::Call, 0x9400_0000, 0xeb00_0000, 0xf800_f000), // bl
        (Class::Return, 0xd65f_03c0, 0xe8bd_8010, 0xbd10),   // ret, pop {r4, pc}
        (Class::Jump, 0xd61f_0000, 0xe12f_ff10, 0x4700),     // br, bx r0
        (Class::Csr, 0xd53b_d040, 0xee1d_0f70, 0x0f70_ee1d), // mrs, mrc p15, 0, r0, c13, c0, 3
        (Class::Fence, 0xd503_3fdf, 0xf57f_f06f, 0x8f6f_f3bf), // isb
        (Class::Fence, 0xd508_871f, 0xee08_0f17, 0x0f17_ee08), // tlbi vmalle1, tlbiall
        (Class::Cache, 0xd50b_7a20, 0xee07_0f3a, 0x0f3a_ee07), // dc cvac, dccmvac
        (Class::Prefetch, 0xf980_0020, 0xf5d1_f000, 0xf000_f891), // prfm, pld
        (Class::Hint, 0xd503_201f, 0xe320_f000, 0xbf00),     // nop
        (Class::Float, 0x1e62_2820, 0xee31_0b02, 0x0b02_ee31), // fadd d0, vadd.f64 d0
        (Class::Float, 0x5e21_d820, 0xeeb8_0ac0, 0x0ac0_eeb8), // scvtf s0, vcvt.f32.s32
        (Class::Vector, 0x4e22_d420, 0xf202_0d44, 0x0d44_ef02), // fadd v0.4s, vadd.f32 q0
        (Class::VectorLoad, 0x4c40_7820, 0xf421_0a8f, 0x0a8f_f921), // ld1, vld1
        (Class::VectorStore, 0x4c00_7820, 0xf401_0a8f, 0x0a8f_f901), // st1, vst1
        (Class::System, 0xd400_0001, 0xef00_0000, 0xdf00),   // svc
    ] {
        for (isa, encoding) in [(Isa::A64, a64), (Isa::A32, a32), (Isa::T32, t32)] {
            assert_eq!(class(isa, encoding), expected, "{isa} {encoding:08x}");
        }
    }
}

/// The name is the first word of the text, in every set.
#[test]
fn names_are_those_of_the_text() {
    let mut disassembler = Disassembler::default();
    for isa in [Isa::A64, Isa::A32, Isa::T32, Isa::Rv32, Isa::Rv64] {
        let words = (0..1_u64 << 32).step_by(2_000_003).map(|word| word as u32);
        for word in words.chain((0..0x1_0000).step_by(7)) {
            let text = disassembler.text(isa, 0, word);
            assert_eq!(Some(&*mnemonic(isa, word)), text.split(' ').next(), "{isa} {word:08x}");
        }
    }
}

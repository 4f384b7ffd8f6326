//! The declaration table alone: these tests run everywhere.

mod common;

use std::collections::HashSet;
use std::fmt::Write;

use common::Random;
use trackway_core::{Isa, RegClass, RegRole};
use trackway_isa::riscv::{
    COMPRESSED, Class, Count, Encoding, Extension, INSTRUCTIONS, Op, Operand, RV32_FORMS, Width, decode,
    is_branch, is_plain, lookup, text,
};
use trackway_isa::{Control, Style, flow};

const WIDTHS: [Isa; 2] = [Isa::Rv32, Isa::Rv64];

fn of(isa: Isa) -> impl Iterator<Item = &'static Encoding> {
    let other = if isa == Isa::Rv32 { Width::Rv64 } else { Width::Rv32 };
    INSTRUCTIONS.iter().chain(RV32_FORMS).chain(COMPRESSED).filter(move |e| e.width != other)
}

/// A word of this encoding with other bits taken from `bits`.
fn word(e: &Encoding, bits: u32) -> u32 {
    let word = e.value | bits & !e.mask;
    if e.value & 3 == 3 { word } else { word & 0xffff }
}

#[test]
fn no_two_declarations_overlap() {
    for isa in WIDTHS {
        let wide: Vec<_> = of(isa).filter(|e| e.value & 3 == 3).collect();
        for (i, a) in wide.iter().enumerate() {
            assert_eq!(a.value & !a.mask, 0, "{}: value outside the mask", a.name);
            for b in &wide[..i] {
                // zext.h is pack (RV32) or packw (RV64) with x0, and has a declaration of its own.
                let special = [a.name, b.name].contains(&"zext.h") && a.mask != b.mask;
                let apart = (a.value ^ b.value) & a.mask & b.mask != 0;
                assert!(apart || special, "{} and {}", a.name, b.name);
            }
        }
        // Reserved operands separate compressed ones too: try all halfwords.
        for half in (0..0x1_0000u32).filter(|h| h & 3 != 3) {
            let fits = of(isa).filter(|e| e.value & 3 != 3 && half & e.mask == e.value);
            let found = lookup(isa, half);
            let exact = fits.filter(|e| found.is_some_and(|(f, _)| f.op == e.op && f.name == e.name)).count();
            assert_eq!(exact, usize::from(found.is_some()), "{half:04x}");
        }
    }
}

#[test]
fn names_and_operations_are_unique() {
    let names: HashSet<_> = INSTRUCTIONS.iter().chain(COMPRESSED).map(|e| e.name).collect();
    assert_eq!(names.len(), INSTRUCTIONS.len() + COMPRESSED.len());
    for (i, e) in INSTRUCTIONS.iter().enumerate() {
        assert_eq!(e.op as usize, i);
        assert_eq!(e.op.name(), e.name);
    }
}

/// One datum for each encoding, in both styles, as reviewed text. Rewritten with `TRACKWAY_BLESS=1`.
#[test]
fn every_encoding_has_its_text() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/riscv.txt");
    let mut random = Random(5);
    let mut actual = String::new();
    for isa in WIDTHS {
        for e in of(isa) {
            let mut words = HashSet::new();
            for bits in [0, u32::MAX, random.next(), random.next() | 0x20_0000] {
                let word = word(e, bits);
                if lookup(isa, word).is_none_or(|(f, _)| f.name != e.name) || !words.insert(word) {
                    continue;
                }
                let write = |isa| {
                    let plain = text(isa, 0x1000, word, Style { aliases: false, abi_names: false });
                    format!("{plain} | {}", text(isa, 0x1000, word, Style::default()))
                };
                // RV32 is shown where it differs.
                let text = write(isa);
                if isa == Isa::Rv64 || text != write(Isa::Rv64) {
                    let _ = writeln!(actual, "{} {word:08x} {text}", isa.as_str());
                }
            }
            assert!(!words.is_empty(), "{}", e.name);
        }
    }
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(path, &actual).expect(path);
    }
    let expected = std::fs::read_to_string(path).expect(path);
    for (a, e) in actual.lines().zip(expected.lines()) {
        assert_eq!(a, e);
    }
    assert_eq!(actual.lines().count(), expected.lines().count());
}

/// `flow` decodes encodings without the table; both must agree.
#[test]
fn flow_agrees_with_the_table() {
    let mut random = Random(6);
    let pc = 0x8000_1000;
    for isa in WIDTHS {
        let mut words: Vec<u32> = (0..0x1_0000).filter(|h| h & 3 != 3).collect();
        words.extend(of(isa).flat_map(|e| (0..50).map(|_| word(e, random.next())).collect::<Vec<_>>()));
        words.extend((0..300_000).map(|_| random.next() | 3));
        for word in words {
            let flow = flow(isa, pc, word);
            assert_eq!(is_branch(word), flow.control == Control::Branch, "{word:08x}");
            if is_plain(word) {
                assert_eq!(
                    (flow.control, flow.length),
                    (Control::Sequential, if word & 3 == 3 { 4 } else { 2 })
                );
            }
            let Some(inst) = decode(isa, word) else {
                let illegal = word == u32::MAX || word & 0xffff == 0;
                let control = if illegal { Control::Undefined } else { Control::Sequential };
                assert_eq!(flow.control, control, "{isa:?} {word:08x}");
                continue;
            };
            assert_eq!(flow.length, inst.length);
            let link = |r: u8| r == 1 || r == 5;
            let control = match inst.op {
                Op::Beq | Op::Bne | Op::Blt | Op::Bge | Op::Bltu | Op::Bgeu => Control::Branch,
                Op::Jal | Op::Jalr if inst.op == Op::Jal || inst.rs1 == 0 => match inst.rd {
                    0 => Control::Jump,
                    rd if link(rd) => Control::Call,
                    _ => Control::OtherJump,
                },
                Op::Jalr if link(inst.rd) && link(inst.rs1) && inst.rd != inst.rs1 => Control::CoroutineSwap,
                Op::Jalr if link(inst.rd) => Control::IndirectCall,
                Op::Jalr if link(inst.rs1) => Control::Return,
                Op::Jalr if inst.rd == 0 => Control::IndirectJump,
                Op::Jalr => Control::OtherIndirectJump,
                Op::Ecall => Control::SystemCall,
                Op::Ebreak => Control::Breakpoint,
                Op::Mret | Op::Sret | Op::Uret | Op::Dret | Op::Mnret => Control::TrapReturn,
                Op::Wfi => Control::Wait,
                _ => Control::Sequential,
            };
            assert_eq!(flow.control, control, "{isa:?} {word:08x} {inst:?}");
            let target = match inst.op {
                Op::Jalr if inst.rs1 == 0 => Some(i64::from(inst.imm & !1) as u64),
                _ if control.is_direct() => Some(pc.wrapping_add_signed(i64::from(inst.imm))),
                _ => None,
            };
            let target = target.map(|t| if isa == Isa::Rv32 { t & 0xffff_ffff } else { t });
            assert_eq!(flow.target, target, "{isa:?} {word:08x}");
            assert_eq!(flow.conditional, control == Control::Branch);
            assert_eq!(flow.retires(), !matches!(inst.op, Op::Ecall | Op::Ebreak));
        }
    }
}

/// E-Trace 4.1.1, the examples of each class.
#[test]
fn etrace_4_1_1_jump_classes() {
    let class = |word| flow(Isa::Rv64, 0, word).control;
    let jal = |rd: u32| rd << 7 | 0x6f;
    let jalr = |rd: u32, rs1: u32| rs1 << 15 | rd << 7 | 0x67;
    for (word, control) in [
        (jal(1), Control::Call),
        (jal(5), Control::Call),
        (jal(0), Control::Jump),
        (jal(7), Control::OtherJump),
        (jalr(1, 1), Control::IndirectCall),
        (jalr(5, 10), Control::IndirectCall),
        (jalr(0, 10), Control::IndirectJump),
        (jalr(0, 1), Control::Return),
        (jalr(10, 5), Control::Return),
        (jalr(1, 5), Control::CoroutineSwap),
        (jalr(5, 1), Control::CoroutineSwap),
        (jalr(6, 10), Control::OtherIndirectJump),
        (0x8282, Control::Return),        // c.jr t0
        (0x8502, Control::IndirectJump),  // c.jr a0
        (0x9282, Control::CoroutineSwap), // c.jalr t0
        (0x9502, Control::IndirectCall),  // c.jalr a0
    ] {
        assert_eq!(class(word), control, "{word:08x}");
    }
    assert_eq!(flow(Isa::Rv32, 0, 0x2001).control, Control::Call); // c.jal
    assert_eq!(flow(Isa::Rv64, 0, 0x2001).control, Control::Sequential); // reserved c.addiw
}

/// Unprivileged 1.5: length of any instruction from its first halfword.
#[test]
fn lengths() {
    use trackway_isa::riscv::length;
    for (half, bytes) in [
        (0x0001, 2),
        (0x0013, 4),
        (0x001f, 6),
        (0x003f, 8),
        (0x007f, 10),
        (0x107f, 12),
        (0x607f, 22),
        (0x707f, 0),
    ] {
        assert_eq!(length(half), bytes, "{half:04x}");
    }
}

/// The size of every access is in the name: `b`, `h`, `w`, `d`, or the width of an element.
#[test]
fn memory_sizes() {
    for e in INSTRUCTIONS {
        let stem = e.name.split('.').next().unwrap_or(e.name);
        let last = e.name.rsplit('.').next().unwrap_or(e.name);
        let letter = |c: Option<char>| match c {
            Some('b') => 1,
            Some('h') => 2,
            Some('w') => 4,
            Some('d') => 8,
            Some('q') => 16,
            other => panic!("{}: {other:?}", e.name),
        };
        match e.op.class() {
            Class::Load(n) | Class::Store(n) if e.extension == Extension::H => {
                assert_eq!(n, letter(last.chars().next()), "{}", e.name);
            }
            Class::Load(n) => {
                assert_eq!(n, letter(stem.trim_start_matches('f').chars().nth(1)), "{}", e.name)
            }
            Class::Store(n) => {
                assert_eq!(n, letter(stem.trim_start_matches('f').chars().nth(1)), "{}", e.name)
            }
            Class::LoadReserved(n) | Class::StoreConditional(n) | Class::Amo(n) => {
                assert_eq!(n, letter(last.chars().next()), "{}", e.name);
            }
            Class::VectorLoad(n) | Class::VectorStore(n) => {
                let digits: String =
                    stem.rsplit('e').next().unwrap_or("").chars().filter(char::is_ascii_digit).collect();
                let indexed = e.operands.contains(&Operand::Vs2);
                let expected = match digits.parse::<u8>() {
                    _ if indexed => 0,
                    Ok(bits @ 8..) if stem.contains('e') => bits / 8,
                    _ => 1,
                };
                assert_eq!(n, expected, "{}", e.name);
                assert_eq!(e.op.class().memory().map(|m| m.count), Some(Count::Vector));
            }
            Class::ZeroBlock => assert_eq!(e.op.class().memory().map(|m| m.count), Some(Count::Vector)),
            class => assert_eq!(class.memory(), None),
        }
        let opcode = e.value & 0x7f;
        assert_eq!(
            e.op.class().memory().is_some(),
            matches!(opcode, 0x03 | 0x07 | 0x23 | 0x27 | 0x2f)
                || stem.starts_with("hlv")
                || stem == "hsv"
                || e.op == Op::CboZero,
            "{}",
            e.name
        );
    }
}

#[test]
fn registers_of_an_instruction() {
    let names = |isa, word| {
        let inst = decode(isa, word).expect("decodes");
        inst.registers()
            .map(|(reg, role)| {
                let class = match reg.class {
                    RegClass::Int => "x",
                    RegClass::Float => "f",
                    RegClass::Vector => "v",
                    _ => "csr",
                };
                format!("{}{class}{}", if role == RegRole::Source { "<" } else { ">" }, reg.number)
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(names(Isa::Rv64, 0x00b5_0533), "<x10 <x11 >x10"); // add a0,a0,a1
    assert_eq!(names(Isa::Rv64, 0x0000_0013), ""); // nop
    assert_eq!(names(Isa::Rv64, 0x60e2), "<x2 >x1"); // c.ldsp ra,24(sp)
    assert_eq!(names(Isa::Rv64, 0xe40e), "<x3 <x2"); // c.sdsp gp,8(sp)
    assert_eq!(names(Isa::Rv64, 0x852e), "<x11 >x10"); // c.mv a0,a1
    assert_eq!(names(Isa::Rv64, 0x9502), "<x10 >x1"); // c.jalr a0
    assert_eq!(names(Isa::Rv64, 0x3000_2573), "<csr768 >x10"); // csrr a0,mstatus
    assert_eq!(names(Isa::Rv64, 0x3005_1073), "<x10 >csr768"); // csrw mstatus,a0
    assert_eq!(names(Isa::Rv64, 0x3055_5573), "<csr773 >x10 >csr773"); // csrrwi a0,mtvec,10
    assert_eq!(names(Isa::Rv64, 0x6ab5_75c3), "<f10 <f11 <f13 >f11"); // fmadd.d fa1,fa0,fa1,fa3
    assert_eq!(names(Isa::Rv64, 0xb005_5057), "<v0 <f10 <v0 <v0 >v0"); // vfmacc.vf v0,fa0,v0,v0.t
    assert_eq!(names(Isa::Rv64, 0x0205_0427), "<v8 <x10"); // vse8.v v8,(a0)
    assert_eq!(names(Isa::Rv64, 0x28c5_b52f), "<x10 <x12 <x11 >x10"); // amocas.d a0,a2,(a1)
    assert_eq!(names(Isa::Rv32, 0x28c5_b52f), "<x10 <x11 <x12 <x13 <x11 >x10 >x11"); // pairs on RV32
    assert_eq!(names(Isa::Rv64, 0x2805_c02f), "<x11"); // amocas.q zero,zero,(a1)
}

/// The table of docs/isa.md.
#[test]
fn documented_texts() {
    for (word, usual, plain) in [
        (0x8082, "ret", "c.jr ra"),
        (0x60e2, "ld ra,24(sp)", "c.ldsp ra,24(sp)"),
        (0x0005_1463, "bnez a0,0x1008", "bne a0,zero,0x1008"),
        (0x0410_7057, "vsetvli zero,zero,e8,m2,ta,mu", "vsetvli zero,zero,e8,m2,ta,mu"),
    ] {
        assert_eq!(text(Isa::Rv64, 0x1000, word, Style::default()), usual);
        assert_eq!(text(Isa::Rv64, 0x1000, word, Style { aliases: false, abi_names: true }), plain);
    }
}

/// Extensions that no cross compiler here emits, in the words of objdump.
#[test]
fn texts_of_rare_extensions() {
    for (isa, word, expected) in [
        (Isa::Rv64, 0x0015_200f, "cbo.clean (a0)"),
        (Isa::Rv64, 0x0025_200f, "cbo.flush (a0)"),
        (Isa::Rv64, 0x0005_200f, "cbo.inval (a0)"),
        (Isa::Rv64, 0x0045_200f, "cbo.zero (a0)"),
        (Isa::Rv64, 0x08c5_c533, "pack a0,a1,a2"),
        (Isa::Rv64, 0x08c5_f533, "packh a0,a1,a2"),
        (Isa::Rv64, 0x08c5_c53b, "packw a0,a1,a2"),
        (Isa::Rv64, 0x0805_c53b, "zext.h a0,a1"),
        (Isa::Rv32, 0x0805_c533, "zext.h a0,a1"),
        (Isa::Rv64, 0x0805_c533, "pack a0,a1,zero"),
        (Isa::Rv64, 0x6875_d513, "brev8 a0,a1"),
        (Isa::Rv32, 0x08f5_9513, "zip a0,a1"),
        (Isa::Rv32, 0x08f5_d513, "unzip a0,a1"),
        (Isa::Rv64, 0x28c5_a533, "xperm4 a0,a1,a2"),
        (Isa::Rv64, 0x28c5_c533, "xperm8 a0,a1,a2"),
        (Isa::Rv64, 0x0ac5_9533, "clmul a0,a1,a2"),
        (Isa::Rv32, 0xaec5_8533, "aes32dsmi a0,a1,a2,0x2"),
        (Isa::Rv32, 0x62c5_8533, "aes32esi a0,a1,a2,0x1"),
        (Isa::Rv64, 0x36c5_8533, "aes64esm a0,a1,a2"),
        (Isa::Rv64, 0x31a5_9513, "aes64ks1i a0,a1,0xa"),
        (Isa::Rv64, 0x7ec5_8533, "aes64ks2 a0,a1,a2"),
        (Isa::Rv64, 0x3005_9513, "aes64im a0,a1"),
        (Isa::Rv64, 0x1005_9513, "sha256sum0 a0,a1"),
        (Isa::Rv64, 0x1075_9513, "sha512sig1 a0,a1"),
        (Isa::Rv32, 0x5cc5_8533, "sha512sig0h a0,a1,a2"),
        (Isa::Rv64, 0xf0c5_8533, "sm4ed a0,a1,a2,0x3"),
        (Isa::Rv64, 0x34c5_8533, "sm4ks a0,a1,a2,0x0"),
        (Isa::Rv64, 0x1085_9513, "sm3p0 a0,a1"),
        (Isa::Rv64, 0x22c5_8073, "hfence.vvma a1,a2"),
        (Isa::Rv64, 0x2200_0073, "hfence.vvma"),
        (Isa::Rv64, 0x6205_8073, "hfence.gvma a1"),
        (Isa::Rv64, 0x6005_c573, "hlv.b a0,(a1)"),
        (Isa::Rv64, 0x6435_c573, "hlvx.hu a0,(a1)"),
        (Isa::Rv64, 0x6c05_c573, "hlv.d a0,(a1)"),
        (Isa::Rv64, 0x6ea5_c073, "hsv.d a0,(a1)"),
        (Isa::Rv64, 0x16c5_8073, "sinval.vma a1,a2"),
        (Isa::Rv64, 0x1800_0073, "sfence.w.inval"),
        (Isa::Rv64, 0x1810_0073, "sfence.inval.ir"),
        (Isa::Rv64, 0x26c5_8073, "hinval.vvma a1,a2"),
        (Isa::Rv64, 0x66c5_8073, "hinval.gvma a1,a2"),
    ] {
        assert_eq!(text(isa, 0, word, Style::default()), expected);
    }
}

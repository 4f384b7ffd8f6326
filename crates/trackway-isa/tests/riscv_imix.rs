//! The instruction mix that `stf_imix` prints for real traces, reproduced from our classes.

mod common;

use std::collections::BTreeMap;

use trackway_core::Isa;
use trackway_isa::riscv::{Class, Op, lookup};

/// The opcodes of a ZSTF file. Chunks are zstd frames after a header of 20 bytes; a record is one byte that
/// has the size of what follows. Enough for these traces: trackway-stf reads all of the format.
fn opcodes(file: &[u8]) -> Vec<u32> {
    assert_eq!(&file[..4], b"ZSTF");
    let end = u64::from_le_bytes(file[12..20].try_into().expect("8 bytes")) as usize;
    let bytes = zstd::decode_all(&file[20..end]).expect("zstd");
    let u16_at = |i: usize| usize::from(u16::from_le_bytes([bytes[i], bytes[i + 1]]));
    let u32_at = |i: usize| u32::from_le_bytes(bytes[i..i + 4].try_into().expect("4 bytes"));
    let mut found = Vec::new();
    let mut wide_events = false;
    let mut at = 0;
    while at < bytes.len() {
        let body = at + 1;
        at = body
            + match bytes[at] {
                1 => 3,
                2 | 9 | 31 | 61 | 63 | 101 => 8,
                3 | 13 => 4 + u32_at(body) as usize,
                4 | 5 | 41 => 2,
                6 => 6 + u16_at(body + 4),
                7 => {
                    wide_events = u32_at(body) & 0x8_0000 != 0;
                    8
                }
                8 => 12,
                10 => 4,
                19 => 0,
                40 => 11,
                50 => 21 + 16 * usize::from(bytes[body + 20]),
                60 => 13,
                62 => 17,
                100 if wide_events => 9 + 8 * usize::from(bytes[body + 8]),
                100 => 5 + 8 * usize::from(bytes[body + 4]),
                230 => 5,
                240 => {
                    found.push(u32_at(body));
                    4
                }
                241 => {
                    found.push(u16_at(body) as u32);
                    2
                }
                other => panic!("record {other} at {body}"),
            };
    }
    found
}

/// The classes of `stf_imix` that an instruction is in. They overlap.
fn classes(word: u32) -> Vec<&'static str> {
    let (declared, inst) = lookup(Isa::Rv64, word).unwrap_or_else(|| panic!("{word:08x}"));
    let mut classes = match inst.op.class() {
        Class::Branch => vec!["branch", "cond"],
        Class::Jal => vec!["branch", "jal"],
        Class::Jalr => vec!["branch", "jalr"],
        Class::Load(_) => vec!["int", "load"],
        Class::Store(_) => vec!["int", "store"],
        Class::Multiply => vec!["int", "mul"],
        Class::Divide => vec!["int", "div"],
        Class::Int => vec!["int", "arith"],
        other => panic!("{} is {other:?}: not in these traces", declared.name),
    };
    if declared.name == "c.mv" {
        classes.push("move");
    }
    if inst.op == Op::Auipc {
        classes.push("pc");
    }
    classes
}

/// `name  count  percent%` after a line of titles.
fn expected(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .skip(1)
        .filter_map(|l| {
            let mut columns = l.split_whitespace();
            Some((columns.next()?.to_owned(), columns.next()?.parse().ok()?))
        })
        .collect()
}

#[test]
fn stf_imix_classes_and_names() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    for trace in ["dhry_riscv", "dhrystone_opt1", "dhrystone_spike"] {
        let file = std::fs::read(corpus.join(format!("stf/{trace}.zstf"))).expect(trace);
        let words = opcodes(&file);
        assert!(words.len() > 100_000);
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for word in words {
            *counts.entry(word).or_default() += 1;
        }
        let (mut by_class, mut by_name) = (BTreeMap::new(), BTreeMap::new());
        for (&word, &count) in &counts {
            for class in classes(word) {
                *by_class.entry(class.to_owned()).or_default() += count;
            }
            let (declared, inst) = lookup(Isa::Rv64, word).expect("decodes");
            // Its names are the encodings' own, but for two pseudo-instructions.
            let name = match declared.name {
                "addi" if word == 0x13 => "nop",
                "addi" if inst.rs1 == 0 => "li",
                name => name,
            };
            *by_name.entry(name.to_owned()).or_default() += count;
        }
        let folder = corpus.join("stf/expected");
        let text = std::fs::read_to_string(folder.join(format!("{trace}.imix.txt"))).expect(trace);
        assert_eq!(by_class, expected(&text), "{trace}");
        if let Ok(text) = std::fs::read_to_string(folder.join(format!("{trace}.imix_mnemonic.txt"))) {
            assert_eq!(by_name, expected(&text), "{trace}");
        }
    }
}

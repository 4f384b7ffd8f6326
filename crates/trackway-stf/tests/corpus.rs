//! Real traces of the corpus: counted, and compared with the output of stf_tools.

mod common;

use std::io::Read;
use std::path::Path;

use common::*;
use trackway_core::*;
use trackway_stf::{Container, WriteConfig};

const TRACES: [(&str, u64, u64, usize); 5] = [
    // Records and instructions as counted by an independent parser; chunks.
    ("dhry_riscv.zstf", 4_500_063, 2_390_026, 24),
    ("dhrystone_opt1.zstf", 327_032, 287_020, 3),
    ("dhrystone_spike.zstf", 545_040, 287_020, 3),
    ("stf_lib_1.6_golden.zstf", 9, 1, 1),
    ("bmi_pmp.bare.stf", 118, 36, 1),
];

fn expected(folder: &Path, name: &str) -> String {
    let path = folder.join("expected").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    if name.ends_with(".xz") {
        liblzma::read::XzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text
}

#[test]
fn counts() {
    let Some(folder) = corpus() else { return };
    for (name, records, instructions, chunks) in TRACES {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        for jobs in [1, 2] {
            let trace = open(&bytes).unwrap();
            assert_eq!(trace.chunks(), chunks, "{name}");
            let mut source = trace.events(jobs);
            let mut counted = Count::default();
            while source.observe(&mut counted).unwrap() {}
            assert_eq!(counted.0, instructions, "{name}");
            assert_eq!(source.census().total(), records, "{name}");
        }
    }
}

/// Record by record after END_HEADER: stf_tools print the header in another order.
#[test]
fn records_as_stf_record_dump_prints_them() {
    let Some(folder) = corpus() else { return };
    let mut compared = 0;
    for (trace, dump) in [
        ("dhry_riscv.zstf", "dhry_riscv.record_dump.first20k.txt.xz"),
        ("dhrystone_opt1.zstf", "dhrystone_opt1.record_dump.first20k.txt.xz"),
        ("dhrystone_spike.zstf", "dhrystone_spike.record_dump.first20k.txt.xz"),
        ("bmi_pmp.bare.stf", "bmi_pmp.bare.record_dump.txt"),
    ] {
        let text = expected(&folder, dump);
        // The peer prints the feature record last in the header.
        let wanted = text.lines().skip_while(|line| !line.starts_with("TRACE_INFO_FEATURE")).skip(1);
        let mut items = open(&std::fs::read(folder.join(trace)).unwrap()).unwrap().items();
        let mut item = Item::default();
        while items.next(&mut item).unwrap() && item.name != "END_HEADER" {}
        for (n, line) in wanted.enumerate() {
            assert!(items.next(&mut item).unwrap(), "{trace} ends before record {n}");
            assert_eq!(format!("{} {}", item.name, item.text), line.trim_end(), "{trace} record {n}");
            compared += 1;
        }
    }
    assert!(compared > 90_000, "{compared}");
}

/// Instruction by instruction: address, target, opcode, memory.
#[test]
fn instructions_as_stf_dump_prints_them() {
    let Some(folder) = corpus() else { return };
    let mut compared = 0;
    for (trace, dump) in [
        ("dhry_riscv.zstf", "dhry_riscv.dump.first5k.txt.xz"),
        ("dhrystone_opt1.zstf", "dhrystone_opt1.dump.first5k.txt.xz"),
        ("dhrystone_spike.zstf", "dhrystone_spike.dump.first5k.txt.xz"),
        ("bmi_pmp.bare.stf", "bmi_pmp.bare.dump.txt"),
    ] {
        let text = expected(&folder, dump);
        let mut wanted =
            text.lines().skip_while(|line| !line.starts_with("INST16") && !line.starts_with("INST32"));
        let mut source = open(&std::fs::read(folder.join(trace)).unwrap()).unwrap().events(1);
        let mut batch = Batch::default();
        'all: while source.fill(&mut batch).unwrap() {
            for event in &batch.events {
                let EventKind::Step(step) = &event.kind else { continue };
                let Some(line) = wanted.next() else { break 'all };
                let words: Vec<&str> = line.split_whitespace().collect();
                let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
                assert_eq!(words[0], if step.length == 2 { "INST16" } else { "INST32" }, "{line}");
                assert_eq!(step.pc, Some(hex(words[2])), "{line}");
                let target = (words[3] == "PC").then(|| hex(words[4]));
                assert_eq!(batch.extra_of(step).and_then(|extra| extra.target), target, "{line}");
                let opcode = if target.is_some() { words[5] } else { words[3] };
                assert_eq!(u64::from(step.encoding), hex(opcode), "{line}");
                for access in batch.mem_of(step.accesses) {
                    let line = wanted.next().unwrap();
                    let words: Vec<&str> = line.split_whitespace().collect();
                    let kind = if access.kind == MemKind::Read { "READ" } else { "WRITE" };
                    assert_eq!(words[..2], ["MEM", kind], "{line}");
                    assert_eq!(access.address, hex(words[3]), "{line}");
                    assert_eq!(access.data, Value::Word(hex(words[4])), "{line}");
                    assert!(matches!(access.size, 1 | 2 | 4 | 8), "the unit was found: {access:?}");
                }
                compared += 1;
            }
        }
        assert_eq!(wanted.next(), None, "{trace}: all lines were compared");
    }
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn conversions_keep_every_record() {
    let Some(folder) = corpus() else { return };
    for (name, ..) in TRACES {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let unpacked = rewrite(&bytes, plain());
        assert_eq!(rewrite(&unpacked, plain()), unpacked, "{name}: plain to plain is the same bytes");
        let packed = rewrite(&unpacked, WriteConfig { threads: 2, ..WriteConfig::default() });
        assert_eq!(rewrite(&packed, plain()), unpacked, "{name}");
        if name.ends_with(".zstf") {
            let (index, ours) = (
                |file: &[u8]| {
                    let at = u64::from_le_bytes(file[12..20].try_into().unwrap()) as usize;
                    // Address and size of each chunk; the frames are ours.
                    file[at + 8..].chunks(24).map(|entry| entry[8..].to_vec()).collect::<Vec<_>>()
                },
                &packed,
            );
            assert_eq!(index(ours), index(&bytes), "{name}: the same chunks");
        } else {
            assert_eq!(unpacked, bytes);
        }
        assert_eq!(open(&packed).unwrap().container, Container::Zstf);
    }
}

/// Lowering the lifted events results in the same events.
#[test]
fn lift_and_lower_keep_every_event() {
    let Some(folder) = corpus() else { return };
    for (name, ..) in TRACES.iter().filter(|trace| trace.1 < 1_000_000) {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let trace = open(&bytes).unwrap();
        let meta = trace.header.meta();
        let mut source = trace.events(1);
        let file = Memory::default();
        let sink = trackway_stf::Lower::new(file.output(), meta.clone(), WriteConfig::default()).unwrap();
        let mut sink = Counting::new(Box::new(sink), &meta);
        let mut batch = Batch::default();
        while source.fill(&mut batch).unwrap() {
            sink.put(&batch).unwrap();
        }
        // Nothing is lost but features that were declared and absent, and that sizes were inferred: they are recorded now.
        let ledger = sink.finish().unwrap();
        let lost = [Fact::Features, Fact::InferredAccesses];
        let kept = |fate, fact| matches!(fate, Fate::Kept | Fate::Derived) || lost.contains(&fact);
        assert!(ledger.entries().all(|(fate, fact, _)| kept(fate, fact)), "{name}: {ledger}");
        let strip = |lines: Vec<String>| -> Vec<String> {
            lines.iter().map(|line| without_offset(line).replace(",inferred:yes", "")).collect()
        };
        let (wanted, found) = (strip(lines(&bytes, 1)), strip(lines(&file.bytes(), 1)));
        assert!(wanted == found, "{name}");
    }
}

//! The verifier comes to the end of any damaged trace: recorded groups with bytes changed, cut out and put in.

use std::sync::LazyLock;

use trackway_core::{Batch, Input, Sink, Source};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config as Core, Program, RecordOptions, Recorder, Target};
use trackway_tandem::{Config, Lower, Style, Trace, WriteConfig};
use trackway_tools::verify::{Absent, Options, Range, Verifier, verify};

struct Subject {
    program: Program,
    core: Core,
    trace: Vec<u8>,
    config: Config,
}

const PROGRAMS: [(&str, Style); 4] = [
    ("rv64-privileged", Style::Verbose),
    ("rv64-sv39", Style::Compact),
    ("rv32-float", Style::Compact),
    ("rv32-privileged", Style::Verbose),
];

/// Instructions recorded of each: enough for traps and translations, few enough to be quick.
const LENGTH: u64 = 1500;

static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    PROGRAMS
        .iter()
        .map(|(name, style)| {
            let path = format!("{}/../programs/riscv/elf/{name}.elf", env!("CARGO_MANIFEST_DIR"));
            let program = Program::read(&std::fs::read(path).unwrap()).unwrap();
            let machine = MachineConfig::new(Core::new(program.isa));
            let target = Target::Machine(Box::new(Machine::new(machine, &program).unwrap()));
            let options = RecordOptions { limit: LENGTH, ..RecordOptions::default() };
            let mut recorder = Recorder::new(target, options);
            let rv32 = Config { flen: 64, ..Config::rv32() };
            let config = if machine.core.is_rv32() { rv32 } else { Config::default() };
            let write = WriteConfig { config, style: *style };
            let mut lower = Lower::new(Vec::new(), recorder.meta(), write).unwrap();
            let mut batch = Batch::default();
            while recorder.fill(&mut batch).unwrap() {
                lower.put(&batch).unwrap();
            }
            Subject { program, core: machine.core, trace: lower.into_inner().unwrap().0, config }
        })
        .collect()
});

/// Edits of four bytes: where (two), what (replace, flip, drop, insert, repeat), with what.
fn damaged(trace: &[u8], edits: &[u8]) -> Vec<u8> {
    let mut bytes = trace.to_vec();
    for edit in edits.as_chunks::<4>().0.iter().take(64) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % bytes.len().max(1);
        match edit[2] % 5 {
            0 if !bytes.is_empty() => bytes[at] = edit[3],
            1 if !bytes.is_empty() => bytes[at] ^= 1 << (edit[3] & 7),
            2 => drop(bytes.drain(at..(at + usize::from(edit[3])).min(bytes.len()))),
            3 => bytes.insert(at, edit[3]),
            4 => {
                let again = bytes[at..(at + usize::from(edit[3])).min(bytes.len())].to_vec();
                bytes.splice(at..at, again);
            }
            _ => {}
        }
    }
    bytes
}

/// Tries one input.
pub fn tandem_verify(data: &[u8]) {
    let [choice, absent, edits @ ..] = data else { return };
    let subject = &SUBJECTS[usize::from(choice & 3)];
    let bit = |n: u8| absent >> n & 1 != 0;
    let range = |start: u64, size: u64| Range { start, end: start + size };
    let mut verifier = Verifier::new(Options {
        mmio: vec![range(0x10_0000, 0x1000), range(0x200_0000, 0x1_0000), range(0x1000_0000, 0x1000)],
        map: if choice & 4 == 0 {
            vec![range(0x1000, 0xf000), range(0x8000_0000, 128 << 20)]
        } else {
            Vec::new()
        },
        absent: Absent {
            x: bit(0),
            f: bit(1),
            csr: bit(2),
            privilege: bit(3),
            memory: bit(4),
            implied: false,
        },
        strict: choice & 8 != 0,
        coverage: choice & 16 != 0,
        ..Options::new(subject.core)
    });
    if choice & 32 == 0 {
        for segment in &subject.program.segments {
            verifier.memory.load(segment.physical, segment.bytes());
        }
    }
    let bytes = damaged(&subject.trace, edits);
    let undamaged = bytes == subject.trace;
    let mut lift = Trace::open(Input::from_vec(bytes), subject.config).unwrap().events();
    let ended = verify(&mut lift, &mut verifier);
    if undamaged && *absent == 0 && choice & 8 == 0 {
        assert!(ended.is_ok() && verifier.report.mismatches.is_empty(), "{}", verifier.report.text());
    }
    let report = &verifier.report;
    assert!(report.text().len() > 10 && report.junit("fuzz").ends_with("</testsuite>\n"));
}

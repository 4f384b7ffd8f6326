//! Text logs: lines to events beside a scan of the same bytes for ends of lines, on one core and on all of them.

use std::path::Path;
use std::sync::Arc;

use trackway_bench::{Measure, run};
use trackway_core::{Batch, Cancel, Count, Input, Source};
use trackway_format::{Format, Opening, Program, Settings};
use trackway_io::File;

const PASSES: usize = 5;

/// Bytes of a log, made by repeating a short one after its head.
const SIZE: usize = 200 << 20;

fn open(format: &dyn Format, bytes: &Arc<Vec<u8>>, program: &Program, threads: usize) -> Box<dyn Source> {
    let opening = Opening {
        file: File::from_input(Input::Whole(bytes.clone())).expect("bytes in memory"),
        settings: Settings::default(),
        program: program.clone(),
        threads,
        part: None,
        force: false,
        strict: false,
        source: None,
        cancel: Cancel::default(),
    };
    format.open(opening).and_then(|mut opened| opened.events()).expect("a good log")
}

/// `head` is the text that the repeated part begins with; empty if all of it is repeated.
fn measure(name: &str, format: &dyn Format, sample: &[u8], head: &str, program: &Program) {
    let at = sample.windows(head.len().max(1)).position(|bytes| bytes == head.as_bytes()).unwrap_or(0);
    let (head, rest) = sample.split_at(at);
    let bytes = Arc::new([head, &rest.repeat(SIZE / rest.len())].concat());
    let len = bytes.len() as u64;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let [events, observed, scan] =
        ["events", "events on all cores", "scan for ends of lines"].map(|what| format!("{name}: {what}"));
    let results = run(
        PASSES,
        vec![
            Measure::new(&events, "bytes", || {
                let (mut source, mut batch) = (open(format, &bytes, program, 1), Batch::default());
                while source.fill(&mut batch).expect("a good log") {}
                len
            }),
            Measure::new(&observed, "bytes", || {
                let (mut source, mut count) = (open(format, &bytes, program, threads), Count::default());
                while source.observe(&mut count).expect("a good log") {}
                len
            }),
            Measure::new(&scan, "bytes", || {
                std::hint::black_box(memchr::memchr_iter(b'\n', &bytes).count());
                len
            }),
        ],
    );
    results.slower(&events, &scan, None);
    results.slower(&observed, &scan, None);
}

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata");
    let samples = [
        ("Tarmac, Fast Models", trackway_logs::TARMAC, "tarmac/loop-fast-models/trace.tarmac", ""),
        ("Tarmac, ES", trackway_logs::TARMAC, "tarmac/loop-es/trace.tarmac", ""),
        ("Tarmac, gem5", trackway_logs::TARMAC, "tarmac/loop-gem5/trace.tarmac", ""),
        ("Spike", trackway_logs::SPIKE, "spike/mix.spike", ""),
        ("riscv-dv", trackway_logs::RISCV_DV, "riscv-dv/mix.csv", "0000000080000000,"),
        ("RVFI-DII", trackway_logs::RVFI_DII, "rvfi-dii/mix.rvfi", ""),
        ("RVFI in a VCD", trackway_logs::RVFI_VCD, "rvfi-vcd/mix.vcd", "#10\n"),
    ];
    for (name, format, path, head) in samples {
        let sample = std::fs::read(folder.join(path)).expect("a sample of the repository");
        measure(name, format, &sample, head, &Program::default());
    }
    let elf = folder.join("../programs/riscv/elf/rv64-mix.elf").display().to_string();
    let program = Program { elf: vec![elf], ..Program::default() };
    let sample = std::fs::read(folder.join("qemu-exec/mix.qemu")).expect("a sample of the repository");
    measure("QEMU", trackway_logs::QEMU_EXEC, &sample, "", &program);
}

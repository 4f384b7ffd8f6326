//! perf.data: full decoding of a recording with its processes and programs, beside a snapshot of the same bytes. Needs
//! the corpus.

use std::path::Path;
use std::sync::Arc;

use trackway::{Options, Trace};
use trackway_bench::{Measure, run};
use trackway_core::Count;
use trackway_ete::Snapshot;
use trackway_testkit::perf::Recording;

const PASSES: usize = 10;
const PID: u32 = 4711;
const ID: [u8; 20] = [7; 20];
/// Where the program is loaded; its pieces follow.
const BASE: u64 = 0x40_0000;

fn main() {
    let Some(folder) = trackway_testkit::corpus_part("ete/bugfix-exact-match") else { return };
    let mut snapshot = Snapshot::open(&folder).expect("a snapshot");
    let open = |path: &Path| Ok(Arc::new(std::fs::read(path)?) as _);
    let traces = snapshot.sources(&open, &trackway::image::Image::default);
    let data = (*traces[0].data).as_ref();
    let id = trackway_ete::ids(traces[0].framing, data).iter().max_by_key(|id| id.1).expect("an id").0;
    let source = snapshot.sources.iter().find(|source| source.config.trace_id == id).expect("its source");
    let dumps: Vec<(u64, Vec<u8>)> =
        source.dumps.iter().map(|dump| (dump.address, std::fs::read(&dump.file).expect("a dump"))).collect();

    let sysroot = std::env::temp_dir().join(format!("trackway-bench-perf-{}", std::process::id()));
    std::fs::create_dir_all(&sysroot).expect("a folder");
    let elf = program(&dumps);
    std::fs::write(sysroot.join("cc1"), &elf).expect("a program");
    let mut recording = Recording::new();
    recording.unit(0, source.config.dialect.ete, source.config.registers.clone());
    (recording.pid, recording.tid) = (PID, PID);
    recording.comm(PID, PID, "cc1", true);
    recording.mmap(PID, BASE, elf.len() as u64, 0, "/cc1", Some(&ID));
    recording.itrace_start(PID, PID);
    recording.session(0, 0, data);
    let path = sysroot.join("perf.data");
    std::fs::write(&path, recording.finish()).expect("a recording");

    let by_snapshot = Options { source: Some(source.config.name.clone()), ..Options::default() }.threads(1);
    let flag = ("sysroot".to_string(), sysroot.display().to_string().into());
    let by_perf = Options { flags: vec![flag], ..Options::default() }.threads(1);
    let results = run(
        PASSES,
        vec![
            Measure::prepared(
                "perf.data, full decode",
                "instructions",
                || by_perf.open(&path).expect("a recording"),
                instructions,
            )
            .on_core(),
            Measure::prepared(
                "snapshot, full decode",
                "instructions",
                || by_snapshot.open(&folder).expect("a snapshot"),
                instructions,
            )
            .on_core(),
        ],
    );
    results.faster("perf.data, full decode", "snapshot, full decode", Some(0.9));
    std::fs::remove_dir_all(&sysroot).expect("the folder");
}

/// Both must decode the same.
fn instructions(mut trace: Trace) -> u64 {
    let mut events = trace.events().expect("events");
    let mut count = Count::default();
    while events.observe(&mut count).expect("a good trace") {}
    count.0
}

/// An ELF file with a build id and these pieces of code.
fn program(dumps: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let end = dumps.iter().map(|(address, bytes)| address - BASE + bytes.len() as u64).max().expect("code");
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    [2u16, 183].iter().for_each(|half| elf.extend(half.to_le_bytes()));
    elf.extend(1u32.to_le_bytes());
    [BASE, 64, 0].iter().for_each(|word| elf.extend(word.to_le_bytes()));
    elf.extend(0u32.to_le_bytes());
    [64u16, 56, 2, 64, 0, 0].iter().for_each(|half| elf.extend(half.to_le_bytes()));
    for (kind, flags, offset, size) in [(1u32, 5u32, 0, end), (4, 4, 176, 36)] {
        elf.extend(kind.to_le_bytes());
        elf.extend(flags.to_le_bytes());
        [offset, BASE + offset, BASE + offset, size, size, 4]
            .iter()
            .for_each(|word| elf.extend(word.to_le_bytes()));
    }
    [4u32, 20, 3].iter().for_each(|word| elf.extend(word.to_le_bytes()));
    elf.extend(b"GNU\0");
    elf.extend(ID);
    elf.resize(end as usize, 0);
    for (address, bytes) in dumps {
        elf[(address - BASE) as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    elf
}

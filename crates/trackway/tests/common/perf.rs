//! Recordings of perf from traces of our own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use trackway::events::{Input, Isa};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
use trackway_testkit::perf::{RAW, Recording};

use super::Run;

/// The process of the recordings here.
pub const PID: u32 = 4711;

/// The bytes of a trace unit, with its registers.
pub struct Stream {
    pub ete: bool,
    pub registers: BTreeMap<String, u64>,
    pub bytes: Vec<u8>,
}

/// The run as a trace unit emits it, with these settings of ETE.
pub fn stream(run: &Run, settings: &Settings) -> Stream {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("trackway-perf-{}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let program = Program { elf: vec![run.elf.display().to_string()], ..Program::default() };
    let target = Target::new(folder.join("trace.ete"));
    let writing = Writing { target: target.clone(), settings, program: &program, threads: 1 };
    std::fs::create_dir_all(&folder).unwrap();
    let mut sink = trackway::ete::FORMAT.create(writing, &run.meta).unwrap();
    run.batches.iter().for_each(|batch| sink.put(batch).unwrap());
    sink.finish().unwrap();
    target.commit().unwrap();
    let path = folder.join("trace.ete");
    let config = trackway::ete::Snapshot::open(&path).unwrap().sources.remove(0).config;
    let bytes = trackway::Trace::open(&path).unwrap().bytes().unwrap().read_whole().unwrap();
    let bytes = (*bytes).as_ref().to_vec();
    std::fs::remove_dir_all(&folder).unwrap();
    Stream { ete: config.dialect.ete, registers: config.registers, bytes }
}

/// The first records: a process, its program.
pub fn begin(recording: &mut Recording, elf: &Path) {
    (recording.pid, recording.tid) = (PID, PID);
    recording.comm(PID, PID, "sort", true);
    map_program(recording, elf);
}

/// Maps the code of a program where it was linked.
pub fn map_program(recording: &mut Recording, elf: &Path) {
    let bytes = Input::from_vec(std::fs::read(elf).unwrap()).read_whole().unwrap();
    let program = trackway::image::Elf::read(&bytes, None).unwrap();
    for segment in program.segments.iter().filter(|segment| segment.executable) {
        let start = segment.address & !0xfff;
        let pgoff = segment.offset() - (segment.address - start);
        let name = format!("/usr/bin/{}", elf.file_name().unwrap().to_string_lossy());
        let length = (segment.address + segment.size - start).next_multiple_of(0x1000);
        recording.mmap(PID, start, length, pgoff, &name, None);
    }
}

/// The run in the format of this name, on one or two cores: one of them in three sessions.
pub fn recording(format: &str, run: &Run, cores: u32) -> Option<Vec<u8>> {
    if format != "perf" || run.meta.isa != Isa::A64 {
        return None;
    }
    let Stream { ete, registers, bytes } = stream(run, &Settings::default());
    let mut recording = Recording::new();
    for (cpu, id) in [(0, 0x10), (1, 0x12)] {
        let mut registers = registers.clone();
        registers.insert("TRCTRACEIDR".into(), id);
        recording.unit(cpu, ete, registers);
    }
    begin(&mut recording, &run.elf);
    recording.itrace_start(PID, PID);
    let mut offset = 0;
    for _ in 0..3 {
        recording.session(offset, RAW, &bytes);
        offset += bytes.len().next_multiple_of(8) as u64;
    }
    if cores > 1 {
        recording.cpu = 1;
        recording.session(0, 0, &trackway::ete::frame(&[(0x12, &bytes)]));
    }
    Some(recording.finish())
}

//! Recordings of perf, written by the testkit from streams of our own: every way that the kernel stores a trace, processes
//! and programs over time, damage, and paths that lead elsewhere.

mod common;

use std::path::{Path, PathBuf};

use common::perf::{PID, Stream, begin, stream};
use common::{Run, arm, file};
use trackway::events::{Batch, SplitMix64};
use trackway::format::Settings;
use trackway::{Options, Trace};
use trackway_testkit::lines::{filled, observed};
use trackway_testkit::perf::{OVERWRITE, RAW, Recording, TRUNCATED};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trackway-recordings-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ete() -> Settings {
    Settings::default()
}

fn options(elf: &Path) -> Options {
    Options::default().elf(elf.display().to_string())
}

/// Runs of instructions and traps, without their places and contexts.
fn path_of(trace: &mut Trace) -> Vec<String> {
    let mut source = trace.events().unwrap();
    let (mut lines, mut batch) = (Vec::new(), Batch::default());
    while source.fill(&mut batch).unwrap() {
        for event in &batch.events {
            let mut line = String::new();
            batch.write_line(event, &mut line);
            let line = line.split_once(' ').unwrap().1;
            if line.starts_with("run") || line.starts_with("trap") {
                lines.push(line.to_string());
            }
        }
    }
    lines
}

fn opened(bytes: &[u8], options: &Options) -> Trace {
    options.open_bytes(bytes.to_vec()).unwrap()
}

/// The path of a run, as the decoder of ETE follows it.
fn wanted(run: &Run, stream: &Stream) -> Vec<String> {
    let mut settings = Settings::default();
    for (name, value) in &stream.registers {
        settings.set("ete", name, i64::try_from(*value).unwrap());
    }
    let options = Options { settings: Some(settings), ..options(&run.elf) };
    let found = path_of(&mut opened(&stream.bytes, &options));
    assert!(found.len() > 100);
    found
}

/// A recording of one core; `put` adds its trace.
fn one_core(
    stream: &Stream,
    run: &Run,
    recording: Recording,
    put: impl FnOnce(&mut Recording, &[u8]),
) -> Recording {
    let mut recording = recording;
    recording.unit(3, stream.ete, stream.registers.clone());
    recording.cpu = 3;
    begin(&mut recording, &run.elf);
    recording.itrace_start(PID, PID);
    put(&mut recording, &stream.bytes);
    recording
}

#[test]
fn every_way_to_store_a_trace_is_decoded() {
    let run = arm(8);
    let stream = stream(&run, &ete());
    let wanted = wanted(&run, &stream);
    let id = stream.registers["TRCTRACEIDR"] as u8;
    let frames = trackway::ete::frame(&[(id, &stream.bytes)]);
    let raw = |recording: &mut Recording, bytes: &[u8]| recording.session(0x4000, RAW, bytes);
    let framed = |recording: &mut Recording, _: &[u8]| recording.session(0x4000, 0, &frames);
    let of = |recording: Recording| one_core(&stream, &run, recording, raw);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("raw", of(Recording::new()).finish()),
        ("frames", one_core(&stream, &run, Recording::new(), framed).finish()),
        ("version 0", of(Recording::new().version(0)).finish()),
        ("big-endian", of(Recording::new().big_endian()).finish()),
        ("pipe", of(Recording::new()).pipe()),
        (
            "thread",
            one_core(&stream, &run, Recording::new(), |recording, _| {
                recording.aux(0, frames.len() as u64, 0);
                recording.auxtrace(0, -1, PID as i32, &frames);
            })
            .finish(),
        ),
        (
            "thread, raw",
            one_core(&stream, &run, Recording::new(), |recording, bytes| {
                recording.aux(0, bytes.len() as u64, RAW);
                recording.auxtrace(0, -1, PID as i32, bytes);
            })
            .finish(),
        ),
        (
            "snapshot",
            one_core(&stream, &run, Recording::new().snapshot(), |recording, bytes| {
                // The head is at the end; what was there before is of another session.
                let end = 0x10_0000 + bytes.len() as u64;
                recording.aux(end, bytes.len() as u64, OVERWRITE | RAW);
                recording.auxtrace(end - bytes.len() as u64 - 64, 3, -1, &[&[0x55; 64], bytes].concat());
            })
            .finish(),
        ),
        ("id from a record", {
            let mut unknown = stream.registers.clone();
            unknown.insert("TRCTRACEIDR".into(), 1 << 31 | 0x33);
            let without = Stream { ete: stream.ete, registers: unknown, bytes: stream.bytes.clone() };
            let put = |recording: &mut Recording, _: &[u8]| {
                recording.hw_id(id.into());
                recording.session(0, 0, &frames);
            };
            one_core(&without, &run, Recording::new(), put).finish()
        }),
        (
            "bytes before their record",
            one_core(&stream, &run, Recording::new(), |recording, bytes| {
                recording.auxtrace(0, 3, -1, bytes);
                recording.aux(0, bytes.len() as u64, RAW);
            })
            .finish(),
        ),
        (
            "no record of the bytes",
            one_core(&stream, &run, Recording::new(), |recording, _| recording.auxtrace(0, 3, -1, &frames))
                .finish(),
        ),
    ];
    for (what, bytes) in cases {
        let mut trace = opened(&bytes, &options(&run.elf));
        let thread = what.starts_with("thread");
        let source = if thread { format!("thread{PID}") } else { "cpu3".to_string() };
        assert_eq!(trace.meta().sources, [source], "{what}");
        assert!(path_of(&mut trace) == wanted, "{what}");
        for threads in [2, 3] {
            let mut again = opened(&bytes, &options(&run.elf).threads(threads));
            let serial = filled(&mut *opened(&bytes, &options(&run.elf)).events().unwrap());
            assert!(observed(&mut *again.events().unwrap()) == serial, "{what}: {threads} threads");
        }
    }
}

/// A killed recorder leaves 0 as the size of the data, and no features.
#[test]
fn a_recorder_that_was_killed_leaves_a_trace() {
    let run = arm(8);
    let stream = stream(&run, &ete());
    let wanted = wanted(&run, &stream);
    let put = |recording: &mut Recording, bytes: &[u8]| recording.session(0, RAW, bytes);
    let mut bytes = one_core(&stream, &run, Recording::new(), put).finish();
    let data: [u8; 8] = bytes[40..48].try_into().unwrap();
    let size: [u8; 8] = bytes[48..56].try_into().unwrap();
    bytes.truncate((u64::from_le_bytes(data) + u64::from_le_bytes(size)) as usize);
    bytes[48..56].fill(0);
    let mut trace = opened(&bytes, &options(&run.elf));
    assert!(path_of(&mut trace) == wanted);
    assert!(trace.facts().iter().any(|(name, text)| *name == "doubt" && text.contains("killed")));
}

#[test]
fn lost_trace_is_a_gap() {
    let run = arm(2);
    let stream = stream(&run, &ete());
    let size = stream.bytes.len() as u64;
    let put = |recording: &mut Recording, bytes: &[u8]| {
        recording.session(0, RAW | TRUNCATED, bytes);
        // This one was never written into the file.
        recording.aux(size.next_multiple_of(8), 4096, RAW);
        recording.session(0x8_0000, RAW, bytes);
    };
    let bytes = one_core(&stream, &run, Recording::new(), put).finish();
    let lines = filled(&mut *opened(&bytes, &options(&run.elf)).events().unwrap());
    let gaps: Vec<&str> = lines
        .iter()
        .filter_map(|line| Some(line.split_once(" gap ")?.1))
        .filter(|gap| !gap.contains("filtered"))
        .collect();
    assert_eq!(gaps, ["reason=overflow", "reason=unexplained bytes=0x1000"], "{lines:?}");
}

/// Two processes, and one that becomes another program, have different code at the same addresses.
#[test]
fn code_is_that_of_the_process_and_its_time() {
    let sort = arm(1);
    let stream = stream(&sort, &ete());
    let wanted = wanted(&sort, &stream);
    let other = file("programs/aarch64/levels.elf");
    let raw = |recording: &mut Recording, offset: u64, tid: u32| {
        recording.aux(offset, stream.bytes.len() as u64, RAW);
        recording.auxtrace(offset, -1, tid as i32, &stream.bytes);
    };
    let mut recording = Recording::new();
    recording.unit(0, stream.ete, stream.registers.clone());
    begin(&mut recording, &sort.elf);
    // Another process has other code there.
    (recording.pid, recording.tid) = (PID + 1, PID + 1);
    recording.fork(PID + 1, PID, PID + 1);
    recording.comm(PID + 1, PID + 1, "levels", true);
    recording.mmap(PID + 1, 0x40_0000, 0x2000, 0, "/usr/bin/levels.elf", None);
    raw(&mut recording, 0, PID + 1);
    (recording.pid, recording.tid) = (PID, PID);
    raw(&mut recording, 0, PID);
    recording.comm(PID, PID, "levels", true);
    recording.mmap(PID, 0x40_0000, 0x2000, 0, "/usr/bin/levels.elf", None);
    raw(&mut recording, 1 << 20, PID);
    let bytes = recording.finish();
    let with = options(&sort.elf).elf(other.display().to_string());
    let mut trace = opened(&bytes, &with);
    assert_eq!(trace.meta().sources, [format!("thread{PID}"), format!("thread{}", PID + 1)]);
    let found = path_of(
        &mut Options { source: Some(format!("thread{PID}")), ..with.clone() }
            .open_bytes(bytes.clone())
            .unwrap(),
    );
    assert!(found.len() > wanted.len() && found[..wanted.len()] == wanted[..]);
    // The same packets lead elsewhere in the other program.
    assert!(found[wanted.len()..] != wanted[..]);
    let contexts: Vec<String> =
        filled(&mut *trace.events().unwrap()).into_iter().filter(|line| line.contains(" context ")).collect();
    for ids in ["asid=0x1 pid=0x1267 tid=0x1267", "asid=0x2 pid=0x1267 tid=0x1267", "pid=0x1268 tid=0x1268"] {
        assert!(contexts.iter().any(|line| line.contains(ids)), "{ids}: {contexts:?}");
    }
    let notes = &opened(&bytes, &with).meta().notes.clone();
    assert!(notes.contains(&(format!("process {PID}"), "levels".to_string())), "{notes:?}");
}

/// An AUX record of a core without context ids belongs to the thread that came to it.
#[test]
fn threads_come_from_switches() {
    let run = arm(1);
    let stream = stream(&run, &ete());
    let mut recording = Recording::new();
    recording.unit(0, stream.ete, stream.registers.clone());
    begin(&mut recording, &run.elf);
    recording.fork(PID, PID, PID + 7);
    (recording.pid, recording.tid) = (PID, PID + 7);
    recording.switch(false);
    recording.session(0, RAW, &stream.bytes);
    recording.switch(true);
    let lines = filled(&mut *opened(&recording.finish(), &options(&run.elf)).events().unwrap());
    assert!(lines.iter().any(|line| line.contains("pid=0x1267 tid=0x126e")), "{lines:?}");
}

#[test]
fn every_cut_delivers_what_came_before() {
    let run = arm(2);
    let stream = stream(&run, &ete());
    let put = |recording: &mut Recording, bytes: &[u8]| {
        recording.session(0, RAW, bytes);
        recording.session(0x1_0000, RAW, bytes);
    };
    let bytes = one_core(&stream, &run, Recording::new(), put).finish();
    let options = options(&run.elf);
    let whole = filled(&mut *opened(&bytes, &options).events().unwrap());
    assert!(listed(&mut opened(&bytes, &options)).is_ok_and(|count| count > 10));
    let mut delivered = 0;
    for cut in 0..bytes.len() {
        match options.open_bytes(bytes[..cut].to_vec()) {
            Ok(mut trace) => {
                let lines = filled(&mut *trace.events().unwrap());
                let same = lines.iter().zip(&whole).take_while(|(one, other)| one == other).count();
                assert!(lines.len() - same <= 8, "cut at {cut}: {:?}", &lines[same..]);
                assert!(lines.iter().any(|line| line.contains("truncated")), "cut at {cut}");
                assert!(same >= delivered, "cut at {cut}: {same} events, {delivered} before");
                delivered = same;
                if cut % 16 == 0 {
                    assert!(listed(&mut trace).is_err(), "cut at {cut}: its listing is whole");
                }
            }
            Err(error) => assert!(delivered == 0, "cut at {cut}: {error}"),
        }
    }
    assert!(delivered + 4 > whole.len(), "{delivered} of {}", whole.len());
}

/// The listing of records and packets, past errors that do not end it; the error that does.
fn listed(trace: &mut Trace) -> Result<usize, String> {
    let (mut items, mut item, mut count) = (trace.items().unwrap(), Default::default(), 0);
    loop {
        match items.next(&mut item) {
            Ok(true) => count += 1,
            Ok(false) => return Ok(count),
            Err(_) if matches!(items.resync(), Ok(Some(_))) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[test]
fn damage_never_panics() {
    let run = arm(2);
    let bytes = common::perf::recording("perf", &run, 2).unwrap();
    for seed in 0..200u64 {
        let mut random = SplitMix64(seed);
        let mut damaged = bytes.clone();
        for _ in 0..=random.next_u64() % 8 {
            // Most of the file is trace: hit the records too.
            let end = if random.next_u64().is_multiple_of(2) { 1600 } else { damaged.len() as u64 };
            let at = (random.next_u64() % end) as usize;
            damaged[at] = random.next_u64() as u8;
        }
        let Ok(mut trace) = options(&run.elf).open_bytes(damaged.clone()) else { continue };
        let lines = filled(&mut *trace.events().unwrap());
        let Ok(mut again) = options(&run.elf).threads(3).open_bytes(damaged.clone()) else {
            panic!("seed {seed}")
        };
        assert!(observed(&mut *again.events().unwrap()) == lines, "seed {seed}");
        let mut found = 0;
        let _ = trace.check(&mut |_| found += 1);
        let _ = listed(&mut trace);
    }
}

/// A program with a build id, at 0x40_0000.
fn program_with(id: [u8; 20]) -> Vec<u8> {
    let mut note = Vec::new();
    [4u32, 20, 3].iter().for_each(|word| note.extend(word.to_le_bytes()));
    note.extend(b"GNU\0");
    note.extend(id);
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    [2u16, 183].iter().for_each(|half| elf.extend(half.to_le_bytes()));
    elf.extend(1u32.to_le_bytes());
    [0x40_0000u64, 64, 0].iter().for_each(|word| elf.extend(word.to_le_bytes()));
    elf.extend(0u32.to_le_bytes());
    [64u16, 56, 2, 64, 0, 0].iter().for_each(|half| elf.extend(half.to_le_bytes()));
    for (kind, flags, offset, size) in [(1u32, 5u32, 0u64, 0x1000u64), (4, 4, 64 + 112, note.len() as u64)] {
        elf.extend(kind.to_le_bytes());
        elf.extend(flags.to_le_bytes());
        [offset, 0x40_0000 + offset, 0x40_0000 + offset, size, size, 4]
            .iter()
            .for_each(|word| elf.extend(word.to_le_bytes()));
    }
    elf.extend(note);
    elf.resize(0x1000, 0);
    elf
}

/// A recording of one process that maps this path.
fn naming(path: &str, id: Option<&[u8]>) -> Vec<u8> {
    let run = arm(1);
    let stream = stream(&run, &ete());
    let mut recording = Recording::new();
    recording.unit(0, stream.ete, stream.registers.clone());
    recording.comm(PID, PID, "program", true);
    recording.mmap(PID, 0x40_0000, 0x1000, 0, path, id);
    recording.session(0, RAW, &stream.bytes);
    recording.finish()
}

fn parts(bytes: &[u8], options: &Options) -> Vec<String> {
    let mut trace = opened(bytes, options);
    let image = trace.programs().unwrap().remove(0);
    image.parts().iter().map(|part| part.name.clone()).collect()
}

fn with_folder(key: &str, folder: &Path) -> Options {
    Options { flags: vec![(key.to_string(), folder.display().to_string().into())], ..Options::default() }
}

#[test]
fn a_path_is_not_opened_on_this_machine_unless_the_build_is_the_same() {
    let folder = Folder::new("host");
    let (id, other) = ([7; 20], [8; 20]);
    let path = folder.write("program", &program_with(id)).display().to_string();
    let none = Options::default();
    assert_eq!(parts(&naming(&path, None), &none), [""; 0]);
    assert_eq!(parts(&naming(&path, Some(&other)), &none), [""; 0]);
    assert_eq!(parts(&naming(&path, Some(&id)), &none), [&*path]);
    // A file that the user names needs no build id, but not a wrong one.
    let named = options(Path::new(&path));
    assert_eq!(parts(&naming("/bin/program", None), &named), [&*path]);
    let refused = opened(&naming("/bin/program", Some(&other)), &named);
    assert!(refused.facts().iter().any(|(_, text)| text.contains("build id")), "{:?}", refused.facts());
}

#[cfg(unix)]
#[test]
fn a_sysroot_is_not_left() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("sysroot");
    let id = [7; 20];
    let program = program_with(id);
    let secret = folder.write("secret", &program);
    folder.write("root/usr/bin/real", &program);
    let root = folder.0.join("root");
    symlink("/usr/bin/real", root.join("usr/bin/absolute")).unwrap();
    symlink("../../usr/bin/real", root.join("usr/bin/relative")).unwrap();
    symlink("../../../../../../../secret", root.join("usr/bin/out")).unwrap();
    symlink(&secret, root.join("usr/bin/absolute-out")).unwrap();
    symlink("loop", root.join("usr/bin/loop")).unwrap();
    symlink("/usr", root.join("link")).unwrap();
    let options = with_folder("sysroot", &root);
    let real = root.join("usr/bin/real").display().to_string();
    for inside in
        ["/usr/bin/real", "/usr/bin/absolute", "/usr/bin/relative", "/link/bin/real", "/../../usr/bin/real"]
    {
        assert_eq!(parts(&naming(inside, None), &options), [&*real], "{inside}");
    }
    let above = format!("/..{}", secret.display());
    for outside in
        ["/usr/bin/out", "/usr/bin/absolute-out", "/usr/bin/loop", "/../secret", "/usr/../../secret", &above]
    {
        assert_eq!(parts(&naming(outside, None), &options), [""; 0], "{outside}");
    }
}

#[test]
fn binaries_and_symbols_are_found_by_build_id() {
    let folder = Folder::new("build-ids");
    let id = [0xab; 20];
    let rest = "ab".repeat(19);
    let path = folder.write(&format!(".build-id/ab/{rest}/elf"), &program_with(id));
    let options = with_folder("debug-dir", &folder.0);
    assert_eq!(parts(&naming("/bin/program", Some(&id)), &options), [path.display().to_string()]);
    assert_eq!(parts(&naming("/bin/program", None), &options), [""; 0]);
    // A file of another build in that place is not taken.
    std::fs::write(&path, program_with([1; 20])).unwrap();
    assert_eq!(parts(&naming("/bin/program", Some(&id)), &options), [""; 0]);
}

/// A file that lies in the folder itself is found by its name; it has the right build where the recording says it.
#[cfg(unix)]
#[test]
fn binaries_may_lie_flat_in_a_folder() {
    let folder = Folder::new("flat");
    let id = [0xab; 20];
    let path = folder.write("flat/program", &program_with(id));
    let (secret, flat) = (folder.write("secret", &program_with(id)), folder.0.join("flat"));
    std::os::unix::fs::symlink(&secret, flat.join("other")).unwrap();
    let options = with_folder("debug-dir", &flat);
    for known in [None, Some(&id[..])] {
        assert_eq!(parts(&naming("/usr/bin/program", known), &options), [path.display().to_string()]);
    }
    for strange in ["/usr/bin/other", "/usr/bin/..", "/", "/usr/bin/program2"] {
        assert_eq!(parts(&naming(strange, None), &options), [""; 0], "{strange}");
    }
    let refused = opened(&naming("/usr/bin/program", Some(&[1; 20])), &options);
    assert!(refused.facts().iter().any(|(_, text)| text.contains("another build")), "{:?}", refused.facts());
    // Named as it is in brackets, a module is found by its own name.
    let module = folder.write("flat/mod-one.ko", &program_with(id));
    assert_eq!(parts(&naming("[mod_one]", None), &options), [module.display().to_string()]);
}

/// The kernel is where the symbol is that its mapping is named after; code that it made is named as such.
#[test]
fn the_kernel_is_placed_by_a_symbol() {
    let folder = Folder::new("kernel");
    let run = arm(1);
    let stream = stream(&run, &ete());
    let vmlinux = folder.write("vmlinux", &std::fs::read(&run.elf).unwrap());
    let start = 0xffff_8000_0800_00b0;
    let mut recording = Recording::new();
    recording.unit(0, stream.ete, stream.registers.clone());
    recording.kernel_mmap(start, 0x100_0000, start, "[kernel.kallsyms]_start");
    recording.ksymbol(0x40_0000, 0x1000, "bpf_prog_1");
    recording.session(0, RAW, &stream.bytes);
    let bytes = recording.finish();
    let mut trace = opened(&bytes, &options(&vmlinux));
    let image = trace.programs().unwrap().remove(0);
    assert_eq!(image.named("_start").map(|symbol| symbol.address), Some(start));
    filled(&mut *trace.events().unwrap());
    let doubts: Vec<String> = trace.facts().into_iter().map(|(_, text)| text).collect();
    assert!(doubts.iter().any(|text| text.starts_with("no code of bpf_prog_1")), "{doubts:?}");
}

#[test]
fn what_is_not_a_trace_is_refused_by_name() {
    let refused = |bytes: Vec<u8>| Options::default().open_bytes(bytes).unwrap_err().to_string();
    let mut samples = Recording::new();
    samples.comm(1, 1, "x", false);
    // The record of trace units becomes one of another kind.
    let mut bytes = samples.finish();
    bytes[240..244].copy_from_slice(&68u32.to_le_bytes());
    assert!(refused(bytes.clone()).contains("samples and no trace"), "{}", refused(bytes.clone()));
    bytes[240..244].copy_from_slice(&70u32.to_le_bytes());
    bytes[248..252].copy_from_slice(&1u32.to_le_bytes());
    assert!(refused(bytes).contains("Intel PT"));
    assert!(refused(samples.finish()).contains("no trace units"));
    let mut v3 = Recording::new();
    v3.unit(0, false, Default::default());
    let mut bytes = v3.finish();
    let at = bytes.windows(8).position(|window| window == [0x40; 8]).unwrap();
    bytes[at..at + 8].fill(0x30);
    assert!(refused(bytes).contains("ETMv3"));
    let folder = Folder::new("create");
    let mut sort = Trace::open(file("testdata/astf/sort.astf")).unwrap();
    let written = trackway::convert(&mut sort, folder.0.join("x.data"), &Default::default());
    assert!(written.unwrap_err().to_string().contains("written by perf"));
}

/// The sample of the documentation: two threads of a program, on two cores. `TRACKWAY_BLESS=1` rewrites it.
#[test]
fn the_sample_is_what_the_writer_makes() {
    let run = arm(12);
    let mut settings = ete();
    settings.set("ete", "unit", trackway::format::Value::Table(Default::default()));
    let stream = stream(&run, &settings);
    let mut recording = Recording::new();
    for (cpu, id) in [(0u32, 0x10), (1, 0x12)] {
        let mut registers = stream.registers.clone();
        registers.insert("TRCTRACEIDR".into(), id);
        recording.unit(cpu, stream.ete, registers);
    }
    begin(&mut recording, &run.elf);
    recording.mmap(PID, 0xffff_8000_0000, 0x2000, 0, "[vdso]", None);
    recording.itrace_start(PID, PID);
    recording.session(0, 0, &trackway::ete::frame(&[(0x10, &stream.bytes)]));
    recording.fork(PID, PID, PID + 1);
    recording.comm(PID, PID + 1, "worker", false);
    (recording.tid, recording.cpu) = (PID + 1, 1);
    recording.itrace_start(PID, PID + 1);
    let frames = trackway::ete::frame(&[(0x12, &stream.bytes)]);
    recording.session(0, 0, &frames);
    recording.session(frames.len().next_multiple_of(8) as u64, TRUNCATED, &frames);
    let (made, path) = (recording.finish(), file("testdata/perf/sort.data"));
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert!(std::fs::read(&path).unwrap() == made, "TRACKWAY_BLESS=1 cargo test -p trackway --test perf");
}

/// Streams of our own as recordings, in the ways that perf accepts: it finds the same branches with OpenCSD. It takes the
/// thread from context ids or from the buffer, and without times in the trace it wants none in the records.
#[test]
#[ignore = "needs perf with OpenCSD"]
fn perf_follows_the_same_branches() {
    let mut run = arm(2);
    let contexts = run.batches.iter_mut().flat_map(|batch| &mut batch.contexts);
    contexts.for_each(|context| context.context_id = Some(PID.into()));
    let mut settings = ete();
    settings.set("ete", "TRCCONFIGR", 0x41);
    let stream = stream(&run, &settings);
    let wanted =
        path_of(&mut opened(&with_context(&stream, &run, Recording::new()).finish(), &options(&run.elf)));
    assert!(wanted.len() > 100);
    let folder = Folder::new("peer");
    folder.write("root/usr/bin/sort.elf", &std::fs::read(&run.elf).unwrap());
    let frames = trackway::ete::frame(&[(stream.registers["TRCTRACEIDR"] as u8, &stream.bytes)]);
    let thread = |recording: &mut Recording, _: &[u8]| {
        recording.aux(0, frames.len() as u64, 0);
        recording.auxtrace(0, -1, PID as i32, &frames);
    };
    let ring = |recording: &mut Recording, _: &[u8]| {
        recording.aux(0x1000 + frames.len() as u64, frames.len() as u64, OVERWRITE);
        recording.auxtrace(0x1000, 3, -1, &frames);
    };
    let raw = |recording: &mut Recording, bytes: &[u8]| recording.session(0, RAW, bytes);
    // The packets of this run mean the same to an ETMv4.2.
    let mut registers = stream.registers.clone();
    for (name, value) in [("TRCIDR0", 0x2800_0ea1), ("TRCIDR1", 0x4100_f422), ("TRCIDR2", 0x2000_1088)] {
        registers.insert(name.into(), value);
    }
    registers.remove("TRCDEVARCH");
    let old = Stream { ete: false, registers, bytes: stream.bytes.clone() };
    let timeless = || Recording::new().without_time();
    let cases = [
        ("frames", with_context(&stream, &run, timeless())),
        ("ETMv4", with_context(&old, &run, timeless())),
        // perf has ETE since version 1.
        ("ETMv4, version 0", with_context(&old, &run, timeless().version(0))),
        ("raw", one_core(&stream, &run, timeless(), raw)),
        ("thread", one_core(&stream, &run, timeless().without_cpu(), thread)),
        ("ring", one_core(&stream, &run, timeless().snapshot(), ring)),
    ];
    for (what, recording) in cases {
        let bytes = recording.finish();
        let data = folder.write("perf.data", &bytes);
        let ours = path_of(&mut opened(&bytes, &options(&run.elf)));
        assert!(ours == wanted, "{what}");
        let mut perf = std::process::Command::new("perf");
        perf.arg("script").arg("-i").arg(&data).arg("--symfs").arg(folder.0.join("root"));
        let Ok(output) = perf.args(["--itrace=b", "-F", "ip,addr"]).output() else {
            trackway_testkit::skipped("perf is not installed");
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let theirs: Vec<(u64, u64)> = said
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace().filter_map(number);
                Some((words.next()?, words.next()?))
            })
            // Where a trace begins and ends, perf has a branch from or to 0.
            .filter(|(from, to)| *from != 0 && *to != 0)
            .collect();
        let field = |line: &str, name: &str| {
            line.split(' ').find_map(|word| number(word.strip_prefix(name)?.strip_prefix('=')?))
        };
        let jump = |pair: &[String]| {
            let (from, to) = (field(&pair[0], "end")?, field(&pair[1], "start")?);
            (from != to && !pair[0].contains("exit=end")).then_some((from - 4, to))
        };
        let branches: Vec<(u64, u64)> = ours.windows(2).filter_map(jump).collect();
        assert!(theirs == branches, "{what}: {} and {}: {said}", theirs.len(), branches.len());
    }
}

/// One core that traces context ids, in frames.
fn with_context(stream: &Stream, run: &Run, recording: Recording) -> Recording {
    let frames = trackway::ete::frame(&[(stream.registers["TRCTRACEIDR"] as u8, &stream.bytes)]);
    one_core(stream, run, recording, |recording, _| recording.session(0, 0, &frames))
}
